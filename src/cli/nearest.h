/*
 * The right word for a mistyped one. Pure.
 */
#ifndef GPUREDUCE_CLI_NEAREST_H
#define GPUREDUCE_CLI_NEAREST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* How far a word is from what was typed: letters that are wrong, missing, superfluous or swapped,
   of either case; 1 where one begins with the other. NEAREST_FAR where it is hardly meant. */
#define NEAREST_FAR UINT_MAX
unsigned nearest_distance(const char *typed, const char *word);

/* The word that is nearest to what was typed; NULL where none is near. `aliases` are pairs of a
   word that others have for something, and ours, and end in NULL; it may be NULL. */
const char *nearest_word(const char *typed, const char *(*word)(size_t i),
                         const char *const *aliases);

/* Room for what the functions below suggest. */
#define NEAREST_MAX 80

/* The plain integers that a number with a suffix, an exponent, separators or hexadecimal digits may
   stand for, as in "1000' or '1024". False where it stands for none. */
bool nearest_number(const char *typed, char suggested[NEAREST_MAX]);

/* The quantile that p101, q50, 95% or 90th may stand for. False where it stands for none. */
bool nearest_quantile(const char *typed, char suggested[NEAREST_MAX]);

#endif
