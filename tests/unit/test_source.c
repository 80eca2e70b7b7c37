/*
 * source.h: inputs of every kind are opened, taken by several workers in one thread, and compared
 * with the bytes that the files were made of. Every element has to come once, with its index, and
 * what source_info says has to be so.
 */
/* Tags: threads ports */
#include "config.h"

#include "source/source.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "cli/message.h"
#include "lib/allocate.h"
#include "lib/data_gen.h"
#include "lib/tap.h"
#include "lib/warnings.h"
#include "sys/signals.h"

#define WORKERS 4
#define BUFFER ((size_t)1 << 20)

static char directory[] = "/tmp/gpureduce-source-XXXXXX", path[64], errors[64];

/*
 * Inputs. Element i, of four bytes, is i times an odd number: any part of the data is like no
 * other.
 */

static uint32_t element(uint64_t index)
{
    return (uint32_t)index * 2654435761u + 12345;
}

struct bytes {
    unsigned char *data;
    size_t size;
};

/* `before` bytes, and then `count` elements. */
static struct bytes make(size_t before, size_t count)
{
    struct bytes b = {allocate(before + 4 * count), before + 4 * count};

    memset(b.data, 'x', before);
    for (size_t i = 0; i < count; i++) {
        uint32_t e = element(i);

        memcpy(b.data + before + 4 * i, &e, sizeof e);
    }
    return b;
}

/* Elements after a header of 80 bytes, as NumPy writes it. */
static struct bytes make_npy(size_t count, size_t promised)
{
    struct bytes b = make(80, count);
    char text[128];

    snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu,), }%20s",
             promised, "");
    text[69] = '\n';
    memcpy(b.data, "\x93NUMPY\1\0\106\0", 10);
    memcpy(b.data + 10, text, 70);
    return b;
}

/* Compressed in frames of `piece` bytes each, which state their content or not. */
static struct bytes compress(struct bytes b, size_t piece, bool stated)
{
    size_t capacity = ZSTD_compressBound(b.size) + (b.size / piece + 1) * 64;
    ZSTD_outBuffer out = {allocate(capacity), capacity, 0};
    ZSTD_CCtx *context = ZSTD_createCCtx();

    if (!context)
        bail("memory");
    for (size_t done = 0; done < b.size; done += piece) {
        size_t size = piece < b.size - done ? piece : b.size - done;
        ZSTD_inBuffer in = {b.data + done, size, 0};

        ZSTD_CCtx_reset(context, ZSTD_reset_session_only);
        if (stated)
            ZSTD_CCtx_setPledgedSrcSize(context, size);
        else
            (void)ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);
        if (ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) != 0)
            bail("ZSTD_compressStream2");
    }
    ZSTD_freeCCtx(context);
    free(b.data);
    return (struct bytes){out.dst, out.pos};
}

static void write_all(int fd, const struct bytes *b)
{
    size_t done = 0;

    while (done < b->size) {
        ssize_t n = write(fd, b->data + done, b->size - done);

        if (n < 0)
            break;
        done += (size_t)n;
    }
    close(fd);
}

/* Makes the file, and frees the bytes. */
static void put(struct bytes b)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0)
        bail(path);
    write_all(fd, &b);
    free(b.data);
}

/* Whether there was just this warning since the last call; none, if the text is empty. */
static bool warns(const char *text)
{
    char expected[256] = "";

    if (text[0])
        snprintf(expected, sizeof expected, "%s: %s\n", path, text);
    return warned(expected);
}

/* Whether it is this error. */
static bool is_error(const struct error *error, enum error_kind kind, uint64_t offset,
                     const char *text)
{
    const bool good = error->kind == kind && error->offset == offset &&
                      strcmp(error->text, text) == 0 && is_silent();

    if (!good)
        tap_note("error %d at %" PRIu64 ": %s", error->kind, error->offset, error->text);
    return good;
}

/*
 * Taking everything.
 */

struct taken {
    uint64_t index;
    size_t count;
    uint32_t *data;
};

/* The elements that some workers got. */
struct haul {
    struct source *source;
    struct error error; /* why it could not be opened */
    void *buffers[WORKERS];
    struct taken *taken;
    size_t count, capacity;
    bool mapped, borrowed; /* some chunks were */
    enum source_status last;
    _Atomic unsigned rest; /* chunks of take_rest */
};

static struct source_options defaults(void)
{
    return (struct source_options){.log = &warnings_log,
                                   .type = ELEMENT_F32,
                                   .order = ELEMENT_ORDER_LITTLE,
                                   .length = SOURCE_UNKNOWN};
}

/* Opens ./path; the haul is empty then. False when that fails. */
static bool open_haul(struct haul *h, const struct source_options *options)
{
    *h = (struct haul){.count = 0};
    h->source = source_open(path, options, WORKERS, &h->error);
    for (unsigned i = 0; h->source && i < WORKERS; i++)
        h->buffers[i] = allocate(BUFFER);
    return h->source != NULL;
}

static void close_haul(struct haul *h)
{
    if (!h->source)
        return;
    source_close(h->source);
    for (size_t i = 0; i < h->count; i++)
        free(h->taken[i].data);
    for (unsigned i = 0; i < WORKERS; i++)
        free(h->buffers[i]);
    free(h->taken);
}

static void keep(struct haul *h, const struct chunk *chunk, const void *buffer)
{
    struct taken *t;

    if (h->count == h->capacity) {
        h->capacity = 2 * h->capacity + 16;
        h->taken = realloc(h->taken, h->capacity * sizeof *h->taken);
        if (!h->taken)
            bail("memory");
    }
    t = &h->taken[h->count++];
    *t = (struct taken){chunk->index, chunk->count, allocate(4 * chunk->count)};
    memcpy(t->data, chunk->data, 4 * chunk->count);
    h->mapped |= chunk->mapped;
    h->borrowed |= !chunk->mapped && chunk->data != buffer;
}

/* One chunk for the worker, of a buffer of `size` bytes, released at once. */
static bool take(struct haul *h, unsigned worker, size_t size, bool in_place, bool drain)
{
    struct chunk_request request = {.worker = worker,
                                    .buffer = h->buffers[worker],
                                    .size = size,
                                    .in_place = in_place ? (size_t)4 << 20 : 0,
                                    .borrow = in_place,
                                    .drain = drain};
    struct chunk chunk;

    h->last = source_next(h->source, &request, &chunk);
    if (h->last != SOURCE_CHUNK)
        return false;
    keep(h, &chunk, request.buffer);
    source_release(h->source, worker, &chunk);
    return true;
}

/* All there is, for workers that take turns at random. Each asks until it gets no more. */
static void take_all(struct haul *h, struct rng *rng, bool in_place)
{
    bool done[WORKERS] = {false};
    unsigned left = WORKERS;

    while (left > 0) {
        unsigned worker = (unsigned)rng_below(rng, WORKERS);
        size_t size = (size_t)1 << (6 + rng_below(rng, 15));

        if (!done[worker] && !take(h, worker, size, in_place, false)) {
            done[worker] = true;
            left--;
        }
    }
}

/* Whether the elements from `first` on, `count` of them, were taken once each and nothing else. */
static bool complete(const struct haul *h, uint64_t first, uint64_t count)
{
    unsigned char *seen = calloc(1, count + 1);
    uint64_t sum = 0;
    bool good = seen != NULL;

    for (size_t i = 0; i < h->count && good; i++) {
        const struct taken *t = &h->taken[i];
        uint64_t index = source_index(h->source, t->index);

        for (size_t j = 0; j < t->count && good; j++) {
            good =
                index + j < count && !seen[index + j] && t->data[j] == element(first + index + j);
            if (good)
                seen[index + j] = 1;
            else
                tap_note("element %" PRIu64 " of %" PRIu64, index + j, count);
        }
        sum += t->count;
    }
    free(seen);
    if (good && sum != count)
        tap_note("%" PRIu64 " elements of %" PRIu64, sum, count);
    return good && sum == count;
}

/* The expected properties of the input. */
struct expected {
    const char *name, *format;
    uint64_t elements; /* in it */
    bool compressed, parallel, whole;
    bool stated;           /* source_info knows how many elements there are */
    bool mapped, borrowed; /* some chunks are, where workers take them so */
};

static bool same_info(const struct source *s, const struct expected *e, uint64_t input_bytes)
{
    const struct source_info *info = source_info(s);

    return strcmp(info->format, e->format) == 0 && info->type == ELEMENT_F32 &&
           info->element_size == 4 && !info->swap && info->compressed == e->compressed &&
           info->parallel == e->parallel && info->whole == e->whole &&
           info->input_bytes == input_bytes &&
           info->elements == (e->stated ? e->elements : SOURCE_UNKNOWN) &&
           strcmp(info->name, path) == 0;
}

/* Whether the page cache held all of the mapped input when it was opened. The rest is read, not
   mapped, and a system that is short of memory may drop a file that was just written. */
static bool is_cached(const struct haul *h, const char *what)
{
    if (source_info(h->source)->uncached > 0)
        tap_skip(what, "the page cache does not hold the file");
    return source_info(h->source)->uncached <= 0;
}

/* The file at ./path, taken into buffers and in place. */
static void check_file(const struct expected *e, uint64_t input_bytes)
{
    const struct source_options options = defaults();
    struct rng rng;

    rng_seed(&rng, 3);
    for (int in_place = 0; in_place < 2; in_place++) {
        struct haul h;
        const char *how = in_place ? "in place" : "into buffers";

        if (!tap_ok(open_haul(&h, &options), "%s, %s: is opened", e->name, how))
            return;
        tap_ok(same_info(h.source, e, input_bytes), "%s, %s: source_info", e->name, how);
        take_all(&h, &rng, in_place);
        tap_ok(h.last == SOURCE_END && source_finish(h.source) == SOURCE_COMPLETE,
               "%s, %s: ends well", e->name, how);
        tap_ok(complete(&h, 0, e->elements), "%s, %s: each element comes once", e->name, how);
        tap_ok(source_stats(h.source).input_read == input_bytes, "%s, %s: all is read", e->name,
               how);
        if (is_cached(&h, e->name))
            tap_ok(h.mapped == (in_place && e->mapped) && h.borrowed == (in_place && e->borrowed),
                   "%s, %s: where the chunks lie", e->name, how);
        close_haul(&h);
        tap_ok(warns(""), "%s, %s: no warning", e->name, how);
    }
}

static void check_files(void)
{
    enum { NPY = 1, WHOLE = 2, MAPPED = 4, TOLD = 8 /* frames tell what they hold */ };
    static const struct {
        const char *name;
        uint64_t elements;
        size_t piece; /* bytes of a frame; 0: not compressed */
        unsigned is;
    } cases[] = {
        {"a small raw file", 1000, 0, WHOLE},
        {"an empty array", 0, 0, NPY | WHOLE},
        {"a small array", 1000, 0, NPY | WHOLE},
        {"a raw file that is read", 500000, 0, 0},
        {"a raw file that is mapped", 3000000, 0, MAPPED},
        {"an array that is mapped", 3000000, 0, NPY | MAPPED},
        {"a small frame", 1000, 1 << 20, TOLD},
        {"many frames", 3000000, 10000, TOLD},
        {"many frames that tear elements", 10000, 1001, TOLD},
        {"many frames of unstated length", 3000000, 100000, 0},
        {"one large frame", 6000000, 32 << 20, 0},
        {"large frames", 9000000, 12 << 20, TOLD},
        {"an array in many frames", 1000000, 40000, NPY | TOLD},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool npy = cases[i].is & NPY, compressed = cases[i].piece > 0;
        const struct expected e = {.name = cases[i].name,
                                   .format = compressed ? npy ? "npy+zstd" : "zstd"
                                             : npy      ? "npy"
                                                        : "raw",
                                   .elements = cases[i].elements,
                                   .compressed = compressed,
                                   .parallel = true,
                                   .whole = cases[i].is & WHOLE,
                                   .stated = npy || !compressed,
                                   .mapped = cases[i].is & MAPPED,
                                   .borrowed = compressed ||
                                               (cases[i].is & WHOLE && cases[i].elements > 0)};
        struct bytes b = npy ? make_npy(e.elements, e.elements) : make(0, e.elements);

        if (compressed)
            b = compress(b, cases[i].piece, cases[i].is & TOLD);
        put(b);
        check_file(&e, b.size);
    }
}

/*
 * Pipes.
 */

static void *write_pipe(void *argument)
{
    int fd = open(path, O_WRONLY);

    if (fd < 0)
        bail(path);
    write_all(fd, argument);
    return NULL;
}

static void check_pipe(const struct expected *e, struct bytes b)
{
    const struct source_options options = defaults();
    pthread_t writer;
    struct haul h;
    struct rng rng;

    rng_seed(&rng, 4);
    unlink(path);
    if (mkfifo(path, 0600) != 0)
        bail(path);
    if (pthread_create(&writer, NULL, write_pipe, &b) != 0)
        bail("pthread_create");
    if (tap_ok(open_haul(&h, &options), "%s: is opened", e->name)) {
        tap_ok(same_info(h.source, e, SOURCE_UNKNOWN), "%s: source_info", e->name);
        tap_ok(!take(&h, 0, BUFFER, true, true) && h.last == SOURCE_END, "%s: nothing is claimed",
               e->name);
        take_all(&h, &rng, true);
        tap_ok(h.last == SOURCE_END && source_finish(h.source) == SOURCE_COMPLETE, "%s: ends well",
               e->name);
        tap_ok(complete(&h, 0, e->elements), "%s: each element comes once", e->name);
        tap_ok(source_stats(h.source).input_read == b.size, "%s: all is read", e->name);
        tap_ok(!h.mapped && !h.borrowed, "%s: all chunks lie in the buffers", e->name);
    }
    close_haul(&h);
    pthread_join(writer, NULL);
    unlink(path);
    free(b.data);
}

static void check_pipes(void)
{
    check_pipe(&(struct expected){.name = "a pipe", .format = "raw", .elements = 700001},
               make(0, 700001));
    check_pipe(
        &(struct expected){
            .name = "an array in a pipe", .format = "npy", .elements = 1000, .stated = true},
        make_npy(1000, 1000));
    check_pipe(
        &(struct expected){
            .name = "frames in a pipe", .format = "zstd", .elements = 700001, .compressed = true},
        compress(make(0, 700001), 99999, false));
}

/*
 * Options, limits, and workers that leave.
 */

static void check_options(void)
{
    struct source_options options = defaults();
    struct rng rng;
    struct haul h;

    rng_seed(&rng, 6);
    for (int kind = 0; kind < 4; kind++) {
        static const char *const names[] = {"mapped", "many frames", "unstated frames", "in order"};
        struct bytes b = make(12, 2000000);

        options = defaults();
        options.skip = 12 + 4 * 77;
        options.length = 1000000;
        options.in_order = kind == 3;
        put(kind ? compress(b, 50000, kind == 1) : b);
        open_haul(&h, &options);
        take_all(&h, &rng, true);
        if (kind == 2) {
            /* Provisional positions cannot say where --length ends. */
            tap_ok(source_finish(h.source) == SOURCE_REREAD, "--length, %s: must be read in order",
                   names[kind]);
        } else {
            tap_ok(source_finish(h.source) == SOURCE_COMPLETE && complete(&h, 77, 1000000),
                   "--skip and --length, %s", names[kind]);
        }
        close_haul(&h);
    }
    tap_ok(warns(""), "no warning");
}

static void check_limit(void)
{
    const struct source_options options = defaults();

    for (int kind = 0; kind < 2; kind++) {
        struct bytes b = make(0, 4000000);
        bool all = true;
        struct haul h;
        struct rng rng;

        rng_seed(&rng, 7);
        put(kind ? compress(b, 100000, true) : b);
        open_haul(&h, &options);
        tap_ok(!source_limited(h.source), "no limit at first");
        take(&h, 0, 4096, false, false);
        source_limit(h.source, 500000);
        source_limit(h.source, 600000); /* the lower one holds */
        take_all(&h, &rng, false);
        tap_ok(source_limited(h.source) && source_finish(h.source) == SOURCE_COMPLETE,
               "a limit, %s: ends well", kind ? "zstd" : "raw");
        /* Later elements may still come; earlier ones must. */
        for (uint64_t i = 0; i < 500000 && all; i += 250) {
            bool found = false;

            for (size_t j = 0; j < h.count && !found; j++)
                found = h.taken[j].index <= i && i < h.taken[j].index + h.taken[j].count;
            all = found;
        }
        tap_ok(all, "a limit, %s: all that lies before it comes", kind ? "zstd" : "raw");
        tap_ok(source_stats(h.source).input_read < b.size / 2, "a limit, %s: not all is read",
               kind ? "zstd" : "raw");
        close_haul(&h);
    }
}

static void check_drain(void)
{
    struct source_options options = defaults();

    options.whole_most = 1; /* is for arrays of a container alone */
    for (int kind = 0; kind < 3; kind++) {
        static const char *const names[] = {"mapped", "many frames", "one large frame"};
        struct bytes b = make(0, 4000000);
        struct haul h;
        struct rng rng;
        size_t before;

        rng_seed(&rng, 8);
        put(kind ? compress(b, kind == 1 ? 100000 : 64 << 20, kind == 1) : b);
        open_haul(&h, &options);
        tap_ok(!take(&h, 0, 4096, false, true) && h.last == SOURCE_END,
               "%s: a worker that claimed nothing has nothing to drain", names[kind]);
        take(&h, 0, 4096, false, false);
        before = h.count;
        while (take(&h, 0, 4096, false, true))
            ;
        tap_ok(h.last == SOURCE_END && h.count < 900 && (h.count > before) == (kind == 1),
               "%s: it drains what it claimed", names[kind]);
        take_all(&h, &rng, true);
        tap_ok(source_finish(h.source) == SOURCE_COMPLETE && complete(&h, 0, 4000000),
               "%s: others get the rest", names[kind]);
        close_haul(&h);
    }
}

/* A worker that claims something and does not come back: what it claimed is lost. */
static void check_abandoned(void)
{
    struct source_options options = defaults();
    struct haul h;

    put(compress(make(0, 1000000), 100000, true));
    open_haul(&h, &options);
    take(&h, 0, 4096, false, false);
    while (take(&h, 1, BUFFER, false, false))
        ;
    tap_ok(h.last == SOURCE_END && source_finish(h.source) == SOURCE_REREAD,
           "a worker that leaves: the input must be read again");
    close_haul(&h);
}

/* Takes chunks of its own, as the last worker, until there are none. */
static void *take_rest(void *argument)
{
    struct haul *h = argument;

    while (take(h, WORKERS - 1, BUFFER, true, false))
        atomic_fetch_add(&h->rest, 1);
    return NULL;
}

/* The source fails while a worker reads what it was lent, and another one waits for that memory. */
static void check_cancelled(void)
{
    const struct source_options options = defaults();
    const struct timespec pause = {.tv_nsec = 20000000};
    struct chunk_request request = {.in_place = BUFFER, .size = BUFFER, .borrow = true};
    struct chunk chunk;
    struct haul h;
    pthread_t other;
    unsigned before;

    put(compress(make(0, 32 << 20), 128 << 20, true));
    if (!open_haul(&h, &options))
        bail(path);
    request.buffer = h.buffers[0];
    tap_ok(source_next(h.source, &request, &chunk) == SOURCE_CHUNK && chunk.data != request.buffer,
           "cancelled: a worker is lent a chunk of a large frame");
    if (pthread_create(&other, NULL, take_rest, &h) != 0)
        bail("pthread_create");
    do {
        before = atomic_load(&h.rest);
        (void)nanosleep(&pause, NULL);
    } while (before == 0 || before != atomic_load(&h.rest));
    source_cancel(h.source);
    tap_ok(source_next(h.source, &request, &chunk) == SOURCE_FAILED, "it gets no more");
    source_leave(h.source, 0);
    pthread_join(other, NULL);
    tap_ok(h.last == SOURCE_FAILED, "another one does not wait for it");
    close_haul(&h);
}

/* An element that lies in two frames which do not say how long they are. */
static void check_torn(void)
{
    struct source_options options = defaults();
    struct haul h;
    struct rng rng;

    rng_seed(&rng, 9);
    put(compress(make(0, 1000000), 100001, false));
    open_haul(&h, &options);
    take_all(&h, &rng, true);
    tap_ok(source_finish(h.source) == SOURCE_REREAD, "torn elements: must be read in order");
    close_haul(&h);
    options.in_order = true;
    open_haul(&h, &options);
    tap_ok(!source_info(h.source)->parallel, "in order: not in parallel");
    take_all(&h, &rng, true);
    tap_ok(source_finish(h.source) == SOURCE_COMPLETE && complete(&h, 0, 1000000), "in order");
    close_haul(&h);
    tap_ok(warns(""), "no warning");
}

/*
 * Inputs that cannot be read.
 */

static void check_refused(void)
{
    struct source_options options = defaults();
    struct haul h;
    struct rng rng;

    rng_seed(&rng, 10);
    unlink(path);
    tap_ok(!open_haul(&h, &options) &&
               is_error(&h.error, ERROR_READ, ERROR_NO_OFFSET, "No such file or directory"),
           "no file");
    put(make(2, 5));
    tap_ok(!open_haul(&h, &options) &&
               is_error(&h.error, ERROR_DATA, 20,
                        "byte 20: the last f32 element is cut off after 2 of 4 bytes"),
           "a part of an element");
    put(make_npy(99, 100));
    tap_ok(!open_haul(&h, &options) &&
               is_error(&h.error, ERROR_DATA, 476,
                        "ends at byte 476, but its header promises 100 elements, up to byte 480"),
           "an array that is cut off");
    put(make_npy(102, 100));
    tap_ok(open_haul(&h, &options) && warns("ignoring 8 bytes after the array"),
           "an array that goes on is taken");
    take_all(&h, &rng, false);
    tap_ok(source_finish(h.source) == SOURCE_COMPLETE && complete(&h, 0, 100), "without the rest");
    close_haul(&h);
    options.format = SOURCE_ZSTD;
    tap_ok(!open_haul(&h, &options) && is_error(&h.error, ERROR_DATA, ERROR_NO_OFFSET,
                                                "not zstd data: no frame begins at byte 0"),
           "an array is not zstd");
    options = defaults();
    {
        struct bytes b = compress(make(0, 100000), 10000, true);

        b.size--;
        put(b);
        open_haul(&h, &options);
        take_all(&h, &rng, true);
        tap_ok(h.last == SOURCE_END && source_why(h.source)->kind == ERROR_NONE,
               "frames that are cut off may be the second fault");
        tap_ok(source_finish(h.source) == SOURCE_BROKEN &&
                   source_why(h.source)->kind == ERROR_DATA && source_why(h.source)->offset > 0 &&
                   strstr(source_why(h.source)->text, "inside the zstd frame that begins at byte"),
               "frames that are cut off");
        close_haul(&h);
    }
}

/* A container in zstd whose content is kept in memory, and how much that may be, of all inputs. */
static void check_unpacked(void)
{
    enum { COUNT = 100000, BEFORE = 88, SIZE = BEFORE + 4 * COUNT };
    struct source_options options = defaults();
    _Atomic uint64_t held = 0;
    struct haul h, other;
    struct rng rng;

    options.unpacked = &held;
    rng_seed(&rng, 11);
    for (unsigned i = 0; i < 4; i++) {
        struct bytes b = make(BEFORE, COUNT);
        char header[BEFORE + 1];

        snprintf(header, sizeof header, "%-8s%-80s", "P",
                 "{\"a\":{\"dtype\":\"F32\",\"shape\":[100000],\"data_offsets\":[0,400000]}}");
        memcpy(b.data, header, BEFORE);
        memcpy(b.data, "\x50\0\0\0\0\0\0", 8);
        put(compress(b, i < 2 ? 9999 : SIZE, i % 2 == 0));
        options.memory = SIZE;
        tap_ok(open_haul(&h, &options) && source_info(h.source)->parallel &&
                   !source_info(h.source)->compressed &&
                   strcmp(source_info(h.source)->format, "safetensors+zstd") == 0,
               "a compressed container is opened as a file, %u", i);
        tap_ok(!open_haul(&other, &options) &&
                   strstr(other.error.text, "a safetensors file, compressed, of more than"),
               "but not another one beside it");
        take_all(&h, &rng, false);
        tap_ok(source_finish(h.source) == SOURCE_COMPLETE && complete(&h, 0, COUNT),
               "it has all elements");
        close_haul(&h);
        options.memory = SIZE - 1;
        tap_ok(!open_haul(&h, &options) && h.error.kind == ERROR_REQUEST && held == 0,
               "with less memory it is refused");
    }
}

/* A mapped file that becomes shorter while a worker has a part of it. */
static void check_lost(void)
{
    const struct source_options options = defaults();
    struct chunk_request request = {.in_place = (size_t)1 << 20};
    struct chunk chunk;
    struct haul h;

    put(make(0, 3000000));
    open_haul(&h, &options);
    request.buffer = h.buffers[0];
    request.size = BUFFER;
    h.last = source_next(h.source, &request, &chunk);
    if (!is_cached(&h, "a mapped file that becomes shorter") ||
        !tap_ok(h.last == SOURCE_CHUNK && chunk.mapped, "a mapped chunk")) {
        close_haul(&h);
        return;
    }
    if (truncate(path, 4096) != 0)
        bail(path);
    source_lost(h.source, &chunk);
    source_release(h.source, 0, &chunk);
    tap_ok(is_error(source_why(h.source), ERROR_CHANGED, 4096,
                    "ends at byte 4096: it became shorter while it was read"),
           "that is lost");
    tap_ok(source_next(h.source, &request, &chunk) == SOURCE_FAILED, "nothing comes any more");
    source_error(h.source, ERROR_DATA, "another error");
    tap_ok(source_finish(h.source) == SOURCE_BROKEN &&
               source_why(h.source)->kind == ERROR_CHANGED && warns(""),
           "the first error stays");
    close_haul(&h);
}

int main(void)
{
    signals_open();
    if (!mkdtemp(directory))
        bail(directory);
    snprintf(path, sizeof path, "%s/x", directory);
    snprintf(errors, sizeof errors, "%s/errors", directory);
    warnings_open(errors);
    message_program("test");
    check_files();
    check_pipes();
    check_options();
    check_limit();
    check_drain();
    check_abandoned();
    check_cancelled();
    check_torn();
    check_refused();
    check_unpacked();
    check_lost();
    unlink(path);
    unlink(errors);
    rmdir(directory);
    return tap_done();
}
