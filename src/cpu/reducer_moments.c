/*
 * The results that kernel_float8.h and kernel_integer.h leave out: moments, norms and counts of
 * their types; and floats of one byte where nothing is looked up. It is the same for every
 * instruction set.
 */
#include "config.h"

#include "core/moments.h"
#include "cpu/kernel.h"

void cpu_take_bytes(struct cpu_reducer *r, const unsigned char *block, size_t count, uint64_t index)
{
    /* Several counters for a byte: an addition need not wait for the one before it. */
    enum { SETS = 4, BYTES = 256 };
    const size_t whole = count - count % SETS;
    const uint64_t nan_before = r->partial.nan;
    uint32_t counts[SETS][BYTES] = {{0}};
    int64_t min_key = INT64_MAX, max_key = INT64_MIN;
    uint64_t nan;

    for (size_t i = 0; i < whole; i += SETS) {
        counts[0][block[i]]++;
        counts[1][block[i + 1]]++;
        counts[2][block[i + 2]]++;
        counts[3][block[i + 3]]++;
    }
    for (size_t i = whole; i < count; i++)
        counts[0][block[i]]++;
    for (int i = 0; i < BYTES; i++) {
        const unsigned char byte = (unsigned char)i;
        const uint32_t times = counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i];
        int64_t key;

        if (times == 0)
            continue;
        moments_take_byte(&r->partial, r->type, r->wants & MOMENTS_WANTS, byte, times);
        if (element_is_nan(r->type, &byte))
            continue;
        key = element_key(r->type, &byte);
        min_key = key < min_key ? key : min_key;
        max_key = key > max_key ? key : max_key;
    }
    nan = r->partial.nan - nan_before;
    if (nan && index < r->partial.first_nan)
        cpu_take_first_nan(r, block, count, index);
    if (nan < count)
        cpu_take_block(r, min_key, max_key, block, count, index);
}

/* The sums of a block of integers of 16 bits and more. Sums are kept by halves of 32 bits, so that
   those of 2^32 elements fit. The squares of 64 bits are (2^32 a + b)^2. */
struct integers {
    int64_t min, max; /* keys */
    uint64_t least;   /* magnitude */
    uint64_t zeros, negative;
    uint64_t sum_low, sum_high;           /* of x + 2^(bits - 1), if signed */
    uint64_t absolute_low, absolute_high; /* of |x| */
    uint64_t lowest_low, lowest_high;     /* of b^2, or of x^2 where that has 64 bits */
    uint64_t middle_low, middle_high;     /* of a b */
    uint64_t highest_low, highest_high;   /* of a^2 */
};

/* Takes an element: what orders it, its bits with the bias, and its magnitude. */
static inline void take_integer(struct integers *n, int64_t key, uint64_t biased,
                                uint64_t magnitude, bool negative)
{
    n->min = key < n->min ? key : n->min;
    n->max = key > n->max ? key : n->max;
    n->least = magnitude < n->least ? magnitude : n->least;
    n->zeros += magnitude == 0;
    n->negative += negative;
    n->sum_low += biased & UINT32_MAX;
    n->sum_high += biased >> 32;
    n->absolute_low += magnitude & UINT32_MAX;
    n->absolute_high += magnitude >> 32;
}

static inline void take_square(struct integers *n, uint64_t magnitude)
{
    const uint64_t square = magnitude * magnitude;

    n->lowest_low += square & UINT32_MAX;
    n->lowest_high += square >> 32;
}

static inline void take_square64(struct integers *n, uint64_t magnitude)
{
    const uint64_t a = magnitude >> 32, b = magnitude & UINT32_MAX;

    take_square(n, b);
    n->middle_low += a * b & UINT32_MAX;
    n->middle_high += a * b >> 32;
    n->highest_low += a * a & UINT32_MAX;
    n->highest_high += a * a >> 32;
}

#define TAKE_SIGNED(bits, square)                                                              \
    for (size_t i = 0; i < count; i++) {                                                       \
        int##bits##_t x;                                                                       \
        memcpy(&x, block + i * sizeof x, sizeof x);                                            \
        const uint64_t magnitude = x < 0 ? -(uint64_t)x : (uint64_t)x;                         \
        take_integer(&n, x, (uint##bits##_t)((uint##bits##_t)x + (UINT64_C(1) << ((bits)-1))), \
                     magnitude, x < 0);                                                        \
        square(&n, magnitude);                                                                 \
    }
#define TAKE_UNSIGNED(bits, square)                                                     \
    for (size_t i = 0; i < count; i++) {                                                \
        uint##bits##_t x;                                                               \
        memcpy(&x, block + i * sizeof x, sizeof x);                                     \
        take_integer(&n, (bits) == 64 ? (int64_t)(x ^ SIGN) : (int64_t)x, x, x, false); \
        square(&n, x);                                                                  \
    }
#define SIGN (UINT64_C(1) << 63)

/* Adds x 2^bit to the squares. */
static void add_square(struct partial *p, uint64_t x, unsigned bit)
{
    exact_wide_add_integer(&p->squares, x, (unsigned)-EXACT_WIDE_LSB_EXPONENT + bit, 0);
}

static void take_integers(struct cpu_reducer *r, const unsigned char *block, size_t count,
                          uint64_t index)
{
    struct partial *p = &r->partial;
    struct integers n = {.min = INT64_MAX, .max = INT64_MIN, .least = UINT64_MAX};
    int64_t least;

    switch (r->type) {
    case ELEMENT_I16:
        TAKE_SIGNED(16, take_square)
        break;
    case ELEMENT_I32:
        TAKE_SIGNED(32, take_square)
        break;
    case ELEMENT_I64:
        TAKE_SIGNED(64, take_square64)
        break;
    case ELEMENT_U16:
        TAKE_UNSIGNED(16, take_square)
        break;
    case ELEMENT_U32:
        TAKE_UNSIGNED(32, take_square)
        break;
    case ELEMENT_U64:
        TAKE_UNSIGNED(64, take_square64)
        break;
        ELEMENT_FLOAT_TABLE(ELEMENT_CASE)
        ELEMENT_FLOAT8_TABLE(ELEMENT_CASE)
    case ELEMENT_I8:
    case ELEMENT_U8:
    case ELEMENT_BOOL:
        return;
    }
    cpu_take_block(r, n.min, n.max, block, count, index);
    cpu_reserve_integers(r, count);
    r->integers.low += n.sum_low;
    r->integers.high += n.sum_high;
    least = element_key(ELEMENT_U64, &n.least);
    p->least_magnitude = least < p->least_magnitude ? least : p->least_magnitude;
    p->zeros += n.zeros;
    p->negative += n.negative;
    exact_add_integer(&p->absolute, n.absolute_low, EXACT_ONE_BIT, 0);
    exact_add_integer(&p->absolute, n.absolute_high, EXACT_ONE_BIT + 32, 0);
    add_square(p, n.lowest_low, 0);
    add_square(p, n.lowest_high, 32);
    add_square(p, n.middle_low, 33);
    add_square(p, n.middle_high, 65);
    add_square(p, n.highest_low, 64);
    add_square(p, n.highest_high, 96);
}

void cpu_take_moments(struct cpu_reducer *r, const unsigned char *block, size_t count,
                      uint64_t index)
{
    if (element_size(r->type) == 1)
        cpu_take_bytes(r, block, count, index);
    else
        take_integers(r, block, count, index);
}
