/*
 * Files: cached and not cached.
 *
 * The caller owns the file descriptor. Functions that fail have printed why.
 */
#ifndef GPUREDUCE_BENCH_LIMITS_FILE_H
#define GPUREDUCE_BENCH_LIMITS_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/limits/limits_measure.h"

struct limits_file {
    const char *path; /* NULL for a temporary file */
    int fd;           /* below 0: not open */
    uint64_t size;    /* a multiple of pages, at least LIMITS_BYTES_MIN */
};

/* Opens the file that `path` names, which was not open. Warns if it is small compared with
   l->bytes. */
bool limits_file_open(const struct limits *l, struct limits_file *f);

/* The directory for temporary files. */
const char *limits_temporary_directory(void);

/* Makes a file without a name, with space for l->bytes, so that it is known before measuring that
   there is enough. */
bool limits_file_make(const struct limits *l, struct limits_file *f);

/* Writes l->data to it, and syncs, because writing them back later would disturb what is
   measured. */
bool limits_file_fill(const struct limits *l, struct limits_file *f);

/* Measures reading the file from the page cache, l->bytes of it at most. */
void limits_measure_cached(struct limits *l, const struct limits_file *f);

/* Measures reading the file when it is not in the page cache, which it is put out of. It must have
   a path. */
void limits_measure_cold(struct limits *l, const struct limits_file *f);

#endif
