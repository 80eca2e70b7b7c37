#include "config.h"

#include "cuda/array_tallies.h"

#include <stdlib.h>

#include "cuda/array_launch.h"
#include "cuda/guest.h"
#include "cuda/tallies.h"

/* Bytes of elements of a launch, at most: there is room on the device for as many that are kept. */
#define CHUNK_BYTES (128 * MIB)

static const char *const allocating = "device memory", *const launching = "starting a kernel";

/* A tally of elements, and its memory. */
struct tallying {
    const struct cuda_array_elements *elements;
    size_t size; /* bytes of an element */
    cudaStream_t stream;
    struct cuda_tallies tallies;
    size_t chunk, staged; /* elements of a launch, and of copies, at most */
    int multiprocessors, shared;
    unsigned char *device, *pinned, *stage; /* of the job; and for copies, in the first */
};

static bool fail(const char *reason, struct error *error)
{
    return error_set(error, ERROR_GPU, "%s", reason);
}

/* Tallies elements that lie in a row, aligned. */
static bool tally_row(struct tallying *t, const unsigned char *data, size_t count,
                      struct error *error)
{
    struct cuda_job *const job = &t->tallies.job;
    char reason[ENGINE_REASON_MAX];

    if (!job->kind->add(job, 0, data, count, 0, t->stream, reason) ||
        !job->kind->send(job, 0, t->stream, reason))
        return fail(reason, error);
    if (!cuda_guest_check(cudaStreamSynchronize(t->stream), "tallying", error))
        return false;
    return job->kind->collect(job, 0, reason) || fail(reason, error);
}

/* Tallies copies of `count` elements of the layout, from number `first` on. */
static bool tally_copies(struct tallying *t, uint64_t first, uint64_t count, struct error *error)
{
    struct cuda_gather job = {
        .from = *t->elements->layout, .first = first, .size = (unsigned)t->size, .to = t->stage};

    if (job.from.rank == 0) {
        job.from.rank = 1;
        job.from.strides[0] = 0;
    }
    for (const uint64_t end = first + count; job.first < end; job.first += job.count) {
        job.count = end - job.first < t->staged ? end - job.first : t->staged;
        if (!cuda_guest_check(cuda_gather(&job, t->multiprocessors, t->stream), launching, error) ||
            !tally_row(t, t->stage, (size_t)job.count, error))
            return false;
    }
    return true;
}

/* Tallies all elements. Copies those that are not aligned, and a few at either end, since the
   kernels read 16 bytes at a time. */
static bool tally_all(struct tallying *t, struct error *error)
{
    const struct view_layout *layout = t->elements->layout;
    const size_t off = (uintptr_t)layout->data % CUDA_ALIGNMENT, unit = CUDA_ALIGNMENT / t->size;
    const uint64_t count = t->elements->count;
    uint64_t at, end;

    if (!cuda_array_is_row(layout, t->size) || off % t->size != 0)
        return tally_copies(t, 0, count, error);
    at = off == 0 ? 0 : (CUDA_ALIGNMENT - off) / t->size;
    at = at < count ? at : count;
    end = at + (count - at) / unit * unit;
    if (!tally_copies(t, 0, at, error) || !tally_copies(t, end, count - end, error))
        return false;
    for (uint64_t n; at < end; at += n) {
        n = end - at < t->chunk ? end - at : t->chunk;
        if (!tally_row(t, layout->data + at * t->size, (size_t)n, error))
            return false;
    }
    return true;
}

static size_t least(uint64_t a, size_t b)
{
    return a < b ? (size_t)a : b;
}

/* Allocates the memory and begins the job. */
static bool begin(struct tallying *t, int device, struct tally_set *set, struct error *error)
{
    const struct cuda_array_elements *e = t->elements;
    struct cuda_job *const job = &t->tallies.job;
    char reason[ENGINE_REASON_MAX];

    if (!cuda_guest_check(
            cudaDeviceGetAttribute(&t->multiprocessors, cudaDevAttrMultiProcessorCount, device),
            "asking the GPU", error) ||
        !cuda_guest_check(
            cudaDeviceGetAttribute(&t->shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
            "asking the GPU", error))
        return false;
    t->chunk = least(align_up(e->count, CUDA_ALIGNMENT), CHUNK_BYTES / t->size);
    t->staged = least(t->chunk, CUDA_STAGE_BYTES / t->size);
    cuda_tallies_init(&t->tallies, set, e->type, e->swap, e->missing, t->multiprocessors, t->shared,
                      t->chunk * t->size);
    if (!cuda_guest_check(cudaMalloc((void **)&t->device, job->device_bytes + t->staged * t->size),
                          allocating, error) ||
        !cuda_guest_check(cudaHostAlloc((void **)&t->pinned, job->pinned_bytes, 0), "pinned memory",
                          error))
        return false;
    t->stage = t->device + job->device_bytes;
    return job->kind->begin(job, t->device, t->pinned, t->stream, reason)
               ? cuda_guest_check(cudaStreamSynchronize(t->stream), "tallying", error)
               : fail(reason, error);
}

bool cuda_array_tally(const struct cuda_array_elements *elements, struct tally_set *set,
                      struct error *error)
{
    struct tallying t = {
        .elements = elements, .size = element_size(elements->type), .stream = elements->stream};
    struct cuda_guest guest;
    int device = elements->device;
    bool good;

    if (!cuda_guest_find(&device, elements->layout->data, error))
        return false;
    good = cuda_guest_enter(&guest, device, error) && begin(&t, device, set, error) &&
           tally_all(&t, error);
    if (good) {
        t.tallies.job.kind->end(&t.tallies.job);
        for (unsigned i = 0; i < set->count; i++) {
            tally_end(&set->tally[i]);
            good = good && !set->tally[i].failed;
        }
        if (!good)
            (void)error_memory(error);
    }
    /* After a failure, kernels may still use the memory: cudaFree waits for them. */
    (void)cudaFree(t.device);
    if (t.pinned)
        (void)cudaFreeHost(t.pinned);
    if (t.tallies.job.kind)
        t.tallies.job.kind->close(&t.tallies.job);
    cuda_guest_leave(&guest);
    return good;
}

/* Gathers the runs on the device, and copies them from there. */
static bool sample_runs(const struct cuda_array_elements *e, struct selection_runs runs, int device,
                        unsigned char *sample, unsigned char *stage, struct error *error)
{
    const size_t size = element_size(e->type), all = runs.count * runs.length;
    const uint64_t step = (e->count - runs.length) / runs.count;
    const struct cuda_gather job = {.from = {.data = e->layout->data,
                                             .rank = 2,
                                             .sizes = {runs.count, runs.length},
                                             .strides = {(int64_t)(step * size), (int64_t)size}},
                                    .count = all,
                                    .size = (unsigned)size,
                                    .to = stage};
    int multiprocessors;

    return cuda_guest_check(
               cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
               "asking the GPU", error) &&
           cuda_guest_check(cuda_gather(&job, multiprocessors, e->stream), launching, error) &&
           cuda_guest_check(
               cudaMemcpyAsync(sample, stage, all * size, cudaMemcpyDeviceToHost, e->stream),
               "copying elements", error) &&
           cuda_guest_check(cudaStreamSynchronize(e->stream), "sampling", error);
}

bool cuda_array_sample(const struct cuda_array_elements *elements, struct selection_runs runs,
                       unsigned char *sample, struct error *error)
{
    const size_t size = element_size(elements->type), all = runs.count * runs.length;
    unsigned char *stage = NULL;
    struct cuda_guest guest;
    int device = elements->device;
    bool good;

    if (!cuda_guest_find(&device, elements->layout->data, error))
        return false;
    good = cuda_guest_enter(&guest, device, error) &&
           cuda_guest_check(cudaMalloc((void **)&stage, all * size), allocating, error) &&
           sample_runs(elements, runs, device, sample, stage, error);
    (void)cudaFree(stage);
    cuda_guest_leave(&guest);
    if (good && elements->swap)
        element_swap(sample, sample, all, size);
    return good;
}
