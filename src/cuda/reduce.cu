#include "config.h"

#include "core/moments.h"
#include "cuda/instances.h"
#include "cuda/kernels.h"

cudaError_t cuda_reduce(const struct cuda_launch *l, cudaStream_t stream)
{
    switch (l->type) {
#define LAUNCH(CONSTANT, name, ...)         \
    case ELEMENT_##CONSTANT:                \
        if (l->wants & MOMENTS_WANTS)       \
            cuda_moments_##name(l, stream); \
        else                                \
            cuda_launch_##name(l, stream);  \
        break;
        ELEMENT_FLOAT_TABLE(LAUNCH)
#undef LAUNCH
#define LAUNCH(CONSTANT, name, ...)    \
    case ELEMENT_##CONSTANT:           \
        cuda_launch_##name(l, stream); \
        break;
        ELEMENT_FLOAT8_TABLE(LAUNCH)
        ELEMENT_INTEGER_TABLE(LAUNCH)
#undef LAUNCH
    }
    return cudaGetLastError();
}

cudaError_t cuda_reduce_check(void)
{
    /* All files are compiled for the same devices: one tells for all. */
    return cuda_check_f32();
}
