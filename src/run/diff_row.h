/*
 * Rows of a comparison: how two arrays differ, as fields (core/writer.h). Functions that read what a
 * comparison has found.
 */
#ifndef GPUREDUCE_RUN_DIFF_ROW_H
#define GPUREDUCE_RUN_DIFF_ROW_H

#include <stdbool.h>

#include "core/writer.h"
#include "run/diff.h"

/* Whether an item differs, or is an array of which it is unknown: then it has a row. */
bool diff_differs(const struct diff_item *item);

/* A result of an item as a field, which refers to the item; FIELD_ABSENT if it has none. */
struct field diff_result(const struct diff_item *item, enum difference_value which);

/* Whether an array of a comparison has missing values, so that rows count missing elements. */
bool diff_has_missing(const struct diff *diff);

/* Writes the row of an item. `missing`: with counts of missing elements. */
void diff_row_write(struct writer *w, const struct diff_request *request, const struct diff *diff,
                    const struct diff_item *item, bool missing);

#endif
