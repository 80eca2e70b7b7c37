#include "reducers.h"

#include <stdlib.h>

#include "../message.h"

struct cpu_reducer *reducers_new(const struct cpu_kernels *kernels, enum element_type type,
                                 unsigned wants, unsigned count)
{
    struct cpu_reducer *reducers = calloc(count, sizeof *reducers);
    const size_t size = CPU_BLOCK_MAX * sizeof(double);
    unsigned char *scratch = aligned_alloc(64, count * size);

    if (!reducers || !scratch) {
        message_error(EXIT_FAILED, "out of memory");
        free(reducers);
        free(scratch);
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        struct cpu_reducer *r = &reducers[i];

        partial_clear(&r->partial);
        r->type = type;
        r->wants = wants;
        r->kernel = kernels->with_sum[type];
        r->scratch = (double *)(scratch + i * size);
    }
    return reducers;
}

void reducers_free(struct cpu_reducer *reducers)
{
    if (reducers)
        free(reducers[0].scratch);
    free(reducers);
}
