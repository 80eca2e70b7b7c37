#include "config.h"

#include "cuda/feeder.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda/runtime/check.h"
#include "cuda/sums.h"
#include "sys/clock.h"
#include "sys/mapping.h"

/* Kernels count the elements of a chunk in less than 30 bits. */
#define CHUNK_BYTES_MAX ((size_t)1 << 29)

struct slot {
    unsigned char *host; /* in the feeder's pinned memory */
    void *device;        /* in the feeder's device memory */
    cudaEvent_t begun, copied, done;
    struct chunk chunk;
    void *window; /* what was pinned of a mapped file for it; NULL if nothing was */
    bool queued;  /* all its work is in the stream: the event will tell */
    bool busy;    /* the chunk is not known good yet */
};

struct feeder {
    struct feeder_setup setup;
    struct pinned_piece pinned;
    struct pinned_piece more; /* of jobs for which there is no room in `pinned` */
    cudaStream_t stream;
    struct slot slots[FEEDER_SLOTS];
    unsigned next; /* the slot to fill next: the one whose chunk is oldest */
    unsigned char *device_memory;
    struct engine_times times;
    cudaEvent_t base; /* in the stream's past, at base_time */
    uint64_t base_time;
    char error[ENGINE_REASON_MAX];
};

size_t feeder_buffer_size(size_t chunk_size)
{
    size_t size = align_up(chunk_size, 16);

    return size < CHUNK_BYTES_MAX ? size : CHUNK_BYTES_MAX;
}

/* Bytes of pinned memory: buffers of whole pages, and room for the results of a job that sums. */
static size_t pinned_size(size_t buffer, unsigned slots)
{
    return align_up(slots * (align_up(buffer, mapping_page()) + CUDA_SUMS_PINNED), mapping_page());
}

size_t feeder_pinned_size(size_t chunk_size)
{
    return pinned_size(feeder_buffer_size(chunk_size), FEEDER_SLOTS);
}

void feeder_close(struct feeder *f)
{
    /* Nothing below can be helped when it fails, and after a device has failed all of it does. What
       is still on its way uses the memory. */
    if (f->stream)
        (void)cudaStreamSynchronize(f->stream);
    for (unsigned i = 0; i < f->setup.slots; i++) {
        struct slot *slot = &f->slots[i];

        pinned_window_close(slot->window);
        if (slot->begun)
            (void)cudaEventDestroy(slot->begun);
        if (slot->copied)
            (void)cudaEventDestroy(slot->copied);
        if (slot->done)
            (void)cudaEventDestroy(slot->done);
    }
    for (unsigned i = 0; i < f->setup.job_count; i++)
        if (f->setup.jobs[i]->kind->close)
            f->setup.jobs[i]->kind->close(f->setup.jobs[i]);
    if (f->base)
        (void)cudaEventDestroy(f->base);
    if (f->device_memory)
        (void)cudaFree(f->device_memory);
    if (f->stream)
        (void)cudaStreamDestroy(f->stream);
    pinned_piece_close(&f->pinned, f->setup.arena);
    pinned_piece_close(&f->more, f->setup.arena);
    free(f);
}

/* Gives the slots their buffers. *left: where the jobs' pinned memory begins. */
static bool pin_memory(struct feeder *f, unsigned char **left, char reason[ENGINE_REASON_MAX])
{
    const size_t buffer = align_up(f->setup.size, mapping_page());
    const size_t size = pinned_size(f->setup.size, f->setup.slots);
    size_t wanted = 0;

    if (!pinned_piece_open(&f->pinned, f->setup.arena, size, reason))
        return false;
    for (unsigned i = 0; i < f->setup.slots; i++)
        f->slots[i].host = f->pinned.memory + i * buffer;
    for (unsigned i = 0; i < f->setup.job_count; i++)
        wanted += align_up(f->setup.jobs[i]->pinned_bytes, CUDA_JOB_ALIGNMENT);
    *left = f->pinned.memory + f->setup.slots * buffer;
    if (wanted <= size - f->setup.slots * buffer)
        return true;
    if (!pinned_piece_open(&f->more, f->setup.arena, align_up(wanted, mapping_page()), reason))
        return false;
    *left = f->more.memory;
    return true;
}

/* Device memory for all slots and jobs: one allocation, for each takes its time and they are made
   one after another. *left: where the jobs' begins. */
static bool allocate(struct feeder *f, unsigned char **left, char reason[ENGINE_REASON_MAX])
{
    const size_t most = f->setup.in_place > f->setup.size ? f->setup.in_place : f->setup.size;
    const size_t buffer = align_up(most, mapping_page());
    size_t size = f->setup.slots * buffer;

    for (unsigned i = 0; i < f->setup.job_count; i++)
        size += align_up(f->setup.jobs[i]->device_bytes, CUDA_JOB_ALIGNMENT);
    if (!cuda_check(cudaMalloc((void **)&f->device_memory, size), "device memory", reason))
        return false;
    for (unsigned i = 0; i < f->setup.slots; i++)
        f->slots[i].device = f->device_memory + i * buffer;
    *left = f->device_memory + f->setup.slots * buffer;
    return true;
}

static bool begin_jobs(struct feeder *f, unsigned char *device, unsigned char *pinned,
                       char reason[ENGINE_REASON_MAX])
{
    for (unsigned i = 0; i < f->setup.job_count; i++) {
        struct cuda_job *job = f->setup.jobs[i];

        if (!job->kind->begin(job, device, pinned, f->stream, reason))
            return false;
        device += align_up(job->device_bytes, CUDA_JOB_ALIGNMENT);
        pinned += align_up(job->pinned_bytes, CUDA_JOB_ALIGNMENT);
    }
    return true;
}

static bool slot_events(const struct feeder *f, struct slot *slot, char reason[ENGINE_REASON_MAX])
{
    static const char *const event = "creating an event";

    return (!f->setup.timed || (cuda_check(cudaEventCreate(&slot->begun), event, reason) &&
                                cuda_check(cudaEventCreate(&slot->copied), event, reason))) &&
           /* A feeder that waits leaves its core to those that fill buffers. */
           cuda_check(cudaEventCreateWithFlags(&slot->done, cudaEventBlockingSync), event, reason);
}

static bool make_resources(struct feeder *f, char reason[ENGINE_REASON_MAX])
{
    static const char *const event = "creating an event";
    unsigned char *device, *pinned;

    for (unsigned i = 0; i < f->setup.slots; i++)
        if (!slot_events(f, &f->slots[i], reason))
            return false;
    return pin_memory(f, &pinned, reason) && allocate(f, &device, reason) &&
           cuda_check(cudaStreamCreateWithFlags(&f->stream, cudaStreamNonBlocking),
                      "creating a stream", reason) &&
           begin_jobs(f, device, pinned, reason) &&
           (!f->setup.timed || (cuda_check(cudaEventCreate(&f->base), event, reason) &&
                                cuda_check(cudaEventRecord(f->base, f->stream), event, reason))) &&
           cuda_check(cudaStreamSynchronize(f->stream), "device memory", reason);
}

struct feeder *feeder_open(const struct feeder_setup *setup, char reason[ENGINE_REASON_MAX])
{
    struct feeder *f = calloc(1, sizeof *f);

    if (!f) {
        for (unsigned i = 0; i < setup->job_count; i++)
            if (setup->jobs[i]->kind->close)
                setup->jobs[i]->kind->close(setup->jobs[i]);
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    f->setup = *setup;
    if (!cuda_check(cudaSetDevice((int)setup->device->index), "choosing the GPU", reason) ||
        !make_resources(f, reason)) {
        feeder_close(f);
        return NULL;
    }
    f->base_time = clock_now();
    f->times.device = setup->device->index;
    return f;
}

/* Notes what lies between two events of the feeder, on the clock of the host, so that the timelines
   of several feeders of a device can be laid over each other. It is right to within the time that a
   thread takes to see that a stream is idle. */
static void note(struct timeline *t, const struct feeder *f, cudaEvent_t from, cudaEvent_t to,
                 uint64_t bytes)
{
    float before, between; /* milliseconds */
    uint64_t begin;

    if (cudaEventElapsedTime(&before, f->base, from) != cudaSuccess ||
        cudaEventElapsedTime(&between, from, to) != cudaSuccess)
        return;
    begin = f->base_time + (uint64_t)((double)before * 1e6);
    timeline_note(t, begin, begin + (uint64_t)((double)between * 1e6), bytes);
}

/* Waits until a slot's chunk is counted. */
static bool collect(struct feeder *f, struct slot *slot)
{
    const unsigned number = (unsigned)(slot - f->slots);
    uint64_t begun = clock_now(), bytes;

    if (!slot->busy)
        return true;
    if (!slot->queued ||
        !cuda_check(cudaEventSynchronize(slot->done), "reducing a chunk", f->error))
        return false;
    f->times.wait += clock_now() - begun;
    /* From the last on: the first job, which sums, cannot fail, and the others count nothing of a
       chunk that one of them fails with. */
    for (unsigned i = f->setup.job_count; i > 0; i--)
        if (!f->setup.jobs[i - 1]->kind->collect(f->setup.jobs[i - 1], number, f->error))
            return false;
    pinned_window_close(slot->window);
    slot->window = NULL;
    slot->busy = false;
    if (f->setup.timed) {
        bytes = slot->chunk.count * f->setup.element_size;
        note(&f->times.copies, f, slot->begun, slot->copied, bytes);
        note(&f->times.kernels, f, slot->copied, slot->done, bytes);
    }
    return true;
}

void *feeder_buffer(struct feeder *f)
{
    struct slot *slot = &f->slots[f->next];

    return collect(f, slot) ? slot->host : NULL;
}

/* Records an event of those that are timed. */
static bool mark(struct feeder *f, cudaEvent_t event)
{
    return !event || cuda_check(cudaEventRecord(event, f->stream), "recording an event", f->error);
}

static bool add_to_jobs(struct feeder *f, const struct slot *slot)
{
    const unsigned number = (unsigned)(slot - f->slots);

    for (unsigned i = 0; i < f->setup.job_count; i++)
        if (!f->setup.jobs[i]->kind->add(f->setup.jobs[i], number, slot->device, slot->chunk.count,
                                         slot->chunk.index, f->stream, f->error))
            return false;
    for (unsigned i = 0; i < f->setup.job_count; i++)
        if (!f->setup.jobs[i]->kind->send(f->setup.jobs[i], number, f->stream, f->error))
            return false;
    return true;
}

enum engine_status feeder_add(struct feeder *f, const struct chunk *chunk)
{
    struct slot *slot = &f->slots[f->next];
    const size_t bytes = chunk->count * f->setup.element_size;

    if (chunk->mapped) {
        slot->window = pinned_window_open(chunk->data, bytes);
        if (!slot->window)
            return ENGINE_REFUSED;
    }
    slot->chunk = *chunk;
    slot->busy = true;
    slot->queued = false;
    f->next = (f->next + 1) % f->setup.slots;
    slot->queued = mark(f, slot->begun) &&
                   cuda_check(cudaMemcpyAsync(slot->device, chunk->data, bytes,
                                              cudaMemcpyHostToDevice, f->stream),
                              "copying a chunk", f->error) &&
                   mark(f, slot->copied) && add_to_jobs(f, slot) && mark(f, slot->done);
    return slot->queued ? ENGINE_TAKEN : ENGINE_FAILED;
}

bool feeder_finish(struct feeder *f)
{
    bool good = true;

    /* From the oldest on; after one that failed nothing is known good. */
    for (unsigned i = 0; i < f->setup.slots && good; i++)
        good = collect(f, &f->slots[(f->next + i) % f->setup.slots]);
    for (unsigned i = 0; i < f->setup.job_count; i++)
        if (f->setup.jobs[i]->kind->end)
            f->setup.jobs[i]->kind->end(f->setup.jobs[i]);
    return good;
}

unsigned feeder_unfinished(const struct feeder *f, struct chunk chunks[ENGINE_PENDING_MAX])
{
    unsigned count = 0;

    for (unsigned i = 0; i < f->setup.slots; i++) {
        const struct slot *slot = &f->slots[(f->next + i) % f->setup.slots];

        if (slot->busy)
            chunks[count++] = slot->chunk;
    }
    return count;
}

struct engine_times *feeder_times(struct feeder *f)
{
    return &f->times;
}

const char *feeder_error(const struct feeder *f)
{
    return f->error;
}
