/*
 * Memory, the level-2 cache, and the exact kernel on both.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_CPU_H
#define GPUREDUCE_BENCH_LIMITS_CPU_H

#include "bench/limits/limits_measure.h"

/* Measures them; prints errors. */
void limits_measure_cpu(struct limits *l);

#endif
