/*
 * Goes through all objects of a file, each group in the order of its names. H5Ovisit opens each
 * object by its path from the root on, and what is opened by any name keeps its path: the time
 * grows with the square of the depth, or its cube. So objects are opened by their addresses here,
 * and groups are left and entered by a loop.
 */
#ifndef GPUREDUCE_HDF5_WALK_H
#define GPUREDUCE_HDF5_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "hdf5/library.h"
#include "sys/buffer.h"

struct hdf5_walk {
    /* A dataset that was opened, which is closed afterwards; less than 0 where it could not be. */
    void (*dataset)(void *context, hid_t dataset);

    /* An object of which nothing more can be told: `kind` is "group", or "unknown". The library's
       last error says why. */
    void (*damaged)(void *context, const char *kind);

    /* A link that leads to no object of this file, and why. */
    void (*link)(void *context, const char *why);

    void *context;
    struct buffer path; /* of the object, without the first slash */
    bool failed;        /* without memory */

    /* Private. The groups from the root to the current one. */
    struct hdf5_level {
        hid_t group;
        size_t path;         /* bytes of `path` that are the name of the group */
        struct buffer links; /* of all that is linked there: a letter, the name, a zero byte */
        size_t next;
    } * levels;
    size_t depth, room; /* levels */
    void *seen;         /* addresses of what may come a second time, for tsearch */
};

/* Begins at the root group, which stays open. An object with several names comes once. Ends early
   where the file cannot be read. False where the library cannot list the root. */
bool hdf5_walk(struct hdf5_walk *w, hid_t root);

#endif
