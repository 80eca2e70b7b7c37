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

    template <int N>
    __device__ static __forceinline__ element number(const typename base::template words<N> &v,
                                                     int j)
    {
        return base::template value<N>(v, j);
    }
    template <int N> using extremes = slice_extremes<slice_type, element, N>;
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
        ELEMENT_FLOAT_TABLE(ELEMENT_CASE)
        ELEMENT_FLOAT8_TABLE(ELEMENT_CASE)
        break; /* nobody asks for those */
    }
    return {nullptr, 0};
}
