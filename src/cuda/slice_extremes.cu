/*
 * The kernels of extremes of slices of integers of up to 32 bits.
 */
#include "config.h"

#include "cuda/slice_kernels.cuh"

/* A type whose extremes are found. Nothing is added up. */
template <typename Type> struct ordered {
};
template <typename Type> struct slice_type<ordered<Type>> : slice_type<Type> {
    typedef slice_type<Type> base;
    typedef typename base::element element;
    typedef int plain;
    typedef int64_t key; /* element_keys */

    template <int N>
    __device__ static __forceinline__ int value(const typename base::template words<N> &, int)
    {
        return 0;
    }

    template <int N> struct extremes {
        element min[N], max[N];

        __device__ __forceinline__ void clear()
        {
            const bool is_signed = (element)-1 < (element)1;
            const uint32_t all = 0xffffffffu >> (32 - 8 * base::SIZE);

#pragma unroll
            for (int j = 0; j < N; j++) {
                min[j] = (element)(is_signed ? all >> 1 : all);
                max[j] = (element) ~(is_signed ? all >> 1 : all);
            }
        }
        __device__ __forceinline__ void take(const typename base::template words<N> &v)
        {
#pragma unroll
            for (int j = 0; j < N; j++)
                take_one(v, j);
        }
        __device__ __forceinline__ void take_one(const typename base::template words<N> &v, int j)
        {
            const element x = base::template value<N>(v, j);

            min[j] = x < min[j] ? x : min[j];
            max[j] = x > max[j] ? x : max[j];
        }
        __device__ __forceinline__ key least() const
        {
            element x = min[0];

#pragma unroll
            for (int j = 1; j < N; j++)
                x = min[j] < x ? min[j] : x;
            return x;
        }
        __device__ __forceinline__ key greatest() const
        {
            element x = max[0];

#pragma unroll
            for (int j = 1; j < N; j++)
                x = max[j] > x ? max[j] : x;
            return x;
        }
        __device__ __forceinline__ key least(int j) const
        {
            return min[j];
        }
        __device__ __forceinline__ key greatest(int j) const
        {
            return max[j];
        }
    };
};

struct slice_choice slice_choose_extremes(const struct cuda_slice_launch *l)
{
    switch (l->type) {
    case ELEMENT_I8:
        return slice_choose_type<ordered<i8>>(l);
    case ELEMENT_I16:
        return slice_choose_type<ordered<i16>>(l);
    case ELEMENT_I32:
        return slice_choose_type<ordered<i32>>(l);
    case ELEMENT_U8:
        return slice_choose_type<ordered<u8>>(l);
    case ELEMENT_U16:
        return slice_choose_type<ordered<u16>>(l);
    case ELEMENT_U32:
        return slice_choose_type<ordered<u32>>(l);
    case ELEMENT_I64:
    case ELEMENT_U64:
    case ELEMENT_BOOL:
#define CHOOSE(CONSTANT, name, ...) case ELEMENT_##CONSTANT:
        ELEMENT_FLOAT_TABLE(CHOOSE)
        ELEMENT_FLOAT8_TABLE(CHOOSE)
#undef CHOOSE
        break; /* nobody asks for those */
    }
    return {nullptr, 0};
}
