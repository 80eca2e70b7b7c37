#include "config.h"

#include "bench/limits/limits_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Assumed if the system tells nothing of caches. */
#define CACHE_UNKNOWN (64 * (uint64_t)MIB)

/* Reads the first line of a file of the cache `index` of a processor. False if there is none. */
static bool read_cache_line(char line[64], long cpu, unsigned index, const char *name)
{
    char path[128];
    FILE *file;
    bool good;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index%u/%s", cpu, index,
             name);
    file = fopen(path, "re");
    good = file && fgets(line, 64, file);
    if (file)
        fclose(file);
    return good;
}

/* The bytes of a size as the system writes it: "107520K". */
static uint64_t parse_cache_size(const char *text)
{
    char *end;
    uint64_t size = strtoull(text, &end, 10);

    return *end == 'K' ? size * KIB : *end == 'M' ? size * MIB : size;
}

/* The bytes of a processor's last cache of data; 0 if it is unknown, or if the processor is not the
   first of those that share it. */
static uint64_t own_cache(long cpu)
{
    uint64_t bytes = 0;
    char line[64];
    long last = 1;

    for (unsigned i = 0; read_cache_line(line, cpu, i, "level"); i++) {
        long level = strtol(line, NULL, 10);

        if (level < last || !read_cache_line(line, cpu, i, "type") ||
            strncmp(line, "Instruction", strlen("Instruction")) == 0)
            continue;
        last = level;
        bytes = 0;
        if (read_cache_line(line, cpu, i, "shared_cpu_list") && strtol(line, NULL, 10) == cpu &&
            read_cache_line(line, cpu, i, "size"))
            bytes = parse_cache_size(line);
    }
    return bytes;
}

uint64_t limits_l2_bytes(void)
{
    char line[64];

    /* The kernel's word, for musl's sysconf does not know caches, and glibc's only those of x86. */
    for (unsigned i = 0; read_cache_line(line, 0, i, "level"); i++)
        if (strtol(line, NULL, 10) == 2 && read_cache_line(line, 0, i, "size"))
            return parse_cache_size(line);
#ifdef _SC_LEVEL2_CACHE_SIZE
    long said = sysconf(_SC_LEVEL2_CACHE_SIZE);

    return said > 0 ? (uint64_t)said : 0;
#else
    return 0;
#endif
}

uint64_t limits_cache_bytes(void)
{
    const char *told = getenv("GPUREDUCE_CACHE_BYTES");
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    uint64_t bytes = 0;
    char *end;

    if (told && *told >= '0' && *told <= '9') {
        bytes = strtoull(told, &end, 10);
        if (*end == '\0' && bytes > 0 && bytes <= UINT64_MAX / LIMITS_CACHE_TIMES)
            return bytes;
        bytes = 0;
    }
    for (long cpu = 0; cpu < cpus; cpu++)
        bytes += own_cache(cpu);
    return bytes > 0 ? bytes : CACHE_UNKNOWN;
}
