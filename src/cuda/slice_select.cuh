/*
 * Quantiles of slices. A block brings some slices into shared memory, as keys in the order of the
 * elements, and warps find the key of a rank by halves: how many keys there are up to the one in the
 * middle tells which half has it. It ends when one key is left, after some more steps than the logarithm
 * of the number of keys, since numbers lie close together near most ranks. Each of a few elements counts
 * those before it.
 *
 * Elements of longer slices are read several times: histograms of the first bits of the keys, and of the
 * next ones, tell which few keys have the rank, and these are brought into shared memory.
 */
#ifndef GPUREDUCE_CUDA_SLICE_SELECT_CUH
#define GPUREDUCE_CUDA_SLICE_SELECT_CUH

#include "cuda/slice_whole.cuh"

#ifndef DYNAMIC_SHARED
#    define DYNAMIC_SHARED(name) extern __shared__ uint4 name[]
#endif

static const unsigned SELECT_WARPS = CUDA_SELECT_THREADS / 32;

/* Elements that a thread brings into shared memory at a time, and keys that it reads there. */
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
    typedef typename word_of<integer_reducer<Type>::SIZE>::type raw;
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

/* The team of a thread, where a block has so many slices at once. */
__device__ static __forceinline__ select_team select_team_of(unsigned across, uint64_t *shared)
{
    if (across == 1)
        return {threadIdx.x, CUDA_SELECT_THREADS, shared};
    return {threadIdx.x % 32, 32, nullptr};
}

/* The keys of a slice in shared memory. */
template <typename Key> struct select_shared {
    const Key *keys;
    unsigned length;

    /* Takes a thread's share of them. */
    template <typename Take>
    __device__ __forceinline__ void walk(const select_team &team, const Take &take) const
    {
        unsigned i = team.thread;

#pragma unroll 1
        for (; i + team.threads * (SELECT_GROUP - 1) < length; i += team.threads * SELECT_GROUP) {
            Key x[SELECT_GROUP];

#pragma unroll
            for (int j = 0; j < SELECT_GROUP; j++)
                x[j] = keys[i + team.threads * j];
#pragma unroll
            for (int j = 0; j < SELECT_GROUP; j++)
                take(x[j]);
        }
#pragma unroll 1
        for (; i < length; i += team.threads)
            take(keys[i]);
    }
    /* The greatest of a thread's share. */
    __device__ __forceinline__ Key greatest(const select_team &team) const
    {
        Key to = 0;

        walk(team, [&](Key k) { to = max(to, k); });
        return to;
    }
};

/* Those of a slice of up to 32 COUNT elements, which a warp holds. */
template <typename Key, int COUNT> struct select_held {
    Key x[COUNT]; /* the greatest key where there is no element */
    unsigned length;

    __device__ __forceinline__ select_held(const Key *keys, unsigned length) : length(length)
    {
#pragma unroll
        for (unsigned i = 0; i < COUNT; i++)
            x[i] = is(i) ? keys[threadIdx.x % 32 + 32 * i] : (Key) ~(Key)0;
    }
    __device__ __forceinline__ bool is(unsigned i) const
    {
        return threadIdx.x % 32 + 32 * i < length;
    }
    template <typename Take>
    __device__ __forceinline__ void walk(const select_team &, const Take &take) const
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            take(x[i]);
    }
    __device__ __forceinline__ Key greatest(const select_team &) const
    {
        Key to = 0;

#pragma unroll
        for (unsigned i = 0; i < COUNT; i++)
            to = is(i) ? max(to, x[i]) : to;
        return to;
    }
};

/* Two keys next to each other in order, or one twice. */
template <typename Key> struct select_pair {
    Key low, high;
};

/* The key with a rank among those of a slice, of which `numbers` are numbers, and the others greater than
   any; and, with `both`, the one with the next rank. All of a team together. */
template <typename Keys>
__device__ static __forceinline__ auto select_rank(const select_team &team, const Keys &keys,
                                                   unsigned numbers, unsigned rank, bool both)
{
    typedef decltype(keys.greatest(team)) key;
    const key none = (key) ~(key)0;
    key from = none, to = none, least = none, next = none;
    uint32_t below = 0, up_to = numbers; /* the keys less than `from`, and up to `to` */

    keys.walk(team, [&](key k) { from = min(from, k); });
    from = team.all(from, select_least<key>());
    if (numbers == keys.length)
        to = team.all(keys.greatest(team), select_greatest<key>());
#pragma unroll 1
    while (from < to && up_to - below > 1) {
        const key middle = from + (to - from) / 2;
        uint32_t count = 0;

        keys.walk(team, [&](key k) { count += k <= middle; });
        count = team.all(count, select_sum<uint32_t>());
        if (count > rank) {
            to = middle;
            up_to = count;
        } else {
            from = middle + 1;
            below = count;
        }
    }
    keys.walk(team, [&](key k) { least = k >= from ? min(least, k) : least; });
    least = team.all(least, select_least<key>());
    if (!both || up_to > rank + 1)
        return select_pair<key>{least, least};
    keys.walk(team, [&](key k) { next = k > least ? min(next, k) : next; });
    return select_pair<key>{least, team.all(next, select_least<key>())};
}

/* The key with a rank and the next one, where `lanes` neighbours, a power of two, have a key each, that of
   a lane without an element the greatest. All lanes of the warp together. */
template <typename Key>
__device__ static __forceinline__ select_pair<Key> select_few(unsigned lanes, Key key, unsigned rank)
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

    return {__shfl_sync(SLICE_ALL_LANES, key, at != 0 ? __ffs((int)at) - 1 : 0),
            __shfl_sync(SLICE_ALL_LANES, key, next != 0 ? __ffs((int)next) - 1 : 0)};
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

/* Puts the result of a slice, of which these keys were found. */
template <typename Selector>
__device__ static __forceinline__ void
select_put(const struct cuda_slice_job &job, uint64_t slice, unsigned missing, unsigned nan,
           const select_pair<typename Selector::key> &found)
{
    struct quantile_place place;
    unsigned numbers;
    uint64_t bits = EXACT_NAN;

    if (select_place(job, missing, nan, &numbers, &place))
        bits = select_between<Selector>(&job.wish.quantile, place.fraction, found.low,
                                        place.fraction > 0 ? found.high : found.low);
    job.results[slice] = bits;
    if (bits == CUDA_SLICE_UNKNOWN)
        cuda_list_append(&job.list, slice);
}

/* Finds the keys of a slice that is in shared memory. All of a team together. */
template <typename Selector>
__device__ static __forceinline__ select_pair<typename Selector::key>
select_slice(const struct cuda_slice_job &job, const select_team &team,
             const typename Selector::key *keys, unsigned missing, unsigned nan)
{
    typedef typename Selector::key key;
    const unsigned length = (unsigned)job.length;
    struct quantile_place place;
    unsigned numbers;

    if (!select_place(job, missing, nan, &numbers, &place))
        return {0, 0};
    const unsigned rank = (unsigned)place.rank;
    const bool both = place.fraction > 0;

    if (team.threads > 32 || length > 256)
        return select_rank(team, select_shared<key>{keys, length}, numbers, rank, both);
    if (length > 64)
        return select_rank(team, select_held<key, 8>(keys, length), numbers, rank, both);
    return select_rank(team, select_held<key, 2>(keys, length), numbers, rank, both);
}

/* Puts the keys that were found of a block's i-th slice in the place of its first ones. */
template <typename Key>
__device__ static __forceinline__ void select_keep(const struct cuda_slice_job &job, Key *keys,
                                                   unsigned i, const select_pair<Key> &found)
{
    keys[i * job.pitch + (job.length > 1)] = found.high;
    keys[i * job.pitch] = found.low; /* of one element that is both */
}

template <typename Key>
__device__ static __forceinline__ select_pair<Key> select_kept(const struct cuda_slice_job &job,
                                                               const Key *keys, unsigned i)
{
    return {keys[i * job.pitch], keys[i * job.pitch + (job.length > 1)]};
}

/* Finds those of `count` slices of few elements, as many at a time as a warp has lanes for. All of a warp
   together. */
template <typename Selector>
__device__ static __forceinline__ void
select_slices_of_few(const struct cuda_slice_job &job, typename Selector::key *keys, unsigned count,
                     const unsigned *missing, const unsigned *nan)
{
    typedef typename Selector::key key;
    const unsigned lane = threadIdx.x % job.few, own = threadIdx.x / job.few;

    for (unsigned first = 0; first < count; first += CUDA_SELECT_THREADS / job.few) {
        const unsigned i = first + own;
        const bool is = i < count;
        struct quantile_place place = {0, 0};
        unsigned numbers = 0;

        if (is)
            (void)select_place(job, missing[i], nan[i], &numbers, &place);
        const select_pair<key> found = select_few(
            job.few, is && lane < job.length ? keys[i * job.pitch + lane] : (key) ~(key)0,
            (unsigned)place.rank);

        __syncwarp(); /* all have read what one changes */
        if (is && lane == 0)
            select_keep(job, keys, i, found);
    }
}

/* Hands over the keys of a thread's share of a slice, `lane`, as take(key, number), of so many units at a
   time: that of an element that is no number is the greatest. Adds how many of these there are to *missing
   and *nan. */
template <bool ROW, int COUNT, int REST, typename Selector, typename Take>
__device__ static __forceinline__ void select_share(const struct cuda_slice_job &job, uint64_t slice,
                                                    unsigned lane, unsigned *missing,
                                                    unsigned *nan, const Take &take)
{
    typedef typename Selector::key key;

    slice_take_units<typename Selector::raw, ROW, COUNT, REST>(
        job, cuda_slice_from(&job, slice), 0, (uint32_t)job.length, lane, [&](const auto &u) {
            uint32_t gone = 0;

            if (job.missing.count > 0)
                gone = slice_missing(job.missing, u.x) & ~u.outside;
            *missing += (unsigned)__popc(gone);
#pragma unroll
            for (int i = 0; i < u.ALL; i++) {
                const bool is_gone = gone >> i & 1, is_nan = !is_gone && Selector::is_nan(u.x[i]);

                if (u.outside >> i & 1)
                    continue;
                take(is_gone || is_nan ? (key) ~(key)0 : Selector::key_of(u.x[i]), u.number(i));
                *nan += is_nan;
            }
        });
}

/* Puts the keys of a thread's share of a slice, `lane`, into shared memory, and counts those that are no
   numbers. */
template <typename Selector>
__device__ static __forceinline__ void select_load(const struct cuda_slice_job &job, uint64_t slice,
                                                   unsigned lane, typename Selector::key *keys,
                                                   unsigned *missing, unsigned *nan)
{
    unsigned some_missing = 0, some_nan = 0;

    select_share<false, SELECT_GROUP, 1, Selector>(
        job, slice, lane, &some_missing, &some_nan,
        [&](typename Selector::key key, uint32_t number) { keys[number] = key; });
    if (some_missing > 0)
        atomicAdd(missing, some_missing);
    if (some_nan > 0)
        atomicAdd(nan, some_nan);
}

/* A slice whose quantile is found by digits: bits of keys, from the highest on. */
template <typename Key> struct select_digits {
    struct quantile_place place;
    unsigned missing, nan;
    bool has;              /* there is a quantile, at this place */
    Key from, to;          /* the keys among which the one with the rank is: */
    uint32_t below, count; /* keys less than those, and how many those are, */
    uint32_t stored;       /* how many of them are in shared memory, */
    Key next;              /* and the least one that is greater */
    select_pair<Key> found;

    __device__ __forceinline__ bool has_next() const
    {
        return (uint32_t)place.rank + 1 < below + count;
    }
    /* Whether the keys from `from` on have to be read again. */
    __device__ __forceinline__ bool is_open() const
    {
        return has && (from < to || (place.fraction > 0 && !has_next()));
    }
};

/* The place of a bin, so that lanes that read one after the other use different banks. */
__device__ static __forceinline__ unsigned select_bin(unsigned bin)
{
    return bin + bin / 64;
}

/* Narrows the keys of a slice to those of the bin of a histogram that has the rank, whose lowest `shift`
   bits are not told apart. All of a warp together. */
template <typename Key>
__device__ static __forceinline__ void select_narrow(select_digits<Key> *d, const uint32_t *bins,
                                                     unsigned count, int shift)
{
    const unsigned lane = threadIdx.x % 32, each = count / 32;
    const uint32_t rank = (uint32_t)d->place.rank - d->below;
    uint32_t sum = 0, up_to;

    for (unsigned i = 0; i < each; i++)
        sum += bins[select_bin(lane * each + i)];
    up_to = sum;
#pragma unroll
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const uint32_t other = __shfl_up_sync(SLICE_ALL_LANES, up_to, distance);

        up_to += lane >= distance ? other : 0;
    }
    __syncwarp(); /* all have read what one changes */
    if (!d->has || rank < up_to - sum || rank >= up_to)
        return;
    unsigned bin = lane * each;
    uint32_t below = up_to - sum;

    while (below + bins[select_bin(bin)] <= rank)
        below += bins[select_bin(bin++)];
    d->below += below;
    d->count = bins[select_bin(bin)];
    d->from += (Key)bin << shift;
    d->to = d->from + (((Key)1 << shift) - 1);
}

__device__ static __forceinline__ void select_lower(uint32_t *to, uint32_t x)
{
    atomicMin(to, x);
}
__device__ static __forceinline__ void select_lower(uint64_t *to, uint64_t x)
{
    atomicMin((unsigned long long *)to, (unsigned long long)x);
}

/* Hands over keys of a slice that is not in shared memory. */
template <bool ROW, typename Selector, typename Take>
__device__ static __forceinline__ void select_again(const struct cuda_slice_job &job, uint64_t slice,
                                                    unsigned lane, unsigned *missing,
                                                    unsigned *nan, const Take &take)
{
    typedef typename Selector::raw raw;

    select_share<ROW, SLICE_UNITS<raw, ROW>, ROW ? 1 : 4, Selector>(job, slice, lane, missing, nan,
                                                                    take);
}

/* Finds the keys of slices from number `first` on, as many as a block has at once. A thread reads a share,
   `lane`, of the one that is `mine` among them. All of a block together. */
template <bool ROW, typename Selector>
__device__ static __forceinline__ void
select_by_digits(const struct cuda_slice_job &job, uint64_t first, unsigned mine, unsigned lane,
                 const select_team &team, void *memory,
                 select_digits<typename Selector::key> *slices)
{
    typedef typename Selector::key key;
    const unsigned words = cuda_select_words(sizeof(typename Selector::raw));
    const unsigned room =
        cuda_select_room(job.across, sizeof(typename Selector::raw)) / (unsigned)sizeof(key);
    const bool is = first + mine < job.all;
    select_digits<key> *const d = &slices[mine], *const own = &slices[threadIdx.x];
    const bool owns = threadIdx.x < job.across && first + threadIdx.x < job.all;
    const int digit = cuda_select_digit(sizeof(typename Selector::raw));
    int shift = 8 * (int)sizeof(typename Selector::raw);
    unsigned missing = 0, nan = 0;
    bool begun = false;

    if (threadIdx.x < job.across) {
        *own = {};
        own->to = (key) ~(key)0 >> 8 * (sizeof(key) - sizeof(typename Selector::raw));
    }
    do {
        uint32_t *const bins = (uint32_t *)memory + mine * words;
        const int bits = min(shift, digit);

        shift -= bits;
        for (unsigned i = threadIdx.x; i < job.across * words; i += CUDA_SELECT_THREADS)
            ((uint32_t *)memory)[i] = 0;
        __syncthreads();
        const key from = d->from, distance = d->to - from;

        if (is && (!begun || d->has))
            select_again<ROW, Selector>(
                job, first + mine, lane, &missing, &nan, [&](key k, uint32_t) {
                    if (k - from <= distance)
                        atomicAdd(&bins[select_bin((unsigned)((k - from) >> shift))], 1u);
                });
        if (!begun && missing > 0)
            atomicAdd(&d->missing, missing);
        if (!begun && nan > 0)
            atomicAdd(&d->nan, nan);
        __syncthreads();
        if (!begun && owns) {
            unsigned numbers;

            own->has = select_place(job, own->missing, own->nan, &numbers, &own->place);
        }
        begun = true;
        __syncthreads();
        for (unsigned i = threadIdx.x / 32; i < job.across; i += SELECT_WARPS)
            select_narrow(&slices[i], (const uint32_t *)memory + i * words, 1u << bits, shift);
        __syncthreads();
    } while (__syncthreads_or(owns && own->has && own->count > room) && shift > 0);

    if (threadIdx.x < job.across)
        own->next = (key) ~(key)0;
    if (__syncthreads_or(owns && own->is_open())) {
        key *const keys = (key *)memory + mine * room;
        const key from = d->from, to = d->to;
        key next = (key) ~(key)0;

        if (is && d->has)
            select_again<ROW, Selector>(
                job, first + mine, lane, &missing, &nan, [&](key k, uint32_t) {
                    if (k > to)
                        next = min(next, k);
                    else if (k >= from && from < to)
                        keys[atomicAdd(&d->stored, 1u)] = k;
                });
        select_lower(&d->next, next);
    }
    __syncthreads();

    for (unsigned i = threadIdx.x / team.threads; i < job.across;
         i += CUDA_SELECT_THREADS / team.threads) {
        const select_digits<key> *const s = &slices[i];
        const bool both = s->place.fraction > 0;
        select_pair<key> found = {s->from, s->from};

        if (s->has && s->from < s->to)
            found =
                select_rank(team, select_shared<key>{(const key *)memory + i * room, s->count},
                            s->count, (unsigned)s->place.rank - s->below, both && s->has_next());
        if (both && !s->has_next())
            found.high = s->next;
        if (team.thread == 0)
            slices[i].found = found;
    }
}

/* Quantiles of slices that a block brings into shared memory. */
template <typename Selector>
__global__ void __launch_bounds__(CUDA_SELECT_THREADS)
    slice_select(const __grid_constant__ struct cuda_slice_job job)
{
    typedef typename Selector::key key;
    DYNAMIC_SHARED(memory);
    __shared__ unsigned missing[CUDA_SELECT_SLICES], nan[CUDA_SELECT_SLICES];
    __shared__ uint64_t of_warps[SELECT_WARPS];
    key *const keys = (key *)memory;
    const unsigned thread = threadIdx.x, across = job.across;
    const unsigned lane = job.along ? thread % job.lanes : thread / across;
    const unsigned mine = job.along ? thread / job.lanes : thread % across;
    const select_team team = select_team_of(across, of_warps);

    for (uint64_t first = (uint64_t)blockIdx.x * across; first < job.all;
         first += (uint64_t)job.blocks * across) {
        const unsigned count = job.all - first < across ? (unsigned)(job.all - first) : across;

        if (thread < across)
            missing[thread] = nan[thread] = 0;
        __syncthreads();
        for (unsigned i = mine; i < count; i += CUDA_SELECT_THREADS / job.lanes)
            select_load<Selector>(job, first + i, lane, keys + i * job.pitch, &missing[i], &nan[i]);
        __syncthreads();
        if (job.few > 0)
            select_slices_of_few<Selector>(job, keys, count, missing, nan);
        else
            for (unsigned i = thread / team.threads; i < count;
                 i += CUDA_SELECT_THREADS / team.threads) {
                const select_pair<key> found =
                    select_slice<Selector>(job, team, keys + i * job.pitch, missing[i], nan[i]);

                __syncwarp(); /* all have read what one changes */
                if (team.thread == 0)
                    select_keep(job, keys, i, found);
            }
        __syncthreads();
        if (thread < count)
            select_put<Selector>(job, first + thread, missing[thread], nan[thread],
                                 select_kept(job, keys, thread));
        __syncthreads(); /* all have read what was there */
    }
}

/* Those of slices whose elements a block reads again and again. */
template <typename Selector>
__global__ void __launch_bounds__(CUDA_SELECT_THREADS)
    slice_select_again(const __grid_constant__ struct cuda_slice_job job)
{
    DYNAMIC_SHARED(memory);
    __shared__ select_digits<typename Selector::key> slices[CUDA_SELECT_AGAIN];
    __shared__ uint64_t of_warps[SELECT_WARPS];
    const unsigned thread = threadIdx.x, across = job.across;
    const unsigned lane = job.along ? thread % job.lanes : thread / across;
    const unsigned mine = job.along ? thread / job.lanes : thread % across;
    const select_team team = select_team_of(across, of_warps);

    for (uint64_t first = (uint64_t)blockIdx.x * across; first < job.all;
         first += (uint64_t)job.blocks * across) {
        if (job.row)
            select_by_digits<true, Selector>(job, first, mine, lane, team, memory, slices);
        else
            select_by_digits<false, Selector>(job, first, mine, lane, team, memory, slices);
        __syncthreads();
        if (thread < across && first + thread < job.all)
            select_put<Selector>(job, first + thread, slices[thread].missing, slices[thread].nan,
                                 slices[thread].found);
        __syncthreads(); /* all have read what was there */
    }
}

#endif
