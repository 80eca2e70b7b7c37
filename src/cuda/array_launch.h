/*
 * The kernel that hands the host a partial result (array.h), as kernels.h does.
 */
#ifndef GPUREDUCE_CUDA_ARRAY_LAUNCH_H
#define GPUREDUCE_CUDA_ARRAY_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "core/partial.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the host that a device writes to. */
struct cuda_published {
    struct partial partial;
    uint64_t number; /* of the launch after which `partial` was written; written last */
};

/* All but `to` is device memory. */
struct cuda_publish {
    const struct partial *from;
    struct cuda_published *to; /* as the device sees it */
    unsigned words;            /* of `from` that are copied, of 8 bytes; the rest of `to` stays */
    uint64_t number;
    const struct partial *cleared; /* one of no elements */
    struct partial *clear;         /* to be made one of no elements; NULL: nothing is */
};

/* Asynchronous, on the stream that is given and the device that is current. */
cudaError_t cuda_publish(const struct cuda_publish *publish, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
