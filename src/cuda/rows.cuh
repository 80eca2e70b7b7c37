/*
 * Loads of units of rows (rows.h).
 */
#ifndef GPUREDUCE_CUDA_ROWS_CUH
#define GPUREDUCE_CUDA_ROWS_CUH

#include "cuda/rows.h"

/* An unsigned integer of so many bytes. */
template <int SIZE> struct word_of;
template <> struct word_of<1> {
    typedef uint8_t type;
};
template <> struct word_of<2> {
    typedef uint16_t type;
};
template <> struct word_of<4> {
    typedef uint32_t type;
};
template <> struct word_of<8> {
    typedef uint64_t type;
};

/* Unit number i of rows that lie apart, of elements of SIZE bytes, as any type of its size. */
template <typename Unit, int SIZE>
__device__ static __forceinline__ Unit load_apart(const struct cuda_rows &rows, uint64_t i)
{
    typedef typename word_of<SIZE>::type element;
    static const int COUNT = CUDA_ROWS_UNIT / SIZE;
    static_assert(sizeof(Unit) == CUDA_ROWS_UNIT, "units");
    if (SIZE > 1 && rows.stride != 0) {
        element x[COUNT];
        Unit unit;

#pragma unroll
        for (int k = 0; k < COUNT; k++)
            x[k] = __ldcs((const element *)rows.data +
                          cuda_rows_element(&rows, COUNT * i + (unsigned)k));
        memcpy(&unit, x, sizeof unit);
        return unit;
    }
    return __ldcs((const Unit *)rows.data + cuda_rows_unit(&rows, i));
}

#endif
