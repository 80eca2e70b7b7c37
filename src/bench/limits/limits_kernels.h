/*
 * What limits.cu offers: a launcher with C linkage.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_KERNELS_H
#define GPUREDUCE_BENCH_LIMITS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads `size` bytes of device memory, a multiple of 16 and not 0, below 2^46, aligned to 16 bytes,
   by `blocks` blocks of 256 threads; 0 for as many as there are pieces of 32 KiB. `sink` is a word
   of device memory. Asynchronous, on the stream that is given. */
cudaError_t limits_read(const void *data, size_t size, unsigned blocks, unsigned *sink,
                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
