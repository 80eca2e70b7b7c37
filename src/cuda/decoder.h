/*
 * The decoder of the CUDA engine: it has the decoder (device.h) decode what it is given, and
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
 * The functions are those of struct engine_decode (engine.h).
 */
#ifndef GPUREDUCE_CUDA_DECODER_H
#define GPUREDUCE_CUDA_DECODER_H

#include "cuda/feeder.h"
#include "engine/engine.h"

/* Bytes of memory that a decoder has for input, of a file, where so many share one and there is
   device memory enough. `before` and `piece` as in the setup. */
size_t decoder_input_size(size_t before, size_t piece, unsigned decoders);

/* A decoder on a device, for inputs like this one. The device and the arena stay. NULL with a
   reason when something is lacking. */
struct engine_decoder *decoder_open(const struct feeder_device *device, struct pinned_arena *arena,
                                    const struct engine_decode_setup *setup,
                                    char reason[ENGINE_REASON_MAX]);
void decoder_close(struct engine_decoder *u);

/* Makes it ready for an input, which may be another. False where it cannot be: then it is to be
   closed, and another one opened. */
bool decoder_begin(struct engine_decoder *u, const struct engine_decode_setup *setup);

unsigned char *decoder_memory(struct engine_decoder *u, size_t *size);
enum engine_decode_status decoder_advance(struct engine_decoder *u,
                                          const struct stream_bytes *input,
                                          struct engine_content *content);
void decoder_content_free(struct engine_decoder *u, void *piece);
uint64_t decoder_wanted(const struct engine_decoder *u);
uint64_t decoder_taken(const struct engine_decoder *u);
struct engine_progress decoder_progress(const struct engine_decoder *u);
uint64_t decoder_part_content(const struct engine_decoder *u, size_t part);
bool decoder_refused(struct engine_decoder *u, struct stream_refusal *refusal);
bool decoder_finish(struct engine_decoder *u, struct partial *partial, struct engine_times *times);

#endif
