#include "config.h"

#include "source/format/containers.h"

#include "source/format/npy.h"

#define ROW(id, name) &container_##name,

const struct container_format *const container_formats[CONTAINER_FORMAT_COUNT] = {
    CONTAINER_FORMATS(ROW)};

const struct container_format *container_recognise(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < CONTAINER_FORMAT_COUNT; i++)
        if (container_formats[i]->recognise(bytes, size))
            return container_formats[i];
    return container_npy.recognise(bytes, size) ? &container_npy : NULL;
}

size_t container_head(const unsigned char *bytes, size_t size)
{
    const uint64_t npy = npy_recognise(bytes, size) ? npy_header_length(bytes, size) : 0;
    size_t most = size;

    if (npy > size && npy <= NPY_HEADER_MAX)
        most = (size_t)npy;
    for (size_t i = 0; i < CONTAINER_FORMAT_COUNT; i++) {
        const size_t head =
            container_formats[i]->head ? container_formats[i]->head(bytes, size) : 0;

        most = head > most ? head : most;
    }
    return most < CONTAINER_HEAD ? most : CONTAINER_HEAD;
}
