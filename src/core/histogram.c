#include "config.h"

#include "core/histogram.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "sys/search.h"

/* The lower edge of bin i, times the number of bins. */
static void edge_times_bins(struct exact *e, uint32_t bins, const struct histogram_range *range,
                            uint32_t i)
{
    const bool integers = range->low_integer.known;

    exact_clear(e);
    term_add(e, integers ? term_of_integer(range->low_integer) : term_of(range->low), bins - i,
             false);
    term_add(e, integers ? term_of_integer(range->high_integer) : term_of(range->high), i, false);
}

/* The lower edge of bin i of scaled numbers, times the number of bins. */
static void scaled_edge_times_bins(struct exact_wide *e, uint32_t bins,
                                   const struct histogram_range *range, uint32_t i)
{
    struct exact stored;

    exact_wide_clear(e);
    if (!range->of_elements) {
        edge_times_bins(&stored, bins, range, i);
        exact_wide_add_exact(e, &stored);
        return;
    }
    exact_clear(&stored);
    term_add(&stored, range->low_stored, bins - i, false);
    term_add(&stored, range->high_stored, i, false);
    scale_add(e, &range->scale, &stored, bins, false);
}

/* Finds an edge with numbers of two binary64 each (T. J. Dekker, "A floating-point technique for
   extending the available precision", 1971). *side: below 0 if the edge lies below that number, above
   0 if it lies above it, and 0 where that is not known. False if what they leave out could change how
   the edge is rounded. */
static bool edge_soon(double *edge, int *side, uint32_t bins, const struct histogram_range *range,
                      uint32_t i)
{
    const double low = range->low, high = range->high, n = bins, inverse = 1 / n;
    double rests[4];
    const double from = exact_two_product(low, n - i, &rests[0]);
    const double to = exact_two_product(high, i, &rests[1]);
    const double sum = exact_two_sum(from, to, &rests[2]);
    const double quotient = sum * inverse, back = exact_two_product(quotient, n, &rests[3]);
    const double more = (sum - back - rests[3] + (rests[2] + (rests[0] + rests[1]))) * inverse;
    const double most = fabs(from) + fabs(to);
    const double wrong = 0x1p-100 * most + 0x1p-50 * fabs(more);
    double beyond;

    /* Larger integers are not binary64. No product may have an error that is subnormal. */
    if ((range->low_integer.known && !(fabs(low) < 0x1p53 && fabs(high) < 0x1p53)) ||
        bins >= UINT32_C(1) << 26 || !(most < 0x1p1000) || (low != 0 && fabs(from) < 0x1p-800) ||
        (high != 0 && fabs(to) < 0x1p-800))
        return false;
    *edge = quotient + (more - wrong);
    beyond = (quotient - *edge) + more;
    *side = (beyond > wrong) - (beyond < -wrong);
    return *edge == quotient + (more + wrong);
}

static double rounded_edge(uint32_t bins, const struct histogram_range *range, uint32_t i)
{
    struct exact_wide scaled;
    struct exact e;
    double edge;
    int side;

    /* Those of the range are themselves, also -0. */
    if (i == 0 || isnan(range->low))
        return range->low;
    if (i == bins)
        return range->high;
    if (range->scale.given) {
        scaled_edge_times_bins(&scaled, bins, range, i);
        return exact_wide_divide(&scaled, bins);
    }
    if (edge_soon(&edge, &side, bins, range, i))
        return edge;
    edge_times_bins(&e, bins, range, i);
    return exact_divide(&e, bins);
}

double histogram_edge(const struct histogram *h, uint32_t i)
{
    return rounded_edge(h->bins, &h->range, i);
}

/*
 * Bounds. In the order of stored numbers bin i is number bins - 1 - i of the histogram if the factor
 * is less than 0: it then has its upper edge, and not its lower one.
 */

/* Compares the number that an element stands for with the lower edge of a bin of the histogram:
   below 0, 0, or above 0. */
static int compare_scaled(enum element_type type, uint64_t key, uint32_t bins,
                          const struct histogram_range *range, uint32_t edge)
{
    const double x = order_value(type, key);
    struct exact_wide rest;
    struct exact stored;

    if (isinf(x))
        return scale_infinity(&range->scale, x) > 0 ? 1 : -1;
    exact_clear(&stored);
    term_add(&stored, term_of_order(type, key), bins, false);
    scaled_edge_times_bins(&rest, bins, range, edge);
    scale_add(&rest, &range->scale, &stored, bins, true);
    return -exact_wide_sign(&rest);
}

/* Whether the element with this key is not before bin i; or, with i = bins, whether it lies behind
   the last bin. */
static bool reaches_scaled(enum element_type type, uint64_t key, uint32_t bins,
                           const struct histogram_range *range, uint32_t i)
{
    if (range->scale.factor > 0) {
        const int order = compare_scaled(type, key, bins, range, i);

        return i == bins ? order > 0 : order >= 0;
    } else {
        const int order = compare_scaled(type, key, bins, range, bins - i);

        return i == 0 ? order <= 0 : order < 0;
    }
}

/* The least key that reaches bin i; one more than the greatest if there is none. Not of integers of
   64 bits. */
static uint64_t bound_scaled(enum element_type type, uint32_t bins,
                             const struct histogram_range *range, uint32_t i)
{
    const struct scale *scale = &range->scale;
    const double edge = rounded_edge(bins, range, scale->factor < 0 ? bins - i : i);
    const uint64_t least = order_least(type), most = order_greatest(type) + 1;
    /* Roundings lead astray, but not far as a rule. */
    const uint64_t guess = order_first(type, (edge - scale->offset) / scale->factor, false);
    uint64_t low = guess < most ? guess : most - 1, high = low;

    for (uint64_t step = 2; low > least && reaches_scaled(type, low, bins, range, i); step *= 2)
        low = low - least > step ? low - step : least;
    for (uint64_t step = 2; high < most && !reaches_scaled(type, high, bins, range, i); step *= 2)
        high = most - high > step ? high + step : most;
    SEARCH(low, high, !reaches_scaled(type, middle, bins, range, i));
    return low;
}

/* The lower edge of bin i, off by no more than *wrong. */
static double edge_about(uint32_t bins, const struct histogram_range *range, uint32_t i,
                         double *wrong)
{
    const double from = range->low * (bins - i), to = range->high * i, inverse = 1.0 / bins;

    /* Five roundings, each of 2^-53 at most of what is rounded. */
    *wrong = 0x1p-50 * ((fabs(from) + fabs(to)) * inverse);
    return (from + to) * inverse;
}

/* Finds the least key of the elements that are not before bin i, without exact arithmetic: of types
   of few bits, where no element is so near to the edge that rounding matters. */
static bool bound_soon(uint64_t *key, enum element_type type, uint32_t bins,
                       const struct histogram_range *range, uint32_t i)
{
    double wrong;
    const double edge = edge_about(bins, range, i, &wrong);

    if (element_size(type) > sizeof(float) || range->low_integer.known || !isnormal(edge) ||
        !isnormal(wrong))
        return false;
    *key = order_first(type, edge, false);
    return order_value(type, *key) >= edge + wrong && *key > order_least(type) &&
           order_value(type, *key - 1) < edge - wrong;
}

/* The number of binary32 before or after x, which is not 0. */
static float next32(float x, bool after)
{
    return exact_from_bits32(exact_bits32(x) + (after == (x > 0) ? 1 : -UINT32_C(1)));
}

/* As bound_soon, of binary32, and the value of the key: at a tenth of the time. */
static bool bound_soon32(double *bound, uint32_t bins, const struct histogram_range *range,
                         uint32_t i)
{
    double wrong;
    const double edge = edge_about(bins, range, i, &wrong);
    const float near = (float)edge, least = near < edge ? next32(near, true) : near;

    *bound = least;
    return !range->scale.given && i < bins && isnormal(near) && isnormal(least) &&
           isnormal(wrong) && least >= edge + wrong && next32(least, false) < edge - wrong;
}

/* The least key of the elements that are not before bin i, for types whose values are all binary64;
   with i = bins, of those after the last bin. */
static uint64_t bound_key(enum element_type type, uint32_t bins,
                          const struct histogram_range *range, uint32_t i)
{
    uint64_t key;
    double edge;
    struct exact e;
    int side;

    if (range->scale.given)
        return bound_scaled(type, bins, range, i);
    if (i == bins)
        return order_first(type, range->high, true);
    if (bound_soon(&key, type, bins, range, i))
        return key;
    /* Between the edge and the number that it was rounded to there is no element: only whether that
       one lies before the edge is to be found out. */
    if (edge_soon(&edge, &side, bins, range, i) && side != 0)
        return order_first(type, edge, side > 0);
    edge = rounded_edge(bins, range, i);
    edge_times_bins(&e, bins, range, i);
    term_add(&e, term_of(edge), bins, true);
    return order_first(type, edge, exact_round(&e) > 0);
}

/* Whether the integer with this key is not before bin i; or, with i = bins, whether it lies behind
   the last bin. */
static bool reaches(enum element_type type, uint64_t key, uint32_t bins,
                    const struct histogram_range *range, uint32_t i)
{
    struct exact e;

    if (range->scale.given)
        return reaches_scaled(type, key, bins, range, i);
    edge_times_bins(&e, bins, range, i);
    term_add(&e, term_of_integer(order_integer(type, key)), bins, true);
    return i == bins ? exact_round(&e) < 0 : exact_round(&e) <= 0;
}

/* Finds the least key of an integer type that reaches bin i; false if there is none. It is `from`
   or a later one, most likely one that is about `gap` later. */
static bool bound_integer(uint64_t *key, enum element_type type, uint64_t from, uint64_t gap,
                          uint32_t bins, const struct histogram_range *range, uint32_t i)
{
    uint64_t low = from, high = order_greatest(type), step = 1;

    if (!reaches(type, high, bins, range, i))
        return false;
    if (gap > 2 && gap - 2 < high - low && !reaches(type, low + gap - 2, bins, range, i))
        low += gap - 2;
    /* Steps grow until they are too long, and then the key is found by halving. */
    while (high - low > step && !reaches(type, low + step, bins, range, i)) {
        low += step;
        step *= 2;
    }
    high = high - low > step ? low + step : high;
    SEARCH(low, high, !reaches(type, middle, bins, range, i));
    *key = low;
    return true;
}

/* The width of a range of scaled numbers in stored ones, rounded twice; it may be infinite. */
static double stored_width(const struct histogram_range *range)
{
    struct exact width;

    if (!range->of_elements)
        return (range->high - range->low) / fabs(range->scale.factor);
    exact_clear(&width);
    term_add(&width, range->high_stored, 1, false);
    term_add(&width, range->low_stored, 1, true);
    return fabs(exact_round(&width));
}

/* The least stored number of a range of scaled ones, rounded by at most *wrong. */
static double stored_low(const struct histogram_range *range, double *wrong)
{
    const struct scale *scale = &range->scale;
    const bool reverse = scale->factor < 0;
    const double edge = reverse ? range->high : range->low;
    struct exact low;

    *wrong = 0;
    if (!range->of_elements) {
        *wrong = 0x1p-51 * (fabs(edge) + fabs(scale->offset)) / fabs(scale->factor);
        return (edge - scale->offset) / scale->factor;
    }
    exact_clear(&low);
    term_add(&low, reverse ? range->high_stored : range->low_stored, 1, false);
    return exact_round(&low);
}

/* The number of bins over the width of the range; 0 if that is 0, or too small. */
static double bins_per_unit(const struct tally_plan *plan, const struct histogram_range *range)
{
    const struct integer low = range->low_integer, high = range->high_integer;
    const double width =
        range->scale.given ? stored_width(range)
        : low.known
            ? (double)((high.negative ? -high.low : high.low) - (low.negative ? -low.low : low.low))
            : 2 * (range->high / 2 - range->low / 2);

    const double places = plan->bins / width;

    return isfinite(places) ? places : 0;
}

/* The key of an integer that an element is. */
static uint64_t key_of_integer(enum element_type type, struct integer x)
{
    const uint64_t bits = x.negative ? -x.low : x.low;

    return order_key(type, bits & (order_sign(type) | (order_sign(type) - 1)));
}

/* The bounds of a range from one element to another: bin i begins with the least integer that is not
   below i bins-th of the way. */
static void bound_elements(uint64_t *bound, struct tally_plan *plan,
                           const struct histogram_range *range)
{
    const uint64_t low = key_of_integer(plan->type, range->low_integer);
    const uint64_t width = key_of_integer(plan->type, range->high_integer) - low;

    for (uint64_t i = 0; i < plan->bins; i++)
        bound[i] =
            low + width / plan->bins * i + (width % plan->bins * i + plan->bins - 1) / plan->bins;
    plan->reached = plan->bins;
    plan->last_key = low + width;
}

/* Finds the bounds of any range, one after the other. */
static void bound_integers(uint64_t *bound, struct tally_plan *plan,
                           const struct histogram_range *range)
{
    const enum element_type type = plan->type;
    uint64_t from = order_least(type), gap = 0;

    while (plan->reached < plan->bins && bound_integer(&bound[plan->reached], type, from, gap,
                                                       plan->bins, range, plan->reached)) {
        gap = plan->reached > 0 ? bound[plan->reached] - from : 0;
        from = bound[plan->reached++];
    }
    plan->last_key = order_greatest(type);
    if (plan->reached == plan->bins &&
        bound_integer(&plan->last_key, type, from, gap, plan->bins, range, plan->bins)) {
        plan->holds_none = plan->last_key <= bound[0];
        plan->last_key--;
    }
}

/* The most that a place in binary32 may be wrong: it has to be looked up in the bounds so often. */
#define MARGIN32_MAX 0x1p-8

/* The most bins to an integer of which places are computed in binary32. */
#define SCALE32_MAX 0x1p-4

/* Finds out whether places of integers can be computed in binary32. */
static void plan_integers32(struct tally_plan *plan)
{
    /* The first bound lies behind the edge, and far behind it where the range begins before all
       integers of the type. */
    const double off = order_value(plan->type, plan->bound_key[0]) - plan->low;
    /* The roundings of the distance, of the scale, of their product, and of place + 1/2. */
    const double wrong = 0x1p-24 * 4.02 * (plan->bins + 2) + 1.01 * fabs(off) * plan->scale;

    if (element_size(plan->type) > sizeof(float) || plan->reached < plan->bins ||
        plan->holds_none || !(plan->scale <= SCALE32_MAX) || !isnormal((float)plan->scale) ||
        !(wrong <= MARGIN32_MAX))
        return;
    plan->scale32 = (float)plan->scale;
    plan->margin32 = (float)(2 * wrong);
}

/* The integer of a type that an edge is; not known if it is none. */
static struct integer edge_integer(enum element_type type, double edge)
{
    const bool known = fabs(edge) < 0x1p53 && edge == trunc(edge) &&
                       edge >= order_value(type, order_least(type)) &&
                       edge <= order_value(type, order_greatest(type));

    return (struct integer){
        .low = known ? (uint64_t)fabs(edge) : 0, .negative = known && edge < 0, .known = known};
}

/* The bins of integers. */
static bool plan_integers(struct tally_plan *plan, const struct histogram_range *range)
{
    uint64_t *bound = calloc((size_t)plan->bins + 1, sizeof *bound);
    struct histogram_range whole = *range;

    plan->bound_key = bound;
    if (!bound)
        return false;
    if (!range->low_integer.known) {
        whole.low_integer = edge_integer(plan->type, range->low);
        whole.high_integer = edge_integer(plan->type, range->high);
    }
    if (whole.low_integer.known && whole.high_integer.known && !range->scale.given)
        bound_elements(bound, plan, &whole);
    else
        bound_integers(bound, plan, range);
    if (plan->reached == 0)
        return true;
    while (plan->base + 1 < plan->reached && bound[plan->base + 1] <= bound[0])
        plan->base++;
    /* Rounded towards zero by more than all roundings, of which there are four. */
    plan->scale = bins_per_unit(plan, range) * (1 - 0x1p-40);
    plan_integers32(plan);
    return true;
}

/* With fixed-point places, at most one element in so many is looked up in the bounds, if elements
   lie anywhere in their bins. */
#define DOUBT_MOST 128

/* Plans fixed-point places, where the place itself is wrong by `wrong`. */
static void plan_fixed(struct tally_plan *plan, double wrong)
{
    unsigned fraction = FLT_MANT_DIG - 1, doubt = 1;
    double units;

    while (UINT32_C(1) << (FLT_MANT_DIG - 1 - fraction) < plan->bins + 2)
        fraction--;
    /* And the sum is rounded to a unit. */
    units = ldexp(wrong, (int)fraction) + 0.51;
    while (doubt < units && doubt < UINT32_C(1) << fraction)
        doubt *= 2;
    /* 2 doubt of the values of the fraction leave the bin in doubt. */
    if (2 * DOUBT_MOST * doubt > UINT32_C(1) << fraction)
        return;
    plan->fraction32 = fraction;
    plan->doubt32 = doubt;
}

/* Finds out whether places can be computed in binary32. */
static void plan_binary32(struct tally_plan *plan, double low, double width)
{
    const float low32 = (float)low, scale32 = (float)plan->scale;
    /* Three roundings of the place, of up to 2^-24 of it, and that of `low`. A subnormal difference
       is exact. */
    const double place =
        0x1p-24 * 3.01 * (plan->bins + 2) + 1.01 * fabs(low - (double)low32) * plan->scale;
    /* One more of place + 1/2. */
    const double wrong = place + 0x1p-24 * (plan->bins + 2);

    if (plan->type != ELEMENT_F32 || !isnormal(scale32) || !(width < (double)FLT_MAX / 2) ||
        !(fabs(low) < (double)FLT_MAX / 2))
        return;
    plan->low32 = low32;
    plan->scale32 = scale32;
    plan_fixed(plan, place);
    if (wrong <= MARGIN32_MAX)
        plan->margin32 = (float)(2 * wrong);
}

/* The bounds of binary32 as integers, at `order`, which has room for one more. */
static void order_bounds(struct tally_plan *plan, int32_t *order)
{
    plan->order32 = order;
    order[0] = INT32_MIN;
    for (uint32_t i = 0; i <= plan->bins; i++) {
        const float bound = (float)plan->bound[i];
        const uint32_t bits = bound != 0 ? exact_bits32(bound) : (uint32_t)order_sign(ELEMENT_F32);

        order[i + 1] = (int32_t)((int64_t)order_key(ELEMENT_F32, bits) + INT32_MIN);
    }
}

bool histogram_plan(struct tally_plan *plan, enum element_type type, uint32_t bins,
                    const struct histogram_range *range)
{
    const bool scaled = range->scale.given;
    double wrong = 0;
    const double low = scaled ? stored_low(range, &wrong) : range->low,
                 width = scaled ? stored_width(range) : range->high - range->low;
    double *bound;

    *plan = (struct tally_plan){.kind = TALLY_BINS, .type = type, .bins = bins, .low = low};
    if (element_is_integer(type))
        return plan_integers(plan, range);
    /* The bounds of binary32, as integers, follow the bounds. */
    bound = malloc(((size_t)bins + 1) * sizeof *bound + ((size_t)bins + 2) * sizeof(int32_t));
    plan->bound = bound;
    if (!bound)
        return false;
    for (uint32_t i = 0; i <= bins; i++)
        if (type != ELEMENT_F32 || !bound_soon32(&bound[i], bins, range, i))
            bound[i] = order_value(type, bound_key(type, bins, range, i));
    /* Three roundings make a place of at most HISTOGRAM_BINS_MAX wrong by less than 2^-30, unless
       something overflows, or is too small to be normal. */
    if (isnormal(width) && isnormal(bins / width) && !(wrong * (bins / width) > 0x1p-32))
        plan->scale = bins / width;
    plan_binary32(plan, low, width);
    if (plan->fraction32 > 0)
        order_bounds(plan, (void *)(bound + bins + 1));
    return true;
}

void histogram_free_plan(struct tally_plan *plan)
{
    free((void *)(uintptr_t)plan->bound);
    free((void *)(uintptr_t)plan->bound_key);
    plan->bound = NULL;
    plan->bound_key = NULL;
}

/* The sum of the counts of words whose keys are from `from` up to `to`, without that. Those on one side of
   the key of 0 lie side by side. */
static uint64_t count_words(enum element_type type, const uint64_t *counts, uint64_t from,
                            uint64_t to)
{
    const uint64_t zero = order_key(type, 0);
    uint64_t sum = 0;

    while (from < to) {
        const uint64_t end = from < zero && zero < to ? zero : to;
        const uint64_t first = order_bits(type, from), last = order_bits(type, end - 1);

        for (uint64_t word = first < last ? first : last, most = first < last ? last : first;
             word <= most; word++)
            sum += counts[word];
        from = end;
    }
    return sum;
}

/* The bins, from counts of all values. */
static void bins_of_words(struct histogram *h, enum element_type type, const struct tally *tally)
{
    const uint64_t end = order_greatest(type) + 1;
    uint64_t from = order_least(type);

    for (uint32_t i = 0; i <= h->bins; i++) {
        const uint64_t bound = bound_key(type, h->bins, &h->range, i);
        const uint64_t to = bound < end ? bound : end;

        *(i == 0 ? &h->below : &h->counts[i - 1]) = count_words(type, tally->counts, from, to);
        from = to > from ? to : from;
    }
    h->above = count_words(type, tally->counts, from, end);
}

/* The exponents, from counts of the upper bits: the sign, the exponent, and more of them or
   none. */
static void exponents_of_words(struct histogram *h, enum element_type type,
                               const struct tally *tally, const struct partial *partial)
{
    const unsigned fraction_bits = (unsigned)element_formats[type].significant_bits - 1;
    const unsigned below =
        fraction_bits - tally->plan->shift; /* of the words, under the exponent */
    const size_t words = tally_size(tally->plan), half = words / 2;
    const int exponents = h->exponent_max - h->exponent_min + 1;
    const bool finite = element_formats[type].kind == ELEMENT_FINITE;

    for (size_t word = 0; word < words; word++) {
        int sign = word >= half, field = (int)((word & (half - 1)) >> below);

        if (finite && (word & (half - 1)) == half - 1)
            continue; /* a NaN with an exponent of numbers, of types that have no shift */
        if (field == 0)
            h->subnormals[sign] += tally->counts[word];
        else if (field <= exponents)
            h->counts[sign * exponents + field - 1] += tally->counts[word];
    }
    for (int sign = 0; sign < 2; sign++) {
        h->zeros[sign] =
            tally->plan->shift > 0 ? tally->special[sign] : tally->counts[sign ? half : 0];
        h->subnormals[sign] -= h->zeros[sign];
    }
    h->infinities[0] = partial->positive_infinity;
    h->infinities[1] = partial->negative_infinity;
}

/* Puts bins of stored numbers in the order of scaled ones, which is the other one. */
static void reverse(struct histogram *h)
{
    const uint64_t below = h->below;

    h->below = h->above;
    h->above = below;
    for (uint32_t i = 0; i < h->bins / 2; i++) {
        const uint64_t count = h->counts[i];

        h->counts[i] = h->counts[h->bins - 1 - i];
        h->counts[h->bins - 1 - i] = count;
    }
}

bool histogram_make(struct histogram *h, const struct histogram_request *request,
                    enum element_type type, const struct histogram_range *range,
                    const struct tally *tally, const struct partial *partial)
{
    const struct element_format *format = &element_formats[type];
    const bool bins = request->kind == HISTOGRAM_BINS;
    const size_t size =
        bins ? request->bins : 2 * (size_t)(format->exponent_max - format->exponent_min + 1);

    *h = (struct histogram){.kind = request->kind,
                            .nan = partial->nan,
                            .bins = request->bins,
                            .range = *range,
                            .exponent_min = format->exponent_min,
                            .exponent_max = format->exponent_max,
                            .counts = calloc(size, sizeof *h->counts)};
    if (!h->counts)
        return false;
    if (partial_numbers(partial) == 0)
        return true;
    if (!bins) {
        exponents_of_words(h, type, tally, partial);
    } else if (tally->plan->kind == TALLY_BINS) {
        h->below = tally->counts[0] - partial->nan;
        h->above = tally->counts[size + 1];
        memcpy(h->counts, tally->counts + 1, size * sizeof *h->counts);
    } else {
        bins_of_words(h, type, tally);
    }
    if (bins && range->scale.factor < 0)
        reverse(h);
    return true;
}

uint64_t histogram_exponent(const struct histogram *h, int sign, int exponent)
{
    const int exponents = h->exponent_max - h->exponent_min + 1;

    return h->counts[sign * exponents + exponent - h->exponent_min];
}

void histogram_free(struct histogram *h)
{
    free(h->counts);
    h->counts = NULL;
}
