/*
 * Feeders: the workers of the CUDA engine. A feeder has two slots, each a pinned host buffer, a
 * device buffer and events, on one stream. While the copy and the kernel of one slot are in flight,
 * its thread fills the other.
 *
 * The partial result stays on the device and grows with every chunk. Behind each kernel a copy of
 * it is queued to the slot's pinned mirror: when the slot's event has passed, the mirror proves
 * that this chunk and all before it are counted. A chunk whose event has not passed is still in its
 * slot's buffer, so a device that fails takes nothing with it. Tallies go the same way (tallies.h).
 *
 * One thread owns a feeder. The functions are those of struct engine (engine.h).
 */
#ifndef GPUREDUCE_CUDA_FEEDER_H
#define GPUREDUCE_CUDA_FEEDER_H

#include "engine/cuda/pinned.h"
#include "engine/engine.h"

#define FEEDER_SLOTS ENGINE_PENDING_MAX

/* A GPU, and where it stands among those of the engine. */
struct feeder_device {
    unsigned index; /* in the engine, which is also its number in the CUDA runtime */
    int multiprocessors;
    int shared; /* bytes of shared memory that a block may ask for */
};

/* Bytes of a feeder's buffer for chunks of `chunk_size` bytes, and of all its pinned memory. */
size_t feeder_buffer_size(size_t chunk_size);
size_t feeder_pinned_size(size_t chunk_size);

/* A feeder of a device, which stays, as does the arena. `chunk_size` is in bytes, of chunks that
   come in the feeder's buffer. NULL with a reason when something is lacking. */
struct engine_worker *feeder_open(const struct feeder_device *device, struct pinned_arena *arena,
                                  const struct engine_setup *setup, size_t chunk_size,
                                  char reason[ENGINE_REASON_MAX]);
void feeder_close(struct engine_worker *feeder);
void *feeder_buffer(struct engine_worker *feeder, size_t *size);
enum engine_status feeder_reduce(struct engine_worker *feeder, const struct chunk *chunk);
uint64_t feeder_first_nan(const struct engine_worker *feeder);
bool feeder_finish(struct engine_worker *feeder, struct partial *partial,
                   struct engine_times *times);
unsigned feeder_unfinished(const struct engine_worker *feeder,
                           struct chunk chunks[ENGINE_PENDING_MAX]);
const char *feeder_error(const struct engine_worker *feeder);

#endif
