/*
 * Elements in device memory, in one row or in rows that lie apart, as kernels read them: in units of 16
 * bytes, which may be made of words of 4 bytes, even of two rows. Compiles as C and as CUDA. Pure functions.
 */
#ifndef GPUREDUCE_CUDA_ROWS_H
#define GPUREDUCE_CUDA_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/exact.h"

#define CUDA_ROWS_UNIT 16 /* bytes */

/* The most steps that rows that lie apart have, and more than there are from one to the next. */
#define CUDA_ROWS_MOST ((uint64_t)1 << 31)

struct cuda_rows {
    const void *data; /* aligned to a step; or, of few elements, to one: see CUDA_UNALIGNED_MAX */

    /* 0: all lie in one row. Else step number i, of a unit, or of one of the four `words` of each, lies in row
       number i * inverse >> shift, and a row begins `gap` steps behind the end of the one before. */
    uint32_t inverse;
    unsigned shift;
    int32_t gap;
    bool words;
};

/* Rows of `row` steps, each `pitch` steps behind the one before, which is less than CUDA_ROWS_MOST; all have so
   many steps at most. The inverse is rounded up: up to that many steps it makes no number of a row too large
   (T. Granlund, P. L. Montgomery, "Division by invariant integers using multiplication", 1994). */
static inline struct cuda_rows cuda_rows_apart(const void *data, bool words, uint64_t row,
                                               int64_t pitch)
{
    struct cuda_rows rows = {data, 0, 31, (int32_t)(pitch - (int64_t)row), words};

    while (row > (uint64_t)1 << (rows.shift - 31))
        rows.shift++;
    rows.inverse = (uint32_t)((((uint64_t)1 << rows.shift) + row - 1) / row);
    return rows;
}

/* The place of step number i, in steps from the first. */
EXACT_SHARED int64_t cuda_rows_place(const struct cuda_rows *r, uint64_t i)
{
    const uint32_t row = (uint32_t)((uint64_t)(uint32_t)i * r->inverse >> r->shift);

    return (int64_t)i + (int64_t)(int32_t)row * r->gap;
}

#endif
