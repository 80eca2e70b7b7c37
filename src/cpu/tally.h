/*
 * Tallies on the CPU: takes elements into a tally, block by block, with the vectors of an
 * instruction set where they help.
 */
#ifndef GPUREDUCE_CPU_TALLY_H
#define GPUREDUCE_CPU_TALLY_H

#include "core/tally.h"
#include "cpu/kernel.h"

/* Takes `count` elements in this machine's byte order, among which there are NaNs or not. False,
   with t->failed, without memory. */
bool cpu_tally_take(struct tally *t, const struct cpu_kernels *kernels, const void *data,
                    size_t count, bool nans);

/* Takes an element so many times. False, with t->failed, without memory. */
bool cpu_tally_take_same(struct tally *t, const void *element, uint64_t times);

/* Ends an input: counts that were kept apart go into the tally; the caller then calls tally_end. */
void cpu_tally_finish(struct tally *t);

#endif
