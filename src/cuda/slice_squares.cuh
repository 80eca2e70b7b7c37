/*
 * Sums of squares of slices beside sums: what slice_kernels.cuh adds up in place of a sum alone.
 *
 * Squares of elements of up to 32 bits are added up in binary64 beside a constant, so that a sum is a
 * multiple of the constant's last place; fma tells what a square has below that, exactly. Those
 * rests are added up rounding down and rounding up. If both are the same, nothing was rounded.
 */
#ifndef GPUREDUCE_CUDA_SLICE_SQUARES_CUH
#define GPUREDUCE_CUDA_SLICE_SQUARES_CUH

#include "cuda/moments_state.cuh"
#include "cuda/slice_kernels.cuh"

/* Numbers that hold a sum of squares; SLICE_SQUARES_MAX at most. */
static const int SLICE_SQUARES = 3;

/* A sum, and that of the squares. */
struct slice_moments {
    slice_sum sum;
    slice_long_sum<SLICE_SQUARES> squares;

    __device__ __forceinline__ void clear()
    {
        sum.clear();
        squares.clear();
    }
    __device__ __forceinline__ void add(double x)
    {
        sum.add(x);
        squares.add_narrow_square(x);
    }
    __device__ __forceinline__ void merge(const slice_moments &other)
    {
        sum.merge(other.sum);
#pragma unroll
        for (int i = 0; i < SLICE_SQUARES; i++)
            squares.add(other.squares.part[i]);
        squares.left = squares.left || other.squares.left;
    }
    /* Those of the lane that is `distance` away. All lanes of the warp together. */
    __device__ __forceinline__ slice_moments exchange(unsigned distance) const
    {
        slice_moments other;

        other.sum = sum.exchange(distance);
#pragma unroll
        for (int i = 0; i < SLICE_SQUARES; i++)
            other.squares.part[i] = __shfl_xor_sync(SLICE_ALL_LANES, squares.part[i], distance);
        other.squares.left = __shfl_xor_sync(SLICE_ALL_LANES, (int)squares.left, distance) != 0;
        return other;
    }
    __device__ static __forceinline__ slice_moments choose(bool first, const slice_moments &x,
                                                           const slice_moments &y)
    {
        slice_moments chosen;

        chosen.sum = slice_sum::choose(first, x.sum, y.sum);
#pragma unroll
        for (int i = 0; i < SLICE_SQUARES; i++)
            chosen.squares.part[i] = first ? x.squares.part[i] : y.squares.part[i];
        chosen.squares.left = first ? x.squares.left : y.squares.left;
        return chosen;
    }
};

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
    typedef slice_moments type;
};
template <typename Type, int MOST, typename Plain>
struct slice_type<squared<Type, MOST, Plain>> : slice_summed_type<slice_type<Type>> {
    typedef Plain plain;
    static const bool FITS = MOST != 0;
};

template <typename Type, int MOST>
struct slice_plain<squared<Type, MOST, slice_plain_squares>, slice_plain_squares> {
    static const bool BOUNDED = MOST == 0, FITS = MOST != 0;
    typedef slice_bounds<FITS> bounds;

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
    __device__ __forceinline__ void add_to(slice_moments *to) const
    {
        to->sum.add(all.down);
        to->squares.add(upper);
        to->squares.add(rest.down);
    }
    /* As sums, if they fit. */
    __device__ __forceinline__ slice_moments sum() const
    {
        return {{all.down, 0, !(fabs(all.down) < __longlong_as_double(0x7ff0000000000000ll))},
                {{upper, rest.down, 0}, false}};
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
    __device__ __forceinline__ void add_to(slice_moments *to) const
    {
        to->sum.add((double)all);
        to->squares.add((double)squares); /* below 2^53 */
    }
    __device__ __forceinline__ slice_moments sum() const
    {
        return {{(double)all, 0, false}, {{(double)squares, 0, 0}, false}};
    }
    __device__ __forceinline__ bool fits() const
    {
        return true;
    }
};

/* The bits of the result of a slice that is not cut: apart, as kernels need no registers for it. */
static __device__ __noinline__ uint64_t spread_bits(const struct cuda_slice_wish *wish, double high,
                                                    double low, double square, double more,
                                                    double most)
{
    const struct slice_pair sum = {high, low, false};
    const double squares[SLICE_SQUARES_MAX] = {square, more, most};
    double result;

    static_assert(SLICE_SQUARES == 3, "as here");
    return cuda_slice_of_squares(wish, &sum, squares, wish->count, &result) ? exact_bits(result)
                                                                            : CUDA_SLICE_UNKNOWN;
}

/* Puts what was found of slices number i to i + N - 1. */
template <int N, typename Key>
__device__ static __forceinline__ void slice_put(const struct cuda_slice_launch *job, size_t i,
                                                 const slice_moments (&found)[N], const Key (&)[N],
                                                 const Key (&)[N])
{
    double high[N], low[N], square[N];

    if (job->results) {
        const bool spread = job->wish.op == CUDA_SLICE_VAR || job->wish.op == CUDA_SLICE_STD;
        uint64_t bits[N];

#pragma unroll
        for (int j = 0; j < N; j++) {
            const slice_sum sum = found[j].sum;
            const double(&part)[SLICE_SQUARES] = found[j].squares.part;

            /* The sum of elements that are not finite is not finite, either. */
            if (!(fabs(sum.high) < __longlong_as_double(0x7ff0000000000000ll)))
                bits[j] = spread && !job->wish.skip_nan ? EXACT_NAN : CUDA_SLICE_UNKNOWN;
            else if (sum.left || found[j].squares.left)
                bits[j] = CUDA_SLICE_UNKNOWN;
            else
                bits[j] = spread_bits(&job->wish, sum.high, sum.low, part[0], part[1], part[2]);
        }
        slice_put_results<N>(job, i, bits);
        return;
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
        const bool left = found[j].sum.left || found[j].squares.left;

        high[j] = left ? __longlong_as_double(0x7ff8000000000000ll) : found[j].sum.high;
        low[j] = found[j].sum.low;
    }
    slice_store<N>(job->high + i, high);
    slice_store<N>(job->low + i, low);
#pragma unroll
    for (int k = 0; k < SLICE_SQUARES_MAX; k++) {
#pragma unroll
        for (int j = 0; j < N; j++)
            square[j] = k < SLICE_SQUARES ? found[j].squares.part[k] : 0;
        slice_store<N>(job->more.squares[k] + i, square);
    }
}

#endif
