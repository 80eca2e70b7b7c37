#include "config.h"

#include "sys/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "sys/grow.h"

void timeline_note(struct timeline *t, uint64_t begin, uint64_t end, uint64_t bytes)
{
    if (t->count == TIMELINE_MAX || !GROW(t->spans, t->capacity, t->count + 1))
        return;
    t->spans[t->count++] = (struct timeline_span){begin, end};
    t->bytes += bytes;
}

void timeline_join(struct timeline *whole, struct timeline *part)
{
    if (part->count > 0 && GROW(whole->spans, whole->capacity, whole->count + part->count)) {
        memcpy(whole->spans + whole->count, part->spans, part->count * sizeof *part->spans);
        whole->count += part->count;
        whole->bytes += part->bytes;
    }
    timeline_free(part);
}

void timeline_free(struct timeline *t)
{
    free(t->spans);
    *t = (struct timeline){0};
}

static int by_begin(const void *left, const void *right)
{
    const struct timeline_span *a = left, *b = right;

    return (a->begin > b->begin) - (a->begin < b->begin);
}

struct timeline_total timeline_total(struct timeline *t)
{
    struct timeline_total total = {.bytes = t->bytes};
    uint64_t covered = 0; /* up to here all is counted */

    if (t->count == 0)
        return total;
    qsort(t->spans, t->count, sizeof *t->spans, by_begin);
    for (size_t i = 0; i < t->count; i++) {
        uint64_t begin = t->spans[i].begin, end = t->spans[i].end;

        if (begin < covered)
            begin = covered;
        if (end > begin)
            total.busy += end - begin;
        if (end > covered)
            covered = end;
    }
    total.extent = covered - t->spans[0].begin;
    return total;
}
