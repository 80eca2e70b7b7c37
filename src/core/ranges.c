#include "config.h"

#include "core/ranges.h"

#include <stdlib.h>
#include <string.h>

struct ranges_node {
    struct partial_range range;
    uint32_t left, right; /* nodes whose ranges begin before, and after; of free ones `left` is the
                             next */
};

/* The priority of a node: a mix of its number (the finalizer of MurmurHash3). */
static uint32_t priority(uint32_t number)
{
    number = (number ^ number >> 16) * UINT32_C(0x85ebca6b);
    number = (number ^ number >> 13) * UINT32_C(0xc2b2ae35);
    return number ^ number >> 16;
}

bool ranges_reserve(struct ranges *r, size_t more)
{
    const uint64_t wanted = (uint64_t)r->count + more + 1;
    uint64_t room = 2 * (uint64_t)r->room;
    struct ranges_node *nodes;

    if (wanted <= r->room)
        return true;
    room = room < wanted ? wanted + 15 : room;
    room = room > UINT32_MAX ? UINT32_MAX : room;
    if (more > UINT32_MAX || wanted > room || room > SIZE_MAX / sizeof *nodes)
        return false;
    nodes = realloc(r->nodes, (size_t)room * sizeof *nodes);
    if (!nodes)
        return false;
    r->nodes = nodes;
    r->room = (uint32_t)room;
    r->used = r->used ? r->used : 1;
    return true;
}

void ranges_close(struct ranges *r)
{
    free(r->nodes);
    *r = (struct ranges){0};
}

void ranges_clear(struct ranges *r)
{
    r->used = r->nodes ? 1 : 0;
    r->root = r->free = 0;
    r->count = 0;
}

/* The link to the node of the first range that ends at or after `index`. NULL if there is none. */
static uint32_t *find(struct ranges *r, uint64_t index)
{
    uint32_t *link = &r->root, *found = NULL;

    while (*link) {
        struct ranges_node *n = &r->nodes[*link];

        if (n->range.end >= index) {
            found = link;
            link = &n->left;
        } else {
            link = &n->right;
        }
    }
    return found;
}

bool ranges_find(const struct ranges *r, uint64_t index, struct partial_range *found)
{
    uint32_t node = r->root;
    bool any = false;

    while (node) {
        const struct ranges_node *n = &r->nodes[node];

        if (n->range.end > index) {
            *found = n->range;
            any = true;
            node = n->left;
        } else {
            node = n->right;
        }
    }
    return any;
}

/* Takes the node of a link out of the tree. */
static void take_out(struct ranges *r, uint32_t *link)
{
    const uint32_t node = *link;
    uint32_t left = r->nodes[node].left, right = r->nodes[node].right;

    while (left && right) {
        if (priority(left) > priority(right)) {
            *link = left;
            link = &r->nodes[left].right;
            left = *link;
        } else {
            *link = right;
            link = &r->nodes[right].left;
            right = *link;
        }
    }
    *link = left ? left : right;
    r->nodes[node].left = r->free;
    r->free = node;
    r->count--;
}

/* Puts a node with this range into the tree. */
static void put_in(struct ranges *r, struct partial_range range)
{
    const uint32_t node = r->free ? r->free : r->used++;
    uint32_t *link = &r->root, *left = &r->nodes[node].left, *right = &r->nodes[node].right, rest;

    if (r->free)
        r->free = r->nodes[node].left;
    while (*link && priority(*link) >= priority(node))
        link = range.begin < r->nodes[*link].range.begin ? &r->nodes[*link].left
                                                         : &r->nodes[*link].right;
    rest = *link;
    *link = node;
    r->nodes[node].range = range;
    while (rest) {
        if (r->nodes[rest].range.begin < range.begin) {
            *left = rest;
            left = &r->nodes[rest].right;
            rest = *left;
        } else {
            *right = rest;
            right = &r->nodes[rest].left;
            rest = *right;
        }
    }
    *left = *right = 0;
    r->count++;
}

void ranges_add(struct ranges *r, struct partial_range range)
{
    const uint32_t *link = find(r, range.begin);
    struct partial_range *near = link ? &r->nodes[*link].range : NULL;
    uint32_t *after;

    if (near && near->begin == range.end) {
        near->begin = range.begin;
    } else if (near && near->end == range.begin) {
        near->end = range.end;
        after = find(r, range.end + 1);
        if (after && r->nodes[*after].range.begin == range.end) {
            near->end = r->nodes[*after].range.end;
            take_out(r, after);
        }
    } else {
        put_in(r, range);
    }
}
