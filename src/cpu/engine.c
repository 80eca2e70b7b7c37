/*
 * The CPU engine: a lane is a buffer that stays in the level-2 cache, and a reducer.
 */
#include "../engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../clock.h"
#include "kernel.h"

/* A quarter of the smallest level-2 caches of servers: a chunk that was read is still there when
   it is reduced, and a read of this size costs little more than larger ones. */
#define CHUNK_BYTES ((size_t)256 << 10)

/* What is in place is read and then given back; giving back interrupts every core. By 16 threads
   that only read, each giving back what it has read: 93 GB/s in pieces of 1 MiB, 158 in 2 MiB, 169
   in 8 MiB; 174 where none was given back. Two threads gain a tenth from 8 to 32 MiB. */
#define IN_PLACE_BYTES ((size_t)32 << 20)

#define ALIGNMENT 64

/* Elements of a foreign byte order are turned round in pieces of this size, which the level-2 cache
   holds, and which make little of the cost of ending a chunk. */
#define SWAP_BYTES ((size_t)128 << 10)

struct engine_state {
    const struct cpu_kernels *kernels;
};

struct lane {
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

static unsigned cpu_lanes(unsigned device_count, unsigned cores)
{
    (void)device_count;
    return cores;
}

static void cpu_lane_close(struct lane *lane)
{
    free(lane->buffer);
    free(lane->swapped);
    cpu_reducer_close(&lane->reducer);
    free(lane);
}

static struct lane *cpu_lane_open(struct engine_state *engine, const struct engine_setup *setup,
                                  unsigned number, char reason[ENGINE_REASON_MAX])
{
    struct lane *lane = calloc(1, sizeof *lane);

    (void)number;
    if (lane) {
        bool good = cpu_reducer_open(&lane->reducer, engine->kernels, setup->type, setup->wants);

        lane->size = setup->chunk_size ? setup->chunk_size : CHUNK_BYTES;
        lane->size = (lane->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        lane->buffer = aligned_alloc(ALIGNMENT, lane->size);
        lane->swapped = setup->swap ? aligned_alloc(ALIGNMENT, SWAP_BYTES) : NULL;
        if (good && lane->buffer && (lane->swapped || !setup->swap))
            return lane;
        cpu_lane_close(lane);
    }
    snprintf(reason, ENGINE_REASON_MAX, "out of memory");
    return NULL;
}

static void *cpu_buffer(struct lane *lane, size_t *size)
{
    *size = lane->size;
    return lane->buffer;
}

static enum engine_status cpu_reduce(struct lane *lane, const struct chunk *chunk)
{
    struct cpu_reducer *r = &lane->reducer;
    const unsigned char *data = chunk->data;
    size_t element = element_size(r->type);
    uint64_t begun = clock_now();

    if (!lane->swapped) {
        r->kernel(r, data, chunk->count, chunk->index);
    } else {
        for (size_t i = 0; i < chunk->count; i += SWAP_BYTES / element) {
            size_t n = chunk->count - i;
            if (n > SWAP_BYTES / element)
                n = SWAP_BYTES / element;
            element_swap(lane->swapped, data + i * element, n, element);
            r->kernel(r, lane->swapped, n, chunk->index + i);
        }
    }
    lane->reduce_time += clock_now() - begun;
    return ENGINE_TAKEN;
}

static uint64_t cpu_first_nan(const struct lane *lane)
{
    return lane->reducer.partial.first_nan;
}

static bool cpu_finish(struct lane *lane, struct partial *partial, struct engine_times *times)
{
    *partial = lane->reducer.partial;
    *times = (struct engine_times){.reduce = lane->reduce_time};
    return true;
}

static unsigned cpu_unfinished(const struct lane *lane, struct chunk chunks[ENGINE_PENDING_MAX])
{
    (void)lane;
    (void)chunks;
    return 0;
}

static const char *cpu_lane_error(const struct lane *lane)
{
    (void)lane;
    return "";
}

const struct engine engine_cpu = {
    .name = "cpu",
    .chunk_bytes = CHUNK_BYTES,
    .in_place_bytes = IN_PLACE_BYTES,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .lanes = cpu_lanes,
    .lane_open = cpu_lane_open,
    .lane_close = cpu_lane_close,
    .buffer = cpu_buffer,
    .reduce = cpu_reduce,
    .first_nan = cpu_first_nan,
    .finish = cpu_finish,
    .unfinished = cpu_unfinished,
    .lane_error = cpu_lane_error,
};
