/*
 * A run whose input an engine decodes where it reduces it: packed input (source/packed.h), and an
 * unpacker (engine.h).
 *
 *     workers: read pieces --> one at a time: feed the unpacker --> partial
 *                                    \--> content --> workers: checksums, of many frames at once
 *
 * All workers do the same: whatever there is to do that nobody else does. To feed the unpacker is a
 * role that one holds at a time. A checksum goes through its frame in order, so of one long frame
 * one worker hashes at a time.
 *
 * A file that can be cut between frames is for all devices (packed.h). A worker begins with one of
 * them, in turns, and goes on to the next when nothing is left to do for that.
 *
 * libzstd decodes input that the unpacker refuses, wrong checksums included: all of a file is read
 * again; in a pipe a worker goes on from the frame that was refused.
 */
#ifndef GPUREDUCE_RUN_UNPACK_H
#define GPUREDUCE_RUN_UNPACK_H

#include "run/run_state.h"
#include "run/worker.h"

struct unpack;

/* Makes the engine ready for the run's input, which is packed. NULL with a reason when it cannot
   take it. */
struct unpack *unpack_run_begin(struct run *run, char reason[ENGINE_REASON_MAX]);

/* How many devices share the input. */
unsigned unpack_run_devices(const struct unpack *unpack);

/* The work of a worker. unpack_run_begin has set run->unpack. */
void unpack_run_work(struct worker *w);

/* When no worker works any more: whether one is to go on with a pipe from which a frame was
   refused. It then calls unpack_run_work once more. */
bool unpack_run_goes_on(struct unpack *unpack);

/* When no worker works any more: gives what was reduced to the first of `workers`, of which there
   is one for each device, and the times of devices to theirs. */
void unpack_run_end(struct unpack *unpack, struct worker *workers);

/* Has libzstd decode a pipe that the engine cannot take from its beginning, by workers of the usual
   kind. False on failure. */
bool unpack_run_without(struct run *run);

#endif
