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
    struct survey_request request; /* the same, or without quantiles where they cannot be had */
    struct survey *survey;  /* NULL where nothing is asked for, or before the first reading */
    struct tally_set *sets; /* of the reading that is under way, one for each CPU worker */
    unsigned workers;
    unsigned count;         /* readings that have been taken */
    enum element_type type; /* as the first one found it */
    uint64_t data_offset;   /* likewise */
    struct partial first;   /* what that one found */
    bool more;              /* another one is needed */
};

/* Begins with an input that has not been read. */
void readings_open(struct readings *r, const struct survey_request *request);

/* Ends with it. */
void readings_close(struct readings *r);

/* Prepares the next reading of run->source: what it tallies, and what it finds beside that. */
bool readings_begin(struct readings *r, struct run *run);

/* Takes a reading that was complete: the first one's partial result, which then replaces those of
   later ones, and the tallies. */
bool readings_take(struct readings *r, const struct run *run, struct partial *partial);

/* Forgets what the reading under way has tallied. */
void readings_drop(struct readings *r);

/* Fills in what the survey found: quantiles and the histogram, which lives until readings_close. */
void readings_finish(const struct readings *r, struct reduction *reduction);

#endif
