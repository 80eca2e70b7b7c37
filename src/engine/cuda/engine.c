/*
 * The CUDA engine. A worker is a feeder: two slots, each a pinned host buffer, a device buffer and
 * events, on one stream. While the copy and the kernel of one slot are in flight, the worker fills
 * the other.
 *
 * The partial result stays on the device and grows with every chunk. Behind each kernel a copy of
 * it is queued to the slot's pinned mirror: when the slot's event has passed, the mirror is the
 * proof that this chunk and all before it are counted. A chunk whose event has not passed is still
 * in its slot's buffer, so a device that fails takes nothing with it.
 */
#include "config.h"

#include "engine/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/cuda/kernels.h"
#include "sys/clock.h"
#include "sys/faults.h"
#include "sys/mapping.h"

/* Bytes of a buffer, and the feeders of a GPU: one core copies from the page cache at a sixth of
   the rate of a PCIe 5 x16 link. On such a link, which copies at 55.4, GB/s in the steady state by
   feeders and MiB of a buffer, files of 16 GiB:

                4     6     8    10    12    16
           5  43.4  44.2  45.8  44.7  45.8  42.4
           6  50.8  52.8  53.0  52.9  52.5  47.4
           7  51.4  52.4  53.0  53.2  52.5  47.0
           8  51.3  52.5  52.8  52.9  52.1  44.2

   A copy costs 2.7 us beside its bytes; what no longer fits the last cache costs memory's time. On
   two such links, one host, which copy at 110.7 (one GPU, as above: 52.2):

                2     3     4     6     8
          14  92.4  93.9  96.7  96.5  86.7
          18  90.1  95.3  98.9  99.0  79.6
          24  90.3  94.9  97.8  91.8  79.9

   So several GPUs have more feeders each, and all buffers together are bounded. */
#define CHUNK_BYTES ((size_t)8 << 20)
#define WORKERS_ONE_DEVICE 7
#define WORKERS_PER_DEVICE 9
#define BUFFERS_MAX ((size_t)144 << 20)

/* Bytes of a window of a mapped file that is pinned and copied from where it is: 22 GB/s by one
   feeder with two such windows, measured, on the link that carries 55. */
#define IN_PLACE_BYTES ((size_t)64 << 20)

#define SLOTS ENGINE_PENDING_MAX

/* Of the pages that pinned memory is best made of. */
#define HUGE_PAGE ((size_t)2 << 20)

/* Kernels count the elements of a chunk in less than 30 bits. */
#define CHUNK_BYTES_MAX ((size_t)1 << 29)

struct device {
    int number; /* as the CUDA runtime counts */
    int multiprocessors;
};

/* Pinned memory for the workers that are expected, made while the context is. A worker that finds
   no place in it, or needs another size, makes its own. */
struct arena {
    unsigned char *memory; /* NULL when there is none */
    size_t size;
    size_t share; /* bytes of one worker */
    unsigned shares;
    bool *used; /* guarded by the engine's mutex */
    bool registered;
};

struct engine_state {
    struct device devices[ENGINE_DEVICES_MAX];
    unsigned device_count;
    char description[64];
    size_t chunk_size; /* of workers whose setup asks for none */
    pthread_mutex_t mutex;
    struct arena arena;
};

struct slot {
    unsigned char *host;    /* in the worker's pinned memory */
    void *device;           /* in the worker's device memory */
    struct partial *mirror; /* in the pinned memory */
    cudaEvent_t begun, copied, done;
    struct chunk chunk;
    void *window; /* what was pinned of a mapped file for it; NULL if nothing was */
    bool queued;  /* all its work is in the stream: the event will tell */
    bool busy;    /* the chunk is not known good yet */
};

struct engine_worker {
    struct engine_state *engine;
    const struct device *device;
    struct engine_setup setup;
    size_t size; /* bytes of a buffer */
    unsigned char *pinned;
    size_t pinned_size;
    bool shared;     /* pinned is a share of the arena */
    bool registered; /* pinned is its own, and known to the runtime */
    cudaStream_t stream;
    struct slot slots[SLOTS];
    unsigned next; /* the slot to fill next: the one whose chunk is oldest */
    unsigned char *device_memory;
    struct partial *partial; /* in the device memory, as is the scratch */
    struct cuda_scratch *scratch;
    struct partial good; /* of all chunks known good */
    struct engine_times times;
    cudaEvent_t base; /* in the stream's past, at base_time */
    uint64_t base_time;
    char error[ENGINE_REASON_MAX];
};

/* Writes what failed and why to `reason`; whether it did not. */
static bool check(cudaError_t error, const char *what, char reason[ENGINE_REASON_MAX])
{
    if (faults_cuda())
        error = cudaErrorUnknown;
    if (error == cudaSuccess)
        return true;
    if (error == cudaErrorInsufficientDriver)
        snprintf(reason, ENGINE_REASON_MAX,
                 "no NVIDIA driver, or one that is older than CUDA %d.%d", CUDART_VERSION / 1000,
                 CUDART_VERSION % 1000 / 10);
    else
        snprintf(reason, ENGINE_REASON_MAX, "%s: %s", what, cudaGetErrorString(error));
    return false;
}

/*
 * Pinned host memory.
 */

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

/* Bytes of a partial result's place in pinned memory. */
#define MIRROR round_up(sizeof(struct partial), 64)

/* Bytes that a worker with buffers of `size` bytes needs. */
static size_t pinned_size(size_t size)
{
    return round_up(SLOTS * (round_up(size, mapping_page()) + MIRROR), mapping_page());
}

/* Memory of huge pages, touched: registering it takes a tenth of the time of cudaHostAlloc (37
   against 350 ms a GiB, measured). NULL without memory. */
static unsigned char *huge_alloc(size_t size)
{
    size_t room = size + HUGE_PAGE, before;
    unsigned char *memory, *map;

    map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    /* What lies outside the aligned part is given back. */
    memory = (unsigned char *)round_up((size_t)map, HUGE_PAGE);
    before = (size_t)(memory - map);
    if (before > 0)
        munmap(map, before);
    munmap(memory + size, room - before - size);
    (void)madvise(memory, size, MADV_HUGEPAGE);
    for (size_t i = 0; i < size; i += mapping_page())
        memory[i] = 0;
    return memory;
}

static void *make_arena(void *argument)
{
    struct arena *arena = argument;

    arena->used = calloc(arena->shares, sizeof *arena->used);
    if (arena->used)
        arena->memory = huge_alloc(arena->size);
    return NULL;
}

/* A share of the arena for a worker that needs `size` bytes; NULL when there is none. */
static unsigned char *take_share(struct engine_state *engine, size_t size)
{
    struct arena *arena = &engine->arena;
    unsigned char *memory = NULL;

    pthread_mutex_lock(&engine->mutex);
    for (unsigned i = 0; arena->registered && arena->share == size && i < arena->shares; i++) {
        if (!arena->used[i]) {
            arena->used[i] = true;
            memory = arena->memory + i * arena->share;
            break;
        }
    }
    pthread_mutex_unlock(&engine->mutex);
    return memory;
}

static void give_share(struct engine_state *engine, const unsigned char *memory)
{
    struct arena *arena = &engine->arena;

    pthread_mutex_lock(&engine->mutex);
    arena->used[(size_t)(memory - arena->memory) / arena->share] = false;
    pthread_mutex_unlock(&engine->mutex);
}

/*
 * The engine.
 */

/* Appends to a list of devices; false when it is full. */
static bool append(char *list, size_t size, const char *entry, size_t length)
{
    size_t used = strlen(list);

    return snprintf(list + used, size - used, "%s%.*s", used ? "," : "", (int)length, entry) <
           (int)(size - used);
}

/* Lets the runtime see the GPUs asked for and no others: it makes a context on each that it sees,
   and on four that takes a second longer than on one. Numbers count in what the user made visible,
   where the user did. */
static bool restrict_devices(const int *devices, unsigned count, char reason[ENGINE_REASON_MAX])
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char list[1024] = "";

    for (unsigned i = 0; i < count; i++) {
        char number[16];
        const char *entry = number;
        size_t length = (size_t)snprintf(number, sizeof number, "%d", devices[i]);

        if (visible) {
            entry = visible;
            for (int skip = devices[i]; skip > 0 && entry; skip--) {
                entry = strchr(entry, ',');
                entry += entry != NULL;
            }
            length = entry ? strcspn(entry, ",") : 0;
            if (length == 0) {
                if (*visible)
                    snprintf(reason, ENGINE_REASON_MAX,
                             "GPU %d is not among those that CUDA_VISIBLE_DEVICES names",
                             devices[i]);
                else
                    snprintf(reason, ENGINE_REASON_MAX,
                             "CUDA_VISIBLE_DEVICES is empty, which hides all GPUs");
                return false;
            }
        }
        if (!append(list, sizeof list, entry, length)) {
            snprintf(reason, ENGINE_REASON_MAX, "the list of GPUs is too long");
            return false;
        }
    }
    setenv("CUDA_VISIBLE_DEVICES", list, 1);
    return true;
}

static bool open_device(struct engine_state *engine, unsigned i, char reason[ENGINE_REASON_MAX])
{
    struct device *device = &engine->devices[i];

    device->number = (int)i;
    /* The first call that needs a context makes it. */
    return check(cudaSetDevice(device->number), "choosing the GPU", reason) &&
           check(cudaFree(NULL), "creating a context", reason) &&
           check(cudaDeviceGetAttribute(&device->multiprocessors, cudaDevAttrMultiProcessorCount,
                                        device->number),
                 "asking the GPU", reason) &&
           check(cuda_reduce_check(), "loading the kernels", reason);
}

/* Bytes of a worker's buffer, for a chunk size that was asked for. */
static size_t buffer_size(size_t chunk_size)
{
    size_t size = round_up(chunk_size, 16);

    return size < CHUNK_BYTES_MAX ? size : CHUNK_BYTES_MAX;
}

/* The chunk size where none was. */
static size_t choose_chunk_size(unsigned workers)
{
    size_t most = BUFFERS_MAX / SLOTS / (workers ? workers : 1) / mapping_page() * mapping_page();

    return most < mapping_page() ? mapping_page() : most < CHUNK_BYTES ? most : CHUNK_BYTES;
}

/* Whether the GPUs asked for are there; makes no context. */
static bool find_devices(const struct engine_needs *needs, char reason[ENGINE_REASON_MAX])
{
    int visible = 0;

    if (!restrict_devices(needs->devices, needs->device_count, reason) ||
        !check(cudaGetDeviceCount(&visible), "looking for a GPU", reason))
        return false;
    if ((unsigned)visible < needs->device_count) {
        /* The runtime stops counting at the first number that is not there. */
        snprintf(reason, ENGINE_REASON_MAX, "there is no GPU %d", needs->devices[visible]);
        return false;
    }
    return true;
}

/* Makes the contexts. */
static bool open_devices(struct engine_state *engine, const struct engine_needs *needs,
                         char reason[ENGINE_REASON_MAX])
{
    struct cudaDeviceProp properties;

    engine->device_count = needs->device_count;
    for (unsigned i = 0; i < needs->device_count; i++)
        if (!open_device(engine, i, reason))
            return false;
    if (!check(cudaGetDeviceProperties(&properties, 0), "asking the GPU", reason))
        return false;
    snprintf(engine->description, sizeof engine->description, "%s%.40s",
             needs->device_count > 1 ? "several, first " : "", properties.name);
    return true;
}

static void cuda_close(struct engine_state *engine)
{
    struct arena *arena = &engine->arena;

    /* The contexts end with the process. */
    if (arena->registered)
        (void)cudaHostUnregister(arena->memory);
    if (arena->memory)
        munmap(arena->memory, arena->size);
    free(arena->used);
    pthread_mutex_destroy(&engine->mutex);
    free(engine);
}

static struct engine_state *cuda_open(const struct engine_needs *needs,
                                      char reason[ENGINE_REASON_MAX])
{
    struct engine_state *engine;
    pthread_t thread;
    bool threaded, ok;

    if (!find_devices(needs, reason))
        return NULL;
    engine = calloc(1, sizeof *engine);
    if (!engine) {
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&engine->mutex, NULL);
    engine->chunk_size = needs->chunk_size ? needs->chunk_size : choose_chunk_size(needs->workers);
    engine->arena.share = pinned_size(buffer_size(engine->chunk_size));
    engine->arena.shares = needs->workers;
    engine->arena.size = engine->arena.share * needs->workers;
    threaded = pthread_create(&thread, NULL, make_arena, &engine->arena) == 0;
    ok = open_devices(engine, needs, reason);
    if (threaded)
        pthread_join(thread, NULL);
    if (!ok) {
        cuda_close(engine);
        return NULL;
    }
    if (engine->arena.memory)
        engine->arena.registered = cudaHostRegister(engine->arena.memory, engine->arena.size,
                                                    cudaHostRegisterPortable) == cudaSuccess;
    return engine;
}

static const char *cuda_describe(const struct engine_state *engine)
{
    return engine->description;
}

static unsigned cuda_workers(unsigned device_count, unsigned cores)
{
    unsigned most = device_count > 1 ? WORKERS_PER_DEVICE * device_count : WORKERS_ONE_DEVICE;

    return cores < device_count ? device_count : cores < most ? cores : most;
}

/*
 * Workers.
 */

/* Pins the pages that a mapped chunk lies in. False where the driver or the file system refuses, or
   where another chunk has pinned one of them. */
static bool pin_window(struct slot *slot, const struct chunk *chunk, size_t bytes)
{
    size_t begin = (size_t)chunk->data / mapping_page() * mapping_page();
    size_t end = round_up((size_t)chunk->data + bytes, mapping_page());

    if (cudaHostRegister((void *)begin, end - begin, cudaHostRegisterReadOnly) != cudaSuccess) {
        (void)cudaGetLastError(); /* it is no failure: forget it */
        return false;
    }
    slot->window = (void *)begin;
    return true;
}

static void unpin_window(struct slot *slot)
{
    if (slot->window)
        (void)cudaHostUnregister(slot->window);
    slot->window = NULL;
}

static void cuda_worker_close(struct engine_worker *worker)
{
    /* Nothing below can be helped when it fails, and after a device has failed all of it does. */
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &worker->slots[i];

        unpin_window(slot);
        if (slot->begun)
            (void)cudaEventDestroy(slot->begun);
        if (slot->copied)
            (void)cudaEventDestroy(slot->copied);
        if (slot->done)
            (void)cudaEventDestroy(slot->done);
    }
    if (worker->base)
        (void)cudaEventDestroy(worker->base);
    if (worker->device_memory)
        (void)cudaFree(worker->device_memory);
    if (worker->stream)
        (void)cudaStreamDestroy(worker->stream);
    if (worker->registered)
        (void)cudaHostUnregister(worker->pinned);
    if (worker->shared)
        give_share(worker->engine, worker->pinned);
    else if (worker->pinned)
        munmap(worker->pinned, worker->pinned_size);
    free(worker);
}

/* Gives the slots their places in the worker's pinned memory. */
static bool pin_memory(struct engine_worker *worker, char reason[ENGINE_REASON_MAX])
{
    size_t buffer = round_up(worker->size, mapping_page());

    worker->pinned_size = pinned_size(worker->size);
    worker->pinned = take_share(worker->engine, worker->pinned_size);
    worker->shared = worker->pinned != NULL;
    if (!worker->shared) {
        worker->pinned = huge_alloc(worker->pinned_size);
        if (!worker->pinned) {
            snprintf(reason, ENGINE_REASON_MAX, "out of memory");
            return false;
        }
        if (!check(cudaHostRegister(worker->pinned, worker->pinned_size, cudaHostRegisterPortable),
                   "pinning memory", reason))
            return false;
        worker->registered = true;
    }
    for (size_t i = 0; i < SLOTS; i++) {
        worker->slots[i].host = worker->pinned + i * buffer;
        worker->slots[i].mirror = (void *)(worker->pinned + SLOTS * buffer + i * MIRROR);
    }
    return true;
}

/* Device memory for all slots, the partial result and the scratch: one allocation, for each takes
   its time and they are made one after another. */
static bool worker_device_memory(struct engine_worker *worker, char reason[ENGINE_REASON_MAX])
{
    size_t in_place = worker->setup.in_place;
    size_t buffer = round_up(in_place > worker->size ? in_place : worker->size, mapping_page());
    size_t partial = round_up(sizeof *worker->partial, mapping_page());

    if (!check(cudaMalloc((void **)&worker->device_memory,
                          SLOTS * buffer + partial + sizeof *worker->scratch),
               "device memory", reason))
        return false;
    for (size_t i = 0; i < SLOTS; i++)
        worker->slots[i].device = worker->device_memory + i * buffer;
    worker->partial = (void *)(worker->device_memory + SLOTS * buffer);
    worker->scratch = (void *)(worker->device_memory + SLOTS * buffer + partial);
    return true;
}

static bool slot_events(struct slot *slot, char reason[ENGINE_REASON_MAX])
{
    static const char *const event = "creating an event";

    return check(cudaEventCreate(&slot->begun), event, reason) &&
           check(cudaEventCreate(&slot->copied), event, reason) &&
           /* A worker that waits leaves its core to those that fill buffers. */
           check(cudaEventCreateWithFlags(&slot->done, cudaEventBlockingSync), event, reason);
}

static bool worker_resources(struct engine_worker *worker, char reason[ENGINE_REASON_MAX])
{
    static const char *const device = "device memory", *const event = "creating an event";

    for (int i = 0; i < SLOTS; i++)
        if (!slot_events(&worker->slots[i], reason))
            return false;
    return pin_memory(worker, reason) && worker_device_memory(worker, reason) &&
           check(cudaStreamCreateWithFlags(&worker->stream, cudaStreamNonBlocking),
                 "creating a stream", reason) &&
           check(cudaMemsetAsync(worker->scratch, 0, sizeof *worker->scratch, worker->stream),
                 device, reason) &&
           check(cudaMemcpyAsync(worker->partial, &worker->good, sizeof worker->good,
                                 cudaMemcpyHostToDevice, worker->stream),
                 device, reason) &&
           check(cudaEventCreate(&worker->base), event, reason) &&
           check(cudaEventRecord(worker->base, worker->stream), event, reason) &&
           check(cudaStreamSynchronize(worker->stream), device, reason);
}

static struct engine_worker *cuda_worker_open(struct engine_state *engine,
                                              const struct engine_setup *setup, unsigned number,
                                              char reason[ENGINE_REASON_MAX])
{
    struct engine_worker *worker = calloc(1, sizeof *worker);

    if (!worker) {
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    worker->engine = engine;
    worker->device = &engine->devices[number % engine->device_count];
    worker->setup = *setup;
    worker->size = buffer_size(setup->chunk_size ? setup->chunk_size : engine->chunk_size);
    partial_clear(&worker->good);
    if (!check(cudaSetDevice(worker->device->number), "choosing the GPU", reason) ||
        !worker_resources(worker, reason)) {
        cuda_worker_close(worker);
        return NULL;
    }
    worker->base_time = clock_now();
    worker->times.device = number % engine->device_count;
    return worker;
}

/* Notes what lies between two events of the worker's, on the clock of the host: so that what
   several workers of a device note can be laid over each other. It is right to within the time that
   a thread takes to see that a stream is idle. */
static void note(struct timeline *t, const struct engine_worker *worker, cudaEvent_t from,
                 cudaEvent_t to, uint64_t bytes)
{
    float before, between; /* milliseconds */
    uint64_t begin;

    if (cudaEventElapsedTime(&before, worker->base, from) != cudaSuccess ||
        cudaEventElapsedTime(&between, from, to) != cudaSuccess)
        return;
    begin = worker->base_time + (uint64_t)((double)before * 1e6);
    timeline_note(t, begin, begin + (uint64_t)((double)between * 1e6), bytes);
}

/* Waits until a slot's chunk is counted. */
static bool collect(struct engine_worker *worker, struct slot *slot)
{
    uint64_t begun = clock_now(), bytes;

    if (!slot->busy)
        return true;
    if (!slot->queued ||
        !check(cudaEventSynchronize(slot->done), "reducing a chunk", worker->error))
        return false;
    worker->times.wait += clock_now() - begun;
    unpin_window(slot);
    worker->good = *slot->mirror;
    worker->good.sum.pending = EXACT_PENDING_MAX; /* the kernel leaves digits below 2^52 */
    slot->busy = false;
    bytes = slot->chunk.count * element_size(worker->setup.type);
    note(&worker->times.copies, worker, slot->begun, slot->copied, bytes);
    note(&worker->times.kernels, worker, slot->copied, slot->done, bytes);
    return true;
}

static void *cuda_buffer(struct engine_worker *worker, size_t *size)
{
    struct slot *slot = &worker->slots[worker->next];

    if (!collect(worker, slot))
        return NULL;
    *size = worker->size;
    return slot->host;
}

static enum engine_status cuda_worker_reduce(struct engine_worker *worker,
                                             const struct chunk *chunk)
{
    struct slot *slot = &worker->slots[worker->next];
    static const char *const event = "recording an event";
    size_t bytes = chunk->count * element_size(worker->setup.type);
    struct cuda_launch launch = {
        .type = worker->setup.type,
        .swap = worker->setup.swap,
        .wants = worker->setup.wants,
        .data = slot->device,
        .count = chunk->count,
        .index = chunk->index,
        .partial = worker->partial,
        .scratch = worker->scratch,
        .multiprocessors = worker->device->multiprocessors,
    };

    if (chunk->mapped && !pin_window(slot, chunk, bytes))
        return ENGINE_REFUSED;
    slot->chunk = *chunk;
    slot->busy = true;
    slot->queued = false;
    worker->next = (worker->next + 1) % SLOTS;
    slot->queued =
        check(cudaEventRecord(slot->begun, worker->stream), event, worker->error) &&
        check(cudaMemcpyAsync(slot->device, chunk->data, bytes, cudaMemcpyHostToDevice,
                              worker->stream),
              "copying a chunk", worker->error) &&
        check(cudaEventRecord(slot->copied, worker->stream), event, worker->error) &&
        check(cuda_reduce(&launch, worker->stream), "starting a kernel", worker->error) &&
        check(cudaMemcpyAsync(slot->mirror, worker->partial, sizeof *worker->partial,
                              cudaMemcpyDeviceToHost, worker->stream),
              "copying a result", worker->error) &&
        check(cudaEventRecord(slot->done, worker->stream), event, worker->error);
    return slot->queued ? ENGINE_TAKEN : ENGINE_FAILED;
}

static uint64_t cuda_first_nan(const struct engine_worker *worker)
{
    return worker->good.first_nan;
}

static bool cuda_finish(struct engine_worker *worker, struct partial *partial,
                        struct engine_times *times)
{
    bool good = true;

    /* From the oldest on; behind one that failed nothing is known good. */
    for (int i = 0; i < SLOTS && good; i++)
        good = collect(worker, &worker->slots[(worker->next + (unsigned)i) % SLOTS]);
    *partial = worker->good;
    *times = worker->times;
    worker->times = (struct engine_times){0}; /* the timelines are the caller's now */
    return good;
}

static unsigned cuda_unfinished(const struct engine_worker *worker,
                                struct chunk chunks[ENGINE_PENDING_MAX])
{
    unsigned count = 0;

    for (int i = 0; i < SLOTS; i++) {
        const struct slot *slot = &worker->slots[(worker->next + (unsigned)i) % SLOTS];

        if (slot->busy)
            chunks[count++] = slot->chunk;
    }
    return count;
}

static const char *cuda_worker_error(const struct engine_worker *worker)
{
    return worker->error;
}

const struct engine engine_cuda = {
    .name = "gpu",
    .chunk_bytes = CHUNK_BYTES,
    .in_place_bytes = IN_PLACE_BYTES,
    .in_use = SLOTS - 1,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .workers = cuda_workers,
    .worker_open = cuda_worker_open,
    .worker_close = cuda_worker_close,
    .buffer = cuda_buffer,
    .reduce = cuda_worker_reduce,
    .first_nan = cuda_first_nan,
    .finish = cuda_finish,
    .unfinished = cuda_unfinished,
    .worker_error = cuda_worker_error,
};
