/*
 * The interface of the zstd decoder's kernels for its host: launchers with C linkage. Everything
 * here is asynchronous, on the stream that is given and the device that is current. Device memory
 * is the caller's; all jobs have been checked (jobs.h).
 */
#ifndef GPUREDUCE_CUDA_ZSTD_KERNELS_H
#define GPUREDUCE_CUDA_ZSTD_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/zstd/jobs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Decodes literals. */
cudaError_t zstd_launch_literals(const struct zstd_literals_launch *launch, cudaStream_t stream);

/* Decodes sequences. */
cudaError_t zstd_launch_sequences(const struct zstd_sequences_launch *launch, cudaStream_t stream);

/* Executes units of blocks into symbols. */
cudaError_t zstd_launch_execute(const struct zstd_execute_launch *launch, cudaStream_t stream);

/* Resolves the symbols of a slice, in waves of so many bytes. */
cudaError_t zstd_launch_resolve(const struct zstd_ring_slice *slice, const uint32_t *symbols,
                                uint32_t wave, cudaStream_t stream);

/* Copies a slice whose blocks have no sequences. */
cudaError_t zstd_launch_copy(const struct zstd_copy_launch *launch, cudaStream_t stream);

/* Verifies the checksums of frames. */
cudaError_t zstd_launch_hash(const struct zstd_hash_launch *launch, cudaStream_t stream);

/* Copies `size` bytes, a multiple of 4, between the device and pinned memory of the host, without
   the engines that are busy with large copies. */
cudaError_t zstd_launch_move(void *to, const void *from, size_t size, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
