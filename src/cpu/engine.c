/*
 * The CPU engine: a worker is a buffer that stays in the level-2 cache, and a reducer.
 */
#include "config.h"

#include "engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/digest.h"
#include "cpu/kernel.h"
#include "cpu/missing.h"
#include "cpu/split.h"
#include "cpu/tally.h"
#include "sys/align.h"
#include "sys/clock.h"

/* Bytes. A quarter of the smallest level-2 caches of servers: a chunk that was read is still there
   when it is reduced, and a read of this size costs little more than larger ones. */
#define CHUNK_BYTES ((size_t)256 << 10)

/* Pages in place are released after use, and MADV_DONTNEED costs a TLB shootdown on every core: the
   larger the piece, the fewer. 16 threads read 93 GB/s in pieces of 1 MiB, 169 in 8 MiB; two
   threads gain a tenth from 8 to 32 MiB. */
#define IN_PLACE_BYTES ((size_t)32 << 20)

#define ALIGNMENT 64

/* Elements of the other byte order are swapped in pieces: the end of a chunk costs little beside
   one. */
#define PIECE_BYTES CPU_PIECE_BYTES

/* Elements are looked at for missing ones, or digested, so many bytes at a time, which the level-1
   cache holds and which the kernel has prefetched. More where missing ones are packed: elements that
   fill no vector are dear. */
#define LOOKED_AT_BYTES ((size_t)4 << 10)
#define PACKED_BYTES ((size_t)16 << 10)

/* Bytes that are copied, with another element in place of missing ones, before they are reduced. */
#define FILLED_BYTES ((size_t)8 << 10)

/* Steps, after one that take_lacking32 did not take, that go another way without a trial. */
#define STEPS_UNTRIED 15

/* At most so many powers of two lie between an element that stands in for missing ones and others. */
#define MAGNITUDES 10

/* Reading one byte makes the kernel map all cached pages of the aligned part of so many bytes. */
#define TOUCHED_BYTES ((size_t)64 << 10)

struct engine_state {
    const struct cpu_kernels *kernels;
};

struct engine_worker {
    _Alignas(CACHE_APART) const struct cpu_kernels *kernels;
    struct cpu_reducer reducer;
    struct tally_set *tallies; /* the caller's; NULL for none */
    unsigned char *buffer;
    size_t size;
    bool swap;              /* elements are of the other byte order */
    unsigned char *swapped; /* PIECE_BYTES, once they have been */
    bool has_missing;
    bool lacking;           /* some of the last elements were missing */
    bool nans_alone;        /* NaNs are missing, and nothing else is: kernels count them */
    bool kernel_leaves_out; /* the reducer's kernel needs no help with missing ones */
    bool takes_lacking;     /* nor does take_lacking32, for most blocks */
    unsigned steps_untried; /* the next steps go another way, without a trial */
    bool fills;             /* one of the other elements may stand in for each missing one */
    bool has_other;         /* there is one for that: */
    unsigned char other[sizeof(uint64_t)];
    uint64_t stood;             /* how often it did so, which is to be taken out again */
    struct cpu_missing missing; /* if `has_missing`: the setup's */
    unsigned char *present;     /* PIECE_BYTES: elements that are not missing; NULL until there are
                                   missing values */
    struct cpu_split *split;    /* NULL for none */
    struct cpu_digest *digest;  /* NULL for none */
    bool digest_alone;          /* kernels take only pieces that have NaNs or infinities */
    uint64_t reduce_time;
};

static struct engine_state *cpu_open(const struct engine_needs *needs,
                                     char reason[ENGINE_REASON_MAX])
{
    struct engine_state *engine = malloc(sizeof *engine);

    if (!engine) {
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    engine->kernels = cpu_kernels_choose(needs->kernels);
    return engine;
}

static void cpu_close(struct engine_state *engine)
{
    free(engine);
}

static const char *cpu_describe(const struct engine_state *engine)
{
    return engine->kernels->name;
}

static unsigned cpu_workers(unsigned device_count, unsigned cores)
{
    (void)device_count;
    return cores;
}

static void cpu_worker_close(struct engine_worker *worker)
{
    free(worker->buffer);
    free(worker->swapped);
    free(worker->present);
    cpu_split_close(worker->split);
    cpu_digest_close(worker->digest);
    cpu_reducer_close(&worker->reducer);
    free(worker);
}

/* Whether all NaNs are missing, and nothing else. */
static bool are_nans(const struct missing *m, enum element_type type)
{
    struct missing nans = {.count = 0};

    return missing_add(&nans, type, "nan") && missing_same(m, &nans);
}

/* Whether tallies can have elements taken out of them. */
static bool tallies_only_count(const struct tally_set *tallies)
{
    for (unsigned i = 0; tallies && i < tallies->count; i++)
        if (tallies->tally[i].plan->kind == TALLY_CELLS ||
            tallies->tally[i].plan->kind == TALLY_KEYS)
            return false;
    return true;
}

/* Sets what a setup says of the elements. False without memory. */
static bool set_elements(struct engine_worker *worker, const struct engine_setup *setup)
{
    worker->swap = setup->swap;
    worker->tallies = setup->tallies;
    worker->has_missing = setup->missing;
    if (setup->missing)
        cpu_missing_set(&worker->missing, worker->kernels, setup->type, setup->missing);
    /* Tallies that are alone do without kernels. */
    worker->nans_alone =
        setup->missing && !worker->tallies && are_nans(setup->missing, setup->type);
    worker->kernel_leaves_out =
        setup->missing && !worker->tallies && !setup->split &&
        cpu_reducer_leaves_out(&worker->reducer, worker->kernels, &worker->missing);
    worker->takes_lacking =
        setup->missing && !worker->tallies && !setup->split &&
        cpu_reducer_takes_lacking(&worker->reducer, worker->kernels, &worker->missing);
    worker->fills = setup->missing && worker->missing.stand_in && !setup->split &&
                    tallies_only_count(worker->tallies);
    worker->steps_untried = 0;
    worker->has_other = false;
    worker->stood = 0;
    cpu_split_close(worker->split);
    worker->split =
        setup->split ? cpu_split_open(worker->kernels, setup->type, setup->split) : NULL;
    worker->digest_alone = setup->wants == PARTIAL_DIGEST && !setup->columns && !setup->missing &&
                           !setup->split && !worker->tallies;
    if (setup->wants & PARTIAL_DIGEST) {
        worker->digest = cpu_digest_open(worker->digest, worker->kernels, setup->type,
                                         setup->columns, worker->digest_alone);
    } else {
        cpu_digest_close(worker->digest);
        worker->digest = NULL;
    }
    if (worker->swap && !worker->swapped)
        worker->swapped = aligned_alloc(ALIGNMENT, PIECE_BYTES);
    if (worker->has_missing && !worker->present)
        worker->present = aligned_alloc(ALIGNMENT, PIECE_BYTES);
    return (!worker->swap || worker->swapped) && (!worker->has_missing || worker->present) &&
           (!setup->split || worker->split) && (!(setup->wants & PARTIAL_DIGEST) || worker->digest);
}

static struct engine_worker *cpu_worker_open(struct engine_state *engine,
                                             const struct engine_setup *setup, unsigned number,
                                             char reason[ENGINE_REASON_MAX])
{
    struct engine_worker *worker = aligned_alloc(CACHE_APART, sizeof *worker);
    bool good;

    (void)number;
    if (worker) {
        memset(worker, 0, sizeof *worker);
        good = cpu_reducer_open(&worker->reducer, engine->kernels, setup->type, setup->wants);

        worker->kernels = engine->kernels;
        worker->size = setup->chunk_size ? setup->chunk_size : CHUNK_BYTES;
        worker->size = (worker->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        worker->buffer = aligned_alloc(ALIGNMENT, worker->size);
        if (good && worker->buffer && set_elements(worker, setup))
            return worker;
        cpu_worker_close(worker);
    }
    snprintf(reason, ENGINE_REASON_MAX, "out of memory");
    return NULL;
}

static void *cpu_buffer(struct engine_worker *worker, size_t *size)
{
    *size = worker->size;
    return worker->buffer;
}

/* Takes the elements of a piece, none of which is missing. False without memory. */
static bool reduce_present(struct engine_worker *worker, const unsigned char *data, size_t count,
                           uint64_t index)
{
    struct cpu_reducer *r = &worker->reducer;
    uint64_t nans = r->partial.nan;

    if (worker->tallies && worker->tallies->alone)
        r->partial.count += count;
    else
        r->kernel(r, data, count, index);
    if (worker->split)
        cpu_split_take(worker->split, data, count);
    nans = r->partial.nan - nans;
    for (unsigned i = 0; worker->tallies && i < worker->tallies->count; i++)
        if (!cpu_tally_take(&worker->tallies->tally[i], worker->kernels, data, count, nans > 0))
            return false;
    return true;
}

/* Takes a piece some of whose elements are missing. The others get the indices that follow that of
   the first, by which they stand as before among all other elements; those that the partial result
   then has are replaced by the true ones. False without memory. */
static bool reduce_some(struct engine_worker *worker, const unsigned char *data, size_t count,
                        size_t present, uint64_t index)
{
    struct partial *p = &worker->reducer.partial;
    uint64_t *const indices[] = {&p->min_index, &p->max_index, &p->first_nan};
    const bool good = reduce_present(worker, worker->present, present, index);

    p->count += count - present;
    p->missing += count - present;
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
        if (*indices[i] - index < present)
            *indices[i] = index + cpu_missing_find(&worker->missing, worker->present, data, count,
                                                   (size_t)(*indices[i] - index));
    return good;
}

/* The partial result of an element that is there so many times, from `index` on. */
static struct partial repeated(const struct cpu_reducer *r, const void *element, uint64_t times,
                               uint64_t index)
{
    struct partial p;

    partial_clear(&p);
    partial_take_element(&p, r->type, element, index);
    if (r->wants & MOMENTS_WANTS)
        moments_take_element(&p, r->type, element);
    partial_repeat(&p, times);
    return p;
}

/* Takes the element that stood in for missing ones out again, as often as it did. False without
   memory. */
static bool take_out_other(struct engine_worker *worker)
{
    struct cpu_reducer *r = &worker->reducer;
    struct partial others;
    bool good = true;

    if (worker->stood == 0)
        return true;
    others = repeated(r, worker->other, worker->stood, 0);
    partial_take_out(&r->partial, &others);
    for (unsigned i = 0; worker->tallies && i < worker->tallies->count && good; i++)
        good = cpu_tally_take_same(&worker->tallies->tally[i], worker->other, -worker->stood);
    worker->stood = 0;
    return good;
}

/* The exponent of a float; 0 for zeros and for integers, next to which no sum is dear. */
static int exponent_of(enum element_type type, const void *element)
{
    const double x = element_is_integer(type) ? 0 : element_load(type, element);

    return x == 0 ? 0 : (int)(exact_bits(x) >> 52 & 0x7ff);
}

static bool is_finite(enum element_type type, const void *element)
{
    return element_is_integer(type) || isfinite(element_load(type, element));
}

/* Chooses one of some elements that are there, at worker->present, to stand in for missing ones from
   now on: an extreme of the partial result is not changed by that. False without memory. */
static bool choose_other(struct engine_worker *worker, size_t count)
{
    const enum element_type type = worker->reducer.type;
    const size_t size = element_size(type);

    if (!take_out_other(worker))
        return false;
    memcpy(worker->other, worker->present + count / 2 * size, size);
    worker->has_other = is_finite(type, worker->other);
    return true;
}

/* Replaces the index of an extreme that was found in some elements from `index` on, if the one there
   is missing: the extreme is the element that stood in for it, and was there before or is one of
   them. */
static void mend_index(const struct engine_worker *worker, uint64_t *found, uint64_t before,
                       const unsigned char *data, size_t count, uint64_t index)
{
    const size_t size = worker->missing.size;

    if (*found - index >= count ||
        !cpu_missing_has(&worker->missing, data + (*found - index) * size))
        return;
    *found = before;
    for (size_t i = 0; i < count; i++)
        if (memcmp(data + i * size, worker->other, size) == 0) {
            *found = index + i < before ? index + i : before;
            return;
        }
}

/* Takes a piece some of whose elements may be missing, in whose place another one is taken. False
   without memory. */
static bool reduce_filled(struct engine_worker *worker, const unsigned char *data, size_t count,
                          uint64_t index)
{
    struct partial *p = &worker->reducer.partial;
    const enum element_type type = worker->reducer.type;
    const unsigned char *sample = worker->present + count / 2 * worker->missing.size;
    const uint64_t min_index = p->min_index, max_index = p->max_index;
    const size_t missing =
        worker->missing.stand_in(&worker->missing, worker->present, data, count, worker->other);
    const int here = exponent_of(type, sample), other = exponent_of(type, worker->other);
    bool good;

    worker->lacking = missing > 0;
    p->missing += missing;
    if (missing == count) {
        p->count += count;
        return true;
    }
    worker->reducer.origin = missing > 0 ? (uintptr_t)data - (uintptr_t)worker->present : 0;
    good = reduce_present(worker, missing > 0 ? worker->present : data, count, index);
    worker->reducer.origin = 0;
    if (!good)
        return false;
    worker->stood += missing;
    mend_index(worker, &p->min_index, min_index, data, count, index);
    mend_index(worker, &p->max_index, max_index, data, count, index);
    /* Among elements of another magnitude, sums are dear. */
    worker->has_other = here == 0 || other == 0 || abs(here - other) <= MAGNITUDES;
    return true;
}
/* Takes a piece in which NaNs alone may be missing, and counts them as missing. If there are any,
   to leave them out first is faster. False without memory. */
static bool reduce_with_nans(struct engine_worker *worker, const unsigned char *data, size_t count,
                             uint64_t index)
{
    struct partial *p = &worker->reducer.partial;
    const uint64_t nans = p->nan, first = p->first_nan;
    const bool good = reduce_present(worker, data, count, index);

    worker->lacking = p->nan > nans;
    p->missing += p->nan - nans;
    p->nan = nans;
    p->first_nan = first;
    return good;
}

/* Bytes of elements that are looked at for missing ones before they are reduced. Tallies take whole
   pieces. */
static size_t step_bytes(const struct engine_worker *worker)
{
    if (worker->tallies && !worker->has_other)
        return PIECE_BYTES;
    if (worker->has_other)
        return FILLED_BYTES;
    return worker->lacking || worker->nans_alone ? PACKED_BYTES : LOOKED_AT_BYTES;
}

/* Whether chunks are digested whole, before they are taken in pieces. */
static bool digests_chunks(const struct engine_worker *worker)
{
    return worker->digest && !worker->swap && cpu_digest_takes_chunks(worker->digest);
}

/* Takes the first elements of a piece by the kernel that needs no help with missing ones, and returns
   how many; 0 if they have to go another way. */
static size_t take_lacking(struct engine_worker *worker, const unsigned char *data, size_t count,
                           uint64_t index)
{
    const uint64_t missing = worker->reducer.partial.missing;
    size_t taken;

    /* Without missing ones, looking at elements first is as fast. */
    if (!worker->takes_lacking || !worker->lacking)
        return 0;
    if (worker->steps_untried > 0) {
        worker->steps_untried--;
        return 0;
    }
    taken = worker->kernels->take_lacking32(&worker->reducer, &worker->missing, data, count, index);
    if (count - taken >= worker->kernels->lanes)
        worker->steps_untried = STEPS_UNTRIED;
    worker->lacking = taken == 0 || worker->reducer.partial.missing > missing;
    return taken;
}

/* Takes a piece of a chunk, from element number `first` of it on. False without memory. */
static bool reduce_piece(struct engine_worker *worker, const struct chunk *chunk, size_t first,
                         size_t count)
{
    const enum element_type type = worker->reducer.type;
    const unsigned char *data = (const unsigned char *)chunk->data + first * element_size(type);
    uint64_t index = chunk->index + first;
    const size_t size = element_size(type);
    bool good = true;

    if (worker->swap) {
        element_swap(worker->swapped, data, count, size);
        data = worker->swapped;
    }
    if (worker->digest && !digests_chunks(worker))
        cpu_digest_take(worker->digest, data, count, index, chunk);
    if (worker->digest_alone && cpu_digest_was_finite(worker->digest)) {
        worker->reducer.partial.count += count;
        return true;
    }
    if (!worker->has_missing || worker->kernel_leaves_out)
        return reduce_present(worker, data, count, index);
    while (count > 0 && good) {
        const size_t most = step_bytes(worker) / size;
        size_t some = take_lacking(worker, data, count, index), present;

        if (some == 0) {
            some = count < most ? count : most;
            if (worker->nans_alone && !worker->lacking) {
                good = reduce_with_nans(worker, data, some, index);
            } else if (worker->lacking && worker->has_other && !chunk->place) {
                good = reduce_filled(worker, data, some, index);
            } else {
                present = worker->missing.leave_out(&worker->missing, worker->present, data, some);
                worker->lacking = present < some;
                if (worker->fills && worker->lacking && present > 0)
                    good = choose_other(worker, present);
                good = good && (worker->lacking ? reduce_some(worker, data, some, present, index)
                                                : reduce_present(worker, data, some, index));
            }
        }
        data += some * size;
        count -= some;
        index += some;
    }
    return good;
}

/* Has the pages of a mapped chunk become present: what is asked for ahead of its use is not loaded
   from pages that are not. */
static void touch(const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < size; i += TOUCHED_BYTES - (uintptr_t)(data + i) % TOUCHED_BYTES)
        (void)*(const volatile unsigned char *)(data + i);
}

/* Takes a chunk whose elements are the same. False without memory. */
static bool reduce_same(struct engine_worker *worker, const struct chunk *chunk)
{
    struct cpu_reducer *r = &worker->reducer;
    unsigned char element[sizeof(uint64_t)];
    struct partial one;
    bool good = true;

    if (worker->swap)
        element_swap(element, chunk->data, 1, element_size(r->type));
    else
        memcpy(element, chunk->data, element_size(r->type));
    if (worker->digest)
        cpu_digest_take_same(worker->digest, element, chunk);
    if (worker->has_missing && cpu_missing_has(&worker->missing, element)) {
        r->partial.count += chunk->count;
        r->partial.missing += chunk->count;
        return true;
    }
    one = repeated(r, element, chunk->count, chunk->index);
    partial_merge(&r->partial, &one);
    if (worker->split)
        cpu_split_take_same(worker->split, element, chunk->count);
    for (unsigned i = 0; worker->tallies && i < worker->tallies->count && good; i++)
        good = cpu_tally_take_same(&worker->tallies->tally[i], element, chunk->count);
    return good;
}

/* Bytes that go through all of a worker's steps together. */
static size_t piece_bytes(const struct engine_worker *worker)
{
    const bool looks = worker->digest && !cpu_digest_takes_chunks(worker->digest);

    return looks && !worker->tallies ? LOOKED_AT_BYTES : PIECE_BYTES;
}

static enum engine_status cpu_reduce(struct engine_worker *worker, const struct chunk *chunk)
{
    struct partial *partial = &worker->reducer.partial;
    struct partial_places before;
    const unsigned char *data = chunk->data;
    size_t size = element_size(worker->reducer.type);
    const bool in_pieces =
        worker->swap || worker->tallies || worker->has_missing || worker->split || worker->digest;
    const size_t piece = in_pieces ? piece_bytes(worker) / size : chunk->count;
    uint64_t begun = clock_now();
    bool good = true;

    if (chunk->place)
        before = partial_take_places(partial);
    if (chunk->mapped)
        touch(data, chunk->count * size);
    if (chunk->found)
        partial_merge(partial, chunk->found);
    if (digests_chunks(worker) && !chunk->same)
        cpu_digest_take(worker->digest, data, chunk->count, chunk->index, chunk);
    if (chunk->same)
        good = reduce_same(worker, chunk);
    for (size_t i = 0; i < chunk->count && good && !chunk->same && !chunk->found; i += piece) {
        const size_t left = chunk->count - i, count = left < piece ? left : piece;

        good = reduce_piece(worker, chunk, i, count);
    }
    if (chunk->place)
        partial_put_places(partial, &before, chunk->place, chunk->places);
    worker->reduce_time += clock_now() - begun;
    return good ? ENGINE_TAKEN : ENGINE_FAILED;
}

static uint64_t cpu_first_nan(const struct engine_worker *worker)
{
    return worker->reducer.partial.first_nan;
}

static bool cpu_finish(struct engine_worker *worker, struct partial *partial,
                       struct engine_times *times)
{
    bool good = take_out_other(worker);

    for (unsigned i = 0; worker->tallies && i < worker->tallies->count; i++) {
        uint64_t begun = clock_now();

        cpu_tally_finish(&worker->tallies->tally[i]);
        if (!worker->tallies->goes_on)
            tally_end(&worker->tallies->tally[i]);
        good = good && !worker->tallies->tally[i].failed;
        worker->reduce_time += clock_now() - begun;
    }
    *partial = worker->reducer.partial;
    if (worker->digest)
        partial->digest = cpu_digest_find(worker->digest);
    if (worker->split)
        cpu_split_finish(worker->split, partial);
    *times = (struct engine_times){.reduce = worker->reduce_time};
    return good;
}

static unsigned cpu_unfinished(const struct engine_worker *worker,
                               struct chunk chunks[ENGINE_PENDING_MAX])
{
    (void)worker;
    (void)chunks;
    return 0;
}

static const char *cpu_worker_error(const struct engine_worker *worker)
{
    (void)worker;
    return "out of memory"; /* nothing else fails */
}

static bool cpu_restart(struct engine_worker *worker, const struct engine_setup *setup)
{
    worker->reduce_time = 0;
    worker->reducer.wants = setup->wants;
    return cpu_reducer_restart(&worker->reducer, worker->kernels, setup->type) &&
           set_elements(worker, setup);
}

const struct engine engine_cpu = {
    .name = "cpu",
    .chunk_bytes = CHUNK_BYTES,
    .in_place_bytes = IN_PLACE_BYTES,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .workers = cpu_workers,
    .worker_open = cpu_worker_open,
    .worker_close = cpu_worker_close,
    .buffer = cpu_buffer,
    .reduce = cpu_reduce,
    .first_nan = cpu_first_nan,
    .finish = cpu_finish,
    .unfinished = cpu_unfinished,
    .worker_error = cpu_worker_error,
    .restart = cpu_restart,
};
