#include "config.h"

#include "cuda/slices.h"

#include "core/order.h"
#include "cuda/runtime/check.h"
#include "cuda/runtime/owned.h"

/* Parts of columns, all together, and rows of each part at least: enough threads for a device. */
#define THREADS_WANTED ((size_t)32768)
#define ROWS_LEAST ((size_t)16)
/* The parts wanted if they come back as records: several threads share one (slice_record.cuh). */
#define RECORDS_WANTED ((size_t)4096)
#define RECORD_ROWS_LEAST ((size_t)128)

static struct cuda_slices *slices_of(struct cuda_job *job)
{
    return (struct cuda_slices *)job;
}

/* Bytes of a key of extremes. */
static size_t key_bytes(const struct cuda_slices *s)
{
    return s->records || element_size(s->launch.type) == sizeof(double) ? sizeof(int64_t)
                                                                        : sizeof(int32_t);
}

/* Whether the sums of parts come back as two numbers. */
static bool has_low(const struct cuda_slices *s, bool rounded)
{
    return s->records ? (s->wants & PARTIAL_SUM) != 0 : !rounded;
}

/* The places of the findings of `count` parts: arrays, one after the other, those of 8 bytes first; NULL
   where they are not wanted. */
static struct engine_found lay_out(const struct cuda_slices *s, struct cuda_cutter *c, size_t count,
                                   bool rounded)
{
    const bool split = s->wants & PARTIAL_SPLIT;
    const size_t eight = count * sizeof(double), four = count * sizeof(uint32_t);
    const size_t keys = s->wants & PARTIAL_EXTREMES ? count * key_bytes(s) : 0;
    const size_t absolute = split || s->wants & PARTIAL_ABSOLUTE ? eight : 0;
    const bool small = split || s->wants & PARTIAL_SMALL;
    const size_t where = s->wants & PARTIAL_WHERE ? four : 0;
    struct engine_found f = {.element_keys = s->records};

    f.high = cuda_cut(c, eight, 1);
    f.low = cuda_cut(c, has_low(s, rounded) ? eight : 0, 1);
    f.min = cuda_cut(c, keys, 1);
    f.max = cuda_cut(c, keys, 1);
    f.more.absolute = cuda_cut(c, absolute, 1);
    f.more.absolute_low = cuda_cut(c, absolute, 1);
    for (int k = 0; k < SLICE_SQUARES_MAX; k++)
        f.more.squares[k] = cuda_cut(c, s->wants & PARTIAL_SQUARES ? eight : 0, 1);
    f.more.least = cuda_cut(c, small ? eight : 0, 1);
    f.more.below = cuda_cut(c, split ? eight : 0, 1);
    f.more.zeros = cuda_cut(c, small ? four : 0, 1);
    f.more.subnormal = cuda_cut(c, small ? four : 0, 1);
    f.more.min_index = cuda_cut(c, where, 1);
    f.more.max_index = cuda_cut(c, where, 1);
    f.more.negative = cuda_cut(c, split || s->wants & PARTIAL_NEGATIVE ? four : 0, 1);
    f.more.missing = cuda_cut(c, s->wants & PARTIAL_MISSING ? four : 0, 1);
    return f;
}

/* Those of the parts of the chunk. */
static struct engine_found lay_out_chunk(const struct cuda_slices *s, unsigned char *memory)
{
    const struct cuda_slice_launch *l = &s->launch;
    struct cuda_cutter cutter = {memory, 0};

    return lay_out(s, &cutter, l->parts * (l->columns ? l->length : l->rows), s->rounded);
}

/* Bytes of what is found of a part. */
static size_t state_bytes(const struct cuda_slices *s, bool rounded)
{
    struct cuda_cutter cutter = {NULL, 0};

    (void)lay_out(s, &cutter, 1, rounded);
    return cutter.size;
}

/* Bytes that may come back of a chunk of so many. */
static size_t back_most(const struct cuda_slices *s, size_t bytes)
{
    return (size_t)((double)bytes * s->tuning->slices_back);
}

/* Bytes of all that a call finds at most: of parts of rows, those that are not cut, and one for so
   many elements; or of those of columns. */
static size_t found_most(const struct cuda_slices *s, size_t bytes)
{
    const size_t part = CUDA_SLICE_PART * element_size(s->launch.type);
    const size_t rows = (ENGINE_SLICES_MAX + bytes / part) * state_bytes(s, false);
    const size_t columns = back_most(s, bytes) + THREADS_WANTED * state_bytes(s, false);

    return rows > columns ? rows : columns;
}

/* How many parts columns are cut into. */
static size_t column_parts(const struct cuda_slices *s, size_t rows, size_t columns)
{
    const size_t least = s->records ? RECORD_ROWS_LEAST : ROWS_LEAST;
    size_t parts = (s->records ? RECORDS_WANTED : THREADS_WANTED) / columns;

    parts = parts > rows / least ? rows / least : parts;
    if (parts > CUDA_SLICE_COLUMNS)
        parts = parts / CUDA_SLICE_COLUMNS * CUDA_SLICE_COLUMNS;
    return parts > 0 ? parts : 1;
}

enum cuda_slices_verdict cuda_slices_shape(struct cuda_slices *s, bool columns, bool rounded,
                                           size_t rows, size_t length)
{
    const size_t bytes = rows * length * element_size(s->launch.type);
    const size_t slices = columns ? length : rows;
    const size_t parts =
        columns ? column_parts(s, rows, length) : (length + CUDA_SLICE_PART - 1) / CUDA_SLICE_PART;

    rounded = rounded && parts == 1;
    if (bytes < s->tuning->slices_least || slices * state_bytes(s, rounded) > back_most(s, bytes) ||
        (s->records && rows * length > UINT32_MAX))
        return CUDA_SLICES_CPU;
    s->sent = parts * slices * state_bytes(s, rounded);
    if (bytes > s->bytes || s->sent > s->room)
        return CUDA_SLICES_TOO_MANY;
    s->rounded = rounded;
    s->launch.columns = columns;
    s->launch.rows = rows;
    s->launch.length = s->launch.pitch = length;
    s->launch.parts = parts;
    return CUDA_SLICES_GOOD;
}

static bool begin(struct cuda_job *job, unsigned char *device, unsigned char *pinned,
                  cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    struct cuda_slices *s = slices_of(job);

    (void)stream;
    (void)reason;
    s->device = device;
    s->pinned = pinned;
    return true;
}

static bool add(struct cuda_job *job, unsigned slot, const void *data, size_t count, uint64_t index,
                cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    struct cuda_slices *s = slices_of(job);
    struct cuda_slice_launch *l = &s->launch;
    const struct engine_found there = lay_out_chunk(s, s->device);

    (void)slot;
    (void)count;
    (void)index;
    l->data = data;
    l->high = there.high;
    l->low = there.low;
    l->min = there.min;
    l->max = there.max;
    l->more = there.more;
    return cuda_check(cuda_slices(l, stream), "starting a kernel", reason);
}

static bool send(struct cuda_job *job, unsigned slot, cudaStream_t stream,
                 char reason[ENGINE_REASON_MAX])
{
    const struct cuda_slices *s = slices_of(job);

    (void)slot;
    return cuda_check(
        cudaMemcpyAsync(s->pinned, s->device, s->sent, cudaMemcpyDeviceToHost, stream),
        "copying a result", reason);
}

static bool collect(struct cuda_job *job, unsigned slot, char reason[ENGINE_REASON_MAX])
{
    struct cuda_slices *s = slices_of(job);

    (void)slot;
    (void)reason;
    s->found = lay_out_chunk(s, s->pinned);
    s->found.parts = s->launch.parts;
    return true;
}

struct cuda_slice_split cuda_slice_split(enum element_type type, const struct partial_split *split)
{
    struct cuda_slice_split found = {.all_below = split->all_below};

    if (split->all_below)
        return found;
    found.has_equal = split->last_equal + 1 != split->first;
    found.first = order_to_element_key(type, split->first);
    if (found.has_equal)
        found.equal = order_to_element_key(type, split->last_equal);
    return found;
}

void cuda_slices_init(struct cuda_slices *s, const struct engine_slice_setup *setup, size_t bytes,
                      const struct gpu_tuning *tuning)
{
    static const struct cuda_job_kind kind = {
        .begin = begin, .add = add, .send = send, .collect = collect};

    *s = (struct cuda_slices){
        .job = {.kind = &kind},
        .launch = {.type = setup->type,
                   .swap = setup->swap,
                   .part = CUDA_SLICE_PART,
                   .wants = setup->wants},
        .wants = setup->wants,
        .records = cuda_slices_are_records(setup->type, setup->wants),
        .bytes = bytes,
        .tuning = tuning,
    };
    if (setup->wants & PARTIAL_MISSING)
        cuda_missing_set(&s->launch.missing, setup->type, setup->missing);
    if (setup->wants & PARTIAL_SPLIT)
        s->launch.split = cuda_slice_split(setup->type, setup->split);
    s->room = align_up(found_most(s, bytes), CUDA_JOB_ALIGNMENT);
    s->job.device_bytes = s->job.pinned_bytes = s->room;
}
