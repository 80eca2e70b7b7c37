/*
 * cuda/zstd/device.h on a GPU: what libzstd compresses, in many ways, must come out bit for
 * bit; of damaged files nothing may be taken that libzstd refuses. Skips where there is no usable
 * GPU.
 *
 * With `time [MIB [KIND...]]` as arguments it measures instead: GB/s of decoded bytes, for each
 * kind of data and size of frames; ZSTD_DEVICE_MEMORY is the decoder's memory in MiB.
 * Built a second time with TEST_EMULATED, for an emulation of the CUDA runtime: then files are
 * small.
 *
 * ZSTD_DEVICE_RUNS=N and ZSTD_DEVICE_SEED=N are as of test_zstd_kernels.
 */
#include "config.h"

#include <stdlib.h>

#include "lib/tap.h"

#ifndef HAVE_CUDA

int main(void)
{
    return tap_skip_all("built without CUDA");
}

#else

#    include <cuda_runtime_api.h>
#    include <pthread.h>
#    include <stdio.h>
#    include <string.h>
#    include <zstd.h>

#    include "cuda/zstd/device.h"
#    include "lib/allocate.h"
#    include "lib/environment.h"
#    include "lib/zstd_samples.h"
#    include "sys/align.h"
#    include "sys/clock.h"

#    ifdef TEST_EMULATED
#        include "lib/zstd_emulated.h"
#        define TUNING emulated_tuning
#    else
#        define TUNING gpu_tuning_shipped
#    endif

static void must(cudaError_t error)
{
    if (error != cudaSuccess) {
        printf("Bail out! CUDA: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

/* Output that is left and read late: the batches of it, and the streams that read them. */
#    define LATE_MAX 64
#    define READERS 3
struct late {
    cudaStream_t readers[READERS];
    struct {
        uint64_t position, size;
        unsigned char *to;
    } batches[LATE_MAX];
    uint64_t left, released; /* their numbers */
    unsigned waits;
};

/* The outcome of a decoding. */
struct outcome {
    bool good;
    struct late *late;    /* NULL: a batch is read and released as soon as it is taken */
    bool overwrites;      /* compressed bytes are, as soon as they may be */
    bool little;          /* batches take little of the input */
    unsigned char *bytes; /* NULL: they are not wanted */
    size_t size, capacity;
    double seconds;
    unsigned batches;
    unsigned cut;  /* batches that begin within a frame */
    unsigned held; /* and how often one waited for another range */
};

/* Reads the oldest batch that is left, slowly, and releases it: behind that, or, every fourth one,
   once it is done. */
static void release_late(struct zstd_device *d, struct late *l)
{
    const uint64_t oldest = l->released++, position = l->batches[oldest % LATE_MAX].position;
    const uint64_t size = l->batches[oldest % LATE_MAX].size;
    unsigned char *to = l->batches[oldest % LATE_MAX].to;
    cudaStream_t stream = l->readers[oldest % READERS];

    for (uint64_t done = 0, piece; done < size; done += piece) {
        const unsigned char *from = zstd_device_bytes(d, position + done, &piece);

        piece = piece < size - done ? piece : size - done;
        for (unsigned i = 0; i < 100; i++)
            must(cudaMemcpyAsync(to + done, from, 1, cudaMemcpyDeviceToHost, stream));
        must(cudaMemcpyAsync(to + done, from, piece, cudaMemcpyDeviceToHost, stream));
    }
    if (oldest % 4 == 0)
        must(cudaStreamSynchronize(stream));
    if (!zstd_device_release(d, oldest % 4 == 0 ? NULL : stream)) {
        printf("Bail out! a batch cannot be released: %s\n", zstd_device_error(d));
        exit(1);
    }
}

/* Takes the oldest batch and leaves it. Others are read when there is no room for any more, as far
   as can be told by the time that it takes. */
static bool take_late(struct zstd_device *d, struct outcome *o)
{
    struct late *l = o->late;
    struct zstd_device_output out;
    bool none;

    while (!zstd_device_ready(d) && zstd_device_under_way(d) > 0 && !zstd_device_error(d))
        if (l->released < l->left && ++l->waits % 200 == 0)
            release_late(d, l);
    if (l->left - l->released == LATE_MAX)
        release_late(d, l);
    if (!zstd_device_take(d, &out, &none)) {
        o->good = o->good && none;
        return false;
    }
    o->good = o->good && !out.refused && out.size <= o->capacity - o->size;
    if (!o->good)
        return false;
    l->batches[l->left % LATE_MAX].position = out.position;
    l->batches[l->left % LATE_MAX].size = out.size;
    l->batches[l->left++ % LATE_MAX].to = o->bytes + o->size;
    o->size += out.size;
    o->batches++;
    zstd_device_leave(d);
    return true;
}

/* Takes the oldest batch, copies its bytes where they are wanted, and releases it. */
static bool take(struct zstd_device *d, struct outcome *o, cudaStream_t stream)
{
    struct zstd_device_output out;
    bool none;

    if (o->late)
        return take_late(d, o);
    if (!zstd_device_take(d, &out, &none)) {
        if (!none)
            o->good = false;
        return false;
    }
    for (uint64_t done = 0; o->bytes && done < out.size;) {
        uint64_t piece;
        const unsigned char *from = zstd_device_bytes(d, out.position + done, &piece);

        piece = piece < out.size - done ? piece : out.size - done;
        if (o->size + piece > o->capacity)
            break;
        must(cudaMemcpyAsync(o->bytes + o->size, from, piece, cudaMemcpyDeviceToHost, stream));
        must(cudaStreamSynchronize(stream));
        o->size += piece;
        done += piece;
    }
    if (!o->bytes)
        o->size += out.size;
    o->batches++;
    o->cut += !out.blocks[0].first;
    if (out.refused)
        o->good = false;
    return zstd_device_release(d, stream);
}

/* Decodes a file in pinned memory, given in ranges of `range` bytes, to output from `position` on. */
static void decode(struct zstd_device *d, uint64_t position, unsigned char *bytes, size_t size,
                   size_t range, cudaStream_t stream, struct outcome *o)
{
    const uint64_t begun = clock_now();
    size_t given = 0, end = 0, overwritten = 0;
    uint64_t choice = position + size;
    bool more = true;

    o->good = true;
    zstd_device_restart(d, position, o->little ? (size_t)8 << 10 : SIZE_MAX);
    while (more) {
        const enum zstd_more waits = end == size                       ? ZSTD_MORE_NONE
                                     : sample_random(&choice) % 2 == 0 ? ZSTD_MORE_FRAME
                                                                       : ZSTD_MORE_BATCH;

        switch (zstd_device_step(d, waits)) {
        case ZSTD_STEP_FED:
            break;
        case ZSTD_STEP_STARVED: {
            const size_t from = end - zstd_device_left(d);

            o->held += zstd_device_holds(d);
            o->good = o->good && zstd_device_next(d) == from && zstd_device_passed(d) <= from;
            more = end < size;
            if (end == size)
                o->good = o->good && zstd_device_between_frames(d);
            /* A range holds a block at least. */
            given = from;
            end = size - from < range ? size : from + range;
            if (more)
                zstd_device_give(d, bytes + given, end - given, end - given, given);
            break;
        }
        case ZSTD_STEP_BUSY:
            more = take(d, o, stream);
            break;
        case ZSTD_STEP_REFUSED:
            o->good = false;
            more = false;
            break;
        case ZSTD_STEP_FAILED:
            printf("Bail out! %s\n", zstd_device_error(d));
            exit(1);
        }
        if (!o->good)
            break;
        if (o->overwrites && zstd_device_passed(d) > overwritten) {
            const size_t passed = (size_t)zstd_device_passed(d);

            memset(bytes + overwritten, 0xa5, passed - overwritten);
            overwritten = passed;
        }
    }
    /* Batches after a refused one are dropped. */
    {
        const bool good = o->good;
        const size_t kept = o->size;

        while (take(d, o, stream))
            ;
        while (o->late && o->late->released < o->late->left)
            release_late(d, o->late);
        if (!good) {
            o->good = false;
            o->size = kept;
        }
    }
    o->seconds = (double)(clock_now() - begun) * 1e-9;
}

static struct zstd_device *open_device(size_t memory, uint64_t window, size_t batch)
{
    const struct zstd_device_options options = {
        .memory = memory, .window = window, .batch = batch, .tuning = &TUNING};
    char reason[ENGINE_REASON_MAX] = "";
    struct zstd_device *d = zstd_device_open(&options, reason);

    if (!d) {
        printf("Bail out! %s\n", reason);
        exit(1);
    }
    return d;
}

/*
 * Correctness.
 */

#    ifdef TEST_EMULATED
#        define EMULATED true
#        define RUNS 4
#        define SIZE_BITS 19
#        define BATCH ((size_t)32 << 10)
#        define LONG ((size_t)7 << 20)
#    else
#        define EMULATED false
#        define RUNS 10
#        define SIZE_BITS 22
#        define BATCH ((size_t)1 << 20)
#        define LONG ((size_t)64 << 20)
#    endif

/* Pinned memory that samples are put into. */
#    define ROOM ((size_t)65 << 20)

static void check_sound(struct zstd_device *d, unsigned char *pinned, cudaStream_t stream,
                        unsigned long runs, uint64_t seed, bool little)
{
    struct tap_family family = {0};

    for (unsigned kind = 0; kind < SAMPLE_KINDS; kind++) {
        for (unsigned long run = 0; run < runs; run++) {
            uint64_t r = seed + (uint64_t)kind * 1000003 + run;
            struct sample_settings settings = sample_settings_draw(&r);
            const size_t size =
                sample_random(&r) % ((size_t)1 << (10 + sample_random(&r) % (SIZE_BITS - 9)));
            const size_t range = ((size_t)256 << 10) + sample_random(&r) % ((size_t)4 << 20);
            unsigned char *plain = need(malloc(size + 1)), *compressed;
            struct outcome o = {.bytes = need(malloc(size + 1)),
                                .capacity = size + 1,
                                .overwrites = true,
                                .little = little};
            size_t compressed_size;
            char text[200];

            sample_settings_print(&settings, text, sizeof text);
            sample_fill(kind, plain, size, sample_random(&r));
            compressed = need(sample_compress(plain, size, &settings, &compressed_size));
            if (compressed_size <= ROOM) {
                memcpy(pinned, compressed, compressed_size);
                decode(d, sample_random(&r) >> 8, pinned, compressed_size, range, stream, &o);
                tap_case(&family, o.good && o.size == size && memcmp(o.bytes, plain, size) == 0,
                         "%s, %zu bytes, run %lu: %s: %s, %zu bytes, or others",
                         sample_kind_name(kind), size, run, text, o.good ? "taken" : "refused",
                         o.size);
            }
            free(o.bytes);
            free(plain);
            free(compressed);
        }
    }
    tap_family_end(&family, little ? "it is, too, where batches take little input"
                                   : "what libzstd compresses is decoded");
}

static void check_damaged(struct zstd_device *d, unsigned char *pinned, cudaStream_t stream,
                          unsigned long runs, uint64_t seed)
{
    const size_t capacity = (size_t)4 << 20;
    struct outcome o = {.bytes = need(malloc(capacity)), .capacity = capacity};
    struct tap_family family = {0};
    unsigned long taken = 0, left = 0;

    for (unsigned long run = 0; run < runs; run++) {
        uint64_t r = seed + 77777 + run;
        struct sample_settings settings = sample_settings_draw(&r);
        const size_t size = 1 + sample_random(&r) % ((size_t)1 << (8 + sample_random(&r) % 10));
        const unsigned kind = (unsigned)(sample_random(&r) % SAMPLE_KINDS);
        unsigned char *plain = need(malloc(size)), *compressed, *content;
        size_t compressed_size, content_size;

        settings.checksum = false; /* it is not the decoder's to look at */
        sample_fill(kind, plain, size, sample_random(&r));
        compressed = need(sample_compress(plain, size, &settings, &compressed_size));
        for (int times = 0; times < 10; times++) {
            size_t damaged;
            bool sound;

            memcpy(pinned, compressed, compressed_size);
            damaged = sample_damage(pinned, compressed_size, &r);
            o.size = 0;
            decode(d, sample_random(&r) >> 8, pinned, damaged, ROOM, stream, &o);
            sound = sample_decompress(pinned, damaged, &content, &content_size, capacity);
            if (o.good)
                tap_case(&family,
                         sound && o.size == content_size &&
                             memcmp(o.bytes, content, content_size) == 0,
                         "%s, %zu bytes, run %lu/%d: taken: libzstd says %d, %zu bytes, not %zu",
                         sample_kind_name(kind), size, run, times, sound, content_size, o.size);
            else
                tap_family_pass(&family);
            taken += o.good;
            left += sound && !o.good;
            free(content);
        }
        free(plain);
        free(compressed);
    }
    tap_note("%lu damaged files taken, %lu left to libzstd, which takes them", taken, left);
    tap_family_end(&family, "of damaged files nothing is taken that libzstd refuses");
    free(o.bytes);
}

/* Files that fill the ring several times, with windows as large as the decoder takes. */
static void check_long(unsigned char *pinned, cudaStream_t stream, uint64_t seed)
{
    struct zstd_device *d = open_device((size_t)2 << 30, (uint64_t)128 << 10, BATCH);
    static const unsigned kinds[] = {2, 5, 10, 11};
    struct tap_family family = {0};

    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct sample_settings settings = {.level = 5, .window_log = 17, .no_size = true};
        unsigned char *plain = need(malloc(LONG)), *compressed;
        struct outcome o = {.bytes = need(malloc(LONG)), .capacity = LONG};
        size_t size;

        sample_fill(kinds[i], plain, LONG, seed + i);
        compressed = need(sample_compress(plain, LONG, &settings, &size));
        if (size > ROOM)
            abort();
        memcpy(pinned, compressed, size);
        decode(d, seed + i, pinned, size, (size_t)1 << 20, stream, &o);
        tap_case(&family, o.good && o.size == LONG && memcmp(o.bytes, plain, LONG) == 0,
                 "%s: %s, %zu bytes, or others", sample_kind_name(kinds[i]),
                 o.good ? "taken" : "refused", o.size);
        free(o.bytes);
        free(plain);
        free(compressed);
    }
    tap_family_end(&family, "the ring goes round");
    zstd_device_close(d);
}

/* Short frames, of small blocks, in ranges of any size, which end within them: a
   batch takes the rest of its last frame from the next range, and one that has no room for it
   leaves the frame to the next batch. */
static void check_ranges(unsigned char *pinned, cudaStream_t stream, unsigned long runs,
                         uint64_t seed)
{
    const size_t batch = 8 * BATCH, length = 6 * batch; /* ROOM holds it */
    struct zstd_device *d = open_device((size_t)2 << 30, (uint64_t)128 << 10, batch);
    unsigned char *plain = need(malloc(length)), *compressed;
    struct tap_family family = {0};
    unsigned held = 0;

    for (unsigned long run = 0; run < 3 * runs; run++) {
        uint64_t r = seed + run;
        const unsigned kind = (unsigned)(sample_random(&r) % SAMPLE_KINDS);
        const struct sample_settings settings = {.window_log = EMULATED ? 12 + (int)run % 2 : 17,
                                                 .checksum = run % 3 > 0,
                                                 .frame =
                                                     batch / 16 + sample_random(&r) % (batch / 16)};
        struct outcome o = {
            .bytes = need(malloc(length)), .capacity = length, .overwrites = run % 2 == 0};
        size_t size, range;

        sample_fill(kind, plain, length, seed + run);
        compressed = need(sample_compress(plain, length, &settings, &size));
        if (size > ROOM)
            abort();
        memcpy(pinned, compressed, size);
        range = size / 6 + sample_random(&r) % (size / 6); /* as much as many blocks */
        decode(d, sample_random(&r) >> 8, pinned, size, range, stream, &o);
        tap_case(
            &family,
            o.good && o.size == length && memcmp(o.bytes, plain, length) == 0 && o.cut == 0,
            "%s, frames of %zu bytes, ranges of %zu: %s, %zu bytes, or others; %u batches begin "
            "within a frame",
            sample_kind_name(kind), settings.frame, range, o.good ? "taken" : "refused", o.size,
            o.cut);
        held += o.held;
        free(o.bytes);
        free(compressed);
    }
    tap_family_end(&family, "batches go on in the next range rather than cut off a short frame");
    tap_ok(held > runs, "which was so %u times", held);
    free(plain);
    zstd_device_close(d);
}

/* Decoding in a ring as small as can be, or with output kept beside it, where batches are read and
   released as late as there is room for. */
static void check_late(unsigned char *pinned, cudaStream_t stream, uint64_t seed)
{
    static const unsigned kinds[] = {5, 8};
    struct tap_family family = {0};

    for (unsigned i = 0; i < 2 * sizeof kinds / sizeof *kinds; i++) {
        const unsigned kind = kinds[i / 2], keep = i % 2 ? 4 : 0;
        const struct sample_settings settings = {
            .level = 5, .window_log = 17, .frame = (size_t)i % 3 * 50000};
        struct zstd_device_options options = {.memory = keep > 0 ? (size_t)2 << 30 : BATCH,
                                              .window = (uint64_t)128 << 10,
                                              .batch = BATCH,
                                              .keep = keep,
                                              .tuning = &TUNING};
        unsigned char *plain = need(malloc(LONG)), *compressed;
        struct late late = {.waits = 0};
        struct outcome o = {.bytes = need(malloc(LONG)), .capacity = LONG, .late = &late};
        char reason[ENGINE_REASON_MAX];
        struct zstd_device *d;
        size_t size;

        while (!(d = zstd_device_open(&options, reason)))
            options.memory += options.memory / 8;
        for (unsigned k = 0; k < READERS; k++)
            must(cudaStreamCreateWithFlags(&late.readers[k], cudaStreamNonBlocking));
        sample_fill(kind, plain, LONG, seed + i);
        compressed = need(sample_compress(plain, LONG, &settings, &size));
        if (size > ROOM)
            abort();
        memcpy(pinned, compressed, size);
        decode(d, seed + i, pinned, size, (size_t)1 << 20, stream, &o);
        for (unsigned k = 0; k < READERS; k++)
            must(cudaStreamDestroy(late.readers[k]));
        tap_case(&family, o.good && o.size == LONG && memcmp(o.bytes, plain, LONG) == 0,
                 "%s, %u kept: %s, %zu bytes, or others", sample_kind_name(kind), keep,
                 o.good ? "taken" : "refused", o.size);
        zstd_device_close(d);
        free(o.bytes);
        free(plain);
        free(compressed);
    }
    tap_family_end(&family, "output that is left stays until it is released");
}

static void check_window(struct zstd_device *d, unsigned char *pinned, cudaStream_t stream)
{
    struct outcome o = {0};
    size_t size;
    unsigned char *file = need(sample_beyond_window(&size));

    memcpy(pinned, file, size);
    decode(d, 0, pinned, size, size, stream, &o);
    tap_ok(!o.good, "a match that reaches out of the window is refused");
    free(file);
}

/*
 * Measuring. Files are made by all cores, piece by piece.
 */

#    define PIECE ((size_t)16 << 20)
#    define MAKERS 16

struct maker {
    pthread_t thread;
    unsigned char *plain;
    size_t size;
    size_t frame; /* 0: the pieces are one frame, which the caller makes */
    unsigned char **pieces;
    size_t *sizes;
    unsigned kind, first;
};

static void *make_pieces(void *argument)
{
    const struct maker *m = argument;

    for (size_t i = m->first; i * PIECE < m->size; i += MAKERS) {
        unsigned char *from = m->plain + i * PIECE;
        const size_t size = m->size - i * PIECE < PIECE ? m->size - i * PIECE : PIECE;
        const struct sample_settings settings = {.level = 3, .frame = m->frame};

        sample_fill(m->kind, from, size, i + 1);
        if (m->frame > 0)
            m->pieces[i] = need(sample_compress(from, size, &settings, &m->sizes[i]));
    }
    return NULL;
}

/* A file in pinned memory, and its content. Returns its size. */
static size_t make_file(unsigned kind, size_t frame, unsigned char *plain, size_t size,
                        unsigned char *file, size_t room)
{
    const size_t pieces = size / PIECE + 1;
    struct maker makers[MAKERS];
    unsigned char **made = need(calloc(pieces, sizeof *made));
    size_t *sizes = need(calloc(pieces, sizeof *sizes)), at = 0;

    for (unsigned i = 0; i < MAKERS; i++) {
        makers[i] = (struct maker){.plain = plain,
                                   .size = size,
                                   .kind = kind,
                                   .frame = frame,
                                   .first = i,
                                   .pieces = made,
                                   .sizes = sizes};
        if (pthread_create(&makers[i].thread, NULL, make_pieces, &makers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < MAKERS; i++)
        pthread_join(makers[i].thread, NULL);
    for (size_t i = 0; i < pieces; i++) {
        if (made[i] && at + sizes[i] <= room)
            memcpy(file + at, made[i], sizes[i]);
        at += sizes[i];
        free(made[i]);
    }
    if (frame == 0) {
        ZSTD_CCtx *c = need(ZSTD_createCCtx());

        ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 3);
        /* As zstd -T0; where the library has no threads this is refused, and slower. */
        (void)ZSTD_CCtx_setParameter(c, ZSTD_c_nbWorkers, MAKERS);
        at = ZSTD_compress2(c, file, room, plain, size);
        ZSTD_freeCCtx(c);
    }
    free(made);
    free(sizes);
    return at;
}

static void measure_file(struct zstd_device *d, unsigned kind, size_t frame,
                         const unsigned char *plain, size_t size, unsigned char *file,
                         size_t file_size, cudaStream_t stream)
{
    struct outcome checked = {.bytes = need(malloc(size)), .capacity = size};
    struct outcome best = {.seconds = 1e9};
    bool right;

    decode(d, 0, file, file_size, file_size, stream, &checked);
    right = checked.good && checked.size == size && memcmp(checked.bytes, plain, size) == 0;
    for (int i = 0; i < 4; i++) {
        struct outcome o = {0};

        decode(d, 0, file, file_size, file_size, stream, &o);
        right = right && o.good;
        if (o.seconds < best.seconds)
            best = o;
    }
    printf("%-8s frames %8zu ratio %6.3f %s | %6.1f GB/s (%u batches)\n", sample_kind_name(kind),
           frame, (double)size / (double)file_size, right ? "right" : "WRONG",
           (double)size * 1e-9 / best.seconds, best.batches);
    fflush(stdout);
    free(checked.bytes);
}

static int measure(int argc, char **argv)
{
    static const size_t frames[] = {0, (size_t)8 << 20, (size_t)128 << 10};
    static const char *const all[] = {"normal", "weights", "steps", "sensor", "smooth"};
    const size_t size = (argc > 2 ? strtoul(argv[2], NULL, 10) : 512) * MIB;
    const size_t room = size + size / 8 + MIB;
    const size_t memory = (size_t)from_environment("ZSTD_DEVICE_MEMORY", 6144) * MIB;
    const size_t batch = (size_t)from_environment("ZSTD_DEVICE_BATCH", 0) * MIB;
    unsigned char *plain = need(malloc(size)), *file;
    struct zstd_device *d;
    cudaStream_t stream;

    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    must(cudaHostAlloc((void **)&file, room, cudaHostAllocDefault));
    d = open_device(memory, (uint64_t)8 << 20, batch);
    printf("batches of %zu MiB\n", zstd_device_batch(d) / MIB);
    for (unsigned k = 0; k < sizeof all / sizeof *all || argc > 3; k++) {
        const char *name = argc > 3 ? argv[3] : all[k];
        unsigned kind = 0;

        while (kind + 1 < SAMPLE_KINDS && strcmp(sample_kind_name(kind), name) != 0)
            kind++;
        for (unsigned f = 0; f < sizeof frames / sizeof *frames; f++) {
            const size_t file_size = make_file(kind, frames[f], plain, size, file, room);

            if (file_size > room || ZSTD_isError(file_size)) {
                printf("%s: cannot be compressed\n", name);
                continue;
            }
            measure_file(d, kind, frames[f], plain, size, file, file_size, stream);
        }
        if (argc > 3) {
            if (argc == 4)
                break;
            argc--;
            argv++;
        }
    }
    zstd_device_close(d);
    free(plain);
    return 0;
}

int main(int argc, char **argv)
{
    const unsigned long runs = (unsigned long)from_environment("ZSTD_DEVICE_RUNS", RUNS);
    const uint64_t seed = from_environment("ZSTD_DEVICE_SEED", 1);
    struct zstd_device *d;
    unsigned char *pinned;
    cudaStream_t stream;
    int devices = 0;

    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
        return tap_skip_all("no GPU");
    if (argc > 1 && strcmp(argv[1], "time") == 0)
        return measure(argc, argv);
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    must(cudaHostAlloc((void **)&pinned, ROOM, cudaHostAllocDefault));
    /* Batches so small that most files have several. */
    d = open_device((size_t)2 << 30, (uint64_t)4 << 20, BATCH);
    check_sound(d, pinned, stream, runs, seed, false);
    check_damaged(d, pinned, stream, runs * 10, seed);
    check_window(d, pinned, stream);
    check_long(pinned, stream, seed);
    check_ranges(pinned, stream, runs, seed);
    if (EMULATED)
        check_late(pinned, stream, seed);
    check_sound(d, pinned, stream, runs, seed, true);
    zstd_device_close(d);
    must(cudaFreeHost(pinned));
    must(cudaStreamDestroy(stream));
    return tap_done();
}

#endif
