#include "config.h"

#include "cuda/array_slices.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/array_launch.h"
#include "cuda/guest.h"
#include "cuda/runtime/owned.h"
#include "cuda/slice_launch.h"

/* Columns of all parts together, and rows of each part at least: with CUDA_SLICE_COLUMNS of them a
   thread there are as many threads as an H200 holds at once. Rows that are not cut: they are read sooner than
   parts of them are merged by another kernel. */
#define COLUMNS_WANTED ((uint64_t)1 << 18)
#define ROWS_LEAST ((uint64_t)16)
#define ROWS_WHOLE ((uint64_t)128)

/* Elements of rows that are cut into long parts, at least: those are enough for a device. */
#define LONG_LEAST ((uint64_t)1 << 27)

/* Parts that one warp merges, at most, and warps that are enough for a device. */
#define MERGED_MOST ((uint64_t)256)
#define WARPS_WANTED ((uint64_t)8192)

/* Parts of a launch whose results are not put at once, at most. */
#define PARTS_MAX ((uint64_t)1 << 21)

/* Sums of columns of integers of up to 32 bits with so many rows are below 2^53. */
#define SMALL_ROWS ((uint64_t)1 << 21)

/* Elements of slices that a warp finds again by itself. Longer ones are found sooner by blocks; of var
   and std, one by one. */
#define WHOLE_LENGTH ((uint64_t)1 << 12)
#define WHOLE_SPREAD ((uint64_t)1 << 20)

/* Elements that a block finds again by itself; slices for which several do; and blocks a
   multiprocessor. */
#define SEGMENT ((uint64_t)1 << 16)
#define SUMS ((uint64_t)256)
#define BLOCKS_AGAIN 4

/* Elements of a slice for each thread that looks at it, bytes of a row, and threads of a column's, at least;
   blocks that are enough for a multiprocessor; and elements for each thread of a part of a slice. */
#define LOOK_ELEMENTS ((uint64_t)8)
#define LOOK_BYTES ((uint64_t)64)
#define LOOK_COLUMN_LANES 32
#define LOOK_BLOCKS 8
#define LOOK_PART ((uint64_t)32)

/* Elements of slices that are few: then a block has CUDA_SELECT_SLICES of them. Else it has so many, or twice as
   many, if their keys take no more bytes of shared memory than so many; bytes of that which it has besides;
   and blocks that are enough for a multiprocessor. */
#define SELECT_FEW 32
#define SELECT_SLICES 16
#define SELECT_BYTES ((size_t)32 << 10)
#define SELECT_STATIC ((size_t)3 << 10)
#define SELECT_BLOCKS 4

/* Elements of slices that blocks read again and again, at least; bytes of neighbours that one reads together;
   bytes that one takes a nanosecond for, and blocks of a multiprocessor; the nanoseconds that a slice takes that
   is reduced by itself, and the bytes that take it one more. */
#define SELECT_LONG ((uint64_t)2048)
#define SELECT_COLUMN 32
#define SELECT_RATE 4
#define SELECT_AGAIN_BLOCKS 2
#define ALONE_TIME 250000
#define ALONE_BYTES 100

/* Elements of slices that kernels take a nanosecond for: of listed ones that are found again; and of all that are
   reduced once more, with NaNs as missing; each by sums, and by squares. Nanoseconds for an element of a slice that
   a warp finds again; how many times as long that must take unless NaNs are left out; and elements of slices that
   are worth it. */
#define AGAIN_SUMS 150
#define AGAIN_SQUARES 60
#define SKIP_SUMS 250
#define SKIP_SQUARES 150
#define AGAIN_ALONE 16
#define SKIP_DOUBT 4
#define SKIP_LENGTH ((uint64_t)1024)

/* Results that are not known: how many, and which. */
#define LIST_BYTES ((size_t)(CUDA_ARRAY_UNKNOWN + 1) * sizeof(uint64_t))
#define FOUND_BYTES \
    (LIST_BYTES + (size_t)SUMS * sizeof(struct cuda_slice_sum) + sizeof(uint64_t)) /* blocks */

/* Copied elements are in as many whole rows that the memory is aligned after them. */
#define ROWS_ALIGNED 16

/* Bytes that are copied at a time, at most. */
#define COPIED_MOST ((uint64_t)4 << 30)

/* Addresses that are known to be a device's. */
#define KNOWN 4

static const char *const launching = "starting a kernel";

/* Results that are not known, in memory of the host. */
struct list {
    uint32_t any;                             /* 1 if there are some; kernels set it */
    uint64_t numbers[1 + CUDA_ARRAY_UNKNOWN]; /* how many, and which; copied once that is wanted */
};

struct cuda_summer {
    struct cuda_site site;    /* its event is recorded after the last call */
    const void *known[KNOWN]; /* memory of the device: of elements and results of the last calls */
    struct cuda_room parts, stage, found;
    struct cuda_room pinned; /* a struct list */
    bool dirty;              /* `found` is not zero, or not begun */
    bool endless;            /* of the last call none is known */
    bool all;                /* of the last call kernels find all, */
    bool later;              /* but those that are listed only when the list is fetched */
    uint64_t *results;       /* of that call, as is the stream: */
    cudaStream_t stream;
    bool unrecorded; /* the event was not recorded after it, which was on the legacy stream */
    /* The call that puts results. If its elements have a mask, they are copies, which are described here, and
       what is missing is the NaN of all bits. They may also be the same elements, of which NaNs are missing. */
    const struct cuda_array_elements *elements;
    const struct cuda_array_axis *axis;
    struct {
        struct cuda_room room;
        struct cuda_array_elements elements;
        struct cuda_array_axis axis;
        struct view_layout row, shaped;
        struct missing missing;
    } copies;
    unsigned wants; /* partial_want bits */
    uint64_t pitch; /* elements from a row to the next where they lie; 0: they are copied */
    uint64_t part;  /* elements of a part of a row */
    bool records;   /* kernels find these as records */
    bool magnitudes, rounded; /* as a launch has them */
};

void cuda_summer_close(struct cuda_summer *s)
{
    if (!s)
        return;
    cuda_site_close(&s->site);
    free(s);
}

/* A launch: rows; each is a slice, or each column. */
struct block {
    const unsigned char *data;
    uint64_t rows, length, pitch;
    bool columns;
    uint64_t further; /* blocks of as many rows that follow */
    uint64_t *results;
    uint64_t first; /* number of the first slice */
};

/* The elements of a row: a slice, or as many as there are columns. */
static uint64_t row_length(const struct cuda_array_axis *axis)
{
    return axis->inner == 1 ? axis->length : axis->inner;
}

/* Elements from a row to the next, all over the array, if kernels can read them where they lie; else 0. */
static uint64_t row_pitch(const struct cuda_array_elements *e, const struct cuda_array_axis *axis)
{
    const int64_t size = (int64_t)element_size(e->type);
    const struct view_layout *shaped = axis->shaped;
    const uint64_t row = row_length(axis);
    int64_t stride = size, pitch = (int64_t)row * size;
    unsigned d = shaped->rank;

    if ((uintptr_t)shaped->data % (uintptr_t)size != 0)
        return 0;
    for (uint64_t n = 1; n < row; stride = (int64_t)n * size) {
        if (shaped->sizes[--d] > 1 && shaped->strides[d] != stride)
            return 0;
        n *= shaped->sizes[d];
    }
    stride = 0;
    while (d-- > 0) {
        if (shaped->sizes[d] == 1)
            continue;
        if (stride == 0)
            stride = pitch = shaped->strides[d];
        if (shaped->strides[d] != stride || pitch < (int64_t)row * size || pitch % size != 0)
            return 0;
        stride *= (int64_t)shaped->sizes[d];
    }
    return (uint64_t)(pitch / size);
}

/* Whether elements may be missing; and the bits of those that are. */
static bool lacks_some(const struct cuda_array_elements *e)
{
    return e->missing || e->masked;
}

static uint64_t all_bits(enum element_type type)
{
    return UINT64_MAX >> (64 - 8 * element_size(type));
}

static void set_missing(struct cuda_missing *m, const struct cuda_array_elements *e)
{
    m->count = 0;
    if (e->missing)
        cuda_missing_set(m, e->type, e->missing);
    if (e->masked)
        cuda_missing_add_bits(m, all_bits(e->type));
}

/* Says what kernels have to find. */
static void plan(struct cuda_summer *s, const struct cuda_array_elements *e,
                 const struct cuda_array_axis *axis)
{
    s->elements = e;
    s->axis = axis;
    s->all = cuda_array_finds_all(e->type, &axis->wish);
    s->magnitudes = axis->wish.op == CUDA_SLICE_L1 && element_is_float(e->type) && !lacks_some(e);
    s->rounded = cuda_slice_squares(axis->wish.op) && element_size(e->type) == sizeof(double) &&
                 !lacks_some(e);
    s->wants = cuda_slice_squares(axis->wish.op)                  ? PARTIAL_SUM | PARTIAL_SQUARES
               : axis->wish.op == CUDA_SLICE_L1 && !s->magnitudes ? PARTIAL_ABSOLUTE
               : axis->wish.op == CUDA_SLICE_MIN || axis->wish.op == CUDA_SLICE_MAX
                   ? PARTIAL_EXTREMES
                   : PARTIAL_SUM;
    s->wants |= lacks_some(e) ? PARTIAL_MISSING : 0;
    s->records = cuda_slices_are_records(e->type, s->wants) && s->wants != PARTIAL_SUM;
    s->pitch = row_pitch(e, axis);
    s->part = axis->inner == 1 && e->count >= LONG_LEAST && s->pitch > 0 &&
                      s->pitch * element_size(e->type) % CUDA_ALIGNMENT == 0 &&
                      (uintptr_t)e->layout->data % CUDA_ALIGNMENT == 0 &&
                      cuda_slices_have_long(e->type, s->wants, axis->length)
                  ? CUDA_SLICE_LONG
                  : CUDA_SLICE_PART;
}

/* Lays out what is found of `count` parts. */
static struct cuda_slice_parts lay_out(const struct cuda_summer *s, struct cuda_cutter *c,
                                       uint64_t count)
{
    const size_t bytes = (size_t)count * sizeof(double);
    const size_t extremes = s->wants & PARTIAL_EXTREMES ? bytes : 0;
    struct cuda_slice_parts parts = {.high = cuda_cut(c, bytes, CUDA_ALIGNMENT)};

    parts.low = cuda_cut(c, bytes, CUDA_ALIGNMENT);
    for (int k = 0; k < SLICE_SQUARES_MAX; k++)
        parts.squares[k] = cuda_cut(c, s->wants & PARTIAL_SQUARES ? bytes : 0, CUDA_ALIGNMENT);
    parts.bound = cuda_cut(c, s->rounded ? bytes : 0, CUDA_ALIGNMENT);
    parts.min = cuda_cut(c, extremes, CUDA_ALIGNMENT);
    parts.max = cuda_cut(c, extremes, CUDA_ALIGNMENT);
    parts.missing = cuda_cut(c, s->wants & PARTIAL_MISSING ? bytes : 0, CUDA_ALIGNMENT);
    return parts;
}

/* Lays out the parts of a merge, and its groups of them. */
static void lay_out_merge(const struct cuda_summer *s, struct cuda_cutter *c, struct cuda_merge *m)
{
    m->from = lay_out(s, c, m->slices * m->parts);
    m->group = lay_out(s, c, m->slices * m->groups);
}

static uint64_t column_parts(uint64_t rows, uint64_t columns)
{
    uint64_t parts = COLUMNS_WANTED / columns;

    if (rows <= ROWS_WHOLE)
        return 1;
    parts = parts > rows / ROWS_LEAST ? rows / ROWS_LEAST : parts;
    if (parts > CUDA_SLICE_COLUMNS)
        parts = parts / CUDA_SLICE_COLUMNS * CUDA_SLICE_COLUMNS;
    return parts > 0 ? parts : 1;
}

static uint64_t row_parts(const struct cuda_summer *s, uint64_t length)
{
    return (length + s->part - 1) / s->part;
}

/* Groups of the parts of each slice that are merged by themselves first: about as many as each has
   parts, since a warp takes them one after the other. */
static uint64_t merge_groups(uint64_t slices, uint64_t parts)
{
    const uint64_t most = WARPS_WANTED / slices;
    uint64_t groups = 1;

    while (parts > MERGED_MOST && groups * groups < parts)
        groups *= 2;
    return groups < most ? groups : most > 1 ? most : 1;
}

static struct list *list_of(const struct cuda_summer *s)
{
    return (void *)s->pinned.memory;
}

static struct cuda_list unknown_list(const struct cuda_summer *s)
{
    struct list *const seen = (void *)s->pinned.seen;

    return (struct cuda_list){
        .found = (void *)s->found.memory, .room = CUDA_ARRAY_UNKNOWN, .any = &seen->any};
}

/* Merges parts: if there are many, groups of them first. */
static bool merge_parts(struct cuda_summer *s, struct cuda_merge merge, struct error *error)
{
    struct cuda_merge group = merge;

    if (merge.groups > 1) {
        if (!cuda_guest_check(cuda_merge(&group, s->site.multiprocessors, s->stream), launching,
                              error))
            return false;
        merge.from = group.group;
        merge.parts = group.groups;
        merge.width = 0;
        merge.groups = 1;
    }
    return cuda_guest_check(cuda_merge(&merge, s->site.multiprocessors, s->stream), launching,
                            error);
}

/* How many parts each slice is cut into. */
static uint64_t block_parts(const struct cuda_summer *s, const struct block *b)
{
    return b->columns ? column_parts(b->rows, b->length * (1 + b->further))
                      : row_parts(s, b->length);
}

/* Whether kernels put the results of a block themselves. */
static bool is_direct(const struct cuda_summer *s, const struct block *b)
{
    /* Whether sums of integers of 64 bits fit, kernels see. */
    const bool sees = element_size(s->elements->type) > 4 || s->wants == PARTIAL_EXTREMES;
    const bool small = !b->columns || b->rows <= SMALL_ROWS;

    return block_parts(s, b) == 1 &&
           (!s->records || cuda_slices_are_plain(s->elements->type, s->wants, s->rounded)) &&
           (s->axis->wish.letter == 'f' || sees || small) &&
           (uintptr_t)b->results % CUDA_ALIGNMENT == 0;
}

static bool reduce_block(struct cuda_summer *s, const struct block *b, struct error *error)
{
    const struct cuda_array_elements *e = s->elements;
    const uint64_t slices = b->columns ? b->length * (1 + b->further) : b->rows;
    const uint64_t parts = block_parts(s, b);
    struct cuda_slice_launch launch = {.type = e->type,
                                       .swap = e->swap,
                                       .columns = b->columns,
                                       .data = b->data,
                                       .rows = (size_t)b->rows,
                                       .length = (size_t)b->length,
                                       .pitch = (size_t)b->pitch,
                                       .parts = (size_t)parts,
                                       .part = (size_t)s->part,
                                       .further = (size_t)b->further,
                                       .wants = s->wants,
                                       .magnitudes = s->magnitudes,
                                       .rounded = s->rounded,
                                       .wish = s->axis->wish,
                                       .unknown = unknown_list(s),
                                       .first = b->first};
    struct cuda_merge merge = {.slices = slices,
                               .parts = parts,
                               .width = b->columns ? b->length : 0,
                               .wish = s->axis->wish,
                               .to = b->results,
                               .unknown = launch.unknown,
                               .first = b->first,
                               .groups = merge_groups(slices, parts)};
    struct cuda_cutter cutter = {NULL, 0};

    if (is_direct(s, b)) {
        launch.results = b->results;
        return cuda_guest_check(cuda_slices(&launch, s->stream), launching, error);
    }
    lay_out_merge(s, &cutter, &merge);
    if (!cuda_room_grow(&s->site, &s->parts, cutter.size, error))
        return false;
    cutter = (struct cuda_cutter){s->parts.memory, 0};
    lay_out_merge(s, &cutter, &merge);
    merge.from.narrow = !s->records && element_size(e->type) < sizeof(double);
    if (s->wants & PARTIAL_ABSOLUTE) {
        launch.more.absolute = merge.from.high;
        launch.more.absolute_low = merge.from.low;
    } else {
        launch.high = merge.from.high;
        launch.low = merge.from.low;
    }
    launch.bound = merge.from.bound;
    launch.min = merge.from.min;
    launch.max = merge.from.max;
    launch.more.missing = merge.from.missing;
    memcpy(launch.more.squares, merge.from.squares, sizeof launch.more.squares);
    set_missing(&launch.missing, e);
    return cuda_guest_check(cuda_slices(&launch, s->stream), launching, error) &&
           merge_parts(s, merge, error);
}

/* Reduces `count` elements from number `first` on, which are whole slices, where they lie, or copies of
   them. */
static bool reduce_elements(struct cuda_summer *s, uint64_t first, uint64_t count, struct block *b,
                            struct error *error)
{
    const struct cuda_array_elements *e = s->elements;
    const size_t size = element_size(e->type);
    const uint64_t row = row_length(s->axis);
    struct cuda_gather job = cuda_gather_of(e->layout, size, first, count);

    b->pitch = s->pitch > 0 ? s->pitch : row;
    b->data = e->layout->data + first / row * b->pitch * size;
    if (s->pitch > 0)
        return reduce_block(s, b, error);
    if (!cuda_room_grow(&s->site, &s->stage, (size_t)count * size, error))
        return false;
    b->data = job.to = s->stage.memory;
    return cuda_guest_check(cuda_gather(&job, s->site.multiprocessors, s->stream), launching,
                            error) &&
           reduce_block(s, b, error);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The rows are slices. */
static bool reduce_rows(struct cuda_summer *s, uint64_t *results, struct error *error)
{
    const struct cuda_array_axis *axis = s->axis;
    const size_t size = element_size(s->elements->type);
    uint64_t most = UINT64_MAX;

    if (!is_direct(s, &(struct block){.length = axis->length, .results = results}))
        most = PARTS_MAX / row_parts(s, axis->length);
    if (s->pitch == 0 && size * axis->length > CUDA_STAGE_BYTES)
        most = 1;
    else if (s->pitch == 0)
        most = least(most, CUDA_STAGE_BYTES / size / axis->length);
    most = most > ROWS_ALIGNED ? most / ROWS_ALIGNED * ROWS_ALIGNED : most;
    for (uint64_t at = 0, n; at < axis->outer; at += n) {
        struct block b = {.length = axis->length, .results = results + at, .first = at};

        n = b.rows = least(most, axis->outer - at);
        if (!reduce_elements(s, at * axis->length, n * axis->length, &b, error))
            return false;
    }
    return true;
}

/* Blocks of rows, of which the columns are slices. */
static bool reduce_columns(struct cuda_summer *s, uint64_t *results, struct error *error)
{
    const struct cuda_array_axis *axis = s->axis;
    const uint64_t count = axis->length * axis->inner;
    const uint64_t bytes = count * element_size(s->elements->type);
    uint64_t most = s->pitch > 0 ? axis->outer : CUDA_STAGE_BYTES / bytes;

    /* So that what is found of all has room. */
    most = least(most > 0 ? most : 1, PARTS_MAX / axis->inner + 1);
    for (uint64_t i = 0, n; i < axis->outer; i += n) {
        struct block b = {.rows = axis->length,
                          .length = axis->inner,
                          .columns = true,
                          .results = results + i * axis->inner,
                          .first = i * axis->inner};

        n = least(most, axis->outer - i);
        b.further = n - 1;
        if (!reduce_elements(s, i * count, n * count, &b, error))
            return false;
    }
    return true;
}

/* Whether the kernels can have all slices: there must be room for those that are to be copied, and a few
   that are long are reduced sooner one by one. Records have indices of 32 bits. */
static bool can_reduce(struct cuda_summer *s)
{
    const struct cuda_array_elements *e = s->elements;
    const struct cuda_array_axis *axis = s->axis;
    const size_t size = element_size(e->type);
    const uint64_t unit = axis->length * axis->inner * size;
    struct error ignored = {.kind = ERROR_NONE};

    if ((axis->inner == 1 && row_parts(s, axis->length) > PARTS_MAX / ROWS_ALIGNED) ||
        (s->records && axis->length >= UINT32_MAX))
        return false;
    return s->pitch > 0 || unit <= CUDA_STAGE_BYTES ||
           (unit <= COPIED_MOST && cuda_room_grow(&s->site, &s->stage, (size_t)unit, &ignored));
}

/* Finds the device that has this memory, as cuda_guest_find does; it is not asked again about that of
   the last calls. */
static bool find_device(struct cuda_summer *s, int *device, const void *memory, struct error *error)
{
    for (unsigned i = 0; i < KNOWN && *device == s->site.device; i++)
        if (s->known[i] == memory)
            return true;
    return cuda_guest_find(device, memory, error);
}

static bool record(struct cuda_summer *s, struct error *error)
{
    s->unrecorded = false;
    return cuda_guest_check(cudaEventRecord(s->site.event, s->stream), "recording an event", error);
}

/* Whether a handle is that of the legacy stream, at all times and of all threads. */
static bool is_legacy(cudaStream_t stream)
{
    return !stream || stream == cudaStreamLegacy;
}

/* Makes the stream wait for the last call. */
static bool await_last(struct cuda_summer *s, cudaStream_t stream, struct error *error)
{
    enum cudaStreamCaptureStatus capture;

    if (!cuda_guest_check(cudaStreamIsCapturing(stream, &capture), "asking the GPU", error))
        return false;
    /* The memory of the summer is not the graph's. */
    if (capture != cudaStreamCaptureStatusNone)
        return error_set(error, ERROR_GPU, "the stream is being captured");
    if (!s->site.event || (is_legacy(stream) && is_legacy(s->stream)))
        return true;
    /* Also on a stream of the same handle, which may be another one: of another thread, or made anew. */
    return (!s->unrecorded || record(s, error)) &&
           cuda_guest_check(cudaStreamWaitEvent(stream, s->site.event, 0), "waiting", error);
}

static bool enter(struct cuda_summer *s, const struct cuda_array_elements *e, const void *results,
                  struct error *error)
{
    struct error ignored = {.kind = ERROR_NONE};
    int device = e->device, other = e->device;

    if (!find_device(s, &device, e->layout->data, error))
        return false;
    if (!find_device(s, &other, results, &ignored) || other != device)
        return error_set(error, ERROR_REQUEST,
                         "the results are not in memory of the elements' device");
    if (e->masked && (!cuda_guest_find(&other, e->masked->mask, error) || other != device))
        return error_set(error, ERROR_REQUEST, "the mask is on another device than the elements");
    if (device != s->site.device)
        memset(s->known, 0, sizeof s->known);
    if (!cuda_site_enter(&s->site, device, error) || !await_last(s, e->stream, error)) {
        cuda_site_leave(&s->site);
        return false;
    }
    s->stream = e->stream;
    memmove(s->known + 2, s->known, sizeof s->known - 2 * sizeof *s->known);
    s->known[0] = e->layout->data;
    s->known[1] = results;
    return true;
}

/* Begins a call about the results of the last one. */
static bool enter_again(struct cuda_summer *s, struct error *error)
{
    return cuda_site_enter(&s->site, s->site.device, error);
}

/* Ends a call, and keeps no more memory than most copies need. After a failure, waits for the kernels that
   were launched: the next call may begin the list on another stream, and this one may be gone by then. Returns
   `good`. */
static bool leave(struct cuda_summer *s, bool good)
{
    if (!good) {
        (void)cudaStreamSynchronize(s->stream);
        s->unrecorded = false;
    }
    if (s->stage.bytes > CUDA_STAGE_BYTES)
        cuda_room_free(&s->stage);
    cuda_site_leave(&s->site);
    return good;
}

/* Allocates what the list needs, as far as it is not there. */
static bool open_list(struct cuda_summer *s, struct error *error)
{
    s->dirty = true;
    return cuda_room_grow(&s->site, &s->found, FOUND_BYTES, error) &&
           cuda_room_pin(&s->site, &s->pinned, sizeof(struct list), error) &&
           cuda_site_event(&s->site, error);
}

/* Begins the list of results that are not known. `can`: kernels look for them; else none is known. */
static bool begin_list(struct cuda_summer *s, bool can, struct error *error)
{
    if (s->dirty && !cuda_guest_check(cudaMemsetAsync(s->found.memory, 0, FOUND_BYTES, s->stream),
                                      launching, error))
        return false;
    s->dirty = true; /* unless it ends well */
    s->endless = !can;
    list_of(s)->any = 0;
    return true;
}

/* Ends it, after the last kernel. Nobody waits for results that kernels find, and work that follows on the
   legacy stream needs no event. */
static bool end_list(struct cuda_summer *s, struct error *error)
{
    s->unrecorded = s->all && s->axis->no_wait && is_legacy(s->stream);
    return s->unrecorded || record(s, error);
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Whether the elements of a slice lie closer together than its neighbours do. */
static bool is_along(const struct cuda_slice_job *job)
{
    const struct view_layout *slices = &job->slices;

    return slices->rank == 0 || llabs(job->step) <= llabs(slices->strides[slices->rank - 1]);
}

/* Whether elements of slices lie in rows, which can be read 16 bytes at a time. */
static bool is_row(const struct cuda_slice_job *job)
{
    bool aligned = (uintptr_t)job->slices.data % CUDA_ALIGNMENT == 0;

    for (unsigned d = 0; d < job->slices.rank; d++)
        aligned =
            aligned && (job->slices.sizes[d] == 1 || job->slices.strides[d] % CUDA_ALIGNMENT == 0);
    return aligned && job->along && job->step == (int64_t)element_size(job->type);
}

/* Describes all slices where they lie, which are found again if they are listed. */
static struct cuda_slice_job job_of(const struct cuda_summer *s, uint64_t *results)
{
    const struct cuda_array_elements *e = s->elements;
    const struct cuda_array_axis *axis = s->axis;
    const struct view_layout *shaped = axis->shaped;
    struct cuda_slice_job job = {.type = e->type,
                                 .swap = e->swap,
                                 .slices.data = shaped->data,
                                 .step = shaped->strides[axis->number],
                                 .length = axis->length,
                                 .all = axis->outer * axis->inner,
                                 .list = unknown_list(s),
                                 .wish = axis->wish,
                                 .results = results,
                                 .blocks = (unsigned)(BLOCKS_AGAIN * s->site.multiprocessors),
                                 .whole = axis->length <= WHOLE_LENGTH,
                                 .segment = SEGMENT,
                                 .sums = (void *)(s->found.memory + LIST_BYTES),
                                 .sum_count = SUMS,
                                 .done =
                                     (void *)(s->found.memory + FOUND_BYTES - sizeof(uint64_t))};

    for (unsigned d = 0; d < shaped->rank; d++)
        if (d != axis->number) {
            job.slices.sizes[job.slices.rank] = shaped->sizes[d];
            job.slices.strides[job.slices.rank++] = shaped->strides[d];
        }
    set_missing(&job.missing, e);
    job.along = is_along(&job);
    job.row = is_row(&job);
    return job;
}

/* Finds all results again that are not known, and empties the list. */
static bool find_again(struct cuda_summer *s, uint64_t *results, struct error *error)
{
    const struct cuda_slice_job job = job_of(s, results);

    return cuda_guest_check(cuda_slices_exact(&job, s->stream), launching, error);
}

static bool reduce(struct cuda_summer *s, uint64_t *results, struct error *error)
{
    return s->axis->inner == 1 ? reduce_rows(s, results, error) : reduce_columns(s, results, error);
}

/* Makes all results unknown, and has kernels that find some again look at all. */
static bool know_none(struct cuda_summer *s, uint64_t *results, struct error *error)
{
    const size_t bytes = (size_t)(s->axis->outer * s->axis->inner) * sizeof *results;

    return cuda_guest_check(cudaMemsetAsync(results, 0xff, bytes, s->stream), launching, error) &&
           cuda_guest_check(cudaMemsetAsync(s->found.memory, 0xff, sizeof(uint64_t), s->stream),
                            launching, error);
}

/* Puts results that are found by sums. */
static bool add_up(struct cuda_summer *s, uint64_t *results, struct error *error)
{
    const bool can = can_reduce(s);

    s->later = s->all && can && !s->axis->no_wait;
    s->results = results;
    return begin_list(s, can || s->all, error) &&
           (can ? reduce(s, results, error) : know_none(s, results, error)) &&
           (!s->all || s->later || find_again(s, results, error)) && end_list(s, error);
}

/* Whether slices are so long that it may be worth while to take NaNs for missing. */
static bool may_skip(const struct cuda_summer *s)
{
    return element_is_float(s->elements->type) && cuda_slice_adds(s->axis->wish.op) &&
           !lacks_some(s->elements) && s->axis->length >= SKIP_LENGTH &&
           s->axis->length < UINT32_MAX;
}

/* Copies the list of results that are not known, and says how many there are. */
static bool copy_list(struct cuda_summer *s, uint64_t *found, struct error *error)
{
    struct list *const list = list_of(s);

    if (!cuda_guest_check(cudaMemcpyAsync(list->numbers, s->found.memory, LIST_BYTES,
                                          cudaMemcpyDeviceToHost, s->stream),
                          "copying a result", error) ||
        !cuda_guest_check(cudaStreamSynchronize(s->stream), "reducing", error))
        return false;
    *found = list->numbers[0];
    return true;
}

/* Whether all slices are sooner reduced once more, with NaNs as missing, than so many are found again. Unless NaNs
   are left out, there may be none, and other reasons why results are not known. */
static bool skips_sooner(const struct cuda_summer *s, uint64_t listed)
{
    const bool squares = cuda_slice_squares(s->axis->wish.op);
    const uint64_t elements = listed * s->axis->length;
    uint64_t again = elements / (squares ? AGAIN_SQUARES : AGAIN_SUMS);

    if (squares && listed > 0 && again < s->axis->length * AGAIN_ALONE)
        again = s->axis->length * AGAIN_ALONE;
    return again > s->elements->count / (squares ? SKIP_SQUARES : SKIP_SUMS) *
                       (s->axis->wish.skip_nan ? 1 : SKIP_DOUBT);
}

/* Does that. */
static bool reduce_skipping(struct cuda_summer *s, struct error *error)
{
    s->copies.elements = *s->elements;
    s->copies.elements.missing = &s->copies.missing;
    s->copies.missing.count = 0;
    (void)missing_add(&s->copies.missing, s->elements->type, "nan");
    s->copies.axis = *s->axis;
    s->copies.axis.wish.spoiled = !s->axis->wish.skip_nan;
    s->copies.axis.wish.zero = cuda_slice_begins_at_zero(s->axis->wish.op);
    plan(s, &s->copies.elements, &s->copies.axis);
    return add_up(s, s->results, error);
}

/* Waits for the kernels. *any: some results are not known. */
static bool await_list(struct cuda_summer *s, bool *any, struct error *error)
{
    if (!cuda_guest_check(cudaEventSynchronize(s->site.event), "reducing", error))
        return false;
    *any = __atomic_load_n(&list_of(s)->any, __ATOMIC_ACQUIRE) != 0;
    return true;
}

/* Waits for the list, of which all are copied, and sorted, if there is room for them. */
static bool fetch_list(struct cuda_summer *s, uint64_t *found, struct error *error)
{
    struct list *const list = list_of(s);
    bool any;

    if (!await_list(s, &any, error))
        return false;
    if (any && !s->endless && may_skip(s) &&
        (!copy_list(s, found, error) ||
         (skips_sooner(s, *found) && (!reduce_skipping(s, error) || !await_list(s, &any, error)))))
        return false;
    *found = s->endless ? UINT64_MAX : 0;
    if (s->all) {
        if (s->later && any &&
            (!find_again(s, s->results, error) ||
             !cuda_guest_check(cudaStreamSynchronize(s->stream), "reducing", error)))
            return false;
        s->dirty = false;
        return true;
    }
    s->dirty = s->endless || any;
    if (s->endless || !any)
        return true;
    if (!copy_list(s, found, error))
        return false;
    if (*found <= CUDA_ARRAY_UNKNOWN)
        qsort(list->numbers + 1, (size_t)*found, sizeof *list->numbers, compare_numbers);
    return true;
}

/* Describes how slices are looked at. */
static void shape_look(struct cuda_summer *s, struct cuda_slice_job *job)
{
    const uint64_t wanted = (uint64_t)LOOK_BLOCKS * (unsigned)s->site.multiprocessors;
    const unsigned most = job->along ? CUDA_LOOK_THREADS : LOOK_COLUMN_LANES;
    const uint64_t threads = wanted * CUDA_LOOK_THREADS / (job->along ? 4 : 1);
    const uint64_t each = job->row ? LOOK_BYTES / element_size(job->type) : LOOK_ELEMENTS;
    uint64_t blocks, parts;

    job->lanes = 1;
    while (job->lanes < most && job->lanes * each < job->length &&
           ((job->along && job->lanes < 32) || job->all * job->lanes < threads))
        job->lanes *= 2;
    blocks = (job->all * job->lanes + CUDA_LOOK_THREADS - 1) / CUDA_LOOK_THREADS;
    parts = least((wanted + blocks - 1) / blocks, job->length / (job->lanes * LOOK_PART) + 1);
    job->part = (uint32_t)align_up((size_t)((job->length + parts - 1) / parts), CUDA_ALIGNMENT);
    job->parts = (uint32_t)((job->length + job->part - 1) / job->part);
    job->blocks = (unsigned)least(blocks * job->parts, wanted);
}

/* Describes how blocks read slices again and again. False if their quantiles are found sooner one by one. */
static bool shape_digits(const struct cuda_summer *s, struct cuda_slice_job *job)
{
    const uint64_t multiprocessors = (unsigned)s->site.multiprocessors;
    const uint64_t bytes = job->length * element_size(job->type);
    const uint64_t at_once = SELECT_AGAIN_BLOCKS * multiprocessors;
    uint64_t rounds;

    job->pitch = job->few = 0;
    job->across = CUDA_SELECT_AGAIN;
    if (!job->along)
        job->across = (unsigned)least(job->across, SELECT_COLUMN / element_size(job->type));
    while (job->across > 1 && (job->all < job->across * multiprocessors ||
                               cuda_select_bytes(job) + SELECT_STATIC > (size_t)s->site.shared))
        job->across /= 2;
    rounds = ((job->all + job->across - 1) / job->across + at_once - 1) / at_once;
    return rounds * job->across * bytes / SELECT_RATE <
           job->all * (ALONE_TIME + bytes / ALONE_BYTES);
}

/* Describes how quantiles of slices are found. False if they are found sooner one by one. */
static bool shape_select(const struct cuda_summer *s, struct cuda_slice_job *job)
{
    const size_t most = (size_t)s->site.shared - SELECT_STATIC;
    bool good = true;

    job->pitch = (unsigned)job->length | 1; /* so that columns are written to all banks */
    job->across = job->length <= SELECT_FEW ? CUDA_SELECT_SLICES : 2 * SELECT_SLICES;
    job->few = job->length <= SELECT_FEW;
    while (job->few > 0 && job->few < job->length)
        job->few *= 2;
    if (job->few == 0 && cuda_select_bytes(job) > SELECT_BYTES)
        job->across = SELECT_SLICES;
    if (cuda_select_bytes(job) > most)
        job->across = 1;
    if (job->length >= SELECT_LONG || cuda_select_bytes(job) > most)
        good = shape_digits(s, job);
    job->lanes = !job->along || job->pitch == 0 || job->across == 1
                     ? CUDA_SELECT_THREADS / job->across
                 : job->few > 0 ? job->few
                                : 32;
    job->shared = (size_t)s->site.shared;
    job->place = quantile_place(&job->wish.quantile, job->length);
    job->blocks = (unsigned)least((job->all + job->across - 1) / job->across,
                                  (uint64_t)SELECT_BLOCKS * (unsigned)s->site.multiprocessors);
    return good;
}

/* Whether kernels can read single elements of slices, and number them. */
static bool can_see(const struct cuda_slice_job *job)
{
    const int64_t size = (int64_t)element_size(job->type);
    bool aligned = (uintptr_t)job->slices.data % (uintptr_t)size == 0 && job->step % size == 0;

    for (unsigned d = 0; d < job->slices.rank; d++)
        aligned = aligned && job->slices.strides[d] % size == 0;
    return aligned && job->length <= INT32_MAX;
}

/* Puts results that need no sums. */
static bool see(struct cuda_summer *s, uint64_t *results, struct error *error)
{
    struct cuda_slice_job job = job_of(s, results);
    const bool select = job.wish.op == CUDA_SLICE_QUANTILE;
    bool can = can_see(&job);

    if (can && select)
        can = shape_select(s, &job);
    else if (can)
        shape_look(s, &job);
    if (can && !select && job.parts > 1 &&
        !cuda_room_grow(&s->site, &s->parts, job.all * job.parts * CUDA_LOOK_STATE, error))
        return false;
    job.states = s->parts.memory;
    return begin_list(s, can, error) &&
           (can ? cuda_guest_check(select ? cuda_slices_select(&job, s->stream)
                                          : cuda_slices_look(&job, s->stream),
                                   launching, error)
                : know_none(s, results, error)) &&
           end_list(s, error);
}

/* Copies the elements of an array with a mask, and describes the copies. */
static bool copy_masked(struct cuda_summer *s, const struct cuda_array_elements *e,
                        const struct cuda_array_axis *axis, struct error *error)
{
    const size_t size = element_size(e->type);
    const unsigned unused = 64 - 8 * (unsigned)size;
    const uint64_t other = all_bits(e->type) ^ order_sign(e->type);
    struct cuda_mask job = {.of = {.gather = cuda_gather_of(e->layout, size, 0, e->count),
                                   .form = e->masked->mask_form,
                                   .mask = e->masked->mask,
                                   .first = e->masked->mask_offset},
                            .other = e->swap ? __builtin_bswap64(other) >> unused : other};
    struct view_layout *shaped = &s->copies.shaped, *row = &s->copies.row;
    int64_t stride = (int64_t)size;

    if (!cuda_room_grow(&s->site, &s->copies.room, (size_t)e->count * size, error))
        return false;
    job.of.gather.to = s->copies.room.memory;
    *shaped = *axis->shaped;
    shaped->data = job.of.gather.to;
    for (unsigned d = shaped->rank; d-- > 0; stride *= (int64_t)shaped->sizes[d])
        shaped->strides[d] = stride;
    *row = (struct view_layout){.data = shaped->data, .rank = 1};
    row->sizes[0] = e->count;
    row->strides[0] = (int64_t)size;
    s->copies.elements = *e;
    s->copies.elements.layout = row;
    s->copies.axis = *axis;
    s->copies.axis.shaped = shaped;
    return cuda_guest_check(cuda_mask(&job, s->site.multiprocessors, s->stream), launching, error);
}

bool cuda_array_reduce_slices(struct cuda_summer **summer, const struct cuda_array_elements *e,
                              const struct cuda_array_axis *axis, uint64_t *results,
                              struct error *error)
{
    struct cuda_summer *s;
    bool good;

    if (!*summer)
        *summer = calloc(1, sizeof **summer);
    s = *summer;
    if (!s)
        return error_memory(error);
    if (!enter(s, e, results, error))
        return false;
    good = (s->site.event || open_list(s, error)) && (!e->masked || copy_masked(s, e, axis, error));
    if (good && e->masked)
        plan(s, &s->copies.elements, &s->copies.axis);
    else if (good)
        plan(s, e, axis);
    good = good &&
           (cuda_slice_adds(axis->wish.op) ? add_up(s, results, error) : see(s, results, error));
    if (good && s->all && !s->later)
        s->dirty = false;
    return leave(s, good);
}

bool cuda_array_reduce_listed(struct cuda_summer *s, uint64_t *results, struct error *error)
{
    const struct cuda_slice_job job = job_of(s, results);
    bool good;

    if (job.length > WHOLE_SPREAD || !cuda_slice_adds(job.wish.op) || !cuda_slices_have_whole(&job))
        return true;
    good = enter_again(s, error) &&
           cuda_guest_check(cuda_slices_whole(&job, s->stream), launching, error);
    return leave(s, good);
}

bool cuda_array_find_unknown(struct cuda_summer *s, const uint64_t *results, uint64_t first,
                             uint64_t count, struct error *error)
{
    struct cuda_find_unknown job = {
        .results = results, .first = first, .count = count, .unknown = unknown_list(s)};
    const bool good = enter_again(s, error) && begin_list(s, true, error) &&
                      cuda_guest_check(cuda_find_unknown(&job, s->site.multiprocessors, s->stream),
                                       launching, error) &&
                      end_list(s, error);

    return leave(s, good);
}

bool cuda_array_unknown(struct cuda_summer *s, const uint64_t **unknown, uint64_t *found,
                        struct error *error)
{
    const bool good = enter_again(s, error) && fetch_list(s, found, error);

    *unknown = list_of(s)->numbers + 1;
    return leave(s, good);
}

bool cuda_array_set(struct cuda_summer *s, uint64_t *result, uint64_t bits, struct error *error)
{
    const bool good = enter_again(s, error) &&
                      cuda_guest_check(cudaMemcpyAsync(result, &bits, sizeof bits,
                                                       cudaMemcpyHostToDevice, s->stream),
                                       "copying a result", error) &&
                      cuda_guest_check(cudaStreamSynchronize(s->stream), "reducing", error);

    return leave(s, good);
}
