/*
 * The frames of zstd (RFC 8878), without decoding them: headers of frames and blocks, and what can
 * be wrong with them.
 *
 * Everything here works on a zstd_view, the compressed input by offset, and belongs to one thread
 * at a time. A view may be of the mapped file: then its functions are to be called under
 * mapping_guard. Functions that return false have set *fault, which they do not note in the file.
 */
#ifndef GPUREDUCE_ZSTD_FRAMES_H
#define GPUREDUCE_ZSTD_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zstd/file.h"

/* The most that one block can hold; less where the frame's window is smaller. Bytes. */
#define ZSTD_BLOCK_CONTENT_MAX ((uint64_t)128 << 10)

/* The longest header of a frame. Bytes. */
#define ZSTD_HEADER_MAX 18

/* The header of a block, bytes; and the types of blocks. */
#define ZSTD_BLOCK_HEADER 3
enum zstd_block_type { ZSTD_BLOCK_RAW, ZSTD_BLOCK_RUN, ZSTD_BLOCK_COMPRESSED, ZSTD_BLOCK_RESERVED };

/* The header of a skippable frame. Bytes. */
#define ZSTD_SKIPPABLE_HEADER 8

/* The input's bytes by offset. */
struct zstd_view {
    struct zstd_file *file;
    const unsigned char *map; /* all of them; NULL: they are read into the buffer */
    unsigned char *buffer;
    size_t capacity;
    uint64_t offset; /* of what the buffer holds */
    size_t size;
};

/* `size` bytes at `offset`; fewer (*got) where the input ends or the buffer is full. NULL when the
   input cannot be read; the reason has been noted. These bytes do not count as read. */
const unsigned char *zstd_view_at(struct zstd_view *view, uint64_t offset, size_t size,
                                  size_t *got);

/* A number of four bytes, little endian. */
static inline uint32_t zstd_load32(const unsigned char *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* Whether a zstd or a skippable frame begins with these bytes. Four of them decide. */
bool zstd_recognise(const void *bytes, size_t size);

/* Whether the bytes begin a skippable frame. */
bool zstd_is_skippable(const unsigned char *b, size_t got);

/* The size of the skippable frame whose first bytes are `b`, with its header; 0 when it is none, or
   its header is cut off. */
uint64_t zstd_skippable_size(const unsigned char *b, size_t got);

/* A fault of a frame: its kind and its place. */
enum zstd_fault_kind {
    ZSTD_SOUND,
    ZSTD_CUT_OFF,     /* the input ends within it */
    ZSTD_NO_FRAME,    /* none begins there */
    ZSTD_WINDOW,      /* it needs a larger window than is allowed */
    ZSTD_BLOCK_TYPE,  /* a block of a reserved type at `where` */
    ZSTD_BLOCK_SIZE,  /* a block at `where` that is larger than the frame allows */
    ZSTD_TOO_LITTLE,  /* its `count` blocks cannot hold the `where` bytes that it states */
    ZSTD_READ_FAILURE /* of the input; noted already */
};

struct zstd_fault {
    enum zstd_fault_kind kind;
    uint64_t frame; /* offset of its first byte */
    uint64_t where;
    uint64_t count;
};

/* Sets the fault of the frame at offset `frame`. Returns false. */
static inline bool zstd_set_fault(struct zstd_fault *fault, enum zstd_fault_kind kind,
                                  uint64_t frame)
{
    *fault = (struct zstd_fault){.kind = kind, .frame = frame};
    return false;
}

/* Notes the fault as an error of the file. */
void zstd_note_fault(struct zstd_file *file, const struct zstd_fault *fault);

/* A frame as far as its blocks have been walked. */
struct zstd_frame {
    uint64_t begin;      /* offset of its first byte */
    uint64_t position;   /* offset of its next block */
    uint64_t end;        /* offset after it; ZSTD_UNKNOWN before the last block is found */
    uint64_t blocks;     /* walked so far */
    uint32_t block;      /* the header of the last of these: a bit, 2 of its type, and its size */
    uint64_t content;    /* bytes that its header states; ZSTD_UNKNOWN where it states none */
    uint64_t window;     /* bytes that a decoder must remember; of a single segment, its content */
    uint64_t block_most; /* bytes that a block of it may hold, or take, at most */
    uint32_t dictionary; /* the number of the one that it needs; 0: none */
    bool checksum;       /* one follows the last block */
    bool reserved;       /* the bit of its header that is to be 0 is not */
};

/* Reads the header of the frame at `offset`, whose first bytes are `b`. False when it is none, or
   cut off. */
bool zstd_read_header(const unsigned char *b, size_t got, uint64_t offset,
                      struct zstd_frame *frame);

/* The first frame that is not skippable, as far as these bytes, the first of the input, hold its
   header; otherwise window and content are ZSTD_UNKNOWN. */
struct zstd_frame zstd_first_frame(const unsigned char *bytes, size_t size);

/* Whether the first frame of an input of `size` bytes holds all of it, by the content that it states:
   frames hardly ever grow. */
static inline bool zstd_states_all(uint64_t content, uint64_t size)
{
    return content != ZSTD_UNKNOWN && content + content / 64 >= size;
}

/* Whether the file allows a window as large as the header asks for, needed or not. */
bool zstd_window_allowed(const struct zstd_file *file, const struct zstd_frame *frame,
                         struct zstd_fault *fault);

/* Whether the whole frame, whose header was read from `b`, lies in these bytes, with sound block
   headers. */
bool zstd_all_there(const unsigned char *b, size_t got, struct zstd_frame frame);

/* Whether no block can hold more than it may, if the frame holds what its header states. */
static inline bool zstd_within_block(const struct zstd_frame *frame)
{
    return frame->content <= frame->block_most;
}

/* Reads the header of the frame at `offset`, where one is known to begin, and checks its window. */
bool zstd_header(struct zstd_view *view, uint64_t offset, struct zstd_frame *frame,
                 struct zstd_fault *fault);

/* Walks over the block whose header, of three bytes, is `b`. */
bool zstd_next_block(const unsigned char *b, struct zstd_frame *frame, struct zstd_fault *fault);

/* Walks over one block. After the last one frame->end is known. */
bool zstd_block(struct zstd_view *view, struct zstd_frame *frame, struct zstd_fault *fault);

/* Walks over up to `blocks` blocks, stopping at the frame's end. */
bool zstd_walk(struct zstd_view *view, struct zstd_frame *frame, uint64_t blocks,
               struct zstd_fault *fault);

#endif
