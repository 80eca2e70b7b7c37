#include "config.h"

#include "core/order.h"

#include <math.h>
#include <stdlib.h>

#include "sys/bytes.h"
#include "sys/search.h"

/* The element that has these bits. */
static const void *element_of(enum element_type type, const uint64_t *bits)
{
    return bytes_lowest(bits, element_formats[type].size);
}

double order_value(enum element_type type, uint64_t key)
{
    const uint64_t bits = order_bits(type, key);

    return element_load(type, element_of(type, &bits));
}

struct integer order_integer(enum element_type type, uint64_t key)
{
    const uint64_t bits = order_bits(type, key);

    return element_load_integer(type, element_of(type, &bits));
}

uint64_t order_from_element_key(enum element_type type, int64_t key)
{
    const double x = element_key_value(type, key);
    uint64_t first;

    if (element_is_integer(type)) {
        const uint64_t least = order_bits(type, order_least(type));

        return (uint64_t)key - (uint64_t)element_key(type, element_of(type, &least));
    }
    first = order_first(type, x, false);
    /* The first key of a zero is that of -0. */
    return first + (x == 0 && !signbit(x));
}

int64_t order_to_element_key(enum element_type type, uint64_t key)
{
    const uint64_t bits = order_bits(type, key);

    return element_key(type, element_of(type, &bits));
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

/* The bits of a binary16 next to a number of less than 2^16 in magnitude. */
static uint64_t half_near(double x)
{
    const uint64_t sign = signbit(x) ? 0x8000 : 0;
    const float narrow = (float)fabs(x);
    uint32_t bits;

    if (narrow < 0x1p-14F) /* a subnormal one is an integer in units of 2^-24 */
        return sign | (uint64_t)(narrow * 0x1p24F);
    memcpy(&bits, &narrow, sizeof bits);
    return sign | (bits - (UINT32_C(112) << 23)) >> 13;
}

/* The key of an element of a type next to a number, not NaN, which is in the range of the type. */
static uint64_t key_near(enum element_type type, double x)
{
    const float narrow = (float)x;
    uint64_t bits = 0;
    uint32_t bits32;

    if (type == ELEMENT_F64) {
        memcpy(&bits, &x, sizeof bits);
    } else if (type == ELEMENT_F16) {
        bits = half_near(x);
    } else {
        memcpy(&bits32, &narrow, sizeof bits32);
        bits = type == ELEMENT_BF16 ? bits32 >> 16 : bits32;
    }
    return order_key(type, bits);
}

uint64_t order_first(enum element_type type, double x, bool beyond)
{
    uint64_t low = order_least(type), high = order_greatest(type) + 1;

    /* Rounding leads to a neighbour, and there are two zeros. */
    if (element_is_float(type) && element_size(type) > 1 &&
        fabs(x) < (type == ELEMENT_F16 ? 65504 : 0x1p127)) {
        const uint64_t near = key_near(type, x);

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

static int compare_ranks(const void *a, const void *b)
{
    const struct order_statistic *x = a, *y = b;

    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

void order_select(uint64_t *keys, uint64_t *scratch, size_t count, struct order_statistic *wanted,
                  unsigned wanted_count)
{
    /* Each is there for an order statistic of its own, so that there is room for all. */
    struct select_group waiting[ORDER_STATISTICS_MAX];
    struct select_digits digits;
    unsigned waits = wanted_count > 0;

    qsort(wanted, wanted_count, sizeof *wanted, compare_ranks);
    waiting[0] = (struct select_group){keys, scratch, count, 0, wanted, wanted_count};
    while (waits > 0) {
        const struct select_group g = waiting[--waits];
        uint64_t least = g.keys[0], greatest = g.keys[0];
        unsigned shift = 0;

        if (g.count <= FEW) {
            select_few(&g);
            continue;
        }
        for (size_t i = 1; i < g.count; i++) {
            least = g.keys[i] < least ? g.keys[i] : least;
            greatest = g.keys[i] > greatest ? g.keys[i] : greatest;
        }
        for (unsigned i = 0; least == greatest && i < g.wanted_count; i++)
            g.wanted[i].key = least;
        while ((greatest - least) >> shift >> DIGIT_BITS != 0)
            shift++;
        if (least < greatest)
            waits += divide(&g, least, shift, &digits, waiting + waits);
    }
}
