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
    struct cuda_site site;
    struct cuda_room row;
    struct cuda_room found, found_device; /* what a kernel has found: pinned, and on the device */
};

void cuda_masker_close(struct cuda_masker *m)
{
    if (!m)
        return;
    cuda_site_close(&m->site);
    free(m);
}

/* Begins a call, until cuda_site_leave: makes the masker if there is none, and ensures that it has memory
   for what kernels find. NULL on failure. */
static struct cuda_masker *enter(struct cuda_masker **masker, const struct cuda_array_elements *e,
                                 const struct view *view, struct error *error)
{
    int device = e->device, other;
    struct cuda_masker *m;

    if (!*masker)
        *masker = calloc(1, sizeof **masker);
    m = *masker;
    if (!m) {
        (void)error_memory(error);
        return NULL;
    }
    if (!cuda_guest_find(&device, e->layout->data, error))
        return NULL;
    other = device;
    if (view->mask_form != VIEW_MASK_NONE && !cuda_guest_find(&other, view->mask, error))
        return NULL;
    if (other != device) {
        (void)error_set(error, ERROR_REQUEST, "the mask is on another device than the elements");
        return NULL;
    }
    if (cuda_site_enter(&m->site, device, error) &&
        cuda_room_grow(&m->site, &m->found_device, NUMBERS_BYTES, error) &&
        cuda_room_pin(&m->site, &m->found, NUMBERS_BYTES, error))
        return m;
    cuda_site_leave(&m->site);
    return NULL;
}

/* Copies the numbers that a kernel finds to the host, if it was launched, and waits for the stream: the
   next call may be on another one. */
static bool fetch(struct cuda_masker *m, bool launched, unsigned count, cudaStream_t stream,
                  const char *what, struct error *error)
{
    launched = launched && cuda_guest_check(cudaMemcpyAsync(m->found.memory, m->found_device.memory,
                                                            count * sizeof(uint64_t),
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

bool cuda_array_keep(struct cuda_masker **masker, const struct cuda_array_elements *e,
                     const struct view *view, uint64_t first, uint64_t count,
                     const unsigned char **row, uint64_t *kept, struct error *error)
{
    struct cuda_keep job = keep_of(e, view, first, count);
    struct cuda_masker *m;
    bool good;

    m = enter(masker, e, view, error);
    if (!m)
        return false;
    good = cuda_room_grow(&m->site, &m->row, (size_t)count * job.gather.size, error);
    job.gather.to = m->row.memory;
    job.kept = (void *)m->found_device.memory;
    good = good &&
           cuda_guest_check(cudaMemsetAsync(job.kept, 0, sizeof *job.kept, e->stream), keeping,
                            error) &&
           cuda_guest_check(cuda_keep(&job, m->site.multiprocessors, e->stream), keeping, error);
    good = fetch(m, good, 1, e->stream, keeping, error);
    cuda_site_leave(&m->site);
    if (good) {
        *row = m->row.memory;
        memcpy(kept, m->found.memory, sizeof *kept);
    }
    return good;
}

bool cuda_array_find(struct cuda_masker **masker, const struct cuda_array_elements *e,
                     const struct view *view, const struct missing_range *ranges, unsigned count,
                     uint64_t *numbers, struct error *error)
{
    struct cuda_find job = {.of = keep_of(e, view, 0, e->count), .swap = e->swap, .count = count};
    struct cuda_masker *m;
    bool good;

    for (unsigned i = 0; i < count; i++) {
        const struct missing one = {.count = 1, .ranges = {ranges[i]}};
        struct cuda_missing found;

        cuda_missing_set(&found, e->type, &one);
        job.ranges[i] = found.ranges[0];
    }
    m = enter(masker, e, view, error);
    if (!m)
        return false;
    job.found = (void *)m->found_device.memory;
    good = cuda_guest_check(cudaMemsetAsync(job.found, 0xff, NUMBERS_BYTES, e->stream), finding,
                            error) &&
           cuda_guest_check(cuda_find(&job, m->site.multiprocessors, e->stream), finding, error);
    good = fetch(m, good, count, e->stream, finding, error);
    cuda_site_leave(&m->site);
    if (good)
        memcpy(numbers, m->found.memory, count * sizeof *numbers);
    return good;
}
