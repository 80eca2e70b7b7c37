#include "config.h"

#include "zstd/literals.h"

#include <string.h>

#include "sys/inline.h"
#include "sys/processor.h"

/* Codes decoded between two loads. They take 55 bits at most, and up to 7 of the 64 that are loaded
   have been decoded before. */
#define CODES_A_LOAD 5

/* Bytes that a load may lie before the one in front of it. */
#define BYTES_A_LOAD 8

#define TABLE_SHIFT (64 - ZSTD_HUFFMAN_BITS_MAX)

/* An entry of the table: the bits of the code, below 64, and where the byte begins. */
#define CODE_BITS 63
#define CODE_BYTE 8

/* A stream being read. The next code is in the highest bits of `bits` that are left; its lowest bit
   that is set tells how many have been taken off above. */
struct stream {
    const unsigned char *begin;
    const unsigned char *next; /* the eight bytes that `bits` was loaded from */
    uint64_t bits;
    unsigned char *out, *end;
};

/* Begins at the end of these bytes, of which there are eight at least. */
static void begin_stream(struct stream *s, const unsigned char *b, size_t size, unsigned char *out,
                         size_t literals)
{
    unsigned padding = 8 - zstd_high_bit(b[size - 1]);

    s->begin = b;
    s->next = b + size - 8;
    s->bits = (zstd_load64(s->next) | 1) << padding;
    s->out = out;
    s->end = out + literals;
}

/* How many rounds of CODES_A_LOAD the stream has input and literals for, for sure. */
static size_t rounds(const struct stream *s)
{
    size_t in = (size_t)(s->next - s->begin) / BYTES_A_LOAD,
           out = (size_t)(s->end - s->out) / CODES_A_LOAD;

    return in < out ? in : out;
}

/* Decodes codes of a stream one by one. False where they do not end where it begins. */
static bool decode_one_by_one(struct zstd_backward r, unsigned char *out, const unsigned char *end,
                              const uint16_t *table)
{
    for (; out < end; out++) {
        const uint16_t code = table[zstd_backward_peek(&r, ZSTD_HUFFMAN_BITS_MAX)];

        r.left -= code & CODE_BITS;
        *out = (unsigned char)(code >> CODE_BYTE);
    }
    return r.left == 0;
}

/* Decodes the rest of a stream, where loads of eight bytes may begin before it does. */
static bool end_stream(const struct stream *s, const uint16_t *table)
{
    const int64_t loaded = s->next - s->begin + 8;
    const struct zstd_backward r = {s->begin, loaded, 8 * loaded - __builtin_ctzll(s->bits)};

    return decode_one_by_one(r, s->out, s->end, table);
}

/* Takes one code off a stream. */
#define DECODE(s, to)                                        \
    do {                                                     \
        const uint16_t code = table[bits##s >> TABLE_SHIFT]; \
        bits##s <<= code & CODE_BITS;                        \
        (to) = (unsigned char)(code >> CODE_BYTE);           \
    } while (0)

/* Loads on. */
#define LOAD(s)                                              \
    do {                                                     \
        unsigned taken = (unsigned)__builtin_ctzll(bits##s); \
        next##s -= taken / 8;                                \
        bits##s = (zstd_load64(next##s) | 1) << taken % 8;   \
    } while (0)

/* Decodes `count` rounds of four streams, which write at places that are equally far apart, by
   ROUND(i): code i of each. Local variables are to stay in registers, of which x86-64 has just
   enough if the end is not in one. */
#define DECODE_ROUNDS(ROUND)                                                                 \
    do {                                                                                     \
        const unsigned char *next0 = s[0].next, *next1 = s[1].next, *next2 = s[2].next,      \
                            *next3 = s[3].next;                                              \
        uint64_t bits0 = s[0].bits, bits1 = s[1].bits, bits2 = s[2].bits, bits3 = s[3].bits; \
        unsigned char *out = s[0].out;                                                       \
        const size_t apart = (size_t)(s[1].out - out), apart3 = 3 * apart;                   \
        const unsigned char *const volatile end = out + count * CODES_A_LOAD;                \
                                                                                             \
        for (; out < end; out += CODES_A_LOAD) {                                             \
            ROUND(0);                                                                        \
            ROUND(1);                                                                        \
            ROUND(2);                                                                        \
            ROUND(3);                                                                        \
            ROUND(4);                                                                        \
            LOAD(0);                                                                         \
            LOAD(1);                                                                         \
            LOAD(2);                                                                         \
            LOAD(3);                                                                         \
        }                                                                                    \
        s[0].next = next0, s[1].next = next1, s[2].next = next2, s[3].next = next3;          \
        s[0].bits = bits0, s[1].bits = bits1, s[2].bits = bits2, s[3].bits = bits3;          \
        for (unsigned i = 0; i < 4; i++)                                                     \
            s[i].out += count * CODES_A_LOAD;                                                \
    } while (0)

#define ROUND_PLAIN(i)               \
    DECODE(0, out[i]);               \
    DECODE(1, out[apart + (i)]);     \
    DECODE(2, out[2 * apart + (i)]); \
    DECODE(3, out[apart3 + (i)])

static void decode_rounds_plain(struct stream s[4], const uint16_t *table, size_t count)
{
    DECODE_ROUNDS(ROUND_PLAIN);
}

/* Without optimization clang finds no registers for it. */
#if defined __x86_64__ && defined __LP64__ && defined __OPTIMIZE__
#    define HAS_DECODE_BMI2 1
#else
#    define HAS_DECODE_BMI2 0
#endif

#if HAS_DECODE_BMI2
/* DECODE in four instructions, where compilers make six or seven of it: shifting by a register
   leaves what is shifted where it is, and bits 8 to 15 of some registers can be stored as they are,
   at addresses of the old registers (R). Two threads that share a core are held up by the number of
   instructions; one alone, by their latencies. */
#    define DECODE_BMI2(s, i, address)                                                  \
        do {                                                                            \
            unsigned code;                                                              \
            __asm__ volatile("shrx %[shift], %[bits], %q[code]\n\t"                     \
                             "movzwl (%[table], %q[code], 2), %k[code]\n\t"             \
                             "shlx %q[code], %[bits], %[bits]\n\t"                      \
                             "movb %h[code], %c[place]" address                         \
                             : [bits] "+r"(bits##s), [code] "=&Q"(code)                 \
                             : [shift] "r"(shift), [table] "r"(table), [out] "R"(out),  \
                               [apart] "R"(apart), [apart3] "R"(apart3), [place] "i"(i) \
                             : "memory");                                               \
        } while (0)

#    define ROUND_BMI2(i)                           \
        DECODE_BMI2(0, i, "(%[out])");              \
        DECODE_BMI2(1, i, "(%[out], %[apart])");    \
        DECODE_BMI2(2, i, "(%[out], %[apart], 2)"); \
        DECODE_BMI2(3, i, "(%[out], %[apart3])")

_Static_assert(CODE_BITS == 63 && CODE_BYTE == 8, "what the instructions take for granted");

static PROCESSOR_BMI2 void decode_rounds_bmi2(struct stream s[4], const uint16_t *table,
                                              size_t count)
{
    const uint64_t shift = TABLE_SHIFT;

    DECODE_ROUNDS(ROUND_BMI2);
}
#endif

static void decode_rounds(struct stream s[4], const uint16_t *table, size_t count)
{
#if HAS_DECODE_BMI2
    if (processor_has_bmi2()) {
        decode_rounds_bmi2(s, table, count);
        return;
    }
#endif
    decode_rounds_plain(s, table, count);
}

/* One stream alone. */
static ALWAYS_INLINE void decode_alone_body(struct stream *s, const uint16_t *table, size_t count)
{
    const unsigned char *next0 = s->next;
    unsigned char *out = s->out;
    uint64_t bits0 = s->bits;

    while (count-- > 0) {
        DECODE(0, out[0]);
        DECODE(0, out[1]);
        DECODE(0, out[2]);
        DECODE(0, out[3]);
        DECODE(0, out[4]);
        LOAD(0);
        out += CODES_A_LOAD;
    }
    s->next = next0;
    s->out = out;
    s->bits = bits0;
}

#if defined __x86_64__
static PROCESSOR_BMI2 void decode_alone_bmi2(struct stream *s, const uint16_t *table, size_t count)
{
    decode_alone_body(s, table, count);
}
#endif

static void decode_alone(struct stream *s, const uint16_t *table, size_t count)
{
#if defined __x86_64__
    if (processor_has_bmi2()) {
        decode_alone_bmi2(s, table, count);
        return;
    }
#endif
    decode_alone_body(s, table, count);
}

static bool decode_four(const unsigned char *b, const struct zstd_literals *l,
                        const uint16_t *table, unsigned char *out)
{
    struct stream s[4];
    bool good = true;
    size_t count;

    for (unsigned i = 0; i < 4; i++) {
        begin_stream(&s[i], b + l->stream[i], l->stream[i + 1] - l->stream[i], out,
                     zstd_stream_literals(l, i));
        out = s[i].end;
    }
    do {
        count = rounds(&s[0]);
        for (unsigned i = 1; i < 4; i++)
            count = rounds(&s[i]) < count ? rounds(&s[i]) : count;
        decode_rounds(s, table, count);
    } while (count > 0);
    for (unsigned i = 0; i < 4; i++)
        good &= end_stream(&s[i], table);
    return good;
}

/* Decodes each stream for itself: one, or four of which one is short. */
static bool decode_each(const unsigned char *b, const struct zstd_literals *l,
                        const uint16_t *table, unsigned char *out)
{
    for (unsigned i = 0; i < l->streams; i++) {
        const unsigned char *from = b + l->stream[i];
        const size_t size = l->stream[i + 1] - l->stream[i], literals = zstd_stream_literals(l, i);
        struct zstd_backward r;
        struct stream s;

        if (size < 8) {
            if (!zstd_backward_begin(&r, from, size) ||
                !decode_one_by_one(r, out, out + literals, table))
                return false;
        } else {
            begin_stream(&s, from, size, out, literals);
            for (size_t count = rounds(&s); count > 0; count = rounds(&s))
                decode_alone(&s, table, count);
            if (!end_stream(&s, table))
                return false;
        }
        out += literals;
    }
    return true;
}

/* Builds the table of a tree: of codes as long as they can be, so that none of its sizes depends on
   the tree. */
static bool build(struct zstd_literals_decoder *d, const struct zstd_tables *t)
{
    struct zstd_huffman_entry entries[ZSTD_HUFFMAN_TABLE_MAX] = {{0}};
    struct zstd_weights w;
    unsigned more;

    if (!zstd_weights_read(&w, t->tree, t->tree_size))
        return false;
    /* Each entry stands for all that begins so. */
    more = ZSTD_HUFFMAN_BITS_MAX - w.bits;
    zstd_huffman_build(entries, &w);
    for (unsigned i = 0; i < ZSTD_HUFFMAN_TABLE_MAX; i++) {
        const struct zstd_huffman_entry entry = entries[i >> more];

        d->table[i] = (uint16_t)(entry.bits | entry.byte << CODE_BYTE);
    }
    d->tree_number = t->tree_number;
    return true;
}

bool zstd_literals_decode(struct zstd_literals_decoder *d, const unsigned char *b,
                          const struct zstd_literals *l, const struct zstd_tables *t,
                          unsigned char *out)
{
    bool long_enough = l->streams == 4;

    if (l->type == ZSTD_LITERALS_RAW)
        memcpy(out, b + l->begin, l->size);
    else if (l->type == ZSTD_LITERALS_RUN)
        memset(out, b[l->begin], l->size);
    if (l->streams == 0)
        return true;
    if (d->tree_number != t->tree_number && !build(d, t))
        return false;
    for (unsigned i = 0; i < l->streams; i++)
        long_enough &= l->stream[i + 1] - l->stream[i] >= 8;
    return long_enough ? decode_four(b, l, d->table, out) : decode_each(b, l, d->table, out);
}
