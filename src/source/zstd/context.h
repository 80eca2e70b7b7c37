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

#include "source/source_impl.h"

/* A context that accepts windows as large as the source does, and verifies checksums if that does;
   NULL without memory, and nothing printed. */
ZSTD_DCtx *zstd_context_open(const struct source *s);

/* ZSTD_decompressStream; its time counts as the source's decode_time. */
size_t zstd_context_decompress(struct source *s, ZSTD_DCtx *context, ZSTD_outBuffer *out,
                               ZSTD_inBuffer *in);

/* Prints why libzstd refused the frame at offset `frame`, whose error code this is, and makes the
   source fail. */
void zstd_print_refusal(struct source *s, uint64_t frame, size_t code);

/* Prints that the frame at offset `frame` holds another number of bytes than its header states, and
   makes the source fail. */
void zstd_print_wrong_content(struct source *s, uint64_t frame, uint64_t stated, uint64_t held);

#endif
