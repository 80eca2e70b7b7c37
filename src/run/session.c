#include "config.h"

#include "run/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/arrays.h"
#include "run/passes.h"
#include "run/plan.h"
#include "run/run_profile.h"
#include "run/run_state.h"
#include "run/worker.h"
#include "source/compressed.h"
#include "sys/clock.h"
#include "sys/group.h"
#include "sys/operand.h"

struct session {
    const struct session_options *options;
    unsigned cores;
    struct engine_state *cpu;
    struct gpu gpu;
    struct experience experience;
    uint64_t storage_seen;  /* see struct run */
    struct worker *workers; /* those of the CPU, and behind them the feeders */
    unsigned cpu_workers, feeders;
    struct team team;          /* a member for each worker */
    int inputs;                /* that are expected, with the current one */
    int count, reduced;        /* all inputs; those that have been reduced */
    struct source_file *files; /* which file each of these was */
    uint64_t
        later_bytes;    /* bytes of the inputs behind the current one that a GPU could help with */
    uint64_t called_at; /* when the current input was begun: for the first, when the session was */
    struct passes passes;     /* of the current input */
    struct source *container; /* the last input, if it is one; it owns the names of its arrays */
    bool one_by_one;          /* these are reduced in a run each */
    struct arrays *arrays;    /* what these came to */
};

/* Bytes of an input that a GPU could help with, as far as its size tells. Only auto asks. */
static uint64_t later_input_bytes(const struct session_options *options, const char *path)
{
    struct stat status;

    if (options->device != DEVICE_AUTO)
        return 0;
    if (!operand_status(path, &status) || !S_ISREG(status.st_mode) ||
        ((uint64_t)status.st_size < GPU_INPUT_MIN && !session_tuning(options)->gpu_always))
        return 0;
    return (uint64_t)status.st_size;
}

/* Feeders of the GPUs: beside CPU workers, one takes windows of the mapped file. */
static unsigned feeder_count(const struct session *session)
{
    const struct session_options *options = session->options;

    if (options->device != DEVICE_GPU)
        return options->device == DEVICE_AUTO;
    return options->threads ? options->threads
                            : engine_cuda.workers(session->gpu.needs.device_count, session->cores);
}

/* Makes the workers and the engines. False on failure; the session is then to be closed. */
static bool prepare(struct session *session, char *const *paths, int count, struct error *error)
{
    const struct session_options *options = session->options;
    const struct engine_needs needs = gpu_needs(options, paths, count);
    /* If the GPU does all the work, they help to read the data that it decompresses. */
    const unsigned cpu_workers = session_workers(options, session->cores);
    struct gpu_status gpu = {.state = GPU_UNUSED};
    char reason[ENGINE_REASON_MAX] = "";
    unsigned feeders;

    gpu_init(&session->gpu, &needs);
    feeders = session->gpu.needs.workers = feeder_count(session);
    if (options->device != DEVICE_CPU)
        gpu_choose(&session->gpu, options, paths, count);
    if (!team_open(&session->team, cpu_workers + feeders))
        return error_memory(error);
    session->workers =
        aligned_alloc(WORKER_ALIGNMENT, (cpu_workers + feeders) * sizeof *session->workers);
    if (!session->workers)
        return error_memory(error);
    session->cpu_workers = cpu_workers;
    session->feeders = feeders;
    for (unsigned i = 0; i < cpu_workers + feeders; i++)
        session->workers[i] =
            (struct worker){.number = i,
                            .engine = i < cpu_workers ? ENGINE_CPU : ENGINE_CUDA,
                            .engine_number = i < cpu_workers ? i : i - cpu_workers};
    session->cpu = engine_cpu.open(&(struct engine_needs){.kernels = options->kernels}, reason);
    if (!session->cpu)
        return error_set(error, ERROR_MEMORY, "%s", reason);
    if (options->device == DEVICE_GPU) {
        gpu_open_now(&session->gpu);
        gpu = gpu_status(&session->gpu);
    }
    return gpu.state != GPU_FAILED ||
           error_set(error, ERROR_NO_GPU, "no usable GPU: %s", gpu.reason);
}

struct session *session_open(const struct session_options *options, char *const *paths, int count,
                             struct error *error)
{
    struct session *session = calloc(1, sizeof *session);

    error->kind = ERROR_NONE;
    if (!session) {
        (void)error_memory(error);
        return NULL;
    }
    session->options = options;
    passes_open(&session->passes, &options->passes);
    session->called_at = clock_now();
    session->cores = options->cores ? options->cores : cores_available();
    session->inputs = session->count = count;
    session->storage_seen = run_storage_read();
    for (int i = 0; i < count; i++)
        session->later_bytes += later_input_bytes(options, paths[i]);
    session->files = calloc((size_t)count + 1, sizeof *session->files);
    if (!session->files || !prepare(session, paths, count, error)) {
        (void)error_memory(error); /* unless there is another reason */
        session_close(session);
        return NULL;
    }
    return session;
}

bool session_expect(struct session *session, int count)
{
    struct source_file *files = calloc((size_t)count + 1, sizeof *files);

    if (!files)
        return false;
    free(session->files);
    session->files = files;
    session->count = count;
    session->reduced = 0;
    return true;
}

static void forget_arrays(struct session *session)
{
    arrays_close(session->arrays);
    if (session->container)
        source_close(session->container);
    session->arrays = NULL;
    session->container = NULL;
}

struct team *session_team(struct session *session)
{
    return &session->team;
}

bool session_close(struct session *session)
{
    forget_arrays(session);
    team_close(&session->team);
    for (unsigned i = 0; i < session->cpu_workers + session->feeders; i++)
        worker_close_kept(&session->workers[i]);
    passes_close(&session->passes);
    if (!gpu_close(&session->gpu))
        return false;
    if (session->cpu)
        engine_cpu.close(session->cpu);
    free(session->workers);
    free(session->files);
    free(session);
    return true;
}

/* Replaces the source's numbering by true indices. */
static uint64_t true_index(const struct source *s, uint64_t index)
{
    return index == PARTIAL_NO_INDEX ? index : source_index(s, index);
}

/* Why auto did without a GPU; empty when it did not. */
static void explain_skipped(const struct run *run, struct reduction *reduction)
{
    const struct gpu_status gpu = gpu_status(run->gpu);
    const char *why;

    if (run->options->device != DEVICE_AUTO || reduction->shares[ENGINE_CUDA].elements > 0)
        return;
    why = gpu_policy_skipped(&run->observed, gpu.reason);
    if (run->arrays)
        why = "it takes no part in files of several arrays";
    if (run->plan->no_gpu)
        why = gpu.reason[0] ? gpu.reason : run->plan->no_gpu;
    snprintf(reduction->gpu_skipped, sizeof reduction->gpu_skipped, "%s", why);
}

/* Replaces the source's numbering in a merged partial by true indices, and looks at what may be
   wrong with it. False when the result is an error: --nan=error has found a NaN. */
static bool check_partial(const struct run *run, const struct container_array *array,
                          struct partial *partial)
{
    char place[ARRAY_PLACE_MAX];
    struct array_shape shape = {.dimensions = 0};
    const struct source_info *info = run->info;
    struct source *s = run->source;

    partial->min_index = true_index(s, partial->min_index);
    partial->max_index = true_index(s, partial->max_index);
    partial->first_nan = true_index(s, partial->first_nan);
    if (run->options->nan == NAN_ERROR && partial->nan > 0) {
        if (array)
            container_shape(array, &shape);
        return source_error(s, ERROR_NAN, "element %s is a NaN",
                            array_show_place(place, &shape, partial->first_nan));
    }
    if (((info->elements != SOURCE_UNKNOWN && info->parallel && !info->compressed) || info->cut ||
         (info->scattered && info->undecoded)) &&
        partial->count != info->elements - info->first && !source_limited(s))
        return source_error(s, ERROR_INTERNAL,
                            "internal error: %" PRIu64 " of %" PRIu64 " elements were counted",
                            partial->count, info->elements - info->first);
    return true;
}

/* Fills in the reduction after the last reading. */
static void finish(struct run *run, const struct partial *partial, const struct passes *passes,
                   struct reduction *reduction)
{
    const struct source_info *info = run->info;
    struct source *s = run->source;
    uint64_t now;

    reduction_round(&reduction->result, partial, info->type, &info->scale,
                    run->options->nan == NAN_SKIP, run->options->ddof);
    passes_finish(passes, reduction);
    now = clock_now();
    reduction->partial = *partial;
    reduction->type = info->type;
    reduction->missing = run->missing;
    reduction->big_endian = info->swap != element_host_is_big();
    reduction->data_offset = info->data_offset;
    reduction->shape = info->shape;
    reduction->scale = info->scale;
    reduction->format = info->format;
    reduction->compressed = info->compressed;
    reduction->repeatable = info->repeatable;
    reduction->elements = partial->count;
    reduction->first = info->first;
    reduction->behind = run->options->input.part.begin > 0;
    reduction->of = (info->parallel && !info->compressed) || info->cut ? info->of : partial->count;
    reduction->bytes = partial->count * info->element_size;
    reduction->input_bytes = source_stats(s).input_read;
    reduction->seconds = (double)phases_time(&run->phases, now) / (double)CLOCK_SECOND;
    run_profile_end(run, now, reduction);
    explain_skipped(run, reduction);
}

/* Finishes a run over several arrays, each of which has its own result. */
static void finish_arrays(struct run *run, struct reduction *reduction)
{
    const struct source_info *info = run->info;
    uint64_t now = clock_now();

    reduction->arrays = run->arrays;
    reduction->format = info->format;
    for (size_t k = 0; k < info->pick_count; k++) {
        if (!arrays_has(run->arrays, k))
            continue;
        reduction->elements += info->picks[k].elements;
        reduction->bytes += info->picks[k].elements * element_size(info->picks[k].array->type);
    }
    reduction->compressed = info->compressed;
    reduction->input_bytes = source_stats(run->source).input_read;
    reduction->seconds = (double)phases_time(&run->phases, now) / (double)CLOCK_SECOND;
    run_profile_end(run, now, reduction);
    reduction->shares[ENGINE_CPU].elements = reduction->elements;
    explain_skipped(run, reduction);
}

/* The timelines of feeders are the run's to free; the workers leave it. */
static void dismiss_workers(const struct session *session)
{
    for (unsigned i = 0; i < session->cpu_workers + session->feeders; i++) {
        struct worker *w = &session->workers[i];

        if (w->run)
            engine_times_free(&w->stats.times);
        w->run = NULL;
    }
}

/* An input comes no more: it is the current one, of so many bytes. */
static void forget_later_bytes(struct session *session, uint64_t size)
{
    if (size >= GPU_INPUT_MIN)
        session->later_bytes -= size < session->later_bytes ? size : session->later_bytes;
}

/* Whether the GPU that the user has asked for can do what is wanted; an error says what it lacks.
   In auto the policy sees to it. */
static bool engine_has_kernels(const struct run *run)
{
    /* plan->no_gpu is set if the CPU is to read tiles of zstd that the GPU does not decode. */
    if (run->options->device == DEVICE_GPU && run->info->scattered && !run->info->undecoded &&
        !run->plan->no_gpu)
        return source_refuse(run->source, (struct advice){.kind = ADVICE_CPU},
                             "it is stored in chunks, which the GPU cannot read");
    if (run->options->device != DEVICE_GPU || engine_finds(&engine_cuda, run->setup.wants))
        return true;
    return source_refuse(run->source, (struct advice){.kind = ADVICE_CPU},
                         "the GPU has no kernels for these operations on %s",
                         element_name(run->setup.type));
}

/* Whether containers are taken that can only be read in order, and once: by the CPU, where whatever
   takes another reading may be left out. */
static bool takes_in_order(const struct session *session)
{
    struct pass_request needed = session->options->passes;

    pass_request_drop_optional(&needed);
    return !pass_request_any(&needed) && session->options->device != DEVICE_GPU;
}

/* An input, or an array of one, and its passes so far. */
struct input {
    const char *path;
    const struct source *container;      /* that holds `array` */
    const struct container_array *array; /* NULL: not one alone */
    struct source *source;               /* probed, to be opened as planned; NULL before it is */
    bool connected;                      /* `source` is only connected */
    struct plan plan;
    bool opened;             /* it has been before */
    uint64_t started_at;     /* when it was first read, 0 before: the clock goes on */
    struct source_file file; /* which file it was */
};

static struct plan make_plan(struct session *session, const struct source_facts *facts,
                             bool cpu_alone)
{
    const struct session_options *options = session->options;
    const struct plan_request request = {
        .device = options->device,
        .cpu_alone = cpu_alone,
        .no_kernels = !engine_finds(&engine_cuda, options->wants),
        .forced = session_tuning(options)->gpu_always,
        .gpu = gpu_status(&session->gpu).state,
        .cores = session->cores,
        .later_bytes = session->later_bytes,
    };
    struct machine *machine = NULL;
    struct plan_rates rates;
    char reason[MACHINE_REASON_MAX];

    if (options->device == DEVICE_AUTO && !cpu_alone && facts->compressed &&
        facts->size >= GPU_INPUT_MIN)
        machine = malloc(sizeof *machine);
    if (machine)
        (void)machine_load(machine, reason); /* -v says what is wrong with it */
    rates = plan_rates(session->cores, machine);
    free(machine);
    return plan_input(facts, &request, &rates);
}

/* Has a GPU ready that is to decode an input. */
static void prepare_gpu(struct session *session, struct plan *plan)
{
    if (session->options->device != DEVICE_AUTO || plan->how != PLAN_GPUS)
        return;
    if (gpu_status(&session->gpu).state == GPU_UNUSED)
        gpu_open_now(&session->gpu);
    if (gpu_status(&session->gpu).state != GPU_READY)
        *plan = (struct plan){.how = PLAN_PARALLEL, .no_gpu = ""};
}

/* Plans how an input is read that has been probed, and has a GPU ready if that is to decode it.
   False where the input cannot be read. */
static bool plan_pass(struct session *session, struct input *in)
{
    const struct session_options *options = session->options;
    const struct source_wanted *wanted = options->input.wanted;
    /* The CPU decodes data that are tallied, also for a GPU. Whether a file holds arrays with names
       is not known before it is decoded. */
    const bool cpu_alone = pass_request_any(&options->passes) || options->input.part.cut ||
                           options->input.record.bytes > 0 ||
                           options->input.format == SOURCE_FORTRAN ||
                           (wanted && wanted->included > 0) || !engine_cuda.decode;
    struct source_facts facts;

    if (!source_find_facts(in->source, options->device == DEVICE_AUTO && !cpu_alone, &facts))
        return false;
    forget_later_bytes(session, facts.size);
    in->plan = make_plan(session, &facts, cpu_alone);
    prepare_gpu(session, &in->plan);
    return true;
}

/* Whether the result, or a partial result that is kept, has indices of elements. */
static bool needs_indices(const struct session_options *options)
{
    return (options->wants & (PARTIAL_WHERE | PARTIAL_DIGEST)) || options->nan == NAN_ERROR ||
           options->keep_partials;
}

/* Bytes of an array of a container that a GPU could help with. Only auto asks. */
static uint64_t later_array_bytes(const struct session *session, const struct container_array *a)
{
    const bool large =
        a->compressed >= GPU_INPUT_MIN || session_tuning(session->options)->gpu_always;

    return a->tiles && large ? a->compressed : 0;
}

/* Plans how an array of a container is read: a GPU can decode tiles of zstd. The CPU decodes and
   reduces those that are tallied, and, without memory for the plan, all. */
static struct plan plan_array(struct session *session, const struct source *container,
                              const struct container_array *array)
{
    const struct session_options *options = session->options;
    const bool tallied = pass_request_any(&options->passes);
    struct source_options input = options->input;
    struct plan plan = {.how = PLAN_PARALLEL};
    struct source_facts facts;

    input.true_indices = needs_indices(options);
    if (options->device == DEVICE_CPU || !engine_cuda.decode ||
        (options->device == DEVICE_AUTO && (tallied || later_array_bytes(session, array) == 0)))
        return plan;
    if (!compressed_array_look(container, array, &input, &facts)) {
        plan.no_gpu = "memory is short";
        return plan;
    }
    if (!facts.compressed)
        return plan;
    plan = make_plan(session, &facts, tallied || facts.size == 0);
    if (tallied || facts.size == 0)
        plan.no_gpu = "it does not decode the input";
    return plan;
}

/* The most arrays for each one that a GPU decodes, where auto reduces them in a run each. */
#define ARRAYS_FOR_ONE 64

/* Whether auto has a GPU decode some arrays of a container, which is then ready. */
static bool suits_gpu(struct session *session, struct run *run)
{
    const struct source_info *info = run->info;
    const uint64_t later_bytes = session->later_bytes;
    struct plan plan = {.how = PLAN_PARALLEL}, one = plan;
    size_t count = 0;

    if (session->options->device != DEVICE_AUTO || !info->parallel || !info->compressed)
        return false;
    for (size_t k = 0; k < info->pick_count; k++)
        session->later_bytes += later_array_bytes(session, info->picks[k].array);
    for (size_t k = 0; k < info->pick_count; k++) {
        session->later_bytes -= later_array_bytes(session, info->picks[k].array);
        one = plan_array(session, run->source, info->picks[k].array);
        if (one.how == PLAN_GPUS)
            plan = one;
        count += one.how == PLAN_GPUS;
    }
    session->later_bytes = later_bytes;
    if (info->pick_count > ARRAYS_FOR_ONE * count)
        plan.how = PLAN_PARALLEL;
    prepare_gpu(session, &plan);
    if (info->pick_count == 1)
        run->plan->no_gpu = one.how == PLAN_GPUS ? plan.no_gpu : one.no_gpu;
    return plan.how == PLAN_GPUS;
}

/* Whether the arrays of a container are reduced in a run each: only so a GPU reduces them, and only
   so they can be read again. */
static bool one_by_one(struct session *session, struct run *run)
{
    return (run->info->parallel && (pass_request_any(&session->options->passes) ||
                                    session->options->device == DEVICE_GPU)) ||
           suits_gpu(session, run);
}

/* Whether quantiles of few elements are found by one worker. */
static bool uses_keys(const struct session *session)
{
    return pass_request_of_keys(&session->options->passes) &&
           session->options->device != DEVICE_GPU;
}

/* Bytes of keys that all workers together keep at most, and of what it takes to search them. */
#define KEYS_BYTES ((uint64_t)256 << 20)

/* The most elements of arrays of a container that workers reduce whole, quantiles and all, if there are
   many of these. All workers together take less of each element, and a millisecond or two more: that is
   the less worth it the more workers have arrays of their own. */
static uint64_t whole_many(const struct session *session)
{
    const uint64_t workers = session->options->threads ? session->options->threads : session->cores;
    const uint64_t room = KEYS_BYTES / (2 * sizeof(uint64_t)) / workers;
    const uint64_t most = PASS_KEYS_MAX / 2 * workers;

    return session->options->input.memory > 0 ? PASS_KEYS_MAX : most < room ? most : room;
}

/* Whether workers reduce arrays of a container whole: several, since one alone has all workers. */
static bool suits_whole(const struct session *session, const struct source_info *info)
{
    /* With --length an array in Fortran order has no digest, and all others have. */
    if ((session->options->wants & PARTIAL_DIGEST) &&
        session->options->input.length != SOURCE_UNKNOWN)
        return false;
    return uses_keys(session) && info->parallel && info->whole_count > 1;
}

/* Keeps a container that has been opened for this run. False without memory. */
static bool keep_container(struct session *session, const char *path, struct run *run)
{
    session->container = run->source;
    session->one_by_one = one_by_one(session, run);
    session->arrays =
        arrays_open(run->info, session->options, path, session->cpu_workers + session->feeders);
    if (!session->arrays)
        (void)source_no_memory(run->source);
    return session->arrays;
}

/* Whether --length leaves out elements of an array in Fortran order. */
static bool is_cut(const struct run *run, const struct engine_columns *columns)
{
    uint64_t elements = 1;

    for (unsigned i = 0; columns && i < columns->dimensions; i++)
        elements *= columns->sizes[i];
    return columns && elements > run->options->input.length;
}

/* Whether the elements that are reduced have digests, if these are wanted: the first elements in
   Fortran order are no array in C order. False with the reason in the source. */
static bool have_digests(const struct run *run)
{
    bool good = !is_cut(run, run->setup.columns);

    if (!(run->options->wants & PARTIAL_DIGEST))
        return true;
    for (size_t k = 0; run->arrays && k < arrays_count(run->arrays) && good; k++) {
        struct engine_columns columns;

        good = !is_cut(run, arrays_columns(run->arrays, k, &columns));
    }
    if (!good)
        source_error(run->source, ERROR_REQUEST,
                     "the first elements of an array in Fortran order have no digest");
    return good;
}

/* Opens what each worker finds quantiles by. False without memory. */
static bool open_keys(struct run *run)
{
    const unsigned workers = run->cpu_workers + run->feeders;
    bool good = true;

    run->keys = calloc(workers, sizeof *run->keys);
    for (unsigned i = 0; run->keys && i < workers; i++)
        good = pass_keys_open(&run->keys[i], run->setup.type) && good;
    return (run->keys && good) || source_no_memory(run->source);
}

static void close_keys(struct run *run)
{
    for (unsigned i = 0; run->keys && i < run->cpu_workers + run->feeders; i++)
        pass_keys_close(&run->keys[i]);
    free(run->keys);
    run->keys = NULL;
}

/* Whether one array is so small that one worker takes it whole: of elements that lie as they are, which are easily
   read again, fewer than of those that are decoded, or in a pipe. */
static bool suits_keys(const struct session *session, const struct run *run)
{
    const bool easy = source_is_random(run->source) && run->info->data_offset != SOURCE_UNKNOWN;
    const uint64_t most = easy ? PASS_KEYS_FEW : PASS_KEYS_MAX;

    return uses_keys(session) && run->info->elements <= most && session->passes.inputs == 0;
}

/* Finds the quantiles of such an array, whose result is known otherwise. False without memory. */
static bool find_quantiles(struct run *run, struct reduction *reduction)
{
    return pass_keys_find(&run->keys[0], &run->options->passes, &run->info->scale,
                          &reduction->partial, run->options->nan != NAN_SKIP, &reduction->result,
                          &reduction->quantiles) ||
           source_no_memory(run->source);
}

/* Reduces all arrays of a container in one run, or those that are small, if that is how. */
static enum source_verdict reduce_arrays(struct session *session, const char *path, struct run *run,
                                         struct reduction *reduction)
{
    enum source_verdict verdict;
    struct partial none;

    if (!keep_container(session, path, run))
        return SOURCE_BROKEN;
    if (session->one_by_one && !suits_whole(session, run->info))
        return SOURCE_COMPLETE;
    run->arrays = session->arrays;
    if (!have_digests(run))
        return SOURCE_BROKEN;
    if (session->one_by_one && !open_keys(run))
        return SOURCE_BROKEN;
    verdict = run_workers(run, &none);
    close_keys(run);
    if (verdict == SOURCE_COMPLETE && !session->one_by_one &&
        !arrays_finish(run->arrays, run->source)) {
        source_error(run->source, ERROR_INTERNAL, "internal error: an array is not complete");
        verdict = SOURCE_BROKEN;
    }
    if (verdict == SOURCE_COMPLETE)
        finish_arrays(run, reduction);
    return verdict;
}

/* Opens an input for a run, as planned. False on failure: run->source knows why, or, without one,
   *error says it. */
static bool open_input(struct session *session, struct input *in, struct run *run,
                       struct error *error)
{
    struct source_options options = session->options->input;
    const unsigned workers = run->cpu_workers + run->feeders;

    options.arrays_in_order = !in->array && takes_in_order(session);
    options.whole_most = in->array || !uses_keys(session) ? 0 : PASS_KEYS_MAX;
    options.whole_many = whole_many(session);
    options.reopened = options.reopened || in->opened;
    options.earlier = &in->file;
    options.true_indices = in->array ? needs_indices(session->options)
                                     : (session->options->wants & PARTIAL_DIGEST) != 0;
    if (in->array) {
        if (!in->opened) {
            in->plan = plan_array(session, in->container, in->array);
            prepare_gpu(session, &in->plan);
        }
        options.undecoded = in->plan.how == PLAN_GPUS;
        run->source = source_open_array(in->container, in->array, &options, workers, error);
        return run->source;
    }
    if (!in->source) {
        in->source = source_connect(in->path, &options, error);
        in->connected = true;
    }
    if (!in->source || (in->connected && !source_probe(in->source, &options))) {
        if (!in->opened) /* whatever it is */
            forget_later_bytes(session, later_input_bytes(session->options, in->path));
        run->source = in->source;
        in->source = NULL;
        return false;
    }
    in->connected = false;
    if (!in->opened && !plan_pass(session, in)) {
        *error = *source_why(in->source);
        return false;
    }
    options.undecoded = in->plan.how == PLAN_GPUS || in->plan.how == PLAN_ONE_GPU;
    options.in_order = in->plan.how == PLAN_IN_ORDER;
    run->source = in->source;
    in->source = NULL;
    return source_open_probed(run->source, &options, workers);
}

/* Sets the missing values of the input. False, with the reason in the source, if one of the user's
   cannot be. */
static bool find_missing(struct run *run)
{
    if (!source_find_missing(run->source, &run->options->missing, &run->missing))
        return false;
    if (run->missing.count > 0) {
        run->setup.wants |= PARTIAL_MISSING;
        run->setup.missing = &run->missing;
    }
    return true;
}

/* Sets the order of the elements of one array. */
static void set_columns(struct run *run)
{
    const struct array_shape *shape = &run->info->shape;

    if (!shape->known || !shape->fortran_order || shape->dimensions < 2)
        return;
    run->columns = (struct engine_columns){shape->dimensions, shape->sizes};
    run->setup.columns = &run->columns;
}

/* Reads an input, or an array of it, once, and fills in the reduction if it needs no other reading.
 */
static enum source_verdict reduce_once(struct session *session, struct input *in,
                                       struct reduction *reduction)
{
    const struct session_options *options = session->options;
    struct run run = {.options = options,
                      .cores = session->cores,
                      .cpu = session->cpu,
                      .gpu = &session->gpu,
                      .experience = &session->experience,
                      .storage_seen = &session->storage_seen,
                      .workers = session->workers,
                      .team = &session->team,
                      .cpu_workers = session->cpu_workers,
                      .feeders = session->feeders,
                      .last = session->inputs <= 1 && !options->stays,
                      .plan = &in->plan,
                      .in_container = in->array != NULL,
                      .called_at = session->called_at,
                      .started_at = in->started_at,
                      .opened_at = clock_now()};
    enum source_verdict verdict;
    struct partial partial;
    bool good;

    memset(reduction, 0, sizeof *reduction);
    good = open_input(session, in, &run, &reduction->error);
    in->opened = true;
    if (!good) {
        if (run.source) {
            reduction->error = *source_why(run.source);
            source_close(run.source);
        }
        return SOURCE_BROKEN;
    }
    run.info = source_info(run.source);
    run.later_bytes = session->later_bytes;
    run.setup = (struct engine_setup){.type = run.info->type,
                                      .swap = run.info->swap,
                                      .wants = options->wants,
                                      .chunk_size = options->chunk_size};
    if (run.info->container) {
        verdict = reduce_arrays(session, in->path, &run, reduction);
        dismiss_workers(session);
        reduction->error = *source_why(run.source);
        return verdict;
    }
    run.setup.split =
        scale_find_split(&run.info->scale, run.info->type, &run.setup.wants, &run.split);
    set_columns(&run);
    verdict =
        have_digests(&run) && find_missing(&run) && engine_has_kernels(&run) &&
                (suits_keys(session, &run) ? open_keys(&run) : passes_begin(&session->passes, &run))
            ? run_workers(&run, &partial)
            : SOURCE_BROKEN;
    reduction->in_order = in->plan.how == PLAN_IN_ORDER;
    if (verdict == SOURCE_COMPLETE) {
        partial.missing += source_left_out(run.source);
        partial.count += source_left_out(run.source);
    }
    if (verdict == SOURCE_COMPLETE && !(check_partial(&run, in->array, &partial) &&
                                        passes_take(&session->passes, &run, &partial)))
        verdict = SOURCE_BROKEN;
    if (verdict == SOURCE_COMPLETE && !session->passes.more && !session->passes.inputs)
        finish(&run, &partial, &session->passes, reduction);
    if (verdict == SOURCE_COMPLETE && run.keys && !find_quantiles(&run, reduction))
        verdict = SOURCE_BROKEN;
    close_keys(&run);
    if (session->passes.inputs_taken == 0) /* else the pass goes on with another input */
        passes_drop(&session->passes);
    in->started_at = phases_started_at(&run.phases);
    in->file = run.info->file;
    dismiss_workers(session);
    reduction->error = *source_why(run.source);
    if ((verdict == SOURCE_REREAD || verdict == SOURCE_TORN) && !in->array && run.info->file.known)
        verdict = (in->source = source_renew(run.source, &options->input, &reduction->error))
                      ? verdict
                      : SOURCE_BROKEN;
    else
        source_close(run.source);
    return verdict;
}

/* Reduces an input, or an array of it, which may take several passes. */
static bool reduce_input(struct session *session, struct input in, struct reduction *reduction)
{
    enum source_verdict verdict;

    in.plan = (struct plan){.how = PLAN_PARALLEL};
    if (session->options->input.earlier)
        in.file = *session->options->input.earlier;
    passes_close(&session->passes);
    passes_open(&session->passes, &session->options->passes);
    do
        verdict = reduce_once(session, &in, reduction);
    while (
        ((verdict == SOURCE_REREAD || verdict == SOURCE_TORN) && plan_again(&in.plan, verdict)) ||
        (verdict == SOURCE_COMPLETE && session->passes.more));
    if (in.source)
        source_close(in.source);
    session->called_at = clock_now();
    if (!in.array && session->reduced < session->count)
        session->files[session->reduced++] = in.file;
    if (verdict != SOURCE_COMPLETE)
        (void)error_set(&reduction->error, ERROR_INTERNAL, "failed"); /* unless it is known why */
    return verdict == SOURCE_COMPLETE;
}

/* Reduces the arrays of the container that is kept, and have no result yet, each as an input of its
   own. False when there is no result at all. */
static bool reduce_one_by_one(struct session *session, const char *path,
                              struct reduction *reduction)
{
    const struct source_info *info = source_info(session->container);
    const struct source_wanted *wanted = session->options->input.wanted;
    /* The one that is wanted may be in another file. */
    const bool elsewhere = info->pick_count == 0 && wanted && wanted->count > 0;
    struct reduction one;

    if (session->options->passes.histogram.kind != HISTOGRAM_NONE && info->pick_count != 1 &&
        !elsewhere) {
        source_refuse(session->container, (struct advice){.kind = ADVICE_ARRAY},
                      "a histogram needs one array");
        reduction->error = *source_why(session->container);
        return false;
    }
    for (size_t k = 0; k < info->pick_count; k++) {
        if (info->picks[k].array->unreadable) /* its error is known */
            continue;
        /* One without elements has a result, but if it is the only one, a histogram may be wanted. */
        if ((info->picks[k].elements > 0 || info->pick_count > 1) && arrays_has(session->arrays, k))
            continue;
        session->inputs += k + 1 < info->pick_count; /* threads are kept */
        (void)reduce_input(session,
                           (struct input){.path = path,
                                          .container = session->container,
                                          .array = info->picks[k].array},
                           &one);
        session->inputs -= k + 1 < info->pick_count;
        arrays_put(session->arrays, k, &one);
        reduction->elements += one.elements;
        reduction->bytes += one.bytes;
        reduction->input_bytes += one.input_bytes;
        reduction->seconds += one.seconds;
        reduction->histogram = one.histogram;
        if (info->pick_count == 1) {
            reduction->compressed = one.compressed;
            memcpy(reduction->shares, one.shares, sizeof one.shares);
            memcpy(reduction->gpu_skipped, one.gpu_skipped, sizeof one.gpu_skipped);
            reduction->profile = one.profile;
        }
    }
    (void)arrays_finish(session->arrays, NULL);
    reduction->arrays = session->arrays;
    reduction->format = info->format;
    return true;
}

bool session_reduce_connected(struct session *session, const char *path, struct source *source,
                              struct reduction *reduction)
{
    bool good;

    forget_arrays(session);
    good = reduce_input(session,
                        (struct input){.path = path, .source = source, .connected = source != NULL},
                        reduction);
    if (good && session->container && session->one_by_one)
        good = reduce_one_by_one(session, path, reduction);
    if (!session->options->stays)
        session->inputs--;
    return good;
}

bool session_reduce(struct session *session, const char *path, struct reduction *reduction)
{
    return session_reduce_connected(session, path, NULL, reduction);
}

bool session_reduce_array(struct session *session, const char *path, const struct source *container,
                          const struct container_array *array, struct reduction *reduction)
{
    forget_arrays(session);
    return reduce_input(
        session, (struct input){.path = path, .container = container, .array = array}, reduction);
}

/*
 * Several inputs as one.
 */

/* Samples all inputs. False on failure, with the cause in *total. */
static bool sample_inputs(struct session *session, const struct session_inputs *inputs,
                          const bool *in_order, struct total *total)
{
    bool good = true;

    for (int i = 0; i < inputs->count && good && session->passes.runs.count > 0; i++) {
        struct source_options input;
        struct source *source;

        if (inputs->prepare)
            inputs->prepare(inputs->context, i);
        input = session->options->input;
        input.earlier = &session->files[inputs->first + i];
        input.in_order = in_order[i];
        input.reopened = true;
        total->cause_path = inputs->paths[i];
        source = source_open(inputs->paths[i], &input, session->cpu_workers, &total->cause);
        good = source && passes_sample(&session->passes, source, &session->options->missing,
                                       session->cpu_workers);
        if (source && !good)
            total->cause = *source_why(source);
        if (source)
            source_close(source);
    }
    if (!good)
        return false;
    total->cause_path = NULL;
    return passes_sampled(&session->passes) || error_memory(&total->cause);
}

/* Reads all inputs once. An input that has to be read in order is noted, and then all are to be
   read again from the beginning: it has been tallied in part. */
static enum source_verdict read_inputs(struct session *session, const struct session_inputs *inputs,
                                       bool *in_order, struct total *total)
{
    enum source_verdict verdict = SOURCE_COMPLETE;

    for (int i = 0; i < inputs->count && verdict == SOURCE_COMPLETE; i++) {
        struct reduction reduction;
        struct input in = {.path = inputs->paths[i],
                           .plan = {.how = in_order[i] ? PLAN_IN_ORDER : PLAN_PARALLEL},
                           .opened = true,
                           .file = session->files[inputs->first + i]};

        if (inputs->prepare)
            inputs->prepare(inputs->context, i);
        verdict = reduce_once(session, &in, &reduction);
        if (in.source)
            source_close(in.source);
        if (verdict == SOURCE_REREAD && !in_order[i])
            in_order[i] = true;
        else if (verdict == SOURCE_REREAD)
            verdict = SOURCE_BROKEN;
        if (verdict == SOURCE_BROKEN) {
            total->cause = reduction.error;
            total->cause_path = inputs->paths[i];
        }
    }
    if (verdict != SOURCE_COMPLETE)
        passes_drop(&session->passes);
    return verdict;
}

/* Why a total cannot have what is asked for; NULL if it can. */
static const char *pass_plan_refusal(const struct total *total)
{
    if (total->arrays)
        return "quantiles and histograms cannot be computed over arrays of a container";
    if (total->mixed)
        return "quantiles and histograms need files of one type and scale";
    if (!total->repeatable)
        return "its quantiles and histogram need another pass, but not all files can be read again";
    return NULL;
}

void session_quantiles(struct session *session, const struct pass_request *asked,
                       const struct session_inputs *inputs, struct total *total)
{
    struct reduction *sum = &total->reduction;
    struct pass_request request = *asked;
    const char *refusal = pass_plan_refusal(total);
    const uint64_t begun = clock_now();
    enum source_verdict verdict = SOURCE_BROKEN;
    bool *in_order;

    if (refusal)
        pass_request_drop_optional(&request);
    if (!pass_request_any(&request) || sum->error.kind != ERROR_NONE)
        return;
    if (refusal) {
        (void)error_set(&sum->error, ERROR_REQUEST, "%s", refusal);
        return;
    }
    passes_close(&session->passes);
    in_order = calloc((size_t)inputs->count, sizeof *in_order);
    session->inputs++; /* threads are kept */
    if (!in_order || !passes_open_several(&session->passes, &request, (unsigned)inputs->count, sum,
                                          session->cpu_workers + session->feeders,
                                          session->options->nan != NAN_SKIP)) {
        (void)error_memory(&total->cause);
    } else if (sample_inputs(session, inputs, in_order, total)) {
        do
            verdict = session->passes.more ? read_inputs(session, inputs, in_order, total)
                                           : SOURCE_COMPLETE;
        while (verdict == SOURCE_REREAD || (verdict == SOURCE_COMPLETE && session->passes.more));
    }
    session->inputs--;
    free(in_order);
    if (verdict == SOURCE_COMPLETE)
        passes_finish(&session->passes, sum);
    else
        (void)error_set(&sum->error, ERROR_OTHERS, "the files could not be read again");
    sum->seconds += (double)(clock_now() - begun) / (double)CLOCK_SECOND;
}
