/*
 * The operations of simd.h in the vector types of gcc and clang, for vectors of V_BYTES: 16 (NEON,
 * SSE2, VSX, or whatever the compiler makes of them), 32 or 64. Compilers make one instruction each
 * of most of them. Those that need an intrinsic for that are in a table of the machine:
 *
 *   simd_x86.h     SIMD_X86: the instructions from SSE4.2 on, or from AVX2 on, by V_BYTES
 *   simd_avx512.h  V_BYTES is 64: comparisons give masks of bits
 *   simd_neon.h    aarch64
 *
 * Other machines, and x86-64 without SSE4.2, take the plain forms of simd_plain.h.
 */
#ifndef GPUREDUCE_CPU_SIMD_VECTOR_H
#define GPUREDUCE_CPU_SIMD_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "sys/inline.h"

#define SIMD_OP static inline __attribute__((always_inline)) SIMD_TARGET

/* Whether bytes are looked up in a table of 16 by an instruction. */
#if V_BYTES > 16 || SIMD_X86 > 2 || defined __aarch64__
#    define SIMD_LOOKUP 1
#else
#    define SIMD_LOOKUP 0
#endif

#define V_LANES (V_BYTES / 4)
#define W_LANES (V_BYTES / 8)

#define VECTOR __attribute__((vector_size(V_BYTES)))
typedef uint32_t vec VECTOR;
typedef int32_t vec_s VECTOR;
typedef uint64_t wvec VECTOR;
typedef int64_t wvec_s VECTOR;
typedef double vecd VECTOR;
typedef float vecf VECTOR;
typedef uint8_t vec_bytes VECTOR;
typedef int8_t vec_bytes_s VECTOR;
typedef uint16_t vec_halves VECTOR;
typedef int16_t vec_halves_s VECTOR;

/* An operation on one, two or three operands of type `from`. */
#define OP1(name, to, from, ...)  \
    SIMD_OP to name(from a)       \
    {                             \
        return (to)(__VA_ARGS__); \
    }
#define OP2(name, to, from, ...)    \
    SIMD_OP to name(from a, from b) \
    {                               \
        return (to)(__VA_ARGS__);   \
    }
#define OP3(name, to, from, ...)            \
    SIMD_OP to name(from a, from b, from c) \
    {                                       \
        return (to)(__VA_ARGS__);           \
    }

/* Loads and stores, of any alignment and whatever else is there. */
#define MEMORY(load, store, type, load_from, store_to)                \
    typedef type type##_there __attribute__((aligned(1), may_alias)); \
    SIMD_OP type load(load_from p)                                    \
    {                                                                 \
        return *(const type##_there *)(const void *)p;                \
    }                                                                 \
    SIMD_OP void store(store_to p, type a)                            \
    {                                                                 \
        *(type##_there *)(void *)p = a;                               \
    }

/* A reduction over the lanes: `keep` says which of result and x remains. */
#define OVER_LANES(name, to, from, lane, lanes, start, keep) \
    SIMD_OP to name(from a)                                  \
    {                                                        \
        lane result = start;                                 \
        for (int i = 0; i < (lanes); i++) {                  \
            const lane x = (lane)a[i];                       \
            result = keep;                                   \
        }                                                    \
        return (to)result;                                   \
    }

MEMORY(v_load_f32, v_store, vec, const void *, void *)
MEMORY(w_load, w_store, wvec, const void *, void *)
MEMORY(d_load, d_store, vecd, const double *, double *)

OP1(v_set1, vec, uint32_t, (vec){0} + a)
OP1(w_set1, wvec, uint64_t, (wvec){0} + a)
OP1(h_set1, vec, uint16_t, (vec_halves){0} + a)
OP1(b_set1, vec, uint8_t, (vec_bytes){0} + a)
OP1(d_set1, vecd, double, a - (vecd){0})
OP1(f_set1, vecf, float, a - (vecf){0})
OP1(v_wide, wvec, vec, a)
OP1(w_narrow, vec, wvec, a)
OP1(w_value, vecd, wvec, a)
OP1(d_bits, wvec, vecd, a)
OP1(f_value, vecf, vec, a)
OP1(f_bits, vec, vecf, a)

OP2(v_and, vec, vec, a &b)
OP2(v_xor, vec, vec, a ^ b)
OP2(v_add, vec, vec, a + b)
OP2(v_sub, vec, vec, a - b)
OP3(v_blend, vec, vec, (a & b) | (~a & c))
OP2(w_and, wvec, wvec, a &b)
OP2(w_or, wvec, wvec, a | b)
OP2(w_xor, wvec, wvec, a ^ b)
OP2(w_add, wvec, wvec, a + b)
OP2(w_sub, wvec, wvec, a - b)
OP1(w_odd, wvec, wvec, a >> 32)
/* x86-64 shifts signed integers of 64 bits from AVX-512 on. */
#if defined __x86_64__ && V_BYTES < 64
#    define W_ODD_RAISED ((uint64_t)1 << 31)
OP1(w_odd_s, wvec, wvec, (a ^ (uint64_t)1 << 63) >> 32)
#else
#    define W_ODD_RAISED ((uint64_t)0)
OP1(w_odd_s, wvec, wvec, (wvec_s)a >> 32)
#endif
OP2(h_add, vec, vec, (vec_halves)a + (vec_halves)b)
OP2(h_sub, vec, vec, (vec_halves)a - (vec_halves)b)
OP2(b_add, vec, vec, (vec_bytes)a + (vec_bytes)b)
OP1(h_raise_lower, vec, vec, a << 16)
OP1(h_keep_upper, vec, vec, a & 0xffff0000)
OP1(w_raise_lower, wvec, wvec, a << 32)
OP1(w_keep_upper, wvec, wvec, a &(uint64_t)UINT32_MAX << 32)
OP1(v_upper_u, vec, vec, a >> 16)
OP1(b_low, vec, vec, a & 0x0f0f0f0f)
OP1(b_high, vec, vec, a >> 4 & 0x0f0f0f0f)

OP2(d_add, vecd, vecd, a + b)
OP2(d_sub, vecd, vecd, a - b)
OP2(d_mul, vecd, vecd, a *b)
OP2(d_div, vecd, vecd, a / b)
OP1(d_abs, vecd, vecd, (wvec)a &INT64_MAX)
OP2(f_sub, vecf, vecf, a - b)

OVER_LANES(v_h_add, uint32_t, vec, uint32_t, V_LANES, 0, result + x)
OVER_LANES(v_h_max_s, uint32_t, vec, int32_t, V_LANES, INT32_MIN, x > result ? x : result)
OVER_LANES(v_h_max_u, uint32_t, vec, uint32_t, V_LANES, 0, x > result ? x : result)
OVER_LANES(v_h_min_u, uint32_t, vec, uint32_t, V_LANES, UINT32_MAX, x < result ? x : result)
OVER_LANES(w_h_add, uint64_t, wvec, uint64_t, W_LANES, 0, result + x)
OVER_LANES(w_h_or, uint64_t, wvec, uint64_t, W_LANES, 0, result | x)
OVER_LANES(w_h_max_s, uint64_t, wvec, int64_t, W_LANES, INT64_MIN, x > result ? x : result)
OVER_LANES(w_h_max_u, uint64_t, wvec, uint64_t, W_LANES, 0, x > result ? x : result)
OVER_LANES(w_h_min_u, uint64_t, wvec, uint64_t, W_LANES, UINT64_MAX, x < result ? x : result)
OVER_LANES(d_h_min, double, vecd, double, W_LANES, a[0], x < result ? x : result)
OVER_LANES(d_h_max, double, vecd, double, W_LANES, a[0], x > result ? x : result)
OVER_LANES(d_h_add, double, vecd, double, W_LANES, 0, result + x)

SIMD_OP vec v_shift_right_s(vec a, int bits)
{
    return (vec)((vec_s)a >> bits);
}

/* Lanes of two vectors, those of b counted on after those of a. */
#ifdef __has_builtin
#    if __has_builtin(__builtin_shufflevector)
#        define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#        define SHUFFLE_HALVES SHUFFLE
#    endif
#endif
#ifndef SHUFFLE
#    define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (wvec){__VA_ARGS__})
#    define SHUFFLE_HALVES(a, b, ...) __builtin_shuffle(a, b, (vec_halves){__VA_ARGS__})
#endif

/* EXCHANGE(STEP) swaps lanes between two vectors: where the bit STEP of a lane's number is set in
   the first, with the lane STEP before it in the second. */
#if W_LANES == 2
#    define FIRST1 0, 2
#    define SECOND1 1, 3
#elif W_LANES == 4
#    define FIRST1 0, 4, 2, 6
#    define SECOND1 1, 5, 3, 7
#    define FIRST2 0, 1, 4, 5
#    define SECOND2 2, 3, 6, 7
#else
#    define FIRST1 0, 8, 2, 10, 4, 12, 6, 14
#    define SECOND1 1, 9, 3, 11, 5, 13, 7, 15
#    define FIRST2 0, 1, 8, 9, 4, 5, 12, 13
#    define SECOND2 2, 3, 10, 11, 6, 7, 14, 15
#    define FIRST4 0, 1, 2, 3, 8, 9, 10, 11
#    define SECOND4 4, 5, 6, 7, 12, 13, 14, 15
#endif

/* Exchanges of all vectors of a, in pairs that are STEP apart. */
#define EXCHANGE(a, STEP)                                               \
    UNROLL_INLINED(8)                                                   \
    for (int i = 0; i < W_LANES; i++)                                   \
        if (!(i & STEP)) {                                              \
            const vecd first = SHUFFLE(a[i], a[i + STEP], FIRST##STEP); \
                                                                        \
            a[i + STEP] = SHUFFLE(a[i], a[i + STEP], SECOND##STEP);     \
            a[i] = first;                                               \
        }

SIMD_OP void d_transpose(vecd a[W_LANES])
{
    EXCHANGE(a, 1)
#if W_LANES > 2
    EXCHANGE(a, 2)
#endif
#if W_LANES > 4
    EXCHANGE(a, 4)
#endif
}

/* Sums of pairs of vectors, lane by lane, after an exchange: half as many vectors. */
#define ADD_PAIRS(to, a, count, STEP)                          \
    UNROLL_INLINED(8)                                          \
    for (int i = 0; i < (count); i++)                          \
        to[i] = SHUFFLE(a[2 * i], a[2 * i + 1], FIRST##STEP) + \
                SHUFFLE(a[2 * i], a[2 * i + 1], SECOND##STEP);

SIMD_OP vecd d_h_add_each(const vecd a[W_LANES])
{
    vecd sum[W_LANES / 2];

    ADD_PAIRS(sum, a, W_LANES / 2, 1)
#if W_LANES > 2
    ADD_PAIRS(sum, sum, W_LANES / 4, 2)
#endif
#if W_LANES > 4
    ADD_PAIRS(sum, sum, W_LANES / 8, 4)
#endif
    return sum[0];
}

/* Stores lanes without instructions for it, and without branches. */
#define PACK(name, mask, from, lane)                          \
    SIMD_OP unsigned name(void *p, mask m, from a)            \
    {                                                         \
        lane held[V_BYTES / sizeof(lane)];                    \
        lane true_lanes[V_BYTES / sizeof(lane)];              \
        lane *to = p;                                         \
        unsigned count = 0;                                   \
                                                              \
        v_store(held, (vec)a);                                \
        v_store(true_lanes, (vec)m);                          \
        UNROLL_INLINED(16)                                    \
        for (size_t i = 0; i < V_BYTES / sizeof(lane); i++) { \
            to[count] = held[i];                              \
            count += true_lanes[i] & 1;                       \
        }                                                     \
        return count;                                         \
    }

#if V_BYTES == 64
#    include "cpu/simd_x86.h"

#    include "cpu/simd_avx512.h"
#else

#    define SIMD_PACKS 0

/* Comparisons give lanes of which all bits are set, or none. */
typedef vec vmask;
typedef wvec wmask;
typedef vec hmask;
typedef vec bmask;

OP1(v_held, vec, vec, a)
OP2(v_gt_s, vmask, vec, (vec_s)a > (vec_s)b)
OP2(v_ge_s, vmask, vec, (vec_s)a >= (vec_s)b)
OP2(v_eq, vmask, vec, a == b)
OP2(v_without, vmask, vec, (a & b) == 0)
OP3(v_also_ge_s, vmask, vec, ~(vec)((vec_s)c > (vec_s)b) & a)
OP2(v_tally, vec, vec, a - b)
OP1(v_order, vec, vec, a ^ ((vec)((vec_s)a < 0) & INT32_MAX))
OP2(w_eq, wmask, wvec, a == b)
OP2(w_tally, wvec, wvec, a - b)
OP2(h_gt_s, hmask, vec, (vec_halves_s)a > (vec_halves_s)b)
OP2(h_eq, hmask, vec, (vec_halves_s)a == (vec_halves_s)b)
OP2(b_gt_s, bmask, vec, (vec_bytes_s)a > (vec_bytes_s)b)
OP2(b_below, bmask, vec, (vec_bytes)a < (vec_bytes)b)
OP2(b_eq, bmask, vec, (vec_bytes)a == (vec_bytes)b)
OP2(b_keep, vec, vec, a &b)

/* The greater or the lesser of lanes, where no instruction tells. */
#    define GREATER(type, a, b) ((a) ^ (((a) ^ (b)) & (vec)((type)(b) > (type)(a))))
#    define LESSER(type, a, b) ((a) ^ (((a) ^ (b)) & (vec)((type)(a) > (type)(b))))

/* For lack of instructions, of SSE2 too. */
#    if SIMD_X86 <= 2
#        ifndef __aarch64__
OP2(v_max_s, vec, vec, GREATER(vec_s, a, b))
OP2(v_max_u, vec, vec, GREATER(vec, a, b))
OP2(v_min_s, vec, vec, LESSER(vec_s, a, b))
OP2(v_min_u, vec, vec, LESSER(vec, a, b))
#        endif
PACK(b_pack, bmask, vec, uint8_t)
PACK(h_pack, hmask, vec, uint16_t)
PACK(v_pack, vmask, vec, uint32_t)
PACK(w_pack, wmask, wvec, uint64_t)
#    endif

#    if SIMD_X86
#        include "cpu/simd_x86.h"
#    else
#        include "cpu/simd_plain.h"
#    endif

SIMD_OP vec v_select(vmask m, vec yes, vec no)
{
#    if SIMD_X86 > 2
    return (vec)MM(blendv_epi8)((mm_integers)no, (mm_integers)yes, (mm_integers)m);
#    else
    return (m & yes) | (~m & no);
#    endif
}

SIMD_OP wvec w_select(wmask m, wvec yes, wvec no)
{
    return (wvec)v_select((vmask)m, (vec)yes, (vec)no);
}

#    if V_BYTES == 16

OP3(d_fma, vecd, vecd, a *b + c)
OP3(f_madd, vecf, vecf, a *b + c)

/* Lanes of 16 bits, each in the lower or the upper half of one of 32. */
SIMD_OP vec v_load_halves(const void *p, bool upper)
{
    uint64_t four;
    vec_halves h;

    memcpy(&four, p, sizeof four);
    h = (vec_halves)(wvec){four};
    if (upper == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))
        return (vec)SHUFFLE_HALVES((vec_halves){0}, h, 0, 8, 1, 9, 2, 10, 3, 11);
    return (vec)SHUFFLE_HALVES(h, (vec_halves){0}, 0, 8, 1, 9, 2, 10, 3, 11);
}

OP1(v_load_bf16, vec, const void *, v_load_halves(a, true))

SIMD_OP vec v_gather(const int32_t *p, vec index)
{
    return (vec)(vec_s){p[index[0]], p[index[1]], p[index[2]], p[index[3]]};
}

#        ifndef __aarch64__
/* The exponent moves by 112, in infinities and NaNs to the greatest there is. A subnormal becomes
   normal by a subtraction that floating point does exactly: (1 + f/1024) 2^-14 - 2^-14. */
SIMD_OP vec v_load_f16(const void *p)
{
    const vec half = v_load_halves(p, false), rest = (half & 0x7fff) << 13;
    const vec subnormal = (vec)((vec_s)rest < 0x00800000);
    const vec infinite = (vec)((vec_s)rest >= 0x0f800000);
    const vec hidden = v_set1(0x38800000);
    const vec whole = f_bits(f_sub(f_value(rest + hidden), f_value(hidden)));
    const vec moved = (rest + 0x38000000) | (infinite & 0x7f800000);

    return v_select(subnormal, whole, moved) | (half & 0x8000) << 16;
}
#        endif
#    endif

OP2(v_min_magnitude, vec, vec, v_min_u(a, b &INT32_MAX))
OP2(d_min_magnitude, vecd, vecd, d_min(d_abs(b), a))
OP2(d_max_magnitude, vecd, vecd, d_max(d_abs(b), a))
#    if SIMD_X86 != 2
OP2(w_gt_s, wmask, wvec, (wvec_s)a > (wvec_s)b)
OP2(w_max_s, wvec, wvec, w_select(w_gt_s(a, b), a, b))
OP2(w_min_s, wvec, wvec, w_select(w_gt_s(a, b), b, a))
OP2(w_max_u, wvec, wvec, w_select((wmask)(a > b), a, b))
OP2(w_min_u, wvec, wvec, w_select((wmask)(a > b), b, a))
#    endif
OP2(w_ge_s, wmask, wvec, ~w_gt_s(b, a))
OP3(w_also_ge_s, wmask, wvec, ~w_gt_s(c, b) & a)
OP1(w_order, wvec, wvec, a ^ (w_gt_s((wvec){0}, a) & INT64_MAX))
OP1(w_some, bool, wmask, w_any(a))
OP1(v_some, bool, vmask, w_any((wvec)a))
OP1(v_all, bool, vmask, !w_any((wvec)~a))
OP1(w_all, bool, wmask, !w_any(~a))
OP1(h_all, bool, hmask, !w_any((wvec)~a))
OP1(b_all, bool, bmask, !w_any((wvec)~a))
OP1(v_lanes, vec, vmask, a)
OP1(w_lanes, wvec, wmask, a)
OP1(h_lanes, vec, hmask, a)
OP1(b_lanes, vec, bmask, a)

/* Extremes where a mask is set: a byte that changes nothing stands in for the others. */
#    if SIMD_LOOKUP
OP3(b_max_s_where, vec, vec, b_max_s(b, (a & c) | (~a & 0x80808080)))
OP3(b_max_u_where, vec, vec, b_max_u(b, a &c))
OP3(b_min_u_where, vec, vec, b_min_u(b, ~a | c))
#    endif
#endif

#endif
