/*
 * The kernels of tallies and slices of cuda, run on the host: as cuda_tally and cuda_slices,
 * but at once. Needs the headers of CUDA, and nvcc.
 */
#ifndef TESTS_TALLY_EMULATED_H
#define TESTS_TALLY_EMULATED_H

#include "cuda/slice_launch.h"
#include "cuda/tally_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At most this much shared memory can be asked for, bytes. */
#define EMULATED_TALLY_SHARED ((size_t)227 << 10)

/* By so many blocks. */
void emulated_tally(const struct cuda_tally_launch *launch, unsigned blocks);
void emulated_slices(const struct cuda_slice_launch *launch);

/* The kernels of jobs. */
void emulated_slices_whole(const struct cuda_slice_job *launch);
void emulated_slices_exact(const struct cuda_slice_job *launch);
void emulated_slices_look(const struct cuda_slice_job *launch);
void emulated_slices_select(const struct cuda_slice_job *launch);

#ifdef __cplusplus
}
#endif

#endif
