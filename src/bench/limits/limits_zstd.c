/*
 * Frames to decode for gpureduce-bench limits. It uses zstd.h, which otherwise only source/zstd
 * does, because the limit to know is that of the library alone: no source, no chunks, no reduction.
 */
#include "config.h"

#include "bench/limits/limits.h"

#include <stdlib.h>
#include <zstd.h>

#include "sys/message.h"

unsigned char *limits_zstd_compress(const unsigned char *data, size_t size, size_t *frame_size)
{
    size_t room = ZSTD_compressBound(size);
    unsigned char *frame = malloc(room);

    if (!frame) {
        message_error(EXIT_FAILED, "out of memory");
        return NULL;
    }
    *frame_size = ZSTD_compress(frame, room, data, size, ZSTD_CLEVEL_DEFAULT);
    if (ZSTD_isError(*frame_size)) {
        message_error(EXIT_FAILED, "zstd cannot compress: %s", ZSTD_getErrorName(*frame_size));
        free(frame);
        return NULL;
    }
    return frame;
}

/* A decoder is a context of the library. */

struct limits_decoder *limits_decoder_open(void)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();

    if (!context)
        message_error(EXIT_FAILED, "out of memory");
    return (struct limits_decoder *)context;
}

void limits_decoder_close(struct limits_decoder *d)
{
    ZSTD_freeDCtx((ZSTD_DCtx *)d);
}

bool limits_decode(struct limits_decoder *d, unsigned char *out, size_t size,
                   const unsigned char *frame, size_t frame_size)
{
    return ZSTD_decompressDCtx((ZSTD_DCtx *)d, out, size, frame, frame_size) == size;
}
