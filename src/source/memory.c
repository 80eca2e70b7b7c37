#include "config.h"

#include "source/memory.h"

#include <stdlib.h>
#include <string.h>

#include "core/view.h"
#include "source/marked.h"
#include "sys/align.h"

/* Bytes of a claim in place, at most and at least. Claiming costs a fraction of a microsecond. Claims
   become smaller at the end, so that all workers end together. */
#define CLAIM_BYTES ((size_t)1 << 20)
#define CLAIM_BYTES_LEAST ((size_t)128 << 10)

/* The places of a worker's chunk. */
struct worker_places {
    _Alignas(CACHE_APART) struct view_places places;
};

struct memory_state {
    const struct view *view;
    struct view head;             /* the view of a file, if it is that */
    uint64_t start;               /* index that chunks give its first element */
    uint64_t workers;             /* 1 at least */
    struct worker_places *places; /* of each worker; NULL without a mask, and if `marked` is used */
    struct marked marked;         /* elements in their places, of views with a mask */
    /* The first element that no worker has claimed. */
    _Alignas(CACHE_APART) _Atomic uint64_t next;
};

/* Claims elements from *first on: half of an equal share of what is left, as a multiple of `least`,
   but `most` at most. Returns how many; 0 at the end. */
static size_t claim(struct source *s, uint64_t most, uint64_t least, uint64_t *first)
{
    struct memory_state *state = s->state;
    const uint64_t limit = source_wanted(s);
    const uint64_t end = s->info.elements < limit ? s->info.elements : limit;
    uint64_t next = atomic_load_explicit(&state->next, memory_order_relaxed), count;

    do {
        if (next >= end)
            return 0;
        count = (end - next) / (2 * state->workers) / least * least;
        count = count < least ? least : count < most ? count : most;
        count = count < end - next ? count : end - next;
    } while (!atomic_compare_exchange_weak(&state->next, &next, next + count));
    *first = next;
    return (size_t)count;
}

static enum source_status memory_next(struct source *s, const struct chunk_request *request,
                                      struct chunk *chunk)
{
    const struct memory_state *state = s->state;
    const struct view *view = state->view;
    const size_t size = s->info.element_size;
    struct view_places *places = state->places ? &state->places[request->worker].places : NULL;
    size_t most = request->size, least = most, count, missing;
    uint64_t first;

    if (view->contiguous && request->borrow && !places) {
        most = request->in_place > 0 && request->in_place < CLAIM_BYTES ? request->in_place
                                                                        : CLAIM_BYTES;
        least = most < CLAIM_BYTES_LEAST ? most : CLAIM_BYTES_LEAST;
    }
    if (request->drain)
        return SOURCE_END;
    most = most < size ? 1 : most / size;
    least = least < size ? 1 : least / size;
    if (request->unit > 0 && request->unit <= most) {
        most -= most % request->unit;
        least = least + request->unit - 1 < most ? least + request->unit - 1 : most;
        least -= least % request->unit;
    }
    while ((count = claim(s, most, least, &first)) > 0) {
        source_count(s, count * size, 0);
        missing = view_make_chunk(view, first, count, request, places, chunk);
        atomic_fetch_add_explicit(&s->left_out, missing, memory_order_relaxed);
        if (missing == count)
            continue;
        if (chunk->place)
            places->start = state->start;
        else
            chunk->index += state->start;
        return SOURCE_CHUNK;
    }
    return SOURCE_END;
}

/* Elements of a view without a mask. */
static enum source_status memory_at(struct source *s, const struct chunk_request *request,
                                    struct chunk *chunk)
{
    const struct view *view = ((const struct memory_state *)s->state)->view;
    const size_t most = request->size / s->info.element_size;
    struct error error = {.kind = ERROR_NONE};

    if ((view->remote || !(view->contiguous && request->borrow)) && chunk->count > most)
        chunk->count = most;
    source_count(s, chunk->count * s->info.element_size, 0);
    if (!view->remote) {
        (void)view_make_chunk(view, chunk->index, chunk->count, request, NULL, chunk);
        return SOURCE_CHUNK;
    }
    *chunk = (struct chunk){.index = chunk->index, .count = chunk->count, .data = request->buffer};
    if (view->remote->copy(view->remote->context, chunk->index, chunk->count, request->buffer,
                           &error))
        return SOURCE_CHUNK;
    source_fail(s, error);
    return SOURCE_FAILED;
}

/* Elements of a view with a mask, in their places. */
static enum source_status marked_next(struct source *s, const struct chunk_request *request,
                                      struct chunk *chunk)
{
    const struct memory_state *state = s->state;
    const size_t size = s->info.element_size;
    const size_t most = request->size / size;
    uint64_t first;
    size_t count;

    if (request->drain)
        return SOURCE_END;
    count = claim(s, most, most, &first);
    if (count == 0)
        return SOURCE_END;
    source_count(s, count * element_size(state->view->type), 0);
    marked_gather(&state->marked, first, count, request->buffer);
    *chunk = (struct chunk){.index = state->start + first, .count = count, .data = request->buffer};
    return SOURCE_CHUNK;
}

static void marked_read(struct source *s, uint64_t index, size_t count, void *elements)
{
    const struct memory_state *state = s->state;

    marked_gather(&state->marked, index, count, elements);
    source_count(s, count * element_size(state->view->type), 0);
}

static const char *marked_find_missing(struct source *s, const struct missing_values *values,
                                       struct missing *m, enum element_type *type)
{
    struct marked *const marked = &((struct memory_state *)s->state)->marked;

    *type = marked->view->type;
    return marked_choose(marked, values, m);
}

static bool memory_lend(struct source *s, unsigned worker, uint64_t index, size_t count,
                        struct chunk *chunk, uint64_t *most)
{
    const struct view *view = ((const struct memory_state *)s->state)->view;

    (void)worker;
    (void)most;
    if (!view->contiguous)
        return false;
    *chunk = (struct chunk){
        .index = index, .count = count, .data = view->folded.data + index * s->info.element_size};
    return true;
}

static void memory_read(struct source *s, uint64_t index, size_t count, void *elements)
{
    view_gather(((const struct memory_state *)s->state)->view, index, count, elements);
    source_count(s, count * s->info.element_size, 0);
}

static bool memory_is_missing(const struct source *s, uint64_t index)
{
    return !view_is_present(((const struct memory_state *)s->state)->view, index);
}

static void memory_close(struct source *s)
{
    struct memory_state *state = s->state;

    free(state->places);
    free(state);
}

/* Sets the facts about the source. */
static void set_info(struct source *s, const struct view *view, uint64_t length)
{
    struct source_info *info = &s->info;

    _Static_assert(VIEW_DIMENSIONS_MAX <= ARRAY_DIMENSIONS_MAX, "room for all dimensions");
    info->format = "memory";
    info->type = view->type;
    info->element_size = element_size(view->type);
    info->swap = view->swap;
    info->shape.known = true;
    info->shape.dimensions = view->shaped.rank;
    memcpy(info->shape.sizes, view->shaped.sizes, view->shaped.rank * sizeof *info->shape.sizes);
    info->scale = view->scale;
    info->scattered = view->mask_form != VIEW_MASK_NONE;
    info->parallel = true;
    info->repeatable = true;
    info->elements = info->of = view->elements < length ? view->elements : length;
    info->input_bytes = info->elements * info->element_size;
}

/* Makes s a source of a view. NULL without memory. */
static struct memory_state *begin(struct source *s, const struct source_ops *ops,
                                  const struct view *view, unsigned workers)
{
    struct memory_state *state = aligned_alloc(CACHE_APART, sizeof *state);

    if (!state) {
        (void)source_no_memory(s);
        return NULL;
    }
    memset(state, 0, sizeof *state);
    state->view = view;
    state->workers = workers > 0 ? workers : 1;
    s->state = state;
    s->ops = ops;
    s->info.whole = true;
    return state;
}

bool memory_source_open(struct source *s, unsigned workers)
{
    static const struct source_ops ops = {.next = memory_next,
                                          .at = memory_at,
                                          .lend = memory_lend,
                                          .read = memory_read,
                                          .is_missing = memory_is_missing,
                                          .close = memory_close};
    static const struct source_ops marked_ops = {.next = marked_next,
                                                 .read = marked_read,
                                                 .find_missing = marked_find_missing,
                                                 .close = memory_close};
    struct memory_state *state = begin(s, &ops, s->options.view, workers);

    if (!state)
        return false;
    state->start = s->options.view_start;
    set_info(s, s->options.view, s->options.length);
    if (s->options.view->mask_form == VIEW_MASK_NONE)
        return true;
    if (s->options.consecutive) {
        marked_set(&state->marked, s->options.view);
        s->ops = &marked_ops;
        s->info.scattered = false;
        s->info.swap = false;
        s->info.type = state->marked.type;
        s->info.element_size = element_size(s->info.type);
        return true;
    }
    state->places = aligned_alloc(CACHE_APART, workers * sizeof *state->places);
    return state->places || source_no_memory(s);
}

bool memory_source_open_head(struct source *s, unsigned workers)
{
    static const struct source_ops ops = {.next = memory_next,
                                          .at = memory_at,
                                          .lend = memory_lend,
                                          .read = memory_read,
                                          .close = memory_close};
    struct memory_state *state = begin(s, &ops, NULL, workers);

    if (!state)
        return false;
    state->view = &state->head;
    atomic_init(&state->next, s->info.first);
    return view_set(&state->head, s->head + s->data_offset, s->info.type, s->info.swap, 1,
                    &s->info.elements, NULL);
}
