#include "config.h"

#include "bench/common/reducers.h"

#include <stdlib.h>

#include "cli/message.h"

struct cpu_reducer *reducers_new(const struct cpu_kernels *kernels, enum element_type type,
                                 unsigned wants, unsigned count)
{
    struct cpu_reducer *reducers = calloc(count, sizeof *reducers);
    bool good = reducers != NULL;

    for (unsigned i = 0; i < count && good; i++)
        good = cpu_reducer_open(&reducers[i], kernels, type, wants);
    if (good)
        return reducers;
    message_error(EXIT_FAILED, "out of memory");
    reducers_free(reducers, count);
    return NULL;
}

void reducers_free(struct cpu_reducer *reducers, unsigned count)
{
    for (unsigned i = 0; i < count && reducers; i++)
        cpu_reducer_close(&reducers[i]);
    free(reducers);
}
