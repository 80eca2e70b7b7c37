/*
 * The kernels of records of integers.
 */
#include "config.h"

#include "cuda/slice_record.cuh"

struct slice_choice slice_choose_integers(const struct cuda_slice_launch *l)
{
    switch (l->type) {
#define CHOOSE(CONSTANT, name, ...) \
    case ELEMENT_##CONSTANT:        \
        return slice_choose_record<name>(l);
        ELEMENT_INTEGER_TABLE(CHOOSE)
#undef CHOOSE
        ELEMENT_FLOAT_TABLE(ELEMENT_CASE)
        ELEMENT_FLOAT8_TABLE(ELEMENT_CASE)
        break; /* nobody asks for those */
    }
    return {nullptr, 0};
}
