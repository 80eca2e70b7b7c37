#include "config.h"

#include "source/format/containers.h"

#include <string.h>

static const struct container_format *const formats[] = {
    &container_safetensors,
    &container_npz,
    &container_gguf,
    &container_hdf5,
};

static const size_t format_count = sizeof formats / sizeof *formats;

const struct container_format *container_recognise(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < format_count; i++)
        if (formats[i]->recognise(bytes, size))
            return formats[i];
    return NULL;
}

const struct container_format *container_find(const char *name)
{
    for (size_t i = 0; i < format_count; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}
