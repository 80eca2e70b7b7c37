/*
 * Reading and writing all of some bytes, however many calls that takes.
 */
#ifndef GPUREDUCE_WHOLE_H
#define GPUREDUCE_WHOLE_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Reads `size` bytes at `offset`, or fewer where the file ends, a read fails, or one ends within a unit
   of so many bytes. Returns how many. *error: an error number of the system, or 0. */
static inline size_t pread_whole(int fd, void *buffer, size_t size, uint64_t offset, size_t unit,
                                 int *error)
{
    size_t done = 0;
    ssize_t n = 1;

    *error = 0;
    while (done < size && n != 0 && !*error && done % unit == 0) {
        n = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));
        done += n > 0 ? (size_t)n : 0;
        *error = n < 0 && errno != EINTR ? errno : 0;
    }
    return done;
}

/* Writes `size` bytes at a place, or, for -1, where the file stands. Waits for room where the descriptor
   does not, as another process that has the same pipe may have left it. False, with errno, on failure. */
static inline bool write_whole(int fd, const void *bytes, size_t size, off_t place)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    const char *from = bytes;

    while (size > 0) {
        const ssize_t n = place < 0 ? write(fd, from, size) : pwrite(fd, from, size, place);

        if (n < 0 &&
            (errno == EINTR || (errno == EAGAIN && (poll(&room, 1, -1) > 0 || errno == EINTR))))
            continue;
        if (n <= 0) {
            errno = n < 0 ? errno : ENOSPC;
            return false;
        }
        from += n;
        place += place < 0 ? 0 : n;
        size -= (size_t)n;
    }
    return true;
}

#endif
