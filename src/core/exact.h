/*
 * Exact sums of binary64 values. An accumulator is a fixed-point number that is wide enough for any
 * sum of up to 2^64 values, so that a sum is rounded once, at the end, and the order of additions
 * does not matter.
 *
 * The number has EXACT_DIGITS digits of base 2^32, the least significant one first. Digit i has the
 * weight 2^(32 i - 1074): a 1 in digit 0 is the smallest subnormal, and every binary64 value is a
 * whole multiple of it. A digit is an int64_t, so many additions are possible before carries must
 * be propagated. This is Kulisch's accumulator with the deferred carries of the "small
 * superaccumulator" of R. M. Neal, "Fast exact summation using small and large superaccumulators"
 * (2015).
 *
 * The first part is shared with the GPU kernels and compiles as C11 and as CUDA C++. An accumulator
 * belongs to one thread. No function can fail.
 */
#ifndef GPUREDUCE_EXACT_H
#define GPUREDUCE_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/bits.h"
#include "core/digits.h"

/* 2^64 values below 2^1024 stay below 2^1088: 1074 + 1088 = 2162 bits and a sign, 68 digits; two
   more so that carrying never has to think about the end. */
#define EXACT_DIGITS 70
#define EXACT_DIGIT_BITS 32
#define EXACT_LSB_EXPONENT (-1074)

/* The most additions without propagating carries. Each changes a digit by less than 2^32, and a
   digit without pending carries is below 2^32, so 2^31 - 2 additions fit an int64_t. This is
   half of that, so that two accumulators can be merged without propagating carries first. */
#define EXACT_PENDING_MAX ((uint32_t)1 << 30)

/* An accumulator of binary64 values. */
struct exact {
    int64_t digit[EXACT_DIGITS];
    uint32_t pending; /* additions since the last carry, at most EXACT_PENDING_MAX */
};

/* Digits of an accumulator of squares and products of binary64 values, which are multiples of
   2^-2148; a sum of 2^64 of them is less than 2^2112. So it has 4260 bits and a sign: 134
   digits, and two more, so that the last digits never overflow. */
#define EXACT_WIDE_DIGITS 136
#define EXACT_WIDE_LSB_EXPONENT (2 * EXACT_LSB_EXPONENT)

/* An accumulator of squares and products. */
struct exact_wide {
    int64_t digit[EXACT_WIDE_DIGITS];
    uint32_t pending; /* additions since the last carry, at most EXACT_PENDING_MAX; 0 only if
                         nothing has been added */
};

/* A binary64 value as three signed digits of an accumulator, from digit `position` on. */
struct exact_parts {
    int64_t part[3];
    unsigned position;
};

/* The bits of the NaN that results are. */
#define EXACT_NAN UINT64_C(0x7ff8000000000000)

/* 2^exponent, which is a normal number. */
EXACT_SHARED double exact_power_of_two(int exponent)
{
    return exact_from_bits((uint64_t)(exponent + 1023) << 52);
}

/* Splits x 2^(bit - 1074), or its negative, into the digits of an accumulator: the value is the
   sum of part[i] 2^(32 (position + i) - 1074), with |part[i]| < 2^32. `bit` is less than 32
   (EXACT_DIGITS - 2), so that part[2] lies inside the accumulator. */
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

/* The upper 26 bits of x, rounded to nearest; the rest has no more. */
EXACT_SHARED double exact_upper_half(double x)
{
    return exact_from_bits((exact_bits(x) + (1u << 26)) & ~(uint64_t)((1u << 27) - 1));
}

/* Dekker's product: returns the rounded a b and sets *error to exactly what rounding lost, if
   factors are below 2^1000, and the product lies between 2^-900 and 2^1000 or is zero (T. J. Dekker,
   "A floating-point technique for extending the available precision", 1971). It does without fma,
   for which processors of x86-64 need a library. */
EXACT_SHARED double exact_two_product(double a, double b, double *error)
{
    const double product = a * b, a_high = exact_upper_half(a), b_high = exact_upper_half(b);
    const double a_low = a - a_high, b_low = b - b_high;

    *error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return product;
}

/* The key of a value: an integer that orders values as IEEE 754-2019 minimum and maximum do, -0
   before +0. x is no NaN. The inverse is exact_key_value. */
EXACT_SHARED int64_t exact_key(double x)
{
    int64_t bits = (int64_t)exact_bits(x);
    /* cppcheck-suppress shiftTooManyBitsSigned ; all compilers for this shift signs in */
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}

/* The value that has a key: the inverse of exact_key. */
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

/* The part of a digit that remains in it when carries are propagated by one place. */
EXACT_SHARED int64_t exact_keep(int64_t digit)
{
    return digit & 0xffffffff;
}

/* The carry of a digit, which is added to the next digit. */
EXACT_SHARED int64_t exact_carry_out(int64_t digit)
{
    return digit >> EXACT_DIGIT_BITS;
}

/* Digits put below the accumulator's before a division, and those that are divided below the first
   that is not 0, so that the quotient always has more bits than binary64 keeps: 128 bits less the
   64 of the largest divisor. */
#define EXACT_QUOTIENT_DIGITS 4

/* Carries the digits from number `low` up to before number `top`, or their negatives, into n, the
   others of which are 0. Returns whether they are less than 0: then these digits say nothing. */
EXACT_SHARED bool exact_carry_into(uint32_t *digit, int n, const int64_t *from, int low, int top,
                                   bool negate)
{
    int64_t carry = 0;
    int i;

    for (i = low; i < top; i++) {
        const int64_t sum = (negate ? -from[i] : from[i]) + carry;

        digit[i] = (uint32_t)exact_keep(sum);
        carry = exact_carry_out(sum);
    }
    for (; i < n && carry > 0; i++) {
        digit[i] = (uint32_t)exact_keep(carry);
        carry = exact_carry_out(carry);
    }
    return carry < 0;
}

/* The magnitude of n digits; most of them are 0, and are not looked at twice. Returns whether they
   are negative. */
EXACT_SHARED bool exact_magnitude_of(uint32_t *digit, const int64_t *from, int n)
{
    int low = 0, top = n;

    memset(digit, 0, (size_t)n * sizeof *digit);
    while (top > 0 && from[top - 1] == 0)
        top--;
    while (low < top && from[low] == 0)
        low++;
    if (!exact_carry_into(digit, n, from, low, top, false))
        return false;
    (void)exact_carry_into(digit, n, from, low, top, true);
    return true;
}

/* The quotient of n digits, the lowest EXACT_QUOTIENT_DIGITS of which are 0 and stand below those that
   begin with the weight 2^lsb_exponent. The digits are changed. */
EXACT_SHARED double exact_quotient_of(uint32_t *digit, int n, int lsb_exponent, uint64_t count,
                                      bool negative)
{
    bool sticky = false;
    int top = n, low = 0;

    while (top > EXACT_QUOTIENT_DIGITS && digit[top - 1] == 0)
        top--;
    if (top == EXACT_QUOTIENT_DIGITS)
        return 0;
    /* Digits further down only tell whether anything is left. */
    for (; low < top - EXACT_QUOTIENT_DIGITS - 1; low++)
        sticky = sticky || digit[low];
    sticky = digits_divide(digit + low, top - low, count) != 0 || sticky;
    return digits_round(digit + low, top - low, lsb_exponent - 32 * (EXACT_QUOTIENT_DIGITS - low),
                        sticky, negative);
}

/* The value of the digits of an accumulator divided by count > 0, rounded once to
   binary64. It is finite if the quotient is in range. */
EXACT_SHARED double exact_mean_of(const int64_t from[EXACT_DIGITS], uint64_t count)
{
    uint32_t digit[EXACT_QUOTIENT_DIGITS + EXACT_DIGITS] = {0};
    const bool negative = exact_magnitude_of(digit + EXACT_QUOTIENT_DIGITS, from, EXACT_DIGITS);

    return exact_quotient_of(digit, EXACT_QUOTIENT_DIGITS + EXACT_DIGITS, EXACT_LSB_EXPONENT, count,
                             negative);
}

/* An integer of up to 128 bits and a sign. */
struct integer {
    uint64_t high, low; /* the two halves of the magnitude */
    bool negative;      /* false for zero */
    bool known;         /* there is such an integer; if not, the other fields are 0 */
};

/* The number of the bit that has the weight 1. */
#define EXACT_ONE_BIT ((unsigned)-EXACT_LSB_EXPONENT)

/* Functions of the CPU, in exact.c. */

/* Carries n digits of base 2^32 until all but the last are in [0, 2^32). */
void exact_carry_digits(int64_t *digit, int n);

/* Makes *e zero. */
void exact_clear(struct exact *e);

/* Adds a finite x. */
void exact_add(struct exact *e, double x);

/* Adds n finite values. */
void exact_add_all(struct exact *e, const double *x, size_t n);

/* Adds x 2^(bit - 1074), or subtracts it if `negative`. `bit` is less than 32 (EXACT_DIGITS -
   2). */
void exact_add_integer(struct exact *e, uint64_t x, unsigned bit, int negative);

/* Multiplies the value by a factor. */
void exact_multiply(struct exact *e, uint64_t factor);

/* Adds the value of another accumulator. */
void exact_merge(struct exact *e, const struct exact *other);

/* Subtracts the value of another accumulator. */
void exact_subtract(struct exact *e, const struct exact *other);

/* Propagates carries, until every digit but the last is in [0, 2^32). The value does not change. */
void exact_carry(struct exact *e);

/* The value rounded once to binary64, to nearest, ties to even: an infinity if it is out of
   range, +0 if it is exactly zero. */
double exact_round(const struct exact *e);

/* The value divided by count > 0, rounded once to binary64. It is finite if the quotient is in
   range, even if exact_round returns an infinity. */
double exact_divide(const struct exact *e, uint64_t count);

/* The value as an integer. It is not `known` if the value has a fraction, or a magnitude of
   2^128 or more. */
struct integer exact_integer(const struct exact *e);

/* Writes the magnitude of the value in digits of 32 bits. Returns whether the value is negative. */
bool exact_magnitude(const struct exact *e, uint32_t digit[EXACT_DIGITS]);

/* Sets the value from its magnitude in digits of 32 bits and its sign: the inverse of
   exact_magnitude. */
void exact_set(struct exact *e, const uint32_t digit[EXACT_DIGITS], bool negative);

/* Functions of the wide accumulator, which has room for squares and products. */

/* Makes *e zero. */
void exact_wide_clear(struct exact_wide *e);

/* Adds x 2^(bit - 2148), or subtracts it if `negative`. `bit` is less than
   32 (EXACT_WIDE_DIGITS - 2). */
void exact_wide_add_integer(struct exact_wide *e, uint64_t x, unsigned bit, int negative);

/* Adds a finite x. */
void exact_wide_add(struct exact_wide *e, double x);

/* Adds the squares of n finite values; n is at most EXACT_PENDING_MAX / 2. */
void exact_wide_add_squares(struct exact_wide *e, const double *x, size_t n);

/* Adds x y 2^(bit - 2148), or subtracts it if `negative`. `bit` is less than
   32 (EXACT_WIDE_DIGITS - 5). */
void exact_wide_add_product(struct exact_wide *e, uint64_t x, uint64_t y, unsigned bit,
                            int negative);

/* Adds the products x[i] y[i] of n pairs; pairs with a value that is not finite are skipped. */
void exact_wide_add_products(struct exact_wide *e, const double *x, const double *y, size_t n);

/* Adds the value of a narrow accumulator. */
void exact_wide_add_exact(struct exact_wide *e, const struct exact *other);

/* Adds the value of another wide accumulator. */
void exact_wide_merge(struct exact_wide *e, const struct exact_wide *other);

/* Multiplies the value, which is not negative, by a factor. */
void exact_wide_multiply(struct exact_wide *e, uint64_t factor);

/* Subtracts the value of `other`. */
void exact_wide_subtract(struct exact_wide *e, const struct exact_wide *other);

/* Writes the magnitude of the value in digits of 32 bits. Returns whether it is negative. */
bool exact_wide_magnitude(const struct exact_wide *e, uint32_t digit[EXACT_WIDE_DIGITS]);

/* Whether the value is less than 0, 0 or more: -1, 0 or 1. */
int exact_wide_sign(const struct exact_wide *e);

/* The value divided by count > 0, rounded once to binary64, and the value as an integer, as of a
   narrow accumulator. */
double exact_wide_divide(const struct exact_wide *e, uint64_t count);
struct integer exact_wide_integer(const struct exact_wide *e);

/* Sets the value, which is not negative, from digits of 32 bits. */
void exact_wide_set(struct exact_wide *e, const uint32_t digit[EXACT_WIDE_DIGITS]);

#endif
