/*
 * What is known of an input of which it is asked whether it is of a foreign format.
 */
#ifndef GPUREDUCE_FOREIGN_INPUT_H
#define GPUREDUCE_FOREIGN_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"

/* As many first bytes decide, or all if there are fewer. HDF5 may begin at 2048. */
#define FOREIGN_HEAD ((size_t)4096)

struct foreign_input {
    const unsigned char *bytes; /* its first, FOREIGN_HEAD of them unless it ends before */
    size_t size;
    bool ends;      /* these are all */
    bool torn;      /* and as raw elements, the last one would be cut off, which is an error */
    uint64_t total; /* bytes of the whole input; UINT64_MAX where that is not known */
    enum element_type
        type; /* what the elements would be, if it were raw: text is told from these */
    bool big_endian;
};

#endif
