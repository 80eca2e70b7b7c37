/*
 * The kernels of sums of slices of every type, and of extremes of floats.
 */
#include "config.h"

#include "cuda/slice_kernels.cuh"

struct slice_choice slice_choose_sums(const struct cuda_slice_launch *l)
{
    switch (l->type) {
#define CHOOSE(CONSTANT, name, ...) \
    case ELEMENT_##CONSTANT:        \
        return slice_choose_type<name>(l);
        ELEMENT_TABLE(CHOOSE)
#undef CHOOSE
    }
    return {nullptr, 0};
}
