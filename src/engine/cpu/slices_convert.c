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

/* Bytes of a row that are loaded before any of them is stored. */
#define LINE 64

/* NAME(to, step, from, stride, rows, columns): as cpu_slices_turn. */
#define TURN(NAME, TYPE)                                                                         \
    static void NAME(unsigned char *to, size_t step, const unsigned char *from, size_t stride,   \
                     size_t rows, size_t columns)                                                \
    {                                                                                            \
        enum { LINE_COLUMNS = LINE / sizeof(TYPE) };                                             \
        const size_t whole = columns - columns % LINE_COLUMNS;                                   \
        TYPE line[LINE_COLUMNS];                                                                 \
                                                                                                 \
        for (size_t j = 0; j < whole; j += LINE_COLUMNS)                                         \
            for (size_t i = 0; i < rows; i++) {                                                  \
                memcpy(line, from + i * stride + j * sizeof *line, sizeof line);                 \
                for (size_t k = 0; k < LINE_COLUMNS; k++)                                        \
                    memcpy(to + ((j + k) * step + i) * sizeof *line, &line[k], sizeof *line);    \
            }                                                                                    \
        for (size_t i = 0; i < rows; i++)                                                        \
            for (size_t j = whole; j < columns; j++)                                             \
                memcpy(to + (j * step + i) * sizeof *line, from + i * stride + j * sizeof *line, \
                       sizeof *line);                                                            \
    }
TURN(turn8, uint8_t)
TURN(turn16, uint16_t)
TURN(turn32, uint32_t)
TURN(turn64, uint64_t)

void cpu_slices_turn(void *to, size_t step, const void *from, size_t stride, size_t rows,
                     size_t columns, size_t size)
{
    switch (size) {
    case sizeof(uint8_t):
        turn8(to, step, from, stride, rows, columns);
        break;
    case sizeof(uint16_t):
        turn16(to, step, from, stride, rows, columns);
        break;
    case sizeof(uint32_t):
        turn32(to, step, from, stride, rows, columns);
        break;
    default:
        turn64(to, step, from, stride, rows, columns);
        break;
    }
}

void cpu_slices_bring(unsigned char *to, const unsigned char *from, size_t count,
                      enum element_type given, enum element_type taken, bool swap)
{
    const size_t size = element_size(given);
    unsigned char swapped[4096];
    const size_t most = sizeof swapped / size;

    if (given == taken) {
        element_swap(to, from, count, size);
        return;
    }
    for (size_t i = 0; i < count && swap; i += most) {
        const size_t some = count - i < most ? count - i : most;

        element_swap(swapped, from + i * size, some, size);
        cpu_slices_convert(to + i * element_size(taken), swapped, some, given);
    }
    if (!swap)
        cpu_slices_convert(to, from, count, given);
}
