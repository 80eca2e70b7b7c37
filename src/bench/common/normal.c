/*
 * The function x(p) is a table of polynomials of degree 5. From each power of two to the next, p
 * has 16 rows of equal width, so that its leading bits tell the row. The polynomials are Taylor's,
 * around the middle of the row: all derivatives of x(p) follow from x itself. The half width of a
 * row is at most 1/32 of p, which makes the error less than 1e-10. The smallest p is 2^-64, where x
 * is 9.08.
 */
#include "config.h"

#include "bench/common/normal.h"

#include <pthread.h>

#include "core/exact.h"

#define ROW_BITS 4
#define ROW_SHIFT (52 - ROW_BITS)
#define P_EXPONENT_MIN (1023 - 64)
#define P_EXPONENT_HALF (1023 - 1)
#define ROWS (((P_EXPONENT_HALF - P_EXPONENT_MIN) << ROW_BITS) + 1)

/* A row has the size of a cache line; its last two numbers are not used. */
static double rows[ROWS][8];

/* The middle of the row of p. */
static inline double row_middle(uint64_t p_bits)
{
    return exact_from_bits(p_bits >> ROW_SHIFT << ROW_SHIFT | UINT64_C(1) << (ROW_SHIFT - 1));
}

/* exp(-y) for y from 0 to 700. */
static double exp_of_minus(double y)
{
    /* ln 2 as a sum of two: the first has 32 bits, so that small multiples of it are exact. */
    const double ln2 = 0x1.62e42fefa39efp-1, ln2_upper = 0x1.62e42feep-1,
                 ln2_lower = 0x1.a39ef35793c76p-33;
    int n = (int)(y / ln2 + 0.5);
    double r = n * ln2_upper - y + n * ln2_lower; /* from -ln2/2 to ln2/2 */
    double sum = 1;

    /* The terms that are left out are below 2^-64. */
    for (int k = 16; k > 0; k--)
        sum = 1 + sum * r / k;
    return sum * exact_from_bits((uint64_t)(1023 - n) << 52);
}

static double normal_density(double x)
{
    const double inverse_root_two_pi = 0x1.9884533d43651p-2;

    return inverse_root_two_pi * exp_of_minus(x * x / 2);
}

/* The probability of a number above x, for x >= 0. */
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

    /* The last row is for p = 1/2 alone, where x is 0, as it is already. */
    for (size_t i = ROWS - 1; i-- > 0;) {
        double p = row_middle(((uint64_t)P_EXPONENT_MIN << 52) + ((uint64_t)i << ROW_SHIFT));
        double g, xx;

        /* Newton's method. It converges from the x of the row before, which is smaller. */
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
    uint64_t bits = exact_bits(p);
    const double *row = rows[(bits >> ROW_SHIFT) - ((uint64_t)P_EXPONENT_MIN << ROW_BITS)];
    double t = p - row_middle(bits), tt = t * t;
    double x = (row[0] + row[1] * t) + ((row[2] + row[3] * t) + (row[4] + row[5] * t) * tt) * tt;

    return exact_from_bits(exact_bits(x) ^ word << 63);
}

void normal_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_rows);
}

void normal_numbers(double *restrict x, const uint64_t *restrict words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = normal_of_word(words[i]);
}
