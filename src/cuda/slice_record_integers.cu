/*
 * The kernels of records of integers.
 */
#include "config.h"

#include "cuda/slice_record.cuh"

struct slice_choice slice_choose_integers(const struct cuda_slice_launch *l)
{
    switch (l->type) {
    case ELEMENT_I8:
        return slice_choose_record<i8>(l);
    case ELEMENT_I16:
        return slice_choose_record<i16>(l);
    case ELEMENT_I32:
        return slice_choose_record<i32>(l);
    case ELEMENT_I64:
        return slice_choose_record<i64>(l);
    case ELEMENT_U8:
        return slice_choose_record<u8>(l);
    case ELEMENT_U16:
        return slice_choose_record<u16>(l);
    case ELEMENT_U32:
        return slice_choose_record<u32>(l);
    case ELEMENT_U64:
        return slice_choose_record<u64>(l);
    case ELEMENT_BOOL:
        return slice_choose_record<truth>(l);
#define CHOOSE(CONSTANT, name, ...) case ELEMENT_##CONSTANT:
        ELEMENT_FLOAT_TABLE(CHOOSE)
        ELEMENT_FLOAT8_TABLE(CHOOSE)
#undef CHOOSE
        break; /* nobody asks for those */
    }
    return {nullptr, 0};
}
