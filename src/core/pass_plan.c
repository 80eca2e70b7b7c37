#include "config.h"

#include "core/pass_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "core/scaled.h"

struct pass_plan {
    const struct pass_request *request;
    enum element_type type;
    struct scale scale;
    struct quantile quantiles[PASS_PLAN_QUANTILES_MAX]; /* of the stored numbers */
    struct partial first;                               /* what the first pass found */
    bool begun;                                         /* that is known */
    struct selection *selection;                        /* NULL where no quantile is asked for */
    struct histogram histogram;
    struct tally_plan other; /* of the next pass: words, or bins */

    bool propagate;
    bool quantiles_done, histogram_done;
    bool no_numbers; /* all quantiles are NaN */
    bool uses_cells, uses_other;
    bool out_of_memory; /* a plan could not be made */
};

bool pass_request_any(const struct pass_request *request)
{
    return request->quantile_count > 0 || request->histogram.kind != HISTOGRAM_NONE;
}

void pass_request_drop_optional(struct pass_request *request)
{
    const unsigned count = request->quantile_count;

    request->quantile_count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!(request->required >> request->places[i] & 1))
            continue;
        request->quantiles[request->quantile_count] = request->quantiles[i];
        request->places[request->quantile_count++] = request->places[i];
    }
}

bool pass_request_of_keys(const struct pass_request *request)
{
    return request->quantile_count > 0 && request->histogram.kind == HISTOGRAM_NONE;
}

/*
 * Quantiles of few elements.
 */

_Static_assert(2 * PASS_PLAN_QUANTILES_MAX <= ORDER_STATISTICS_MAX,
               "quantile_select takes as many");

bool pass_keys_open(struct pass_keys *k, enum element_type type)
{
    *k = (struct pass_keys){.plan = {.kind = TALLY_KEYS, .type = type, .room = SIZE_MAX},
                            .set = {.count = 1}};
    return tally_open(&k->set.tally[0], &k->plan);
}

void pass_keys_close(struct pass_keys *k)
{
    tally_close(&k->set.tally[0]);
    free(k->scratch);
}

void pass_keys_begin(struct pass_keys *k, enum element_type type)
{
    k->plan.type = type;
    k->set.tally[0].kept_count = 0;
    k->set.tally[0].failed = false;
}

/* Makes room in the scratch for as many keys as there are. False without memory. */
static bool make_scratch(struct pass_keys *k)
{
    const struct tally *t = &k->set.tally[0];

    if (k->scratch_room >= t->kept_count)
        return true;
    free(k->scratch);
    k->scratch = malloc(t->kept_room * sizeof *k->scratch);
    k->scratch_room = k->scratch ? t->kept_room : 0;
    return k->scratch;
}

bool pass_keys_find(struct pass_keys *k, const struct pass_request *request,
                    const struct scale *scale, const struct partial *partial, bool propagate,
                    struct result *result, uint32_t *quantiles)
{
    const struct tally *t = &k->set.tally[0];
    struct quantile stored[PASS_PLAN_QUANTILES_MAX];
    double found[PASS_PLAN_QUANTILES_MAX];
    const bool none = t->kept_count == 0 || (propagate && partial->nan > 0);

    if (!none && !make_scratch(k))
        return false;
    for (unsigned i = 0; i < request->quantile_count; i++) {
        stored[i] = quantile_stored(&request->quantiles[i], scale);
        found[i] = NAN;
    }
    if (!none)
        (void)quantile_select(k->plan.type, scale, stored, request->quantile_count,
                              &(struct quantile_keys){.keys = t->kept,
                                                      .scratch = k->scratch,
                                                      .kept = t->kept_count,
                                                      .all = t->kept_count},
                              found);
    for (unsigned i = 0; i < request->quantile_count; i++) {
        result->quantiles[request->places[i]] = found[i];
        *quantiles |= UINT32_C(1) << request->places[i];
    }
    return true;
}

struct pass_plan *pass_plan_open(const struct pass_request *request, enum element_type type,
                                 const struct scale *scale, uint64_t elements, unsigned workers,
                                 bool propagate)
{
    struct pass_plan *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->request = request;
    s->type = type;
    s->scale = *scale;
    for (unsigned i = 0; i < request->quantile_count; i++)
        s->quantiles[i] = quantile_stored(&request->quantiles[i], scale);
    s->propagate = propagate;
    s->quantiles_done = request->quantile_count == 0;
    s->histogram_done = request->histogram.kind == HISTOGRAM_NONE;
    if (!s->quantiles_done) {
        s->selection =
            selection_open(s->quantiles, request->quantile_count, type, elements, workers);
        if (!s->selection) {
            pass_plan_close(s);
            return NULL;
        }
    }
    return s;
}

void pass_plan_close(struct pass_plan *s)
{
    if (!s)
        return;
    selection_close(s->selection);
    histogram_free_plan(&s->other);
    histogram_free(&s->histogram);
    free(s);
}

/* Whether quantiles take cells to be found. */
static bool seeks(const struct pass_plan *s)
{
    return s->selection && !order_is_narrow(s->type) && selection_seeks(s->selection);
}

bool pass_plan_is_single(const struct pass_plan *s, const char **why)
{
    const struct histogram_request *histogram = &s->request->histogram;

    if (order_is_narrow(s->type))
        return true;
    if (seeks(s)) {
        *why = "quantiles";
        return false;
    }
    *why = "the range of the histogram";
    return histogram->kind != HISTOGRAM_BINS || histogram->range_given;
}

struct selection_runs pass_plan_runs(const struct pass_plan *s)
{
    return seeks(s) ? selection_runs(s->selection) : (struct selection_runs){0, 0};
}

bool pass_plan_cells_alone(const struct pass_plan *s)
{
    bool sought = seeks(s) && s->histogram_done;

    for (unsigned i = 0; i < s->request->quantile_count; i++)
        sought = sought && !quantile_is_extreme(&s->quantiles[i]);
    return sought;
}

bool pass_plan_sample(struct pass_plan *s, const void *elements, const bool *missing, size_t count,
                      size_t length)
{
    return !s->selection || selection_sample(s->selection, elements, missing, count, length);
}

/*
 * Plans.
 */

/* Bits of an element below its exponent. */
static unsigned fraction_bits(const struct pass_plan *s)
{
    return (unsigned)element_formats[s->type].significant_bits - 1;
}

/* Sets the range to that of the scaled elements. */
static void scaled_range(const struct pass_plan *s, struct histogram_range *range)
{
    struct scaled_number low = {true, s->type, s->first.min_key, s->scale},
                         high = {true, s->type, s->first.max_key, s->scale};

    if (s->scale.factor < 0) {
        low.key = s->first.max_key;
        high.key = s->first.min_key;
    }
    range->low = scaled_value(&low, false, &range->low_integer);
    range->high = scaled_value(&high, false, &range->high_integer);
    if (isfinite(range->low) && isfinite(range->high)) {
        range->low_stored = term_of_key(s->type, low.key);
        range->high_stored = term_of_key(s->type, high.key);
    }
}

/* The range of the histogram, where it is known by now. */
static bool histogram_range(const struct pass_plan *s, struct histogram_range *range)
{
    const struct histogram_request *r = &s->request->histogram;
    const enum element_type type = s->type;

    *range = (struct histogram_range){.low = NAN, .high = NAN, .scale = s->scale};
    if (r->range_given) {
        range->low = r->low;
        range->high = r->high;
        return true;
    }
    if (!s->begun)
        return false;
    if (partial_numbers(&s->first) == 0)
        return true;
    range->of_elements = true;
    if (s->scale.given) {
        scaled_range(s, range);
        return true;
    }
    range->low = element_key_value(type, s->first.min_key);
    range->high = element_key_value(type, s->first.max_key);
    if (element_is_integer(type)) {
        range->low_integer = element_key_integer(type, s->first.min_key);
        range->high_integer = element_key_integer(type, s->first.max_key);
    }
    return true;
}

static void plan_histogram(struct pass_plan *s)
{
    struct histogram_range range;

    switch (s->request->histogram.kind) {
    case HISTOGRAM_NONE:
        break;
    case HISTOGRAM_BINS:
        /* Without elements there is neither a range nor anything to count. */
        if (histogram_range(s, &range) && !isnan(range.low)) {
            s->uses_other = histogram_plan(&s->other, s->type, s->request->histogram.bins, &range);
            s->out_of_memory = !s->uses_other;
        }
        break;
    case HISTOGRAM_EXPONENTS:
        s->other =
            (struct tally_plan){.kind = TALLY_WORDS, .type = s->type, .shift = fraction_bits(s)};
        s->uses_other = true;
        break;
    }
}

unsigned pass_plan_next(struct pass_plan *s, const struct tally_plan *plans[TALLY_PLANS_MAX])
{
    unsigned count = 0;

    histogram_free_plan(&s->other);
    s->uses_other = false;
    s->uses_cells = !s->quantiles_done && seeks(s);
    if (order_is_narrow(s->type)) {
        s->other = (struct tally_plan){.kind = TALLY_WORDS, .type = s->type};
        s->uses_other = true;
    } else if (!s->histogram_done) {
        plan_histogram(s);
    }
    if (s->uses_cells)
        plans[count++] = selection_plan(s->selection);
    if (s->uses_other)
        plans[count++] = &s->other;
    return count;
}

bool pass_plan_tallies_alone(const struct pass_plan *s)
{
    return s->begun && s->uses_other && !s->uses_cells && s->other.kind == TALLY_BINS &&
           !s->request->histogram.range_given;
}

/*
 * The findings of a pass.
 */

/* Merges the workers' tallies number `number` into the first. */
static struct tally *merge(struct tally_set *sets, unsigned workers, unsigned number)
{
    struct tally *total = &sets[0].tally[number];
    const bool is_truth = element_formats[total->plan->type].kind == ELEMENT_TRUTH;
    bool fine = false;

    for (unsigned i = 0; i < workers; i++)
        tally_end(&sets[i].tally[number]);
    for (unsigned i = 0; i < workers; i++)
        fine = fine || sets[i].tally[number].fine;
    for (unsigned i = 0; i < workers; i++) {
        if (fine)
            tally_count_kept(&sets[i].tally[number]);
        if (i > 0)
            tally_merge(total, &sets[i].tally[number]);
    }
    /* All bytes but zero stand for true. */
    for (size_t word = 2; is_truth && word < tally_size(total->plan); word++) {
        total->counts[1] += total->counts[word];
        total->counts[word] = 0;
    }
    return total;
}

/* Whether the partial result is that of the first pass. */
static bool same_input(const struct partial *a, const struct partial *b)
{
    return a->count == b->count && a->missing == b->missing && a->nan == b->nan &&
           a->positive_infinity == b->positive_infinity &&
           a->negative_infinity == b->negative_infinity && a->min_key == b->min_key &&
           a->max_key == b->max_key;
}

/* Whether a pass found the elements of the first one, by the bins of the range that the first
   one found: nothing but NaNs lies outside. */
static bool same_bins(const struct partial *first, const struct partial *partial,
                      const struct tally *bins)
{
    return partial->count == first->count && bins->counts[0] == first->nan &&
           bins->counts[bins->plan->bins + 1] == 0;
}

static enum pass_plan_verdict verdict_of(enum selection_verdict verdict)
{
    switch (verdict) {
    case SELECTION_TAKEN:
        break;
    case SELECTION_CHANGED:
        return PASS_PLAN_CHANGED;
    case SELECTION_MEMORY:
        return PASS_PLAN_MEMORY;
    }
    return PASS_PLAN_DONE;
}

/* `total` is the tally of cells, or of all values; NULL if there is none. */
static enum pass_plan_verdict take_quantiles(struct pass_plan *s, const struct tally *total,
                                             const struct tally_set *sets, unsigned workers)
{
    enum selection_verdict verdict = SELECTION_TAKEN;

    if (total && s->uses_cells)
        verdict = selection_take_cells(s->selection, total, sets, workers);
    else if (total && order_is_narrow(s->type))
        selection_take_words(s->selection, total);
    s->quantiles_done = verdict == SELECTION_TAKEN && selection_is_done(s->selection);
    return verdict_of(verdict);
}

/* Whether the range of the histogram would be infinite. */
static bool is_endless(const struct pass_plan *s)
{
    struct histogram_range range;

    return s->request->histogram.kind == HISTOGRAM_BINS && histogram_range(s, &range) &&
           (isinf(range.low) || isinf(range.high));
}

/* `total` is its tally; NULL if there is none. */
static enum pass_plan_verdict take_histogram(struct pass_plan *s, const struct tally *total)
{
    struct histogram_range range = {.low = 0};

    if (s->request->histogram.kind == HISTOGRAM_BINS) {
        (void)histogram_range(s, &range);
        if (!total && !isnan(range.low))
            return PASS_PLAN_DONE; /* the next pass will have it */
    }
    s->histogram_done =
        histogram_make(&s->histogram, &s->request->histogram, s->type, &range, total, &s->first);
    return s->histogram_done ? PASS_PLAN_DONE : PASS_PLAN_MEMORY;
}

void pass_plan_begin(struct pass_plan *s, const struct partial *partial)
{
    s->first = *partial;
    s->begun = true;
    if (s->quantiles_done)
        return;
    s->no_numbers = partial_numbers(&s->first) == 0 || (s->propagate && s->first.nan > 0);
    if (!s->no_numbers)
        selection_begin(s->selection, &s->first);
    s->quantiles_done = s->no_numbers || selection_is_done(s->selection);
}

bool pass_plan_is_done(const struct pass_plan *s)
{
    return s->quantiles_done && s->histogram_done;
}

enum pass_plan_verdict pass_plan_take(struct pass_plan *s, const struct partial *partial,
                                      struct tally_set *sets, unsigned workers)
{
    const unsigned count = (unsigned)s->uses_cells + (unsigned)s->uses_other;
    struct tally *totals[TALLY_PLANS_MAX] = {NULL};
    const bool alone = pass_plan_tallies_alone(s);
    enum pass_plan_verdict verdict = PASS_PLAN_DONE;

    if (!s->begun)
        pass_plan_begin(s, partial);
    else if (!alone && !same_input(&s->first, partial))
        return PASS_PLAN_CHANGED;
    if (is_endless(s))
        return PASS_PLAN_ENDLESS;
    for (unsigned i = 0; i < count; i++) {
        totals[i] = merge(sets, workers, i);
        if (totals[i]->failed)
            return PASS_PLAN_MEMORY;
    }
    if (s->out_of_memory)
        return PASS_PLAN_MEMORY;
    if (alone && !same_bins(&s->first, partial, totals[0]))
        return PASS_PLAN_CHANGED;
    if (!s->quantiles_done)
        verdict = take_quantiles(s, totals[0], sets, workers);
    if (verdict == PASS_PLAN_DONE && !s->histogram_done)
        verdict = take_histogram(s, totals[s->uses_cells]);
    if (verdict != PASS_PLAN_DONE)
        return verdict;
    return pass_plan_is_done(s) ? PASS_PLAN_DONE : PASS_PLAN_MORE;
}

double pass_plan_quantile(const struct pass_plan *s, unsigned i)
{
    return s->no_numbers ? (double)NAN : selection_quantile(s->selection, i, &s->scale);
}

const struct histogram *pass_plan_histogram(const struct pass_plan *s)
{
    return s->request->histogram.kind == HISTOGRAM_NONE ? NULL : &s->histogram;
}
