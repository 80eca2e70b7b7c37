/*
 * A total: what several reductions come to as if their inputs were one, one after the other. It is
 * exact: partials are merged, of different types too: the sum is of numbers, whatever their type,
 * and extremes of two types are compared as numbers. It belongs to one thread.
 */
#ifndef GPUREDUCE_RUN_TOTAL_H
#define GPUREDUCE_RUN_TOTAL_H

#include "run/reduction.h"
#include "run/session_options.h"

struct total {
    /* Indices count over all inputs. Amounts and times are sums; there is no format, no shape and
       no profile. The type is that of all inputs, or f64 where they differ. `error` is set when an
       input has no result: then the total has none. */
    struct reduction reduction;
    struct error cause;     /* why a file could not be read again; ERROR_NONE if none was */
    const char *cause_path; /* that file's; NULL where it is no file's fault */
    bool unreadable;        /* some arrays failed since they cannot be read */
    bool arrays;            /* some inputs were containers, whose arrays count as inputs */
    bool mixed;             /* inputs are of several types */
    bool repeatable;        /* all of them can be read again */
    struct partial_types types;
    unsigned inputs, failed;
};

/* Makes *t the total of no inputs, which counts as f64. */
void total_clear(struct total *t);

/* Adds an input, or the arrays of one, after those added before; a reduction with an error counts
 * as failed. */
void total_add(struct total *t, const struct reduction *reduction);

/* Works out the result of what was added, but for quantiles and histograms, which session_quantiles
   finds. `ddof` is as in struct session_options. */
void total_finish(struct total *t, enum nan_policy nan, uint64_t ddof);

#endif
