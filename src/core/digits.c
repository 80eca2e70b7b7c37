#include "config.h"

#include "core/digits.h"

#include <math.h>
#include <string.h>

int digits_length(const uint32_t *digit, int n)
{
    while (n > 0 && digit[n - 1] == 0)
        n--;
    return n;
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
    int top = digits_highest_bit(digit, n), last;
    uint64_t root = 0, rest = 0, upper, lower;
    uint32_t result[2];

    if (top < 0)
        return 0;
    last = (top / 2 - ROOT_BITS + 1) * 2;
    /* The number's bits from the highest on, 64 and the rest, each with the next ones on top. */
    upper = digits_between(digit, n, last + LOWER_BITS, last + LOWER_BITS + 63);
    lower = last + LOWER_BITS > 0 ? digits_between(digit, n, last, last + LOWER_BITS - 1) : 0;
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
    sticky = sticky || rest != 0 || digits_any_below(digit, last);
    result[0] = (uint32_t)root;
    result[1] = (uint32_t)(root >> 32);
    return digits_round(result, 2, (lsb_exponent + last) / 2, sticky, false);
}

/*
 * Quotients.
 */

/* Digits that a number gets when it is shifted by as much as the square of half the least binary64
   has below the point, or is multiplied by the square of a 54-bit integer. */
#define MORE_DIGITS ((2 * (1 - DIGITS_LEAST_EXPONENT) + 31) / 32 + 1)
#define ROOM (DIGITS_QUOTIENT_MAX + MORE_DIGITS)

int digits_compare(const uint32_t *x, const uint32_t *y, int n)
{
    for (int i = n - 1; i >= 0; i--)
        if (x[i] != y[i])
            return x[i] > y[i] ? 1 : -1;
    return 0;
}

void digits_shift(uint32_t *to, const uint32_t *digit, int n, unsigned bits)
{
    to += bits / 32;
    for (int i = 0; i < n; i++) {
        const uint64_t shifted = (uint64_t)digit[i] << bits % 32;

        to[i] |= (uint32_t)shifted;
        to[i + 1] = (uint32_t)(shifted >> 32);
    }
}

void digits_product(uint32_t *product, const uint32_t *x, const uint32_t *y, int n)
{
    const int x_length = digits_length(x, n), y_length = digits_length(y, n);

    memset(product, 0, 2 * (size_t)n * sizeof *product);
    for (int i = 0; i < x_length; i++) {
        uint64_t carry = 0;

        if (x[i] == 0)
            continue;
        for (int j = 0; j < y_length; j++) {
            carry += (uint64_t)x[i] * y[j] + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product[i + y_length] = (uint32_t)carry;
    }
}

/* The value of the digits as a fraction from 1/2 to 1, to 53 bits or so, and a power of two. */
static double leading(const uint32_t *digit, int n, int *exponent)
{
    double x = 0;

    n = digits_length(digit, n);
    for (int i = n - 1; i >= 0 && i >= n - 3; i--)
        x = x * 0x1p32 + digit[i];
    x = frexp(x, exponent);
    *exponent += 32 * (n > 3 ? n - 3 : 0);
    return x;
}

/* The result to within a few roundings. */
static double estimate(const uint32_t *dividend, const uint32_t *divisor, int n, bool root)
{
    int above, below, exponent;
    double quotient = leading(dividend, n, &above);

    quotient /= leading(divisor, n, &below);
    exponent = above - below;
    if (!root)
        return ldexp(quotient, exponent);
    return ldexp(sqrt(exponent % 2 ? 2 * quotient : quotient),
                 (exponent - (exponent % 2 != 0)) / 2);
}

/* How dividend / divisor compares with what lies in the middle between c >= 0 and the next binary64,
   or with the square of that: below 0, 0 or above 0. */
static int compare_with_middle(const uint32_t *dividend, const uint32_t *divisor, int n, bool root,
                               double c)
{
    uint32_t left[ROOM] = {0}, right[ROOM] = {0};
    const int room = n + MORE_DIGITS;
    const struct term t = term_of(c);
    const uint64_t middle = 2 * t.magnitude + 1; /* at most 54 bits */
    /* The middle is this times 2^-shift: c is a multiple of 2^(1 - shift). */
    const unsigned shift = (unsigned)(1 - t.exponent);

    digits_shift(left, dividend, n, root ? 2 * shift : shift);
    memcpy(right, divisor, (size_t)n * sizeof *right);
    digits_multiply(right, room, middle);
    if (root)
        digits_multiply(right, room, middle);
    return digits_compare(left, right, room);
}

static bool is_odd(double c)
{
    return exact_bits(c) & 1;
}

double digits_round_quotient(const uint32_t *dividend, const uint32_t *divisor, int n, bool root)
{
    const int length = digits_length(dividend, n);
    double c;

    if (length == 0)
        return 0;
    n = digits_length(divisor, n);
    n = length > n ? length : n;
    c = estimate(dividend, divisor, n, root);
    /* The bits of doubles from 0 on are in their order: neighbours are one apart. The result is
       what lies between the middles on both sides, and at a middle what is even. */
    for (;;) {
        const int above = compare_with_middle(dividend, divisor, n, root, c);
        const double before = c > 0 ? exact_from_bits(exact_bits(c) - 1) : 0;
        int below;

        if (above > 0 || (above == 0 && is_odd(c))) {
            c = exact_from_bits(exact_bits(c) + 1);
            continue;
        }
        below = c > 0 ? compare_with_middle(dividend, divisor, n, root, before) : 1;
        if (below > 0 || (below == 0 && !is_odd(c)))
            return c;
        c = before;
    }
}

double digits_round_cosine(const uint32_t *xy, bool negative, const uint32_t *xx,
                           const uint32_t *yy, int n)
{
    uint32_t dividend[DIGITS_QUOTIENT_MAX], divisor[DIGITS_QUOTIENT_MAX];
    double c;

    digits_product(dividend, xy, xy, n);
    digits_product(divisor, xx, yy, n);
    c = digits_round_quotient(dividend, divisor, 2 * n, true);
    return negative && c > 0 ? -c : c;
}
