/*
 * Inputs on the device. The same input stands in several places, a fixed distance apart, and the
 * launches take the places in turn. Together they are several times as large as the level-2 cache,
 * so every launch reads memory. There are a few different contents, which repeat from place to
 * place.
 *
 * Inputs that inputs_open made own their memory, on the device and the host. The suite makes inputs
 * of memory that it owns itself; it does not close them. Functions that return false have printed
 * why.
 */
#ifndef GPUREDUCE_BENCH_INPUTS_H
#define GPUREDUCE_BENCH_INPUTS_H

#include "bench/ladder/bench_case.h"
#include "bench/ladder/reference.h"
#include "bench/ladder/workbench.h"

#define INPUTS_CONTENTS_MAX 4

struct inputs {
    enum element_type type;
    uint64_t count; /* elements of a place */
    size_t stride;  /* from one place to the next, bytes */
    uint64_t places;
    unsigned contents; /* place i has content i % contents */
    uint64_t turn;     /* launches so far */

    /* On the device. */
    unsigned char *data;  /* all places */
    unsigned char *work;  /* copies of them, for rungs that work in place, or NULL */
    unsigned char *signs; /* an input of which no addition rounds, or NULL */

    /* On the host: the elements of content 0, and the signs. */
    unsigned char *host;
    unsigned char *host_signs;

    /* The right results of each content, and of the signs. */
    struct reference references[INPUTS_CONTENTS_MAX];
    struct reference signs_reference;
};

/* Makes inputs of the workbench's type, count and distribution; content i has its seed + i.
   `in_place`: makes copies, too. Call inputs_close afterwards, even after a failure. */
bool inputs_open(struct workbench *b, struct inputs *in, bool in_place);
void inputs_close(struct inputs *in);

/* Sets *data to what the next launch of a case reduces. A rung that works in place gets one copy
   after the other; when they are used up, all are made anew, on the stream. Prints nothing. */
cudaError_t inputs_take(struct workbench *b, struct inputs *in, struct bench_case *c,
                        unsigned char **data);

/* `size` bytes of host memory for elements, for free(); NULL without memory, after an error
   message. */
unsigned char *inputs_host_memory(size_t size);

/* Copies `size` bytes from the host to the device, and waits until they are there. */
bool inputs_upload(struct workbench *b, void *to, const void *from, size_t size);

#endif
