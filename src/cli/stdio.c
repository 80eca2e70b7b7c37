#include "config.h"

#include "cli/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/message.h"

/* Why standard output failed first; 0 while it has not. */
static int failure;

/* The buffer of standard output. Output between two calls of stdio_flush should fit, so that it is
   stdio_flush that fails, and knows why: when printing fails, musl drops what it has, and nobody
   looks at errno. */
static char output_buffer[256 * 1024];

/* Opens standard output anew if it is a pipe or a terminal that does not wait for room, as another
   process may have left it: the C library drops what it cannot write at once. Other devices may be
   another one when they are opened anew, as the master of a terminal is. */
static void make_waiting(void)
{
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);
    struct stat status;
    int fd;

    if (flags < 0 || !(flags & O_NONBLOCK) || fstat(STDOUT_FILENO, &status) != 0 ||
        !(S_ISFIFO(status.st_mode) || (isatty(STDOUT_FILENO) && !ptsname(STDOUT_FILENO))))
        return;
    /* Without O_NONBLOCK this would wait for a reader. */
    fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && fcntl(fd, F_SETFL, 0) == 0)
        (void)dup2(fd, STDOUT_FILENO);
    if (fd >= 0)
        close(fd);
}

void stdio_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/", O_PATH);
    make_waiting();
    setvbuf(stdout, output_buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof output_buffer);
}

bool stdio_flush(void)
{
    if (fflush(stdout) != 0 && failure == 0)
        failure = errno;
    return failure == 0;
}

void stdio_write(const char *text, size_t length)
{
    if (fwrite(text, 1, length, stdout) != length && failure == 0)
        failure = errno;
}

void stdio_close(void)
{
    /* Flushing tells about what was written; closing a standard output that was never open tells
       nothing, where there was nothing to write. */
    (void)stdio_flush();
    if (ferror(stdout) && failure == 0)
        failure = EIO;
    if (fclose(stdout) != 0 && errno != EBADF && failure == 0)
        failure = errno;
    if (failure)
        message_error(EXIT_FAILED, "standard output: %s", strerror(failure));
}
