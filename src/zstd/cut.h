/*
 * Cuts a zstd file between frames, so that processes share it that know nothing of each other: each
 * looks at the file and finds the same cuts.
 *
 * A part begins where a frame ends that has content, and so does the next one; its content is given
 * by positions in the decoded stream. So all frames in front of it must state how much they hold,
 * in their headers or in a seek table, and those after it, too: partial results say of how many
 * elements they are.
 *
 * A file's statements may be wrong. Each frame is decoded by somebody, who finds out. And each part
 * is checked to end where the next begins, by offset and by position, so that what the parts come
 * to together are all elements, or one of them is an error.
 */
#ifndef GPUREDUCE_ZSTD_CUT_H
#define GPUREDUCE_ZSTD_CUT_H

#include "zstd/finder.h"

/* Moves `begin` and `end` to the next ends of frames. Reads the seek table, or the headers of
   frames and blocks: 2^20 of them at most. False where the file has no parts but the
   whole: it is a single frame, or some frame does not state how much it holds, or something is
   wrong. */
bool zstd_cut(struct zstd_file *file, uint64_t begin, uint64_t end, struct zstd_cut *part);

/*
 * The cutter: cuts a zstd file between frames, from its front to its end, into stretches for
 * several decoders.
 *
 * A stretch of frames that state what they hold ends where an element may begin. The content of
 * others (pzstd's, and those of streams) is known only after decoding: the next stretch may then
 * begin within an element, which its decoder finds out.
 *
 * It looks no farther ahead than it has been asked: finding the frames of a whole file may take
 * longer than decoding those of its begin. The rest of the file is one stretch if a frame takes
 * most of it, or if something is wrong. Frames are where a finder (finder.h) finds them, so what
 * hints say may be wrong: whoever decodes a stretch finds out that it does not end with a frame, or
 * holds another number of bytes.
 *
 * A cutter belongs to one thread at a time.
 */

/* Inputs of more bytes are not to be cut: positions would not have 64 bits. */
#define ZSTD_CUTTER_INPUT_MAX ((uint64_t)1 << 46)

/* Frames in a row. Offsets and positions are in bytes, of the input and of what it decodes to. */
struct zstd_stretch {
    uint64_t begin, end; /* offsets */
    uint64_t content;    /* bytes that it decodes to; ZSTD_UNKNOWN where that is not known */
    uint64_t most;       /* bytes that it decodes to at most; less than 2^63 for all together */
};

struct zstd_cutter {
    struct zstd_finder finder;
    uint64_t first;     /* stretches begin at positions from here on, */
    unsigned alignment; /* by multiples of so many bytes from there */
    uint64_t begin;     /* offset of the next stretch; the input's end when there is none */
    uint64_t position;  /* of its first byte; from the first stretch on whose content is not known,
                           what could be one */
    uint64_t most;      /* bytes that all stretches before it hold at most */
};

/* Begins at the input's first byte. Skipped bytes do not count as read. */
void zstd_cutter_init(struct zstd_cutter *c, struct zstd_file *file, uint64_t first,
                      unsigned alignment);

/* Cuts the next stretch, of at least so many bytes of input, or all that is left. False when there
   is none. */
bool zstd_cutter_next(struct zstd_cutter *c, uint64_t least, struct zstd_stretch *stretch);

#endif
