#include "config.h"

#include "cuda/worker.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda/runtime/check.h"
#include "cuda/slices.h"
#include "cuda/sums.h"
#include "cuda/tallies.h"

struct engine_worker {
    struct feeder *feeder;
    size_t size; /* bytes of a buffer */
    struct cuda_sums sums;
    struct cuda_tallies tallies; /* where something is tallied */
};

void cuda_worker_close(struct engine_worker *w)
{
    feeder_close(w->feeder);
    free(w);
}

struct engine_worker *cuda_worker_open(const struct feeder_device *device,
                                       struct pinned_arena *arena, const struct engine_setup *setup,
                                       size_t chunk_size, char reason[ENGINE_REASON_MAX])
{
    struct engine_worker *w = calloc(1, sizeof *w);
    struct feeder_setup feeder = {
        .device = device,
        .arena = arena,
        .element_size = element_size(setup->type),
        .size = feeder_buffer_size(chunk_size),
        .in_place = setup->in_place,
        .slots = FEEDER_SLOTS,
        .timed = true,
    };

    if (!w) {
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    w->size = feeder.size;
    cuda_sums_init(&w->sums, setup->type, setup->swap, setup->wants, device->multiprocessors,
                   FEEDER_SLOTS);
    feeder.jobs[feeder.job_count++] = &w->sums.job;
    if (setup->tallies && setup->tallies->count > 0) {
        cuda_tallies_init(&w->tallies, setup->tallies, setup->type, setup->swap,
                          device->multiprocessors, device->shared,
                          feeder.in_place > feeder.size ? feeder.in_place : feeder.size);
        feeder.jobs[feeder.job_count++] = &w->tallies.job;
    }
    w->feeder = feeder_open(&feeder, reason);
    if (w->feeder)
        return w;
    free(w);
    return NULL;
}

void *cuda_worker_buffer(struct engine_worker *w, size_t *size)
{
    *size = w->size;
    return feeder_buffer(w->feeder);
}

enum engine_status cuda_worker_reduce(struct engine_worker *w, const struct chunk *chunk)
{
    return feeder_add(w->feeder, chunk);
}

uint64_t cuda_worker_first_nan(const struct engine_worker *w)
{
    return w->sums.good.first_nan;
}

bool cuda_worker_finish(struct engine_worker *w, struct partial *partial,
                        struct engine_times *times)
{
    const bool good = feeder_finish(w->feeder);

    *partial = w->sums.good;
    *times = *feeder_times(w->feeder);
    *feeder_times(w->feeder) = (struct engine_times){0}; /* the timelines are the caller's now */
    return good;
}

unsigned cuda_worker_unfinished(const struct engine_worker *w,
                                struct chunk chunks[ENGINE_PENDING_MAX])
{
    return feeder_unfinished(w->feeder, chunks);
}

const char *cuda_worker_error(const struct engine_worker *w)
{
    return feeder_error(w->feeder);
}

/*
 * Slicers.
 */

struct engine_slicer {
    const struct feeder_device *device;
    struct feeder *feeder;
    struct cuda_slices slices;
    void *buffer;
    char error[ENGINE_REASON_MAX];
};

void slicer_close(struct engine_slicer *s)
{
    feeder_close(s->feeder);
    free(s);
}

struct engine_slicer *slicer_open(const struct feeder_device *device, struct pinned_arena *arena,
                                  enum element_type type, unsigned wants, bool swap, size_t bytes,
                                  char reason[ENGINE_REASON_MAX])
{
    struct engine_slicer *s = calloc(1, sizeof *s);
    const struct feeder_setup feeder = {
        .device = device,
        .arena = arena,
        .element_size = element_size(type),
        .size = feeder_buffer_size(bytes),
        .slots = 1,
        .jobs = {s ? &s->slices.job : NULL},
        .job_count = 1,
    };

    if (!s) {
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    s->device = device;
    cuda_slices_init(&s->slices, type, swap, wants, feeder.size, device->tuning);
    s->feeder = feeder_open(&feeder, reason);
    if (s->feeder) {
        s->buffer = feeder_buffer(s->feeder);
        return s;
    }
    free(s);
    return NULL;
}

void *slicer_buffer(struct engine_slicer *s)
{
    return s->buffer;
}

bool slicer_reduce(struct engine_slicer *s, bool columns, bool rounded, const void *data,
                   size_t rows, size_t length, struct engine_found *found)
{
    const struct chunk chunk = {.data = data, .count = rows * length};

    *found = (struct engine_found){.parts = 0};
    switch (cuda_slices_shape(&s->slices, columns, rounded, rows, length)) {
    case CUDA_SLICES_CPU:
        return true;
    case CUDA_SLICES_TOO_MANY:
        snprintf(s->error, sizeof s->error, "internal error: too many slices");
        return false;
    case CUDA_SLICES_GOOD:
        break;
    }
    /* It may have been opened by another thread. */
    if (!cuda_check(cudaSetDevice((int)s->device->index), "choosing the GPU", s->error))
        return false;
    if (feeder_add(s->feeder, &chunk) != ENGINE_TAKEN || !feeder_buffer(s->feeder)) {
        snprintf(s->error, sizeof s->error, "%s", feeder_error(s->feeder));
        return false;
    }
    *found = s->slices.found;
    return true;
}

const char *slicer_error(const struct engine_slicer *s)
{
    return s->error;
}
