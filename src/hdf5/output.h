/*
 * The records that the program writes, in memory until they are complete.
 */
#ifndef GPUREDUCE_HDF5_OUTPUT_H
#define GPUREDUCE_HDF5_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hdf5_output {
    unsigned char *bytes;
    size_t size, capacity;
    bool failed; /* for want of memory */
};

void hdf5_put(struct hdf5_output *out, uint64_t word);

/* Makes room for text, and returns it; NULL without memory. */
void *hdf5_put_space(struct hdf5_output *out, size_t size);
void hdf5_put_text(struct hdf5_output *out, const void *text, size_t size);
void hdf5_put_string(struct hdf5_output *out, const char *text);

#endif
