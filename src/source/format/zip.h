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

/* A member, as the central directory has it. */
struct zip_member {
    uint64_t at; /* offset in the file of its entry */
    unsigned flags, method;
    uint32_t checksum;
    uint64_t compressed, size, local; /* bytes in the file and decompressed; offset of its header */
    uint64_t offset;                  /* of its first byte, by zip_place; 0: not known yet */
    const char *name;                 /* in the directory */
    size_t name_length;
};

/* An archive. The caller sets the first two fields, zip_read_members the rest. */
struct zip {
    struct container *container; /* its `text` becomes the central directory */
    struct container_input *in;  /* the file */
    uint64_t begin, size;        /* of the central directory: offset, and bytes */
    uint64_t entries;            /* members that it is said to have */
    uint64_t listed;             /* bytes of it that list these */
    uint64_t end;                /* offset of what ends it */
    struct zip_member
        *members;       /* in its order, unless zip_sort has been called; free gives them back */
    size_t count, room; /* of `members` */
};

/* The first bytes of a member, and where they are. */
struct zip_content {
    unsigned char bytes[ZIP_HEAD_MAX];
    size_t size;
    uint64_t offset; /* in the file, of the first of its bytes, compressed or not */
};

/* The name of the first member of what begins with these bytes, without a NUL, after folders, which zip(1)
   puts before what is in them; NULL if that is no archive, or if its header ends after `size` bytes. */
const char *zip_first_name(const unsigned char *bytes, size_t size, size_t *length);

/* How many first bytes of what begins with these tell that name, or, of fewer, how long it is; 0 of
   what is no archive. */
size_t zip_head(const unsigned char *bytes, size_t size);

/* Whether these bytes are an archive without members. */
bool zip_is_empty(const unsigned char *bytes, size_t size);

/* Reads the central directory. Sets the container's warning if bytes follow it. */
bool zip_read_members(struct zip *z);

/* Puts members in the order of their names. The last of several with one name counts; the others
   are dropped. */
void zip_sort(struct zip *z);

/* The member of this name, of so many bytes, after zip_sort; NULL for none. */
struct zip_member *zip_find(const struct zip *z, const char *name, size_t length);

/* Reads a member's local header, and the bytes after it. */
bool zip_read_local(const struct zip *z, const struct zip_member *m, struct zip_content *content);

/* Whether the bytes of a member are there as they are. */
bool zip_is_plain(const struct zip_member *m);

/* Finds where a member's bytes begin. */
bool zip_place(const struct zip *z, struct zip_member *m);

#endif
