/*
 * Slicers of the CUDA engine (engine.h): a chunk is copied to the device, reduced there, and what
 * was found of its slices comes back before the call returns. Several threads, a slicer each, keep
 * a link busy.
 */
#ifndef GPUREDUCE_CUDA_SLICER_H
#define GPUREDUCE_CUDA_SLICER_H

#include "engine/cuda/feeder.h"

struct engine_slicer *slicer_open(const struct feeder_device *device, struct pinned_arena *arena,
                                  enum element_type type, unsigned wants, bool swap, size_t bytes,
                                  char reason[ENGINE_REASON_MAX]);
void slicer_close(struct engine_slicer *s);
void *slicer_buffer(struct engine_slicer *s);
bool slicer_reduce(struct engine_slicer *s, bool columns, bool rounded, const void *data,
                   size_t rows, size_t length, struct engine_found *found);
const char *slicer_error(const struct engine_slicer *s);

#endif
