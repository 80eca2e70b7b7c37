/* Singular and plural. */
#ifndef GPUREDUCE_PLURAL_H
#define GPUREDUCE_PLURAL_H

#include <stdint.h>

/* The ending of a regular noun that stands for so many things. */
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

#endif
