/*
 * Tallies (core/tally.h) and samples of elements that lie in device memory of the caller, as array.h
 * does. Both wait for the stream. Nothing on the device is kept from one call to the next.
 *
 * In a build without CUDA nothing can be tallied.
 */
#ifndef GPUREDUCE_CUDA_ARRAY_TALLIES_H
#define GPUREDUCE_CUDA_ARRAY_TALLIES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/selection.h"
#include "core/tally.h"
#include "cuda/array.h"

/* Elements of a layout in device memory, as cuda_array_add is given them. */
struct cuda_array_elements {
    enum element_type type;
    bool swap;                     /* they are not in the machine's byte order */
    const struct missing *missing; /* elements that are left out; NULL: none */
    const struct view_layout *layout;
    uint64_t count; /* the first ones of the layout, at least one */
    int device;     /* that reads managed memory; negative: the current one */
    void *stream;
};

/* Adds the elements to the tallies of a set, at least one, and ends them. */
bool cuda_array_tally(const struct cuda_array_elements *elements, struct tally_set *set,
                      struct error *error);

/* Copies runs of elements, which are spread evenly, to memory of the host, in the machine's byte
   order. There are no fewer elements than in the runs. */
bool cuda_array_sample(const struct cuda_array_elements *elements, struct selection_runs runs,
                       unsigned char *sample, struct error *error);

#endif
