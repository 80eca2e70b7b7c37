/*
 * The kernels of extremes of slices of integers.
 */
#include "config.h"

#include "cuda/slice_kernels.cuh"

/* Numbers in the order of elements; those of 64 bits are element_keys. */
template <typename Element> struct ordered_number {
    typedef Element type;

    __device__ static __forceinline__ type of(Element x)
    {
        return x;
    }
};
template <> struct ordered_number<uint64_t> {
    typedef int64_t type;

    __device__ static __forceinline__ type of(uint64_t x)
    {
        return (int64_t)(x ^ UINT64_C(1) << 63);
    }
};

/* A type whose extremes are found. Nothing is added up. */
template <typename Type> struct ordered {
};
template <typename Type> struct slice_type<ordered<Type>> : slice_type<Type> {
    typedef slice_type<Type> base;
    typedef ordered_number<typename base::element> ordering;
    typedef typename ordering::type ordered_type;
    typedef int plain;
    typedef int64_t key; /* element_keys */

    template <int N>
    __device__ static __forceinline__ int value(const typename base::template words<N> &, int)
    {
        return 0;
    }

    template <int N>
    __device__ static __forceinline__ ordered_type number(const typename base::template words<N> &v,
                                                          int j)
    {
        return ordering::of(base::template value<N>(v, j));
    }
    template <int N> using extremes = slice_extremes<slice_type, ordered_type, N>;
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
        return slice_choose_type<ordered<i64>>(l);
    case ELEMENT_U64:
        return slice_choose_type<ordered<u64>>(l);
    case ELEMENT_BOOL:
        ELEMENT_FLOAT_TABLE(ELEMENT_CASE)
        ELEMENT_FLOAT8_TABLE(ELEMENT_CASE)
        break; /* nobody asks for those */
    }
    return {nullptr, 0};
}
