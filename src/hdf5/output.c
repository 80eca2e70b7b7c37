#include "config.h"

#include "hdf5/output.h"

#include <stdlib.h>
#include <string.h>

void hdf5_put(struct hdf5_output *out, uint64_t word)
{
    void *bytes = hdf5_put_space(out, sizeof word);

    if (bytes)
        memcpy(bytes, &word, sizeof word);
}

void *hdf5_put_space(struct hdf5_output *out, size_t size)
{
    const size_t whole = (size + 7) / 8 * 8;
    unsigned char *bytes;

    if (out->failed)
        return NULL;
    if (out->capacity - out->size < whole) {
        size_t capacity = 2 * out->capacity + whole + 4096;

        bytes = realloc(out->bytes, capacity);
        if (!bytes) {
            out->failed = true;
            return NULL;
        }
        out->bytes = bytes;
        out->capacity = capacity;
    }
    bytes = out->bytes + out->size;
    memset(bytes + size, 0, whole - size);
    out->size += whole;
    return bytes;
}

void hdf5_put_text(struct hdf5_output *out, const void *text, size_t size)
{
    void *bytes;

    hdf5_put(out, size);
    bytes = hdf5_put_space(out, size + 1); /* it ends with a zero byte, too */
    if (!bytes)
        return;
    if (size > 0)
        memcpy(bytes, text, size);
    ((char *)bytes)[size] = '\0';
}

void hdf5_put_string(struct hdf5_output *out, const char *text)
{
    hdf5_put_text(out, text, strlen(text));
}
