/*
 * gpureduce-bench limits: the command.
 */
#include "config.h"

#include "bench/limits/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/common/arguments.h"
#include "bench/common/distribution.h"
#include "bench/common/reducers.h"
#include "bench/common/team.h"
#include "bench/limits/limits_device.h"
#include "bench/limits/limits_file.h"
#include "bench/limits/limits_measure.h"
#include "bench/limits/limits_memory.h"
#include "bench/limits/limits_read.h"
#include "bench/limits/limits_zstd.h"
#include "cli/arguments.h"
#include "cli/gnuplot.h"
#include "cli/message.h"
#include "cli/output.h"
#include "profile/machine_limits.h"
#include "sys/align.h"
#include "sys/clock.h"
#include "sys/cores.h"
#include "sys/escape.h"

/* How much is read by default: this, or more if caches are large; but no more than a quarter of the
   memory that is available, because the data are there twice: in memory and in a file's pages. */
#define BYTES_DEFAULT (4 * (uint64_t)GIB)
#define BYTES_SHARE 4

/* The most readers of a file that is not cached. They wait more than they work, so more of them
   than there are cores may help. */
#define READERS_MAX 8

#define REPEAT_DEFAULT 5
#define THREADS_MAX 1024

/* The data are whole pages, and are divided at these. */
#define ALIGNMENT 4096

/* Maps memory, in huge pages if there are any, and fills it with data. NULL on failure, after an
   error message. */
static unsigned char *make_data(const struct limits *l)
{
    unsigned char *data =
        mmap(NULL, (size_t)l->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool good;

    if (data == MAP_FAILED) {
        message_error(EXIT_FAILED, "out of memory");
        return NULL;
    }
    (void)madvise(data, (size_t)l->bytes, MADV_HUGEPAGE);
    limits_show(l, "making data");
    good = distribution_fill_parallel(data, DISTRIBUTION_NORMAL, ELEMENT_F32, 1, l->bytes / 4, 0,
                                      (size_t)(l->bytes / 4), 0);
    limits_show(l, NULL);
    if (!good) {
        munmap(data, (size_t)l->bytes);
        return NULL;
    }
    return data;
}

/*
 * Memory, the level-2 cache, and the exact kernel on both.
 */

/* Bytes of memory that a thread takes at a time, as in gpureduce. */
#define MEMORY_PIECE (2 * MIB)

/* Data in a cache are read over and over, so many bytes in all or, of little data, so many times
   the size of the data in memory. */
#define CACHED_BYTES (256 * MIB)
#define CACHED_ROUNDS 16

/* The fastest way to read is looked for with so many bytes a thread at first. */
#define TRIAL_BYTES (16 * MIB)

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

/* Measures them; prints errors. */
static void measure_cpu(struct limits *l)
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

/*
 * The record of the limits: a file in the user's cache directory, from which gpureduce(1) knows
 * them (profile/machine_limits.h).
 */

/* Makes the path of the record, and the folders that it is in. False on failure, after an error
   message. */
static bool find_path(char path[MACHINE_PATH_MAX])
{
    char cache[MACHINE_CACHE_MAX];
    const char *why = machine_cache(cache);

    if (why) {
        message_error(EXIT_FAILED, "cannot save: %s", why);
        return false;
    }
    /* The folders may be there already. Other errors show when the file cannot be created. */
    (void)mkdir(cache, 0700);
    snprintf(path, MACHINE_PATH_MAX, "%s/" MACHINE_DIRECTORY, cache);
    (void)mkdir(path, 0700);
    snprintf(path, MACHINE_PATH_MAX, "%s/" MACHINE_DIRECTORY "/" MACHINE_FILE, cache);
    return true;
}

/* Whether the record can be written; ask before making it takes minutes. */
static bool record_possible(void)
{
    char path[MACHINE_PATH_MAX];

    return find_path(path) && output_possible(path);
}

/* Writes the table to a new file, which then replaces the old record as a whole, and says where it
   is. Prints errors. */
static void record_save(const struct table *t)
{
    char path[MACHINE_PATH_MAX], quoted[ESCAPE_QUOTE_MAX];
    struct output_file out;

    if (!find_path(path) || !output_open(&out, path))
        return;
    table_write_json(t, out.stream);
    if (output_close(&out, true))
        message_line("saved as %s", escape_quote(quoted, path));
}

/*
 * The command.
 */
struct command_line {
    uint64_t bytes, repeat;
    uint64_t threads; /* 0: not given */
    struct argument_json json;
    bool save, progress;
    const char *plot;
    const char *path; /* NULL for none */
};

/* Adds the facts about the machine and the data to the table. */
static void describe(const struct limits *l, const struct limits_file *f)
{
    char name[MACHINE_NAME_MAX], quoted[ESCAPE_QUOTE_MAX];

    machine_processor(name);
    table_fact_text(l->table, "cpu", "CPU", name);
    table_fact_count(l->table, "threads", "threads, at most", l->threads, "");
    table_fact_text(l->table, "instruction_set", "instruction set", l->kernels->name);
    table_fact_count(l->table, "bytes", "data", l->bytes, "bytes");
    if (f->path) {
        table_fact_text(l->table, "file", "file", escape_quote(quoted, f->path));
        table_fact_count(l->table, "file_bytes", "size of the file", f->size, "bytes");
    } else {
        table_fact_text(l->table, "temporary_file_in", "temporary file in",
                        escape_quote(quoted, limits_temporary_directory()));
    }
}

/* Measures all that can be measured. */
static void measure(struct limits *l, struct limits_file *f)
{
    struct limits_device *device;
    unsigned char *data;
    bool gpu;

    describe(l, f);
    data = make_data(l);
    if (!data)
        return;
    l->data = data;
    limits_show(l, "looking for a GPU");
    device = limits_device_open(l);
    limits_show(l, NULL);
    gpu = device != NULL;
    if (gpu) {
        limits_device_measure(l, device);
        limits_device_close(device);
    }
    measure_cpu(l);
    limits_measure_zstd(l, gpu);
    if (f->path)
        limits_measure_cold(l, f);
    if (!l->stopped && (f->path || limits_file_fill(l, f)))
        limits_measure_cached(l, f);
    munmap(data, (size_t)l->bytes);
}

/* How much to read so that caches do not matter. */
static uint64_t enough_bytes(void)
{
    return LIMITS_CACHE_TIMES * limits_cache_bytes();
}

/* How much to read: `asked` or, if that is 0, the default as far as memory allows it. When memory
   is short, returns 0 after an error message: the system might kill a process that used so much. */
static uint64_t choose_bytes(uint64_t asked)
{
    uint64_t available = limits_memory_available(), share = available / BYTES_SHARE,
             enough = align_units(enough_bytes(), ALIGNMENT) * ALIGNMENT,
             bytes = enough > BYTES_DEFAULT ? enough : BYTES_DEFAULT;

    if (asked > available) {
        message_error(EXIT_FAILED,
                      "out of memory: --bytes=%" PRIu64 ", and %" PRIu64 " bytes are available",
                      asked, available);
        return 0;
    }
    bytes = share < bytes ? share : bytes;
    bytes = bytes > LIMITS_BYTES_MIN ? bytes : LIMITS_BYTES_MIN;
    return (asked ? asked : bytes) / ALIGNMENT * ALIGNMENT;
}

/* Whether what will be measured is worth keeping: a record of what caches deliver would mislead.
   Prints an error if it is not. */
static bool worth_saving(const struct limits *l, const struct limits_file *f)
{
    const uint64_t caches = limits_cache_bytes(), enough = enough_bytes();
    char quoted[ESCAPE_QUOTE_MAX];

    if (l->bytes < enough / ALIGNMENT * ALIGNMENT) {
        message_error(EXIT_FAILED,
                      "cannot save: %" PRIu64 " bytes of data are too little beside last-level "
                      "caches of %" PRIu64 " bytes (--bytes=%" PRIu64 " would be enough)",
                      l->bytes, caches, enough);
        return false;
    }
    if (f->size < enough / ALIGNMENT * ALIGNMENT) {
        message_error(EXIT_FAILED,
                      "cannot save: %s: %" PRIu64 " bytes are too little beside last-level caches "
                      "of %" PRIu64 " bytes (a file of %" PRIu64 " bytes would be enough)",
                      escape_quote(quoted, f->path), f->size, caches, enough);
        return false;
    }
    return true;
}

static void run(const struct command_line *c)
{
    struct limits_file f = {.path = c->path, .fd = -1};
    struct limits l = {
        .kernels = cpu_kernels_choose(getenv("GPUREDUCE_CPU")),
        .threads = c->threads ? (unsigned)c->threads : cores_available(),
        .readers = c->threads && c->threads < READERS_MAX ? (unsigned)c->threads : READERS_MAX,
        .repeat = (unsigned)c->repeat,
        .progress = c->progress,
        .bytes = choose_bytes(c->bytes),
        .only_printed = !c->json.path && !c->save && !c->plot,
    };
    bool complete;

    /* Measuring takes minutes: find out before what cannot be written. */
    if (l.bytes == 0 || (c->plot && !gnuplot_possible(c->plot)) ||
        (c->json.path && !output_possible(c->json.path)) || (c->save && !record_possible()))
        return;
    if ((f.path ? limits_file_open(&l, &f) : limits_file_make(&l, &f)) &&
        (!c->save || worth_saving(&l, &f)))
        l.table = limits_table_new();
    if (l.table) {
        table_as_json(l.table, c->json.print, c->json.path);
        measure(&l, &f);
        complete = message_status() == EXIT_OK;
        table_finish(l.table);
        if (c->save && complete)
            record_save(l.table);
        else if (c->save)
            message_warning("not saved: some measurements failed");
        if (c->plot)
            (void)limits_plot(&l, c->plot);
        table_free(l.table);
    }
    if (f.fd >= 0)
        close(f.fd);
}

#define MEMBER(name) offsetof(struct command_line, name)

static const struct argument table[] = {
    {ARGUMENTS_BYTES(MEMBER(bytes)), .least = LIMITS_BYTES_MIN, .most = (uint64_t)1 << 44,
     .help = "how much data to read; default 4GiB, or 4 times the last-level caches if that is "
             "more; at "
             "most a quarter of the memory that is available"},
    {ARGUMENTS_REPEAT(MEMBER(repeat), 10000),
     .help = "timed samples, of which the median is printed; default 5"},
    {ARGUMENTS_THREADS(MEMBER(threads), THREADS_MAX),
     .help = "the most threads; default: one a core. At most 8 read a FILE that is not cached"},
    {ARGUMENTS_JSON(MEMBER(json)), .help = "print a JSON object instead of text; with FILE, print "
                                           "text, and write the object there"},
    {ARGUMENTS_PLOT(MEMBER(plot)),
     .help = "also draw the rates as bars to FILE, which ends in .svg or .png; needs "
             "gnuplot"},
    {.name = "save",
     .kind = ARGUMENT_SET,
     .target = MEMBER(save),
     .help = "keep the result, as --json prints it, in gpureduce/limits.json in $XDG_CACHE_HOME or "
             "~/.cache, for gpureduce -v to compare with; not of data that caches could hold"},
    {ARGUMENTS_PROGRESS(MEMBER(progress)),
     .help = "say on standard error what is being measured; default: on a terminal"},
    {ARGUMENTS_NO_PROGRESS(MEMBER(progress)), .help = "do not say it"},
};

const struct arguments limits_arguments = {
    .program = "gpureduce-bench limits",
    .usage = "[OPTION]... [FILE]",
    .summary = "Measure the limits of this machine: GPU memory, the link to the GPU, "
               "memory,\ncaches, the exact kernel, zstd, the page cache; and FILE, not cached and "
               "cached.\nWithout FILE, a temporary file in $TMPDIR or /var/tmp is read.",
    .table = table,
    .count = sizeof table / sizeof *table,
    .operands = 1,
    .details = ARGUMENTS_SIZE_DETAILS " GB/s are 10^9 bytes a second.",
};

void bench_limits(int argc, char **argv)
{
    struct command_line c = {.repeat = REPEAT_DEFAULT, .progress = isatty(STDERR_FILENO)};
    struct operands operands;

    if (arguments_parse(&limits_arguments, argc, argv, &c, &operands) != ARGUMENTS_RUN)
        return;
    c.path = operands.words[0];
    run(&c);
}
