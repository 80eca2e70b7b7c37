#include "config.h"

#include "source/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/clock.h"

static bool input_ahead(struct reader *r)
{
    return r->input->ahead(r->input);
}

void reader_close(struct reader *r)
{
    if (r->input)
        r->input->close(r->input);
    free(r->kept);
    free(r);
}

void *reader_open(struct source *s, struct reader *input,
                  ptrdiff_t (*read)(struct reader *, void *, size_t), size_t size, size_t cleared)
{
    struct reader *r = malloc(size);

    if (!r) {
        (void)source_no_memory(s);
        if (input)
            input->close(input);
        return NULL;
    }
    /* Clearing the bytes that are pushed later would be a part of the time of small files. */
    memset(r, 0, offsetof(struct reader, pushed_bytes));
    memset(r + 1, 0, cleared - sizeof *r);
    r->read = read;
    r->close = reader_close;
    r->ahead = input && input->ahead ? input_ahead : NULL;
    r->many_ahead = input && input->many_ahead;
    r->source = s;
    r->input = input;
    return r;
}

/* NOLINTNEXTLINE(misc-no-recursion): readers lie on each other */
ptrdiff_t reader_read(struct reader *r, void *buffer, size_t size)
{
    size_t count = r->pushed < size ? r->pushed : size;
    ptrdiff_t got;

    if (size == 0) /* a decoder reads on until it has a byte */
        return 0;
    if (r->kept_at < r->kept_size) {
        count = r->kept_size - r->kept_at < size ? r->kept_size - r->kept_at : size;
        memcpy(buffer, r->kept + r->kept_at, count);
        r->kept_at += count;
        if (r->kept_at == r->kept_size) {
            free(r->kept);
            r->kept = NULL;
        }
        return (ptrdiff_t)count;
    }
    if (count == 0 && r->skip > 0) {
        got = reader_read(r->input, buffer, size < r->skip ? size : (size_t)r->skip);
        r->skip -= got > 0 ? (uint64_t)got : 0;
        return got;
    }
    if (count == 0)
        return r->read(r, buffer, size);
    memcpy(buffer, r->pushed_bytes + READER_PUSHED_MAX - r->pushed, count);
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
    r->pushed += size;
    memcpy(r->pushed_bytes + READER_PUSHED_MAX - r->pushed, bytes, size);
}

struct input_reader {
    struct reader base;
    uint64_t offset; /* bytes read */
};

/* How often who waits for an input looks whether it is cancelled. Milliseconds. */
#define LOOK_AFTER 20

/* Waits until there is something to read. False when the source is cancelled, or on failure. */
static bool wait_for_input(struct source *s)
{
    struct pollfd poll_fd = {.fd = s->fd, .events = POLLIN};
    int ready = 0;

    while (!source_failed(s) && (ready == 0 || (ready < 0 && errno == EINTR))) {
        ready = poll(&poll_fd, 1, s->options.cancellable ? LOOK_AFTER : -1);
        if (ready == 0 && s->options.cancelled && s->options.cancelled(s->options.cancel_context))
            source_cancel(s);
    }
    return ready > 0;
}

/* Calls the function that stands for a file. Returns how many bytes it gave, or -1. */
static ssize_t call_read(struct source *s, void *buffer, size_t size, uint64_t offset)
{
    int64_t n;

    if (s->options.cancelled && s->options.cancelled(s->options.cancel_context))
        source_cancel(s);
    if (source_failed(s))
        return -1;
    n = s->options.read(s->options.read_context, buffer, size, offset);
    if (n >= 0 && (uint64_t)n <= size)
        return (ssize_t)n;
    if (n < 0)
        source_error_at(s, ERROR_READ, offset, "read error at byte %" PRIu64, offset);
    else
        source_error_at(s, ERROR_READ, offset,
                        "read error at byte %" PRIu64 ": the function returned %" PRId64
                        " for %zu bytes",
                        offset, n, size);
    return -1;
}

/* Reads bytes of the descriptor as soon as it has some. Returns how many, or -1. */
static ssize_t read_descriptor(struct source *s, void *buffer, size_t size, uint64_t offset)
{
    ssize_t n;

    do /* another process may have made the descriptor non-blocking */
        n = !s->options.cancellable || wait_for_input(s) ? read(s->fd, buffer, size) : -1;
    while (n < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_input(s))) &&
           !source_failed(s));
    if (n < 0)
        source_unreadable(s, offset, errno);
    return n;
}

static ptrdiff_t input_read(struct reader *r, void *buffer, size_t size)
{
    struct input_reader *input = (struct input_reader *)r;
    struct source *s = r->source;
    uint64_t begun;
    ssize_t n;

    if (input->offset < s->head_size) {
        size_t count = s->head_size - (size_t)input->offset;

        count = size < count ? size : count;
        memcpy(buffer, s->head + input->offset, count);
        input->offset += count;
        source_count(s, count, 0);
        return (ptrdiff_t)count;
    }
    if (s->info.input_bytes != SOURCE_UNKNOWN) {
        const uint64_t left = s->info.input_bytes - input->offset;

        size = size < left ? size : (size_t)left;
        if (!source_pread_all(s, buffer, size, s->start + input->offset))
            return -1;
        input->offset += size;
        return (ptrdiff_t)size;
    }
    begun = clock_now();
    n = s->options.read ? call_read(s, buffer, size, input->offset)
                        : read_descriptor(s, buffer, size, input->offset);
    if (n < 0)
        return -1;
    input->offset += (uint64_t)n;
    source_count(s, (uint64_t)n, clock_now() - begun);
    return n;
}

struct reader *input_reader_open(struct source *s, uint64_t offset)
{
    struct input_reader *input = reader_open(s, NULL, input_read, sizeof *input, sizeof *input);

    if (!input)
        return NULL;
    input->offset = offset;
    if (s->info.input_bytes == SOURCE_UNKNOWN)
        (void)fcntl(s->fd, F_SETPIPE_SZ, READER_PIPE_BYTES); /* fails for what is no pipe */
    return &input->base;
}
