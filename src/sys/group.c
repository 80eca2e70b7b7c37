#include "config.h"

#include "sys/group.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer paths set no limit. */
#define PATH_BYTES 1024

/* A group's folder. */
struct group {
    const char *root;
    const char
        *hierarchy;   /* the folder of a controller, below that of all groups; "" in version 2 */
    const char *path; /* in the hierarchy; this group's is so many bytes of it */
    int length;
};

/* A kind of limit: the controller that sets it, and the files of a group that say it, in version 2 and in
   version 1. A part of a period has that behind it, and in version 1 in a file of its own. */
struct kind {
    const char *controller, *second, *first;
    const char *period; /* NULL: the limit is a number */
};

/* Reads the `count` numbers at the beginning of a group's file. False where it has no such. */
static bool read_numbers(const struct group *g, const char *file, unsigned count, uint64_t *numbers)
{
    char path[2 * PATH_BYTES];
    const int length = snprintf(path, sizeof path, "%s/sys/fs/cgroup%s%.*s/%s", g->root,
                                g->hierarchy, g->length, g->path, file);
    FILE *in = length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
    char line[128] = "", *at = line, *end;
    unsigned got = 0;

    if (in) {
        if (!fgets(line, sizeof line, in))
            line[0] = '\0';
        fclose(in);
    }
    for (; got < count; got++, at = end) {
        numbers[got] = strtoull(at, &end, 10);
        if (end == at)
            return false;
    }
    return true;
}

/* The cores that so much of each period keeps busy. Version 1 says -1 where there is no limit. */
static uint64_t cores_of(uint64_t quota, uint64_t period)
{
    return quota == 0 || quota > INT64_MAX || period == 0 ? GROUP_UNLIMITED
                                                          : quota / period + (quota % period > 0);
}

/* The limit of a group itself. */
static uint64_t limit_of(const struct group *g, const struct kind *kind)
{
    const bool second = !*g->hierarchy;
    const unsigned count = second && kind->period ? 2 : 1;
    uint64_t n[2];

    if (!read_numbers(g, second ? kind->second : kind->first, count, n) ||
        (kind->period && !second && !read_numbers(g, kind->period, 1, n + 1)))
        return GROUP_UNLIMITED;
    return kind->period ? cores_of(n[0], n[1]) : n[0];
}

/* The least limit of a group and of those that it is in. A container may see its own group as the
   uppermost, and call it by the name that it has outside: then the groups below are not there. */
static uint64_t least_of(struct group g, const struct kind *kind)
{
    uint64_t least = GROUP_UNLIMITED;

    g.length = (int)strlen(g.path);
    for (;;) {
        uint64_t own;

        while (g.length > 0 && g.path[g.length - 1] == '/')
            g.length--;
        own = limit_of(&g, kind);
        least = own < least ? own : least;
        if (g.length == 0)
            return least;
        while (g.length > 0 && g.path[g.length - 1] != '/')
            g.length--;
    }
}

/* Whether a list of controllers, with commas between them, has this one. */
static bool has_controller(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == length && strncmp(list, name, length) == 0)
            return true;
    return false;
}

/* The least limit of all groups that the process belongs to. */
static uint64_t find(const char *root, const struct kind *kind)
{
    uint64_t least = GROUP_UNLIMITED;
    char line[PATH_BYTES], hierarchy[16];
    FILE *in = snprintf(line, sizeof line, "%s/proc/self/cgroup", root) < (int)sizeof line
                   ? fopen(line, "re")
                   : NULL;

    (void)snprintf(hierarchy, sizeof hierarchy, "/%s", kind->controller);
    /* A line is NUMBER:CONTROLLERS:PATH; version 2 has no controllers there. */
    while (in && fgets(line, sizeof line, in)) {
        char *controllers = strchr(line, ':'), *path = NULL;
        uint64_t limit = GROUP_UNLIMITED;

        line[strcspn(line, "\n")] = '\0';
        if (controllers)
            path = strchr(++controllers, ':');
        if (!path)
            continue;
        *path++ = '\0';
        if (*controllers == '\0')
            limit = least_of((struct group){root, "", path, 0}, kind);
        else if (has_controller(controllers, kind->controller))
            limit = least_of((struct group){root, hierarchy, path, 0}, kind);
        least = limit < least ? limit : least;
    }
    if (in)
        fclose(in);
    return least;
}

uint64_t group_cores(const char *root)
{
    static const struct kind cores = {"cpu", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"};

    return find(root, &cores);
}

uint64_t group_memory(const char *root)
{
    static const struct kind memory = {"memory", "memory.max", "memory.limit_in_bytes", NULL};

    return find(root, &memory);
}

/* The cores on which the system may run this process. */
static unsigned cores_allowed(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

unsigned cores_available(void)
{
    const unsigned allowed = cores_allowed();
    const uint64_t granted = allowed > 1 ? group_cores("") : 1;

    return granted < allowed ? (unsigned)granted : allowed;
}
