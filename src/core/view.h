/*
 * Views: memory as an array of elements, with strides, a mask and a scale. A view owns nothing.
 * Functions that take a const view only read it and its memory; several threads may call them at a
 * time.
 */
#ifndef GPUREDUCE_VIEW_H
#define GPUREDUCE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/chunk.h"
#include "core/element.h"
#include "core/error.h"
#include "core/scale.h"

#define VIEW_DIMENSIONS_MAX 64

/* The form of a mask, which has an entry for each element in C order. */
enum view_mask {
    VIEW_MASK_NONE,
    VIEW_MASK_MISSING_BYTES, /* a byte each; nonzero: the element is missing */
    VIEW_MASK_VALID_BYTES,   /* a byte each; zero: the element is missing */
    VIEW_MASK_VALID_BITS     /* a bit each, the lowest of a byte first; 0: it is missing */
};

/* The places of elements in memory, in their order: that of the last dimension changes fastest. */
struct view_layout {
    const unsigned char *data; /* the first element; aligned or not */
    unsigned rank;             /* dimensions; 0 for a single element */
    uint64_t sizes[VIEW_DIMENSIONS_MAX];
    int64_t strides[VIEW_DIMENSIONS_MAX]; /* bytes from an element to the next */
};

/* Memory that this processor does not read. */
struct view_remote {
    /* Copies `count` elements from number `first` on to `to`, one after the other. Any thread. False,
       with an error, on failure. */
    bool (*copy)(void *context, uint64_t first, size_t count, void *to, struct error *error);
    void *context;
};

struct view {
    enum element_type type;
    bool swap;                 /* elements are not in this machine's byte order */
    bool contiguous;           /* they lie in their order without gaps */
    uint64_t elements;         /* the product of the sizes */
    struct view_layout shaped; /* as it was given */
    struct view_layout folded; /* with the fewest dimensions */
    enum view_mask mask_form;
    const unsigned char *mask; /* NULL with VIEW_MASK_NONE */
    uint64_t mask_offset;      /* entries of the mask before that of the first element */
    struct scale scale;
    const struct view_remote *remote; /* its elements are copied from there; NULL: they are here */
};

/* Sets the elements of a view, which keeps its mask and its scale: `strides` are in bytes; NULL: in
   C order without gaps. False if there are more than 2^63 - 1 bytes, or addresses so far apart, or
   more dimensions than a view has. */
bool view_set(struct view *v, const void *data, enum element_type type, bool swap, unsigned rank,
              const uint64_t *sizes, const int64_t *strides);

/* Puts the elements of a view without a mask into the order in which they lie in memory, which is
   the fastest to read. `shaped` stays as it is. */
void view_reorder(struct view *v);

/* Puts the dimensions of a view without a mask, of which there is at least one, into that order: places[i]
   becomes the number that dimension i had. Returns the number of dimension `axis` then. */
unsigned view_sort_dimensions(struct view *v, unsigned axis, unsigned places[VIEW_DIMENSIONS_MAX]);

/* Makes one dimension of dimension `first` and `more` behind it, which there are. False, and it stays as it
   is, if their elements do not lie as those of one. */
bool view_join(struct view *v, unsigned first, unsigned more);

/* Copies `count` elements from number `first` on to `to`, one after the other. */
void view_gather(const struct view *v, uint64_t first, size_t count, void *to);

/* Whether an element is not missing by the mask. */
static inline bool view_is_present(const struct view *v, uint64_t index)
{
    const uint64_t at = v->mask_offset + index;

    switch (v->mask_form) {
    case VIEW_MASK_NONE:
        break;
    case VIEW_MASK_MISSING_BYTES:
        return v->mask[at] == 0;
    case VIEW_MASK_VALID_BYTES:
        return v->mask[at] != 0;
    case VIEW_MASK_VALID_BITS:
        return v->mask[at / 8] >> at % 8 & 1;
    }
    return true;
}

/* The places of the elements of a chunk that a mask has left. */
struct view_places {
    const struct view *view;
    uint64_t first; /* number of the first element of the chunk, missing or not */
    uint64_t
        start; /* number of the view's first element in a larger array; view_make_chunk makes it
                       0 */
};

/* Makes *chunk `count` elements from number `first` on, but for those that the mask leaves out.
   They lie where they are, if they are contiguous and the request borrows, or in its buffer, which
   has room for all. *places must stay as long as the chunk. Returns how many are left out; if that
   is all of them, there is no chunk. */
size_t view_make_chunk(const struct view *v, uint64_t first, size_t count,
                       const struct chunk_request *request, struct view_places *places,
                       struct chunk *chunk);

#endif
