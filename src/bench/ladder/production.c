/*
 * The production kernel as a rung: it merges the elements into launch->result, a struct partial;
 * launch->temporary is its scratch.
 */
#include "config.h"

#include "bench/ladder/rungs.h"
#include "cuda/kernels.h"

cudaError_t rung_production(const struct rung_launch *l, cudaStream_t stream)
{
    struct cuda_launch launch = {
        .type = l->type,
        .wants = l->wants,
        .rows.data = l->data,
        .count = l->count,
        .partial = l->result,
        .scratch = l->temporary,
        .multiprocessors = l->multiprocessors,
    };

    return cuda_reduce(&launch, stream);
}
