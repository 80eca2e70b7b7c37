/*
 * Exact accumulation of binary64 values: a fixed-point number wide enough for any sum of up to
 * 2^64 of them, so that a sum is rounded once, at the end, and no order of addition matters.
 *
 * The number is EXACT_DIGITS digits of base 2^32, least significant first, each held in an
 * int64_t: the 32 spare bits let carries wait. Digit i weighs 2^(32 i - 1074), so the least
 * significant bit is that of the smallest subnormal and every binary64 value is an integer here.
 * Kulisch's accumulator, with the deferred carries of the "small superaccumulator" of R. M. Neal,
 * "Fast exact summation using small and large superaccumulators" (2015).
 *
 * The arithmetic that the host and the kernels share stands here, and only here; this header
 * compiles as C11 and as CUDA C++. Nothing here takes a lock: an accumulator belongs to one thread.
 */
#ifndef GPUREDUCE_EXACT_H
#define GPUREDUCE_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#    define EXACT_SHARED __host__ __device__ static inline
#else
#    define EXACT_SHARED static inline
#endif

/* 2^64 values below 2^1024 stay below 2^1088: 1074 + 1088 = 2162 bits and a sign, 68 digits; two
   more so that carrying never has to think about the end. */
#define EXACT_DIGITS 70
#define EXACT_DIGIT_BITS 32
#define EXACT_LSB_EXPONENT (-1074)

/* An addition puts less than 2^32 on a digit, and a carried digit is below 2^32: up to 2^31 - 2
   additions fit an int64_t. Half of that, so that two accumulators always merge without a look. */
#define EXACT_PENDING_MAX ((uint32_t)1 << 30)

struct exact {
    int64_t digit[EXACT_DIGITS];
    uint32_t pending; /* additions since the last carry, at most EXACT_PENDING_MAX */
};

/* Digits of an accumulator of squares, which have exponents twice as far from zero: multiples of
   2^-2148, and 2^64 of them stay below 2^2112. These are 4260 bits and a sign, 134 digits, and two
   more. */
#define EXACT_WIDE_DIGITS 136
#define EXACT_WIDE_LSB_EXPONENT (2 * EXACT_LSB_EXPONENT)

struct exact_wide {
    int64_t digit[EXACT_WIDE_DIGITS];
    uint32_t pending; /* as in struct exact; 0 while nothing has been added */
};

/* A binary64 value as three signed digits, part[0] belonging to digit `position`. */
struct exact_parts {
    int64_t part[3];
    unsigned position;
};

EXACT_SHARED uint64_t exact_bits(double x)
{
#ifdef __CUDA_ARCH__
    return (uint64_t)__double_as_longlong(x);
#else
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

EXACT_SHARED double exact_from_bits(uint64_t bits)
{
#ifdef __CUDA_ARCH__
    return __longlong_as_double((long long)bits);
#else
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

/* Splits x 2^(bit - 1074), or its negative: the sum of part[i] 2^(32 (position + i) - 1074),
   |part[i]| < 2^32. bit is below 32 (EXACT_DIGITS - 2), so part[2] stays inside the accumulator. */
EXACT_SHARED struct exact_parts exact_split_integer(uint64_t x, unsigned bit, int negative)
{
    struct exact_parts parts;
    unsigned shift = bit % EXACT_DIGIT_BITS;
    int64_t sign = -(int64_t)(negative != 0);
    int64_t low = (int64_t)((x << shift) & 0xffffffffu);
    int64_t middle = (int64_t)((x >> (32 - shift)) & 0xffffffffu);
    int64_t high = (int64_t)((x >> 32) >> (32 - shift));

    parts.position = bit / EXACT_DIGIT_BITS;
    parts.part[0] = (low ^ sign) - sign;
    parts.part[1] = (middle ^ sign) - sign;
    parts.part[2] = (high ^ sign) - sign;
    return parts;
}

/* Splits a finite x as exact_split_integer does an integer. position is at most 63. */
EXACT_SHARED struct exact_parts exact_split(double x)
{
    uint64_t bits = exact_bits(x);
    unsigned exponent = (unsigned)(bits >> 52) & 0x7ff;
    uint64_t fraction = bits & 0xfffffffffffffu;
    /* A subnormal has no hidden bit and the weight of exponent 1. */
    uint64_t mantissa = fraction | (uint64_t)(exponent != 0) << 52;

    return exact_split_integer(mantissa, exponent - (exponent != 0), (int)(bits >> 63));
}

/* Knuth's two-sum: returns the rounded a + b and sets *error to exactly what rounding lost, as
   long as nothing overflows (D. E. Knuth, The Art of Computer Programming, vol. 2, 4.2.2). */
EXACT_SHARED double exact_two_sum(double a, double b, double *error)
{
    double sum = a + b;
    double b_seen = sum - a;
    double a_seen = sum - b_seen;
    *error = (a - a_seen) + (b - b_seen);
    return sum;
}

/* The key of a value: an integer that orders values as IEEE 754-2019 minimum and maximum do, -0
   before +0. x is no NaN. The inverse is exact_key_value. */
EXACT_SHARED int64_t exact_key(double x)
{
    int64_t bits = (int64_t)exact_bits(x);
    /* cppcheck-suppress shiftTooManyBitsSigned ; all compilers for this shift signs in */
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

EXACT_SHARED double exact_key_value(int64_t key)
{
    /* cppcheck-suppress shiftTooManyBitsSigned ; as above */
    return exact_from_bits((uint64_t)(key ^ (int64_t)((uint64_t)(key >> 63) >> 1)));
}

/* Whether every partial sum of at most 2^count_log2 values is exact in binary64: the values have
   `mantissa` significant bits (hidden one included) and unbiased or biased exponents, of one
   bias, from emin to emax. Such a sum is a multiple of 2^(emin - mantissa + 1) and below
   2^(emax + 1 + count_log2). */
EXACT_SHARED int exact_group_fits(int emin, int emax, int mantissa, int count_log2)
{
    return emax - emin + mantissa + count_log2 <= 53;
}

/* One step of carrying, for digits that may change place in parallel: what digit i keeps, and
   what it hands to digit i + 1. */
EXACT_SHARED int64_t exact_keep(int64_t digit)
{
    return digit & 0xffffffff;
}

EXACT_SHARED int64_t exact_carry_out(int64_t digit)
{
    return digit >> EXACT_DIGIT_BITS;
}

/* An integer of up to 128 bits and a sign; zero has none. */
struct integer {
    uint64_t high, low; /* of its magnitude */
    bool negative;
    bool known; /* false where there is no such number: then all else is 0 */
};

/* The bit of an accumulator that weighs 1. */
#define EXACT_ONE_BIT ((unsigned)-EXACT_LSB_EXPONENT)

/* Host side, exact.c. */

/* Makes *e zero. */
void exact_clear(struct exact *e);

/* Adds a finite x. */
void exact_add(struct exact *e, double x);

/* Adds n finite values. */
void exact_add_all(struct exact *e, const double *x, size_t n);

/* Adds x 2^(bit - 1074), or takes it away. bit is below 32 (EXACT_DIGITS - 2). */
void exact_add_integer(struct exact *e, uint64_t x, unsigned bit, int negative);

/* Multiplies by a factor. */
void exact_multiply(struct exact *e, uint64_t factor);

/* Adds all that `other` holds; `other` stays as it is. */
void exact_merge(struct exact *e, const struct exact *other);

/* Carries until every digit but the topmost is in [0, 2^32). The value does not change. */
void exact_carry(struct exact *e);

/* The value rounded once to binary64, to nearest, ties to even. Beyond the range: an infinity.
   An exact zero: +0. */
double exact_round(const struct exact *e);

/* The value divided by count > 0, the quotient rounded once. Finite wherever the quotient is,
   even where exact_round gives an infinity. */
double exact_divide(const struct exact *e, uint64_t count);

/* The value as an integer. Not known where it is none, or is 2^128 or more. */
struct integer exact_integer(const struct exact *e);

/* |e|, carried, in digits of 32 bits. Returns whether e is negative. */
bool exact_magnitude(const struct exact *e, uint32_t digit[EXACT_DIGITS]);

/* Makes *e the number of this magnitude and sign: the inverse of exact_magnitude. */
void exact_set(struct exact *e, const uint32_t digit[EXACT_DIGITS], bool negative);

/* The wide accumulator. */

/* Makes *e zero. */
void exact_wide_clear(struct exact_wide *e);

/* Adds x 2^(bit - 2148), or takes it away. bit is below 32 (EXACT_WIDE_DIGITS - 2). */
void exact_wide_add_integer(struct exact_wide *e, uint64_t x, unsigned bit, int negative);

/* Adds a finite x. */
void exact_wide_add(struct exact_wide *e, double x);

/* Adds the squares of n finite values, n at most EXACT_PENDING_MAX / 2. */
void exact_wide_add_squares(struct exact_wide *e, const double *x, size_t n);

/* Adds x y 2^(bit - 2148), or takes it away. bit is below 32 (EXACT_WIDE_DIGITS - 5). */
void exact_wide_add_product(struct exact_wide *e, uint64_t x, uint64_t y, unsigned bit,
                            int negative);

/* Adds the products x[i] y[i] of n finite values; those where one is not finite are left out. */
void exact_wide_add_products(struct exact_wide *e, const double *x, const double *y, size_t n);

/* Adds what a narrow accumulator holds. */
void exact_wide_add_exact(struct exact_wide *e, const struct exact *other);

/* Adds all that `other` holds. */
void exact_wide_merge(struct exact_wide *e, const struct exact_wide *other);

/* Multiplies what is not negative by a factor. */
void exact_wide_multiply(struct exact_wide *e, uint64_t factor);

/* Takes away twice what `other` holds. */
void exact_wide_subtract_twice(struct exact_wide *e, const struct exact_wide *other);

/* |e| in digits of 32 bits. Returns whether e is negative. */
bool exact_wide_magnitude(const struct exact_wide *e, uint32_t digit[EXACT_WIDE_DIGITS]);

/* Makes *e the number of these digits. */
void exact_wide_set(struct exact_wide *e, const uint32_t digit[EXACT_WIDE_DIGITS]);

#endif
