/*
 * The results of the arrays of a container that are reduced in one run.
 *
 * Workers take chunks of all arrays in turn, so that many small arrays keep all workers as busy as
 * a large one. A worker that begins another array hands in its partial result of the previous one.
 * The worker that hands in the last part of an array rounds the result, which takes longer than
 * reducing a small array. An array that was reduced by one worker needs no lock.
 *
 * If lines are written (session_options.lines), the worker that rounds a result writes its line at
 * once. The result itself is then kept only with session_options.keep_results, since the results of
 * many small arrays take more memory and time than reducing them.
 */
#ifndef GPUREDUCE_RUN_ARRAYS_H
#define GPUREDUCE_RUN_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/partial.h"
#include "run/reduction.h"
#include "run/session_options.h"
#include "source/source.h"

struct arrays;

/* Allocates the results of the arrays of a container, which `workers` workers will reduce.
   Results of arrays without elements are complete. `info` must outlive them, and `path`, the
   input's path as the user gave it, must outlive the run. NULL without memory. */
struct arrays *arrays_open(const struct source_info *info, const struct session_options *options,
                           const char *path, unsigned workers);
/* Frees the results. NULL is allowed. */
void arrays_close(struct arrays *a);

/* The number of arrays. */
size_t arrays_count(const struct arrays *a);

/* The number of arrays in all parts of the input together. */
size_t arrays_total(const struct arrays *a);

/* The missing values of array number k: those that its container names, and those that the user
   names and its type has. They are put into *m, if there are any; NULL: there are none. */
const struct missing *arrays_missing(const struct arrays *a, size_t k, struct missing *m);

/* The number of missing elements of all arrays together. */
uint64_t arrays_missing_count(const struct arrays *a);

/* Sets *columns to the shape of array number k if it is in Fortran order; NULL: it is in C order. */
const struct engine_columns *arrays_columns(const struct arrays *a, size_t k,
                                            struct engine_columns *columns);

/* Hands in a worker's partial result of array number k, and the keys of its elements, of which the
   quantiles are found; NULL: these are not wanted. Any worker. */
void arrays_take(struct arrays *a, unsigned worker, size_t k, const struct partial *partial,
                 struct pass_keys *keys);

/* Whether array number k has a result, or an error. */
bool arrays_has(const struct arrays *a, size_t k);

/* Sets the result, or the error, of array number k, which was reduced in a run of its own. */
void arrays_put(struct arrays *a, size_t k, const struct reduction *reduction);

/* After the run: sets errors of arrays that are damaged (`source` knows them; NULL: there is
   none), or have a NaN that the options do not allow. False if some array is not complete. */
bool arrays_finish(struct arrays *a, const struct source *source);

/* The reason why an array has no result: the parts of struct error that are kept for many
   arrays. */
struct array_error {
    enum error_kind kind;
    enum advice_kind advice;
    uint64_t offset;
    char text[];
};

/* The error of array number k; NULL if it has a result. */
const struct array_error *arrays_error(const struct arrays *a, size_t k);

/* The line of array number k, after the run: *length bytes, which may be 0. NULL where it has none:
   then its result was kept. */
const char *arrays_line(const struct arrays *a, size_t k, size_t *length);

/* Writes the result of array number k, which was kept, to *one, which must be all zeros before
   the first call. */
void arrays_get(const struct arrays *a, size_t k, struct reduction *one);

#endif
