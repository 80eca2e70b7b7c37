/*
 * Kernels for slices of integers of up to 32 bits, and of truth values. A part of
 * kernel_template.h.
 *
 * Sums are exact because no accumulator can overflow before it is emptied: a line of LINE_BYTES is
 * added to lanes of twice the width, CPU_INTEGER_ROWS of them at a time, or LINES of them, and what
 * these come to is added to wider ones. Plain loops of known length over lines: compilers make
 * vectors of the instruction set of them.
 */
#ifndef GPUREDUCE_CPU_KERNEL_INTEGER_SLICES_H
#define GPUREDUCE_CPU_KERNEL_INTEGER_SLICES_H

#include "cpu/kernel_common.h"

#define LINE_BYTES 64

/* Lines of a row that are added up before their sums: 255 2^8 fits 16 bits, and 255 2^7 15. */
#define LINES 255

/* A byte of truth values is any: this is 0 or 1. And the same for others, which are what they are.
 */
#define TRUTH_OF(x) ((x) != 0)
#define VALUE_OF(x) (x)

/* Bytes ahead that are asked for, in a row. */
#define INTEGERS_AHEAD 2048

/* Elements are TYPE, sums of a few PART, and of columns SUM. */
#define INTEGER_SLICES(name, TYPE, PART, SUM, VALUE)                                              \
    /* Adds n elements, at most those of LINES lines, to *sum, and takes their extremes. */       \
    INLINE_TARGET void lines_##name(const unsigned char *x, size_t n, int64_t *sum, TYPE *min,    \
                                    TYPE *max, bool extremes)                                     \
    {                                                                                             \
        enum { LINE = LINE_BYTES / sizeof(TYPE) };                                                \
        TYPE line[LINE], least[LINE], greatest[LINE];                                             \
        PART part[LINE] = {0};                                                                    \
        size_t i = 0;                                                                             \
                                                                                                  \
        for (size_t j = 0; j < LINE; j++) {                                                       \
            least[j] = *min;                                                                      \
            greatest[j] = *max;                                                                   \
        }                                                                                         \
        for (; n - i >= LINE; i += LINE) {                                                        \
            memcpy(line, x + i * sizeof *line, sizeof line);                                      \
            __builtin_prefetch((const void *)((uintptr_t)x + i * sizeof *line + INTEGERS_AHEAD)); \
            for (size_t j = 0; j < LINE; j++)                                                     \
                part[j] = (PART)(part[j] + VALUE(line[j]));                                       \
            for (size_t j = 0; extremes && j < LINE; j++) {                                       \
                least[j] = VALUE(line[j]) < least[j] ? VALUE(line[j]) : least[j];                 \
                greatest[j] = VALUE(line[j]) > greatest[j] ? VALUE(line[j]) : greatest[j];        \
            }                                                                                     \
        }                                                                                         \
        memcpy(line, x + i * sizeof *line, (n - i) * sizeof *line);                               \
        for (size_t j = 0; j < n - i; j++) {                                                      \
            *sum += VALUE(line[j]);                                                               \
            *min = VALUE(line[j]) < *min ? VALUE(line[j]) : *min;                                 \
            *max = VALUE(line[j]) > *max ? VALUE(line[j]) : *max;                                 \
        }                                                                                         \
        for (size_t j = 0; j < LINE; j++)                                                         \
            *sum += part[j];                                                                      \
        for (size_t j = 0; extremes && j < LINE; j++) {                                           \
            *min = least[j] < *min ? least[j] : *min;                                             \
            *max = greatest[j] > *max ? greatest[j] : *max;                                       \
        }                                                                                         \
    }                                                                                             \
    INLINE_TARGET void rows_of_##name(const unsigned char *x, size_t rows, size_t length,         \
                                      int64_t *sum, int64_t *min, int64_t *max, bool extremes)    \
    {                                                                                             \
        const size_t most = LINES * LINE_BYTES / sizeof(TYPE);                                    \
                                                                                                  \
        for (size_t row = 0; row < rows; row++, x += length * sizeof(TYPE)) {                     \
            TYPE least, greatest;                                                                 \
                                                                                                  \
            memcpy(&least, x, sizeof least);                                                      \
            least = VALUE(least);                                                                 \
            greatest = least;                                                                     \
            sum[row] = 0;                                                                         \
            for (size_t i = 0; i < length; i += most)                                             \
                lines_##name(x + i * sizeof(TYPE), length - i < most ? length - i : most,         \
                             &sum[row], &least, &greatest, extremes);                             \
            if (extremes) {                                                                       \
                min[row] = least;                                                                 \
                max[row] = greatest;                                                              \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
    static SIMD_TARGET void integer_rows_##name(const void *x, size_t rows, size_t length,        \
                                                int64_t *sum, int64_t *min, int64_t *max)         \
    {                                                                                             \
        if (min)                                                                                  \
            rows_of_##name(x, rows, length, sum, min, max, true);                                 \
        else                                                                                      \
            rows_of_##name(x, rows, length, sum, min, max, false);                                \
    }                                                                                             \
    /* A line of n rows, at most CPU_INTEGER_ROWS. */                                             \
    INLINE_TARGET void column_lines_##name(const unsigned char *x, size_t stride, size_t n,       \
                                           SUM *sum, TYPE *min, TYPE *max)                        \
    {                                                                                             \
        enum { LINE = LINE_BYTES / sizeof(TYPE) };                                                \
        PART part[LINE] = {0};                                                                    \
        TYPE line[LINE];                                                                          \
                                                                                                  \
        for (size_t k = 0; k < n; k++) {                                                          \
            memcpy(line, x + k * stride, sizeof line);                                            \
            for (size_t j = 0; j < LINE; j++)                                                     \
                part[j] = (PART)(part[j] + VALUE(line[j]));                                       \
        }                                                                                         \
        for (size_t j = 0; j < LINE; j++)                                                         \
            sum[j] += (SUM)part[j];                                                               \
        for (size_t k = 0; min && k < n; k++) {                                                   \
            memcpy(line, x + k * stride, sizeof line);                                            \
            for (size_t j = 0; j < LINE; j++) {                                                   \
                min[j] = VALUE(line[j]) < min[j] ? VALUE(line[j]) : min[j];                       \
                max[j] = VALUE(line[j]) > max[j] ? VALUE(line[j]) : max[j];                       \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
    static SIMD_TARGET void integer_columns_##name(const void *data, size_t stride, size_t rows,  \
                                                   size_t columns, int64_t *sum, int64_t *min,    \
                                                   int64_t *max)                                  \
    {                                                                                             \
        enum { LINE = LINE_BYTES / sizeof(TYPE) };                                                \
        SUM sums[CPU_INTEGER_COLUMNS];                                                            \
        TYPE least[CPU_INTEGER_COLUMNS], greatest[CPU_INTEGER_COLUMNS];                           \
        const unsigned char *x = data;                                                            \
                                                                                                  \
        memset(sums, 0, columns * sizeof *sums);                                                  \
        for (size_t j = 0; min && j < columns; j++) {                                             \
            memcpy(&least[j], x + j * sizeof *least, sizeof *least);                              \
            least[j] = VALUE(least[j]);                                                           \
            greatest[j] = least[j];                                                               \
        }                                                                                         \
        for (size_t row = 0; row < rows; row += CPU_INTEGER_ROWS) {                               \
            const size_t n = rows - row < CPU_INTEGER_ROWS ? rows - row : CPU_INTEGER_ROWS;       \
            const unsigned char *p = x + row * stride;                                            \
                                                                                                  \
            for (size_t j = 0; j < columns; j += LINE, p += LINE_BYTES) {                         \
                for (size_t k = 0; k < n; k++)                                                    \
                    __builtin_prefetch(                                                           \
                        (const void *)((uintptr_t)p + (CPU_INTEGER_ROWS + k) * stride));          \
                if (n == CPU_INTEGER_ROWS)                                                        \
                    column_lines_##name(p, stride, CPU_INTEGER_ROWS, sums + j,                    \
                                        min ? least + j : NULL, min ? greatest + j : NULL);       \
                else                                                                              \
                    column_lines_##name(p, stride, n, sums + j, min ? least + j : NULL,           \
                                        min ? greatest + j : NULL);                               \
            }                                                                                     \
        }                                                                                         \
        for (size_t j = 0; j < columns; j++)                                                      \
            sum[j] = sums[j];                                                                     \
        for (size_t j = 0; min && j < columns; j++) {                                             \
            min[j] = least[j];                                                                    \
            max[j] = greatest[j];                                                                 \
        }                                                                                         \
    }

INTEGER_SLICES(i8, int8_t, int16_t, int32_t, VALUE_OF)
INTEGER_SLICES(u8, uint8_t, uint16_t, uint32_t, VALUE_OF)
INTEGER_SLICES(bool, uint8_t, uint16_t, uint32_t, TRUTH_OF)
INTEGER_SLICES(i16, int16_t, int32_t, int32_t, VALUE_OF)
INTEGER_SLICES(u16, uint16_t, uint32_t, uint32_t, VALUE_OF)
INTEGER_SLICES(i32, int32_t, int64_t, int64_t, VALUE_OF)
INTEGER_SLICES(u32, uint32_t, int64_t, int64_t, VALUE_OF)

#endif
