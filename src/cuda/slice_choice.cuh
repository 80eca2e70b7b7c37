/*
 * Shared by the files of kernels of slices: the shape of a block, and how a kernel is chosen.
 */
#ifndef GPUREDUCE_CUDA_SLICE_CHOICE_CUH
#define GPUREDUCE_CUDA_SLICE_CHOICE_CUH

#include "cuda/slice_launch.h"

/* Threads of a block, and blocks of a multiprocessor: as many as there are registers for. With 128
   bytes of each thread 64 KiB are in flight. */
static const unsigned SLICE_THREADS = 128, SLICE_BLOCKS = 4;

/* Blocks of a multiprocessor whose threads have so many elements of so many bytes each: few of them
   need few registers. */
static constexpr unsigned slice_blocks(int elements, int size)
{
    return elements * (size > 4 ? 2 : 1) <= 16 ? 2 * SLICE_BLOCKS : SLICE_BLOCKS;
}

static const unsigned SLICE_ALL_LANES = 0xffffffffu;

/* The kernel of a launch, and how many threads it needs. */
struct slice_choice {
    void (*kernel)(const struct cuda_slice_launch);
    size_t threads;
};

/* The kernel of a launch that wants sums, or sums and extremes of floats; or, without records, sums and
   squares (slice_squares.cuh), or extremes of integers. */
struct slice_choice slice_choose_sums(const struct cuda_slice_launch *l);
struct slice_choice slice_choose_squares(const struct cuda_slice_launch *l);
struct slice_choice slice_choose_extremes(const struct cuda_slice_launch *l);

/* The kernel of a launch that needs records (slice_record.cuh): of the types that are named. */
struct slice_choice slice_choose_floats(const struct cuda_slice_launch *l);
struct slice_choice slice_choose_integers(const struct cuda_slice_launch *l);

/* The kernel of a launch. */
static inline struct slice_choice slice_choose(const struct cuda_slice_launch *l)
{
    if (l->wants == PARTIAL_SUM || !cuda_slices_are_records(l->type, l->wants))
        return slice_choose_sums(l);
    if (cuda_slices_are_plain(l->type, l->wants, l->rounded))
        return l->wants == PARTIAL_EXTREMES ? slice_choose_extremes(l) : slice_choose_squares(l);
    return element_is_integer(l->type) ? slice_choose_integers(l) : slice_choose_floats(l);
}

/* The kernels of slices wherever their elements lie: those that are found again (slice_whole.cuh), and
   those of slice_select.cuh. */
typedef void slice_job_kernel(const struct cuda_slice_job);
slice_job_kernel *slice_choose_whole(enum element_type type);
slice_job_kernel *slice_choose_exact(const struct cuda_slice_job *job);
slice_job_kernel *slice_choose_select(const struct cuda_slice_job *job);

/* Those of slice_look.cuh; the second one merges parts of slices. */
struct slice_look_kernels {
    slice_job_kernel *look, *parts;
};
struct slice_look_kernels slice_choose_look(const struct cuda_slice_job *job);

#endif
