/*
 * The arrays of a container that are reduced in one run, and their results.
 *
 * Workers take the chunks of all arrays as they come, so that many small arrays keep all of them as
 * busy as a large one. A worker that goes on with another array hands in what it has of the one
 * before. The worker that hands in the last part of an array rounds its result: that takes longer
 * than to reduce a small one. An array that one worker had alone takes no lock.
 *
 * If lines are written (session_options.lines), the worker that rounds a result has its line
 * written at once. Then the result itself is kept only if session_options.keep_results says so:
 * results of many small arrays take more memory, and time to touch it, than anything else of them.
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

/* Makes room for the results of the arrays of a source, which is a container, reduced by so many
   workers. The source must outlive them; and `path`, the input's as the user gave it, the run.
   Those without elements are finished. NULL without memory. */
struct arrays *arrays_open(const struct source_info *info, const struct session_options *options,
                           const char *path, unsigned workers);
void arrays_close(struct arrays *a);

/* How many there are. */
size_t arrays_count(const struct arrays *a);

/* How many there are in all parts of the input together. */
size_t arrays_total(const struct arrays *a);

/* The type of the elements of array number k, and whether they are of the other byte order. */
enum element_type arrays_type(const struct arrays *a, size_t k, bool *swap);
size_t arrays_element_size(const struct arrays *a, size_t k);

/* Hands in what a worker, by its number, has found of array number k. Any worker may call it. */
void arrays_take(struct arrays *a, unsigned worker, size_t k, const struct partial *partial);

/* Finds the index in each dimension of an element. */
void arrays_find_place(uint64_t places[CONTAINER_DIMENSIONS_MAX],
                       const struct container_array *array, uint64_t index);

/* Room for the place of an element as text. */
#define ARRAYS_PLACE_MAX ((size_t)24 * (CONTAINER_DIMENSIONS_MAX + 1))

/* Writes the place of an element in its array, as "17" or, with several dimensions, as "17 [1, 5]".
   Returns `text`. */
const char *arrays_show_place(char text[ARRAYS_PLACE_MAX], const struct container_array *array,
                              uint64_t index);

/* Gives array number k, which has no elements, its quantiles: NaNs. All else of it is known from
   the beginning. */
void arrays_put_empty(struct arrays *a, size_t k);

/* Hands in what a run of its own has found of array number k: a result, or an error. */
void arrays_put(struct arrays *a, size_t k, const struct reduction *reduction);

/* After the run: whether all arrays are finished. Those have errors that cannot be read, that the
   source (NULL for none) found to be damaged, or that have a NaN where it is to be one. */
bool arrays_finish(struct arrays *a, const struct source *source);

/* Why an array has no result: as much of a struct error as is kept of many. */
struct array_error {
    enum error_kind kind;
    enum advice_kind advice;
    char text[];
};

/* The error of array number k; NULL where it has a result. */
const struct array_error *arrays_error(const struct arrays *a, size_t k);

/* The lines, after the run, of array number *k and of those after it whose lines follow in memory;
 *k becomes the number of the first that has none there. *length: bytes, which may be 0. NULL, with
 *k as it was, where the array has no line: then its result was kept. */
const char *arrays_lines(const struct arrays *a, size_t *k, size_t *length);

/* The line of array number k alone; NULL where it has none. */
const char *arrays_line(const struct arrays *a, size_t k, size_t *length);

/* Sets what is known of array number k in *one, which was all zeros before the first call. Nothing
   is known of one whose result was not kept. */
void arrays_get(const struct arrays *a, size_t k, struct reduction *one);

#endif
