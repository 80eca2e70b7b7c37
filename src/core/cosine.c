#include "config.h"

#include "core/cosine.h"

#include <math.h>
#include <string.h>

#include "core/digits.h"

/* A product of two accumulators; multiplied by the square of a 54-bit integer, or shifted by as
   much as the square of half the least binary64 has below the point. */
#define PRODUCT_DIGITS (2 * EXACT_WIDE_DIGITS)
#define SCALED_DIGITS (PRODUCT_DIGITS + (2 * (1 - EXACT_LSB_EXPONENT) + 31) / 32 + 1)

/* The number of digits without zeros at the top. */
static int length(const uint32_t *digit, int n)
{
    while (n > 0 && digit[n - 1] == 0)
        n--;
    return n;
}

/* product = x y. */
static void multiply(uint32_t product[PRODUCT_DIGITS], const uint32_t *x, const uint32_t *y)
{
    const int n = length(x, EXACT_WIDE_DIGITS), m = length(y, EXACT_WIDE_DIGITS);

    memset(product, 0, sizeof(uint32_t[PRODUCT_DIGITS]));
    for (int i = 0; i < n; i++) {
        uint64_t carry = 0;

        if (x[i] == 0)
            continue;
        for (int j = 0; j < m; j++) {
            carry += (uint64_t)x[i] * y[j] + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product[i + m] = (uint32_t)carry;
    }
}

/* The value of the digits as a fraction from 1/2 to 1, to 53 bits or so, and a power of two. */
static double leading(const uint32_t *digit, int *exponent)
{
    const int n = length(digit, EXACT_WIDE_DIGITS);
    double x = 0;

    for (int i = n - 1; i >= 0 && i >= n - 3; i--)
        x = x * 0x1p32 + digit[i];
    x = frexp(x, exponent);
    *exponent += 32 * (n > 3 ? n - 3 : 0);
    return x;
}

/* About the quotient: a few roundings off. */
static double estimate(const uint32_t *xy, const uint32_t *xx, const uint32_t *yy)
{
    int xy_exponent, xx_exponent, yy_exponent;
    const double product = leading(xy, &xy_exponent);
    const double squares = leading(xx, &xx_exponent) * leading(yy, &yy_exponent);
    const int exponent = xx_exponent + yy_exponent;
    const double c = ldexp(product / sqrt(exponent % 2 ? 2 * squares : squares),
                           xy_exponent - (exponent - (exponent % 2 != 0)) / 2);

    return c < 1 ? c : 1;
}

/* How xy^2 / (xx yy), which is dividend / divisor, compares with the square of what lies in the
   middle between c, from 0 to 1, and the next binary64: below 0, 0 or above 0. */
static int compare_with_middle(const uint32_t *dividend, const uint32_t *divisor, double c)
{
    uint32_t left[SCALED_DIGITS] = {0}, right[SCALED_DIGITS] = {0};
    const uint64_t bits = exact_bits(c), field = bits >> 52;
    const uint64_t middle =
        2 * ((bits & 0xfffffffffffffu) | (uint64_t)(field != 0) << 52) + 1; /* at most 54 bits */
    /* The middle is this times 2^-shift: c is a multiple of 2^(1 - shift). */
    const unsigned shift = (unsigned)(1 - EXACT_LSB_EXPONENT - (int)field + (field != 0));
    const unsigned bit = 2 * shift;

    for (int i = PRODUCT_DIGITS - 1; i >= 0; i--) {
        const uint64_t digit = (uint64_t)dividend[i] << bit % 32;

        left[i + (int)(bit / 32)] |= (uint32_t)digit;
        left[i + (int)(bit / 32) + 1] |= (uint32_t)(digit >> 32);
    }
    memcpy(right, divisor, sizeof(uint32_t[PRODUCT_DIGITS]));
    digits_multiply(right, SCALED_DIGITS, middle);
    digits_multiply(right, SCALED_DIGITS, middle);
    for (int i = SCALED_DIGITS - 1; i >= 0; i--)
        if (left[i] != right[i])
            return left[i] > right[i] ? 1 : -1;
    return 0;
}

static bool is_odd(double c)
{
    return exact_bits(c) & 1;
}

double cosine_round(const uint32_t xy[EXACT_WIDE_DIGITS], bool negative,
                    const uint32_t xx[EXACT_WIDE_DIGITS], const uint32_t yy[EXACT_WIDE_DIGITS])
{
    uint32_t dividend[PRODUCT_DIGITS], divisor[PRODUCT_DIGITS];
    double c;

    if (length(xy, EXACT_WIDE_DIGITS) == 0)
        return 0;
    c = estimate(xy, xx, yy);
    multiply(dividend, xy, xy);
    multiply(divisor, xx, yy);
    /* The bits of doubles from 0 on are in their order: neighbours are one apart. The result is
       what lies between the middles on both sides, and at a middle what is even. */
    for (;;) {
        const int above = compare_with_middle(dividend, divisor, c);
        const double before = c > 0 ? exact_from_bits(exact_bits(c) - 1) : 0;
        int below;

        if (above > 0 || (above == 0 && is_odd(c))) {
            c = exact_from_bits(exact_bits(c) + 1);
            continue;
        }
        below = c > 0 ? compare_with_middle(dividend, divisor, before) : 1;
        if (below > 0 || (below == 0 && !is_odd(c)))
            return negative ? -c : c;
        c = before;
    }
}
