/*
 * The part of the emulated CUDA runtime that emulated kernels use.
 */
#ifndef TESTS_CUDA_RUNTIME_EMULATED_H
#define TESTS_CUDA_RUNTIME_EMULATED_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

/* Queues a call of `run` with a copy of its arguments, at most 1280 bytes. */
void emulated_queue(cudaStream_t stream, void (*run)(const void *), const void *arguments,
                    size_t size);

/* There is no device memory left: cudaMalloc fails. */
extern bool emulated_full;

#endif
