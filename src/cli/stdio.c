#include "config.h"

#include "cli/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/output.h"

/* Why standard output failed first; 0 while it has not. */
static int failure;

/* The buffer of standard output. Output between two calls of stdio_flush should fit, so that it is
   stdio_flush that fails, and knows why: when printing fails, musl drops what it has, and nobody
   looks at errno. */
static char output_buffer[256 * 1024];

void stdio_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    setvbuf(stdout, output_buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof output_buffer);
}

bool stdio_flush(void)
{
    if (fflush(stdout) != 0 && failure == 0)
        failure = errno;
    return failure == 0;
}

/* Text from so many bytes on does not go through the buffer. */
#define DIRECT_MIN ((size_t)64 << 10)

/* From so many bytes of text on, a pipe is to hold so many: then the reader of some megabytes need
   not be waited for every 64 KiB, and is still at it while the process ends. It is what a user may
   ask for, as a rule. */
#define PIPE_LESS ((size_t)64 << 10)
#define PIPE_BYTES (1 << 20)

/* Makes standard output hold more, if it is a pipe that holds less and the system allows it. */
static void widen_pipe(void)
{
    const int size = fcntl(STDOUT_FILENO, F_GETPIPE_SZ);

    if (size > 0 && size < PIPE_BYTES)
        (void)fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
}

void stdio_write(const char *text, size_t length)
{
    static size_t written; /* up to PIPE_LESS */

    if (written < PIPE_LESS) {
        written += length;
        if (written >= PIPE_LESS)
            widen_pipe();
    }
    if (length < DIRECT_MIN)
        fwrite(text, 1, length, stdout);
    else if (stdio_flush() && !output_write(STDOUT_FILENO, text, length))
        failure = errno;
}

/* The usual width of terminals that do not state it. */
#define COLUMNS_USUAL 80

unsigned stdio_columns(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO))
        return 0;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : COLUMNS_USUAL;
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
