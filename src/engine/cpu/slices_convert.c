#include "config.h"

#include "engine/cpu/slices_convert.h"

#include <stdint.h>
#include <string.h>

enum element_type cpu_slices_type(enum element_type type)
{
    const struct element_format *format = &element_formats[type];

    if (element_is_float(type))
        return type;
    if (format->significant_bits <= element_formats[ELEMENT_F32].significant_bits)
        return ELEMENT_F32;
    return format->significant_bits <= element_formats[ELEMENT_F64].significant_bits ? ELEMENT_F64
                                                                                     : type;
}

/* Elements that are converted at a time: compilers make vectors of loops of known length. */
#define BLOCK 64

/* NAME(to, from, count): elements that are FROM become TO. */
#define CONVERT(NAME, FROM, TO)                                                  \
    static void NAME(unsigned char *to, const unsigned char *from, size_t count) \
    {                                                                            \
        FROM old[BLOCK];                                                         \
        TO new[BLOCK];                                                           \
                                                                                 \
        memset(old, 0, sizeof old);                                              \
        for (size_t i = 0; i < count; i += BLOCK) {                              \
            const size_t some = count - i < BLOCK ? count - i : BLOCK;           \
                                                                                 \
            memcpy(old, from + i * sizeof *old, some * sizeof *old);             \
            for (size_t j = 0; j < BLOCK; j++)                                   \
                new[j] = (TO)old[j];                                             \
            memcpy(to + i * sizeof *new, new, some * sizeof *new);               \
        }                                                                        \
    }
CONVERT(from_i8, int8_t, float)
CONVERT(from_u8, uint8_t, float)
CONVERT(from_i16, int16_t, float)
CONVERT(from_u16, uint16_t, float)
CONVERT(from_i32, int32_t, double)
CONVERT(from_u32, uint32_t, double)

/* Types of one byte, by a table of their values. */
static void from_bytes(unsigned char *to, const unsigned char *from, size_t count,
                       enum element_type type)
{
    float values[256];

    for (unsigned i = 0; i < 256; i++) {
        const unsigned char byte = (unsigned char)i;

        values[i] = (float)element_load(type, &byte);
    }
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * sizeof *values, &values[from[i]], sizeof *values);
}

void cpu_slices_convert(void *to, const void *from, size_t count, enum element_type type)
{
    switch (type) {
    case ELEMENT_I8:
        from_i8(to, from, count);
        break;
    case ELEMENT_U8:
        from_u8(to, from, count);
        break;
    case ELEMENT_I16:
        from_i16(to, from, count);
        break;
    case ELEMENT_U16:
        from_u16(to, from, count);
        break;
    case ELEMENT_I32:
        from_i32(to, from, count);
        break;
    case ELEMENT_U32:
        from_u32(to, from, count);
        break;
    case ELEMENT_F8E4M3:
    case ELEMENT_F8E5M2:
    case ELEMENT_BOOL:
        from_bytes(to, from, count, type);
        break;
    case ELEMENT_F16:
    case ELEMENT_BF16:
    case ELEMENT_F32:
    case ELEMENT_F64:
    case ELEMENT_I64:
    case ELEMENT_U64:
        break; /* are taken as they are */
    }
}
