#include "config.h"

#include "run/fallback.h"

#include "run/run_state.h"

struct engine_worker *fallback_engine_worker(struct worker *w)
{
    char reason[ENGINE_REASON_MAX];

    if (!w->fallback) {
        w->fallback = engine_cpu.worker_open(w->run->cpu, &w->setup, 0, reason);
        if (!w->fallback)
            source_error(w->run->source, ERROR_MEMORY, "%s", reason);
    }
    return w->fallback;
}

bool fallback_chunks(struct worker *w, const struct chunk *chunks, unsigned count)
{
    enum engine_status status;

    if (!fallback_engine_worker(w))
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (!worker_reduce(w, &engine_cpu, w->fallback, &chunks[i], &status))
            return false;
        w->stats.in_place += chunks[i].mapped ? chunks[i].count : 0;
    }
    return true;
}

void fallback_end(struct worker *w)
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
