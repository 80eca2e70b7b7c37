/*
 * Elements in device memory, in one row or in rows that lie apart, as kernels read them: in units of 16
 * bytes, which may be made of elements that lie apart, even of two rows. Compiles as C and as CUDA. Pure
 * functions.
 */
#ifndef GPUREDUCE_CUDA_ROWS_H
#define GPUREDUCE_CUDA_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/exact.h"

#define CUDA_ROWS_UNIT 16 /* bytes */

/* The most steps that rows that lie apart have, and more than gaps have. */
#define CUDA_ROWS_MOST ((uint64_t)1 << 31)

/* Which row step number i lies in: number i * inverse >> shift. The inverse is rounded up: up to CUDA_ROWS_MOST it
   makes no number too large (T. Granlund, P. L. Montgomery, "Division by invariant integers using
   multiplication", 1994). `gap`: a row begins so many steps after the place of the step that would follow the
   one before. */
struct cuda_leaps {
    uint32_t inverse; /* 0: all lie in one row */
    unsigned shift;
    int32_t gap;
};

/* Rows of `length`, at least one. */
static inline struct cuda_leaps cuda_leaps_of(uint64_t length, int64_t gap)
{
    struct cuda_leaps leaps = {0, 31, (int32_t)gap};

    while (length > (uint64_t)1 << (leaps.shift - 31))
        leaps.shift++;
    leaps.inverse = (uint32_t)((((uint64_t)1 << leaps.shift) + length - 1) / length);
    return leaps;
}

EXACT_SHARED uint32_t cuda_leaps_number(const struct cuda_leaps *l, uint64_t i)
{
    return (uint32_t)((uint64_t)(uint32_t)i * l->inverse >> l->shift);
}

struct cuda_rows {
    const void *data; /* aligned to a step; or, of few elements, to one: see CUDA_UNALIGNED_MAX */
    struct cuda_leaps row, block; /* of steps, and of rows: blocks lie apart, too */

    /* 0: steps are units, one after the other in a row. Else steps are elements of at least two bytes, so many
       apart in a row, and there is one block. */
    int32_t stride;
};

/* The place of unit number i, in units from the first. */
EXACT_SHARED int64_t cuda_rows_unit(const struct cuda_rows *r, uint64_t i)
{
    const uint32_t row = cuda_leaps_number(&r->row, i), block = cuda_leaps_number(&r->block, row);

    return (int64_t)i + (int64_t)(int32_t)row * r->row.gap + (int64_t)(int32_t)block * r->block.gap;
}

/* The place of element number i, in elements from the first, where elements are the steps. */
EXACT_SHARED int64_t cuda_rows_element(const struct cuda_rows *r, uint64_t i)
{
    return (int64_t)(int32_t)i * r->stride +
           (int64_t)(int32_t)cuda_leaps_number(&r->row, i) * r->row.gap;
}

/* Element number i, of `size` bytes. */
EXACT_SHARED const unsigned char *cuda_rows_at(const struct cuda_rows *r, unsigned size, uint64_t i)
{
    const uint64_t per_unit = CUDA_ROWS_UNIT / size;

    return (const unsigned char *)r->data +
           (size > 1 && r->stride ? cuda_rows_element(r, i) * size
                                  : cuda_rows_unit(r, i / per_unit) * CUDA_ROWS_UNIT +
                                        (int64_t)(i % per_unit * size));
}

#endif
