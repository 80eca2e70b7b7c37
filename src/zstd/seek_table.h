/*
 * The table of zstd's seekable format: a skippable frame at the end of a file, which says for each
 * frame in front of it how long it is and how much it holds. It may lie; whoever follows it finds
 * out.
 *
 * A table belongs to one thread at a time. Its entries are read as they are asked for.
 */
#ifndef GPUREDUCE_ZSTD_SEEK_TABLE_H
#define GPUREDUCE_ZSTD_SEEK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "zstd/frames.h"

/* Entries are read so many bytes at a time. */
#define ZSTD_SEEK_TABLE_BUFFER 1024

struct zstd_seek_table {
    uint64_t begin; /* offset of its frame; 0 where there is none, or it is not followed any more */
    uint64_t entry; /* offset of the next entry */
    uint64_t entries_end; /* offset behind the last one */
    unsigned entry_bytes;
    struct zstd_view view;
    unsigned char buffer[ZSTD_SEEK_TABLE_BUFFER];
};

/* Looks for a table. Whether its entries are true is seen when they are followed. */
void zstd_seek_table_find(struct zstd_seek_table *t, struct zstd_file *file);

/* The next entry: bytes of the frame, and of what it holds. False where there is none; then, or
   where it cannot be read, t->begin is 0. */
bool zstd_seek_table_next(struct zstd_seek_table *t, uint64_t *size, uint64_t *content);

#endif
