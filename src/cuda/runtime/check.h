/*
 * The outcome of a call of the CUDA runtime.
 */
#ifndef GPUREDUCE_CUDA_CHECK_H
#define GPUREDUCE_CUDA_CHECK_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "engine/engine.h"

/* Returns whether a call succeeded; if not, writes what was being done (`what`: "creating a
   stream") and why it failed to `reason`. */
bool cuda_check(cudaError_t error, const char *what, char reason[ENGINE_REASON_MAX]);

/* Writes that there is no memory. Returns false. */
bool cuda_no_memory(char reason[ENGINE_REASON_MAX]);

#endif
