/*
 * Control groups (cgroups): limits that a container, or a service manager, sets to this process.
 *
 * A limit is the least of those of all groups that the process belongs to, of both versions of
 * cgroups, as /proc and /sys under the folder `root` tell; "" is the system's own. A file that
 * cannot be read sets no limit. Any thread may ask.
 */
#ifndef GPUREDUCE_GROUP_H
#define GPUREDUCE_GROUP_H

#include <stdint.h>

#define GROUP_UNLIMITED UINT64_MAX

/* Cores that may be busy at a time, rounded up, at least 1; or GROUP_UNLIMITED. */
uint64_t group_cores(const char *root);

/* Bytes of memory; or GROUP_UNLIMITED. */
uint64_t group_memory(const char *root);

/* The cores that this process may use: those of its affinity mask, as taskset(1) sets it, but no more than
   the time that its control groups grant it can keep busy. At least 1. */
unsigned cores_available(void);

#endif
