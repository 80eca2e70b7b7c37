#include "config.h"

#include "lib/natural.h"

#include <math.h>
#include <string.h>

void natural_add(struct natural *a, uint64_t x, unsigned shift)
{
    uint64_t piece[3] = {(x << shift % 32) & UINT32_MAX, (x >> (32 - shift % 32)) & UINT32_MAX,
                         x >> 32 >> (32 - shift % 32)};
    uint64_t carry = 0;
    unsigned at = shift / 32;

    for (unsigned i = 0; i < 3 || carry; i++) {
        carry += a->word[at + i] + (i < 3 ? piece[i] : 0);
        a->word[at + i] = (uint32_t)carry;
        carry >>= 32;
    }
}

void natural_multiply(struct natural *a, uint64_t x)
{
    struct natural product = {{0}};
    unsigned words = NATURAL_WORDS;

    while (words > 0 && a->word[words - 1] == 0)
        words--;
    for (unsigned i = 0; i < words; i++) {
        natural_add(&product, (uint64_t)a->word[i] * (uint32_t)x, 32 * i);
        if (x >> 32)
            natural_add(&product, (uint64_t)a->word[i] * (x >> 32), 32 * i + 32);
    }
    *a = product;
}

void natural_shift(struct natural *a, unsigned shift)
{
    struct natural shifted = {{0}};

    for (unsigned i = 0; i + shift / 32 < NATURAL_WORDS; i++)
        if (a->word[i])
            natural_add(&shifted, a->word[i], 32 * i + shift);
    *a = shifted;
}

int natural_compare(const struct natural *a, const struct natural *b)
{
    int i = NATURAL_WORDS - 1;

    while (i > 0 && a->word[i] == b->word[i])
        i--;
    return a->word[i] < b->word[i] ? -1 : a->word[i] > b->word[i];
}

struct natural natural_difference(const struct natural *a, const struct natural *b)
{
    struct natural rest = {.word = {0}};
    bool borrow = false;

    for (int i = 0; i < NATURAL_WORDS; i++) {
        uint64_t taken = (uint64_t)b->word[i] + borrow;

        borrow = a->word[i] < taken;
        rest.word[i] = (uint32_t)(a->word[i] - taken);
    }
    return rest;
}

struct natural natural_square(const struct natural *a)
{
    struct natural product = {{0}};

    for (unsigned i = 0; i < NATURAL_WORDS / 2; i++)
        for (unsigned j = 0; a->word[i] && j < NATURAL_WORDS / 2; j++)
            if (a->word[j])
                natural_add(&product, (uint64_t)a->word[i] * a->word[j], 32 * (i + j));
    return product;
}

uint64_t natural_take_apart(double x, unsigned *place)
{
    int exponent;
    uint64_t mantissa;

    *place = 0;
    if (!isfinite(x))
        return 0;
    mantissa = (uint64_t)ldexp(frexp(x, &exponent), 53);
    exponent += 1074 - 53;
    for (; exponent < 0; exponent++)
        mantissa /= 2;
    *place = (unsigned)exponent;
    return mantissa;
}

/*
 * Rounding. The exact value is numerator / (by[0] by[1]) 2^unit, or the root of that.
 */
struct exact_value {
    struct natural numerator;
    uint64_t by[2];
    int unit;
    bool root;
};

static double from_pattern(uint64_t pattern)
{
    double x;

    memcpy(&x, &pattern, sizeof x);
    return x;
}

/* How the value compares with what lies halfway between the numbers of two consecutive patterns,
   the greatest finite one being followed by 2^1024. */
static int against_halfway(const struct exact_value *value, uint64_t pattern)
{
    const unsigned field = (unsigned)(pattern >> 52);
    /* Twice the number and one more of its last bit, whose half weighs 2^(field - 1076). */
    const uint64_t odd = 2 * ((pattern & 0xfffffffffffff) | (uint64_t)(field > 0) << 52) + 1;
    const int exponent = (int)(field > 0 ? field : 1) - 1076;
    struct natural halfway = {{0}}, numerator = value->numerator;

    natural_add(&halfway, odd, 0);
    if (value->root)
        natural_multiply(&halfway, odd);
    natural_multiply(&halfway, value->by[0]);
    natural_multiply(&halfway, value->by[1]);
    /* In units of 2^(unit - 2): the least that the root's exponent comes to is -2150. */
    natural_shift(&halfway, (unsigned)((value->root ? 2 : 1) * exponent + 2 - value->unit));
    natural_shift(&numerator, 2);
    return natural_compare(&numerator, &halfway);
}

/* The least number that the value does not lie above the upper halfway mark of. */
static double nearest(const struct exact_value *value)
{
    const uint64_t infinity = UINT64_C(0x7ff) << 52;
    uint64_t low = 0, high = infinity;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int order = against_halfway(value, middle);

        if (order < 0 || (order == 0 && middle % 2 == 0))
            high = middle;
        else
            low = middle + 1;
    }
    return from_pattern(low);
}

double natural_quotient(const struct natural *numerator, uint64_t by, uint64_t by_too, int unit,
                        bool root)
{
    struct exact_value value = {*numerator, {by, by_too}, unit, root};

    return nearest(&value);
}
