/*
 * Surveys: what is asked of an input that one partial result does not tell, which is quantiles and
 * histograms. A survey says what each reading of the input is to tally, takes what was found, and
 * says whether that was enough. It reads nothing itself.
 *
 *     survey_open -> (survey_sample) -> survey_plan -> a reading -> survey_take -> survey_plan ...
 *
 * Types of 16 bits take one reading, which counts every value. Others are searched: all elements
 * are counted that lie below or above a cell of keys that each order statistic is taken to lie in,
 * and those within are kept (R. W. Floyd and R. L. Rivest, "Expected time bounds for selection",
 * 1975, find the cell by a sample, too). If one turns out to lie elsewhere, or too many lie in its
 * cell, then it is known in which smaller cell the next reading will find it. Whatever the sample
 * was, the results are exact; it decides only how many readings they take.
 *
 * A survey belongs to one thread. Nothing here prints.
 */
#ifndef GPUREDUCE_SURVEY_H
#define GPUREDUCE_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/histogram.h"
#include "core/partial.h"
#include "core/quantile.h"
#include "core/selection.h"
#include "core/tally.h"

/* The most quantiles that one survey finds. */
#define SURVEY_QUANTILES_MAX SELECTION_QUANTILES_MAX

/* The request: quantiles and a histogram. */
struct survey_request {
    struct quantile quantiles[SURVEY_QUANTILES_MAX];
    unsigned places[SURVEY_QUANTILES_MAX]; /* in struct result, of each */
    unsigned quantile_count;
    uint32_t required; /* a bit for each place; others are left out where they cannot be had */
    struct histogram_request histogram;
};

/* Whether anything is asked. */
bool survey_asked(const struct survey_request *request);

/* Leaves out the quantiles that may be. */
void survey_leave_out(struct survey_request *request);

struct survey;

enum survey_verdict {
    SURVEY_DONE,    /* everything is known */
    SURVEY_MORE,    /* another reading is needed */
    SURVEY_CHANGED, /* the input is not what it was in the reading before */
    SURVEY_MEMORY,  /* out of memory */
    SURVEY_ENDLESS  /* the range of the histogram would be infinite */
};

/* A survey of elements of this type, `elements` of them or UINT64_MAX, tallied by `workers`. With
   `propagate`, quantiles are NaN if an element is; otherwise NaNs are left out. The request must
   outlive the survey. NULL without memory. */
struct survey *survey_open(const struct survey_request *request, enum element_type type,
                           uint64_t elements, unsigned workers, bool propagate);
void survey_close(struct survey *s);

/* Whether one reading is enough, whatever the elements are. If not, `why` is set to what needs
   more. */
bool survey_is_single(const struct survey *s, const char **why);

/* How many runs of so many neighbouring elements a sample should have; 0 if none is needed. */
struct selection_runs survey_runs(const struct survey *s);

/* Takes a sample: `count` runs in the order of the input, of `length` elements each, in the
   machine's byte order. Best before the first reading. False without memory. */
bool survey_sample(struct survey *s, const void *elements, size_t count, size_t length);

/* Takes a partial result with extremes that is known before the first reading, which then has to
   come to the same. It may spare readings, or all of them. */
void survey_begin(struct survey *s, const struct partial *partial);

/* Whether everything is known, so that no other reading is needed. */
bool survey_is_done(const struct survey *s);

/* Says what the next reading has to tally: returns the number of plans, and sets the plans, which
   live until survey_take. The first reading may have none, because the plans depend on its partial
   result. */
unsigned survey_plan(struct survey *s, const struct tally_plan *plans[TALLY_PLANS_MAX]);

/* Whether the tallies that were planned are all that the next reading has to find, beside the count
   of elements: they tell, too, whether it is of the same elements. */
bool survey_tallies_alone(const struct survey *s);

/* Takes what a reading found: the partial result, with extremes unless tallies are all, and the
   tallies of its workers, which are changed. */
enum survey_verdict survey_take(struct survey *s, const struct partial *partial,
                                struct tally_set *sets, unsigned workers);

/* Quantile number i of a finished survey; NaN if there are no numbers. */
double survey_quantile(const struct survey *s, unsigned i);

/* The histogram of a finished survey, which lives as long as the survey; NULL if none was asked
   for. */
const struct histogram *survey_histogram(const struct survey *s);

#endif
