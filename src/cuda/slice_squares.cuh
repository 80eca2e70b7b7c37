/*
 * Sums of squares of slices beside sums: what slice_kernels.cuh adds up in place of a sum alone.
 *
 * Squares of elements of up to 32 bits are added up in binary64 beside a constant, so that a sum is a
 * multiple of the constant's last place; fma tells what a square has below that, exactly. Those
 * rests are added up rounding down and rounding up. If both are the same, nothing was rounded.
 *
 * Squares of f64 have twice as many bits. They are added up in two numbers, beside a bound of what the
 * second has lost by rounding, which is enough to round nearly all results.
 */
#ifndef GPUREDUCE_CUDA_SLICE_SQUARES_CUH
#define GPUREDUCE_CUDA_SLICE_SQUARES_CUH

#include "cuda/moments_state.cuh"
#include "cuda/slice_kernels.cuh"

/* Numbers that hold a sum of squares; SLICE_SQUARES_MAX at most. */
static const int SLICE_SQUARES = 3;

/* The sum of the squares of numbers of up to 32 bits, which is exact unless it is `left`. */
struct slice_narrow_squares : slice_long_sum<SLICE_SQUARES> {
    __device__ __forceinline__ void add_both(double high, double low)
    {
        add(high);
        add(low);
    }
    __device__ __forceinline__ void take(double x)
    {
        add_narrow_square(x);
    }
    __device__ __forceinline__ void merge(const slice_narrow_squares &other)
    {
#pragma unroll
        for (int i = 0; i < SLICE_SQUARES; i++)
            add(other.part[i]);
        left = left || other.left;
    }
    __device__ __forceinline__ double term(int i) const
    {
        return part[i];
    }
    __device__ __forceinline__ bool is_left() const
    {
        return left;
    }
    __device__ __forceinline__ unsigned rest() const
    {
        return left;
    }
    __device__ __forceinline__ void set_rest(unsigned x)
    {
        left = x != 0;
    }
    __device__ __forceinline__ double bound() const
    {
        return 0;
    }
};

/* The sum of the squares of f64, which is rounded: two numbers, and the magnitudes of what the second one was
   each time. */
struct slice_wide_squares {
    double part[SLICE_SQUARES];
    /* The upper half of the least magnitude that is not 0, less 1. If the lower half is not 0, its last bit
       counts as set. */
    unsigned least;

    __device__ __forceinline__ void clear()
    {
        part[0] = part[1] = part[2] = 0;
        least = ~0u;
    }
    __device__ __forceinline__ void add_both(double high, double low)
    {
        double error;

        part[0] = exact_two_sum(part[0], high, &error);
        part[1] = __dadd_rn(part[1], __dadd_rn(error, low));
    }
    __device__ __forceinline__ void take(double x)
    {
        double low;
        const double square = slice_product(x, x, &low);
        const unsigned upper = (unsigned)__double2hiint(x) & 0x7fffffffu;
        const unsigned lower = (unsigned)__double2loint(x);

        add_both(square, low);
        part[2] = __dadd_rn(part[2], fabs(part[1]));
        least = min(least, (upper | min(lower, 1u)) - 1);
    }
    __device__ __forceinline__ void merge(const slice_wide_squares &other)
    {
        const double before = fabs(part[1]);

        add_both(other.part[0], other.part[1]);
        part[2] += other.part[2] + (before + fabs(part[1]));
        least = min(least, other.least);
    }
    __device__ __forceinline__ double term(int i) const
    {
        return i < 2 ? part[i] : 0;
    }
    __device__ __forceinline__ bool is_left() const
    {
        return false;
    }
    __device__ __forceinline__ unsigned rest() const
    {
        return least;
    }
    __device__ __forceinline__ void set_rest(unsigned x)
    {
        least = x;
    }
    /* The most that the sum is off by. Each addition rounds a term, and the second number with it, by 2^-53 of
       them. The term is no more than the number before and after it together, so that all of them are no
       more than three times the magnitudes. A square of less than 2^-970, of a number of less than 2^-485,
       lacks less than 2^-1074. */
    __device__ __forceinline__ double bound() const
    {
        const unsigned whole = (1023 - 485) << 20;

        return part[2] * 0x1p-51 + (least < whole - 1 ? 0x1p-960 : 0);
    }
};

/* The squares of the lane that is `distance` away; all lanes of the warp together. And one of two sums. */
template <typename Squares>
__device__ static __forceinline__ Squares slice_exchange_squares(const Squares &x,
                                                                 unsigned distance)
{
    Squares other;

#pragma unroll
    for (int i = 0; i < SLICE_SQUARES; i++)
        other.part[i] = __shfl_xor_sync(SLICE_ALL_LANES, x.part[i], distance);
    other.set_rest(__shfl_xor_sync(SLICE_ALL_LANES, x.rest(), distance));
    return other;
}
template <typename Squares>
__device__ static __forceinline__ Squares slice_pick_squares(bool first, const Squares &x,
                                                                  const Squares &y)
{
    Squares chosen;

#pragma unroll
    for (int i = 0; i < SLICE_SQUARES; i++)
        chosen.part[i] = first ? x.part[i] : y.part[i];
    chosen.set_rest(first ? x.rest() : y.rest());
    return chosen;
}

/* A sum, and that of the squares. */
template <typename Squares> struct slice_moments {
    slice_sum sum;
    Squares squares;

    __device__ __forceinline__ void clear()
    {
        sum.clear();
        squares.clear();
    }
    __device__ __forceinline__ void add(double x)
    {
        sum.add(x);
        squares.take(x);
    }
    __device__ __forceinline__ void merge(const slice_moments &other)
    {
        sum.merge(other.sum);
        squares.merge(other.squares);
    }
    /* Those of the lane that is `distance` away. All lanes of the warp together. */
    __device__ __forceinline__ slice_moments exchange(unsigned distance) const
    {
        return {sum.exchange(distance), slice_exchange_squares(squares, distance)};
    }
    __device__ static __forceinline__ slice_moments choose(bool first, const slice_moments &x,
                                                           const slice_moments &y)
    {
        return {slice_sum::choose(first, x.sum, y.sum),
                slice_pick_squares(first, x.squares, y.squares)};
    }
};
typedef slice_moments<slice_narrow_squares> slice_narrow_moments;
typedef slice_moments<slice_wide_squares> slice_wide_moments;

/* How squares are added up plainly: in binary64, or those of integers of up to 16 bits as integers. */
struct slice_plain_squares {
};
struct slice_plain_integers {
};

/* A type whose squares are added up, too. MOST: magnitudes are 2^MOST at most, and sums of
   CUDA_SLICE_PART elements and their squares always fit; 0: that depends on the elements. */
template <typename Type, int MOST, typename Plain = slice_plain_squares> struct squared {
};
template <typename Type, int MOST, typename Plain>
struct slice_summing<squared<Type, MOST, Plain>> {
    typedef slice_narrow_moments type;
};
template <> struct slice_summing<squared<f64, 0>> {
    typedef slice_wide_moments type;
};
template <typename Type, int MOST, typename Plain>
struct slice_type<squared<Type, MOST, Plain>> : slice_summed_type<slice_type<Type>> {
    typedef Plain plain;
    static const bool FITS = MOST != 0;
};

template <> struct slice_type<squared<f64, 0>> : slice_summed_type<slice_type<f64>> {
    typedef slice_plain_squares plain;
    typedef int64_t key;
    static const bool PLAIN = false, FITS = false;
};

template <typename Type, int MOST>
struct slice_plain<squared<Type, MOST, slice_plain_squares>, slice_plain_squares> {
    static const bool BOUNDED = MOST == 0, FITS = MOST != 0;
    typedef slice_bounds<FITS> bounds;
    typedef typename slice_summing<squared<Type, MOST>>::type moments;

    bounds all;
    double upper; /* the squares' parts that are multiples of a last place */
    bounds rest;  /* and what they have below it */

    /* The constant beside which squares of numbers of up to this magnitude are added up: together
       they are below half of it. */
    __device__ static __forceinline__ double constant(float largest)
    {
        static_assert(CUDA_SLICE_PART == 1 << 10, "as below");
        const int most = BOUNDED ? (int)(__float_as_uint(largest) >> 23) - 126 : MOST;

        return power_at(2 * most + 10 + 1 + 1023);
    }
    __device__ __forceinline__ void begin(double x, float largest)
    {
        all = rest = {0, 0};
        upper = constant(largest);
        add(x);
    }
    __device__ __forceinline__ void add(double x)
    {
        const double sum = __fma_rn(x, x, upper), below = __fma_rn(x, x, -(sum - upper));

        upper = sum;
        all.add(x, x);
        rest.add(below, below);
    }
    __device__ __forceinline__ void end(float largest)
    {
        upper -= constant(largest);
    }
    __device__ __forceinline__ void merge(const slice_plain &other)
    {
        upper += other.upper;
        all.merge(other.all);
        rest.merge(other.rest);
    }
    /* The state of the lane that is `distance` away. All lanes of the warp together. */
    __device__ __forceinline__ slice_plain exchange(unsigned distance) const
    {
        return {all.exchange(distance), __shfl_xor_sync(SLICE_ALL_LANES, upper, distance),
                rest.exchange(distance)};
    }
    __device__ static __forceinline__ slice_plain choose(bool first, const slice_plain &x,
                                                         const slice_plain &y)
    {
        return {bounds::choose(first, x.all, y.all), first ? x.upper : y.upper,
                bounds::choose(first, x.rest, y.rest)};
    }
    __device__ __forceinline__ void add_to(moments *to) const
    {
        to->sum.add(all.down);
        to->squares.add_both(upper, rest.down);
    }
    /* As sums, if they fit. */
    __device__ __forceinline__ moments sum() const
    {
        moments all_of;

        all_of.clear();
        all_of.sum.high = all.down;
        all_of.sum.left = !(fabs(all.down) < __longlong_as_double(0x7ff0000000000000ll));
        all_of.squares.part[0] = upper;
        all_of.squares.part[1] = rest.down;
        return all_of;
    }
    /* Whether nothing was rounded: infinities and NaNs leave rests that are NaN. */
    __device__ __forceinline__ bool fits() const
    {
        return all.fits() && rest.fits();
    }
};

template <typename Type, int MOST>
struct slice_plain<squared<Type, MOST, slice_plain_integers>, slice_plain_integers> {
    static const bool BOUNDED = false;
    int all;
    uint64_t squares;

    __device__ __forceinline__ void begin(int x, float)
    {
        all = x;
        squares = (uint64_t)((int64_t)x * x);
    }
    __device__ __forceinline__ void add(int x)
    {
        all += x;
        squares += (uint64_t)((int64_t)x * x);
    }
    __device__ __forceinline__ void end(float)
    {
    }
    __device__ __forceinline__ void merge(const slice_plain &other)
    {
        all += other.all;
        squares += other.squares;
    }
    __device__ __forceinline__ slice_plain exchange(unsigned distance) const
    {
        return {__shfl_xor_sync(SLICE_ALL_LANES, all, distance),
                __shfl_xor_sync(SLICE_ALL_LANES, squares, distance)};
    }
    __device__ static __forceinline__ slice_plain choose(bool first, const slice_plain &x,
                                                         const slice_plain &y)
    {
        return {first ? x.all : y.all, first ? x.squares : y.squares};
    }
    __device__ __forceinline__ void add_to(slice_narrow_moments *to) const
    {
        to->sum.add((double)all);
        to->squares.add((double)squares); /* below 2^53 */
    }
    __device__ __forceinline__ slice_narrow_moments sum() const
    {
        slice_narrow_moments all_of;

        all_of.clear();
        all_of.sum.high = (double)all;
        all_of.squares.part[0] = (double)squares;
        return all_of;
    }
    __device__ __forceinline__ bool fits() const
    {
        return true;
    }
};

/* The bits of the result of a slice that is not cut: apart, as kernels need no registers for it. */
static __device__ __noinline__ uint64_t spread_bits(const struct cuda_slice_wish *wish, double high,
                                                    double low, double square, double more,
                                                    double most, double bound)
{
    const struct slice_pair sum = {high, low, false};
    const double squares[SLICE_SQUARES_MAX] = {square, more, most};
    double result;

    static_assert(SLICE_SQUARES == 3, "as here");
    return cuda_slice_of_squares(wish, &sum, squares, bound, wish->count, &result)
               ? exact_bits(result)
               : CUDA_SLICE_UNKNOWN;
}

/* Puts what was found of slices number i to i + N - 1. */
template <int N, bool MAY_NOT_FIT, typename Key, typename Squares>
__device__ static __forceinline__ void
slice_put(const struct cuda_slice_launch *job, size_t i, const slice_moments<Squares> (&found)[N],
          const Key (&)[N], const Key (&)[N])
{
    double high[N], low[N], square[N];

    if (job->results) {
        const bool spread = job->wish.op == CUDA_SLICE_VAR || job->wish.op == CUDA_SLICE_STD;
        uint64_t bits[N];

#pragma unroll
        for (int j = 0; j < N; j++) {
            const slice_sum sum = found[j].sum;
            const Squares squares = found[j].squares;

            /* The sum of elements that are not finite is not finite, either; that of large finite f64 may be
               so, too. */
            if (!(fabs(sum.high) < __longlong_as_double(0x7ff0000000000000ll)))
                bits[j] = spread && !job->wish.skip_nan && sizeof(Key) == sizeof(int32_t)
                              ? EXACT_NAN
                              : CUDA_SLICE_UNKNOWN;
            else if (sum.left || squares.is_left())
                bits[j] = CUDA_SLICE_UNKNOWN;
            else
                bits[j] = spread_bits(&job->wish, sum.high, sum.low, squares.term(0),
                                      squares.term(1), squares.term(2), squares.bound());
        }
        slice_put_results<N>(job, i, bits);
        return;
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
        const bool left = found[j].sum.left || found[j].squares.is_left();

        high[j] = left ? __longlong_as_double(0x7ff8000000000000ll) : found[j].sum.high;
        low[j] = found[j].sum.low;
    }
    slice_store<N>(job->high + i, high);
    slice_store<N>(job->low + i, low);
#pragma unroll
    for (int k = 0; k < SLICE_SQUARES_MAX; k++) {
#pragma unroll
        for (int j = 0; j < N; j++)
            square[j] = k < SLICE_SQUARES ? found[j].squares.term(k) : 0;
        slice_store<N>(job->more.squares[k] + i, square);
    }
    if (job->bound) {
#pragma unroll
        for (int j = 0; j < N; j++)
            square[j] = found[j].squares.bound();
        slice_store<N>(job->bound + i, square);
    }
}

#endif
