/*
 * The reduction kernel: one pass over a chunk gives its exact sum, extremes and counts.
 *
 * The chunk is cut into tiles, and blocks take them in turn. A thread takes a group of elements of
 * each tile, a few loads of 16 bytes, and adds them up where that is exact:
 *
 *  - binary32 and narrower: the group in binary64, once rounding down and once rounding up. The two
 *    totals are the same just when no addition was rounded. The total goes to the thread's
 *    expansion, two binary64 numbers. A warp with a group that does not fit adds its elements to
 *    bins instead, one binary64 in shared memory for every sixteen exponents, which do not round
 *    either; it tries groups again some tiles later.
 *  - binary64: every element is cut into slices on three fixed grids, each slice is added to an
 *    accumulator of its own (prerounding: J. Demmel, H. D. Nguyen, "Parallel reproducible
 *    summation", 2015). The grids reach 69 bits of exponents down from the largest element, and
 *    follow the data. A group that lies outside goes to the spill, and its warp leaves the rest of
 *    its tiles to a second kernel, which has bins for all exponents. Those take so much shared
 *    memory that only one block fits a multiprocessor, too few for the first kernel. On GPUs that
 *    have less of it all such groups go to the spill.
 *  - on GPUs with slow binary64 (tuning.h) the same slices in binary32 take the place of binary64.
 *
 * The spill takes any binary64: an integer in shared memory for every exponent, to which mantissas
 * are added (the "large superaccumulator" of R. M. Neal, "Fast exact summation using small and
 * large superaccumulators", 2015, in two halves, because GPUs add to 32-bit words natively). At the
 * end all of a block meets there, is cut into digits of base 2^32, and these are added to the
 * partial result in global memory.
 */
#include "config.h"

#include "engine/cuda/kernels.h"

#include <algorithm>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/exact.h"
#include "engine/cuda/tuning.h"

static const int WARPS = THREADS / 32;
static_assert(WARPS <= CUDA_WARPS_MAX, "more warps than there is room for in the scratch");
static const unsigned ALL_LANES = 0xffffffffu;
static const int LOAD_BYTES = 16;

/* The least of a warp, in all its lanes. */
__device__ static __forceinline__ int min_of_warp(int x)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(ALL_LANES, x);
#else
    for (int distance = 16; distance > 0; distance /= 2)
        x = min(x, __shfl_xor_sync(ALL_LANES, x, distance));
    return x;
#endif
}

/*
 * The spill: bucket e - FIRST holds an integer, which counts for 2^(e - 1075), the weight of the
 * last bit of a binary64 with biased exponent e. Its lower half is a 32-bit word that wraps around;
 * who sees it wrap carries into the upper half, which is signed. Any number of threads add at once.
 */
template <int FIRST, int LAST> struct buckets {
    /* One more group of buckets for what overflows from the last. */
    static const int BUCKETS = (LAST - FIRST + 32) / 32 * 32 + 32;
    /* FIRST - 1 is the bit of the fixed-point number at which bucket 0 begins, and a digit begins
       there. */
    static_assert((FIRST - 1) % EXACT_DIGIT_BITS == 0, "bucket 0 does not begin a digit");
    static_assert(BUCKETS + FIRST - 1 <= (EXACT_DIGITS - 2) * EXACT_DIGIT_BITS, "too wide");

    unsigned lower[BUCKETS];
    int upper[BUCKETS];

    __device__ void clear()
    {
        for (int i = threadIdx.x; i < BUCKETS; i += THREADS) {
            lower[i] = 0;
            upper[i] = 0;
        }
    }

    /* Adds an integer below 2^58 to a bucket. An upper half that has reached 2^29 moves on. Until
       then it may grow by 2^21 for each thread of the block, or by what a few add at the end, which
       together stay below 2^31. */
    __device__ void add_integer(int bucket, int64_t x)
    {
        const unsigned low = (unsigned)x;
        const unsigned before = atomicAdd(&lower[bucket], low);
        const int high = (int)(x >> 32) + (before + low < low);
        const int upper_before = atomicAdd(&upper[bucket], high);

        if (abs(upper_before) >= 1 << 29) {
            const int taken = atomicExch(&upper[bucket], 0);
            const unsigned there = atomicAdd(&lower[bucket + 32], (unsigned)taken);

            atomicAdd(&upper[bucket + 32], (taken >> 31) + (there + taken < (unsigned)taken));
        }
    }

    /* The bucket that counts in units of 2^exponent. */
    __device__ static __forceinline__ int bucket_of(int exponent)
    {
        return exponent + 1075 - FIRST;
    }

    /* Adds a finite x, zero or of an exponent from FIRST to LAST. */
    __device__ void add(double x)
    {
        const int high = __double2hiint(x);
        const int exponent = high >> 20 & 0x7ff;
        const int64_t fraction = (int64_t)(exact_bits(x) & 0xfffffffffffffu);
        const int64_t mantissa = fraction | (int64_t)(exponent != 0) << 52;

        if (mantissa != 0)
            add_integer(exponent - (exponent != 0) + 1 - FIRST, high < 0 ? -mantissa : mantissa);
    }

    /* Adds all of it to the digits in global memory. All threads of the block together. */
    __device__ void add_to(int64_t *digits) const
    {
        typedef unsigned long long digit;
        const int bit = threadIdx.x % 32;

        for (int group = threadIdx.x / 32; group < BUCKETS / 32; group += WARPS) {
            const uint64_t low = lower[group * 32 + bit];
            const int64_t high = upper[group * 32 + bit];

            unsigned used = __ballot_sync(ALL_LANES, low != 0 || high != 0);

            if (used == 0)
                continue;
            long long first = (long long)(low << bit & 0xffffffffu);
            long long second = (long long)((low << bit >> 32) + (high << bit & 0xffffffffu));
            long long third = high << bit >> 32;
            digit *to = (digit *)digits + (FIRST - 1) / EXACT_DIGIT_BITS + group;

            if (__popc(used) <= 4) { /* as ever with ordinary data */
                long long all[3] = {0, 0, 0};

                for (; used != 0; used &= used - 1) {
                    const int lane = __ffs((int)used) - 1;

                    all[0] += __shfl_sync(ALL_LANES, first, lane);
                    all[1] += __shfl_sync(ALL_LANES, second, lane);
                    all[2] += __shfl_sync(ALL_LANES, third, lane);
                }
                first = all[0];
                second = all[1];
                third = all[2];
            } else {
                for (int distance = 16; distance > 0; distance /= 2) {
                    first += __shfl_down_sync(ALL_LANES, first, distance);
                    second += __shfl_down_sync(ALL_LANES, second, distance);
                    third += __shfl_down_sync(ALL_LANES, third, distance);
                }
            }
            if (bit == 0) {
                if (first != 0)
                    atomicAdd(to, (digit)first);
                if (second != 0)
                    atomicAdd(to + 1, (digit)second);
                if (third != 0)
                    atomicAdd(to + 2, (digit)third);
            }
        }
    }
};

/*
 * Expansions: upper + lower is the exact sum of what was added.
 */
struct expansion {
    double upper, lower;
};

/* Adds x; returns what neither number could take. */
__device__ static __forceinline__ double add_lower(struct expansion *e, double x)
{
    double rest;

    e->lower = exact_two_sum(e->lower, x, &rest);
    return rest;
}

__device__ static __forceinline__ double add(struct expansion *e, double x)
{
    double rest;

    e->upper = exact_two_sum(e->upper, x, &rest);
    return rest == 0 ? 0 : add_lower(e, rest);
}

__device__ static __forceinline__ double power_of_two(int exponent)
{
    return exact_from_bits((uint64_t)(1023 + exponent) << 52);
}

/*
 * Bins: a thread's sums by exponent, in shared memory, which never round. Bin i of thread t is
 * element i * THREADS + t: a warp's bins of one number lie side by side, and no two of its threads
 * use the same bank at a time. The threads of a warp use their bins together, so they all have
 * taken the same number of elements.
 */
template <typename Sum, int BINS> struct bins {
    static const int ADDITIONS_MAX = 1 << (sizeof(Sum) == 16 ? 12 : sizeof(Sum) == 8 ? 13 : 9);
    typedef Sum memory[BINS * THREADS];

    Sum *first; /* the thread's bin 0 */
    int taken;  /* elements since they were zero; -1: not even that */

    __device__ void begin(memory shared)
    {
        first = shared + threadIdx.x;
        taken = -1;
    }

    __device__ void clear()
    {
#pragma unroll
        for (int i = 0; i < BINS; i++)
            first[i * THREADS] = Sum();
        taken = 0;
    }
};

/* For values of binary32: bin i takes biased exponents from 16 i to 16 i + 15. They are multiples
   of 2^(16 i - 150) below 2^(16 i - 111): 39 bits, so that 2^13 of them add up in binary64. */
struct wide_bins : bins<double, 16> {
    static const int UNIT_EXPONENT = -150;

    __device__ __forceinline__ void take(float x)
    {
        const unsigned bin = (__float_as_uint(x) & 0x7fffffffu) >> (23 + 4);

        first[bin * THREADS] += (double)x;
    }

    /* Sees to it that there is room for `count` more elements. */
    template <typename Spill> __device__ __forceinline__ void make_room(int count, Spill *spill)
    {
        if (taken < 0)
            clear();
        if (taken + count > ADDITIONS_MAX) {
            for (int i = 0; i < 16; i++)
                spill->add(first[i * THREADS]);
            clear();
        }
        taken += count;
    }

    /* Empties the bins of the block, by all its threads. */
    template <typename Spill> __device__ void finish(const memory shared, Spill *spill)
    {
        if (!__syncthreads_or(taken >= 0))
            return;
        if (taken < 0)
            clear();
        __syncthreads();
        for (int i = threadIdx.x / 32; i < 16; i += WARPS) {
            /* In units of the bin they are integers below 2^53, and 2^8 of them an int64_t. */
            const double scale = power_of_two(-UNIT_EXPONENT - 16 * i);
            const int bucket = Spill::bucket_of(UNIT_EXPONENT + 16 * i);
            long long total = 0;

            for (int t = threadIdx.x % 32; t < THREADS; t += 32)
                total += __double2ll_rn(shared[i * THREADS + t] * scale);
            for (int distance = 16; distance > 0; distance /= 2)
                total += __shfl_down_sync(ALL_LANES, total, distance);
            if (threadIdx.x % 32 == 0 && total != 0) {
                spill->add_integer(bucket, total & 0xffffffff);
                spill->add_integer(bucket + 32, total >> 32);
            }
        }
    }
};

/* Bins that a warp empties by itself, by Bins::empty. */
template <typename Bins, typename Sum, int BINS> struct warp_bins : bins<Sum, BINS> {
    typedef bins<Sum, BINS> base;

    template <typename Spill> __device__ __forceinline__ void make_room(int count, Spill *spill)
    {
        if (this->taken < 0)
            this->clear();
        if (this->taken + count > base::ADDITIONS_MAX) {
            static_cast<Bins *>(this)->empty(spill);
            this->clear();
        }
        this->taken += count;
    }

    template <typename Spill> __device__ void finish(const typename base::memory, Spill *spill)
    {
        if (this->taken > 0)
            static_cast<Bins *>(this)->empty(spill);
    }
};

/* For values of bfloat16: bin i takes biased exponents from 8 i to 8 i + 7, times 2^-10, so that
   sums stay in range. They are multiples of 2^(8 i - 144) below 2^(8 i - 129): 15 bits, so that 2^9
   of them add up in binary32. */
struct narrow_bins : warp_bins<narrow_bins, float, 32> {
    static const int UNIT_EXPONENT = -134; /* of the values themselves */
    static const int SCALE_EXPONENT = -10;

    __device__ __forceinline__ void take(float x)
    {
        const unsigned bin = (__float_as_uint(x) & 0x7fffffffu) >> (23 + 3);

        first[bin * THREADS] = __fmaf_rn(x, 0x1p-10f, first[bin * THREADS]);
    }

    /* Adds a warp's bins up, which are integers of 24 bits in their units; lane i is left with bin
       i, and spills it. */
    template <typename Spill> __device__ void empty(Spill *spill)
    {
        const int lane = threadIdx.x % 32;
        int mine = 0;

        /* Unrolled it would take registers from the main loop. */
#pragma unroll 1
        for (int i = 0; i < 32; i++) {
            const double scale = power_of_two(-UNIT_EXPONENT - SCALE_EXPONENT - 8 * i);
            int total = __double2int_rn((double)first[i * THREADS] * scale);

#if __CUDA_ARCH__ >= 800
            total = __reduce_add_sync(ALL_LANES, total);
#else
            for (int distance = 16; distance > 0; distance /= 2)
                total += __shfl_xor_sync(ALL_LANES, total, distance);
#endif
            if (lane == i)
                mine = total;
        }
        if (mine != 0)
            spill->add_integer(Spill::bucket_of(UNIT_EXPONENT + 8 * lane), mine);
    }
};

/*
 * For values of binary64: bin k takes biased exponents from 48 k to 48 k + 47, times 2^(1000 - 48
 * k), so that all bins look alike: multiples of 2^-75 below 2^25, of 100 bits. Each value is cut in
 * two at 2^-25, by adding 1.5 times a power of two whose last place that is; the bits of the sum
 * then count units. A bin is two integers, of at most 2^50 and 2^49 units a value: 2^12 of them add
 * up in 63 bits.
 */
struct alignas(16) slices {
    long long upper, lower;
};

struct widest_bins : warp_bins<widest_bins, slices, 43> {
    static const int EXPONENTS = 48;
    static const int SCALE_EXPONENT = 1000;
    static const int UPPER_EXPONENT = -25; /* of a unit, in bin 0, as scaled */
    static const int LOWER_EXPONENT = -75;
    static const int COLUMNS = 2 * 43;

    /* Which bin takes x, and in what it consists there. */
    __device__ __forceinline__ slices *cut(double x, slices *x_slices) const
    {
        /* 86 / 2^32 of the upper seven bits, which stand at bit 24, is a third of them. */
        const int k = __umulhi(__double2hiint(x) & 0x7f000000, 86);
        const double scale =
            __hiloint2double(((1023 + SCALE_EXPONENT) << 20) - k * (EXPONENTS << 20), 0);
        const double upper_origin = 0x1.8p27, lower_origin = 0x1.8p-23;
        const double upper = __fma_rn(x, scale, upper_origin);
        const double lower = __fma_rn(x, scale, -(upper - upper_origin)) + lower_origin;

        x_slices->upper = __double_as_longlong(upper) - __double_as_longlong(upper_origin);
        x_slices->lower = __double_as_longlong(lower) - __double_as_longlong(lower_origin);
        return first + k * THREADS;
    }

    /* Two values at a time: the first is not waited for until the second is under way. */
    __device__ __forceinline__ void take(double x, double y)
    {
        slices a, b;
        slices *const bin_a = cut(x, &a), *const bin_b = cut(y, &b);
        slices sum_a = *bin_a, sum_b = *bin_b;

        sum_a.upper += a.upper;
        sum_a.lower += a.lower;
        if (bin_a == bin_b)
            sum_b = sum_a;
        sum_b.upper += b.upper;
        sum_b.lower += b.lower;
        *bin_a = sum_a;
        *bin_b = sum_b;
    }

    /* Spills a warp's bins. A column is the upper or the lower integers of one number; each lane
       adds up one at a time, beginning with its own thread's, lest all be at the same bank. */
    template <typename Spill> __device__ void empty(Spill *spill)
    {
        const int lane = threadIdx.x % 32;
        const slices *const of_warp = first - lane;

        __syncwarp();
        for (int column = lane; column < COLUMNS; column += 32) {
            const int k = column / 2;
            const bool is_upper = column % 2 == 0;
            /* Bin 0 has subnormals, whose exponent counts as 1: its lower integers are even. */
            const int odd = !is_upper && k == 0;
            const int bucket = Spill::bucket_of(EXPONENTS * k - SCALE_EXPONENT + odd +
                                                (is_upper ? UPPER_EXPONENT : LOWER_EXPONENT));
            long long low = 0, high = 0;

#pragma unroll 1
            for (int i = 0; i < 32; i++) {
                const slices *bin = &of_warp[k * THREADS + (lane + i) % 32];
                const long long x = is_upper ? bin->upper : bin->lower >> odd;

                low += x & 0xffffffff;
                high += x >> 32;
            }
            if ((low | high) != 0) {
                spill->add_integer(bucket, low);
                spill->add_integer(bucket + 32, high);
            }
        }
        __syncwarp();
    }
};

/* For values that need none. */
struct no_bins {
    typedef char memory[1];

    __device__ void begin(memory)
    {
    }
    __device__ void take(float)
    {
    }
    template <typename Spill> __device__ void make_room(int, Spill *)
    {
    }
    template <typename Spill> __device__ void finish(const memory, Spill *)
    {
    }
};

/*
 * Element types on the device, of at most 32 bits. A `pair` is what one 32-bit word holds, one or
 * two elements; its minima and maxima are NaN where an operand is, and put -0 before +0.
 */
struct f32 {
    static const int PER_WORD = 1;
    static const bool ALWAYS_FITS = false;
    typedef wide_bins bins;
    typedef float pair;

    __device__ static pair view(uint32_t w)
    {
        return __uint_as_float(w);
    }
    __device__ static pair least(pair a, pair b)
    {
        float r;
#if __CUDA_ARCH__ >= 800
        asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
#else
        r = a != a ? a : b != b ? b : fminf(a, b);
#endif
        return r;
    }
    __device__ static pair greatest(pair a, pair b)
    {
        float r;
#if __CUDA_ARCH__ >= 800
        asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
#else
        r = a != a ? a : b != b ? b : fmaxf(a, b);
#endif
        return r;
    }
    /* Element `half` of a pair. */
    __device__ static float element(uint32_t w, int)
    {
        return __uint_as_float(w);
    }
    __device__ static uint32_t swap(uint32_t w)
    {
        return __byte_perm(w, 0, 0x0123);
    }
};

/* Two elements a word, the first in the lower half. */
template <typename Pair> struct halves {
    static const int PER_WORD = 2;
    typedef Pair pair;

    __device__ static pair view(uint32_t w)
    {
        return *(const pair *)&w;
    }
    __device__ static pair least(pair a, pair b)
    {
        return __hmin2_nan(a, b);
    }
    __device__ static pair greatest(pair a, pair b)
    {
        return __hmax2_nan(a, b);
    }
    __device__ static uint32_t swap(uint32_t w)
    {
        return __byte_perm(w, 0, 0x2301);
    }
};

struct f16 : halves<__half2> {
    /* All are multiples of 2^-24 below 2^16: 40 bits; the 53 of binary64 leave room for 2^13. */
    static const bool ALWAYS_FITS = true;
    typedef no_bins bins;

    __device__ static float element(uint32_t w, int half)
    {
        return half ? __high2float(view(w)) : __low2float(view(w));
    }
};

struct bf16 : halves<__nv_bfloat162> {
    static const bool ALWAYS_FITS = false;
    typedef narrow_bins bins;

    __device__ static float element(uint32_t w, int half)
    {
        return __uint_as_float(half ? w & 0xffff0000 : w << 16);
    }
};

struct f64 {
};

/* What the first kernel leaves. */
struct f64_left {
};

/* An integer that orders the values, -0 before +0, and the exact_key of the value it stands for. */
__device__ static __forceinline__ int32_t order_of(float x)
{
    int32_t b = __float_as_int(x);
    return b ^ (int32_t)((uint32_t)(b >> 31) >> 1);
}

__device__ static __forceinline__ int64_t order_of(double x)
{
    return exact_key(x);
}

__device__ static __forceinline__ int64_t key_of(int32_t order)
{
    return exact_key((double)__int_as_float(order ^ (int32_t)((uint32_t)(order >> 31) >> 1)));
}

__device__ static __forceinline__ int64_t key_of(int64_t order)
{
    return order;
}

template <typename T> struct limits;
template <> struct limits<int32_t> {
    static const int32_t ORDER_MAX = INT32_MAX;
};
template <> struct limits<int64_t> {
    static const int64_t ORDER_MAX = INT64_MAX;
};

/* An extreme of what a thread has seen, and the first tile that holds it. Of the largest value the
   complement of the order is kept: both are minima then. ORDER_MAX, which no number has, is none.
 */
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

/* What was found besides the sum and the extremes. */
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
    __device__ bool any() const
    {
        return (nan | positive_infinity | negative_infinity) != 0;
    }
};

__device__ static __forceinline__ uint4 load_16_bytes(const uint4 *from)
{
    return __ldcs(from);
}

/* What a thread at work knows, whatever the element type. */
template <typename Order> struct worker {
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

    /* Whether the warp leaves its other tiles to another kernel. */
    __device__ __forceinline__ bool leaves() const
    {
        return false;
    }

    /* How many elements of a group there are, the others being there to fill up the last tile:
       PER_LOAD from element `first` of the chunk on, and again every STRIDE elements. */
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

/* A warp's sum, in lane 0, of what is a multiple of one power of two in all lanes, and fits. */
__device__ static __forceinline__ double add_warp(double x)
{
    for (int distance = 16; distance > 0; distance /= 2)
        x += __shfl_down_sync(ALL_LANES, x, distance);
    return x;
}

/*
 * Elements of at most 32 bits.
 */
template <typename Type, bool SWAP, bool SUM> struct reducer : worker<int32_t> {
    typedef int32_t order;
    static const int UNROLL = tuning<Type>::UNROLL;
    static const int GROUP_WORDS = UNROLL * LOAD_BYTES / 4;
    static const int GROUP = GROUP_WORDS * Type::PER_WORD;
    static const int PER_LOAD = LOAD_BYTES / 4 * Type::PER_WORD;
    static const int TILE = THREADS * GROUP;
    /* Sums are multiples of 2^-149, of biased exponent 874, and below 2^158; bins spill 32 bits on.
     */
    typedef buckets<865, 1200> spill_buckets;

    struct memory {
        spill_buckets spill;
        typename Type::bins::memory bins;
    };

    struct group {
        uint32_t words[GROUP_WORDS];
    };

    spill_buckets *spill;
    typename Type::bins bins;
    int wide; /* tiles to go to the bins without trying to group */
    struct expansion sum;

    __device__ void begin(memory *shared, size_t elements, bool)
    {
        worker::begin(elements);
        spill = &shared->spill;
        bins.begin(shared->bins);
        wide = 0;
        sum.upper = sum.lower = 0;
    }

    __device__ __forceinline__ static void load(struct group *g, const void *data, unsigned tile)
    {
        const uint4 *from = (const uint4 *)data + (size_t)tile * THREADS * UNROLL + threadIdx.x;

#pragma unroll
        for (int j = 0; j < UNROLL; j++) {
            uint4 v = load_16_bytes(from + j * THREADS);
            g->words[4 * j] = v.x;
            g->words[4 * j + 1] = v.y;
            g->words[4 * j + 2] = v.z;
            g->words[4 * j + 3] = v.w;
        }
        if (SWAP)
#pragma unroll
            for (int i = 0; i < GROUP_WORDS; i++)
                g->words[i] = Type::swap(g->words[i]);
    }

    /* The place of an element of the thread's group in the chunk. */
    __device__ __forceinline__ static uint64_t place(unsigned tile, int word, int half)
    {
        return (uint64_t)tile * TILE + (word / 4 * THREADS + threadIdx.x) * PER_LOAD +
               word % 4 * Type::PER_WORD + half;
    }

    /* Loads what there is of the last tile; NaNs take the place of the rest, and are not counted.
     */
    __device__ static void load_part(struct group *g, const void *data, unsigned tile, size_t count)
    {
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++) {
            uint64_t at = place(tile, i, 0);
            uint32_t w = ~0u;

            if (Type::PER_WORD == 1) {
                if (at < count)
                    w = ((const uint32_t *)data)[at];
            } else {
                if (at < count)
                    w = 0xffff0000u | ((const uint16_t *)data)[at];
                if (at + 1 < count)
                    w = (w & 0xffff) | (uint32_t)((const uint16_t *)data)[at + 1] << 16;
            }
            g->words[i] = SWAP ? Type::swap(w) : w;
        }
    }

    /* Counts the NaNs and infinities of a group, makes them zeros, and finds the extremes of what
       is no NaN. */
    __device__ void take_specials(struct group *g, unsigned tile, order *low, order *high)
    {
        const int valid = valid_elements<THREADS * PER_LOAD, PER_LOAD, GROUP>(place(tile, 0, 0));
        int first_nan = GROUP;

        *low = *high = limits<order>::ORDER_MAX;
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++) {
                const int n = i * Type::PER_WORD + half;
                const float x = Type::element(g->words[i], half);
                const order o = order_of(x);
                const bool nan = x != x, infinite = fabsf(x) == __int_as_float(0x7f800000);

                if (!nan) {
                    *low = min(*low, o);
                    *high = min(*high, ~o);
                } else if (n < valid) {
                    counts.nan++;
                    first_nan = min(first_nan, n);
                }
                counts.positive_infinity += infinite && x > 0;
                counts.negative_infinity += infinite && x < 0;
                if (nan || infinite)
                    g->words[i] &= Type::PER_WORD == 1 ? 0 : half ? 0x0000ffffu : 0xffff0000u;
            }
        if (first_nan < GROUP)
            counts.take_nan(place(tile, first_nan / Type::PER_WORD, first_nan % Type::PER_WORD));
    }

    __device__ __forceinline__ void bin_group(const struct group *g)
    {
        bins.make_room(GROUP, spill);
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++)
                bins.take(Type::element(g->words[i], half));
    }

    __device__ __forceinline__ void add_exactly(double x)
    {
        const double rest = add(&sum, x);

        if (rest != 0)
            spill->add(rest);
    }

    /* Adds up a group, if that is exact. */
    __device__ __forceinline__ bool add_group(const struct group *g)
    {
        double down = 0, up = 0;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++) {
                const double x = (double)Type::element(g->words[i], half);

                down = __dadd_rd(down, x);
                if (!Type::ALWAYS_FITS)
                    up = __dadd_ru(up, x);
            }
        if (!Type::ALWAYS_FITS && __any_sync(ALL_LANES, down != up))
            return false;
        if (down != 0)
            add_exactly(down);
        return true;
    }

    /* The same in binary32: slices of every element on three grids, as for binary64 below. An
       origin is 1.5 times a power of two; the sum of a group stays within 2^22 places of it. */
    __device__ __forceinline__ bool add_slices(const struct group *g)
    {
        const int group_log2 = GROUP <= 16 ? 4 : GROUP <= 32 ? 5 : GROUP <= 64 ? 6 : 7;
        float largest = 0;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++)
                largest = fmaxf(largest, fabsf(Type::element(g->words[i], half)));

        const int exponent = max((__float_as_int(largest) >> 23), 1) + 2 + group_log2;
        const int step = 23 - group_log2;
        const float upper_origin = __int_as_float(exponent << 23 | 0x400000);
        const float middle_origin = __int_as_float(max(exponent - step, 1) << 23 | 0x400000);
        const float lower_origin = __int_as_float(max(exponent - 2 * step, 1) << 23 | 0x400000);
        float upper = upper_origin, middle = middle_origin, down = lower_origin, up = down;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++) {
                float x = Type::element(g->words[i], half), sum;

                sum = upper + x;
                x -= sum - upper;
                upper = sum;
                sum = middle + x;
                x -= sum - middle;
                middle = sum;
                down = __fadd_rd(down, x);
                up = __fadd_ru(up, x);
            }
        if (__any_sync(ALL_LANES, exponent > 254 || down != up))
            return false;
        /* Two slices are 46 bits. */
        add_exactly((double)(upper - upper_origin) + (double)(middle - middle_origin));
        if (down != lower_origin)
            add_exactly((double)(down - lower_origin));
        return true;
    }

    __device__ __forceinline__ void take(struct group *g, unsigned tile)
    {
        typename Type::pair low = Type::view(g->words[0]), high = low;
        order first, last;
        float lowest, highest;

#pragma unroll
        for (int i = 1; i < GROUP_WORDS; i++) {
            low = Type::least(low, Type::view(g->words[i]));
            high = Type::greatest(high, Type::view(g->words[i]));
        }
        {
            const uint32_t l = *(const uint32_t *)&low, h = *(const uint32_t *)&high;

            lowest = Type::element(l, 0);
            highest = Type::element(h, 0);
            if (Type::PER_WORD == 2) {
                lowest = f32::least(lowest, Type::element(l, 1));
                highest = f32::greatest(highest, Type::element(h, 1));
            }
        }
        first = order_of(lowest);
        last = ~order_of(highest);
        if (!(lowest > __int_as_float(0xff800000) && highest < __int_as_float(0x7f800000)))
            take_specials(g, tile, &first, &last);
        take_extremes(first, last, tile);
        if (SUM) {
            if (wide > 0) {
                wide--;
                bin_group(g);
            } else if (!(SLOW_BINARY64 ? add_slices(g) : add_group(g))) {
                wide = TILES_BINNED;
                bin_group(g);
            }
        }
    }

    /* Spills the upper 47 bits of x, as seen from the largest of the warp, added up over the warp,
       where nothing is rounded; returns the rest. */
    __device__ __forceinline__ double spill_warp(double x)
    {
        const int exponent = -min_of_warp(-(__double2hiint(x) >> 20 & 0x7ff));
        const double origin = __hiloint2double((exponent + 7) << 20 | 0x80000, 0);
        const double slice = x + origin - origin;
        const double total = add_warp(slice);

        if (threadIdx.x % 32 == 0)
            spill->add(total);
        return x - slice;
    }

    /* Spills what the block's threads hold, by all of them. */
    __device__ void finish(const memory *shared)
    {
        double rest = add_lower(&sum, spill_warp(sum.upper));

        if (rest != 0)
            spill->add(rest);
        rest = spill_warp(sum.lower);
        if (rest != 0)
            spill->add(rest);
        bins.finish(shared->bins, spill);
    }

    /* The place in its tile of the first element of the group that has an order; ~0 if none has. */
    __device__ static unsigned find(const struct group *g, order wanted)
    {
        unsigned first = ~0u;

#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++)
#pragma unroll
            for (int half = 0; half < Type::PER_WORD; half++)
                if (order_of(Type::element(g->words[i], half)) == wanted)
                    first = min(first, (unsigned)place(0, i, half));
        return first;
    }
};

/*
 * Elements of 64 bits, but for their sum.
 */
template <bool SWAP> struct values64 : worker<int64_t> {
    typedef int64_t order;
    static const int UNROLL = tuning<f64>::UNROLL;
    static const int GROUP = UNROLL * LOAD_BYTES / 8;
    static const int TILE = THREADS * GROUP;

    struct group {
        double elements[GROUP];
    };

    /* Loads a group as it lies in memory. */
    __device__ __forceinline__ static void load_raw(struct group *g, const void *data,
                                                    unsigned tile)
    {
        const double2 *from = (const double2 *)data + (size_t)tile * THREADS * UNROLL + threadIdx.x;

#pragma unroll
        for (int j = 0; j < UNROLL; j++) {
            const double2 v = __ldcs(from + j * THREADS);

            g->elements[2 * j] = v.x;
            g->elements[2 * j + 1] = v.y;
        }
    }

    /* Puts what was loaded into the machine's byte order. */
    __device__ __forceinline__ static void settle(struct group *g)
    {
        if (SWAP)
#pragma unroll
            for (int i = 0; i < GROUP; i++)
                g->elements[i] =
                    __hiloint2double(__byte_perm(__double2loint(g->elements[i]), 0, 0x0123),
                                     __byte_perm(__double2hiint(g->elements[i]), 0, 0x0123));
    }

    __device__ __forceinline__ static void load(struct group *g, const void *data, unsigned tile)
    {
        load_raw(g, data, tile);
        settle(g);
    }

    __device__ __forceinline__ static uint64_t place(unsigned tile, int i)
    {
        return (uint64_t)tile * TILE + (i / 2 * THREADS + threadIdx.x) * 2 + i % 2;
    }

    __device__ static void load_part(struct group *g, const void *data, unsigned tile, size_t count)
    {
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            uint64_t at = place(tile, i);

            g->elements[i] = at < count ? ((const double *)data)[at] : __longlong_as_double(-1);
        }
        settle(g);
    }

    /* Counts the NaNs and infinities of a group, makes them zeros, and finds the extremes of what
       is no NaN. */
    __device__ void take_specials(struct group *g, unsigned tile, order *low, order *high)
    {
        const int valid = this->template valid_elements<THREADS * 2, 2, GROUP>(place(tile, 0));
        int first_nan = GROUP;

        *low = *high = limits<order>::ORDER_MAX;
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            const double x = g->elements[i];
            const order o = order_of(x);
            const bool nan = x != x, infinite = fabs(x) == __hiloint2double(0x7ff00000, 0);

            if (!nan) {
                *low = min(*low, o);
                *high = min(*high, ~o);
            } else if (i < valid) {
                this->counts.nan++;
                first_nan = min(first_nan, i);
            }
            this->counts.positive_infinity += infinite && x > 0;
            this->counts.negative_infinity += infinite && x < 0;
            if (nan || infinite)
                g->elements[i] = 0;
        }
        if (first_nan < GROUP)
            this->counts.take_nan(place(tile, first_nan));
    }

    /* The magnitude's upper half, in which infinities and NaNs are at least 0x7ff00000. */
    __device__ static __forceinline__ int magnitude(double x)
    {
        return __double2hiint(x) & 0x7fffffff;
    }

    /* Takes all of a group but its sum; returns the largest biased exponent of what is finite. */
    __device__ __forceinline__ int take_values(struct group *g, unsigned tile)
    {
        double low = g->elements[0], high = low;
        int largest = magnitude(low);
        order first, last;

#pragma unroll
        for (int i = 1; i < GROUP; i++) {
            low = fmin(low, g->elements[i]);
            high = fmax(high, g->elements[i]);
            largest = max(largest, magnitude(g->elements[i]));
        }
        first = order_of(low);
        last = ~order_of(high);
        if (largest >= 0x7ff00000) {
            take_specials(g, tile, &first, &last);
            largest = 0;
#pragma unroll
            for (int i = 0; i < GROUP; i++)
                largest = max(largest, magnitude(g->elements[i]));
        }
        this->take_extremes(first, last, tile);
        return largest >> 20;
    }

    __device__ static unsigned find(const struct group *g, order wanted)
    {
        unsigned first = ~0u;

#pragma unroll
        for (int i = 0; i < GROUP; i++)
            if (order_of(g->elements[i]) == wanted)
                first = min(first, (unsigned)place(0, i));
        return first;
    }
};

/*
 * Their sum, on grids.
 */
template <bool SWAP, bool SUM> struct reducer<f64, SWAP, SUM> : values64<SWAP> {
    typedef values64<SWAP> values;
    typedef typename values::group group;
    static const int GROUP = values::GROUP;
    static const int LEVELS = 3;
    typedef buckets<1, 2046> spill_buckets;

    struct memory {
        spill_buckets spill;
    };

    /* Grids. Elements are below 2^(top - 1022). The accumulator of level k begins at 1.5 times a
       power of two whose last place is the grid's, and stays next to it for 2^11 additions of
       slices of 40 bits; what remains of an element is half a place at most, 41 bits on. Where the
       exponents end, so do the grids: at the last place of the subnormals. */
    static const int TOP_MAX = 2032;
    static const int MARGIN = 4;
    static const int GROUPS_MAX = (1 << 11) / GROUP;

    spill_buckets *spill;
    bool defers; /* there is another kernel for what does not fit */
    int top;     /* biased exponent that bounds the elements */
    int room;    /* groups that may still be added */
    int wide;    /* tiles to spill without trying */
    double level[LEVELS];

    __device__ static __forceinline__ double origin(int top, int k)
    {
        const int exponent = top + 13 - 41 * k;

        return __hiloint2double((exponent > 1 ? exponent : 1) << 20 | 0x80000, 0);
    }

    __device__ void set_grids(int bound)
    {
        top = bound;
        room = GROUPS_MAX;
        for (int k = 0; k < LEVELS; k++)
            level[k] = origin(top, k);
    }

    __device__ void spill_levels()
    {
        for (int k = 0; k < LEVELS; k++)
            spill->add(level[k] - origin(top, k));
    }

    __device__ void begin(memory *shared, size_t elements, bool may_defer)
    {
        values::begin(elements);
        spill = &shared->spill;
        defers = may_defer;
        wide = 0;
        set_grids(0);
    }

    __device__ __forceinline__ bool leaves() const
    {
        return SUM && defers && __any_sync(ALL_LANES, wide > 0);
    }

    /* Adds a group, if the grids take it. */
    __device__ __forceinline__ bool add_group(const group *g)
    {
        double upper = level[0], middle = level[1], down = level[2], up = down;

#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            double x = g->elements[i], sum;

            sum = upper + x;
            x -= sum - upper;
            upper = sum;
            sum = middle + x;
            x -= sum - middle;
            middle = sum;
            down = __dadd_rd(down, x);
            up = __dadd_ru(up, x);
        }
        if (down != up)
            return false;
        level[0] = upper;
        level[1] = middle;
        level[2] = down;
        room--;
        return true;
    }

    __device__ void spill_group(const group *g)
    {
#pragma unroll
        for (int i = 0; i < GROUP; i++)
            spill->add(g->elements[i]);
    }

    /* `exponent` is the largest of the group. */
    __device__ __forceinline__ void take_sum(const group *g, int exponent)
    {
        if (SLOW_BINARY64) {
            spill_group(g);
            return;
        }
        if (wide > 0) {
            wide--;
            spill_group(g);
            return;
        }
        if (exponent > top || room == 0) {
            spill_levels();
            set_grids(min(max(top, exponent + MARGIN), TOP_MAX));
        }
        if (exponent <= top && add_group(g))
            return;
        spill_group(g);
        if (exponent + 4 * MARGIN < top) { /* the data have become smaller: follow them */
            spill_levels();
            set_grids(exponent + MARGIN);
        } else {
            wide = TILES_SPILLED;
        }
    }

    __device__ __forceinline__ void take(group *g, unsigned tile)
    {
        const int exponent = values::take_values(g, tile);

        if (SUM)
            take_sum(g, exponent);
    }

    /* Spills what the block's threads hold. Where those of a warp have the same grids, their sums
       are added up first, as integers: 52 bits each, in units of the grid. */
    __device__ void finish(const memory *)
    {
        if (!__all_sync(ALL_LANES, top == __shfl_sync(ALL_LANES, top, 0))) {
            spill_levels();
            return;
        }
        for (int k = 0; k < LEVELS; k++) {
            const int exponent = __double2hiint(origin(top, k)) >> 20;
            /* The bits of numbers of one binade count units. */
            long long total = (long long)(exact_bits(level[k]) - exact_bits(origin(top, k)));

            for (int distance = 16; distance > 0; distance /= 2)
                total += __shfl_down_sync(ALL_LANES, total, distance);
            if (threadIdx.x % 32 == 0 && total != 0)
                spill->add_integer(spill_buckets::bucket_of(exponent - 1075), total);
        }
    }
};

/*
 * Their sum, in bins.
 */
template <bool SWAP> struct reducer<f64_left, SWAP, true> : values64<SWAP> {
    typedef values64<SWAP> values;
    typedef typename values::group group;
    /* The bin of the largest numbers reaches 16 exponents beyond them, and 50 bits up from there.
     */
    typedef buckets<1, 2078> spill_buckets;

    struct memory {
        spill_buckets spill;
        widest_bins::memory bins;
    };

    spill_buckets *spill;
    widest_bins bins;

    __device__ void begin(memory *shared, size_t elements)
    {
        values::begin(elements);
        spill = &shared->spill;
        bins.begin(shared->bins);
    }

    /* The upper half of the order. */
    __device__ static __forceinline__ int upper_order(double x)
    {
        const int high = __double2hiint(x);

        return high ^ (int)((unsigned)(high >> 31) >> 1);
    }

    /* A group that holds NaNs or infinities. */
    __device__ __forceinline__ void take_special(group g, unsigned tile)
    {
        typename values::order low, high;

        this->take_specials(&g, tile, &low, &high);
        this->take_extremes(low, high, tile);
#pragma unroll 1
        for (int i = 0; i < values::GROUP; i += 2)
            bins.take(g.elements[i], g.elements[i + 1]);
    }

    __device__ __forceinline__ void take_raw(group g, unsigned tile)
    {
        this->settle(&g);
        take(g, tile);
    }

    /* The group stays in the registers that it was loaded into: to move it from there, or to have
       it changed in some case, the compiler would wait for it too soon. The upper halves tell as a
       rule that there is no new extreme. */
    __device__ __forceinline__ void take(const group &g, unsigned tile)
    {
        int lowest = INT32_MAX, highest = INT32_MIN;

        bins.make_room(values::GROUP, spill);
#pragma unroll
        for (int i = 0; i < values::GROUP; i++) {
            lowest = min(lowest, upper_order(g.elements[i]));
            highest = max(highest, upper_order(g.elements[i]));
        }
        if (highest >= 0x7ff00000 || ~lowest >= 0x7ff00000) {
            take_special(g, tile);
            return;
        }
        if (lowest <= (int)(this->least.order >> 32) ||
            highest >= (int)(~this->greatest.order >> 32)) {
            typename values::order low = INT64_MAX, high = low;

#pragma unroll
            for (int i = 0; i < values::GROUP; i++) {
                low = min(low, order_of(g.elements[i]));
                high = min(high, ~order_of(g.elements[i]));
            }
            this->take_extremes(low, high, tile);
        }
#pragma unroll
        for (int i = 0; i < values::GROUP; i += 2)
            bins.take(g.elements[i], g.elements[i + 1]);
    }

    __device__ void finish(const memory *shared)
    {
        bins.finish(shared->bins, spill);
    }
};

/*
 * Merging what the threads know.
 */
template <bool WHERE> __device__ static void merge_warp(struct extreme<int32_t> *e)
{
    const int32_t order = min_of_warp(e->order);

    if (WHERE) /* tiles are below 2^30, and ~0 as an int is -1 */
        e->tile = (unsigned)min_of_warp(e->order == order ? (int)(e->tile & INT32_MAX) : INT32_MAX);
    e->order = order;
}

template <bool WHERE> __device__ static void merge_warp(struct extreme<int64_t> *e)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        const int64_t order = __shfl_down_sync(ALL_LANES, e->order, distance);
        const unsigned tile = WHERE ? __shfl_down_sync(ALL_LANES, e->tile, distance) : 0;

        e->take(order, tile);
    }
}

/* Merges the extremes of every thread of the block into those of thread 0. `shared` has an element
   a warp, and is free for others after the next barrier. */
template <bool WHERE, typename Order>
__device__ static void merge_block(struct extreme<Order> *least, struct extreme<Order> *greatest,
                                   struct extreme<Order> (*shared)[2])
{
    merge_warp<WHERE>(least);
    merge_warp<WHERE>(greatest);
    if (threadIdx.x % 32 == 0) {
        shared[threadIdx.x / 32][0] = *least;
        shared[threadIdx.x / 32][1] = *greatest;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        *least = shared[threadIdx.x % WARPS][0];
        *greatest = shared[threadIdx.x % WARPS][1];
        merge_warp<WHERE>(least);
        merge_warp<WHERE>(greatest);
    }
}

/* One step of carrying, by digits that other blocks may be adding to: the value never changes. It
   keeps the digits small, however many launches follow. The topmost digit keeps all it has. */
__device__ static void carry(int64_t *digits)
{
    const int t = threadIdx.x;

    if (t < EXACT_DIGITS - 1) {
        const long long over = exact_carry_out(*(volatile int64_t *)(digits + t));

        if (over != 0) {
            atomicAdd((unsigned long long *)digits + t, -((unsigned long long)over << 32));
            atomicAdd((unsigned long long *)digits + t + 1, (unsigned long long)over);
        }
    }
}

/* What a kernel is to do. */
struct job {
    const void *data;
    size_t count;
    uint64_t index;
    struct partial *partial;
    struct cuda_scratch *scratch;
    bool defers; /* another kernel follows, for what the warps leave */
};

template <typename Reducer> __device__ static __forceinline__ unsigned tiles_of(const struct job *j)
{
    return (unsigned)((j->count + Reducer::TILE - 1) / Reducer::TILE);
}

/* Loads a thread's group of a tile. */
template <typename Reducer>
__device__ static __forceinline__ void fetch(typename Reducer::group *g, const struct job *j,
                                             unsigned tile)
{
    if (tile < (unsigned)(j->count / Reducer::TILE))
        Reducer::load(g, j->data, tile);
    else
        Reducer::load_part(g, j->data, tile, j->count);
}

/* The end of a kernel, by all threads of all its blocks: merges what they know into the partial. */
template <bool SUM, bool WHERE, typename Reducer>
__device__ static __forceinline__ void conclude(Reducer *r, typename Reducer::memory *shared,
                                                const struct job *job)
{
    typedef typename Reducer::order order;
    typedef typename Reducer::group group;
    __shared__ struct extreme<order> of_warps[WARPS][2], of_all[2];
    __shared__ unsigned found[2];
    __shared__ bool last;
    struct partial *const partial = job->partial;
    const int t = threadIdx.x;

    if (SUM)
        r->finish(shared);
    /* Its barrier also completes the spill. */
    merge_block<WHERE>(&r->least, &r->greatest, of_warps);
    if (SUM)
        shared->spill.add_to(partial->sum.digit);
    if (r->counts.any()) {
        typedef unsigned long long counter;

        atomicAdd((counter *)&partial->nan, (counter)r->counts.nan);
        atomicAdd((counter *)&partial->positive_infinity, (counter)r->counts.positive_infinity);
        atomicAdd((counter *)&partial->negative_infinity, (counter)r->counts.negative_infinity);
        if (r->counts.nan)
            atomicMin((counter *)&partial->first_nan, (counter)(job->index + r->counts.first_nan));
    }
    if (SUM && blockIdx.x == 0)
        carry(partial->sum.digit);
    if (!WHERE) {
        if (t == 0 && r->least.order != limits<order>::ORDER_MAX) {
            atomicMin((long long *)&partial->min_key, (long long)key_of(r->least.order));
            atomicMax((long long *)&partial->max_key, (long long)key_of((order)~r->greatest.order));
        }
        return;
    }

    /* The last block to come here sees what all the others found. */
    if (t == 0) {
        struct cuda_block_result *mine = &job->scratch->blocks[blockIdx.x];

        mine->least = r->least.order;
        mine->least_tile = r->least.tile;
        mine->greatest = r->greatest.order;
        mine->greatest_tile = r->greatest.tile;
        __threadfence();
        last = atomicInc(&job->scratch->ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    r->least.clear();
    r->greatest.clear();
    for (unsigned i = t; i < gridDim.x; i += THREADS) {
        const volatile struct cuda_block_result *b = &job->scratch->blocks[i];

        r->least.take((order)b->least, b->least_tile);
        r->greatest.take((order)b->greatest, b->greatest_tile);
    }
    merge_block<true>(&r->least, &r->greatest, of_warps);
    if (t == 0) {
        of_all[0] = r->least;
        of_all[1] = r->greatest;
        found[0] = found[1] = ~0u;
    }
    __syncthreads();
    r->least = of_all[0];
    r->greatest = of_all[1];
    if (r->least.order == limits<order>::ORDER_MAX)
        return;

    /* Their places in their tiles. */
    const order low = r->least.order, high = (order)~r->greatest.order;
    group of_least, of_greatest;

    fetch<Reducer>(&of_least, job, r->least.tile);
    fetch<Reducer>(&of_greatest, job, r->greatest.tile);
    atomicMin(&found[0], Reducer::find(&of_least, low));
    atomicMin(&found[1], Reducer::find(&of_greatest, high));
    __syncthreads();
    if (t == 0) {
        const uint64_t tile_size = Reducer::TILE;

        partial_take_min(partial, key_of(low), job->index + r->least.tile * tile_size + found[0]);
        partial_take_max(partial, key_of(high),
                         job->index + r->greatest.tile * tile_size + found[1]);
    }
}

template <typename Type, bool SWAP, bool SUM, bool WHERE>
__global__ void __launch_bounds__(THREADS, resident(tuning<Type>::BLOCKS))
    reduce(const __grid_constant__ struct job job)
{
    typedef struct reducer<Type, SWAP, SUM> thread_reducer;
    __shared__ typename thread_reducer::memory shared;
    thread_reducer r;
    const unsigned tiles = tiles_of<thread_reducer>(&job);
    /* The block's tiles. */
    const bool contiguous = tuning<Type>::CONTIGUOUS;
    const unsigned share = (tiles - 1) / gridDim.x + 1;
    const unsigned first = contiguous ? blockIdx.x * share : blockIdx.x;
    const unsigned end = contiguous ? min(tiles, first + share) : tiles;
    const unsigned step = contiguous ? 1 : gridDim.x;
    unsigned tile = first;
    bool leaves = false;

    if (SUM) {
        shared.spill.clear();
        __syncthreads();
    }

    r.begin(&shared, job.count, job.defers);
    for (; tile < end && !leaves; tile += step) {
        typename thread_reducer::group g;

        fetch<thread_reducer>(&g, &job, tile);
        r.take(&g, tile);
        leaves = r.leaves();
    }
    if (job.defers && threadIdx.x % 32 == 0)
        job.scratch->left[blockIdx.x * WARPS + threadIdx.x / 32] = tile < end ? tile : ~0u;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        job.partial->count += job.count;
    conclude<SUM, WHERE>(&r, &shared, &job);
}

/* What a warp takes of a tile. */
template <typename Reducer> struct staged {
    typename Reducer::group group;
    bool left; /* the first kernel's warp has left it */
};

/* The kernel for what the first one left: `blocks` of them took the tiles in turn. It has few
   threads, so loads run a tile ahead. Those of the last tile, which may not be full, do not: where
   two ways of loading meet, the compiler would wait for both. */
template <bool SWAP, bool WHERE>
__global__ void __launch_bounds__(THREADS, 1)
    reduce_left(const __grid_constant__ struct job job, const unsigned blocks)
{
    typedef struct reducer<f64_left, SWAP, true> thread_reducer;
    extern __shared__ uint4 dynamic[];
    typename thread_reducer::memory *const shared = (typename thread_reducer::memory *)dynamic;
    __shared__ unsigned first_left;
    const unsigned tiles = tiles_of<thread_reducer>(&job);
    const unsigned full = (unsigned)(job.count / thread_reducer::TILE);
    const unsigned *const left = job.scratch->left;
    const unsigned *const left_by_warp = left + threadIdx.x / 32;
    unsigned least = ~0u;

    if (threadIdx.x == 0)
        first_left = ~0u;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < blocks * WARPS; i += THREADS)
        least = min(least, left[i]);
    if (least != ~0u)
        atomicMin(&first_left, least);
    __syncthreads();
    if (first_left >= tiles)
        return;

    thread_reducer r;
    struct staged<thread_reducer> even, odd;
    /* Of the tile to be staged, which block had it, and from when on its warp had left it: that is
       loaded a tile ahead, too. */
    unsigned next = first_left + blockIdx.x, of = next % blocks, from = left_by_warp[of * WARPS];
    const unsigned step = gridDim.x % blocks;
    const auto stage = [&](struct staged<thread_reducer> *s) {
        s->left = next < full && next >= from;
        of += step;
        of -= of >= blocks ? blocks : 0;
        from = left_by_warp[of * WARPS];
        thread_reducer::load_raw(&s->group, job.data, s->left ? next : 0);
        next += gridDim.x;
    };

    shared->spill.clear();
    __syncthreads();
    r.begin(shared, job.count);
    if (full > 0)
        stage(&even);
    for (unsigned tile = first_left + blockIdx.x; tile < full; tile += 2 * gridDim.x) {
        stage(&odd);
        if (even.left)
            r.take_raw(even.group, tile);
        stage(&even);
        if (odd.left)
            r.take_raw(odd.group, tile + gridDim.x);
    }
    if (full < tiles && blockIdx.x == 0 && full >= left_by_warp[full % blocks * WARPS]) {
        thread_reducer::load_part(&even.group, job.data, full, job.count);
        r.take(even.group, full);
    }
    conclude<true, WHERE>(&r, shared, &job);
}

/* Bytes of shared memory of a block of reduce_left. */
static const size_t LEFT_BYTES = sizeof(reducer<f64_left, false, true>::memory);

/* Whether what warps leave can be reduced, which takes more shared memory than all GPUs have. */
template <bool SWAP, bool WHERE> static bool takes_left(void)
{
    if (cudaFuncSetAttribute(reduce_left<SWAP, WHERE>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             LEFT_BYTES) == cudaSuccess)
        return true;
    (void)cudaGetLastError();
    return false;
}

template <typename Type, bool SWAP, bool SUM, bool WHERE>
static void launch(const struct cuda_launch *l, cudaStream_t stream)
{
    const size_t tile = reducer<Type, SWAP, SUM>::TILE;
    const size_t tiles = (l->count + tile - 1) / tile, processors = l->multiprocessors;
    const size_t most = std::min(processors * tuning<Type>::BLOCKS, (size_t)CUDA_BLOCKS_MAX);
    const unsigned blocks = (unsigned)std::min(tiles, most);
    const bool defers = SUM && std::is_same<Type, f64>::value &&
                        tiles >= (size_t)blocks * TILES_TO_LEAVE && takes_left<SWAP, WHERE>();
    const struct job job = {l->data, l->count, l->index, l->partial, l->scratch, defers};

    reduce<Type, SWAP, SUM, WHERE><<<blocks, THREADS, 0, stream>>>(job);
    if (defers) {
        const unsigned blocks_left = (unsigned)std::min(tiles, processors);

        reduce_left<SWAP, WHERE><<<blocks_left, THREADS, LEFT_BYTES, stream>>>(job, blocks);
    }
}

template <typename Type, bool SWAP>
static void choose_wants(const struct cuda_launch *l, cudaStream_t stream)
{
    bool sum = l->wants & PARTIAL_SUM, where = l->wants & PARTIAL_WHERE;

    if (sum && where)
        launch<Type, SWAP, true, true>(l, stream);
    else if (sum)
        launch<Type, SWAP, true, false>(l, stream);
    else if (where)
        launch<Type, SWAP, false, true>(l, stream);
    else
        launch<Type, SWAP, false, false>(l, stream);
}

template <typename Type> static void choose_swap(const struct cuda_launch *l, cudaStream_t stream)
{
    if (l->swap)
        choose_wants<Type, true>(l, stream);
    else
        choose_wants<Type, false>(l, stream);
}

cudaError_t cuda_reduce(const struct cuda_launch *l, cudaStream_t stream)
{
    /* An error that an earlier call left behind, and that was reported then, is not this one's. */
    (void)cudaGetLastError();
    switch (l->type) {
    case ELEMENT_F64:
        choose_swap<f64>(l, stream);
        break;
    case ELEMENT_F16:
        choose_swap<f16>(l, stream);
        break;
    case ELEMENT_BF16:
        choose_swap<bf16>(l, stream);
        break;
    default:
        choose_swap<f32>(l, stream);
    }
    return cudaGetLastError();
}

cudaError_t cuda_reduce_check(void)
{
    cudaFuncAttributes attributes;

    return cudaFuncGetAttributes(&attributes, reduce<f32, false, true, false>);
}
