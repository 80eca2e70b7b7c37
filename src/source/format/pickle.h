/*
 * Pickles of Python, as far as they hold data (protocols 1 to 5; Lib/pickletools.py of CPython).
 *
 * A pickle is a program for a machine with a stack, whose operations may import and call anything.
 * This reader executes nothing: it makes a tree of values, in which a call is a value that names
 * the function and its arguments. Only globals of a table may be named; any other, and any
 * operation that is not needed to write data, is an error.
 *
 * A tree has at most one value for each byte of the pickle. Values may be shared, and may even
 * contain themselves: who walks the tree limits how deep and how far.
 */
#ifndef GPUREDUCE_PICKLE_H
#define GPUREDUCE_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* Longer pickles are refused. Bytes. */
#define PICKLE_MAX ((uint64_t)100000000)

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INTEGER, /* of 64 bits, signed */
    PICKLE_TEXT,
    PICKLE_OTHER, /* a float, a larger integer, or bytes */
    PICKLE_TUPLE,
    PICKLE_LIST, /* or a set */
    PICKLE_DICT,
    PICKLE_GLOBAL,    /* something that a module has */
    PICKLE_CALL,      /* what a function returns; it may have items as a list or a dictionary has */
    PICKLE_PERSISTENT /* an object outside of the pickle; its name is `arguments` */
};

/* No value: the state of those that have none. */
#define PICKLE_ABSENT UINT32_MAX

/* A value. Others are named by their numbers. */
struct pickle_value {
    enum pickle_kind kind;
    uint32_t at; /* byte of the pickle where it is made */
    union {
        int64_t integer;  /* of PICKLE_BOOL and PICKLE_INTEGER */
        const char *text; /* of PICKLE_TEXT: `count` bytes of the pickle, which may be any; no NUL
                             ends them */
        const struct pickle_global *global; /* of PICKLE_GLOBAL: its row in the table */
        struct {
            uint32_t function, arguments; /* of PICKLE_CALL and PICKLE_PERSISTENT */
        };
    };
    uint32_t count;       /* items */
    uint32_t first, last; /* the first item, and the last, if there are any */
    uint32_t state;       /* what is said about its attributes; PICKLE_ABSENT: nothing */
};

/* An item of a list, a tuple or a dictionary. Those of a dictionary are a key and its value, in
   turns. */
struct pickle_item {
    uint32_t value;
    uint32_t next; /* the next item */
};

/* Globals that may be named, any of the names in any of the modules: names have | between them. */
struct pickle_global {
    const char *module, *name;
    unsigned use; /* what they are to the caller */
};

/* A pickle that has been read. It points into its bytes. */
struct pickle {
    struct pickle_value *values;
    size_t count, room;
    struct pickle_item *items;
    size_t item_count, item_room;
    uint32_t root;      /* the value that the pickle is */
    struct error error; /* why it was not read; its offset is a byte of the pickle */
};

/* Reads a pickle of at most PICKLE_MAX bytes; what follows its end is ignored. False on failure.
   pickle_free is to be called in any case. */
bool pickle_read(struct pickle *p, const void *bytes, size_t size,
                 const struct pickle_global *globals, size_t global_count);

void pickle_free(struct pickle *p);

/* The value of this number; None for PICKLE_ABSENT. */
static inline const struct pickle_value *pickle_value(const struct pickle *p, uint32_t value)
{
    static const struct pickle_value none = {.kind = PICKLE_NONE};

    return value == PICKLE_ABSENT ? &none : &p->values[value];
}

/* Goes on from *item, one of the items of a value, to the next. Returns the value that it is. */
static inline uint32_t pickle_next(const struct pickle *p, uint32_t *item)
{
    const struct pickle_item *i = &p->items[*item];

    *item = i->next;
    return i->value;
}

/* Writes the values of up to `most` items of a tuple, a list or a dictionary to `values`. Returns
   how many items there are. */
size_t pickle_items(const struct pickle *p, const struct pickle_value *v, uint32_t *values,
                    size_t most);

/* The value of a key in a dictionary, or in the attributes of a call that are one; PICKLE_ABSENT if
   there is none. */
uint32_t pickle_find(const struct pickle *p, uint32_t value, const char *key);

/* Takes an integer that is not negative. False for any other value, and PICKLE_ABSENT. */
bool pickle_count(const struct pickle *p, uint32_t value, uint64_t *x);

/* Takes up to CONTAINER_DIMENSIONS_MAX such integers of a tuple, or of a call whose one argument is a
   tuple, as torch.Size(...) is. False for any other value, and PICKLE_ABSENT. */
bool pickle_counts(const struct pickle *p, uint32_t value, uint64_t *counts, unsigned *number);

#endif
