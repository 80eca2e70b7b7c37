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

#include <pthread.h>
#include <string.h>

#include "bench/common/team.h"
#include "sys/cores.h"

#define BLOCK DISTRIBUTION_BLOCK

const char *distribution_name(enum distribution d)
{
    static const char *const names[DISTRIBUTIONS] = {
        [DISTRIBUTION_UNIFORM] = "uniform",   [DISTRIBUTION_NORMAL] = "normal",
        [DISTRIBUTION_WIDE] = "wide",         [DISTRIBUTION_FULL] = "full",
        [DISTRIBUTION_INTEGERS] = "integers", [DISTRIBUTION_SPARSE] = "sparse",
        [DISTRIBUTION_CANCEL] = "cancel",
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
 * Random bits: LANES generators xoshiro256++ (D. Blackman and S. Vigna, "Scrambled linear
 * pseudorandom number generators", 2021) side by side, two to a vector; their words alternate.
 */
#define LANES 8

typedef uint64_t pair __attribute__((vector_size(16)));

struct generator {
    pair state[4][LANES / 2];
};

/* A bijection that spreads every bit of x over all bits: the finalizer of splitmix64. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The odd number next to 2^64 divided by the golden ratio: its multiples are spread evenly. */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static void generator_seed(struct generator *g, enum distribution d, enum element_type type,
                           uint64_t seed, uint64_t block)
{
    uint64_t key = mix(seed + GOLDEN);

    key = mix(key + ((uint64_t)d << 8 | (uint64_t)type) + 1);
    key = mix(key + block * GOLDEN);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < LANES; j++) {
            key += GOLDEN;
            g->state[i][j / 2][j % 2] = mix(key);
        }
    }
}

static inline pair rotate(pair x, int bits)
{
    return x << bits | x >> (64 - bits);
}

/* The next `count` words, a multiple of LANES. */
static void draw(struct generator *g, uint64_t *restrict words, size_t count)
{
    for (size_t j = 0; j < LANES / 2; j++) {
        pair a = g->state[0][j], b = g->state[1][j], c = g->state[2][j], d = g->state[3][j];

        for (size_t i = 2 * j; i < count; i += LANES) {
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

/* A block's worth of 32-bit numbers; of 16-bit numbers. */
static void draw32(struct generator *g, uint32_t *restrict out)
{
    uint64_t words[BLOCK / 2];

    draw(g, words, BLOCK / 2);
    for (size_t i = 0; i < BLOCK / 2; i++) {
        out[i] = (uint32_t)words[i];
        out[i + BLOCK / 2] = (uint32_t)(words[i] >> 32);
    }
}

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
};

static inline uint32_t bits_of_float(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t bits_of_double(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double double_of_bits(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The binary16 nearest to x, ties to even; |x| is below 65520. Without a branch: signs and sizes of
   random numbers cannot be predicted. */
static inline uint16_t half_of_float(float x)
{
    const uint32_t smallest_normal = 113u << 23, rebias = 112u << 23, one_half = 126u << 23;
    uint32_t bits = bits_of_float(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    uint32_t normal = (size + 0xfff + (size >> 13 & 1) - rebias) >> 13;
    /* From 1/2 to 1, binary32 numbers are as far apart as the subnormals of binary16. */
    uint32_t subnormal = bits_of_float(float_of_bits(size) + 0.5f) - one_half;
    uint32_t choice = -(uint32_t)(size < smallest_normal);

    return (uint16_t)(sign | (subnormal & choice) | (normal & ~choice));
}

/* The bfloat16 nearest to x, ties to even; no NaN. */
static inline uint16_t bfloat_of_float(float x)
{
    uint32_t bits = bits_of_float(x);

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
    unsigned bias;           /* the exponent of 1, as it is stored */
    uint64_t others;         /* all bits but the exponent's */
} formats[ELEMENT_TYPES] = {
    [ELEMENT_F32] = {23, 127, 0x807fffff},
    [ELEMENT_F64] = {52, 1023, UINT64_C(0x800fffffffffffff)},
    [ELEMENT_F16] = {10, 15, 0x83ff},
    [ELEMENT_BF16] = {7, 127, 0x807f},
};

/*
 * The distributions, each one block at a time.
 */

/* Multiples of the unit that the type has just below 1. */
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

/* Random signs and fractions; `count` exponents from `first` on, as they are stored, are equally
   likely. */
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
    }
}

/* The exponents of `wide`: 60 around that of 1; of binary16 all that are normal. */
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
 * Normal numbers, by inversion: x is where the upper tail of the normal distribution has the
 * probability p, for a random p in (0, 1/2], and gets a random sign.
 *
 * x(p) is a table of polynomials: of degree 5, one for each sixteenth of the way from a power of
 * two to the next, so that a row is found from the leading bits of p. They are Taylor polynomials
 * around the middle of the row: all derivatives of x(p) follow from x itself. A row's half width is
 * at most 1/32 of p, which leaves an error below 1e-10, and p goes down to 2^-64, where x is
 * 9.08.
 */
#define ROW_BITS 4
#define ROW_SHIFT (52 - ROW_BITS)
#define P_EXPONENT_MIN (1023 - 64)
#define P_EXPONENT_HALF (1023 - 1)
#define ROWS (((P_EXPONENT_HALF - P_EXPONENT_MIN) << ROW_BITS) + 1)

/* Of cache line size; the last two are not used. */
static double rows[ROWS][8];

/* The middle of p's row. */
static inline double row_middle(uint64_t p_bits)
{
    return double_of_bits(p_bits >> ROW_SHIFT << ROW_SHIFT | UINT64_C(1) << (ROW_SHIFT - 1));
}

/* exp(-y) for y from 0 to 700. */
static double exp_of_minus(double y)
{
    /* ln 2 as the sum of a number of 32 bits, whose small multiples are exact, and the rest. */
    const double ln2 = 0x1.62e42fefa39efp-1, ln2_upper = 0x1.62e42feep-1,
                 ln2_lower = 0x1.a39ef35793c76p-33;
    int n = (int)(y / ln2 + 0.5);
    double r = n * ln2_upper - y + n * ln2_lower; /* from -ln2/2 to ln2/2 */
    double sum = 1;

    /* The terms after these are below 2^-64. */
    for (int k = 16; k > 0; k--)
        sum = 1 + sum * r / k;
    return sum * double_of_bits((uint64_t)(1023 - n) << 52);
}

static double normal_density(double x)
{
    const double inverse_root_two_pi = 0x1.9884533d43651p-2;

    return inverse_root_two_pi * exp_of_minus(x * x / 2);
}

/* The probability of more than x, x >= 0. */
static double normal_tail(double x)
{
    double sum = 0;

    if (x < 2) {
        /* 1/2 - density * (x + x^3/3 + x^5/(3*5) + ...); 60 terms are more than enough below 2. */
        for (int k = 60; k > 0; k--)
            sum = (sum + 1) * x * x / (2 * k + 1);
        return 0.5 - normal_density(x) * x * (1 + sum);
    }
    /* density / (x + 1 / (x + 2 / (x + 3 / ...))); converges slowest at 2. */
    for (int k = 150; k > 0; k--)
        sum = k / (x + sum);
    return normal_density(x) / (x + sum);
}

static void make_rows(void)
{
    double x = 0;

    /* p = 1/2 alone, where x is 0, has the last row. */
    for (size_t i = ROWS - 1; i-- > 0;) {
        double p = row_middle(((uint64_t)P_EXPONENT_MIN << 52) + ((uint64_t)i << ROW_SHIFT));
        double g, xx;

        /* Newton's method from the neighbour's x, which lies below: it converges from there. */
        for (int k = 0; k < 5; k++)
            x += (normal_tail(x) - p) / normal_density(x);
        g = -1 / normal_density(x); /* dx/dp */
        xx = x * x;
        rows[i][0] = x;
        rows[i][1] = g;
        rows[i][2] = g * g * x / 2;
        rows[i][3] = g * g * g * (1 + 2 * xx) / 6;
        rows[i][4] = g * g * g * g * x * (7 + 6 * xx) / 24;
        rows[i][5] = g * g * g * g * g * (7 + xx * (46 + 24 * xx)) / 120;
    }
}

static inline double normal_of_word(uint64_t word)
{
    /* An odd number of 63 bits times 2^-64: never 0, and 1/2 only by rounding. */
    double p = (double)(int64_t)(word >> 1 | 1) * 0x1p-64;
    uint64_t bits = bits_of_double(p);
    const double *row = rows[(bits >> ROW_SHIFT) - ((uint64_t)P_EXPONENT_MIN << ROW_BITS)];
    double t = p - row_middle(bits), tt = t * t;
    double x = (row[0] + row[1] * t) + ((row[2] + row[3] * t) + (row[4] + row[5] * t) * tt) * tt;

    return double_of_bits(bits_of_double(x) ^ word << 63);
}

static void fill_normal(union block *restrict b, enum element_type type, struct generator *g)
{
    uint64_t words[BLOCK];
    float x[BLOCK];

    draw(g, words, BLOCK);
    if (type == ELEMENT_F64) {
        for (size_t i = 0; i < BLOCK; i++)
            b->f64[i] = normal_of_word(words[i]);
        return;
    }
    for (size_t i = 0; i < BLOCK; i++)
        x[i] = (float)normal_of_word(words[i]);
    if (type == ELEMENT_F32)
        memcpy(b->f32, x, sizeof x);
    else
        narrow(b->bits16, x, type);
}

/* One of SPARSENESS is not a zero. */
#define SPARSENESS 20

static void fill_sparse(union block *restrict b, enum element_type type, struct generator *g)
{
    uint32_t random[BLOCK];
    uint64_t words[BLOCK];
    float x[BLOCK];

    draw32(g, random);
    draw(g, words, BLOCK);
    for (size_t i = 0; i < BLOCK; i++) {
        double value = random[i] < UINT32_MAX / SPARSENESS ? normal_of_word(words[i])
                                                           : double_of_bits(words[i] << 63);
        if (type == ELEMENT_F64)
            b->f64[i] = value;
        else
            x[i] = (float)value;
    }
    if (type == ELEMENT_F32)
        memcpy(b->f32, x, sizeof x);
    else if (type != ELEMENT_F64)
        narrow(b->bits16, x, type);
}

/*
 * Cancellation. Of 2n blocks, block n + i is block i with the signs changed. What is left, up to
 * two blocks' worth of elements and at least one, is made of the one block n: half of it once as it
 * is and once with the signs changed, and then the rest that the sum is, one element or two that
 * are equal.
 */

static void change_signs(union block *b, enum element_type type, size_t begin, size_t end)
{
    switch (element_size(type)) {
    case 8:
        for (size_t i = begin; i < end; i++)
            b->bits64[i] ^= UINT64_C(1) << 63;
        break;
    case 4:
        for (size_t i = begin; i < end; i++)
            b->bits32[i] ^= UINT32_C(1) << 31;
        break;
    default:
        for (size_t i = begin; i < end; i++)
            b->bits16[i] ^= 0x8000;
    }
}

/* Makes element i one of the rest, from its random bits: positive, and far below all elements but
   the rest's own. */
static void make_rest(union block *b, enum element_type type, size_t i)
{
    const unsigned far_below = 45;
    const struct format *f = &formats[type];
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
    }
}

/* Block `number` of a stream of `length` elements, all of it or as much as there is. */
static void fill_cancel(union block *b, enum element_type type, uint64_t seed, uint64_t length,
                        uint64_t number)
{
    uint64_t pairs = (length - 1) / 2 / BLOCK;
    size_t left = (size_t)(length - 2 * pairs * BLOCK), half = (left - 1) / 2;
    size_t size = element_size(type), begin, end, from, to;
    struct generator g;
    union block made;

    generator_seed(&g, DISTRIBUTION_CANCEL, type, seed,
                   number < pairs       ? number
                   : number < 2 * pairs ? number - pairs
                                        : pairs);
    if (number < 2 * pairs) {
        fill_wide(b, type, &g);
        if (number >= pairs)
            change_signs(b, type, 0, BLOCK);
        return;
    }
    /* Elements [begin, end) of what is left, of which [from, to) have their signs changed. */
    begin = (size_t)(number - 2 * pairs) * BLOCK;
    end = left - begin < BLOCK ? left : begin + BLOCK;
    from = half > begin ? half : begin;
    to = 2 * half < end ? 2 * half : end;
    fill_wide(&made, type, &g);
    make_rest(&made, type, half);
    for (size_t i = begin; i < end; i++)
        memcpy((unsigned char *)b + (i - begin) * size,
               (unsigned char *)&made + (i < half       ? i
                                         : i < 2 * half ? i - half
                                                        : half) *
                                            size,
               size);
    if (from < to)
        change_signs(b, type, from - begin, to - begin);
}

typedef void fill(union block *restrict b, enum element_type type, struct generator *g);

static fill *const fills[DISTRIBUTIONS] = {
    [DISTRIBUTION_UNIFORM] = fill_uniform,   [DISTRIBUTION_NORMAL] = fill_normal,
    [DISTRIBUTION_WIDE] = fill_wide,         [DISTRIBUTION_FULL] = fill_full,
    [DISTRIBUTION_INTEGERS] = fill_integers, [DISTRIBUTION_SPARSE] = fill_sparse,
};

void distribution_fill(void *out, enum distribution d, enum element_type type, uint64_t seed,
                       uint64_t length, uint64_t first, size_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    size_t size = element_size(type);
    bool swap = element_host_is_big();
    union block block;

    pthread_once(&once, make_rows);
    for (size_t i = 0; i < count; i += BLOCK) {
        uint64_t number = (first + i) / BLOCK;
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        unsigned char *to = (unsigned char *)out + i * size;

        if (d == DISTRIBUTION_CANCEL) {
            fill_cancel(&block, type, seed, length, number);
        } else {
            struct generator g;

            generator_seed(&g, d, type, seed, number);
            fills[d](&block, type, &g);
        }
        if (swap)
            element_swap(to, &block, n, size);
        else
            memcpy(to, &block, n * size);
    }
}

/* What the threads of distribution_fill_parallel share. */
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
