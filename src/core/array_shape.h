/*
 * The shape of an array.
 */
#ifndef GPUREDUCE_ARRAY_SHAPE_H
#define GPUREDUCE_ARRAY_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#define ARRAY_DIMENSIONS_MAX 64

struct array_shape {
    bool known;          /* a header states it; if not, the other fields mean nothing */
    bool fortran_order;  /* the first index changes fastest */
    unsigned dimensions; /* 0 for a single number */
    uint64_t sizes[ARRAY_DIMENSIONS_MAX]; /* elements in each dimension */
};

/* Computes the index in each dimension of element number `index`. Any thread. */
void array_place(const struct array_shape *shape, uint64_t index,
                 uint64_t place[ARRAY_DIMENSIONS_MAX]);

/* Room for the place of an element as text. */
#define ARRAY_PLACE_MAX (24 * (ARRAY_DIMENSIONS_MAX + 1))

/* Writes the place of an element in its array, as "17" or, with several dimensions, as "17 [1, 5]".
   Returns `text`. Any thread. */
const char *array_show_place(char text[ARRAY_PLACE_MAX], const struct array_shape *shape,
                             uint64_t index);

#endif
