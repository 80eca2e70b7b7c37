#include "config.h"

#include "cuda/runtime/owned.h"

#include "cuda/runtime/check.h"
#include "sys/clock.h"

/* Adds a thing that was to be made. NULL: it could not be. */
static bool add(struct cuda_owned *o, enum cuda_thing_kind kind, void *handle, cudaError_t error,
                const char *what, char reason[ENGINE_REASON_MAX])
{
    o->things[o->count++] = (struct cuda_thing){kind, handle};
    return cuda_check(error, what, reason);
}

bool cuda_own_event(struct cuda_owned *o, cudaEvent_t *event, unsigned flags,
                    char reason[ENGINE_REASON_MAX])
{
    const cudaError_t error = cudaEventCreateWithFlags(event, flags);

    return add(o, THING_EVENT, *event, error, "creating an event", reason);
}

bool cuda_own_stream(struct cuda_owned *o, cudaStream_t *stream, int priority,
                     char reason[ENGINE_REASON_MAX])
{
    const cudaError_t error = cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority);

    return add(o, THING_STREAM, *stream, error, "creating a stream", reason);
}

bool cuda_own_memory(struct cuda_owned *o, unsigned char **memory, size_t size,
                     char reason[ENGINE_REASON_MAX])
{
    const cudaError_t error = cudaMalloc((void **)memory, size);

    return add(o, THING_MEMORY, *memory, error, "device memory", reason);
}

bool cuda_own_pinned(struct cuda_owned *o, struct pinned_piece *piece, size_t size,
                     char reason[ENGINE_REASON_MAX])
{
    o->things[o->count++] = (struct cuda_thing){THING_PINNED, piece};
    return pinned_piece_open(piece, o->arena, size, reason);
}

void cuda_owned_free(struct cuda_owned *o)
{
    for (unsigned i = 0; i < o->count; i++) {
        const struct cuda_thing thing = o->things[i];

        if (!thing.handle)
            continue;
        if (thing.kind == THING_EVENT)
            (void)cudaEventDestroy(thing.handle);
        else if (thing.kind == THING_STREAM)
            (void)cudaStreamDestroy(thing.handle);
        else if (thing.kind == THING_MEMORY)
            (void)cudaFree(thing.handle);
        else
            pinned_piece_close(thing.handle, o->arena);
    }
}

bool cuda_clock_begin(struct cuda_clock *c, cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    if (!cuda_check(cudaEventRecord(c->base, stream), "recording an event", reason) ||
        !cuda_check(cudaStreamSynchronize(stream), "device memory", reason))
        return false;
    c->time = clock_now();
    return true;
}

void cuda_clock_note(const struct cuda_clock *c, struct timeline *t, cudaEvent_t from,
                     cudaEvent_t to, uint64_t bytes)
{
    float before, between; /* milliseconds */
    uint64_t begin;

    if (cudaEventElapsedTime(&before, c->base, from) != cudaSuccess ||
        cudaEventElapsedTime(&between, from, to) != cudaSuccess) {
        (void)cudaGetLastError(); /* it is no failure of the next launch */
        return;
    }
    begin = c->time + (uint64_t)((double)before * 1e6);
    timeline_note(t, begin, begin + (uint64_t)((double)between * 1e6), bytes);
}
