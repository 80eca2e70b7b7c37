/*
 * Items of a comparison: pairs of arrays and how they compare. Plain data, and functions that read
 * it, which any thread may call.
 */
#ifndef GPUREDUCE_RUN_DIFF_ITEM_H
#define GPUREDUCE_RUN_DIFF_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/difference.h"
#include "core/rename.h"
#include "cuda/array_pieces.h"
#include "run/session_options.h"
#include "source/source.h"

/* The two sides. */
enum { DIFF_A, DIFF_B, DIFF_SIDES };

/* The request of a comparison, which does not change. */
struct diff_request {
    const struct session_options *options; /* only nan, missing, threads, chunk_size, progress
                                              and the log of input are used */
    const struct difference_tolerances *tolerances; /* patterns match names on either side */
    const struct rename *rename; /* arrays are matched by their names after this; NULL: by names */
    bool cast;                   /* it is asked whether side B is what side A is cast to */
    bool ignore_dtype;           /* arrays of two types whose values are the same do not differ */
    bool verdict_only;           /* stop at the first difference */
    bool all_results;            /* those of arrays that do not differ are wanted, too */
    /* If the sides are one array each, in memory of one device, whose bits tell whether elements
       are equal: it has begun with them, and finds the pieces that differ. NULL: none. */
    struct cuda_comparer *comparer;
    struct {
        const char *name;                   /* the name that the user gave */
        char *const *paths;                 /* the files that it stands for */
        int count;                          /* files */
        const struct source_options *input; /* how the files are read */
    } sides[DIFF_SIDES];
};

/* How two arrays compare. */
enum diff_kind {
    DIFF_SAME,
    DIFF_VALUES,  /* elements differ */
    DIFF_BYTES,   /* the stored bytes of a type that is not read differ */
    DIFF_SHAPE,   /* shapes, or numbers of elements, differ */
    DIFF_TYPE,    /* types differ, and perhaps shapes and values as well */
    DIFF_ONLY_A,  /* only side A has an array of this name */
    DIFF_ONLY_B,  /* only side B has an array of this name */
    DIFF_RENAMED, /* the elements are the same, bit by bit, and the names are not */
    DIFF_FAILED   /* unknown; `error` tells why */
};

/* An array of one side. */
struct diff_side {
    struct source *source;               /* the file; NULL: the side has no such array */
    const struct container_array *array; /* NULL if the file is one array */
    size_t number;                       /* number of the array in the source */
    bool is_bytes;                       /* the type is not read, so that bytes are compared */
    enum element_type type;              /* ELEMENT_U8 if it is not read */
    const char *type_name;               /* that of the file, if it is not read */
    bool swap;                           /* elements are not in this machine's byte order */
    struct scale scale;                  /* that of the elements; none of bytes */
    uint64_t elements;       /* elements to compare, or bytes of a type that is not read;
                          SOURCE_UNKNOWN of a stream that was not read to its end, or of
                          bytes that are not in one place */
    struct missing *missing; /* its missing values, of malloc; NULL: there are none */
};

/* A pair of arrays, or an array of one side. */
struct diff_item {
    const char *name;       /* NULL if both sides are one array without a name */
    const char *other_name; /* the name on side B, if it is another; NULL */
    enum diff_kind kind;
    size_t error; /* 1 + the number of its first error in the comparison; 0: none */
    struct diff_side sides[DIFF_SIDES];
    bool compared;                   /* the values were compared, and `result` is set */
    struct difference_result result; /* of DIFF_BYTES, elements are bytes */
};

/* In the following functions the array must exist on side `side`. */

/* The shape of an item's array on one side. */
void diff_shape(const struct diff_item *item, int side, struct array_shape *shape);

/* The number of elements of an item's array on one side; of a type that is not read, by its shape.
   SOURCE_UNKNOWN if there is no shape, or of a stream that was not read to its end. */
uint64_t diff_elements(const struct diff_item *item, int side);

/* Sets *shape to that in which elements have an index in each dimension: at least one shape is known,
   and if both are, they are the same. Without dimensions if there is none. */
void diff_place_shape(const struct diff_item *item, struct array_shape *shape);

/* Whether two known shapes are the same. */
bool diff_same_shape(const struct array_shape *a, const struct array_shape *b);

/* The tolerance of an item. */
const struct difference_tolerance *diff_tolerance(const struct diff_request *request,
                                                  const struct diff_item *item);

/* Whether pattern `number` of the tolerances matches a name of an item. */
bool diff_tolerance_matches(const struct diff_request *request, unsigned number,
                            const struct diff_item *item);

#endif
