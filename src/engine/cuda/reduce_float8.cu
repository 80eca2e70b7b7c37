#include "config.h"

#include "engine/cuda/instances.h"
#include "engine/cuda/spread.cuh"

/* One kernel for each type, which finds everything. */
#define FLOAT8_INSTANCE(type)                                                 \
    void cuda_launch_##type(const struct cuda_launch *l, cudaStream_t stream) \
    {                                                                         \
        launch_spread<type, CUDA_FINDS>(l, stream);                           \
    }

FLOAT8_INSTANCE(f8e4m3)
FLOAT8_INSTANCE(f8e5m2)
