/*
 * The kernels of sums and extremes of slices of floats, and of sums of slices of other types,
 * without their launch. A sum is kept as two numbers, high + low, as on the CPU
 * (cpu/kernel_slices.h): a number is added by two two-sums, and where the second leaves something,
 * or is no number, nothing is said of the slice, and the CPU takes its elements. So whatever the
 * order of additions is, what is found is exact.
 *
 * Elements of up to 32 bits are added up plainly before that, a few of a slice at a time: in
 * binary64, once rounding down and once rounding up. The two are the same just when nothing was
 * rounded (reducer32.cuh); if they are not, these elements are added one by one.
 */
#ifndef GPUREDUCE_CUDA_SLICE_KERNELS_CUH
#define GPUREDUCE_CUDA_SLICE_KERNELS_CUH

#include "cuda/slice_choice.cuh"
#include "cuda/slice_sum.cuh"
#include "cuda/slice_types.cuh"

/* The integer of the lane that is `distance` away. All lanes of the warp together. */
template <typename Integer>
__device__ static __forceinline__ Integer slice_exchange_integer(Integer x, unsigned distance)
{
    return __shfl_xor_sync(SLICE_ALL_LANES, x, distance);
}
template <>
__device__ __forceinline__ __int128 slice_exchange_integer(__int128 x, unsigned distance)
{
    const uint64_t low = __shfl_xor_sync(SLICE_ALL_LANES, (uint64_t)x, distance);
    const int64_t high = __shfl_xor_sync(SLICE_ALL_LANES, (int64_t)(x >> 64), distance);

    return (__int128)high << 64 | low;
}

/* The sums that are kept of elements of a type. */
template <typename Type> struct slice_summing {
    typedef slice_sum type;
};

/* The type that stands for elements which do not add up plainly as Type: PLAIN, and are added up plainly as that
   one; or else one by one. */
template <typename Type> struct slice_again {
    typedef Type type;
    static const bool PLAIN = false;
};

/* Whether sums of squares are found beside them. */
template <typename Type> static const bool SLICE_WITH_SQUARES = false;

/* Whether begin and end of a plain sum need the greatest magnitude of the elements that are added up together, by
   all lanes. */
template <typename Type> static const bool SLICE_BOUNDED = false;

/* Adds up plainly: integers, whose sums always fit. */
template <typename Type, typename Integer = typename slice_type<Type>::plain> struct slice_plain {
    Integer all;

    /* Sets what integers of a byte add up to; nobody takes their squares. */
    __device__ __forceinline__ void set(int sum, int)
    {
        all = sum;
    }
    __device__ __forceinline__ void begin(Integer x, float)
    {
        all = x;
    }
    __device__ __forceinline__ void add(Integer x)
    {
        all += x;
    }
    /* After the last element, before anything else. */
    __device__ __forceinline__ void end(float)
    {
    }
    __device__ __forceinline__ void merge(const slice_plain &other)
    {
        all += other.all;
    }
    __device__ __forceinline__ slice_plain exchange(unsigned distance) const
    {
        return {slice_exchange_integer(all, distance)};
    }
    __device__ static __forceinline__ slice_plain choose(bool first, const slice_plain &x,
                                                         const slice_plain &y)
    {
        return {first ? x.all : y.all};
    }
    __device__ __forceinline__ void add_to(slice_sum *sum) const
    {
        if (sizeof all <= 8) { /* of numbers of up to 32 bits, which is below 2^53 */
            sum->add((double)(int64_t)all);
        } else {
            sum->add((double)(int64_t)(all >> sizeof all * 4) * 0x1p64);
            sum->add((double)((uint64_t)all >> 32) * 0x1p32);
            sum->add((double)(uint32_t)all);
        }
    }
    __device__ __forceinline__ slice_sum sum() const
    {
        slice_sum sum;

        if (sizeof all <= 8)
            return {(double)(int64_t)all, 0, false};
        sum.clear();
        add_to(&sum);
        return sum;
    }
    __device__ __forceinline__ bool fits() const
    {
        return true;
    }
};

/* A plain sum of floats: all so far, rounded down and rounded up. Those that always FIT have only one. */
template <bool FITS> struct slice_bounds {
    double down, up;

    __device__ __forceinline__ void add(double other_down, double other_up)
    {
        down = __dadd_rd(down, other_down);
        if (!FITS)
            up = __dadd_ru(up, other_up);
    }
    __device__ __forceinline__ void merge(const slice_bounds &other)
    {
        add(other.down, other.up);
    }
    /* Those of the lane that is `distance` away. All lanes of the warp together. */
    __device__ __forceinline__ slice_bounds exchange(unsigned distance) const
    {
        slice_bounds other;

        other.down = __shfl_xor_sync(SLICE_ALL_LANES, down, distance);
        other.up = FITS ? other.down : __shfl_xor_sync(SLICE_ALL_LANES, up, distance);
        return other;
    }
    __device__ static __forceinline__ slice_bounds choose(bool first, const slice_bounds &x,
                                                          const slice_bounds &y)
    {
        return {first ? x.down : y.down, first ? x.up : y.up};
    }
    /* Whether nothing was rounded. Infinities may be in it; of a NaN it is not true where sums do not
       always fit. */
    __device__ __forceinline__ bool fits() const
    {
        return FITS || down == up;
    }
};

template <typename Type> struct slice_plain<Type, double> {
    typedef slice_bounds<slice_type<Type>::FITS> bounds;

    bounds all;

    __device__ __forceinline__ void begin(double x, float)
    {
        all = {x, x};
    }
    __device__ __forceinline__ void end(float)
    {
    }
    __device__ __forceinline__ void add(double x)
    {
        all.add(x, x);
    }
    __device__ __forceinline__ void merge(const slice_plain &other)
    {
        all.merge(other.all);
    }
    __device__ __forceinline__ slice_plain exchange(unsigned distance) const
    {
        return {all.exchange(distance)};
    }
    __device__ static __forceinline__ slice_plain choose(bool first, const slice_plain &x,
                                                         const slice_plain &y)
    {
        return {bounds::choose(first, x.all, y.all)};
    }
    __device__ __forceinline__ void add_to(slice_sum *sum) const
    {
        sum->add(all.down);
    }
    /* As a sum, if it fits. */
    __device__ __forceinline__ slice_sum sum() const
    {
        return {all.down, 0, !(fabs(all.down) < __longlong_as_double(0x7ff0000000000000ll))};
    }
    __device__ __forceinline__ bool fits() const
    {
        return all.fits();
    }
};

/* Adds up COUNT vectors plainly in pairs, as binary32 first: bf16 has 8 bits, and the two of a pair
   are seldom so far apart that those have no room for their sum. Other types have no such sum. */
template <typename Type, int N, int COUNT> struct slice_pairs {
    __device__ static __forceinline__ bool add(slice_plain<Type> *,
                                               const typename slice_type<Type>::template words<N> *)
    {
        return false;
    }
};
template <int COUNT> struct slice_pairs<bf16, 8, COUNT> {
    __device__ static __forceinline__ bool add(slice_plain<bf16> *plain, const slice_words<16> *v)
    {
        plain->begin(0, 0);
#pragma unroll
        for (int i = 0; i < COUNT; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const float x = bf16::element(v[i].w[j], 0), y = bf16::element(v[i].w[j], 1);

                plain->all.add((double)__fadd_rd(x, y), (double)__fadd_ru(x, y));
            }
        return plain->fits();
    }
};

/* Begins a plain sum with all elements of COUNT vectors, none of which is larger than `largest`. */
template <typename Type, int N, int COUNT, bool AT_ONCE = slice_type<Type>::AT_ONCE>
struct slice_beginner {
    typedef slice_type<Type> type;

    __device__ static __forceinline__ void
    begin(slice_plain<Type> *plain, const typename type::template words<N> *v, float largest)
    {
        plain->begin(type::template value<N>(v[0], 0), largest);
#pragma unroll
        for (int i = 0; i < COUNT; i++)
#pragma unroll
            for (int j = i == 0; j < N; j++)
                plain->add(type::template value<N>(v[i], j));
        plain->end(largest);
    }
};
template <typename Type, int N, int COUNT> struct slice_beginner<Type, N, COUNT, true> {
    typedef slice_type<Type> type;

    __device__ static __forceinline__ void begin(slice_plain<Type> *plain,
                                                 const typename type::template words<N> *v, float)
    {
        plain->begin(type::template add_rows<N, COUNT>(v), 0);
    }
};

/* Adds element j of each vector to a sum, which is 0 if they are the `first` ones: one by one. Whether it
   did, which it always does where PLAIN is false or FITS is true. */
template <typename Type, int N, int COUNT, bool PLAIN> struct slice_adder {
    typedef slice_type<Type> type;
    typedef typename type::template words<N> words;

    __device__ static __forceinline__ bool add(typename slice_summing<Type>::type *sum,
                                               const words *v, int j, bool)
    {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            sum->add(type::template value<N>(v[i], j));
        return true;
    }
};
/* Plainly, if that is exact. */
template <typename Type, int N, int COUNT> struct slice_adder<Type, N, COUNT, true> {
    typedef slice_type<Type> type;
    typedef typename type::template words<N> words;

    __device__ static __forceinline__ bool add(typename slice_summing<Type>::type *sum,
                                               const words *v, int j, bool first)
    {
        slice_plain<Type> plain;
        float largest = 0;

        if (SLICE_BOUNDED<Type>)
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                largest = fmaxf(largest, fabsf((float)type::template value<N>(v[i], j)));
        plain.begin(type::template value<N>(v[0], j), largest);
#pragma unroll
        for (int i = 1; i < COUNT; i++)
            plain.add(type::template value<N>(v[i], j));
        plain.end(largest);
        if (!plain.fits())
            return false;
        /* Squares are added in so many operations that this matters. */
        if (SLICE_WITH_SQUARES<Type> && first)
            *sum = plain.sum();
        else
            plain.add_to(sum);
        return true;
    }
};

/* Adds COUNT vectors to the sums of N columns: the bits of those columns that it did not add to. */
template <typename Type, int N, int COUNT, bool AT_ONCE = slice_type<Type>::AT_ONCE>
struct slice_column_adder {
    typedef slice_type<Type> type;

    __device__ static __forceinline__ unsigned add(typename slice_summing<Type>::type *sum,
                                                   const typename type::template words<N> *v,
                                                   bool first)
    {
        unsigned left = 0;

#pragma unroll
        for (int j = 0; j < N; j++)
            if (!slice_adder<Type, N, COUNT, type::PLAIN>::add(&sum[j], v, j, first))
                left |= 1u << j;
        return left;
    }
};
template <typename Type, int N, int COUNT> struct slice_column_adder<Type, N, COUNT, true> {
    typedef slice_type<Type> type;

    __device__ static __forceinline__ unsigned
    add(slice_sum *sum, const typename type::template words<N> *v, bool)
    {
        double total[N];

        type::template add_columns<N, COUNT>(v, total);
#pragma unroll
        for (int j = 0; j < N; j++)
            sum[j].add(total[j]);
        return 0;
    }
};

/* Adds the products of the bytes of two words to a sum. */
__device__ static __forceinline__ int slice_dot(i8, uint32_t x, uint32_t y, int sum)
{
    return __dp4a((int)x, (int)y, sum);
}
__device__ static __forceinline__ int slice_dot(u8, uint32_t x, uint32_t y, int sum)
{
    return (int)__dp4a(x, y, (unsigned)sum);
}
static const uint32_t SLICE_ONES = 0x01010101;

/* Adds the bytes of vectors to a sum, four at a time, and their squares. Words of fewer bytes have zeros for
   the rest. */
template <typename Type, int N, int COUNT>
__device__ static __forceinline__ void slice_add_bytes(const slice_words<N> *v, int *sum,
                                                       int *squares)
{
    static_assert(N * COUNT <= CUDA_SLICE_PART, "they fit");
#pragma unroll
    for (int i = 0; i < COUNT; i++)
#pragma unroll
        for (int k = 0; k < (N + 3) / 4; k++) {
            *sum = slice_dot(Type(), v[i].w[k], SLICE_ONES, *sum);
            *squares = slice_dot(Type(), v[i].w[k], v[i].w[k], *squares);
        }
}

/* Adds the bytes of four columns to a sum each, and their squares: four rows become columns. */
template <typename Type, int COUNT>
__device__ static __forceinline__ void slice_add_columns(const slice_words<4> *v, int (&sum)[4],
                                                         int (&squares)[4])
{
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
        const uint32_t a = v[i].w[0], b = i + 1 < COUNT ? v[i + 1].w[0] : 0;
        const uint32_t c = i + 2 < COUNT ? v[i + 2].w[0] : 0;
        const uint32_t d = i + 3 < COUNT ? v[i + 3].w[0] : 0;
        const uint32_t low[] = {__byte_perm(a, b, 0x5140), __byte_perm(c, d, 0x5140)};
        const uint32_t high[] = {__byte_perm(a, b, 0x7362), __byte_perm(c, d, 0x7362)};
        const uint32_t column[] = {__byte_perm(low[0], low[1], 0x5410),
                                   __byte_perm(low[0], low[1], 0x7632),
                                   __byte_perm(high[0], high[1], 0x5410),
                                   __byte_perm(high[0], high[1], 0x7632)};

#pragma unroll
        for (int j = 0; j < 4; j++) {
            sum[j] = slice_dot(Type(), column[j], SLICE_ONES, sum[j]);
            squares[j] = slice_dot(Type(), column[j], column[j], squares[j]);
        }
    }
}

/* Integers of a byte, and as Of with their squares or without. */
template <typename Of, typename Type, int N, int COUNT> struct slice_byte_beginner {
    __device__ static __forceinline__ void begin(slice_plain<Of> *plain, const slice_words<N> *v,
                                                 float)
    {
        int sum = 0, squares = 0;

        slice_add_bytes<Type, N, COUNT>(v, &sum, &squares);
        plain->set(sum, squares);
    }
};
template <typename Sum, typename Type, int COUNT> struct slice_byte_column_adder {
    __device__ static __forceinline__ unsigned add(Sum *total, const slice_words<4> *v, bool)
    {
        int sum[4] = {0, 0, 0, 0}, squares[4] = {0, 0, 0, 0};

        slice_add_columns<Type, COUNT>(v, sum, squares);
#pragma unroll
        for (int j = 0; j < 4; j++)
            total[j].add_bytes(sum[j], squares[j]);
        return 0;
    }
};
template <int N, int COUNT>
struct slice_beginner<i8, N, COUNT, false> : slice_byte_beginner<i8, i8, N, COUNT> {
};
template <int N, int COUNT>
struct slice_beginner<u8, N, COUNT, false> : slice_byte_beginner<u8, u8, N, COUNT> {
};
template <int COUNT>
struct slice_column_adder<i8, 4, COUNT, false> : slice_byte_column_adder<slice_sum, i8, COUNT> {
};
template <int COUNT>
struct slice_column_adder<u8, 4, COUNT, false> : slice_byte_column_adder<slice_sum, u8, COUNT> {
};

/* Stores N neighbours; the first is aligned as all of them, up to 16 bytes. */
template <int N, typename Word>
__device__ static __forceinline__ void slice_store(Word *to, const Word (&x)[N])
{
    struct alignas(N * sizeof(Word) < 16 ? N * sizeof(Word) : 16) all {
        Word x[N];
    } words;

#pragma unroll
    for (int j = 0; j < N; j++)
        words.x[j] = x[j];
    *(struct all *)to = words;
}

/* Puts the results of slices number i to i + N - 1, and lists those that are not known. */
template <int N>
__device__ static __forceinline__ void slice_put_results(const struct cuda_slice_launch *job,
                                                         size_t i, const uint64_t (&bits)[N])
{
    slice_store<N>(job->results + i, bits);
#pragma unroll
    for (int j = 0; j < N; j++)
        if (bits[j] == CUDA_SLICE_UNKNOWN && job->wish.letter == 'f')
            cuda_list_append(&job->unknown, job->first + i + j);
}

/* The mean of numbers whose sum takes two: apart, as kernels need no registers for it. */
__device__ static __noinline__ double slice_long_mean(double high, double low, uint64_t count)
{
    const struct slice_pair sum = {high, low, false};
    double mean;

    return slice_mean(&sum, count, &mean) ? mean : exact_from_bits(CUDA_SLICE_UNKNOWN);
}

/* x / divisor, rounded once, of x that is 0 or not very small. The second quotient is one of the two numbers beside
   the true one, so that its rest is exact, and the third is the true one, rounded, as the inverse is rounded once
   (Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990). */
__device__ static __forceinline__ double slice_whole_quotient(double x, double divisor,
                                                              double inverse)
{
    const double first = x * inverse;
    const double second = __fma_rn(__fma_rn(-first, divisor, x), inverse, first);

    return __fma_rn(__fma_rn(-second, divisor, x), inverse, second);
}

/* x / count, rounded once. */
__device__ static __forceinline__ double slice_whole_mean(const struct cuda_slice_wish *wish,
                                                          double x)
{
    return wish->inverse != 0 && (fabs(x) > 0x1p-900 || x == 0)
               ? slice_whole_quotient(x, wish->numbers, wish->inverse)
               : x / (double)wish->count;
}

/* The bits of the result of a slice that is not cut: of a variance nothing is known. Sums of floats of
   up to 32 bits are NaN or infinite exactly when the result is. */
template <typename Key>
__device__ static __forceinline__ uint64_t slice_result(const struct cuda_slice_wish *wish,
                                                        const slice_sum &sum, Key min, Key max)
{
    const bool finite = fabs(sum.high) < __longlong_as_double(0x7ff0000000000000ll);
    const bool of_sum = wish->op == CUDA_SLICE_SUM || wish->op == CUDA_SLICE_MEAN ||
                        wish->op == CUDA_SLICE_L1;
    double low, high;

    if (!finite && of_sum && !wish->skip_nan && sizeof(Key) == sizeof(int32_t))
        return sum.high == sum.high ? exact_bits(sum.high) : EXACT_NAN;
    if (sum.left || !finite)
        return CUDA_SLICE_UNKNOWN;
    if (!of_sum && wish->letter != 'f')
        return cuda_slice_extreme(wish, wish->op == CUDA_SLICE_MIN ? min : max);
    if (!of_sum)
        return exact_bits(exact_key_value(key_of(wish->op == CUDA_SLICE_MIN ? min : max)));
    high = sum.high + 0.0; /* of zeros, +0 */
    low = 0;
    if (sum.low != 0)
        high = exact_two_sum(sum.high, sum.low, &low);
    if (wish->letter != 'f')
        return (uint64_t)(int64_t)high;
    if (wish->op == CUDA_SLICE_MEAN)
        return exact_bits(low == 0 ? slice_whole_mean(wish, high)
                                   : slice_long_mean(high, low, wish->count));
    return fabs(high) < __longlong_as_double(0x7ff0000000000000ll) ? exact_bits(high)
                                                                   : CUDA_SLICE_UNKNOWN;
}

/* Whether sums of elements of a type may be integers that do not fit 64 bits. */
template <typename Type>
static const bool SLICE_MAY_NOT_FIT = sizeof(typename slice_type<Type>::plain) > sizeof(uint64_t);

/* Puts the sums of slices number i to i + N - 1, integers, and lists those that do not fit. */
template <int N>
__device__ static __forceinline__ void
slice_put_integers(const struct cuda_slice_launch *job, size_t i, const slice_sum (&sum)[N])
{
    uint64_t bits[N];

#pragma unroll
    for (int j = 0; j < N; j++) {
        const struct slice_pair pair = {sum[j].high, sum[j].low, false};

        if (!sum[j].left && slice_pair_integer(&pair, job->wish.letter == 'i', &bits[j]))
            continue;
        bits[j] = CUDA_SLICE_UNKNOWN;
        cuda_list_append(&job->unknown, job->first + i + j);
    }
    slice_store<N>(job->results + i, bits);
}

/* Puts what was found of slices number i to i + N - 1. ROOM: there are registers to find all results at once. */
template <int N, bool MAY_NOT_FIT, bool ROOM, typename Key>
__device__ static __forceinline__ void slice_put(const struct cuda_slice_launch *job, size_t i,
                                                 const slice_sum (&sum)[N], const Key (&min)[N],
                                                 const Key (&max)[N])
{
    double high[N], low[N];

    if (MAY_NOT_FIT && job->results && job->wish.letter != 'f') {
        slice_put_integers<N>(job, i, sum);
        return;
    }
    if (job->results) {
        uint64_t bits[N];

#pragma unroll
        for (int j = 0; j < N; j++)
            bits[j] = slice_result(&job->wish, sum[j], min[j], max[j]);
        slice_put_results<N>(job, i, bits);
        return;
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
        high[j] = job->low ? sum[j].high : __dadd_rn(sum[j].high, sum[j].low);
        if (sum[j].left || !(fabs(high[j]) < __longlong_as_double(0x7ff0000000000000ll)))
            high[j] = __longlong_as_double(0x7ff8000000000000ll);
        low[j] = sum[j].low;
    }
    slice_store<N>(job->high + i, high);
    if (job->low)
        slice_store<N>(job->low + i, low);
    if (job->min) {
        slice_store<N>((Key *)job->min + i, min);
        slice_store<N>((Key *)job->max + i, max);
    }
}

/* Whether what is added up plainly in such numbers may be magnitudes. */
template <typename Plain> struct slice_signed {
    static const bool CHANGES = false;
};
template <> struct slice_signed<double> {
    static const bool CHANGES = true;
};

/* Makes elements, as they are loaded, what is added up. */
template <typename Type, int N, int COUNT>
__device__ static __forceinline__ void
slice_change(typename slice_type<Type>::template words<N> (&v)[COUNT],
             const struct cuda_slice_launch &job)
{
    typedef slice_type<Type> type;

    if (job.swap)
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            type::template swap<N>(&v[i]);
    if (slice_signed<typename type::plain>::CHANGES && job.magnitudes)
#pragma unroll
        for (int i = 0; i < COUNT; i++)
#pragma unroll
            for (int k = 0; k < (int)(sizeof v[i].w / sizeof *v[i].w); k++)
                v[i].w[k] &= type::SIZE == 1   ? 0x7f7f7f7fu
                             : type::SIZE == 2 ? 0x7fff7fffu
                             : type::SIZE == 4 || k % 2 != 0 ? 0x7fffffffu
                                               : 0xffffffffu;
}

/* Columns: a thread takes a part of N neighbouring ones, and its neighbours the next ones, whatever
   the number of columns is. */
template <typename Type, int N> struct slice_column_state {
    typedef slice_type<Type> type;
    typedef typename type::template words<N> words;

    typename slice_summing<Type>::type sum[N];
    typename type::template extremes<N> extremes;

    /* Takes COUNT rows, which may be the first ones. */
    template <int COUNT>
    __device__ __forceinline__ const unsigned char *take(const unsigned char *from, size_t stride,
                                                         const struct cuda_slice_launch &job,
                                                         bool first = false)
    {
        words v[COUNT];
        unsigned left;

#pragma unroll
        for (int i = 0; i < COUNT; i++)
            v[i].load(from + i * stride);
        slice_change<Type, N>(v, job);
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            extremes.take(v[i]);
        left = slice_column_adder<Type, N, COUNT>::add(sum, v, first);
        if (left != 0)
            add_again(from, stride, job, COUNT, left);
        return from + COUNT * stride;
    }

    /* Element j of a row. */
    __device__ static __forceinline__ double element(const unsigned char *from, int j,
                                                     const struct cuda_slice_launch &job)
    {
        words v[1];

        v[0].load(from);
        slice_change<Type, N>(v, job);
        return type::template value<N>(v[0], j);
    }

    /* Adds element j of `count` rows plainly, if that is exact. */
    __device__ static __forceinline__ bool add_plain(typename slice_summing<Type>::type *sum,
                                                     const unsigned char *from, size_t stride,
                                                     const struct cuda_slice_launch &job, int count,
                                                     int j)
    {
        typedef typename slice_again<Type>::type again;
        slice_plain<again> plain;
        float largest = 0;

#pragma unroll 1
        for (int i = 0; i < count && SLICE_BOUNDED<again>; i++)
            largest = fmaxf(largest, fabsf((float)element(from + i * stride, j, job)));
        plain.begin(0, largest);
#pragma unroll 1
        for (int i = 0; i < count; i++)
            plain.add(element(from + i * stride, j, job));
        plain.end(largest);
        if (plain.fits())
            plain.add_to(sum);
        return plain.fits();
    }

    /* Adds the elements of `count` rows to the columns that have bits. They are loaded again, so that what
       adds them plainly has their registers. */
    __device__ __forceinline__ void add_again(const unsigned char *from, size_t stride,
                                              const struct cuda_slice_launch &job, int count,
                                              unsigned columns)
    {
        if constexpr (slice_again<Type>::PLAIN) {
#pragma unroll
            for (int j = 0; j < N; j++)
                if (columns >> j & 1 && add_plain(&sum[j], from, stride, job, count, j))
                    columns ^= 1u << j;
        }
#pragma unroll 1
        for (int i = 0; i < count && columns != 0; i++, from += stride) {
            words v[1];

            v[0].load(from);
            slice_change<Type, N>(v, job);
#pragma unroll
            for (int j = 0; j < N; j++)
                if (columns >> j & 1)
                    sum[j].add(type::template value<N>(v[0], j));
        }
    }
};

/* Blocks of a multiprocessor: sums of two columns need few registers, and those of bytes have four (16 rows of
   2^26, with four blocks and with six, microseconds: f8e4m3 617, 561; i8, whose means took 538 with six, 473). */
template <typename Type>
static const unsigned SLICE_COLUMN_BLOCKS =
    SLICE_WITH_SQUARES<Type> || slice_type<Type>::SIZE > 4 ? SLICE_BLOCKS
    : slice_type<Type>::SIZE > 1                           ? 2 * SLICE_BLOCKS
                                                           : 6;
template <> const unsigned SLICE_COLUMN_BLOCKS<i8> = 2 * SLICE_BLOCKS;
template <> const unsigned SLICE_COLUMN_BLOCKS<u8> = 2 * SLICE_BLOCKS;
/* With six, long columns take a third longer. */
template <> const unsigned SLICE_COLUMN_BLOCKS<f8e5m2> = SLICE_BLOCKS;

/* Whether a thread has registers for several results of squares at a time. */
template <typename Type>
static const bool SLICE_COLUMN_ROOM = SLICE_COLUMN_BLOCKS<Type> < 2 * SLICE_BLOCKS;

template <typename Type, int N>
__global__ void __launch_bounds__(SLICE_THREADS, SLICE_COLUMN_BLOCKS<Type>)
    slice_columns(const __grid_constant__ struct cuda_slice_launch job)
{
    typedef slice_type<Type> type;
    const size_t number = ((size_t)blockIdx.x * SLICE_THREADS + threadIdx.x) * N;
    const size_t step = job.parts * job.length, stride = job.parts * job.pitch * type::SIZE;
    const size_t block = job.further > 0 ? number / step : 0, within = number - block * step;
    /* Elements between rows, before the thread's first one. */
    const size_t gaps =
        job.pitch > job.length ? within / job.length * (job.pitch - job.length) : 0;
    const size_t all = job.rows / job.parts; /* rows that every part has */
    const unsigned groups = (unsigned)(all / type::GROUP);
    const unsigned char *from = (const unsigned char *)job.data +
                                (block * job.rows * job.pitch + within + gaps) * type::SIZE;
    slice_column_state<Type, N> state;
    typename type::key min[N], max[N];
    size_t left; /* elements behind these */

    static_assert(type::GROUP == 8 || type::GROUP == 16 || type::GROUP == 32, "as below");
    if (number >= step * (1 + job.further))
        return;
#pragma unroll
    for (int j = 0; j < N; j++)
        state.sum[j].clear();
    state.extremes.clear();
#pragma unroll 1
    for (unsigned i = 0; i < groups; i++)
        from = state.template take<type::GROUP>(from, stride, job, i == 0);
    if (type::GROUP > 16 && (all & 16))
        from = state.template take<16>(from, stride, job, all < 32);
    if (type::GROUP > 8 && (all & 8))
        from = state.template take<8>(from, stride, job, all < 16);
    if (all & 4)
        from = state.template take<4>(from, stride, job, all < 8);
    if (all & 2)
        from = state.template take<2>(from, stride, job);
    if (all & 1)
        from = state.template take<1>(from, stride, job);
    left = job.rows * job.length - all * step;
    left = left > within ? left - within : 0;
    if (left >= N) {
        (void)state.template take<1>(from, stride, job);
    } else if (left > 0) {
        typename type::template words<N> v[1] = {};

#pragma unroll
        for (int j = 0; j < N; j++)
            if ((size_t)j < left)
                type::template place<N>(v, j, from + j * type::SIZE);
        slice_change<Type, N>(v, job);
#pragma unroll
        for (int j = 0; j < N; j++)
            if ((size_t)j < left) {
                (void)slice_adder<Type, N, 1, type::FITS>::add(&state.sum[j], v, j, false);
                state.extremes.take_one(v[0], j);
            }
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
        min[j] = state.extremes.least(j);
        max[j] = state.extremes.greatest(j);
    }
    slice_put<N, SLICE_MAY_NOT_FIT<Type>, SLICE_COLUMN_ROOM<Type>>(&job, number, state.sum, min,
                                                                   max);
}

/* The extremes of what several threads have of a row. */
template <typename Key> struct slice_keys {
    Key min, max;

    __device__ __forceinline__ void merge(const slice_keys &other)
    {
        min = other.min < min ? other.min : min;
        max = other.max > max ? other.max : max;
    }
    /* Those of the lane that is so far away. All lanes of the warp together. */
    __device__ __forceinline__ slice_keys exchange(unsigned distance) const
    {
        return {__shfl_xor_sync(SLICE_ALL_LANES, min, distance),
                __shfl_xor_sync(SLICE_ALL_LANES, max, distance)};
    }
    __device__ static __forceinline__ slice_keys choose(bool first, const slice_keys &x,
                                                        const slice_keys &y)
    {
        return {first ? x.min : y.min, first ? x.max : y.max};
    }
};

/* Merges what each of LANES neighbouring threads has of PARTS parts of rows, x. In each step two
   lanes hand each other half of the parts that they have, or both take the same last one. So a
   thread is left with SLICE_KEPT parts, the first of which is number slice_first_kept, and
   SLICE_ALIKE threads side by side have the same. LANES and PARTS are powers of two. X::choose
   takes numbers one by one: of references the compiler would have to keep all in memory. */
template <int LANES, int PARTS> static const int SLICE_KEPT = PARTS > LANES ? PARTS / LANES : 1;
template <int LANES, int PARTS>
static const unsigned SLICE_ALIKE = LANES > PARTS ? LANES / PARTS : 1;
template <int LANES, int PARTS> __device__ static __forceinline__ unsigned slice_first_kept()
{
    return threadIdx.x % LANES * PARTS / LANES;
}
template <int LANES, int PARTS, typename X>
__device__ static __forceinline__ void slice_share(X (&x)[PARTS])
{
    int count = PARTS;

#pragma unroll
    for (unsigned distance = LANES / 2; distance > 0; distance /= 2) {
        const bool upper = (threadIdx.x & distance) != 0;

        if (count == 1) {
            x[0].merge(x[0].exchange(distance));
            continue;
        }
        count /= 2;
#pragma unroll
        for (int i = 0; i < PARTS / 2; i++)
            if (i < count) {
                const X other = X::choose(upper, x[i], x[i + count]).exchange(distance);

                x[i] = X::choose(upper, x[i + count], x[i]);
                x[i].merge(other);
            }
    }
}

/* A thread's elements of parts of rows: VECTORS vectors of N elements of each of PARTS parts. */
template <typename Type, int LANES, int N, int VECTORS, int PARTS> struct slice_row_state {
    typedef slice_type<Type> type;
    typedef typename type::template words<N> words;
    typedef slice_keys<typename type::key> keys;
    typedef typename slice_summing<Type>::type sum_type;
    static const int KEPT = SLICE_KEPT<LANES, PARTS>;
    static const int STEP = LANES * N; /* elements from a thread's vector to its next one */

    words v[PARTS][VECTORS];
    bool in[PARTS][VECTORS]; /* there is such a vector */

    /* Loads those of a part, of which the thread's first vector is here, and so many elements from
       that on, if any; of vectors that there are not, zeros. */
    __device__ __forceinline__ void load(int part, const unsigned char *from, int left,
                                         const struct cuda_slice_launch &job)
    {
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            v[part][i] = {};
            in[part][i] = i * STEP < left;
            if (in[part][i])
                v[part][i].load(from + i * STEP * type::SIZE);
        }
        slice_change<Type, N>(v[part], job);
    }

    __device__ __forceinline__ keys find_keys(int part) const
    {
        typename type::template extremes<N> extremes;

        extremes.clear();
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            if (in[part][i])
                extremes.take(v[part][i]);
        return {extremes.least(), extremes.greatest()};
    }

    /* The compiler is not to keep what elements of a part were converted to. */
    __device__ __forceinline__ void forget(int part)
    {
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
            v[part][i].forget();
    }

    /* The greatest magnitude of a part, of so many lanes. */
    template <int OF> __device__ __forceinline__ float find_largest(int part)
    {
        float largest = 0;

        forget(part);

#pragma unroll
        for (int i = 0; i < VECTORS; i++)
#pragma unroll
            for (int j = 0; j < N; j++)
                largest = fmaxf(largest, fabsf((float)type::template value<N>(v[part][i], j)));
#pragma unroll
        for (unsigned distance = OF / 2; distance > 0; distance /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(SLICE_ALL_LANES, largest, distance));
        forget(part);
        return largest;
    }

    /* Adds up all parts plainly as Of, over all lanes: the sums of those that the thread is left with.
       The warp decides together whether they are good. */
    template <typename Of> __device__ __forceinline__ bool add_plain(sum_type (&sum)[PARTS])
    {
        slice_plain<Of> plain[PARTS];
        bool fits = true;

#pragma unroll
        for (int k = 0; k < PARTS; k++)
            slice_beginner<Of, N, VECTORS>::begin(&plain[k], v[k],
                                                  SLICE_BOUNDED<Of> ? find_largest<LANES>(k) : 0);
        slice_share<LANES>(plain);
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            sum[i] = plain[i].sum();
            fits = fits && plain[i].fits();
        }
        return __all_sync(SLICE_ALL_LANES, fits);
    }

    /* Adds the elements of a part: PLAIN, plainly if that is exact; or else one by one. */
    template <bool PLAIN> __device__ __forceinline__ void add_lane(int part, sum_type *sum)
    {
        typedef typename slice_again<Type>::type again;

        if constexpr (PLAIN) {
            slice_plain<again> plain;

            if (!slice_pairs<again, N, VECTORS>::add(&plain, v[part]))
                slice_beginner<again, N, VECTORS>::begin(
                    &plain, v[part], SLICE_BOUNDED<again> ? find_largest<1>(part) : 0);
            if (plain.fits()) {
                plain.add_to(sum);
                return;
            }
        }
        add_each(part, sum);
    }

    /* Adds the elements of a part one by one. */
    __device__ __forceinline__ void add_each(int part, sum_type *sum)
    {
        forget(part);
#pragma unroll
        for (int i = 0; i < VECTORS; i++)
#pragma unroll
            for (int j = 0; j < N; j++)
                sum->add(type::template value<N>(v[part][i], j));
    }
};

/* Whether a block gathers sums of rows before their results are put: those of squares, whose results
   take as long as dozens of elements, where threads have the same sum. */
template <typename Type, int LANES, int PARTS>
static const bool SLICE_GATHERED = SLICE_WITH_SQUARES<Type> && SLICE_ALIKE<LANES, PARTS> > 1;

/* Blocks of a multiprocessor for rows of which a thread has so many elements; and whether it has registers for
   several results of squares at a time. */
template <typename Type, int ELEMENTS>
static const unsigned SLICE_ROW_BLOCKS = slice_blocks(ELEMENTS, slice_type<Type>::SIZE);
template <typename Type, int ELEMENTS>
static const bool SLICE_ROW_ROOM = SLICE_ROW_BLOCKS<Type, ELEMENTS> < 2 * SLICE_BLOCKS;

/* LANES neighbouring threads, a power of two of a warp, take PARTS parts of rows at a time, as many
   as there are groups of lanes apart: in TURNS, so that registers hold the vectors. WHOLE: rows are
   not cut. */
template <typename Type, int LANES, int N, int VECTORS, int PARTS, int TURNS, bool WHOLE>
__global__ void __launch_bounds__(SLICE_THREADS, SLICE_ROW_BLOCKS<Type, PARTS *VECTORS *N>)
    slice_rows(const __grid_constant__ struct cuda_slice_launch job)
{
    typedef slice_row_state<Type, LANES, N, VECTORS, PARTS> row_state;
    typedef typename row_state::keys row_keys;
    const size_t parts = WHOLE ? job.rows : job.rows * job.parts,
                 groups = (parts + PARTS - 1) / PARTS;
    const size_t group = ((size_t)blockIdx.x * SLICE_THREADS + threadIdx.x) / LANES;
    const int before = threadIdx.x % LANES * N; /* elements of a part before the thread's first */
    const int turn_step = VECTORS * row_state::STEP;
    const bool extremes = job.min || (job.results && (job.wants & PARTIAL_EXTREMES));
    row_state state;

    const bool at_once = slice_type<Type>::PLAIN && TURNS == 1;
    const bool in_turns = slice_type<Type>::PLAIN && (TURNS != 1 || slice_again<Type>::PLAIN);

    static_assert(TURNS == 1 || PARTS == 1, "sums are of one part");
    const unsigned char *from[PARTS];
    int left[PARTS];
    typename row_state::sum_type sum[PARTS];
    row_keys keys[PARTS];

#pragma unroll
    for (int k = 0; k < PARTS; k++) {
        const size_t number = group + k * groups;
        const bool any = group < groups && number < parts;
        const size_t row = WHOLE ? number : number / job.parts;
        const size_t begin = WHOLE ? 0 : (number - row * job.parts) * job.part;
        const size_t there = job.length - begin;
        const size_t first = row * job.pitch + begin + before;

        from[k] = (const unsigned char *)job.data + first * slice_type<Type>::SIZE;
        left[k] = (any ? (int)(WHOLE || there < job.part ? there : job.part) : 0) - before;
        state.load(k, from[k], left[k], job);
    }
    if (extremes)
#pragma unroll
        for (int k = 0; k < PARTS; k++)
            keys[k] = state.find_keys(k);
    bool added = false;

    if constexpr (at_once)
        added = state.template add_plain<Type>(sum);
    if constexpr (at_once && LANES > 1 && slice_again<Type>::PLAIN)
        if (!added)
            added = state.template add_plain<typename slice_again<Type>::type>(sum);
    if (!(slice_type<Type>::FITS && at_once) && !added) {
#pragma unroll
        for (int k = 0; k < PARTS; k++) {
            sum[k].clear();
            state.template add_lane<in_turns>(k, &sum[k]);
        }
#pragma unroll 1
        for (int turn = 1; turn < TURNS && turn * turn_step < left[0] + before; turn++) {
            state.load(0, from[0] + (size_t)turn * turn_step * slice_type<Type>::SIZE,
                       left[0] - turn * turn_step, job);
            state.template add_lane<in_turns>(0, &sum[0]);
            if (extremes)
                keys[0].merge(state.find_keys(0));
        }
        slice_share<LANES>(sum);
    }
    if (extremes)
        slice_share<LANES>(keys);
    if (SLICE_GATHERED<Type, LANES, PARTS>) {
        /* Neighbouring threads put the results of the block's groups, part by part. */
        const unsigned together = SLICE_THREADS / LANES, at = threadIdx.x / LANES;
        __shared__ typename row_state::sum_type found[SLICE_THREADS / LANES * PARTS];

        if (threadIdx.x % SLICE_ALIKE<LANES, PARTS> == 0)
#pragma unroll
            for (int i = 0; i < row_state::KEPT; i++)
                found[(slice_first_kept<LANES, PARTS>() + i) * together + at] = sum[i];
        __syncthreads();
        const size_t first = (size_t)blockIdx.x * together + threadIdx.x % together,
                     number = first + threadIdx.x / together * groups;

        if (threadIdx.x < together * PARTS && first < groups && number < parts)
            slice_put<1, false, true, typename slice_type<Type>::key>(
                &job, number, {found[threadIdx.x]}, {0}, {0});
        return;
    }
    if (threadIdx.x % SLICE_ALIKE<LANES, PARTS> != 0)
        return;
    if constexpr (SLICE_WITH_SQUARES<Type> && row_state::KEPT > 1 &&
                  SLICE_ROW_ROOM<Type, PARTS * VECTORS * N>)
        if (job.results) {
            uint64_t bits[row_state::KEPT];

            slice_find_results(&job.wish, sum, typename slice_type<Type>::key(), bits);
#pragma unroll
            for (int i = 0; i < row_state::KEPT; i++) {
                const size_t number = group + (slice_first_kept<LANES, PARTS>() + i) * groups;

                if (group < groups && number < parts)
                    slice_put_results<1>(&job, number, {bits[i]});
            }
            return;
        }
#pragma unroll
    for (int i = 0; i < row_state::KEPT; i++) {
        const size_t number = group + (slice_first_kept<LANES, PARTS>() + i) * groups;
        const typename row_state::sum_type one[1] = {sum[i]};

        if (group < groups && number < parts)
            slice_put<1, SLICE_MAY_NOT_FIT<Type>, true>(&job, number, one, {keys[i].min},
                                                        {keys[i].max});
    }
}

/* Rows: lanes of a part; elements of a vector, and vectors that a lane has of a part; parts that it
   has of all, more than one only of rows that are not cut; turns; and whether rows are not cut. */
template <typename Type, int LANES, int N, int VECTORS, int PARTS, int TURNS, bool WHOLE>
static struct slice_choice slice_choose_lanes(const struct cuda_slice_launch *l)
{
    return {slice_rows<Type, LANES, N, VECTORS, PARTS, TURNS, WHOLE>,
            (l->rows * l->parts + PARTS - 1) / PARTS * LANES};
}
template <typename Type, int LANES, int N, int VECTORS, int PARTS>
static struct slice_choice slice_choose_short(const struct cuda_slice_launch *l)
{
    return slice_choose_lanes<Type, LANES, N, VECTORS, PARTS, 1, true>(l);
}

/* Parts of rows that a lane has at a time, with 8 vectors together: merging what lanes have of a row takes
   as long as adding up dozens of elements, and sums of squares that may not fit take more registers. */
template <typename Type>
static const int SLICE_PARTS_AT_ONCE = SLICE_WITH_SQUARES<Type> && !slice_type<Type>::FITS ? 1 : 2;

/* The longest parts, whose vectors of N elements a warp has in its registers, if that can be; those of
   narrow types half a warp, which has two of them where that needs no more registers than there are.
   LONG: there may be parts of CUDA_SLICE_LONG elements. */
template <typename Type, int N,
          bool LONG = (N == 4 || N == 8) && slice_type<Type>::PLAIN &&
                      !SLICE_WITH_SQUARES<Type>,
          bool NARROW = (N > 4)>
struct slice_long {
    static struct slice_choice choose(const struct cuda_slice_launch *l)
    {
        const int vectors = CUDA_SLICE_PART / 32 / N,
                  turns = slice_type<Type>::PLAIN ? 1 : vectors / 8;

        return slice_choose_lanes<Type, 32, N, vectors / turns, 1, turns, false>(l);
    }
};
template <typename Type, int N, bool NARROW> struct slice_long<Type, N, true, NARROW> {
    static struct slice_choice choose(const struct cuda_slice_launch *l)
    {
        const int turns = CUDA_SLICE_LONG / CUDA_SLICE_PART, lanes = NARROW ? 16 : 32;

        return l->part > CUDA_SLICE_PART && l->length > CUDA_SLICE_PART
                   ? slice_choose_lanes<Type, lanes, N, 8, 1, turns, false>(l)
                   : slice_long<Type, N, false>::choose(l);
    }
};
template <typename Type, int N> struct slice_long<Type, N, false, true> {
    static struct slice_choice choose(const struct cuda_slice_launch *l)
    {
        const int vectors = CUDA_SLICE_PART / 16 / N, parts = SLICE_PARTS_AT_ONCE<Type>;

        return l->parts == 1 ? slice_choose_short<Type, 16, N, vectors, parts>(l)
                             : slice_choose_lanes<Type, 16, N, vectors, 1, 1, false>(l);
    }
};

template <typename Type>
static struct slice_choice slice_choose_columns(const struct cuda_slice_launch *l)
{
    const int at_once = slice_type<Type>::COLUMNS;
    const size_t columns = l->parts * l->length, unit = at_once * slice_type<Type>::SIZE;
    /* Together they lie in rows that follow one another, or in each row, and are aligned. */
    const bool together =
        (l->pitch == l->length ? columns : l->length | l->pitch) % at_once == 0 &&
        (l->further == 0 || l->rows * l->pitch % at_once == 0) && (uintptr_t)l->data % unit == 0;

    if (together)
        return {slice_columns<Type, at_once>, columns / at_once * (1 + l->further)};
    return {slice_columns<Type, 1>, columns * (1 + l->further)};
}

/* Whether all rows have vectors of 16 bytes, and nothing else. */
template <typename Type> static bool slice_has_vectors(const struct cuda_slice_launch *l)
{
    return (l->length | l->pitch) % slice_type<Type>::ROW == 0 &&
           (uintptr_t)l->data % (slice_type<Type>::ROW * slice_type<Type>::SIZE) == 0;
}

/* Whether rows are not cut, and so short that few threads take one. */
template <typename Type> static bool slice_is_short(const struct cuda_slice_launch *l)
{
    return l->parts == 1 &&
           l->length <= (slice_has_vectors<Type>(l) ? 4 * slice_type<Type>::ROW : 32);
}
template <typename Type>
static struct slice_choice slice_choose_few(const struct cuda_slice_launch *l)
{
    const int row = slice_type<Type>::ROW, at_once = SLICE_PARTS_AT_ONCE<Type>;

    if (!slice_has_vectors<Type>(l))
        return l->length <= 4    ? slice_choose_short<Type, 1, 1, 4, 4>(l)
               : l->length <= 16 ? slice_choose_short<Type, 1, 1, 16, 1>(l)
                                 : slice_choose_short<Type, 2, 1, 16, 1>(l);
    return l->length <= row       ? slice_choose_short<Type, 1, row, 1, 4>(l)
           : l->length <= 2 * row ? slice_choose_short<Type, 1, row, 2, 2 * at_once>(l)
                                  : slice_choose_short<Type, 1, row, 4, at_once>(l);
}

/* Other rows. */
template <typename Type>
static struct slice_choice slice_choose_many(const struct cuda_slice_launch *l)
{
    typedef slice_type<Type> type;
    const size_t most = l->length < l->part ? l->length : l->part;
    const bool whole = l->parts == 1;
    const int row = type::ROW, at_once = SLICE_PARTS_AT_ONCE<Type>, vectors = 8 / at_once;
    /* Integers of few bytes are added up so fast that more lanes side by side count for more. */
    const bool fast = type::SIZE <= 2 && sizeof(typename type::plain) <= sizeof(int) &&
                      !SLICE_WITH_SQUARES<Type>;

    if (!slice_has_vectors<Type>(l)) {
        if (whole && most <= 64)
            return slice_choose_short<Type, 4, 1, 16, 1>(l);
        if (whole && most <= 256)
            return slice_choose_short<Type, 16, 1, 16, 1>(l);
        return slice_long<Type, 1>::choose(l);
    }
    if (whole && most <= 8 * row)
        return slice_choose_short<Type, fast ? 8 : 8 / vectors, row, fast ? 2 : vectors,
                                  fast ? 4 : at_once>(l);
    if (whole && most <= 16 * row)
        return slice_choose_short<Type, 16 / vectors, row, vectors, at_once>(l);
    if (whole && most <= 32 * row)
        return slice_choose_short<Type, 32 / vectors, row, vectors, at_once>(l);
    if (whole && most <= 64 * row)
        return slice_choose_short<Type, 64 / vectors, row, vectors, at_once>(l);
    /* Others are added up sooner by more lanes. */
    if constexpr (!type::PLAIN)
        if (whole && most <= 128 * row)
            return slice_choose_short<Type, 128 / vectors, row, vectors, at_once>(l);
    return slice_long<Type, row>::choose(l);
}

template <typename Type>
static struct slice_choice slice_choose_type(const struct cuda_slice_launch *l)
{
    if (l->columns)
        return slice_choose_columns<Type>(l);
    return slice_is_short<Type>(l) ? slice_choose_few<Type>(l) : slice_choose_many<Type>(l);
}

#endif
