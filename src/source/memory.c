/*
 * The source of memory: a view (core/view.h) whose parts workers claim. A contiguous one is read
 * where it lies, as a small file is that was read whole when it was opened; others are gathered into
 * the workers' buffers, in C order, and so are the elements that a mask leaves.
 */
#include "config.h"

#include "source/kinds.h"

#include <stdlib.h>
#include <string.h>

#include "core/missing.h"
#include "core/order.h"
#include "core/view.h"
#include "sys/align.h"

/*
 * Masked views as elements of which a value stands for those that are missing, in their places: for
 * results along an axis, which have the elements of a slice side by side.
 *
 * Floats keep their type: the value is the NaN all of whose bits are set, and NaNs like it become others.
 * Integers become those of the next larger type, whose least value it is; of 64 bits, a value that no
 * element has.
 */

struct marked {
    const struct view *view;
    enum element_type type; /* of the elements that it gives */
    struct missing missing; /* values of the view's type that are missing besides */
    uint64_t mark;          /* the bits of the value of `type` */
};

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

/* Elements that are marked together. */
#define TOGETHER 512

/* Makes *m the elements of a view, which must outlive it. */
static void marked_set(struct marked *m, const struct view *view)
{
    static const enum element_type wider[ELEMENT_TYPES] = {
        [ELEMENT_BOOL] = ELEMENT_I16, [ELEMENT_I8] = ELEMENT_I16,  [ELEMENT_U8] = ELEMENT_I16,
        [ELEMENT_I16] = ELEMENT_I32,  [ELEMENT_U16] = ELEMENT_I32, [ELEMENT_I32] = ELEMENT_I64,
        [ELEMENT_U32] = ELEMENT_I64};
    const bool whole =
        element_is_integer(view->type) && element_size(view->type) < sizeof(uint64_t);

    *m = (struct marked){.view = view, .type = whole ? wider[view->type] : view->type};
}

/* Elements of the view, in this machine's byte order. */
static void gather(const struct marked *m, uint64_t first, size_t count, void *to)
{
    view_gather(m->view, first, count, to);
    if (m->view->swap)
        element_swap(to, to, count, element_size(m->view->type));
}

/* An integer of 64 bits that no element has. */
static uint64_t find_absent(const struct marked *m)
{
    const uint64_t elements = m->view->elements;
    uint64_t x[TOGETHER];

    /* As far apart as can be, and the least first. */
    for (uint64_t candidate = UINT64_C(1) << 63;; candidate += UINT64_C(0x9e3779b97f4a7c15)) {
        bool absent = true;

        for (uint64_t i = 0; i < elements && absent; i += TOGETHER) {
            const size_t some = elements - i < TOGETHER ? (size_t)(elements - i) : TOGETHER;
            unsigned same = 0;

            gather(m, i, some, x);
            for (size_t j = 0; j < some; j++)
                same |= x[j] == candidate;
            absent = !same;
        }
        if (absent)
            return candidate;
    }
}

/* Chooses the value, and makes *missing the set that has it: `values` are missing besides, the first of which
   stands for missing integers. Reads all elements of 64-bit integers. Returns the first of the values that
   the view's type, which becomes *type, lacks; NULL if there is none. */
static const char *marked_find_missing(struct source *s, const struct missing_values *values,
                                       struct missing *missing, enum element_type *type)
{
    struct marked *const m = &((struct memory_state *)s->state)->marked;
    const enum element_type given = *type = m->view->type;
    const char *const lacking = missing_add_values(&m->missing, given, values);
    const size_t bits = 8 * element_size(m->type);
    struct integer first;

    m->mark = m->type != given            ? UINT64_C(1) << (bits - 1)
              : element_is_integer(given) ? find_absent(m)
                                          : UINT64_MAX >> (64 - bits);
    *missing = (struct missing){.count = 1, .nameless = m->missing.count == 0};
    missing->ranges[0].first = missing->ranges[0].last = order_key(m->type, m->mark);
    if (m->missing.count > 0 && element_is_integer(given)) {
        first = order_integer(given, order_key(given, missing_bits(&m->missing, given)));
        missing->value = (first.negative ? -first.low : first.low) & UINT64_MAX >> (64 - bits);
        (void)missing_add_bits(missing, m->type, missing->value);
    }
    return lacking;
}

/* Finds which of some elements are missing: 1, else 0. */
static void find_gone(const struct marked *m, uint64_t first, size_t count, const void *elements,
                      uint8_t gone[TOGETHER])
{
    const struct view *v = m->view;
    const unsigned char *const mask = v->mask;
    const uint64_t at = v->mask_offset + first;
    const size_t size = element_size(v->type);

    switch (v->mask_form) {
    case VIEW_MASK_NONE:
        memset(gone, 0, count);
        break;
    case VIEW_MASK_MISSING_BYTES:
        for (size_t i = 0; i < count; i++)
            gone[i] = mask[at + i] != 0;
        break;
    case VIEW_MASK_VALID_BYTES:
        for (size_t i = 0; i < count; i++)
            gone[i] = mask[at + i] == 0;
        break;
    case VIEW_MASK_VALID_BITS:
        for (size_t i = 0; i < count; i++)
            gone[i] = !(mask[(at + i) / 8] >> (at + i) % 8 & 1);
        break;
    }
    for (size_t i = 0; i < count && m->missing.count > 0; i++) {
        const uint64_t bits = element_bits(size, (const unsigned char *)elements + i * size);

        gone[i] |= missing_has(&m->missing, order_key(v->type, bits));
    }
}

/* Elements that are looked at together: compilers make vectors of loops of known length. */
#define BLOCK 64
_Static_assert(TOGETHER % BLOCK == 0, "whole blocks");

/* NAME(to, from, gone, mark, other): marks elements that keep their type; those that look like the mark
   become `other`. */
#define MARK(NAME, LANE)                                                                      \
    static void NAME(void *to, const void *from, const uint8_t *gone, uint64_t mark,          \
                     uint64_t other)                                                          \
    {                                                                                         \
        const LANE marked = (LANE)mark, instead = (LANE)(mark ^ other);                       \
                                                                                              \
        for (size_t i = 0; i < TOGETHER; i += BLOCK)                                          \
            for (size_t j = 0; j < BLOCK; j++) {                                              \
                const LANE x = ((const LANE *)from)[i + j], all = (LANE)(int8_t)-gone[i + j]; \
                const LANE same = (LANE) - (LANE)(x == marked);                               \
                const LANE y = (LANE)(x ^ (instead & same));                                  \
                                                                                              \
                ((LANE *)to)[i + j] = (LANE)(y ^ ((y ^ marked) & all));                       \
            }                                                                                 \
    }
MARK(mark8, uint8_t)
MARK(mark16, uint16_t)
MARK(mark32, uint32_t)
MARK(mark64, uint64_t)

/* NAME(to, from, gone): marks elements that become those of a larger type. */
#define WIDEN(NAME, LANE, WIDE, LEAST, TRUTH)                            \
    static void NAME(void *to, const void *from, const uint8_t *gone)    \
    {                                                                    \
        for (size_t i = 0; i < TOGETHER; i += BLOCK)                     \
            for (size_t j = 0; j < BLOCK; j++) {                         \
                const WIDE x = (WIDE)(TRUTH((const LANE *)from)[i + j]); \
                const WIDE all = (WIDE)(int8_t)-gone[i + j];             \
                                                                         \
                ((WIDE *)to)[i + j] = (WIDE)(x ^ ((x ^ (LEAST)) & all)); \
            }                                                            \
    }
WIDEN(widen_bool, uint8_t, int16_t, INT16_MIN, !!)
WIDEN(widen_i8, int8_t, int16_t, INT16_MIN, )
WIDEN(widen_u8, uint8_t, int16_t, INT16_MIN, )
WIDEN(widen_i16, int16_t, int32_t, INT32_MIN, )
WIDEN(widen_u16, uint16_t, int32_t, INT32_MIN, )
WIDEN(widen_i32, int32_t, int64_t, INT64_MIN, )
WIDEN(widen_u32, uint32_t, int64_t, INT64_MIN, )

/* Puts `count` elements from number `first` on to `to`, one after the other, in this machine's byte order.
   Any thread. */
static void marked_gather(const struct marked *m, uint64_t first, size_t count, void *to)
{
    static void (*const widen[ELEMENT_TYPES])(void *, const void *, const uint8_t *) = {
        [ELEMENT_BOOL] = widen_bool, [ELEMENT_I8] = widen_i8,   [ELEMENT_U8] = widen_u8,
        [ELEMENT_I16] = widen_i16,   [ELEMENT_U16] = widen_u16, [ELEMENT_I32] = widen_i32,
        [ELEMENT_U32] = widen_u32};
    static void (*const mark[])(void *, const void *, const uint8_t *, uint64_t,
                                uint64_t) = {[1] = mark8, [2] = mark16, [4] = mark32, [8] = mark64};
    const enum element_type given = m->view->type;
    const size_t size = element_size(m->type);
    unsigned char *out = to;
    _Alignas(uint64_t) unsigned char elements[TOGETHER * sizeof(uint64_t)] = {0};
    _Alignas(uint64_t) unsigned char made[sizeof elements];
    uint8_t gone[TOGETHER] = {0};

    for (size_t i = 0; i < count; i += TOGETHER) {
        const size_t some = count - i < TOGETHER ? count - i : TOGETHER;

        gather(m, first + i, some, elements);
        find_gone(m, first + i, some, elements, gone);
        if (m->type != given)
            widen[given](made, elements, gone);
        else
            mark[size](made, elements, gone, m->mark, m->mark & ~order_sign(given));
        memcpy(out + i * size, made, some * size);
    }
}

/*
 * The source.
 */

/* Bytes of a claim in place, at most and at least. Claiming costs a fraction of a microsecond. Claims
   become smaller at the end, so that all workers end together. */
#define CLAIM_BYTES ((size_t)1 << 20)
#define CLAIM_BYTES_LEAST ((size_t)128 << 10)

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
static struct memory_state *begin(struct source *s, const struct view *view, unsigned workers)
{
    static const struct source_ops ops = {.next = memory_next,
                                          .at = memory_at,
                                          .lend = memory_lend,
                                          .read = memory_read,
                                          .is_missing = memory_is_missing,
                                          .close = memory_close};
    struct memory_state *state = aligned_alloc(CACHE_APART, sizeof *state);

    if (!state) {
        (void)source_no_memory(s);
        return NULL;
    }
    memset(state, 0, sizeof *state);
    state->view = view;
    state->workers = workers > 0 ? workers : 1;
    s->state = state;
    s->ops = &ops;
    s->info.whole = true;
    return state;
}

bool memory_source_open(struct source *s, unsigned workers)
{
    static const struct source_ops marked_ops = {.next = marked_next,
                                                 .read = marked_read,
                                                 .find_missing = marked_find_missing,
                                                 .close = memory_close};
    struct memory_state *state = begin(s, s->options.view, workers);

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
    struct memory_state *state = begin(s, NULL, workers);

    if (!state)
        return false;
    state->view = &state->head;
    atomic_init(&state->next, s->info.first);
    return view_set(&state->head, s->head + s->data_offset, s->info.type, s->info.swap, 1,
                    &s->info.elements, NULL);
}
