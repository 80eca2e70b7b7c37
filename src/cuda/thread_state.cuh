/*
 * A thread's extremes and counts of the elements that it has taken.
 */
#ifndef GPUREDUCE_CUDA_THREAD_STATE_CUH
#define GPUREDUCE_CUDA_THREAD_STATE_CUH

#include <stdint.h>

#include "core/partial.h"
#include "cuda/missing.cuh"
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

__device__ static __forceinline__ uint4 load_16_bytes(const uint4 *from)
{
    return __ldcs(from);
}

/* Loads the words of a thread's group of a full tile, which are UNROLL loads of 16 bytes for each
   of a block's threads. `from` is where the thread's first one is. */
template <int UNROLL, int BLOCK>
__device__ static __forceinline__ void load_words(uint32_t *words, const uint4 *from)
{
#pragma unroll
    for (int j = 0; j < UNROLL; j++) {
        uint4 v = load_16_bytes(from + j * BLOCK);
        words[4 * j] = v.x;
        words[4 * j + 1] = v.y;
        words[4 * j + 2] = v.z;
        words[4 * j + 3] = v.w;
    }
}

/* Loads elements of tiles of `data`. */
template <int UNROLL, int BLOCK = THREADS>
__device__ static __forceinline__ void load_words(uint32_t *words, const void *data, unsigned tile)
{
    load_words<UNROLL, BLOCK>(words,
                              (const uint4 *)data + (size_t)tile * BLOCK * UNROLL + threadIdx.x);
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
