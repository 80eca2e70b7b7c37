#include "config.h"

#include "core/array_shape.h"

#include <inttypes.h>
#include <stdio.h>

void array_place(const struct array_shape *shape, uint64_t index,
                 uint64_t place[ARRAY_DIMENSIONS_MAX])
{
    for (unsigned i = 0; i < shape->dimensions; i++) {
        const unsigned d = shape->fortran_order ? i : shape->dimensions - 1 - i;

        place[d] = index % shape->sizes[d];
        index /= shape->sizes[d];
    }
}

const char *array_show_place(char text[ARRAY_PLACE_MAX], const struct array_shape *shape,
                             uint64_t index)
{
    uint64_t place[ARRAY_DIMENSIONS_MAX] = {0};
    int used = sprintf(text, "%" PRIu64, index);

    if (shape->dimensions < 2)
        return text;
    array_place(shape, index, place);
    for (unsigned d = 0; d < shape->dimensions; d++)
        used += sprintf(text + used, "%s%" PRIu64, d == 0 ? " [" : ", ", place[d]);
    sprintf(text + used, "]");
    return text;
}
