/*
 * Accumulators as they are inside.
 *
 * Small views are reduced at once by a worker of the CPU, which an accumulator keeps; large ones by
 * the threads of the context. All that was found is merged, exactly.
 */
#ifndef GPUREDUCE_LIB_ACCUMULATOR_H
#define GPUREDUCE_LIB_ACCUMULATOR_H

#include "core/ranges.h"
#include "engine/engine.h"
#include "lib/objects.h"

/* The elements that an accumulator has. */
enum accumulator_kind {
    ACCUMULATOR_EMPTY, /* none yet: it can become one of the others */
    ACCUMULATOR_BAG,   /* some, and nobody knows which of an array */
    ACCUMULATOR_PLACED /* those of `ranges` */
};

struct gpr_accumulator {
    gpr_context *context;
    struct gpr_request request; /* a copy, which reduces NaNs as GPR_NAN_PROPAGATE does */
    enum nan_policy nan;        /* that of the results */
    enum element_type type;
    struct missing missing; /* the missing values of the request */
    enum accumulator_kind kind;
    struct scale scale;         /* that of the elements, of one that is not empty */
    unsigned wants;             /* partial_want bits of the stored numbers */
    struct partial_split split; /* the threshold, if `wants` has PARTIAL_SPLIT */
    struct ranges ranges;

    char *input,
        *array;      /* names for gpr_accumulator_write; `array` NULL for an input that is one */
    uint64_t of;     /* elements of the whole array, at least */
    bool named;      /* gpr_accumulator_set_array has set the names */
    uint64_t set_of; /* the value that it has given `of`; 0 before */

    struct partial partial; /* of all elements that neither `worker` nor `device` has reduced */
    struct engine_state *engine;
    struct engine_worker *worker; /* NULL: there is none yet */
    bool swap;                    /* the worker's elements are not in this machine's byte order */
    struct cuda_array *device;    /* elements in device memory; NULL: there were none */
};

/* Makes an accumulator that is empty one of a kind, of elements with this scale; of others, sees
   whether they are so. A status other than GPR_OK is that of the context. */
gpr_status lib_accumulator_begin(gpr_accumulator *a, enum accumulator_kind kind,
                                 const struct scale *scale);

/* Sets *p to the partial result of all elements. */
gpr_status lib_accumulator_collect(const gpr_accumulator *a, struct partial *p);

#endif
