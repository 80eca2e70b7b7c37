/*
 * Reductions of views of device memory. A context keeps what they need on its devices.
 */
#ifndef GPUREDUCE_LIB_DEVICE_H
#define GPUREDUCE_LIB_DEVICE_H

#include "lib/objects.h"
#include "run/diff_item.h"

/* Whether an input is a view of device memory. */
static inline bool device_holds(const gpr_input *input)
{
    return input->in_memory && input->view.memory == GPR_MEMORY_CUDA;
}

/* Sets the error of what, a plural, cannot be done with device memory. Returns its status. */
gpr_status device_refuse(gpr_context *context, const char *what);

/* Whether a view of device memory has so few elements that the host reduces a copy of them for a request, which
   takes less than kernels. */
bool device_is_copied(const gpr_input *input, const struct view *view, const gpr_request *request);

/* Makes *copy an input in memory of the host with the elements of a view in device memory of `input`, until the
   next copy; it is not closed. */
gpr_status device_copy(const gpr_input *input, const struct view *view, gpr_input *copy);

/* Reduces `view` of an input that is in device memory: that of the input, or another order of its
   elements. */
gpr_status device_reduce(gpr_input *input, const struct view *view, const gpr_request *request,
                         gpr_result **result);

/* A side of a comparison that is in device memory, as it sees that. */
struct device_side {
    struct cuda_comparer *comparer;
    struct cuda_array_elements elements;
    struct missing missing;
    struct view view;
    struct view_remote remote;
};

/* Prepares a comparison of inputs, some of which may be in device memory, and waits for the streams of
   these. `sides`, of which those in host memory are not set, must remain until it has ended. Two whose
   bits tell whether elements are equal are compared on their device; others are copied to the host. */
gpr_status device_prepare(struct device_side sides[DIFF_SIDES], gpr_input *const inputs[DIFF_SIDES],
                          struct session_options options[DIFF_SIDES], struct diff_request *job);

/* Reduces along an axis, as gpr_reduce_axis does, an input in device memory; the results are in memory
   of its device. */
gpr_status device_reduce_axis(gpr_input *input, const gpr_request *request, unsigned axis,
                              void *const *results, uint64_t count);

#endif
