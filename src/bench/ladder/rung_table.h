/*
 * The rungs of the ladder as a table: what each is called, what it teaches, what it can do and what
 * is known of its additions. Everything else about a rung follows from its row.
 *
 * Constant data and pure functions.
 */
#ifndef GPUREDUCE_BENCH_RUNG_TABLE_H
#define GPUREDUCE_BENCH_RUNG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/ladder/rungs.h"
#include "core/element.h"

/* What is known of the order of a rung's additions, and so of its error. */
enum rung_order {
    ORDER_SEGMENTS, /* a tree of known height a segment, and the segments one after the other */
    ORDER_ROWS,     /* such a tree a row, and no more */
    ORDER_ANY,      /* nothing */
    ORDER_BINNED,   /* it does not matter: reproducible, with an error of its own */
    ORDER_EXACT     /* it does not matter: exact */
};

/* Elements that a thread adds up by itself, where it is no plain number. */
#define PER_LOAD 0       /* those of 16 bytes */
#define PER_COARSEN (-1) /* two for each of --coarsen */

#define RUNG_TYPE(t) (1u << (t))

struct rung {
    const char *name;
    rung_launcher *launcher;
    const char *lesson;
    unsigned types; /* RUNG_TYPE of those that it sums */
    enum rung_order order;
    int per_thread; /* elements that a thread adds up by itself: a number, PER_LOAD or PER_COARSEN
                     */
    bool tree;      /* the threads of a block then form one */
    bool in_place;  /* writes to its input */
    unsigned wants; /* ORDER_EXACT: partial_want bits */
};

/* All of them, as they are climbed. */
extern const struct rung rung_table[];
extern const size_t rung_table_count;

/* The rung of this name, of all blocks; NULL when there is none. */
const struct rung *rung_table_find(const char *name);

/* Room for a rung's name with its block's size. */
#define RUNG_LABEL_MAX 48

/* The name of a rung as it is printed: batched ones differ by the block, of `threads` threads.
   Returns `label`. */
const char *rung_table_label(char label[RUNG_LABEL_MAX], const struct rung *rung, unsigned threads);

/* Sizes of a block, in threads, that batched rungs are run with, and the others may be. */
#define RUNG_BLOCKS 4
extern const unsigned rung_table_blocks[RUNG_BLOCKS];

/* Whether `list`, words between commas or NULL for all, names the rung: by its label or, of batched
   ones, for all blocks. */
bool rung_table_listed(const char *list, const struct rung *rung, unsigned threads);

/* The first word of `list` that names no rung, and its length; or NULL. */
const char *rung_table_stranger(const char *list, size_t *length);

/* Why a rung cannot be run with so many elements of this type, in a few words; NULL when it can. */
const char *rung_table_unavailable(const struct rung *rung, enum element_type type, uint64_t count);

#endif
