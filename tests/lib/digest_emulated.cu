#include "config.h"

#include "digest_emulated.h" /* of this folder: the rule for .cu knows no -I for tests */

#include "cuda_emulated.cuh"

#include "cuda/digest_kernel.cuh"

static void run(const void *argument)
{
    const struct digest_choice *c = (const struct digest_choice *)argument;

    c->kernel(c->job);
}

void emulated_digest(const struct cuda_launch *l, unsigned blocks)
{
    const struct digest_choice c = digest_choose(l, blocks);
    const uint64_t runs = (c.job.tiles + c.job.run - 1) / c.job.run;

    emulated_grid.x = runs < blocks ? (unsigned)runs : blocks;
    emulation_run(emulated_grid.x, 1, THREADS, run, &c);
}
