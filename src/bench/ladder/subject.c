#include "config.h"

#include "bench/ladder/subject.h"

#include <stdlib.h>
#include <string.h>

#include "engine/cuda/kernels.h"
#include "sys/message.h"

/* Results of a reduction are aligned like this, which is what cudaMalloc gives. */
#define ALIGNMENT ((size_t)256)

void subject_close(struct subject *s)
{
    device_release(s->memory);
    free(s->times);
    *s = (struct subject){0};
}

bool subject_open(struct workbench *b, struct subject *s, const struct rung *rung,
                  enum element_type type, uint64_t count, unsigned threads)
{
    bool cub = rung->order == ORDER_ANY || rung->order == ORDER_BINNED;

    *s = (struct subject){
        .rung = rung,
        .launch = {.type = type,
                   .count = count,
                   .threads = threads,
                   .coarsen = b->coarsen,
                   .multiprocessors = b->device.multiprocessors},
        .results = rung->order == ORDER_ROWS ? (count + threads - 1) / threads : 1,
    };
    if (cub && !workbench_make_room_for_cub(b, type, count))
        return false;
    s->size = rung->order == ORDER_EXACT ? sizeof(struct partial)
                                         : s->results * (type == ELEMENT_F64 ? 8 : 4);
    s->stride = (s->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    /* Rows are written, not added to: they need no starting value. */
    s->slots = s->results > 1 ? 1 : SUBJECT_WARM_UPS + SUBJECT_TRIALS + b->repeat;
    s->times = calloc(b->repeat, sizeof *s->times);
    if (!s->times) {
        message_error(EXIT_FAILED, "out of memory");
        return false;
    }
    s->memory = device_allocate(s->stride * s->slots, "results", b->stream);
    return s->memory != NULL;
}

cudaError_t subject_reset(struct workbench *b, struct subject *s, unsigned slots)
{
    struct partial *empty;
    cudaError_t error;

    slots = slots < s->slots ? slots : s->slots;
    s->next = 0;
    error = cudaMemsetAsync(s->memory, 0, s->stride * slots, b->stream);
    if (s->rung->order != ORDER_EXACT || error != cudaSuccess)
        return error;
    empty = malloc(s->stride * slots);
    if (!empty)
        return cudaErrorMemoryAllocation;
    memset(empty, 0, s->stride * slots);
    for (unsigned i = 0; i < slots; i++)
        partial_clear((struct partial *)((unsigned char *)empty + i * s->stride));
    error = cudaMemcpyAsync(s->memory, empty, s->stride * slots, cudaMemcpyHostToDevice, b->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(b->stream);
    free(empty);
    return error;
}

cudaError_t subject_start(struct workbench *b, struct subject *s, unsigned char *data)
{
    bool exact = s->rung->order == ORDER_EXACT;

    /* CUB's memory moves when a later subject needs more. */
    s->launch.temporary = exact ? b->scratch : b->cub_temporary;
    s->launch.temporary_size = exact ? sizeof(struct cuda_scratch) : b->cub_temporary_size;
    s->launch.data = data;
    s->launch.result = s->memory + s->next * s->stride;
    s->next = (s->next + 1) % s->slots;
    return s->rung->launcher(&s->launch, b->stream);
}

double subject_value(const struct subject *s, const void *results, uint64_t i)
{
    return s->launch.type == ELEMENT_F64 ? ((const double *)results)[i]
                                         : (double)((const float *)results)[i];
}

double subject_rate(const struct subject *s, double milliseconds)
{
    const struct rung_launch *l = &s->launch;

    return (double)l->count * (double)element_size(l->type) / milliseconds / 1e6;
}
