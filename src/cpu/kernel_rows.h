/*
 * Kernels for slices that are rows: runs of elements. A part of kernel_template.h.
 *
 * Short rows are reduced W_LANES at a time. If nothing is rounded, lanes add up parts of a row, a
 * vector a row; a transposition turns these into vectors of which each has a lane a row, and they
 * add up to the sums. Else the elements themselves are turned, and a lane takes a row.
 *
 * Long rows are reduced one after the other, in blocks.
 */
#ifndef GPUREDUCE_CPU_KERNEL_ROWS_H
#define GPUREDUCE_CPU_KERNEL_ROWS_H

#include "core/slice_sums.h"
#include "cpu/kernel_block64.h"
#include "cpu/kernel_slices.h"

/* Rows from this length on are long: then the ends of a block cost little beside it. */
#define LONG_ROW 256

/* Short rows that are looked at together, whether they add up: so many elements at most. */
#define GROUP_ELEMENTS 4096
#define GROUP_ROWS 64

/* Bytes ahead that are asked for, a little at a time: many together wait for each other. */
#define ROWS_AHEAD 4096

INLINE_TARGET void prefetch_rows(const unsigned char *p)
{
    __builtin_prefetch((const void *)((uintptr_t)p + ROWS_AHEAD), 0, 3);
}

/* Masks that leave the last n lanes, n at most the lanes of a vector, begin n after the middle. */
static const uint32_t last_lanes32[2 * CPU_LANES_MAX] = {[CPU_LANES_MAX... 2 * CPU_LANES_MAX - 1] =
                                                             UINT32_MAX};
static const uint64_t last_lanes64[CPU_LANES_MAX] = {[CPU_LANES_MAX / 2 ... CPU_LANES_MAX - 1] =
                                                         UINT64_MAX};

/* Masks of the first n lanes: they begin n before the middle. */
static const uint32_t first_lanes32[2 * CPU_LANES_MAX] = {[0 ... CPU_LANES_MAX - 1] = UINT32_MAX};

/* The last step of a row that is a step long at least, but of no multiple of steps: the last of its
   elements are those that are wanted, the others have been before. All of a shorter row: the first
   are its elements, the others belong to other rows. */
INLINE_TARGET const unsigned char *row_end(const unsigned char *row, size_t length,
                                           enum element_type type)
{
    const size_t size = element_formats[type].size, step = STEP(type);

    return length >= step ? row + (length - step) * size : row;
}

/* The keys of lanes, as exact_keys, and their values. */
struct row_keys {
    wvec min, max;
};

INLINE_TARGET struct row_keys row_keys_none(void)
{
    return (struct row_keys){w_set1(INT64_MAX), w_set1((uint64_t)INT64_MIN)};
}

INLINE_TARGET void row_keys_take(struct row_keys *k, vecd value)
{
    const wvec key = w_order(d_bits(value));

    k->min = w_min_s(k->min, key);
    k->max = w_max_s(k->max, key);
}

/* Takes extremes of elements of up to 32 bits, given as v_order's. */
INLINE_TARGET void row_keys_take_narrow(struct row_keys *k, vec min, vec max)
{
    row_keys_take(k, v_low(v_order(min)));
    row_keys_take(k, v_high(v_order(min)));
    row_keys_take(k, v_low(v_order(max)));
    row_keys_take(k, v_high(v_order(max)));
}

/* The extremes of all rows of a group, a vector a row, become those of lanes. */
INLINE_TARGET struct row_keys row_keys_turned(struct row_keys rows[W_LANES])
{
    struct row_keys keys = row_keys_none();
    vecd min[W_LANES], max[W_LANES];

    UNROLL_INLINED(8)
    for (int k = 0; k < W_LANES; k++) {
        min[k] = w_value(rows[k].min);
        max[k] = w_value(rows[k].max);
    }
    d_transpose(min);
    d_transpose(max);
    UNROLL_INLINED(8)
    for (int k = 0; k < W_LANES; k++) {
        keys.min = w_min_s(keys.min, d_bits(min[k]));
        keys.max = w_max_s(keys.max, d_bits(max[k]));
    }
    return keys;
}

/* Stores the keys of rows. */
INLINE_TARGET void store_keys(const struct cpu_slice_results *to, size_t i,
                              const struct row_keys *k)
{
    v_store((int64_t *)to->min + i, w_narrow(k->min));
    v_store((int64_t *)to->max + i, w_narrow(k->max));
}

/* A row in lanes: its sum, where nothing is rounded, and its extremes. */
INLINE_TARGET vecd row_plain(const unsigned char *row, size_t length, struct bounds *bounds,
                             struct row_keys *keys, enum element_type type, bool extremes)
{
    const size_t size = element_formats[type].size, whole = length - length % V_LANES;
    vecd sum = d_set1(0), other = d_set1(0);
    vec min = v_set1(INT32_MAX), max = v_set1((uint32_t)INT32_MIN);

    for (size_t i = 0; i < whole; i += V_LANES) {
        const vec bits = step_bits(row + i * size, type);

        prefetch_rows(row + i * size);
        bounds_take(bounds, bits);
        sum = d_add(sum, v_low(bits));
        other = d_add(other, v_high(bits));
        if (extremes) {
            min = v_min_s(min, v_order(bits));
            max = v_max_s(max, v_order(bits));
        }
    }
    if (whole < length) {
        const vec wanted =
            whole == 0 ? v_load_f32(first_lanes32 + CPU_LANES_MAX - length)
                       : v_load_f32(last_lanes32 + CPU_LANES_MAX - V_LANES + (length - whole));
        const vec all = step_bits(row_end(row, length, type), type), bits = v_and(all, wanted);

        bounds_take(bounds, bits);
        sum = d_add(sum, v_low(bits));
        other = d_add(other, v_high(bits));
        if (extremes) { /* of lanes that are not wanted, infinities: no row that has one is plain */
            const vec last = v_set1(INFINITY32), first = v_set1(~INFINITY32);
            const vec order = v_order(all);

            min = v_min_s(min, v_xor(v_and(v_xor(order, last), wanted), last));
            max = v_max_s(max, v_xor(v_and(v_xor(order, first), wanted), first));
        }
    }
    if (extremes) { /* an order of an order is the bits */
        const wvec low[2] = {w_order(d_bits(v_low(v_order(min)))),
                             w_order(d_bits(v_low(v_order(max))))};
        const wvec high[2] = {w_order(d_bits(v_high(v_order(min)))),
                              w_order(d_bits(v_high(v_order(max))))};

        keys->min = w_min_s(low[0], high[0]);
        keys->max = w_max_s(low[1], high[1]);
    }
    return d_add(sum, other);
}

/* Rows of a group, W_LANES of them, by plain additions; the caller looks at the bounds. */
INLINE_TARGET void rows_plain(const unsigned char *const row[W_LANES], size_t length,
                              struct bounds *bounds, const struct cpu_slice_results *to, size_t i,
                              enum element_type type, bool extremes)
{
    struct row_keys keys[W_LANES];
    vecd sum[W_LANES];

    UNROLL_INLINED(8)
    for (int k = 0; k < W_LANES; k++)
        sum[k] = row_plain(row[k], length, bounds, &keys[k], type, extremes);
    d_store(to->high + i, d_h_add_each(sum));
    d_store(to->low + i, d_set1(0));
    if (extremes) {
        const struct row_keys all = row_keys_turned(keys);

        store_keys(to, i, &all);
    }
}

/* Adds W_LANES rows of whole vectors that lie one after the other, without extremes. */
INLINE_TARGET void rows_whole(const unsigned char *x, size_t length, struct bounds *bounds,
                              const struct cpu_slice_results *to, size_t i, enum element_type type)
{
    const size_t size = element_formats[type].size;
    vecd sum[W_LANES];

    UNROLL_INLINED(8)
    for (int k = 0; k < W_LANES; k++) {
        vec bits = step_bits(x, type);

        prefetch_rows(x);
        bounds_take(bounds, bits);
        sum[k] = d_add(v_low(bits), v_high(bits));
        for (size_t j = V_LANES; j < length; j += V_LANES) {
            x += V_LANES * size;
            bits = step_bits(x, type);
            prefetch_rows(x);
            bounds_take(bounds, bits);
            sum[k] = d_add(sum[k], d_add(v_low(bits), v_high(bits)));
        }
        x += V_LANES * size;
    }
    d_store(to->high + i, d_h_add_each(sum));
    d_store(to->low + i, d_set1(0));
}

/* Adds elements of each row, the vectors of which have been turned, from the one number `first` on,
   up to before number `end`. */
INLINE_TARGET void add_turned(struct sums *s, struct row_keys *keys, const vecd *turned,
                              size_t first, size_t end, bool extremes)
{
    UNROLL_INLINED(8)
    for (size_t k = 0; k < W_LANES; k++) {
        if (k < first || k >= end)
            continue;
        sums_add(s, turned[k]);
        if (extremes)
            row_keys_take(keys, turned[k]);
    }
}

/* Adds rows with the errors of the additions. Sets which of the first n are bad. */
INLINE_TARGET void rows_exact(const unsigned char *const row[W_LANES], size_t length, size_t n,
                              const struct cpu_slice_results *to, size_t i, bool *bad,
                              enum element_type type, bool extremes)
{
    const size_t size = element_formats[type].size, step = STEP(type);
    struct row_keys keys = row_keys_none();
    struct sums s = sums_none();
    vecd turned[2][W_LANES], values[2];
    double left[W_LANES];

    for (size_t j = 0; j < length; j += step) {
        const bool end = length - j < step;
        /* The elements of a last step from `wanted` on, up to before `behind`, are wanted. */
        const size_t wanted = end && length >= step ? step - (length - j) : 0;
        const size_t behind = length < step ? length : step;

        UNROLL_INLINED(8)
        for (int k = 0; k < W_LANES; k++) {
            prefetch_rows(row[k] + j * size);
            step_values(values, end ? row_end(row[k], length, type) : row[k] + j * size, type);
            for (int half = 0; half < HALVES(type); half++)
                turned[half][k] = values[half];
        }
        for (int half = 0; half < HALVES(type); half++) {
            const size_t before = (size_t)half * W_LANES;

            d_transpose(turned[half]);
            add_turned(&s, &keys, turned[half], wanted > before ? wanted - before : 0,
                       behind > before ? behind - before : 0, extremes);
        }
    }
    d_store(to->high + i, s.high);
    d_store(to->low + i, s.low);
    if (extremes)
        store_keys(to, i, &keys);
    d_store(left, w_value(s.left));
    for (size_t k = 0; k < n; k++)
        bad[i + k] = exact_bits(left[k]) != 0;
}

/* The place to load row number i from: a step of a row that is shorter must not reach after the
   last of `rows`. `place` has room for one step. */
INLINE_TARGET const unsigned char *row_place(const unsigned char *x, size_t i, size_t rows,
                                             size_t length, unsigned char *place,
                                             enum element_type type)
{
    const size_t size = element_formats[type].size, bytes = length * size;
    const unsigned char *row = x + i * bytes;

    if (length >= STEP(type) || (rows - i) * bytes >= STEP(type) * size)
        return row;
    memcpy(place, row, bytes);
    return place;
}

INLINE_TARGET void rows_short(const unsigned char *x, size_t rows, size_t length,
                              const struct cpu_slice_results *to, bool *bad, enum element_type type,
                              bool extremes)
{
    unsigned char places[W_LANES][V_LANES * sizeof(double)] = {{0}};
    const size_t fit = GROUP_ELEMENTS / length / W_LANES * W_LANES;
    const size_t group = fit < W_LANES ? W_LANES : fit < GROUP_ROWS ? fit : GROUP_ROWS;
    const size_t bytes = length * element_formats[type].size;
    const bool whole = !extremes && type != ELEMENT_F64 && length % V_LANES == 0;

    memset(bad, 0, rows);
    for (size_t first = 0; first < rows; first += group) {
        const size_t end = rows - first < group ? rows : first + group;
        struct bounds bounds = bounds_none();
        const unsigned char *row[W_LANES];

        for (int pass = type == ELEMENT_F64; pass < 2; pass++) {
            for (size_t i = first; i < end; i += W_LANES) {
                const size_t n = end - i < W_LANES ? end - i : W_LANES;

                if (pass == 0 && whole && n == W_LANES) {
                    rows_whole(x + i * bytes, length, &bounds, to, i, type);
                    continue;
                }
                for (size_t k = 0; k < W_LANES; k++) /* the last one stands in for those after it */
                    row[k] = row_place(x, i + (k < n ? k : n - 1), rows, length, places[k], type);
                if (pass == 0)
                    rows_plain(row, length, &bounds, to, i, type, extremes);
                else
                    rows_exact(row, length, n, to, i, bad, type, extremes);
            }
            if (pass == 0 && bounds_fit(&bounds, type, count_log2_of(length)))
                break;
        }
    }
}

/*
 * Long rows.
 */

INLINE_TARGET void row_add_lanes(struct slice_pair *s, vecd x)
{
    double lane[W_LANES];

    d_store(lane, x);
    for (int k = 0; k < W_LANES; k++)
        slice_pair_put(s, lane[k]);
}

/* Adds n elements, a multiple of STEP, with the errors of the additions. */
INLINE_TARGET void block_exact(struct slice_pair *row, const unsigned char *x, size_t n,
                               struct row_keys *keys, enum element_type type, bool extremes)
{
    const size_t size = element_formats[type].size, step = STEP(type);
    struct sums s = sums_none();
    vecd value[2];

    for (size_t i = 0; i < n; i += step) {
        prefetch_rows(x + i * size);
        step_values(value, x + i * size, type);
        for (int half = 0; half < HALVES(type); half++) {
            sums_add(&s, value[half]);
            if (extremes)
                row_keys_take(keys, value[half]);
        }
    }
    row_add_lanes(row, s.high);
    row_add_lanes(row, s.low);
    row->left = row->left || w_any(s.left);
}

/* How the next blocks of f64 are added, from what the last ones were like. */
struct row_guess {
    int bound;        /* their elements are taken to be below 2^this */
    unsigned dearest; /* blocks that are added with the errors of the additions, without a try */
    unsigned wait;    /* what `dearest` will be after the next try that fails */
};

/* The most blocks without another try. */
#define WAIT_MOST 240

/* Adds n f64, a multiple of W_LANES, by an extraction. False, with nothing done, where that would not be exact. */
INLINE_TARGET bool block_extracted(struct slice_pair *row, const unsigned char *x, size_t n,
                                   struct row_guess *guess)
{
    double sums[2];
    int exponent = 0;

    if (guess->dearest > 0) {
        guess->dearest--;
        return false;
    }
    for (int try = 0; try < 2 && exponent != NO_BOUND; try++) {
        const struct sum64 s = pass_sum64(x, (uintptr_t)x, n, guess->bound);

        if (end_sum64(&s, guess->bound, sums, &exponent)) {
            slice_pair_put(row, sums[0]);
            slice_pair_put(row, sums[1]);
            guess->wait = BLOCKS_DEAREST;
            return true;
        }
        guess->bound = exponent == NO_BOUND ? guess->bound : next_bound(exponent);
    }
    guess->dearest = guess->wait;
    guess->wait = guess->wait < WAIT_MOST ? 2 * guess->wait : WAIT_MOST;
    return false;
}

/* Takes the extremes of n elements, a multiple of STEP. False, with nothing done, where some are no
   numbers. */
INLINE_TARGET bool block_keys(const unsigned char *x, size_t n, struct row_keys *keys,
                              enum element_type type)
{
    const size_t size = element_formats[type].size;

    if (type == ELEMENT_F64) {
        struct row_keys found = row_keys_none();

        for (size_t i = 0; i < n; i += W_LANES) {
            prefetch_rows(x + i * size);
            row_keys_take(&found, w_value(w_load(x + i * size)));
        }
        if (w_keys_special(found.min, found.max))
            return false;
        keys->min = w_min_s(keys->min, found.min);
        keys->max = w_max_s(keys->max, found.max);
    } else {
        vec min = v_set1(INT32_MAX), max = v_set1((uint32_t)INT32_MIN);

        for (size_t i = 0; i < n; i += V_LANES) {
            const vec key = v_order(step_bits(x + i * size, type));

            prefetch_rows(x + i * size);
            min = v_min_s(min, key);
            max = v_max_s(max, key);
        }
        if (v_keys_special(min, max))
            return false;
        row_keys_take_narrow(keys, min, max);
    }
    return true;
}

/* Adds n elements, a multiple of V_LANES, of up to 32 bits. */
INLINE_TARGET void block_plain(struct slice_pair *row, const unsigned char *x, size_t n,
                               struct row_keys *keys, enum element_type type, bool extremes)
{
    const size_t size = element_formats[type].size;
    const size_t quarter = n / (STREAMS * V_LANES) * V_LANES;
    vecd sum[STREAMS] = {d_set1(0), d_set1(0), d_set1(0), d_set1(0)};
    vec min = v_set1(INT32_MAX), max = v_set1((uint32_t)INT32_MIN);
    struct bounds bounds = bounds_none();

#define TAKE(p, half)                                       \
    do {                                                    \
        const vec bits = step_bits(p, type);                \
                                                            \
        bounds_take(&bounds, bits);                         \
        sum[half] = d_add(sum[half], v_low(bits));          \
        sum[half + 1] = d_add(sum[half + 1], v_high(bits)); \
        if (extremes) {                                     \
            min = v_min_s(min, v_order(bits));              \
            max = v_max_s(max, v_order(bits));              \
        }                                                   \
    } while (0)
    for (size_t i = 0; i < quarter; i += V_LANES) {
        prefetch((uintptr_t)x, quarter * size, i * size, V_LANES * size, size << CPU_BLOCK32_LOG2);
        TAKE(x + i * size, 0);
        TAKE(x + (quarter + i) * size, 2);
        TAKE(x + (2 * quarter + i) * size, 0);
        TAKE(x + (3 * quarter + i) * size, 2);
    }
    for (size_t i = STREAMS * quarter; i < n; i += V_LANES)
        TAKE(x + i * size, 0);
#undef TAKE
    if (!bounds_fit(&bounds, type, count_log2_of(n))) {
        block_exact(row, x, n, keys, type, extremes);
        return;
    }
    slice_pair_put(row, d_h_add(d_add(d_add(sum[0], sum[1]), d_add(sum[2], sum[3]))));
    if (extremes)
        row_keys_take_narrow(keys, min, max);
}

/* The elements after the last whole step. */
INLINE_TARGET void row_tail(struct slice_pair *row, const unsigned char *x, size_t length,
                            struct row_keys *keys, enum element_type type, bool extremes)
{
    const size_t size = element_formats[type].size, rest = length % STEP(type);
    const unsigned char *p = x + (length - STEP(type)) * size;
    vecd value[2];

    step_values(value, p, type);
    for (int half = 0; extremes && half < HALVES(type); half++)
        row_keys_take(keys, value[half]);
    if (type == ELEMENT_F64) {
        const wvec last = w_load(last_lanes64 + CPU_LANES_MAX / 2 - W_LANES + rest);

        row_add_lanes(row, w_value(w_and(d_bits(value[0]), last)));
    } else {
        const vec last =
            v_and(step_bits(p, type), v_load_f32(last_lanes32 + CPU_LANES_MAX - V_LANES + rest));

        row_add_lanes(row, v_low(last));
        row_add_lanes(row, v_high(last));
    }
}

INLINE_TARGET void rows_long(const unsigned char *x, size_t rows, size_t length,
                             const struct cpu_slice_results *to, bool *bad, enum element_type type,
                             bool extremes)
{
    const size_t size = element_formats[type].size, whole = length - length % STEP(type);
    const size_t block =
        type == ELEMENT_F64 ? (size_t)1 << CPU_BLOCK64_LOG2 : (size_t)1 << CPU_BLOCK32_LOG2;
    struct row_guess guess = {.wait = BLOCKS_DEAREST};

    for (size_t i = 0; i < rows; i++, x += length * size) {
        struct row_keys keys = row_keys_none();
        struct slice_pair sum = {0, 0, false};

        for (size_t j = 0; j < whole; j += block) {
            const size_t n = whole - j < block ? whole - j : block;

            if (extremes && to->keys_alone && block_keys(x + j * size, n, &keys, type))
                continue;
            if (type == ELEMENT_F64 && !extremes && block_extracted(&sum, x + j * size, n, &guess))
                continue;
            if (type == ELEMENT_F64)
                block_exact(&sum, x + j * size, n, &keys, type, extremes);
            else
                block_plain(&sum, x + j * size, n, &keys, type, extremes);
        }
        if (whole < length)
            row_tail(&sum, x, length, &keys, type, extremes);
        bad[i] = sum.left;
        to->high[i] = sum.high;
        to->low[i] = sum.low;
        if (extremes) {
            /* As unsigned numbers. */
            const wvec max = w_xor(keys.max, w_set1(SIGN64)), min = w_xor(keys.min, w_set1(SIGN64));

            ((int64_t *)to->max)[i] = (int64_t)(w_h_max_u(max) ^ SIGN64);
            ((int64_t *)to->min)[i] = (int64_t)(w_h_min_u(min) ^ SIGN64);
        }
    }
}

INLINE_TARGET void rows_kernel(const void *x, size_t rows, size_t length,
                               const struct cpu_slice_results *to, bool *bad,
                               enum element_type type, bool extremes)
{
    if (length < LONG_ROW)
        rows_short(x, rows, length, to, bad, type, extremes);
    else
        rows_long(x, rows, length, to, bad, type, extremes);
}

#endif
