/*
 * Sources: where the elements come from. A source hands out chunks, each to the worker that asks
 * next, until it is empty; it knows files, pipes and formats, and nothing of engines.
 *
 * In parallel: regular files, raw, .npy, or zstd. Every worker fills its own buffer at the same
 * time as the others (an atomic exchange claims a range; small zstd frames are decoded by the
 * worker that claimed them).
 *
 * In order: pipes, zstd from a pipe, and large zstd frames. The reader is a role: the worker that
 * has it fills the buffers of those that wait, one after the other, and its own when nobody waits;
 * then it goes to reduce, and who comes next takes the role. So as long as others reduce, reading
 * and decoding stay on one core and never wait for a reduction.
 *
 * source_next may be called by any worker at any time; open, finish and close belong to the thread
 * that owns the source. Errors are printed once, with the file's name and the byte offset, when
 * they are first known; from then on every source_next returns SOURCE_FAILED.
 */
#ifndef GPUREDUCE_SOURCE_H
#define GPUREDUCE_SOURCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/chunk.h"
#include "core/element.h"
#include "source/npy.h"

#define SOURCE_UNKNOWN UINT64_MAX

/* The window that a zstd frame may need, as the logarithm of its bytes to base 2: what libzstd
   takes, and what it and zstd(1) take unasked. Whoever decodes a frame holds a window in memory. */
#define SOURCE_WINDOW_LOG_MIN 10
#define SOURCE_WINDOW_LOG_MAX 31
#define SOURCE_WINDOW_LOG_DEFAULT 27

enum source_format { SOURCE_AUTO, SOURCE_RAW, SOURCE_NPY, SOURCE_ZSTD };

/* How an input is to be read. */
struct source_options {
    enum source_format format;
    enum element_type type;   /* of raw input */
    enum element_order order; /* of raw input; unsaid means little */
    uint64_t skip;            /* bytes to leave out at the start of raw input */
    uint64_t length;          /* elements to reduce at most; SOURCE_UNKNOWN for all */
    size_t chunk_size;        /* bytes to hand out at a time in place; 0: the source chooses */
    int window_log;           /* of zstd frames at most; 0: SOURCE_WINDOW_LOG_DEFAULT */
    bool in_order; /* decode zstd from front to back even where frames could go parallel */
};

enum source_status {
    SOURCE_CHUNK,  /* *chunk is filled in */
    SOURCE_END,    /* there is nothing more */
    SOURCE_FAILED, /* something went wrong and has been said */
    SOURCE_AGAIN   /* from source_finish: results are void, open again with in_order set */
};

struct source;

/* The most chunks a worker may have in use when it asks for another. */
#define SOURCE_IN_USE_MAX 3

/* What a worker asks for. */
struct source_request {
    unsigned worker; /* counts from 0, below the number given to source_open */
    void *buffer;    /* to be filled; aligned to 16 bytes, room for an element at least */
    size_t size;     /* bytes */
    size_t in_place; /* bytes the worker would take where they are; 0: only in its buffer */
    unsigned in_use; /* chunks handed out last that it still uses; SOURCE_IN_USE_MAX at most */
    bool rest;       /* it would take what it has claimed already, and nothing more */
};

/* What a kind of source does; lost, finish, index and close may be NULL where there is nothing to
 * do. */
struct source_ops {
    enum source_status (*next)(struct source *, const struct source_request *, struct chunk *);
    void (*lost)(struct source *, const struct chunk *);
    enum source_status (*finish)(struct source *);
    uint64_t (*index)(const struct source *, uint64_t position);
    void (*close)(struct source *);
};

struct source {
    const struct source_ops *ops;
    void *state; /* the kind's own, released by ops->close */
    int fd;
    bool close_fd;
    const char *path; /* as the user gave it */
    char *name;       /* as messages show it */

    /* The layout, fixed once the source is open. */
    enum element_type type;
    size_t element_size;
    bool swap;       /* elements are not in this machine's byte order */
    bool npy;        /* .npy, possibly inside zstd */
    bool compressed; /* zstd */
    int window_log;  /* of its frames at most */
    bool parallel;
    double absent;        /* the part of the file that is not in the page cache, about */
    uint64_t start;       /* offset in the file at which the input begins */
    uint64_t input_bytes; /* from there to the end; SOURCE_UNKNOWN for a pipe */
    uint64_t data_offset; /* bytes, after decompression, before the first element */
    uint64_t promised;    /* elements a .npy header promises; SOURCE_UNKNOWN without one */
    uint64_t elements;    /* to be reduced; SOURCE_UNKNOWN where only the end will tell */
    size_t buffer_bytes;  /* of a buffer that serves it well; 0: any */

    /* Changed by any worker. */
    _Atomic uint64_t limit; /* elements from this index on are no longer wanted */
    _Atomic bool failed;
    _Atomic uint64_t input_read;  /* bytes of the input read so far */
    _Atomic uint64_t read_time;   /* nanoseconds spent reading, all workers together */
    _Atomic uint64_t decode_time; /* nanoseconds spent decompressing */
};

/* Opens `path` ("-" is standard input) for `workers` workers and finds out what it holds. NULL on
   failure, which has been said. */
struct source *source_open(const char *path, const struct source_options *options,
                           unsigned workers);

/* The next chunk. Its bytes are in the buffer or elsewhere; they are there as long as the worker
   says that it has them in use, and until it asks for the next one. When chunk->mapped says so,
   they are in place, and must be read under mapping_guard. */
enum source_status source_next(struct source *s, const struct source_request *request,
                               struct chunk *chunk);

/* Says what became of a mapped chunk whose bytes vanished while they were read, and makes the
   source fail. */
void source_lost(struct source *s, const struct chunk *chunk);

/* After all workers saw the end: whether what was handed out was the whole input and well-formed.
   SOURCE_END when it was. */
enum source_status source_finish(struct source *s);

/* The true index of the element that a chunk's numbering calls `position`. They differ only for
   zstd frames that do not say how long they are. Valid after source_finish. */
uint64_t source_index(const struct source *s, uint64_t position);

/* Says that elements from `index` on are no longer wanted. They may still be handed out. */
void source_limit(struct source *s, uint64_t index);

/* What the input is: raw, npy, zstd or npy+zstd. */
const char *source_format_name(const struct source *s);

void source_close(struct source *s);

/*
 * For the implementations of sources.
 */

/* A worker that waits for another to fill its buffer, or for something to do. All of it is guarded
   by the mutex of the kind of source. */
struct source_waiter {
    const struct source_request *request;
    struct chunk *chunk;
    enum source_status status;
    bool called;
    pthread_cond_t condition;
    struct source_waiter *next;
};

/* Waits, the mutex being held. SOURCE_CHUNK when the chunk has been filled in; SOURCE_AGAIN when
   the worker should look again what there is to do. */
enum source_status source_wait(struct source_waiter **waiters, pthread_mutex_t *mutex,
                               const struct source_request *request, struct chunk *chunk);

/* Takes the waiter that came last, NULL when there is none: the fewer workers take turns, the more
   of what they touch stays in their caches. */
struct source_waiter *source_waiter(struct source_waiter **waiters);

/* Lets a waiter that was taken go on with this status. */
void source_call(struct source_waiter *waiter, enum source_status status);

/* Has all waiters look again. */
void source_call_all(struct source_waiter **waiters);

/* A stream of bytes read in order. */
#define READER_PUSHED_MAX 16
struct reader {
    /* Reads up to `size` bytes; 0 at the end; -1 on failure, which has been said. */
    ptrdiff_t (*read)(struct reader *, void *buffer, size_t size);
    void (*close)(struct reader *);
    /* Prepares what will be read next. One thread may call it while another reads; both may have to
       wait for the input. False when there is nothing to do. NULL where that is always so. */
    bool (*ahead)(struct reader *);
    size_t pushed; /* bytes to be read again before any other */
    unsigned char pushed_bytes[READER_PUSHED_MAX];
};

/* Reads exactly `size` bytes unless the end comes first. Returns how many, or -1. */
ptrdiff_t reader_fill(struct reader *r, void *buffer, size_t size);

/* Puts `size` bytes, at most READER_PUSHED_MAX, back before what is still to be read. */
void reader_push(struct reader *r, const void *bytes, size_t size);

/* Reads up to `size` bytes, first those pushed back; otherwise as read above. */
ptrdiff_t reader_read(struct reader *r, void *buffer, size_t size);

/* A reader of s->fd from s->start: files of known extent by pread, so that other users of the
   descriptor are not disturbed. It keeps input_read and read_time. NULL when memory is short
   (said). */
struct reader *stream_reader_open(struct source *s);

/* A reader of the decompressed bytes of `input`, which it closes with itself, or at once when it
   fails and returns NULL (said). */
struct reader *zstd_reader_open(struct source *s, struct reader *input);

/* Reads the start of the decoded bytes and sets the layout: type, byte order, data_offset, promised
   and elements (from the promise and --length alone). The reader then stands after the .npy header,
   or at the very start of raw input, before what is to be skipped. */
bool source_layout(struct source *s, const struct source_options *options, struct reader *reader);

/* Says that the input ends at byte `size` of the decoded stream when a header promises more, or in
   the middle of an element, and returns false; otherwise returns true. */
bool source_check_end(struct source *s, uint64_t size);

/* The kinds of source: each sets ops, state and the layout of an s whose descriptor, name and
   extent are known. False on failure, which has been said; s then still is to be closed. The
   serial one takes over the reader in any case. */
bool file_source_open(struct source *s, const struct source_options *options, unsigned workers);
bool serial_source_open(struct source *s, const struct source_options *options,
                        struct reader *reader);
bool zstd_source_open(struct source *s, const struct source_options *options, unsigned workers);

/* Whether the first bytes of a file are a zstd or a skippable frame's. Four bytes decide. */
bool zstd_recognise(const void *bytes, size_t size);

/* Prints "NAME: text" unless the source has failed before, and makes it fail. */
void source_error(struct source *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says that the file has become shorter since it was opened, as its byte before offset `missing`
   tells, and makes the source fail. */
void source_became_shorter(struct source *s, uint64_t missing);

/* Reads exactly `size` bytes at `offset` of the file unless it ends first; returns how many, or -1
   with the error said. Keeps input_read and read_time. */
ptrdiff_t source_pread(struct source *s, void *buffer, size_t size, uint64_t offset);

/* The same through `fd`: s->fd, or another descriptor of the file, one with O_DIRECT. For that,
   buffer, size and offset are multiples of pages, and SOURCE_REFUSED says that it cannot be read
   so: what the reason was, source_pread will tell, if it meets it too. */
#define SOURCE_REFUSED (-2)
ptrdiff_t source_pread_from(struct source *s, int fd, void *buffer, size_t size, uint64_t offset);

#endif
