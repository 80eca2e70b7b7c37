/*
 * Sets of indices as ranges: which elements of an array there are. Ranges come in any order, however
 * many there are, and neighbours become one.
 *
 * A set belongs to one thread at a time.
 */
#ifndef GPUREDUCE_RANGES_H
#define GPUREDUCE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Elements from `begin` up to, and without, `end`. */
struct partial_range {
    uint64_t begin, end;
};

struct ranges_node;

/* A set; all zeros: an empty one. It is a treap: a search tree by where ranges begin, and a heap by
   numbers that look like chance. Node 0 stands for none. */
struct ranges {
    struct ranges_node *nodes;
    uint32_t used,
        room; /* nodes that have been in use, with node 0; and that there is memory for */
    uint32_t root, free; /* `free`: the first of the nodes that are not in use any more */
    size_t count;        /* ranges */
};

/* Makes room for `more` ranges. False without memory, or if there were more than 2^32 - 2. */
bool ranges_reserve(struct ranges *r, size_t more);
void ranges_close(struct ranges *r);

/* Makes it an empty set, which keeps its memory. */
void ranges_clear(struct ranges *r);

/* Finds the first range that ends after `index`. False if there is none. */
bool ranges_find(const struct ranges *r, uint64_t index, struct partial_range *found);

/* Whether the set has an index of a range. */
static inline bool ranges_overlap(const struct ranges *r, struct partial_range range)
{
    struct partial_range found;

    return ranges_find(r, range.begin, &found) && found.begin < range.end;
}

/* Adds a range that is not empty, and of which the set has no index. There is room for it. */
void ranges_add(struct ranges *r, struct partial_range range);

#endif
