/*
 * Shared by the kernels of tallies: their job, how a thread loads elements, and counters.
 *
 * Counters of a launch lie in shared memory, and are added to those in global memory at the end of
 * each block. Data decide which counters are hot, constant data at worst; so:
 *
 *   wide     where they are few: 32 bits each, and several copies of each, side by side, one for
 *            lanes in turn. With 32 copies no two lanes of a warp ever meet in a bank
 *   packed   where one copy of that is too much: two counters of 16 bits in a word. The thread that
 *            makes one reach 2^15 moves as much to global memory at once, and a barrier after each
 *            tile ensures that nobody can add so much meanwhile that it overflows
 *   remote   where that is too much, too: in global memory. A counter that nobody reads is left out:
 *            if it is that of most elements, they would all wait for it
 *
 * With fewer than 32 copies, 16 bytes that all threads of a warp have alike are counted by one of
 * them.
 */
#ifndef GPUREDUCE_CUDA_TALLY_JOB_CUH
#define GPUREDUCE_CUDA_TALLY_JOB_CUH

#include <stdint.h>

#include "cuda/missing.cuh"
#include "cuda/rows.cuh"
#include "cuda/tally_launch.h"

#ifndef DYNAMIC_SHARED
#    define DYNAMIC_SHARED(name) extern __shared__ uint4 name[]
#endif

/* Threads of a block: shared memory is for one block a multiprocessor where counters are many, and
   that is to have enough loads in flight. */
#ifndef TALLY_THREADS
#    define TALLY_THREADS 1024
#endif
static const unsigned TALLY_LANES = 32, TALLY_ALL_LANES = 0xffffffffu;
static_assert(TALLY_THREADS % 32 == 0, "whole warps");

/* A launch, for the kernels. */
struct tally_job {
    struct cuda_rows rows;
    uint64_t count; /* elements */
    bool swap;
    /* How many counters `counts` has, and a block, which has as many but for near integers, and where they are
       remote, when it has none that nobody reads. */
    unsigned size, counters;
    unsigned long long *counts;
    unsigned copies; /* wide counters: of each, a power of two up to 32 */

    /* TALLY_CELLS. Keys are made of bits as by order_key: all but the sign are changed where the
       sign is set, if `turn` has them, and those in `flip` always. */
    const struct cuda_tally_cells *cells;
    unsigned cell_count;
    uint64_t turn, flip, greatest;
    void *kept;
    uint64_t room; /* elements */
    unsigned kept_cells, fine_bits;

    /* TALLY_WORDS. */
    unsigned shift;

    /* TALLY_BINS, as the plan has them. */
    uint32_t bins;
    double low, scale;
    /* The place of a binary32 element x, from 0 below the bins to 1 above them: (x - low32) part32 + half32. Times
       bins32, the bins and 1, it is the number of its bin if one is nearer than near32, which is 0 where places are
       not precise enough. */
    float low32, part32, half32, bins32, near32;
    uint32_t closed_key; /* an integer that counts as the one before it */
    const double *bound;
    const uint64_t *bound_key;
    uint64_t first_key, last_key; /* `first_key`: the first bound */
    uint32_t reached, base;
    bool holds_none;

    struct cuda_missing missing; /* for kernels that leave out missing elements */
};

/* Holds the bits of an element. */
template <bool LARGE> struct tally_bits {
    typedef uint32_t type;
};
template <> struct tally_bits<true> {
    typedef uint64_t type;
};

/* The elements that a thread loads of a tile: of SIZE bytes, in LOADS loads of 16 bytes. */
template <int SIZE, int LOADS, bool MISSING> struct tally_group {
    static const int ALL = LOADS, PER_LOAD = 16 / SIZE, COUNT = PER_LOAD * LOADS;
    static const unsigned TILE = TALLY_THREADS * COUNT;
    typedef typename tally_bits<(SIZE > 4)>::type bits_of_element;
    uint4 load[LOADS];
    unsigned valid[LOADS]; /* elements of each that there are */
    uint32_t gone;         /* a bit for each element: set if it is missing */

    __device__ static __forceinline__ uint32_t swap_word(uint32_t w)
    {
        return SIZE >= 4 ? __byte_perm(w, 0, 0x0123) : SIZE == 2 ? __byte_perm(w, 0, 0x2301) : w;
    }

    /* The first `count` elements of unit number `at`, and zeros: nothing behind them is read. */
    __device__ static __forceinline__ uint4 fetch_part(const struct cuda_rows &rows, uint64_t at,
                                                       unsigned count)
    {
        uint32_t word[4] = {0, 0, 0, 0};

#pragma unroll
        for (int i = 0; i < PER_LOAD; i++) {
            if ((unsigned)i >= count)
                continue;

            const uint64_t x = *(const typename word_of<SIZE>::type *)cuda_rows_at(
                &rows, SIZE, at * PER_LOAD + (unsigned)i);

            word[i * SIZE / 4] |= (uint32_t)x << i * SIZE % 4 * 8;
            if (SIZE == 8)
                word[(i * SIZE / 4 + 1) % 4] = (uint32_t)(x >> 32);
        }
        return make_uint4(word[0], word[1], word[2], word[3]);
    }

    /* Whether a tile is full, and its elements are in a row, too, which all threads agree on. `tile` is below
       2^30, and so is the number of elements. */
    __device__ static __forceinline__ bool is_full(const struct tally_job *job, unsigned tile)
    {
        return job->count >= ((uint64_t)tile + 1) * TILE;
    }
    __device__ static __forceinline__ bool is_easy(const struct tally_job *job, unsigned tile)
    {
        return job->rows.row.inverse == 0 && is_full(job, tile);
    }
    /* The first load of the thread; the next ones are TALLY_THREADS further. */
    __device__ static __forceinline__ uint64_t first_load(unsigned tile)
    {
        return (uint64_t)tile * (TALLY_THREADS * LOADS) + threadIdx.x;
    }

    __device__ __forceinline__ void fetch(const struct tally_job *job, unsigned tile)
    {
        const bool full = is_full(job, tile), easy = is_easy(job, tile);

#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            const uint64_t at = first_load(tile) + (unsigned)j * TALLY_THREADS;
            const uint64_t first = at * PER_LOAD;

            valid[j] = full || first + PER_LOAD <= job->count ? PER_LOAD
                       : first >= job->count                  ? 0
                                                              : (unsigned)(job->count - first);
            load[j] = easy   ? ((const uint4 *)job->rows.data)[at]
                      : full ? load_apart<uint4, SIZE>(job->rows, at)
                             : fetch_part(job->rows, at, valid[j]);
        }
    }

    /* Makes what has been loaded elements, of which some are missing. */
    __device__ __forceinline__ void prepare(const struct tally_job *job)
    {
        if (job->swap)
            swap();
        if (MISSING)
            gone = missing_among<uint32_t, bits_of_element, COUNT>(&job->missing, [this](int e) {
                return (bits_of_element)bits(load[e / PER_LOAD], e % PER_LOAD);
            });
    }

    /* The compiler is not to keep what the elements of a load were converted to. */
    __device__ __forceinline__ void forget(int j)
    {
        asm volatile("" : "+r"(load[j].x), "+r"(load[j].y), "+r"(load[j].z), "+r"(load[j].w));
    }

    __device__ __forceinline__ bool is_missing(int j, int i) const
    {
        return MISSING && (gone >> (j * PER_LOAD + i) & 1);
    }

    /* Whether there is an element i of a load, which is not missing. */
    __device__ __forceinline__ bool has(int j, int i) const
    {
        return (unsigned)i < valid[j] && !is_missing(j, i);
    }

    /* Whether there are all elements of a load, and none is missing. */
    __device__ __forceinline__ bool is_whole(int j) const
    {
        return valid[j] == (unsigned)PER_LOAD &&
               !(MISSING && (gone >> j * PER_LOAD & ((1u << PER_LOAD) - 1)));
    }

    /* A bit for each element that there is, and that is not missing, of 32 at most. */
    __device__ __forceinline__ unsigned all() const
    {
        unsigned bits = 0;

#pragma unroll
        for (int j = 0; j < LOADS; j++)
            bits |= ((1u << valid[j]) - 1) << j * PER_LOAD;
        return MISSING ? bits & ~(unsigned)gone : bits;
    }

    __device__ __forceinline__ void swap()
    {
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            const uint4 v = load[j];

            if (SIZE == 8)
                load[j] =
                    make_uint4(swap_word(v.y), swap_word(v.x), swap_word(v.w), swap_word(v.z));
            else
                load[j] =
                    make_uint4(swap_word(v.x), swap_word(v.y), swap_word(v.z), swap_word(v.w));
        }
    }

    /* The bits of element i of a load. */
    __device__ static __forceinline__ uint64_t bits(const uint4 &v, int i)
    {
        const int word = i * SIZE / 4;
        const uint32_t w = word == 0 ? v.x : word == 1 ? v.y : word == 2 ? v.z : v.w;

        if (SIZE == 8)
            return (uint64_t)(word == 0 ? v.y : v.w) << 32 | w;
        if (SIZE == 4)
            return w;
        return w >> i * SIZE % 4 * 8 & ((1u << SIZE % 4 * 8) - 1);
    }

    /* Whether the eight bytes that all lanes of the warp have, twice each, are those of lane 0, and
       all elements are there. The same in all lanes, which all have to call it. */
    __device__ __forceinline__ bool is_uniform(int j) const
    {
        const uint4 v = load[j];
        const uint32_t x = __shfl_sync(TALLY_ALL_LANES, v.x, 0);
        const uint32_t y = __shfl_sync(TALLY_ALL_LANES, v.y, 0);

        return __all_sync(TALLY_ALL_LANES, v.x == x && v.y == y && v.z == x && v.w == y &&
                                               valid[j] == (unsigned)PER_LOAD) != 0;
    }
};

__device__ static __forceinline__ unsigned tally_lane(void)
{
    return threadIdx.x % TALLY_LANES;
}

/* The sum of a warp's x, in all its lanes. */
__device__ static __forceinline__ unsigned tally_add_warp(unsigned x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(TALLY_ALL_LANES, x);
#else
    for (int distance = 16; distance > 0; distance /= 2)
        x += __shfl_xor_sync(TALLY_ALL_LANES, x, distance);
    return x;
#endif
}

/*
 * Counters. All threads of a block call begin, between, after each tile, and end; add is any thread's own, and
 * takes a number from FIRST on. `memory` is the block's dynamic shared memory.
 */

struct tally_wide {
    unsigned *memory;
    unsigned copies, copy;
    uint32_t own, step; /* the address of the thread's copy in shared memory, and bytes between counters */

    static size_t bytes(size_t size, unsigned copies)
    {
        return size * copies * sizeof(unsigned);
    }

    __device__ __forceinline__ void begin(const struct tally_job *job, void *shared)
    {
        memory = (unsigned *)shared;
        copies = job->copies;
        copy = threadIdx.x & (copies - 1);
        step = copies * (unsigned)sizeof *memory;
#ifdef __CUDA_ARCH__
        own = (uint32_t)__cvta_generic_to_shared(memory + copy);
#endif
        for (unsigned i = threadIdx.x; i < job->counters * copies; i += TALLY_THREADS)
            memory[i] = 0;
        __syncthreads();
    }

    __device__ __forceinline__ bool spreads() const
    {
        return copies == TALLY_LANES;
    }

    template <unsigned FIRST = 0>
    __device__ __forceinline__ void add(const struct tally_job *, unsigned counter, unsigned n)
    {
#ifdef __CUDA_ARCH__
        /* An address takes one operation, whatever the first number is. */
        asm volatile("red.shared.add.u32 [%0], %1;"
                     :
                     : "r"(counter * step + (own - FIRST * step)), "r"(n)
                     : "memory");
#else
        atomicAdd(&memory[(counter - FIRST) * copies + copy], n);
#endif
    }

    __device__ __forceinline__ void between()
    {
    }

    template <typename Counter> __device__ __forceinline__ void end(const struct tally_job *job)
    {
        __syncthreads();
        for (unsigned i = threadIdx.x; i < job->counters; i += TALLY_THREADS) {
            unsigned long long n = 0;

            /* Each lane begins with a copy of its own: they would all be in one bank. */
            for (unsigned c = 0; c < copies; c++)
                n += memory[i * copies + ((c + copy) & (copies - 1))];
            if (n > 0)
                atomicAdd(job->counts + Counter::place(job, i), n);
        }
    }
};

struct tally_packed {
    static const unsigned FULL = 0x8000;
    unsigned *memory;

    static size_t bytes(size_t size)
    {
        return (size + 1) / 2 * sizeof(unsigned);
    }

    __device__ __forceinline__ void begin(const struct tally_job *job, void *shared)
    {
        memory = (unsigned *)shared;
        for (unsigned i = threadIdx.x; i < (job->size + 1) / 2; i += TALLY_THREADS)
            memory[i] = 0;
        __syncthreads();
    }

    __device__ __forceinline__ bool spreads() const
    {
        return false;
    }

    /* Between two barriers fewer than FULL are added, and a counter is below FULL behind each. */
    template <unsigned FIRST = 0>
    __device__ __forceinline__ void add(const struct tally_job *job, unsigned number, unsigned n)
    {
        const unsigned counter = number - FIRST;
        const unsigned shift = counter % 2 * 16;
        unsigned *const pair = &memory[counter / 2];
        const unsigned before = atomicAdd(pair, n << shift) >> shift & 0xffff;

        if (before < FULL && before + n >= FULL) {
            atomicAdd(pair, 0u - (FULL << shift));
            atomicAdd(job->counts + counter, (unsigned long long)FULL);
        }
    }

    __device__ __forceinline__ void between()
    {
        __syncthreads();
    }

    template <typename Counter> __device__ __forceinline__ void end(const struct tally_job *job)
    {
        __syncthreads();
        for (unsigned i = threadIdx.x; i < job->size; i += TALLY_THREADS) {
            const unsigned n = memory[i / 2] >> i % 2 * 16 & 0xffff;

            if (n > 0)
                atomicAdd(job->counts + i, (unsigned long long)n);
        }
    }
};

struct tally_remote {
    __device__ __forceinline__ void begin(const struct tally_job *, void *)
    {
    }

    __device__ __forceinline__ bool spreads() const
    {
        return false;
    }

    template <unsigned FIRST = 0>
    __device__ __forceinline__ void add(const struct tally_job *job, unsigned counter, unsigned n)
    {
        if (counter - FIRST < job->counters)
            atomicAdd(job->counts + (counter - FIRST), (unsigned long long)n);
    }

    __device__ __forceinline__ void between()
    {
    }

    template <typename Counter> __device__ __forceinline__ void end(const struct tally_job *)
    {
    }
};

#endif
