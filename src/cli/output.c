#include "config.h"

#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/message.h"
#include "sys/escape.h"
#include "sys/operand.h"
#include "sys/signals.h"
#include "sys/whole.h"

/* The buffer of one stream at a time, `buffered`; the C library has smaller ones for others. Output
   that fits is written when the stream is closed, which then knows the reason of a failure. With
   musl it is lost when printing fails. */
static char buffer[256 * 1024];
static FILE *buffered;

void output_error(const char *path)
{
    char quoted[ESCAPE_QUOTE_MAX];

    message_error(EXIT_FAILED, "%s: %s", escape_quote(quoted, path), strerror(errno));
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

bool output_is_part(const char *path, const char *folder)
{
    char *const real = realpath(path, NULL), *slash;
    const char *const end = real ? strrchr(real, '.') : NULL;
    struct stat to, from;
    bool is = false;

    if (end && (strcmp(end, ".npy") == 0 || strcmp(end, ".svg") == 0 || strcmp(end, ".png") == 0)) {
        free(real);
        return false;
    }
    if (stat(folder, &from) == 0)
        while (real && !is && (slash = strrchr(real, '/'))) {
            *slash = '\0';
            is = stat(*real ? real : "/", &to) == 0 && to.st_dev == from.st_dev &&
                 to.st_ino == from.st_ino;
        }
    free(real);
    return is;
}

/* The folder of a path, up to its last slash; "" for the current one. NULL without memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
}

/* Whether symbolic links in this folder stand for descriptors, as that which /dev/stdout leads to.
 */
static bool is_of_descriptors(const char *folder)
{
    char *real = realpath(*folder ? folder : ".", NULL);
    const bool is = real && strncmp(real, "/proc/", 6) == 0;

    free(real);
    return is;
}

/* As many symbolic links as Linux follows. */
#define LINKS_MAX 40

/* Finds the path, behind all symbolic links, of the file that a new one is to replace; sets *path
   to NULL where the output is written in place, since it is no regular file, or a descriptor.
   False, with errno, on failure. */
static bool find_target(const char *name, char **path)
{
    struct stat status;

    *path = NULL;
    if (stat(name, &status) == 0 && !S_ISREG(status.st_mode))
        return true;
    if (!*name || name[strlen(name) - 1] == '/') { /* no name of a file */
        errno = *name ? EISDIR : ENOENT;
        return false;
    }
    *path = strdup(name);
    for (int i = 0; *path && i < LINKS_MAX; i++) {
        char target[PATH_MAX], *folder, *next = NULL;
        const ssize_t length = readlink(*path, target, sizeof target - 1);
        bool descriptor;

        if (length < 0)
            return true;
        target[length] = '\0';
        folder = folder_of(*path);
        descriptor = folder && is_of_descriptors(folder);
        if (folder && !descriptor &&
            asprintf(&next, "%s%s", *target == '/' ? "" : folder, target) < 0)
            next = NULL;
        free(folder);
        free(*path);
        *path = next;
        if (descriptor)
            return true;
    }
    errno = *path ? ELOOP : ENOMEM;
    free(*path);
    *path = NULL;
    return false;
}

/* The name of a new file beside its target, which a signal that ends the process removes. */
static char beside[PATH_MAX];
static volatile sig_atomic_t is_beside;

static void remove_beside(void)
{
    if (is_beside)
        (void)unlink(beside);
    is_beside = false;
}

/* Makes a file beside the target, under a name that nothing has: a new one, or, where `fd` is not
   negative, the nameless one that it is open for. Returns its descriptor; negative, with errno, on
   failure. */
static int make_beside(const char *target, int fd)
{
    const char *slash = strrchr(target, '/');
    const int folder = slash ? (int)(slash - target) + 1 : 0;
    char from[40];

    signals_before_end(remove_beside);
    snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
    for (unsigned i = 0;; i++) {
        int made;

        if (snprintf(beside, sizeof beside, "%.*s.gpureduce-%ld-%u.tmp", folder, target,
                     (long)getpid(), i) >= (int)sizeof beside) {
            errno = ENAMETOOLONG;
            return -1;
        }
        is_beside = true;
        if (fd < 0)
            made = open(beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        else
            made = linkat(AT_FDCWD, from, AT_FDCWD, beside, AT_SYMLINK_FOLLOW) == 0 ? fd : -1;
        if (made >= 0)
            return made;
        is_beside = false;
        if (errno != EEXIST)
            return -1;
    }
}

/* Opens a file without a name in the target's folder: whatever ends the process, nothing of it is
   left. Negative where there are no such files, or where it could not be given a name. */
static int open_nameless(const char *target)
{
    char *folder = folder_of(target), path[40];
    int fd = folder ? open(*folder ? folder : ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0666) : -1;

    free(folder);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd >= 0 && access(path, F_OK) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Opens the file that is to replace the target, with its owner and permissions. Negative, with
   errno, on failure. */
static int open_beside(const char *target)
{
    struct stat status;
    const bool old = stat(target, &status) == 0;
    int fd;

    if (old && access(target, W_OK) != 0)
        return -1;
    fd = open_nameless(target);
    if (fd < 0)
        fd = make_beside(target, -1);
    if (fd >= 0 && old) {
        (void)!fchown(fd, status.st_uid, status.st_gid);
        (void)!fchmod(fd, status.st_mode & 07777);
    }
    return fd;
}

bool output_open(struct output_file *out, const char *path)
{
    int fd = -1;

    *out = (struct output_file){.path = path};
    if (find_target(path, &out->target)) {
        fd = out->target ? open_beside(out->target) : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        out->stream = fd < 0 ? NULL : fdopen(fd, "w");
    }
    if (!out->stream) {
        output_error(path);
        if (fd >= 0)
            close(fd);
        remove_beside();
        free(out->target);
    } else if (!buffered) {
        setvbuf(out->stream, buffer, _IOFBF, sizeof buffer);
        buffered = out->stream;
    }
    return out->stream;
}

bool output_possible(const char *path)
{
    struct stat status;
    struct output_file out;
    char *target;
    const bool in_place = find_target(path, &target) && !target;

    free(target);
    /* Opening a pipe or a device may have side effects. */
    if (in_place && !(stat(path, &status) == 0 && S_ISDIR(status.st_mode)))
        return true;
    if (!output_open(&out, path))
        return false;
    (void)output_close(&out, false);
    return true;
}

bool output_has_places(FILE *out)
{
    struct stat status;

    return fflush(out) == 0 && fstat(fileno(out), &status) == 0 && !S_ISFIFO(status.st_mode) &&
           lseek(fileno(out), 0, SEEK_CUR) >= 0;
}

bool output_place(FILE *out, const void *bytes, size_t size, uint64_t offset)
{
    return write_whole(fileno(out), bytes, size, (off_t)offset);
}

/* Bytes that are a lot. */
#define LARGE ((size_t)32 << 10)

bool output_put(FILE *out, const void *bytes, size_t size)
{
    if (size < LARGE)
        return size == 0 || fwrite(bytes, 1, size, out) == size;
    return fflush(out) == 0 && write_whole(fileno(out), bytes, size, -1);
}

/* Puts the new file in the place of its target. False, with errno, on failure. */
static bool replace(const struct output_file *out)
{
    if (!is_beside && make_beside(out->target, fileno(out->stream)) < 0)
        return false;
    if (rename(beside, out->target) != 0)
        return false;
    is_beside = false;
    return true;
}

bool output_close(struct output_file *out, bool keep)
{
    bool good;

    errno = EIO; /* if ferror tells of an earlier error, whose errno is lost */
    good =
        fflush(out->stream) == 0 && !ferror(out->stream) && (!keep || !out->target || replace(out));
    if (!good && keep)
        output_error(out->path);
    if (fclose(out->stream) != 0 && good) {
        if (keep)
            output_error(out->path);
        good = false;
    }
    if (buffered == out->stream)
        buffered = NULL;
    remove_beside();
    free(out->target);
    *out = (struct output_file){0};
    return good && keep;
}
