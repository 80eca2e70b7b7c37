/*
 * Sources: inputs that are opened for reading. A source hands out chunks of elements to workers, in
 * the order in which they ask, until it is empty. It knows files, pipes and formats, and nothing of
 * engines.
 *
 * Regular files, raw, .npy or zstd, are read in parallel: every worker claims a part and fills its
 * own buffer, or gets the mapped pages themselves. One large zstd frame is decoded by all of them.
 *
 * Pipes, and zstd that must be decoded from front to back, are read in order, by one worker at a
 * time: the reader. It fills the buffers of workers that wait, then its own, and returns; the next
 * worker that asks becomes the reader. So reading and decoding stay on one core and never wait for
 * a reduction. Large zstd frames and gzip members are decoded by the other workers, too.
 *
 * Threads: any worker may call source_next and source_release at any time. All other functions
 * belong to the thread that owns the source, unless their comments say otherwise.
 *
 * Errors: when a function fails, the source keeps the reason (source_why), and every later
 * source_next returns SOURCE_FAILED. There are three exceptions. If zstd that several workers decode
 * is damaged, source_next hands out the elements before the damage and then returns SOURCE_END;
 * source_finish fails with the first error. If an array of a container is damaged, the other arrays
 * are handed out, and source_damage says what is wrong with that one. If chunks of an array that is the
 * whole source are damaged, the first of them is source_why on any number of workers: source_next goes
 * on for those who have claimed chunks before it, and source_finish fails.
 */
#ifndef GPUREDUCE_SOURCE_H
#define GPUREDUCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/array_shape.h"
#include "core/chunk.h"
#include "core/element.h"
#include "core/error.h"
#include "core/view.h"
#include "source/format/containers.h"
#include "zstd/file.h"

#define SOURCE_UNKNOWN UINT64_MAX

/* The largest window of zstd frames that is accepted, as the logarithm of its bytes to base 2: the
   limits of libzstd, and its default, which is zstd(1)'s, too. A decoder keeps a window in
   memory. */
#define SOURCE_WINDOW_LOG_MIN 10
#define SOURCE_WINDOW_LOG_MAX 31
#define SOURCE_WINDOW_LOG_DEFAULT 27

/* The formats that a user can name, each with its word; formats.c has a table of them. RAW_ZSTD and others
   like it are compressed, and raw whatever the content looks like. FORTRAN is records with their lengths
   around them, compressed or not. Containers follow, in the order of CONTAINER_FORMATS. */
#define SOURCE_PLAIN_FORMATS(FORMAT) \
    FORMAT(AUTO, "auto")             \
    FORMAT(RAW, "raw")               \
    FORMAT(NPY, "npy")               \
    FORMAT(ZSTD, "zstd")             \
    FORMAT(RAW_ZSTD, "raw+zstd")     \
    FORMAT(GZIP, "gzip")             \
    FORMAT(RAW_GZIP, "raw+gzip")     \
    FORMAT(ZLIB, "zlib")             \
    FORMAT(RAW_ZLIB, "raw+zlib")     \
    FORMAT(FORTRAN, "fortran")
#define SOURCE_FORMAT_ID(id, name) SOURCE_##id,
enum source_format {
    SOURCE_PLAIN_FORMATS(SOURCE_FORMAT_ID) CONTAINER_FORMATS(SOURCE_FORMAT_ID)
        SOURCE_FORMATS /* their number */
};

/* The words for them, up to a NULL. */
extern const char *const source_format_words[];

/* The arrays of containers that are requested, and the names that were found. The owner fills in
   the patterns; sources count matches in them, and fill in the rest. */
#define SOURCE_PATTERNS_MAX 256
#define SOURCE_NAMES_KEPT 8
struct source_wanted {
    unsigned count;    /* patterns */
    unsigned included; /* patterns that do not exclude; 0: all arrays are requested */
    struct container_pattern patterns[SOURCE_PATTERNS_MAX];

    size_t there; /* arrays of all inputs so far; counted only if `included` is not 0 */
    char *names[SOURCE_NAMES_KEPT]; /* the first of their names, allocated by malloc; NULL where
                                       there are fewer, or memory was lacking */
    bool chosen;                    /* one of the inputs' arrays is requested */
    bool unknown;                   /* an input could not be opened, so there may be other arrays */
};

/* An index of containers: the arrays that each file should hold, sorted by the paths of the
   files and then by the names of the arrays. It does not change. The files of a directory, whose arrays
   are unknown, have a place each, without an array. */
struct source_index {
    struct source_index *next; /* another index; NULL for none */
    char *path, *name; /* the path of the index, and its name in messages; NULL for a directory */
    enum source_format format; /* that the files should have */
    struct source_place {
        char *path; /* one of each file, which belongs to the set */
        const char *array;
    } * places;
    size_t count, room; /* places, and those there is memory for */
    char *text;         /* that the names of arrays are in */
};

/* A part of an input that can be read at any offset: the elements whose first bytes lie at
   offsets from `begin` to before `end`. If parts cover every byte of an input once, they have
   every element once. Compressed input can only be divided by source_cut; all of it belongs to
   the part that begins at byte 0. A compressed array belongs to the part in which its compressed
   bytes begin. */
struct source_part {
    uint64_t begin, end; /* bytes; both are 0 for the whole input */

    bool cut; /* the part is made of whole zstd frames, by source_cut; `begin` and `end` are then
                 offsets of frames, and the elements are those whose first bytes they decode to */
    struct zstd_cut frames; /* these frames, if `cut` */
};

/* The access methods to elements that the page cache holds; see source/access.h. */
enum source_access {
    SOURCE_ACCESS_BEST, /* the fastest, by trying */
    SOURCE_ACCESS_MAPPED,
    SOURCE_ACCESS_POPULATED,
    SOURCE_ACCESS_COPIED,
    SOURCE_ACCESSES /* their number */
};

/* Sizes in bytes that were found by measuring (doc/tuning.md). Tests pass small ones, so that small
   files have many pieces and parts. */
struct source_tuning {
    size_t head_max;        /* the largest file that is read as a whole when it is opened, which
                               saves two system calls */
    size_t head_min;        /* the first bytes of larger files, which are read to tell the format */
    uint64_t mapped_least;  /* the smallest file that is mapped; reading smaller ones is cheaper */
    uint64_t closely_least; /* the smallest zstd file that is examined closely; smaller ones are
                               hardly worth a GPU */
    size_t piece;           /* a piece of compressed input (compressed.h) */
    uint64_t part_least;    /* the smallest part of compressed input (compressed.h) */
    struct zstd_tuning zstd; /* of the decoder of zstd; see zstd/file.h */
};
extern const struct source_tuning source_tuning_shipped;

/* Records that raw input is made of, and the field of them that is read. */
struct source_record {
    uint64_t bytes;           /* of a record, less than 2^31; 0: the elements follow one another */
    uint64_t offset;          /* bytes of a record before the field */
    uint64_t elements;        /* of the field in a record, side by side; at least 1 */
    enum element_order order; /* of the field; ELEMENT_ORDER_UNSAID: that of raw input */
};

/* How an input is to be read. The owner fills it in, and it does not change while sources use
   it. */
struct source_options {
    const struct log *log; /* receives warnings; NULL: they are dropped */
    enum source_format format;
    enum element_type type;       /* of raw input, and of a .npy whose header names none */
    bool type_given;              /* the user has named the type */
    enum element_order order;     /* byte order of raw input; ELEMENT_ORDER_UNSAID means little */
    bool plausibility;            /* warn if raw elements look like those of another type */
    bool reopened;                /* the input was opened before: do not repeat warnings */
    uint64_t skip;                /* bytes to skip at the start of raw input */
    uint64_t length;              /* elements to reduce at most; SOURCE_UNKNOWN for all */
    int window_log;               /* the largest zstd window, as the logarithm of its bytes to base
                                     2; 0: SOURCE_WINDOW_LOG_DEFAULT */
    bool no_check;                /* do not verify the checksums of zstd frames */
    bool no_direct;               /* do not read past the page cache */
    enum source_access access;    /* how to access what the page cache holds */
    bool undecoded;               /* hand out compressed bytes; see compressed.h */
    struct source_wanted *wanted; /* the requested arrays of containers; NULL: all */
    const struct source_index *index; /* the arrays that containers should hold; NULL: unknown. One
                                         that is missing counts as an array that cannot be read */
    bool skip_unsupported;       /* warn of arrays of numbers that cannot be read, and skip them */
    struct source_record record; /* where raw elements are, after what is skipped */
    const struct container_array *array; /* read this array of the input, which is a container, as
                                            if there were nothing else; NULL: find out what it is */
    bool stored;          /* ignore attributes of containers that give stored numbers another
                             meaning */
    unsigned consecutive; /* with `array`: if it is stored in tiles, hand out its elements in order;
                             the number of inputs that are read so at a time and share the memory.
                             0: hand out tiles, whose chunks have places (chunk.h). Elements of views
                             with a mask are in their places, too: see memory.c */
    bool headers_only;    /* no chunks will be requested; arrays without numbers are picked, too */
    bool arrays_in_order; /* hand out the arrays of compressed containers, and of those in pipes, as
                             they come, if their format allows. If not, the content is kept in
                             memory, so that arrays can be opened one by one */
    /* Hand out arrays of a container of at most `whole_most` elements alone, each to one worker, from
       its beginning to its end; and those of at most `whole_many` as well, if there are as many of
       these as workers. 0: hand out all, and parts of them to several. */
    uint64_t whole_most, whole_many;
    uint64_t memory; /* bytes of such content, at most; 0, and if that is less: source_memory() */
    _Atomic uint64_t
        *unpacked;    /* bytes of such content of all open inputs that share the memory; it
                                   outlives them. NULL: this input has it alone */
    unsigned threads; /* that decompress it while the input is opened; 0: as many as workers */
    bool cancellable; /* source_cancel may be called */
    /* With `cancellable`: asked by threads that wait for an input, whether it is to be cancelled.
       NULL: it is not. */
    bool (*cancelled)(void *context);
    void *cancel_context; /* the argument of `cancelled` */
    bool in_order;     /* decode zstd from front to back, even if it could be decoded in parallel */
    bool true_indices; /* indices of chunks are those of the array, also before source_index */
    struct source_part part; /* the part of the input to reduce */
    bool has_descriptor; /* read `descriptor` in place of the path, a file from its beginning; it
                            stays open */
    int descriptor;
    /* Read what this function gives, as from a pipe, in place of the path: it writes up to `size`
       bytes into `buffer`, those from `offset` on, and returns how many, 0 at the end, or a negative
       number on failure. It is called by one worker at a time. NULL: read the path. */
    int64_t (*read)(void *context, void *buffer, uint64_t size, uint64_t offset);
    void *read_context;      /* the first argument of `read` */
    const struct view *view; /* read this memory, which is one array, in place of the path; NULL:
                                read the path */
    uint64_t view_start;     /* index that chunks give its first element: it is a part of a larger
                                array */
    bool as_bytes; /* pick arrays that cannot be reduced, or hold no numbers, as arrays of u8: their
                      stored bytes, or SOURCE_UNKNOWN elements if these are not in one place */

    /* The file when it was opened before; NULL: it was not. If it is another file now, or shorter,
       that is an error; data that have been appended are not read. */
    const struct source_file *earlier;

    const struct source_tuning *tuning; /* NULL: source_tuning_shipped */
};

/* The sizes that apply to these options. */
static inline const struct source_tuning *source_tuning(const struct source_options *options)
{
    return options->tuning ? options->tuning : &source_tuning_shipped;
}

/* An array of a container that is to be reduced. One that cannot be read (array->unreadable) has no
   elements here, and is an error. */
struct source_pick {
    const struct container_array *array;
    uint64_t elements; /* elements to reduce: those within options->length and options->part */
    uint64_t first;    /* index of the first of them in the array */
    uint64_t of;       /* elements of the array within options->length, in all parts */
    size_t number;     /* number of the array among all of the input that are to be reduced */
};

/* The identity of a file. */
struct source_file {
    bool known;              /* it is a regular file that is not empty */
    uint64_t device, number; /* st_dev and st_ino */
    uint64_t input_bytes;    /* as in struct source_info */
};

/* The properties of an input. They are set when it is opened, and do not change but where a comment
   says so. */
struct source_info {
    const char *name; /* the input's name in messages */
    const char
        *format; /* raw, npy, zstd, npy+zstd, gzip ..., or the name of the container's format */

    const struct container *container; /* NULL if the input is one array */
    const struct source_pick *picks;   /* the arrays of a container that are to be reduced, in
                                          the order of their offsets; chunk->array is an index of
                                          this */
    size_t pick_count;                 /* their number in the part that is read */
    size_t pick_total;                 /* their number in all parts */
    size_t whole_count;                /* with whole_most: of those that are handed out */
    uint64_t pick_bytes;               /* bytes of their elements that are to be reduced */

    enum element_type type; /* of a container, that of the last array that is to be reduced */
    size_t element_size;    /* bytes; 0 for a container */
    bool swap;              /* elements are not in this machine's byte order */
    uint64_t data_offset;   /* bytes, after decompression, before the first element; SOURCE_UNKNOWN
                             where elements are in tiles */
    struct array_shape shape;
    struct scale scale;           /* of an array of a container; not given if there is none */
    enum compression compression; /* of the whole input */
    bool compressed;              /* its bytes are decompressed */
    bool scattered;               /* its chunks have places (chunk.h), so GPUs cannot take them */
    bool parallel;                /* workers claim parts of it; if not, it is read in order */
    bool helped;                  /* in order; who waits can decode for who reads (source_help) */
    bool undecoded;               /* compressed bytes are handed out, by compressed.h */
    bool cut;                     /* a part of compressed input; elements, first and of are known */
    uint64_t cut_bytes;           /* bytes of the frames of such a part */
    bool whole;                   /* all of it was read, and decompressed, when it was opened */
    bool repeatable;              /* it can be opened and read again */
    double uncached;      /* the fraction of the file that is not in the page cache, an estimate */
    uint64_t input_bytes; /* bytes from its beginning to its end; SOURCE_UNKNOWN for a pipe */
    uint64_t elements;    /* index after the last element that is to be reduced; SOURCE_UNKNOWN
                             before the end is reached; 0 for a container */
    uint64_t first;       /* index of the first one; not 0 only for a part */
    uint64_t of;          /* elements within options->length, in all parts; 0 of a compressed file
                             that is not cut, and of a pipe */
    size_t buffer_bytes;  /* the best size of workers' buffers; 0: any */
    struct source_file file;
};

/* The elements of an input that is one array within options->length, also in parts that are not read;
   SOURCE_UNKNOWN where neither a header nor the size of a file tells them. */
static inline uint64_t source_elements(const struct source_info *info)
{
    return info->elements <= info->of ? info->of
           : info->shape.known        ? info->elements
                                      : SOURCE_UNKNOWN;
}

/* The work of all workers so far. */
struct source_stats {
    uint64_t input_read;  /* bytes of the input */
    uint64_t read_time;   /* nanoseconds spent reading */
    uint64_t decode_time; /* nanoseconds spent decompressing */
};

enum source_status {
    SOURCE_CHUNK, /* *chunk is filled in */
    SOURCE_END,   /* there is nothing more */
    SOURCE_FAILED
};

enum source_verdict {
    SOURCE_COMPLETE, /* the whole input was handed out, and it is well-formed */
    SOURCE_REREAD,   /* headers of the input are wrong, so elements are missing or have wrong
                        indices: read it again in another way, in order at last */
    SOURCE_TORN,     /* several engines shared compressed input that only one can decode */
    SOURCE_BROKEN    /* the input is damaged */
};

struct source;

/* Opens `path` ("-" is standard input) for `workers` workers and finds out what it holds. `path`,
   and options->array, must outlive it. NULL on failure, with the reason in *error, as with all
   functions that make a source. */
struct source *source_open(const char *path, const struct source_options *options, unsigned workers,
                           struct error *error);

/* Facts about an input before it is read. */
struct source_facts {
    bool container;
    bool compressed;
    bool zstd;        /* by zstd; only source_look sets it */
    uint64_t size;    /* bytes of the input; 0 if unknown */
    uint64_t content; /* bytes of content that the first zstd frame states; SOURCE_UNKNOWN if
                         none */
    bool checked;     /* that frame has a checksum, which is to be verified */

    /* Only of a large zstd file that was examined closely. */
    double ratio;  /* bytes that a byte of its beginning decodes to; 0 if that was not decoded,
                      since one frame states the size of everything, or is damaged */
    bool uncached; /* most of it is not in the page cache */
};

/* Finds facts about an input from its first bytes. For a pipe, whose bytes are not consumed, and
   for a file that cannot be opened all facts are false or 0. False if it cannot be read, with
   the reason in *error. */
bool source_look(const char *path, const struct source_options *options, struct source_facts *facts,
                 struct error *error);

/*
 * The steps of source_open, for callers that plan how to read the input from its facts.
 */

/* Opens `path`, and reads nothing of it: an input in order may have nothing to read yet. NULL on
   failure. Until source_open_connected, only source_info, which knows whether the input is
   repeatable, and source_close may be called with the source. */
struct source *source_connect(const char *path, const struct source_options *options,
                              struct error *error);

/* Reads the first bytes of a connected source, which is a probed one then: until source_open_probed,
   only source_find_facts and source_close may be called with it. False on failure; the caller closes
   the source in any case. */
bool source_probe(struct source *s, const struct source_options *options);

/* Reads the first bytes of a connected source, and goes on as source_open_probed does. */
bool source_open_connected(struct source *s, const struct source_options *options,
                           unsigned workers);

/* Finds the facts about a probed source. `closely`: decode the beginning of a large zstd file.
   False on failure. */
bool source_find_facts(struct source *s, bool closely, struct source_facts *facts);

/* Finds out what a probed source holds, and prepares it for `workers` workers. False on failure;
   the caller closes the source in any case. */
bool source_open_probed(struct source *s, const struct source_options *options, unsigned workers);

/* Makes an open source of a file a probed one again, so that it can be read from its beginning with
   other options. NULL on failure; the source is closed then. */
struct source *source_renew(struct source *s, const struct source_options *options,
                            struct error *error);

/* Opens an array of an open container as an input of its own. The container must outlive it. */
struct source *source_open_array(const struct source *container,
                                 const struct container_array *array,
                                 const struct source_options *options, unsigned workers,
                                 struct error *error);

/* Whether an open directory is a store of Zarr, by the files in it. Any thread. */
bool source_is_store(int fd);

/* Cuts compressed input between frames: moves part->begin and part->end forward to the next ends of
   frames, and fills in the other fields. All processes that cut a file at the same offsets get the
   same parts. *cut: whether that was possible; if not, *part is unchanged: the input is a single
   frame, or damaged, or a frame does not state the size of its content. False if it cannot be read,
   with the reason in *error. */
bool source_cut(const char *path, const struct source_options *options, struct source_part *part,
                bool *cut, struct error *error);

/* The properties of the input, which are valid as long as the source. */
const struct source_info *source_info(const struct source *s);

/* Sets *m to the missing values of an open source that is one array: those that its container
   names, and those of `values` that its type has. False, where it is in no container, if its type
   lacks one of these. */
bool source_find_missing(struct source *s, const struct missing_values *values, struct missing *m);

/* Bytes that may be held in memory: half of that of the machine, or of the container, and a part of
   the addresses. */
uint64_t source_memory(void);

/* Whether half of the machine's memory has room to read an array with options->consecutive =
   `inputs`, a band of each at a time. Always so where it is not in tiles. */
bool source_fits_consecutive(const struct container_array *array, unsigned inputs);

/* Hands out the next chunk. The bytes are in the worker's buffer, in memory of the source
   (borrowed), or, if chunk->mapped, in the mapped file, where they must be read under
   mapping_guard. The worker gives the chunk back by source_release; it may hold several mapped
   chunks, but must release a borrowed one before it asks for the next. request->worker is less
   than the number of workers of source_open. May wait for the input, or for another worker. */
enum source_status source_next(struct source *s, const struct chunk_request *request,
                               struct chunk *chunk);

/* Whether source_at can be used for array number `array` (0 if the input is one array): its
   elements lie in a file, uncompressed and in order; or it is in tiles, and was opened with
   options->consecutive. */
bool source_is_at_hand(const struct source *s, size_t array);

/* The piece that element number `index` is in: indices of the first element that is decoded together
   with it, and after the last. One worker should ask source_at for a whole piece. Any worker. */
void source_piece(const struct source *s, uint64_t index, uint64_t *begin, uint64_t *end);

/* Hands out elements that the caller chooses, in the way of source_next: `chunk->count` elements
   from index `chunk->index` of array `chunk->array` on, or fewer if the buffer has no room for
   them. It never waits for an input, but may wait for other workers to decode elements, or to
   release some. SOURCE_END means that the array is damaged (source_damage), and others may
   go on. Any worker; not together with source_next. */
enum source_status source_at(struct source *s, const struct chunk_request *request,
                             struct chunk *chunk);

/* Decodes a little of a file that is read in order, for the worker that reads it. False if there is
   nothing to do now. Waits neither for a pipe nor for another worker. Any worker, also together with
   source_next. */
bool source_help(struct source *s);

/* Gives a chunk back, whose bytes the worker does not read any more. */
void source_release(struct source *s, unsigned worker, const struct chunk *chunk);

/* Gives back `count` elements at `data`, a part of what source_lend lent the worker. */
void source_return(struct source *s, unsigned worker, const void *data, size_t count);

/* Ends the work of a worker that has given everything back: unmaps pages that were kept for it, and
   wakes those that wait for it. source_next does so itself at the end, but not where the source has
   failed. Any worker, for itself. */
void source_leave(struct source *s, unsigned worker);

/* Makes the source fail after bytes of a mapped chunk could not be read: reads them again to find
   out why. Returns false. Any worker. */
bool source_lost(struct source *s, const struct chunk *chunk);

/* The number of elements that were left out so far because of a mask, and are in no chunk. */
uint64_t source_left_out(const struct source *s);

/* Whether a mask leaves element number `index` out: only where info->scattered is set. Any thread. */
bool source_is_missing(const struct source *s, uint64_t index);

/* Whether source_read_at, source_read_range and source_lend can be used: the input is one array
   in a file that is not compressed, or in memory. */
bool source_is_random(const struct source *s);

/* Reads `count` elements from `index` on, which must exist, in this machine's byte order. They
   do not count in source_stats. False on failure. Several threads may call it at a time, but not
   while workers ask for chunks. */
bool source_read_at(struct source *s, uint64_t index, size_t count, void *elements);

/* *same: whether two arrays that cannot be read, x of container `a` and y of `b`, are stored in
   chunks with the same sizes, filters, places and bytes. Both have `pieces`. False if reading
   fails. */
bool source_same_pieces(struct source *a, const struct container_array *x, struct source *b,
                        const struct container_array *y, bool *same);

/* Reads `count` elements from `index` on in the file's byte order. They count in source_stats.
   False on failure. Any worker, at any time. */
bool source_read_range(struct source *s, uint64_t index, size_t count, void *elements);

/* Lends a worker `count` elements from `index` on as a chunk that is mapped or in memory, parts of
   which it may give back. False if they are neither, or reading them costs less: use
   source_read_range. *most: about how many elements to use before asking again. Any worker. */
bool source_lend(struct source *s, unsigned worker, uint64_t index, size_t count,
                 struct chunk *chunk, uint64_t *most);

/* Notes that since the last call the worker has used `count` elements that it asked source_lend
   for: all of them lent, or all of them read. Any worker. */
void source_took(struct source *s, unsigned worker, uint64_t count, bool lent);

/* Makes a cancellable source fail without an error. A worker that waits for a pipe returns within
   20 ms. Any thread. */
void source_cancel(struct source *s);

/* Says whether the whole input was handed out, after source_next returned SOURCE_END to all
   workers. Damaged arrays of a container do not change that. */
enum source_verdict source_finish(struct source *s);

/* The reason why some elements of array number `array` of a container were not handed out; NULL if
   all were. After source_next returned SOURCE_END to all workers. */
const struct error *source_damage(const struct source *s, size_t array);

/* The true index of an element whose index in chunks was `position`. They differ only if zstd
   frames do not state the sizes of their contents. After source_finish. */
uint64_t source_index(const struct source *s, uint64_t position);

/* Declares that elements from `index` on are not needed; they may still be handed out. Any
   worker. */
void source_limit(struct source *s, uint64_t index);

/* Whether source_limit was called. */
bool source_limited(const struct source *s);

/* The work so far. Any thread. */
struct source_stats source_stats(const struct source *s);

/* Makes the source fail with this reason, unless it has failed before. Returns false. Any worker. */
bool source_fail(struct source *s, struct error error);

/* Makes the source fail with an error of error_of; or with ERROR_REQUEST, by error_advised: the
   input does not allow what is requested. */
#define source_error(s, ...) source_fail(s, error_of(__VA_ARGS__))
#define source_refuse(s, ...) source_fail(s, error_advised(__VA_ARGS__))

/* Makes the source fail because memory is lacking. Returns false. Any worker. */
bool source_no_memory(struct source *s);

/* The reason why the source failed; ERROR_NONE if it did not. Any thread, when no worker asks for
   chunks any more. */
const struct error *source_why(const struct source *s);

/* Closes the source and frees it. Chunks of it must not be used any more. NULL is allowed. */
void source_close(struct source *s);

#endif
