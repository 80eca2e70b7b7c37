#include "config.h"

#include "cpu/split.h"

#include <stdlib.h>

#include "cpu/missing.h"

/* A side of the threshold. */
struct side {
    bool all;                  /* every element is on it */
    struct cpu_missing others; /* if not: those that are not on it, and NaNs */
    struct cpu_reducer reducer;
};

struct cpu_split {
    enum element_type type;
    struct partial_split split;
    struct side lower, upper;
    bool has_equal;
    struct cpu_missing equal; /* numbers equal to the threshold */
    struct partial sides;     /* fields of PARTIAL_SPLIT: zeros, and repeated elements */
    unsigned char *packed;    /* CPU_PIECE_BYTES */
};

/* Opens the side that lacks the keys from `first` to `last`, and NaNs; `none`: it lacks no number.
   False without memory. */
static bool open_side(struct side *side, const struct cpu_kernels *kernels, enum element_type type,
                      uint64_t first, uint64_t last, bool none)
{
    struct missing others = {.count = 0};

    /* There is room for three ranges. Integers have no NaNs. */
    (void)missing_add(&others, type, "nan");
    if (!none)
        (void)missing_add_range(&others, first, last);
    side->all = others.count == 0;
    if (!side->all)
        cpu_missing_set(&side->others, kernels, type, &others);
    return cpu_reducer_open(&side->reducer, kernels, type, PARTIAL_SUM | PARTIAL_EXTREMES);
}

struct cpu_split *cpu_split_open(const struct cpu_kernels *kernels, enum element_type type,
                                 const struct partial_split *split)
{
    const uint64_t least = order_least(type), greatest = order_greatest(type);
    struct cpu_split *s = calloc(1, sizeof *s);
    bool good = s;

    if (!s)
        return NULL;
    s->type = type;
    s->split = *split;
    partial_clear(&s->sides);
    good = open_side(&s->lower, kernels, type, split->first, greatest, split->all_below) && good;
    good =
        open_side(&s->upper, kernels, type, least, split->all_below ? greatest : split->first - 1,
                  !split->all_below && split->first <= least) &&
        good;
    s->has_equal = !split->all_below && split->last_equal + 1 != split->first;
    if (s->has_equal) {
        const struct missing equal = {.count = 1, .ranges = {{split->first, split->last_equal}}};

        cpu_missing_set(&s->equal, kernels, type, &equal);
    }
    s->packed = aligned_alloc(64, CPU_PIECE_BYTES);
    if (good && s->packed)
        return s;
    cpu_split_close(s);
    return NULL;
}

void cpu_split_close(struct cpu_split *s)
{
    if (!s)
        return;
    cpu_reducer_close(&s->lower.reducer);
    cpu_reducer_close(&s->upper.reducer);
    free(s->packed);
    free(s);
}

static void take_side(struct cpu_split *s, struct side *side, const void *data, size_t count)
{
    size_t there = count;

    if (!side->all)
        there = side->others.leave_out(&side->others, s->packed, data, count);
    side->reducer.kernel(&side->reducer, there < count ? s->packed : data, there, 0);
}

void cpu_split_take(struct cpu_split *s, const void *data, size_t count)
{
    take_side(s, &s->lower, data, count);
    take_side(s, &s->upper, data, count);
    if (s->has_equal)
        s->sides.zeros += count - s->equal.leave_out(&s->equal, s->packed, data, count);
}

void cpu_split_take_same(struct cpu_split *s, const void *element, uint64_t times)
{
    struct partial one;

    partial_clear(&one);
    partial_split_take(&one, &s->split, s->type, element);
    partial_repeat(&one, times);
    partial_merge(&s->sides, &one);
}

void cpu_split_finish(const struct cpu_split *s, struct partial *p)
{
    const struct partial *lower = &s->lower.reducer.partial, *upper = &s->upper.reducer.partial;
    struct partial sides;

    partial_clear(&sides);
    sides.absolute = upper->sum;
    sides.least_magnitude = upper->min_key;
    sides.below_key = lower->max_key;
    sides.negative = partial_numbers(lower);
    partial_merge(&sides, &s->sides);
    partial_split_put(p, &sides);
}

void cpu_split_drain(struct cpu_split *s, struct partial *p)
{
    struct partial found;

    partial_clear(&found);
    cpu_split_finish(s, &found);
    partial_merge(p, &found);
    partial_clear(&s->lower.reducer.partial);
    partial_clear(&s->upper.reducer.partial);
    partial_clear(&s->sides);
}
