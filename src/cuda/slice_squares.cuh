/*
 * Sums of squares of slices beside sums: what slice_kernels.cuh adds up in place of a sum alone.
 *
 * Squares of elements of up to 32 bits are added up in binary64 beside a constant, so that a sum is a
 * multiple of the constant's last place; fma tells what a square has below that, exactly. Those
 * rests are added up rounding down and rounding up. If both are the same, nothing was rounded.
 *
 * Squares of f64 have twice as many bits. They are added up in two numbers, beside a bound of what the
 * second has lost by rounding, which is enough to round nearly all results. So are those of integers of 64
 * bits, beside a sum that is an integer. The squares of integers of up to 16 bits are added up as an integer, too;
 * bytes are multiplied and added up four at a time. Sums of f8e4m3 and of its squares are exact in binary64.
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
    unsigned fine; /* not 0 if one of the numbers has more bits than binary32 */

    __device__ __forceinline__ void clear()
    {
        part[0] = part[1] = part[2] = 0;
        least = ~0u;
        fine = 0;
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
        fine |= lower & ((1u << 29) - 1);
    }
    __device__ __forceinline__ void merge(const slice_wide_squares &other)
    {
        const double before = fabs(part[1]);

        add_both(other.part[0], other.part[1]);
        part[2] += other.part[2] + (before + fabs(part[1]));
        least = min(least, other.least);
        fine |= other.fine;
    }
    __device__ __forceinline__ double term(int i) const
    {
        return i < 2 ? part[i] : 0;
    }
    __device__ __forceinline__ bool is_left() const
    {
        return false;
    }
    __device__ __forceinline__ uint64_t rest() const
    {
        return (uint64_t)fine << 32 | least;
    }
    __device__ __forceinline__ void set_rest(uint64_t x)
    {
        fine = (unsigned)(x >> 32);
        least = (unsigned)x;
    }
    /* Whether nothing was rounded. Squares of numbers of 24 bits are multiples of that of the last place of
       the least one; so is all that was added to the second number, no sum of which is more than part[2]. */
    __device__ __forceinline__ bool is_exact() const
    {
        const int exponent = (int)((least + 1) >> 20) - 1023; /* of the least one */

        if (fine != 0 || least == ~0u)
            return fine == 0;
        return exponent > -400 && part[2] < power_at(2 * (exponent - 23) + 51 + 1023);
    }
    /* The most that the sum is off by. Each addition rounds a term, and the second number with it, by 2^-53 of
       them. The term is no more than the number before and after it together, so that all of them are no
       more than three times the magnitudes. A square of less than 2^-970, of a number of less than 2^-485,
       lacks less than 2^-1074. */
    __device__ __forceinline__ double bound() const
    {
        const unsigned whole = (1023 - 485) << 20;

        if (is_exact())
            return 0;
        return part[2] * 0x1p-51 + (least < whole - 1 ? 0x1p-960 : 0);
    }
};

/* The halves of an integer of 64 bits. */
__device__ static __forceinline__ struct slice_halves slice_split(int64_t x)
{
    return slice_halves_of_signed(x);
}
__device__ static __forceinline__ struct slice_halves slice_split(uint64_t x)
{
    return slice_halves_of(x);
}

/* The sum of the squares of integers of 64 bits, in the same way. `least` is 0 once one of them was no
   binary64. */
struct slice_integer_squares : slice_wide_squares {
    template <typename Integer> __device__ __forceinline__ void take(Integer x)
    {
        const struct slice_halves half = slice_split(x);
        const double whole = __dadd_rn(half.high, half.low);
        const double rest = __dadd_rn(half.low, -__dadd_rn(whole, -half.high));
        double low;
        const double square = slice_product(whole, whole, &low);

        add_both(square, __fma_rn(2 * whole, rest, low));
        part[2] = __dadd_rn(part[2], fabs(part[1]));
        least = rest == 0 ? least : 0;
    }
    /* The lower part of a square that is not exact is rounded by 2^-53 of less than 2^-51.4 of the square, and
       the square of the rest, less than 2^-106 of it, is left out: less than 2^-103 of it together. */
    __device__ __forceinline__ double bound() const
    {
        return part[2] * 0x1p-51 + (least == 0 ? part[0] * 0x1p-103 : 0);
    }
};

/* The sum of the squares of integers of up to 16 bits. */
struct slice_small_squares {
    uint64_t all;

    __device__ __forceinline__ void clear()
    {
        all = 0;
    }
    __device__ __forceinline__ void take(int64_t x)
    {
        all += (uint64_t)(x * x);
    }
    __device__ __forceinline__ void merge(const slice_small_squares &other)
    {
        all += other.all;
    }
    __device__ __forceinline__ double term(int i) const
    {
        const double most = (double)all;

        return i == 0 ? most : i == 1 && all >> 53 ? (double)(int64_t)(all - (uint64_t)most) : 0;
    }
    __device__ __forceinline__ bool is_left() const
    {
        return false;
    }
    __device__ __forceinline__ double bound() const
    {
        return 0;
    }
};

/* A sum of f8e4m3, which is exact, since they are multiples of 2^-9 below 2^9. A NaN among them makes it a NaN. */
struct slice_byte_sum {
    double all;

    __device__ __forceinline__ void add(double x)
    {
        all += x;
    }
    __device__ __forceinline__ void merge(const slice_byte_sum &other)
    {
        all += other.all;
    }
    __device__ __forceinline__ slice_byte_sum exchange(unsigned distance) const
    {
        return {__shfl_xor_sync(SLICE_ALL_LANES, all, distance)};
    }
    __device__ static __forceinline__ slice_byte_sum choose(bool first, const slice_byte_sum &x,
                                                            const slice_byte_sum &y)
    {
        return {first ? x.all : y.all};
    }
};

/* The sum of their squares, which are multiples of 2^-18, so that it is exact if it is below this. */
static const double SLICE_BYTE_SQUARES = 0x1p35;
struct slice_byte_squares : slice_byte_sum {
    __device__ __forceinline__ void clear()
    {
        all = 0;
    }
    __device__ __forceinline__ void take(double x)
    {
        add(x * x);
    }
    __device__ __forceinline__ double term(int i) const
    {
        return i == 0 ? all : 0;
    }
    __device__ __forceinline__ bool is_left() const
    {
        return !(all < SLICE_BYTE_SQUARES);
    }
    __device__ __forceinline__ double bound() const
    {
        return 0;
    }
};

/* The squares of the lane that is `distance` away; all lanes of the warp together. And one of two sums. */
__device__ static __forceinline__ slice_byte_squares
slice_exchange_squares(const slice_byte_squares &x, unsigned distance)
{
    return {x.exchange(distance)};
}
__device__ static __forceinline__ slice_byte_squares
slice_pick_squares(bool first, const slice_byte_squares &x, const slice_byte_squares &y)
{
    return {slice_byte_sum::choose(first, x, y)};
}
__device__ static __forceinline__ slice_small_squares
slice_exchange_squares(const slice_small_squares &x, unsigned distance)
{
    return {__shfl_xor_sync(SLICE_ALL_LANES, x.all, distance)};
}
__device__ static __forceinline__ slice_small_squares
slice_pick_squares(bool first, const slice_small_squares &x, const slice_small_squares &y)
{
    return {first ? x.all : y.all};
}
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
template <typename Squares, typename Sum = slice_sum> struct slice_moments {
    Sum sum;
    Squares squares;

    __device__ __forceinline__ void clear()
    {
        sum = {};
        squares.clear();
    }
    template <typename Number> __device__ __forceinline__ void add(Number x)
    {
        sum.add(x);
        squares.take(x);
    }
    __device__ __forceinline__ void add_bytes(int of_bytes, int of_squares)
    {
        sum.add(of_bytes);
        squares.all += (uint64_t)of_squares;
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
        return {Sum::choose(first, x.sum, y.sum),
                slice_pick_squares(first, x.squares, y.squares)};
    }
};

/* A sum, as any that moments have. */
__device__ static __forceinline__ slice_sum slice_sum_of(const slice_sum &sum)
{
    return sum;
}
__device__ static __forceinline__ slice_sum slice_sum_of(const slice_byte_sum &sum)
{
    return {sum.all, 0, false};
}
template <typename Type>
__device__ static __forceinline__ slice_sum slice_sum_of(const slice_plain<Type> &sum)
{
    return sum.sum();
}

typedef slice_moments<slice_narrow_squares> slice_narrow_moments;
typedef slice_moments<slice_wide_squares> slice_wide_moments;
typedef slice_moments<slice_integer_squares, slice_plain<i64>> slice_integer_moments;
typedef slice_moments<slice_small_squares, slice_plain<i32>> slice_small_moments;
typedef slice_moments<slice_byte_squares, slice_byte_sum> slice_byte_moments;

/* How squares are added up plainly: in binary64, with the rests or, of f8e5m2 and of floats of 16 bits, directly;
   those of f8e4m3 exactly; those of integers of up to 16 bits as integers; or not at all. */
struct slice_plain_squares {
};
struct slice_plain_bytes {
};
struct slice_plain_halves {
};
struct slice_plain_exactly {
};
struct slice_plain_integers {
};
struct slice_plain_nothing {
};

/* A type whose squares are added up, too. MOST: magnitudes are 2^MOST at most, and sums of
   CUDA_SLICE_PART elements and their squares always fit; 0: that depends on the elements. */
template <typename Type, int MOST, typename Plain = slice_plain_squares> struct squared {
};
template <typename Type, int MOST, typename Plain>
struct slice_summing<squared<Type, MOST, Plain>> {
    typedef slice_narrow_moments type;
};
template <typename Type, int MOST, typename Plain>
static const bool SLICE_WITH_SQUARES<squared<Type, MOST, Plain>> = true;
/* Blocks of a multiprocessor (2^26 slices of 16 elements; in brackets 2^20 of 1024; microseconds): rows of f32
   with four 1584 (1305), with six 1422 (1151); of f8e4m3 989 (522), 736 (378); of i8 with six 519, with
   eight 431; of i16 708, 662; columns of i8 552, 488. */
template <typename Type, int MOST, typename Plain, int ELEMENTS>
static const unsigned SLICE_ROW_BLOCKS<squared<Type, MOST, Plain>, ELEMENTS> =
    slice_blocks(ELEMENTS, 8);
template <typename Type, int MOST, int ELEMENTS>
static const unsigned SLICE_ROW_BLOCKS<squared<Type, MOST, slice_plain_squares>, ELEMENTS> =
    ELEMENTS <= 8 ? 8 : ELEMENTS <= 32 ? 6 : 4;
template <typename Type, int ELEMENTS>
static const unsigned SLICE_ROW_BLOCKS<squared<Type, 0, slice_plain_halves>, ELEMENTS> =
    ELEMENTS <= 32 ? 6 : 4;
template <typename Type, int MOST, int ELEMENTS>
static const unsigned SLICE_ROW_BLOCKS<squared<Type, MOST, slice_plain_exactly>, ELEMENTS> = 6;
template <typename Type, int MOST, int ELEMENTS>
static const unsigned SLICE_ROW_BLOCKS<squared<Type, MOST, slice_plain_bytes>, ELEMENTS> = 6;
template <typename Type, int MOST, int ELEMENTS>
static const unsigned SLICE_ROW_BLOCKS<squared<Type, MOST, slice_plain_integers>, ELEMENTS> = 8;
template <typename Type>
static const unsigned SLICE_COLUMN_BLOCKS<squared<Type, 8, slice_plain_integers>> = 8;
template <typename Type, int MOST>
static const unsigned SLICE_COLUMN_BLOCKS<squared<Type, MOST, slice_plain_exactly>> = 5;
template <typename Type, int MOST>
static const unsigned SLICE_COLUMN_BLOCKS<squared<Type, MOST, slice_plain_squares>> =
    MOST == 0 ? 6 : 5;
template <typename Type>
static const unsigned SLICE_COLUMN_BLOCKS<squared<Type, 0, slice_plain_halves>> = 6;
template <typename Type, int MOST>
struct slice_summing<squared<Type, MOST, slice_plain_integers>> {
    typedef slice_small_moments type;
};
template <typename Type, int MOST>
struct slice_summing<squared<Type, MOST, slice_plain_exactly>> {
    typedef slice_byte_moments type;
};
template <> struct slice_summing<squared<f64, 0, slice_plain_nothing>> {
    typedef slice_wide_moments type;
};
template <> struct slice_summing<squared<i64, 0, slice_plain_nothing>> {
    typedef slice_integer_moments type;
};
template <> struct slice_summing<squared<u64, 0, slice_plain_nothing>> {
    typedef slice_integer_moments type;
};
template <typename Type, int MOST, typename Plain>
struct slice_type<squared<Type, MOST, Plain>> : slice_summed_type<slice_type<Type>> {
    typedef Plain plain;
    static const bool FITS = MOST != 0;
    static const int COLUMNS = 4;
};

/* Larger groups are faster where all add up. */
template <typename Type, int MOST>
struct slice_type<squared<Type, MOST, slice_plain_squares>> : slice_summed_type<slice_type<Type>> {
    typedef slice_plain_squares plain;
    static const bool FITS = MOST != 0;
    static const int GROUP = FITS ? 16 : 8;
};
template <typename Type>
struct slice_type<squared<Type, 0, slice_plain_halves>> : slice_summed_type<slice_type<Type>> {
    typedef slice_plain_halves plain;
    static const bool FITS = false;
};

template <typename Type>
struct slice_type<squared<Type, 0, slice_plain_nothing>> : slice_summed_type<slice_type<Type>> {
    typedef slice_plain_nothing plain;
    typedef int64_t key;
    static const bool PLAIN = false, FITS = false;
};

template <typename Type> static const bool SLICE_BOUNDED<squared<Type, 0, slice_plain_squares>> = true;

template <typename Type, int MOST>
struct slice_plain<squared<Type, MOST, slice_plain_squares>, slice_plain_squares> {
    typedef slice_bounds<MOST != 0> bounds;

    bounds all;
    double upper; /* the squares' parts that are multiples of a last place */
    bounds rest;  /* and what they have below it */

    /* The constant beside which squares of numbers of up to this magnitude are added up: together
       they are below half of it. */
    __device__ static __forceinline__ double constant(float largest)
    {
        static_assert(CUDA_SLICE_PART == 1 << 10, "as below");
        const int most = MOST == 0 ? (int)(__float_as_uint(largest) >> 23) - 126 : MOST;

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
    __device__ __forceinline__ void add_to(slice_narrow_moments *to) const
    {
        to->sum.add(all.down);
        to->squares.add_both(upper, rest.down);
    }
    /* As sums, if they fit. */
    __device__ __forceinline__ slice_narrow_moments sum() const
    {
        slice_narrow_moments all_of;

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
    int all;
    uint64_t squares;

    __device__ __forceinline__ void set(int sum, int sum_of_squares)
    {
        all = sum;
        squares = (uint64_t)sum_of_squares;
    }
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
    __device__ __forceinline__ void add_to(slice_small_moments *to) const
    {
        to->sum.add(all);
        to->squares.all += squares;
    }
    __device__ __forceinline__ slice_small_moments sum() const
    {
        return {{all}, {squares}};
    }
    __device__ __forceinline__ bool fits() const
    {
        return true;
    }
};

template <typename Type, int N, int COUNT>
struct slice_beginner<squared<Type, 8, slice_plain_integers>, N, COUNT, false>
    : slice_byte_beginner<squared<Type, 8, slice_plain_integers>, Type, N, COUNT> {
};
template <typename Type, int COUNT>
struct slice_column_adder<squared<Type, 8, slice_plain_integers>, 4, COUNT, false>
    : slice_byte_column_adder<slice_small_moments, Type, COUNT> {
};

typedef squared<f8e4m3, 9, slice_plain_exactly> squared_f8e4m3;

/* Adds up floats of f8e4m3 in few operations: up to 64 in binary32. Their squares are binary32, too; shifted,
   the bits of one are those of itself times 2^-896 in binary64. */
struct slice_byte_adder {
    static const int MOST = float8_units<f8e4m3>::MOST;

    float sum;
    double squares;

    __device__ __forceinline__ void clear()
    {
        sum = 0;
        squares = 0;
    }
    __device__ __forceinline__ void add(float x)
    {
        sum += x;
        squares += __hiloint2double(__float_as_int(x * x) >> 3, 0);
    }
    __device__ __forceinline__ void add_to(slice_byte_moments *to) const
    {
        to->merge({{(double)sum}, {{squares * 0x1p896}}});
    }
};

/* Adds the bytes of a word, which has N if they are fewer than four. */
template <int N>
__device__ static __forceinline__ void slice_add_floats(uint32_t w, slice_byte_adder *to[4])
{
#pragma unroll
    for (int j = 0; j < (N < 4 ? N : 4); j++)
        to[j]->add(f8e4m3::element(f8e4m3::widen(w, j / 2), j % 2));
}

template <> struct slice_plain<squared_f8e4m3, slice_plain_exactly> : slice_byte_moments {
    __device__ __forceinline__ void begin(double x, float)
    {
        clear();
        add(x);
    }
    __device__ __forceinline__ void end(float)
    {
    }
    __device__ __forceinline__ slice_plain exchange(unsigned distance) const
    {
        return {slice_byte_moments::exchange(distance)};
    }
    __device__ static __forceinline__ slice_plain choose(bool first, const slice_plain &x,
                                                         const slice_plain &y)
    {
        return {slice_byte_moments::choose(first, x, y)};
    }
    __device__ __forceinline__ void add_to(slice_byte_moments *to) const
    {
        to->merge(*this);
    }
    __device__ __forceinline__ slice_byte_moments sum() const
    {
        return *this;
    }
    __device__ __forceinline__ bool fits() const
    {
        return true;
    }
};
template <int N, int COUNT> struct slice_beginner<squared_f8e4m3, N, COUNT, false> {
    __device__ static __forceinline__ void begin(slice_plain<squared_f8e4m3> *plain,
                                                 const slice_words<N> *v, float)
    {
        slice_byte_adder one, other; /* so that an addition need not wait for the one before it */
        slice_byte_adder *to[] = {&one, &other, &one, &other};

        static_assert(N * COUNT <= slice_byte_adder::MOST, "sums are exact");
        one.clear();
        other.clear();
#pragma unroll
        for (int i = 0; i < COUNT; i++)
#pragma unroll
            for (int k = 0; k < (N + 3) / 4; k++)
                slice_add_floats<N>(v[i].w[k], to);
        plain->clear();
        one.add_to(plain);
        other.add_to(plain);
    }
};
template <int N, int COUNT> struct slice_column_adder<squared_f8e4m3, N, COUNT, false> {
    __device__ static __forceinline__ unsigned add(slice_byte_moments *sum,
                                                   const slice_words<N> *v, bool)
    {
        slice_byte_adder adder[4], *to[] = {&adder[0], &adder[1], &adder[2], &adder[3]};

        static_assert(N <= 4 && COUNT <= slice_byte_adder::MOST, "sums are exact");
#pragma unroll
        for (int j = 0; j < N; j++)
            adder[j].clear();
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            slice_add_floats<N>(v[i].w[0], to);
#pragma unroll
        for (int j = 0; j < N; j++)
            adder[j].add_to(&sum[j]);
        return 0;
    }
};

/* Squares of up to 22 bits, added up as they are. Sums FIT if those of CUDA_SLICE_PART elements are always
   exact. */
template <typename Of, bool FIT> struct slice_plain_direct {
    typedef slice_bounds<FIT> sums;
    typedef slice_bounds<false> bounds;

    sums all;
    bounds squares; /* NaN if an element is not finite */

    __device__ __forceinline__ void begin(double x, float)
    {
        all = {x, x};
        squares.down = squares.up = x * x; /* exact */
    }
    __device__ __forceinline__ void add(double x)
    {
        all.add(x, x);
        squares.down = __fma_rd(x, x, squares.down);
        squares.up = __fma_ru(x, x, squares.up);
    }
    __device__ __forceinline__ void end(float)
    {
    }
    __device__ __forceinline__ void merge(const slice_plain_direct &other)
    {
        all.merge(other.all);
        squares.merge(other.squares);
    }
    __device__ __forceinline__ slice_plain<Of> exchange(unsigned distance) const
    {
        return {{all.exchange(distance), squares.exchange(distance)}};
    }
    __device__ static __forceinline__ slice_plain<Of> choose(bool first, const slice_plain<Of> &x,
                                                             const slice_plain<Of> &y)
    {
        return {{sums::choose(first, x.all, y.all), bounds::choose(first, x.squares, y.squares)}};
    }
    __device__ __forceinline__ void add_to(slice_narrow_moments *to) const
    {
        to->sum.add(all.down);
        to->squares.add(squares.down);
    }
    __device__ __forceinline__ slice_narrow_moments sum() const
    {
        slice_narrow_moments all_of;

        all_of.clear();
        all_of.sum.high = all.down;
        all_of.squares.part[0] = squares.down;
        return all_of;
    }
    __device__ __forceinline__ bool fits() const
    {
        return all.fits() && squares.fits() &&
               squares.down < __longlong_as_double(0x7ff0000000000000ll);
    }
};
template <typename Type>
struct slice_plain<squared<Type, 0, slice_plain_bytes>, slice_plain_bytes>
    : slice_plain_direct<squared<Type, 0, slice_plain_bytes>, true> {
};
template <typename Type>
struct slice_plain<squared<Type, 0, slice_plain_halves>, slice_plain_halves>
    : slice_plain_direct<squared<Type, 0, slice_plain_halves>, Type::ALWAYS_FITS> {
};

/* Squares that do not add up directly: f16 and bf16 with the rests. */
template <typename Type> struct slice_again<squared<Type, 0, slice_plain_halves>> {
    typedef squared<Type, Type::ALWAYS_FITS ? 16 : 0> type;
    static const bool PLAIN = true;
};

/* A finite f8e5m2, the upper byte of a word, as binary64: shifted, its bits are those of it times 2^-1008, of
   subnormal numbers, too. */
__device__ static __forceinline__ double slice_byte_value(uint32_t w)
{
    return float8_units<f8e5m2>::value(float8_units<f8e5m2>::of(w));
}

/* The bytes of a word that are infinite or NaNs: their upper bits. */
__device__ static __forceinline__ uint32_t slice_special_bytes(uint32_t w)
{
    return ((w & 0x7f7f7f7f) + float8_units<f8e5m2>::SPECIAL) & 0x80808080;
}

template <int N, int COUNT>
struct slice_beginner<squared<f8e5m2, 0, slice_plain_bytes>, N, COUNT, false> {
    typedef squared<f8e5m2, 0, slice_plain_bytes> of;

    __device__ static __forceinline__ void begin(slice_plain<of> *plain, const slice_words<N> *v,
                                                 float)
    {
        slice_plain<of> other; /* so that an addition need not wait for the one before it */
        uint32_t any = 0;

        plain->begin(0, 0);
        other.begin(0, 0);
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
#pragma unroll
            for (int j = 0; j < N; j++)
                (j % 2 ? other : *plain).add(slice_byte_value(v[i].w[j / 4] << (24 - j % 4 * 8)));
#pragma unroll
            for (int k = 0; k < (N + 3) / 4; k++)
                any |= slice_special_bytes(v[i].w[k]);
        }
        plain->merge(other);
        if (any != 0)
            plain->squares.down = __longlong_as_double(0x7ff8000000000000ll);
    }
};

template <int N, int COUNT>
struct slice_column_adder<squared<f8e5m2, 0, slice_plain_bytes>, N, COUNT, false> {
    typedef squared<f8e5m2, 0, slice_plain_bytes> of;

    __device__ static __forceinline__ unsigned add(slice_narrow_moments *sum,
                                                   const slice_words<N> *v, bool first)
    {
        uint32_t any = 0;
        unsigned left = 0;

#pragma unroll
        for (int i = 0; i < COUNT; i++)
            any |= slice_special_bytes(v[i].w[0]);
#pragma unroll
        for (int j = 0; j < N; j++) {
            slice_plain<of> plain;

            plain.begin(0, 0);
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                plain.add(slice_byte_value(v[i].w[0] << (24 - j * 8)));
            if ((any >> j * 8 & 0x80) != 0 || !plain.fits())
                left |= 1u << j;
            else if (first)
                sum[j] = plain.sum();
            else
                plain.add_to(&sum[j]);
        }
        return left;
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

/* Finds the dividend of a variance. False where moments take more than exact numbers. */
template <typename Squares, typename Sum>
__device__ static __forceinline__ bool slice_find_above(const slice_moments<Squares, Sum> &,
                                                        const struct cuda_slice_wish *, double *)
{
    return false;
}
__device__ static __forceinline__ bool slice_find_above(const slice_narrow_moments &m,
                                                        const struct cuda_slice_wish *wish,
                                                        double *above)
{
    return slice_spread_above(m.sum.high, m.squares.part[0], wish->numbers, above) & !m.sum.left &
           !m.squares.left & (m.sum.low == 0) & (m.squares.part[1] == 0) & (m.squares.part[2] == 0);
}
__device__ static __forceinline__ bool slice_find_above(const slice_small_moments &m,
                                                        const struct cuda_slice_wish *wish,
                                                        double *above)
{
    const uint64_t sum = (uint64_t)m.sum.all, all = wish->count * m.squares.all - sum * sum;

    /* The count is below 2^26, so that nothing was carried beyond 64 bits if the squares are below 2^37. */
    *above = (double)all;
    return (m.squares.all >> 37 == 0) & (all >> 53 == 0);
}

/* n squares is exact if it is below the bound; so are the square of the sum, which is not above it, and the
   difference. */
__device__ static __forceinline__ bool slice_find_above(const slice_byte_moments &m,
                                                        const struct cuda_slice_wish *wish,
                                                        double *above)
{
    const double n_square = wish->numbers * m.squares.all;

    *above = __fma_rn(-m.sum.all, m.sum.all, n_square);
    return n_square < SLICE_BYTE_SQUARES;
}

/* The bits of the result of a slice that is not cut, whatever its moments are. */
template <typename Key, typename Squares, typename Sum>
__device__ static __forceinline__ uint64_t
slice_moments_result(const struct cuda_slice_wish *wish, const slice_moments<Squares, Sum> &m)
{
    const bool root = wish->op == CUDA_SLICE_STD;
    const slice_sum sum = slice_sum_of(m.sum);

    /* The sum of elements that are not finite is not finite, either; that of large finite f64 may be so,
       too. */
    if (!(fabs(sum.high) < __longlong_as_double(0x7ff0000000000000ll)))
        return (root || wish->op == CUDA_SLICE_VAR) && !wish->skip_nan &&
                       sizeof(Key) == sizeof(int32_t)
                   ? EXACT_NAN
                   : CUDA_SLICE_UNKNOWN;
    if (sum.left || m.squares.is_left())
        return CUDA_SLICE_UNKNOWN;
    return spread_bits(wish, sum.high, sum.low, m.squares.term(0), m.squares.term(1),
                       m.squares.term(2), m.squares.bound());
}

/* The bits of the results of N slices that are not cut. Operations on one wait for those before them, but not for
   those on others: so there are no branches from the dividends of all to their ends. */
template <typename Key, int N, typename Squares, typename Sum, int ALL>
__device__ static __forceinline__ void
slice_find_results(const struct cuda_slice_wish *wish,
                   const slice_moments<Squares, Sum> (&found)[ALL], Key, uint64_t (&bits)[N])
{
    double above[N], result[N];
    bool known[N], any = false;

#pragma unroll
    for (int j = 0; j < N; j++) {
        known[j] = slice_find_above(found[j], wish, &above[j]) & (wish->divisor != 0);
        any |= known[j];
    }
    if (any && wish->op == CUDA_SLICE_STD)
#pragma unroll
        for (int j = 0; j < N; j++)
            known[j] &= slice_whole_root(above[j], wish->divisor, &result[j]);
    else if (any)
#pragma unroll
        for (int j = 0; j < N; j++)
            result[j] = slice_whole_quotient(above[j], wish->divisor, wish->divisor_inverse);
#pragma unroll
    for (int j = 0; j < N; j++)
        bits[j] = known[j] ? exact_bits(result[j]) : slice_moments_result<Key>(wish, found[j]);
}

/* Puts what was found of slices number i to i + N - 1. */
template <int N, bool MAY_NOT_FIT, bool ROOM, typename Key, typename Squares, typename Sum>
__device__ static __forceinline__ void
slice_put(const struct cuda_slice_launch *job, size_t i,
          const slice_moments<Squares, Sum> (&found)[N], const Key (&)[N], const Key (&)[N])
{
    double high[N], low[N], square[N];

    if (job->results) {
        uint64_t bits[N], one[1];

        if (ROOM)
            slice_find_results(&job->wish, found, Key(), bits);
        else
#pragma unroll
            for (int j = 0; j < N; j++) {
                slice_find_results(&job->wish, {found[j]}, Key(), one);
                bits[j] = one[0];
            }
        slice_put_results<N>(job, i, bits);
        return;
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
        const slice_sum sum = slice_sum_of(found[j].sum);
        const bool left = sum.left || found[j].squares.is_left();

        high[j] = left ? __longlong_as_double(0x7ff8000000000000ll) : sum.high;
        low[j] = sum.low;
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
