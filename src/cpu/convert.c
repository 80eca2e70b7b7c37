#include "config.h"

#include "cpu/convert.h"

#include <string.h>

#include "core/difference.h"
#include "core/order.h"

/* Elements that are converted by way of another type at a time. */
#define STEP ((size_t)512)

/* Converts floats of up to 16 bits: most in place, and what is left in a copy. False, with nothing done, for other
   types. */
static bool widen(const struct cpu_kernels *kernels, float *to, const unsigned char *from,
                  enum element_type type, size_t n)
{
    const size_t whole = n - n % CPU_WIDENED, rest = n - whole, size = element_size(type);
    unsigned char narrow[CPU_WIDENED * sizeof(uint16_t)] = {0};
    float singles[CPU_WIDENED];

    if (!kernels->widen[type])
        return false;
    kernels->widen[type](to, from, whole);
    if (rest == 0)
        return true;
    memcpy(narrow, from + whole * size, rest * size);
    kernels->widen[type](singles, narrow, CPU_WIDENED);
    memcpy(to + whole, singles, rest * sizeof *singles);
    return true;
}

/* Elements that are converted together: compilers make vectors of loops of known length. */
#define BLOCK ((size_t)64)

/* The loop over elements of C's type FROM at any address, to those of TO. A type stands in no
   parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
#define LOOP(TYPE, FROM, TO, VALUE)                                  \
    case ELEMENT_##TYPE: {                                           \
        FROM old[BLOCK] = {0};                                       \
        TO new[BLOCK];                                               \
                                                                     \
        for (size_t i = 0; i < n; i += BLOCK) {                      \
            const size_t some = n - i < BLOCK ? n - i : BLOCK;       \
                                                                     \
            memcpy(old, from + i * sizeof *old, some * sizeof *old); \
            for (size_t j = 0; j < BLOCK; j++) {                     \
                const FROM x = old[j];                               \
                                                                     \
                new[j] = VALUE;                                      \
            }                                                        \
            memcpy(to + i, new, some * sizeof *new);                 \
        }                                                            \
        break;                                                       \
    }

/* Converts elements whose numbers C's type TO has. */
#define CONVERT_TO(TO)                                                                     \
    static void convert_to_##TO(TO *to, const unsigned char *from, enum element_type type, \
                                size_t n)                                                  \
    {                                                                                      \
        switch (type) {                                                                    \
            LOOP(I8, int8_t, TO, (TO)x)                                                    \
            LOOP(I16, int16_t, TO, (TO)x)                                                  \
            LOOP(I32, int32_t, TO, (TO)x)                                                  \
            LOOP(I64, int64_t, TO, (TO)x)                                                  \
            LOOP(U8, uint8_t, TO, (TO)x)                                                   \
            LOOP(U16, uint16_t, TO, (TO)x)                                                 \
            LOOP(U32, uint32_t, TO, (TO)x)                                                 \
            LOOP(U64, uint64_t, TO, (TO)x)                                                 \
            LOOP(BOOL, uint8_t, TO, (TO)(x != 0))                                          \
            LOOP(F32, float, TO, (TO)x)                                                    \
            LOOP(F64, double, TO, (TO)x)                                                   \
        case ELEMENT_F16:                                                                  \
        case ELEMENT_BF16:                                                                 \
            ELEMENT_FLOAT8_TABLE(ELEMENT_CASE)                                             \
            break; /* C has none of these */                                               \
        }                                                                                  \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
CONVERT_TO(float)
CONVERT_TO(double)
CONVERT_TO(int32_t)
CONVERT_TO(int64_t)
CONVERT_TO(uint64_t)

static void convert_to_f64(const struct cpu_kernels *kernels, double *to, const unsigned char *from,
                           enum element_type type, size_t count)
{
    const size_t size = element_size(type);
    float singles[STEP];

    for (size_t i = 0; i < count; i += STEP) {
        const size_t n = count - i < STEP ? count - i : STEP;

        if (!widen(kernels, singles, from + i * size, type, n)) {
            convert_to_double(to, from, type, count);
            return;
        }
        convert_to_double(to + i, (const unsigned char *)singles, ELEMENT_F32, n);
    }
}

void cpu_convert(const struct cpu_kernels *kernels, void *to, enum element_type to_type,
                 const void *from, enum element_type from_type, size_t count)
{
    switch (to_type) {
    case ELEMENT_F32:
        if (!widen(kernels, to, from, from_type, count))
            convert_to_float(to, from, from_type, count);
        return;
    case ELEMENT_F64:
        convert_to_f64(kernels, to, from, from_type, count);
        return;
    case ELEMENT_I32:
        convert_to_int32_t(to, from, from_type, count);
        return;
    case ELEMENT_I64:
        convert_to_int64_t(to, from, from_type, count);
        return;
    case ELEMENT_U64:
        convert_to_uint64_t(to, from, from_type, count);
        return;
    case ELEMENT_F16:
    case ELEMENT_BF16:
    case ELEMENT_I8:
    case ELEMENT_I16:
    case ELEMENT_U8:
    case ELEMENT_U16:
    case ELEMENT_U32:
    case ELEMENT_BOOL:
        ELEMENT_FLOAT8_TABLE(ELEMENT_CASE)
        break; /* no common type of two others */
    }
}

/*
 * Casts.
 */

/* Casts the bits of an f32 to those of a float of up to 16 bits, without branches: magnitudes come at
   random. */
static ALWAYS_INLINE uint32_t narrow(uint32_t bits, enum element_type type)
{
    const struct element_format *f = &element_formats[type];
    const int fraction = f->significant_bits - 1, dropped = 23 - fraction;
    const uint32_t sign = (uint32_t)order_sign(type), magnitude = bits & INT32_MAX;
    const uint32_t least = (uint32_t)(f->exponent_min + 127) << 23; /* that is not subnormal */
    const uint32_t unit = (uint32_t)(f->exponent_min + dropped + 127) << 23;
    /* An infinity, or a NaN. */
    const uint32_t beyond = f->kind == ELEMENT_FINITE
                                ? sign - 1
                                : (uint32_t)(f->exponent_max - f->exponent_min + 2) << fraction;
    /* To the sum of an f32, the last bit of a subnormal element is the last one. */
    const uint32_t subnormal = exact_bits32(exact_from_bits32(magnitude) + exact_from_bits32(unit));
    uint32_t result;

    result = magnitude - least + ((UINT32_C(1) << (dropped - 1)) - 1 + (magnitude >> dropped & 1));
    result = (result >> dropped) + (UINT32_C(1) << fraction);
    result = magnitude < least ? subnormal - unit : result;
    result = result > beyond ? beyond : result;
    result = magnitude > 0x7f800000 ? sign - 1 : result;
    return (bits >> 31 ? sign : 0) | result;
}

#define NARROW(TYPE, TO)                                      \
    case ELEMENT_##TYPE:                                      \
        for (size_t i = 0; i < n; i++) {                      \
            uint32_t bits;                                    \
                                                              \
            memcpy(&bits, from + i, sizeof bits);             \
            ((TO *)to)[i] = (TO)narrow(bits, ELEMENT_##TYPE); \
        }                                                     \
        break;

/* Casts f32 to floats of up to 16 bits. */
static void narrow_all(void *to, enum element_type type, const float *from, size_t n)
{
    switch (type) {
        NARROW(F16, uint16_t)
        NARROW(BF16, uint16_t)
        NARROW(F8E4M3, uint8_t)
        NARROW(F8E5M2, uint8_t)
    case ELEMENT_F32:
    case ELEMENT_F64:
        ELEMENT_INTEGER_TABLE(ELEMENT_CASE)
        break; /* not reached */
    }
}

/* Casts elements one by one. */
static bool cast_each(unsigned char *to, const unsigned char *from, const struct cast *how,
                      size_t count)
{
    const size_t to_size = element_size(how->to), from_size = element_size(how->from);
    bool all = true;

    for (size_t i = 0; i < count; i++) {
        uint64_t bits;

        all = cast_bits(how, order_load(how->from, from + i * from_size), &bits) && all;
        element_store(to_size, to + i * to_size, bits);
    }
    return all;
}

bool cpu_cast(const struct cpu_kernels *kernels, void *to, const void *from, const struct cast *how,
              size_t count)
{
    const enum element_type to_type = how->to, from_type = how->from;
    const size_t to_size = element_size(to_type), from_size = element_size(from_type);
    enum element_type common;
    float singles[STEP];

    if (how->rescales)
        return cast_each(to, from, how, count);
    if (to_type == from_type) {
        memcpy(to, from, count * to_size);
        return true;
    }
    if (to_type == ELEMENT_F32 || to_type == ELEMENT_F64) { /* C's casts round in this way */
        cpu_convert(kernels, to, to_type, from, from_type, count);
        return true;
    }
    if (element_is_integer(to_type) || !difference_common_type(from_type, ELEMENT_F32, &common) ||
        common != ELEMENT_F32)
        return cast_each(to, from, how, count);
    for (size_t i = 0; i < count; i += STEP) {
        const size_t n = count - i < STEP ? count - i : STEP;

        cpu_convert(kernels, singles, ELEMENT_F32, (const unsigned char *)from + i * from_size,
                    from_type, n);
        narrow_all((unsigned char *)to + i * to_size, to_type, singles, n);
    }
    return true;
}
