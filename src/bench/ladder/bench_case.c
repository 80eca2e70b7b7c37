#include "config.h"

#include "bench/ladder/bench_case.h"

#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cuda/kernels.h"
#include "sys/align.h"

/* The results of each reduction are aligned as cudaMalloc aligns memory. */
#define ALIGNMENT ((size_t)256)

void bench_case_close(struct bench_case *c)
{
    device_release(c->memory);
    free(c->times);
    *c = (struct bench_case){0};
}

bool bench_case_open(struct workbench *b, struct bench_case *c, const struct rung *rung,
                     enum element_type type, uint64_t count, unsigned threads)
{
    bool cub = rung->order == ORDER_ANY || rung->order == ORDER_BINNED;

    *c = (struct bench_case){
        .rung = rung,
        .launch = {.type = type,
                   .count = count,
                   .threads = threads,
                   .coarsen = b->coarsen,
                   .wants = rung->wants,
                   .multiprocessors = b->device.multiprocessors},
        .results = rung->order == ORDER_ROWS ? align_units(count, threads) : 1,
    };
    if (cub && !workbench_reserve_for_cub(b, type, count))
        return false;
    c->size = rung->order == ORDER_EXACT ? sizeof(struct partial)
                                         : c->results * (type == ELEMENT_F64 ? 8 : 4);
    c->stride = align_up(c->size, ALIGNMENT);
    /* Row sums are overwritten, not added to, so they need no starting value and one slot will
       do. */
    c->slots = c->results > 1 ? 1 : CASE_WARM_UPS + CASE_TRIALS + b->repeat;
    c->times = calloc(b->repeat, sizeof *c->times);
    if (!c->times)
        return message_error(EXIT_FAILED, "out of memory");
    c->memory = device_allocate(c->stride * c->slots, "results", b->stream);
    return c->memory != NULL;
}

cudaError_t bench_case_reset(struct workbench *b, struct bench_case *c, unsigned slots)
{
    struct partial *empty;
    cudaError_t error;

    slots = slots < c->slots ? slots : c->slots;
    c->next = 0;
    error = cudaMemsetAsync(c->memory, 0, c->stride * slots, b->stream);
    if (c->rung->order != ORDER_EXACT || error != cudaSuccess)
        return error;
    empty = malloc(c->stride * slots);
    if (!empty)
        return cudaErrorMemoryAllocation;
    memset(empty, 0, c->stride * slots);
    for (unsigned i = 0; i < slots; i++)
        partial_clear((struct partial *)((unsigned char *)empty + i * c->stride));
    error = cudaMemcpyAsync(c->memory, empty, c->stride * slots, cudaMemcpyHostToDevice, b->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(b->stream);
    free(empty);
    return error;
}

cudaError_t bench_case_start(struct workbench *b, struct bench_case *c, unsigned char *data)
{
    bool exact = c->rung->order == ORDER_EXACT;

    /* Not set once in bench_case_open: CUB's memory moves when a later case needs more. */
    c->launch.temporary = exact ? b->scratch : b->cub_temporary;
    c->launch.temporary_size = exact ? sizeof(struct cuda_scratch) : b->cub_temporary_size;
    c->launch.data = data;
    c->launch.result = c->memory + c->next * c->stride;
    c->next = (c->next + 1) % c->slots;
    return c->rung->launcher(&c->launch, b->stream);
}

double bench_case_value(const struct bench_case *c, const void *results, uint64_t i)
{
    return c->launch.type == ELEMENT_F64 ? ((const double *)results)[i]
                                         : (double)((const float *)results)[i];
}

double bench_case_rate(const struct bench_case *c, double milliseconds)
{
    const struct rung_launch *l = &c->launch;

    return (double)l->count * (double)element_size(l->type) / milliseconds / 1e6;
}
