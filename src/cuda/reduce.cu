/*
 * The reduction kernel: one pass over a chunk gives its exact sum, extremes and counts.
 *
 * A thread takes groups of elements, a few 16-byte loads each. The elements of a group whose
 * exponents lie close together add up in binary64 without rounding (exact_group_fits), and the
 * total goes to the thread's accumulator, an expansion of two binary64 numbers whose sum is exact.
 * Other groups of values of binary32 go element by element to the thread's bins, one binary64 in
 * shared memory for every sixteen exponents, which do not round either; elements of binary64 go to
 * the expansion. The rest that does not fit an expansion goes to the block's fixed-point
 * accumulator in shared memory, by atomic additions of digits. At the end all of it meets there,
 * and the digits are added to the partial result in global memory. The last block to end merges the
 * extremes and counts of all blocks, and carries.
 */
#include "kernels.h"

#include "../exact.h"

/* Tuning. 256 threads with 4 loads of 16 bytes in flight each, and 4 such blocks a multiprocessor,
   keep more bytes in flight than the link can bring; chunks come at 55 GB/s, the kernel's rate is
   some tens of times that. */
static const int THREADS = 256;
static const int UNROLL = 4;
static const int BLOCKS_PER_MULTIPROCESSOR = 4;

static const int WARPS = THREADS / 32;
static const unsigned ALL_LANES = 0xffffffffu;

/* Elements of binary64 from here on are added to the fixed-point accumulator at once, so that the
   expansions never overflow. */
static const uint64_t HUGE_EXPONENT = 1023 + 960;

/* The block's fixed-point accumulator. */
__device__ static void add_to_digits(unsigned long long *digits, double x)
{
    struct exact_parts parts = exact_split(x);

    for (int i = 0; i < 3; i++)
        if (parts.part[i] != 0)
            atomicAdd(digits + parts.position + i, (unsigned long long)parts.part[i]);
}

/* A thread's accumulator: upper + lower is the exact sum of what it took, but for what went to the
   digits. */
struct expansion {
    double upper, lower;
};

__device__ static __forceinline__ void add_lower(struct expansion *e, unsigned long long *digits,
                                                 double x)
{
    double rest;

    e->lower = exact_two_sum(e->lower, x, &rest);
    if (rest != 0)
        add_to_digits(digits, rest);
}

__device__ static __forceinline__ void add(struct expansion *e, unsigned long long *digits,
                                           double x)
{
    double rest;

    e->upper = exact_two_sum(e->upper, x, &rest);
    add_lower(e, digits, rest);
}

/* A thread's bins: bin i takes the binary32 values whose biased exponent is from 16 i to 16 i + 15.
   They are multiples of 2^(16 i - 150) below 2^(16 i - 111): 39 bits, so that 2^13 of them add up
   without rounding. Bin i of thread t is element i * THREADS + t: a warp's bins of one number lie
   side by side, and no two of its threads use the same bank at a time. */
static const int BINS = 16;
static const int BIN_EXPONENT_SHIFT = 23 + 4;
static const int BIN_ADDITIONS_MAX = 1 << 13;

/* What a thread knows besides the sum. */
struct findings {
    int64_t min_key, max_key;
    uint64_t min_index, max_index; /* while running: of a place in the group; at the end: exact */
    unsigned nan, positive_infinity, negative_infinity;
    uint64_t first_nan;
};

/* Element types on the device. A `word` is what is loaded; `bits` are those of the binary32 or
   binary64 with the element's value. */
struct f32 {
    typedef uint32_t word;
    typedef uint32_t bits;
    static const int MANTISSA = 24;
    static const bool ALWAYS_FITS = false;
    __device__ static bits widen(word w)
    {
        return w;
    }
};

struct bf16 {
    typedef uint16_t word;
    typedef uint32_t bits;
    static const int MANTISSA = 8;
    static const bool ALWAYS_FITS = false;
    __device__ static bits widen(word w)
    {
        return (uint32_t)w << 16;
    }
};

struct f16 {
    typedef uint16_t word;
    typedef uint32_t bits;
    static const int MANTISSA = 11;
    /* All are multiples of 2^-24 below 2^16: 40 bits, and the 53 of binary64 leave room for 2^13.
     */
    static const bool ALWAYS_FITS = true;
    __device__ static bits widen(word w)
    {
        uint32_t sign = (uint32_t)(w & 0x8000) << 16;
        uint32_t rest = (uint32_t)(w & 0x7fff) << 13;

        if (rest >= 0x0f800000) /* infinity, NaN */
            rest += 0x70000000;
        else if (rest >= 0x00800000)
            rest += 0x38000000;
        else /* a subnormal: (1 + f / 1024) 2^-14 - 2^-14, exactly */
            rest =
                __float_as_uint(__uint_as_float(rest + 0x38800000) - __uint_as_float(0x38800000));
        return rest | sign;
    }
};

struct f64 {
    typedef uint64_t word;
    typedef uint64_t bits;
    static const int MANTISSA = 53;
    static const bool ALWAYS_FITS = false;
    __device__ static bits widen(word w)
    {
        return w;
    }
};

__device__ static __forceinline__ double value_of(uint32_t bits)
{
    return (double)__uint_as_float(bits);
}

__device__ static __forceinline__ double value_of(uint64_t bits)
{
    return exact_from_bits(bits);
}

/* An integer that orders the values, -0 before +0; and the key of the binary64 with its value. */
__device__ static __forceinline__ int32_t order_of(uint32_t bits)
{
    int32_t b = (int32_t)bits;
    return b ^ (int32_t)((uint32_t)(b >> 31) >> 1);
}

__device__ static __forceinline__ int64_t order_of(uint64_t bits)
{
    return exact_key(exact_from_bits(bits));
}

__device__ static __forceinline__ int64_t key_of(int32_t order)
{
    return exact_key((double)__int_as_float(order ^ (int32_t)((uint32_t)(order >> 31) >> 1)));
}

__device__ static __forceinline__ int64_t key_of(int64_t order)
{
    return order;
}

__device__ static __forceinline__ uint16_t reverse(uint16_t w)
{
    return (uint16_t)(w << 8 | w >> 8);
}

__device__ static __forceinline__ uint32_t reverse(uint32_t w)
{
    return __byte_perm(w, 0, 0x0123);
}

__device__ static __forceinline__ uint64_t reverse(uint64_t w)
{
    return (uint64_t)reverse((uint32_t)w) << 32 | reverse((uint32_t)(w >> 32));
}

template <typename T> struct limits;

template <> struct limits<uint32_t> {
    typedef int32_t order;
    static const uint32_t INFINITE = 0x7f800000u;
    static const uint32_t MAGNITUDE = 0x7fffffffu;
    static const int32_t ORDER_MAX = INT32_MAX;
    static const int32_t ORDER_MIN = INT32_MIN;
    static const int FRACTION_BITS = 23;
};

template <> struct limits<uint64_t> {
    typedef int64_t order;
    static const uint64_t INFINITE = 0x7ff0000000000000u;
    static const uint64_t MAGNITUDE = 0x7fffffffffffffffu;
    static const int64_t ORDER_MAX = INT64_MAX;
    static const int64_t ORDER_MIN = INT64_MIN;
    static const int FRACTION_BITS = 52;
};

/* A thread at work. */
template <typename Type, bool SWAP, bool SUM, bool WHERE> struct reducer {
    typedef typename Type::word word;
    typedef typename Type::bits bits;
    typedef limits<bits> limit;
    typedef typename limit::order order;

    static const int PER_LOAD = 16 / sizeof(word);
    static const int GROUP = UNROLL * PER_LOAD;
    static const int GROUP_LOG2 = GROUP == 8 ? 3 : GROUP == 16 ? 4 : 5;

    union load {
        uint4 vector;
        word words[PER_LOAD];
    };

    static const bool BINNED = SUM && sizeof(bits) == 4 && !Type::ALWAYS_FITS;

    const word *data;
    uint64_t index;             /* of data[0] */
    unsigned long long *digits; /* the block's */
    double *bins;               /* the thread's first */
    int binned;                 /* additions to the bins since they were zero; -1: not even that */
    struct expansion sum;
    order least, greatest;
    uint64_t least_at, greatest_at; /* elements of the chunk: where the group begins */
    struct findings found;

    __device__ static bits bits_of(word w)
    {
        return Type::widen(SWAP ? reverse(w) : w);
    }

    __device__ void clear_bins()
    {
        for (int i = 0; i < BINS; i++)
            bins[i * THREADS] = 0;
        binned = 0;
    }

    /* Sees to it that the bins can take `count` more values. */
    __device__ __forceinline__ void make_room(int count)
    {
        if (binned < 0)
            clear_bins();
        if (binned + count > BIN_ADDITIONS_MAX) {
            for (int i = 0; i < BINS; i++)
                add(&sum, digits, bins[i * THREADS]);
            clear_bins();
        }
        binned += count;
    }

    /* A finite value, for which there is room. */
    __device__ __forceinline__ void bin(bits b)
    {
        bins[(int)((b & limit::MAGNITUDE) >> BIN_EXPONENT_SHIFT) * THREADS] += value_of(b);
    }

    /* One element, whatever it is; `at` counts from the start of the chunk. */
    __device__ void take(bits b, uint64_t at, uint64_t group_at)
    {
        bits magnitude = b & limit::MAGNITUDE;

        if (magnitude > limit::INFINITE) {
            found.nan++;
            if (index + at < found.first_nan)
                found.first_nan = index + at;
            return;
        }
        take_order(order_of(b), group_at);
        if (magnitude == limit::INFINITE) {
            if (b == magnitude)
                found.positive_infinity++;
            else
                found.negative_infinity++;
        } else if (BINNED) {
            make_room(1);
            bin(b);
        } else if (SUM) {
            if (sizeof(bits) == 8 && magnitude >> limit::FRACTION_BITS >= HUGE_EXPONENT)
                add_to_digits(digits, value_of(b));
            else
                add(&sum, digits, value_of(b));
        }
    }

    __device__ __forceinline__ void take_order(order o, uint64_t group_at)
    {
        if (o < least) {
            least = o;
            if (WHERE)
                least_at = group_at;
        }
        if (o > greatest) {
            greatest = o;
            if (WHERE)
                greatest_at = group_at;
        }
    }

    /* A group of finite values whose exponents lie far apart. */
    __device__ __forceinline__ void bin_group(const load *loads)
    {
        make_room(GROUP);
#pragma unroll
        for (int j = 0; j < UNROLL; j++)
#pragma unroll
            for (int k = 0; k < PER_LOAD; k++)
                bin(bits_of(loads[j].words[k]));
    }

    /* A whole group: 16 bytes at data + at, and again every `stride` elements. */
    __device__ __forceinline__ void take_group(const load *loads, uint64_t at, int stride)
    {
        order low = limit::ORDER_MAX, high = limit::ORDER_MIN;
        bits largest = 0, smallest = (bits)-1; /* twice the magnitudes; that of zeros is the most */
        double total = 0;

#pragma unroll
        for (int j = 0; j < UNROLL; j++) {
#pragma unroll
            for (int k = 0; k < PER_LOAD; k++) {
                bits b = bits_of(loads[j].words[k]);
                bits doubled = b + b;
                order o = order_of(b);

                low = o < low ? o : low;
                high = o > high ? o : high;
                largest = doubled > largest ? doubled : largest;
                if (SUM && sizeof(bits) == 4) {
                    if (!Type::ALWAYS_FITS)
                        smallest = doubled - 1 < smallest ? doubled - 1 : smallest;
                    total += value_of(b);
                }
            }
        }
        const bool finite = largest < limit::INFINITE * 2;
        bool plain = finite;
        if (sizeof(bits) == 4) {
            int emax = (int)(largest >> (limit::FRACTION_BITS + 1));
            int emin = (int)((bits)(smallest + 1) >> (limit::FRACTION_BITS + 1));

            if (SUM && !Type::ALWAYS_FITS && plain)
                plain = exact_group_fits(emin > 1 ? emin : 1, emax > 1 ? emax : 1, Type::MANTISSA,
                                         GROUP_LOG2);
        } else if (SUM) {
            plain = plain && largest >> (limit::FRACTION_BITS + 1) < HUGE_EXPONENT;
        }
        if (plain || (BINNED && finite)) {
            take_order(low, at);
            take_order(high, at);
            if (BINNED && !plain) {
                bin_group(loads);
            } else if (SUM && sizeof(bits) == 4) {
                if (largest != 0)
                    add(&sum, digits, total);
            } else if (SUM) {
#pragma unroll
                for (int j = 0; j < UNROLL; j++)
#pragma unroll
                    for (int k = 0; k < PER_LOAD; k++)
                        add(&sum, digits, value_of(bits_of(loads[j].words[k])));
            }
            return;
        }
        for (int j = 0; j < UNROLL; j++)
            for (int k = 0; k < PER_LOAD; k++) {
                uint64_t element = at + (uint64_t)j * stride + k;
                take(bits_of(data[element]), element, at);
            }
    }

    /* The exact place of an extreme, out of its group; `at` is an element alone when it lies in
       the rest, from `grouped` on. */
    __device__ uint64_t locate(order o, uint64_t at, int stride, uint64_t grouped)
    {
        if (at >= grouped)
            return index + at;
        for (int j = 0; j < UNROLL; j++)
            for (int k = 0; k < PER_LOAD; k++) {
                uint64_t element = at + (uint64_t)j * stride + k;
                bits b = bits_of(data[element]);
                if ((b & limit::MAGNITUDE) <= limit::INFINITE && order_of(b) == o)
                    return index + element;
            }
        return PARTIAL_NO_INDEX; /* not reached */
    }

    __device__ void run(size_t count)
    {
        const size_t tile = (size_t)THREADS * GROUP;
        const size_t tiles = count / tile;
        const int stride = THREADS * PER_LOAD;
        const uint64_t grouped = (uint64_t)tiles * tile;

        sum.upper = sum.lower = 0;
        binned = -1;
        least = limit::ORDER_MAX;
        greatest = limit::ORDER_MIN;
        least_at = greatest_at = PARTIAL_NO_INDEX;
        found.nan = found.positive_infinity = found.negative_infinity = 0;
        found.first_nan = PARTIAL_NO_INDEX;

        for (size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
            uint64_t at = (uint64_t)t * tile + threadIdx.x * PER_LOAD;
            const uint4 *from = (const uint4 *)(data + at);
            load loads[UNROLL];

#pragma unroll
            for (int j = 0; j < UNROLL; j++)
                loads[j].vector = __ldcs(from + j * THREADS);
            take_group(loads, at, stride);
        }
        for (uint64_t at = grouped + blockIdx.x * THREADS + threadIdx.x; at < count;
             at += (uint64_t)gridDim.x * THREADS)
            take(bits_of(data[at]), at, at);

        found.min_key = least_at == PARTIAL_NO_INDEX && WHERE ? INT64_MAX : key_of(least);
        found.max_key = greatest_at == PARTIAL_NO_INDEX && WHERE ? INT64_MIN : key_of(greatest);
        found.min_index = found.max_index = PARTIAL_NO_INDEX;
        if (!WHERE && least > greatest) { /* nothing but NaNs, or nothing at all */
            found.min_key = INT64_MAX;
            found.max_key = INT64_MIN;
        }
        if (WHERE && least_at != PARTIAL_NO_INDEX)
            found.min_index = locate(least, least_at, stride, grouped);
        if (WHERE && greatest_at != PARTIAL_NO_INDEX)
            found.max_index = locate(greatest, greatest_at, stride, grouped);
    }
};

/* Merging findings. */
__device__ static void take_min(int64_t *key, uint64_t *index, int64_t other, uint64_t other_index)
{
    if (other < *key || (other == *key && other_index < *index)) {
        *key = other;
        *index = other_index;
    }
}

__device__ static void take_max(int64_t *key, uint64_t *index, int64_t other, uint64_t other_index)
{
    if (other > *key || (other == *key && other_index < *index)) {
        *key = other;
        *index = other_index;
    }
}

template <typename T> __device__ static T shuffle_down(T x, int distance)
{
    return __shfl_down_sync(ALL_LANES, x, distance);
}

__device__ static void merge_warp(struct cuda_block_result *r)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        unsigned long long first;

        take_min(&r->min_key, &r->min_index, shuffle_down((long long)r->min_key, distance),
                 shuffle_down((unsigned long long)r->min_index, distance));
        take_max(&r->max_key, &r->max_index, shuffle_down((long long)r->max_key, distance),
                 shuffle_down((unsigned long long)r->max_index, distance));
        r->nan += shuffle_down(r->nan, distance);
        r->positive_infinity += shuffle_down(r->positive_infinity, distance);
        r->negative_infinity += shuffle_down(r->negative_infinity, distance);
        first = shuffle_down(r->first_nan, distance);
        r->first_nan = first < r->first_nan ? first : r->first_nan;
    }
}

/* Merges the results of all threads of the block into that of thread 0. */
__device__ static void merge_block(struct cuda_block_result *r, struct cuda_block_result *shared)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

    merge_warp(r);
    __syncthreads();
    if (lane == 0)
        shared[warp] = *r;
    __syncthreads();
    if (warp == 0) {
        *r = shared[lane < WARPS ? lane : 0];
        if (lane >= WARPS)
            r->nan = r->positive_infinity = r->negative_infinity = 0;
        merge_warp(r);
    }
}

/* Adds the expansions of a warp to that of its lane 0, and that to the digits. */
__device__ static void merge_sums(struct expansion *e, unsigned long long *digits)
{
    for (int distance = 16; distance > 0; distance /= 2) {
        double upper = shuffle_down(e->upper, distance);
        double lower = shuffle_down(e->lower, distance);

        /* Lanes whose partner does not exist or has been merged count for nothing from here on. */
        if (threadIdx.x % 32 < distance) {
            add(e, digits, upper);
            add_lower(e, digits, lower);
        }
    }
    if (threadIdx.x % 32 == 0) {
        add_to_digits(digits, e->upper);
        add_to_digits(digits, e->lower);
    }
}

template <typename Type, bool SWAP, bool SUM, bool WHERE>
__global__ void __launch_bounds__(THREADS)
    reduce(const void *data, size_t count, uint64_t index, struct partial *partial,
           struct cuda_scratch *scratch)
{
    typedef struct reducer<Type, SWAP, SUM, WHERE> thread_reducer;
    __shared__ double bins[thread_reducer::BINNED ? BINS * THREADS : 1];
    __shared__ unsigned long long digits[EXACT_DIGITS];
    __shared__ struct cuda_block_result shared[WARPS];
    __shared__ bool last;
    thread_reducer r;
    struct cuda_block_result mine;
    int64_t *total = partial->sum.digit;
    const int t = threadIdx.x;

    if (t < EXACT_DIGITS)
        digits[t] = 0;
    __syncthreads();

    r.data = (const typename Type::word *)data;
    r.index = index;
    r.digits = digits;
    r.bins = bins + t;
    r.run(count);
    if (SUM)
        merge_sums(&r.sum, digits);
    if (thread_reducer::BINNED && __syncthreads_or(r.binned >= 0)) {
        if (r.binned < 0)
            r.clear_bins();
        for (int i = 0; i < BINS; i++) {
            struct expansion e = {r.bins[i * THREADS], 0};
            merge_sums(&e, digits);
        }
    }

    mine.min_key = r.found.min_key;
    mine.max_key = r.found.max_key;
    mine.min_index = r.found.min_index;
    mine.max_index = r.found.max_index;
    mine.nan = r.found.nan;
    mine.positive_infinity = r.found.positive_infinity;
    mine.negative_infinity = r.found.negative_infinity;
    mine.first_nan = r.found.first_nan;
    merge_block(&mine, shared); /* its barriers also complete the digits */

    if (SUM && t < EXACT_DIGITS && digits[t] != 0)
        atomicAdd((unsigned long long *)total + t, digits[t]);
    if (t == 0)
        scratch->blocks[blockIdx.x] = mine;

    /* The last block to come here sees what all the others wrote. */
    __threadfence();
    __syncthreads();
    if (t == 0)
        last = atomicInc(&scratch->ticket, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    __threadfence();

    mine.min_key = INT64_MAX;
    mine.max_key = INT64_MIN;
    mine.min_index = mine.max_index = mine.first_nan = PARTIAL_NO_INDEX;
    mine.nan = mine.positive_infinity = mine.negative_infinity = 0;
    for (unsigned i = t; i < gridDim.x; i += THREADS) {
        const volatile struct cuda_block_result *b = &scratch->blocks[i];

        take_min(&mine.min_key, &mine.min_index, b->min_key, b->min_index);
        take_max(&mine.max_key, &mine.max_index, b->max_key, b->max_index);
        mine.nan += b->nan;
        mine.positive_infinity += b->positive_infinity;
        mine.negative_infinity += b->negative_infinity;
        if (b->first_nan < mine.first_nan)
            mine.first_nan = b->first_nan;
    }
    merge_block(&mine, shared);
    if (t == 0) {
        take_min(&partial->min_key, &partial->min_index, mine.min_key, mine.min_index);
        take_max(&partial->max_key, &partial->max_index, mine.max_key, mine.max_index);
        partial->count += count;
        partial->nan += mine.nan;
        partial->positive_infinity += mine.positive_infinity;
        partial->negative_infinity += mine.negative_infinity;
        if (mine.first_nan < partial->first_nan)
            partial->first_nan = mine.first_nan;
    }
    /* One step of carrying keeps the digits small, however many launches follow. The topmost
       digit keeps all it has. */
    if (SUM) {
        int64_t keep = 0, carried = 0;
        if (t < EXACT_DIGITS) {
            int64_t digit = ((volatile int64_t *)total)[t];
            keep = t < EXACT_DIGITS - 1 ? exact_keep(digit) : digit;
            if (t > 0)
                carried = exact_carry_out(((volatile int64_t *)total)[t - 1]);
        }
        __syncthreads();
        if (t < EXACT_DIGITS)
            total[t] = keep + carried;
    }
}

template <typename Type, bool SWAP, bool SUM, bool WHERE>
static void launch(const struct cuda_launch *l, cudaStream_t stream)
{
    const size_t tile = (size_t)THREADS * UNROLL * (16 / sizeof(typename Type::word));
    size_t blocks = (l->count + tile - 1) / tile;
    size_t most = (size_t)l->multiprocessors * BLOCKS_PER_MULTIPROCESSOR;

    most = most < CUDA_BLOCKS_MAX ? most : CUDA_BLOCKS_MAX;
    blocks = blocks < most ? blocks : most;
    reduce<Type, SWAP, SUM, WHERE><<<(unsigned)blocks, THREADS, 0, stream>>>(
        l->data, l->count, l->index, l->partial, l->scratch);
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
