#include "config.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tally_emulated.h" /* of this folder: the rule for .cu knows no -I for tests */

#include "cuda_emulated.cuh"

#include "cuda/slice_extremes.cu"
#include "cuda/slice_kernels.cuh"
#include "cuda/slice_record_floats.cu"
#include "cuda/slice_record_integers.cu"
#include "cuda/slice_squares.cu"
#include "cuda/slice_sums.cu"

static void run(const void *argument)
{
    const struct cuda_slice_launch *l = (const struct cuda_slice_launch *)argument;

    slice_choose(l).kernel(*l);
}

void emulated_slices(const struct cuda_slice_launch *l)
{
    const size_t threads = slice_choose(l).threads;
    const unsigned blocks = (unsigned)((threads + SLICE_THREADS - 1) / SLICE_THREADS);

    emulated_grid.x = blocks;
    emulation_run(blocks, 1, SLICE_THREADS, run, l);
}

static void run_whole(const void *argument)
{
    const struct cuda_slice_again *l = (const struct cuda_slice_again *)argument;

    slice_choose_whole(l->type)(*l);
}

static void run_exact(const void *argument)
{
    const struct cuda_slice_again *l = (const struct cuda_slice_again *)argument;

    slice_choose_exact(l->type)(*l);
}

void emulated_slices_again(const struct cuda_slice_again *l, bool exact)
{
    emulated_grid.x = l->blocks;
    emulation_run(l->blocks, 1, exact ? THREADS : SLICE_THREADS, exact ? run_exact : run_whole, l);
}
