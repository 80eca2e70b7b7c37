/*
 * Missing elements: how a thread finds which of those that it has loaded they are. Kernels that
 * leave out missing elements put zeros in their place, which change no sum; and skip them where they
 * look for extremes.
 */
#ifndef GPUREDUCE_CUDA_MISSING_CUH
#define GPUREDUCE_CUDA_MISSING_CUH

#include "cuda/missing.h"

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

/* A word whose missing elements have the bits that they have in `other`. */
template <typename Type>
__device__ static __forceinline__ uint32_t present_or(uint32_t word, uint32_t gone, int i,
                                                      uint32_t other)
{
    const uint32_t present = present_bits<Type>(gone, i);

    return (word & present) | (other & ~present);
}

/* Whether an element is missing. */
template <typename Type>
__device__ static __forceinline__ bool is_missing(uint32_t gone, int word, int half)
{
    return gone >> (word + 16 * half) & 1;
}

/* Finds the missing elements among the words of a group, of which the first `valid` elements are in
   the chunk, and counts those. */
template <typename Type, typename State, int WORDS>
__device__ static __forceinline__ uint32_t find_missing_words(State *state,
                                                              const uint32_t (&words)[WORDS],
                                                              int valid)
{
    static_assert(!State::MISSING || WORDS * Type::PER_WORD == 32, "a bit each");
    uint32_t there = ~0u;

    if (!State::MISSING)
        return 0;
    const uint32_t gone = state->template find_missing<uint32_t, uint32_t, 32>([&](int n) {
        const uint32_t w = words[n % WORDS];

        return Type::PER_WORD == 1 ? w : n < WORDS ? w & 0xffff : w >> 16;
    });

    if (valid < 32)
        there = Type::PER_WORD == 1 ? (1u << valid) - 1
                                    : ((1u << (valid + 1) / 2) - 1) | ((1u << valid / 2) - 1) << 16;
    state->count_missing((unsigned)__popc(gone & there));
    return gone;
}

/* Finds the extremes of the elements that are not missing, by the Type's least() and greatest();
   without any, the least is +inf and the greatest -inf. Zeros take the place of those that are. */
template <typename Type, int WORDS>
__device__ static __forceinline__ void
find_present_extremes(uint32_t (&words)[WORDS], uint32_t gone, typename Type::pair *least,
                      typename Type::pair *greatest)
{
    const uint32_t infinity = Type::INFINITY_BITS,
                   sign = Type::PER_WORD == 1 ? 1u << 31 : 0x80008000u;
    typename Type::pair low = Type::view(infinity), high = Type::view(infinity | sign);

#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        low = Type::least(low, Type::view(present_or<Type>(words[i], gone, i, infinity)));
        high =
            Type::greatest(high, Type::view(present_or<Type>(words[i], gone, i, infinity | sign)));
        words[i] = present_or<Type>(words[i], gone, i, 0);
    }
    *least = low;
    *greatest = high;
}

#endif
