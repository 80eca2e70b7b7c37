/*
 * Names of inputs and arrays as messages show them: without control and invisible characters. Any
 * thread.
 */
#ifndef GPUREDUCE_NAME_H
#define GPUREDUCE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/escape.h"

/* Room for the name of an input; for that of an array, where a longer one is cut; and for both. */
#define NAME_INPUT_MAX ESCAPE_QUOTE_MAX
#define NAME_ARRAY_MAX 120
#define NAME_BOTH_MAX (NAME_INPUT_MAX + 2 * NAME_ARRAY_MAX)

/* Writes the name of the input `path`: "standard input" for "-", otherwise escape_quote's. Returns
   `name`. */
const char *name_input(char name[NAME_INPUT_MAX], const char *path);

/* Writes the name of an array. Returns `shown`. */
const char *name_array(char shown[NAME_ARRAY_MAX], const char *array);

/* Writes the name of the input and, unless `array` is NULL, that of the array. Returns `name`. */
const char *name_both(char name[NAME_BOTH_MAX], const char *path, const char *array);

/* Whether a name of so many bytes ends so, after others. */
bool name_ends(const char *name, size_t length, const char *end);

/* Compares names by the addresses of pointers to them, for qsort and bsearch. */
int name_compare(const void *a, const void *b);

/* A hash of two texts, the second of which may be NULL, the empty one. */
uint64_t name_hash(const char *one, const char *other);

#endif
