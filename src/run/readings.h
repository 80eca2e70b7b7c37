/*
 * Readings: an input that is read as often as a survey (core/survey.h) asks for. This keeps, from
 * one reading of it to the next, what was found, and sees to it that the readings are of the same
 * thing.
 *
 * It belongs to the session's thread. Functions that fail have printed why.
 */
#ifndef GPUREDUCE_RUN_READINGS_H
#define GPUREDUCE_RUN_READINGS_H

#include <stdbool.h>

#include "core/survey.h"
#include "run/reduction.h"
#include "run/run_state.h"

struct readings {
    const struct survey_request *asked;
    struct survey_request request; /* `request`, or without quantiles if they cannot be computed */
    struct survey *survey;  /* NULL where nothing is asked for, or before the first reading */
    struct tally_set *sets; /* of the reading that is under way, one for each worker */
    unsigned workers;
    unsigned count;         /* readings that have been taken */
    enum element_type type; /* as the first one found it */
    uint64_t data_offset;   /* as the first one found it */
    struct partial first;   /* findings of the first reading */
    bool more;              /* another one is needed */

    /* For readings of several inputs. */
    unsigned inputs, inputs_taken; /* all of them, 0 otherwise; and those of this reading */
    struct partial all;            /* of the latter */
    uint64_t elements;             /* of all inputs */
    struct selection_runs runs;    /* of the sample that is wanted */
    size_t runs_taken;
    unsigned char *sample; /* the runs that have been taken; NULL for none */
};

/* Begins with an input that has not been read. */
void readings_open(struct readings *r, const struct survey_request *request);

/* Begins with several inputs of one type that have been read, each by itself, and whose partials
   came to `known`: each reading is one of all of them, one behind the other. Nothing is left out of
   the request. */
bool readings_open_several(struct readings *r, const struct survey_request *request,
                           unsigned inputs, const struct reduction *known, unsigned workers,
                           bool propagate);

/* Samples one of several inputs. */
bool readings_sample(struct readings *r, struct source *source);

/* Takes the samples of all of them, where that is of use. */
bool readings_sampled(struct readings *r);

/* Ends with it. */
void readings_close(struct readings *r);

/* Prepares the next reading of run->source: what it tallies, and what it finds beside that. */
bool readings_begin(struct readings *r, struct run *run);

/* Takes a reading that was complete: the first one's partial result, which then replaces those of
   later ones, and the tallies. */
bool readings_take(struct readings *r, const struct run *run, struct partial *partial);

/* Forgets what the reading under way has tallied. */
void readings_drop(struct readings *r);

/* Forgets it after an input, unless the reading goes on with the next one. */
void readings_pause(struct readings *r);

/* Fills in what the survey found: quantiles and the histogram, which lives until readings_close. */
void readings_finish(const struct readings *r, struct reduction *reduction);

#endif
