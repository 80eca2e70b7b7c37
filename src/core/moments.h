/*
 * Moments and norms: results that follow from the sums of squares and of magnitudes, the least
 * magnitude and some counts in a partial result.
 *
 * These are pure functions of a partial result, which belongs to one thread at a time. None can
 * fail.
 */
#ifndef GPUREDUCE_MOMENTS_H
#define GPUREDUCE_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/partial.h"

/* The bits of PARTIAL_ALL that only this module's results need. */
#define MOMENTS_WANTS (PARTIAL_SQUARES | PARTIAL_ABSOLUTE | PARTIAL_SMALL | PARTIAL_NEGATIVE)

/* Bits of results that take a division or a root, each of which takes long. */
enum moments_result {
    MOMENTS_SUMSQ = 1,
    MOMENTS_L2 = 2,
    MOMENTS_RMS = 4,
    MOMENTS_VAR = 8,
    MOMENTS_STD = 16
};

/* How results are finished. */
struct moments_terms {
    unsigned unwanted;      /* moments_result bits of results that are not needed */
    bool skip_nan;          /* see partial_finish */
    uint64_t ddof;          /* number subtracted from the count that a variance is divided by */
    enum element_type type; /* type of the elements */
};

/* Adds the element at `bytes`, in this machine's byte order, to the fields that this module
   finishes. The caller also adds it by partial_take_element. */
void moments_take_element(struct partial *p, enum element_type type, const void *bytes);

/* Adds an element of a float type, with value x, as often as `times` says: once, or up to 2^32
   times if the type has one byte. */
void moments_take(struct partial *p, double x, enum element_type type, uint64_t times);

/* Adds an element of a type of one byte, `times` times, at most 2^32, to the sum and the counts of NaNs
   and infinities, and, with `moments`, to the fields that this module finishes. */
void moments_take_byte(struct partial *p, enum element_type type, bool moments, unsigned char byte,
                       uint64_t times);

/* Computes this module's results, each rounded once. Counts are those of elements that are not NaN.
   Numbers that have no value are NaN. */
void moments_finish(const struct partial *p, const struct moments_terms *terms,
                    struct result *result);

/* Whether the sum and the sum of squares may be of as many finite elements as there are: no variance is
   negative. */
bool moments_agree(const struct partial *p);

/* The digits that stand below and above those of squares for moments_finish_squares, and the most
   that all of them are. */
#define MOMENTS_BELOW 2
#define MOMENTS_ABOVE 2
#define MOMENTS_SQUARES_MAX 272

/* Computes sumsq, l2, rms, var and std of n finite numbers from their sum of squares and the
   magnitude of their sum, both as digits of 32 bits. `squares` has `size` digits, which are changed:
   the lowest of MOMENTS_BELOW and the highest of MOMENTS_ABOVE are 0, and the first between them
   weighs 2^lsb_exponent, which is even and at most EXACT_WIDE_LSB_EXPONENT; that of `sum` weighs its
   square root. If the squares are 0, the sum is not looked at. */
void moments_finish_squares(uint32_t *squares, int size, int lsb_exponent, const uint32_t *sum,
                            int sum_digits, uint64_t n, const struct moments_terms *terms,
                            struct result *result);

#endif
