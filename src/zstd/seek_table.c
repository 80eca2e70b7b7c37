#include "config.h"

#include "zstd/seek_table.h"

/* A skippable frame of this magic at the end of the file. It holds an entry for each frame (its
   size, its content's, and perhaps a checksum), and a footer: how many there are, a descriptor (bit
   7: with checksums; bits 6 to 2 are reserved), and another magic. See contrib/seekable_format in
   the sources of zstd. */
#define TABLE_MAGIC 0x184d2a5eu
#define TABLE_FOOTER_MAGIC 0x8f92eab1u
#define TABLE_FOOTER 9
#define TABLE_CHECKSUMS 0x80
#define TABLE_RESERVED 0x7c

/* The bytes of an entry that are looked at. */
#define ENTRY_READ 8

void zstd_seek_table_find(struct zstd_seek_table *t, struct zstd_file *file)
{
    uint64_t end = file->size, entries, size;
    const unsigned char *b;
    unsigned entry_bytes;
    size_t got;

    *t = (struct zstd_seek_table){.begin = 0};
    t->view = (struct zstd_view){.file = file, .buffer = t->buffer, .capacity = sizeof t->buffer};
    if (end < ZSTD_SKIPPABLE_HEADER + TABLE_FOOTER)
        return;
    b = zstd_view_at(&t->view, end - TABLE_FOOTER, TABLE_FOOTER, &got);
    if (!b || got < TABLE_FOOTER || zstd_load32(b + 5) != TABLE_FOOTER_MAGIC ||
        b[4] & TABLE_RESERVED)
        return;
    entries = zstd_load32(b);
    entry_bytes = b[4] & TABLE_CHECKSUMS ? 12 : 8;
    size = entries * entry_bytes + TABLE_FOOTER;
    if (size > end - ZSTD_SKIPPABLE_HEADER)
        return;
    b = zstd_view_at(&t->view, end - size - ZSTD_SKIPPABLE_HEADER, ZSTD_SKIPPABLE_HEADER, &got);
    if (!b || got < ZSTD_SKIPPABLE_HEADER || zstd_load32(b) != TABLE_MAGIC ||
        zstd_load32(b + 4) != size)
        return;
    t->begin = end - size - ZSTD_SKIPPABLE_HEADER;
    t->entry = t->begin + ZSTD_SKIPPABLE_HEADER;
    t->entries_end = end - TABLE_FOOTER;
    t->entry_bytes = entry_bytes;
}

bool zstd_seek_table_next(struct zstd_seek_table *t, uint64_t *size, uint64_t *content)
{
    const unsigned char *b = NULL;
    size_t got = 0;

    if (!t->begin)
        return false;
    if (t->entry < t->entries_end)
        b = zstd_view_at(&t->view, t->entry, ENTRY_READ, &got);
    if (!b || got < ENTRY_READ) {
        t->begin = 0;
        return false;
    }
    t->entry += t->entry_bytes;
    *size = zstd_load32(b);
    *content = zstd_load32(b + 4);
    return true;
}
