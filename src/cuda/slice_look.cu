/*
 * The kernels of results of slices that need no sums.
 */
#include "config.h"

#include "cuda/slice_look.cuh"

struct slice_look_kernels slice_choose_look(const struct cuda_slice_job *job)
{
    switch (job->type) {
#define CHOOSE(CONSTANT, name, ...) \
    case ELEMENT_##CONSTANT:        \
        return look_choose<look_float<name>>(job->wish.op);
        ELEMENT_FLOAT_TABLE(CHOOSE)
        ELEMENT_FLOAT8_TABLE(CHOOSE)
#undef CHOOSE
#define CHOOSE(CONSTANT, name, ...) \
    case ELEMENT_##CONSTANT:        \
        return look_choose<look_integer<typename slice_integer<name>::type>>(job->wish.op);
        ELEMENT_INTEGER_TABLE(CHOOSE)
#undef CHOOSE
    }
    return {nullptr, nullptr};
}
