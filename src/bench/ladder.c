/*
 * gpureduce-bench ladder: every way to sum on a GPU that the textbooks climb, side by side on the
 * user's own, up to the production kernel.
 *
 * A rung is verified before it is timed, on two kinds of input. On signs, all 0 or +-1 and so few
 * of them not 0 that no order of additions rounds, its sum must be the exact one. On the data
 * that are timed it must be within a proved bound of the exact sum, which the CPU kernels know; the
 * production kernel must have every bit right. Then it is timed: each time is that of one
 * reduction, between two CUDA events, and what is printed is the median. Inputs rotate through
 * several times the level-2 cache. Results are set to their starting values beforehand, copies for
 * rungs that overwrite their input are made beforehand, and a gate holds the stream back until a
 * batch is queued: none of that, and no delay of the host, is in the times. CUB's sum takes turns
 * with whatever is compared to it.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../clock.h"
#include "../cores.h"
#include "../cpu/kernel.h"
#include "../cuda/kernels.h"
#include "../message.h"
#include "../number.h"
#include "../partial.h"
#include "arguments.h"
#include "bench.h"
#include "distribution.h"
#include "rungs.h"
#include "table.h"

/*
 * The rungs.
 */

/* What is known of the order of a rung's additions, and so of its error. */
enum rung_order {
    ORDER_SEGMENTS, /* a tree of known height a segment, and the segments one after the other */
    ORDER_ROWS,     /* such a tree a row, and no more */
    ORDER_ANY,      /* nothing */
    ORDER_BINNED,   /* it does not matter: reproducible, with an error of its own */
    ORDER_EXACT     /* it does not matter: exact */
};

/* Elements that a thread adds up by itself, where it is no plain number. */
#define PER_LOAD 0       /* those of 16 bytes */
#define PER_COARSEN (-1) /* two for each of --coarsen */

#define TYPE(t) (1u << (t))
#define TEXTBOOK_TYPES (TYPE(ELEMENT_F32) | TYPE(ELEMENT_F64))
#define ALL_TYPES (TEXTBOOK_TYPES | TYPE(ELEMENT_F16) | TYPE(ELEMENT_BF16))

struct rung {
    const char *name;
    rung_launcher *launcher;
    const char *lesson;
    unsigned types;
    enum rung_order order;
    int per_thread;
    bool tree;      /* the threads of a block then form one */
    bool in_place;  /* writes to its input */
    unsigned wants; /* ORDER_EXACT: partial_want bits */
};

/* The production kernel counts the elements of a launch in less than 30 bits. */
#define PRODUCTION_ELEMENTS ((uint64_t)1 << 39)

/* Merges the elements into launch->result, a struct partial; launch->temporary is the scratch. */
static cudaError_t production(const struct rung_launch *l, cudaStream_t stream, unsigned wants)
{
    for (uint64_t done = 0; done < l->count; done += PRODUCTION_ELEMENTS) {
        uint64_t left = l->count - done;
        struct cuda_launch launch = {
            .type = l->type,
            .wants = wants,
            .data = (const unsigned char *)l->data + done * element_size(l->type),
            .count = (size_t)(left < PRODUCTION_ELEMENTS ? left : PRODUCTION_ELEMENTS),
            .index = done,
            .partial = l->result,
            .scratch = l->temporary,
            .multiprocessors = l->multiprocessors,
        };
        cudaError_t error = cuda_reduce(&launch, stream);

        if (error != cudaSuccess)
            return error;
    }
    return cudaSuccess;
}

static cudaError_t production_all(const struct rung_launch *l, cudaStream_t stream)
{
    return production(l, stream, PARTIAL_SUM | PARTIAL_EXTREMES);
}

static cudaError_t production_where(const struct rung_launch *l, cudaStream_t stream)
{
    return production(l, stream, PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE);
}

static cudaError_t production_extremes(const struct rung_launch *l, cudaStream_t stream)
{
    return production(l, stream, PARTIAL_EXTREMES);
}

static const struct rung rungs[] = {
    {"atomic", rung_atomic,
     "one atomic addition an element, all to one address: they queue up, and nothing is parallel",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 1, false, false, 0},
    {"vector-atomic", rung_vector_atomic,
     "16 bytes a load and an atomic for each: fewer atomics, but still a queue", TEXTBOOK_TYPES,
     ORDER_SEGMENTS, PER_LOAD, false, false, 0},
    {"global-divergent", rung_global_divergent,
     "a tree in global memory whose active threads lie ever farther apart: warps diverge, and "
     "every step goes through memory",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 2, true, true, 0},
    {"global-convergent", rung_global_convergent,
     "the same tree with the active threads side by side: whole warps retire, and accesses "
     "coalesce",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 2, true, true, 0},
    {"shared-divergent", rung_shared_divergent,
     "the tree in shared memory: each element is read from global memory once; warps diverge, and "
     "the remainder costs instructions",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 1, true, false, 0},
    {"shared-strided", rung_shared_strided,
     "active threads side by side with strided indices: no divergence, but bank conflicts",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 1, true, false, 0},
    {"sequential", rung_sequential,
     "the stride halves: neighbours access neighbours, and no banks conflict", TEXTBOOK_TYPES,
     ORDER_SEGMENTS, 1, true, false, 0},
    {"first-add", rung_first_add,
     "the first addition is done while loading: half the blocks, and no thread idles at once",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 2, true, false, 0},
    {"warp-unrolled", rung_warp_unrolled,
     "the last warp needs no barrier of the block, and no loop", TEXTBOOK_TYPES, ORDER_SEGMENTS, 2,
     true, false, 0},
    {"shuffle", rung_shuffle,
     "the last warp exchanges registers: no shared memory for the last 32 values", TEXTBOOK_TYPES,
     ORDER_SEGMENTS, 2, true, false, 0},
    {"coarsened", rung_coarsened,
     "each thread adds many elements in registers first: fewer blocks, and less of the time in "
     "trees and barriers",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, PER_COARSEN, true, false, 0},
    {"batched-divergent", rung_batched_divergent,
     "a block a row, with a divergent tree: larger blocks wait longer at more barriers",
     TEXTBOOK_TYPES, ORDER_ROWS, 1, true, false, 0},
    {"batched-strided", rung_batched_strided,
     "a block a row, with a strided tree: the block's size decides the occupancy", TEXTBOOK_TYPES,
     ORDER_ROWS, 1, true, false, 0},
    {"cub", rung_cub, "the library: cub::DeviceReduce::Sum, the reference for speed", ALL_TYPES,
     ORDER_ANY, 1, false, false, 0},
    {"cub-reproducible", rung_cub_reproducible,
     "the library's gpu_to_gpu determinism: the same bits on every GPU, but not the exact sum",
     TEXTBOOK_TYPES, ORDER_BINNED, 1, false, false, 0},
    {"production", production_all,
     "exact sum, minimum, maximum and counts in one pass: correct rounding is free", ALL_TYPES,
     ORDER_EXACT, 1, false, false, PARTIAL_SUM | PARTIAL_EXTREMES},
    {"production-where", production_where, "the same, and where the extremes are", ALL_TYPES,
     ORDER_EXACT, 1, false, false, PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE},
    {"production-extremes", production_extremes, "minimum, maximum and counts alone", ALL_TYPES,
     ORDER_EXACT, 1, false, false, PARTIAL_EXTREMES},
};

#define RUNGS (sizeof rungs / sizeof *rungs)

/* Sizes of a block that batched rungs are run with, and the others may be. */
static const unsigned block_sizes[] = {128, 256, 512, 1024};

#define BLOCK_SIZES (sizeof block_sizes / sizeof *block_sizes)

/* Room for a rung's name with its block's size. */
#define LABEL_MAX 48

/* The name of a rung as it is printed: batched ones differ by the block. */
static const char *rung_label(char label[LABEL_MAX], const struct rung *rung, unsigned threads)
{
    if (rung->order == ORDER_ROWS)
        snprintf(label, LABEL_MAX, "%s-%u", rung->name, threads);
    else
        snprintf(label, LABEL_MAX, "%s", rung->name);
    return label;
}

static const struct rung *rung_find(const char *name)
{
    for (size_t i = 0; i < RUNGS; i++)
        if (strcmp(name, rungs[i].name) == 0)
            return &rungs[i];
    return NULL;
}

/* Whether `list`, words between commas or NULL for all, names the rung, by its label or, of batched
   ones, for all blocks. */
static bool list_has(const char *list, const struct rung *rung, unsigned threads)
{
    char label[LABEL_MAX];

    rung_label(label, rung, threads);
    while (list && *list) {
        size_t length = strcspn(list, ",");

        if ((length == strlen(label) && strncmp(list, label, length) == 0) ||
            (length == strlen(rung->name) && strncmp(list, rung->name, length) == 0))
            return true;
        list += length + (list[length] == ',');
    }
    return list == NULL;
}

/* The first word of `list` that names no rung, and its length; or NULL. */
static const char *list_stranger(const char *list, size_t *length)
{
    for (;; list += *length + 1) {
        char word[LABEL_MAX];
        bool known = false;

        *length = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s", *length < LABEL_MAX ? (int)*length : LABEL_MAX, list);
        for (size_t i = 0; i < RUNGS && !known; i++)
            for (size_t j = 0; j < BLOCK_SIZES && !known; j++)
                known = list_has(word, &rungs[i], block_sizes[j]);
        if (!known)
            return list;
        if (!list[*length])
            return NULL;
    }
}

/*
 * Published figures of the textbook rungs: four write-ups of parallel reduction in CUDA, on two
 * GPUs. They stand beside what is measured here.
 */

struct published {
    const char *device;
    double peak; /* GB/s */
    const char *rung;
    unsigned threads; /* of a batched rung, else 0 */
    double gigabytes; /* GB/s; 0 where a time is given */
    double milliseconds;
};

static const struct published published[] = {
    {"RTX 3090", 936, "lower bound", 0, 0, 0.1396},
    {"RTX 3090", 936, "atomic", 0, 2.47, 0},
    {"RTX 3090", 936, "vector-atomic", 0, 9.9, 0},
    {"RTX 3090", 936, "shared-divergent", 0, 223, 0},
    {"RTX 3090", 936, "shared-strided", 0, 317, 0},
    {"RTX 3090", 936, "sequential", 0, 331, 0},
    {"RTX 3090", 936, "first-add", 0, 618, 0},
    {"RTX 3090", 936, "warp-unrolled", 0, 859, 0},
    {"RTX 3090", 936, "jnp.sum", 0, 871, 0},
    {"RTX 5070 Ti", 896, "batched-divergent", 128, 431.4, 0},
    {"RTX 5070 Ti", 896, "batched-divergent", 256, 423.2, 0},
    {"RTX 5070 Ti", 896, "batched-divergent", 512, 380.7, 0},
    {"RTX 5070 Ti", 896, "batched-divergent", 1024, 210.9, 0},
    {"RTX 5070 Ti", 896, "batched-strided", 128, 436.1, 0},
};

#define PUBLISHED (sizeof published / sizeof *published)

/* The figure of a rung, or NULL. They are all of f32. */
static const struct published *published_find(const struct rung *rung, unsigned threads)
{
    for (size_t i = 0; i < PUBLISHED; i++)
        if (strcmp(published[i].rung, rung->name) == 0 &&
            (published[i].threads == 0 || published[i].threads == threads))
            return &published[i];
    return NULL;
}

/*
 * Errors that a correct rung may have.
 */

/* The type that a rung adds in has this unit roundoff; for production it does not matter. */
static double roundoff(enum element_type type)
{
    return type == ELEMENT_F64 ? 0x1p-53 : 0x1p-24;
}

static double largest_finite(enum element_type type)
{
    return type == ELEMENT_F64 ? DBL_MAX : (double)FLT_MAX;
}

/* A unit in the last place of x in the type that sums have. */
static double unit_in_last_place(enum element_type type, double x)
{
    int digits = type == ELEMENT_F64 ? 53 : 24;
    int least = type == ELEMENT_F64 ? -1022 : -126;
    int exponent;

    if (x == 0 || !isfinite(x))
        exponent = least;
    else
        exponent = ilogb(x) > least ? ilogb(x) : least;
    return ldexp(1, exponent - digits + 1);
}

/* How far `computed` is from the exact sum, rounded once; infinite when it is no number. */
static double distance(const struct exact *exact, double computed)
{
    struct exact rest = *exact;

    if (!isfinite(computed))
        return INFINITY;
    exact_add(&rest, -computed);
    return fabs(exact_round(&rest));
}

/* Elements that a thread adds by itself. */
static double per_thread(const struct rung *rung, enum element_type type, unsigned coarsen)
{
    switch (rung->per_thread) {
    case PER_LOAD:
        return 16.0 / (double)element_size(type);
    case PER_COARSEN:
        return 2.0 * coarsen;
    default:
        return rung->per_thread;
    }
}

/* A bound of the error relative to the sum of magnitudes, of a sum of n elements.

   In a tree each element passes at most `height` roundings, so what comes out is off by at most
   (1 + u)^height - 1 (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 4.2). Adding m
   numbers in any order is off by at most (m - 1) u (C.-P. Jeannerod and S. M. Rump, "Improved error
   bounds for inner products in floating-point arithmetic", 2013). Adding them one after the other
   is off by at most 1, too: a rounded addition is never farther from its sum than either of its
   terms is, as the other term is a floating-point number itself. */
static double relative_bound(const struct rung *rung, enum element_type type, uint64_t n,
                             unsigned threads, unsigned coarsen)
{
    const double u = roundoff(type);
    double own = per_thread(rung, type, coarsen);
    double height = own - 1 + (rung->tree ? log2(threads) : 0);
    double terms = ceil((double)n / (own * (rung->tree ? threads : 1)));
    double within = expm1(height * log1p(u));
    double between = (terms - 1) * u < 1 ? (terms - 1) * u : 1;

    switch (rung->order) {
    case ORDER_SEGMENTS:
        return within + (1 + within) * between;
    case ORDER_ROWS:
        return within;
    default:
        return (double)(n - 1) * u;
    }
}

/* What is known of an input. */
struct reference {
    struct partial partial; /* the exact sum and all the rest */
    double magnitude;       /* at least the sum of the elements' magnitudes */
};

/* A bound of the error of a rung that is not exact, for n elements of this reference. */
static double error_bound(const struct rung *rung, enum element_type type, uint64_t n,
                          unsigned threads, unsigned coarsen, const struct reference *r)
{
    /* Atomic additions to global memory flush subnormal numbers of binary32 to zero, terms and
       sum (PTX ISA, atom); so the reproducible sum's last bin may lose them. */
    double subnormal = type == ELEMENT_F64 ? 0 : 3 * (double)n * FLT_MIN;

    if (rung->order == ORDER_BINNED) {
        /* K = 3 bins of W = 13 or 40 bits lose less than n 2^(W (1 - K) - 1) of the largest
           element, and the final sum of the bins is off by less than 7 epsilon (J. Demmel and H. D.
           Nguyen, "Parallel reproducible summation", 2015). */
        double least = exact_key_value(r->partial.min_key);
        double most = exact_key_value(r->partial.max_key);
        double largest = fabs(least) > fabs(most) ? fabs(least) : fabs(most);
        double lost = type == ELEMENT_F64 ? 0x1p-81 : 0x1p-27;

        return (double)n * lost * largest +
               14 * roundoff(type) * fabs(exact_round(&r->partial.sum)) + subnormal;
    }
    return relative_bound(rung, type, n, threads, coarsen) * r->magnitude * (1 + 0x1p-40) +
           subnormal;
}

/* What a comparison found, from the best to the worst. */
enum verdict {
    VERDICT_EXACT,    /* every bit is right */
    VERDICT_BOUNDED,  /* within the bound */
    VERDICT_OVERFLOW, /* an infinity or a NaN, where additions in some order overflow */
    VERDICT_WRONG
};

static const char *const verdict_names[] = {
    [VERDICT_EXACT] = "exact",
    [VERDICT_BOUNDED] = "within bound",
    [VERDICT_OVERFLOW] = "overflow",
    [VERDICT_WRONG] = "FAILED",
};

/* Judges a sum of n elements; `exactly`: no addition of these can round. */
static enum verdict judge(const struct rung *rung, enum element_type type, uint64_t n,
                          unsigned threads, unsigned coarsen, const struct reference *r,
                          double computed, bool exactly)
{
    double off = distance(&r->partial.sum, computed);

    if (off == 0)
        return VERDICT_EXACT;
    if (exactly && rung->order != ORDER_BINNED)
        return VERDICT_WRONG;
    if (!isfinite(computed))
        return r->magnitude >= largest_finite(type) / 2 ? VERDICT_OVERFLOW : VERDICT_WRONG;
    return off <= error_bound(rung, type, n, threads, coarsen, r) ? VERDICT_BOUNDED : VERDICT_WRONG;
}

/*
 * Work of the CPU, shared between threads.
 */

#define WORKERS_MAX 256

typedef void range_work(void *job, unsigned worker, uint64_t begin, uint64_t end);

struct range {
    pthread_t thread;
    range_work *work;
    void *job;
    unsigned worker;
    uint64_t begin, end;
};

static void *run_range(void *argument)
{
    struct range *r = argument;

    r->work(r->job, r->worker, r->begin, r->end);
    return NULL;
}

static unsigned workers(void)
{
    unsigned cores = cores_available();

    return cores < WORKERS_MAX ? cores : WORKERS_MAX;
}

/* Calls `work` for ranges that make up [0, count), whose ends are multiples of `unit`, each from a
   thread of its own: fewer threads where there is little to do, or none can be had. */
static void in_parallel(range_work *work, void *job, uint64_t count, uint64_t unit)
{
    struct range ranges[WORKERS_MAX];
    bool threaded[WORKERS_MAX];
    uint64_t units = (count + unit - 1) / unit;
    unsigned n = units < workers() ? (unsigned)units : workers();

    for (unsigned i = 0; i < n; i++) {
        uint64_t end = units / n * (i + 1) + (i + 1 < n ? 0 : units % n);

        ranges[i] = (struct range){.work = work,
                                   .job = job,
                                   .worker = i,
                                   .begin = units / n * i * unit,
                                   .end = end * unit < count ? end * unit : count};
        threaded[i] =
            i + 1 < n && pthread_create(&ranges[i].thread, NULL, run_range, &ranges[i]) == 0;
        if (!threaded[i])
            run_range(&ranges[i]);
    }
    for (unsigned i = 0; i < n; i++)
        if (threaded[i])
            pthread_join(ranges[i].thread, NULL);
}

/* Elements that are looked at while they are in the cache. */
#define PIECE ((uint64_t)1 << 14)

/* The sum of magnitudes, but for rounding. */
static double magnitude_of(enum element_type type, const void *data, size_t count)
{
    double sums[4] = {0};

    switch (type) {
    case ELEMENT_F64:
        for (size_t i = 0; i < count; i++)
            sums[i % 4] += fabs(((const double *)data)[i]);
        break;
    case ELEMENT_F32:
        for (size_t i = 0; i < count; i++)
            sums[i % 4] += (double)fabsf(((const float *)data)[i]);
        break;
    default:
        /* The bits of a half put where those of a binary32 are, with an exponent that is too small
           by the difference of the biases; subnormals come out right, too. */
        for (size_t i = 0; i < count; i++) {
            uint32_t half = ((const uint16_t *)data)[i] & 0x7fff;
            uint32_t bits = type == ELEMENT_F16 ? half << 13 : half << 16;
            float x;

            memcpy(&x, &bits, sizeof x);
            sums[i % 4] += (double)x * (type == ELEMENT_F16 ? 0x1p112 : 1);
        }
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

struct reference_part {
    struct partial partial;
    double magnitude;
    bool failed;
};

struct reference_job {
    enum element_type type;
    const unsigned char *data;
    struct reference_part parts[WORKERS_MAX];
};

/* A reducer for elements of this type; false without memory. */
static bool reducer_open(struct cpu_reducer *r, enum element_type type)
{
    memset(r, 0, sizeof *r);
    r->scratch = aligned_alloc(64, CPU_BLOCK_MAX * sizeof *r->scratch);
    r->type = type;
    r->wants = PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE;
    r->kernel = cpu_kernels_choose()->with_sum[type];
    partial_clear(&r->partial);
    return r->scratch != NULL;
}

static void refer_range(void *argument, unsigned worker, uint64_t begin, uint64_t end)
{
    struct reference_job *job = argument;
    struct reference_part *part = &job->parts[worker];
    struct cpu_reducer reducer;
    size_t size = element_size(job->type);

    if (!reducer_open(&reducer, job->type)) {
        part->failed = true;
        return;
    }
    for (uint64_t i = begin; i < end; i += PIECE) {
        size_t count = (size_t)(end - i < PIECE ? end - i : PIECE);

        reducer.kernel(&reducer, job->data + i * size, count, i);
        part->magnitude += magnitude_of(job->type, job->data + i * size, count);
    }
    part->partial = reducer.partial;
    free(reducer.scratch);
}

/* Finds out what is true of `count` elements. Returns false without memory, which has been said. */
static bool refer(struct reference *r, enum element_type type, const void *data, uint64_t count)
{
    struct reference_job *job = calloc(1, sizeof *job);
    bool good = job != NULL;

    partial_clear(&r->partial);
    r->magnitude = 0;
    if (job) {
        job->type = type;
        job->data = data;
        for (unsigned i = 0; i < WORKERS_MAX; i++)
            partial_clear(&job->parts[i].partial);
        in_parallel(refer_range, job, count, PIECE);
        for (unsigned i = 0; i < WORKERS_MAX; i++) {
            good = good && !job->parts[i].failed;
            partial_merge(&r->partial, &job->parts[i].partial);
            r->magnitude += job->parts[i].magnitude;
        }
        /* Each addition of magnitudes lost at most 2^-53 of the whole. */
        r->magnitude *= 1 + (double)(count + WORKERS_MAX) * 0x1p-52;
        free(job);
    }
    if (!good)
        message_error(EXIT_FAILED, "out of memory");
    return good;
}

/*
 * Signs: an input whose sum no order of additions can get wrong by rounding.
 */

/* So many elements that are not 0, about: their sums stay far below 2^24, in units. */
#define SIGNS_LOG2 22

struct signs_job {
    enum element_type type;
    unsigned char *data;
    uint64_t mask;
};

/* Element i as a bit pattern of the type: one in mask + 1 is not 0, and three of four of those are
   positive, so that the sum tells how many were added. */
static uint64_t sign_bits(enum element_type type, uint64_t mask, uint64_t i)
{
    static const uint64_t one[ELEMENT_TYPES] = {
        [ELEMENT_F32] = 0x3f800000,
        [ELEMENT_F64] = UINT64_C(0x3ff0000000000000),
        [ELEMENT_F16] = 0x3c00,
        [ELEMENT_BF16] = 0x3f80,
    };
    uint64_t hash = i + UINT64_C(0x9e3779b97f4a7c15);

    /* The finalizer of splitmix64 (G. L. Steele, D. Lea and C. H. Flood, 2014). */
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    hash ^= hash >> 31;
    if (hash & mask)
        return 0;
    return one[type] | (uint64_t)(hash >> 62 == 0) << (8 * element_size(type) - 1);
}

static void fill_signs_range(void *argument, unsigned worker, uint64_t begin, uint64_t end)
{
    const struct signs_job *job = argument;
    const size_t size = element_size(job->type);

    (void)worker;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t bits = sign_bits(job->type, job->mask, i);

        switch (size) {
        case 2:
            ((uint16_t *)job->data)[i] = (uint16_t)bits;
            break;
        case 4:
            ((uint32_t *)job->data)[i] = (uint32_t)bits;
            break;
        default:
            ((uint64_t *)job->data)[i] = bits;
        }
    }
}

static void fill_signs(void *data, enum element_type type, uint64_t count)
{
    struct signs_job job = {.type = type, .data = data};

    while (count / (job.mask + 1) >> SIGNS_LOG2)
        job.mask = 2 * job.mask + 1;
    in_parallel(fill_signs_range, &job, count, PIECE);
}

/*
 * Numbers of a series.
 */

struct series {
    double median, least, most; /* milliseconds */
    unsigned count;
};

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the times. */
static struct series summarize(double *times, unsigned count)
{
    struct series s = {.count = count};

    if (count == 0)
        return s;
    qsort(times, count, sizeof *times, compare_numbers);
    s.least = times[0];
    s.most = times[count - 1];
    s.median = (times[(count - 1) / 2] + times[count / 2]) / 2;
    return s;
}

/*
 * The device.
 */

#define REPEAT_DEFAULT 20
#define REPEAT_MAX 10000

/* Untimed launches before the timed ones: they load the kernel, and bring the clocks up. */
#define WARM_UPS 2

/* Milliseconds that the timed launches of a rung may take, all together, if three of them fit. */
#define TIME_BUDGET 1000.0
#define REPEAT_LEAST 3

/* Times that a result is compared with the first, within this many nanoseconds. */
#define COMPARISONS 10
#define COMPARE_BUDGET (2 * CLOCK_SECOND)

/* Launches that are queued behind the gate: few enough for the stream's queue to take them all. */
#define BATCH 48

struct bench {
    enum element_type type;
    uint64_t count;
    unsigned threads; /* 0: not said */
    unsigned coarsen;
    enum distribution distribution;
    uint64_t seed;
    unsigned repeat;
    bool progress;

    char name[256]; /* of the device */
    int multiprocessors;
    double peak;      /* bytes a second */
    double additions; /* of the type, a second */
    size_t cache;     /* bytes of level 2 */
    bool lost;        /* an error that the device does not recover from */

    cudaStream_t stream;
    cudaEvent_t begun[BATCH], ended[BATCH];
    void *cub_temporary;
    size_t cub_temporary_size;
    void *scratch; /* struct cuda_scratch */
};

/* Says which CUDA call failed; whether none did. */
static bool check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        message_error(EXIT_FAILED, "%s: %s", what, cudaGetErrorString(error));
    return error == cudaSuccess;
}

/* Device memory, zeroed; NULL when there is none, which has been said. */
static void *allocate(struct bench *b, size_t size, const char *what)
{
    void *memory;
    cudaError_t error = cudaMalloc(&memory, size);

    if (error == cudaErrorMemoryAllocation) {
        size_t available = 0, total = 0;

        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&available, &total);
        message_error(EXIT_FAILED,
                      "out of device memory: %s takes %.3g GB, of %.3g GB that are free", what,
                      (double)size / 1e9, (double)available / 1e9);
        return NULL;
    }
    if (!check(error, "device memory"))
        return NULL;
    if (check(cudaMemsetAsync(memory, 0, size, b->stream), "device memory"))
        return memory;
    (void)cudaFree(memory);
    return NULL;
}

static void release(void *pointer)
{
    if (pointer)
        (void)cudaFree(pointer);
}

/* Additions of binary32 that a multiprocessor starts a clock (CUDA C++ Programming Guide, table of
   the throughput of arithmetic instructions). */
static int lanes(int major, int minor)
{
    return major < 8 || (major == 8 && minor == 0) ? 64 : 128;
}

static bool attribute(int *value, enum cudaDeviceAttr which, int device)
{
    return check(cudaDeviceGetAttribute(value, which, device), "asking the GPU");
}

/* Whether there is a device of this number, as which the following calls will run. */
static bool find_device(uint64_t number)
{
    int visible = 0;
    cudaError_t error = cudaGetDeviceCount(&visible);

    if (error == cudaErrorInsufficientDriver)
        message_error(EXIT_NO_GPU, "no NVIDIA driver, or one that is older than CUDA %d.%d",
                      CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    else if (error != cudaSuccess)
        message_error(EXIT_NO_GPU, "looking for a GPU: %s", cudaGetErrorString(error));
    else if (number >= (uint64_t)visible)
        message_error(EXIT_NO_GPU, "there is no GPU %" PRIu64, number);
    else
        error = cudaSetDevice((int)number);
    if (error != cudaSuccess || number >= (uint64_t)visible)
        return false;

    /* The first call that needs a context makes it. */
    error = cudaFree(NULL);
    if (error == cudaSuccess)
        error = cuda_reduce_check();
    if (error != cudaSuccess)
        message_error(EXIT_NO_GPU, "using the GPU: %s", cudaGetErrorString(error));
    return error == cudaSuccess;
}

static bool describe_device(struct bench *b, int number)
{
    struct cudaDeviceProp properties;
    int memory_clock, width, clock, ratio, cache, major, minor;

    if (!check(cudaGetDeviceProperties(&properties, number), "asking the GPU") ||
        !attribute(&memory_clock, cudaDevAttrMemoryClockRate, number) ||
        !attribute(&width, cudaDevAttrGlobalMemoryBusWidth, number) ||
        !attribute(&clock, cudaDevAttrClockRate, number) ||
        !attribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, number) ||
        !attribute(&cache, cudaDevAttrL2CacheSize, number) ||
        !attribute(&major, cudaDevAttrComputeCapabilityMajor, number) ||
        !attribute(&minor, cudaDevAttrComputeCapabilityMinor, number) ||
        !attribute(&b->multiprocessors, cudaDevAttrMultiProcessorCount, number))
        return false;
    snprintf(b->name, sizeof b->name, "%s", properties.name);
    /* Clocks are in kHz, the width is in bits, and memory transfers twice a clock. */
    b->peak = 2.0 * memory_clock * 1e3 * width / 8;
    b->additions = 1e3 * clock * b->multiprocessors * lanes(major, minor);
    if (b->type == ELEMENT_F64 && ratio > 0)
        b->additions /= ratio;
    b->cache = (size_t)cache;
    return true;
}

static void bench_close(struct bench *b)
{
    for (int i = 0; i < BATCH; i++) {
        if (b->begun[i])
            (void)cudaEventDestroy(b->begun[i]);
        if (b->ended[i])
            (void)cudaEventDestroy(b->ended[i]);
    }
    release(b->cub_temporary);
    release(b->scratch);
    if (b->stream)
        (void)cudaStreamDestroy(b->stream);
}

/* Gets the device ready; what was begun is left to bench_close. */
static bool bench_open(struct bench *b, uint64_t number)
{
    if (!find_device(number) || !describe_device(b, (int)number) ||
        !check(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking), "creating a stream"))
        return false;
    for (int i = 0; i < BATCH; i++)
        if (!check(cudaEventCreate(&b->begun[i]), "creating an event") ||
            !check(cudaEventCreate(&b->ended[i]), "creating an event"))
            return false;
    b->scratch = allocate(b, sizeof(struct cuda_scratch), "the kernels' scratch");
    return b->scratch != NULL;
}

/* Sees to it that CUB has the temporary memory that it needs for such an input. */
static bool make_room_for_cub(struct bench *b, enum element_type type, uint64_t count)
{
    size_t size;

    if (!check(rung_cub_temporary(type, count, &size), "asking CUB"))
        return false;
    if (size <= b->cub_temporary_size)
        return true;
    release(b->cub_temporary);
    b->cub_temporary = allocate(b, size, "CUB's temporary memory");
    b->cub_temporary_size = b->cub_temporary ? size : 0;
    return b->cub_temporary != NULL;
}

/* Shows what is being done, for a user who watches. */
static void progress(const struct bench *b, const char *what, const char *doing)
{
    char text[160];

    if (!b->progress)
        return;
    snprintf(text, sizeof text, "%s: %s", what, doing);
    message_transient(text);
}

/* Prints the row that is complete, in place of the progress line. */
static void show_row(const struct bench *b, struct table *t)
{
    if (b->progress)
        message_transient(NULL);
    table_flush(t);
}

/*
 * Inputs on the device: `places` of them at a fixed distance, which the launches take in turn.
 * Their contents repeat after the first `contents`.
 */

#define CONTENTS_MAX 4

/* Places are aligned like this, which is what cudaMalloc gives. */
#define ALIGNMENT ((size_t)256)

/* Buffers that the launches rotate through, at least, and how many times the cache they fill. */
#define PLACES_LEAST 3
#define CACHES 4

struct inputs {
    enum element_type type;
    uint64_t count; /* elements of one */
    size_t stride;  /* bytes from one to the next */
    uint64_t places;
    unsigned contents;
    unsigned char *data;
    unsigned char *work;       /* copies of the same for rungs that work in place, or NULL */
    unsigned char *signs;      /* NULL when there are none */
    const unsigned char *host; /* the elements of content 0 */
    const unsigned char *host_signs;
    struct reference references[CONTENTS_MAX];
    struct reference signs_reference;
    uint64_t turn; /* launches so far */
};

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* How many places serve, and fit in what is free beside `signs` of the same size, with `copies` of
   each. 0 when there is not room for one. */
static uint64_t choose_places(size_t stride, size_t cache, size_t available, unsigned copies)
{
    uint64_t wanted = (CACHES * (uint64_t)cache + stride - 1) / stride;
    uint64_t fitting;

    wanted = wanted > PLACES_LEAST ? wanted : PLACES_LEAST;
    if (available < stride)
        return 0;
    fitting = (available - stride) / stride / copies;
    return wanted < fitting ? wanted : fitting;
}

/*
 * Subjects: rungs as they are run on inputs of one kind.
 */

struct subject {
    const struct rung *rung;
    struct rung_launch launch;
    uint64_t results; /* of one reduction: rows, or 1 */
    size_t size;      /* bytes of them */
    size_t stride;    /* bytes from those of one reduction to the next */
    unsigned slots;   /* reductions that have results of their own */
    unsigned char *memory;
    unsigned next; /* the slot of the next launch */
    uint64_t copy; /* the copy of the input that a rung in place takes next */
    double *times; /* milliseconds */
    unsigned timed;
    cudaError_t error;
};

static void subject_close(struct subject *s)
{
    release(s->memory);
    free(s->times);
    *s = (struct subject){0};
}

static bool subject_open(struct bench *b, struct subject *s, const struct rung *rung,
                         enum element_type type, uint64_t count, unsigned threads)
{
    bool cub = rung->order == ORDER_ANY || rung->order == ORDER_BINNED;

    *s = (struct subject){
        .rung = rung,
        .launch = {.type = type,
                   .count = count,
                   .threads = threads,
                   .coarsen = b->coarsen,
                   .multiprocessors = b->multiprocessors},
        .results = rung->order == ORDER_ROWS ? (count + threads - 1) / threads : 1,
    };
    if (cub && !make_room_for_cub(b, type, count))
        return false;
    s->size = rung->order == ORDER_EXACT ? sizeof(struct partial)
                                         : s->results * (type == ELEMENT_F64 ? 8 : 4);
    s->stride = round_up(s->size, ALIGNMENT);
    /* Rows are written, not added to: they need no starting value. */
    s->slots = s->results > 1 ? 1 : WARM_UPS + 1 + b->repeat;
    s->times = calloc(b->repeat, sizeof *s->times);
    if (!s->times) {
        message_error(EXIT_FAILED, "out of memory");
        return false;
    }
    s->memory = allocate(b, s->stride * s->slots, "results");
    return s->memory != NULL;
}

/* Sets the results of the first `slots` reductions to their starting values. */
static cudaError_t subject_reset(struct bench *b, struct subject *s, unsigned slots)
{
    struct partial *empty;
    cudaError_t error;

    slots = slots < s->slots ? slots : s->slots;
    s->next = 0;
    error = cudaMemsetAsync(s->memory, 0, s->stride * slots, b->stream);
    if (s->rung->order != ORDER_EXACT || error != cudaSuccess)
        return error;
    empty = malloc(s->stride * slots);
    if (!empty)
        return cudaErrorMemoryAllocation;
    memset(empty, 0, s->stride * slots);
    for (unsigned i = 0; i < slots; i++)
        partial_clear((struct partial *)((unsigned char *)empty + i * s->stride));
    error = cudaMemcpyAsync(s->memory, empty, s->stride * slots, cudaMemcpyHostToDevice, b->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(b->stream);
    free(empty);
    return error;
}

/* Starts a reduction of the elements at `data`. */
static cudaError_t subject_start(struct bench *b, struct subject *s, unsigned char *data)
{
    bool exact = s->rung->order == ORDER_EXACT;

    /* CUB's memory moves when a later subject needs more. */
    s->launch.temporary = exact ? b->scratch : b->cub_temporary;
    s->launch.temporary_size = exact ? sizeof(struct cuda_scratch) : b->cub_temporary_size;
    s->launch.data = data;
    s->launch.result = s->memory + s->next * s->stride;
    s->next = (s->next + 1) % s->slots;
    return s->rung->launcher(&s->launch, b->stream);
}

/*
 * Timing.
 */

/* Holds a stream back until a batch is queued. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool open;
};

/* Queueing a batch takes a millisecond. A launch that itself waits for the stream, as under some
   debugging tools, would never come to an end: then the gate opens by itself. */
#define GATE_NANOSECONDS 100000000

/* On a thread of the CUDA runtime. */
static void gate_wait(void *argument)
{
    struct gate *gate = argument;
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (until.tv_nsec + GATE_NANOSECONDS) / 1000000000;
    until.tv_nsec = (until.tv_nsec + GATE_NANOSECONDS) % 1000000000;
    pthread_mutex_lock(&gate->mutex);
    while (!gate->open && pthread_cond_timedwait(&gate->changed, &gate->mutex, &until) == 0)
        ;
    pthread_mutex_unlock(&gate->mutex);
}

static void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->mutex);
}

/* What the next launch of a subject reduces. A rung that works in place takes one copy after the
   other; they are all made anew when they are used up. */
static cudaError_t take_turn(struct bench *b, struct inputs *in, struct subject *s,
                             unsigned char **data)
{
    uint64_t place = in->turn++ % in->places;

    *data = in->data + place * in->stride;
    if (!s->rung->in_place)
        return cudaSuccess;
    place = s->copy++ % in->places;
    *data = in->work + place * in->stride;
    if (place > 0)
        return cudaSuccess;
    return cudaMemcpyAsync(in->work, in->data, in->places * in->stride, cudaMemcpyDeviceToDevice,
                           b->stream);
}

/* Runs the subjects in turn, `rounds` times, at most BATCH launches in all, and adds the times to
   theirs where `timed`. On an error the subject that had it keeps it. */
static bool run_batch(struct bench *b, struct inputs *in, struct subject *subjects, unsigned count,
                      unsigned rounds, bool timed)
{
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    cudaError_t error = cudaSuccess, behind;
    unsigned queued = 0;

    if (timed)
        error = cudaLaunchHostFunc(b->stream, gate_wait, &gate);
    for (; queued < rounds * count && error == cudaSuccess; queued++) {
        struct subject *s = &subjects[queued % count];
        unsigned char *data;

        error = take_turn(b, in, s, &data);
        if (error == cudaSuccess)
            error = cudaEventRecord(b->begun[queued], b->stream);
        if (error == cudaSuccess)
            error = subject_start(b, s, data);
        if (error == cudaSuccess)
            error = cudaEventRecord(b->ended[queued], b->stream);
        s->error = error;
    }
    gate_open(&gate);
    /* The gate must not go before the stream has passed it. */
    behind = cudaStreamSynchronize(b->stream);
    if (error == cudaSuccess && behind != cudaSuccess)
        error = subjects[0].error = behind;
    for (unsigned i = 0; timed && i < queued && error == cudaSuccess; i++) {
        struct subject *s = &subjects[i % count];
        float milliseconds;

        error = s->error = cudaEventElapsedTime(&milliseconds, b->begun[i], b->ended[i]);
        if (error == cudaSuccess)
            s->times[s->timed++] = (double)milliseconds;
    }
    if (error != cudaSuccess)
        b->lost = cudaStreamSynchronize(b->stream) != cudaSuccess;
    return error == cudaSuccess;
}

/* Times the subjects, taking turns: b->repeat times, or as often as the budget allows. */
static bool measure(struct bench *b, struct inputs *in, struct subject *subjects, unsigned count)
{
    unsigned repeat = b->repeat, rounds = BATCH / count;
    double round = 0;

    for (unsigned i = 0; i < count; i++) {
        subjects[i].timed = 0;
        subjects[i].copy = 0;
        subjects[i].error = subject_reset(b, &subjects[i], subjects[i].slots);
        if (subjects[i].error != cudaSuccess)
            return false;
    }
    if (!run_batch(b, in, subjects, count, WARM_UPS, false) ||
        !run_batch(b, in, subjects, count, 1, true))
        return false;
    for (unsigned i = 0; i < count; i++) {
        round += subjects[i].times[0];
        subjects[i].timed = 0; /* this one was to know how long it takes */
    }
    if (round * repeat > TIME_BUDGET)
        repeat =
            TIME_BUDGET / round > REPEAT_LEAST ? (unsigned)(TIME_BUDGET / round) : REPEAT_LEAST;
    repeat = repeat < b->repeat ? repeat : b->repeat;
    for (unsigned done = 0; done < repeat; done += rounds)
        if (!run_batch(b, in, subjects, count, repeat - done < rounds ? repeat - done : rounds,
                       true))
            return false;
    return true;
}

/*
 * Verifying.
 */

/* What verifying a subject found. */
struct findings {
    enum verdict verdict; /* the worst of all inputs */
    bool measurable;      /* it ran, and is not wrong */
    double ulps;          /* error on content 0, units in the last place; NaN: it has no sum */
    bool same;            /* all runs gave the same bits */
    unsigned compared;    /* runs, with the first */
    char why[256];        /* it is not measurable */
};

/* Runs a subject once on the elements at `from`, and copies its results to `results`. */
static cudaError_t run_once(struct bench *b, const struct inputs *in, struct subject *s,
                            unsigned char *from, void *results)
{
    cudaError_t error = subject_reset(b, s, 1);

    if (error == cudaSuccess && s->rung->in_place) {
        error = cudaMemcpyAsync(in->work, from, in->count * element_size(in->type),
                                cudaMemcpyDeviceToDevice, b->stream);
        from = in->work;
    }
    if (error == cudaSuccess)
        error = subject_start(b, s, from);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(results, s->memory, s->size, cudaMemcpyDeviceToHost, b->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(b->stream);
    return error;
}

static double value_at(const struct subject *s, const void *results, uint64_t i)
{
    return s->launch.type == ELEMENT_F64 ? ((const double *)results)[i]
                                         : (double)((const float *)results)[i];
}

/* What the production kernel left, as results. */
static struct result finish(const void *results)
{
    struct partial partial;
    struct result result;

    memcpy(&partial, results, sizeof partial);
    partial.sum.pending = EXACT_PENDING_MAX; /* the kernel does not keep it */
    partial_finish(&partial, false, &result);
    return result;
}

static bool same_double(double x, double y)
{
    return exact_bits(x) == exact_bits(y);
}

/* The name of the first result, out of those wanted, that is not what it must be; or NULL. */
static const char *difference(const struct result *a, const struct result *b, unsigned wants)
{
    bool sum = wants & PARTIAL_SUM, extremes = wants & PARTIAL_EXTREMES;
    bool where = wants & PARTIAL_WHERE;

    if (a->count != b->count)
        return "count";
    if (a->nan != b->nan || a->first_nan != b->first_nan)
        return "number of NaNs";
    if (a->infinity != b->infinity)
        return "number of infinities";
    if (sum && !same_double(a->sum, b->sum))
        return "sum";
    if (sum && !same_double(a->mean, b->mean))
        return "mean";
    if (extremes && !same_double(a->min, b->min))
        return "minimum";
    if (extremes && !same_double(a->max, b->max))
        return "maximum";
    if (where && a->argmin != b->argmin)
        return "index of the minimum";
    if (where && a->argmax != b->argmax)
        return "index of the maximum";
    return NULL;
}

/* Rows of a batched rung. */
struct rows_part {
    struct exact sum; /* of all rows' results */
    enum verdict verdict;
    uint64_t wrong; /* the first row that is, or UINT64_MAX */
    bool failed;
};

struct rows_job {
    const struct subject *subject;
    const unsigned char *data;
    const void *results;
    bool exactly;
    struct rows_part parts[WORKERS_MAX];
};

static void judge_rows_range(void *argument, unsigned worker, uint64_t begin, uint64_t end)
{
    struct rows_job *job = argument;
    struct rows_part *part = &job->parts[worker];
    const struct rung_launch *l = &job->subject->launch;
    struct cpu_reducer reducer;
    size_t size = element_size(l->type);

    if (!reducer_open(&reducer, l->type)) {
        part->failed = true;
        return;
    }
    for (uint64_t row = begin; row < end; row++) {
        uint64_t first = row * l->threads;
        uint64_t count = l->count - first < l->threads ? l->count - first : l->threads;
        double computed = value_at(job->subject, job->results, row);
        struct reference r;
        enum verdict verdict;

        partial_clear(&reducer.partial);
        reducer.kernel(&reducer, job->data + first * size, (size_t)count, first);
        r.partial = reducer.partial;
        r.magnitude = magnitude_of(l->type, job->data + first * size, (size_t)count);
        r.magnitude *= 1 + (double)count * 0x1p-52;
        verdict = judge(job->subject->rung, l->type, count, l->threads, l->coarsen, &r, computed,
                        job->exactly);
        if (verdict == VERDICT_WRONG && part->wrong == UINT64_MAX)
            part->wrong = row;
        part->verdict = verdict > part->verdict ? verdict : part->verdict;
        if (isfinite(computed))
            exact_add(&part->sum, computed);
    }
    free(reducer.scratch);
}

/* Judges each row; the error of their sum goes to the findings of content 0. */
static enum verdict judge_rows(const struct subject *s, const unsigned char *data,
                               const struct reference *r, const void *results, bool exactly,
                               struct findings *f)
{
    struct rows_job *job = calloc(1, sizeof *job);
    enum verdict verdict = VERDICT_EXACT;
    struct exact rest;
    bool failed = job == NULL;

    if (!job) {
        snprintf(f->why, sizeof f->why, "out of memory");
        return VERDICT_WRONG;
    }
    job->subject = s;
    job->data = data;
    job->results = results;
    job->exactly = exactly;
    for (unsigned i = 0; i < WORKERS_MAX; i++)
        job->parts[i].wrong = UINT64_MAX;
    in_parallel(judge_rows_range, job, s->results, 64);

    exact_clear(&rest);
    for (unsigned i = 0; i < WORKERS_MAX; i++) {
        const struct rows_part *part = &job->parts[i];

        failed = failed || part->failed;
        exact_merge(&rest, &part->sum);
        if (part->wrong != UINT64_MAX && verdict != VERDICT_WRONG)
            snprintf(f->why, sizeof f->why, "the sum of row %" PRIu64 ", %.9g, is wrong",
                     part->wrong, value_at(s, results, part->wrong));
        verdict = part->verdict > verdict ? part->verdict : verdict;
    }
    free(job);
    if (failed) {
        snprintf(f->why, sizeof f->why, "out of memory");
        return VERDICT_WRONG;
    }
    if (!exactly) {
        /* The rows' sums, added without error, less the exact sum. */
        for (int i = 0; i < EXACT_DIGITS; i++)
            rest.digit[i] = -rest.digit[i];
        exact_merge(&rest, &r->partial.sum);
        f->ulps = verdict == VERDICT_OVERFLOW
                      ? INFINITY
                      : fabs(exact_round(&rest)) /
                            unit_in_last_place(s->launch.type, exact_round(&r->partial.sum));
    }
    return verdict;
}

/* Judges the results of one run; `data` are the elements, on the host, for rungs with rows. */
static enum verdict judge_results(const struct subject *s, const unsigned char *data,
                                  const struct reference *r, const void *results, bool exactly,
                                  struct findings *f)
{
    const struct rung_launch *l = &s->launch;
    enum verdict verdict = VERDICT_EXACT;
    double sum = exact_round(&r->partial.sum), computed;

    if (s->rung->order == ORDER_ROWS)
        return judge_rows(s, data, r, results, exactly, f);
    if (s->rung->order == ORDER_EXACT) {
        struct result got = finish(results), expected;
        const char *wrong;

        partial_finish(&r->partial, false, &expected);
        wrong = difference(&got, &expected, s->rung->wants);
        computed = got.sum;
        f->ulps = NAN;
        if (wrong) {
            snprintf(f->why, sizeof f->why, "the %s is wrong (sums: %.17g, exact %.17g)", wrong,
                     got.sum, sum);
            return VERDICT_WRONG;
        }
        if (!(s->rung->wants & PARTIAL_SUM))
            return verdict;
    } else {
        computed = value_at(s, results, 0);
        verdict = judge(s->rung, l->type, l->count, l->threads, l->coarsen, r, computed, exactly);
        if (verdict == VERDICT_WRONG)
            snprintf(f->why, sizeof f->why, "the sum is %.9g%s, %s %.17g", computed,
                     exactly ? " of signs" : "", exactly ? "not" : "too far from", sum);
    }
    f->ulps = distance(&r->partial.sum, computed) / unit_in_last_place(l->type, sum);
    return verdict;
}

/* Whether two runs gave the same bits. Digits of an exact sum may differ where their value does
   not: the results are what counts. */
static bool same_results(const struct subject *s, const void *a, const void *b)
{
    if (s->rung->order == ORDER_EXACT) {
        struct result x = finish(a), y = finish(b);
        return difference(&x, &y, s->rung->wants) == NULL;
    }
    return memcmp(a, b, s->size) == 0;
}

/* Notes why a run failed. */
static void note_error(struct bench *b, struct findings *f, cudaError_t error)
{
    f->verdict = VERDICT_WRONG;
    snprintf(f->why, sizeof f->why, "%s", cudaGetErrorString(error));
    (void)cudaGetLastError();
    b->lost = cudaStreamSynchronize(b->stream) != cudaSuccess;
}

/* Verifies a subject on the signs and on every content of the inputs, and compares its results of
   several runs on the first. The host has the elements of content 0 alone, and of the signs. */
static struct findings verify(struct bench *b, const struct inputs *in, struct subject *s)
{
    struct findings f = {.verdict = VERDICT_EXACT, .ulps = NAN, .same = true, .compared = 1};
    unsigned char *results = malloc(2 * s->size), *again = results + s->size;
    unsigned contents = s->rung->order == ORDER_ROWS ? 1 : in->contents;
    uint64_t begun = clock_now();
    cudaError_t error = cudaSuccess;
    double ulps = NAN;

    if (!results) {
        f.verdict = VERDICT_WRONG;
        snprintf(f.why, sizeof f.why, "out of memory");
        return f;
    }
    if (in->signs) {
        error = run_once(b, in, s, in->signs, results);
        if (error == cudaSuccess && judge_results(s, in->host_signs, &in->signs_reference, results,
                                                  true, &f) == VERDICT_WRONG)
            f.verdict = VERDICT_WRONG;
    }
    for (unsigned i = contents; i-- > 0 && error == cudaSuccess && f.verdict != VERDICT_WRONG;) {
        enum verdict verdict;

        error = run_once(b, in, s, in->data + i * in->stride, results);
        if (error != cudaSuccess)
            break;
        verdict = judge_results(s, in->host, &in->references[i], results, false, &f);
        f.verdict = verdict > f.verdict ? verdict : f.verdict;
        ulps = f.ulps; /* content 0 comes last */
    }
    f.ulps = ulps;
    for (; f.compared < COMPARISONS && error == cudaSuccess && f.verdict != VERDICT_WRONG &&
           clock_now() - begun < COMPARE_BUDGET;
         f.compared++) {
        error = run_once(b, in, s, in->data, again);
        f.same = f.same && error == cudaSuccess && same_results(s, results, again);
    }
    if (error != cudaSuccess)
        note_error(b, &f, error);
    f.measurable = f.verdict != VERDICT_WRONG;
    free(results);
    return f;
}

/*
 * The ladder.
 */

enum column {
    COLUMN_RUNG,
    COLUMN_TIME,
    COLUMN_RATE,
    COLUMN_PERCENT,
    COLUMN_RATIO,
    COLUMN_ERROR,
    COLUMN_SAME,
    COLUMN_CHECK,
    COLUMN_PUBLISHED,
    /* In JSON alone. */
    COLUMN_DEVICE,
    COLUMN_LESSON,
    COLUMN_LEAST,
    COLUMN_MOST,
    COLUMN_REPEATS,
    COLUMN_COMPARED,
    COLUMN_THREADS,
    COLUMN_WHY,
    COLUMN_PUBLISHED_DEVICE,
    COLUMN_PUBLISHED_RATE,
    COLUMN_PUBLISHED_PERCENT,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_RUNG] = {"rung", "rung", TABLE_TEXT, 0},
    [COLUMN_TIME] = {"milliseconds", "ms", TABLE_NUMBER, 4},
    [COLUMN_RATE] = {"gigabytes_per_second", "GB/s", TABLE_NUMBER, 1},
    [COLUMN_PERCENT] = {"percent_of_peak", "% of peak", TABLE_NUMBER, 1},
    [COLUMN_RATIO] = {"ratio_to_cub", "x cub", TABLE_NUMBER, 3},
    [COLUMN_ERROR] = {"error_ulps", "error, ulp", TABLE_NUMBER, 2},
    [COLUMN_SAME] = {"same_bits", "same bits", TABLE_FLAG, 0},
    [COLUMN_CHECK] = {"check", "check", TABLE_TEXT, 0},
    [COLUMN_PUBLISHED] = {"published", "published", TABLE_TEXT, 0},
    [COLUMN_DEVICE] = {"device", NULL, TABLE_TEXT, 0},
    [COLUMN_LESSON] = {"lesson", NULL, TABLE_TEXT, 0},
    [COLUMN_LEAST] = {"least_milliseconds", NULL, TABLE_NUMBER, 4},
    [COLUMN_MOST] = {"most_milliseconds", NULL, TABLE_NUMBER, 4},
    [COLUMN_REPEATS] = {"repeats", NULL, TABLE_NUMBER, 0},
    [COLUMN_COMPARED] = {"runs_compared", NULL, TABLE_NUMBER, 0},
    [COLUMN_THREADS] = {"threads", NULL, TABLE_NUMBER, 0},
    [COLUMN_WHY] = {"reason", NULL, TABLE_TEXT, 0},
    [COLUMN_PUBLISHED_DEVICE] = {"published_device", NULL, TABLE_TEXT, 0},
    [COLUMN_PUBLISHED_RATE] = {"published_gigabytes_per_second", NULL, TABLE_NUMBER, 1},
    [COLUMN_PUBLISHED_PERCENT] = {"published_percent_of_peak", NULL, TABLE_NUMBER, 1},
};

/* The least time that the device allows for `count` elements: to read them, and to add them. */
struct roofline {
    double reading, adding; /* seconds */
    double least;           /* the larger of the two */
};

static struct roofline roofline(const struct bench *b, uint64_t count)
{
    struct roofline r = {.reading = (double)count * (double)element_size(b->type) / b->peak,
                         .adding = (double)(count - 1) / b->additions};

    r.least = r.reading > r.adding ? r.reading : r.adding;
    return r;
}

/* Facts about the device and CUB, for any table. */
static void device_facts(struct table *t, const struct bench *b)
{
    char version[32];
    int number = rung_cub_version();

    table_fact_text(t, "device", "device", b->name);
    table_fact_number(t, "peak_gigabytes_per_second", "peak of its memory", b->peak / 1e9, 1,
                      "GB/s");
    table_fact_number(t, "multiprocessors", "multiprocessors", b->multiprocessors, 0, "");
    table_fact_number(t, "l2_megabytes", "level-2 cache", (double)b->cache / 1e6, 1, "MB");
    snprintf(version, sizeof version, "%d.%d.%d", number / 1000000, number / 1000 % 1000,
             number % 1000);
    table_fact_text(t, "cub", "CUB", version);
}

static void ladder_facts(struct table *t, const struct bench *b, const struct inputs *in)
{
    struct roofline r = roofline(b, in->count);

    device_facts(t, b);
    table_fact_text(t, "dtype", "type", element_name(in->type));
    table_fact_number(t, "elements", "elements", (double)in->count, 0, "");
    table_fact_text(t, "dist", "distribution", distribution_name(b->distribution));
    table_fact_number(t, "seed", "seed", (double)b->seed, 0, "");
    table_fact_number(t, "buffers", "buffers in rotation", (double)in->places, 0, "");
    table_fact_number(t, "coarsen", "coarsening", b->coarsen, 0, "");
    table_fact_number(t, "repeat", "timings of each, at most", b->repeat, 0, "");
    table_fact_number(t, "read_milliseconds", "least time for N reads", r.reading * 1e3, 4, "ms");
    table_fact_number(t, "add_milliseconds", "least time for N - 1 additions", r.adding * 1e3, 4,
                      "ms");
    table_fact_number(t, "roofline_milliseconds", "roofline", r.least * 1e3, 4, "ms");
    table_fact_text(t, "timing", "timing",
                    "median of single reductions between CUDA events; results zeroed and inputs "
                    "copied beforehand");
}

static void publish(struct table *t, const struct rung *rung, unsigned threads)
{
    const struct published *p = published_find(rung, threads);
    char text[64];
    double percent;

    if (!p)
        return;
    percent = 100 * p->gigabytes / p->peak;
    snprintf(text, sizeof text, "%.4g GB/s, %.1f %% of %s", p->gigabytes, percent, p->device);
    table_text(t, COLUMN_PUBLISHED, text);
    table_text(t, COLUMN_PUBLISHED_DEVICE, p->device);
    table_number(t, COLUMN_PUBLISHED_RATE, p->gigabytes);
    table_number(t, COLUMN_PUBLISHED_PERCENT, percent);
}

/* The published figures as rows of their own, below those measured. */
static void list_published(struct table *t)
{
    for (size_t i = 0; i < PUBLISHED; i++) {
        const struct published *p = &published[i];
        char group[80], label[LABEL_MAX];

        snprintf(group, sizeof group, "published: %s, %.0f GB/s, f32, %s", p->device, p->peak,
                 p->threads ? "2^29 elements, 50 repeats" : "2^25 elements");
        if (p->threads)
            snprintf(label, sizeof label, "%s-%u", p->rung, p->threads);
        else
            snprintf(label, sizeof label, "%s", p->rung);
        table_row(t, group);
        table_text(t, COLUMN_RUNG, label);
        table_text(t, COLUMN_DEVICE, p->device);
        if (p->milliseconds > 0)
            table_number(t, COLUMN_TIME, p->milliseconds);
        if (p->gigabytes > 0) {
            table_number(t, COLUMN_RATE, p->gigabytes);
            table_number(t, COLUMN_PERCENT, 100 * p->gigabytes / p->peak);
        }
        if (p->threads)
            table_number(t, COLUMN_THREADS, p->threads);
    }
}

/* Why a rung cannot be run with this input on this device; NULL when it can. */
static const char *unavailable(const struct rung *rung, enum element_type type, uint64_t count)
{
    if (!(rung->types & TYPE(type)))
        return "not for this type";
    if (rung->order == ORDER_BINNED && !rung_cub_is_reproducible())
        return "needs CUB 3.1";
    if (rung->order == ORDER_BINNED && count > INT32_MAX)
        return "at most 2^31 - 1 elements";
    return NULL;
}

/* Bytes of the input a second, in GB/s. */
static double rate(const struct rung_launch *l, double milliseconds)
{
    return (double)l->count * (double)element_size(l->type) / milliseconds / 1e6;
}

/* Verifies and times a rung, beside CUB's sum unless it is that, and fills its row. */
static void climb(struct bench *b, struct inputs *in, struct table *t, const struct rung *rung,
                  unsigned threads)
{
    const char *why = unavailable(rung, in->type, in->count);
    struct subject subjects[2] = {{0}}; /* the rung; CUB's sum */
    struct findings f = {.verdict = VERDICT_WRONG};
    bool alone = strcmp(rung->name, "cub") == 0, measured = false;
    char label[LABEL_MAX];

    rung_label(label, rung, threads);
    table_row(t, b->name);
    table_text(t, COLUMN_RUNG, why ? rung->name : label);
    table_text(t, COLUMN_DEVICE, b->name);
    table_text(t, COLUMN_LESSON, rung->lesson);
    if (rung->order <= ORDER_ROWS && !why)
        table_number(t, COLUMN_THREADS, threads);
    if (in->type == ELEMENT_F32)
        publish(t, rung, threads);
    if (why) {
        table_text(t, COLUMN_CHECK, why);
        return;
    }
    progress(b, label, "verifying");
    if (subject_open(b, &subjects[0], rung, in->type, in->count, threads) &&
        (alone || subject_open(b, &subjects[1], rung_find("cub"), in->type, in->count, threads))) {
        f = verify(b, in, &subjects[0]);
        if (f.measurable) {
            progress(b, label, "timing");
            measured = measure(b, in, subjects, alone ? 1 : 2);
            if (!measured)
                note_error(b, &f,
                           subjects[0].error != cudaSuccess ? subjects[0].error
                                                            : subjects[1].error);
        }
    } else {
        snprintf(f.why, sizeof f.why, "it could not be set up");
    }
    table_text(t, COLUMN_CHECK, verdict_names[f.verdict]);
    if (measured) {
        struct series s = summarize(subjects[0].times, subjects[0].timed);
        struct series cub = summarize(subjects[1].times, subjects[1].timed);

        table_number(t, COLUMN_TIME, s.median);
        table_number(t, COLUMN_RATE, rate(&subjects[0].launch, s.median));
        table_number(t, COLUMN_PERCENT, 100 * rate(&subjects[0].launch, s.median) * 1e9 / b->peak);
        table_number(t, COLUMN_RATIO, alone ? 1 : cub.median / s.median);
        if (!isnan(f.ulps))
            table_number(t, COLUMN_ERROR, f.ulps);
        table_flag(t, COLUMN_SAME, f.same);
        table_number(t, COLUMN_LEAST, s.least);
        table_number(t, COLUMN_MOST, s.most);
        table_number(t, COLUMN_REPEATS, s.count);
        table_number(t, COLUMN_COMPARED, f.compared);
    } else {
        message_error(EXIT_FAILED, "%s failed: %s", label, f.why);
        table_text(t, COLUMN_WHY, f.why);
    }
    subject_close(&subjects[0]);
    subject_close(&subjects[1]);
}

/* Host memory for elements. */
static unsigned char *host_alloc(size_t size)
{
    unsigned char *memory = aligned_alloc(4096, round_up(size, 4096));

    if (!memory)
        message_error(EXIT_FAILED, "out of memory: %.3g GB for the elements", (double)size / 1e9);
    return memory;
}

/* Copies the first `filled` places over the rest, twice as many each time. */
static bool repeat_places(struct bench *b, const struct inputs *in, uint64_t filled)
{
    while (filled < in->places) {
        uint64_t more = in->places - filled < filled ? in->places - filled : filled;

        if (!check(cudaMemcpyAsync(in->data + filled * in->stride, in->data, more * in->stride,
                                   cudaMemcpyDeviceToDevice, b->stream),
                   "copying elements"))
            return false;
        filled += more;
    }
    return check(cudaStreamSynchronize(b->stream), "copying elements");
}

/* Makes the contents on the host, last one first, so that content 0 stays there. */
static bool fill_inputs(struct bench *b, struct inputs *in, unsigned char *host,
                        unsigned char *host_signs)
{
    size_t size = in->count * element_size(in->type);

    in->host = host;
    in->host_signs = host_signs;
    progress(b, "ladder", "making data");
    fill_signs(host_signs, in->type, in->count);
    if (!refer(&in->signs_reference, in->type, host_signs, in->count) ||
        !check(cudaMemcpyAsync(in->signs, host_signs, size, cudaMemcpyHostToDevice, b->stream),
               "copying elements") ||
        !check(cudaStreamSynchronize(b->stream), "copying elements"))
        return false;
    for (unsigned i = in->contents; i-- > 0;) {
        if (!distribution_fill_parallel(host, b->distribution, in->type, b->seed + i, in->count, 0,
                                        in->count, 0) ||
            !refer(&in->references[i], in->type, host, in->count) ||
            !check(cudaMemcpyAsync(in->data + i * in->stride, host, size, cudaMemcpyHostToDevice,
                                   b->stream),
                   "copying elements") ||
            !check(cudaStreamSynchronize(b->stream), "copying elements"))
            return false;
    }
    return repeat_places(b, in, in->contents);
}

/* Memory for the inputs, on the device. */
static bool allocate_inputs(struct bench *b, struct inputs *in, bool in_place)
{
    size_t available, total;

    in->stride = round_up(in->count * element_size(in->type), ALIGNMENT);
    if (!check(cudaMemGetInfo(&available, &total), "asking the GPU"))
        return false;
    /* The rest is for results. */
    in->places = choose_places(in->stride, b->cache, available / 10 * 9, in_place ? 2 : 1);
    if (in->places == 0) {
        message_error(
            EXIT_FAILED,
            "out of device memory: %.3g GB are free, and an input takes %.3g GB, %s times",
            (double)available / 1e9, (double)in->stride / 1e9, in_place ? "3" : "2");
        return false;
    }
    in->contents = in->places < CONTENTS_MAX ? (unsigned)in->places : CONTENTS_MAX;
    in->data = allocate(b, in->places * in->stride, "the input");
    if (in->data)
        in->signs = allocate(b, in->stride, "the input");
    if (in->signs && in_place)
        in->work = allocate(b, in->places * in->stride, "copies of the input");
    return in->signs && (in->work || !in_place);
}

/* Runs the rungs that the list names. */
static void climb_all(struct bench *b, struct inputs *in, struct table *t, const char *list)
{
    for (size_t i = 0; i < RUNGS && !b->lost; i++) {
        bool rows = rungs[i].order == ORDER_ROWS && (rungs[i].types & TYPE(in->type));

        for (size_t j = 0; j < BLOCK_SIZES && !b->lost; j++) {
            unsigned threads = b->threads ? b->threads : rows ? block_sizes[j] : 256;

            if ((j > 0 && (b->threads || !rows)) || !list_has(list, &rungs[i], threads))
                continue;
            climb(b, in, t, &rungs[i], threads);
            show_row(b, t);
        }
    }
    if (b->lost)
        message_error(EXIT_FAILED, "the device does not answer any more");
}

static bool list_works_in_place(const struct bench *b, const char *list)
{
    for (size_t i = 0; i < RUNGS; i++)
        if (rungs[i].in_place && (rungs[i].types & TYPE(b->type)) && list_has(list, &rungs[i], 0))
            return true;
    return false;
}

static void ladder(struct bench *b, const char *list, bool json, const char *plot)
{
    struct inputs *in = calloc(1, sizeof *in);
    struct table *t = table_new("ladder", columns, COLUMNS);
    size_t size = b->count * element_size(b->type);
    unsigned char *host = host_alloc(size);
    unsigned char *host_signs = host ? host_alloc(size) : NULL;

    table_as_json(t, json);
    if (!in)
        message_error(EXIT_FAILED, "out of memory");
    if (in && t && host_signs) {
        in->type = b->type;
        in->count = b->count;
        if (allocate_inputs(b, in, list_works_in_place(b, list)) &&
            fill_inputs(b, in, host, host_signs)) {
            ladder_facts(t, b, in);
            climb_all(b, in, t, list);
            if (plot)
                (void)table_plot(t, plot, COLUMN_RUNG, COLUMN_RATE, "GB/s",
                                 (double)size / roofline(b, b->count).least / 1e9, "roofline");
            list_published(t);
            table_finish(t);
        }
        release(in->data);
        release(in->work);
        release(in->signs);
    }
    table_free(t);
    free(host);
    free(host_signs);
    free(in);
}

/*
 * The suite: production against CUB, over types, distributions and sizes.
 */

/* A distribution of its own: the fraction bits of DISTRIBUTION_FULL, with no exponent. */
#define SUBNORMAL DISTRIBUTIONS

struct suite_case {
    enum element_type type;
    enum distribution distribution;
};

static const struct suite_case suite_cases[] = {
    {ELEMENT_F32, DISTRIBUTION_UNIFORM}, {ELEMENT_F32, DISTRIBUTION_NORMAL},
    {ELEMENT_F32, DISTRIBUTION_SPARSE},  {ELEMENT_F32, DISTRIBUTION_WIDE},
    {ELEMENT_F32, DISTRIBUTION_FULL},    {ELEMENT_F32, SUBNORMAL},
    {ELEMENT_F32, DISTRIBUTION_CANCEL},  {ELEMENT_F64, DISTRIBUTION_NORMAL},
    {ELEMENT_F64, DISTRIBUTION_WIDE},    {ELEMENT_F64, DISTRIBUTION_FULL},
    {ELEMENT_F16, DISTRIBUTION_NORMAL},  {ELEMENT_F16, DISTRIBUTION_FULL},
    {ELEMENT_BF16, DISTRIBUTION_NORMAL}, {ELEMENT_BF16, DISTRIBUTION_FULL},
};

#define SUITE_CASES (sizeof suite_cases / sizeof *suite_cases)

/* Numbers of elements, as powers of 2, rising; 0 ends them. */
#define SUITE_SIZES 4
static const unsigned char suite_sizes[ELEMENT_TYPES][SUITE_SIZES] = {
    [ELEMENT_F32] = {25, 28, 30},
    [ELEMENT_F64] = {27, 29},
    [ELEMENT_F16] = {28, 30},
    [ELEMENT_BF16] = {28, 30},
};

/* Sizes up to `most` elements; `most` itself where all are above it. Returns how many. */
static unsigned sizes_for(enum element_type type, uint64_t most, uint64_t sizes[SUITE_SIZES])
{
    unsigned n = 0;

    for (unsigned i = 0; i < SUITE_SIZES && suite_sizes[type][i]; i++)
        if ((uint64_t)1 << suite_sizes[type][i] <= most)
            sizes[n++] = (uint64_t)1 << suite_sizes[type][i];
    if (n == 0)
        sizes[n++] = most;
    return n;
}

enum suite_column {
    SUITE_DISTRIBUTION,
    SUITE_ELEMENTS,
    SUITE_CUB,
    SUITE_PRODUCTION,
    SUITE_RATIO,
    SUITE_WHERE,
    SUITE_CUB_F32,
    SUITE_RATIO_F32,
    SUITE_REPRODUCIBLE,
    SUITE_RATIO_REPRODUCIBLE,
    SUITE_PERCENT,
    SUITE_CHECK,
    SUITE_TYPE,
    SUITE_CUB_TIME,
    SUITE_TIME,
    SUITE_LEAST,
    SUITE_MOST,
    SUITE_REPEATS,
    SUITE_COLUMNS
};

static const struct table_column suite_columns[SUITE_COLUMNS] = {
    [SUITE_DISTRIBUTION] = {"dist", "distribution", TABLE_TEXT, 0},
    [SUITE_ELEMENTS] = {"elements", "elements", TABLE_NUMBER, 0},
    [SUITE_CUB] = {"cub_gigabytes_per_second", "cub GB/s", TABLE_NUMBER, 1},
    [SUITE_PRODUCTION] = {"gigabytes_per_second", "production", TABLE_NUMBER, 1},
    [SUITE_RATIO] = {"ratio_to_cub", "x cub", TABLE_NUMBER, 3},
    [SUITE_WHERE] = {"where_ratio_to_cub", "+where", TABLE_NUMBER, 3},
    [SUITE_CUB_F32] = {"cub_f32_gigabytes_per_second", "cub f32", TABLE_NUMBER, 1},
    [SUITE_RATIO_F32] = {"ratio_to_cub_f32", "x cub f32", TABLE_NUMBER, 3},
    [SUITE_REPRODUCIBLE] = {"cub_reproducible_gigabytes_per_second", "cub-repr.", TABLE_NUMBER, 1},
    [SUITE_RATIO_REPRODUCIBLE] = {"ratio_to_cub_reproducible", "x repr.", TABLE_NUMBER, 3},
    [SUITE_PERCENT] = {"percent_of_peak", "% of peak", TABLE_NUMBER, 1},
    [SUITE_CHECK] = {"check", "check", TABLE_TEXT, 0},
    [SUITE_TYPE] = {"dtype", NULL, TABLE_TEXT, 0},
    [SUITE_CUB_TIME] = {"cub_milliseconds", NULL, TABLE_NUMBER, 4},
    [SUITE_TIME] = {"milliseconds", NULL, TABLE_NUMBER, 4},
    [SUITE_LEAST] = {"least_milliseconds", NULL, TABLE_NUMBER, 4},
    [SUITE_MOST] = {"most_milliseconds", NULL, TABLE_NUMBER, 4},
    [SUITE_REPEATS] = {"repeats", NULL, TABLE_NUMBER, 0},
};

static void clear_exponents(void *argument, unsigned worker, uint64_t begin, uint64_t end)
{
    uint32_t *words = argument;

    (void)worker;
    for (uint64_t i = begin; i < end; i++)
        words[i] &= 0x807fffff;
}

static const char *suite_distribution_name(enum distribution d)
{
    return d == SUBNORMAL ? "subnormal" : distribution_name(d);
}

/* The elements of a case, on the host. */
static bool fill_suite(struct bench *b, const struct suite_case *c, void *host, uint64_t count)
{
    bool subnormal = c->distribution == SUBNORMAL;

    if (!distribution_fill_parallel(host, subnormal ? DISTRIBUTION_FULL : c->distribution, c->type,
                                    b->seed, count, 0, count, 0))
        return false;
    if (subnormal)
        in_parallel(clear_exponents, host, count, PIECE);
    return true;
}

/* Who takes part; those after the first two may be missing. */
enum entrant { ENTRANT_CUB, ENTRANT_PRODUCTION, ENTRANT_WHERE, ENTRANT_OTHER, ENTRANTS };

/* Fills the row of a case from the medians. The other entrant is CUB's reproducible sum, or, for
   types of 16 bits, its sum of the same bytes as f32. */
static void suite_row(const struct bench *b, struct table *t, struct subject *entrants,
                      unsigned count)
{
    struct series s[ENTRANTS] = {{0}};
    double rates[ENTRANTS];

    for (unsigned i = 0; i < count; i++) {
        s[i] = summarize(entrants[i].times, entrants[i].timed);
        rates[i] = rate(&entrants[i].launch, s[i].median);
    }
    table_number(t, SUITE_CUB, rates[ENTRANT_CUB]);
    table_number(t, SUITE_PRODUCTION, rates[ENTRANT_PRODUCTION]);
    table_number(t, SUITE_RATIO, rates[ENTRANT_PRODUCTION] / rates[ENTRANT_CUB]);
    table_number(t, SUITE_WHERE, rates[ENTRANT_WHERE] / rates[ENTRANT_CUB]);
    table_number(t, SUITE_PERCENT, 100 * rates[ENTRANT_PRODUCTION] * 1e9 / b->peak);
    table_number(t, SUITE_CUB_TIME, s[ENTRANT_CUB].median);
    table_number(t, SUITE_TIME, s[ENTRANT_PRODUCTION].median);
    table_number(t, SUITE_LEAST, s[ENTRANT_PRODUCTION].least);
    table_number(t, SUITE_MOST, s[ENTRANT_PRODUCTION].most);
    table_number(t, SUITE_REPEATS, s[ENTRANT_PRODUCTION].count);
    if (count > ENTRANT_OTHER) {
        bool reproducible = entrants[ENTRANT_OTHER].rung->order == ORDER_BINNED;

        table_number(t, reproducible ? SUITE_REPRODUCIBLE : SUITE_CUB_F32, rates[ENTRANT_OTHER]);
        table_number(t, reproducible ? SUITE_RATIO_REPRODUCIBLE : SUITE_RATIO_F32,
                     rates[ENTRANT_PRODUCTION] / rates[ENTRANT_OTHER]);
    }
}

/* Verifies an entrant; its own fault, where it is a library's, is a warning alone. */
static bool admit(struct bench *b, const struct inputs *in, struct subject *s, const char *name)
{
    bool ours = s->rung->order == ORDER_EXACT;
    struct findings f;

    progress(b, name, "verifying");
    f = verify(b, in, s);
    if (!f.measurable && ours)
        message_error(EXIT_FAILED, "%s failed on %s: %s", s->rung->name, name, f.why);
    else if (!f.measurable)
        message_warning("%s is left out on %s: %s", s->rung->name, name, f.why);
    return f.measurable;
}

/* Opens and verifies who takes part in a case; how many they are: 0 when CUB or production cannot.
   All of them are to be closed. */
static unsigned suite_entrants(struct bench *b, const struct inputs *in, struct subject *entrants,
                               const char *name)
{
    static const char *const names[] = {"cub", "production", "production-where"};
    const struct rung *reproducible = rung_find("cub-reproducible");
    bool half = element_size(in->type) == 2;

    for (unsigned i = 0; i < ENTRANT_OTHER; i++)
        if (!subject_open(b, &entrants[i], rung_find(names[i]), in->type, in->count, 256) ||
            !admit(b, in, &entrants[i], name))
            return 0;
    if (half && in->count % 2 == 0)
        return subject_open(b, &entrants[ENTRANT_OTHER], rung_find("cub"), ELEMENT_F32,
                            in->count / 2, 256)
                   ? ENTRANTS
                   : 0;
    if (half || unavailable(reproducible, in->type, in->count))
        return ENTRANT_OTHER;
    if (!subject_open(b, &entrants[ENTRANT_OTHER], reproducible, in->type, in->count, 256))
        return 0;
    return admit(b, in, &entrants[ENTRANT_OTHER], name) ? ENTRANTS : ENTRANT_OTHER;
}

/* One case at one size: the first `in->count` elements are verified, and all of the memory that
   they are the beginning of is rotated through. */
static void suite_size(struct bench *b, struct table *t, struct inputs *in, const char *group,
                       const struct suite_case *c)
{
    struct subject entrants[ENTRANTS] = {{0}};
    unsigned count;
    char name[64];

    snprintf(name, sizeof name, "%s, %s, %" PRIu64 " elements", group,
             suite_distribution_name(c->distribution), in->count);
    table_row(t, group);
    table_text(t, SUITE_TYPE, element_name(c->type));
    table_text(t, SUITE_DISTRIBUTION, suite_distribution_name(c->distribution));
    table_number(t, SUITE_ELEMENTS, (double)in->count);
    count = suite_entrants(b, in, entrants, name);
    table_text(t, SUITE_CHECK, count ? "exact" : "FAILED");
    if (count) {
        progress(b, name, "timing");
        if (measure(b, in, entrants, count)) {
            suite_row(b, t, entrants, count);
        } else {
            for (unsigned i = 0; i < count; i++)
                check(entrants[i].error, entrants[i].rung->name);
            table_text(t, SUITE_CHECK, "FAILED");
        }
    }
    show_row(b, t);
    for (unsigned i = 0; i < ENTRANTS; i++)
        subject_close(&entrants[i]);
}

/* A case at all its sizes. The elements are made and copied once. */
static bool suite_case(struct bench *b, struct table *t, const struct suite_case *c,
                       unsigned char *host, unsigned char *data, uint64_t most)
{
    struct inputs *in = calloc(1, sizeof *in);
    const size_t size = element_size(c->type);
    uint64_t sizes[SUITE_SIZES], all;
    unsigned count = sizes_for(c->type, most, sizes);
    bool good = in != NULL;

    if (!in) {
        message_error(EXIT_FAILED, "out of memory");
        return false;
    }
    all = sizes[count - 1];
    progress(b, element_name(c->type), "making data");
    good = fill_suite(b, c, host, all) &&
           check(cudaMemcpyAsync(data, host, all * size, cudaMemcpyHostToDevice, b->stream),
                 "copying elements") &&
           check(cudaStreamSynchronize(b->stream), "copying elements");
    for (unsigned i = 0; i < count && good && !b->lost; i++) {
        *in = (struct inputs){.type = c->type,
                              .count = sizes[i],
                              .stride = sizes[i] * size,
                              .places = all / sizes[i],
                              .contents = 1,
                              .data = data,
                              .host = host};
        good = refer(&in->references[0], c->type, host, sizes[i]);
        if (good)
            suite_size(b, t, in, element_name(c->type), c);
    }
    free(in);
    return good && !b->lost;
}

/* Whether the options leave a case in. */
static bool suite_has(const struct suite_case *c, enum element_type type, enum distribution d)
{
    return (type == ELEMENT_TYPES || c->type == type) &&
           (d == DISTRIBUTIONS || c->distribution == d);
}

/* `type` and `d` choose cases, unless they are ELEMENT_TYPES and DISTRIBUTIONS; `most` elements at
   a time, of any type. */
static void suite(struct bench *b, enum element_type type, enum distribution d, uint64_t most,
                  bool json)
{
    struct table *t = table_new("suite", suite_columns, SUITE_COLUMNS);
    unsigned char *host = NULL, *data = NULL;
    size_t size = 0;
    bool good, pinned;

    for (size_t i = 0; i < SUITE_CASES; i++) {
        uint64_t sizes[SUITE_SIZES];
        unsigned n = sizes_for(suite_cases[i].type, most, sizes);
        size_t needed = sizes[n - 1] * element_size(suite_cases[i].type);

        if (suite_has(&suite_cases[i], type, d))
            size = needed > size ? needed : size;
    }
    if (size == 0) {
        message_error(EXIT_USAGE, "the suite has no such type and distribution");
        table_free(t);
        return;
    }
    table_as_json(t, json);
    device_facts(t, b);
    table_fact_number(t, "seed", "seed", (double)b->seed, 0, "");
    host = host_alloc(size);
    data = t && host ? allocate(b, size, "the input") : NULL;
    good = data != NULL;
    /* Pinned, it is copied six times as fast; if it cannot be, never mind. */
    pinned = good && cudaHostRegister(host, size, cudaHostRegisterDefault) == cudaSuccess;
    if (!pinned)
        (void)cudaGetLastError();
    for (size_t i = 0; i < SUITE_CASES && good; i++)
        if (suite_has(&suite_cases[i], type, d))
            good = suite_case(b, t, &suite_cases[i], host, data, most);
    if (b->lost)
        message_error(EXIT_FAILED, "the device does not answer any more");
    if (data)
        table_finish(t);
    if (pinned)
        (void)cudaHostUnregister(host);
    release(data);
    free(host);
    table_free(t);
}

/*
 * The command line.
 */

/* A number of elements: a count, or a power of 2 written as 2^25. */
static bool parse_elements(const char *text, uint64_t *count)
{
    uint64_t power;

    if (strncmp(text, "2^", 2) != 0)
        return number_parse_count(text, count) && *count > 0 && *count <= (uint64_t)1 << 40;
    if (!number_parse_count(text + 2, &power) || power > 40)
        return false;
    *count = (uint64_t)1 << power;
    return true;
}

/* Where the lessons begin, and where lines end, in --help. */
#define HELP_COLUMN 24
#define HELP_WIDTH 79

/* Prints `text` from HELP_COLUMN on, where the line is now, in lines broken at spaces. */
static void print_wrapped(const char *text)
{
    while (strlen(text) > HELP_WIDTH - HELP_COLUMN) {
        int length = HELP_WIDTH - HELP_COLUMN;

        while (text[length] != ' ')
            length--;
        printf("%.*s\n%*s", length, text, HELP_COLUMN, "");
        text += length + 1;
    }
    puts(text);
}

static void print_rungs(void)
{
    puts("\nRungs:");
    for (size_t i = 0; i < RUNGS; i++) {
        printf("  %-*s", HELP_COLUMN - 2, rungs[i].name);
        print_wrapped(rungs[i].lesson);
    }
}

void bench_ladder(int argc, char **argv)
{
    struct bench b = {.type = ELEMENT_TYPES, .distribution = DISTRIBUTIONS};
    uint64_t threads = 0, coarsen = 8, repeat = REPEAT_DEFAULT, device = 0, seed = 1;
    const char *elements = NULL, *list = NULL, *plot = NULL;
    bool json = false, whole_suite = false, known = false;
    const struct argument table[] = {
        {"n", 'n', ARGUMENT_TEXT, &elements, 0, 0, "N",
         "elements, such as 1000000 or 2^28; default 2^25"},
        {"dtype", 't', ARGUMENT_DTYPE, &b.type, 0, 0, "T", "f32 (default), f64, f16 or bf16"},
        {"dist", 0, ARGUMENT_DISTRIBUTION, &b.distribution, 0, 0, "D",
         "uniform (default), normal, wide, full, integers,\nsparse or cancel"},
        {"seed", 0, ARGUMENT_COUNT, &seed, 0, 0, "S", "of the data; default 1"},
        {"rung", 0, ARGUMENT_TEXT, &list, 0, 0, "LIST", "only these rungs, separated by commas"},
        {"threads", 0, ARGUMENT_COUNT, &threads, RUNG_THREADS_MIN, RUNG_THREADS_MAX, "N",
         "threads of a block: 128, 256 (default), 512 or 1024;\nbatched rungs run with all four "
         "unless it is given"},
        {"coarsen", 0, ARGUMENT_COUNT, &coarsen, 1, 4096, "N",
         "pairs of elements a thread of 'coarsened' adds\nfirst; default 8"},
        {"repeat", 0, ARGUMENT_COUNT, &repeat, 1, REPEAT_MAX, "R",
         "timings of each rung, within a second; default 20"},
        {"device", 'D', ARGUMENT_COUNT, &device, 0, 1023, "N", "which GPU; default 0"},
        {"suite", 0, ARGUMENT_SET, &whole_suite, 0, 0, NULL,
         "compare production with CUB over types, distributions\nand sizes instead; --n, --dtype "
         "and --dist narrow it"},
        {"json", 0, ARGUMENT_SET, &json, 0, 0, NULL, "print a JSON object"},
        {"plot", 0, ARGUMENT_TEXT, &plot, 0, 0, "FILE",
         "draw the ladder into FILE.svg or FILE.png"},
    };
    const struct arguments arguments = {
        .program = "gpureduce-bench ladder",
        .usage = "[OPTION]...",
        .summary = "Run every rung of reductions on the GPU, from one atomic an element to the\n"
                   "production kernel; each is verified against the exact sum, then timed.",
        .table = table,
        .count = sizeof table / sizeof *table,
        .print_details = print_rungs,
    };
    enum element_type type;
    enum distribution distribution;
    const char *stranger;
    size_t length;
    int operand;

    if (arguments_parse(&arguments, argc, argv, &operand) != ARGUMENTS_RUN)
        return;
    if (elements && !parse_elements(elements, &b.count)) {
        arguments_wrong(&arguments, "bad number of elements %s", elements);
        return;
    }
    stranger = list ? list_stranger(list, &length) : NULL;
    if (stranger) {
        char word[LABEL_MAX];

        snprintf(word, sizeof word, "%.*s", length < LABEL_MAX ? (int)length : LABEL_MAX, stranger);
        arguments_wrong(&arguments, "unknown rung %s", word);
        return;
    }
    for (size_t i = 0; i < BLOCK_SIZES; i++)
        known = known || threads == block_sizes[i];
    if (threads && !known) {
        message_error(EXIT_USAGE, "--threads is not 128, 256, 512 or 1024 (try '%s --help')",
                      arguments.program);
        return;
    }
    if (whole_suite && (plot || list)) {
        message_error(EXIT_USAGE, "--suite goes with neither --plot nor --rung (try '%s --help')",
                      arguments.program);
        return;
    }
    if (plot && !table_plot_possible(plot))
        return;

    type = b.type;
    distribution = b.distribution;
    b.type = type == ELEMENT_TYPES ? ELEMENT_F32 : type;
    b.distribution = distribution == DISTRIBUTIONS ? DISTRIBUTION_UNIFORM : distribution;
    b.threads = (unsigned)threads;
    b.coarsen = (unsigned)coarsen;
    b.repeat = (unsigned)repeat;
    b.seed = seed;
    b.progress = isatty(STDERR_FILENO);
    if (bench_open(&b, device)) {
        if (whole_suite) {
            suite(&b, type, distribution, elements ? b.count : (uint64_t)1 << 40, json);
        } else {
            b.count = elements ? b.count : (uint64_t)1 << 25;
            ladder(&b, list, json, plot);
        }
    }
    if (b.progress)
        message_transient(NULL);
    bench_close(&b);
}
