#include "config.h"

#include "cuda/array_slices.h"

#include <stdlib.h>

#include "cuda/array_launch.h"
#include "cuda/guest.h"
#include "cuda/slice_launch.h"

/* Columns of all parts together, and rows of each part at least: with CUDA_SLICE_COLUMNS of them a
   thread there are as many threads as an H200 holds at once. */
#define COLUMNS_WANTED ((uint64_t)1 << 18)
#define ROWS_LEAST ((uint64_t)16)

/* Sums of parts that a warp merges at once, and warps that are enough for a device. */
#define MERGED_LEAST ((uint64_t)32)
#define WARPS_WANTED ((uint64_t)8192)

/* Parts of a launch whose sums are not rounded at once, at most. */
#define PARTS_MAX ((uint64_t)1 << 21)

/* Sums of columns of integers of up to 32 bits with so many rows are below 2^53. */
#define SMALL_ROWS ((uint64_t)1 << 21)

#define LIST_BYTES ((size_t)(CUDA_ARRAY_UNKNOWN + 1) * sizeof(uint64_t))

/* Copied elements are in as many whole rows that the memory is aligned after them. */
#define ROWS_ALIGNED 16

static const char *const launching = "starting a kernel";

struct cuda_summer {
    int device, multiprocessors; /* negative before the first call */
    struct cuda_room parts, stage, found;
    uint64_t *numbers;   /* pinned: what was found */
    cudaStream_t stream; /* of the last call */
};

struct cuda_summer *cuda_summer_open(void)
{
    struct cuda_summer *s = calloc(1, sizeof *s);

    if (s)
        s->device = -1;
    return s;
}

static void leave_device(struct cuda_summer *s)
{
    struct error ignored = {.kind = ERROR_NONE};
    struct cuda_guest guest;

    if (s->device < 0)
        return;
    (void)cuda_guest_enter(&guest, s->device, &ignored);
    cuda_room_free(&s->parts);
    cuda_room_free(&s->stage);
    cuda_room_free(&s->found);
    if (s->numbers)
        (void)cudaFreeHost(s->numbers);
    s->numbers = NULL;
    s->device = -1;
    cuda_guest_leave(&guest);
}

void cuda_summer_close(struct cuda_summer *s)
{
    if (!s)
        return;
    leave_device(s);
    free(s);
}

/* A launch: rows of elements in a row, aligned; each row is a slice, or each column. */
struct block {
    const unsigned char *data;
    uint64_t rows, length;
    bool columns;
    char letter;
    uint64_t *results;
    uint64_t first; /* number of the first slice */
};

static uint64_t column_parts(uint64_t rows, uint64_t columns)
{
    uint64_t parts = COLUMNS_WANTED / columns;

    parts = parts > rows / ROWS_LEAST ? rows / ROWS_LEAST : parts;
    if (parts > CUDA_SLICE_COLUMNS)
        parts = parts / CUDA_SLICE_COLUMNS * CUDA_SLICE_COLUMNS;
    return parts > 0 ? parts : 1;
}

static uint64_t row_parts(uint64_t length)
{
    return (length + CUDA_SLICE_PART - 1) / CUDA_SLICE_PART;
}

/* Groups of the parts of each slice that are merged by themselves first. */
static uint64_t merge_groups(uint64_t slices, uint64_t parts)
{
    const uint64_t most = WARPS_WANTED / slices, groups = parts / MERGED_LEAST;

    return groups < 2 || most < 2 ? 1 : groups < most ? groups : most;
}

/* Merges the sums of parts: if there are many, those of groups of them first, for which there
   is `room`, two numbers each. */
static bool merge_parts(struct cuda_summer *s, struct cuda_merge_sums merge, double *room,
                        struct error *error)
{
    struct cuda_merge_sums group = merge;

    group.groups = merge_groups(merge.slices, merge.parts);
    merge.groups = 1;
    if (group.groups > 1) {
        group.to = room;
        group.to_low = room + merge.slices * group.groups;
        if (!cuda_guest_check(cuda_merge_sums(&group, s->multiprocessors, s->stream), launching,
                              error))
            return false;
        merge.high = group.to;
        merge.low = group.to_low;
        merge.parts = group.groups;
        merge.columns = false;
    }
    return cuda_guest_check(cuda_merge_sums(&merge, s->multiprocessors, s->stream), launching,
                            error);
}

static bool sum_block(struct cuda_summer *s, const struct cuda_array_elements *e,
                      const struct block *b, struct error *error)
{
    const uint64_t slices = b->columns ? b->length : b->rows;
    const uint64_t parts = b->columns ? column_parts(b->rows, b->length) : row_parts(b->length);
    const bool small = element_size(e->type) <= 4 && (!b->columns || b->rows <= SMALL_ROWS);
    const bool direct =
        parts == 1 && (b->letter == 'f' || small) && (uintptr_t)b->results % CUDA_ALIGNMENT == 0;
    const size_t all = align_up((size_t)(slices * parts) * sizeof(double), CUDA_ALIGNMENT);
    const size_t groups = (size_t)(slices * merge_groups(slices, parts)) * sizeof(double);
    struct cuda_slice_launch launch = {.type = e->type,
                                       .swap = e->swap,
                                       .columns = b->columns,
                                       .data = b->data,
                                       .rows = (size_t)b->rows,
                                       .length = (size_t)b->length,
                                       .parts = (size_t)parts,
                                       .part = CUDA_SLICE_PART,
                                       .wants = PARTIAL_SUM,
                                       .high = (void *)b->results,
                                       .integers = direct && b->letter != 'f'};
    struct cuda_merge_sums merge = {
        .to = b->results,
        .slices = slices,
        .parts = parts,
        .columns = b->columns,
        .letter = b->letter,
        .unknown = {.found = (void *)s->found.memory, .room = CUDA_ARRAY_UNKNOWN},
        .first = b->first};

    if (direct)
        return cuda_guest_check(cuda_slices(&launch, s->stream), launching, error);
    if (!cuda_room_grow(&s->parts, 2 * all + 2 * groups, error))
        return false;
    merge.high = launch.high = (void *)s->parts.memory;
    merge.low = launch.low = (void *)(s->parts.memory + all);
    return cuda_guest_check(cuda_slices(&launch, s->stream), launching, error) &&
           merge_parts(s, merge, (void *)(s->parts.memory + 2 * all), error);
}

/* Sums `count` elements from number `first` on, which are whole slices, where they are if they lie
   in a row and are aligned, or copies of them. */
static bool sum_elements(struct cuda_summer *s, const struct cuda_array_elements *e, uint64_t first,
                         uint64_t count, struct block *b, struct error *error)
{
    const size_t size = element_size(e->type);
    struct cuda_gather job = {
        .from = *e->layout, .first = first, .count = count, .size = (unsigned)size};

    b->data = e->layout->data + first * size;
    if (cuda_array_is_row(e->layout, size) && (uintptr_t)b->data % CUDA_ALIGNMENT == 0)
        return sum_block(s, e, b, error);
    if (!cuda_room_grow(&s->stage, (size_t)count * size, error))
        return false;
    if (job.from.rank == 0) {
        job.from.rank = 1;
        job.from.strides[0] = 0;
    }
    b->data = job.to = s->stage.memory;
    return cuda_guest_check(cuda_gather(&job, s->multiprocessors, s->stream), launching, error) &&
           sum_block(s, e, b, error);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The rows are slices. */
static bool sum_rows(struct cuda_summer *s, const struct cuda_array_elements *e,
                     const struct cuda_array_axis *axis, uint64_t *results, struct error *error)
{
    const size_t size = element_size(e->type);
    const bool whole =
        cuda_array_is_row(e->layout, size) && (uintptr_t)e->layout->data % CUDA_ALIGNMENT == 0;
    uint64_t most = UINT64_MAX;

    if (row_parts(axis->length) > 1)
        most = PARTS_MAX / row_parts(axis->length);
    if (!whole)
        most = least(most, CUDA_STAGE_BYTES / size / axis->length);
    most = most > ROWS_ALIGNED ? most / ROWS_ALIGNED * ROWS_ALIGNED : most;
    for (uint64_t at = 0, n; at < axis->outer; at += n) {
        struct block b = {
            .length = axis->length, .letter = axis->letter, .results = results + at, .first = at};

        n = b.rows = least(most, axis->outer - at);
        if (!sum_elements(s, e, at * axis->length, n * axis->length, &b, error))
            return false;
    }
    return true;
}

/* Blocks of rows, of which the columns are slices. */
static bool sum_columns(struct cuda_summer *s, const struct cuda_array_elements *e,
                        const struct cuda_array_axis *axis, uint64_t *results, struct error *error)
{
    const uint64_t count = axis->length * axis->inner;

    for (uint64_t i = 0; i < axis->outer; i++) {
        struct block b = {.rows = axis->length,
                          .length = axis->inner,
                          .columns = true,
                          .letter = axis->letter,
                          .results = results + i * axis->inner,
                          .first = i * axis->inner};

        if (!sum_elements(s, e, i * count, count, &b, error))
            return false;
    }
    return true;
}

/* Whether the kernels can have all slices: those that are to be copied must not be large, and a few
   that are long are summed sooner one by one. */
static bool can_sum(const struct cuda_array_elements *e, const struct cuda_array_axis *axis)
{
    const size_t size = element_size(e->type);
    const uint64_t unit = axis->length * axis->inner * size;
    const bool aligned = cuda_array_is_row(e->layout, size) &&
                         (uintptr_t)e->layout->data % CUDA_ALIGNMENT == 0 &&
                         (axis->outer == 1 || axis->inner == 1 || unit % CUDA_ALIGNMENT == 0);

    if (axis->inner == 1 && row_parts(axis->length) > PARTS_MAX / ROWS_ALIGNED)
        return false;
    return aligned || unit <= CUDA_STAGE_BYTES / ROWS_ALIGNED;
}

static bool enter(struct cuda_summer *s, const struct cuda_array_elements *e, const void *results,
                  struct cuda_guest *guest, struct error *error)
{
    struct error ignored = {.kind = ERROR_NONE};
    int device = e->device, other = e->device;

    if (!cuda_guest_find(&device, e->layout->data, error))
        return false;
    if (!cuda_guest_find(&other, results, &ignored) || other != device)
        return error_set(error, ERROR_REQUEST,
                         "the results are not in memory of the elements' device");
    if (device != s->device)
        leave_device(s);
    s->stream = e->stream;
    if (cuda_guest_enter(guest, device, error) &&
        cuda_guest_check(
            cudaDeviceGetAttribute(&s->multiprocessors, cudaDevAttrMultiProcessorCount, device),
            "asking the GPU", error)) {
        s->device = device;
        return true;
    }
    cuda_guest_leave(guest);
    return false;
}

/* Begins the list of what is found: its first number becomes one of such bytes. */
static bool begin_list(struct cuda_summer *s, int byte, struct error *error)
{
    return cuda_room_grow(&s->found, LIST_BYTES, error) &&
           cuda_guest_check(cudaMemsetAsync(s->found.memory, byte, sizeof(uint64_t), s->stream),
                            launching, error);
}

/* Waits for the first bytes of the list. */
static const uint64_t *fetch_list(struct cuda_summer *s, size_t bytes, uint64_t *found,
                                  struct error *error)
{
    if ((!s->numbers && !cuda_guest_check(cudaHostAlloc((void **)&s->numbers, LIST_BYTES, 0),
                                          "pinned memory", error)) ||
        !cuda_guest_check(
            cudaMemcpyAsync(s->numbers, s->found.memory, bytes, cudaMemcpyDeviceToHost, s->stream),
            "copying a result", error) ||
        !cuda_guest_check(cudaStreamSynchronize(s->stream), "summing", error))
        return NULL;
    *found = s->numbers[0];
    return s->numbers + 1;
}

bool cuda_array_sum_slices(struct cuda_summer *s, const struct cuda_array_elements *e,
                           const struct cuda_array_axis *axis, uint64_t *results,
                           struct error *error)
{
    const size_t bytes = (size_t)(axis->outer * axis->inner) * sizeof *results;
    const bool can = can_sum(e, axis);
    struct cuda_guest guest;
    bool good;

    if (!enter(s, e, results, &guest, error))
        return false;
    good = axis->letter == 'f' || begin_list(s, can ? 0 : 0xff, error);
    if (good && can)
        good = axis->inner == 1 ? sum_rows(s, e, axis, results, error)
                                : sum_columns(s, e, axis, results, error);
    else if (good && axis->letter == 'f') /* NaNs, whose bits are all set */
        good = cuda_guest_check(cudaMemsetAsync(results, 0xff, bytes, s->stream), launching, error);
    cuda_guest_leave(&guest);
    return good;
}

const uint64_t *cuda_array_unknown(struct cuda_summer *s, const uint64_t *results, uint64_t first,
                                   uint64_t count, uint64_t *found, struct error *error)
{
    struct cuda_find_nans job = {.numbers = (const void *)results,
                                 .first = first,
                                 .count = count,
                                 .nans.room = CUDA_ARRAY_UNKNOWN};
    const uint64_t *numbers = NULL;
    struct cuda_guest guest;
    bool good = cuda_guest_enter(&guest, s->device, error) && begin_list(s, 0, error);

    job.nans.found = (void *)s->found.memory;
    if (good &&
        cuda_guest_check(cuda_find_nans(&job, s->multiprocessors, s->stream), launching, error))
        numbers =
            fetch_list(s, count > CUDA_ARRAY_UNKNOWN ? sizeof *numbers : LIST_BYTES, found, error);
    cuda_guest_leave(&guest);
    return numbers;
}

const uint64_t *cuda_array_unknown_integers(struct cuda_summer *s, uint64_t *found,
                                            struct error *error)
{
    const uint64_t *numbers = NULL;
    struct cuda_guest guest;

    if (cuda_guest_enter(&guest, s->device, error))
        numbers = fetch_list(s, sizeof *numbers, found, error);
    if (numbers && *found > 0)
        numbers = fetch_list(s, LIST_BYTES, found, error);
    cuda_guest_leave(&guest);
    return numbers;
}

bool cuda_array_set(struct cuda_summer *s, uint64_t *result, uint64_t bits, struct error *error)
{
    struct cuda_guest guest;
    const bool good = cuda_guest_enter(&guest, s->device, error) &&
                      cuda_guest_check(cudaMemcpyAsync(result, &bits, sizeof bits,
                                                       cudaMemcpyHostToDevice, s->stream),
                                       "copying a result", error) &&
                      cuda_guest_check(cudaStreamSynchronize(s->stream), "summing", error);

    cuda_guest_leave(&guest);
    return good;
}
