/*
 * Results of several processes, one of which prints what all of them have found. How they tell each
 * other is the business of src/mpi_main.c.
 */
#ifndef GPUREDUCE_RANKS_H
#define GPUREDUCE_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "cli/report.h"
#include "run/rank_piece.h"
#include "run/total.h"

/* The pieces of an input. */
struct ranks_input {
    bool container;
    size_t count; /* 1, or as many as the container has arrays that are to be reduced */
    const struct rank_piece *pieces;
};

/* Prints the results of an input as the options ask, and adds them to the total. */
void ranks_report(struct report *r, const char *path, const struct ranks_input *input,
                  struct total *total);

/* Has a process that is the one number `place` of those on its machine use the GPU of this place,
   among those that the user has named or that are there. */
void ranks_choose_gpu(struct session_options *options, unsigned place);

#endif
