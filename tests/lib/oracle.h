/*
 * The oracle: exact sums of binary64 values, rounded once, by means that share nothing with the
 * program. One backend is MPFR, where there is one; the other a schoolbook big integer, always
 * there. Tests take their expected values from here.
 *
 * The rules for special values are those of the program: any NaN, or infinities of both signs,
 * give NaN; infinities of one sign give that infinity; a result beyond the range is an infinity;
 * an exact zero is +0.
 */
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sum of x[0 .. n), rounded once to binary64, to nearest, ties to even. */
double oracle_sum(const double *x, size_t n);

/* The sum divided by n, rounded once; NaN for n = 0. */
double oracle_mean(const double *x, size_t n);

/* The sum times `times`, divided by `divisor`, both at least 1, rounded once. A quotient that is
   not zero but rounds to zero keeps its sign. */
double oracle_scaled(const double *x, size_t n, uint64_t times, uint64_t divisor);

/* The implementation of the three functions above: "MPFR" and its version, or "schoolbook". */
const char *oracle_backend(void);

/* The backends of oracle_scaled, each by itself. oracle_mpfr gives NaN where oracle_has_mpfr says
   that there is none. */
double oracle_schoolbook(const double *x, size_t n, uint64_t times, uint64_t divisor);
double oracle_mpfr(const double *x, size_t n, uint64_t times, uint64_t divisor);
bool oracle_has_mpfr(void);

/* Whether a and b are the same bits, or both NaN. */
bool oracle_same(double a, double b);

#endif
