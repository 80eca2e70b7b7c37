/*
 * How the memory for decoding a zstd file is divided between the workers. Pure arithmetic.
 */
#ifndef GPUREDUCE_ZSTD_BUDGET_H
#define GPUREDUCE_ZSTD_BUDGET_H

#include <stdint.h>

/* All in bytes. */
struct zstd_budget {
    uint64_t small_max; /* frames that can hold more are large: decoded in pieces */
    uint64_t step;      /* input made present, and released, at a time; whole pages */
    uint64_t extra;     /* input that claims together may have present beyond two steps each */
};

struct zstd_budget zstd_budget(unsigned workers);

#endif
