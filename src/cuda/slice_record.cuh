/*
 * Records: all that may be wanted of a part of a slice, where it is more than sums and extremes of
 * floats (slice_kernels.cuh). Data come over a link, which is slower than any kernel by far, so
 * that these are simple: a thread takes one element after the other, and looks each time at what is
 * wanted. There is one kernel for each type.
 */
#ifndef GPUREDUCE_CUDA_SLICE_RECORD_CUH
#define GPUREDUCE_CUDA_SLICE_RECORD_CUH

#include "core/partial.h"
#include "cuda/integer_reducer.cuh"
#include "cuda/missing.cuh"
#include "cuda/moments_reducer32.cuh"
#include "cuda/rows.cuh"
#include "cuda/slice_sum.cuh"
#include "cuda/types.cuh"

/* The index of no element. */
static const uint32_t SLICE_NOWHERE = ~(uint32_t)0;

/* An extreme and the index of its first occurrence. Without an index there is none. */
template <typename Key> struct slice_extreme {
    Key key;
    uint32_t index;

    __device__ __forceinline__ void clear()
    {
        key = 0;
        index = SLICE_NOWHERE;
    }
    /* Takes one that is behind all before it. */
    __device__ __forceinline__ void take_least(Key other, uint32_t at)
    {
        if (other < key || index == SLICE_NOWHERE) {
            key = other;
            index = at;
        }
    }
    __device__ __forceinline__ void take_greatest(Key other, uint32_t at)
    {
        if (other > key || index == SLICE_NOWHERE) {
            key = other;
            index = at;
        }
    }
};

typedef slice_long_sum<SLICE_SQUARES_MAX> slice_squares;

struct slice_record {
    /* If `left` is true in one of them, the record says nothing about the part. */
    slice_sum sum, absolute;
    slice_squares squares;
    struct slice_extreme<int64_t> min, max; /* element_key's */
    int64_t least, below;                   /* as struct partial has them */
    struct small_counts small;
    unsigned missing;
};

/* Whether an element with this element_key is below the threshold, or equal to it. */
__device__ static __forceinline__ bool slice_is_below(const struct cuda_slice_split *s, int64_t key)
{
    return s->all_below || key < s->first;
}
__device__ static __forceinline__ bool slice_is_equal(const struct cuda_slice_split *s, int64_t key)
{
    return s->has_equal && key >= s->first && key <= s->equal;
}

/* Makes an extreme that of the lane that is so far away, too: NEGATE is 0 for the least, and -1 for
   the greatest. */
template <int64_t NEGATE>
__device__ static __forceinline__ void slice_exchange_extremes(struct slice_extreme<int64_t> *e,
                                                               unsigned distance)
{
    const int64_t key = __shfl_xor_sync(SLICE_ALL_LANES, e->key, distance);
    const uint32_t index = __shfl_xor_sync(SLICE_ALL_LANES, e->index, distance);
    const bool less = (key ^ NEGATE) < (e->key ^ NEGATE);

    if (index != SLICE_NOWHERE &&
        (e->index == SLICE_NOWHERE || less || (key == e->key && index < e->index))) {
        e->key = key;
        e->index = index;
    }
}

/* Makes a record that of the lane that is so far away, too. All lanes of the warp together. */
__device__ static __forceinline__ void slice_exchange_records(struct slice_record *r,
                                                              unsigned wants, unsigned distance)
{
    int64_t least, below;

    r->sum.merge(r->sum.exchange(distance));
    if (wants & (PARTIAL_ABSOLUTE | PARTIAL_SPLIT))
        r->absolute.merge(r->absolute.exchange(distance));
    if (wants & PARTIAL_SQUARES)
        r->squares.exchange(distance);
    if (wants & PARTIAL_EXTREMES) {
        slice_exchange_extremes<0>(&r->min, distance);
        slice_exchange_extremes<-1>(&r->max, distance);
    }
    if (wants & (PARTIAL_SMALL | PARTIAL_SPLIT)) {
        least = __shfl_xor_sync(SLICE_ALL_LANES, r->least, distance);
        r->least = least < r->least ? least : r->least;
        r->small.zeros += __shfl_xor_sync(SLICE_ALL_LANES, r->small.zeros, distance);
        r->small.subnormal += __shfl_xor_sync(SLICE_ALL_LANES, r->small.subnormal, distance);
    }
    if (wants & (PARTIAL_NEGATIVE | PARTIAL_SPLIT))
        r->small.negative += __shfl_xor_sync(SLICE_ALL_LANES, r->small.negative, distance);
    if (wants & PARTIAL_SPLIT) {
        below = __shfl_xor_sync(SLICE_ALL_LANES, r->below, distance);
        r->below = below > r->below ? below : r->below;
    }
    if (wants & PARTIAL_MISSING)
        r->missing += __shfl_xor_sync(SLICE_ALL_LANES, r->missing, distance);
}

/* Puts the record of part number i. */
__device__ static __forceinline__ void slice_put_record(const struct cuda_slice_launch *job,
                                                        size_t i, const struct slice_record *r)
{
    const bool left = r->sum.left || r->absolute.left || r->squares.left;

    if (job->high)
        job->high[i] = left ? __longlong_as_double(0x7ff8000000000000ll) : r->sum.high;
    if (job->low)
        job->low[i] = r->sum.low;
    if (job->min) {
        const bool any = r->min.index != SLICE_NOWHERE;

        ((int64_t *)job->min)[i] = any ? r->min.key : INT64_MAX;
        ((int64_t *)job->max)[i] = any ? r->max.key : INT64_MIN;
    }
    if (job->more.min_index) {
        job->more.min_index[i] = r->min.index;
        job->more.max_index[i] = r->max.index;
    }
    if (job->more.absolute) {
        job->more.absolute[i] =
            left ? __longlong_as_double(0x7ff8000000000000ll) : r->absolute.high;
        job->more.absolute_low[i] = r->absolute.low;
    }
    if (job->more.squares[0])
#pragma unroll
        for (int k = 0; k < SLICE_SQUARES_MAX; k++)
            job->more.squares[k][i] = r->squares.part[k];
    if (job->more.least) {
        job->more.least[i] = r->least;
        job->more.zeros[i] = r->small.zeros;
        job->more.subnormal[i] = r->small.subnormal;
    }
    if (job->more.negative)
        job->more.negative[i] = r->small.negative;
    if (job->more.below)
        job->more.below[i] = r->below;
    if (job->more.missing)
        job->more.missing[i] = r->missing;
}

/*
 * How elements of a type are taken: a thread's state.
 *
 *   raw         what an element is loaded as
 *   key         what orders elements
 *   begin       before the first element
 *   take        takes one, in this machine's byte order; gives its key
 *   finish      sets all of a record but the extremes and the missing elements
 *   key_of      makes a key an element_key
 */
template <typename Type> struct slice_taker;

/* The binary32 value of a float of up to 32 bits. */
template <typename Type> __device__ static __forceinline__ float slice_value(uint32_t raw)
{
    return Type::element(raw, 0);
}
template <> __device__ __forceinline__ float slice_value<f8e4m3>(uint32_t raw)
{
    return f8e4m3::element(f8e4m3::widen(raw, 0), 0);
}
template <> __device__ __forceinline__ float slice_value<f8e5m2>(uint32_t raw)
{
    return f8e5m2::element(f8e5m2::widen(raw, 0), 0);
}

/* Floats. Value is binary32 or binary64. Elements that are not finite are left. */
template <typename Raw, typename Value, typename Key> struct slice_float_taker {
    typedef Raw raw;
    typedef Key key;

    slice_sum sum, absolute;
    slice_squares squares;
    key least; /* of the magnitudes; ORDER_MAX, of no number, where there is none */
    int64_t below;
    struct small_counts small;

    __device__ __forceinline__ void begin()
    {
        sum.clear();
        absolute.clear();
        squares.clear();
        least = limits<Key>::ORDER_MAX;
        below = INT64_MIN;
        small.clear();
    }

    __device__ __forceinline__ void split(double x, Key order, const struct cuda_slice_split *at)
    {
        const int64_t whole = key_of(order);

        if (slice_is_below(at, whole)) {
            below = whole > below ? whole : below;
            small.negative++;
            return;
        }
        absolute.add(x);
        least = order < least ? order : least;
        small.zeros += slice_is_equal(at, whole);
    }

    /* Below least_normal numbers are subnormal. */
    __device__ __forceinline__ key take_value(Value value, double least_normal,
                                              const struct cuda_slice_launch *job)
    {
        const unsigned wants = job->wants;
        const double x = (double)value, magnitude = fabs(x);

        if (!(magnitude < __longlong_as_double(0x7ff0000000000000ll)))
            sum.left = true;
        if (wants & PARTIAL_SUM)
            sum.add(x);
        if (wants & PARTIAL_ABSOLUTE)
            absolute.add(magnitude);
        if (wants & PARTIAL_SQUARES) {
            if (sizeof(Value) == sizeof(double))
                squares.add_square(x);
            else
                squares.add_narrow_square(x);
        }
        if (wants & PARTIAL_SMALL) {
            const key order = order_of((Value)magnitude);

            least = order < least ? order : least;
            small.zeros += x == 0;
            small.subnormal += x != 0 && magnitude < least_normal;
        }
        if (wants & PARTIAL_NEGATIVE)
            small.negative += x < 0;
        if (wants & PARTIAL_SPLIT)
            split(x, order_of(value), &job->split);
        return order_of(value);
    }

    __device__ __forceinline__ void finish(struct slice_record *r, unsigned) const
    {
        r->sum = sum;
        r->absolute = absolute;
        r->squares = squares;
        r->least = least == limits<Key>::ORDER_MAX ? NO_MAGNITUDE : ::key_of(least);
        r->below = below;
        r->small = small;
    }
    __device__ static __forceinline__ int64_t key_of(Key key)
    {
        return ::key_of(key);
    }
};

template <typename Type, typename Raw>
struct slice_narrow_taker : slice_float_taker<Raw, float, int32_t> {
    __device__ __forceinline__ int32_t take(Raw raw, const struct cuda_slice_launch *job)
    {
        return this->take_value(slice_value<Type>(raw),
                                power_at(narrow_format<Type>::LEAST - 127 + 1023), job);
    }
};
template <> struct slice_taker<f32> : slice_narrow_taker<f32, uint32_t> {
};
template <> struct slice_taker<f16> : slice_narrow_taker<f16, uint16_t> {
};
template <> struct slice_taker<bf16> : slice_narrow_taker<bf16, uint16_t> {
};
template <> struct slice_taker<f8e4m3> : slice_narrow_taker<f8e4m3, uint8_t> {
};
template <> struct slice_taker<f8e5m2> : slice_narrow_taker<f8e5m2, uint8_t> {
};
template <> struct slice_taker<f64> : slice_float_taker<uint64_t, double, int64_t> {
    __device__ __forceinline__ int64_t take(uint64_t raw, const struct cuda_slice_launch *job)
    {
        return take_value(__longlong_as_double((long long)raw), power_at(1), job);
    }
};

/* Adds an integer of 64 PARTS bits, of which the upper half of the last part is only a sign, to a
   sum: nothing is left. */
template <int PARTS, typename Sum>
__device__ static __forceinline__ void slice_add_integer(Sum *sum, const uint64_t x[PARTS])
{
    double unit = PARTS == 2 ? 0x1p64 : 0x1p128;

    sum->add((double)(int64_t)x[PARTS - 1] * unit);
#pragma unroll
    for (int i = PARTS - 2; i >= 0; i--) {
        unit *= 0x1p-32;
        sum->add((double)(x[i] >> 32) * unit);
        unit *= 0x1p-32;
        sum->add((double)(x[i] & 0xffffffffu) * unit);
    }
}

/* Whatever is wanted, sums of integers are added up as those of a whole array are. */
template <typename Type> struct slice_integer_taker {
    typedef integer_reducer<Type> reducer;
    typedef typename word_of<reducer::SIZE>::type raw;
    typedef typename Type::element element;
    typedef int64_t key;

    reducer r;
    uint64_t upper[2];    /* the sum of the elements that are not below the threshold */
    int64_t least, below; /* of those, and of the others */

    __device__ __forceinline__ void begin()
    {
        r.begin(nullptr, 0);
        upper[0] = upper[1] = 0;
        least = INT64_MAX;
        below = INT64_MIN;
    }

    __device__ __forceinline__ void split(element x, const struct cuda_slice_split *at)
    {
        const int64_t whole = reducer::order_of_element(x);

        if (slice_is_below(at, whole)) {
            below = whole > below ? whole : below;
            r.small.negative++;
            return;
        }
        reducer::add_carrying(&upper[0], &upper[1], (uint64_t)x);
        upper[1] -= reducer::is_negative(x);
        least = whole < least ? whole : least;
        r.small.zeros += slice_is_equal(at, whole);
    }

    __device__ __forceinline__ int64_t take(raw bits, const struct cuda_slice_launch *job)
    {
        const element x = Type::TRUTH ? (element)(bits != 0) : (element)bits;
        typename reducer::group_sums s = {0, 0, 0, 0};

        r.take_sums(&s, x);
        r.add_sums(&s);
        if (job->wants & PARTIAL_SPLIT) {
            split(x, &job->split);
        } else {
            r.small.zeros += x == 0;
            r.small.negative += reducer::is_negative(x);
            r.smallest = min(r.smallest, reducer::magnitude(x));
        }
        return reducer::order_of_element(x);
    }

    __device__ __forceinline__ void finish(struct slice_record *record, unsigned wants) const
    {
        record->sum.clear();
        record->absolute.clear();
        record->squares.clear();
        if (wants & PARTIAL_SUM)
            slice_add_integer<2>(&record->sum, r.sum);
        if (wants & PARTIAL_ABSOLUTE)
            slice_add_integer<2>(&record->absolute, r.absolute);
        if (wants & PARTIAL_SPLIT)
            slice_add_integer<2>(&record->absolute, upper);
        if (wants & PARTIAL_SQUARES)
            slice_add_integer<3>(&record->squares, r.squares);
        record->least = wants & PARTIAL_SPLIT ? least : reducer::magnitude_key(r.smallest);
        record->below = below;
        record->small = r.small;
    }
    __device__ static __forceinline__ int64_t key_of(int64_t key)
    {
        return key;
    }
};
template <> struct slice_taker<i8> : slice_integer_taker<i8> {
};
template <> struct slice_taker<i16> : slice_integer_taker<i16> {
};
template <> struct slice_taker<i32> : slice_integer_taker<i32> {
};
template <> struct slice_taker<i64> : slice_integer_taker<i64> {
};
template <> struct slice_taker<u8> : slice_integer_taker<u8> {
};
template <> struct slice_taker<u16> : slice_integer_taker<u16> {
};
template <> struct slice_taker<u32> : slice_integer_taker<u32> {
};
template <> struct slice_taker<u64> : slice_integer_taker<u64> {
};
template <> struct slice_taker<bool> : slice_integer_taker<truth> {
};

/* The trait of an integer type by its name in ELEMENT_INTEGER_TABLE. */
template <typename Name> struct slice_integer {
    typedef Name type;
};
template <> struct slice_integer<bool> {
    typedef truth type;
};

/* Bits of elements as they are compared with missing ones. */
template <bool LARGE> struct slice_word {
    typedef uint32_t type;
};
template <> struct slice_word<true> {
    typedef uint64_t type;
};

/* An element in the other byte order. */
__device__ static __forceinline__ uint8_t slice_swapped(uint8_t x)
{
    return x;
}
__device__ static __forceinline__ uint16_t slice_swapped(uint16_t x)
{
    return (uint16_t)__byte_perm(x, 0, 0x2301);
}
__device__ static __forceinline__ uint32_t slice_swapped(uint32_t x)
{
    return __byte_perm(x, 0, 0x0123);
}
__device__ static __forceinline__ uint64_t slice_swapped(uint64_t x)
{
    return (uint64_t)slice_swapped((uint32_t)x) << 32 | slice_swapped((uint32_t)(x >> 32));
}

/* Threads that keep a device busy, so that columns are worth being shared by several; and how many
   may share one, and with how many rows each. */
static const size_t SLICE_RECORD_THREADS = 32768;
static const unsigned SLICE_RECORD_LANES = 8, SLICE_RECORD_ROWS = 16;

/* Elements that a thread loads before it takes them. */
static const int SLICE_RECORD_GROUP = 4;

/* How many lanes take a part of a slice together, a power of two. */
__host__ __device__ static inline unsigned slice_record_lanes(const struct cuda_slice_launch *job)
{
    const size_t part = job->length < job->part ? job->length : job->part;
    unsigned lanes = 1;

    if (job->columns)
        while (lanes < SLICE_RECORD_LANES &&
               job->parts * job->length * (1 + job->further) * lanes < SLICE_RECORD_THREADS &&
               job->rows / job->parts / lanes >= 2 * SLICE_RECORD_ROWS)
            lanes *= 2;
    else
        while (lanes < 32 && lanes * SLICE_RECORD_GROUP < part)
            lanes *= 2;
    return lanes;
}

/* The share of a thread: `count` elements, `step` apart, from `first` on. The index of the first in
   its slice is `index`, and each is `index_step` more. */
struct slice_share {
    size_t first, step, count;
    uint32_t index, index_step;
};

/* The share of a lane in part number `number`. */
__device__ static __forceinline__ struct slice_share
slice_share_of_row(const struct cuda_slice_launch *job, size_t number, unsigned lane,
                   unsigned lanes)
{
    const size_t row = number / job->parts, begin = (number - row * job->parts) * job->part;
    const size_t left = job->length - begin, part = left < job->part ? left : job->part;

    return {row * job->pitch + begin + lane, lanes,
            lane < part ? (part - lane + lanes - 1) / lanes : 0, (uint32_t)(begin + lane), lanes};
}
__device__ static __forceinline__ struct slice_share
slice_share_of_column(const struct cuda_slice_launch *job, size_t number, unsigned lane,
                      unsigned lanes)
{
    const size_t columns = job->parts * job->length;
    const size_t block = job->further > 0 ? number / columns : 0, within = number - block * columns;
    const size_t part = within / job->length, column = within - part * job->length;
    const size_t first = part + lane * job->parts, step = lanes * job->parts; /* rows */

    return {(block * job->rows + first) * job->pitch + column, step * job->pitch,
            first < job->rows ? (job->rows - first + step - 1) / step : 0, (uint32_t)first,
            (uint32_t)step};
}

/* The bits of elements that are missing. */
template <typename Raw, int COUNT>
__device__ static __forceinline__ unsigned slice_missing(const struct cuda_missing &set,
                                                         const Raw (&x)[COUNT])
{
    typedef typename slice_word<sizeof(Raw) == 8>::type word;

    return missing_among<unsigned, word, COUNT>(&set, [&](int n) { return (word)x[n]; });
}

/* A thread's record of its share. */
template <typename Type>
__device__ static __forceinline__ void slice_take_share(const struct cuda_slice_launch *job,
                                                        const struct slice_share *share,
                                                        struct slice_record *r)
{
    typedef slice_taker<Type> taker;
    typedef typename taker::raw raw;
    typedef typename taker::key key;
    const raw *const data = (const raw *)job->data;
    struct slice_extreme<key> min, max;
    size_t at = share->first;
    uint32_t index = share->index;
    unsigned missing = 0;
    taker t;

    t.begin();
    min.clear();
    max.clear();
#pragma unroll 1
    for (size_t left = share->count; left > 0;) {
        raw x[SLICE_RECORD_GROUP];
        const int some = left < SLICE_RECORD_GROUP ? (int)left : SLICE_RECORD_GROUP;

#pragma unroll
        for (int i = 0; i < SLICE_RECORD_GROUP; i++)
            x[i] = i < some ? data[at + i * share->step] : 0;
        if (job->swap)
#pragma unroll
            for (int i = 0; i < SLICE_RECORD_GROUP; i++)
                x[i] = slice_swapped(x[i]);
        const unsigned gone = (job->wants & PARTIAL_MISSING ? slice_missing(job->missing, x) : 0) &
                              ((1u << some) - 1);

        missing += (unsigned)__popc(gone);
#pragma unroll
        for (int i = 0; i < SLICE_RECORD_GROUP; i++) {
            if (i < some && !(gone >> i & 1)) {
                const key order = t.take(x[i], job);

                if (job->wants & PARTIAL_EXTREMES) {
                    min.take_least(order, index);
                    max.take_greatest(order, index);
                }
            }
            index += share->index_step;
        }
        at += SLICE_RECORD_GROUP * share->step;
        left -= some;
    }
    t.finish(r, job->wants);
    r->missing = missing;
    r->min.key = taker::key_of(min.key);
    r->min.index = min.index;
    r->max.key = taker::key_of(max.key);
    r->max.index = max.index;
}

/* Neighbouring lanes take a part of a row. A warp takes some neighbouring columns, and lanes that
   are as many apart take parts of one column. */
template <typename Type>
__global__ void __launch_bounds__(SLICE_THREADS, SLICE_BLOCKS)
    slice_records(const __grid_constant__ struct cuda_slice_launch job)
{
    const size_t thread = (size_t)blockIdx.x * SLICE_THREADS + threadIdx.x;
    const unsigned lanes = slice_record_lanes(&job), apart = job.columns ? 32 / lanes : 1;
    const unsigned lane = threadIdx.x / apart % lanes;
    const size_t number = job.columns ? thread / 32 * apart + threadIdx.x % apart : thread / lanes;
    const size_t parts = job.parts * (job.columns ? job.length * (1 + job.further) : job.rows);
    struct slice_share share = {0, 0, 0, 0, 0};
    struct slice_record r;

    if (number < parts)
        share = job.columns ? slice_share_of_column(&job, number, lane, lanes)
                            : slice_share_of_row(&job, number, lane, lanes);
    slice_take_share<Type>(&job, &share, &r);
#pragma unroll 1
    for (unsigned distance = apart; distance < apart * lanes; distance *= 2)
        slice_exchange_records(&r, job.wants, distance);
    if (number < parts && lane == 0)
        slice_put_record(&job, number, &r);
}

template <typename Type>
static struct slice_choice slice_choose_record(const struct cuda_slice_launch *l)
{
    const size_t parts = l->parts * (l->columns ? l->length * (1 + l->further) : l->rows);

    return {slice_records<Type>, (parts + 31) / 32 * 32 * slice_record_lanes(l)};
}

#endif
