/*
 * The kernels of array.h, array_masks.h, array_pieces.h and array_slices.h, as kernels.h does: they hand
 * the host a partial result, copy elements, or those that a mask leaves, into a row, find the first
 * elements of these that have a value, compare rows, merge parts of slices, and look for results that
 * are not known.
 */
#ifndef GPUREDUCE_CUDA_ARRAY_LAUNCH_H
#define GPUREDUCE_CUDA_ARRAY_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <string.h>

#include "core/exact.h"
#include "core/partial.h"
#include "core/view.h"
#include "cuda/list.h"
#include "cuda/missing.h"
#include "cuda/pieces.h"
#include "cuda/rows.h"
#include "cuda/slice_finish.h"

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
    const void *from;
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

/* Copies the elements of a gather that a mask leaves, in any order. */
struct cuda_keep {
    struct cuda_gather gather;
    enum view_mask form;
    const unsigned char *mask;
    uint64_t first; /* number of the mask's entry for the first element */
    uint64_t *kept; /* device memory: 0; becomes how many were copied */
};

/* The byte of a mask that has the entry of element number i of a gather; and whether that leaves it. */
EXACT_SHARED const unsigned char *cuda_keep_at(const struct cuda_keep *k, uint64_t i)
{
    return k->mask + (k->form == VIEW_MASK_VALID_BITS ? (k->first + i) / 8 : k->first + i);
}
EXACT_SHARED bool cuda_keep_tells(const struct cuda_keep *k, uint64_t i, unsigned char byte)
{
    return k->form == VIEW_MASK_MISSING_BYTES ? byte == 0
           : k->form == VIEW_MASK_VALID_BYTES ? byte != 0
                                              : byte >> (k->first + i) % 8 & 1;
}

/* Whether a mask leaves element number i of a gather. */
EXACT_SHARED bool cuda_keep_has(const struct cuda_keep *k, uint64_t i)
{
    return k->form == VIEW_MASK_NONE || cuda_keep_tells(k, i, *cuda_keep_at(k, i));
}

/* Copies the floats of a gather, and makes those that a mask does not leave the NaN of all bits. One that has
   these bits becomes another NaN. */
struct cuda_mask {
    struct cuda_keep of; /* all but `kept` */
    uint64_t other;      /* the bits of that, as they lie in memory */
};

/* The bits of an element that comes as `bits`, and that the mask leaves or not. */
EXACT_SHARED uint64_t cuda_mask_bits(const struct cuda_mask *m, bool has, uint64_t bits)
{
    const uint64_t all = UINT64_MAX >> (64 - 8 * m->of.gather.size);

    return !has ? all : bits == all ? m->other : bits;
}

/* Finds the first elements of a gather that a mask leaves, if there is one, and whose bits, in the
   machine's byte order, lie in ranges. */
struct cuda_find {
    struct cuda_keep of; /* all but `gather.to` and `kept` */
    bool swap;           /* elements are not in the machine's byte order */
    unsigned count;      /* of the ranges */
    struct cuda_missing_range ranges[CUDA_FIND_MAX];
    uint64_t
        *found; /* device memory: of each range the number of its first element in the gather, if
                        that is less than what was there */
};

/* The ranges that an element with these bits, as they lie in memory, is in: bit t for number t. */
EXACT_SHARED unsigned cuda_find_ranges(const struct cuda_find *f, uint64_t bits)
{
    uint64_t swapped = 0;
    unsigned in = 0;

    for (unsigned i = 0; f->swap && i < f->of.gather.size; i++)
        swapped = swapped << 8 | (bits >> 8 * i & 255);
    bits = f->swap ? swapped : bits;
    for (unsigned t = 0; t < f->count; t++)
        in |= (unsigned)((bits & f->ranges[t].mask) - f->ranges[t].first <= f->ranges[t].distance)
              << t;
    return in;
}

/* Compares two rows of bytes in pieces of CUDA_PIECE_BYTES, and copies those that differ. All is device
   memory. */
struct cuda_find_pieces {
    const unsigned char *sides[2]; /* aligned */
    uint64_t bytes;                /* of each side */
    struct cuda_list pieces;       /* the numbers of those that differ */
    uint64_t first;                /* number of the first piece */
    unsigned char *copies[2]; /* aligned, with the room of `pieces`: in the order of the numbers;
                                      what is beyond the end is zero */
};

/* The findings of kernels about parts of slices: arrays with an entry for each part; NULL where it is
   not wanted. */
struct cuda_slice_parts {
    double *high, *low; /* the sum of both is that of the elements; NaN if that is not known */
    double *squares[SLICE_SQUARES_MAX]; /* the sum of all is that of the squares, */
    double *bound;                      /* or is off by this at most; NULL: it is not */
    void *min,
        *max; /* element_keys, or, if they are narrow, int32_t as struct engine_found has them */
    uint32_t *missing; /* elements */
    bool narrow;
};

/* Merges the parts of slices. All but the numbers is device memory. */
struct cuda_merge {
    struct cuda_slice_parts from;
    uint64_t slices, parts;
    /* 0: the parts of a slice lie side by side. Else the first parts of so many slices come first, then
       their second ones, and after the last those of as many slices more. */
    uint64_t width;
    struct cuda_slice_wish wish; /* what becomes of them: */
    uint64_t *to;                /* results */

    /* Results that are not known: the numbers of their slices, of which the first of `slices` has
       number `first`. */
    struct cuda_list unknown;
    uint64_t first;

    /* If there are more than one, they are not finished: as many parts of each slice, side by
       side, as there are groups of its parts. */
    uint64_t groups;
    struct cuda_slice_parts group;
};

/* Finds which results are CUDA_SLICE_UNKNOWN. */
struct cuda_find_unknown {
    const uint64_t *results;
    uint64_t first, count; /* that are looked at */
    struct cuda_list unknown;
};

/* The first part of group number g. */
EXACT_SHARED uint64_t cuda_merge_first(const struct cuda_merge *m, uint64_t g)
{
    return m->parts / m->groups * g + (m->parts % m->groups < g ? m->parts % m->groups : g);
}

/* The place of part number `part` of a slice. */
EXACT_SHARED uint64_t cuda_merge_at(const struct cuda_merge *m, uint64_t slice, uint64_t part)
{
    const uint64_t block = m->width > 0 ? slice / m->width : slice;

    return m->width > 0 ? (block * m->parts + part) * m->width + (slice - block * m->width)
                        : slice * m->parts + part;
}

/* The element_key of an extreme. */
EXACT_SHARED int64_t cuda_parts_key(const struct cuda_slice_parts *p, const void *keys, uint64_t i)
{
    if (!p->narrow)
        return ((const int64_t *)keys)[i];
    const int32_t order = ((const int32_t *)keys)[i];
    /* cppcheck-suppress shiftTooManyBitsSigned ; all compilers for this shift signs in */
    const uint32_t bits = (uint32_t)order ^ ((uint32_t)(order >> 31) >> 1);
#ifdef __CUDA_ARCH__
    const float x = __uint_as_float(bits);
#else
    float x;

    memcpy(&x, &bits, sizeof x);
#endif
    return exact_key((double)x);
}

/* Adds part number i to what is known of a slice. */
EXACT_SHARED void cuda_parts_take(const struct cuda_slice_parts *p, uint64_t i,
                                  struct cuda_slice_state *s)
{
    struct cuda_slice_state part;

    cuda_slice_clear(&part);
    part.sum.high = p->high[i];
    part.sum.low = p->low[i];
    SLICE_UNROLL
    for (int k = 0; k < SLICE_SQUARES_MAX; k++)
        if (p->squares[k])
            part.squares[k] = p->squares[k][i];
    if (p->bound)
        part.bound = p->bound[i];
    if (p->min) {
        part.min = cuda_parts_key(p, p->min, i);
        part.max = cuda_parts_key(p, p->max, i);
    }
    if (p->missing)
        part.missing = p->missing[i];
    cuda_slice_merge(s, &part);
}

/* Puts what group number i of all groups has. False for a result that is not known, or an integer that
   does not fit. */
EXACT_SHARED bool cuda_merge_put(const struct cuda_merge *m, uint64_t i,
                                 const struct cuda_slice_state *s)
{
    const struct cuda_slice_parts *to = &m->group;

    if (m->groups == 1)
        return cuda_slice_result(&m->wish, s, &m->to[i]);
    to->high[i] = s->sum.left ? exact_from_bits(EXACT_NAN) : s->sum.high;
    to->low[i] = s->sum.low;
    SLICE_UNROLL
    for (int k = 0; k < SLICE_SQUARES_MAX; k++)
        if (to->squares[k])
            to->squares[k][i] = s->squares[k];
    if (to->bound)
        to->bound[i] = s->bound;
    if (to->min) {
        ((int64_t *)to->min)[i] = s->min;
        ((int64_t *)to->max)[i] = s->max;
    }
    if (to->missing)
        to->missing[i] = (uint32_t)s->missing;
    return true;
}

/* A gather of `count` elements from number `first` on; its `to` is not set. */
static inline struct cuda_gather cuda_gather_of(const struct view_layout *layout, size_t size,
                                                uint64_t first, uint64_t count)
{
    struct cuda_gather gather = {layout[0], first, count, (unsigned)size, NULL};

    if (gather.from.rank == 0) {
        gather.from.rank = 1;
        gather.from.strides[0] = 0;
    }
    return gather;
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
        const uint64_t size = g->from.sizes[d];
        /* A division of 32 bits takes a third of the time. */
        const uint64_t rows = ((i | size) >> 32) == 0 ? (uint32_t)i / (uint32_t)size : i / size;

        at += (int64_t)(i - rows * size) * g->from.strides[d];
        i = rows;
    }
    return at + (int64_t)i * g->from.strides[0];
}

/* All are asynchronous, on the stream that is given and the device that is current. */
cudaError_t cuda_publish(const struct cuda_publish *publish, cudaStream_t stream);
cudaError_t cuda_gather(const struct cuda_gather *gather, int multiprocessors, cudaStream_t stream);
cudaError_t cuda_keep(const struct cuda_keep *keep, int multiprocessors, cudaStream_t stream);
cudaError_t cuda_mask(const struct cuda_mask *mask, int multiprocessors, cudaStream_t stream);
cudaError_t cuda_find(const struct cuda_find *find, int multiprocessors, cudaStream_t stream);
cudaError_t cuda_find_pieces(const struct cuda_find_pieces *find, int multiprocessors,
                             cudaStream_t stream);
cudaError_t cuda_merge(const struct cuda_merge *merge, int multiprocessors, cudaStream_t stream);
cudaError_t cuda_find_unknown(const struct cuda_find_unknown *find, int multiprocessors,
                              cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
