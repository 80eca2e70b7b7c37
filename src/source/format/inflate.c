#include "config.h"

#include "source/format/inflate.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#ifdef HAVE_ZLIB
#    include <zlib.h>
const bool inflate_possible = true;
#else
const bool inflate_possible = false;
/* Without zlib the rest is compiled and never run: no array counts as compressed. */
typedef unsigned uInt;
typedef unsigned char Bytef;
typedef struct {
    const Bytef *next_in;
    Bytef *next_out;
    uInt avail_in, avail_out;
    const char *msg;
} z_stream;
enum { Z_OK, Z_STREAM_END, Z_BUF_ERROR, Z_MEM_ERROR, Z_NO_FLUSH, Z_FINISH, MAX_WBITS };
#    define z_const const
#    define inflateInit2(stream, bits) Z_MEM_ERROR
#    define inflateReset(stream) Z_MEM_ERROR
#    define inflateReset2(stream, bits) ((void)(bits), Z_MEM_ERROR)
#    define inflateEnd(stream) Z_MEM_ERROR
#    define inflate(stream, flush) Z_MEM_ERROR
#    define crc32(sum, bytes, size) 0
#endif

#ifdef HAVE_LIBDEFLATE
#    include <libdeflate.h>
const bool inflate_possible_at_once = true;
#else
const bool inflate_possible_at_once = false;
/* Without libdeflate `whole` is NULL, and what is called with it never runs. */
struct libdeflate_decompressor;
enum { LIBDEFLATE_SUCCESS };
#    define libdeflate_alloc_decompressor() NULL
#    define libdeflate_free_decompressor(z) ((void)(z))
#    define libdeflate_crc32(sum, bytes, size) ((uint32_t)crc32(sum, bytes, (uInt)(size)))
#    define FAIL(z, in, in_size, out, size, used, got) \
        ((void)(in), (void)(out), *(used) = (in_size), *(got) = (size), 1)
#    define libdeflate_zlib_decompress_ex FAIL
#    define libdeflate_deflate_decompress_ex FAIL
#    define libdeflate_gzip_decompress_ex FAIL
#endif

/* Compressed bytes that are read at a time, and the first time, when few may be wanted. */
#define PIECE ((size_t)64 << 10)
#define FIRST ((size_t)4 << 10)

/* Deflate without a header, with windows of any size. */
#define RAW_WINDOW (-15)

struct inflate {
    z_stream stream;
    struct libdeflate_decompressor
        *whole; /* for what is all in memory; NULL: zlib does that, too */
    bool ended;
    uint32_t checksum;
    uint64_t begin, offset, end; /* in the file: of the first, of what is read next, and behind the
                                    last */
    size_t piece;
    const char *error;
    unsigned char buffer[PIECE];
};

struct inflate *inflate_open(void)
{
    struct inflate *z = malloc(sizeof *z);

    if (!z)
        return NULL;
    memset(&z->stream, 0, sizeof z->stream);
    z->error = NULL;
    z->whole = libdeflate_alloc_decompressor();
    if (inflateInit2(&z->stream, RAW_WINDOW) == Z_OK)
        return z;
    inflate_close(z);
    return NULL;
}

void inflate_close(struct inflate *z)
{
    if (!z)
        return;
    (void)inflateEnd(&z->stream);
    libdeflate_free_decompressor(z->whole);
    free(z);
}

void inflate_begin(struct inflate *z, uint64_t offset, uint64_t compressed)
{
    (void)inflateReset(&z->stream);
    z->stream.avail_in = 0;
    z->ended = false;
    z->checksum = 0;
    z->begin = z->offset = offset;
    z->end = offset + compressed;
    z->piece = FIRST;
    z->error = NULL;
}

/* Reads more compressed bytes. False on failure. */
static bool refill(struct inflate *z, inflate_reader *read, void *context)
{
    const uint64_t left = z->end - z->offset;
    const size_t size = left < z->piece ? (size_t)left : z->piece;

    if (size > 0 && !read(context, z->buffer, size, z->offset))
        return false;
    z->offset += size;
    z->piece = PIECE;
    z->stream.next_in = z->buffer;
    z->stream.avail_in = (uInt)size;
    return true;
}

enum inflate_status inflate_read(struct inflate *z, inflate_reader *read, void *context,
                                 void *bytes, size_t size, size_t *got)
{
    z->stream.next_out = bytes;
    z->stream.avail_out = (uInt)size;
    *got = 0;
    while (z->stream.avail_out > 0 && !z->ended) {
        int result;

        if (z->stream.avail_in == 0 && !refill(z, read, context))
            return INFLATE_UNREAD;
        result = inflate(&z->stream, Z_NO_FLUSH);
        z->ended = result == Z_STREAM_END;
        if (result == Z_BUF_ERROR || (result == Z_OK && z->stream.avail_in == 0 &&
                                      z->offset == z->end && z->stream.avail_out > 0))
            z->error = "the compressed data are cut off";
        else if (result == Z_MEM_ERROR)
            z->error = error_no_memory;
        else if (result != Z_OK && result != Z_STREAM_END)
            z->error = z->stream.msg ? z->stream.msg : "the compressed data are damaged";
        if (z->error)
            return INFLATE_WRONG;
    }
    *got = size - z->stream.avail_out;
    z->checksum = libdeflate_crc32(z->checksum, bytes, *got);
    return INFLATE_GOOD;
}

enum inflate_status inflate_finish(struct inflate *z, inflate_reader *read, void *context,
                                   uint32_t checksum)
{
    unsigned char dropped[4096];
    enum inflate_status status;
    size_t got;

    do
        status = inflate_read(z, read, context, dropped, sizeof dropped, &got);
    while (status == INFLATE_GOOD && got == sizeof dropped);
    if (status != INFLATE_GOOD)
        return status;
    if (z->stream.avail_in > 0 || z->offset < z->end) {
        z->error = "something follows the compressed data";
    } else if (z->checksum != checksum) {
        z->error = "the checksum of this member is wrong";
        z->offset = z->begin;
    }
    return z->error ? INFLATE_WRONG : INFLATE_GOOD;
}

bool inflate_whole(struct inflate *z, const void *compressed, size_t compressed_size, void *bytes,
                   size_t size)
{
    size_t used, got;
    int result;

    if (z->whole &&
        libdeflate_zlib_decompress_ex(z->whole, compressed, compressed_size, bytes, size, &used,
                                      &got) == LIBDEFLATE_SUCCESS &&
        got == size)
        return true; /* if not, zlib tells why */
    (void)inflateReset2(&z->stream, MAX_WBITS);
    z->stream.next_in = (z_const Bytef *)(uintptr_t)compressed;
    z->stream.avail_in = (uInt)compressed_size;
    z->stream.next_out = bytes;
    z->stream.avail_out = (uInt)size;
    result = inflate(&z->stream, Z_FINISH);
    if (result == Z_STREAM_END && z->stream.avail_out == 0)
        return true;
    z->error = result == Z_MEM_ERROR                          ? error_no_memory
               : result == Z_STREAM_END                       ? "the compressed data are too short"
               : z->stream.msg                                ? z->stream.msg
               : result == Z_BUF_ERROR && z->stream.avail_out ? "the compressed data are cut off"
                                                              : "the compressed data are too long";
    return false;
}

bool inflate_recognise_gzip(const void *bytes, size_t size)
{
    const unsigned char *b = bytes;

    /* The magic has 24 bits; the level (one of 3) and the system (one of 21: zlib numbers them up to
       19, which is macOS) make it 34. Flags that must be 0, and are not, are damage. */
    return size >= 10 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8 &&
           (b[8] == 0 || b[8] == 2 || b[8] == 4) && (b[9] <= 19 || b[9] == 255);
}

bool inflate_recognise_zlib(const void *bytes, size_t size)
{
    const unsigned char *b = bytes;

    return size >= 2 && (b[0] & 0x0f) == 8 && b[0] >> 4 <= 7 && (b[1] & 0x20) == 0 &&
           (b[0] << 8 | b[1]) % 31 == 0;
}

bool inflate_at_once(struct inflate *z, const void *in, size_t in_size, void *out, size_t size,
                     uint32_t checksum)
{
    size_t used, got;

    return z->whole &&
           libdeflate_deflate_decompress_ex(z->whole, in, in_size, out, size, &used, &got) ==
               LIBDEFLATE_SUCCESS &&
           used == in_size && got == size && libdeflate_crc32(0, out, size) == checksum;
}

void inflate_begin_stream(struct inflate *z, bool gzip)
{
    (void)inflateReset2(&z->stream, gzip ? MAX_WBITS + 16 : MAX_WBITS);
    z->error = NULL;
}

bool inflate_stream(struct inflate *z, const void *in, size_t *in_size, void *out, size_t *out_size,
                    bool *ended)
{
    int result;

    z->stream.next_in = (z_const Bytef *)(uintptr_t)in;
    z->stream.avail_in = (uInt)*in_size;
    z->stream.next_out = out;
    z->stream.avail_out = (uInt)*out_size;
    result = inflate(&z->stream, Z_NO_FLUSH);
    *in_size -= z->stream.avail_in;
    *out_size -= z->stream.avail_out;
    *ended = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR)
        return true;
    z->error = result == Z_MEM_ERROR ? error_no_memory
               : z->stream.msg       ? z->stream.msg
                                     : "the compressed data are damaged";
    return false;
}

bool inflate_member(struct inflate *z, const void *in, size_t in_size, size_t *used, void *out,
                    size_t *size)
{
    bool ended;

    /* libdeflate does not verify the checksum of a header, which flag 2 says is there; zlib does. */
    if (z->whole && in_size > 3 && !(((const unsigned char *)in)[3] & 2))
        return libdeflate_gzip_decompress_ex(z->whole, in, in_size, out, *size, used, size) ==
               LIBDEFLATE_SUCCESS;
    *used = in_size;
    inflate_begin_stream(z, true);
    return inflate_stream(z, in, used, out, size, &ended) && ended;
}

const char *inflate_error(const struct inflate *z)
{
    return z->error;
}

uint64_t inflate_offset(const struct inflate *z)
{
    return z->offset - z->stream.avail_in;
}

/* A container's input as what a decoder reads from. */
static bool read_input(void *context, void *buffer, size_t size, uint64_t offset)
{
    struct container_input *in = context;

    return in->read(in, buffer, size, offset);
}

/* Ends decoding of an input, which says what is wrong if anything is. Whether nothing is. */
static bool end_input(struct container_input *in, struct inflate *z, enum inflate_status status)
{
    if (status == INFLATE_WRONG)
        (void)container_fail(in,
                             error_at(error_kind_of(z->error), inflate_offset(z), "%s", z->error));
    inflate_close(z);
    return status == INFLATE_GOOD;
}

ptrdiff_t inflate_start(struct container_input *in, uint64_t offset, uint64_t compressed,
                        void *bytes, size_t size)
{
    struct inflate *z = inflate_open();
    size_t got;

    if (!z) {
        (void)container_no_memory(in);
        return -1;
    }
    inflate_begin(z, offset, compressed);
    return end_input(in, z, inflate_read(z, read_input, in, bytes, size, &got)) ? (ptrdiff_t)got
                                                                                : -1;
}

bool inflate_verify(struct container_input *in, uint64_t offset, uint64_t compressed,
                    uint32_t checksum)
{
    struct inflate *z = inflate_open();

    if (!z)
        return container_no_memory(in);
    inflate_begin(z, offset, compressed);
    return end_input(in, z, inflate_finish(z, read_input, in, checksum));
}
