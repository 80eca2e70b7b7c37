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
 * What the unpacker refuses, checksums that are wrong included, libzstd decodes once more: of a
 * file all is read again, of a pipe a worker goes on from the frame that was refused.
 */
#ifndef GPUREDUCE_RUN_UNPACK_H
#define GPUREDUCE_RUN_UNPACK_H

#include "run/run_state.h"
#include "run/worker.h"

struct unpack;

/* Makes the engine ready for the run's input, which is packed. NULL with a reason when it cannot
   take it. */
struct unpack *unpack_run_begin(struct run *run, char reason[ENGINE_REASON_MAX]);

/* What a worker does. run->unpack is what unpack_run_begin has returned. */
void unpack_run_work(struct worker *w);

/* When no worker works any more: whether one is to go on with a pipe from which a frame was
   refused. It then calls unpack_run_work once more. */
bool unpack_run_goes_on(struct unpack *x);

/* When no worker works any more: gives what was reduced to `w`. */
void unpack_run_end(struct unpack *x, struct worker *w);

/* Of a pipe that the engine cannot take: has libzstd decode it from its beginning, by workers of
   the usual kind. False on failure. */
bool unpack_run_without(struct run *run);

#endif
