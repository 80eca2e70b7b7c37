/*
 * source_cut, and the parts of zstd files that it cuts: whatever the frames are and wherever the
 * file is cut, the parts together hand out each element once, with its index, or one of them fails.
 * The expected elements are the bytes that the files were made of. Files are random: frames that
 * state what they hold or do not, seek tables and hints, true ones and lies, elements that are torn
 * between frames, headers of .npy, damage.
 *
 * From the environment: CHECK_SHARE; see lib/share.h.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "cli/message.h"
#include "lib/allocate.h"
#include "lib/data_gen.h"
#include "lib/share.h"
#include "lib/tap.h"
#include "source/source.h"

#define WORKERS 3
#define BUFFER ((size_t)256 << 10)
#define NPY_HEADER 80

static char directory[] = "/tmp/gpureduce-cut-XXXXXX", path[64];

/* The parts of a file, and the file. */
struct sample {
    unsigned char *content; /* that it holds */
    size_t size;
    unsigned char *file;
    size_t used, room;
    uint32_t table[2 * 4096]; /* of the seek table */
    size_t entries;
    size_t boundaries[4096]; /* offsets where frames end that have content */
    unsigned frames;
};

struct kind {
    bool stated;   /* frames state what they hold */
    bool torn;     /* frames end anywhere */
    bool between;  /* there are skippable and empty frames */
    bool hints;    /* each frame has one before it, as pzstd writes them */
    bool table;    /* there is a seek table */
    bool lie;      /* an entry of the table, or a hint, is wrong */
    bool damage;   /* a byte of some frame is wrong */
    size_t most;   /* bytes of content of a frame, at most */
    size_t frames; /* about so many */
    bool npy;
    uint64_t skip, length;
};

static void put(struct sample *s, const void *bytes, size_t size)
{
    if (!s->file || s->used + size > s->room) {
        s->room = 2 * (s->used + size);
        s->file = realloc(s->file, s->room);
        if (!s->file)
            bail("memory");
    }
    memcpy(s->file + s->used, bytes, size);
    s->used += size;
}

static void put32(struct sample *s, uint32_t x)
{
    const unsigned char b[4] = {x & 255, x >> 8 & 255, x >> 16 & 255, x >> 24};

    put(s, b, sizeof b);
}

static void note(struct sample *s, size_t size, size_t content)
{
    s->table[2 * s->entries] = (uint32_t)size;
    s->table[2 * s->entries++ + 1] = (uint32_t)content;
    if (content > 0)
        s->boundaries[s->frames++] = s->used;
}

static void put_skippable(struct sample *s, struct rng *rng)
{
    uint32_t size = (uint32_t)rng_below(rng, 20);

    if (size == 4) /* it might be taken for a hint */
        size = 5;
    put32(s, 0x184d2a50u + (uint32_t)rng_below(rng, 14));
    put32(s, size);
    put(s, s->content, size);
    note(s, 8 + size, 0);
}

/* A frame of content from `begin` on. */
static void put_frame(struct sample *s, const struct kind *k, struct rng *rng, ZSTD_CCtx *context,
                      size_t begin, size_t size, bool lie)
{
    const size_t room = ZSTD_compressBound(size) + 64;
    ZSTD_outBuffer out = {allocate(room), room, 0};
    ZSTD_inBuffer in = {s->content + begin, size, 0};

    ZSTD_CCtx_reset(context, ZSTD_reset_session_only);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    if (k->stated)
        ZSTD_CCtx_setPledgedSrcSize(context, size);
    else
        (void)ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);
    if (ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) != 0)
        bail("ZSTD_compressStream2");
    if (k->hints) {
        put32(s, 0x184d2a50u);
        put32(s, 4);
        put32(s, (uint32_t)out.pos + (lie && !k->table ? (uint32_t)rng_below(rng, 40) : 0));
        note(s, 12, 0);
    }
    put(s, out.dst, out.pos);
    note(s, out.pos, size);
    free(out.dst);
}

/* Makes one entry wrong: its content, or its size and that of the next; or takes two as one. */
static void spoil(struct sample *s, struct rng *rng)
{
    const size_t i = (size_t)rng_below(rng, s->entries - 1);
    uint32_t *a = &s->table[2 * i], *b = a + 2;

    switch (rng_below(rng, 4)) {
    case 0:
        a[1] += (uint32_t)rng_below(rng, 9) - 4;
        break;
    case 1:
        a[0] += 4;
        b[0] -= 4;
        break;
    case 2:
        a[1] += 4;
        b[1] -= 4;
        break;
    default:
        a[0] += b[0];
        memmove(b, b + 2, (s->entries - i - 2) * 2 * sizeof *b);
        s->entries--;
    }
}

static void make(struct sample *s, const struct kind *k, struct rng *rng)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    const size_t least = k->npy ? NPY_HEADER : 1;
    const unsigned liar = (unsigned)rng_below(rng, k->frames + 1);
    size_t begin = 0;

    *s = (struct sample){.size = 0};
    if (!context)
        bail("memory");
    s->size = least + (size_t)rng_below(rng, k->most * k->frames);
    s->size -= k->npy ? (s->size - NPY_HEADER) % 4 : (s->size - k->skip % 4) % 4;
    if (s->size < k->skip)
        s->size = (size_t)k->skip;
    s->content = allocate(s->size);
    for (size_t i = 0; i < s->size; i++)
        s->content[i] = (unsigned char)(rng_below(rng, 4) ? i / 3 : rng_next(rng));
    if (k->npy) {
        char text[128];

        snprintf(text, sizeof text,
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu,), }%30s",
                 (s->size - NPY_HEADER) / 4, "");
        text[69] = '\n';
        memcpy(s->content, "\x93NUMPY\1\0\106\0", 10);
        memcpy(s->content + 10, text, 70);
    }
    for (unsigned i = 0; begin < s->size; i++) {
        size_t size = 1 + (size_t)rng_below(rng, k->most);

        if (!k->torn)
            size = (size + 3) / 4 * 4;
        if (size > s->size - begin || s->frames > 1000)
            size = s->size - begin;
        if (k->between && rng_below(rng, 3) == 0)
            put_skippable(s, rng);
        if (k->between && rng_below(rng, 3) == 0)
            put_frame(s, k, rng, context, begin, 0, false);
        put_frame(s, k, rng, context, begin, size, k->lie && i == liar);
        begin += size;
    }
    if (k->between)
        put_skippable(s, rng);
    if (k->damage) /* not of a header: that would be no zstd file */
        s->file[20 + rng_below(rng, s->used - 20)] ^= (unsigned char)(1 + rng_below(rng, 255));
    if (k->table) {
        if (k->lie && s->entries > 2)
            spoil(s, rng);
        put32(s, 0x184d2a5eu);
        put32(s, (uint32_t)(8 * s->entries + 9));
        for (size_t i = 0; i < 2 * s->entries; i++)
            put32(s, s->table[i]);
        put32(s, (uint32_t)s->entries);
        put(s, "", 1);
        put32(s, 0x8f92eab1u);
    }
    ZSTD_freeCCtx(context);
}

static void sample_free(struct sample *s)
{
    free(s->content);
    free(s->file);
}

static void write_file(const struct sample *s)
{
    FILE *file = fopen(path, "w");

    if (!file || fwrite(s->file, 1, s->used, file) != s->used || fclose(file) != 0)
        bail(path);
}

/*
 * Reading.
 */

/* The elements that came, and how often. */
struct seen {
    const unsigned char *data; /* the elements that should */
    uint64_t count;
    unsigned char *times;
    const char *wrong; /* first, where no part fails */
    uint64_t of;
};

/* Reads a part once. `seen` counts only if it is complete. */
static enum source_verdict read_once(const struct source_options *options, struct seen *seen,
                                     unsigned workers)
{
    static _Alignas(64) unsigned char buffers[WORKERS][BUFFER];
    struct error error;
    struct source *s = source_open(path, options, workers, &error);
    const struct source_info *info;
    unsigned char *times;
    uint64_t count = 0;
    enum source_verdict verdict;
    enum source_status status = SOURCE_CHUNK;

    if (!s)
        return SOURCE_BROKEN;
    info = source_info(s);
    times = calloc((size_t)seen->count + 1, 1);
    if (!times)
        bail("memory");
    for (unsigned i = 0; status == SOURCE_CHUNK; i = (i + 1) % workers) {
        const struct chunk_request request = {.worker = i,
                                              .buffer = buffers[i],
                                              .size = 4096 + (size_t)i * 100,
                                              .borrow = i == 1,
                                              .in_place = i == 1 ? 65536 : 0};
        struct chunk chunk;
        uint64_t first;

        status = source_next(s, &request, &chunk);
        if (status != SOURCE_CHUNK)
            break;
        first = chunk.index; /* parts have true positions */
        count += chunk.count;
        if (first > seen->count || chunk.count > seen->count - first) {
            seen->wrong = "an element that there is not";
        } else {
            if (memcmp(chunk.data, seen->data + 4 * first, 4 * chunk.count) != 0)
                memset(times + first, 100, chunk.count);
            for (uint64_t j = first; j < first + chunk.count; j++)
                times[j]++;
        }
        source_release(s, i, &chunk);
    }
    verdict = source_finish(s);
    if (verdict == SOURCE_COMPLETE) {
        for (uint64_t i = 0; i < seen->count; i++)
            seen->times[i] = (unsigned char)(seen->times[i] + times[i]);
        if (options->part.cut && (!info->cut || count != info->elements - info->first))
            seen->wrong = "not as many as were stated";
        if (options->part.cut && seen->of != SOURCE_UNKNOWN && seen->of != info->of)
            seen->wrong = "of another number in all";
        if (options->part.cut)
            seen->of = info->of;
    }
    free(times);
    source_close(s);
    return verdict;
}

static enum source_verdict read_part(struct source_options options, struct seen *seen,
                                     unsigned workers)
{
    enum source_verdict verdict = read_once(&options, seen, workers);

    if (verdict != SOURCE_REREAD)
        return verdict;
    options.in_order = true;
    return read_once(&options, seen, workers);
}

/* Reads the file in so many parts. *parts: those that there were; *cut: it was cut; *broken: parts
   failed. Returns what is wrong, or NULL. */
static const char *read_parts(const struct sample *s, const struct kind *k, unsigned of,
                              unsigned workers, bool *cut, unsigned *parts, unsigned *broken)
{
    const uint64_t offset = k->npy ? NPY_HEADER : k->skip;
    struct seen seen = {.data = s->content + offset, .of = SOURCE_UNKNOWN};
    struct source_options options = {.type = ELEMENT_F32, .skip = k->skip, .length = k->length};
    static struct error why;
    const char *gap = NULL;
    uint64_t at = 0;

    seen.count = (s->size - offset) / 4;
    if (seen.count > k->length)
        seen.count = k->length;
    seen.times = calloc((size_t)seen.count + 1, 1);
    if (!seen.times)
        bail("memory");
    *parts = *broken = 0;
    *cut = true;
    for (unsigned i = 0; i < of && *cut; i++) {
        struct source_part *part = &options.part;

        *part = (struct source_part){.begin = s->used * i / of,
                                     .end = i + 1 < of ? s->used * (i + 1) / of : UINT64_MAX};
        if (!source_cut(path, &options, part, cut, &why))
            gap = why.text;
        if (!*cut) {
            if (i > 0)
                gap = "cut for some and not for others";
            continue;
        }
        if (part->begin != at)
            gap = "there is a gap between parts";
        at = part->end;
        if (part->begin == part->end)
            continue;
        ++*parts;
        *broken += read_part(options, &seen, workers) != SOURCE_COMPLETE;
    }
    if (*cut && at != s->used)
        gap = "the parts do not come to the end";
    for (uint64_t i = 0; i < seen.count && *cut && !seen.wrong; i++) {
        if (seen.times[i] != 1)
            seen.wrong = seen.times[i] > 99  ? "a wrong element"
                         : seen.times[i] > 0 ? "an element twice"
                                             : "an element that nobody has";
    }
    if (*cut && !seen.wrong && seen.of != seen.count)
        seen.wrong = "the number of all elements";
    free(seen.times);
    /* If one part finds an error, others may have believed the wrong statement. */
    return gap ? gap : *broken > 0 ? NULL : seen.wrong;
}

static const unsigned splits[] = {1, 2, 3, 7, 16, 64};
#define SPLITS (sizeof splits / sizeof *splits)

/* Random files of a kind, or those of a share, which has whole rounds of the splits where there are
   several. */
static void check(const char *what, struct kind k, unsigned runs, uint64_t seed, bool cuts,
                  bool may_fail)
{
    struct tap_family family = {0};
    unsigned done = 0, failed = 0, were_cut = 0, many = 0;
    bool taken = false;

    for (unsigned run = 0; run < runs; run++) {
        const unsigned of = splits[run % SPLITS], workers = 1 + (run + run / SPLITS) % WORKERS;
        struct rng rng;
        struct sample s;
        unsigned parts, broken;
        const char *wrong;
        bool cut;

        if (run % SPLITS == 0 || runs == SPLITS)
            taken = share_takes_next();
        if (!taken)
            continue;
        done++;
        rng_seed(&rng, seed << 32 | run);
        make(&s, &k, &rng);
        write_file(&s);
        message_choose(may_fail ? MESSAGE_NOTHING : MESSAGE_ALL);
        wrong = read_parts(&s, &k, of, workers, &cut, &parts, &broken);
        message_choose(MESSAGE_ALL);
        if (!wrong && !may_fail && broken > 0)
            wrong = "a part failed";
        if (!wrong && !may_fail && cut != (cuts && s.frames > 1))
            wrong = cut ? "it was cut" : "it was not cut";
        tap_case(&family, !wrong, "run %u, %u parts, %u workers: %s", run, of, workers, wrong);
        failed += cut && broken > 0;
        were_cut += cut;
        many += parts > of / 2 && parts > 1;
        sample_free(&s);
    }
    tap_family_end(&family, "%s", what);
    if (cuts && done > 0)
        tap_ok(were_cut > done / 4 && (many > 0 || done < SPLITS),
               "... of which %u were cut, %u into many parts", were_cut, many);
    if (may_fail && done > 0)
        tap_ok(failed > 0, "... of which %u failed", failed);
}

static void check_all(void)
{
    const struct kind plain = {
        .stated = true, .most = 3000, .frames = 60, .length = SOURCE_UNKNOWN};
    struct kind k = plain;

    check("frames that state what they hold", k, 120, 1, true, false);
    k.torn = k.between = true;
    check("elements that are torn, empty frames, skippable ones", k, 120, 2, true, false);
    k.most = 3;
    check("frames smaller than an element", k, 60, 3, true, false);
    k.most = 400000;
    k.frames = 12;
    check("frames of several blocks", k, 24, 4, true, false);
    k.torn = false;
    check("... and none torn", k, 24, 5, true, false);
    k = plain;
    k.npy = k.torn = true;
    check("a .npy", k, 60, 6, true, false);
    k.most = 7;
    check("... whose header is longer than frames", k, 60, 7, true, false);
    k = plain;
    k.skip = 1001;
    k.torn = true;
    check("--skip", k, 60, 8, true, false);
    k.length = 5000;
    check("--length, too", k, 60, 9, true, false);
    k = plain;
    k.hints = true;
    check("hints", k, 60, 10, true, false);
    k.stated = false;
    check("hints, and unstated content: not cut", k, 30, 11, false, false);
    k.hints = false;
    k.between = true;
    check("unstated content: not cut", k, 30, 12, false, false);
    k.table = k.torn = true;
    check("... unless a seek table states it", k, 60, 13, true, false);
    k = plain;
    k.table = true;
    check("a seek table, and stated content", k, 60, 14, true, false);
    k.lie = true;
    check("a seek table that lies", k, 300, 15, true, true);
    k.stated = false;
    check("... and nothing else", k, 300, 16, true, true);
    k.torn = k.between = true;
    check("... with torn elements", k, 300, 17, true, true);
    k = plain;
    k.hints = k.lie = true;
    check("a hint that lies", k, 120, 18, true, false);
    k = plain;
    k.damage = true;
    check("damage", k, 300, 19, true, true);
    k.torn = true;
    check("... and torn elements", k, 300, 20, true, true);
    k = plain;
    k.most = 12000000;
    k.frames = 4;
    check("large frames", k, 6, 21, true, false);
}

int main(void)
{
    if (!mkdtemp(directory))
        bail(directory);
    snprintf(path, sizeof path, "%s/file", directory);
    check_all();
    unlink(path);
    rmdir(directory);
    return tap_done();
}
