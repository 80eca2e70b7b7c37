/*
 * Element types on the device: a trait for each row of ELEMENT_FLOAT_TABLE, named like it. The
 * kernels are templates over the trait. A type of up to 32 bits says how the words of a load hold
 * its elements, and which exponent bins take those that do not add up in binary64; tuning.h has its
 * numbers. Types of 64 bits have reducers of their own.
 */
#ifndef GPUREDUCE_CUDA_TYPES_CUH
#define GPUREDUCE_CUDA_TYPES_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/exact.h"
#include "cuda/tuning.h"

/* Bytes that a thread loads at a time. */
static const int LOAD_BYTES = 16;

/* Exponent bins, in bins.cuh. */
struct exponent_bins_f32;
struct exponent_bins_bf16;
struct no_exponent_bins;

/*
 * Types of up to 32 bits:
 *
 *   PER_WORD     elements of a 32-bit word, the first in the lower part
 *   INFINITY_BITS  a word of infinities
 *   ALWAYS_FITS  whether any group of them adds up exactly in binary64
 *   bins         the exponent bins
 *   pair         what a word holds; least() and greatest() work on each of its elements, give NaN
 *                where an operand is one, and put -0 before +0
 *   view(w)      a word as a pair
 *   element(w, half)  element `half` of a word, as the binary32 value that is equal to it
 *   swap(w)      the word with each of its elements in the other byte order
 */
struct f32 {
    static const int PER_WORD = 1;
    static const uint32_t INFINITY_BITS = 0x7f800000;
    static const bool ALWAYS_FITS = false;
    typedef exponent_bins_f32 bins;
    typedef float pair;

    __device__ static pair view(uint32_t w)
    {
        return __uint_as_float(w);
    }
    __device__ static pair least(pair a, pair b)
    {
        float r;
#if __CUDA_ARCH__ >= 800
        asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
#else
        r = a != a ? a : b != b ? b : fminf(a, b);
#endif
        return r;
    }
    __device__ static pair greatest(pair a, pair b)
    {
        float r;
#if __CUDA_ARCH__ >= 800
        asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
#else
        r = a != a ? a : b != b ? b : fmaxf(a, b);
#endif
        return r;
    }
    __device__ static float element(uint32_t w, int)
    {
        return __uint_as_float(w);
    }
    __device__ static uint32_t swap(uint32_t w)
    {
        return __byte_perm(w, 0, 0x0123);
    }
};

/* f32 in two kernels that find moments: elements of the first, and those that it leaves. */
struct f32_first : f32 {
};
struct f32_left : f32 {
};

/* The types of 16 bits. */
template <typename Pair> struct halves {
    static const int PER_WORD = 2;
    typedef Pair pair;

    __device__ static pair view(uint32_t w)
    {
        return *(const pair *)&w;
    }
    __device__ static pair least(pair a, pair b)
    {
        return __hmin2_nan(a, b);
    }
    __device__ static pair greatest(pair a, pair b)
    {
        return __hmax2_nan(a, b);
    }
    __device__ static uint32_t swap(uint32_t w)
    {
        return __byte_perm(w, 0, 0x2301);
    }
};

struct f16 : halves<__half2> {
    /* All values are multiples of 2^-24 below 2^16, which is 40 bits: binary64 has 53, so 2^13 of
       them add up exactly. */
    static const uint32_t INFINITY_BITS = 0x7c007c00;
    static const bool ALWAYS_FITS = true;
    typedef no_exponent_bins bins;

    __device__ static float element(uint32_t w, int half)
    {
        return half ? __high2float(view(w)) : __low2float(view(w));
    }
};

struct bf16 : halves<__nv_bfloat162> {
    static const uint32_t INFINITY_BITS = 0x7f807f80;
    static const bool ALWAYS_FITS = false;
    typedef exponent_bins_bf16 bins;

    __device__ static float element(uint32_t w, int half)
    {
        return __uint_as_float(half ? w & 0xffff0000 : w << 16);
    }
};

/* binary64. */
struct f64 {
};

/* binary64 elements that the first kernel left to the second. */
struct f64_left {
};

/* The magnitudes of what is in a word: of a float, which instructions take as they read it. */
template <typename Pair> __device__ static __forceinline__ Pair magnitude_of(uint32_t word)
{
    word &= 0x7fff7fffu;
    return *(const Pair *)&word;
}
template <> __device__ __forceinline__ float magnitude_of<float>(uint32_t word)
{
    return fabsf(__uint_as_float(word));
}

/*
 * Keys. An order is an integer that compares as the values do, -0 before +0, in as few bits as the
 * values have.
 */

__device__ static __forceinline__ int32_t order_of(float x)
{
    int32_t b = __float_as_int(x);
    return b ^ (int32_t)((uint32_t)(b >> 31) >> 1);
}

__device__ static __forceinline__ int64_t order_of(double x)
{
    return exact_key(x);
}

/* The value that has this order, and its exact_key. */
__device__ static __forceinline__ float value_of(int32_t order)
{
    return __int_as_float(order ^ (int32_t)((uint32_t)(order >> 31) >> 1));
}

__device__ static __forceinline__ int64_t key_of(int32_t order)
{
    return exact_key((double)value_of(order));
}

__device__ static __forceinline__ int64_t key_of(int64_t order)
{
    return order;
}

/* ORDER_MAX is the order of no number. */
template <typename T> struct limits;
template <> struct limits<int32_t> {
    static const int32_t ORDER_MAX = INT32_MAX;
};
template <> struct limits<int64_t> {
    static const int64_t ORDER_MAX = INT64_MAX;
};

#endif
