/*
 * The launcher of the kernel that reads device memory, with C linkage.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_KERNELS_H
#define GPUREDUCE_BENCH_LIMITS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads `size` bytes of device memory, aligned to 16 bytes. size is a multiple of 16, above 0 and
   below 2^46. There are `blocks` blocks of 256 threads, or a block for each 32 KiB if that is 0.
   `sink` is a word of device memory. Asynchronous, on the stream that is given. */
cudaError_t limits_read(const void *data, size_t size, unsigned blocks, unsigned *sink,
                        cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
