#include "config.h"

#include "core/survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "core/sample.h"

/* Bytes of elements that all workers together keep at most. */
#define KEPT_BYTES ((size_t)256 << 20)

/* Inputs of so many elements or fewer are kept whole: a sample would not be much smaller. */
#define KEPT_WHOLE ((uint64_t)1 << 18)

/* A sample of n elements has about n^(2/3) / RUNS_LESS runs: the time that it takes grows with
   their number, and the elements that are kept become fewer by its square root. */
#define RUNS_LESS 64
#define RUNS_MIN 256
#define RUNS_MAX ((size_t)1 << 18)
#define RUN_LENGTH 16

/* What is kept in a cell is counted in so many parts of it, as powers of two: the fewer are faster,
   and enough where a sample has found small cells; but large ones are taken apart sooner by more.
 */
#define FINE_BITS 12
#define FINE_BITS_MOST 16
#define FINE_CELLS 4

/* Cells that a sample has suggested, and that were wrong, before one is taken that is known to be
   right. */
#define TRIES_MAX 2

/* An order statistic that is looked for. */
struct wanted {
    unsigned quantile;  /* for which; and whether it is the lower or the upper of its two */
    uint64_t rank;      /* known after the first reading */
    uint64_t low, high; /* the keys that it lies between, both included */
    bool certain;       /* its elements were too many to be kept, and the next ones will be fewer */

    /* While a tally is taken. */
    bool collected; /* it is one of those that are collected: number rank_in_part of part `part` */
    unsigned part;
    uint64_t rank_in_part;
};

/* Two of each quantile. */
#define WANTED_MAX (2 * SURVEY_QUANTILES_MAX)

struct survey {
    const struct survey_request *request;
    uint64_t elements;
    enum element_type type;
    unsigned workers, readings;
    struct partial first; /* what the first reading found */
    struct sample sample; /* of no runs where there is none */

    struct wanted wanted[WANTED_MAX];
    unsigned wanted_count;
    unsigned tries;
    double quantiles[SURVEY_QUANTILES_MAX];
    struct histogram histogram;
    struct tally_plan cells, other; /* of the next reading */

    bool propagate;
    bool quantiles_done, histogram_done;
    bool uses_cells, uses_other;
    bool out_of_memory; /* a plan could not be made */
};

bool survey_asked(const struct survey_request *request)
{
    return request->quantile_count > 0 || request->histogram.kind != HISTOGRAM_NONE;
}

/* Whether all values of the type can be counted one by one. */
static bool is_narrow(const struct survey *s)
{
    return element_size(s->type) <= 2;
}

/* Whether a quantile is the least number, or the greatest, which the partial result tells. */
static bool is_extreme(const struct quantile *q)
{
    return q->numerator == 0 || q->numerator == q->denominator;
}

static bool seeks(const struct survey *s)
{
    for (unsigned i = 0; i < s->request->quantile_count; i++)
        if (!is_extreme(&s->request->quantiles[i]))
            return true;
    return false;
}

struct survey *survey_open(const struct survey_request *request, enum element_type type,
                           uint64_t elements, unsigned workers, bool propagate)
{
    struct survey *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->request = request;
    s->type = type;
    s->elements = elements;
    s->workers = workers ? workers : 1;
    s->propagate = propagate;
    s->quantiles_done = request->quantile_count == 0;
    s->histogram_done = request->histogram.kind == HISTOGRAM_NONE;
    return s;
}

void survey_close(struct survey *s)
{
    if (!s)
        return;
    histogram_free_plan(&s->other);
    histogram_free(&s->histogram);
    sample_free(&s->sample);
    free(s);
}

bool survey_is_single(const struct survey *s, const char **why)
{
    const struct histogram_request *histogram = &s->request->histogram;

    if (is_narrow(s))
        return true;
    if (seeks(s)) {
        *why = "quantiles";
        return false;
    }
    *why = "the range of the histogram";
    return histogram->kind != HISTOGRAM_BINS || histogram->range_given;
}

/*
 * The sample.
 */

struct survey_runs survey_runs(const struct survey *s)
{
    double count = cbrt((double)s->elements);

    if (is_narrow(s) || !seeks(s) || s->elements == UINT64_MAX || s->elements <= KEPT_WHOLE)
        return (struct survey_runs){0, 0};
    count = count * count / RUNS_LESS;
    count = count < RUNS_MIN ? RUNS_MIN : count;
    return (struct survey_runs){count < (double)RUNS_MAX ? (size_t)count : RUNS_MAX, RUN_LENGTH};
}

bool survey_sample(struct survey *s, const void *elements, size_t count, size_t length)
{
    sample_free(&s->sample);
    return sample_take(&s->sample, s->type, elements, count, length);
}

/* The cell in which the sample suggests a quantile to be. */
static struct sample_cell suggest(const struct survey *s, unsigned quantile)
{
    const struct quantile *q = &s->request->quantiles[quantile];

    return sample_suggest(&s->sample, s->type, (double)q->numerator / (double)q->denominator,
                          s->tries);
}

/*
 * Plans.
 */

static int compare_cells(const void *a, const void *b)
{
    const struct sample_cell *x = a, *y = b;

    return (x->low > y->low) - (x->low < y->low);
}

/* Adds an edge, if it is not there yet. The cell from it on is kept if `keep` says so. */
static void add_edge(struct tally_plan *plan, uint64_t key, bool keep)
{
    if (plan->edges == 0 || plan->edge[plan->edges - 1] < key)
        plan->edge[plan->edges++] = key;
    plan->keep[plan->edges - 1] = keep;
}

/* Adds the edges of a cell: its ends are cells of their own where they occur often, and what is of
   one key is not kept. */
static void add_cell(struct tally_plan *plan, const struct sample_cell *cell)
{
    uint64_t low = cell->low, high = cell->high; /* of what is kept */

    if (low == high || cell->low_often)
        add_edge(plan, low++, false);
    if (low < high && cell->high_often)
        high--;
    if (low <= high)
        add_edge(plan, low, low < high);
    if (low <= high && high < cell->high)
        add_edge(plan, high + 1, false);
    add_edge(plan, cell->high + 1, false);
}

/* Makes the plan of cells that overlap nowhere, and of all else. */
static void plan_cells(struct survey *s, struct sample_cell *cells, unsigned count)
{
    struct tally_plan *plan = &s->cells;
    const uint64_t behind = order_greatest(s->type) + 1;
    unsigned last = 0;

    qsort(cells, count, sizeof *cells, compare_cells);
    for (unsigned i = 1; i < count; i++) {
        if (cells[i].low > cells[last].high) {
            cells[++last] = cells[i];
        } else if (cells[i].high > cells[last].high) {
            cells[last].high = cells[i].high;
            cells[last].high_often = cells[i].high_often;
        }
    }
    *plan = (struct tally_plan){.kind = TALLY_CELLS, .type = s->type};
    add_edge(plan, order_least(s->type), false);
    for (unsigned i = 0; i <= last; i++)
        add_cell(plan, &cells[i]);
    add_edge(plan, behind, false);
    for (unsigned i = 0; i < plan->edges; i++)
        plan->kept_cells += plan->keep[i];
    plan->fine_bits =
        plan->kept_cells > FINE_CELLS || s->sample.numbers > 0 ? FINE_BITS : FINE_BITS_MOST;
    plan->room = KEPT_BYTES / element_size(s->type) / s->workers;
}

/* The cells of the first reading. */
static void plan_first_cells(struct survey *s)
{
    struct sample_cell cells[SURVEY_QUANTILES_MAX] = {{.low = 0}};
    unsigned count = 0;

    for (unsigned i = 0; i < s->request->quantile_count; i++)
        if (!is_extreme(&s->request->quantiles[i]))
            cells[count++] = suggest(s, i);
    plan_cells(s, cells, count);
}

/* The cells of a later one: where order statistics are known to be. In a large cell the sample says
   where they rather are. */
static void plan_next_cells(struct survey *s)
{
    struct sample_cell cells[WANTED_MAX] = {{.low = 0}};
    unsigned count = 0;

    s->tries++;
    for (unsigned i = 0; i < s->wanted_count; i++) {
        const struct wanted *w = &s->wanted[i];
        struct sample_cell known = {w->low, w->high, true, true}, cell;

        if (w->low == w->high)
            continue;
        if (!w->certain && s->sample.numbers > 0 && s->tries <= TRIES_MAX) {
            cell = suggest(s, w->quantile);
            if (cell.low > known.low && cell.low <= known.high) {
                known.low = cell.low;
                known.low_often = cell.low_often;
            }
            if (cell.high < known.high && cell.high >= known.low) {
                known.high = cell.high;
                known.high_often = cell.high_often;
            }
        }
        cells[count++] = known;
    }
    plan_cells(s, cells, count);
}

/* Bits of an element below its exponent. */
static unsigned fraction_bits(const struct survey *s)
{
    return (unsigned)element_formats[s->type].significant_bits - 1;
}

/* The range of the histogram, where it is known by now. */
static bool histogram_range(const struct survey *s, double *low, double *high)
{
    const struct histogram_request *r = &s->request->histogram;

    if (r->range_given) {
        *low = r->low;
        *high = r->high;
        return true;
    }
    if (s->readings == 0)
        return false;
    *low = exact_key_value(s->first.min_key);
    *high = exact_key_value(s->first.max_key);
    if (s->first.count == s->first.nan)
        *low = *high = NAN;
    return true;
}

static void plan_histogram(struct survey *s)
{
    double low, high;

    switch (s->request->histogram.kind) {
    case HISTOGRAM_NONE:
        break;
    case HISTOGRAM_BINS:
        if (histogram_range(s, &low, &high)) {
            s->uses_other =
                histogram_plan(&s->other, s->type, s->request->histogram.bins, low, high);
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

unsigned survey_plan(struct survey *s, const struct tally_plan *plans[TALLY_PLANS_MAX])
{
    unsigned count = 0;

    histogram_free_plan(&s->other);
    s->uses_cells = s->uses_other = false;
    if (is_narrow(s)) {
        s->other = (struct tally_plan){.kind = TALLY_WORDS, .type = s->type};
        s->uses_other = true;
    } else {
        if (!s->quantiles_done && seeks(s)) {
            if (s->readings == 0)
                plan_first_cells(s);
            else
                plan_next_cells(s);
            s->uses_cells = true;
        }
        if (!s->histogram_done)
            plan_histogram(s);
    }
    if (s->uses_cells)
        plans[count++] = &s->cells;
    if (s->uses_other)
        plans[count++] = &s->other;
    return count;
}

/*
 * What a reading found.
 */

/* Notes which order statistics are needed: those that quantiles lie on, or between. */
static void want(struct survey *s)
{
    uint64_t numbers = s->first.count - s->first.nan;

    for (unsigned i = 0; i < s->request->quantile_count; i++) {
        struct quantile_place place = quantile_place(&s->request->quantiles[i], numbers);

        for (unsigned j = 0; j < 2; j++)
            s->wanted[2 * i + j] = (struct wanted){.quantile = i,
                                                   .rank = place.rank + (j && place.fraction > 0),
                                                   .low = order_least(s->type),
                                                   .high = order_greatest(s->type)};
    }
    s->wanted_count = 2 * s->request->quantile_count;
}

/* The key of a value of the type. */
static uint64_t key_of(const struct survey *s, int64_t exact_key)
{
    double x = exact_key_value(exact_key);
    uint64_t key = order_first(s->type, x, false);

    /* The first key of a zero is that of -0. */
    return key + (x == 0 && !signbit(x));
}

/* What the extremes tell. */
static void find_extremes(struct survey *s)
{
    for (unsigned i = 0; i < s->wanted_count; i++) {
        struct wanted *w = &s->wanted[i];

        if (w->rank == 0)
            w->low = w->high = key_of(s, s->first.min_key);
        if (w->rank == s->first.count - s->first.nan - 1)
            w->low = w->high = key_of(s, s->first.max_key);
    }
}

/* What counts of all values tell. */
static void find_in_words(struct survey *s, const struct tally *tally)
{
    const uint64_t last = order_greatest(s->type);

    for (unsigned i = 0; i < s->wanted_count; i++) {
        struct wanted *w = &s->wanted[i];
        uint64_t rank = w->rank, key = order_least(s->type), count;

        while (key < last && rank >= (count = tally->counts[order_bits(s->type, key)])) {
            rank -= count;
            key++;
        }
        w->low = w->high = key;
    }
}

/* A part of a cell, whose elements were kept, and hold order statistics. */
struct part {
    uint64_t low, high; /* its keys, both included */
    uint64_t count, found;
    uint64_t *keys; /* in the end sorted */
};

struct parts {
    struct part part[WANTED_MAX];
    unsigned count;
};

/* Puts the elements of a worker's tally into the parts that they belong to. False if they are more
   than were counted. The size is a constant. */
static inline bool collect_keys(struct parts *parts, enum element_type type, const struct tally *t,
                                size_t size)
{
    for (size_t i = 0; i < t->kept_count; i++) {
        const unsigned char *at = (const unsigned char *)t->kept + i * size;
        uint64_t bits = 0, key;
        uint32_t word;

        if (size == sizeof word) {
            memcpy(&word, at, sizeof word);
            bits = word;
        } else {
            memcpy(&bits, at, sizeof bits);
        }
        key = order_key(type, bits);
        for (unsigned j = 0; j < parts->count; j++) {
            struct part *p = &parts->part[j];

            if (key - p->low <= p->high - p->low) {
                if (p->found == p->count)
                    return false;
                p->keys[p->found++] = key;
            }
        }
    }
    return true;
}

/* Collects and sorts the elements of all parts. */
static enum survey_verdict collect(const struct survey *s, const struct tally_set *sets,
                                   unsigned workers, struct parts *parts)
{
    const size_t size = element_size(s->type);

    for (unsigned j = 0; j < parts->count; j++) {
        parts->part[j].keys = malloc((size_t)parts->part[j].count * sizeof *parts->part[j].keys);
        if (!parts->part[j].keys)
            return SURVEY_MEMORY;
    }
    /* What was counted and what was kept differ if the input changed in between. */
    for (unsigned i = 0; i < workers; i++)
        if (!(size == 4 ? collect_keys(parts, s->type, &sets[i].tally[0], 4)
                        : collect_keys(parts, s->type, &sets[i].tally[0], 8)))
            return SURVEY_CHANGED;
    for (unsigned j = 0; j < parts->count; j++) {
        struct part *p = &parts->part[j];
        uint64_t *scratch = malloc((size_t)p->count * sizeof *scratch), *sorted;

        if (!scratch)
            return SURVEY_MEMORY;
        sorted = order_sort(p->keys, scratch, (size_t)p->found, (unsigned)(8 * size));
        free(sorted == scratch ? p->keys : scratch);
        p->keys = sorted;
        if (p->found < p->count)
            return SURVEY_CHANGED;
    }
    return SURVEY_DONE;
}

/* Narrows down to where order statistic w, number *rank of the cell, is by the fine counts. Sets
 *rank to its number there, and returns how many elements that part has. */
static uint64_t narrow(struct wanted *w, const struct tally *total, unsigned cell, uint64_t *rank)
{
    const struct tally_plan *plan = total->plan;
    const unsigned shift = tally_fine_shift(plan, cell);
    const uint64_t *fine = total->fine + ((size_t)tally_fine_cell(plan, cell) << plan->fine_bits);
    const size_t parts = (size_t)1 << plan->fine_bits;
    uint64_t part = 0;

    while (part < parts - 1 && *rank >= fine[part])
        *rank -= fine[part++];
    w->low = plan->edge[cell] + (part << shift);
    if ((w->high - w->low) >> shift != 0)
        w->high = w->low + ((UINT64_C(1) << shift) - 1);
    return fine[part];
}

/* Finds out where an order statistic is: its key, or a smaller cell; or, where the elements of that
   were kept, its number in a part that is to be collected. */
static enum survey_verdict locate(struct wanted *w, const struct tally *total, struct parts *parts)
{
    const struct tally_plan *plan = total->plan;
    uint64_t rank = w->rank + total->counts[0], count; /* NaNs lie before the first edge */
    unsigned cell = 0, part = 0;

    while (cell + 2 < plan->edges && rank >= total->counts[cell + 1])
        cell++;
    w->low = plan->edge[cell];
    w->high = plan->edge[cell + 1] - 1;
    if (w->low == w->high || !plan->keep[cell])
        return SURVEY_DONE;
    w->certain = true;
    rank -= total->counts[cell];
    count =
        total->fine ? narrow(w, total, cell, &rank) : total->counts[cell + 1] - total->counts[cell];
    if (rank >= count)
        return SURVEY_CHANGED;
    if (w->low == w->high || total->dropped)
        return SURVEY_DONE;
    while (part < parts->count && parts->part[part].low != w->low)
        part++;
    if (part == parts->count)
        parts->part[parts->count++] = (struct part){.low = w->low, .high = w->high, .count = count};
    w->part = part;
    w->rank_in_part = rank;
    w->collected = true;
    return SURVEY_DONE;
}

/* Merges the workers' tallies number `number` into the first. */
static struct tally *merge(struct tally_set *sets, unsigned workers, unsigned number)
{
    struct tally *total = &sets[0].tally[number];
    bool fine = false;

    for (unsigned i = 0; i < workers; i++)
        fine = fine || sets[i].tally[number].fine;
    for (unsigned i = 0; i < workers; i++) {
        if (fine)
            tally_count_kept(&sets[i].tally[number]);
        if (i > 0)
            tally_merge(total, &sets[i].tally[number]);
    }
    return total;
}

/* Whether the partial result is that of the first reading. */
static bool same_input(const struct partial *a, const struct partial *b)
{
    return a->count == b->count && a->nan == b->nan &&
           a->positive_infinity == b->positive_infinity &&
           a->negative_infinity == b->negative_infinity && a->min_key == b->min_key &&
           a->max_key == b->max_key;
}

/* Takes the tally of cells. */
static enum survey_verdict take_cells(struct survey *s, const struct tally *total,
                                      const struct tally_set *sets, unsigned workers)
{
    const uint64_t numbers = s->first.count - s->first.nan;
    struct parts parts = {.count = 0};
    enum survey_verdict verdict = SURVEY_DONE;

    if (total->counts[total->plan->edges - 1] - total->counts[0] != numbers)
        return SURVEY_CHANGED;
    for (unsigned i = 0; i < s->wanted_count && verdict == SURVEY_DONE; i++)
        if (s->wanted[i].low != s->wanted[i].high)
            verdict = locate(&s->wanted[i], total, &parts);
    if (verdict == SURVEY_DONE)
        verdict = collect(s, sets, workers, &parts);
    for (unsigned i = 0; i < s->wanted_count && verdict == SURVEY_DONE; i++) {
        struct wanted *w = &s->wanted[i];

        if (w->collected)
            w->low = w->high = parts.part[w->part].keys[w->rank_in_part];
        w->collected = false;
    }
    for (unsigned j = 0; j < parts.count; j++)
        free(parts.part[j].keys);
    return verdict;
}

/* Works out the quantiles if all order statistics are known. */
static void conclude(struct survey *s)
{
    const uint64_t numbers = s->first.count - s->first.nan;

    for (unsigned i = 0; i < s->wanted_count; i++)
        if (s->wanted[i].low != s->wanted[i].high)
            return;
    for (size_t i = 0; i < s->request->quantile_count; i++) {
        const struct quantile *q = &s->request->quantiles[i];
        struct quantile_place place = quantile_place(q, numbers);

        s->quantiles[i] = quantile_between(s->type, s->wanted[2 * i].low, s->wanted[2 * i + 1].low,
                                           place.fraction, q->denominator);
    }
    s->quantiles_done = true;
}

/* `total` is the tally of cells, or of all values; NULL if there is none. */
static enum survey_verdict take_quantiles(struct survey *s, const struct tally *total,
                                          const struct tally_set *sets, unsigned workers)
{
    enum survey_verdict verdict = SURVEY_DONE;

    if (s->first.count == s->first.nan || (s->propagate && s->first.nan > 0)) {
        for (unsigned i = 0; i < s->request->quantile_count; i++)
            s->quantiles[i] = NAN;
        s->quantiles_done = true;
        return SURVEY_DONE;
    }
    if (s->readings == 1) {
        want(s);
        find_extremes(s);
    }
    if (total && s->uses_cells)
        verdict = take_cells(s, total, sets, workers);
    else if (total && is_narrow(s))
        find_in_words(s, total);
    if (verdict == SURVEY_DONE)
        conclude(s);
    return verdict;
}

/* `total` is its tally; NULL if there is none. */
static enum survey_verdict take_histogram(struct survey *s, const struct tally *total)
{
    double low = 0, high = 0;

    if (s->request->histogram.kind == HISTOGRAM_BINS) {
        (void)histogram_range(s, &low, &high);
        if (isinf(low) || isinf(high))
            return SURVEY_ENDLESS;
        if (!total && !isnan(low))
            return SURVEY_DONE; /* the next reading will have it */
    }
    s->histogram_done =
        histogram_make(&s->histogram, &s->request->histogram, s->type, low, high, total, &s->first);
    return s->histogram_done ? SURVEY_DONE : SURVEY_MEMORY;
}

enum survey_verdict survey_take(struct survey *s, const struct partial *partial,
                                struct tally_set *sets, unsigned workers)
{
    const unsigned count = (unsigned)s->uses_cells + (unsigned)s->uses_other;
    struct tally *totals[TALLY_PLANS_MAX] = {NULL};
    enum survey_verdict verdict = SURVEY_DONE;

    if (s->readings == 0)
        s->first = *partial;
    else if (!same_input(&s->first, partial))
        return SURVEY_CHANGED;
    s->readings++;
    for (unsigned i = 0; i < count; i++) {
        totals[i] = merge(sets, workers, i);
        if (totals[i]->failed)
            return SURVEY_MEMORY;
    }
    if (s->out_of_memory)
        return SURVEY_MEMORY;
    if (!s->quantiles_done)
        verdict = take_quantiles(s, totals[0], sets, workers);
    if (verdict == SURVEY_DONE && !s->histogram_done)
        verdict = take_histogram(s, totals[s->uses_cells]);
    if (verdict != SURVEY_DONE)
        return verdict;
    return s->quantiles_done && s->histogram_done ? SURVEY_DONE : SURVEY_MORE;
}

double survey_quantile(const struct survey *s, unsigned i)
{
    return s->quantiles[i];
}

const struct histogram *survey_histogram(const struct survey *s)
{
    return s->request->histogram.kind == HISTOGRAM_NONE ? NULL : &s->histogram;
}
