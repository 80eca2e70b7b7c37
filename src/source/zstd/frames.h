/*
 * The frames of a zstd file: where they begin and end, and how much they can hold, found out
 * without decoding them (RFC 8878). Frames are dealt out in batches, each to be decoded by one
 * worker: one frame, or several small ones in a row.
 *
 * A frame's end is found by walking its block headers, unless the file gives hints: skippable
 * frames as pzstd writes them before each frame, or the seek table of the seekable format at the
 * end. Hints may lie. One that is seen to is not followed; from the first that is, batches are
 * marked as hinted, and whoever decodes them checks what they promise.
 *
 * A finder belongs to one thread at a time. It reads the mapped file where that is given, so
 * zstd_find and zstd_walk are to be called under mapping_guard.
 */
#ifndef GPUREDUCE_ZSTD_FRAMES_H
#define GPUREDUCE_ZSTD_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/source_impl.h"

/* The most one block can hold; less where the frame's window is smaller. */
#define ZSTD_BLOCK_CONTENT_MAX ((uint64_t)128 << 10)

/* No header is longer. */
#define ZSTD_HEADER_MAX 18

/* The input's bytes by offset. */
struct zstd_view {
    struct source *source;
    const unsigned char *map; /* all of them, or NULL: they are read into the buffer */
    unsigned char *buffer;
    size_t capacity;
    uint64_t offset; /* of what the buffer holds */
    size_t size;
};

/* `size` bytes at `offset`, or as many (*got) as there are or the buffer holds. NULL on failure,
   which has been said. Does not count as input that was read. */
const unsigned char *zstd_view_at(struct zstd_view *view, uint64_t offset, size_t size,
                                  size_t *got);

/* Whether the first bytes of a file are a zstd or a skippable frame's. Four bytes decide. */
bool zstd_recognise(const void *bytes, size_t size);

/* What is wrong with a frame, and where. */
struct zstd_fault {
    enum {
        ZSTD_SOUND,
        ZSTD_CUT_OFF,     /* the input ends within it */
        ZSTD_NO_FRAME,    /* none begins there */
        ZSTD_WINDOW,      /* it needs a larger window than is allowed */
        ZSTD_BLOCK_TYPE,  /* a block of a reserved type at `where` */
        ZSTD_BLOCK_SIZE,  /* a block at `where` that is larger than the frame allows */
        ZSTD_TOO_LITTLE,  /* its `count` blocks cannot hold the `where` bytes it says it holds */
        ZSTD_READ_FAILURE /* of the input; said */
    } kind;
    uint64_t frame; /* offset of its first byte */
    uint64_t where;
    uint64_t count;
};

void zstd_fault_say(struct source *s, const struct zstd_fault *fault);

/* A frame as far as it has been walked. */
struct zstd_frame {
    uint64_t begin;      /* offset of its first byte */
    uint64_t position;   /* offset of its next block */
    uint64_t end;        /* offset behind it; SOURCE_UNKNOWN before that is known */
    uint64_t blocks;     /* passed */
    uint64_t content;    /* bytes it says it holds, or SOURCE_UNKNOWN */
    uint64_t window;     /* bytes that a decoder must remember; of a single segment, its content */
    uint64_t block_most; /* bytes a block of it may hold, or take, at most */
    bool checksum;       /* one follows the last block */
};

/* Reads the header of the frame at `offset`, whose first bytes are `b`. False when it is none, or
   cut off. */
bool zstd_read_header(const unsigned char *b, size_t got, uint64_t offset,
                      struct zstd_frame *frame);

/* Whether the source allows a window as large as the header asks for; what the frame would need of
   it does not matter. False with *fault. */
bool zstd_window_allowed(const struct source *s, const struct zstd_frame *frame,
                         struct zstd_fault *fault);

/* Whether all of a frame whose header was read from `b` is there, and its blocks are sound. */
bool zstd_all_there(const unsigned char *b, size_t got, struct zstd_frame frame);

/* Reads the header of the frame at `offset`, which is known to be one, and sees that its window is
   allowed. False with *fault. */
bool zstd_header(struct zstd_view *view, uint64_t offset, struct zstd_frame *frame,
                 struct zstd_fault *fault);

/* Passes one block; behind the last one frame->end is known. False with *fault. */
bool zstd_block(struct zstd_view *view, struct zstd_frame *frame, struct zstd_fault *fault);

/* Passes up to `blocks` blocks. False with *fault. */
bool zstd_walk(struct zstd_view *view, struct zstd_frame *frame, uint64_t blocks,
               struct zstd_fault *fault);

/* The size of the skippable frame at `offset`, whose first bytes are `b`; 0 when it is none. */
uint64_t zstd_skippable(const unsigned char *b, size_t got);

/* Frames in a row, and skippable ones among them. */
struct zstd_batch {
    uint64_t begin;      /* offset of the first byte */
    uint64_t end;        /* offset behind the last; SOURCE_UNKNOWN of a large frame as yet */
    uint64_t content;    /* bytes they say they hold, or SOURCE_UNKNOWN */
    uint64_t most;       /* bytes they can hold at most; SOURCE_UNKNOWN of a large frame as yet */
    uint64_t frame_most; /* the same for the largest */
    uint64_t window;     /* of the last frame */
    unsigned frames;
    bool walked; /* the blocks were */
    bool hinted; /* what it says, or where it begins, is hearsay */
};

enum zstd_found {
    ZSTD_FOUND,       /* a batch */
    ZSTD_FOUND_LARGE, /* a frame that is larger than `large`; to learn more, go on */
    ZSTD_FOUND_REST,  /* what was not yet known of that frame */
    ZSTD_FOUND_NONE,  /* not yet; go on */
    ZSTD_FOUND_END,   /* there is nothing more */
    ZSTD_FOUND_FAULT  /* finder->fault says what; likewise from now on */
};

#define ZSTD_WALK_BYTES 4096

struct zstd_finder {
    struct zstd_view view;
    const unsigned char *map; /* as the view's, when it may be used */
    uint64_t large;           /* bytes; frames that may hold more are handed out unfinished */
    unsigned workers;
    uint64_t next;      /* offset of what follows the frames found */
    uint64_t last_size; /* bytes of the last frame found */
    bool hinted;        /* hints have been followed */
    struct zstd_fault fault;

    /* The frame being looked at. */
    bool in_frame;
    bool announced; /* handed out as large */
    struct zstd_frame frame;

    /* The seek table. */
    uint64_t table;       /* offset of its frame; 0 when there is none to follow */
    uint64_t entry;       /* offset of the next entry */
    uint64_t entries_end; /* offset behind the last */
    unsigned entry_bytes;

    unsigned char buffer[ZSTD_WALK_BYTES];
};

/* Begins at the input's first byte. `map` is the mapped input, or NULL. */
void zstd_finder_init(struct zstd_finder *f, struct source *s, const unsigned char *map,
                      uint64_t large, unsigned workers);

/* Finds the next batch, or goes on with the last. Takes a few hundred reads at most. */
enum zstd_found zstd_find(struct zstd_finder *f, struct zstd_batch *batch);

#endif
