/*
 * Totals: one result for several inputs, as if their elements followed each other in one input. A
 * total is exact, since partial results are merged. Types may differ: then numbers of all types are
 * added and compared. A total belongs to one thread.
 */
#ifndef GPUREDUCE_RUN_TOTAL_H
#define GPUREDUCE_RUN_TOTAL_H

#include "core/scaled.h"
#include "run/reduction.h"
#include "run/session_options.h"

struct total {
    /* The result. Indices count over all inputs; numbers of bytes and times are sums; there is
       no format, shape and profile. The type and the scale are those of all inputs, or f64 and
       none if they differ. `error` is set if an input has no result: then the total has none. */
    struct reduction reduction;
    struct error cause;     /* the reason why an input could not be read again; ERROR_NONE if
                               none */
    const char *cause_path; /* the path of that input; NULL if it is not about an input */
    bool unreadable;        /* some arrays failed because they cannot be read */
    bool arrays;            /* some inputs are containers, whose arrays count as inputs */
    bool mixed;             /* inputs have several types, or scales */
    bool repeatable;        /* all inputs can be read again */
    /* The type and the scale of the last inputs, whose partial result is in `reduction`. If `mixed`,
       `scaled` has the sums of those before, and after total_finish of all. */
    enum element_type type;
    struct scale scale;
    struct scaled scaled;
    unsigned inputs, failed;
};

/* Makes *t the total of no inputs, of type f64. */
void total_clear(struct total *t);

/* Adds an input, or the arrays of one, after those added before; a reduction with an error counts
 * as failed. */
void total_add(struct total *t, const struct reduction *reduction);

/* Computes the result, except for quantiles and histograms, which session_quantiles adds.
   `ddof`: see struct session_options. */
void total_finish(struct total *t, enum nan_policy nan, uint64_t ddof);

#endif
