/*
 * Bytes that come in order: pipes, and zstd decoded from front to back. One worker at a time is the
 * reader, and fills the others' buffers; see source.h.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/source.h"
#include "sys/clock.h"
#include "sys/message.h"

/* As large as an unprivileged process may ask for. The default of 64 KiB makes the writer and this
   reader take turns sixteen times as often. */
#define PIPE_BYTES (1 << 20)

/* As large should be the buffers that are filled from it: for each a worker is woken, which keeps
   the reader from reading for some microseconds. */
#define BUFFER_BYTES ((size_t)PIPE_BYTES)

struct stream_reader {
    struct reader base;
    struct source *source;
    uint64_t offset; /* bytes read */
};

/* Waits for a descriptor that somebody made non-blocking. */
static bool wait_for_input(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, -1) > 0 || errno == EINTR;
}

static ptrdiff_t stream_read(struct reader *r, void *buffer, size_t size)
{
    struct stream_reader *stream = (struct stream_reader *)r;
    struct source *s = stream->source;
    uint64_t begun;
    ssize_t n;

    if (s->input_bytes != SOURCE_UNKNOWN) {
        uint64_t left = s->input_bytes - stream->offset;
        n = source_pread(s, buffer, size < left ? size : (size_t)left, s->start + stream->offset);
        if (n > 0)
            stream->offset += (uint64_t)n;
        return n;
    }
    begun = clock_now();
    do
        n = read(s->fd, buffer, size);
    while (n < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_input(s->fd))));
    if (n < 0) {
        source_error(s, "read error at byte %" PRIu64 ": %s", stream->offset, strerror(errno));
        return -1;
    }
    stream->offset += (uint64_t)n;
    atomic_fetch_add(&s->input_read, (uint64_t)n);
    atomic_fetch_add(&s->read_time, clock_now() - begun);
    return n;
}

static void stream_close(struct reader *r)
{
    free(r);
}

struct reader *stream_reader_open(struct source *s)
{
    struct stream_reader *stream = calloc(1, sizeof *stream);

    if (!stream) {
        source_error(s, "out of memory");
        return NULL;
    }
    stream->base.read = stream_read;
    stream->base.close = stream_close;
    stream->source = s;
#ifdef F_SETPIPE_SZ
    if (s->input_bytes == SOURCE_UNKNOWN)
        (void)fcntl(s->fd, F_SETPIPE_SZ, PIPE_BYTES); /* fails, harmlessly, for what is no pipe */
#endif
    return &stream->base;
}

struct serial_state {
    pthread_mutex_t mutex; /* guards the following */
    struct source_waiter *waiters;
    bool reading; /* a worker has the role of the reader */
    bool ahead;   /* a worker reads ahead of it */
    bool over;    /* nothing more is to be had */

    /* The reader's. */
    struct reader *reader;
    uint64_t to_skip; /* bytes to leave out before the first element */
    uint64_t next;    /* index of the next element */
    bool ended;
};

/* Reads and drops what is to be skipped. Returns false when the input failed or ended there. */
static bool serial_skip(struct source *s, void *buffer, size_t size)
{
    struct serial_state *state = s->state;

    while (state->to_skip > 0) {
        size_t count = size < state->to_skip ? size : (size_t)state->to_skip;
        ptrdiff_t got = reader_fill(state->reader, buffer, count);
        if (got < 0)
            return false;
        state->to_skip -= (uint64_t)got;
        if ((size_t)got < count) {
            source_check_end(s, s->data_offset - state->to_skip);
            return false;
        }
    }
    return true;
}

/* The array of a .npy is complete: reads on, and compressed data to the end, so that damage there,
   a bad checksum say, does not pass unseen. */
static void serial_check_rest(struct source *s)
{
    struct serial_state *state = s->state;
    unsigned char rest[4096];
    ptrdiff_t got = reader_fill(state->reader, rest, 1);
    bool more = got > 0;

    while (got > 0 && s->compressed)
        got = reader_fill(state->reader, rest, sizeof rest);
    if (more && got >= 0)
        message_warning("%s: the bytes after the array are left out", s->name);
}

/* Fills the buffer. Returns the number of elements, 0 at the end or on failure. */
static size_t serial_fill(struct source *s, void *buffer, size_t size)
{
    struct serial_state *state = s->state;
    size_t count = size / s->element_size;
    uint64_t limit = atomic_load_explicit(&s->limit, memory_order_relaxed);
    ptrdiff_t got;

    if (!serial_skip(s, buffer, size))
        return 0;
    if (state->next >= limit)
        return 0;
    if (s->elements != SOURCE_UNKNOWN && count > s->elements - state->next)
        count = (size_t)(s->elements - state->next);
    got = reader_fill(state->reader, buffer, count * s->element_size);
    if (got < 0)
        return 0;
    if ((size_t)got < count * s->element_size) {
        uint64_t position = s->data_offset + state->next * s->element_size + (uint64_t)got;
        if (!source_check_end(s, position))
            return 0;
        count = (size_t)got / s->element_size;
        state->ended = true;
    }
    state->next += count;
    if (state->next == s->elements && s->elements == s->promised && !state->ended) {
        serial_check_rest(s);
        state->ended = true;
    }
    return count;
}

/* Fills a chunk for whoever asked for it; the role is held, the mutex is not. */
static bool serial_chunk(struct source *s, const struct source_request *request,
                         struct chunk *chunk)
{
    struct serial_state *state = s->state;

    if (state->ended || atomic_load(&s->failed))
        return false;
    chunk->index = state->next;
    chunk->count = serial_fill(s, request->buffer, request->size);
    chunk->data = request->buffer;
    if (chunk->count == 0)
        state->ended = true;
    return chunk->count > 0;
}

/* The role of the reader, taken with the mutex held: fills buffers as long as somebody waits for
   it, and the worker's own. Whether that was filled. */
static bool serial_read(struct source *s, const struct source_request *request, struct chunk *chunk)
{
    struct serial_state *state = s->state;
    struct source_waiter *waiter;
    bool filled = false, more = true;

    state->reading = true;
    while (more && ((waiter = source_waiter(&state->waiters)) || !filled)) {
        pthread_mutex_unlock(&state->mutex);
        if (waiter)
            more = serial_chunk(s, waiter->request, waiter->chunk);
        else
            more = filled = serial_chunk(s, request, chunk);
        pthread_mutex_lock(&state->mutex);
        if (waiter)
            source_call(waiter, more ? SOURCE_CHUNK : SOURCE_AGAIN);
    }
    state->reading = false;
    state->over = !more;
    if (state->over)
        source_call_all(&state->waiters);
    return filled;
}

/* Before a worker waits for the reader, with the mutex held, which may be released meanwhile: reads
   ahead, when nobody does. Whether there was something to do. */
static bool serial_ahead(struct serial_state *state)
{
    bool done;

    if (!state->reader->ahead || state->ahead)
        return false;
    state->ahead = true;
    pthread_mutex_unlock(&state->mutex);
    done = state->reader->ahead(state->reader);
    pthread_mutex_lock(&state->mutex);
    state->ahead = false;
    return done;
}

static enum source_status serial_next(struct source *s, const struct source_request *request,
                                      struct chunk *chunk)
{
    struct serial_state *state = s->state;
    bool filled = false, helpful = true;

    pthread_mutex_lock(&state->mutex);
    while (!filled && !state->over) {
        if (!state->reading) {
            filled = serial_read(s, request, chunk);
        } else if (helpful) {
            helpful = serial_ahead(state);
        } else {
            filled = source_wait(&state->waiters, &state->mutex, request, chunk) == SOURCE_CHUNK;
            helpful = true;
        }
    }
    pthread_mutex_unlock(&state->mutex);
    if (atomic_load(&s->failed))
        return SOURCE_FAILED;
    return filled ? SOURCE_CHUNK : SOURCE_END;
}

static void serial_close(struct source *s)
{
    struct serial_state *state = s->state;

    pthread_mutex_destroy(&state->mutex);
    state->reader->close(state->reader);
    free(state);
}

bool serial_source_open(struct source *s, const struct source_options *options,
                        struct reader *reader)
{
    static const struct source_ops ops = {.next = serial_next, .close = serial_close};
    struct serial_state *state;

    if (!source_layout(s, options, reader)) {
        reader->close(reader);
        return false;
    }
    state = calloc(1, sizeof *state);
    if (!state) {
        source_error(s, "out of memory");
        reader->close(reader);
        return false;
    }
    pthread_mutex_init(&state->mutex, NULL);
    state->reader = reader;
    state->to_skip = s->npy ? 0 : s->data_offset;
    s->state = state;
    s->ops = &ops;
    s->buffer_bytes = BUFFER_BYTES;
    return true;
}
