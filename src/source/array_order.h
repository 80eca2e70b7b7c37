/*
 * The order in which the arrays of a container are claimed.
 */
#ifndef GPUREDUCE_SOURCE_ARRAY_ORDER_H
#define GPUREDUCE_SOURCE_ARRAY_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source;

struct array_order {
    uint64_t *begins; /* of each array, in this order: the bytes of those before it; and after the
                         last, of all. NULL where there is one array */
    size_t *order;    /* the numbers of the arrays */
    size_t count;
    size_t plain_from; /* the place from which on all lie in the file element by element */
};

/* Sets the order of the arrays that the source has picked. False without memory; it may be closed
   then, too. */
bool array_order_open(struct array_order *o, const struct source *s);

/* The place in the order of the array in which byte `at` of all of them lies, which is less than
   the bytes of all. */
size_t array_order_find(const struct array_order *o, uint64_t at);

void array_order_close(struct array_order *o);

#endif
