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
#include "lib/data_gen.h"
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

/* How elements lie apart: in rows of so many steps, each of so many bytes: of units, where the stride is 0, or of
   elements, so many apart. `gap` more steps lie between rows. Units: after so many rows `between` more. */
struct apart {
    size_t step;
    unsigned stride;
    size_t row, gap, rows, between;
};

static inline size_t apart_place(const struct apart *a, size_t i)
{
    const size_t next = a->stride > 0 ? a->stride : 1, row = i / a->row;

    return row * (a->row * next + a->gap) + i % a->row * next +
           (a->rows > 0 ? row / a->rows * a->between : 0);
}

/* Copies bytes to memory, apart, where there is room: nothing says what lies between them. */
static inline bool copy_in_apart(struct cuda_rows *rows, void *to, const unsigned char *from,
                                 size_t size, const struct apart *a)
{
    const size_t steps = (size + a->step - 1) / a->step; /* the last unit may be a part of one */
    const size_t all = (apart_place(a, steps - 1) + 1) * a->step;
    unsigned char *const copies = allocate(all);
    bool good;

    memset(copies, 0xa5, all);
    for (size_t i = 0; i < steps; i++)
        memcpy(copies + apart_place(a, i) * a->step, from + i * a->step,
               size - i * a->step < a->step ? size - i * a->step : a->step);
    *rows = (struct cuda_rows){
        .data = to, .row = cuda_leaps_of(a->row, (int64_t)a->gap), .stride = (int32_t)a->stride};
    if (a->rows > 0)
        rows->block = cuda_leaps_of(a->rows, (int64_t)a->between);
    good = copy_in(to, copies, all);
    free(copies);
    return good;
}

/* Draws how elements of a size lie apart, `bytes` in all, in up to four times as many bytes and 1 KiB more. */
static inline struct apart draw_apart(struct rng *from, size_t size, size_t bytes)
{
    const bool elements = size > 1 && rng_below(from, 2);
    struct apart a = {.step = elements ? size : CUDA_ROWS_UNIT};

    a.stride = elements ? 1 + (unsigned)rng_below(from, 2) : 0;
    a.row = 1 + (size_t)rng_below(from, rng_below(from, 2) ? 20 : bytes / a.step / 2 + 1);
    a.gap = (size_t)rng_below(from, a.row + 1);
    a.rows = elements ? 0 : (size_t)rng_below(from, 4);
    a.between = a.rows > 0 ? (size_t)rng_below(from, a.rows * a.row + 1) : 0;
    return a;
}

#endif
