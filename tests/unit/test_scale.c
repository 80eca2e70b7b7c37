/*
 * scale.h and scaled.h: results of scaled numbers, of one array and of totals over different types
 * and scales, against an oracle that scales each element by itself, with integers of thousands of
 * bits, and divides nothing. Types of all kinds, factors of both signs and of all sizes, offsets that
 * cancel an element, so that the threshold is hit exactly or is missed by little.
 */
#include "config.h"

#include "core/scaled.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/common/difference.h"
#include "core/order.h"
#include "lib/data_gen.h"
#include "lib/real.h"
#include "lib/sanitized.h"
#include "lib/tap.h"

#define N_MAX 24
#define ARRAYS_MAX 4
#define ROUNDS (SANITIZED ? 250 : 1000)

/* The partial_want bits of results that the oracle has. */
#define WANTS PARTIAL_ALL

/* The unit of squares. */
#define SQUARES_UNIT (-4296)

struct array {
    enum element_type type;
    struct scale scale;
    size_t n;
    unsigned char bytes[8 * N_MAX];
};

static struct integer integer_of(const struct real *x)
{
    struct integer integer = {.known = true};

    for (unsigned i = 0; i < 32 * NATURAL_WORDS; i++) {
        if (!(x->m.word[i / 32] >> i % 32 & 1))
            continue;
        if (i < (unsigned)-REAL_UNIT || i >= (unsigned)-REAL_UNIT + 128)
            return (struct integer){0};
        if (i - (unsigned)-REAL_UNIT < 64)
            integer.low |= UINT64_C(1) << (i - (unsigned)-REAL_UNIT);
        else
            integer.high |= UINT64_C(1) << (i - (unsigned)-REAL_UNIT - 64);
    }
    integer.negative = real_sign(x) < 0;
    return integer;
}

/* An extreme of the oracle's. */
struct extreme {
    bool known;
    double infinity; /* not 0 if it is infinite */
    struct real x;
    bool integer;       /* an integer type that stays one */
    bool negative_zero; /* a -0 without a scale */
    uint64_t index;
};

static int compare_extremes(const struct extreme *a, const struct extreme *b)
{
    if (a->infinity != 0 || b->infinity != 0)
        return (a->infinity > b->infinity) - (a->infinity < b->infinity);
    return real_compare(&a->x, &b->x);
}

static double round_extreme(const struct extreme *e, struct integer *integer)
{
    if (e->infinity != 0)
        return e->infinity;
    if (e->integer)
        *integer = integer_of(&e->x);
    return e->negative_zero ? -0.0 : real_quotient(&e->x, 1);
}

static struct extreme magnitude_extreme(const struct extreme *e)
{
    struct extreme m = *e;

    m.infinity = fabs(m.infinity);
    m.x.negative = m.negative_zero = false;
    return m;
}

/* Takes an element in the place of an extreme if it lies beyond it: lower, or higher. `zero_order` is
   that of equal ones: in an array a stored -0 is the lower, or with a factor below 0 the higher; and
   between arrays only the -0 without a scale is lower. */
static void take(struct extreme *kept, const struct extreme *e, bool lower, int zero_order)
{
    int order = kept->known ? compare_extremes(e, kept) : 0;

    if (kept->known && order == 0)
        order = zero_order;
    if (!kept->known || (lower ? order < 0 : order > 0))
        *kept = *e;
}

static bool is_integer_array(const struct array *a)
{
    return element_is_integer(a->type) &&
           (!a->scale.given || (a->scale.factor == 1 && floor(a->scale.offset) == a->scale.offset &&
                                fabs(a->scale.offset) <= 0x1p64));
}

/* The results of some arrays, one after the other. */
static void expect(const struct array *arrays, unsigned count, bool skip, uint64_t ddof,
                   struct result *r)
{
    struct extreme min = {.known = false}, max = min, least = min, most;
    struct natural positive = {{0}}, negative = {{0}}, squares = {{0}}, numerator, square;
    struct real sum;
    uint64_t index = 0, positive_infinity = 0, negative_infinity = 0, n;
    uint64_t subnormals = 0;
    bool integers = true, scaled = false;

    memset(r, 0, sizeof *r);
    r->first_nan = PARTIAL_NO_INDEX;
    for (unsigned k = 0; k < count; k++) {
        const struct array *a = &arrays[k];
        const bool reverse = a->scale.given && a->scale.factor < 0;
        struct extreme own_min = {.known = false}, own_max = own_min;
        double min_stored = 0, max_stored = 0;

        integers = integers && is_integer_array(a);
        scaled = scaled || a->scale.given;
        for (size_t i = 0; i < a->n; i++, index++) {
            const unsigned char *bytes = a->bytes + i * element_size(a->type);
            const double x = real_stored(a->type, bytes).x;
            struct extreme e = {
                .known = true, .integer = is_integer_array(a), .index = index, .infinity = 0};

            if (isnan(x)) {
                if (r->nan++ == 0)
                    r->first_nan = index;
                continue;
            }
            r->count++;
            if (isinf(x)) {
                e.infinity = reverse ? -x : x;
                positive_infinity += e.infinity > 0;
                negative_infinity += e.infinity < 0;
                r->negatives += e.infinity < 0;
            } else {
                e.x = real_scaled(a->type, bytes, &a->scale);
                e.negative_zero = !a->scale.given && x == 0 && signbit(x);
                r->zeros += real_sign(&e.x) == 0;
                subnormals += !element_is_integer(a->type) && x != 0 &&
                              fabs(x) < ldexp(1, element_formats[a->type].exponent_min);
                r->negatives += real_sign(&e.x) < 0;
                real_add_naturals(e.x.negative ? &negative : &positive, &e.x.m);
                square = natural_square(&e.x.m);
                real_add_naturals(&squares, &square);
            }
            /* 1 if this is the -0 and that the +0. */
            take(&own_min, &e, true,
                 (reverse ? -1 : 1) * ((signbit(min_stored) != 0) - (signbit(x) != 0)) *
                     (x == 0 && min_stored == 0));
            if (own_min.index == index)
                min_stored = x;
            take(&own_max, &e, false,
                 (reverse ? -1 : 1) * ((signbit(max_stored) != 0) - (signbit(x) != 0)) *
                     (x == 0 && max_stored == 0));
            if (own_max.index == index)
                max_stored = x;
            e = magnitude_extreme(&e);
            take(&least, &e, true, 0);
        }
        if (own_min.known) {
            take(&min, &own_min, true, min.negative_zero - own_min.negative_zero);
            take(&max, &own_max, false, max.negative_zero - own_max.negative_zero);
        }
    }
    n = r->count;
    if (!skip)
        r->count += r->nan;
    r->infinity = positive_infinity + negative_infinity;
    r->subnormals = scaled ? PARTIAL_NO_INDEX : subnormals;
    r->argmin = min.known ? min.index : PARTIAL_NO_INDEX;
    r->argmax = max.known ? max.index : PARTIAL_NO_INDEX;
    r->sum = r->mean = r->min = r->max = r->sumsq = r->l1 = r->l2 = r->rms = r->var = r->std =
        r->absmax = r->absmin = r->range = NAN;
    if (r->nan > 0 && !skip) {
        r->argmin = r->argmax = r->first_nan;
        return;
    }
    if (min.known) {
        const struct extreme low = magnitude_extreme(&min);

        most = magnitude_extreme(&max);
        if (compare_extremes(&low, &most) > 0)
            most = low;
        r->min = round_extreme(&min, &r->min_integer);
        r->max = round_extreme(&max, &r->max_integer);
        r->absmin = round_extreme(&least, &r->absmin_integer);
        r->absmax = round_extreme(&most, &r->absmax_integer);
        if (min.infinity != 0 || max.infinity != 0) {
            r->range = max.infinity - min.infinity;
        } else {
            struct real negated = min.x;

            negated.negative = !negated.negative;
            negated = real_add(max.x, &negated);
            r->range = real_quotient(&negated, 1);
            if (min.integer && max.integer && r->min_integer.known && r->max_integer.known)
                r->range_integer = integer_of(&negated);
        }
    }
    if (r->infinity > 0) {
        r->sum = r->mean = positive_infinity && negative_infinity ? NAN
                           : positive_infinity                    ? INFINITY
                                                                  : -INFINITY;
        r->sumsq = r->l1 = r->l2 = r->rms = INFINITY;
        return;
    }
    sum = real_add((struct real){positive, false}, &(struct real){negative, true});
    r->sum = real_quotient(&sum, 1);
    if (integers)
        r->sum_integer = integer_of(&sum);
    real_add_naturals(&positive, &negative);
    r->l1 = natural_quotient(&positive, 1, 1, REAL_UNIT, false);
    r->sumsq = natural_quotient(&squares, 1, 1, SQUARES_UNIT, false);
    r->l2 = natural_quotient(&squares, 1, 1, SQUARES_UNIT, true);
    if (n == 0)
        return;
    r->mean = real_quotient(&sum, n);
    r->rms = natural_quotient(&squares, n, 1, SQUARES_UNIT, true);
    if (n <= ddof)
        return;
    numerator = squares;
    natural_multiply(&numerator, n);
    square = natural_square(&sum.m);
    numerator = natural_difference(&numerator, &square);
    r->var = natural_quotient(&numerator, n, n - ddof, SQUARES_UNIT, false);
    r->std = natural_quotient(&numerator, n, n - ddof, SQUARES_UNIT, true);
}

/* Splits an array at its threshold: the fields that PARTIAL_SPLIT defines. Whether scale_split says
   the same of each element. */
static bool split(const struct array *a, struct partial *p, size_t from, size_t to)
{
    const struct partial_split place = scale_split(&a->scale, a->type);
    const int below = a->scale.factor < 0 ? 1 : -1;
    bool good = true;

    for (size_t i = from; i < to; i++) {
        const unsigned char *bytes = a->bytes + i * element_size(a->type);
        const double x = real_stored(a->type, bytes).x;
        const uint64_t key = order_key(a->type, order_load(a->type, bytes));
        const int64_t element = element_is_nan(a->type, bytes) ? 0 : element_key(a->type, bytes);
        const struct real value = real_scaled(a->type, bytes, &a->scale);
        int sign = real_sign(&value);
        struct partial one;

        if (isnan(x))
            continue;
        if (isinf(x))
            sign = (x < 0) == (a->scale.factor < 0) ? 1 : -1;
        good = good && partial_split_is_below(&place, key) == (sign == below) &&
               partial_split_is_equal(&place, key) == (sign == 0);
        p->zeros += sign == 0;
        p->negative += sign == below;
        if (sign == below) {
            p->below_key = element > p->below_key ? element : p->below_key;
            continue;
        }
        p->least_magnitude = element < p->least_magnitude ? element : p->least_magnitude;
        partial_clear(&one);
        partial_take_element(&one, a->type, bytes, 0);
        exact_merge(&p->absolute, &one.sum);
    }
    return good;
}

/* Whether elements that are taken one by one come to the same sides. */
static bool same_sides(const struct array *a, const struct partial *p, size_t from, size_t to)
{
    const struct partial_split place = scale_split(&a->scale, a->type);
    struct partial sides, got;

    partial_clear(&sides);
    partial_clear(&got);
    for (size_t i = from; i < to; i++)
        partial_split_take(&sides, &place, a->type, a->bytes + i * element_size(a->type));
    partial_split_put(&got, &sides);
    return got.zeros == p->zeros && got.negative == p->negative && got.subnormal == 0 &&
           got.least_magnitude == p->least_magnitude && got.below_key == p->below_key &&
           exact_round(&got.absolute) == exact_round(&p->absolute);
}

/* The partial result of elements of an array, as an engine finds it. */
static bool reduce(const struct array *a, size_t from, size_t to, struct partial *p)
{
    struct partial squares;

    partial_clear(p);
    for (size_t i = from; i < to; i++) {
        const unsigned char *bytes = a->bytes + i * element_size(a->type);

        partial_take_element(p, a->type, bytes, i);
        if (!a->scale.given)
            moments_take_element(p, a->type, bytes);
    }
    if (!a->scale.given)
        return true;
    partial_clear(&squares);
    for (size_t i = from; i < to; i++)
        moments_take_element(&squares, a->type, a->bytes + i * element_size(a->type));
    p->squares = squares.squares;
    return split(a, p, from, to) && same_sides(a, p, from, to);
}

static bool same_integer(const struct integer *a, const struct integer *b)
{
    return a->known == b->known && a->high == b->high && a->low == b->low &&
           a->negative == b->negative;
}

static const char *difference(const struct result *got, const struct result *expected)
{
    const char *differs = result_difference(got, expected, WANTS);

    if (!differs)
        differs = moments_difference(got, expected, WANTS);
    if (!differs && !same_integer(&got->absmin_integer, &expected->absmin_integer))
        differs = "absmin_integer";
    if (!differs && !same_integer(&got->absmax_integer, &expected->absmax_integer))
        differs = "absmax_integer";
    if (!differs && !same_integer(&got->range_integer, &expected->range_integer))
        differs = "range_integer";
    if (!differs && !(got->zeros == expected->zeros && got->negatives == expected->negatives &&
                      got->subnormals == expected->subnormals))
        differs = "counts";
    return differs;
}

/*
 * Random arrays.
 */

static double random_finite(struct rng *rng)
{
    double x;

    do {
        const uint64_t bits = rng_next(rng);

        memcpy(&x, &bits, sizeof x);
    } while (!isfinite(x));
    return x;
}

static double random_factor(struct rng *rng)
{
    static const double some[] = {1,     1,      1,     0.01,    0.1,     2,         0.5,
                                  1e300, 1e-300, 1e-10, DBL_MAX, DBL_MIN, 0x1p-1074, 1.0 / 3};
    const double x =
        rng_below(rng, 4) ? some[rng_below(rng, sizeof some / sizeof *some)] : random_finite(rng);

    return x == 0 ? 1 : rng_below(rng, 3) ? x : -x;
}

/* An offset, often one that takes an element to 0, or nearly. */
static double random_offset(struct rng *rng, const struct array *a)
{
    const unsigned char *bytes =
        a->n > 0 ? a->bytes + rng_below(rng, a->n) * element_size(a->type) : NULL;
    double x;

    switch (rng_below(rng, 8)) {
    case 0:
        return 0;
    case 1:
        return -0.0;
    case 2:
        return random_finite(rng);
    case 3:
        return (double)rng_below(rng, 1000) - 500;
    case 4:
        return rng_below(rng, 2) ? 273.15 : 1e300;
    default:
        x = bytes && !element_is_nan(a->type, bytes)
                ? -element_load(a->type, bytes) * a->scale.factor
                : 1;
        return isfinite(x) ? x : -1;
    }
}

static void fill(struct rng *rng, struct array *a)
{
    const enum element_type type = a->type;
    const size_t size = element_size(type);

    if (!element_is_integer(type) && size > 1) {
        data_fill((enum data_kind)rng_below(rng, DATA_KINDS), type, a->bytes, a->n, rng_next(rng));
        for (size_t i = 0; i < a->n; i++)
            if (rng_below(rng, 40) == 0)
                data_put_special(type, a->bytes, i,
                                 (enum data_special)rng_below(rng, DATA_SPECIALS));
        return;
    }
    for (size_t i = 0; i < a->n; i++) {
        unsigned char *bytes = a->bytes + i * size;
        const bool again = i > 0 && rng_below(rng, 4) == 0;
        uint64_t bits = rng_next(rng);

        /* Also small numbers, and the ends of the type. */
        switch (rng_below(rng, 6)) {
        case 0:
            bits %= 4;
            break;
        case 1:
            bits = -(bits % 4);
            break;
        case 2:
            bits = order_bits(type, bits % 2 ? order_least(type) : order_greatest(type));
            break;
        default:
            break;
        }
        if (again)
            memcpy(bytes, bytes - size, size);
        else
            memcpy(bytes, element_host_is_big() ? (unsigned char *)&bits + 8 - size : (void *)&bits,
                   size);
    }
}

static void make(struct rng *rng, struct array *a, bool scale)
{
    memset(a, 0, sizeof *a);
    a->type = (enum element_type)rng_below(rng, ELEMENT_TYPES);
    a->n = (size_t)rng_below(rng, rng_below(rng, 3) ? 6 : N_MAX + 1);
    fill(rng, a);
    if (!scale)
        return;
    a->scale = (struct scale){.given = true, .factor = random_factor(rng)};
    a->scale.offset = random_offset(rng, a);
}

/* Compares what arrays come to, with both policies of NaNs. */
static void check_arrays(struct tap_family *family, struct rng *rng, const struct array *arrays,
                         unsigned count)
{
    const uint64_t ddof = rng_below(rng, 3);
    struct result got, expected;
    struct scaled s;
    bool places = true;

    scaled_clear(&s);
    for (unsigned k = 0; k < count; k++) {
        const struct array *a = &arrays[k];
        const size_t cut = (size_t)rng_below(rng, a->n + 1);
        struct partial p, other;

        places = reduce(a, 0, cut, &p) && places;
        places = reduce(a, cut, a->n, &other) && places;
        partial_merge(&p, &other);
        scaled_append(&s, &p, a->type, &a->scale);
    }
    for (int skip = 0; skip < 2; skip++) {
        const struct moments_terms terms = {.skip_nan = skip, .ddof = ddof};
        const char *differs;

        memset(&got, 0x55, sizeof got); /* nothing may be left as it was */
        scaled_finish(&s, &terms, &got);
        expect(arrays, count, skip, ddof, &expected);
        differs = difference(&got, &expected);
        tap_case(
            family, !differs && places,
            "%u arrays, first %zu %s %a %a, ddof %llu, skip %d: %s: sum %a %a mean %a %a var %a "
            "%a min %a %a absmin %a %a l1 %a %a, places %d",
            count, arrays[0].n, element_name(arrays[0].type), arrays[0].scale.factor,
            arrays[0].scale.offset, (unsigned long long)ddof, skip, differs ? differs : "threshold",
            got.sum, expected.sum, got.mean, expected.mean, got.var, expected.var, got.min,
            expected.min, got.absmin, expected.absmin, got.l1, expected.l1, places);
    }
}

static void check_random(void)
{
    struct tap_family one = {0}, several = {0};
    struct array arrays[ARRAYS_MAX];
    struct rng rng;

    rng_seed(&rng, 38);
    for (int round = 0; round < ROUNDS; round++) {
        make(&rng, &arrays[0], true);
        check_arrays(&one, &rng, arrays, 1);
    }
    tap_family_end(&one, "arrays of all types with a scale, in parts that are merged");
    for (int round = 0; round < ROUNDS / 4; round++) {
        const unsigned count = 2 + (unsigned)rng_below(&rng, ARRAYS_MAX - 1);

        for (unsigned k = 0; k < count; k++)
            make(&rng, &arrays[k], rng_below(&rng, 3) > 0);
        check_arrays(&several, &rng, arrays, count);
    }
    tap_family_end(&several, "totals over arrays of different types and scales");
}

int main(void)
{
    check_random();
    return tap_done();
}
