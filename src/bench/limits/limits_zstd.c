/*
 * Frames to decode for gpureduce-bench limits. It uses zstd.h, which otherwise only src/zstd
 * does, because a limit to know is that of the library alone: no source, no chunks, no reduction.
 * Beside it stands what gpureduce makes of one frame.
 */
#include "config.h"

#include "bench/limits/limits_zstd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "bench/common/distribution.h"
#include "bench/common/team.h"
#include "cli/failure.h"
#include "cli/message.h"
#include "cli/process.h"
#include "run/session.h"
#include "sys/align.h"
#include "sys/clock.h"
#include "sys/whole.h"

/* Data of each kind: so much, or a share of what is read otherwise. */
#define CONTENT_BYTES (1024 * MIB)
#define CONTENT_SHARE 2

/* Frames to decode: about as large as those of pzstd, and a few different ones. */
#define FRAME_BYTES (8 * MIB)
#define FRAMES 4

/* How often each thread decodes each frame in a sample. */
#define FRAME_ROUNDS 2

struct zstd_job {
    unsigned char *frames[FRAMES];
    size_t frame_sizes[FRAMES];
    size_t size; /* of a frame's content */
    struct zstd_member {
        ZSTD_DCtx *decoder;
        unsigned char *buffer;
    } * members;
    unsigned threads;
};

static bool decode_frames(void *argument, unsigned number)
{
    struct zstd_job *job = argument;
    const struct zstd_member *m = &job->members[number];

    for (unsigned i = 0; i < FRAME_ROUNDS * FRAMES; i++) {
        /* Each thread begins with another frame. */
        unsigned j = (i + number) % FRAMES;

        if (ZSTD_decompressDCtx(m->decoder, m->buffer, job->size, job->frames[j],
                                job->frame_sizes[j]) != job->size)
            return message_error(EXIT_FAILED, "zstd does not decode what it compressed");
    }
    return true;
}

static double zstd_sample(void *argument)
{
    struct zstd_job *job = argument;

    return team_run(job->threads, decode_frames, job);
}

/* Compresses data to a new frame, for free(). NULL on failure, after an error message. */
static unsigned char *compress(const unsigned char *data, size_t size, size_t *frame_size)
{
    size_t capacity = ZSTD_compressBound(size);
    unsigned char *frame = malloc(capacity);

    if (!frame) {
        message_error(EXIT_FAILED, "out of memory");
        return NULL;
    }
    *frame_size = ZSTD_compress(frame, capacity, data, size, ZSTD_CLEVEL_DEFAULT);
    if (ZSTD_isError(*frame_size)) {
        message_error(EXIT_FAILED, "zstd cannot compress: %s", ZSTD_getErrorName(*frame_size));
        free(frame);
        return NULL;
    }
    return frame;
}

static bool make_frames(const unsigned char *content, size_t bytes, struct zstd_job *job)
{
    job->size = bytes / FRAMES < FRAME_BYTES ? bytes / FRAMES : FRAME_BYTES;
    for (unsigned i = 0; i < FRAMES; i++) {
        job->frames[i] = compress(content + i * job->size, job->size, &job->frame_sizes[i]);
        if (!job->frames[i])
            return false;
    }
    return true;
}

/* A decoder and a buffer for each thread. */
static bool make_members(struct zstd_job *job, unsigned threads)
{
    bool good;

    job->members = calloc(threads, sizeof *job->members);
    good = job->members != NULL;
    for (unsigned i = 0; good && i < threads; i++) {
        struct zstd_member *m = &job->members[i];

        m->decoder = ZSTD_createDCtx();
        m->buffer = malloc(job->size);
        good = m->decoder && m->buffer;
        if (good)
            memset(m->buffer, 1, job->size); /* so that its pages are present */
    }
    if (!good)
        message_error(EXIT_FAILED, "out of memory");
    return good;
}

static void release(struct zstd_job *job, unsigned threads)
{
    for (unsigned i = 0; job->members && i < threads; i++) {
        ZSTD_freeDCtx(job->members[i].decoder);
        free(job->members[i].buffer);
    }
    free(job->members);
    for (unsigned i = 0; i < FRAMES; i++)
        free(job->frames[i]);
}

/* Data of a kind, and what rows are called that are about it. */
struct kind {
    enum distribution distribution;
    const char *frames, *cpu, *gpu; /* words */
    const char *what;
};

static const struct kind kinds[] = {
    {DISTRIBUTION_NORMAL, "zstd-decode", "one-frame", "one-frame-gpu", "normal f32"},
    {DISTRIBUTION_WEIGHTS, "zstd-decode-weights", "one-frame-weights", "one-frame-gpu-weights",
     "weights, bf16 as f32"},
    {DISTRIBUTION_FIELD, "zstd-decode-field", "one-frame-field", "one-frame-gpu-field",
     "a field of f32"},
    {DISTRIBUTION_STEPS, "zstd-decode-steps", "one-frame-steps", "one-frame-gpu-steps",
     "a field in steps of 0.01"},
    {DISTRIBUTION_SERIES, "zstd-decode-series", "one-frame-series", "one-frame-gpu-series",
     "a series to one decimal"},
    {DISTRIBUTION_IMAGE, "zstd-decode-image", "one-frame-image", "one-frame-gpu-image",
     "an image as f32"},
};

/* libzstd, by one thread and by all. */
static bool measure_frames(struct limits *l, const struct kind *kind, const unsigned char *content,
                           size_t bytes)
{
    const unsigned threads = l->threads;
    struct zstd_job job = {.size = 0};
    char what[LIMITS_WHAT_MAX];
    bool good;

    snprintf(what, sizeof what, "decoding frames of %s", kind->what);
    limits_show(l, "compressing frames to decode");
    good = make_frames(content, bytes, &job) && make_members(&job, threads);
    limits_show(l, NULL);
    for (unsigned n = 1; good && n > 0; n = n < threads ? threads : 0) {
        job.threads = n;
        good =
            limits_measure(l,
                           &(struct limit){.group = "zstd",
                                           .name = kind->frames,
                                           .what = what,
                                           .threads = n,
                                           .piece = job.size,
                                           .bytes = (uint64_t)job.size * FRAMES * FRAME_ROUNDS * n},
                           zstd_sample, &job);
    }
    release(&job, threads);
    return good;
}

/*
 * One frame, as zstd(1) writes it, decoded and reduced as gpureduce does.
 */

/* Compresses the content into one frame without a checksum, by as many threads as libzstd takes,
   piece by piece, into the file. */
static bool write_frame(int fd, const unsigned char *content, size_t size, unsigned threads)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_inBuffer in = {content, size, 0};
    const size_t room = ZSTD_CStreamOutSize();
    unsigned char *piece = malloc(room);
    bool good = context && piece;
    size_t left = 1;

    if (!good)
        message_error(EXIT_FAILED, "out of memory");
    if (good) {
        (void)ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, (int)threads);
        (void)ZSTD_CCtx_setPledgedSrcSize(context, size);
    }
    while (good && left > 0) {
        ZSTD_outBuffer out = {piece, room, 0};

        left = ZSTD_compressStream2(context, &out, &in, ZSTD_e_end);
        if (ZSTD_isError(left)) {
            message_error(EXIT_FAILED, "zstd cannot compress: %s", ZSTD_getErrorName(left));
            good = false;
        }
        if (good && !write_whole(fd, piece, out.pos, -1)) {
            message_error(EXIT_FAILED, "cannot keep a frame in memory: %s", strerror(errno));
            good = false;
        }
    }
    ZSTD_freeCCtx(context);
    free(piece);
    return good;
}

struct frame_job {
    struct session *session;
    const char *path;
};

static double frame_sample(void *argument)
{
    const struct frame_job *job = argument;
    const uint64_t begun = clock_now();
    struct reduction *reduction = malloc(sizeof *reduction);
    bool good = reduction && session_reduce(job->session, job->path, reduction);

    if (reduction && !good)
        failure_print(job->path, NULL, &reduction->error);
    free(reduction);
    return good ? (double)(clock_now() - begun) / (double)CLOCK_SECOND : -1;
}

/* With all threads of the CPU, or with the GPU. */
static bool measure_frame_by(struct limits *l, const struct kind *kind, const char *path,
                             size_t bytes, bool gpu)
{
    struct session_options options = {
        .input = {.log = &failure_log,
                  .length = SOURCE_UNKNOWN,
                  .order = ELEMENT_ORDER_UNSAID,
                  .window_log = SOURCE_WINDOW_LOG_MAX},
        .device = gpu ? DEVICE_GPU : DEVICE_CPU,
        .device_count = 1,
        .threads = gpu ? 0 : l->threads,
        .wants = PARTIAL_SUM | PARTIAL_EXTREMES,
    };
    char *const paths[] = {(char *)(uintptr_t)path};
    struct frame_job job = {.path = path};
    char what[LIMITS_WHAT_MAX];
    struct error error;
    bool good;

    snprintf(what, sizeof what, "one frame of %s, %s", kind->what,
             gpu ? "decoded and reduced by the GPU" : "decoded by all threads");
    process_settings(&options);
    job.session = session_open(&options, paths, 1, &error);
    if (!job.session) {
        failure_print(NULL, NULL, &error);
        return false;
    }
    good = limits_measure(l,
                          &(struct limit){.group = "zstd",
                                          .name = gpu ? kind->gpu : kind->cpu,
                                          .what = what,
                                          .threads = gpu ? 0 : l->threads,
                                          .piece = bytes,
                                          .bytes = bytes},
                          frame_sample, &job);
    return session_close(job.session) && good;
}

static bool measure_frame(struct limits *l, const struct kind *kind, const unsigned char *content,
                          size_t bytes, bool gpu)
{
    const int fd = memfd_create("frame", MFD_CLOEXEC);
    char path[64];
    bool good;

    if (fd < 0)
        return message_error(EXIT_FAILED, "cannot keep a frame in memory: %s", strerror(errno));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    limits_show(l, "compressing a frame to decode");
    good = write_frame(fd, content, bytes, l->threads);
    limits_show(l, NULL);
    good = good && measure_frame_by(l, kind, path, bytes, false) &&
           (!gpu || measure_frame_by(l, kind, path, bytes, true));
    close(fd);
    return good;
}

void limits_measure_zstd(struct limits *l, bool gpu)
{
    const uint64_t share = l->bytes / CONTENT_SHARE;
    const size_t bytes = (size_t)(share < CONTENT_BYTES ? share : CONTENT_BYTES) / 4 * 4;
    unsigned char *content = malloc(bytes);
    bool good = content != NULL;

    if (!content)
        message_error(EXIT_FAILED, "out of memory");
    for (size_t i = 0; good && i < sizeof kinds / sizeof *kinds; i++) {
        limits_show(l, "making data to compress");
        good = distribution_fill_parallel(content, kinds[i].distribution, ELEMENT_F32, 1, bytes / 4,
                                          0, bytes / 4, 0);
        limits_show(l, NULL);
        good = good && measure_frames(l, &kinds[i], content, bytes) &&
               measure_frame(l, &kinds[i], content, bytes, gpu);
    }
    free(content);
}
