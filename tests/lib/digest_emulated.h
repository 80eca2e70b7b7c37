/*
 * The kernel of digests, run on the host: as cuda_digest, but at once, and by so many blocks at most.
 * Needs the headers of CUDA, and nvcc.
 */
#ifndef TESTS_DIGEST_EMULATED_H
#define TESTS_DIGEST_EMULATED_H

#include "cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

void emulated_digest(const struct cuda_launch *launch, unsigned blocks);

#ifdef __cplusplus
}
#endif

#endif
