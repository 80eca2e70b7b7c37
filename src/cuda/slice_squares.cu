/*
 * The kernels of sums and squares of slices, of every type but bool.
 */
#include "config.h"

#include "cuda/slice_squares.cuh"

/* f16: sums of more squares than a few seldom fit directly. */
static struct slice_choice slice_choose_f16(const struct cuda_slice_launch *l)
{
    typedef squared<f16, 0, slice_plain_halves> direct;

    if (l->columns)
        return slice_choose_columns<direct>(l);
    return slice_is_short<direct>(l) ? slice_choose_few<direct>(l)
                                     : slice_choose_many<squared<f16, 16>>(l);
}

struct slice_choice slice_choose_squares(const struct cuda_slice_launch *l)
{
    switch (l->type) {
    case ELEMENT_F32:
        return slice_choose_type<squared<f32, 0>>(l);
    case ELEMENT_F16:
        return slice_choose_f16(l);
    case ELEMENT_BF16:
        return slice_choose_type<squared<bf16, 0, slice_plain_halves>>(l);
    case ELEMENT_I32:
        return slice_choose_type<squared<i32, 32>>(l);
    case ELEMENT_U32:
        return slice_choose_type<squared<u32, 32>>(l);
    case ELEMENT_I16:
        return slice_choose_type<squared<i16, 16, slice_plain_integers>>(l);
    case ELEMENT_U16:
        return slice_choose_type<squared<u16, 16, slice_plain_integers>>(l);
    case ELEMENT_I8:
        return slice_choose_type<squared<i8, 8, slice_plain_integers>>(l);
    case ELEMENT_U8:
        return slice_choose_type<squared<u8, 8, slice_plain_integers>>(l);
    case ELEMENT_F64:
        return slice_choose_type<squared<f64, 0, slice_plain_nothing>>(l);
    case ELEMENT_I64:
        return slice_choose_type<squared<i64, 0, slice_plain_nothing>>(l);
    case ELEMENT_U64:
        return slice_choose_type<squared<u64, 0, slice_plain_nothing>>(l);
    case ELEMENT_F8E4M3:
        return slice_choose_type<squared_f8e4m3>(l);
    case ELEMENT_F8E5M2:
        return slice_choose_type<squared<f8e5m2, 0, slice_plain_bytes>>(l);
    case ELEMENT_BOOL:
        break; /* nobody asks for those */
    }
    return {nullptr, 0};
}
