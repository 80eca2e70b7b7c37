/*
 * Pairs of arrays and the outcome of their comparison: plain data, and questions about it.
 */
#ifndef GPUREDUCE_RUN_DIFF_ITEM_H
#define GPUREDUCE_RUN_DIFF_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/difference.h"
#include "run/session_options.h"
#include "source/source.h"

enum { DIFF_A, DIFF_B, DIFF_SIDES };

struct diff_request {
    const struct session_options *options; /* only input, nan, threads, chunk_size and progress are
                                              used */
    struct difference_tolerance tolerance;
    bool verdict_only; /* it is enough to know whether anything differs: stop at the first */
    struct {
        const char *name;   /* as the user gave it */
        char *const *paths; /* the files that it stands for */
        int count;
        const struct source_index *index; /* as in struct source_options */
    } sides[DIFF_SIDES];
};

/* How two arrays compare. */
enum diff_kind {
    DIFF_SAME,
    DIFF_VALUES, /* elements that count as different */
    DIFF_BYTES,  /* the type is not read, and the bytes differ */
    DIFF_SHAPE,  /* shapes, or numbers of elements */
    DIFF_TYPE,   /* values are not compared */
    DIFF_ONLY_A, /* only one side has an array of this name */
    DIFF_ONLY_B,
    DIFF_FAILED /* it cannot be told: an error of the comparison says why */
};

/* A pair of arrays, or an array of one side. */
struct diff_item {
    const char *name; /* NULL where both sides are one array without a name */
    enum diff_kind kind;
    struct {
        const struct source_info *info; /* of the file; NULL where the side has no such array */
        const struct container_array *array; /* NULL where the file is one array */
        uint64_t elements; /* to compare, which are bytes where the type is not read. SOURCE_UNKNOWN
                              of a stream that was not read to its end, and of bytes that are not in
                              one place */
    } sides[DIFF_SIDES];
    bool compared;                   /* the values were, and what follows is set */
    struct difference_result result; /* of DIFF_BYTES, bytes are the elements */
};

/* The shape of an item's array on one side, which has it. */
void diff_shape(const struct diff_item *item, int side, struct source_shape *shape);

/* The elements of an item's array on one side, which has it; of a type that is not read, by its
   shape. SOURCE_UNKNOWN where there is no shape, and of a stream that was not read to its end. */
uint64_t diff_elements(const struct diff_item *item, int side);

/* Whether an index of the item has a place in each dimension: the shape is known on one side at
   least, and the same where both are. */
bool diff_has_places(const struct diff_item *item, struct source_shape *shape);

/* Whether two known shapes are the same. */
bool diff_same_shape(const struct source_shape *a, const struct source_shape *b);

/* The type of an item's array on one side, which has it, and whether its elements are of the other
   byte order. The elements of an unsupported type are bytes. */
enum element_type diff_element(const struct diff_item *item, int side, bool *swap);

/* Whether the type is not read. */
bool diff_is_bytes(const struct diff_item *item, int side);

/* The name of the type of an item's array on one side, which has it. */
const char *diff_type(const struct diff_item *item, int side);

#endif
