/*
 * Kernels that look for elements by their bits. A part of kernel_template.h.
 */
#ifndef GPUREDUCE_CPU_KERNEL_SEARCH_H
#define GPUREDUCE_CPU_KERNEL_SEARCH_H

#include <string.h>

#include "cpu/kernel_missing.h"

/* Looks for elements of one size, by functions of the prefix p. MEANT makes of a vector what is compared:
   of truth values 0 or 1. */
#define SEARCH(name, columns, p, vector, mask, lane, load, MEANT)                                 \
    static SIMD_TARGET size_t name(const void *elements, size_t count, uint64_t bits, bool truth) \
    {                                                                                             \
        const size_t size = sizeof(lane), lanes = V_BYTES / size;                                 \
        const unsigned char *const x = elements;                                                  \
        const vector wanted = p##_set1((lane)bits);                                               \
        size_t i = 0;                                                                             \
                                                                                                  \
        (void)truth;                                                                              \
        for (; count - i >= LOOKED_AT * lanes; i += LOOKED_AT * lanes) {                          \
            mask same = p##_eq(MEANT(load(x + i * size)), wanted);                                \
                                                                                                  \
            UNROLL_INLINED(LOOKED_AT)                                                             \
            for (size_t k = 1; k < LOOKED_AT; k++)                                                \
                same = (mask)(same | p##_eq(MEANT(load(x + i * size + k * V_BYTES)), wanted));    \
            if (!p##_all((mask)~same))                                                            \
                break;                                                                            \
        }                                                                                         \
        for (; count - i >= lanes; i += lanes)                                                    \
            if (!p##_all((mask)~p##_eq(MEANT(load(x + i * size)), wanted)))                       \
                break;                                                                            \
        for (; i < count; i++) {                                                                  \
            lane element;                                                                         \
                                                                                                  \
            memcpy(&element, x + i * size, size);                                                 \
            if ((truth ? element != 0 : element) == (lane)bits)                                   \
                break;                                                                            \
        }                                                                                         \
        return i;                                                                                 \
    }                                                                                             \
                                                                                                  \
    static SIMD_TARGET void columns(const unsigned char *x, size_t stride, size_t rows,           \
                                    const uint64_t bits[], bool truth, uint64_t row[])            \
    {                                                                                             \
        enum {                                                                                    \
            COLUMNS = CPU_SEARCHED_BYTES / sizeof(lane),                                          \
            SEARCHED = CPU_SEARCHED_BYTES / V_BYTES                                               \
        };                                                                                        \
        lane found[COLUMNS];                                                                      \
        vector wanted[SEARCHED], at[SEARCHED];                                                    \
                                                                                                  \
        (void)truth;                                                                              \
        for (size_t j = 0; j < COLUMNS; j++)                                                      \
            found[j] = (lane)bits[j];                                                             \
        UNROLL_INLINED(SEARCHED)                                                                  \
        for (size_t k = 0; k < SEARCHED; k++) {                                                   \
            wanted[k] = load((unsigned char *)found + k * V_BYTES);                               \
            at[k] = p##_set1((lane)CPU_NO_ROW);                                                   \
        }                                                                                         \
        for (size_t i = rows; i-- > 0;) {                                                         \
            const vector number = p##_set1((lane)i);                                              \
                                                                                                  \
            UNROLL_INLINED(SEARCHED)                                                              \
            for (size_t k = 0; k < SEARCHED; k++)                                                 \
                at[k] = BLENDED(                                                                  \
                    p##_lanes(p##_eq(MEANT(load(x + i * stride + k * V_BYTES)), wanted[k])),      \
                    number, at[k]);                                                               \
        }                                                                                         \
        UNROLL_INLINED(SEARCHED)                                                                  \
        for (size_t k = 0; k < SEARCHED; k++)                                                     \
            memcpy((unsigned char *)found + k * V_BYTES, &at[k], V_BYTES);                        \
        for (size_t j = 0; j < COLUMNS; j++)                                                      \
            row[j] = found[j] == (lane)CPU_NO_ROW ? CPU_NO_ROW : found[j];                        \
    }
#define BLENDED(bits, yes, no) ((__typeof__(no))v_blend((vec)(bits), (vec)(yes), (vec)(no)))
#define AS_IT_IS(x) (x)
#define AS_TRUTH(x) (truth ? b_min_u(x, b_set1(1)) : (x))
SEARCH(search8, search_columns8, b, vec, bmask, uint8_t, v_load_f32, AS_TRUTH)
SEARCH(search16, search_columns16, h, vec, hmask, uint16_t, v_load_f32, AS_IT_IS)
SEARCH(search32, search_columns32, v, vec, vmask, uint32_t, v_load_f32, AS_IT_IS)
SEARCH(search64, search_columns64, w, wvec, wmask, uint64_t, w_load, AS_IT_IS)
#undef BLENDED
#undef AS_IT_IS
#undef AS_TRUTH

#endif
