#include "config.h"

#include "engine/cuda/slicer.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/cuda/check.h"
#include "engine/cuda/slice_launch.h"
#include "sys/align.h"
#include "sys/mapping.h"

/* Of fewer bytes the CPU takes no longer than a copy there and back. */
#ifndef SLICES_LEAST
#    define SLICES_LEAST ((size_t)64 << 10)
#endif

/* Nor where more bytes would come back than this, of so many that go there. */
#ifndef SLICES_BACK
#    define SLICES_BACK(bytes) ((bytes) / 2)
#endif

/* Elements of a part of a row, which a warp takes. */
#define PART ((size_t)1024)

/* Parts of columns, all together, and rows of each part at least: enough threads for a device. */
#define THREADS_WANTED ((size_t)32768)
#define ROWS_LEAST ((size_t)16)

struct engine_slicer {
    const struct feeder_device *gpu;
    struct pinned_arena *arena;
    struct cuda_slice_launch launch;
    size_t bytes, room; /* of a chunk; and parts of slices */
    cudaStream_t stream;
    cudaEvent_t done;
    struct pinned_piece pinned; /* the buffer, and behind it what was found */
    struct engine_slice *found; /* in it */
    unsigned char *device;      /* of the same layout */
    char error[ENGINE_REASON_MAX];
};

bool slicer_finds(enum element_type type, unsigned wants)
{
    return element_is_float(type) && !(wants & ~(unsigned)(PARTIAL_SUM | PARTIAL_EXTREMES));
}

void slicer_close(struct engine_slicer *s)
{
    /* Nothing here can be helped when it fails. What is still on its way uses the memory. */
    if (s->stream)
        (void)cudaStreamSynchronize(s->stream);
    if (s->done)
        (void)cudaEventDestroy(s->done);
    if (s->device)
        (void)cudaFree(s->device);
    if (s->stream)
        (void)cudaStreamDestroy(s->stream);
    pinned_piece_close(&s->pinned, s->arena);
    free(s);
}

/* The most parts of slices that a call has: those of rows that are not cut, and one for so many
   elements; or those of columns. */
static size_t parts_most(enum element_type type, size_t bytes)
{
    const size_t rows = ENGINE_SLICES_MAX + bytes / element_size(type) / PART;
    const size_t columns = SLICES_BACK(bytes) / sizeof(struct engine_slice) + THREADS_WANTED;

    return rows > columns ? rows : columns;
}

struct engine_slicer *slicer_open(const struct feeder_device *device, struct pinned_arena *arena,
                                  enum element_type type, bool swap, size_t bytes,
                                  char reason[ENGINE_REASON_MAX])
{
    struct engine_slicer *s = calloc(1, sizeof *s);
    size_t buffer, all;

    if (!s) {
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    s->gpu = device;
    s->arena = arena;
    s->bytes = bytes;
    s->room = parts_most(type, bytes);
    buffer = align_up(bytes, mapping_page());
    all = align_up(buffer + s->room * sizeof *s->found, mapping_page());
    if (!cuda_check(cudaSetDevice((int)device->index), "choosing the GPU", reason) ||
        !pinned_piece_open(&s->pinned, arena, all, reason) ||
        !cuda_check(cudaMalloc((void **)&s->device, all), "device memory", reason) ||
        !cuda_check(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking),
                    "creating a stream", reason) ||
        !cuda_check(cudaEventCreateWithFlags(&s->done, cudaEventBlockingSync), "creating an event",
                    reason)) {
        slicer_close(s);
        return NULL;
    }
    s->found = (void *)(s->pinned.memory + buffer);
    s->launch = (struct cuda_slice_launch){.type = type,
                                           .swap = swap,
                                           .data = s->device,
                                           .found = (void *)(s->device + buffer),
                                           .part = PART};
    return s;
}

void *slicer_buffer(struct engine_slicer *s)
{
    return s->pinned.memory;
}

/* How many parts columns are cut into. */
static size_t column_parts(size_t rows, size_t columns)
{
    size_t parts = THREADS_WANTED / columns;

    parts = parts > rows / ROWS_LEAST ? rows / ROWS_LEAST : parts;
    return parts > 0 ? parts : 1;
}

const struct engine_slice *slicer_reduce(struct engine_slicer *s, bool columns, const void *data,
                                         size_t rows, size_t length, size_t *parts)
{
    const size_t bytes = rows * length * element_size(s->launch.type);
    const size_t slices = columns ? length : rows;
    struct cuda_slice_launch *l = &s->launch;
    size_t found;

    *parts = 0;
    if (bytes < SLICES_LEAST || slices * sizeof *s->found > SLICES_BACK(bytes))
        return s->found;
    *parts = columns ? column_parts(rows, length) : (length + PART - 1) / PART;
    found = *parts * slices;
    if (bytes > s->bytes || found > s->room) {
        snprintf(s->error, sizeof s->error, "internal error: too many slices");
        return NULL;
    }
    l->columns = columns;
    l->rows = rows;
    l->length = length;
    l->parts = *parts;
    /* It may have been opened by another thread. */
    if (cuda_check(cudaSetDevice((int)s->gpu->index), "choosing the GPU", s->error) &&
        cuda_check(cudaMemcpyAsync(s->device, data, bytes, cudaMemcpyHostToDevice, s->stream),
                   "copying a chunk", s->error) &&
        cuda_check(cuda_slices(l, s->stream), "starting a kernel", s->error) &&
        cuda_check(cudaMemcpyAsync(s->found, l->found, found * sizeof *s->found,
                                   cudaMemcpyDeviceToHost, s->stream),
                   "copying a result", s->error) &&
        cuda_check(cudaEventRecord(s->done, s->stream), "recording an event", s->error) &&
        cuda_check(cudaEventSynchronize(s->done), "reducing a chunk", s->error))
        return s->found;
    return NULL;
}

const char *slicer_error(const struct engine_slicer *s)
{
    return s->error;
}
