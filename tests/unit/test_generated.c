/*
 * Large data through the engines: every distribution that gpureduce-bench generates, and data that
 * keep the kernels on their slow paths, must give what the oracle says, bit for bit, in both byte
 * orders, whatever is asked for and however the data are cut into chunks. The CPU engine runs once
 * for every instruction set of this machine. Built a second time with TEST_CUDA, for the CUDA
 * engine; that skips where there is no usable GPU.
 *
 * A reference of a million elements takes longer than their reduction: each is worked out once and
 * serves every kernel.
 */
#include "config.h"

#include "engine/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/distribution.h"
#include "lib/allocate.h"
#include "lib/data_gen.h"
#include "lib/engine_workers.h"
#include "lib/oracle.h"
#include "lib/reference.h"
#include "lib/sanitized.h"
#include "lib/tap.h"

#if defined TEST_CUDA && defined HAVE_CUDA
#    include "cuda/kernels.h"
#    define LAUNCHES 1
#else
#    define LAUNCHES 0
#    include "cpu/kernel.h"
#endif

/* Odd, and neither it nor its neighbours a multiple of a vector, a block or a tile. For the CPU
   they are a hundred blocks, and for a GPU a few for each of its multiprocessors. */
#define LENGTH (((size_t)1 << (SANITIZED ? 16 : LAUNCHES ? 20 : 18)) + 12345)

/* The index of the first element. Indices need more than 32 bits. */
#define FIRST (UINT64_C(1) << 40)

/* The requests: all combinations that make sense, and the counts alone. */
static const unsigned all_wants[] = {
    PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE,
    PARTIAL_SUM | PARTIAL_EXTREMES,
    PARTIAL_SUM,
    PARTIAL_EXTREMES | PARTIAL_WHERE,
    PARTIAL_EXTREMES,
    0,
};
#define WANTS (sizeof all_wants / sizeof *all_wants)

#define WORKERS_MAX 3

/* How data are cut into chunks. The workers take the chunks in turn. */
static const struct cutting {
    const char *name;
    size_t parts; /* chunks of about the same size; 0: of the size that the engine prefers */
    unsigned workers;
    bool backwards; /* the last chunk comes first */
} cuttings[] = {
    {"as one chunk", 1, 1, false},
    {"in the engine's chunks", 0, WORKERS_MAX, false},
    {"in 7 chunks, backwards", 7, 2, true},
    {"in 101 chunks", 101, WORKERS_MAX, false},
};
#define CUTTINGS (sizeof cuttings / sizeof *cuttings)

/* An engine under test, ready for use. */
struct tested {
    const char *name;
    const struct engine *engine;
    struct engine_state *state;
};

#define TESTED_MAX 8
static struct tested tested[TESTED_MAX];
static size_t tested_count;

/* Elements, and what they give. */
struct sample {
    const char *name;
    enum element_type type;
    size_t count;
    unsigned char *data[2]; /* in this machine's byte order, and in the other; LENGTH elements */
    struct reference expected;
};

/* Reduces data[0 .. n). */
static bool reduce(const struct tested *t, struct engine_setup setup, const unsigned char *data,
                   size_t n, const struct cutting *cutting, struct partial *total)
{
    const struct engine *engine = t->engine;
    const size_t size = element_size(setup.type);
    const size_t piece = cutting->parts ? n / cutting->parts + 1 : engine->chunk_bytes / size;
    const size_t pieces = (n + piece - 1) / piece;
    char reason[ENGINE_REASON_MAX] = "";
    struct engine_worker *workers[WORKERS_MAX] = {0};
    bool good = true;

    setup.chunk_size = cutting->parts ? piece * size : 0;
    partial_clear(total);
    for (unsigned i = 0; i < cutting->workers && i < pieces; i++) {
        workers[i] = engine->worker_open(t->state, &setup, i, reason);
        if (!workers[i]) {
            tap_note("worker %u: %s", i, reason);
            good = false;
        }
    }
    for (size_t i = 0; good && i < pieces; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): every cutting has a worker */
        struct engine_worker *worker = workers[i % cutting->workers];
        size_t capacity, at = (cutting->backwards ? pieces - 1 - i : i) * piece;
        void *buffer = engine->buffer(worker, &capacity);
        struct chunk chunk = {
            .index = FIRST + at, .count = n - at < piece ? n - at : piece, .data = buffer};

        good = buffer != NULL && capacity >= chunk.count * size;
        if (good) {
            memcpy(buffer, data + at * size, chunk.count * size);
            good = engine->reduce(worker, &chunk) == ENGINE_TAKEN;
        }
    }
    return engine_workers_end(engine, workers, WORKERS_MAX, total) && good;
}

static void compare(struct tap_family *family, const struct sample *sample, bool good,
                    const struct partial *total, const struct reference *expected, unsigned wants,
                    bool swap, const char *who, const char *how)
{
    for (int skip = 0; skip < 2; skip++) {
        struct result got;

        partial_finish(total, skip, &got);
        tap_case(family, good && reference_same(&got, &expected->policy[skip], wants),
                 "%s, %s, %s, %zu elements %s, swap %d, wants %u, skip_nan %d:\n%s\nexpected\n%s",
                 who, element_name(sample->type), sample->name, sample->count, how, swap, wants,
                 skip, reference_show(&got), reference_show(&expected->policy[skip]));
    }
}

#if LAUNCHES
/*
 * The kernel by itself, as it runs on a GPU of one multiprocessor, over the data several times.
 * Only then do few blocks have so many elements each that all their buffers become full.
 */
#    define COPIES 8

static struct {
    unsigned char *data; /* COPIES * LENGTH elements of any type */
    struct partial *partial;
    struct cuda_scratch *scratch;
} device;

static bool device_open(void)
{
    return cudaMalloc((void **)&device.data, COPIES * LENGTH * sizeof(double)) == cudaSuccess &&
           cudaMalloc((void **)&device.partial, sizeof *device.partial) == cudaSuccess &&
           cudaMalloc((void **)&device.scratch, sizeof *device.scratch) == cudaSuccess &&
           cudaMemset(device.scratch, 0, sizeof *device.scratch) == cudaSuccess;
}

static void device_close(void)
{
    cudaFree(device.data);
    cudaFree(device.partial);
    cudaFree(device.scratch);
}

/* The result of the data repeated COPIES times: the first occurrences stay where they are, and the
   mean what it is. */
static struct reference expect_copies(const struct sample *sample)
{
    struct reference e = sample->expected;
    double *numbers = allocate_exactly((sample->count + 1) * sizeof *numbers);
    size_t count = 0;

    for (size_t i = 0; i < sample->count; i++) {
        double x = data_value(sample->type, sample->data[0], i);

        if (!isnan(x))
            numbers[count++] = x;
    }
    for (int skip = 0; skip < 2; skip++) {
        struct result *r = &e.policy[skip];

        r->count *= COPIES;
        r->nan *= COPIES;
        r->infinity *= COPIES;
        if (!isnan(r->sum))
            r->sum = oracle_scaled(numbers, count, COPIES, 1);
    }
    free(numbers);
    return e;
}

static bool launch(const struct sample *sample, unsigned wants, bool swap, struct partial *total)
{
    size_t bytes = sample->count * element_size(sample->type);
    struct cuda_launch launch = {
        .type = sample->type,
        .swap = swap,
        .wants = wants,
        .rows.data = device.data,
        .count = COPIES * sample->count,
        .index = FIRST,
        .partial = device.partial,
        .scratch = device.scratch,
        .multiprocessors = 1,
    };
    struct partial partial;
    cudaError_t error;

    partial_clear(&partial);
    partial_clear(total);
    error = cudaMemcpy(device.partial, &partial, sizeof partial, cudaMemcpyHostToDevice);
    for (size_t i = 0; i < COPIES && !error; i++)
        error =
            cudaMemcpy(device.data + i * bytes, sample->data[swap], bytes, cudaMemcpyHostToDevice);
    if (!error)
        error = cuda_reduce(&launch, NULL);
    if (!error)
        error = cudaMemcpy(&partial, device.partial, sizeof partial, cudaMemcpyDeviceToHost);
    if (error) {
        tap_note("%s", cudaGetErrorString(error));
        return false;
    }
    cuda_settle_partial(&partial, wants);
    partial_merge(total, &partial);
    return true;
}

static void check_launches(struct tap_family *family, const struct sample *sample)
{
    static unsigned round;
    struct reference expected = expect_copies(sample);

    round++;
    for (unsigned w = 0; w < WANTS; w++) {
        struct partial total;
        bool swap = (w + round) % 2, good = launch(sample, all_wants[w], swap, &total);

        compare(family, sample, good, &total, &expected, all_wants[w], swap, "few blocks",
                "several times");
    }
}
#endif

/* Chooses the cutting and the byte order. It counts up from sample to sample, and once more from
   one distribution to the next, so that a length does not always get the same choice. */
static unsigned turn;

/* All engines over one sample: everything that can be asked for, each time cut in another way, in
   both byte orders; the extremes alone in one of them, by turns. */
static void check(struct tap_family *family, struct sample *sample)
{
    element_swap(sample->data[1], sample->data[0], sample->count, element_size(sample->type));
    reference_reduce(&sample->expected, sample->type, sample->data[0], sample->count, FIRST);
    for (size_t s = 0; s < tested_count; s++, turn++) {
        for (unsigned i = 0; i < 2 * WANTS; i++) {
            const unsigned wants = all_wants[i / 2];
            const bool swap = i % 2;
            const struct cutting *cutting = &cuttings[(i / 2 + i + turn) % CUTTINGS];
            struct engine_setup setup = {.type = sample->type, .swap = swap, .wants = wants};
            struct partial total;
            bool good;

            if (!(wants & PARTIAL_SUM) && (i / 2 + i + turn / CUTTINGS) % 2)
                continue;
            good = reduce(&tested[s], setup, sample->data[swap], sample->count, cutting, &total);
            compare(family, sample, good, &total, &sample->expected, wants, swap, tested[s].name,
                    cutting->name);
        }
    }
#if LAUNCHES
    if (sample->count == LENGTH)
        check_launches(family, sample);
#endif
}

/* Checks the distributions of gpureduce-bench, except smooth ones, which are nothing new to a
   reduction. */
static void check_distributions(struct sample *sample)
{
    static const size_t lengths[] = {1, 2, 4097, LENGTH};

    for (int t = 0; t < ELEMENT_FLOATS; t++) {
        for (int d = 0; d <= DISTRIBUTION_CANCEL; d++) {
            struct tap_family family = {0};

            turn++;
            sample->type = (enum element_type)t;
            sample->name = distribution_name((enum distribution)d);
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                size_t n = lengths[i], size = element_size(sample->type);

                sample->count = n;
                distribution_fill(sample->data[0], (enum distribution)d, sample->type, 20 + i, n, 0,
                                  n);
                if (element_host_is_big()) /* it makes little-endian data */
                    element_swap(sample->data[0], sample->data[0], n, size);
                check(&family, sample);
            }
            tap_family_end(&family, "%s, distribution %s", element_name(sample->type),
                           sample->name);
        }
    }
}

/*
 * Data for the slow paths, beyond the kinds of data_gen.h. A large sum hides small elements that
 * were lost, so most of these have their large elements cancel.
 */

/* Exponent fields run from 0 to this one, which is that of the largest numbers. */
static unsigned field_top(enum element_type type)
{
    return (1u << data_exponent_bits(type)) - 2;
}

static uint64_t fraction_ones(enum element_type type)
{
    return ((uint64_t)1 << data_fraction_bits(type)) - 1;
}

static unsigned field_at(enum element_type type, const void *data, size_t i)
{
    return (unsigned)(data_pattern(type, data, i) >> data_fraction_bits(type)) &
           (field_top(type) + 1);
}

/* A random sign and fraction. */
static void put_random(enum element_type type, void *data, size_t i, unsigned field, struct rng *r)
{
    uint64_t bits = rng_next(r);

    data_put_fields(type, data, i, (unsigned)(bits >> 63), field, bits & fraction_ones(type));
}

/* Element `to` becomes minus element `from`. */
static void put_minus(enum element_type type, void *data, size_t to, size_t from)
{
    data_put_pattern(type, data, to,
                     data_pattern(type, data, from) ^ (uint64_t)1 << (data_bits(type) - 1));
}

/* Makes elements from an exponent field on cancel, each with its mirror image on the other side of
   the middle, which is far away as a rule. */
static void cancel_from(enum element_type type, void *data, size_t n, unsigned field)
{
    for (size_t i = 0, j = n - 1; i < j; i++, j--) {
        if (field_at(type, data, i) >= field)
            put_minus(type, data, j, i);
        else if (field_at(type, data, j) >= field)
            put_minus(type, data, i, j);
    }
    if (n % 2 && field_at(type, data, n / 2) >= field)
        data_put_fields(type, data, n / 2, 0, 0, 1);
}

/* Two exponents far apart: in binary64, 1e-300 and 1e300. */
static unsigned cluster_field(enum element_type type, size_t i)
{
    unsigned top = field_top(type), low = top / 80 + 1;

    return i % 2 ? top - low : low;
}

/* Elements of one sign with mantissas near the largest, so that sums of integers grow fastest. */
static void fill_clusters(enum element_type type, void *data, size_t n, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        data_put_fields(type, data, i, 1, cluster_field(type, i),
                        fraction_ones(type) - rng_below(r, 64));
}

static void fill_cancelling_clusters(enum element_type type, void *data, size_t n, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        put_random(type, data, i, cluster_field(type, i), r);
    cancel_from(type, data, n, field_top(type) / 2);
}

/* Elements of one sign, the first ones 2^4 times smaller: room that was made for those, with some
   to spare, is then filled up by the rest. */
static void fill_step_up(enum element_type type, void *data, size_t n, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        data_put_fields(type, data, i, 0, field_top(type) / 2 + (i < 16384 ? 0 : 4),
                        fraction_ones(type) - rng_below(r, 64));
}

/* Elements of one sign and mostly of one size. The others need the last bit of an accumulator of 8
   or 16 neighbouring exponents, or lie far below. */
static void fill_neighbours(enum element_type type, void *data, size_t n, struct rng *r)
{
    const unsigned low = field_top(type) / 32 * 16;

    for (size_t i = 0; i < n; i++) {
        uint64_t choice = rng_below(r, 16);
        unsigned field = choice == 0   ? low - 96
                         : choice == 1 ? low
                         : choice == 2 ? low + 8
                                       : low + 15;

        data_put_fields(type, data, i, 0, field, fraction_ones(type) - 2 * rng_below(r, 2));
    }
}

/* As much as two slices hold: most elements of one size, which sum up to the most, and cancel with
   those of the other half; some whose bits are the last ones of the upper slice, and some as far
   down as the lower one reaches. After a quarter the large ones become twice as large, for which
   there is room. */
static void fill_two_slices(enum element_type type, void *data, size_t n, struct rng *r)
{
    const unsigned field = field_top(type) / 2, below = 81 - data_fraction_bits(type);

    for (size_t i = 0; i < n; i++) {
        uint64_t choice = rng_below(r, 16);

        if (choice == 1)
            put_random(type, data, i, field - 40, r);
        else
            data_put_fields(type, data, i, 0, choice == 0 ? field - below : field + (i > n / 4),
                            fraction_ones(type) - 2 * rng_below(r, 2));
    }
    cancel_from(type, data, n, field);
}

static void fill_near_max(enum element_type type, void *data, size_t n, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        put_random(type, data, i, field_top(type), r);
}

static void fill_top_exponent(enum element_type type, void *data, size_t n, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        data_put_fields(type, data, i, 0, field_top(type), rng_next(r) & fraction_ones(type));
}

/* Ordinary data, then any, then ordinary data: what was laid out for the ones must give way to the
   others. In the middle is a NaN. */
static void fill_patches(enum element_type type, void *data, size_t n, struct rng *r)
{
    const size_t size = element_size(type), third = n / 3;
    unsigned char *bytes = data;

    data_fill(DATA_RANGE20, type, bytes, third, rng_next(r));
    data_fill(DATA_FULL_RANGE, type, bytes + third * size, third, rng_next(r));
    data_fill(DATA_NORMAL, type, bytes + 2 * third * size, n - 2 * third, rng_next(r));
    cancel_from(type, data, n, field_top(type) / 2 + 40);
    data_put_special(type, data, n / 2, DATA_QUIET_NAN);
}

/* Patches of infinities among numbers. */
static void fill_infinite_patches(enum element_type type, void *data, size_t n, struct rng *r)
{
    fill_patches(type, data, n, r);
    data_put_special(type, data, n / 2, DATA_POSITIVE_INFINITY);
    data_put_special(type, data, n / 2 + 7777, DATA_POSITIVE_INFINITY);
}

/* From the largest exponent to the smallest, and back. */
static void fill_drift(enum element_type type, void *data, size_t n, struct rng *r)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t from_middle = i > n / 2 ? i - n / 2 : n / 2 - i;

        put_random(type, data, i, (unsigned)(field_top(type) * from_middle / (n / 2)), r);
    }
    cancel_from(type, data, n, field_top(type) / 8);
}

/* One element of `every` is 2^60 times larger. */
static void fill_outliers(enum element_type type, void *data, size_t n, size_t every, struct rng *r)
{
    const unsigned low = field_top(type) / 2 - 30, high = low + 60;
    const size_t place = (n - 1) % every / 2; /* as seen from either end */

    for (size_t i = 0; i < n; i++)
        put_random(type, data, i, (i % every == place ? high : low) + (unsigned)rng_below(r, 4), r);
    cancel_from(type, data, n, high);
}

static void fill_outliers16(enum element_type type, void *data, size_t n, struct rng *r)
{
    fill_outliers(type, data, n, 16, r);
}

static void fill_outliers32(enum element_type type, void *data, size_t n, struct rng *r)
{
    fill_outliers(type, data, n, 32, r);
}

/* The largest of both signs, in turn, and subnormals between them. */
static void fill_extremes(enum element_type type, void *data, size_t n, struct rng *r)
{
    for (size_t i = 0; i < n; i++) {
        if (i % 2 || i >= n / 4 * 4)
            put_random(type, data, i, 0, r);
        else
            data_put_fields(type, data, i, i % 4 == 2, field_top(type), fraction_ones(type));
    }
}

/* Eight neighbours span all exponents, and every place has each exponent in its turn. */
static void fill_exponents(enum element_type type, void *data, size_t n, struct rng *r)
{
    const unsigned fields = field_top(type) + 1;

    for (size_t i = 0; i < n; i++)
        put_random(type, data, i, (unsigned)(i % fields * (fields / 8) + i / fields) % fields, r);
    cancel_from(type, data, n, fields / 3);
}

static void fill_largest(enum element_type type, void *data, size_t n, struct rng *r)
{
    (void)r;
    for (size_t i = 0; i < n; i++)
        data_put_fields(type, data, i, 0, field_top(type), fraction_ones(type));
}

static void fill_specials(enum element_type type, void *data, size_t n, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        data_put_special(type, data, i,
                         i % 5 == 4 ? (enum data_special)rng_below(r, DATA_SIGNALING_NAN + 1)
                                    : DATA_NEGATIVE_INFINITY);
}

static void fill_late_nan(enum element_type type, void *data, size_t n, struct rng *r)
{
    data_fill(DATA_RANGE20, type, data, n, rng_next(r));
    data_put_special(type, data, n - 1, DATA_SIGNALING_NAN);
}

#define F32 (1u << ELEMENT_F32)
#define F64 (1u << ELEMENT_F64)
#define F16 (1u << ELEMENT_F16)
#define BF16 (1u << ELEMENT_BF16)

static const struct hard {
    const char *name;
    void (*fill)(enum element_type type, void *data, size_t n, struct rng *r);
    unsigned types;
} hard[] = {
    {"two clusters of one sign", fill_clusters, F64},
    {"two clusters, the larger cancels", fill_cancelling_clusters, F32 | F64 | BF16},
    {"a small step up, of one sign", fill_step_up, F64},
    {"neighbouring exponents, of one sign", fill_neighbours, F32 | BF16},
    {"as much as two slices hold", fill_two_slices, F32 | BF16},
    {"near the maximum, of both signs", fill_near_max, F64},
    {"the largest exponent, of one sign", fill_top_exponent, F32},
    {"the largest value throughout", fill_largest, F32 | F64 | F16 | BF16},
    {"the largest values and subnormals", fill_extremes, F32 | F64},
    {"exponents that drift", fill_drift, F32 | F64},
    {"any data amid ordinary ones", fill_patches, F32 | F64 | BF16},
    {"the same with infinities", fill_infinite_patches, F32 | F64 | BF16},
    {"one element in 16 far larger", fill_outliers16, F32 | F64},
    {"one element in 32 far larger", fill_outliers32, F32 | F64 | BF16},
    {"all exponents side by side", fill_exponents, F32 | F64 | BF16},
    {"infinities and NaNs alone", fill_specials, F32 | F64 | F16 | BF16},
    {"a NaN at the very end", fill_late_nan, F32 | F64 | F16 | BF16},
};

static void check_hard(struct sample *sample)
{
    for (size_t h = 0; h < sizeof hard / sizeof *hard; h++) {
        for (int t = 0; t < ELEMENT_FLOATS; t++) {
            struct tap_family family = {0};
            struct rng rng;

            if (!(hard[h].types >> t & 1))
                continue;
            rng_seed(&rng, h);
            sample->name = hard[h].name;
            sample->type = (enum element_type)t;
            sample->count = LENGTH;
            hard[h].fill(sample->type, sample->data[0], LENGTH, &rng);
            check(&family, sample);
            tap_family_end(&family, "%s, %s", element_name(sample->type), sample->name);
        }
    }
}

static const int devices[] = {0};
static const struct engine_needs needs = {
    .devices = devices, .device_count = 1, .workers = WORKERS_MAX};

static bool add_engine(const struct engine *engine, const char *kernels,
                       char reason[ENGINE_REASON_MAX])
{
    struct engine_needs mine = needs;
    struct engine_state *state;

    mine.kernels = kernels;
    state = engine->open(&mine, reason);

    if (state && tested_count == TESTED_MAX)
        abort();
    if (state)
        tested[tested_count++] = (struct tested){engine->describe(state), engine, state};
    return state != NULL;
}

#ifndef TEST_CUDA
/* The CPU engine, once for each instruction set. */
static void add_cpu_engines(void)
{
    char reason[ENGINE_REASON_MAX] = "";

    for (size_t i = cpu_kernels_count; i-- > 0;) {
        const struct cpu_kernels *kernels = cpu_kernels_all[i];

        if (!kernels->usable()) {
            tap_note("%s does not run here", kernels->name);
            continue;
        }
        tap_ok(add_engine(&engine_cpu, kernels->name, reason) &&
                   strcmp(tested[tested_count - 1].name, kernels->name) == 0,
               "the CPU engine opens with %s", kernels->name);
    }
}
#endif

int main(void)
{
    struct sample sample = {.data = {allocate_exactly(LENGTH * sizeof(double)),
                                     allocate_exactly(LENGTH * sizeof(double))}};
#ifdef TEST_CUDA
    char reason[ENGINE_REASON_MAX] = "";

    if (!add_engine(&engine_cuda, NULL, reason)) {
        free(sample.data[0]);
        free(sample.data[1]);
        return tap_skip_all(reason);
    }
    tap_note("%s", tested[0].name);
#else
    add_cpu_engines();
#endif
    tap_note("oracle: %s; %zu elements", oracle_backend(), LENGTH);
#if LAUNCHES
    if (!tap_ok(device_open(), "there is device memory"))
        return tap_done();
#endif
    check_distributions(&sample);
    check_hard(&sample);
#if LAUNCHES
    device_close();
#endif
    for (size_t s = 0; s < tested_count; s++)
        tested[s].engine->close(tested[s].state);
    free(sample.data[0]);
    free(sample.data[1]);
    return tap_done();
}
