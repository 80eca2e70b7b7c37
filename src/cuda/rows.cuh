/*
 * Loads of units of rows (rows.h).
 */
#ifndef GPUREDUCE_CUDA_ROWS_CUH
#define GPUREDUCE_CUDA_ROWS_CUH

#include "cuda/rows.h"

/* Word number k of unit number i of rows. */
__device__ static __forceinline__ const uint32_t *word_of_rows(const struct cuda_rows &rows, uint64_t i,
                                                               int k)
{
    const uint32_t *const words = (const uint32_t *)rows.data;

    return rows.words ? words + cuda_rows_place(&rows, 4 * i + (unsigned)k)
                      : words + 4 * cuda_rows_place(&rows, i) + k;
}

/* Unit number i of rows that lie apart, as any type of its size. */
template <typename Unit>
__device__ static __forceinline__ Unit load_apart(const struct cuda_rows &rows, uint64_t i)
{
    static_assert(sizeof(Unit) == CUDA_ROWS_UNIT, "units");
    if (!rows.words)
        return __ldcs((const Unit *)rows.data + cuda_rows_place(&rows, i));

    uint32_t word[4];
    Unit unit;

#pragma unroll
    for (int k = 0; k < 4; k++)
        word[k] = __ldcs(word_of_rows(rows, i, k));
    memcpy(&unit, word, sizeof unit);
    return unit;
}

#endif
