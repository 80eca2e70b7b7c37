#include "config.h"

#include "core/digits.h"

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
