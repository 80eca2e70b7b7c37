#include "config.h"

#include "core/selection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "sys/search.h"

/*
 * Samples: where in the order of an input's elements a quantile is likely to be. A sample is of runs
 * of neighbouring elements, at places that are spread evenly over the input.
 */

struct sample {
    size_t run_count, run_length;
    uint64_t *runs;   /* keys in their order in the input */
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

static void sample_free(struct sample *s)
{
    free(s->runs);
    free(s->sorted);
    *s = (struct sample){.runs = NULL};
}

/* The key of what is missing in a run. It lies beyond all numbers; but 64 bits have a number with
   this key, which then seems to be there more often where the spread of runs is estimated. */
#define MISSING_KEY UINT64_MAX

/* Takes `count` runs in the order of the input, of `length` elements each, in the machine's byte
   order. `missing` says which of them are; NULL: none. False without memory. */
static bool sample_take(struct sample *s, enum element_type type, const void *elements,
                        const bool *missing, size_t count, size_t length)
{
    const size_t size = element_size(type), total = count * length;
    const uint64_t least = order_least(type), greatest = order_greatest(type);
    uint64_t *scratch = malloc(total * sizeof *scratch), *sorted;

    *s = (struct sample){.run_count = count,
                         .run_length = length,
                         .runs = malloc(total * sizeof *s->runs),
                         .sorted = malloc(total * sizeof *s->sorted)};
    if (!scratch || !s->runs || !s->sorted) {
        free(scratch);
        sample_free(s);
        return false;
    }
    for (size_t i = 0; i < total; i++) {
        uint64_t key = order_key(type, order_load(type, (const char *)elements + i * size));

        s->runs[i] = missing && missing[i] ? MISSING_KEY : key;
        if (key >= least && key <= greatest && !(missing && missing[i]))
            s->sorted[s->numbers++] = key;
    }
    sorted = order_sort(s->sorted, scratch, s->numbers, (unsigned)(8 * size));
    free(sorted == scratch ? s->sorted : scratch);
    s->sorted = sorted;
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

/* The cell that the quantile q is in, most likely; twice as wide for each of `widen`. Without
   numbers in the sample it is all there is. */
static struct sample_cell sample_suggest(const struct sample *s, enum element_type type, double q,
                                         unsigned widen)
{
    const double n = (double)s->numbers, place = q * (n - 1);
    struct sample_cell cell = {order_least(type), order_greatest(type)};
    double margin, low, high;

    if (s->numbers == 0)
        return cell;
    margin = standard_error(s, cell.low, s->sorted[(size_t)place]);
    margin = ldexp(STANDARD_ERRORS * margin * n + 2, (int)widen);
    low = floor(place - margin);
    high = ceil(place + margin);
    if (low > 0)
        cell.low = s->sorted[(size_t)low];
    if (high < n - 1)
        cell.high = s->sorted[(size_t)high];
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

/*
 * Selection.
 */

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
#define WANTED_MAX (2 * SELECTION_QUANTILES_MAX)
_Static_assert(TALLY_CELLS_MAX > CELLS_EACH * WANTED_MAX, "room for the cells of all");
_Static_assert(ORDER_STATISTICS_MAX >= WANTED_MAX, "all are looked for at once");

struct selection {
    const struct quantile *quantiles;
    unsigned quantile_count;
    enum element_type type;
    uint64_t elements;
    unsigned workers;

    bool begun;           /* the first pass has been taken */
    uint64_t numbers;     /* elements that are no NaN, as that one found */
    struct sample sample; /* of no runs where there is none */
    struct wanted wanted[WANTED_MAX];
    unsigned wanted_count;
    unsigned tries;
    bool planned;            /* a pass has been */
    struct tally_plan cells; /* of the next pass */
};

bool selection_seeks(const struct selection *s)
{
    for (unsigned i = 0; i < s->quantile_count; i++)
        if (!quantile_is_extreme(&s->quantiles[i]))
            return true;
    return false;
}

struct selection *selection_open(const struct quantile *quantiles, unsigned count,
                                 enum element_type type, uint64_t elements, unsigned workers)
{
    struct selection *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->quantiles = quantiles;
    s->quantile_count = count;
    s->type = type;
    s->elements = elements;
    s->workers = workers ? workers : 1;
    return s;
}

void selection_close(struct selection *s)
{
    if (!s)
        return;
    sample_free(&s->sample);
    free(s);
}

/*
 * Its sample.
 */

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

struct selection_runs selection_runs(const struct selection *s)
{
    double count = (double)cube_root(s->elements);

    if (s->elements == UINT64_MAX || s->elements <= KEPT_WHOLE)
        return (struct selection_runs){0, 0};
    count = count * count / RUNS_LESS;
    count = count < RUNS_MIN ? RUNS_MIN : count;
    return (struct selection_runs){count < (double)RUNS_MAX ? (size_t)count : RUNS_MAX, RUN_LENGTH};
}

bool selection_sample(struct selection *s, const void *elements, const bool *missing, size_t count,
                      size_t length)
{
    sample_free(&s->sample);
    return sample_take(&s->sample, s->type, elements, missing, count, length);
}

/* The cell in which the sample suggests a quantile to be. */
static struct sample_cell suggest(const struct selection *s, unsigned quantile)
{
    const struct quantile *q = &s->quantiles[quantile];

    return sample_suggest(&s->sample, s->type, (double)q->numerator / (double)q->denominator,
                          s->tries);
}

/*
 * Plans.
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
static bool find_apart(const struct selection *s, const struct asked *cell, uint64_t from,
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
static void add_cell(struct selection *s, const struct asked *cell, size_t often, unsigned most)
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
static size_t often_enough(const struct selection *s, const struct asked *cells, unsigned count)
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
static void plan_cells(struct selection *s, struct asked *cells, unsigned count)
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
        plan->fine_bits = plan->kept_cells > FINE_CELLS ? FINE_BITS_MANY : FINE_BITS_MOST;
    plan->room = KEPT_BYTES / element_size(s->type) / s->workers;
}

/* The cells of the first pass. */
static void plan_first_cells(struct selection *s)
{
    struct asked cells[SELECTION_QUANTILES_MAX] = {{.low_apart = false}};
    unsigned count = 0;

    for (unsigned i = 0; i < s->quantile_count; i++)
        if (!quantile_is_extreme(&s->quantiles[i]))
            cells[count++].keys = suggest(s, i);
    plan_cells(s, cells, count);
}

/* The cells of a later one: where order statistics are known to be. In a large cell the sample says
   where they rather are. */
static void plan_next_cells(struct selection *s)
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

const struct tally_plan *selection_plan(struct selection *s)
{
    if (s->begun)
        plan_next_cells(s);
    else
        plan_first_cells(s);
    s->planned = true;
    return &s->cells;
}

/*
 * The findings of a pass.
 */

void selection_begin(struct selection *s, const struct partial *first)
{
    const uint64_t last = partial_numbers(first) - 1;

    s->begun = true;
    s->numbers = last + 1;
    s->wanted_count = 2 * s->quantile_count;
    for (unsigned i = 0; i < s->wanted_count; i++) {
        struct wanted *w = &s->wanted[i];
        const struct quantile_place place = quantile_place(&s->quantiles[i / 2], s->numbers);

        /* Those that quantiles lie on, or between. */
        *w = (struct wanted){.quantile = i / 2,
                             .rank = place.rank + (i % 2 && place.fraction > 0),
                             .low = order_least(s->type),
                             .high = order_greatest(s->type)};
        if (first->min_key > first->max_key)
            continue; /* it has no extremes */
        if (w->rank == 0)
            w->low = w->high = order_from_element_key(s->type, first->min_key);
        if (w->rank == last)
            w->low = w->high = order_from_element_key(s->type, first->max_key);
    }
}

void selection_take_words(struct selection *s, const struct tally *total)
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
};

/* Takes an element of a part. False if they are more than were counted. */
static bool take_key(struct part *p, uint64_t key)
{
    if (p->found == p->count)
        return false;
    p->keys[p->found++] = key;
    return true;
}

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
            for (size_t i = begin; i < end; i++)
                if (!take_key(p, order_key(type, size == sizeof *words ? words[i] : wide[i])))
                    return false;
    }
    for (size_t i = 0; !t->place && i < t->kept_count; i++) {
        const uint64_t key = order_key(type, size == sizeof *words ? words[i] : wide[i]);

        for (unsigned j = 0; j < parts->count; j++) {
            struct part *p = &parts->part[j];

            if (p->keys && key - p->low <= p->high - p->low && !take_key(p, key))
                return false;
        }
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
static enum selection_verdict collect(const struct selection *s, const struct tally_set *sets,
                                      unsigned workers, struct parts *parts)
{
    const size_t size = element_size(s->type);

    for (unsigned j = 0; j < parts->count; j++) {
        struct part *p = &parts->part[j];
        uint64_t key;

        if (is_one_key(p, s->type, sets, workers, &key)) {
            p->low = p->high = key;
            continue;
        }
        p->keys = calloc((size_t)p->count, sizeof *p->keys);
        if (!p->keys)
            return SELECTION_MEMORY;
    }
    /* The numbers counted and kept differ if the input changed in between. */
    for (unsigned i = 0; i < workers; i++)
        if (!(size == 4 ? collect_keys(parts, s->type, &sets[i].tally[0], 4)
                        : collect_keys(parts, s->type, &sets[i].tally[0], 8)))
            return SELECTION_CHANGED;
    for (unsigned j = 0; j < parts->count; j++)
        if (parts->part[j].keys && parts->part[j].found < parts->part[j].count)
            return SELECTION_CHANGED;
    return SELECTION_TAKEN;
}

/* Finds the order statistics that lie in part number `number`, whose keys have been collected. False
   without memory. */
static bool find_in_part(struct selection *s, unsigned number, const struct part *p)
{
    uint64_t *const scratch = p->keys ? malloc((size_t)p->found * sizeof *scratch) : NULL;
    struct order_statistic found[WANTED_MAX];
    unsigned count = 0;

    if (p->keys && !scratch)
        return false;
    for (unsigned i = 0; i < s->wanted_count; i++)
        if (s->wanted[i].collected && s->wanted[i].part == number)
            found[count++] = (struct order_statistic){s->wanted[i].rank_in_part, p->low, i};
    if (p->keys)
        order_select(p->keys, scratch, (size_t)p->found, found, count);
    for (unsigned i = 0; i < count; i++) {
        struct wanted *w = &s->wanted[found[i].owner];

        w->low = w->high = found[i].key;
        w->collected = false;
    }
    free(scratch);
    return true;
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
static enum selection_verdict locate(struct wanted *w, const struct tally *total,
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
        return SELECTION_TAKEN;
    w->certain = true;
    rank -= total->counts[cell];
    if (total->fine)
        fine = narrow(w, total, cell, &rank);
    count = total->fine ? total->fine[fine] : total->counts[cell + 1] - total->counts[cell];
    if (rank >= count)
        return SELECTION_CHANGED;
    if (w->low == w->high || total->dropped)
        return SELECTION_TAKEN;
    while (part < parts->count && parts->part[part].low != w->low)
        part++;
    if (part == parts->count)
        parts->part[parts->count++] =
            (struct part){.low = w->low, .high = w->high, .fine = fine, .count = count};
    w->part = part;
    w->rank_in_part = rank;
    w->collected = true;
    return SELECTION_TAKEN;
}

enum selection_verdict selection_take_cells(struct selection *s, const struct tally *total,
                                            const struct tally_set *sets, unsigned workers)
{
    enum selection_verdict verdict = SELECTION_TAKEN;
    struct parts *parts;

    if (total->counts[total->plan->cells] - total->counts[0] != s->numbers)
        return SELECTION_CHANGED;
    parts = calloc(1, sizeof *parts); /* 20 KiB: a stack may be small */
    if (!parts)
        return SELECTION_MEMORY;
    for (unsigned i = 0; i < s->wanted_count && verdict == SELECTION_TAKEN; i++)
        if (s->wanted[i].low != s->wanted[i].high)
            verdict = locate(&s->wanted[i], total, parts);
    if (verdict == SELECTION_TAKEN)
        verdict = collect(s, sets, workers, parts);
    for (unsigned j = 0; j < parts->count && verdict == SELECTION_TAKEN; j++)
        verdict = find_in_part(s, j, &parts->part[j]) ? SELECTION_TAKEN : SELECTION_MEMORY;
    for (unsigned j = 0; j < parts->count; j++)
        free(parts->part[j].keys);
    free(parts);
    return verdict;
}

bool selection_is_done(const struct selection *s)
{
    for (unsigned i = 0; i < s->wanted_count; i++)
        if (s->wanted[i].low != s->wanted[i].high)
            return false;
    return s->begun;
}

double selection_quantile(const struct selection *s, unsigned i, const struct scale *scale)
{
    const struct quantile *q = &s->quantiles[i];
    const struct wanted *w = &s->wanted[(size_t)2 * i];

    return quantile_between(s->type, scale, w[0].low, w[1].low,
                            quantile_place(q, s->numbers).fraction, q->denominator);
}
