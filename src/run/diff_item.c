#include "config.h"

#include "run/diff_item.h"

#include <string.h>

#include "source/format/container.h"

bool diff_same_shape(const struct array_shape *a, const struct array_shape *b)
{
    return a->dimensions == b->dimensions &&
           (a->dimensions == 0 ||
            memcmp(a->sizes, b->sizes, a->dimensions * sizeof *a->sizes) == 0);
}

/* Whether a name matches; that of a file that is one array is empty. */
static bool matches(const char *pattern, const char *name)
{
    struct container_pattern one = {.pattern = pattern};

    return container_wants(&one, 1, name ? name : "", false);
}

bool diff_tolerance_matches(const struct diff_request *request, unsigned number,
                            const struct diff_item *item)
{
    const char *const pattern = request->tolerances->some[number].pattern;

    return matches(pattern, item->name) || (item->other_name && matches(pattern, item->other_name));
}

const struct difference_tolerance *diff_tolerance(const struct diff_request *request,
                                                  const struct diff_item *item)
{
    const struct difference_tolerances *t = request->tolerances;

    for (unsigned i = t->count; i-- > 0;)
        if (diff_tolerance_matches(request, i, item))
            return &t->some[i].limits;
    return &t->all;
}

void diff_shape(const struct diff_item *item, int side, struct array_shape *shape)
{
    const struct container_array *array = item->sides[side].array;

    if (array)
        container_shape(array, shape);
    else
        *shape = source_info(item->sides[side].source)->shape;
}

uint64_t diff_elements(const struct diff_item *item, int side)
{
    uint64_t product;

    if (!item->sides[side].is_bytes)
        return item->sides[side].elements;
    if (!item->sides[side].array->type_name[0])
        return SOURCE_UNKNOWN;
    return container_product(item->sides[side].array, &product) ? product : SOURCE_UNKNOWN;
}

void diff_place_shape(const struct diff_item *item, struct array_shape *shape)
{
    struct array_shape b;

    diff_shape(item, DIFF_A, shape);
    diff_shape(item, DIFF_B, &b);
    if (!shape->known)
        *shape = b;
    if (item->sides[DIFF_A].is_bytes || !shape->known || (b.known && !diff_same_shape(shape, &b)))
        shape->dimensions = 0;
}
