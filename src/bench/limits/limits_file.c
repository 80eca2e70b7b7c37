#include "config.h"

#include "bench/limits/limits_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/common/team.h"
#include "bench/limits/limits_memory.h"
#include "bench/limits/limits_read.h"
#include "cli/message.h"
#include "sys/align.h"
#include "sys/escape.h"
#include "sys/mapping.h"

/* Bytes that a thread takes at a time, as in gpureduce: of a mapped file, with pread, and of a file
   that is not cached, where disks need large requests. A thread takes less if a file has fewer
   pieces than there are threads. */
#define MAPPED_PIECE (2 * MIB)
#define PREAD_PIECE (256 * KIB)
#define COLD_PIECE (16 * MIB)

/* Bytes that one sample reads of a file that is not cached. */
#define COLD_BYTES GIB

/* The fastest way to read is looked for with so many bytes a thread at first. */
#define TRIAL_BYTES (16 * MIB)

/* The share of a file that may be in the page cache while the file counts as not cached. */
#define COLD_RESIDENT_MAX 0.05

/* The alignment of buffers and sizes for O_DIRECT. */
#define ALIGNMENT 4096

struct file_job {
    const struct limits_file *file;
    int fd; /* that of the file, or another one that was opened with O_DIRECT */
    struct team_range range;
    unsigned threads;
    limits_read_function *read;
    unsigned char *buffers; /* a piece for each thread */
    unsigned char *map;     /* of the file, from 0 to the end of the range */
    uint64_t window;        /* where the next sample of a cold file, or the next trial, begins */
    uint64_t cached;        /* how much of the file is measured as cached */
};

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
    struct file_job *job = argument;
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
    struct file_job *job = argument;

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
    struct file_job *job = argument;
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
    struct file_job *job = argument;
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

/* A trial of a way to read: of the mapped file's next bytes. */
static double mapped_trial(void *argument, limits_read_function *read, uint64_t bytes)
{
    struct file_job *job = argument;
    double seconds;

    bytes = bytes < job->cached ? bytes : job->cached;
    if (job->window + bytes > job->cached)
        job->window = 0;
    job->read = read;
    team_range_set(&job->range, job->window, job->window + bytes,
                   team_piece(bytes, job->threads, MAPPED_PIECE, ALIGNMENT));
    job->window += bytes;
    seconds = mapped_sample(job);
    return seconds < 0 ? -1 : limits_rate(bytes, seconds);
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

void limits_measure_cached(struct limits *l, const struct limits_file *f)
{
    const char *group = f->path ? "the file, cached" : "page cache";
    unsigned threads = l->threads;
    struct file_job job = {.file = f, .fd = f->fd};
    uint64_t bytes = f->size < l->bytes ? f->size : l->bytes;
    char what[LIMITS_WHAT_MAX];
    bool good;

    job.cached = bytes;
    job.buffers = make_buffers(threads, PREAD_PIECE);
    good = job.buffers != NULL;
    for (unsigned n = 1; good && n > 0; n = team_next(n, threads)) {
        job.threads = n;
        team_range_set(&job.range, 0, bytes, team_piece(bytes, n, PREAD_PIECE, ALIGNMENT));
        good = limits_measure(l,
                              &(struct limit){.group = group,
                                              .name = "cached-pread",
                                              .what = "pread into a buffer in a cache",
                                              .threads = n,
                                              .piece = job.range.piece,
                                              .bytes = bytes},
                              pread_sample, &job);
    }
    free(job.buffers);
    for (unsigned n = 1; good && n > 0; n = team_next(n, threads)) {
        limits_read_function *read;

        job.threads = n;
        read = limits_choose_way(l, mapped_trial, &job, TRIAL_BYTES * (uint64_t)n,
                                 "mapped, read in place", what);
        job.read = read;
        team_range_set(&job.range, 0, bytes, team_piece(bytes, n, MAPPED_PIECE, ALIGNMENT));
        good = read && limits_measure(l,
                                      &(struct limit){.group = group,
                                                      .name = "cached-mapped",
                                                      .what = what,
                                                      .threads = n,
                                                      .piece = job.range.piece,
                                                      .bytes = bytes},
                                      mapped_sample, &job);
    }
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

static size_t cold_piece(const struct file_job *job)
{
    return team_piece(cold_bytes(job->file), job->threads, COLD_PIECE, ALIGNMENT);
}

/* Sets the range to the next window of a cold file. */
static void next_window(struct file_job *job)
{
    uint64_t size = cold_bytes(job->file);

    if (job->window + size > job->file->size)
        job->window = 0;
    team_range_set(&job->range, job->window, job->window + size, cold_piece(job));
    job->window += size;
}

static double direct_sample(void *argument)
{
    struct file_job *job = argument;

    next_window(job);
    return team_run(job->threads, pread_member, job);
}

static double buffered_sample(void *argument)
{
    struct file_job *job = argument;

    next_window(job);
    (void)posix_fadvise(job->fd, 0, 0, POSIX_FADV_DONTNEED);
    return team_run(job->threads, pread_member, job);
}

/* Measures with 1, 2, 4 ... readers. */
static bool measure_readers(struct limits *l, struct file_job *job, const char *name,
                            const char *what, limits_sample *sample)
{
    bool good = true;

    for (unsigned n = 1; good && n > 0; n = team_next(n, l->readers)) {
        job->threads = n;
        good = limits_measure(l,
                              &(struct limit){.group = "the file, not cached",
                                              .name = name,
                                              .what = what,
                                              .threads = n,
                                              .piece = cold_piece(job),
                                              .bytes = cold_bytes(job->file)},
                              sample, job);
    }
    return good;
}

/* Measures what this file system allows, with O_DIRECT by the descriptor `direct` if it is not
   below 0. The job has buffers for all readers. */
static void measure_cold(struct limits *l, struct file_job *job, int direct)
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

void limits_measure_cold(struct limits *l, const struct limits_file *f)
{
    struct file_job job = {.file = f, .fd = f->fd};
    int direct = open(f->path, O_RDONLY | O_DIRECT | O_CLOEXEC);

    job.buffers = make_buffers(l->readers, COLD_PIECE);
    if (job.buffers)
        measure_cold(l, &job, direct);
    if (direct >= 0)
        close(direct);
    free(job.buffers);
}

bool limits_file_open(const struct limits *l, struct limits_file *f)
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
    if (f->size < l->bytes && f->size < LIMITS_CACHE_TIMES * limits_cache_bytes())
        message_warning("%s: only %" PRIu64 " bytes: they may fit into the processor's caches of "
                        "%" PRIu64 " bytes",
                        escape_quote(quoted, f->path), (uint64_t)status.st_size,
                        limits_cache_bytes());
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

const char *limits_temporary_directory(void)
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

    message_error(EXIT_FAILED, "%s: cannot %s a temporary file: %s",
                  escape_quote(quoted, limits_temporary_directory()), doing, strerror(errno));
    return false;
}

bool limits_file_make(const struct limits *l, struct limits_file *f)
{
    f->size = l->bytes;
    f->fd = open_nameless(limits_temporary_directory());
    if (f->fd < 0)
        return temporary_error("make");
    /* Not every file system can allocate space; other errors show when it is written. */
    if (fallocate(f->fd, 0, 0, (off_t)l->bytes) != 0 &&
        (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        return temporary_error("make");
    return true;
}

bool limits_file_fill(const struct limits *l, struct limits_file *f)
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
