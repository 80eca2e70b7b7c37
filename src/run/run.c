#include "config.h"

#include "run/session.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "source/source.h"
#include "sys/clock.h"
#include "sys/cores.h"
#include "sys/faults.h"
#include "sys/mapping.h"
#include "sys/message.h"

/* How often the coordinator looks up, when there is something to look at. */
#define TICK (CLOCK_SECOND / 50)

/* auto calls the GPU in when it is done the sooner for it. Making a GPU ready takes a third of a
   second, beside the work; that costs the work, and the end of the process, about as much as the
   cores do in this time. A feeder that has a core of its own brings so many bytes a nanosecond (4
   cores 65 GB/s, with a feeder 86); one that shares the cores with as many workers takes from them
   most of what it brings (4 cores 66 and 70, 8 cores 122 and 126). */
#define GPU_START_UP (CLOCK_SECOND * 35 / 100)
#define GPU_COST (CLOCK_SECOND / 5)
#define FEEDER_RATE 20.0
#define FEEDER_RATE_SHARED 4.0

/* Cores that read faster than this, in bytes a nanosecond, leave the memory nothing to give to a
   GPU: 12 of them at 162 and 16 at 183, of the 193 that plain reading gave, got no faster with one.
 */
#define CPU_RATE_MAX 130.0

/* auto looks at the CPU's rate after this long. */
#define RATE_AFTER (CLOCK_SECOND / 10)

/* Less than this is not worth starting a feeder of a GPU that is ready. */
#define FEEDER_TIME (CLOCK_SECOND / 20)

/* After this long the feeder must have made the whole faster, by this factor: where the cores read
   as fast as memory can, it only takes from them. */
#define FEEDER_TRIAL (CLOCK_SECOND / 10)
#define FEEDER_GAIN 1.02

/* The most that CPU workers have in place, all together: it counts as memory of the process. A
   feeder beside them has two windows, too. */
#define CPU_IN_PLACE_MAX ((size_t)96 << 20)

/* Workers of a file most of which is not cached: they wait more than they work. Disks want several
   requests at a time, but not many: O_DIRECT by 2, 4, 8 and 16 of them 4.0, 4.2, 3.8 and 3.6 GB/s
   where dd(1) had 3.9, and at best 4.2 with two of it. */
#define READERS_ABSENT 4
#define MOSTLY 0.5

/* How much zstd is taken to compress when workers are counted beforehand. */
#define COMPRESSION 8

/* A worker that has had this many chunks has seen the run come up to speed, though another may
   still wait for its first: where they take turns there is no saying who is next. */
#define RAMP_CHUNKS 16

/* The bytes of a block as getrusage counts them. */
#define STORAGE_BLOCK 512

enum { SHARE_CPU = REDUCTION_CPU, SHARE_CUDA = REDUCTION_GPU };

/* How far the GPU engine is. */
enum gpu_state { GPU_UNUSED, GPU_OPENING, GPU_READY, GPU_FAILED };

struct session {
    const struct session_options *options;
    unsigned cores;
    struct engine_state *cpu;

    /* Guards the following; the thread that opens the GPU changes them. */
    pthread_mutex_t mutex;
    enum gpu_state gpu_state;
    struct engine_state *gpu;
    char gpu_reason[ENGINE_REASON_MAX];
    uint64_t gpu_opened;    /* when that was over */
    uint64_t gpu_open_time; /* nanoseconds it took */

    uint64_t called;  /* when the current input was begun: for the first, when the session was */
    uint64_t to_come; /* bytes of the regular files behind the current one */
    double rate;      /* bytes a nanosecond that the CPU alone has reached; 0 while not known */
    bool gpu_useless; /* where it was ready, it made nothing faster */
};

struct run;

struct worker {
    struct run *run;
    pthread_t thread;
    unsigned number; /* among all workers, for the source */
    unsigned engine_number;
    int share;
    struct engine_setup setup;
    struct partial partial; /* what its engine_worker found */
    struct partial rest;    /* of chunks that the CPU reduced in its place */
    bool failed;            /* the input or the memory did; its partial is worth nothing */

    /* For the profile: elements, and nanoseconds. */
    struct engine_times times;
    bool first; /* one of those that began the run */
    unsigned chunks;
    uint64_t begun, ended, first_chunk; /* when; first_chunk is 0 before it has one */
    uint64_t elements;                  /* that its engine reduced */
    uint64_t rest_elements, rest_time;  /* that the CPU did in its place */
    uint64_t in_place;                  /* those of them that were mapped */
    uint64_t phase_elements[PROFILE_PHASES];
    uint64_t source_time;
    uint64_t cpu_time;
};

/* One reduction under way. */
struct run {
    struct session *session;
    struct source *source;
    struct engine_setup setup;
    struct worker *workers;
    unsigned capacity;
    unsigned cpu_workers; /* of them; at most, before they are started */
    unsigned started;
    bool first;                  /* the workers being started now begin the run */
    _Atomic uint64_t first_read; /* when the first worker asked for data; 0 before */
    _Atomic bool feeders_end;    /* feeders are to claim nothing more */

    /* The feeder's trial; the watching thread's. */
    bool feeding;            /* feeders were started */
    uint64_t fed_since;      /* when */
    uint64_t read_before_it; /* bytes of input */
    double rate_before_it;   /* bytes a nanosecond */
    const char *absence;     /* why a GPU was not asked for, where it was not for the time left */

    /* When the steady state began and ended; 0 before. Written once, read for every chunk. */
    _Atomic uint64_t steady_from, steady_to;
    _Atomic unsigned ramping; /* of the first workers, those that have had no chunk yet */

    /* What there was before the workers began. */
    uint64_t read_before, decode_before, storage_before;

    pthread_mutex_t mutex;
    pthread_cond_t ended;
    unsigned active; /* workers running; guarded by the mutex */
};

static const struct engine *engine_of(int share)
{
    return share == SHARE_CPU ? &engine_cpu : &engine_cuda;
}

static struct engine_state *state_of(const struct session *session, int share)
{
    return share == SHARE_CPU ? session->cpu : session->gpu;
}

/*
 * The session and the GPU.
 */

/* Feeders of the GPUs: beside CPU workers, one takes windows of the mapped file. */
static unsigned gpu_workers(const struct session *session)
{
    const struct session_options *options = session->options;

    if (options->device == DEVICE_AUTO)
        return 1;
    return options->threads ? options->threads
                            : engine_cuda.workers(options->device_count, session->cores);
}

/* Opens the GPU engine and notes the outcome. */
static void open_gpu(struct session *session)
{
    char reason[ENGINE_REASON_MAX] = "";
    const struct session_options *options = session->options;
    struct engine_needs needs = {.devices = options->devices,
                                 .device_count = options->device_count,
                                 .workers = gpu_workers(session),
                                 .chunk_size = options->chunk_size};
    uint64_t begun = clock_now();
    struct engine_state *gpu = engine_cuda.open(&needs, reason);

    pthread_mutex_lock(&session->mutex);
    session->gpu_opened = clock_now();
    session->gpu_open_time = session->gpu_opened - begun;
    session->gpu = gpu;
    session->gpu_state = gpu ? GPU_READY : GPU_FAILED;
    memcpy(session->gpu_reason, reason, sizeof reason);
    pthread_mutex_unlock(&session->mutex);
}

static void *open_gpu_thread(void *argument)
{
    open_gpu(argument);
    return NULL;
}

static enum gpu_state gpu_state(struct session *session)
{
    enum gpu_state state;

    pthread_mutex_lock(&session->mutex);
    state = session->gpu_state;
    pthread_mutex_unlock(&session->mutex);
    return state;
}

/* Starts to make the GPU ready, in a thread of its own that nobody waits for. */
static void call_gpu(struct session *session)
{
    pthread_t thread;

    pthread_mutex_lock(&session->mutex);
    session->gpu_state = GPU_OPENING;
    pthread_mutex_unlock(&session->mutex);
    if (pthread_create(&thread, NULL, open_gpu_thread, session) == 0) {
        pthread_detach(thread);
    } else {
        pthread_mutex_lock(&session->mutex);
        session->gpu_state = GPU_FAILED;
        snprintf(session->gpu_reason, sizeof session->gpu_reason, "cannot start a thread");
        pthread_mutex_unlock(&session->mutex);
    }
}

/* Bytes of an input, where it is a regular file; else 0. Only auto asks how much is to come. */
static uint64_t bytes_to_come(const struct session_options *options, const char *path)
{
    struct stat status;
    int error;

    if (options->device != DEVICE_AUTO)
        return 0;
    error = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &status) : stat(path, &status);
    return error == 0 && S_ISREG(status.st_mode) && status.st_size > 0 ? (uint64_t)status.st_size
                                                                       : 0;
}

struct session *session_open(const struct session_options *options, char *const *paths, int count)
{
    char reason[ENGINE_REASON_MAX] = "";
    struct session *session = calloc(1, sizeof *session);

    if (!session) {
        message_error(EXIT_FAILED, "out of memory");
        return NULL;
    }
    session->options = options;
    session->called = clock_now();
    session->cores = cores_available();
    for (int i = 0; i < count; i++)
        session->to_come += bytes_to_come(options, paths[i]);
    pthread_mutex_init(&session->mutex, NULL);
    session->cpu = engine_cpu.open(&(struct engine_needs){0}, reason);
    if (!session->cpu) {
        message_error(EXIT_FAILED, "%s", reason);
        session_close(session);
        return NULL;
    }
    if (options->device == DEVICE_GPU) {
        open_gpu(session);
        if (session->gpu_state == GPU_FAILED) {
            message_error(EXIT_NO_GPU, "no usable GPU: %s", session->gpu_reason);
            session_close(session);
            return NULL;
        }
    }
    return session;
}

bool session_close(struct session *session)
{
    if (gpu_state(session) == GPU_OPENING)
        return false;
    if (session->gpu)
        engine_cuda.close(session->gpu);
    if (session->cpu)
        engine_cpu.close(session->cpu);
    pthread_mutex_destroy(&session->mutex);
    free(session);
    return true;
}

/*
 * Workers.
 */

/* Sets a time that is to be that of the first worker that comes here. */
static void note_time(_Atomic uint64_t *time, uint64_t now)
{
    uint64_t none = 0;

    if (atomic_load_explicit(time, memory_order_relaxed) == 0)
        atomic_compare_exchange_strong(time, &none, now);
}

/* `count` of the first workers have had their first chunk, or will have none. */
static void note_ramped(struct run *run, unsigned count)
{
    if (atomic_fetch_sub(&run->ramping, count) == count)
        note_time(&run->steady_from, clock_now());
}

/* A worker has been given a chunk. */
static void note_chunk(struct worker *w, const struct chunk *chunk, uint64_t now)
{
    struct run *run = w->run;
    enum profile_phase phase = PROFILE_RAMP_UP;

    if (atomic_load_explicit(&run->steady_to, memory_order_relaxed))
        phase = PROFILE_FINISH;
    else if (atomic_load_explicit(&run->steady_from, memory_order_relaxed))
        phase = PROFILE_STEADY;
    w->phase_elements[phase] += chunk->count;
    w->chunks++;
    if (w->chunks == 1) {
        w->first_chunk = now;
        if (w->first)
            note_ramped(run, 1);
    }
    if (w->chunks == RAMP_CHUNKS)
        note_time(&run->steady_from, now);
}

/* Says what became of an engine in the middle of its work. True when the work can go on. */
static bool engine_failed(struct worker *w, const char *reason)
{
    struct run *run = w->run;

    if (w->share == SHARE_CUDA && run->session->options->device == DEVICE_AUTO) {
        struct session *session = run->session;

        /* Nor for the files that follow. */
        pthread_mutex_lock(&session->mutex);
        session->gpu_state = GPU_FAILED;
        snprintf(session->gpu_reason, sizeof session->gpu_reason, "%s", reason);
        pthread_mutex_unlock(&session->mutex);
        message_warning("%s: GPU: %s; going on without it", run->source->name, reason);
        return true;
    }
    source_error(run->source, "%s%s", w->share == SHARE_CUDA ? "GPU: " : "", reason);
    return false;
}

/* A call of engine->reduce, in the form that mapping_guard takes. */
struct reduce_call {
    const struct engine *engine;
    struct engine_worker *engine_worker;
    const struct chunk *chunk;
    enum engine_status status;
};

static void call_reduce(void *argument)
{
    struct reduce_call *call = argument;

    call->status = call->engine->reduce(call->engine_worker, call->chunk);
}

/* engine->reduce, also of a chunk in place. False when its bytes vanished, which has been said. */
static bool reduce_chunk(struct worker *w, const struct engine *engine,
                         struct engine_worker *engine_worker, const struct chunk *chunk,
                         enum engine_status *status)
{
    struct reduce_call call = {engine, engine_worker, chunk, ENGINE_FAILED};

    if (!chunk->mapped) {
        call_reduce(&call);
    } else if (!mapping_guard(call_reduce, &call)) {
        source_lost(w->run->source, chunk);
        return false;
    }
    *status = call.status;
    return true;
}

static bool reduce_on_cpu(struct worker *w, const struct chunk *chunks, unsigned count, bool rest);

/* Takes chunks until there are none, or with `rest` what the worker has claimed already, or until
   the input fails (w->failed). False when the engine did. */
/* NOLINTNEXTLINE(misc-no-recursion): see reduce_on_cpu */
static bool work(struct worker *w, const struct engine *engine, struct engine_worker *engine_worker,
                 bool rest)
{
    struct run *run = w->run;
    struct source_request request = {
        .worker = w->number, .in_place = w->setup.in_place, .in_use = engine->in_use};
    bool stop_at_nan = run->session->options->nan == NAN_ERROR;

    note_time(&run->first_read, w->begun);
    while (!w->failed) {
        enum source_status source_status;
        enum engine_status status;
        struct chunk chunk;
        uint64_t begun, now;

        request.rest = rest || (w->share == SHARE_CUDA &&
                                atomic_load_explicit(&run->feeders_end, memory_order_relaxed));
        request.buffer = engine->buffer(engine_worker, &request.size);
        if (!request.buffer)
            return false;
        if (stop_at_nan && engine->first_nan(engine_worker) != PARTIAL_NO_INDEX)
            source_limit(run->source, engine->first_nan(engine_worker));
        begun = clock_now();
        source_status = source_next(run->source, &request, &chunk);
        now = clock_now();
        w->source_time += now - begun;
        if (source_status == SOURCE_END) {
            note_time(&run->steady_to, now);
            return true;
        }
        if (source_status == SOURCE_CHUNK)
            note_chunk(w, &chunk, now);
        w->failed = source_status == SOURCE_FAILED ||
                    !reduce_chunk(w, engine, engine_worker, &chunk, &status);
        if (w->failed)
            return true;
        w->elements += chunk.count;
        if (chunk.mapped && w->share == SHARE_CPU)
            w->in_place += chunk.count;
        if (status == ENGINE_FAILED)
            return false;
        if (status == ENGINE_REFUSED) {
            request.in_place = 0;
            w->failed = !reduce_on_cpu(w, &chunk, 1, false);
        }
    }
    return true;
}

/* Reduces chunks that an engine did not take or finish on the CPU, and with `rest` all that the
   worker has claimed and not got yet. False on failure (said).
   NOLINTNEXTLINE(misc-no-recursion): a CPU engine_worker refuses nothing, so it is not called again
 */
static bool reduce_on_cpu(struct worker *w, const struct chunk *chunks, unsigned count, bool rest)
{
    char reason[ENGINE_REASON_MAX];
    struct partial partial;
    struct engine_times times;
    enum engine_status status;
    struct engine_worker *engine_worker =
        engine_cpu.worker_open(w->run->session->cpu, &w->run->setup, 0, reason);
    bool good = engine_worker != NULL;

    if (!engine_worker) {
        source_error(w->run->source, "%s", reason);
        return false;
    }
    for (unsigned i = 0; i < count && good; i++) {
        good = reduce_chunk(w, &engine_cpu, engine_worker, &chunks[i], &status);
        w->in_place += chunks[i].mapped ? chunks[i].count : 0;
    }
    if (good && rest)
        (void)work(w, &engine_cpu, engine_worker, true);
    engine_cpu.finish(engine_worker, &partial, &times);
    w->elements -= partial.count;
    w->rest_elements += partial.count;
    w->rest_time += times.reduce;
    partial_merge(&w->rest, &partial);
    engine_cpu.worker_close(engine_worker);
    return good && !w->failed;
}

static void worker_run(struct worker *w)
{
    const struct engine *engine = engine_of(w->share);
    char reason[ENGINE_REASON_MAX] = "";
    struct engine_worker *engine_worker = engine->worker_open(state_of(w->run->session, w->share),
                                                              &w->setup, w->engine_number, reason);
    bool good;

    if (!engine_worker) {
        /* Without memory for one more engine_worker fewer will do; but each GPU, and the CPU, must
         * have one.
         */
        unsigned least = w->share == SHARE_CPU ? 1 : w->run->session->options->device_count;

        if (w->engine_number < least)
            w->failed = !engine_failed(w, reason);
        return;
    }
    w->cpu_time = clock_thread();
    w->begun = clock_now();
    good = work(w, engine, engine_worker, false);
    w->ended = clock_now();
    w->cpu_time = clock_thread() - w->cpu_time;
    good = engine->finish(engine_worker, &w->partial, &w->times) && good;
    if (!good && !w->failed) {
        struct chunk chunks[ENGINE_PENDING_MAX];
        unsigned count = engine->unfinished(engine_worker, chunks);

        w->failed = !engine_failed(w, engine->worker_error(engine_worker)) ||
                    !reduce_on_cpu(w, chunks, count, true);
    }
    engine->worker_close(engine_worker);
}

static void *worker_thread(void *argument)
{
    struct worker *w = argument;
    struct run *run = w->run;

    worker_run(w);
    if (w->first && w->chunks == 0)
        note_ramped(run, 1);
    pthread_mutex_lock(&run->mutex);
    run->active--;
    pthread_cond_signal(&run->ended);
    pthread_mutex_unlock(&run->mutex);
    return NULL;
}

/* Bytes that an engine's workers take in place at a time. Of the GPU's feeders only the one beside
   CPU workers does: it costs a single core, and brings 22 GB/s, where each that copies brings 7;
   but more of them bring no more, and seven that copy fill the link (53 of 55 GB/s). */
static size_t in_place_bytes(const struct run *run, int share)
{
    size_t most = engine_of(share)->in_place_bytes;

    if (share == SHARE_CUDA)
        return run->session->options->device == DEVICE_GPU ? 0 : most;
    if (run->setup.chunk_size)
        return run->setup.chunk_size;
    return most < CPU_IN_PLACE_MAX / run->cpu_workers ? most : CPU_IN_PLACE_MAX / run->cpu_workers;
}

/* Starts up to `count` workers of an engine. Returns how many could be started. */
static unsigned start_workers(struct run *run, int share, unsigned count)
{
    unsigned started = 0;

    while (started < count && run->started < run->capacity) {
        struct worker *w = &run->workers[run->started];

        *w = (struct worker){.run = run,
                             .number = run->started,
                             .engine_number = started,
                             .share = share,
                             .first = run->first,
                             .setup = run->setup};
        w->setup.in_place = in_place_bytes(run, share);
        if (share == SHARE_CPU && w->setup.chunk_size == 0)
            w->setup.chunk_size = run->source->buffer_bytes;
        partial_clear(&w->partial);
        partial_clear(&w->rest);
        pthread_mutex_lock(&run->mutex);
        run->active++;
        pthread_mutex_unlock(&run->mutex);
        if (pthread_create(&w->thread, NULL, worker_thread, w) != 0) {
            pthread_mutex_lock(&run->mutex);
            run->active--;
            pthread_mutex_unlock(&run->mutex);
            break;
        }
        run->started++;
        started++;
    }
    return started;
}

/*
 * Coordination.
 */

/* Bytes of input there are to read; SOURCE_UNKNOWN when that cannot be said. */
static uint64_t input_total(const struct source *s)
{
    /* --length may ask for more elements than 64 bits count bytes. */
    return s->compressed || s->elements > SOURCE_UNKNOWN / s->element_size
               ? s->input_bytes
               : s->elements * s->element_size;
}

/* Bytes a nanosecond at which the input was read so far, or, at its beginning, at which the CPU
   read the files before it; 0 when that cannot be said. */
static double rate_so_far(const struct run *run, uint64_t now)
{
    uint64_t first = atomic_load(&run->first_read);

    if (first == 0 || now - first < RATE_AFTER)
        return run->session->rate;
    return (double)atomic_load(&run->source->input_read) / (double)(now - first);
}

/* Whether the workers wait for the disk most of the time: a GPU does not make it faster. */
static bool waits_for_disk(const struct run *run, uint64_t now)
{
    uint64_t first = atomic_load(&run->first_read);

    return run->source->absent > 0 && first &&
           atomic_load(&run->source->read_time) / run->started > (now - first) / 2;
}

/* Ends the feeders' part where they have not made the whole faster. */
static void judge_feeders(struct run *run, uint64_t now)
{
    uint64_t time = now - run->fed_since;
    double rate;

    if (time < FEEDER_TRIAL || atomic_load(&run->feeders_end) || run->rate_before_it == 0)
        return;
    rate = (double)(atomic_load(&run->source->input_read) - run->read_before_it) / (double)time;
    if (rate < FEEDER_GAIN * run->rate_before_it) {
        atomic_store(&run->feeders_end, true);
        run->session->gpu_useless = true;
    }
    run->rate_before_it = 0; /* judged */
}

static void start_feeders(struct run *run, double rate, uint64_t now)
{
    run->feeding = true;
    run->fed_since = now;
    run->read_before_it = atomic_load(&run->source->input_read);
    run->rate_before_it = rate;
    start_workers(run, SHARE_CUDA, gpu_workers(run->session));
}

/* auto: calls the GPU in when the rest is worth it, and sets it to work when it is ready. */
static void consider_gpu(struct run *run, uint64_t now)
{
    struct session *session = run->session;
    uint64_t total = input_total(run->source), done = atomic_load(&run->source->input_read);
    double left = done < total ? (double)(total - done) : 0, rate = rate_so_far(run, now), gain;

    if (run->feeding) {
        judge_feeders(run, now);
        return;
    }
    run->absence = session->gpu_useless       ? "it made nothing faster"
                   : waits_for_disk(run, now) ? "storage is what the cores wait for"
                   : rate > CPU_RATE_MAX      ? "the cores take all that memory gives"
                                              : NULL;
    if (!faults_call_gpu() && (rate == 0 || run->absence))
        return;
    switch (gpu_state(session)) {
    case GPU_UNUSED:
        gain = run->started < session->cores ? FEEDER_RATE : FEEDER_RATE_SHARED;
        if (faults_call_gpu() ||
            (left + (double)session->to_come) / rate > GPU_START_UP + GPU_COST * (1 + rate / gain))
            call_gpu(session);
        break;
    case GPU_READY:
        if (faults_call_gpu() || left / rate > FEEDER_TIME)
            start_feeders(run, rate, now);
        break;
    case GPU_FAILED:
        run->feeding = true; /* never */
        break;
    case GPU_OPENING:
        break;
    }
}

/* Only a file in whose reading the cores are not the limit gains from a GPU. */
static bool gpu_possible(const struct run *run)
{
    return run->session->options->device == DEVICE_AUTO && run->source->parallel &&
           !run->source->compressed;
}

/* Waits until all workers have ended, and meanwhile shows progress and minds the GPU. */
static void watch(struct run *run)
{
    bool possible = gpu_possible(run);
    const struct progress_observer *progress = run->session->options->progress;

    if (progress)
        progress->begin(progress->context, input_total(run->source), clock_now());
    pthread_mutex_lock(&run->mutex);
    while (run->active > 0) {
        if (!possible && !progress) {
            pthread_cond_wait(&run->ended, &run->mutex);
        } else {
            uint64_t now = clock_now(), until = now + TICK;
            struct timespec t = {.tv_sec = (time_t)(until / CLOCK_SECOND),
                                 .tv_nsec = (long)(until % CLOCK_SECOND)};

            pthread_mutex_unlock(&run->mutex);
            if (progress)
                progress->update(progress->context, atomic_load(&run->source->input_read), now);
            if (possible)
                consider_gpu(run, now);
            pthread_mutex_lock(&run->mutex);
            if (run->active > 0)
                pthread_cond_timedwait(&run->ended, &run->mutex, &t);
        }
    }
    pthread_mutex_unlock(&run->mutex);
    for (unsigned i = 0; i < run->started; i++)
        pthread_join(run->workers[i].thread, NULL);
    if (progress)
        progress->end(progress->context);
}

/* Workers for the source: as many as asked for, but no more than it can keep busy. */
static unsigned worker_count(const struct session *session, int share, const struct source *s)
{
    const struct session_options *options = session->options;
    const struct engine *engine = engine_of(share);
    uint64_t chunk = options->chunk_size ? options->chunk_size : engine->chunk_bytes;
    unsigned count = share == SHARE_CUDA ? gpu_workers(session) : options->threads;

    if (count == 0) {
        count = engine->workers(0, session->cores);
        if (share == SHARE_CPU && s->absent > MOSTLY)
            count = READERS_ABSENT;
    }
    if (s->compressed)
        chunk = chunk / COMPRESSION + 1;
    if (s->input_bytes != SOURCE_UNKNOWN && s->input_bytes / chunk + 1 < count)
        count = (unsigned)(s->input_bytes / chunk) + 1;
    return count;
}

/*
 * The profile.
 */

/* Bytes that this process had to wait for storage to bring. */
static uint64_t storage_read(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_inblock * STORAGE_BLOCK : 0;
}

/* Notes what there is before the workers begin. */
static void begin_profile(struct run *run)
{
    run->read_before = atomic_load(&run->source->read_time);
    run->decode_before = atomic_load(&run->source->decode_time);
    run->storage_before = storage_read();
}

/* Adds what a worker did to what its engine did. */
static void add_share(const struct run *run, const struct worker *w, struct reduction *reduction)
{
    struct reduction_share *share = &reduction->shares[w->share];
    uint64_t first_read = atomic_load(&run->first_read);

    if (!share->engine) {
        const struct engine *engine = engine_of(w->share);

        share->engine = engine->name;
        snprintf(share->description, sizeof share->description, "%s",
                 engine->describe(state_of(run->session, w->share)));
    }
    if (w->first_chunk && (share->joined == 0 || w->first_chunk - first_read < share->joined))
        share->joined = w->first_chunk - first_read;
    share->workers++;
    share->elements += w->elements;
    share->source_time += w->source_time;
    share->wait += w->times.wait;
    reduction->shares[SHARE_CPU].elements += w->rest_elements;
}

/* Adds what a worker did to the profile, but for what its GPU did for it. */
static void add_worker(const struct run *run, const struct worker *w, struct profile *a)
{
    size_t size = run->source->element_size;

    for (int i = 0; i < PROFILE_PHASES; i++)
        a->phases[i].bytes += w->phase_elements[i] * size;
    a->threads++;
    a->stages[PROFILE_READ].capacity += w->ended - w->begun;
    a->stages[PROFILE_REDUCE].busy += w->times.reduce + w->rest_time;
    a->in_place += w->in_place * size;
    a->wait += w->times.wait;
    a->source_wait += w->source_time; /* for now */
    a->cpu_time += w->cpu_time;
}

/* The stages of the GPUs. */
static void add_gpus(const struct run *run, uint64_t bytes, struct profile *a)
{
    static const enum profile_stage stages[] = {PROFILE_COPY, PROFILE_KERNEL};

    for (unsigned device = 0; device < run->session->options->device_count; device++) {
        for (int i = 0; i < 2; i++) {
            struct profile_work *work = &a->stages[stages[i]];
            struct timeline line = {0};
            struct timeline_total total;

            for (unsigned j = 0; j < run->started; j++) {
                struct worker *w = &run->workers[j];

                if (w->share == SHARE_CUDA && w->times.device == device)
                    timeline_join(&line, i == 0 ? &w->times.copies : &w->times.kernels);
            }
            total = timeline_total(&line);
            timeline_free(&line);
            work->bytes += total.bytes;
            work->busy += total.busy;
            work->capacity += total.extent;
            a->gpus += stages[i] == PROFILE_COPY && total.bytes > 0;
        }
    }
    /* What timelines had no room for went as the rest did. */
    for (int i = 0; i < 2; i++) {
        struct profile_work *work = &a->stages[stages[i]];

        if (work->bytes > 0 && work->bytes < bytes) {
            work->busy = (uint64_t)((double)work->busy * (double)bytes / (double)work->bytes);
            work->capacity =
                (uint64_t)((double)work->capacity * (double)bytes / (double)work->bytes);
            work->bytes = bytes;
        }
    }
}

/* How the time of the run, which has just ended, divides into phases. */
static void set_phases(const struct run *run, uint64_t now, struct profile *a)
{
    uint64_t first = atomic_load(&run->first_read);
    uint64_t from = atomic_load(&run->steady_from), to = atomic_load(&run->steady_to);

    to = to ? to : now;
    if (from == 0 || from >= to) { /* it ended before it was steady */
        from = to;
        a->phases[PROFILE_RAMP_UP].bytes += a->phases[PROFILE_STEADY].bytes;
        a->phases[PROFILE_STEADY].bytes = 0;
    }
    a->phases[PROFILE_RAMP_UP].time = from - first;
    a->phases[PROFILE_STEADY].time = to - from;
    a->phases[PROFILE_FINISH].time = now - to;
}

/* The profile of a run that has ended at `now` with `bytes` of elements. */
static void make_profile(struct run *run, uint64_t bytes, uint64_t now, struct reduction *reduction)
{
    struct session *session = run->session;
    struct source *s = run->source;
    struct profile *a = &reduction->profile;
    uint64_t begun = UINT64_MAX, in_source;

    for (unsigned i = 0; i < run->started; i++) {
        const struct worker *w = &run->workers[i];

        add_share(run, w, reduction);
        add_worker(run, w, a);
        if (w->begun && w->begun < begun)
            begun = w->begun;
    }
    for (int i = 0; i < REDUCTION_ENGINES; i++)
        reduction->shares[i].bytes = reduction->shares[i].elements * s->element_size;
    add_gpus(run, reduction->shares[SHARE_CUDA].bytes, a);
    set_phases(run, now, a);

    a->stages[PROFILE_READ].bytes = atomic_load(&s->input_read);
    a->stages[PROFILE_READ].busy = atomic_load(&s->read_time) - run->read_before;
    a->stages[PROFILE_DECODE].bytes = s->compressed ? bytes : 0;
    a->stages[PROFILE_DECODE].busy = atomic_load(&s->decode_time) - run->decode_before;
    a->stages[PROFILE_REDUCE].bytes = reduction->shares[SHARE_CPU].bytes;
    a->stages[PROFILE_DECODE].capacity = a->stages[PROFILE_REDUCE].capacity =
        a->stages[PROFILE_READ].capacity;
    in_source = a->stages[PROFILE_READ].busy + a->stages[PROFILE_DECODE].busy;
    a->source_wait = a->source_wait > in_source ? a->source_wait - in_source : 0;

    a->start_up = atomic_load(&run->first_read) - session->called;
    pthread_mutex_lock(&session->mutex);
    if (session->gpu && session->gpu_opened >= session->called)
        a->gpu_open = session->gpu_open_time;
    pthread_mutex_unlock(&session->mutex);
    a->input_span = now - a->phases[PROFILE_FINISH].time - begun;
    a->in_turn = !s->parallel || s->compressed;
    a->pipe = s->input_bytes == SOURCE_UNKNOWN;
    a->storage = storage_read() - run->storage_before;
}

/* Why auto did without a GPU, in a few words; nothing when it did not. */
static void explain_absence(const struct run *run, char text[ENGINE_REASON_MAX])
{
    struct session *session = run->session;
    const char *why = "";

    for (unsigned i = 0; i < run->started; i++)
        if (run->workers[i].share == SHARE_CUDA && run->workers[i].elements > 0)
            return;
    if (session->options->device != DEVICE_AUTO)
        return;
    pthread_mutex_lock(&session->mutex);
    if (!gpu_possible(run))
        why = run->source->compressed ? "the input is compressed" : "the input comes in order";
    else if (session->gpu_state == GPU_FAILED)
        why = session->gpu_reason;
    else if (run->absence)
        why = run->absence;
    else if (session->gpu_state == GPU_UNUSED)
        why = "too little work";
    else
        why = "too little work was left when it was ready";
    snprintf(text, ENGINE_REASON_MAX, "%s", why);
    pthread_mutex_unlock(&session->mutex);
}

/*
 * The end of a run.
 */

/* Merges what the workers found. */
static void gather(const struct run *run, struct partial *partial)
{
    partial_clear(partial);
    for (unsigned i = 0; i < run->started; i++) {
        partial_merge(partial, &run->workers[i].partial);
        partial_merge(partial, &run->workers[i].rest);
    }
}

/* Replaces the source's numbering by true indices. */
static uint64_t true_index(const struct source *s, uint64_t index)
{
    return index == PARTIAL_NO_INDEX ? index : source_index(s, index);
}

/* Fills in the result. False when --nan=error finds a NaN. */
static bool conclude(struct run *run, struct partial *partial, struct reduction *reduction)
{
    const struct session_options *options = run->session->options;
    struct source *s = run->source;
    uint64_t now;

    partial->min_index = true_index(s, partial->min_index);
    partial->max_index = true_index(s, partial->max_index);
    partial->first_nan = true_index(s, partial->first_nan);
    if (options->nan == NAN_ERROR && partial->nan > 0) {
        source_error(s, "element %" PRIu64 " is a NaN", partial->first_nan);
        return false;
    }
    if (s->elements != SOURCE_UNKNOWN && s->parallel && !s->compressed &&
        partial->count != s->elements && atomic_load(&s->limit) == SOURCE_UNKNOWN) {
        source_error(s, "internal error: %" PRIu64 " of %" PRIu64 " elements were counted",
                     partial->count, s->elements);
        return false;
    }
    partial_finish(partial, options->nan == NAN_SKIP, &reduction->result);
    now = clock_now();
    reduction->type = s->type;
    reduction->format = source_format_name(s);
    reduction->compressed = s->compressed;
    reduction->elements = partial->count;
    reduction->bytes = partial->count * s->element_size;
    reduction->input_bytes = atomic_load(&s->input_read);
    reduction->seconds = (double)(now - atomic_load(&run->first_read)) / (double)CLOCK_SECOND;
    make_profile(run, reduction->bytes, now, reduction);
    explain_absence(run, reduction->gpu_skipped);
    return true;
}

/* Notes how fast the CPU alone read the input, for the files behind it. */
static void note_rate(struct run *run)
{
    uint64_t first = atomic_load(&run->first_read), now = clock_now();

    if (first && now > first)
        run->session->rate = (double)atomic_load(&run->source->input_read) / (double)(now - first);
}

/* Runs workers on the source until its end. */
static enum source_status run_workers(struct run *run, struct partial *partial)
{
    struct session *session = run->session;
    int share = session->options->device == DEVICE_GPU ? SHARE_CUDA : SHARE_CPU;
    unsigned count = worker_count(session, share, run->source);
    pthread_condattr_t attributes;
    bool failed = false;

    pthread_mutex_init(&run->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&run->ended, &attributes);
    pthread_condattr_destroy(&attributes);

    if (share == SHARE_CPU)
        run->cpu_workers = count;
    begin_profile(run);
    run->first = true;
    atomic_store(&run->ramping, count);
    if (start_workers(run, share, count) == 0)
        source_error(run->source, "cannot start a thread");
    note_ramped(run, count - run->started);
    run->first = false;
    watch(run);
    if (!run->feeding)
        note_rate(run);
    for (unsigned i = 0; i < run->started; i++)
        failed |= run->workers[i].failed;
    gather(run, partial);
    pthread_cond_destroy(&run->ended);
    pthread_mutex_destroy(&run->mutex);
    return failed ? SOURCE_FAILED : source_finish(run->source);
}

/* CPU workers at most, where the user has not said how many. */
static unsigned most_workers(const struct session *session)
{
    return session->cores > READERS_ABSENT ? session->cores : READERS_ABSENT;
}

static enum source_status reduce_once(struct session *session, const char *path, bool in_order,
                                      uint64_t *first_read, struct reduction *reduction)
{
    const struct session_options *options = session->options;
    struct source_options input = options->input;
    struct run run = {.session = session, .first_read = *first_read};
    enum source_status status = SOURCE_FAILED;
    struct partial partial;

    /* Room for every worker there may be: the source must know them beforehand. */
    if (options->device != DEVICE_GPU)
        run.cpu_workers = options->threads ? options->threads : most_workers(session);
    run.capacity = run.cpu_workers + (options->device == DEVICE_CPU ? 0 : gpu_workers(session));
    input.in_order = in_order;
    memset(reduction, 0, sizeof *reduction);

    run.source = source_open(path, &input, run.capacity);
    if (!run.source)
        return SOURCE_FAILED;
    run.setup = (struct engine_setup){.type = run.source->type,
                                      .swap = run.source->swap,
                                      .wants = options->wants,
                                      .chunk_size = options->chunk_size};
    run.workers = calloc(run.capacity, sizeof *run.workers);
    if (!run.workers)
        source_error(run.source, "out of memory");
    else
        status = run_workers(&run, &partial);
    if (status == SOURCE_END) {
        reduction->in_order = in_order;
        if (!conclude(&run, &partial, reduction))
            status = SOURCE_FAILED;
    }
    *first_read = atomic_load(&run.first_read);
    for (unsigned i = 0; i < run.started; i++) {
        timeline_free(&run.workers[i].times.copies);
        timeline_free(&run.workers[i].times.kernels);
    }
    free(run.workers);
    source_close(run.source);
    return status;
}

bool session_reduce(struct session *session, const char *path, struct reduction *reduction)
{
    uint64_t first_read = 0, size = bytes_to_come(session->options, path);
    enum source_status status;

    session->to_come -= size < session->to_come ? size : session->to_come;
    status = reduce_once(session, path, false, &first_read, reduction);

    /* The clock goes on. */
    if (status == SOURCE_AGAIN)
        status = reduce_once(session, path, true, &first_read, reduction);
    session->called = clock_now();
    return status == SOURCE_END;
}
