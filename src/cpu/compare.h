/*
 * Comparing two arrays on the CPU: pieces whose bytes are equal are compared as memory, at the
 * speed of reading; only pieces that differ are looked at element by element. The sums of squares
 * that a cosine needs are those of all elements, though: they come from the kernels that reduce
 * (PARTIAL_SQUARES), and of equal pieces one side suffices. So equal pieces are looked at only once
 * it is known that the arrays differ; those that were passed before are looked at again, by
 * cpu_compare_look.
 *
 * A comparison belongs to one thread. Functions print nothing.
 */
#ifndef GPUREDUCE_CPU_COMPARE_H
#define GPUREDUCE_CPU_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cast.h"
#include "core/difference.h"
#include "core/missing.h"

struct cpu_compare;

/* The types of a comparison, and the results it has to find. */
struct cpu_compare_setup {
    /* Its types are those that elements are compared in: of both sides the common type of `stored`,
       or, where there is none, those; of casts that of side B, of which the scales are, too. */
    struct difference_terms terms;
    enum element_type stored[2]; /* of sides A and B */
    struct cast cast;            /* of casts: from the elements of side A to those of side B */
    bool swap[2];                /* elements are not in this machine's byte order */
    bool verdict_only;           /* it is enough to know whether a pair counts as different */
    /* The missing values of each side, in its stored type, or NULL. The caller's, until the next
       beginning. */
    const struct missing *missing[2];
};

/* With kernels as cpu_kernels_choose finds them. NULL without memory. */
struct cpu_compare *cpu_compare_open(const char *kernels);
void cpu_compare_close(struct cpu_compare *c);

/* Sets the types of a comparison, from those of the stored elements, whose scales terms.scales has.
   With `cast` it is asked whether side B is what side A is cast to (core/cast.h). */
void cpu_compare_set_types(struct cpu_compare_setup *setup, enum element_type a,
                           enum element_type b, bool cast);

/* Begins with two arrays, of which nothing has been taken yet. False without memory. */
bool cpu_compare_begin(struct cpu_compare *c, const struct cpu_compare_setup *setup);

/* Compares `count` elements, the first of which has this index. With `look` the sums are taken of
   all of them, and otherwise not of equal pieces in front of the first one that differs: returns
   how many elements these have. */
size_t cpu_compare_take(struct cpu_compare *c, const void *a, const void *b, size_t count,
                        uint64_t index, bool look);

/* Takes the sums of elements of side A that are equal on both sides. Both
   sides have the same missing values. */
void cpu_compare_look(struct cpu_compare *c, const void *a, size_t count, uint64_t index);

/* Whether a pair that counts as different has been taken. */
bool cpu_compare_differs(const struct cpu_compare *c);

/* Whether so many bytes are the same. With `ahead`, those after them are asked for early, also
   beyond their end: that is for bytes which are not in a cache. */
bool cpu_compare_same(const void *a, const void *b, size_t size, bool ahead);

/* Returns the findings since the beginning. */
void cpu_compare_finish(const struct cpu_compare *c, struct difference *difference);

#endif
