/*
 * Readers over others: members of gzip and bgzf, streams of zlib, the records of Fortran, and a field
 * of raw records. Any bytes, or members made of them, of which one byte may be wrong, come in pieces of
 * any size. Plain loops over all of the bytes say what must come out, or that the input is refused.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "source/reader.h"

/* Inputs whose content is longer are left out. */
#define CONTENT_MAX ((size_t)1 << 16)

/* The reader of bytes in memory. */
struct memory_reader {
    struct reader base;
    const unsigned char *bytes;
    size_t size, piece;
};

static ptrdiff_t memory_read(struct reader *reader, void *buffer, size_t size)
{
    struct memory_reader *m = (struct memory_reader *)reader;

    size = size < m->piece ? size : m->piece;
    size = size < m->size ? size : m->size;
    if (size > 0)
        memcpy(buffer, m->bytes, size);
    m->bytes += size;
    m->size -= size;
    return (ptrdiff_t)size;
}

static void memory_close(struct reader *reader)
{
    free(reader);
}

static struct reader *memory_open(const unsigned char *bytes, size_t size, size_t piece)
{
    struct memory_reader *m = calloc(1, sizeof *m);

    fuzz_check(m, "out of memory");
    m->base.read = memory_read;
    m->base.close = memory_close;
    m->bytes = bytes;
    m->size = size;
    m->piece = piece;
    return &m->base;
}

/*
 * The expected content.
 */

struct truth {
    bool good;
    struct fuzz_bytes content; /* of good ones */
};

/* Decompresses by zlib, a member after another. Zeros may follow the last one. */
static void decompress(struct truth *t, const unsigned char *bytes, size_t size, bool gzip)
{
    size_t at = 0, members = 0;

    t->good = true;
    while (t->good && t->content.size <= CONTENT_MAX) {
        z_stream z = {0};
        int status = Z_OK;

        while (members > 0 && at < size && bytes[at] == 0)
            at++;
        if (at == size)
            return;
        if (members++ > 0 && (!gzip || bytes[at] != 0x1f))
            break;
        fuzz_check(inflateInit2(&z, gzip ? 31 : 15) == Z_OK, "out of memory");
        z.next_in = (unsigned char *)(uintptr_t)(bytes + at);
        z.avail_in = (unsigned)(size - at);
        while (status == Z_OK && t->content.size <= CONTENT_MAX) {
            unsigned char out[4096];

            z.next_out = out;
            z.avail_out = sizeof out;
            status = inflate(&z, Z_NO_FLUSH);
            fuzz_add(&t->content, out, sizeof out - z.avail_out);
        }
        at = size - z.avail_in;
        inflateEnd(&z);
        t->good = status == Z_STREAM_END || status == Z_OK;
    }
    t->good = false;
}

static uint64_t load(const unsigned char *bytes, unsigned size, bool big)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < size; i++)
        number = number << 8 | bytes[big ? i : size - 1 - i];
    return number;
}

/* The content of the records of Fortran. */
static void unwrap_fortran(struct truth *t, const struct fuzz_bytes *in, size_t skip,
                           unsigned marker, bool big, uint64_t unit)
{
    size_t at = skip < in->size ? skip : in->size;
    uint64_t whole = 0;
    bool after = false;

    fuzz_add(&t->content, in->data, at);
    while (at < in->size) {
        uint64_t first, second, length;
        bool more, before;

        if (in->size - at < marker)
            return;
        first = load(in->data + at, marker, big);
        at += marker;
        more = first >> (8 * marker - 1);
        length = more ? (UINT64_C(1) << 32) - first : first;
        if ((more && marker != 4) || length > in->size - at || in->size - at - length < marker)
            return;
        fuzz_add(&t->content, in->data + at, (size_t)length);
        at += (size_t)length;
        second = load(in->data + at, marker, big);
        at += marker;
        before = second >> (8 * marker - 1);
        if (before != after || length != (before ? (UINT64_C(1) << 32) - second : second))
            return;
        whole += length;
        after = more;
        if (!more && whole % unit != 0)
            return;
        whole = more ? whole : 0;
    }
    t->good = !after;
}

/* The field of each record. */
static void take_field(struct truth *t, const struct fuzz_bytes *in, size_t skip,
                       const struct source_record *record, size_t element)
{
    size_t at = skip < in->size ? skip : in->size;

    fuzz_add(&t->content, in->data, at);
    for (; in->size - at >= record->bytes; at += (size_t)record->bytes)
        fuzz_add(&t->content, in->data + at + record->offset, (size_t)record->elements * element);
    t->good = at == in->size;
}

/*
 * Inputs.
 */

/* A member of gzip, a block of bgzf, or a stream of zlib, of these bytes. */
static void add_member(struct fuzz_bytes *b, const unsigned char *bytes, size_t size, int level,
                       bool gzip, bool block)
{
    static const unsigned char head[] = {31, 139, 8, 4, 0, 0, 0, 0, 0, 255, 6, 0, 'B', 'C', 2, 0};
    const size_t begin = b->size;
    unsigned char out[2 * 8192 + 1024];
    z_stream z = {0};

    fuzz_check(deflateInit2(&z, level, Z_DEFLATED,
                            block  ? -15
                            : gzip ? 31
                                   : 15,
                            1, Z_DEFAULT_STRATEGY) == Z_OK,
               "out of memory");
    z.next_in = (unsigned char *)(uintptr_t)bytes;
    z.avail_in = (unsigned)size;
    z.next_out = out;
    z.avail_out = sizeof out;
    fuzz_check(deflate(&z, Z_FINISH) == Z_STREAM_END, "no room");
    if (block) {
        fuzz_add(b, head, sizeof head);
        fuzz_add_number(b, sizeof head + 2 + z.total_out + 8 - 1, 2);
    }
    fuzz_add(b, out, z.total_out);
    if (block) {
        fuzz_add_number(b, size > 0 ? crc32(0, bytes, (unsigned)size) : 0, 4);
        fuzz_add_number(b, size, 4);
    }
    deflateEnd(&z);
    fuzz_check(b->size > begin, "no member");
}

/* Fortran's records of the bytes. */
static void add_records(struct fuzz_input *in, struct fuzz_bytes *b, unsigned marker)
{
    while (in->size > 0) {
        const uint64_t most = fuzz_below(in, 64), size = most < in->size ? most : in->size;

        fuzz_add_number(b, size, marker);
        fuzz_add(b, in->data, (size_t)size);
        fuzz_add_number(b, size, marker);
        in->data += size;
        in->size -= (size_t)size;
    }
}

/* How bytes are compressed: drawn before they are taken. */
struct compression_choices {
    bool block;
    int level;
    size_t most;    /* bytes of a member, and a sixteenth of all */
    uint64_t wrong; /* a byte that is wrong; UINT64_MAX: none is */
};

static struct compression_choices draw(struct fuzz_input *in)
{
    return (struct compression_choices){.block = fuzz_flag(in),
                                        .level = (int)fuzz_below(in, 3),
                                        .most = 1 + (size_t)fuzz_below(in, 4096),
                                        .wrong = fuzz_below(in, 4) == 0 ? fuzz_below(in, 0x10000)
                                                                        : UINT64_MAX};
}

/* Compresses: to members of gzip, or one stream of zlib. */
static void compress_all(struct fuzz_bytes *out, const struct compression_choices *c,
                         const struct fuzz_bytes *b, bool gzip)
{
    size_t at = 0;

    do {
        const size_t left = b->size - at, most = c->most + b->size / 16;
        const size_t some = gzip && most < left ? most : left;

        add_member(out, b->data ? b->data + at : NULL, some, c->level, gzip, gzip && c->block);
        at += some;
    } while (at < b->size);
    if (c->wrong < UINT64_MAX)
        out->data[c->wrong % out->size] ^= 1U << c->wrong % 8;
}

/* Reads all, in pieces of up to `piece` bytes, after the first of which as much as possible is read
   ahead. */
static void check(struct source *s, struct reader *r, size_t piece, bool ahead,
                  const struct truth *t)
{
    unsigned char *buffer = malloc(piece);
    size_t done = 0;
    ptrdiff_t got;

    fuzz_check(r && buffer, "out of memory");
    while ((got = reader_read(r, buffer, piece)) > 0) {
        fuzz_check(!t->good || ((size_t)got <= t->content.size - done &&
                                memcmp(buffer, t->content.data + done, (size_t)got) == 0),
                   "other bytes from byte %zu on", done);
        done += (size_t)got;
        for (int i = 0; ahead && i < 4 && r->ahead && r->ahead(r); i++)
            continue;
    }
    fuzz_check((got == 0) == t->good, "%s: %s", t->good ? "refused" : "taken",
               got < 0 ? s->error.text : "");
    fuzz_check(got < 0 || done == t->content.size, "%zu bytes, expected %zu", done,
               t->content.size);
    fuzz_check(got == 0 || (source_failed(s) && s->error.text[0]), "no reason");
    r->close(r);
    free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    static const unsigned char markers[] = {4, 8};
    const unsigned layer = (unsigned)fuzz_below(&in, 3), packed = (unsigned)fuzz_below(&in, 5);
    const unsigned marker = markers[fuzz_below(&in, 2)];
    const bool ahead = fuzz_flag(&in), records = fuzz_flag(&in), gzip = packed % 2;
    const size_t skip = (size_t)fuzz_below(&in, 8), piece = 1 + (size_t)fuzz_below(&in, 1000);
    const size_t input_piece = 1 + (size_t)fuzz_below(&in, 1000);
    struct source_record record = {.elements = 1 + fuzz_below(&in, 3),
                                   .offset = fuzz_below(&in, 5)};
    struct source *s = calloc(1, sizeof *s);
    struct fuzz_bytes plain = {0}, bytes = {0};
    struct truth inner = {.good = true}, t = {.good = false};
    const struct compression_choices choices = draw(&in);
    struct reader *r;

    fuzz_check(s, "out of memory");
    s->info.type = ELEMENT_I16;
    s->info.element_size = 2;
    s->info.compression = gzip ? COMPRESSION_GZIP : COMPRESSION_ZLIB;
    s->fortran.marker = marker;
    s->fortran.big_endian = fuzz_flag(&in);
    record.bytes = record.offset + 2 * record.elements + fuzz_below(&in, 4);
    if (records && layer == 1) {
        s->fortran.big_endian = false;
        fuzz_add(&plain, in.data, skip < in.size ? skip : in.size);
        add_records(&in, &plain, marker);
    } else {
        fuzz_add(&plain, in.data, in.size);
    }
    if (packed > 0 && packed < 3)
        compress_all(&bytes, &choices, &plain, gzip);
    else
        fuzz_add(&bytes, plain.data, plain.size);
    if (packed > 0)
        decompress(&inner, bytes.data, bytes.size, gzip);
    else
        fuzz_add(&inner.content, bytes.data, bytes.size);
    fuzz_free(&plain);
    if (inner.content.size <= CONTENT_MAX) {
        r = memory_open(bytes.data, bytes.size, input_piece);
        r = packed > 0 ? gzip_reader_open(s, r) : r;
        if (layer == 0)
            fuzz_add(&t.content, inner.content.data, inner.content.size);
        t.good = layer == 0;
        if (layer == 1) {
            unwrap_fortran(&t, &inner.content, skip, marker, s->fortran.big_endian, 2);
            r = fortran_reader_open(s, &(struct source_record){0}, skip, r);
        } else if (layer == 2) {
            take_field(&t, &inner.content, skip, &record, 2);
            r = record_reader_open(s, &record, skip, r);
        }
        t.good = t.good && inner.good;
        check(s, r, piece, ahead, &t);
    }
    fuzz_free(&bytes);
    fuzz_free(&inner.content);
    fuzz_free(&t.content);
    free(s);
    return 0;
}
