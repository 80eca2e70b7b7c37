/*
 * Decoding zstd frames.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_ZSTD_H
#define GPUREDUCE_BENCH_LIMITS_ZSTD_H

#include "bench/limits/limits_measure.h"

/* Measures it; prints errors. */
void limits_measure_zstd(struct limits *l);

#endif
