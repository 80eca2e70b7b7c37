/*
 * A thread's extremes and counts of the elements that it has taken.
 */
#ifndef GPUREDUCE_CUDA_THREAD_STATE_CUH
#define GPUREDUCE_CUDA_THREAD_STATE_CUH

#include <stdint.h>

#include "core/partial.h"
#include "cuda/missing.cuh"
#include "cuda/rows.cuh"
#include "cuda/types.cuh"

/* An extreme, and the first tile that holds it. The complement of the order is kept for the
   greatest value, so that both extremes are minima. ORDER_MAX stands for none. */
template <typename Order> struct extreme {
    Order order;
    unsigned tile;

    __device__ void clear()
    {
        order = limits<Order>::ORDER_MAX;
        tile = ~0u;
    }
    __device__ __forceinline__ void take(Order other, unsigned other_tile)
    {
        if (other < order || (other == order && other_tile < tile)) {
            order = other;
            tile = other_tile;
        }
    }
};

/* NaNs and infinities. */
struct counts {
    unsigned nan, positive_infinity, negative_infinity;
    uint64_t first_nan; /* element of the chunk */

    __device__ void clear()
    {
        nan = positive_infinity = negative_infinity = 0;
        first_nan = PARTIAL_NO_INDEX;
    }
    __device__ void take_nan(uint64_t at)
    {
        first_nan = at < first_nan ? at : first_nan;
    }
    __device__ void take(const struct counts *other)
    {
        nan += other->nan;
        positive_infinity += other->positive_infinity;
        negative_infinity += other->negative_infinity;
        take_nan(other->first_nan);
    }
    __device__ bool any() const
    {
        return (nan | positive_infinity | negative_infinity) != 0;
    }
};

/* Hands over the UNROLL units that a thread has of a full tile, of elements of SIZE bytes: put(j, unit), for each
   of them. Those of a block's threads lie side by side. ONE_ROW: so do all elements. */
template <typename Unit, int SIZE, int UNROLL, int BLOCK, bool ONE_ROW = false, typename Put>
__device__ static __forceinline__ void load_units(const struct cuda_rows &rows, unsigned tile,
                                                  const Put &put)
{
    const size_t first = (size_t)tile * BLOCK * UNROLL + threadIdx.x;

    if (ONE_ROW || rows.row.inverse == 0) {
#pragma unroll
        for (int j = 0; j < UNROLL; j++)
            put(j, __ldcs((const Unit *)rows.data + first + j * BLOCK));
    } else {
#pragma unroll
        for (int j = 0; j < UNROLL; j++)
            put(j, load_apart<Unit, SIZE>(rows, first + j * BLOCK));
    }
}

/* Loads the words of a thread's group of a full tile. */
template <int SIZE, int UNROLL, int BLOCK = THREADS>
__device__ static __forceinline__ void load_words(uint32_t *words, const struct cuda_rows &rows,
                                                  unsigned tile)
{
    load_units<uint4, SIZE, UNROLL, BLOCK>(rows, tile, [words](int j, uint4 v) {
        words[4 * j] = v.x;
        words[4 * j + 1] = v.y;
        words[4 * j + 2] = v.z;
        words[4 * j + 3] = v.w;
    });
}

/* The common part of reducers of every type. */
template <typename Order> struct thread_state {
    static const int BLOCK = THREADS; /* threads of a block */

    size_t count; /* elements of the chunk */
    struct extreme<Order> least, greatest;
    struct counts counts;

    __device__ void begin(size_t elements)
    {
        count = elements;
        least.clear();
        greatest.clear();
        counts.clear();
    }

    /* Finishes loading a group: nothing is left to do if the reducer is made for one byte order. */
    template <typename Group> __device__ __forceinline__ static void arrange(Group *, bool)
    {
    }

    /* Whether the warp leaves its other tiles to a second kernel. */
    __device__ __forceinline__ bool leaves() const
    {
        return false;
    }

    /* Whether there are extremes at all. */
    __device__ __forceinline__ bool has_extremes() const
    {
        return least.order != limits<Order>::ORDER_MAX;
    }

    /* How many elements of a group are in the chunk; the others fill up the last tile. A group is
       PER_LOAD elements from element `first` of the chunk on, and again every STRIDE elements. */
    template <int STRIDE, int PER_LOAD, int GROUP>
    __device__ __forceinline__ int valid_elements(uint64_t first) const
    {
        if (first + (GROUP / PER_LOAD - 1) * STRIDE + PER_LOAD <= count)
            return GROUP;
        if (first >= count)
            return 0;
        const int left = (int)(count - first);
        return left / STRIDE * PER_LOAD + min(left % STRIDE, PER_LOAD);
    }

    /* Takes the order of a group's least value, and the complement of its greatest's. */
    __device__ __forceinline__ void take_extremes(Order low, Order high, unsigned tile)
    {
        if (low < least.order) {
            least.order = low;
            least.tile = tile;
        }
        if (high < greatest.order) {
            greatest.order = high;
            greatest.tile = tile;
        }
    }
};

#endif
