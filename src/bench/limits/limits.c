/*
 * gpureduce-bench limits: the command.
 */
#include "config.h"

#include "bench/limits/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/common/arguments.h"
#include "bench/common/distribution.h"
#include "bench/limits/limits_cpu.h"
#include "bench/limits/limits_device.h"
#include "bench/limits/limits_file.h"
#include "bench/limits/limits_measure.h"
#include "bench/limits/limits_memory.h"
#include "bench/limits/limits_record.h"
#include "bench/limits/limits_zstd.h"
#include "cli/arguments.h"
#include "cli/gnuplot.h"
#include "cli/message.h"
#include "cli/output.h"
#include "profile/machine_limits.h"
#include "sys/align.h"
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

/* The data are whole pages. */
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
    limits_measure_cpu(l);
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
        (c->json.path && !output_possible(c->json.path)) || (c->save && !limits_record_possible()))
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
            limits_record_save(l.table);
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
