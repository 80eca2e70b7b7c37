/*
 * Kernels for slices of integers of 64 bits. A part of kernel_template.h.
 *
 * The lower and the upper 32 bits of elements are added up each for themselves, in lanes of 64 bits,
 * which no WIDE_MOST elements fill beyond 2^52. So both sums are binary64 numbers, and a pair of these
 * (kernel_slices.h) takes them without rounding, but for very many large elements, which are left.
 */
#ifndef GPUREDUCE_CPU_KERNEL_WIDE_SLICES_H
#define GPUREDUCE_CPU_KERNEL_WIDE_SLICES_H

#include "core/slice_sums.h"
#include "cpu/kernel_missing.h"
#include "cpu/kernel_slices.h"

/* Elements of a slice that are added up before their sums become numbers. */
#define WIDE_MOST ((size_t)1 << 20)

/* Columns whose sums stay in the level-1 cache while these are added up. */
#define WIDE_COLUMNS ((size_t)512)

/* Bytes ahead that are asked for, in a row. */
#define WIDE_AHEAD 2048

/* The sums of the lower and of the upper 32 bits of some elements, the latter with W_ODD_RAISED more for
   each element that has a sign, the keys of their extremes, and how many are there, lane by lane. */
struct wide_found {
    wvec lower, upper, min, max, present;
};

/* The results of a kernel. With `missing` some elements are: they are 0 in sums, and have no keys. */
struct wide_kernel {
    bool is_signed, sums, extremes, missing;
};

/* The missing values, in all lanes. */
struct wide_missing {
    wvec add[CPU_MISSING_MAX], last[CPU_MISSING_MAX];
    unsigned ranges;
};

/* Takes numbers, and the keys of their least and greatest. */
INLINE_TARGET void wide_put(struct wide_found *f, wvec number, wvec least, wvec greatest,
                            struct wide_kernel kernel)
{
    if (kernel.sums) {
        f->lower = w_add(f->lower, w_and(number, w_set1(UINT32_MAX)));
        f->upper = w_add(f->upper, kernel.is_signed ? w_odd_s(number) : w_odd(number));
    }
    if (kernel.extremes) {
        f->min = w_min_s(f->min, least);
        f->max = w_max_s(f->max, greatest);
    }
}

INLINE_TARGET wvec wide_key(wvec bits, struct wide_kernel kernel)
{
    return kernel.is_signed ? bits : w_xor(bits, w_set1(SIGN64));
}

INLINE_TARGET void wide_take(struct wide_found *f, const unsigned char *x,
                             struct wide_kernel kernel)
{
    const wvec bits = w_load(x), key = wide_key(bits, kernel);

    wide_put(f, bits, key, key, kernel);
}

/* As wide_take, of elements some of which may be missing. */
INLINE_TARGET void wide_take_present(struct wide_found *f, const unsigned char *x,
                                     struct wide_kernel kernel, const struct wide_missing *m)
{
    const wvec bits = w_load(x), key = wide_key(bits, kernel);
    const wmask present = w_present(bits, m->add, m->last, m->ranges);

    f->present = w_tally(f->present, present);
    wide_put(f, w_select(present, bits, w_set1(0)), w_select(present, key, w_set1(INT64_MAX)),
             w_select(present, key, w_set1(SIGN64)), kernel);
}

/* The sums of `count` elements in each lane, at most WIDE_MOST, as numbers whose sum they are. */
INLINE_TARGET void wide_sums(vecd sum[2], wvec lower, wvec upper, size_t count, bool is_signed)
{
    const double raised = is_signed ? (double)(0x1p31 * (double)count) : 0;
    /* From 0 on, whether the instruction set raises it or not. */
    const wvec positive =
        is_signed ? w_add(upper, w_set1((uint64_t)count * (((uint64_t)1 << 31) - W_ODD_RAISED)))
                  : upper;

    sum[0] = d_mul(d_sub(wide_value(positive), d_set1(raised)), d_set1(0x1p32));
    sum[1] = wide_value(lower);
}

/*
 * Rows.
 */

/* Adds `count` elements, at most WIDE_MOST, to a pair, and takes their keys. */
INLINE_TARGET void wide_run(struct slice_pair *pair, int64_t *min, int64_t *max,
                            const unsigned char *x, size_t count, struct wide_kernel kernel)
{
    const bool is_signed = kernel.is_signed;
    struct wide_found f = {w_set1(0), w_set1(0), w_set1(INT64_MAX), w_set1(SIGN64), w_set1(0)};
    int64_t least[W_LANES], greatest[W_LANES];
    uint64_t lower = 0, upper = 0;
    size_t i = 0;

    for (; count - i >= W_LANES; i += W_LANES) {
        __builtin_prefetch((const void *)((uintptr_t)x + i * sizeof(uint64_t) + WIDE_AHEAD));
        wide_take(&f, x + i * sizeof(uint64_t), kernel);
    }
    if (i > 0) {
        lower = w_h_add(f.lower);
        upper = w_h_add(f.upper);
        v_store(least, w_narrow(f.min));
        v_store(greatest, w_narrow(f.max));
        for (int k = 0; k < W_LANES && kernel.extremes; k++) {
            *min = least[k] < *min ? least[k] : *min;
            *max = greatest[k] > *max ? greatest[k] : *max;
        }
    }
    if (is_signed) /* from 0 on */
        upper += (uint64_t)i * (((uint64_t)1 << 31) - W_ODD_RAISED);
    for (; i < count; i++) {
        uint64_t bits;
        int64_t key;

        memcpy(&bits, x + i * sizeof bits, sizeof bits);
        lower += bits & UINT32_MAX;
        upper += (is_signed ? bits ^ SIGN64 : bits) >> 32;
        key = (int64_t)(is_signed ? bits : bits ^ SIGN64);
        *min = key < *min ? key : *min;
        *max = key > *max ? key : *max;
    }
    slice_pair_put(pair,
                   ((double)(int64_t)upper - (is_signed ? 0x1p31 * (double)count : 0)) * 0x1p32);
    slice_pair_put(pair, (double)(int64_t)lower);
}

INLINE_TARGET void wide_rows_kernel(const unsigned char *x, size_t rows, size_t length,
                                    const struct cpu_slice_results *to, bool *bad,
                                    enum element_type type, bool extremes)
{
    const struct wide_kernel kernel = {element_formats[type].kind == ELEMENT_SIGNED, true, extremes,
                                       false};

    for (size_t row = 0; row < rows; row++, x += length * sizeof(uint64_t)) {
        struct slice_pair pair = {0, 0, false};
        int64_t min = INT64_MAX, max = INT64_MIN;

        for (size_t i = 0; i < length; i += WIDE_MOST)
            wide_run(&pair, &min, &max, x + i * sizeof(uint64_t),
                     length - i < WIDE_MOST ? length - i : WIDE_MOST, kernel);
        bad[row] = pair.left;
        to->high[row] = pair.high;
        to->low[row] = pair.low;
        if (extremes) {
            ((int64_t *)to->min)[row] = min;
            ((int64_t *)to->max)[row] = max;
        }
    }
}

/*
 * Columns.
 */

/* The results of some columns. */
struct wide_block {
    _Alignas(64) uint64_t lower[WIDE_COLUMNS], upper[WIDE_COLUMNS], present[WIDE_COLUMNS];
};

/* Takes a vector of n rows, at most CPU_COLUMN_ROWS, into the sums from number `at` on, to none with
   `begin`, and into the keys of the least and of the greatest. */
INLINE_TARGET void wide_step(struct wide_block *b, size_t at, int64_t *const keys[2],
                             const unsigned char *x, size_t stride, size_t n, bool begin,
                             struct wide_kernel kernel, const struct wide_missing *m)
{
    const wvec none = w_set1(0);
    struct wide_found f = {
        .lower = begin || !kernel.sums ? none : w_load(b->lower + at),
        .upper = begin || !kernel.sums ? none : w_load(b->upper + at),
        .min = kernel.extremes ? w_load(keys[0] + at) : none,
        .max = kernel.extremes ? w_load(keys[1] + at) : none,
        .present = kernel.missing && !begin ? w_load(b->present + at) : none,
    };

    for (size_t row = 0; row < n; row++)
        if (kernel.missing)
            wide_take_present(&f, x + row * stride, kernel, m);
        else
            wide_take(&f, x + row * stride, kernel);
    if (kernel.sums) {
        v_store(b->lower + at, w_narrow(f.lower));
        v_store(b->upper + at, w_narrow(f.upper));
    }
    if (kernel.missing)
        v_store(b->present + at, w_narrow(f.present));
    if (kernel.extremes) {
        v_store(keys[0] + at, w_narrow(f.min));
        v_store(keys[1] + at, w_narrow(f.max));
    }
}

/* Adds what a vector of columns has come to in `rows` rows from number `row` on, to no sums with
   `begin`. The elements of lanes whose sum does not fit are handed over. */
INLINE_TARGET void wide_add(const struct wide_block *b, size_t at, size_t row, size_t rows,
                            size_t column, const struct cpu_slice_results *to, bool begin,
                            const struct cpu_slice_calls *calls, bool is_signed)
{
    double *high = to->high + column, *low = to->low + column, before[2][W_LANES], left[W_LANES];
    struct sums s = {begin ? d_set1(0) : load_sum(high), load_sum(low), w_set1(0)};
    vecd sum[2];

    d_store(before[0], s.high);
    d_store(before[1], s.low);
    wide_sums(sum, w_load(b->lower + at), w_load(b->upper + at), rows, is_signed);
    sums_add(&s, sum[0]);
    sums_add(&s, sum[1]);
    d_store(high, s.high);
    if (*to->low_used || w_any(d_bits(s.low))) {
        *to->low_used = true;
        d_store(low, s.low);
    }
    if (!w_any(s.left))
        return;
    d_store(left, w_value(s.left));
    for (size_t k = 0; k < W_LANES; k++)
        if (exact_bits(left[k]) != 0) {
            high[k] = before[0][k];
            low[k] = before[1][k];
            calls->left(calls->context, column + k, row, rows);
        }
}

INLINE_TARGET void wide_columns(const unsigned char *data, size_t stride, size_t rows,
                                size_t columns, const struct cpu_slice_results *to,
                                const struct cpu_slice_calls *calls, struct wide_kernel kernel)
{
    struct wide_missing missing = {.ranges = kernel.missing ? calls->missing->count : 0};
    struct wide_block block;

    for (unsigned i = 0; i < missing.ranges; i++) {
        missing.add[i] = w_set1(calls->missing->add[i]);
        missing.last[i] = w_set1(calls->missing->last[i]);
    }
    for (size_t from = 0; from < rows; from += WIDE_MOST)
        for (size_t first = 0; first < columns; first += WIDE_COLUMNS) {
            const size_t height = rows - from < WIDE_MOST ? rows - from : WIDE_MOST;
            const size_t width = columns - first < WIDE_COLUMNS ? columns - first : WIDE_COLUMNS;
            const unsigned char *x = data + from * stride + first * sizeof(uint64_t);
            const bool begin = to->begin && from == 0;
            int64_t *const keys[2] = {kernel.extremes ? (int64_t *)to->min + first : NULL,
                                      kernel.extremes ? (int64_t *)to->max + first : NULL};

            for (size_t row = 0; row < height; row += CPU_COLUMN_ROWS) {
                const size_t n = height - row < CPU_COLUMN_ROWS ? height - row : CPU_COLUMN_ROWS;
                const struct next_rows next = next_rows(x, stride, row + n, height, CPU_COLUMN_ROWS,
                                                        width * sizeof(uint64_t));

                for (size_t j = 0; j < width; j += W_LANES) {
                    const unsigned char *p = x + row * stride + j * sizeof(uint64_t);

                    prefetch_next(&next, stride, j * sizeof(uint64_t));
                    if (n == CPU_COLUMN_ROWS)
                        wide_step(&block, j, keys, p, stride, CPU_COLUMN_ROWS, row == 0, kernel,
                                  &missing);
                    else
                        wide_step(&block, j, keys, p, stride, n, row == 0, kernel, &missing);
                }
            }
            for (size_t j = 0; j < width && kernel.sums; j += W_LANES)
                wide_add(&block, j, from, height, first + j, to, begin, calls, kernel.is_signed);
            if (begin && !kernel.sums)
                memset(to->high + first, 0, width * sizeof *to->high);
            for (size_t j = 0; j < width && kernel.missing; j++)
                calls->nans[first + j] += (uint32_t)(height - block.present[j]);
        }
}

INLINE_TARGET void wide_columns_kernel(const unsigned char *data, size_t stride, size_t rows,
                                       size_t columns, const struct cpu_slice_results *to,
                                       const struct cpu_slice_calls *calls, enum element_type type,
                                       bool extremes)
{
    const bool is_signed = element_formats[type].kind == ELEMENT_SIGNED;

    if (calls->nans)
        wide_columns(data, stride, rows, columns, to, calls,
                     (struct wide_kernel){is_signed, true, extremes, true});
    else if (extremes && to->keys_alone)
        wide_columns(data, stride, rows, columns, to, calls,
                     (struct wide_kernel){is_signed, false, true, false});
    else
        wide_columns(data, stride, rows, columns, to, calls,
                     (struct wide_kernel){is_signed, true, extremes, false});
}

#endif
