/*
 * The kernels of moments.cuh of floats of 16 bits, and those of floats of one byte, of which there
 * are three for each type: one finds sums alone, two find everything, and the last leaves out missing
 * elements. In one file, because reading headers takes long.
 */
#include "config.h"

#include "cuda/instances.h"
#include "cuda/moments.cuh"
#include "cuda/reduce.cuh"

MOMENTS_INSTANCE(f16)
MOMENTS_INSTANCE(bf16)

#define FLOAT8_INSTANCE(type)                                                 \
    void cuda_launch_##type(const struct cuda_launch *l, cudaStream_t stream) \
    {                                                                         \
        if (cuda_wants_sum_alone(l->wants))                                   \
            launch<type, false, PARTIAL_SUM>(l, stream);                      \
        else if (l->wants & PARTIAL_MISSING)                                  \
            launch_moments<type, CUDA_FINDS_MISSING>(l, stream);              \
        else                                                                  \
            launch_moments<type, CUDA_FINDS>(l, stream);                      \
    }

FLOAT8_INSTANCE(f8e4m3)
FLOAT8_INSTANCE(f8e5m2)
