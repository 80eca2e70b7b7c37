/*
 * The CPU engine: a worker is a buffer that stays in the level-2 cache, and a reducer.
 */
#include "config.h"

#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cpu/kernel.h"
#include "sys/clock.h"

/* Bytes. A quarter of the smallest level-2 caches of servers: a chunk that was read is still there
   when it is reduced, and a read of this size costs little more than larger ones. */
#define CHUNK_BYTES ((size_t)256 << 10)

/* Pages in place are released after use, and MADV_DONTNEED costs a TLB shootdown on every core: the
   larger the piece, the fewer. 16 threads read 93 GB/s in pieces of 1 MiB, 169 in 8 MiB; two
   threads gain a tenth from 8 to 32 MiB. */
#define IN_PLACE_BYTES ((size_t)32 << 20)

#define ALIGNMENT 64

/* Bytes. Elements of the other byte order are swapped in pieces of this size: the level-2 cache
   holds one, and the end of a chunk costs little beside it. */
#define SWAP_BYTES ((size_t)128 << 10)

struct engine_state {
    const struct cpu_kernels *kernels;
};

struct engine_worker {
    struct cpu_reducer reducer;
    unsigned char *buffer;
    size_t size;
    unsigned char *swapped; /* SWAP_BYTES, only for a foreign byte order */
    uint64_t reduce_time;
};

static struct engine_state *cpu_open(const struct engine_needs *needs,
                                     char reason[ENGINE_REASON_MAX])
{
    struct engine_state *engine = malloc(sizeof *engine);

    (void)needs;
    if (!engine) {
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    engine->kernels = cpu_kernels_choose();
    return engine;
}

static void cpu_close(struct engine_state *engine)
{
    free(engine);
}

static const char *cpu_describe(const struct engine_state *engine)
{
    return engine->kernels->name;
}

static unsigned cpu_workers(unsigned device_count, unsigned cores)
{
    (void)device_count;
    return cores;
}

static void cpu_worker_close(struct engine_worker *worker)
{
    free(worker->buffer);
    free(worker->swapped);
    cpu_reducer_close(&worker->reducer);
    free(worker);
}

static struct engine_worker *cpu_worker_open(struct engine_state *engine,
                                             const struct engine_setup *setup, unsigned number,
                                             char reason[ENGINE_REASON_MAX])
{
    struct engine_worker *worker = calloc(1, sizeof *worker);

    (void)number;
    if (worker) {
        bool good = cpu_reducer_open(&worker->reducer, engine->kernels, setup->type, setup->wants);

        worker->size = setup->chunk_size ? setup->chunk_size : CHUNK_BYTES;
        worker->size = (worker->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        worker->buffer = aligned_alloc(ALIGNMENT, worker->size);
        worker->swapped = setup->swap ? aligned_alloc(ALIGNMENT, SWAP_BYTES) : NULL;
        if (good && worker->buffer && (worker->swapped || !setup->swap))
            return worker;
        cpu_worker_close(worker);
    }
    snprintf(reason, ENGINE_REASON_MAX, "out of memory");
    return NULL;
}

static void *cpu_buffer(struct engine_worker *worker, size_t *size)
{
    *size = worker->size;
    return worker->buffer;
}

static enum engine_status cpu_reduce(struct engine_worker *worker, const struct chunk *chunk)
{
    struct cpu_reducer *r = &worker->reducer;
    const unsigned char *data = chunk->data;
    size_t element = element_size(r->type);
    uint64_t begun = clock_now();

    if (!worker->swapped) {
        r->kernel(r, data, chunk->count, chunk->index);
    } else {
        for (size_t i = 0; i < chunk->count; i += SWAP_BYTES / element) {
            size_t n = chunk->count - i;
            if (n > SWAP_BYTES / element)
                n = SWAP_BYTES / element;
            element_swap(worker->swapped, data + i * element, n, element);
            r->kernel(r, worker->swapped, n, chunk->index + i);
        }
    }
    worker->reduce_time += clock_now() - begun;
    return ENGINE_TAKEN;
}

static uint64_t cpu_first_nan(const struct engine_worker *worker)
{
    return worker->reducer.partial.first_nan;
}

static bool cpu_finish(struct engine_worker *worker, struct partial *partial,
                       struct engine_times *times)
{
    *partial = worker->reducer.partial;
    *times = (struct engine_times){.reduce = worker->reduce_time};
    return true;
}

static unsigned cpu_unfinished(const struct engine_worker *worker,
                               struct chunk chunks[ENGINE_PENDING_MAX])
{
    (void)worker;
    (void)chunks;
    return 0;
}

static const char *cpu_worker_error(const struct engine_worker *worker)
{
    (void)worker;
    return "";
}

static bool cpu_restart(struct engine_worker *worker)
{
    partial_clear(&worker->reducer.partial);
    worker->reduce_time = 0;
    return true;
}

const struct engine engine_cpu = {
    .name = "cpu",
    .chunk_bytes = CHUNK_BYTES,
    .in_place_bytes = IN_PLACE_BYTES,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .workers = cpu_workers,
    .worker_open = cpu_worker_open,
    .worker_close = cpu_worker_close,
    .buffer = cpu_buffer,
    .reduce = cpu_reduce,
    .first_nan = cpu_first_nan,
    .finish = cpu_finish,
    .unfinished = cpu_unfinished,
    .worker_error = cpu_worker_error,
    .restart = cpu_restart,
};
