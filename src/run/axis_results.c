#include "config.h"

#include "run/axis_results.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element_round.h"
#include "core/number.h"
#include "core/order.h"
#include "core/scaled.h"
#include "core/slice_sums.h"
#include "cpu/kernel.h"

#define MEMBER(name) offsetof(struct result, name)

enum axis_kind axis_kind(const struct axis_plan *plan, const struct operation *op)
{
    if (op->kind == OPERATION_COUNT)
        return AXIS_COUNT;
    return op->integer != 0 && element_is_integer(plan->type) && scale_keeps_integers(&plan->scale)
               ? AXIS_INTEGER
               : AXIS_NUMBER;
}

char axis_letter(const struct axis_plan *plan, const struct operation *op)
{
    const enum element_kind kind = element_formats[plan->given].kind;
    const bool extreme = op->member == MEMBER(min) || op->member == MEMBER(max);

    switch (axis_kind(plan, op)) {
    case AXIS_COUNT:
        return 'i';
    case AXIS_INTEGER:
        if (extreme && !plan->scale.given)
            return kind == ELEMENT_SIGNED ? 'i' : 'u';
        /* Sums, and numbers with an offset. Other results of the kind are magnitudes. */
        if ((op->kind == OPERATION_ELEMENT && !extreme) ||
            (kind == ELEMENT_UNSIGNED && plan->scale.offset >= 0))
            return 'u';
        return 'i';
    case AXIS_NUMBER:
        break;
    }
    return 'f';
}

bool axis_integer_bits(const struct integer *x, bool with_sign, uint64_t *bits)
{
    const uint64_t most = with_sign ? (UINT64_C(1) << 63) - !x->negative : UINT64_MAX;

    if (!x->known || x->high != 0 || x->low > most || (x->negative && x->low != 0 && !with_sign))
        return false;
    *bits = x->negative ? -x->low : x->low;
    return true;
}

struct integer axis_unknown_integer(const struct axis_plan *plan)
{
    if (plan->missing.count == 0 || plan->missing.nameless)
        return (struct integer){.known = false};
    return order_integer(plan->type,
                         order_key(plan->type, missing_bits(&plan->missing, plan->type)));
}

void axis_refuse_integer(const struct axis_plan *plan, const struct operation *op,
                         const char *place, const struct integer *x, struct error *error)
{
    const struct integer unknown = axis_unknown_integer(plan);
    char text[NUMBER_MAX];

    if (!x->known && !unknown.known) {
        (void)error_set(error, ERROR_REQUEST,
                        "the %s of slice [%s] is undefined, and integers have no NaN", op->name,
                        place);
        return;
    }
    number_format_integer(text, x->known ? x : &unknown);
    (void)error_set(error, ERROR_REQUEST,
                    x->known ? "the %s of slice [%s] is %s, which does not fit a 64-bit integer"
                             : "the %s of slice [%s] is missing, and %s is no unsigned integer",
                    op->name, place, text);
}

bool axis_needs_exact_sums(const struct axis_plan *plan)
{
    for (size_t i = 0; i < plan->operation_count; i++)
        if (plan->operations[i]->member == MEMBER(mean))
            return true;
    return false;
}

/* Finds which functions have to set results, by what is asked for, and the results of squares that
   nobody asked for. */
static void find_needs(struct axis_batch *b)
{
    for (size_t i = 0; i < b->plan->operation_count; i++) {
        const struct operation *op = b->plan->operations[i];
        const size_t member = op->member;

        /* partial_finish sets what partial_finish_counts does, and these. */
        b->values_wanted = b->values_wanted || member == MEMBER(sum) || member == MEMBER(mean) ||
                           member == MEMBER(min) || member == MEMBER(max) ||
                           member == MEMBER(argmin) || member == MEMBER(argmax);
        /* moments_finish sets the members behind those of partial_finish. */
        b->moments = b->moments || (member > MEMBER(first_nan) && operation_quantile(op) == 0);
        b->unwanted &= ~(unsigned)(member == MEMBER(sumsq) ? MOMENTS_SUMSQ
                                   : member == MEMBER(l2)  ? MOMENTS_L2
                                   : member == MEMBER(rms) ? MOMENTS_RMS
                                   : member == MEMBER(var) ? MOMENTS_VAR
                                   : member == MEMBER(std) ? MOMENTS_STD
                                                           : 0);
    }
}

bool axis_batch_open(struct axis_batch *b, const struct axis_plan *plan,
                     const struct cpu_kernels *kernels, size_t room)
{
    bool good = true;

    *b = (struct axis_batch){.plan = plan, .kernels = kernels, .room = room, .unwanted = UINT_MAX};
    find_needs(b);
    for (size_t i = 0; i < plan->operation_count && good; i++) {
        b->values[i].number = calloc(room, axis_kind(plan, plan->operations[i]) == AXIS_INTEGER
                                               ? sizeof(struct integer)
                                               : sizeof(double)); /* a count is as large */
        good = b->values[i].number;
    }
    return good;
}

void axis_batch_close(struct axis_batch *b)
{
    for (size_t i = 0; b->plan && i < b->plan->operation_count; i++)
        free(b->values[i].number);
    b->plan = NULL;
}

/* Computes all results of a partial result. */
static void round_results(const struct axis_batch *b, const struct partial *p,
                          struct result *result)
{
    const struct axis_plan *plan = b->plan;
    const struct moments_terms terms = {.unwanted = b->unwanted,
                                        .skip_nan = plan->nan == NAN_SKIP,
                                        .ddof = plan->ddof,
                                        .type = plan->type};

    if (plan->scale.given) {
        scaled_round(p, &plan->scale, &terms, result);
        return;
    }
    if (b->values_wanted)
        partial_finish_type(p, plan->type, terms.skip_nan, result);
    else
        partial_finish_counts(p, terms.skip_nan, result);
    if (b->moments)
        moments_finish(p, &terms, result);
}

static void finish_partial(const struct axis_batch *b, const struct cpu_slices *s, size_t i,
                           struct result *result)
{
    struct partial p;

    cpu_slices_partial(s, i, b->plan->layout->length, &p);
    round_results(b, &p, result);
}

/* Sets what is asked for of a slice, from its partial result. */
static void finish_one(struct axis_batch *b, size_t i, const struct partial *p)
{
    const struct axis_plan *plan = b->plan;
    const bool none = p->missing > 0 && p->missing == p->count; /* no element is left */
    struct result result;

    if (plan->nan == NAN_ERROR && p->nan > 0) {
        b->refused = true;
        b->refused_index = p->first_nan;
        return;
    }
    round_results(b, p, &result);
    for (size_t j = 0; j < plan->operation_count; j++) {
        const struct operation *op = plan->operations[j];

        if (operation_quantile(op) != 0)
            continue;
        switch (axis_kind(plan, op)) {
        case AXIS_NUMBER:
            b->values[j].number[i] = none ? NAN : operation_number(op, &result);
            break;
        case AXIS_COUNT:
            b->values[j].count[i] = operation_integer(op, &result);
            break;
        case AXIS_INTEGER: {
            const struct integer *x = none ? NULL : operation_exact_integer(op, &result);

            b->values[j].integer[i] = x ? *x : (struct integer){.known = false};
            break;
        }
        }
    }
}

/* The bits of an integer of 64 bits, with a sign or without, that has this element_key. */
static inline uint64_t key_bits(enum element_type type, int64_t key)
{
    return type == ELEMENT_U64 ? (uint64_t)key ^ UINT64_C(1) << 63 : (uint64_t)key;
}

/* Sets *bits to the 64 bits of an operation of a slice of integers. False if it does not fit. */
static inline bool integer_bits(const struct axis_plan *plan, const struct cpu_slices *s, size_t i,
                                const struct operation *op, bool with_sign, uint64_t *bits)
{
    const struct slice_pair sum = {s->high[i], s->low[i], false};
    uint64_t min, max;

    switch (op->member) {
    case MEMBER(sum):
        return slice_pair_integer(&sum, with_sign, bits);
    case MEMBER(absmin):
        *bits = key_bits(ELEMENT_U64, cpu_slices_least_key(s, i));
        return true;
    case MEMBER(min):
        *bits = key_bits(plan->type, cpu_slices_min_key(s, i));
        return true;
    case MEMBER(max):
        *bits = key_bits(plan->type, cpu_slices_max_key(s, i));
        return true;
    default:
        break;
    }
    min = key_bits(plan->type, cpu_slices_min_key(s, i));
    max = key_bits(plan->type, cpu_slices_max_key(s, i));
    *bits = max - min; /* the range */
    if (op->member == MEMBER(range))
        return true;
    if (element_formats[plan->type].kind == ELEMENT_SIGNED) {
        min = min >> 63 ? -min : min;
        max = max >> 63 ? -max : max;
    }
    *bits = min > max ? min : max; /* absmax */
    return true;
}

static struct integer integer_of(uint64_t bits, bool with_sign)
{
    const bool negative = with_sign && bits >> 63;

    return (struct integer){.low = negative ? -bits : bits, .negative = negative, .known = true};
}

struct integer axis_integer(const struct axis_batch *b, size_t j, size_t i)
{
    return b->narrow[j] ? integer_of(b->values[j].count[i],
                                     axis_letter(b->plan, b->plan->operations[j]) == 'i')
                        : b->values[j].integer[i];
}

size_t axis_narrow(const struct axis_batch *b, size_t j)
{
    const struct operation *op = b->plan->operations[j];
    const struct integer unknown = axis_unknown_integer(b->plan);
    const bool with_sign = axis_letter(b->plan, op) == 'i';
    const union axis_values values = b->values[j];

    if (axis_kind(b->plan, op) != AXIS_INTEGER || b->narrow[j])
        return b->count;
    for (size_t i = 0; i < b->count; i++) {
        const struct integer *x = &values.integer[i];

        if (!axis_integer_bits(x->known ? x : &unknown, with_sign, &values.count[i]))
            return i;
    }
    return b->count;
}

/* Sums below this, whose `low` is 0, become integers by an addition. */
#define SMALL_SUM 0x1p51

/* Makes integers of so many sums at a time: compilers make vectors of loops of known length. */
#define SUMS_TOGETHER 8

/* Sets bits to integers of 64 bits that are sums. False if one does not fit. */
static bool sum_bits(const struct cpu_slices *s, size_t from, size_t count, bool with_sign,
                     uint64_t *to)
{
    const uint64_t offset = exact_bits(3 * SMALL_SUM);
    bool good = true;
    size_t i = 0;

    while (i < count && good) {
        const double *high = s->high + from + i, *low = s->low + from + i;
        bool small = i + SUMS_TOGETHER <= count;

        for (size_t k = 0; k < SUMS_TOGETHER && small; k++)
            small = fabs(high[k]) < SMALL_SUM && low[k] == 0;
        for (size_t k = 0; k < SUMS_TOGETHER && small; k++)
            to[i + k] = exact_bits(high[k] + 3 * SMALL_SUM) - offset;
        if (small) {
            i += SUMS_TOGETHER;
            continue;
        }
        good = slice_pair_integer(&(struct slice_pair){*high, *low, false}, with_sign, &to[i++]);
    }
    return good;
}

/* Sets bits to an operation of slices that all have elements and no partial results. False if one does
   not fit. */
static bool finish_narrow(const struct axis_plan *plan, const struct cpu_slices *s, size_t from,
                          size_t count, const struct operation *op, uint64_t *bits)
{
    const bool with_sign = axis_letter(plan, op) == 'i';
    bool good = true;

    switch (op->member) {
    case MEMBER(sum):
        return sum_bits(s, from, count, with_sign, bits);
    case MEMBER(min):
    case MEMBER(max):
        cpu_slices_integer_extremes(s, from, count, op->member == MEMBER(min), (int64_t *)bits);
        for (size_t i = 0; plan->type == ELEMENT_U64 && i < count; i++)
            bits[i] = key_bits(plan->type, (int64_t)bits[i]);
        return true;
    default:
        for (size_t i = 0; i < count && good; i++)
            good = integer_bits(plan, s, from + i, op, with_sign, &bits[i]);
        return good;
    }
}

/* Finishes operation j of slices of elements that are integers: as 64 bits each; or all again as integers
   of any size, where one does not fit or, without `alike`, some slices are special or have partial
   results. */
static void finish_integers(struct axis_batch *b, const struct cpu_slices *s, size_t from, size_t j,
                            bool alike)
{
    const struct axis_plan *plan = b->plan;
    const struct operation *op = plan->operations[j];
    const bool with_sign = axis_letter(plan, op) == 'i';
    const union axis_values values = b->values[j];
    uint64_t bits = 0;

    b->narrow[j] = alike && finish_narrow(plan, s, from, b->count, op, values.count);
    for (size_t i = 0; i < b->count && !b->narrow[j]; i++) {
        if (s->used[from + i] ||
            (s->special_used && s->special[from + i].missing == plan->layout->length))
            continue; /* there is no key */
        if (integer_bits(plan, s, from + i, op, with_sign, &bits)) {
            values.integer[i] = integer_of(bits, with_sign);
        } else {
            struct result result;

            finish_partial(b, s, from + i, &result);
            values.integer[i] = *operation_exact_integer(op, &result);
        }
    }
}

/* Rounds sums, and makes +0 of -0. If all of `low` is 0, it is not read. Compilers make vectors of
   loops that end after a fixed number. */
static void round_sums(double *restrict to, const double *restrict high, const double *restrict low,
                       size_t count, bool low_used)
{
    size_t i = 0;

    for (; i + 8 <= count && !low_used; i += 8)
        for (size_t k = 0; k < 8; k++)
            to[i + k] = high[i + k] + 0.0;
    for (; i + 8 <= count; i += 8)
        for (size_t k = 0; k < 8; k++)
            to[i + k] = high[i + k] + low[i + k] + 0.0;
    for (; i < count; i++)
        to[i] = high[i] + low[i] + 0.0;
}

/* Sets *sum to factor (high + low) + offset count, or with `mean` to that divided by count, rounded
   once. False where that takes more digits than are looked at here. */
static bool scale_sum(const struct scale *scale, double high, double low, uint64_t count, bool mean,
                      double *sum)
{
    const double n = (double)count;
    double error[3], rest, bound, result, further, part, lost;

    high = exact_two_sum(high, low, &low);
    *sum = 0;
    if (high == 0 && scale->offset == 0)
        return true;
    /* The sum is result + error[0] + error[1] + error[2] + factor low. */
    part = exact_two_product(scale->factor, high, &error[1]);
    result = exact_two_sum(part, exact_two_product(scale->offset, n, &error[2]), &error[0]);
    further = scale->factor * low;
    rest = error[0] + error[1] + error[2] + further;
    bound = fabs(error[0]) + fabs(error[1]) + fabs(error[2]) + fabs(further);
    result = exact_two_sum(result, rest, &rest);
    if (mean) {
        const double quotient = result / n;

        part = exact_two_product(quotient, n, &lost);
        rest = (result - part - lost + rest) / n;
        bound = bound / n + fabs(rest);
        result = exact_two_sum(quotient, rest, &rest);
    }
    /* Each of the few roundings above is by 2^-53 of what is in this, or, of the least numbers that
       there are, by 2^-1074. */
    bound = (bound + fabs(rest)) * 0x1p-48;
    *sum = result;
    return count < UINT64_C(1) << 53 && fabs(result) > 0x1p-800 && fabs(result) < 0x1p+900 &&
           result + (rest - bound) == result && result + (rest + bound) == result;
}

/* An operation of the squares of n numbers, as a variance or its root. */
struct spread {
    bool of_sum, root; /* of_sum: else their sum counts as 0 */
    uint64_t count, ddof;
};

static struct spread spread_of(const struct axis_plan *plan, const struct operation *op, uint64_t n)
{
    const bool root = op->member != MEMBER(var) && op->member != MEMBER(sumsq);

    if (op->member == MEMBER(var) || op->member == MEMBER(std))
        return (struct spread){true, root, n, plan->ddof};
    /* Without a sum that of n numbers, or of one, is a variance, too. */
    return (struct spread){false, root, op->member == MEMBER(rms) ? n : 1, 0};
}

/* Sets an operation of the squares of a slice, of n numbers, all of which are finite. False where that
   is not known. */
static bool finish_squares(const struct axis_plan *plan, const struct cpu_slices *s, size_t i,
                           const struct operation *op, uint64_t n, double *value)
{
    const struct spread spread = spread_of(plan, op, n);
    const struct slice_pair sum = {spread.of_sum ? s->high[i] : 0, spread.of_sum ? s->low[i] : 0,
                                   false};
    const struct scale *scale = &plan->scale;
    double squares[SLICE_SQUARES_MAX];

    if (!cpu_slices_squares(s, i, squares) || (scale->given && !spread.of_sum))
        return false;
    return slice_spread(&sum, squares, 0, spread.count, spread.ddof,
                        scale->given ? scale->factor : 1, spread.root, value);
}

/* The value of an operation of a slice that takes a partial result. */
static double finish_exact(const struct axis_batch *b, const struct cpu_slices *s, size_t i,
                           const struct operation *op)
{
    struct result result;

    finish_partial(b, s, i, &result);
    return operation_number(op, &result);
}

/* The index of an extreme of a slice; with a scale, of that of the numbers its elements stand for. */
static uint64_t find_index(const struct axis_plan *plan, const struct cpu_slices *s, size_t i,
                           const struct operation *op)
{
    const bool min = (op->member == MEMBER(argmin)) == (plan->scale.factor >= 0);

    return min ? s->places[i].min_index : s->places[i].max_index;
}

/* The value of an operation of a slice of floats that is a magnitude of extremes. */
static double extreme_magnitude(const struct axis_plan *plan, const struct cpu_slices *s, size_t i,
                                const struct operation *op)
{
    const double min = exact_key_value(cpu_slices_min_key(s, i));
    const double max = exact_key_value(cpu_slices_max_key(s, i));

    if (op->member == MEMBER(range))
        return element_round(plan->type, max - min);
    return fabs(min) > fabs(max) ? fabs(min) : fabs(max);
}

/* Sets an operation of magnitudes of all slices that needed no partial result. */
static void finish_magnitudes(const struct axis_batch *b, const struct cpu_slices *s, size_t from,
                              const struct operation *op, double *values)
{
    const struct cpu_slices *d = s->derived[CPU_MAGNITUDES];

    for (size_t i = 0; i < b->count; i++)
        if (!s->used[from + i] && d->used[from + i])
            values[i] = finish_exact(b, s, from + i, op);
        else if (!s->used[from + i])
            values[i] = op->member == MEMBER(l1)
                            ? d->high[from + i] + d->low[from + i]
                            : exact_key_value(cpu_slices_least_key(s, from + i));
}

static enum cpu_derived counted_by(const struct operation *op)
{
    return op->member == MEMBER(zeros)       ? CPU_ZEROS
           : op->member == MEMBER(negatives) ? CPU_NEGATIVES
                                             : CPU_SUBNORMALS;
}

/* Sets *mean to (high + low) / count, rounded once. False where that takes more digits than are looked
   at here. */
static inline bool divide_sum(double high, double low, double count, double *mean)
{
    double rest, lost, left_out;
    const double sum = exact_two_sum(high, low, &rest), quotient = (sum + 0.0) / count;
    double product, left, more, bound;

    *mean = quotient;
    if (count >= 0x1p53)
        return false;
    if (rest == 0)
        return true;
    product = exact_two_product(quotient, count, &lost);
    /* The remainder of a division is a number. */
    left = exact_two_sum((sum - product) - lost, rest, &left_out);
    more = left / count;
    bound = fabs(more) * 0x1p-50 + fabs(left_out) / count * 2;
    *mean = quotient + more;
    if (!(fabs(sum) > 0x1p-800) || !(fabs(sum) < 0x1p+900))
        return false;
    if (quotient + (more - bound) == *mean && quotient + (more + bound) == *mean)
        return true;
    /* It lies between two numbers, unless something was rounded. */
    product = exact_two_product(more, count, &lost);
    return left_out == 0 && product == left && lost == 0;
}

/* Slices that are finished together, before those that this leaves are finished one by one. */
#define FINISHED_TOGETHER ((size_t)256)

/* Sets *f to what kernels need to set the mean, or an operation of the squares, of slices from number i
   on, of n numbers each. False where they do not know it. */
static bool find_sums(const struct axis_plan *plan, const struct cpu_slices *s, size_t i,
                      const struct operation *op, uint64_t n, struct cpu_finish *f)
{
    const struct spread spread = spread_of(plan, op, n);
    double lost = 1;

    if (op->member == MEMBER(mean)) {
        *f = (struct cpu_finish){.high = s->high + i, .low = s->low + i, .count = (double)n};
        return n >> 53 == 0;
    }
    *f = (struct cpu_finish){.high = spread.of_sum ? s->high + i : NULL,
                             .low = s->low + i,
                             .count = (double)spread.count,
                             .root = spread.root};
    for (int k = CPU_SQUARES; k <= CPU_SQUARES_LOW && s->derived[k]; k++) {
        f->square[f->squares++] = s->derived[k]->high + i;
        f->square[f->squares++] = s->derived[k]->low + i;
    }
    if (f->squares > 0 && spread.count > spread.ddof && n >> 53 == 0)
        f->divisor = exact_two_product(f->count, (double)(spread.count - spread.ddof), &lost);
    return lost == 0;
}

/* Sets the mean, or an operation of the squares, of all slices that needed no partial result and are not
   special: by kernels, and of those that these do not know one by one. */
static void finish_sums(const struct axis_batch *b, const struct cpu_slices *s, size_t from,
                        const struct operation *op, double *values)
{
    const uint64_t length = b->plan->layout->length;
    const bool mean = op->member == MEMBER(mean);
    bool known[FINISHED_TOGETHER] = {false};

    for (size_t i = 0, n; i < b->count; i += n) {
        struct cpu_finish sums;
        size_t done = 0;

        n = b->count - i < FINISHED_TOGETHER ? b->count - i : FINISHED_TOGETHER;
        if (find_sums(b->plan, s, from + i, op, length, &sums))
            done = (mean ? b->kernels->finish_means
                         : b->kernels->finish_spreads)(&sums, n, values + i, known);
        for (size_t k = 0; k < n; k++) {
            const size_t slice = from + i + k;
            double *const value = &values[i + k];

            if (!(k < done && known[k] && (mean || cpu_slices_have_squares(s, slice))) &&
                !s->used[slice] && !slices_is_special(s, slice) &&
                !(mean ? divide_sum(s->high[slice], s->low[slice], (double)length, value)
                       : finish_squares(b->plan, s, slice, op, length, value)))
                *value = finish_exact(b, s, slice, op);
        }
    }
}

/* Sets operation j of all slices that needed no partial result: they have no NaNs and no infinities.
   With `alike` these are all that there are. */
static void finish_plain(struct axis_batch *b, const struct cpu_slices *s, size_t from, size_t j,
                         bool alike)
{
    const struct operation *op = b->plan->operations[j];
    const union axis_values values = b->values[j];
    const uint64_t length = b->plan->layout->length;

    if (axis_kind(b->plan, op) == AXIS_INTEGER) {
        finish_integers(b, s, from, j, alike);
        return;
    }
    switch (op->member) {
    case MEMBER(sum): /* of slices with a partial result it is replaced */
        round_sums(values.number, s->high + from, s->low + from, b->count,
                   s->low_used || s->kind == CPU_SLICES_ROWS);
        break;
    case MEMBER(min):
    case MEMBER(max): /* these, too */
        cpu_slices_extremes(s, from, b->count, op->member == MEMBER(min), values.number);
        break;
    case MEMBER(count):
    case MEMBER(missing):
    case MEMBER(nan):
    case MEMBER(infinity):
        for (size_t i = 0; i < b->count; i++)
            values.count[i] = op->member == MEMBER(count) ? length : 0;
        break;
    case MEMBER(argmin):
    case MEMBER(argmax):
        for (size_t i = 0; i < b->count; i++)
            values.count[i] = find_index(b->plan, s, from + i, op);
        break;
    case MEMBER(zeros):
    case MEMBER(negatives):
    case MEMBER(subnormals):
        for (size_t i = 0; i < b->count; i++)
            values.count[i] = cpu_slices_count(s, from + i, counted_by(op));
        break;
    case MEMBER(l1):
    case MEMBER(absmin):
        finish_magnitudes(b, s, from, op, values.number);
        break;
    case MEMBER(absmax):
    case MEMBER(range):
        for (size_t i = 0; i < b->count; i++)
            if (!s->used[from + i])
                values.number[i] = extreme_magnitude(b->plan, s, from + i, op);
        break;
    case MEMBER(mean):
    case MEMBER(sumsq):
    case MEMBER(l2):
    case MEMBER(rms):
    case MEMBER(var):
    case MEMBER(std):
        finish_sums(b, s, from, op, values.number);
        break;
    default: /* a quantile, which the caller puts there */
        break;
    }
}

/* The value of an operation that is an extreme of a slice whose elements have a scale. */
static double scale_extreme(const struct axis_plan *plan, const struct cpu_slices *s, size_t i,
                            bool min)
{
    const int64_t key =
        min == (plan->scale.factor > 0) ? cpu_slices_min_key(s, i) : cpu_slices_max_key(s, i);
    const bool whole = element_is_integer(plan->type);
    const double x = whole ? element_key_value(plan->type, key) : exact_key_value(key);
    const struct scale *scale = &plan->scale;
    double lost, rest, further;
    const double product = exact_two_product(scale->factor, x, &lost);
    const double sum = exact_two_sum(product, scale->offset, &rest);
    struct integer integer;

    if (isinf(x))
        return scale_infinity(scale, x);
    /* It is sum + rest + further. If there is no further, rounding that once is one addition. */
    rest = exact_two_sum(rest, lost, &further);
    if (further == 0 && (!whole || fabs(x) < 0x1p53) && fabs(scale->factor) < 0x1p1000 &&
        fabs(product) > 0x1p-900 && fabs(sum) > 0x1p-800 && fabs(sum) < 0x1p900)
        return sum + rest;
    return scaled_value(&(struct scaled_number){true, plan->type, key, *scale}, false, &integer);
}

/* Sets an operation of one slice, number i of the batch, that has missing elements, NaNs,
   infinities or a scale and needed no partial result: as finish_plain has left it, where that is
   so. False where it takes a partial result. */
static bool finish_special(const struct axis_batch *b, const struct cpu_slices *s, size_t from,
                           size_t i, const struct operation *op, union axis_values values)
{
    static const struct cpu_slice_special none = {0};
    const struct cpu_slice_special *special =
        slices_is_special(s, from + i) ? &s->special[from + i] : &none;
    const struct scale *scale = &b->plan->scale;
    const bool skip = b->plan->nan == NAN_SKIP, reverse = scale->factor < 0;
    const uint64_t present = b->plan->layout->length - special->missing;
    const uint64_t numbers = present - special->nan;
    const bool propagates = special->nan > 0 && !skip;
    const bool infinite = special->positive > 0 || special->negative > 0;

    /* The value of NaNs alone is NaN, or 0, or missing. */
    if (numbers == 0 && !propagates)
        return false;
    if (axis_kind(b->plan, op) == AXIS_INTEGER)
        return !scale->given;
    if (propagates && axis_kind(b->plan, op) == AXIS_NUMBER) {
        values.number[i] = NAN;
        return true;
    }
    switch (op->member) {
    case MEMBER(sum):
    case MEMBER(mean):
        if (infinite)
            values.number[i] =
                partial_infinite_sum(reverse ? special->negative : special->positive,
                                     reverse ? special->positive : special->negative);
        else if (scale->given)
            return scale_sum(scale, s->high[from + i], s->low[from + i], numbers,
                             op->member == MEMBER(mean), &values.number[i]);
        else if (op->member == MEMBER(mean))
            return divide_sum(s->high[from + i], s->low[from + i], (double)numbers,
                              &values.number[i]);
        return true;
    case MEMBER(min):
    case MEMBER(max):
        if (scale->given)
            values.number[i] = scale_extreme(b->plan, s, from + i, op->member == MEMBER(min));
        return true;
    case MEMBER(sumsq):
    case MEMBER(l2):
    case MEMBER(rms):
    case MEMBER(var):
    case MEMBER(std):
        if (!infinite)
            return finish_squares(b->plan, s, from + i, op, numbers, &values.number[i]);
        values.number[i] = op->member == MEMBER(var) || op->member == MEMBER(std) ? NAN : INFINITY;
        return true;
    case MEMBER(absmax):
    case MEMBER(absmin):
    case MEMBER(range):
        return !scale->given;
    case MEMBER(l1):
        if (infinite)
            values.number[i] = INFINITY;
        return true;
    case MEMBER(argmin):
    case MEMBER(argmax):
        values.count[i] = propagates ? special->first_nan : find_index(b->plan, s, from + i, op);
        return true;
    case MEMBER(zeros):
    case MEMBER(negatives):
    case MEMBER(subnormals):
        return true;
    case MEMBER(count):
        values.count[i] = skip ? numbers : present;
        return true;
    case MEMBER(missing):
        values.count[i] = special->missing;
        return true;
    case MEMBER(nan):
        values.count[i] = special->nan;
        return true;
    case MEMBER(infinity):
        values.count[i] = special->positive + special->negative;
        return true;
    default: /* a quantile */
        return true;
    }
}

/* Finishes special slices of all operations. */
static bool finish_all_special(const struct axis_batch *b, const struct cpu_slices *s, size_t from,
                               size_t i)
{
    const struct axis_plan *plan = b->plan;
    bool good = plan->nan != NAN_ERROR || !s->special_used || s->special[from + i].nan == 0;

    for (size_t j = 0; j < plan->operation_count && good; j++)
        good = finish_special(b, s, from, i, plan->operations[j], b->values[j]);
    return good;
}

void axis_batch_finish(struct axis_batch *b, const struct cpu_slices *s, size_t from, size_t count,
                       uint64_t first)
{
    const struct axis_plan *plan = b->plan;
    const uint64_t length = plan->layout->length;
    const bool scaled = plan->scale.given;
    const bool plain = s->fast && length > 0;
    const bool alike = plain && !scaled && !s->special_used && !memchr(s->used + from, 1, count);
    struct partial p;

    b->first = first;
    b->count = count;
    b->refused = false;
    memset(b->narrow, 0, sizeof b->narrow);
    for (size_t j = 0; j < plan->operation_count && plain && !scaled; j++)
        finish_plain(b, s, from, j, alike);
    if (alike)
        return;
    for (size_t i = 0; i < count && !b->refused; i++) {
        if (plain && !s->used[from + i] &&
            ((!scaled && !slices_is_special(s, from + i)) || finish_all_special(b, s, from, i)))
            continue;
        cpu_slices_partial(s, from + i, length, &p);
        finish_one(b, i, &p);
        if (b->refused)
            b->count = i;
    }
}
