/*
 * Element types: what a file may hold. Pure functions over bytes and numbers.
 *
 * Every value of every type is exactly a binary64, so one partial result serves them all.
 */
#ifndef GPUREDUCE_ELEMENT_H
#define GPUREDUCE_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum element_type {
    ELEMENT_F32,
    ELEMENT_F64,
    ELEMENT_F16,  /* IEEE 754 binary16 */
    ELEMENT_BF16, /* the upper half of a binary32 */
    ELEMENT_TYPES
};

/* Byte order as a name in an option or a header states it. */
enum element_order { ELEMENT_ORDER_UNSAID, ELEMENT_ORDER_LITTLE, ELEMENT_ORDER_BIG };

/* Size of one element, bytes. */
size_t element_size(enum element_type type);

/* The name the tool prints: f32, f64, f16 or bf16. */
const char *element_name(enum element_type type);

/* Finds the type that NumPy calls `name` (float32, single, f4, <f4, >f8, =f2, bfloat16). *order is
   what a leading < or > says, '=' standing for this machine's. Returns false, and changes nothing,
   for any other name. NumPy counts bytes: its f16 is a long double, and no type of ours. */
bool element_parse_numpy(const char *name, enum element_type *type, enum element_order *order);

/* Likewise, but f32, f64, f16 and bf16, which count bits, are known as well, and come first. */
bool element_parse(const char *name, enum element_type *type, enum element_order *order);

/* The value of the element at `bytes`, in the machine's byte order, aligned or not. */
double element_load(enum element_type type, const void *bytes);

/* x rounded to the type, to nearest, ties to even, as a binary64. */
double element_round(enum element_type type, double x);

/* Whether this machine stores numbers with the most significant byte first. */
bool element_host_is_big(void);

/* Reverses the bytes of each of `count` elements of `size` bytes (2, 4 or 8), from `from` to `to`,
   which are the same place or do not overlap. */
void element_swap(void *to, const void *from, size_t count, size_t size);

#endif
