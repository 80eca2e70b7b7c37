/*
 * Tables of numbers in text: lines of as many fields each. Pure.
 */
#ifndef GPUREDUCE_TEXT_TABLE_H
#define GPUREDUCE_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct text_table {
    size_t heading;     /* lines before the first of numbers */
    size_t lines;       /* of numbers */
    char separator;     /* of fields; a space stands for any blanks */
    bool decimal_comma; /* 1,5 is one number */
};

/* Whether the text is a table: up to 8 lines of anything, and lines of numbers, as many in each:
   two lines at least, or one of two numbers. Text after the last newline is not looked at. */
bool text_table_find(const unsigned char *text, size_t size, struct text_table *table);

#endif
