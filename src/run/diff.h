/*
 * Comparing two inputs, element by element: files that are one array each, or files of several
 * arrays, which are matched by name. Each side may be several files, which then are one set of
 * arrays.
 *
 * Both sides are read at once, by all workers: a worker claims a range of a pair of arrays, and
 * gets it from both, in place where they are mapped. An input in order, such as a pipe, is read by
 * one worker at a time on each side, and decoded, as far as it can be, and compared by all. A worker
 * merges its findings of a pair into those of others: exactly, in any order (core/difference.h).
 *
 * A comparison belongs to one thread, which waits while others work.
 */
#ifndef GPUREDUCE_RUN_DIFF_H
#define GPUREDUCE_RUN_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/diff_item.h"

struct diff;

/* A comparison of nothing yet. The request must outlive it. NULL without memory. */
struct diff *diff_new(const struct diff_request *request);
void diff_close(struct diff *d);

/* Opens both sides, matches their arrays, and compares these. False on failure: then items may be
   wrong or incomplete. Items that are DIFF_FAILED are no failure of this function, but errors. */
bool diff_run(struct diff *d);

/* The errors, in the order in which they were found, from number 0 on; NULL where there are no
   more. *name: of what, as messages show it; empty for none. *array: the array that it is about, if there
   is one, or NULL. */
const struct error *diff_error(const struct diff *d, size_t number, const char **name,
                               const char **array);

/* The pairs in the order of side A, and after them the arrays that B alone has. */
size_t diff_count(const struct diff *d);
const struct diff_item *diff_get(const struct diff *d, size_t k);

/* The first pattern of a tolerance, from number *next on, that matches no array, after which *next is
   set; NULL: there is none. After a run that did not fail. */
const char *diff_unmatched(const struct diff *d, unsigned *next);

/* Whether anything differs; how many elements, and bytes of both sides, have been compared; and
   how long that took. */
struct diff_summary {
    bool differs, failed; /* failed: of an item it cannot be told */
    size_t different;     /* items that are not DIFF_SAME */
    uint64_t elements, bytes;
    double seconds;
};
struct diff_summary diff_summary(const struct diff *d);

#endif
