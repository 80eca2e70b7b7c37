/*
 * The kernels of records of floats, and of slices that are found again.
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
    return {};
}

struct slice_choice slice_choose_floats(const struct cuda_slice_launch *l)
{
    return choose_float<struct slice_choice>(
        l->type, [l](auto trait) { return slice_choose_record<decltype(trait)>(l); });
}

slice_job_kernel *slice_choose_whole(enum element_type type)
{
    if (type == ELEMENT_I64)
        return slice_whole<i64>;
    if (type == ELEMENT_U64)
        return slice_whole<u64>;
    return choose_float<slice_job_kernel *>(
        type, [](auto trait) -> slice_job_kernel * { return slice_whole<decltype(trait)>; });
}

slice_job_kernel *slice_choose_exact(const struct cuda_slice_job *job)
{
    const bool whole = job->whole;

    return choose_float<slice_job_kernel *>(job->type, [whole](auto trait) -> slice_job_kernel * {
        return whole ? slice_find_listed<decltype(trait)> : slice_exact<decltype(trait)>;
    });
}
