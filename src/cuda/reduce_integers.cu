/*
 * The kernels of integers, and their launch. There are five for each type: for sums alone, with extremes,
 * with squares, for everything, and for that of elements of which some are missing.
 */
#include "config.h"

#include <algorithm>

#include "cuda/instances.h"
#include "cuda/integer_kernel.cuh"

template <typename Type, unsigned FINDS>
static void launch_integers(const struct cuda_launch *l, cudaStream_t stream)
{
    const size_t tile = integer_reducer<Type>::TILE;
    const size_t tiles = (l->count + tile - 1) / tile, processors = l->multiprocessors;
    const size_t most = std::min(processors * integer_tuning::BLOCKS, (size_t)CUDA_BLOCKS_MAX);

    reduce_integers<Type, FINDS>
        <<<(unsigned)std::min(tiles, most), THREADS, 0, stream>>>(make_job(l, false, false));
}

template <typename Type> static void launch(const struct cuda_launch *l, cudaStream_t stream)
{
    if (cuda_wants_sum_alone(l->wants))
        launch_integers<Type, PARTIAL_SUM>(l, stream);
    else if (l->wants & PARTIAL_MISSING)
        launch_integers<Type, CUDA_FINDS_MISSING>(l, stream);
    else if ((l->wants & ~CUDA_FINDS_EXTREMES) == 0)
        launch_integers<Type, CUDA_FINDS_EXTREMES>(l, stream);
    else if ((l->wants & ~CUDA_FINDS_SQUARES) == 0)
        launch_integers<Type, CUDA_FINDS_SQUARES>(l, stream);
    else
        launch_integers<Type, CUDA_FINDS>(l, stream);
}

#define INTEGER_INSTANCE(name, type)                                          \
    void cuda_launch_##name(const struct cuda_launch *l, cudaStream_t stream) \
    {                                                                         \
        launch<type>(l, stream);                                              \
    }

INTEGER_INSTANCE(i8, i8)
INTEGER_INSTANCE(i16, i16)
INTEGER_INSTANCE(i32, i32)
INTEGER_INSTANCE(i64, i64)
INTEGER_INSTANCE(u8, u8)
INTEGER_INSTANCE(u16, u16)
INTEGER_INSTANCE(u32, u32)
INTEGER_INSTANCE(u64, u64)
INTEGER_INSTANCE(bool, truth)
