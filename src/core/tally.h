/*
 * Tallies count elements for order statistics and histograms, in addition to the partial result of
 * a pass. A plan defines the counts; each worker has a tally of its own, and tallies are merged by
 * adding their counts.
 *
 * A plan does not change while it has tallies. A tally belongs to one thread at a time. The plan
 * bounds its memory. A tally without memory is `failed`.
 */
#ifndef GPUREDUCE_TALLY_H
#define GPUREDUCE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"

enum tally_kind {
    TALLY_CELLS, /* numbers of elements below some keys; elements of some cells are kept */
    TALLY_WORDS, /* the number of elements for each value of their upper bits */
    TALLY_BINS,  /* the number of elements in each bin of a histogram */
    TALLY_KEYS   /* all numbers, of which there are few; on the CPU alone */
};

/* The most cells. */
#define TALLY_CELLS_MAX 260

/* A plan. */
struct tally_plan {
    enum tally_kind kind;
    enum element_type type;

    /* TALLY_CELLS. Cell i has the keys (core/order.h) from first[i] up to the one before that of
       the next cell. The first cell begins with the least key of a number, and the last one ends
       with the greatest: only NaNs lie outside. The elements of cells with `keep` are kept. A tally
       keeps `room` elements; when they are more, it counts them in 2^fine_bits parts of their cell
       instead, and drops them. */
    unsigned cells;
    uint64_t first[TALLY_CELLS_MAX];
    bool keep[TALLY_CELLS_MAX];
    unsigned kept_cells, fine_bits;
    size_t room;

    /* TALLY_WORDS: the number of lower bits that are ignored. */
    unsigned shift;

    /* TALLY_BINS of floats. Bin i has the values from bound[i] up to bound[i + 1], without that;
       bounds are values of the type, in ascending order, and bins + 1 of them. (x - low) * scale,
       computed in binary64, is wrong by less than 2^-30 of a bin in the range; a scale of 0: it may
       be wrong by more, and bounds have to be searched. */
    uint32_t bins;
    double low, scale;
    const double *bound;

    /* The place of a binary32 element x, computed in binary32, if that is precise enough:
       (x - low32) * scale32 + 1/2 is wrong by less than margin32, which is 0 where it may be wrong
       by more than a small part of a bin. For integers of 32 bits x is how far a key is behind the
       first bound, rounded to binary32, and low32 is 0. */
    float low32, scale32, margin32;

    /* The place as a fixed-point number, for vectors: (x - low32) * scale32 + 1, in units of
       2^-fraction32, is wrong by at most doubt32 units, a power of two, whether product and sum are
       rounded together or not. Integers up to bins + 1 fit the other bits of the 23. fraction32 is
       0 if that is not precise enough. If it is not 0, order32[b] is the lesser bound of bin b,
       counting from 1, as a signed integer in the order of values, or of -0 if it is zero;
       order32[0] is below all. */
    unsigned fraction32, doubt32;
    const int32_t *order32;

    /* TALLY_BINS of integers. Bin i has the keys from bound_key[i] up to bound_key[i + 1], without
       that, or, the last one, up to last_key; there are `reached` bounds, since the bins after
       them lie above all integers of the type. A key k is at most few bins after number base + (k
       - bound_key[0]) * scale, and not before it. */
    uint64_t last_key;
    uint32_t reached, base;
    bool holds_none; /* no key is in any bin, and last_key means nothing */
    const uint64_t *bound_key;
};

/* The counts of one worker. */
struct tally {
    const struct tally_plan *plan;
    bool failed; /* out of memory: the counts mean nothing */
    bool ended;  /* tally_end has been called */

    /* TALLY_CELLS: counts[i] elements lie before cell i, negative NaNs among them; those in front
       of the cell after one that is kept are known at the end. counts[cells] elements lie in all
       cells or before them: all but positive NaNs. TALLY_WORDS: one for each word.
       TALLY_BINS: counts[0] elements are below all bins, or NaN, counts[i + 1] are in bin i, and
       counts[bins + 1] above them. */
    uint64_t *counts;

    /* TALLY_WORDS with a shift: the elements that are +0, and -0. TALLY_BINS of floats that a GPU has counted: the
       NaNs, and 0. */
    uint64_t special[2];

    /* TALLY_CELLS: the elements that are kept, in the machine's byte order; once some had to be
       dropped, all are counted by tally_end, and none is left. */
    void *kept;                   /* of TALLY_KEYS the keys of all numbers, of uint64_t */
    size_t kept_count, kept_room; /* elements */
    bool dropped;
    uint64_t *fine;  /* counts of kept cells, 2^fine_bits each, one after the other; may be NULL */
    size_t block;    /* elements of a block of those that are kept: each block has them in the order
                        of their fine counts; 0 where they are in no order */
    uint32_t *place; /* where in the block those of each fine count begin, and after the last one
                        the end of all: so many numbers a block; NULL where they are in no order */
    void *scratch;   /* the engine's; freed with the tally */
};

/* The tallies of one pass, of several plans. */
#define TALLY_PLANS_MAX 2
struct tally_set {
    struct tally tally[TALLY_PLANS_MAX];
    unsigned count;
    bool goes_on; /* another input follows, so tally_end must not be called yet */
    bool alone;   /* only the count of elements is needed of the partial result */
};

/* The last key of a cell. */
uint64_t tally_last(const struct tally_plan *plan, unsigned cell);

/* Makes a tally of no elements. False without memory; the caller closes it in any case. */
bool tally_open(struct tally *t, const struct tally_plan *plan);

/* Frees the memory of a tally. */
void tally_close(struct tally *t);

/* The number of counts of a tally of the plan. */
size_t tally_size(const struct tally_plan *plan);

/* Allocates memory to keep `count` more elements. False, with `failed` set, without memory. */
bool tally_reserve(struct tally *t, size_t count);

/* TALLY_KEYS: keeps the keys of `count` elements, in the machine's byte order, without those of NaNs,
   and of an element that is there `times` times. False, with `failed` set, without memory. */
bool tally_keep_keys(struct tally *t, const void *elements, size_t count);
bool tally_keep_same(struct tally *t, const void *element, uint64_t times);

/* TALLY_CELLS: counts an element of a kept cell `times` times. Kept elements are counted and
   dropped. False, with `failed` set, without memory. */
bool tally_count_same(struct tally *t, const void *element, uint64_t times);

/* Ends a tally after the last element. If many elements were kept, counts them in parts of their
   cells, and sorts blocks of them; workers do so in parallel. A second call does nothing. */
void tally_end(struct tally *t);

/* Counts the kept elements in `fine`, if that has not been done. */
void tally_count_kept(struct tally *t);

/* Finds the elements with a fine count in block number `block` of the elements that are kept in
   order: from *begin up to *end. False if there is no such block. */
bool tally_kept(const struct tally *t, size_t block, size_t fine, size_t *begin, size_t *end);

/* Adds the counts of `other`, whose kept elements remain there. Either both have fine counts, or
   neither. */
void tally_merge(struct tally *t, const struct tally *other);

/* TALLY_CELLS, and TALLY_BINS of a GPU: how many of so many elements, all of which were tallied, are NaN. */
uint64_t tally_nans(const struct tally *t, uint64_t elements);

/* The number of a kept cell among the kept cells: its fine counts begin at this number times
   2^fine_bits. */
unsigned tally_fine_cell(const struct tally_plan *plan, unsigned cell);

/* The shift of a kept cell: the difference of a key and the cell's first key, shifted right by so
   many bits, is the number of the fine count. */
unsigned tally_fine_shift(const struct tally_plan *plan, unsigned cell);

#endif
