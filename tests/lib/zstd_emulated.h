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

void emulated_literals(const struct zstd_device_batch *batch, const struct zstd_literals_job *jobs,
                       uint32_t count, const struct zstd_tree *codes);
void emulated_sequences(const struct zstd_device_batch *batch,
                        const struct zstd_sequences_job *jobs, uint32_t count,
                        const struct zstd_counts *tables, struct zstd_sequences_result *results);
void emulated_execute(const struct zstd_device_batch *batch, const struct zstd_execution *blocks,
                      const uint32_t *units, uint32_t unit_count, uint32_t *symbols);
void emulated_resolve(const struct zstd_ring_slice *slice, const uint32_t *symbols, uint32_t wave);
void emulated_copy(const struct zstd_device_batch *batch, const struct zstd_execution *blocks,
                   uint32_t count, uint32_t largest, const struct zstd_ring_slice *slice);
void emulated_hash(const uint8_t *ring, uint64_t ring_size, const struct zstd_hash_job *jobs,
                   uint32_t count, uint32_t *wrong);
void emulated_move(void *to, const void *from, size_t size);

#endif
