/*
 * The GPU's memory, and the link to the GPU. In a build without CUDA, absent.c says that there is
 * no GPU.
 *
 * Functions that fail have printed why.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_DEVICE_H
#define GPUREDUCE_BENCH_LIMITS_DEVICE_H

#include "bench/limits/limits_measure.h"

struct limits_device;

/* Opens the first GPU, adds its facts to the table, and sets l->peak. NULL without a GPU that can
   be used, in which case the table says why, or on failure. */
struct limits_device *limits_device_open(struct limits *l);

/* Measures it. */
void limits_device_measure(struct limits *l, struct limits_device *d);
void limits_device_close(struct limits_device *d);

#endif
