/*
 * zstd (RFC 8878), decoded by all cores: frames side by side, and the blocks of one frame. It needs
 * threads and a file, and nothing of where elements go.
 *
 *     file                          the file, which of its elements are wanted, the work, errors
 *     frames, finder                where frames and blocks are, without decoding them
 *     cut                           a file cut between frames, for processes and for engines
 *     block, entropy, literals, sequences, execute, ring, xxh64    one block; entropy and xxh64's
 *                                   arithmetic are a GPU's, too
 *     team                          one frame, its blocks decoded by all workers
 *     context, input, decoder, small    a task, decoded by libzstd
 *     index, schedule               all frames: positions, memory, and which worker does what
 *     stream                        from front to back: large frames, by a team
 *     reader                        from front to back: pipes, and what the others refuse
 *
 * What is wrong is noted in the file, by offset.
 */
#ifndef GPUREDUCE_ZSTD_FILE_H
#define GPUREDUCE_ZSTD_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "sys/mutex.h"

#define ZSTD_UNKNOWN UINT64_MAX

/* The largest window that libzstd accepts, as the logarithm of its bytes to base 2. */
#define ZSTD_WINDOW_LOG_MOST 31

/* A part of a file: the frames from one offset up to another, where the next part begins. */
struct zstd_cut {
    uint64_t begin, end;
    bool hinted;                         /* the frames were not found by walking over them */
    uint64_t content_begin, content_end; /* positions at `begin` and at `end` */
    uint64_t content;                    /* of the whole input, which is more than one frame */
};

/* Sizes that were found by measuring: doc/tuning.md says how. Fuzzing passes small ones. Bytes. */
struct zstd_tuning {
    uint64_t small_max; /* frames that hold more are large; less where the workers are many. 8 MiB
                           are what pzstd makes them at its usual levels */
    uint64_t piece;     /* of one large frame, handed out at a time at least, unless nothing else is
                           to be done */
    size_t ahead;       /* in its ring besides the window; 0: as many as workers can use */
    size_t read;        /* compressed, at a time, from front to back; 0: 256 KiB */
    bool unmapped;      /* the file is read, and never mapped */
};

/* Offsets count bytes of the compressed input, positions bytes of what it decodes to. */
struct zstd_file {
    /* Set before anything is read. */
    int fd;
    uint64_t start; /* offset of the input's first byte in the file */
    uint64_t size;  /* bytes of the input; ZSTD_UNKNOWN of a pipe */
    int window_log; /* of frames at most */
    bool no_check;  /* checksums are not verified */
    const struct zstd_tuning *tuning;

    /* The elements in it, set before they are decoded in parallel. */
    size_t element_size;
    uint64_t data_offset;              /* position of element 0 */
    uint64_t elements;                 /* how many there are, as far as they are wanted */
    uint64_t wanted_begin, wanted_end; /* positions; wanted_end may be ZSTD_UNKNOWN */
    bool true_positions;               /* all positions that are handed out must be true */
    const struct zstd_cut *part;       /* only these frames are wanted; NULL: all */
    uint64_t through; /* frames that begin before this offset are decoded to their ends, whatever
                         elements are wanted: 0, the end of a part, or ZSTD_UNKNOWN for all */
    const _Atomic uint64_t *limit; /* elements from this index on are no longer wanted */

    /* If not all elements are asked for: position after the last one, otherwise ZSTD_UNKNOWN;
       and the offset after the block that holds the byte before it, ZSTD_UNKNOWN until that is
       decoded. Input after that is not looked at, or errors in it do not matter. */
    uint64_t stop;
    _Atomic uint64_t stopped_at;

    /* The work so far, changed by any worker. */
    _Atomic uint64_t input_read;  /* bytes of input */
    _Atomic uint64_t read_time;   /* nanoseconds */
    _Atomic uint64_t decode_time; /* nanoseconds */

    /* Errors. Workers come upon those in the input in any order: that of the lowest offset is kept,
       unless the file has failed. */
    struct mutex mutex;
    _Atomic bool retry;  /* it must be read again, in order, whatever else was found wrong */
    _Atomic bool failed; /* it cannot be decoded any further, whatever is in it */
    _Atomic uint64_t error_offset; /* of an error in the input; ZSTD_UNKNOWN: there is none */
    struct error error;            /* valid with either; with `failed` it does not change */
};

void zstd_file_init(struct zstd_file *file);
void zstd_file_destroy(struct zstd_file *file);

/* The file is to be decoded once more: forgets what was wrong with it. One thread's. */
void zstd_forget_errors(struct zstd_file *file);

/* Notes why the file cannot be decoded any further. */
void zstd_take_failure(struct zstd_file *file, struct error error);
#define zstd_fail(file, ...) zstd_take_failure(file, error_of(__VA_ARGS__))

/* Notes an error of the input at its offset, or of what begins there. */
void zstd_take_error(struct zstd_file *file, struct error error);
#define zstd_note_error(file, ...) zstd_take_error(file, error_at(__VA_ARGS__))

/* Fails since the file has become shorter: bytes at, or soon after, offset `missing` of what fd reads
   could not be read. */
void zstd_became_shorter(struct zstd_file *file, uint64_t missing);

/* Reads exactly `size` bytes at `offset` of the input, which do not count as read. False where that
   fails, or the file has become shorter: then it has failed. */
bool zstd_file_read(struct zstd_file *file, void *buffer, size_t size, uint64_t offset);

static inline bool zstd_failed(const struct zstd_file *file)
{
    return atomic_load_explicit(&file->failed, memory_order_relaxed);
}

/* The offset of the first error in the input, ZSTD_UNKNOWN while there is none. Data after it are
   not needed. */
static inline uint64_t zstd_error_noted(const struct zstd_file *file)
{
    return atomic_load(&file->error_offset);
}

/* Elements from this index on are not wanted: ZSTD_UNKNOWN while all are. */
static inline uint64_t zstd_wanted(const struct zstd_file *file)
{
    return atomic_load_explicit(file->limit, memory_order_relaxed);
}

/* A block has been decoded, from position `from` up to `to`, that ends at this offset. Any worker
   may call it. */
static inline void zstd_note_block(struct zstd_file *file, uint64_t from, uint64_t to,
                                   uint64_t offset)
{
    if (from < file->stop && to >= file->stop && file->stop != ZSTD_UNKNOWN)
        atomic_store(&file->stopped_at, offset);
}

#endif
