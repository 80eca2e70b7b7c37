/*
 * Reading a part of a file, however many calls that takes.
 */
#ifndef GPUREDUCE_PREAD_H
#define GPUREDUCE_PREAD_H

#include <errno.h>
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

#endif
