#include "config.h"

#include "cuda/array_masks.h"

#include <stdlib.h>

#include "cuda/array_launch.h"
#include "cuda/guest.h"

static const char *const keeping = "copying what a mask leaves";

struct cuda_masker {
    int device, multiprocessors; /* negative before the first call */
    struct cuda_room row;
    uint64_t *count, *count_device; /* elements that were kept: in pinned and in device memory */
};

struct cuda_masker *cuda_masker_open(void)
{
    struct cuda_masker *m = calloc(1, sizeof *m);

    if (m)
        m->device = -1;
    return m;
}

static void leave_device(struct cuda_masker *m)
{
    struct error ignored = {.kind = ERROR_NONE};
    struct cuda_guest guest;

    if (m->device < 0)
        return;
    (void)cuda_guest_enter(&guest, m->device, &ignored);
    cuda_room_free(&m->row);
    if (m->count)
        (void)cudaFreeHost(m->count);
    (void)cudaFree(m->count_device);
    m->count = m->count_device = NULL;
    m->device = -1;
    cuda_guest_leave(&guest);
}

void cuda_masker_close(struct cuda_masker *m)
{
    if (!m)
        return;
    leave_device(m);
    free(m);
}

/* Ensures that there is what the masker needs on its device, which is the current one. */
static bool open_device(struct cuda_masker *m, int device, struct error *error)
{
    if (m->device == device)
        return true;
    leave_device(m);
    m->device = device;
    if (cuda_guest_check(
            cudaDeviceGetAttribute(&m->multiprocessors, cudaDevAttrMultiProcessorCount, device),
            "asking the GPU", error) &&
        cuda_guest_check(cudaMalloc((void **)&m->count_device, sizeof *m->count_device),
                         "device memory", error) &&
        cuda_guest_check(cudaHostAlloc((void **)&m->count, sizeof *m->count,
                                       cudaHostAllocMapped | cudaHostAllocPortable),
                         "memory of the host that the GPU sees", error))
        return true;
    leave_device(m);
    return false;
}

/* Copies on the current device. */
static bool keep(struct cuda_masker *m, const struct cuda_keep *keep, cudaStream_t stream,
                 struct error *error)
{
    struct cuda_keep job = *keep;

    if (!cuda_room_grow(&m->row, (size_t)job.gather.count * job.gather.size, error))
        return false;
    job.gather.to = m->row.memory;
    job.kept = m->count_device;
    return cuda_guest_check(cudaMemsetAsync(job.kept, 0, sizeof *job.kept, stream), keeping,
                            error) &&
           cuda_guest_check(cuda_keep(&job, m->multiprocessors, stream), keeping, error) &&
           cuda_guest_check(cudaMemcpyAsync(m->count, job.kept, sizeof *job.kept,
                                            cudaMemcpyDeviceToHost, stream),
                            keeping, error) &&
           cuda_guest_check(cudaStreamSynchronize(stream), keeping, error);
}

bool cuda_array_keep(struct cuda_masker *m, const struct cuda_array_elements *e,
                     const struct view *view, uint64_t first, uint64_t count,
                     const unsigned char **row, uint64_t *kept, struct error *error)
{
    const struct cuda_keep job = {
        .gather = cuda_gather_of(e->layout, element_size(e->type), first, count),
        .form = view->mask_form,
        .mask = view->mask,
        .first = view->mask_offset + first};
    int device = e->device, other;
    struct cuda_guest guest;
    bool good;

    if (!cuda_guest_find(&device, e->layout->data, error))
        return false;
    other = device;
    if (!cuda_guest_find(&other, view->mask, error))
        return false;
    if (other != device)
        return error_set(error, ERROR_REQUEST, "the mask is on another device than the elements");
    good = cuda_guest_enter(&guest, device, error) && open_device(m, device, error) &&
           keep(m, &job, (cudaStream_t)e->stream, error);
    cuda_guest_leave(&guest);
    if (good) {
        *row = m->row.memory;
        *kept = *m->count;
    }
    return good;
}
