/*
 * What the writers of JSON share.
 */
#ifndef GPUREDUCE_JSON_H
#define GPUREDUCE_JSON_H

#include <stdio.h>

/* Writes a string of JSON, quotes included; bytes that are no UTF-8 become U+FFFD. Errors are left
   to the stream. */
void json_string(FILE *out, const char *string);

#endif
