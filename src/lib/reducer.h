/*
 * The reducer of a context: threads and engines, which are kept from one call to the next, and the
 * functions of the caller that are told of warnings and of progress.
 *
 * Small views are reduced on the calling thread, without any other: a call on 1000 elements takes
 * about a microsecond. All else is reduced by a session (run/session.h).
 */
#ifndef GPUREDUCE_LIB_REDUCER_H
#define GPUREDUCE_LIB_REDUCER_H

#include "lib/objects.h"

struct reducer;

/* Joins all threads and frees the reducer. NULL is allowed. */
void reducer_close(struct reducer *r);

/* Reduces an input. */
gpr_status reducer_reduce(gpr_input *input, const gpr_request *request, gpr_result **result);

#endif
