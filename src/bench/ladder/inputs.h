/*
 * Inputs on the device: `places` of them at a fixed distance, which the launches take in turn, so
 * that they fill several times the level-2 cache. Their contents repeat after the first `contents`.
 *
 * Those that inputs_open made own their memory, on the device and the host. The suite makes others,
 * of memory that is its own; these are not to be closed.
 */
#ifndef GPUREDUCE_BENCH_INPUTS_H
#define GPUREDUCE_BENCH_INPUTS_H

#include "bench/ladder/reference.h"
#include "bench/ladder/subject.h"
#include "bench/ladder/workbench.h"

#define INPUTS_CONTENTS_MAX 4

struct inputs {
    enum element_type type;
    uint64_t count; /* elements of one */
    size_t stride;  /* bytes from one to the next */
    uint64_t places;
    unsigned contents;
    uint64_t turn; /* launches so far */

    /* On the device. */
    unsigned char *data;  /* `places` of them */
    unsigned char *work;  /* copies of the same for rungs that work in place, or NULL */
    unsigned char *signs; /* one whose sum no rounding can spoil, or NULL */

    /* On the host: the elements of content 0, and the signs. */
    unsigned char *host;
    unsigned char *host_signs;

    /* What is true of each content, and of the signs. */
    struct reference references[INPUTS_CONTENTS_MAX];
    struct reference signs_reference;
};

/* Makes inputs of the workbench's type, count, distribution and seed; content i has seed + i.
   `in_place`: copies, too. What was begun is left to inputs_close, whatever comes of it. */
bool inputs_open(struct workbench *b, struct inputs *in, bool in_place);
void inputs_close(struct inputs *in);

/* Sets *data to what the next launch of a subject reduces. A rung that works in place takes one
   copy after the other; they are all made anew, on the stream, when they are used up. */
cudaError_t inputs_take(struct workbench *b, struct inputs *in, struct subject *s,
                        unsigned char **data);

/* `size` bytes of host memory for elements, to be freed; NULL when there are none, which has been
   said. */
unsigned char *inputs_host_memory(size_t size);

/* Copies `size` bytes from the host to the device, and waits for that. */
bool inputs_upload(struct workbench *b, void *to, const void *from, size_t size);

#endif
