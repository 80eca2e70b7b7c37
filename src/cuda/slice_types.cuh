/*
 * Element types, as the kernels of slices take them: a few neighbours at a time.
 */
#ifndef GPUREDUCE_CUDA_SLICE_TYPES_CUH
#define GPUREDUCE_CUDA_SLICE_TYPES_CUH

#include "cuda/integer_reducer.cuh"
#include "cuda/reducer8.cuh"
#include "cuda/types.cuh"

/* The neighbouring elements that a thread loads at a time. After forget() the compiler no longer
   knows what has been made of them. */
template <int WORDS> struct slice_registers {
    uint32_t w[WORDS];

    __device__ __forceinline__ void forget()
    {
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            asm volatile("" : "+r"(w[i]));
    }
};
template <int BYTES> struct slice_words;
template <> struct slice_words<16> : slice_registers<4> {
    __device__ __forceinline__ void load(const void *from)
    {
        const uint4 v = *(const uint4 *)from;

        w[0] = v.x;
        w[1] = v.y;
        w[2] = v.z;
        w[3] = v.w;
    }
};
template <> struct slice_words<8> : slice_registers<2> {
    __device__ __forceinline__ void load(const void *from)
    {
        const uint2 v = *(const uint2 *)from;

        w[0] = v.x;
        w[1] = v.y;
    }
};
template <> struct slice_words<4> : slice_registers<1> {
    __device__ __forceinline__ void load(const void *from)
    {
        w[0] = *(const uint32_t *)from;
    }
};
template <> struct slice_words<2> : slice_registers<1> {
    __device__ __forceinline__ void load(const void *from)
    {
        w[0] = *(const uint16_t *)from;
    }
};
template <> struct slice_words<1> : slice_registers<1> {
    __device__ __forceinline__ void load(const void *from)
    {
        w[0] = *(const uint8_t *)from;
    }
};

/* How extremes are found of integers, and of binary32: no number is above `highest` or below
   `lowest`. */
template <typename Number> struct slice_order {
    typedef int64_t key;

    __device__ static __forceinline__ Number highest()
    {
        return (Number)((Number)-1 < (Number)1 ? ~UINT64_C(0) >> (65 - 8 * sizeof(Number))
                                               : ~UINT64_C(0));
    }
    __device__ static __forceinline__ Number lowest()
    {
        return (Number)~highest();
    }
    __device__ static __forceinline__ Number least(Number x, Number y)
    {
        return y < x ? y : x;
    }
    __device__ static __forceinline__ Number greatest(Number x, Number y)
    {
        return y > x ? y : x;
    }
    __device__ static __forceinline__ key key_of(Number x)
    {
        return x;
    }
};
template <> struct slice_order<float> : f32 {
    typedef int32_t key;

    __device__ static __forceinline__ float highest()
    {
        return __uint_as_float(0x7f800000);
    }
    __device__ static __forceinline__ float lowest()
    {
        return __uint_as_float(0xff800000);
    }
    __device__ static __forceinline__ key key_of(float x)
    {
        return order_of(x);
    }
};

/* The extremes of N columns. Type::number<N> has an element as a number. */
template <typename Type, typename Number, int N> struct slice_extremes {
    typedef slice_order<Number> order;
    typedef typename order::key key;

    Number min[N], max[N];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int j = 0; j < N; j++) {
            min[j] = order::highest();
            max[j] = order::lowest();
        }
    }
    template <typename Words> __device__ __forceinline__ void take(const Words &v)
    {
#pragma unroll
        for (int j = 0; j < N; j++)
            take_one(v, j);
    }
    template <typename Words> __device__ __forceinline__ void take_one(const Words &v, int j)
    {
        const Number x = Type::template number<N>(v, j);

        min[j] = order::least(min[j], x);
        max[j] = order::greatest(max[j], x);
    }
    __device__ __forceinline__ key least() const
    {
        Number x = min[0];

#pragma unroll
        for (int j = 1; j < N; j++)
            x = order::least(x, min[j]);
        return order::key_of(x);
    }
    __device__ __forceinline__ key greatest() const
    {
        Number x = max[0];

#pragma unroll
        for (int j = 1; j < N; j++)
            x = order::greatest(x, max[j]);
        return order::key_of(x);
    }
    __device__ __forceinline__ key least(int j) const
    {
        return order::key_of(min[j]);
    }
    __device__ __forceinline__ key greatest(int j) const
    {
        return order::key_of(max[j]);
    }
};

/*
 * How each type is taken:
 *
 *   SIZE           bytes of an element
 *   COLUMNS, ROW   neighbours that a thread takes together, of columns and of rows
 *   GROUP          elements of a column that a thread loads before it adds them up, 8, 16 or 32
 *   PLAIN, FITS    whether elements are added up plainly first; whether that always is exact
 *   AT_ONCE        whether add_columns and add_rows add up vectors plainly, which always is exact; a sum
 *                  that is not finite is infinite or NaN
 *   plain          what elements are added up plainly in
 *   key            what extremes are told by
 *   words          N neighbours
 *   swap, place    turns the bytes of each; loads one of them
 *   value          of one of them
 *   number         one of them, as extremes are found
 *   extremes       of N columns; take takes one element of each
 */
template <typename Type> struct slice_type;

/* f32: a word each. */
template <> struct slice_type<f32> {
    static const int SIZE = 4, COLUMNS = 2, GROUP = 8, ROW = 4;
    static const bool PLAIN = true, FITS = f32::ALWAYS_FITS, AT_ONCE = false;
    typedef double plain;
    typedef int32_t key;
    template <int N> using words = slice_words<4 * N>;

    template <int N> __device__ static __forceinline__ void swap(words<N> *v)
    {
#pragma unroll
        for (int i = 0; i < N; i++)
            v->w[i] = f32::swap(v->w[i]);
    }
    template <int N>
    __device__ static __forceinline__ void place(words<N> *v, int j, const unsigned char *from)
    {
        v->w[j] = *(const uint32_t *)from;
    }
    template <int N> __device__ static __forceinline__ double value(const words<N> &v, int j)
    {
        return (double)__uint_as_float(v.w[j]);
    }
    template <int N> __device__ static __forceinline__ float number(const words<N> &v, int j)
    {
        return __uint_as_float(v.w[j]);
    }
    template <int N> using extremes = slice_extremes<slice_type, float, N>;
};

/* f16 and bf16: two in a word; of one alone, the upper half is no element. */
template <typename Type> struct slice_type16 {
    static const int SIZE = 2, COLUMNS = 2, GROUP = 16, ROW = 8;
    static const bool PLAIN = true, FITS = Type::ALWAYS_FITS, AT_ONCE = false;
    typedef double plain;
    typedef int32_t key;
    template <int N> using words = slice_words<2 * N>;

    template <int N> __device__ static __forceinline__ void swap(words<N> *v)
    {
#pragma unroll
        for (int i = 0; i < (N + 1) / 2; i++)
            v->w[i] = Type::swap(v->w[i]);
    }
    template <int N>
    __device__ static __forceinline__ void place(words<N> *v, int j, const unsigned char *from)
    {
        v->w[j / 2] |= (uint32_t) * (const uint16_t *)from << j % 2 * 16;
    }
    template <int N> __device__ static __forceinline__ double value(const words<N> &v, int j)
    {
        return (double)Type::element(v.w[j / 2], j % 2);
    }

    template <int N> struct extremes {
        uint32_t min[(N + 1) / 2], max[(N + 1) / 2];

        __device__ static __forceinline__ uint32_t infinities()
        {
            return Type::ALWAYS_FITS ? 0x7c007c00 : 0x7f807f80;
        }
        __device__ static __forceinline__ uint32_t bits(typename Type::pair pair)
        {
            return *(const uint32_t *)&pair;
        }
        __device__ __forceinline__ void clear()
        {
#pragma unroll
            for (int i = 0; i < (N + 1) / 2; i++) {
                min[i] = infinities();
                max[i] = infinities() | 0x80008000;
            }
        }
        __device__ __forceinline__ void take(const words<N> &v)
        {
#pragma unroll
            for (int i = 0; i < (N + 1) / 2; i++) {
                min[i] = bits(Type::least(Type::view(min[i]), Type::view(v.w[i])));
                max[i] = bits(Type::greatest(Type::view(max[i]), Type::view(v.w[i])));
            }
        }
        /* The other half of the word takes its own extremes again. */
        __device__ __forceinline__ void take_one(const words<N> &v, int j)
        {
            const uint32_t mask = j % 2 ? 0xffff0000 : 0x0000ffff;
            const uint32_t low = (v.w[j / 2] & mask) | (min[j / 2] & ~mask);
            const uint32_t high = (v.w[j / 2] & mask) | (max[j / 2] & ~mask);

            min[j / 2] = bits(Type::least(Type::view(min[j / 2]), Type::view(low)));
            max[j / 2] = bits(Type::greatest(Type::view(max[j / 2]), Type::view(high)));
        }
        __device__ __forceinline__ key least() const
        {
            uint32_t w = min[0];

#pragma unroll
            for (int i = 1; i < N / 2; i++)
                w = bits(Type::least(Type::view(w), Type::view(min[i])));
            const key low = order_of(Type::element(w, 0)), high = order_of(Type::element(w, 1));

            return N == 1 || low < high ? low : high;
        }
        __device__ __forceinline__ key greatest() const
        {
            uint32_t w = max[0];

#pragma unroll
            for (int i = 1; i < N / 2; i++)
                w = bits(Type::greatest(Type::view(w), Type::view(max[i])));
            const key low = order_of(Type::element(w, 0)), high = order_of(Type::element(w, 1));

            return N == 1 || low > high ? low : high;
        }
        __device__ __forceinline__ key least(int j) const
        {
            return order_of(Type::element(min[j / 2], j % 2));
        }
        __device__ __forceinline__ key greatest(int j) const
        {
            return order_of(Type::element(max[j / 2], j % 2));
        }
    };
};
template <> struct slice_type<f16> : slice_type16<f16> {
};
template <> struct slice_type<bf16> : slice_type16<bf16> {
};

/* f64: two words each. */
template <> struct slice_type<f64> {
    static const int SIZE = 8, COLUMNS = 2, GROUP = 8, ROW = 2;
    static const bool PLAIN = false, FITS = false, AT_ONCE = false;
    typedef double plain;
    typedef int64_t key;
    template <int N> using words = slice_words<8 * N>;

    template <int N> __device__ static __forceinline__ void swap(words<N> *v)
    {
#pragma unroll
        for (int i = 0; i < 2 * N; i += 2) {
            const uint32_t upper = f32::swap(v->w[i]);

            v->w[i] = f32::swap(v->w[i + 1]);
            v->w[i + 1] = upper;
        }
    }
    template <int N>
    __device__ static __forceinline__ void place(words<N> *v, int j, const unsigned char *from)
    {
        v->w[2 * j] = *(const uint32_t *)from;
        v->w[2 * j + 1] = *(const uint32_t *)(from + 4);
    }
    template <int N> __device__ static __forceinline__ double value(const words<N> &v, int j)
    {
        return __hiloint2double((int)v.w[2 * j + 1], (int)v.w[2 * j]);
    }
    template <int N> __device__ static __forceinline__ key number(const words<N> &v, int j)
    {
        return order_of(value<N>(v, j));
    }
    template <int N> using extremes = slice_extremes<slice_type, key, N>;
};

/* One byte: four in a word; of fewer, the rest of the word is no element. */
struct slice_type8 {
    static const int SIZE = 1, COLUMNS = 4, GROUP = 32, ROW = 16;
    template <int N> using words = slice_words<N>;

    template <int N> __device__ static __forceinline__ void swap(words<N> *)
    {
    }
    template <int N>
    __device__ static __forceinline__ void place(words<N> *v, int j, const unsigned char *from)
    {
        v->w[j / 4] |= (uint32_t)*from << j % 4 * 8;
    }
};

/* Types that only sums are found of: those of launches that want extremes, too, are records. */
template <typename Base> struct slice_summed_type : Base {
    static const bool PLAIN = true, FITS = true, AT_ONCE = false;
    typedef int32_t key;

    template <int N> struct extremes {
        __device__ __forceinline__ void clear()
        {
        }
        __device__ __forceinline__ void take(const typename Base::template words<N> &)
        {
        }
        __device__ __forceinline__ void take_one(const typename Base::template words<N> &, int)
        {
        }
        __device__ __forceinline__ key least(int = 0) const
        {
            return 0;
        }
        __device__ __forceinline__ key greatest(int = 0) const
        {
            return 0;
        }
    };
};

template <typename Type> struct slice_type_float8 : slice_summed_type<slice_type8> {
    static const bool AT_ONCE = true;
    typedef double plain;
    typedef float8_units<Type> units;

    template <int N> __device__ static __forceinline__ double value(const words<N> &v, int j)
    {
        return (double)Type::element(Type::widen(v.w[j / 4] >> j % 4 * 8, 0), 0);
    }

    /* The upper bits of bytes of words, each of which may stand for several elements: whether one is
       NaN, or infinite and positive or negative. */
    struct specials {
        uint32_t nan, positive, negative;

        __device__ __forceinline__ void take(uint32_t w)
        {
            const uint32_t magnitudes = w & 0x7f7f7f7f;

            nan |= magnitudes + units::NANS;
            if (units::SPECIAL != units::NANS) {
                positive |= (magnitudes + units::SPECIAL) & ~w;
                negative |= (magnitudes + units::SPECIAL) & w;
            }
        }
        /* The sum of those that are in these bytes; 0 if there are none. */
        __device__ __forceinline__ double sum(uint32_t upper) const
        {
            const bool above = positive & upper, below = negative & upper;

            if ((nan & upper) || (above && below))
                return __longlong_as_double(0x7ff8000000000000ll);
            return above   ? __longlong_as_double(0x7ff0000000000000ll)
                   : below ? __longlong_as_double(0xfff0000000000000ll)
                           : 0;
        }
    };

    /* Adds up element j of each vector, of which there are four at most. */
    template <int N, int COUNT>
    __device__ static __forceinline__ void add_columns(const words<N> *v, double (&total)[N])
    {
        uint32_t any = 0;

        static_assert(N <= 4 && COUNT <= units::MOST, "sums are exact");
#pragma unroll
        for (int j = 0; j < N; j++) {
            typename units::type sum = 0;

#pragma unroll
            for (int i = 0; i < COUNT; i++)
                sum += units::of(v[i].w[0] << (24 - j * 8));
            total[j] = units::value(sum);
        }
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            any |= (v[i].w[0] & 0x7f7f7f7f) + units::SPECIAL;
        if (any & 0x80808080) {
            specials found = {};

#pragma unroll
            for (int i = 0; i < COUNT; i++)
                found.take(v[i].w[0]);
#pragma unroll
            for (int j = 0; j < N; j++)
                total[j] += found.sum(0x80u << j * 8);
        }
    }

    /* The sum of all elements of vectors. */
    template <int N, int COUNT> __device__ static __forceinline__ double add_rows(const words<N> *v)
    {
        typename units::type sum = 0;
        uint32_t any = 0;

        static_assert(N * COUNT <= units::MOST, "the sum is exact");
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
#pragma unroll
            for (int j = 0; j < N; j++)
                sum += units::of(v[i].w[j / 4] << (24 - j % 4 * 8));
#pragma unroll
            for (int k = 0; k < (N + 3) / 4; k++)
                any |= (v[i].w[k] & 0x7f7f7f7f) + units::SPECIAL;
        }
        if (any & 0x80808080) {
            specials found = {};

#pragma unroll
            for (int i = 0; i < COUNT; i++)
#pragma unroll
                for (int k = 0; k < (N + 3) / 4; k++)
                    found.take(v[i].w[k]);
            return found.sum(0x80808080);
        }
        return units::value(sum);
    }
};
template <> struct slice_type<f8e4m3> : slice_type_float8<f8e4m3> {
};
template <> struct slice_type<f8e5m2> : slice_type_float8<f8e5m2> {
};

/* Integers: how they are loaded is how other types of their size are. Plain has room for the sum of
   CUDA_SLICE_PART elements. */
template <typename Type, typename Plain, typename Base>
struct slice_type_integer : slice_summed_type<Base> {
    typedef Plain plain;
    typedef typename Type::element element;

    template <int N>
    __device__ static __forceinline__ element value(const typename Base::template words<N> &v,
                                                    int j)
    {
        const element x = Base::SIZE == 8
                              ? (element)((uint64_t)v.w[2 * j + 1] << 32 | v.w[2 * j])
                              : (element)(v.w[j * Base::SIZE / 4] >> j * Base::SIZE % 4 * 8);

        return Type::TRUTH ? x != 0 : x;
    }
};
template <> struct slice_type<i8> : slice_type_integer<i8, int, slice_type8> {
};
template <> struct slice_type<u8> : slice_type_integer<u8, int, slice_type8> {
};
template <> struct slice_type<bool> : slice_type_integer<truth, int, slice_type8> {
};
template <> struct slice_type<i16> : slice_type_integer<i16, int, slice_type<f16>> {
};
template <> struct slice_type<u16> : slice_type_integer<u16, int, slice_type<f16>> {
};
template <> struct slice_type<i32> : slice_type_integer<i32, long long, slice_type<f32>> {
};
template <> struct slice_type<u32> : slice_type_integer<u32, long long, slice_type<f32>> {
};
template <> struct slice_type<i64> : slice_type_integer<i64, __int128, slice_type<f64>> {
};
template <> struct slice_type<u64> : slice_type_integer<u64, __int128, slice_type<f64>> {
};

#endif
