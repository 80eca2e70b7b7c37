#include "config.h"

#include "engine/cuda/feeder.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/cuda/check.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/tallies.h"
#include "sys/align.h"
#include "sys/clock.h"
#include "sys/mapping.h"

/* Kernels count the elements of a chunk in less than 30 bits. */
#define CHUNK_BYTES_MAX ((size_t)1 << 29)

struct slot {
    unsigned char *host;    /* in the feeder's pinned memory */
    void *device;           /* in the feeder's device memory */
    struct partial *mirror; /* in the pinned memory */
    cudaEvent_t begun, copied, done;
    struct chunk chunk;
    void *window; /* what was pinned of a mapped file for it; NULL if nothing was */
    bool queued;  /* all its work is in the stream: the event will tell */
    bool busy;    /* the chunk is not known good yet */
};

struct engine_worker {
    const struct feeder_device *device;
    struct pinned_arena *arena;
    struct engine_setup setup;
    size_t size; /* bytes of a buffer */
    struct pinned_piece pinned;
    cudaStream_t stream;
    struct slot slots[FEEDER_SLOTS];
    unsigned next; /* the slot to fill next: the one whose chunk is oldest */
    unsigned char *device_memory;
    struct partial *partial; /* in the device memory, as is the scratch */
    struct cuda_scratch *scratch;
    struct partial good; /* of all chunks known good */
    struct cuda_tallies tallies;
    struct engine_times times;
    cudaEvent_t base; /* in the stream's past, at base_time */
    uint64_t base_time;
    char error[ENGINE_REASON_MAX];
};

/* Bytes of a partial result's place in pinned memory. */
#define MIRROR align_up(sizeof(struct partial), 64)

size_t feeder_buffer_size(size_t chunk_size)
{
    size_t size = align_up(chunk_size, 16);

    return size < CHUNK_BYTES_MAX ? size : CHUNK_BYTES_MAX;
}

size_t feeder_pinned_size(size_t chunk_size)
{
    size_t buffer = align_up(feeder_buffer_size(chunk_size), mapping_page());

    return align_up(FEEDER_SLOTS * (buffer + MIRROR), mapping_page());
}

void feeder_close(struct engine_worker *feeder)
{
    /* Nothing below can be helped when it fails, and after a device has failed all of it does. What
       is still on its way uses the memory. */
    if (feeder->stream)
        (void)cudaStreamSynchronize(feeder->stream);
    for (int i = 0; i < FEEDER_SLOTS; i++) {
        struct slot *slot = &feeder->slots[i];

        pinned_window_close(slot->window);
        if (slot->begun)
            (void)cudaEventDestroy(slot->begun);
        if (slot->copied)
            (void)cudaEventDestroy(slot->copied);
        if (slot->done)
            (void)cudaEventDestroy(slot->done);
    }
    if (feeder->base)
        (void)cudaEventDestroy(feeder->base);
    if (feeder->device_memory)
        (void)cudaFree(feeder->device_memory);
    cuda_tallies_close(&feeder->tallies);
    if (feeder->stream)
        (void)cudaStreamDestroy(feeder->stream);
    pinned_piece_close(&feeder->pinned, feeder->arena);
    free(feeder);
}

/* Gives the slots their places in the feeder's pinned memory. */
static bool pin_memory(struct engine_worker *feeder, char reason[ENGINE_REASON_MAX])
{
    size_t buffer = align_up(feeder->size, mapping_page());

    if (!pinned_piece_open(&feeder->pinned, feeder->arena, feeder_pinned_size(feeder->size),
                           reason))
        return false;
    for (size_t i = 0; i < FEEDER_SLOTS; i++) {
        unsigned char *memory = feeder->pinned.memory;

        feeder->slots[i].host = memory + i * buffer;
        feeder->slots[i].mirror = (void *)(memory + FEEDER_SLOTS * buffer + i * MIRROR);
    }
    return true;
}

/* Bytes of the largest chunk. */
static size_t chunk_most(const struct engine_worker *feeder)
{
    return feeder->setup.in_place > feeder->size ? feeder->setup.in_place : feeder->size;
}

/* Device memory for all slots, the partial result and the scratch: one allocation, for each takes
   its time and they are made one after another. */
static bool device_memory(struct engine_worker *feeder, char reason[ENGINE_REASON_MAX])
{
    size_t buffer = align_up(chunk_most(feeder), mapping_page());
    size_t partial = align_up(sizeof *feeder->partial, mapping_page());

    if (!cuda_check(cudaMalloc((void **)&feeder->device_memory,
                               FEEDER_SLOTS * buffer + partial + sizeof *feeder->scratch),
                    "device memory", reason))
        return false;
    for (size_t i = 0; i < FEEDER_SLOTS; i++)
        feeder->slots[i].device = feeder->device_memory + i * buffer;
    feeder->partial = (void *)(feeder->device_memory + FEEDER_SLOTS * buffer);
    feeder->scratch = (void *)(feeder->device_memory + FEEDER_SLOTS * buffer + partial);
    return true;
}

static bool slot_events(struct slot *slot, char reason[ENGINE_REASON_MAX])
{
    static const char *const event = "creating an event";

    return cuda_check(cudaEventCreate(&slot->begun), event, reason) &&
           cuda_check(cudaEventCreate(&slot->copied), event, reason) &&
           /* A feeder that waits leaves its core to those that fill buffers. */
           cuda_check(cudaEventCreateWithFlags(&slot->done, cudaEventBlockingSync), event, reason);
}

static bool make_resources(struct engine_worker *feeder, char reason[ENGINE_REASON_MAX])
{
    static const char *const device = "device memory", *const event = "creating an event";

    for (int i = 0; i < FEEDER_SLOTS; i++)
        if (!slot_events(&feeder->slots[i], reason))
            return false;
    return pin_memory(feeder, reason) && device_memory(feeder, reason) &&
           cuda_check(cudaStreamCreateWithFlags(&feeder->stream, cudaStreamNonBlocking),
                      "creating a stream", reason) &&
           cuda_check(cudaMemsetAsync(feeder->scratch, 0, sizeof *feeder->scratch, feeder->stream),
                      device, reason) &&
           cuda_check(cudaMemcpyAsync(feeder->partial, &feeder->good, sizeof feeder->good,
                                      cudaMemcpyHostToDevice, feeder->stream),
                      device, reason) &&
           cuda_tallies_open(&feeder->tallies, &feeder->setup, feeder->device->multiprocessors,
                             feeder->device->shared, chunk_most(feeder), feeder->arena,
                             feeder->stream, reason) &&
           cuda_check(cudaEventCreate(&feeder->base), event, reason) &&
           cuda_check(cudaEventRecord(feeder->base, feeder->stream), event, reason) &&
           cuda_check(cudaStreamSynchronize(feeder->stream), device, reason);
}

struct engine_worker *feeder_open(const struct feeder_device *device, struct pinned_arena *arena,
                                  const struct engine_setup *setup, size_t chunk_size,
                                  char reason[ENGINE_REASON_MAX])
{
    struct engine_worker *feeder = calloc(1, sizeof *feeder);

    if (!feeder) {
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    feeder->device = device;
    feeder->arena = arena;
    feeder->setup = *setup;
    feeder->size = feeder_buffer_size(chunk_size);
    partial_clear(&feeder->good);
    if (!cuda_check(cudaSetDevice((int)device->index), "choosing the GPU", reason) ||
        !make_resources(feeder, reason)) {
        feeder_close(feeder);
        return NULL;
    }
    feeder->base_time = clock_now();
    feeder->times.device = device->index;
    return feeder;
}

/* Notes what lies between two events of the feeder, on the clock of the host, so that the timelines
   of several feeders of a device can be laid over each other. It is right to within the time that a
   thread takes to see that a stream is idle. */
static void note(struct timeline *t, const struct engine_worker *feeder, cudaEvent_t from,
                 cudaEvent_t to, uint64_t bytes)
{
    float before, between; /* milliseconds */
    uint64_t begin;

    if (cudaEventElapsedTime(&before, feeder->base, from) != cudaSuccess ||
        cudaEventElapsedTime(&between, from, to) != cudaSuccess)
        return;
    begin = feeder->base_time + (uint64_t)((double)before * 1e6);
    timeline_note(t, begin, begin + (uint64_t)((double)between * 1e6), bytes);
}

/* Waits until a slot's chunk is counted. */
static bool collect(struct engine_worker *feeder, struct slot *slot)
{
    uint64_t begun = clock_now(), bytes;

    if (!slot->busy)
        return true;
    if (!slot->queued ||
        !cuda_check(cudaEventSynchronize(slot->done), "reducing a chunk", feeder->error))
        return false;
    feeder->times.wait += clock_now() - begun;
    if (!cuda_tallies_collect(&feeder->tallies, (unsigned)(slot - feeder->slots), slot->chunk.count,
                              feeder->error))
        return false;
    pinned_window_close(slot->window);
    slot->window = NULL;
    feeder->good = *slot->mirror;
    cuda_settle_partial(&feeder->good, feeder->setup.wants);
    slot->busy = false;
    bytes = slot->chunk.count * element_size(feeder->setup.type);
    note(&feeder->times.copies, feeder, slot->begun, slot->copied, bytes);
    note(&feeder->times.kernels, feeder, slot->copied, slot->done, bytes);
    return true;
}

void *feeder_buffer(struct engine_worker *feeder, size_t *size)
{
    struct slot *slot = &feeder->slots[feeder->next];

    if (!collect(feeder, slot))
        return NULL;
    *size = feeder->size;
    return slot->host;
}

enum engine_status feeder_reduce(struct engine_worker *feeder, const struct chunk *chunk)
{
    struct slot *slot = &feeder->slots[feeder->next];
    static const char *const event = "recording an event";
    size_t bytes = chunk->count * element_size(feeder->setup.type);
    struct cuda_launch launch = {
        .type = feeder->setup.type,
        .swap = feeder->setup.swap,
        .wants = feeder->setup.wants,
        .data = slot->device,
        .count = chunk->count,
        .index = chunk->index,
        .partial = feeder->partial,
        .scratch = feeder->scratch,
        .multiprocessors = feeder->device->multiprocessors,
    };

    if (chunk->mapped) {
        slot->window = pinned_window_open(chunk->data, bytes);
        if (!slot->window)
            return ENGINE_REFUSED;
    }
    slot->chunk = *chunk;
    slot->busy = true;
    slot->queued = false;
    feeder->next = (feeder->next + 1) % FEEDER_SLOTS;
    slot->queued =
        cuda_check(cudaEventRecord(slot->begun, feeder->stream), event, feeder->error) &&
        cuda_check(cudaMemcpyAsync(slot->device, chunk->data, bytes, cudaMemcpyHostToDevice,
                                   feeder->stream),
                   "copying a chunk", feeder->error) &&
        cuda_check(cudaEventRecord(slot->copied, feeder->stream), event, feeder->error) &&
        cuda_check(cuda_reduce(&launch, feeder->stream), "starting a kernel", feeder->error) &&
        cuda_tallies_take(&feeder->tallies, (unsigned)(slot - feeder->slots), slot->device,
                          chunk->count, feeder->stream, feeder->error) &&
        cuda_check(cudaMemcpyAsync(slot->mirror, feeder->partial, sizeof *feeder->partial,
                                   cudaMemcpyDeviceToHost, feeder->stream),
                   "copying a result", feeder->error) &&
        cuda_check(cudaEventRecord(slot->done, feeder->stream), event, feeder->error);
    return slot->queued ? ENGINE_TAKEN : ENGINE_FAILED;
}

uint64_t feeder_first_nan(const struct engine_worker *feeder)
{
    return feeder->good.first_nan;
}

bool feeder_finish(struct engine_worker *feeder, struct partial *partial,
                   struct engine_times *times)
{
    bool good = true;

    /* From the oldest on; behind one that failed nothing is known good. */
    for (int i = 0; i < FEEDER_SLOTS && good; i++)
        good = collect(feeder, &feeder->slots[(feeder->next + (unsigned)i) % FEEDER_SLOTS]);
    cuda_tallies_finish(&feeder->tallies);
    *partial = feeder->good;
    *times = feeder->times;
    feeder->times = (struct engine_times){0}; /* the timelines are the caller's now */
    return good;
}

unsigned feeder_unfinished(const struct engine_worker *feeder,
                           struct chunk chunks[ENGINE_PENDING_MAX])
{
    unsigned count = 0;

    for (int i = 0; i < FEEDER_SLOTS; i++) {
        const struct slot *slot = &feeder->slots[(feeder->next + (unsigned)i) % FEEDER_SLOTS];

        if (slot->busy)
            chunks[count++] = slot->chunk;
    }
    return count;
}

const char *feeder_error(const struct engine_worker *feeder)
{
    return feeder->error;
}
