/*
 * Slices: the elements along one axis of an array, each slice with a result of its own. There are
 * many of them, and most are short, so that a partial result each (struct partial) would cost more
 * than the elements. A slice keeps
 *
 *   - two binary64 numbers, whose exact sum is that of the elements (an expansion of two parts:
 *     J. R. Shewchuk, "Adaptive precision floating-point arithmetic", 1997), and the keys of two
 *     extremes;
 *   - where they are wanted, the indices of these extremes, and slices of numbers that are made of its
 *     elements: squares, magnitudes, and truths that are counted;
 *   - how many of the elements are missing, or no numbers;
 *   - where these do not suffice, a partial result as well. It takes the elements whose sum does not
 *     fit the two numbers, long rows with some elements that are no numbers, and all elements where
 *     more is wanted than kernels find.
 *
 * Their sum is exact, however the elements were divided among them. doc/numerics.md says why.
 *
 * Slices belong to one thread at a time. Nothing here prints anything.
 */
#ifndef GPUREDUCE_CPU_SLICES_H
#define GPUREDUCE_CPU_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/missing.h"
#include "core/scale.h"
#include "core/slice_sums.h"
#include "cpu/kernel.h"
#include "engine/engine.h"

/* How slices come. */
enum cpu_slices_kind {
    CPU_SLICES_ROWS,   /* the elements of a slice are neighbours */
    CPU_SLICES_COLUMNS /* the elements of neighbouring slices are neighbours */
};

/* Elements of a slice that are missing, or no numbers. */
struct cpu_slice_special {
    uint64_t missing;
    uint64_t nan, first_nan;     /* how many, and the index of the first, if there is one */
    uint64_t positive, negative; /* infinities */
};

/* The extremes of a slice whose places are known, and the indices of their first occurrences; of no
   elements the keys of none. */
struct cpu_slice_places {
    int64_t min_key, max_key;
    uint64_t min_index, max_index;
};

/* Numbers that are made of the elements of slices, to be added up. */
enum cpu_derived {
    CPU_SQUARES,     /* binary64, rounded; of large integers of 64 bits, the upper bits */
    CPU_SQUARES_LOW, /* what this has lost, if that may be anything */
    CPU_MAGNITUDES,  /* of the type that elements are taken as; of integers of 64 bits, u64 */
    CPU_ZEROS,       /* 0, or -1 of an element that is counted; so are the next ones */
    CPU_NEGATIVES,
    CPU_SUBNORMALS,
    CPU_DERIVED
};

struct cpu_slices {
    enum cpu_slices_kind kind;
    size_t room;    /* how many there may be; columns have a vector's width more */
    bool fast;      /* there are kernels for what is wanted */
    bool as_floats; /* there are, and elements are integers, which they take as floats */
    size_t filled;  /* after the first so many, none has been given elements: they are not begun */
    bool low_used;  /* of columns: a `low` may be other than 0 */
    size_t all;     /* that there is memory for, with those of the last vector */
    size_t clear;   /* of these: after so many, memory is as it came, and has not been touched */

    /* For elements that the kernels took: the sums, and, if extremes are wanted, the keys of these.
       Keys of columns of up to 32 bits are v_order's (simd.h), int32_t; else exact_keys, or of integers
       of 64 bits element_keys, int64_t. */
    double *high, *low;
    void *min, *max;
    size_t key_size; /* bytes */
    bool keys_alone; /* nobody wants the sums */

    /* Numbers made of the elements that the kernels took, as slices; and the places of extremes. NULL:
       they are not wanted, or in partial results. */
    struct cpu_slices *derived[CPU_DERIVED];
    struct cpu_slice_places *places;
    bool seeks[2]; /* the places of the least, and of the greatest, are wanted */

    struct cpu_slice_special *special; /* NULL before there is one */
    bool special_used;                 /* a slice has some */

    struct partial **partial; /* of what they did not, with `used` true; NULL before the first */
    bool *used;
};

/* Whether a slice has elements that are missing or no numbers, beside its partial result. */
static inline bool slices_is_special(const struct cpu_slices *s, size_t i)
{
    return s->special_used && (s->special[i].missing | s->special[i].nan | s->special[i].positive |
                               s->special[i].negative) != 0;
}

/* Takes elements into slices; a thread has one. */
struct cpu_slicer {
    const struct cpu_kernels *kernels;
    struct cpu_reducer reducer; /* opened when a slice is first left to it */
    enum element_type given;    /* the elements' type */
    enum element_type type; /* that they are taken as, which has all their values: a float, or their
                                own where there is none */
    const struct partial_split *split; /* the threshold of PARTIAL_SPLIT; else NULL */
    struct cpu_split *sides;           /* splits long runs at it; else NULL */
    bool swap;                   /* elements are of the other byte order, when they are reduced */
    bool swap_first;             /* or before it is looked which of them are missing */
    bool has_missing;            /* elements may be missing; only then the next ones are set */
    struct cpu_missing missing;  /* the missing values of the elements */
    struct cpu_missing nans;     /* all NaNs, if they are not missing; else count is 0 */
    unsigned char *present;      /* memory for elements that are not missing */
    unsigned char *native;       /* for swapped ones */
    struct cpu_masking *masking; /* and for those that become NaNs */
    bool lacking; /* some of the last rows were missing; or of a derived slicer, counted */
    bool masked;  /* kernels find missing elements: floats that are NaN, or integers */
    /* Memory for elements that are swapped or converted, and for columns that are turned into rows, or
       made wider; allocated when it is first needed. */
    unsigned char *scratch, *turned;
    const struct cpu_slice_kernels *fast; /* NULL where there are none for what is wanted */
    /* For integers that are taken as such; NULL for others. */
    const struct cpu_integer_slices *integer;
    struct cpu_integer_found *found; /* their scratch memory */
    bool sums;                       /* sums of them are wanted */
    size_t lanes;                    /* elements of a vector */
    struct cpu_slices folded;        /* few columns are taken as more, in fewer rows */
    struct cpu_slicer
        *derived[CPU_DERIVED]; /* take what is made of elements; NULL: it is not wanted */
    double *made[3];           /* memory for that; for squares more than one */
    struct cpu_missing counted[CPU_DERIVED]; /* the elements that are counted */
    bool failed;                             /* there was no memory: results are worth nothing */
};

/* Whether there are kernels that find all of `wants` (partial_want bits); with `missing` some elements may
   be missing. Without them a slice takes some microseconds, and 2 KiB of memory. */
bool cpu_slices_have_kernels(enum element_type type, unsigned wants, bool missing);

/* Whether there are, and they are faster than partial results for slices of so many elements, of which
   `columns` are neighbours, if they are columns: all but sums, extremes and places of long slices is found
   faster without, and of some types these of long rows. */
bool cpu_slices_are_fast(enum element_type type, unsigned wants, bool missing,
                         enum cpu_slices_kind kind, uint64_t length, uint64_t columns);

/* Makes room for so many slices, and clears them. With `fast`, kernels take them, which are
   there. False without memory; they have to be closed then, too. */
bool cpu_slices_open(struct cpu_slices *s, enum cpu_slices_kind kind, enum element_type type,
                     unsigned wants, bool fast, size_t room);
void cpu_slices_close(struct cpu_slices *s);

/* Makes the first `count` of them slices without elements. Those after them have none either,
   and are to be cleared, too, before they are given some. */
void cpu_slices_clear(struct cpu_slices *s, size_t count);

/* The slices that it will be given were opened for the same `wants` and `fast`. `missing` are the
   missing values of the elements; NULL: there are none. `split` is the threshold,
   which outlives the slicer, if PARTIAL_SPLIT is wanted; else NULL. False without memory; it has to
   be closed then, too. */
bool cpu_slicer_open(struct cpu_slicer *z, const struct cpu_kernels *kernels,
                     enum element_type type, unsigned wants, bool fast, bool swap,
                     const struct missing *missing, const struct partial_split *split);
void cpu_slicer_close(struct cpu_slicer *z);

/* Takes `rows` runs of `length` elements that lie one after the other at `data`, with any
   alignment. They are parts of the slices from the first one on, in which they have the indices
   from `index` on. */
void cpu_slicer_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first, const void *data,
                     size_t rows, size_t length, uint64_t index);

/* Takes an element of each of `columns` slices, from the first one on, `rows` times: they stand
   side by side at `data`, the next ones `stride` bytes after these. Their indices in their slices
   go from `index` on. The slices are of the kind columns. */
void cpu_slicer_columns(struct cpu_slicer *z, struct cpu_slices *s, size_t first, const void *data,
                        size_t stride, size_t rows, size_t columns, uint64_t index);

/* Adds `count` slices of `other`, from the one number `first` on, to the first ones of s: exact, in any order.
   z says what of. */
void cpu_slicer_merge(struct cpu_slicer *z, struct cpu_slices *s, const struct cpu_slices *other,
                      size_t first, size_t count);

/* Adds a GPU's results for parts of slices, of elements of the slicer's type: of `count` slices,
   from the one number `first` on, the parts from the one number `at` on that are `step` apart.
   Elements had the indices from `index` on. Nothing of those whose `high` is NaN. Slices that are
   rows begin in order, and these have then begun. */
void cpu_slicer_put(struct cpu_slicer *z, struct cpu_slices *s, size_t first, size_t count,
                    const struct engine_found *found, size_t at, size_t step, uint64_t index);

/* Whether nothing of the slice needed a partial result, and the squares of its elements are there. */
static inline bool cpu_slices_have_squares(const struct cpu_slices *s, size_t i)
{
    bool good = s->derived[CPU_SQUARES] && !s->used[i];

    for (int k = CPU_SQUARES; k <= CPU_SQUARES_LOW && s->derived[k]; k++)
        good = good && !s->derived[k]->used[i];
    return good;
}

/* Whether it does: then the sum of these is that of the numbers squares[0] to squares[SLICE_SQUARES_MAX - 1],
   each of which is about what the ones before it lack. */
static inline bool cpu_slices_squares(const struct cpu_slices *s, size_t i,
                                      double squares[SLICE_SQUARES_MAX])
{
    bool good = cpu_slices_have_squares(s, i);

    for (int k = 0; k < SLICE_SQUARES_MAX; k++)
        squares[k] = 0;
    for (int k = CPU_SQUARES; k <= CPU_SQUARES_LOW && s->derived[k]; k++)
        good = good && slice_terms_add(squares, SLICE_SQUARES_MAX, s->derived[k]->high[i]) &&
               slice_terms_add(squares, SLICE_SQUARES_MAX, s->derived[k]->low[i]);
    return good;
}

/* How many elements of a slice are counted there: CPU_ZEROS, CPU_NEGATIVES or CPU_SUBNORMALS, which has
   been wanted. */
static inline uint64_t cpu_slices_count(const struct cpu_slices *s, size_t i,
                                        enum cpu_derived which)
{
    const struct cpu_slices *d = s->derived[which];

    return d ? (uint64_t) - (d->high[i] + d->low[i]) : 0; /* there are none of some types */
}

/* The key of the least magnitude of a slice, as in struct partial, if that has been wanted and needed no
   partial result. */
int64_t cpu_slices_least_key(const struct cpu_slices *s, size_t i);

/* The keys of the extremes, as in struct partial, of a slice that needed no partial result. */
int64_t cpu_slices_min_key(const struct cpu_slices *s, size_t i);
int64_t cpu_slices_max_key(const struct cpu_slices *s, size_t i);

/* Sets to[k] to the least element of slice number from + k, or the greatest: of floats. Slices without such
   an element, and those with partial results, get anything. */
void cpu_slices_extremes(const struct cpu_slices *s, size_t from, size_t count, bool min,
                         double *to);

/* Sets to[k] in that way to element_keys of integers; each slice has elements, and needed no partial
   result. */
void cpu_slices_integer_extremes(const struct cpu_slices *s, size_t from, size_t count, bool min,
                                 int64_t *to);

/* The partial result of a slice that has `count` elements. */
void cpu_slices_partial(const struct cpu_slices *s, size_t i, uint64_t count, struct partial *p);

#endif
