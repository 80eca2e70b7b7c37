#include "config.h"

#include "lib/real.h"

#include <math.h>

#include "lib/data_gen.h"

void real_add_naturals(struct natural *a, const struct natural *b)
{
    for (unsigned i = 0; i < NATURAL_WORDS - 2; i++)
        if (b->word[i])
            natural_add(a, b->word[i], 32 * i);
}

struct real real_add(struct real a, const struct real *b)
{
    if (a.negative == b->negative) {
        real_add_naturals(&a.m, &b->m);
    } else if (natural_compare(&a.m, &b->m) < 0) {
        a.m = natural_difference(&b->m, &a.m);
        a.negative = b->negative;
    } else {
        a.m = natural_difference(&a.m, &b->m);
    }
    return a;
}

static bool is_zero(const struct real *x)
{
    static const struct natural zero;

    return natural_compare(&x->m, &zero) == 0;
}

int real_sign(const struct real *x)
{
    return is_zero(x) ? 0 : x->negative ? -1 : 1;
}

int real_compare(const struct real *a, const struct real *b)
{
    struct real negated = *b, difference;

    negated.negative = !negated.negative;
    difference = real_add(*a, &negated);
    return real_sign(&difference);
}

double real_quotient(const struct real *x, uint64_t by)
{
    const double magnitude = natural_quotient(&x->m, by, 1, REAL_UNIT, false);

    return real_sign(x) < 0 ? -magnitude : magnitude;
}

struct reference_value real_stored(enum element_type type, const void *bytes)
{
    if ((size_t)type < ELEMENT_FLOATS)
        return (struct reference_value){.is_float = true, .x = data_value(type, bytes, 0)};
    return reference_value(type, bytes, 0);
}

struct real real_multiply(struct real a, uint64_t x)
{
    natural_multiply(&a.m, x);
    return a;
}

struct real real_of(double x)
{
    struct real real = {.negative = signbit(x) != 0};
    unsigned place;
    const uint64_t magnitude = natural_take_apart(fabs(x), &place);

    natural_add(&real.m, magnitude, place + 1074);
    return real;
}

struct real real_scaled(enum element_type type, const void *bytes, const struct scale *scale)
{
    const struct reference_value stored = real_stored(type, bytes);
    const struct real offset = real_of(scale->offset);
    const double factor = scale->given ? scale->factor : 1;
    struct real x = {.negative = (stored.is_float ? signbit(stored.x) != 0 : stored.negative) !=
                                 (factor < 0)};
    unsigned place = 1074, factor_place;
    const uint64_t factor_magnitude = natural_take_apart(fabs(factor), &factor_place),
                   magnitude = stored.is_float ? natural_take_apart(fabs(stored.x), &place)
                                               : stored.magnitude;

    natural_add(&x.m, magnitude, 0);
    natural_multiply(&x.m, factor_magnitude);
    natural_shift(&x.m, place + factor_place);
    return real_add(x, &offset);
}
