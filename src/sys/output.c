#include "config.h"

#include "sys/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/message.h"
#include "sys/operand.h"

/* Of one stream at a time, `buffered`; the C library has smaller ones for others. What fits is
   written when the stream is closed, which then knows the reason of a failure. With musl it is lost
   when printing fails. */
static char buffer[256 * 1024];
static FILE *buffered;

void output_error(const char *path)
{
    char quoted[MESSAGE_QUOTE_MAX];

    message_error(EXIT_FAILED, "%s: %s", message_quote(quoted, path), strerror(errno));
}

/* Writes at a place, or where the file stands, which -1 is for. */
static bool write_all(int fd, const void *bytes, size_t size, off_t place)
{
    const unsigned char *from = bytes;

    while (size > 0) {
        const ssize_t n = place < 0 ? write(fd, from, size) : pwrite(fd, from, size, place);

        if (n < 0 && errno == EINTR)
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

bool output_write(int fd, const void *bytes, size_t size)
{
    return write_all(fd, bytes, size, -1);
}

bool output_possible(const char *path)
{
    struct stat status;
    bool made = false;
    int fd;

    /* Opening a pipe or a device may have side effects. */
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return true;
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        made = fd >= 0;
        /* A symbolic link to a file that does not exist yet. */
        if (fd < 0 && errno == EEXIST)
            return true;
    }
    if (fd < 0) {
        output_error(path);
        return false;
    }
    close(fd);
    if (made)
        unlink(path);
    return true;
}

bool output_is_input(const char *path, const char *input)
{
    struct stat to, from;

    if (stat(path, &to) < 0 || !S_ISREG(to.st_mode))
        return false;
    if (!operand_status(input, &from))
        return false;
    return to.st_dev == from.st_dev && to.st_ino == from.st_ino;
}

FILE *output_open(const char *path)
{
    FILE *out = fopen(path, "we");

    if (!out) {
        output_error(path);
    } else if (!buffered) {
        setvbuf(out, buffer, _IOFBF, sizeof buffer);
        buffered = out;
    }
    return out;
}

bool output_has_places(FILE *out)
{
    struct stat status;

    return fflush(out) == 0 && fstat(fileno(out), &status) == 0 && !S_ISFIFO(status.st_mode) &&
           lseek(fileno(out), 0, SEEK_CUR) >= 0;
}

void output_cut(FILE *out, uint64_t size)
{
    struct stat status;

    if (fstat(fileno(out), &status) == 0 && S_ISREG(status.st_mode) &&
        (uint64_t)status.st_size > size)
        (void)!ftruncate(fileno(out), (off_t)size);
}

bool output_place(FILE *out, const void *bytes, size_t size, uint64_t offset)
{
    return write_all(fileno(out), bytes, size, (off_t)offset);
}

/* Bytes that are a lot. */
#define LARGE ((size_t)32 << 10)

bool output_put(FILE *out, const void *bytes, size_t size)
{
    if (size < LARGE)
        return size == 0 || fwrite(bytes, 1, size, out) == size;
    return fflush(out) == 0 && output_write(fileno(out), bytes, size);
}

bool output_close(FILE *out, const char *path)
{
    bool good;

    errno = EIO; /* if ferror tells of an earlier error, whose errno is lost */
    good = fflush(out) == 0 && !ferror(out);
    if (!good)
        output_error(path);
    if (fclose(out) != 0 && good) {
        output_error(path);
        good = false;
    }
    if (buffered == out)
        buffered = NULL;
    return good;
}
