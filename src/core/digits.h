/*
 * Big integers that are worked out once, at the end of a reduction: digits of base 2^32, the least
 * significant first, and the one rounding to binary64 that a result has. Pure functions.
 *
 * `sticky` says that something that is not zero lies below the last digit: what a division or a
 * root has cut off. The comments say `value` for the digits, and that, times 2^lsb_exponent.
 */
#ifndef GPUREDUCE_DIGITS_H
#define GPUREDUCE_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bits.h"

/* The exponent of the least positive binary64. */
#define DIGITS_LEAST_EXPONENT (-1074)

/* magnitude 2^exponent, or its negative. */
struct term {
    uint64_t magnitude;
    int exponent;
    bool negative;
};

/* A finite number. A subnormal one has no hidden bit, and the weight of exponent 1. */
EXACT_SHARED struct term term_of(double x)
{
    const uint64_t bits = exact_bits(x);
    const unsigned field = (unsigned)(bits >> 52) & 0x7ff;
    struct term t = {(bits & 0xfffffffffffffu) | (uint64_t)(field != 0) << 52,
                     (int)(field - (field != 0)) + DIGITS_LEAST_EXPONENT, bits >> 63 != 0};

    return t;
}

/* A bit of n digits: 0 below and above them. */
EXACT_SHARED uint64_t digits_bit(const uint32_t *digit, int n, int bit)
{
    return bit < 0 || bit >= 32 * n ? 0 : digit[bit / 32] >> (bit % 32) & 1;
}

/* The place of the highest bit that is set; negative where there is none. */
EXACT_SHARED int digits_highest_bit(const uint32_t *digit, int n)
{
    int top = 32 * n - 1;

    while (top >= 0 && digit[top / 32] == 0)
        top -= 32;
    if (top < 0)
        return top;
#ifdef __CUDA_ARCH__
    return top - __clz((int)digit[top / 32]);
#else
    return top - __builtin_clz(digit[top / 32]);
#endif
}

/* The bits from `low` to `high`, 64 at most; what lies below the digits is 0. */
EXACT_SHARED uint64_t digits_between(const uint32_t *digit, int n, int low, int high)
{
    uint64_t bits = 0;

    for (int i = high / 32; i >= 0 && 32 * i + 31 >= low; i--) {
        const int at = 32 * i - low; /* where the digit's lowest bit goes */

        if (i < n)
            bits |= at >= 0 ? (uint64_t)digit[i] << at : (uint64_t)digit[i] >> -at;
    }
    return high - low < 63 ? bits & ((UINT64_C(1) << (high - low + 1)) - 1) : bits;
}

/* Whether any of the bits below `bit` is set. */
EXACT_SHARED bool digits_any_below(const uint32_t *digit, int bit)
{
    for (int i = 0; 32 * i < bit; i++)
        if (32 * i + 32 <= bit ? digit[i] : digit[i] & ((UINT32_C(1) << (bit % 32)) - 1))
            return true;
    return false;
}

/* The value rounded once to binary64, to nearest, ties to even; beyond the range an infinity, and
   +0 for an exact zero. lsb_exponent is at most -1074, unless there are 54 bits or more. */
EXACT_SHARED double digits_round(const uint32_t *digit, int n, int lsb_exponent, bool sticky,
                                 bool negative)
{
    int top = digits_highest_bit(digit, n);
    int lowest; /* the lowest bit that is kept */
    uint64_t mantissa = 0;

    if (top < 0 && !sticky)
        return 0.0;

    /* 53 bits, or those down to the weight of the smallest subnormal. */
    lowest = top - 52;
    if (lowest + lsb_exponent < DIGITS_LEAST_EXPONENT)
        lowest = DIGITS_LEAST_EXPONENT - lsb_exponent;
    if (lowest <= top)
        mantissa = digits_between(digit, n, lowest, top);

    if (lowest - 1 <= top && digits_bit(digit, n, lowest - 1) &&
        (sticky || (mantissa & 1) || digits_any_below(digit, lowest - 1)))
        mantissa++;

    /* The bits of a binary64 are its mantissa plus its exponent field times 2^52, so a mantissa
       that rounded up to 2^53, or a subnormal that rounded up to 2^52, carries by itself. */
    {
        const uint64_t infinity = (uint64_t)0x7ff << 52;
        const int exponent = lowest + lsb_exponent - DIGITS_LEAST_EXPONENT; /* field less one */
        const uint64_t bits = exponent < 0x7ff ? mantissa + ((uint64_t)exponent << 52) : infinity;

        return exact_from_bits((bits > infinity ? infinity : bits) | (uint64_t)negative << 63);
    }
}

/*
 * Division of an integer of n digits by divisor > 0, in place; the remainder is returned. 64 bits
 * are two digits, and need not be more: D. E. Knuth, The Art of Computer Programming, vol.
 * 2, 4.3.1.
 */

/* By one digit (exercise 16). */
EXACT_SHARED uint64_t digits_divide_by_one(uint32_t *digit, int n, uint32_t divisor)
{
    uint64_t remainder = 0;

    for (int i = n - 1; i >= 0; i--) {
        uint64_t value = remainder << 32 | digit[i];

        digit[i] = (uint32_t)(value / divisor);
        remainder = value % divisor;
    }
    return remainder;
}

/* One digit of the quotient, of three digits by two: *remainder, two of them, and `next`. The
   divisor has its highest bit set, and exceeds *remainder. */
EXACT_SHARED uint32_t digits_divide_step(uint64_t *remainder, uint32_t next, uint64_t divisor)
{
    const uint64_t high = divisor >> 32, low = divisor & UINT32_MAX;
    /* The quotient of the upper digits is the quotient, or up to 2 more. */
    uint64_t quotient = *remainder / high, rest = *remainder % high;

    while (quotient > UINT32_MAX || quotient * low > (rest << 32 | next)) {
        quotient--;
        rest += high;
        if (rest > UINT32_MAX)
            break;
    }
    /* It fits 64 bits; what overflows on the way cancels out. */
    *remainder = (*remainder << 32 | next) - quotient * divisor;
    return (uint32_t)quotient;
}

/* By two digits (algorithm D). */
EXACT_SHARED uint64_t digits_divide_by_two(uint32_t *digit, int n, uint64_t divisor)
{
    uint64_t remainder;
    int shift = 0;

    /* The dividend is shifted with the divisor, a digit at a time. */
    while (!(divisor >> 63)) {
        divisor <<= 1;
        shift++;
    }
    remainder = (uint64_t)digit[n - 1] << shift >> 32;
    for (int i = n - 1; i >= 0; i--) {
        uint64_t pair = (uint64_t)digit[i] << 32 | (i > 0 ? digit[i - 1] : 0);

        digit[i] = digits_divide_step(&remainder, (uint32_t)(pair << shift >> 32), divisor);
    }
    return remainder >> shift;
}

/* Divides n digits by divisor > 0, in place; returns the remainder. */
EXACT_SHARED uint64_t digits_divide(uint32_t *digit, int n, uint64_t divisor)
{
    return divisor <= UINT32_MAX ? digits_divide_by_one(digit, n, (uint32_t)divisor)
                                 : digits_divide_by_two(digit, n, divisor);
}

/* Functions of the CPU, in digits.c. */

/* How many of the lowest n digits there are without zeros at the top. */
int digits_length(const uint32_t *digit, int n);

/* Compares two numbers of n digits: below 0, 0 or above 0. */
int digits_compare(const uint32_t *x, const uint32_t *y, int n);

/* Writes n digits, times 2^bits, to others, which are 0, and one more than these take. */
void digits_shift(uint32_t *to, const uint32_t *digit, int n, unsigned bits);

/* product = x y; x and y have n digits, and the product 2 n. */
void digits_product(uint32_t *product, const uint32_t *x, const uint32_t *y, int n);

/* Multiplies n digits by a factor, in place. Higher digits of the product are lost. */
void digits_multiply(uint32_t *digit, int n, uint64_t factor);

/* Takes the square of m digits away from n, which is no less. */
void digits_subtract_square(uint32_t *digit, int n, const uint32_t *root, int m);

/* The square root of the value, rounded once as above. lsb_exponent is even and at most -2152, so
   that what is cut off with `sticky` lies below all bits that decide the rounding. */
double digits_square_root(const uint32_t *digit, int n, int lsb_exponent, bool sticky);

/* The most digits of a dividend or a divisor; a factor has half of them. */
#define DIGITS_QUOTIENT_MAX 532

/* dividend / divisor, or its square root, rounded to nearest, ties to even. Both have n digits; the
   divisor is not 0, and the result is less than 4. */
double digits_round_quotient(const uint32_t *dividend, const uint32_t *divisor, int n, bool root);

/* x y / sqrt(x x  y y), rounded once to binary64, to nearest, ties to even, where x y, or its
   negative, x x and y y are multiples of one number, in n digits of 32 bits. x x and y y are not
   zero, and x y is not more than their geometric mean, by the inequality of Cauchy and Schwarz. */
double digits_round_cosine(const uint32_t *xy, bool negative, const uint32_t *xx,
                           const uint32_t *yy, int n);

#endif
