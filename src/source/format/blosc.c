#include "config.h"

#include "source/format/blosc.h"

#include <stdbool.h>
#include <string.h>

#include "core/error.h"
#include "source/format/shuffle.h"
#include "sys/bytes.h"

#define CHUNK_VERSION 2
#define CODEC_VERSION 1 /* of all codecs */
#define CHUNK_HEADER 16

/* Flags of a chunk, after which three bits say how it is compressed. */
enum { SHUFFLED = 1, STORED = 2, BITS_SHUFFLED = 4, RESERVED = 8, NOT_SPLIT = 16, CODEC_SHIFT = 5 };

/* Blocks are split if elements have at most so many bytes, and blocks at least so many elements. */
enum { SPLIT_MAX = 16, SPLIT_ELEMENTS = 128 };

static const char cut_off[] = "the Blosc data are cut off";

struct chunk {
    struct codec_memory *memory;
    const unsigned char *bytes;
    size_t size;
    unsigned flags;
    enum codec codec;
    size_t element;
};

static size_t number_at(const unsigned char *bytes)
{
    return (size_t)bytes_number(bytes, sizeof(uint32_t), false);
}

/* Decompresses a block, whose streams begin at an offset of the chunk. */
static const char *decode_streams(const struct chunk *c, size_t at, size_t streams,
                                  unsigned char *to, size_t out)
{
    const size_t content = out / streams;

    for (size_t i = 0; i < streams; i++) {
        const char *wrong = NULL;
        size_t stored;

        if (at > c->size || c->size - at < sizeof(uint32_t))
            return cut_off;
        stored = number_at(c->bytes + at);
        at += sizeof(uint32_t);
        if (stored > c->size - at)
            return cut_off;
        if (stored == content)
            memcpy(to, c->bytes + at, content);
        else
            wrong = codec_decode(c->memory, c->codec, c->bytes + at, stored, to, content);
        if (wrong)
            return wrong;
        at += stored;
        to += content;
    }
    return NULL;
}

/* Decompresses a block and undoes its shuffle. */
static const char *decode_block(const struct chunk *c, size_t at, size_t streams, unsigned char *to,
                                size_t out)
{
    const size_t elements = out / c->element;
    const bool bytes = (c->flags & SHUFFLED) && c->element > 1;
    const bool bits = !bytes && (c->flags & BITS_SHUFFLED) && elements > 0 && elements % 8 == 0;
    unsigned char *const shuffled = bytes || bits ? codec_room(c->memory, out) : to;
    const char *const wrong =
        shuffled ? decode_streams(c, at, streams, shuffled, out) : error_no_memory;

    if (!wrong && bytes)
        shuffle_undo(to, shuffled, out, c->element);
    if (!wrong && bits) {
        const size_t whole = elements * c->element;

        shuffle_undo_bits(to, shuffled, elements, c->element);
        memcpy(to + whole, shuffled + whole, out - whole);
    }
    return wrong;
}

const char *blosc_decode(struct codec_memory *m, const unsigned char *from, size_t size,
                         unsigned char *to, size_t out)
{
    static const enum codec codecs[] = {CODEC_BLOSCLZ, CODEC_LZ4, CODEC_SNAPPY, CODEC_ZLIB,
                                        CODEC_ZSTD};
    struct chunk c = {.memory = m, .bytes = from};
    size_t block, blocks;
    const char *wrong = NULL;

    if (size < CHUNK_HEADER)
        return cut_off;
    if (from[0] != CHUNK_VERSION)
        return "chunks of Blosc of another version than 2 are not supported";
    c.flags = from[2];
    c.element = from[3];
    c.size = number_at(from + 12);
    block = number_at(from + 8);
    if (c.size < CHUNK_HEADER || c.size > size)
        return cut_off;
    if (number_at(from + 4) != out)
        return "a chunk has another size than it should";
    /* Stored chunks do not need these fields; c-blosc checks them there, too. */
    if (block == 0 || block > out || c.element == 0 || (c.flags & RESERVED))
        return "the Blosc header is damaged";
    if (c.flags & STORED) {
        if (c.size - CHUNK_HEADER != out)
            return cut_off;
        memcpy(to, from + CHUNK_HEADER, out);
        return NULL;
    }
    if (c.flags >> CODEC_SHIFT >= sizeof codecs / sizeof *codecs || from[1] != CODEC_VERSION)
        return "compressed by a codec that Blosc does not have";
    c.codec = codecs[c.flags >> CODEC_SHIFT];
    blocks = (out - 1) / block + 1;
    if (blocks > (c.size - CHUNK_HEADER) / sizeof(uint32_t))
        return cut_off;
    for (size_t i = 0; i < blocks && !wrong; i++) {
        const size_t begin = i * block;
        const size_t content = out - begin < block ? out - begin : block;
        const bool split = !(c.flags & NOT_SPLIT) && content == block && c.element <= SPLIT_MAX &&
                           block / c.element >= SPLIT_ELEMENTS;

        wrong = decode_block(&c, number_at(from + CHUNK_HEADER + i * sizeof(uint32_t)),
                             split ? c.element : 1, to + begin, content);
    }
    return wrong;
}
