#include "config.h"

#include "core/exact.h"

#include <stdbool.h>

/* Digits put below the accumulator's before a division, so that the quotient always has more
   bits than binary64 keeps: 96 bits less the 64 of the largest divisor. */
#define QUOTIENT_DIGITS 3

void exact_clear(struct exact *e)
{
    memset(e, 0, sizeof *e);
}

void exact_carry(struct exact *e)
{
    int64_t carry = 0;

    for (int i = 0; i < EXACT_DIGITS - 1; i++) {
        int64_t digit = e->digit[i] + carry;
        e->digit[i] = exact_keep(digit);
        carry = exact_carry_out(digit);
    }
    e->digit[EXACT_DIGITS - 1] += carry;
    e->pending = 1;
}

static void add_parts(struct exact *e, struct exact_parts parts)
{
    int64_t *digit = e->digit + parts.position;

    if (e->pending >= EXACT_PENDING_MAX)
        exact_carry(e);
    digit[0] += parts.part[0];
    digit[1] += parts.part[1];
    digit[2] += parts.part[2];
    e->pending++;
}

void exact_add(struct exact *e, double x)
{
    add_parts(e, exact_split(x));
}

void exact_add_integer(struct exact *e, uint64_t x, unsigned bit, int negative)
{
    add_parts(e, exact_split_integer(x, bit, negative));
}

void exact_merge(struct exact *e, const struct exact *other)
{
    /* Both are at most EXACT_PENDING_MAX, so the digits cannot overflow; the sum may be past the
       mark, so carry now. */
    for (int i = 0; i < EXACT_DIGITS; i++)
        e->digit[i] += other->digit[i];
    exact_carry(e);
}

/* |e|, carried, in 32-bit digits; returns whether e is negative. */
static bool magnitude(const struct exact *e, uint32_t digit[EXACT_DIGITS])
{
    struct exact carried = *e;
    bool negative;

    exact_carry(&carried);
    negative = carried.digit[EXACT_DIGITS - 1] < 0;
    if (negative) {
        for (int i = 0; i < EXACT_DIGITS; i++)
            carried.digit[i] = -carried.digit[i];
        exact_carry(&carried);
    }
    for (int i = 0; i < EXACT_DIGITS; i++)
        digit[i] = (uint32_t)carried.digit[i];
    return negative;
}

static unsigned bit_at(const uint32_t *digit, int bit)
{
    return bit < 0 ? 0 : digit[bit / 32] >> (bit % 32) & 1;
}

/* Rounds the integer of n digits, times 2^lsb_exponent, to binary64; `sticky` says that something
   non-zero lies below it. lsb_exponent is at most -1074. */
static double round_digits(const uint32_t *digit, int n, int lsb_exponent, bool sticky,
                           bool negative)
{
    int top = 32 * n - 1; /* the highest bit set */
    int lowest;           /* the lowest bit that is kept */
    uint64_t mantissa = 0;
    double value;

    while (top >= 0 && digit[top / 32] == 0)
        top -= 32;
    while (top >= 0 && !bit_at(digit, top))
        top--;
    if (top < 0 && !sticky)
        return 0.0;

    /* 53 bits, or those down to the weight of the smallest subnormal. */
    lowest = top - 52;
    if (lowest + lsb_exponent < EXACT_LSB_EXPONENT)
        lowest = EXACT_LSB_EXPONENT - lsb_exponent;
    for (int bit = top; bit >= lowest; bit--)
        mantissa = mantissa << 1 | bit_at(digit, bit);

    if (lowest - 1 <= top && bit_at(digit, lowest - 1)) {
        bool below = sticky;
        for (int bit = lowest - 2; bit >= 0 && !below; bit--)
            below = bit_at(digit, bit);
        if (below || (mantissa & 1))
            mantissa++;
    }

    /* The bits of a binary64 are its mantissa plus its exponent field times 2^52, so a mantissa
       that rounded up to 2^53, or a subnormal that rounded up to 2^52, carries by itself. */
    {
        int exponent = lowest + lsb_exponent - EXACT_LSB_EXPONENT; /* field less one */
        uint64_t bits = mantissa + ((uint64_t)exponent << 52);
        if (bits >= (uint64_t)0x7ff << 52)
            bits = (uint64_t)0x7ff << 52;
        value = exact_from_bits(bits);
    }
    return negative ? -value : value;
}

double exact_round(const struct exact *e)
{
    uint32_t digit[EXACT_DIGITS];
    bool negative = magnitude(e, digit);

    return round_digits(digit, EXACT_DIGITS, EXACT_LSB_EXPONENT, false, negative);
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
    /* What the upper digits give is the quotient, or up to 2 more. */
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

double exact_divide(const struct exact *e, uint64_t count)
{
    uint32_t digit[QUOTIENT_DIGITS + EXACT_DIGITS] = {0};
    bool negative = magnitude(e, digit + QUOTIENT_DIGITS);
    const int n = QUOTIENT_DIGITS + EXACT_DIGITS;
    uint64_t remainder = count <= UINT32_MAX ? divide_by_digit(digit, n, (uint32_t)count)
                                             : divide_by_two_digits(digit, n, count);

    return round_digits(digit, n, EXACT_LSB_EXPONENT - 32 * QUOTIENT_DIGITS, remainder != 0,
                        negative);
}

struct integer exact_integer(const struct exact *e)
{
    enum { ONE = EXACT_ONE_BIT / 32, SHIFT = EXACT_ONE_BIT % 32, DIGITS = 4 };
    uint32_t digit[EXACT_DIGITS], integer[DIGITS];
    bool negative = magnitude(e, digit);
    uint32_t others = digit[ONE] & ((UINT32_C(1) << SHIFT) - 1);

    for (int i = 0; i < ONE; i++)
        others |= digit[i];
    others |= digit[ONE + DIGITS] >> SHIFT;
    for (int i = ONE + DIGITS + 1; i < EXACT_DIGITS; i++)
        others |= digit[i];
    if (others)
        return (struct integer){0};
    for (int i = 0; i < DIGITS; i++)
        integer[i] = digit[ONE + i] >> SHIFT | digit[ONE + i + 1] << (32 - SHIFT);
    return (struct integer){.high = (uint64_t)integer[3] << 32 | integer[2],
                            .low = (uint64_t)integer[1] << 32 | integer[0],
                            .negative = negative,
                            .known = true};
}
