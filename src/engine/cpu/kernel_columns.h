/*
 * Kernels for slices that are columns: a lane takes a column, CPU_COLUMN_ROWS rows at a time. A
 * part of kernel_template.h.
 */
#ifndef GPUREDUCE_CPU_KERNEL_COLUMNS_H
#define GPUREDUCE_CPU_KERNEL_COLUMNS_H

#include "engine/cpu/kernel_slices.h"

/* Bytes ahead that are asked for. Of rows this long: of these; else of rows that are taken next,
   which lie behind them. */
#define COLUMNS_WIDE 8192
#define COLUMNS_AHEAD_WIDE 2048
#define COLUMNS_AHEAD 4096

_Static_assert(CPU_COLUMN_ROWS == 8, "2^3 rows");
#define COLUMN_ROWS_LOG2 3

/* The bits of doubles and integers in memory. */
INLINE_TARGET vecd load_sum(const double *p)
{
    return w_value(w_load(p));
}

/* Adds numbers to the sums of two vectors of lanes. False, having added none, where that cannot be.
 */
INLINE_TARGET bool lanes_add(const vecd x[2], double *high, double *low, bool *low_used)
{
    struct sums s[2];
    vecd error[2];

    for (int half = 0; half < 2; half++)
        s[half].high = d_two_sum(load_sum(high + half * W_LANES), x[half], &error[half]);
    /* Mostly there is no error, and `low` stays as it is. */
    if (w_any(w_and(w_or(d_bits(error[0]), d_bits(error[1])), w_set1(~SIGN64)))) {
        for (int half = 0; half < 2; half++) {
            s[half] = (struct sums){load_sum(high + half * W_LANES), load_sum(low + half * W_LANES),
                                    w_set1(0)};
            sums_add(&s[half], x[half]);
        }
        if (w_any(w_or(s[0].left, s[1].left)))
            return false;
        *low_used = true;
        for (int half = 0; half < 2; half++)
            d_store(low + half * W_LANES, s[half].low);
    }
    for (int half = 0; half < 2; half++)
        d_store(high + half * W_LANES, s[half].high);
    return true;
}

/* Adds up to CPU_COLUMN_ROWS elements of each lane plainly: to no sums, with `begin`. Whether
   they add up. */
INLINE_TARGET bool lanes_plain(const unsigned char *x, size_t stride, size_t rows, double *high,
                               double *low, bool begin, bool *low_used, enum element_type type)
{
    struct bounds bounds = bounds_none();
    vecd sum[2] = {d_set1(0), d_set1(0)};

    UNROLL_INLINED(8)
    for (size_t row = 0; row < rows; row++) {
        const vec bits = step_bits(x + row * stride, type);

        bounds_take(&bounds, bits);
        sum[0] = d_add(sum[0], v_low(bits));
        sum[1] = d_add(sum[1], v_high(bits));
    }
    if (!bounds_fit_in_lanes(&bounds, type, COLUMN_ROWS_LOG2))
        return false;
    if (!begin)
        return lanes_add(sum, high, low, low_used);
    d_store(high, sum[0]);
    d_store(high + W_LANES, sum[1]);
    return true;
}

/* The same with the errors of the additions. Sets which lanes are left as they were; whether some
   are. */
INLINE_TARGET bool lanes_exact(const unsigned char *x, size_t stride, size_t rows, double *high,
                               double *low, bool left[CPU_LANES_MAX], enum element_type type)
{
    struct sums s[2] = {sums_none(), sums_none()};
    double before[2][2 * W_LANES], bits[W_LANES];
    bool some = false;
    vecd value[2];

    for (int half = 0; half < HALVES(type); half++) {
        s[half].high = load_sum(high + half * W_LANES);
        s[half].low = load_sum(low + half * W_LANES);
        d_store(before[0] + half * W_LANES, s[half].high);
        d_store(before[1] + half * W_LANES, s[half].low);
    }
    for (size_t row = 0; row < rows; row++) {
        step_values(value, x + row * stride, type);
        for (int half = 0; half < HALVES(type); half++)
            sums_add(&s[half], value[half]);
    }
    for (int half = 0; half < HALVES(type); half++) {
        d_store(high + half * W_LANES, s[half].high);
        d_store(low + half * W_LANES, s[half].low);
        some = some || w_any(s[half].left);
    }
    for (int half = 0; half < HALVES(type) && some; half++) {
        d_store(bits, w_value(s[half].left));
        for (int k = 0; k < W_LANES; k++) {
            const int lane = half * W_LANES + k;

            left[lane] = exact_bits(bits[k]) != 0;
            high[lane] = left[lane] ? before[0][lane] : high[lane];
            low[lane] = left[lane] ? before[1][lane] : low[lane];
        }
    }
    return some;
}

/* The extremes of the elements of each lane that is not left; `left` NULL for none. */
INLINE_TARGET void lanes_extremes(const unsigned char *x, size_t stride, size_t rows, void *min,
                                  void *max, const bool *left, enum element_type type)
{
    if (type == ELEMENT_F64) {
        int64_t *keys[2] = {min, max}, before[2][W_LANES];
        wvec least = w_load(min), greatest = w_load(max);

        memcpy(before[0], min, sizeof before[0]);
        memcpy(before[1], max, sizeof before[1]);
        for (size_t row = 0; row < rows; row++) {
            const wvec key = w_order(w_load(x + row * stride));

            least = w_min_s(least, key);
            greatest = w_max_s(greatest, key);
        }
        v_store(min, w_narrow(least));
        v_store(max, w_narrow(greatest));
        for (int i = 0; left && i < 2; i++)
            for (int lane = 0; lane < W_LANES; lane++)
                keys[i][lane] = left[lane] ? before[i][lane] : keys[i][lane];
    } else {
        int32_t *keys[2] = {min, max}, before[2][V_LANES];
        vec least = v_load_f32(min), greatest = v_load_f32(max);

        memcpy(before[0], min, sizeof before[0]);
        memcpy(before[1], max, sizeof before[1]);
        for (size_t row = 0; row < rows; row++) {
            const vec key = v_order(step_bits(x + row * stride, type));

            least = v_min_s(least, key);
            greatest = v_max_s(greatest, key);
        }
        v_store(min, least);
        v_store(max, greatest);
        for (int i = 0; left && i < 2; i++)
            for (int lane = 0; lane < V_LANES; lane++)
                keys[i][lane] = left[lane] ? before[i][lane] : keys[i][lane];
    }
}

/* Asks for what is `ahead` of a step, into the level-1 cache. */
INLINE_TARGET void prefetch_columns(const unsigned char *x, size_t stride, size_t rows,
                                    size_t ahead)
{
    for (size_t row = 0; row < rows; row++)
        __builtin_prefetch((const void *)((uintptr_t)x + row * stride + ahead), 0, 3);
}

INLINE_TARGET void columns_kernel(const void *data, size_t stride, size_t rows, size_t columns,
                                  const struct cpu_slice_results *to,
                                  void (*take_left)(void *, size_t, size_t, size_t), void *context,
                                  enum element_type type, bool extremes)
{
    const size_t size = element_formats[type].size;
    const size_t key_size = type == ELEMENT_F64 ? sizeof(int64_t) : sizeof(int32_t);
    const size_t group = CPU_COLUMN_ROWS * stride,
                 ahead = columns * size >= COLUMNS_WIDE ? (size_t)COLUMNS_AHEAD_WIDE
                                                        : (COLUMNS_AHEAD / group + 1) * group;
    const unsigned char *x = data;

    for (size_t row = 0; row < rows; row += CPU_COLUMN_ROWS) {
        const size_t n = rows - row < CPU_COLUMN_ROWS ? rows - row : CPU_COLUMN_ROWS;
        const bool begin = to->begin && row == 0;
        bool *low_used = to->low_used;

        for (size_t j = 0; j < columns; j += STEP(type)) {
            const unsigned char *p = x + row * stride + j * size;
            double *high = to->high + j, *low = to->low + j;
            bool left[CPU_LANES_MAX], some = false;

            if (j * size % CACHE_LINE == 0)
                prefetch_columns(p, stride, n, ahead);
            if (type == ELEMENT_F64 ||
                !(n == CPU_COLUMN_ROWS
                      ? lanes_plain(p, stride, CPU_COLUMN_ROWS, high, low, begin, low_used, type)
                      : lanes_plain(p, stride, n, high, low, begin, low_used, type))) {
                for (int half = 0; begin && half < HALVES(type); half++)
                    d_store(high + half * W_LANES, d_set1(0));
                *low_used = true;
                some = lanes_exact(p, stride, n, high, low, left, type);
            }
            if (extremes)
                lanes_extremes(p, stride, n, (char *)to->min + j * key_size,
                               (char *)to->max + j * key_size, some ? left : NULL, type);
            for (size_t lane = 0; some && lane < STEP(type); lane++)
                if (left[lane])
                    take_left(context, j + lane, row, n);
        }
    }
}

#endif
