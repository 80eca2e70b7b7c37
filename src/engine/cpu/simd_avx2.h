/*
 * The operations with AVX2, F16C and FMA: simd.h says what they are to do.
 */
#ifndef GPUREDUCE_CPU_SIMD_AVX2_H
#define GPUREDUCE_CPU_SIMD_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define SIMD_OP static inline __attribute__((always_inline)) SIMD_TARGET

#define V_LANES 8
#define W_LANES 4
#define SIMD_PACKS 0

typedef __m256i vec;
typedef __m256i wvec;
typedef __m256i vmask;
typedef __m256i wmask;
typedef __m256i bmask;
typedef __m256d vecd;
typedef __m256 vecf;

SIMD_OP vec v_load_f32(const void *p)
{
    return _mm256_loadu_si256(p);
}

SIMD_OP vec v_held(vec a)
{
    return a;
}

SIMD_OP vec v_load_f16(const void *p)
{
    return _mm256_castps_si256(_mm256_cvtph_ps(_mm_loadu_si128(p)));
}

SIMD_OP vec v_load_bf16(const void *p)
{
    return _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)), 16);
}

SIMD_OP vec v_set1(uint32_t x)
{
    return _mm256_set1_epi32((int)x);
}

SIMD_OP vec v_add(vec a, vec b)
{
    return _mm256_add_epi32(a, b);
}

SIMD_OP vec v_and(vec a, vec b)
{
    return _mm256_and_si256(a, b);
}

SIMD_OP vec v_gather(const int32_t *p, vec index)
{
    return _mm256_i32gather_epi32(p, index, sizeof *p);
}

SIMD_OP vec v_shift_right(vec a, vec bits)
{
    return _mm256_srlv_epi32(a, bits);
}

SIMD_OP vec v_max_s(vec a, vec b)
{
    return _mm256_max_epi32(a, b);
}

SIMD_OP vec v_max_u(vec a, vec b)
{
    return _mm256_max_epu32(a, b);
}

SIMD_OP vec v_min_u(vec a, vec b)
{
    return _mm256_min_epu32(a, b);
}

SIMD_OP vec v_min_magnitude(vec a, vec b)
{
    return _mm256_min_epu32(a, _mm256_and_si256(b, _mm256_set1_epi32(INT32_MAX)));
}

SIMD_OP vmask v_gt_s(vec a, vec b)
{
    return _mm256_cmpgt_epi32(a, b);
}

SIMD_OP vmask v_eq(vec a, vec b)
{
    return _mm256_cmpeq_epi32(a, b);
}

SIMD_OP vmask v_without(vec a, vec bits)
{
    return _mm256_cmpeq_epi32(_mm256_and_si256(a, bits), _mm256_setzero_si256());
}

SIMD_OP vec v_select(vmask m, vec yes, vec no)
{
    return _mm256_blendv_epi8(no, yes, m);
}

SIMD_OP vec v_tally(vec a, vmask m)
{
    return _mm256_sub_epi32(a, m);
}

SIMD_OP uint32_t v_h_add(vec a)
{
    uint32_t lane[V_LANES], result = 0;

    _mm256_storeu_si256((__m256i *)lane, a);
    for (int i = 0; i < V_LANES; i++)
        result += lane[i];
    return result;
}

SIMD_OP unsigned v_count(vmask m)
{
    return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m)));
}

/* Reductions over the lanes go through memory: they are needed once a block. */
SIMD_OP uint32_t v_h_max_s(vec a)
{
    int32_t lane[V_LANES], result = INT32_MIN;

    _mm256_storeu_si256((__m256i *)lane, a);
    for (int i = 0; i < V_LANES; i++)
        result = lane[i] > result ? lane[i] : result;
    return (uint32_t)result;
}

SIMD_OP uint32_t v_h_max_u(vec a)
{
    uint32_t lane[V_LANES], result = 0;

    _mm256_storeu_si256((__m256i *)lane, a);
    for (int i = 0; i < V_LANES; i++)
        result = lane[i] > result ? lane[i] : result;
    return result;
}

SIMD_OP uint32_t v_h_min_u(vec a)
{
    uint32_t lane[V_LANES], result = UINT32_MAX;

    _mm256_storeu_si256((__m256i *)lane, a);
    for (int i = 0; i < V_LANES; i++)
        result = lane[i] < result ? lane[i] : result;
    return result;
}

SIMD_OP vecd v_low(vec a)
{
    return _mm256_cvtps_pd(_mm_castsi128_ps(_mm256_castsi256_si128(a)));
}

SIMD_OP vecd v_high(vec a)
{
    return _mm256_cvtps_pd(_mm_castsi128_ps(_mm256_extracti128_si256(a, 1)));
}

SIMD_OP wvec w_load(const void *p)
{
    return _mm256_loadu_si256(p);
}

SIMD_OP wvec w_set1(uint64_t x)
{
    return _mm256_set1_epi64x((long long)x);
}

SIMD_OP wvec w_and(wvec a, wvec b)
{
    return _mm256_and_si256(a, b);
}

SIMD_OP wvec w_or(wvec a, wvec b)
{
    return _mm256_or_si256(a, b);
}

SIMD_OP wmask w_gt_s(wvec a, wvec b)
{
    return _mm256_cmpgt_epi64(a, b);
}

SIMD_OP wmask w_eq(wvec a, wvec b)
{
    return _mm256_cmpeq_epi64(a, b);
}

SIMD_OP wvec w_select(wmask m, wvec yes, wvec no)
{
    return _mm256_blendv_epi8(no, yes, m);
}

/* a > b as unsigned numbers: AVX2 compares only signed ones. */
SIMD_OP wmask w_gt_u(wvec a, wvec b)
{
    const wvec sign = w_set1((uint64_t)1 << 63);

    return _mm256_cmpgt_epi64(_mm256_xor_si256(a, sign), _mm256_xor_si256(b, sign));
}

SIMD_OP wvec w_max_s(wvec a, wvec b)
{
    return w_select(w_gt_s(a, b), a, b);
}

SIMD_OP wvec w_max_u(wvec a, wvec b)
{
    return w_select(w_gt_u(a, b), a, b);
}

SIMD_OP wvec w_min_u(wvec a, wvec b)
{
    return w_select(w_gt_u(a, b), b, a);
}

SIMD_OP wvec w_tally(wvec a, wmask m)
{
    return _mm256_sub_epi64(a, m);
}

SIMD_OP wvec w_add(wvec a, wvec b)
{
    return _mm256_add_epi64(a, b);
}

SIMD_OP wvec w_sub(wvec a, wvec b)
{
    return _mm256_sub_epi64(a, b);
}

SIMD_OP uint64_t w_h_add(wvec a)
{
    uint64_t lane[W_LANES];

    _mm256_storeu_si256((__m256i *)lane, a);
    return lane[0] + lane[1] + lane[2] + lane[3];
}

SIMD_OP bool w_any(wvec a)
{
    return !_mm256_testz_si256(a, a);
}

SIMD_OP unsigned w_count(wmask m)
{
    return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(m)));
}

SIMD_OP uint64_t w_h_max_s(wvec a)
{
    int64_t lane[W_LANES], result = INT64_MIN;

    _mm256_storeu_si256((__m256i *)lane, a);
    for (int i = 0; i < W_LANES; i++)
        result = lane[i] > result ? lane[i] : result;
    return (uint64_t)result;
}

SIMD_OP uint64_t w_h_max_u(wvec a)
{
    uint64_t lane[W_LANES], result = 0;

    _mm256_storeu_si256((__m256i *)lane, a);
    for (int i = 0; i < W_LANES; i++)
        result = lane[i] > result ? lane[i] : result;
    return result;
}

SIMD_OP uint64_t w_h_min_u(wvec a)
{
    uint64_t lane[W_LANES], result = UINT64_MAX;

    _mm256_storeu_si256((__m256i *)lane, a);
    for (int i = 0; i < W_LANES; i++)
        result = lane[i] < result ? lane[i] : result;
    return result;
}

SIMD_OP uint64_t w_h_or(wvec a)
{
    uint64_t lane[W_LANES];

    _mm256_storeu_si256((__m256i *)lane, a);
    return lane[0] | lane[1] | lane[2] | lane[3];
}

SIMD_OP vecd w_value(wvec a)
{
    return _mm256_castsi256_pd(a);
}

SIMD_OP wvec d_bits(vecd a)
{
    return _mm256_castpd_si256(a);
}

SIMD_OP void v_store(void *p, vec a)
{
    _mm256_storeu_si256(p, a);
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
    return _mm256_xor_si256(a, b);
}

SIMD_OP wvec w_xor(wvec a, wvec b)
{
    return _mm256_xor_si256(a, b);
}

SIMD_OP vec v_min_s(vec a, vec b)
{
    return _mm256_min_epi32(a, b);
}

SIMD_OP wvec w_min_s(wvec a, wvec b)
{
    return w_select(w_gt_s(a, b), b, a);
}

SIMD_OP wvec w_even(wvec a)
{
    return _mm256_and_si256(a, _mm256_set1_epi64x(0xffffffff));
}

SIMD_OP wvec w_odd(wvec a)
{
    return _mm256_srli_epi64(a, 32);
}

SIMD_OP vec b_min_u(vec a, vec b)
{
    return _mm256_min_epu8(a, b);
}

SIMD_OP vec b_max_u(vec a, vec b)
{
    return _mm256_max_epu8(a, b);
}

SIMD_OP vec b_max_s(vec a, vec b)
{
    return _mm256_max_epi8(a, b);
}

/* There are only signed comparisons. */
SIMD_OP bmask b_below(vec a, vec b)
{
    return _mm256_cmpgt_epi8(_mm256_xor_si256(b, _mm256_set1_epi8(INT8_MIN)),
                             _mm256_xor_si256(a, _mm256_set1_epi8(INT8_MIN)));
}

SIMD_OP bmask b_equal(vec a, vec b)
{
    return _mm256_cmpeq_epi8(a, b);
}

SIMD_OP unsigned b_count(bmask m)
{
    return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_epi8(m));
}

SIMD_OP vec b_keep(bmask m, vec a)
{
    return _mm256_and_si256(m, a);
}

SIMD_OP vec b_max_s_where(bmask m, vec a, vec b)
{
    return _mm256_max_epi8(a, _mm256_blendv_epi8(_mm256_set1_epi8(INT8_MIN), b, m));
}

SIMD_OP vec b_max_u_where(bmask m, vec a, vec b)
{
    return _mm256_max_epu8(a, _mm256_and_si256(m, b));
}

SIMD_OP vec b_min_u_where(bmask m, vec a, vec b)
{
    return _mm256_min_epu8(a, _mm256_or_si256(b, _mm256_cmpeq_epi8(m, _mm256_setzero_si256())));
}

SIMD_OP vec h_min_s(vec a, vec b)
{
    return _mm256_min_epi16(a, b);
}

SIMD_OP vec h_max_s(vec a, vec b)
{
    return _mm256_max_epi16(a, b);
}

SIMD_OP vec h_min_u(vec a, vec b)
{
    return _mm256_min_epu16(a, b);
}

SIMD_OP vec h_max_u(vec a, vec b)
{
    return _mm256_max_epu16(a, b);
}

SIMD_OP vec h_low_bf16(vec a)
{
    return _mm256_slli_epi32(a, 16);
}

SIMD_OP vec h_high_bf16(vec a)
{
    return _mm256_and_si256(a, _mm256_set1_epi32((int)0xffff0000));
}

SIMD_OP wvec b_sum(vec a)
{
    return _mm256_sad_epu8(a, _mm256_setzero_si256());
}

SIMD_OP vec h_add(vec a, vec b)
{
    return _mm256_add_epi16(a, b);
}

SIMD_OP vec h_pairs(vec a)
{
    return _mm256_madd_epi16(a, _mm256_set1_epi16(1));
}

SIMD_OP vec b_low(vec a)
{
    return _mm256_and_si256(a, _mm256_set1_epi8(0x0f));
}

SIMD_OP vec b_high(vec a)
{
    return _mm256_and_si256(_mm256_srli_epi16(a, 4), _mm256_set1_epi8(0x0f));
}

SIMD_OP vec b_table(const void *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(p));
}

SIMD_OP vec b_lookup(vec table, vec a)
{
    return _mm256_shuffle_epi8(table, a);
}

SIMD_OP vec b_multiply(vec a, vec b)
{
    return _mm256_maddubs_epi16(a, b);
}

SIMD_OP vecd d_load_f32(const void *p)
{
#ifdef __clang__
    /* Where the same memory was loaded as a vec, it takes that apart, element by element. */
    __asm__("" : "+r"(p));
#endif
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

SIMD_OP vecd d_load(const double *p)
{
    return _mm256_loadu_pd(p);
}

SIMD_OP void d_store(double *p, vecd a)
{
    _mm256_storeu_pd(p, a);
}

SIMD_OP vecd d_set1(double x)
{
    return _mm256_set1_pd(x);
}

SIMD_OP vecd d_add(vecd a, vecd b)
{
    return _mm256_add_pd(a, b);
}

SIMD_OP vecd d_sub(vecd a, vecd b)
{
    return _mm256_sub_pd(a, b);
}

SIMD_OP vecd d_max(vecd a, vecd b)
{
    return _mm256_max_pd(a, b);
}

SIMD_OP vecd d_fma(vecd a, vecd b, vecd c)
{
    return _mm256_fmadd_pd(a, b, c);
}

SIMD_OP vecd d_min(vecd a, vecd b)
{
    return _mm256_min_pd(a, b);
}

SIMD_OP double d_h_min(vecd a)
{
    double lane[W_LANES], result;

    _mm256_storeu_pd(lane, a);
    result = lane[0];
    for (int i = 1; i < W_LANES; i++)
        result = lane[i] < result ? lane[i] : result;
    return result;
}

SIMD_OP vecd d_abs(vecd a)
{
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
}

SIMD_OP double d_h_max(vecd a)
{
    double lane[W_LANES], result;

    _mm256_storeu_pd(lane, a);
    result = lane[0];
    for (int i = 1; i < W_LANES; i++)
        result = lane[i] > result ? lane[i] : result;
    return result;
}

SIMD_OP double d_h_add(vecd a)
{
    double lane[W_LANES];

    _mm256_storeu_pd(lane, a);
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

SIMD_OP vec v_order(vec a)
{
    return _mm256_xor_si256(
        a, _mm256_and_si256(_mm256_srai_epi32(a, 31), _mm256_set1_epi32(INT32_MAX)));
}

/* There is no such comparison, but its opposite. */
SIMD_OP vmask v_ge_s(vec a, vec b)
{
    return _mm256_xor_si256(_mm256_cmpgt_epi32(b, a), _mm256_set1_epi32(-1));
}

SIMD_OP vmask v_also_ge_s(vmask m, vec a, vec b)
{
    return _mm256_andnot_si256(_mm256_cmpgt_epi32(b, a), m);
}

SIMD_OP bool v_some(vmask m)
{
    return !_mm256_testz_si256(m, m);
}

SIMD_OP unsigned v_pack(void *p, vmask m, vec a)
{
    unsigned bits = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m)), count = 0;
    uint32_t lane[V_LANES], *to = p;

    _mm256_storeu_si256((__m256i *)lane, a);
    for (; bits; bits &= bits - 1)
        to[count++] = lane[__builtin_ctz(bits)];
    return count;
}

SIMD_OP wvec w_order(wvec a)
{
    return _mm256_xor_si256(a, _mm256_and_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), a),
                                                _mm256_set1_epi64x(INT64_MAX)));
}

SIMD_OP wmask w_ge_s(wvec a, wvec b)
{
    return _mm256_xor_si256(_mm256_cmpgt_epi64(b, a), _mm256_set1_epi32(-1));
}

SIMD_OP wmask w_also_ge_s(wmask m, wvec a, wvec b)
{
    return _mm256_andnot_si256(_mm256_cmpgt_epi64(b, a), m);
}

SIMD_OP bool w_some(wmask m)
{
    return !_mm256_testz_si256(m, m);
}

SIMD_OP unsigned w_pack(void *p, wmask m, wvec a)
{
    unsigned bits = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(m)), count = 0;
    uint64_t lane[W_LANES], *to = p;

    _mm256_storeu_si256((__m256i *)lane, a);
    for (; bits; bits &= bits - 1)
        to[count++] = lane[__builtin_ctz(bits)];
    return count;
}

SIMD_OP vecd d_mul(vecd a, vecd b)
{
    return _mm256_mul_pd(a, b);
}

/* Of a NaN and a number, max gives the second. */
SIMD_OP vecd d_clamp(vecd a, vecd low, vecd high)
{
    return _mm256_min_pd(_mm256_max_pd(a, low), high);
}

SIMD_OP vecf f_value(vec a)
{
    return _mm256_castsi256_ps(a);
}

SIMD_OP vec f_bits(vecf a)
{
    return _mm256_castps_si256(a);
}

SIMD_OP vecf f_set1(float x)
{
    return _mm256_set1_ps(x);
}

SIMD_OP vecf f_sub(vecf a, vecf b)
{
    return _mm256_sub_ps(a, b);
}

SIMD_OP vecf f_madd(vecf a, vecf b, vecf c)
{
    return _mm256_fmadd_ps(a, b, c);
}

SIMD_OP vecf f_clamp(vecf a, vecf low, vecf high)
{
    return _mm256_min_ps(_mm256_max_ps(a, low), high);
}

SIMD_OP vecd d_h_add_each(const vecd a[W_LANES])
{
    const vecd low = _mm256_add_pd(_mm256_unpacklo_pd(a[0], a[1]), _mm256_unpackhi_pd(a[0], a[1]));
    const vecd high = _mm256_add_pd(_mm256_unpacklo_pd(a[2], a[3]), _mm256_unpackhi_pd(a[2], a[3]));

    return _mm256_add_pd(_mm256_permute2f128_pd(low, high, 0x20),
                         _mm256_permute2f128_pd(low, high, 0x31));
}

SIMD_OP void d_transpose(vecd a[W_LANES])
{
    vecd even0 = _mm256_unpacklo_pd(a[0], a[1]), odd0 = _mm256_unpackhi_pd(a[0], a[1]);
    vecd even1 = _mm256_unpacklo_pd(a[2], a[3]), odd1 = _mm256_unpackhi_pd(a[2], a[3]);

    a[0] = _mm256_permute2f128_pd(even0, even1, 0x20);
    a[1] = _mm256_permute2f128_pd(odd0, odd1, 0x20);
    a[2] = _mm256_permute2f128_pd(even0, even1, 0x31);
    a[3] = _mm256_permute2f128_pd(odd0, odd1, 0x31);
}

#endif
