#include "config.h"

#include "source/format/codec.h"

#include <stdlib.h>
#include <zstd.h>

#include "core/error.h"
#include "source/format/inflate.h"
#include "source/format/lz.h"
#include "sys/mapping.h"

struct codec_memory {
    struct inflate *inflate;
    ZSTD_DCtx *zstd;
    struct mapping_room room;
};

struct codec_memory *codec_open(void)
{
    return calloc(1, sizeof(struct codec_memory));
}

void codec_close(struct codec_memory *m)
{
    if (!m)
        return;
    inflate_close(m->inflate);
    ZSTD_freeDCtx(m->zstd);
    free(m->room.bytes);
    free(m);
}

unsigned char *codec_room(struct codec_memory *m, size_t size)
{
    return mapping_room_take(&m->room, size) ? m->room.bytes : NULL;
}

/* Decompresses a stream of zlib, or members of gzip. */
static const char *decode_deflated(struct codec_memory *m, bool gzip, const unsigned char *from,
                                   size_t size, unsigned char *to, size_t out)
{
    if (!inflate_possible)
        return "compressed by zlib, without which this program was built";
    if (!m->inflate)
        m->inflate = inflate_open();
    if (!m->inflate)
        return error_no_memory;
    if (!gzip)
        return inflate_whole(m->inflate, from, size, to, out) ? NULL : inflate_error(m->inflate);
    while (size > 0) {
        size_t used, got = out;

        if (!inflate_member(m->inflate, from, size, &used, to, &got))
            return "the gzip data are damaged";
        from += used;
        size -= used;
        to += got;
        out -= got;
    }
    return out == 0 ? NULL : "the compressed data are too short";
}

static const char *decode_zstd(struct codec_memory *m, const unsigned char *from, size_t size,
                               unsigned char *to, size_t out)
{
    size_t result;

    if (!m->zstd)
        m->zstd = ZSTD_createDCtx();
    if (!m->zstd)
        return error_no_memory;
    result = ZSTD_decompressDCtx(m->zstd, to, out, from, size);
    return ZSTD_isError(result) ? ZSTD_getErrorName(result)
           : result == out      ? NULL
                                : "the compressed data are too short";
}

const char *codec_decode(struct codec_memory *m, enum codec codec, const unsigned char *from,
                         size_t size, unsigned char *to, size_t out)
{
    switch (codec) {
    case CODEC_ZLIB:
    case CODEC_GZIP:
        return decode_deflated(m, codec == CODEC_GZIP, from, size, to, out);
    case CODEC_ZSTD:
        return decode_zstd(m, from, size, to, out);
    case CODEC_LZ4:
        return lz_decode_lz4(from, size, to, out) ? NULL : "the LZ4 data are damaged";
    case CODEC_LZF:
        return lz_decode_lzf(from, size, to, out) ? NULL : "the LZF data are damaged";
    case CODEC_BLOSCLZ:
        return lz_decode_blosclz(from, size, to, out) ? NULL : "the BloscLZ data are damaged";
    case CODEC_SNAPPY:
        return lz_decode_snappy(from, size, to, out) ? NULL : "the Snappy data are damaged";
    }
    return NULL;
}
