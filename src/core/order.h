/*
 * The order of elements: keys that are in the order of the values they stand for. Code that counts
 * elements below a bound, or looks for the n-th of them, compares keys and knows no types.
 *
 * A key is an unsigned integer of as many bits as the element has. -0 comes directly before +0, as
 * in IEEE 754-2019's totalOrder; NaNs lie below -inf and above +inf, according to their sign.
 * Integers are in their own order. For bool, false has the key 0 and true the key 1, whatever its
 * bits are.
 */
#ifndef GPUREDUCE_ORDER_H
#define GPUREDUCE_ORDER_H

#include <stdint.h>
#include <string.h>

#include "core/element.h"

/* Whether there are so few values of a type that each can be counted. */
static inline bool order_is_narrow(enum element_type type)
{
    return element_formats[type].size <= 2;
}

/* The bits of the element at `bytes`, in the machine's byte order, aligned or not. */
static inline uint64_t order_load(enum element_type type, const void *bytes)
{
    return element_bits(element_formats[type].size, bytes);
}

/* The sign bit of an element. */
static inline uint64_t order_sign(enum element_type type)
{
    return UINT64_C(1) << (8 * element_formats[type].size - 1);
}

/* The key of the element with these bits. */
static inline uint64_t order_key(enum element_type type, uint64_t bits)
{
    const uint64_t sign = order_sign(type);

    if (element_formats[type].kind == ELEMENT_TRUTH)
        return bits != 0;
    if (element_is_integer(type))
        return element_formats[type].kind == ELEMENT_SIGNED ? bits ^ sign : bits;
    return bits & sign ? ~bits & (sign | (sign - 1)) : bits | sign;
}

/* The bits of the element with this key. */
static inline uint64_t order_bits(enum element_type type, uint64_t key)
{
    const uint64_t sign = order_sign(type);

    if (element_is_integer(type))
        return element_formats[type].kind == ELEMENT_SIGNED ? key ^ sign : key;
    return key & sign ? key ^ sign : ~key & (sign | (sign - 1));
}

/* The value of the element with this key; of integers of 64 bits, rounded to binary64. */
double order_value(enum element_type type, uint64_t key);

/* Converts a key of an integer type to its value, exactly. */
struct integer order_integer(enum element_type type, uint64_t key);

/* The key of the value that has this element_key. */
uint64_t order_from_element_key(enum element_type type, int64_t key);

/* The element_key of the number that has this key: the inverse of order_from_element_key. */
int64_t order_to_element_key(enum element_type type, uint64_t key);

/* The keys of the least and of the greatest number, which are infinities where the type has any. */
uint64_t order_least(enum element_type type);
uint64_t order_greatest(enum element_type type);

/* The least key whose value is at least x, or, if `beyond`, more than x; one more than that of +inf
   if there is none. x is no NaN. Not of integers of 64 bits. */
uint64_t order_first(enum element_type type, double x, bool beyond);

/* Sorts `count` keys of `bits` bits, of which those from `bits` on are zero. `scratch` has room for
   as many. Returns the sorted keys, which are in one of the two. */
uint64_t *order_sort(uint64_t *keys, uint64_t *scratch, size_t count, unsigned bits);

/* A key that is looked for by its number in ascending order, from 0. */
struct order_statistic {
    uint64_t rank, key;
    unsigned owner; /* the caller's */
};

/* The most that are looked for at a time. */
#define ORDER_STATISTICS_MAX 64

/* Sets the keys of order statistics, which are sorted by their ranks, among `count` keys, fewer than
   2^32. The keys are changed, and so is `scratch`, which has room for as many. */
void order_select(uint64_t *keys, uint64_t *scratch, size_t count, struct order_statistic *wanted,
                  unsigned wanted_count);

#endif
