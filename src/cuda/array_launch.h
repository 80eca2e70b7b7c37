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

/* Numbers that a kernel finds. */
struct cuda_list {
    uint64_t *found; /* device memory: first how many there are, then which, in any order */
    uint64_t room;   /* for how many there is room */
};

/* Adds up the sums of the parts of slices, as struct engine_found has them. All but the numbers is
   device memory. */
struct cuda_merge_sums {
    const double *high, *low;
    void *to; /* the sums: of binary64, rounded, and NaN where one is not known */
    uint64_t slices, parts;
    bool columns;
    char letter; /* their type, of 64 bits: f, i or u */

    /* Sums of integers that are not known, or do not fit: the numbers of their slices, of which
       the first of `slices` has number `first`. */
    struct cuda_list unknown;
    uint64_t first;

    /* If it is not NULL, sums are not rounded, and this has what `to` lacks: as many sums of each
       slice, side by side, as there are groups of its parts. */
    double *to_low;
    uint64_t groups; /* 1 without it */
};

/* Finds which numbers are NaN. */
struct cuda_find_nans {
    const double *numbers;
    uint64_t first, count; /* that are looked at */
    struct cuda_list nans;
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

/* Sets *bits to an integer of 64 bits, with a sign or without. False if the sum does not fit. */
EXACT_SHARED bool cuda_pair_integer(const struct cuda_pair *sum, bool with_sign, uint64_t *bits)
{
    const double end = with_sign ? 0x1p63 : 0x1p64, begin = with_sign ? -0x1p63 : 0;
    double low;
    const double high = exact_two_sum(sum->high, sum->low, &low);

    if (high < begin || high > end || (high == begin && low < 0) || (high == end && low >= 0))
        return false;
    *bits = high < 0 ? (uint64_t)(int64_t)high : high < 0x1p64 ? (uint64_t)high : 0; /* 2^64 */
    *bits += (uint64_t)(int64_t)low;
    return true;
}

/* Puts what group number i of all groups has. False for an integer that is not known or does not
   fit. */
EXACT_SHARED bool cuda_merge_put(const struct cuda_merge_sums *m, uint64_t i,
                                 const struct cuda_pair *sum)
{
    const double rounded = sum->high + sum->low, no = exact_from_bits(0x7ff8000000000000);
    const bool known = !sum->left && rounded - rounded == 0;

    if (m->letter != 'f' && !m->to_low)
        return known && cuda_pair_integer(sum, m->letter == 'i', (uint64_t *)m->to + i);
    ((double *)m->to)[i] = !known ? no : m->to_low ? sum->high : rounded;
    if (m->to_low)
        m->to_low[i] = sum->low;
    return true;
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
