/*
 * The kernels of slices, without their launch. A sum is kept as two numbers, high + low, as on the
 * CPU (engine/cpu/kernel_slices.h): an element is added by two two-sums, and where the second
 * leaves something, or is no number, nothing is said of the slice, and the CPU takes its elements.
 * So whatever the order of additions is, what is found is exact.
 */
#ifndef GPUREDUCE_CUDA_SLICE_KERNELS_CUH
#define GPUREDUCE_CUDA_SLICE_KERNELS_CUH

#include "engine/cuda/slice_launch.h"
#include "engine/cuda/types.cuh"

static const unsigned SLICE_THREADS = 256, SLICE_ALL_LANES = 0xffffffffu;

/* How elements are loaded: their bits, in the machine's byte order; the value, and the key that
   extremes are found by, which is that of binary32 or of binary64. */
template <typename Type> struct slice_element;

template <> struct slice_element<f32> {
    typedef uint32_t word;
    typedef int32_t key;
    __device__ static __forceinline__ word swap(word w)
    {
        return __byte_perm(w, 0, 0x0123);
    }
    __device__ static __forceinline__ float value(word w)
    {
        return __uint_as_float(w);
    }
};

template <typename Type> struct slice_element16 {
    typedef uint16_t word;
    typedef int32_t key;
    __device__ static __forceinline__ word swap(word w)
    {
        return (word)__byte_perm(w, 0, 0x4401);
    }
    __device__ static __forceinline__ float value(word w)
    {
        return Type::element(w, 0);
    }
};

template <> struct slice_element<f16> : slice_element16<f16> {
};
template <> struct slice_element<bf16> : slice_element16<bf16> {
};

template <> struct slice_element<f64> {
    typedef uint64_t word;
    typedef int64_t key;
    __device__ static __forceinline__ word swap(word w)
    {
        return (word)__byte_perm((uint32_t)w, 0, 0x0123) << 32 |
               __byte_perm((uint32_t)(w >> 32), 0, 0x0123);
    }
    __device__ static __forceinline__ double value(word w)
    {
        return __longlong_as_double((long long)w);
    }
};

/* What is known of elements. */
template <typename Key> struct slice_state {
    double high, low;
    Key min, max;
    bool left; /* something could not be added */

    __device__ __forceinline__ void clear()
    {
        high = low = 0;
        min = limits<Key>::ORDER_MAX;
        max = (Key)~limits<Key>::ORDER_MAX;
        left = false;
    }

    template <typename Value> __device__ __forceinline__ void take(Value x)
    {
        const Key key = order_of(x);
        double error, rest;

        high = exact_two_sum(high, (double)x, &error);
        low = exact_two_sum(low, error, &rest);
        left = left || !(rest == 0); /* NaN, too */
        min = key < min ? key : min;
        max = key > max ? key : max;
    }

    __device__ __forceinline__ void merge(const slice_state &other)
    {
        double error, low_error, rest;

        high = exact_two_sum(high, other.high, &error);
        low = exact_two_sum(low, other.low, &low_error);
        low = exact_two_sum(low, error, &rest);
        left = left || other.left || !(rest == 0) || !(low_error == 0);
        min = other.min < min ? other.min : min;
        max = other.max > max ? other.max : max;
    }

    __device__ __forceinline__ void put(struct engine_slice *to) const
    {
        to->high = left ? __longlong_as_double(0x7ff8000000000000ll) : high;
        to->low = low;
        to->min = min;
        to->max = max;
    }
};

template <typename Type>
__device__ static __forceinline__ auto slice_load(const struct cuda_slice_launch *job, size_t i)
    -> decltype(slice_element<Type>::value(0))
{
    typedef slice_element<Type> element;
    const typename element::word w = ((const typename element::word *)job->data)[i];

    return element::value(job->swap ? element::swap(w) : w);
}

/* LANES neighbouring threads, a power of two of a warp, take a part of a row. */
template <typename Type, unsigned LANES>
__global__ void __launch_bounds__(SLICE_THREADS)
    slice_rows(const __grid_constant__ struct cuda_slice_launch job)
{
    const size_t number = ((size_t)blockIdx.x * SLICE_THREADS + threadIdx.x) / LANES;
    const bool any = number < job.rows * job.parts;
    const size_t row = any ? number / job.parts : 0, part = any ? number % job.parts : 0;
    const size_t begin = part * job.part;
    const size_t end = !any ? 0 : job.length - begin < job.part ? job.length : begin + job.part;
    slice_state<typename slice_element<Type>::key> s, other;

    s.clear();
    for (size_t i = begin + threadIdx.x % LANES; i < end; i += LANES)
        s.take(slice_load<Type>(&job, row * job.length + i));
    for (unsigned distance = LANES / 2; distance > 0; distance /= 2) {
        other.high = __shfl_xor_sync(SLICE_ALL_LANES, s.high, distance);
        other.low = __shfl_xor_sync(SLICE_ALL_LANES, s.low, distance);
        other.min = __shfl_xor_sync(SLICE_ALL_LANES, s.min, distance);
        other.max = __shfl_xor_sync(SLICE_ALL_LANES, s.max, distance);
        other.left = __shfl_xor_sync(SLICE_ALL_LANES, (int)s.left, distance) != 0;
        s.merge(other);
    }
    if (any && threadIdx.x % LANES == 0)
        s.put(&job.found[number]);
}

/* A thread takes a part of a column: neighbouring threads load neighbouring elements, whatever the
   number of columns is. */
template <typename Type>
__global__ void __launch_bounds__(SLICE_THREADS)
    slice_columns(const __grid_constant__ struct cuda_slice_launch job)
{
    const size_t number = (size_t)blockIdx.x * SLICE_THREADS + threadIdx.x;
    const size_t step = job.parts * job.length, end = job.rows * job.length;
    slice_state<typename slice_element<Type>::key> s;

    if (number >= step)
        return;
    s.clear();
    for (size_t i = number; i < end; i += step)
        s.take(slice_load<Type>(&job, i));
    s.put(&job.found[number]);
}

/* The kernel of a launch, and how many threads it needs. */
struct slice_choice {
    void (*kernel)(const struct cuda_slice_launch);
    size_t threads;
};

template <typename Type>
static struct slice_choice slice_choose_type(const struct cuda_slice_launch *l)
{
    const size_t all = l->rows * l->parts, most = l->length < l->part ? l->length : l->part;

    if (l->columns)
        return {slice_columns<Type>, l->parts * l->length};
    if (most < 4)
        return {slice_rows<Type, 1>, all};
    if (most < 16)
        return {slice_rows<Type, 4>, 4 * all};
    if (most < 64)
        return {slice_rows<Type, 8>, 8 * all};
    return {slice_rows<Type, 32>, 32 * all};
}

static inline struct slice_choice slice_choose(const struct cuda_slice_launch *l)
{
    switch (l->type) {
#define CHOOSE(CONSTANT, name, ...) \
case ELEMENT_##CONSTANT:            \
    return slice_choose_type<name>(l);
        ELEMENT_FLOAT_TABLE(CHOOSE)
#undef CHOOSE
#define CHOOSE(CONSTANT, name, ...) case ELEMENT_##CONSTANT:
        ELEMENT_FLOAT8_TABLE(CHOOSE)
        ELEMENT_INTEGER_TABLE(CHOOSE)
#undef CHOOSE
        break; /* nobody asks for those */
    }
    return {nullptr, 0};
}

#endif
