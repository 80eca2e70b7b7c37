#include "config.h"

#include "sys/cores.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/group.h"

/* Threads that run at one moment may be about to end: the fewest of so many moments count. */
#define MOMENTS 3

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

/* Threads that run, or wait for a core, this one included; 0 where that cannot be told. */
static unsigned threads_running(const char *root)
{
    char path[1024];
    FILE *in = snprintf(path, sizeof path, "%s/proc/loadavg", root) < (int)sizeof path
                   ? fopen(path, "re")
                   : NULL;
    char line[128] = "";
    const char *at = line;

    if (in) {
        at = fgets(line, sizeof line, in) ? line : NULL;
        fclose(in);
    }
    /* Three averages, and then the threads that run, of all there are. */
    for (unsigned i = 0; i < 3 && at; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at ? (unsigned)strtoul(at, NULL, 10) : 0;
}

unsigned cores_idle(const char *root, unsigned most)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned found = 0;

    for (unsigned i = 0; i < MOMENTS; i++) {
        const unsigned running = threads_running(root);
        const long idle = running > 0 ? cores - (long)running + 1 : (long)most;

        if (idle >= (long)most)
            return most;
        if (idle > (long)found)
            found = (unsigned)idle;
        clock_rest();
    }
    return found;
}
