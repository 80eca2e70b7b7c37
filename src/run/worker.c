#include "config.h"

#include "run/worker.h"

#include "run/run_state.h"
#include "sys/mapping.h"

void worker_init(struct worker *w, unsigned number, enum engine_id engine, unsigned engine_number)
{
    *w = (struct worker){.number = number, .engine = engine, .engine_number = engine_number};
}

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

bool worker_reduce(struct worker *w, const struct engine *engine, struct engine_worker *ew,
                   const struct chunk *chunk, enum engine_status *status)
{
    struct reduce_call call = {engine, ew, chunk, ENGINE_FAILED};

    if (!chunk->mapped) {
        call_reduce(&call);
    } else if (!mapping_guard(call_reduce, &call)) {
        source_lost(w->run->source, chunk);
        return false;
    }
    *status = call.status;
    return true;
}
