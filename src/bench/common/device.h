/*
 * The GPU that gpureduce-bench measures: how to find it, its properties, and its memory. For the
 * ladder and the limits.
 *
 * device_use makes a device current for the calling thread; all functions below use that one. The
 * caller owns the memory. Functions that fail have printed why, except device_use.
 */
#ifndef GPUREDUCE_BENCH_DEVICE_H
#define GPUREDUCE_BENCH_DEVICE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device {
    char name[256];
    int multiprocessors;
    double peak;        /* of its memory, bytes per second; 0 when not known */
    double additions32; /* of binary32, per second */
    double additions64; /* of binary64, per second */
    size_t cache;       /* of level 2, bytes */
};

/* The size of an array for the reason why there is no GPU to use. */
#define DEVICE_WHY_MAX 256

/* Makes the device of this number, as the CUDA runtime counts, current and ready to use. On failure
   returns false and writes the reason to `why`; prints nothing. */
bool device_use(uint64_t number, char why[DEVICE_WHY_MAX]);

/* Asks the device of this number for its properties. */
bool device_describe(struct device *d, int number);

/* Whether a CUDA call succeeded. If not, prints that `what` failed, and why. */
bool device_check(cudaError_t error, const char *what);

/* Allocates `size` bytes of memory of the current device. Work that is queued on the stream from
   now on finds it zero. NULL when there is not enough; the message then says that `what`, in the
   plural or with an article, takes too much. */
void *device_allocate(size_t size, const char *what, cudaStream_t stream);

/* `memory` may be NULL. */
void device_release(void *memory);

#endif
