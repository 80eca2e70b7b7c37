/*
 * The reducer of integers: what one thread does with its groups. Sums are integers of 64 bits, in
 * as many parts as they need; nothing is rounded and nothing overflows.
 */
#ifndef GPUREDUCE_CUDA_INTEGER_REDUCER_CUH
#define GPUREDUCE_CUDA_INTEGER_REDUCER_CUH

#include "cuda/merge.cuh"
#include "cuda/moments_state.cuh"
#include "cuda/tuning.h"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"

template <bool LARGE> struct group_sum {
    typedef int32_t type;
    typedef uint32_t unsigned_type;
};
template <> struct group_sum<true> {
    typedef int64_t type;
    typedef uint64_t unsigned_type;
};

/* A trait for each row of ELEMENT_INTEGER_TABLE: `element` as the machine has it. */
template <typename Element, bool IS_TRUTH = false> struct integer_type {
    /* Holds any magnitude. */
    typedef typename group_sum<(sizeof(Element) > 4)>::unsigned_type magnitude;
    /* The types that sums of a group's elements and magnitudes need. */
    typedef typename group_sum<(sizeof(Element) > 2)>::type sum;
    typedef typename group_sum<(sizeof(Element) > 2)>::unsigned_type magnitudes;
    typedef Element element;
    static const bool TRUTH = IS_TRUTH;
    static const bool SIGNED = (Element)-1 < (Element)0;
};
typedef integer_type<int8_t> i8;
typedef integer_type<int16_t> i16;
typedef integer_type<int32_t> i32;
typedef integer_type<int64_t> i64;
typedef integer_type<uint8_t> u8;
typedef integer_type<uint16_t> u16;
typedef integer_type<uint32_t> u32;
typedef integer_type<uint64_t> u64;
typedef integer_type<uint8_t, true> truth;

/* The sum of a block: limbs of 32 bits, the least significant first, each of which has room for
   carries. The last is signed. */
template <int LIMBS> struct limbs {
    unsigned long long limb[LIMBS];

    __device__ void clear()
    {
        if (threadIdx.x < LIMBS)
            limb[threadIdx.x] = 0;
    }

    /* Adds the parts of a warp's threads, at bit 64 i. The upper half of the last part may be
       signed. All of them together. */
    __device__ __forceinline__ void add(int i, uint64_t part)
    {
        const bool last = 2 * i + 2 == LIMBS;
        const unsigned long long lower = sum_of_warp((unsigned long long)(part & 0xffffffffu));
        const unsigned long long upper =
            sum_of_warp((unsigned long long)(last ? (int64_t)part >> 32 : (int64_t)(part >> 32)));

        if (threadIdx.x % 32 != 0)
            return;
        if (lower != 0)
            atomicAdd(&limb[2 * i], lower);
        if (upper != 0)
            atomicAdd(&limb[2 * i + 1], upper);
    }

    /* Adds them to the digits of an exact number whose bit `one` weighs 1. All threads of the block
       together, after a barrier. A limb is below 2^41 in magnitude. */
    __device__ void add_to(int64_t *digits, int one) const
    {
        typedef unsigned long long digit;

        if (threadIdx.x >= LIMBS || limb[threadIdx.x] == 0)
            return;
        const uint64_t x = (uint64_t)limb[threadIdx.x] << one % EXACT_DIGIT_BITS;
        digit *to = (digit *)digits + one / EXACT_DIGIT_BITS + threadIdx.x;

        atomicAdd(to, (digit)(x & 0xffffffffu));
        atomicAdd(to + 1, (digit)((int64_t)x >> 32));
    }
};

struct integer_memory {
    struct limbs<4> sum, absolute;
    struct limbs<6> squares;
    struct block_small small;

    __device__ void clear()
    {
        sum.clear();
        absolute.clear();
        squares.clear();
        if (threadIdx.x == 0)
            small.clear();
    }
};

/* Words of two elements, as missing_words takes them. */
struct two_halves {
    static const int PER_WORD = 2;
};

template <typename Type, bool HAS_MISSING = false>
struct integer_reducer : thread_state<int64_t>, missing_state<HAS_MISSING> {
    typedef int64_t order;
    typedef typename Type::element element;
    typedef typename Type::magnitude narrow_magnitude;
    typedef struct integer_memory memory;
    static const int SIZE = sizeof(element);
    static const bool SIGNED = Type::SIGNED;
    static const int PER_LOAD = LOAD_BYTES / SIZE;
    static const int UNROLL = integer_tuning::UNROLL;
    static const int GROUP = UNROLL * PER_LOAD, GROUP_WORDS = UNROLL * LOAD_BYTES / 4;
    static const int TILE = THREADS * GROUP;
    typedef typename group_sum<(SIZE > 4)>::unsigned_type bits_of_element;
    typedef typename group_sum<(GROUP > 32)>::unsigned_type bits_of_group; /* an element each */

    struct group {
        uint32_t words[GROUP_WORDS];
    };

    memory *shared;
    /* Sums of elements and of magnitudes, in 128 bits, and of squares, in 192. */
    uint64_t sum[2], absolute[2], squares[3];
    struct small_counts small;
    uint64_t smallest; /* the least magnitude, where there is an element */

    __device__ void begin(memory *of_block, size_t elements)
    {
        thread_state<int64_t>::begin(elements);
        shared = of_block;
        sum[0] = sum[1] = absolute[0] = absolute[1] = 0;
        squares[0] = squares[1] = squares[2] = 0;
        small.clear();
        smallest = UINT64_MAX;
    }

    __device__ __forceinline__ static void load(struct group *g, const struct cuda_rows &rows,
                                                unsigned tile)
    {
        load_words<SIZE, UNROLL>(g->words, rows, tile);
    }

    /* The place of element i of the thread's group in the chunk. */
    __device__ __forceinline__ static uint64_t place(unsigned tile, int i)
    {
        return (uint64_t)tile * TILE + (i / PER_LOAD * THREADS + threadIdx.x) * PER_LOAD +
               i % PER_LOAD;
    }

    /* Loads what there is of the last tile, for find alone: there are zeros in place of the rest,
       which come after any that are there. Neither is unrolled: they run once. */
    __device__ static void load_part(struct group *g, const void *data, unsigned tile, size_t count)
    {
#pragma unroll 1
        for (int w = 0; w < GROUP_WORDS; w++)
            g->words[w] = 0;
#pragma unroll 1
        for (int i = 0; i < GROUP; i++) {
            const uint64_t at = place(tile, i);

            if (at < count) {
                const uint64_t x = (uint64_t)((const element *)data)[at];

                g->words[i * SIZE / 4] |= ((uint32_t)x & mask()) << i * SIZE % 4 * 8;
                if (SIZE == 8)
                    g->words[i * SIZE / 4 + 1] = (uint32_t)(x >> 32);
            }
        }
    }

    /* Ones in as many bits as an element has, up to 32. */
    __device__ static __forceinline__ uint32_t mask()
    {
        return SIZE == 1 ? 0xffu : SIZE == 2 ? 0xffffu : 0xffffffffu;
    }

    __device__ static __forceinline__ void arrange(group *g, bool swap)
    {
        if (SIZE == 1) {
            if (Type::TRUTH)
#pragma unroll
                for (int i = 0; i < GROUP_WORDS; i++) {
                    const uint32_t w = g->words[i];

                    /* The upper bit of each byte that is not 0; no byte carries into the next. */
                    g->words[i] = (w | ((w & 0x7f7f7f7fu) + 0x7f7f7f7fu)) >> 7 & 0x01010101u;
                }
            return;
        }
        if (!swap)
            return;
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i += SIZE == 8 ? 2 : 1) {
            const uint32_t w = __byte_perm(g->words[i], 0, SIZE == 2 ? 0x2301 : 0x0123);

            if (SIZE == 8) {
                g->words[i] = __byte_perm(g->words[i + 1], 0, 0x0123);
                g->words[i + 1] = w;
            } else {
                g->words[i] = w;
            }
        }
    }

    __device__ static __forceinline__ element at(const group *g, int i)
    {
        if (SIZE == 8)
            return (element)((uint64_t)g->words[2 * i + 1 < GROUP_WORDS ? 2 * i + 1 : 0] << 32 |
                             g->words[2 * i < GROUP_WORDS ? 2 * i : 0]);
        return (element)(g->words[i * SIZE / 4] >> i * SIZE % 4 * 8);
    }

    /* A number that is ordered as the element's key is. */
    __device__ static __forceinline__ order order_of_element(element x)
    {
        return SIZE == 8 && !SIGNED ? (int64_t)((uint64_t)x ^ UINT64_C(1) << 63) : (int64_t)x;
    }

    __device__ static __forceinline__ uint64_t magnitude(element x)
    {
        return is_negative(x) ? -(uint64_t)x : (uint64_t)x;
    }
    __device__ static __forceinline__ bool is_negative(element x)
    {
        return SIGNED && (int64_t)x < 0;
    }

    /* total += x, in 64 bits and what they carry. */
    __device__ static __forceinline__ void add_carrying(uint64_t *low, uint64_t *high, uint64_t x)
    {
        *low += x;
        *high += *low < x;
    }

    /* Any order is that of a number: the greatest, too, has a tile. */
    __device__ __forceinline__ void take_extremes(order low, order high, unsigned tile)
    {
        if (low < this->least.order || this->least.tile == ~0u) {
            this->least.order = low;
            this->least.tile = tile;
        }
        if (high < this->greatest.order || this->greatest.tile == ~0u) {
            this->greatest.order = high;
            this->greatest.tile = tile;
        }
    }
    __device__ __forceinline__ bool has_extremes() const
    {
        return !HAS_MISSING || this->least.tile != ~0u;
    }

    /* Sums of a group, of elements of up to 32 bits. */
    typedef typename Type::sum narrow_sum;
    struct group_sums {
        narrow_sum sum;
        typename Type::magnitudes absolute;
        uint64_t squares_low, squares_high;
    };

    __device__ __forceinline__ void take_sums(group_sums *s, element x)
    {
        if (SIZE == 8) {
            const uint64_t m = magnitude(x);

            add_carrying(&sum[0], &sum[1], (uint64_t)x);
            if (SIGNED)
                sum[1] += (uint64_t)((int64_t)x >> 63);
            const uint64_t low = m * m, high = __umul64hi(m, m);

            add_carrying(&absolute[0], &absolute[1], m);
            squares[0] += low;
            const uint64_t middle = high + (squares[0] < low); /* at most 2^64 - 1 */
            add_carrying(&squares[1], &squares[2], middle);
        } else {
            s->sum += (narrow_sum)x;
            const uint32_t m = (uint32_t)magnitude(x);

            if (SIGNED)
                s->absolute += m;
            if (SIZE <= 2) {
                s->squares_low += (uint64_t)m * m;
            } else {
                const uint64_t square = (uint64_t)m * m;

                s->squares_low += (uint32_t)square;
                s->squares_high += square >> 32;
            }
        }
    }

    /* Adds what a group of narrow elements came to. */
    __device__ __forceinline__ void add_sums(const group_sums *s)
    {
        if (SIZE == 8)
            return;
        const int64_t total = s->sum;

        add_carrying(&sum[0], &sum[1], (uint64_t)total);
        sum[1] += (uint64_t)(total >> 63);
        add_carrying(&absolute[0], &absolute[1], SIGNED ? (uint64_t)s->absolute : (uint64_t)total);
        add_carrying(&squares[0], &squares[1], s->squares_low);
        add_carrying(&squares[0], &squares[1], s->squares_high << 32);
        squares[1] += s->squares_high >> 32;
    }

    /* The sums and counts of a group of bytes: a word at a time, by the instruction that adds up
       four products. They stay far below 2^31. Zeros have taken the place of `missing` elements. */
    __device__ __forceinline__ void take_bytes(const group *g, unsigned missing)
    {
        int total = 0, magnitudes = 0, square = 0;
        unsigned others = 0, negative = 0;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++) {
            const uint32_t w = g->words[i];

            if (SIGNED) {
                total = __dp4a((int)w, 0x01010101, total);
            } else {
                total = (int)__dp4a(w, 0x01010101u, (unsigned)total);
            }
            if (SIGNED) {
                /* 1, or -1 where the byte is negative. */
                const uint32_t signs = 0x01010101u + (w >> 7 & 0x01010101u) * 0xfe;

                magnitudes = __dp4a((int)w, (int)signs, magnitudes);
                square = __dp4a((int)w, (int)w, square);
                negative += (unsigned)__popc(w & 0x80808080u);
            } else {
                square = (int)__dp4a(w, w, (unsigned)square);
            }
            others += (unsigned)__popc((w | ((w & 0x7f7f7f7fu) + 0x7f7f7f7fu)) & 0x80808080u);
        }
        const group_sums s = {(narrow_sum)total, (typename Type::magnitudes)magnitudes,
                              (uint64_t)square, 0};

        add_sums(&s);
        small.zeros += GROUP - others - missing;
        small.negative += negative;
    }

    __device__ static __forceinline__ bits_of_element bits_at(const group *g, int i)
    {
        return SIZE == 8 ? (bits_of_element)at(g, i) : (bits_of_element)at(g, i) & mask();
    }

    __device__ static __forceinline__ unsigned count_bits(bits_of_group bits)
    {
        return (unsigned)(GROUP > 32 ? __popcll(bits) : __popc((unsigned)bits));
    }

    /* Puts zeros in the place of missing bytes. */
    __device__ static __forceinline__ void clear_bytes(group *g, bits_of_group gone)
    {
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++) {
            /* Four bits: the lowest of a byte each. */
            const uint32_t ones = (uint32_t)(gone >> 4 * i & 15) * 0x00204081u & 0x01010101u;

            g->words[i] &= ~(ones * 255);
        }
    }

    /* The least and the greatest of each half of two words. */
    __device__ static __forceinline__ uint32_t least_halves(uint32_t a, uint32_t b)
    {
        return SIGNED ? __vmins2(a, b) : __vminu2(a, b);
    }
    __device__ static __forceinline__ uint32_t greatest_halves(uint32_t a, uint32_t b)
    {
        return SIGNED ? __vmaxs2(a, b) : __vmaxu2(a, b);
    }

    /* Takes a group of halves of words, of which one number is missing: two at once. The type's least
       number takes the place of those, which is no new greatest one, and the least magnitude of
       none that has a sign; what it adds to sums and counts is taken away. */
    __device__ __forceinline__ void take_halves(const group *g, unsigned tile)
    {
        const uint32_t least_number = SIGNED ? 0x80008000u : 0;
        const int64_t magnitude_of_least = SIGNED ? 0x8000 : 0;
        struct missing_words<two_halves> wanted;
        uint32_t low = ~least_number, high = least_number, ones = 0;
        narrow_magnitude least = (narrow_magnitude)-1;
        group_sums s = {0, 0, 0, 0};
        unsigned zeros = 0, negative = 0;

        wanted.begin(&this->missing_set()->ranges[0]);
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++) {
            const uint32_t one = wanted.template present<false>(g->words[i]);
            const uint32_t present = one * 0xffffu, there = g->words[i] & present;
            const uint32_t both = there | (least_number & ~present);

            ones += one;
            low = least_halves(low, there | (~least_number & ~present));
            high = greatest_halves(high, both);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const element x = (element)(both >> 16 * half);

                if (SIGNED)
                    least = min(least, (narrow_magnitude)magnitude(x));
                take_sums(&s, x);
                zeros += x == 0;
                negative += is_negative(x);
            }
        }
        const unsigned missing = GROUP - (ones & 0xffff) - (ones >> 16);

        this->count_missing(missing);
        if (missing == GROUP)
            return;
        s.sum += (narrow_sum)(magnitude_of_least * missing);
        if (SIGNED)
            s.absolute -= (uint32_t)(magnitude_of_least * missing);
        s.squares_low -= (uint64_t)(magnitude_of_least * magnitude_of_least) * missing;
        add_sums(&s);
        small.zeros += SIGNED ? zeros : zeros - missing;
        small.negative += SIGNED ? negative - missing : negative;

        const element first = min((element)low, (element)(low >> 16));
        const element last = max((element)high, (element)(high >> 16));

        take_extremes(order_of_element(first), ~order_of_element(last), tile);
        smallest = min(smallest, SIGNED ? (uint64_t)least : (uint64_t)first);
    }

    __device__ __forceinline__ void take(group *g, unsigned tile)
    {
        if (HAS_MISSING && SIZE == 2 && this->missing_set()->count == 1 &&
            this->missing_set()->ranges[0].distance == 0)
            take_halves(g, tile);
        else
            take_one_by_one(g, tile);
    }

    __device__ __forceinline__ void take_one_by_one(group *g, unsigned tile)
    {
        const bits_of_group gone =
            this->template find_missing<bits_of_group, bits_of_element, GROUP>(
                [&](int i) { return bits_at(g, i); });
        const unsigned missing = HAS_MISSING ? count_bits(gone) : 0;
        group_sums s = {0, 0, 0, 0};
        element low = at(g, 0), high = low;
        narrow_magnitude least = (narrow_magnitude)magnitude(low);
        unsigned zeros = 0, negative = 0;

        if (HAS_MISSING) {
            high = SIGNED ? (element)((bits_of_element)1 << (8 * SIZE - 1)) : (element)0;
            low = (element)~high;
            least = (narrow_magnitude)-1;
        }
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            const bool present = !HAS_MISSING || !(gone >> i & 1);
            const element x = present ? at(g, i) : (element)0;

            low = present && x < low ? x : low;
            high = present && x > high ? x : high;
            if (SIGNED && present)
                least = min(least, (narrow_magnitude)magnitude(x));
            if (SIZE == 1)
                continue;
            take_sums(&s, x);
            zeros += present && x == 0;
            negative += is_negative(x);
        }
        if (SIZE == 1) {
            if (HAS_MISSING)
                clear_bytes(g, gone);
            take_bytes(g, missing);
        } else {
            add_sums(&s);
            small.zeros += zeros;
            small.negative += negative;
        }
        this->count_missing(missing);
        if (missing == GROUP)
            return;
        take_extremes(order_of_element(low), ~order_of_element(high), tile);
        smallest = min(smallest, SIGNED ? (uint64_t)least : (uint64_t)low);
    }

    /* The elements of the last tile, which is not full. */
    __device__ void take_part(const struct job *job, unsigned tile)
    {
#pragma unroll 1
        for (uint64_t i = (uint64_t)tile * TILE + threadIdx.x; i < job->count; i += THREADS) {
            group one;
            group_sums s = {0, 0, 0, 0};

#pragma unroll
            for (int w = 0; w < GROUP_WORDS; w++)
                one.words[w] = 0;
            if (SIZE == 8) {
                one.words[0] = ((const uint32_t *)job->rows.data)[2 * i];
                one.words[1] = ((const uint32_t *)job->rows.data)[2 * i + 1];
            } else {
                one.words[0] = (uint32_t)((const element *)job->rows.data)[i] & mask();
            }
            arrange(&one, job->swap);

            const element x = at(&one, 0);

            if (this->template find_missing<uint32_t, bits_of_element, 1>(
                    [&](int) { return bits_at(&one, 0); })) {
                this->count_missing(1);
                continue;
            }
            take_sums(&s, x);
            add_sums(&s);
            take_extremes(order_of_element(x), ~order_of_element(x), tile);
            small.zeros += x == 0;
            small.negative += is_negative(x);
            smallest = min(smallest, magnitude(x));
        }
    }

    /* The element_key of a magnitude as an ELEMENT_U64. */
    __device__ static __forceinline__ int64_t magnitude_key(uint64_t magnitude)
    {
        return (int64_t)(magnitude ^ UINT64_C(1) << 63);
    }

    /* Hands what the threads hold to the block: the sum, that of squares, and what is about
       magnitudes. All of its threads together. */
    template <bool SQUARES, bool MAGNITUDES> __device__ void finish()
    {
        shared->sum.add(0, sum[0]);
        shared->sum.add(1, sum[1]);
        for (int i = 0; SQUARES && i < 3; i++)
            shared->squares.add(i, squares[i]);
        if (!MAGNITUDES)
            return;
        shared->absolute.add(0, absolute[0]);
        shared->absolute.add(1, absolute[1]);
        /* The magnitude of the greatest changes nothing. */
        shared->small.take(&small, magnitude_key(smallest));
    }

    __device__ static unsigned find(const struct group *g, order wanted)
    {
        unsigned first = ~0u;

#pragma unroll 1
        for (int i = 0; i < GROUP; i++)
            if (order_of_element(at(g, i)) == wanted)
                first = min(first, (unsigned)place(0, i));
        return first;
    }
};

#endif
