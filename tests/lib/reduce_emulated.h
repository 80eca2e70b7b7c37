/*
 * The reduction kernels of cuda, run on the host: as cuda_reduce, but at once, and by so
 * many blocks. Needs the headers of CUDA, and nvcc.
 */
#ifndef TESTS_REDUCE_EMULATED_H
#define TESTS_REDUCE_EMULATED_H

#include "cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* False for what it does not run: kernels of floats of 16 bits and more for sums and extremes alone,
   where nothing is missing. */
bool emulated_reduce(const struct cuda_launch *launch, unsigned blocks);

/* Reduces f32 with moments by the two kernels that there are for much data. */
bool emulated_reduce_pair(const struct cuda_launch *launch, unsigned blocks);

#ifdef __cplusplus
}
#endif

#endif
