#include "config.h"

#include "engine/cpu/slices_special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"

struct partial *slices_partial(struct cpu_slices *s, size_t i)
{
    if (!s->partial)
        s->partial = calloc(s->room, sizeof *s->partial);
    if (s->partial && !s->partial[i])
        s->partial[i] = malloc(sizeof *s->partial[i]);
    if (!s->partial || !s->partial[i])
        return NULL;
    if (!s->used[i])
        partial_clear(s->partial[i]);
    s->used[i] = true;
    return s->partial[i];
}

void slices_drain(struct cpu_slices *s, size_t i, struct partial *p)
{
    exact_add(&p->sum, s->high[i]);
    exact_add(&p->sum, s->low[i]);
    s->high[i] = s->low[i] = 0;
}

/* Makes sure that slices can have elements that are no numbers. False without memory. */
static bool open_special(struct cpu_slices *s)
{
    if (!s->special)
        s->special = calloc(s->room, sizeof *s->special);
    s->special_used = s->special;
    return s->special;
}

/* The value of an element. */
static inline double load(const unsigned char *x, enum element_type type)
{
    float single;
    double number;

    if (type == ELEMENT_F32) {
        memcpy(&single, x, sizeof single);
        return (double)single;
    }
    if (type != ELEMENT_F64)
        return element_load(type, x);
    memcpy(&number, x, sizeof number);
    return number;
}

/* Takes the key of an element that is no NaN. */
static inline void take_key(struct cpu_slices *sums, size_t at, double x)
{
    const int64_t key = exact_key(x);

    if (sums->key_size == sizeof(int32_t)) {
        const int32_t order = slices_narrow_key(key);
        int32_t *min = (int32_t *)sums->min + at, *max = (int32_t *)sums->max + at;

        *min = order < *min ? order : *min;
        *max = order > *max ? order : *max;
    } else {
        int64_t *min = (int64_t *)sums->min + at, *max = (int64_t *)sums->max + at;

        *min = key < *min ? key : *min;
        *max = key > *max ? key : *max;
    }
}

/* Takes elements of a run until the sum of one does not fit. Returns how many. */
static size_t take_fitting(struct cpu_slice_special *special, struct cpu_slices *sums, size_t at,
                           enum element_type type, const struct slices_run *run)
{
    double high = sums->high[at], low = sums->low[at];
    size_t i;

    for (i = 0; i < run->count; i++) {
        const double x = load(run->x + i * run->stride, type);
        double error, rest, sum, lower;

        if (isnan(x)) {
            if (special->nan == 0 || run->index + i * run->step < special->first_nan)
                special->first_nan = run->index + i * run->step;
            special->nan++;
            continue;
        }
        if (isfinite(x)) {
            sum = exact_two_sum(high, x, &error);
            lower = exact_two_sum(low, error, &rest);
            if (rest != 0 || isnan(rest))
                break;
            high = sum;
            low = lower;
        } else {
            special->positive += x > 0;
            special->negative += x < 0;
        }
        if (sums->min)
            take_key(sums, at, x);
    }
    sums->high[at] = high;
    sums->low[at] = low;
    sums->low_used = sums->low_used || low != 0;
    return i;
}

bool slices_take_one_by_one(struct cpu_slices *s, size_t slice, struct cpu_slices *sums, size_t at,
                            enum element_type type, const struct slices_run *run)
{
    struct slices_run left = *run;
    struct partial *p;

    if (!open_special(s))
        return false;
    while (left.count > 0) {
        const size_t done = take_fitting(&s->special[slice], sums, at, type, &left);

        left.x += done * left.stride;
        left.index += done * left.step;
        left.count -= done;
        if (left.count == 0)
            break;
        p = slices_partial(s, slice);
        if (!p)
            return false;
        slices_drain(sums, at, p);
        partial_take_element(p, type, left.x, left.index);
        left.x += left.stride;
        left.index += left.step;
        left.count--;
    }
    return true;
}

bool slices_special_add(struct cpu_slices *s, size_t slice, const struct cpu_slice_special *x)
{
    struct cpu_slice_special *to;

    if (!open_special(s))
        return false;
    to = &s->special[slice];
    if (x->nan > 0 && (to->nan == 0 || x->first_nan < to->first_nan))
        to->first_nan = x->first_nan;
    to->nan += x->nan;
    to->positive += x->positive;
    to->negative += x->negative;
    return true;
}

void slices_special_add_to(const struct cpu_slices *s, size_t slice, struct partial *p)
{
    const struct cpu_slice_special *x = &s->special[slice];

    if (x->nan > 0 && x->first_nan < p->first_nan)
        p->first_nan = x->first_nan;
    p->nan += x->nan;
    p->positive_infinity += x->positive;
    p->negative_infinity += x->negative;
}
