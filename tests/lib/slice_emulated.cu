#include "config.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tally_emulated.h" /* of this folder: the rule for .cu knows no -I for tests */

#include "cuda_emulated.cuh"

#define DYNAMIC_SHARED(name) alignas(16) static unsigned char name[EMULATED_TALLY_SHARED]

#include "cuda/slice_extremes.cu"
#include "cuda/slice_kernels.cuh"
#include "cuda/slice_look.cu"
#include "cuda/slice_record_floats.cu"
#include "cuda/slice_record_integers.cu"
#include "cuda/slice_select.cu"
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

static slice_job_kernel *chosen;

static void run_job(const void *argument)
{
    chosen(*(const struct cuda_slice_job *)argument);
}

static void run_all(const struct cuda_slice_job *l, slice_job_kernel *kernel, unsigned threads)
{
    emulated_grid.x = l->blocks;
    chosen = kernel;
    emulation_run(l->blocks, 1, threads, run_job, l);
}

void emulated_slices_whole(const struct cuda_slice_job *l)
{
    run_all(l, slice_choose_whole(l->type), SLICE_THREADS);
}

void emulated_slices_exact(const struct cuda_slice_job *l)
{
    run_all(l, slice_choose_exact(l), THREADS);
}

void emulated_slices_look(const struct cuda_slice_job *l)
{
    const struct slice_look_kernels kernels = slice_choose_look(l);

    run_all(l, kernels.look, CUDA_LOOK_THREADS);
    if (l->parts > 1)
        run_all(l, kernels.parts, CUDA_LOOK_THREADS);
}

void emulated_slices_select(const struct cuda_slice_job *l)
{
    if (cuda_select_bytes(l) > l->shared)
        abort();
    run_all(l, slice_choose_select(l), CUDA_SELECT_THREADS);
}
