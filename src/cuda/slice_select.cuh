/*
 * Quantiles of slices. A block brings some slices into shared memory, as keys in the order of the
 * elements, and warps find the key of a rank by halves: how many keys there are up to the one in the
 * middle tells which half has it. It ends when one key is left, after some more steps than the logarithm
 * of the number of keys, since numbers lie close together near most ranks. If a slice does not fit
 * there, a block reads its elements again each time. Each of a few elements counts those before it.
 */
#ifndef GPUREDUCE_CUDA_SLICE_SELECT_CUH
#define GPUREDUCE_CUDA_SLICE_SELECT_CUH

#include "cuda/slice_whole.cuh"

#ifndef DYNAMIC_SHARED
#    define DYNAMIC_SHARED(name) extern __shared__ uint4 name[]
#endif

static const unsigned SELECT_WARPS = CUDA_SELECT_THREADS / 32;

/* Elements that a thread loads at a time. */
static const int SELECT_GROUP = 4;

/* How elements of a type are keys: unsigned numbers of as many bits, as of core/order.h. */
template <typename Type> struct select_float {
    typedef typename slice_taker<Type>::raw raw;
    typedef typename slice_word<sizeof(raw) == 8>::type key;
    static const key SIGN = (key)1 << (8 * sizeof(raw) - 1);

    __device__ static __forceinline__ double value_of(raw x)
    {
        return slice_wide_value<Type>(x);
    }
    __device__ static __forceinline__ bool is_nan(raw x)
    {
        const double value = value_of(x);

        return !(value == value);
    }
    __device__ static __forceinline__ key key_of(raw x)
    {
        return x & SIGN ? (key)(raw)~x : x | SIGN;
    }
    __device__ static __forceinline__ struct slice_halves value(key k)
    {
        return {value_of((raw)(k & SIGN ? k ^ SIGN : ~k)), 0};
    }
};

template <typename Type> struct select_integer {
    typedef typename slice_raw<integer_reducer<Type>::SIZE>::type raw;
    typedef typename slice_word<sizeof(raw) == 8>::type key;
    typedef typename Type::element element;
    static const raw SIGN = (raw)((raw)Type::SIGNED << (8 * sizeof(raw) - 1));

    __device__ static __forceinline__ bool is_nan(raw)
    {
        return false;
    }
    __device__ static __forceinline__ key key_of(raw x)
    {
        return (raw)((Type::TRUTH ? x != 0 : x) ^ SIGN);
    }
    /* Large integers take two numbers. */
    __device__ static __forceinline__ struct slice_halves value(key k)
    {
        const element x = (element)((raw)k ^ SIGN);

        if (sizeof(raw) < 8 || fabs((double)x) < 0x1p53)
            return {(double)x, 0};
        if (Type::SIGNED)
            return {(double)((int64_t)x >> 32) * 0x1p32, (double)((uint64_t)x & UINT32_MAX)};
        return slice_halves_of((uint64_t)x);
    }
};

/* Functions that make one of two: the least, the greatest, the sum; and one instruction of a warp each. */
template <typename Key> struct select_least {
    __device__ __forceinline__ Key operator()(Key a, Key b) const
    {
        return a < b ? a : b;
    }
};
template <typename Key> struct select_greatest {
    __device__ __forceinline__ Key operator()(Key a, Key b) const
    {
        return a > b ? a : b;
    }
};
template <typename Key> struct select_sum {
    __device__ __forceinline__ Key operator()(Key a, Key b) const
    {
        return a + b;
    }
};
template <typename Key, typename Merge>
__device__ static __forceinline__ Key select_of_warp(Key x, const Merge &merge)
{
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        x = merge(x, __shfl_xor_sync(SLICE_ALL_LANES, x, distance));
    return x;
}
#if __CUDA_ARCH__ >= 800
__device__ static __forceinline__ uint32_t select_of_warp(uint32_t x,
                                                          const select_least<uint32_t> &)
{
    return __reduce_min_sync(SLICE_ALL_LANES, x);
}
__device__ static __forceinline__ uint32_t select_of_warp(uint32_t x,
                                                          const select_greatest<uint32_t> &)
{
    return __reduce_max_sync(SLICE_ALL_LANES, x);
}
__device__ static __forceinline__ uint32_t select_of_warp(uint32_t x, const select_sum<uint32_t> &)
{
    return __reduce_add_sync(SLICE_ALL_LANES, x);
}
#endif

/* The threads that select together: a warp, or all of a block, which then has `shared` for each warp. */
struct select_team {
    unsigned thread, threads;
    uint64_t *shared;

    /* Makes one of all threads' x, in each of them. */
    template <typename Key, typename Merge>
    __device__ __forceinline__ Key all(Key x, const Merge &merge) const
    {
        x = select_of_warp(x, merge);
        if (threads == 32)
            return x;
        __syncthreads(); /* all have read what was there */
        if (thread % 32 == 0)
            shared[thread / 32] = x;
        __syncthreads();
        x = (Key)shared[0];
        for (unsigned i = 1; i < SELECT_WARPS; i++)
            x = merge(x, (Key)shared[i]);
        return x;
    }
};

/* The keys of a slice in shared memory. */
template <typename Key> struct select_shared {
    typedef Key raw, key;
    static const int GROUP = 4; /* that a thread loads at a time */
    const Key *keys;

    __device__ __forceinline__ const Key *place(unsigned i) const
    {
        return keys + i;
    }
    __device__ __forceinline__ const Key *further(const Key *at, unsigned n) const
    {
        return at + n;
    }
    __device__ __forceinline__ key key_of(raw x) const
    {
        return x;
    }
};

/* Those of a slice that is not there: of elements that are missing or NaN the greatest. */
template <typename Selector> struct select_again {
    typedef typename Selector::raw raw;
    typedef typename Selector::key key;
    static const int GROUP = 16;
    const struct cuda_slice_job &job;
    const unsigned char *from;

    __device__ __forceinline__ const raw *place(unsigned i) const
    {
        return (const raw *)(from + i * job.step);
    }
    __device__ __forceinline__ const raw *further(const raw *at, unsigned n) const
    {
        return (const raw *)((const unsigned char *)at + n * job.step);
    }
    __device__ __forceinline__ key key_of(raw x) const
    {
        const raw one[] = {job.swap ? slice_swapped(x) : x};
        const bool gone = job.missing.count > 0 && slice_missing(job.missing, one) != 0;

        return gone || Selector::is_nan(one[0]) ? (key) ~(key)0 : Selector::key_of(one[0]);
    }
};

/* Takes a thread's share of the keys. */
template <typename Keys, typename Take>
__device__ static __forceinline__ void select_walk(const select_team &team, const Keys &keys,
                                                   unsigned length, const Take &take)
{
    const typename Keys::raw *at = keys.place(team.thread);
    unsigned i = team.thread;

#pragma unroll 1
    for (; i + team.threads * (Keys::GROUP - 1) < length; i += team.threads * Keys::GROUP) {
        typename Keys::raw x[Keys::GROUP];

#pragma unroll
        for (int j = 0; j < Keys::GROUP; j++, at = keys.further(at, team.threads))
            x[j] = *at;
#pragma unroll
        for (int j = 0; j < Keys::GROUP; j++)
            take(keys.key_of(x[j]));
    }
#pragma unroll 1
    for (; i < length; i += team.threads, at = keys.further(at, team.threads))
        take(keys.key_of(*at));
}

/* Sets *low to the key with a rank among those of a slice, of which `numbers` are numbers, and the
   others greater than any; and *high, with `both`, to the one with the next rank. */
template <typename Keys, typename Key>
__device__ static __forceinline__ void select_rank(const select_team &team, const Keys &keys,
                                                   unsigned length, unsigned numbers, unsigned rank,
                                                   bool both, Key *low, Key *high)
{
    const Key none = (Key) ~(Key)0;
    Key from = none, to = 0, least = none, next = none;
    uint32_t below = 0, up_to = numbers; /* the keys less than `from`, and up to `to` */

    select_walk(team, keys, length, [&](Key k) {
        from = min(from, k);
        to = max(to, k);
    });
    from = team.all(from, select_least<Key>());
    to = numbers < length ? none : team.all(to, select_greatest<Key>());
#pragma unroll 1
    while (from < to && up_to - below > 1) {
        const Key middle = from + (to - from) / 2;
        uint32_t count = 0;

        select_walk(team, keys, length, [&](Key k) { count += k <= middle; });
        count = team.all(count, select_sum<uint32_t>());
        if (count > rank) {
            to = middle;
            up_to = count;
        } else {
            from = middle + 1;
            below = count;
        }
    }
    select_walk(team, keys, length, [&](Key k) { least = k >= from ? min(least, k) : least; });
    *low = *high = least = team.all(least, select_least<Key>());
    if (!both || up_to > rank + 1)
        return;
    select_walk(team, keys, length, [&](Key k) { next = k > least ? min(next, k) : next; });
    *high = team.all(next, select_least<Key>());
}

/* Sets *low and *high so, where `lanes` neighbours, a power of two, have a key each, that of a lane without
   an element the greatest. All lanes of the warp together. */
template <typename Key>
__device__ static __forceinline__ void select_few(unsigned lanes, Key key, unsigned rank, Key *low,
                                                  Key *high)
{
    const unsigned lane = threadIdx.x % 32, mine = lane % lanes, first = lane - mine;
    const unsigned others = lanes == 32 ? SLICE_ALL_LANES : ((1u << lanes) - 1) << first;
    unsigned before = 0;

#pragma unroll 1
    for (unsigned i = 0; i < lanes; i++) {
        const Key other = __shfl_sync(SLICE_ALL_LANES, key, first + i);

        before += other < key || (other == key && i < mine);
    }
    const unsigned at = __ballot_sync(SLICE_ALL_LANES, before == rank) & others;
    const unsigned next = __ballot_sync(SLICE_ALL_LANES, before == rank + 1) & others;

    *low = __shfl_sync(SLICE_ALL_LANES, key, at != 0 ? __ffs((int)at) - 1 : 0);
    *high = __shfl_sync(SLICE_ALL_LANES, key, next != 0 ? __ffs((int)next) - 1 : 0);
}

/* The bits of what lies between two numbers, which may be CUDA_SLICE_UNKNOWN. */
template <typename Selector>
__device__ static uint64_t select_between(const struct quantile *q, uint64_t fraction,
                                          typename Selector::key low, typename Selector::key high)
{
    const struct slice_halves a = Selector::value(low), b = Selector::value(high);
    double found = a.low == 0 ? a.high : a.high + a.low; /* -0 stays -0 */

    if (low == high)
        return exact_bits(found);
    if (!(fabs(a.high) < __longlong_as_double(0x7ff0000000000000ll)) ||
        !(fabs(b.high) < __longlong_as_double(0x7ff0000000000000ll)))
        found = a.high + b.high; /* an infinity, or none */
    else if (!slice_between(a, b, fraction, q->denominator, &found))
        return CUDA_SLICE_UNKNOWN;
    return found == found ? exact_bits(found) : EXACT_NAN;
}

/* Whether there is a quantile of a slice, and its place. */
__device__ static __forceinline__ bool select_place(const struct cuda_slice_job &job,
                                                    unsigned missing, unsigned nan,
                                                    unsigned *numbers, struct quantile_place *place)
{
    *numbers = (unsigned)job.length - missing - nan;
    *place = job.place;
    if (*numbers == 0 || (nan > 0 && !job.wish.skip_nan))
        return false;
    if (*numbers < job.length)
        *place = quantile_place(&job.wish.quantile, *numbers);
    return true;
}

__device__ static __forceinline__ void select_put(const struct cuda_slice_job &job, uint64_t slice,
                                                  uint64_t bits)
{
    job.results[slice] = bits;
    if (bits == CUDA_SLICE_UNKNOWN)
        cuda_list_append(&job.list, slice);
}

/* Finds the result of a slice. All of a team together. */
template <typename Selector, typename Keys>
__device__ static __forceinline__ void select_result(const struct cuda_slice_job &job,
                                                     const select_team &team, const Keys &keys,
                                                     uint64_t slice, unsigned missing, unsigned nan)
{
    struct quantile_place place;
    typename Selector::key low, high;
    uint64_t bits = EXACT_NAN;
    unsigned numbers;

    if (select_place(job, missing, nan, &numbers, &place)) {
        select_rank(team, keys, (unsigned)job.length, numbers, (unsigned)place.rank,
                    place.fraction > 0, &low, &high);
        bits = select_between<Selector>(&job.wish.quantile, place.fraction, low, high);
    }
    if (team.thread == 0)
        select_put(job, slice, bits);
}

/* Finds the results of slices of few elements, as many at a time as a warp has lanes for. All of a warp
   together. */
template <typename Selector>
__device__ static __forceinline__ void
select_results_of_few(const struct cuda_slice_job &job, const typename Selector::key *keys,
                      uint64_t first, const unsigned *missing, const unsigned *nan)
{
    typedef typename Selector::key key;
    const unsigned length = (unsigned)job.length, lane = threadIdx.x % job.few;
    const unsigned at_once = CUDA_SELECT_THREADS / job.few;

    for (unsigned i = threadIdx.x / job.few; i - threadIdx.x / job.few < job.across; i += at_once) {
        const bool is = i < job.across && first + i < job.all;
        struct quantile_place place = {0, 0};
        unsigned numbers = 0;
        const bool has = is && select_place(job, missing[i], nan[i], &numbers, &place);
        key low, high;

        select_few(job.few, is && lane < length ? keys[i * job.pitch + lane] : (key) ~(key)0,
                   (unsigned)place.rank, &low, &high);
        if (is && lane == 0)
            select_put(job, first + i,
                       has ? select_between<Selector>(&job.wish.quantile, place.fraction, low,
                                                      place.fraction > 0 ? high : low)
                           : EXACT_NAN);
    }
}

/* Takes COUNT elements of a slice, from number `at` on, each `lanes` further: puts their keys into shared
   memory, unless that is NULL, and counts those that are no numbers. *from moves behind them. */
template <typename Selector, int COUNT>
__device__ static __forceinline__ void
select_some(const struct cuda_slice_job &job, const unsigned char **from, int64_t further,
            unsigned at, typename Selector::key *keys, unsigned *missing, unsigned *nan)
{
    const typename Selector::key none = (typename Selector::key) ~(typename Selector::key)0;
    typename Selector::raw x[COUNT];
    unsigned gone = 0;

    slice_load_some(job, from, further, x);
    if (job.missing.count > 0)
        gone = slice_missing(job.missing, x);
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const bool is_gone = gone >> i & 1, is_nan = !is_gone && Selector::is_nan(x[i]);

        if (keys)
            keys[at + job.lanes * i] = is_gone || is_nan ? none : Selector::key_of(x[i]);
        *missing += is_gone;
        *nan += is_nan;
    }
}

/* Takes every so manyth element of a slice, from number `lane` on, in that way. */
template <typename Selector>
__device__ static __forceinline__ void select_load(const struct cuda_slice_job &job, uint64_t slice,
                                                   unsigned lane, typename Selector::key *keys,
                                                   unsigned *missing, unsigned *nan)
{
    const int64_t further = (int64_t)job.lanes * job.step;
    const unsigned char *from = cuda_slice_from(&job, slice) + lane * job.step;
    const unsigned length = (unsigned)job.length;
    unsigned at = lane, some_missing = 0, some_nan = 0;

#pragma unroll 1
    for (; at + job.lanes * (SELECT_GROUP - 1) < length; at += job.lanes * SELECT_GROUP)
        select_some<Selector, SELECT_GROUP>(job, &from, further, at, keys, &some_missing,
                                            &some_nan);
#pragma unroll 1
    for (; at < length; at += job.lanes)
        select_some<Selector, 1>(job, &from, further, at, keys, &some_missing, &some_nan);
    if (some_missing > 0)
        atomicAdd(missing, some_missing);
    if (some_nan > 0)
        atomicAdd(nan, some_nan);
}

template <typename Selector>
__global__ void __launch_bounds__(CUDA_SELECT_THREADS)
    slice_select(const __grid_constant__ struct cuda_slice_job job)
{
    typedef typename Selector::key key;
    DYNAMIC_SHARED(memory);
    __shared__ unsigned missing[CUDA_SELECT_SLICES], nan[CUDA_SELECT_SLICES];
    __shared__ uint64_t of_warps[SELECT_WARPS];
    key *const keys = job.pitch > 0 ? (key *)memory : nullptr;
    const unsigned thread = threadIdx.x, across = job.across;
    const unsigned lane = job.along ? thread % job.lanes : thread / across;
    const unsigned mine = job.along ? thread / job.lanes : thread % across;
    const unsigned at_once = CUDA_SELECT_THREADS / job.lanes; /* slices */
    const select_team warp = {thread % 32, 32, nullptr},
                      block = {thread, CUDA_SELECT_THREADS, of_warps};

    for (uint64_t first = (uint64_t)blockIdx.x * across; first < job.all;
         first += (uint64_t)job.blocks * across) {
        if (thread < across)
            missing[thread] = nan[thread] = 0;
        __syncthreads();
        for (unsigned i = mine; i < across && first + i < job.all; i += at_once)
            select_load<Selector>(job, first + i, lane, keys ? keys + i * job.pitch : nullptr,
                                  &missing[i], &nan[i]);
        __syncthreads();
        if (job.few > 0)
            select_results_of_few<Selector>(job, keys, first, missing, nan);
        else if (job.pitch == 0)
            select_result<Selector>(job, block,
                                    select_again<Selector>{job, cuda_slice_from(&job, first)},
                                    first, missing[0], nan[0]);
        else if (across == 1)
            select_result<Selector>(job, block, select_shared<key>{keys}, first, missing[0],
                                    nan[0]);
        else
            for (unsigned i = thread / 32; i < across && first + i < job.all; i += SELECT_WARPS)
                select_result<Selector>(job, warp, select_shared<key>{keys + i * job.pitch},
                                        first + i, missing[i], nan[i]);
        __syncthreads(); /* all have read what was there */
    }
}

#endif
