/*
 * A table for people: cells that are printed in columns once all of them are there. It belongs to
 * one thread.
 */
#ifndef GPUREDUCE_COLUMNS_H
#define GPUREDUCE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#define COLUMNS_MAX 80

struct columns {
    unsigned count, left; /* columns, and those of them, the first, that begin below each other: the
                             others end below each other */
    unsigned next;        /* the column of the cell that comes next */
    char *text;           /* cells, one behind the other, each with a NUL */
    size_t used, room;
    size_t widths[COLUMNS_MAX];
    bool failed; /* there was no memory */
};

/* Adds the next cell, from left to right and from top to bottom; of all zeros but for count and
   left at first. */
void columns_add(struct columns *t, const char *text);

/* Prints the table on standard output and frees it; an error where there was no memory. */
void columns_print(struct columns *t);

#endif
