/*
 * Numbers as text: the shortest decimals that read back, and the sizes and counts of options.
 * Pure. The decimal point is a point in every locale.
 */
#ifndef GPUREDUCE_NUMBER_H
#define GPUREDUCE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"

/* Room for any value that is written here, the final NUL included. An integer may have a sign and
   39 digits; a digest (digest.h) has up to 61 characters. */
#define NUMBER_MAX 64

/* Writes to `text` the shortest decimal that, read to nearest and rounded to `type`, gives x back;
   of several of that length, the nearest. x is a value of `type`. Plain digits where the decimal
   exponent is from -5 to 15, else scientific. NaN is nan, infinities inf and -inf. */
void number_format(char text[NUMBER_MAX], double x, enum element_type type);

/* The type of which number_format writes elements of a type, and numbers that are as precise. */
enum element_type number_shown_type(enum element_type type);

/* Writes a known integer in full. */
void number_format_integer(char text[NUMBER_MAX], const struct integer *x);

/* Writes a count, and a NUL after it, which it returns the place of. `text` has room for 21 bytes.
 */
char *number_write(char *text, uint64_t x);

/* Reads an integer of up to 128 bits in plain digits, with or without a minus. Returns false for
   anything else. */
bool number_parse_integer(const char *text, struct integer *x);

/* Compares two known integers: below 0, 0, or above 0. */
int number_compare_integers(const struct integer *x, const struct integer *y);

/* Compares a known integer with a number that is no NaN, without rounding either. */
int number_compare_mixed(const struct integer *x, double y);

/* Compares the values of two keys, each of its own type, exactly: below 0, 0 or above 0 as `a` is
   less than, the same as or greater than `b`. -0 comes before +0, which is the integer 0, too. */
int number_compare_keys(enum element_type a_type, int64_t a, enum element_type b_type, int64_t b);

/* How numbers are written. */
enum number_form { NUMBER_DECIMAL, NUMBER_HEX };

/* Writes x in hexadecimal, as C's strtod and Python's float.fromhex read it: 0x1.8p+1 is 3. It is
   always exact. There is one such text for each number: the first digit is 1, for subnormal numbers
   too, and there are no zeros at the end; 0 is 0x0p+0. NaN is nan, infinities inf and -inf. */
void number_format_hex(char text[NUMBER_MAX], double x);

/* Reads what number_format, for the same type, or number_format_hex has written: the value of
   `type` that is nearest to the text. Returns false for anything else. */
bool number_parse(const char *text, enum element_type type, double *x);

/* Reads a size in bytes: digits, with no suffix or B, or kB or KB, MB, GB, TB (powers of 1000), K,
   M, G, T or KiB, MiB, GiB, TiB (powers of 1024). Returns false for anything else, and above 2^63
   - 1. */
bool number_parse_size(const char *text, uint64_t *size);

/* Reads a plain decimal count, at most 2^63 - 1. Returns false for anything else. */
bool number_parse_count(const char *text, uint64_t *count);

#endif
