/*
 * Passes: an input that is read as often as a pass plan (core/pass_plan.h) asks for. This keeps,
 * from one pass of it to the next, what was found, and sees to it that the passes are of the same
 * thing.
 *
 * It belongs to the session's thread. When a function fails, the source knows why, or memory is
 * short.
 */
#ifndef GPUREDUCE_RUN_PASSES_H
#define GPUREDUCE_RUN_PASSES_H

#include <stdbool.h>

#include "core/pass_plan.h"
#include "run/reduction.h"
#include "run/run_state.h"

struct passes {
    const struct pass_request *asked;
    struct pass_request request; /* `request`, or without quantiles if they cannot be computed */
    struct pass_plan *plan;      /* NULL where nothing is asked for, or before the first pass */
    struct tally_set *sets;      /* of the pass that is under way, one for each worker */
    unsigned workers;
    unsigned count;         /* passes that have been taken */
    enum element_type type; /* as the first one found it */
    uint64_t data_offset;   /* as the first one found it */
    struct partial first;   /* findings of the first pass */
    bool more;              /* another one is needed */

    /* For passes of several inputs. */
    unsigned inputs, inputs_taken; /* all of them, 0 otherwise; and those of this pass */
    struct partial all;            /* of the latter */
    uint64_t elements;             /* of all inputs */
    struct selection_runs runs;    /* of the sample that is wanted */
    size_t runs_taken;
    unsigned char *sample; /* the runs that have been taken; NULL for none */
};

/* Begins with an input that has not been read. */
void passes_open(struct passes *r, const struct pass_request *request);

/* Begins with several inputs of one type that have been read, each by itself, and whose partials
   came to `known`: each pass is one of all of them, one after the other. Nothing is left out of
   the request. */
bool passes_open_several(struct passes *r, const struct pass_request *request, unsigned inputs,
                         const struct reduction *known, unsigned workers, bool propagate);

/* Samples one of several inputs. */
bool passes_sample(struct passes *r, struct source *source);

/* Takes the samples of all of them, where that is of use. */
bool passes_sampled(struct passes *r);

/* Ends with it. */
void passes_close(struct passes *r);

/* Prepares the next pass of run->source: what it tallies, and what it finds beside that. */
bool passes_begin(struct passes *r, struct run *run);

/* Takes a pass that was complete: the first one's partial result, which then replaces those of
   later ones, and the tallies. */
bool passes_take(struct passes *r, const struct run *run, struct partial *partial);

/* Forgets what the pass under way has tallied. */
void passes_drop(struct passes *r);

/* Forgets it after an input, unless the pass goes on with the next one. */
void passes_pause(struct passes *r);

/* Fills in what the pass plan found: quantiles and the histogram, which lives until passes_close.
   */
void passes_finish(const struct passes *r, struct reduction *reduction);

#endif
