#include "config.h"

#include "engine/cpu/slices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cpu/slices_convert.h"
#include "engine/cpu/slices_integer.h"
#include "engine/cpu/slices_keys.h"
#include "engine/cpu/slices_special.h"

/* Bytes of elements that are swapped, or turned from columns into rows, at a time. */
#define SCRATCH_BYTES ((size_t)64 << 10)

/* Without kernels: so many elements of a column are reduced at a time, and so many bytes of
   neighbouring columns are turned together. */
#define RUN_ELEMENTS ((size_t)512)
#define RUN_BYTES ((size_t)64)
_Static_assert(RUN_ELEMENTS *RUN_BYTES <= SCRATCH_BYTES, "runs of all columns fit");

#define ALIGNMENT 64

/* Fewer columns than this are folded, if there are so many rows for each of the folded ones: then
   merging these at the end costs little. */
#define FOLD_BELOW 64
#define FOLD_MAX 1024
#define FOLD_ROWS 16

bool cpu_slices_are_fast(enum element_type type, unsigned wants)
{
    return element_is_float(cpu_slices_type(type)) &&
           !(wants & ~(unsigned)(PARTIAL_SUM | PARTIAL_EXTREMES));
}

static bool wants_extremes(unsigned wants)
{
    return wants & PARTIAL_EXTREMES;
}

void cpu_slices_clear(struct cpu_slices *s, size_t count)
{
    memset(s->used, 0, count * sizeof *s->used);
    slices_end(s);
    for (size_t i = 0; s->records && i < count; i++)
        cpu_slice_record_clear(&s->records[i]);
}

bool cpu_slices_open(struct cpu_slices *s, enum cpu_slices_kind kind, enum element_type type,
                     unsigned wants, size_t room)
{
    const size_t lanes = CPU_LANES_MAX, all = (room + 2 * lanes - 1) / lanes * lanes;
    bool good;

    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->room = room;
    s->fast = cpu_slices_are_fast(type, wants);
    s->integers = s->fast && element_is_integer(type);
    s->key_size =
        kind == CPU_SLICES_COLUMNS && element_size(cpu_slices_type(type)) <= sizeof(int32_t)
            ? sizeof(int32_t)
            : sizeof(int64_t);
    s->used = calloc(all, sizeof *s->used);
    good = s->used;
    if (s->fast) {
        s->high = aligned_alloc(ALIGNMENT, all * sizeof *s->high);
        s->low = aligned_alloc(ALIGNMENT, all * sizeof *s->low);
        good = good && s->high && s->low;
    }
    if (s->fast && wants_extremes(wants)) {
        s->min = aligned_alloc(ALIGNMENT, all * s->key_size);
        s->max = aligned_alloc(ALIGNMENT, all * s->key_size);
        good = good && s->min && s->max;
    }
    s->all = all;
    if (good && kind == CPU_SLICES_ROWS)
        slices_reach(s, room);
    return good;
}

void cpu_slices_close(struct cpu_slices *s)
{
    for (size_t i = 0; s->partial && i < s->room; i++)
        free(s->partial[i]);
    free(s->partial);
    free(s->used);
    free(s->high);
    free(s->low);
    free(s->min);
    free(s->max);
    free(s->records);
    free(s->special);
    memset(s, 0, sizeof *s);
}

bool cpu_slicer_open(struct cpu_slicer *z, const struct cpu_kernels *kernels,
                     enum element_type type, unsigned wants, bool swap)
{
    memset(z, 0, sizeof *z);
    z->given = type;
    z->wants = wants;
    z->swap = swap && element_size(type) > 1;
    if (cpu_slices_are_fast(type, wants))
        type = cpu_slices_type(type);
    z->type = type;
    z->scratch = aligned_alloc(ALIGNMENT, 2 * SCRATCH_BYTES);
    if (cpu_slices_are_fast(type, wants)) {
        z->fast =
            wants_extremes(wants) ? &kernels->slices->extremes[type] : &kernels->slices->sums[type];
        if (!z->swap && kernels->slices->integers[z->given].rows) {
            z->integer = &kernels->slices->integers[z->given];
            z->found = malloc(sizeof *z->found);
            if (!z->found)
                return false;
        }
        z->lanes = element_size(type) == sizeof(double) ? kernels->lanes / 2 : kernels->lanes;
        if (!cpu_slices_open(&z->folded, CPU_SLICES_COLUMNS, type, wants, FOLD_MAX))
            return false;
    }
    return cpu_reducer_open(&z->reducer, kernels, type, wants) && z->scratch;
}

void cpu_slicer_close(struct cpu_slicer *z)
{
    cpu_reducer_close(&z->reducer);
    if (z->folded.used)
        cpu_slices_close(&z->folded);
    free(z->scratch);
    free(z->found);
}

/* The key of an element, whose type is the slices', from that of the float it was taken as. */
static int64_t found_key(const struct cpu_slices *s, int64_t key)
{
    return s->integers ? (int64_t)exact_key_value(key) : key;
}

int64_t cpu_slices_min_key(const struct cpu_slices *s, size_t i)
{
    return found_key(s, slices_key(s->min, i, s->key_size));
}

int64_t cpu_slices_max_key(const struct cpu_slices *s, size_t i)
{
    return found_key(s, slices_key(s->max, i, s->key_size));
}

/* Whether a key of extremes is one, of elements. */
static bool has_keys(const struct cpu_slices *s, size_t i)
{
    if (!s->min)
        return false;
    if (s->key_size == sizeof(int32_t))
        return ((const int32_t *)s->min)[i] <= ((const int32_t *)s->max)[i];
    return ((const int64_t *)s->min)[i] <= ((const int64_t *)s->max)[i];
}

/* Adds what the kernels found of a slice to a partial result, but for the count. */
static void add_found(const struct cpu_slices *s, size_t i, struct partial *p)
{
    if (!s->fast)
        return;
    exact_add(&p->sum, s->high[i]);
    exact_add(&p->sum, s->low[i]);
    if (has_keys(s, i)) {
        partial_take_min(p, cpu_slices_min_key(s, i), PARTIAL_NO_INDEX);
        partial_take_max(p, cpu_slices_max_key(s, i), PARTIAL_NO_INDEX);
    }
}

void cpu_slices_partial(const struct cpu_slices *s, size_t i, uint64_t count, struct partial *p)
{
    if (s->used[i])
        *p = *s->partial[i];
    else
        partial_clear(p);
    add_found(s, i, p);
    if (slices_is_special(s, i))
        slices_special_add_to(s, i, p);
    if (s->records)
        cpu_slice_record_add_to(&s->records[i], p);
    p->count = count;
}

/* The partial result of a slice; a new one is empty. NULL, with `failed` set, without memory. */
static struct partial *partial_of(struct cpu_slicer *z, struct cpu_slices *s, size_t i)
{
    struct partial *p = slices_partial(s, i);

    z->failed = z->failed || !p;
    return p;
}

/* Takes a run of elements of a slice into its partial result, by the kernels of whole files. */
static void take_run(struct cpu_slicer *z, struct cpu_slices *s, size_t slice, const void *data,
                     size_t count, uint64_t index)
{
    struct cpu_reducer *r = &z->reducer;
    const bool begun = s->used[slice];
    struct partial *p = partial_of(z, s, slice);

    if (!p)
        return;
    if (begun)
        r->partial = *p;
    else
        partial_clear(&r->partial);
    r->kernel(r, data, count, index);
    *p = r->partial;
}

/* Adds another slice's sums and keys to those of one. */
static void add_slice(struct cpu_slicer *z, struct cpu_slices *s, size_t i,
                      const struct cpu_slices *other, size_t j)
{
    double error, rest, low_error, low, high = exact_two_sum(s->high[i], other->high[j], &error);
    struct partial *p;

    s->low_used = true;
    low = exact_two_sum(s->low[i], other->low[j], &low_error);
    low = exact_two_sum(low, error, &rest);
    if (rest == 0 && low_error == 0) {
        s->high[i] = high;
        s->low[i] = low;
    } else if ((p = partial_of(z, s, i))) {
        slices_drain(s, i, p);
        exact_add(&p->sum, other->high[j]);
        exact_add(&p->sum, other->low[j]);
    }
    if (!s->min)
        return;
    if (s->key_size == sizeof(int32_t)) {
        int32_t *min = s->min, *max = s->max;
        const int32_t *other_min = other->min, *other_max = other->max;

        min[i] = other_min[j] < min[i] ? other_min[j] : min[i];
        max[i] = other_max[j] > max[i] ? other_max[j] : max[i];
    } else {
        int64_t *min = s->min, *max = s->max;
        const int64_t *other_min = other->min, *other_max = other->max;

        min[i] = other_min[j] < min[i] ? other_min[j] : min[i];
        max[i] = other_max[j] > max[i] ? other_max[j] : max[i];
    }
}

/* The place for a kernel's results from slice `first` on. */
static struct cpu_slice_results results_from(struct cpu_slices *s, size_t first)
{
    return (struct cpu_slice_results){
        .high = s->high + first,
        .low = s->low + first,
        .low_used = &s->low_used,
        .min = s->min ? (char *)s->min + first * s->key_size : NULL,
        .max = s->max ? (char *)s->max + first * s->key_size : NULL,
    };
}

/* Shorter rows of which some elements are no numbers are taken one by one. */
#define SPECIAL_ROW 256

/* Rows that a kernel takes together. */
#define ROWS_TOGETHER 256
_Static_assert(ROWS_TOGETHER <= FOLD_MAX, "as many fit the folded slices");

/* Takes rows by their kernel: of slices that had no elements before, or beside what they had. */
static void take_rows_fast(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                           const unsigned char *x, size_t rows, size_t length, uint64_t index)
{
    const bool begin = first >= s->filled;
    const size_t bytes = length * element_size(z->type);
    int64_t keys[2][ROWS_TOGETHER + CPU_LANES_MAX];
    struct cpu_slices beside = {.high = z->folded.high, .low = z->folded.low};

    if (s->min) {
        beside.min = keys[0];
        beside.max = keys[1];
    }
    beside.key_size = sizeof(int64_t);
    z->folded.low_used = true; /* for columns that come later */
    z->folded.filled = FOLD_MAX;
    for (size_t i = 0; i < rows; i += ROWS_TOGETHER) {
        const size_t n = rows - i < ROWS_TOGETHER ? rows - i : ROWS_TOGETHER;
        struct cpu_slices *to = begin ? s : &beside;
        const size_t at = begin ? first + i : 0;
        const struct cpu_slice_results results = results_from(to, at);
        bool bad[ROWS_TOGETHER];

        z->fast->rows(x + i * bytes, n, length, &results, bad);
        if (begin && !memchr(bad, 1, n))
            continue;
        for (size_t row = 0; row < n; row++) {
            if (bad[row]) {
                to->high[at + row] = to->low[at + row] = 0;
                if (to->min) {
                    ((int64_t *)to->min)[at + row] = INT64_MAX;
                    ((int64_t *)to->max)[at + row] = INT64_MIN;
                }
                if (length >= SPECIAL_ROW)
                    take_run(z, s, first + i + row, x + (i + row) * bytes, length, index);
                else if (!slices_take_one_by_one(
                             s, first + i + row, to, at + row, z->type,
                             &(struct slices_run){.x = x + (i + row) * bytes,
                                                  .stride = element_size(z->type),
                                                  .count = length,
                                                  .index = index,
                                                  .step = 1}))
                    z->failed = true;
            }
            if (!begin)
                add_slice(z, s, first + i + row, to, at + row);
        }
    }
}

/* Takes rows in this machine's byte order. */
static void take_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                      const unsigned char *x, size_t rows, size_t length, uint64_t index)
{
    const size_t size = element_size(z->type);

    if (z->fast)
        take_rows_fast(z, s, first, x, rows, length, index);
    else
        for (size_t i = 0; i < rows; i++)
            take_run(z, s, first + i, x + i * length * size, length, index);
    s->filled = s->filled < first + rows ? first + rows : s->filled;
}

void cpu_slicer_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first, const void *data,
                     size_t rows, size_t length, uint64_t index)
{
    const size_t size = element_size(z->given), most = SCRATCH_BYTES / element_size(z->type);
    const unsigned char *x = data;
    struct cpu_slice_results to;

    if (!z->swap && z->given == z->type) {
        take_rows(z, s, first, x, rows, length, index);
        return;
    }
    if (z->integer && length >= SLICES_INTEGER_LENGTH) {
        slices_begin(s, first + rows);
        to = results_from(s, first);
        cpu_slices_integer_rows(z->integer, z->found, &to, s->key_size, x, rows, length, size);
        return;
    }
    for (size_t i = 0; i < rows;) {
        const size_t group = length < most ? most / length : 1, left = rows - i;
        const size_t count = left < group ? left : group;

        for (size_t at = 0; at < length; at += most) {
            const size_t part = length - at < most ? length - at : most;

            cpu_slices_bring(z->scratch, x + (i * length + at) * size, count * part, z->given,
                             z->type, z->swap);
            take_rows(z, s, first + i, z->scratch, count, part, index + at);
        }
        i += count;
    }
}

/* Takes columns without kernels: turns some at a time into rows. */
static void take_turned(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                        const unsigned char *x, size_t stride, size_t rows, size_t columns,
                        uint64_t index)
{
    const size_t size = element_size(z->type), most = RUN_BYTES / size;
    unsigned char *turned = z->scratch + SCRATCH_BYTES;

    for (size_t j = 0; j < columns; j += most) {
        const size_t count = columns - j < most ? columns - j : most;

        for (size_t i = 0; i < rows; i += RUN_ELEMENTS) {
            const size_t run = rows - i < RUN_ELEMENTS ? rows - i : RUN_ELEMENTS;

            cpu_slices_turn(turned, RUN_ELEMENTS, x + i * stride + j * size, stride, run, count,
                            size);
            for (size_t column = 0; column < count; column++)
                take_run(z, s, first + j + column, turned + column * RUN_ELEMENTS * size, run,
                         index + i);
        }
    }
}

/* The arguments of a kernel of columns, for the elements that it leaves. */
struct column_call {
    struct cpu_slicer *slicer;
    struct cpu_slices *slices; /* the elements' */
    size_t first;
    struct cpu_slices *sums; /* the kernel's, which it has from `sums_first` on */
    size_t sums_first;
    const unsigned char *x;
    size_t stride;
    size_t folded; /* columns that there are, if they are folded; else as many as the kernel has */
    size_t fold;   /* rows in one of the kernel's */
    uint64_t index;
};

/* Takes elements that a kernel left. */
static void take_left(void *context, size_t column, size_t row, size_t rows)
{
    const struct column_call *c = context;
    const enum element_type type = c->slicer->type;

    if (!slices_take_one_by_one(
            c->slices, c->first + column % c->folded, c->sums, c->sums_first + column, type,
            &(struct slices_run){.x = c->x + row * c->stride + column * element_size(type),
                                 .stride = c->stride,
                                 .count = rows,
                                 .index = c->index + row * c->fold + column / c->folded,
                                 .step = c->fold}))
        c->slicer->failed = true;
}

/* Takes what a kernel has counted. */
static void take_counts(void *context, size_t column, size_t row,
                        const struct cpu_slice_counts *counts)
{
    const struct column_call *c = context;
    const struct cpu_slice_special special = {
        .nan = counts->nan,
        .first_nan = c->index + (row + counts->first_nan) * c->fold + column / c->folded,
        .positive = counts->positive,
        .negative = counts->negative};

    if (!slices_special_add(c->slices, c->first + column % c->folded, &special))
        c->slicer->failed = true;
}

/* Makes so many of the folded slices some without elements, which kernels may add to. */
static void clear_folded(struct cpu_slicer *z, size_t count)
{
    cpu_slices_clear(&z->folded, count);
    slices_begin(&z->folded, count);
}

/* Takes columns that fill no vector: as some that do, the others of which are zero. */
static void take_narrow(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                        const unsigned char *x, size_t stride, size_t rows, size_t columns,
                        uint64_t index)
{
    const size_t size = element_size(z->type), width = z->lanes * size;
    const size_t most = SCRATCH_BYTES / width;
    unsigned char *wide = z->scratch + SCRATCH_BYTES;
    struct column_call call = {.slicer = z,
                               .slices = s,
                               .first = first,
                               .sums = &z->folded,
                               .x = wide,
                               .stride = width,
                               .folded = columns,
                               .fold = 1};
    const struct cpu_slice_results to = results_from(&z->folded, 0);
    const struct cpu_slice_calls calls = {take_left, take_counts, &call};

    slices_begin(s, first + columns);
    clear_folded(z, z->lanes);
    for (size_t i = 0; i < rows; i += most) {
        const size_t n = rows - i < most ? rows - i : most;

        for (size_t row = 0; row < n; row++) {
            memcpy(wide + row * width, x + (i + row) * stride, columns * size);
            memset(wide + row * width + columns * size, 0, width - columns * size);
        }
        call.index = index + i;
        z->fast->columns(wide, width, n, z->lanes, &to, &calls);
    }
    for (size_t j = 0; j < columns; j++)
        add_slice(z, s, first + j, &z->folded, j);
}

/* Takes columns by their kernel, a multiple of its lanes. */
static void take_wide(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                      const unsigned char *x, size_t stride, size_t rows, size_t columns,
                      uint64_t index)
{
    struct cpu_slice_results to = results_from(s, first);
    struct column_call call = {.slicer = z,
                               .slices = s,
                               .first = first,
                               .sums = s,
                               .sums_first = first,
                               .x = x,
                               .stride = stride,
                               .folded = columns,
                               .fold = 1,
                               .index = index};
    const struct cpu_slice_calls calls = {take_left, take_counts, &call};

    if (columns == 0)
        return;
    to.begin = slices_begin_columns(s, first, first + columns);
    z->fast->columns(x, stride, rows, columns, &to, &calls);
}

/* How many rows of few columns to take as one: so that they fill vectors. 1: none. */
static size_t choose_fold(const struct cpu_slicer *z, size_t rows, size_t columns)
{
    size_t fold = (FOLD_BELOW + columns - 1) / columns;

    if (columns >= FOLD_BELOW)
        return 1;
    while (fold * columns % z->lanes != 0 && (fold + 1) * columns <= FOLD_MAX)
        fold++;
    return fold * columns % z->lanes == 0 && rows >= FOLD_ROWS * fold ? fold : 1;
}

/* Takes few columns, the rows of which lie one behind the other, as `fold` times as many. */
static void take_folded(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                        const unsigned char *x, size_t rows, size_t columns, size_t fold,
                        uint64_t index)
{
    const size_t stride = columns * fold * element_size(z->type);
    const struct cpu_slice_results to = results_from(&z->folded, 0);
    struct column_call call = {.slicer = z,
                               .slices = s,
                               .first = first,
                               .sums = &z->folded,
                               .x = x,
                               .stride = stride,
                               .folded = columns,
                               .fold = fold,
                               .index = index};
    const struct cpu_slice_calls calls = {take_left, take_counts, &call};

    slices_begin(s, first + columns);
    clear_folded(z, columns * fold);
    z->fast->columns(x, stride, rows / fold, columns * fold, &to, &calls);
    for (size_t j = 0; j < columns * fold; j++)
        add_slice(z, s, first + j % columns, &z->folded, j);
}

/* Takes columns in this machine's byte order. */
static void take_columns(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                         const unsigned char *x, size_t stride, size_t rows, size_t columns,
                         uint64_t index)
{
    const size_t size = element_size(z->type);
    size_t fold, wide, folded_rows;

    if (!z->fast) {
        take_turned(z, s, first, x, stride, rows, columns, index);
        return;
    }
    fold = stride == columns * size ? choose_fold(z, rows, columns) : 1;
    folded_rows = fold > 1 ? rows / fold * fold : 0;
    if (fold > 1)
        take_folded(z, s, first, x, folded_rows, columns, fold, index);
    x += folded_rows * stride;
    rows -= folded_rows;
    index += folded_rows;
    wide = columns / z->lanes * z->lanes;
    if (rows == 0)
        return;
    take_wide(z, s, first, x, stride, rows, wide, index);
    if (wide < columns)
        take_narrow(z, s, first + wide, x + wide * size, stride, rows, columns - wide, index);
}

/* The most columns that are swapped together. */
#define SWAPPED_COLUMNS 1024

void cpu_slicer_columns(struct cpu_slicer *z, struct cpu_slices *s, size_t first, const void *data,
                        size_t stride, size_t rows, size_t columns, uint64_t index)
{
    const size_t size = element_size(z->given), taken = element_size(z->type);
    const unsigned char *x = data;
    size_t width, height;

    if (!z->swap && z->given == z->type) {
        take_columns(z, s, first, x, stride, rows, columns, index);
        return;
    }
    if (z->integer) {
        const size_t some = cpu_slices_integer_columns_of(columns, size);
        const struct cpu_slice_results to = results_from(s, first);

        slices_begin(s, first + some);
        s->low_used = true;
        cpu_slices_integer_columns(z->integer, z->found, &to, s->key_size, x, stride, rows, some,
                                   size);
        first += some;
        x += some * size;
        columns -= some;
    }
    width = columns < SWAPPED_COLUMNS ? columns : SWAPPED_COLUMNS;
    height = SCRATCH_BYTES / taken / (width ? width : 1);
    for (size_t j = 0; j < columns; j += width) {
        const size_t some = columns - j < width ? columns - j : width;

        for (size_t i = 0; i < rows; i += height) {
            const size_t lines = rows - i < height ? rows - i : height;

            for (size_t row = 0; row < lines; row++)
                cpu_slices_bring(z->scratch + row * some * taken, x + (i + row) * stride + j * size,
                                 some, z->given, z->type, z->swap);
            take_columns(z, s, first + j, z->scratch, some * taken, lines, some, index + i);
        }
    }
}

/* Adds a record to that of a slice. */
static void add_record(struct cpu_slicer *z, struct cpu_slices *s, size_t i,
                       const struct cpu_slice_record *record)
{
    struct partial *p;

    if (!s->records) {
        s->records = malloc(s->room * sizeof *s->records);
        for (size_t j = 0; s->records && j < s->room; j++)
            cpu_slice_record_clear(&s->records[j]);
    }
    if (!s->records)
        z->failed = true;
    else if (!cpu_slice_record_merge(&s->records[i], record) && (p = partial_of(z, s, i)))
        cpu_slice_record_add_to(record, p);
}

/* Sets a key of the slices from one of a GPU's, of the slicer's type. */
static void set_key(const struct cpu_slicer *z, const struct cpu_slices *s, void *to,
                    const struct engine_found *found, const void *keys, size_t i)
{
    const bool narrow = s->key_size == sizeof(int32_t);
    int32_t order;
    int64_t key;

    if (found->element_keys || element_size(z->given) == sizeof(double)) {
        key = ((const int64_t *)keys)[i];
        if (s->integers)
            key = exact_key((double)key);
        order = narrow ? slices_narrow_key(key) : 0;
    } else {
        order = ((const int32_t *)keys)[i];
        key = narrow ? 0 : slices_wide_key(order);
    }
    memcpy(to, narrow ? (const void *)&order : &key, s->key_size);
}

void cpu_slicer_put(struct cpu_slicer *z, struct cpu_slices *s, size_t first, size_t count,
                    const struct engine_found *found, size_t at, size_t step, uint64_t index)
{
    int64_t keys[2] = {0, 0};
    double high, low = 0;
    struct cpu_slices one = {.high = &high, .low = &low, .min = &keys[0], .max = &keys[1]};
    struct cpu_slice_record record;

    slices_begin(s, first + count);
    for (size_t i = 0; i < count; i++, at += step) {
        high = found->high[at];
        if (isnan(high))
            continue;
        if (!s->fast) {
            cpu_slice_record_set(&record, found, at, index);
            add_record(z, s, first + i, &record);
            continue;
        }
        if (found->low)
            low = found->low[at];
        if (s->min) {
            set_key(z, s, &keys[0], found, found->min, at);
            set_key(z, s, &keys[1], found, found->max, at);
        }
        add_slice(z, s, first + i, &one, 0);
    }
}

void cpu_slicer_merge(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                      const struct cpu_slices *other, size_t from, size_t count)
{
    slices_begin(s, first + count);
    for (size_t i = 0; i < count; i++) {
        struct partial *p;

        if (s->fast && from + i < other->filled)
            add_slice(z, s, first + i, other, from + i);
        if (slices_is_special(other, from + i) &&
            !slices_special_add(s, first + i, &other->special[from + i]))
            z->failed = true;
        if (other->records)
            add_record(z, s, first + i, &other->records[from + i]);
        if (!other->used[from + i])
            continue;
        p = partial_of(z, s, first + i);
        if (p)
            partial_merge(p, other->partial[from + i]);
    }
}
