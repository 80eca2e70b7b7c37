/*
 * Formats that the program does not read, so that none of them is taken for raw numbers: tables
 * with a row for each. Pure: over bytes already read, no I/O.
 *
 * Raw elements must practically never be refused. A magic of five bytes or more has odds of 2^-40
 * or less, for bytes of any value. A shorter one may be a number that occurs, so those rows ask for
 * more, and say what that makes. Zeros, ones and constant data match none.
 */
#ifndef GPUREDUCE_FOREIGN_H
#define GPUREDUCE_FOREIGN_H

#include "source/foreign_format.h"

/* The format that the input has; NULL where it is none of the table. */
const struct foreign *foreign_recognise(const struct foreign_input *in);

#endif
