/*
 * Bytes that come in order: pipes, and zstd decoded from front to back. One worker at a time is the
 * reader, and fills the others' buffers; see source.h.
 */
#include "config.h"

#include "source/serial.h"

#include <pthread.h>
#include <stdlib.h>

#include "source/formats.h"
#include "source/waiters.h"
#include "sys/message.h"

/* Buffers that are filled from a pipe should be as large as it: for each a worker is woken, which
   keeps the reader from reading for some microseconds. */
#define BUFFER_BYTES ((size_t)READER_PIPE_BYTES)

struct serial_state {
    pthread_mutex_t mutex; /* guards the following */
    struct waiter *waiters;
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

    while (got > 0 && s->info.compressed)
        got = reader_fill(state->reader, rest, sizeof rest);
    if (more && got >= 0)
        message_warning("%s: the bytes after the array are left out", s->name);
}

/* Fills the buffer. Returns the number of elements, 0 at the end or on failure. */
static size_t serial_fill(struct source *s, void *buffer, size_t size)
{
    struct serial_state *state = s->state;
    size_t count = size / s->info.element_size;
    uint64_t limit = source_wanted(s);
    ptrdiff_t got;

    if (!serial_skip(s, buffer, size))
        return 0;
    if (state->next >= limit)
        return 0;
    if (s->info.elements != SOURCE_UNKNOWN && count > s->info.elements - state->next)
        count = (size_t)(s->info.elements - state->next);
    got = reader_fill(state->reader, buffer, count * s->info.element_size);
    if (got < 0)
        return 0;
    if ((size_t)got < count * s->info.element_size) {
        uint64_t position = s->data_offset + state->next * s->info.element_size + (uint64_t)got;
        if (!source_check_end(s, position))
            return 0;
        count = (size_t)got / s->info.element_size;
        state->ended = true;
    }
    state->next += count;
    if (state->next == s->info.elements && s->info.elements == s->promised && !state->ended) {
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

    if (state->ended || source_failed(s))
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
    struct waiter *waiter;
    bool filled = false, more = true;

    state->reading = true;
    while (more && ((waiter = waiters_take(&state->waiters)) || !filled)) {
        pthread_mutex_unlock(&state->mutex);
        if (waiter)
            more = serial_chunk(s, waiter->request, waiter->chunk);
        else
            more = filled = serial_chunk(s, request, chunk);
        pthread_mutex_lock(&state->mutex);
        if (waiter)
            waiter_wake(waiter, more ? WAITER_FILLED : WAITER_LOOK_AGAIN);
    }
    state->reading = false;
    state->over = !more;
    if (state->over)
        waiters_wake_all(&state->waiters);
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
            filled = waiters_wait(&state->waiters, &state->mutex, request, chunk) == WAITER_FILLED;
            helpful = true;
        }
    }
    pthread_mutex_unlock(&state->mutex);
    if (source_failed(s))
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

    if (!formats_layout(s, options, reader)) {
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
    state->to_skip = s->header ? 0 : s->data_offset;
    s->state = state;
    s->ops = &ops;
    s->info.buffer_bytes = BUFFER_BYTES;
    return true;
}
