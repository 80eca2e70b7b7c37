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
    char *input, *array; /* the latter is NULL where the input is no container */
    enum element_type type;
    uint64_t of;
    unsigned holds; /* partial_want bits that all parts hold */
    struct partial partial;
    struct merger_origin first;  /* the part that came first */
    struct merger_origin lacks;  /* the last part that does not hold what others do */
    struct merger_piece *pieces; /* after merger_finish, in the order of elements */
    size_t piece_count, piece_room;
};

struct merger {
    struct merged *merged; /* after merger_finish, in the order of names */
    size_t count, room;
    size_t *slots; /* by the hash of the names: a number in `merged` and one more, or 0 */
    size_t slot_count;
};

enum merger_verdict {
    MERGER_TAKEN,
    MERGER_TYPE,   /* it is of another type than the first part of the same array */
    MERGER_LENGTH, /* it is of an array of another length */
    MERGER_MEMORY
};

/* Makes an empty merger, to be freed by merger_close. */
void merger_open(struct merger *m);
void merger_close(struct merger *m);

/* Takes a part. *merged is the array that it belongs to, if that is not NULL; it lives until the
   next call. */
enum merger_verdict merger_take(struct merger *m, const struct partial_text *part,
                                struct merger_origin origin, const struct merged **merged);

/* Puts arrays and pieces in order, when all parts have been taken. */
void merger_finish(struct merger *m);

/* Finds the first two pieces of an array that overlap; false if there are none. Only after
   merger_finish. */
bool merged_overlap(const struct merged *a, const struct merger_piece **one,
                    const struct merger_piece **other);

/* Finds the first range of elements of which no part was taken; false if there is none. Only for an
   array without overlaps. */
bool merged_gap(const struct merged *a, struct partial_range *gap);

/* Sets *text to the array's partial result, but for its names. False where it has more ranges than
   a text may have. */
bool merged_text(const struct merged *a, struct partial_text *text);

/* Appends an array to a total, as if its elements came after those of the arrays before; *total is
   all zeros but for a cleared partial result at first, and its names are left alone. False where it
   would have more ranges than a text may have, or more elements: then it is not changed. The arrays
   are of one type. */
bool merged_append(struct partial_text *total, const struct merged *a);

#endif
