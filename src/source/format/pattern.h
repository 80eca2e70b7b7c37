/*
 * Which arrays of containers are wanted: those whose names match one of some patterns, or all where
 * there is none but patterns that exclude arrays; of these, those that no such pattern matches.
 * Patterns are matched as a shell matches files, but that * and ? also stand for slashes and
 * leading dots.
 */
#ifndef GPUREDUCE_PATTERN_H
#define GPUREDUCE_PATTERN_H

#include <stdbool.h>

struct container_pattern {
    const char *pattern;
    bool exclude;
    bool matched; /* an array has been found that it matches */
    bool useful;  /* and one of those can be reduced, or should be */
};

/* Whether an array is wanted. Notes which patterns it matches; and where it is `useful`, that they
   are. */
bool container_wants(struct container_pattern *patterns, unsigned count, const char *name,
                     bool useful);

#endif
