/*
 * Reductions of views of device memory. A context keeps what they need on its devices.
 */
#ifndef GPUREDUCE_LIB_DEVICE_H
#define GPUREDUCE_LIB_DEVICE_H

#include "lib/objects.h"

/* Whether an input is a view of device memory. */
static inline bool device_holds(const gpr_input *input)
{
    return input->in_memory && input->view.memory == GPR_MEMORY_CUDA;
}

/* Sets the error of what, a plural, cannot be done with device memory. Returns its status. */
gpr_status device_refuse(gpr_context *context, const char *what);

/* Reduces `view` of an input that is in device memory: that of the input, or another order of its
   elements. */
gpr_status device_reduce(gpr_input *input, const struct view *view, const gpr_request *request,
                         gpr_result **result);

/* Reduces along an axis, as gpr_reduce_axis does, an input in device memory; the results are in memory
   of its device. */
gpr_status device_reduce_axis(gpr_input *input, const gpr_request *request, unsigned axis,
                              void *const *results, uint64_t count);

#endif
