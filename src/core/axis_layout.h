/*
 * The layout of slices along an axis: as its elements are numbered in the file, slice after slice
 * repeats in three counts,
 *
 *     index = (outer * length + place) * inner + column
 *
 * where `place` is the index in the slice, and outer * inner + column the number of the slice,
 * which is that of its result. The results of an array in Fortran order are in Fortran order. Pure.
 */
#ifndef GPUREDUCE_AXIS_LAYOUT_H
#define GPUREDUCE_AXIS_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/array_shape.h"
#include "core/error.h"

/* A request. */
struct axis_request {
    int64_t axis;             /* counts from 0, or, below it, from the last one backwards: -1 */
    unsigned more;            /* axes behind it, which are reduced with it as one */
    struct array_shape shape; /* of raw elements, where `known`. At most one size may be
                                 AXIS_SIZE_OPEN: what the number of elements leaves it */
};

#define AXIS_SIZE_OPEN UINT64_MAX

struct axis_layout {
    uint64_t outer, length, inner;
    uint64_t elements;         /* their product */
    uint64_t results;          /* slices */
    struct array_shape shape;  /* of the array */
    unsigned axis, axes;       /* the first one, from 0; and how many are reduced as one */
    struct array_shape result; /* of the results */
};

/* The number that a dimension of the array has among those of the results; -1 for an axis. */
static inline int axis_kept(const struct axis_layout *layout, unsigned dimension)
{
    const unsigned end = layout->axis + layout->axes;

    return dimension < layout->axis ? (int)dimension
           : dimension < end        ? -1
                                    : (int)(dimension - layout->axes);
}

/* Sets the open size of a shape, where it has one, so that it is one of so many elements; UINT64_MAX:
   their number is unknown. False, with the reason in *error, if there is none such. */
bool axis_fit_shape(struct array_shape *shape, uint64_t elements, struct error *error);

/* Results of an array without elements, at most: no file is long for a shape that asks for more. */
#define AXIS_EMPTY_MAX (1 << 24)

/* The layout for an axis of a shape, or for it and so many behind it as one. False if there is no such axis,
   with *reason, which stands after the name of the input. */
#define AXIS_REASON_MAX 160
bool axis_layout(const struct array_shape *shape, int64_t axis, unsigned more,
                 struct axis_layout *layout, char reason[AXIS_REASON_MAX]);

/* Room for the index in each dimension as text. */
#define AXIS_PLACE_MAX (ARRAY_DIMENSIONS_MAX * 21 + 1)

/* Writes the index in each dimension of result k: 3,5. Returns `text`. */
const char *axis_show_place(char text[AXIS_PLACE_MAX], const struct axis_layout *layout,
                            uint64_t k);

/* Writes those of an element of the array, the one number `at` of slice k: 3,5. Returns `text`. */
const char *axis_show_element(char text[AXIS_PLACE_MAX], const struct axis_layout *layout,
                              uint64_t k, uint64_t at);

#endif
