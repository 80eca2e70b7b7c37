#include "config.h"

#include "source/facts.h"

/* Counts the chunks of an array, and those of which nothing is stored; NULL: of none. */
static void count_chunks(struct array_facts *facts, const struct container_array *a)
{
    const struct container_tiles *const tiles = a ? a->tiles : NULL;

    facts->chunks = facts->missing_chunks = SOURCE_UNKNOWN;
    if (!tiles || !tiles->tiles || (tiles->count == 0 && a->elements > 0))
        return;
    facts->chunks = tiles->count;
    facts->missing_chunks = 0;
    for (uint64_t i = 0; i < tiles->count; i++)
        facts->missing_chunks += tiles->tiles[i].compressed == 0;
}

/* An array of a container. */
static void find_array(struct array_facts *facts, const struct container_array *a,
                       uint64_t elements)
{
    facts->type = !a->unreadable ? element_name(a->type) : a->type_name[0] ? a->type_name : NULL;
    facts->big_endian = a->big_endian;
    facts->order_open = a->order_open;
    facts->elements = !a->unreadable ? elements : a->type_name[0] ? a->elements : SOURCE_UNKNOWN;
    /* At offset 0 there is a header: where a dataset of HDF5 lies that is not reduced, nobody has
       asked. */
    facts->bytes = !a->unreadable   ? facts->elements * element_size(a->type)
                   : a->offset == 0 ? SOURCE_UNKNOWN
                                    : a->length;
    facts->offset =
        a->tiles || a->record_elements > 0 || a->offset == 0 ? SOURCE_UNKNOWN : a->offset;
    facts->skip = container_array_begin(a);
    facts->compressed = facts->compressed || container_array_compressed(a);
    count_chunks(facts, a);
    container_shape(a, &facts->shape);
    facts->shape.known = facts->elements != SOURCE_UNKNOWN;
}

void array_facts_find(struct array_facts *facts, const struct source_info *info,
                      const struct container_array *array, uint64_t elements)
{
    facts->compressed = info->compression != COMPRESSION_NONE;
    if (array) {
        find_array(facts, array, elements);
        return;
    }
    facts->type = element_name(info->type);
    facts->big_endian = info->swap != element_host_is_big();
    facts->order_open = false;
    facts->shape = info->shape;
    facts->elements = source_elements(info);
    facts->bytes = SOURCE_UNKNOWN;
    if (facts->elements != SOURCE_UNKNOWN)
        facts->bytes = facts->elements * info->element_size;
    count_chunks(facts, NULL);
    facts->offset = facts->skip = info->data_offset;
}
