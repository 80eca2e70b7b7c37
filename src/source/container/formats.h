/*
 * The formats of containers there are: rows of the table in container.c.
 */
#ifndef GPUREDUCE_CONTAINER_FORMATS_H
#define GPUREDUCE_CONTAINER_FORMATS_H

#include "source/container/container.h"

/* safetensors, of Hugging Face: the length of a header, the header, which is JSON, and the
   elements. What is refused is what its own library refuses (Metadata::validate and read_metadata
   in safetensors/src/tensor.rs), and a name that two arrays have, which that drops one of. */
extern const struct container_format container_safetensors;

#endif
