/*
 * Engines: what reduces chunks. An engine knows element types and partial results, and nothing of
 * files or of other engines.
 *
 * A chunk may also lie elsewhere, in place: in a mapped file.
 *
 * A worker thread owns one worker of an engine and alone calls its functions:
 *
 *     buffer -> (the source fills it) -> reduce -> buffer -> ... -> finish
 *
 * reduce may return before the work is done; buffer then waits until the one it gives is free
 * again. Functions that can fail return false or NULL, print nothing, and leave the reason in
 * worker_error (or in the `reason` they are given). After a failure `unfinished` hands back the
 * chunks that are not part of what `finish` reports, still in their buffers, so that another engine
 * can reduce them: nothing is lost and nothing counts twice.
 */
#ifndef GPUREDUCE_ENGINE_H
#define GPUREDUCE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/chunk.h"
#include "core/element.h"
#include "core/partial.h"
#include "core/tally.h"
#include "engine/gpu_tuning.h"
#include "sys/timeline.h"

#define ENGINE_REASON_MAX 256

/* A worker never holds more chunks than this that are not yet known good. */
#define ENGINE_PENDING_MAX 2

/* The engines there are: rows of the table in registry.c. */
enum engine_id {
    ENGINE_CPU,  /* threads: a worker is a core */
    ENGINE_CUDA, /* GPUs: a worker is a feeder, a thread that fills buffers for one of them */
    ENGINES
};

/* Sets a variable of the environment; one that is there only if `replace` says so. */
typedef void engine_set_variable(const char *name, const char *value, bool replace);

/* The things that an engine has to make ready. */
struct engine_needs {
    const int *devices; /* GPUs by number */
    unsigned device_count;
    const char *visible;  /* GPUs that the user made visible, separated by commas; NULL: all */
    const char *kernels;  /* of the CPU, by the name of an instruction set; NULL: the best */
    unsigned workers;     /* how many will be opened at a time, roughly */
    size_t chunk_size;    /* bytes of their buffers; 0 for the engine's chunk_bytes */
    uint64_t compressed;  /* bytes of compressed input to come, or what they state to hold */
    bool pipe;            /* some may come from a pipe, of which nobody knows */
    size_t before, piece; /* as in struct engine_decode_setup */
    const struct gpu_tuning *tuning; /* NULL: gpu_tuning_shipped */
};

/* The work of the workers of a run. */
struct engine_setup {
    enum element_type type;
    bool swap;                 /* elements are not in this machine's byte order */
    unsigned wants;            /* partial_want bits, which the engine finds */
    size_t chunk_size;         /* bytes of a buffer; 0 for the engine's chunk_bytes */
    size_t in_place;           /* bytes of the largest chunk to come in place; 0 if none will */
    struct tally_set *tallies; /* of the worker alone: what it counts beside the partial result, of
                                  the chunks that count there, until finish; NULL for nothing */
};

enum engine_status {
    ENGINE_TAKEN,   /* the chunk is being reduced, or has been */
    ENGINE_REFUSED, /* it cannot be taken in place; nothing else is wrong */
    ENGINE_FAILED
};

/* The most GPUs one run uses. */
#define ENGINE_DEVICES_MAX 64

/* The times of a worker, in nanoseconds. Workers of one device share it, so it may have worked for
   several of them at the same time. */
struct engine_times {
    uint64_t wait;          /* the worker waiting for a free buffer */
    uint64_t reduce;        /* on the CPU */
    unsigned device;        /* which of the engine's devices the worker is on, from 0 */
    struct timeline copies; /* when chunks were copied to it, or in line for that; by clock_now */
    struct timeline gpu_decode; /* when it decompressed what was compressed, likewise */
    struct timeline checks;     /* when it verified checksums of that, likewise */
    struct timeline kernels;    /* when its kernels ran, likewise */
};

struct engine_state;
struct engine_worker;

/*
 * Decoding of compressed input, zstd, where it is reduced. A decoder takes compressed bytes in
 * order and reduces what they decode to; nothing comes back but the partial, and content whose
 * checksum is to be verified. The caller of advance holds a role: one thread at a time. It never
 * waits for long.
 */
struct engine_decoder;

struct engine_decode_setup {
    enum element_type type;
    bool swap;
    unsigned wants;
    uint64_t window; /* bytes that a frame's decoder must remember: expected, and at most allowed */
    uint64_t window_max;
    uint64_t begin; /* position, in what the whole input decodes to, of the first element */
    uint64_t end;   /* behind the last; UINT64_MAX while that is not known */
    uint64_t skip; /* bytes that its own input decodes to before the first of its elements: `begin`,
                      or 0 where its input does not hold the beginning of the whole one */
    bool stop;     /* bytes after `end` are not to be decoded */
    bool check;    /* checksums are verified, or content of frames that have one comes back */
    uint64_t input;    /* bytes of its input; UINT64_MAX where nothing tells */
    size_t before;     /* bytes before the ring of input; see compressed.h */
    size_t piece;      /* the ring is a multiple of it */
    unsigned decoders; /* that share the input, each with a ring of its own */
};

/* Content of one frame, with which it begins or ends, or goes on. */
struct engine_segment {
    size_t begin, size; /* in the piece's bytes */
    uint64_t frame;     /* offset of the frame in the input */
    bool first, last;   /* of the frame's */
    uint32_t checksum;  /* the checksum of the content, once its last bytes are there */
};

/* The most pieces of content that are out at a time. */
#define ENGINE_CONTENT_MAX 32

/* Content that has come back. Pieces come in order. */
struct engine_content {
    const unsigned char *bytes;
    const struct engine_segment *segments;
    size_t segment_count;
    void *piece; /* the argument of content_free */
};

/* A part of a decoder's input, which may be made of parts of the whole input, one behind the
   other, of whole frames: one that begins in a frame is refused. Parts begin with elements, but for
   the first, if the decoder's input holds the beginning of the whole one. Whether they do is for
   the caller to find out, from what each of them has decoded to (part_content). */
struct engine_part {
    uint64_t offset;   /* of its first byte in the decoder's input */
    uint64_t position; /* in what the whole input decodes to, of the first byte it decodes to: by
                          it elements are numbered */
    bool provisional;  /* that is more than its true position: `end` says nothing of it */
};

/* Compressed bytes, from the offset that wanted() gave. They are of one part. */
struct engine_input {
    const unsigned char *bytes; /* they stay until taken() is behind them */
    size_t size;
    uint64_t rest;           /* bytes to the end of the part; very many where nobody knows */
    bool full;               /* there will not be more of them before some are taken */
    bool last;               /* the input ends behind them */
    bool part_ends;          /* the part does: `full` is true, too */
    struct engine_part part; /* that they are of; all zero where the input is the whole one */
};

enum engine_decode_status {
    DECODE_IDLE,    /* there was nothing to do, for now */
    DECODE_AGAIN,   /* something was done; there may be more */
    DECODE_CONTENT, /* *content is to be checked */
    DECODE_ENDED,   /* all is decoded and reduced, or all that is wanted */
    DECODE_REFUSED, /* all before the refused frame is reduced: refused() tells the rest */
    DECODE_WRONG,   /* a checksum is wrong: wrong() tells whose; nothing more is to be done */
    DECODE_FAILED   /* error() tells */
};

/* The place of a refused frame. */
struct engine_refusal {
    uint64_t frame;         /* offset of the frame in the input */
    uint64_t begin;         /* position, in what is decoded, of its first byte */
    uint64_t good;          /* of the first byte that is not reduced: of an element */
    unsigned char tail[16]; /* the bytes from `good` up to `begin`, where it is before that */
    size_t tail_size;       /* their number; 1 where there are more than `tail` has room for: all of
                               these lie behind the last element, and one says so */
};

struct engine_decode {
    /* The decoder of one of the engine's devices, made ready for an input; the engine keeps it.
       NULL with a reason when it cannot be had: memory is lacking, say. Those of several devices
       may be made ready by several threads at a time. */
    struct engine_decoder *(*begin)(struct engine_state *, unsigned device,
                                    const struct engine_decode_setup *setup,
                                    char reason[ENGINE_REASON_MAX]);

    /* Memory from which it takes its input, as compressed.h wants it. */
    unsigned char *(*memory)(struct engine_decoder *, size_t *size);

    /* Does one thing. `input` may hold as much as there is by now. */
    enum engine_decode_status (*advance)(struct engine_decoder *, const struct engine_input *input,
                                         struct engine_content *content);

    /* Content has been looked at. Any thread. */
    void (*content_free)(struct engine_decoder *, void *piece);

    uint64_t (*wanted)(const struct engine_decoder *); /* offset of the next input */
    uint64_t (*taken)(const struct engine_decoder *);  /* input before this is not needed */
    uint64_t (*total)(const struct engine_decoder *);  /* bytes decoded */
    /* With `stop`: offset in the input behind the block that holds the last byte before `end`;
       UINT64_MAX before that is decoded. */
    uint64_t (*stopped_at)(const struct engine_decoder *);
    uint64_t (*reduced)(const struct engine_decoder *);   /* elements that have been given to it */
    uint64_t (*first_nan)(const struct engine_decoder *); /* as an engine's */

    /* Bytes that a part decoded to, by its number in the decoder's input; UINT64_MAX while that is
       not known: before the next one has begun, or DECODE_ENDED. */
    uint64_t (*part_content)(const struct engine_decoder *, size_t part);

    /* After DECODE_WRONG: the frame's offset in the input. */
    uint64_t (*wrong)(const struct engine_decoder *);

    /* After DECODE_REFUSED. False when the device failed. */
    bool (*refused)(struct engine_decoder *, struct engine_refusal *refusal);

    /* Ends it, whatever it does: what is known good. The caller frees the timelines. */
    bool (*finish)(struct engine_decoder *, struct partial *partial, struct engine_times *times);

    const char *(*error)(const struct engine_decoder *);
};

/*
 * Slices: the elements along one axis of an array. A slicer finds what is wanted of all slices of a
 * chunk. It belongs to one thread. Functions that fail leave a reason.
 */
struct engine_slicer;

/* Numbers that a sum of squares is kept in. */
#define ENGINE_SLICE_SQUARES 5

/* The results for parts of slices beside sums and extremes: arrays, as in struct engine_found; NULL
   if not wanted. */
struct engine_found_more {
    uint32_t *min_index, *max_index; /* where the extremes are first, counted from the first element
                                        of the slice that the call was given */
    double *absolute, *absolute_low; /* the sum of both is that of the magnitudes */
    double *squares[ENGINE_SLICE_SQUARES];  /* the sum of all is that of the squares */
    int64_t *least;                         /* the least magnitude, as struct partial has it */
    uint32_t *zeros, *negative, *subnormal; /* counts */
};

/* The results for parts of slices: arrays. */
struct engine_found {
    size_t parts; /* that each slice has been cut into: of rows, those of a row stand side by side,
                     and of columns part by part. 0: the caller takes the elements as soon */
    /* The sum of both is that of a part's elements, exactly; `high` is NaN where it has not been
       found, or where elements are no numbers. `low` is NULL where `high` is the rounded sum, or,
       but for NaNs, nothing. */
    double *high, *low;
    /* Keys of the extremes, NULL where they are not wanted: int64_t, element_key's, where
       `element_keys` is true, and exact_key's of f64; else those of binary32, int32_t, which are
       its bits, or, of a negative one, all but the sign inverted. */
    void *min, *max;
    bool element_keys;
    struct engine_found_more more;
};

struct engine_slices {
    /* For chunks of up to `bytes`; number counts from 0, and spreads slicers over the devices. */
    struct engine_slicer *(*open)(struct engine_state *, enum element_type type, unsigned wants,
                                  bool swap, size_t bytes, unsigned number,
                                  char reason[ENGINE_REASON_MAX]);
    void (*close)(struct engine_slicer *);

    /* The best memory for chunks: `bytes`, aligned to pages. */
    void *(*buffer)(struct engine_slicer *);

    /* Reduces `rows` rows of `length` elements at `data`, or as many columns of such rows; with
       `rounded`, rounded sums of slices that are not cut will do. The results are valid until the
       next call; the caller may change them. At most `bytes`; and at most ENGINE_SLICES_MAX rows
       that are slices. */
    bool (*reduce)(struct engine_slicer *, bool columns, bool rounded, const void *data,
                   size_t rows, size_t length, struct engine_found *found);

    const char *(*error)(const struct engine_slicer *);
};
#define ENGINE_SLICES_MAX ((size_t)1 << 16)

struct engine {
    const char *name;
    size_t chunk_bytes;    /* of a buffer, unless the setup asks for another size */
    size_t in_place_bytes; /* of a chunk to take in place, likewise */
    unsigned in_use; /* chunks that a worker may still be reading when it has given a buffer */

    /* Lets the devices that are needed be seen, and no others: to be called before open, and before
       there are other threads, since it changes the environment, which these may be reading. False
       with a reason when some cannot be had; open is then not to be called. NULL: there is nothing
       to choose. */
    bool (*choose)(const struct engine_needs *needs, engine_set_variable *set,
                   char reason[ENGINE_REASON_MAX]);

    /* Makes the engine ready. NULL with a reason when it cannot be used here. */
    struct engine_state *(*open)(const struct engine_needs *needs, char reason[ENGINE_REASON_MAX]);
    void (*close)(struct engine_state *);

    /* Whether it has kernels that find all of `wants` (partial_want bits) in elements of the type.
       NULL: it has them for everything. */
    bool (*finds)(enum element_type type, unsigned wants);

    /* Says what it runs on, for -v: "avx512" or "NVIDIA H200". */
    const char *(*describe)(const struct engine_state *);

    /* How many of these GPUs, the first of them, can be kept busy with so many bytes of input. All
       of them where it cannot be told that the others are there: to choose and to open them does.
       NULL: all. */
    unsigned (*devices_for)(const struct engine_needs *needs, uint64_t bytes);

    /* How many workers serve it well on that many GPUs, with `cores` cores at hand. */
    unsigned (*workers)(unsigned device_count, unsigned cores);

    /* A worker; number counts from 0, and spreads the workers over the devices. */
    struct engine_worker *(*worker_open)(struct engine_state *, const struct engine_setup *setup,
                                         unsigned number, char reason[ENGINE_REASON_MAX]);
    void (*worker_close)(struct engine_worker *);

    /* A buffer to fill, aligned to 64 bytes, and its size; waits until it is free. */
    void *(*buffer)(struct engine_worker *, size_t *size);

    /* Starts reducing a chunk, which lies in the buffer given last or in place; there it must stay
       until buffer has been called twice. */
    enum engine_status (*reduce)(struct engine_worker *, const struct chunk *chunk);

    /* The index of the first NaN among what is known good so far, or PARTIAL_NO_INDEX. */
    uint64_t (*first_nan)(const struct engine_worker *);

    /* Waits for everything and gives the partial result of the chunks that are known good: all,
       unless it returns false. Tallies are complete then, but for tally_end, which may be called
       by the engine or left to the caller. The caller frees the timelines. */
    bool (*finish)(struct engine_worker *, struct partial *partial, struct engine_times *times);

    /* After a failure, and after finish: the chunks that the partial result lacks. */
    unsigned (*unfinished)(const struct engine_worker *, struct chunk chunks[ENGINE_PENDING_MAX]);

    const char *(*worker_error)(const struct engine_worker *);

    /* After finish: forgets all that was reduced, so that the worker can begin anew, with a setup
       that has another type or byte order at most. False on failure. NULL where a worker has to be
       closed. */
    bool (*restart)(struct engine_worker *, const struct engine_setup *setup);

    /* NULL where compressed input cannot be taken. */
    const struct engine_decode *decode;

    /* NULL where slices cannot: those of the CPU have an interface of their own. */
    const struct engine_slices *slices;
};

/* Whether an engine has kernels for all of `wants` (partial_want bits) in elements of the type. */
static inline bool engine_finds(const struct engine *engine, enum element_type type, unsigned wants)
{
    return !engine->finds || engine->finds(type, wants);
}

/* An engine by its number. */
const struct engine *engine_get(enum engine_id id);

/* Fails only for want of memory. */
extern const struct engine engine_cpu;

/* Built without CUDA it never opens. */
extern const struct engine engine_cuda;

#endif
