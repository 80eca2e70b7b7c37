#include "config.h"

#include "source/whole.h"

#include <stdlib.h>
#include <string.h>

/* The first element that no worker has claimed. */
struct whole_state {
    _Atomic uint64_t next;
};

static enum source_status whole_next(struct source *s, const struct chunk_request *request,
                                     struct chunk *chunk)
{
    struct whole_state *state = s->state;
    size_t size = request->borrow && request->in_place ? request->in_place : request->size;
    uint64_t most = size / s->info.element_size, limit = source_wanted(s);
    uint64_t end = s->info.elements < limit ? s->info.elements : limit;
    uint64_t next = atomic_load_explicit(&state->next, memory_order_relaxed), count;

    most = most ? most : 1;
    do {
        if (next >= end || request->drain)
            return SOURCE_END;
        count = end - next < most ? end - next : most;
    } while (!atomic_compare_exchange_weak(&state->next, &next, next + count));
    chunk->index = next;
    chunk->count = (size_t)count;
    chunk->data = s->head + s->data_offset + next * s->info.element_size;
    if (!request->borrow)
        chunk->data = memcpy(request->buffer, chunk->data, chunk->count * s->info.element_size);
    source_count(s, chunk->count * s->info.element_size, 0);
    return SOURCE_CHUNK;
}

static enum source_status whole_at(struct source *s, const struct chunk_request *request,
                                   struct chunk *chunk)
{
    chunk->data = s->head + s->data_offset + chunk->index * s->info.element_size;
    if (!request->borrow) {
        const size_t most = request->size / s->info.element_size;

        chunk->count = chunk->count < most ? chunk->count : most;
        chunk->data = memcpy(request->buffer, chunk->data, chunk->count * s->info.element_size);
    }
    source_count(s, chunk->count * s->info.element_size, 0);
    return SOURCE_CHUNK;
}

static void whole_close(struct source *s)
{
    free(s->state);
}

bool whole_source_open(struct source *s)
{
    static const struct source_ops ops = {.next = whole_next, .at = whole_at, .close = whole_close};

    s->state = calloc(1, sizeof(struct whole_state));
    if (!s->state)
        return source_no_memory(s);
    atomic_init(&((struct whole_state *)s->state)->next, s->info.first);
    s->ops = &ops;
    s->info.whole = true;
    return true;
}
