/*
 * Bytes that come in order: pipes, and zstd decoded from front to back. One worker at a time has
 * the role of the reader, and fills the others' buffers; see source.h. The locking is that of
 * waiters.h.
 */
#include "config.h"

#include "source/serial.h"

#include <inttypes.h>
#include <stdlib.h>

#include "source/formats.h"
#include "sys/plural.h"
#include "sys/waiters.h"

/* Buffers that are filled from a pipe should be as large as it: for each a worker is woken, which
   keeps the reader from reading for some microseconds. */
#define BUFFER_BYTES ((size_t)READER_PIPE_BYTES)

enum reader_state {
    READER_FREE, /* any worker may take the role */
    READER_BUSY, /* a worker has it */
    READER_DONE  /* there is nothing more to read */
};

struct serial_state {
    struct waiters waiters;
    enum reader_state reader_state GUARDED_BY(waiters_role);
    unsigned ahead GUARDED_BY(waiters_role); /* workers that read ahead of the reader */

    /* Owned by the worker with the role of the reader; reader->ahead may be called by another
       one. */
    struct reader *reader;
    uint64_t first;  /* position of the first element; unused for a container */
    uint64_t at;     /* position of what is read next, up to the first element */
    uint64_t next;   /* index of the next element, in its array */
    size_t pick;     /* of a container: the array, as in struct chunk; `at` goes on then */
    uint64_t record; /* then: the number of the record in which that lies */
    bool more;       /* then: an array before this one has elements in the next record */
    bool ended;      /* the last element has been read, or the input failed */

    /* The reader of Fortran's records below that, or NULL. */
    struct reader *fortran;

    /* The kind that s was of before, which is closed with it. */
    void *before;
    void (*close_before)(struct source *);
};

/* Fails since the input of a container ends at state->at, before the arrays do. */
static void ends_early(struct source *s)
{
    const struct serial_state *state = s->state;

    source_error_at(s, ERROR_DATA, state->at,
                    "ends at byte %" PRIu64 "%s, but its arrays end at byte %" PRIu64, state->at,
                    s->info.compressed ? " of the decompressed data" : "", s->container->end);
}

/* Reads and drops what lies before `place`. Returns false when the input failed or ended there. */
static bool step_to(struct source *s, uint64_t place, void *buffer, size_t size)
{
    struct serial_state *state = s->state;

    while (state->at < place) {
        const uint64_t left = place - state->at;
        const size_t count = left < size ? (size_t)left : size;
        const ptrdiff_t got = reader_fill(state->reader, buffer, count);

        if (got < 0)
            return false;
        state->at += (uint64_t)got;
        if ((size_t)got < count) {
            if (s->container)
                ends_early(s);
            else
                source_check_end(s, state->at);
            return false;
        }
    }
    return true;
}

/* The array of a .npy is complete. Looks whether anything follows, and decodes compressed data to
   the end, so that damage there, such as a bad checksum, is not missed. */
static void serial_check_rest(struct source *s)
{
    struct serial_state *state = s->state;
    unsigned char rest[4096];
    ptrdiff_t got = reader_fill(state->reader, rest, 1);
    bool more = got > 0;

    while (got > 0 && s->info.compressed)
        got = reader_fill(state->reader, rest, sizeof rest);
    if (more && got >= 0)
        log_warn(s->options.log, s->name, NO_ADVICE, "ignoring the bytes after the array");
}

/* Ends a part, all elements of which have been read: decodes the rest of its frames. */
static void serial_end_part(struct source *s)
{
    struct serial_state *state = s->state;
    unsigned char rest[4096];

    while (!state->reader->passed && reader_read(state->reader, rest, sizeof rest) > 0)
        ;
    state->ended = true;
}

/* Reads up to `size` bytes, as many as there are now; more of them only to end an element. Returns
   how many, 0 at the end, or -1. */
static ptrdiff_t read_promptly(struct reader *r, unsigned char *buffer, size_t size, size_t element)
{
    const ptrdiff_t got = reader_read(r, buffer, size);
    const size_t over = got > 0 ? (size_t)got % element : 0;
    const ptrdiff_t more = over > 0 ? reader_fill(r, buffer + got, element - over) : 0;

    return more < 0 ? -1 : got + more;
}

/* Fills the request's buffer. Returns the number of elements, 0 at the end or on failure. */
static size_t serial_fill(struct source *s, const struct chunk_request *request)
{
    struct serial_state *state = s->state;
    const size_t element = s->info.element_size;
    size_t count = request->size / element;
    uint64_t limit = source_wanted(s);
    ptrdiff_t got;

    if (!step_to(s, state->first, request->buffer, request->size))
        return 0;
    if (state->next >= limit)
        return 0;
    if (s->info.elements != SOURCE_UNKNOWN && count > s->info.elements - state->next)
        count = (size_t)(s->info.elements - state->next);
    if (count == 0 && s->fortran.unseen)
        fortran_reader_see(state->fortran);
    got = request->prompt ? read_promptly(state->reader, request->buffer, count * element, element)
                          : reader_fill(state->reader, request->buffer, count * element);
    if (got < 0)
        return 0;
    if (request->prompt && got > 0)
        count = ((size_t)got + element - 1) / element;
    if ((size_t)got < count * element) {
        uint64_t position = s->data_offset + state->next * element + (uint64_t)got;
        if (!source_check_end(s, position))
            return 0;
        count = (size_t)got / element;
        state->ended = true;
    }
    state->next += count;
    if (s->through > 0 && state->next == s->info.elements)
        serial_end_part(s);
    if (state->next == s->info.elements && s->info.elements == s->stated && !state->ended) {
        serial_check_rest(s);
        state->ended = true;
    }
    return count;
}

/*
 * Containers.
 */

/* All arrays have been handed out. Reads the rest, so that nothing wrong there is missed. */
static void check_behind(struct source *s, void *buffer, size_t size)
{
    struct serial_state *state = s->state;
    uint64_t behind = 0;
    ptrdiff_t got;

    if (!step_to(s, s->container->end, buffer, size))
        return;
    while ((got = reader_fill(state->reader, buffer, size)) > 0)
        behind += (uint64_t)got;
    if (got == 0 && behind > 0 && s->container->nothing_behind)
        source_error_at(s, ERROR_DATA, s->container->end,
                        "%s: byte %" PRIu64 ": the arrays end here, %" PRIu64
                        " byte%s before the file does",
                        s->container->format->article, s->container->end, behind, plural(behind));
}

/* The index of the first element of a pick that is not in its part of record number `record`, or of
   the first that is not requested. */
static uint64_t record_end(const struct source_pick *pick, uint64_t record)
{
    uint64_t end;

    if (pick->array->record_elements == 0 ||
        __builtin_mul_overflow(record + 1, pick->array->record_elements, &end))
        return pick->elements;
    return end < pick->elements ? end : pick->elements;
}

/* Goes on with the next array that has elements left, where all that have been read of one lie
   before the others. Arrays in records come after those that are in one place: when a record ends,
   the next one is begun. Sets state->next. False when there is none. */
static bool go_on(struct source *s)
{
    struct serial_state *state = s->state;

    while (state->pick < s->info.pick_count) {
        const struct source_pick *pick = &s->picks[state->pick];

        if (state->next < record_end(pick, state->record))
            return true;
        state->more = state->more || state->next < pick->elements;
        state->pick++;
        if (state->pick == s->info.pick_count && state->more) {
            while (state->pick > 0 && s->picks[state->pick - 1].array->record_elements > 0)
                state->pick--;
            state->record++;
            state->more = false;
        }
        if (state->pick < s->info.pick_count)
            state->next =
                state->record > 0 ? record_end(&s->picks[state->pick], state->record - 1) : 0;
    }
    return false;
}

/* Fills the buffer with elements of one array, and sets which. Returns their number, 0 at the end
   or on failure. */
static size_t fill_array(struct source *s, void *buffer, size_t size, struct chunk *chunk)
{
    struct serial_state *state = s->state;
    const struct source_pick *pick;
    size_t element, count;
    uint64_t end;
    ptrdiff_t got;

    if (!go_on(s)) {
        check_behind(s, buffer, size);
        return 0;
    }
    pick = &s->picks[state->pick];
    element = element_size(pick->array->type);
    end = record_end(pick, state->record);
    if (!step_to(s, container_array_offset(pick->array, state->next, element), buffer, size))
        return 0;
    count = size / element;
    if (count > end - state->next)
        count = (size_t)(end - state->next);
    got = reader_fill(state->reader, buffer, count * element);
    if (got < 0)
        return 0;
    state->at += (uint64_t)got;
    if ((size_t)got < count * element) {
        ends_early(s);
        return 0;
    }
    chunk->array = state->pick;
    chunk->index = state->next;
    state->next += count;
    return count;
}

/* Fills a chunk for whoever asked for it. False when there is nothing more. */
static bool serial_chunk(struct source *s, const struct chunk_request *request, struct chunk *chunk)
{
    struct serial_state *state = s->state;

    if (state->ended || source_failed(s))
        return false;
    chunk->index = state->next;
    chunk->count = s->container ? fill_array(s, request->buffer, request->size, chunk)
                                : serial_fill(s, request);
    chunk->data = request->buffer;
    if (chunk->count == 0)
        state->ended = true;
    return chunk->count > 0;
}

/* The role of the reader: fills buffers as long as somebody waits for it, and the worker's own.
   Whether that was filled. Drops the mutex while it reads. */
REQUIRES(waiters_role)
static bool serial_read_locked(struct source *s, const struct chunk_request *request,
                               struct chunk *chunk)
{
    struct serial_state *state = s->state;
    struct waiter *waiter;
    bool filled = false, more = true;

    state->reader_state = READER_BUSY;
    while (more && ((waiter = waiters_take_locked(&state->waiters)) || !filled)) {
        waiters_unlock(&state->waiters);
        if (waiter)
            more = serial_chunk(s, waiter->request, waiter->reply);
        else
            more = filled = serial_chunk(s, request, chunk);
        waiters_lock(&state->waiters);
        if (waiter)
            waiter_wake_locked(waiter, more ? WAITER_FULFILLED : WAITER_LOOK_AGAIN);
    }
    state->reader_state = more ? READER_FREE : READER_DONE;
    if (!more)
        waiters_wake_all_locked(&state->waiters);
    return filled;
}

/* Before a worker waits for the reader: reads ahead, unless others do all of that. Whether there was
   something to do. Drops the mutex while it reads. */
REQUIRES(waiters_role)
static bool serial_ahead_locked(struct serial_state *state)
{
    bool done;

    if (!state->reader->ahead || (state->ahead > 0 && !state->reader->many_ahead))
        return false;
    state->ahead++;
    waiters_unlock(&state->waiters);
    done = state->reader->ahead(state->reader);
    waiters_lock(&state->waiters);
    state->ahead--;
    return done;
}

static enum source_status serial_next(struct source *s, const struct chunk_request *request,
                                      struct chunk *chunk)
{
    struct serial_state *state = s->state;
    bool filled = false, may_help = true;

    if (request->drain) /* workers claim nothing here */
        return SOURCE_END;
    waiters_lock(&state->waiters);
    while (!filled && state->reader_state != READER_DONE) {
        if (state->reader_state == READER_FREE) {
            filled = serial_read_locked(s, request, chunk);
        } else if (may_help) {
            may_help = serial_ahead_locked(state);
        } else {
            filled = waiters_wait_locked(&state->waiters, request, chunk) == WAITER_FULFILLED;
            may_help = true;
        }
    }
    waiters_unlock(&state->waiters);
    if (source_failed(s))
        return SOURCE_FAILED;
    return filled ? SOURCE_CHUNK : SOURCE_END;
}

static bool serial_help(struct source *s)
{
    struct serial_state *state = s->state;

    return s->info.helped && state->reader->ahead(state->reader);
}

static void serial_close(struct source *s)
{
    struct serial_state *state = s->state;

    waiters_destroy(&state->waiters);
    state->reader->close(state->reader);
    s->state = state->before;
    if (state->close_before)
        state->close_before(s);
    free(state);
}

bool serial_source_open_arrays(struct source *s, struct reader *reader)
{
    static const struct source_ops ops = {
        .next = serial_next, .help = serial_help, .close = serial_close};
    struct serial_state *state = calloc(1, sizeof *state);

    if (!state) {
        (void)source_no_memory(s);
        reader->close(reader);
        return false;
    }
    waiters_init(&state->waiters);
    state->reader = reader;
    state->before = s->state;
    state->close_before = s->ops->close;
    s->state = state;
    s->ops = &ops;
    s->info.buffer_bytes = BUFFER_BYTES;
    /* A pipe may have nothing to read until its writer has written elsewhere. */
    s->info.helped = s->has_size && reader->many_ahead;
    return true;
}

bool serial_source_open(struct source *s, struct reader *reader)
{
    struct reader *fortran = NULL;
    struct serial_state *state;

    if (!formats_layout(s, reader)) {
        reader->close(reader);
        return false;
    }
    if (s->fortran.marker > 0)
        reader = fortran = fortran_reader_open(s, &s->options.record, s->data_offset, reader);
    if (reader && s->options.record.bytes > 0)
        reader = record_reader_open(s, &s->options.record, s->data_offset, reader);
    if (!reader || !serial_source_open_arrays(s, reader))
        return false;
    state = s->state;
    state->fortran = fortran;
    state->first = s->data_offset;
    state->at = s->header ? s->data_offset : 0;
    return true;
}

bool serial_source_resume(struct source *s, struct reader *reader, uint64_t good, uint64_t drop)
{
    struct serial_state *state;

    if (!serial_source_open_arrays(s, reader))
        return false;
    state = s->state;
    state->first = good;
    state->at = good - drop;
    state->next = (good - s->data_offset) / s->info.element_size;
    return true;
}
