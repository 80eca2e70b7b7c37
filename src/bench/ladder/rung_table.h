/*
 * The rungs of the ladder as a table: what each is called, what it teaches, what it can do, and
 * what is known of its additions. The rows stand in rungs.def; everything else about a rung follows
 * from its row.
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

/* The order of a rung's additions, as far as it is known, which bounds its error. */
enum rung_order {
    ORDER_SEGMENTS, /* each segment by a tree of known height, then the segments one by one */
    ORDER_ROWS,     /* each row by such a tree; the rows are not added */
    ORDER_ANY,      /* nothing is known */
    ORDER_BINNED,   /* the order does not matter: reproducible, with an error of its own */
    ORDER_EXACT     /* the order does not matter: exact */
};

/* Values of per_thread that stand for a number of elements that is not fixed. */
#define PER_LOAD 0       /* as many as 16 bytes hold */
#define PER_COARSEN (-1) /* two times --coarsen */

#define RUNG_TYPE(t) (1u << (t))

struct rung {
    const char *name;
    rung_launcher *launcher;
    const char *lesson;
    unsigned types; /* that it sums: RUNG_TYPE bits */
    enum rung_order order;
    int per_thread; /* elements that a thread adds up by itself: above 0, PER_LOAD or PER_COARSEN */
    bool tree;      /* the sums of a block's threads are then added by a tree */
    bool in_place;  /* it overwrites its input */
    unsigned wants; /* partial_want bits that a rung of ORDER_EXACT finds */
};

/* All rungs, in the order in which they run. */
extern const struct rung rung_table[];
extern const size_t rung_table_count;

/* The rung of this name; NULL when there is none. */
const struct rung *rung_table_find(const char *name);

/* The size of an array for the label of a rung. */
#define RUNG_LABEL_MAX 48

/* Writes the label of a rung, as it is printed: its name and, for a batched rung, the threads of a
   block ("batched-strided-128"). Returns `label`. */
const char *rung_table_label(char label[RUNG_LABEL_MAX], const struct rung *rung, unsigned threads);

/* The sizes of a block, in threads. Batched rungs run with all of them by default. */
#define RUNG_BLOCKS 4
extern const unsigned rung_table_blocks[RUNG_BLOCKS];

/* Whether `list`, names separated by commas or NULL for all rungs, names this one. The name of a
   batched rung stands for all its blocks, its label for one. */
bool rung_table_listed(const char *list, const struct rung *rung, unsigned threads);

/* The first name in `list` that is unknown, and its length; NULL when all are known. */
const char *rung_table_unknown(const char *list, size_t *length);

/* Why a rung cannot run on so many elements of this type, in a few words; NULL when it can. */
const char *rung_table_unavailable(const struct rung *rung, enum element_type type, uint64_t count);

#endif
