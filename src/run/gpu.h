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

struct gpu {
    struct engine_needs needs;        /* fixed once gpu_choose has been called */
    char unusable[ENGINE_REASON_MAX]; /* why it cannot be opened; gpu_choose alone sets it */

    struct mutex mutex;
    enum gpu_state state GUARDED_BY(gpu_role);
    struct engine_state *engine GUARDED_BY(gpu_role);
    char reason[ENGINE_REASON_MAX] GUARDED_BY(gpu_role); /* why it failed */
    uint64_t opened_at GUARDED_BY(gpu_role);             /* clock_now's; 0 before */
    uint64_t open_time GUARDED_BY(gpu_role);             /* nanoseconds */
    struct team opener;                                  /* the thread of gpu_open_async */
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

enum gpu_state gpu_state(struct gpu *g);

/* The engine's state; NULL while it is not ready, or when it could not be opened. It stays valid
   until gpu_close, also after gpu_fail. */
struct engine_state *gpu_engine(struct gpu *g);

/* Gives the GPU up: it failed. */
void gpu_fail(struct gpu *g, const char *reason);

/* Copies why it failed; empty when it did not. */
void gpu_reason(struct gpu *g, char reason[ENGINE_REASON_MAX]);

/* Nanoseconds it took to open, if that ended at `since` or later; otherwise 0. */
uint64_t gpu_open_time(struct gpu *g, uint64_t since);

/* Closes the engine. False when it is still being opened: g must then stay as it is. */
bool gpu_close(struct gpu *g);

#endif
