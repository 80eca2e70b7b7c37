/*
 * Natural numbers for oracles, and their quotients and roots rounded once to binary64. They share
 * nothing with the program: integers of thousands of bits are added up by hand, and nothing is ever
 * divided and no root is drawn. The result is the binary64 number that lies nearest by definition,
 * found by bisection over all there are, with products alone.
 */
#ifndef TESTS_NATURAL_H
#define TESTS_NATURAL_H

#include <stdbool.h>
#include <stdint.h>

/* Words of 32 bits, the least significant first. Sums of squares of scaled numbers are in units of
   2^-4296 and below 2^4200; the numbers that they are compared with stay below 2^4500. */
#define NATURAL_WORDS 280

struct natural {
    uint32_t word[NATURAL_WORDS];
};

/* a += x 2^shift */
void natural_add(struct natural *a, uint64_t x, unsigned shift);

/* a *= x */
void natural_multiply(struct natural *a, uint64_t x);

/* a <<= shift */
void natural_shift(struct natural *a, unsigned shift);

/* Below 0, 0 or above 0. */
int natural_compare(const struct natural *a, const struct natural *b);

/* a - b, which is not negative. */
struct natural natural_difference(const struct natural *a, const struct natural *b);

/* a^2 */
struct natural natural_square(const struct natural *a);

/* A magnitude x as an integer, and the place of its last bit in units of 2^-1074. NaNs and
   infinities have 0. */
uint64_t natural_take_apart(double x, unsigned *place);

/* numerator 2^unit / (by by_too), or its root, rounded once; `unit` is at most -2148, and even. */
double natural_quotient(const struct natural *numerator, uint64_t by, uint64_t by_too, int unit,
                        bool root);

#endif
