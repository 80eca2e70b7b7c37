/*
 * The CUDA engine: which GPUs there are, their contexts, and what works on them from pinned memory:
 * workers, slicers and decoders.
 */
#include "config.h"

#include "engine/engine.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/decoder.h"
#include "cuda/feeder.h"
#include "cuda/kernels.h"
#include "cuda/runtime/check.h"
#include "cuda/runtime/pinned.h"
#include "cuda/slices.h"
#include "cuda/sums.h"
#include "cuda/tallies.h"
#include "sys/mapping.h"
#include "sys/team.h"

/* Bytes of a buffer, and the feeders of a GPU. One core copies from the page cache at a sixth to a
   twelfth of the rate of a PCIe 5 x16 link, so it takes 6 to 12 feeders to fill one; what no longer
   fits the last cache costs memory's time, so all buffers together are bounded. doc/tuning.md has
   the rates by feeders and buffer size. */
#define CHUNK_BYTES ((size_t)8 << 20)
#define WORKERS_PER_DEVICE 12
#define BUFFERS_MAX ((size_t)144 << 20)

/* Bytes of a window of a mapped file that is pinned and copied from where it is: one feeder with
   two such windows copies 22 GB/s on a link that carries 55. */
#define IN_PLACE_BYTES ((size_t)64 << 20)

/* Connections of a context to its GPU: streams that share one wait for each other's work, and the
   driver takes 20 ms to make each. Feeders and slicers copy one after the other whatever they have.
   Batches of compressed input work side by side, and so does what verifies them: that pays from so
   many bytes of input on, and a pipe may have them. doc/tuning.md has the times. */
#define CONNECTIONS 2
#define CONNECTIONS_COMPRESSED 4
#define COMPRESSED_LEAST ((uint64_t)128 << 20)
#define CONNECTIONS_LARGE 6
#define LARGE_LEAST ((uint64_t)2 << 30)

struct engine_state {
    struct feeder_device devices[ENGINE_DEVICES_MAX];
    unsigned device_count;
    char description[64];
    size_t chunk_size; /* bytes, of workers whose setup asks for none */
    struct pinned_arena arena;
    struct engine_decoder *decoders[ENGINE_DEVICES_MAX]; /* kept; NULL before the first */
};

/* Appends to a list of devices; false when it is full. */
static bool append(char *list, size_t size, const char *entry, size_t length)
{
    size_t used = strlen(list);

    return snprintf(list + used, size - used, "%s%.*s", used ? "," : "", (int)length, entry) <
           (int)(size - used);
}

/* The entry of a GPU in the list of those that the user made visible, and its length: 0 for none.
 */
static const char *visible_entry(const char *visible, int number, size_t *length)
{
    while (number > 0 && visible) {
        visible = strchr(visible, ',');
        visible += visible != NULL;
        number--;
    }
    *length = visible ? strcspn(visible, ",") : 0;
    return visible;
}

static int connections(const struct engine_needs *needs)
{
    if (needs->compressed >= LARGE_LEAST)
        return CONNECTIONS_LARGE;
    return needs->pipe || needs->compressed >= COMPRESSED_LEAST ? CONNECTIONS_COMPRESSED
                                                                : CONNECTIONS;
}

/* Lets the runtime see the GPUs asked for and no others: it makes a context on each that it sees.
   Numbers count in what the user made visible, where the user did. Contexts get as many connections
   as the input wants, unless the user chose a number. */
static bool cuda_choose(const struct engine_needs *needs, engine_set_variable *set,
                        char reason[ENGINE_REASON_MAX])
{
    const char *visible = needs->visible;
    const int *devices = needs->devices;
    char list[1024] = "";

    for (unsigned i = 0; i < needs->device_count; i++) {
        char number[16];
        const char *entry = number;
        size_t length = (size_t)snprintf(number, sizeof number, "%d", devices[i]);

        if (visible) {
            entry = visible_entry(visible, devices[i], &length);
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
    set("CUDA_VISIBLE_DEVICES", list, true);
    snprintf(list, sizeof list, "%d", connections(needs));
    set("CUDA_DEVICE_MAX_CONNECTIONS", list, false);
    return true;
}

/* How many GPUs the system has files for. */
static int count_nodes(void)
{
    DIR *nodes = opendir("/dev");
    const struct dirent *entry;
    int count = 0;

    while (nodes && (entry = readdir(nodes)))
        count += strncmp(entry->d_name, "nvidia", 6) == 0 && entry->d_name[6] >= '0' &&
                 entry->d_name[6] <= '9';
    if (nodes)
        closedir(nodes);
    return count;
}

static const struct gpu_tuning *tuning_of(const struct engine_needs *needs)
{
    return needs->tuning ? needs->tuning : &gpu_tuning_shipped;
}

static unsigned cuda_devices_for(const struct engine_needs *needs, uint64_t bytes)
{
    const char *visible = needs->visible;
    const int *devices = needs->devices;
    const unsigned count = needs->device_count;
    const uint64_t most = bytes / tuning_of(needs)->device_bytes + 1;
    int nodes;

    if (most >= count)
        return count;
    nodes = visible ? 0 : count_nodes();
    for (unsigned i = 0; i < count; i++) {
        size_t length = 0;

        if (visible)
            (void)visible_entry(visible, devices[i], &length);
        if (visible ? length == 0 : devices[i] >= nodes)
            return count;
    }
    return (unsigned)most;
}

/* A device to be made ready, beside others. */
struct opening {
    struct engine_state *engine;
    bool ok[ENGINE_DEVICES_MAX];
    char reasons[ENGINE_DEVICES_MAX][ENGINE_REASON_MAX];
};

/* Makes the context of a device. */
static void open_device(void *context, unsigned i)
{
    struct opening *opening = context;
    struct feeder_device *device = &opening->engine->devices[i];
    char *reason = opening->reasons[i];

    device->index = i;
    /* The first call that needs a context makes it. */
    opening->ok[i] =
        cuda_check(cudaSetDevice((int)i), "choosing the GPU", reason) &&
        cuda_check(cudaFree(NULL), "creating a context", reason) &&
        cuda_check(cudaDeviceGetAttribute(&device->multiprocessors, cudaDevAttrMultiProcessorCount,
                                          (int)i),
                   "asking the GPU", reason) &&
        cuda_check(cudaDeviceGetAttribute(&device->shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                          (int)i),
                   "asking the GPU", reason) &&
        cuda_check(cuda_reduce_check(), "loading the kernels", reason);
}

/* Bytes of a chunk, for so many feeders that do not ask for a size. */
static size_t choose_chunk_size(unsigned workers)
{
    size_t most =
        BUFFERS_MAX / FEEDER_SLOTS / (workers ? workers : 1) / mapping_page() * mapping_page();

    return most < mapping_page() ? mapping_page() : most < CHUNK_BYTES ? most : CHUNK_BYTES;
}

/* Whether the GPUs asked for are there; makes no context. */
static bool find_devices(const struct engine_needs *needs, char reason[ENGINE_REASON_MAX])
{
    int visible = 0;

    if (!cuda_check(cudaGetDeviceCount(&visible), "looking for a GPU", reason))
        return false;
    if ((unsigned)visible < needs->device_count) {
        /* The runtime stops counting at the first number that is not there. */
        snprintf(reason, ENGINE_REASON_MAX, "GPU %d does not exist", needs->devices[visible]);
        return false;
    }
    return true;
}

/* Makes the contexts, side by side. The first device that fails, in the user's order, gives
   the reason. */
static bool open_devices(struct engine_state *engine, const struct engine_needs *needs,
                         char reason[ENGINE_REASON_MAX])
{
    struct opening opening = {.engine = engine};
    struct cudaDeviceProp properties;

    engine->device_count = needs->device_count;
    for (unsigned i = 0; i < needs->device_count; i++)
        engine->devices[i].tuning = tuning_of(needs);
    team_call(needs->device_count, open_device, &opening);
    for (unsigned i = 0; i < needs->device_count; i++)
        if (!opening.ok[i]) {
            memcpy(reason, opening.reasons[i], ENGINE_REASON_MAX);
            return false;
        }
    if (!cuda_check(cudaGetDeviceProperties(&properties, 0), "asking the GPU", reason))
        return false;
    snprintf(engine->description, sizeof engine->description, "%s%.40s",
             needs->device_count > 1 ? "several, first " : "", properties.name);
    return true;
}

static void cuda_close(struct engine_state *engine)
{
    for (unsigned i = 0; i < engine->device_count; i++)
        if (engine->decoders[i])
            decoder_close(engine->decoders[i]);
    /* The contexts end with the process. */
    pinned_arena_close(&engine->arena);
    free(engine);
}

static struct engine_state *cuda_open(const struct engine_needs *needs,
                                      char reason[ENGINE_REASON_MAX])
{
    struct engine_state *engine;
    bool ok;

    if (!find_devices(needs, reason))
        return NULL;
    engine = calloc(1, sizeof *engine);
    if (!engine) {
        (void)cuda_no_memory(reason);
        return NULL;
    }
    engine->chunk_size = needs->chunk_size ? needs->chunk_size : choose_chunk_size(needs->workers);
    if (needs->compressed > 0) /* feeders, if there are any, have memory of their own then */
        pinned_arena_begin(&engine->arena, needs->device_count,
                           decoder_input_size(needs->before, needs->piece, needs->device_count));
    else
        pinned_arena_begin(&engine->arena, needs->workers, feeder_pinned_size(engine->chunk_size));
    ok = open_devices(engine, needs, reason);
    pinned_arena_finish(&engine->arena, ok);
    if (ok)
        return engine;
    cuda_close(engine);
    return NULL;
}

static bool cuda_finds(unsigned wants)
{
    return (wants & ~(CUDA_FINDS_MISSING | PARTIAL_SPLIT)) == 0;
}

static const char *cuda_describe(const struct engine_state *engine)
{
    return engine->description;
}

static unsigned cuda_workers(unsigned device_count, unsigned cores)
{
    const unsigned most = WORKERS_PER_DEVICE * device_count;

    return cores < device_count ? device_count : cores < most ? cores : most;
}

/*
 * Workers: feeders with jobs that sum and tally.
 */

struct engine_worker {
    struct feeder *feeder;
    size_t size; /* bytes of a buffer */
    struct cuda_sums sums;
    struct cuda_tallies tallies; /* where something is tallied */
};

static void cuda_worker_close(struct engine_worker *w)
{
    feeder_close(w->feeder);
    free(w);
}

static struct engine_worker *cuda_worker_open(struct engine_state *engine,
                                              const struct engine_setup *setup, unsigned number,
                                              char reason[ENGINE_REASON_MAX])
{
    const struct feeder_device *device = &engine->devices[number % engine->device_count];
    const size_t chunk_size = setup->chunk_size ? setup->chunk_size : engine->chunk_size;
    struct engine_worker *w = calloc(1, sizeof *w);
    struct feeder_setup feeder = {
        .device = device,
        .arena = &engine->arena,
        .element_size = element_size(setup->type),
        .size = feeder_buffer_size(chunk_size),
        .in_place = setup->in_place,
        .slots = FEEDER_SLOTS,
        .timed = true,
    };

    if (!w) {
        (void)cuda_no_memory(reason);
        return NULL;
    }
    w->size = feeder.size;
    cuda_sums_init(&w->sums, setup->type, setup->swap, setup->wants, setup->missing, setup->split,
                   device->multiprocessors, FEEDER_SLOTS);
    feeder.jobs[feeder.job_count++] = &w->sums.job;
    if (setup->tallies && setup->tallies->count > 0) {
        cuda_tallies_init(&w->tallies, setup->tallies, setup->type, setup->swap, setup->missing,
                          device->multiprocessors, device->shared, TALLIES_SLOTS,
                          feeder.in_place > feeder.size ? feeder.in_place : feeder.size);
        feeder.jobs[feeder.job_count++] = &w->tallies.job;
    }
    w->feeder = feeder_open(&feeder, reason);
    if (w->feeder)
        return w;
    free(w);
    return NULL;
}

static void *cuda_worker_buffer(struct engine_worker *w, size_t *size)
{
    *size = w->size;
    return feeder_buffer(w->feeder);
}

static enum engine_status cuda_worker_reduce(struct engine_worker *w, const struct chunk *chunk)
{
    return feeder_add(w->feeder, chunk);
}

static uint64_t cuda_worker_first_nan(const struct engine_worker *w)
{
    return w->sums.good.first_nan;
}

static bool cuda_worker_finish(struct engine_worker *w, struct partial *partial,
                               struct engine_times *times)
{
    const bool good = feeder_finish(w->feeder, times);

    *partial = w->sums.good;
    return good;
}

static unsigned cuda_worker_unfinished(const struct engine_worker *w,
                                       struct chunk chunks[ENGINE_PENDING_MAX])
{
    return feeder_unfinished(w->feeder, chunks);
}

static const char *cuda_worker_error(const struct engine_worker *w)
{
    return feeder_error(w->feeder);
}

/*
 * Slicers: feeders whose job is slices. A chunk is copied to the device and reduced there, and what
 * was found of its slices is back before the call returns. Several threads, one each, keep a link
 * busy.
 */

struct engine_slicer {
    const struct feeder_device *device;
    struct feeder *feeder;
    struct cuda_slices slices;
    void *buffer;
    char error[ENGINE_REASON_MAX];
};

static void slicer_close(struct engine_slicer *s)
{
    feeder_close(s->feeder);
    free(s);
}

static struct engine_slicer *slicer_open(struct engine_state *engine,
                                         const struct engine_slice_setup *setup, unsigned number,
                                         char reason[ENGINE_REASON_MAX])
{
    const struct feeder_device *device = &engine->devices[number % engine->device_count];
    struct engine_slicer *s = calloc(1, sizeof *s);
    const struct feeder_setup feeder = {
        .device = device,
        .arena = &engine->arena,
        .element_size = element_size(setup->type),
        .size = feeder_buffer_size(setup->bytes),
        .slots = 1,
        .jobs = {s ? &s->slices.job : NULL},
        .job_count = 1,
    };

    if (!s) {
        (void)cuda_no_memory(reason);
        return NULL;
    }
    s->device = device;
    cuda_slices_init(&s->slices, setup, feeder.size, device->tuning);
    s->feeder = feeder_open(&feeder, reason);
    if (s->feeder) {
        s->buffer = feeder_buffer(s->feeder);
        return s;
    }
    free(s);
    return NULL;
}

static void *slicer_buffer(struct engine_slicer *s)
{
    return s->buffer;
}

static bool slicer_reduce(struct engine_slicer *s, bool columns, bool rounded, const void *data,
                          size_t rows, size_t length, struct engine_found *found)
{
    const struct chunk chunk = {.data = data, .count = rows * length};

    *found = (struct engine_found){.parts = 0};
    switch (cuda_slices_shape(&s->slices, columns, rounded, rows, length)) {
    case CUDA_SLICES_CPU:
        return true;
    case CUDA_SLICES_TOO_MANY:
        snprintf(s->error, sizeof s->error, "internal error: too many slices");
        return false;
    case CUDA_SLICES_GOOD:
        break;
    }
    /* It may have been opened by another thread. */
    if (!cuda_check(cudaSetDevice((int)s->device->index), "choosing the GPU", s->error))
        return false;
    if (feeder_add(s->feeder, &chunk) != ENGINE_TAKEN || !feeder_buffer(s->feeder)) {
        snprintf(s->error, sizeof s->error, "%s", feeder_error(s->feeder));
        return false;
    }
    *found = s->slices.found;
    return true;
}

static const char *slicer_error(const struct engine_slicer *s)
{
    return s->error;
}

/*
 * Decoders.
 */

static struct engine_decoder *cuda_decode_begin(struct engine_state *engine, unsigned device,
                                                const struct engine_decode_setup *setup,
                                                char reason[ENGINE_REASON_MAX])
{
    struct engine_decoder **kept = &engine->decoders[device];

    if (*kept && decoder_begin(*kept, setup))
        return *kept;
    if (*kept)
        decoder_close(*kept);
    *kept = decoder_open(&engine->devices[device], &engine->arena, setup, reason);
    return *kept;
}

static const struct engine_slices cuda_slice_engine = {
    .open = slicer_open,
    .close = slicer_close,
    .buffer = slicer_buffer,
    .reduce = slicer_reduce,
    .error = slicer_error,
};

static const struct engine_decode cuda_decode = {
    .begin = cuda_decode_begin,
    .memory = decoder_memory,
    .advance = decoder_advance,
    .content_free = decoder_content_free,
    .wanted = decoder_wanted,
    .taken = decoder_taken,
    .progress = decoder_progress,
    .part_content = decoder_part_content,
    .refused = decoder_refused,
    .finish = decoder_finish,
};

const struct engine engine_cuda = {
    .name = "gpu",
    .chunk_bytes = CHUNK_BYTES,
    .in_place_bytes = IN_PLACE_BYTES,
    .in_use = FEEDER_SLOTS - 1,
    .choose = cuda_choose,
    .open = cuda_open,
    .close = cuda_close,
    .finds = cuda_finds,
    .describe = cuda_describe,
    .devices_for = cuda_devices_for,
    .workers = cuda_workers,
    .worker_open = cuda_worker_open,
    .worker_close = cuda_worker_close,
    .buffer = cuda_worker_buffer,
    .reduce = cuda_worker_reduce,
    .first_nan = cuda_worker_first_nan,
    .finish = cuda_worker_finish,
    .unfinished = cuda_worker_unfinished,
    .worker_error = cuda_worker_error,
    .decode = &cuda_decode,
    .slices = &cuda_slice_engine,
};
