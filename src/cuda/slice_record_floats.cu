/*
 * The kernels of records of floats, and of slices of floats that are reduced whole.
 */
#include "config.h"

#include "cuda/slice_record.cuh"
#include "cuda/slice_whole.cuh"

/* Returns what `choose` returns for the trait of a type. */
template <typename Choice, typename Choose>
static Choice choose_float(enum element_type type, const Choose &choose)
{
    switch (type) {
#define CHOOSE(CONSTANT, name, ...) \
    case ELEMENT_##CONSTANT:        \
        return choose(name());
        ELEMENT_FLOAT_TABLE(CHOOSE)
        ELEMENT_FLOAT8_TABLE(CHOOSE)
#undef CHOOSE
        ELEMENT_INTEGER_TABLE(ELEMENT_CASE)
        break; /* nobody asks for those */
    }
    return {nullptr, 0};
}

struct slice_choice slice_choose_floats(const struct cuda_slice_launch *l)
{
    return choose_float<struct slice_choice>(
        l->type, [l](auto trait) { return slice_choose_record<decltype(trait)>(l); });
}

struct slice_whole_choice slice_choose_whole(const struct cuda_slice_whole_launch *l)
{
    return choose_float<struct slice_whole_choice>(l->type, [l](auto trait) {
        return slice_whole_choice{slice_whole<decltype(trait)>, (size_t)l->count * 32};
    });
}
