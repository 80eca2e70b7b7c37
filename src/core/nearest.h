/*
 * The right word for a mistyped one. Pure.
 */
#ifndef GPUREDUCE_NEAREST_H
#define GPUREDUCE_NEAREST_H

#include <limits.h>
#include <stdbool.h>

/* How far a word is from what was typed: letters that are wrong, missing, superfluous or swapped,
   of either case; 1 where one begins with the other. NEAREST_FAR where it is hardly meant. */
#define NEAREST_FAR UINT_MAX
unsigned nearest_distance(const char *typed, const char *word);

/* Room for what the functions below suggest. */
#define NEAREST_MAX 80

/* The plain integers that a number with a suffix, an exponent, separators or hexadecimal digits may
   stand for, as in "1000' or '1024". False where it stands for none. */
bool nearest_number(const char *typed, char suggested[NEAREST_MAX]);

/* The quantile that p101, q50, 95% or 90th may stand for. False where it stands for none. */
bool nearest_quantile(const char *typed, char suggested[NEAREST_MAX]);

#endif
