#include "config.h"

#include "cpu/slices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"
#include "core/exact.h"
#include "cpu/convert.h"
#include "cpu/missing.h"
#include "cpu/split.h"
#include "sys/bytes.h"
#include "sys/inline.h"

/*
 * Keys of extremes: exact_key's, or, of columns of up to 32 bits, the v_order's of binary32 (simd.h),
 * which are its bits, or, of a negative one, all but the sign inverted.
 */

/* Makes keys of `size` bytes the one that any other is less than, or more. */
static inline void clear_keys(void *keys, size_t count, size_t size, bool min)
{
    const int32_t narrow = min ? INT32_MAX : INT32_MIN;
    const int64_t wide = min ? INT64_MAX : INT64_MIN;

    if (count > 0)
        memcpy(keys, size == sizeof narrow ? (const void *)&narrow : &wide, size);
    bytes_repeat(keys, size, count * size);
}

/* The v_order of the bits of a binary32. */
static inline int32_t order(int32_t bits)
{
    /* cppcheck-suppress shiftTooManyBitsSigned ; all compilers for this shift signs in */
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

/* The number that has a narrow key. */
static inline float narrow_value(int32_t key)
{
    return exact_from_bits32((uint32_t)order(key));
}

/* The key of a v_order of binary32, as an exact_key. */
static inline int64_t wide_key(int32_t key)
{
    return exact_key((double)narrow_value(key));
}

/* The v_order of an exact_key, where the value is a binary32. */
static inline int32_t narrow_key(int64_t key)
{
    return order((int32_t)exact_bits32((float)exact_key_value(key)));
}

/* A key of extremes as it is kept, and one to be kept, of an exact_key. */
static inline int64_t kept_key(const struct cpu_slices *s, const void *keys, size_t i)
{
    return s->key_size == sizeof(int32_t) ? ((const int32_t *)keys)[i] : ((const int64_t *)keys)[i];
}

static inline int64_t key_to_keep(const struct cpu_slices *s, int64_t key)
{
    return s->key_size == sizeof(int32_t) ? narrow_key(key) : key;
}

/* Takes keys, as they are kept, into the extremes number i. */
static inline void take_keys(struct cpu_slices *s, size_t i, int64_t least, int64_t greatest)
{
    if (s->key_size == sizeof(int32_t)) {
        int32_t *min = s->min, *max = s->max;

        min[i] = least < min[i] ? (int32_t)least : min[i];
        max[i] = greatest > max[i] ? (int32_t)greatest : max[i];
    } else {
        int64_t *min = s->min, *max = s->max;

        min[i] = least < min[i] ? least : min[i];
        max[i] = greatest > max[i] ? greatest : max[i];
    }
}

/*
 * How slices begin: their memory is made that of slices without elements when they are given the
 * first ones, not before, since kernels that are told write it anyway. `low` of columns is cleared
 * together, and only where something was added to it: mostly nothing is.
 */

/* Makes the extremes those of none, from number `from` on, up to before `end`. */
static inline void clear_extremes(struct cpu_slices *s, size_t from, size_t end)
{
    const size_t at = from * s->key_size;

    if (s->min) {
        clear_keys((char *)s->min + at, end - from, s->key_size, true);
        clear_keys((char *)s->max + at, end - from, s->key_size, false);
    }
}

/* Makes what kernels find of slices that of none, from number `from` on, up to before `end`: but,
   of columns, `low`, which is. */
static inline void clear_found(struct cpu_slices *s, size_t from, size_t end)
{
    const size_t count = end - from;

    if (s->high)
        memset(s->high + from, 0, count * sizeof *s->high);
    if (s->high && s->kind == CPU_SLICES_ROWS)
        memset(s->low + from, 0, count * sizeof *s->low);
    clear_extremes(s, from, end);
}

/* Makes what has not been touched of the memory that kernels write, up to the vector behind number
   `end`, that of slices without elements. */
static inline void reach(struct cpu_slices *s, size_t end)
{
    const size_t ahead = (size_t)2 * CPU_LANES_MAX;
    const size_t reach = s->all - end < ahead ? s->all : end + ahead;

    if (reach <= s->clear)
        return;
    if (s->low)
        memset(s->low + s->clear, 0, (reach - s->clear) * sizeof *s->low);
    clear_found(s, s->clear, reach);
    s->clear = reach;
}

/* Begins those up to before number `end` that have not begun. */
static inline void begin(struct cpu_slices *s, size_t end)
{
    if (s->filled >= end)
        return;
    reach(s, end);
    clear_found(s, s->filled, end);
    s->filled = end;
}

/* Begins what is made of their elements, too. */
static void begin_all(struct cpu_slices *s, size_t end)
{
    begin(s, end);
    for (int k = 0; k < CPU_DERIVED; k++)
        if (s->derived[k])
            begin(s->derived[k], end);
}

/* Begins slices if a kernel of columns takes those from number `first` on next. True if none of
   these had begun: then their sums and keys are still to be begun. */
static inline bool begin_columns(struct cpu_slices *s, size_t first, size_t end)
{
    if (first < s->filled) {
        begin(s, end);
        return false;
    }
    reach(s, end);
    begin(s, first);
    s->filled = end;
    return true;
}

/* Makes all of them slices that have not begun. */
static inline void end(struct cpu_slices *s)
{
    if (s->kind == CPU_SLICES_COLUMNS && s->high && s->low_used)
        memset(s->low, 0, s->filled * sizeof *s->low);
    if (s->special_used)
        memset(s->special, 0, s->filled * sizeof *s->special);
    s->low_used = s->special_used = false;
    s->filled = 0;
}

/*
 * Elements as kernels take them: there are kernels for floats of 16 bits and more, and integers of 64
 * bits, and elements of other types become equal floats.
 */

/* The type that elements of a type are taken as. */
static enum element_type taken_type(enum element_type type)
{
    const struct element_format *format = &element_formats[type];

    if (element_is_float(type))
        return type;
    if (format->significant_bits <= element_formats[ELEMENT_F32].significant_bits)
        return ELEMENT_F32;
    return format->significant_bits <= element_formats[ELEMENT_F64].significant_bits ? ELEMENT_F64
                                                                                     : type;
}

/* Bytes of a row that are loaded before any of them is stored. */
#define LINE 64

/* NAME(to, step, from, stride, rows, columns): turns `rows` rows of `columns` elements of one size that
   begin `stride` bytes apart into columns that begin `step` elements apart. */
#define TURN(NAME, TYPE)                                                                         \
    static void NAME(unsigned char *to, size_t step, const unsigned char *from, size_t stride,   \
                     size_t rows, size_t columns)                                                \
    {                                                                                            \
        enum { LINE_COLUMNS = LINE / sizeof(TYPE) };                                             \
        const size_t whole = columns - columns % LINE_COLUMNS;                                   \
        TYPE line[LINE_COLUMNS];                                                                 \
                                                                                                 \
        for (size_t j = 0; j < whole; j += LINE_COLUMNS)                                         \
            for (size_t i = 0; i < rows; i++) {                                                  \
                memcpy(line, from + i * stride + j * sizeof *line, sizeof line);                 \
                for (size_t k = 0; k < LINE_COLUMNS; k++)                                        \
                    memcpy(to + ((j + k) * step + i) * sizeof *line, &line[k], sizeof *line);    \
            }                                                                                    \
        for (size_t i = 0; i < rows; i++)                                                        \
            for (size_t j = whole; j < columns; j++)                                             \
                memcpy(to + (j * step + i) * sizeof *line, from + i * stride + j * sizeof *line, \
                       sizeof *line);                                                            \
    }
TURN(turn8, uint8_t)
TURN(turn16, uint16_t)
TURN(turn32, uint32_t)
TURN(turn64, uint64_t)
static void (*const turn[])(unsigned char *, size_t, const unsigned char *, size_t, size_t,
                            size_t) = {[1] = turn8, [2] = turn16, [4] = turn32, [8] = turn64};

/* Makes `count` elements, of the other byte order with z->swap, those of the type they are taken as,
   which may be the same, in this machine's. The two places do not overlap. */
static void bring(const struct cpu_slicer *z, unsigned char *to, const unsigned char *from,
                  size_t count)
{
    const size_t size = element_size(z->given), taken = element_size(z->type);
    unsigned char swapped[4096];
    const size_t most = sizeof swapped / size;

    if (z->given == z->type) {
        element_swap(to, from, count, size);
        return;
    }
    for (size_t i = 0; i < count && z->swap; i += most) {
        const size_t some = count - i < most ? count - i : most;

        element_swap(swapped, from + i * size, some, size);
        cpu_convert(z->kernels, to + i * taken, z->type, swapped, z->given, some);
    }
    if (!z->swap)
        cpu_convert(z->kernels, to, z->type, from, z->given, count);
}

/*
 * Integers of up to 32 bits: they are added up as such, in this machine's byte order, and the sums
 * and the extremes become what slices keep. Nothing is left.
 */

/* Shorter rows are faster as floats, of which several are taken together. */
#define SLICES_INTEGER_LENGTH 16

/* Room for what kernels find of several slices: too much for a small stack. */
struct cpu_integer_found {
    int64_t sum[CPU_INTEGER_COLUMNS], min[CPU_INTEGER_COLUMNS], max[CPU_INTEGER_COLUMNS];
};

/* Rows that a kernel takes together. */
#define INTEGERS_TOGETHER 256

/* Elements of a row, or rows of columns, that are added up before the slices get them: sums of 32
   bits are below 2^52, and those of 16 and less fit 31 bits. */
#define LENGTH_MOST ((size_t)1 << 20)
#define ROWS_MOST ((size_t)1 << 15)

_Static_assert(INTEGERS_TOGETHER <= CPU_INTEGER_COLUMNS, "there is room for rows");

/* Adds a sum, below 2^53: what is rounded is an integer, too, and the sum of all such is small. */
static void add_sum(struct cpu_slices *s, size_t i, int64_t sum)
{
    double error;

    s->high[i] = exact_two_sum(s->high[i], (double)sum, &error);
    s->low[i] += error;
}

/* The narrow key of an integer, which is a binary32. */
static int32_t integer_key(int64_t x)
{
    return order((int32_t)exact_bits32((float)(int32_t)x));
}

/* Takes the extremes of a slice: the keys of floats that are equal. */
static void take_integers(struct cpu_slices *s, size_t i, int64_t min, int64_t max)
{
    if (s->key_size == sizeof(int32_t))
        take_keys(s, i, integer_key(min), integer_key(max));
    else
        take_keys(s, i, exact_key((double)min), exact_key((double)max));
}

/* Takes rows of `length` elements, as many as SLICES_INTEGER_LENGTH, or more. */
static void take_integer_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                              const unsigned char *x, size_t rows, size_t length)
{
    const size_t size = element_size(z->given);
    const size_t together = length > LENGTH_MOST ? 1 : INTEGERS_TOGETHER;
    struct cpu_integer_found *found = z->found;

    begin(s, first + rows);
    for (size_t i = 0; i < rows; i += together) {
        const size_t n = rows - i < together ? rows - i : together;

        for (size_t at = 0; at < length; at += LENGTH_MOST) {
            const size_t part = length - at < LENGTH_MOST ? length - at : LENGTH_MOST;

            z->integer->rows(x + (i * length + at) * size, n, part, z->sums ? found->sum : NULL,
                             s->min ? found->min : NULL, found->max);
            for (size_t k = 0; z->sums && k < n; k++)
                add_sum(s, first + i + k, found->sum[k]);
            for (size_t k = 0; s->min && k < n; k++)
                take_integers(s, first + i + k, found->min[k], found->max[k]);
        }
    }
}

/* The least columns that kernels take: a line of a cache; and their least rows. Fewer are faster as
   floats: 100,000 columns of i16, sums, us: of 4 rows 131 so, by kernels 141; of 6 rows 161, 145; of i32, of
   2 rows 149, 155; of 3 rows 193, 157. */
#define INTEGER_COLUMNS_LEAST(size) ((size_t)64 / (size))
#define INTEGER_ROWS_LEAST(size) ((size_t)((size) == sizeof(uint32_t) ? 3 : 6))

/* Takes columns, INTEGER_COLUMNS_LEAST of them, at least. The last ones are found together with some
   before them. */
static void take_integer_columns(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                                 const unsigned char *x, size_t stride, size_t rows, size_t columns)
{
    const size_t size = element_size(z->given), least = INTEGER_COLUMNS_LEAST(size);
    const bool begins = begin_columns(s, first, first + columns);
    int64_t *const sum = z->sums ? z->found->sum : NULL;

    if (begins)
        memset(s->high + first, 0, columns * sizeof *s->high);
    s->low_used = s->low_used || sum;
    for (size_t i = 0; i < rows; i += ROWS_MOST) {
        const size_t n = rows - i < ROWS_MOST ? rows - i : ROWS_MOST;

        for (size_t j = 0, some, at; j < columns; j += some) {
            const size_t left = columns - j, before = left < least ? least - left : 0;

            some = left < CPU_INTEGER_COLUMNS ? left : CPU_INTEGER_COLUMNS;
            some -= before > 0 ? 0 : some % least;
            at = (first + j - before) * s->key_size;
            z->integer->columns(x + i * stride + (j - before) * size, stride, n, before + some, sum,
                                s->min ? (char *)s->min + at : NULL,
                                s->min ? (char *)s->max + at : NULL, begins && i == 0);
            for (size_t k = 0; sum && k < some; k++)
                add_sum(s, first + j + k, sum[before + k]);
        }
    }
}

/*
 * NaNs and infinities, which kernels leave. They are counted in a few integers a slice, and the
 * numbers among them are added one by one, so that an array in which some are missing needs no
 * partial result for each slice that one is in. Missing elements of columns are taken as NaNs, but
 * integers of 64 bits as 0. Kernels leave integers only if their sum does not fit.
 */

/* Elements of a slice, `stride` bytes apart, whose indices in it are index, index + step, ... */
struct run {
    const unsigned char *x;
    size_t stride, count;
    uint64_t index, step;
};

/* The partial result of a slice; a new one is empty. NULL, with `failed` set, without memory. */
static struct partial *partial_of(struct cpu_slicer *z, struct cpu_slices *s, size_t i)
{
    if (!s->partial)
        s->partial = calloc(s->room, sizeof *s->partial);
    if (s->partial && !s->partial[i])
        s->partial[i] = malloc(sizeof *s->partial[i]);
    if (!s->partial || !s->partial[i]) {
        z->failed = true;
        return NULL;
    }
    if (!s->used[i])
        partial_clear(s->partial[i]);
    s->used[i] = true;
    return s->partial[i];
}

/* Moves the sum of a slice to its partial result. */
static void drain(struct cpu_slices *s, size_t i, struct partial *p)
{
    exact_add(&p->sum, s->high[i]);
    exact_add(&p->sum, s->low[i]);
    s->high[i] = s->low[i] = 0;
}

/* Makes sure that slices can have elements that are no numbers. False, with `failed` set, without memory. */
static bool open_special(struct cpu_slicer *z, struct cpu_slices *s)
{
    if (!s->special)
        s->special = calloc(s->room, sizeof *s->special);
    s->special_used = s->special;
    z->failed = z->failed || !s->special;
    return s->special;
}

/* The value of an element; soon, of the types that most are. */
static inline double load(const unsigned char *x, enum element_type type)
{
    return type == ELEMENT_F32   ? element_value(ELEMENT_F32, element_bits(sizeof(float), x))
           : type == ELEMENT_F64 ? element_value(ELEMENT_F64, element_bits(sizeof(double), x))
                                 : element_load(type, x);
}

/* Takes the key of an element that is no NaN. */
static inline void take_key(struct cpu_slices *sums, size_t at, double x)
{
    const int64_t key = key_to_keep(sums, exact_key(x));

    take_keys(sums, at, key, key);
}

/* Takes elements of a run until the sum of one does not fit. Returns how many. */
static size_t take_fitting(const struct cpu_slicer *z, struct cpu_slice_special *special,
                           struct cpu_slices *sums, size_t at, const struct run *run)
{
    double high = sums->high[at], low = sums->low[at];
    size_t i;

    for (i = 0; i < run->count; i++) {
        const double x = load(run->x + i * run->stride, z->type);
        double error, rest, sum, lower;

        if (isnan(x)) {
            if (z->masked)
                special->missing++;
            else if (special->nan++ == 0 || run->index + i * run->step < special->first_nan)
                special->first_nan = run->index + i * run->step;
            continue;
        }
        if (isfinite(x)) {
            sum = exact_two_sum(high, x, &error);
            lower = exact_two_sum(low, error, &rest);
            if (rest != 0 || isnan(rest))
                break;
            high = sum;
            low = lower;
        } else {
            special->positive += x > 0;
            special->negative += x < 0;
        }
        if (sums->min)
            take_key(sums, at, x);
    }
    sums->high[at] = high;
    sums->low[at] = low;
    sums->low_used = sums->low_used || low != 0;
    return i;
}

/* Takes elements into a slice: numbers of a float type into the sum and the keys that number `at` of
   `sums` has, and others are counted in s. If a sum does not fit, it goes to the partial result of the
   slice, together with the element; integers always do. */
static void take_one_by_one(struct cpu_slicer *z, struct cpu_slices *s, size_t slice,
                            struct cpu_slices *sums, size_t at, struct run left)
{
    const bool floats = element_is_float(z->type);
    struct partial *p;

    if (floats && !open_special(z, s))
        return;
    while (left.count > 0) {
        const size_t done = floats ? take_fitting(z, &s->special[slice], sums, at, &left) : 0;

        left.x += done * left.stride;
        left.index += done * left.step;
        left.count -= done;
        if (left.count == 0)
            break;
        p = partial_of(z, s, slice);
        if (!p)
            return;
        drain(sums, at, p);
        if (floats || !z->masked || !cpu_missing_has(&z->missing, left.x))
            partial_take_element(p, z->type, left.x, left.index);
        left.x += left.stride;
        left.index += left.step;
        left.count--;
    }
}

/* Adds some to those of a slice. False, with `failed` set, without memory. */
static bool special_add(struct cpu_slicer *z, struct cpu_slices *s, size_t slice,
                        const struct cpu_slice_special *x)
{
    struct cpu_slice_special *to;

    if (!open_special(z, s))
        return false;
    to = &s->special[slice];
    if (x->nan > 0 && (to->nan == 0 || x->first_nan < to->first_nan))
        to->first_nan = x->first_nan;
    to->missing += x->missing;
    to->nan += x->nan;
    to->positive += x->positive;
    to->negative += x->negative;
    return true;
}

/* Adds those of a slice, if it has any, to its partial result, but for the count. */
static void special_add_to(const struct cpu_slices *s, size_t slice, struct partial *p)
{
    const struct cpu_slice_special *x = &s->special[slice];

    if (x->nan > 0 && x->first_nan < p->first_nan)
        p->first_nan = x->first_nan;
    p->missing += x->missing;
    p->nan += x->nan;
    p->positive_infinity += x->positive;
    p->negative_infinity += x->negative;
}

/*
 * Slices.
 */

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

/* Elements that are masked at a time. */
#define MASKED_TOGETHER 1024

/* Elements of which others are made at a time, and the rows and the columns of them where there are
   many. */
#define MADE_ROWS 16
#define MADE_COLUMNS 1024
#define MADE ((size_t)MADE_ROWS * MADE_COLUMNS)

/* Elements that are looked at together: compilers make vectors of loops of known length. */
#define BLOCK 64
_Static_assert(MASKED_TOGETHER % BLOCK == 0, "whole blocks");

/* Bytes of what is made: numbers, in whole blocks; or first a byte for each that may be counted. */
#define COUNTED_BYTES (MADE + BLOCK)
#define MADE_BYTES (COUNTED_BYTES + (MADE + BLOCK) * sizeof(double))

/* Memory for that: whole blocks. */
struct cpu_masking {
    uint64_t given[MASKED_TOGETHER], masked[MASKED_TOGETHER], aside[MASKED_TOGETHER];
    uint8_t gone[MASKED_TOGETHER];
    /* The missing elements of a kernel's columns; all 0 between calls. */
    uint32_t nans[FOLD_MAX + CPU_LANES_MAX];
};

/* Rows of fewer elements, or of fewer bytes, have kernels for what is made of elements: partial results
   take longer ones as fast, but for squares of integers of 64 bits. */
#define MADE_ROW 512
#define MADE_ROW_BYTES 2048
_Static_assert(MADE_ROW_BYTES <= MADE, "a row fits");
_Static_assert(MADE * sizeof(float) <= SCRATCH_BYTES, "counts fit as floats");

/* Partial results are faster, too, for columns of this length or more where they are few, if squares
   take two numbers: at most so many columns of floats, and of integers, which are converted first. */
#define MADE_LONG 2048
#define MADE_FEW_FLOATS 4
#define MADE_FEW_INTEGERS 64

/* Partial results are faster, too, for rows of so many elements or more: of all of floats of one byte; of sums of
   f64 beside extremes; and of sums of floats of two bytes, and extremes of integers of up to 32 bits. */
#define LONG_BYTES 4096
#define LONG_WIDE 8192
#define LONG_NARROW 32768

/* The bits of what kernels find by numbers that are made of elements. */
#define WANTS_DERIVED (PARTIAL_SQUARES | PARTIAL_ABSOLUTE | PARTIAL_SMALL | PARTIAL_NEGATIVE)

/* How many numbers the square of an element takes that is taken as one of this type. */
static unsigned numbers_of_square(enum element_type type)
{
    return element_size(type) == sizeof(double) ? 2 : 1;
}

/* Whether something is made of elements of a type, for what is wanted. */
static bool is_derived(enum cpu_derived which, enum element_type type, unsigned wants)
{
    switch (which) {
    case CPU_SQUARES:
        return wants & PARTIAL_SQUARES;
    case CPU_SQUARES_LOW:
        return wants & PARTIAL_SQUARES && numbers_of_square(taken_type(type)) == 2;
    case CPU_MAGNITUDES:
        return wants & (PARTIAL_ABSOLUTE | PARTIAL_SMALL);
    case CPU_ZEROS:
        return wants & PARTIAL_SMALL;
    case CPU_NEGATIVES:
        return wants & PARTIAL_NEGATIVE &&
               (!element_is_integer(type) || element_formats[type].kind == ELEMENT_SIGNED);
    case CPU_SUBNORMALS:
        return wants & PARTIAL_SMALL && !element_is_integer(type);
    case CPU_DERIVED:
        break;
    }
    return false;
}

/* The type of it, and what is wanted of that. */
static enum element_type derived_type(enum cpu_derived which, enum element_type type)
{
    if (which <= CPU_SQUARES_LOW)
        return ELEMENT_F64;
    if (which > CPU_MAGNITUDES)
        return ELEMENT_I8;
    return element_is_float(taken_type(type)) ? taken_type(type) : ELEMENT_U64;
}

static unsigned derived_wants(enum cpu_derived which, unsigned wants)
{
    if (which != CPU_MAGNITUDES || !(wants & PARTIAL_SMALL))
        return PARTIAL_SUM;
    return PARTIAL_EXTREMES | (wants & PARTIAL_ABSOLUTE ? PARTIAL_SUM : 0);
}

/* Whether all of that is found faster by kernels than by partial results. */
static bool derived_is_fast(enum element_type type, unsigned wants, enum cpu_slices_kind kind,
                            uint64_t length, uint64_t columns)
{
    const uint64_t few = element_is_float(type) ? MADE_FEW_FLOATS : MADE_FEW_INTEGERS;

    if (!element_is_float(taken_type(type)) && !(wants & WANTS_DERIVED & ~PARTIAL_SQUARES))
        return kind != CPU_SLICES_ROWS || length <= MADE;
    if (kind == CPU_SLICES_ROWS)
        return length < MADE_ROW || length < MADE_ROW_BYTES / element_size(type);
    return length < MADE_LONG || columns > few || numbers_of_square(taken_type(type)) == 1;
}

/* Whether sums and extremes of rows are found faster by kernels. */
static bool rows_are_fast(enum element_type type, unsigned wants, uint64_t length)
{
    const bool narrow =
        element_is_integer(type)
            ? element_size(type) <= sizeof(uint32_t) && wants & (PARTIAL_EXTREMES | PARTIAL_WHERE)
            : element_size(type) == sizeof(uint16_t) && wants & PARTIAL_SUM;

    if (narrow)
        return length < LONG_NARROW;
    if (type == ELEMENT_F64)
        return !(wants & PARTIAL_SUM) || !(wants & PARTIAL_EXTREMES) || length < LONG_WIDE;
    return element_is_integer(type) || element_size(type) > 1 || length < LONG_BYTES;
}

bool cpu_slices_have_kernels(enum element_type type, unsigned wants, bool missing)
{
    /* The number that stands in for a missing one is a zero, and the least magnitude. */
    if (missing && !element_is_float(taken_type(type)) && wants & PARTIAL_SMALL)
        return false;
    return !(wants & ~(unsigned)(PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE | WANTS_DERIVED));
}

bool cpu_slices_are_fast(enum element_type type, unsigned wants, bool missing,
                         enum cpu_slices_kind kind, uint64_t length, uint64_t columns)
{
    return cpu_slices_have_kernels(type, wants, missing) &&
           (wants & WANTS_DERIVED ? derived_is_fast(type, wants, kind, length, columns)
                                  : kind != CPU_SLICES_ROWS || rows_are_fast(type, wants, length));
}

static bool wants_extremes(unsigned wants)
{
    return wants & PARTIAL_EXTREMES;
}

static void clear_places(struct cpu_slices *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        s->places[i] =
            (struct cpu_slice_places){INT64_MAX, INT64_MIN, PARTIAL_NO_INDEX, PARTIAL_NO_INDEX};
}

/* Slices of numbers that are made of elements are opened, cleared and closed like those of the elements;
   nothing is made of them. */

/* NOLINTNEXTLINE(misc-no-recursion): once, for slices of made numbers */
void cpu_slices_clear(struct cpu_slices *s, size_t count)
{
    memset(s->used, 0, count * sizeof *s->used);
    end(s);
    if (s->places)
        clear_places(s, count);
    for (int k = 0; k < CPU_DERIVED; k++)
        if (s->derived[k])
            cpu_slices_clear(s->derived[k], count);
}

/* NOLINTNEXTLINE(misc-no-recursion): once, for slices of made numbers */
bool cpu_slices_open(struct cpu_slices *s, enum cpu_slices_kind kind, enum element_type type,
                     unsigned wants, bool fast, size_t room)
{
    const size_t lanes = CPU_LANES_MAX, all = (room + 2 * lanes - 1) / lanes * lanes;
    bool good;

    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->room = room;
    s->fast = fast;
    s->keys_alone = !(wants & PARTIAL_SUM);
    s->as_floats = s->fast && element_is_integer(type) && element_is_float(taken_type(type));
    s->key_size = kind == CPU_SLICES_COLUMNS && element_size(taken_type(type)) <= sizeof(int32_t)
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
    s->seeks[0] = wants & PARTIAL_WHERE_MIN;
    s->seeks[1] = wants & PARTIAL_WHERE_MAX;
    if (s->fast && wants & PARTIAL_WHERE) {
        s->places = malloc(room * sizeof *s->places);
        good = good && s->places;
        if (s->places)
            clear_places(s, room);
    }
    s->all = all;
    if (good && kind == CPU_SLICES_ROWS)
        reach(s, room);
    for (int k = 0; k < CPU_DERIVED && fast && good; k++) {
        const enum cpu_derived which = (enum cpu_derived)k;

        if (!is_derived(which, type, wants))
            continue;
        s->derived[k] = calloc(1, sizeof *s->derived[k]);
        good = s->derived[k] && cpu_slices_open(s->derived[k], kind, derived_type(which, type),
                                                derived_wants(which, wants), true, room);
    }
    return good;
}

/* NOLINTNEXTLINE(misc-no-recursion): once, for slices of made numbers */
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
    free(s->places);
    free(s->special);
    for (int k = 0; k < CPU_DERIVED; k++)
        if (s->derived[k]) {
            cpu_slices_close(s->derived[k]);
            free(s->derived[k]);
        }
    memset(s, 0, sizeof *s);
}

/* As cpu_slicer_open, but for what takes what is made of elements; with `apart` that is not for the
   reducer. */
static bool open_slicer(struct cpu_slicer *z, const struct cpu_kernels *kernels,
                        enum element_type type, unsigned wants, bool fast, bool apart, bool swap,
                        const struct missing *missing, const struct partial_split *split)
{
    struct missing nans = {.count = 0};

    memset(z, 0, sizeof *z);
    z->kernels = kernels;
    z->given = type;
    z->split = split;
    z->has_missing = missing;
    if (missing)
        cpu_missing_set(&z->missing, kernels, type, missing);
    if (missing && missing_add(&nans, type, "nan") && !missing_has_nans(missing, type)) {
        /* The mark of a masked element is a NaN. */
        if (missing_has(missing, 0) && nans.ranges[0].first++ == nans.ranges[0].last)
            nans.ranges[0] = nans.ranges[--nans.count];
        cpu_missing_set(&z->nans, kernels, type, &nans);
    }
    z->swap = swap && element_size(type) > 1;
    if (missing && fast) {
        z->swap_first = z->swap;
        z->swap = false;
    }
    if (fast)
        type = taken_type(type);
    if (apart)
        wants &= ~(unsigned)WANTS_DERIVED;
    z->type = type;
    if (missing) {
        z->masking = calloc(1, sizeof *z->masking);
        z->present = aligned_alloc(ALIGNMENT, SCRATCH_BYTES);
        z->native = aligned_alloc(ALIGNMENT, SCRATCH_BYTES);
    }
    if (fast) {
        z->fast =
            wants_extremes(wants) ? &kernels->slices->extremes[type] : &kernels->slices->sums[type];
        if (!z->swap && !apart && kernels->slices->integers[z->given].rows) {
            z->integer = &kernels->slices->integers[z->given];
            z->sums = wants & PARTIAL_SUM || !(wants & PARTIAL_EXTREMES);
            z->found = malloc(sizeof *z->found);
            if (!z->found)
                return false;
        }
        z->lanes = element_size(type) == sizeof(double) ? kernels->lanes / 2 : kernels->lanes;
        if (!cpu_slices_open(&z->folded, CPU_SLICES_COLUMNS, type, wants, true, FOLD_MAX))
            return false;
    }
    if (split)
        z->sides = cpu_split_open(kernels, type, split);
    z->reducer.wants = wants;
    return (!split || z->sides) && (!missing || (z->masking && z->present && z->native));
}

/* Makes sure that there is memory for elements. False, with `failed` set, where there is none. */
static bool open_scratch(struct cpu_slicer *z, unsigned char **scratch)
{
    if (!*scratch)
        *scratch = aligned_alloc(ALIGNMENT, SCRATCH_BYTES);
    z->failed = z->failed || !*scratch;
    return *scratch;
}

/* The elements that are counted, which are taken as those of `type`, as ranges of their keys. */
static void set_counted(struct cpu_missing *m, const struct cpu_kernels *kernels,
                        enum element_type given, enum element_type type, enum cpu_derived which)
{
    const bool floats = element_is_float(type);
    const uint64_t sign = floats ? order_sign(type) : 0, zero = order_key(type, 0);
    const uint64_t negative_zero = order_key(type, sign);
    struct missing set = {.count = 1};
    uint64_t least_normal;

    if (which == CPU_ZEROS) {
        set.ranges[0] = (struct missing_range){negative_zero, zero};
    } else if (which == CPU_NEGATIVES) {
        set.ranges[0] = (struct missing_range){order_least(type), negative_zero - 1};
    } else {
        least_normal =
            element_key_bits(type, exact_key(ldexp(1, element_formats[given].exponent_min)));
        set.count = 2;
        set.ranges[0] =
            (struct missing_range){order_key(type, sign | least_normal) + 1, negative_zero - 1};
        set.ranges[1] = (struct missing_range){zero + 1, order_key(type, least_normal) - 1};
    }
    cpu_missing_set(m, kernels, type, &set);
}

/* Opens what takes one of those that are made of elements. */
static bool open_derived(struct cpu_slicer *z, enum cpu_derived which, unsigned wants)
{
    const enum element_type type = derived_type(which, z->given);

    if (type == ELEMENT_I8)
        set_counted(&z->counted[which], z->kernels, z->given, z->type, which);
    z->derived[which] = calloc(1, sizeof *z->derived[which]);
    if (!z->derived[which] ||
        !open_slicer(z->derived[which], z->kernels, type, derived_wants(which, wants), true, false,
                     false, NULL, NULL))
        return false;
    z->derived[which]->masking = z->masking; /* lent */
    return true;
}

bool cpu_slicer_open(struct cpu_slicer *z, const struct cpu_kernels *kernels,
                     enum element_type type, unsigned wants, bool fast, bool swap,
                     const struct missing *missing, const struct partial_split *split)
{
    const bool apart = fast && wants & WANTS_DERIVED;
    bool good = open_slicer(z, kernels, type, wants, fast, apart, swap, missing, split);
    /* A square of a large integer takes three numbers. */
    const unsigned numbers =
        !(wants & PARTIAL_SQUARES) ? 1 : numbers_of_square(z->type) + !element_is_float(z->type);

    for (unsigned k = 0; k < numbers && apart && good; k++) {
        z->made[k] = aligned_alloc(ALIGNMENT, MADE_BYTES);
        good = z->made[k];
    }
    for (int k = 0; k < CPU_DERIVED && apart && good; k++)
        if (is_derived((enum cpu_derived)k, type, wants))
            good = open_derived(z, (enum cpu_derived)k, wants);
    return good;
}

/* NOLINTNEXTLINE(misc-no-recursion): once, for slices of made numbers */
void cpu_slicer_close(struct cpu_slicer *z)
{
    for (int k = 0; k < CPU_DERIVED; k++)
        if (z->derived[k]) {
            z->derived[k]->masking = NULL;
            cpu_slicer_close(z->derived[k]);
            free(z->derived[k]);
        }
    for (int k = 0; k < 3; k++)
        free(z->made[k]);
    cpu_reducer_close(&z->reducer);
    cpu_split_close(z->sides);
    if (z->folded.room > 0)
        cpu_slices_close(&z->folded);
    free(z->scratch);
    free(z->turned);
    free(z->present);
    free(z->native);
    free(z->found);
    free(z->masking);
}

/* The key of an element, whose type is the slices', from the one that is kept. */
static int64_t found_key(const struct cpu_slices *s, int64_t kept)
{
    const int64_t key = s->key_size == sizeof(int32_t) ? wide_key((int32_t)kept) : kept;

    return s->as_floats ? (int64_t)exact_key_value(key) : key;
}

int64_t cpu_slices_min_key(const struct cpu_slices *s, size_t i)
{
    return found_key(s, kept_key(s, s->min, i));
}

int64_t cpu_slices_max_key(const struct cpu_slices *s, size_t i)
{
    return found_key(s, kept_key(s, s->max, i));
}

/* The value that has a wide key, by operations that all vectors know. */
static inline double wide_value(int64_t key)
{
    return exact_from_bits((uint64_t)key ^ (0 - ((uint64_t)key >> 63)) >> 1);
}

/* The integer of up to 32 bits that has a wide key: added to 3 2^51, its value is in the lower bits. */
static inline int64_t wide_integer(int64_t key)
{
    return (int64_t)(exact_bits(wide_value(key) + 0x1.8p52) - exact_bits(0x1.8p52));
}

/* Keys that are converted together: compilers make vectors of loops of known length. */
#define KEYS_TOGETHER 8

/* Keys of extremes as numbers. */
static inline void convert_keys(double *to, const void *keys, size_t i, size_t size, size_t count)
{
    if (size == sizeof(int32_t))
        for (size_t k = 0; k < count; k++)
            to[k] = (double)narrow_value(((const int32_t *)keys)[i + k]);
    else
        for (size_t k = 0; k < count; k++)
            to[k] = wide_value(((const int64_t *)keys)[i + k]);
}

void cpu_slices_extremes(const struct cpu_slices *s, size_t from, size_t count, bool min,
                         double *to)
{
    const void *keys = min ? s->min : s->max;
    size_t i = 0;

    for (; i + KEYS_TOGETHER <= count; i += KEYS_TOGETHER)
        convert_keys(to + i, keys, from + i, s->key_size, KEYS_TOGETHER);
    convert_keys(to + i, keys, from + i, s->key_size, count - i);
}

void cpu_slices_integer_extremes(const struct cpu_slices *s, size_t from, size_t count, bool min,
                                 int64_t *restrict to)
{
    const void *keys = min ? s->min : s->max;
    const size_t size = s->key_size;
    size_t i = 0;

    if (!s->as_floats) {
        memcpy(to, (const int64_t *)keys + from, count * sizeof *to);
        return;
    }
    for (; i + KEYS_TOGETHER <= count; i += KEYS_TOGETHER)
        if (size == sizeof(int32_t))
            for (size_t k = 0; k < KEYS_TOGETHER; k++)
                to[i + k] = (int32_t)narrow_value(((const int32_t *)keys)[from + i + k]);
        else
            for (size_t k = 0; k < KEYS_TOGETHER; k++)
                to[i + k] = wide_integer(((const int64_t *)keys)[from + i + k]);
    for (; i < count; i++)
        to[i] = min ? cpu_slices_min_key(s, from + i) : cpu_slices_max_key(s, from + i);
}

/* Whether a key of extremes is one, of elements. */
static bool has_keys(const struct cpu_slices *s, size_t i)
{
    return s->min && kept_key(s, s->min, i) <= kept_key(s, s->max, i);
}

/* Adds what the kernels found of a slice to a partial result, but for the count. */
static void add_found(const struct cpu_slices *s, size_t i, struct partial *p)
{
    if (!s->fast)
        return;
    exact_add(&p->sum, s->high[i]);
    exact_add(&p->sum, s->low[i]);
    if (has_keys(s, i)) {
        const struct cpu_slice_places *places = s->places ? &s->places[i] : NULL;

        partial_take_min(p, cpu_slices_min_key(s, i),
                         places ? places->min_index : PARTIAL_NO_INDEX);
        partial_take_max(p, cpu_slices_max_key(s, i),
                         places ? places->max_index : PARTIAL_NO_INDEX);
    }
}

/* Sets the partial result of a slice to what kernels and it have. */
static void find_partial(const struct cpu_slices *s, size_t i, struct partial *p)
{
    if (s->used[i])
        *p = *s->partial[i];
    else
        partial_clear(p);
    add_found(s, i, p);
}

/* Adds the sums of squares of a slice to its partial result. */
static void add_squares(const struct cpu_slices *s, size_t i, struct partial *p)
{
    for (int k = CPU_SQUARES; k <= CPU_SQUARES_LOW && s->derived[k]; k++) {
        const struct cpu_slices *d = s->derived[k];

        exact_wide_add(&p->squares, d->high[i]);
        exact_wide_add(&p->squares, d->low[i]);
        if (d->used[i])
            exact_wide_add_exact(&p->squares, &d->partial[i]->sum);
    }
}

/* The least magnitude, as in struct partial, from the key of a derived slice. */
static int64_t least_key(const struct cpu_slices *s, int64_t key)
{
    return s->as_floats ? (int64_t)((uint64_t)exact_key_value(key) ^ UINT64_C(1) << 63) : key;
}

int64_t cpu_slices_least_key(const struct cpu_slices *s, size_t i)
{
    return least_key(s, cpu_slices_min_key(s->derived[CPU_MAGNITUDES], i));
}

/* Adds the magnitudes of a slice. */
static void add_magnitudes(const struct cpu_slices *s, size_t i, struct partial *p)
{
    const struct cpu_slices *d = s->derived[CPU_MAGNITUDES];
    struct partial magnitudes;

    if (!d)
        return;
    find_partial(d, i, &magnitudes);
    exact_merge(&p->absolute, &magnitudes.sum);
    if (magnitudes.min_key != INT64_MAX && least_key(s, magnitudes.min_key) < p->least_magnitude)
        p->least_magnitude = least_key(s, magnitudes.min_key);
}

/* Adds what was made of the elements of a slice to its partial result. */
static void add_derived(const struct cpu_slices *s, size_t i, struct partial *p)
{
    add_squares(s, i, p);
    add_magnitudes(s, i, p);
    p->zeros += cpu_slices_count(s, i, CPU_ZEROS);
    p->negative += cpu_slices_count(s, i, CPU_NEGATIVES);
    p->subnormal += cpu_slices_count(s, i, CPU_SUBNORMALS);
}

void cpu_slices_partial(const struct cpu_slices *s, size_t i, uint64_t count, struct partial *p)
{
    find_partial(s, i, p);
    add_derived(s, i, p);
    if (slices_is_special(s, i))
        special_add_to(s, i, p);
    p->count = count;
}

/* Sets the index of an element of a slice, if it is one of `present` that were taken as if they
   were neighbours, from this index on, to what it is among all `count` at x. */
static void find_place(const struct cpu_slicer *z, uint64_t *at, const void *x, size_t count,
                       size_t present, uint64_t index)
{
    if (*at - index < present)
        *at = index + cpu_missing_find(&z->missing, z->present, x, count, (size_t)(*at - index));
}

/* Sets all indices of a partial result in that way. */
static void find_places(const struct cpu_slicer *z, struct partial *p, const void *x, size_t count,
                        size_t present, uint64_t index)
{
    find_place(z, &p->min_index, x, count, present, index);
    find_place(z, &p->max_index, x, count, present, index);
    find_place(z, &p->first_nan, x, count, present, index);
}

/* Shorter runs are split at the threshold element by element. */
#define SPLIT_RUN 256

/* Takes elements into the reducer, and into the fields of `sides` that PARTIAL_SPLIT defines. */
static void reduce(struct cpu_slicer *z, struct partial *sides, const unsigned char *x,
                   size_t count, uint64_t index)
{
    const size_t size = element_size(z->type);

    z->reducer.kernel(&z->reducer, x, count, index);
    if (z->split && count >= SPLIT_RUN) {
        const size_t most = CPU_PIECE_BYTES / size;

        for (size_t i = 0; i < count; i += most)
            cpu_split_take(z->sides, x + i * size, count - i < most ? count - i : most);
        cpu_split_drain(z->sides, sides);
        return;
    }
    for (size_t i = 0; i < count && z->split; i++)
        partial_split_take(sides, z->split, z->type, x + i * size);
}

/* Takes those elements that are not missing. */
static void reduce_present(struct cpu_slicer *z, struct partial *sides, const unsigned char *x,
                           size_t count, uint64_t index)
{
    const size_t size = element_size(z->type), most = SCRATCH_BYTES / size;
    struct cpu_reducer *r = &z->reducer;

    for (size_t i = 0; i < count; i += most, x += most * size, index += most) {
        const size_t some = count - i < most ? count - i : most;
        const size_t present = z->missing.leave_out(&z->missing, z->present, x, some);

        reduce(z, sides, present < some ? z->present : x, present, index);
        r->partial.missing += some - present;
        find_places(z, &r->partial, x, some, present, index);
    }
}

/* Opens the reducer, which most arrays do without. False without memory. */
static bool open_reducer(struct cpu_slicer *z)
{
    if (!z->reducer.scratch &&
        !cpu_reducer_open(&z->reducer, z->kernels, z->type, z->reducer.wants))
        z->failed = true;
    return !z->failed;
}

/* Takes a run of elements of a slice into its partial result, by the kernels of whole files. */
static void take_run(struct cpu_slicer *z, struct cpu_slices *s, size_t slice, const void *data,
                     size_t count, uint64_t index)
{
    struct cpu_reducer *r = &z->reducer;
    const bool begun = s->used[slice];
    struct partial *p = partial_of(z, s, slice), sides;

    if (!p || !open_reducer(z))
        return;
    if (begun)
        r->partial = *p;
    else
        partial_clear(&r->partial);
    /* Kernels may find other things in the place of these fields. */
    if (z->split)
        sides = r->partial;
    if (z->has_missing && !z->fast)
        reduce_present(z, &sides, data, count, index);
    else
        reduce(z, &sides, data, count, index);
    if (z->split)
        partial_split_put(&r->partial, &sides);
    *p = r->partial;
}

/* Adds two numbers to the sum of a slice. */
static ALWAYS_INLINE void add_numbers(struct cpu_slicer *z, struct cpu_slices *s, size_t i,
                                      double high, double low)
{
    struct slice_pair sum = {s->high[i], s->low[i], false};
    struct partial *p;

    s->low_used = true;
    slice_pair_add(&sum, high, low);
    if (!sum.left) {
        s->high[i] = sum.high;
        s->low[i] = sum.low;
    } else if ((p = partial_of(z, s, i))) {
        drain(s, i, p);
        exact_add(&p->sum, high);
        exact_add(&p->sum, low);
    }
}

/* Adds another slice's sums and keys, which are of one size, to those of one. */
static void add_slice(struct cpu_slicer *z, struct cpu_slices *s, size_t i,
                      const struct cpu_slices *other, size_t j)
{
    add_numbers(z, s, i, other->high[j], other->low[j]);
    if (s->min)
        take_keys(s, i, kept_key(s, other->min, j), kept_key(s, other->max, j));
}

/* The place for a kernel's results from slice `first` on. */
static struct cpu_slice_results results_from(struct cpu_slices *s, size_t first)
{
    return (struct cpu_slice_results){
        .high = s->high + first,
        .low = s->low + first,
        .low_used = &s->low_used,
        .keys_alone = s->keys_alone,
        .min = s->min ? (char *)s->min + first * s->key_size : NULL,
        .max = s->max ? (char *)s->max + first * s->key_size : NULL,
    };
}

/* Shorter rows of which some elements are no numbers are taken one by one. */
#define SPECIAL_ROW 256

/* Rows that a kernel takes together. */
#define ROWS_TOGETHER 256
_Static_assert(ROWS_TOGETHER <= FOLD_MAX, "as many fit the folded slices");

/* Those up to before number `end` have begun. */
static void begun(struct cpu_slices *s, size_t end)
{
    s->filled = s->filled < end ? end : s->filled;
}

/* Takes rows by their kernel: of slices that had no elements before, or beside what they had. */
static void take_rows_fast(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                           const unsigned char *x, size_t rows, size_t length, uint64_t index)
{
    const bool begin = first >= s->filled;
    const size_t bytes = length * element_size(z->type);
    int64_t keys[2][ROWS_TOGETHER + CPU_LANES_MAX];
    struct cpu_slices beside = {
        .high = z->folded.high, .low = z->folded.low, .keys_alone = s->keys_alone};

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
                clear_extremes(to, at + row, at + row + 1);
                if (length >= SPECIAL_ROW)
                    take_run(z, s, first + i + row, x + (i + row) * bytes, length, index);
                else
                    take_one_by_one(z, s, first + i + row, to, at + row,
                                    (struct run){.x = x + (i + row) * bytes,
                                                 .stride = element_size(z->type),
                                                 .count = length,
                                                 .index = index,
                                                 .step = 1});
            }
            if (!begin)
                add_slice(z, s, first + i + row, to, at + row);
        }
    }
    begun(s, first + rows);
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

/* A call for columns that are as many as the kernel's, whose sums are those of slicer->folded. */
static struct column_call call_of(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                                  const unsigned char *x, size_t stride, size_t columns,
                                  uint64_t index)
{
    return (struct column_call){.slicer = z,
                                .slices = s,
                                .first = first,
                                .sums = &z->folded,
                                .x = x,
                                .stride = stride,
                                .folded = columns,
                                .fold = 1,
                                .index = index};
}

/* Takes elements that a kernel left. */
static void take_left(void *context, size_t column, size_t row, size_t rows)
{
    const struct column_call *c = context;
    const size_t size = element_size(c->slicer->type);

    take_one_by_one(c->slicer, c->slices, c->first + column % c->folded, c->sums,
                    c->sums_first + column,
                    (struct run){.x = c->x + row * c->stride + column * size,
                                 .stride = c->stride,
                                 .count = rows,
                                 .index = c->index + row * c->fold + column / c->folded,
                                 .step = c->fold});
}

/* Takes what a kernel has counted. */
static void take_counts(void *context, size_t column, size_t row,
                        const struct cpu_slice_counts *counts)
{
    const struct column_call *c = context;
    const bool masked = c->slicer->masked;
    const struct cpu_slice_special special = {
        .missing = masked ? counts->nan : 0,
        .nan = masked ? 0 : counts->nan,
        .first_nan = c->index + (row + counts->first_nan) * c->fold + column / c->folded,
        .positive = counts->positive,
        .negative = counts->negative};

    (void)special_add(c->slicer, c->slices, c->first + column % c->folded, &special);
}

/* Adds the missing elements that a kernel has counted, and sets the counts to 0. */
static void take_missing(const struct column_call *c, uint32_t *counts, size_t columns)
{
    /* After the elements of a kernel there may be zeros, which fill a vector. */
    const size_t all = c->folded * c->fold;

    for (size_t i = 0; i < columns; i++) {
        if (counts[i] == 0)
            continue;
        if (i < all && open_special(c->slicer, c->slices))
            c->slices->special[c->first + (i < c->folded ? i : i % c->folded)].missing += counts[i];
        counts[i] = 0;
    }
}

/* Runs the kernel for so many rows and columns of it. */
static void run_columns(struct column_call *c, size_t rows, size_t columns,
                        const struct cpu_slice_results *to)
{
    struct cpu_slicer *z = c->slicer;
    const struct cpu_slice_calls calls = {take_left, take_counts, c,
                                          z->masked ? z->masking->nans : NULL, &z->missing};

    z->fast->columns(c->x, c->stride, rows, columns, to, &calls);
    if (z->masked)
        take_missing(c, z->masking->nans, columns);
}

/* Makes so many of the folded slices some without elements, which kernels may add to. */
static void clear_folded(struct cpu_slicer *z, size_t count)
{
    cpu_slices_clear(&z->folded, count);
    begin(&z->folded, count);
}

/* Takes columns that fill no vector: as some that do, the others of which are zero. */
static void take_narrow(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                        const unsigned char *x, size_t stride, size_t rows, size_t columns,
                        uint64_t index)
{
    const size_t size = element_size(z->type), width = z->lanes * size;
    const size_t most = SCRATCH_BYTES / width;
    const struct cpu_slice_results to = results_from(&z->folded, 0);
    unsigned char *wide;

    if (!open_scratch(z, &z->turned))
        return;
    wide = z->turned;
    begin(s, first + columns);
    clear_folded(z, z->lanes);
    for (size_t i = 0; i < rows; i += most) {
        const size_t n = rows - i < most ? rows - i : most;
        struct column_call call = call_of(z, s, first, wide, width, columns, index + i);

        for (size_t row = 0; row < n; row++) {
            memcpy(wide + row * width, x + (i + row) * stride, columns * size);
            memset(wide + row * width + columns * size, 0, width - columns * size);
        }
        run_columns(&call, n, z->lanes, &to);
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
    struct column_call call = call_of(z, s, first, x, stride, columns, index);

    if (columns == 0)
        return;
    call.sums = s;
    call.sums_first = first;
    to.begin = begin_columns(s, first, first + columns);
    if (to.begin)
        clear_extremes(s, first, first + columns);
    run_columns(&call, rows, columns, &to);
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
    struct column_call call = call_of(z, s, first, x, stride, columns, index);

    call.fold = fold;
    begin(s, first + columns);
    clear_folded(z, columns * fold);
    run_columns(&call, rows / fold, columns * fold, &to);
    for (size_t j = 0; j < columns * fold; j++)
        add_slice(z, s, first + j % columns, &z->folded, j);
}

/* Takes columns by their kernel: as more of them, as they are, and what is left over. */
static void take_columns_fast(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                              const unsigned char *x, size_t stride, size_t rows, size_t columns,
                              uint64_t index)
{
    const size_t size = element_size(z->type);
    size_t fold, wide, folded_rows;

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

/* Declares an array `block` of the elements from number i on of n at x, which has any alignment; after the
   last element it has 0. */
#define LOAD_BLOCK(LANE, x, i, n)                                                      \
    LANE block[BLOCK];                                                                 \
                                                                                       \
    if ((n) - (i) >= BLOCK) {                                                          \
        memcpy(block, (const unsigned char *)(x) + (i) * sizeof *block, sizeof block); \
    } else {                                                                           \
        memset(block, 0, sizeof block);                                                \
        memcpy(block, (const unsigned char *)(x) + (i) * sizeof *block,                \
               ((n) - (i)) * sizeof *block);                                           \
    }

/* NAME(m, gone, x, n): which of n elements of a size are missing: all bits of gone[i] are set, or
   none. There is memory for whole blocks of these. */
#define FIND_MISSING(NAME, LANE, SIGNED)                                                  \
    static void NAME(const struct cpu_missing *m, uint8_t *gone, const void *x, size_t n) \
    {                                                                                     \
        for (size_t i = 0; i < n; i += BLOCK) {                                           \
            LANE found[BLOCK] = {0};                                                      \
            LOAD_BLOCK(LANE, x, i, n)                                                     \
                                                                                          \
            for (unsigned k = 0; k < m->count; k++) {                                     \
                const LANE add = (LANE)m->add[k];                                         \
                const SIGNED last = (SIGNED)m->last[k];                                   \
                                                                                          \
                for (size_t j = 0; j < BLOCK; j++)                                        \
                    found[j] |= (LANE) - ((SIGNED)(LANE)(block[j] + add) <= last);        \
            }                                                                             \
            for (size_t j = 0; j < BLOCK; j++)                                            \
                gone[i + j] = (uint8_t)found[j];                                          \
        }                                                                                 \
    }
FIND_MISSING(find_missing8, uint8_t, int8_t)
FIND_MISSING(find_missing16, uint16_t, int16_t)
FIND_MISSING(find_missing32, uint32_t, int32_t)
FIND_MISSING(find_missing64, uint64_t, int64_t)

static void find_missing(const struct cpu_missing *m, uint8_t *gone, const void *x, size_t n)
{
    (m->size == sizeof(uint8_t)    ? find_missing8
     : m->size == sizeof(uint16_t) ? find_missing16
     : m->size == sizeof(uint32_t) ? find_missing32
                                   : find_missing64)(m, gone, x, n);
}

/* NAME(to, x, n): the magnitudes of n floats of a size, in whole blocks. */
#define MAKE_MAGNITUDES(NAME, LANE)                                      \
    static void NAME(unsigned char *to, const void *x, size_t n)         \
    {                                                                    \
        for (size_t i = 0; i < n; i += BLOCK) {                          \
            LOAD_BLOCK(LANE, x, i, n)                                    \
                                                                         \
            for (size_t j = 0; j < BLOCK; j++)                           \
                block[j] &= (LANE) ~((LANE)1 << (8 * sizeof(LANE) - 1)); \
            memcpy(to + i * sizeof *block, block, sizeof block);         \
        }                                                                \
    }
MAKE_MAGNITUDES(make_magnitudes16, uint16_t)
MAKE_MAGNITUDES(make_magnitudes32, uint32_t)
MAKE_MAGNITUDES(make_magnitudes64, uint64_t)

/* Makes the magnitudes of elements, in whole blocks. */
static void make_magnitudes(enum element_type type, unsigned char *to, const unsigned char *x,
                            size_t count)
{
    const size_t size = element_size(type);

    if (element_is_float(type)) {
        (size == sizeof(uint16_t)   ? make_magnitudes16
         : size == sizeof(uint32_t) ? make_magnitudes32
                                    : make_magnitudes64)(to, x, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = element_bits(sizeof bits, x + i * sizeof bits);

        if (type == ELEMENT_I64 && bits >> 63)
            bits = -bits;
        memcpy(to + i * sizeof bits, &bits, sizeof bits);
    }
}

/* Elements with 0 in the place of those that are missing: of integers of 64 bits in columns, of which
   kernels know that. */
static const unsigned char *with_zeros(struct cpu_slicer *z, const unsigned char *x, size_t count)
{
    const uint64_t none = 0;

    if (!z->masked || element_is_float(z->type))
        return x;
    /* A block, which BLOCK_BYTES_MOST limits. */
    (void)z->missing.stand_in(&z->missing, z->present, x, count, &none);
    return z->present;
}

/* Makes of `count` elements what is added up but squares, in whole blocks: rows that are made in their order
   write over what the one before has written too much. False if none is counted; then it makes nothing. */
static bool make(struct cpu_slicer *z, enum cpu_derived which, unsigned char *to,
                 const unsigned char *x, size_t count)
{
    x = with_zeros(z, x, count);
    if (which == CPU_MAGNITUDES) {
        make_magnitudes(z->type, to, x, count);
        return true;
    }
    /* Most pieces that follow one without any have none. */
    if (!z->derived[which]->lacking &&
        z->counted[which].leave_out(&z->counted[which], (unsigned char *)z->made[0] + COUNTED_BYTES,
                                    x, count) == count)
        return false;
    find_missing(&z->counted[which], to, x, count);
    z->derived[which]->lacking = memchr(to, 0xff, count);
    return true;
}

/* Squares integers of 64 bits of any size: to[0] + to[1] + to[2] are multiples of 2^86, 2^43 and 1. */
static void square_all(enum element_type type, double *const to[3], const unsigned char *x,
                       size_t count)
{
    const bool is_signed = element_formats[type].kind == ELEMENT_SIGNED;

    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = element_bits(sizeof bits, x + i * sizeof bits);
        const uint64_t magnitude = is_signed && bits >> 63 ? -bits : bits;
        const uint64_t a = magnitude >> 32, b = magnitude & UINT32_MAX;
        const uint64_t lower = b * b + (a * b << 33);
        const uint64_t upper = a * a + (a * b >> 31) + (lower < b * b);

        to[0][i] = (double)(int64_t)(upper >> 22) * 0x1p86;
        to[1][i] = (double)(int64_t)((upper & 0x3fffff) << 21 | lower >> 43) * 0x1p43;
        to[2][i] = (double)(int64_t)(lower & 0x7ffffffffff);
    }
}

/* Squares `count` elements; missing integers are 0. Integers take to[2], too, if some are large: whether
   they do. Floats whose squares are too large or too small go to the partial results of their slices:
   element number i is of slice first + i / length, or, of columns, of slice first + i % length. */
static bool square(struct cpu_slicer *z, struct cpu_slices *s, size_t first, size_t length,
                   double *const to[3], const unsigned char *x, size_t count)
{
    const bool floats = element_is_float(z->type);

    x = with_zeros(z, x, count);
    if (z->kernels->slices->squares[z->type](to[0], to[1], x, count)) {
        if (!floats)
            memset(to[2], 0, count * sizeof *to[2]);
        return false;
    }
    if (!floats) {
        square_all(z->type, to, x, count);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        const double value = load(x + i * sizeof value, ELEMENT_F64);
        struct partial *p;

        if (value == 0 || !isfinite(value) || to[0][i] != 0)
            continue;
        p = partial_of(z, s, first + (s->kind == CPU_SLICES_ROWS ? i / length : i % length));
        if (p)
            exact_wide_add_squares(&p->squares, &value, 1);
    }
    return false;
}

/* Makes what was made elements of the type that it is taken as. */
static const unsigned char *bring_made(struct cpu_slicer *derived, const unsigned char *made,
                                       size_t count)
{
    if (derived->given == derived->type || !open_scratch(derived, &derived->scratch))
        return made;
    cpu_convert(derived->kernels, derived->scratch, derived->type, made, derived->given, count);
    return derived->scratch;
}

/* Which slices take number k of the numbers of a square. */
static enum cpu_derived squares_of(int k)
{
    return k == 0 ? CPU_SQUARES : CPU_SQUARES_LOW;
}

/* Takes numbers that were made of elements: `rows` rows of `columns` of them, which follow each other. */
static void take_made(struct cpu_slicer *z, struct cpu_slices *s, enum cpu_derived which,
                      size_t first, const void *made, size_t rows, size_t columns)
{
    struct cpu_slicer *derived = z->derived[which];
    struct cpu_slices *to = s->derived[which];
    const size_t size = element_size(derived->given);
    const bool are_rows = s->kind == CPU_SLICES_ROWS;

    /* Magnitudes of missing elements are NaNs, as these are. */
    derived->masked = which == CPU_MAGNITUDES && z->masked && element_is_float(z->type);
    if (are_rows && derived->integer && columns >= SLICES_INTEGER_LENGTH)
        take_integer_rows(derived, to, first, made, rows, columns);
    else if (are_rows)
        take_rows_fast(derived, to, first, bring_made(derived, made, rows * columns), rows, columns,
                       0);
    else if (derived->integer && columns >= INTEGER_COLUMNS_LEAST(size) &&
             rows >= INTEGER_ROWS_LEAST(size))
        take_integer_columns(derived, to, first, made, columns * size, rows, columns);
    else
        take_columns_fast(derived, to, first, bring_made(derived, made, rows * columns),
                          columns * element_size(derived->type), rows, columns, 0);
    z->failed = z->failed || derived->failed;
}

/* Adds the squares of a piece of at most MADE elements, of which `together` rows follow each other. */
static void take_squared(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                         const unsigned char *x, size_t stride, size_t rows, size_t columns,
                         size_t together)
{
    bool large = false;

    for (size_t row = 0; row < rows; row += together) {
        double *const to[3] = {z->made[0] + row * columns,
                               z->made[1] ? z->made[1] + row * columns : NULL,
                               z->made[2] ? z->made[2] + row * columns : NULL};

        large = square(z, s, first, columns, to, x + row * stride, together * columns) || large;
    }
    for (int k = 0; k < (large ? 3 : 2); k++)
        if (z->derived[squares_of(k)])
            take_made(z, s, squares_of(k), first, z->made[k], rows, columns);
}

/* Adds all that is made of such a piece. */
static void take_derived(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                         const unsigned char *x, size_t stride, size_t rows, size_t columns,
                         size_t together)
{
    unsigned char *made = (unsigned char *)z->made[0];

    if (z->derived[CPU_SQUARES])
        take_squared(z, s, first, x, stride, rows, columns, together);
    for (int k = CPU_MAGNITUDES; k < CPU_DERIVED; k++) {
        const enum cpu_derived which = (enum cpu_derived)k;
        bool any = false;
        size_t width;

        if (!z->derived[k])
            continue;
        width = columns * element_size(z->derived[k]->given);
        for (size_t row = 0; row < rows; row += together) {
            if (make(z, which, made + row * width, x + row * stride, together * columns))
                any = true;
            else if (together < rows)
                memset(made + row * width, 0, together * width);
        }
        if (any)
            take_made(z, s, which, first, made, rows, columns);
        else
            begin(s->derived[k], first + (s->kind == CPU_SLICES_ROWS ? rows : columns));
    }
}

/* Adds what is made of the elements of rows. */
static void take_derived_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                              const unsigned char *x, size_t rows, size_t length)
{
    const size_t size = element_size(z->type), together = length < MADE ? MADE / length : 1;

    for (size_t i = 0; i < rows; i += together)
        for (size_t at = 0; at < length; at += MADE) {
            const size_t some = rows - i < together ? rows - i : together;

            take_derived(z, s, first + i, x + (i * length + at) * size, length * size, some,
                         length - at < MADE ? length - at : MADE, some);
        }
}

/* Takes rows in this machine's byte order. */
static void take_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                      const unsigned char *x, size_t rows, size_t length, uint64_t index)
{
    const size_t size = element_size(z->type);

    if (z->made[0])
        take_derived_rows(z, s, first, x, rows, length);
    if (z->fast) {
        take_rows_fast(z, s, first, x, rows, length, index);
        return;
    }
    for (size_t i = 0; i < rows; i++)
        take_run(z, s, first + i, x + i * length * size, length, index);
    begun(s, first + rows);
}

/* NAME(to, gone, n): floats of a size that are missing become NaNs, in whole blocks. */
#define MAKE_NANS(NAME, LANE)                                     \
    static void NAME(void *to, const uint8_t *gone, size_t n)     \
    {                                                             \
        for (size_t i = 0; i < n; i += BLOCK)                     \
            for (size_t j = 0; j < BLOCK; j++)                    \
                ((LANE *)to)[i + j] |= (LANE)(int8_t)gone[i + j]; \
    }
MAKE_NANS(make_nans16, uint16_t)
MAKE_NANS(make_nans32, uint32_t)
MAKE_NANS(make_nans64, uint64_t)

/* Elements of some slices. Element number i has the index `index` + i / columns in the slice number
   first + i % columns; or, of slices that are rows, the two the other way round. */
struct place {
    struct cpu_slices *slices;
    size_t first, columns;
    uint64_t index;
    bool rows;
};

/* Counts a NaN. */
static void take_nan(struct cpu_slicer *z, const struct place *p, size_t i)
{
    const size_t row = i / p->columns, column = i % p->columns;
    const struct cpu_slice_special nan = {
        .missing = UINT64_MAX, .nan = 1, .first_nan = p->index + (p->rows ? column : row)};

    (void)special_add(z, p->slices, p->first + (p->rows ? row : column), &nan);
}

/* Makes elements those of the type they are taken as, with a NaN in the place of each that is
   missing. NaNs that are not are counted: kernels will count them as missing. */
static void mask(struct cpu_slicer *z, unsigned char *to, const unsigned char *x, size_t count,
                 const struct place *place)
{
    const size_t size = element_size(z->given), taken = element_size(z->type);
    struct cpu_masking *m = z->masking;

    for (size_t i = 0; i < count; i += MASKED_TOGETHER) {
        const size_t some = count - i < MASKED_TOGETHER ? count - i : MASKED_TOGETHER;

        memcpy(m->given, x + i * size, some * size);
        if (z->given == z->type)
            memcpy(m->masked, m->given, some * size);
        else
            cpu_convert(z->kernels, m->masked, z->type, m->given, z->given, some);
        if (z->nans.count > 0 && z->nans.leave_out(&z->nans, m->aside, m->given, some) < some) {
            find_missing(&z->nans, m->gone, m->given, some);
            for (size_t j = 0; j < some; j++)
                if (m->gone[j])
                    take_nan(z, place, i + j);
        }
        find_missing(&z->missing, m->gone, m->given, some);
        (taken == sizeof(uint16_t)   ? make_nans16
         : taken == sizeof(uint32_t) ? make_nans32
                                     : make_nans64)(m->masked, m->gone, some);
        memcpy(to + i * taken, m->masked, some * taken);
    }
}

/* Takes rows none of whose elements are missing, or that are taken by take_run. */
static void take_present_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                              const unsigned char *x, size_t rows, size_t length, uint64_t index)
{
    const size_t size = element_size(z->given), most = SCRATCH_BYTES / element_size(z->type);

    if (!z->swap && z->given == z->type) {
        take_rows(z, s, first, x, rows, length, index);
        return;
    }
    if (z->integer && length >= SLICES_INTEGER_LENGTH) {
        take_integer_rows(z, s, first, x, rows, length);
        return;
    }
    if (!open_scratch(z, &z->scratch))
        return;
    for (size_t i = 0; i < rows;) {
        const size_t group = length < most ? most / length : 1, left = rows - i;
        const size_t count = left < group ? left : group;

        for (size_t at = 0; at < length; at += most) {
            const size_t part = length - at < most ? length - at : most;

            bring(z, z->scratch, x + (i * length + at) * size, count * part);
            take_rows(z, s, first + i, z->scratch, count, part, index + at);
        }
        i += count;
    }
}

/*
 * The places of extremes: after each piece that was taken, the extremes that have changed are looked
 * for in it. Elements are compared by their bits, in the byte order that they come in.
 */

/* Bytes of a piece, about, and those of a row of a piece of columns. */
#define PIECE_BYTES ((size_t)128 << 10)
#define PIECE_WIDTH ((size_t)4 << 10)

/* Rows of columns that can be searched together: their numbers fit an element, and CPU_NO_ROW. */
static size_t rows_to_search(size_t size)
{
    return size == sizeof(uint8_t) ? UINT8_MAX : size == sizeof(uint16_t) ? UINT16_MAX : SIZE_MAX;
}

/* The bits of the elements that have such a key, as they come: of a truth value 0 or 1. */
static inline uint64_t bits_to_search(const struct cpu_slicer *z, const struct cpu_slices *s,
                                      int64_t kept)
{
    const bool narrow = s->key_size == sizeof(int32_t);
    const unsigned unused = 64 - 8 * element_formats[z->given].size;
    uint64_t bits;

    if (z->given == ELEMENT_F32)
        bits = (uint32_t)order(narrow ? (int32_t)kept : narrow_key(kept));
    else if (z->given == ELEMENT_F64)
        bits = exact_bits(exact_key_value(kept));
    else
        bits = element_key_bits(z->given, found_key(s, kept));
    return z->swap || z->swap_first ? __builtin_bswap64(bits) >> unused : bits << unused >> unused;
}

/* Whether the extremes of slice number i may be in a piece from `index` on, and are to be looked for:
   sets the keys of those. */
static inline void find_wanted(const struct cpu_slices *s, size_t i, uint64_t index, bool wanted[2],
                               int64_t keys[2])
{
    const struct cpu_slice_places *p = &s->places[i];

    keys[0] = kept_key(s, s->min, i);
    keys[1] = kept_key(s, s->max, i);
    wanted[0] =
        s->seeks[0] && keys[0] <= keys[1] && (keys[0] != p->min_key || index < p->min_index);
    wanted[1] =
        s->seeks[1] && keys[0] <= keys[1] && (keys[1] != p->max_key || index < p->max_index);
}

/* Takes the least, or the greatest, and its place. If keys are equal, the lesser index is kept. */
static inline void take_place(struct cpu_slice_places *p, bool max, int64_t key, uint64_t index)
{
    int64_t *const kept = max ? &p->max_key : &p->min_key;
    uint64_t *const at = max ? &p->max_index : &p->min_index;

    if ((max ? key > *kept : key < *kept) || (key == *kept && index < *at)) {
        *kept = key;
        *at = index;
    }
}

/* Looks for the extremes of a slice: in `count` elements that are `stride` bytes apart. */
static void search_slice(const struct cpu_slicer *z, struct cpu_slices *s, size_t slice,
                         const unsigned char *x, size_t stride, size_t count, uint64_t index)
{
    const size_t size = element_size(z->given);
    const bool truth = element_formats[z->given].kind == ELEMENT_TRUTH;
    bool wanted[2];
    int64_t keys[2];

    find_wanted(s, slice, index, wanted, keys);
    for (int max = 0; max < 2; max++) {
        const uint64_t bits = wanted[max] ? bits_to_search(z, s, keys[max]) : 0;
        size_t at = 0;

        if (!wanted[max])
            continue;
        if (stride == size)
            at = z->kernels->search[__builtin_ctzll(size)](x, count, bits, truth);
        while (stride != size && at < count) {
            const uint64_t element = element_bits(size, x + at * stride);

            if ((truth ? element != 0 : element) == bits)
                break;
            at++;
        }
        if (at < count)
            take_place(&s->places[slice], max, keys[max], index + at);
    }
}

/* Looks for the extremes of neighbouring columns, of CPU_SEARCHED_BYTES. */
static void search_columns(const struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                           const unsigned char *x, size_t stride, size_t rows, uint64_t index)
{
    const size_t size = element_size(z->given), columns = CPU_SEARCHED_BYTES / size;
    const bool truth = element_formats[z->given].kind == ELEMENT_TRUTH;
    uint64_t bits[2][CPU_SEARCHED_BYTES], row[CPU_SEARCHED_BYTES] = {0};
    int64_t keys[CPU_SEARCHED_BYTES][2];
    bool wanted[CPU_SEARCHED_BYTES][2];
    size_t count[2] = {0};

    for (size_t j = 0; j < columns; j++) {
        find_wanted(s, first + j, index, wanted[j], keys[j]);
        count[0] += wanted[j][0];
        count[1] += wanted[j][1];
    }
    /* A few are found sooner one by one. */
    for (size_t j = 0; j < columns && 8 * (count[0] + count[1]) < columns; j++)
        if (wanted[j][0] || wanted[j][1])
            search_slice(z, s, first + j, x + j * size, stride, rows, index);
    for (int max = 0; max < 2 && 8 * (count[0] + count[1]) >= columns; max++) {
        if (count[max] == 0)
            continue;
        for (size_t j = 0; j < columns; j++)
            bits[max][j] = wanted[j][max] ? bits_to_search(z, s, keys[j][max]) : 0;
        z->kernels->search_columns[__builtin_ctzll(size)](x, stride, rows, bits[max], truth, row);
        for (size_t j = 0; j < columns; j++)
            if (wanted[j][max] && row[j] != CPU_NO_ROW)
                take_place(&s->places[first + j], max, keys[j][max], index + row[j]);
    }
}

/* Bytes of elements that are looked at together for missing ones: the level-1 cache holds them, and
   kernels have asked for them. Rows that lack some are taken in larger pieces. */
#define LOOKED_AT_BYTES ((size_t)4 << 10)
#define LACKING_BYTES ((size_t)16 << 10)

/* Whether some elements are missing. */
static bool misses_some(struct cpu_slicer *z, const unsigned char *x, size_t count)
{
    const size_t size = element_size(z->given), most = LOOKED_AT_BYTES / size;

    for (size_t i = 0; i < count; i += most) {
        const size_t some = count - i < most ? count - i : most;

        if (z->missing.leave_out(&z->missing, z->present, x + i * size, some) < some)
            return true;
    }
    return false;
}

/* Takes a row some of whose elements may be missing: as a shorter one of the others. */
static void take_some_of_row(struct cpu_slicer *z, struct cpu_slices *s, size_t slice,
                             const unsigned char *x, size_t length, uint64_t index)
{
    const size_t present = z->missing.leave_out(&z->missing, z->present, x, length);
    const struct cpu_slice_special missing = {.missing = length - present};

    if (present == length) {
        take_present_rows(z, s, slice, x, 1, length, index);
        return;
    }
    if (present > 0)
        take_present_rows(z, s, slice, z->present, 1, present, index);
    else
        begin_all(s, slice + 1);
    if (!special_add(z, s, slice, &missing))
        return;
    find_place(z, &s->special[slice].first_nan, x, length, present, index);
    if (s->used[slice])
        find_places(z, s->partial[slice], x, length, present, index);
}

/* Shorter rows are masked: others lose what is missing. */
#define SHORT_ROW 64

/* Takes short rows some of whose elements are missing: they become NaNs. */
static void take_masked_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                             const unsigned char *x, size_t rows, size_t length, uint64_t index)
{
    mask(z, z->present, x, rows * length,
         &(struct place){
             .slices = s, .first = first, .columns = length, .index = index, .rows = true});
    z->masked = true;
    take_rows(z, s, first, z->present, rows, length, index);
    z->masked = false;
}

/* Elements of a piece in this machine's byte order, with which they come where some may be
   missing. */
static const unsigned char *native(struct cpu_slicer *z, const unsigned char *x, size_t count)
{
    if (!z->swap_first)
        return x;
    element_swap(z->native, x, count, element_size(z->given));
    return z->native;
}

/* As cpu_slicer_rows, but for places. */
static void take_all_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                          const unsigned char *x, size_t rows, size_t length, uint64_t index)
{
    const size_t size = element_size(z->given);

    if (!z->has_missing || !z->fast) {
        take_present_rows(z, s, first, x, rows, length, index);
        return;
    }
    for (size_t i = 0; i < rows;) {
        const size_t most = (z->lacking ? LACKING_BYTES : LOOKED_AT_BYTES) / size;
        const size_t group = length < most ? most / length : 1, left = rows - i;
        const size_t count = left < group ? left : group;

        for (size_t at = 0; at < length; at += most) {
            const size_t part = length - at < most ? length - at : most;
            const unsigned char *piece = native(z, x + (i * length + at) * size, count * part);

            z->lacking = misses_some(z, piece, count * part);
            if (z->lacking && part < SHORT_ROW && element_is_float(z->type))
                take_masked_rows(z, s, first + i, piece, count, part, index + at);
            else if (z->lacking)
                for (size_t row = 0; row < count; row++)
                    take_some_of_row(z, s, first + i + row, piece + row * part * size, part,
                                     index + at);
            else
                take_present_rows(z, s, first + i, piece, count, part, index + at);
        }
        i += count;
    }
}

void cpu_slicer_rows(struct cpu_slicer *z, struct cpu_slices *s, size_t first, const void *data,
                     size_t rows, size_t length, uint64_t index)
{
    const size_t size = element_size(z->given), most = PIECE_BYTES / size;
    const size_t together = length < most ? most / length : 1;

    if (!s->places) {
        take_all_rows(z, s, first, data, rows, length, index);
        return;
    }
    for (size_t i = 0; i < rows; i += together)
        for (size_t at = 0; at < length; at += most) {
            const unsigned char *x = (const unsigned char *)data + (i * length + at) * size;
            const size_t some = rows - i < together ? rows - i : together;
            const size_t part = length - at < most ? length - at : most;

            take_all_rows(z, s, first + i, x, some, part, index + at);
            for (size_t j = 0; j < some; j++)
                search_slice(z, s, first + i + j, x + j * part * size, size, part, index + at);
        }
}

/* Takes columns without kernels: turns some at a time into rows. */
static void take_turned(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                        const unsigned char *x, size_t stride, size_t rows, size_t columns,
                        uint64_t index)
{
    const size_t size = element_size(z->type), most = RUN_BYTES / size;
    unsigned char *turned;

    if (!open_scratch(z, &z->turned))
        return;
    turned = z->turned;
    for (size_t j = 0; j < columns; j += most) {
        const size_t count = columns - j < most ? columns - j : most;

        for (size_t i = 0; i < rows; i += RUN_ELEMENTS) {
            const size_t run = rows - i < RUN_ELEMENTS ? rows - i : RUN_ELEMENTS;

            turn[size](turned, RUN_ELEMENTS, x + i * stride + j * size, stride, run, count);
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
    const size_t width = columns < MADE_COLUMNS ? columns : MADE_COLUMNS;
    const size_t height = MADE / (width ? width : 1);

    if (!z->fast) {
        take_turned(z, s, first, x, stride, rows, columns, index);
        return;
    }
    if (!z->made[0]) {
        take_columns_fast(z, s, first, x, stride, rows, columns, index);
        return;
    }
    /* All of a piece, while the caches hold it. */
    for (size_t i = 0; i < rows; i += height)
        for (size_t j = 0; j < columns; j += width) {
            const unsigned char *piece = x + i * stride + j * element_size(z->type);
            const size_t some = rows - i < height ? rows - i : height;
            const size_t part = columns - j < width ? columns - j : width;

            const size_t together = stride == part * element_size(z->type) ? some : 1;

            take_columns_fast(z, s, first + j, piece, stride, some, part, index + i);
            take_derived(z, s, first + j, piece, stride, some, part, together);
        }
}

/* The most columns that are swapped together. */
#define SWAPPED_COLUMNS 1024
_Static_assert(SWAPPED_COLUMNS <= FOLD_MAX, "there is a count for each");

/* Elements of columns: `rows` times `columns` of them, the rows `stride` bytes apart, from index
   `index` of the slices on. */
struct block {
    const unsigned char *x;
    size_t stride, rows, columns;
    uint64_t index;
};

/* Takes a block by way of pieces, whose elements are of the type that they are taken as, in this
   machine's byte order. With z->masked, those that are missing are NaNs there. */
static void take_in_pieces(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                           const struct block *b)
{
    const size_t size = element_size(z->given), taken = element_size(z->type);
    const size_t width = b->columns < SWAPPED_COLUMNS ? b->columns : SWAPPED_COLUMNS;
    const size_t height = SCRATCH_BYTES / taken / (width ? width : 1);

    if (!open_scratch(z, &z->scratch))
        return;
    for (size_t j = 0; j < b->columns; j += width) {
        const size_t columns = b->columns - j < width ? b->columns - j : width;

        for (size_t i = 0; i < b->rows; i += height) {
            const size_t rows = b->rows - i < height ? b->rows - i : height;
            /* Rows that lie one after the other are brought together. */
            const size_t together = b->stride == columns * size ? rows : 1;

            for (size_t row = 0; row < rows; row += together) {
                unsigned char *to = z->scratch + row * columns * taken;
                const unsigned char *from = b->x + (i + row) * b->stride + j * size;

                if (z->masked)
                    mask(z, to, from, together * columns,
                         &(struct place){.slices = s,
                                         .first = first + j,
                                         .columns = columns,
                                         .index = b->index + i + row});
                else
                    bring(z, to, from, together * columns);
            }
            take_columns(z, s, first + j, z->scratch, columns * taken, rows, columns, b->index + i);
        }
    }
}

/* Takes columns none of whose elements are missing, or that are taken by take_run. */
static void take_present_columns(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                                 const struct block *b)
{
    const size_t size = element_size(z->given);

    if (!z->swap && z->given == z->type)
        take_columns(z, s, first, b->x, b->stride, b->rows, b->columns, b->index);
    else if (z->integer && b->columns >= INTEGER_COLUMNS_LEAST(size) &&
             b->rows >= INTEGER_ROWS_LEAST(size))
        take_integer_columns(z, s, first, b->x, b->stride, b->rows, b->columns);
    else
        take_in_pieces(z, s, first, b);
}

/* Whether some elements of a block are missing. */
static bool block_misses(struct cpu_slicer *z, const struct block *b)
{
    if (b->stride == b->columns * element_size(z->given))
        return misses_some(z, b->x, b->rows * b->columns);
    for (size_t row = 0; row < b->rows; row++)
        if (misses_some(z, b->x + row * b->stride, b->columns))
            return true;
    return false;
}

/* Bytes of a block, about, that is looked at for missing elements before it is taken, and its rows;
   the bytes of larger ones: where the last had some, of integers, whose sums of a block are costly
   to add, and of elements that are swapped. */
#define BLOCK_BYTES ((size_t)16 << 10)
#define BLOCK_ROWS CPU_COLUMN_ROWS
#define BLOCK_BYTES_MOST SCRATCH_BYTES
#define BLOCK_BYTES_INTEGERS ((size_t)256 << 10)

/* As cpu_slicer_columns, but for places. */
static void take_all_columns(struct cpu_slicer *z, struct cpu_slices *s, size_t first,
                             const unsigned char *data, size_t stride, size_t rows, size_t columns,
                             uint64_t index)
{
    const size_t size = element_size(z->given);
    const size_t wide = z->integer ? CPU_INTEGER_COLUMNS : BLOCK_BYTES / BLOCK_ROWS / size;
    const size_t width = columns < wide ? columns : wide;
    bool lacking = false;

    if (!z->has_missing || !z->fast) {
        take_present_columns(z, s, first, &(struct block){data, stride, rows, columns, index});
        return;
    }
    for (size_t i = 0, height; i < rows; i += height) {
        height = (z->swap_first ? BLOCK_BYTES_MOST
                  : z->integer  ? BLOCK_BYTES_INTEGERS
                  : lacking     ? BLOCK_BYTES_MOST
                                : BLOCK_BYTES) /
                 size / width;
        lacking = false;
        for (size_t j = 0; j < columns; j += width) {
            struct block b = {.x = data + i * stride + j * size,
                              .stride = stride,
                              .rows = rows - i < height ? rows - i : height,
                              .columns = columns - j < width ? columns - j : width,
                              .index = index + i};

            if (z->swap_first) {
                for (size_t row = 0; row < b.rows; row++)
                    element_swap(z->native + row * b.columns * size, b.x + row * stride, b.columns,
                                 size);
                b.x = z->native;
                b.stride = b.columns * size;
            }
            if (!block_misses(z, &b)) {
                take_present_columns(z, s, first + j, &b);
                continue;
            }
            z->masked = true;
            if (element_is_float(z->type))
                take_in_pieces(z, s, first + j, &b);
            else /* kernels know which are missing */
                take_columns(z, s, first + j, b.x, b.stride, b.rows, b.columns, b.index);
            z->masked = false;
            lacking = true;
        }
    }
}

void cpu_slicer_columns(struct cpu_slicer *z, struct cpu_slices *s, size_t first, const void *data,
                        size_t stride, size_t rows, size_t columns, uint64_t index)
{
    const size_t size = element_size(z->given), most = rows_to_search(size);
    const size_t width = columns < PIECE_WIDTH / size ? columns : PIECE_WIDTH / size;
    const size_t fit = PIECE_BYTES / size / (width ? width : 1), height = fit < most ? fit : most;
    const size_t together = CPU_SEARCHED_BYTES / size;

    if (!s->places) {
        take_all_columns(z, s, first, data, stride, rows, columns, index);
        return;
    }
    for (size_t i = 0; i < rows; i += height)
        for (size_t j = 0; j < columns; j += width) {
            const unsigned char *x = (const unsigned char *)data + i * stride + j * size;
            const size_t some = rows - i < height ? rows - i : height;
            const size_t part = columns - j < width ? columns - j : width,
                         whole = part - part % together;

            take_all_columns(z, s, first + j, x, stride, some, part, index + i);
            for (size_t k = 0; k < whole; k += together)
                search_columns(z, s, first + j + k, x + k * size, stride, some, index + i);
            for (size_t k = whole; k < part; k++)
                search_slice(z, s, first + j + k, x + k * size, stride, some, index + i);
        }
}

/* Whether all elements of part number i are missing, which has extremes else. */
static bool lacks_keys(const struct engine_found *found, size_t i)
{
    return found->element_keys &&
           ((const int64_t *)found->min)[i] > ((const int64_t *)found->max)[i];
}

/* Adds what a GPU has found of part number i to a partial result, but for the count. Elements have the
   indices from `index` on. */
static void add_part(const struct engine_found *found, size_t i, uint64_t index, struct partial *p)
{
    const struct engine_found_more *more = &found->more;

    exact_add(&p->sum, found->high[i]);
    if (found->low)
        exact_add(&p->sum, found->low[i]);
    if (found->min && !lacks_keys(found, i)) {
        partial_take_min(p, ((const int64_t *)found->min)[i],
                         more->min_index ? index + more->min_index[i] : PARTIAL_NO_INDEX);
        partial_take_max(p, ((const int64_t *)found->max)[i],
                         more->max_index ? index + more->max_index[i] : PARTIAL_NO_INDEX);
    }
    if (more->absolute) {
        exact_add(&p->absolute, more->absolute[i]);
        exact_add(&p->absolute, more->absolute_low[i]);
    }
    for (size_t k = 0; more->squares[0] && k < SLICE_SQUARES_MAX; k++)
        exact_wide_add(&p->squares, more->squares[k][i]);
    if (more->least) {
        p->least_magnitude =
            more->least[i] < p->least_magnitude ? more->least[i] : p->least_magnitude;
        p->zeros += more->zeros[i];
        p->subnormal += more->subnormal[i];
    }
    if (more->negative)
        p->negative += more->negative[i];
    if (more->below && more->below[i] > p->below_key)
        p->below_key = more->below[i];
}

/* A key to be kept, of one of a GPU's, of the slicer's type. */
static int64_t key_of_part(const struct cpu_slicer *z, const struct cpu_slices *s,
                           const struct engine_found *found, const void *keys, size_t i)
{
    int32_t order;

    if (found->element_keys || element_size(z->given) == sizeof(double)) {
        const int64_t key = ((const int64_t *)keys)[i];

        return key_to_keep(s, s->as_floats ? exact_key((double)key) : key);
    }
    order = ((const int32_t *)keys)[i];
    return s->key_size == sizeof order ? order : wide_key(order);
}

/* Adds two numbers, and a key, to slice i of those that are made of elements: the key of a magnitude, as
   in struct partial. NULL: there is none. */
static void add_derived_part(struct cpu_slicer *z, struct cpu_slices *s, enum cpu_derived which,
                             size_t i, double high, double low, const int64_t *least)
{
    struct cpu_slices *to = s->derived[which];

    if (!to)
        return;
    add_numbers(z->derived[which], to, i, high, low);
    if (to->min && least) {
        const int64_t key = key_to_keep(
            to, s->as_floats ? exact_key((double)((uint64_t)*least ^ UINT64_C(1) << 63)) : *least);

        take_keys(to, i, key, key);
    }
    z->failed = z->failed || z->derived[which]->failed;
}

/* Adds what a GPU has found beside the sum and the extremes of part number `at`. The keys of these, as
   they are kept, are not in order if there are none. */
static void add_more(struct cpu_slicer *z, struct cpu_slices *s, size_t i,
                     const struct engine_found_more *more, size_t at, uint64_t index,
                     const int64_t keys[2])
{
    if (s->places && keys[0] <= keys[1]) {
        take_place(&s->places[i], false, keys[0], index + more->min_index[at]);
        take_place(&s->places[i], true, keys[1], index + more->max_index[at]);
    }
    for (int k = 0; more->squares[0] && k < SLICE_SQUARES_MAX; k++)
        add_derived_part(z, s,
                         k < 2 || !s->derived[CPU_SQUARES_LOW] ? CPU_SQUARES : CPU_SQUARES_LOW, i,
                         more->squares[k][at], 0, NULL);
    add_derived_part(z, s, CPU_MAGNITUDES, i, more->absolute ? more->absolute[at] : 0,
                     more->absolute ? more->absolute_low[at] : 0,
                     more->least && more->least[at] != INT64_MAX ? &more->least[at] : NULL);
    if (more->least) {
        add_derived_part(z, s, CPU_ZEROS, i, -(double)more->zeros[at], 0, NULL);
        add_derived_part(z, s, CPU_SUBNORMALS, i, -(double)more->subnormal[at], 0, NULL);
    }
    if (more->negative)
        add_derived_part(z, s, CPU_NEGATIVES, i, -(double)more->negative[at], 0, NULL);
}

void cpu_slicer_put(struct cpu_slicer *z, struct cpu_slices *s, size_t first, size_t count,
                    const struct engine_found *found, size_t at, size_t step, uint64_t index)
{
    struct partial *p;

    begin_all(s, first + count);
    for (size_t i = 0; i < count; i++, at += step) {
        const struct cpu_slice_special some = {
            .missing = found->more.missing ? found->more.missing[at] : 0};
        int64_t keys[2] = {INT64_MAX, INT64_MIN};

        if (isnan(found->high[at]))
            continue;
        if (some.missing > 0)
            (void)special_add(z, s, first + i, &some);
        if (!s->fast) {
            p = partial_of(z, s, first + i);
            if (p)
                add_part(found, at, index, p);
            continue;
        }
        add_numbers(z, s, first + i, found->high[at], found->low ? found->low[at] : 0);
        if (s->min && !lacks_keys(found, at)) {
            keys[0] = key_of_part(z, s, found, found->min, at);
            keys[1] = key_of_part(z, s, found, found->max, at);
            take_keys(s, first + i, keys[0], keys[1]);
        }
        add_more(z, s, first + i, &found->more, at, index, keys);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): once, for slices of made numbers */
void cpu_slicer_merge(struct cpu_slicer *z, struct cpu_slices *s, const struct cpu_slices *other,
                      size_t first, size_t count)
{
    begin(s, count);
    for (size_t i = 0; i < count; i++) {
        const size_t k = first + i;
        struct partial *p;

        if (s->fast && k < other->filled)
            add_slice(z, s, i, other, k);
        if (s->places) {
            take_place(&s->places[i], false, other->places[k].min_key, other->places[k].min_index);
            take_place(&s->places[i], true, other->places[k].max_key, other->places[k].max_index);
        }
        if (slices_is_special(other, k))
            (void)special_add(z, s, i, &other->special[k]);
        if (!other->used[k])
            continue;
        p = partial_of(z, s, i);
        if (p)
            partial_merge(p, other->partial[k]);
    }
    for (int k = 0; k < CPU_DERIVED; k++)
        if (z->derived[k]) {
            cpu_slicer_merge(z->derived[k], s->derived[k], other->derived[k], first, count);
            z->failed = z->failed || z->derived[k]->failed;
        }
}
