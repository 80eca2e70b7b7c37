#include "config.h"

#include "run/gpu.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/compressed.h"
#include "source/source.h"
#include "sys/clock.h"
#include "sys/operand.h"

struct engine_needs gpu_needs(const struct session_options *options, char *const *paths, int count)
{
    struct engine_needs needs = {.devices = options->devices,
                                 .device_count = options->device_count,
                                 .visible = options->visible_devices,
                                 .chunk_size = options->chunk_size,
                                 .tuning = session_tuning(options)->gpu};
    uint64_t bytes = 0;
    struct stat status;

    if (needs.device_count < 2 || !engine_cuda.devices_for)
        return needs;
    for (int i = 0; i < count; i++) {
        if (!operand_status(paths[i], &status) || !S_ISREG(status.st_mode))
            return needs;
        bytes += (uint64_t)status.st_size;
    }
    needs.device_count = engine_cuda.devices_for(&needs, bytes);
    return needs;
}

/* Files of so many bytes are examined if the GPU does all the work: it makes no difference whether
   smaller ones are compressed. */
#define LOOKED_AT_LEAST ((uint64_t)32 << 20)

/* A store of Zarr may have many files: so many bytes, entries, and folders in each other are looked at.
   These bytes get it the connections of middling input, which are the best for chunks in files. */
#define STORE_BYTES ((uint64_t)256 << 20)
#define STORE_ENTRIES 4096
#define STORE_DEPTH 8

/* The bytes of the files in and below a folder, which is closed; about STORE_BYTES at most.
   NOLINTNEXTLINE(misc-no-recursion): to STORE_DEPTH */
static uint64_t bytes_below(int fd, unsigned depth, unsigned *entries)
{
    DIR *const folder = fdopendir(fd);
    const struct dirent *entry;
    uint64_t bytes = 0;

    if (!folder) {
        close(fd);
        return 0;
    }
    while (bytes < STORE_BYTES && *entries < STORE_ENTRIES && (entry = readdir(folder))) {
        struct stat status;
        int below;

        if (entry->d_name[0] == '.' ||
            fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        ++*entries;
        if (S_ISREG(status.st_mode)) {
            bytes += (uint64_t)status.st_size;
        } else if (S_ISDIR(status.st_mode) && depth < STORE_DEPTH) {
            below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
            bytes += below < 0 ? 0 : bytes_below(below, depth + 1, entries);
        }
    }
    closedir(folder);
    return bytes;
}

/* The bytes of a store of Zarr, as far as they are counted; 0 of another directory. */
static uint64_t store_bytes(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned entries = 0;

    if (fd >= 0 && source_is_store(fd))
        return bytes_below(fd, 0, &entries);
    if (fd >= 0)
        close(fd);
    return 0;
}

uint64_t gpu_compressed_bytes(const char *path, uint64_t least, bool *pipe)
{
    const struct source_options options = {.log = NULL};
    struct source_facts facts;
    struct stat status;
    struct error error;
    uint64_t bytes;

    *pipe = false;
    if (!operand_status(path, &status))
        return 0;
    *pipe = !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    if (S_ISDIR(status.st_mode)) {
        bytes = store_bytes(path);
        return bytes < least ? 0 : bytes;
    }
    bytes = (uint64_t)status.st_size;
    if (*pipe || bytes < least || !source_look(path, &options, &facts, &error) || !facts.zstd)
        return 0;
    return facts.content != SOURCE_UNKNOWN && facts.content > bytes ? facts.content : bytes;
}

void gpu_init(struct gpu *g, const struct engine_needs *needs)
{
    memset(g, 0, sizeof *g);
    g->needs = *needs;
    mutex_init(&g->mutex);
}

void gpu_choose(struct gpu *g, const struct session_options *options, char *const *paths, int count)
{
    const bool all =
        options->device == DEVICE_GPU || session_tuning(options)->gpu_always; /* auto leaves some */
    bool pipe;

    if (!engine_cuda.choose)
        return;
    g->needs.before = COMPRESSED_BEFORE;
    g->needs.piece = source_tuning(&options->input)->piece;
    for (int i = 0; i < count; i++) {
        const uint64_t compressed =
            gpu_compressed_bytes(paths[i], all ? LOOKED_AT_LEAST : GPU_INPUT_MIN, &pipe);

        /* The stated content may be any number. */
        g->needs.compressed = compressed < UINT64_MAX - g->needs.compressed
                                  ? g->needs.compressed + compressed
                                  : UINT64_MAX;
        g->needs.pipe = g->needs.pipe || (all && pipe);
    }
    if (options->set_variable)
        (void)engine_cuda.choose(&g->needs, options->set_variable, g->unusable);
}

void gpu_open_now(struct gpu *g)
{
    const uint64_t begun = clock_now();
    struct gpu_status status = {.reason = ""};

    if (g->unusable[0])
        memcpy(status.reason, g->unusable, sizeof status.reason);
    else
        status.engine = engine_cuda.open(&g->needs, status.reason);
    status.state = status.engine ? GPU_READY : GPU_FAILED;
    status.opened_at = clock_now();
    status.open_time = clock_between(begun, status.opened_at);
    gpu_lock(g);
    g->status = status;
    gpu_unlock(g);
}

static void open_thread(void *argument, unsigned number)
{
    (void)number;
    gpu_open_now(argument);
}

void gpu_open_async(struct gpu *g)
{
    const struct team_job job = {.work = open_thread, .context = g, .last = true};

    gpu_lock(g);
    g->status.state = GPU_OPENING;
    gpu_unlock(g);
    if (!team_open(&g->opener, 1) || team_start(&g->opener, 0, 1, &job) == 0)
        gpu_fail(g, "cannot start a thread");
}

struct gpu_status gpu_status(struct gpu *g)
{
    struct gpu_status status;

    gpu_lock(g);
    status = g->status;
    gpu_unlock(g);
    return status;
}

void gpu_fail(struct gpu *g, const char *reason)
{
    gpu_lock(g);
    g->status.state = GPU_FAILED;
    snprintf(g->status.reason, sizeof g->status.reason, "%s", reason);
    gpu_unlock(g);
}

bool gpu_close(struct gpu *g)
{
    const struct gpu_status status = gpu_status(g);

    if (status.state == GPU_OPENING)
        return false;
    team_close(&g->opener);
    if (status.engine)
        engine_cuda.close(status.engine);
    mutex_destroy(&g->mutex);
    return true;
}
