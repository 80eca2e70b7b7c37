/*
 * zstd/finder.h: frames are found in files that are made here, byte by byte, as RFC 8878 has
 * it. The expected frames are written out, or follow from how the file was made; the finder's own
 * functions say nothing about it. Every file is searched twice, mapped and read.
 */
#include "config.h"

#include "zstd/finder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/data_gen.h"
#include "lib/tap.h"

#define UNKNOWN ZSTD_UNKNOWN
#define BLOCK ((uint64_t)128 << 10) /* what a block can hold at most */

/* Files under construction. */
struct bytes {
    unsigned char *data;
    size_t size, capacity;
};

static void add(struct bytes *b, const void *data, size_t size)
{
    if (b->capacity < b->size + size) {
        unsigned char *grown = realloc(b->data, 2 * (b->size + size));

        if (!grown)
            abort();
        b->data = grown;
        b->capacity = 2 * (b->size + size);
    }
    if (size > 0)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void add_number(struct bytes *b, uint64_t number, unsigned size)
{
    unsigned char bytes[8];

    for (unsigned i = 0; i < size; i++)
        bytes[i] = (unsigned char)(number >> 8 * i);
    add(b, bytes, size);
}

static void add_zeros(struct bytes *b, size_t size)
{
    static const unsigned char zeros[4096];

    for (; size > sizeof zeros; size -= sizeof zeros)
        add(b, zeros, sizeof zeros);
    add(b, zeros, size);
}

/* A frame of raw blocks, each of `block` bytes, with a window of 8 MiB. It states `content`, in 8
   bytes, unless that is UNKNOWN. Its size: 6 + 8 (stated) + blocks * (3 + block). */
static void add_frame(struct bytes *b, uint64_t content, unsigned blocks, unsigned block)
{
    add_number(b, 0xfd2fb528, 4);
    add_number(b, content == UNKNOWN ? 0 : 0xc0, 1);
    add_number(b, 13 << 3, 1);
    if (content != UNKNOWN)
        add_number(b, content, 8);
    for (unsigned i = 0; i < blocks; i++) {
        add_number(b, (i + 1 == blocks) | block << 3, 3);
        add_zeros(b, block);
    }
}

/* A frame of run-length blocks of 128 KiB each, four bytes in the file: 6 + 8 (stated) +
   blocks * 4. */
static void add_runs(struct bytes *b, uint64_t content, unsigned blocks)
{
    add_frame(b, content, 0, 0);
    for (unsigned i = 0; i < blocks; i++) {
        add_number(b, (i + 1 == blocks) | 1 << 1 | (uint64_t)BLOCK << 3, 3);
        add_number(b, 7, 1);
    }
}

static void add_skippable(struct bytes *b, unsigned size)
{
    add_number(b, 0x184d2a53, 4);
    add_number(b, size, 4);
    add_zeros(b, size);
}

/* pzstd's, 12 bytes. */
static void add_hint(struct bytes *b, uint64_t size)
{
    add_number(b, 0x184d2a50, 4);
    add_number(b, 4, 4);
    add_number(b, size, 4);
}

/* A seek table: pairs of a frame's size and its content's. */
static void add_table(struct bytes *b, unsigned frames, const uint32_t (*entries)[2])
{
    add_number(b, 0x184d2a5e, 4);
    add_number(b, frames * 8 + 9, 4);
    for (unsigned i = 0; i < frames; i++) {
        add_number(b, entries[i][0], 4);
        add_number(b, entries[i][1], 4);
    }
    add_number(b, frames, 4);
    add_number(b, 0, 1);
    add_number(b, 0x8f92eab1, 4);
}

static struct zstd_file *open_file(const struct bytes *b)
{
    struct zstd_file *file = calloc(1, sizeof *file);
    char path[] = "/tmp/gpureduce-finder-XXXXXX";

    if (!file)
        abort();
    zstd_file_init(file);
    file->fd = mkstemp(path);
    if (file->fd < 0 || unlink(path) != 0 || write(file->fd, b->data, b->size) != (ssize_t)b->size)
        abort();
    file->size = b->size;
    file->window_log = 27;
    return file;
}

static void close_file(struct zstd_file *file)
{
    close(file->fd);
    zstd_file_destroy(file);
    free(file);
}

/* The expected result of zstd_find. */
struct step {
    struct zstd_batch batch; /* of ZSTD_FOUND, _LARGE and _REST; window does not count */
    uint64_t frame;
    enum zstd_found found;
    enum zstd_fault_kind kind; /* of ZSTD_FOUND_FAULT */
};

static bool same_batch(const struct zstd_batch *a, const struct zstd_batch *b)
{
    return a->begin == b->begin && a->end == b->end && a->content == b->content &&
           a->most == b->most && a->frame_most == b->frame_most && a->frames == b->frames &&
           a->walked == b->walked && a->hinted == b->hinted;
}

static void show(const char *what, enum zstd_found found, const struct zstd_batch *b)
{
    tap_note("%s: %d, %" PRIu64 " .. %" PRIu64 ", content %" PRIu64 ", most %" PRIu64
             ", of a frame %" PRIu64 ", %u frames%s%s",
             what, (int)found, b->begin, b->end, b->content, b->most, b->frame_most, b->frames,
             b->walked ? ", walked" : "", b->hinted ? ", hinted" : "");
}

static bool follow(const struct bytes *b, bool mapped, uint64_t small_max, unsigned workers,
                   const struct step *steps, unsigned count)
{
    struct zstd_file *file = open_file(b);
    struct zstd_finder *f = malloc(sizeof *f);
    bool good = f != NULL;

    if (good)
        zstd_finder_init(f, file, mapped ? b->data : NULL, small_max, workers);
    for (unsigned i = 0; i < count && good; i++) {
        const struct step *step = &steps[i];
        struct zstd_batch batch;
        enum zstd_found found = zstd_find(f, &batch);

        good = found == step->found;
        if (found == ZSTD_FOUND || found == ZSTD_FOUND_LARGE || found == ZSTD_FOUND_REST)
            good = good && same_batch(&batch, &step->batch);
        if (found == ZSTD_FOUND_FAULT)
            good = good && f->fault.kind == step->kind && f->fault.frame == step->frame;
        if (!good) {
            tap_note("step %u, %s", i, mapped ? "mapped" : "read");
            show("found", found, &batch);
            show("expected", step->found, &step->batch);
            if (found == ZSTD_FOUND_FAULT)
                tap_note("fault %d, frame %" PRIu64, (int)f->fault.kind, f->fault.frame);
        }
    }
    free(f);
    close_file(file);
    return good;
}

/* The file is found to hold just that, in so many steps; frees it. */
static void expect(const char *name, struct bytes *b, uint64_t small_max, unsigned workers,
                   const struct step *steps, unsigned count)
{
    tap_ok(follow(b, true, small_max, workers, steps, count) &&
               follow(b, false, small_max, workers, steps, count),
           "%s", name);
    free(b->data);
    *b = (struct bytes){0};
}

#define EXPECT(name, b, small_max, workers, ...)                                  \
    do {                                                                          \
        static const struct step steps[] = {__VA_ARGS__};                         \
        expect(name, b, small_max, workers, steps, sizeof steps / sizeof *steps); \
    } while (0)

#define END                     \
    {                           \
        .found = ZSTD_FOUND_END \
    }
#define NONE                     \
    {                            \
        .found = ZSTD_FOUND_NONE \
    }
#define FAULT(what, at)                                          \
    {                                                            \
        .found = ZSTD_FOUND_FAULT, .kind = (what), .frame = (at) \
    }
#define BATCH(found_, begin_, end_, content_, most_, frame_most_, frames_, ...) \
    {                                                                           \
        .found = (found_), .batch = {                                           \
            .begin = (begin_),                                                  \
            .end = (end_),                                                      \
            .content = (content_),                                              \
            .most = (most_),                                                    \
            .frame_most = (frame_most_),                                        \
            .frames = (frames_),                                                \
            __VA_ARGS__                                                         \
        }                                                                       \
    }
#define WALKED(...) BATCH(__VA_ARGS__, .walked = true)
#define HINTED(...) BATCH(ZSTD_FOUND, __VA_ARGS__, .hinted = true)
#define HINTED_WALKED(...) BATCH(ZSTD_FOUND, __VA_ARGS__, .walked = true, .hinted = true)

#define SMALL_MAX ((uint64_t)256 << 10)

static void check_small(void)
{
    struct bytes b = {0};

    EXPECT("an empty file", &b, SMALL_MAX, 1, END);

    add_frame(&b, 12, 1, 12); /* 29 bytes */
    EXPECT("one frame", &b, SMALL_MAX, 1, WALKED(ZSTD_FOUND, 0, 29, 12, 12, 12, 1), END, END);

    for (int i = 0; i < 10000; i++)
        add_frame(&b, 12, 1, 12);
    /* 64 KiB hold 2259 of them, a worker's share of what is left is less. */
    EXPECT("ten thousand frames, eight workers", &b, SMALL_MAX, 8,
           WALKED(ZSTD_FOUND, 0, 65511, 27108, 27108, 12, 2259),
           WALKED(ZSTD_FOUND, 65511, 131022, 27108, 27108, 12, 2259),
           WALKED(ZSTD_FOUND, 131022, 196533, 27108, 27108, 12, 2259),
           WALKED(ZSTD_FOUND, 196533, 262044, 27108, 27108, 12, 2259),
           WALKED(ZSTD_FOUND, 262044, 290000, 11568, 11568, 12, 964), END);

    add_frame(&b, 12, 1, 12);
    add_frame(&b, 8, 2, 4);       /* 28 bytes */
    add_frame(&b, UNKNOWN, 1, 4); /* 13: states nothing, so it begins a batch */
    add_frame(&b, UNKNOWN, 2, 4); /* 20 */
    add_frame(&b, 4, 1, 4);       /* 21 */
    EXPECT("frames that state their content and others", &b, SMALL_MAX, 1,
           WALKED(ZSTD_FOUND, 0, 57, 20, 20, 12, 2),
           WALKED(ZSTD_FOUND, 57, 90, UNKNOWN, 3 * BLOCK, 2 * BLOCK, 2),
           WALKED(ZSTD_FOUND, 90, 111, 4, 4, 4, 1), END);

    add_skippable(&b, 5);     /* 13 */
    add_frame(&b, 12, 1, 12); /* 29 */
    add_skippable(&b, 0);     /* 8 */
    add_frame(&b, 12, 1, 12);
    add_skippable(&b, 100); /* 108 */
    EXPECT("skippable frames around them", &b, SMALL_MAX, 1,
           WALKED(ZSTD_FOUND, 13, 79, 24, 24, 12, 2), END);

    add_skippable(&b, 5);
    EXPECT("skippable frames alone", &b, SMALL_MAX, 1, END);
}

static void check_large(void)
{
    struct bytes b = {0};

    /* 600 blocks: three end the batch before, then come 256 at a time. */
    add_frame(&b, 12, 1, 12);
    add_runs(&b, UNKNOWN, 600); /* 2406 bytes */
    add_frame(&b, 12, 1, 12);
    EXPECT("a large frame between two small ones", &b, SMALL_MAX, 1,
           WALKED(ZSTD_FOUND, 0, 29, 12, 12, 12, 1),
           WALKED(ZSTD_FOUND_LARGE, 29, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 1), NONE,
           WALKED(ZSTD_FOUND_REST, 29, 2435, UNKNOWN, 600 * BLOCK, 600 * BLOCK, 1),
           WALKED(ZSTD_FOUND, 2435, 2464, 12, 12, 12, 1), END);

    add_runs(&b, 300 * BLOCK, 300); /* 1214 */
    EXPECT("a large frame that states its content", &b, SMALL_MAX, 1,
           WALKED(ZSTD_FOUND_LARGE, 0, UNKNOWN, 300 * BLOCK, UNKNOWN, UNKNOWN, 1), NONE,
           WALKED(ZSTD_FOUND_REST, 0, 1214, 300 * BLOCK, 300 * BLOCK, 300 * BLOCK, 1), END);

    /* Three blocks are enough to know the end of this one. */
    add_frame(&b, 12, 1, 12);
    add_runs(&b, 3 * BLOCK, 3); /* 26 */
    add_runs(&b, 2 * BLOCK, 2); /* 22 */
    add_runs(&b, 2 * BLOCK, 2);
    EXPECT("a frame that is little larger than small", &b, SMALL_MAX, 1,
           WALKED(ZSTD_FOUND, 0, 29, 12, 12, 12, 1),
           WALKED(ZSTD_FOUND, 29, 55, 3 * BLOCK, 3 * BLOCK, 3 * BLOCK, 1),
           WALKED(ZSTD_FOUND, 55, 99, 4 * BLOCK, 4 * BLOCK, 2 * BLOCK, 2), END);
}

/* zstd_finder_note_end: the decoder was faster. */
static void check_note_end(void)
{
    struct bytes b = {0};
    struct zstd_file *file;
    struct zstd_finder *f = malloc(sizeof *f);
    struct zstd_batch batch;

    add_runs(&b, UNKNOWN, 10000); /* 40006 bytes */
    add_frame(&b, 12, 1, 12);
    file = open_file(&b);
    if (!f)
        abort();
    zstd_finder_init(f, file, b.data, SMALL_MAX, 1);
    tap_ok(zstd_find(f, &batch) == ZSTD_FOUND_LARGE, "a large frame");
    zstd_finder_note_end(f, 29, 100, 5);
    tap_ok(zstd_find(f, &batch) == ZSTD_FOUND_NONE, "the end of another frame is ignored");
    zstd_finder_note_end(f, 0, 40006, 10000 * BLOCK - 5);
    tap_ok(zstd_find(f, &batch) == ZSTD_FOUND_REST && batch.end == 40006 &&
               batch.most == 10000 * BLOCK && batch.content == UNKNOWN,
           "its end and content are taken from the decoder");
    tap_ok(zstd_find(f, &batch) == ZSTD_FOUND && batch.begin == 40006 && batch.end == 40035,
           "what follows is found");
    zstd_finder_note_end(f, 40006, 1, 1);
    tap_ok(zstd_find(f, &batch) == ZSTD_FOUND_END, "the end of a small frame is ignored");
    close_file(file);
    free(f);
    free(b.data);
}

/* The most content of so many bytes of blocks that were not walked: each takes four bytes or
   more. */
#define MOST(bytes) (((bytes) / 4 + 1) * BLOCK)

static void check_hints(void)
{
    struct bytes b = {0};

    /* Frames of 25 bytes, the header of which takes six. */
    for (int i = 0; i < 3; i++) {
        add_hint(&b, 25);
        add_frame(&b, UNKNOWN, 1, 16);
    }
    EXPECT("pzstd's hints, small frames", &b, 2 * MOST(19), 1,
           HINTED(12, 111, UNKNOWN, 3 * MOST(19), MOST(19), 3), END);

    for (int i = 0; i < 2; i++) {
        add_hint(&b, 25);
        add_frame(&b, UNKNOWN, 1, 16);
    }
    EXPECT("pzstd's hints, frames that may be large", &b, SMALL_MAX, 1,
           HINTED(12, 37, UNKNOWN, MOST(19), MOST(19), 1),
           HINTED(49, 74, UNKNOWN, MOST(19), MOST(19), 1), END);

    add_hint(&b, 24); /* points into the frame */
    add_frame(&b, UNKNOWN, 1, 16);
    add_hint(&b, 1000); /* and behind the end of the file */
    add_frame(&b, UNKNOWN, 1, 16);
    add_hint(&b, 0);
    add_frame(&b, UNKNOWN, 1, 16);
    EXPECT("hints that cannot be true", &b, SMALL_MAX, 1,
           WALKED(ZSTD_FOUND, 12, 111, UNKNOWN, 3 * BLOCK, BLOCK, 3), END);

    add_hint(&b, 25);
    add_skippable(&b, 3);
    add_frame(&b, UNKNOWN, 1, 16);
    EXPECT("a hint that does not stand before a frame", &b, SMALL_MAX, 1,
           WALKED(ZSTD_FOUND, 23, 48, UNKNOWN, BLOCK, BLOCK, 1), END);

    add_hint(&b, 62);         /* behind the second frame */
    add_frame(&b, 16, 1, 16); /* 33 */
    add_frame(&b, 12, 1, 12); /* 29 */
    add_frame(&b, 12, 1, 12);
    EXPECT("a hint that takes two frames for one", &b, SMALL_MAX, 1,
           HINTED_WALKED(12, 103, 28, 28, 16, 2), END);
}

static void check_tables(void)
{
    static const uint32_t good[][2] = {{25, 16}, {13, 0}, {21, 12}};
    static const uint32_t no_skippable[][2] = {{25, 16}, {21, 12}};
    static const uint32_t late_lie[][2] = {{25, 16}, {13, 0}, {20, 12}};
    static const uint32_t joined[][2] = {{59, 28}};
    static const uint32_t beyond[][2] = {{84, 28}};
    const struct {
        const char *name;
        const uint32_t (*entries)[2];
        unsigned count;
        struct step steps[3];
    } cases[] = {
        /* The last frame is small where its content is known. */
        {"a seek table", good, 3, {HINTED(0, 59, 28, 28, 16, 2), END}},
        {"a seek table without a skippable frame that is there",
         no_skippable,
         2,
         /* The first frame is known to hold 16 bytes, the last is not. */
         {HINTED(0, 25, 16, 16, 16, 1), HINTED_WALKED(38, 59, UNKNOWN, BLOCK, BLOCK, 1), END}},
        {"a seek table that lies about the last frame",
         late_lie,
         3,
         {HINTED(0, 25, 16, 16, 16, 1), HINTED_WALKED(38, 59, UNKNOWN, BLOCK, BLOCK, 1), END}},
        {"a seek table that takes all for one frame",
         joined,
         1,
         {HINTED(0, 59, 28, 28, 28, 1), END}},
        {"a seek table of a frame that ends in the table",
         beyond,
         1,
         {WALKED(ZSTD_FOUND, 0, 59, UNKNOWN, 2 * BLOCK, BLOCK, 2), END}},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes b = {0};
        unsigned count = 1;

        while (cases[i].steps[count - 1].found != ZSTD_FOUND_END)
            count++;
        add_frame(&b, UNKNOWN, 1, 16); /* 25 */
        add_skippable(&b, 5);          /* 13 */
        add_frame(&b, UNKNOWN, 1, 12); /* 21 */
        add_table(&b, cases[i].count, cases[i].entries);
        expect(cases[i].name, &b, SMALL_MAX, 1, cases[i].steps, count);
    }
}

static void check_faults(void)
{
    struct bytes b = {0};

    for (size_t cut = 1; cut < 29; cut++) {
        char name[64];
        const struct step steps[] = {WALKED(ZSTD_FOUND, 0, 29, 12, 12, 12, 1),
                                     FAULT(cut < 4 ? ZSTD_NO_FRAME : ZSTD_CUT_OFF, 29),
                                     FAULT(cut < 4 ? ZSTD_NO_FRAME : ZSTD_CUT_OFF, 29)};

        add_frame(&b, 12, 1, 12);
        add_frame(&b, 12, 1, 12);
        b.size = 29 + cut;
        snprintf(name, sizeof name, "a frame that is cut off after %zu bytes", cut);
        expect(name, &b, SMALL_MAX, 1, steps, 3);
    }

    add_skippable(&b, 5);
    add_skippable(&b, 5);
    b.size--;
    EXPECT("a skippable frame that is cut off", &b, SMALL_MAX, 1, FAULT(ZSTD_CUT_OFF, 13));

    add_frame(&b, 12, 1, 12);
    add(&b, "garbage", 7);
    add_frame(&b, 12, 1, 12);
    EXPECT("garbage between frames", &b, SMALL_MAX, 1, WALKED(ZSTD_FOUND, 0, 29, 12, 12, 12, 1),
           FAULT(ZSTD_NO_FRAME, 29));

    add_frame(&b, 12, 0, 0);
    add_number(&b, 1 | 3 << 1, 3);
    EXPECT("a block of a reserved type", &b, SMALL_MAX, 1, FAULT(ZSTD_BLOCK_TYPE, 0));

    add_frame(&b, 12, 0, 0);
    add_number(&b, 1 | 1 << 1 | (BLOCK + 1) << 3, 3);
    add_number(&b, 0, 1);
    EXPECT("a block of more than 128 KiB", &b, SMALL_MAX, 1, FAULT(ZSTD_BLOCK_SIZE, 0));

    add_runs(&b, 2 * BLOCK + 1, 2);
    EXPECT("a frame that states more than its blocks can hold", &b, SMALL_MAX, 1,
           FAULT(ZSTD_TOO_LITTLE, 0));

    add_frame(&b, 12, 1, 12);
    b.data[5] = (18 << 3) + 1; /* 288 MiB */
    EXPECT("a window that is too large", &b, SMALL_MAX, 1, FAULT(ZSTD_WINDOW, 0));
}

/* A frame of a random file. */
struct model {
    uint64_t begin, end, content, most, blocks;
};

/* Whether the finder's batches, joined, are just the frames of the model. */
static bool matches(struct zstd_finder *f, const struct model *frames, unsigned count,
                    uint64_t small_max)
{
    unsigned next = 0;
    enum zstd_found found;
    struct zstd_batch batch;

    while ((found = zstd_find(f, &batch)) != ZSTD_FOUND_END) {
        uint64_t most = 0, frame_most = 0, content = 0;

        if (found == ZSTD_FOUND_NONE)
            continue;
        if (found == ZSTD_FOUND_FAULT || next + batch.frames > count || batch.frames == 0 ||
            batch.begin != frames[next].begin)
            return false;
        if (found == ZSTD_FOUND_LARGE) {
            if (frames[next].blocks * BLOCK <= small_max || batch.frames != 1 ||
                batch.content != frames[next].content)
                return false;
            continue;
        }
        if (batch.end != frames[next + batch.frames - 1].end)
            return false;
        for (unsigned i = next; i < next + batch.frames; i++) {
            const struct model *m = &frames[i];

            if ((m->content == UNKNOWN) != (frames[next].content == UNKNOWN))
                return false;
            content = m->content == UNKNOWN ? UNKNOWN : content + m->content;
            most += m->most;
            frame_most = frame_most > m->most ? frame_most : m->most;
        }
        if (batch.content != content || batch.most != most || batch.frame_most != frame_most ||
            (batch.frames > 1 && (frame_most > small_max || batch.end - batch.begin > 4 << 20)))
            return false;
        next += batch.frames;
    }
    return next == count;
}

static void check_random(void)
{
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 11);
    for (int run = 0; run < 300; run++) {
        uint64_t small_max = (1 + rng_below(&rng, 6)) * BLOCK, scale = 1 + rng_below(&rng, 400);
        unsigned count = (unsigned)rng_below(&rng, scale);
        struct model *frames = calloc(count + 1, sizeof *frames);
        struct zstd_finder *f = malloc(sizeof *f);
        struct bytes b = {0};
        struct zstd_file *file;

        if (!frames || !f)
            abort();
        for (unsigned i = 0; i < count; i++) {
            bool stated = rng_below(&rng, 2), runs = rng_below(&rng, 8) == 0;
            unsigned blocks = 1 + (unsigned)rng_below(&rng, rng_below(&rng, 8) ? 4 : 600);
            unsigned block = 1 + (unsigned)rng_below(&rng, rng_below(&rng, 8) ? 40 : 9000);
            uint64_t content = blocks * (runs ? BLOCK : block);

            if (!runs && blocks > 8)
                block = 1 + block % 64, content = (uint64_t)blocks * block;
            if (rng_below(&rng, 8) == 0)
                add_skippable(&b, (unsigned)rng_below(&rng, 5000));
            frames[i] = (struct model){.begin = b.size,
                                       .content = stated ? content : UNKNOWN,
                                       .most = stated ? content : blocks * BLOCK,
                                       .blocks = blocks};
            if (runs)
                add_runs(&b, frames[i].content, blocks);
            else
                add_frame(&b, frames[i].content, blocks, block);
            frames[i].end = b.size;
        }
        file = open_file(&b);
        for (int mapped = 0; mapped < 2; mapped++) {
            zstd_finder_init(f, file, mapped ? b.data : NULL, small_max,
                             1 + (unsigned)rng_below(&rng, 16));
            tap_case(&family, matches(f, frames, count, small_max), "run %d, %u frames, %s", run,
                     count, mapped ? "mapped" : "read");
        }
        close_file(file);
        free(frames);
        free(f);
        free(b.data);
    }
    tap_family_end(&family, "random files: each frame is found once, in order");
}

int main(void)
{
    check_small();
    check_large();
    check_note_end();
    check_hints();
    check_tables();
    check_faults();
    check_random();
    return tap_done();
}
