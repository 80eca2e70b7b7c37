#include "config.h"

#include "run/worker.h"

#include <string.h>

#include "run/arrays.h"
#include "run/run_state.h"
#include "sys/clock.h"
#include "sys/mapping.h"

void worker_close_kept(struct worker *w)
{
    if (w->engine_worker)
        engine_get(w->engine)->worker_close(w->engine_worker);
    w->engine_worker = NULL;
}

void worker_join(struct worker *w, struct run *run, const struct engine_setup *setup,
                 size_t in_place, bool first)
{
    w->run = run;
    w->setup = *setup;
    w->in_place = in_place;
    w->first = first;
    w->array = WORKER_NO_ARRAY;
    w->failed = w->short_run = false;
    w->stats = (struct worker_stats){.chunks = 0};
    partial_clear(&w->partial);
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

/* Has the engine worker reduce a chunk, also one in place. False when its bytes vanished: then the
   source has failed. */
static bool reduce_chunk(struct worker *w, const struct engine *engine, struct engine_worker *ew,
                         const struct chunk *chunk, enum engine_status *status)
{
    struct reduce_call call = {engine, ew, chunk, ENGINE_FAILED};

    if (!mapping_call(chunk->mapped, call_reduce, &call))
        return source_lost(w->run->source, chunk);
    *status = call.status;
    return true;
}

/* The engine worker of the CPU; NULL on failure. */
static struct engine_worker *cpu_worker(struct worker *w)
{
    char reason[ENGINE_REASON_MAX];

    if (!w->fallback) {
        w->fallback = engine_cpu.worker_open(w->run->cpu, &w->setup, 0, reason);
        if (!w->fallback)
            source_error(w->run->source, ERROR_MEMORY, "%s", reason);
    }
    return w->fallback;
}

/* Reduces `count` chunks on the CPU. They stay the caller's to release. False on failure, also when
   their bytes vanished. */
static bool reduce_on_cpu(struct worker *w, const struct chunk *chunks, unsigned count)
{
    enum engine_status status;

    if (!cpu_worker(w))
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (!reduce_chunk(w, &engine_cpu, w->fallback, &chunks[i], &status))
            return false;
        w->stats.in_place += chunks[i].mapped ? chunks[i].count : 0;
    }
    return true;
}

/* Merges what was reduced so into the worker's partial and stats. */
static void end_cpu_worker(struct worker *w)
{
    struct engine_times times;
    struct partial partial;

    if (!w->fallback)
        return;
    engine_cpu.finish(w->fallback, &partial, &times);
    /* They were counted when the worker got them. */
    w->stats.elements -= partial.count;
    w->stats.fallback_elements += partial.count;
    w->stats.fallback_time += times.reduce;
    partial_merge(&w->partial, &partial);
    engine_cpu.worker_close(w->fallback);
    w->fallback = NULL;
}

static struct engine_state *engine_state(const struct worker *w)
{
    return w->engine == ENGINE_CPU ? w->run->cpu : gpu_status(w->run->gpu).engine;
}

/* Whether an engine worker for one can be restarted for the other. */
static bool same_setup(const struct engine_setup *a, const struct engine_setup *b)
{
    return a->wants == b->wants && a->chunk_size == b->chunk_size && a->in_place == b->in_place &&
           a->tallies == b->tallies;
}

/* The engine worker for the run: the one that is kept, if it does, or a new one. NULL with the
   reason. */
static struct engine_worker *open_engine_worker(struct worker *w, char reason[ENGINE_REASON_MAX])
{
    const struct engine *engine = engine_get(w->engine);

    if (w->engine_worker && (!same_setup(&w->setup, &w->kept_setup) || !engine->restart ||
                             !engine->restart(w->engine_worker, &w->setup)))
        worker_close_kept(w);
    if (!w->engine_worker)
        w->engine_worker =
            engine->worker_open(engine_state(w), &w->setup, w->engine_number, reason);
    w->kept_setup = w->setup;
    return w->engine_worker;
}

/* The units that are counted in a chunk: elements; for several arrays, bytes. */
static uint64_t amount(const struct run *run, const struct chunk *chunk)
{
    return run->arrays ? chunk->count * element_size(run->info->picks[chunk->array].array->type)
                       : chunk->count;
}

void worker_note_chunk(struct worker *w, uint64_t some, uint64_t now)
{
    struct worker_stats *stats = &w->stats;
    enum profile_phase phase;

    stats->chunks++;
    phase = phases_note_chunk(&w->run->phases, stats->chunks, now);
    stats->phase_elements[phase] += some;
    if (stats->chunks == 1) {
        stats->first_chunk_at = now;
        if (w->first)
            phases_note_ramped(&w->run->phases);
    }
}

/* The chunks that an engine may still be reading, oldest first. */
struct held_chunks {
    struct chunk chunks[ENGINE_PENDING_MAX + 1];
    unsigned count;
};

/* Releases the oldest chunks but for `keep`. */
static void release_held(struct worker *w, struct held_chunks *held, unsigned keep)
{
    while (held->count > keep) {
        source_release(w->run->source, w->number, &held->chunks[0]);
        held->count--;
        memmove(held->chunks, held->chunks + 1, held->count * sizeof *held->chunks);
    }
}

/* Gets the next chunk and counts it. */
static enum source_status get_chunk(struct worker *w, const struct chunk_request *request,
                                    struct held_chunks *held, unsigned keep, struct chunk *chunk)
{
    uint64_t begun = clock_now(), now;
    enum source_status status;

    release_held(w, held, keep);
    status = source_next(w->run->source, request, chunk);
    now = clock_now();
    w->stats.source_time += now - begun;
    switch (status) {
    case SOURCE_CHUNK:
        held->chunks[held->count++] = *chunk;
        worker_note_chunk(w, amount(w->run, chunk), now);
        break;
    case SOURCE_END:
        phases_note_end(&w->run->phases, now);
        break;
    case SOURCE_FAILED:
        w->failed = true;
        break;
    }
    return status;
}

/* Hands in what the engine worker has found of an array. */
static bool end_array(struct worker *w, const struct engine *engine, struct engine_worker *ew)
{
    struct engine_times times;
    bool good = engine->finish(ew, &w->partial, &times);

    w->stats.times.reduce += times.reduce;
    arrays_take(w->run->arrays, w->number, w->array, &w->partial,
                w->run->keys ? &w->run->keys[w->number] : NULL);
    return good;
}

/* Goes on with the array that a chunk is of. False when the engine failed. */
static bool change_array(struct worker *w, const struct engine *engine, struct engine_worker *ew,
                         const struct chunk *chunk)
{
    const struct container_array *array = w->run->info->picks[chunk->array].array;
    struct scale scale;

    if (w->array != WORKER_NO_ARRAY && !end_array(w, engine, ew))
        return false;
    w->array = chunk->array;
    w->kept_setup.type = array->type;
    w->kept_setup.swap = array->big_endian != element_host_is_big();
    w->kept_setup.missing = arrays_missing(w->run->arrays, chunk->array, &w->missing);
    w->kept_setup.columns = arrays_columns(w->run->arrays, chunk->array, &w->columns);
    scale = container_scale(array);
    w->kept_setup.wants = w->setup.wants;
    w->kept_setup.split =
        scale_find_split(&scale, w->kept_setup.type, &w->kept_setup.wants, &w->split);
    if (w->run->keys)
        pass_keys_begin(&w->run->keys[w->number], w->kept_setup.type);
    return engine->restart(ew, &w->kept_setup);
}

/* Gets chunks and has the engine worker reduce them until there are none; with `drain` only those
   that the worker has claimed before. False when the engine failed. */
static bool loop(struct worker *w, const struct engine *engine, struct engine_worker *ew,
                 bool drain)
{
    struct run *run = w->run;
    struct chunk_request request = {
        .worker = w->number, .in_place = w->in_place, .borrow = engine->in_use == 0};
    bool feeder = w->engine == ENGINE_CUDA, stop_at_nan = run->options->nan == NAN_ERROR;
    struct held_chunks held = {.count = 0};
    enum engine_status status = ENGINE_TAKEN;
    struct chunk chunk;

    /* Whether an array has elements that are missing is known only when a chunk of it is there. */
    if (engine == &engine_cpu && !w->setup.tallies && run->options->missing.count == 0)
        request.wants = w->setup.wants;
    while (!w->failed && status != ENGINE_FAILED) {
        request.drain =
            drain || (feeder && atomic_load_explicit(&run->feeders_end, memory_order_relaxed));
        request.buffer = engine->buffer(ew, &request.size);
        if (!request.buffer)
            return false;
        if (stop_at_nan && engine->first_nan(ew) != PARTIAL_NO_INDEX)
            source_limit(run->source, engine->first_nan(ew));
        if (get_chunk(w, &request, &held, engine->in_use, &chunk) != SOURCE_CHUNK)
            break;
        if (run->arrays && chunk.array != w->array && !change_array(w, engine, ew, &chunk))
            return false;
        if (!reduce_chunk(w, engine, ew, &chunk, &status)) {
            w->failed = true;
            break;
        }
        w->stats.elements += amount(run, &chunk);
        if (chunk.mapped && engine == &engine_cpu)
            w->stats.in_place += amount(run, &chunk);
        if (status == ENGINE_REFUSED) {
            request.in_place = 0;
            w->failed = !reduce_on_cpu(w, &chunk, 1);
        }
    }
    return status != ENGINE_FAILED;
}

bool worker_engine_failed(struct run *run, enum engine_id engine, const char *reason)
{
    const bool gpu = engine == ENGINE_CUDA;

    if (gpu && run->options->device == DEVICE_AUTO) {
        gpu_fail(run->gpu, reason); /* nor is it used for the inputs that follow */
        log_warn(run->options->input.log, run->info->name, NO_ADVICE,
                 "GPU failed: %s; continuing on the CPU", reason);
        return true;
    }
    return source_error(run->source, gpu ? ERROR_GPU : ERROR_MEMORY, "%s%s", gpu ? "GPU: " : "",
                        reason);
}

/* Without memory for one more worker fewer will do; but each GPU, and the CPU, must have one. */
static bool is_needed(const struct worker *w)
{
    return w->engine_number < (w->engine == ENGINE_CPU ? 1 : w->run->gpu->needs.device_count);
}

/* Reduces on the CPU what the worker has claimed and not got yet. False on failure. */
static bool drain(struct worker *w)
{
    struct engine_worker *ew = cpu_worker(w);

    return ew && loop(w, &engine_cpu, ew, true) && !w->failed;
}

bool work_on_cpu(struct worker *w)
{
    struct engine_worker *ew = cpu_worker(w);
    bool good = ew && loop(w, &engine_cpu, ew, false) && !w->failed;

    end_cpu_worker(w);
    if (!good)
        source_leave(w->run->source, w->number);
    return good;
}

/* Ends what the worker has tallied, if its engine has not: of a feeder's, the fallback may have had
   a part. */
static void end_tallies(const struct worker *w)
{
    struct tally_set *set = w->setup.tallies;

    for (unsigned i = 0; set && !set->goes_on && i < set->count; i++)
        tally_end(&set->tally[i]);
}

void work_run(struct worker *w)
{
    const struct engine *engine = engine_get(w->engine);
    struct worker_stats *stats = &w->stats;
    char reason[ENGINE_REASON_MAX] = "";
    struct engine_worker *ew = open_engine_worker(w, reason);
    bool good;

    if (!ew) {
        w->failed = is_needed(w) && !worker_engine_failed(w->run, w->engine, reason);
        return;
    }
    stats->cpu_time = w->short_run ? 0 : clock_thread();
    stats->started_at = clock_now();
    phases_note_start(&w->run->phases, stats->started_at);
    good = loop(w, engine, ew, false);
    stats->ended_at = clock_now();
    stats->cpu_time =
        w->short_run ? stats->ended_at - stats->started_at : clock_thread() - stats->cpu_time;
    if (!w->run->arrays)
        good = engine->finish(ew, &w->partial, &stats->times) && good;
    else if (w->array != WORKER_NO_ARRAY)
        good = end_array(w, engine, ew) && good;
    if (!good && !w->failed) {
        struct chunk chunks[ENGINE_PENDING_MAX];
        unsigned count = engine->unfinished(ew, chunks);

        w->failed = !worker_engine_failed(w->run, w->engine, engine->worker_error(ew)) ||
                    !reduce_on_cpu(w, chunks, count) || !drain(w);
    }
    end_cpu_worker(w);
    if (w->failed)
        source_leave(w->run->source, w->number);
    end_tallies(w);
    if (!good || w->failed || !engine->restart)
        worker_close_kept(w);
}
