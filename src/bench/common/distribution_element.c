#include "config.h"

#include "bench/common/distribution_element.h"

/* One of `count` numbers from 0 on, which are equally likely. */
static uint64_t choose(uint64_t choice, uint64_t count)
{
    return (choice >> 32) * count >> 32;
}

/* x rounded to a float of one byte, to nearest, ties to even; |x| is below the greatest number. */
static uint8_t float8_of_float(enum element_type type, float x)
{
    const struct element_format *format = &element_formats[type];
    const unsigned dropped = 24 - (unsigned)format->significant_bits;
    const uint32_t bits = distribution_bits(x), size = bits & 0x7fffffff;
    /* A number whose neighbours, as binary32, are as far apart as the type's least numbers. */
    const uint32_t apart = (uint32_t)(127 + 24 + format->exponent_min - format->significant_bits)
                           << 23;
    /* The bits of 1.0 2^exponent_min, with exponent field 1. */
    const uint32_t rebias = (uint32_t)(127 + format->exponent_min - 1) << 23;
    float magnitude, spaced;
    uint32_t rounded;

    memcpy(&magnitude, &size, sizeof magnitude);
    memcpy(&spaced, &apart, sizeof spaced);
    if (size < rebias + (UINT32_C(1) << 23))
        rounded = distribution_bits(magnitude + spaced) - apart;
    else
        rounded = (size + ((UINT32_C(1) << (dropped - 1)) - 1) + (size >> dropped & 1) - rebias) >>
                  dropped;
    return (uint8_t)(bits >> 24 & 0x80) | (uint8_t)rounded;
}

static uint8_t float8(enum distribution d, enum element_type type, uint64_t word, uint64_t choice,
                      double normal)
{
    const unsigned significant = (unsigned)element_formats[type].significant_bits;
    const unsigned fraction = significant - 1, sign = (unsigned)(word >> 63) << 7;
    const int most = 1 << significant;
    /* Magnitudes that are finite, and exponent fields of those whose fractions all are. */
    const unsigned finite = type == ELEMENT_F8E4M3 ? 0x7f : 0x7c;

    switch (d) {
    case DISTRIBUTION_UNIFORM:
        return float8_of_float(type, (float)(word >> (64 - significant)) / (float)most);
    case DISTRIBUTION_NORMAL:
        return float8_of_float(type, (float)normal);
    case DISTRIBUTION_WIDE:
    case DISTRIBUTION_CANCEL:
        return (uint8_t)(sign |
                         (unsigned)(1 + choose(choice, (finite >> fraction) - 1)) << fraction |
                         (unsigned)(word & ((1u << fraction) - 1)));
    case DISTRIBUTION_FULL:
        return (uint8_t)(sign | (unsigned)choose(choice, finite));
    case DISTRIBUTION_INTEGERS:
        return float8_of_float(type, (float)((int)choose(choice, 2 * (uint64_t)most + 1) - most));
    case DISTRIBUTION_SPARSE:
        return choice >> 32 < UINT32_MAX / DISTRIBUTION_SPARSENESS
                   ? float8_of_float(type, (float)normal)
                   : (uint8_t)(word << 7);
    case DISTRIBUTION_WEIGHTS:
    case DISTRIBUTION_FIELD:
    case DISTRIBUTION_STEPS:
    case DISTRIBUTION_SERIES:
    case DISTRIBUTION_IMAGE:
    case DISTRIBUTIONS:
        break;
    }
    return 0;
}

/* A normally distributed integer: around 0, or around the middle of what has no sign. One in 2^63
   lies beyond 9 deviations, and there is room for 16. */
static uint64_t normal_integer(enum element_type type, double normal)
{
    const unsigned bits = 8 * (unsigned)element_size(type);
    const double x = normal * (double)(UINT64_C(1) << (bits - 5));
    const uint64_t n = (uint64_t)(int64_t)(x < 0 ? x - 0.5 : x + 0.5);

    return element_formats[type].kind == ELEMENT_SIGNED ? n : n + (UINT64_C(1) << (bits - 1));
}

static uint64_t integer(enum distribution d, enum element_type type, uint64_t word, uint64_t choice,
                        double normal)
{
    const bool is_signed = element_formats[type].kind == ELEMENT_SIGNED;
    const unsigned bits = 8 * (unsigned)element_size(type);
    const uint64_t most = bits == 8 ? 100 : 1000;
    uint64_t n, length;

    switch (d) {
    case DISTRIBUTION_UNIFORM:
    case DISTRIBUTION_FULL:
        return word >> (64 - bits);
    case DISTRIBUTION_NORMAL:
        return normal_integer(type, normal);
    case DISTRIBUTION_WIDE:
    case DISTRIBUTION_CANCEL:
        length = choose(choice, is_signed ? bits - 1 : bits);
        n = UINT64_C(1) << length;
        n |= word & (n - 1);
        return is_signed && word >> 63 ? -n : n;
    case DISTRIBUTION_INTEGERS:
        n = choose(choice, 2 * most + 1);
        return is_signed ? n - most : n;
    case DISTRIBUTION_SPARSE:
        return choice >> 32 < UINT32_MAX / DISTRIBUTION_SPARSENESS ? normal_integer(type, normal)
                                                                   : 0;
    case DISTRIBUTION_WEIGHTS:
    case DISTRIBUTION_FIELD:
    case DISTRIBUTION_STEPS:
    case DISTRIBUTION_SERIES:
    case DISTRIBUTION_IMAGE:
    case DISTRIBUTIONS:
        break;
    }
    return 0;
}

/* Truth values are 1 half of the time, or, where most are zeros, one in 40 times. */
static uint64_t truth(enum distribution d, uint64_t word, uint64_t choice)
{
    return d == DISTRIBUTION_SPARSE && choice >> 32 >= UINT32_MAX / DISTRIBUTION_SPARSENESS
               ? 0
               : word >> 63;
}

uint64_t distribution_element(enum distribution d, enum element_type type, uint64_t word,
                              uint64_t choice, double normal)
{
    if (element_formats[type].kind == ELEMENT_TRUTH)
        return truth(d, word, choice);
    if (element_is_integer(type))
        return integer(d, type, word, choice, normal);
    return float8(d, type, word, choice, normal);
}
