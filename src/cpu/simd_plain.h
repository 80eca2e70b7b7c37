/*
 * Operations of simd.h without instructions of x86-64, for vectors of 16 bytes. A part of
 * simd_vector.h.
 */
#ifndef GPUREDUCE_CPU_SIMD_PLAIN_H
#define GPUREDUCE_CPU_SIMD_PLAIN_H

#ifdef __aarch64__
#    include "cpu/simd_neon.h"
#else

OP2(w_multiply, wvec, wvec, (a & UINT32_MAX) * (b & UINT32_MAX))

typedef float two_floats __attribute__((vector_size(8)));

OP2(h_max_s, vec, vec, GREATER(vec_halves_s, a, b))
OP2(h_max_u, vec, vec, GREATER(vec_halves, a, b))
OP2(h_min_s, vec, vec, LESSER(vec_halves_s, a, b))
OP2(h_min_u, vec, vec, LESSER(vec_halves, a, b))
OP2(b_max_u, vec, vec, GREATER(vec_bytes, a, b))
OP2(b_min_u, vec, vec, LESSER(vec_bytes, a, b))

SIMD_OP vecd d_load_f32(const void *p)
{
    two_floats two;

    memcpy(&two, p, sizeof two);
    return __builtin_convertvector(two, vecd);
}

OP1(v_low, vecd, vec, d_load_f32(&a))
OP1(v_high, vecd, vec, d_load_f32((const char *)&a + 8))

/* Neighbours are added up in lanes of twice the width. */
SIMD_OP wvec b_sum(vec a)
{
    const vec_halves two = ((vec_halves)a & 0xff) + ((vec_halves)a >> 8);
    const vec four = ((vec)two & 0xffff) + ((vec)two >> 16);

    return ((wvec)four & UINT32_MAX) + ((wvec)four >> 32);
}

/* A lane is its upper half, signed, times 2^16, and the lower one, which is signed, too. */
OP1(h_pairs, vec, vec, ((vec_s)a >> 16) + ((vec_s)(a << 16) >> 16))

#endif

/* The second of two floats where `compare` does not hold, as of a NaN. */
#define EITHER(bits, compare, a, b) (((bits)(compare) & (bits)(a)) | (~(bits)(compare) & (bits)(b)))
OP2(d_lesser, vecd, vecd, EITHER(wvec, a < b, a, b))
OP2(d_greater, vecd, vecd, EITHER(wvec, a > b, a, b))
OP3(d_clamp, vecd, vecd, d_lesser(d_greater(a, b), c))
OP2(f_lesser, vecf, vecf, EITHER(vec, a < b, a, b))
OP2(f_greater, vecf, vecf, EITHER(vec, a > b, a, b))
OP3(f_clamp, vecf, vecf, f_lesser(f_greater(a, b), c))
#ifndef __aarch64__
OP2(d_min, vecd, vecd, d_lesser(a, b))
OP2(d_max, vecd, vecd, d_greater(a, b))
OP1(d_sqrt, vecd, vecd, (vecd){__builtin_sqrt(a[0]), __builtin_sqrt(a[1])})
#endif
OP2(v_shift_right, vec, vec, a >> b)
OP1(w_any, bool, wvec, (a[0] | a[1]) != 0)
OP1(v_count, unsigned, vmask, -(a[0] + a[1] + a[2] + a[3]))
OP1(w_count, unsigned, wmask, -(a[0] + a[1]))

#endif
