/*
 * Results as they are made.
 */
#ifndef GPUREDUCE_LIB_RESULT_H
#define GPUREDUCE_LIB_RESULT_H

#include "lib/objects.h"

/* Makes a result for the operations of a request, without values. NULL without memory. */
gpr_result *result_new(const gpr_request *request);

/* Sets the values from the partial result, which is of stored numbers of a type and with a scale.
   There are no quantiles, and no histogram. */
void result_round(gpr_result *result, const gpr_request *request, enum element_type type,
                  const struct scale *scale);

/* Adds what a finished pass plan has found: quantiles and a histogram. False without memory. */
bool result_take_passes(gpr_result *result, const struct pass_request *request,
                        const struct pass_plan *plan);

/* Sets everything else of a result whose `found` a session has set, of elements of one type. False
   without memory. */
bool result_take(gpr_result *result);

#endif
