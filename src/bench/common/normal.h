/*
 * Normally distributed numbers from random bits, the same on every machine: only operations that
 * IEEE 754 defines to the last bit are used, + - * / of binary64, conversions, and integers.
 *
 * The method is inversion: for a random p in (0, 1/2], x is the number with the upper tail
 * probability p, and gets a random sign. normal.c says how x is found.
 */
#ifndef GPUREDUCE_BENCH_NORMAL_H
#define GPUREDUCE_BENCH_NORMAL_H

#include <stddef.h>
#include <stdint.h>

/* Makes the tables. Any thread may call it, and must before it calls normal_numbers. */
void normal_prepare(void);

/* x[i] is the number that belongs to the random bits words[i], for `count` of them. It is off by
   less than 1e-10 in its distribution, and at most 9.08. Any thread may call it. */
void normal_numbers(double *restrict x, const uint64_t *restrict words, size_t count);

#endif
