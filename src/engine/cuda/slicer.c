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

/* Parts of columns, all together, and rows of each part at least: enough threads for a device. */
#define THREADS_WANTED ((size_t)32768)
#define ROWS_LEAST ((size_t)16)
/* The same of parts that come back as records: several threads share one (slice_record.cuh). */
#define RECORDS_WANTED ((size_t)4096)
#define RECORD_ROWS_LEAST ((size_t)128)

struct engine_slicer {
    const struct feeder_device *gpu;
    struct pinned_arena *arena;
    struct cuda_slice_launch launch;
    unsigned wants;     /* partial_want bits */
    bool records;       /* it takes records to find them */
    size_t bytes, room; /* of a chunk; and of what is found */
    cudaStream_t stream;
    cudaEvent_t done;
    struct pinned_piece pinned; /* the buffer, and behind it what was found */
    unsigned char *found;       /* in it */
    unsigned char *device;      /* of the same layout */
    char error[ENGINE_REASON_MAX];
};

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

/* Bytes of a key of extremes. */
static size_t key_bytes(const struct engine_slicer *s)
{
    return s->records || element_size(s->launch.type) == sizeof(double) ? sizeof(int64_t)
                                                                        : sizeof(int32_t);
}

/* Whether the sums of parts come back as two numbers. */
static bool has_low(const struct engine_slicer *s, bool rounded)
{
    return s->records ? (s->wants & PARTIAL_SUM) != 0 : !rounded;
}

/* Bytes of what is found of a part. */
static size_t state_bytes(const struct engine_slicer *s, bool rounded)
{
    size_t bytes = (has_low(s, rounded) ? 2 : 1) * sizeof(double);

    if (s->wants & PARTIAL_EXTREMES)
        bytes += 2 * key_bytes(s);
    if (s->wants & PARTIAL_ABSOLUTE)
        bytes += 2 * sizeof(double);
    if (s->wants & PARTIAL_SQUARES)
        bytes += ENGINE_SLICE_SQUARES * sizeof(double);
    if (s->wants & PARTIAL_SMALL)
        bytes += sizeof(int64_t) + 2 * sizeof(uint32_t);
    if (s->wants & PARTIAL_WHERE)
        bytes += 2 * sizeof(uint32_t);
    return s->wants & PARTIAL_NEGATIVE ? bytes + sizeof(uint32_t) : bytes;
}

/* Bytes of all that a call finds at most: of parts of rows, those that are not cut, and one for so
   many elements; or of those of columns. */
static size_t found_most(const struct engine_slicer *s, size_t bytes)
{
    const size_t part = CUDA_SLICE_PART * element_size(s->launch.type);
    const size_t rows = (ENGINE_SLICES_MAX + bytes / part) * state_bytes(s, false);
    const size_t columns = SLICES_BACK(bytes) + THREADS_WANTED * state_bytes(s, false);

    return rows > columns ? rows : columns;
}

struct engine_slicer *slicer_open(const struct feeder_device *device, struct pinned_arena *arena,
                                  enum element_type type, unsigned wants, bool swap, size_t bytes,
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
    s->wants = wants;
    s->records = cuda_slices_are_records(type, wants);
    s->launch = (struct cuda_slice_launch){
        .type = type, .swap = swap, .part = CUDA_SLICE_PART, .wants = wants};
    s->room = found_most(s, bytes);
    buffer = align_up(bytes, mapping_page());
    all = align_up(buffer + s->room, mapping_page());
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
    s->found = s->pinned.memory + buffer;
    s->launch.data = s->device;
    return s;
}

void *slicer_buffer(struct engine_slicer *s)
{
    return s->pinned.memory;
}

/* How many parts columns are cut into. */
static size_t column_parts(const struct engine_slicer *s, size_t rows, size_t columns)
{
    const size_t least = s->records ? RECORD_ROWS_LEAST : ROWS_LEAST;
    size_t parts = (s->records ? RECORDS_WANTED : THREADS_WANTED) / columns;

    parts = parts > rows / least ? rows / least : parts;
    if (parts > CUDA_SLICE_COLUMNS)
        parts = parts / CUDA_SLICE_COLUMNS * CUDA_SLICE_COLUMNS;
    return parts > 0 ? parts : 1;
}

/* The place of an array of so many bytes, which goes behind those before it; NULL where it is not
   wanted. */
static void *place_array(unsigned char **end, bool wanted, size_t bytes)
{
    unsigned char *const place = *end;

    if (!wanted)
        return NULL;
    *end += bytes;
    return place;
}

/* Where what is found of `count` parts lies: arrays, one behind the other, those of 8 bytes first.
 */
static struct engine_found lay_out(const struct engine_slicer *s, unsigned char *memory,
                                   size_t count, bool rounded)
{
    const bool extremes = s->wants & PARTIAL_EXTREMES, where = s->wants & PARTIAL_WHERE;
    const bool absolute = s->wants & PARTIAL_ABSOLUTE, small = s->wants & PARTIAL_SMALL;
    const size_t eight = count * sizeof(double), four = count * sizeof(uint32_t);
    const size_t keys = count * key_bytes(s);
    struct engine_found f = {.element_keys = s->records};

    f.high = place_array(&memory, true, eight);
    f.low = place_array(&memory, has_low(s, rounded), eight);
    f.min = place_array(&memory, extremes, keys);
    f.max = place_array(&memory, extremes, keys);
    f.more.absolute = place_array(&memory, absolute, eight);
    f.more.absolute_low = place_array(&memory, absolute, eight);
    for (int k = 0; k < ENGINE_SLICE_SQUARES; k++)
        f.more.squares[k] = place_array(&memory, s->wants & PARTIAL_SQUARES, eight);
    f.more.least = place_array(&memory, small, eight);
    f.more.zeros = place_array(&memory, small, four);
    f.more.subnormal = place_array(&memory, small, four);
    f.more.min_index = place_array(&memory, where, four);
    f.more.max_index = place_array(&memory, where, four);
    f.more.negative = place_array(&memory, s->wants & PARTIAL_NEGATIVE, four);
    return f;
}

bool slicer_reduce(struct engine_slicer *s, bool columns, bool rounded, const void *data,
                   size_t rows, size_t length, struct engine_found *found)
{
    const size_t bytes = rows * length * element_size(s->launch.type);
    const size_t slices = columns ? length : rows;
    const size_t parts =
        columns ? column_parts(s, rows, length) : (length + CUDA_SLICE_PART - 1) / CUDA_SLICE_PART;
    struct cuda_slice_launch *l = &s->launch;
    struct engine_found there;
    size_t back;

    rounded = rounded && parts == 1;
    *found = (struct engine_found){.parts = 0};
    if (bytes < SLICES_LEAST || slices * state_bytes(s, rounded) > SLICES_BACK(bytes) ||
        (s->records && rows * length > UINT32_MAX))
        return true;
    back = parts * slices * state_bytes(s, rounded);
    if (bytes > s->bytes || back > s->room) {
        snprintf(s->error, sizeof s->error, "internal error: too many slices");
        return false;
    }
    there = lay_out(s, s->device + (s->found - s->pinned.memory), parts * slices, rounded);
    l->columns = columns;
    l->rows = rows;
    l->length = length;
    l->parts = parts;
    l->high = there.high;
    l->low = there.low;
    l->min = there.min;
    l->max = there.max;
    l->more = there.more;
    *found = lay_out(s, s->found, parts * slices, rounded);
    found->parts = parts;
    /* It may have been opened by another thread. */
    return cuda_check(cudaSetDevice((int)s->gpu->index), "choosing the GPU", s->error) &&
           cuda_check(cudaMemcpyAsync(s->device, data, bytes, cudaMemcpyHostToDevice, s->stream),
                      "copying a chunk", s->error) &&
           cuda_check(cuda_slices(l, s->stream), "starting a kernel", s->error) &&
           cuda_check(cudaMemcpyAsync(s->found, l->high, back, cudaMemcpyDeviceToHost, s->stream),
                      "copying a result", s->error) &&
           cuda_check(cudaEventRecord(s->done, s->stream), "recording an event", s->error) &&
           cuda_check(cudaEventSynchronize(s->done), "reducing a chunk", s->error);
}

const char *slicer_error(const struct engine_slicer *s)
{
    return s->error;
}
