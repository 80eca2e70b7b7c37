#include "config.h"

#include "lib/cuda_emulation.h"

#include "lib/zstd_emulated.h"

#include "cuda/zstd/copy.cuh"
#include "cuda/zstd/execute.cuh"
#include "cuda/zstd/hash.cuh"
#include "cuda/zstd/literals.cuh"
#include "cuda/zstd/resolve.cuh"
#include "cuda/zstd/sequences.cuh"

const struct gpu_tuning emulated_tuning = {
    .device_bytes = 4 << 10,
    .slices_least = 100,
    .slices_back = 4,
    .batch = 96 << 10,
    .batch_least = 32 << 10,
    .copy_least = 24 << 10,
    .copies = 4,
    .unit = 40000,
    .wave = 30000,
    .one_wave = 60000,
    .hash_max = 40 << 10,
    .hash_jobs = 8,
    .content_bytes = 32 << 10,
};

static uint32_t divide_up(uint32_t x, uint32_t y)
{
    return (x + y - 1) / y;
}

static void literals_body(const void *launch)
{
    zstd_literals_kernel(*(const struct literals_launch *)launch);
}

void emulated_literals(const struct zstd_device_batch *batch, const struct zstd_literals_job *jobs,
                       uint32_t count, const struct zstd_tree *codes)
{
    const struct literals_launch launch = {batch->source, jobs,        count,
                                           codes,         batch->pool, batch->refused};

    emulation_run(divide_up(count, LITERALS_BLOCKS), 1, LITERALS_BLOCKS * 4, literals_body,
                  &launch);
}

static void sequences_body(const void *launch)
{
    zstd_sequences_kernel(*(const struct sequences_launch *)launch);
}

void emulated_sequences(const struct zstd_device_batch *batch,
                        const struct zstd_sequences_job *jobs, uint32_t count,
                        const struct zstd_counts *tables, struct zstd_sequences_result *results)
{
    const struct sequences_launch launch = {batch->source,        jobs,   count, tables,
                                            (uint4 *)batch->pool, results};

    emulation_run(divide_up(count, SEQUENCES_BLOCKS), 1, SEQUENCES_BLOCKS * 4, sequences_body,
                  &launch);
}

static void execute_body(const void *launch)
{
    zstd_execute_kernel(*(const struct execute_launch *)launch);
}

void emulated_execute(const struct zstd_device_batch *batch, const struct zstd_execution *blocks,
                      const uint32_t *units, uint32_t unit_count, uint32_t *symbols)
{
    const struct execute_launch launch = {batch->source, batch->pool, (const uint4 *)batch->pool,
                                          blocks,        units,       symbols,
                                          batch->refused};

    emulation_run(unit_count, 1, EXECUTE_THREADS, execute_body, &launch);
}

static void resolve_body(const void *launch)
{
    zstd_resolve_kernel(*(const struct resolve_launch *)launch);
}

void emulated_resolve(const struct zstd_ring_slice *slice, const uint32_t *symbols, uint32_t wave)
{
    for (uint32_t begin = 0; begin < slice->size;) {
        const uint32_t end = slice->size - begin > wave ? begin + wave : slice->size;
        const struct resolve_launch launch = {symbols,      slice->ring, slice->ring_size,
                                              slice->begin, begin,       end};

        emulation_run(divide_up(end - begin, RESOLVE_THREADS * RESOLVE_SYMBOLS), 1, RESOLVE_THREADS,
                      resolve_body, &launch);
        begin = end;
    }
}

static void copy_body(const void *launch)
{
    zstd_copy_kernel(*(const struct copy_launch *)launch);
}

void emulated_copy(const struct zstd_device_batch *batch, const struct zstd_execution *blocks,
                   uint32_t count, uint32_t largest, const struct zstd_ring_slice *slice)
{
    const struct copy_launch launch = {batch->source, batch->pool,      blocks,
                                       slice->ring,   slice->ring_size, slice->begin};

    emulation_run(count, divide_up(largest, COPY_BYTES), COPY_THREADS, copy_body, &launch);
}

static void hash_body(const void *launch)
{
    zstd_hash_kernel(*(const struct hash_launch *)launch);
}

void emulated_hash(const uint8_t *ring, uint64_t ring_size, const struct zstd_hash_job *jobs,
                   uint32_t count, uint32_t *wrong)
{
    const struct hash_launch launch = {ring, ring_size, jobs, wrong};

    emulation_run(count, 1, HASH_THREADS, hash_body, &launch);
}

struct move_launch {
    uint32_t *to;
    const uint32_t *from;
    size_t words;
};

static void move_body(const void *launch)
{
    const struct move_launch *l = launch;

    zstd_move_kernel(l->to, l->from, l->words);
}

void emulated_move(void *to, const void *from, size_t size)
{
    const struct move_launch launch = {to, from, size / 4};

    emulation_run(divide_up((uint32_t)launch.words, MOVE_WORDS), 1, COPY_THREADS, move_body,
                  &launch);
}
