/*
 * The kernels of array.h and array_slices.h, as kernels.h does: they hand the host a partial result,
 * copy elements into a row, merge sums of parts of slices, and look for sums that are not known.
 */
#ifndef GPUREDUCE_CUDA_ARRAY_LAUNCH_H
#define GPUREDUCE_CUDA_ARRAY_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "core/exact.h"
#include "core/partial.h"
#include "core/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the host that a device writes to. */
struct cuda_published {
    struct partial partial;
    uint64_t number; /* of the launch after which `partial` was written; written last */
};

/* All but `to` is device memory. */
struct cuda_publish {
    const struct partial *from;
    struct cuda_published *to; /* as the device sees it */
    unsigned words;            /* of `from` that are copied, of 8 bytes; the rest of `to` stays */
    uint64_t number;
    const struct partial *cleared; /* one of no elements */
    struct partial *clear;         /* to be made one of no elements; NULL: nothing is */
};

/* Copies elements of a layout in device memory into a row. */
struct cuda_gather {
    struct view_layout from; /* of at least one dimension */
    uint64_t first, count;   /* elements: their numbers in the layout */
    unsigned size;           /* bytes of an element */
    unsigned char *to;       /* aligned */
};

/* Adds up the sums of the parts of slices, as struct engine_found has them. All but the numbers is
   device memory. */
struct cuda_merge_sums {
    const double *high, *low;
    double *to; /* the rounded sums; NaN where one is not known */
    uint64_t slices, parts;
    bool columns;

    /* If it is not NULL, sums are not rounded, and this has what `to` lacks: as many sums of each
       slice, side by side, as there are groups of its parts. */
    double *to_low;
    uint64_t groups; /* 1 if sums are rounded */
};

/* Finds which numbers are NaN. */
struct cuda_find_nans {
    const double *numbers;
    uint64_t first, count; /* that are looked at */
    uint64_t *found;       /* device memory: first how many there are, then which, in any order */
    uint64_t room;         /* for how many there is room */
};

/* A sum of two numbers, and whether it is exact. */
struct cuda_pair {
    double high, low;
    bool left;
};

/* Adds other to a pair. */
EXACT_SHARED void cuda_pair_add(struct cuda_pair *p, double high, double low)
{
    double error, low_error, rest;

    p->high = exact_two_sum(p->high, high, &error);
    p->low = exact_two_sum(p->low, low, &low_error);
    p->low = exact_two_sum(p->low, error, &rest);
    p->left = p->left || !(rest == 0) || !(low_error == 0); /* NaN, too */
}

/* The first part of group number g. */
EXACT_SHARED uint64_t cuda_merge_first(const struct cuda_merge_sums *m, uint64_t g)
{
    return m->parts / m->groups * g + (m->parts % m->groups < g ? m->parts % m->groups : g);
}

/* Puts what group number i of all groups has. */
EXACT_SHARED void cuda_merge_put(const struct cuda_merge_sums *m, uint64_t i,
                                 const struct cuda_pair *sum)
{
    const double rounded = sum->high + sum->low, no = exact_from_bits(0x7ff8000000000000);
    const bool known = !sum->left && rounded - rounded == 0;

    m->to[i] = !known ? no : m->to_low ? sum->high : rounded;
    if (m->to_low)
        m->to_low[i] = sum->low;
}

/* Whether the elements of a layout, of `size` bytes, lie in a row. */
static inline bool cuda_array_is_row(const struct view_layout *layout, size_t size)
{
    return layout->rank == 0 || (layout->rank == 1 && layout->strides[0] == (int64_t)size);
}

/* The place of element number i of a gather. */
EXACT_SHARED const unsigned char *cuda_gather_from(const struct cuda_gather *g, uint64_t i)
{
    const unsigned char *at = g->from.data;

    i += g->first;
    for (unsigned d = g->from.rank - 1; d > 0; d--) {
        const uint64_t rows = i / g->from.sizes[d];

        at += (int64_t)(i - rows * g->from.sizes[d]) * g->from.strides[d];
        i = rows;
    }
    return at + (int64_t)i * g->from.strides[0];
}

/* All are asynchronous, on the stream that is given and the device that is current. */
cudaError_t cuda_publish(const struct cuda_publish *publish, cudaStream_t stream);
cudaError_t cuda_gather(const struct cuda_gather *gather, int multiprocessors, cudaStream_t stream);
cudaError_t cuda_merge_sums(const struct cuda_merge_sums *merge, int multiprocessors,
                            cudaStream_t stream);
cudaError_t cuda_find_nans(const struct cuda_find_nans *find, int multiprocessors,
                           cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
