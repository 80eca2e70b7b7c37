/*
 * The operations of simd.h whose masks are registers of bits, and others that only AVX-512 has. A
 * part of simd_vector.h, for vectors of 64 bytes.
 */
#ifndef GPUREDUCE_CPU_SIMD_AVX512_H
#define GPUREDUCE_CPU_SIMD_AVX512_H

#define SIMD_PACKS 1

typedef __mmask16 vmask;
typedef __mmask8 wmask;
typedef __mmask32 hmask;
typedef __mmask64 bmask;

#define COMPARE(name, mask, from, intrinsic) \
    OP2(name, mask, from, _mm512_##intrinsic((__m512i)a, (__m512i)b))

COMPARE(v_gt_s, vmask, vec, cmpgt_epi32_mask)
COMPARE(v_ge_s, vmask, vec, cmpge_epi32_mask)
COMPARE(v_eq, vmask, vec, cmpeq_epi32_mask)
COMPARE(v_without, vmask, vec, testn_epi32_mask)
COMPARE(w_gt_s, wmask, wvec, cmpgt_epi64_mask)
COMPARE(w_ge_s, wmask, wvec, cmpge_epi64_mask)
COMPARE(w_eq, wmask, wvec, cmpeq_epi64_mask)
COMPARE(h_gt_s, hmask, vec, cmpgt_epi16_mask)
COMPARE(h_eq, hmask, vec, cmpeq_epi16_mask)
COMPARE(b_gt_s, bmask, vec, cmpgt_epi8_mask)
COMPARE(b_below, bmask, vec, cmplt_epu8_mask)
COMPARE(b_eq, bmask, vec, cmpeq_epi8_mask)

OP1(v_some, bool, vmask, a != 0)
OP1(w_some, bool, wmask, a != 0)
OP1(v_all, bool, vmask, a == UINT16_MAX)
OP1(w_all, bool, wmask, a == UINT8_MAX)
OP1(h_all, bool, hmask, a == UINT32_MAX)
OP1(b_all, bool, bmask, a == UINT64_MAX)
OP1(v_lanes, vec, vmask, _mm512_movm_epi32(a))
OP1(w_lanes, wvec, wmask, _mm512_movm_epi64(a))
OP1(h_lanes, vec, hmask, _mm512_movm_epi16(a))
OP1(b_lanes, vec, bmask, _mm512_movm_epi8(a))
OP1(w_any, bool, wvec, _mm512_test_epi64_mask((__m512i)a, (__m512i)a) != 0)
OP1(v_count, unsigned, vmask, __builtin_popcount(a))
OP1(w_count, unsigned, wmask, __builtin_popcount(a))
OP1(b_count, unsigned, bmask, __builtin_popcountll(a))

/* Operations on two vectors, with a mask before them: MASKED(name, type, mask, ...). */
#define MASKED(name, type, mask, ...)                        \
    SIMD_OP type name(mask m, type left, type right)         \
    {                                                        \
        const __m512i a = (__m512i)left, b = (__m512i)right; \
                                                             \
        return (type)(__VA_ARGS__);                          \
    }
MASKED(v_select, vec, vmask, _mm512_mask_blend_epi32(m, b, a))
MASKED(w_select, wvec, wmask, _mm512_mask_blend_epi64(m, b, a))
MASKED(b_max_s_where, vec, bmask, _mm512_mask_max_epi8(a, m, a, b))
MASKED(b_max_u_where, vec, bmask, _mm512_mask_max_epu8(a, m, a, b))
MASKED(b_min_u_where, vec, bmask, _mm512_mask_min_epu8(a, m, a, b))

SIMD_OP vec b_keep(bmask m, vec a)
{
    return (vec)_mm512_maskz_mov_epi8(m, (__m512i)a);
}

SIMD_OP vmask v_also_ge_s(vmask m, vec a, vec b)
{
    return _mm512_mask_cmpge_epi32_mask(m, (__m512i)a, (__m512i)b);
}

SIMD_OP wmask w_also_ge_s(wmask m, wvec a, wvec b)
{
    return _mm512_mask_cmpge_epi64_mask(m, (__m512i)a, (__m512i)b);
}

SIMD_OP vec v_tally(vec a, vmask m)
{
    return (vec)_mm512_mask_add_epi32((__m512i)a, m, (__m512i)a, _mm512_set1_epi32(1));
}

SIMD_OP wvec w_tally(wvec a, wmask m)
{
    return (wvec)_mm512_mask_add_epi64((__m512i)a, m, (__m512i)a, _mm512_set1_epi64(1));
}

/* Through a register: storing packed lanes is slow on some processors. */
SIMD_OP unsigned v_pack(void *p, vmask m, vec a)
{
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi32(m, (__m512i)a));
    return (unsigned)__builtin_popcount(m);
}

SIMD_OP unsigned w_pack(void *p, wmask m, wvec a)
{
    _mm512_storeu_si512(p, _mm512_maskz_compress_epi64(m, (__m512i)a));
    return (unsigned)__builtin_popcount(m);
}

/* AVX-512 without VBMI2 packs lanes of 32 and of 64 bits. */
SIMD_OP unsigned b_pack16(unsigned char *p, vmask m, __m128i a)
{
    const __m512i packed = _mm512_maskz_compress_epi32(m, _mm512_cvtepu8_epi32(a));

    _mm_storeu_si128((void *)p, _mm512_cvtepi32_epi8(packed));
    return (unsigned)__builtin_popcount(m);
}

SIMD_OP unsigned h_pack16(unsigned char *p, vmask m, __m256i a)
{
    const __m512i packed = _mm512_maskz_compress_epi32(m, _mm512_cvtepu16_epi32(a));

    _mm256_storeu_si256((void *)p, _mm512_cvtepi32_epi16(packed));
    return (unsigned)__builtin_popcount(m);
}

SIMD_OP unsigned b_pack(void *p, bmask m, vec a)
{
    unsigned char *to = p;

    to += b_pack16(to, (vmask)m, _mm512_castsi512_si128((__m512i)a));
    to += b_pack16(to, (vmask)(m >> 16), _mm512_extracti32x4_epi32((__m512i)a, 1));
    to += b_pack16(to, (vmask)(m >> 32), _mm512_extracti32x4_epi32((__m512i)a, 2));
    to += b_pack16(to, (vmask)(m >> 48), _mm512_extracti32x4_epi32((__m512i)a, 3));
    return (unsigned)(to - (unsigned char *)p);
}

SIMD_OP unsigned h_pack(void *p, hmask m, vec a)
{
    const unsigned count = h_pack16(p, (vmask)m, _mm512_castsi512_si256((__m512i)a));

    return count + h_pack16((unsigned char *)p + 2 * count, (vmask)(m >> 16),
                            _mm512_extracti64x4_epi64((__m512i)a, 1));
}

/* With IFMA, of which functions have to make sure: the lower and the upper 52 bits of the products of
   the lower 52 bits of each lane, added to it. */
#define IFMA_TARGET \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512ifma,f16c,popcnt")))

static inline __attribute__((always_inline)) IFMA_TARGET wvec w_add_low52(wvec sum, wvec a, wvec b)
{
    return (wvec)_mm512_madd52lo_epu64((__m512i)sum, (__m512i)a, (__m512i)b);
}

static inline __attribute__((always_inline)) IFMA_TARGET wvec w_add_high52(wvec sum, wvec a, wvec b)
{
    return (wvec)_mm512_madd52hi_epu64((__m512i)sum, (__m512i)a, (__m512i)b);
}

/* gcc loads from memory for each use otherwise. */
SIMD_OP vec v_held(vec a)
{
    __asm__("" : "+v"(a));
    return a;
}

/* The lesser or the greater magnitude, without its sign. */
#define RANGE_MIN_MAGNITUDE 0x0a
#define RANGE_MAX_MAGNITUDE 0x0b
OP2(d_min_magnitude, vecd, vecd, _mm512_range_pd((__m512d)a, (__m512d)b, RANGE_MIN_MAGNITUDE))
OP2(d_max_magnitude, vecd, vecd, _mm512_range_pd((__m512d)a, (__m512d)b, RANGE_MAX_MAGNITUDE))
OP2(v_min_magnitude, vec, vec, _mm512_range_ps((__m512)a, (__m512)b, RANGE_MIN_MAGNITUDE))

MM2(w_max_s, wvec, mm_integers, max_epi64)
MM2(w_min_s, wvec, mm_integers, min_epi64)
MM2(w_max_u, wvec, mm_integers, max_epu64)
MM2(w_min_u, wvec, mm_integers, min_epu64)

/* Its truth table for a, b and c from the lowest bit on: a ^ (b & c). */
#define XOR_AND 0x78
OP1(v_order, vec, vec,
    _mm512_ternarylogic_epi32((__m512i)a, _mm512_srai_epi32((__m512i)a, 31),
                              _mm512_set1_epi32(INT32_MAX), XOR_AND))
OP1(w_order, wvec, wvec,
    _mm512_ternarylogic_epi64((__m512i)a, _mm512_srai_epi64((__m512i)a, 63),
                              _mm512_set1_epi64(INT64_MAX), XOR_AND))

OP1(v_load_f16, vec, const void *, _mm512_cvtph_ps(_mm256_loadu_si256(a)))
OP1(v_load_bf16, vec, const void *,
    _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(a)), 16))
OP1(v_low, vecd, vec, _mm512_cvtps_pd((__m256)_mm512_castsi512_si256((__m512i)a)))
OP1(v_high, vecd, vec, _mm512_cvtps_pd((__m256)_mm512_extracti64x4_epi64((__m512i)a, 1)))
OP1(b_table, vec, const void *, _mm512_broadcast_i32x4(_mm_loadu_si128(a)))

#endif
