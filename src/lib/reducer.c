#include "config.h"

#include "lib/reducer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/view.h"
#include "lib/result.h"
#include "run/session.h"
#include "sys/grow.h"
#include "sys/mutex.h"

/* Bytes of a view that the calling thread reduces alone: others take as long to wake. */
#define DIRECT_BYTES ((uint64_t)256 << 10)

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

    /* For large inputs. */
    struct session *session; /* NULL before it is needed */
    struct session_options options;
    struct progress_observer observer;
    struct log log;
    struct warnings warnings;
    uint64_t total; /* bytes of the input that is being read; UINT64_MAX if unknown */

    /* For small views. */
    struct engine_state *cpu;     /* NULL before it is needed */
    struct engine_worker *worker; /* NULL before it is needed */
};

static void note_warning(void *context, const char *name, const struct error *warning)
{
    struct warnings *w = context;
    char text[LIB_TEXT_MAX];
    char *kept;

    snprintf(text, sizeof text, "%s: %s", name, warning->text);
    kept = strdup(text);
    warnings_lock(w);
    if (kept && GROW(w->texts, w->room, w->count + 1))
        w->texts[w->count++] = kept;
    else
        free(kept);
    warnings_unlock(w);
}

/* Passes the warnings of a call on. No other thread is at work. */
UNCHECKED static void tell_warnings(struct reducer *r)
{
    struct warnings *w = &r->warnings;

    for (size_t i = 0; i < w->count; i++) {
        if (r->context->log)
            r->context->log(r->context->log_user, w->texts[i]);
        free(w->texts[i]);
    }
    w->count = 0;
}

static void begin_progress(void *context, const char *name, uint64_t total, uint64_t now)
{
    struct reducer *r = context;

    (void)name;
    (void)now;
    r->total = total;
}

static void update_progress(void *context, uint64_t done, uint64_t now)
{
    struct reducer *r = context;

    (void)now;
    if (r->context->progress && r->context->progress(r->context->progress_user, done, r->total))
        gpr_cancel(r->context);
}

static bool is_cancelled(void *context)
{
    const struct reducer *r = context;

    return atomic_load(&r->context->call) == CALL_CANCELLED;
}

static void end_progress(void *context)
{
    (void)context;
}

/* The reducer of a context. NULL without memory. */
static struct reducer *get(gpr_context *context)
{
    struct reducer *r = context->reducer;

    if (r)
        return r;
    r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->context = context;
    mutex_init(&r->warnings.mutex);
    r->log = (struct log){.warn = note_warning, .context = &r->warnings};
    r->observer = (struct progress_observer){.begin = begin_progress,
                                             .update = update_progress,
                                             .cancelled = is_cancelled,
                                             .end = end_progress,
                                             .context = r};
    context->reducer = r;
    return r;
}

static void close_session(struct reducer *r)
{
    if (r->session)
        (void)session_close(r->session);
    r->session = NULL;
}

UNCHECKED void reducer_close(struct reducer *r)
{
    if (!r)
        return;
    close_session(r);
    if (r->worker)
        engine_cpu.worker_close(r->worker);
    if (r->cpu)
        engine_cpu.close(r->cpu);
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

/* Reduces a small view on this thread. False if that cannot be, or finds an error, which a session
   then describes. */
static bool reduce_directly(struct reducer *r, const struct view *view, const gpr_request *request,
                            struct partial *partial)
{
    const uint64_t elements = view->elements < request->length ? view->elements : request->length;
    struct engine_setup setup = {.type = view->type, .swap = view->swap, .wants = request->wants};
    struct partial_split split;
    struct missing missing = {.count = 0};
    struct view_places places;
    struct chunk_request chunk_request = {.borrow = true};
    struct engine_worker *worker;
    struct engine_times times;
    struct chunk chunk;
    uint64_t left_out = 0;
    size_t most;

    if (request->missing.count > 0) {
        if (container_find_missing(NULL, view->type, &request->missing, &missing))
            return false;
        setup.missing = &missing;
        setup.wants |= PARTIAL_MISSING;
    }
    setup.split = scale_find_split(&view->scale, view->type, &setup.wants, &split);
    worker = direct_worker(r, &setup);
    if (!worker)
        return false;
    chunk_request.buffer = engine_cpu.buffer(worker, &chunk_request.size);
    most = chunk_request.size / element_size(view->type);
    for (uint64_t i = 0; i < elements; i += most) {
        const size_t count = elements - i < most ? (size_t)(elements - i) : most;
        const size_t missing_count =
            view_make_chunk(view, i, count, &chunk_request, &places, &chunk);

        left_out += missing_count;
        if (missing_count < count && engine_cpu.reduce(worker, &chunk) != ENGINE_TAKEN)
            return false;
    }
    if (!engine_cpu.finish(worker, partial, &times))
        return false;
    partial->count += left_out;
    partial->missing += left_out;
    return request->nan != NAN_ERROR || partial->nan == 0;
}

/*
 * Sessions.
 */

/* Has a session for the settings of the context. */
static gpr_status begin_session(struct reducer *r)
{
    gpr_context *context = r->context;
    struct session_options *o = &r->options;
    struct error error;

    if (r->session && (o->threads != context->threads || o->device != context->device ||
                       o->devices[0] != (int)context->gpu))
        close_session(r);
    o->threads = context->threads;
    o->device = context->device;
    o->devices[0] = (int)context->gpu;
    o->device_count = 1;
    o->progress = &r->observer;
    o->stays = true;
    if (r->session)
        return GPR_OK;
    r->session = session_open(o, NULL, 0, &error);
    return r->session ? GPR_OK : lib_fail_error(context, NULL, NULL, &error);
}

/* The view that is reduced for a request: in C order if indices are wanted, or a part of it. */
static const struct view *choose_view(const gpr_input *input, const gpr_request *request)
{
    const struct view *view = &input->view.view;
    const bool ordered = request->wants & PARTIAL_WHERE || request->nan == NAN_ERROR ||
                         request->length < view->elements;

    return input->reordered && !ordered ? &input->fast : view;
}

/* How an input is read for a request. */
static struct source_options input_options(const struct reducer *r, const gpr_input *input,
                                           const gpr_request *request)
{
    return (struct source_options){.log = &r->log,
                                   .length = request->length,
                                   .view = choose_view(input, request),
                                   .cancellable = true};
}

/* Reduces an input by a session. */
static gpr_status reduce_by_session(struct reducer *r, const gpr_input *input,
                                    const gpr_request *request, struct reduction *reduction)
{
    char name[SOURCE_NAME_MAX];
    struct session_options *o = &r->options;

    o->input = input_options(r, input, request);
    o->nan = request->nan;
    o->wants = request->wants;
    o->missing = request->missing;
    o->ddof = request->ddof;
    o->passes = request->passes;
    if (begin_session(r) != GPR_OK)
        return r->context->status;
    if (session_reduce(r->session, input->path, reduction))
        return GPR_OK;
    return lib_fail_error(r->context, source_name(name, input->path), NULL, &reduction->error);
}

gpr_status reducer_reduce(gpr_input *input, const gpr_request *request, gpr_result **result)
{
    gpr_context *context = input->context;
    const struct view *view = choose_view(input, request);
    struct reducer *r = get(context);
    gpr_result *made = r ? result_new(request) : NULL;
    struct reduction reduction;
    gpr_status status;

    if (!made)
        return lib_fail_memory(context);
    if (context->device != DEVICE_GPU && !pass_request_any(&request->passes) &&
        view->elements <= DIRECT_BYTES / element_size(view->type) &&
        reduce_directly(r, view, request, &made->partial)) {
        result_round(made, request, view->type, &view->scale);
        *result = made;
        return GPR_OK;
    }
    lib_begin_long(context);
    status = reduce_by_session(r, input, request, &reduction);
    if (status == GPR_OK && !result_take(made, request, &reduction))
        status = lib_fail_memory(context);
    tell_warnings(r);
    status = lib_end_long(context, status);
    if (status == GPR_OK)
        *result = made;
    else
        gpr_result_free(made);
    return status;
}
