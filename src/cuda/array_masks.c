#include "config.h"

#include "cuda/array_masks.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/array_launch.h"
#include "cuda/guest.h"

static const char *const keeping = "copying what a mask leaves", *const finding =
                                                                     "finding elements";

/* The bytes of the numbers that a kernel finds. */
#define NUMBERS_BYTES (CUDA_FIND_MAX * sizeof(uint64_t))

struct cuda_masker {
    int device, multiprocessors; /* negative before the first call */
    struct cuda_room row;
    uint64_t *found, *found_device; /* what a kernel has found: in pinned and in device memory */
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
    if (m->found)
        (void)cudaFreeHost(m->found);
    (void)cudaFree(m->found_device);
    m->found = m->found_device = NULL;
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
        cuda_guest_check(cudaMalloc((void **)&m->found_device, NUMBERS_BYTES), "device memory",
                         error) &&
        cuda_guest_check(cudaHostAlloc((void **)&m->found, NUMBERS_BYTES,
                                       cudaHostAllocMapped | cudaHostAllocPortable),
                         "memory of the host that the GPU sees", error))
        return true;
    leave_device(m);
    return false;
}

/* Begins a call: makes the elements' device the current one, until cuda_guest_leave if that succeeds. */
static bool enter(struct cuda_masker *m, const struct cuda_array_elements *e,
                  const struct view *view, struct cuda_guest *guest, struct error *error)
{
    int device = e->device, other;

    if (!cuda_guest_find(&device, e->layout->data, error))
        return false;
    other = device;
    if (view->mask_form != VIEW_MASK_NONE && !cuda_guest_find(&other, view->mask, error))
        return false;
    if (other != device)
        return error_set(error, ERROR_REQUEST, "the mask is on another device than the elements");
    if (cuda_guest_enter(guest, device, error) && open_device(m, device, error))
        return true;
    cuda_guest_leave(guest);
    return false;
}

/* Copies the numbers that a kernel finds to the host, if it was launched, and waits for the stream: the
   next call may be on another one. */
static bool fetch(struct cuda_masker *m, bool launched, unsigned count, cudaStream_t stream,
                  const char *what, struct error *error)
{
    launched = launched &&
               cuda_guest_check(cudaMemcpyAsync(m->found, m->found_device, count * sizeof *m->found,
                                                cudaMemcpyDeviceToHost, stream),
                                what, error);
    return cuda_guest_check(cudaStreamSynchronize(stream), what, error) && launched;
}

/* The elements of a mask that a kernel looks at. */
static struct cuda_keep keep_of(const struct cuda_array_elements *e, const struct view *view,
                                uint64_t first, uint64_t count)
{
    return (struct cuda_keep){.gather =
                                  cuda_gather_of(e->layout, element_size(e->type), first, count),
                              .form = view->mask_form,
                              .mask = view->mask,
                              .first = view->mask_offset + first};
}

bool cuda_array_keep(struct cuda_masker *m, const struct cuda_array_elements *e,
                     const struct view *view, uint64_t first, uint64_t count,
                     const unsigned char **row, uint64_t *kept, struct error *error)
{
    struct cuda_keep job = keep_of(e, view, first, count);
    struct cuda_guest guest;
    bool good;

    if (!enter(m, e, view, &guest, error))
        return false;
    good = cuda_room_grow(&m->row, (size_t)count * job.gather.size, error);
    job.gather.to = m->row.memory;
    job.kept = m->found_device;
    good = good &&
           cuda_guest_check(cudaMemsetAsync(job.kept, 0, sizeof *job.kept, e->stream), keeping,
                            error) &&
           cuda_guest_check(cuda_keep(&job, m->multiprocessors, e->stream), keeping, error);
    good = fetch(m, good, 1, e->stream, keeping, error);
    cuda_guest_leave(&guest);
    if (good) {
        *row = m->row.memory;
        *kept = m->found[0];
    }
    return good;
}

bool cuda_array_find(struct cuda_masker *m, const struct cuda_array_elements *e,
                     const struct view *view, const struct missing_range *ranges, unsigned count,
                     uint64_t *numbers, struct error *error)
{
    struct cuda_find job = {.of = keep_of(e, view, 0, e->count), .swap = e->swap, .count = count};
    struct cuda_guest guest;
    bool good;

    for (unsigned i = 0; i < count; i++) {
        const struct missing one = {.count = 1, .ranges = {ranges[i]}};
        struct cuda_missing found;

        cuda_missing_set(&found, e->type, &one);
        job.ranges[i] = found.ranges[0];
    }
    if (!enter(m, e, view, &guest, error))
        return false;
    job.found = m->found_device;
    good = cuda_guest_check(cudaMemsetAsync(job.found, 0xff, NUMBERS_BYTES, e->stream), finding,
                            error) &&
           cuda_guest_check(cuda_find(&job, m->multiprocessors, e->stream), finding, error);
    good = fetch(m, good, count, e->stream, finding, error);
    cuda_guest_leave(&guest);
    if (good)
        memcpy(numbers, m->found, count * sizeof *numbers);
    return good;
}
