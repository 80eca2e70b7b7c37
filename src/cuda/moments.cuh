/*
 * The kernel that also finds what core/moments.h is about, of floats, as a template over an element
 * type; MOMENTS_INSTANCE makes it for one type, in a file of its own. The byte order is no parameter
 * of the template: the kernel has more to do than to load, and takes longer to compile.
 */
#ifndef GPUREDUCE_CUDA_MOMENTS_CUH
#define GPUREDUCE_CUDA_MOMENTS_CUH

#include <algorithm>

#include "cuda/moments_left.cuh"

/* Whether there is the shared memory for exponent bins, which the kernel gets along without. */
template <typename Type, unsigned FINDS> static bool has_bins()
{
    if (!moments_reducer<Type, FINDS>::BINS)
        return false;
    if (cudaFuncSetAttribute(reduce_moments<Type, FINDS>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             sizeof(struct moments_bins)) == cudaSuccess)
        return true;
    (void)cudaGetLastError(); /* it is no failure */
    return false;
}

/* Asks for so much dynamic shared memory a block, and for no more of a multiprocessor than `blocks`
   blocks need: the rest is its level-1 cache, through which all loads go. Returns false if there is
   not so much. */
template <typename Kernel> static bool share_memory(Kernel *kernel, size_t dynamic, size_t blocks)
{
    struct cudaFuncAttributes has;
    int device, reserved, all;

    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, device) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) !=
            cudaSuccess ||
        cudaFuncGetAttributes(&has, kernel) != cudaSuccess)
        return false;

    const size_t used = blocks * (dynamic + has.sharedSizeBytes + (size_t)reserved);
    const int percent = (int)std::min((size_t)100, used * 100 / (size_t)all + 1);

    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)dynamic) == cudaSuccess &&
           cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent) ==
               cudaSuccess;
}

/* Whether there are two kernels for so many tiles of the type, in so many blocks; then launches
   them. */
template <typename Type, unsigned FINDS> struct moments_pair {
    static bool launch(const struct cuda_launch *, cudaStream_t)
    {
        return false;
    }
};
template <unsigned FINDS> struct moments_pair<f32, FINDS> {
    static bool launch(const struct cuda_launch *l, cudaStream_t stream)
    {
        const size_t tile = moments_reducer<f32_first, FINDS>::TILE;
        const size_t tiles = (l->count + tile - 1) / tile, processors = l->multiprocessors;
        const size_t most =
            std::min(processors * moments_tuning<f32_first>::BLOCKS, (size_t)CUDA_BLOCKS_MAX);
        const size_t bytes = sizeof(typename moments_left_reducer<FINDS>::bins_of_block::memory);
        const size_t left = processors * tuning<f32_left>::BLOCKS;
        const struct job job = make_job(l, true, true);

        if (tiles < most * TILES_TO_LEAVE_MOMENTS)
            return false;
        if (!share_memory(moments_left<FINDS>, bytes, tuning<f32_left>::BLOCKS)) {
            (void)cudaGetLastError(); /* it is no failure */
            return false;
        }
        moments_first<FINDS><<<(unsigned)most, THREADS, 0, stream>>>(job);
        moments_left<FINDS><<<(unsigned)std::min(left, (size_t)CUDA_BLOCKS_MAX),
                             tuning<f32_left>::BLOCK, bytes, stream>>>(job, (unsigned)most);
        return true;
    }
};

template <typename Type, unsigned FINDS>
static void launch_moments(const struct cuda_launch *l, cudaStream_t stream)
{
    if (!(FINDS & PARTIAL_MISSING) && moments_pair<Type, FINDS & CUDA_FINDS>::launch(l, stream))
        return;

    const size_t tile = moments_reducer<Type, FINDS>::TILE;
    const size_t tiles = (l->count + tile - 1) / tile, processors = l->multiprocessors;
    const size_t most = std::min(processors * moments_tuning<Type>::BLOCKS, (size_t)CUDA_BLOCKS_MAX);
    const bool bins = has_bins<Type, FINDS>();
    const struct job job = make_job(l, false, bins);

    reduce_moments<Type, FINDS><<<(unsigned)std::min(tiles, most), THREADS,
                                 bins ? sizeof(struct moments_bins) : 0, stream>>>(job);
}

/* Launches the cheapest kernel that finds what is wanted, as choose_kernel does. The one that leaves
   out missing elements finds everything. */
template <typename Type>
static void choose_moments_kernel(const struct cuda_launch *l, cudaStream_t stream)
{
    if (l->wants & PARTIAL_MISSING)
        launch_moments<Type, CUDA_FINDS_MISSING>(l, stream);
    else if ((l->wants & ~MOMENTS_FINDS) == 0)
        launch_moments<Type, MOMENTS_FINDS>(l, stream);
    else
        launch_moments<Type, CUDA_FINDS>(l, stream);
}

/* Defines cuda_moments_NAME (instances.h). */
#define MOMENTS_INSTANCE(type)                                                 \
    void cuda_moments_##type(const struct cuda_launch *l, cudaStream_t stream) \
    {                                                                         \
        choose_moments_kernel<type>(l, stream);                                \
    }

#endif
