/*
 * Before and after each record stands its length, as 4 or 8 bytes. Compilers divide records of 2 GiB and
 * more, where markers have 4 bytes: that before a part is negative if another part follows, and that after
 * it if there was one before (gfortran's manual, File format of unformatted sequential files).
 */
#include "config.h"

#include "source/reader.h"

#include <inttypes.h>
#include <string.h>

#include "sys/bytes.h"
#include "sys/plural.h"

/* Small records are read together, so many bytes at a time. */
#define PIECE_BYTES ((size_t)256 << 10)

struct fortran_reader {
    struct reader base;
    uint64_t unit;   /* bytes that a record has a multiple of */
    uint64_t at;     /* offset of the next byte */
    uint64_t begin;  /* of the part's first marker */
    uint64_t length; /* of the part, bytes; those left of it */
    uint64_t left;
    uint64_t whole;    /* bytes of the record so far, all parts */
    bool inside;       /* a part has begun whose second marker has not been read */
    bool more, after;  /* another part of the record follows; there was one before */
    size_t from, size; /* the bytes of the piece that were not taken */
    unsigned char piece[PIECE_BYTES];
};

/* Makes the source fail. A byte order that is guessed may be wrong. Returns -1. */
#define WRONG(r, offset, ...) wrong(r, error_at(ERROR_DATA, offset, __VA_ARGS__))
static int wrong(const struct fortran_reader *r, struct error error)
{
    if (r->base.source->fortran.guessed)
        error.advice = (struct advice){.kind = ADVICE_BETTER_TYPE, .order = ELEMENT_ORDER_BIG};
    source_fail(r->base.source, error);
    return -1;
}

/* Has at least one byte in the piece, of the next `most` at most, unless the input ends. Returns how
   many, or -1. */
static ptrdiff_t have(struct fortran_reader *r, size_t most)
{
    ptrdiff_t got = (ptrdiff_t)r->size;

    if (r->size > 0)
        return got;
    got = reader_read(r->base.input, r->piece, most < PIECE_BYTES ? most : PIECE_BYTES);
    r->from = 0;
    r->size = got > 0 ? (size_t)got : 0;
    return got;
}

/* Takes `size` bytes of the piece. */
static void take(struct fortran_reader *r, void *to, size_t size)
{
    memcpy(to, r->piece + r->from, size);
    r->from += size;
    r->size -= size;
    r->at += size;
}

/* Reads a marker; `most`: bytes that may be read with it. Returns 1, 0 where the input ends before it,
   or -1. */
static int read_marker(struct fortran_reader *r, size_t most, uint64_t *length, bool *negative)
{
    const size_t size = r->base.source->fortran.marker;
    const uint64_t begin = r->at;
    unsigned char bytes[8] = {0};
    uint64_t marker;

    for (size_t got = 0; got < size;) {
        const ptrdiff_t here = have(r, most > size - got ? most : size - got);
        const size_t some = here < (ptrdiff_t)(size - got) ? (size_t)here : size - got;

        if (here < 0 || (here == 0 && got == 0))
            return (int)here;
        if (here == 0)
            return WRONG(r, begin, "byte %" PRIu64 ": the marker of a record is cut off", begin);
        take(r, bytes + got, some);
        got += some;
    }
    marker = bytes_number(bytes, size, r->base.source->fortran.big_endian);
    *negative = marker >> (size == 4 ? 31 : 63) != 0;
    *length = *negative && size == 4 ? UINT32_MAX - marker + 1 : marker;
    return 1;
}

/* Ends a part: its second marker has to be the first one. */
static int end_part(struct fortran_reader *r, size_t most)
{
    const uint64_t offset = r->at;
    uint64_t length;
    bool negative;
    const int got = read_marker(r, most, &length, &negative);

    if (got < 0)
        return -1;
    if (got == 0)
        return WRONG(r, r->begin, "byte %" PRIu64 ": the last record is cut off", r->begin);
    if (length != r->length || negative != r->after)
        return WRONG(r, offset,
                     "byte %" PRIu64 ": the record that begins at byte %" PRIu64
                     " has markers that differ",
                     offset, r->begin);
    if (length > 0)
        r->base.source->fortran.guessed = r->base.source->fortran.unseen = false;
    r->inside = false;
    r->after = r->more;
    if (r->more)
        return 1;
    if (r->whole % r->unit != 0)
        return WRONG(r, r->begin,
                     "byte %" PRIu64 ": a record of %" PRIu64 " byte%s does not hold whole "
                     "%s of %" PRIu64 " bytes",
                     r->begin, r->whole, plural(r->whole),
                     r->unit == r->base.source->info.element_size ? "elements" : "records",
                     r->unit);
    r->whole = 0;
    return 1;
}

/* Begins a part. Returns 1, 0 at the end of the input, or -1. */
static int begin_part(struct fortran_reader *r, size_t most)
{
    int got;

    r->begin = r->at;
    got = read_marker(r, most, &r->length, &r->more);
    if (got == 0 && r->after)
        return WRONG(r, r->at, "byte %" PRIu64 ": the last record is cut off", r->at);
    if (got <= 0)
        return got;
    if (r->more && r->base.source->fortran.marker != 4)
        return WRONG(r, r->begin, "byte %" PRIu64 ": a record of a negative length", r->begin);
    r->left = r->length;
    r->whole += r->length;
    r->inside = true;
    return 1;
}

/* Takes bytes of a part into `to`, whole pieces without a copy. Returns how many, or -1. */
static ptrdiff_t read_part(struct fortran_reader *r, unsigned char *to, size_t size)
{
    ptrdiff_t got;

    size = size < r->left ? size : (size_t)r->left;
    if (r->size == 0 && size >= PIECE_BYTES) {
        got = reader_read(r->base.input, to, size);
        r->at += got > 0 ? (uint64_t)got : 0;
    } else {
        got = have(r, size);
        got = got > (ptrdiff_t)size ? (ptrdiff_t)size : got;
        if (got > 0)
            take(r, to, (size_t)got);
    }
    if (got == 0)
        return WRONG(r, r->begin,
                     "byte %" PRIu64 ": the last record is cut off after %" PRIu64 " of %" PRIu64
                     " bytes",
                     r->begin, r->length - r->left, r->length);
    r->left -= got > 0 ? (uint64_t)got : 0;
    return got;
}

static ptrdiff_t fortran_read(struct reader *reader, void *buffer, size_t size)
{
    struct fortran_reader *r = (struct fortran_reader *)reader;
    ptrdiff_t got;
    size_t done = 0;

    /* Bytes that have been read are returned before more are waited for. */
    while (done < size && (done == 0 || r->size > 0)) {
        if (r->left > 0) {
            got = read_part(r, (unsigned char *)buffer + done, size - done);
            done += got > 0 ? (size_t)got : 0;
        } else {
            got = (r->inside ? end_part : begin_part)(r, size - done);
        }
        if (got < 0)
            return -1;
        if (got == 0)
            break;
    }
    return (ptrdiff_t)done;
}

void fortran_reader_see(struct reader *reader)
{
    struct fortran_reader *r = (struct fortran_reader *)reader;
    unsigned char rest[4096];
    ptrdiff_t got = 1;

    while (got > 0 && r->base.source->fortran.unseen)
        got = r->left > 0 ? read_part(r, rest, sizeof rest)
                          : (r->inside ? end_part : begin_part)(r, 1);
}

struct reader *fortran_reader_open(struct source *s, const struct source_record *record,
                                   uint64_t skip, struct reader *input)
{
    struct fortran_reader *r =
        reader_open(s, input, fortran_read, sizeof *r, offsetof(struct fortran_reader, piece));

    if (!r)
        return NULL;
    r->base.skip = r->at = skip;
    r->unit = record->bytes > 0 ? record->bytes : s->info.element_size;
    return &r->base;
}
