/*
 * The kernels in plain C with the vector extension of GCC and Clang, 16 bytes wide: SSE2, NEON, or
 * whatever the compiler makes of them. simd.h says what the operations are to do.
 */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SIMD_NAME portable
#define SIMD_TARGET
#define SIMD_OP static inline __attribute__((always_inline))

static bool simd_usable(void)
{
    return true;
}

#define V_LANES 4
#define W_LANES 2
#define SIMD_LOOKUP 0
#define SIMD_IFMA 0
#define SIMD_PACKS 0

typedef int32_t vec __attribute__((vector_size(16)));
typedef uint32_t vec_unsigned __attribute__((vector_size(16)));
typedef vec vmask;
typedef int64_t wvec __attribute__((vector_size(16)));
typedef uint64_t wvec_unsigned __attribute__((vector_size(16)));
typedef wvec wmask;
typedef double vecd __attribute__((vector_size(16)));
typedef float vecf __attribute__((vector_size(16)));
typedef uint8_t bytes_unsigned __attribute__((vector_size(16)));
typedef int16_t halves __attribute__((vector_size(16)));
typedef uint16_t halves_unsigned __attribute__((vector_size(16)));

SIMD_OP vec v_load_f32(const void *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

SIMD_OP vec v_held(vec a)
{
    return a;
}

/* The bits of the binary32 value of a binary16: the exponent moves by 112; a subnormal becomes
   normal by a subtraction that floating point does exactly. */
SIMD_OP vec v_load_f16(const void *p)
{
    uint16_t half[V_LANES];
    vec v = {0};

    memcpy(half, p, sizeof half);
    for (int i = 0; i < V_LANES; i++) {
        uint32_t sign = (uint32_t)(half[i] & 0x8000) << 16;
        uint32_t rest = (uint32_t)(half[i] & 0x7fff) << 13;
        uint32_t bits;

        if (rest >= 0x0f800000) { /* infinity or NaN */
            bits = rest + 0x70000000;
        } else if (rest >= 0x00800000) {
            bits = rest + 0x38000000;
        } else {
            /* (1 + f/1024) 2^-14 - 2^-14 */
            const uint32_t hidden_bits = 0x38800000;
            uint32_t with_hidden = rest + hidden_bits;
            float a, b;

            memcpy(&a, &with_hidden, sizeof a);
            memcpy(&b, &hidden_bits, sizeof b);
            a -= b;
            memcpy(&bits, &a, sizeof bits);
        }
        v[i] = (int32_t)(bits | sign);
    }
    return v;
}

SIMD_OP vec v_load_bf16(const void *p)
{
    uint16_t half[V_LANES];
    vec v = {0};

    memcpy(half, p, sizeof half);
    for (int i = 0; i < V_LANES; i++)
        v[i] = (int32_t)((uint32_t)half[i] << 16);
    return v;
}

SIMD_OP vec v_set1(uint32_t x)
{
    return (vec){0} + (int32_t)x;
}

SIMD_OP vec v_add(vec a, vec b)
{
    return (vec)((vec_unsigned)a + (vec_unsigned)b);
}

SIMD_OP vec v_and(vec a, vec b)
{
    return a & b;
}

SIMD_OP vec v_gather(const int32_t *p, vec index)
{
    vec v = {0};

    for (int i = 0; i < V_LANES; i++)
        v[i] = p[index[i]];
    return v;
}

SIMD_OP vec v_shift_right(vec a, vec bits)
{
    return (vec)((vec_unsigned)a >> (vec_unsigned)bits);
}

SIMD_OP vec v_select(vmask m, vec yes, vec no)
{
    return (m & yes) | (~m & no);
}

SIMD_OP vmask v_gt_s(vec a, vec b)
{
    return a > b;
}

SIMD_OP vmask v_eq(vec a, vec b)
{
    return a == b;
}

SIMD_OP vmask v_without(vec a, vec bits)
{
    return (a & bits) == 0;
}

SIMD_OP vec v_max_s(vec a, vec b)
{
    return v_select(a > b, a, b);
}

SIMD_OP vec v_max_u(vec a, vec b)
{
    return v_select((vec_unsigned)a > (vec_unsigned)b, a, b);
}

SIMD_OP vec v_min_u(vec a, vec b)
{
    return v_select((vec_unsigned)a > (vec_unsigned)b, b, a);
}

SIMD_OP vec v_min_magnitude(vec a, vec b)
{
    b &= INT32_MAX;
    return v_select(a > b, b, a);
}

SIMD_OP vec v_tally(vec a, vmask m)
{
    return a - m;
}

SIMD_OP uint32_t v_h_add(vec a)
{
    return (uint32_t)a[0] + (uint32_t)a[1] + (uint32_t)a[2] + (uint32_t)a[3];
}

SIMD_OP unsigned v_count(vmask m)
{
    return (unsigned)-(m[0] + m[1] + m[2] + m[3]);
}

SIMD_OP uint32_t v_h_max_s(vec a)
{
    int32_t result = a[0];

    for (int i = 1; i < V_LANES; i++)
        result = a[i] > result ? a[i] : result;
    return (uint32_t)result;
}

SIMD_OP uint32_t v_h_max_u(vec a)
{
    uint32_t result = 0;

    for (int i = 0; i < V_LANES; i++)
        result = (uint32_t)a[i] > result ? (uint32_t)a[i] : result;
    return result;
}

SIMD_OP uint32_t v_h_min_u(vec a)
{
    uint32_t result = UINT32_MAX;

    for (int i = 0; i < V_LANES; i++)
        result = (uint32_t)a[i] < result ? (uint32_t)a[i] : result;
    return result;
}

SIMD_OP vecd v_low(vec a)
{
    float x[V_LANES];

    memcpy(x, &a, sizeof x);
    return (vecd){(double)x[0], (double)x[1]};
}

SIMD_OP vecd v_high(vec a)
{
    float x[V_LANES];

    memcpy(x, &a, sizeof x);
    return (vecd){(double)x[2], (double)x[3]};
}

SIMD_OP wvec w_load(const void *p)
{
    wvec v;
    memcpy(&v, p, sizeof v);
    return v;
}

SIMD_OP wvec w_set1(uint64_t x)
{
    return (wvec){0} + (int64_t)x;
}

SIMD_OP wvec w_and(wvec a, wvec b)
{
    return a & b;
}

SIMD_OP wvec w_or(wvec a, wvec b)
{
    return a | b;
}

SIMD_OP wvec w_select(wmask m, wvec yes, wvec no)
{
    return (m & yes) | (~m & no);
}

SIMD_OP wmask w_gt_s(wvec a, wvec b)
{
    return a > b;
}

SIMD_OP wmask w_eq(wvec a, wvec b)
{
    return a == b;
}

SIMD_OP wvec w_max_s(wvec a, wvec b)
{
    return w_select(a > b, a, b);
}

SIMD_OP wvec w_max_u(wvec a, wvec b)
{
    return w_select((wvec_unsigned)a > (wvec_unsigned)b, a, b);
}

SIMD_OP wvec w_min_u(wvec a, wvec b)
{
    return w_select((wvec_unsigned)a > (wvec_unsigned)b, b, a);
}

SIMD_OP wvec w_tally(wvec a, wmask m)
{
    return a - m;
}

SIMD_OP wvec w_add(wvec a, wvec b)
{
    return (wvec)((wvec_unsigned)a + (wvec_unsigned)b);
}

SIMD_OP wvec w_sub(wvec a, wvec b)
{
    return (wvec)((wvec_unsigned)a - (wvec_unsigned)b);
}

SIMD_OP uint64_t w_h_add(wvec a)
{
    return (uint64_t)a[0] + (uint64_t)a[1];
}

SIMD_OP bool w_any(wvec a)
{
    return (a[0] | a[1]) != 0;
}

SIMD_OP unsigned w_count(wmask m)
{
    return (unsigned)-(m[0] + m[1]);
}

SIMD_OP uint64_t w_h_max_s(wvec a)
{
    return (uint64_t)(a[0] > a[1] ? a[0] : a[1]);
}

SIMD_OP uint64_t w_h_max_u(wvec a)
{
    return (uint64_t)a[0] > (uint64_t)a[1] ? (uint64_t)a[0] : (uint64_t)a[1];
}

SIMD_OP uint64_t w_h_min_u(wvec a)
{
    return (uint64_t)a[0] < (uint64_t)a[1] ? (uint64_t)a[0] : (uint64_t)a[1];
}

SIMD_OP uint64_t w_h_or(wvec a)
{
    return (uint64_t)(a[0] | a[1]);
}

SIMD_OP vecd w_value(wvec a)
{
    return (vecd)a;
}

SIMD_OP wvec d_bits(vecd a)
{
    return (wvec)a;
}

SIMD_OP void v_store(void *p, vec a)
{
    memcpy(p, &a, sizeof a);
}

SIMD_OP wvec v_wide(vec a)
{
    return (wvec)a;
}

SIMD_OP vec w_narrow(wvec a)
{
    return (vec)a;
}

SIMD_OP vec v_xor(vec a, vec b)
{
    return a ^ b;
}

SIMD_OP wvec w_xor(wvec a, wvec b)
{
    return a ^ b;
}

SIMD_OP vec v_min_s(vec a, vec b)
{
    return v_select(a > b, b, a);
}

SIMD_OP wvec w_min_s(wvec a, wvec b)
{
    return w_select(a > b, b, a);
}

SIMD_OP wvec w_even(wvec a)
{
    return a & w_set1(UINT32_MAX);
}

SIMD_OP wvec w_odd(wvec a)
{
    return (wvec)((wvec_unsigned)a >> 32);
}

SIMD_OP vec b_min_u(vec a, vec b)
{
    return v_select((vec)((bytes_unsigned)a > (bytes_unsigned)b), b, a);
}

SIMD_OP vec b_max_u(vec a, vec b)
{
    return v_select((vec)((bytes_unsigned)a > (bytes_unsigned)b), a, b);
}

SIMD_OP vec h_min_s(vec a, vec b)
{
    return v_select((vec)((halves)a > (halves)b), b, a);
}

SIMD_OP vec h_max_s(vec a, vec b)
{
    return v_select((vec)((halves)a > (halves)b), a, b);
}

/* Neighbours are added up in lanes of twice the width. */
SIMD_OP wvec b_sum(vec a)
{
    halves_unsigned two = ((halves_unsigned)a & 0xff) + ((halves_unsigned)a >> 8);
    vec_unsigned four = ((vec_unsigned)two & 0xffff) + ((vec_unsigned)two >> 16);
    wvec_unsigned eight = ((wvec_unsigned)four & UINT32_MAX) + ((wvec_unsigned)four >> 32);

    return (wvec)eight;
}

/* A lane is its upper half, signed, times 2^16 and the lower one, which is signed, too. */
SIMD_OP vec h_pairs(vec a)
{
    vec lower = (vec)((vec_unsigned)a << 16) >> 16;

    return (a >> 16) + lower;
}

SIMD_OP vecd d_load_f32(const void *p)
{
    float x[W_LANES];

    memcpy(x, p, sizeof x);
    return (vecd){(double)x[0], (double)x[1]};
}

SIMD_OP vecd d_load(const double *p)
{
    vecd v;
    memcpy(&v, p, sizeof v);
    return v;
}

SIMD_OP void d_store(double *p, vecd a)
{
    memcpy(p, &a, sizeof a);
}

SIMD_OP vecd d_set1(double x)
{
    return (vecd){x, x};
}

SIMD_OP vecd d_add(vecd a, vecd b)
{
    return a + b;
}

SIMD_OP vecd d_sub(vecd a, vecd b)
{
    return a - b;
}

SIMD_OP vecd d_fma(vecd a, vecd b, vecd c)
{
    return a * b + c;
}

SIMD_OP vecd d_min(vecd a, vecd b)
{
    return (vecd)w_select(a < b, (wvec)a, (wvec)b);
}

SIMD_OP double d_h_min(vecd a)
{
    return a[0] < a[1] ? a[0] : a[1];
}

SIMD_OP vecd d_abs(vecd a)
{
    return (vecd)((wvec)a & w_set1(INT64_MAX));
}

SIMD_OP vecd d_max(vecd a, vecd b)
{
    return (vecd)w_select(a > b, (wvec)a, (wvec)b);
}

SIMD_OP double d_h_max(vecd a)
{
    return a[0] > a[1] ? a[0] : a[1];
}

SIMD_OP double d_h_add(vecd a)
{
    return a[0] + a[1];
}

SIMD_OP vec v_order(vec a)
{
    return a ^ ((a < 0) & v_set1(INT32_MAX));
}

SIMD_OP vmask v_ge_s(vec a, vec b)
{
    return a >= b;
}

SIMD_OP vmask v_also_ge_s(vmask m, vec a, vec b)
{
    return m & (a >= b);
}

SIMD_OP bool v_some(vmask m)
{
    return v_count(m) > 0;
}

SIMD_OP unsigned v_pack(void *p, vmask m, vec a)
{
    int32_t *to = p;
    unsigned count = 0;

    for (int i = 0; i < V_LANES; i++)
        if (m[i])
            to[count++] = a[i];
    return count;
}

SIMD_OP wvec w_order(wvec a)
{
    return a ^ ((a < 0) & w_set1(INT64_MAX));
}

SIMD_OP wmask w_ge_s(wvec a, wvec b)
{
    return a >= b;
}

SIMD_OP wmask w_also_ge_s(wmask m, wvec a, wvec b)
{
    return m & (a >= b);
}

SIMD_OP bool w_some(wmask m)
{
    return w_count(m) > 0;
}

SIMD_OP unsigned w_pack(void *p, wmask m, wvec a)
{
    int64_t *to = p;
    unsigned count = 0;

    for (int i = 0; i < W_LANES; i++)
        if (m[i])
            to[count++] = a[i];
    return count;
}

SIMD_OP vecd d_mul(vecd a, vecd b)
{
    return a * b;
}

SIMD_OP vecd d_clamp(vecd a, vecd low, vecd high)
{
    vecd raised = (vecd)w_select(a > low, (wvec)a, (wvec)low);

    return (vecd)w_select(raised > high, (wvec)high, (wvec)raised);
}

SIMD_OP vecf f_value(vec a)
{
    return (vecf)a;
}

SIMD_OP vec f_bits(vecf a)
{
    return (vec)a;
}

SIMD_OP vecf f_set1(float x)
{
    return (vecf){x, x, x, x};
}

SIMD_OP vecf f_sub(vecf a, vecf b)
{
    return a - b;
}

SIMD_OP vecf f_madd(vecf a, vecf b, vecf c)
{
    return a * b + c;
}

SIMD_OP vecf f_clamp(vecf a, vecf low, vecf high)
{
    vecf raised = (vecf)v_select(a > low, (vec)a, (vec)low);

    return (vecf)v_select(raised > high, (vec)high, (vec)raised);
}

SIMD_OP vecd d_h_add_each(const vecd a[W_LANES])
{
    return (vecd){a[0][0] + a[0][1], a[1][0] + a[1][1]};
}

SIMD_OP void d_transpose(vecd a[W_LANES])
{
    vecd first = {a[0][0], a[1][0]}, second = {a[0][1], a[1][1]};

    a[0] = first;
    a[1] = second;
}

#include "engine/cpu/kernel_template.h"
