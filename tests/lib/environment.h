/*
 * Numbers out of the environment.
 */
#ifndef GPUREDUCE_TESTS_ENVIRONMENT_H
#define GPUREDUCE_TESTS_ENVIRONMENT_H

#include <stdint.h>
#include <stdlib.h>

/* The number that a variable holds; `otherwise` where it is not set, or empty. */
static inline uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

#endif
