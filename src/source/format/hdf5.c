/*
 * HDF5, and what is built on it: netCDF-4, MATLAB's files from version 7.3 on. libhdf5 says what
 * datasets there are and where: a program of its own calls it (src/hdf5), since damaged files crash
 * it. Elements are read without it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/format/containers.h"
#include "source/format/hdf5_records.h"
#include "sys/buffer.h"

#define HELPER "gpureduce-hdf5"

bool hdf5_has_signature(const unsigned char *bytes, size_t size)
{
    static const unsigned char magic[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

    for (size_t at = 0; at < size && size - at >= sizeof magic; at = at ? 2 * at : 512)
        if (memcmp(bytes + at, magic, sizeof magic) == 0)
            return true;
    return false;
}

/* Without libhdf5 such files are told as ones of an unsupported format. */
static bool recognise(const unsigned char *bytes, size_t size)
{
#ifdef HAVE_HDF5
    return hdf5_has_signature(bytes, size);
#else
    (void)bytes, (void)size;
    return false;
#endif
}

#ifdef HAVE_HDF5
/* The most bytes of records. */
#    define RECORDS_MAX \
        (SIZE_MAX / 4 < (uint64_t)4 << 30 ? SIZE_MAX / 4 : (size_t)((uint64_t)4 << 30))

/*
 * The program that calls libhdf5.
 */

/* The folder of the file that has this code, with a slash at its end: a program or libgpureduce.so. The
   kernel is asked, since it knows no relative paths. Empty if it cannot be told. */
static void find_own_folder(char folder[PATH_MAX])
{
    char line[PATH_MAX + 128];
    FILE *maps = fopen("/proc/self/maps", "re");

    *folder = '\0';
    while (maps && fgets(line, sizeof line, maps)) {
        const char *slash = strchr(line, '/'), *last = strrchr(line, '/');
        char *rest;
        const uintmax_t begin = strtoumax(line, &rest, 16);
        const uintmax_t end = *rest == '-' ? strtoumax(rest + 1, NULL, 16) : 0;

        if (slash && (uintptr_t)find_own_folder >= begin && (uintptr_t)find_own_folder < end) {
            snprintf(folder, PATH_MAX, "%.*s", (int)(last + 1 - slash), slash);
            break;
        }
    }
    if (maps)
        fclose(maps);
}

/* Finds it: beside this program or library, in libexec beside its folder, or where it was to be
   installed. False where it is missing, or, with errno ENOMEM, without memory. */
static bool find_helper(char path[PATH_MAX])
{
    static const char *const places[] = {HELPER, "../libexec/" HELPER, LIBEXECDIR "/" HELPER};
    char folder[PATH_MAX];
    int error;

    errno = 0;
    find_own_folder(folder);
    error = errno;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if ((*places[i] == '/' || *folder) &&
            snprintf(path, PATH_MAX, "%s%s", *places[i] == '/' ? "" : folder, places[i]) <
                PATH_MAX &&
            access(path, X_OK) == 0)
            return true;
    errno = error;
    return false;
}

/* Makes its arguments, which lie in *texts one after the other. NULL without memory. */
static char **make_arguments(const struct container_input *in, struct buffer *texts)
{
    const size_t count = in->pattern_count + 5;
    char **const arguments = calloc(count + 1, sizeof *arguments), *text;

    buffer_print(texts, HELPER "%c" PACKAGE_VERSION "%c%" PRIu64 "%c%" PRIu64 "%c%s%s%c", 0, 0,
                 in->begin, 0, in->size, 0, in->headers_only ? HDF5_ASK_HEADERS : "",
                 in->stored ? HDF5_ASK_STORED : "", 0);
    for (unsigned i = 0; i < in->pattern_count; i++)
        buffer_print(texts, "%c%s%c", in->patterns[i].exclude ? HDF5_EXCLUDE : HDF5_INCLUDE,
                     in->patterns[i].pattern, 0);
    text = texts->data;
    for (size_t i = 0; arguments && !texts->failed && i < count; i++, text += strlen(text) + 1)
        arguments[i] = text;
    return arguments;
}

/* Starts it, with the file as its standard input, and its output to `to`. Returns 0 or an error
   number. */
static int start_helper(const struct container_input *in, const char *path, int to, pid_t *child)
{
    extern char **environ;
    struct buffer texts = {0};
    char **arguments = make_arguments(in, &texts);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int error = ENOMEM;

    (void)sigemptyset(&none);
    if (arguments && !texts.failed && posix_spawn_file_actions_init(&actions) == 0) {
        if (posix_spawnattr_init(&attributes) == 0) {
            error = posix_spawn_file_actions_adddup2(&actions, in->file, STDIN_FILENO);
            error = error ? error : posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
            error = error ? error
                          : posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                                             O_RDWR, 0);
            /* Threads of this program may block signals. */
            (void)posix_spawnattr_setsigmask(&attributes, &none);
            (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
            error =
                error ? error : posix_spawn(child, path, &actions, &attributes, arguments, environ);
            (void)posix_spawnattr_destroy(&attributes);
        }
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    free(arguments);
    buffer_free(&texts);
    return error;
}

/* Reads what the process writes, to its end. False without memory. */
static bool read_records(int fd, struct buffer *records)
{
    const size_t piece = (size_t)64 << 10;
    ssize_t n = 1;

    while (n != 0) {
        void *const to = records->size < RECORDS_MAX ? buffer_extend(records, piece) : NULL;

        n = to ? read(fd, to, piece) : -1;
        if (n < 0 && (!to || errno != EINTR))
            return false;
        records->size += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Whether this process, and so the helper, may not have all memory: libhdf5 crashes without it. */
static bool is_memory_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* Has it write the records. False if there are none. */
static bool get_records(struct container_input *in, struct buffer *records)
{
    char path[PATH_MAX];
    int ends[2], status = 0, error;
    bool good;
    pid_t child;

    if (!find_helper(path))
        return errno == ENOMEM
                   ? container_no_memory(in)
                   : container_wrong(in, ERROR_NO_OFFSET,
                                     "needs libhdf5: " HELPER " is neither beside this program nor "
                                     "in " LIBEXECDIR);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return container_fail(in,
                              error_of(ERROR_READ, "cannot create a pipe: %s", strerror(errno)));
    error = start_helper(in, path, ends[1], &child);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        if (error == ENOMEM)
            return container_no_memory(in);
        return container_fail(
            in, error_of(ERROR_READ, "needs libhdf5: cannot start %s: %s", path, strerror(error)));
    }
    good = read_records(ends[0], records);
    close(ends[0]); /* if it still writes, it dies of that */
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!good)
        return container_no_memory(in);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return container_wrong(in, ERROR_NO_OFFSET,
                               "damaged, or very large: libhdf5 did not finish within %d seconds",
                               HDF5_TIME_MAX);
    if (WIFSIGNALED(status))
        return container_wrong(in, ERROR_NO_OFFSET, "%s: libhdf5 crashed (%s)",
                               is_memory_limited()
                                   ? "damaged, or needs more memory than the limit (ulimit -v)"
                                   : "damaged",
                               strsignal(WTERMSIG(status)));
    if (status != 0)
        return container_wrong(in, ERROR_NO_OFFSET, "needs libhdf5: %s failed with status %d%s",
                               path, WEXITSTATUS(status),
                               WEXITSTATUS(status) == 127 ? ", which loaders use for a library "
                                                            "that is missing"
                                                          : "");
    return true;
}

static bool read_file(struct container *c, struct container_input *in)
{
    struct buffer records = {0};
    const bool good = get_records(in, &records);

    c->text = records.data;
    return good && hdf5_take(c, in, (const unsigned char *)records.data, records.size) &&
           container_number_names(c, in);
}

#else

static bool read_file(struct container *c, struct container_input *in)
{
    (void)c;
    return container_wrong(in, ERROR_NO_OFFSET,
                           "needs libhdf5, without which this program was built");
}

#endif

const struct container_format container_hdf5 = {
    .name = "hdf5",
    .article = "an HDF5 file",
    .recognise = recognise,
    .read = read_file,
};
