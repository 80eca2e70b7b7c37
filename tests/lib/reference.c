#include "config.h"

#include "lib/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/difference.h"
#include "core/moments.h"
#include "core/slice_sums.h"
#include "lib/data_gen.h"
#include "lib/oracle.h"
#include "lib/oracle_moments.h"
#include "lib/reference_element.h"

static void reduce_floats(struct reference *e, enum element_type type, const void *data, size_t n,
                          uint64_t index)
{
    double *numbers = malloc((n + 1) * sizeof *numbers);
    size_t count = 0;
    struct result r = {.min = NAN,
                       .max = NAN,
                       .argmin = PARTIAL_NO_INDEX,
                       .argmax = PARTIAL_NO_INDEX,
                       .first_nan = PARTIAL_NO_INDEX};

    if (!numbers)
        abort();
    for (size_t i = 0; i < n; i++) {
        double x = data_value(type, data, i);

        if (isnan(x)) {
            if (r.nan++ == 0)
                r.first_nan = index + i;
            continue;
        }
        r.infinity += isinf(x) != 0;
        if (count == 0 || x < r.min || (x == r.min && !signbit(r.min) && signbit(x))) {
            r.min = x;
            r.argmin = index + i;
        }
        if (count == 0 || x > r.max || (x == r.max && signbit(r.max) && !signbit(x))) {
            r.max = x;
            r.argmax = index + i;
        }
        numbers[count++] = x;
    }
    r.sum = oracle_sum(numbers, count);
    r.mean = oracle_mean(numbers, count);
    r.count = count;
    free(numbers);
    e->policy[1] = r;
    e->policy[0] = r;
    e->policy[0].count = n;
    if (r.nan) {
        e->policy[0].sum = e->policy[0].mean = NAN;
        e->policy[0].min = e->policy[0].max = NAN;
        e->policy[0].argmin = e->policy[0].argmax = r.first_nan;
    }
}

bool reference_moments_is_known(enum element_type type)
{
    return element_is_float(type) || element_size(type) < 8;
}

static void moments_floats(struct result *r, enum element_type type, const void *data, size_t n,
                           uint64_t ddof)
{
    double *numbers = malloc((n + 1) * sizeof *numbers);
    size_t count = 0;

    if (!numbers)
        abort();
    for (size_t i = 0; i < n; i++) {
        double x = data_value(type, data, i);

        if (!isnan(x))
            numbers[count++] = x;
    }
    oracle_moments(type, numbers, count, ddof, r);
    free(numbers);
}

void reference_moments(struct reference *e, enum element_type type, const void *data, size_t n,
                       uint64_t ddof)
{
    for (int skip = 0; skip < 2; skip++) {
        struct result *r = &e->policy[skip];

        if (element_is_float(type))
            moments_floats(r, type, data, n, ddof);
        else
            reference_moments_element(r, type, data, n, ddof);
        if (skip || r->nan == 0)
            continue;
        r->sumsq = r->var = r->std = r->rms = r->l1 = r->l2 = NAN;
        r->absmax = r->absmin = r->range = NAN;
    }
}

void reference_take(struct partial *p, enum element_type type, const void *data, size_t n,
                    uint64_t index)
{
    for (size_t i = 0; i < n; i++) {
        double x = data_value(type, data, i);

        partial_take(p, x, index + i);
        moments_take(p, x, type, 1);
    }
}

/* Sets x to two numbers whose sum is an element: a float, or the halves of an integer. */
static void split_number(enum element_type type, const void *data, size_t i, double x[2])
{
    const void *const element = (const char *)data + i * element_size(type);
    struct integer integer;

    x[0] = type < ELEMENT_FLOATS ? data_value(type, data, i) : element_load(type, element);
    x[1] = 0;
    if (!element_is_integer(type))
        return;
    integer = element_load_integer(type, element);
    x[0] = (integer.negative ? -0x1p32 : 0x1p32) * (double)(integer.low >> 32);
    x[1] = (integer.negative ? -1 : 1) * (double)(integer.low & UINT32_MAX);
}

static bool add_product(double *terms, int count, double x, double y)
{
    double rest;
    const double product = exact_two_product(x, y, &rest);

    return slice_terms_add(terms, count, product) && slice_terms_add(terms, count, rest);
}

bool reference_sums(enum element_type type, const void *data, size_t n, double sum[2],
                    double *squares, int terms)
{
    bool good = true;

    for (size_t i = 0; i < n && good; i++) {
        double x[2];

        split_number(type, data, i, x);
        good = fabs(x[0]) < 0x1p300 && (x[0] == 0 || fabs(x[0]) > 0x1p-300) &&
               slice_terms_add(sum, 2, x[0]) && slice_terms_add(sum, 2, x[1]) &&
               add_product(squares, terms, x[0], x[0]) &&
               add_product(squares, terms, 2 * x[0], x[1]) &&
               add_product(squares, terms, x[1], x[1]);
    }
    return good;
}

const char *reference_moments_differs(const struct partial *a, const struct partial *b,
                                      unsigned wants)
{
    uint32_t x[EXACT_WIDE_DIGITS], y[EXACT_WIDE_DIGITS];

    (void)exact_wide_magnitude(&a->squares, x);
    (void)exact_wide_magnitude(&b->squares, y);
    if ((wants & PARTIAL_SQUARES) && memcmp(x, y, sizeof x) != 0)
        return "sum of squares";
    if ((wants & PARTIAL_ABSOLUTE) &&
        (exact_magnitude(&a->absolute, x) != exact_magnitude(&b->absolute, y) ||
         memcmp(x, y, EXACT_DIGITS * sizeof *x) != 0))
        return "sum of magnitudes";
    if ((wants & PARTIAL_SMALL) && a->least_magnitude != b->least_magnitude)
        return "least magnitude";
    if ((wants & PARTIAL_SMALL) && a->zeros != b->zeros)
        return "number of zeros";
    if ((wants & PARTIAL_SMALL) && a->subnormal != b->subnormal)
        return "number of subnormals";
    if ((wants & PARTIAL_NEGATIVE) && a->negative != b->negative)
        return "number of negative elements";
    return NULL;
}

void reference_reduce(struct reference *e, enum element_type type, const void *data, size_t n,
                      uint64_t index)
{
    if (element_is_float(type))
        reduce_floats(e, type, data, n, index);
    else
        reference_reduce_element(e, type, data, n, index);
}

bool reference_same(const struct result *a, const struct result *b, unsigned wants)
{
    return result_difference(a, b, wants) == NULL;
}

const char *reference_show(const struct result *r)
{
    static char text[2][300];
    static int turn;

    turn = !turn;
    snprintf(text[turn], sizeof text[turn],
             "sum %a mean %a min %a at %lld max %a at %lld count %lld nan %lld inf %lld first %lld",
             r->sum, r->mean, r->min, (long long)r->argmin, r->max, (long long)r->argmax,
             (long long)r->count, (long long)r->nan, (long long)r->infinity,
             (long long)r->first_nan);
    return text[turn];
}
