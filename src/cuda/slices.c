#include "config.h"

#include "cuda/slices.h"

#include "core/order.h"
#include "cuda/runtime/check.h"

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

/* Bytes of what is found of a part. */
static size_t state_bytes(const struct cuda_slices *s, bool rounded)
{
    size_t bytes = (has_low(s, rounded) ? 2 : 1) * sizeof(double);

    if (s->wants & PARTIAL_EXTREMES)
        bytes += 2 * key_bytes(s);
    if (s->wants & (PARTIAL_ABSOLUTE | PARTIAL_SPLIT))
        bytes += 2 * sizeof(double);
    if (s->wants & PARTIAL_SQUARES)
        bytes += SLICE_SQUARES_MAX * sizeof(double);
    if (s->wants & (PARTIAL_SMALL | PARTIAL_SPLIT))
        bytes += sizeof(int64_t) + 2 * sizeof(uint32_t);
    if (s->wants & PARTIAL_WHERE)
        bytes += 2 * sizeof(uint32_t);
    if (s->wants & PARTIAL_SPLIT)
        bytes += sizeof(int64_t);
    if (s->wants & PARTIAL_MISSING)
        bytes += sizeof(uint32_t);
    return s->wants & (PARTIAL_NEGATIVE | PARTIAL_SPLIT) ? bytes + sizeof(uint32_t) : bytes;
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

/* The places of the findings of `count` parts: arrays, one after the other, those of 8 bytes first.
 */
static struct engine_found lay_out(const struct cuda_slices *s, unsigned char *memory, size_t count,
                                   bool rounded)
{
    const bool extremes = s->wants & PARTIAL_EXTREMES, where = s->wants & PARTIAL_WHERE;
    const bool split = s->wants & PARTIAL_SPLIT;
    const bool absolute = split || s->wants & PARTIAL_ABSOLUTE;
    const bool small = split || s->wants & PARTIAL_SMALL;
    const size_t eight = count * sizeof(double), four = count * sizeof(uint32_t);
    const size_t keys = count * key_bytes(s);
    struct engine_found f = {.element_keys = s->records};

    f.high = place_array(&memory, true, eight);
    f.low = place_array(&memory, has_low(s, rounded), eight);
    f.min = place_array(&memory, extremes, keys);
    f.max = place_array(&memory, extremes, keys);
    f.more.absolute = place_array(&memory, absolute, eight);
    f.more.absolute_low = place_array(&memory, absolute, eight);
    for (int k = 0; k < SLICE_SQUARES_MAX; k++)
        f.more.squares[k] = place_array(&memory, s->wants & PARTIAL_SQUARES, eight);
    f.more.least = place_array(&memory, small, eight);
    f.more.below = place_array(&memory, split, eight);
    f.more.zeros = place_array(&memory, small, four);
    f.more.subnormal = place_array(&memory, small, four);
    f.more.min_index = place_array(&memory, where, four);
    f.more.max_index = place_array(&memory, where, four);
    f.more.negative = place_array(&memory, split || s->wants & PARTIAL_NEGATIVE, four);
    f.more.missing = place_array(&memory, s->wants & PARTIAL_MISSING, four);
    return f;
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
    const size_t all = l->parts * (l->columns ? l->length : l->rows);
    const struct engine_found there = lay_out(s, s->device, all, s->rounded);

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
    const struct cuda_slice_launch *l = &s->launch;

    (void)slot;
    (void)reason;
    s->found = lay_out(s, s->pinned, l->parts * (l->columns ? l->length : l->rows), s->rounded);
    s->found.parts = l->parts;
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
