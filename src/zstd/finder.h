/*
 * The finder: where the frames of a zstd file begin and end, and how much they can hold, without
 * decoding them. It hands out batches, each to be decoded as one task: several small frames in a
 * row, or a single frame.
 *
 * The end of a frame is found by walking its block headers, unless the file gives hints: the
 * skippable frames that pzstd writes before each frame, or the seek table of the seekable format at
 * the end. Hints may lie. One that cannot be true is not followed. From the first hint that is
 * followed, batches are marked as hinted: whoever decodes them finds out whether they are what the
 * hints promised, and if not, the file is read again in order.
 *
 * A finder belongs to one thread at a time. It reads the mapped file where that is given, so
 * zstd_find is to be called under mapping_guard.
 */
#ifndef GPUREDUCE_ZSTD_FINDER_H
#define GPUREDUCE_ZSTD_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "zstd/frames.h"

/* Entries are read so many bytes at a time. */
#define ZSTD_SEEK_TABLE_BUFFER 1024

/* The table of zstd's seekable format: a skippable frame at the end of a file, which says for each
   frame in front of it how long it is and how much it holds. It may lie; whoever follows it finds
   out. Its entries are read as they are asked for. */
struct zstd_seek_table {
    uint64_t begin; /* offset of its frame; 0 where there is none, or it is not followed any more */
    uint64_t entry; /* offset of the next entry */
    uint64_t entries_end; /* offset after the last one */
    unsigned entry_bytes;
    struct zstd_view view;
    unsigned char buffer[ZSTD_SEEK_TABLE_BUFFER];
};

/* Frames in a row, and the skippable ones between them. */
struct zstd_batch {
    uint64_t begin;      /* offset of the first byte */
    uint64_t end;        /* offset after the last frame; ZSTD_UNKNOWN in ZSTD_FOUND_LARGE */
    uint64_t content;    /* bytes that they state together; ZSTD_UNKNOWN where they state none */
    uint64_t most;       /* bytes that they can hold at most; ZSTD_UNKNOWN in ZSTD_FOUND_LARGE */
    uint64_t frame_most; /* the same for the one that can hold most */
    uint64_t window;     /* of the last frame, bytes */
    unsigned frames;
    bool walked; /* frame_most is known from the blocks; otherwise it is an estimate */
    bool hinted; /* begin, end or content may be wrong: they depend on hints */
};

enum zstd_found {
    ZSTD_FOUND,       /* a batch */
    ZSTD_FOUND_LARGE, /* a large frame, whose end is not known yet; the next calls look for it */
    ZSTD_FOUND_REST,  /* all of that frame, its end included */
    ZSTD_FOUND_NONE,  /* nothing yet: the frame under way is long. Call again */
    ZSTD_FOUND_END,   /* there is nothing more */
    ZSTD_FOUND_FAULT  /* finder->fault says what is wrong; likewise from now on */
};

/* Bytes read at a time where the file is not mapped, or frames are far apart. */
#define ZSTD_FINDER_BUFFER 4096

struct zstd_finder {
    struct zstd_view view;
    const unsigned char *map; /* the view's, where that may be used */
    uint64_t small_max;       /* bytes; a frame that can hold more is large */
    unsigned workers;
    uint64_t next;      /* offset of what follows the frames found */
    uint64_t last_size; /* bytes of the last frame found */
    bool hinted;        /* a hint has been followed */
    bool uncounted; /* skippable frames that it steps over do not count as read: others read them */
    uint64_t cut;   /* no batch has frames on both sides of this offset */
    struct zstd_fault fault;

    enum {
        ZSTD_FINDER_BETWEEN, /* two frames */
        ZSTD_FINDER_FRAME,   /* in `frame` */
        ZSTD_FINDER_LARGE    /* in `frame`, which has been handed out as large */
    } state;
    struct zstd_frame frame;

    struct zstd_seek_table table;
    unsigned char buffer[ZSTD_FINDER_BUFFER];
};

/* The most bytes that blocks of so many bytes, less than 2^46, can hold. */
uint64_t zstd_most_of(uint64_t bytes);

/* Begins at the input's first byte. `map` is the mapped input, or NULL. `small_max`: frames that
   can hold more bytes are handed out as large, before their end is known. For `workers` workers
   batches are made small enough towards the end. */
void zstd_finder_init(struct zstd_finder *f, struct zstd_file *file, const unsigned char *map,
                      uint64_t small_max, unsigned workers);

/* To be called first, if at all: begins where the part does, which was cut between frames, and has
   no batch reach over its end. */
void zstd_finder_start(struct zstd_finder *f, const struct zstd_cut *part);

/* Finds the next batch, or goes on with the last one. Takes a few hundred reads at most. */
enum zstd_found zstd_find(struct zstd_finder *f, struct zstd_batch *batch);

/* Tells the finder that the frame at `begin` was decoded: it ends at `end`, and holds `content`
   bytes. If it is the large frame whose end the finder looks for, the finder need not look. */
void zstd_finder_note_end(struct zstd_finder *f, uint64_t begin, uint64_t end, uint64_t content);

/* For who only wants to know where frames are, in place of zstd_find: the next frame and its end,
   or what is known of it so far (ZSTD_FOUND_NONE). No frame is large then. */
enum zstd_found zstd_find_frame(struct zstd_finder *f, struct zstd_frame *frame);

/* The next entry: bytes of the frame, and of what it holds. False where there is none; then, or
   where it cannot be read, t->begin is 0. */
bool zstd_seek_table_next(struct zstd_seek_table *t, uint64_t *size, uint64_t *content);

#endif
