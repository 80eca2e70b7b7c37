#include "config.h"

#include "core/order.h"

#include <math.h>
#include <stdlib.h>

#include "sys/search.h"

double order_value(enum element_type type, uint64_t key)
{
    return element_value(type, order_bits(type, key));
}

struct integer order_integer(enum element_type type, uint64_t key)
{
    return element_key_integer(type, order_to_element_key(type, key));
}

uint64_t order_from_element_key(enum element_type type, int64_t key)
{
    return order_key(type, element_key_bits(type, key));
}

int64_t order_to_element_key(enum element_type type, uint64_t key)
{
    return element_key_of(type, order_bits(type, key));
}

/* The bits of the greatest float: of +inf, all bits of the exponent; or those below NaN's. */
static uint64_t greatest_float(enum element_type type)
{
    const uint64_t fraction = UINT64_C(1) << (element_formats[type].significant_bits - 1);

    return order_sign(type) - (element_formats[type].kind == ELEMENT_FINITE ? 2 : fraction);
}

uint64_t order_least(enum element_type type)
{
    if (element_is_integer(type))
        return 0;
    return order_key(type, order_sign(type) | greatest_float(type));
}

uint64_t order_greatest(enum element_type type)
{
    if (element_formats[type].kind == ELEMENT_TRUTH)
        return 1;
    if (element_is_integer(type))
        return order_sign(type) | (order_sign(type) - 1);
    return order_key(type, greatest_float(type));
}

uint64_t order_first(enum element_type type, double x, bool beyond)
{
    uint64_t low = order_least(type), high = order_greatest(type) + 1;

    /* Cutting off leads to a neighbour, and there are two zeros. */
    if (!element_is_integer(type) &&
        fabs(x) < exact_power_of_two(element_formats[type].exponent_max)) {
        const uint64_t near = order_key(type, element_cut(type, x));

        low = near - 2;
        high = near + 3;
    }
    SEARCH(low, high, beyond ? order_value(type, middle) <= x : order_value(type, middle) < x);
    return low;
}

/* Bits that a pass of the sort orders by: a table of that many entries fits the level-1 cache. */
#define DIGIT_BITS 11
#define DIGITS ((size_t)1 << DIGIT_BITS)

uint64_t *order_sort(uint64_t *keys, uint64_t *scratch, size_t count, unsigned bits)
{
    for (unsigned shift = 0; shift < bits; shift += DIGIT_BITS) {
        size_t place[DIGITS] = {0}, sum = 0;
        uint64_t *sorted = scratch;

        for (size_t i = 0; i < count; i++)
            place[keys[i] >> shift & (DIGITS - 1)]++;
        if (count > 0 && place[keys[0] >> shift & (DIGITS - 1)] == count)
            continue;
        for (size_t digit = 0; digit < DIGITS; digit++) {
            size_t here = place[digit];

            place[digit] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++)
            sorted[place[keys[i] >> shift & (DIGITS - 1)]++] = keys[i];
        scratch = keys;
        keys = sorted;
    }
    return keys;
}

/*
 * Order statistics: keys are counted by their leading digits, and the search goes on among those that
 * have the digits of a rank.
 */

/* So many keys are sorted. */
#define FEW 24

/* SAMPLE ones of SAMPLED_MIN keys or more say where those that are wanted are likely to be: within SAMPLE_MARGIN
   places of the sample to either side, three standard errors of a median's. */
#define SAMPLED_MIN 8192
#define SAMPLE 1024
#define SAMPLE_MARGIN 48

/* Keys among which order statistics are looked for. */
struct select_group {
    uint64_t *keys, *scratch;
    size_t count;
    uint64_t before; /* how many keys of other groups are less */
    struct order_statistic *wanted;
    unsigned wanted_count;
};

/* How many keys have each digit, and the number of the group that they are, from 1; 0: of none. */
struct select_digits {
    uint32_t counts[DIGITS];
    uint8_t group[DIGITS];
};

static void select_few(const struct select_group *g)
{
    for (size_t i = 1; i < g->count; i++) {
        const uint64_t key = g->keys[i];
        size_t at = i;

        for (; at > 0 && g->keys[at - 1] > key; at--)
            g->keys[at] = g->keys[at - 1];
        g->keys[at] = key;
    }
    for (unsigned i = 0; i < g->wanted_count; i++)
        g->wanted[i].key = g->keys[g->wanted[i].rank - g->before];
}

/* Divides a group whose keys, shifted, are digits from that of `least` on: keys among which some are
   wanted are moved to its scratch, and make groups. Returns how many these are. */
static unsigned divide(const struct select_group *g, uint64_t least, unsigned shift,
                       struct select_digits *digits, struct select_group *groups)
{
    uint64_t *ends[ORDER_STATISTICS_MAX];
    uint64_t before = g->before;
    size_t digit = 0, moved = 0;
    unsigned made = 0;

    memset(digits, 0, sizeof *digits);
    for (size_t i = 0; i < g->count; i++)
        digits->counts[(g->keys[i] - least) >> shift]++;
    for (unsigned i = 0; i < g->wanted_count; i++) {
        for (; g->wanted[i].rank - before >= digits->counts[digit]; digit++)
            before += digits->counts[digit];
        if (digits->group[digit] == 0) {
            ends[made] = g->scratch + moved;
            groups[made] = (struct select_group){.keys = ends[made],
                                                 .scratch = g->keys + moved,
                                                 .count = digits->counts[digit],
                                                 .before = before,
                                                 .wanted = g->wanted + i};
            moved += digits->counts[digit];
            digits->group[digit] = (uint8_t)++made;
        }
        groups[made - 1].wanted_count++;
    }
    for (size_t i = 0; i < g->count; i++) {
        const unsigned group = digits->group[(g->keys[i] - least) >> shift];

        if (group > 0)
            *ends[group - 1]++ = g->keys[i];
    }
    return made;
}

static void search(struct select_group all, struct select_digits *digits);

/* Makes a group of many keys that of those among which a sample says that the wanted ones are (R. W. Floyd and
   R. L. Rivest, "Expected time bounds for selection", 1975): it moves them to the scratch. The group stays as
   it is where the sample does not tell, or is wrong. NOLINTNEXTLINE(misc-no-recursion): a sample has none */
static void approach(struct select_group *g, struct select_digits *digits)
{
    const size_t step = g->count / SAMPLE;
    const uint64_t first = g->wanted[0].rank - g->before,
                   last = g->wanted[g->wanted_count - 1].rank - g->before;
    const uint64_t low = first * SAMPLE / g->count, high = last * SAMPLE / g->count + SAMPLE_MARGIN;
    struct order_statistic ends[] = {{.rank = low < SAMPLE_MARGIN ? 0 : low - SAMPLE_MARGIN},
                                     {.rank = high < SAMPLE ? high : SAMPLE - 1}};
    uint64_t least = 0, greatest = UINT64_MAX, before = 0;
    size_t moved = 0;

    if (g->count < SAMPLED_MIN || high - low > UINT64_C(2) * SAMPLE_MARGIN)
        return;
    for (size_t i = 0; i < SAMPLE; i++)
        g->scratch[i] = g->keys[i * step];
    search((struct select_group){g->scratch, g->scratch + SAMPLE, SAMPLE, 0, ends, 2}, digits);
    if (low > SAMPLE_MARGIN)
        least = ends[0].key;
    if (high < SAMPLE)
        greatest = ends[1].key;
    for (size_t i = 0; i < g->count; i++) {
        const uint64_t key = g->keys[i];

        g->scratch[moved] = key;
        moved += key - least <= greatest - least;
        before += key < least;
    }
    if (first < before || last - before >= moved)
        return;
    *g = (struct select_group){g->scratch,         g->keys,   moved,
                               g->before + before, g->wanted, g->wanted_count};
}

/* Sets the keys of the order statistics of a group, which ascend.
   NOLINTNEXTLINE(misc-no-recursion): a sample has none */
static void search(struct select_group all, struct select_digits *digits)
{
    /* Each is there for an order statistic of its own, so that there is room for all. */
    struct select_group waiting[ORDER_STATISTICS_MAX];
    unsigned waits = all.wanted_count > 0;

    waiting[0] = all;
    while (waits > 0) {
        struct select_group g = waiting[--waits];
        uint64_t least, greatest;
        unsigned shift = 0;

        if (g.count <= FEW) {
            select_few(&g);
            continue;
        }
        approach(&g, digits);
        least = greatest = g.keys[0];
        for (size_t i = 1; i < g.count; i++) {
            least = g.keys[i] < least ? g.keys[i] : least;
            greatest = g.keys[i] > greatest ? g.keys[i] : greatest;
        }
        for (unsigned i = 0; least == greatest && i < g.wanted_count; i++)
            g.wanted[i].key = least;
        while ((greatest - least) >> shift >> DIGIT_BITS != 0)
            shift++;
        if (least < greatest)
            waits += divide(&g, least, shift, digits, waiting + waits);
    }
}

static int compare_ranks(const void *a, const void *b)
{
    const struct order_statistic *x = a, *y = b;

    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

void order_select(uint64_t *keys, uint64_t *scratch, size_t count, struct order_statistic *wanted,
                  unsigned wanted_count)
{
    struct select_digits digits;

    qsort(wanted, wanted_count, sizeof *wanted, compare_ranks);
    search((struct select_group){keys, scratch, count, 0, wanted, wanted_count}, &digits);
}
