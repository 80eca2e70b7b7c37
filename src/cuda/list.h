/*
 * Numbers that kernels find. Compiles as C and as CUDA.
 */
#ifndef GPUREDUCE_CUDA_LIST_H
#define GPUREDUCE_CUDA_LIST_H

#include <stdint.h>

#include "core/exact.h"

struct cuda_list {
    uint64_t *found; /* device memory: first how many there are, then which, in any order */
    uint64_t room;   /* for how many there is room */
    uint32_t *any; /* becomes 1 if there are some: of memory of the host, too; NULL: nothing does */
};

/* Adds a number. Threads of kernels may do so at a time. */
EXACT_SHARED void cuda_list_append(const struct cuda_list *list, uint64_t number)
{
#ifdef __CUDA_ARCH__
    const uint64_t at = atomicAdd((unsigned long long *)list->found, 1ull);
#else
    const uint64_t at = list->found[0]++;
#endif

    if (at < list->room)
        list->found[1 + at] = number;
    if (list->any)
        *list->any = 1;
}

#endif
