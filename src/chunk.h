/*
 * A chunk: a run of consecutive elements, what a source hands out and an engine reduces.
 */
#ifndef GPUREDUCE_CHUNK_H
#define GPUREDUCE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

struct chunk {
    uint64_t index;   /* of the first element */
    size_t count;     /* elements, at least 1 */
    const void *data; /* in the file's byte order; in the buffer that the worker gave */
};

#endif
