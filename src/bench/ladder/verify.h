/*
 * Verifying: whether a rung gives the results that it must, before it is timed, on two kinds of
 * input. On signs, all 0 or +-1 and so few of them not 0 that no order of additions rounds, its sum
 * must be the exact one. On the data that are timed it must be within the bound of bound.h; the
 * production kernel must have every bit of all results right.
 */
#ifndef GPUREDUCE_BENCH_VERIFY_H
#define GPUREDUCE_BENCH_VERIFY_H

#include "bench/ladder/bound.h"
#include "bench/ladder/inputs.h"
#include "bench/ladder/subject.h"
#include "bench/ladder/workbench.h"

/* What verifying a subject found. */
struct findings {
    enum verdict verdict; /* the worst of all inputs */
    bool measurable;      /* it ran, and is not wrong */
    double ulps;          /* error on content 0, units in the last place; NaN: it has no sum */
    bool same;            /* all runs gave the same bits */
    unsigned compared;    /* runs, with the first */
    char why[256];        /* it is not measurable */
};

/* Verifies a subject on the signs, where there are any, and on every content of the inputs, of
   batched rungs each row of the first alone; and compares the results of several runs on the first.
   Prints nothing. */
struct findings verify_subject(struct workbench *b, const struct inputs *in, struct subject *s);

/* Puts down that a run failed with this error: the subject is not measurable then. */
void verify_note_error(struct workbench *b, struct findings *f, cudaError_t error);

#endif
