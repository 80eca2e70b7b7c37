/*
 * The lanes of an engine, for test programs that drive them as workers do.
 */
#ifndef TESTS_LANES_H
#define TESTS_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine.h"
#include "partial.h"
#include "tap.h"
#include "timeline.h"

/* Finishes and closes `count` lanes, some of which may be NULL, and merges what they found into
   `total`. False when one failed, which is noted. */
static inline bool lanes_end(const struct engine *engine, struct lane *const *lanes, size_t count,
                             struct partial *total)
{
    bool good = true;

    for (size_t i = 0; i < count; i++) {
        struct engine_times times;
        struct partial partial;

        if (!lanes[i])
            continue;
        if (!engine->finish(lanes[i], &partial, &times)) {
            tap_note("%s", engine->lane_error(lanes[i]));
            good = false;
        }
        partial_merge(total, &partial);
        timeline_free(&times.copies);
        timeline_free(&times.kernels);
        engine->lane_close(lanes[i]);
    }
    return good;
}

#endif
