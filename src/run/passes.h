/*
 * Passes over an input, or over several inputs together, which a pass plan (core/pass_plan.h)
 * needs. Keeps the results of one pass for the next, and verifies that all passes had the same
 * elements.
 *
 * Belongs to the session's thread. If a function fails, the source has the reason, or memory is
 * lacking.
 */
#ifndef GPUREDUCE_RUN_PASSES_H
#define GPUREDUCE_RUN_PASSES_H

#include <stdbool.h>

#include "core/pass_plan.h"
#include "run/reduction.h"
#include "run/run_state.h"

struct passes {
    struct pass_request request; /* the request without quantiles that cannot be computed */
    struct pass_plan *plan;      /* NULL if nothing is requested, or before the first pass */
    struct tally_set *sets;      /* tallies of the current pass, one set for each worker */
    unsigned workers;            /* sets */
    unsigned count;              /* complete passes */
    enum element_type type;      /* type in the first pass */
    uint64_t data_offset;        /* source_info.data_offset in the first pass */
    struct partial first;        /* partial result of the first pass */
    bool more;                   /* another pass is needed */

    /* Passes over several inputs. */
    unsigned inputs;       /* their number; 0 if there is one input */
    unsigned inputs_taken; /* inputs that the current pass has read */
    struct partial all;    /* partial result of these */
    uint64_t elements;     /* elements of all inputs; this and the next also of one */
    struct pass_runs runs; /* size of the sample */
    size_t runs_taken;     /* runs in `sample` */
    unsigned char *sample; /* NULL: there is none */
    bool *sample_missing;  /* which of its elements are missing */
};

/* Begins the passes over an input that has not been read. */
void passes_open(struct passes *r, const struct pass_request *request);

/* Begins the passes over several inputs of one type, each of which has been reduced before;
   `known` is their total. A pass reads all inputs in turn. All quantiles are computed. False on
   failure. */
bool passes_open_several(struct passes *r, const struct pass_request *request, unsigned inputs,
                         const struct reduction *known, unsigned workers, bool propagate);

/* Reads a sample of one of the inputs, in which `values` are missing, beside those that it names, by up
   to `workers` threads. False on failure. */
bool passes_sample(struct passes *r, struct source *source, const struct missing_values *values,
                   unsigned workers);

/* Passes the samples of all inputs to the pass plan, if that needs them. False without memory. */
bool passes_sampled(struct passes *r);

/* Frees the passes. */
void passes_close(struct passes *r);

/* Prepares the next pass over run->source: its tallies, and run's partial_want bits. False on
   failure. */
bool passes_begin(struct passes *r, struct run *run);

/* Evaluates a complete pass. *partial: its partial result; of later passes it is replaced by
   that of the first. False on failure. */
bool passes_take(struct passes *r, const struct run *run, struct partial *partial);

/* Drops the tallies of the current pass. */
void passes_drop(struct passes *r);

/* Adds quantiles and the histogram to *reduction. The histogram is valid until passes_close. */
void passes_finish(const struct passes *r, struct reduction *reduction);

#endif
