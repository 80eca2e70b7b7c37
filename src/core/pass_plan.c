#include "config.h"

#include "core/pass_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "core/scaled.h"
#include "sys/search.h"

/*
 * Samples: where in the order of an input's elements a quantile is likely to be. A sample is of runs
 * of neighbouring elements, at places that are spread evenly over the input.
 */

struct sample {
    size_t run_count, run_length;
    uint64_t *runs;   /* keys in their order in the input, allocated, and then the others: */
    uint64_t *sorted; /* the keys of numbers, in ascending order */
    size_t numbers;   /* how many these are */
};

/* A cell of keys, both of its ends included. */
struct sample_cell {
    uint64_t low, high;
};

/* A cell reaches so many standard errors to either side. Missing an order statistic costs a
   pass, keeping more elements costs time in each. */
#define STANDARD_ERRORS 3

/* Bytes of elements that all workers together keep at most. */
#define KEPT_BYTES ((size_t)256 << 20)

/* A sample of n elements has about n^(2/3) / RUNS_LESS runs: the time that it takes grows with
   their number, and the elements that are kept become fewer by its square root. */
#define RUNS_LESS 64
#define RUNS_MIN 256
#define RUNS_MAX ((size_t)1 << 18)
#define RUN_LENGTH 16

/* The kept elements of a cell are counted in so many parts of it, as powers of two: the fewer are
   faster, and enough where a sample has found small cells; but large ones are taken apart sooner by
   more, by less where there are more of them than FINE_CELLS. */
#define FINE_BITS 8
#define FINE_BITS_MANY 12
#define FINE_BITS_MOST 16
#define FINE_CELLS 4

/* A key that is so large a part of the sample, or larger, is a cell of its own: counting it takes
   less than keeping its elements. If the elements to be kept take more than half of their room,
   each key that the sample has so many times is one. */
#define OFTEN_PART 256
#define OFTEN_MIN 16

/* The most cells that come of one that is asked for, without those of such keys: its ends, what is
   between them, and what lies behind. */
#define CELLS_EACH 4

/* Cells that a sample has suggested, and that were wrong, before one is taken that is known to be
   right. */
#define TRIES_MAX 2

/* An order statistic that is looked for. */
struct wanted {
    unsigned quantile;  /* for which; and whether it is the lower or the upper of its two */
    uint64_t rank;      /* known after the first pass */
    uint64_t low, high; /* the keys that it lies between, both included */
    bool certain;       /* its elements were too many to be kept, and the next ones will be fewer */

    /* While a tally is taken. */
    bool collected; /* it is one of those that are collected: number rank_in_part of part `part` */
    unsigned part;
    uint64_t rank_in_part;
};

/* Two of each quantile. */
#define WANTED_MAX (2 * PASS_PLAN_QUANTILES_MAX)
_Static_assert(TALLY_CELLS_MAX > CELLS_EACH * WANTED_MAX, "room for the cells of all");

struct pass_plan {
    const struct pass_request *request;
    enum element_type type;
    struct scale scale;
    uint64_t elements; /* UINT64_MAX: unknown */
    unsigned workers;
    bool propagate;
    struct partial first; /* what the first pass found */
    bool begun;           /* that is known */

    struct quantile quantiles[PASS_PLAN_QUANTILES_MAX]; /* of the stored numbers */
    bool quantiles_done;
    bool no_numbers;      /* all quantiles are NaN */
    struct sample sample; /* of no runs where there is none */
    struct wanted wanted[WANTED_MAX];
    unsigned wanted_count;
    unsigned tries;
    bool planned;            /* a pass has been, of cells */
    struct tally_plan cells; /* of the next pass */

    struct histogram histogram;
    bool histogram_done;
    struct tally_plan other; /* of the next pass: words, or bins */
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
    s->elements = elements;
    s->workers = workers ? workers : 1;
    for (unsigned i = 0; i < request->quantile_count; i++)
        s->quantiles[i] = quantile_stored(&request->quantiles[i], scale);
    s->propagate = propagate;
    s->quantiles_done = request->quantile_count == 0;
    s->histogram_done = request->histogram.kind == HISTOGRAM_NONE;
    return s;
}

static void sample_free(struct sample *s)
{
    free(s->runs);
    *s = (struct sample){.runs = NULL};
}

void pass_plan_close(struct pass_plan *s)
{
    if (!s)
        return;
    sample_free(&s->sample);
    histogram_free_plan(&s->other);
    histogram_free(&s->histogram);
    free(s);
}

/* Whether quantiles take cells to be found. */
static bool seeks(const struct pass_plan *s)
{
    if (!order_is_narrow(s->type))
        for (unsigned i = 0; i < s->request->quantile_count; i++)
            if (!quantile_is_extreme(&s->quantiles[i]))
                return true;
    return false;
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

bool pass_plan_tells_all(const struct pass_plan *s)
{
    const struct histogram_request *const histogram = &s->request->histogram;
    bool sought = seeks(s) && s->histogram_done;

    if (s->quantiles_done && !order_is_narrow(s->type))
        return histogram->kind == HISTOGRAM_BINS && histogram->range_given;
    for (unsigned i = 0; i < s->request->quantile_count; i++)
        sought = sought && !quantile_is_extreme(&s->quantiles[i]);
    return sought;
}

/*
 * Samples.
 */

/* The key of what is missing in a run. It lies beyond all numbers; but 64 bits have a number with
   this key, which then seems to be there more often where the spread of runs is estimated. */
#define MISSING_KEY UINT64_MAX

bool pass_plan_sample(struct pass_plan *s, const void *elements, const bool *missing, size_t count,
                      size_t length)
{
    const size_t size = element_size(s->type), total = count * length;
    const uint64_t least = order_least(s->type), greatest = order_greatest(s->type);
    struct sample *const sample = &s->sample;
    uint64_t *memory;

    if (s->request->quantile_count == 0)
        return true;
    sample_free(sample);
    memory =
        malloc(3 * total * sizeof *memory); /* at once: several would be given back to the system */
    if (!memory)
        return false;
    *sample = (struct sample){count, length, memory, memory + total, 0};
    for (size_t i = 0; i < total; i++) {
        uint64_t key = order_key(s->type, order_load(s->type, (const char *)elements + i * size));

        sample->runs[i] = missing && missing[i] ? MISSING_KEY : key;
        if (key >= least && key <= greatest && !(missing && missing[i]))
            sample->sorted[sample->numbers++] = key;
    }
    sample->sorted =
        order_sort(memory + total, memory + 2 * total, sample->numbers, (unsigned)(8 * size));
    return true;
}

/* The standard error of the part of all numbers that are at most `key`. Runs are compared with
   their neighbours alone, since what changes slowly along the input is sampled evenly (K. M.
   Wolter, "An investigation of some estimators of variance for systematic sampling", 1984). */
static double standard_error(const struct sample *s, uint64_t least, uint64_t key)
{
    double squares = 0;
    size_t before = 0;

    for (size_t run = 0; run < s->run_count; run++) {
        const uint64_t *keys = s->runs + run * s->run_length;
        double difference;
        size_t count = 0;

        for (size_t i = 0; i < s->run_length; i++)
            count += keys[i] - least <= key - least;
        difference = run > 0 ? (double)count - (double)before : 0;
        squares += difference * difference;
        before = count;
    }
    return sqrt(squares / 2) / (double)s->numbers;
}

/* The cell that a quantile is in, most likely; twice as wide for each try. Without numbers in the sample
   it is all there is. */
static struct sample_cell suggest(const struct pass_plan *s, unsigned quantile)
{
    const struct sample *sample = &s->sample;
    const struct quantile *q = &s->quantiles[quantile];
    const double n = (double)sample->numbers;
    const double place = (double)q->numerator / (double)q->denominator * (n - 1);
    struct sample_cell cell = {order_least(s->type), order_greatest(s->type)};
    double margin, low, high;

    if (sample->numbers == 0)
        return cell;
    margin = standard_error(sample, cell.low, sample->sorted[(size_t)place]);
    margin = ldexp(STANDARD_ERRORS * margin * n + 2, (int)s->tries);
    low = floor(place - margin);
    high = ceil(place + margin);
    if (low > 0)
        cell.low = sample->sorted[(size_t)low];
    if (high < n - 1)
        cell.high = sample->sorted[(size_t)high];
    return cell;
}

/* How many numbers of the sample are less than the key. */
static size_t below(const struct sample *s, uint64_t key)
{
    size_t low = 0, high = s->numbers;

    SEARCH(low, high, s->sorted[middle] < key);
    return low;
}

/* The first key of the cell that the sample has at least `often` times, which is not 0. False if
   there is none. */
static bool sample_often(const struct sample *s, struct sample_cell cell, size_t often,
                         uint64_t *key)
{
    for (size_t i = below(s, cell.low); i + often <= s->numbers && s->sorted[i] <= cell.high; i++) {
        if (s->sorted[i] == s->sorted[i + often - 1]) {
            *key = s->sorted[i];
            return true;
        }
    }
    return false;
}

/* How many numbers of the sample are in the cell, and have keys that it has less often. */
static size_t sample_rare(const struct sample *s, struct sample_cell cell, size_t often)
{
    size_t rare = 0, end;

    for (size_t i = below(s, cell.low); i < s->numbers && s->sorted[i] <= cell.high; i = end) {
        for (end = i + 1; end < s->numbers && s->sorted[end] == s->sorted[i];)
            end++;
        rare += end - i < often ? end - i : 0;
    }
    return rare;
}

/* The cube root of n, rounded down; 2^21 - 1 at most. */
static uint64_t cube_root(uint64_t n)
{
    uint64_t root = 0;

    for (uint64_t bit = UINT64_C(1) << 20; bit > 0; bit /= 2) {
        const uint64_t next = root + bit;

        if (next * next * next <= n)
            root = next;
    }
    return root;
}

struct pass_runs pass_plan_runs(const struct pass_plan *s)
{
    double count = (double)cube_root(s->elements);

    if (!seeks(s) || s->elements == UINT64_MAX || s->elements <= PASS_KEYS_FEW)
        return (struct pass_runs){0, 0};
    count = count * count / RUNS_LESS;
    count = count < RUNS_MIN ? RUNS_MIN : count;
    return (struct pass_runs){count < (double)RUNS_MAX ? (size_t)count : RUNS_MAX, RUN_LENGTH};
}

/*
 * Plans of cells.
 */

/* A cell that is asked for. */
struct asked {
    struct sample_cell keys;
    bool low_apart, high_apart; /* its ends are cells of their own */
};

static int compare_cells(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;

    return (x->keys.low > y->keys.low) - (x->keys.low < y->keys.low);
}

/* Begins a cell with this key, if none begins there yet. `keep` says whether it is kept. */
static void add_first(struct tally_plan *plan, uint64_t key, bool keep)
{
    if (plan->cells == 0 || plan->first[plan->cells - 1] < key)
        plan->first[plan->cells++] = key;
    plan->keep[plan->cells - 1] = keep;
}

/* Begins a cell behind this key, unless there is nothing. */
static void add_behind(struct tally_plan *plan, uint64_t key)
{
    if (key < order_greatest(plan->type))
        add_first(plan, key + 1, false);
}

/* Finds the next key that is to be a cell of its own: the first one of those from `from` on up to
   the end of the cell, in which there are any. If there is none, *key is that end. */
static bool find_apart(const struct pass_plan *s, const struct asked *cell, uint64_t from,
                       size_t often, uint64_t *key)
{
    const struct sample_cell rest = {from, cell->keys.high};

    *key = from;
    if (from == rest.high || (from == cell->keys.low && cell->low_apart))
        return true;
    if (often > 0 && sample_often(&s->sample, rest, often, key))
        return true;
    *key = rest.high;
    return cell->high_apart;
}

/* Adds a cell, to be kept but for keys that are cells of their own. The plan has at most `most`
   cells besides those of frequent keys. */
static void add_cell(struct pass_plan *s, const struct asked *cell, size_t often, unsigned most)
{
    struct tally_plan *plan = &s->cells;
    uint64_t from = cell->keys.low, key;

    do {
        /* A gap, the key, and what may follow: a gap, the end, and what lies behind. */
        const bool room = plan->cells + 5 <= most;
        const bool apart = find_apart(s, cell, from, room ? often : 0, &key);

        if (from < key)
            add_first(plan, from, !apart || key - from > 1);
        if (apart)
            add_first(plan, key, false);
        from = key + 1;
    } while (key < cell->keys.high);
    add_behind(plan, cell->keys.high);
}

/* How often a key is in the sample that is to be a cell of its own. */
static size_t often_enough(const struct pass_plan *s, const struct asked *cells, unsigned count)
{
    const double numbers = (double)s->sample.numbers;
    const size_t half = KEPT_BYTES / element_size(s->type) / 2;
    double kept = 0;
    size_t often = s->sample.numbers / OFTEN_PART;

    often = often > OFTEN_MIN ? often : OFTEN_MIN;
    for (unsigned i = 0; i < count; i++)
        kept += (double)sample_rare(&s->sample, cells[i].keys, often);
    if (kept / numbers * (double)s->elements > (double)half)
        often = OFTEN_MIN;
    return often;
}

/* Makes the plan of cells that overlap nowhere, and of all else. */
static void plan_cells(struct pass_plan *s, struct asked *cells, unsigned count)
{
    struct tally_plan *plan = &s->cells;
    unsigned last = 0;
    size_t often;

    qsort(cells, count, sizeof *cells, compare_cells);
    for (unsigned i = 1; i < count; i++) {
        if (cells[i].keys.low > cells[last].keys.high) {
            cells[++last] = cells[i];
        } else if (cells[i].keys.high > cells[last].keys.high) {
            cells[last].keys.high = cells[i].keys.high;
            cells[last].high_apart = cells[i].high_apart;
        }
    }
    often = often_enough(s, cells, last + 1);
    *plan = (struct tally_plan){.kind = TALLY_CELLS, .type = s->type};
    add_first(plan, order_least(s->type), false);
    for (unsigned i = 0; i <= last; i++)
        add_cell(s, &cells[i], often, TALLY_CELLS_MAX - CELLS_EACH * (last - i));
    for (unsigned i = 0; i < plan->cells; i++)
        plan->kept_cells += plan->keep[i];
    plan->fine_bits = FINE_BITS;
    if (s->sample.numbers == 0 || s->tries > 0)
        plan->fine_bits = s->sample.numbers > 0 || plan->kept_cells > FINE_CELLS ? FINE_BITS_MANY
                                                                                 : FINE_BITS_MOST;
    plan->room = KEPT_BYTES / element_size(s->type) / s->workers;
}

/* The cells of the first pass. */
static void plan_first_cells(struct pass_plan *s)
{
    struct asked cells[PASS_PLAN_QUANTILES_MAX] = {{.low_apart = false}};
    unsigned count = 0;

    for (unsigned i = 0; i < s->request->quantile_count; i++)
        if (!quantile_is_extreme(&s->quantiles[i]))
            cells[count++].keys = suggest(s, i);
    plan_cells(s, cells, count);
}

/* The cells of a later one: where order statistics are known to be. In a large cell the sample says
   where they rather are. */
static void plan_next_cells(struct pass_plan *s)
{
    struct asked cells[WANTED_MAX] = {{.low_apart = false}};
    unsigned count = 0;

    s->tries += s->planned;
    for (unsigned i = 0; i < s->wanted_count; i++) {
        const struct wanted *w = &s->wanted[i];
        struct asked known = {{w->low, w->high}, true, true};
        struct sample_cell cell;

        if (w->low == w->high)
            continue;
        if (!w->certain && s->sample.numbers > 0 && s->tries <= TRIES_MAX) {
            cell = suggest(s, w->quantile);
            if (cell.low > known.keys.low && cell.low <= known.keys.high) {
                known.keys.low = cell.low;
                known.low_apart = false;
            }
            if (cell.high < known.keys.high && cell.high >= known.keys.low) {
                known.keys.high = cell.high;
                known.high_apart = false;
            }
        }
        cells[count++] = known;
    }
    plan_cells(s, cells, count);
}

/*
 * Order statistics that a pass has found.
 */

/* Begins to look for the order statistics that quantiles are made of. */
static void begin_wanted(struct pass_plan *s)
{
    const uint64_t numbers = partial_numbers(&s->first);

    s->wanted_count = 2 * s->request->quantile_count;
    for (unsigned i = 0; i < s->wanted_count; i++) {
        struct wanted *w = &s->wanted[i];
        const struct quantile_place place = quantile_place(&s->quantiles[i / 2], numbers);

        /* Those that quantiles lie on, or between. */
        *w = (struct wanted){.quantile = i / 2,
                             .rank = place.rank + (i % 2 && place.fraction > 0),
                             .low = order_least(s->type),
                             .high = order_greatest(s->type)};
        if (s->first.min_key > s->first.max_key)
            continue; /* it has no extremes */
        if (w->rank == 0)
            w->low = w->high = order_from_element_key(s->type, s->first.min_key);
        if (w->rank == numbers - 1)
            w->low = w->high = order_from_element_key(s->type, s->first.max_key);
    }
}

/* Finds them by counts of all values. */
static void take_words(struct pass_plan *s, const struct tally *total)
{
    const uint64_t last = order_greatest(s->type);

    for (unsigned i = 0; i < s->wanted_count; i++) {
        struct wanted *w = &s->wanted[i];
        uint64_t rank = w->rank, key = order_least(s->type), count;

        while (key < last && rank >= (count = total->counts[order_bits(s->type, key)])) {
            rank -= count;
            key++;
        }
        w->low = w->high = key;
    }
}

/* A part of a cell, whose elements were kept, and hold order statistics. */
struct part {
    uint64_t low, high; /* its keys, both included */
    size_t fine;        /* the number of its fine count, where there are any */
    uint64_t count, found;
    uint64_t *keys; /* NULL where there is one alone, which is low and high */
};

struct parts {
    struct part part[WANTED_MAX];
    unsigned count;
    uint64_t *memory;  /* allocated: the keys of all, and then: */
    uint64_t *scratch; /* room for those of the largest */
};

/* Takes the elements of a worker's tally into the parts that they belong to: it looks through all
   of them, unless they stand in order. False if they are more than were counted. The size is a
   constant. */
static inline bool collect_keys(struct parts *parts, enum element_type type, const struct tally *t,
                                size_t size)
{
    const uint32_t *words = t->kept;
    const uint64_t *wide = t->kept;

    for (unsigned j = 0; t->place && j < parts->count; j++) {
        struct part *p = &parts->part[j];
        size_t begin, end;

        for (size_t block = 0; p->keys && tally_kept(t, block, p->fine, &begin, &end); block++)
            for (size_t i = begin; i < end; i++) {
                if (p->found == p->count)
                    return false;
                p->keys[p->found++] = order_key(type, size == sizeof *words ? words[i] : wide[i]);
            }
    }
    for (unsigned j = 0; !t->place && j < parts->count; j++) {
        struct part *p = &parts->part[j];

        /* Without a branch for each. */
        for (size_t i = 0; p->keys && i < t->kept_count && p->found <= p->count; i++) {
            const uint64_t key = order_key(type, size == sizeof *words ? words[i] : wide[i]);

            p->keys[p->found] = key;
            p->found += key - p->low <= p->high - p->low;
        }
        if (p->found > p->count)
            return false;
    }
    return true;
}

/* Whether all elements of a part have one key, which is then *key; where all workers have them in
   order. No elements are collected for that, and mostly the second one decides. */
static bool is_one_key(const struct part *p, enum element_type type, const struct tally_set *sets,
                       unsigned workers, uint64_t *key)
{
    const size_t size = element_size(type);
    const char *first = NULL;
    uint64_t found = 0;

    for (unsigned i = 0; i < workers; i++) {
        const struct tally *t = &sets[i].tally[0];
        size_t begin, end;

        for (size_t block = 0; t->place && tally_kept(t, block, p->fine, &begin, &end); block++) {
            const char *x = (const char *)t->kept + begin * size;

            if (begin == end)
                continue;
            first = first ? first : x;
            if (memcmp(first, x, size) != 0 || memcmp(x, x + size, (end - begin - 1) * size) != 0)
                return false;
            found += end - begin;
        }
    }
    if (found != p->count)
        return false;
    *key = order_key(type, order_load(type, first));
    return true;
}

/* Collects the elements of all parts. */
static enum pass_plan_verdict collect(const struct pass_plan *s, const struct tally_set *sets,
                                      unsigned workers, struct parts *parts)
{
    const size_t size = element_size(s->type);
    uint64_t all = 0, most = 0;

    for (unsigned j = 0; j < parts->count; j++) {
        struct part *p = &parts->part[j];
        uint64_t key;

        if (is_one_key(p, s->type, sets, workers, &key)) {
            p->low = p->high = key;
            continue;
        }
        all += p->count + 1; /* there is room for one that was not counted */
        most = p->count > most ? p->count : most;
    }
    if (all == 0)
        return PASS_PLAN_DONE;
    parts->memory = malloc((size_t)(all + most) * sizeof *parts->memory);
    if (!parts->memory)
        return PASS_PLAN_MEMORY;
    parts->scratch = parts->memory;
    for (unsigned j = 0; j < parts->count; j++)
        if (parts->part[j].low < parts->part[j].high) {
            parts->part[j].keys = parts->scratch;
            parts->scratch += parts->part[j].count + 1;
        }
    /* The numbers counted and kept differ if the input changed in between. */
    for (unsigned i = 0; i < workers; i++)
        if (!(size == 4 ? collect_keys(parts, s->type, &sets[i].tally[0], 4)
                        : collect_keys(parts, s->type, &sets[i].tally[0], 8)))
            return PASS_PLAN_CHANGED;
    for (unsigned j = 0; j < parts->count; j++)
        if (parts->part[j].keys && parts->part[j].found < parts->part[j].count)
            return PASS_PLAN_CHANGED;
    return PASS_PLAN_DONE;
}

/* Finds the order statistics that lie in part number `number`, whose keys have been collected. */
static void find_in_part(struct pass_plan *s, unsigned number, const struct parts *parts)
{
    const struct part *const p = &parts->part[number];
    struct order_statistic found[WANTED_MAX];
    unsigned count = 0;

    for (unsigned i = 0; i < s->wanted_count; i++)
        if (s->wanted[i].collected && s->wanted[i].part == number)
            found[count++] = (struct order_statistic){s->wanted[i].rank_in_part, p->low, i};
    if (p->keys)
        order_select(p->keys, parts->scratch, (size_t)p->found, found, count);
    for (unsigned i = 0; i < count; i++) {
        struct wanted *w = &s->wanted[found[i].owner];

        w->low = w->high = found[i].key;
        w->collected = false;
    }
}

/* Narrows down to where order statistic w, number *rank of the cell, is by the fine counts. Sets
 *rank to its number there, and returns the number of the fine count. */
static size_t narrow(struct wanted *w, const struct tally *total, unsigned cell, uint64_t *rank)
{
    const struct tally_plan *plan = total->plan;
    const unsigned shift = tally_fine_shift(plan, cell);
    const size_t first = (size_t)tally_fine_cell(plan, cell) << plan->fine_bits;
    const size_t parts = (size_t)1 << plan->fine_bits;
    uint64_t part = 0;

    while (part < parts - 1 && *rank >= total->fine[first + part])
        *rank -= total->fine[first + part++];
    w->low = plan->first[cell] + (part << shift);
    if ((w->high - w->low) >> shift != 0)
        w->high = w->low + ((UINT64_C(1) << shift) - 1);
    return first + part;
}

/* Finds out where an order statistic is: its key, or a smaller cell; or, where the elements of that
   were kept, its number in a part that is to be collected. */
static enum pass_plan_verdict locate(struct wanted *w, const struct tally *total,
                                     struct parts *parts)
{
    const struct tally_plan *plan = total->plan;
    uint64_t rank = w->rank + total->counts[0], count; /* NaNs lie before the first cell */
    unsigned cell = 0, part = 0;
    size_t fine = 0;

    while (cell + 1 < plan->cells && rank >= total->counts[cell + 1])
        cell++;
    w->low = plan->first[cell];
    w->high = tally_last(plan, cell);
    if (w->low == w->high || !plan->keep[cell])
        return PASS_PLAN_DONE;
    w->certain = true;
    rank -= total->counts[cell];
    if (total->fine)
        fine = narrow(w, total, cell, &rank);
    count = total->fine ? total->fine[fine] : total->counts[cell + 1] - total->counts[cell];
    if (rank >= count)
        return PASS_PLAN_CHANGED;
    if (w->low == w->high || total->dropped)
        return PASS_PLAN_DONE;
    while (part < parts->count && parts->part[part].low != w->low)
        part++;
    if (part == parts->count)
        parts->part[parts->count++] =
            (struct part){.low = w->low, .high = w->high, .fine = fine, .count = count};
    w->part = part;
    w->rank_in_part = rank;
    w->collected = true;
    return PASS_PLAN_DONE;
}

/* Finds them by a tally of cells, merged from those of the workers, which have the elements that were
   kept as tally number 0. */
static enum pass_plan_verdict take_cells(struct pass_plan *s, const struct tally *total,
                                         const struct tally_set *sets, unsigned workers)
{
    enum pass_plan_verdict verdict = PASS_PLAN_DONE;
    struct parts *parts;

    if (total->counts[total->plan->cells] - total->counts[0] != partial_numbers(&s->first))
        return PASS_PLAN_CHANGED;
    parts = calloc(1, sizeof *parts); /* 20 KiB: a stack may be small */
    if (!parts)
        return PASS_PLAN_MEMORY;
    for (unsigned i = 0; i < s->wanted_count && verdict == PASS_PLAN_DONE; i++)
        if (s->wanted[i].low != s->wanted[i].high)
            verdict = locate(&s->wanted[i], total, parts);
    if (verdict == PASS_PLAN_DONE)
        verdict = collect(s, sets, workers, parts);
    for (unsigned j = 0; j < parts->count && verdict == PASS_PLAN_DONE; j++)
        find_in_part(s, j, parts);
    free(parts->memory);
    free(parts);
    return verdict;
}

/* Whether all of them are known. */
static bool wanted_are_known(const struct pass_plan *s)
{
    for (unsigned i = 0; i < s->wanted_count; i++)
        if (s->wanted[i].low != s->wanted[i].high)
            return false;
    return true;
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
    if (s->uses_cells) {
        if (s->begun)
            plan_next_cells(s);
        else
            plan_first_cells(s);
        s->planned = true;
        plans[count++] = &s->cells;
    }
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

/* `total` is the tally of cells, or of all values; NULL if there is none. */
static enum pass_plan_verdict take_quantiles(struct pass_plan *s, const struct tally *total,
                                             const struct tally_set *sets, unsigned workers)
{
    enum pass_plan_verdict verdict = PASS_PLAN_DONE;

    if (total && s->uses_cells)
        verdict = take_cells(s, total, sets, workers);
    else if (total && order_is_narrow(s->type))
        take_words(s, total);
    s->quantiles_done = verdict == PASS_PLAN_DONE && wanted_are_known(s);
    return verdict;
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
        begin_wanted(s);
    s->quantiles_done = s->no_numbers || wanted_are_known(s);
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

struct error pass_plan_error(enum pass_plan_verdict verdict)
{
    return verdict == PASS_PLAN_CHANGED   ? error_of(ERROR_CHANGED, "it changed while it was read")
           : verdict == PASS_PLAN_ENDLESS ? error_advised((struct advice){.kind = ADVICE_RANGE},
                                                          "the minimum or the maximum is infinite")
                                          : error_of(ERROR_MEMORY, "%s", error_no_memory);
}

double pass_plan_quantile(const struct pass_plan *s, unsigned i)
{
    const struct quantile *q = &s->quantiles[i];
    const struct wanted *w = &s->wanted[(size_t)2 * i];

    return s->no_numbers ? (double)NAN
                         : quantile_between(s->type, &s->scale, w[0].low, w[1].low,
                                            quantile_place(q, partial_numbers(&s->first)).fraction,
                                            q->denominator);
}

const struct histogram *pass_plan_histogram(const struct pass_plan *s)
{
    return s->request->histogram.kind == HISTOGRAM_NONE ? NULL : &s->histogram;
}
