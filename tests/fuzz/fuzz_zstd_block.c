/*
 * The decoder of zstd's blocks beside libzstd: any frame either comes out as libzstd has it, byte
 * for byte, or is refused. All that libzstd refuses must be refused; libzstd judges other refusals,
 * where this decoder is used.
 *
 * An input is a frame, or, with a flag set, content that is compressed first and then damaged: so
 * tables and streams that are nearly sound are found soon.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#define ZSTD_STATIC_LINKING_ONLY
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/zstd_blocks.h"

/* Frames that hold more are left out. */
#define CONTENT_MAX ((size_t)1 << 19)

static unsigned char decoded[CONTENT_MAX], expected[CONTENT_MAX];

/* Repeats what the input has, so that there are matches, and damages what comes out of libzstd. */
static void make_frame(struct fuzz_input *in, struct fuzz_bytes *frame)
{
    static ZSTD_CCtx *context;
    struct fuzz_bytes content = {0};
    unsigned times = (unsigned)fuzz_below(in, 64), damages = (unsigned)fuzz_below(in, 4);
    int level = (int)fuzz_below(in, 13) - 3;
    size_t size;

    if (!context)
        context = ZSTD_createCCtx();
    if (!context)
        abort();
    /* Few are so long that the ring goes round: they take as long as all others together. */
    if (times % 8 != 0)
        times %= 8;
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 10 + (int)fuzz_below(in, 8));
    for (unsigned i = 0; i <= times && in->size > 0; i++) {
        size_t from = (size_t)fuzz_below(in, 0x10000), most = 1 + (size_t)fuzz_below(in, 0x10000);

        from = in->size > 0 ? from % in->size : 0;
        fuzz_add(&content, in->data + from, most < in->size - from ? most : in->size - from);
    }
    size = ZSTD_compressBound(content.size);
    size = ZSTD_compress2(context, fuzz_grow(frame, size), size, content.data, content.size);
    if (ZSTD_isError(size))
        abort();
    frame->size = size;
    for (unsigned i = 0; i < damages; i++)
        frame->data[fuzz_below(in, 0x10000) % size] ^= (unsigned char)(1u << fuzz_below(in, 8));
    fuzz_free(&content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ZSTD_DCtx *context;
    struct fuzz_input in = {data, size};
    struct fuzz_bytes frame = {0};
    enum zstd_blocks_literals how;
    size_t ahead, held, taken;

    if (!context)
        context = ZSTD_createDCtx();
    if (!context)
        abort();
    how = (enum zstd_blocks_literals)fuzz_below(&in, 3);
    ahead = (size_t)fuzz_below(&in, 0x1000);
    if (fuzz_flag(&in))
        make_frame(&in, &frame);
    else
        fuzz_add(&frame, in.data, in.size);
    /* Checksums are for others. */
    if (frame.size > 4)
        frame.data[4] &= 0xfb;

    taken = zstd_blocks_decode(frame.data, frame.size, how, ahead, decoded, sizeof decoded, &held);
    if (taken > 0) {
        ZSTD_inBuffer from = {frame.data, frame.size, 0};
        ZSTD_outBuffer to = {expected, sizeof expected, 0};
        size_t result;

        ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
        do
            result = ZSTD_decompressStream(context, &to, &from);
        while (!ZSTD_isError(result) && result > 0 && from.pos < from.size);
        fuzz_check(result == 0, "libzstd refuses it: %s",
                   ZSTD_isError(result) ? ZSTD_getErrorName(result) : "unfinished");
        fuzz_check(from.pos == taken, "libzstd takes %zu bytes, not %zu", from.pos, taken);
        fuzz_check(to.pos == held && memcmp(decoded, expected, held) == 0,
                   "libzstd decodes %zu other bytes", to.pos);
    }
    fuzz_free(&frame);
    return 0;
}
