#include "config.h"

#include "source/zstd.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "source/formats.h"
#include "source/serial.h"
#include "zstd/context.h"
#include "zstd/frames.h"
#include "zstd/reader.h"
#include "zstd/schedule.h"
#include "zstd/stream.h"

struct zstd_file *zstd_source_file(struct source *s)
{
    struct zstd_file *file = &s->zstd;

    file->fd = s->fd;
    file->start = s->start;
    file->size = s->info.input_bytes;
    file->limit = &s->limit;
    return file;
}

UNCHECKED void zstd_source_error(struct source *s)
{
    struct error error = {.kind = ERROR_NONE};

    mutex_lock(&s->zstd.mutex);
    if (zstd_failed(&s->zstd) || zstd_error_noted(&s->zstd) != ZSTD_UNKNOWN)
        error = s->zstd.error;
    mutex_unlock(&s->zstd.mutex);
    if (error.kind != ERROR_NONE)
        source_fail(s, error);
}

/*
 * Facts about a file before it is read.
 */

/* Pages that are asked for. */
#define PROBES 32

static bool is_uncached(const struct source *s)
{
    size_t size;
    unsigned char *map = source_map(s, &size);
    unsigned uncached;

    if (!map)
        return false;
    uncached = source_uncached(map, s->start, s->info.input_bytes, PROBES);
    munmap(map, size);
    return uncached > PROBES / 2;
}

/* How much of a beginning is decoded: bytes of the file, and of what they decode to, about. */
#define RATIO_INPUT ((size_t)512 << 10)
#define RATIO_CONTENT ((size_t)8 << 20)

/* Bytes that tell how many more libzstd wants to begin a frame. */
#define FRAME_BEGINS 5

/* Decodes the beginning, as far as that can be done, and returns how many bytes one of it decodes
   to; 0 where it decodes to nothing. libzstd gets no more than it asks for: so what it has taken
   when something comes out is what that comes from. */
static double decode_beginning(ZSTD_DCtx *context, const void *bytes, size_t size, void *room)
{
    ZSTD_inBuffer in = {bytes, 0, 0};
    size_t content = 0, from = 0, wanted = FRAME_BEGINS;
    bool more = true;

    while (more && content < RATIO_CONTENT) {
        ZSTD_outBuffer out = {room, ZSTD_DStreamOutSize(), 0};
        const size_t before = in.pos;

        in.size = wanted < size - in.pos ? in.pos + wanted : size;
        wanted = ZSTD_decompressStream(context, &out, &in);
        if (ZSTD_isError(wanted))
            break;
        wanted = wanted > 0 ? wanted : FRAME_BEGINS;
        content += out.pos;
        from = out.pos > 0 ? in.pos : from;
        more = out.pos > 0 || in.pos > before;
    }
    return from > 0 ? (double)content / (double)from : 0;
}

/* The ratio at the beginning of a file. Also 0 without memory, or if it cannot be read: the source
   then fails. */
static double ratio_at_beginning(struct source *s)
{
    unsigned char *bytes = malloc(RATIO_INPUT), *room = malloc(ZSTD_DStreamOutSize());
    ZSTD_DCtx *context = zstd_context_open(&s->zstd);
    double ratio = 0;

    if (bytes && room && context) {
        size_t got;
        const int error = source_try_pread(s, s->fd, bytes, RATIO_INPUT, s->start, &got);

        if (error > 0)
            source_unreadable(s, got, error);
        atomic_store(&s->input_read, 0); /* it is read again */
        atomic_store(&s->read_time, 0);
        if (error <= 0 && got > 0)
            ratio = decode_beginning(context, bytes, got, room);
    }
    ZSTD_freeDCtx(context);
    free(room);
    free(bytes);
    return ratio;
}

void zstd_source_look(struct source *s, bool closely, struct source_facts *facts)
{
    const struct zstd_frame first = zstd_first_frame(s->head, s->head_size);

    facts->content = first.content;
    facts->checked = first.checksum && !s->zstd.no_check;
    if (!closely)
        return;
    facts->uncached = is_uncached(s);
    if (first.content == SOURCE_UNKNOWN || first.content < s->info.input_bytes)
        facts->ratio = ratio_at_beginning(s);
}

/*
 * The reader of any zstd data, from front to back.
 */

struct decoded {
    struct reader base;         /* without an input while a stream goes on */
    struct zstd_stream *stream; /* NULL: libzstd decodes all of it */
    bool streaming;             /* the stream has not ended */
    struct zstd_reader *reader; /* NULL while a stream goes on */
};

static ptrdiff_t read_input(void *input, void *buffer, size_t size)
{
    return reader_read(input, buffer, size);
}

/* Has libzstd decode from byte `offset` of the source's input on, where a frame begins and d's input
   stands, at this position of the content. False without memory, also for d's input. */
static bool begin_reader(struct decoded *d, uint64_t offset, uint64_t position)
{
    struct reader *input = d->base.input;

    if (input)
        d->reader =
            zstd_reader_open(zstd_source_file(d->base.source), read_input, input, offset, position);
    return d->reader || source_no_memory(d->base.source);
}

/* Goes on by libzstd where the stream has ended, after what has been read. False on failure. */
static bool leave_stream(struct decoded *d)
{
    const struct zstd_stream_end end = zstd_stream_end(d->stream);
    const size_t size = ZSTD_DStreamOutSize();
    unsigned char *drop;
    uint64_t left = end.read;
    ptrdiff_t got = 1;

    d->streaming = false;
    d->base.input = input_reader_open(d->base.source, end.offset);
    if (!begin_reader(d, end.offset, end.position))
        return false;
    drop = left > 0 ? malloc(size) : NULL;
    if (left > 0 && !drop)
        return source_no_memory(d->base.source);
    for (; left > 0 && got > 0; left -= (uint64_t)got)
        got = zstd_reader_read(d->reader, drop, left < size ? (size_t)left : size, false);
    free(drop);
    return got >= 0;
}

static ptrdiff_t decoded_read(struct reader *r, void *buffer, size_t size)
{
    struct decoded *d = (struct decoded *)r;
    ptrdiff_t got = d->streaming ? (ptrdiff_t)zstd_stream_read(d->stream, buffer, size) : 0;

    if (got > 0 || size == 0)
        return got;
    got = -1;
    if (d->streaming ? leave_stream(d) : d->reader != NULL)
        got = zstd_reader_read(d->reader, buffer, size, r->probing);
    if (d->reader) {
        r->at_end = zstd_reader_ends(d->reader)->at_end;
        r->passed = zstd_reader_ends(d->reader)->passed;
    }
    if (got < 0)
        zstd_source_error(d->base.source);
    return got;
}

static bool decoded_ahead(struct reader *r)
{
    struct decoded *d = (struct decoded *)r;

    return d->stream ? zstd_stream_help(d->stream) : zstd_reader_ahead(d->reader);
}

static void decoded_close(struct reader *r)
{
    struct decoded *d = (struct decoded *)r;

    if (d->stream)
        zstd_stream_close(d->stream);
    if (d->reader)
        zstd_reader_close(d->reader);
    reader_close(r);
}

/* A reader without a decoder. NULL without memory. */
static struct decoded *make_decoded(struct source *s, struct reader *input)
{
    struct decoded *d = reader_open(s, input, decoded_read, sizeof *d, sizeof *d);

    if (d) {
        d->base.close = decoded_close;
        d->base.ahead = decoded_ahead;
    }
    return d;
}

/* Has libzstd decode all of the input, as begin_reader does. NULL on failure; the reader is closed then. */
static struct reader *begin_all(struct decoded *d, uint64_t origin, uint64_t position)
{
    if (begin_reader(d, origin, position))
        return &d->base;
    decoded_close(&d->base);
    return NULL;
}

struct reader *zstd_source_reader(struct source *s, struct reader *input, uint64_t origin,
                                  uint64_t position)
{
    struct decoded *d = input ? make_decoded(s, input) : NULL;

    return d ? begin_all(d, origin, position) : NULL;
}

bool zstd_source_layout(struct source *s, struct reader *input)
{
    struct reader *reader = zstd_source_reader(s, input, 0, 0);
    const bool good = reader && formats_layout(s, reader);

    if (reader)
        reader->close(reader);
    return good;
}

struct reader *zstd_source_reader_by_all(struct source *s, struct reader *input, unsigned workers)
{
    struct decoded *d = make_decoded(s, input);

    if (!d)
        return NULL;
    /* Nothing is decoded after the last element that is asked for. */
    if (s->has_size && s->options.length == SOURCE_UNKNOWN && !s->options.headers_only)
        d->stream = zstd_stream_open(zstd_source_file(s), workers);
    if (!d->stream)
        return begin_all(d, 0, 0);
    input->close(input);
    d->base.input = NULL;
    d->streaming = true;
    d->base.many_ahead = true;
    return &d->base;
}

/*
 * The source that is decoded in parallel.
 */

static enum source_status zstd_next(struct source *s, const struct chunk_request *request,
                                    struct chunk *chunk)
{
    if (zstd_schedule_next(s->state, request, chunk))
        return SOURCE_CHUNK;
    if (!zstd_failed(&s->zstd))
        return SOURCE_END;
    zstd_source_error(s);
    return SOURCE_FAILED;
}

/* Whether bytes lie behind the array that the header promises. */
static bool more_than_promised(const struct source *s, uint64_t total)
{
    return s->stated != SOURCE_UNKNOWN && s->info.elements == s->stated &&
           total > s->data_offset + s->stated * s->info.element_size;
}

enum source_verdict zstd_source_finish_total(struct source *s, uint64_t total, bool true_positions)
{
    const bool more = more_than_promised(s, total);

    if (!true_positions && more)
        return SOURCE_REREAD; /* what lies behind the array was handed out, too */
    if (more)
        log_warn(s->options.log, s->name, NO_ADVICE, "ignoring the bytes after the array");
    return source_check_end(s, total) ? SOURCE_COMPLETE : SOURCE_BROKEN;
}

static enum source_verdict zstd_finish(struct source *s)
{
    struct zstd_index *index = zstd_schedule_finish(s->state);
    uint64_t limit = source_wanted(s), last = SOURCE_UNKNOWN;

    /* Whether what is wrong lies behind the last element that is asked for, reading in order tells. */
    if (atomic_load(&s->zstd.retry) ||
        (s->zstd.stop != SOURCE_UNKNOWN && zstd_error_noted(&s->zstd) != ZSTD_UNKNOWN))
        return SOURCE_REREAD;
    zstd_source_error(s);
    if (source_failed(s))
        return SOURCE_BROKEN;
    if (!index)
        return SOURCE_REREAD;
    /* Frames after the limit were not decoded to their ends. */
    if (limit != SOURCE_UNKNOWN)
        last = s->data_offset + limit * s->info.element_size;
    if (!zstd_index_resolve(index, last))
        return SOURCE_REREAD;
    if (s->options.part
            .cut) /* how much there is was known when it was opened; positions are true */
        return SOURCE_COMPLETE;
    if (limit == SOURCE_UNKNOWN)
        return zstd_source_finish_total(s, zstd_index_total(index), index->count == 0);
    /* The rest was not asked for, and not looked at. But whether what ended it all lies in the
       array of a .npy can only be told from true positions. */
    return index->count > 0 && s->stated != SOURCE_UNKNOWN ? SOURCE_REREAD : SOURCE_COMPLETE;
}

static uint64_t zstd_true_index(const struct source *s, uint64_t element)
{
    return zstd_index_true(zstd_schedule_index(s->state), element);
}

static void zstd_leave(struct source *s, unsigned worker)
{
    zstd_schedule_leave(s->state, worker);
}

static void zstd_close(struct source *s)
{
    zstd_schedule_close(s->state);
}

/* Limits the source, whose layout is known, to a part that was cut, if there is one. */
static bool set_part(struct source *s)
{
    const struct source_part *part = &s->options.part;
    const struct zstd_cut *frames = &part->frames;
    const size_t size = s->info.element_size;
    uint64_t available;

    if (!part->cut)
        return true;
    if (!source_check_end(s, frames->content))
        return false;
    if (part->begin == 0 && more_than_promised(s, frames->content))
        log_warn(s->options.log, s->name, NO_ADVICE, "ignoring the bytes after the array");
    available = (frames->content - s->data_offset) / size;
    if (available > s->stated)
        available = s->stated;
    s->info.cut = true;
    s->info.cut_bytes = part->end - part->begin;
    s->info.of = s->info.elements < available ? s->info.elements : available;
    s->info.first = container_elements_before(s->array, frames->content_begin, size, s->info.of);
    s->info.elements = container_elements_before(s->array, frames->content_end, size, s->info.of);

    /* Data after --length are not looked at. */
    if (s->info.of == available || s->info.elements < s->info.of)
        s->through = part->end;
    s->zstd.stop = s->through > 0 ? SOURCE_UNKNOWN : source_end_position(s);
    return true;
}

/* Finds out what the decoded bytes are, and limits the source to its part. */
static bool read_layout(struct source *s)
{
    return zstd_source_layout(s, input_reader_open(s, 0)) && set_part(s);
}

bool zstd_part_open_in_order(struct source *s)
{
    const struct source_part *part = &s->options.part;
    const struct zstd_cut *frames = &part->frames;
    struct reader *reader;
    uint64_t begin;

    if (!read_layout(s))
        return false;
    atomic_store(&s->input_read, 0);
    reader = zstd_source_reader(s, input_reader_open(s, part->begin), part->begin,
                                frames->content_begin);
    if (!reader)
        return false;
    if (s->through > 0)
        *zstd_reader_ends(((struct decoded *)reader)->reader) =
            (struct zstd_reader_ends){.mark = s->through, .mark_position = frames->content_end};
    begin = source_begin_position(s);
    return serial_source_resume(s, reader, begin,
                                begin > frames->content_begin ? begin - frames->content_begin : 0);
}

/* Describes the elements of the source, whose layout is known, to the decoders. */
static void describe(struct source *s)
{
    struct zstd_file *file = zstd_source_file(s);

    file->element_size = s->info.element_size;
    file->data_offset = s->data_offset;
    file->elements = s->info.elements;
    file->wanted_begin = source_begin_position(s);
    file->wanted_end = source_end_position(s);
    file->true_positions = s->info.elements != s->stated || (!s->header && s->data_offset > 0) ||
                           s->options.part.cut || s->options.true_indices;
    file->part = s->options.part.cut ? &s->options.part.frames : NULL;
    file->through =
        s->options.part.cut || s->info.elements != s->stated ? s->through : SOURCE_UNKNOWN;
}

bool zstd_source_open(struct source *s, unsigned workers)
{
    static const struct source_ops ops = {.next = zstd_next,
                                          .leave = zstd_leave,
                                          .finish = zstd_finish,
                                          .index = zstd_true_index,
                                          .close = zstd_close};

    if (!read_layout(s))
        return false;
    describe(s);
    s->state = zstd_schedule_open(&s->zstd, workers);
    if (!s->state)
        return source_no_memory(s);
    s->ops = &ops;
    atomic_store(&s->input_read, 0); /* what was read to detect the format is read again */
    atomic_store(&s->zstd.stopped_at, SOURCE_UNKNOWN);
    s->info.parallel = true;
    return true;
}
