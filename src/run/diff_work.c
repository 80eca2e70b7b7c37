#include "config.h"

#include "run/diff_work.h"

#include <stdlib.h>
#include <string.h>

#include "sys/mapping.h"

/* Claims shrink towards the end, so that all workers end together; not below this. Bytes. */
#define CLAIM_MIN ((uint64_t)64 << 10)

/* Cached data that have to be copied are copied in pieces of so many bytes, both sides together in
   the level-2 cache of a core. */
#define COPIED_BYTES ((size_t)256 << 10)

/* Ranges that follow one another are joined up to this. Bytes. */
#define RANGE_BYTES ((uint64_t)4 << 20)

static bool stopped(const struct diff *d)
{
    return atomic_load_explicit(&d->stop, memory_order_relaxed);
}

/* Ends the work of all: an input failed, unless all that is asked for was known by then. Returns
   false. */
static bool give_up(struct diff *d)
{
    if (!atomic_load(&d->decided))
        atomic_store(&d->failed, true);
    atomic_store(&d->stop, true);
    return false;
}

static bool no_memory(struct diff *d)
{
    (void)diff_no_memory(d);
    return give_up(d);
}

bool diff_ranges_add(struct diff_ranges *ranges, const struct diff_range *range)
{
    if (ranges->count == ranges->room) {
        const size_t room = 2 * ranges->room + 64;
        struct diff_range *list = realloc(ranges->list, room * sizeof *list);

        if (!list)
            return false;
        ranges->list = list;
        ranges->room = room;
    }
    ranges->list[ranges->count++] = *range;
    return true;
}

/* Notes equal elements of which no sums have been taken. */
static bool note_unseen(struct diff_worker *w, uint64_t index, uint64_t count)
{
    struct diff_ranges *unseen = &w->unseen;

    if (unseen->count > 0) {
        struct diff_range *last = &unseen->list[unseen->count - 1];

        if (last->pair == w->pair && last->index + last->count == index &&
            (last->count + count) * w->diff->pairs[w->pair].size <= RANGE_BYTES) {
            last->count += count;
            return true;
        }
    }
    return diff_ranges_add(unseen, &(struct diff_range){w->pair, index, count}) ||
           no_memory(w->diff);
}

/*
 * Findings of a worker.
 */

/* Hands in what the worker has found of the pair that it is at. */
static bool hand_in(struct diff_worker *w)
{
    struct diff *d = w->diff;
    struct diff_pair *p;
    struct difference found;
    bool good = true;

    if (w->pair == SIZE_MAX || !w->found)
        return true;
    p = &d->pairs[w->pair];
    w->found = false;
    cpu_compare_finish(w->compare, &found);
    diff_lock(d);
    if (!p->difference) {
        p->difference = malloc(sizeof *p->difference);
        if (p->difference)
            *p->difference = found;
        good = p->difference != NULL;
    } else {
        difference_merge(p->difference, p->setup.terms.type, &found);
    }
    diff_unlock(d);
    return good || no_memory(d);
}

/* Leaves the sources of the worker's pair that pair number `next` is not in; SIZE_MAX for none. */
static void leave(const struct diff_worker *w, size_t next)
{
    const struct diff_pair *pairs = w->diff->pairs;

    for (int side = 0; side < DIFF_SIDES && w->pair != SIZE_MAX; side++) {
        struct source *source = pairs[w->pair].sides[side].source;

        if (pairs[w->pair].sides[side].at_hand &&
            (next == SIZE_MAX || pairs[next].sides[side].source != source))
            source_leave(source, w->number);
    }
}

/* Goes on with a pair. */
static bool turn_to(struct diff_worker *w, size_t pair)
{
    if (w->pair == pair)
        return true;
    if (!hand_in(w))
        return false;
    leave(w, pair);
    w->pair = pair;
    return cpu_compare_begin(w->compare, &w->diff->pairs[pair].setup) || no_memory(w->diff);
}

/*
 * Elements of both sides.
 */

/* A call of cpu_compare_take, in the form that mapping_guard takes. */
struct take_call {
    struct cpu_compare *compare;
    const void *data[DIFF_SIDES];
    size_t count;
    uint64_t index;
    bool look;
    size_t passed;
};

static void call_take(void *argument)
{
    struct take_call *c = argument;

    c->passed =
        cpu_compare_take(c->compare, c->data[DIFF_A], c->data[DIFF_B], c->count, c->index, c->look);
}

/* Bytes that may have vanished. */
struct touch_call {
    const volatile unsigned char *bytes;
    size_t size;
};

static void call_touch(void *argument)
{
    const struct touch_call *c = argument;

    for (size_t i = 0; i < c->size; i += mapping_page())
        (void)c->bytes[i];
    (void)c->bytes[c->size - 1];
}

/* Whether a mapped chunk can be read now. */
static bool is_there(const struct chunk *chunk, size_t size)
{
    struct touch_call call = {chunk->data, chunk->count * size};

    return !chunk->mapped || mapping_guard(call_touch, &call);
}

/* Makes the side fail whose bytes vanished while they were compared. */
static bool lost(struct diff *d, const struct diff_pair *p, const struct chunk *a,
                 const struct chunk *b)
{
    if (a->mapped && (!b->mapped || !is_there(a, p->size)))
        source_lost(p->sides[DIFF_A].source, a);
    else
        source_lost(p->sides[DIFF_B].source, b);
    return give_up(d);
}

/* Ends the work of all: something differs, and that suffices. */
static void decide(struct diff *d)
{
    atomic_store(&d->stop, true);
    atomic_store(&d->decided, true);
    team_wake(&d->team);
}

/* Compares chunks of both sides: as many elements of `a`, from the one numbered `from` on, as `b`
   has. */
static bool compare_chunks(struct diff_worker *w, const struct chunk *a, size_t from,
                           const struct chunk *b)
{
    struct diff *d = w->diff;
    struct diff_pair *p = &d->pairs[w->pair];
    struct take_call call = {
        .compare = w->compare,
        .data = {(const unsigned char *)a->data + from * p->size, b->data},
        .count = b->count,
        .index = b->index,
        .look =
            d->always_look || (p->order && !d->request->verdict_only) ||
            (!d->request->verdict_only && atomic_load_explicit(&p->differs, memory_order_relaxed)),
    };

    if (!a->mapped && !b->mapped)
        call_take(&call);
    else if (!mapping_guard(call_take, &call))
        return lost(d, p, a, b);
    if (call.look || call.passed < call.count) {
        w->found = true;
        if (!atomic_load_explicit(&p->differs, memory_order_relaxed))
            atomic_store(&p->differs, true);
    }
    if (d->request->verdict_only) {
        if (cpu_compare_differs(w->compare))
            decide(d);
        return true;
    }
    return call.passed == 0 || note_unseen(w, b->index, call.passed);
}

static struct chunk_request request_of(const struct diff_worker *w, int side)
{
    return (struct chunk_request){.worker = w->number,
                                  .buffer = w->buffers[side],
                                  .size = w->diff->buffer_bytes,
                                  .in_place = w->diff->claim_bytes,
                                  .borrow = true};
}

/* Gets elements of a side: those at `data`, or, where that is NULL, from the source. */
static bool get(struct diff_worker *w, int side, const unsigned char *data, struct chunk *chunk)
{
    struct diff_pair *p = &w->diff->pairs[w->pair];
    struct chunk_request request = request_of(w, side);

    request.size = request.size < COPIED_BYTES ? request.size : COPIED_BYTES;
    chunk->array = p->sides[side].array;
    chunk->data = data;
    chunk->mapped = false;
    return data || source_at(p->sides[side].source, &request, chunk) == SOURCE_CHUNK ||
           give_up(w->diff);
}

/* Hands them back. */
static void put(struct diff_worker *w, int side, const unsigned char *data,
                const struct chunk *chunk)
{
    if (!data)
        source_release(w->diff->pairs[w->pair].sides[side].source, w->number, chunk);
}

/* Compares a range of the pair that the worker is at. A side whose data[side] is NULL is at hand;
   otherwise the elements of the range are there. */
static bool compare_range(struct diff_worker *w, const unsigned char *const data[DIFF_SIDES],
                          uint64_t index, uint64_t count)
{
    const size_t size = w->diff->pairs[w->pair].size;
    bool good = true;

    for (uint64_t i = 0; good && i < count && !stopped(w->diff);) {
        const unsigned char *const a_data = data[DIFF_A] ? data[DIFF_A] + i * size : NULL;
        struct chunk a = {.index = index + i, .count = (size_t)(count - i)};

        if (!get(w, DIFF_A, a_data, &a))
            return false;
        for (size_t j = 0; good && j < a.count;) {
            const unsigned char *const b_data = data[DIFF_B] ? data[DIFF_B] + (i + j) * size : NULL;
            struct chunk b = {.index = a.index + j, .count = a.count - j};

            good = get(w, DIFF_B, b_data, &b);
            if (!good)
                break;
            good = compare_chunks(w, &a, j, &b);
            put(w, DIFF_B, b_data, &b);
            j += b.count;
        }
        put(w, DIFF_A, a_data, &a);
        i += a.count;
    }
    return good;
}

/*
 * Pairs at hand.
 */

/* The pair at hand in which the byte number `at` of all of them lies, by its number among them. */
static size_t find_pair(const struct diff *d, uint64_t at)
{
    size_t low = 0, high = d->pair_count - d->ordered;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (d->begins[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Claims the next range. False when there is none. */
static bool claim(struct diff *d, struct diff_range *range)
{
    const size_t count = d->pair_count - d->ordered;
    uint64_t next = atomic_load_explicit(&d->next, memory_order_relaxed);
    uint64_t bytes;

    do {
        uint64_t left, here;
        size_t place, size;

        if (stopped(d) || next >= d->begins[count])
            return false;
        place = find_pair(d, next);
        range->pair = d->ordered + place;
        size = d->pairs[range->pair].size;
        left = d->begins[count] - next;
        here = d->begins[place + 1] - next;
        bytes = left / 2 / d->worker_count;
        bytes = bytes > d->claim_bytes ? d->claim_bytes : bytes;
        bytes = bytes < CLAIM_MIN && bytes < d->claim_bytes ? CLAIM_MIN : bytes;
        bytes = bytes < d->claim_bytes ? bytes : d->claim_bytes;
        bytes = bytes / size * size;
        bytes = bytes ? bytes : size;
        bytes = bytes < here ? bytes : here;
        range->index = (next - d->begins[place]) / size;
        range->count = bytes / size;
    } while (!atomic_compare_exchange_weak(&d->next, &next, next + bytes));
    return true;
}

/*
 * Pairs in order.
 */

/* Reads what comes next of a side into the worker's buffer, `most` elements at most. Returns how
   many, 0 at the end; and on failure: then the pair has failed, or give_up has been called. */
static size_t read_next(struct diff_worker *w, struct diff_pair *p, int side, size_t most)
{
    struct chunk_request request = request_of(w, side);
    struct chunk chunk;

    request.worker = 0;
    request.in_place = 0;
    request.size = most * p->size;
    switch (source_next(p->sides[side].source, &request, &chunk)) {
    case SOURCE_CHUNK:
        if (chunk.data != request.buffer)
            memcpy(request.buffer, chunk.data, chunk.count * p->size);
        source_release(p->sides[side].source, 0, &chunk);
        return chunk.count;
    case SOURCE_END:
        return 0;
    case SOURCE_FAILED:
        break;
    }
    if (p->sides[side].own) /* other pairs go on, and this one to the end: both may be damaged */
        atomic_store(&p->failed, true);
    else
        (void)give_up(w->diff);
    return 0;
}

/* Fills the buffer until there are `most` elements or the end is reached: frames and members end
   anywhere. */
static size_t fill_next(struct diff_worker *w, struct diff_pair *p, int side, size_t most)
{
    unsigned char *const buffer = w->buffers[side];
    size_t got = 0, more = 1;

    while (got < most && more > 0) {
        w->buffers[side] = buffer + got * p->size;
        more = read_next(w, p, side, most - got);
        got += more;
    }
    w->buffers[side] = buffer;
    return got;
}

/* Takes a turn at the leading side. False when it has ended. */
static bool take_ticket(struct diff *d, struct diff_order *o, uint64_t *ticket)
{
    bool taken;

    diff_order_lock(o);
    while (o->reading && !o->ended && !stopped(d))
        diff_order_wait_for(o, &o->changed);
    taken = !o->ended && !stopped(d);
    if (taken) {
        o->reading = true;
        *ticket = o->tickets++;
    }
    diff_order_unlock(o);
    return taken;
}

/* Notes what has been read of the leading side, whose turn ends. Returns the index of the first
   element. With `wait`, waits for the turn at the other side. */
static uint64_t note_lead(struct diff_order *o, int lead, size_t count, uint64_t ticket, bool wait)
{
    uint64_t index;

    diff_order_lock(o);
    index = o->got[lead];
    o->got[lead] += count;
    o->ended = count == 0;
    o->reading = false;
    pthread_cond_broadcast(&o->changed);
    while (wait && o->served != ticket)
        diff_order_wait_for(o, &o->changed);
    diff_order_unlock(o);
    return index;
}

static void note_follow(struct diff_order *o, int side, uint64_t count)
{
    diff_order_lock(o);
    o->got[side] += count;
    o->served++;
    pthread_cond_broadcast(&o->changed);
    diff_order_unlock(o);
}

/* Reads the other side to its end. Returns how many elements that were. */
static uint64_t read_rest(struct diff_worker *w, struct diff_pair *p, int side, size_t most)
{
    uint64_t all = 0;
    size_t count;

    while (!stopped(w->diff) && (count = read_next(w, p, side, most)) > 0)
        all += count;
    return all;
}

/* Takes part in a pair in order until it has ended. Several workers may, at once. */
static bool compare_in_order(struct diff_worker *w, size_t number)
{
    struct diff *d = w->diff;
    struct diff_pair *p = &d->pairs[number];
    struct diff_order *o = p->order;
    const int lead = p->sides[DIFF_A].at_hand ? DIFF_B : DIFF_A, other = DIFF_B - lead;
    const size_t most = d->buffer_bytes / p->size;
    const bool both = !p->sides[other].at_hand;
    uint64_t ticket;

    while (take_ticket(d, o, &ticket)) {
        const unsigned char *data[DIFF_SIDES];
        size_t count = fill_next(w, p, lead, most), follows = count;
        const uint64_t index = note_lead(o, lead, count, ticket, both);

        if (both) {
            follows = count > 0 ? fill_next(w, p, other, count) : 0;
            note_follow(o, other, count > 0 ? follows : read_rest(w, p, other, most));
        } else if (index + count > p->item->sides[other].elements) {
            follows = index < p->item->sides[other].elements
                          ? (size_t)(p->item->sides[other].elements - index)
                          : 0;
        }
        data[lead] = w->buffers[lead];
        data[other] = both ? w->buffers[other] : NULL;
        if (stopped(d) || follows == 0)
            continue;
        if (!turn_to(w, number) || !compare_range(w, data, index, follows))
            return false;
    }
    return true;
}

/*
 * Workers.
 */

/* Makes the worker ready. False without memory, or, with nothing printed, where the work goes on
   without it. */
static bool begin_worker(struct diff_worker *w)
{
    w->pair = SIZE_MAX;
    w->found = false;
    if (!w->compare)
        w->compare = cpu_compare_open(w->diff->request->options->kernels);
    for (int side = 0; side < DIFF_SIDES; side++)
        if (!w->buffers[side])
            w->buffers[side] = mapping_alloc(w->diff->buffer_bytes);
    if (w->compare && w->buffers[DIFF_A] && w->buffers[DIFF_B])
        return true;
    return w->number == 0 && no_memory(w->diff); /* one at least is needed */
}

void diff_work(struct diff_worker *w)
{
    struct diff *d = w->diff;
    const unsigned char *const at_hand[DIFF_SIDES] = {NULL, NULL};
    struct diff_range range;
    bool good = begin_worker(w);
    size_t k;

    /* Each takes a pair of its own in order as long as there are any: what decodes them is one
       thread. */
    while (good && (k = atomic_fetch_add(&d->next_ordered, 1)) < d->ordered)
        good = compare_in_order(w, k);
    while (good && claim(d, &range))
        good = turn_to(w, range.pair) && compare_range(w, at_hand, range.index, range.count);
    /* And then helps with those that are under way. */
    for (k = 0; good && k < d->ordered; k++)
        good = compare_in_order(w, k);
    if (good)
        (void)hand_in(w);
    leave(w, SIZE_MAX);
}

/* A call of cpu_compare_look. */
struct look_call {
    struct cpu_compare *compare;
    const struct chunk *chunk;
};

static void call_look(void *argument)
{
    const struct look_call *c = argument;

    cpu_compare_look(c->compare, c->chunk->data, c->chunk->count, c->chunk->index);
}

/* Takes the sums of equal elements: those of one side. */
static bool look_at_range(struct diff_worker *w, const struct diff_range *range)
{
    struct diff *d = w->diff;
    struct source *source = d->pairs[range->pair].sides[DIFF_A].source;
    struct chunk chunk;

    if (!turn_to(w, range->pair))
        return false;
    w->found = true;
    for (uint64_t i = 0; i < range->count && !stopped(d); i += chunk.count) {
        struct look_call call = {w->compare, &chunk};

        chunk = (struct chunk){.index = range->index + i, .count = (size_t)(range->count - i)};
        if (!get(w, DIFF_A, NULL, &chunk))
            return false;
        if (!chunk.mapped)
            call_look(&call);
        else if (!mapping_guard(call_look, &call)) {
            source_lost(source, &chunk);
            return give_up(d);
        }
        put(w, DIFF_A, NULL, &chunk);
    }
    return true;
}

void diff_work_again(struct diff_worker *w)
{
    struct diff *d = w->diff;
    bool good = begin_worker(w);
    size_t k;

    while (good && !stopped(d) && (k = atomic_fetch_add(&d->next_unseen, 1)) < d->unseen.count)
        good = look_at_range(w, &d->unseen.list[k]);
    if (good)
        (void)hand_in(w);
    leave(w, SIZE_MAX);
}
