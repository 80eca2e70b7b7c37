/*
 * Memory that kernels under test work on: with TEST_CUDA the first GPU's, otherwise the host's,
 * where they are emulated. Needs the headers of CUDA. Not thread safe.
 */
#ifndef TESTS_KERNEL_MEMORY_H
#define TESTS_KERNEL_MEMORY_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/rows.h"
#include "engine/engine.h"
#include "lib/allocate.h"
#include "lib/tap.h"

#ifdef TEST_CUDA

/* Makes a context. False where there is no GPU that can be used, and then says why, as
   kernel_allocate does. */
static inline bool kernel_open(char reason[ENGINE_REASON_MAX])
{
    const int devices[] = {0};
    const struct engine_needs needs = {.devices = devices, .device_count = 1, .workers = 1};

    return engine_cuda.open(&needs, reason);
}

/* So many bytes; NULL where there are none. They are freed with the process. */
static inline void *kernel_allocate(size_t size, char reason[ENGINE_REASON_MAX])
{
    void *memory = NULL;
    cudaError_t error = cudaMalloc(&memory, size);

    if (error)
        snprintf(reason, ENGINE_REASON_MAX, "device memory: %s", cudaGetErrorString(error));
    return error ? NULL : memory;
}

/* Makes bytes zeros. False when it failed, as below. */
static inline bool kernel_clear(void *memory, size_t size)
{
    return cudaMemset(memory, 0, size) == cudaSuccess;
}

/* From the host. */
static inline bool copy_in(void *to, const void *from, size_t size)
{
    return cudaMemcpy(to, from, size, cudaMemcpyHostToDevice) == cudaSuccess;
}

/* To the host. */
static inline bool copy_out(void *to, const void *from, size_t size)
{
    return cudaMemcpy(to, from, size, cudaMemcpyDeviceToHost) == cudaSuccess;
}

/* Waits for a kernel, of which launching it has returned this; whether it ran. Notes why not. */
static inline bool kernel_ran(cudaError_t error)
{
    if (!error)
        error = cudaDeviceSynchronize();
    if (error)
        tap_note("%s", cudaGetErrorString(error));
    return error == cudaSuccess;
}

#else

static inline bool kernel_open(char reason[ENGINE_REASON_MAX])
{
    (void)reason;
    return true;
}

static inline void *kernel_allocate(size_t size, char reason[ENGINE_REASON_MAX])
{
    (void)reason;
    return allocate(size);
}

static inline bool kernel_clear(void *memory, size_t size)
{
    memset(memory, 0, size);
    return true;
}

static inline bool copy_in(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
    return true;
}

static inline bool copy_out(void *to, const void *from, size_t size)
{
    return copy_in(to, from, size);
}

#endif

/* Copies bytes to memory as rows of so many units, or words, `gap` of them apart: there is room for them. Nothing
   says what lies between them. */
static inline bool copy_in_apart(struct cuda_rows *rows, void *to, const unsigned char *from,
                                 size_t size, bool words, size_t row, size_t gap)
{
    const size_t step = words ? sizeof(uint32_t) : CUDA_ROWS_UNIT;
    const size_t bytes = row * step, pitch = (row + gap) * step;
    const size_t whole = size / bytes, all = whole * pitch + size % bytes;
    unsigned char *const apart = allocate(all + 1);
    bool good;

    memset(apart, 0xa5, all);
    for (size_t i = 0; i <= whole; i++)
        memcpy(apart + i * pitch, from + i * bytes, i < whole ? bytes : size % bytes);
    *rows = cuda_rows_apart(to, words, row, (int64_t)(row + gap));
    good = copy_in(to, apart, all);
    free(apart);
    return good;
}

#endif
