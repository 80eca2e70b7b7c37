/*
 * Missing elements: how a thread finds which of those that it has loaded they are. Kernels that
 * leave out missing elements put zeros in their place, which change no sum; and skip them where they
 * look for extremes.
 */
#ifndef GPUREDUCE_CUDA_MISSING_CUH
#define GPUREDUCE_CUDA_MISSING_CUH

#include "cuda/missing.h"
#include "cuda/types.cuh"

/* Says which of COUNT elements are missing: bit n is that of the element whose bits, as a Word, are
   bits(n). A Mask has COUNT bits. Most sets are one value: that takes one comparison. */
template <typename Mask, typename Word, int COUNT, typename Bits>
__device__ static __forceinline__ Mask missing_among(const struct cuda_missing *set,
                                                     const Bits &bits)
{
    static_assert(COUNT <= 8 * sizeof(Mask), "a bit each");
    const Word all = (Word) ~(Word)0;
    Mask gone = 0;

#pragma unroll 1
    for (unsigned i = 0; i < set->count; i++) {
        const Word mask = (Word)set->ranges[i].mask, first = (Word)set->ranges[i].first;
        const Word distance = (Word)set->ranges[i].distance;

        if (mask == all && distance == 0) {
#pragma unroll
            for (int n = 0; n < COUNT; n++)
                gone |= (Mask)(bits(n) == first) << n;
        } else {
#pragma unroll
            for (int n = 0; n < COUNT; n++)
                gone |= (Mask)((bits(n) & mask) - first <= distance) << n;
        }
    }
    return gone;
}

/* A thread's missing elements; nothing, where none is missing. */
template <bool HAS_MISSING> struct missing_state {
    static const bool MISSING = false;

    __device__ __forceinline__ void begin_missing(const struct cuda_missing *)
    {
    }
    __device__ __forceinline__ const struct cuda_missing *missing_set() const
    {
        return nullptr;
    }
    template <typename Mask, typename Word, int COUNT, typename Bits>
    __device__ __forceinline__ Mask find_missing(const Bits &) const
    {
        return 0;
    }
    __device__ __forceinline__ void count_missing(unsigned)
    {
    }
};
template <> struct missing_state<true> {
    static const bool MISSING = true;
    const struct cuda_missing *wanted;
    unsigned missing;

    __device__ __forceinline__ void begin_missing(const struct cuda_missing *set)
    {
        wanted = set;
        missing = 0;
    }
    __device__ __forceinline__ const struct cuda_missing *missing_set() const
    {
        return wanted;
    }
    template <typename Mask, typename Word, int COUNT, typename Bits>
    __device__ __forceinline__ Mask find_missing(const Bits &bits) const
    {
        return missing_among<Mask, Word, COUNT>(wanted, bits);
    }
    __device__ __forceinline__ void count_missing(unsigned count)
    {
        missing += count;
    }
};

/*
 * Groups of words of 32 bits, of one element or two each: bit i is that of the first element of word
 * i, and 16 bits further is that of the second.
 */

/* The bits of a Type's word for which there are bits of elements: ones for those that are not
   missing. */
template <typename Type>
__device__ static __forceinline__ uint32_t present_bits(uint32_t gone, int word)
{
    return Type::PER_WORD == 1 ? (gone >> word & 1) - 1 : ~((gone >> word & 0x00010001) * 0xffff);
}

/* Whether an element is missing. */
template <typename Type>
__device__ static __forceinline__ bool is_missing(uint32_t gone, int word, int half)
{
    return gone >> (word + 16 * half) & 1;
}

/* The least of each element of two words, without signs. */
template <typename Type>
__device__ static __forceinline__ uint32_t least_bits(uint32_t a, uint32_t b)
{
    return Type::PER_WORD == 1 ? min(a, b) : __vminu2(a, b);
}

/* A range of missing elements that needs no more than a comparison: one number, of one sign or of
   both, or, with UP, all bits from the first on, as NaNs are. Each element of a word has them. */
template <typename Type> struct missing_words {
    uint32_t mask, first;

    __device__ __forceinline__ void begin(const struct cuda_missing_range *range)
    {
        const uint32_t twice = Type::PER_WORD == 1 ? 1 : 0x00010001;

        mask = (uint32_t)range->mask;
        first = (uint32_t)range->first;
        if (Type::PER_WORD == 2) {
            mask = (mask & 0xffff) * twice;
            first *= twice;
        }
    }

    /* 1 for each element of a word that is not missing. */
    template <bool UP> __device__ __forceinline__ uint32_t present(uint32_t word) const
    {
        uint32_t x = word & mask;

        if (UP)
            x = least_bits<Type>(x, first);
        return least_bits<Type>(x ^ first, Type::PER_WORD == 1 ? 1 : 0x00010001);
    }
};

/* The extremes of elements that are not missing, by the Type's least() and greatest(), and, with
   MAGNITUDES, the least magnitude; without any, +inf, -inf and +inf. */
template <typename Type, bool MAGNITUDES> struct present_extremes {
    typename Type::pair low, high, nearest;

    __device__ __forceinline__ void begin()
    {
        low = nearest = Type::view(Type::INFINITY_BITS);
        high = Type::view(Type::INFINITY_BITS | signs());
    }
    __device__ static __forceinline__ uint32_t signs()
    {
        return Type::PER_WORD == 1 ? 1u << 31 : 0x80008000u;
    }

    /* Takes a word, of which `present` has ones in the bits of elements that are not missing. Zeros
       take the place of the others. */
    __device__ __forceinline__ void take(uint32_t *word, uint32_t present)
    {
        const uint32_t infinity = Type::INFINITY_BITS;
        const uint32_t positive = (*word & present) | (infinity & ~present);

        low = Type::least(low, Type::view(positive));
        if (MAGNITUDES)
            nearest = Type::least(nearest, magnitude_of<typename Type::pair>(positive));
        high =
            Type::greatest(high, Type::view((*word & present) | ((infinity | signs()) & ~present)));
        *word &= present;
    }
};

/* Takes the words of a group of which a range is missing; the bits of those. */
template <typename Type, bool UP, bool MAGNITUDES, int WORDS>
__device__ static __forceinline__ uint32_t
take_present_words(const struct cuda_missing_range *range, uint32_t (&words)[WORDS],
                   struct present_extremes<Type, MAGNITUDES> *extremes)
{
    struct missing_words<Type> missing;
    uint32_t present = 0;

    missing.begin(range);
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        const uint32_t ones = missing.template present<UP>(words[i]);

        present += ones << i;
        extremes->take(&words[i], ones * (Type::PER_WORD == 1 ? ~0u : 0xffffu));
    }
    return ~present;
}

/* Takes the words of a group, of which the first `valid` elements are in the chunk: finds the missing
   elements, counts those, and takes the others. Returns the bits of missing elements. */
template <typename Type, bool MAGNITUDES, typename State, int WORDS>
__device__ static __forceinline__ uint32_t
take_words(State *state, uint32_t (&words)[WORDS], int valid,
           struct present_extremes<Type, MAGNITUDES> *extremes)
{
    static_assert(!State::MISSING || WORDS * Type::PER_WORD == 32, "a bit each");
    const struct cuda_missing *set = state->missing_set();
    uint32_t there = ~0u, gone;

    if (!State::MISSING)
        return 0;
    const struct cuda_missing_range *range = &set->ranges[0];

    extremes->begin();
    if (set->count == 1 && range->distance == 0) {
        gone = take_present_words<Type, false>(range, words, extremes);
    } else if (set->count == 1 && range->first + range->distance == range->mask) {
        gone = take_present_words<Type, true>(range, words, extremes);
    } else {
        gone = state->template find_missing<uint32_t, uint32_t, 32>([&](int n) {
            const uint32_t w = words[n % WORDS];

            return Type::PER_WORD == 1 ? w : n < WORDS ? w & 0xffff : w >> 16;
        });
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            extremes->take(&words[i], present_bits<Type>(gone, i));
    }
    if (valid < 32)
        there = Type::PER_WORD == 1 ? (1u << valid) - 1
                                    : ((1u << (valid + 1) / 2) - 1) | ((1u << valid / 2) - 1) << 16;
    state->count_missing((unsigned)__popc(gone & there));
    return gone;
}

#endif
