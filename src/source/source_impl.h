/*
 * Implementations of sources: the state that all kinds of sources share, and functions that read
 * the file.
 *
 * A kind of source (file.c, serial.c, ...) is a table of functions and a state of its own. Kinds
 * include this header, reader.h and formats.h, and not each other; only open.c knows all of them.
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

/* The functions of a kind of source, which do what the functions of the same names in source.h
   do. All but next may be NULL if they would do nothing, or are not possible. A function that
   fails has made the source fail (source_error); this holds for all functions in src/source,
   unless their comments say otherwise. */
struct source_ops {
    enum source_status (*next)(struct source *, const struct chunk_request *, struct chunk *);
    enum source_status (*at)(struct source *, const struct chunk_request *, struct chunk *);
    /* source_piece; NULL: each element is one. Arrays that are compressed or in tiles have `at` only
       if they have this. */
    void (*piece)(const struct source *, uint64_t index, uint64_t *begin, uint64_t *end);
    bool (*help)(struct source *);
    void (*release)(struct source *, unsigned worker, const struct chunk *);
    void (*lost)(struct source *, const struct chunk *);
    /* source_lend; *most is in bytes. */
    bool (*lend)(struct source *, unsigned worker, uint64_t index, size_t count, struct chunk *,
                 uint64_t *most);
    /* Reads elements as source_read_range does, which otherwise reads the file. */
    void (*read)(struct source *, uint64_t index, size_t count, void *elements);
    /* Sets the missing values, as source_find_missing does; returns the first that the type lacks, which
       becomes *type. NULL: as the container tells. */
    const char *(*find_missing)(struct source *, const struct missing_values *values,
                                struct missing *m, enum element_type *type);
    /* source_is_missing; NULL: no element is. */
    bool (*is_missing)(const struct source *, uint64_t index);
    /* source_took: bytes that were lent, or read instead. */
    void (*took)(struct source *, unsigned worker, uint64_t bytes);
    /* source_return: a piece that was lent. */
    void (*returned)(struct source *, unsigned worker, const void *data, size_t bytes);
    void (*leave)(struct source *, unsigned worker);
    enum source_verdict (*finish)(struct source *);
    uint64_t (*index)(const struct source *, uint64_t position);
    void (*close)(struct source *);
};

struct reader;
struct damage;

/* The damaged arrays of a source. */
struct source_damages {
    bool
        kept; /* damage is noted here, as in a container, or in one of its arrays; else it is a failure */
    struct mutex mutex;
    struct damage *list;
    size_t room;
    _Atomic size_t count;
};

struct source {
    struct source_options options; /* how it is read, with the tuning and the format that apply */
    const struct source_ops *ops;
    void *state;                              /* state of the kind, which ops->close frees */
    int fd;                                   /* the file's descriptor */
    bool close_fd;                            /* source_close closes it */
    const struct container_format *directory; /* the format of a directory, a store of files, that
                                                 has_size says nothing of; NULL: it is none */
    bool has_size;                            /* the input can be read at any offset */
    bool unpacked;                            /* fd is not its file, but the content of that */
    _Atomic uint64_t *unpacked_bytes;         /* whose bytes are counted here; NULL: nowhere */
    struct reader *reader; /* reads the input from its beginning, until the source is open */
    const char *path;      /* the path that the user gave */
    char *name;            /* the input's name in messages */

    unsigned char
        pair[CONTAINER_PAIR_MAX]; /* the first bytes of NIfTI's header, if the input is the
                                               image of a pair of files */
    size_t pair_size;             /* of these; 0: it is none */

    unsigned char *head; /* first bytes of an input that can be read at any offset; NULL for
                            others */
    size_t head_size;    /* bytes in `head` */

    /* The layout, which does not change once the source is open. */
    struct source_info info;
    struct container *container;          /* info.container */
    struct source_pick *picks;            /* info.picks */
    const struct container_format *inner; /* the format of the container that the compressed data
                                             turned out to be while it was opened, which then fails
                                             without an error */
    const struct container_array
        *array; /* options.array, or `field`; NULL of a container, and of a view */
    struct container_array field; /* raw elements, those of a .npy, or a field of records, as an
                                             array without a name */
    struct {
        unsigned marker; /* bytes */
        bool big_endian;
        bool guessed; /* nothing tells that they are little-endian */
        bool unseen;  /* the first record has not been found to end where they say */
    } fortran; /* the lengths around Fortran's records, if info.format is that; marker is 0 if not */
    bool header;          /* the elements follow a header that describes them */
    uint64_t start;       /* offset in the file at which the input begins */
    uint64_t data_offset; /* bytes, after decompression, before the first element */
    uint64_t stated;      /* elements that a header states; SOURCE_UNKNOWN without one */
    uint64_t through; /* of a part of zstd that was cut: frames that begin before this offset are
                         decoded to their ends, whatever elements are requested; 0 for others */

    struct zstd_file zstd; /* the state of a zstd file */

    bool muted;         /* source_error ignores errors in the data, which will be found again later;
                           errors of reading still count */
    struct error error; /* the reason why the source failed; valid if `told` */
    struct source_damages damages;

    /* Any worker may change the rest. */
    _Atomic uint64_t limit;      /* elements from this index on are not needed */
    _Atomic bool failed;         /* the source has failed */
    _Atomic bool told;           /* `error` is set */
    _Atomic uint64_t input_read; /* see struct source_stats */
    _Atomic uint64_t read_time;
    _Atomic uint64_t decode_time;
    _Atomic uint64_t left_out; /* source_left_out */
};

/* Counts `bytes` of input as read, in `time` nanoseconds. Any worker. */
static inline void source_count(struct source *s, uint64_t bytes, uint64_t time)
{
    atomic_fetch_add_explicit(&s->input_read, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->read_time, time, memory_order_relaxed);
}

/* Makes the source fail because byte `offset` of the input cannot be read; `error` is an errno. Any
   worker. */
void source_unreadable(struct source *s, uint64_t offset, int error);

/* Makes the source fail at an offset of the input, or of what it decodes to. */
#define source_error_at(s, ...) source_fail(s, error_at(__VA_ARGS__))

/* Notes that array number `array` is damaged at `place`, a measure that rises in the order in which
   parts of the array are claimed; the damage at the least place is kept. So that it is the first one
   on any number of workers, each goes on with what it has claimed before that place
   (source_is_damaged). Unless damages.kept is set, the source fails at once. Any worker. */
void source_note_damage(struct source *s, size_t array, uint64_t place, struct error error);

/* Whether damage of an array has been noted before `place`, so that it need not be read there. Any
   worker. */
bool source_is_damaged(struct source *s, size_t array, uint64_t place);

/* Whether the source has failed. Any thread. */
static inline bool source_failed(const struct source *s)
{
    return atomic_load_explicit(&s->failed, memory_order_relaxed);
}

/* The index from which on elements are not needed; SOURCE_UNKNOWN if all are. Any thread. */
static inline uint64_t source_wanted(const struct source *s)
{
    return atomic_load_explicit(&s->limit, memory_order_relaxed);
}

/* Makes the source fail since the file has become shorter since it was opened. It ends
   before or at offset `missing` of the file: nothing could be read there. Returns false. */
bool source_became_shorter(struct source *s, uint64_t missing);

/* The position of the first requested element, in bytes of the decoded input. */
static inline uint64_t source_begin_position(const struct source *s)
{
    return s->data_offset + s->info.first * s->info.element_size;
}

/* The position after the last requested element, in bytes of the decoded input; SOURCE_UNKNOWN
   if it is not known. */
static inline uint64_t source_end_position(const struct source *s)
{
    if (s->array->record_elements > 0 && s->info.elements > 0)
        return container_array_offset(s->array, s->info.elements - 1, s->info.element_size) +
               s->info.element_size;
    if (s->info.elements < (SOURCE_UNKNOWN - s->data_offset) / s->info.element_size)
        return s->data_offset + s->info.elements * s->info.element_size;
    return SOURCE_UNKNOWN;
}

/* Checks that the input may end at byte `size` of the decoded stream: not before the elements
   that a header states, nor within a requested element. If not, the source fails and this
   returns false. */
bool source_check_end(struct source *s, uint64_t size);

/* The number of whole elements in `data` bytes from the first element, or record, on. */
uint64_t source_whole_elements(const struct source *s, uint64_t data);

/* Makes the source fail since the input ends at byte `end`, where it has `there` of the `size` bytes
   of its last element or record. Returns false. */
bool source_cut_off(struct source *s, uint64_t end, uint64_t there, uint64_t size);

/* Whether compressed input is read from front to back, as records always are. */
static inline bool source_reads_in_order(const struct source_options *options)
{
    return options->in_order || options->record.bytes > 0 || options->format == SOURCE_FORTRAN;
}

/* Maps the file from its beginning to the end of the input. NULL if that is not possible, or not
   worth it: for block devices and small files. *size: bytes, for munmap. */
unsigned char *source_map(const struct source *s, size_t *size);

/* The number of `probes` pages (at least 2), spread over these bytes of the mapped file, that
   are not in the page cache. 0 if the kernel does not tell, since the user may not write to the
   file. */
unsigned source_uncached(const unsigned char *map, uint64_t offset, uint64_t size, unsigned probes);

/* Reads exactly `size` bytes at `offset`. False on failure, or where the file ends first: it has
   become shorter. Any thread. */
bool source_pread_all(struct source *s, void *buffer, size_t size, uint64_t offset);

/* Reads exactly `size` bytes of an array of a container, as source_pread_all does. An error of the
   disk only makes the array damaged, at this place of source_note_damage. */
bool source_pread_array(struct source *s, size_t array, uint64_t place, void *buffer, size_t size,
                        uint64_t offset);

/* Reads `count` elements of an array in records, which array number `array` of the source is, from
   element `index` on, one after the other. Errors are those of source_pread_array, at the place of
   the first element that is read together with the one that cannot be. */
bool source_pread_records(struct source *s, size_t array, const struct container_array *a,
                          uint64_t index, size_t count, void *elements);

/* Reads exactly `size` bytes at `offset`. Returns 0, an error number of the system, or -1 where the
   file ends first, and in *done how many bytes there are, which count as read. The source does not fail.
   `fd` is s->fd, or a descriptor of the same file with O_DIRECT: then buffer, size and offset are
   multiples of pages, and an error may mean only that the file cannot be read so. */
int source_try_pread(struct source *s, int fd, void *buffer, size_t size, uint64_t offset,
                     size_t *done);

#endif
