/*
 * Kernels that sort columns of keys. A part of kernel_template.h.
 *
 * Batcher's merge exchange (D. E. Knuth, "The Art of Computer Programming", 5.2.2, algorithm M) sorts
 * any number of rows by exchanges that do not depend on the keys, so that a vector of columns goes
 * through each of them at once, without a branch.
 */
#ifndef GPUREDUCE_CPU_KERNEL_SORT_H
#define GPUREDUCE_CPU_KERNEL_SORT_H

#include "cpu/kernel_common.h"

/* Sorts the keys of each column of `rows` rows, by functions of the prefix p. */
#define SORT_COLUMNS(name, p, vector, load, store)                                   \
    INLINE_TARGET void name##_exchange(unsigned char *low, unsigned char *high)      \
    {                                                                                \
        UNROLL_INLINED(4)                                                            \
        for (size_t k = 0; k < CPU_SORT_BYTES; k += V_BYTES) {                       \
            const vector x = load(low + k), y = load(high + k);                      \
                                                                                     \
            store(low + k, p##_min_u(x, y));                                         \
            store(high + k, p##_max_u(x, y));                                        \
        }                                                                            \
    }                                                                                \
                                                                                     \
    static SIMD_TARGET void name(unsigned char *keys, size_t rows)                   \
    {                                                                                \
        size_t half = 1;                                                             \
                                                                                     \
        while (2 * half < rows)                                                      \
            half *= 2;                                                               \
        for (size_t run = half; run > 0 && rows > 1; run /= 2) {                     \
            size_t apart = run, first = 0;                                           \
                                                                                     \
            for (size_t next = half;; next /= 2) {                                   \
                for (size_t begin = first; begin + apart < rows; begin += 2 * run)   \
                    for (size_t i = begin; i < begin + run && i + apart < rows; i++) \
                        name##_exchange(keys + i * CPU_SORT_BYTES,                   \
                                        keys + (i + apart) * CPU_SORT_BYTES);        \
                if (next == run)                                                     \
                    break;                                                           \
                apart = next - run;                                                  \
                first = run;                                                         \
            }                                                                        \
        }                                                                            \
    }
SORT_COLUMNS(sort_columns8, b, vec, v_load_f32, v_store)
SORT_COLUMNS(sort_columns16, h, vec, v_load_f32, v_store)
SORT_COLUMNS(sort_columns32, v, vec, v_load_f32, v_store)
SORT_COLUMNS(sort_columns64, w, wvec, w_load, w_store)

#endif
