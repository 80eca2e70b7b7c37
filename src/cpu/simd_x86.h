/*
 * Operations of simd.h that need intrinsics on x86-64: of vectors of 16 bytes with SSE2 (SIMD_X86
 * is 2) or with SSE4.2 (4), of 32 with AVX2, F16C and FMA (5), and of 64 (6) together with
 * simd_avx512.h. A part of simd_vector.h.
 */
#ifndef GPUREDUCE_CPU_SIMD_X86_H
#define GPUREDUCE_CPU_SIMD_X86_H

#include <immintrin.h>

/* MM(name) is the intrinsic of the width. */
#if V_BYTES == 16
#    define MM(name) _mm_##name
typedef __m128i mm_integers;
typedef __m128 mm_floats;
typedef __m128d mm_doubles;
#elif V_BYTES == 32
#    define MM(name) _mm256_##name
typedef __m256i mm_integers;
typedef __m256 mm_floats;
typedef __m256d mm_doubles;
#else
#    define MM(name) _mm512_##name
typedef __m512i mm_integers;
typedef __m512 mm_floats;
typedef __m512d mm_doubles;
#endif

#define MM2(name, type, operand, intrinsic) \
    OP2(name, type, type, MM(intrinsic)((operand)a, (operand)b))

MM2(h_max_s, vec, mm_integers, max_epi16)
MM2(h_min_s, vec, mm_integers, min_epi16)
MM2(b_max_u, vec, mm_integers, max_epu8)
MM2(b_min_u, vec, mm_integers, min_epu8)
OP1(b_sum, wvec, vec, MM(sad_epu8)((mm_integers)a, (mm_integers){0}))
MM2(w_multiply, wvec, mm_integers, mul_epu32)
OP1(h_pairs, vec, vec, MM(madd_epi16)((mm_integers)a, MM(set1_epi16)(1)))

/* If one operand is a NaN, they return the second. */
MM2(d_min, vecd, mm_doubles, min_pd)
MM2(d_max, vecd, mm_doubles, max_pd)
OP1(d_sqrt, vecd, vecd, MM(sqrt_pd)((mm_doubles)a))
OP3(d_clamp, vecd, vecd, d_min(d_max(a, b), c))
OP3(f_clamp, vecf, vecf, MM(min_ps)(MM(max_ps)((mm_floats)a, (mm_floats)b), (mm_floats)c))

#if SIMD_X86 > 2
MM2(v_max_s, vec, mm_integers, max_epi32)
MM2(v_max_u, vec, mm_integers, max_epu32)
MM2(v_min_s, vec, mm_integers, min_epi32)
MM2(v_min_u, vec, mm_integers, min_epu32)
MM2(h_max_u, vec, mm_integers, max_epu16)
MM2(h_min_u, vec, mm_integers, min_epu16)
MM2(b_max_s, vec, mm_integers, max_epi8)
MM2(b_lookup, vec, mm_integers, shuffle_epi8)
MM2(b_multiply, vec, mm_integers, maddubs_epi16)
#else
/* SSE2 compares no lanes of 64 bits. Upper halves decide; where these are equal, b - a borrows from
   them. */
SIMD_OP wmask w_gt_s(wvec a, wvec b)
{
    const wvec borrowed = (wvec)((vec)a == (vec)b) & (b - a);
    const wvec decided = borrowed | (wvec)((vec_s)a > (vec_s)b);

    return (wmask)_mm_shuffle_epi32(_mm_srai_epi32((__m128i)decided, 31), 0xf5);
}

/* In registers of 64 bits, which takes less. */
#    define LANE(type, a, b, i, compare) ((type)a[i] compare(type) b[i] ? a[i] : b[i])
#    define LANES(type, a, b, compare)                                 \
        (wvec)                                                         \
        {                                                              \
            LANE(type, a, b, 0, compare), LANE(type, a, b, 1, compare) \
        }
OP2(w_max_s, wvec, wvec, LANES(int64_t, a, b, >))
OP2(w_max_u, wvec, wvec, LANES(uint64_t, a, b, >))
OP2(w_min_s, wvec, wvec, LANES(int64_t, a, b, <))
OP2(w_min_u, wvec, wvec, LANES(uint64_t, a, b, <))
OP2(h_max_u, vec, vec, (vec_halves)_mm_subs_epu16((__m128i)a, (__m128i)b) + (vec_halves)b)
OP2(h_min_u, vec, vec, (vec_halves)a - (vec_halves)_mm_subs_epu16((__m128i)a, (__m128i)b))
#endif

#if SIMD_X86 > 4
OP3(d_fma, vecd, vecd, MM(fmadd_pd)((mm_doubles)a, (mm_doubles)b, (mm_doubles)c))
OP3(f_madd, vecf, vecf, MM(fmadd_ps)((mm_floats)a, (mm_floats)b, (mm_floats)c))
OP2(v_shift_right, vec, vec, a >> b)

SIMD_OP vec v_gather(const int32_t *p, vec index)
{
#    if V_BYTES == 32
    return (vec)_mm256_i32gather_epi32(p, (__m256i)index, sizeof *p);
#    else
    return (vec)_mm512_i32gather_epi32((__m512i)index, p, sizeof *p);
#    endif
}

SIMD_OP vecd d_load_f32(const void *p)
{
#    ifdef __clang__
    /* clang takes a vec that was loaded from the same memory apart, element by element. */
    __asm__("" : "+r"(p));
#    endif
#    if V_BYTES == 32
    return (vecd)_mm256_cvtps_pd(_mm_loadu_ps(p));
#    else
    return (vecd)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#    endif
}
#endif

#if V_BYTES == 16
OP1(v_low, vecd, vec, _mm_cvtps_pd((__m128)a))
OP1(v_high, vecd, vec, _mm_cvtps_pd(_mm_movehl_ps((__m128)a, (__m128)a)))
OP1(b_table, vec, const void *, _mm_loadu_si128(a))
OP1(d_load_f32, vecd, const void *, _mm_cvtps_pd((__m128)_mm_loadl_epi64(a)))
OP2(v_shift_right, vec, vec, _mm_srl_epi32((__m128i)a, _mm_cvtsi32_si128((int)b[0])))
#    if SIMD_X86 > 2
OP1(w_any, bool, wvec, !_mm_testz_si128((__m128i)a, (__m128i)a))
#    else
OP1(w_any, bool, wvec, (a[0] | a[1]) != 0)
#    endif
#elif V_BYTES == 32
OP1(v_load_f16, vec, const void *, _mm256_cvtph_ps(_mm_loadu_si128(a)))
OP1(v_load_bf16, vec, const void *,
    _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(a)), 16))
OP1(v_low, vecd, vec, _mm256_cvtps_pd((__m128)_mm256_castsi256_si128((__m256i)a)))
OP1(v_high, vecd, vec, _mm256_cvtps_pd((__m128)_mm256_extracti128_si256((__m256i)a, 1)))
OP1(b_table, vec, const void *, _mm256_broadcastsi128_si256(_mm_loadu_si128(a)))
OP1(w_any, bool, wvec, !_mm256_testz_si256((__m256i)a, (__m256i)a))
#endif

#if V_BYTES < 64
/* The masks of lanes as bits. */
OP1(v_bits, unsigned, vmask, MM(movemask_ps)((mm_floats)a))
OP1(w_bits, unsigned, wmask, MM(movemask_pd)((mm_doubles)a))
OP1(v_count, unsigned, vmask, __builtin_popcount(v_bits(a)))
OP1(w_count, unsigned, wmask, __builtin_popcount(w_bits(a)))
OP1(b_count, unsigned, bmask, __builtin_popcount((unsigned)MM(movemask_epi8)((mm_integers)a)))

#    if SIMD_X86 > 2

/* For each mask of 8 lanes the numbers of the lanes that it has, in order, and 8 for the others. */
#        define LESS1(m) ((m) & ((m)-1))
#        define LESS2(m) LESS1(LESS1(m))
#        define LESS4(m) LESS2(LESS2(m))
#        define FIRST_LANE(m) (unsigned char)__builtin_ctz((m) | 1 << 8)
#        define FIRST_TWO(m) FIRST_LANE(m), FIRST_LANE(LESS1(m))
#        define FIRST_FOUR(m) FIRST_TWO(m), FIRST_TWO(LESS2(m))
#        define MASKS1(m) {FIRST_FOUR(m), FIRST_FOUR(LESS4(m))},
#        define MASKS4(m) MASKS1(m) MASKS1((m) + 1) MASKS1((m) + 2) MASKS1((m) + 3)
#        define MASKS16(m) MASKS4(m) MASKS4((m) + 4) MASKS4((m) + 8) MASKS4((m) + 12)
#        define MASKS64(m) MASKS16(m) MASKS16((m) + 16) MASKS16((m) + 32) MASKS16((m) + 48)
static const unsigned char lanes_of_mask[256][8] = {MASKS64(0) MASKS64(64) MASKS64(128)
                                                        MASKS64(192)};

/* Stores those of 8 lanes of 8 or 16 bits that a mask has. They may write all 8. */
SIMD_OP unsigned b_pack8(unsigned char *p, unsigned mask, __m128i a)
{
    const __m128i lanes = _mm_loadl_epi64((const void *)lanes_of_mask[mask]);

    _mm_storel_epi64((void *)p, _mm_shuffle_epi8(a, lanes));
    return (unsigned)__builtin_popcount(mask);
}

SIMD_OP unsigned h_pack8(unsigned char *p, unsigned mask, __m128i a)
{
    const __m128i lanes = _mm_loadl_epi64((const void *)lanes_of_mask[mask]);
    const __m128i twice = _mm_slli_epi16(_mm_unpacklo_epi8(lanes, lanes), 1);

    _mm_storeu_si128((void *)p, _mm_shuffle_epi8(a, _mm_or_si128(twice, _mm_set1_epi16(1 << 8))));
    return (unsigned)__builtin_popcount(mask);
}

SIMD_OP unsigned b_pack16(unsigned char *p, unsigned mask, __m128i a)
{
    const unsigned count = b_pack8(p, mask & 0xff, a);

    return count + b_pack8(p + count, mask >> 8, _mm_unpackhi_epi64(a, a));
}

#        if V_BYTES == 16
SIMD_OP unsigned b_pack(void *p, bmask m, vec a)
{
    return b_pack16(p, (unsigned)_mm_movemask_epi8((__m128i)m), (__m128i)a);
}

SIMD_OP unsigned h_pack(void *p, hmask m, vec a)
{
    return h_pack8(p, (unsigned)_mm_movemask_epi8(_mm_packs_epi16((__m128i)m, (__m128i){0})),
                   (__m128i)a);
}

SIMD_OP unsigned v_pack(void *p, vmask m, vec a)
{
    return h_pack(p, m, a) / 2;
}

SIMD_OP unsigned w_pack(void *p, wmask m, wvec a)
{
    return h_pack(p, (hmask)m, (vec)a) / 4;
}
#        else
SIMD_OP unsigned b_pack(void *p, bmask m, vec a)
{
    const unsigned mask = (unsigned)_mm256_movemask_epi8((__m256i)m);
    const unsigned count = b_pack16(p, mask & 0xffff, _mm256_castsi256_si128((__m256i)a));

    return count + b_pack16((unsigned char *)p + count, mask >> 16,
                            _mm256_extracti128_si256((__m256i)a, 1));
}

SIMD_OP unsigned h_pack(void *p, hmask m, vec a)
{
    const __m128i low = _mm256_castsi256_si128((__m256i)m);
    const __m128i bytes = _mm_packs_epi16(low, _mm256_extracti128_si256((__m256i)m, 1));
    const unsigned mask = (unsigned)_mm_movemask_epi8(bytes);
    const unsigned count = h_pack8(p, mask & 0xff, _mm256_castsi256_si128((__m256i)a));

    return count + h_pack8((unsigned char *)p + 2 * count, mask >> 8,
                           _mm256_extracti128_si256((__m256i)a, 1));
}

SIMD_OP unsigned v_pack(void *p, vmask m, vec a)
{
    const unsigned mask = v_bits(m);
    const __m256i lanes = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)lanes_of_mask[mask]));

    v_store(p, (vec)_mm256_permutevar8x32_epi32((__m256i)a, lanes));
    return (unsigned)__builtin_popcount(mask);
}

SIMD_OP unsigned w_pack(void *p, wmask m, wvec a)
{
    return v_pack(p, (vmask)m, (vec)a) / 2;
}
#        endif
#    endif
#endif
#endif
