/*
 * Element types: what a file may hold. Pure functions over bytes and numbers.
 *
 * Every value of every type is exactly a binary64, so one partial result serves them all.
 *
 * A new type is a row of ELEMENT_TABLE. The compiler then names every place that has to know it:
 * the switches over the types, which have no `default:`, the vector loads of the CPU's instruction
 * sets (v_load_NAME, src/engine/cpu/simd.h) and the instance of the kernels of each engine.
 */
#ifndef GPUREDUCE_ELEMENT_H
#define GPUREDUCE_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ROW(CONSTANT, name, size, significant_bits, exponent_min, exponent_max, NumPy's names)
 *
 * All types have IEEE 754's layout: a sign, an exponent and a fraction, with subnormals, infinities
 * and NaNs. `size` is in bytes. The significant bits include the hidden one. The exponents are
 * those of normal numbers 1.f 2^e, so that all values are multiples of
 * 2^(exponent_min - significant_bits + 1). NumPy's names are without the byte order.
 */
/* clang-format off */
#define ELEMENT_TABLE(ROW) \
    ROW(F32,  f32,  4, 24,  -126,  127, "f4", "float32", "single") \
    ROW(F64,  f64,  8, 53, -1022, 1023, "f8", "float64", "double") \
    ROW(F16,  f16,  2, 11,   -14,   15, "f2", "float16", "half")   /* IEEE 754 binary16 */ \
    ROW(BF16, bf16, 2,  8,  -126,  127, "bfloat16")                /* half a binary32: the upper */
/* clang-format on */

enum element_type {
#define ELEMENT_CONSTANT(CONSTANT, ...) ELEMENT_##CONSTANT,
    ELEMENT_TABLE(ELEMENT_CONSTANT)
#undef ELEMENT_CONSTANT
};

/* How many types there are. It is no constant of the enum, so that a complete switch lists types
   only. */
#define ELEMENT_ONE_MORE(...) +1
#define ELEMENT_TYPES (0 ELEMENT_TABLE(ELEMENT_ONE_MORE))

/* What the table says of a type. */
struct element_format {
    const char *name;
    size_t size;          /* bytes */
    int significant_bits; /* with the hidden one */
    int exponent_min, exponent_max;
    const char *numpy[4]; /* NumPy's names, up to a NULL */
};

/* In the header, so that kernels made for one type have its row as constants. */
static const struct element_format element_formats[ELEMENT_TYPES] = {
#define ELEMENT_FORMAT(CONSTANT, name, size, significant_bits, exponent_min, exponent_max, ...) \
    {#name, size, significant_bits, exponent_min, exponent_max, {__VA_ARGS__}},
    ELEMENT_TABLE(ELEMENT_FORMAT)
#undef ELEMENT_FORMAT
};

/* Byte order as a name in an option or a header states it. */
enum element_order { ELEMENT_ORDER_UNSAID, ELEMENT_ORDER_LITTLE, ELEMENT_ORDER_BIG };

/* Bytes of one element: 2, 4 or 8. */
size_t element_size(enum element_type type);

/* The name that the program prints and takes: f32, f64, f16 or bf16. */
const char *element_name(enum element_type type);

/* Finds the type that NumPy calls `name` (float32, single, f4, <f4, >f8, =f2, bfloat16). *order is
   what a leading < or > says; '=' stands for this machine's order. Returns false, and changes
   nothing, for any other name. NumPy counts bytes: its f16 is a long double, which is no type
   here. */
bool element_parse_numpy(const char *name, enum element_type *type, enum element_order *order);

/* Likewise, but looks first among the program's own names: f32, f64, f16 and bf16 count bits. They
   may follow a byte order, too, except for f16: to NumPy <f16 has 16 bytes. */
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
