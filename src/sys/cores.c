#include "config.h"

#include "sys/cores.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

unsigned cores_available(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

/* Reads the unsigned number that a file of sysfs begins with, and the letter behind it, 0 where
   there is none. */
static bool read_number(const char *path, size_t *number, char *unit)
{
    FILE *file = fopen(path, "re");
    char text[32], *end = text;

    if (file && fgets(text, sizeof text, file)) {
        *number = strtoul(text, &end, 10);
        *unit = *end;
    }
    if (file)
        fclose(file);
    return end != text;
}

size_t cores_l2_cache(void)
{
    /* The kernel's word, for musl's sysconf does not know caches, and glibc's only those of x86. */
    for (int index = 0; index < 8; index++) {
        static const char folder[] = "/sys/devices/system/cpu/cpu0/cache";
        char path[sizeof folder + 32], unit;
        size_t level, size;

        snprintf(path, sizeof path, "%s/index%d/level", folder, index);
        if (!read_number(path, &level, &unit) || level != 2)
            continue;
        snprintf(path, sizeof path, "%s/index%d/size", folder, index);
        if (read_number(path, &size, &unit) && unit == 'K' && size <= SIZE_MAX / 1024)
            return size * 1024;
    }
#ifdef _SC_LEVEL2_CACHE_SIZE
    long said = sysconf(_SC_LEVEL2_CACHE_SIZE);

    return said > 0 ? (size_t)said : 0;
#else
    return 0;
#endif
}
