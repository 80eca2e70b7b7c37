/*
 * For the implementations of sources: the state that all kinds share, and reading the file.
 *
 * A kind of source (file.c, serial.c, zstd/) is a table of functions and a state of its own. Kinds
 * include this header and what stands beside it at the bottom (reader.h, formats.h), and
 * not each other; open.c alone knows them all.
 */
#ifndef GPUREDUCE_SOURCE_IMPL_H
#define GPUREDUCE_SOURCE_IMPL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/source.h"
#include "sys/mutex.h"
#include "zstd/file.h"

/* The functions of a kind of source. All but next may be NULL if there is nothing to do, or nothing
   that it could do. They mean what the functions of the same names in source.h do. As there, a
   function that fails has made the source fail (source_error); so has every other function in
   src/source, unless its comment or header says otherwise. */
struct source_ops {
    enum source_status (*next)(struct source *, const struct chunk_request *, struct chunk *);
    enum source_status (*at)(struct source *, const struct chunk_request *, struct chunk *);
    void (*release)(struct source *, unsigned worker, const struct chunk *);
    void (*lost)(struct source *, const struct chunk *);
    /* *most: bytes. */
    bool (*lend)(struct source *, unsigned worker, uint64_t index, size_t count, struct chunk *,
                 uint64_t *most);
    /* Bytes that were lent, or read in place of that. */
    void (*took)(struct source *, unsigned worker, uint64_t bytes);
    /* A piece that was lent. */
    void (*returned)(struct source *, unsigned worker, const void *data, size_t bytes);
    void (*leave)(struct source *, unsigned worker);
    enum source_verdict (*finish)(struct source *);
    uint64_t (*index)(const struct source *, uint64_t position);
    void (*close)(struct source *);
};

struct reader;

struct source {
    const struct source_ops *ops;
    void *state; /* the kind's own, released by ops->close */
    int fd;
    bool close_fd;
    bool has_size;         /* it can be read at any offset */
    struct reader *reader; /* of the input from its beginning, until it is opened */
    const char *path;      /* as the user gave it */
    char *name;            /* as messages show it */

    unsigned char *head; /* the input's first bytes, where it can be read at any offset */
    size_t head_size;

    /* The layout, fixed once the source is open. */
    struct source_info info;
    struct container *container;          /* as info.container */
    struct source_pick *picks;            /* as info.picks */
    const struct container_format *inner; /* the format of the container that the compressed data
                                             turned out to be while it was opened, which then fails
                                             without an error */
    const struct container_array *array;  /* the one that is read alone; NULL for none */
    struct source_wanted *wanted;         /* as in struct source_options */
    bool header;                 /* the elements stand after a header that describes them */
    bool cancellable, no_direct; /* as in struct source_options, as is the next */
    enum source_access access;
    const struct source_tuning *tuning;
    uint64_t start;          /* offset in the file at which the input begins */
    uint64_t data_offset;    /* bytes, after decompression, before the first element */
    uint64_t promised;       /* elements that a header promises; SOURCE_UNKNOWN without one */
    struct source_part part; /* of zstd that was cut */
    uint64_t through; /* of such a part: frames that begin before this offset are decoded to their
                         ends, whatever elements are wanted; otherwise 0 */

    struct zstd_file zstd; /* the input as such a file, where it is one */

    bool muted; /* source_error does nothing: what it would say of the data is found again, and
                   better told; that they cannot be read is told all the same */
    const struct log *log;          /* as in struct source_options */
    struct error error;             /* why it failed; set once, by whoever sets `failed` */
    struct source_damages *damages; /* of a container's arrays; NULL where there are none */

    /* Changed by any worker. */
    _Atomic uint64_t limit; /* elements from this index on are no longer wanted */
    _Atomic bool failed;
    _Atomic bool told;           /* `error` is set */
    _Atomic uint64_t input_read; /* see struct source_stats */
    _Atomic uint64_t read_time;
    _Atomic uint64_t decode_time;
};

/* How many of an array's elements come before byte `offset` of the input, if the first stands at
   `begin`. */
uint64_t source_elements_before(uint64_t offset, uint64_t begin, size_t size, uint64_t elements);

/* Counts `bytes` of input as read, in `time` nanoseconds. Any worker may call it. */
static inline void source_count(struct source *s, uint64_t bytes, uint64_t time)
{
    atomic_fetch_add_explicit(&s->input_read, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->read_time, time, memory_order_relaxed);
}

/* Reports that the input cannot be read at this offset, for this error of the system. */
void source_unreadable(struct source *s, uint64_t offset, int error);

/* Makes the source fail at an offset of the input, or of what it decodes to. */
#define source_error_at(s, ...) source_fail(s, error_at(__VA_ARGS__))

/* Has a container's damaged arrays noted. False without memory. */
bool source_open_damages(struct source *s);

/* Notes that an array of a container is damaged: `place` says where in it, in any measure that
   rises in the order in which it is claimed, and the first one is kept. If the source is one array,
   that makes it fail. Any worker may call it. */
void source_note_damage(struct source *s, size_t array, uint64_t place, struct error error);

/* Whether an array has been noted as damaged at a place before this one: then nobody needs to read
   it there. */
bool source_is_damaged(const struct source *s, size_t array, uint64_t place);

static inline bool source_failed(const struct source *s)
{
    return atomic_load_explicit(&s->failed, memory_order_relaxed);
}

/* Elements from this index on are not wanted: SOURCE_UNKNOWN while all are. */
static inline uint64_t source_wanted(const struct source *s)
{
    return atomic_load_explicit(&s->limit, memory_order_relaxed);
}

/* Makes the source fail since the file has become shorter since it was opened. It ends
   before or at offset `missing` of the file: nothing could be read there. */
void source_became_shorter(struct source *s, uint64_t missing);

/* Position of the first element that is asked for, in what a compressed input decodes to. */
static inline uint64_t source_begin_position(const struct source *s)
{
    return s->data_offset + s->info.first * s->info.element_size;
}

/* Position after the last one; SOURCE_UNKNOWN where that is not known. */
static inline uint64_t source_end_position(const struct source *s)
{
    if (s->info.elements < (SOURCE_UNKNOWN - s->data_offset) / s->info.element_size)
        return s->data_offset + s->info.elements * s->info.element_size;
    return SOURCE_UNKNOWN;
}

/* Whether the input may end at byte `size` of the decoded stream: not before the end that a header
   promises, nor within an element that is asked for. */
bool source_check_end(struct source *s, uint64_t size);

/* Maps the file from its beginning to the input's end; NULL where that cannot be, or is not worth
   it: block devices and small files are read. *size: bytes, for munmap. */
unsigned char *source_map(const struct source *s, size_t *size);

/* How many of `probes` pages, at least 2, which are spread over these bytes of the mapped file, are
   not in the page cache. The kernel tells only those who could write to the file: for others it is
   none. */
unsigned source_uncached(const unsigned char *map, uint64_t offset, uint64_t size, unsigned probes);

/* Reads exactly `size` bytes at `offset` of the file unless it ends first; returns how many, or -1
   on failure. Counts what it read. */
ptrdiff_t source_pread(struct source *s, void *buffer, size_t size, uint64_t offset);

/* Reads exactly `size` bytes at `offset`. False on failure, or where the file ends first: it has
   become shorter. Any thread. */
bool source_pread_all(struct source *s, void *buffer, size_t size, uint64_t offset);

/* Reads exactly `size` bytes of an array of a container, as source_pread_all does. An error of the
   disk only makes the array damaged, at this place of source_note_damage. */
bool source_pread_array(struct source *s, size_t array, uint64_t place, void *buffer, size_t size,
                        uint64_t offset);

/* Reads exactly `size` bytes at `offset`. Returns 0, an error number of the system, or -1 where the
   file ends first. The source does not fail. */
int source_try_pread(struct source *s, void *buffer, size_t size, uint64_t offset);

/* Reads as source_pread does, through `fd`: s->fd, or a descriptor of the same file with O_DIRECT.
   For the latter, buffer, size and offset are multiples of pages, and SOURCE_REFUSED means that the
   file cannot be read directly: the source does not fail, since source_pread may still succeed. */
#define SOURCE_REFUSED (-2)
ptrdiff_t source_pread_from(struct source *s, int fd, void *buffer, size_t size, uint64_t offset);

#endif
