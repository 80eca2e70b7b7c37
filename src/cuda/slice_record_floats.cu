/*
 * The kernels of records of floats, and of slices of floats that are reduced whole.
 */
#include "config.h"

#include "cuda/slice_record.cuh"
#include "cuda/slice_whole.cuh"

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

struct slice_whole_choice slice_choose_whole(const struct cuda_slice_whole_launch *l)
{
    const size_t threads = (size_t)l->count * 32;

    switch (l->type) {
#define CHOOSE(CONSTANT, name, ...) \
    case ELEMENT_##CONSTANT:        \
        return {slice_whole<name>, threads};
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
