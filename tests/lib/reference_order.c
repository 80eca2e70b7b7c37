#include "config.h"

#include "lib/reference_order.h"

#include <math.h>
#include <stdlib.h>

#include "lib/data_gen.h"
#include "lib/oracle.h"
#include "lib/reference_element.h"

struct reference_number reference_number_at(enum element_type type, const void *data, size_t i)
{
    struct reference_value v;
    double sign;

    if (element_is_float(type))
        return (struct reference_number){{data_value(type, data, i), 0}};
    v = reference_value(type, data, i);
    if (v.is_float)
        return (struct reference_number){{v.x, 0}};
    sign = v.negative ? -1 : 1;
    return (struct reference_number){
        {sign * 0x1p32 * (double)(v.magnitude >> 32), sign * (double)(v.magnitude & UINT32_MAX)}};
}

/* The sum of one number and nothing is itself, also -0. */
double reference_rounded(const struct reference_number *x)
{
    return x->part[1] == 0 ? x->part[0] : oracle_sum(x->part, REFERENCE_PARTS);
}

int reference_compare_numbers(const void *a, const void *b)
{
    const struct reference_number *x = a, *y = b;

    for (int i = 0; i < REFERENCE_PARTS; i++)
        if (x->part[i] != y->part[i])
            return x->part[i] < y->part[i] ? -1 : 1;
    return (int)!signbit(x->part[0]) - (int)!signbit(y->part[0]);
}

struct reference_number *reference_sort(enum element_type type, const void *data, size_t n,
                                        size_t *count)
{
    struct reference_number *x = malloc((n + 1) * sizeof *x);

    if (!x)
        abort();
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        x[*count] = reference_number_at(type, data, i);
        *count += !isnan(x[*count].part[0]);
    }
    qsort(x, *count, sizeof *x, reference_compare_numbers);
    return x;
}

/* The mean of `denominator` numbers, so many of which are the upper one. */
double reference_quantile(const struct reference_number *x, size_t count, uint64_t numerator,
                          uint64_t denominator)
{
    uint64_t place = numerator * (count - 1), fraction = place % denominator;
    const struct reference_number *at = x + place / denominator;
    double list[REFERENCE_DENOMINATOR_MAX * REFERENCE_PARTS];

    if (fraction == 0 || reference_compare_numbers(&at[0], &at[1]) == 0)
        return reference_rounded(&at[0]);
    if (isinf(at[0].part[0]) || isinf(at[1].part[0]))
        return at[0].part[0] + at[1].part[0];
    for (uint64_t i = 0; i < REFERENCE_PARTS * denominator; i++)
        list[i] = (i / REFERENCE_PARTS < fraction ? at[1] : at[0]).part[i % REFERENCE_PARTS];
    return oracle_scaled(list, REFERENCE_PARTS * (size_t)denominator, 1, denominator);
}
