#include "config.h"

#include "sys/cores.h"

#include <sched.h>
#include <unistd.h>

#include "sys/group.h"

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
