/*
 * gpureduce-bench limits: the command.
 */
#include "config.h"

#include "bench/limits/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/common/arguments.h"
#include "bench/common/bench.h"
#include "bench/common/distribution.h"
#include "bench/common/output.h"
#include "bench/common/series.h"
#include "profile/machine_limits.h"
#include "sys/cores.h"
#include "sys/message.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* How much is read by default, where memory allows it: several times the largest caches. A quarter
   of what is available, for there are two copies of it: in memory and in a file's pages. */
#define BYTES_DEFAULT (4096 * (uint64_t)MIB)
#define BYTES_SHARE 4

/* Readers of a file that is not cached, at most. They wait more than they work: more of them than
   there are cores may help. */
#define READERS_MAX 8

#define REPEAT_DEFAULT 5
#define THREADS_MAX 1024

/* Data are divided at pages. */
#define ALIGNMENT 4096

/*
 * The table.
 */
enum {
    COLUMN_NAME,
    COLUMN_THREADS,
    COLUMN_PIECE,
    COLUMN_MEDIAN,
    COLUMN_LOWEST,
    COLUMN_HIGHEST,
    COLUMN_PERCENT,
    COLUMN_WHAT,
    COLUMN_LABEL, /* of a bar */
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_NAME] = {"limit", "limit", TABLE_TEXT, 0},
    [COLUMN_THREADS] = {"threads", "threads", TABLE_NUMBER, 0},
    [COLUMN_PIECE] = {"piece_kibibytes", "piece KiB", TABLE_NUMBER, 0},
    [COLUMN_MEDIAN] = {"gigabytes_per_second", "GB/s", TABLE_NUMBER, 2},
    [COLUMN_LOWEST] = {"lowest_gigabytes_per_second", "lowest", TABLE_NUMBER, 2},
    [COLUMN_HIGHEST] = {"highest_gigabytes_per_second", "highest", TABLE_NUMBER, 2},
    [COLUMN_PERCENT] = {"percent_of_peak", "% of peak", TABLE_NUMBER, 1},
    [COLUMN_WHAT] = {"what", "what", TABLE_TEXT, 0},
    [COLUMN_LABEL] = {"label", NULL, TABLE_TEXT, 0},
};

/* What a bar is called. */
static void make_label(char *label, size_t size, const struct limit *limit)
{
    int used = snprintf(label, size, "%s", limit->name);

    if (limit->piece && !limit->threads)
        used += snprintf(label + used, size - (size_t)used, " %g MiB",
                         (double)limit->piece / (double)MIB);
    if (limit->threads)
        snprintf(label + used, size - (size_t)used, " x %u", limit->threads);
}

static void add_row(struct limits *l, const struct limit *limit, struct series rates)
{
    struct table *t = l->table;
    char label[100];

    make_label(label, sizeof label, limit);
    table_row(t, limit->group);
    table_text(t, COLUMN_NAME, limit->name);
    if (limit->threads)
        table_number(t, COLUMN_THREADS, limit->threads);
    if (limit->piece)
        table_number(t, COLUMN_PIECE, (double)limit->piece / (double)KIB);
    table_number(t, COLUMN_MEDIAN, rates.median);
    table_number(t, COLUMN_LOWEST, rates.least);
    table_number(t, COLUMN_HIGHEST, rates.most);
    if (limit->peak > 0)
        table_number(t, COLUMN_PERCENT, 100 * rates.median / limit->peak);
    table_text(t, COLUMN_WHAT, limit->what);
    table_text(t, COLUMN_LABEL, label);
    if (!table_flush(t))
        l->stopped = l->only_printed;
}

void limits_show(const struct limits *l, const char *text)
{
    if (l->progress)
        message_transient(text);
}

bool limits_measure(struct limits *l, const struct limit *limit, limits_sample *sample,
                    void *argument)
{
    unsigned count = limit->samples ? limit->samples : l->repeat;
    double *rates = malloc(count * sizeof *rates);
    char label[100], text[120];
    bool good = rates != NULL && !l->stopped;

    if (!rates)
        message_error(EXIT_FAILED, "out of memory");
    make_label(label, sizeof label, limit);
    snprintf(text, sizeof text, "measuring %s", label);
    limits_show(l, good ? text : NULL);
    good = good && sample(argument) >= 0;
    for (unsigned i = 0; good && i < count; i++) {
        double seconds = sample(argument);

        good = seconds >= 0;
        /* A clock that has not moved: no less than a nanosecond. */
        rates[i] = (double)limit->bytes / (seconds > 1e-9 ? seconds : 1e-9) / 1e9;
    }
    limits_show(l, NULL);
    if (good)
        add_row(l, limit, series_of(rates, count));
    free(rates);
    return good && !l->stopped;
}

/*
 * The machine.
 */

/* The number of a line of a file: "MemAvailable:  123 kB"; or of its only line, where `name` is
   empty. UINT64_MAX when there is none. */
static uint64_t read_number(const char *path, const char *name)
{
    FILE *file = fopen(path, "re");
    char line[256];
    uint64_t number = UINT64_MAX;

    while (file && number == UINT64_MAX && fgets(line, sizeof line, file)) {
        const char *text = line + strlen(name);
        char *end;

        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        number = strtoull(text, &end, 10);
        if (end == text)
            number = UINT64_MAX;
    }
    if (file)
        fclose(file);
    return number;
}

/* The pages of files that a container has in the page cache, which are given up for others. */
static uint64_t reclaimable_memory(void)
{
    uint64_t active = read_number("/sys/fs/cgroup/memory.stat", "active_file ");
    uint64_t inactive = read_number("/sys/fs/cgroup/memory.stat", "inactive_file ");

    return (active == UINT64_MAX ? 0 : active) + (inactive == UINT64_MAX ? 0 : inactive);
}

/* Bytes of memory that could be used: of the machine, and of the container. */
static uint64_t available_memory(void)
{
    uint64_t machine = read_number("/proc/meminfo", "MemAvailable:");
    uint64_t limit = read_number("/sys/fs/cgroup/memory.max", "");
    uint64_t used = read_number("/sys/fs/cgroup/memory.current", "");
    uint64_t pages = reclaimable_memory();

    machine = machine == UINT64_MAX ? UINT64_MAX : machine * 1024;
    if (limit == UINT64_MAX || used == UINT64_MAX)
        return machine;
    used = used > pages ? used - pages : 0;
    limit = limit > used ? limit - used : 0;
    return limit < machine ? limit : machine;
}

/* Memory with data in it, of huge pages where there are any. NULL on failure, which has been said.
 */
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
 * Keeping the result.
 */

/* The record, and the file that is to take its place. */
struct record {
    char path[MACHINE_PATH_MAX], temporary[MACHINE_PATH_MAX + 8];
    int fd;
};

static void record_error(const struct record *r)
{
    char quoted[MESSAGE_QUOTE_MAX];

    message_error(EXIT_FAILED, "%s: %s", message_quote(quoted, r->path), strerror(errno));
}

/* Makes the new file. False when it cannot be, which has been said. */
static bool record_begin(struct record *r)
{
    char cache[MACHINE_CACHE_MAX];
    const char *why = machine_cache(cache);

    if (why) {
        message_error(EXIT_FAILED, "cannot save: %s", why);
        return false;
    }
    /* It need not be there yet. Errors show below. */
    (void)mkdir(cache, 0700);
    snprintf(r->path, sizeof r->path, "%s/" MACHINE_DIRECTORY, cache);
    (void)mkdir(r->path, 0700);
    snprintf(r->path, sizeof r->path, "%s/" MACHINE_DIRECTORY "/" MACHINE_FILE, cache);
    snprintf(r->temporary, sizeof r->temporary, "%s.XXXXXX", r->path);
    r->fd = mkstemp(r->temporary);
    if (r->fd < 0)
        record_error(r);
    return r->fd >= 0;
}

/* Whether the table can be kept, before it takes minutes to make. */
static bool save_possible(void)
{
    struct record r;

    if (!record_begin(&r))
        return false;
    close(r.fd);
    unlink(r.temporary);
    return true;
}

/* Writes the table to a new file, which then takes the place of an older one as a whole. */
static void save(const struct limits *l)
{
    char quoted[MESSAGE_QUOTE_MAX];
    struct record r;
    FILE *out;
    bool good;

    if (!record_begin(&r))
        return;
    out = fdopen(r.fd, "w");
    good = out != NULL;
    if (good) {
        table_write_json(l->table, out);
        good = fflush(out) == 0 && !ferror(out) && fsync(r.fd) == 0;
        good = fclose(out) == 0 && good;
    } else {
        close(r.fd);
    }
    good = good && rename(r.temporary, r.path) == 0;
    if (good) {
        message_line("saved as %s", message_quote(quoted, r.path));
    } else {
        record_error(&r);
        unlink(r.temporary);
    }
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

static void describe(const struct limits *l, const struct limits_file *f)
{
    char name[MACHINE_NAME_MAX], quoted[MESSAGE_QUOTE_MAX];

    machine_processor(name);
    table_fact_text(l->table, "cpu", "CPU", name);
    table_fact_count(l->table, "threads", "threads, at most", l->threads, "");
    table_fact_text(l->table, "instruction_set", "instruction set", l->kernels->name);
    table_fact_count(l->table, "bytes", "data", l->bytes, "bytes");
    if (f->path) {
        table_fact_text(l->table, "file", "file", message_quote(quoted, f->path));
        table_fact_count(l->table, "file_bytes", "size of the file", f->size, "bytes");
    } else {
        table_fact_text(l->table, "temporary_file_in", "temporary file in",
                        message_quote(quoted, limits_temporary_directory()));
    }
}

/* Measures all there is. Errors have been said. */
static void measure(struct limits *l, struct limits_file *f)
{
    struct limits_device *device;
    unsigned char *data;

    describe(l, f);
    data = make_data(l);
    if (!data)
        return;
    l->data = data;
    limits_show(l, "looking for a GPU");
    device = limits_device_open(l);
    limits_show(l, NULL);
    if (device) {
        limits_device_measure(l, device);
        limits_device_close(device);
    }
    limits_measure_cpu(l);
    limits_measure_zstd(l);
    if (f->path)
        limits_measure_cold(l, f);
    if (!l->stopped && (f->path || limits_file_fill(l, f)))
        limits_measure_cached(l, f);
    munmap(data, (size_t)l->bytes);
}

/* How much to read: `asked`, or where that is 0 up to the default and what memory allows. 0 when it
   is more than there is memory, which has been said: the system might end the process for it. */
static uint64_t choose_bytes(uint64_t asked)
{
    uint64_t available = available_memory(), share = available / BYTES_SHARE, bytes = BYTES_DEFAULT;

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

static void run(const struct command_line *c)
{
    struct limits_file f = {.path = c->path, .fd = -1};
    struct limits l = {
        .kernels = cpu_kernels_choose(),
        .threads = c->threads ? (unsigned)c->threads : cores_available(),
        .readers = c->threads && c->threads < READERS_MAX ? (unsigned)c->threads : READERS_MAX,
        .repeat = (unsigned)c->repeat,
        .progress = c->progress,
        .bytes = choose_bytes(c->bytes),
        .only_printed = !c->json.path && !c->save && !c->plot,
    };
    bool complete;

    /* It takes minutes: what cannot be done is found out before. */
    if (l.bytes == 0 || (c->plot && !table_plot_possible(c->plot)) ||
        (c->json.path && !output_possible(c->json.path)) || (c->save && !save_possible()))
        return;
    if (f.path ? limits_file_open(&l, &f) : limits_file_make(&l, &f))
        l.table = table_new("limits", columns, COLUMNS);
    if (l.table) {
        table_as_json(l.table, c->json.print, c->json.path);
        measure(&l, &f);
        complete = message_status() == EXIT_OK;
        table_finish(l.table);
        if (c->save && complete)
            save(&l);
        else if (c->save)
            message_warning("not saved, for not all could be measured");
        if (c->plot)
            table_plot(l.table, c->plot, COLUMN_LABEL, COLUMN_MEDIAN, "GB/s", l.peak,
                       "peak of GPU memory");
        table_free(l.table);
    }
    if (f.fd >= 0)
        close(f.fd);
}

#define MEMBER(name) offsetof(struct command_line, name)

static const struct argument table[] = {
    {ARGUMENTS_BYTES(MEMBER(bytes)), .least = LIMITS_BYTES_MIN, .most = (uint64_t)1 << 44,
     .help = "how much data to read; default 4GiB, or a quarter of the memory that is available"},
    {ARGUMENTS_REPEAT(MEMBER(repeat), 10000),
     .help = "timed samples, of which the median is printed; default 5"},
    {ARGUMENTS_THREADS(MEMBER(threads), THREADS_MAX),
     .help = "the most threads; default: one a core. At most 8 read a FILE that is not cached"},
    {ARGUMENTS_JSON(MEMBER(json)), .help = "print a JSON object instead of text; with FILE, print "
                                           "text, and write the object there"},
    {ARGUMENTS_PLOT(MEMBER(plot)), .help = "draw the rates to FILE.svg or FILE.png; needs gnuplot"},
    {.name = "save",
     .kind = ARGUMENT_SET,
     .target = MEMBER(save),
     .help = "keep the result, as --json prints it, in gpureduce/limits.json in $XDG_CACHE_HOME or "
             "~/.cache"},
    {ARGUMENTS_PROGRESS(MEMBER(progress)), .help = "say on standard error what is being measured"},
    {ARGUMENTS_NO_PROGRESS(MEMBER(progress)), .help = "do not say it; default: on a terminal"},
};

const struct arguments limits_arguments = {
    .program = "gpureduce-bench limits",
    .usage = "[OPTION]... [FILE]",
    .summary = "Measure what this machine allows: GPU memory, the link to the GPU, memory,\n"
               "caches, the exact kernel, zstd, the page cache; and FILE, not cached and cached.\n"
               "Without FILE, a temporary file in $TMPDIR is read.",
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
