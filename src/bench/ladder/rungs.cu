/*
 * The textbook rungs: kernels and their launchers.
 *
 * Every rung sums `count` elements, however many. The textbook's kernel sums no more than a block
 * holds; here each block sums such a segment and adds its sum to the result by an atomic. The
 * batched kernels keep a sum for each row instead. Missing elements of the last segment count as
 * zeros.
 *
 * The algorithms: M. Harris, "Optimizing Parallel Reduction in CUDA"; W. W. Hwu, D. B. Kirk and I.
 * El Hajj, "Programming Massively Parallel Processors", chapter 10. These rely on the threads of a
 * warp running in lockstep; the kernels here call __syncwarp.
 */
#include "config.h"

#include "bench/ladder/rungs.h"

static const unsigned ALL_LANES = 0xffffffffu;
static const int WARP = 32;

/* The number of this thread in the grid. Numbers of threads and elements of the whole input have
   64 bits. */
__device__ static __forceinline__ uint64_t global_thread()
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* The block's shared memory: an element for each thread. */
template <typename T> __device__ static __forceinline__ T *block_memory()
{
    extern __shared__ double memory[]; /* aligned for either type */

    return reinterpret_cast<T *>(memory);
}

/*
 * One atomic for each element, or for each 16 bytes.
 */

template <typename T> __global__ void atomic(const T *data, uint64_t count, T *sum)
{
    const uint64_t i = global_thread();

    if (i < count)
        atomicAdd(sum, data[i]);
}

template <typename T> struct load;

template <> struct load<float> {
    typedef float4 vector;
    static const int ELEMENTS = 4;
    __device__ static float total(float4 v)
    {
        return (v.x + v.y) + (v.z + v.w);
    }
};

template <> struct load<double> {
    typedef double2 vector;
    static const int ELEMENTS = 2;
    __device__ static double total(double2 v)
    {
        return v.x + v.y;
    }
};

template <typename T> __global__ void vector_atomic(const T *data, uint64_t count, T *sum)
{
    const uint64_t i = global_thread();
    const uint64_t loads = count / load<T>::ELEMENTS;

    if (i < loads) {
        atomicAdd(sum, load<T>::total(reinterpret_cast<const typename load<T>::vector *>(data)[i]));
    } else if (i == loads) {
        T rest = 0;

        for (uint64_t j = loads * load<T>::ELEMENTS; j < count; j++)
            rest += data[j];
        atomicAdd(sum, rest);
    }
}

/*
 * Trees in global memory: the segment of a block has two elements for each thread, and is
 * overwritten.
 */

/* A block's segment; *elements is how many elements it has. */
template <typename T>
__device__ static __forceinline__ T *segment_of(T *data, uint64_t count, unsigned *elements)
{
    const unsigned size = 2 * blockDim.x;
    const uint64_t begin = (uint64_t)blockIdx.x * size;

    *elements = count - begin < size ? (unsigned)(count - begin) : size;
    return data + begin;
}

template <typename T> __global__ void global_divergent(T *data, uint64_t count, T *sum)
{
    unsigned elements;
    T *segment = segment_of(data, count, &elements);
    const unsigned t = threadIdx.x;

    for (unsigned stride = 1; stride <= blockDim.x; stride *= 2) {
        if (t % stride == 0 && 2 * t + stride < elements)
            segment[2 * t] += segment[2 * t + stride];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(sum, segment[0]);
}

template <typename T> __global__ void global_convergent(T *data, uint64_t count, T *sum)
{
    unsigned elements;
    T *segment = segment_of(data, count, &elements);
    const unsigned t = threadIdx.x;

    for (unsigned stride = blockDim.x; stride > 0; stride /= 2) {
        if (t < stride && t + stride < elements)
            segment[t] += segment[t + stride];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(sum, segment[0]);
}

/*
 * Trees in shared memory. At the beginning, `shared` holds an element from each thread, and all
 * threads see it. At the end the sum is in shared[0], and thread 0 sees it.
 */

template <typename T> __device__ static __forceinline__ void tree_divergent(T *shared)
{
    const unsigned t = threadIdx.x;

    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0)
            shared[t] += shared[t + stride];
        __syncthreads();
    }
}

template <typename T> __device__ static __forceinline__ void tree_strided(T *shared)
{
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        const unsigned i = 2 * stride * threadIdx.x;

        if (i < blockDim.x)
            shared[i] += shared[i + stride];
        __syncthreads();
    }
}

/* Stops when `left` elements are left. */
template <typename T>
__device__ static __forceinline__ void tree_sequential(T *shared, unsigned left)
{
    const unsigned t = threadIdx.x;

    for (unsigned stride = blockDim.x / 2; stride >= left; stride /= 2) {
        if (t < stride)
            shared[t] += shared[t + stride];
        __syncthreads();
    }
}

/* The last 64 elements, by one warp in shared memory. A lane reads what another lane is about to
   overwrite, so the warp must synchronise between the read and the write. */
template <typename T> __device__ static __forceinline__ void last_warp(T *shared)
{
    const unsigned t = threadIdx.x;
    T total = shared[t];

#pragma unroll
    for (int stride = WARP; stride > 0; stride /= 2) {
        total += shared[t + stride];
        __syncwarp();
        shared[t] = total;
        __syncwarp();
    }
}

/* The sum of a warp's elements in registers; lane 0 has it. */
template <typename T> __device__ static __forceinline__ T last_warp_shuffled(const T *shared)
{
    T total = shared[threadIdx.x] + shared[threadIdx.x + WARP];

#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        total += __shfl_down_sync(ALL_LANES, total, distance);
    return total;
}

/* A thread's addend of the tree: one element, or the sum of two that are blockDim.x apart. */
template <typename T> __device__ static __forceinline__ T one_element(const T *data, uint64_t count)
{
    const uint64_t i = global_thread();

    return i < count ? data[i] : T(0);
}

template <typename T>
__device__ static __forceinline__ T two_elements(const T *data, uint64_t count)
{
    const uint64_t i = (uint64_t)blockIdx.x * 2 * blockDim.x + threadIdx.x;
    const T first = i < count ? data[i] : T(0);

    return i + blockDim.x < count ? first + data[i + blockDim.x] : first;
}

/* Puts what the threads bring into shared memory. */
template <typename T> __device__ static __forceinline__ T *share(T brought)
{
    T *shared = block_memory<T>();

    shared[threadIdx.x] = brought;
    __syncthreads();
    return shared;
}

template <typename T> __global__ void shared_divergent(const T *data, uint64_t count, T *sum)
{
    T *shared = share(one_element(data, count));

    tree_divergent(shared);
    if (threadIdx.x == 0)
        atomicAdd(sum, shared[0]);
}

template <typename T> __global__ void shared_strided(const T *data, uint64_t count, T *sum)
{
    T *shared = share(one_element(data, count));

    tree_strided(shared);
    if (threadIdx.x == 0)
        atomicAdd(sum, shared[0]);
}

template <typename T> __global__ void sequential(const T *data, uint64_t count, T *sum)
{
    T *shared = share(one_element(data, count));

    tree_sequential(shared, 1);
    if (threadIdx.x == 0)
        atomicAdd(sum, shared[0]);
}

template <typename T> __global__ void first_add(const T *data, uint64_t count, T *sum)
{
    T *shared = share(two_elements(data, count));

    tree_sequential(shared, 1);
    if (threadIdx.x == 0)
        atomicAdd(sum, shared[0]);
}

template <typename T> __global__ void warp_unrolled(const T *data, uint64_t count, T *sum)
{
    T *shared = share(two_elements(data, count));

    tree_sequential(shared, 2 * WARP);
    if (threadIdx.x < WARP)
        last_warp(shared);
    if (threadIdx.x == 0)
        atomicAdd(sum, shared[0]);
}

template <typename T> __global__ void shuffle(const T *data, uint64_t count, T *sum)
{
    T *shared = share(two_elements(data, count));

    tree_sequential(shared, 2 * WARP);
    if (threadIdx.x < WARP) {
        const T total = last_warp_shuffled(shared);

        if (threadIdx.x == 0)
            atomicAdd(sum, total);
    }
}

template <typename T>
__global__ void coarsened(const T *data, uint64_t count, T *sum, unsigned coarsen)
{
    const uint64_t segment = (uint64_t)2 * coarsen * blockDim.x;
    const uint64_t begin = blockIdx.x * segment;
    T total = 0;

    if (count - begin >= segment) {
        const T *from = data + begin + threadIdx.x;

        /* Without a test for the end, all loads of an unrolled step are in flight together. */
#pragma unroll 8
        for (unsigned i = 0; i < 2 * coarsen; i++)
            total += from[(uint64_t)i * blockDim.x];
    } else {
        for (uint64_t i = begin + threadIdx.x; i < count; i += blockDim.x)
            total += data[i];
    }

    T *shared = share(total);

    tree_sequential(shared, 1);
    if (threadIdx.x == 0)
        atomicAdd(sum, shared[0]);
}

/*
 * Batched: each block sums a row of NUM_THREADS elements. The compiler knows the size of a block.
 */

template <typename T, unsigned NUM_THREADS>
__global__ void __launch_bounds__(NUM_THREADS)
    batched_divergent(const T *data, uint64_t count, T *sums)
{
    __shared__ T shared[NUM_THREADS];
    const unsigned t = threadIdx.x;
    const uint64_t i = (uint64_t)blockIdx.x * NUM_THREADS + t;

    shared[t] = i < count ? data[i] : T(0);
    __syncthreads();
    for (unsigned stride = 1; stride < NUM_THREADS; stride *= 2) {
        if (t % (2 * stride) == 0)
            shared[t] += shared[t + stride];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = shared[0];
}

template <typename T, unsigned NUM_THREADS>
__global__ void __launch_bounds__(NUM_THREADS)
    batched_strided(const T *data, uint64_t count, T *sums)
{
    __shared__ T shared[NUM_THREADS];
    const unsigned t = threadIdx.x;
    const uint64_t i = (uint64_t)blockIdx.x * NUM_THREADS + t;

    shared[t] = i < count ? data[i] : T(0);
    __syncthreads();
    for (unsigned stride = 1; stride < NUM_THREADS; stride *= 2) {
        const unsigned at = 2 * stride * t;

        if (at < NUM_THREADS)
            shared[at] += shared[at + stride];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = shared[0];
}

/*
 * Launchers. A grid has up to 2^31 - 1 blocks: enough for more elements than any memory holds.
 */

static unsigned blocks_for(uint64_t count, uint64_t of_a_block)
{
    return (unsigned)((count + of_a_block - 1) / of_a_block);
}

/* Starts a kernel whose blocks have `elements` elements of the input and `shared` elements of
   shared memory each. Clears the error of an earlier call first, which that call has returned. */
template <typename T, typename Data, typename... More>
static cudaError_t start(const struct rung_launch *l, cudaStream_t stream,
                         void (*kernel)(Data *, uint64_t, T *, More...), uint64_t elements,
                         unsigned shared, More... more)
{
    (void)cudaGetLastError();
    kernel<<<blocks_for(l->count, elements), l->threads, shared * sizeof(T), stream>>>(
        (Data *)l->data, l->count, (T *)l->result, more...);
    return cudaGetLastError();
}

/* Returns what `call` does with T defined as the type of the elements. */
#define FOR_TYPE(l, call)           \
    switch ((l)->type) {            \
    case ELEMENT_F32: {             \
        typedef float T;            \
        return call;                \
    }                               \
    case ELEMENT_F64: {             \
        typedef double T;           \
        return call;                \
    }                               \
    case ELEMENT_F16:               \
    case ELEMENT_BF16:              \
        ELEMENT_CASES_BEHIND_FLOATS \
        break;                      \
    }                               \
    return cudaErrorNotSupported

cudaError_t rung_atomic(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, atomic<T>, l->threads, 0));
}

cudaError_t rung_vector_atomic(const struct rung_launch *l, cudaStream_t stream)
{
    /* A thread for each load, and one for the rest that is less than a load. */
    FOR_TYPE(l, start(l, stream, vector_atomic<T>, (uint64_t)load<T>::ELEMENTS * l->threads, 0));
}

cudaError_t rung_global_divergent(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, global_divergent<T>, 2 * l->threads, 0));
}

cudaError_t rung_global_convergent(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, global_convergent<T>, 2 * l->threads, 0));
}

cudaError_t rung_shared_divergent(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, shared_divergent<T>, l->threads, l->threads));
}

cudaError_t rung_shared_strided(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, shared_strided<T>, l->threads, l->threads));
}

cudaError_t rung_sequential(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, sequential<T>, l->threads, l->threads));
}

cudaError_t rung_first_add(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, first_add<T>, 2 * l->threads, l->threads));
}

cudaError_t rung_warp_unrolled(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, warp_unrolled<T>, 2 * l->threads, l->threads));
}

cudaError_t rung_shuffle(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, shuffle<T>, 2 * l->threads, l->threads));
}

cudaError_t rung_coarsened(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, coarsened<T>, (uint64_t)2 * l->coarsen * l->threads, l->threads,
                      l->coarsen));
}

/* The instance of a batched kernel for this size of a block. NULL for any other size, which CUDA
   refuses to launch. */
#define BATCHED(kernel, threads)           \
    ((threads) == 128    ? kernel<T, 128>  \
     : (threads) == 256  ? kernel<T, 256>  \
     : (threads) == 512  ? kernel<T, 512>  \
     : (threads) == 1024 ? kernel<T, 1024> \
                         : NULL)

cudaError_t rung_batched_divergent(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, BATCHED(batched_divergent, l->threads), l->threads, 0));
}

cudaError_t rung_batched_strided(const struct rung_launch *l, cudaStream_t stream)
{
    FOR_TYPE(l, start(l, stream, BATCHED(batched_strided, l->threads), l->threads, 0));
}
