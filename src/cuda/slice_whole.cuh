/*
 * Slices of floats and of integers of 64 bits that other kernels do not know the results of: those with NaNs,
 * infinities and sums that take more than two numbers. Lanes of a warp take a slice, wherever its elements lie;
 * or, for sums that take more than some numbers, a block.
 */
#ifndef GPUREDUCE_CUDA_SLICE_WHOLE_CUH
#define GPUREDUCE_CUDA_SLICE_WHOLE_CUH

#include "cuda/slice_record.cuh"
#include "cuda/superaccumulator.cuh"

/* An element, which may not be aligned. */
template <typename Raw> __device__ static __forceinline__ Raw slice_load(const unsigned char *from)
{
    Raw x = 0;

    if ((uintptr_t)from % sizeof(Raw) == 0)
        return *(const Raw *)from;
    for (unsigned i = 0; i < sizeof(Raw); i++)
        x |= (Raw)((Raw)from[i] << 8 * i);
    return x;
}

/* Its value: a binary64, or an integer of 64 bits. */
template <typename Type> struct slice_wide {
    typedef double type;
};
template <> struct slice_wide<i64> {
    typedef int64_t type;
};
template <> struct slice_wide<u64> {
    typedef uint64_t type;
};
template <typename Type, typename Raw>
__device__ static __forceinline__ typename slice_wide<Type>::type slice_wide_value(Raw raw)
{
    return (typename slice_wide<Type>::type)slice_value<Type>(raw);
}
template <> __device__ __forceinline__ double slice_wide_value<f64, uint64_t>(uint64_t raw)
{
    return __longlong_as_double((long long)raw);
}
template <> __device__ __forceinline__ int64_t slice_wide_value<i64, uint64_t>(uint64_t raw)
{
    return (int64_t)raw;
}
template <> __device__ __forceinline__ uint64_t slice_wide_value<u64, uint64_t>(uint64_t raw)
{
    return raw;
}

/* Makes terms the sum of them and those of the lane that is `distance` away; false if they cannot
   hold it. All lanes of the warp together. */
template <int COUNT>
__device__ static __forceinline__ bool slice_exchange_terms(double (&term)[COUNT],
                                                            unsigned distance)
{
    double other[COUNT];
    bool good = true;

#pragma unroll
    for (int i = 0; i < COUNT; i++)
        other[i] = __shfl_xor_sync(SLICE_ALL_LANES, term[i], distance);
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        good = slice_terms_add(term, COUNT, other[i]) && good;
    return good;
}

/* Takes an element into what was seen. Whether it is finite. */
__device__ static __forceinline__ bool slice_see(struct cuda_slice_seen *s, double x)
{
    if (!(x == x)) {
        s->nan++;
        return false;
    }
    s->min = min((long long)s->min, (long long)exact_key(x));
    s->max = max((long long)s->max, (long long)exact_key(x));
    if (fabs(x) != __longlong_as_double(0x7ff0000000000000ll))
        return true;
    s->positive += x > 0;
    s->negative += x < 0;
    return false;
}

/* The elements that a thread loads at a time: COUNT units, of the 16 bytes that neighbours in a ROW have,
   or of one. */
template <typename Raw, bool ROW, int COUNT> struct slice_units {
    static const int WIDTH = ROW ? (int)(16 / sizeof(Raw)) : 1, ALL = WIDTH * COUNT;
    Raw x[ALL];
    uint32_t outside; /* bit i: x[i] is no element */
    uint32_t at, apart;

    /* The number of an element. */
    __device__ __forceinline__ uint32_t number(int i) const
    {
        return at + apart * (uint32_t)(i / WIDTH) + (uint32_t)(i % WIDTH);
    }
    __device__ __forceinline__ void load_unit(const unsigned char *from, int i)
    {
        if (ROW) {
            const uint4 unit = *(const uint4 *)from;
            const uint32_t word[] = {unit.x, unit.y, unit.z, unit.w};

#pragma unroll
            for (int j = 0; j < WIDTH; j++)
                x[i * WIDTH + j] =
                    sizeof(Raw) == sizeof(uint64_t)
                        ? (Raw)((uint64_t)word[(2 * j + 1) % 4] << 32 | word[2 * j % 4])
                        : (Raw)(word[j * sizeof(Raw) / 4] >> j * sizeof(Raw) % 4 * 8);
        } else {
            x[i] = *(const Raw *)from;
        }
    }
    __device__ __forceinline__ void load_before(const struct cuda_slice_job &job,
                                                const unsigned char *from, int first, uint32_t end)
    {
#pragma unroll
        for (int i = first; i < first + WIDTH; i++, from += job.step) {
            const bool is = number(i) < end;

            x[i] = is ? *(const Raw *)from : (Raw)0;
            outside |= (uint32_t)!is << i;
        }
    }
    /* Loads them; the first one lies at `from`. With REST some may not be before number `end`. */
    template <bool REST>
    __device__ __forceinline__ void load(const struct cuda_slice_job &job,
                                         const unsigned char *from, uint32_t end)
    {
        outside = 0;
#pragma unroll
        for (int i = 0; i < COUNT; i++, from += (int64_t)apart * job.step) {
            if (!REST || ALL == 1 || number(i * WIDTH) + WIDTH <= end)
                load_unit(from, i);
            else
                load_before(job, from, i * WIDTH, end);
        }
        if (job.swap)
#pragma unroll
            for (int i = 0; i < ALL; i++)
                x[i] = slice_swapped(x[i]);
    }
};

/* Units to load at a time: 64 bytes of a thread keep memory busy, and 32 elements fit its registers. */
template <typename Raw, bool ROW>
static const int SLICE_UNITS =
    ROW ? (sizeof(Raw) == 1 ? 2 : 4) : (int)(32 / (sizeof(Raw) < 4 ? sizeof(Raw) : 4));

/* Hands over a thread's share, `lane`, of the elements of a slice from number `begin` to before `end`, as
   slice_units of COUNT, and of REST in the end. `from` is where the slice begins. */
template <typename Raw, bool ROW, int COUNT, int REST, typename Take>
__device__ static __forceinline__ void
slice_take_units(const struct cuda_slice_job &job, const unsigned char *from, uint32_t begin,
                 uint32_t end, unsigned lane, const Take &take)
{
    slice_units<Raw, ROW, COUNT> all;
    slice_units<Raw, ROW, REST> rest;

    all.apart = rest.apart = job.lanes * all.WIDTH;
    all.at = begin + lane * all.WIDTH;
#pragma unroll 1
    for (; all.number(all.ALL - 1) < end; all.at += all.apart * COUNT) {
        all.template load<false>(job, from + (int64_t)all.at * job.step, end);
        take(all);
    }
#pragma unroll 1
    for (rest.at = all.at; rest.at < end; rest.at += rest.apart * REST) {
        rest.template load<true>(job, from + (int64_t)rest.at * job.step, end);
        take(rest);
    }
}

/* Hands over the elements of a slice from number `at` to before `end`, each so many further on, but for
   those that are missing: returns how many of these there are. */
template <typename Type, typename Take>
__device__ static __forceinline__ uint64_t slice_walk(const struct cuda_slice_job &job,
                                                      uint64_t slice, uint64_t at, uint64_t end,
                                                      unsigned further, Take take)
{
    typedef typename slice_taker<Type>::raw raw;
    const unsigned char *from = cuda_slice_from(&job, slice) + (int64_t)at * job.step;
    uint64_t missing = 0;

#pragma unroll 1
    for (; at < end; at += (uint64_t)further * SLICE_RECORD_GROUP) {
        raw x[SLICE_RECORD_GROUP];
        unsigned gone = 0;

#pragma unroll
        for (int i = 0; i < SLICE_RECORD_GROUP; i++, from += (int64_t)further * job.step) {
            x[i] = at + (uint64_t)further * i < end ? slice_load<raw>(from) : 0;
            if (job.swap)
                x[i] = slice_swapped(x[i]);
        }
        if (job.missing.count > 0)
            gone = slice_missing(job.missing, x);
#pragma unroll
        for (int i = 0; i < SLICE_RECORD_GROUP; i++)
            if (at + (uint64_t)further * i < end) {
                if (gone >> i & 1)
                    missing++;
                else
                    take(slice_wide_value<Type>(x[i]));
            }
    }
    return missing;
}

/* How many slices are listed. */
__device__ static __forceinline__ uint64_t slice_listed(const struct cuda_slice_job &job)
{
    const uint64_t found = job.list.found[0];

    return found <= job.list.room ? found : job.all;
}

/* The number of the i-th of those. */
__device__ static __forceinline__ uint64_t slice_of_list(const struct cuda_slice_job &job,
                                                         uint64_t i)
{
    return job.list.found[0] <= job.list.room ? job.list.found[1 + i] : i;
}

struct slice_whole_state : cuda_slice_whole {
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < SLICE_TERMS; i++)
            sum.term[i] = 0;
        sum.left = false;
#pragma unroll
        for (int i = 0; i < SLICE_SQUARES_MAX; i++)
            squares[i] = 0;
        seen.min = INT64_MAX;
        seen.max = INT64_MIN;
        seen.missing = seen.nan = seen.positive = seen.negative = 0;
    }

    /* Takes an element; the square of one that is NARROW is exact. */
    template <bool NARROW> __device__ __forceinline__ void take(double x, enum cuda_slice_op op)
    {
        double error = 0;

        if (!slice_see(&seen, x))
            return;
        x = op == CUDA_SLICE_L1 ? fabs(x) : x;
        sum.left = !slice_terms_add(sum.term, SLICE_TERMS, x) || sum.left;
        if (!cuda_slice_squares(op))
            return;
        const double square = slice_product(x, x, &error);

        /* The square of a smaller number may have bits that are lost. */
        sum.left = !slice_terms_add(squares, SLICE_SQUARES_MAX, square) ||
                   (!NARROW && (!slice_terms_add(squares, SLICE_SQUARES_MAX, error) ||
                                (x != 0 && fabs(x) < 0x1p-400))) ||
                   sum.left;
    }

    /* Adds the product of two halves of integers, or of twice one, to the squares. */
    __device__ __forceinline__ void take_product(double x, double y)
    {
        double error;

        sum.left = !slice_terms_add(squares, SLICE_SQUARES_MAX, slice_product(x, y, &error)) ||
                   sum.left;
        sum.left = !slice_terms_add(squares, SLICE_SQUARES_MAX, error) || sum.left;
    }
    /* Takes an integer of 64 bits, where squares are wanted. */
    __device__ __forceinline__ void take_halves(struct slice_halves half)
    {
        sum.left = !slice_terms_add(sum.term, SLICE_TERMS, half.high) || sum.left;
        sum.left = !slice_terms_add(sum.term, SLICE_TERMS, half.low) || sum.left;
        take_product(half.high, half.high);
        take_product(2 * half.high, half.low);
        take_product(half.low, half.low);
    }
    template <bool> __device__ __forceinline__ void take(int64_t x, enum cuda_slice_op)
    {
        take_halves(slice_halves_of_signed(x));
    }
    template <bool> __device__ __forceinline__ void take(uint64_t x, enum cuda_slice_op)
    {
        take_halves(slice_halves_of(x));
    }

    /* Makes it that of the lane that is `distance` away, too. All lanes of the warp together. */
    __device__ __forceinline__ void exchange(unsigned distance)
    {
        sum.left = (__shfl_xor_sync(SLICE_ALL_LANES, (int)sum.left, distance) != 0) || sum.left;
        sum.left = !slice_exchange_terms(sum.term, distance) || sum.left;
        sum.left = !slice_exchange_terms(squares, distance) || sum.left;
        seen.min = ::min((long long)seen.min,
                         __shfl_xor_sync(SLICE_ALL_LANES, (long long)seen.min, distance));
        seen.max = ::max((long long)seen.max,
                         __shfl_xor_sync(SLICE_ALL_LANES, (long long)seen.max, distance));
        seen.missing += __shfl_xor_sync(SLICE_ALL_LANES, seen.missing, distance);
        seen.nan += __shfl_xor_sync(SLICE_ALL_LANES, seen.nan, distance);
        seen.positive += __shfl_xor_sync(SLICE_ALL_LANES, seen.positive, distance);
        seen.negative += __shfl_xor_sync(SLICE_ALL_LANES, seen.negative, distance);
    }
};

/* Elements of a slice for each of the lanes that share it, at least: they merge what they know, which takes
   longer than a few elements. */
static const uint64_t SLICE_WHOLE_ELEMENTS = 16;

/* How many lanes share a slice, a power of two. One, if all slices are looked at, and neighbouring ones have
   neighbouring elements. */
__device__ static __forceinline__ unsigned slice_whole_lanes(const struct cuda_slice_job &job)
{
    unsigned lanes = 1;

    if (!job.along && job.list.found[0] > job.list.room)
        return 1;
    while (lanes < 32 && lanes * SLICE_WHOLE_ELEMENTS < job.length)
        lanes *= 2;
    return lanes;
}

/* Finds the i-th listed slice again, by so many lanes; others of the warp find others. Whether it is still not
   known. All lanes of the warp together. */
template <typename Type>
__device__ static __forceinline__ bool slice_find_whole(const struct cuda_slice_job &job,
                                                        uint64_t i, uint64_t listed, unsigned lanes)
{
    const unsigned lane = threadIdx.x % lanes;
    const uint64_t slice = i < listed ? slice_of_list(job, i) : 0;
    const bool wanted = i < listed && job.results[slice] == CUDA_SLICE_UNKNOWN;
    struct slice_whole_state state;

    if (!__any_sync(SLICE_ALL_LANES, wanted))
        return false;
    state.clear();
    if (wanted) {
        const uint64_t missing =
            slice_walk<Type>(job, slice, lane, job.length, lanes, [&](auto x) {
                state.template take<sizeof(typename slice_taker<Type>::raw) <= 4>(x, job.wish.op);
            });

        state.seen.missing = missing;
    }
    __syncwarp();
#pragma unroll 1
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2)
        state.exchange(distance);
    if (!wanted || lane > 0)
        return false;
    job.results[slice] = cuda_slice_whole_result(&job.wish, &state);
    return job.results[slice] == CUDA_SLICE_UNKNOWN;
}

template <typename Type>
__global__ void __launch_bounds__(SLICE_THREADS)
    slice_whole(const __grid_constant__ struct cuda_slice_job job)
{
    const uint64_t listed = slice_listed(job);
    const unsigned lanes = slice_whole_lanes(job), together = SLICE_THREADS / lanes;

    for (uint64_t first = (uint64_t)blockIdx.x * together; first < listed;
         first += (uint64_t)job.blocks * together)
        (void)slice_find_whole<Type>(job, first + threadIdx.x / lanes, listed, lanes);
}

/* Numbers that a thread adds up before what they cannot take goes to the superaccumulator, and the
   magnitude of those that go there at once, so that no sum of others overflows. */
static const int SLICE_EXACT_TERMS = 3;
#define SLICE_EXACT_LARGE 0x1p960

/* The state of a block in its segment of a slice. */
struct slice_exact_state {
    superaccumulator<1, 2046> cells;
    struct cuda_slice_sum sum;
    bool last;
};

/* An exact_key as an unsigned number in the same order. */
__device__ static __forceinline__ uint64_t slice_unsigned_key(int64_t key)
{
    return (uint64_t)key ^ UINT64_C(1) << 63;
}

/* Adds to a number that all threads add to. */
__device__ static __forceinline__ void slice_add_atomic(void *to, uint64_t x)
{
    if (x != 0)
        atomicAdd((unsigned long long *)to, (unsigned long long)x);
}

/* Adds what is known of elements to a sum. */
__device__ static __forceinline__ void slice_add_seen(struct cuda_slice_sum *to, uint64_t least,
                                                      uint64_t most, uint64_t missing, uint64_t nan,
                                                      uint64_t positive, uint64_t negative)
{
    typedef unsigned long long word;

    atomicMax((word *)&to->least, (word)least);
    atomicMax((word *)&to->most, (word)most);
    slice_add_atomic(&to->missing, missing);
    slice_add_atomic(&to->nan, nan);
    slice_add_atomic(&to->positive, positive);
    slice_add_atomic(&to->negative, negative);
}

/* Finds the sum of a segment in shared memory. All threads of the block together. */
template <typename Type>
__device__ static __forceinline__ void
slice_exact_segment(const struct cuda_slice_job &job, struct slice_exact_state *s, uint64_t slice,
                    uint64_t begin, uint64_t end)
{
    struct cuda_slice_seen seen = {INT64_MAX, INT64_MIN, 0, 0, 0, 0};
    double term[SLICE_EXACT_TERMS] = {};

    s->cells.clear();
    for (unsigned i = threadIdx.x; i < sizeof s->sum / sizeof(uint64_t); i += THREADS)
        ((uint64_t *)&s->sum)[i] = 0;
    __syncthreads();
    seen.missing = slice_walk<Type>(job, slice, begin + threadIdx.x, end, THREADS, [&](double x) {
        if (!slice_see(&seen, x))
            return;
        x = job.wish.op == CUDA_SLICE_L1 ? fabs(x) : x;
        if (fabs(x) < SLICE_EXACT_LARGE) {
#pragma unroll
            for (int i = 0; i < SLICE_EXACT_TERMS; i++)
                if (x != 0)
                    term[i] = exact_two_sum(term[i], x, &x);
        }
        s->cells.add(x);
    });
#pragma unroll
    for (int i = 0; i < SLICE_EXACT_TERMS; i++)
        s->cells.add(term[i]);
    slice_add_seen(&s->sum, ~slice_unsigned_key(seen.min), slice_unsigned_key(seen.max),
                   seen.missing, seen.nan, seen.positive, seen.negative);
    __syncthreads();
    s->cells.add_to(s->sum.digit);
    __syncthreads();
}

/* Adds the sum of a block to that of the slice. The last one of `blocks` gets that, and true; and makes
   it zero. All threads of the block together. */
__device__ static __forceinline__ bool slice_exact_merge(struct slice_exact_state *s,
                                                         struct cuda_slice_sum *to, uint64_t blocks)
{
    for (unsigned i = threadIdx.x; i < EXACT_DIGITS; i += THREADS)
        slice_add_atomic(&to->digit[i], (uint64_t)s->sum.digit[i]);
    if (threadIdx.x == 0)
        slice_add_seen(to, s->sum.least, s->sum.most, s->sum.missing, s->sum.nan, s->sum.positive,
                       s->sum.negative);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        s->last = atomicAdd(&to->blocks, 1u) + 1 == blocks;
    __syncthreads();
    if (!s->last)
        return false;
    __threadfence();
    for (unsigned i = threadIdx.x; i < sizeof *to / sizeof(uint64_t); i += THREADS) {
        ((uint64_t *)&s->sum)[i] = ((volatile uint64_t *)to)[i];
        ((volatile uint64_t *)to)[i] = 0;
    }
    __syncthreads();
    return true;
}

/* The bits of the result of a sum. */
__device__ static __forceinline__ uint64_t slice_exact_result(const struct cuda_slice_wish *w,
                                                              const struct cuda_slice_sum *s)
{
    const struct cuda_slice_seen seen = {(int64_t)(~s->least ^ UINT64_C(1) << 63),
                                         (int64_t)(s->most ^ UINT64_C(1) << 63),
                                         s->missing,
                                         s->nan,
                                         s->positive,
                                         s->negative};
    uint64_t bits;

    if (!cuda_slice_seen_result(w, &seen, &bits))
        bits = exact_bits(
            exact_mean_of(s->digit, w->op == CUDA_SLICE_MEAN ? w->count - s->missing - s->nan : 1));
    return bits;
}

/* Empties the list once all blocks are through with it. */
__device__ static __forceinline__ void slice_end_list(const struct cuda_slice_job &job)
{
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(job.done, 1u) + 1 == job.blocks) {
        *job.done = 0;
        job.list.found[0] = 0;
    }
}

template <typename Type>
__global__ void __launch_bounds__(THREADS)
    slice_exact(const __grid_constant__ struct cuda_slice_job job)
{
    __shared__ struct slice_exact_state state;
    const uint64_t listed = slice_listed(job);

    if (listed == 0)
        return;
    const uint64_t segment = listed <= job.sum_count ? job.segment : job.length;
    const uint64_t segments = (job.length + segment - 1) / segment;

    for (uint64_t i = blockIdx.x; i < listed * segments; i += job.blocks) {
        const uint64_t slice = slice_of_list(job, i / segments);
        const uint64_t begin = i % segments * segment;
        const uint64_t end = job.length - begin < segment ? job.length : begin + segment;

        /* It is set when all blocks have looked. */
        if (job.results[slice] != CUDA_SLICE_UNKNOWN)
            continue;
        slice_exact_segment<Type>(job, &state, slice, begin, end);
        if ((segments == 1 || slice_exact_merge(&state, &job.sums[i / segments], segments)) &&
            threadIdx.x == 0)
            job.results[slice] = slice_exact_result(&job.wish, &state.sum);
        __syncthreads();
    }
    slice_end_list(job);
}

/* As slice_whole; then the block does what slice_exact does with those that are left. */
template <typename Type>
__global__ void __launch_bounds__(THREADS)
    slice_find_listed(const __grid_constant__ struct cuda_slice_job job)
{
    __shared__ struct slice_exact_state state;
    __shared__ uint64_t left[THREADS];
    __shared__ unsigned count;
    const uint64_t listed = slice_listed(job);

    if (listed == 0)
        return;
    const unsigned lanes = slice_whole_lanes(job), apiece = 32 / lanes, warp = threadIdx.x / 32;

    for (uint64_t first = 0; first < listed; first += (uint64_t)job.blocks * (THREADS / lanes)) {
        /* Lanes of a warp take neighbours, and as many blocks as there can be have some. */
        const uint64_t i = first + ((uint64_t)warp * job.blocks + blockIdx.x) * apiece +
                           threadIdx.x % 32 / lanes;

        if (threadIdx.x == 0)
            count = 0;
        __syncthreads();
        if (slice_find_whole<Type>(job, i, listed, lanes))
            left[atomicAdd(&count, 1u)] = slice_of_list(job, i);
        __syncthreads();
        for (unsigned j = 0; j < count; j++) {
            slice_exact_segment<Type>(job, &state, left[j], 0, job.length);
            if (threadIdx.x == 0)
                job.results[left[j]] = slice_exact_result(&job.wish, &state.sum);
            __syncthreads();
        }
        __syncthreads();
    }
    slice_end_list(job);
}

#endif
