#include "config.h"

#include "cpu/quantiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "sys/inline.h"

/* Elements of a slice up to which it is faster to sort a vector of slices than to look for the order
   statistics of one after the other; and the part of the vector that slices have to fill then. */
#define SORTED_MAX ((size_t)8192)
#define SORTED_LANES 4

/* Elements of a slice from which on a sample tells where an order statistic lies. */
#define SAMPLED_LEAST ((size_t)1024)

/* Rows of keys whose elements that are left out a byte can count. */
#define COUNTED_ROWS ((size_t)128)

/* Elements that are taken into a cell at a time. */
#define BLOCK ((size_t)256)

/* Slices whose cells are filled side by side: those of a cache line. */
#define CELLS_MAX CPU_SORT_BYTES

static size_t lanes_of(const struct cpu_quantiles *q)
{
    return CPU_SORT_BYTES / element_size(q->type);
}

/* The keys that there is room for in a cell of a slice. */
static size_t cell_room(size_t length)
{
    return length / 8 + 2 * BLOCK;
}

/* Elements of a slice that count for no order statistic. */
struct left_out {
    size_t count;
    bool nan; /* there are NaNs among them */
};

/* A range of keys in which an order statistic of a slice is expected. */
struct cpu_quantiles_cell {
    uint64_t first, last;
    size_t below; /* keys below it */
    uint64_t *keys;
    size_t kept, room; /* keys in it, which are there, and for which there is room */
    bool full;         /* there was no room for more */
    struct left_out left;
};

bool cpu_quantiles_open(struct cpu_quantiles *q, const struct cpu_kernels *kernels,
                        enum element_type type, bool swap, const struct missing *missing,
                        const struct scale *scale, bool propagate,
                        const struct pass_request *request, size_t length)
{
    const size_t room = cell_room(length);

    *q = (struct cpu_quantiles){.type = type,
                                .swap = swap,
                                .propagate = propagate,
                                .least = order_least(type),
                                .most = order_greatest(type),
                                .missing = *missing,
                                .scale = *scale,
                                .count = request->quantile_count,
                                .length = length};
    if (!element_is_integer(type)) {
        q->flips = order_sign(type);
        q->negative_flips = order_sign(type) - 1;
    } else if (element_formats[type].kind == ELEMENT_SIGNED) {
        q->flips = order_sign(type);
    }
    for (unsigned k = 0; k < q->count; k++)
        q->quantiles[k] = quantile_stored(&request->quantiles[k], scale);
    q->sort = kernels->sort_columns[__builtin_ctzll(element_size(type))];
    if (length > SIZE_MAX / 4 / sizeof *q->keys || room > SIZE_MAX / lanes_of(q) / sizeof *q->kept)
        return false;
    q->keys = malloc(2 * (length + BLOCK) * sizeof *q->keys);
    if (length <= SORTED_MAX)
        q->rows = aligned_alloc(CPU_SORT_BYTES, length * CPU_SORT_BYTES);
    if (length >= SAMPLED_LEAST) {
        q->kept = malloc(lanes_of(q) * room * sizeof *q->kept);
        q->cells = malloc(lanes_of(q) * q->count * sizeof *q->cells);
    }
    return q->keys && (q->rows || length > SORTED_MAX) &&
           ((q->kept && q->cells) || length < SAMPLED_LEAST);
}

void cpu_quantiles_close(struct cpu_quantiles *q)
{
    free(q->rows);
    free(q->keys);
    free(q->kept);
    free(q->cells);
}

/* The first element of slice j. */
static const unsigned char *slice_of(const struct cpu_quantiles_data *x, size_t j, size_t size)
{
    return x->data + j / x->columns * x->block + j % x->columns * size;
}

/* Whether an element is left out. */
static bool leaves_out(const struct cpu_quantiles *q, uint64_t key, struct left_out *left)
{
    const bool missing = q->missing.count > 0 && missing_has(&q->missing, key);
    const bool nan = key < q->least || key > q->most;

    left->count += nan || missing;
    left->nan |= nan && !missing;
    return nan || missing;
}

/* Keys of elements of a size. */
typedef uint8_t lane_1;
typedef uint16_t lane_2;
typedef uint32_t lane_4;
typedef uint64_t lane_8;

/* For elements of one size: */
#define OF_SIZE(size)                                                                             \
    enum { LANES_##size = CPU_SORT_BYTES / (size) };                                              \
                                                                                                  \
    /* Puts the bits of slices from number `first` on side by side. */                            \
    static void gather_##size(lane_##size *to, const struct cpu_quantiles_data *x, size_t length, \
                              size_t first, size_t slices)                                        \
    {                                                                                             \
        const unsigned char *from = slice_of(x, first, size);                                     \
                                                                                                  \
        if (first % x->columns + slices <= x->columns) {                                          \
            for (size_t i = 0; i < length; i++)                                                   \
                memcpy(to + i * LANES_##size, from + i * x->stride, slices * (size));             \
            return;                                                                               \
        }                                                                                         \
        for (size_t j = 0; j < slices; j++) {                                                     \
            from = slice_of(x, first + j, size);                                                  \
            for (size_t i = 0; i < length; i++)                                                   \
                memcpy(to + i * LANES_##size + j, from + i * x->stride, size);                    \
        }                                                                                         \
    }                                                                                             \
                                                                                                  \
    /* Sets missing[j] to 1 where key j of a row is one of a missing element. */                  \
    static ALWAYS_INLINE void find_missing_##size(const struct cpu_quantiles *q,                  \
                                                  const lane_##size *row, lane_##size *missing)   \
    {                                                                                             \
        for (unsigned k = 0; k < q->missing.count; k++) {                                         \
            const lane_##size first = (lane_##size)q->missing.ranges[k].first;                    \
            const lane_##size span = (lane_##size)(q->missing.ranges[k].last - first);            \
                                                                                                  \
            for (size_t j = 0; j < LANES_##size; j++)                                             \
                missing[j] |= (lane_##size)((lane_##size)(row[j] - first) <= span);               \
        }                                                                                         \
    }                                                                                             \
                                                                                                  \
    /* Makes keys of the bits of rows. Returns whether some may have to be left out. */           \
    static bool make_keys_##size(const struct cpu_quantiles *q, lane_##size *keys, size_t rows)   \
    {                                                                                             \
        const lane_##size always = (lane_##size)q->flips,                                         \
                          negative = (lane_##size)q->negative_flips;                              \
        const lane_##size least = (lane_##size)q->least, most = (lane_##size)q->most;             \
        const bool truth = element_formats[q->type].kind == ELEMENT_TRUTH;                        \
        lane_##size odd[LANES_##size] = {0}, any = 0;                                             \
                                                                                                  \
        for (lane_##size *row = keys; row < keys + rows * LANES_##size; row += LANES_##size) {    \
            for (size_t j = 0; j < LANES_##size; j++) {                                           \
                const lane_##size bits = row[j];                                                  \
                const lane_##size minus =                                                         \
                    (lane_##size)(0 - (lane_##size)(bits >> (8 * (size)-1)));                     \
                const lane_##size flipped = (lane_##size)(bits ^ (always ^ (minus & negative)));  \
                const lane_##size key = truth ? bits != 0 : flipped;                              \
                                                                                                  \
                row[j] = key;                                                                     \
                odd[j] |= (lane_##size)((key < least) | (key > most));                            \
            }                                                                                     \
            find_missing_##size(q, row, odd);                                                     \
        }                                                                                         \
        for (size_t j = 0; j < LANES_##size; j++)                                                 \
            any |= odd[j];                                                                        \
        return any;                                                                               \
    }                                                                                             \
                                                                                                  \
    /* Puts keys that are left out after all others. */                                           \
    static void leave_out_##size(const struct cpu_quantiles *q, lane_##size *keys, size_t rows,   \
                                 struct left_out *left)                                           \
    {                                                                                             \
        const lane_##size least = (lane_##size)q->least, most = (lane_##size)q->most;             \
                                                                                                  \
        for (size_t i = 0; i < rows; i += COUNTED_ROWS) {                                         \
            const size_t some = rows - i < COUNTED_ROWS ? rows - i : COUNTED_ROWS;                \
            lane_##size count[LANES_##size] = {0}, nans[LANES_##size] = {0};                      \
                                                                                                  \
            for (lane_##size *row = keys + i * LANES_##size;                                      \
                 row < keys + (i + some) * LANES_##size; row += LANES_##size) {                   \
                lane_##size missing[LANES_##size] = {0};                                          \
                                                                                                  \
                find_missing_##size(q, row, missing);                                             \
                for (size_t j = 0; j < LANES_##size; j++) {                                       \
                    const lane_##size nan = (lane_##size)((row[j] < least) | (row[j] > most));    \
                    const lane_##size out = nan | missing[j];                                     \
                                                                                                  \
                    nans[j] |= (lane_##size)(nan & ~missing[j]);                                  \
                    count[j] = (lane_##size)(count[j] + out);                                     \
                    row[j] |= (lane_##size)(0 - out);                                             \
                }                                                                                 \
            }                                                                                     \
            for (size_t j = 0; j < LANES_##size; j++) {                                           \
                left[j].count += count[j];                                                        \
                left[j].nan |= nans[j];                                                           \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
                                                                                                  \
    /* Sorts the keys of a vector of slices in q->rows; those that are left out come last. */     \
    static void sort_##size(struct cpu_quantiles *q, const struct cpu_quantiles_data *x,          \
                            size_t length, size_t first, size_t slices, struct left_out *left)    \
    {                                                                                             \
        lane_##size *const keys = (lane_##size *)(void *)q->rows;                                 \
                                                                                                  \
        /* Lanes without a slice hold zeros. */                                                   \
        if (slices < LANES_##size)                                                                \
            memset(keys, 0, length *CPU_SORT_BYTES);                                              \
        gather_##size(keys, x, length, first, slices);                                            \
        if (q->swap)                                                                              \
            element_swap(keys, keys, length *LANES_##size, size);                                 \
        if (make_keys_##size(q, keys, length))                                                    \
            leave_out_##size(q, keys, length, left);                                              \
        q->sort(q->rows, length);                                                                 \
    }                                                                                             \
                                                                                                  \
    /* Takes up to BLOCK elements of a slice into a cell, which has room for so many. */          \
    static void take_##size(const struct cpu_quantiles *q, const unsigned char *from,             \
                            size_t stride, size_t count, struct cpu_quantiles_cell *cell)         \
    {                                                                                             \
        const size_t rows = (count + LANES_##size - 1) / LANES_##size;                            \
        const lane_##size first = (lane_##size)cell->first,                                       \
                          span = (lane_##size)(cell->last - cell->first);                         \
        uint64_t *const to = cell->keys + cell->kept;                                             \
        size_t kept = 0, n = 0;                                                                   \
        lane_##size keys[BLOCK], below[LANES_##size] = {0};                                       \
                                                                                                  \
        if (stride == (size))                                                                     \
            memcpy(keys, from, count *(size));                                                    \
        else                                                                                      \
            for (size_t i = 0; i < count; i++)                                                    \
                memcpy(keys + i, from + i * stride, size);                                        \
        memset(keys + count, 0, (rows * LANES_##size - count) * (size));                          \
        if (q->swap)                                                                              \
            element_swap(keys, keys, count, size);                                                \
        if (make_keys_##size(q, keys, rows)) {                                                    \
            for (size_t i = 0; i < count; i++) {                                                  \
                keys[n] = keys[i];                                                                \
                n += !leaves_out(q, keys[i], &cell->left);                                        \
            }                                                                                     \
            count = n;                                                                            \
        }                                                                                         \
        /* Those after the last are not below it. */                                              \
        memset(keys + count, 0xff, (rows * LANES_##size - count) * (size));                       \
        for (lane_##size *row = keys; row < keys + count; row += LANES_##size)                    \
            for (size_t j = 0; j < LANES_##size; j++)                                             \
                below[j] = (lane_##size)(below[j] + (row[j] < first));                            \
        for (size_t j = 0; j < LANES_##size; j++)                                                 \
            cell->below += below[j];                                                              \
        for (size_t i = 0; i < count; i++) {                                                      \
            to[kept] = keys[i];                                                                   \
            kept += (lane_##size)(keys[i] - first) <= span;                                       \
        }                                                                                         \
        cell->kept += kept;                                                                       \
    }
OF_SIZE(1)
OF_SIZE(2)
OF_SIZE(4)
OF_SIZE(8)

/* The functions by the size of elements. */
static const struct {
    void (*sort)(struct cpu_quantiles *, const struct cpu_quantiles_data *, size_t, size_t, size_t,
                 struct left_out *);
    void (*take)(const struct cpu_quantiles *, const unsigned char *, size_t, size_t,
                 struct cpu_quantiles_cell *);
} of_size[] = {
    [1] = {sort_1, take_1}, [2] = {sort_2, take_2}, [4] = {sort_4, take_4}, [8] = {sort_8, take_8}};

/* Whether a slice has no quantiles: `count` elements are left. */
static bool has_none(const struct cpu_quantiles *q, const struct left_out *left, size_t count)
{
    return count == 0 || (left->nan && q->propagate);
}

/* Finds the quantiles of slices from number `first` on, up to a vector of them, by sorting. */
static void find_sorted(struct cpu_quantiles *q, const struct cpu_quantiles_data *x, size_t length,
                        size_t first, size_t slices, double *const *to)
{
    const size_t size = element_size(q->type);
    struct left_out left[CPU_SORT_BYTES] = {{0}};

    of_size[size].sort(q, x, length, first, slices, left);
    for (size_t j = 0; j < slices; j++) {
        const size_t count = length - left[j].count;
        const bool none = has_none(q, &left[j], count);

        for (unsigned k = 0; k < q->count; k++) {
            const struct quantile_place place =
                count == length || none ? q->places[k] : quantile_place(&q->quantiles[k], count);
            const unsigned char *const low = q->rows + place.rank * CPU_SORT_BYTES + j * size;
            const unsigned char *const high = place.fraction > 0 ? low + CPU_SORT_BYTES : low;

            to[k][first + j] = none ? (double)NAN
                                    : quantile_between(q->type, &q->scale, element_bits(size, low),
                                                       element_bits(size, high), place.fraction,
                                                       q->quantiles[k].denominator);
        }
    }
}

/* Takes the elements of slices from number `first` on into a cell each, as long as there is room. */
static void take_slices(const struct cpu_quantiles *q, const struct cpu_quantiles_data *x,
                        size_t length, size_t first, size_t slices,
                        struct cpu_quantiles_cell *cells)
{
    const size_t size = element_size(q->type);

    for (size_t i = 0; i < length; i += BLOCK)
        for (size_t j = 0; j < slices; j++) {
            struct cpu_quantiles_cell *const c = &cells[j];

            c->full = c->full || c->kept + BLOCK > c->room;
            if (!c->full)
                of_size[size].take(q, slice_of(x, first + j, size) + i * x->stride, x->stride,
                                   length - i < BLOCK ? length - i : BLOCK, c);
        }
}

/* Finds the quantiles of slice j, by all of its keys. */
static void find_selected(struct cpu_quantiles *q, const struct cpu_quantiles_data *x,
                          size_t length, size_t j, double *const *to)
{
    struct cpu_quantiles_cell all = {.last = UINT64_MAX, .keys = q->keys, .room = length + BLOCK};
    double found[PASS_PLAN_QUANTILES_MAX];

    take_slices(q, x, length, j, 1, &all);
    if (has_none(q, &all.left, all.kept))
        for (unsigned k = 0; k < q->count; k++)
            found[k] = NAN;
    else
        (void)quantile_select(q->type, &q->scale, q->quantiles, q->count,
                              &(struct quantile_keys){.keys = q->keys,
                                                      .scratch = q->keys + q->length + BLOCK,
                                                      .kept = all.kept,
                                                      .all = all.kept},
                              found);
    for (unsigned k = 0; k < q->count; k++)
        to[k][j] = found[k];
}

/* Samples slice j: the keys of the sample become sorted. Returns how many there are, of *root squared. */
static size_t take_sample(struct cpu_quantiles *q, const struct cpu_quantiles_data *x,
                          size_t length, size_t j, const uint64_t **sample, size_t *root)
{
    struct cpu_quantiles_cell all = {
        .last = UINT64_MAX, .keys = q->keys, .room = q->length + BLOCK};
    struct cpu_quantiles_data some = *x;

    *root = 32;
    while (*root < 128 && *root * *root * 64 < length)
        *root *= 2;
    some.stride *= length / (*root * *root);
    take_slices(q, &some, *root * *root, j, 1, &all);
    *sample = order_sort(q->keys, q->keys + q->length + BLOCK, all.kept,
                         (unsigned)(8 * element_size(q->type)));
    return all.kept;
}

/* Sets the cell in which quantile k is expected by a sample. The deviation of a rank in it is at most half
   of the root. */
static void choose_cell(const struct cpu_quantiles *q, unsigned k, const uint64_t *sample,
                        size_t count, size_t root, struct cpu_quantiles_cell *cell)
{
    const size_t rank = count > 0 ? (size_t)quantile_place(&q->quantiles[k], count).rank : 0;
    const size_t slack = 2 * root;

    *cell = (struct cpu_quantiles_cell){.first = rank < slack ? 0 : sample[rank - slack],
                                        .last = rank + slack >= count ? UINT64_MAX
                                                                      : sample[rank + slack]};
}

/* Finds quantile k of a slice by its cell. False where it lies elsewhere. */
static bool find_in_cell(struct cpu_quantiles *q, unsigned k, size_t length,
                         const struct cpu_quantiles_cell *cell, double *found)
{
    const size_t count = length - cell->left.count;

    if (cell->full)
        return false;
    *found = NAN;
    return has_none(q, &cell->left, count) ||
           quantile_select(q->type, &q->scale, &q->quantiles[k], 1,
                           &(struct quantile_keys){.keys = cell->keys,
                                                   .scratch = q->keys,
                                                   .kept = cell->kept,
                                                   .before = cell->below,
                                                   .all = count},
                           found);
}

/* Finds the quantiles of long slices from number `first` on, as many as cells are filled of side by side:
   in the cells that samples suggest, and where that fails, among all keys. */
static void find_sampled(struct cpu_quantiles *q, const struct cpu_quantiles_data *x, size_t length,
                         size_t first, size_t slices, double *const *to)
{
    const size_t room = cell_room(q->length), lanes = lanes_of(q);
    bool failed[CELLS_MAX] = {false};

    for (size_t j = 0; j < slices; j++) {
        const uint64_t *sample;
        size_t root;
        const size_t count = take_sample(q, x, length, first + j, &sample, &root);

        for (unsigned k = 0; k < q->count; k++) {
            struct cpu_quantiles_cell *const cell = &q->cells[k * lanes + j];

            choose_cell(q, k, sample, count, root, cell);
            cell->keys = q->kept + j * room;
            cell->room = room;
        }
    }
    for (unsigned k = 0; k < q->count; k++) {
        struct cpu_quantiles_cell *const cells = q->cells + k * lanes;

        take_slices(q, x, length, first, slices, cells);
        for (size_t j = 0; j < slices; j++)
            failed[j] = !find_in_cell(q, k, length, &cells[j], &to[k][first + j]) || failed[j];
    }
    for (size_t j = 0; j < slices; j++)
        if (failed[j])
            find_selected(q, x, length, first + j, to);
}

void cpu_quantiles_find(struct cpu_quantiles *q, const struct cpu_quantiles_data *x, size_t length,
                        size_t slices, double *const *to)
{
    const size_t lanes = lanes_of(q);
    /* Rows lie apart; columns share cache lines. */
    const size_t beside = x->columns > 1 ? lanes : 1;

    for (unsigned k = 0; k < q->count && length > 0; k++)
        q->places[k] = quantile_place(&q->quantiles[k], length);
    for (size_t i = 0, some; i < slices; i += some) {
        some = slices - i < lanes ? slices - i : lanes;
        if (q->rows && some > lanes / SORTED_LANES) {
            find_sorted(q, x, length, i, some, to);
        } else if (length >= SAMPLED_LEAST) {
            some = some < beside ? some : beside;
            find_sampled(q, x, length, i, some, to);
        } else {
            some = 1;
            find_selected(q, x, length, i, to);
        }
    }
}
