/*
 * The cutter: cuts a zstd file between frames, from its front to its end, into stretches for
 * several decoders, each of which needs to know where in what is decoded its stretch begins.
 *
 * It looks no farther ahead than it has been asked: finding the frames of a whole file may take
 * longer than decoding those of its begin. Where it cannot tell how much a frame holds, or that
 * takes long, or something is wrong, the rest of the file is one stretch. Frames are where a finder
 * (finder.h) finds them, so what hints say may be wrong: whoever decodes a stretch finds out that
 * it does not end with a frame, or holds another number of bytes.
 *
 * A cutter belongs to one thread at a time.
 */
#ifndef GPUREDUCE_ZSTD_CUTTER_H
#define GPUREDUCE_ZSTD_CUTTER_H

#include "source/zstd/finder.h"

/* Frames in a row. Offsets and positions are in bytes, of the input and of what it decodes to. */
struct zstd_stretch {
    uint64_t begin, end; /* offsets */
    uint64_t position;   /* of the first byte that it decodes to */
    uint64_t content; /* bytes that it decodes to; SOURCE_UNKNOWN where that is not known, and then
                         it reaches to the input's end */
};

struct zstd_cutter {
    struct zstd_finder finder;
    uint64_t first;     /* stretches begin at positions from here on, */
    unsigned alignment; /* by multiples of so many bytes from there */
    uint64_t begin;     /* offset of the next stretch; the input's end when there is none */
    uint64_t position;  /* of its first byte */
};

/* Begins at the input's first byte. What it steps over does not count as read. */
void zstd_cutter_init(struct zstd_cutter *c, struct source *s, uint64_t first, unsigned alignment);

/* Cuts the next stretch, of at least so many bytes of input, or all that is left. False when there
   is none. */
bool zstd_cutter_next(struct zstd_cutter *c, uint64_t least, struct zstd_stretch *stretch);

#endif
