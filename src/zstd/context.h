/*
 * libzstd: contexts that decode, time spent in them, and what their errors mean to the user.
 *
 * Given a whole frame and enough output, libzstd takes its single-pass path, which checks neither
 * window nor block limits. Whether a frame is accepted must not depend on the sizes of buffers. So
 * the decoders check windows themselves (zstd_window_allowed). They pass the header alone first if
 * a frame may hold more than a block: libzstd then checks the size of each block. This costs
 * nothing measurable; for small frames it would.
 *
 * One thing cannot be checked, as libzstd does not: a match that reaches further back than the
 * window. Such a frame is invalid. If all of its content is in memory, as with small frames of
 * files, libzstd decodes it as its maker meant; elsewhere it decodes other bytes, or reports
 * damage.
 *
 * A context belongs to one thread at a time.
 */
#ifndef GPUREDUCE_ZSTD_CONTEXT_H
#define GPUREDUCE_ZSTD_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_d_stableOutBuffer, ZSTD_d_forceIgnoreChecksum */
#include <zstd.h>

#include "zstd/file.h"

/* A context that accepts windows as large as the file may need, and verifies checksums if they
   are to be. NULL without memory; nothing is noted. */
ZSTD_DCtx *zstd_context_open(const struct zstd_file *file);

/* ZSTD_decompressStream; its time counts as the file's decode_time. */
size_t zstd_context_decompress(struct zstd_file *file, ZSTD_DCtx *context, ZSTD_outBuffer *out,
                               ZSTD_inBuffer *in);

/* Notes why libzstd refused the frame at offset `frame`, whose error code this is. */
void zstd_note_refusal(struct zstd_file *file, uint64_t frame, size_t code);

/* Notes that the frame at offset `frame` holds another number of bytes than its header states. */
void zstd_note_wrong_content(struct zstd_file *file, uint64_t frame, uint64_t stated,
                             uint64_t held);

#endif
