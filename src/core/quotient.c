#include "config.h"

#include "core/quotient.h"

#include <math.h>
#include <string.h>

#include "core/digits.h"
#include "core/exact.h"

/* Digits that a number gets when it is shifted by as much as the square of half the least binary64
   has below the point, or is multiplied by the square of a 54-bit integer. */
#define MORE_DIGITS ((2 * (1 - EXACT_LSB_EXPONENT) + 31) / 32 + 1)
#define ROOM (QUOTIENT_DIGITS_MAX + MORE_DIGITS)

int quotient_length(const uint32_t *digit, int n)
{
    while (n > 0 && digit[n - 1] == 0)
        n--;
    return n;
}

void quotient_multiply(uint32_t *product, const uint32_t *x, const uint32_t *y, int n)
{
    const int x_length = quotient_length(x, n), y_length = quotient_length(y, n);

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

    n = quotient_length(digit, n);
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
    const uint64_t bits = exact_bits(c), field = bits >> 52;
    const uint64_t middle =
        2 * ((bits & 0xfffffffffffffu) | (uint64_t)(field != 0) << 52) + 1; /* at most 54 bits */
    /* The middle is this times 2^-shift: c is a multiple of 2^(1 - shift). */
    const unsigned shift = (unsigned)(1 - EXACT_LSB_EXPONENT - (int)field + (field != 0));
    const unsigned bit = root ? 2 * shift : shift;

    for (int i = n - 1; i >= 0; i--) {
        const uint64_t digit = (uint64_t)dividend[i] << bit % 32;

        left[i + (int)(bit / 32)] |= (uint32_t)digit;
        left[i + (int)(bit / 32) + 1] |= (uint32_t)(digit >> 32);
    }
    memcpy(right, divisor, (size_t)n * sizeof *right);
    digits_multiply(right, room, middle);
    if (root)
        digits_multiply(right, room, middle);
    for (int i = room - 1; i >= 0; i--)
        if (left[i] != right[i])
            return left[i] > right[i] ? 1 : -1;
    return 0;
}

static bool is_odd(double c)
{
    return exact_bits(c) & 1;
}

double quotient_round(const uint32_t *dividend, const uint32_t *divisor, int n, bool root)
{
    const int length = quotient_length(dividend, n);
    double c;

    if (length == 0)
        return 0;
    n = quotient_length(divisor, n);
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

double cosine_round(const uint32_t *xy, bool negative, const uint32_t *xx, const uint32_t *yy,
                    int n)
{
    uint32_t dividend[QUOTIENT_DIGITS_MAX], divisor[QUOTIENT_DIGITS_MAX];
    double c;

    quotient_multiply(dividend, xy, xy, n);
    quotient_multiply(divisor, xx, yy, n);
    c = quotient_round(dividend, divisor, 2 * n, true);
    return negative && c > 0 ? -c : c;
}
