/*
 * A stream is made in blocks of DISTRIBUTION_BLOCK elements, each from a generator of its own,
 * which is seeded by the number of the block. A block is always made as a whole, in loops of
 * constant length that compilers turn into vector code.
 *
 * Only operations that IEEE 754 defines to the last bit are used: + - * / of binary64 and binary32,
 * conversions, and integers. (The compiler is told not to contract them.)
 */
#include "config.h"

#include "bench/common/distribution.h"

#include <string.h>

#include "bench/common/normal.h"
#include "bench/common/random.h"
#include "bench/common/team.h"
#include "core/bits.h"
#include "sys/group.h"

#define BLOCK DISTRIBUTION_BLOCK

const char *distribution_name(enum distribution d)
{
    static const char *const names[DISTRIBUTIONS] = {
        [DISTRIBUTION_UNIFORM] = "uniform",   [DISTRIBUTION_NORMAL] = "normal",
        [DISTRIBUTION_WIDE] = "wide",         [DISTRIBUTION_FULL] = "full",
        [DISTRIBUTION_INTEGERS] = "integers", [DISTRIBUTION_SPARSE] = "sparse",
        [DISTRIBUTION_CANCEL] = "cancel",     [DISTRIBUTION_WEIGHTS] = "weights",
        [DISTRIBUTION_FIELD] = "field",       [DISTRIBUTION_STEPS] = "steps",
        [DISTRIBUTION_SERIES] = "series",     [DISTRIBUTION_IMAGE] = "image",
    };

    return names[d];
}

bool distribution_parse(const char *name, enum distribution *d)
{
    for (int i = 0; i < DISTRIBUTIONS; i++) {
        if (strcmp(name, distribution_name((enum distribution)i)) == 0) {
            *d = (enum distribution)i;
            return true;
        }
    }
    return false;
}

/*
 * Random bits: GENERATORS generators xoshiro256++ (D. Blackman and S. Vigna, "Scrambled linear
 * pseudorandom number generators", 2021) side by side, two to a vector; their words alternate.
 */
#define GENERATORS 8

typedef uint64_t pair __attribute__((vector_size(16)));

struct generator {
    pair state[4][GENERATORS / 2];
};

static void generator_seed(struct generator *g, enum distribution d, enum element_type type,
                           uint64_t seed, uint64_t block)
{
    uint64_t key = random_mix(seed + RANDOM_GOLDEN);

    key = random_mix(key + ((uint64_t)d << 8 | (uint64_t)type) + 1);
    key = random_mix(key + block * RANDOM_GOLDEN);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < GENERATORS; j++) {
            key += RANDOM_GOLDEN;
            g->state[i][j / 2][j % 2] = random_mix(key);
        }
    }
}

static inline pair rotate(pair x, int bits)
{
    return x << bits | x >> (64 - bits);
}

/* Draws the next `count` words, a multiple of GENERATORS. */
static void draw(struct generator *g, uint64_t *restrict words, size_t count)
{
    for (size_t j = 0; j < GENERATORS / 2; j++) {
        pair a = g->state[0][j], b = g->state[1][j], c = g->state[2][j], d = g->state[3][j];

        for (size_t i = 2 * j; i < count; i += GENERATORS) {
            pair word = rotate(a + d, 23) + a, shifted = b << 17;

            c ^= a;
            d ^= b;
            b ^= c;
            a ^= d;
            c ^= shifted;
            d = rotate(d, 45);
            memcpy(words + i, &word, sizeof word);
        }
        g->state[0][j] = a;
        g->state[1][j] = b;
        g->state[2][j] = c;
        g->state[3][j] = d;
    }
}

/* Draws a block of random 32-bit numbers. */
static void draw32(struct generator *g, uint32_t *restrict out)
{
    uint64_t words[BLOCK / 2];

    draw(g, words, BLOCK / 2);
    for (size_t i = 0; i < BLOCK / 2; i++) {
        out[i] = (uint32_t)words[i];
        out[i + BLOCK / 2] = (uint32_t)(words[i] >> 32);
    }
}

/* Draws a block of random 16-bit numbers. */
static void draw16(struct generator *g, uint16_t *restrict out)
{
    uint64_t words[BLOCK / 4];

    draw(g, words, BLOCK / 4);
    for (size_t i = 0; i < BLOCK / 4; i++) {
        out[i] = (uint16_t)words[i];
        out[i + BLOCK / 4] = (uint16_t)(words[i] >> 16);
        out[i + BLOCK / 2] = (uint16_t)(words[i] >> 32);
        out[i + BLOCK / 2 + BLOCK / 4] = (uint16_t)(words[i] >> 48);
    }
}

/*
 * A block, in this machine's byte order.
 */
union block {
    double f64[BLOCK];
    float f32[BLOCK];
    uint64_t bits64[BLOCK];
    uint32_t bits32[BLOCK];
    uint16_t bits16[BLOCK];
    uint8_t bits8[BLOCK];
};

/* x rounded to binary16, to nearest, ties to even; |x| is below 65520. There is no branch, because
   a branch on random numbers cannot be predicted. */
static inline uint16_t half_of_float(float x)
{
    const uint32_t smallest_normal = 113u << 23, rebias = 112u << 23, one_half = 126u << 23;
    uint32_t bits = exact_bits32(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    uint32_t normal = (size + 0xfff + (size >> 13 & 1) - rebias) >> 13;
    /* From 1/2 to 1, binary32 numbers are as far apart as the subnormals of binary16. */
    uint32_t subnormal = exact_bits32(exact_from_bits32(size) + 0.5f) - one_half;
    uint32_t choice = -(uint32_t)(size < smallest_normal);

    return (uint16_t)(sign | (subnormal & choice) | (normal & ~choice));
}

/* x rounded to bfloat16, to nearest, ties to even; x is no NaN. */
static inline uint16_t bfloat_of_float(float x)
{
    uint32_t bits = exact_bits32(x);

    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Rounds binary32 numbers to a type of 16 bits. */
static void narrow(uint16_t *restrict out, const float *restrict x, enum element_type type)
{
    if (type == ELEMENT_F16)
        for (size_t i = 0; i < BLOCK; i++)
            out[i] = half_of_float(x[i]);
    else
        for (size_t i = 0; i < BLOCK; i++)
            out[i] = bfloat_of_float(x[i]);
}

static const struct format {
    unsigned exponent_shift; /* bits of the fraction */
    unsigned bias;           /* the exponent field of 1 */
    uint64_t others;         /* mask of the sign and the fraction */
} formats[] = {
    [ELEMENT_F32] = {23, 127, 0x807fffff},
    [ELEMENT_F64] = {52, 1023, UINT64_C(0x800fffffffffffff)},
    [ELEMENT_F16] = {10, 15, 0x83ff},
    [ELEMENT_BF16] = {7, 127, 0x807f},
};
_Static_assert(sizeof formats / sizeof *formats == ELEMENT_FLOATS, "a row for each type");

/*
 * Elements of the types that have no loops: floats of one byte, and integers, one at a time.
 */

/* One of so many elements of DISTRIBUTION_SPARSE is not a zero. */
#define SPARSENESS 20

/* One of `count` numbers from 0 on, which are equally likely. */
static uint64_t choose(uint64_t choice, uint64_t count)
{
    return (choice >> 32) * count >> 32;
}

/* x rounded to a float of one byte, to nearest, ties to even; |x| is below the greatest number. */
static uint8_t float8_of_float(enum element_type type, float x)
{
    const struct element_format *format = &element_formats[type];
    const unsigned dropped = 24 - (unsigned)format->significant_bits;
    const uint32_t bits = exact_bits32(x), size = bits & 0x7fffffff;
    /* A number whose neighbours, as binary32, are as far apart as the type's least numbers. */
    const uint32_t apart = (uint32_t)(127 + 24 + format->exponent_min - format->significant_bits)
                           << 23;
    /* The bits of 1.0 2^exponent_min, with exponent field 1. */
    const uint32_t rebias = (uint32_t)(127 + format->exponent_min - 1) << 23;
    const float magnitude = exact_from_bits32(size), spaced = exact_from_bits32(apart);
    uint32_t rounded;

    if (size < rebias + (UINT32_C(1) << 23))
        rounded = exact_bits32(magnitude + spaced) - apart;
    else
        rounded = (size + ((UINT32_C(1) << (dropped - 1)) - 1) + (size >> dropped & 1) - rebias) >>
                  dropped;
    return (uint8_t)(bits >> 24 & 0x80) | (uint8_t)rounded;
}

static uint8_t float8(enum distribution d, enum element_type type, uint64_t word, uint64_t choice,
                      double normal)
{
    const unsigned significant = (unsigned)element_formats[type].significant_bits;
    const unsigned fraction = significant - 1, sign = (unsigned)(word >> 63) << 7;
    const int most = 1 << significant;
    /* Magnitudes that are finite, and exponent fields of those whose fractions all are. */
    const unsigned finite = type == ELEMENT_F8E4M3 ? 0x7f : 0x7c;

    switch (d) {
    case DISTRIBUTION_UNIFORM:
        return float8_of_float(type, (float)(word >> (64 - significant)) / (float)most);
    case DISTRIBUTION_NORMAL:
        return float8_of_float(type, (float)normal);
    case DISTRIBUTION_WIDE:
    case DISTRIBUTION_CANCEL:
        return (uint8_t)(sign |
                         (unsigned)(1 + choose(choice, (finite >> fraction) - 1)) << fraction |
                         (unsigned)(word & ((1u << fraction) - 1)));
    case DISTRIBUTION_FULL:
        return (uint8_t)(sign | (unsigned)choose(choice, finite));
    case DISTRIBUTION_INTEGERS:
        return float8_of_float(type, (float)((int)choose(choice, 2 * (uint64_t)most + 1) - most));
    case DISTRIBUTION_SPARSE:
        return choice >> 32 < UINT32_MAX / SPARSENESS ? float8_of_float(type, (float)normal)
                                                      : (uint8_t)(word << 7);
    case DISTRIBUTION_WEIGHTS:
    case DISTRIBUTION_FIELD:
    case DISTRIBUTION_STEPS:
    case DISTRIBUTION_SERIES:
    case DISTRIBUTION_IMAGE:
    case DISTRIBUTIONS:
        break;
    }
    return 0;
}

/* A normally distributed integer: around 0, or around the middle of what has no sign. One in 2^63
   lies beyond 9 deviations, and there is room for 16. */
static uint64_t normal_integer(enum element_type type, double normal)
{
    const unsigned bits = 8 * (unsigned)element_size(type);
    const double x = normal * (double)(UINT64_C(1) << (bits - 5));
    const uint64_t n = (uint64_t)(int64_t)(x < 0 ? x - 0.5 : x + 0.5);

    return element_formats[type].kind == ELEMENT_SIGNED ? n : n + (UINT64_C(1) << (bits - 1));
}

static uint64_t integer(enum distribution d, enum element_type type, uint64_t word, uint64_t choice,
                        double normal)
{
    const bool is_signed = element_formats[type].kind == ELEMENT_SIGNED;
    const unsigned bits = 8 * (unsigned)element_size(type);
    const uint64_t most = bits == 8 ? 100 : 1000;
    uint64_t n, length;

    switch (d) {
    case DISTRIBUTION_UNIFORM:
    case DISTRIBUTION_FULL:
        return word >> (64 - bits);
    case DISTRIBUTION_NORMAL:
        return normal_integer(type, normal);
    case DISTRIBUTION_WIDE:
    case DISTRIBUTION_CANCEL:
        length = choose(choice, is_signed ? bits - 1 : bits);
        n = UINT64_C(1) << length;
        n |= word & (n - 1);
        return is_signed && word >> 63 ? -n : n;
    case DISTRIBUTION_INTEGERS:
        n = choose(choice, 2 * most + 1);
        return is_signed ? n - most : n;
    case DISTRIBUTION_SPARSE:
        return choice >> 32 < UINT32_MAX / SPARSENESS ? normal_integer(type, normal) : 0;
    case DISTRIBUTION_WEIGHTS:
    case DISTRIBUTION_FIELD:
    case DISTRIBUTION_STEPS:
    case DISTRIBUTION_SERIES:
    case DISTRIBUTION_IMAGE:
    case DISTRIBUTIONS:
        break;
    }
    return 0;
}

/* Truth values are 1 half of the time, or, where most are zeros, one in 40 times. */
static uint64_t truth(enum distribution d, uint64_t word, uint64_t choice)
{
    return d == DISTRIBUTION_SPARSE && choice >> 32 >= UINT32_MAX / SPARSENESS ? 0 : word >> 63;
}

/* The bits of an element of a distribution, made of 64 random bits, as many more for choices, and
   the normal number of the former. For distributions up to DISTRIBUTION_SPARSE; DISTRIBUTION_CANCEL
   is made of DISTRIBUTION_WIDE. */
static uint64_t element_of(enum distribution d, enum element_type type, uint64_t word,
                           uint64_t choice, double normal)
{
    if (element_formats[type].kind == ELEMENT_TRUTH)
        return truth(d, word, choice);
    if (element_is_integer(type))
        return integer(d, type, word, choice, normal);
    return float8(d, type, word, choice, normal);
}

/*
 * The distributions. Each function makes a block, of floats of 16 bits and more; the last one makes
 * any other type.
 */

/* Multiples of the distance between the numbers of the type just below 1. */
static void fill_uniform(union block *restrict b, enum element_type type, struct generator *g)
{
    const int unused = type == ELEMENT_F16 ? 5 : 8;
    const float unit = type == ELEMENT_F16 ? 0x1p-11f : 0x1p-8f;
    float x[BLOCK];

    switch (type) {
    case ELEMENT_F64:
        draw(g, b->bits64, BLOCK);
        for (size_t i = 0; i < BLOCK; i++)
            b->f64[i] = (double)(int64_t)(b->bits64[i] >> 11) * 0x1p-53;
        break;
    case ELEMENT_F32:
        draw32(g, b->bits32);
        for (size_t i = 0; i < BLOCK; i++)
            b->f32[i] = (float)(int32_t)(b->bits32[i] >> 8) * 0x1p-24f;
        break;
    case ELEMENT_F16:
    case ELEMENT_BF16:
        draw16(g, b->bits16);
        for (size_t i = 0; i < BLOCK; i++)
            x[i] = (float)(int32_t)(b->bits16[i] >> unused) * unit;
        narrow(b->bits16, x, type);
        break;
        ELEMENT_CASES_BEHIND_FLOATS
        break;
    }
}

static void fill_integers(union block *restrict b, enum element_type type, struct generator *g)
{
    enum { MOST = 1000 };
    uint32_t random[BLOCK];
    float x[BLOCK];

    draw32(g, random);
    if (type == ELEMENT_F64) {
        for (size_t i = 0; i < BLOCK; i++)
            b->f64[i] = (int32_t)((uint64_t)random[i] * (2 * MOST + 1) >> 32) - MOST;
        return;
    }
    for (size_t i = 0; i < BLOCK; i++)
        x[i] = (float)((int32_t)((uint64_t)random[i] * (2 * MOST + 1) >> 32) - MOST);
    if (type == ELEMENT_F32)
        memcpy(b->f32, x, sizeof x);
    else
        narrow(b->bits16, x, type);
}

/* Random signs and fractions; the `count` exponent fields from `first` on are equally likely. */
static void fill_exponents(union block *restrict b, enum element_type type, struct generator *g,
                           unsigned first, unsigned count)
{
    const unsigned shift = formats[type].exponent_shift;
    const uint64_t others = formats[type].others;
    uint64_t words[BLOCK];
    uint32_t random[BLOCK];

    switch (type) {
    case ELEMENT_F64:
        draw(g, words, BLOCK);
        draw32(g, random);
        for (size_t i = 0; i < BLOCK; i++)
            b->bits64[i] = (words[i] & others) | (first + ((uint64_t)random[i] * count >> 32))
                                                     << shift;
        break;
    case ELEMENT_F32:
        draw(g, words, BLOCK);
        for (size_t i = 0; i < BLOCK; i++) {
            uint32_t exponent = first + (uint32_t)((words[i] & 0xffffffff) * count >> 32);
            b->bits32[i] = ((uint32_t)(words[i] >> 32) & (uint32_t)others) | exponent << shift;
        }
        break;
    case ELEMENT_F16:
    case ELEMENT_BF16:
        draw32(g, random);
        for (size_t i = 0; i < BLOCK; i++) {
            uint32_t exponent = first + ((random[i] & 0xffff) * count >> 16);
            b->bits16[i] = (uint16_t)((random[i] >> 16 & (uint32_t)others) | exponent << shift);
        }
        break;
        ELEMENT_CASES_BEHIND_FLOATS
        break;
    }
}

/* `wide` has 60 exponents around that of 1; for binary16, all exponents of normal numbers. */
#define WIDE_EXPONENTS 60u

static void fill_wide(union block *restrict b, enum element_type type, struct generator *g)
{
    unsigned bias = formats[type].bias;

    if (type == ELEMENT_F16)
        fill_exponents(b, type, g, 1, 2 * bias);
    else
        fill_exponents(b, type, g, bias - WIDE_EXPONENTS / 2, WIDE_EXPONENTS);
}

static void fill_full(union block *restrict b, enum element_type type, struct generator *g)
{
    fill_exponents(b, type, g, 0, 2 * formats[type].bias + 1);
}

/*
 * Data as measurements and simulations have them: neighbours are alike, so that they compress. Each
 * element depends on the seed and its index alone.
 *
 * All are made of lattice noise (K. Perlin, "An image synthesizer", 1985): random numbers stand at
 * the points of a lattice, others lie between them, and several lattices, each twice as fine as the
 * one before, add up to a field.
 */

/* A field has rows of so many elements; an image of so many pixels, of three colours each. */
#define FIELD_ROW 2048
#define IMAGE_ROW 1024
#define COLOURS 3

/* Lattices of a field and of a series: their cells are 2^this wide, at most, and the largest ones
   of a series besides. */
#define FIELD_OCTAVES 9
#define SERIES_OCTAVES 12
#define WAVE_LOG2 14

/* Interpolates between a and b, with t from 0 to 1: smoothly at both ends. */
static double between(double a, double b, double t)
{
    return a + (b - a) * (t * t * (3 - 2 * t));
}

/* The lines of a lattice's points above and below a row, by their keys, and how far the row is from
   the one above. */
struct lines {
    uint64_t above, below;
    double t;
};

/* A random number from -1 to 1 at a point of a line. */
static double point(uint64_t line, uint64_t x)
{
    return (double)(int64_t)(random_mix(line + x * RANDOM_GOLDEN) >> 11) * 0x1p-52 - 1;
}

/* The value at x, interpolated between the two points beside it. */
static double column(const struct lines *lines, uint64_t x)
{
    return between(point(lines->above, x), point(lines->below, x), lines->t);
}

/* Adds `size` times the noise of a lattice, whose cells are 2^log2 wide, at the points (x + i, y).
 */
static void add_lattice(double *out, uint64_t key, double size, unsigned log2, uint64_t x,
                        uint64_t y, size_t count)
{
    const uint64_t mask = (UINT64_C(1) << log2) - 1, row = y >> log2;
    const double width = (double)(int64_t)(mask + 1);
    const struct lines lines = {key + random_mix(row + RANDOM_GOLDEN),
                                key + random_mix(row + 1 + RANDOM_GOLDEN),
                                (double)(int64_t)(y & mask) / width};
    double left, right = column(&lines, x >> log2);

    for (size_t i = 0; i < count;) {
        left = right;
        right = column(&lines, ((x + i) >> log2) + 1);
        for (uint64_t at = (x + i) & mask; at <= mask && i < count; at++, i++)
            out[i] += size * between(left, right, (double)(int64_t)at / width);
    }
}

/* Adds lattices from 2^log2 down to 2^least, each of 1/sqrt(2) the size of the one before, to
   within a part in a thousand: what has the spectrum of a random walk along a line. */
static void add_octaves(double *out, uint64_t key, double size, unsigned log2, unsigned least,
                        uint64_t x, uint64_t y, size_t count)
{
    for (unsigned l = log2 + 1; l-- > least;) {
        add_lattice(out, random_mix(key + l), size, l, x, y, count);
        size *= 0.7071;
    }
}

/* The nearest whole number; |x| is below 2^50. */
static double nearest(double x)
{
    const double large = 0x1.8p52;

    return x + large - large;
}

/* Makes numbers of a field in two dimensions, such as temperatures in kelvins. */
static void field_numbers(double *x, uint64_t seed, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count;) {
        const uint64_t at = (first + i) % FIELD_ROW, row = (first + i) / FIELD_ROW;
        const size_t left = FIELD_ROW - (size_t)at;
        const size_t n = count - i < left ? count - i : left;

        for (size_t j = 0; j < n; j++)
            x[i + j] = 280;
        add_octaves(x + i, seed, 26, FIELD_OCTAVES, 1, at, row, n);
        i += n;
    }
}

/* A slow wave, what walks about it, and noise, to one decimal: what a sensor says. */
static void series_numbers(double *x, uint64_t seed, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = 20;
    add_lattice(x, random_mix(seed), 8, WAVE_LOG2, first, 0, count);
    add_octaves(x, seed, 0.8, SERIES_OCTAVES, 0, first, 0, count);
    for (size_t i = 0; i < count; i++)
        x[i] = nearest(x[i] * 10) / 10;
}

/* Brightness that the colours share, a little of their own, and noise; from 0 to 255, over 255. */
static void image_numbers(double *x, uint64_t seed, uint64_t first, size_t count)
{
    const uint64_t begin = first / COLOURS;
    const size_t pixels = (size_t)((first + count - 1) / COLOURS - begin) + 1;
    double plane[BLOCK / COLOURS + 2];

    for (uint64_t colour = 0; colour < COLOURS; colour++) {
        for (size_t i = 0; i < pixels;) {
            const uint64_t at = (begin + i) % IMAGE_ROW, row = (begin + i) / IMAGE_ROW;
            const size_t left = IMAGE_ROW - (size_t)at;
            const size_t n = pixels - i < left ? pixels - i : left;

            for (size_t j = 0; j < n; j++)
                plane[i + j] = 120;
            add_octaves(plane + i, seed, 60, FIELD_OCTAVES, 3, at, row, n);
            add_octaves(plane + i, random_mix(seed + colour + 1), 12, FIELD_OCTAVES - 1, 3, at, row,
                        n);
            add_lattice(plane + i, random_mix(seed ^ (colour + 1)), 4, 0, at, row, n);
            i += n;
        }
        for (size_t i = 0; i < pixels; i++) {
            const uint64_t element = (begin + i) * COLOURS + colour;
            double value = nearest(plane[i]);

            value = value < 0 ? 0 : value > 255 ? 255 : value;
            if (element >= first && element < first + count)
                x[element - first] = value / 255;
        }
    }
}

/* Writes elements [first, first + count) of a distribution to x: DISTRIBUTION_FIELD,
   DISTRIBUTION_STEPS, DISTRIBUTION_SERIES or DISTRIBUTION_IMAGE. `seed` has been mixed; `count` is
   at most BLOCK. */
static void smooth_numbers(double *x, enum distribution d, uint64_t seed, uint64_t first,
                           size_t count)
{
    if (count == 0)
        return;
    if (d == DISTRIBUTION_SERIES)
        series_numbers(x, seed, first, count);
    else if (d == DISTRIBUTION_IMAGE)
        image_numbers(x, seed, first, count);
    else
        field_numbers(x, seed, first, count);
    for (size_t i = 0; d == DISTRIBUTION_STEPS && i < count; i++)
        x[i] = nearest(x[i] * 100) / 100;
}

/*
 * Normal numbers.
 */
/* The place for a block of binary64 numbers: the block itself if that is its type. */
static double *numbers_of(union block *b, enum element_type type, double other[BLOCK])
{
    return type == ELEMENT_F64 ? b->f64 : other;
}

/* Rounds the numbers that were made there to the type, and puts them into the block. Rounding
   twice, first to binary32, does no harm: the numbers are random. */
static void round_numbers(union block *b, enum element_type type, const double *x)
{
    float narrower[BLOCK];

    if (type == ELEMENT_F64)
        return;
    for (size_t i = 0; i < BLOCK; i++)
        narrower[i] = (float)x[i];
    if (type == ELEMENT_F32)
        memcpy(b->f32, narrower, sizeof narrower);
    else
        narrow(b->bits16, narrower, type);
}

static void fill_normal(union block *restrict b, enum element_type type, struct generator *g)
{
    uint64_t words[BLOCK];
    double other[BLOCK], *x = numbers_of(b, type, other);

    normal_prepare();
    draw(g, words, BLOCK);
    normal_numbers(x, words, BLOCK);
    round_numbers(b, type, x);
}

/* As a model that was trained in bfloat16 has them, and another type to keep them. */
static void fill_weights(union block *restrict b, enum element_type type, struct generator *g)
{
    uint64_t words[BLOCK];
    double other[BLOCK], *x = numbers_of(b, type, other);

    normal_prepare();
    draw(g, words, BLOCK);
    normal_numbers(x, words, BLOCK);
    for (size_t i = 0; i < BLOCK; i++)
        x[i] = (double)exact_from_bits32((uint32_t)bfloat_of_float((float)(x[i] * 0.02)) << 16);
    round_numbers(b, type, x);
}

static void fill_sparse(union block *restrict b, enum element_type type, struct generator *g)
{
    uint32_t random[BLOCK];
    uint64_t words[BLOCK];
    double other[BLOCK], *x = numbers_of(b, type, other);

    normal_prepare();
    draw32(g, random);
    draw(g, words, BLOCK);
    for (size_t i = 0; i < BLOCK; i++) {
        uint64_t zero = words[i] << 63; /* of a random sign */

        memcpy(&x[i], &zero, sizeof zero);
        if (random[i] < UINT32_MAX / SPARSENESS)
            normal_numbers(&x[i], &words[i], 1);
    }
    round_numbers(b, type, x);
}

static void fill_elements(union block *restrict b, enum distribution d, enum element_type type,
                          struct generator *g)
{
    uint64_t words[BLOCK], choices[BLOCK];
    double normal[BLOCK];

    draw(g, words, BLOCK);
    draw(g, choices, BLOCK);
    normal_prepare();
    normal_numbers(normal, words, BLOCK);
    for (size_t i = 0; i < BLOCK; i++) {
        uint64_t bits = element_of(d, type, words[i], choices[i], normal[i]);

        switch (element_size(type)) {
        case 1:
            b->bits8[i] = (uint8_t)bits;
            break;
        case 2:
            b->bits16[i] = (uint16_t)bits;
            break;
        case 4:
            b->bits32[i] = (uint32_t)bits;
            break;
        default:
            b->bits64[i] = bits;
        }
    }
}

typedef void fill_floats(union block *restrict b, enum element_type type, struct generator *g);

static fill_floats *const fills[DISTRIBUTIONS] = {
    [DISTRIBUTION_UNIFORM] = fill_uniform,   [DISTRIBUTION_NORMAL] = fill_normal,
    [DISTRIBUTION_WIDE] = fill_wide,         [DISTRIBUTION_FULL] = fill_full,
    [DISTRIBUTION_INTEGERS] = fill_integers, [DISTRIBUTION_SPARSE] = fill_sparse,
    [DISTRIBUTION_WEIGHTS] = fill_weights,
};

/* Makes a block of a distribution whose elements have nothing to do with each other. */
static void fill(union block *b, enum distribution d, enum element_type type, struct generator *g)
{
    if (element_is_float(type))
        fills[d](b, type, g);
    else
        fill_elements(b, d, type, g);
}

/*
 * Cancellation. Block n + i of the first 2n blocks is block i with the signs changed. Up to two
 * blocks of elements follow, at least one element, which are all made of one more random block: a
 * part of it, the same part with the signs changed, and then one element or two equal ones. These
 * last ones are the rest: the sum of all elements.
 */

/* Changes the signs of elements: in floats the sign bit; in integers, in two's complement, all
   bits, after which one is added. */
static void change_signs(union block *b, enum element_type type, size_t begin, size_t end)
{
    const bool integer = element_is_integer(type);
    const uint64_t one = integer ? 1 : 0;
    const uint64_t mask = integer ? UINT64_MAX : UINT64_C(1) << (8 * element_size(type) - 1);

    switch (element_size(type)) {
    case 8:
        for (size_t i = begin; i < end; i++)
            b->bits64[i] = (b->bits64[i] ^ mask) + one;
        break;
    case 4:
        for (size_t i = begin; i < end; i++)
            b->bits32[i] = (uint32_t)((b->bits32[i] ^ mask) + one);
        break;
    case 2:
        for (size_t i = begin; i < end; i++)
            b->bits16[i] = (uint16_t)((b->bits16[i] ^ mask) + one);
        break;
    case 1:
        for (size_t i = begin; i < end; i++)
            b->bits8[i] = (uint8_t)((b->bits8[i] ^ mask) + one);
        break;
    }
}

/* Makes element i the rest, from its random bits: positive, and far below all other elements. */
static void make_rest(union block *b, enum element_type type, size_t i)
{
    const unsigned far_below = 45;
    const struct format *f = &formats[element_is_float(type) ? type : ELEMENT_F16];
    uint64_t fraction = (UINT64_C(1) << f->exponent_shift) - 1;
    uint64_t exponent = (uint64_t)(f->bias - far_below) << f->exponent_shift;

    switch (type) {
    case ELEMENT_F64:
        b->bits64[i] = (b->bits64[i] & fraction) | exponent;
        break;
    case ELEMENT_F32:
        b->bits32[i] = (uint32_t)((b->bits32[i] & fraction) | exponent);
        break;
    case ELEMENT_F16: /* subnormal */
        b->bits16[i] = (uint16_t)((b->bits16[i] & fraction) | 1);
        break;
    case ELEMENT_BF16:
        b->bits16[i] = (uint16_t)((b->bits16[i] & fraction) | exponent);
        break;
    case ELEMENT_F8E4M3: /* subnormal */
        b->bits8[i] = (b->bits8[i] & 7) | 1;
        break;
    case ELEMENT_F8E5M2: /* subnormal */
        b->bits8[i] = (b->bits8[i] & 3) | 1;
        break;
        ELEMENT_INTEGER_TABLE(ELEMENT_CASE)
        memset((unsigned char *)b + i * element_size(type), 0, element_size(type));
        ((unsigned char *)
             b)[i * element_size(type) + (element_host_is_big() ? element_size(type) - 1 : 0)] = 1;
        break;
    }
}

/* Makes block `number` of a stream of `length` elements; the last one may be a part of a block. */
static void fill_cancel(union block *b, enum element_type type, uint64_t seed, uint64_t length,
                        uint64_t number)
{
    uint64_t pairs = (length - 1) / 2 / BLOCK;
    size_t left = (size_t)(length - 2 * pairs * BLOCK), half = (left - 1) / 2;
    size_t size = element_size(type), begin, end;
    struct generator g;
    union block made;

    generator_seed(&g, DISTRIBUTION_CANCEL, type, seed,
                   number < pairs       ? number
                   : number < 2 * pairs ? number - pairs
                                        : pairs);
    if (number < 2 * pairs) {
        fill(b, DISTRIBUTION_WIDE, type, &g);
        if (number >= pairs)
            change_signs(b, type, 0, BLOCK);
        return;
    }
    /* This block has elements [begin, end) of those behind the first 2n blocks. Elements [half, 2
       half) are those before them, with their signs changed. */
    begin = (size_t)(number - 2 * pairs) * BLOCK;
    end = left - begin < BLOCK ? left : begin + BLOCK;
    fill(&made, DISTRIBUTION_WIDE, type, &g);
    make_rest(&made, type, half);
    for (size_t i = begin; i < end; i++) {
        bool mirrored = i >= half && i < 2 * half;
        size_t from = i < half ? i : mirrored ? i - half : half;

        memcpy((unsigned char *)b + (i - begin) * size, (unsigned char *)&made + from * size, size);
        if (mirrored)
            change_signs(b, type, i - begin, i - begin + 1);
    }
}

/* Makes block `number` of a distribution whose neighbours are alike. */
static void fill_smooth(union block *b, enum distribution d, enum element_type type, uint64_t seed,
                        uint64_t number)
{
    double other[BLOCK], *x = numbers_of(b, type, other);

    smooth_numbers(x, d, random_mix(seed + RANDOM_GOLDEN), number * BLOCK, BLOCK);
    round_numbers(b, type, x);
}

bool distribution_has(enum distribution d, enum element_type type)
{
    if (d >= DISTRIBUTION_WEIGHTS)
        return element_is_float(type);
    return d != DISTRIBUTION_CANCEL || !element_is_integer(type) ||
           element_formats[type].kind == ELEMENT_SIGNED;
}

void distribution_fill(void *out, enum distribution d, enum element_type type, uint64_t seed,
                       uint64_t length, uint64_t first, size_t count)
{
    size_t size = element_size(type);
    bool swap = element_host_is_big();
    union block block;

    for (size_t i = 0; i < count; i += BLOCK) {
        uint64_t number = (first + i) / BLOCK;
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        unsigned char *to = (unsigned char *)out + i * size;

        if (d == DISTRIBUTION_CANCEL) {
            fill_cancel(&block, type, seed, length, number);
        } else if (d > DISTRIBUTION_WEIGHTS) {
            fill_smooth(&block, d, type, seed, number);
        } else {
            struct generator g;

            generator_seed(&g, d, type, seed, number);
            fill(&block, d, type, &g);
        }
        if (swap)
            element_swap(to, &block, n, size);
        else
            memcpy(to, &block, n * size);
    }
}

/* Shared by the threads of distribution_fill_parallel. */
struct filling {
    unsigned char *out;
    enum distribution distribution;
    enum element_type type;
    uint64_t seed, length, first;
};

static void fill_share(void *argument, unsigned number, uint64_t begin, uint64_t end)
{
    const struct filling *f = argument;

    (void)number;
    distribution_fill(f->out + begin * element_size(f->type), f->distribution, f->type, f->seed,
                      f->length, f->first + begin, (size_t)(end - begin));
}

bool distribution_fill_parallel(void *out, enum distribution d, enum element_type type,
                                uint64_t seed, uint64_t length, uint64_t first, size_t count,
                                unsigned threads)
{
    struct filling f = {
        .out = out,
        .distribution = d,
        .type = type,
        .seed = seed,
        .length = length,
        .first = first,
    };

    return team_share(threads ? threads : cores_available(), count, BLOCK, fill_share, &f);
}
