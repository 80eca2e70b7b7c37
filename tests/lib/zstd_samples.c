#include "config.h"

#include "lib/zstd_samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

uint64_t sample_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15U;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

static uint64_t below(uint64_t *state, uint64_t limit)
{
    return sample_random(state) % limit;
}

/* Roughly normal: enough for the bytes of numbers to look like that. */
static float normal(uint64_t *state)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += (double)(sample_random(state) >> 11) * 0x1p-53;
    return (float)sum;
}

static void put_floats(unsigned char *bytes, size_t size, uint64_t *r, unsigned kind)
{
    float level = 0;

    for (size_t i = 0; i < size; i += 4) {
        const double t = (double)i;
        float x = 0;
        uint32_t word;

        switch (kind) {
        case 0: /* normal */
            x = normal(r);
            break;
        case 1: /* a smooth field */
            x = (float)(sin(t * 1e-4) + cos(t * 3e-6));
            break;
        case 2: /* the same in steps */
            x = (float)(floor((sin(t * 1e-4) + 0.02 * normal(r)) * 100) / 100);
            break;
        case 3: /* a sensor: it stays as it is, mostly */
            if (below(r, 20) == 0)
                level += (float)((double)below(r, 3) - 1) * 0.5F;
            x = level;
            break;
        default: /* weights of 16 bits, stored as f32 */
            x = normal(r) * 0.02F;
        }
        memcpy(&word, &x, sizeof word);
        if (kind == 4)
            word &= 0xffff0000U;
        memcpy(bytes + i, &word, size - i < 4 ? size - i : 4);
    }
}

/* Bytes of a few values, and copies of what stands before, of all lengths and distances. */
static void put_copies(unsigned char *bytes, size_t size, uint64_t *r)
{
    size_t last = 1;

    for (size_t i = 0; i < size;) {
        if (i == 0 || below(r, 3) == 0) {
            size_t run = 1 + below(r, (uint64_t)1 << below(r, 8));

            for (; run > 0 && i < size; run--)
                bytes[i++] = (unsigned char)(below(r, 16) * below(r, 16));
        } else {
            size_t length = 3 + below(r, (uint64_t)1 << below(r, 12));
            size_t distance = below(r, 3) == 0 ? last : 1 + below(r, (uint64_t)1 << below(r, 20));

            if (distance > i)
                distance = 1 + below(r, i);
            last = distance;
            for (; length > 0 && i < size; length--, i++)
                bytes[i] = bytes[i - distance];
        }
    }
}

const char *sample_kind_name(unsigned kind)
{
    static const char *const names[SAMPLE_KINDS] = {"normal",  "smooth",    "steps",  "sensor",
                                                    "weights", "copies",    "text",   "zeros",
                                                    "random",  "counter16", "period", "mixture"};

    return names[kind];
}

/* Fills by any kind but the last, which is a mixture of them. */
static void fill_one(unsigned kind, unsigned char *bytes, size_t size, uint64_t seed)
{
    uint64_t r = seed;
    size_t period;

    switch (kind) {
    case 5:
        put_copies(bytes, size, &r);
        break;
    case 6:
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)"etaoin shrdlu cmfwyp"[below(&r, 20) * below(&r, 20) / 20];
        break;
    case 7:
        memset(bytes, 0, size);
        break;
    case 8:
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)sample_random(&r);
        break;
    case 9:
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)(i % 2 ? i >> 9 : i >> 1);
        break;
    case 10:
        period = 1 + below(&r, 3000);
        for (size_t i = 0; i < size; i++)
            bytes[i] = i < period ? (unsigned char)sample_random(&r) : bytes[i - period];
        break;
    default:
        put_floats(bytes, size, &r, kind);
    }
}

void sample_fill(unsigned kind, unsigned char *bytes, size_t size, uint64_t seed)
{
    uint64_t r = seed;

    if (kind < SAMPLE_KINDS - 1) {
        fill_one(kind, bytes, size, seed);
        return;
    }
    for (size_t i = 0; i < size;) {
        size_t piece = 1 + below(&r, (uint64_t)1 << below(&r, 18));

        piece = piece < size - i ? piece : size - i;
        fill_one((unsigned)below(&r, SAMPLE_KINDS - 1), bytes + i, piece, sample_random(&r));
        i += piece;
    }
}

struct sample_settings sample_settings_draw(uint64_t *r)
{
    static const int levels[] = {-5, -1, 1, 1, 2, 3, 3, 3, 4, 5, 7, 9, 12, 15, 19, 22};
    struct sample_settings s = {
        .level = levels[below(r, sizeof levels / sizeof *levels)],
        .frame = below(r, 3) == 0 ? (size_t)1 << (8 + below(r, 12)) : 0,
        .window_log = below(r, 3) == 0 ? (int)(10 + below(r, 12)) : 0,
        .target = below(r, 4) == 0 ? (int)(1400 + below(r, 20000)) : 0,
        .long_range = below(r, 6) == 0,
        .checksum = below(r, 2),
        .no_size = below(r, 3) == 0,
        .raw_literals = below(r, 8) == 0,
        .skippable = below(r, 8) == 0,
    };

    /* The largest levels take long to begin, and long distances are looked for in 128 MiB. */
    if ((s.level > 15 || s.long_range) && s.window_log == 0)
        s.window_log = 18;
    return s;
}

void sample_settings_print(const struct sample_settings *s, char *text, size_t size)
{
    snprintf(text, size,
             "level %d frame %zu window %d target %d long %d checksum %d no_size %d raw %d "
             "skippable %d",
             s->level, s->frame, s->window_log, s->target, s->long_range, s->checksum, s->no_size,
             s->raw_literals, s->skippable);
}

static size_t put_skippable(unsigned char *to)
{
    static const unsigned char frame[] = {0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3};

    memcpy(to, frame, sizeof frame);
    return sizeof frame;
}

/* A frame of these bytes, fed in two pieces where its size is not to be stated. */
static size_t compress_frame(ZSTD_CCtx *c, const struct sample_settings *s, unsigned char *to,
                             size_t room, const unsigned char *bytes, size_t size)
{
    ZSTD_outBuffer out = {to, room, 0};
    ZSTD_inBuffer in = {bytes, s->no_size ? size / 2 : size, 0};

    if (!s->no_size)
        return ZSTD_compress2(c, to, room, bytes, size);
    while (in.pos < in.size)
        if (ZSTD_isError(ZSTD_compressStream2(c, &out, &in, ZSTD_e_continue)))
            return 0;
    in.size = size;
    return ZSTD_compressStream2(c, &out, &in, ZSTD_e_end) == 0 ? out.pos : 0;
}

unsigned char *sample_compress(const unsigned char *bytes, size_t size,
                               const struct sample_settings *s, size_t *compressed)
{
    const size_t frame = s->frame > 0 && s->frame < size ? s->frame : size;
    const size_t frames = frame > 0 ? size / frame + 1 : 1;
    const size_t room = frames * (ZSTD_compressBound(frame) + 64) + size / 4;
    unsigned char *to = malloc(room);
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t at = 0, done = 0;
    bool good = to && c;

    if (good) {
        ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, s->level);
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, s->window_log);
        ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, s->checksum);
        ZSTD_CCtx_setParameter(c, ZSTD_c_enableLongDistanceMatching, s->long_range);
        ZSTD_CCtx_setParameter(c, ZSTD_c_literalCompressionMode,
                               s->raw_literals ? ZSTD_ps_disable : ZSTD_ps_auto);
        ZSTD_CCtx_setParameter(c, ZSTD_c_targetCBlockSize, s->target);
    }
    do {
        const size_t piece = size - done < frame ? size - done : frame;
        size_t taken;

        if (!good)
            break;
        if (s->skippable)
            at += put_skippable(to + at);
        taken = compress_frame(c, s, to + at, room - at, bytes + done, piece);
        good = taken > 0 && !ZSTD_isError(taken);
        at += good ? taken : 0;
        done += piece;
    } while (done < size);
    ZSTD_freeCCtx(c);
    if (!good) {
        free(to);
        return NULL;
    }
    *compressed = at;
    return to;
}

size_t sample_damage(unsigned char *bytes, size_t size, uint64_t *r)
{
    unsigned changes = 1 + (unsigned)below(r, 3);

    if (size < 8)
        return size;
    if (below(r, 20) == 0)
        return 1 + below(r, size - 1);
    for (; changes > 0; changes--) {
        /* Headers are where most can go wrong: the first bytes are hit more often. */
        const size_t at = below(r, 2) == 0 ? below(r, size) : below(r, size < 64 ? size : 64);

        switch (below(r, 4)) {
        case 0:
            bytes[at] = (unsigned char)sample_random(r);
            break;
        case 1:
            bytes[at] ^= (unsigned char)(1U << below(r, 8));
            break;
        case 2:
            bytes[at] = below(r, 2) ? 255 : 0;
            break;
        default:
            memmove(bytes + at, bytes + below(r, size), 1);
        }
    }
    return size;
}

unsigned char *sample_beyond_window(size_t *size)
{
    const struct sample_settings settings = {.level = 3, .window_log = 20, .no_size = true};
    const size_t half = 300000;
    unsigned char *plain = malloc(2 * half), *file;

    if (!plain)
        return NULL;
    sample_fill(8, plain, half, 1);
    memcpy(plain + half, plain, half);
    file = sample_compress(plain, 2 * half, &settings, size);
    free(plain);
    if (file)
        file[5] = (17 - 10) << 3; /* 128 KiB */
    return file;
}

bool sample_decompress(const unsigned char *bytes, size_t size, unsigned char **content,
                       size_t *content_size, size_t capacity)
{
    ZSTD_DCtx *d = ZSTD_createDCtx();
    ZSTD_inBuffer in = {bytes, size, 0};
    ZSTD_outBuffer out = {malloc(capacity ? capacity : 1), capacity, 0};
    size_t left = 1;
    bool good = d && out.dst;

    if (good)
        ZSTD_DCtx_setParameter(d, ZSTD_d_windowLogMax, 31);
    /* A stream is decoded as strictly as the format is; one call for all of it is less strict. */
    while (good && (in.pos < in.size || left != 0)) {
        const size_t before = in.pos + out.pos;

        left = ZSTD_decompressStream(d, &out, &in);
        good = !ZSTD_isError(left) && (in.pos + out.pos > before || left == 0);
    }
    ZSTD_freeDCtx(d);
    *content = out.dst;
    *content_size = out.pos;
    return good;
}
