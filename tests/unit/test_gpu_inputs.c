/*
 * The description of inputs that a GPU gets before it is opened: how much of them it may have to
 * decode.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/tap.h"
#include "run/gpu.h"

static char directory[] = "/tmp/gpu-inputs.XXXXXX";

#define PATH_MAX_HERE 64
#define LEAST ((uint64_t)50 << 20)

/* The path of a file here. */
static char *path_of(char path[PATH_MAX_HERE], const char *name)
{
    snprintf(path, PATH_MAX_HERE, "%s/%s", directory, name);
    return path;
}

/* Writes a file of `size` bytes, which begins with `begin` and goes on with zeros. */
static void make(const char *name, const char *begin, size_t length, off_t size)
{
    char path[PATH_MAX_HERE];
    const int fd = open(path_of(path, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const bool good = fd >= 0 && write(fd, begin, length) == (ssize_t)length &&
                      ftruncate(fd, size) == 0 && close(fd) == 0;

    if (!good) {
        printf("Bail out! cannot write %s\n", path);
        exit(1);
    }
}

static bool pipe_found; /* by the last call */

static uint64_t bytes_of(const char *name)
{
    char path[PATH_MAX_HERE];

    return gpu_compressed_bytes(path_of(path, name), LEAST, &pipe_found);
}

/* The bytes of standard input, which is a file at an offset. */
static uint64_t bytes_of_standard_input(const char *name, off_t offset)
{
    char path[PATH_MAX_HERE];
    const int fd = open(path_of(path, name), O_RDONLY);

    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0 || lseek(STDIN_FILENO, offset, SEEK_SET) != offset)
        return UINT64_MAX;
    close(fd);
    return gpu_compressed_bytes("-", LEAST, &pipe_found);
}

int main(void)
{
    static const char frame[] = "\x28\xb5\x2f\xfd", skippable[] = "\x50\x2a\x4d\x18";
    /* One segment, whose size has eight bytes, or a window and no size. */
    static const char states[] = "\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x02\x00\x00\x00",
                      unstated[] = "\x28\xb5\x2f\xfd\x00\x58";
    static const char *const names[] = {"frame", "states", "little", "unstated", "skippable",
                                        "raw",   "short",  "empty",  "pipe"};
    static const char *const store[] = {"store/c/0", "store/c", "store/zarr.json", "store"};
    const off_t size = (off_t)LEAST;
    char path[PATH_MAX_HERE];

    if (!mkdtemp(directory)) {
        printf("Bail out! no directory\n");
        return 1;
    }
    make("frame", frame, 4, size);
    make("states", states, sizeof states - 1, size);
    make("little", "\x28\xb5\x2f\xfd\x20\x05", 6, size);
    make("unstated", unstated, sizeof unstated - 1, size);
    make("skippable", skippable, 4, size + 1);
    make("raw", "\x28\xb5\x2f\xfc", 4, size);
    make("short", frame, 4, 1000);
    make("empty", "", 0, 0);
    if (mkfifo(path_of(path, "pipe"), 0600) != 0)
        return 1;

    tap_ok(bytes_of("frame") == (uint64_t)size, "a file that begins with a frame");
    tap_ok(bytes_of("states") == (uint64_t)2 << 32, "one whose first frame states what it holds");
    tap_ok(bytes_of("little") == (uint64_t)size, "one whose first frame states little");
    tap_ok(bytes_of("unstated") == (uint64_t)size, "one whose first frame states nothing");
    tap_ok(bytes_of("skippable") == (uint64_t)size + 1, "one that begins with a skippable frame");
    tap_ok(bytes_of("raw") == 0, "one whose first bytes are not a frame's");
    tap_ok(bytes_of("short") == 0, "a small one does not matter");
    tap_ok(bytes_of("empty") == 0, "nor does an empty one");
    tap_ok(bytes_of("missing") == 0, "nor does one that is not there");
    tap_ok(bytes_of(".") == 0, "a directory holds none");
    if (mkdir(path_of(path, "store"), 0700) != 0 || mkdir(path_of(path, "store/c"), 0700) != 0)
        return 1;
    make("store/c/0", frame, 4, size);
    tap_ok(bytes_of("store") == 0, "nor does one of files that are not Zarr's");
    make("store/zarr.json", "{}", 2, 2);
    tap_ok(bytes_of("store") == (uint64_t)size + 2, "a store of Zarr has that of its files");
    make("store/c/0", frame, 4, 1000);
    tap_ok(bytes_of("store") == 0, "unless it is small");
    tap_ok(!pipe_found, "nor is it a pipe");
    tap_ok(bytes_of("pipe") == 0, "a pipe is not looked at");
    tap_ok(pipe_found, "which is one");
    tap_ok(bytes_of_standard_input("frame", 0) == (uint64_t)size, "standard input, a frame");
    tap_ok(lseek(STDIN_FILENO, 0, SEEK_CUR) == 0, "which still stands where it did");
    tap_ok(bytes_of_standard_input("frame", 4) == 0, "standard input behind the magic number");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(path_of(path, names[i]));
    for (size_t i = 0; i < sizeof store / sizeof *store; i++)
        remove(path_of(path, store[i]));
    rmdir(directory);
    return tap_done();
}
