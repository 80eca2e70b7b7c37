/*
 * Test data: a pseudo-random generator, the same numbers everywhere, and distributions that a
 * summation may find hard, for every element type, as bits in this machine's byte order.
 *
 * Only the names of the element types come from the program; what their bits mean stands here a
 * second time. Data may lie at any address.
 */
#ifndef TESTS_DATA_GEN_H
#define TESTS_DATA_GEN_H

#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/missing.h"

/* xoshiro256** of D. Blackman and S. Vigna, seeded by their splitmix64. */
struct rng {
    uint64_t s[4];
};

void rng_seed(struct rng *r, uint64_t seed);

/* 64 random bits. */
uint64_t rng_next(struct rng *r);

/* A number below bound, which is not 0; nearly uniform. */
uint64_t rng_below(struct rng *r, uint64_t bound);

/* A number in [0, 1). */
double rng_unit(struct rng *r);

/* Puts n elements of `size` bytes, at most 64, in random order. */
void rng_shuffle(struct rng *r, void *data, size_t n, size_t size);

/* Distributions. Types that are too narrow for one get what they can hold of it. */
enum data_kind {
    DATA_UNIFORM,       /* [0, 1) */
    DATA_NORMAL,        /* bell-shaped around 0 */
    DATA_RANGE20,       /* exponents over 2^20: about what one binary64 holds of binary32 */
    DATA_RANGE60,       /* over 2^60 */
    DATA_RANGE250,      /* over 2^250 */
    DATA_FULL_RANGE,    /* any finite bits */
    DATA_SUBNORMAL,     /* subnormals, and zeros */
    DATA_SPARSE,        /* mostly zeros, of both signs */
    DATA_ZEROS,         /* zeros of both signs */
    DATA_NEGATIVE_ZERO, /* -0 alone */
    DATA_INTEGERS,      /* -1000 .. 1000 */
    DATA_NEGATIVE,      /* below 0, of like size */
    DATA_CONSTANT,      /* one value throughout: every index ties */
    DATA_CANCEL,        /* x and -x, shuffled, and a tiny rest */
    DATA_HALFWAY,       /* a sum that lies halfway between two binary64, or next to it */
    DATA_OVER_AND_BACK, /* running sums overflow, the sum does not */
    DATA_NEAR_MAX,      /* the largest values, of one sign: the sum overflows */
    DATA_ALL_ONES,      /* mantissas of ones only, of one sign and exponent */
    DATA_DRIFT,         /* the exponent moves in large steps every few hundred elements */
    DATA_KINDS
};

const char *data_kind_name(enum data_kind kind);

/* Fills out[0 .. n) of the type; the same seed gives the same data. */
void data_fill(enum data_kind kind, enum element_type type, void *out, size_t n, uint64_t seed);

enum data_special {
    DATA_QUIET_NAN,
    DATA_NEGATIVE_NAN, /* sign and payload set */
    DATA_SIGNALING_NAN,
    DATA_POSITIVE_INFINITY,
    DATA_NEGATIVE_INFINITY,
    DATA_MINUS_ZERO,
    DATA_SPECIALS
};

const char *data_special_name(enum data_special special);

/* Makes element i special. */
void data_put_special(enum element_type type, void *data, size_t i, enum data_special special);

/* Makes element i the value x, cut off to the type: towards zero, and to the largest finite
   value. x is finite. */
void data_put(enum element_type type, void *data, size_t i, double x);

/* Makes element i what the fields say: sign 0 or 1, the exponent as it is stored, the fraction
   below 2^data_fraction_bits. */
void data_put_fields(enum element_type type, void *data, size_t i, unsigned sign, unsigned exponent,
                     uint64_t fraction);

/* The widths of the fields, and of the whole, in bits. */
unsigned data_fraction_bits(enum element_type type);
unsigned data_exponent_bits(enum element_type type);
unsigned data_bits(enum element_type type);

/* Element i as a number, from the definition of the format. */
double data_value(enum element_type type, const void *data, size_t i);

/* The bits of element i. */
uint64_t data_pattern(enum element_type type, const void *data, size_t i);
void data_put_pattern(enum element_type type, void *data, size_t i, uint64_t pattern);

/* Chooses missing values for n elements: values that are among them, a range, NaNs, all numbers, or
   zeros; and puts one of them into the place of any number of the elements. */
void data_choose_missing(struct rng *rng, enum element_type type, void *data, size_t n,
                         struct missing *missing);

#endif
