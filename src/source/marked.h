/*
 * Masked views as elements of which a value stands for those that are missing, in their places: for
 * results along an axis, which have the elements of a slice side by side.
 *
 * Floats keep their type: the value is the NaN all of whose bits are set, and NaNs like it become others.
 * Integers become those of the next larger type, whose least value it is; of 64 bits, a value that no
 * element has.
 */
#ifndef GPUREDUCE_SOURCE_MARKED_H
#define GPUREDUCE_SOURCE_MARKED_H

#include <stddef.h>
#include <stdint.h>

#include "core/missing.h"
#include "core/view.h"

struct marked {
    const struct view *view;
    enum element_type type; /* of the elements that it gives */
    struct missing missing; /* values of the view's type that are missing besides */
    uint64_t mark;          /* the bits of the value of `type` */
};

/* Makes *m the elements of a view, which must outlive it. */
void marked_set(struct marked *m, const struct view *view);

/* Chooses the value, and makes *missing the set that has it: `values` are missing besides, the first of which
   stands for missing integers. Reads all elements of 64-bit integers. Returns the first of the values that
   the view's type lacks; NULL if there is none. */
const char *marked_choose(struct marked *m, const struct missing_values *values,
                          struct missing *missing);

/* Puts `count` elements from number `first` on to `to`, one after the other, in this machine's byte order.
   Any thread. */
void marked_gather(const struct marked *m, uint64_t first, size_t count, void *to);

#endif
