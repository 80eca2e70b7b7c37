/*
 * The reducer of the second kernel of moments_left.cuh: it puts all elements into exponent bins of
 * the block.
 *
 * It is two objects. State that each group needs is in registers; state that only a few groups
 * change is in memory, from where `look` takes it.
 */
#ifndef GPUREDUCE_CUDA_MOMENTS_REDUCER_LEFT_CUH
#define GPUREDUCE_CUDA_MOMENTS_REDUCER_LEFT_CUH

#include "cuda/merge.cuh"
#include "cuda/reducer32.cuh"
#include "cuda/moments_bins.cuh"
#include "cuda/moments_counter.cuh"
#include "cuda/moments_skim.cuh"
#include "cuda/square_accumulator.cuh"

/* State that changes in groups with something new. */
template <unsigned FINDS>
struct moments_left_state : moments_counter<f32_left, reducer<f32_left, false, false>, FINDS, true> {
    typedef reducer<f32_left, false, false> base;
    typedef moments_counter<f32_left, base, FINDS, true> counter;
    typedef typename base::group group;
    typedef typename base::sum_accumulator sum_accumulator;
    typedef square_accumulator<56, 24> squares_accumulator;
    typedef moments_memory<sum_accumulator, squares_accumulator> memory;
    static const bool ABSOLUTE = (FINDS & PARTIAL_ABSOLUTE) != 0;

    /* Takes all but the sums of a group; or, if it is `known`, nothing. Elements that are not
       finite become zeros. */
    __device__ __noinline__ void look(group *g, unsigned tile, bool known)
    {
        if (known)
            for (int i = 0; i < base::GROUP_WORDS; i++)
                g->words[i] = (g->words[i] & 0x7f800000u) == 0x7f800000u ? 0 : g->words[i];
        else
            this->take_group(g, tile);
    }

    /* Hands to the block what the thread has counted. */
    __device__ void finish(memory *shared)
    {
        this->hand_counts(&shared->small);
    }
};

template <unsigned FINDS> struct moments_left_reducer {
    typedef moments_left_state<FINDS> rarely;
    typedef typename rarely::group group;
    typedef block_bins<rarely::ABSOLUTE, rarely::BLOCK> bins_of_block;
    /* A thread takes a group a tile, and so many tiles a round. */
    static const unsigned ROUND = 32;
    /* So many rounds go to the bins before they have to be emptied. */
    static const unsigned ROUNDS_MAX =
        bins_of_block::ADDITIONS_MAX / (rarely::BLOCK / 32 * rarely::GROUP * ROUND);
    static_assert(ROUNDS_MAX >= 1 && ROUNDS_MAX * ROUND * rarely::GROUP < moments_skim::SUBNORMAL,
                  "bins, or counts, overflow");

    bins_of_block bins;
    moments_skim seen;
    uint32_t counted; /* by skim */

    __device__ void begin(void *dynamic, const struct partial *partial)
    {
        bins.begin(dynamic);
        seen.begin(partial);
        counted = 0;
    }

    /* Takes the warp's groups of full tiles, as many as `todo` has bits, which are side by side:
       from `tile` on and each `step` tiles further. Returns the bits of those that have to be
       looked at; these it has not taken. Loads run a tile ahead. There are no calls here, for which
       registers would go to memory. */
    __device__ __forceinline__ uint32_t take_round(const struct job *job, unsigned tile,
                                                   uint32_t todo, unsigned step)
    {
        unsigned count = (unsigned)__popc(todo);
        uint32_t left = 0;
        group next;

        rarely::load(&next, job->rows, tile);
#pragma unroll 1
        for (uint32_t bit = todo & -todo; count > 0; bit *= 2) {
            group g = next;

            count--;
            tile = opaque(tile + step);
            if (count > 0)
                rarely::load(&next, job->rows, tile);
            rarely::arrange(&g, job->swap);
            if (seen.skim(g.words, &counted))
                add(&g);
            else
                left |= bit;
        }
        return left;
    }

    /* Takes the warp's group of a tile, of which all but sums is known, or not. */
    __device__ __forceinline__ void take(const struct job *job, unsigned tile, bool known,
                                         rarely *state)
    {
        group g;

        fetch<rarely>(&g, job, tile);
        state->look(&g, tile, known);
        seen.note(state->least.order, ~state->greatest.order, state->smallest);
        add(&g);
    }

    __device__ __forceinline__ void add(const group *g)
    {
#pragma unroll
        for (int i = 0; i < rarely::GROUP_WORDS; i++)
            bins.take(g->words[i]);
    }

    /* Hands what the threads hold to the block, or to `state`. All its threads together. */
    __device__ __forceinline__ void empty(typename rarely::memory *shared, rarely *state)
    {
        bins_of_block::empty(bins.bins, &shared->accumulator, &shared->absolute, &shared->squares);
        state->small.negative += counted % moments_skim::SUBNORMAL;
        state->small.subnormal += counted / moments_skim::SUBNORMAL;
        counted = 0;
    }
};

#endif
