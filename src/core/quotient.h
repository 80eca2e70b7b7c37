/*
 * Quotients of big integers, and their square roots, rounded once to binary64. The integers are
 * digits of base 2^32, the least significant first (digits.h). Pure functions.
 */
#ifndef GPUREDUCE_QUOTIENT_H
#define GPUREDUCE_QUOTIENT_H

#include <stdbool.h>
#include <stdint.h>

/* The most digits of a dividend or a divisor; a factor has half of them. */
#define QUOTIENT_DIGITS_MAX 532

/* The number of the lowest n digits without zeros at the top. */
int quotient_length(const uint32_t *digit, int n);

/* product = x y; x and y have n digits, and the product 2 n. */
void quotient_multiply(uint32_t *product, const uint32_t *x, const uint32_t *y, int n);

/* dividend / divisor, or its square root, rounded to nearest, ties to even. Both have n digits; the
   divisor is not 0, and the result is less than 4. */
double quotient_round(const uint32_t *dividend, const uint32_t *divisor, int n, bool root);

/* x y / sqrt(x x  y y), rounded once to binary64, to nearest, ties to even, where x y, or its
   negative, x x and y y are multiples of one number, in n digits of 32 bits. x x and y y are not
   zero, and x y is not more than their geometric mean, by the inequality of Cauchy and Schwarz. */
double cosine_round(const uint32_t *xy, bool negative, const uint32_t *xx, const uint32_t *yy,
                    int n);

#endif
