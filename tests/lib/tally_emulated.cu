#include "config.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tally_emulated.h" /* of this folder: the rule for .cu knows no -I for tests */

#include "cuda_emulated.cuh"

#define DYNAMIC_SHARED(name) alignas(16) static unsigned char name[EMULATED_TALLY_SHARED]

/* So that small data have many tiles. */
#define TALLY_THREADS 64

#include "cuda/tally_kernels.cuh"

static void run(const void *argument)
{
    const struct tally_choice *c = (const struct tally_choice *)argument;

    c->kernel(c->job);
}

void emulated_tally(const struct cuda_tally_launch *l, unsigned blocks)
{
    const struct tally_choice c = tally_choose(l);
    const size_t tiles = (l->count + c.tile - 1) / c.tile;

    if (c.bytes > EMULATED_TALLY_SHARED)
        abort();
    if (l->plan->kind == TALLY_CELLS && !l->more && !l->fine)
        l->counts[l->size + CUDA_TALLY_KEPT] = 0;
    emulated_grid.x = tiles < blocks ? (unsigned)tiles : blocks;
    emulation_run(emulated_grid.x, 1, TALLY_THREADS, run, &c);
}
