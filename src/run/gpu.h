/*
 * The GPU engine of a session: opened at once or in the background, by a thread that nobody waits
 * for; and given up when it fails.
 *
 * All functions but gpu_choose, gpu_open_now and gpu_close may be called from any thread.
 */
#ifndef GPUREDUCE_RUN_GPU_H
#define GPUREDUCE_RUN_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "run/gpu_policy.h"
#include "run/session_options.h"
#include "sys/mutex.h"
#include "sys/team.h"

MUTEX_ROLE(gpu_role);

/* How far the GPU has come. The engine is NULL before it is ready, and if it could not be opened; it stays
   valid until gpu_close, also after gpu_fail. */
struct gpu_status {
    enum gpu_state state;
    struct engine_state *engine;
    char reason[ENGINE_REASON_MAX]; /* why it failed; empty if it did not */
    uint64_t opened_at, open_time;  /* clock_now's, 0 before; nanoseconds */
};

struct gpu {
    struct engine_needs needs;        /* fixed once gpu_choose has been called */
    char unusable[ENGINE_REASON_MAX]; /* why it cannot be opened; gpu_choose alone sets it */

    struct mutex mutex;
    struct gpu_status status GUARDED_BY(gpu_role);
    struct team opener; /* the thread of gpu_open_async */
};

MUTEX_ROLE_OF(gpu, struct gpu, mutex);

/* The needs that the options state, of as many of their first GPUs as these inputs can keep busy: of
   all, if the size of an input is unknown, as of a pipe. Any thread. */
struct engine_needs gpu_needs(const struct session_options *options, char *const *paths, int count);

/* The size of a file of `least` bytes or more whose first bytes are those of compressed input, or
   of the content that its first frame states, if that is more; of a store of Zarr in a directory,
   that of its files, of which no more are counted than matters; 0 of others. *pipe: it is neither a
   file nor a directory; its bytes are not looked at. */
uint64_t gpu_compressed_bytes(const char *path, uint64_t least, bool *pipe);

/* Begins with a GPU that is not used. */
void gpu_init(struct gpu *g, const struct engine_needs *needs);

/* Chooses the GPUs, for these inputs. To be called before they are opened, and before there are
   other threads: see engine.h. If one of them cannot be used, opening fails. */
void gpu_choose(struct gpu *g, const struct session_options *options, char *const *paths,
                int count);

/* Opens the engine, and waits for that. */
void gpu_open_now(struct gpu *g);

/* Opens it in the background. */
void gpu_open_async(struct gpu *g);

struct gpu_status gpu_status(struct gpu *g);

/* Gives the GPU up: it failed. */
void gpu_fail(struct gpu *g, const char *reason);

/* Closes the engine. False when it is still being opened: g must then stay as it is. */
bool gpu_close(struct gpu *g);

#endif
