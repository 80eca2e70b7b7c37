/*
 * Attributes that say which numbers of an array are missing and what the others stand for:
 * _FillValue, missing_value, valid_range, valid_min, valid_max, scale_factor, add_offset and
 * _Unsigned, by the rules of netCDF4-python; and the default fill values of netCDF files.
 *
 * Pure: a format hands in a reader of the array's attributes.
 */
#ifndef GPUREDUCE_ATTRIBUTES_H
#define GPUREDUCE_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/element.h"
#include "core/error.h"
#include "core/missing.h"
#include "core/scale.h"

/* The most ranges of missing values of an array: there is room for those of the user, and a NaN has
   two. */
#define ATTRIBUTES_MISSING_MAX (MISSING_RANGES_MAX - MISSING_VALUES_MAX - 1)

struct container;
struct container_array;

/* The meaning of the numbers of an array. */
struct attributes_meaning {
    enum element_type type; /* of the numbers; another than that which is stored by _Unsigned */
    struct missing missing; /* of that type */
    struct scale scale;
    char wrong[160]; /* why numbers cannot be told from it, a phrase; empty if they can */
    char ignored[ERROR_TEXT_MAX]; /* attributes that have no effect, and why; empty for none */
};

/* A number of an attribute, exactly. */
struct attributes_number {
    bool real;    /* it is a float, `value`; otherwise an integer */
    double value; /* of an integer: rounded to binary64 */
    struct integer integer;
};

#define ATTRIBUTES_NUMBERS_MAX 64

struct attributes_numbers {
    bool exists;  /* there is an attribute of this name */
    bool numeric; /* it holds integers or floats that are read exactly: of up to 64 bits */
    size_t count; /* of its numbers; if there are more than ATTRIBUTES_NUMBERS_MAX, none is here */
    struct attributes_number numbers[ATTRIBUTES_NUMBERS_MAX];
    bool is_text; /* it is one text, `text`, whose part that does not fit is cut off */
    char text[8];
};

/* The number that an integer is: its 64 bits, two's complement if `negative`. */
struct attributes_number attributes_integer(uint64_t bits, bool negative);

/* The attributes of an array. */
struct attributes_reader {
    /* Reads an attribute. If that fails, it does not exist, and `user` knows. */
    void (*read)(void *user, const char *name, struct attributes_numbers *found);
    void *user;
    bool parts;   /* elements are fields of records, or parts of complex numbers */
    bool untyped; /* numbers have no type: for floats they are rounded to the stored one */
};

/* Finds the meaning of the numbers of an array of this type. `netcdf`: it is a variable of a netCDF
   file; `filled`: it states what elements are that were never written. */
void attributes_find(const struct attributes_reader *attributes, enum element_type type,
                     bool netcdf, bool filled, struct attributes_meaning *m);

/* Gives the numbers of an array the type, missing values and scale that its attributes say, or makes it
   unreadable where these are wrong. False without memory. */
bool attributes_apply(struct container *c, struct container_array *a,
                      const struct attributes_meaning *meaning);

/* The value that netCDF fills variables of a type with unless they say otherwise, in the given byte
   order. False for types that netCDF does not have. */
bool attributes_default_fill(enum element_type type, bool big_endian, unsigned char *value);

#endif
