/*
 * The kernels' launchers, for each row of ELEMENT_TABLE: reduce_NAME.cu and the files moments_*.cu
 * define those of ELEMENT_FLOAT_TABLE, and moments_narrow.cu and reduce_integers.cu those of the
 * others.
 */
#ifndef GPUREDUCE_CUDA_INSTANCES_H
#define GPUREDUCE_CUDA_INSTANCES_H

#include "cuda/kernels.h"

/* cuda_launch_NAME launches the kernels for a chunk; an error is the runtime's last one.
   cuda_moments_NAME launches those that also find what core/moments.h is about. cuda_check_NAME fails
   where this program has no code for the current device. */
#define DECLARE_INSTANCE(CONSTANT, name, ...)                                        \
    void cuda_launch_##name(const struct cuda_launch *launch, cudaStream_t stream);  \
    void cuda_moments_##name(const struct cuda_launch *launch, cudaStream_t stream); \
    cudaError_t cuda_check_##name(void);
ELEMENT_FLOAT_TABLE(DECLARE_INSTANCE)
#undef DECLARE_INSTANCE

/* These find everything, or sums alone. */
#define DECLARE_LAUNCH(CONSTANT, name, ...) \
    void cuda_launch_##name(const struct cuda_launch *launch, cudaStream_t stream);
ELEMENT_FLOAT8_TABLE(DECLARE_LAUNCH)
ELEMENT_INTEGER_TABLE(DECLARE_LAUNCH)
#undef DECLARE_LAUNCH

#endif
