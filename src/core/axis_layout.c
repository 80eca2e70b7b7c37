#include "config.h"

#include "core/axis_layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sys/plural.h"

/* The product of the sizes from the first one up to before the last. False where it is beyond 64
   bits. */
static bool product(const uint64_t *sizes, unsigned first, unsigned last, uint64_t *result)
{
    bool fits = true, zero = false;

    *result = 1;
    for (unsigned i = first; i < last; i++) {
        zero = zero || sizes[i] == 0;
        fits = !__builtin_mul_overflow(*result, sizes[i], result) && fits;
    }
    if (zero)
        *result = 0;
    return fits || zero;
}

/* Sets the open size, if there is one. False if the shape has another number of elements. */
static bool complete(struct array_shape *shape, uint64_t elements)
{
    uint64_t *open = NULL, others;

    for (unsigned i = 0; i < shape->dimensions; i++)
        if (shape->sizes[i] == AXIS_SIZE_OPEN)
            open = &shape->sizes[i];
    if (open)
        *open = 1;
    if (!product(shape->sizes, 0, shape->dimensions, &others))
        others = 0;
    if (!open)
        return others == elements;
    *open = others > 0 && elements % others == 0 ? elements / others : AXIS_SIZE_OPEN;
    return *open != AXIS_SIZE_OPEN;
}

bool axis_fit_shape(struct array_shape *shape, uint64_t elements, struct error *error)
{
    const bool known = elements != UINT64_MAX;
    bool open = false;

    if (known && complete(shape, elements))
        return true;
    for (unsigned i = 0; i < shape->dimensions; i++)
        open = open || shape->sizes[i] == AXIS_SIZE_OPEN;
    if (!known && !open)
        return true;
    if (!known)
        *error = error_advised((struct advice){.kind = ADVICE_SIZES},
                               "its number of elements is unknown");
    else if (open)
        *error =
            error_advised((struct advice){.kind = ADVICE_WRONG_SHAPE},
                          "%" PRIu64 " element%s cannot be divided by the other sizes of the shape",
                          elements, plural(elements));
    else
        *error = error_advised((struct advice){.kind = ADVICE_WRONG_SHAPE},
                               "holds %" PRIu64 " element%s, but the shape has another number",
                               elements, plural(elements));
    return false;
}

bool axis_layout(const struct array_shape *shape, int64_t axis, unsigned more,
                 struct axis_layout *layout, char reason[AXIS_REASON_MAX])
{
    const int64_t dimensions = (int64_t)shape->dimensions;
    const int64_t last = axis + (int64_t)more, end = axis < 0 ? 0 : dimensions;
    unsigned behind_axes;
    uint64_t before, behind, bytes;
    bool fits;

    if (dimensions == 0) {
        snprintf(reason, AXIS_REASON_MAX, "is a single number, which has no axis");
        return false;
    }
    if (axis < -dimensions || last >= end) {
        snprintf(reason, AXIS_REASON_MAX, "has %" PRIi64 " dimension%s, but no axis %" PRIi64,
                 dimensions, plural(dimensions), axis < -dimensions ? axis : last);
        return false;
    }
    *layout = (struct axis_layout){.shape = *shape};
    layout->axis = (unsigned)(axis < 0 ? axis + dimensions : axis);
    layout->axes = more + 1;
    behind_axes = layout->axis + layout->axes;
    layout->result.known = true;
    layout->result.fortran_order = shape->fortran_order;
    for (unsigned i = 0; i < shape->dimensions; i++)
        if (axis_kept(layout, i) >= 0)
            layout->result.sizes[layout->result.dimensions++] = shape->sizes[i];
    fits = product(shape->sizes, 0, layout->axis, &before);
    fits = product(shape->sizes, layout->axis, behind_axes, &layout->length) && fits;
    fits = product(shape->sizes, behind_axes, shape->dimensions, &behind) && fits;
    layout->outer = shape->fortran_order ? behind : before;
    layout->inner = shape->fortran_order ? before : behind;
    fits = !__builtin_mul_overflow(layout->outer, layout->inner, &layout->results) && fits;
    fits = !__builtin_mul_overflow(layout->results, layout->length, &layout->elements) && fits;
    /* Offsets in files, and in memory, are of bytes. */
    if (!fits || __builtin_mul_overflow(layout->elements, (uint64_t)16, &bytes) ||
        __builtin_mul_overflow(layout->results, (uint64_t)16, &bytes)) {
        snprintf(reason, AXIS_REASON_MAX, "has a shape that is too large");
        return false;
    }
    if (layout->elements == 0 && layout->results > AXIS_EMPTY_MAX) {
        snprintf(reason, AXIS_REASON_MAX,
                 "holds no elements, and its shape asks for %" PRIu64
                 " results; at most %d are printed of such an array",
                 layout->results, AXIS_EMPTY_MAX);
        return false;
    }
    return true;
}

const char *axis_show_place(char text[AXIS_PLACE_MAX], const struct axis_layout *layout, uint64_t k)
{
    uint64_t place[ARRAY_DIMENSIONS_MAX] = {0};
    size_t used = 0;

    text[0] = '\0';
    array_place(&layout->result, k, place);
    for (unsigned i = 0; i < layout->result.dimensions; i++)
        used += (size_t)snprintf(text + used, AXIS_PLACE_MAX - used, "%s%" PRIu64, i > 0 ? "," : "",
                                 place[i]);
    return text;
}

const char *axis_show_element(char text[AXIS_PLACE_MAX], const struct axis_layout *layout,
                              uint64_t k, uint64_t at)
{
    uint64_t place[ARRAY_DIMENSIONS_MAX] = {0}, within[ARRAY_DIMENSIONS_MAX] = {0};
    struct array_shape slice = {.dimensions = layout->axes,
                                .fortran_order = layout->shape.fortran_order};
    size_t used = 0;

    memcpy(slice.sizes, layout->shape.sizes + layout->axis, layout->axes * sizeof *slice.sizes);
    array_place(&slice, at, within);
    array_place(&layout->result, k, place);
    for (unsigned i = 0; i < layout->shape.dimensions; i++) {
        const int kept = axis_kept(layout, i);
        const uint64_t index = kept < 0 ? within[i - layout->axis] : place[kept];

        used += (size_t)snprintf(text + used, AXIS_PLACE_MAX - used, "%s%" PRIu64, i > 0 ? "," : "",
                                 index);
    }
    return text;
}
