/*
 * zip archives, as far as formats of arrays lie in them: the central directory, which lists the
 * members, and their local headers (PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3 for ZIP64).
 *
 * Functions that fail return false, with the reason in the container_input.
 */
#ifndef GPUREDUCE_ZIP_H
#define GPUREDUCE_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/format/container.h"

/* As much of a member is read at first, bytes: as a rule its local header and that of what it is. */
#define ZIP_HEAD_MAX ((size_t)1024)

/* How a member is compressed; there are other methods. */
enum zip_method { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

/* An archive. The caller sets the first two fields, zip_read_directory the rest. */
struct zip {
    struct container *container;   /* its `text` becomes the central directory */
    struct container_input *in;    /* the file */
    uint64_t members, begin, size; /* of the central directory: members, offset, and bytes */
    uint64_t end;                  /* offset of what ends it */
};

/* A member, as the central directory has it. */
struct zip_member {
    uint64_t at; /* offset in the file of its entry */
    unsigned flags, method;
    uint32_t checksum;
    uint64_t compressed, size, local; /* bytes in the file and decompressed; offset of its header */
    const unsigned char *name;        /* in the directory, without a NUL */
    size_t name_length;
};

/* The first bytes of a member, and where they are. */
struct zip_content {
    unsigned char bytes[ZIP_HEAD_MAX];
    size_t size;
    uint64_t offset; /* in the file, of the first of its bytes, compressed or not */
};

/* The name of the first member of what begins with these bytes, without a NUL; NULL if that is no
   archive, or if its header has more than `size` bytes. */
const unsigned char *zip_first_name(const unsigned char *bytes, size_t size, size_t *length);

/* How many first bytes of what begins with these tell that name, or, of fewer, how long it is; 0 of
   what is no archive. */
size_t zip_head(const unsigned char *bytes, size_t size);

/* Whether these bytes are an archive without members. */
bool zip_is_empty(const unsigned char *bytes, size_t size);

/* Reads the central directory. Sets the container's warning if bytes follow it. */
bool zip_read_directory(struct zip *z);

/* Reads the entry at byte *at of the directory, which begins at 0, and moves *at after it. */
bool zip_read_entry(const struct zip *z, size_t *at, struct zip_member *m);

/* Reads a member's local header, and the bytes after it. */
bool zip_read_local(const struct zip *z, const struct zip_member *m, struct zip_content *content);

#endif
