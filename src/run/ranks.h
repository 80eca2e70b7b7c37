/*
 * Results of inputs that several processes have read, each a part of them. The processes send each
 * other pieces, and one of them computes the results.
 */
#ifndef GPUREDUCE_RUN_RANKS_H
#define GPUREDUCE_RUN_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "run/arrays.h"
#include "run/rank_piece.h"

/* The pieces of an input. */
struct ranks_input {
    bool container;
    size_t count; /* 1, or as many as the container has arrays that are to be reduced */
    const struct rank_piece *pieces;
};

/* The result of an input. */
struct ranks_result {
    struct reduction reduction;

    /* The arrays of a container as a source would describe them, and their results; NULL for other
       inputs. */
    struct source_info info;
    struct container_array *descriptions;
    struct source_pick *picks;
    struct arrays *arrays;
};

/* Computes the result of the input `path` from merged pieces, which must live as long as *result. The
   reduction has an error if the processes have counted other elements than there are. */
void ranks_finish(struct ranks_result *result, const struct ranks_input *input, const char *path,
                  const struct session_options *options);

/* Frees a result. */
void ranks_free(struct ranks_result *result);

#endif
