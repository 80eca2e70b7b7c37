/*
 * Engines reduce chunks, on the CPU or on GPUs. An engine knows element types and partial results,
 * and nothing of files or of other engines.
 *
 * A worker thread owns one worker of an engine and alone calls its functions:
 *
 *     buffer -> (the source fills it) -> reduce -> buffer -> ... -> finish
 *
 * The elements of a chunk lie in a buffer of the worker, or in place: in a mapped file.
 *
 * reduce may return before the work is done; buffer then waits until the buffer that it returns is
 * free again. Functions that can fail return false or NULL and print nothing; the reason is in
 * worker_error, or in `reason` if they have that argument. After a failure `unfinished` returns the
 * chunks that the result of `finish` lacks, still in their buffers, so that another engine can
 * reduce them: no element is lost or counted twice.
 */
#ifndef GPUREDUCE_ENGINE_H
#define GPUREDUCE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/chunk.h"
#include "core/element.h"
#include "core/missing.h"
#include "core/partial.h"
#include "core/scale.h"
#include "core/slice_sums.h"
#include "core/stream.h"
#include "core/tally.h"
#include "engine/gpu_tuning.h"
#include "sys/timeline.h"

/* Room for a reason, with its NUL. */
#define ENGINE_REASON_MAX 256

/* The most chunks of a worker that are being reduced at a time. */
#define ENGINE_PENDING_MAX 2

/* The engines. */
enum engine_id {
    ENGINE_CPU,  /* each worker is a thread that reduces */
    ENGINE_CUDA, /* each worker is a thread that fills buffers for one GPU */
    ENGINES
};

/* Sets an environment variable; one that is set already keeps its value unless `replace`. */
typedef void engine_set_variable(const char *name, const char *value, bool replace);

/* The request to open an engine. */
struct engine_needs {
    const int *devices;    /* numbers of GPUs */
    unsigned device_count; /* GPUs in `devices` */
    const char *visible;   /* value of CUDA_VISIBLE_DEVICES; NULL: not set */
    const char *kernels;   /* name of the CPU's instruction set; NULL: the best */
    unsigned workers;      /* about how many will be open at a time */
    size_t chunk_size;     /* bytes of a buffer; 0: the engine's chunk_bytes */
    uint64_t compressed;   /* bytes of compressed input, or of the content that it states */
    bool pipe;             /* some input is a pipe, whose size is unknown */
    size_t before, piece;  /* bytes; see struct engine_decode_setup */
    const struct gpu_tuning *tuning; /* NULL: gpu_tuning_shipped */
};

/* The shape of an array in Fortran order: the first index changes fastest, and the index of an
   element counts them so. */
struct engine_columns {
    unsigned dimensions; /* at least 2 */
    const uint64_t *sizes;
};

/* The request to open a worker. */
struct engine_setup {
    enum element_type type;
    bool swap;                     /* elements are not in this machine's byte order */
    unsigned wants;                /* partial_want bits: what to compute; engine_finds is true of
                                  them */
    size_t chunk_size;             /* bytes of a buffer; 0: the engine's chunk_bytes */
    size_t in_place;               /* bytes of the largest chunk in place; 0: there will be none */
    const struct missing *missing; /* the missing values of the elements, with PARTIAL_MISSING; they
                                      may change before the worker is restarted. NULL: none */
    /* The threshold, with PARTIAL_SPLIT; it may change before the worker is restarted. NULL: none */
    const struct partial_split *split;
    /* With PARTIAL_DIGEST, the order of the elements; like `missing`. NULL: C order. */
    const struct engine_columns *columns;
    struct tally_set *tallies; /* the worker counts elements in these, too; nobody else may use them
                                  before finish; NULL: none */
};

enum engine_status {
    ENGINE_TAKEN,   /* the chunk is being reduced, or has been */
    ENGINE_REFUSED, /* the engine cannot read the chunk in place; copy it to a buffer */
    ENGINE_FAILED   /* worker_error has the reason */
};

/* The most GPUs one run uses. */
#define ENGINE_DEVICES_MAX 64

/* Work of a device. */
enum engine_work {
    ENGINE_COPIES,  /* copies to the device were running or queued */
    ENGINE_DECODES, /* the device decompressed */
    ENGINE_CHECKS,  /* the device verified checksums */
    ENGINE_KERNELS, /* the device reduced */
    ENGINE_WORKS
};

/* Times of a worker, in nanoseconds; timelines are by clock_now. Workers of one device share it, so
   their times may overlap. */
struct engine_times {
    uint64_t wait;                       /* waiting for a free buffer */
    uint64_t reduce;                     /* reducing on the CPU */
    unsigned device;                     /* the worker's device, an index of engine_needs.devices */
    struct timeline lines[ENGINE_WORKS]; /* of enum engine_work */
};

/* Frees the timelines. */
static inline void engine_times_free(struct engine_times *times)
{
    for (int i = 0; i < ENGINE_WORKS; i++)
        timeline_free(&times->lines[i]);
}

struct engine_state;
struct engine_worker;

/*
 * Decoders decompress zstd on a device and reduce the content there. A decoder gets compressed
 * bytes in order. It returns the partial result, and content whose checksum the caller has to
 * verify. One thread at a time may call its functions; none of them waits for long.
 */
struct engine_decoder;

struct engine_decode_setup {
    enum element_type type;
    bool swap;      /* elements are not in this machine's byte order */
    unsigned wants; /* partial_want bits: what to compute */
    /* The missing values of the elements, with PARTIAL_MISSING; the threshold, with PARTIAL_SPLIT. */
    const struct missing *missing;
    const struct partial_split *split;
    uint64_t window;     /* bytes of the largest zstd window that is expected */
    uint64_t window_max; /* bytes of the largest zstd window that is allowed */
    uint64_t begin;      /* position of the first element, in bytes of the decoded whole input */
    uint64_t end;        /* position after the last element; UINT64_MAX if unknown */
    uint64_t skip;       /* bytes that the decoder's input decodes to before its first element:
                            `begin`, or 0 if it does not have the beginning of the whole input */
    bool stop;           /* do not decode bytes after `end` */
    bool check;          /* verify checksums, or return the content of frames that have one */
    uint64_t input;      /* bytes of the decoder's input; UINT64_MAX if unknown */
    size_t before;       /* bytes before the ring of input; see compressed.h */
    size_t piece;        /* the size of the ring is a multiple of this many bytes */
    unsigned decoders;   /* decoders that share the input, each with a ring of its own */
};

/* Consecutive bytes of the content of one frame. */
struct engine_segment {
    size_t begin, size; /* bytes in struct engine_content */
    uint64_t frame;     /* offset of the frame in the input */
    bool first, last;   /* these are the first, or the last, bytes of the frame's content */
    uint32_t checksum;  /* the frame's checksum, if `last` */
};

/* The most pieces of content that the caller may hold at a time. */
#define ENGINE_CONTENT_MAX 32

/* A piece of content that the caller has to verify. Pieces are returned in order. */
struct engine_content {
    const unsigned char *bytes;
    const struct engine_segment *segments;
    size_t segment_count;
    void *piece; /* the argument of content_free */
};

enum engine_decode_status {
    DECODE_IDLE,    /* there was nothing to do */
    DECODE_AGAIN,   /* something was done; call again */
    DECODE_CONTENT, /* *content is set, and the caller has to verify it */
    DECODE_ENDED,   /* everything that is needed has been decoded and reduced */
    DECODE_REFUSED, /* a frame cannot be decoded here; everything before it is reduced. Call
                       refused() */
    DECODE_WRONG,   /* a checksum is wrong: progress() says whose; nothing more will be decoded */
    DECODE_FAILED   /* the device failed: progress() says why */
};

/* How far a decoder has come. */
struct engine_progress {
    uint64_t total; /* bytes decoded so far */
    /* With `stop`: offset in the input after the block that holds the last byte before `end`;
       UINT64_MAX before that block is decoded. */
    uint64_t stopped_at;
    uint64_t reduced;   /* elements reduced so far */
    uint64_t first_nan; /* index of the first NaN that is known so far, or PARTIAL_NO_INDEX */
    uint64_t wrong;     /* after DECODE_WRONG: the frame's offset in the input */
    const char *error;  /* after a failure: the reason */
};

struct engine_decode {
    /* Prepares the decoder of a device for an input. The engine owns it. NULL with a reason if it
       cannot be used, for lack of memory, for example. Several threads may prepare those of
       different devices at a time. */
    struct engine_decoder *(*begin)(struct engine_state *, unsigned device,
                                    const struct engine_decode_setup *setup,
                                    char reason[ENGINE_REASON_MAX]);

    /* The memory for its input, laid out as compressed.h describes. *size: bytes. */
    unsigned char *(*memory)(struct engine_decoder *, size_t *size);

    /* Does one step of the work. `input` has the bytes from the offset that wanted() returned
       on, as far as they have been read; they remain there until taken() is after them. */
    enum engine_decode_status (*advance)(struct engine_decoder *, const struct stream_bytes *input,
                                         struct engine_content *content);

    /* Gives content back after it was verified. Any thread. */
    void (*content_free)(struct engine_decoder *, void *piece);

    uint64_t (*wanted)(const struct engine_decoder *); /* offset of the input that is needed next */
    uint64_t (*taken)(const struct engine_decoder *);  /* input before this offset is not needed */
    struct engine_progress (*progress)(const struct engine_decoder *);

    /* Bytes that part number `part` of the decoder's input decoded to, 0 if one of its pieces is not
       what stream.h says; UINT64_MAX before the next part has begun or DECODE_ENDED was
       returned. */
    uint64_t (*part_content)(const struct engine_decoder *, size_t part);

    /* After DECODE_REFUSED: describes the refused frame. False if the device failed. */
    bool (*refused)(struct engine_decoder *, struct stream_refusal *refusal);

    /* Ends the decoder, in whatever state it is, and returns the partial result of all that was
       reduced. False if that lacks elements that `reduced` counts. The caller frees the
       timelines. */
    bool (*finish)(struct engine_decoder *, struct partial *partial, struct engine_times *times);
};

/*
 * Slicers reduce slices, the elements along one axis of an array. A slicer belongs to one thread.
 * After a failure `error` has the reason.
 */
struct engine_slicer;

/* Results for parts of slices beside sums and extremes: arrays with an entry for each part, in the
   order of struct engine_found; NULL if not requested. */
struct engine_found_more {
    uint32_t *min_index, *max_index; /* indices of the first extremes in the part of the slice that
                                        reduce was given */
    double *absolute, *absolute_low; /* the sum of both is the exact sum of the magnitudes */
    double *squares[SLICE_SQUARES_MAX];     /* the sum of all is the exact sum of the squares */
    int64_t *least;                         /* the least magnitude, as a key (struct partial) */
    uint32_t *zeros, *negative, *subnormal; /* counts */
    /* With PARTIAL_SPLIT these are as struct partial defines them then, and this is its below_key. */
    int64_t *below;
    uint32_t *missing; /* elements that are missing, of which nothing else here knows */
};

/* Results for parts of slices: arrays with an entry for each part. */
struct engine_found {
    size_t parts; /* parts of each slice. The parts of a row are adjacent in the arrays; of
                     columns the first parts of all come first. 0: there are no results, since
                     the caller can reduce the elements as fast */
    /* The sum of both is the exact sum of a part. `high` is NaN if that was not found, or if there
       are NaNs or infinities. `low` is NULL if `high` is the rounded sum, or if only NaNs in `high`
       mean anything. */
    double *high, *low;
    /* Keys of the extremes; NULL if not requested. With `element_keys`: int64_t by element_key,
       INT64_MAX and INT64_MIN if all elements are missing. If not: of f64 int64_t by exact_key, of
       others int32_t: the bits of the binary32, of a negative one with all bits but the sign
       inverted. */
    void *min, *max;
    bool element_keys;
    struct engine_found_more more;
};

struct engine_slice_setup {
    enum element_type type;
    bool swap;                     /* elements are not in this machine's byte order */
    unsigned wants;                /* partial_want bits: what to compute */
    const struct missing *missing; /* the missing values of the elements, with PARTIAL_MISSING */
    const struct partial_split *split; /* the threshold, with PARTIAL_SPLIT */
    size_t bytes;                      /* of the largest chunk */
};

struct engine_slices {
    /* Opens a slicer on device `number` modulo their count. */
    struct engine_slicer *(*open)(struct engine_state *, const struct engine_slice_setup *setup,
                                  unsigned number, char reason[ENGINE_REASON_MAX]);
    void (*close)(struct engine_slicer *);

    /* Memory for chunks, aligned to pages, which the device reads fastest. */
    void *(*buffer)(struct engine_slicer *);

    /* Reduces `rows` rows of `length` elements at `data`: each row is a slice, or with `columns`
       each column. `rounded`: rounded sums suffice for slices of one part. The results are valid
       until the next call, and the caller may change them. At most ENGINE_SLICES_MAX rows if
       they are slices. */
    bool (*reduce)(struct engine_slicer *, bool columns, bool rounded, const void *data,
                   size_t rows, size_t length, struct engine_found *found);

    const char *(*error)(const struct engine_slicer *);
};
#define ENGINE_SLICES_MAX ((size_t)1 << 16)

/* An engine: constants and functions. A function pointer that may be NULL says so. */
struct engine {
    const char *name;      /* "cpu" or "gpu" */
    size_t chunk_bytes;    /* default size of a buffer */
    size_t in_place_bytes; /* default size of a chunk in place, bytes */
    unsigned in_use;       /* chunks that a worker may still read after `buffer` has returned */

    /* Makes only the needed devices visible, by environment variables. To be called before open and
       before there are other threads, which may read the environment. False with a reason if some
       device cannot be used; do not call open then. NULL: there is nothing to choose. */
    bool (*choose)(const struct engine_needs *needs, engine_set_variable *set,
                   char reason[ENGINE_REASON_MAX]);

    /* Initialises the engine. NULL with a reason if it cannot be used here. */
    struct engine_state *(*open)(const struct engine_needs *needs, char reason[ENGINE_REASON_MAX]);
    void (*close)(struct engine_state *);

    /* Whether it can compute all of `wants` (partial_want bits). NULL: it always can. */
    bool (*finds)(unsigned wants);

    /* The name of the hardware for --verbose: "avx512" or "NVIDIA H200". */
    const char *(*describe)(const struct engine_state *);

    /* The number of the first GPUs of needs->devices that `bytes` of input can keep busy. If it is
       unknown whether the others exist, all of them: choose and open find out. NULL: all. */
    unsigned (*devices_for)(const struct engine_needs *needs, uint64_t bytes);

    /* The best number of workers for `device_count` GPUs and `cores` cores. */
    unsigned (*workers)(unsigned device_count, unsigned cores);

    /* Opens a worker on device `number` modulo their count; the first number is 0. NULL with a
       reason on failure. */
    struct engine_worker *(*worker_open)(struct engine_state *, const struct engine_setup *setup,
                                         unsigned number, char reason[ENGINE_REASON_MAX]);
    void (*worker_close)(struct engine_worker *);

    /* Returns a buffer to fill, aligned to 64 bytes, when one is free. *size: bytes. NULL on
       failure. */
    void *(*buffer)(struct engine_worker *, size_t *size);

    /* Starts to reduce a chunk, which lies in the last buffer or in place. It must remain there
       until `buffer` has been called twice. */
    enum engine_status (*reduce)(struct engine_worker *, const struct chunk *chunk);

    /* The index of the first NaN in the chunks that are reduced so far, or PARTIAL_NO_INDEX. */
    uint64_t (*first_nan)(const struct engine_worker *);

    /* Waits for all chunks and returns their partial result; after a failure it returns false, and
       the result lacks the chunks that `unfinished` returns. The caller then ends the tallies by
       tally_end, as some engines have done already, and frees the timelines. A worker of the CPU
       without tallies may go on after it, and then returns the partial result of all chunks again.
       */
    bool (*finish)(struct engine_worker *, struct partial *partial, struct engine_times *times);

    /* After a failure and finish: the chunks that the partial result lacks. Returns their
       number. */
    unsigned (*unfinished)(const struct engine_worker *, struct chunk chunks[ENGINE_PENDING_MAX]);

    /* After a failure: the reason. */
    const char *(*worker_error)(const struct engine_worker *);

    /* After finish: prepares the worker for another run, whose setup may differ in type, byte order,
       wants, missing values, threshold and order only. False on failure. NULL: workers have to be
       closed. */
    bool (*restart)(struct engine_worker *, const struct engine_setup *setup);

    /* NULL if the engine cannot decode compressed input. */
    const struct engine_decode *decode;

    /* NULL if it has no slicers here; the CPU's are in cpu/slices.h. */
    const struct engine_slices *slices;
};

/* Whether an engine can compute all of `wants` (partial_want bits). */
static inline bool engine_finds(const struct engine *engine, unsigned wants)
{
    return !engine->finds || engine->finds(wants);
}

/* The CPU. It fails only if memory is lacking. */
extern const struct engine engine_cpu;

/* NVIDIA GPUs. In a build without CUDA it cannot be opened. */
extern const struct engine engine_cuda;

/* An engine by its number. */
static inline const struct engine *engine_get(enum engine_id id)
{
    return id == ENGINE_CPU ? &engine_cpu : &engine_cuda;
}

#endif
