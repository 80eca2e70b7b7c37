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
    unsigned size;     /* bytes */
    const char *other; /* of a type that is none of ours: its description */
    enum element_type type;
};

enum { PYTORCH_DTYPES = 27 };

/* The type of this number, less than PYTORCH_DTYPES. */
const struct pytorch_dtype *pytorch_dtype(size_t number);

/* Whether these bytes begin an archive: container_format.recognise. */
bool pytorch_recognise(const unsigned char *bytes, size_t size);

/* Reads an archive: container_format.read. */
bool pytorch_read(struct container *c, struct container_input *in);

#endif
