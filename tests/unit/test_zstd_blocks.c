/*
 * The decoder of blocks beside libzstd: frames of many kinds of data at all levels, with content in
 * rings of several sizes, and the same frames damaged. Frames that libzstd refuses must be refused;
 * accepted ones must decode as by libzstd.
 */
#include "config.h"

#define ZSTD_STATIC_LINKING_ONLY
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/data_gen.h"
#include "lib/tap.h"
#include "lib/zstd_blocks.h"
#include "zstd/frames.h"
#include "zstd/team.h"
#include "zstd/xxh64.h"

#define CONTENT ((size_t)400000)

static unsigned char content[CONTENT], decoded[CONTENT], expected[CONTENT];
static unsigned char frame[CONTENT + (CONTENT >> 4)];

/* Kinds of content: what zstd finds in them differs. */
enum kind {
    KIND_RANDOM,    /* raw blocks */
    KIND_ZEROS,     /* runs */
    KIND_FLOATS,    /* literals, hardly a match */
    KIND_QUANTISED, /* short matches */
    KIND_SPARSE,    /* long ones, and runs of literals */
    KIND_REPEATED,  /* matches from far back, of any length */
    KIND_TEXT,      /* few literals, of short codes */
    KIND_PERIODS,   /* matches of all lengths that repeat themselves */
    KIND_PIECES,    /* matches of all lengths, from near or far, and hardly a literal */
    KIND_LONG,      /* matches and literals that do not fit 16 bits */
    KINDS
};

static void fill(enum kind kind, struct rng *r)
{
    for (size_t i = 0; i < CONTENT; i += 4) {
        uint64_t x = rng_next(r);
        uint32_t word = 0;

        switch (kind) {
        case KIND_RANDOM:
        case KIND_REPEATED:
        case KIND_PERIODS:
        case KIND_PIECES:
        case KIND_LONG:
            word = (uint32_t)x;
            break;
        case KIND_ZEROS:
        case KINDS:
            break;
        case KIND_FLOATS:
            word = 0x3f000000 | (uint32_t)(x & 0x00ffffff);
            break;
        case KIND_QUANTISED:
            word = 0x41000000 | (uint32_t)(x & 0x3f) << 16;
            break;
        case KIND_SPARSE:
            word = x % 50 == 0 ? (uint32_t)(x >> 32) : 0;
            break;
        case KIND_TEXT:
            word = (uint32_t)(x & 0x03070107) + 0x61616161;
            break;
        }
        memcpy(content + i, &word, 4);
    }
    for (size_t at = 1000; kind == KIND_REPEATED && at < CONTENT;) {
        size_t from = rng_next(r) % at, size = 3 + rng_next(r) % 2000;

        if (size > CONTENT - at)
            size = CONTENT - at;
        for (size_t i = 0; i < size; i++)
            content[at + i] = content[from + i];
        at += size + rng_next(r) % 50;
    }
    for (size_t at = 0; kind == KIND_PERIODS && at + 400 < CONTENT;) {
        const size_t period = 1 + rng_next(r) % 70, end = at + period + rng_next(r) % 300;

        for (at += period; at < end; at++)
            content[at] = content[at - period];
    }
    for (size_t at = 500; kind == KIND_PIECES && at + 200 < CONTENT;) {
        const size_t reach = rng_next(r) % 4 > 0 ? 80 : at, from = at - 1 - rng_next(r) % reach;
        const size_t size = 4 + rng_next(r) % (rng_next(r) % 4 > 0 ? 30 : 150);

        for (size_t i = 0; i < size; i++)
            content[at + i] = content[from + i];
        at += size + (rng_next(r) % 50 == 0 ? rng_next(r) % 20 : 0);
    }
    if (kind == KIND_LONG) { /* long literals, and long matches, in the same block */
        memset(content + 130000, 'x', 65000);
        memcpy(content + 235000, content + 50000, 65000);
        memcpy(content + 300100, content + 40000, 90000);
    }
}

/* Compresses the content. Returns the size of the frame. */
static size_t compress(size_t size, int level, bool plain_literals, int window_log, bool stated)
{
    static ZSTD_CCtx *c;
    size_t got;

    if (!c)
        c = ZSTD_createCCtx();
    if (!c)
        abort();
    ZSTD_CCtx_reset(c, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, stated);
    if (window_log)
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
    if (plain_literals)
        ZSTD_CCtx_setParameter(c, ZSTD_c_literalCompressionMode, ZSTD_ps_disable);
    if (!stated) { /* or it would be one segment */
        ZSTD_inBuffer in = {content, size, 0};
        ZSTD_outBuffer out = {frame, sizeof frame, 0};
        size_t left;

#ifdef ZSTD_c_srcSizeHint
        /* Or its tables would be for a long stream: clearing these takes most of the time. */
        ZSTD_CCtx_setParameter(c, ZSTD_c_srcSizeHint, (int)size);
#endif
        in.size = size / 2;
        left = ZSTD_compressStream2(c, &out, &in, ZSTD_e_flush);
        in.size = size;
        if (left == 0)
            left = ZSTD_compressStream2(c, &out, &in, ZSTD_e_end);
        if (left > 0)
            abort();
        got = out.pos;
    } else {
        got = ZSTD_compress2(c, frame, sizeof frame, content, size);
    }
    if (ZSTD_isError(got))
        abort();
    return got;
}

/* Whether the decoder of blocks makes of the frame what it was. */
static bool comes_back(size_t size, size_t content_size, enum zstd_blocks_literals how,
                       size_t ahead)
{
    size_t held, taken;

    memset(decoded, 0xa5, sizeof decoded);
    taken = zstd_blocks_decode(frame, size, how, ahead, decoded, sizeof decoded, &held);
    return taken == size && held == content_size && memcmp(decoded, content, held) == 0;
}

/* `level`: the highest one. */
static void check_levels(struct rng *r, int level)
{
    static const char *const names[KINDS] = {"random",   "zeros", "floats",  "quantised", "sparse",
                                             "repeated", "text",  "periods", "pieces",    "long"};
    static const int levels[] = {-50, -5, 1, 3, 6, 13, 19, 22};

    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct tap_family family = {0};

        fill((enum kind)kind, r);
        for (unsigned i = 0; i < sizeof levels / sizeof *levels && levels[i] <= level; i++) {
            size_t part = levels[i] < 10 ? CONTENT : CONTENT / 2;
            size_t size = compress(part, levels[i], false, 0, true);

            for (int how = ZSTD_BLOCKS_TOGETHER; how <= ZSTD_BLOCKS_IN_TURNS; how++)
                tap_case(&family, comes_back(size, part, (enum zstd_blocks_literals)how, 0),
                         "level %d, way %d", levels[i], how);
            /* A small window makes a small ring: runs end, and matches reach the one before. Fewer
               frames of levels for which libzstd takes long are enough. */
            if (levels[i] > 13 && kind != KIND_LONG)
                part /= 3;
            for (int log = 10; log <= 18; log += 4) {
                size = compress(part, levels[i], i % 2, log, false);
                for (int how = ZSTD_BLOCKS_TOGETHER; how <= ZSTD_BLOCKS_IN_TURNS; how++)
                    tap_case(
                        &family,
                        comes_back(size, part, (enum zstd_blocks_literals)how, rng_next(r) % 10000),
                        "level %d, window 2^%d, way %d", levels[i], log, how);
            }
        }
        tap_family_end(&family, "%s data", names[kind]);
    }
}

static void check_sizes(struct rng *r)
{
    struct tap_family family = {0};

    for (unsigned kind = 0; kind < KINDS; kind++) {
        fill((enum kind)kind, r);
        for (unsigned i = 0; i < 60; i++) {
            size_t part = i < 20 ? i : rng_next(r) % 20000;
            int level = (int)(rng_next(r) % 20) - 3;
            size_t size = compress(part, level, false, 0, true);

            tap_case(&family, comes_back(size, part, ZSTD_BLOCKS_IN_TURNS, 0),
                     "kind %u, %zu bytes, level %d", kind, part, level);
        }
    }
    tap_family_end(&family, "content of any size");
}

/* Whether libzstd takes the frame too, and holds the same. */
static bool libzstd_agrees(ZSTD_DCtx *d, size_t size, size_t taken, size_t held)
{
    ZSTD_inBuffer in = {frame, size, 0};
    ZSTD_outBuffer out = {expected, sizeof expected, 0};
    size_t result;

    ZSTD_DCtx_reset(d, ZSTD_reset_session_only);
    do
        result = ZSTD_decompressStream(d, &out, &in);
    while (!ZSTD_isError(result) && result > 0 && in.pos < in.size);
    return result == 0 && in.pos == taken && out.pos == held &&
           memcmp(decoded, expected, held) == 0;
}

static void check_damage(struct rng *r)
{
    struct tap_family family = {0};
    ZSTD_DCtx *d = ZSTD_createDCtx();
    unsigned long refused = 0;

    /* A bit that is turned may ask for one. */
    ZSTD_DCtx_setParameter(d, ZSTD_d_forceIgnoreChecksum, ZSTD_d_ignoreChecksum);

    for (unsigned kind = 0; kind < KINDS; kind++) {
        fill((enum kind)kind, r);
        for (unsigned i = 0; i < 300; i++) {
            size_t part = 1 + rng_next(r) % 6000;
            size_t size = compress(part, (int)(rng_next(r) % 20) - 3, false,
                                   rng_next(r) % 2 ? 10 : 0, rng_next(r) % 2);
            size_t taken, held, cut = rng_next(r) % 4 == 0 ? rng_next(r) % size : 0;

            for (uint64_t n = rng_next(r) % 4 + (cut == 0); n > 0; n--) {
                size_t at = (rng_next(r) % 2 ? size : size < 40 ? size : 40);
                frame[rng_next(r) % at] ^= (unsigned char)(1u << rng_next(r) % 8);
            }
            size -= cut;
            taken = zstd_blocks_decode(frame, size, ZSTD_BLOCKS_IN_TURNS, 0, decoded,
                                       sizeof decoded, &held);
            refused += taken == 0;
            tap_case(&family, taken == 0 || libzstd_agrees(d, size, taken, held),
                     "kind %u, case %u, %zu bytes of content", kind, i, part);
        }
    }
    ZSTD_freeDCtx(d);
    tap_family_end(&family, "what is damaged is refused, or is what libzstd makes of it");
    tap_ok(refused > 500, "%lu of these are refused", refused);
}

/* The checksum that libzstd writes behind a frame with `size` bytes of content. */
static uint32_t written_checksum(size_t size)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t got;

    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    got = ZSTD_compress2(c, frame, sizeof frame, content, size);
    ZSTD_freeCCtx(c);
    if (ZSTD_isError(got))
        abort();
    return zstd_load32(frame + got - 4);
}

static void check_checksums(struct rng *r)
{
    struct tap_family family = {0};

    fill(KIND_RANDOM, r);
    for (size_t size = 0; size < 300; size++) {
        struct xxh64 x;

        xxh64_begin(&x);
        for (size_t at = 0, piece; at < size; at += piece) {
            piece = 1 + rng_next(r) % 70;
            piece = piece < size - at ? piece : size - at;
            xxh64_add(&x, content + at, piece);
        }
        tap_case(&family, (uint32_t)xxh64_end(&x) == written_checksum(size), "%zu bytes", size);
    }
    tap_family_end(&family, "checksums, in pieces of any size");
}

/* Runs this program by the instructions of older processors, where glibc can hide the newer ones. */
static bool older_passes(char *program)
{
    char *const words[] = {program, (char[]){"older"}, NULL};
    posix_spawn_file_actions_t files;
    pid_t pid = 0;
    int status = 1;
    bool good =
        setenv("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512_VBMI2", 1) == 0 &&
        posix_spawn_file_actions_init(&files) == 0 &&
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0;

    good = good && posix_spawn(&pid, program, &files, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    return good && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
    struct rng r;

    rng_seed(&r, 13);
    if (argc > 1) {
        check_levels(&r, 3);
        return tap_done();
    }
    check_levels(&r, 22);
    tap_ok(older_passes(argv[0]), "levels up to 3 without VBMI2");
    check_sizes(&r);
    check_damage(&r);
    check_checksums(&r);
    return tap_done();
}
