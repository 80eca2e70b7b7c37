#include "config.h"

#include "run/run_state.h"

#include "run/gpu_decode.h"
#include "run/worker.h"
#include "source/compressed.h"
#include "sys/clock.h"

/* The most that CPU workers have in place, all together: it counts as memory of the process. A
   feeder beside them has two windows, too. */
#define CPU_IN_PLACE_MAX ((size_t)512 << 20)

/* Workers of a file most of which is not cached: they wait more than they work. Disks want several
   requests at a time, but not many: O_DIRECT by 2, 4, 8 and 16 of them 4.0, 4.2, 3.8 and 3.6 GB/s
   where dd(1) had 3.9, and at best 4.2 with two of it. */
#define READERS_UNCACHED 4
#define MOSTLY 0.5

/* How much zstd is taken to compress when workers are counted beforehand. */
#define COMPRESSION 8

/*
 * Workers.
 */

static void worker_work(void *context, unsigned number)
{
    struct run *run = context;
    struct worker *w = &run->workers[number];

    if (run->decode)
        gpu_decode_work(w);
    else
        work_run(w);
    if (w->first && w->stats.chunks == 0)
        phases_note_ramped(&run->phases);
}

/* A worker that has no thread leaves the run. If that is the first one, none has a thread, and it
   is going to work alone. */
static void worker_leave(void *context, unsigned number)
{
    struct run *run = context;
    struct worker *w = &run->workers[number];

    if (w->first && w->engine_number > 0)
        phases_note_ramped(&run->phases);
    if (w->engine == ENGINE_CPU)
        atomic_fetch_sub(&run->cpu_at_work, 1);
    w->run = NULL;
}

/* Bytes that an engine's workers take in place at a time, `count` of them. The only GPU feeder that
   does is the one beside CPU workers: it costs a single core, and brings 22 GB/s, where each that
   copies brings 7; but more of them bring no more, and seven that copy fill the link (53 of 55
   GB/s). */
static size_t in_place_bytes(const struct run *run, enum engine_id id, unsigned count)
{
    size_t most = engine_get(id)->in_place_bytes;

    if (id == ENGINE_CUDA)
        return run->options->device == DEVICE_GPU ? 0 : most;
    if (run->setup.chunk_size)
        return run->setup.chunk_size;
    return most < CPU_IN_PLACE_MAX / count ? most : CPU_IN_PLACE_MAX / count;
}

/* Gives `count` workers of an engine, of all there are, a part in the run. */
static void join_workers(struct run *run, enum engine_id id, unsigned count, bool first)
{
    struct worker *workers = run->workers + (id == ENGINE_CPU ? 0 : run->cpu_workers);
    size_t in_place = in_place_bytes(run, id, count);
    struct engine_setup setup = run->setup;

    if (id == ENGINE_CPU && setup.chunk_size == 0)
        setup.chunk_size = run->info->buffer_bytes;
    /* Equal for all inputs, so that engine workers can be kept. */
    setup.in_place = id == ENGINE_CPU ? engine_cpu.in_place_bytes : in_place;
    for (unsigned i = 0; i < count; i++) {
        if (run->tallies)
            setup.tallies = &run->tallies[(id == ENGINE_CPU ? 0 : run->cpu_workers) + i];
        if (run->keys)
            setup.tallies = &run->keys[i].set;
        worker_join(&workers[i], run, &setup, in_place, first);
    }
    if (id == ENGINE_CPU)
        atomic_fetch_add(&run->cpu_at_work, count);
}

/* Bytes of an input that are worth a CPU worker of their own: a core has added up fewer before a
   thread has started. doc/tuning.md has the times. */
#define WORKER_BYTES ((uint64_t)1 << 20)

/* The cost of an array of a container beside its elements, to round its result and to write its
   line, in bytes that could be added up meanwhile. */
#define ARRAY_BYTES ((uint64_t)4 << 10)

/* Bytes of work that an input is, as far as its size tells; SOURCE_UNKNOWN where it does not. */
static uint64_t work_bytes(const struct run *run)
{
    const struct source_info *info = run->info;
    uint64_t bytes = info->input_bytes, elements = 0;

    if (info->container)
        elements = info->pick_bytes;
    else if (info->compressed && info->elements <= SOURCE_UNKNOWN / info->element_size)
        elements = info->elements * info->element_size;
    if (run->in_container && elements > 0)
        return elements;
    /* A container may be a directory, whose arrays are in other files. */
    bytes = bytes < elements ? elements : bytes;
    if (run->arrays && bytes != SOURCE_UNKNOWN)
        return bytes + info->pick_count * ARRAY_BYTES;
    /* An array may be a small part of its file. */
    if (bytes == SOURCE_UNKNOWN || info->container || info->compressed || info->scattered ||
        info->elements > bytes / info->element_size)
        return bytes;
    return info->elements * info->element_size;
}

/* Starts the workers of an engine that have joined, on threads of their own. Returns how many are
   started, here or by others; the rest leave. */
static unsigned start_workers(struct run *run, enum engine_id id, unsigned count)
{
    const struct team_job job = {worker_work, worker_leave, run, run->last};

    /* Tallies are better allocated by threads of their own, whose heaps keep the memory. */
    if (id == ENGINE_CPU && !run->tallies && session_is_short(run->options, work_bytes(run))) {
        team_take_part(run->team, 0, count, &job);
        return count;
    }
    return team_start(run->team, id == ENGINE_CPU ? 0 : run->cpu_workers, count, &job);
}

/* Workers for the input: as many as asked for, but no more than it can keep busy. */
static unsigned worker_count(const struct run *run, enum engine_id id)
{
    const struct session_options *options = run->options;
    const struct source_info *info = run->info;
    const struct engine *engine = engine_get(id);
    const uint64_t work = work_bytes(run);
    uint64_t share = engine->chunk_bytes;
    unsigned count = id == ENGINE_CUDA ? run->feeders : options->threads;

    if (count == 0)
        count = info->uncached > MOSTLY ? READERS_UNCACHED : engine->workers(0, run->cores);
    if (options->chunk_size)
        share = options->chunk_size;
    else if (id == ENGINE_CPU && !info->compressed)
        share = options->input.view ? SESSION_WORKER_BYTES : WORKER_BYTES;
    if (info->compressed)
        share = share / COMPRESSION + 1;
    if (work != SOURCE_UNKNOWN && work / share < count)
        count = (unsigned)(work / share) + (work % share > 0);
    return count > 0 && (!run->keys || run->arrays) ? count : 1;
}

/* Workers for a compressed input; no more than there are pieces of it. */
static unsigned worker_count_compressed(const struct run *run)
{
    const struct session_options *options = run->options;
    const uint64_t pieces = run->info->input_bytes / compressed_layout(run->source).piece + 1;
    const unsigned devices = gpu_decode_devices(run->decode);
    const unsigned most = session_tuning(options)->compressed_workers * devices;
    unsigned count = options->threads ? options->threads : run->cores < most ? run->cores : most;

    if (!options->threads && count < devices)
        count = devices;

    return pieces < count ? (unsigned)pieces : count;
}

/*
 * The GPU, in auto.
 */

/* Bytes of input there are to read; SOURCE_UNKNOWN when that cannot be told. */
static uint64_t input_total(const struct source_info *info)
{
    if (info->cut)
        return info->cut_bytes;
    if (info->container)
        return info->compressed ? info->input_bytes : info->pick_bytes;
    /* --length may ask for more elements than 64 bits count bytes. */
    return info->compressed || info->elements > SOURCE_UNKNOWN / info->element_size
               ? info->input_bytes
               : (info->elements - info->first) * info->element_size;
}

/* Bytes a nanosecond at which the CPU alone has read this input so far, or, at its beginning, those
   before it; 0 when that cannot be told. */
static double rate_so_far(const struct run *run, uint64_t read, uint64_t time)
{
    const struct experience *e = run->experience;

    if (time >= GPU_RATE_AFTER)
        return (double)read / (double)time;
    return e->read_time >= GPU_RATE_AFTER ? (double)e->read / (double)e->read_time : 0;
}

/* Collects the observations that the policy decides on. */
static void observe(struct run *run, uint64_t now)
{
    uint64_t total = input_total(run->info), time = phases_time(&run->phases, now);
    struct source_stats stats = source_stats(run->source);
    unsigned workers = atomic_load(&run->cpu_at_work);
    struct gpu_observation *o = &run->observed;

    o->no_kernels = run->arrays || run->keys || run->info->scattered ||
                    !engine_finds(&engine_cuda, run->setup.wants);
    o->compressed = run->info->compressed;
    o->small = run->info->input_bytes < GPU_INPUT_MIN;
    o->in_order = !run->info->parallel;
    o->gpu = gpu_status(run->gpu).state;
    o->feeders = run->feeders_state;
    o->useless = run->experience->useless;
    o->forced = session_tuning(run->options)->gpu_always;
    o->rate = rate_so_far(run, stats.input_read, time);
    o->left = stats.input_read < total ? total - stats.input_read : 0;
    o->later_bytes = run->later_bytes;
    o->waits_for_storage =
        run->info->uncached > 0 && workers > 0 && stats.read_time / workers > time / 2;
    o->idle_core = workers < run->cores;
    o->rate_before = run->rate_before_it;
    o->trial_time = clock_between(run->fed_since, now);
    o->trial_rate = o->trial_time ? (double)clock_between(run->read_before_it, stats.input_read) /
                                        (double)o->trial_time
                                  : 0;
}

static void start_feeders(struct run *run, uint64_t now)
{
    run->feeders_state = FEEDERS_TRIAL;
    run->fed_since = now;
    run->read_before_it = source_stats(run->source).input_read;
    run->rate_before_it = run->observed.rate;
    join_workers(run, ENGINE_CUDA, run->feeders, false);
    (void)start_workers(run, ENGINE_CUDA, run->feeders);
}

/* Observes, and does what the policy says. */
static void mind_gpu(struct run *run, uint64_t now)
{
    observe(run, now);
    switch (gpu_policy(&run->observed)) {
    case GPU_WAIT:
        break;
    case GPU_OPEN:
        gpu_open_async(run->gpu);
        break;
    case GPU_FEED:
        start_feeders(run, now);
        break;
    case GPU_KEEP:
        run->feeders_state = FEEDERS_KEPT;
        break;
    case GPU_DISMISS:
        run->feeders_state = FEEDERS_DISMISSED;
        run->experience->useless = true;
        atomic_store(&run->feeders_end, true);
        break;
    }
}

/* Notes how fast the CPU alone has read the input, for those behind it. */
static void gain_experience(struct run *run)
{
    uint64_t read = source_stats(run->source).input_read;

    if (run->feeders_state == FEEDERS_NONE && read >= GPU_INPUT_MIN) {
        run->experience->read = read;
        run->experience->read_time = phases_time(&run->phases, clock_now());
    }
}

/*
 * The run.
 */

/* Waits until all workers have ended, and meanwhile shows progress and minds the GPU. */
static void watch(struct run *run)
{
    const struct progress_observer *progress = run->options->progress;
    bool gpu = run->options->device == DEVICE_AUTO;

    if (progress)
        progress->begin(progress->context, run->info->name, input_total(run->info));
    observe(run, clock_now());
    gpu = gpu && gpu_policy_possible(&run->observed);
    do {
        if (progress && progress->update(progress->context, source_stats(run->source).input_read))
            source_cancel(run->source);
        if (gpu)
            mind_gpu(run, clock_now());
    } while (!team_wait(run->team, gpu || progress ? PROGRESS_TICK : 0));
    if (progress)
        progress->end(progress->context);
}

/* Whether the input is so small that a thread of its own would take longer to wake than to work. A
   GPU that tests call in takes part with threads alone. */
static bool runs_inline(const struct run *run, enum engine_id id, unsigned workers)
{
    const uint64_t most = run->info->compressed ? WORKER_BYTES / COMPRESSION : WORKER_BYTES;

    return id == ENGINE_CPU && workers == 1 && (!run->info->compressed || run->in_container) &&
           work_bytes(run) <= most && !session_tuning(run->options)->gpu_always;
}

/* Sets up what workers and the session's thread share. */
static void prepare(struct run *run, unsigned workers)
{
    atomic_store(&run->phases.ramping, workers);
    run->before = source_stats(run->source);
    if (run->started_at)
        phases_note_start(&run->phases, run->started_at);
    if (run->info->whole) { /* it was read when it was opened, for this run */
        phases_note_start(&run->phases, run->opened_at);
        run->before.read_time = 0;
    }
}

/* Merges what the workers found. False when one of them failed. */
static bool merge(const struct run *run, struct partial *partial)
{
    bool good = true;

    partial_clear(partial);
    for (unsigned i = 0; i < run->cpu_workers + run->feeders; i++) {
        const struct worker *w = &run->workers[i];

        if (w->run) {
            partial_merge(partial, &w->partial);
            good = good && !w->failed;
        }
    }
    return good;
}

/* Has the first worker of an engine work on the session's thread: the input is small, or no other
   thread can be had. */
static void work_alone(struct run *run, enum engine_id id)
{
    struct worker *w = &run->workers[id == ENGINE_CPU ? 0 : run->cpu_workers];

    work_run(w);
    if (w->stats.chunks == 0)
        phases_note_ramped(&run->phases);
    observe(run, clock_now());
}

/* Says once that the session does without threads, which takes longer. */
static void warn_alone(const struct run *run)
{
    if (!run->experience->alone)
        log_warn(run->options->input.log, run->info->name, NO_ADVICE,
                 "cannot start a thread: reducing without one");
    run->experience->alone = true;
}

/* The run of an input that a GPU decodes, `count` of whose feeders have joined. They are fewer than
   read and hash as fast as it can: CPU workers are of these, too. */
static void run_gpu_decode(struct run *run, unsigned count)
{
    const enum engine_id id = ENGINE_CUDA;
    struct worker *first = &run->workers[run->cpu_workers];
    unsigned helpers = worker_count_compressed(run) - count;

    if (helpers > run->cpu_workers)
        helpers = run->cpu_workers;
    if (helpers > 0)
        join_workers(run, ENGINE_CPU, helpers, false);
    if (start_workers(run, id, count) > 0) {
        (void)start_workers(run, ENGINE_CPU, helpers);
        watch(run);
        if (gpu_decode_goes_on(run->decode) && start_workers(run, id, 1) > 0)
            watch(run);
    } else {
        for (unsigned i = 0; i < helpers; i++)
            worker_leave(run, i);
        join_workers(run, id, 1, false);
        gpu_decode_work(first);
        if (gpu_decode_goes_on(run->decode))
            gpu_decode_work(first);
        if (!first->failed)
            warn_alone(run);
    }
    gpu_decode_end(run->decode, first);
}

/* Makes an engine ready for compressed input. Otherwise that has to be read in another way; false,
   too, with *failed, when nothing can be done. */
static bool prepare_gpu_decode(struct run *run, bool *failed)
{
    char reason[ENGINE_REASON_MAX];

    *failed = false;
    if (run->options->device == DEVICE_AUTO && !engine_finds(&engine_cuda, run->setup.wants)) {
        run->plan->no_gpu = PLAN_NO_KERNELS;
        return false;
    }
    run->decode = gpu_decode_begin(run, reason);
    if (run->decode)
        return true;
    run->plan->no_gpu = "it does not decode the input";
    if (run->info->input_bytes != SOURCE_UNKNOWN)
        return false;
    *failed = !gpu_decode_without(run);
    return !*failed;
}

enum source_verdict run_workers(struct run *run, struct partial *partial)
{
    enum engine_id id =
        run->options->device == DEVICE_GPU && !run->info->scattered ? ENGINE_CUDA : ENGINE_CPU;
    enum source_verdict verdict;
    unsigned count;
    bool alone = false, failed;

    if (run->info->undecoded && !prepare_gpu_decode(run, &failed))
        return failed ? SOURCE_BROKEN : SOURCE_REREAD;
    if (run->decode)
        id = ENGINE_CUDA;
    count = run->decode ? worker_count_compressed(run) : worker_count(run, id);
    if (run->decode && count > run->feeders)
        count = run->feeders;
    prepare(run, run->decode ? gpu_decode_devices(run->decode) : count);
    join_workers(run, id, count, !run->decode);
    if (run->decode) {
        run_gpu_decode(run, count);
    } else if (runs_inline(run, id, count)) {
        run->workers[0].short_run = true;
        work_alone(run, id);
    } else if (start_workers(run, id, count) == 0) {
        join_workers(run, id, 1, true);
        work_alone(run, id);
        alone = true;
    } else {
        watch(run);
    }
    gain_experience(run);
    verdict = merge(run, partial) ? source_finish(run->source) : SOURCE_BROKEN;
    if (alone && verdict == SOURCE_COMPLETE)
        warn_alone(run);
    if (run->decode && verdict == SOURCE_REREAD)
        run->plan->no_gpu = "it does not decode all of the input";
    return verdict;
}
