/*
 * Sources: where the elements come from. A source hands out chunks, each to the worker that asks
 * next, until it is empty. It knows files, pipes and formats, and nothing of engines.
 *
 * Regular files, raw, .npy or zstd, are read in parallel: every worker claims a part and fills its
 * own buffer, or gets the mapped pages themselves. One large zstd frame is decoded by all of them.
 *
 * Pipes, and zstd that must be decoded from front to back, are read in order, by one worker at a
 * time: it fills waiting workers' buffers, then its own, and releases the role. The next caller
 * takes it. So reading and decoding stay on one core and never wait for a reduction.
 *
 * source_next and source_release may be called by any worker at any time; all else belongs to the
 * thread that owns the source. When a function fails, the source keeps why (source_why); from then
 * on every source_next returns SOURCE_FAILED. Damage in zstd that several workers decode is
 * different: source_next goes on with what lies in front, and then says SOURCE_END; source_finish
 * fails with the first of it. Nor does a damaged array of a container make
 * the source fail: the others are handed out, and source_damage says what is wrong with that one.
 */
#ifndef GPUREDUCE_SOURCE_H
#define GPUREDUCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/chunk.h"
#include "core/element.h"
#include "core/error.h"
#include "source/format/container.h"
#include "sys/escape.h"
#include "zstd/file.h"

#define SOURCE_UNKNOWN UINT64_MAX

/* The largest window of zstd frames that is accepted, as the logarithm of its bytes to base 2: the
   limits of libzstd, and its default, which is zstd(1)'s, too. A decoder keeps a window in
   memory. */
#define SOURCE_WINDOW_LOG_MIN 10
#define SOURCE_WINDOW_LOG_MAX 31
#define SOURCE_WINDOW_LOG_DEFAULT 27

/* The formats there are are rows of a table in formats.c. */
enum source_format {
    SOURCE_AUTO,
    SOURCE_RAW,
    SOURCE_NPY,
    SOURCE_ZSTD,
    SOURCE_RAW_ZSTD, /* compressed, and raw whatever the content looks like */
    /* Containers, rows of the table in format/containers.c. */
    SOURCE_SAFETENSORS,
    SOURCE_NPZ,
    SOURCE_GGUF,
    SOURCE_HDF5
};

/* Which arrays of containers are wanted, and what came of that. */
#define SOURCE_PATTERNS_MAX 256
#define SOURCE_NAMES_KEPT 8
struct source_wanted {
    unsigned count;    /* of patterns */
    unsigned included; /* of those that do not exclude; 0: all arrays are wanted */
    struct container_pattern patterns[SOURCE_PATTERNS_MAX];

    /* Which arrays there are in all inputs, where only some are wanted: how many, the names of the
       first, and whether an input could not be opened, so that there may be others. */
    size_t there;
    char *names[SOURCE_NAMES_KEPT]; /* of malloc; NULL: there are fewer, or there was no memory */
    bool unknown;
};

/* An index of containers: which arrays they hold, by the files' paths and then by names. */
struct source_index {
    const struct source_index *next; /* another index; NULL for none */
    const char *name;                /* as messages show it */
    const struct source_place {
        const char *path, *array;
    } * places;
    size_t count;
};

/* A part of an input that can be read at any offset: the elements whose first bytes lie from offset
   `begin` up to, and without, `end`. Parts that leave no byte out leave no element out, and none of
   them has two. Compressed input has no parts but those of source_cut and the whole, which belongs
   to the part from byte 0 on; a compressed array belongs to the part in which its compressed bytes
   begin. */
struct source_part {
    uint64_t begin, end; /* bytes; both are 0 for all there is */

    bool cut; /* it is zstd that was cut between frames: the elements whose first bytes */
    struct zstd_cut frames; /* come out of these frames, from offset `begin` up to `end` */
};

/* How elements that the page cache holds are taken; see source/access.h. */
enum source_access {
    SOURCE_ACCESS_BEST, /* as measured */
    SOURCE_ACCESS_MAPPED,
    SOURCE_ACCESS_POPULATED,
    SOURCE_ACCESS_COPIED
};

/* Sizes that were found by measuring: doc/tuning.md says how. Tests pass small ones, so that small
   files have many pieces and parts. Bytes. */
struct source_tuning {
    size_t head_max;        /* of files that are read whole when they are opened, which spares them
                               two system calls each */
    size_t head_min;        /* the first of larger files, which are read to tell their format */
    uint64_t mapped_least;  /* of a file that is mapped: smaller ones are read, since mapping would
                               cost more than it saves */
    uint64_t closely_least; /* of a zstd file that is looked at closely: smaller ones are hardly
                               worth a GPU */
    size_t piece;           /* of compressed input (compressed.h) */
    uint64_t part_least;    /* and of its parts */
    struct zstd_tuning zstd;
};
extern const struct source_tuning source_tuning_shipped;

/* How an input is to be read. */
struct source_options {
    const struct log *log; /* of warnings; NULL for nobody */
    enum source_format format;
    enum element_type type;       /* of raw input, and of a .npy whose header names none */
    bool type_given;              /* the user has asked for it */
    enum element_order order;     /* of raw input, too; ELEMENT_ORDER_UNSAID means little */
    bool plausibility;            /* warn where raw elements look like those of another type */
    bool reopened;                /* it was opened before: warn of nothing once more */
    uint64_t skip;                /* bytes to leave out at the start of raw input */
    uint64_t length;              /* elements to reduce at most; SOURCE_UNKNOWN for all */
    size_t chunk_size;            /* bytes to hand out at a time in place; 0: the source chooses */
    int window_log;               /* of zstd frames at most; 0: SOURCE_WINDOW_LOG_DEFAULT */
    bool no_check;                /* do not verify the checksums of zstd frames */
    bool no_direct;               /* do not read past the page cache */
    enum source_access access;    /* to what is cached */
    bool undecoded;               /* hand zstd out as it is; see compressed.h */
    struct source_wanted *wanted; /* of containers; NULL: all arrays */
    const struct source_index *index; /* of containers, whose arrays are to be those; NULL for none.
                                         An array that is missing is one that cannot be read */
    bool skip_unsupported; /* warn of arrays of numbers that cannot be read, and skip them */
    const struct container_array *array; /* read this array of the input, which is a container, as
                                            if there were nothing else; NULL: find out what it is */
    bool stored;          /* numbers are wanted as a container stores them, whatever its attributes
                             make of them */
    unsigned consecutive; /* with `array`: if it is stored in tiles, hand out consecutive elements
                             all the same. So many inputs are read so at a time: memory has to
                             suffice. 0: in the order of tiles, by places (chunk.h) */
    bool headers_only;    /* only to tell what there is: chunks are not asked for, and arrays that
                             hold no numbers are picked, too */
    bool arrays_in_order; /* take containers that can only be read in order, too */
    bool cancellable;     /* source_cancel may be called */
    bool in_order;        /* decode zstd from front to back even where frames could go parallel */
    struct source_part part; /* reduce no more than this */
    bool as_bytes; /* pick arrays that cannot be reduced as bytes, of u8, and those without numbers,
                     too; their number is SOURCE_UNKNOWN where it is not known how many these are */

    /* The file as it was when it was opened before: another one now, or a shorter one, is an error,
       and appended data are not read. NULL if it was not. */
    const struct source_file *earlier;

    const struct source_tuning *tuning; /* NULL: source_tuning_shipped */
};

static inline const struct source_tuning *source_tuning(const struct source_options *options)
{
    return options->tuning ? options->tuning : &source_tuning_shipped;
}

/* How the elements of an array are arranged, as its header says. */
#define SOURCE_DIMENSIONS_MAX 64
struct source_shape {
    bool known; /* there is a header that says so */
    bool fortran_order;
    unsigned dimensions; /* 0 for a single number */
    uint64_t sizes[SOURCE_DIMENSIONS_MAX];
};

/* An array of a container that is to be reduced. One that cannot be read (array->unreadable) has no
   elements here: it is an error. */
struct source_pick {
    const struct container_array *array;
    uint64_t elements;  /* as many as --length leaves, and lie in the part that is asked for */
    uint64_t first, of; /* the first of them, and how many --length leaves */
    size_t number;      /* number of the array among the arrays of the whole input that are to be
                           reduced */
};

/* Which file an input is. */
struct source_file {
    bool known;              /* false for what is no regular file, and for an empty one */
    uint64_t device, number; /* st_dev and st_ino */
    uint64_t input_bytes;    /* as in struct source_info */
};

/* The properties of an input: known once it is open, and fixed. */
struct source_info {
    const char *name;   /* as messages show it */
    const char *format; /* raw, npy, zstd, npy+zstd, or the container's */

    /* For a container: its arrays, and those that are to be reduced, by their offsets. Each chunk
       is of one of the latter, by its number. NULL if the input is one array. */
    const struct container *container;
    const struct source_pick *picks;
    size_t pick_count;
    size_t pick_total;   /* number of arrays in all parts */
    uint64_t pick_bytes; /* of the elements that are to be reduced, all arrays together */

    enum element_type type;
    size_t element_size;  /* bytes; 0 for a container */
    bool swap;            /* elements are not in this machine's byte order */
    uint64_t data_offset; /* bytes, after decompression, before the first element; SOURCE_UNKNOWN
                             where elements are in tiles */
    struct source_shape shape;
    bool compressed;      /* the input is decompressed first */
    bool scattered;       /* its chunks have places (chunk.h), so GPUs cannot take them */
    bool parallel;        /* workers claim parts of it; otherwise it comes in order */
    bool undecoded;       /* compressed bytes are handed out, by compressed.h */
    bool cut;             /* it is compressed, and a part of it: elements, first and of are known */
    uint64_t cut_bytes;   /* of such a part: bytes of its frames */
    bool whole;           /* all of it was read when it was opened */
    bool repeatable;      /* it can be opened and read again */
    double uncached;      /* about which part of the file is not in the page cache, 0 to 1 */
    uint64_t input_bytes; /* from its beginning to its end; SOURCE_UNKNOWN for a pipe */
    uint64_t elements;    /* end of the elements that are to be reduced; SOURCE_UNKNOWN before the
                             end is reached; 0 for a container */
    uint64_t first;       /* beginning of the elements that are to be reduced: 0 unless a part was
                             asked for */
    uint64_t of;          /* elements that --length leaves; SOURCE_UNKNOWN likewise */
    size_t buffer_bytes;  /* the best size of workers' buffers; 0: any */
    struct source_file file;
};

/* The work so far, by all workers together. */
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
    SOURCE_REREAD,   /* it was not, or it is not numbered truly: it is not what its headers say, and
                        has to be read in another way, at last in order */
    SOURCE_TORN,     /* of compressed input that several engines had: one alone could decode it */
    SOURCE_BROKEN    /* the input is not what it should be */
};

struct source;

/* Room for the name of an input. */
#define SOURCE_NAME_MAX ESCAPE_QUOTE_MAX

/* Writes the name of the input `path` in messages: "standard input" for "-", otherwise
   escape_quote's. Returns `name`. */
const char *source_name(char name[SOURCE_NAME_MAX], const char *path);

/* Writes the name of an array of the input, or of the input if it is NULL. `name` has room for 2 *
   CONTAINER_NAME_SHOWN more. */
void source_name_array(char *name, const char *path, const struct container_array *array);

/* Opens `path` ("-" is standard input) for `workers` workers and finds out what it holds. `path`,
   and options->array, must outlive it. NULL on failure, with the reason in *error, as with all
   functions that make a source. */
struct source *source_open(const char *path, const struct source_options *options, unsigned workers,
                           struct error *error);

/* Facts about an input before it is read. */
struct source_facts {
    bool container;
    bool compressed;
    uint64_t size;    /* bytes from where the input begins; 0 where they are not known */
    uint64_t content; /* bytes that the first zstd frame states; SOURCE_UNKNOWN without */
    bool checked;     /* that frame has a checksum, which is to be verified */

    /* Set for a large zstd file alone, part of which has been decoded. */
    double ratio;  /* bytes that a byte of its beginning decodes to; 0 where it was not decoded, for
                      one frame says what all decodes to, or is damaged */
    bool uncached; /* most of it has to be read from storage */
};

/* Looks at an input by its first bytes. All facts are false for a pipe, whose bytes are not taken,
   and for a file that cannot be opened. False where it cannot be read, with why in *error. */
bool source_look(const char *path, const struct source_options *options, struct source_facts *facts,
                 struct error *error);

/*
 * Probing an input, and opening it as was planned: what source_open does at once.
 */

/* Opens `path`, and reads its first bytes. NULL on failure. source_close is the only other function
   that takes the source before source_open_probed. */
struct source *source_probe(const char *path, const struct source_options *options,
                            struct error *error);

/* The facts about it; `closely`: the beginning of a large zstd file is decoded. False on
   failure. */
bool source_find_facts(struct source *s, bool closely, struct source_facts *facts);

/* Finds out what it holds, and makes it ready for so many workers. False on failure; the source is
   to be closed in any case. */
bool source_open_probed(struct source *s, const struct source_options *options, unsigned workers);

/* Makes a source of a file one that has only been probed: it is to be read from its beginning, in
   another way. NULL on failure; then it has been closed. */
struct source *source_renew(struct source *s, const struct source_options *options,
                            struct error *error);

/* Opens an array of an open container as an input of its own. The container must outlive it. */
struct source *source_open_array(const struct source *container,
                                 const struct container_array *array,
                                 const struct source_options *options, unsigned workers,
                                 struct error *error);

/* Cuts compressed input between frames: moves part->begin and part->end to the next ends of frames,
   and fills in the rest; all parts of an input fit together. The same for everybody who looks at
   the file. *cut is false, and nothing is changed, where it has no parts but the whole: it is a
   single frame, or some frame does not state how much it holds, or something is wrong with it.
   Returns false where it cannot be read, with the reason in *error. */
bool source_cut(const char *path, const struct source_options *options, struct source_part *part,
                bool *cut, struct error *error);

/* The properties of the input, which are valid as long as the source. */
const struct source_info *source_info(const struct source *s);

/* Whether there is memory to read an array with options->consecutive = `inputs`. */
bool source_fits_consecutive(const struct container_array *array, unsigned inputs);

/* The next chunk, which the worker, whose number is below that given to source_open, hands back by
   source_release. Its bytes are in the worker's
   buffer, in the source's memory (borrowed), or, if chunk->mapped, in the mapped file: then they
   must be read under mapping_guard. A worker may hold several mapped chunks, but must release a
   borrowed one before it asks for the next. May wait for the input, or for another worker. */
enum source_status source_next(struct source *s, const struct chunk_request *request,
                               struct chunk *chunk);

/* Whether source_at can be used for array number `array`: its elements lie in a file as they are,
   so that any worker can have any of them at any time. 0 where there is one array. */
bool source_is_at_hand(const struct source *s, size_t array);

/* Hands out elements that the caller chooses, as source_next does: chunk->array, chunk->index and
   chunk->count say which, and count is less afterwards where the buffer has no room for so many. It
   never waits, never ends, and takes no claims: source_next is not to be used beside it. */
enum source_status source_at(struct source *s, const struct chunk_request *request,
                             struct chunk *chunk);

/* Hands a chunk back: its bytes are not read any more. */
void source_release(struct source *s, unsigned worker, const struct chunk *chunk);

/* Hands back a part of what was lent (source_lend): `count` elements at `data`. */
void source_return(struct source *s, unsigned worker, const void *data, size_t count);

/* The worker has handed everything back, and asks for no more: pages that were kept for it are
   taken out of memory. source_next does so by itself where it finds the end. */
void source_leave(struct source *s, unsigned worker);

/* For a mapped chunk whose bytes vanished while they were read: makes the source fail for what
   happened to the file. */
void source_lost(struct source *s, const struct chunk *chunk);

/* Whether source_read_at can be used: the input is a file that is not compressed. */
bool source_is_random(const struct source *s);

/* Reads `count` elements, which are there, from the one numbered `index` on, in this machine's byte
   order. These bytes do not count as read. Several threads may call it at a time, but not while
   workers ask for chunks. False on failure. */
bool source_read_at(struct source *s, uint64_t index, size_t count, void *elements);

/* Sets whether two arrays in chunks that cannot be read, of the containers `a` and `b`, are stored
   alike: in chunks of the same sizes and filters at the same places, of the same bytes. Both have
   `pieces`. False when reading failed. */
bool source_same_pieces(struct source *a, const struct container_array *x, struct source *b,
                        const struct container_array *y, bool *same);

/* Reads elements as source_read_at does, but any worker may call it at any time; they count as
   read, and come in the file's byte order. */
bool source_read_range(struct source *s, uint64_t index, size_t count, void *elements);

/* Lends a worker `count` elements from the one numbered `index` on, of a source that is random,
   where they are mapped: as a mapped chunk, whose parts may be released. False where they are not,
   or to read them costs less; then source_read_range reads them. *most: how many elements, about,
   to take until the worker asks again. */
bool source_lend(struct source *s, unsigned worker, uint64_t index, size_t count,
                 struct chunk *chunk, uint64_t *most);

/* Notes that the worker has taken so many of the elements that it asked to be lent, since the last
   call: all lent, or all read. */
void source_took(struct source *s, unsigned worker, uint64_t count, bool lent);

/* Ends the reading of a source that is cancellable: it fails and prints nothing. A worker
   that waits for a pipe goes on after 20 ms at most. Any thread. */
void source_cancel(struct source *s);

/* After all workers saw the end: whether that was the whole input. Arrays of a container that
   turned out to be damaged do not change that. */
enum source_verdict source_finish(struct source *s);

/* Why the elements of array number `array` of a container could not be read, once all workers saw
   the end: it was damaged, and part of it was not handed out. NULL where they could. */
const struct error *source_damage(const struct source *s, size_t array);

/* The true index of the element that a chunk's numbering calls `position`. They differ only for
   zstd frames that do not say how long they are. Valid after source_finish. */
uint64_t source_index(const struct source *s, uint64_t position);

/* Says that elements from `index` on are no longer wanted. They may still be handed out. */
void source_limit(struct source *s, uint64_t index);

/* Whether source_limit was called. */
bool source_limited(const struct source *s);

/* The work so far. Any thread may ask. */
struct source_stats source_stats(const struct source *s);

/* Makes the source fail, unless it has failed before. Any worker may call it. */
void source_error(struct source *s, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes it fail since what is asked for cannot be had of it: with ERROR_REQUEST. */
void source_refuse(struct source *s, struct advice advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes it fail for want of memory. Returns false. */
bool source_no_memory(struct source *s);

/* Why the source failed; ERROR_NONE if it did not. Any thread may ask; it is known when
   no worker asks for chunks any more. */
const struct error *source_why(const struct source *s);

void source_close(struct source *s);

#endif
