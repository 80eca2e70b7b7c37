/*
 * The work of the workers of a comparison.
 */
#ifndef GPUREDUCE_RUN_DIFF_WORK_H
#define GPUREDUCE_RUN_DIFF_WORK_H

#include "run/diff_state.h"

/* Compares until there is nothing left; the second time, takes the sums of the elements in
   d->unseen. */
void diff_work(struct diff_worker *w);
void diff_work_again(struct diff_worker *w);

/* Adds a range. False without memory. */
bool diff_ranges_add(struct diff_ranges *ranges, const struct diff_range *range);

#endif
