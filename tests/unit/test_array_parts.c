/*
 * The parts in which kernels read an array: each element is in one of them, once, whatever its strides, and
 * those that kernels read where they lie are as kernels take them.
 *
 * From the environment: PARTS_RUNS is how many random arrays, CHECK_SEED the seed.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cuda/array_launch.h"
#include "cuda/array_parts.h"
#include "lib/data_gen.h"
#include "lib/environment.h"
#include "lib/tap.h"

#define RUNS 20000
#define ELEMENTS 4096
#define RANK 4

/* Addresses are numbers here: nothing is read. */
#define BEGIN ((uintptr_t)1 << 40)

static struct rng rng;
static uintptr_t expected[ELEMENTS], got[ELEMENTS];

struct taken {
    struct cuda_array_parts parts;
    uint64_t size, count;
    unsigned rows, units, loads, copies; /* parts of each kind, and launches of copies */
    bool wrong;
};

/* The addresses of copies that are staged, which stand for them. */
static uintptr_t staged[ELEMENTS];

static bool take(void *context, struct cuda_rows r, uint64_t count, struct error *error)
{
    struct taken *const t = context;
    const struct cuda_array_parts *const p = &t->parts;
    const bool copies = r.data == staged, apart = r.row.inverse;

    (void)error;
    t->rows += !copies && !apart;
    t->units += apart && !r.stride;
    t->loads += apart && r.stride;
    t->wrong = t->wrong || count == 0 || t->count + count > ELEMENTS ||
               count > (copies ? p->room : p->most) ||
               (apart && (count % p->tiles != 0 || p->joined)) ||
               (!copies &&
                (uintptr_t)r.data % (r.stride || count < p->few ? t->size : CUDA_ROWS_UNIT) != 0);
    for (uint64_t i = 0; i < count && !t->wrong; i++)
        got[t->count++] = copies ? staged[i] : (uintptr_t)cuda_rows_at(&r, (unsigned)t->size, i);
    return true;
}

static const void *copy(void *context, const struct cuda_gather *gather, uint64_t at,
                        struct error *error)
{
    struct taken *const t = context;

    (void)error;
    t->copies++;
    t->wrong = t->wrong || gather->count == 0 || at + gather->count > t->parts.room;
    for (uint64_t i = 0; i < gather->count && !t->wrong; i++)
        staged[at + i] = (uintptr_t)cuda_gather_from(gather, i);
    return staged;
}

static int compare(const void *a, const void *b)
{
    const uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

    return (x > y) - (x < y);
}

/* The addresses of all elements, in their order. */
static size_t expect(const struct view_layout *l)
{
    uint64_t at[RANK] = {0}, count = 1;

    for (unsigned d = 0; d < l->rank; d++)
        count *= l->sizes[d];
    for (size_t i = 0; i < count; i++) {
        expected[i] = (uintptr_t)l->data;
        for (unsigned d = 0; d < l->rank; d++)
            expected[i] += (uintptr_t)((int64_t)at[d] * l->strides[d]);
        for (unsigned d = l->rank; d-- > 0 && ++at[d] == l->sizes[d];)
            at[d] = 0;
    }
    return count;
}

static struct taken run(const struct cuda_array_parts *parts, const struct view_layout *l, bool all)
{
    struct taken t = {.parts = *parts, .size = parts->size};
    struct error error = {.kind = ERROR_NONE};
    size_t count = expect(l);

    count = all ? count : (size_t)rng_below(&rng, count + 1);
    t.parts.context = &t;
    t.wrong = !cuda_array_take_parts(&t.parts, l, count, &error) || t.wrong || t.count != count;
    if (!t.wrong && !parts->ordered) {
        qsort(expected, count, sizeof *expected, compare);
        qsort(got, count, sizeof *got, compare);
    }
    for (size_t i = 0; i < count && !t.wrong; i++)
        t.wrong = got[i] != expected[i];
    return t;
}

/* Random arrays; *all: the parts of each kind. */
static void check_random(unsigned runs, struct taken *all)
{
    struct tap_family family = {0};

    for (unsigned i = 0; i < runs; i++) {
        const struct cuda_array_parts_tuning tuning = {.loads = rng_below(&rng, 4) * 256,
                                                       .copies = rng_below(&rng, 4) * 64,
                                                       .row = rng_below(&rng, 100)};
        const size_t size = (size_t)1 << rng_below(&rng, 4);
        const bool joined = rng_below(&rng, 8) == 0;
        const struct cuda_array_parts parts = {.tuning = &tuning,
                                               .size = size,
                                               .most = UINT64_C(16) << rng_below(&rng, 9),
                                               .tiles = rng_below(&rng, 2) ? 1 : 64,
                                               .few = rng_below(&rng, 2) ? 0 : 8,
                                               .ordered = joined || rng_below(&rng, 4) == 0,
                                               .joined = joined,
                                               .room = rng_below(&rng, 4) ? ELEMENTS : 100,
                                               .take = take,
                                               .copy = copy};
        struct view_layout l = {.rank = (unsigned)rng_below(&rng, RANK + 1)};
        const uint64_t unit = rng_below(&rng, 3) ? 16 / size : 1;
        int64_t stride = (int64_t)size * (rng_below(&rng, 3) ? 1 : (int64_t)rng_below(&rng, 4));
        uint64_t left = ELEMENTS;
        struct taken t;

        for (unsigned d = l.rank; d-- > 0;) {
            const uint64_t longest = rng_below(&rng, 2) ? 9 : left;

            l.sizes[d] = 1 + rng_below(&rng, longest < left ? longest : left);
            if (d == l.rank - 1 && l.sizes[d] > unit)
                l.sizes[d] -= l.sizes[d] % unit;
            left /= l.sizes[d];
            l.strides[d] = rng_below(&rng, 10) ? stride : -stride;
            stride = stride * (int64_t)l.sizes[d] +
                     (int64_t)((rng_below(&rng, 2) ? rng_below(&rng, 9) * unit : 0) * size);
        }
        if (l.rank > 0 && rng_below(&rng, 30) == 0)
            l.strides[rng_below(&rng, l.rank)] += (int64_t)rng_below(&rng, 9);
        l.data =
            (const unsigned char *)(BEGIN + rng_below(&rng, 9) * (rng_below(&rng, 9) ? size : 1));
        t = run(&parts, &l, rng_below(&rng, 4) > 0);
        all->rows += t.rows;
        all->units += t.units;
        all->loads += t.loads;
        all->copies += t.copies;
        tap_case(&family, !t.wrong,
                 "run %u: %zu bytes, rank %u, sizes %" PRIu64 " %" PRIu64 ", strides %" PRId64
                 " %" PRId64 ", at %" PRIuPTR,
                 i, size, l.rank, l.sizes[0], l.sizes[1], l.strides[0], l.strides[1],
                 (uintptr_t)l.data - BEGIN);
    }
    tap_family_end(&family, "each element is in one part");
}

/* Arrays that are read where they lie, and in how many parts. */
static void check_cases(void)
{
    static const struct {
        const char *what;
        size_t size;
        uintptr_t at;
        unsigned rank;
        uint64_t sizes[RANK];
        int64_t strides[RANK]; /* in elements */
        unsigned rows, units, loads, copies;
    } cases[] = {
        {"a row", 4, 0, 1, {1000}, {1}, 1, 0, 0, 0},
        {"a row that begins after a unit", 2, 2, 1, {1000}, {1}, 1, 0, 0, 1},
        {"the only row of several", 4, 0, 2, {1, 1000}, {2000, 1}, 1, 0, 0, 0},
        {"columns of units", 4, 0, 2, {8, 100}, {128, 1}, 0, 1, 0, 0},
        {"columns from the second on", 4, 4, 2, {8, 127}, {128, 1}, 0, 1, 0, 1},
        {"columns between", 2, 2, 2, {8, 250}, {256, 1}, 0, 1, 0, 2},
        {"rows that begin differently", 4, 4, 2, {16, 130}, {131, 1}, 0, 4, 0, 6},
        {"fewer rows that begin differently", 4, 4, 2, {14, 130}, {131, 1}, 0, 0, 1, 0},
        {"rows of bytes that begin differently", 1, 4, 2, {6, 500}, {520, 1}, 0, 2, 0, 3},
        {"every other", 2, 0, 1, {1000}, {2}, 0, 0, 1, 0},
        {"every other byte", 1, 0, 1, {1000}, {2}, 0, 0, 0, 1},
        {"every other of every other row", 4, 0, 2, {40, 10}, {40, 2}, 0, 0, 1, 0},
        {"short rows", 4, 4, 2, {100, 3}, {4, 1}, 0, 0, 1, 0},
        {"boxes", 4, 0, 3, {3, 30, 40}, {10000, 100, 1}, 0, 1, 0, 0},
        {"boxes that begin after a unit", 4, 4, 3, {3, 30, 40}, {10000, 100, 1}, 0, 1, 0, 2},
        {"a few boxes that begin differently", 4, 4, 3, {3, 30, 40}, {10001, 101, 1}, 0, 0, 3, 0},
        {"many boxes that begin differently", 4, 4, 3, {20, 5, 5}, {10001, 101, 1}, 0, 0, 0, 1},
        {"boxes of four dimensions", 4, 0, 4, {3, 5, 10, 20}, {20000, 4000, 100, 1}, 0, 3, 0, 0},
    };
    static const struct cuda_array_parts_tuning tuning = {.loads = 2048, .copies = 512, .row = 128};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cuda_array_parts parts = {.tuning = &tuning,
                                               .size = cases[i].size,
                                               .most = ELEMENTS,
                                               .tiles = 1,
                                               .room = ELEMENTS,
                                               .take = take,
                                               .copy = copy};
        struct view_layout l = {.data = (const unsigned char *)(BEGIN + cases[i].at),
                                .rank = cases[i].rank};
        struct taken t;

        for (unsigned d = 0; d < l.rank; d++) {
            l.sizes[d] = cases[i].sizes[d];
            l.strides[d] = cases[i].strides[d] * (int64_t)cases[i].size;
        }
        t = run(&parts, &l, true);
        tap_ok(!t.wrong && t.rows == cases[i].rows && t.units == cases[i].units &&
                   t.loads == cases[i].loads && t.copies == cases[i].copies,
               "%s: %u rows, %u of units, %u of elements, %u copies%s", cases[i].what, t.rows,
               t.units, t.loads, t.copies, t.wrong ? ", wrong" : "");
    }
}

int main(void)
{
    const unsigned runs = (unsigned)from_environment("PARTS_RUNS", RUNS);
    struct taken all = {0};

    rng_seed(&rng, from_environment("CHECK_SEED", 1));
    check_cases();
    check_random(runs, &all);
    tap_ok(all.rows > runs / 20 && all.units > runs / 20 && all.loads > runs / 20 &&
               all.copies > runs / 20,
           "%u rows, %u of units, %u of elements, %u copies", all.rows, all.units, all.loads,
           all.copies);
    return tap_done();
}
