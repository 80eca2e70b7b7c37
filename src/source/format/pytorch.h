/*
 * The archives of torch.save: files of their own, and the shards of checkpoints (dcp.c).
 */
#ifndef GPUREDUCE_PYTORCH_H
#define GPUREDUCE_PYTORCH_H

#include <stdbool.h>
#include <stddef.h>

#include "source/format/container.h"

/* A type of elements, by torch's name. */
struct pytorch_dtype {
    const char *name;
    unsigned size;          /* bytes */
    const char *other;      /* of a type that is none of ours: its description */
    enum element_type type; /* of a complex type: that of each of its two parts */
    const char *storage;    /* the class of storages; NULL: none, they have no type */
};

/* All of them. */
enum { PYTORCH_DTYPES = 27 };
extern const struct pytorch_dtype pytorch_dtypes[PYTORCH_DTYPES];

/* Arrays that a tensor of this type is: two of a complex type, .re and .im. */
static inline unsigned pytorch_parts(const struct pytorch_dtype *dtype)
{
    return dtype->other ? 1 : dtype->size / (unsigned)element_size(dtype->type);
}

/* The suffix that part number `part` of a tensor adds to its name. */
static inline const char *pytorch_suffix(const struct pytorch_dtype *dtype, unsigned part)
{
    return pytorch_parts(dtype) == 1 ? "" : part == 0 ? ".re" : ".im";
}

/* The filter that takes a part of a tensor of a complex type. */
static inline struct container_filter pytorch_filter(const struct pytorch_dtype *dtype,
                                                     unsigned part)
{
    const uint32_t size = (uint32_t)element_size(dtype->type);

    return (struct container_filter){
        .kind = CONTAINER_FIELD,
        .values = {[FIELD_RECORD] = dtype->size, [FIELD_AT] = part * size, [FIELD_SIZE] = size}};
}

/* Whether these bytes begin an archive: container_format.recognise. */
bool pytorch_recognise(const unsigned char *bytes, size_t size);

/* Reads an archive: container_format.read. */
bool pytorch_read(struct container *c, struct container_input *in);

#endif
