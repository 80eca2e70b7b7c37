#include "config.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "reduce_emulated.h" /* of this folder: the rule for .cu knows no -I for tests */

#include "cuda_emulated.cuh"

/* Nothing says what shared memory has at first: the thread of a block that begins first fills the
   dynamic one with what no kernel expects. */
static unsigned threads_of_block, threads_begun;

static void begin_dynamic(unsigned char *memory, size_t size)
{
    if (threads_begun++ % threads_of_block == 0)
        memset(memory, 0xa5, size);
}

#define DYNAMIC_SHARED(name)                          \
    alignas(16) static unsigned char name[192 << 10]; \
    begin_dynamic(name, sizeof name)

#include "cuda/integer_kernel.cuh"
#include "cuda/moments_left.cuh"
#include "cuda/reduce_kernel.cuh"

static void run_blocks(unsigned blocks, unsigned threads, void (*body)(const void *),
                       const struct job *job)
{
    threads_of_block = threads;
    threads_begun = 0;
    emulation_run(blocks, 1, threads, body, job);
}

template <typename Type, unsigned FINDS> static void run_moments(const void *argument)
{
    reduce_moments<Type, FINDS>(*(const struct job *)argument);
}

template <typename Type> static void run_sums(const void *argument)
{
    reduce<Type, false, PARTIAL_SUM>(*(const struct job *)argument);
}

template <typename Type, bool SWAP> static void run_present(const void *argument)
{
    reduce<Type, SWAP, CUDA_FINDS_MISSING & ~MOMENTS_WANTS>(*(const struct job *)argument);
}

template <typename Type> static void emulate(const struct job *job, unsigned wants, unsigned blocks)
{
    if ((wants & MOMENTS_WANTS) == 0)
        run_blocks(blocks, THREADS, job->swap ? run_present<Type, true> : run_present<Type, false>,
                   job);
    else if (wants & PARTIAL_MISSING)
        run_blocks(blocks, THREADS, run_moments<Type, CUDA_FINDS_MISSING>, job);
    else if ((wants & ~MOMENTS_FINDS) == 0)
        run_blocks(blocks, THREADS, run_moments<Type, MOMENTS_FINDS>, job);
    else
        run_blocks(blocks, THREADS, run_moments<Type, CUDA_FINDS>, job);
}

/* The two kernels for f32; the second has as many blocks, as on a GPU, or fewer. */
template <unsigned FINDS> static void run_first(const void *argument)
{
    moments_first<FINDS>(*(const struct job *)argument);
}
static unsigned first_blocks;
template <unsigned FINDS> static void run_left(const void *argument)
{
    moments_left<FINDS>(*(const struct job *)argument, first_blocks);
}
template <unsigned FINDS> static void emulate_pair(const struct job *job, unsigned blocks)
{
    first_blocks = blocks;
    run_blocks(blocks, THREADS, run_first<FINDS>, job);
    emulated_grid.x = blocks % 2 ? (blocks + 1) / 2 : blocks;
    run_blocks(emulated_grid.x, tuning<f32_left>::BLOCK, run_left<FINDS>, job);
}

bool emulated_reduce_pair(const struct cuda_launch *l, unsigned blocks)
{
    const struct job job = make_job(l, true, true);

    if (l->type != ELEMENT_F32 || (l->wants & MOMENTS_WANTS) == 0 || (l->wants & PARTIAL_MISSING))
        return false;
    emulated_grid.x = blocks;
    if ((l->wants & ~MOMENTS_FINDS) == 0)
        emulate_pair<MOMENTS_FINDS>(&job, blocks);
    else
        emulate_pair<CUDA_FINDS>(&job, blocks);
    return true;
}

template <typename Type, unsigned FINDS> static void run_integers(const void *argument)
{
    reduce_integers<Type, FINDS>(*(const struct job *)argument);
}

template <typename Type>
static void emulate_integers(const struct job *job, unsigned wants, unsigned blocks)
{
    run_blocks(blocks, THREADS,
               cuda_wants_sum_alone(wants)           ? run_integers<Type, PARTIAL_SUM>
               : wants & PARTIAL_MISSING             ? run_integers<Type, CUDA_FINDS_MISSING>
               : (wants & ~CUDA_FINDS_EXTREMES) == 0 ? run_integers<Type, CUDA_FINDS_EXTREMES>
               : (wants & ~CUDA_FINDS_SQUARES) == 0  ? run_integers<Type, CUDA_FINDS_SQUARES>
                                                     : run_integers<Type, CUDA_FINDS>,
               job);
}

template <typename Type>
static void emulate_float8(const struct job *job, unsigned wants, unsigned blocks)
{
    run_blocks(blocks, THREADS,
               cuda_wants_sum_alone(wants) ? run_sums<Type>
               : wants & PARTIAL_MISSING   ? run_moments<Type, CUDA_FINDS_MISSING>
                                           : run_moments<Type, CUDA_FINDS>,
               job);
}

bool emulated_reduce(const struct cuda_launch *l, unsigned blocks)
{
    const struct job job = make_job(l, false, true);

    emulated_grid.x = blocks;
    switch (l->type) {
#define EMULATE(CONSTANT, name, ...)                             \
    case ELEMENT_##CONSTANT:                                     \
        if ((l->wants & (MOMENTS_WANTS | PARTIAL_MISSING)) == 0) \
            return false;                                        \
        emulate<name>(&job, l->wants, blocks);                   \
        return true;
        ELEMENT_FLOAT_TABLE(EMULATE)
#undef EMULATE
#define EMULATE(CONSTANT, name, ...)                \
    case ELEMENT_##CONSTANT:                        \
        EMULATE_TYPE<name>(&job, l->wants, blocks); \
        return true;
#define EMULATE_TYPE emulate_float8
        ELEMENT_FLOAT8_TABLE(EMULATE)
#undef EMULATE_TYPE
#define EMULATE_TYPE emulate_integers
#define bool truth
        ELEMENT_INTEGER_TABLE(EMULATE)
#undef bool
#undef EMULATE_TYPE
#undef EMULATE
    }
    return false;
}
