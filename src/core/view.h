/*
 * Views: memory as an array of elements, with strides, a mask and a scale. A view owns nothing.
 */
#ifndef GPUREDUCE_VIEW_H
#define GPUREDUCE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/scale.h"

#define VIEW_DIMENSIONS_MAX 64

/* The form of a mask, which has an entry for each element in C order. */
enum view_mask {
    VIEW_MASK_NONE,
    VIEW_MASK_MISSING_BYTES, /* a byte each; nonzero: the element is missing */
    VIEW_MASK_VALID_BYTES,   /* a byte each; zero: the element is missing */
    VIEW_MASK_VALID_BITS     /* a bit each, the lowest of a byte first; 0: it is missing */
};

struct view {
    const unsigned char *data; /* the element whose indices are all 0; aligned or not */
    enum element_type type;
    bool swap;         /* elements are not in this machine's byte order */
    bool contiguous;   /* they are in C order without gaps */
    unsigned rank;     /* dimensions; 0 for a single element */
    uint64_t elements; /* the product of the sizes */
    uint64_t sizes[VIEW_DIMENSIONS_MAX];
    int64_t strides[VIEW_DIMENSIONS_MAX]; /* bytes; set if `contiguous`, too */
    enum view_mask mask_form;
    const unsigned char *mask; /* NULL with VIEW_MASK_NONE */
    uint64_t mask_offset;      /* entries of the mask before that of the first element */
    struct scale scale;
};

#endif
