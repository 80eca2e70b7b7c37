#include "config.h"

#include "zstd/block.h"

#include <string.h>

#include "zstd/frames.h"

/* The offsets of streams 2, 3 and 4 stand in front of four streams. Bytes. */
#define JUMP_TABLE 6

/* libzstd refuses fewer literals in four streams, and fewer bytes with compressed literals. */
#define FOUR_STREAMS_MIN 6
#define COMPRESSED_MIN 5

/* How the distribution of a part is given. */
enum table_mode { MODE_PREDEFINED, MODE_RUN, MODE_DESCRIBED, MODE_REPEATED };

void zstd_tables_begin(struct zstd_tables *t)
{
    t->numbers = 0;
    t->tree_number = 0;
    t->distributed = false;
    t->trees_unread = false;
}

/* A number of up to five bytes, little endian. The rest of the block counts as zeros. */
static uint64_t load(const unsigned char *b, size_t size, unsigned bytes)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < bytes && i < size; i++)
        number |= (uint64_t)b[i] << 8 * i;
    return number;
}

/*
 * Literals (3.1.1.3.1).
 */

/* Raw literals, or a run. Returns the offset behind them, 0 where they are not sound. */
static size_t parse_plain(const unsigned char *b, size_t size, struct zstd_literals *l)
{
    static const unsigned header_bytes[4] = {1, 2, 1, 3}, shifts[4] = {3, 4, 3, 4};
    const unsigned format = b[0] >> 2 & 3, header = header_bytes[format];
    size_t end;

    l->size = (uint32_t)(load(b, size, header) >> shifts[format]);
    l->begin = header;
    l->streams = 0;
    end = header + (l->type == ZSTD_LITERALS_RAW ? (size_t)l->size : 1);
    return end < size ? end : 0;
}

/* Finds the streams in the bytes from `begin` to `end`. */
static bool find_streams(const unsigned char *b, size_t begin, size_t end, struct zstd_literals *l)
{
    size_t at = begin;

    if (l->streams == 4) {
        if (end - begin < JUMP_TABLE || l->size < FOUR_STREAMS_MIN)
            return false;
        at += JUMP_TABLE;
    }
    for (unsigned i = 0; i < l->streams; i++) {
        l->stream[i] = (uint32_t)at;
        if (at >= end)
            return false;
        if (i + 1 < l->streams)
            at += (size_t)load(b + begin + 2 * (size_t)i, 2, 2);
    }
    l->stream[l->streams] = (uint32_t)end;
    /* A stream has a byte at least, whose highest bit tells where it begins. */
    for (unsigned i = 0; i < l->streams; i++)
        if (l->stream[i] >= l->stream[i + 1] || b[l->stream[i + 1] - 1] == 0)
            return false;
    return true;
}

/* The header of literals that are Huffman codes, by the format that it states. */
static const unsigned codes_header[4] = {3, 3, 4, 5}, codes_size_bits[4] = {10, 10, 14, 18};

/* Literals that are Huffman codes. Returns the offset behind them, 0 where they are not sound. */
static size_t parse_codes(const unsigned char *b, size_t size, struct zstd_literals *l,
                          struct zstd_tables *t)
{
    const unsigned format = b[0] >> 2 & 3;
    const unsigned header = codes_header[format], bits = codes_size_bits[format];
    const uint64_t fields = load(b, size, header) >> 4, mask = (UINT64_C(1) << bits) - 1;
    const size_t end = header + (size_t)(fields >> bits & mask);
    size_t begin = header;

    l->size = (uint32_t)(fields & mask);
    l->begin = header;
    l->streams = format == 0 ? 1 : 4;
    if (size < COMPRESSED_MIN || l->size == 0 || end >= size || end == header)
        return 0;
    if (l->type == ZSTD_LITERALS_TREE) {
        struct zstd_weights weights;
        size_t tree = zstd_tree_size(b[begin]);

        if (tree > end - begin ||
            (!t->trees_unread && !zstd_weights_read(&weights, b + begin, tree)))
            return 0;
        memcpy(t->tree, b + begin, tree);
        t->tree_size = (uint32_t)tree;
        t->tree_number = ++t->numbers;
        begin += tree;
    }
    return t->tree_number > 0 && find_streams(b, begin, end, l) ? end : 0;
}

unsigned zstd_block_places(const unsigned char *b, size_t size, uint32_t places[ZSTD_PLACES])
{
    struct zstd_literals l = {0};
    unsigned format, header, count = 0;
    size_t at, end, place;

    if (size < COMPRESSED_MIN)
        return 0;
    format = b[0] >> 2 & 3;
    l.type = (enum zstd_literals_type)(b[0] & 3);
    if (l.type == ZSTD_LITERALS_RAW || l.type == ZSTD_LITERALS_RUN) {
        end = parse_plain(b, size, &l);
        if (end > 0)
            places[count++] = (uint32_t)end;
        return count;
    }
    header = codes_header[format];
    end = header + (size_t)(load(b, size, header) >> (4 + codes_size_bits[format]));
    if (end >= size)
        return 0;
    places[count++] = (uint32_t)end;
    at = header + (l.type == ZSTD_LITERALS_TREE ? zstd_tree_size(b[header]) : 0);
    place = at + JUMP_TABLE;
    for (unsigned i = 0; format != 0 && i + 1 < 4 && place < end; i++) {
        place += (size_t)load(b + at + 2 * (size_t)i, 2, 2);
        if (place < end)
            places[count++] = (uint32_t)place - 1; /* the last byte of a stream */
    }
    return count;
}

/*
 * Sequences (3.1.1.3.2).
 */

static void predefine(enum zstd_part part, struct zstd_distribution *d)
{
    static const int16_t literal_lengths[] = {ZSTD_PREDEFINED_LITERAL_LENGTHS};
    static const int16_t offsets[] = {ZSTD_PREDEFINED_OFFSETS};
    static const int16_t match_lengths[] = {ZSTD_PREDEFINED_MATCH_LENGTHS};
    static const struct {
        const int16_t *counts;
        size_t bytes;
        uint8_t log;
    } parts[ZSTD_PARTS] = {
        [ZSTD_LITERAL_LENGTH] = {literal_lengths, sizeof literal_lengths,
                                 ZSTD_PREDEFINED_LITERAL_LENGTH_LOG},
        [ZSTD_OFFSET] = {offsets, sizeof offsets, ZSTD_PREDEFINED_OFFSET_LOG},
        [ZSTD_MATCH_LENGTH] = {match_lengths, sizeof match_lengths,
                               ZSTD_PREDEFINED_MATCH_LENGTH_LOG},
    };

    memcpy(d->counts, parts[part].counts, parts[part].bytes);
    d->codes = (uint8_t)(parts[part].bytes / sizeof *d->counts);
    d->log = parts[part].log;
}

/* Predefined distributions have numbers of their own, that no other is given. */
static uint64_t predefined_number(enum zstd_part part)
{
    return UINT64_MAX - part;
}

/* The distribution of a part, given so at offset `at` of the block. Returns the offset behind it, 0
   where it is not sound. */
static size_t parse_distribution(const unsigned char *b, size_t size, size_t at,
                                 enum zstd_part part, enum table_mode mode, struct zstd_tables *t)
{
    struct zstd_distribution *d = &t->parts[part];
    unsigned codes, log;
    size_t taken;

    if (mode == MODE_REPEATED)
        return t->distributed ? at : 0;
    if (mode == MODE_PREDEFINED) {
        if (!t->distributed || d->number != predefined_number(part))
            predefine(part, d);
        d->run = false;
        d->number = predefined_number(part);
        return at;
    }
    d->run = mode == MODE_RUN;
    d->number = ++t->numbers;
    if (d->run) {
        if (at >= size || b[at] >= zstd_codes(part))
            return 0;
        d->code = b[at];
        return at + 1;
    }
    taken = zstd_fse_describe(b + at, size - at, zstd_codes(part), zstd_table_log_max(part),
                              d->counts, &codes, &log);
    d->codes = (uint8_t)codes;
    d->log = (uint8_t)log;
    return taken ? at + taken : 0;
}

/* The number of sequences, whose field begins at `at`. Returns the offset behind it, 0 where that
   is not sound. */
static size_t parse_count(const unsigned char *b, size_t size, size_t at, uint32_t *count)
{
    const unsigned char *field = b + at;
    size_t bytes = field[0] < 128 ? 1 : field[0] < 255 ? 2 : 3;

    if (size - at < bytes)
        return 0;
    *count = bytes == 1   ? field[0]
             : bytes == 2 ? (field[0] - 128u) * 256 + field[1]
                          : (uint32_t)load(field + 1, 2, 2) + 0x7f00;
    /* No encoder writes none of them in two bytes, and versions of libzstd differ about it. */
    return *count > 0 || bytes == 1 ? at + bytes : 0;
}

bool zstd_block_parse(const unsigned char *b, size_t size, size_t most, struct zstd_tables *t,
                      struct zstd_block_parts *parts)
{
    struct zstd_literals *const l = &parts->literals;
    unsigned modes;
    size_t at;

    /* libzstd takes none of 128 KiB and more as compressed. */
    if (size < 2 || size > most || size >= ZSTD_BLOCK_CONTENT_MAX)
        return false;
    l->type = (enum zstd_literals_type)(b[0] & 3);
    at = l->type == ZSTD_LITERALS_RAW || l->type == ZSTD_LITERALS_RUN ? parse_plain(b, size, l)
                                                                      : parse_codes(b, size, l, t);
    if (at == 0 || l->size > most)
        return false;
    at = parse_count(b, size, at, &parts->sequences);
    if (at == 0)
        return false;
    parts->stream = (uint32_t)at;
    if (parts->sequences == 0)
        return at == size;
    if (at >= size || (b[at] & 3) != 0)
        return false;
    modes = b[at++];
    for (unsigned part = 0; part < ZSTD_PARTS; part++) {
        at = parse_distribution(b, size, at, (enum zstd_part)part,
                                (enum table_mode)(modes >> (6 - 2 * part) & 3), t);
        if (at == 0)
            return false;
    }
    t->distributed = true;
    parts->stream = (uint32_t)at;
    return at < size && b[size - 1] != 0;
}
