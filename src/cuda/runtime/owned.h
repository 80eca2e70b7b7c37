/*
 * Events, streams and memory that an object owns, all of which are freed together; pieces of memory; and a
 * clock that tells the times of events.
 */
#ifndef GPUREDUCE_CUDA_OWNED_H
#define GPUREDUCE_CUDA_OWNED_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/runtime/pinned.h"
#include "engine/engine.h"
#include "sys/align.h"
#include "sys/timeline.h"

/* The most things that an object owns. */
#define CUDA_THINGS_MAX 128

/* All is zero at first, but for the arena that pinned memory is taken from. NULL: there is none. */
struct cuda_owned {
    struct pinned_arena *arena;
    unsigned count;
    struct cuda_thing {
        enum cuda_thing_kind { THING_EVENT, THING_STREAM, THING_MEMORY, THING_PINNED } kind;
        void *handle;
    } things[CUDA_THINGS_MAX];
};

/* Each makes one thing on the current device, and adds it. False with a reason on failure. `flags` are
   those of the runtime, without which an event has a time; streams do not wait for the legacy stream. */
bool cuda_own_event(struct cuda_owned *owned, cudaEvent_t *event, unsigned flags,
                    char reason[ENGINE_REASON_MAX]);
bool cuda_own_stream(struct cuda_owned *owned, cudaStream_t *stream, int priority,
                     char reason[ENGINE_REASON_MAX]);
bool cuda_own_memory(struct cuda_owned *owned, unsigned char **memory, size_t size,
                     char reason[ENGINE_REASON_MAX]);

/* Opens a piece of pinned memory, which may not be moved. */
bool cuda_own_pinned(struct cuda_owned *owned, struct pinned_piece *piece, size_t size,
                     char reason[ENGINE_REASON_MAX]);

/* Frees all, when the device does not use it any more. Nothing can be helped if that fails. */
void cuda_owned_free(struct cuda_owned *owned);

/* One allocation that is cut into pieces. All is zero while its size is found; then the base is set, and the size zero again,
   and all is cut once more. */
struct cuda_cutter {
    unsigned char *base;
    size_t size; /* bytes of all pieces so far */
};

/* Cuts a piece off. The next one begins a multiple of `unit` bytes after it. NULL without a base, and of
   no bytes. */
static inline void *cuda_cut(struct cuda_cutter *c, size_t bytes, size_t unit)
{
    unsigned char *piece = c->base && bytes > 0 ? c->base + c->size : NULL;

    c->size += align_up(bytes, unit);
    return piece;
}

/* The times of events, on the clock of the host: so timelines of several objects of a device can be laid
   over each other. They are right to within the time that a thread takes to see that a stream is idle. */
struct cuda_clock {
    cudaEvent_t base; /* the caller's, recorded at this time: */
    uint64_t time;
};

/* Waits for a stream, and begins to tell times. */
bool cuda_clock_begin(struct cuda_clock *clock, cudaStream_t stream,
                      char reason[ENGINE_REASON_MAX]);

/* Notes what lies between two events that were recorded later, if that is known. */
void cuda_clock_note(const struct cuda_clock *clock, struct timeline *timeline, cudaEvent_t from,
                     cudaEvent_t to, uint64_t bytes);

#endif
