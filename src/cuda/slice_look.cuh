/*
 * Results of slices that need no sums: indices of extremes, magnitudes, and counts. A thread looks at
 * each of its elements as a key, keeps the greatest, and counts those in a range of keys. All is known
 * of NaNs and infinities, too.
 */
#ifndef GPUREDUCE_CUDA_SLICE_LOOK_CUH
#define GPUREDUCE_CUDA_SLICE_LOOK_CUH

#include "cuda/slice_whole.cuh"

/* Blocks that a multiprocessor has registers for. */
static const unsigned LOOK_RESIDENT = 4;

/* Kernels look for places of extremes, for sizes, or for counts. */
enum look_what { LOOK_PLACES, LOOK_SIZES, LOOK_COUNTS };

/* The keys that an operation counts: those from the first on, of which the last is so much more. */
template <typename Key, typename Distance> struct look_range {
    Key first;
    Distance distance;
};

/* The value of a float, of up to 32 bits as binary32. */
template <typename Type> struct look_number {
    typedef float type;

    __device__ static __forceinline__ type of(uint32_t raw)
    {
        return slice_value<Type>(raw);
    }
};
template <> struct look_number<f64> {
    typedef double type;

    __device__ static __forceinline__ type of(uint64_t raw)
    {
        return __longlong_as_double((long long)raw);
    }
};

/*
 * How elements of a type are seen:
 *
 *   raw, key, distance   what an element is loaded as; a key, which orders numbers; and the difference
 *                        of two
 *   LEAST                the least key; where SEEN it may be that of an element
 *   is_nan, key_of       of an element, in the machine's byte order
 *   magnitude_of         the key of the magnitude of the number with a key
 *   counted              the keys that an operation counts
 *   has                  whether any element can be one that it counts
 *   of_magnitudes        whether its keys are of magnitudes
 *   magnitude_bits, range_bits   the bits of a result: a magnitude, or the difference of two numbers
 */
template <typename Type> struct look_float {
    typedef typename slice_taker<Type>::raw raw;
    typedef typename look_number<Type>::type number;
    typedef typename slice_taker<Type>::key key;
    typedef typename slice_word<sizeof(key) == 8>::type distance;
    typedef look_range<key, distance> range;
    static const bool INTEGER = false, SEEN = false;
    static const key LEAST = (key)((distance)1 << (8 * sizeof(key) - 1));

    __device__ static __forceinline__ bool is_nan(raw x)
    {
        const number value = look_number<Type>::of(x);

        return !(value == value);
    }
    __device__ static __forceinline__ key key_of(raw x)
    {
        return order_of(look_number<Type>::of(x));
    }
    __device__ static __forceinline__ key magnitude_of(key k)
    {
        return k ^ k >> (8 * sizeof(key) - 1);
    }
    __device__ static __forceinline__ bool of_magnitudes(enum cuda_slice_op op)
    {
        return op == CUDA_SLICE_SUBNORMALS || op == CUDA_SLICE_INF;
    }
    __device__ static __forceinline__ range counted(const struct cuda_slice_wish *w)
    {
        const key infinity = order_of((number)__longlong_as_double(0x7ff0000000000000ll));
        const key normal = order_of((number)ldexp(1.0, w->format.exponent_min)); /* the least */

        switch (w->op) {
        case CUDA_SLICE_ZEROS: /* -0 and 0 */
            return {-1, 1};
        case CUDA_SLICE_NEGATIVES:
            return {~infinity, (distance)(infinity - 1)};
        case CUDA_SLICE_SUBNORMALS:
            return {1, (distance)(normal - 2)};
        default:
            return {infinity, 0};
        }
    }
    __device__ static __forceinline__ bool has(enum cuda_slice_op)
    {
        return true;
    }
    __device__ static __forceinline__ double value(key k)
    {
        return exact_key_value(::key_of(k));
    }
    __device__ static __forceinline__ uint64_t magnitude_bits(key k)
    {
        return exact_bits(value(k));
    }
    __device__ static __forceinline__ uint64_t range_bits(const struct cuda_slice_wish *w,
                                                          key least, key most)
    {
        return exact_bits(element_round_as(&w->format, value(most) - value(least)));
    }
};

/* The key of integers. */
template <bool LARGE> struct look_integer_key {
    typedef int32_t type;
};
template <> struct look_integer_key<true> {
    typedef int64_t type;
};

template <typename Type> struct look_integer {
    typedef typename word_of<integer_reducer<Type>::SIZE>::type raw;
    typedef typename Type::element element;
    typedef typename look_integer_key<sizeof(raw) == 8>::type key;
    typedef typename slice_word<sizeof(raw) == 8>::type distance;
    typedef look_range<key, distance> range;
    static const bool INTEGER = true, SEEN = sizeof(raw) == sizeof(key);
    static const distance SIGN = (distance)1 << (8 * sizeof(key) - 1);
    static const key LEAST = (key)SIGN;
    static const bool TURNED = SEEN && !Type::SIGNED; /* keys are numbers less SIGN */

    __device__ static __forceinline__ bool is_nan(raw)
    {
        return false;
    }
    __device__ static __forceinline__ key key_of(raw x)
    {
        return (key)((distance)(key)(Type::TRUTH ? (element)(x != 0) : (element)x) ^
                     (TURNED ? SIGN : 0));
    }
    /* Less SIGN, too. */
    __device__ static __forceinline__ key magnitude_of(key k)
    {
        return TURNED ? k : (key)((k < 0 ? -(distance)k : (distance)k) ^ SIGN);
    }
    __device__ static __forceinline__ bool of_magnitudes(enum cuda_slice_op)
    {
        return false;
    }
    __device__ static __forceinline__ range counted(const struct cuda_slice_wish *w)
    {
        if (w->op == CUDA_SLICE_NEGATIVES)
            return {LEAST, SIGN - 1};
        return {key_of(0), 0};
    }
    __device__ static __forceinline__ bool has(enum cuda_slice_op op)
    {
        return op == CUDA_SLICE_ZEROS || (op == CUDA_SLICE_NEGATIVES && Type::SIGNED);
    }
    __device__ static __forceinline__ uint64_t magnitude_bits(key k)
    {
        return (distance)k ^ SIGN;
    }
    __device__ static __forceinline__ uint64_t range_bits(const struct cuda_slice_wish *, key least,
                                                          key most)
    {
        return (distance)most - (distance)least;
    }
};

/* All that a thread has seen of a slice, as far as it is looked for. */
template <typename Looker, look_what WHAT> struct look_state {
    typedef typename Looker::key key;

    key best, least;    /* the greatest score, and the least key */
    uint32_t index;     /* of the first with the greatest score, of sizes 0; SLICE_NOWHERE: none */
    uint32_t first_nan; /* SLICE_NOWHERE: none */
    uint32_t nan, missing, counted;

    __device__ __forceinline__ void clear()
    {
        best = Looker::LEAST;
        least = ~Looker::LEAST;
        index = first_nan = SLICE_NOWHERE;
        nan = missing = counted = 0;
    }

    __device__ __forceinline__ void merge(const look_state &other)
    {
        if (WHAT == LOOK_PLACES && other.index != SLICE_NOWHERE &&
            (index == SLICE_NOWHERE || other.best > best ||
             (other.best == best && other.index < index))) {
            best = other.best;
            index = other.index;
        }
        if (WHAT == LOOK_SIZES) {
            best = max(best, other.best);
            least = min(least, other.least);
            index = min(index, other.index);
        }
        first_nan = min(first_nan, other.first_nan);
        nan += other.nan;
        missing += other.missing;
        counted += other.counted;
    }
};

/* How elements are looked at: scores are keys, or those of magnitudes, or the complements of either. */
template <typename Looker, look_what WHAT> struct look_view {
    typename Looker::range range;
    typename Looker::key flip;
    bool magnitudes;

    __device__ __forceinline__ void begin(const struct cuda_slice_wish *w)
    {
        range = Looker::counted(w);
        flip = w->op == CUDA_SLICE_ARGMIN || w->op == CUDA_SLICE_ABSMIN ? -1 : 0;
        magnitudes = WHAT == LOOK_COUNTS ? Looker::of_magnitudes(w->op)
                                         : w->op == CUDA_SLICE_ABSMIN || w->op == CUDA_SLICE_ABSMAX;
    }

    __device__ __forceinline__ typename Looker::key score_of(typename Looker::raw x) const
    {
        const typename Looker::key k = Looker::key_of(x);

        return (WHAT != LOOK_PLACES && magnitudes ? Looker::magnitude_of(k) : k) ^ flip;
    }

    /* Takes an element that is not NaN. */
    __device__ __forceinline__ void take_number(look_state<Looker, WHAT> *s, typename Looker::raw x,
                                                uint32_t number) const
    {
        const typename Looker::key score = score_of(x);

        if (WHAT == LOOK_COUNTS) {
            s->counted += (typename Looker::distance)(score - range.first) <= range.distance;
        } else if (WHAT == LOOK_SIZES) {
            s->best = max(s->best, score);
            s->least = min(s->least, Looker::key_of(x));
            s->index = 0;
        } else if (score > s->best || (Looker::SEEN && s->index == SLICE_NOWHERE)) {
            s->best = score;
            s->index = number;
        }
    }

    /* Takes elements, in the order of their numbers, but for those that are `gone`. Most have no NaN among
       them, and do not change the best one. */
    template <typename Units>
    __device__ __forceinline__ void take(look_state<Looker, WHAT> *s, const Units &u,
                                         uint32_t gone) const
    {
        bool any = gone != 0;

#pragma unroll
        for (int i = 0; i < u.ALL; i++)
            any = any | Looker::is_nan(u.x[i]);
        if (any) {
#pragma unroll
            for (int i = 0; i < u.ALL; i++) {
                if (gone >> i & 1)
                    continue;
                if (!Looker::is_nan(u.x[i])) {
                    take_number(s, u.x[i], u.number(i));
                    continue;
                }
                s->nan++;
                s->first_nan = min(s->first_nan, u.number(i));
            }
        } else if (WHAT == LOOK_PLACES) {
            take_place(s, u);
        } else {
#pragma unroll
            for (int i = 0; i < u.ALL; i++)
                take_number(s, u.x[i], 0);
        }
    }

    template <typename Units>
    __device__ __forceinline__ void take_place(look_state<Looker, WHAT> *s, const Units &u) const
    {
        typename Looker::key most = Looker::LEAST;

#pragma unroll
        for (int i = 0; i < u.ALL; i++)
            most = max(most, score_of(u.x[i]));
        if (most <= s->best && s->index != SLICE_NOWHERE)
            return;
        s->best = most;
#pragma unroll
        for (int i = u.ALL - 1; i >= 0; i--)
            if (score_of(u.x[i]) == most)
                s->index = u.number(i);
    }
};

/* Looks at a thread's share, `lane`, of a part of a slice. */
template <bool ROW, typename Looker, look_what WHAT>
__device__ static __forceinline__ void
look_share(const struct cuda_slice_job &job, const look_view<Looker, WHAT> &view, uint64_t slice,
           uint32_t part, unsigned lane, look_state<Looker, WHAT> *state)
{
    typedef typename Looker::raw raw;

    slice_take_units<raw, ROW, SLICE_UNITS<raw, ROW>, ROW ? 1 : 4>(
        job, cuda_slice_from(&job, slice), part * job.part,
        part + 1 < job.parts ? (part + 1) * job.part : (uint32_t)job.length, lane,
        [&](const auto &u) {
            uint32_t gone = 0;

            if (job.missing.count > 0) {
                gone = slice_missing(job.missing, u.x) & ~u.outside;
                state->missing += (unsigned)__popc(gone);
            }
            view.take(state, u, gone | u.outside);
        });
}

/* Sets *bits to the result of a slice. False for an integer that there is none of. */
template <typename Looker, look_what WHAT>
__device__ static __forceinline__ bool
look_result(const struct cuda_slice_wish *w, const look_state<Looker, WHAT> *s, uint64_t *bits)
{
    const bool propagates = s->nan > 0 && !w->skip_nan;

    switch (w->op) {
    case CUDA_SLICE_ARGMIN:
    case CUDA_SLICE_ARGMAX:
        *bits = propagates ? s->first_nan : s->index == SLICE_NOWHERE ? ~UINT64_C(0) : s->index;
        return true;
    case CUDA_SLICE_ABSMIN:
    case CUDA_SLICE_ABSMAX:
    case CUDA_SLICE_RANGE:
        break;
    case CUDA_SLICE_COUNT:
        *bits = w->count - s->missing - (w->skip_nan ? s->nan : 0);
        return true;
    case CUDA_SLICE_MISSING:
        *bits = s->missing;
        return true;
    case CUDA_SLICE_NAN:
        *bits = s->nan;
        return true;
    default:
        *bits = Looker::has(w->op) ? s->counted : 0;
        return true;
    }
    if (propagates || s->index == SLICE_NOWHERE) {
        *bits = !Looker::INTEGER ? EXACT_NAN : w->has_none ? w->none : CUDA_SLICE_UNKNOWN;
        return !Looker::INTEGER || w->has_none;
    }
    *bits = w->op == CUDA_SLICE_RANGE    ? Looker::range_bits(w, s->least, s->best)
            : w->op == CUDA_SLICE_ABSMIN ? Looker::magnitude_bits(~s->best)
                                         : Looker::magnitude_bits(s->best);
    return true;
}

/* Merges what the `lanes` threads that take a slice together have seen, which are so far apart, in the
   first of them. `states` is in shared memory, and has one for each thread. All of a block together, or of a
   warp that has all of these threads. */
template <typename State>
__device__ static __forceinline__ void look_merge(State *states, unsigned lanes, unsigned lane,
                                                  unsigned apart, State *state)
{
    const bool in_warp = lanes * apart <= 32;

    for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
        if (lane >= distance && lane < 2 * distance)
            states[threadIdx.x] = *state;
        if (in_warp)
            __syncwarp();
        else
            __syncthreads();
        if (lane < distance)
            state->merge(states[threadIdx.x + distance * apart]);
    }
    /* All have read what was there. */
    if (in_warp)
        __syncwarp();
    else
        __syncthreads();
}

template <typename Looker, look_what WHAT>
__device__ static __forceinline__ void look_put(const struct cuda_slice_job &job, uint64_t slice,
                                                const look_state<Looker, WHAT> *state)
{
    if (!look_result(&job.wish, state, &job.results[slice]))
        cuda_list_append(&job.list, slice);
}

template <typename Looker, look_what WHAT>
__global__ void __launch_bounds__(CUDA_LOOK_THREADS, LOOK_RESIDENT)
    slice_look(const __grid_constant__ struct cuda_slice_job job)
{
    typedef look_state<Looker, WHAT> state_type;
    static_assert(sizeof(state_type) <= CUDA_LOOK_STATE, "there is room for it");
    __shared__ state_type states[CUDA_LOOK_THREADS];
    const unsigned across = CUDA_LOOK_THREADS / job.lanes, thread = threadIdx.x;
    const unsigned lane = job.along ? thread % job.lanes : thread / across;
    const unsigned mine = job.along ? thread / job.lanes : thread % across;
    const uint64_t all = job.all * job.parts;
    look_view<Looker, WHAT> view;

    view.begin(&job.wish);
    for (uint64_t first = (uint64_t)blockIdx.x * across; first < all;
         first += (uint64_t)job.blocks * across) {
        const uint64_t number = first + mine;
        const uint64_t part = job.parts == 1 ? 0 : number / job.all,
                       slice = number - part * job.all;
        state_type state;

        state.clear();
        if (number < all && job.row)
            look_share<true>(job, view, slice, (uint32_t)part, lane, &state);
        else if (number < all)
            look_share<false>(job, view, slice, (uint32_t)part, lane, &state);
        look_merge(states, job.lanes, lane, job.along ? 1 : across, &state);
        if (lane > 0 || number >= all)
            continue;
        if (job.parts > 1)
            ((state_type *)job.states)[number] = state;
        else
            look_put(job, slice, &state);
    }
}

/* Merges the parts of slices, a warp each. */
template <typename Looker, look_what WHAT>
__global__ void __launch_bounds__(CUDA_LOOK_THREADS)
    slice_look_parts(const __grid_constant__ struct cuda_slice_job job)
{
    typedef look_state<Looker, WHAT> state_type;
    __shared__ state_type states[CUDA_LOOK_THREADS];
    const unsigned across = CUDA_LOOK_THREADS / 32, lane = threadIdx.x % 32;

    for (uint64_t first = (uint64_t)blockIdx.x * across; first < job.all;
         first += (uint64_t)job.blocks * across) {
        const uint64_t slice = first + threadIdx.x / 32;
        state_type state;

        state.clear();
        for (uint32_t part = lane; part < job.parts && slice < job.all; part += 32)
            state.merge(((const state_type *)job.states)[part * job.all + slice]);
        look_merge(states, 32, lane, 1, &state);
        if (lane == 0 && slice < job.all)
            look_put(job, slice, &state);
    }
}

/* The kernels of a job. */
template <typename Looker, look_what WHAT> static struct slice_look_kernels look_kernels()
{
    return {slice_look<Looker, WHAT>, slice_look_parts<Looker, WHAT>};
}
template <typename Looker> static struct slice_look_kernels look_choose(enum cuda_slice_op op)
{
    if (op == CUDA_SLICE_ARGMIN || op == CUDA_SLICE_ARGMAX)
        return look_kernels<Looker, LOOK_PLACES>();
    if (op == CUDA_SLICE_ABSMIN || op == CUDA_SLICE_ABSMAX || op == CUDA_SLICE_RANGE)
        return look_kernels<Looker, LOOK_SIZES>();
    return look_kernels<Looker, LOOK_COUNTS>();
}

#endif
