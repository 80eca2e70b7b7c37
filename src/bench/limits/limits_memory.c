#include "config.h"

#include "bench/limits/limits_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/align.h"

/* The number in the line of a file that begins with `name`, such as "MemAvailable:  123 kB"; in the
   first line if `name` is empty. UINT64_MAX when there is none. */
static uint64_t read_number(const char *path, const char *name)
{
    FILE *file = fopen(path, "re");
    char line[256];
    uint64_t number = UINT64_MAX;

    while (file && number == UINT64_MAX && fgets(line, sizeof line, file)) {
        const char *text = line + strlen(name);
        char *end;

        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        number = strtoull(text, &end, 10);
        if (end == text)
            number = UINT64_MAX;
    }
    if (file)
        fclose(file);
    return number;
}

/* Bytes of files that the container has in the page cache. Their pages can be reclaimed. */
static uint64_t reclaimable_memory(void)
{
    uint64_t active = read_number("/sys/fs/cgroup/memory.stat", "active_file ");
    uint64_t inactive = read_number("/sys/fs/cgroup/memory.stat", "inactive_file ");

    return (active == UINT64_MAX ? 0 : active) + (inactive == UINT64_MAX ? 0 : inactive);
}

uint64_t limits_memory_available(void)
{
    uint64_t machine = read_number("/proc/meminfo", "MemAvailable:");
    uint64_t limit = read_number("/sys/fs/cgroup/memory.max", "");
    uint64_t used = read_number("/sys/fs/cgroup/memory.current", "");
    uint64_t pages = reclaimable_memory(), available = SIZE_MAX / 2;

    if (machine < available / KIB)
        available = machine * KIB;
    if (limit == UINT64_MAX || used == UINT64_MAX)
        return available;
    used = used > pages ? used - pages : 0;
    limit = limit > used ? limit - used : 0;
    return limit < available ? limit : available;
}
