#include "config.h"

#include "lib/oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_MPFR
#    include <gmp.h>
#    include <mpfr.h>
/* Before version 4 mpfr_sum took other arguments and 1 bit was too small a precision. */
#    if MPFR_VERSION_MAJOR >= 4
#        define WITH_MPFR 1
#    endif
#endif

bool oracle_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

/* Whether special values decide the result, which then goes to *result. */
static bool special(const double *x, size_t n, double *result)
{
    bool nan = false, positive = false, negative = false;

    for (size_t i = 0; i < n; i++) {
        nan |= isnan(x[i]) != 0;
        positive |= isinf(x[i]) && x[i] > 0;
        negative |= isinf(x[i]) && x[i] < 0;
    }
    if (nan || (positive && negative))
        *result = NAN;
    else if (positive)
        *result = INFINITY;
    else if (negative)
        *result = -INFINITY;
    else
        return false;
    return true;
}

/*
 * The schoolbook: a number in units of 2^-1074, in two's complement. Any sum of 2^64 values,
 * times 2^64, stays below 2^(1024 + 64 + 64 + 1074).
 */

#define UNIT_EXPONENT (-1074)
#define BITS 2304
#define WORDS (BITS / 64)

struct big {
    uint64_t word[WORDS]; /* the least significant first */
};

static void big_negate(struct big *b)
{
    bool carry = true;

    for (int i = 0; i < WORDS; i++) {
        b->word[i] = ~b->word[i] + carry;
        carry = carry && b->word[i] == 0;
    }
}

static bool big_negative(const struct big *b)
{
    return b->word[WORDS - 1] >> 63;
}

static bool big_bit(const struct big *b, int i)
{
    return b->word[i / 64] >> (i % 64) & 1;
}

/* Adds word * 2^(64 at), or takes it away. */
static void big_add_word(struct big *b, int at, uint64_t word, bool subtract)
{
    for (; word && at < WORDS; at++) {
        uint64_t old = b->word[at];

        b->word[at] = subtract ? old - word : old + word;
        word = subtract ? old < word : b->word[at] < old;
    }
}

static void big_add(struct big *b, double x)
{
    int exponent;
    double fraction = frexp(fabs(x), &exponent); /* in [1/2, 1), or 0 */
    uint64_t mantissa = (uint64_t)ldexp(fraction, 53);
    int position = exponent - 53 - UNIT_EXPONENT;

    /* Bits that a subnormal lacks are zeros at the end. */
    for (; position < 0; position++)
        mantissa /= 2;
    big_add_word(b, position / 64, mantissa << position % 64, signbit(x));
    if (position % 64)
        big_add_word(b, position / 64 + 1, mantissa >> (64 - position % 64), signbit(x));
}

/* |b| times a factor. */
static void big_multiply(struct big *b, uint64_t factor)
{
    struct big product = {{0}};

    for (int bit = 63; bit >= 0; bit--) {
        bool carry = false;

        for (int i = 0; i < WORDS; i++) {
            uint64_t word = product.word[i];
            product.word[i] = word << 1 | carry;
            carry = word >> 63;
        }
        if (factor >> bit & 1)
            for (int i = 0; i < WORDS; i++)
                big_add_word(&product, i, b->word[i], false);
    }
    *b = product;
}

/* Divides |b| by the divisor, one bit after the other; returns the remainder. */
static uint64_t big_divide(struct big *b, uint64_t divisor)
{
    uint64_t remainder = 0;
    struct big quotient = {{0}};

    for (int i = BITS - 1; i >= 0; i--) {
        bool overflow = remainder >> 63;

        remainder = remainder << 1 | big_bit(b, i);
        if (overflow || remainder >= divisor) {
            remainder -= divisor;
            quotient.word[i / 64] |= (uint64_t)1 << i % 64;
        }
    }
    *b = quotient;
    return remainder;
}

/* Whether a remainder is below, at or above half of the divisor: -1, 0 or 1. */
static int against_half(uint64_t remainder, uint64_t divisor)
{
    uint64_t rest = divisor - remainder;
    return remainder < rest ? -1 : remainder > rest;
}

double oracle_schoolbook(const double *x, size_t n, uint64_t times, uint64_t divisor)
{
    struct big b = {{0}};
    double result;
    bool negative;
    uint64_t remainder = 0, mantissa = 0;
    int top, last, half;

    if (special(x, n, &result))
        return result;
    for (size_t i = 0; i < n; i++)
        big_add(&b, x[i]);
    negative = big_negative(&b);
    if (negative)
        big_negate(&b);
    if (times != 1)
        big_multiply(&b, times);
    if (divisor != 1)
        remainder = big_divide(&b, divisor);

    for (top = BITS - 1; top >= 0 && !big_bit(&b, top);)
        top--;
    if (top < 0 && remainder == 0)
        return 0;
    /* The last bit that binary64 keeps is the 53rd from the top, and never below the unit. */
    last = top < 53 ? 0 : top - 52;
    for (int i = top; i >= last; i--)
        mantissa = 2 * mantissa + big_bit(&b, i);
    if (last == 0) {
        half = against_half(remainder, divisor);
    } else {
        bool below = remainder != 0;

        for (int i = last - 2; i >= 0; i--)
            below |= big_bit(&b, i);
        half = !big_bit(&b, last - 1) ? -1 : below;
    }
    if (half > 0 || (half == 0 && mantissa % 2))
        mantissa++;
    /* At most 2^53, so that the product is exact, or beyond the range and an infinity. */
    result = ldexp((double)mantissa, last + UNIT_EXPONENT);
    return negative ? -result : result;
}

#ifdef WITH_MPFR

/* Enough for any sum of 2^64 values, times 2^64, without rounding. */
#    define EXACT_PRECISION 2304

bool oracle_has_mpfr(void)
{
    return true;
}

/* MPFR's functions of integers take unsigned long, which may have 32 bits. */
static void set_integer(mpz_t number, uint64_t x)
{
    mpz_import(number, 1, 1, sizeof x, 0, 0, &x);
}

/* Rounds a / divisor to binary64. GMP divides the integers: with limbs of 32 bits, mpfr_div of MPFR
   4.2.0 rounds some ties the wrong way. MPFR knows no subnormals by itself: the precision is as
   many bits as binary64 has at that place. */
static double divide(mpfr_t a, uint64_t divisor)
{
    enum { MORE = 128 }; /* more bits than the divisor has: the quotient has enough */
    int sign = mpfr_sgn(a);
    mpz_t quotient, remainder, by;
    mpfr_exp_t exponent, bits;
    double result = 0;

    if (sign == 0)
        return 0;
    mpz_inits(quotient, remainder, by, (mpz_ptr)0);
    set_integer(by, divisor);
    exponent = mpfr_get_z_2exp(quotient, a) - MORE - 1;
    mpz_abs(quotient, quotient);
    mpz_mul_2exp(quotient, quotient, MORE);
    mpz_tdiv_qr(quotient, remainder, quotient, by);
    /* The last bit says whether anything follows. */
    mpz_mul_2exp(quotient, quotient, 1);
    if (mpz_sgn(remainder) != 0)
        mpz_setbit(quotient, 0);
    bits = (mpfr_exp_t)mpz_sizeinbase(quotient, 2) + exponent + 1074;
    if (bits >= 1) {
        mpfr_t rounded;

        mpfr_init2(rounded, bits < 53 ? bits : 53);
        mpfr_set_z_2exp(rounded, quotient, exponent, MPFR_RNDN);
        result = mpfr_get_d(rounded, MPFR_RNDN);
        mpfr_clear(rounded);
    } else if (bits == 0 && mpz_popcount(quotient) > 1) {
        /* Below the smallest subnormal: only what lies above its half becomes it. */
        result = ldexp(1, -1074);
    }
    mpz_clears(quotient, remainder, by, (mpz_ptr)0);
    return sign < 0 ? -result : result;
}

/* Terms of a sum. Their significands stand here, in MPFR's "custom interface": made by mpfr_init2
   and mpfr_set_d, terms would take longer than adding them does. */
enum { LIMBS = 64 / GMP_NUMB_BITS };
static struct {
    mpfr_t *term;
    mpfr_ptr *pointer;
    mp_limb_t (*significand)[LIMBS];
    size_t size;
} terms;

static void make_terms(size_t n)
{
    if (n <= terms.size)
        return;
    terms.size = n < 4096 ? 4096 : n;
    free(terms.term);
    free(terms.pointer);
    free(terms.significand);
    terms.term = malloc(terms.size * sizeof *terms.term);
    terms.pointer = malloc(terms.size * sizeof *terms.pointer);
    terms.significand = malloc(terms.size * sizeof *terms.significand);
    if (!terms.term || !terms.pointer || !terms.significand)
        abort();
    for (size_t i = 0; i < terms.size; i++)
        terms.pointer[i] = terms.term[i];
}

/* A term is 0.significand 2^exponent, the first bit of the significand, that of its last limb, 1.
 */
static void set_term(size_t i, double x)
{
    int exponent, kind = x == 0 ? MPFR_ZERO_KIND : MPFR_REGULAR_KIND;
    uint64_t significand = (uint64_t)(frexp(fabs(x), &exponent) * 0x1p53) << 11;

    for (int limb = 0; limb < LIMBS; limb++)
        terms.significand[i][limb] = (mp_limb_t)(significand >> (limb * GMP_NUMB_BITS));
    mpfr_custom_init_set(terms.term[i], signbit(x) ? -kind : kind, exponent, 53,
                         terms.significand[i]);
}

double oracle_mpfr(const double *x, size_t n, uint64_t times, uint64_t divisor)
{
    mpfr_t total;
    bool scaled = times != 1 || divisor != 1;
    double result;
    int inexact;

    if (special(x, n, &result))
        return result;
    make_terms(n);
    for (size_t i = 0; i < n; i++)
        set_term(i, x[i]);
    /* A sum is a multiple of the smallest subnormal, so 53 bits are right there as well. */
    mpfr_init2(total, scaled ? EXACT_PRECISION : 53);
    inexact = mpfr_sum(total, terms.pointer, n, MPFR_RNDN);
    if (scaled) {
        mpz_t factor;

        mpz_init(factor);
        set_integer(factor, times);
        inexact |= mpfr_mul_z(total, total, factor, MPFR_RNDN);
        mpz_clear(factor);
        if (inexact)
            abort();
        result = divide(total, divisor);
    } else {
        /* MPFR returns -0 if all terms are -0. */
        result = mpfr_zero_p(total) ? 0 : mpfr_get_d(total, MPFR_RNDN);
    }
    mpfr_clear(total);
    return result;
}

const char *oracle_backend(void)
{
    static char text[64];

    snprintf(text, sizeof text, "MPFR %s", mpfr_get_version());
    return text;
}

#else

bool oracle_has_mpfr(void)
{
    return false;
}

double oracle_mpfr(const double *x, size_t n, uint64_t times, uint64_t divisor)
{
    (void)x;
    (void)n;
    (void)times;
    (void)divisor;
    return NAN;
}

const char *oracle_backend(void)
{
    return "schoolbook";
}

#endif

double oracle_scaled(const double *x, size_t n, uint64_t times, uint64_t divisor)
{
    return oracle_has_mpfr() ? oracle_mpfr(x, n, times, divisor)
                             : oracle_schoolbook(x, n, times, divisor);
}

double oracle_sum(const double *x, size_t n)
{
    return oracle_scaled(x, n, 1, 1);
}

double oracle_mean(const double *x, size_t n)
{
    return n ? oracle_scaled(x, n, 1, n) : (double)NAN;
}
