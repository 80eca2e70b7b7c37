/*
 * Decoding zstd frames.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_ZSTD_H
#define GPUREDUCE_BENCH_LIMITS_ZSTD_H

#include "bench/limits/limits_measure.h"

/* Measures it, for several kinds of data: libzstd, and one frame by all threads and, if there is
   one to use, by the GPU. Prints errors. */
void limits_measure_zstd(struct limits *l, bool gpu);

#endif
