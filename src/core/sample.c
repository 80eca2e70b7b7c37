#include "config.h"

#include "core/sample.h"

#include <math.h>
#include <stdlib.h>

#include "core/order.h"

/* A cell reaches so many standard errors to either side. Missing an order statistic costs a
   pass, keeping more elements costs time in each. */
#define STANDARD_ERRORS 3

bool sample_take(struct sample *s, enum element_type type, const void *elements, size_t count,
                 size_t length)
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

        s->runs[i] = key;
        if (key >= least && key <= greatest)
            s->sorted[s->numbers++] = key;
    }
    sorted = order_sort(s->sorted, scratch, s->numbers, (unsigned)(8 * size));
    free(sorted == scratch ? s->sorted : scratch);
    s->sorted = sorted;
    return true;
}

void sample_free(struct sample *s)
{
    free(s->runs);
    free(s->sorted);
    *s = (struct sample){.runs = NULL};
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

struct sample_cell sample_suggest(const struct sample *s, enum element_type type, double q,
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

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (s->sorted[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool sample_often(const struct sample *s, struct sample_cell cell, size_t often, uint64_t *key)
{
    for (size_t i = below(s, cell.low); i + often <= s->numbers && s->sorted[i] <= cell.high; i++) {
        if (s->sorted[i] == s->sorted[i + often - 1]) {
            *key = s->sorted[i];
            return true;
        }
    }
    return false;
}

size_t sample_rare(const struct sample *s, struct sample_cell cell, size_t often)
{
    size_t rare = 0, end;

    for (size_t i = below(s, cell.low); i < s->numbers && s->sorted[i] <= cell.high; i = end) {
        for (end = i + 1; end < s->numbers && s->sorted[end] == s->sorted[i];)
            end++;
        rare += end - i < often ? end - i : 0;
    }
    return rare;
}
