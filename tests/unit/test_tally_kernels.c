/*
 * The GPU's kernels for tallies by themselves: every element type, both byte orders, cells, words
 * and bins, any data, in several launches of any number of blocks, and with any amount of shared
 * memory. Their counts must be those of going through the elements one by one, as core/tally.h
 * describes plans; test_pass_plan tests that plans are right.
 *
 * Built twice: run on the host, a thread at a time (lib/tally_emulated.cu), where nvcc is; and with
 * TEST_CUDA on a GPU, with more data; that skips where there is none.
 *
 * With `time [MIB]` as arguments the latter measures instead: what tallies of data on the device
 * take, beside the kernel that finds sum and extremes, which is `1`.
 *
 * From the environment: KERNELS_RUNS is how many random tallies of a type, CHECK_SEED the seed.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/histogram.h"
#include "core/order.h"
#include "cuda/kernels.h"
#include "cuda/tallies.h"
#include "engine/engine.h"
#include "lib/draw.h"
#include "lib/environment.h"
#include "lib/kernel_memory.h"
#include "lib/tap.h"

#ifdef TEST_CUDA
#    include "lib/cuda_timing.h"
#    define LENGTH_MAX ((size_t)1 << 21)
#    define GREAT_ONE_IN 12
#    define RUNS 300
#else
#    include "lib/tally_emulated.h"
#    define LENGTH_MAX ((size_t)1 << 17)
#    define GREAT_ONE_IN 6
#    define RUNS 100
#endif

static unsigned char *memory, *data, *swapped, *kept; /* the first is the kernels' */
static void *table;                                   /* the kernels', as are these */
static uint64_t *counts;
static void *room;
static size_t shared_most;
static struct missing missing; /* the missing values of the data */

#define BYTES_MAX (LENGTH_MAX * 8)
#define COUNTS_BYTES ((HISTOGRAM_BINS_MAX + 2 + CUDA_TALLY_MORE) * sizeof(uint64_t))

static bool open_device(char reason[ENGINE_REASON_MAX])
{
    if (!kernel_open(reason))
        return false;
    memory = kernel_allocate(4 * BYTES_MAX + 1024, reason);
    table = kernel_allocate(COUNTS_BYTES, reason);
    counts = kernel_allocate(COUNTS_BYTES, reason);
    room = kernel_allocate(BYTES_MAX, reason);
#ifdef TEST_CUDA
    int shared = 0;

    if (cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0))
        return false;
    shared_most = (size_t)shared;
#else
    shared_most = EMULATED_TALLY_SHARED;
#endif
    return memory && table && counts && room;
}

static bool run_kernel(const struct cuda_tally_launch *launch, unsigned blocks)
{
#ifdef TEST_CUDA
    (void)blocks;
    return kernel_ran(cuda_tally(launch, NULL));
#else
    emulated_tally(launch, blocks);
    return true;
#endif
}

/*
 * Expected counts, from the definition of a plan.
 */

static uint64_t key_at(enum element_type type, size_t i)
{
    return order_key(type, order_load(type, data + i * element_size(type)));
}

/* Whether the element with this key is kept. */
static bool is_kept(const struct tally_plan *plan, uint64_t key)
{
    for (unsigned c = 0; c < plan->cells; c++)
        if (key >= plan->first[c] && key <= tally_last(plan, c))
            return plan->keep[c];
    return false;
}

static void expect_cells(const struct tally_plan *plan, size_t n, uint64_t *expected)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = key_at(plan->type, i);

        for (unsigned c = 0; c < plan->cells; c++)
            expected[c] += key < plan->first[c];
        expected[plan->cells] += key <= order_greatest(plan->type);
    }
}

/* Counts of parts of the cells that are kept: as few bits as hold the greatest distance in a cell are
   left out so that the others are no more than fine_bits. */
static void expect_fine(const struct tally_plan *plan, size_t n, uint64_t *expected)
{
    const size_t others = (size_t)plan->kept_cells << plan->fine_bits;

    for (size_t i = 0; i < n; i++) {
        const uint64_t key = key_at(plan->type, i);
        size_t at = others, before = 0;

        for (unsigned c = 0; c < plan->cells; c++) {
            const uint64_t first = plan->first[c], last = tally_last(plan, c);
            uint64_t part = key - first, most = last - first;

            if (!plan->keep[c])
                continue;
            for (; most >= UINT64_C(1) << plan->fine_bits; most /= 2)
                part /= 2;
            if (key >= first && key <= last)
                at = (before << plan->fine_bits) + (size_t)part;
            before++;
        }
        expected[at]++;
    }
}

/* Whether element i is not before bound number `bound`. */
static bool reaches(const struct tally_plan *plan, size_t i, size_t bound)
{
    if (element_is_integer(plan->type))
        return key_at(plan->type, i) >= plan->bound_key[bound];
    return element_load(plan->type, data + i * element_size(plan->type)) >= plan->bound[bound];
}

/* Bounds ascend: the number of those that the element reaches. */
static size_t expected_bin(const struct tally_plan *plan, size_t i)
{
    const bool integers = element_is_integer(plan->type);
    size_t low = 0, high = integers ? plan->reached : (size_t)plan->bins + 1;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (reaches(plan, i, middle))
            low = middle + 1;
        else
            high = middle;
    }
    if (integers && low > 0 && (plan->holds_none || key_at(plan->type, i) > plan->last_key))
        return (size_t)plan->bins + 1;
    return low;
}

static void expect(const struct tally_plan *plan, size_t n, uint64_t *expected)
{
    const size_t size = tally_size(plan);

    switch (plan->kind) {
    case TALLY_CELLS:
        expect_cells(plan, n, expected);
        break;
    case TALLY_WORDS:
        for (size_t i = 0; i < n; i++) {
            const uint64_t bits = order_load(plan->type, data + i * element_size(plan->type));

            expected[bits >> plan->shift]++;
            if (plan->shift > 0) {
                expected[size + CUDA_TALLY_SPECIAL] += bits == 0;
                expected[size + CUDA_TALLY_SPECIAL + 1] += bits == order_sign(plan->type);
            }
        }
        break;
    case TALLY_BINS:
        for (size_t i = 0; i < n; i++) {
            expected[expected_bin(plan, i)]++;
            expected[size + CUDA_TALLY_SPECIAL] +=
                element_is_nan(plan->type, data + i * element_size(plan->type));
        }
        break;
    case TALLY_KEYS:
        break;
    }
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Whether `count` elements of `kept` are those of `data` that are to be kept, in any order. */
static bool same_kept(const struct tally_plan *plan, size_t n, size_t count)
{
    const size_t size = element_size(plan->type);
    uint64_t *keys[2] = {allocate(n * 8), allocate(n * 8)};
    size_t wanted = 0;
    bool same;

    for (size_t i = 0; i < n; i++)
        if (is_kept(plan, key_at(plan->type, i)))
            keys[0][wanted++] = key_at(plan->type, i);
    for (size_t i = 0; i < count && i < n; i++)
        keys[1][i] = order_key(plan->type, order_load(plan->type, kept + i * size));
    same = wanted == count;
    if (same) {
        qsort(keys[0], count, sizeof *keys[0], compare_keys);
        qsort(keys[1], count, sizeof *keys[1], compare_keys);
        same = memcmp(keys[0], keys[1], count * sizeof *keys[0]) == 0;
    }
    free(keys[0]);
    free(keys[1]);
    return same;
}

/*
 * A tally.
 */

/* Copies a plan's table to where the kernels look for it. */
static bool copy_table(const struct tally_plan *plan)
{
    struct cuda_tally_cells cells = {.keep = {0}};

    switch (plan->kind) {
    case TALLY_CELLS:
        cuda_tallies_fill(&cells, plan);
        return copy_in(table, &cells, sizeof cells);
    case TALLY_WORDS:
    case TALLY_KEYS:
        break;
    case TALLY_BINS:
        return copy_in(table, plan->bound ? (const void *)plan->bound : plan->bound_key,
                       ((size_t)plan->bins + 1) * 8);
    }
    return true;
}

/* Copies those of n elements of `data` that are not missing; returns how many they are. */
static size_t copy_present(enum element_type type, size_t n, unsigned char *to)
{
    const size_t size = element_size(type);
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (!missing_has(&missing, key_at(type, i)))
            memcpy(to + count++ * size, data + i * size, size);
    return count;
}

/* Tallies n elements of `data` in so many launches, by blocks that may have `shared` bytes of
   shared memory, and compares. */
static void check_with(struct tap_family *family, const struct tally_plan *plan, size_t n,
                       const char *what, unsigned launches, unsigned blocks, size_t shared)
{
    const bool fine = plan->kind == TALLY_CELLS && plan->kept_cells > 0 && once_in(3);
    const bool apart = once_in(2);
    const size_t size = element_size(plan->type);
    const size_t counters =
        fine ? ((size_t)plan->kept_cells << plan->fine_bits) + 1 : tally_size(plan);
    const size_t most = n / launches + 1;
    uint64_t *expected = calloc(1, COUNTS_BYTES), *got = calloc(1, COUNTS_BYTES);
    struct cuda_tally_launch launch = {.swap = size > 1 && once_in(2),
                                       .rows.data = memory,
                                       .table = table,
                                       .counts = counts,
                                       .kept = room,
                                       .room = LENGTH_MAX,
                                       .multiprocessors = (int)blocks,
                                       .shared = shared < shared_most ? shared : shared_most};
    unsigned char *const present = allocate(n * size), *const all = data;
    const size_t present_count = copy_present(plan->type, n, present);
    struct cuda_missing ranges;
    size_t kept_count = 0;
    bool good, right;

    if (!expected || !got)
        abort();
    cuda_tallies_describe(&launch, plan);
    cuda_missing_set(&ranges, plan->type, &missing);
    launch.missing = missing.count > 0 ? &ranges : NULL;
    data = present;
    launch.fine = fine;
    launch.size = (unsigned)counters;
    if (fine)
        expect_fine(plan, present_count, expected);
    else
        expect(plan, present_count, expected);
    data = all;
    if (launch.swap)
        element_swap(swapped, data, n, size);
    good = copy_table(plan) && copy_in(counts, got, COUNTS_BYTES);
    for (size_t at = 0; at < n && good; at += launch.count) {
        uint64_t now = 0;
        struct apart lie;

        launch.count = n - at < most ? n - at : most;
        lie = draw_apart(&rng, size, launch.count * size);
        good =
            (apart ? copy_in_apart(&launch.rows, memory, (launch.swap ? swapped : data) + at * size,
                                   launch.count * size, &lie)
                   : copy_in(memory, (launch.swap ? swapped : data) + at * size,
                             launch.count * size)) &&
            run_kernel(&launch, blocks) &&
            copy_out(&now, counts + counters + CUDA_TALLY_KEPT, sizeof now) && now <= launch.count;
        if (plan->kind == TALLY_CELLS && good)
            good = copy_out(kept + kept_count * size, room, (size_t)now * size);
        kept_count += (size_t)now;
    }
    good = good && copy_out(got, counts, COUNTS_BYTES);
    got[counters + CUDA_TALLY_KEPT] = 0;
    if (fine) /* nobody reads how many lie outside */
        got[counters - 1] = expected[counters - 1];
    data = present;
    right = good && memcmp(got, expected, COUNTS_BYTES) == 0 &&
            (fine || plan->kind != TALLY_CELLS || same_kept(plan, present_count, kept_count));
    data = all;
    tap_case(family, right,
             "%s, %s, %zu elements, %zu missing, in %u launches of %u blocks, swap %d, "
             "%zu counters, %zu bytes shared: %s",
             element_name(plan->type), what, n, n - present_count, launches, blocks, launch.swap,
             counters, launch.shared,
             !good                                      ? "it failed"
             : memcmp(got, expected, COUNTS_BYTES) == 0 ? "what is kept"
                                                        : "counts");
    free(expected);
    free(got);
    free(present);
}

static void check(struct tap_family *family, const struct tally_plan *plan, size_t n,
                  const char *what)
{
    static const size_t shares[] = {0, 100, 700, 5000, 40000, 99 << 10, 160 << 10, SIZE_MAX};

    check_with(family, plan, n, what, 1 + (unsigned)below(4), 1 + (unsigned)below(3),
               shares[below(sizeof shares / sizeof *shares)]);
}

/* Random data: a distribution; any bits; one value, or a few; those with others here and there. */
static const char *fill(enum element_type type, size_t n)
{
    const size_t size = element_size(type);
    const uint64_t kind = below(6);
    const size_t values = 1 + below(kind == 0 ? 1 : 40);
    const char *what = "any bits";

    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = rng_next(&rng);

        memcpy(data + i * size, &bits, size); /* the machine is little-endian, as GPUs are */
    }
    if (element_is_float(type) && kind > 2) {
        const enum data_kind d = (enum data_kind)below(DATA_KINDS);

        data_fill(d, type, data, n, rng_next(&rng));
        what = data_kind_name(d);
        for (uint64_t specials = once_in(2) ? below(n) : 0; specials > 0; specials--)
            data_put_special(type, data, below(n), (enum data_special)below(DATA_SPECIALS));
    } else if (!element_is_float(type) && kind > 3) {
        for (size_t i = 0; i < n; i++)
            memset(data + i * size + (size + 1) / 2, 0, size / 2);
        what = "small numbers";
    }
    if (kind < 2 || once_in(4)) {
        const uint64_t every = once_in(2) ? n + 1 : 1 + below(2000);

        for (size_t i = values; i < n; i++)
            if (below(every) > 0 || every > n)
                memcpy(data + i * size, data + (values > 1 ? below(values) : 0) * size, size);
        what = values == 1 ? "one value" : "few values";
    }
    return what;
}

/* Cells that begin anywhere, many of them at elements. */
static void plan_cells(struct tally_plan *plan, enum element_type type, size_t n)
{
    const uint64_t least = order_least(type), greatest = order_greatest(type);
    const unsigned most = once_in(4) ? TALLY_CELLS_MAX : 1 + (unsigned)below(9);
    uint64_t first[TALLY_CELLS_MAX];

    *plan = (struct tally_plan){.kind = TALLY_CELLS, .type = type};
    for (unsigned i = 0; i < most; i++) {
        first[i] = once_in(3) ? least + below(greatest - least) : key_at(type, below(n)) + below(2);
        if (first[i] < least || first[i] > greatest)
            first[i] = greatest;
    }
    first[0] = least;
    qsort(first, most, sizeof *first, compare_keys);
    for (unsigned i = 0; i < most; i++) {
        if (plan->cells > 0 && plan->first[plan->cells - 1] == first[i])
            continue;
        plan->keep[plan->cells] = once_in(3);
        plan->kept_cells += plan->keep[plan->cells];
        plan->first[plan->cells++] = first[i];
    }
    plan->fine_bits = 1 + (unsigned)below(6);
}

/* Bins of a range near the elements, or beyond them; false where none can be. */
static bool plan_bins(struct tally_plan *plan, enum element_type type, size_t n)
{
    static const uint32_t bins[] = {1, 2, 10, 1000, 4000, 20000, HISTOGRAM_BINS_MAX};
    const size_t size = element_size(type);
    struct histogram_range range;
    const unsigned char *const x = data + below(n) * size, *const y = data + below(n) * size;
    const double a = element_load(type, x), b = element_load(type, y);
    const uint32_t number = once_in(2) ? bins[below(7)] : 1 + (uint32_t)below(3000);

    range = (struct histogram_range){.low = fmin(a, b), .high = fmax(a, b)};
    if (once_in(3)) {
        range.low = ldexp(rng_unit(&rng) - 0.5, (int)below(60) - 20);
        range.high = range.low + ldexp(rng_unit(&rng), (int)below(60) - 20);
    } else if (element_is_integer(type) && once_in(3)) {
        /* All bins have as many integers, but the last one. */
        range.high = range.low + (double)number * (double)(1 + below(once_in(2) ? 3 : 1000));
        for (size_t i = 0; i < 6; i++) {
            const int64_t near = (int64_t)(i % 2 ? range.high : range.low) + (int64_t)i / 2 - 1;

            memcpy(data + below(n) * size, &near,
                   size); /* of a machine that begins with the lower bytes */
        }
    } else if (element_is_integer(type) && once_in(3)) {
        /* Before all integers of the type, and to one of them. */
        range.low = order_value(type, order_least(type)) - ldexp(rng_unit(&rng), (int)below(40));
    } else if (element_is_integer(type) && once_in(2)) {
        range.low_integer = element_load_integer(type, a < b ? x : y);
        range.high_integer = element_load_integer(type, a < b ? y : x);
    }
    return isfinite(range.low) && isfinite(range.high) && range.low < range.high &&
           histogram_plan(plan, type, number, &range);
}

static void plan_words(struct tally_plan *plan, enum element_type type)
{
    const unsigned bits = 8 * (unsigned)element_size(type);
    const unsigned least = bits <= 16 ? 0 : bits - 16;

    *plan = (struct tally_plan){.kind = TALLY_WORDS, .type = type, .shift = least};
    if (bits > 16)
        plan->shift = once_in(2) ? (unsigned)element_formats[type].significant_bits - 1
                                 : least + (unsigned)below(16);
}

/* Great ones are what takes the time, and most of it is the host's. */
static size_t random_length(void)
{
    return 1 + below(once_in(GREAT_ONE_IN) ? LENGTH_MAX : once_in(2) ? 100 : 20000);
}

static void check_type(enum element_type type, unsigned runs)
{
    struct tap_family families[3] = {{0}};

    for (unsigned run = 0; run < runs; run++) {
        const size_t n = random_length();
        const char *what = fill(type, n);
        struct tally_plan plan;

        if (element_size(type) <= 2 || (run % 3 == 0 && element_is_float(type))) {
            plan_words(&plan, type);
            check(&families[0], &plan, n, what);
        } else if (run % 3 == 1) {
            plan_cells(&plan, type, n);
            check(&families[1], &plan, n, what);
        } else if (plan_bins(&plan, type, n)) {
            check(&families[2], &plan, n, what);
            histogram_free_plan(&plan);
        }
    }
    if (element_size(type) <= 2 || element_is_float(type))
        tap_family_end(&families[0], "%s, words", element_name(type));
    if (element_size(type) > 2) {
        tap_family_end(&families[1], "%s, cells", element_name(type));
        tap_family_end(&families[2], "%s, bins", element_name(type));
    }
}

/* So many of one value for one block that packed counters have been emptied, beside another one in
   the same word; or one that all threads have. */
static void check_many(void)
{
    static const size_t shares[] = {0, 160 << 10, SIZE_MAX};
    struct tap_family family = {0};
    struct tally_plan plan;

    for (unsigned run = 0; run < 6; run++) {
        for (size_t i = 0; i < LENGTH_MAX; i++) {
            const uint16_t bits = (uint16_t)(0x3c00 + (run % 2 && i * 7 % 5 < 2));

            memcpy(data + 2 * i, &bits, sizeof bits);
        }
        plan_words(&plan, ELEMENT_F16);
        check_with(&family, &plan, LENGTH_MAX, run % 2 ? "two values" : "one value", 1, 1,
                   shares[run / 2]);
    }
    tap_family_end(&family, "many of few values");
}

#ifdef TEST_CUDA
/*
 * Measuring.
 */

static struct cuda_timing timing;

static cudaError_t timed(const void *launch, cudaStream_t stream)
{
    return cuda_tally(launch, stream);
}

static void measure_plan(const struct cuda_launch *reduce, struct cuda_tally_launch *tally,
                         const struct tally_plan *plan, const char *what, double sum)
{
    const double gigabytes = (double)reduce->count * (double)element_size(plan->type) / 1e9;
    double time;

    cuda_tallies_describe(tally, plan);
    if (!copy_table(plan) || cudaMemset(counts, 0, COUNTS_BYTES)) {
        printf("%s: failed\n", what);
        return;
    }
    time = cuda_timing_median(&timing, timed, tally);
    printf("    %-28s %8.3f ms  %8.1f GB/s  %6.3f\n", what, time, gigabytes / time * 1e3,
           sum / time);
}

/* Cells as of a quantile each, which a sample has found: one in a hundred elements is kept. */
static void plan_quantiles(struct tally_plan *plan, enum element_type type, unsigned quantiles,
                           size_t n)
{
    uint64_t *keys = allocate(n * sizeof *keys);

    for (size_t i = 0; i < n; i++)
        keys[i] = key_at(type, i);
    qsort(keys, n, sizeof *keys, compare_keys);
    *plan = (struct tally_plan){.kind = TALLY_CELLS, .type = type, .cells = 1};
    plan->first[0] = order_least(type);
    for (unsigned i = 1; i <= quantiles; i++) {
        const size_t at = n / (quantiles + 1) * i, half = n / 200 / quantiles;

        if (keys[at - half] <= plan->first[plan->cells - 1])
            continue;
        plan->keep[plan->cells] = true;
        plan->first[plan->cells++] = keys[at - half];
        plan->first[plan->cells++] = keys[at + half] + 1;
    }
    free(keys);
}

static void measure_data(enum element_type type, enum data_kind kind, unsigned char *device,
                         size_t bytes)
{
    const size_t size = element_size(type), n = BYTES_MAX / size;
    struct cuda_scratch *scratch = NULL;
    struct partial *partial = NULL, none;
    struct cuda_launch reduce = {.type = type,
                                 .wants = PARTIAL_SUM | PARTIAL_EXTREMES,
                                 .rows.data = device,
                                 .count = bytes / size};
    struct cuda_tally_launch tally = {
        .rows.data = device, .count = bytes / size, .table = table, .counts = counts};
    const struct histogram_range range = {.low = -6, .high = 6};
    struct tally_plan plan;
    bool good;
    double sum;

    partial_clear(&none);
    data_fill(kind, type, data, n, 1);
    good = cudaDeviceGetAttribute(&reduce.multiprocessors, cudaDevAttrMultiProcessorCount, 0) ==
               cudaSuccess &&
           cudaMalloc((void **)&scratch, sizeof *scratch) == cudaSuccess &&
           cudaMalloc((void **)&partial, sizeof *partial) == cudaSuccess &&
           cudaMalloc(&tally.kept, bytes) == cudaSuccess &&
           cudaMemset(scratch, 0, sizeof *scratch) == cudaSuccess &&
           copy_in(partial, &none, sizeof none);
    for (size_t at = 0; at < bytes && good; at += BYTES_MAX)
        good = copy_in(device + at, data, BYTES_MAX < bytes - at ? BYTES_MAX : bytes - at);
    tally.multiprocessors = reduce.multiprocessors;
    tally.shared = shared_most;
    reduce.partial = partial;
    reduce.scratch = scratch;
    sum = good ? cuda_timing_median(&timing, cuda_timed_reduce, &reduce) : -1;
    printf("%s, %s, %zu elements: sum and extremes %.3f ms, %.1f GB/s\n", element_name(type),
           data_kind_name(kind), reduce.count, sum, (double)bytes / 1e6 / sum);
    plan_words(&plan, type);
    plan.shift = size <= 2 ? 0 : (unsigned)element_formats[type].significant_bits - 1;
    measure_plan(&reduce, &tally, &plan, size <= 2 ? "values" : "exponents", sum);
    for (unsigned bins = 1000; size > 2 && bins <= 50000; bins += bins == 1000 ? 9000 : 40000) {
        char what[40];

        snprintf(what, sizeof what, "%u bins", bins);
        if (histogram_plan(&plan, type, bins, &range))
            measure_plan(&reduce, &tally, &plan, what, sum);
        histogram_free_plan(&plan);
    }
    for (unsigned quantiles = 1; size > 2 && quantiles <= 9; quantiles *= 3) {
        char what[40];

        snprintf(what, sizeof what, "%u quantiles", quantiles);
        plan_quantiles(&plan, type, quantiles, n);
        measure_plan(&reduce, &tally, &plan, what, sum);
    }
    (void)cudaFree(scratch);
    (void)cudaFree(partial);
    (void)cudaFree(tally.kept);
}

/* Prints a line for each kind of tally, and each kind of data. */
static int measure(unsigned char *device, size_t bytes)
{
    static const enum element_type types[] = {ELEMENT_F32, ELEMENT_F64, ELEMENT_F16};
    static const enum data_kind kinds[] = {DATA_NORMAL, DATA_SPARSE, DATA_CONSTANT};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++)
            measure_data(types[i], kinds[j], device, bytes);
    return EXIT_SUCCESS;
}

/* The time of a launch with missing values: prints it, and the rate without them of that with
   them. */
static void print_present(const char *what, unsigned percent, const char *set, double without,
                          double time)
{
    printf("%-10s %3u %% missing, %-11s %8.3f ms  %6.3f of without\n", what, percent, set, time,
           without / time);
}

/* Prints how fast kernels are that leave out missing elements, beside those that do not, of the same
   data: sums, moments, and the tallies of medians and histograms. */
static void measure_missing(enum element_type type, unsigned char *device, size_t bytes)
{
    static const char *const sets[][4] = {
        {"-9999"}, {"-9999", "-9998", "-9997", "-9996"}, {"nan"}, {"0"}};
    static const unsigned percent[] = {0, 1, 30};
    static const unsigned wants[] = {PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE, PARTIAL_ALL};
    const size_t size = element_size(type), n = BYTES_MAX / size;
    const struct histogram_range range = {.low = -6, .high = 6};
    struct cuda_scratch *scratch = NULL;
    struct partial *partial = NULL, none;
    struct cuda_launch reduce = {.type = type, .rows.data = device, .count = bytes / size};
    struct cuda_tally_launch tally = {
        .rows.data = device, .count = bytes / size, .table = table, .counts = counts};
    struct tally_plan plans[2];
    bool good, binned;

    if (element_is_integer(type))
        for (size_t i = 0; i < n; i++) {
            const uint64_t bits = below(2000) - 1000;

            memcpy(data + i * size, &bits, size);
        }
    else
        data_fill(DATA_NORMAL, type, data, n, 1);
    memcpy(swapped, data, BYTES_MAX);
    binned = size > 2 && histogram_plan(&plans[1], type, 1000, &range);
    if (size > 2)
        plan_quantiles(&plans[0], type, 1, n);
    else
        plans[0] = (struct tally_plan){.kind = TALLY_WORDS, .type = type};
    partial_clear(&none);
    good = cudaDeviceGetAttribute(&reduce.multiprocessors, cudaDevAttrMultiProcessorCount, 0) ==
               cudaSuccess &&
           cudaMalloc((void **)&scratch, sizeof *scratch) == cudaSuccess &&
           cudaMalloc((void **)&partial, sizeof *partial) == cudaSuccess &&
           cudaMalloc(&tally.kept, bytes) == cudaSuccess &&
           cudaMemset(scratch, 0, sizeof *scratch) == cudaSuccess &&
           copy_in(partial, &none, sizeof none);
    reduce.partial = partial;
    reduce.scratch = scratch;
    tally.multiprocessors = reduce.multiprocessors;
    tally.shared = shared_most;
    for (size_t i = 0; i < sizeof sets / sizeof *sets && good; i++)
        for (size_t p = 0; p < sizeof percent / sizeof *percent && good; p++) {
            char set[40];
            struct cuda_missing sums = {.count = 0}, tallied;
            unsigned count = 0;

            missing.count = 0;
            while (count < 4 && sets[i][count] && missing_add(&missing, type, sets[i][count]))
                count++;
            if (count == 0)
                continue;
            snprintf(set, sizeof set, "%s%s", sets[i][0], count > 1 ? " and 3" : "");
            cuda_missing_add_sums(&sums, type, &missing);
            cuda_missing_set(&tallied, type, &missing);
            memcpy(data, swapped, BYTES_MAX);
            for (size_t k = 0; k < n; k++)
                if (below(100) < percent[p])
                    memcpy(data + k * size, &missing.value, size);
            for (size_t at = 0; at < bytes && good; at += BYTES_MAX)
                good = copy_in(device + at, data, BYTES_MAX < bytes - at ? BYTES_MAX : bytes - at);
            for (unsigned k = 0; k < 2 && good; k++) {
                double without;

                reduce.missing = &sums;
                reduce.wants = wants[k];
                without = cuda_timing_median(&timing, cuda_timed_reduce, &reduce);
                reduce.wants |= PARTIAL_MISSING;
                printf("%s, ", element_name(type));
                print_present(k ? "all" : "sums", percent[p], set, without,
                              cuda_timing_median(&timing, cuda_timed_reduce, &reduce));
            }
            for (unsigned k = 0; k < 1u + binned && good; k++) {
                double without;

                tally.missing = NULL;
                cuda_tallies_describe(&tally, &plans[k]);
                good = copy_table(&plans[k]) && cudaMemset(counts, 0, COUNTS_BYTES) == cudaSuccess;
                without = cuda_timing_median(&timing, timed, &tally);
                tally.missing = &tallied;
                printf("%s, ", element_name(type));
                print_present(k ? "1000 bins" : "median", percent[p], set, without,
                              cuda_timing_median(&timing, timed, &tally));
            }
        }
    if (!good)
        printf("%s: failed\n", element_name(type));
    missing.count = 0;
    if (binned)
        histogram_free_plan(&plans[1]);
    (void)cudaFree(scratch);
    (void)cudaFree(partial);
    (void)cudaFree(tally.kept);
}

/* Measures, in place of tests, with so many bytes of data: `time` or `missing`. */
static int measure_what(const char *what, size_t bytes)
{
    static const enum element_type types[] = {ELEMENT_F32, ELEMENT_I16, ELEMENT_F16, ELEMENT_F64,
                                              ELEMENT_I32};
    unsigned char *device;

    if (cudaMalloc((void **)&device, bytes) || !cuda_timing_open(&timing)) {
        fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
        return EXIT_FAILURE;
    }
    if (strcmp(what, "time") == 0)
        return measure(device, bytes);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        measure_missing(types[i], device, bytes);
    return EXIT_SUCCESS;
}
#endif

int main(int argc, char *argv[])
{
    const unsigned runs = (unsigned)from_environment("KERNELS_RUNS", RUNS);
    const uint64_t seed = from_environment("CHECK_SEED", 1);
    char reason[ENGINE_REASON_MAX] = "";

    if (!open_device(reason))
        return tap_skip_all(reason);
    rng_seed(&rng, seed);
    data = allocate(BYTES_MAX);
    swapped = allocate(BYTES_MAX);
    kept = allocate(BYTES_MAX);
#ifdef TEST_CUDA
    if (argc > 1)
        return measure_what(argv[1], (argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : 1024) << 20);
#else
    (void)argc;
    (void)argv;
#endif
    tap_note("seed %" PRIu64, seed);
    for (int t = 0; t < (int)ELEMENT_TYPES; t++)
        check_type((enum element_type)t, runs);
    check_many();
    free(data);
    free(swapped);
    free(kept);
    return tap_done();
}
