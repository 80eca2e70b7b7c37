/*
 * The results of slices: from what the engine found of each to the values that were asked for, many
 * slices at a time. Pure functions over a batch, which belongs to one thread.
 */
#ifndef GPUREDUCE_RUN_AXIS_RESULTS_H
#define GPUREDUCE_RUN_AXIS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/axis_layout.h"
#include "core/error.h"
#include "core/operation.h"
#include "core/scale.h"
#include "cpu/slices.h"
#include "run/session_options.h"

/* The results to find of an array. */
struct axis_plan {
    const struct axis_layout *layout;
    enum element_type type;  /* as they are reduced: those of masked integers are larger */
    enum element_type given; /* as they are for users */
    enum nan_policy nan;
    uint64_t ddof;
    unsigned wants;             /* partial_want bits of all operations */
    struct missing missing;     /* the missing values of the elements */
    struct scale scale;         /* that of the elements; results are of what these stand for */
    struct partial_split split; /* its threshold, if PARTIAL_SPLIT is wanted */
    const struct operation *const *operations;
    size_t operation_count;
};

/* The kind of the values of an operation. */
enum axis_kind {
    AXIS_NUMBER, /* double; of an element type, or binary64 */
    AXIS_COUNT,  /* uint64_t; PARTIAL_NO_INDEX for none */
    AXIS_INTEGER /* struct integer, or 64 bits (struct axis_batch); a number that is not known is NaN,
                    or, with missing values, missing */
};

enum axis_kind axis_kind(const struct axis_plan *plan, const struct operation *op);

/* The type of 64 bits that holds the values of an operation, but for integers that are too large: f for
   binary64, i for an integer with a sign, such as a count, and u for one without. */
char axis_letter(const struct axis_plan *plan, const struct operation *op);

/* Sets *bits to the two's complement of an integer. False if that is not known, or too large for 64
   bits, `with_sign` or without. */
bool axis_integer_bits(const struct integer *x, bool with_sign, uint64_t *bits);

/* The integer that stands for one that is not known: a missing value; not known if there is none. */
struct integer axis_unknown_integer(const struct axis_plan *plan);

/* Sets the error about an integer of the slice at `place` that does not fit or is not known; then
   axis_unknown_integer does not fit. */
void axis_refuse_integer(const struct axis_plan *plan, const struct operation *op,
                         const char *place, const struct integer *x, struct error *error);

/* The values of one operation. */
union axis_values {
    double *number;
    uint64_t *count;
    struct integer *integer;
};

/* The results of slices with consecutive numbers. */
struct axis_batch {
    const struct axis_plan *plan;
    const struct cpu_kernels *kernels;
    uint64_t first; /* number of the first slice */
    size_t count, room;
    union axis_values values[OPERATIONS_MAX]; /* of the operations, in their order */
    /* All values of an AXIS_INTEGER are known, and `count` has their 64 bits in place of `integer`, with a
       sign if axis_letter is i. */
    bool narrow[OPERATIONS_MAX];
    bool moments;       /* moments_finish is to be called */
    bool values_wanted; /* partial_finish is to be called */
    unsigned unwanted;  /* as in struct moments_terms */

    /* With --nan=error: the first of the slices that has a NaN, which ends them: `count` does not
       include it. */
    bool refused;
    uint64_t refused_index; /* of the first NaN in it */
};

/* Value number i of operation j, which is an AXIS_INTEGER. */
struct integer axis_integer(const struct axis_batch *b, size_t j, size_t i);

/* Makes all values of operation j 64 bits, as those of a narrow one, with the missing value for those that
   are not known. Returns the slice of the first value that does not fit, or b->count; values of other kinds
   than AXIS_INTEGER stay as they are. */
size_t axis_narrow(const struct axis_batch *b, size_t j);

/* Whether it takes more than the rounded sum of each slice to finish what is asked for. */
bool axis_needs_exact_sums(const struct axis_plan *plan);

/* Makes room for the results of so many slices. False without memory; then, too, it has to be
   closed. */
bool axis_batch_open(struct axis_batch *b, const struct axis_plan *plan,
                     const struct cpu_kernels *kernels, size_t room);
void axis_batch_close(struct axis_batch *b);

/* Sets the results of `count` slices, from the one number `from` of s on, but for quantiles: the first
   of them is number `first` of all. */
void axis_batch_finish(struct axis_batch *b, const struct cpu_slices *s, size_t from, size_t count,
                       uint64_t first);

#endif
