#include "config.h"

#include "engine/cpu/slices.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of elements that are swapped, or turned from columns into rows, at a time. */
#define SCRATCH_BYTES ((size_t)64 << 10)

/* Without kernels: so many elements of a column are reduced at a time, and so many bytes of
   neighbouring columns are turned together. */
#define RUN_ELEMENTS 512
#define RUN_BYTES 64
_Static_assert(RUN_ELEMENTS *RUN_BYTES <= SCRATCH_BYTES, "runs of all columns fit");

#define ALIGNMENT 64

bool cpu_slices_are_fast(enum element_type type, unsigned wants)
{
    (void)type;
    (void)wants;
    return false;
}

static bool wants_extremes(unsigned wants)
{
    return wants & PARTIAL_EXTREMES;
}

bool cpu_slices_open(struct cpu_slices *s, enum cpu_slices_kind kind, enum element_type type,
                     unsigned wants, size_t room)
{
    const size_t all = (room + 2 * CPU_LANES_MAX - 1) / CPU_LANES_MAX * CPU_LANES_MAX;
    bool good;

    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->room = room;
    s->fast = cpu_slices_are_fast(type, wants);
    s->key_size = kind == CPU_SLICES_COLUMNS && element_size(type) <= sizeof(int32_t)
                      ? sizeof(int32_t)
                      : sizeof(int64_t);
    s->partial = calloc(all, sizeof *s->partial);
    s->used = calloc(all, sizeof *s->used);
    good = s->partial && s->used;
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
    if (good)
        cpu_slices_clear(s, room);
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
    memset(s, 0, sizeof *s);
}

/* The key that any other is less than, or more. */
static void clear_keys(void *keys, size_t count, size_t size, bool min)
{
    int32_t *narrow = keys;
    int64_t *wide = keys;

    if (size == sizeof *narrow)
        for (size_t i = 0; i < count; i++)
            narrow[i] = min ? INT32_MAX : INT32_MIN;
    else
        for (size_t i = 0; i < count; i++)
            wide[i] = min ? INT64_MAX : INT64_MIN;
}

void cpu_slices_clear(struct cpu_slices *s, size_t count)
{
    memset(s->used, 0, count * sizeof *s->used);
    if (s->high) {
        memset(s->high, 0, count * sizeof *s->high);
        memset(s->low, 0, count * sizeof *s->low);
    }
    if (s->min) {
        clear_keys(s->min, count, s->key_size, true);
        clear_keys(s->max, count, s->key_size, false);
    }
}

bool cpu_slicer_open(struct cpu_slicer *z, const struct cpu_kernels *kernels,
                     enum element_type type, unsigned wants, bool swap)
{
    memset(z, 0, sizeof *z);
    z->kernels = kernels;
    z->type = type;
    z->wants = wants;
    z->swap = swap;
    z->scratch = aligned_alloc(ALIGNMENT, 2 * SCRATCH_BYTES);
    return cpu_reducer_open(&z->reducer, kernels, type, wants) && z->scratch;
}

void cpu_slicer_close(struct cpu_slicer *z)
{
    cpu_reducer_close(&z->reducer);
    free(z->scratch);
}

/* The key of a v_order of binary32, as an exact_key. */
static int64_t wide_key(int32_t order)
{
    /* cppcheck-suppress shiftTooManyBitsSigned ; all compilers for this shift signs in */
    const uint32_t bits = (uint32_t)order ^ ((uint32_t)(order >> 31) >> 1);
    float x;

    memcpy(&x, &bits, sizeof x);
    return exact_key((double)x);
}

static int64_t key_of(const void *keys, size_t i, size_t size)
{
    return size == sizeof(int32_t) ? wide_key(((const int32_t *)keys)[i])
                                   : ((const int64_t *)keys)[i];
}

int64_t cpu_slices_min_key(const struct cpu_slices *s, size_t i)
{
    return key_of(s->min, i, s->key_size);
}

int64_t cpu_slices_max_key(const struct cpu_slices *s, size_t i)
{
    return key_of(s->max, i, s->key_size);
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
    p->count = count;
}

/* The partial result of a slice; a new one is empty. NULL, with `failed` set, without memory. */
static struct partial *partial_of(struct cpu_slicer *z, struct cpu_slices *s, size_t i)
{
    if (!s->partial[i])
        s->partial[i] = malloc(sizeof *s->partial[i]);
    if (!s->partial[i]) {
        z->failed = true;
        return NULL;
    }
    if (!s->used[i])
        partial_clear(s->partial[i]);
    s->used[i] = true;
    return s->partial[i];
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

/* Takes rows in this machine's byte order. */
static void take_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                      const unsigned char *x, size_t rows, size_t length, uint64_t index)
{
    const size_t size = element_size(z->type);

    for (size_t i = 0; i < rows; i++)
        take_run(z, s, first + i, x + i * length * size, length, index);
}

void cpu_slicer_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first, const void *data,
                     size_t rows, size_t length, uint64_t index)
{
    const size_t size = element_size(z->type), most = SCRATCH_BYTES / size;
    const unsigned char *x = data;

    if (!z->swap) {
        take_rows(z, s, first, x, rows, length, index);
        return;
    }
    for (size_t i = 0; i < rows;) {
        const size_t group = length < most ? most / length : 1, left = rows - i;
        const size_t count = left < group ? left : group;

        for (size_t at = 0; at < length; at += most) {
            const size_t part = length - at < most ? length - at : most;

            element_swap(z->scratch, x + (i * length + at) * size, count * part, size);
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

            for (size_t row = 0; row < run; row++)
                for (size_t column = 0; column < count; column++)
                    memcpy(turned + (column * RUN_ELEMENTS + row) * size,
                           x + (i + row) * stride + (j + column) * size, size);
            for (size_t column = 0; column < count; column++)
                take_run(z, s, first + j + column, turned + column * RUN_ELEMENTS * size, run,
                         index + i);
        }
    }
}

/* Takes columns in this machine's byte order. */
static void take_columns(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                         const unsigned char *x, size_t stride, size_t rows, size_t columns,
                         uint64_t index)
{
    take_turned(z, s, first, x, stride, rows, columns, index);
}

/* The most columns that are swapped together. */
#define SWAPPED_COLUMNS 1024

void cpu_slicer_columns(struct cpu_slicer *z, struct cpu_slices *s, size_t first, const void *data,
                        size_t stride, size_t rows, size_t columns, uint64_t index)
{
    const size_t size = element_size(z->type);
    const size_t width = columns < SWAPPED_COLUMNS ? columns : SWAPPED_COLUMNS;
    const unsigned char *x = data;
    size_t height;

    if (!z->swap) {
        take_columns(z, s, first, x, stride, rows, columns, index);
        return;
    }
    height = SCRATCH_BYTES / size / (width ? width : 1);
    for (size_t j = 0; j < columns; j += width) {
        const size_t some = columns - j < width ? columns - j : width;

        for (size_t i = 0; i < rows; i += height) {
            const size_t lines = rows - i < height ? rows - i : height;

            for (size_t row = 0; row < lines; row++)
                element_swap(z->scratch + row * some * size, x + (i + row) * stride + j * size,
                             some, size);
            take_columns(z, s, first + j, z->scratch, some * size, lines, some, index + i);
        }
    }
}

void cpu_slicer_merge(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                      const struct cpu_slices *other, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct partial *p;

        if (!other->used[from + i])
            continue;
        p = partial_of(z, s, first + i);
        if (p)
            partial_merge(p, other->partial[from + i]);
    }
}
