/*
 * Selections: the search for the order statistics that quantiles are made of. A selection says
 * which cells of keys (core/order.h) a pass is to tally, and takes what that found; pass_plan.h has
 * the order of the calls, and of what is done for all types.
 *
 *     selection_open -> (selection_sample) -> selection_plan -> a pass -> selection_begin, the
 *     first time -> selection_take_cells -> selection_plan ... until selection_is_done
 *
 * A selection belongs to one thread. Nothing here prints.
 */
#ifndef GPUREDUCE_SELECTION_H
#define GPUREDUCE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/partial.h"
#include "core/quantile.h"
#include "core/tally.h"

/* The most quantiles that are found together. */
#define SELECTION_QUANTILES_MAX RESULT_QUANTILES_MAX

struct selection;

enum selection_verdict {
    SELECTION_TAKEN,
    SELECTION_CHANGED, /* the input is not what it was in the pass before */
    SELECTION_MEMORY   /* out of memory */
};

/* For `count` quantiles, which must outlive it, of elements of this type: `elements` of them, or
   UINT64_MAX, tallied by `workers`. NULL without memory. */
struct selection *selection_open(const struct quantile *quantiles, unsigned count,
                                 enum element_type type, uint64_t elements, unsigned workers);
void selection_close(struct selection *s);

/* Whether there is a quantile that is neither the least number nor the greatest, which a partial
   result tells. */
bool selection_seeks(const struct selection *s);

/* How many runs of so many neighbouring elements a sample should have; 0 if none is needed. */
struct selection_runs {
    size_t count, length;
};
struct selection_runs selection_runs(const struct selection *s);

/* Takes a sample: `count` runs in the order of the input, of `length` elements each, in the
   machine's byte order. missing[i]: element i is missing; NULL: none is. False without memory. */
bool selection_sample(struct selection *s, const void *elements, const bool *missing, size_t count,
                      size_t length);

/* The cells that the next pass is to tally. They live until the next call. */
const struct tally_plan *selection_plan(struct selection *s);

/* Takes the partial result of the first pass, in which there are numbers, with extremes, unless none of
   the quantiles is one. It may be known before that. */
void selection_begin(struct selection *s, const struct partial *first);

/* Takes counts of all values: a tally of words without a shift. Then it is done. */
void selection_take_words(struct selection *s, const struct tally *total);

/* Takes a tally of the cells, merged from those of the workers, which have the elements that were
   kept as tally number 0. */
enum selection_verdict selection_take_cells(struct selection *s, const struct tally *total,
                                            const struct tally_set *sets, unsigned workers);

/* Whether all order statistics are known. */
bool selection_is_done(const struct selection *s);

/* Quantile number i, once selection_is_done, scaled. */
double selection_quantile(const struct selection *s, unsigned i, const struct scale *scale);

#endif
