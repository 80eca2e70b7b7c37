/*
 * Big integers that are worked out once, at the end of a reduction: digits of base 2^32, the least
 * significant first, and the one rounding to binary64 that a result has. Pure functions.
 *
 * `sticky` says that something that is not zero lies below the last digit: what a division or a
 * root has cut off. The comments say `value` for the digits, and that, times 2^lsb_exponent.
 */
#ifndef GPUREDUCE_DIGITS_H
#define GPUREDUCE_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/product.h"

/* The value rounded once to binary64, to nearest, ties to even; beyond the range an infinity, and
   +0 for an exact zero. lsb_exponent is at most -1074, unless there are 54 bits or more. */
double digits_round(const uint32_t *digit, int n, int lsb_exponent, bool sticky, bool negative);

/* Divides n digits by divisor > 0, in place; returns the remainder. */
uint64_t digits_divide(uint32_t *digit, int n, uint64_t divisor);

/* Multiplies n digits by a factor, in place. Higher digits of the product are lost. */
void digits_multiply(uint32_t *digit, int n, uint64_t factor);

/* Takes the square of m digits away from n, which is no less. */
void digits_subtract_square(uint32_t *digit, int n, const uint32_t *root, int m);

/* The square root of the value, rounded once as above. lsb_exponent is even and at most -2152, so
   that what is cut off with `sticky` lies below all bits that decide the rounding. */
double digits_square_root(const uint32_t *digit, int n, int lsb_exponent, bool sticky);

#endif
