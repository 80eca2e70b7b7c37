/*
 * gpureduce-bench limits: the CPU, its memory and caches, and decoding.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/reducers.h"
#include "bench/common/team.h"
#include "bench/limits/limits.h"
#include "engine/cpu/kernel.h"
#include "sys/clock.h"
#include "sys/message.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* What a thread takes of memory at a time, as in the tool itself. */
#define MEMORY_PIECE (2 * MIB)

/* What is read of data in a cache, over and over; less where there are less data. */
#define CACHED_BYTES (256 * MIB)
#define CACHED_ROUNDS 16

/* Frames to decode: as large as those of pzstd, roughly, and a few different ones. */
#define FRAME_BYTES (8 * MIB)
#define FRAMES 4

/* How often each thread decodes each of them in a sample. */
#define FRAME_ROUNDS 2

/* Memory is divided at pages. */
#define ALIGNMENT 4096

/*
 * Reading memory: all bytes go into a register, nothing else is done to them.
 */

/* Where the folded words of all reads go, so that none can be left out. */
static atomic_uint_fast64_t folded;

/* How far ahead memory is asked for, as in the kernels. Of data in a cache that only costs: on one
   core of a Sapphire Rapids server 203 GB/s become 187. Rounds of two cache lines are what memory
   likes best there: 18.1 GB/s, and 15.9 without asking; rounds of four give 15.2. */
#define AHEAD 2048
#define ROUND 128

/* One function for each width of a vector, and for memory and caches. `fold` takes a round.
   NOLINTBEGIN(bugprone-macro-parentheses): attributes and statements have none. */
#define DEFINE_READ(name, target, bytes, ahead, fold)                                            \
    typedef uint64_t name##_vector                                                               \
        __attribute__((vector_size(bytes), aligned(sizeof(uint64_t)), may_alias));               \
    target static void name(const unsigned char *data, size_t size)                              \
    {                                                                                            \
        name##_vector a = {0}, b = {0}, c = {0}, d = {0};                                        \
        uint64_t all = 0;                                                                        \
                                                                                                 \
        for (size_t i = 0; i < size / ROUND; i++, data += ROUND) {                               \
            const name##_vector *v = (const name##_vector *)data;                                \
                                                                                                 \
            if (ahead) {                                                                         \
                __builtin_prefetch((const void *)((uintptr_t)data + (ahead)), 0, 3);             \
                __builtin_prefetch((const void *)((uintptr_t)data + (ahead) + ROUND / 2), 0, 3); \
            }                                                                                    \
            fold;                                                                                \
        }                                                                                        \
        a ^= b ^ c ^ d;                                                                          \
        for (size_t i = 0; i < (bytes) / sizeof(uint64_t); i++)                                  \
            all ^= a[i];                                                                         \
        atomic_fetch_xor_explicit(&folded, all, memory_order_relaxed);                           \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

#define FOLD_16 a ^= v[0] ^ v[4], b ^= v[1] ^ v[5], c ^= v[2] ^ v[6], d ^= v[3] ^ v[7]
#define FOLD_32 a ^= v[0], b ^= v[1], c ^= v[2], d ^= v[3]
#define FOLD_64 a ^= v[0], b ^= v[1]

DEFINE_READ(read_portable, , 16, AHEAD, FOLD_16)
DEFINE_READ(read_cached_portable, , 16, 0, FOLD_16)
#if defined __x86_64__
#    define AVX2 __attribute__((target("avx2")))
#    define AVX512 __attribute__((target("avx512f")))
DEFINE_READ(read_avx2, AVX2, 32, AHEAD, FOLD_32)
DEFINE_READ(read_cached_avx2, AVX2, 32, 0, FOLD_32)
DEFINE_READ(read_avx512, AVX512, 64, AHEAD, FOLD_64)
DEFINE_READ(read_cached_avx512, AVX512, 64, 0, FOLD_64)
#endif

limits_read_function *limits_choose_read(const struct cpu_kernels *kernels, bool cached)
{
#if defined __x86_64__
    if (strcmp(kernels->name, "avx512") == 0)
        return cached ? read_cached_avx512 : read_avx512;
    if (strcmp(kernels->name, "avx2") == 0)
        return cached ? read_cached_avx2 : read_avx2;
#endif
    (void)kernels;
    return cached ? read_cached_portable : read_portable;
}

/*
 * Memory, and the exact kernel.
 */
struct memory_job {
    const unsigned char *data;
    struct team_range range;
    unsigned rounds; /* times to read the range, by one thread */
    unsigned threads;
    limits_read_function *read;
    struct cpu_reducer *reducers; /* NULL to only read */
};

static void take_memory(struct memory_job *job, unsigned number, uint64_t offset, size_t size)
{
    if (job->reducers) {
        struct cpu_reducer *r = &job->reducers[number];
        r->kernel(r, job->data + offset, size / sizeof(float), offset / sizeof(float));
    } else {
        job->read(job->data + offset, size);
    }
}

static bool memory_member(void *argument, unsigned number)
{
    struct memory_job *job = argument;
    uint64_t offset;
    size_t size;

    while (team_claim(&job->range, &offset, &size))
        take_memory(job, number, offset, size);
    return true;
}

static double memory_sample(void *argument)
{
    struct memory_job *job = argument;

    team_range_rewind(&job->range);
    return team_run(job->threads, memory_member, job);
}

/* One thread, the same data over and over. */
static double cache_sample(void *argument)
{
    struct memory_job *job = argument;
    uint64_t begun = clock_now();

    for (unsigned i = 0; i < job->rounds; i++)
        take_memory(job, 0, job->range.begin, (size_t)(job->range.end - job->range.begin));
    return (double)(clock_now() - begun) / (double)CLOCK_SECOND;
}

/* Half the level-2 cache of a core, so that other things fit, too; of 256 KiB where the system does
   not tell how large it is. */
static size_t half_of_l2(void)
{
    long size = sysconf(_SC_LEVEL2_CACHE_SIZE);

    return (size > 0 ? (size_t)size : 256 * KIB) / 2 / ALIGNMENT * ALIGNMENT;
}

/* Measures memory by 1, 2, 4 ... threads. */
static bool measure_memory(struct limits *l, struct memory_job *job, struct limit limit)
{
    bool good = true;

    limit.bytes = l->bytes;
    for (unsigned n = 1; good && n > 0; n = team_next(n, l->threads)) {
        job->threads = limit.threads = n;
        limit.piece = team_piece(l->bytes, n, MEMORY_PIECE, ALIGNMENT);
        team_range_set(&job->range, 0, l->bytes, limit.piece);
        good = limits_measure(l, &limit, memory_sample, job);
    }
    return good;
}

static bool measure_cache(struct limits *l, struct memory_job *job, struct limit limit)
{
    size_t size = half_of_l2();
    uint64_t total = CACHED_ROUNDS * l->bytes;

    size = size < l->bytes ? size : (size_t)l->bytes;
    total = total < CACHED_BYTES ? total : CACHED_BYTES;
    team_range_set(&job->range, 0, size, size);
    job->rounds = (unsigned)(total / size + 1);
    limit.threads = 1;
    limit.piece = size;
    limit.bytes = (uint64_t)size * job->rounds;
    return limits_measure(l, &limit, cache_sample, job);
}

void limits_measure_cpu(struct limits *l)
{
    static const struct limit memory = {
        .group = "memory", .name = "memory-read", .what = "plain reading"};
    static const struct limit cache = {.group = "memory",
                                       .name = "l2-read",
                                       .what = "plain reading of what is in the level-2 cache"};
    static const struct limit kernel_memory = {.group = "exact f32 kernel",
                                               .name = "kernel-memory",
                                               .what = "sum, min, max, counts; memory"};
    static const struct limit kernel_cache = {.group = "exact f32 kernel",
                                              .name = "kernel-l2",
                                              .what = "sum, min, max, counts; level-2 cache"};
    /* They do what gpureduce does without options. */
    struct cpu_reducer *reducers =
        reducers_new(l->kernels, ELEMENT_F32, PARTIAL_SUM | PARTIAL_EXTREMES, l->threads);
    struct memory_job job = {.data = l->data, .read = limits_choose_read(l->kernels, false)};
    bool good;

    if (!reducers)
        return;
    good = measure_memory(l, &job, memory);
    job.read = limits_choose_read(l->kernels, true);
    good = good && measure_cache(l, &job, cache);
    job.reducers = reducers;
    /* The data are little-endian. */
    if (good && !element_host_is_big() && measure_cache(l, &job, kernel_cache))
        measure_memory(l, &job, kernel_memory);
    reducers_free(reducers, l->threads);
}

/*
 * Decoding.
 */
struct zstd_job {
    unsigned char *frames[FRAMES];
    size_t frame_sizes[FRAMES];
    size_t size; /* of a frame's content */
    struct zstd_lane {
        struct limits_decoder *decoder;
        unsigned char *buffer;
    } * lanes;
    unsigned threads;
};

static bool zstd_member(void *argument, unsigned number)
{
    struct zstd_job *job = argument;
    const struct zstd_lane *lane = &job->lanes[number];

    for (unsigned i = 0; i < FRAME_ROUNDS * FRAMES; i++) {
        /* Each thread begins with another frame. */
        unsigned j = (i + number) % FRAMES;

        if (!limits_decode(lane->decoder, lane->buffer, job->size, job->frames[j],
                           job->frame_sizes[j])) {
            message_error(EXIT_FAILED, "zstd does not decode what it compressed");
            return false;
        }
    }
    return true;
}

static double zstd_sample(void *argument)
{
    struct zstd_job *job = argument;

    return team_run(job->threads, zstd_member, job);
}

/* Frames, decoders and buffers. False on failure, which has been said. */
static bool make_zstd(const struct limits *l, struct zstd_job *job, unsigned threads)
{
    job->size = (size_t)(l->bytes / FRAMES < FRAME_BYTES ? l->bytes / FRAMES : FRAME_BYTES);
    for (unsigned i = 0; i < FRAMES; i++) {
        job->frames[i] =
            limits_zstd_compress(l->data + i * job->size, job->size, &job->frame_sizes[i]);
        if (!job->frames[i])
            return false;
    }
    job->lanes = calloc(threads, sizeof *job->lanes);
    for (unsigned i = 0; job->lanes && i < threads; i++) {
        job->lanes[i].decoder = limits_decoder_open();
        if (!job->lanes[i].decoder)
            return false;
        job->lanes[i].buffer = malloc(job->size);
        if (!job->lanes[i].buffer)
            break;
        memset(job->lanes[i].buffer, 1, job->size); /* its pages are there from now on */
    }
    if (job->lanes && job->lanes[threads - 1].buffer)
        return true;
    message_error(EXIT_FAILED, "out of memory");
    return false;
}

void limits_measure_zstd(struct limits *l)
{
    unsigned threads = l->threads;
    struct zstd_job job = {.size = 0};
    bool good;

    limits_show(l, "compressing frames to decode");
    good = make_zstd(l, &job, threads);
    limits_show(l, NULL);
    for (unsigned n = 1; good && n > 0; n = n < threads ? threads : 0) {
        job.threads = n;
        good =
            limits_measure(l,
                           &(struct limit){.group = "zstd",
                                           .name = "zstd-decode",
                                           .what = "decoding frames of normal f32",
                                           .threads = n,
                                           .piece = job.size,
                                           .bytes = (uint64_t)job.size * FRAMES * FRAME_ROUNDS * n},
                           zstd_sample, &job);
    }
    for (unsigned i = 0; job.lanes && i < threads; i++) {
        if (job.lanes[i].decoder)
            limits_decoder_close(job.lanes[i].decoder);
        free(job.lanes[i].buffer);
    }
    free(job.lanes);
    for (unsigned i = 0; i < FRAMES; i++)
        free(job.frames[i]);
}
