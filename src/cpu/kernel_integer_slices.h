/*
 * Kernels for slices of integers of up to 32 bits, and of truth values. A part of
 * kernel_template.h.
 *
 * Sums are exact because no accumulator can overflow before it is emptied: elements are added to
 * lanes of twice the width, of CPU_INTEGER_ROWS rows at a time, or of VECTORS vectors of a row, and what
 * these come to is added to wider ones. Vectors are the compiler's, of the size that the instruction set
 * has.
 */
#ifndef GPUREDUCE_CPU_KERNEL_INTEGER_SLICES_H
#define GPUREDUCE_CPU_KERNEL_INTEGER_SLICES_H

#include "cpu/kernel_slices.h"

/* Vectors of a row that are added up before their sums: 255 2^8 fits 16 bits, and 255 2^7 15. */
#define VECTORS 255

/* A byte of truth values is any: this is 0 or 1. And the same for others, which are what they are. TYPE
   is that of the result, a number's or a vector's. */
#define TRUTH_OF(TYPE, x) ((TYPE)(((x) != 0) & 1))
#define VALUE_OF(TYPE, x) (x)

/* Makes the lanes of a vector those of x that are less than they are, or greater. Each compiler makes one
   instruction of it in another form. */
#ifdef __clang__
#    define TAKE_IF(RELATION, x, to, VECTOR, LANES) \
        (to) = ((x) & (VECTOR)((x)RELATION(to))) | ((to) & ~(VECTOR)((x)RELATION(to)))
#else
#    define TAKE_IF(RELATION, x, to, VECTOR, LANES) \
        for (int lane = 0; lane < (LANES); lane++)  \
        (to)[lane] = (x)[lane] RELATION(to)[lane] ? (x)[lane] : (to)[lane]
#endif

/* Bytes ahead that are asked for, in a row. */
#define INTEGERS_AHEAD 2048

/* Takes integers into keys of columns, which are those of equal floats, or with `begin` sets them. */
INLINE_TARGET void put_keys_int32_t(int32_t *keys, vec_s x, bool min, bool begin)
{
    const vec key = v_order(f_bits(__builtin_convertvector(x, vecf)));
    const vec old = begin ? key : v_load_f32(keys);

    v_store(keys, min ? v_min_s(old, key) : v_max_s(old, key));
}
INLINE_TARGET void put_keys_int64_t(int64_t *keys, wvec_s x, bool min, bool begin)
{
    const double zero = 0x1.8p52; /* integers of up to 32 bits lie in its lower bits */
    const vecd value = d_sub(w_value(w_add((wvec)x, w_set1(exact_bits(zero)))), d_set1(zero));
    const wvec key = w_order(d_bits(value)), old = begin ? key : w_load(keys);

    v_store(keys, w_narrow(min ? w_min_s(old, key) : w_max_s(old, key)));
}

/* Elements are TYPE, sums of a few PART, and of columns SUM; and keys of these KEY. */
#define INTEGER_SLICES(name, TYPE, PART, SUM, KEY, VALUE)                                          \
    typedef TYPE vector_##name __attribute__((vector_size(V_BYTES)));                              \
    typedef TYPE half_##name __attribute__((vector_size(V_BYTES / 2)));                            \
    typedef TYPE few_##name __attribute__((vector_size(V_BYTES * sizeof(TYPE) / sizeof(KEY))));    \
    typedef PART middle_##name __attribute__((vector_size(V_BYTES * sizeof(PART) / sizeof(KEY)))); \
    typedef KEY keys_##name __attribute__((vector_size(V_BYTES)));                                 \
    typedef PART part_##name __attribute__((vector_size(V_BYTES)));                                \
    /* The results of some vectors, lane by lane: sums of either half, and extremes. */            \
    struct found_##name {                                                                          \
        part_##name sum[2];                                                                        \
        vector_##name min, max;                                                                    \
    };                                                                                             \
    INLINE_TARGET void take_##name(struct found_##name *f, const unsigned char *x, bool sums,      \
                                   bool extremes)                                                  \
    {                                                                                              \
        half_##name half;                                                                          \
        vector_##name v;                                                                           \
                                                                                                   \
        for (int i = 0; sums && i < 2; i++) {                                                      \
            memcpy(&half, x + i * sizeof half, sizeof half);                                       \
            f->sum[i] += __builtin_convertvector(VALUE(half_##name, half), part_##name);           \
        }                                                                                          \
        if (!extremes)                                                                             \
            return;                                                                                \
        memcpy(&v, x, sizeof v);                                                                   \
        v = VALUE(vector_##name, v);                                                               \
        TAKE_IF(<, v, f->min, vector_##name, V_BYTES / (int)sizeof(TYPE));                         \
        TAKE_IF(>, v, f->max, vector_##name, V_BYTES / (int)sizeof(TYPE));                         \
    }                                                                                              \
    /* Adds n elements, at most those of VECTORS vectors, to *sum, and takes their extremes. */    \
    INLINE_TARGET void vectors_##name(const unsigned char *x, size_t n, int64_t *sum, TYPE *min,   \
                                      TYPE *max, bool sums, bool extremes)                         \
    {                                                                                              \
        enum { LANES = V_BYTES / sizeof(TYPE) };                                                   \
        struct found_##name f = {.sum = {{0}}};                                                    \
        PART part[LANES];                                                                          \
        TYPE least[LANES], greatest[LANES], last;                                                  \
        size_t i = 0;                                                                              \
                                                                                                   \
        for (size_t j = 0; j < LANES; j++) {                                                       \
            least[j] = *min;                                                                       \
            greatest[j] = *max;                                                                    \
        }                                                                                          \
        memcpy(&f.min, least, sizeof f.min);                                                       \
        memcpy(&f.max, greatest, sizeof f.max);                                                    \
        for (; n - i >= LANES; i += LANES) {                                                       \
            __builtin_prefetch((const void *)((uintptr_t)x + i * sizeof(TYPE) + INTEGERS_AHEAD));  \
            take_##name(&f, x + i * sizeof(TYPE), sums, extremes);                                 \
        }                                                                                          \
        memcpy(part, f.sum, sizeof part);                                                          \
        memcpy(least, &f.min, sizeof least);                                                       \
        memcpy(greatest, &f.max, sizeof greatest);                                                 \
        for (size_t j = 0; j < LANES; j++) {                                                       \
            *sum += part[j];                                                                       \
            *min = least[j] < *min ? least[j] : *min;                                              \
            *max = greatest[j] > *max ? greatest[j] : *max;                                        \
        }                                                                                          \
        for (; i < n; i++) {                                                                       \
            memcpy(&last, x + i * sizeof last, sizeof last);                                       \
            last = VALUE(TYPE, last);                                                              \
            *sum += last;                                                                          \
            *min = last < *min ? last : *min;                                                      \
            *max = last > *max ? last : *max;                                                      \
        }                                                                                          \
    }                                                                                              \
    INLINE_TARGET void rows_of_##name(const unsigned char *x, size_t rows, size_t length,          \
                                      int64_t *sum, int64_t *min, int64_t *max, bool sums,         \
                                      bool extremes)                                               \
    {                                                                                              \
        const size_t most = VECTORS * V_BYTES / sizeof(TYPE);                                      \
                                                                                                   \
        for (size_t row = 0; row < rows; row++, x += length * sizeof(TYPE)) {                      \
            int64_t total = 0;                                                                     \
            TYPE least, greatest;                                                                  \
                                                                                                   \
            memcpy(&least, x, sizeof least);                                                       \
            least = VALUE(TYPE, least);                                                            \
            greatest = least;                                                                      \
            for (size_t i = 0; i < length; i += most)                                              \
                vectors_##name(x + i * sizeof(TYPE), length - i < most ? length - i : most,        \
                               &total, &least, &greatest, sums, extremes);                         \
            if (sums)                                                                              \
                sum[row] = total;                                                                  \
            if (extremes) {                                                                        \
                min[row] = least;                                                                  \
                max[row] = greatest;                                                               \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static SIMD_TARGET void integer_rows_##name(const void *x, size_t rows, size_t length,         \
                                                int64_t *sum, int64_t *min, int64_t *max)          \
    {                                                                                              \
        if (!min)                                                                                  \
            rows_of_##name(x, rows, length, sum, min, max, true, false);                           \
        else if (!sum)                                                                             \
            rows_of_##name(x, rows, length, sum, min, max, false, true);                           \
        else                                                                                       \
            rows_of_##name(x, rows, length, sum, min, max, true, true);                            \
    }                                                                                              \
    /* A vector of n rows, at most CPU_INTEGER_ROWS; with `begin` they are the first ones. */      \
    INLINE_TARGET void column_vectors_##name(const unsigned char *x, size_t stride, size_t n,      \
                                             SUM *sum, TYPE *min, TYPE *max, bool begin,           \
                                             bool sums, bool extremes)                             \
    {                                                                                              \
        enum { LANES = V_BYTES / sizeof(TYPE) };                                                   \
        struct found_##name f = {.sum = {{0}}};                                                    \
        PART part[LANES];                                                                          \
                                                                                                   \
        if (extremes) { /* VALUE changes nothing the second time */                                \
            memcpy(&f.min, begin ? (const void *)x : min, sizeof f.min);                           \
            memcpy(&f.max, begin ? (const void *)x : max, sizeof f.max);                           \
            f.min = VALUE(vector_##name, f.min);                                                   \
            f.max = VALUE(vector_##name, f.max);                                                   \
        }                                                                                          \
        for (size_t k = 0; k < n; k++)                                                             \
            take_##name(&f, x + k * stride, sums, extremes);                                       \
        memcpy(part, f.sum, sizeof part);                                                          \
        for (size_t j = 0; sums && j < LANES; j++)                                                 \
            sum[j] += (SUM)part[j];                                                                \
        if (!extremes)                                                                             \
            return;                                                                                \
        memcpy(min, &f.min, sizeof f.min);                                                         \
        memcpy(max, &f.max, sizeof f.max);                                                         \
    }                                                                                              \
    /* Takes extremes of columns into keys, or sets these. */                                      \
    INLINE_TARGET void put_keys_##name(KEY *keys, const TYPE *x, size_t columns, bool min,         \
                                       bool begin)                                                 \
    {                                                                                              \
        middle_##name middle;                                                                      \
        few_##name few;                                                                            \
                                                                                                   \
        for (size_t j = 0; j < columns; j += V_BYTES / sizeof(KEY)) {                              \
            memcpy(&few, x + j, sizeof few);                                                       \
            middle = __builtin_convertvector(few, middle_##name);                                  \
            put_keys_##KEY(keys + j, __builtin_convertvector(middle, keys_##name), min, begin);    \
        }                                                                                          \
    }                                                                                              \
    INLINE_TARGET void columns_of_##name(const unsigned char *x, size_t stride, size_t rows,       \
                                         size_t columns, int64_t *sum, void *min, void *max,       \
                                         bool begin, bool sums, bool extremes)                     \
    {                                                                                              \
        enum { LANES = V_BYTES / sizeof(TYPE) };                                                   \
        SUM total[CPU_INTEGER_COLUMNS];                                                            \
        TYPE least[CPU_INTEGER_COLUMNS], greatest[CPU_INTEGER_COLUMNS];                            \
                                                                                                   \
        if (sums)                                                                                  \
            memset(total, 0, columns * sizeof *total);                                             \
        for (size_t row = 0; row < rows; row += CPU_INTEGER_ROWS) {                                \
            const size_t n = rows - row < CPU_INTEGER_ROWS ? rows - row : CPU_INTEGER_ROWS;        \
            const struct next_rows next =                                                          \
                next_rows(x, stride, row + n, rows, CPU_INTEGER_ROWS, columns * sizeof(TYPE));     \
            const unsigned char *p = x + row * stride;                                             \
                                                                                                   \
            for (size_t j = 0; j < columns; j += LANES, p += V_BYTES) {                            \
                prefetch_next(&next, stride, j * sizeof(TYPE));                                    \
                if (row > 0 && n == CPU_INTEGER_ROWS)                                              \
                    column_vectors_##name(p, stride, CPU_INTEGER_ROWS, total + j, least + j,       \
                                          greatest + j, false, sums, extremes);                    \
                else                                                                               \
                    column_vectors_##name(p, stride, n, total + j, least + j, greatest + j,        \
                                          row == 0, sums, extremes);                               \
            }                                                                                      \
        }                                                                                          \
        for (size_t j = 0; sums && j < columns; j += LANES)                                        \
            for (size_t k = j; k < j + LANES; k++)                                                 \
                sum[k] = total[k];                                                                 \
        if (extremes) {                                                                            \
            put_keys_##name(min, least, columns, true, begin);                                     \
            put_keys_##name(max, greatest, columns, false, begin);                                 \
        }                                                                                          \
    }                                                                                              \
    static SIMD_TARGET void integer_columns_##name(const void *x, size_t stride, size_t rows,      \
                                                   size_t columns, int64_t *sum, void *min,        \
                                                   void *max, bool begin)                          \
    {                                                                                              \
        if (!min)                                                                                  \
            columns_of_##name(x, stride, rows, columns, sum, min, max, begin, true, false);        \
        else if (!sum)                                                                             \
            columns_of_##name(x, stride, rows, columns, sum, min, max, begin, false, true);        \
        else                                                                                       \
            columns_of_##name(x, stride, rows, columns, sum, min, max, begin, true, true);         \
    }

INTEGER_SLICES(i8, int8_t, int16_t, int32_t, int32_t, VALUE_OF)
INTEGER_SLICES(u8, uint8_t, uint16_t, uint32_t, int32_t, VALUE_OF)
INTEGER_SLICES(bool, uint8_t, uint16_t, uint32_t, int32_t, TRUTH_OF)
INTEGER_SLICES(i16, int16_t, int32_t, int32_t, int32_t, VALUE_OF)
INTEGER_SLICES(u16, uint16_t, uint32_t, uint32_t, int32_t, VALUE_OF)
INTEGER_SLICES(i32, int32_t, int64_t, int64_t, int64_t, VALUE_OF)
INTEGER_SLICES(u32, uint32_t, int64_t, int64_t, int64_t, VALUE_OF)

#endif
