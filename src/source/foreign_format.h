/*
 * A row of the tables of foreign formats: how one is recognised, and what to do about it.
 */
#ifndef GPUREDUCE_FOREIGN_FORMAT_H
#define GPUREDUCE_FOREIGN_FORMAT_H

#include "source/foreign_input.h"

struct foreign {
    const char *name;   /* with its article */
    const char *filter; /* a command that reads a file or standard input and writes the elements to
                           standard output; NULL where there is no such */
    const char *advice; /* then: how to read it. FILE in it stands for the input's name, and {} for
                           what `detail` says */

    /* What is to be said of this input; at most FOREIGN_DETAIL_MAX bytes with the zero. */
    void (*detail)(const struct foreign_input *in, char *said);

    /* It begins with `magic`, of `length` bytes, at `offset`, and `also` holds. A row without magic
       has `also` alone, one with `magic` may do without. `also` sees at least `least` bytes. */
    const char *magic;
    size_t offset, length, least;
    bool (*also)(const struct foreign_input *in);

    /* The length of the whole input tells: where that is not known, it is not recognised. */
    bool whole;
};

#define FOREIGN_DETAIL_MAX ((size_t)128)

#endif
