/*
 * The state of slices (slices.h), and how they begin: their memory is made that of slices without
 * elements when they are given the first ones, not before, since kernels that are told write it
 * anyway. `low` of columns is cleared together, and only where something was added to it: mostly
 * nothing is.
 *
 * The functions are for slices.c; slices belong to one thread.
 */
#ifndef GPUREDUCE_CPU_SLICES_STATE_H
#define GPUREDUCE_CPU_SLICES_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/partial.h"
#include "engine/cpu/kernel.h"
#include "engine/cpu/slices_keys.h"
#include "engine/cpu/slices_record.h"

/* How slices come. */
enum cpu_slices_kind {
    CPU_SLICES_ROWS,   /* the elements of a slice are neighbours */
    CPU_SLICES_COLUMNS /* the elements of neighbouring slices are neighbours */
};

/* Elements of a slice that are no numbers. */
struct cpu_slice_special {
    uint64_t nan, first_nan;     /* how many, and the index of the first, if there is one */
    uint64_t positive, negative; /* infinities */
};

struct cpu_slices {
    enum cpu_slices_kind kind;
    size_t room;   /* how many there may be; columns have a vector's width more */
    bool fast;     /* there are kernels for what is wanted */
    bool integers; /* there are, and elements are integers, which they take as floats */
    size_t filled; /* behind the first so many, none has been given elements: they are not begun */
    bool low_used; /* of columns: a `low` may be other than 0 */
    size_t all;    /* that there is memory for, with those of the last vector */
    size_t clear;  /* of these: behind so many, memory is as it came, and has not been touched */

    /* For elements that the kernels took: the sums, and, if extremes are wanted, the keys of these.
       Keys of columns of up to 32 bits are v_order's (simd.h), int32_t; else exact_keys,
       int64_t. */
    double *high, *low;
    void *min, *max;
    size_t key_size; /* bytes */

    struct cpu_slice_record *records; /* NULL before there is one */

    struct cpu_slice_special *special; /* NULL before there is one */
    bool special_used;                 /* a slice has some */

    struct partial **partial; /* of what they did not, with `used` true; NULL before the first */
    bool *used;
};

/* Makes the extremes those of none, from number `from` on, up to before `end`. */
static inline void slices_clear_extremes(struct cpu_slices *s, size_t from, size_t end)
{
    const size_t at = from * s->key_size;

    if (s->min) {
        slices_clear_keys((char *)s->min + at, end - from, s->key_size, true);
        slices_clear_keys((char *)s->max + at, end - from, s->key_size, false);
    }
}

/* Makes what kernels find of slices that of none, from number `from` on, up to before `end`: but,
   of columns, `low`, which is. */
static inline void slices_clear_found(struct cpu_slices *s, size_t from, size_t end)
{
    const size_t count = end - from;

    if (s->high)
        memset(s->high + from, 0, count * sizeof *s->high);
    if (s->high && s->kind == CPU_SLICES_ROWS)
        memset(s->low + from, 0, count * sizeof *s->low);
    slices_clear_extremes(s, from, end);
}

/* Makes what has not been touched of the memory that kernels write, up to the vector behind number
   `end`, that of slices without elements. */
static inline void slices_reach(struct cpu_slices *s, size_t end)
{
    const size_t reach = s->all - end < 2 * CPU_LANES_MAX ? s->all : end + 2 * CPU_LANES_MAX;

    if (reach <= s->clear)
        return;
    if (s->low)
        memset(s->low + s->clear, 0, (reach - s->clear) * sizeof *s->low);
    slices_clear_found(s, s->clear, reach);
    s->clear = reach;
}

/* Begins those up to before number `end` that have not begun. */
static inline void slices_begin(struct cpu_slices *s, size_t end)
{
    if (s->filled >= end)
        return;
    slices_reach(s, end);
    slices_clear_found(s, s->filled, end);
    s->filled = end;
}

/* Begins slices if a kernel of columns takes those from number `first` on next. True if none of
   these had begun: then the kernel has to begin their sums, and this has begun only their keys. */
static inline bool slices_begin_columns(struct cpu_slices *s, size_t first, size_t end)
{
    if (first < s->filled) {
        slices_begin(s, end);
        return false;
    }
    slices_reach(s, end);
    slices_begin(s, first);
    slices_clear_extremes(s, first, end);
    s->filled = end;
    return true;
}

/* Makes all of them slices that have not begun. */
static inline void slices_end(struct cpu_slices *s)
{
    if (s->kind == CPU_SLICES_COLUMNS && s->high && s->low_used)
        memset(s->low, 0, s->filled * sizeof *s->low);
    if (s->special_used)
        memset(s->special, 0, s->filled * sizeof *s->special);
    s->low_used = s->special_used = false;
    s->filled = 0;
}

/* Whether a slice has elements that are no numbers, beside its partial result. */
static inline bool slices_is_special(const struct cpu_slices *s, size_t i)
{
    return s->special_used &&
           (s->special[i].nan | s->special[i].positive | s->special[i].negative) != 0;
}

#endif
