/*
 * zstd: any bytes, or frames put together with lengths that lie, windows of all sizes, blocks of
 * all kinds, skippable frames and seek tables, with and without --long. A plain loop over libzstd
 * says what the content is, or that there is none; the parallel decoder of files and the serial one
 * of pipes must both agree.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Inputs whose content is longer are left out: a few bytes may hold gigabytes of one value. */
#define CONTENT_MAX ((size_t)1 << 19)

/* Most inputs have no more content and no larger windows than these, and are read without a session:
   many times as many of them run. One of WHOLE is reduced by the whole program. One of LARGE may have
   windows of any size as well. */
#define SMALL_CONTENT_MAX ((size_t)1 << 14)
#define SMALL_WINDOW_MAX ((uint64_t)1 << 20)
#define WHOLE 128
#define LARGE 2048

/* The limits of an input. */
struct limits {
    bool whole;
    size_t content;
    uint64_t window;
};

/* As the format has it. */
#define FRAME_MAGIC 0xfd2fb528
#define SKIPPABLE_MAGIC 0x184d2a50
#define SEEK_TABLE_MAGIC 0x184d2a5e
#define SEEK_TABLE_FOOTER 0x8f92eab1

static uint64_t load(const unsigned char *b, unsigned size)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < size; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): callers see to the length */
        number |= (uint64_t)b[i] << 8 * i;
    return number;
}

/*
 * The plain decoder.
 */

struct truth {
    bool good;
    bool ambiguous;            /* libzstd itself has two answers */
    bool beyond;               /* the input is beyond its limits */
    struct fuzz_bytes content; /* all, or as far as it came */
};

/* The window that a frame's header asks for; 0 where there is none. */
static uint64_t window_of(const unsigned char *b, size_t size)
{
    unsigned long long content = ZSTD_getFrameContentSize(b, size);

    if (content == ZSTD_CONTENTSIZE_ERROR || size < 6)
        return 0;
    if (b[4] & 0x20) /* a single segment */
        return content;
    return ((UINT64_C(1) << (10 + (b[5] >> 3))) >> 3) * (8 + (b[5] & 7));
}

/* Whether libzstd, given all of a frame and room for it, decodes it to something else than this, of
   the same size: a match reaches further back than the window, and what it finds there depends on
   the buffers. */
static bool differs_at_once(const unsigned char *b, size_t length, const unsigned char *content,
                            size_t size)
{
    unsigned char *other = malloc(size + 1);
    size_t got;
    bool differs;

    if (!other)
        abort();
    got = ZSTD_decompress(other, size, b, length);
    differs = got == size && memcmp(other, content, size) != 0;
    free(other);
    return differs;
}

/* Decodes one frame with content; returns where it ends, or 0. */
static size_t decode_frame(struct truth *t, const unsigned char *b, size_t size,
                           uint64_t window_most, const struct limits *limits)
{
    static ZSTD_DCtx *context;
    unsigned long long said = ZSTD_getFrameContentSize(b, size);
    ZSTD_inBuffer in = {b, 0, 0};
    size_t before = t->content.size, result = 1;

    if (!context) {
        context = ZSTD_createDCtx();
        if (!context || ZSTD_isError(ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, 31)))
            abort();
    }
    if (said == ZSTD_CONTENTSIZE_ERROR || window_of(b, size) > window_most)
        return 0;
    t->beyond |= window_of(b, size) > limits->window;
    if (t->beyond)
        return 0;
    ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
    while (result != 0) {
        /* The input comes byte by byte, for libzstd looks closely then, and all that stands before a
           damage comes out. */
        unsigned char bytes[4096];
        ZSTD_outBuffer out = {bytes, sizeof bytes, 0};
        size_t at = in.pos;

        if (in.pos == in.size && in.size < size)
            in.size++;
        result = ZSTD_decompressStream(context, &out, &in);
        fuzz_add(&t->content, bytes, out.pos);
        if (ZSTD_isError(result))
            return 0;
        if (result != 0 && out.pos == 0 && in.pos == at && in.size == size)
            return 0; /* cut off */
        t->beyond |= t->content.size > limits->content;
        if (t->beyond)
            return 0;
    }
    if (said != ZSTD_CONTENTSIZE_UNKNOWN && said != t->content.size - before)
        return 0;
    t->ambiguous |= differs_at_once(b, in.pos, t->content.data + before, t->content.size - before);
    return in.pos;
}

static void decode(struct truth *t, const unsigned char *b, size_t size, uint64_t window_most,
                   const struct limits *limits)
{
    size_t at = 0;

    while (at < size) {
        size_t left = size - at, length = 0;
        uint64_t magic = left >= 4 ? load(b + at, 4) : 0;

        if ((magic & 0xfffffff0) == SKIPPABLE_MAGIC) {
            if (left >= 8 && load(b + at + 4, 4) <= left - 8)
                length = 8 + (size_t)load(b + at + 4, 4);
        } else if (magic == FRAME_MAGIC) {
            length = decode_frame(t, b + at, left, window_most, limits);
        }
        if (length == 0)
            return;
        at += length;
    }
    t->good = size > 0;
}

/*
 * Frames out of parts.
 */

/* Up to `most` bytes from the front of the input. */
static struct fuzz_input take(struct fuzz_input *in, uint64_t most)
{
    struct fuzz_input part = {in->data, in->size < most ? in->size : (size_t)most};

    in->data += part.size;
    in->size -= part.size;
    return part;
}

static void add_skippable(struct fuzz_input *in, struct fuzz_bytes *out)
{
    uint64_t size = fuzz_below(in, 40), says = fuzz_below(in, 16) ? size : fuzz_below(in, 1u << 31);

    fuzz_add_number(out, SKIPPABLE_MAGIC + fuzz_below(in, 16), 4);
    fuzz_add_number(out, says, 4);
    memset(fuzz_grow(out, (size_t)size), 0, (size_t)size);
}

/* A table of the seekable format, which may say anything: nobody is to believe it. */
static void add_seek_table(struct fuzz_input *in, struct fuzz_bytes *out)
{
    uint64_t frames = fuzz_below(in, 8);

    fuzz_add_number(out, SEEK_TABLE_MAGIC, 4);
    fuzz_add_number(out, frames * 8 + 9, 4);
    for (uint64_t i = 0; i < 2 * frames; i++)
        fuzz_add_number(out, fuzz_odd_number(in), 4);
    fuzz_add_number(out, fuzz_below(in, 16) ? frames : fuzz_odd_number(in), 4);
    fuzz_add_number(out, 0, 1);
    fuzz_add_number(out, SEEK_TABLE_FOOTER, 4);
}

/* A frame with a header of any form, and blocks that are raw or of one byte repeated. */
static void add_frame(struct fuzz_input *in, struct fuzz_bytes *out)
{
    static const unsigned widths[] = {1, 2, 4, 8};
    struct fuzz_bytes blocks = {0};
    unsigned form = (unsigned)fuzz_below(in, 4), width;
    uint64_t count = 1 + fuzz_below(in, 4), content = 0, says;
    bool single = fuzz_flag(in);

    for (uint64_t i = 0; i < count; i++) {
        uint64_t last = i + 1 == count, kind = fuzz_below(in, 16);

        if (kind < 8) {
            struct fuzz_input part = take(in, fuzz_below(in, 64));
            fuzz_add_number(&blocks, last | part.size << 3, 3);
            fuzz_add(&blocks, part.data, part.size);
            content += part.size;
        } else if (kind < 14) {
            uint64_t size = fuzz_flag(in) ? fuzz_below(in, 64) : fuzz_below(in, (128u << 10) + 2);
            fuzz_add_number(&blocks, last | 1 << 1 | size << 3, 3);
            fuzz_add_number(&blocks, fuzz_below(in, 0x100), 1);
            content += size;
        } else { /* anything */
            struct fuzz_input part = take(in, fuzz_below(in, 32));
            fuzz_add_number(&blocks, fuzz_below(in, 1u << 24), 3);
            fuzz_add(&blocks, part.data, part.size);
        }
    }
    says = fuzz_below(in, 8) ? content : fuzz_odd_number(in);
    width = form == 0 && !single ? 0 : widths[form];
    fuzz_add_number(out, FRAME_MAGIC, 4);
    fuzz_add_number(out, form << 6 | (unsigned)single << 5 | (fuzz_below(in, 32) == 0 ? 0xc : 0),
                    1);
    if (!single)
        fuzz_add_number(out, fuzz_below(in, 4) ? 0x40 : fuzz_below(in, 0x100), 1);
    fuzz_add_number(out, width == 2 ? says - 256 : says, width);
    fuzz_add(out, blocks.data, blocks.size);
    fuzz_free(&blocks);
}

/* Adds bytes as libzstd compresses them. */
static void add_compressed(struct fuzz_input *in, struct fuzz_bytes *out)
{
    struct fuzz_input part = take(in, fuzz_below(in, 0x100));
    size_t room = ZSTD_compressBound(part.size), before = out->size;
    size_t size = ZSTD_compress(fuzz_grow(out, room), room, part.data, part.size, 1);

    if (ZSTD_isError(size))
        abort();
    out->size = before + size;
}

/* A frame of many compressed blocks: windows, and so blocks, are small. Some are damaged, or state
   another length. */
static void add_many_blocks(struct fuzz_input *in, struct fuzz_bytes *out,
                            const struct limits *limits)
{
    static ZSTD_CCtx *context;
    struct fuzz_bytes content = {0};
    struct fuzz_input part = take(in, fuzz_below(in, 0x400));
    uint64_t size = fuzz_below(in, CONTENT_MAX) % limits->content,
             state = 1 + fuzz_below(in, 0x100);
    bool sized = fuzz_flag(in);
    unsigned damages = fuzz_flag(in) ? 0 : (unsigned)fuzz_below(in, 3);
    size_t before = out->size;
    ZSTD_outBuffer to;
    ZSTD_inBuffer from;

    if (!context)
        context = ZSTD_createCCtx();
    if (!context)
        abort();
    /* Repeats what the input has, from anywhere and for any length. */
    while (content.size < size) {
        size_t begin = part.size > 0 ? (size_t)(state >> 33) % part.size : 0, most;

        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        most = 1 + (size_t)(state >> 40) % 700;
        if (part.size == 0 || state >> 60 == 0)
            fuzz_add_number(&content, state, 8);
        else
            fuzz_add(&content, part.data + begin,
                     most < part.size - begin ? most : part.size - begin);
    }
    ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, (int)fuzz_below(in, 6) - 2);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 10 + (int)fuzz_below(in, 8));
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, (int)fuzz_below(in, 2));
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, sized);
    if (sized)
        ZSTD_CCtx_setPledgedSrcSize(context, content.size);
    to = (ZSTD_outBuffer){NULL, ZSTD_compressBound(content.size) + 64, 0};
    to.dst = fuzz_grow(out, to.size);
    from = (ZSTD_inBuffer){content.data, content.size, 0};
    if (ZSTD_compressStream2(context, &to, &from, ZSTD_e_end) != 0)
        abort();
    out->size = before + to.pos;
    for (unsigned i = 0; i < damages; i++) {
        size_t most = fuzz_flag(in) && to.pos > 16 ? 16 : to.pos;

        out->data[before + fuzz_below(in, 0x100000) % most] ^=
            (unsigned char)(1u << fuzz_below(in, 8));
    }
    fuzz_free(&content);
}

static void put_together(struct fuzz_input *in, struct fuzz_bytes *out, const struct limits *limits)
{
    uint64_t count = 1 + fuzz_below(in, 12);

    for (uint64_t i = 0; i < count; i++) {
        uint64_t kind = fuzz_below(in, 32);

        if (kind < 20) {
            add_frame(in, out);
        } else if (kind < 22) {
            add_compressed(in, out);
        } else if (kind < 24) {
            add_many_blocks(in, out, limits);
        } else if (kind < 28) {
            add_skippable(in, out);
        } else if (kind < 30) {
            add_seek_table(in, out);
        } else {
            struct fuzz_input part = take(in, kind == 30 ? 8 : 0);
            fuzz_add(out, part.data, part.size);
        }
    }
    if (fuzz_below(in, 8) == 0) /* cut off */
        out->size -= (size_t)fuzz_below(in, out->size + 1);
}

/*
 * The verdicts of both decoders.
 */

/* Checks a reduction; or the elements that were read, if `reduction` is NULL. */
static void check(const struct options *options, const struct truth *truth, bool good,
                  const struct reduction *reduction, const struct fuzz_bytes *got, const char *how)
{
    static const unsigned char npy[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    struct fuzz_content content = {.bytes = truth->content.data,
                                   .size = truth->content.size,
                                   .type = options->session.input.type,
                                   .big_endian = options->session.input.order == ELEMENT_ORDER_BIG,
                                   .before = options->session.input.skip,
                                   .promised = SOURCE_UNKNOWN};
    uint64_t magic = content.size >= 4 ? load(content.bytes, 4) : 0, elements;

    if (content.size >= sizeof npy && memcmp(content.bytes, npy, sizeof npy) == 0)
        return; /* fuzz_npy is for these */
    if (magic == FRAME_MAGIC || (magic & 0xfffffff0) == SKIPPABLE_MAGIC) {
        /* Damage before the magic number is noticed only where elements are read. */
        fuzz_check(!good || (!truth->good && options->session.input.length == 0),
                   "%s: what was compressed twice is taken", how);
        return;
    }
    elements = fuzz_expect(options, &content);
    if (!truth->good) {
        /* Only what lies behind the elements asked for may be damaged unnoticed. */
        if (options->session.input.length == SOURCE_UNKNOWN ||
            elements != options->session.input.length)
            fuzz_check(!good, "%s: damaged data are taken", how);
        if (!good)
            return;
    }
    if (elements == SOURCE_UNKNOWN)
        fuzz_check(!good, "%s: what must be refused is taken", how);
    else if (reduction)
        fuzz_compare(options, &content, elements, good, reduction, how);
    else
        fuzz_compare_elements(&content, elements, good, got, how);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_bytes bytes = {0};
    struct truth truth = {0};
    struct options options;
    struct limits limits = {.content = SMALL_CONTENT_MAX, .window = SMALL_WINDOW_MAX};
    const uint32_t hash = fuzz_hash(data, size);
    const int only = hash % 2 ? FUZZ_PIPE : FUZZ_FILE; /* how a small input is read */
    bool parts = fuzz_flag(&in);
    size_t piece = 1 + (size_t)fuzz_below(&in, 0x100);

    limits.whole = hash % WHOLE == 0;
    if (limits.whole)
        limits.content = CONTENT_MAX;
    if (hash % LARGE == 0)
        limits.window = UINT64_MAX;
    fuzz_options(&in, &options);
    options.session.input.format = SOURCE_ZSTD;
    if (fuzz_below(&in, 4) == 0)
        options.session.input.length =
            fuzz_flag(&in) ? fuzz_below(&in, 0x100) : fuzz_odd_number(&in);
    if (fuzz_below(&in, 4) == 0)
        options.session.input.skip = fuzz_flag(&in) ? fuzz_below(&in, 0x100) : fuzz_odd_number(&in);
    fuzz_choose_long(&in, &options);
    /* Records of one element each, which are read from front to back. */
    if (fuzz_below(&in, 4) == 0)
        options.session.input.record = (struct source_record){
            .bytes = element_size(options.session.input.type), .elements = 1};
    if (parts)
        put_together(&in, &bytes, &limits);
    else
        fuzz_add(&bytes, in.data, in.size);

    if (piece <= bytes.size / 64) /* each piece of a pipe is two turns of a thread */
        piece = bytes.size / 64 + 1;
    decode(&truth, bytes.data, bytes.size, fuzz_window_most(&options), &limits);
    for (int way = 0; way < FUZZ_WAYS && !truth.beyond && !truth.ambiguous; way++) {
        struct fuzz_bytes got = {0};
        struct reduction reduction;
        char how[128];
        bool good;

        if (!limits.whole && way != only)
            continue;
        snprintf(how, sizeof how, "%s, pieces of %zu, %u threads, chunks of %zu",
                 fuzz_way_name((enum fuzz_way)way), piece,
                 limits.whole ? options.session.threads : 1, options.session.chunk_size);
        good = limits.whole
                   ? fuzz_reduce(&options, (enum fuzz_way)way, bytes.data, bytes.size, piece,
                                 &reduction)
                   : fuzz_read(&options, (enum fuzz_way)way, bytes.data, bytes.size, piece, &got);
        if (good || !fuzz_refused())
            check(&options, &truth, good, limits.whole ? &reduction : NULL, &got, how);
        fuzz_free(&got);
    }
    fuzz_free(&truth.content);
    fuzz_free(&bytes);
    return 0;
}
