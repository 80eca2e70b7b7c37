/*
 * Element types: what a file may hold. Pure functions over bytes and numbers.
 *
 * Types are floats or integers. Every value of a float type is exactly a binary64, so one partial
 * result serves them all; integers of 64 bits are not, and have keys and results of their own.
 *
 * A new type is a row of ELEMENT_TABLE. The compiler then names every place that has to know it:
 * the switches over the types, which have no `default:`, the vector loads of the CPU's instruction
 * sets (v_load_NAME, src/cpu/simd.h) and the instance of the kernels of each engine.
 */
#ifndef GPUREDUCE_ELEMENT_H
#define GPUREDUCE_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/exact.h"
#include "sys/inline.h"

/* The meaning of an element's bits. */
enum element_kind {
    ELEMENT_IEEE,     /* IEEE 754's layout: a sign, an exponent and a fraction, with subnormals,
                         infinities and NaNs */
    ELEMENT_FINITE,   /* a float whose greatest exponent is one of numbers: there are no infinities,
                         and NaN has all bits set but the sign */
    ELEMENT_SIGNED,   /* an integer, two's complement */
    ELEMENT_UNSIGNED, /* an integer */
    ELEMENT_TRUTH     /* false is a zero byte, and true any other: an integer, 0 or 1 */
};

/*
 * ROW(CONSTANT, name, size, kind, significant_bits, exponent_min, exponent_max, safetensors' name,
 *     NumPy's names)
 *
 * `size` is in bytes. The significant bits include the hidden one. The exponents are those of
 * normal numbers 1.f 2^e, so that all values are multiples of 2^(exponent_min - significant_bits +
 * 1); of integers they are such that this is 1. NumPy's names, and those of ml_dtypes, are without
 * the byte order.
 *
 * The types stand in three groups, by the kernels that they have: kernel_block32.h and 64 on the
 * CPU, and all that there is on a GPU; kernel_float8.h; and kernel_integer.h.
 */
/* clang-format off */
#define ELEMENT_FLOAT_TABLE(ROW) \
    ROW(F32,  f32,  4, ELEMENT_IEEE, 24,  -126,  127, "F32", "f4", "float32", "single") \
    ROW(F64,  f64,  8, ELEMENT_IEEE, 53, -1022, 1023, "F64", "f8", "float64", "double") \
    ROW(F16,  f16,  2, ELEMENT_IEEE, 11,   -14,   15, "F16", "f2", "float16", "half") /* IEEE 754
                                                                                         binary16 */ \
    ROW(BF16, bf16, 2, ELEMENT_IEEE,  8,  -126,  127, "BF16", "bfloat16") /* half a binary32: the
                                                                             upper */
#define ELEMENT_FLOAT8_TABLE(ROW) \
    /* "FP8 Formats for Deep Learning" (P. Micikevicius and others, 2022) */ \
    ROW(F8E4M3, f8e4m3, 1, ELEMENT_FINITE, 4,  -6,  8, "F8_E4M3", "float8_e4m3fn") \
    ROW(F8E5M2, f8e5m2, 1, ELEMENT_IEEE,   3, -14, 15, "F8_E5M2", "float8_e5m2")
#define ELEMENT_INTEGER_TABLE(ROW) \
    ROW(I8,   i8,   1, ELEMENT_SIGNED,    8,  7,  7, "I8",  "i1", "int8", "byte") \
    ROW(I16,  i16,  2, ELEMENT_SIGNED,   16, 15, 15, "I16", "i2", "int16", "short") \
    ROW(I32,  i32,  4, ELEMENT_SIGNED,   32, 31, 31, "I32", "i4", "int32", "intc") \
    ROW(I64,  i64,  8, ELEMENT_SIGNED,   64, 63, 63, "I64", "i8", "int64", "longlong") \
    ROW(U8,   u8,   1, ELEMENT_UNSIGNED,  8,  7,  7, "U8",  "u1", "uint8", "ubyte") \
    ROW(U16,  u16,  2, ELEMENT_UNSIGNED, 16, 15, 15, "U16", "u2", "uint16", "ushort") \
    ROW(U32,  u32,  4, ELEMENT_UNSIGNED, 32, 31, 31, "U32", "u4", "uint32", "uintc") \
    ROW(U64,  u64,  8, ELEMENT_UNSIGNED, 64, 63, 63, "U64", "u8", "uint64", "ulonglong") \
    ROW(BOOL, bool, 1, ELEMENT_TRUTH,     1,  0,  0, "BOOL", "b1", "?", "bool_")
/* clang-format on */

#define ELEMENT_TABLE(ROW)    \
    ELEMENT_FLOAT_TABLE(ROW)  \
    ELEMENT_FLOAT8_TABLE(ROW) \
    ELEMENT_INTEGER_TABLE(ROW)

enum element_type {
#define ELEMENT_CONSTANT(CONSTANT, ...) ELEMENT_##CONSTANT,
    ELEMENT_TABLE(ELEMENT_CONSTANT)
#undef ELEMENT_CONSTANT
};

/* How many types there are, and how many of the first group. They are no constants of the enum, so
   that a complete switch lists types only. */
#define ELEMENT_ONE_MORE(...) +1
#define ELEMENT_TYPES (0 ELEMENT_TABLE(ELEMENT_ONE_MORE))
#define ELEMENT_FLOATS (0 ELEMENT_FLOAT_TABLE(ELEMENT_ONE_MORE))

/* The cases of the types after the first group, for a switch that has to do with floats alone. */
#define ELEMENT_CASE(CONSTANT, ...) case ELEMENT_##CONSTANT:
#define ELEMENT_CASES_BEHIND_FLOATS \
    ELEMENT_FLOAT8_TABLE(ELEMENT_CASE) ELEMENT_INTEGER_TABLE(ELEMENT_CASE)

/* A row of the table: the layout of a type. */
struct element_format {
    size_t size; /* bytes */
    enum element_kind kind;
    int significant_bits; /* with the hidden one */
    int exponent_min, exponent_max;
};

/* In the header, so that kernels made for one type have its row as constants. Without pointers,
   which the loader would have to correct in each file's copy. */
static const struct element_format element_formats[ELEMENT_TYPES] = {
#define ELEMENT_FORMAT(CONSTANT, name, size, kind, significant_bits, exponent_min, exponent_max, \
                       ...)                                                                      \
    {size, kind, significant_bits, exponent_min, exponent_max},
    ELEMENT_TABLE(ELEMENT_FORMAT)
#undef ELEMENT_FORMAT
};

/* A row of the table: the names of a type. */
struct element_names {
    const char *name;
    const char *safetensors; /* the name in safetensors */
    const char *numpy[4];    /* NumPy's names, up to a NULL */
};

extern const struct element_names element_names[ELEMENT_TYPES];

/* Byte order as a name in an option or a header states it. */
enum element_order { ELEMENT_ORDER_UNSAID, ELEMENT_ORDER_LITTLE, ELEMENT_ORDER_BIG };

/* Bytes of one element: 1, 2, 4 or 8. */
size_t element_size(enum element_type type);

/* The name that the program prints and takes: the second column of the table. */
const char *element_name(enum element_type type);

/* Whether its elements are integers; a truth value is 0 or 1. */
static inline bool element_is_integer(enum element_type type)
{
    return element_formats[type].kind >= ELEMENT_SIGNED;
}

/* The bits of an element of `size` bytes, 1, 2, 4 or 8, in the machine's byte order, aligned or
   not. */
static ALWAYS_INLINE uint64_t element_bits(size_t size, const void *bytes)
{
    uint64_t eight;
    uint32_t four;
    uint16_t two;

    switch (size) {
    case 8:
        memcpy(&eight, bytes, sizeof eight);
        return eight;
    case 4:
        memcpy(&four, bytes, sizeof four);
        return four;
    case 2:
        memcpy(&two, bytes, sizeof two);
        return two;
    default:
        return *(const unsigned char *)bytes;
    }
}

/* Stores an element of `size` bytes that has these bits, in the machine's byte order. */
static ALWAYS_INLINE void element_store(size_t size, void *bytes, uint64_t bits)
{
    const uint32_t four = (uint32_t)bits;
    const uint16_t two = (uint16_t)bits;

    switch (size) {
    case 8:
        memcpy(bytes, &bits, sizeof bits);
        break;
    case 4:
        memcpy(bytes, &four, sizeof four);
        break;
    case 2:
        memcpy(bytes, &two, sizeof two);
        break;
    default:
        *(unsigned char *)bytes = (unsigned char)bits;
        break;
    }
}

/* Whether its elements are floats of the first group of the table. */
static inline bool element_is_float(enum element_type type)
{
    return type < ELEMENT_FLOATS;
}

/* Finds the type that NumPy, or ml_dtypes, calls `name` (float32, single, f4, <f4, >i8, =u2, |b1,
   bfloat16). *order is what a leading < or > says; '=' stands for this machine's order, and '|' for
   none, where elements have one byte. Returns false, and changes nothing, for any other name. NumPy
   counts bytes: its i8 has 64 bits, and its f16 is a long double, which is no type here. */
bool element_parse_numpy(const char *name, enum element_type *type, enum element_order *order);

/* Parses a type's name as element_parse_numpy does, but looks first among the program's own names:
   f32, bf16, i8 and so on count bits. They may follow a byte order, too, except for those that mean
   something else to NumPy there: <f16 has 16 bytes, <i8 and <u8 have 8. Last come safetensors'
   names: BF16, I64, F8_E4M3. */
bool element_parse(const char *name, enum element_type *type, enum element_order *order);

/* A type of NumPy's or safetensors' that is none of ours. */
struct element_foreign {
    const char *name;    /* or what its name begins with */
    const char *what;    /* the description of the type, and advice, in words that follow "is" */
    const char *read_as; /* our type that its bytes can be read as; NULL for none */
    bool not_numeric;    /* text, objects, or bytes of unknown meaning */
};

/* The row of a type that is not read, by its name, which may have a byte order in front; NULL where
   nothing is known of it. */
const struct element_foreign *element_find_foreign(const char *name);

/* A float that has fewer bits of exponent than a binary64, and another bias: its exponent and its
   fraction where those of a binary64 are, times what the biases differ by. This is exact, for
   subnormal numbers, too. A result above the greatest is a NaN, or the infinity. This is rare;
   signs come at random. */
static ALWAYS_INLINE double element_widen(uint64_t bits, unsigned width, unsigned fraction_bits,
                                          uint64_t infinity, uint64_t greatest, double scale)
{
    const uint64_t magnitude = bits & ((UINT64_C(1) << (width - 1)) - 1),
                   sign = bits >> (width - 1);
    uint64_t wide = magnitude << (52 - fraction_bits);

    if (__builtin_expect(magnitude > greatest, 0)) {
        wide = magnitude == infinity ? UINT64_C(0x7ff) << 52 : UINT64_C(0x7ff8) << 48;
        scale = 1;
    }
    return exact_from_bits(wide | sign << 63) * scale;
}

/* The value of the element that has these bits; of integers of 64 bits, rounded to binary64. */
static ALWAYS_INLINE double element_value(enum element_type type, uint64_t bits)
{
    switch (type) {
    case ELEMENT_F32:
        return (double)exact_from_bits32((uint32_t)bits);
    case ELEMENT_BF16:
        return (double)exact_from_bits32((uint32_t)bits << 16);
    case ELEMENT_F64:
        return exact_from_bits(bits);
    case ELEMENT_F16:
        return element_widen(bits, 16, 10, 0x7c00, 0x7bff, 0x1p1008);
    case ELEMENT_F8E4M3:
        return element_widen(bits, 8, 3, 0, 0x7e, 0x1p1016);
    case ELEMENT_F8E5M2:
        return element_widen(bits, 8, 2, 0x7c, 0x7b, 0x1p1008);
    case ELEMENT_I8:
        return (double)(int8_t)bits;
    case ELEMENT_I16:
        return (double)(int16_t)bits;
    case ELEMENT_I32:
        return (double)(int32_t)bits;
    case ELEMENT_I64:
        return (double)(int64_t)bits;
    case ELEMENT_U8:
    case ELEMENT_U16:
    case ELEMENT_U32:
    case ELEMENT_U64:
        return (double)bits;
    case ELEMENT_BOOL:
        break;
    }
    return bits != 0;
}

/* The value of the element at `bytes`, in the machine's byte order, aligned or not. Integers of 64
   bits are rounded to binary64. */
double element_load(enum element_type type, const void *bytes);

/* Whether the element is a NaN, which no integer is. */
bool element_is_nan(enum element_type type, const void *bytes);

/* The value of an element of an integer type. */
struct integer element_load_integer(enum element_type type, const void *bytes);

/* The key of an element that is no NaN: an integer that orders the values of one type. For floats
   it is the exact_key of the value, for integers the value, for u64 the value less 2^63. */
int64_t element_key(enum element_type type, const void *bytes);

/* The key of the element that has these bits. */
int64_t element_key_of(enum element_type type, uint64_t bits);

/* The value that a key of the type stands for; of integers, rounded to binary64. */
double element_key_value(enum element_type type, int64_t key);

/* Converts a key of an integer type to its value, exactly. */
struct integer element_key_integer(enum element_type type, int64_t key);

/* The bits of the float of a type that a number is cut off to, toward zero; or of the infinity, where
   the exponent is beyond the greatest. */
uint64_t element_cut(enum element_type type, double x);

/* The bits of an element that has this key: of truth values 0 or 1, where any byte but 0 is 1. */
uint64_t element_key_bits(enum element_type type, int64_t key);

/* Whether this machine stores numbers with the most significant byte first. */
static inline bool element_host_is_big(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

/* Reverses the bytes of each of `count` elements of `size` bytes (1, 2, 4 or 8), from `from` to
   `to`, which are the same place or do not overlap. */
void element_swap(void *to, const void *from, size_t count, size_t size);

#endif
