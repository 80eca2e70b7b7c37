/*
 * Results in order: workers hand in pieces of output as they are done, and each is written when all
 * before it are. The worker that hands in the next piece writes it, and waiting ones that follow
 * it.
 *
 * Any worker may put pieces in, and wait; all else belongs to the owner. The number of waiting
 * pieces is bounded by how far workers are apart; if writing is slow, they wait for it. Each worker
 * gets the memory of a piece that has been written for its next one: fresh memory costs more than
 * the results.
 */
#ifndef GPUREDUCE_RUN_AXIS_ORDER_H
#define GPUREDUCE_RUN_AXIS_ORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/buffer.h"
#include "sys/mutex.h"

/* Bytes. */
#define AXIS_ORDER_WAITING ((size_t)64 << 20)

/* Bytes of a piece, about; there may be fewer, where what is next comes later or elsewhere. */
#define AXIS_PIECE_BYTES ((size_t)128 << 10)

MUTEX_ROLE(axis_order_role);

/* A piece of output: the results from `first` on. */
struct axis_piece {
    uint64_t first, count;
    struct buffer bytes;    /* taken over; without data where they have been placed */
    int error;              /* why they could not be placed; 0: nothing is known against it */
    bool refused;           /* the result after these cannot be had: the output ends here */
    uint64_t refused_index; /* where in its slice the NaN is */
};

struct axis_order {
    /* Writes a piece, as struct axis_sink has it. False on failure: then nothing more is
       written. NULL: pieces have no bytes. */
    bool (*write)(void *context, uint64_t first, const void *bytes, size_t size, int error);
    /* Says why the output ends. */
    void (*refuse)(void *context, const struct axis_piece *piece);
    void *write_context, *refuse_context;

    struct mutex mutex;
    pthread_cond_t room;
    uint64_t next GUARDED_BY(axis_order_role); /* the first result not written */
    /* A heap: piece i is before 2 i + 1 and 2 i + 2. */
    struct axis_piece *waiting GUARDED_BY(axis_order_role);
    size_t waiting_count GUARDED_BY(axis_order_role), waiting_room GUARDED_BY(axis_order_role);
    size_t waiting_bytes GUARDED_BY(axis_order_role);
    /* Memory of pieces that have been written. There is room for as many as may wait. */
    struct buffer *spare GUARDED_BY(axis_order_role);
    size_t spare_count GUARDED_BY(axis_order_role);
    bool writing GUARDED_BY(axis_order_role), failed GUARDED_BY(axis_order_role);
    bool no_memory GUARDED_BY(axis_order_role); /* that is why it failed */
};

MUTEX_ROLE_OF(axis_order, struct axis_order, mutex);

/* The functions and their contexts are set. */
void axis_order_open(struct axis_order *o);
void axis_order_close(struct axis_order *o);

/* Hands in a piece, and makes it an empty one, which may have memory. False once something has
   failed: nobody needs more of them. */
bool axis_order_put(struct axis_order *o, struct axis_piece *piece);

/* Makes it one in which something has failed. */
void axis_order_fail(struct axis_order *o);

/* Whether it failed for want of memory. */
bool axis_order_no_memory(struct axis_order *o);

/* Waits while much waits to be written by another worker, which is writing. */
void axis_order_wait(struct axis_order *o);

/* How many results have been written. */
uint64_t axis_order_written(struct axis_order *o);

#endif
