/*
 * The kernel of digests (core/digest.h), as kernels.h does: of elements in device memory, at their
 * places in an array.
 */
#ifndef GPUREDUCE_CUDA_DIGEST_LAUNCH_H
#define GPUREDUCE_CUDA_DIGEST_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/partial.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Device memory that launches of one stream share. All zero before the first, and after each. */
struct cuda_digest_scratch {
    unsigned long long digits[4]; /* of the blocks' sums, of base 2^32: sums of them */
    unsigned long long nan, positive_infinity, negative_infinity;
    unsigned long long before_nan; /* the complement of the first NaN's index; 0 for none */
    unsigned ticket;               /* blocks of the current launch that have ended */
};

struct cuda_digest_launch {
    enum element_type type;
    bool swap;               /* elements are not in the machine's byte order */
    bool counts;             /* elements, NaNs and infinities are counted, too */
    const void *data;        /* device memory, of any alignment */
    size_t count;            /* elements, at least 1 and below 2^40 */
    uint64_t index;          /* of the first */
    struct partial *partial; /* device memory; the digest is added to its own */
    struct cuda_digest_scratch *scratch;
    int multiprocessors; /* of the device */
};

/* Asynchronous, on the stream that is given and the device that is current. */
cudaError_t cuda_digest(const struct cuda_digest_launch *launch, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
