/*
 * Regular files, raw and .npy: every worker claims the next range with one atomic add and reads it
 * into its own buffer.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "message.h"
#include "source.h"

struct file_state {
    _Atomic uint64_t next; /* first element that nobody has claimed */
};

static enum source_status file_next(struct source *s, unsigned worker, void *buffer, size_t size,
                                    struct chunk *chunk)
{
    struct file_state *f = s->state;
    uint64_t count = size / s->element_size;
    uint64_t limit = atomic_load_explicit(&s->limit, memory_order_relaxed);
    uint64_t end = s->elements < limit ? s->elements : limit;
    uint64_t index, offset;
    ptrdiff_t got;

    (void)worker;
    /* Looking first keeps the counter from growing with every worker that finds the end. */
    if (atomic_load_explicit(&f->next, memory_order_relaxed) >= end)
        return SOURCE_END;
    index = atomic_fetch_add(&f->next, count);
    if (index >= end)
        return SOURCE_END;
    if (count > end - index)
        count = end - index;

    offset = s->start + s->data_offset + index * s->element_size;
    got = source_pread(s, buffer, (size_t)count * s->element_size, offset);
    if (got < 0)
        return SOURCE_FAILED;
    if ((uint64_t)got < count * s->element_size) {
        source_error(s, "ends at byte %" PRIu64 ": it became shorter while it was read",
                     offset + (uint64_t)got);
        return SOURCE_FAILED;
    }
    chunk->index = index;
    chunk->count = (size_t)count;
    chunk->data = buffer;
    return SOURCE_CHUNK;
}

static void file_close(struct source *s)
{
    free(s->state);
}

bool file_source_open(struct source *s, const struct source_options *options)
{
    static const struct source_ops ops = {.next = file_next, .close = file_close};
    struct reader *reader = stream_reader_open(s);
    struct file_state *f;
    uint64_t available;
    bool ok = reader && source_layout(s, options, reader);

    if (reader)
        reader->close(reader);
    if (!ok || !source_check_end(s, s->input_bytes))
        return false;
    available = (s->input_bytes - s->data_offset) / s->element_size;
    if (s->promised != SOURCE_UNKNOWN && s->promised < available)
        message_warning("%s: %" PRIu64 " bytes after the array are left out", s->name,
                        s->input_bytes - s->data_offset - s->promised * s->element_size);
    if (s->elements > available)
        s->elements = available;

    f = malloc(sizeof *f);
    if (!f) {
        source_error(s, "out of memory");
        return false;
    }
    atomic_init(&f->next, 0);
    atomic_store(&s->input_read, 0); /* what was read to detect the format is read again */
    s->state = f;
    s->ops = &ops;
    s->parallel = true;
    return true;
}
