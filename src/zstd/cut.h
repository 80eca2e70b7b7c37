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

#include "zstd/frames.h"

/* Moves `begin` and `end` to the next ends of frames. Reads the seek table, or the headers of
   frames and blocks: at most ZSTD_CUT_HEADERS of them. False where the file has no parts but the
   whole: it is a single frame, or some frame does not state how much it holds, or something is
   wrong. */
bool zstd_cut(struct zstd_file *file, uint64_t begin, uint64_t end, struct zstd_cut *part);

/* Whether a frame whose end is not known looks so long, as far as it has been walked, that there is
   nothing to be gained by cutting: it takes most of the input. */
bool zstd_takes_most(const struct zstd_frame *frame, uint64_t input_bytes);

/* With more headers than this a file is not cut. Each costs a read, 1 to 2 us where it is cached.
 */
#define ZSTD_CUT_HEADERS ((uint64_t)1 << 20)

#endif
