/*
 * Slices (--axis) on a GPU: what their kernels offer to the engine, as kernels.h does.
 */
#ifndef GPUREDUCE_CUDA_SLICE_LAUNCH_H
#define GPUREDUCE_CUDA_SLICE_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/exact.h"
#include "core/scale.h"
#include "core/view.h"
#include "cuda/list.h"
#include "cuda/missing.h"
#include "cuda/slice_finish.h"
#include "engine/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A threshold (struct partial_split) among the element_keys of a type. */
struct cuda_slice_split {
    int64_t first; /* the least that is not below it */
    int64_t equal; /* the last one that is equal to it, with `has_equal` */
    bool has_equal, all_below;
};

struct cuda_slice_launch {
    enum element_type type;
    bool swap; /* elements are not in the machine's byte order */
    bool columns;
    const void *data;    /* device memory, aligned to the elements */
    size_t rows, length; /* of rows; or rows of so many columns */
    size_t pitch; /* elements from the beginning of a row to that of the next, `length` at least */
    /* Rows are cut into parts of `part` elements but for the last: a multiple of 16 and
       CUDA_SLICE_PART at most, or CUDA_SLICE_LONG where cuda_slices_have_long. For columns, part
       number i of each has every so manyth row, from the i-th on: each has some. Parts of columns are
       fastest if all parts together have a multiple of CUDA_SLICE_COLUMNS columns. */
    size_t parts, part;
    /* For columns: blocks of as many rows that follow, whose columns are further slices. */
    size_t further;
    /* Device memory, for what is found: of rows, of all parts of each; of columns, of all columns
       of each part, a block after the other. As struct engine_found has them; `low` NULL: `high` is to be
       the rounded sum. Aligned to 16 bytes where all parts of columns together have a multiple of
       CUDA_SLICE_COLUMNS columns, of types of more than a byte of two. */
    double *high, *low;
    void *min, *max;
    /* Whether magnitudes of floats are added up in place of elements, for CUDA_SLICE_L1; and whether sums of
       squares of 64 bits may be rounded: `bound`, where it is not NULL, gets what that of a part is off by at
       most. Not for records. */
    bool magnitudes, rounded;
    double *bound;
    /* If it is not NULL, the place of the results that are wanted, aligned in that way, and nothing
       else is put anywhere: of slices that are not cut, and without records. Sums of integers of up
       to 32 bits must fit. `unknown`: floats of them that are CUDA_SLICE_UNKNOWN, and sums of
       integers of 64 bits that do not fit, slice i with number first + i. */
    uint64_t *results;
    struct cuda_slice_wish wish;
    struct cuda_list unknown;
    uint64_t first;

    /* For records alone: what is wanted (partial_want bits), and where the rest of it goes. Then
       there are fewer than 2^32 elements. */
    unsigned wants;
    struct engine_found_more more;
    struct cuda_missing missing;   /* with PARTIAL_MISSING */
    struct cuda_slice_split split; /* with PARTIAL_SPLIT */
};

/* A slice that several blocks reduce exactly, as far as they are done. Zeros are nothing. */
struct cuda_slice_sum {
    int64_t digit[EXACT_DIGITS]; /* of the sum of the finite elements */
    /* The greatest ~key and key of those that are not NaN, which are exact_keys made unsigned. */
    uint64_t least, most;
    uint64_t missing, nan, positive, negative; /* as struct cuda_slice_seen has them */
    uint32_t blocks;                           /* that are done */
};

/* Slices wherever their elements lie, and the results that are wanted of them. */
struct cuda_slice_job {
    enum element_type type;
    bool swap;
    struct view_layout slices; /* their first elements, in the order of their numbers */
    int64_t step;              /* bytes from an element to the next one of its slice */
    uint64_t length, all;      /* elements of a slice; slices */
    /* The numbers of slices whose results are not known, which cuda_slices_look and cuda_slices_select
       add to. The other two find those of floats among them again that are CUDA_SLICE_UNKNOWN; if
       there are more than room, all slices count as listed. */
    struct cuda_list list;
    struct cuda_missing missing; /* none: its count is 0 */
    struct cuda_slice_wish wish;
    uint64_t *results; /* of all slices, in device memory */
    unsigned blocks;   /* of the kernel; 1 at least */

    /* Elements of a slice lie closer together than its neighbours do. For cuda_slices_look and
       cuda_slices_select: neighbouring threads read elements of a slice; else the same one of several. */
    bool along;
    bool row;       /* they lie in a row, and all slices begin at multiples of CUDA_ALIGNMENT */
    unsigned lanes; /* for these two: threads that read a slice together, a power of two */

    /* For cuda_slices_look: each slice is cut into so many parts, of so many elements but for the last, in a
       row a multiple of 16. If there are several: device memory for CUDA_LOOK_STATE bytes of each. */
    uint32_t parts, part;
    void *states;

    /* For cuda_slices_select: slices that a block has at once, a power of two, and keys from one to the next
       in shared memory; 0: they are not there, and are read again and again: CUDA_SELECT_AGAIN of them at
       most. If it has one, all threads find the quantile; if it has more, a warp does, or as many lanes as
       `few` says: a power of two, at least one for each element; 0: elements are not few. */
    unsigned across, pitch, few;
    struct quantile_place place; /* of the quantile among `length` numbers */
    size_t shared;               /* bytes of shared memory that a block of the device may have */

    /* For cuda_slices_exact. `whole`: lanes of a warp first do with a slice what cuda_slices_whole does, and it
       has one block. Else, if no more slices are listed than `sums` has, so many blocks share one that each
       has a segment. */
    bool whole;
    uint64_t segment; /* elements */
    struct cuda_slice_sum
        *sums; /* device memory: zeros, before and after; NULL where sum_count is 0 */
    uint64_t sum_count;
    uint32_t *done; /* device memory: 0, before and after; the blocks that are done */
};

/* The first element of a slice. */
EXACT_SHARED const unsigned char *cuda_slice_from(const struct cuda_slice_job *l, uint64_t slice)
{
    const unsigned char *at = l->slices.data;

    for (unsigned d = l->slices.rank; d-- > 1;) {
        const uint64_t size = l->slices.sizes[d], rest = slice / size;

        at += (int64_t)(slice - rest * size) * l->slices.strides[d];
        slice = rest;
    }
    return l->slices.rank > 0 ? at + (int64_t)slice * l->slices.strides[0] : at;
}

/* Finds a threshold among the element_keys. */
struct cuda_slice_split cuda_slice_split(enum element_type type, const struct partial_split *split);

/* Whether it takes records to find this: not sums and extremes of floats alone. All that is kept of
   a part of a slice is its record. */
static inline bool cuda_slices_are_records(enum element_type type, unsigned wants)
{
    return !element_is_float(type) || (wants & ~(unsigned)(PARTIAL_SUM | PARTIAL_EXTREMES));
}

/* Whether kernels find this without records all the same: extremes of integers; sums and squares of types
   of up to 32 bits; or sums and squares of 64 bits that may be `rounded`. They put results, too. */
static inline bool cuda_slices_are_plain(enum element_type type, unsigned wants, bool rounded)
{
    if (type == ELEMENT_BOOL)
        return false;
    if (wants == PARTIAL_EXTREMES)
        return element_is_integer(type);
    return wants == (PARTIAL_SUM | PARTIAL_SQUARES) &&
           (rounded || element_formats[type].size < sizeof(double));
}

/* Threads of a block of cuda_slices_look, and bytes that are kept of a part of a slice. Threads of one of
   cuda_slices_select, slices that it has in shared memory at most, and those that it reads again and again. */
#define CUDA_LOOK_THREADS 256
#define CUDA_LOOK_STATE 40
#define CUDA_SELECT_THREADS 512
#define CUDA_SELECT_SLICES 256
#define CUDA_SELECT_AGAIN 8

/* Bits of keys of elements of so many bytes that a histogram tells apart, and its words: a bin for each value of
   these bits, and one word more after 64. */
EXACT_SHARED int cuda_select_digit(size_t size)
{
    return size == 1 ? 8 : 11;
}
EXACT_SHARED unsigned cuda_select_words(size_t size)
{
    const unsigned bins = 1u << cuda_select_digit(size);

    return bins + bins / 64;
}

/* Bytes of shared memory for each slice that a block reads again and again: one alone has more. */
EXACT_SHARED unsigned cuda_select_room(unsigned across, size_t size)
{
    return across == 1 ? 32u << 10 : cuda_select_words(size) * (unsigned)sizeof(uint32_t);
}

/* Shared memory that a block of cuda_slices_select needs. */
static inline size_t cuda_select_bytes(const struct cuda_slice_job *l)
{
    const size_t size = element_formats[l->type].size;

    if (l->pitch == 0)
        return (size_t)l->across * cuda_select_room(l->across, size);
    return (size_t)l->across * l->pitch *
           (size == sizeof(uint64_t) ? sizeof(uint64_t) : sizeof(uint32_t));
}

#define CUDA_SLICE_PART 1024
#define CUDA_SLICE_LONG 8192
#define CUDA_SLICE_COLUMNS 4

/* Whether rows of so many elements may be cut into long parts. */
static inline bool cuda_slices_have_long(enum element_type type, unsigned wants, uint64_t length)
{
    const size_t size = element_size(type);

    return (size == 2 || size == 4) && length % (16 / size) == 0 &&
           (wants == PARTIAL_SUM || !cuda_slices_are_records(type, wants));
}

/* Finds what is wanted of slices on the device: asynchronous, on the stream and the device that
   is current. */
cudaError_t cuda_slices(const struct cuda_slice_launch *launch, cudaStream_t stream);

/* Whether cuda_slices_whole can find results again: those of floats, and squares of integers of 64 bits. */
static inline bool cuda_slices_have_whole(const struct cuda_slice_job *l)
{
    return !element_is_integer(l->type) ||
           (element_formats[l->type].size == sizeof(double) && cuda_slice_squares(l->wish.op));
}

/* Finds results again, in the same way: lanes of a warp each slice. Some remain unknown. */
cudaError_t cuda_slices_whole(const struct cuda_slice_job *launch, cudaStream_t stream);

/* Finds sums, means and extremes exactly, in the same way: none remains unknown. Empties the list. */
cudaError_t cuda_slices_exact(const struct cuda_slice_job *launch, cudaStream_t stream);

/* Finds results that need no sums, in the same way, of slices of fewer than 2^31 elements, which are aligned.
   Integers that there are none of are listed. */
cudaError_t cuda_slices_look(const struct cuda_slice_job *launch, cudaStream_t stream);

/* Finds quantiles, in the same way, of such slices. Those that binary64 does not tell are listed. */
cudaError_t cuda_slices_select(const struct cuda_slice_job *launch, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
