#include "config.h"

#include "bench/limits/limits_cpu.h"

#include "bench/common/reducers.h"
#include "bench/common/team.h"
#include "bench/limits/limits_memory.h"
#include "bench/limits/limits_read.h"
#include "sys/align.h"
#include "sys/clock.h"

/* Bytes of memory that a thread takes at a time, as in gpureduce. */
#define MEMORY_PIECE (2 * MIB)

/* Data in a cache are read over and over, so many bytes in all or, of little data, so many times
   the size of the data in memory. */
#define CACHED_BYTES (256 * MIB)
#define CACHED_ROUNDS 16

/* The fastest way to read is looked for with so many bytes a thread at first. */
#define TRIAL_BYTES (16 * MIB)

/* Memory is divided at pages. */
#define ALIGNMENT 4096

struct memory_job {
    const unsigned char *data;
    uint64_t bytes;  /* the size of `data` */
    uint64_t window; /* where the next trial begins */
    struct team_range range;
    unsigned rounds; /* of one thread: how often it reads the range */
    unsigned threads;
    limits_read_function *read;
    struct cpu_reducer *reducers; /* NULL to only read */
};

/* Reads or reduces a piece. */
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

/* A sample of one thread, which takes the same data over and over. */
static double cache_sample(void *argument)
{
    struct memory_job *job = argument;
    uint64_t begun = clock_now();

    for (unsigned i = 0; i < job->rounds; i++)
        take_memory(job, 0, job->range.begin, (size_t)(job->range.end - job->range.begin));
    return (double)(clock_now() - begun) / (double)CLOCK_SECOND;
}

/* Trials of ways to read. Those of memory move through the data, which no cache holds. */
static double memory_trial(void *argument, limits_read_function *read, uint64_t bytes)
{
    struct memory_job *job = argument;
    double seconds;

    bytes = bytes < job->bytes ? bytes : job->bytes;
    if (job->window + bytes > job->bytes)
        job->window = 0;
    job->read = read;
    team_range_set(&job->range, job->window, job->window + bytes,
                   team_piece(bytes, job->threads, MEMORY_PIECE, ALIGNMENT));
    job->window += bytes;
    seconds = memory_sample(job);
    return seconds < 0 ? -1 : limits_rate(bytes, seconds);
}

static double cache_trial(void *argument, limits_read_function *read, uint64_t bytes)
{
    struct memory_job *job = argument;
    uint64_t size = job->range.end - job->range.begin;

    job->read = read;
    job->rounds = (unsigned)(bytes / size + 1);
    return limits_rate(size * job->rounds, cache_sample(job));
}

/* Half the level-2 cache of a core, so that other data fit, too. 256 KiB are assumed if the system
   does not tell its size. */
static size_t half_of_l2(void)
{
    size_t size = (size_t)limits_l2_bytes();

    return (size > 0 ? size : 256 * KIB) / 2 / ALIGNMENT * ALIGNMENT;
}

/* Chooses the fastest way to read, where the job is not to reduce, and writes it behind the
   description of the measurement. False on failure. */
static bool choose_way(struct limits *l, struct memory_job *job, struct limit *limit,
                       limits_read_trial *trial, uint64_t bytes, char what[LIMITS_WHAT_MAX])
{
    if (job->reducers)
        return true;
    job->read = limits_choose_way(l, trial, job, bytes, limit->what, what);
    limit->what = what;
    return job->read != NULL;
}

/* Measures memory by 1, 2, 4 ... threads. */
static bool measure_memory(struct limits *l, struct memory_job *job, const struct limit *memory)
{
    bool good = true;

    for (unsigned n = 1; good && n > 0; n = team_next(n, l->threads)) {
        struct limit limit = *memory;
        char what[LIMITS_WHAT_MAX];

        limit.bytes = l->bytes;
        job->threads = limit.threads = n;
        limit.piece = team_piece(l->bytes, n, MEMORY_PIECE, ALIGNMENT);
        good = choose_way(l, job, &limit, memory_trial, TRIAL_BYTES * (uint64_t)n, what);
        team_range_set(&job->range, 0, l->bytes, limit.piece);
        good = good && limits_measure(l, &limit, memory_sample, job);
    }
    return good;
}

/* Measures the level-2 cache. */
static bool measure_cache(struct limits *l, struct memory_job *job, struct limit limit)
{
    size_t size = half_of_l2();
    uint64_t total = CACHED_ROUNDS * l->bytes;
    char what[LIMITS_WHAT_MAX];

    size = size < l->bytes ? size : (size_t)l->bytes;
    total = total < CACHED_BYTES ? total : CACHED_BYTES;
    team_range_set(&job->range, 0, size, size);
    if (!choose_way(l, job, &limit, cache_trial, l->bytes < TRIAL_BYTES ? l->bytes : TRIAL_BYTES,
                    what))
        return false;
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
    static const struct limit cache = {
        .group = "memory", .name = "l2-read", .what = "plain reading of the level-2 cache"};
    static const struct limit kernel_memory = {.group = "exact f32 kernel",
                                               .name = "kernel-memory",
                                               .what = "sum, min, max, counts; memory"};
    static const struct limit kernel_cache = {.group = "exact f32 kernel",
                                              .name = "kernel-l2",
                                              .what = "sum, min, max, counts; level-2 cache"};
    /* These results are those that gpureduce gives without options. */
    struct cpu_reducer *reducers =
        reducers_new(l->kernels, ELEMENT_F32, PARTIAL_SUM | PARTIAL_EXTREMES, l->threads);
    struct memory_job job = {.data = l->data, .bytes = l->bytes};
    bool good;

    if (!reducers)
        return;
    good = measure_memory(l, &job, &memory);
    good = good && measure_cache(l, &job, cache);
    job.reducers = reducers;
    /* The data are little-endian. */
    if (good && !element_host_is_big() && measure_cache(l, &job, kernel_cache))
        measure_memory(l, &job, &kernel_memory);
    reducers_free(reducers, l->threads);
}
