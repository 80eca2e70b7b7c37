#include "config.h"

#include "source/reader.h"

#include <string.h>

#include "sys/bytes.h"

/* Bytes that are read at a time: they stay in a core's own cache. */
#define PIECE_BYTES ((size_t)256 << 10)

struct record_reader {
    struct reader base;
    uint64_t at;                /* bytes read */
    uint64_t begin, end, bytes; /* of the field in a record, and of a record */
    uint64_t place;             /* in a record, of the next byte */
    unsigned char piece[PIECE_BYTES];
};

/* Bytes up to the last of the next `size` bytes of the field, or of a piece. */
static size_t bytes_before(const struct record_reader *r, size_t size)
{
    const uint64_t width = r->end - r->begin, from = r->place > r->begin ? r->place : r->begin;
    const uint64_t here = from < r->end ? r->end - from : 0;
    uint64_t count;

    if (size > PIECE_BYTES)
        size = PIECE_BYTES; /* so that the products are small */
    if (size <= here)
        count = from - r->place + size;
    else
        count = r->bytes - r->place + (size - here - 1) / width * r->bytes + r->begin +
                (size - here - 1) % width + 1;
    return count < PIECE_BYTES ? (size_t)count : PIECE_BYTES;
}

/* Copies what the first `size` bytes of the piece have of the field. Returns how many bytes. */
static size_t gather(struct record_reader *r, unsigned char *to, size_t size)
{
    const uint64_t width = r->end - r->begin;
    const unsigned char *from = r->piece;
    size_t got = 0;

    while (size > 0) {
        const size_t records = r->place == 0 ? (size_t)(size / r->bytes) : 0;
        const uint64_t place = r->place, behind = r->bytes - place;
        const size_t step = records > 0     ? records * (size_t)r->bytes
                            : behind < size ? (size_t)behind
                                            : size;
        const uint64_t begin = place > r->begin ? place : r->begin;
        const uint64_t end = place + step < r->end ? place + step : r->end;

        if (records > 0) {
            bytes_gather(to + got, from + r->begin, records, (size_t)width, (int64_t)r->bytes);
            got += records * (size_t)width;
        } else if (begin < end) {
            memcpy(to + got, from + (begin - place), (size_t)(end - begin));
            got += (size_t)(end - begin);
        }
        r->place = records > 0 || step == behind ? 0 : place + step;
        from += step;
        size -= step;
    }
    return got;
}

static ptrdiff_t record_read(struct reader *reader, void *buffer, size_t size)
{
    struct record_reader *r = (struct record_reader *)reader;
    ptrdiff_t got;
    size_t taken = 0;

    while (taken == 0 && size > 0) {
        got = reader_read(r->base.input, r->piece, bytes_before(r, size));
        if (got == 0 && r->place > 0) {
            source_cut_off(r->base.source, r->at, r->place, r->bytes);
            return -1;
        }
        if (got <= 0)
            return got;
        r->at += (uint64_t)got;
        taken = gather(r, buffer, (size_t)got);
    }
    return (ptrdiff_t)taken;
}

struct reader *record_reader_open(struct source *s, const struct source_record *record,
                                  uint64_t skip, struct reader *input)
{
    struct record_reader *r =
        reader_open(s, input, record_read, sizeof *r, offsetof(struct record_reader, piece));

    if (!r)
        return NULL;
    r->base.skip = r->at = skip;
    r->begin = record->offset;
    r->end = record->offset + record->elements * element_size(s->info.type);
    r->bytes = record->bytes;
    return &r->base;
}
