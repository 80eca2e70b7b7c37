/*
 * Frames to decode for gpureduce-bench limits. It uses zstd.h, which otherwise only source/zstd
 * does, because the limit to know is that of the library alone: no source, no chunks, no reduction.
 */
#include "config.h"

#include "bench/limits/limits_zstd.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "bench/common/team.h"
#include "sys/align.h"
#include "sys/message.h"

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
                                job->frame_sizes[j]) != job->size) {
            message_error(EXIT_FAILED, "zstd does not decode what it compressed");
            return false;
        }
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

static bool make_frames(const struct limits *l, struct zstd_job *job)
{
    job->size = (size_t)(l->bytes / FRAMES < FRAME_BYTES ? l->bytes / FRAMES : FRAME_BYTES);
    for (unsigned i = 0; i < FRAMES; i++) {
        job->frames[i] = compress(l->data + i * job->size, job->size, &job->frame_sizes[i]);
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

void limits_measure_zstd(struct limits *l)
{
    unsigned threads = l->threads;
    struct zstd_job job = {.size = 0};
    bool good;

    limits_show(l, "compressing frames to decode");
    good = make_frames(l, &job) && make_members(&job, threads);
    limits_show(l, NULL);
    for (unsigned n = 1; good && n > 0; n = n < threads ? threads : 0) {
        job.threads = n;
        good =
            limits_measure(l,
                           &(struct limit){.group = "zstd",
                                           .name = "zstd-decode",
                                           .what = "decoding frames of normal f32",
                                           .threads = n,
                                           .piece = job.size,
                                           .bytes = (uint64_t)job.size * FRAMES * FRAME_ROUNDS * n},
                           zstd_sample, &job);
    }
    release(&job, threads);
}
