/*
 * The kernels of tallies, and their launch.
 */
#include "config.h"

#include "cuda/shared.cuh"
#include "cuda/tally_kernels.cuh"

#include <algorithm>

cudaError_t cuda_tally(const struct cuda_tally_launch *l, cudaStream_t stream)
{
    const struct tally_choice c = tally_choose(l);
    const size_t tiles = (l->count + c.tile - 1) / c.tile, processors = (size_t)l->multiprocessors;
    /* Two blocks fit a multiprocessor where each takes less than half of the shared memory. */
    const size_t most = c.bytes > l->shared / 2 ? processors : 2 * processors;
    cudaError_t error;

    if (l->plan->kind == TALLY_CELLS && !l->more && !l->fine) {
        error =
            cudaMemsetAsync(l->counts + l->size + CUDA_TALLY_KEPT, 0, sizeof *l->counts, stream);
        if (error != cudaSuccess)
            return error;
    }
    if (c.bytes > 0) {
        error = allow_shared(c.kernel, c.bytes, l->shared);
        if (error != cudaSuccess)
            return error;
    }
    c.kernel<<<(unsigned)std::min(tiles, most), TALLY_THREADS, c.bytes, stream>>>(c.job);
    return cudaGetLastError();
}
