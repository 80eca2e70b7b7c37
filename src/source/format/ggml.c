#include "config.h"

#include "source/format/ggml.h"

#include <string.h>
#if defined __x86_64__
#    include <immintrin.h>
#endif

#include "sys/bytes.h"
#include "sys/inline.h"
#include "sys/processor.h"

/* Numbers that have one scale are 16, or a multiple: they are decoded in groups of so many. */
#define GROUP 16
typedef uint8_t bytes __attribute__((vector_size(GROUP)));
typedef uint16_t halves __attribute__((vector_size(GROUP)));
typedef uint64_t pair __attribute__((vector_size(GROUP)));

/* A group: its numbers are scale * q - least, where q is signed. Those of binary32 have no least. */
struct group {
    bytes q;
    double scale, least;
};

static ALWAYS_INLINE bytes load(const unsigned char *p)
{
    bytes v;

    memcpy(&v, p, sizeof v);
    return v;
}

/* A field of so many bits of each byte. Shifts of 16 bits have an instruction, those of 8 have none. */
static ALWAYS_INLINE bytes field(const unsigned char *p, int shift, int bits)
{
    return (bytes)((halves)load(p) >> shift) & (uint8_t)((1 << bits) - 1);
}

/* The number of these bits. */
static ALWAYS_INLINE double number(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A call of element_load would take as long as all else that a block of 32 numbers needs. */
static ALWAYS_INLINE double binary16(const unsigned char *p)
{
    const uint64_t rebias = (uint64_t)(1023 - 15) << 52, normal = 0x400, infinity = 0x7c00;
    const uint64_t bits = bytes_number(p, 2, false), magnitude = bits & 0x7fff;
    const uint64_t upper = magnitude >= infinity ? rebias : 0;
    const double x = magnitude < normal ? (double)(int)magnitude * 0x1p-24
                                        : number((magnitude << 42) + rebias + upper);

    return __builtin_copysign(x, number(bits << 48));
}

static ALWAYS_INLINE void scale(struct group *y, int groups, double d)
{
    for (int g = 0; g < groups; g++)
        y[g].scale = d;
}

static ALWAYS_INLINE void subtract(struct group *y, int groups, double least)
{
    for (int g = 0; g < groups; g++)
        y[g].least = least;
}

/*
 * Blocks of 32 numbers. The low halves of bytes are the first 16 of them.
 */

static ALWAYS_INLINE void decode_q4_0(const unsigned char *b, struct group *y)
{
    scale(y, 2, binary16(b));
    y[0].q = field(b + 2, 0, 4) - 8;
    y[1].q = (field(b + 2, 4, 4)) - 8;
}

static ALWAYS_INLINE void decode_q4_1(const unsigned char *b, struct group *y)
{
    scale(y, 2, binary16(b));
    subtract(y, 2, -binary16(b + 2));
    y[0].q = field(b + 4, 0, 4);
    y[1].q = field(b + 4, 4, 4);
}

/* 16 in those bytes whose bit is set in the two bytes at p, else 0. */
static ALWAYS_INLINE bytes fifth_bits(const unsigned char *p)
{
    const bytes bits = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint64_t each = UINT64_C(0x0101010101010101);
    const bytes v = (bytes)(pair){p[0] * each, p[1] * each};

    return (bytes)((v & bits) != 0) & 16;
}

static ALWAYS_INLINE void decode_q5_0(const unsigned char *b, struct group *y)
{
    scale(y, 2, binary16(b));
    y[0].q = (field(b + 6, 0, 4) | fifth_bits(b + 2)) - 16;
    y[1].q = (field(b + 6, 4, 4) | fifth_bits(b + 4)) - 16;
}

static ALWAYS_INLINE void decode_q5_1(const unsigned char *b, struct group *y)
{
    scale(y, 2, binary16(b));
    subtract(y, 2, -binary16(b + 2));
    y[0].q = field(b + 8, 0, 4) | fifth_bits(b + 4);
    y[1].q = field(b + 8, 4, 4) | fifth_bits(b + 6);
}

static ALWAYS_INLINE void decode_q8_0(const unsigned char *b, struct group *y)
{
    scale(y, 2, binary16(b));
    y[0].q = load(b + 2);
    y[1].q = load(b + 18);
}

/* The numbers of a table that these indices, below 16, stand for. */
static ALWAYS_INLINE bytes look_up(const int8_t table[16], bytes index)
{
#if defined __GNUC__ && !defined __clang__
    bytes v;

    memcpy(&v, table, sizeof v);
    return __builtin_shuffle(v, index);
#else
    for (int i = 0; i < GROUP; i++)
        index[i] = (uint8_t)table[index[i]];
    return index;
#endif
}

/* 32 numbers of 4 bits that stand for those of a table. */
static ALWAYS_INLINE void decode_nibbles(const unsigned char *from, const int8_t table[16],
                                         struct group y[2])
{
    y[0].q = look_up(table, field(from, 0, 4));
    y[1].q = look_up(table, field(from, 4, 4));
}

static const int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

static ALWAYS_INLINE void decode_iq4_nl(const unsigned char *b, struct group *y)
{
    scale(y, 2, binary16(b));
    decode_nibbles(b + 2, iq4_values, y);
}

/* Twice the values of floats of 4 bits, E2M1. */
static const int8_t e2m1_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* The scale is half of a power of two: from 2^-128 on. */
static ALWAYS_INLINE void decode_mxfp4(const unsigned char *b, struct group *y)
{
    scale(y, 2, number((UINT64_C(1023) - 128 + b[0]) << 52));
    subtract(y, 2, 0);
    decode_nibbles(b + 1, e2m1_values, y);
}

/* Half the value of a scale: E4M3 without a sign, whose greatest number counts as 0. */
static ALWAYS_INLINE double half_ue4m3(unsigned char bits)
{
    const uint64_t exponent = bits >> 3 & 15U, mantissa = bits & 7U, normal = exponent > 0;
    const double power = number((1023 - 11 + exponent + !normal) << 52);

    return bits == 0x7f ? 0 : power * (int)(mantissa | normal << 3);
}

/* 64 numbers, of which 16 have one scale, and the first 8 of these are the low halves of bytes. */
static ALWAYS_INLINE void decode_nvfp4(const unsigned char *b, struct group *y)
{
    for (int g = 0; g < 4; g++) {
        uint64_t v;

        memcpy(&v, b + 4 + (ptrdiff_t)8 * g, sizeof v);
        scale(y + g, 1, half_ue4m3(b[g]));
        y[g].q = look_up(e2m1_values, (bytes)(pair){v, v >> 4} & 15);
    }
}

/*
 * Blocks of 256 numbers, of which 16 or 32 have one scale.
 */

/* Numbers of a few bits, of group g: those of 2^n groups are in the bits of one byte, from the lower ones
   on, and groups beside each other in bytes that are. */
static ALWAYS_INLINE bytes take_bits(const unsigned char *from, int g, int n)
{
    const int bits = 8 >> n, together = 2 << n;

    return field(from + (g / together * 32 + g % 2 * GROUP), g % together / 2 * bits, bits);
}

static ALWAYS_INLINE void decode_q2_k(const unsigned char *b, struct group *y)
{
    const double d = binary16(b + 80), e = binary16(b + 82);

    UNROLL_INLINED(16)
    for (int g = 0; g < 16; g++) {
        scale(y + g, 1, d * (b[g] & 15));
        subtract(y + g, 1, e * (b[g] >> 4));
        y[g].q = take_bits(b + 16, g, 2);
    }
}

static ALWAYS_INLINE void decode_q3_k(const unsigned char *b, struct group *y)
{
    const double d = binary16(b + 108);
    const unsigned char *const scales = b + 96;

    UNROLL_INLINED(16)
    for (int g = 0; g < 16; g++) {
        const int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;

        scale(y + g, 1, d * ((low | (scales[8 + g % 4] >> g / 4 * 2 & 3) << 4) - 32));
        y[g].q = (take_bits(b + 32, g, 2) | take_bits(b, g, 3) << 2) - 4;
    }
}

/* Scales and least numbers of 32 numbers: 6 bits each, of which the upper ones of the last four
   are those of the bytes of the first four. */
static ALWAYS_INLINE void scale_32(const unsigned char *b, struct group *y)
{
    const double d = binary16(b), e = binary16(b + 2);
    const unsigned char *const scales = b + 4;

    UNROLL_INLINED(8)
    for (int g = 0; g < 8; g++) {
        const int s = g < 4 ? scales[g] & 63 : (scales[g + 4] & 15) | scales[g - 4] >> 6 << 4;
        const int m = g < 4 ? scales[g + 4] & 63 : scales[g + 4] >> 4 | scales[g] >> 6 << 4;

        scale(y + (ptrdiff_t)2 * g, 2, d * s);
        subtract(y + (ptrdiff_t)2 * g, 2, e * m);
    }
}

static ALWAYS_INLINE void decode_q4_k(const unsigned char *b, struct group *y)
{
    scale_32(b, y);
    UNROLL_INLINED(16)
    for (int g = 0; g < 16; g++)
        y[g].q = take_bits(b + 16, g, 1);
}

static ALWAYS_INLINE void decode_q5_k(const unsigned char *b, struct group *y)
{
    scale_32(b, y);
    UNROLL_INLINED(16)
    for (int g = 0; g < 16; g++)
        y[g].q = take_bits(b + 48, g, 1) | take_bits(b + 16, g, 3) << 4;
}

static ALWAYS_INLINE void decode_q6_k(const unsigned char *b, struct group *y)
{
    const double d = binary16(b + 208);

    UNROLL_INLINED(16)
    for (int g = 0; g < 16; g++) {
        /* The lower bits of groups 0 to 3 are beside each other, as those of 4 to 7 are. */
        const bytes low = field(b + (g / 8 * 64 + g % 4 * GROUP), g % 8 / 4 * 4, 4);

        scale(y + g, 1, d * (int8_t)b[192 + g]);
        y[g].q = (low | take_bits(b + 128, g, 2) << 4) - 32;
    }
}

static ALWAYS_INLINE void decode_q8_k(const unsigned char *b, struct group *y)
{
    const uint32_t bits = (uint32_t)bytes_number(b, 4, false);
    float d;

    memcpy(&d, &bits, sizeof d);
    scale(y, 16, (double)d);
    subtract(y, 16, 0);
    for (int g = 0; g < 16; g++)
        y[g].q = load(b + 4 + (ptrdiff_t)GROUP * g);
}

static ALWAYS_INLINE void decode_iq4_xs(const unsigned char *b, struct group *y)
{
    const double d = binary16(b);
    const unsigned high = (unsigned)bytes_number(b + 2, 2, false);

    UNROLL_INLINED(8)
    for (int g = 0; g < 8; g++) {
        const unsigned s = (b[4 + g / 2] >> g % 2 * 4 & 15U) | (high >> 2 * g & 3) << 4;

        scale(y + (ptrdiff_t)2 * g, 2, d * ((int)s - 32));
        decode_nibbles(b + 8 + (ptrdiff_t)GROUP * g, iq4_values, y + (ptrdiff_t)2 * g);
    }
}

/* Numbers -1, 0 or 1 of bytes that are fractions of 256 in base 3: the first digits after those that a
   power of 3 removes. */
static ALWAYS_INLINE bytes third(bytes v, uint8_t power)
{
    v *= power;
    return (bytes)(v <= 85) - (bytes)(v > 170);
}

/* Five numbers of a byte: the first of 32 bytes come first, so of 16 bytes after them, and four of four
   bytes. */
static ALWAYS_INLINE void decode_tq1_0(const unsigned char *b, struct group *y)
{
    static const uint8_t powers[5] = {1, 3, 9, 27, 81};
    bytes last = {0};

    scale(y, 16, binary16(b + 52));
    UNROLL_INLINED(15)
    for (int g = 0; g < 15; g++)
        y[g].q = g < 10 ? third(load(b + (g % 2 ? GROUP : 0)), powers[g / 2])
                        : third(load(b + 32), powers[g - 10]);
    for (int i = 0; i < GROUP; i++)
        last[i] = (uint8_t)(b[48 + i % 4] * powers[i / 4]);
    y[15].q = third(last, 1);
}

static ALWAYS_INLINE void decode_tq2_0(const unsigned char *b, struct group *y)
{
    scale(y, 16, binary16(b + 64));
    UNROLL_INLINED(16)
    for (int g = 0; g < 16; g++)
        y[g].q = take_bits(b, g, 2) - 1;
}

/* X(number, name, name in GGUF files, elements, bytes, type of the values) */
#define TYPES(X)                           \
    X(2, q4_0, "Q4_0", 32, 18, F32)        \
    X(3, q4_1, "Q4_1", 32, 20, F64)        \
    X(6, q5_0, "Q5_0", 32, 22, F32)        \
    X(7, q5_1, "Q5_1", 32, 24, F64)        \
    X(8, q8_0, "Q8_0", 32, 34, F32)        \
    X(10, q2_k, "Q2_K", 256, 84, F64)      \
    X(11, q3_k, "Q3_K", 256, 110, F32)     \
    X(12, q4_k, "Q4_K", 256, 144, F64)     \
    X(13, q5_k, "Q5_K", 256, 176, F64)     \
    X(14, q6_k, "Q6_K", 256, 210, F32)     \
    X(15, q8_k, "Q8_K", 256, 292, F64)     \
    X(20, iq4_nl, "IQ4_NL", 32, 18, F32)   \
    X(23, iq4_xs, "IQ4_XS", 256, 136, F32) \
    X(34, tq1_0, "TQ1_0", 256, 54, F32)    \
    X(35, tq2_0, "TQ2_0", 256, 66, F32)    \
    X(39, mxfp4, "MXFP4", 32, 17, F64)     \
    X(40, nvfp4, "NVFP4", 64, 36, F32)

static const struct ggml_type types[] = {
#define TYPE(number, name, shown, elements, bytes, holds) \
    [number] = {number, shown, elements, bytes, ELEMENT_##holds},
    TYPES(TYPE)};

const struct ggml_type *ggml_find(uint32_t number)
{
    return number < sizeof types / sizeof *types && types[number].bytes > 0 ? &types[number] : NULL;
}

/* Writes the numbers of a group. */
typedef void write_group(void *to, const struct group *y);

static inline void write_f32(void *to, const struct group *y)
{
    float x[GROUP];

    for (int i = 0; i < GROUP; i++)
        x[i] = (float)y->scale * (float)(int8_t)y->q[i];
    memcpy(to, x, sizeof x);
}

static inline void write_f64(void *to, const struct group *y)
{
    double x[GROUP];

    for (int i = 0; i < GROUP; i++)
        x[i] = y->scale * (int8_t)y->q[i] - y->least;
    memcpy(to, x, sizeof x);
}

/* Mapped blocks are loaded so many bytes before they are needed: numbers that are written take the
   buffers by which the processor would look ahead. */
#define PREFETCH 2048

static ALWAYS_INLINE void prefetch(const unsigned char *from, size_t size)
{
    for (size_t i = 0; i < size; i += 64)
        __builtin_prefetch(from + PREFETCH + i);
}

/* Decodes blocks with the instructions that the function which it becomes a part of may use. */
static ALWAYS_INLINE void decode(const struct ggml_type *type, const unsigned char *from,
                                 size_t blocks, unsigned char *to, write_group *write_F32,
                                 write_group *write_F64)
{
    struct group y[GGML_ELEMENTS_MAX / GROUP];

    switch (type->number) {
#define DECODE(number, name, shown, elements, bytes, holds)          \
    case number:                                                     \
        for (; blocks > 0; blocks--, from += (bytes)) {              \
            prefetch(from, bytes);                                   \
            decode_##name(from, y);                                  \
            for (int g = 0; g < (elements) / GROUP; g++) {           \
                write_##holds(to, &y[g]);                            \
                to += GROUP * element_formats[ELEMENT_##holds].size; \
            }                                                        \
        }                                                            \
        break;
        TYPES(DECODE)
    default:
        break;
    }
}

/*
 * Sums. A group adds up to scale * (the sum of q) - 16 * least, so that no number is made. Either term
 * has at most 24 + 8 + 18 bits.
 */

/* Adds a term to a sum, if it is a number. Returns whether it is one. */
static bool add(struct exact *sum, double x)
{
    if (!__builtin_isfinite(x))
        return false;
    exact_add(sum, x);
    return true;
}

/* Adds the numbers of groups from number g to before `end` to a sum, those beside each other that have one
   scale as one term. `least`: whether they have one. False if a scale is none. */
static bool add_groups(struct exact *sum, const struct group *y, bool least, int g, int end)
{
    while (g < end) {
        const struct group *const first = &y[g];
        int q = 0, count = 0;

        do {
            for (int i = 0; i < GROUP; i++)
                q += (int8_t)y[g].q[i];
            count += GROUP;
            g++;
        } while (g < end && y[g].scale == first->scale && (!least || y[g].least == first->least));
        if (!add(sum, first->scale * q) || (least && !add(sum, -count * first->least)))
            return false;
    }
    return true;
}

/* As many groups are decoded before they are added. */
#define GROUPS 64

/* A function like add_groups, from number 0 on. */
typedef bool add_all(struct exact *sum, const struct group *y, bool least, int count);

static inline bool add_plain(struct exact *sum, const struct group *y, bool least, int count)
{
    return add_groups(sum, y, least, 0, count);
}

/* Adds the numbers of blocks to a sum, as decode() decodes them, many groups at a time: vectors are slow to
   load soon after their elements have been stored one by one. False if a scale is none. */
static ALWAYS_INLINE bool add_blocks(const struct ggml_type *type, const unsigned char *from,
                                     size_t blocks, struct exact *sum, add_all *add_some)
{
    struct group y[GROUPS];
    bool good = true;

    switch (type->number) {
#define ADD(number, name, shown, elements, bytes, holds)                      \
    case number:                                                              \
        while (blocks > 0 && good) {                                          \
            int count = 0;                                                    \
            for (; blocks > 0 && count < GROUPS; blocks--, from += (bytes)) { \
                prefetch(from, bytes);                                        \
                decode_##name(from, y + count);                               \
                count += (elements) / GROUP;                                  \
            }                                                                 \
            good = add_some(sum, y, ELEMENT_##holds == ELEMENT_F64, count);   \
        }                                                                     \
        break;
        TYPES(ADD)
    default:
        break;
    }
    return good;
}

#if defined __x86_64__
#    define AVX2 __attribute__((target("avx2")))
#    define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

static inline AVX2 void write_f32_avx2(void *to, const struct group *y)
{
    for (int i = 0; i < GROUP; i += 8) {
        const __m128i q = _mm_loadl_epi64((const __m128i *)((const char *)&y->q + i));

        _mm256_storeu_ps((float *)to + i,
                         _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)) * (float)y->scale);
    }
}

static inline AVX2 void write_f64_avx2(void *to, const struct group *y)
{
    for (int i = 0; i < GROUP; i += 4) {
        const __m128i q = _mm_loadu_si32((const char *)&y->q + i);

        _mm256_storeu_pd((double *)to + i,
                         _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(q)) * y->scale - y->least);
    }
}

static AVX2 void decode_avx2(const struct ggml_type *type, const unsigned char *from, size_t blocks,
                             unsigned char *to)
{
    decode(type, from, blocks, to, write_f32_avx2, write_f64_avx2);
}

/* A member of four groups. */
#    define FOUR(y, member) \
        _mm256_set_pd((y)[3].member, (y)[2].member, (y)[1].member, (y)[0].member)

/* Adds groups by eights. Terms are rounded to multiples of 2^-24, which those of scales of binary16 are, by
   adding a number whose last bit weighs that: its bits are then those of an integer and a constant. A term
   that is changed by that, or is too large, is none of these. */
static inline AVX2 bool add_avx2(struct exact *sum, const struct group *y, bool least, int count)
{
    const __m256d shift = _mm256_set1_pd(0x1.8p28), limit = _mm256_set1_pd(0x1p26);
    const __m256d sign = _mm256_set1_pd(-0.0);
    __m256i total = _mm256_setzero_si256();
    int g = 0;

    for (; g + 8 <= count; g += 8) {
        __m256i sums[4], added = _mm256_setzero_si256();
        __m256d wrong = _mm256_setzero_pd();

        for (int i = 0; i < 4; i++) { /* groups i and i + 4 */
            const __m256i q = _mm256_set_m128i((__m128i)y[g + 4 + i].q, (__m128i)y[g + i].q);
            const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);

            sums[i] = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
        }
        sums[0] = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]),
                                    _mm256_hadd_epi32(sums[2], sums[3]));
        for (int i = 0; i < 2; i++) {
            const struct group *const these = &y[g + 4 * i];
            const __m128i four =
                i == 0 ? _mm256_castsi256_si128(sums[0]) : _mm256_extracti128_si256(sums[0], 1);
            __m256d x = FOUR(these, scale) * _mm256_cvtepi32_pd(four), shifted;

            wrong =
                _mm256_or_pd(wrong, _mm256_cmp_pd(_mm256_andnot_pd(sign, x), limit, _CMP_NLT_UQ));
            if (least) {
                const __m256d all = FOUR(these, least) * (double)GROUP;

                wrong = _mm256_or_pd(
                    wrong, _mm256_cmp_pd(_mm256_andnot_pd(sign, all), limit, _CMP_NLT_UQ));
                x -= all;
            }
            shifted = x + shift;
            wrong = _mm256_or_pd(wrong, _mm256_cmp_pd(shifted - shift, x, _CMP_NEQ_UQ));
            added = _mm256_add_epi64(
                added, _mm256_sub_epi64(_mm256_castpd_si256(shifted), _mm256_castpd_si256(shift)));
        }
        if (!_mm256_movemask_pd(wrong))
            total = _mm256_add_epi64(total, added);
        else if (!add_groups(sum, y, least, g, g + 8))
            return false;
    }
    for (int i = 0; i < 4; i++)
        exact_add_integer(sum, total[i] < 0 ? -(uint64_t)total[i] : (uint64_t)total[i],
                          EXACT_ONE_BIT - 24, total[i] < 0);
    return add_groups(sum, y, least, g, count);
}

static AVX2 bool add_blocks_avx2(const struct ggml_type *type, const unsigned char *from,
                                 size_t blocks, struct exact *sum)
{
    return add_blocks(type, from, blocks, sum, add_avx2);
}

/* Numbers of binary32 are no faster with AVX-512. */
static inline AVX512 void write_f64_avx512(void *to, const struct group *y)
{
    for (int i = 0; i < GROUP; i += 8) {
        const __m128i q = _mm_loadl_epi64((const __m128i *)((const char *)&y->q + i));

        _mm512_storeu_pd((double *)to + i,
                         _mm512_fmsub_pd(_mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(q)),
                                         _mm512_set1_pd(y->scale), _mm512_set1_pd(y->least)));
    }
}

static AVX512 void decode_avx512(const struct ggml_type *type, const unsigned char *from,
                                 size_t blocks, unsigned char *to)
{
    decode(type, from, blocks, to, write_f32_avx2, write_f64_avx512);
}
#endif

void ggml_decode(const struct ggml_type *type, const unsigned char *from, size_t blocks,
                 unsigned char *to)
{
#if defined __x86_64__
    if (processor_has_avx512())
        decode_avx512(type, from, blocks, to);
    else if (processor_has_avx2())
        decode_avx2(type, from, blocks, to);
    else
#endif
        decode(type, from, blocks, to, write_f32, write_f64);
}

bool ggml_add(const struct ggml_type *type, const unsigned char *from, size_t blocks,
              struct exact *sum)
{
#if defined __x86_64__
    if (processor_has_avx2())
        return add_blocks_avx2(type, from, blocks, sum);
#endif
    return add_blocks(type, from, blocks, sum, add_plain);
}
