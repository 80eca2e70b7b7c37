/*
 * The kernels of quantiles of slices.
 */
#include "config.h"

#include "cuda/slice_select.cuh"

slice_job_kernel *slice_choose_select(enum element_type type)
{
    switch (type) {
#define CHOOSE(CONSTANT, name, ...) \
    case ELEMENT_##CONSTANT:        \
        return slice_select<select_float<name>>;
        ELEMENT_FLOAT_TABLE(CHOOSE)
        ELEMENT_FLOAT8_TABLE(CHOOSE)
#undef CHOOSE
#define CHOOSE(CONSTANT, name, ...) \
    case ELEMENT_##CONSTANT:        \
        return slice_select<select_integer<typename slice_integer<name>::type>>;
        ELEMENT_INTEGER_TABLE(CHOOSE)
#undef CHOOSE
    }
    return nullptr;
}
