/*
 * The arrays of a safetensors file, as their descriptions come.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "source/container/safetensors_header.h"

/* Types of the format that are none of ours. */
static const struct {
    const char *name;
    unsigned bits;
    const char *what;
} foreign_types[] = {
    {"F4", 4, "a float of 4 bits"},
    {"F6_E2M3", 6, "a float of 6 bits"},
    {"F6_E3M2", 6, "a float of 6 bits"},
    {"F8_E8M0", 8, "a scale: an exponent alone"},
    {"F8_E4M3FNUZ", 8, "another float of 8 bits than F8_E4M3"},
    {"F8_E5M2FNUZ", 8, "another float of 8 bits than F8_E5M2"},
    {"C64", 64, "a complex number"},
};

static const size_t foreign_type_count = sizeof foreign_types / sizeof *foreign_types;

bool safetensors_grow_sizes(struct safetensors_header *h)
{
    size_t room = h->sizes_room ? 2 * h->sizes_room : 256;
    uint64_t *sizes;

    if (h->sizes_count < h->sizes_room)
        return true;
    sizes = realloc(h->container->sizes, room * sizeof *sizes);
    if (!sizes)
        return container_no_memory(h->in);
    h->container->sizes = sizes;
    h->sizes_room = room;
    return true;
}

_Static_assert(TYPE_NAME_MAX == CONTAINER_TYPE_MAX, "names of types are compared as a whole");

/* Sets the type, and the bits of an element. Most arrays have that of the one before them, if there
   is one. */
static bool find_type(const struct safetensors_entry *e, const struct container_array *before,
                      struct container_array *a, unsigned *bits)
{
    if (before && !before->unreadable &&
        memcmp(before->type_name, e->type, sizeof e->type) == 0) { /* with zeros behind them */
        a->type = before->type;
        memcpy(a->type_name, e->type, sizeof e->type);
        *bits = 8 * (unsigned)element_formats[a->type].size;
        return true;
    }
    for (int i = 0; i < ELEMENT_TYPES; i++) {
        if (strcmp(e->type, element_names[i].safetensors) == 0) {
            a->type = (enum element_type)i;
            container_name_type(a, element_names[i].safetensors);
            *bits = 8 * (unsigned)element_formats[i].size;
            return true;
        }
    }
    for (size_t i = 0; i < foreign_type_count; i++) {
        if (strcmp(e->type, foreign_types[i].name) == 0) {
            a->unreadable = foreign_types[i].what;
            container_name_type(a, foreign_types[i].name);
            *bits = foreign_types[i].bits;
            return true;
        }
    }
    return false;
}

bool safetensors_add(struct safetensors_header *h, const char *name,
                     const struct safetensors_entry *e)
{
    struct container_array *a = container_add(h->container, name);
    char shown[CONTAINER_NAME_SHOWN];
    unsigned bits;
    uint64_t length;

    if (!a)
        return container_no_memory(h->in);
    if (!find_type(e, h->container->count > 1 ? a - 1 : NULL, a, &bits)) {
        char type[CONTAINER_NAME_SHOWN];

        return container_wrong(h->in, e->at, "array %s: %s is not a type of safetensors",
                               container_show_name(shown, name),
                               container_show_name(type, e->type));
    }
    a->dimensions = e->dimensions;
    a->sizes = h->container->sizes + e->first_size; /* until more are read: see settle */
    if (!container_product(a, &a->elements) ||
        __builtin_mul_overflow(a->elements, (uint64_t)bits, &length))
        return container_wrong(h->in, e->at, "array %s: the shape has more elements than any file",
                               container_show_name(shown, name));
    if (length % 8 != 0)
        return container_wrong(h->in, e->at,
                               "array %s: %" PRIu64 " elements of %u bits are not whole bytes",
                               container_show_name(shown, name), a->elements, bits);
    length /= 8;
    if (e->end < e->begin || e->end - e->begin != length)
        return container_wrong(h->in, e->at,
                               "array %s: %" PRIu64 " elements of %s have %" PRIu64
                               " bytes, but the offsets are %" PRIu64 " and %" PRIu64,
                               container_show_name(shown, name), a->elements, a->type_name, length,
                               e->begin, e->end);
    a->offset = e->begin; /* from the end of the header on: see settle */
    a->length = length;
    return true;
}
