#include "config.h"

#include "bench/common/difference.h"

static bool same_integer(const struct integer *a, const struct integer *b)
{
    return a->known == b->known && a->negative == b->negative && a->high == b->high &&
           a->low == b->low;
}

const char *result_difference(const struct result *a, const struct result *b, unsigned wants)
{
    const bool sum = wants & PARTIAL_SUM, extremes = wants & PARTIAL_EXTREMES;
    const bool where = wants & PARTIAL_WHERE;

    if (a->count != b->count)
        return "count";
    if (a->nan != b->nan)
        return "number of NaNs";
    if (a->first_nan != b->first_nan)
        return "index of the first NaN";
    if (a->infinity != b->infinity)
        return "number of infinities";
    if (sum &&
        (!result_same_number(a->sum, b->sum) || !same_integer(&a->sum_integer, &b->sum_integer)))
        return "sum";
    if (sum && !result_same_number(a->mean, b->mean))
        return "mean";
    if (extremes &&
        (!result_same_number(a->min, b->min) || !same_integer(&a->min_integer, &b->min_integer)))
        return "minimum";
    if (extremes &&
        (!result_same_number(a->max, b->max) || !same_integer(&a->max_integer, &b->max_integer)))
        return "maximum";
    if (where && a->argmin != b->argmin)
        return "index of the minimum";
    if (where && a->argmax != b->argmax)
        return "index of the maximum";
    return NULL;
}

const char *moments_difference(const struct result *a, const struct result *b, unsigned wants)
{
    const bool squares = wants & PARTIAL_SQUARES, extremes = wants & PARTIAL_EXTREMES;
    const bool variance = squares && (wants & PARTIAL_SUM), small = wants & PARTIAL_SMALL;

    if (squares && !result_same_number(a->sumsq, b->sumsq))
        return "sum of squares";
    if (squares && !result_same_number(a->l2, b->l2))
        return "Euclidean norm";
    if (squares && !result_same_number(a->rms, b->rms))
        return "root mean square";
    if (variance && !result_same_number(a->var, b->var))
        return "variance";
    if (variance && !result_same_number(a->std, b->std))
        return "standard deviation";
    if ((wants & PARTIAL_ABSOLUTE) && !result_same_number(a->l1, b->l1))
        return "sum of magnitudes";
    if (extremes && !result_same_number(a->absmax, b->absmax))
        return "greatest magnitude";
    if (extremes && !result_same_number(a->range, b->range))
        return "range";
    if (small && !result_same_number(a->absmin, b->absmin))
        return "least magnitude";
    if (small && a->zeros != b->zeros)
        return "number of zeros";
    if (small && a->subnormals != b->subnormals)
        return "number of subnormals";
    if ((wants & PARTIAL_NEGATIVE) && a->negatives != b->negatives)
        return "number of negative elements";
    return NULL;
}
