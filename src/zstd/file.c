#include "config.h"

#include "zstd/file.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "sys/clock.h"
#include "sys/whole.h"

void zstd_file_init(struct zstd_file *file)
{
    mutex_init(&file->mutex);
    file->stop = ZSTD_UNKNOWN;
    atomic_init(&file->stopped_at, ZSTD_UNKNOWN);
    zstd_forget_errors(file);
}

void zstd_file_destroy(struct zstd_file *file)
{
    mutex_destroy(&file->mutex);
}

void zstd_forget_errors(struct zstd_file *file)
{
    atomic_store(&file->retry, false);
    atomic_store(&file->failed, false);
    atomic_store(&file->error_offset, ZSTD_UNKNOWN);
}

UNCHECKED void zstd_take_failure(struct zstd_file *file, struct error error)
{
    mutex_lock(&file->mutex);
    if (!atomic_load(&file->failed))
        file->error = error;
    atomic_store(&file->failed, true);
    mutex_unlock(&file->mutex);
}

UNCHECKED void zstd_take_error(struct zstd_file *file, struct error error)
{
    mutex_lock(&file->mutex);
    if (!atomic_load(&file->failed) && error.offset < atomic_load(&file->error_offset)) {
        file->error = error;
        atomic_store(&file->error_offset, error.offset);
    }
    mutex_unlock(&file->mutex);
}

void zstd_became_shorter(struct zstd_file *file, uint64_t missing)
{
    struct stat status;

    /* The place where the file ends now: bytes before `missing` may be gone, too, and a mapped byte
       that could not be read may lie after it. */
    if (fstat(file->fd, &status) == 0 && (uint64_t)status.st_size < file->start + file->size)
        missing = (uint64_t)status.st_size;
    zstd_fail(file, ERROR_CHANGED, "ends at byte %" PRIu64 ": it became shorter while it was read",
              missing > file->start ? missing - file->start : 0);
}

bool zstd_file_read(struct zstd_file *file, void *buffer, size_t size, uint64_t offset)
{
    const uint64_t begun = clock_now();
    int error;
    const size_t done = pread_whole(file->fd, buffer, size, file->start + offset, 1, &error);

    atomic_fetch_add_explicit(&file->read_time, clock_now() - begun, memory_order_relaxed);
    if (error)
        zstd_fail(file, ERROR_READ, "read error at byte %" PRIu64 ": %s", offset + done,
                  strerror(error));
    else if (done < size)
        zstd_became_shorter(file, file->start + offset + done);
    return done == size;
}
