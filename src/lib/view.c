/*
 * Views: memory of the caller.
 */
#include "config.h"

#include "core/view.h"

#include <stdlib.h>

#include "lib/objects.h"
#include "sys/float_mode.h"

gpr_status gpr_view_new(gpr_context *context, gpr_view **view)
{
    gpr_view *made = calloc(1, sizeof *made);

    lib_begin(context);
    if (!made)
        return lib_fail_memory(context);
    made->context = context;
    made->memory = GPR_MEMORY_HOST;
    (void)view_set(&made->view, NULL, ELEMENT_F32, false, 1, &(const uint64_t){0}, NULL);
    *view = made;
    return GPR_OK;
}

void gpr_view_free(gpr_view *view)
{
    free(view);
}

gpr_status gpr_view_set_data(gpr_view *view, const void *data, const char *dtype, gpr_order order,
                             unsigned rank, const uint64_t *shape, const int64_t *strides)
{
    gpr_context *context = view->context;
    struct view made = view->view;
    enum element_type type;
    bool swap;

    lib_begin(context);
    if (lib_parse_type(context, dtype, &type) != GPR_OK ||
        lib_parse_order(context, order, &swap) != GPR_OK)
        return context->status;
    if (rank > VIEW_DIMENSIONS_MAX)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "at most %d dimensions", VIEW_DIMENSIONS_MAX);
    if (!view_set(&made, data, type, swap, rank, shape, strides))
        return lib_fail(context, GPR_ERROR_ARGUMENT, "the view has more than 2^63 - 1 bytes");
    if (!data && made.elements > 0)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "the view has elements, but no address");
    view->view = made;
    return GPR_OK;
}

SAME_NUMBER(GPR_MASK_MISSING_BYTES, VIEW_MASK_MISSING_BYTES);
SAME_NUMBER(GPR_MASK_VALID_BYTES, VIEW_MASK_VALID_BYTES);
SAME_NUMBER(GPR_MASK_VALID_BITS, VIEW_MASK_VALID_BITS);

gpr_status gpr_view_set_mask(gpr_view *view, gpr_mask form, const void *mask, uint64_t offset)
{
    gpr_context *context = view->context;
    const enum view_mask mask_form = (enum view_mask)form;

    lib_begin(context);
    if ((int)form < GPR_MASK_NONE || form > GPR_MASK_VALID_BITS)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "no form of masks has the number %d",
                        (int)form);
    if (mask_form != VIEW_MASK_NONE && !mask)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "the mask has no address");
    if (offset > INT64_MAX)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "the offset of a mask is at most 2^63 - 1");
    view->view.mask_form = mask_form;
    view->view.mask = mask_form == VIEW_MASK_NONE ? NULL : mask;
    view->view.mask_offset = offset;
    return GPR_OK;
}

gpr_status gpr_view_set_scale(gpr_view *view, double scale, double offset)
{
    FLOAT_MODE_DEFAULT;
    const struct scale none = {.given = false};
    const struct scale given = {.given = true, .factor = scale, .offset = offset};
    const char *refusal = scale_refusal(&given);

    lib_begin(view->context);
    if (refusal)
        return lib_fail(view->context, GPR_ERROR_ARGUMENT, "%s", refusal);
    view->view.scale = scale == 1 && offset == 0 ? none : given;
    return GPR_OK;
}

gpr_status gpr_view_set_memory(gpr_view *view, gpr_memory memory, int ordinal, void *stream)
{
    lib_begin(view->context);
    if (memory != GPR_MEMORY_HOST && memory != GPR_MEMORY_CUDA)
        return lib_fail(view->context, GPR_ERROR_ARGUMENT, "no memory has the number %d",
                        (int)memory);
    if (memory == GPR_MEMORY_CUDA && ordinal < 0)
        return lib_fail(view->context, GPR_ERROR_ARGUMENT, "devices have numbers from 0 on");
    view->memory = memory;
    view->ordinal = memory == GPR_MEMORY_CUDA ? ordinal : 0;
    view->stream = memory == GPR_MEMORY_CUDA ? stream : NULL;
    return GPR_OK;
}
