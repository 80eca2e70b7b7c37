/*
 * Kernels for slices that are columns: a lane takes a column, CPU_COLUMN_ROWS rows at a time. A
 * part of kernel_template.h.
 */
#ifndef GPUREDUCE_CPU_KERNEL_COLUMNS_H
#define GPUREDUCE_CPU_KERNEL_COLUMNS_H

#include "cpu/kernel_slices.h"

/* Bytes that are prefetched ahead: in rows of at least this length in the row itself; else in the
   rows that are taken next, which follow it. */
#define COLUMNS_WIDE 8192
#define COLUMNS_AHEAD_WIDE 2048
#define COLUMNS_AHEAD 4096

_Static_assert(CPU_COLUMN_ROWS == 8, "2^3 rows");
#define COLUMN_ROWS_LOG2 3

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

/* Puts sums; with `begin` they are the first. */
INLINE_TARGET bool lanes_put(const vecd x[2], double *high, double *low, bool begin, bool *low_used)
{
    if (!begin)
        return lanes_add(x, high, low, low_used);
    d_store(high, x[0]);
    d_store(high + W_LANES, x[1]);
    return true;
}

/* Whether some lanes have an element that is no number. */
INLINE_TARGET bool bounds_special(const struct bounds *b)
{
    return v_some(v_ge_s(b->greatest, v_set1(INFINITY32)));
}

/* Adds up to CPU_COLUMN_ROWS elements of each lane plainly: to no sums, with `begin`. Whether
   they add up; if not, *special is whether that is because some are no numbers. */
INLINE_TARGET bool lanes_plain(const unsigned char *x, size_t stride, size_t rows, double *high,
                               double *low, bool begin, bool *low_used, bool *special,
                               enum element_type type)
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
    if (!bounds_fit_in_lanes(&bounds, type, COLUMN_ROWS_LOG2)) {
        *special = bounds_special(&bounds);
        return false;
    }
    return lanes_put(sum, high, low, begin, low_used);
}

/* Adds those elements that are numbers, and counts the others, in the rows from number `row` on and
   the columns from number `column` on. False, with nothing added, if the numbers do not add up. */
INLINE_TARGET bool lanes_special(const unsigned char *x, size_t stride, size_t row, size_t rows,
                                 size_t column, const struct cpu_slice_results *to, bool begin,
                                 const struct cpu_slice_calls *calls, int rows_log2,
                                 enum element_type type)
{
    const vec infinity = v_set1(INFINITY32), none = v_set1(0);
    vec nan = none, first = v_set1(UINT32_MAX), positive = none, negative = none;
    uint32_t counts[4][V_LANES];
    struct bounds bounds = bounds_none();
    vecd sum[2] = {d_set1(0), d_set1(0)};
    double *high = to->high + column, *low = to->low + column;

    for (size_t i = 0; i < rows; i++) {
        const vec bits = step_bits(x + i * stride, type);
        const vec magnitude = v_and(bits, v_set1(~SIGN32));
        const vec number = v_select(v_ge_s(magnitude, infinity), none, bits);
        const vmask is_nan = v_gt_s(magnitude, infinity);

        bounds_take(&bounds, number);
        sum[0] = d_add(sum[0], v_low(number));
        sum[1] = d_add(sum[1], v_high(number));
        nan = v_tally(nan, is_nan);
        first = v_min_u(first, v_select(is_nan, v_set1((uint32_t)i), v_set1(UINT32_MAX)));
        positive = v_tally(positive, v_eq(bits, infinity));
        negative = v_tally(negative, v_eq(bits, v_set1(INFINITY32 | SIGN32)));
    }
    if (!bounds_fit_in_lanes(&bounds, type, rows_log2) ||
        !lanes_put(sum, high, low, begin, to->low_used))
        return false;
    if (calls->nans) {
        v_store(calls->nans + column, v_add(v_load_f32(calls->nans + column), nan));
        nan = none;
        if (!v_some(v_gt_s(v_add(positive, negative), none)))
            return true;
    }
    v_store(counts[0], nan);
    v_store(counts[1], first);
    v_store(counts[2], positive);
    v_store(counts[3], negative);
    for (size_t k = 0; k < V_LANES; k++)
        if ((counts[0][k] | counts[2][k] | counts[3][k]) != 0)
            calls->counted(calls->context, column + k, row,
                           &(struct cpu_slice_counts){.nan = counts[0][k],
                                                      .first_nan = counts[1][k],
                                                      .positive = counts[2][k],
                                                      .negative = counts[3][k]});
    return true;
}

/* A binary64 number of each lane, with 0 in the place of a NaN; counts these. */
INLINE_TARGET vecd number64(const unsigned char *x, wvec *nan)
{
    const wvec bits = w_load(x);
    const wmask is_nan = w_gt_s(w_and(bits, w_set1(~SIGN64)), w_set1(INFINITY64));

    *nan = w_tally(*nan, is_nan);
    return w_value(w_select(is_nan, w_set1(0), bits));
}

/* The extremes of lanes of `bits`, by operations whose names begin with v. ELEMENT loads elements.

   take: a row's.

   lanes_extremes: those of the elements of each lane that is not left; `left` NULL for none. With
   `special` there may be NaNs among them.

   lanes_keys: those of the elements of each lane. False, with nothing done, where some are no numbers. */
#define LANES_KEYS(bits, v, vector, mask, lanes, load, store, ELEMENT)                            \
    INLINE_TARGET void take_keys##bits(vector *least, vector *greatest, vector element,           \
                                       bool special)                                              \
    {                                                                                             \
        const vector key = v##_order(element);                                                    \
                                                                                                  \
        if (special) {                                                                            \
            const mask is_nan =                                                                   \
                v##_gt_s(v##_and(element, v##_set1(~SIGN##bits)), v##_set1(INFINITY##bits));      \
                                                                                                  \
            *least = v##_min_s(*least, v##_select(is_nan, v##_set1(INT##bits##_MAX), key));       \
            *greatest = v##_max_s(*greatest, v##_select(is_nan, v##_set1(SIGN##bits), key));      \
        } else {                                                                                  \
            *least = v##_min_s(*least, key);                                                      \
            *greatest = v##_max_s(*greatest, key);                                                \
        }                                                                                         \
    }                                                                                             \
    INLINE_TARGET void lanes_extremes##bits(const unsigned char *x, size_t stride, size_t rows,   \
                                            void *min, void *max, const bool *left, bool special, \
                                            enum element_type type)                               \
    {                                                                                             \
        int##bits##_t *keys[2] = {min, max}, before[2][lanes];                                    \
        vector least = load(min), greatest = load(max);                                           \
                                                                                                  \
        (void)type;                                                                               \
        store(before[0], least);                                                                  \
        store(before[1], greatest);                                                               \
        for (size_t row = 0; row < rows && !special; row++)                                       \
            take_keys##bits(&least, &greatest, ELEMENT(x + row * stride), false);                 \
        for (size_t row = 0; row < rows && special; row++)                                        \
            take_keys##bits(&least, &greatest, ELEMENT(x + row * stride), true);                  \
        store(min, least);                                                                        \
        store(max, greatest);                                                                     \
        for (int i = 0; left && i < 2; i++)                                                       \
            for (int lane = 0; lane < lanes; lane++)                                              \
                keys[i][lane] = left[lane] ? before[i][lane] : keys[i][lane];                     \
    }                                                                                             \
    INLINE_TARGET bool lanes_keys##bits(const unsigned char *x, size_t stride, size_t rows,       \
                                        void *min, void *max, enum element_type type)             \
    {                                                                                             \
        vector least = v##_set1(INT##bits##_MAX), greatest = v##_set1(SIGN##bits);                \
                                                                                                  \
        (void)type;                                                                               \
        UNROLL_INLINED(8)                                                                         \
        for (size_t row = 0; row < rows; row++)                                                   \
            take_keys##bits(&least, &greatest, ELEMENT(x + row * stride), false);                 \
        if (v##_keys_special(least, greatest))                                                    \
            return false;                                                                         \
        store(min, v##_min_s(least, load(min)));                                                  \
        store(max, v##_max_s(greatest, load(max)));                                               \
        return true;                                                                              \
    }
#define ELEMENT32(p) step_bits(p, type)
LANES_KEYS(32, v, vec, vmask, V_LANES, v_load_f32, v_store, ELEMENT32)
LANES_KEYS(64, w, wvec, wmask, W_LANES, w_load, w_store, w_load)
#undef ELEMENT32

/* Takes a step of CPU_COLUMN_ROWS rows, or of fewer, in that way. */
INLINE_TARGET bool step_keys(const unsigned char *x, size_t stride, size_t rows, size_t column,
                             const struct cpu_slice_results *to, bool begin, enum element_type type)
{
    const size_t key_size = type == ELEMENT_F64 ? sizeof(int64_t) : sizeof(int32_t);
    char *min = (char *)to->min + column * key_size, *max = (char *)to->max + column * key_size;

    if (!(type == ELEMENT_F64
              ? (rows == CPU_COLUMN_ROWS ? lanes_keys64(x, stride, CPU_COLUMN_ROWS, min, max, type)
                                         : lanes_keys64(x, stride, rows, min, max, type))
              : (rows == CPU_COLUMN_ROWS ? lanes_keys32(x, stride, CPU_COLUMN_ROWS, min, max, type)
                                         : lanes_keys32(x, stride, rows, min, max, type))))
        return false;
    for (int half = 0; begin && half < HALVES(type); half++)
        d_store(to->high + column + half * W_LANES, d_set1(0));
    return true;
}

/* Adds elements of a step with the errors of the additions, to no sums with `begin`: of the columns from
   number `column` on, `rows` rows from the one number `row` on, which are at x. Lanes that are left stay
   as they were, and their elements are handed over; `left` says which these are. Whether there are
   some. With calls->nans, NaNs of binary64 are counted there, and not added. */
INLINE_TARGET bool step_exact(const unsigned char *x, size_t stride, size_t row, size_t rows,
                              size_t column, const struct cpu_slice_results *to, bool begin,
                              bool left[CPU_LANES_MAX], const struct cpu_slice_calls *calls,
                              enum element_type type)
{
    double *high = to->high + column, *low = to->low + column;
    uint32_t *const nans = calls->nans;
    struct sums s[2] = {sums_none(), sums_none()};
    double before[2][2 * W_LANES], bits[W_LANES];
    wvec nan = w_set1(0);
    uint64_t counts[W_LANES];
    bool some = false;
    vecd value[2];

    *to->low_used = true;
    for (int half = 0; half < HALVES(type); half++) {
        s[half].high = begin ? d_set1(0) : load_sum(high + half * W_LANES);
        s[half].low = load_sum(low + half * W_LANES);
        d_store(before[0] + half * W_LANES, s[half].high);
        d_store(before[1] + half * W_LANES, s[half].low);
    }
    for (size_t i = 0; i < rows; i++) {
        if (type == ELEMENT_F64 && nans)
            value[0] = number64(x + i * stride, &nan);
        else
            step_values(value, x + i * stride, type);
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
    if (type == ELEMENT_F64 && nans && w_any(nan)) {
        v_store(counts, w_narrow(nan));
        for (size_t lane = 0; lane < W_LANES; lane++)
            nans[column + lane] += some && left[lane] ? 0 : (uint32_t)counts[lane];
    }
    for (size_t lane = 0; some && lane < STEP(type); lane++)
        if (left[lane])
            calls->left(calls->context, column + lane, row, rows);
    return some;
}

/*
 * Sums alone, of elements of up to 32 bits in so many columns or more: a block of these, two rows
 * at a time, whose sums and bounds stay in the level-1 cache until BLOCK_ROWS rows are in them. So
 * a worker reads two stretches of memory at a time: where rows are a power of two apart, more of
 * them compete for the same few places in a cache. doc/tuning.md has rates.
 */
#define BLOCK_COLUMNS ((size_t)1024)
#define BLOCK_ROWS_LOG2 4
#define BLOCK_ROWS ((size_t)1 << BLOCK_ROWS_LOG2)
#define PAIR ((size_t)2)

struct column_block {
    double sum[BLOCK_COLUMNS];
    uint32_t greatest[BLOCK_COLUMNS], least[BLOCK_COLUMNS]; /* of struct bounds */
};

/* A block, and what follows it. */
struct column_order {
    const unsigned char *x; /* its first row */
    size_t stride, rows;
    size_t block_bytes; /* from here to the next block; 0: the next rows follow */
};

/* The address of the rows that are taken as pair number `pair`, counted from the block on. */
INLINE_TARGET uintptr_t pair_at(const struct column_order *o, size_t pair)
{
    const size_t pairs = (o->rows + PAIR - 1) / PAIR;
    const uintptr_t x = (uintptr_t)o->x;

    if (pair >= pairs && o->block_bytes > 0)
        return x + o->block_bytes + (pair - pairs) * PAIR * o->stride;
    return x + pair * PAIR * o->stride;
}

/* Takes a pair of rows of a block, or with fewer `rows` what is left of one. */
INLINE_TARGET void block_take(struct column_block *b, const struct column_order *o, size_t pair,
                              size_t rows, size_t columns, enum element_type type)
{
    const size_t size = element_formats[type].size;
    const unsigned char *x = o->x + pair * PAIR * o->stride;
    const uintptr_t next = pair_at(o, pair + 1), later = pair_at(o, pair + 2);

    for (size_t j = 0; j < columns; j += V_LANES) {
        struct bounds bounds = bounds_none();
        vecd sum[2] = {d_set1(0), d_set1(0)};

        if (pair > 0) {
            bounds = (struct bounds){v_load_f32(b->greatest + j), v_load_f32(b->least + j)};
            sum[0] = load_sum(b->sum + j);
            sum[1] = load_sum(b->sum + j + W_LANES);
        }
        for (size_t row = 0; row < rows; row++) {
            const vec bits = step_bits(x + row * o->stride + j * size, type);

            if (j * size % CACHE_LINE == 0) {
                const size_t at = row * o->stride + j * size;

                __builtin_prefetch((const void *)(next + at), 0, 3);
                __builtin_prefetch((const void *)(later + at), 0, 2);
            }
            bounds_take(&bounds, bits);
            sum[0] = d_add(sum[0], v_low(bits));
            sum[1] = d_add(sum[1], v_high(bits));
        }
        v_store(b->greatest + j, bounds.greatest);
        v_store(b->least + j, bounds.least);
        d_store(b->sum + j, sum[0]);
        d_store(b->sum + j + W_LANES, sum[1]);
    }
}

/* Adds what a block has come to, to no sums with `begin`. */
INLINE_TARGET void block_add(const struct column_block *b, const struct column_order *o, size_t row,
                             size_t column, size_t columns, const struct cpu_slice_results *to,
                             bool begin, const struct cpu_slice_calls *calls,
                             enum element_type type)
{
    const size_t size = element_formats[type].size;

    for (size_t j = 0; j < columns; j += V_LANES) {
        const struct bounds bounds = {v_load_f32(b->greatest + j), v_load_f32(b->least + j)};
        const vecd sum[2] = {load_sum(b->sum + j), load_sum(b->sum + j + W_LANES)};
        double *high = to->high + column + j, *low = to->low + column + j;
        bool left[CPU_LANES_MAX];

        if (bounds_fit_in_lanes(&bounds, type, BLOCK_ROWS_LOG2) &&
            lanes_put(sum, high, low, begin, to->low_used))
            continue;
        if (!bounds_special(&bounds) ||
            !lanes_special(o->x + j * size, o->stride, row, o->rows, column + j, to, begin, calls,
                           BLOCK_ROWS_LOG2, type))
            (void)step_exact(o->x + j * size, o->stride, row, o->rows, column + j, to, begin, left,
                             calls, type);
    }
}

/* columns_kernel for these. */
INLINE_TARGET void column_blocks(const unsigned char *x, size_t stride, size_t rows, size_t columns,
                                 const struct cpu_slice_results *to,
                                 const struct cpu_slice_calls *calls, enum element_type type)
{
    const size_t size = element_formats[type].size;
    _Alignas(64) struct column_block block;

    for (size_t row = 0; row < rows; row += BLOCK_ROWS)
        for (size_t j = 0; j < columns; j += BLOCK_COLUMNS) {
            const size_t some = columns - j < BLOCK_COLUMNS ? columns - j : BLOCK_COLUMNS;
            const struct column_order order = {.x = x + row * stride + j * size,
                                               .stride = stride,
                                               .rows = rows - row < BLOCK_ROWS ? rows - row
                                                                               : BLOCK_ROWS,
                                               .block_bytes = some < columns - j ? some * size : 0};
            const size_t pairs = order.rows / PAIR;

            for (size_t pair = 0; pair < pairs; pair++)
                block_take(&block, &order, pair, PAIR, some, type);
            if (order.rows % PAIR > 0)
                block_take(&block, &order, pairs, order.rows % PAIR, some, type);
            block_add(&block, &order, row, j, some, to, to->begin && row == 0, calls, type);
        }
}

/*
 * Others: CPU_COLUMN_ROWS rows at a time.
 */

/* Asks for what is `ahead` of a step, into the level-1 cache. */
INLINE_TARGET void prefetch_columns(const unsigned char *x, size_t stride, size_t rows,
                                    size_t ahead)
{
    for (size_t row = 0; row < rows; row++)
        __builtin_prefetch((const void *)((uintptr_t)x + row * stride + ahead), 0, 3);
}

INLINE_TARGET void column_steps(const unsigned char *x, size_t stride, size_t rows, size_t columns,
                                const struct cpu_slice_results *to,
                                const struct cpu_slice_calls *calls, enum element_type type,
                                bool extremes)
{
    const size_t size = element_formats[type].size;
    const size_t group = CPU_COLUMN_ROWS * stride,
                 ahead = columns * size >= COLUMNS_WIDE ? (size_t)COLUMNS_AHEAD_WIDE
                                                        : (COLUMNS_AHEAD / group + 1) * group;

    for (size_t row = 0; row < rows; row += CPU_COLUMN_ROWS) {
        const size_t n = rows - row < CPU_COLUMN_ROWS ? rows - row : CPU_COLUMN_ROWS;
        const bool begin = to->begin && row == 0;
        bool *low_used = to->low_used;

        for (size_t j = 0; j < columns; j += STEP(type)) {
            const unsigned char *p = x + row * stride + j * size;
            double *high = to->high + j, *low = to->low + j;
            bool left[CPU_LANES_MAX], some = false;
            bool special = type != ELEMENT_F64 && calls->nans;

            if (j * size % CACHE_LINE == 0)
                prefetch_columns(p, stride, n, ahead);
            if (extremes && to->keys_alone && !calls->nans &&
                step_keys(p, stride, n, j, to, begin, type))
                continue;
            if (type == ELEMENT_F64 || special ||
                !(n == CPU_COLUMN_ROWS
                      ? lanes_plain(p, stride, CPU_COLUMN_ROWS, high, low, begin, low_used,
                                    &special, type)
                      : lanes_plain(p, stride, n, high, low, begin, low_used, &special, type))) {
                special = special && lanes_special(p, stride, row, n, j, to, begin, calls,
                                                   COLUMN_ROWS_LOG2, type);
                some = !special && step_exact(p, stride, row, n, j, to, begin, left, calls, type);
            }
            if (extremes && type == ELEMENT_F64)
                lanes_extremes64(p, stride, n, (int64_t *)to->min + j, (int64_t *)to->max + j,
                                 some ? left : NULL, special || calls->nans, type);
            else if (extremes)
                lanes_extremes32(p, stride, n, (int32_t *)to->min + j, (int32_t *)to->max + j,
                                 some ? left : NULL, special, type);
        }
    }
}

INLINE_TARGET void columns_kernel(const void *data, size_t stride, size_t rows, size_t columns,
                                  const struct cpu_slice_results *to,
                                  const struct cpu_slice_calls *calls, enum element_type type,
                                  bool extremes)
{
    if (type == ELEMENT_F64 || extremes || columns < BLOCK_COLUMNS || calls->nans)
        column_steps(data, stride, rows, columns, to, calls, type, extremes);
    else
        column_blocks(data, stride, rows, columns, to, calls, type);
}

#endif
