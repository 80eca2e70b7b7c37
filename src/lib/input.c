/*
 * Inputs, and reductions of them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/objects.h"
#include "lib/reducer.h"

/* Makes an input of this name. NULL without memory. */
static gpr_input *make(gpr_context *context, const char *path)
{
    gpr_input *made = calloc(1, sizeof *made);
    char *kept = strdup(path);

    if (!made || !kept) {
        free(made);
        free(kept);
        return NULL;
    }
    made->context = context;
    made->path = kept;
    return made;
}

gpr_status gpr_open_view(gpr_context *context, const gpr_view *view, gpr_input **input)
{
    gpr_input *made;

    lib_begin(context);
    if (view->memory != GPR_MEMORY_HOST)
        return lib_fail(context, GPR_ERROR_UNSUPPORTED, "device memory is not supported here");
    made = make(context, "memory");
    if (!made)
        return lib_fail_memory(context);
    made->in_memory = true;
    made->view = *view;
    made->reordered = !view->view.contiguous && view->view.mask_form == VIEW_MASK_NONE;
    if (made->reordered) {
        made->fast = view->view;
        view_reorder(&made->fast);
    }
    *input = made;
    return GPR_OK;
}

void gpr_close(gpr_input *input)
{
    if (!input)
        return;
    free(input->path);
    free(input);
}

size_t gpr_input_arrays(const gpr_input *input)
{
    (void)input;
    return 1;
}

const char *gpr_input_format(const gpr_input *input)
{
    (void)input;
    return "memory";
}

const char *gpr_array_name(const gpr_input *input, size_t array)
{
    (void)input;
    (void)array;
    return "";
}

const char *gpr_array_dtype(const gpr_input *input, size_t array)
{
    (void)array;
    return element_name(input->view.view.type);
}

const char *gpr_array_why_unreadable(const gpr_input *input, size_t array)
{
    (void)input;
    (void)array;
    return NULL;
}

unsigned gpr_array_shape(const gpr_input *input, size_t array, unsigned rank, uint64_t *shape)
{
    const struct view_layout *shaped = &input->view.view.shaped;

    (void)array;
    for (unsigned i = 0; i < rank && i < shaped->rank; i++)
        shape[i] = shaped->sizes[i];
    return shaped->rank;
}

uint64_t gpr_array_count(const gpr_input *input, size_t array)
{
    (void)array;
    return input->view.view.elements;
}

gpr_status gpr_reduce(gpr_input *input, size_t array, const gpr_request *request,
                      gpr_result **result)
{
    gpr_context *context = input->context;

    lib_begin(context);
    if (array >= gpr_input_arrays(input))
        return lib_fail(context, GPR_ERROR_ARGUMENT, "the input has no array number %zu", array);
    if (request->operations.count == 0 && request->passes.histogram.kind == HISTOGRAM_NONE)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "the request is for nothing");
    return reducer_reduce(input, request, result);
}
