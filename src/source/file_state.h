/*
 * The state of file.c, which file_claim.c and file_compressed.c share.
 */
#ifndef GPUREDUCE_FILE_STATE_H
#define GPUREDUCE_FILE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/access.h"
#include "source/array_order.h"
#include "source/source_impl.h"
#include "sys/align.h"
#include "sys/mapping.h"

/* Bytes of the file, from `begin` to before `end`. */
struct file_range {
    uint64_t begin, end;
};

/* The claim of a worker, which it alone uses. */
struct claim {
    _Alignas(CACHE_APART) size_t array; /* as in struct chunk */
    uint64_t index;                     /* of the first element claimed and not handed out yet */
    uint64_t count;                     /* elements */
    uint64_t offset;                    /* in the file, of that element */
    size_t size;                        /* bytes of an element */
    bool uncached;                      /* the page cache does not hold all of them */
    bool chosen;                        /* the caller has chosen them */
    const struct container_array *compressed; /* the array, where it is compressed: then it has been
                                             claimed as a whole; else NULL */
    struct inflate *inflate;                  /* the decompressor; NULL before the first */
    const struct container_array *tiled; /* the array, where it is stored in tiles; else NULL */
    uint64_t number;                     /* then: of the tile that has been claimed */
    struct tile *tile;                   /* the tile that the worker has; NULL before the first */

    /* Arrays that have been claimed as wholes behind this one, by their places in the order: from
       the next one to behind the last. */
    size_t place, place_end;

    uint64_t lent; /* bytes that were handed out in place, and are not counted yet */

    /* Mapped bytes that the worker has handed back, from the first to behind the last, and that are
       still in memory. */
    const unsigned char *done, *done_end;
    struct mapping_pieces kept; /* those before them, likewise */
    size_t kept_most;           /* bytes of these */
    bool released;              /* some have been taken out of memory together */

    struct file_range copied;  /* the bytes in the request's buffer */
    struct file_range present; /* the bytes that were made present last */

    unsigned char *buffer; /* for what is not cached; NULL until it is needed */
    size_t buffer_size;    /* whole pages */

    struct access access; /* how it takes what is cached */
    uint64_t handed_at;   /* when the last chunk of that was handed out; 0: there was none */
    uint64_t handed_size; /* its bytes */
};

struct file_state {
    _Atomic uint64_t next;     /* first element that nobody has claimed; of a container, byte of its
                                  arrays */
    struct array_order arrays; /* of a container */
    struct claim *claims;
    unsigned workers;
    struct access_shared access; /* the shared choice of an access method for cached data */

    size_t release_bytes, release_run; /* see RELEASE_BYTES and RELEASE_RUN */
    size_t kept_most;                  /* bytes that are kept for a worker; see KEPT_BYTES */
    unsigned char *map;                /* the file from its beginning on; NULL where it is read */
    size_t map_size;

    int direct;                  /* the file, past the page cache; -1 where that cannot be had */
    _Atomic bool direct_refused; /* or was not to be had after all */
};

/* Offset in the file of an element of an array, and bytes of such an element. */
uint64_t file_place(const struct source *s, size_t array, uint64_t index, size_t *size);

/* Claims the worker's next range, of up to `bytes` bytes; fewer towards the end of the file. It may
   have no elements. False when there is none. Any worker may call it, for its own claim; as may the
   next two. */
bool file_claim(struct source *s, struct claim *claim, size_t bytes);

/* Claims a range of a container: a part of an array; or the rest of one, and whole ones after it,
   which file_claim_goes_on is for. */
bool file_claim_of_many(struct source *s, struct claim *claim, size_t bytes);

/* Goes on with the next of the arrays that have been claimed as wholes. It may have no elements.
   False when there is none. */
bool file_claim_goes_on(struct source *s, struct claim *claim);

/* Decompresses the next elements that the worker has claimed of a compressed array into the
   request's buffer. False on failure; if only the array is damaged, that is noted, and the source
   goes on. */
bool file_inflate(struct source *s, struct claim *claim, const struct chunk_request *request,
                  struct chunk *chunk);

#endif
