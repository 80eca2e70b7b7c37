/*
 * The parts of an array in device memory in which kernels read it: where it lies as far as they can, and copies
 * of the rest.
 */
#ifndef GPUREDUCE_CUDA_ARRAY_PARTS_H
#define GPUREDUCE_CUDA_ARRAY_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/view.h"
#include "cuda/array_launch.h"
#include "cuda/guest.h"
#include "cuda/rows.h"

/* When an array is cut into several parts, in bytes. */
struct cuda_array_parts_tuning {
    /* Each part has so many at least, where single elements would be loaded, or copied, otherwise: that takes
       longer than the kernels of a part take to start. */
    uint64_t loads, copies;
    uint64_t row; /* and a row, of which the elements before and after whole units are copied */
};

extern const struct cuda_array_parts_tuning cuda_array_parts_shipped;

struct cuda_array_parts {
    const struct cuda_array_parts_tuning *tuning;
    size_t size;    /* bytes of an element */
    uint64_t most;  /* elements of a part, a multiple of 16 and at least that */
    uint64_t tiles; /* of rows that lie apart, multiples of so many; the rest is copied */
    uint64_t few;   /* fewer elements of a row need only be aligned to their size */
    bool ordered;   /* elements are handed over in the order of the layout */
    bool joined;    /* and in rows that do not lie apart */
    uint64_t room;  /* elements of copies at a time */

    /* Does what is to be done with `count` elements; false ends it, with an error. */
    bool (*take)(void *context, struct cuda_rows rows, uint64_t count, struct error *error);
    /* Copies the elements of a gather after the first `staged` copies. Returns these; NULL, with an error, on
       failure. */
    const void *(*copy)(void *context, const struct cuda_gather *gather, uint64_t staged,
                        struct error *error);
    void *context;
};

/* Hands over the first `count` elements of a layout, each once. False if a function of it failed. Any thread. */
bool cuda_array_take_parts(const struct cuda_array_parts *parts, const struct view_layout *layout,
                           uint64_t count, struct error *error);

/* The copier of a site: copies to a room of CUDA_STAGE_BYTES, on a stream. */
const void *cuda_array_stage(struct cuda_site *site, struct cuda_room *room,
                             const struct cuda_gather *gather, uint64_t staged, cudaStream_t stream,
                             struct error *error);

#endif
