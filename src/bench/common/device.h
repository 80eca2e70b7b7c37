/*
 * The GPU that gpureduce-bench measures: finding it, what is known of it, and its memory. For the
 * ladder and the limits.
 *
 * The device that device_use has made current is that of the calling thread. Memory belongs to who
 * allocated it.
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
    double peak;        /* of its memory, bytes a second; 0 when not known */
    double additions32; /* of binary32, a second */
    double additions64; /* of binary64 */
    size_t cache;       /* bytes of level 2 */
};

/* Room for why there is no GPU to use. */
#define DEVICE_WHY_MAX 256

/* Makes the device of this number, as the CUDA runtime counts, current and ready to use. False when
   it cannot be; `why` says why, and nothing has been printed. */
bool device_use(uint64_t number, char why[DEVICE_WHY_MAX]);

/* Asks the device of this number what it is. False when it does not say, which has been said. */
bool device_describe(struct device *d, int number);

/* Whether a CUDA call went well; says that `what` failed, and why, when not. */
bool device_check(cudaError_t error, const char *what);

/* `size` bytes of memory of the current device, to be zero before what is queued on the stream
   next. NULL when there is no such memory, which has been said; `what` is what it is for, in the
   plural or with an article. */
void *device_allocate(size_t size, const char *what, cudaStream_t stream);

/* Takes NULL, too. */
void device_release(void *memory);

#endif
