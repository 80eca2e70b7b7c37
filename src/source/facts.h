/*
 * Facts about an array that need nothing but headers: what lists print.
 */
#ifndef GPUREDUCE_FACTS_H
#define GPUREDUCE_FACTS_H

#include "source/source.h"

struct array_facts {
    const char *type; /* as the container spells it, where it is not read; NULL for none */
    bool big_endian, order_open; /* order_open: headers do not state the byte order */
    struct array_shape shape;
    uint64_t elements, bytes; /* `bytes`: decompressed. SOURCE_UNKNOWN: not known */
    uint64_t chunks,
        missing_chunks;    /* SOURCE_UNKNOWN: it is not in chunks that have been looked up */
    uint64_t offset, skip; /* bytes before the first one in the file, and after decompression;
                              SOURCE_UNKNOWN: there is no such place */
    bool compressed;       /* what is at `offset`, or the file: it is decompressed to be read */
};

/* Finds the facts about an input that is one array, or, with `array`, about one of its arrays.
   `elements`: those of that array that count, if it can be read. The type refers to the array. Any
   thread. */
void array_facts_find(struct array_facts *facts, const struct source_info *info,
                      const struct container_array *array, uint64_t elements);

#endif
