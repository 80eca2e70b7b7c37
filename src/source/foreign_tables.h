/*
 * The tables of foreign formats, by kind, and what their rows are written with.
 */
#ifndef GPUREDUCE_FOREIGN_TABLES_H
#define GPUREDUCE_FOREIGN_TABLES_H

#include "source/foreign_format.h"

/* In each, the more special stands before the more general: of two rows that match, the first
   counts. */
struct foreign_table {
    const struct foreign *rows;
    size_t count;
};

extern const struct foreign_table foreign_archives; /* and compressions */
extern const struct foreign_table foreign_data;     /* of Python, machine learning, databases */
extern const struct foreign_table foreign_science;
extern const struct foreign_table foreign_media; /* images, sound, programs */
extern const struct foreign_table foreign_texts;

#define MAGIC(text) .magic = (text), .length = sizeof(text) - 1

/* Advice that several formats share. */
#define AS_NPY " reads it, and numpy.save writes an array of it as .npy"
#define NO_NUMBERS "that is not a file of numbers"

#endif
