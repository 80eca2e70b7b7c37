/*
 * The kernels of quantiles of slices.
 */
#include "config.h"

#include "cuda/slice_select.cuh"

template <typename Selector>
static slice_job_kernel *select_kernel(const struct cuda_slice_job *job)
{
    return job->pitch == 0 ? slice_select_again<Selector> : slice_select<Selector>;
}

slice_job_kernel *slice_choose_select(const struct cuda_slice_job *job)
{
    switch (job->type) {
#define CHOOSE(CONSTANT, name, ...) \
    case ELEMENT_##CONSTANT:        \
        return select_kernel<select_float<name>>(job);
        ELEMENT_FLOAT_TABLE(CHOOSE)
        ELEMENT_FLOAT8_TABLE(CHOOSE)
#undef CHOOSE
#define CHOOSE(CONSTANT, name, ...) \
    case ELEMENT_##CONSTANT:        \
        return select_kernel<select_integer<typename slice_integer<name>::type>>(job);
        ELEMENT_INTEGER_TABLE(CHOOSE)
#undef CHOOSE
    }
    return nullptr;
}
