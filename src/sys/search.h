/*
 * Search by halving.
 */
#ifndef GPUREDUCE_SEARCH_H
#define GPUREDUCE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Sets `low` to the first place from there on, before `high`, for which `before`, an expression of
   `middle`, does not hold, or else to `high`. It holds for no place behind that one. */
#define SEARCH(low, high, before)                              \
    do                                                         \
        while ((low) < (high)) {                               \
            __typeof__(low) middle = low + (high - (low)) / 2; \
                                                               \
            if (before)                                        \
                (low) = middle + 1;                            \
            else                                               \
                (high) = middle;                               \
        }                                                      \
    while (0)

/* The last of some things that begins at `at` or before, as the first one does. */
static inline size_t search_begins(const uint64_t *begins, size_t count, uint64_t at)
{
    size_t low = 1, high = count;

    SEARCH(low, high, begins[middle] <= at);
    return low - 1;
}

#endif
