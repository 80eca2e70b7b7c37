#include "config.h"

#include "lib/reducer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/axis_layout.h"
#include "core/name.h"
#include "core/view.h"
#include "lib/device.h"
#include "lib/result.h"
#include "run/arrays.h"
#include "run/session.h"
#include "sys/group.h"
#include "sys/grow.h"
#include "sys/mutex.h"

MUTEX_ROLE(warnings_role);

/* Warnings of a call, until the thread that called passes them on. */
struct warnings {
    struct mutex mutex;
    char **texts GUARDED_BY(warnings_role);
    size_t count GUARDED_BY(warnings_role), room GUARDED_BY(warnings_role);
};

MUTEX_ROLE_OF(warnings, struct warnings, mutex);

struct reducer {
    gpr_context *context;
    unsigned cores; /* that the process may use; 0 before they are counted */

    /* For large inputs. */
    struct session *session; /* NULL before it is needed */
    struct session_options options;
    struct progress_observer observer;
    struct log log;
    struct warnings warnings;
    struct source_tuning tuning; /* how files are read without a handler of the signal that a
                                    mapped file raises when it is truncated */
    uint64_t total;              /* bytes of the input that is being read; UINT64_MAX if unknown */
    _Atomic uint64_t unpacked;   /* see struct source_options */

    /* For small views. */
    struct engine_state *cpu;     /* NULL before it is needed */
    struct engine_worker *worker; /* NULL before it is needed */
    struct pass_keys *keys;       /* NULL before it is needed */
};

static void note_warning(void *context, const char *name, const struct error *warning)
{
    struct warnings *w = context;
    char text[LIB_TEXT_MAX];
    char *kept;

    lib_write_error(text, name, NULL, warning);
    kept = strdup(text);
    warnings_lock(w);
    if (kept && GROW(w->texts, w->room, w->count + 1))
        w->texts[w->count++] = kept;
    else
        free(kept);
    warnings_unlock(w);
}

UNCHECKED void reducer_tell_warnings(gpr_context *context)
{
    struct warnings *w = &context->reducer->warnings;

    for (size_t i = 0; i < w->count; i++) {
        if (context->log)
            context->log(context->log_user, w->texts[i]);
        free(w->texts[i]);
    }
    w->count = 0;
}

static void begin_progress(void *context, const char *name, uint64_t total)
{
    struct reducer *r = context;

    (void)name;
    r->total = total;
}

static bool is_cancelled(void *context)
{
    const struct reducer *r = context;

    return atomic_load(&r->context->call) == CALL_CANCELLED;
}

static bool update_progress(void *context, uint64_t done)
{
    struct reducer *r = context;

    done = done < r->total ? done : r->total; /* headers have been read, too */
    if (r->context->progress && r->context->progress(r->context->progress_user, done, r->total))
        gpr_cancel(r->context);
    return is_cancelled(r);
}

static void end_progress(void *context)
{
    (void)context;
}

struct reducer *reducer_new(gpr_context *context)
{
    struct reducer *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->context = context;
    mutex_init(&r->warnings.mutex);
    r->log = (struct log){.warn = note_warning, .context = &r->warnings};
    r->observer = (struct progress_observer){
        .begin = begin_progress, .update = update_progress, .end = end_progress, .context = r};
    r->tuning = source_tuning_shipped;
    r->tuning.mapped_least = UINT64_MAX;
    r->tuning.zstd.unmapped = true;
    return r;
}

static unsigned count_cores(struct reducer *r)
{
    if (r->cores == 0)
        r->cores = cores_available();
    return r->cores;
}

unsigned reducer_threads(gpr_context *context)
{
    return context->threads > 0 ? context->threads : count_cores(context->reducer);
}

static void close_session(struct reducer *r)
{
    if (r->session)
        (void)session_close(r->session);
    r->session = NULL;
}

UNCHECKED void reducer_close(struct reducer *r)
{
    close_session(r);
    if (r->worker)
        engine_cpu.worker_close(r->worker);
    if (r->cpu)
        engine_cpu.close(r->cpu);
    if (r->keys)
        pass_keys_close(r->keys);
    free(r->keys);
    mutex_destroy(&r->warnings.mutex);
    free(r->warnings.texts);
    free(r);
}

/*
 * Small views.
 */

/* The engine worker for small views, prepared for the setup. NULL without memory. */
static struct engine_worker *direct_worker(struct reducer *r, const struct engine_setup *setup)
{
    char reason[ENGINE_REASON_MAX];

    if (r->worker) {
        if (engine_cpu.restart(r->worker, setup))
            return r->worker;
        engine_cpu.worker_close(r->worker);
        r->worker = NULL;
        return NULL;
    }
    if (!r->cpu)
        r->cpu = engine_cpu.open(&(struct engine_needs){.kernels = NULL}, reason);
    if (r->cpu)
        r->worker = engine_cpu.worker_open(r->cpu, setup, 0, reason);
    return r->worker;
}

bool reducer_take_view(struct engine_worker *worker, const struct view *v, uint64_t elements,
                       uint64_t start, uint64_t *left_out)
{
    struct chunk_request request = {.borrow = true};
    struct view_places places;
    struct chunk chunk;
    size_t most, some;

    request.buffer = engine_cpu.buffer(worker, &request.size);
    most = v->contiguous && v->mask_form == VIEW_MASK_NONE ? (size_t)elements
                                                           : request.size / element_size(v->type);
    *left_out = 0;
    for (uint64_t i = 0; i < elements; i += some) {
        size_t missing;

        some = elements - i < most ? (size_t)(elements - i) : most;
        missing = view_make_chunk(v, i, some, &request, &places, &chunk);
        *left_out += missing;
        if (missing == some)
            continue;
        if (chunk.place)
            places.start = start;
        else
            chunk.index += start;
        if (engine_cpu.reduce(worker, &chunk) != ENGINE_TAKEN)
            return false;
    }
    return true;
}

/* Has quantiles of a small view found on this thread. False without memory. */
static bool have_keys(struct reducer *r, enum element_type type)
{
    if (r->keys) {
        pass_keys_begin(r->keys, type);
        return true;
    }
    r->keys = malloc(sizeof *r->keys);
    if (r->keys && pass_keys_open(r->keys, type))
        return true;
    free(r->keys);
    r->keys = NULL;
    return false;
}

/* Whether a request for a view is one for this thread, which other threads would not help. */
static bool is_small(const gpr_context *context, const struct view *view,
                     const gpr_request *request)
{
    if (context->device == DEVICE_GPU ||
        view->elements > REDUCER_ALONE_BYTES / element_size(view->type))
        return false;
    return !pass_request_any(&request->passes) ||
           (pass_request_of_keys(&request->passes) && view->elements <= PASS_KEYS_FEW &&
            context->memory == 0);
}

/* Reduces a small view on this thread. False if that cannot be, or finds an error, which a session
   then describes. */
static bool reduce_directly(struct reducer *r, const struct view *view, const gpr_request *request,
                            gpr_result *result)
{
    const bool quantiles = pass_request_any(&request->passes);
    const uint64_t elements =
        view->elements < request->input.length ? view->elements : request->input.length;
    struct partial *partial = &result->found.partial;
    struct engine_setup setup = {.type = view->type, .swap = view->swap, .wants = request->wants};
    struct partial_split split;
    struct missing missing = {.count = 0};
    struct engine_worker *worker;
    struct engine_times times;
    uint64_t left_out;

    if (request->missing.count > 0) {
        if (container_find_missing(NULL, view->type, &request->missing, &missing))
            return false;
        setup.missing = &missing;
        setup.wants |= PARTIAL_MISSING;
    }
    if (quantiles && !have_keys(r, view->type))
        return false;
    setup.tallies = quantiles ? &r->keys->set : NULL;
    setup.split = scale_find_split(&view->scale, view->type, &setup.wants, &split);
    worker = direct_worker(r, &setup);
    if (!worker || !reducer_take_view(worker, view, elements, 0, &left_out) ||
        !engine_cpu.finish(worker, partial, &times))
        return false;
    partial->count += left_out;
    partial->missing += left_out;
    result_round(result, request, view->type, &view->scale);
    return (request->nan != NAN_ERROR || partial->nan == 0) &&
           (!quantiles || pass_keys_find(r->keys, &request->passes, &view->scale, partial,
                                         request->nan != NAN_SKIP, &result->found.result,
                                         &result->found.quantiles));
}

/*
 * Sessions.
 */

/* Bytes of buffers of a thread, at most; and of what quantiles and histograms keep of elements,
   those of all threads together, also for each element, and of each. */
#define THREAD_BYTES ((uint64_t)512 << 10)
#define KEPT_BYTES ((uint64_t)320 << 20)
#define KEPT_EACH 32
#define TALLIED_BYTES ((uint64_t)4 << 20)

/* Sets how many threads the memory limit leaves of those of the context for so many elements, at most; 0:
   all. False, with an error, if it leaves none. */
static bool limit_threads(gpr_context *context, const gpr_request *request, uint64_t elements,
                          unsigned *threads)
{
    const bool passes = pass_request_any(&request->passes);
    const uint64_t kept = !passes                             ? 0
                          : elements < KEPT_BYTES / KEPT_EACH ? elements * KEPT_EACH
                                                              : KEPT_BYTES;
    const uint64_t each = THREAD_BYTES + (passes ? TALLIED_BYTES : 0);
    unsigned asked;

    *threads = context->threads;
    if (context->memory == 0)
        return true;
    if (context->memory < kept + each) {
        (void)lib_fail(context, GPR_ERROR_MEMORY,
                       "the memory limit is %" PRIu64 " bytes, and %" PRIu64 " are needed",
                       context->memory, kept + each);
        return false;
    }
    asked = reducer_threads(context);
    if ((context->memory - kept) / each < asked)
        *threads = (unsigned)((context->memory - kept) / each);
    return true;
}

/* Refuses the GPUs behind the first, which a session would take for it. */
static bool can_use_gpu(gpr_context *context)
{
    if (context->device != DEVICE_GPU || context->gpu == 0)
        return true;
    (void)lib_fail(context, GPR_ERROR_DEVICE,
                   "GPU %u cannot reduce files and host memory: GPU 0 can", context->gpu);
    return false;
}

/* Has a session for the settings of the context, for so many elements at most. A GPU is used where it is
   asked for: 16 cores read three times what its link carries. */
static gpr_status begin_session(struct reducer *r, const gpr_request *request, uint64_t elements)
{
    gpr_context *context = r->context;
    struct session_options *o = &r->options;
    const enum device_choice device = context->device == DEVICE_GPU ? DEVICE_GPU : DEVICE_CPU;
    struct error error;
    unsigned threads;

    if (!can_use_gpu(context) || !limit_threads(context, request, elements, &threads))
        return context->status;
    if (r->session && (o->threads != threads || o->device != device))
        close_session(r);
    o->threads = threads;
    o->device = device;
    o->device_count = 1; /* number 0 */
    o->progress = &r->observer;
    o->stays = true;
    o->cores = count_cores(r);
    if (r->session)
        return GPR_OK;
    r->session = session_open(o, NULL, 0, &error);
    return r->session ? GPR_OK : lib_fail_error(context, NULL, NULL, &error);
}

/* The view that is reduced for a request: in C order if indices are wanted, or a part of it. */
static const struct view *choose_view(const gpr_input *input, const gpr_request *request)
{
    const struct view *view = &input->view.view;
    const bool ordered = request->wants & (PARTIAL_WHERE | PARTIAL_DIGEST) ||
                         request->nan == NAN_ERROR || request->input.length < view->elements;

    return input->reordered && !ordered ? &input->fast : view;
}

/* How an input is read, up to `length` elements. */
static struct source_options input_options(struct reducer *r, const gpr_input *input,
                                           uint64_t length)
{
    struct source_options options = input->options;

    options.log = &r->log;
    options.plausibility = r->context->log;
    options.length = length < options.length ? length : options.length;
    options.cancellable = true;
    options.cancelled = is_cancelled;
    options.cancel_context = r;
    options.tuning = r->context->mapped ? NULL : &r->tuning;
    options.memory = r->context->memory;
    options.unpacked = &r->unpacked;
    return options;
}

/* Cuts a part of a compressed file between its frames, if that can be; otherwise all of the file
   belongs to the part that begins with it. */
static bool cut_part(gpr_input *input, struct source_options *options, struct error *error)
{
    struct source_facts facts;
    bool cut;

    if (!source_look(input->path, options, &facts, error))
        return false;
    if (facts.compressed && !source_cut(input->path, options, &input->options.part, &cut, error))
        return false;
    options->part = input->options.part;
    return true;
}

gpr_status reducer_find_files(gpr_input *input)
{
    const struct source_options *options = &input->options;
    struct reducer *r = input->context->reducer;
    struct error error;
    const char *about;
    bool good;

    if (options->has_descriptor || options->read || options->part.end > 0)
        return GPR_OK;
    input->set.log = &r->log;
    good = source_set_add(&input->set, input->path, options->format, &error, &about);
    source_set_check(&input->set);
    reducer_tell_warnings(r->context);
    return good ? GPR_OK : lib_fail_error(input->context, about, NULL, &error);
}

/* Sees whether the elements of an input that is open have the shape that was asked for. A header that
   states the shape counts for more, and a warning says so. */
static bool take_shape(struct reducer *r, gpr_input *input, struct error *error)
{
    const struct source_info *info = source_info(input->source);

    if (!input->shape.known)
        return true;
    if (!info->container && !info->shape.known)
        return axis_fit_shape(&input->shape, source_elements(info), error);
    input->shape.known = false;
    log_warn(&r->log, info->name, (struct advice){.kind = ADVICE_SHAPE_UNUSED},
             "its header states the shape");
    return true;
}

gpr_status reducer_open(gpr_input *input)
{
    struct reducer *r = input->context->reducer;
    struct source_options options = input_options(r, input, UINT64_MAX);
    struct error error;
    bool good;

    options.threads = reducer_threads(r->context);
    if (options.part.end > 0 && !cut_part(input, &options, &error)) {
        reducer_tell_warnings(r->context);
        return lib_fail_error(r->context, input->path, NULL, &error);
    }
    input->source = source_connect(input->path, &options, &error);
    input->pipe = input->source && !source_info(input->source)->repeatable;
    good = input->source;
    if (input->pipe && options.part.end > 0)
        good = error_set(&error, ERROR_REQUEST, "a pipe cannot be read in part");
    if (good && !input->pipe && !source_open_connected(input->source, &options, 1)) {
        error = *source_why(input->source);
        good = false;
    }
    good = good && (input->pipe || take_shape(r, input, &error));
    reducer_tell_warnings(r->context);
    return good ? GPR_OK : lib_fail_error(r->context, input->path, NULL, &error);
}

/* Sets the options of an input that is open, and is opened again unless it is a pipe. */
static void set_again(struct source_options *options, const gpr_input *input)
{
    if (input->in_memory) {
        options->view = &input->view.view;
    } else if (!input->pipe && !input->parts) {
        options->earlier = &source_info(input->source)->file;
        options->reopened = true;
    }
}

/* Sets what a request asks a session for. */
static void set_options(struct session_options *o, const gpr_request *request)
{
    o->nan = request->nan;
    o->wants = request->wants;
    o->missing = request->missing;
    o->ddof = request->ddof;
    o->passes = request->passes;
    o->keep_partials = true;
}

/* Makes the result of a container in a pipe that of its one array. False, with an error in it, if it has
   several. */
static bool take_array(struct reduction *reduction)
{
    const struct arrays *arrays = reduction->arrays;
    struct reduction one;

    if (arrays_count(arrays) != 1)
        return error_set(&reduction->error, ERROR_REQUEST,
                         "holds several arrays, and can be read only once");
    memset(&one, 0, sizeof one);
    arrays_get(arrays, 0, &one);
    *reduction = one;
    return one.error.kind == ERROR_NONE;
}

/* Has the session reduce all of an input. A pipe is read then. */
static bool run_whole(const struct reducer *r, gpr_input *input, struct reduction *reduction)
{
    struct source *const pipe = input->pipe ? input->source : NULL;

    if (pipe)
        input->source = NULL;
    return session_reduce_connected(r->session, input->path, pipe, reduction);
}

/* Has the session reduce the input, or the array. */
static bool run_session(struct reducer *r, gpr_input *input, size_t array,
                        struct reduction *reduction)
{
    const struct container *container = lib_container(input);
    const struct container_array *a = container ? &container->arrays[array] : NULL;

    if (a && a->unreadable) {
        reduction->error = container_why(a);
        return false;
    }
    if (a)
        return session_reduce_array(r->session, input->path, input->source, a, reduction);
    return run_whole(r, input, reduction) && (!reduction->arrays || take_array(reduction));
}

/* Whether the memory that an input takes can be limited, if it has to be. If not, there is an
   error. */
static bool can_be_limited(const gpr_input *input)
{
    char name[NAME_INPUT_MAX];

    if (input->context->memory == 0 || input->in_memory ||
        (!input->pipe && !source_info(input->source)->compressed &&
         source_info(input->source)->compression == COMPRESSION_NONE))
        return true;
    (void)lib_fail(input->context, GPR_ERROR_UNSUPPORTED,
                   "%s: the memory for pipes and compressed data cannot be limited",
                   name_input(name, input->path));
    return false;
}

/* Sets how an input is read for a request. False, with an error, if it cannot be read again. */
static bool set_input(struct reducer *r, const gpr_input *input, const gpr_request *request)
{
    struct source_options *o = &r->options.input;
    char name[NAME_INPUT_MAX];

    if (input->pipe && !input->source) {
        (void)lib_fail(r->context, GPR_ERROR_ARGUMENT, "%s: a pipe can be reduced once",
                       name_input(name, input->path));
        return false;
    }
    if (!can_be_limited(input))
        return false;
    *o = input_options(r, input, request->input.length);
    set_again(o, input);
    if (input->in_memory)
        o->view = choose_view(input, request);
    o->view_start = input->view_start;
    return true;
}

/* Prepares a session to reduce an input, or an array of it, of so many elements at most. */
static gpr_status prepare_session(struct reducer *r, const gpr_input *input,
                                  const gpr_request *request, uint64_t elements)
{
    if (!set_input(r, input, request))
        return r->context->status;
    set_options(&r->options, request);
    return begin_session(r, request, elements);
}

static gpr_status reduce_by_session(struct reducer *r, gpr_input *input, size_t array,
                                    const gpr_request *request, struct reduction *reduction)
{
    const struct container *container = lib_container(input);
    const uint64_t elements = container          ? container->arrays[array].elements
                              : input->in_memory ? input->view.view.elements
                              : input->pipe      ? UINT64_MAX
                                                 : source_info(input->source)->elements;

    if (prepare_session(r, input, request, elements) != GPR_OK)
        return r->context->status;
    reduction->error.kind = ERROR_NONE;
    if (run_session(r, input, array, reduction))
        return GPR_OK;
    return lib_fail_error(r->context, input->path, container ? container->arrays[array].name : NULL,
                          &reduction->error);
}

gpr_status reducer_reduce(gpr_input *input, size_t array, const gpr_request *request,
                          gpr_result **result)
{
    gpr_context *context = input->context;
    const struct view *view = choose_view(input, request);
    const bool has_mask = input->in_memory && view->mask_form != VIEW_MASK_NONE;
    struct reducer *r = context->reducer;
    gpr_result *made;
    gpr_status status;
    gpr_input copy;

    if (device_holds(input)) {
        if (!device_is_copied(input, view, request))
            return device_reduce(input, view, request, result);
        status = device_copy(input, view, &copy);
        if (status != GPR_OK)
            return status;
        input = &copy;
        view = &copy.view.view;
    }
    made = result_new(request);
    if (!made)
        return lib_fail_memory(context);
    if (has_mask && (request->wants & PARTIAL_DIGEST)) {
        gpr_result_free(made);
        return lib_fail_masked_digest(context);
    }
    if (input->in_memory && is_small(context, view, request) &&
        reduce_directly(r, view, request, made)) {
        *result = made;
        return GPR_OK;
    }
    lib_begin_long(context);
    status = reduce_by_session(r, input, array, request, &made->found);
    if (status == GPR_OK && !result_take(made))
        status = lib_fail_memory(context);
    reducer_tell_warnings(r->context);
    status = lib_end_long(context, status);
    if (status == GPR_OK)
        *result = made;
    else
        gpr_result_free(made);
    return status;
}

/*
 * All arrays of an input, each for itself.
 */

/* Whether all arrays of an input can be reduced in one run: not for histograms, nor by a GPU; and with a
   length, one array in Fortran order would leave all others without a digest. */
static bool suits_one_run(const gpr_input *input, const gpr_request *request)
{
    return lib_container(input) && input->context->device != DEVICE_GPU &&
           request->passes.histogram.kind == HISTOGRAM_NONE &&
           (!(request->wants & PARTIAL_DIGEST) ||
            (request->input.length == UINT64_MAX && input->options.length == UINT64_MAX));
}

/* Tells of what an array came to; NULL: of the error of the context. */
static gpr_status tell(gpr_context *context, const struct reducer_each *each, size_t array,
                       gpr_result *result)
{
    const bool end = each->function(each->user, each->first + array, result) != 0;

    return end || is_cancelled(context->reducer)
               ? lib_fail(context, GPR_ERROR_CANCELLED, "cancelled")
               : GPR_OK;
}

/* Reduces one array after the other. */
static gpr_status reduce_in_turn(gpr_input *input, const struct reducer_each *each)
{
    const struct container *container = lib_container(input);
    const size_t count = container ? container->count : 1;
    gpr_status status = GPR_OK;

    for (size_t i = 0; i < count && status == GPR_OK; i++) {
        gpr_result *result = NULL;

        status = reducer_reduce(input, i, each->request, &result);
        if (status != GPR_ERROR_CANCELLED)
            status = tell(input->context, each, i, result);
    }
    return status;
}

/* Says that an input is not what it was when it was opened. */
static gpr_status fail_changed(const gpr_input *input)
{
    char name[NAME_INPUT_MAX];

    return lib_fail(input->context, GPR_ERROR_CHANGED, "%s: it changed while it was read",
                    name_input(name, input->path));
}

/* Tells of array number `number` of a session's result, which array number `array` of the input is. */
static gpr_status tell_of(const gpr_input *input, const struct reducer_each *each, size_t array,
                          const struct arrays *arrays, size_t number, struct reduction *one)
{
    gpr_context *context = input->context;
    gpr_result *made;

    arrays_get(arrays, number, one);
    /* The session opens the file again, and a store of Zarr may have other arrays by then. */
    if (strcmp(one->array, lib_container(input)->arrays[array].name) != 0)
        return fail_changed(input);
    if (one->error.kind != ERROR_NONE) {
        (void)lib_fail_error(context, input->path, one->array, &one->error);
        return tell(context, each, array, NULL);
    }
    made = result_new(each->request);
    if (!made)
        return lib_fail_memory(context);
    made->found = *one;
    (void)result_take(made); /* it has no histogram to copy */
    made->profiled = false;
    return tell(context, each, array, made);
}

/* Reduces all arrays in one run. */
static gpr_status reduce_at_once(struct reducer *r, gpr_input *input,
                                 const struct reducer_each *each)
{
    const struct container *container = lib_container(input);
    gpr_context *context = input->context;
    gpr_status status = prepare_session(r, input, each->request, UINT64_MAX);
    struct reduction all, one;
    size_t number = 0;

    if (status != GPR_OK)
        return status;
    lib_begin_long(context);
    if (!session_reduce(r->session, input->path, &all))
        status = lib_fail_error(context, input->path, NULL, &all.error);
    reducer_tell_warnings(r->context);
    status = lib_end_long(context, status);
    memset(&one, 0, sizeof one);
    for (size_t i = 0; i < container->count && status == GPR_OK; i++) {
        const struct container_array *a = &container->arrays[i];

        if (a->unreadable && a->not_numeric) { /* sessions leave these out */
            one.error = container_why(a);
            (void)lib_fail_error(context, input->path, a->name, &one.error);
            status = tell(context, each, i, NULL);
        } else if (number == arrays_count(all.arrays)) {
            status = fail_changed(input);
        } else {
            status = tell_of(input, each, i, all.arrays, number++, &one);
        }
    }
    return status;
}

gpr_status reducer_each(gpr_input *input, const struct reducer_each *each)
{
    gpr_context *context = input->context;
    const gpr_status status = suits_one_run(input, each->request)
                                  ? reduce_at_once(context->reducer, input, each)
                                  : reduce_in_turn(input, each);

    if (status == GPR_OK)
        lib_begin(context); /* the errors of arrays have been told */
    return status;
}

/*
 * Several inputs as one.
 */

struct several {
    struct reducer *r;
    gpr_input *const *inputs;
    const gpr_request *request;
};

static void prepare_input(void *context, int number)
{
    const struct several *s = context;

    (void)set_input(s->r, s->inputs[number], s->request); /* they could be read before */
}

/* Adds a view of device memory to a total. */
static gpr_status add_device(const struct several *s, gpr_input *input, struct total *total)
{
    const struct view *view = choose_view(input, s->request);
    const uint64_t length = s->request->input.length;
    struct reduction one = {.repeatable = true};
    gpr_result *result = NULL;
    const gpr_status status = device_reduce(input, view, s->request, &result);

    if (status != GPR_OK)
        return status;
    one.partial = result->found.partial;
    one.type = view->type;
    one.scale = view->scale;
    one.elements = view->elements < length ? view->elements : length;
    one.bytes = one.input_bytes = one.elements * element_size(view->type);
    (void)missing_add_values(&one.missing, view->type, &s->request->missing);
    total_add(total, &one);
    gpr_result_free(result);
    return GPR_OK;
}

/* Adds an input, or all arrays of one, to a total. */
static gpr_status add_input(const struct several *s, gpr_input *input, struct total *total)
{
    struct reducer *r = s->r;
    struct reduction reduction, one;

    if (device_holds(input))
        return add_device(s, input, total);
    if (!set_input(r, input, s->request))
        return r->context->status;
    reduction.error.kind = ERROR_NONE;
    if (!run_whole(r, input, &reduction))
        return lib_fail_error(r->context, input->path, NULL, &reduction.error);
    memset(&one, 0, sizeof one);
    for (size_t k = 0; reduction.arrays && k < arrays_count(reduction.arrays); k++)
        if (arrays_error(reduction.arrays, k)) {
            arrays_get(reduction.arrays, k, &one);
            return lib_fail_error(r->context, input->path, one.array, &one.error);
        }
    total_add(total, &reduction);
    return GPR_OK;
}

/* Reduces all inputs, and reads them again where quantiles or a histogram are wanted. */
static gpr_status reduce_several(const struct several *s, const struct session_inputs *inputs,
                                 struct total *total)
{
    struct reducer *r = s->r;
    struct session_options *o = &r->options;
    struct pass_request none = {.quantile_count = 0};

    for (int i = 0; i < inputs->count && pass_request_any(&s->request->passes); i++)
        if (device_holds(s->inputs[i]))
            return device_refuse(r->context, "quantiles and histograms of totals");
    set_options(o, s->request);
    if (pass_request_any(&o->passes))
        o->wants |= PARTIAL_EXTREMES;
    o->passes = none;
    if (begin_session(r, s->request, UINT64_MAX) != GPR_OK)
        return r->context->status;
    if (!session_expect(r->session, inputs->count))
        return lib_fail_memory(r->context);
    for (int i = 0; i < inputs->count; i++)
        if (add_input(s, s->inputs[i], total) != GPR_OK)
            return r->context->status;
    total_finish(total, s->request->nan, s->request->ddof);
    session_quantiles(r->session, &s->request->passes, inputs, total);
    if (total->cause.kind != ERROR_NONE)
        return lib_fail_error(r->context, total->cause_path, NULL, &total->cause);
    if (total->reduction.error.kind != ERROR_NONE)
        return lib_fail_error(r->context, NULL, NULL, &total->reduction.error);
    return GPR_OK;
}

/* Takes a finished total. False without memory. */
static bool take_total(gpr_result *result, const struct total *total)
{
    if (total->mixed) {
        result->scaled = malloc(sizeof *result->scaled);
        if (!result->scaled)
            return false;
        *result->scaled = total->scaled;
    }
    result->found = total->reduction;
    return result_take(result);
}

/* Counts the files that inputs stand for, and, unless `files` is NULL, lists them there. */
static size_t list_files(gpr_input *const *inputs, size_t count, gpr_input **files)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        gpr_input *const *parts = inputs[i]->parts ? inputs[i]->parts : &inputs[i];
        const size_t some = inputs[i]->parts ? inputs[i]->set.count : 1;

        if (files)
            memcpy(files + found, parts, some * sizeof *files);
        found += some;
    }
    return found;
}

gpr_status reducer_total(gpr_input *const *inputs, size_t count, const gpr_request *request,
                         gpr_result **result)
{
    gpr_context *context = inputs[0]->context;
    const size_t files = list_files(inputs, count, NULL);
    gpr_input **const all_files = malloc(files * sizeof(gpr_input *));
    struct several several = {.r = context->reducer, .inputs = all_files, .request = request};
    char **paths = malloc(files * sizeof *paths);
    gpr_result *made = result_new(request);
    struct total *total = malloc(sizeof *total);
    gpr_status status = GPR_ERROR_MEMORY;

    if (all_files && paths && made && total) {
        const struct session_inputs all = {
            .paths = paths, .count = (int)files, .prepare = prepare_input, .context = &several};

        (void)list_files(inputs, count, all_files);
        for (size_t i = 0; i < files; i++)
            paths[i] = all_files[i]->path;
        total_clear(total);
        lib_begin_long(context);
        status = reduce_several(&several, &all, total);
        if (status == GPR_OK && !take_total(made, total))
            status = lib_fail_memory(context);
        reducer_tell_warnings(context);
        status = lib_end_long(context, status);
    } else {
        (void)lib_fail_memory(context);
    }
    free(all_files);
    free(paths);
    free(total);
    if (status == GPR_OK)
        *result = made;
    else
        gpr_result_free(made);
    return status;
}

/*
 * Other jobs.
 */

bool reducer_prepare(const gpr_input *input, const gpr_request *request,
                     struct session_options *options)
{
    gpr_context *context = input->context;
    struct reducer *r = context->reducer;

    if (context->memory > 0) {
        (void)lib_fail(context, GPR_ERROR_UNSUPPORTED,
                       "the memory for this call cannot be limited");
        return false;
    }
    if (!can_use_gpu(context) ||
        (context->device != DEVICE_GPU && begin_session(r, request, UINT64_MAX) != GPR_OK))
        return false;
    *options = (struct session_options){.input = input_options(r, input, UINT64_MAX),
                                        .device = context->device,
                                        .device_count = 1, /* number 0 */
                                        .threads = context->threads,
                                        .cores = count_cores(r),
                                        .team = r->session ? session_team(r->session) : NULL,
                                        .progress = &r->observer};
    set_options(options, request);
    set_again(&options->input, input);
    return true;
}
