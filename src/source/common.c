#include "config.h"

#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/message.h"

void source_error(struct source *s, const char *format, ...)
{
    char text[512];
    va_list arguments;

    if (atomic_exchange(&s->failed, true))
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    message_error(EXIT_FAILED, "%s: %s", s->name, text);
}

void source_became_shorter(struct source *s, uint64_t missing)
{
    struct stat status;

    /* Where it ends now: other bytes may be missing before these. */
    if (fstat(s->fd, &status) == 0 && (uint64_t)status.st_size < missing)
        missing = (uint64_t)status.st_size;
    source_error(s, "ends at byte %" PRIu64 ": it became shorter while it was read",
                 missing > s->start ? missing - s->start : 0);
}

/* Past the page cache, a read that ends inside a sector ends the file. */
#define SECTOR 512

ptrdiff_t source_pread_from(struct source *s, int fd, void *buffer, size_t size, uint64_t offset)
{
    uint64_t begun = clock_now();
    size_t done = 0;

    while (done < size && (fd == s->fd || done % SECTOR == 0)) {
        ssize_t n = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && fd != s->fd)
            return SOURCE_REFUSED;
        if (n < 0) {
            source_error(s, "read error at byte %" PRIu64 ": %s", offset + done - s->start,
                         strerror(errno));
            return -1;
        }
        if (n == 0)
            break;
        done += (size_t)n;
    }
    atomic_fetch_add(&s->input_read, done);
    atomic_fetch_add(&s->read_time, clock_now() - begun);
    return (ptrdiff_t)done;
}

ptrdiff_t source_pread(struct source *s, void *buffer, size_t size, uint64_t offset)
{
    return source_pread_from(s, s->fd, buffer, size, offset);
}

enum source_status source_wait(struct source_waiter **waiters, pthread_mutex_t *mutex,
                               const struct source_request *request, struct chunk *chunk)
{
    struct source_waiter waiter = {
        .request = request, .chunk = chunk, .status = SOURCE_AGAIN, .next = *waiters};

    pthread_cond_init(&waiter.condition, NULL);
    /* cppcheck-suppress autoVariables ; it is taken off the list before it is called */
    *waiters = &waiter;
    while (!waiter.called)
        pthread_cond_wait(&waiter.condition, mutex);
    pthread_cond_destroy(&waiter.condition);
    return waiter.status;
}

struct source_waiter *source_waiter(struct source_waiter **waiters)
{
    struct source_waiter *waiter = *waiters;

    if (waiter)
        *waiters = waiter->next;
    return waiter;
}

void source_call(struct source_waiter *waiter, enum source_status status)
{
    waiter->status = status;
    waiter->called = true;
    pthread_cond_signal(&waiter->condition);
}

void source_call_all(struct source_waiter **waiters)
{
    struct source_waiter *waiter;

    while ((waiter = source_waiter(waiters)))
        source_call(waiter, SOURCE_AGAIN);
}

ptrdiff_t reader_read(struct reader *r, void *buffer, size_t size)
{
    size_t count = r->pushed < size ? r->pushed : size;

    if (count == 0)
        return r->read(r, buffer, size);
    memcpy(buffer, r->pushed_bytes, count);
    memmove(r->pushed_bytes, r->pushed_bytes + count, r->pushed - count);
    r->pushed -= count;
    return (ptrdiff_t)count;
}

ptrdiff_t reader_fill(struct reader *r, void *buffer, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ptrdiff_t n = reader_read(r, (char *)buffer + done, size - done);
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ptrdiff_t)done;
}

void reader_push(struct reader *r, const void *bytes, size_t size)
{
    memmove(r->pushed_bytes + size, r->pushed_bytes, r->pushed);
    memcpy(r->pushed_bytes, bytes, size);
    r->pushed += size;
}

/* Reads the rest of a .npy header whose first `had` bytes are in `prefix`. */
static bool layout_npy(struct source *s, struct reader *reader, const unsigned char *prefix,
                       size_t had)
{
    uint64_t length = npy_header_length(prefix, had);
    uint64_t error_offset;
    char error[NPY_ERROR_MAX];
    unsigned char *header;
    struct npy npy;
    ptrdiff_t rest;
    bool ok;

    if (length == 0) {
        source_error(s, "the .npy header is cut off at byte %zu", had);
        return false;
    }
    if (length > NPY_HEADER_MAX) {
        source_error(s, "byte 8: a .npy header of %" PRIu64 " bytes is more than the %zu allowed",
                     length, NPY_HEADER_MAX);
        return false;
    }
    if (length < had) { /* too short to hold anything; what was read beyond it goes back */
        reader_push(reader, prefix + length, had - (size_t)length);
        had = (size_t)length;
    }
    header = malloc((size_t)length + 1);
    if (!header) {
        source_error(s, "out of memory");
        return false;
    }
    memcpy(header, prefix, had);
    rest = reader_fill(reader, header + had, (size_t)length - had);
    ok = rest >= 0;
    if (ok && had + (size_t)rest < length) {
        source_error(s, "the .npy header is cut off at byte %zu of %" PRIu64, had + (size_t)rest,
                     length);
        ok = false;
    }
    if (ok && !npy_parse(header, (size_t)length, &npy, error, &error_offset)) {
        source_error(s, "byte %" PRIu64 ": %s", error_offset, error);
        ok = false;
    }
    free(header);
    if (!ok)
        return false;
    if (npy.elements > (INT64_MAX - npy.data_offset) / element_size(npy.type)) {
        source_error(s, "byte %" PRIu64 ": the shape has more elements than any file holds",
                     (uint64_t)NPY_PREFIX_MAX);
        return false;
    }
    s->npy = true;
    s->type = npy.type;
    s->swap = npy.big_endian != element_host_is_big();
    s->data_offset = npy.data_offset;
    s->promised = npy.elements;
    return true;
}

bool source_layout(struct source *s, const struct source_options *options, struct reader *reader)
{
    unsigned char prefix[NPY_PREFIX_MAX];
    ptrdiff_t got = 0;

    s->promised = SOURCE_UNKNOWN;
    if (options->format != SOURCE_RAW) {
        got = reader_fill(reader, prefix, sizeof prefix);
        if (got < 0)
            return false;
    }
    if (s->compressed && zstd_recognise(prefix, (size_t)got)) {
        source_error(s, "byte 0 of the decompressed data begins a zstd frame again: compressed "
                        "twice; 'zstd -dc' takes one layer off");
        return false;
    }
    if (npy_recognise(prefix, (size_t)got)) {
        if (!layout_npy(s, reader, prefix, (size_t)got))
            return false;
    } else if (options->format == SOURCE_NPY) {
        source_error(s, "not a .npy file: byte 0 does not begin its magic string");
        return false;
    } else {
        reader_push(reader, prefix, (size_t)got);
        s->type = options->type;
        s->swap = (options->order == ELEMENT_ORDER_BIG) != element_host_is_big();
        s->data_offset = options->skip;
    }
    s->element_size = element_size(s->type);
    s->elements = options->length < s->promised ? options->length : s->promised;
    return true;
}

bool source_check_end(struct source *s, uint64_t size)
{
    uint64_t data = size > s->data_offset ? size - s->data_offset : 0;
    const char *where = s->compressed ? " of the decompressed data" : "";

    if (size < s->data_offset) {
        source_error(s, "ends at byte %" PRIu64 "%s, before the %" PRIu64 " bytes to skip", size,
                     where, s->data_offset);
        return false;
    }
    if (s->promised != SOURCE_UNKNOWN && s->elements > data / s->element_size) {
        source_error(s,
                     "ends at byte %" PRIu64 "%s, but its header promises %" PRIu64
                     " elements, up to byte %" PRIu64,
                     size, where, s->promised, s->data_offset + s->promised * s->element_size);
        return false;
    }
    if (s->promised == SOURCE_UNKNOWN && data % s->element_size != 0 &&
        s->elements > data / s->element_size) {
        source_error(s, "byte %" PRIu64 "%s: the last %s element is cut off after %zu of %zu bytes",
                     size - data % s->element_size, where, element_name(s->type),
                     (size_t)(data % s->element_size), s->element_size);
        return false;
    }
    return true;
}

/* Takes the descriptor and the metadata of what `path` names. */
static bool open_file(struct source *s, struct stat *status)
{
    int flags;

    if (strcmp(s->path, "-") == 0) {
        s->fd = STDIN_FILENO;
    } else {
        /* Without O_NONBLOCK a FIFO waits for its writer, as users expect. */
        s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        s->close_fd = s->fd >= 0;
    }
    if (s->fd < 0 || fstat(s->fd, status) != 0) {
        source_error(s, "%s", strerror(errno));
        return false;
    }
    if (S_ISDIR(status->st_mode)) {
        source_error(s, "is a directory");
        return false;
    }
    flags = fcntl(s->fd, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_WRONLY) {
        source_error(s, "is not open for reading");
        return false;
    }
    return true;
}

/* Where a file that can be read at any offset begins and how much it holds. Returns false for all
   that must be read in order: pipes, terminals, and special files without a size (as in /proc). */
static bool has_extent(struct source *s, const struct stat *status)
{
    off_t begin = 0, end;

    if (!S_ISREG(status->st_mode) && !S_ISBLK(status->st_mode))
        return false;
    if (!s->close_fd) {
        begin = lseek(s->fd, 0, SEEK_CUR);
        if (begin < 0)
            return false;
    }
    end = S_ISREG(status->st_mode) ? status->st_size : lseek(s->fd, 0, SEEK_END);
    if (end <= 0)
        return false;
    s->start = (uint64_t)begin;
    s->input_bytes = end > begin ? (uint64_t)(end - begin) : 0;
    return true;
}

/* Whether the input begins as zstd data does; what was read for that goes back to the reader. */
static bool detect_zstd(struct source *s, const struct source_options *options,
                        struct reader *reader, bool *zstd)
{
    unsigned char magic[4];
    ptrdiff_t got;

    *zstd = false;
    if (options->format != SOURCE_AUTO && options->format != SOURCE_ZSTD)
        return true;
    got = reader_fill(reader, magic, sizeof magic);
    if (got < 0)
        return false;
    reader_push(reader, magic, (size_t)got);
    *zstd = zstd_recognise(magic, (size_t)got);
    if (options->format == SOURCE_ZSTD && !*zstd) {
        source_error(s, "not zstd data: no frame begins at byte 0");
        return false;
    }
    return true;
}

static bool open_format(struct source *s, const struct source_options *options, bool has_size,
                        unsigned workers)
{
    struct reader *reader = stream_reader_open(s);

    if (!reader)
        return false;
    if (!detect_zstd(s, options, reader, &s->compressed)) {
        reader->close(reader);
        return false;
    }
    if (has_size && !(s->compressed && options->in_order)) {
        reader->close(reader);
        return s->compressed ? zstd_source_open(s, options, workers)
                             : file_source_open(s, options, workers);
    }
    if (s->compressed) {
        reader = zstd_reader_open(s, reader);
        if (!reader)
            return false;
    }
    return serial_source_open(s, options, reader);
}

struct source *source_open(const char *path, const struct source_options *options, unsigned workers)
{
    static const struct source_ops none = {0};
    char quoted[MESSAGE_QUOTE_MAX];
    struct source *s = calloc(1, sizeof *s);
    struct stat status;

    if (s)
        s->name = strdup(strcmp(path, "-") == 0 ? "standard input" : message_quote(quoted, path));
    if (!s || !s->name) {
        free(s);
        message_error(EXIT_FAILED, "out of memory");
        return NULL;
    }
    s->fd = -1;
    s->ops = &none;
    s->path = path;
    s->input_bytes = SOURCE_UNKNOWN;
    s->window_log = options->window_log ? options->window_log : SOURCE_WINDOW_LOG_DEFAULT;
    atomic_init(&s->limit, SOURCE_UNKNOWN);
    if (!open_file(s, &status) || !open_format(s, options, has_extent(s, &status), workers)) {
        source_close(s);
        return NULL;
    }
    return s;
}

enum source_status source_next(struct source *s, const struct source_request *request,
                               struct chunk *chunk)
{
    if (atomic_load_explicit(&s->failed, memory_order_relaxed))
        return SOURCE_FAILED;
    chunk->mapped = false;
    return s->ops->next(s, request, chunk);
}

void source_lost(struct source *s, const struct chunk *chunk)
{
    if (s->ops->lost)
        s->ops->lost(s, chunk);
    source_error(s, "it changed while it was read");
}

/* Whether the file still holds all that was read. Reading alone does not tell: of a mapped file
   that was cut off, the rest of the last page reads as zeros; and frames of zstd may end where the
   file ends now. */
static void check_length(struct source *s)
{
    uint64_t end = s->start + s->input_bytes;
    struct stat status;

    if (s->input_bytes == SOURCE_UNKNOWN)
        return;
    if (s->parallel && !s->compressed) /* more than --length need not be there */
        end = s->start + s->data_offset + s->elements * s->element_size;
    if (fstat(s->fd, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size < end)
        source_became_shorter(s, (uint64_t)status.st_size);
}

enum source_status source_finish(struct source *s)
{
    enum source_status status = SOURCE_FAILED;

    check_length(s);
    if (!atomic_load(&s->failed))
        status = s->ops->finish ? s->ops->finish(s) : SOURCE_END;
    return atomic_load(&s->failed) ? SOURCE_FAILED : status;
}

uint64_t source_index(const struct source *s, uint64_t position)
{
    return s->ops->index ? s->ops->index(s, position) : position;
}

void source_limit(struct source *s, uint64_t index)
{
    uint64_t before = atomic_load(&s->limit);

    while (index < before && !atomic_compare_exchange_weak(&s->limit, &before, index))
        ;
}

const char *source_format_name(const struct source *s)
{
    if (s->compressed)
        return s->npy ? "npy+zstd" : "zstd";
    return s->npy ? "npy" : "raw";
}

void source_close(struct source *s)
{
    if (s->ops->close)
        s->ops->close(s);
    if (s->close_fd)
        close(s->fd);
    free(s->name);
    free(s);
}
