/*
 * Histograms: bins of one width, or the binary exponents of the elements. All counts are exact, and
 * so is which bin an element is in.
 *
 * With n bins from `low` to `high`, bin i begins at low + i (high - low) / n, an exact number that
 * need not be one of binary64. It has the elements that are not less than that, and less than where
 * the next one begins; the last bin has those equal to `high`, too.
 *
 * All types have bins; floats have exponents.
 */
#ifndef GPUREDUCE_HISTOGRAM_H
#define GPUREDUCE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/partial.h"
#include "core/tally.h"

/* The most bins. */
#define HISTOGRAM_BINS_MAX 65536

enum histogram_kind { HISTOGRAM_NONE, HISTOGRAM_BINS, HISTOGRAM_EXPONENTS };

struct histogram_request {
    enum histogram_kind kind;
    uint32_t bins;
    bool range_given;
    double low, high; /* finite, low < high */
};

/* A range: from `low` to `high`, or, where they are known, between two integers, of which these are
   the nearest binary64. */
struct histogram_range {
    double low, high;
    struct integer low_integer, high_integer;
};

struct histogram {
    enum histogram_kind kind;
    uint64_t nan; /* elements that are NaN, in neither of the other counts */

    /* HISTOGRAM_BINS. The range is NaN where it is that of the elements and there are none. */
    uint32_t bins;
    struct histogram_range range;
    uint64_t below, above; /* elements outside of the range, infinities among them */

    /* HISTOGRAM_EXPONENTS: elements by sign (1 is minus) and by what they are. Exponents are those
       of 1.f 2^e, from exponent_min on. */
    uint64_t zeros[2], subnormals[2], infinities[2];
    int exponent_min, exponent_max;

    /* The count of each bin; or of each exponent, for positive elements and then for negative
       ones. */
    uint64_t *counts;
};

/* The lower edge of bin i, or with i = bins the upper edge of the last bin, rounded once to
   binary64. */
double histogram_edge(const struct histogram *h, uint32_t i);

/* Elements with the sign (1 is minus) and the exponent. */
uint64_t histogram_exponent(const struct histogram *h, int sign, int exponent);

/* Makes the bins of a plan of the kind TALLY_BINS for the type, of 32 or 64 bits, and its bounds,
   which the caller frees by histogram_free_plan. False without memory. */
bool histogram_plan(struct tally_plan *plan, enum element_type type, uint32_t bins,
                    const struct histogram_range *range);
void histogram_free_plan(struct tally_plan *plan);

/* Makes *h of what was asked and of a tally: of bins; of the upper bits of all elements, for
   exponents; or of all their bits, for both. False without memory. */
bool histogram_make(struct histogram *h, const struct histogram_request *request,
                    enum element_type type, const struct histogram_range *range,
                    const struct tally *tally, const struct partial *partial);

void histogram_free(struct histogram *h);

#endif
