/*
 * A run whose input an engine decodes where it reduces it: compressed input (source/compressed.h),
 * and an decoder (engine.h).
 *
 *     workers: read pieces --> one at a time: feed the decoder --> partial
 *                                    \--> content --> workers: checksums, of many frames at once
 *
 * All workers do the same: whatever there is to do that nobody else does. To feed the decoder is a
 * role that one holds at a time. A checksum goes through its frame in order, so of one long frame
 * one worker hashes at a time.
 *
 * A file that can be cut between frames is for all devices (compressed.h). A worker begins with one
 * of them, in turns, and goes on to the next when nothing is left to do for that.
 *
 * libzstd decodes input that the decoder refuses, wrong checksums included: all of a file is read
 * again; in a pipe a worker goes on from the frame that was refused.
 */
#ifndef GPUREDUCE_RUN_GPU_DECODE_H
#define GPUREDUCE_RUN_GPU_DECODE_H

#include "run/run_state.h"
#include "run/worker.h"

struct gpu_decode;

/* Makes the engine ready for the run's input, which is compressed. NULL with a reason when it
   cannot take it. */
struct gpu_decode *gpu_decode_begin(struct run *run, char reason[ENGINE_REASON_MAX]);

/* How many devices share the input. */
unsigned gpu_decode_devices(const struct gpu_decode *decode);

/* The work of a worker. gpu_decode_begin has set run->decode. */
void gpu_decode_work(struct worker *w);

/* When no worker works any more: whether one is to go on with a pipe from which a frame was
   refused. It then calls gpu_decode_work once more. */
bool gpu_decode_goes_on(struct gpu_decode *decode);

/* When no worker works any more: gives what was reduced to the first of `workers`, of which there
   is one for each device, and the times of devices to theirs. */
void gpu_decode_end(struct gpu_decode *decode, struct worker *workers);

/* Has libzstd decode a pipe that the engine cannot take from its beginning, by workers of the usual
   kind. False on failure. */
bool gpu_decode_without(struct run *run);

#endif
