/*
 * The kernels of the zstd decoder on GPUs, run on the host (cuda_emulation.h) to their end: each
 * function stands for the launcher of cuda/zstd/kernels.h of that name. Not thread safe.
 */
#ifndef TESTS_ZSTD_EMULATED_H
#define TESTS_ZSTD_EMULATED_H

#include <stddef.h>

#include "cuda/zstd/jobs.h"
#include "engine/gpu_tuning.h"

/* Sizes so small that small files have many units, waves, batches and pieces. */
extern const struct gpu_tuning emulated_tuning;

void emulated_literals(const struct zstd_literals_launch *launch);
void emulated_sequences(const struct zstd_sequences_launch *launch);
void emulated_execute(const struct zstd_execute_launch *launch);
void emulated_resolve(const struct zstd_ring_slice *slice, const uint32_t *symbols, uint32_t wave);
void emulated_copy(const struct zstd_copy_launch *launch);
void emulated_hash(const struct zstd_hash_launch *launch);
void emulated_move(void *to, const void *from, size_t size);

#endif
