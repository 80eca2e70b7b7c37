/*
 * A chunk: a run of elements, what a source hands out and an engine reduces. As a rule they are
 * consecutive in their array; where they are not, `place` says where they stand.
 */
#ifndef GPUREDUCE_CHUNK_H
#define GPUREDUCE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct partial;

/* The request of a worker for a chunk. */
struct chunk_request {
    unsigned worker; /* its number among those that ask, from 0 */
    void *buffer;    /* to be filled; aligned to 16 bytes, of an element at least */
    size_t size;     /* bytes */
    size_t in_place; /* the most bytes it takes where they are mapped; 0: none */
    uint64_t unit;   /* elements: chunks of memory begin and end at multiples of it, if they are as
                        long; 0: anywhere */
    bool borrow;     /* it also takes chunks that lie in the memory of who hands them out */
    bool drain;      /* it takes only what it has claimed already */
    bool prompt;     /* it takes fewer elements rather than wait for as many as the buffer holds,
                        from an input in order that is one array */
    unsigned wants;  /* partial_want bits: it takes the partial result of elements in their place,
                        with these; 0: it takes elements alone */
};

struct chunk {
    uint64_t index;   /* of the first element, in its array */
    size_t array;     /* which of several arrays; 0 where there is one */
    size_t count;     /* elements, at least 1 */
    const void *data; /* in the file's byte order */
    /* The partial result of the elements, by the chunk's own numbering, for those who ask for it;
       there is no `data` then. NULL: there are elements. */
    const struct partial *found;
    bool mapped; /* data is a mapped file, not the worker's buffer */
    bool same;   /* all elements are as the one at `data`, which is the only one there. Only
                         for those who ask to borrow */

    /* Maps the index of an element in the chunk's own numbering to its index in the array, where
       the two differ. It rises with `index`. NULL where they are equal. */
    uint64_t (*place)(const void *places, uint64_t index);
    const void *places; /* of the worker's */
};

#endif
