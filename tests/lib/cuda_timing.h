/*
 * How long a GPU takes.
 */
#ifndef GPUREDUCE_TESTS_CUDA_TIMING_H
#define GPUREDUCE_TESTS_CUDA_TIMING_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "cuda/kernels.h"

struct cuda_timing {
    cudaStream_t stream;
    cudaEvent_t events[2];
};

/* The operation to measure: starts it on the stream. */
typedef cudaError_t cuda_timed(const void *launch, cudaStream_t stream);

/* False on failure. */
static inline bool cuda_timing_open(struct cuda_timing *t)
{
    return !cudaStreamCreate(&t->stream) && !cudaEventCreate(&t->events[0]) &&
           !cudaEventCreate(&t->events[1]);
}

/* The median of some runs, milliseconds; one run goes before. Negative on failure. */
static inline double cuda_timing_median(const struct cuda_timing *t, cuda_timed *timed,
                                        const void *launch)
{
    enum { TIMES = 21 };
    float times[TIMES];

    for (int i = -1; i < TIMES; i++) {
        cudaError_t error = cudaEventRecord(t->events[0], t->stream);
        float time;
        int at = i;

        if (!error)
            error = timed(launch, t->stream);
        if (error || cudaEventRecord(t->events[1], t->stream) ||
            cudaEventSynchronize(t->events[1]) ||
            cudaEventElapsedTime(&time, t->events[0], t->events[1]))
            return -1;
        for (; at > 0 && times[at - 1] > time; at--)
            times[at] = times[at - 1];
        if (i >= 0)
            times[at] = time;
    }
    return times[TIMES / 2];
}

/* Starts a reduction of all elements (struct cuda_launch). */
static inline cudaError_t cuda_timed_reduce(const void *launch, cudaStream_t stream)
{
    return cuda_reduce(launch, stream);
}

#endif
