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

#include "bench/common/distribution_element.h"
#include "bench/common/normal.h"
#include "bench/common/random.h"
#include "bench/common/smooth.h"
#include "bench/common/team.h"
#include "sys/cores.h"

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

static inline float float_of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x rounded to binary16, to nearest, ties to even; |x| is below 65520. There is no branch, because
   a branch on random numbers cannot be predicted. */
static inline uint16_t half_of_float(float x)
{
    const uint32_t smallest_normal = 113u << 23, rebias = 112u << 23, one_half = 126u << 23;
    uint32_t bits = distribution_bits(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    uint32_t normal = (size + 0xfff + (size >> 13 & 1) - rebias) >> 13;
    /* From 1/2 to 1, binary32 numbers are as far apart as the subnormals of binary16. */
    uint32_t subnormal = distribution_bits(float_of_bits(size) + 0.5f) - one_half;
    uint32_t choice = -(uint32_t)(size < smallest_normal);

    return (uint16_t)(sign | (subnormal & choice) | (normal & ~choice));
}

/* x rounded to bfloat16, to nearest, ties to even; x is no NaN. */
static inline uint16_t bfloat_of_float(float x)
{
    uint32_t bits = distribution_bits(x);

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
        x[i] = (double)float_of_bits((uint32_t)bfloat_of_float((float)(x[i] * 0.02)) << 16);
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
        if (random[i] < UINT32_MAX / DISTRIBUTION_SPARSENESS)
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
        uint64_t bits = distribution_element(d, type, words[i], choices[i], normal[i]);

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

    _Static_assert(BLOCK <= SMOOTH_MAX, "a block is made at a time");
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
