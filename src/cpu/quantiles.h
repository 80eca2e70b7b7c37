/*
 * Quantiles of many slices: exact, by sorting the keys (core/order.h) of a vector of slices at a time. Of
 * long slices, a sample tells where the order statistics lie (R. W. Floyd and R. L. Rivest, "Expected time
 * bounds for selection", 1975); the keys there are counted and kept.
 *
 * Belongs to one thread.
 */
#ifndef GPUREDUCE_CPU_QUANTILES_H
#define GPUREDUCE_CPU_QUANTILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/missing.h"
#include "core/pass_plan.h"
#include "core/quantile.h"
#include "core/scale.h"
#include "cpu/kernel.h"

struct cpu_quantiles {
    enum element_type type;
    bool swap;            /* elements are not in this machine's byte order */
    bool propagate;       /* quantiles of slices with a NaN are NaN; else these are left out */
    uint64_t least, most; /* keys of numbers */
    uint64_t flips,
        negative_flips; /* bits that are inverted to make keys, of negative numbers these, too */
    struct missing missing;
    struct scale scale;
    unsigned count;
    struct quantile quantiles[PASS_PLAN_QUANTILES_MAX]; /* of stored numbers */
    void (*sort)(unsigned char *keys, size_t rows);
    struct quantile_place places[PASS_PLAN_QUANTILES_MAX]; /* where nothing is left out */
    /* Keys of a vector of slices, CPU_SORT_BYTES for each element; NULL: slices are too long for that. */
    unsigned char *rows;
    uint64_t *keys; /* those of one slice, and as much again to select among them */
    uint64_t *kept; /* those of long slices among which their order statistics are */
    struct cpu_quantiles_cell *cells; /* where these are expected */
    size_t length;                    /* elements that there is room for */
};

/* Makes it ready for the quantiles of a request, of slices of up to `length` elements, at least 1. False
   without memory; it has to be closed then, too. */
bool cpu_quantiles_open(struct cpu_quantiles *q, const struct cpu_kernels *kernels,
                        enum element_type type, bool swap, const struct missing *missing,
                        const struct scale *scale, bool propagate,
                        const struct pass_request *request, size_t length);
void cpu_quantiles_close(struct cpu_quantiles *q);

/* Elements of slices in memory: an element of each of `columns` slices side by side, the next of these
   `stride` bytes further on, and those of the next slices `block` bytes after these. */
struct cpu_quantiles_data {
    const unsigned char *data;
    size_t stride, columns, block;
};

/* Finds the quantiles of `slices` slices of `length` elements, fewer than 2^32 and at most as many as
   there is room for. to[k][i] becomes quantile k of slice i; NaN if there are no numbers. */
void cpu_quantiles_find(struct cpu_quantiles *q, const struct cpu_quantiles_data *x, size_t length,
                        size_t slices, double *const *to);

#endif
