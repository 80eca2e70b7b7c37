#include "config.h"

#include "run/run_profile.h"

#include <stdio.h>
#include <sys/resource.h>

#include "run/worker.h"
#include "sys/clock.h"

/* The bytes of a block as getrusage counts them. */
#define STORAGE_BLOCK 512

uint64_t run_storage_read(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_inblock * STORAGE_BLOCK : 0;
}

static const char *describe(const struct run *run, enum engine_id id)
{
    return engine_get(id)->describe(id == ENGINE_CPU ? run->cpu : gpu_status(run->gpu).engine);
}

/* Adds what a worker did to what its engine did. */
static void add_share(const struct run *run, const struct worker *w, struct reduction *reduction)
{
    /* All workers work for the GPU if it decodes. */
    const enum engine_id id = run->decode ? ENGINE_CUDA : w->engine;
    struct reduction_share *share = &reduction->shares[id];
    const struct worker_stats *stats = &w->stats;

    if (!share->engine) {
        share->engine = engine_get(id)->name;
        snprintf(share->description, sizeof share->description, "%s", describe(run, id));
    }
    if (stats->first_chunk_at) {
        uint64_t joined = clock_between(phases_started_at(&run->phases), stats->first_chunk_at);

        if (share->joined == 0 || joined < share->joined)
            share->joined = joined;
    }
    share->workers++;
    share->elements += stats->elements;
    share->source_time += stats->source_time;
    share->wait += stats->times.wait;
    reduction->shares[ENGINE_CPU].elements += stats->fallback_elements;
}

/* Bytes of what workers have counted: elements; of several arrays, bytes. */
static size_t amount_size(const struct run *run)
{
    return run->arrays ? 1 : run->info->element_size;
}

/* Adds what a worker did to the profile, but for what its GPU did for it. */
static void add_worker(const struct run *run, const struct worker *w, struct profile *p)
{
    const struct worker_stats *stats = &w->stats;
    const size_t size = amount_size(run);

    for (int i = 0; i < PROFILE_PHASES; i++)
        p->phases[i].bytes += stats->phase_elements[i] * size;
    p->threads++;
    p->stages[PROFILE_READ].capacity += clock_between(stats->started_at, stats->ended_at);
    p->stages[PROFILE_REDUCE].busy += stats->times.reduce + stats->fallback_time;
    p->in_place += stats->in_place * size;
    p->wait += stats->times.wait;
    p->source_wait += stats->source_time; /* reading and decoding are taken off in the end */
    p->cpu_time += stats->cpu_time;
}

/* The stages that GPUs do, by enum engine_work. */
static const enum profile_stage gpu_stages[ENGINE_WORKS] = {PROFILE_COPY, PROFILE_GPU_DECODE,
                                                            PROFILE_VERIFY, PROFILE_KERNEL};

/* Adds the timelines of one kind of work of one device. */
static void add_device(const struct run *run, unsigned device, int kind, struct profile *p)
{
    struct profile_work *work = &p->stages[gpu_stages[kind]];
    struct timeline line = {0};
    struct timeline_total total;

    for (unsigned i = run->cpu_workers; i < run->cpu_workers + run->feeders; i++) {
        struct worker *w = &run->workers[i];

        if (w->run && w->stats.times.device == device)
            timeline_join(&line, &w->stats.times.lines[kind]);
    }
    total = timeline_total(&line);
    timeline_free(&line);
    work->bytes += total.bytes;
    work->busy += total.busy;
    work->capacity += total.extent;
    p->gpus += kind == ENGINE_COPIES && total.bytes > 0;
}

/* The stages of the GPUs, which reduced so many bytes. */
static void add_gpus(const struct run *run, uint64_t bytes, struct profile *p)
{
    for (int i = 0; i < ENGINE_WORKS; i++) {
        struct profile_work *work = &p->stages[gpu_stages[i]];

        for (unsigned device = 0; device < run->gpu->needs.device_count; device++)
            add_device(run, device, i, p);
        /* Stretches beyond the capacity of timelines went as the rest did. Batches of compressed
           input are large, and other bytes are copied than reduced. */
        if (!run->decode && work->bytes > 0 && work->bytes < bytes) {
            double factor = (double)bytes / (double)work->bytes;

            work->busy = (uint64_t)((double)work->busy * factor);
            work->capacity = (uint64_t)((double)work->capacity * factor);
            work->bytes = bytes;
        }
    }
}

/* The stages that run on the workers' threads. */
static void add_source(const struct run *run, const struct reduction *reduction, struct profile *p)
{
    struct source_stats stats = source_stats(run->source);
    uint64_t in_source;

    p->stages[PROFILE_READ].bytes = stats.input_read;
    p->stages[PROFILE_READ].busy = clock_between(run->before.read_time, stats.read_time);
    /* Bytes that the decode stage did not decode. */
    if (run->info->compressed && reduction->bytes > p->stages[PROFILE_GPU_DECODE].bytes)
        p->stages[PROFILE_DECODE].bytes = reduction->bytes - p->stages[PROFILE_GPU_DECODE].bytes;
    p->stages[PROFILE_CHECK].bytes = run->checked.bytes;
    p->stages[PROFILE_CHECK].busy = run->checked.time;
    p->check_in_turn = run->checked.time_in_turn;
    p->stages[PROFILE_DECODE].busy = clock_between(run->before.decode_time, stats.decode_time);
    p->stages[PROFILE_REDUCE].bytes = reduction->shares[ENGINE_CPU].bytes;
    p->stages[PROFILE_DECODE].capacity = p->stages[PROFILE_REDUCE].capacity =
        p->stages[PROFILE_CHECK].capacity = p->stages[PROFILE_READ].capacity;
    in_source = p->stages[PROFILE_READ].busy + p->stages[PROFILE_DECODE].busy;
    p->source_wait = clock_between(in_source, p->source_wait);
}

void run_profile_end(struct run *run, uint64_t now, struct reduction *reduction)
{
    const struct gpu_status gpu = gpu_status(run->gpu);
    struct profile *p = &reduction->profile;
    uint64_t begun = UINT64_MAX;

    for (unsigned i = 0; i < run->cpu_workers + run->feeders; i++) {
        const struct worker *w = &run->workers[i];

        if (!w->run)
            continue;
        add_share(run, w, reduction);
        add_worker(run, w, p);
        if (w->stats.started_at && w->stats.started_at < begun)
            begun = w->stats.started_at;
    }
    for (int i = 0; i < ENGINES; i++)
        reduction->shares[i].bytes = reduction->shares[i].elements * amount_size(run);
    add_gpus(run, reduction->shares[ENGINE_CUDA].bytes, p);
    phases_finish(&run->phases, now, p->phases);
    add_source(run, reduction, p);

    p->start_up = clock_between(run->called_at, phases_started_at(&run->phases));
    p->gpu_open = gpu.engine && gpu.opened_at >= run->called_at ? gpu.open_time : 0;
    p->input_span = clock_between(begun, now - p->phases[PROFILE_FINISH].time);
    p->in_turn = !run->info->parallel || run->info->compressed;
    p->pipe = run->info->input_bytes == SOURCE_UNKNOWN;
    /* The bytes from storage of runs that are too short to have a bottleneck count for the next
       one. */
    if (profile_time(p) >= PROFILE_TIME_MIN) {
        uint64_t storage = run_storage_read();

        p->storage = clock_between(*run->storage_seen, storage);
        *run->storage_seen = storage;
    }
}
