#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/zstd/device_state.h"
#include "sys/align.h"

/*
 * Memory. One allocation on the device, one on the host: each takes its time.
 */

/* Cuts pieces off an allocation, or, while `base` is NULL, adds them up. */
struct cutter {
    unsigned char *base;
    size_t size;
};

static void *cut(struct cutter *c, size_t size)
{
    unsigned char *piece = c->base ? c->base + c->size : NULL;

    c->size += align_up(size, 4096);
    return piece;
}

static void cut_mirrored(struct cutter *device, struct cutter *host, struct mirrored *m,
                         size_t size)
{
    m->device = cut(device, size);
    m->host = cut(host, size);
}

static void cut_slot(struct cutter *device, struct cutter *host, const struct zstd_plan_limits *l,
                     struct slot *s)
{
    s->source = cut(device, (size_t)l->source + ZSTD_SOURCE_BEFORE + ZSTD_SOURCE_BEHIND);
    s->pool = cut(device, l->pool);
    cut_mirrored(device, host, &s->literals_jobs, l->blocks * sizeof(struct zstd_literals_job));
    cut_mirrored(device, host, &s->sequences_jobs, l->blocks * sizeof(struct zstd_sequences_job));
    cut_mirrored(device, host, &s->codes, l->codes * sizeof(struct zstd_tree));
    cut_mirrored(device, host, &s->tables, l->tables * sizeof(struct zstd_counts));
    cut_mirrored(device, host, &s->executions, l->blocks * sizeof(struct zstd_execution));
    cut_mirrored(device, host, &s->units, (l->blocks + ZSTD_SLICES_MAX + 1) * sizeof(uint32_t));
    cut_mirrored(device, host, &s->results, l->blocks * sizeof(struct zstd_sequences_result));
    cut_mirrored(device, host, &s->refused, 64);
}

/* Cuts all of a decoder's memory. */
static void cut_all(struct zstd_device *d, struct cutter *device, struct cutter *host)
{
    for (unsigned i = 0; i < d->slot_count; i++)
        cut_slot(device, host, &d->limits, &d->slots[i]);
    for (unsigned i = 0; i < d->symbols_count; i++)
        d->symbols[i].memory = cut(device, (size_t)d->limits.slice * sizeof(uint32_t));
    d->ring = cut(device, d->ring_size);
}

/* Limits for batches of about `batch` bytes, in so many slots, and for the output of `keep` more.
 */
static void set_limits(struct zstd_device *d, size_t batch, unsigned slots, unsigned keep)
{
    struct zstd_plan_limits *l = &d->limits;
    const uint32_t bytes = (uint32_t)batch;
    const uint32_t block = (uint32_t)ZSTD_BLOCK_CONTENT_MAX;

    d->slot_count = slots;
    d->symbols_count = (slots + 1) / 2;
    l->window = d->options.window;
    l->unit = d->options.tuning->unit;
    l->wave = d->options.tuning->wave;
    l->one_wave = d->options.tuning->one_wave;
    l->expected = bytes;
    l->slice = bytes + bytes / 8 + 2 * block;
    l->source = (uint32_t)align_up(bytes + 2 * block, 4096);
    l->pool = (uint32_t)align_up(bytes / 2 * 5 + ZSTD_POOL_LEAST, 4096);
    /* As many blocks as have 8 KiB each, codes for blocks of 16 KiB, and tables for those of 24 KiB
       that bring all three of their own. A batch of smaller blocks holds less. */
    l->blocks = bytes / 8192 + 16;
    l->codes = bytes / 16384 + 16;
    l->tables = bytes / 8192 + 16;
    /* The ring holds any batch: also one of blocks that hold much more than those before. */
    l->output = (uint64_t)(slots + 1 + keep) * l->slice;
    d->ring_size = align_up(l->window + KEPT + l->output, 4096);
}

static size_t needed(struct zstd_device *d, size_t batch, unsigned slots, unsigned keep)
{
    struct cutter device = {0}, host = {0};

    set_limits(d, batch, slots, keep);
    cut_all(d, &device, &host);
    return device.size;
}

/* Output that is kept where there is memory for so little that batches are made smaller for it: one
   batch is being hashed, another waits for that. */
#define KEEP_LEAST 2

/* The largest batches for which there is memory, in as many slots as there is memory for then. The
   rest of the memory keeps more output. */
static bool choose_sizes(struct zstd_device *d)
{
    const struct gpu_tuning *tuning = d->options.tuning;
    size_t batch = d->options.batch > 0 ? d->options.batch : tuning->batch;
    unsigned slots = ZSTD_SLOTS, keep = d->options.keep;
    const unsigned least = keep < KEEP_LEAST ? keep : KEEP_LEAST;

    while (d->options.batch == 0 && batch > tuning->batch_least &&
           needed(d, batch, slots, least) > d->options.memory)
        batch -= batch / 8;
    while (slots > ZSTD_SLOTS_LEAST && needed(d, batch, slots, 0) > d->options.memory)
        slots--;
    while (keep > 0 && needed(d, batch, slots, keep) > d->options.memory)
        keep--;
    return needed(d, batch, slots, keep) <= d->options.memory;
}

static bool get_memory(struct zstd_device *d)
{
    struct cutter device = {0}, host = {0};

    cut_all(d, &device, &host);
    if (!zstd_device_check(d, cudaMalloc((void **)&d->memory, device.size), "device memory") ||
        !pinned_piece_open(&d->host_memory, NULL, host.size, d->error))
        return false;
    device = (struct cutter){d->memory, 0};
    host = (struct cutter){d->host_memory.memory, 0};
    cut_all(d, &device, &host);
    for (unsigned i = 0; i < d->slot_count; i++) {
        struct slot *s = &d->slots[i];

        s->plan.arrays.blocks = calloc(d->limits.blocks, sizeof *s->plan.arrays.blocks);
        if (!s->plan.arrays.blocks) {
            snprintf(d->error, sizeof d->error, "out of memory");
            return false;
        }
    }
    return true;
}

/*
 * Streams and events.
 */

static bool make_event(struct zstd_device *d, cudaEvent_t *event)
{
    return zstd_device_check(
        d, cudaEventCreateWithFlags(event, d->options.timed ? 0 : cudaEventDisableTiming),
        "creating an event");
}

static bool make_stream(struct zstd_device *d, cudaStream_t *stream, int priority)
{
    return zstd_device_check(d,
                             cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority),
                             "creating a stream");
}

#define SLOT_EVENTS 9
static void slot_events(struct slot *s, cudaEvent_t *events[SLOT_EVENTS])
{
    cudaEvent_t *const all[SLOT_EVENTS] = {
        &s->copied,       &s->sequences_done, &s->executed,        &s->done,
        &s->copy_begun,   &s->literals_begun, &s->sequences_begun, &s->execute_begun,
        &s->resolve_begun};

    memcpy(events, all, sizeof all);
}

static bool make_streams(struct zstd_device *d)
{
    int least = 0, greatest = 0;

    if (!zstd_device_check(d, cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities") ||
        !make_stream(d, &d->copy_stream, least) ||
        !make_stream(d, &d->resolve_stream, greatest)) /* all else waits for it */
        return false;
    for (unsigned i = 0; i < d->options.tuning->copies; i++)
        if (!make_event(d, &d->copies[i].begun) || !make_event(d, &d->copies[i].done))
            return false;
    for (unsigned i = 0; i < d->symbols_count; i++)
        if (!make_event(d, &d->symbols[i].free))
            return false;
    for (unsigned i = 0; i < ZSTD_KEPT_MAX; i++)
        if (!make_event(d, &d->kept[i].released))
            return false;
    for (unsigned i = 0; i < d->slot_count; i++) {
        struct slot *s = &d->slots[i];
        cudaEvent_t *events[SLOT_EVENTS];

        slot_events(s, events);
        for (unsigned k = 0; k < SLOT_EVENTS; k++)
            if (!make_event(d, events[k]))
                return false;
        if (!make_stream(d, &s->stream, least))
            return false;
    }
    return true;
}

struct zstd_device *zstd_device_open(const struct zstd_device_options *options,
                                     char reason[ENGINE_REASON_MAX])
{
    struct zstd_device *d = calloc(1, sizeof *d);

    if (!d) {
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    d->options = *options;
    if (d->options.window < ZSTD_BLOCK_CONTENT_MAX)
        d->options.window = ZSTD_BLOCK_CONTENT_MAX;
    if (!choose_sizes(d)) {
        snprintf(reason, ENGINE_REASON_MAX, "not enough device memory to decode zstd");
        free(d);
        return NULL;
    }
    if (!get_memory(d) || !make_streams(d) ||
        !zstd_device_check(d,
                           cudaMemsetAsync(d->memory, 0,
                                           (size_t)(d->ring - d->memory) + d->ring_size,
                                           d->copy_stream),
                           "device memory") ||
        !zstd_device_check(d, cudaStreamSynchronize(d->copy_stream), "device memory")) {
        memcpy(reason, d->error, ENGINE_REASON_MAX);
        zstd_device_close(d);
        return NULL;
    }
    zstd_device_restart(d, 0, SIZE_MAX);
    return d;
}

void zstd_device_close(struct zstd_device *d)
{
    if (!d)
        return;
    /* Nothing here can be helped when it fails. */
    (void)cudaDeviceSynchronize();
    for (unsigned i = 0; i < d->slot_count; i++) {
        struct slot *s = &d->slots[i];
        cudaEvent_t *events[SLOT_EVENTS];

        slot_events(s, events);
        for (unsigned k = 0; k < SLOT_EVENTS; k++)
            if (*events[k])
                (void)cudaEventDestroy(*events[k]);
        if (s->stream)
            (void)cudaStreamDestroy(s->stream);
        free(s->plan.arrays.blocks);
    }
    for (unsigned i = 0; i < d->symbols_count; i++)
        if (d->symbols[i].free)
            (void)cudaEventDestroy(d->symbols[i].free);
    for (unsigned i = 0; i < ZSTD_KEPT_MAX; i++)
        if (d->kept[i].released)
            (void)cudaEventDestroy(d->kept[i].released);
    for (unsigned i = 0; i < d->options.tuning->copies; i++) {
        if (d->copies[i].begun)
            (void)cudaEventDestroy(d->copies[i].begun);
        if (d->copies[i].done)
            (void)cudaEventDestroy(d->copies[i].done);
    }
    if (d->copy_stream)
        (void)cudaStreamDestroy(d->copy_stream);
    if (d->resolve_stream)
        (void)cudaStreamDestroy(d->resolve_stream);
    if (d->memory)
        (void)cudaFree(d->memory);
    pinned_piece_close(&d->host_memory, NULL);
    free(d);
}
