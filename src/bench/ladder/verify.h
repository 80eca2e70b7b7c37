/*
 * Verification: whether a rung gives the right results, before it is timed.
 *
 * There are two kinds of input. The signs are 0 or +-1, and so few of them are not 0 that no
 * addition rounds, in whatever order: the sum must be exact. On the data that are timed, the sum
 * must be within its proven bound. The production kernel must have every bit of all its results
 * right on both.
 *
 * Nothing here prints: what is wrong stands in the findings.
 */
#ifndef GPUREDUCE_BENCH_VERIFY_H
#define GPUREDUCE_BENCH_VERIFY_H

#include "bench/ladder/bench_case.h"
#include "bench/ladder/inputs.h"
#include "bench/ladder/workbench.h"

/* How good a result is, from the best to the worst. */
enum verdict {
    VERDICT_EXACT,    /* every bit is right */
    VERDICT_BOUNDED,  /* the error is within the bound */
    VERDICT_OVERFLOW, /* an infinity or a NaN, where additions overflow in some order */
    VERDICT_WRONG     /* none of these */
};

/* The verdict as it is printed. */
const char *verify_verdict_name(enum verdict verdict);

/* The findings of the verification of a bench case. */
struct findings {
    enum verdict verdict; /* the worst over all inputs */
    bool measurable;      /* it ran, and is not wrong */
    double ulps;          /* error on content 0, units in the last place; NaN for a case that has no
                             sum */
    bool same;            /* all runs gave the same bits */
    unsigned compared;    /* runs that were compared, with the first */
    char why[256];        /* why it is not measurable */
};

/* Verifies a case on the signs, if the inputs have them, and on every content of the inputs. If
   results are rows, only content 0 is checked. After that, compares the results of several runs on
   content 0. */
struct findings verify_case(struct workbench *b, const struct inputs *in, struct bench_case *c);

/* Records that a run failed with this error, so the case is not measurable. */
void verify_note_error(struct workbench *b, struct findings *f, cudaError_t error);

#endif
