/*
 * The unpacker of the CUDA engine: it has the decoder (device.h) decode what it is given, and
 * reduces the bytes where they lie.
 *
 *     input --> decoder --> batch --+--> kernels of the reduction --> partial, on the device
 *                                   +--> content to be checked, back to pinned memory
 *
 * Elements begin at a multiple of 16 bytes of the decoder's output: its first byte is placed so. A
 * multiple of 16 bytes of each batch is reduced; the rest is found in front of the next batch. At
 * the end the last elements, fewer than 16 bytes of them, are reduced by themselves. If the input
 * is made of parts, each of them ends and begins so.
 *
 * The functions are those of struct engine_unpack (engine.h).
 */
#ifndef GPUREDUCE_CUDA_ZSTD_UNPACK_H
#define GPUREDUCE_CUDA_ZSTD_UNPACK_H

#include "engine/cuda/feeder.h"
#include "engine/engine.h"

/* Bytes of memory that an unpacker has for input, of a file, where so many share one and there is
   device memory enough. `before` and `piece` as in the setup. */
size_t unpack_input_size(size_t before, size_t piece, unsigned unpackers);

/* An unpacker on a device, for inputs like this one. The device and the arena stay. NULL with a
   reason when something is lacking. */
struct engine_unpacker *unpack_open(const struct feeder_device *device, struct pinned_arena *arena,
                                    const struct engine_unpack_setup *setup,
                                    char reason[ENGINE_REASON_MAX]);
void unpack_close(struct engine_unpacker *u);

/* Makes it ready for an input, which may be another. False where it cannot be: then it is to be
   closed, and another one opened. */
bool unpack_begin(struct engine_unpacker *u, const struct engine_unpack_setup *setup);

unsigned char *unpack_memory(struct engine_unpacker *u, size_t *size);
enum engine_unpack_status unpack_advance(struct engine_unpacker *u,
                                         const struct engine_input *input,
                                         struct engine_content *content);
void unpack_content_free(struct engine_unpacker *u, void *piece);
uint64_t unpack_wanted(const struct engine_unpacker *u);
uint64_t unpack_taken(const struct engine_unpacker *u);
uint64_t unpack_total(const struct engine_unpacker *u);
uint64_t unpack_stopped_at(const struct engine_unpacker *u);
uint64_t unpack_reduced(const struct engine_unpacker *u);
uint64_t unpack_first_nan(const struct engine_unpacker *u);
uint64_t unpack_part_content(const struct engine_unpacker *u, size_t part);
uint64_t unpack_wrong(const struct engine_unpacker *u);
bool unpack_refused(struct engine_unpacker *u, struct engine_refusal *refusal);
bool unpack_finish(struct engine_unpacker *u, struct partial *partial, struct engine_times *times);
const char *unpack_error(const struct engine_unpacker *u);

#endif
