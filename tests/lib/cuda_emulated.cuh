/*
 * For the sources of kernels that are C++: CUDA's words, which from here on stand for what is
 * below, and for cuda_emulation.c. The headers of CUDA have to be included before.
 */
#ifndef TESTS_CUDA_EMULATED_CUH
#define TESTS_CUDA_EMULATED_CUH

#include <math.h>
#include <stdint.h>
#include <string.h>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__

struct emulation_index {
    uint32_t x, y, z;
};

extern "C" {
extern struct emulation_index emulated_thread __asm__("threadIdx");
extern struct emulation_index emulated_block __asm__("blockIdx");
void emulation_run(uint32_t width, uint32_t height, uint32_t threads, void (*body)(const void *),
                   const void *argument);
int emulation_barrier(int flag, int line);
uint64_t emulation_warp(uint64_t value, int line, uint64_t all[32]);
}
static struct emulation_index emulated_grid;

#define threadIdx emulated_thread
#define blockIdx emulated_block
#define gridDim emulated_grid

#define __syncthreads() ((void)emulation_barrier(0, __LINE__))
#define __syncthreads_or(flag) emulation_barrier(flag, __LINE__)
#define __threadfence() ((void)0)

/* Warps. Values of any type travel as 64 bits. */
template <typename T>
static T warp_exchange(T value, int line, uint64_t lane_mask, int down, int at)
{
    uint64_t all[32], bits = 0, mine;
    T result;

    memcpy(&bits, &value, sizeof value);
    mine = emulation_warp(bits, line, all);
    mine = at >= 0 ? (uint64_t)at : down + mine < 32 ? (mine + (uint64_t)down) ^ lane_mask : mine;
    memcpy(&result, &all[mine], sizeof result);
    return result;
}
#define __shfl_down_sync(mask, value, distance) \
    warp_exchange(value, __LINE__, 0, (int)(distance), -1)
#define __shfl_up_sync(mask, value, distance) \
    warp_exchange(value, __LINE__, 0, -(int)(distance), -1)
#define __shfl_xor_sync(mask, value, distance) \
    warp_exchange(value, __LINE__, (uint64_t)(distance), 0, -1)
#define __shfl_sync(mask, value, lane) warp_exchange(value, __LINE__, 0, 0, lane)

static unsigned warp_ballot(bool flag, int line)
{
    uint64_t all[32];
    unsigned bits = 0;

    (void)emulation_warp(flag, line, all);
    for (int i = 0; i < 32; i++)
        bits |= (unsigned)all[i] << i;
    return bits;
}
#define __ballot_sync(mask, flag) warp_ballot(flag, __LINE__)
#define __any_sync(mask, flag) (warp_ballot(flag, __LINE__) != 0)
#define __all_sync(mask, flag) (warp_ballot(!(flag), __LINE__) == 0)
#define __syncwarp() ((void)warp_ballot(false, __LINE__))

/* Atomics: one thread runs at a time. */
template <typename T, typename V> static T emulated_add(T *at, V value)
{
    T before = *at;

    *at = (T)((unsigned long long)before + (unsigned long long)value);
    return before;
}
template <typename T, typename V> static T emulated_min(T *at, V value)
{
    T before = *at;

    *at = (T)value < before ? (T)value : before;
    return before;
}
template <typename T, typename V> static T emulated_max(T *at, V value)
{
    T before = *at;

    *at = (T)value > before ? (T)value : before;
    return before;
}
template <typename T, typename V> static T emulated_exchange(T *at, V value)
{
    T before = *at;

    *at = (T)value;
    return before;
}
static unsigned emulated_increase(unsigned *at, unsigned most)
{
    unsigned before = *at;

    *at = before >= most ? 0 : before + 1;
    return before;
}
#define atomicAdd emulated_add
#define atomicMin emulated_min
#define atomicMax emulated_max
#define atomicExch emulated_exchange
#define atomicInc emulated_increase

/* Bits. */
template <typename To, typename From> static To same_bits(From from)
{
    To to;

    static_assert(sizeof to == sizeof from, "of one size");
    memcpy(&to, &from, sizeof to);
    return to;
}
#define __float_as_uint(x) same_bits<uint32_t>((float)(x))
#define __float_as_int(x) same_bits<int>((float)(x))
#define __uint_as_float(x) same_bits<float>((uint32_t)(x))
#define __int_as_float(x) same_bits<float>((int)(x))
#define __double_as_longlong(x) same_bits<long long>((double)(x))
#define __longlong_as_double(x) same_bits<double>((long long)(x))
#define __double2hiint(x) ((int)(same_bits<uint64_t>((double)(x)) >> 32))
#define __double2loint(x) ((int)same_bits<uint64_t>((double)(x)))
#define __hiloint2double(high, low) \
    same_bits<double>((uint64_t)(uint32_t)(high) << 32 | (uint32_t)(low))
#define __dadd_rn(x, y) ((double)(x) + (double)(y))
#define __dmul_rn(x, y) ((double)(x) * (double)(y))
#define __fadd_rn(x, y) ((float)(x) + (float)(y))
#define __fmul_rn(x, y) ((float)(x) * (float)(y))
#define __fma_rn(x, y, z) fma(x, y, z)
#define __fmaf_rn(x, y, z) fmaf(x, y, z)
#define __saturatef(x) fminf(fmaxf(x, 0), 1)
#define __double2ll_rn(x) ((long long)(x)) /* of integers */
#define __double2int_rn(x) ((int)(x))
#define __float2int_rn(x) ((int)(x))
#define __umulhi(x, y) ((uint32_t)((uint64_t)(uint32_t)(x) * (uint32_t)(y) >> 32))
#define __umul64hi(x, y) ((uint64_t)((unsigned __int128)(x) * (y) >> 64))
#define __ffs(x) __builtin_ffs(x)
#define __popc(x) __builtin_popcount(x)
#define __popcll(x) __builtin_popcountll(x)
#define __ldcs(from) (*(from))

/* The least and the greatest of two numbers of 16 bits each. */
template <typename Half, bool GREATEST> static uint32_t emulated_halves(uint32_t a, uint32_t b)
{
    uint32_t result = 0;

    for (int i = 0; i < 32; i += 16) {
        const Half x = (Half)(a >> i), y = (Half)(b >> i);

        result |= (uint32_t)(uint16_t)((GREATEST ? x > y : x < y) ? x : y) << i;
    }
    return result;
}
#define __vminu2(a, b) emulated_halves<uint16_t, false>(a, b)
#define __vmaxu2(a, b) emulated_halves<uint16_t, true>(a, b)
#define __vmins2(a, b) emulated_halves<int16_t, false>(a, b)
#define __vmaxs2(a, b) emulated_halves<int16_t, true>(a, b)

static int emulated_dp4a(int a, int b, int sum)
{
    for (int i = 0; i < 32; i += 8)
        sum += (int)(int8_t)((uint32_t)a >> i) * (int)(int8_t)((uint32_t)b >> i);
    return sum;
}
static unsigned emulated_dp4a(unsigned a, unsigned b, unsigned sum)
{
    for (int i = 0; i < 32; i += 8)
        sum += (a >> i & 255) * (b >> i & 255);
    return sum;
}
#define __dp4a emulated_dp4a

static uint32_t emulated_byte_perm(uint32_t x, uint32_t y, uint32_t selector)
{
    const uint64_t bytes = (uint64_t)y << 32 | x;
    uint32_t result = 0;

    for (int i = 0; i < 4; i++)
        result |= (uint32_t)(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return result;
}
#define __byte_perm emulated_byte_perm

/* Sums rounded down, or up. */
__attribute__((unused)) static double emulated_directed(double a, double b, double towards)
{
    const double sum = a + b, b_seen = sum - a, rest = (a - (sum - b_seen)) + (b - b_seen);

    if (isinf(a) || isinf(b))
        return sum;
    return rest != 0 && (rest > 0) == (towards > 0) ? nextafter(sum, towards) : sum;
}
__attribute__((unused)) static float emulated_directed_float(float a, float b, float towards)
{
    const float sum = a + b, b_seen = sum - a, rest = (a - (sum - b_seen)) + (b - b_seen);

    if (isinf(a) || isinf(b))
        return sum;
    return rest != 0 && (rest > 0) == (towards > 0) ? nextafterf(sum, towards) : sum;
}
#define __dadd_rd(a, b) emulated_directed(a, b, -HUGE_VAL)
#define __dadd_ru(a, b) emulated_directed(a, b, HUGE_VAL)
/* a b + c, of numbers whose product is exact. */
#define __fma_rd(a, b, c) emulated_directed((a) * (b), c, -HUGE_VAL)
#define __fma_ru(a, b, c) emulated_directed((a) * (b), c, HUGE_VAL)
#define __fadd_rd(a, b) emulated_directed_float(a, b, -HUGE_VALF)
#define __fadd_ru(a, b) emulated_directed_float(a, b, HUGE_VALF)

/* A device's least and greatest put -0 before +0, and take a number before a NaN. */
static float emulated_fminf(float a, float b)
{
    return b != b || a < b || (a == b && signbit(a)) ? a : b;
}
static float emulated_fmaxf(float a, float b)
{
    return b != b || a > b || (a == b && signbit(b)) ? a : b;
}
#define fminf emulated_fminf
#define fmaxf emulated_fmaxf
__attribute__((unused)) static double emulated_fmin(double a, double b)
{
    return b != b || a < b || (a == b && signbit(a)) ? a : b;
}
__attribute__((unused)) static double emulated_fmax(double a, double b)
{
    return b != b || a > b || (a == b && signbit(b)) ? a : b;
}
#define fmin emulated_fmin
#define fmax emulated_fmax

template <typename Pair, bool GREATEST> static Pair emulated_pick(Pair a, Pair b)
{
    decltype(a.x) halves[2][2] = {{a.x, a.y}, {b.x, b.y}};
    Pair result;

    for (int i = 0; i < 2; i++) {
        const float x = (float)halves[0][i], y = (float)halves[1][i];
        const bool first =
            x != x || (y == y && (GREATEST ? emulated_fmaxf(x, y) : emulated_fminf(x, y)) == x &&
                       (x != y || signbit(x) != (GREATEST ? 1 : 0)));

        (i == 0 ? result.x : result.y) = halves[first ? 0 : 1][i];
    }
    return result;
}
#define __hmin2_nan emulated_pick_least
#define __hmax2_nan emulated_pick_greatest
template <typename Pair> static Pair emulated_pick_least(Pair a, Pair b)
{
    return emulated_pick<Pair, false>(a, b);
}
template <typename Pair> static Pair emulated_pick_greatest(Pair a, Pair b)
{
    return emulated_pick<Pair, true>(a, b);
}

#endif
