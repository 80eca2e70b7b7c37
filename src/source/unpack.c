#include "config.h"

#include "source/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/team.h"

/* Bytes that a worker reads and writes at a time. */
#define PIECE ((size_t)1 << 20)

struct unpacking {
    struct source *raw;
    int fd;
    uint64_t most;          /* of *held */
    _Atomic uint64_t *held; /* bytes of all such files that are open */
    _Atomic uint64_t bytes; /* of this one */
    _Atomic bool full;      /* there are more */
};

/* Opens a file without a name. -1 on failure. */
static int open_nameless(void)
{
    const char *const folder = getenv("TMPDIR");
    char path[PATH_MAX];
    int fd = -1;

#ifdef MFD_CLOEXEC
    fd = memfd_create("gpureduce", MFD_CLOEXEC);
    if (fd >= 0)
        return fd;
#endif
    if (snprintf(path, sizeof path, "%s/gpureduce-XXXXXX", folder && *folder ? folder : "/tmp") <
        (int)sizeof path)
        fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* Writes a chunk to its place. False on failure, and where there is no more room. */
static bool write_chunk(struct unpacking *u, const struct chunk *chunk)
{
    const char *bytes = chunk->data;
    size_t done = 0;

    atomic_fetch_add(&u->bytes, chunk->count);
    if (atomic_fetch_add(u->held, chunk->count) + chunk->count > u->most) {
        atomic_store(&u->full, true);
        source_cancel(u->raw);
    }
    if (u->raw->options.cancelled && u->raw->options.cancelled(u->raw->options.cancel_context))
        source_cancel(u->raw);
    while (done < chunk->count && !source_failed(u->raw)) {
        const ssize_t n =
            pwrite(u->fd, bytes + done, chunk->count - done, (off_t)(chunk->index + done));

        if (n < 0 && errno != EINTR)
            source_error(u->raw, ERROR_READ, "cannot keep its decompressed content: %s",
                         strerror(errno));
        done += n > 0 ? (size_t)n : 0;
    }
    return done == chunk->count;
}

/* The part of one worker. */
static void work(void *context, unsigned worker)
{
    struct unpacking *u = context;
    struct chunk_request request = {.worker = worker, .buffer = malloc(PIECE), .size = PIECE};
    struct chunk chunk;
    bool good = request.buffer || source_no_memory(u->raw);

    while (good && source_next(u->raw, &request, &chunk) == SOURCE_CHUNK) {
        good = write_chunk(u, &chunk);
        source_release(u->raw, worker, &chunk);
    }
    source_leave(u->raw, worker);
    free(request.buffer);
}

int unpack(struct source *raw, unsigned workers, uint64_t memory, _Atomic uint64_t *held,
           uint64_t *size, enum source_verdict *verdict)
{
    const uint64_t half = source_memory();
    struct unpacking u = {.raw = raw,
                          .fd = open_nameless(),
                          .most = memory && memory < half ? memory : half,
                          .held = held};
    uint64_t others;

    *verdict = SOURCE_BROKEN;
    if (u.fd < 0) {
        source_error(raw, ERROR_READ, "cannot keep its decompressed content: %s", strerror(errno));
        *size = 0;
        return -1;
    }
    team_call(workers, work, &u);
    *verdict = source_finish(raw);
    *size = u.bytes;
    if (*verdict == SOURCE_COMPLETE)
        return u.fd;
    close(u.fd);
    others = atomic_fetch_sub(held, u.bytes) - u.bytes;
    *size = !u.full ? 0 : others < u.most ? u.most - others : 1;
    return -1;
}
