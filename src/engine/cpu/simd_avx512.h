/*
 * The operations with AVX-512, for the kernels_NAME.c that use it: simd.h says what they are to do.
 * A set may have more of its instructions, which SIMD_TARGET then names.
 */
#ifndef GPUREDUCE_CPU_SIMD_AVX512_H
#define GPUREDUCE_CPU_SIMD_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define SIMD_OP static inline __attribute__((always_inline)) SIMD_TARGET

#define V_LANES 16
#define W_LANES 8
#define SIMD_PACKS 1

typedef __m512i vec;
typedef __m512i wvec;
typedef __mmask16 vmask;
typedef __mmask8 wmask;
typedef __mmask64 bmask;
typedef __m512d vecd;
typedef __m512 vecf;

SIMD_OP vec v_load_f32(const void *p)
{
    return _mm512_loadu_si512(p);
}

/* gcc loads from memory for each use otherwise. */
SIMD_OP vec v_held(vec a)
{
    __asm__("" : "+v"(a));
    return a;
}

SIMD_OP vec v_load_f16(const void *p)
{
    return _mm512_castps_si512(_mm512_cvtph_ps(_mm256_loadu_si256(p)));
}

SIMD_OP vec v_load_bf16(const void *p)
{
    return _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)), 16);
}

SIMD_OP vec v_set1(uint32_t x)
{
    return _mm512_set1_epi32((int)x);
}

SIMD_OP vec v_add(vec a, vec b)
{
    return _mm512_add_epi32(a, b);
}

SIMD_OP vec v_and(vec a, vec b)
{
    return _mm512_and_si512(a, b);
}

SIMD_OP vec v_gather(const int32_t *p, vec index)
{
    return _mm512_i32gather_epi32(index, p, sizeof *p);
}

SIMD_OP vec v_shift_right(vec a, vec bits)
{
    return _mm512_srlv_epi32(a, bits);
}

SIMD_OP vec v_max_s(vec a, vec b)
{
    return _mm512_max_epi32(a, b);
}

SIMD_OP vec v_max_u(vec a, vec b)
{
    return _mm512_max_epu32(a, b);
}

SIMD_OP vec v_min_u(vec a, vec b)
{
    return _mm512_min_epu32(a, b);
}

/* The lesser magnitude, without its sign. */
#define RANGE_MIN_MAGNITUDE 0x0a

SIMD_OP vec v_min_magnitude(vec a, vec b)
{
    return _mm512_castps_si512(
        _mm512_range_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), RANGE_MIN_MAGNITUDE));
}

SIMD_OP vmask v_gt_s(vec a, vec b)
{
    return _mm512_cmpgt_epi32_mask(a, b);
}

SIMD_OP vmask v_eq(vec a, vec b)
{
    return _mm512_cmpeq_epi32_mask(a, b);
}

SIMD_OP vmask v_without(vec a, vec bits)
{
    return _mm512_testn_epi32_mask(a, bits);
}

SIMD_OP vec v_select(vmask m, vec yes, vec no)
{
    return _mm512_mask_blend_epi32(m, no, yes);
}

SIMD_OP unsigned v_count(vmask m)
{
    return (unsigned)__builtin_popcount(m);
}

SIMD_OP vec v_tally(vec a, vmask m)
{
    return _mm512_mask_add_epi32(a, m, a, _mm512_set1_epi32(1));
}

SIMD_OP uint32_t v_h_add(vec a)
{
    return (uint32_t)_mm512_reduce_add_epi32(a);
}

SIMD_OP uint32_t v_h_max_s(vec a)
{
    return (uint32_t)_mm512_reduce_max_epi32(a);
}

SIMD_OP uint32_t v_h_max_u(vec a)
{
    return _mm512_reduce_max_epu32(a);
}

SIMD_OP uint32_t v_h_min_u(vec a)
{
    return _mm512_reduce_min_epu32(a);
}

SIMD_OP vecd v_low(vec a)
{
    return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_castsi512_si256(a)));
}

SIMD_OP vecd v_high(vec a)
{
    return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_extracti64x4_epi64(a, 1)));
}

SIMD_OP wvec w_load(const void *p)
{
    return _mm512_loadu_si512(p);
}

SIMD_OP wvec w_set1(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}

SIMD_OP wvec w_and(wvec a, wvec b)
{
    return _mm512_and_si512(a, b);
}

SIMD_OP wvec w_or(wvec a, wvec b)
{
    return _mm512_or_si512(a, b);
}

SIMD_OP wvec w_max_s(wvec a, wvec b)
{
    return _mm512_max_epi64(a, b);
}

SIMD_OP wvec w_max_u(wvec a, wvec b)
{
    return _mm512_max_epu64(a, b);
}

SIMD_OP wvec w_min_u(wvec a, wvec b)
{
    return _mm512_min_epu64(a, b);
}

SIMD_OP wmask w_gt_s(wvec a, wvec b)
{
    return _mm512_cmpgt_epi64_mask(a, b);
}

SIMD_OP wmask w_eq(wvec a, wvec b)
{
    return _mm512_cmpeq_epi64_mask(a, b);
}

SIMD_OP wvec w_select(wmask m, wvec yes, wvec no)
{
    return _mm512_mask_blend_epi64(m, no, yes);
}

SIMD_OP unsigned w_count(wmask m)
{
    return (unsigned)__builtin_popcount(m);
}

SIMD_OP wvec w_tally(wvec a, wmask m)
{
    return _mm512_mask_add_epi64(a, m, a, _mm512_set1_epi64(1));
}

SIMD_OP wvec w_add(wvec a, wvec b)
{
    return _mm512_add_epi64(a, b);
}

SIMD_OP wvec w_sub(wvec a, wvec b)
{
    return _mm512_sub_epi64(a, b);
}

SIMD_OP uint64_t w_h_add(wvec a)
{
    /* _mm512_reduce_add_epi64 adds signed integers. */
    const __m256i four =
        _mm256_add_epi64(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));

    return (uint64_t)_mm_cvtsi128_si64(two) + (uint64_t)_mm_extract_epi64(two, 1);
}

SIMD_OP bool w_any(wvec a)
{
    return _mm512_test_epi64_mask(a, a) != 0;
}

SIMD_OP uint64_t w_h_max_s(wvec a)
{
    return (uint64_t)_mm512_reduce_max_epi64(a);
}

SIMD_OP uint64_t w_h_max_u(wvec a)
{
    return _mm512_reduce_max_epu64(a);
}

SIMD_OP uint64_t w_h_min_u(wvec a)
{
    return _mm512_reduce_min_epu64(a);
}

SIMD_OP uint64_t w_h_or(wvec a)
{
    return (uint64_t)_mm512_reduce_or_epi64(a);
}

SIMD_OP vecd w_value(wvec a)
{
    return _mm512_castsi512_pd(a);
}

SIMD_OP wvec d_bits(vecd a)
{
    return _mm512_castpd_si512(a);
}

SIMD_OP void v_store(void *p, vec a)
{
    _mm512_storeu_si512(p, a);
}

SIMD_OP wvec v_wide(vec a)
{
    return a;
}

SIMD_OP vec w_narrow(wvec a)
{
    return a;
}

SIMD_OP vec v_xor(vec a, vec b)
{
    return _mm512_xor_si512(a, b);
}

SIMD_OP wvec w_xor(wvec a, wvec b)
{
    return _mm512_xor_si512(a, b);
}

SIMD_OP vec v_min_s(vec a, vec b)
{
    return _mm512_min_epi32(a, b);
}

SIMD_OP wvec w_min_s(wvec a, wvec b)
{
    return _mm512_min_epi64(a, b);
}

SIMD_OP wvec w_even(wvec a)
{
    return _mm512_and_si512(a, _mm512_set1_epi64(0xffffffff));
}

SIMD_OP wvec w_odd(wvec a)
{
    return _mm512_srli_epi64(a, 32);
}

SIMD_OP vec b_min_u(vec a, vec b)
{
    return _mm512_min_epu8(a, b);
}

SIMD_OP vec b_max_u(vec a, vec b)
{
    return _mm512_max_epu8(a, b);
}

SIMD_OP vec b_max_s(vec a, vec b)
{
    return _mm512_max_epi8(a, b);
}

SIMD_OP bmask b_below(vec a, vec b)
{
    return _mm512_cmplt_epu8_mask(a, b);
}

SIMD_OP bmask b_equal(vec a, vec b)
{
    return _mm512_cmpeq_epi8_mask(a, b);
}

SIMD_OP unsigned b_count(bmask m)
{
    return (unsigned)__builtin_popcountll(m);
}

SIMD_OP vec b_keep(bmask m, vec a)
{
    return _mm512_maskz_mov_epi8(m, a);
}

SIMD_OP vec b_max_s_where(bmask m, vec a, vec b)
{
    return _mm512_mask_max_epi8(a, m, a, b);
}

SIMD_OP vec b_max_u_where(bmask m, vec a, vec b)
{
    return _mm512_mask_max_epu8(a, m, a, b);
}

SIMD_OP vec b_min_u_where(bmask m, vec a, vec b)
{
    return _mm512_mask_min_epu8(a, m, a, b);
}

SIMD_OP vec h_min_s(vec a, vec b)
{
    return _mm512_min_epi16(a, b);
}

SIMD_OP vec h_max_s(vec a, vec b)
{
    return _mm512_max_epi16(a, b);
}

SIMD_OP vec h_min_u(vec a, vec b)
{
    return _mm512_min_epu16(a, b);
}

SIMD_OP vec h_max_u(vec a, vec b)
{
    return _mm512_max_epu16(a, b);
}

SIMD_OP vec h_low_bf16(vec a)
{
    return _mm512_slli_epi32(a, 16);
}

SIMD_OP vec h_high_bf16(vec a)
{
    return _mm512_and_si512(a, _mm512_set1_epi32((int)0xffff0000));
}

SIMD_OP wvec b_sum(vec a)
{
    return _mm512_sad_epu8(a, _mm512_setzero_si512());
}

SIMD_OP vec h_add(vec a, vec b)
{
    return _mm512_add_epi16(a, b);
}

SIMD_OP vec h_pairs(vec a)
{
    return _mm512_madd_epi16(a, _mm512_set1_epi16(1));
}

SIMD_OP vec b_low(vec a)
{
    return _mm512_and_si512(a, _mm512_set1_epi8(0x0f));
}

SIMD_OP vec b_high(vec a)
{
    return _mm512_and_si512(_mm512_srli_epi16(a, 4), _mm512_set1_epi8(0x0f));
}

SIMD_OP vec b_table(const void *p)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128(p));
}

SIMD_OP vec b_lookup(vec table, vec a)
{
    return _mm512_shuffle_epi8(table, a);
}

SIMD_OP vec b_multiply(vec a, vec b)
{
    return _mm512_maddubs_epi16(a, b);
}

#if SIMD_IFMA
SIMD_OP wvec w_madd_low(wvec sum, wvec a, wvec b)
{
    return _mm512_madd52lo_epu64(sum, a, b);
}

SIMD_OP wvec w_madd_high(wvec sum, wvec a, wvec b)
{
    return _mm512_madd52hi_epu64(sum, a, b);
}
#endif

#if SIMD_LOOKUP > 1
SIMD_OP vec b_lookup64(vec table, vec a)
{
    return _mm512_permutexvar_epi8(a, table);
}

SIMD_OP vec b_lookup128(vec lower, vec upper, vec a)
{
    return _mm512_permutex2var_epi8(lower, a, upper);
}

SIMD_OP vec b_upper6(vec a)
{
    return _mm512_srli_epi16(a, 2);
}

SIMD_OP vec b_dot(vec sum, vec a, vec b)
{
    return _mm512_dpbusd_epi32(sum, a, b);
}
#endif

SIMD_OP vecd d_load_f32(const void *p)
{
#ifdef __clang__
    /* Where the same memory was loaded as a vec, it takes that apart, element by element. */
    __asm__("" : "+r"(p));
#endif
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
}

SIMD_OP vecd d_load(const double *p)
{
    return _mm512_loadu_pd(p);
}

SIMD_OP void d_store(double *p, vecd a)
{
    _mm512_storeu_pd(p, a);
}

SIMD_OP vecd d_set1(double x)
{
    return _mm512_set1_pd(x);
}

SIMD_OP vecd d_add(vecd a, vecd b)
{
    return _mm512_add_pd(a, b);
}

SIMD_OP vecd d_sub(vecd a, vecd b)
{
    return _mm512_sub_pd(a, b);
}

SIMD_OP vecd d_fma(vecd a, vecd b, vecd c)
{
    return _mm512_fmadd_pd(a, b, c);
}

SIMD_OP vecd d_min(vecd a, vecd b)
{
    return _mm512_min_pd(a, b);
}

SIMD_OP double d_h_min(vecd a)
{
    return _mm512_reduce_min_pd(a);
}

SIMD_OP vecd d_max(vecd a, vecd b)
{
    return _mm512_max_pd(a, b);
}

SIMD_OP vecd d_abs(vecd a)
{
    return _mm512_abs_pd(a);
}

SIMD_OP double d_h_max(vecd a)
{
    return _mm512_reduce_max_pd(a);
}

SIMD_OP double d_h_add(vecd a)
{
    return _mm512_reduce_add_pd(a);
}

/* Its truth table for a, b and c from the lowest bit on: a ^ (b & c). */
#define XOR_AND 0x78

SIMD_OP vec v_order(vec a)
{
    return _mm512_ternarylogic_epi32(a, _mm512_srai_epi32(a, 31), _mm512_set1_epi32(INT32_MAX),
                                     XOR_AND);
}

SIMD_OP vmask v_ge_s(vec a, vec b)
{
    return _mm512_cmpge_epi32_mask(a, b);
}

SIMD_OP vmask v_also_ge_s(vmask m, vec a, vec b)
{
    return _mm512_mask_cmpge_epi32_mask(m, a, b);
}

SIMD_OP bool v_some(vmask m)
{
    return m != 0;
}

/* Through a register: storing packed lanes is slow on some processors. */
SIMD_OP unsigned v_pack(void *p, vmask m, vec a)
{
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi32(m, a));
    return (unsigned)__builtin_popcount(m);
}

SIMD_OP wvec w_order(wvec a)
{
    return _mm512_ternarylogic_epi64(a, _mm512_srai_epi64(a, 63), _mm512_set1_epi64(INT64_MAX),
                                     XOR_AND);
}

SIMD_OP wmask w_ge_s(wvec a, wvec b)
{
    return _mm512_cmpge_epi64_mask(a, b);
}

SIMD_OP wmask w_also_ge_s(wmask m, wvec a, wvec b)
{
    return _mm512_mask_cmpge_epi64_mask(m, a, b);
}

SIMD_OP bool w_some(wmask m)
{
    return m != 0;
}

SIMD_OP unsigned w_pack(void *p, wmask m, wvec a)
{
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi64(m, a));
    return (unsigned)__builtin_popcount(m);
}

SIMD_OP vecd d_mul(vecd a, vecd b)
{
    return _mm512_mul_pd(a, b);
}

/* Of a NaN and a number, max gives the second. */
SIMD_OP vecd d_clamp(vecd a, vecd low, vecd high)
{
    return _mm512_min_pd(_mm512_max_pd(a, low), high);
}

SIMD_OP vecf f_value(vec a)
{
    return _mm512_castsi512_ps(a);
}

SIMD_OP vec f_bits(vecf a)
{
    return _mm512_castps_si512(a);
}

SIMD_OP vecf f_set1(float x)
{
    return _mm512_set1_ps(x);
}

SIMD_OP vecf f_sub(vecf a, vecf b)
{
    return _mm512_sub_ps(a, b);
}

SIMD_OP vecf f_madd(vecf a, vecf b, vecf c)
{
    return _mm512_fmadd_ps(a, b, c);
}

SIMD_OP vecf f_clamp(vecf a, vecf low, vecf high)
{
    return _mm512_min_ps(_mm512_max_ps(a, low), high);
}

SIMD_OP vecd d_h_add_each(const vecd a[W_LANES])
{
    vecd pair[W_LANES / 2], quad[W_LANES / 4];

    /* First neighbours; then quarters of two lanes: those at even places, and at odd ones. */
#pragma GCC unroll 8
    for (int i = 0; i < W_LANES / 2; i++)
        pair[i] = _mm512_add_pd(_mm512_unpacklo_pd(a[2 * i], a[2 * i + 1]),
                                _mm512_unpackhi_pd(a[2 * i], a[2 * i + 1]));
#pragma GCC unroll 8
    for (int i = 0; i < W_LANES / 4; i++)
        quad[i] = _mm512_add_pd(_mm512_shuffle_f64x2(pair[2 * i], pair[2 * i + 1], 0x88),
                                _mm512_shuffle_f64x2(pair[2 * i], pair[2 * i + 1], 0xdd));
    return _mm512_add_pd(_mm512_shuffle_f64x2(quad[0], quad[1], 0x88),
                         _mm512_shuffle_f64x2(quad[0], quad[1], 0xdd));
}

SIMD_OP void d_transpose(vecd a[W_LANES])
{
    vecd pair[W_LANES], quad[W_LANES];

#pragma GCC unroll 8
    for (int i = 0; i < W_LANES; i += 2) {
        pair[i] = _mm512_unpacklo_pd(a[i], a[i + 1]);
        pair[i + 1] = _mm512_unpackhi_pd(a[i], a[i + 1]);
    }
    /* Quarters of two lanes: those at even places, and at odd ones. */
#pragma GCC unroll 8
    for (int i = 0; i < W_LANES; i += 4) {
#pragma GCC unroll 8
        for (int j = 0; j < 2; j++) {
            quad[i + j] = _mm512_shuffle_f64x2(pair[i + j], pair[i + j + 2], 0x88);
            quad[i + j + 2] = _mm512_shuffle_f64x2(pair[i + j], pair[i + j + 2], 0xdd);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < 4; j++) {
        a[j] = _mm512_shuffle_f64x2(quad[j], quad[j + 4], 0x88);
        a[j + 4] = _mm512_shuffle_f64x2(quad[j], quad[j + 4], 0xdd);
    }
}

#endif
