#include "config.h"

#include "source/format/filters.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#ifdef HAVE_LIBAEC
#    include <libaec.h>
#endif

#include "core/error.h"
#include "source/format/ggml.h"
#include "source/format/inflate.h"
#include "source/format/shuffle.h"
#include "sys/bytes.h"

#define TOO_SHORT "a chunk is shorter than it should be"
#define CUT_OFF "the compressed data are cut off"
#define TOO_LONG "bytes follow after the compressed data"
#define OTHER_SIZE "a chunk has another size than it should"

static bool always(const struct container_filter *f)
{
    (void)f;
    return true;
}

static const char *refuse_shuffle(const struct container_filter *f)
{
    return f->values[0] > 0 ? NULL : "the size of an element is missing";
}

static const char *undo_shuffle(struct codec_memory *m, const struct container_filter *f,
                                const unsigned char *from, size_t size, unsigned char *to,
                                size_t out)
{
    (void)m, (void)size;
    shuffle_undo(to, from, out, f->values[0]);
    return NULL;
}

static const char *refuse_deflate(const struct container_filter *f)
{
    (void)f;
    return inflate_possible ? NULL : "it needs zlib, without which this program was built";
}

/* Undoes a filter that is a codec and nothing else. */
static const char *undo_codec(struct codec_memory *m, const struct container_filter *f,
                              const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    return codec_decode(m, filter_of(f->kind)->codec, from, size, to, out);
}

/* Fletcher's checksum (J. G. Fletcher, 1982) of 16-bit words, the most significant byte first, and
   of a byte that is left as if a zero followed it: as HDF5 stores it. */
static uint32_t fletcher32(const unsigned char *bytes, size_t size)
{
    /* As many words as the sums hold before they have to be reduced: 360 * 361 / 2 * 65535 and what
       was left of before is less than 2^32. */
    const size_t most = 360;
    uint32_t sum = 0, sums = 0;
    size_t words = size / 2;

    while (words > 0) {
        const size_t n = words < most ? words : most;

        for (size_t i = 0; i < n; i++) {
            sum += (uint32_t)bytes[2 * i] << 8 | bytes[2 * i + 1];
            sums += sum;
        }
        bytes += 2 * n;
        words -= n;
        sum = (sum & 0xffff) + (sum >> 16);
        sums = (sums & 0xffff) + (sums >> 16);
    }
    if (size % 2) {
        sum += (uint32_t)bytes[0] << 8;
        sums += sum;
        sum = (sum & 0xffff) + (sum >> 16);
        sums = (sums & 0xffff) + (sums >> 16);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sums = (sums & 0xffff) + (sums >> 16);
    return sums << 16 | sum;
}

/* The table of a byte of CRC-32C (Castagnoli), and those of bytes with others after them. */
static uint32_t crc_table[8][256];

static void make_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
        crc_table[0][i] = crc;
    }
    for (size_t k = 1; k < 8; k++)
        for (size_t i = 0; i < 256; i++)
            crc_table[k][i] = crc_table[k - 1][i] >> 8 ^ crc_table[0][crc_table[k - 1][i] & 0xff];
}

uint32_t filter_crc32c(const unsigned char *bytes, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint32_t crc = UINT32_MAX;

    (void)pthread_once(&once, make_crc_table);
    for (; size >= 8; size -= 8, bytes += 8) {
        const uint32_t low = crc ^ (uint32_t)bytes_number(bytes, 4, false);

        crc = 0;
        for (size_t i = 0; i < 4; i++)
            crc ^= crc_table[7 - i][low >> 8 * i & 0xff] ^ crc_table[3 - i][bytes[4 + i]];
    }
    for (; size > 0; size--)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *bytes++) & 0xff];
    return ~crc;
}

static const char *undo_checksum(struct codec_memory *m, const struct container_filter *f,
                                 const unsigned char *from, size_t size, unsigned char *to,
                                 size_t out)
{
    (void)m, (void)to;
    return filter_of(f->kind)->checksum(from, out) == bytes_number(from + out, size - out, false)
               ? NULL
               : "the checksum of a chunk is wrong";
}

static const char *refuse_delta(const struct container_filter *f)
{
    return f->values[0] > 0 && f->values[0] <= sizeof(uint64_t)
               ? NULL
               : "the size of an element is missing";
}

/* Adds up integers of which only the first is stored, and of the others by how much they are more
   than the one before, modulo 2^N. */
static const char *undo_delta(struct codec_memory *m, const struct container_filter *f,
                              const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    const size_t element = f->values[0];
    const bool big = f->values[1];
    uint64_t sum = 0;

    (void)m, (void)size;
    if (out % element != 0)
        return TOO_SHORT;
    for (size_t i = 0; i < out; i += element) {
        sum += bytes_number(from + i, element, big);
        for (size_t k = 0; k < element; k++)
            to[i + k] = (unsigned char)(sum >> 8 * (big ? element - 1 - k : k));
    }
    return NULL;
}

/* The size of a block, which lies before it. False if the block is cut off. */
static bool take_size(const unsigned char **from, const unsigned char *end, size_t *size)
{
    if (end - *from < 4)
        return false;
    *size = (size_t)bytes_number(*from, 4, true);
    *from += 4;
    return *size <= (size_t)(end - *from);
}

/* Undoes LZ4, whose blocks have their sizes before them, after the size of all of their content, and
   that of one. A block that is no smaller is stored. */
static const char *undo_lz4(struct codec_memory *m, const struct container_filter *f,
                            const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    const unsigned char *const end = from + size;
    size_t block;

    (void)f;
    if (size < 12 || bytes_number(from, 8, true) != out)
        return size < 12 ? CUT_OFF : OTHER_SIZE;
    block = (size_t)bytes_number(from + 8, 4, true);
    if (block == 0 && out > 0)
        return "blocks of no bytes";
    from += 12;
    while (out > 0) {
        const size_t content = block < out ? block : out;
        const char *wrong = NULL;
        size_t stored;

        if (!take_size(&from, end, &stored))
            return CUT_OFF;
        if (stored == content)
            memcpy(to, from, content);
        else
            wrong = codec_decode(m, CODEC_LZ4, from, stored, to, content);
        if (wrong)
            return wrong;
        from += stored;
        to += content;
        out -= content;
    }
    return from == end ? NULL : TOO_LONG;
}

/* Parameters of bitshuffle: bytes of an element, elements of a block, and its compression. */
enum { BITSHUFFLE_ELEMENT = 2, BITSHUFFLE_BLOCK, BITSHUFFLE_CODEC };
enum { BITSHUFFLE_PLAIN = 0, BITSHUFFLE_LZ4 = 2, BITSHUFFLE_ZSTD = 3 };

static bool is_bitshuffle_plain(const struct container_filter *f)
{
    return f->values[BITSHUFFLE_CODEC] == BITSHUFFLE_PLAIN;
}

static const char *refuse_bitshuffle(const struct container_filter *f)
{
    const uint32_t codec = f->values[BITSHUFFLE_CODEC];

    return f->values[BITSHUFFLE_ELEMENT] == 0     ? "the size of an element is missing"
           : f->values[BITSHUFFLE_BLOCK] % 8 != 0 ? "its blocks are not of eight elements each"
           : codec == BITSHUFFLE_PLAIN || codec == BITSHUFFLE_LZ4 || codec == BITSHUFFLE_ZSTD
               ? NULL
               : "its compression is unknown";
}

/* Undoes bitshuffle, whose blocks have their sizes before them where they are compressed, after the
   size of all of their content, and that of one. Elements that do not fill eight are stored. */
static const char *undo_bitshuffle(struct codec_memory *m, const struct container_filter *f,
                                   const unsigned char *from, size_t size, unsigned char *to,
                                   size_t out)
{
    const unsigned char *const end = from + size;
    const enum codec codec = f->values[BITSHUFFLE_CODEC] == BITSHUFFLE_LZ4 ? CODEC_LZ4 : CODEC_ZSTD;
    const bool compressed = !is_bitshuffle_plain(f);
    const size_t element = f->values[BITSHUFFLE_ELEMENT];
    size_t block = f->values[BITSHUFFLE_BLOCK], left = out / element;

    if (compressed) {
        if (size < 12)
            return CUT_OFF;
        if (bytes_number(from, 8, true) != out)
            return OTHER_SIZE;
        block = (size_t)bytes_number(from + 8, 4, true) / element;
        from += 12;
    }
    if (block == 0) /* about 8 KiB */
        block = 8192 / element / 8 * 8 < 128 ? 128 : 8192 / element / 8 * 8;
    if (block % 8 != 0 || out % element != 0)
        return "its blocks or its content are not of whole elements";
    while (left >= 8) {
        const size_t count = block < left ? block : left - left % 8, content = count * element;
        const unsigned char *shuffled = from;
        size_t stored = content;

        if (compressed) {
            unsigned char *const room = codec_room(m, content);
            const char *wrong;

            if (!take_size(&from, end, &stored))
                return CUT_OFF;
            wrong = room ? codec_decode(m, codec, from, stored, room, content) : error_no_memory;
            if (wrong)
                return wrong;
            shuffled = room;
        }
        shuffle_undo_bits(to, shuffled, count, element);
        from += stored;
        to += content;
        left -= count;
    }
    if ((size_t)(end - from) != left * element)
        return (size_t)(end - from) < left * element ? CUT_OFF : TOO_LONG;
    memcpy(to, from, left * element);
    return NULL;
}

#define BLOSC_VERSION 2
#define BLOSC_CODEC_VERSION 1 /* of all codecs */
#define BLOSC_HEADER 16

/* Flags of a chunk, after which three bits say how it is compressed. */
enum { SHUFFLED = 1, STORED = 2, BITS_SHUFFLED = 4, RESERVED = 8, NOT_SPLIT = 16, CODEC_SHIFT = 5 };

/* Blocks are split if elements have at most so many bytes, and blocks at least so many elements. */
enum { SPLIT_MAX = 16, SPLIT_ELEMENTS = 128 };

static const char blosc_cut_off[] = "the Blosc data are cut off";

/* A chunk of Blosc, version 2 of their format, which Blosc 1 writes: blocks of shuffled bytes or bits, each
   compressed as a whole or one place of the elements' bytes after the other. */
struct blosc_chunk {
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
static const char *decode_streams(const struct blosc_chunk *c, size_t at, size_t streams,
                                  unsigned char *to, size_t out)
{
    const size_t content = out / streams;

    for (size_t i = 0; i < streams; i++) {
        const char *wrong = NULL;
        size_t stored;

        if (at > c->size || c->size - at < sizeof(uint32_t))
            return blosc_cut_off;
        stored = number_at(c->bytes + at);
        at += sizeof(uint32_t);
        if (stored > c->size - at)
            return blosc_cut_off;
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
static const char *decode_block(const struct blosc_chunk *c, size_t at, size_t streams,
                                unsigned char *to, size_t out)
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

static const char *undo_blosc(struct codec_memory *m, const struct container_filter *f,
                              const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    static const enum codec codecs[] = {CODEC_BLOSCLZ, CODEC_LZ4, CODEC_SNAPPY, CODEC_ZLIB,
                                        CODEC_ZSTD};
    struct blosc_chunk c = {.memory = m, .bytes = from};
    size_t block, blocks;
    const char *wrong = NULL;

    (void)f;
    if (size < BLOSC_HEADER)
        return blosc_cut_off;
    if (from[0] != BLOSC_VERSION)
        return "chunks of Blosc of another version than 2 are not supported";
    c.flags = from[2];
    c.element = from[3];
    c.size = number_at(from + 12);
    block = number_at(from + 8);
    if (c.size < BLOSC_HEADER || c.size > size)
        return blosc_cut_off;
    if (number_at(from + 4) != out)
        return OTHER_SIZE;
    /* Stored chunks do not need these fields; c-blosc checks them there, too. */
    if (block == 0 || block > out || c.element == 0 || (c.flags & RESERVED))
        return "the Blosc header is damaged";
    if (c.flags & STORED) {
        if (c.size - BLOSC_HEADER != out)
            return blosc_cut_off;
        memcpy(to, from + BLOSC_HEADER, out);
        return NULL;
    }
    if (c.flags >> CODEC_SHIFT >= sizeof codecs / sizeof *codecs || from[1] != BLOSC_CODEC_VERSION)
        return "compressed by a codec that Blosc does not have";
    c.codec = codecs[c.flags >> CODEC_SHIFT];
    blocks = (out - 1) / block + 1;
    if (blocks > (c.size - BLOSC_HEADER) / sizeof(uint32_t))
        return blosc_cut_off;
    for (size_t i = 0; i < blocks && !wrong; i++) {
        const size_t begin = i * block;
        const size_t content = out - begin < block ? out - begin : block;
        const bool split = !(c.flags & NOT_SPLIT) && content == block && c.element <= SPLIT_MAX &&
                           block / c.element >= SPLIT_ELEMENTS;

        wrong = decode_block(&c, number_at(from + BLOSC_HEADER + i * sizeof(uint32_t)),
                             split ? c.element : 1, to + begin, content);
    }
    return wrong;
}

static const char *refuse_ggml(const struct container_filter *f)
{
    return ggml_find(f->values[0]) ? NULL : "the type of the blocks is unknown";
}

/* Decodes blocks. If fewer are stored than a tile has room for, zeros follow, which lie outside of the
   array. */
static const char *undo_ggml(struct codec_memory *m, const struct container_filter *f,
                             const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    const struct ggml_type *type = ggml_find(f->values[0]);
    const size_t blocks = size / type->bytes;
    const size_t decoded = blocks * type->elements * element_size(type->type);

    (void)m;
    if (size % type->bytes != 0 || decoded > out)
        return "the blocks have another size than they should";
    ggml_decode(type, from, blocks, to);
    memset(to + decoded, 0, out - decoded);
    return NULL;
}

static bool reduce_ggml(const struct container_filter *f, const unsigned char *from, size_t size,
                        unsigned wants, struct partial *p)
{
    const struct ggml_type *type = ggml_find(f->values[0]);
    const size_t blocks = size / type->bytes;

    if (wants != PARTIAL_SUM || size % type->bytes != 0)
        return false;
    partial_clear(p);
    p->count = blocks * type->elements;
    return ggml_add(type, from, blocks, &p->sum);
}

/* Parameters of scale-offset; the fill value is two of them, the lower half first. */
enum {
    SCALE_KIND,
    SCALE_FACTOR, /* bits of a packed integer, 0 for as few as suffice; or decimals of floats */
    SCALE_ELEMENTS,
    SCALE_CLASS,
    SCALE_SIZE, /* bytes of an element */
    SCALE_SIGN,
    SCALE_ORDER,
    SCALE_FILLED, /* whether there is a fill value */
    SCALE_FILL
};
enum { SCALE_FLOATS = 0, SCALE_INTEGERS = 2, SCALE_CLASS_INTEGER = 0, SCALE_CLASS_FLOAT = 1 };

/* Bytes before the packed numbers: how many bits these have, and the least of them. */
#define SCALE_HEADER 21

/* Powers of ten up to this one are exact in f32 and in f64. */
enum { SCALE_DECIMALS_32 = 10, SCALE_DECIMALS_64 = 22 };

static const char *refuse_scaleoffset(const struct container_filter *f)
{
    const uint32_t size = f->values[SCALE_SIZE], factor = f->values[SCALE_FACTOR];
    const bool integers = f->values[SCALE_CLASS] == SCALE_CLASS_INTEGER &&
                          f->values[SCALE_KIND] == SCALE_INTEGERS &&
                          (size == 1 || size == 2 || size == 4 || size == 8);
    const bool floats =
        f->values[SCALE_CLASS] == SCALE_CLASS_FLOAT && f->values[SCALE_KIND] == SCALE_FLOATS &&
        ((size == 4 && factor <= SCALE_DECIMALS_32) || (size == 8 && factor <= SCALE_DECIMALS_64));

    return (integers || floats) && f->values[SCALE_ORDER] <= 1
               ? NULL
               : "its parameters are missing, or others than libhdf5 writes for whole decimals";
}

/* The float that stands for a packed number: so many units of 10^-decimals more than the least, with
   the roundings of libhdf5. */
static uint64_t unscale(uint64_t number, uint64_t least, size_t size, unsigned decimals)
{
    const uint32_t least_low = (uint32_t)least;
    double power = 1, wide;
    uint32_t low;
    float narrow;

    for (unsigned i = 0; i < decimals; i++)
        power *= 10;
    if (size == sizeof narrow) {
        memcpy(&narrow, &least_low, sizeof narrow);
        narrow = (float)(int32_t)number / (float)power + narrow;
        memcpy(&low, &narrow, sizeof low);
        return low;
    }
    memcpy(&wide, &least, sizeof wide);
    wide = (double)(int64_t)number / power + wide;
    memcpy(&number, &wide, sizeof number);
    return number;
}

/* A number of so many bits, the most significant first, after `at` bits of `size` bytes. */
static uint64_t take_bits(const unsigned char *bytes, size_t size, uint64_t at, unsigned count)
{
    uint64_t x = 0;

    if (count > 0 && count <= 57 && at / 8 + sizeof x <= size) { /* one load has all of them */
        x = element_bits(sizeof x, bytes + at / 8);
        return (element_host_is_big() ? x : __builtin_bswap64(x)) << at % 8 >> (64 - count);
    }
    while (count > 0) {
        const unsigned left = 8 - at % 8, n = left < count ? left : count;

        x = x << n | (bytes[at / 8] >> (left - n) & ((1U << n) - 1));
        at += n;
        count -= n;
    }
    return x;
}

/* Puts the low bytes of a number, 1 to 8. */
static void put_number(unsigned char *to, size_t size, bool big, uint64_t x)
{
    if ((size & (size - 1)) == 0) /* in one instruction */
        element_store(size, to,
                      big == element_host_is_big() ? x : __builtin_bswap64(x) >> (64 - 8 * size));
    else
        for (size_t k = 0; k < size; k++)
            to[big ? size - 1 - k : k] = (unsigned char)(x >> 8 * k);
}

/* Undoes scale-offset: numbers of few bits, by which elements are more than the least of them. The
   greatest of these stands for the fill value. */
static const char *undo_scaleoffset(struct codec_memory *m, const struct container_filter *f,
                                    const unsigned char *from, size_t size, unsigned char *to,
                                    size_t out)
{
    const size_t element = f->values[SCALE_SIZE], count = out / element;
    const bool integers = f->values[SCALE_CLASS] == SCALE_CLASS_INTEGER;
    const uint64_t fill = f->values[SCALE_FILL] | (uint64_t)f->values[SCALE_FILL + 1] << 32;
    uint64_t bits, least;
    size_t least_bytes;

    (void)m;
    if (integers && f->values[SCALE_FACTOR] == 8 * element) { /* it has done nothing */
        if (size != out)
            return OTHER_SIZE;
        memcpy(to, from, out);
        return NULL;
    }
    if (size < SCALE_HEADER)
        return CUT_OFF;
    bits = bytes_number(from, 4, false);
    least_bytes = from[4];
    least = bytes_number(from + 5, least_bytes < 8 ? least_bytes : 8, false);
    if (bits > 8 * element || out % element != 0 || f->values[SCALE_ELEMENTS] != count)
        return OTHER_SIZE;
    if ((uint64_t)(size - SCALE_HEADER) * 8 < bits * count)
        return CUT_OFF;
    from += SCALE_HEADER;
    for (size_t i = 0; i < count; i++) {
        uint64_t x;

        if (bits == 8 * element) /* little-endian, and nothing was subtracted */
            x = bytes_number(from + i * element, element, false);
        else {
            x = take_bits(from, size - SCALE_HEADER, i * bits, (unsigned)bits);
            x = f->values[SCALE_FILLED] && x == (UINT64_C(1) << bits) - 1 ? fill
                : integers                                                ? x + least
                           : unscale(x, least, element, f->values[SCALE_FACTOR]);
        }
        put_number(to + i * element, element, f->values[SCALE_ORDER], x);
    }
    return NULL;
}

/* Parameters of n-bit. */
enum {
    NBIT_PLAIN = 1, /* elements are not packed, since they have no other bits */
    NBIT_ELEMENTS,
    NBIT_CLASS,
    NBIT_SIZE, /* bytes of an element */
    NBIT_ORDER,
    NBIT_BITS,
    NBIT_OFFSET /* of these in an element */
};
enum { NBIT_CLASS_ATOMIC = 1 };

static bool is_nbit_plain(const struct container_filter *f)
{
    return f->values[NBIT_PLAIN] != 0;
}

static const char *refuse_nbit(const struct container_filter *f)
{
    const uint32_t size = f->values[NBIT_SIZE], bits = f->values[NBIT_BITS];

    return is_nbit_plain(f) || (f->values[NBIT_CLASS] == NBIT_CLASS_ATOMIC && size > 0 &&
                                size <= 8 && f->values[NBIT_ORDER] <= 1 && bits > 0 &&
                                bits <= 8 * size && f->values[NBIT_OFFSET] <= 8 * size - bits)
               ? NULL
               : "its elements are no numbers of at most 64 bits";
}

/* Undoes n-bit: the bits that elements have, in their place, and zeros around them. */
static const char *undo_nbit(struct codec_memory *m, const struct container_filter *f,
                             const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    const size_t element = f->values[NBIT_SIZE];
    const unsigned bits = f->values[NBIT_BITS];

    (void)m;
    if (is_nbit_plain(f)) { /* then `bits` may be any number */
        memcpy(to, from, out);
        return NULL;
    }
    if (out % element != 0 || f->values[NBIT_ELEMENTS] != out / element)
        return OTHER_SIZE;
    if ((uint64_t)size * 8 < (uint64_t)(out / element) * bits)
        return CUT_OFF;
    for (size_t i = 0; i < out / element; i++)
        put_number(to + i * element, element, f->values[NBIT_ORDER],
                   take_bits(from, size, (uint64_t)i * bits, bits) << f->values[NBIT_OFFSET]);
    return NULL;
}

/* Whether so many bits, from this one on, are in an element. */
static bool are_inside(const struct container_filter *f, uint32_t at, uint32_t bits)
{
    return bits <= 8 * f->values[FIELDS_SIZE] && at <= 8 * f->values[FIELDS_SIZE] - bits;
}

static const char *refuse_fields(const struct container_filter *f)
{
    const uint32_t size = f->values[FIELDS_SIZE], out = f->values[FIELDS_OUT],
                   bits = f->values[FIELDS_BITS], exponent = f->values[FIELDS_EXPONENT_BITS];
    const bool is_float = exponent > 0;
    const bool sized =
        size > 0 && size <= 8 &&
        (out == 4 || out == 8 || (!is_float && (out == 1 || out == 2) && size <= out));

    return sized && f->values[FIELDS_BIG] <= 1 && bits > 0 && bits <= (is_float ? 52 : 8 * out) &&
                   are_inside(f, f->values[FIELDS_AT], bits) &&
                   (are_inside(f, f->values[FIELDS_SIGN], 1) ||
                    (!is_float && f->values[FIELDS_SIGN] == 64)) &&
                   exponent <= 11 && are_inside(f, f->values[FIELDS_EXPONENT_AT], exponent) &&
                   f->values[FIELDS_BIAS] <= 1100
               ? NULL
               : "its fields are those of no number";
}

/* The float of an element, which is one of binary64: exactly. */
static double float_of_fields(const struct container_filter *f, uint64_t x)
{
    const int bits = (int)f->values[FIELDS_BITS];
    const uint64_t most = (UINT64_C(1) << f->values[FIELDS_EXPONENT_BITS]) - 1,
                   exponent = x >> f->values[FIELDS_EXPONENT_AT] & most,
                   fraction = x >> f->values[FIELDS_AT] & ((UINT64_C(1) << bits) - 1),
                   hidden = exponent > 0 ? UINT64_C(1) << bits : 0;
    const double magnitude =
        exponent < most ? ldexp((double)(hidden | fraction), (int)(exponent > 0 ? exponent : 1) -
                                                                 (int)f->values[FIELDS_BIAS] - bits)
        : fraction > 0  ? (double)NAN
                        : (double)INFINITY;

    return x >> f->values[FIELDS_SIGN] & 1 ? -magnitude : magnitude;
}

/* Makes numbers of a type of ours from elements that have them in some of their bits. */
static const char *undo_fields(struct codec_memory *m, const struct container_filter *f,
                               const unsigned char *from, size_t size, unsigned char *to,
                               size_t out)
{
    const size_t element = f->values[FIELDS_SIZE], made = f->values[FIELDS_OUT];
    const uint64_t mask = UINT64_MAX >> (64 - f->values[FIELDS_BITS]),
                   sign = f->values[FIELDS_SIGN] < 64 ? mask ^ mask >> 1 : 0;
    const bool whole = (element & (element - 1)) == 0 &&
                       f->values[FIELDS_BIG] == element_host_is_big(); /* one load */

    (void)m;
    if (out % made != 0 || size != out / made * element)
        return OTHER_SIZE;
    for (size_t i = 0; i < out / made; i++) {
        uint64_t x = whole ? element_bits(element, from + i * element)
                           : bytes_number(from + i * element, element, f->values[FIELDS_BIG]);

        if (f->values[FIELDS_EXPONENT_BITS] == 0)
            x = ((x >> f->values[FIELDS_AT] & mask) ^ sign) - sign;
        else {
            const double wide = float_of_fields(f, x);
            const float narrow = (float)wide;
            uint32_t low;

            memcpy(&low, &narrow, sizeof low);
            memcpy(&x, &wide, sizeof x);
            x = made == sizeof low ? low : x;
        }
        put_number(to + i * made, made, f->values[FIELDS_BIG], x);
    }
    return NULL;
}

static const char *refuse_field(const struct container_filter *f)
{
    const uint32_t record = f->values[FIELD_RECORD], at = f->values[FIELD_AT];

    return f->values[FIELD_SIZE] > 0 && at <= record && f->values[FIELD_SIZE] <= record - at
               ? NULL
               : "a field lies outside of its record";
}

/* Takes a field out of each record. */
static const char *undo_field(struct codec_memory *m, const struct container_filter *f,
                              const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    const size_t record = f->values[FIELD_RECORD], field = f->values[FIELD_SIZE];

    (void)m;
    if (out % field != 0 || size != (uint64_t)(out / field) * record)
        return OTHER_SIZE;
    bytes_gather(to, from + f->values[FIELD_AT], out / field, field, (int64_t)record);
    return NULL;
}

static const char *undo_repeat(struct codec_memory *m, const struct container_filter *f,
                               const unsigned char *from, size_t size, unsigned char *to,
                               size_t out)
{
    (void)m;
    if (size == 0 || size > out || size != f->values[0])
        return OTHER_SIZE;
    memcpy(to, from, size);
    bytes_repeat(to, size, out);
    return NULL;
}

/* Parameters of szip. */
enum {
    SZIP_OPTIONS,
    SZIP_BLOCK, /* pixels of a block */
    SZIP_BITS,  /* of a pixel */
    SZIP_LINE   /* pixels of a line; the last block of a line is padded */
};
/* Bits of its options; others do not change how it is undone. */
enum { SZIP_BIG_ENDIAN = 16, SZIP_DIFFERENCES = 32 };

static const char *refuse_szip(const struct container_filter *f)
{
#ifdef HAVE_LIBAEC
    const uint32_t bits = f->values[SZIP_BITS], block = f->values[SZIP_BLOCK];
    const uint32_t line = f->values[SZIP_LINE];

    return ((bits >= 1 && bits <= 24) || bits == 32 || bits == 64) && block >= 2 && block <= 32 &&
                   block % 2 == 0 && line >= block && line <= 128 * block
               ? NULL
               : "its parameters are missing, or others than libhdf5 writes";
#else
    (void)f;
    return "it needs libaec, without which this program was built";
#endif
}

/* Undoes szip: the size of the content, and what libaec decodes. Pixels of 32 and 64 bits are stored
   as pixels of 8: the first bytes of all of them, then the second ones. Others have any bits of 1, 2
   or 4 bytes. */
static const char *undo_szip(struct codec_memory *m, const struct container_filter *f,
                             const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
#ifdef HAVE_LIBAEC
    const uint32_t bits = f->values[SZIP_BITS], block = f->values[SZIP_BLOCK];
    const size_t planes = bits > 24 ? bits / 8 : 1;
    const size_t pixel = planes > 1 || bits <= 8 ? 1 : bits <= 16 ? 2 : 4; /* bytes */
    const size_t blocks = (f->values[SZIP_LINE] + block - 1) / block;
    const size_t line = f->values[SZIP_LINE] * pixel, padded = blocks * block * pixel;
    const size_t stored = out / line * padded + out % line;
    const uint32_t options = f->values[SZIP_OPTIONS];
    struct aec_stream s = {.bits_per_sample = planes > 1 ? 8 : bits,
                           .block_size = block,
                           .rsi = (unsigned)blocks,
                           .flags = (options & SZIP_BIG_ENDIAN ? AEC_DATA_MSB : 0) |
                                    (options & SZIP_DIFFERENCES ? AEC_DATA_PREPROCESS : 0)};
    unsigned char *room;
    int status;

    if (size < 4)
        return CUT_OFF;
    if (bytes_number(from, 4, false) != out || out % (planes * pixel) != 0)
        return OTHER_SIZE;
    room = codec_room(m, stored);
    s.next_in = from + 4;
    s.avail_in = size - 4;
    s.next_out = room;
    s.avail_out = stored;
    if (!room || aec_decode_init(&s) != AEC_OK)
        return error_no_memory;
    status = aec_decode(&s, AEC_FLUSH);
    aec_decode_end(&s);
    if (status != AEC_OK)
        return "the szip data are damaged";
    if (s.total_out != stored)
        return CUT_OFF;
    for (size_t i = 1; padded > line && i * line < out; i++)
        memmove(room + i * line, room + i * padded, line < out - i * line ? line : out - i * line);
    shuffle_undo(to, room, out, planes);
    return NULL;
#else
    (void)m, (void)from, (void)size, (void)to, (void)out;
    return refuse_szip(f);
#endif
}

static const struct filter filters[] = {
    [CONTAINER_SHUFFLE] = {.name = "shuffle",
                           .number = 2,
                           .keeps_size = always,
                           .refusal = refuse_shuffle,
                           .undo = undo_shuffle},
    [CONTAINER_DEFLATE] = {.name = "deflate",
                           .number = 1,
                           .refusal = refuse_deflate,
                           .undo = undo_codec,
                           .codec = CODEC_ZLIB},
    [CONTAINER_GZIP] = {.name = "gzip",
                        .refusal = refuse_deflate,
                        .undo = undo_codec,
                        .codec = CODEC_GZIP},
    [CONTAINER_FLETCHER32] = {.name = "fletcher32",
                              .number = 3,
                              .checksum = fletcher32,
                              .undo = undo_checksum},
    [CONTAINER_ZSTD] = {.name = "zstd", .number = 32015, .undo = undo_codec, .codec = CODEC_ZSTD},
    [CONTAINER_LZ4] = {.name = "lz4", .number = 32004, .undo = undo_lz4},
    [CONTAINER_LZF] = {.name = "lzf", .number = 32000, .undo = undo_codec, .codec = CODEC_LZF},
    [CONTAINER_BITSHUFFLE] = {.name = "bitshuffle",
                              .number = 32008,
                              .keeps_size = is_bitshuffle_plain,
                              .refusal = refuse_bitshuffle,
                              .undo = undo_bitshuffle},
    [CONTAINER_SCALEOFFSET] = {.name = "scaleoffset",
                               .number = 6,
                               .refusal = refuse_scaleoffset,
                               .undo = undo_scaleoffset},
    [CONTAINER_NBIT] = {.name = "nbit",
                        .number = 5,
                        .keeps_size = is_nbit_plain,
                        .refusal = refuse_nbit,
                        .undo = undo_nbit},
    [CONTAINER_FIELDS] = {.name = "fields", .refusal = refuse_fields, .undo = undo_fields},
    [CONTAINER_FIELD] = {.name = "field", .refusal = refuse_field, .undo = undo_field},
    [CONTAINER_REPEAT] = {.name = "repeat", .undo = undo_repeat},
    [CONTAINER_SZIP] =
        {.name = "szip", .number = 4, .allocates = true, .refusal = refuse_szip, .undo = undo_szip},
    [CONTAINER_BLOSC] = {.name = "blosc", .number = 32001, .undo = undo_blosc},
    [CONTAINER_CRC32C] = {.name = "crc32c", .checksum = filter_crc32c, .undo = undo_checksum},
    [CONTAINER_DELTA] = {.name = "delta",
                         .keeps_size = always,
                         .refusal = refuse_delta,
                         .undo = undo_delta},
    [CONTAINER_GGML] = {.name = "ggml",
                        .refusal = refuse_ggml,
                        .undo = undo_ggml,
                        .reduce = reduce_ggml},
};

const struct filter *filter_of(enum container_filter_kind kind)
{
    return &filters[kind];
}

bool filter_compresses(const struct container_filter *f)
{
    const struct filter *filter = &filters[f->kind];

    return !filter->checksum && !(filter->keeps_size && filter->keeps_size(f));
}

bool filter_is_layout(const struct container_filter *f)
{
    return f->kind == CONTAINER_FIELDS || f->kind == CONTAINER_FIELD;
}

uint64_t filter_stored(const struct container_filter *f, uint64_t bytes)
{
    if (f->kind == CONTAINER_FIELDS)
        return bytes / f->values[FIELDS_OUT] * f->values[FIELDS_SIZE];
    if (f->kind == CONTAINER_FIELD)
        return bytes / f->values[FIELD_SIZE] * f->values[FIELD_RECORD];
    if (f->kind == CONTAINER_REPEAT)
        return f->values[0];
    return bytes + (filters[f->kind].checksum ? sizeof(uint32_t) : 0);
}

bool filter_find(int number, enum container_filter_kind *kind)
{
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        *kind = (enum container_filter_kind)i;
        if (filters[i].number == number && number > 0)
            return true;
    }
    return false;
}

const char *filter_refusal(const struct container_filter *f)
{
    return filters[f->kind].refusal ? filters[f->kind].refusal(f) : NULL;
}
