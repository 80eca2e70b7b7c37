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
    zstd_literals_kernel(*(const struct zstd_literals_launch *)launch);
}

void emulated_literals(const struct zstd_literals_launch *launch)
{
    emulation_run(divide_up(launch->count, LITERALS_BLOCKS), 1, LITERALS_BLOCKS * 4, literals_body,
                  launch);
}

static void sequences_body(const void *launch)
{
    zstd_sequences_kernel(*(const struct zstd_sequences_launch *)launch);
}

void emulated_sequences(const struct zstd_sequences_launch *launch)
{
    emulation_run(divide_up(launch->count, SEQUENCES_BLOCKS), 1, SEQUENCES_BLOCKS * 4,
                  sequences_body, launch);
}

static void execute_body(const void *launch)
{
    zstd_execute_kernel(*(const struct zstd_execute_launch *)launch);
}

void emulated_execute(const struct zstd_execute_launch *launch)
{
    emulation_run(launch->unit_count, 1, EXECUTE_THREADS, execute_body, launch);
}

static void resolve_body(const void *launch)
{
    zstd_resolve_kernel(*(const struct resolve_launch *)launch);
}

void emulated_resolve(const struct zstd_ring_slice *slice, const uint32_t *symbols, uint32_t wave)
{
    for (uint32_t begin = 0; begin < slice->size;) {
        const uint32_t end = slice->size - begin > wave ? begin + wave : slice->size;
        const struct resolve_launch launch = {*slice, symbols, begin, end};

        emulation_run(divide_up(end - begin, RESOLVE_THREADS * RESOLVE_SYMBOLS), 1, RESOLVE_THREADS,
                      resolve_body, &launch);
        begin = end;
    }
}

static void copy_body(const void *launch)
{
    zstd_copy_kernel(*(const struct zstd_copy_launch *)launch);
}

void emulated_copy(const struct zstd_copy_launch *launch)
{
    emulation_run(launch->count, divide_up(launch->largest, COPY_BYTES), COPY_THREADS, copy_body,
                  launch);
}

static void hash_body(const void *launch)
{
    zstd_hash_kernel(*(const struct zstd_hash_launch *)launch);
}

void emulated_hash(const struct zstd_hash_launch *launch)
{
    emulation_run(launch->count, 1, HASH_THREADS, hash_body, launch);
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
