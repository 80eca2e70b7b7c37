/*
 * Which arrays of two inputs are compared with each other, and what their headers tell of them.
 */
#ifndef GPUREDUCE_RUN_DIFF_MATCH_H
#define GPUREDUCE_RUN_DIFF_MATCH_H

#include "run/diff_state.h"

/* Sets the items, and the pairs whose values are to be compared, of two sides that are open. False
   on failure. */
bool diff_match(struct diff *d);

/* Notes an error of what is called so. */
void diff_add_error(struct diff *d, const char *name, const struct error *error);

/* Notes why it cannot be told how an item compares, which makes it DIFF_FAILED. */
void diff_item_error(struct diff *d, struct diff_item *item, const struct error *error);

/* Warns about `count` items, of which this is the first. */
void diff_item_warning(const struct diff *d, const struct diff_item *item, size_t count,
                       const char *text);

#endif
