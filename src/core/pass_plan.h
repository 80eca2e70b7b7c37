/*
 * Pass plans: what is asked of an input that one partial result does not tell, which is quantiles
 * and histograms. A pass plan says what each pass of the input is to tally, takes what was found,
 * and says whether that was enough. It reads nothing itself.
 *
 *     pass_plan_open -> (pass_plan_sample) -> pass_plan_next -> a pass -> pass_plan_take
 *                                                  ^                               |
 *                                                  '---------- PASS_PLAN_MORE -----'
 *
 * Types of 16 bits take one pass, which counts every value. Others are searched: all elements
 * are counted that lie below or above a cell of keys that each order statistic is taken to lie in,
 * and those within are kept (R. W. Floyd and R. L. Rivest, "Expected time bounds for selection",
 * 1975, find the cell by a sample, too). If one turns out to lie elsewhere, or too many lie in its
 * cell, then it is known in which smaller cell the next pass will find it. Whatever the sample
 * was, the results are exact; it decides only how many passes they take.
 *
 * A pass plan belongs to one thread. Nothing here prints.
 */
#ifndef GPUREDUCE_PASS_PLAN_H
#define GPUREDUCE_PASS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/histogram.h"
#include "core/partial.h"
#include "core/quantile.h"
#include "core/selection.h"
#include "core/tally.h"

/* The most quantiles that one pass plan finds. */
#define PASS_PLAN_QUANTILES_MAX SELECTION_QUANTILES_MAX

/* The request: quantiles and a histogram. */
struct pass_request {
    struct quantile quantiles[PASS_PLAN_QUANTILES_MAX];
    unsigned places[PASS_PLAN_QUANTILES_MAX]; /* in struct result, of each */
    unsigned quantile_count;
    uint32_t required; /* a bit for each place; others are left out where they cannot be had */
    struct histogram_request histogram;
};

/* Whether anything is asked. */
bool pass_request_any(const struct pass_request *request);

/* Leaves out the quantiles that may be. */
void pass_request_drop_optional(struct pass_request *request);

struct pass_plan;

enum pass_plan_verdict {
    PASS_PLAN_DONE,    /* everything is known */
    PASS_PLAN_MORE,    /* another pass is needed */
    PASS_PLAN_CHANGED, /* the input is not what it was in the pass before */
    PASS_PLAN_MEMORY,  /* out of memory */
    PASS_PLAN_ENDLESS  /* the range of the histogram would be infinite */
};

/* A pass plan of elements of this type, `elements` of them or UINT64_MAX, tallied by `workers`.
   With `propagate`, quantiles are NaN if an element is; otherwise NaNs are left out. The request
   must outlive the pass plan. NULL without memory. */
struct pass_plan *pass_plan_open(const struct pass_request *request, enum element_type type,
                                 uint64_t elements, unsigned workers, bool propagate);
void pass_plan_close(struct pass_plan *s);

/* Whether one pass is enough, whatever the elements are. If not, `why` is set to what needs
   more. */
bool pass_plan_is_single(const struct pass_plan *s, const char **why);

/* How many runs of so many neighbouring elements a sample should have; 0 if none is needed. */
struct selection_runs pass_plan_runs(const struct pass_plan *s);

/* Takes a sample: `count` runs in the order of the input, of `length` elements each, in the
   machine's byte order. Best before the first pass. False without memory. */
bool pass_plan_sample(struct pass_plan *s, const void *elements, size_t count, size_t length);

/* Takes a partial result with extremes that is known before the first pass, which then has to
   come to the same. It may spare passes, or all of them. */
void pass_plan_begin(struct pass_plan *s, const struct partial *partial);

/* Whether everything is known, so that no other pass is needed. */
bool pass_plan_is_done(const struct pass_plan *s);

/* Says what the next pass has to tally: returns the number of plans, and sets the plans, which
   live until pass_plan_take. The first pass may have none, because the plans depend on its partial
   result. */
unsigned pass_plan_next(struct pass_plan *s, const struct tally_plan *plans[TALLY_PLANS_MAX]);

/* Whether the tallies that were planned are all that the next pass has to find, beside the count
   of elements: they tell, too, whether it is of the same elements. */
bool pass_plan_tallies_alone(const struct pass_plan *s);

/* Takes what a pass found: the partial result, with extremes unless tallies are all, and the
   tallies of its workers, which are changed. */
enum pass_plan_verdict pass_plan_take(struct pass_plan *s, const struct partial *partial,
                                      struct tally_set *sets, unsigned workers);

/* Quantile number i of a finished pass plan; NaN if there are no numbers. */
double pass_plan_quantile(const struct pass_plan *s, unsigned i);

/* The histogram of a finished pass plan, which lives as long as the pass plan; NULL if none was
   asked for. */
const struct histogram *pass_plan_histogram(const struct pass_plan *s);

#endif
