#include "config.h"

#include "core/exact.h"

void exact_clear(struct exact *e)
{
    memset(e, 0, sizeof *e);
}

void exact_carry_digits(int64_t *digit, int n)
{
    int64_t carry = 0;

    for (int i = 0; i < n - 1; i++) {
        const int64_t sum = digit[i] + carry;

        digit[i] = exact_keep(sum);
        carry = exact_carry_out(sum);
    }
    digit[n - 1] += carry;
}

void exact_carry(struct exact *e)
{
    exact_carry_digits(e->digit, EXACT_DIGITS);
    e->pending = 1;
}

/* Adds x to n digits, from bit number `bit` on. */
static inline void add_bits(int64_t *digit, int n, uint32_t *pending, uint64_t x, unsigned bit,
                            int negative)
{
    const struct exact_parts parts = exact_split_integer(x, bit, negative);
    int64_t *const to = digit + parts.position;

    if (*pending >= EXACT_PENDING_MAX) {
        exact_carry_digits(digit, n);
        *pending = 1;
    }
    to[0] += parts.part[0];
    to[1] += parts.part[1];
    to[2] += parts.part[2];
    ++*pending;
}

void exact_add(struct exact *e, double x)
{
    const struct term t = term_of(x);

    exact_add_integer(e, t.magnitude, (unsigned)(t.exponent - EXACT_LSB_EXPONENT), t.negative);
}

void exact_add_all(struct exact *e, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        exact_add(e, x[i]);
}

void exact_add_integer(struct exact *e, uint64_t x, unsigned bit, int negative)
{
    add_bits(e->digit, EXACT_DIGITS, &e->pending, x, bit, negative);
}

void exact_merge(struct exact *e, const struct exact *other)
{
    /* Both are at most EXACT_PENDING_MAX, so the digits cannot overflow; the sum may be past the
       mark, so carry now. */
    for (int i = 0; i < EXACT_DIGITS; i++)
        e->digit[i] += other->digit[i];
    exact_carry(e);
}

void exact_subtract(struct exact *e, const struct exact *other)
{
    for (int i = 0; i < EXACT_DIGITS; i++)
        e->digit[i] -= other->digit[i];
    exact_carry(e);
}

bool exact_magnitude(const struct exact *e, uint32_t digit[EXACT_DIGITS])
{
    return exact_magnitude_of(digit, e->digit, EXACT_DIGITS);
}

void exact_set(struct exact *e, const uint32_t digit[EXACT_DIGITS], bool negative)
{
    for (int i = 0; i < EXACT_DIGITS; i++)
        e->digit[i] = negative ? -(int64_t)digit[i] : digit[i];
    e->pending = 1;
}

void exact_multiply(struct exact *e, uint64_t factor)
{
    uint32_t digit[EXACT_DIGITS];
    const bool negative = exact_magnitude(e, digit);

    digits_multiply(digit, EXACT_DIGITS, factor);
    exact_set(e, digit, negative);
}

double exact_round(const struct exact *e)
{
    uint32_t digit[EXACT_DIGITS];
    bool negative = exact_magnitude(e, digit);

    return digits_round(digit, EXACT_DIGITS, EXACT_LSB_EXPONENT, false, negative);
}

double exact_divide(const struct exact *e, uint64_t count)
{
    return exact_mean_of(e->digit, count);
}

/* The integer of n digits, in which bit number one_bit, no multiple of 32, weighs 1. */
static struct integer integer_of(const uint32_t *digit, int n, unsigned one_bit, bool negative)
{
    enum { DIGITS = 4 };
    const int one = (int)(one_bit / 32), shift = (int)(one_bit % 32);
    uint32_t others = digit[one] & ((UINT32_C(1) << shift) - 1), integer[DIGITS];

    for (int i = 0; i < one; i++)
        others |= digit[i];
    others |= digit[one + DIGITS] >> shift;
    for (int i = one + DIGITS + 1; i < n; i++)
        others |= digit[i];
    if (others)
        return (struct integer){0};
    for (int i = 0; i < DIGITS; i++)
        integer[i] = digit[one + i] >> shift | digit[one + i + 1] << (32 - shift);
    return (struct integer){.high = (uint64_t)integer[3] << 32 | integer[2],
                            .low = (uint64_t)integer[1] << 32 | integer[0],
                            .negative = negative,
                            .known = true};
}

struct integer exact_integer(const struct exact *e)
{
    uint32_t digit[EXACT_DIGITS];
    const bool negative = exact_magnitude(e, digit);

    return integer_of(digit, EXACT_DIGITS, EXACT_ONE_BIT, negative);
}

/*
 * The wide accumulator.
 */

void exact_wide_clear(struct exact_wide *e)
{
    memset(e, 0, sizeof *e);
}

static void wide_carry(struct exact_wide *e)
{
    exact_carry_digits(e->digit, EXACT_WIDE_DIGITS);
    e->pending = 1;
}

void exact_wide_add_integer(struct exact_wide *e, uint64_t x, unsigned bit, int negative)
{
    add_bits(e->digit, EXACT_WIDE_DIGITS, &e->pending, x, bit, negative);
}

void exact_wide_add(struct exact_wide *e, double x)
{
    const struct term t = term_of(x);

    exact_wide_add_integer(e, t.magnitude, (unsigned)(t.exponent - EXACT_WIDE_LSB_EXPONENT),
                           t.negative);
}

void exact_wide_add_squares(struct exact_wide *e, const double *x, size_t n)
{
    if (e->pending > EXACT_PENDING_MAX - n)
        wide_carry(e);
    e->pending += (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        const struct term t = term_of(x[i]);
        /* By halves of 32 and 21 bits: their products have 64, 53 and 42. */
        uint64_t low = t.magnitude & UINT32_MAX, high = t.magnitude >> 32, middle = low * high;
        uint64_t lower = low * low + (middle << 33);
        uint64_t upper = high * high + (middle >> 31) + (lower < middle << 33);
        unsigned bit = (unsigned)(2 * t.exponent - EXACT_WIDE_LSB_EXPONENT);
        unsigned shift = bit % EXACT_DIGIT_BITS;
        int64_t *digit = e->digit + bit / EXACT_DIGIT_BITS;

        digit[0] += (int64_t)(lower << shift & UINT32_MAX);
        digit[1] += (int64_t)(lower >> (32 - shift) & UINT32_MAX);
        digit[2] += (int64_t)((lower >> 32 >> (32 - shift)) | (upper << shift & UINT32_MAX));
        digit[3] += (int64_t)(upper >> (32 - shift) & UINT32_MAX);
        digit[4] += (int64_t)(upper >> 32 >> (32 - shift));
    }
}

void exact_wide_add_product(struct exact_wide *e, uint64_t x, uint64_t y, unsigned bit,
                            int negative)
{
    const struct product p = product_of(x, y);

    exact_wide_add_integer(e, p.low, bit, negative);
    exact_wide_add_integer(e, p.high, bit + 64, negative);
}

void exact_wide_add_products(struct exact_wide *e, const double *x, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t a = exact_bits(x[i]), b = exact_bits(y[i]);
        const unsigned a_field = a >> 52 & 0x7ff, b_field = b >> 52 & 0x7ff;

        if (a_field == 0x7ff || b_field == 0x7ff)
            continue;
        exact_wide_add_product(e, (a & 0xfffffffffffffu) | (uint64_t)(a_field != 0) << 52,
                               (b & 0xfffffffffffffu) | (uint64_t)(b_field != 0) << 52,
                               a_field - (a_field != 0) + b_field - (b_field != 0),
                               (int)((a ^ b) >> 63));
    }
}

void exact_wide_add_exact(struct exact_wide *e, const struct exact *other)
{
    const unsigned least = EXACT_LSB_EXPONENT - EXACT_WIDE_LSB_EXPONENT;
    uint32_t digit[EXACT_DIGITS];
    const bool negative = exact_magnitude(other, digit);

    for (unsigned i = 0; i < EXACT_DIGITS; i++)
        if (digit[i] != 0)
            exact_wide_add_integer(e, digit[i], least + EXACT_DIGIT_BITS * i, negative);
}

void exact_wide_merge(struct exact_wide *e, const struct exact_wide *other)
{
    if (other->pending == 0)
        return;
    for (int i = 0; i < EXACT_WIDE_DIGITS; i++)
        e->digit[i] += other->digit[i];
    wide_carry(e);
}

void exact_wide_set(struct exact_wide *e, const uint32_t digit[EXACT_WIDE_DIGITS])
{
    for (int i = 0; i < EXACT_WIDE_DIGITS; i++)
        e->digit[i] = digit[i];
    e->pending = 1;
}

void exact_wide_subtract(struct exact_wide *e, const struct exact_wide *other)
{
    for (int i = 0; i < EXACT_WIDE_DIGITS; i++)
        e->digit[i] -= other->digit[i];
    wide_carry(e);
}

bool exact_wide_magnitude(const struct exact_wide *e, uint32_t digit[EXACT_WIDE_DIGITS])
{
    return exact_magnitude_of(digit, e->digit, EXACT_WIDE_DIGITS);
}

int exact_wide_sign(const struct exact_wide *e)
{
    uint32_t digit[EXACT_WIDE_DIGITS];
    const bool negative = exact_wide_magnitude(e, digit);

    return digits_length(digit, EXACT_WIDE_DIGITS) == 0 ? 0 : negative ? -1 : 1;
}

double exact_wide_divide(const struct exact_wide *e, uint64_t count)
{
    uint32_t digit[EXACT_QUOTIENT_DIGITS + EXACT_WIDE_DIGITS] = {0};
    const bool negative = exact_wide_magnitude(e, digit + EXACT_QUOTIENT_DIGITS);

    return exact_quotient_of(digit, EXACT_QUOTIENT_DIGITS + EXACT_WIDE_DIGITS,
                             EXACT_WIDE_LSB_EXPONENT, count, negative);
}

struct integer exact_wide_integer(const struct exact_wide *e)
{
    uint32_t digit[EXACT_WIDE_DIGITS];
    const bool negative = exact_wide_magnitude(e, digit);

    return integer_of(digit, EXACT_WIDE_DIGITS, -EXACT_WIDE_LSB_EXPONENT, negative);
}

void exact_wide_multiply(struct exact_wide *e, uint64_t factor)
{
    uint32_t digit[EXACT_WIDE_DIGITS];

    (void)exact_wide_magnitude(e, digit);
    digits_multiply(digit, EXACT_WIDE_DIGITS, factor);
    exact_wide_set(e, digit);
}
