/*
 * The arithmetic of zstd's entropy coding that every decoder of blocks shares, on the CPU and on
 * GPUs: what codes stand for, how tables follow from their descriptions, bits read backwards, and
 * the rule of repeated offsets. RFC 8878, sections 3.1.1.3 to 4.2.
 *
 * Everything here is a pure function of its arguments, and bounded by them: hostile input makes it
 * return false or 0, never read or write elsewhere. It compiles as C11 and as CUDA C++, calls no
 * library, and prints nothing.
 */
#ifndef GPUREDUCE_ZSTD_ENTROPY_H
#define GPUREDUCE_ZSTD_ENTROPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#    define ZSTD_ENTROPY static __host__ __device__ inline
#else
#    define ZSTD_ENTROPY static inline
#endif

/* The number of the highest bit that is set; x is not 0. */
ZSTD_ENTROPY unsigned zstd_high_bit(uint32_t x)
{
#ifdef __CUDA_ARCH__
    return 31 - (unsigned)__clz((int)x);
#else
    return 31 - (unsigned)__builtin_clz(x);
#endif
}

/*
 * The parts of a sequence, and the codes of each part.
 */

enum zstd_part { ZSTD_LITERAL_LENGTH, ZSTD_OFFSET, ZSTD_MATCH_LENGTH };
#define ZSTD_PARTS 3

/* Codes that exist. The format lets decoders limit those of offsets: a larger one than 31 reaches
   further back than any window. */
#define ZSTD_LITERAL_LENGTH_CODES 36
#define ZSTD_OFFSET_CODES 32
#define ZSTD_MATCH_LENGTH_CODES 53
#define ZSTD_CODES_MAX 53

/* The most states that a decoding table may have, as the logarithm to base 2. */
#define ZSTD_LITERAL_LENGTH_LOG_MAX 9
#define ZSTD_OFFSET_LOG_MAX 8
#define ZSTD_MATCH_LENGTH_LOG_MAX 9
#define ZSTD_TABLE_LOG_MAX 9

ZSTD_ENTROPY unsigned zstd_codes(enum zstd_part part)
{
    return part == ZSTD_LITERAL_LENGTH ? ZSTD_LITERAL_LENGTH_CODES
           : part == ZSTD_OFFSET       ? ZSTD_OFFSET_CODES
                                       : ZSTD_MATCH_LENGTH_CODES;
}

ZSTD_ENTROPY unsigned zstd_table_log_max(enum zstd_part part)
{
    return part == ZSTD_OFFSET ? ZSTD_OFFSET_LOG_MAX : ZSTD_LITERAL_LENGTH_LOG_MAX;
}

/* The predefined distributions (3.1.1.3.2.2): normalised counts from code 0 on, for an initializer,
   and the logarithms of their sums. */
#define ZSTD_PREDEFINED_LITERAL_LENGTHS                                                          \
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, \
        1, -1, -1, -1, -1
#define ZSTD_PREDEFINED_OFFSETS \
    1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1
#define ZSTD_PREDEFINED_MATCH_LENGTHS                                                            \
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, \
        1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1
#define ZSTD_PREDEFINED_LITERAL_LENGTH_LOG 6
#define ZSTD_PREDEFINED_OFFSET_LOG 5
#define ZSTD_PREDEFINED_MATCH_LENGTH_LOG 6

/* Bits that follow in the stream and are added to what the code stands for. The codes of a part cut
   the range of its values into pieces: each begins where the one before it ends. */
ZSTD_ENTROPY unsigned zstd_code_bits(enum zstd_part part, unsigned code)
{
    if (part == ZSTD_OFFSET)
        return code;
    if (part == ZSTD_LITERAL_LENGTH)
        return code < 16   ? 0
               : code < 25 ? (unsigned)(UINT64_C(0x433221111) >> 4 * (code - 16) & 15)
                           : code - 19;
    return code < 32   ? 0
           : code < 43 ? (unsigned)(UINT64_C(0x54433221111) >> 4 * (code - 32) & 15)
                       : code - 36;
}

/* The value of the code without its extra bits: a length in bytes, or an Offset_Value. */
ZSTD_ENTROPY uint32_t zstd_code_base(enum zstd_part part, unsigned code)
{
    if (part == ZSTD_OFFSET)
        return UINT32_C(1) << code;
    if (part == ZSTD_LITERAL_LENGTH)
        return code < 16    ? code
               : code < 24  ? (uint32_t)(UINT64_C(0x28201c1816141210) >> 8 * (code - 16) & 255)
               : code == 24 ? 48
                            : UINT32_C(1) << (code - 19);
    return code < 32   ? code + 3
           : code < 40 ? (uint32_t)(UINT64_C(0x3b332f2b29272523) >> 8 * (code - 32) & 255)
           : code < 43 ? (uint32_t)(0x635343 >> 8 * (code - 40) & 255)
                       : (UINT32_C(1) << (code - 36)) + 3;
}

/*
 * FSE: descriptions of distributions, and decoding tables.
 */

/* Eight bytes, little endian: compilers make one load of it. */
ZSTD_ENTROPY uint64_t zstd_load64(const unsigned char *b)
{
    return b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 |
           (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 |
           (uint64_t)b[7] << 56;
}

/* Bits from the front: `count` of them, at most 25, from bit `at` on. Zeros after the end. */
ZSTD_ENTROPY uint32_t zstd_forward_bits(const unsigned char *b, size_t size, size_t at,
                                        unsigned count)
{
    uint64_t word = 0;

    if (at / 8 + 8 <= size)
        word = zstd_load64(b + at / 8);
    else
        for (unsigned i = 0; i < 4 && at / 8 + i < size; i++)
            word |= (uint64_t)b[at / 8 + i] << 8 * i;
    return (uint32_t)(word >> at % 8) & ((UINT32_C(1) << count) - 1);
}

/* Reads the description of a distribution (4.1.1) from the first of these bytes: normalised counts
   of codes 0 to *codes - 1, -1 for "less than 1", whose sum is 1 << *log. `codes_max`: room in
   `counts`, and the number of codes that exist. Returns how many bytes it takes, or 0 where it is
   not sound. */
ZSTD_ENTROPY size_t zstd_fse_describe(const unsigned char *b, size_t size, unsigned codes_max,
                                      unsigned log_max, int16_t *counts, unsigned *codes,
                                      unsigned *log)
{
    unsigned left, code = 0;
    size_t at = 4;

    *codes = 0;
    *log = 5 + zstd_forward_bits(b, size, 0, 4);
    if (size == 0 || *log > log_max)
        return 0;
    left = 1u << *log;
    while (left > 0 && code < codes_max) {
        /* A value from 0 to left + 1. The lowest ones take one bit less than the others. */
        unsigned bits = zstd_high_bit(left + 1) + 1, half = 1u << (bits - 1);
        unsigned value = zstd_forward_bits(b, size, at, bits), low = value & (half - 1);
        unsigned short_ones = 2 * half - 2 - left;

        at += bits;
        if (low < short_ones) {
            value = low;
            at--;
        } else if (value >= half) {
            value -= short_ones;
        }
        counts[code++] = (int16_t)((int)value - 1);
        left -= value == 0 ? 1 : value - 1;
        if (value == 1) { /* a count of 0, and how many more of them follow */
            unsigned more = 3;

            while (more == 3 && at / 8 < size) {
                more = zstd_forward_bits(b, size, at, 2);
                at += 2;
                for (unsigned i = 0; i < more && code < codes_max; i++)
                    counts[code++] = 0;
            }
        }
    }
    *codes = code;
    return left == 0 && (at + 7) / 8 <= size ? (at + 7) / 8 : 0;
}

/* A state of a decoding table: the code that it means, and the next state: base + `bits` bits. */
struct zstd_fse_state {
    uint16_t base;
    uint8_t code;
    uint8_t bits;
};

/* Bytes that one state stands away from the next, where the states of a code are laid out. */
ZSTD_ENTROPY unsigned zstd_fse_step(unsigned log)
{
    return (1u << log >> 1) + (1u << log >> 3) + 3;
}

/* Builds the decoding table of 1 << log states (4.1.1). `counts` are sound: zstd_fse_describe's,
   or predefined. `next` has room for `codes` numbers. */
ZSTD_ENTROPY void zstd_fse_build(struct zstd_fse_state *table, unsigned log, const int16_t *counts,
                                 unsigned codes, uint16_t *next)
{
    const unsigned size = 1u << log, step = zstd_fse_step(log);
    unsigned top = size, at = 0;

    for (unsigned code = 0; code < codes; code++) {
        next[code] = counts[code] < 0 ? 1 : (uint16_t)counts[code];
        if (counts[code] < 0)
            table[--top].code = (uint8_t)code;
    }
    for (unsigned code = 0; code < codes; code++)
        for (int i = 0; i < counts[code]; i++) {
            table[at].code = (uint8_t)code;
            do
                at = (at + step) & (size - 1);
            while (at >= top);
        }
    for (unsigned i = 0; i < size; i++) {
        /* Counts add up to the size: all states have a code.
           NOLINTNEXTLINE(clang-analyzer-core.uninitialized.*) */
        unsigned number = next[table[i].code]++;

        table[i].bits = (uint8_t)(log - zstd_high_bit(number));
        table[i].base = (uint16_t)((number << table[i].bits) - size);
    }
}

/*
 * Bits read backwards: the last byte of a stream has a 1 above its first bit.
 */

struct zstd_backward {
    const unsigned char *bytes;
    int64_t size;
    int64_t left; /* bits not read yet; below 0 where more were read than there are */
};

/* Begins at the end of these bytes. False where that is no end of a stream. */
ZSTD_ENTROPY bool zstd_backward_begin(struct zstd_backward *r, const unsigned char *b, size_t size)
{
    if (size == 0 || b[size - 1] == 0)
        return false;
    r->bytes = b;
    r->size = (int64_t)size;
    r->left = (int64_t)(8 * (size - 1) + zstd_high_bit(b[size - 1]));
    return true;
}

/* The next `count` bits, at most 32, without stepping over them; zeros after the last. */
ZSTD_ENTROPY uint32_t zstd_backward_peek(const struct zstd_backward *r, unsigned count)
{
    int64_t from = r->left - (int64_t)count, first = from < 0 ? 0 : from / 8;
    uint64_t word = 0;

    /* Eight bytes hold them, and begin where there are eight. */
    if (from >= 0 && r->size >= 8) {
        if (first > r->size - 8)
            first = r->size - 8;
        word = zstd_load64(r->bytes + first) >> (from - 8 * first);
        return (uint32_t)(word & ((UINT64_C(1) << count) - 1));
    }
    if (r->left <= 0 || count == 0)
        return 0;
    for (int64_t i = first; i <= (r->left - 1) / 8; i++)
        word |= (uint64_t)r->bytes[i] << 8 * (i - first);
    if (from < 0)
        word <<= -from;
    else
        word >>= from % 8;
    return (uint32_t)(word & ((UINT64_C(1) << count) - 1));
}

ZSTD_ENTROPY uint32_t zstd_backward_bits(struct zstd_backward *r, unsigned count)
{
    uint32_t bits = zstd_backward_peek(r, count);

    r->left -= (int64_t)count;
    return bits;
}

/*
 * Huffman codes of literals.
 */

/* The longest code, in bits (4.2.1). libzstd reads one more; no encoder writes it. */
#define ZSTD_HUFFMAN_BITS_MAX 11
#define ZSTD_HUFFMAN_TABLE_MAX (1 << ZSTD_HUFFMAN_BITS_MAX)

/* The most states that weights may be compressed with, as the logarithm to base 2. */
#define ZSTD_WEIGHTS_LOG_MAX 6

/* The longest description of a tree: its first byte, and 128 that hold weights. Bytes. */
#define ZSTD_TREE_BYTES_MAX 129

/* The weight of each byte: 0 if it does not occur, or its code has bits + 1 - weight bits. */
struct zstd_weights {
    unsigned bits;  /* of the longest code */
    unsigned count; /* the bytes from 0 to count - 1 have weights */
    uint8_t weights[256];
};

/* The size of a description of a tree by its first byte, which it includes. Bytes. */
ZSTD_ENTROPY size_t zstd_tree_size(unsigned char first)
{
    return first < 128 ? 1 + (size_t)first : 1 + ((size_t)first - 127 + 1) / 2;
}

/* Reads weights that are compressed by FSE (4.2.1.2): two states take turns. */
ZSTD_ENTROPY bool zstd_weights_decompress(struct zstd_weights *w, const unsigned char *b,
                                          size_t size)
{
    struct zstd_fse_state table[1 << ZSTD_WEIGHTS_LOG_MAX] = {{0, 0, 0}};
    int16_t counts[ZSTD_HUFFMAN_BITS_MAX + 1];
    uint16_t next[ZSTD_HUFFMAN_BITS_MAX + 1];
    unsigned codes, log, states[2];
    struct zstd_backward r;
    size_t taken = zstd_fse_describe(b, size, ZSTD_HUFFMAN_BITS_MAX + 1, ZSTD_WEIGHTS_LOG_MAX,
                                     counts, &codes, &log);

    if (taken == 0 || !zstd_backward_begin(&r, b + taken, size - taken))
        return false;
    zstd_fse_build(table, log, counts, codes, next);
    states[0] = zstd_backward_bits(&r, log);
    states[1] = zstd_backward_bits(&r, log);
    if (r.left < 0)
        return false;
    for (unsigned i = 0; w->count < 254; i ^= 1) {
        const struct zstd_fse_state *state = &table[states[i]];

        w->weights[w->count++] = state->code;
        states[i] = state->base + zstd_backward_bits(&r, state->bits);
        if (r.left < 0) { /* the other state has the last weight */
            w->weights[w->count++] = table[states[i ^ 1]].code;
            return true;
        }
    }
    return false;
}

/* Adds the weight of the last byte, which is not written: it makes the sum a power of two. */
ZSTD_ENTROPY bool zstd_weights_complete(struct zstd_weights *w)
{
    uint32_t sum = 0, rest;
    unsigned longest = 0;

    for (unsigned i = 0; i < w->count; i++) {
        if (w->weights[i] > ZSTD_HUFFMAN_BITS_MAX)
            return false;
        sum += UINT32_C(1) << w->weights[i] >> 1;
    }
    if (sum == 0)
        return false;
    w->bits = zstd_high_bit(sum) + 1;
    rest = (UINT32_C(1) << w->bits) - sum;
    if (w->bits > ZSTD_HUFFMAN_BITS_MAX || (rest & (rest - 1)) != 0)
        return false;
    w->weights[w->count++] = (uint8_t)(zstd_high_bit(rest) + 1);
    /* The longest codes come in pairs. */
    for (unsigned i = 0; i < w->count; i++)
        longest += w->weights[i] == 1;
    return longest >= 2 && longest % 2 == 0;
}

/* Reads the description of a tree (4.2.1), all of which is these bytes. False where it is not
   sound. */
ZSTD_ENTROPY bool zstd_weights_read(struct zstd_weights *w, const unsigned char *b, size_t size)
{
    w->count = 0;
    if (size == 0 || size != zstd_tree_size(b[0]))
        return false;
    if (b[0] < 128) {
        if (!zstd_weights_decompress(w, b + 1, size - 1))
            return false;
    } else {
        w->count = b[0] - 127u;
        for (unsigned i = 0; i < w->count; i++)
            w->weights[i] = i % 2 ? b[1 + i / 2] & 15 : b[1 + i / 2] >> 4;
    }
    return zstd_weights_complete(w);
}

/* An entry: the meaning of the next w->bits bits of a stream. */
struct zstd_huffman_entry {
    uint8_t bits;
    uint8_t byte;
};

/* Builds the decoding table of 1 << w->bits entries (4.2.1.3): the lowest ones are those of the
   longest codes, and among codes of one length those of the lowest bytes. */
ZSTD_ENTROPY void zstd_huffman_build(struct zstd_huffman_entry *table, const struct zstd_weights *w)
{
    uint16_t from[ZSTD_HUFFMAN_BITS_MAX + 2] = {0};
    unsigned at = 0;

    for (unsigned i = 0; i < w->count; i++)
        from[w->weights[i]]++;
    for (unsigned weight = 1; weight <= w->bits; weight++) {
        unsigned count = from[weight];

        from[weight] = (uint16_t)at;
        at += count << (weight - 1);
    }
    for (unsigned i = 0; i < w->count; i++) {
        const unsigned weight = w->weights[i], length = 1u << weight >> 1;

        for (unsigned k = 0; k < length; k++) {
            table[from[weight] + k].bits = (uint8_t)(w->bits + 1 - weight);
            table[from[weight] + k].byte = (uint8_t)i;
        }
        from[weight] = (uint16_t)(from[weight] + length);
    }
}

/*
 * Repeated offsets (3.1.1.5). The history, the three offsets used last, runs through a whole frame.
 * So that a block can be decoded before the one in front of it, an offset may be a symbol: one of
 * the three with which the block begins, less something. Symbols of one block are resolved by the
 * history before it; the history of symbols after a block by that gives the true one, or the one
 * of several blocks together.
 */

/* Offsets are numbers up to this, the largest window there is. */
#define ZSTD_OFFSET_MAX UINT32_C(0x80000000)

/* Above: this, the number of an offset of the history in the next two bits, and what to subtract,
   fewer than 1 << 28. A block has at most ZSTD_BLOCK_CONTENT_MAX / 3 sequences, each of which adds
   1 at most: 6000 blocks can be put together. */
#define ZSTD_OFFSET_SYMBOL UINT32_C(0xc0000000)
#define ZSTD_OFFSET_SYMBOL_SHIFT 28
#define ZSTD_OFFSET_SYMBOL_MASK ((UINT32_C(1) << ZSTD_OFFSET_SYMBOL_SHIFT) - 1)

struct zstd_history {
    uint32_t offsets[3]; /* the one used last first */
};

/* Begins a frame. */
ZSTD_ENTROPY void zstd_history_begin(struct zstd_history *h)
{
    h->offsets[0] = 1;
    h->offsets[1] = 4;
    h->offsets[2] = 8;
}

/* Begins a block whose history is not known yet. */
ZSTD_ENTROPY void zstd_history_symbols(struct zstd_history *h)
{
    for (uint32_t i = 0; i < 3; i++)
        h->offsets[i] = ZSTD_OFFSET_SYMBOL | i << ZSTD_OFFSET_SYMBOL_SHIFT;
}

ZSTD_ENTROPY bool zstd_offset_is_symbol(uint32_t offset)
{
    return offset >= ZSTD_OFFSET_SYMBOL;
}

/* An offset, or a symbol, less `by`. 0 where that would be no offset. */
ZSTD_ENTROPY uint32_t zstd_offset_less(uint32_t offset, uint32_t by)
{
    if (zstd_offset_is_symbol(offset))
        return (offset & ZSTD_OFFSET_SYMBOL_MASK) + by <= ZSTD_OFFSET_SYMBOL_MASK ? offset + by : 0;
    return offset > by ? offset - by : 0;
}

/* The true offset of a symbol, given the history before its block, or a symbol of a block further
   in front; 0 where that would be no offset. A value that is not a symbol is returned unchanged. */
ZSTD_ENTROPY uint32_t zstd_offset_resolve(uint32_t offset, const struct zstd_history *before)
{
    uint32_t which = offset >> ZSTD_OFFSET_SYMBOL_SHIFT & 3;

    if (!zstd_offset_is_symbol(offset))
        return offset;
    return which < 3 ? zstd_offset_less(before->offsets[which], offset & ZSTD_OFFSET_SYMBOL_MASK)
                     : 0;
}

/* The history after a block: `h` as symbols, resolved by the history before it. */
ZSTD_ENTROPY void zstd_history_resolve(struct zstd_history *h, const struct zstd_history *before)
{
    for (unsigned i = 0; i < 3; i++)
        h->offsets[i] = zstd_offset_resolve(h->offsets[i], before);
}

/* The offset of a sequence with this Offset_Value, which is not 0; the history is brought up to
   date. 0 where that would be no offset. By selections only: for lanes of a GPU, which run side by
   side, branches cost more, and an index that is not a constant would put the history into memory. */
ZSTD_ENTROPY uint32_t zstd_offset_select(struct zstd_history *h, uint32_t value, bool no_literals)
{
    const uint32_t first = h->offsets[0], second = h->offsets[1], third = h->offsets[2];
    const uint32_t which = value > 3 ? 4 : value - 1 + (no_literals ? 1 : 0);
    const uint32_t fresh = value - 3 <= ZSTD_OFFSET_MAX ? value - 3 : 0;
    const uint32_t further = (first & ZSTD_OFFSET_SYMBOL_MASK) < ZSTD_OFFSET_SYMBOL_MASK
                                 ? first + 1
                                 : 0; /* of a symbol */
    const uint32_t nearer = first - (first > 0 ? 1 : 0);
    const uint32_t less = first >= ZSTD_OFFSET_SYMBOL ? further : nearer;
    uint32_t offset = which == 4 ? fresh : less;

    offset = which == 2 ? third : offset;
    offset = which == 1 ? second : offset;
    offset = which == 0 ? first : offset;
    h->offsets[2] = which >= 2 ? second : third;
    h->offsets[1] = which >= 1 ? first : second;
    h->offsets[0] = offset;
    return offset;
}

#endif
