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

#endif
