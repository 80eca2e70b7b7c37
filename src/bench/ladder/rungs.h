/*
 * The rungs of the ladder: launchers of reductions from the naive to the library's, with C linkage
 * and plain types only. Each sums the same elements; they differ in how. What each one does, and
 * what it teaches, stands in rung_table.c; the kernels are in rungs.cu, the library's sums in
 * cub.cu.
 *
 * Everything here is asynchronous, on the stream that is given and the device that is current.
 */
#ifndef GPUREDUCE_BENCH_RUNGS_H
#define GPUREDUCE_BENCH_RUNGS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rung_launch {
    enum element_type type;
    void *data;     /* device memory, aligned to 16 bytes; rungs that work in place write to it */
    uint64_t count; /* elements, at least 1 */
    /* Device memory. Rungs that combine segments by atomics add to one element here, which is 0
       before; batched ones write an element a row of `threads` elements. An element is a binary64
       for ELEMENT_F64, else a binary32. */
    void *result;
    /* Of a block: 128, 256, 512 or 1024. The last warp's steps need at least 64, and all need
       powers of two. */
    unsigned threads;
    unsigned coarsen; /* pairs of elements that a thread of `coarsened` adds by itself, > 0 */
    void *temporary;  /* device memory for those that need it, or NULL */
    size_t temporary_size;
    int multiprocessors; /* of the device */
};

/* Starts one reduction. cudaErrorNotSupported where the rung does not know the type or cannot count
   so many elements; otherwise what the launch returned. */
typedef cudaError_t rung_launcher(const struct rung_launch *launch, cudaStream_t stream);

/* Textbook rungs, for f32 and f64: rungs.cu. */
rung_launcher rung_atomic;
rung_launcher rung_vector_atomic;
rung_launcher rung_global_divergent;  /* in place */
rung_launcher rung_global_convergent; /* in place */
rung_launcher rung_shared_divergent;
rung_launcher rung_shared_strided;
rung_launcher rung_sequential;
rung_launcher rung_first_add;
rung_launcher rung_warp_unrolled;
rung_launcher rung_shuffle;
rung_launcher rung_coarsened;
rung_launcher rung_batched_divergent;
rung_launcher rung_batched_strided;

/* cub::DeviceReduce's sum of all types; f16 and bf16 are added up in binary32. */
rung_launcher rung_cub;

/* The same with the determinism gpu_to_gpu, for f32 and f64, up to 2^31 - 1 elements. */
rung_launcher rung_cub_reproducible;

/* Bytes of temporary memory with which either of them works for this type and count. */
cudaError_t rung_cub_temporary(enum element_type type, uint64_t count, size_t *bytes);

/* The version of CUB, as 1000000 * major + 1000 * minor + patch, and whether it has gpu_to_gpu. */
int rung_cub_version(void);
int rung_cub_is_reproducible(void);

#ifdef __cplusplus
}
#endif

#endif
