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

double exact_divide(const struct exact *e, uint64_t count)
{
    uint32_t digit[QUOTIENT_DIGITS + EXACT_DIGITS] = {0};
    bool negative = magnitude(e, digit + QUOTIENT_DIGITS);
    uint64_t remainder = 0;

    for (int i = QUOTIENT_DIGITS + EXACT_DIGITS - 1; i >= 0; i--) {
        unsigned __int128 value = (unsigned __int128)remainder << 32 | digit[i];
        digit[i] = (uint32_t)(value / count);
        remainder = (uint64_t)(value % count);
    }
    return round_digits(digit, QUOTIENT_DIGITS + EXACT_DIGITS,
                        EXACT_LSB_EXPONENT - 32 * QUOTIENT_DIGITS, remainder != 0, negative);
}
