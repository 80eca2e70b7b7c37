/*
 * The workers of the CUDA engine (engine.h): a feeder with jobs that sum and tally, and a slicer, a
 * feeder whose job is slices. A slicer's chunk is copied to the device, reduced there, and what was
 * found of its slices comes back before the call returns. Several threads, one each, keep a link
 * busy. The functions are those of struct engine and struct engine_slices.
 */
#ifndef GPUREDUCE_CUDA_WORKER_H
#define GPUREDUCE_CUDA_WORKER_H

#include "cuda/feeder.h"

/* `chunk_size` is in bytes, of chunks that come in the worker's buffer. The device and the arena
   stay. NULL with a reason when something is lacking. */
struct engine_worker *cuda_worker_open(const struct feeder_device *device,
                                       struct pinned_arena *arena, const struct engine_setup *setup,
                                       size_t chunk_size, char reason[ENGINE_REASON_MAX]);
void cuda_worker_close(struct engine_worker *w);
void *cuda_worker_buffer(struct engine_worker *w, size_t *size);
enum engine_status cuda_worker_reduce(struct engine_worker *w, const struct chunk *chunk);
uint64_t cuda_worker_first_nan(const struct engine_worker *w);
bool cuda_worker_finish(struct engine_worker *w, struct partial *partial,
                        struct engine_times *times);
unsigned cuda_worker_unfinished(const struct engine_worker *w,
                                struct chunk chunks[ENGINE_PENDING_MAX]);
const char *cuda_worker_error(const struct engine_worker *w);

struct engine_slicer *slicer_open(const struct feeder_device *device, struct pinned_arena *arena,
                                  enum element_type type, unsigned wants, bool swap, size_t bytes,
                                  char reason[ENGINE_REASON_MAX]);
void slicer_close(struct engine_slicer *s);
void *slicer_buffer(struct engine_slicer *s);
bool slicer_reduce(struct engine_slicer *s, bool columns, bool rounded, const void *data,
                   size_t rows, size_t length, struct engine_found *found);
const char *slicer_error(const struct engine_slicer *s);

#endif
