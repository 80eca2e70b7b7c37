/*
 * Memory as the kernel maps it: buffers of huge pages, and files. Reading memory that may vanish: a
 * mapped file that somebody truncates raises SIGBUS at the next access beyond its new end.
 * mapping_guard turns that into a return value.
 */
#ifndef GPUREDUCE_MAPPING_H
#define GPUREDUCE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/* Bytes of a page of this system: a power of two, 4 KiB on x86 and up to 64 KiB elsewhere. */
size_t mapping_page(void);

/* Bytes of a transparent huge page: a power of two, as the kernel says it, or 2 MiB. Never less
   than a page. */
size_t mapping_huge_page(void);

/* Memory for `size` bytes, aligned to pages, in huge pages as far as it holds whole ones and the
   kernel has them; for free(). NULL without memory. */
void *mapping_alloc(size_t size);

/* Such memory that is kept for what comes next. All zeros: there is none. */
struct mapping_room {
    unsigned char *bytes;
    size_t size;
};

/* Has room for so many bytes; those that it has are lost if they are fewer. False without memory. */
bool mapping_room_take(struct mapping_room *room, size_t size);

/* Makes the pages of a mapped file that hold these bytes present, and reads those that the page
   cache lacks. False where the kernel is too old (Linux 5.14) or would not: at the end of a file
   that was truncated, say. Reading the file then tells why. */
bool mapping_populate(const void *data, size_t size);

/* Takes whole pages of a mapped file out of the process's memory. Reading them brings them back. */
void mapping_release(const void *pages, size_t size);

/* Pieces of mapped files that a thread is done with, and that are to be taken out of memory
   together: each call of mapping_release interrupts all threads of the process, and this does so
   once for many pieces where the kernel can (Linux 6.16). All zeros: there are none. */
struct mapping_pieces {
    struct iovec *pieces; /* NULL before the first */
    size_t count;
    size_t size; /* bytes of all; of a page that is in several pieces, several times */
};

/* Adds a piece: all pages that have some of its bytes. If there is no room or no memory for one
   more, those before it, or this one, are taken out of memory. */
void mapping_pieces_add(struct mapping_pieces *p, const void *first, size_t size);

/* Makes the pieces those of whole huge pages, within so many bytes of a mapping: what lies between
   them is no longer read. The kernel does not have to split huge pages then. */
void mapping_pieces_widen(struct mapping_pieces *p, const void *map, size_t size);

/* Takes all pieces out of memory. Then there are none. */
void mapping_pieces_release(struct mapping_pieces *p);

/* Frees the list alone. */
void mapping_pieces_close(struct mapping_pieces *p);

/* Calls body(argument). Returns false if a SIGBUS of this thread interrupted the body: its side
   effects are partial. The body must hold no lock and own nothing that has to be released, nor call
   this function itself. Any thread may call it. Without the handler of signals_open_bus, SIGBUS
   ends the process, or does what else was asked for. */
bool mapping_guard(void (*body)(void *), void *argument);

/* Calls body(argument): by mapping_guard if its bytes are those of a mapped file. */
static inline bool mapping_call(bool mapped, void (*body)(void *), void *argument)
{
    if (mapped)
        return mapping_guard(body, argument);
    body(argument);
    return true;
}

#endif
