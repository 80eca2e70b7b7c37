#include "config.h"

#include "source/zstd/zstd.h"

#include "source/formats.h"
#include "source/serial.h"
#include "source/zstd/decoder.h"
#include "source/zstd/schedule.h"
#include "sys/message.h"

static enum source_status zstd_next(struct source *s, const struct chunk_request *request,
                                    struct chunk *chunk)
{
    return zstd_schedule_next(s->state, request, chunk);
}

/* Whether bytes lie behind the array that the header promises. */
static bool more_than_promised(const struct source *s, uint64_t total)
{
    return s->promised != SOURCE_UNKNOWN && s->info.elements == s->promised &&
           total > s->data_offset + s->promised * s->info.element_size;
}

enum source_verdict zstd_finish_total(struct source *s, uint64_t total, bool true_positions)
{
    const bool more = more_than_promised(s, total);

    if (!true_positions && more)
        return SOURCE_REREAD; /* what lies behind the array was handed out, too */
    if (more)
        message_warning("%s: ignoring the bytes after the array", s->name);
    return source_check_end(s, total) ? SOURCE_COMPLETE : SOURCE_BROKEN;
}

static enum source_verdict zstd_finish(struct source *s)
{
    struct zstd_index *index = zstd_schedule_finish(s->state);
    uint64_t limit = source_wanted(s), last = SOURCE_UNKNOWN;

    /* Whether what is wrong lies behind the last element that is asked for, reading in order tells. */
    if (zstd_schedule_retries(s->state) ||
        (s->stop != SOURCE_UNKNOWN && source_error_noted(s) != SOURCE_UNKNOWN))
        return SOURCE_REREAD;
    source_print_error(s);
    if (source_failed(s))
        return SOURCE_BROKEN;
    if (!index)
        return SOURCE_REREAD;
    /* Frames after the limit were not decoded to their ends. */
    if (limit != SOURCE_UNKNOWN)
        last = s->data_offset + limit * s->info.element_size;
    if (!zstd_index_resolve(index, last))
        return SOURCE_REREAD;
    if (s->part.cut) /* how much there is was known when it was opened; positions are true */
        return SOURCE_COMPLETE;
    if (limit == SOURCE_UNKNOWN)
        return zstd_finish_total(s, zstd_index_total(index), index->count == 0);
    /* The rest was not asked for, and not looked at. But whether what ended it all lies in the
       array of a .npy can only be told from true positions. */
    return index->count > 0 && s->promised != SOURCE_UNKNOWN ? SOURCE_REREAD : SOURCE_COMPLETE;
}

static uint64_t zstd_true_index(const struct source *s, uint64_t element)
{
    return zstd_index_true(zstd_schedule_index(s->state), element);
}

static void zstd_close(struct source *s)
{
    zstd_schedule_close(s->state);
}

/* Limits the source, whose layout is known, to a part that was cut, if there is one. */
static bool set_part(struct source *s, const struct source_options *options)
{
    const struct source_part *part = &options->part;
    const size_t size = s->info.element_size;
    uint64_t available;

    if (!part->cut)
        return true;
    if (!source_check_end(s, part->content))
        return false;
    if (part->begin == 0 && more_than_promised(s, part->content))
        message_warning("%s: ignoring the bytes after the array", s->name);
    available = (part->content - s->data_offset) / size;
    if (available > s->promised)
        available = s->promised;
    s->part = *part;
    s->info.cut = true;
    s->info.cut_bytes = part->end - part->begin;
    s->info.of = s->info.elements < available ? s->info.elements : available;
    s->info.first = source_elements_before(part->content_begin, s->data_offset, size, s->info.of);
    s->info.elements = source_elements_before(part->content_end, s->data_offset, size, s->info.of);
    /* Data after --length are not looked at. */
    if (s->info.of == available || s->info.elements < s->info.of)
        s->through = part->end;
    s->stop = s->through > 0 ? SOURCE_UNKNOWN : zstd_end_position(s);
    return true;
}

/* Finds out what the decoded bytes are, and limits the source to its part. */
static bool read_layout(struct source *s, const struct source_options *options)
{
    struct reader *input = input_reader_open(s);
    struct reader *reader = input ? zstd_reader_open(s, input, 0, 0) : NULL;
    bool good = reader && formats_layout(s, options, reader) && set_part(s, options);

    if (reader)
        reader->close(reader);
    return good;
}

bool zstd_part_open_in_order(struct source *s, const struct source_options *options)
{
    const struct source_part *part = &options->part;
    struct reader *input, *reader;
    uint64_t begin;

    if (!read_layout(s, options))
        return false;
    atomic_store(&s->input_read, 0);
    input = input_reader_open_at(s, part->begin);
    reader = input ? zstd_reader_open(s, input, part->begin, part->content_begin) : NULL;
    if (!reader)
        return false;
    if (s->through > 0)
        zstd_reader_mark(reader, s->through, part->content_end);
    begin = zstd_begin_position(s);
    return serial_source_resume(
        s, reader, begin, begin > part->content_begin ? begin - part->content_begin : 0, NULL);
}

bool zstd_source_open(struct source *s, const struct source_options *options, unsigned workers)
{
    static const struct source_ops ops = {
        .next = zstd_next, .finish = zstd_finish, .index = zstd_true_index, .close = zstd_close};

    if (!read_layout(s, options))
        return false;
    s->state = source_note_errors(s) ? zstd_schedule_open(s, workers) : NULL;
    if (!s->state) {
        source_error(s, "out of memory");
        return false;
    }
    s->ops = &ops;
    atomic_store(&s->input_read, 0); /* what was read to detect the format is read again */
    atomic_store(&s->stopped_at, SOURCE_UNKNOWN);
    s->info.parallel = true;
    return true;
}
