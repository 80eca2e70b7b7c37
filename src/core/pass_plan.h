/*
 * Pass plans compute quantiles and histograms, which may need several passes over an input. A pass
 * plan says what each pass has to tally, gets the tallies, and says whether another pass is needed.
 * It reads nothing itself.
 *
 *     pass_plan_open -> (pass_plan_sample) -> pass_plan_next -> a pass -> pass_plan_take
 *                                                  ^                               |
 *                                                  '---------- PASS_PLAN_MORE -----'
 *
 * Types of up to 16 bits take one pass, which counts every value. For other types a sample suggests
 * a cell, a range of keys, in which each order statistic lies (R. W. Floyd and R. L. Rivest,
 * "Expected time bounds for selection", 1975). A pass counts the elements below and above each cell
 * and keeps those within. If an order statistic lies elsewhere, or its cell has too many elements,
 * the counts give a smaller cell for the next pass. Results are exact for any sample, which only
 * affects the number of passes.
 *
 * A pass plan belongs to one thread.
 */
#ifndef GPUREDUCE_PASS_PLAN_H
#define GPUREDUCE_PASS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/histogram.h"
#include "core/partial.h"
#include "core/quantile.h"
#include "core/tally.h"

/* The most quantiles that one pass plan finds. */
#define PASS_PLAN_QUANTILES_MAX RESULT_QUANTILES_MAX

/* The request: quantiles and a histogram. */
struct pass_request {
    struct quantile quantiles[PASS_PLAN_QUANTILES_MAX];
    unsigned places[PASS_PLAN_QUANTILES_MAX]; /* index of each in result.quantiles */
    unsigned quantile_count;                  /* quantiles */
    uint32_t required; /* a bit for each place; other quantiles are left out if they would need
                          an input to be read again that cannot be */
    struct histogram_request histogram;
};

/* Whether the request has quantiles or a histogram. */
bool pass_request_any(const struct pass_request *request);

/* Removes the quantiles that are not required. */
void pass_request_drop_optional(struct pass_request *request);

/* Elements that quantiles are found of by their keys alone, at most; and of those that are easily read again, of
   which a sample and the pass that it suggests take less than the keys of more. */
#define PASS_KEYS_MAX ((uint64_t)1 << 18)
#define PASS_KEYS_FEW ((uint64_t)1 << 15)

/* Whether the request is for quantiles alone, which the keys of few elements tell. */
bool pass_request_of_keys(const struct pass_request *request);

/* A tally of the keys of one array after the other, and what it takes to find their quantiles. */
struct pass_keys {
    struct tally_plan plan;
    struct tally_set set; /* of one tally */
    uint64_t *scratch;    /* for the search; NULL before it is needed */
    size_t scratch_room;  /* keys that it has room for */
};

/* Makes it ready for the elements of the first array, of this type. False without memory; the caller
   closes it in any case, which is allowed of one of all zeros, too. */
bool pass_keys_open(struct pass_keys *k, enum element_type type);
void pass_keys_close(struct pass_keys *k);

/* Begins with the elements of another array, of this type. */
void pass_keys_begin(struct pass_keys *k, enum element_type type);

/* Finds the quantiles of a request, which pass_request_of_keys is true of, of all elements that were
   tallied; `partial` is of the same, of stored numbers with this scale. `propagate`: as of
   pass_plan_open. Sets result->quantiles, and their bits in *quantiles. False without memory. */
bool pass_keys_find(struct pass_keys *k, const struct pass_request *request,
                    const struct scale *scale, const struct partial *partial, bool propagate,
                    struct result *result, uint32_t *quantiles);

struct pass_plan;

enum pass_plan_verdict {
    PASS_PLAN_DONE,    /* everything is known */
    PASS_PLAN_MORE,    /* another pass is needed */
    PASS_PLAN_CHANGED, /* the input is not what it was in the pass before */
    PASS_PLAN_MEMORY,  /* out of memory */
    PASS_PLAN_ENDLESS  /* the range of the histogram would be infinite */
};

/* Makes a pass plan for `elements` elements of the type (UINT64_MAX: unknown), which `workers`
   workers tally. The results are of what they stand for by the scale. With `propagate`, quantiles
   are NaN if an element is; if not, NaNs are ignored. The request must outlive the pass plan. NULL
   without memory. */
struct pass_plan *pass_plan_open(const struct pass_request *request, enum element_type type,
                                 const struct scale *scale, uint64_t elements, unsigned workers,
                                 bool propagate);
/* Frees a pass plan. NULL is allowed. */
void pass_plan_close(struct pass_plan *s);

/* Whether one pass suffices for any elements. If not, *why names the result that needs more, a
   constant text. */
bool pass_plan_is_single(const struct pass_plan *s, const char **why);

/* The best size of a sample: a number of runs, and of neighbouring elements in each; no runs if no
   sample is needed. */
struct pass_runs {
    size_t count, length;
};
struct pass_runs pass_plan_runs(const struct pass_plan *s);

/* Sets the sample before the first pass: `count` runs in the order of the input, of `length`
   elements each, in this machine's byte order. missing[i]: element i is missing; NULL: none is.
   False without memory. */
bool pass_plan_sample(struct pass_plan *s, const void *elements, const bool *missing, size_t count,
                      size_t length);

/* Sets the partial result, with extremes, if it is known before the first pass, which may then be
   shorter or not needed. Every pass must give the same partial result. */
void pass_plan_begin(struct pass_plan *s, const struct partial *partial);

/* Whether the first pass tallies cells alone, or bins of a GPU, and they tell all that is needed of a partial
   result if no element is missing: quantiles are sought that are no extremes, or a histogram whose range is
   given, and nothing else. */
bool pass_plan_tells_all(const struct pass_plan *s);

/* Whether everything is known, so that no other pass is needed. */
bool pass_plan_is_done(const struct pass_plan *s);

/* Sets the plans of the tallies of the next pass, which are valid until pass_plan_take, and returns
   their number. It may be 0 for the first pass, if the plans depend on its partial result. */
unsigned pass_plan_next(struct pass_plan *s, const struct tally_plan *plans[TALLY_PLANS_MAX]);

/* Whether the next pass needs no partial result but the count of elements: the tallies suffice
   to see that the elements are the same as before. */
bool pass_plan_tallies_alone(const struct pass_plan *s);

/* Evaluates a pass: its partial result, with extremes unless pass_plan_tallies_alone, and the
   tallies of its workers, which are changed. */
enum pass_plan_verdict pass_plan_take(struct pass_plan *s, const struct partial *partial,
                                      struct tally_set *sets, unsigned workers);

/* The error that a verdict after PASS_PLAN_MORE is. */
struct error pass_plan_error(enum pass_plan_verdict verdict);

/* Quantile number i of a finished pass plan; NaN if there are no numbers. */
double pass_plan_quantile(const struct pass_plan *s, unsigned i);

/* The histogram of a finished pass plan, valid as long as the pass plan; NULL if none was
   requested. */
const struct histogram *pass_plan_histogram(const struct pass_plan *s);

#endif
