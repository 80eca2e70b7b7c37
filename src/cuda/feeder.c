#include "config.h"

#include "cuda/feeder.h"

#include <stdlib.h>

#include "cuda/runtime/check.h"
#include "cuda/runtime/owned.h"
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
    struct cuda_owned owned;
    struct pinned_piece pinned;
    struct pinned_piece more; /* of jobs for which there is no room in `pinned` */
    cudaStream_t stream;
    struct slot slots[FEEDER_SLOTS];
    unsigned next; /* the slot to fill next: the one whose chunk is oldest */
    unsigned char *device_memory;
    struct engine_times times;
    struct cuda_clock clock;
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
    for (unsigned i = 0; i < f->setup.slots; i++)
        pinned_window_close(f->slots[i].window);
    for (unsigned i = 0; i < f->setup.job_count; i++)
        if (f->setup.jobs[i]->kind->close)
            f->setup.jobs[i]->kind->close(f->setup.jobs[i]);
    cuda_owned_free(&f->owned);
    free(f);
}

/* Gives the slots their buffers. *left: where the jobs' pinned memory begins. */
static bool pin_memory(struct feeder *f, unsigned char **left, char reason[ENGINE_REASON_MAX])
{
    const size_t buffer = align_up(f->setup.size, mapping_page());
    const size_t size = pinned_size(f->setup.size, f->setup.slots);
    size_t wanted = 0;

    if (!cuda_own_pinned(&f->owned, &f->pinned, size, reason))
        return false;
    for (unsigned i = 0; i < f->setup.slots; i++)
        f->slots[i].host = f->pinned.memory + i * buffer;
    for (unsigned i = 0; i < f->setup.job_count; i++)
        wanted += align_up(f->setup.jobs[i]->pinned_bytes, CUDA_JOB_ALIGNMENT);
    *left = f->pinned.memory + f->setup.slots * buffer;
    if (wanted <= size - f->setup.slots * buffer)
        return true;
    if (!cuda_own_pinned(&f->owned, &f->more, align_up(wanted, mapping_page()), reason))
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
    if (!cuda_own_memory(&f->owned, &f->device_memory, size, reason))
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

static bool make_events(struct feeder *f, struct slot *slot, char reason[ENGINE_REASON_MAX])
{
    return (!f->setup.timed || (cuda_own_event(&f->owned, &slot->begun, 0, reason) &&
                                cuda_own_event(&f->owned, &slot->copied, 0, reason))) &&
           /* A feeder that waits leaves its core to those that fill buffers. */
           cuda_own_event(&f->owned, &slot->done, cudaEventBlockingSync, reason);
}

static bool make_resources(struct feeder *f, char reason[ENGINE_REASON_MAX])
{
    unsigned char *device, *pinned;

    for (unsigned i = 0; i < f->setup.slots; i++)
        if (!make_events(f, &f->slots[i], reason))
            return false;
    return pin_memory(f, &pinned, reason) && allocate(f, &device, reason) &&
           cuda_own_stream(&f->owned, &f->stream, 0, reason) &&
           begin_jobs(f, device, pinned, reason) &&
           cuda_own_event(&f->owned, &f->clock.base, 0, reason) &&
           cuda_clock_begin(&f->clock, f->stream, reason);
}

struct feeder *feeder_open(const struct feeder_setup *setup, char reason[ENGINE_REASON_MAX])
{
    struct feeder *f = calloc(1, sizeof *f);

    if (!f) {
        (void)cuda_no_memory(reason);
        return NULL;
    }
    f->setup = *setup;
    f->owned.arena = setup->arena;
    if (!cuda_check(cudaSetDevice((int)setup->device->index), "choosing the GPU", reason) ||
        !make_resources(f, reason)) {
        feeder_close(f);
        return NULL;
    }
    f->times.device = setup->device->index;
    return f;
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
        cuda_clock_note(&f->clock, &f->times.lines[ENGINE_COPIES], slot->begun, slot->copied,
                        bytes);
        cuda_clock_note(&f->clock, &f->times.lines[ENGINE_KERNELS], slot->copied, slot->done,
                        bytes);
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

bool feeder_finish(struct feeder *f, struct engine_times *times)
{
    bool good = true;

    /* From the oldest on; after one that failed nothing is known good. */
    for (unsigned i = 0; i < f->setup.slots && good; i++)
        good = collect(f, &f->slots[(f->next + i) % f->setup.slots]);
    for (unsigned i = 0; i < f->setup.job_count; i++)
        if (f->setup.jobs[i]->kind->end)
            f->setup.jobs[i]->kind->end(f->setup.jobs[i]);
    *times = f->times;
    f->times = (struct engine_times){0};
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

const char *feeder_error(const struct feeder *f)
{
    return f->error;
}
