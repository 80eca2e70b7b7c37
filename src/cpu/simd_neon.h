/*
 * Operations of simd.h that need intrinsics on aarch64. A part of simd_vector.h.
 */
#ifndef GPUREDUCE_CPU_SIMD_NEON_H
#define GPUREDUCE_CPU_SIMD_NEON_H

#include <arm_neon.h>

#define NEON2(name, kind, intrinsic) OP2(name, vec, vec, intrinsic((kind)a, (kind)b))

NEON2(v_max_s, int32x4_t, vmaxq_s32)
NEON2(v_max_u, uint32x4_t, vmaxq_u32)
NEON2(v_min_s, int32x4_t, vminq_s32)
NEON2(v_min_u, uint32x4_t, vminq_u32)
NEON2(h_max_s, int16x8_t, vmaxq_s16)
NEON2(h_max_u, uint16x8_t, vmaxq_u16)
NEON2(h_min_s, int16x8_t, vminq_s16)
NEON2(h_min_u, uint16x8_t, vminq_u16)
NEON2(b_max_s, int8x16_t, vmaxq_s8)
NEON2(b_max_u, uint8x16_t, vmaxq_u8)
NEON2(b_min_u, uint8x16_t, vminq_u8)
NEON2(b_lookup, uint8x16_t, vqtbl1q_u8)
OP2(d_min, vecd, vecd, vminq_f64((float64x2_t)a, (float64x2_t)b))
OP2(d_max, vecd, vecd, vmaxq_f64((float64x2_t)a, (float64x2_t)b))
OP1(d_sqrt, vecd, vecd, vsqrtq_f64((float64x2_t)a))
OP1(b_sum, wvec, vec, vpaddlq_u32(vpaddlq_u16(vpaddlq_u8((uint8x16_t)a))))
OP2(w_multiply, wvec, wvec, vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b)))
OP1(h_pairs, vec, vec, vpaddlq_s16((int16x8_t)a))
OP1(b_count, unsigned, bmask, vaddvq_u8((uint8x16_t)(a & 0x01010101)))
OP1(b_table, vec, const void *, vld1q_u8(a))
OP1(v_load_f16, vec, const void *, vcvt_f32_f16((float16x4_t)vld1_u16(a)))
OP1(v_low, vecd, vec, vcvt_f64_f32(vget_low_f32((float32x4_t)a)))
OP1(v_high, vecd, vec, vcvt_high_f64_f32((float32x4_t)a))
OP1(d_load_f32, vecd, const void *, vcvt_f64_f32(vld1_f32(a)))

/* The numbers of b_table are below 128, so that both are signed. */
OP2(b_multiply, vec, vec,
    vpaddq_s16(vmull_s8(vget_low_s8((int8x16_t)a), vget_low_s8((int8x16_t)b)),
               vmull_high_s8((int8x16_t)a, (int8x16_t)b)))

#endif
