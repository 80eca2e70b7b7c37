/*
 * Inputs one after the other, and the arrays that they hold:
 *
 *     struct inputs inputs = {.paths = paths, .count = count, .options = &options, .workers = 1};
 *
 *     while (inputs_next(&inputs))
 *         take(inputs.path, inputs.info, inputs.array);
 *
 * Each input is opened once. One that cannot be opened comes up once, too, with `error` set and
 * without a source.
 */
#ifndef GPUREDUCE_INPUTS_H
#define GPUREDUCE_INPUTS_H

#include "source/source.h"

struct inputs {
    /* Set by the caller. */
    char *const *paths;
    int count;
    const struct source_options *options;
    unsigned workers; /* that each input is opened for */

    /* The current array. */
    const char *path;
    struct source *source; /* the input that it is, or that holds it; NULL at the end, and with
                              `error` */
    struct error error;    /* why the input cannot be opened; ERROR_NONE where it is open */
    const struct source_info *info;
    const struct source_pick *pick;      /* NULL if the input is one array, as is the next */
    const struct container_array *array; /* pick->array */
    bool first;                          /* it is the first of its input */

    bool failed;   /* an input could not be opened */
    int next;      /* number of the next input */
    size_t arrays; /* arrays of the current input that have been taken */
};

/* Goes to the next array, and opens and closes inputs as needed. False at the end. */
bool inputs_next(struct inputs *inputs);

/* Number of arrays of an input that are to be reduced. */
static inline size_t inputs_arrays(const struct source_info *info)
{
    return info->container ? info->pick_count : 1;
}

/* Returns the current input, which is the caller's to close from now on. */
struct source *inputs_take(struct inputs *inputs);

/* Closes the current input, if there is one. */
void inputs_close(struct inputs *inputs);

#endif
