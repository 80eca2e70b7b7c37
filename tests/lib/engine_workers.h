/*
 * The workers of an engine, for test programs that drive them as workers do.
 */
#ifndef TESTS_ENGINE_WORKERS_H
#define TESTS_ENGINE_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/partial.h"
#include "engine/engine.h"
#include "lib/tap.h"
#include "sys/timeline.h"

/* Finishes and closes `count` workers, some of which may be NULL, and merges what they found into
   `total`. False when one failed, which is noted. */
static inline bool engine_workers_end(const struct engine *engine,
                                      struct engine_worker *const *workers, size_t count,
                                      struct partial *total)
{
    bool good = true;

    for (size_t i = 0; i < count; i++) {
        struct engine_times times;
        struct partial partial;

        if (!workers[i])
            continue;
        if (!engine->finish(workers[i], &partial, &times)) {
            tap_note("%s", engine->worker_error(workers[i]));
            good = false;
        }
        partial_merge(total, &partial);
        engine_times_free(&times);
        engine->worker_close(workers[i]);
    }
    return good;
}

#endif
