/*
 * The right word for a mistyped one. Pure.
 */
#ifndef GPUREDUCE_NEAREST_H
#define GPUREDUCE_NEAREST_H

#include <stdbool.h>

/* The nearest to what was typed of some words, the first of those that are as near. */
struct nearest {
    const char *word; /* NULL: none is near */
    unsigned distance;
};

/* Takes a word if it is nearer than those before. *n is all zero before the first. */
void nearest_take(struct nearest *n, const char *typed, const char *word);

/* Room for what the functions below suggest. */
#define NEAREST_MAX 80

/* The plain integers that a number with a suffix, an exponent, separators or hexadecimal digits may
   stand for, as in "1000' or '1024". False where it stands for none. */
bool nearest_number(const char *typed, char suggested[NEAREST_MAX]);

/* The quantile that p101, q50, 95% or 90th may stand for. False where it stands for none. */
bool nearest_quantile(const char *typed, char suggested[NEAREST_MAX]);

#endif
