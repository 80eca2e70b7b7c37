/*
 * Histograms: counts of elements in bins of one width, or by their binary exponents. Elements are
 * compared with the exact edges of bins.
 *
 * Bin i of n from `low` to `high` begins at low + i (high - low) / n, which need not be a binary64
 * number. It has the elements from there to before the beginning of the next bin; the last bin
 * includes `high`.
 *
 * All types have bins; floats have exponents.
 */
#ifndef GPUREDUCE_HISTOGRAM_H
#define GPUREDUCE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/partial.h"
#include "core/scale.h"
#include "core/tally.h"
#include "core/term.h"

/* The most bins. */
#define HISTOGRAM_BINS_MAX 65536

enum histogram_kind { HISTOGRAM_NONE, HISTOGRAM_BINS, HISTOGRAM_EXPONENTS };

/* The request of a histogram. */
struct histogram_request {
    enum histogram_kind kind;
    uint32_t bins;    /* of HISTOGRAM_BINS, up to HISTOGRAM_BINS_MAX */
    bool range_given; /* if not, the range is from the minimum to the maximum */
    double low, high; /* the range, finite, low < high */
};

/* A range of scaled numbers. If the integers are known, it is from one to the other, and `low` and
   `high` are the nearest binary64 numbers. */
struct histogram_range {
    double low, high;
    struct integer low_integer, high_integer;
    struct scale scale; /* that of the elements */
    /* With a scale: the range is from what one element stands for to what another does, exactly,
       `low` and `high` being rounded; these are the elements. */
    bool of_elements;
    struct term low_stored, high_stored;
};

struct histogram {
    enum histogram_kind kind;
    uint64_t nan; /* NaNs, which no other count has */

    /* HISTOGRAM_BINS. The range is NaN if it depends on the elements and there are none. */
    uint32_t bins;
    struct histogram_range range;
    uint64_t below, above; /* elements outside of the range, infinities among them */

    /* HISTOGRAM_EXPONENTS: counts by sign (1 is minus). The exponent of 1.f 2^e is e. */
    uint64_t zeros[2], subnormals[2], infinities[2];
    int exponent_min, exponent_max;

    /* The count of each bin; or of each exponent, for positive elements and then for negative
       ones. */
    uint64_t *counts;
};

/* The lower edge of bin i, or with i = bins the upper edge of the last bin, rounded once to
   binary64. */
double histogram_edge(const struct histogram *h, uint32_t i);

/* The number of elements with this sign (1 is minus) and exponent. */
uint64_t histogram_exponent(const struct histogram *h, int sign, int exponent);

/* Makes a plan of the kind TALLY_BINS for a type of 32 or 64 bits. It is one of stored numbers, in
   whose order the bins are reversed if the factor of the range's scale is less than 0. The caller
   frees its bounds by histogram_free_plan. False without memory. */
bool histogram_plan(struct tally_plan *plan, enum element_type type, uint32_t bins,
                    const struct histogram_range *range);
void histogram_free_plan(struct tally_plan *plan);

/* Makes a histogram from a tally: TALLY_BINS for bins; TALLY_WORDS of the upper bits for
   exponents, or of all bits for either. False without memory. */
bool histogram_make(struct histogram *h, const struct histogram_request *request,
                    enum element_type type, const struct histogram_range *range,
                    const struct tally *tally, const struct partial *partial);

/* Frees the memory of a histogram. */
void histogram_free(struct histogram *h);

#endif
