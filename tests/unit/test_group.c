/*
 * Limits of control groups, and cores that others leave, read from folders that stand for /proc and
 * /sys/fs/cgroup.
 */
/* Tags: ports */
#include "config.h"

#include "sys/group.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/tap.h"

#define FILES_MAX 8
#define NONE GROUP_UNLIMITED

/* A file, as a path below the root, and its text. */
struct file {
    const char *path, *text;
};

static const struct {
    const char *name;
    struct file files[FILES_MAX];
    uint64_t cores, memory;
} cases[] = {
    {"no groups", {{0}}, NONE, NONE},
    {"no limits",
     {{"proc/self/cgroup", "0::/a\n"},
      {"sys/fs/cgroup/a/cpu.max", "max 100000\n"},
      {"sys/fs/cgroup/a/memory.max", "max\n"}},
     NONE,
     NONE},
    {"of a container, which is the uppermost that it sees",
     {{"proc/self/cgroup", "0::/\n"},
      {"sys/fs/cgroup/cpu.max", "200000 100000\n"},
      {"sys/fs/cgroup/memory.max", "1073741824\n"}},
     2,
     1073741824},
    {"a part of a core counts as one",
     {{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "250001 100000\n"}},
     3,
     NONE},
    {"less than a core",
     {{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "1000 100000\n"}},
     1,
     NONE},
    {"the least of the groups that a group is in",
     {{"proc/self/cgroup", "0::/a/b/c\n"},
      {"sys/fs/cgroup/a/cpu.max", "400000 100000\n"},
      {"sys/fs/cgroup/a/memory.max", "4096\n"},
      {"sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
      {"sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n"},
      {"sys/fs/cgroup/a/b/c/memory.max", "8192\n"},
      {"sys/fs/cgroup/a/d/cpu.max", "1 100000\n"}},
     4,
     4096},
    {"version 1",
     {{"proc/self/cgroup", "5:cpuset:/x\n4:memory:/b\n3:cpu,cpuacct:/a\n1:name=systemd:/a\n0::/\n"},
      {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n"},
      {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n"},
      {"sys/fs/cgroup/memory/b/memory.limit_in_bytes", "65536\n"},
      {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"}},
     3,
     65536},
    {"version 1, without a limit of cores",
     {{"proc/self/cgroup", "3:cpu,cpuacct:/a\n"},
      {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}},
     NONE,
     NONE},
    {"version 1, by the name that the group has outside of the container",
     {{"proc/self/cgroup", "4:memory:/docker/1f\n3:cpuacct,cpu:/docker/1f\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
      {"sys/fs/cgroup/memory/memory.limit_in_bytes", "12288\n"}},
     3,
     12288},
    {"what is no number sets no limit",
     {{"proc/self/cgroup", "a\n0:\n0::/a\n"},
      {"sys/fs/cgroup/a/cpu.max", "100000 0\n"},
      {"sys/fs/cgroup/cpu.max", "0 100000\n"},
      {"sys/fs/cgroup/a/memory.max", ""},
      {"sys/fs/cgroup/memory.max", "x\n"}},
     NONE,
     NONE},
};

/* Writes a file below the root, and makes the folders that it is in. */
static void write_file(const char *root, const struct file *file)
{
    char path[256];
    const int length = snprintf(path, sizeof path, "%s/%s", root, file->path);
    FILE *out;

    if (length < 0 || (size_t)length >= sizeof path)
        abort();
    for (char *c = path + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            (void)mkdir(path, 0777);
            *c = '/';
        }
    out = fopen(path, "w");
    if (!out || fputs(file->text, out) < 0 || fclose(out) != 0)
        abort();
}

/* A new folder, whose name this is to become. */
static void make_root(char *root)
{
    if (!mkdtemp(root))
        abort();
}

static int remove_file(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static void remove_root(const char *root)
{
    if (nftw(root, remove_file, 8, FTW_DEPTH | FTW_PHYS) != 0)
        abort();
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char root[] = "test_group.XXXXXX";

        make_root(root);
        for (const struct file *f = cases[i].files; f < cases[i].files + FILES_MAX && f->path; f++)
            write_file(root, f);
        tap_ok(group_cores(root) == cases[i].cores && group_memory(root) == cases[i].memory, "%s",
               cases[i].name);
        remove_root(root);
    }
    return tap_done();
}
