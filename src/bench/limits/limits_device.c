#include "config.h"

#include "bench/limits/limits_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/device.h"
#include "bench/limits/limits_kernels.h"
#include "cli/message.h"
#include "sys/align.h"
#include "sys/clock.h"

/* How much device memory is read: some 70 times the level-2 cache of an H200, but no more than half
   of the free memory. */
#define DEVICE_BYTES (4 * GIB)

/* How much is copied from pinned memory: so much that no cache of a host holds a large part. */
#define PINNED_BYTES (512 * MIB)

/* Bytes that one sample copies from pageable memory, which is slower. */
#define PAGEABLE_BYTES GIB

/* There are so many samples of a launch for one of anything else. A launch takes less than a
   millisecond, so many are cheap. */
#define LAUNCHES_PER_REPEAT 10

struct limits_device {
    int multiprocessors;
    size_t size;
    unsigned char *memory; /* on the device, `size` bytes */
    unsigned *sink;        /* on the device; what limits_read may write to */
    cudaStream_t stream;
    cudaEvent_t begun, done;

    /* The current measurement. */
    const unsigned char *source; /* host memory */
    size_t source_size;
    size_t piece;
    size_t offset;   /* where the next launch reads */
    unsigned blocks; /* of a launch */
};

/* Whether a call succeeded. If not, prints what failed: `what`, a literal. */
#define check(error, what) device_check(error, "GPU: " what)

/* Allocates and creates what the measurements need. */
static bool make_ready(struct limits *l, struct limits_device *d)
{
    size_t free_bytes, total;

    if (!check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo"))
        return false;
    d->size = DEVICE_BYTES < free_bytes / 2 ? DEVICE_BYTES : free_bytes / 2;
    d->size = d->size < l->bytes ? d->size : (size_t)l->bytes;
    d->size = d->size / 4096 * 4096;
    return check(cudaMalloc((void **)&d->memory, d->size), "cudaMalloc") &&
           check(cudaMalloc((void **)&d->sink, sizeof *d->sink), "cudaMalloc") &&
           check(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking),
                 "cudaStreamCreateWithFlags") &&
           check(cudaEventCreate(&d->begun), "cudaEventCreate") &&
           check(cudaEventCreate(&d->done), "cudaEventCreate");
}

struct limits_device *limits_device_open(struct limits *l)
{
    char why[DEVICE_WHY_MAX], text[DEVICE_WHY_MAX + 40];
    struct limits_device *d;
    struct device facts;

    if (!device_use(0, why)) {
        snprintf(text, sizeof text, "none that can be used: %s", why);
        table_fact_text(l->table, "no_gpu", "GPU", text);
        return NULL;
    }
    if (!device_describe(&facts, 0))
        return NULL;
    l->peak = facts.peak / 1e9;
    table_fact_text(l->table, "gpu", "GPU", facts.name);
    if (l->peak > 0)
        table_fact_number(l->table, "gpu_memory_peak_gigabytes_per_second", "GPU memory, peak",
                          l->peak, 0, "GB/s");
    table_fact_count(l->table, "gpu_l2_bytes", "GPU level-2 cache", facts.cache, "bytes");

    d = calloc(1, sizeof *d);
    if (!d) {
        message_error(EXIT_FAILED, "out of memory");
        return NULL;
    }
    d->multiprocessors = facts.multiprocessors;
    if (!make_ready(l, d)) {
        limits_device_close(d);
        return NULL;
    }
    return d;
}

void limits_device_close(struct limits_device *d)
{
    if (!d)
        return;
    if (d->begun)
        cudaEventDestroy(d->begun);
    if (d->done)
        cudaEventDestroy(d->done);
    if (d->stream)
        cudaStreamDestroy(d->stream);
    cudaFree(d->sink);
    cudaFree(d->memory);
    free(d);
}

/* Waits until the second event has passed. The seconds between the two, or -1. */
static double elapsed(struct limits_device *d)
{
    float milliseconds;

    if (!check(cudaEventSynchronize(d->done), "waiting for it") ||
        !check(cudaEventElapsedTime(&milliseconds, d->begun, d->done), "cudaEventElapsedTime"))
        return -1;
    return (double)milliseconds / 1e3;
}

/* Fills the device's memory with copies of the host's data. */
static bool fill(struct limits *l, struct limits_device *d)
{
    bool good = true;

    for (size_t i = 0; good && i < d->size; i += (size_t)l->bytes) {
        size_t n = d->size - i < l->bytes ? d->size - i : (size_t)l->bytes;
        good =
            check(cudaMemcpy(d->memory + i, l->data, n, cudaMemcpyHostToDevice), "copying to it");
    }
    return good;
}

/* A sample: reads the next piece of the device's memory. */
static double read_piece(void *argument)
{
    struct limits_device *d = argument;

    if (d->offset + d->piece > d->size)
        d->offset = 0;
    if (!check(cudaEventRecord(d->begun, d->stream), "cudaEventRecord") ||
        !check(limits_read(d->memory + d->offset, d->piece, d->blocks, d->sink, d->stream),
               "starting a kernel") ||
        !check(cudaEventRecord(d->done, d->stream), "cudaEventRecord"))
        return -1;
    d->offset += d->piece;
    return elapsed(d);
}

/* Finds the number of blocks that reads fastest: one for each 32 KiB (0), or a few for each
   multiprocessor, which loop over the memory. */
static bool choose_blocks(struct limits_device *d)
{
    const unsigned each = (unsigned)d->multiprocessors;
    const unsigned candidates[] = {0, 2 * each, 4 * each, 8 * each, 32 * each};
    double best = 0;
    unsigned chosen = 0;

    d->piece = d->size;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        double least = 0;

        d->blocks = candidates[i];
        for (int j = 0; j < 4; j++) {
            double seconds = read_piece(d);
            if (seconds < 0)
                return false;
            /* The first read warms up. */
            least = j == 1 || (j > 1 && seconds < least) ? seconds : least;
        }
        if (i == 0 || least < best) {
            best = least;
            chosen = candidates[i];
        }
    }
    d->blocks = chosen;
    return true;
}

/* Reading device memory, in pieces of several sizes. */
static void measure_reads(struct limits *l, struct limits_device *d)
{
    static const size_t pieces[] = {128 * MIB, GIB, DEVICE_BYTES};
    size_t last = 0;

    if (!choose_blocks(d))
        return;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        d->piece = pieces[i] < d->size ? pieces[i] : d->size;
        if (d->piece == last)
            break;
        last = d->piece;
        d->offset = 0;
        if (!limits_measure(l,
                            &(struct limit){.group = "GPU memory",
                                            .name = "gpu-read",
                                            .what = "a kernel that only reads",
                                            .piece = d->piece,
                                            .bytes = d->piece,
                                            .peak = l->peak,
                                            .samples = l->repeat * LAUNCHES_PER_REPEAT},
                            read_piece, d))
            return;
    }
}

/* A sample: copies the source to the device, in pieces that are all queued at once. */
static double copy_pinned(void *argument)
{
    struct limits_device *d = argument;

    if (!check(cudaEventRecord(d->begun, d->stream), "cudaEventRecord"))
        return -1;
    for (size_t i = 0; i < d->source_size; i += d->piece) {
        size_t n = d->source_size - i < d->piece ? d->source_size - i : d->piece;
        if (!check(
                cudaMemcpyAsync(d->memory + i, d->source + i, n, cudaMemcpyHostToDevice, d->stream),
                "copying to it"))
            return -1;
    }
    if (!check(cudaEventRecord(d->done, d->stream), "cudaEventRecord"))
        return -1;
    return elapsed(d);
}

/* A sample from memory that is not pinned, which the runtime first copies to pinned memory. */
static double copy_pageable(void *argument)
{
    struct limits_device *d = argument;
    uint64_t begun = clock_now();

    for (size_t i = 0; i < d->source_size; i += d->piece) {
        size_t n = d->source_size - i < d->piece ? d->source_size - i : d->piece;
        if (!check(cudaMemcpy(d->memory + i, d->source + i, n, cudaMemcpyHostToDevice),
                   "copying to it"))
            return -1;
    }
    /* A copy from pageable memory may return before its last part has arrived. */
    if (!check(cudaDeviceSynchronize(), "waiting for it"))
        return -1;
    return (double)(clock_now() - begun) / (double)CLOCK_SECOND;
}

/* Copies from pinned memory, in pieces of several sizes. */
static bool measure_pinned(struct limits *l, struct limits_device *d)
{
    static const size_t pieces[] = {1 * MIB, 4 * MIB, 16 * MIB, 64 * MIB};
    size_t size = d->size < PINNED_BYTES ? d->size : PINNED_BYTES;
    unsigned char *pinned = NULL;
    bool good;

    size = size < l->bytes ? size : (size_t)l->bytes;
    good = check(cudaHostAlloc((void **)&pinned, size, cudaHostAllocDefault), "cudaHostAlloc");
    if (good) {
        memcpy(pinned, l->data, size);
        d->source = pinned;
        d->source_size = size;
    }
    for (size_t i = 0; good && i < sizeof pieces / sizeof *pieces && pieces[i] <= size; i++) {
        d->piece = pieces[i];
        good = limits_measure(l,
                              &(struct limit){.group = "link to the GPU",
                                              .name = "host-to-device-pinned",
                                              .what = "copies from pinned memory",
                                              .piece = d->piece,
                                              .bytes = size},
                              copy_pinned, d);
    }
    if (pinned)
        cudaFreeHost(pinned);
    return good;
}

/* Copies from ordinary memory. */
static bool measure_pageable(struct limits *l, struct limits_device *d)
{
    size_t size = d->size < PAGEABLE_BYTES ? d->size : PAGEABLE_BYTES;

    d->source = l->data;
    d->source_size = size < l->bytes ? size : (size_t)l->bytes;
    d->piece = d->source_size < 64 * MIB ? d->source_size : 64 * MIB;
    return limits_measure(l,
                          &(struct limit){.group = "link to the GPU",
                                          .name = "host-to-device-pageable",
                                          .what = "copies from memory that is not pinned",
                                          .piece = d->piece,
                                          .bytes = d->source_size},
                          copy_pageable, d);
}

void limits_device_measure(struct limits *l, struct limits_device *d)
{
    if (!fill(l, d))
        return;
    measure_reads(l, d);
    if (measure_pinned(l, d))
        (void)measure_pageable(l, d);
}
