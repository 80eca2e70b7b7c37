/*
 * Kernels: leaving out missing elements. A part of kernel_template.h.
 *
 * Elements that are all there are only looked at, some vectors at a time. From the first vectors on
 * that lack one, elements are packed.
 */
#ifndef GPUREDUCE_CPU_KERNEL_MISSING_H
#define GPUREDUCE_CPU_KERNEL_MISSING_H

#include <string.h>

#include "cpu/kernel_block32.h"

/* Vectors that are looked at together. */
#define LOOKED_AT 4

/* Bytes that are prefetched ahead where elements are packed. */
#define PACKED_AHEAD ((size_t)16 << 10)

/* Whether each of the elements x is there. p is the prefix of the vectors and masks. `ranges` is the
   number of those of the set. */
#define PRESENT(p, vector, mask)                                                    \
    INLINE_TARGET mask p##_present(vector x, const vector *add, const vector *last, \
                                   unsigned ranges)                                 \
    {                                                                               \
        mask present = p##_gt_s(p##_add(x, add[0]), last[0]);                       \
                                                                                    \
        for (unsigned i = 1; i < ranges; i++)                                       \
            present = (mask)(present & p##_gt_s(p##_add(x, add[i]), last[i]));      \
        return present;                                                             \
    }
PRESENT(b, vec, bmask)
PRESENT(h, vec, hmask)
PRESENT(v, vec, vmask)
PRESENT(w, wvec, wmask)

/* Returns what `function` does of m, with vectors for its ranges, whose number is a constant where it is
   small. */
#define BY_RANGES(function, vector, m, ...)                                         \
    do {                                                                            \
        vector one[2], two[2][2], few[2][CPU_MISSING_FEW], any[2][CPU_MISSING_MAX]; \
                                                                                    \
        if ((m)->count == 1)                                                        \
            return function(m, __VA_ARGS__, one, one + 1, 1);                       \
        if ((m)->count == 2)                                                        \
            return function(m, __VA_ARGS__, two[0], two[1], 2);                     \
        if ((m)->count <= CPU_MISSING_FEW)                                          \
            return function(m, __VA_ARGS__, few[0], few[1], CPU_MISSING_FEW);       \
        return function(m, __VA_ARGS__, any[0], any[1], (m)->count);                \
    } while (0)

/* Leaves out elements of one size, by functions of the prefix p. */
#define LEAVE_OUT(name, p, vector, mask, lane, signed_lane, load)                                  \
    static ALWAYS_INLINE SIMD_TARGET size_t name##_ranges(                                         \
        const struct cpu_missing *m, unsigned char *to, const unsigned char *from, size_t count,   \
        vector *add, vector *last, unsigned ranges)                                                \
    {                                                                                              \
        const size_t size = sizeof(lane), lanes = V_BYTES / size;                                  \
        size_t i = 0, clean, kept;                                                                 \
                                                                                                   \
        for (unsigned k = 0; k < ranges; k++) {                                                    \
            add[k] = p##_set1((lane)m->add[k]);                                                    \
            last[k] = p##_set1((lane)m->last[k]);                                                  \
        }                                                                                          \
        for (; count - i >= LOOKED_AT * lanes; i += LOOKED_AT * lanes) {                           \
            mask present = p##_present(load(from + i * size), add, last, ranges);                  \
                                                                                                   \
            UNROLL_INLINED(LOOKED_AT)                                                              \
            for (size_t k = 1; k < LOOKED_AT; k++)                                                 \
                present = (mask)(present & p##_present(load(from + i * size + k * V_BYTES), add,   \
                                                       last, ranges));                             \
            if (!p##_all(present))                                                                 \
                break;                                                                             \
        }                                                                                          \
        clean = kept = i;                                                                          \
        for (; count - i >= lanes; i += lanes) {                                                   \
            const vector x = load(from + i * size);                                                \
                                                                                                   \
            __builtin_prefetch((const void *)((uintptr_t)(from + i * size) + PACKED_AHEAD), 0, 2); \
            kept += p##_pack(to + kept * size, p##_present(x, add, last, ranges), x);              \
        }                                                                                          \
        for (; i < count; i++) {                                                                   \
            bool missing = false;                                                                  \
            lane x;                                                                                \
                                                                                                   \
            memcpy(&x, from + i * size, size);                                                     \
            for (unsigned k = 0; k < ranges; k++)                                                  \
                missing |= (signed_lane)(lane)(x + (lane)m->add[k]) <= (signed_lane)m->last[k];    \
            memcpy(to + kept * size, &x, size);                                                    \
            kept += !missing;                                                                      \
        }                                                                                          \
        if (kept < count)                                                                          \
            memcpy(to, from, clean *size);                                                         \
        return kept;                                                                               \
    }                                                                                              \
                                                                                                   \
    static SIMD_TARGET size_t name(const struct cpu_missing *m, void *to, const void *from,        \
                                   size_t count)                                                   \
    {                                                                                              \
        BY_RANGES(name##_ranges, vector, m, to, from, count);                                      \
    }
LEAVE_OUT(leave_out8, b, vec, bmask, uint8_t, int8_t, v_load_f32)
LEAVE_OUT(leave_out16, h, vec, hmask, uint16_t, int16_t, v_load_f32)
LEAVE_OUT(leave_out32, v, vec, vmask, uint32_t, int32_t, v_load_f32)
LEAVE_OUT(leave_out64, w, wvec, wmask, uint64_t, int64_t, w_load)

/* Puts another element in place of the missing ones, of one size, by functions of the prefix p. `add_up`
   has the sum of the lanes of vectors that count. */
#define STAND_IN(name, p, vector, lane, signed_lane, load, select, tally, add_up)                \
    static ALWAYS_INLINE SIMD_TARGET size_t name##_ranges(                                       \
        const struct cpu_missing *m, unsigned char *to, const unsigned char *from, size_t count, \
        lane other, vector *add, vector *last, unsigned ranges)                                  \
    {                                                                                            \
        const size_t size = sizeof(lane), step = LOOKED_AT * V_BYTES / size;                     \
        const size_t whole = count - count % step;                                               \
        const vector others = p##_set1(other);                                                   \
        vector present[LOOKED_AT];                                                               \
        size_t missing = whole;                                                                  \
                                                                                                 \
        for (unsigned k = 0; k < ranges; k++) {                                                  \
            add[k] = p##_set1((lane)m->add[k]);                                                  \
            last[k] = p##_set1((lane)m->last[k]);                                                \
        }                                                                                        \
        for (size_t j = 0; j < LOOKED_AT; j++)                                                   \
            present[j] = p##_set1(0);                                                            \
        for (size_t i = 0; i < whole; i += step) {                                               \
            UNROLL_INLINED(LOOKED_AT)                                                            \
            for (size_t j = 0; j < LOOKED_AT; j++) {                                             \
                const size_t at = i * size + j * V_BYTES;                                        \
                const vector x = load(from + at);                                                \
                const p##mask there = p##_present(x, add, last, ranges);                         \
                                                                                                 \
                __builtin_prefetch((const void *)((uintptr_t)(from + at) + PACKED_AHEAD), 0, 2); \
                present[j] = tally(present[j], there);                                           \
                v_store(to + at, (vec)select(there, x, others));                                 \
            }                                                                                    \
        }                                                                                        \
        for (size_t j = 0; j < LOOKED_AT; j++)                                                   \
            missing -= (size_t)add_up(present[j]);                                               \
        for (size_t i = whole; i < count; i++) {                                                 \
            bool lacks = false;                                                                  \
            lane x;                                                                              \
                                                                                                 \
            memcpy(&x, from + i * size, size);                                                   \
            for (unsigned k = 0; k < ranges; k++)                                                \
                lacks |= (signed_lane)(lane)(x + (lane)m->add[k]) <= (signed_lane)m->last[k];    \
            missing += lacks;                                                                    \
            x = lacks ? other : x;                                                               \
            memcpy(to + i * size, &x, size);                                                     \
        }                                                                                        \
        return missing;                                                                          \
    }                                                                                            \
                                                                                                 \
    static SIMD_TARGET size_t name(const struct cpu_missing *m, void *to, const void *from,      \
                                   size_t count, const void *other)                              \
    {                                                                                            \
        lane bits;                                                                               \
                                                                                                 \
        memcpy(&bits, other, sizeof bits);                                                       \
        BY_RANGES(name##_ranges, vector, m, to, from, count, bits);                              \
    }
#define SELECT16(there, x, others) v_blend(h_lanes(there), x, others)
#define TALLY16(count, there) h_sub(count, h_lanes(there))
#define ADD_UP16(count) v_h_add(h_pairs(count))
STAND_IN(stand_in16, h, vec, uint16_t, int16_t, v_load_f32, SELECT16, TALLY16, ADD_UP16)
STAND_IN(stand_in32, v, vec, uint32_t, int32_t, v_load_f32, v_select, v_tally, v_h_add)
STAND_IN(stand_in64, w, wvec, uint64_t, int64_t, w_load, w_select, w_tally, w_h_add)

/* Takes a block of n elements of f32, a multiple of V_LANES, whose missing ones are one range. One of
   the others stands in for each that is missing: that changes no extreme, and the sum by a product.
   False, and nothing is taken, if elements are not finite, if their sum is not exact this way, or if
   a whole vector at its beginning is missing. */
INLINE_TARGET bool block_lacking32(struct cpu_reducer *r, const struct cpu_missing *m,
                                   const unsigned char *x, size_t n, uint64_t index)
{
    const size_t size = sizeof(uint32_t), quarter = n / (STREAMS * V_LANES) * V_LANES;
    const vec add = v_set1((uint32_t)m->add[0]), last = v_set1((uint32_t)m->last[0]);
    struct block32 b = {
        .extremes = extremes32_none(),
        .sum = {d_set1(0), d_set1(0), d_set1(0), d_set1(0)},
        .least = v_set1(UINT32_MAX),
    };
    vec present = v_set1(0), other;
    struct bit_extremes bits;
    uint64_t magnitude, missing;
    uint32_t one = 0;
    size_t i = 0;

    for (bool found = false; !found; i++) {
        if (i == V_LANES)
            return false;
        memcpy(&one, x + i * size, size);
        found = (int32_t)(one + (uint32_t)m->add[0]) > (int32_t)m->last[0];
    }
    other = v_set1(one);
#define TAKE(p, half)                                                       \
    do {                                                                    \
        const vec a = v_load_f32(p);                                        \
        const vmask there = v_present(a, &add, &last, 1);                   \
                                                                            \
        present = v_tally(present, there);                                  \
        take32(&b, v_select(there, a, other), ELEMENT_F32, PASS_ADD, half); \
    } while (0)
    for (i = 0; i < quarter; i += V_LANES) {
        prefetch((uintptr_t)x, quarter * size, i * size, V_LANES * size, size << CPU_BLOCK32_LOG2);
        TAKE(x + i * size, 0);
        TAKE(x + (quarter + i) * size, 1);
        TAKE(x + (2 * quarter + i) * size, 0);
        TAKE(x + (3 * quarter + i) * size, 1);
    }
    for (i = STREAMS * quarter; i < n; i += V_LANES)
        TAKE(x + i * size, 0);
#undef TAKE
    bits = extremes32_bits(&b.extremes);
    magnitude = bits_magnitude(&bits);
    if (magnitude >= INFINITY32 ||
        (magnitude > 0 &&
         !add_block32(&r->partial.sum, b.sum, v_h_min_u(b.least) + 1, magnitude, ELEMENT_F32)))
        return false;
    missing = n - v_h_add(present);
    exact_add(&r->partial.sum,
              -(double)missing * element_value(ELEMENT_F32, one)); /* 12 and 24 bits: exact */
    take_extremes(r, &bits, x, n, index);
    r->partial.count += n;
    r->partial.missing += missing;
    return true;
}

static SIMD_TARGET size_t take_lacking32(struct cpu_reducer *r, const struct cpu_missing *m,
                                         const void *data, size_t count, uint64_t index)
{
    const size_t block = (size_t)1 << CPU_BLOCK32_LOG2, whole = count - count % V_LANES;
    const unsigned char *x = data;
    bool good = true;
    size_t i = 0;

    cpu_begin_chunk(r);
    while (good && i < whole) {
        const size_t n = whole - i < block ? whole - i : block;

        good = block_lacking32(r, m, x + i * sizeof(uint32_t), n, index + i);
        i += good ? n : 0;
    }
    cpu_end_chunk(r);
    return i;
}

#endif
