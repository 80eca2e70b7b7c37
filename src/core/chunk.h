/*
 * A chunk: a run of consecutive elements, what a source hands out and an engine reduces.
 */
#ifndef GPUREDUCE_CHUNK_H
#define GPUREDUCE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunk {
    uint64_t index;   /* of the first element, in its array */
    size_t array;     /* which of several arrays; 0 where there is one */
    size_t count;     /* elements, at least 1 */
    const void *data; /* in the file's byte order */
    bool mapped;      /* data is a mapped file, not the worker's buffer */
};

#endif
