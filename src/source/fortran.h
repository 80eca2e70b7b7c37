/*
 * The records of unformatted sequential files of Fortran, in bytes that come in order.
 */
#ifndef GPUREDUCE_SOURCE_FORTRAN_H
#define GPUREDUCE_SOURCE_FORTRAN_H

#include "source/reader.h"

/* Opens a reader of what is in the records of `input`, one after the other: the first `skip` bytes are
   passed on as they are, and records follow, with markers as s->fortran says. A marker that is wrong, a
   record that does not hold whole elements (or whole records of `record`), and one that is cut off are
   errors. It closes `input`, also where it returns NULL, without memory. */
struct reader *fortran_reader_open(struct source *s, const struct source_record *record,
                                   uint64_t skip, struct reader *input);

/* Reads the first record, or the first part of it, to its end, if that has not been read. With lengths
   of another size or byte order, which the second one tells, the bytes returned so far are others. */
void fortran_reader_see(struct reader *reader);

#endif
