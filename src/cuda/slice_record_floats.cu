/*
 * The kernels of records of floats.
 */
#include "config.h"

#include "cuda/slice_record.cuh"

struct slice_choice slice_choose_floats(const struct cuda_slice_launch *l)
{
    switch (l->type) {
#define CHOOSE(CONSTANT, name, ...) \
    case ELEMENT_##CONSTANT:        \
        return slice_choose_record<name>(l);
        ELEMENT_FLOAT_TABLE(CHOOSE)
        ELEMENT_FLOAT8_TABLE(CHOOSE)
#undef CHOOSE
#define CHOOSE(CONSTANT, name, ...) case ELEMENT_##CONSTANT:
        ELEMENT_INTEGER_TABLE(CHOOSE)
#undef CHOOSE
        break; /* nobody asks for those */
    }
    return {nullptr, 0};
}
