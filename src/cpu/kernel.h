/*
 * The CPU kernels: one template (kernel_template.h), instantiated for each instruction set over the
 * vector operations that simd.h describes, and chosen at run time (dispatch.c).
 *
 * A kernel takes elements block by block. One pass over a block gives its extremes, whether it
 * holds NaNs or infinities, and, where the exponents lie close enough together, its exact sum in
 * binary64. Other blocks are summed exactly by other means: kernel_template.h lists them, and
 * doc/numerics.md says why nothing is lost. A reducer belongs to one thread.
 */
#ifndef GPUREDUCE_CPU_KERNEL_H
#define GPUREDUCE_CPU_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest.h"
#include "core/element.h"
#include "core/missing.h"
#include "core/moments.h"
#include "core/partial.h"
#include "core/tally.h"

/* Elements of a block, of up to 32 bits and of 64: 8 KiB of f32 or f64, which leaves the level-1
   cache room for the scratch. Blocks this small keep the exponents of ordinary data within the
   reach of one binary64; larger ones are no faster. */
#define CPU_BLOCK32_LOG2 11
#define CPU_BLOCK64_LOG2 10
#define CPU_BLOCK_MAX ((size_t)1 << CPU_BLOCK32_LOG2)

/* The most arrays whose sum is that of the squares of slices. */
#define CPU_FINISH_SQUARES 4

struct cpu_reducer;

/* Takes `count` elements in this machine's byte order into r->partial, `index` being that of the
   first. `data` may have any alignment. */
typedef void cpu_kernel(struct cpu_reducer *r, const void *data, size_t count, uint64_t index);

/* The kernels that find one set of results, NULL for types that have none of their own. */
struct cpu_kernel_row {
    unsigned finds; /* partial_want bits */
    cpu_kernel *kernel[ELEMENT_TYPES];
};

struct tally;

/* Neighbouring elements have counters of their own: adding to one counter twice has to wait for
   memory. Small counters, of 16 bits, leave more of the level-1 cache to the data. */
#define CPU_COUNTER_SETS 4
struct cpu_counters {
    bool small;
    union {
        uint16_t *small_set[CPU_COUNTER_SETS];
        uint32_t *set[CPU_COUNTER_SETS];
    };
};

/* The operations of tallies (core/tally.h) that need vectors, by the size of elements: 4 and 8
   bytes. They take n elements, a multiple of the lanes and at most CPU_BLOCK_MAX. */
struct cpu_tally_kernels {
    /* Counts the elements below each edge of the plan but the first and the last, and keeps those
       of the cells that are kept. The tally has room for n elements, and 16 more. With `nans`, counts
       those below the first and the last edge, too, beyond which there are NaNs. */
    void (*cells32)(struct tally *t, const void *x, size_t n, bool nans);
    void (*cells64)(struct tally *t, const void *x, size_t n, bool nans);

    /* Puts the bin of each element, binary32 or binary64, into the lower half of the bits of
       place[i], counting from 1, with 0 for what lies below all bins, or is NaN. Returns whether
       that is certain of all of them; otherwise it may be 1 more, or less. */
    bool (*bins32)(const struct tally *t, const void *x, size_t n, double *place);
    bool (*bins64)(const struct tally *t, const void *x, size_t n, double *place);

    /* Counts the bins of elements of binary32, where the plan has places with a fixed point. There
       may be more than CPU_BLOCK_MAX. */
    void (*count32)(const struct tally *t, const void *x, size_t n, struct cpu_counters counters);
};

/* The results of kernels for slices (slices.h): for slice i the sum of its elements as high[i] +
   low[i], which is exact, and, if extremes are wanted, the keys of these; else both are NULL.
   Kernels may write up to CPU_LANES_MAX - 1 after the last. */
struct cpu_slice_results {
    double *high, *low;
    void *min, *max;
    /* For columns: whether sums begin, with any `high` and `low` 0; and a flag that is set before a
       `low` becomes anything else. */
    bool begin, *low_used;
    bool keys_alone; /* no sums are wanted: `high` and `low` may become anything */
};

/* Elements of a slice that are no numbers, among some rows. */
struct cpu_slice_counts {
    uint32_t nan,
        first_nan; /* first_nan: its row, counted from the first of these; if there is one */
    uint32_t positive, negative; /* infinities */
};

/* Calls by which kernels of columns report such elements, of a column and `rows` rows from number
   `row` on: that they were not added, neither these nor others; or that the others were, and what
   these are. */
struct cpu_slice_calls {
    void (*left)(void *context, size_t column, size_t row, size_t rows);
    void (*counted)(void *context, size_t column, size_t row,
                    const struct cpu_slice_counts *counts);
    void *context;
    /* Not NULL: many elements are NaNs, or of integers missing, and if the others are added, their number
       is added to nans[column], and not reported. */
    uint32_t *nans;
    const struct cpu_missing *missing; /* the missing values of integers, with `nans` */
};

struct cpu_slice_kernels {
    /* Reduces `rows` rows of `length` elements each, at least 1. Keys are exact_keys, of integers
       element_keys. bad[i]
       becomes whether nothing can be said of row i: it has elements that are no numbers, or its sum
       does not fit. */
    void (*rows)(const void *x, size_t rows, size_t length, const struct cpu_slice_results *to,
                 bool *bad);

    /* Adds, to what is there, the elements of `columns` columns, a multiple of the lanes of 32 or
       64 bits, in `rows` rows that begin `stride` bytes apart. Keys of up to 32 bits are v_order's,
       of binary32; others are as those of rows. */
    void (*columns)(const void *x, size_t stride, size_t rows, size_t columns,
                    const struct cpu_slice_results *to, const struct cpu_slice_calls *calls);
};

/* Rows that are added to columns together. */
#define CPU_COLUMN_ROWS 8

/* The most rows of integers, and the most columns. */
#define CPU_INTEGER_ROWS 16
#define CPU_INTEGER_COLUMNS 1024

/* Kernels for integers of up to 32 bits, whose sums are integers. `sum` is NULL if no sums are wanted, or
   `min` if no extremes. */
struct cpu_integer_slices {
    /* Reduces `rows` rows of `length` elements each, from 1 to 2^30; extremes are integers. */
    void (*rows)(const void *x, size_t rows, size_t length, int64_t *sum, int64_t *min,
                 int64_t *max);

    /* Reduces `columns` columns, at most CPU_INTEGER_COLUMNS and a multiple of what 64 bytes hold,
       in `rows` rows that begin `stride` bytes apart: from 1 to 2^15. Takes their extremes into the
       keys that slices of columns have (struct cpu_slice_kernels), or, with `begin`, sets these. */
    void (*columns)(const void *x, size_t stride, size_t rows, size_t columns, int64_t *sum,
                    void *min, void *max, bool begin);
};

/* Sets high[i] + low[i] to the square of element i, exactly, or to 0 where it is no number; `low` of types
   of 64 bits alone. False where the square of a number is too large or too small: then that has 0, too. */
typedef bool cpu_squares_kernel(double *high, double *low, const void *x, size_t n);

/* The kernels of slices that need vectors. */
struct cpu_slice_tables {
    /* For the types of the first group, and integers of 64 bits: sums, and sums and extremes. */
    struct cpu_slice_kernels sums[ELEMENT_TYPES], extremes[ELEMENT_TYPES];
    cpu_squares_kernel *squares[ELEMENT_TYPES];
    struct cpu_integer_slices integers[ELEMENT_TYPES]; /* NULL where there are none */
};

/* The missing values of elements of one size, by their bits: x is missing if for some i x + add[i]
   is at most last[i], both as signed numbers of that size. Up to CPU_MISSING_FEW, those after the
   last of `count` are copies of it. */
#define CPU_MISSING_FEW 4
#define CPU_MISSING_MAX (MISSING_RANGES_MAX + 1)
struct cpu_missing {
    unsigned count;
    uint64_t add[CPU_MISSING_MAX], last[CPU_MISSING_MAX];
    size_t size; /* bytes of an element */
    /* Returns how many of `count` elements at `from`, in this machine's byte order, are not missing.
       Unless that is all of them, they are at `to` then, one after the other. `to` has room for all of
       them, and does not overlap `from`. */
    size_t (*leave_out)(const struct cpu_missing *, void *to, const void *from, size_t count);
    /* Copies `count` elements, of at most 2^20 bytes, to `to`, with that at `other` in place of each
       that is missing. Returns how many these are. NULL for elements of 1 byte. */
    size_t (*stand_in)(const struct cpu_missing *, void *to, const void *from, size_t count,
                       const void *other);
};

/* Bytes of a chunk that are reduced, and then tallied, before the next ones: the level-2 cache
   holds them. */
#define CPU_PIECE_BYTES ((size_t)128 << 10)

/* The most 32-bit lanes that a vector has. */
#define CPU_LANES_MAX 16

/* Bytes of neighbouring columns that are searched together, and no row. */
#define CPU_SEARCHED_BYTES ((size_t)64)
#define CPU_NO_ROW UINT64_MAX

/* Bytes of a row of keys that are sorted by columns: those of the longest vector. */
#define CPU_SORT_BYTES ((size_t)64)

/* Elements that `widen` converts together. */
#define CPU_WIDENED 64

/* Elements that same_widened compares at a time. */
#define CPU_SAME ((size_t)128)

/* The sums of slices, each of them that of a few arrays, and exact; and the numbers that come of all. */
struct cpu_finish {
    const double *high, *low;                 /* of the elements; NULL for spreads: they are 0 */
    const double *square[CPU_FINISH_SQUARES]; /* of their squares */
    size_t squares;                           /* arrays of these */
    double count,
        divisor; /* a mean is a sum / count; a variance (count squares - sum^2) / divisor */
    bool root;   /* of the variance */
};

/* An instruction set. Its rows are in order of cost, and the last finds everything: a reduction
   takes the first row that finds what it wants, so that a new accumulator adds a row or two and
   doubles nothing. PARTIAL_WHERE needs no row: cpu_end_chunk looks places up. */
#define CPU_KERNEL_ROWS 7
struct cpu_kernels {
    const char *name;
    bool (*usable)(void);
    struct cpu_kernel_row rows[CPU_KERNEL_ROWS];
    /* Those that leave out r->missing, which is one range; NULL for types that have none. */
    struct cpu_kernel_row missing;
    /* Finds in f32 what `missing` finds in integers: takes the first of `count` elements at x but
       those that m, one range, has. Returns how many, which may be 0: blocks that call for more have
       to go the way of leave_out and a kernel. */
    size_t (*take_lacking32)(struct cpu_reducer *, const struct cpu_missing *m, const void *x,
                             size_t count, uint64_t index);
    size_t lanes; /* of 32 bits */
    const struct cpu_tally_kernels *tally;
    const struct cpu_slice_tables *slices;
    digest_kernel *digest;
    /* Converts n floats of up to 16 bits, a multiple of CPU_WIDENED, to f32. NULL for other types. */
    void (*widen[ELEMENT_TYPES])(void *to, const void *from, size_t n);
    /* Whether CPU_SAME elements at `wide` are the f32 that `widen` makes of f16 or bf16. NULL for other
       types. */
    bool (*same_widened[ELEMENT_FLOATS])(const void *narrow, const void *wide);
    /* By the size of elements, 1 << i bytes: leave_out of struct cpu_missing. */
    size_t (*leave_out[4])(const struct cpu_missing *, void *to, const void *from, size_t count);
    /* By the size, too: stand_in. */
    size_t (*stand_in[4])(const struct cpu_missing *, void *to, const void *from, size_t count,
                          const void *other);
    /* By the size of keys, too: sorts each column of `rows` rows of CPU_SORT_BYTES bytes, keys as of
       core/order.h, in place. */
    void (*sort_columns[4])(unsigned char *keys, size_t rows);
    /* By the size of elements, too. The first of `count` elements that has these bits; `count`: none has.
       And row[i] becomes the first of the rows, `stride` bytes apart, that has bits[i] in column number i,
       of CPU_SEARCHED_BYTES bytes; CPU_NO_ROW: none has. Numbers of rows are below the greatest number of
       that size. With `truth`, of a byte, any bits but 0 are 1. */
    size_t (*search[4])(const void *x, size_t count, uint64_t bits, bool truth);
    void (*search_columns[4])(const unsigned char *x, size_t stride, size_t rows,
                              const uint64_t bits[], bool truth, uint64_t row[]);
    /* Finish the first of `n` slices, whole vectors of them, and return how many: to[i] becomes the mean,
       or the variance or its root, rounded once, and known[i] whether that is certain. */
    size_t (*finish_means)(const struct cpu_finish *, size_t n, double *to, bool *known);
    size_t (*finish_spreads)(const struct cpu_finish *, size_t n, double *to, bool *known);
};

/* All instruction sets that this program was built with, the best first. */
extern const struct cpu_kernels *const cpu_kernels_all[];
extern const size_t cpu_kernels_count;

/* The kernels of this name, "vector16", "avx2" or another of the instruction sets; or the best
   ones, if that is NULL, unknown, or does not run on this machine. */
const struct cpu_kernels *cpu_kernels_choose(const char *asked);

/* The kernel for `type` that finds at least what `wants` (partial_want bits) asks for. */
cpu_kernel *cpu_kernels_find(const struct cpu_kernels *kernels, enum element_type type,
                             unsigned wants);

/* Has the reducer's kernel leave out missing elements, which have to stay there for it. False if
   there is none that can; the caller has to leave them out. */
bool cpu_reducer_leaves_out(struct cpu_reducer *r, const struct cpu_kernels *kernels,
                            const struct cpu_missing *missing);

/* Whether take_lacking32 finds all that the reducer wants. */
bool cpu_reducer_takes_lacking(const struct cpu_reducer *r, const struct cpu_kernels *kernels,
                               const struct cpu_missing *missing);

/* A block whose extreme is the best of its chunk so far; where in it is found out at the end. */
struct cpu_candidate {
    int64_t key; /* element_key of the extreme */
    const unsigned char *block;
    size_t count;   /* elements of the block */
    uint64_t index; /* of its first element */
};

/* The superaccumulator for binary64 values: a cell for each sign and exponent, that is, for each
   value of the upper 12 bits. A cell is the sum of the mantissas that came to it, in two parts of
   32 and 21 bits a value: 2^32 values fit (the "large superaccumulator" of R. M. Neal, "Fast exact
   summation using small and large superaccumulators", 2015). */
#define CPU_CELLS 4096
struct cpu_cell {
    uint64_t lower, upper;
};

/* Exponent bins for binary32 values. Bin i takes biased exponents from 16 i to 16 i + 15: multiples
   of 2^(16 i - 150) below 2^(16 i - 111), 39 bits, so that 2^13 of them add up in binary64 without
   rounding. There are several sets, for neighbouring elements: an addition need not wait for the
   one before it. */
#define CPU_EXPONENT_BINS 16
#define CPU_BIN_SETS 8
#define CPU_BIN_VALUES_MAX (1u << 13)

/* Sums of integers that the exact sum has not got yet: of the lower and the upper 32 bits of
   elements, with 2^(bits - 1) added to each that is signed. So many elements fit. */
#define CPU_INTEGERS_MAX ((uint64_t)1 << 31)
struct cpu_integers {
    uint64_t low, high, count;
};

struct cpu_reducer {
    struct partial partial;
    unsigned wants;
    cpu_kernel *kernel;
    size_t (*search)(const void *x, size_t count, uint64_t bits, bool truth); /* see cpu_kernels */
    enum element_type type;
    const struct cpu_missing *missing; /* what `kernel` leaves out and counts; NULL for nothing */
    struct cpu_candidate min, max;
    double *scratch; /* CPU_BLOCK_MAX, aligned to 64 bytes */
    /* The address of what the kernel's elements are copies of, less theirs: lines are asked for ahead
       of their use there. 0 for elements that are no copies. */
    uintptr_t origin;

    /* How the next blocks are summed, from what the last ones were like. */
    int extraction_bound;       /* the next block to be extracted should be below 2^this */
    unsigned blocks_dearest;    /* blocks that go the dearest way without another try */
    unsigned blocks_to_extract; /* blocks that are extracted without another try; of 64 bits, if the
                                   sum alone is wanted */
    unsigned extract_run;       /* how many that will be after the next block that asks for it */

    /* For squares and magnitudes (kernel_moments32.h, kernel_moments64.h): the next block should be
       below 2^square_bound; blocks for which ways that failed are not tried again. */
    int square_bound;
    unsigned squares_dearest, absolute_dearest, limbs_dearest;
    size_t
        aside; /* f64: elements of the current block that are in the scratch, to be added alone */

    /* f64: CPU_CELLS, all zero between chunks, and the least and the greatest exponent field of
       those that are not. NULL while no element was one. */
    struct cpu_cell *cells;
    unsigned first_exponent, last_exponent;

    /* Integers: all zero between chunks. */
    struct cpu_integers integers;

    /* Floats of one byte: whether the last elements had NaNs or infinities among them, and whether
       they had one sign. */
    bool specials_near, one_sign;

    /* Up to 32 bits: all zero between chunks, and how many values each may hold by now. */
    double exponent_bins[CPU_BIN_SETS][CPU_EXPONENT_BINS];
    unsigned binned;
};

/* Makes a reducer that has taken nothing yet, for elements of `type`; `wants` are partial_want
   bits. False without memory; then, too, it has to be closed. */
bool cpu_reducer_open(struct cpu_reducer *r, const struct cpu_kernels *kernels,
                      enum element_type type, unsigned wants);

/* Makes it one that has taken nothing yet, for elements of another type, or of the same. False
   without memory. */
bool cpu_reducer_restart(struct cpu_reducer *r, const struct cpu_kernels *kernels,
                         enum element_type type);

/* Frees what the reducer holds. */
void cpu_reducer_close(struct cpu_reducer *r);

/* The parts of a kernel that are the same for every instruction set (reducer.c). */

/* Begin and end a chunk. The end empties the cells and the bins into the sum, and takes the
   candidates' extremes, with their places where PARTIAL_WHERE asks for them. */
void cpu_begin_chunk(struct cpu_reducer *r);
void cpu_end_chunk(struct cpu_reducer *r);

/* Takes `count` elements one by one, but those that r->missing has: the end of a chunk that fills no
   vector. */
void cpu_take_tail(struct cpu_reducer *r, const unsigned char *data, size_t count, uint64_t index);

/* Takes a block's extremes, as element_keys, into the candidates of the chunk. */
void cpu_take_block(struct cpu_reducer *r, int64_t min_key, int64_t max_key, const void *block,
                    size_t count, uint64_t index);

/* Notes the first NaN of a block that holds one. */
void cpu_take_first_nan(struct cpu_reducer *r, const unsigned char *block, size_t count,
                        uint64_t index);

/* Takes a block of elements of one byte, as counts of its bytes. */
void cpu_take_bytes(struct cpu_reducer *r, const unsigned char *block, size_t count,
                    uint64_t index);

/* Takes a block of integers, or of floats of one byte, into everything that can be wanted. */
void cpu_take_moments(struct cpu_reducer *r, const unsigned char *block, size_t count,
                      uint64_t index);

/* Makes room for n more integers, n at most CPU_INTEGERS_MAX, and counts them. */
void cpu_reserve_integers(struct cpu_reducer *r, size_t n);

/* The bin of a value, which may be `bin`, the next one or the one before it: the bounds decide. A
   NaN reaches none. */
static inline uint32_t cpu_correct_bin(const struct tally_plan *plan, double value, uint32_t bin)
{
    if (bin > 0 && !(value >= plan->bound[bin - 1]))
        return bin - 1;
    return bin + (bin <= plan->bins && value >= plan->bound[bin]);
}

/* Adds n finite values to the superaccumulator's cells. */
void cpu_add_to_cells(struct cpu_reducer *r, const double *x, size_t n);

/* Makes room for n more values in each exponent bin, n at most CPU_BIN_VALUES_MAX, and counts
   them. */
void cpu_reserve_bins(struct cpu_reducer *r, size_t n);

#endif
