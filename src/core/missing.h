/*
 * Missing values: the stored numbers of an array that stand for no data. They are ranges of keys
 * (core/order.h), so that a value, a NaN, and all that lies outside of a valid range are looked for
 * in one way.
 *
 * Pure functions; a set belongs to one thread at a time.
 */
#ifndef GPUREDUCE_MISSING_H
#define GPUREDUCE_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/order.h"

/* The most ranges of a set. */
#define MISSING_RANGES_MAX 32

/* Keys, the last one included. */
struct missing_range {
    uint64_t first, last;
};

/* The missing values of one array of a type: ranges in ascending order, between which there are
   other keys, and which have all NaNs or none. All zeros: nothing is missing. */
struct missing {
    bool differ;   /* of several arrays together: these have different ones, and there is nothing
                    else here */
    bool nameless; /* `value` means nothing: missing elements have no value that can be written */
    unsigned count;
    struct missing_range ranges[MISSING_RANGES_MAX];
    uint64_t value; /* the bits of the value that was added first, which stands for a missing
                       element where one is to be written; if there are any */
};

/* The missing values that the user names, as texts; each is read as the type that it is looked for
   in. The texts are the caller's. */
#define MISSING_VALUES_MAX 4
struct missing_values {
    unsigned count;
    const char *texts[MISSING_VALUES_MAX];
};

/* Whether a text is a number: nan, inf, -inf, or a decimal or hexadecimal number. */
bool missing_text_is_valid(const char *text);

/* Finds the key of the number of a type that compares equal to what the text says, rounded to the
   type once; for zeros, that of -0. False if the type has no such number, as -1 and 1.5 of u8,
   or 1e39 of f32; and for NaNs, which have no single key. */
bool missing_key(enum element_type type, const char *text, uint64_t *key);

/* Adds all elements that compare equal to the number, or for "nan" all NaNs. False if the type has
   no such number, or if the set is full. */
bool missing_add(struct missing *m, enum element_type type, const char *text);

/* Adds all values that a type has. Returns the first text that it lacks, or for which the set has no
   room; NULL if there is none. */
const char *missing_add_values(struct missing *m, enum element_type type,
                               const struct missing_values *values);

/* Adds a range of keys of numbers. False if the set is full. */
bool missing_add_range(struct missing *m, uint64_t first, uint64_t last);

/* Whether two arrays of one type have the same missing values. */
bool missing_same(const struct missing *a, const struct missing *b);

/* Makes *m what is missing of several arrays together, to which those with `other` are added;
   `one_type`: all have one type. */
void missing_join(struct missing *m, const struct missing *other, bool one_type);

/* Adds the element with these bits: all elements that compare equal to it, of a NaN all NaNs. False
   if the set is full. */
bool missing_add_bits(struct missing *m, enum element_type type, uint64_t bits);

/* The bits of an element that is missing: `value`, or, where only ranges were added, the first of
   these. */
uint64_t missing_bits(const struct missing *m, enum element_type type);

/* Whether the element with this key is missing. */
static inline bool missing_has(const struct missing *m, uint64_t key)
{
    for (unsigned i = 0; i < m->count; i++)
        if (key <= m->ranges[i].last)
            return key >= m->ranges[i].first;
    return false;
}

/* Whether all NaNs of a type are missing. */
static inline bool missing_has_nans(const struct missing *m, enum element_type type)
{
    return !element_is_integer(type) && missing_has(m, order_greatest(type) + 1);
}

/* The numbers of a range of keys of a type, which are those that are no NaNs: `first` is more than
   `last` if there are none. */
struct missing_range missing_numbers(const struct missing_range *range, enum element_type type);

/* The keys of all numbers that are equal to the one with this key: those of both zeros, or one. */
struct missing_range missing_equal(enum element_type type, uint64_t key);

/* Whether some of `count` elements at `from`, in this machine's byte order, are missing. */
bool missing_some(const struct missing *m, enum element_type type, const void *from, size_t count);

#endif
