/*
 * The CPU kernels: one template (kernel_template.h), instantiated once for each instruction set
 * over the vector operations of simd_*.h, and chosen at run time.
 *
 * A kernel takes elements block by block. One pass over a block gives its extremes, whether it
 * holds NaNs or infinities, and, when the exponents lie close enough together, its exact sum in
 * binary64; a block that is not so kind is summed exactly by other means, in the template. A
 * reducer belongs to one thread.
 */
#ifndef GPUREDUCE_CPU_KERNEL_H
#define GPUREDUCE_CPU_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/partial.h"

/* Elements of a block: 8 KiB of either type, which leaves the level-1 cache room for the scratch.
   Blocks this small keep the exponents of ordinary data within the reach of one binary64; larger
   ones would spare no time that can be measured. */
#define CPU_BLOCK32_LOG2 11
#define CPU_BLOCK64_LOG2 10
#define CPU_BLOCK_MAX ((size_t)1 << CPU_BLOCK32_LOG2)

/* Elements in this machine's byte order, from `index` on; any alignment. */
struct cpu_reducer;
typedef void cpu_kernel(struct cpu_reducer *r, const void *data, size_t count, uint64_t index);

/* A block whose extreme is the best of its chunk so far; where in it is found out at the end. */
struct cpu_candidate {
    int64_t key;
    const unsigned char *block;
    size_t count;
    uint64_t index;
};

/* The sum of the mantissas of binary64 elements of one sign and exponent, the upper 12 bits of
   which are the bin's number, in two parts of 32 and 21 bits an element. */
#define CPU_BINS 4096
struct cpu_bin {
    uint64_t lower, upper;
};

/* Bins for the values of binary32. Bin i takes biased exponents from 16 i to 16 i + 15: multiples
   of 2^(16 i - 150) below 2^(16 i - 111), 39 bits, so that 2^13 of them add up in binary64. There
   are some sets of them, for neighbouring elements: a sum need not wait for the one before it. */
#define CPU_BINS32 16
#define CPU_BIN_SETS 8
#define CPU_BIN32_MAX (1u << 13)

struct cpu_reducer {
    struct partial partial;
    unsigned wants;
    cpu_kernel *kernel;
    enum element_type type;
    int window; /* the exponent expected to bound the next block that is sliced */
    struct cpu_candidate min, max;
    double *scratch; /* CPU_BLOCK_MAX, aligned to 64 bytes */

    /* f64: CPU_BINS, all zero between chunks; and the smallest and the largest number of those that
       are not, without the sign. */
    struct cpu_bin *bins;
    unsigned first_bin, last_bin;
    unsigned blocks_to_bin;   /* blocks to add to the bins without trying to do better */
    unsigned blocks_to_slice; /* of 32 bits and less: the same for slices */
    unsigned slice_run;       /* how many it will be after the next block that asks for it */

    /* The values of binary32: all zero between chunks; and how many values each may hold now. */
    double bins32[CPU_BIN_SETS][CPU_BINS32];
    unsigned binned32;
};

struct cpu_kernels {
    const char *name;
    bool (*usable)(void);
    cpu_kernel *with_sum[ELEMENT_TYPES];
    cpu_kernel *without_sum[ELEMENT_TYPES];
};

extern const struct cpu_kernels cpu_kernels_portable;
#if defined __x86_64__
extern const struct cpu_kernels cpu_kernels_avx2;
extern const struct cpu_kernels cpu_kernels_avx512;
#endif

/* All that were built in, the best first. */
extern const struct cpu_kernels *const cpu_kernels_all[];
extern const size_t cpu_kernels_count;

/* The best kernels this machine runs. The environment variable GPUREDUCE_CPU=portable, avx2 or
   avx512 asks for others, for tests; it is ignored when they cannot run here. */
const struct cpu_kernels *cpu_kernels_choose(void);

/* Makes a reducer that has taken nothing yet, for elements of `type`; `wants` are partial_want
   bits. False without memory; then, too, it is to be closed. */
bool cpu_reducer_open(struct cpu_reducer *r, const struct cpu_kernels *kernels,
                      enum element_type type, unsigned wants);

void cpu_reducer_close(struct cpu_reducer *r);

/* The parts of a kernel that are the same for every instruction set. */

/* Takes `count` elements one by one: the end of a chunk that fills no vector. */
void cpu_take_tail(struct cpu_reducer *r, const unsigned char *data, size_t count, uint64_t index);

/* Takes a block's extremes, as keys, into the candidates of the chunk. */
void cpu_take_block(struct cpu_reducer *r, int64_t min_key, int64_t max_key, const void *block,
                    size_t count, uint64_t index);

/* Notes the first NaN of a block that holds one. */
void cpu_take_first_nan(struct cpu_reducer *r, const unsigned char *block, size_t count,
                        uint64_t index);

/* Adds n finite elements to the bins (the "large superaccumulator" of R. M. Neal, "Fast exact
   summation using small and large superaccumulators", 2015). */
void cpu_add_to_bins(struct cpu_reducer *r, const double *x, size_t n);

/* Sees to it that each bin for binary32 has room for n more values, n at most CPU_BIN32_MAX. */
void cpu_make_room32(struct cpu_reducer *r, size_t n);

/* Begins and ends a chunk: the candidates and the bins. */
void cpu_begin_chunk(struct cpu_reducer *r);
void cpu_end_chunk(struct cpu_reducer *r);

#endif
