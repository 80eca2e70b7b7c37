/*
 * Missing values (core/missing.h) as kernels look for them: as ranges of bits.
 */
#ifndef GPUREDUCE_CUDA_MISSING_H
#define GPUREDUCE_CUDA_MISSING_H

#include <stdint.h>

#include "core/missing.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits, of which those of `mask` count: those from `first` on, of which the last is `distance`
   more. */
struct cuda_missing_range {
    uint64_t mask, first, distance;
};

/* The ranges of a set and of a side of a threshold: those of their numbers, of which one each may
   have both signs and then is two, and all NaNs; or of a set and one more. */
#define CUDA_MISSING_MAX (MISSING_RANGES_MAX + 4)
struct cuda_missing {
    unsigned count;
    struct cuda_missing_range ranges[CUDA_MISSING_MAX];
};

/* The most ranges whose elements are looked for at a time. */
#define CUDA_FIND_MAX 3

/* Finds the ranges of the elements of a type, in the machine's byte order. */
void cuda_missing_set(struct cuda_missing *m, enum element_type type, const struct missing *set);

/* Adds the elements with these bits to a set that cuda_missing_set has made. */
void cuda_missing_add_bits(struct cuda_missing *m, uint64_t bits);

/* Adds those of the elements as kernels that sum have them in registers: floats of one byte are
   f16 there. */
void cuda_missing_add_sums(struct cuda_missing *m, enum element_type type,
                           const struct missing *set);

#ifdef __cplusplus
}
#endif

#endif
