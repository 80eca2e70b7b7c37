/*
 * The state of a comparison: for diff.c, which sets up and finishes, and diff_work.c, which is what
 * the workers do.
 */
#ifndef GPUREDUCE_RUN_DIFF_STATE_H
#define GPUREDUCE_RUN_DIFF_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cpu/compare.h"
#include "run/diff_item.h"
#include "sys/mutex.h"
#include "sys/team.h"

MUTEX_ROLE(diff_role);
MUTEX_ROLE(diff_order_role);

/* A pair that comes in order, on one side at least. The first such side leads: a worker that has
   read a piece of it has a ticket, and the other side is read in the order of these. */
struct diff_order {
    struct mutex mutex;
    pthread_cond_t changed;
    bool reading GUARDED_BY(diff_order_role); /* a worker reads the leading side */
    bool ended GUARDED_BY(diff_order_role);   /* there is nothing more, or an input failed */
    uint64_t tickets GUARDED_BY(diff_order_role), served GUARDED_BY(diff_order_role);
    uint64_t got[DIFF_SIDES] GUARDED_BY(diff_order_role); /* elements */
};

MUTEX_ROLE_OF(diff_order, struct diff_order, mutex);

struct diff_pair {
    struct diff_item *item;
    struct {
        struct source *source; /* the file's, or `own` */
        struct source *own;    /* of an array that is not at hand; NULL for none */
        size_t array;          /* number of the array in the source */
        bool at_hand;
    } sides[DIFF_SIDES];
    struct cpu_compare_setup setup;
    size_t size;              /* bytes of an element */
    struct diff_order *order; /* NULL where both sides are at hand */

    _Atomic bool differs;          /* bytes do: from now on sums are taken */
    _Atomic bool failed;           /* one of its arrays could not be read: its source knows why */
    struct difference *difference; /* the findings; NULL for none. Under diff_role */
};

/* Equal elements of which no sums have been taken. */
struct diff_range {
    size_t pair; /* by its number */
    uint64_t index;
    uint64_t count;
};

struct diff_ranges {
    struct diff_range *list;
    size_t count, room;
};

struct diff_worker {
    struct diff *diff;
    unsigned number;
    struct cpu_compare *compare;
    unsigned char *buffers[DIFF_SIDES];

    size_t pair; /* whose elements `compare` has; SIZE_MAX for none */
    bool found;  /* it has anything to hand in */
    struct diff_ranges unseen;
};

/* A job of all workers. */
struct diff_task {
    struct diff *diff;
    void (*work)(struct diff_worker *w);
};

/* An error of a file, or of a pair of arrays. */
struct diff_error {
    char *name; /* as messages show it, of malloc */
    struct error error;
};

struct diff {
    const struct diff_request *request;
    unsigned worker_count;
    size_t buffer_bytes, claim_bytes;
    bool always_look; /* sums are taken of all: --nan=error asks for NaNs */
    struct difference_tolerance tolerance;

    struct source **files[DIFF_SIDES]; /* the files of each side */
    int file_counts[DIFF_SIDES];

    struct diff_item *items;
    size_t item_count;

    /* Pairs that are compared: first those in order, and then those at hand, which are as if one
       lay behind the other: begins[i] is the bytes before that number `ordered + i` of them. */
    struct diff_pair *pairs;
    size_t pair_count, ordered;
    uint64_t *begins;
    _Atomic uint64_t next;       /* byte of these that nobody has claimed */
    _Atomic size_t next_ordered; /* pair in order that nobody has begun with */
    struct diff_ranges unseen;   /* the second time */
    _Atomic size_t next_unseen;  /* the next of the unseen ranges to look at */
    _Atomic bool stop;           /* a worker failed, or all is known */
    _Atomic bool failed;

    struct diff_error *errors; /* the session's thread's */
    size_t error_count, error_room;
    _Atomic bool no_memory; /* there was none for something */

    struct diff_worker *workers;
    struct mutex mutex;
    struct team team;      /* of the workers */
    struct diff_task task; /* the worker's current task */
    _Atomic bool decided;  /* with verdict_only: something differs */

    uint64_t begun_at, ended_at;
};

MUTEX_ROLE_OF(diff, struct diff, mutex);

/* Notes that there is no memory. Returns false. Any worker may call it. */
static inline bool diff_no_memory(struct diff *d)
{
    atomic_store(&d->no_memory, true);
    return false;
}

/* The description of a file. */
static inline const struct source_info *diff_file_info(const struct diff *d, int side, int file)
{
    return source_info(d->files[side][file]);
}

#endif
