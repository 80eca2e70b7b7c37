/*
 * Finite numbers as integers times powers of two, so that floats and integers of all types are
 * added up, and multiplied, by one code. Pure functions.
 */
#ifndef GPUREDUCE_TERM_H
#define GPUREDUCE_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/exact.h"
#include "core/order.h"

/* An integer below 2^64 in magnitude. */
static inline struct term term_of_integer(struct integer x)
{
    return (struct term){x.low, 0, x.negative};
}

/* The finite number that a key (element_key) of the type stands for. */
static inline struct term term_of_key(enum element_type type, int64_t key)
{
    return element_is_integer(type) ? term_of_integer(element_key_integer(type, key))
                                    : term_of(exact_key_value(key));
}

/* The finite number with this key of the order of elements (order.h). */
static inline struct term term_of_order(enum element_type type, uint64_t key)
{
    return element_is_integer(type) ? term_of_integer(order_integer(type, key))
                                    : term_of(order_value(type, key));
}

/* Adds a term times a factor, or takes it away. */
static inline void term_add(struct exact *e, struct term t, uint64_t factor, bool subtract)
{
    const struct product p = product_of(t.magnitude, factor);
    const unsigned bit = (unsigned)(t.exponent - EXACT_LSB_EXPONENT);

    exact_add_integer(e, p.low, bit, t.negative != subtract);
    if (p.high > 0)
        exact_add_integer(e, p.high, bit + 64, t.negative != subtract);
}

#endif
