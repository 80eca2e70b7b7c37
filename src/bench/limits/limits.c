/*
 * gpureduce-bench limits: the command.
 */
#include "config.h"

#include "bench/limits/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/common/arguments.h"
#include "bench/common/distribution.h"
#include "bench/common/reducers.h"
#include "bench/common/team.h"
#include "bench/limits/limits_device.h"
#include "bench/limits/limits_measure.h"
#include "bench/limits/limits_read.h"
#include "bench/limits/limits_zstd.h"
#include "cli/arguments.h"
#include "cli/gnuplot.h"
#include "cli/message.h"
#include "cli/output.h"
#include "profile/machine_limits.h"
#include "sys/align.h"
#include "sys/clock.h"
#include "sys/escape.h"
#include "sys/group.h"
#include "sys/mapping.h"

/* How much is read by default: this, or more if caches are large; but no more than a quarter of the
   memory that is available, because the data are there twice: in memory and in a file's pages. */
#define BYTES_DEFAULT (4 * (uint64_t)GIB)
#define BYTES_SHARE 4

/* The most readers of a file that is not cached. They wait more than they work, so more of them
   than there are cores may help. */
#define READERS_MAX 8

#define REPEAT_DEFAULT 5
#define THREADS_MAX 1024

/* Data are to be so many times as large as the caches, so that little of them is read from there.
 */
#define CACHE_TIMES 4

/* The data are whole pages, and are divided at these; so are buffers and sizes for O_DIRECT. */
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
 * How much memory there is, and how large the caches are, as Linux tells.
 */

/* The number in the line of a file that begins with `name`, such as "MemAvailable:  123 kB"; in the
   first line if `name` is empty. UINT64_MAX when there is none. */
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

/* Bytes of files that the container has in the page cache. Their pages can be reclaimed. */
static uint64_t reclaimable_memory(void)
{
    uint64_t active = read_number("/sys/fs/cgroup/memory.stat", "active_file ");
    uint64_t inactive = read_number("/sys/fs/cgroup/memory.stat", "inactive_file ");

    return (active == UINT64_MAX ? 0 : active) + (inactive == UINT64_MAX ? 0 : inactive);
}

/* Bytes of memory that this process could still use: what the machine or its container (cgroup v2)
   has available, whichever is less; and no more than half of the address space. */
static uint64_t memory_available(void)
{
    uint64_t machine = read_number("/proc/meminfo", "MemAvailable:");
    uint64_t limit = read_number("/sys/fs/cgroup/memory.max", "");
    uint64_t used = read_number("/sys/fs/cgroup/memory.current", "");
    uint64_t pages = reclaimable_memory(), available = SIZE_MAX / 2;

    if (machine < available / KIB)
        available = machine * KIB;
    if (limit == UINT64_MAX || used == UINT64_MAX)
        return available;
    used = used > pages ? used - pages : 0;
    limit = limit > used ? limit - used : 0;
    return limit < available ? limit : available;
}

/* Assumed if the system tells nothing of caches. */
#define CACHE_UNKNOWN (64 * (uint64_t)MIB)

/* Reads the first line of a file of the cache `index` of a processor. False if there is none. */
static bool read_cache_line(char line[64], long cpu, unsigned index, const char *name)
{
    char path[128];
    FILE *file;
    bool good;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index%u/%s", cpu, index,
             name);
    file = fopen(path, "re");
    good = file && fgets(line, 64, file);
    if (file)
        fclose(file);
    return good;
}

/* The bytes of a size as the system writes it: "107520K". */
static uint64_t parse_cache_size(const char *text)
{
    char *end;
    uint64_t size = strtoull(text, &end, 10);

    return *end == 'K' ? size * KIB : *end == 'M' ? size * MIB : size;
}

/* The bytes of a processor's last cache of data; 0 if it is unknown, or if the processor is not the
   first of those that share it. */
static uint64_t own_cache(long cpu)
{
    uint64_t bytes = 0;
    char line[64];
    long last = 1;

    for (unsigned i = 0; read_cache_line(line, cpu, i, "level"); i++) {
        long level = strtol(line, NULL, 10);

        if (level < last || !read_cache_line(line, cpu, i, "type") ||
            strncmp(line, "Instruction", strlen("Instruction")) == 0)
            continue;
        last = level;
        bytes = 0;
        if (read_cache_line(line, cpu, i, "shared_cpu_list") && strtol(line, NULL, 10) == cpu &&
            read_cache_line(line, cpu, i, "size"))
            bytes = parse_cache_size(line);
    }
    return bytes;
}

/* Bytes of the level-2 cache of a core; 0 where the system does not tell. */
static uint64_t l2_bytes(void)
{
    char line[64];

    /* The kernel's word, for musl's sysconf does not know caches, and glibc's only those of x86. */
    for (unsigned i = 0; read_cache_line(line, 0, i, "level"); i++)
        if (strtol(line, NULL, 10) == 2 && read_cache_line(line, 0, i, "size"))
            return parse_cache_size(line);
#ifdef _SC_LEVEL2_CACHE_SIZE
    long said = sysconf(_SC_LEVEL2_CACHE_SIZE);

    return said > 0 ? (uint64_t)said : 0;
#else
    return 0;
#endif
}

/* The bytes of all last-level caches of the machine together. GPUREDUCE_CACHE_BYTES overrides the
   number. 64 MiB if nothing tells it. */
static uint64_t cache_bytes(void)
{
    const char *told = getenv("GPUREDUCE_CACHE_BYTES");
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    uint64_t bytes = 0;
    char *end;

    if (told && *told >= '0' && *told <= '9') {
        bytes = strtoull(told, &end, 10);
        if (*end == '\0' && bytes > 0 && bytes <= UINT64_MAX / CACHE_TIMES)
            return bytes;
        bytes = 0;
    }
    for (long cpu = 0; cpu < cpus; cpu++)
        bytes += own_cache(cpu);
    return bytes > 0 ? bytes : CACHE_UNKNOWN;
}

/*
 * Measurements of bytes, of memory or of a file, that threads take by pieces.
 */

struct limits_file {
    const char *path; /* NULL for a temporary file */
    int fd;           /* below 0: not open */
    uint64_t size;    /* a multiple of pages, at least LIMITS_BYTES_MIN */
};

struct job {
    uint64_t bytes;  /* that there are */
    size_t piece;    /* the most that a thread takes at a time */
    uint64_t window; /* where the next trial, or the next sample of a cold file, begins */
    struct team_range range;
    unsigned threads;
    limits_sample *sample;
    bool chooses; /* the fastest way to read is to be found */
    limits_read_function *read;

    /* If they are memory. */
    const unsigned char *data;
    unsigned rounds;              /* of one thread: how often it reads the range */
    struct cpu_reducer *reducers; /* NULL to only read */

    /* If they are a file. */
    const struct limits_file *file;
    int fd;                 /* that of the file, or another one that was opened with O_DIRECT */
    unsigned char *buffers; /* a piece for each thread */
    unsigned char *map;     /* of the file, from 0 to the end of the range */
};

/* The fastest way to read is looked for with so many bytes a thread at first. */
#define TRIAL_BYTES (16 * MIB)

/* Sets the range to the next so many bytes. */
static void next_window(struct job *job, uint64_t bytes)
{
    if (job->window + bytes > job->bytes)
        job->window = 0;
    team_range_set(&job->range, job->window, job->window + bytes,
                   team_piece(bytes, job->threads, job->piece, ALIGNMENT));
    job->window += bytes;
}

/* A trial of a way to read. They move through the bytes, which no cache of the CPU holds. */
static double trial(void *argument, limits_read_function *read, uint64_t bytes)
{
    struct job *job = argument;
    double seconds;

    bytes = bytes < job->bytes ? bytes : job->bytes;
    job->read = read;
    next_window(job, bytes);
    seconds = job->sample(job);
    return seconds < 0 ? -1 : limits_rate(bytes, seconds);
}

/* Chooses the fastest way to read, where that is to be found, and writes it behind the description
   of the measurement. False on failure. */
static bool choose_way(struct limits *l, struct job *job, struct limit *limit,
                       limits_read_trial *by, uint64_t bytes, char what[LIMITS_WHAT_MAX])
{
    if (!job->chooses)
        return true;
    job->read = limits_choose_way(l, by, job, bytes, limit->what, what);
    limit->what = what;
    return job->read != NULL;
}

/* Measures by 1, 2, 4 ... threads, at most `most`. */
static bool measure_threads(struct limits *l, struct job *job, const struct limit *each,
                            unsigned most, limits_sample *sample)
{
    bool good = true;

    job->sample = sample;
    for (unsigned n = 1; good && n > 0; n = team_next(n, most)) {
        struct limit limit = *each;
        char what[LIMITS_WHAT_MAX];

        job->threads = limit.threads = n;
        limit.piece = team_piece(limit.bytes, n, job->piece, ALIGNMENT);
        good = choose_way(l, job, &limit, trial, TRIAL_BYTES * (uint64_t)n, what);
        team_range_set(&job->range, 0, limit.bytes, limit.piece);
        good = good && limits_measure(l, &limit, sample, job);
    }
    return good;
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

/* Reads or reduces a piece. */
static void take_memory(struct job *job, unsigned number, uint64_t offset, size_t size)
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
    struct job *job = argument;
    uint64_t offset;
    size_t size;

    while (team_claim(&job->range, &offset, &size))
        take_memory(job, number, offset, size);
    return true;
}

static double memory_sample(void *argument)
{
    struct job *job = argument;

    team_range_rewind(&job->range);
    return team_run(job->threads, memory_member, job);
}

/* A sample of one thread, which takes the same data over and over. */
static double cache_sample(void *argument)
{
    struct job *job = argument;
    uint64_t begun = clock_now();

    for (unsigned i = 0; i < job->rounds; i++)
        take_memory(job, 0, job->range.begin, (size_t)(job->range.end - job->range.begin));
    return (double)(clock_now() - begun) / (double)CLOCK_SECOND;
}

static double cache_trial(void *argument, limits_read_function *read, uint64_t bytes)
{
    struct job *job = argument;
    uint64_t size = job->range.end - job->range.begin;

    job->read = read;
    job->rounds = (unsigned)(bytes / size + 1);
    return limits_rate(size * job->rounds, cache_sample(job));
}

/* Half the level-2 cache of a core, so that other data fit, too. 256 KiB are assumed if the system
   does not tell its size. */
static size_t half_of_l2(void)
{
    size_t size = (size_t)l2_bytes();

    return (size > 0 ? size : 256 * KIB) / 2 / ALIGNMENT * ALIGNMENT;
}

/* Measures the level-2 cache. */
static bool measure_cache(struct limits *l, struct job *job, struct limit limit)
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
    const struct limit memory = {
        .group = "memory", .name = "memory-read", .what = "plain reading", .bytes = l->bytes};
    static const struct limit cache = {
        .group = "memory", .name = "l2-read", .what = "plain reading of the level-2 cache"};
    const struct limit kernel_memory = {.group = "exact f32 kernel",
                                        .name = "kernel-memory",
                                        .what = "sum, min, max, counts; memory",
                                        .bytes = l->bytes};
    static const struct limit kernel_cache = {.group = "exact f32 kernel",
                                              .name = "kernel-l2",
                                              .what = "sum, min, max, counts; level-2 cache"};
    /* These results are those that gpureduce gives without options. */
    struct cpu_reducer *reducers =
        reducers_new(l->kernels, ELEMENT_F32, PARTIAL_SUM | PARTIAL_EXTREMES, l->threads);
    struct job job = {.data = l->data, .bytes = l->bytes, .piece = MEMORY_PIECE, .chooses = true};
    bool good;

    if (!reducers)
        return;
    good = measure_threads(l, &job, &memory, l->threads, memory_sample);
    good = good && measure_cache(l, &job, cache);
    job.reducers = reducers;
    job.chooses = false;
    /* The data are little-endian. */
    if (good && !element_host_is_big() && measure_cache(l, &job, kernel_cache))
        (void)measure_threads(l, &job, &kernel_memory, l->threads, memory_sample);
    reducers_free(reducers, l->threads);
}

/*
 * Files: cached and not cached.
 */

/* Bytes that a thread takes at a time, as in gpureduce: of a mapped file, with pread, and of a file
   that is not cached, where disks need large requests. A thread takes less if a file has fewer
   pieces than there are threads. */
#define MAPPED_PIECE (2 * MIB)
#define PREAD_PIECE (256 * KIB)
#define COLD_PIECE (16 * MIB)

/* Bytes that one sample reads of a file that is not cached. */
#define COLD_BYTES GIB

/* The share of a file that may be in the page cache while the file counts as not cached. */
#define COLD_RESIDENT_MAX 0.05

/* Prints what is wrong with the file. */
static void file_error(const struct limits_file *f, const char *what)
{
    char quoted[ESCAPE_QUOTE_MAX];

    message_error(EXIT_FAILED, "%s: %s", f->path ? escape_quote(quoted, f->path) : "temporary file",
                  what);
}

static bool pread_all(const struct limits_file *f, int fd, unsigned char *buffer, size_t size,
                      uint64_t offset)
{
    while (size > 0) {
        ssize_t n = pread(fd, buffer, size, (off_t)offset);

        if (n == 0) {
            file_error(f, "the file became shorter while it was read");
            return false;
        }
        if (n < 0 && errno != EINTR) {
            file_error(f, strerror(errno));
            return false;
        }
        if (n > 0) {
            buffer += n;
            offset += (uint64_t)n;
            size -= (size_t)n;
        }
    }
    return true;
}

static bool pread_member(void *argument, unsigned number)
{
    struct job *job = argument;
    unsigned char *buffer = job->buffers + number * job->range.piece;
    uint64_t offset;
    size_t size;

    while (team_claim(&job->range, &offset, &size))
        if (!pread_all(job->file, job->fd, buffer, size, offset))
            return false;
    return true;
}

static double pread_sample(void *argument)
{
    struct job *job = argument;

    team_range_rewind(&job->range);
    return team_run(job->threads, pread_member, job);
}

/* A read of mapped bytes, as mapping_guard calls it. */
struct mapped_read {
    limits_read_function *read;
    const unsigned char *data;
    size_t size;
};

static void read_mapped(void *argument)
{
    struct mapped_read *r = argument;

    r->read(r->data, r->size);
}

static bool mapped_member(void *argument, unsigned number)
{
    struct job *job = argument;
    uint64_t offset;
    size_t size;

    (void)number;
    while (team_claim(&job->range, &offset, &size)) {
        struct mapped_read r = {job->read, job->map + offset, size};

        if (!mapping_guard(read_mapped, &r)) {
            file_error(job->file, "the file became shorter while it was read");
            return false;
        }
    }
    return true;
}

/* A sample. Its time includes the page faults, but neither mmap nor munmap. */
static double mapped_sample(void *argument)
{
    struct job *job = argument;
    double seconds;

    job->map = mmap(NULL, (size_t)job->range.end, PROT_READ, MAP_SHARED, job->fd, 0);
    if (job->map == MAP_FAILED) {
        file_error(job->file, strerror(errno));
        return -1;
    }
    team_range_rewind(&job->range);
    seconds = team_run(job->threads, mapped_member, job);
    munmap(job->map, (size_t)job->range.end);
    return seconds;
}

static unsigned char *make_buffers(unsigned threads, size_t piece)
{
    unsigned char *buffers = mapping_alloc(threads * piece);

    if (!buffers)
        message_error(EXIT_FAILED, "out of memory");
    else
        memset(buffers, 1, threads * piece); /* so that its pages are present */
    return buffers;
}

/* Measures reading the file from the page cache, l->bytes of it at most. */
static void measure_cached(struct limits *l, const struct limits_file *f)
{
    const char *group = f->path ? "the file, cached" : "page cache";
    const uint64_t bytes = f->size < l->bytes ? f->size : l->bytes;
    const struct limit copied = {.group = group,
                                 .name = "cached-pread",
                                 .what = "pread into a buffer in a cache",
                                 .bytes = bytes};
    const struct limit mapped = {
        .group = group, .name = "cached-mapped", .what = "mapped, read in place", .bytes = bytes};
    struct job job = {.bytes = bytes, .piece = PREAD_PIECE, .file = f, .fd = f->fd};
    bool good;

    job.buffers = make_buffers(l->threads, PREAD_PIECE);
    good = job.buffers && measure_threads(l, &job, &copied, l->threads, pread_sample);
    free(job.buffers);
    job.piece = MAPPED_PIECE;
    job.chooses = true;
    if (good)
        (void)measure_threads(l, &job, &mapped, l->threads, mapped_sample);
}

/* The share of the first `bytes` bytes of a file that is in the page cache, from 0 to 1; below 0 if
   it is unknown. */
static double resident(const struct limits_file *f, uint64_t bytes)
{
    size_t size = (size_t)bytes, found = 0;
    size_t pages = (size_t)align_units(size, mapping_page());
    unsigned char *present = malloc(pages);
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, f->fd, 0);
    double share = -1;

    if (present && map != MAP_FAILED && mincore(map, size, present) == 0) {
        for (size_t i = 0; i < pages; i++)
            found += present[i] & 1;
        share = (double)found / (double)pages;
    }
    if (map != MAP_FAILED)
        munmap(map, size);
    free(present);
    return share;
}

/* How much of a file one sample reads cold. */
static uint64_t cold_bytes(const struct limits_file *f)
{
    return f->size < COLD_BYTES ? f->size : COLD_BYTES;
}

static double direct_sample(void *argument)
{
    struct job *job = argument;

    next_window(job, cold_bytes(job->file));
    return team_run(job->threads, pread_member, job);
}

static double buffered_sample(void *argument)
{
    struct job *job = argument;

    next_window(job, cold_bytes(job->file));
    (void)posix_fadvise(job->fd, 0, 0, POSIX_FADV_DONTNEED);
    return team_run(job->threads, pread_member, job);
}

/* Measures by readers, as many as there may be. */
static bool measure_readers(struct limits *l, struct job *job, const char *name, const char *what,
                            limits_sample *sample)
{
    const struct limit limit = {.group = "the file, not cached",
                                .name = name,
                                .what = what,
                                .bytes = cold_bytes(job->file)};

    return measure_threads(l, job, &limit, l->readers, sample);
}

/* Measures what this file system allows, with O_DIRECT by the descriptor `direct` if it is not
   below 0. The job has buffers for all readers. */
static void measure_cold(struct limits *l, struct job *job, int direct)
{
    const struct limits_file *f = job->file;
    double left;

    /* Pages that have not been written back would stay in the cache. */
    (void)fdatasync(f->fd);
    (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
    left = resident(f, cold_bytes(f));
    /* On tmpfs, even O_DIRECT reads memory. */
    if (left > 1 - COLD_RESIDENT_MAX) {
        message_warning(
            "cannot drop the file from the page cache: uncached reading is not measured");
        return;
    }
    /* Some file systems let a file be opened with O_DIRECT, but not read. */
    if (direct >= 0 && pread(direct, job->buffers, ALIGNMENT, 0) == ALIGNMENT) {
        job->fd = direct;
        if (!measure_readers(l, job, "cold-direct", "O_DIRECT, past the page cache", direct_sample))
            return;
    } else {
        message_warning("this file system does not support O_DIRECT: cold-direct is skipped");
    }
    if (left >= 0 && left < COLD_RESIDENT_MAX) {
        job->fd = f->fd;
        job->window = 0;
        measure_readers(l, job, "cold-buffered", "through the page cache", buffered_sample);
    } else {
        message_warning("part of the file stays in the page cache: cold-buffered is skipped");
    }
}

/* Measures reading the file when it is not in the page cache, which it is put out of. It must have
   a path. */
static void measure_not_cached(struct limits *l, const struct limits_file *f)
{
    struct job job = {.bytes = f->size, .piece = COLD_PIECE, .file = f, .fd = f->fd};
    int direct = open(f->path, O_RDONLY | O_DIRECT | O_CLOEXEC);

    job.buffers = make_buffers(l->readers, COLD_PIECE);
    if (job.buffers)
        measure_cold(l, &job, direct);
    if (direct >= 0)
        close(direct);
    free(job.buffers);
}

/* Opens the file that `path` names, which was not open. Warns if it is small compared with
   l->bytes. */
static bool file_open(const struct limits *l, struct limits_file *f)
{
    char quoted[ESCAPE_QUOTE_MAX];
    struct stat status;

    /* O_NONBLOCK: opening a FIFO would wait for a writer. */
    f->fd = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (f->fd < 0 || fstat(f->fd, &status) != 0) {
        file_error(f, strerror(errno));
        return false;
    }
    if (!S_ISREG(status.st_mode)) {
        file_error(f, "not a regular file");
        return false;
    }
    if ((uint64_t)status.st_size < LIMITS_BYTES_MIN) {
        file_error(f, "too small: 1 MiB is the least to measure with");
        return false;
    }
    f->size = (uint64_t)status.st_size / ALIGNMENT * ALIGNMENT;
    /* Nobody needs a warning who asked for little data. */
    if (f->size < l->bytes && f->size < CACHE_TIMES * cache_bytes())
        message_warning("%s: only %" PRIu64 " bytes: they may fit into the processor's caches of "
                        "%" PRIu64 " bytes",
                        escape_quote(quoted, f->path), (uint64_t)status.st_size, cache_bytes());
    return true;
}

/* Makes a file without a name in a directory; -1 with errno on failure. */
static int open_nameless(const char *directory)
{
    char path[4096];
    int fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    /* Not every file system has O_TMPFILE. */
    if ((size_t)snprintf(path, sizeof path, "%s/gpureduce-bench.XXXXXX", directory) >=
        sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkstemp(path);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* The directory for temporary files. */
static const char *temporary_directory(void)
{
    const char *directory = getenv("TMPDIR");

    if (directory && *directory)
        return directory;
    /* /tmp is often a part of memory. */
    return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

/* Prints what went wrong with the temporary file, and returns false. */
static bool temporary_error(const char *doing)
{
    char quoted[ESCAPE_QUOTE_MAX];

    return message_error(EXIT_FAILED, "%s: cannot %s a temporary file: %s",
                         escape_quote(quoted, temporary_directory()), doing, strerror(errno));
}

/* Makes a file without a name, with space for l->bytes, so that it is known before measuring that
   there is enough. */
static bool file_make(const struct limits *l, struct limits_file *f)
{
    f->size = l->bytes;
    f->fd = open_nameless(temporary_directory());
    if (f->fd < 0)
        return temporary_error("make");
    /* Not every file system can allocate space; other errors show when it is written. */
    if (fallocate(f->fd, 0, 0, (off_t)l->bytes) != 0 &&
        (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        return temporary_error("make");
    return true;
}

/* Writes l->data to it, and syncs, because writing them back later would disturb what is
   measured. */
static bool file_fill(const struct limits *l, struct limits_file *f)
{
    uint64_t done = 0;

    limits_show(l, "writing a temporary file");
    while (done < l->bytes) {
        size_t size = (size_t)(l->bytes - done < COLD_PIECE ? l->bytes - done : COLD_PIECE);
        ssize_t n = write(f->fd, l->data + done, size);

        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (uint64_t)n : 0;
    }
    if (done < l->bytes || fdatasync(f->fd) != 0)
        return temporary_error("write");
    limits_show(l, NULL);
    return true;
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

    if (why)
        return message_error(EXIT_FAILED, "cannot save: %s", why);
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
                        escape_quote(quoted, temporary_directory()));
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
        measure_not_cached(l, f);
    if (!l->stopped && (f->path || file_fill(l, f)))
        measure_cached(l, f);
    munmap(data, (size_t)l->bytes);
}

/* How much to read so that caches do not matter. */
static uint64_t enough_bytes(void)
{
    return CACHE_TIMES * cache_bytes();
}

/* How much to read: `asked` or, if that is 0, the default as far as memory allows it. When memory
   is short, returns 0 after an error message: the system might kill a process that used so much. */
static uint64_t choose_bytes(uint64_t asked)
{
    uint64_t available = memory_available(), share = available / BYTES_SHARE,
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
    const uint64_t caches = cache_bytes(), enough = enough_bytes();
    char quoted[ESCAPE_QUOTE_MAX];

    if (l->bytes < enough / ALIGNMENT * ALIGNMENT)
        return message_error(EXIT_FAILED,
                             "cannot save: %" PRIu64
                             " bytes of data are too little beside last-level "
                             "caches of %" PRIu64 " bytes (--bytes=%" PRIu64 " would be enough)",
                             l->bytes, caches, enough);
    if (f->size < enough / ALIGNMENT * ALIGNMENT)
        return message_error(EXIT_FAILED,
                             "cannot save: %s: %" PRIu64
                             " bytes are too little beside last-level caches "
                             "of %" PRIu64 " bytes (a file of %" PRIu64 " bytes would be enough)",
                             escape_quote(quoted, f->path), f->size, caches, enough);
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
    if ((f.path ? file_open(&l, &f) : file_make(&l, &f)) && (!c->save || worth_saving(&l, &f)))
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
    struct command_line c = {.repeat = REPEAT_DEFAULT, .progress = message_erasable()};
    struct operands operands;

    if (arguments_parse(&limits_arguments, argc, argv, &c, &operands) != ARGUMENTS_RUN)
        return;
    c.path = operands.words[0];
    run(&c);
}
