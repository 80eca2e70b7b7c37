#include "config.h"

#include "source/array_order.h"

#include <stdlib.h>

#include "source/format/container.h"
#include "source/source_impl.h"
#include "source/tiles.h"

/* Compressed arrays, of which a worker takes one at a time, come before others, the largest first,
   and then those in tiles; what then is left to do is shared out in small pieces. */
struct place {
    size_t number;
    bool whole;          /* it does not lie in the file element by element */
    uint64_t compressed; /* 0 where it is not compressed as one */
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->compressed != y->compressed)
        return x->compressed > y->compressed ? -1 : 1;
    if (x->whole != y->whole)
        return x->whole ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Sets o->order: all in the order of their numbers, but for those that come before others. False
   without memory. */
static bool set_order(struct array_order *o, const struct source *s)
{
    struct place *places;

    o->plain_from = 0;
    for (size_t i = 0; i < o->count; i++) {
        o->order[i] = i;
        o->plain_from += container_array_whole(s->picks[i].array);
    }
    if (o->plain_from == 0)
        return true;
    places = malloc(o->count * sizeof *places);
    if (!places)
        return false;
    for (size_t i = 0; i < o->count; i++) {
        const struct container_array *a = s->picks[i].array;

        places[i] = (struct place){i, container_array_whole(a), a->deflated ? a->compressed : 0};
    }
    qsort(places, o->count, sizeof *places, compare_places);
    for (size_t i = 0; i < o->count; i++)
        o->order[i] = places[i].number;
    free(places);
    return true;
}

bool array_order_open(struct array_order *o, const struct source *s)
{
    o->count = s->info.pick_count;
    o->begins = malloc((o->count + 1) * sizeof *o->begins);
    o->order = malloc((o->count + 1) * sizeof *o->order);
    if (!o->begins || !o->order || !set_order(o, s))
        return false;
    o->begins[0] = 0;
    for (size_t i = 0; i < o->count; i++) {
        const struct source_pick *pick = &s->picks[o->order[i]];

        o->begins[i + 1] =
            o->begins[i] + (pick->array->tiles ? tiles_count(pick->array) * tiles_bytes(pick->array)
                                               : pick->elements * element_size(pick->array->type));
    }
    return true;
}

size_t array_order_find(const struct array_order *o, uint64_t at)
{
    size_t low = 0, high = o->count; /* it is one of these, but for the last */

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (o->begins[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void array_order_close(struct array_order *o)
{
    free(o->begins);
    free(o->order);
}
