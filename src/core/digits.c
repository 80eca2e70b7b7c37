#include "config.h"

#include "core/digits.h"

#include <string.h>

/* The exponent of the least positive binary64. */
#define LEAST_EXPONENT (-1074)

/* A bit of n digits: 0 below and above them. */
static uint64_t bit_at(const uint32_t *digit, int n, int bit)
{
    return bit < 0 || bit >= 32 * n ? 0 : digit[bit / 32] >> (bit % 32) & 1;
}

/* The place of the highest bit that is set; negative where there is none. */
static int highest_bit(const uint32_t *digit, int n)
{
    int top = 32 * n - 1;

    while (top >= 0 && digit[top / 32] == 0)
        top -= 32;
    return top < 0 ? top : top - __builtin_clz(digit[top / 32]);
}

/* The bits from `low` to `high`, 64 at most; what lies below the digits is 0. */
static uint64_t bits_between(const uint32_t *digit, int n, int low, int high)
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
static bool any_below(const uint32_t *digit, int bit)
{
    for (int i = 0; 32 * i < bit; i++)
        if (32 * i + 32 <= bit ? digit[i] : digit[i] & ((UINT32_C(1) << (bit % 32)) - 1))
            return true;
    return false;
}

double digits_round(const uint32_t *digit, int n, int lsb_exponent, bool sticky, bool negative)
{
    int top = highest_bit(digit, n);
    int lowest; /* the lowest bit that is kept */
    uint64_t mantissa = 0;
    double value;

    if (top < 0 && !sticky)
        return 0.0;

    /* 53 bits, or those down to the weight of the smallest subnormal. */
    lowest = top - 52;
    if (lowest + lsb_exponent < LEAST_EXPONENT)
        lowest = LEAST_EXPONENT - lsb_exponent;
    if (lowest <= top)
        mantissa = bits_between(digit, n, lowest, top);

    if (lowest - 1 <= top && bit_at(digit, n, lowest - 1) &&
        (sticky || (mantissa & 1) || any_below(digit, lowest - 1)))
        mantissa++;

    /* The bits of a binary64 are its mantissa plus its exponent field times 2^52, so a mantissa
       that rounded up to 2^53, or a subnormal that rounded up to 2^52, carries by itself. */
    {
        const uint64_t infinity = (uint64_t)0x7ff << 52;
        const int exponent = lowest + lsb_exponent - LEAST_EXPONENT; /* field less one */
        uint64_t bits = exponent < 0x7ff ? mantissa + ((uint64_t)exponent << 52) : infinity;

        if (bits > infinity)
            bits = infinity;
        memcpy(&value, &bits, sizeof value);
    }
    return negative ? -value : value;
}

/*
 * Division of an integer of n digits by divisor > 0, in place; the remainder is returned. 64 bits
 * are two digits, and need not be more: D. E. Knuth, The Art of Computer Programming, vol.
 * 2, 4.3.1.
 */

/* By one digit (exercise 16). */
static uint64_t divide_by_digit(uint32_t *digit, int n, uint32_t divisor)
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
static uint32_t divide_step(uint64_t *remainder, uint32_t next, uint64_t divisor)
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
static uint64_t divide_by_two_digits(uint32_t *digit, int n, uint64_t divisor)
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

        digit[i] = divide_step(&remainder, (uint32_t)(pair << shift >> 32), divisor);
    }
    return remainder >> shift;
}

uint64_t digits_divide(uint32_t *digit, int n, uint64_t divisor)
{
    return divisor <= UINT32_MAX ? divide_by_digit(digit, n, (uint32_t)divisor)
                                 : divide_by_two_digits(digit, n, divisor);
}

void digits_multiply(uint32_t *digit, int n, uint64_t factor)
{
    const uint64_t low = factor & UINT32_MAX, high = factor >> 32;
    uint64_t carry = 0; /* below 2^64: what goes to the digits from i on, with `before` */
    uint32_t before = 0;
    int first = 0;

    while (first < n && digit[first] == 0)
        first++;
    for (int i = first; i < n; i++) {
        uint64_t here = digit[i] * low, there = before * high, sum;

        before = digit[i];
        /* Each product is below (2^32 - 1)^2, and half of the carry at most 2^32 + 1. */
        sum = (here & UINT32_MAX) + (there & UINT32_MAX) + (carry & UINT32_MAX);
        digit[i] = (uint32_t)sum;
        carry = (here >> 32) + (there >> 32) + (carry >> 32) + (sum >> 32);
    }
}

void digits_subtract_square(uint32_t *digit, int n, const uint32_t *root, int m)
{
    for (int i = 0; i < m; i++) {
        uint64_t carry = 0, borrow = 0;

        if (root[i] == 0)
            continue;
        for (int j = 0; i + j < n && (j < m || carry || borrow); j++) {
            uint64_t product = (j < m ? (uint64_t)root[i] * root[j] : 0) + carry;
            uint64_t rest = (uint64_t)digit[i + j] - (uint32_t)product - borrow;

            carry = product >> 32;
            digit[i + j] = (uint32_t)rest;
            borrow = rest >> 63;
        }
    }
}

/* Bits of a root that are worked out: more than the 53 that are kept, the one that decides, and few
   enough for a remainder of 64 bits. */
#define ROOT_BITS 60
#define LOWER_BITS (2 * ROOT_BITS - 64)

/* Two bits of the number for one of the root, as by hand. */
double digits_square_root(const uint32_t *digit, int n, int lsb_exponent, bool sticky)
{
    int top = highest_bit(digit, n), last;
    uint64_t root = 0, rest = 0, upper, lower;
    uint32_t result[2];

    if (top < 0)
        return 0;
    last = (top / 2 - ROOT_BITS + 1) * 2;
    /* The number's bits from the highest on, 64 and the rest, each with the next ones on top. */
    upper = bits_between(digit, n, last + LOWER_BITS, last + LOWER_BITS + 63);
    lower = last + LOWER_BITS > 0 ? bits_between(digit, n, last, last + LOWER_BITS - 1) : 0;
    lower <<= 64 - LOWER_BITS;
    for (int i = 0; i < ROOT_BITS; i++) {
        uint64_t taken = 4 * root + 1;

        rest = 4 * rest + (upper >> 62);
        upper = upper << 2 | lower >> 62;
        lower <<= 2;
        root = 2 * root + (rest >= taken);
        if (rest >= taken)
            rest -= taken;
    }
    sticky = sticky || rest != 0 || any_below(digit, last);
    result[0] = (uint32_t)root;
    result[1] = (uint32_t)(root >> 32);
    return digits_round(result, 2, (lsb_exponent + last) / 2, sticky, false);
}
