/*
 * The findings of the reducers of moments of up to 32 bits besides sums: extremes, what is not
 * finite, zeros, signs and least magnitudes.
 */
#ifndef GPUREDUCE_CUDA_MOMENTS_COUNTER_CUH
#define GPUREDUCE_CUDA_MOMENTS_COUNTER_CUH

#include "cuda/moments_look.cuh"

/* Reducer is the one of the type's groups. With SUBNORMAL a group that has subnormal numbers and no
   zeros is counted at once, for types of which a word has one element. */
template <typename Type, typename Reducer, unsigned FINDS, bool SUBNORMAL>
struct moments_counter : Reducer {
    typedef thread_state<int32_t> state;
    typedef typename Reducer::group group;
    typedef moments_look<Type, Reducer> looks;
    typedef narrow_format<Type> format;
    static const int GROUP_WORDS = Reducer::GROUP_WORDS, PER_WORD = Type::PER_WORD;
    static_assert(!SUBNORMAL || PER_WORD == 1, "count_subnormal knows no smaller elements");

    struct small_counts small;
    uint32_t smallest; /* bits of the least magnitude; all ones: none */

    __device__ void begin(size_t elements)
    {
        this->state::begin(elements);
        small.clear();
        smallest = ~0u;
    }

    __device__ static __forceinline__ void arrange(group *g, bool swap)
    {
        if (swap)
#pragma unroll
            for (int i = 0; i < GROUP_WORDS; i++)
                g->words[i] = Type::swap(g->words[i]);
    }

    /* The subnormal numbers of a group without zeros. */
    __device__ __forceinline__ void count_subnormal(const group *g)
    {
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
            small.subnormal += fabsf(Type::element(g->words[i], 0)) < 0x1p-126f;
    }

    /* Takes all but the sums of a group; what is not finite becomes zeros. */
    __device__ __forceinline__ struct exponents take_group(group *g, unsigned tile)
    {
        typename Type::pair low = Type::view(g->words[0]), high = low;
        typename Type::pair least = magnitude_of<typename Type::pair>(g->words[0]);
        unsigned negative = 0;
        uint32_t gone = 0;

        if (Reducer::MISSING) {
            struct present_extremes<Type, true> extremes;

            gone = take_words(this, g->words, this->valid_of(tile), &extremes);
            low = extremes.low;
            high = extremes.high;
            least = extremes.nearest;
        } else {
#pragma unroll
            for (int i = 1; i < GROUP_WORDS; i++) {
                low = Type::least(low, Type::view(g->words[i]));
                high = Type::greatest(high, Type::view(g->words[i]));
                least = Type::least(least, magnitude_of<typename Type::pair>(g->words[i]));
            }
        }
        if (FINDS & PARTIAL_NEGATIVE)
#pragma unroll
            for (int i = 0; i < GROUP_WORDS; i += PER_WORD)
                negative =
                    PER_WORD == 1
                        ? negative + (g->words[i] >> 31)
                        : (unsigned)__dp4a(moments_signs(g->words[i], g->words[i + PER_WORD - 1]),
                                           ~0, (int)negative);

        const uint32_t l = *(const uint32_t *)&low, h = *(const uint32_t *)&high;
        const uint32_t s = *(const uint32_t *)&least;
        float lowest = Type::element(l, 0), highest = Type::element(h, 0);
        float nearest = Type::element(s, 0);

        if (PER_WORD == 2) {
            lowest = f32::least(lowest, Type::element(l, 1));
            highest = f32::greatest(highest, Type::element(h, 1));
            nearest = f32::least(nearest, Type::element(s, 1));
        }
        const bool special =
            !(lowest > __int_as_float((int)0xff800000) && highest < __int_as_float(0x7f800000));
        const uint32_t bits = __float_as_uint(nearest);
        struct exponents e;

        if (special) {
            typename looks::look l;

            l.g = *g;
            leave_out(&l, gone);
            looks::examine(&l, tile, this->count);
            *g = l.g;
            e = l.e;
            this->counts.take(&l.counts);
            small.take(&l.small);
            smallest = min(smallest, l.smallest);
            this->take_extremes(l.low, l.high, tile);
        } else if (Reducer::MISSING && lowest > highest) { /* all elements are missing */
            e = exponents{looks::FIELD_MAX, 0};
        } else {
            const uint32_t greatest =
                __float_as_uint(f32::greatest(highest, -lowest)) & 0x7fffffffu;
            uint32_t least_number = bits;

            if (SUBNORMAL && bits != 0 && bits >> 23 < (uint32_t)format::LEAST) {
                count_subnormal(g);
            } else if (bits >> 23 < (uint32_t)format::LEAST) {
                const group copy = *g;
                const struct looks::small_look l = looks::count_small(&copy);

                small.take(&l.counts);
                if (Reducer::MISSING)
                    small.zeros -= (unsigned)__popc(gone);
                least_number = l.least;
            }
            e = greatest == 0 ? exponents{looks::FIELD_MAX, 0}
                              : exponents{looks::field(least_number), looks::field(greatest)};
            smallest = min(smallest, bits);
            small.negative += negative;
            this->take_extremes(order_of(lowest), ~order_of(highest), tile);
        }
        return e;
    }

    /* Hands to the block what the thread has counted. */
    __device__ void hand_counts(struct block_small *block) const
    {
        block->take(&small,
                    smallest == ~0u ? NO_MAGNITUDE : exact_key((double)__uint_as_float(smallest)));
    }
};

#endif
