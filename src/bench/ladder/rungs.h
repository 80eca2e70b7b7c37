/*
 * The launchers of the rungs: reductions from the naive to the library's, with C linkage and plain
 * types only. Each sums the same elements; they differ in how. rungs.def says how, and what it
 * teaches. The textbook kernels are in rungs.cu, the library's sums in cub.cu, the production
 * kernel is called in production.c.
 *
 * Everything here is asynchronous, on the stream that is given and the device that is current, and
 * prints nothing.
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
       before. Batched rungs write an element for each row of `threads` elements. An element is a
       binary64 for ELEMENT_F64, else a binary32. The production kernel merges into a struct
       partial. */
    void *result;
    /* Threads of a block: 128, 256, 512 or 1024. The last warp's steps need at least 64, and all
       rungs need a power of two. */
    unsigned threads;
    unsigned coarsen; /* pairs of elements that a thread of `coarsened` adds by itself, > 0 */
    unsigned wants;   /* of the production kernel: partial_want bits */
    void *temporary;  /* device memory for rungs that need it, or NULL */
    size_t temporary_size;
    int multiprocessors; /* of the device */
};

/* Starts one reduction. Returns cudaErrorNotSupported if the rung does not know the type or cannot
   count so many elements; otherwise the result of the launch. */
typedef cudaError_t rung_launcher(const struct rung_launch *launch, cudaStream_t stream);

/* rung_atomic and so on, a launcher for each row. */
#define RUNG(name, ...) rung_launcher rung_##name;
#include "bench/ladder/rungs.def"
#undef RUNG

/* Sets *bytes to the size of the temporary memory that CUB's sums need for this type and count. */
cudaError_t rung_cub_temporary(enum element_type type, uint64_t count, size_t *bytes);

/* The version of CUB, as 1000000 * major + 1000 * minor + patch, and whether it has gpu_to_gpu. */
int rung_cub_version(void);
int rung_cub_is_reproducible(void);

#ifdef __cplusplus
}
#endif

#endif
