/*
 * Memory for tests, which give up where there is none.
 */
#ifndef TESTS_ALLOCATE_H
#define TESTS_ALLOCATE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the whole test, because of errno: it cannot go on without this. */
static inline _Noreturn void bail(const char *what)
{
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(99);
}

/* Ends the test if a function that makes something has returned NULL. */
static inline void *need(void *made)
{
    if (!made)
        bail("memory");
    return made;
}

/* So many bytes, and some more up to a multiple of 64, where a block of 64 begins; to be freed.
   Ends the test where there are none. */
static inline void *allocate(size_t size)
{
    return need(aligned_alloc(64, (size + 64) / 64 * 64));
}

/* So many bytes and none behind them, so that sanitizers see whoever goes beyond; to be freed. Ends
   the test where there are none. */
static inline void *allocate_exactly(size_t size)
{
    return need(malloc(size > 0 ? size : 1));
}

#endif
