/*
 * Merging partial results: those of parts of arrays are put together, array by array, in whatever
 * order they come. Exact: what comes out depends on neither the order nor the parts.
 *
 * A merger belongs to one thread at a time. Nothing here prints.
 */
#ifndef GPUREDUCE_MERGER_H
#define GPUREDUCE_MERGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/partial_text.h"

/* The origin of a partial result, for messages. The caller chooses the numbers. */
struct merger_origin {
    size_t file;
    uint64_t line;
};

/* One range of elements that was merged. */
struct merger_piece {
    struct partial_range range;
    struct merger_origin origin;
};

/* The merged parts of one array. */
struct merged {
    char *input, *array; /* names; `array` is NULL if the input is not a container */
    enum element_type type;
    struct missing missing;
    struct scale scale;
    uint64_t of;
    unsigned holds; /* partial_want bits that all parts hold */
    struct partial partial;
    struct merger_origin first;  /* origin of the first part */
    struct merger_origin lacks;  /* origin of the last part that lacks bits which others hold */
    struct merger_piece *pieces; /* after merger_finish, in the order of elements */
    size_t piece_count, piece_room;
};

struct merger {
    struct merged *merged; /* arrays; after merger_finish, in the order of names */
    size_t count, room;    /* arrays, and arrays that there is memory for */
    size_t *slots;         /* hash table of the names: an index of `merged` plus 1, or 0 */
    size_t slot_count;     /* slots */
};

enum merger_verdict {
    MERGER_TAKEN,   /* the part was merged */
    MERGER_TYPE,    /* its type is not that of the first part of the array */
    MERGER_MISSING, /* its missing values are not those of the first part */
    MERGER_SCALE,   /* its scale is not that of the first part */
    MERGER_LENGTH,  /* its array has another length than that of the first part */
    MERGER_MEMORY   /* memory is lacking */
};

/* Makes an empty merger, to be freed by merger_close. */
void merger_open(struct merger *m);
void merger_close(struct merger *m);

/* Merges a part. *merged: the array that it belongs to, valid until the next call. A part of none of
   the elements, as of what failed, gives way to the others, whatever it says of the array. */
enum merger_verdict merger_take(struct merger *m, const struct partial_text *part,
                                struct merger_origin origin, const struct merged **merged);

/* Sorts arrays and pieces, after the last part. */
void merger_finish(struct merger *m);

/* Finds the first two pieces of an array that overlap; false if there are none. Only after
   merger_finish. */
bool merged_overlap(const struct merged *a, const struct merger_piece **one,
                    const struct merger_piece **other);

/* Finds the first range of elements that no part has; false if there is none. Only for an array
   without overlaps. */
bool merged_gap(const struct merged *a, struct partial_range *gap);

/* Sets *text to the array's partial result, without its names. False if it has more ranges than
   a text may have. */
bool merged_text(const struct merged *a, struct partial_text *text);

/* Appends an array to a total, whose elements are those of all arrays in turn. All arrays must
   have one type and scale, but not the same missing values. At first *total is all zeros with a
   cleared partial result, and the missing values of the first array; its names are not changed.
   False, without a change, if it would have more ranges or elements than a text may have. */
bool merged_append(struct partial_text *total, const struct merged *a);

#endif
