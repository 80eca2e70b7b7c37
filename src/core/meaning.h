/*
 * The meaning of stored numbers as it is shown: missing values, which are numbers of the type, ranges
 * of these, and NaNs; scale and offset. Pure functions.
 */
#ifndef GPUREDUCE_MEANING_H
#define GPUREDUCE_MEANING_H

#include "core/missing.h"
#include "core/scale.h"
#include "core/writer.h"

/* Adds a list of missing values of the type to an object, if there are any: numbers, "nan", and for
   ranges lists of the first number and the last. */
void meaning_add_missing(struct writer *w, const char *key, const struct missing *m,
                         enum element_type type);

/* Adds them to a text: "-9999, 1e+30 to inf, nan". */
void meaning_show_missing(struct buffer *out, const struct missing *m, enum element_type type);

/* Adds scale and offset to an object, if there are any; and to a text: "0.01 x + 273.15". */
void meaning_add_scale(struct writer *w, const struct scale *scale);
void meaning_show_scale(struct buffer *out, const struct scale *scale);

#endif
