/*
 * The kernels of tallies of engine/cuda, run on the host: as cuda_tally, but at once, and by so
 * many blocks. Needs the headers of CUDA, and nvcc.
 */
#ifndef TESTS_TALLY_EMULATED_H
#define TESTS_TALLY_EMULATED_H

#include "engine/cuda/tally_launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At most this much shared memory can be asked for, bytes. */
#define EMULATED_TALLY_SHARED ((size_t)227 << 10)

void emulated_tally(const struct cuda_tally_launch *launch, unsigned blocks);

#ifdef __cplusplus
}
#endif

#endif
