/*
 * A whole reduction of a byte string: raw or with a .npy header, compressed or not, with frames cut
 * anywhere, with any type, byte order, --skip, --length, --long, NaN policy, chunk size, threads
 * and instruction set, against the plain reference. Compressed data are read from a file, from
 * standard input and from a pipe, which must agree; others in one of these ways.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Contents grow to this by repetition: beyond the limit from which files are mapped. */
#define CONTENT_MAX ((size_t)48 << 10)

/* Whether auto would take raw content for something else. */
static bool looks_special(const unsigned char *b, size_t size)
{
    static const unsigned char npy[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};

    return (size >= 6 && memcmp(b, npy, 6) == 0) || (size >= 4 && memcmp(b, zstd, 4) == 0) ||
           (size >= 4 && (b[0] & 0xf0) == 0x50 && memcmp(b + 1, "\x2a\x4d\x18", 3) == 0);
}

/* The bytes of the content: what is left of the input, maybe many times. */
static void fill(struct fuzz_input *in, struct fuzz_bytes *content)
{
    size_t times = 1;

    if (in->size > 0 && fuzz_below(in, 4) == 0)
        times = 1 + (size_t)fuzz_below(in, 0x10000);
    do
        fuzz_add(content, in->data, in->size);
    while (--times > 0 && in->size > 0 && content->size < CONTENT_MAX);
}

/* Puts a .npy header before the data, which promises about as much as there is. */
static void add_header(struct fuzz_input *in, struct fuzz_bytes *bytes,
                       struct fuzz_content *content, size_t data_size)
{
    const char *name = element_names[content->type].numpy[0];
    uint64_t promised = data_size / element_size(content->type);
    size_t padding = (size_t)fuzz_below(in, 100);
    bool first = fuzz_flag(in);
    char text[256];

    switch (fuzz_below(in, 4)) {
    case 0:
        promised -= promised ? fuzz_below(in, promised) % 8 : 0;
        break;
    case 1:
        promised += fuzz_below(in, 4);
        break;
    }
    snprintf(text, sizeof text,
             "{'descr': '%c%s', 'fortran_order': False, 'shape': (%" PRIu64 ",), }%*s\n",
             content->big_endian ? '>' : '<', name, promised, (int)padding, "");
    fuzz_add(bytes, "\x93NUMPY", 6);
    fuzz_add_number(bytes, first ? 1 : 2, 2);
    fuzz_add_number(bytes, strlen(text), first ? 2 : 4);
    fuzz_add(bytes, text, strlen(text));
    content->before = bytes->size;
    content->promised = promised;
}

/* A skippable frame. */
static void add_skippable(struct fuzz_input *in, struct fuzz_bytes *out)
{
    size_t size = (size_t)fuzz_below(in, 64);

    fuzz_add_number(out, 0x184d2a50 + fuzz_below(in, 16), 4);
    fuzz_add_number(out, size, 4);
    memset(fuzz_grow(out, size), 0x28, size);
}

/* Has a frame ask for a larger window than it needs, by the byte of its header: 1 MiB and more, the
   limits of --long and what lies just behind them, and 3.75 TiB. A single segment has no such byte.
 */
static void enlarge_window(struct fuzz_input *in, unsigned char *frame)
{
    static const unsigned char windows[] = {80, 87, 136, 137, 144, 168, 169, 255};
    unsigned char window = windows[fuzz_below(in, sizeof windows)];

    if (!(frame[4] & 0x20) && window > frame[5])
        frame[5] = window;
}

/* The window that a frame's header asks for. */
static uint64_t window_of(const unsigned char *frame, size_t content)
{
    if (frame[4] & 0x20)
        return content;
    return ((UINT64_C(1) << (10 + (frame[5] >> 3))) >> 3) * (8 + (frame[5] & 7));
}

/* Adds the data as a frame, and returns its window. */
static uint64_t add_frame(struct fuzz_input *in, struct fuzz_bytes *out, const unsigned char *data,
                          size_t size)
{
    static ZSTD_CCtx *context;
    ZSTD_inBuffer input = {data, size, 0};
    ZSTD_outBuffer output;
    size_t before = out->size, room = ZSTD_compressBound(size) + 64;

    if (!context)
        context = ZSTD_createCCtx();
    if (!context)
        abort();
    ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, fuzz_flag(in) ? 1 : -50);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, fuzz_flag(in));
    /* Without it the frame does not say how long it is. */
    if (fuzz_flag(in))
        ZSTD_CCtx_setPledgedSrcSize(context, size);
    output = (ZSTD_outBuffer){fuzz_grow(out, room), room, 0};
    if (ZSTD_compressStream2(context, &output, &input, ZSTD_e_continue) != 0 && fuzz_flag(in))
        ZSTD_compressStream2(context, &output, &input, ZSTD_e_flush);
    if (ZSTD_compressStream2(context, &output, &input, ZSTD_e_end) != 0)
        abort();
    out->size = before + output.pos;
    if (fuzz_below(in, 16) == 0)
        enlarge_window(in, out->data + before);
    return window_of(out->data + before, size);
}

/* Compresses in frames of any length, or of that of whole elements, with others between them.
   Returns the largest window. */
static uint64_t compress(struct fuzz_input *in, struct fuzz_bytes *out,
                         const struct fuzz_bytes *bytes, size_t element)
{
    bool whole = fuzz_flag(in);
    uint64_t window, largest = 0;
    size_t done = 0;

    do {
        size_t left = bytes->size - done;
        size_t size = fuzz_below(in, 8) == 0 ? left : (size_t)fuzz_below(in, 0x4000);

        if (whole)
            size *= element;
        if (size > left || out->size > 2 * CONTENT_MAX)
            size = left;
        if (fuzz_below(in, 8) == 0)
            add_skippable(in, out);
        window = add_frame(in, out, bytes->data + done, size);
        if (largest < window)
            largest = window;
        done += size;
    } while (done < bytes->size);
    if (fuzz_below(in, 8) == 0)
        add_skippable(in, out);
    return largest;
}

/* Reduces in one way and compares. `window` is the largest that a frame asks for. */
static bool reduce(const struct options *options, enum fuzz_way way, const struct fuzz_bytes *bytes,
                   size_t piece, uint64_t window, const struct fuzz_content *content)
{
    uint64_t elements = fuzz_expect(options, content);
    bool large = window > fuzz_window_most(options), good;
    struct reduction reduction;
    char how[256];

    snprintf(how, sizeof how, "%s%s from a %s, pieces of %zu, %u threads, chunks of %zu",
             window ? "compressed " : "", content->promised != SOURCE_UNKNOWN ? ".npy" : "raw",
             fuzz_way_name(way), piece, options->session.threads, options->session.chunk_size);
    good = fuzz_reduce(options, way, bytes->data, bytes->size, piece, &reduction);
    if (!good && fuzz_refused()) {
        fuzz_check(options->session.input.format == SOURCE_AUTO &&
                       content->promised == SOURCE_UNKNOWN,
                   "%s: refused as foreign in spite of its format", how);
        return false;
    }
    /* Only what lies behind the elements asked for may have too large a window. */
    if (large && (!good || options->session.input.length == SOURCE_UNKNOWN)) {
        fuzz_check(!good, "%s: a window of %" PRIu64 " bytes is taken", how, window);
        return false;
    }
    /* If no elements are asked for, a frame that is too large is not decoded, so that not even the
       header of a .npy is known. */
    if (large && options->session.input.length == 0)
        return good;
    if (elements == SOURCE_UNKNOWN)
        fuzz_check(!good, "%s: what must be refused is taken", how);
    else
        fuzz_compare(options, content, elements, good, &reduction, how);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_bytes raw = {0}, bytes = {0}, compressed = {0};
    struct fuzz_content content = {.promised = SOURCE_UNKNOWN};
    struct options options;
    enum fuzz_way way = (enum fuzz_way)fuzz_below(&in, FUZZ_WAYS);
    bool header = fuzz_flag(&in), in_zstd = fuzz_flag(&in), good;
    size_t piece = 1 + (size_t)fuzz_below(&in, 0x2000);
    uint64_t window = 0;

    fuzz_options(&in, &options);
    if (fuzz_flag(&in))
        options.session.input.length =
            fuzz_flag(&in) ? fuzz_below(&in, 0x8000) : fuzz_odd_number(&in);
    if (fuzz_flag(&in))
        options.session.input.skip = fuzz_flag(&in) ? fuzz_below(&in, 0x100) : fuzz_odd_number(&in);
    if (in_zstd)
        fuzz_choose_long(&in, &options);
    content.type = options.session.input.type;
    content.big_endian = options.session.input.order == ELEMENT_ORDER_BIG;
    /* NumPy has no such types. */
    header &= content.type != ELEMENT_BF16 && content.type != ELEMENT_F8E4M3 &&
              content.type != ELEMENT_F8E5M2;

    if (header) {
        /* The type of raw input means nothing then. */
        options.session.input.type = (enum element_type)fuzz_below(&in, ELEMENT_TYPES);
        fill(&in, &raw);
        add_header(&in, &bytes, &content, raw.size);
        fuzz_add(&bytes, raw.data, raw.size);
    } else {
        fill(&in, &bytes);
        content.before = options.session.input.skip;
        if (looks_special(bytes.data, bytes.size)) {
            options.session.input.format = in_zstd ? SOURCE_RAW_ZSTD : SOURCE_RAW;
        }
    }
    content.bytes = bytes.data;
    content.size = bytes.size;
    if (in_zstd)
        window = compress(&in, &compressed, &bytes, element_size(content.type));

    good = reduce(&options, way, in_zstd ? &compressed : &bytes, piece, window, &content);
    for (int i = 0; in_zstd && i < FUZZ_WAYS; i++) {
        enum fuzz_way other = (enum fuzz_way)i;

        if (other != way)
            fuzz_check(reduce(&options, other, &compressed, piece, window, &content) == good,
                       "a %s is taken, a %s is not, or the other way round", fuzz_way_name(way),
                       fuzz_way_name(other));
    }
    fuzz_free(&compressed);
    fuzz_free(&bytes);
    fuzz_free(&raw);
    return 0;
}
