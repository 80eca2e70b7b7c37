#include "config.h"

#include "zstd/budget.h"

#include "sys/mapping.h"
#include "zstd/frames.h"
#include "zstd/small.h"

/* Resident memory is to stay under 256 MiB. This is what all workers together may take of it for
   what they decode into, for the input they keep mapped, and for libzstd's tables and an engine's
   buffer: WORKER_BYTES each. */
#define MEMORY_BUDGET ((uint64_t)246 << 20)
#define WORKER_BYTES ((uint64_t)512 << 10)

/* Frames that hold more are large, or less where the workers are many. 8 MiB are what pzstd makes
   them at its usual levels. */
#ifndef ZSTD_SMALL_MAX
#    define ZSTD_SMALL_MAX ((uint64_t)8 << 20)
#endif
#define SMALL_MIN ((uint64_t)256 << 10 < ZSTD_SMALL_MAX ? (uint64_t)256 << 10 : ZSTD_SMALL_MAX)

/* Compressed bytes made present, and released, at a time; fewer where the workers are many.
   MADV_DONTNEED costs a TLB shootdown on every core. Up to twice as many are present for a worker,
   and of frames that are decoded in one call all. */
#define STEP_MAX ((uint64_t)2 << 20)
#define STEP_MIN ((uint64_t)256 << 10)
#define PRESENT_BUDGET ((uint64_t)64 << 20)

static uint64_t clamp(uint64_t x, uint64_t least, uint64_t most)
{
    return x < least ? least : x > most ? most : x;
}

struct zstd_budget zstd_budget(unsigned workers)
{
    uint64_t share = MEMORY_BUDGET / workers, step, fixed, small_max;

    step = clamp(PRESENT_BUDGET / 2 / workers, STEP_MIN, STEP_MAX);
    step -= step % mapping_page();
    fixed = WORKER_BYTES + ZSTD_SMALL_BEHIND + 2 * step;
    small_max = clamp(share > fixed ? share - fixed : 0, SMALL_MIN, ZSTD_SMALL_MAX);
    small_max -= small_max % ZSTD_BLOCK_CONTENT_MAX;
    return (struct zstd_budget){
        .small_max = small_max,
        .step = step,
        .extra = share > fixed + small_max ? (share - fixed - small_max) * workers : 0};
}
