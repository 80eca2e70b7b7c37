#include "config.h"

#include "source/format/plausibility.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/*
 * Numbers of one kind have similar exponents: of normally distributed ones, all but one in 10^9 lie
 * within a factor of 2^32, wherever that is. Numbers that are read as another type have the
 * exponents of other bits. Those of a fraction are spread over the whole range, or, of round
 * numbers, are zero.
 *
 * f64 taken for f32 have such bits in every second element, a wrong byte order in all of them. So
 * data are doubted if the exponents of all elements, or of every second one, are spread like
 * chance, or almost all are subnormal, or every second element is zero; and if there is a type that
 * makes sense of them. Data that are f32 look so in neither way: to be mistaken they would have to
 * be spread over more than 60 powers of two, and as f64, every second of them, over no more than
 * four.
 */

/* Elements other than zero that are needed to tell. */
#define ENOUGH 64

/* Exponents as they are stored, of which no type has more. */
#define EXPONENTS_MAX 2048

/* An eighth of random exponents lies in an eighth of the range. For f64 that were f32 once it is a
   third: the bits that become exponents are mostly zero. */
#define SPREAD_MOST 0.45

/* A type makes sense if so many exponents lie together, of numbers that are not out of this world.
 */
#define TOGETHER_LEAST 0.97
#define TOGETHER_POWERS 32
#define TOGETHER_POWERS_F16 12 /* it has 32 */
#define PLAUSIBLE_POWER 100

struct view {
    const unsigned char *bytes;
    size_t count; /* elements */
    enum element_type type;
    bool big_endian;
};

static uint64_t load_bits(const struct view *v, size_t i)
{
    const size_t size = element_formats[v->type].size;
    const uint64_t bits = element_bits(size, v->bytes + i * size);

    return v->big_endian == element_host_is_big() ? bits
                                                  : __builtin_bswap64(bits) >> (64 - 8 * size);
}

/* How often each exponent occurs, of elements that are not zero. */
struct exponents {
    unsigned count[EXPONENTS_MAX];
    unsigned all, subnormal; /* or next to it */
    int range;               /* exponents that the type has */
    int bias;
};

/* Counts the exponents of the elements: of all, and of every second from the first, and from the second on. */
static void count_exponents(const struct view *v, struct exponents *all, struct exponents halves[2])
{
    const struct element_format *format = &element_formats[v->type];
    const int fraction = format->significant_bits - 1, range = 2 * (format->exponent_max + 1);
    struct exponents *const each[] = {&halves[0], &halves[1], all};

    for (int k = 0; k < 3; k++) {
        memset(each[k]->count, 0, (size_t)range * sizeof *each[k]->count);
        each[k]->all = each[k]->subnormal = 0;
        each[k]->range = range;
        each[k]->bias = format->exponent_max;
    }
    for (size_t i = 0; i < v->count; i++) {
        struct exponents *const e = &halves[i % 2];
        const uint64_t bits = load_bits(v, i);
        const unsigned exponent = (unsigned)(bits >> fraction) & (unsigned)(range - 1);

        if ((bits & ((UINT64_C(1) << (8 * format->size - 1)) - 1)) == 0)
            continue;
        e->all++;
        e->subnormal += exponent <= 1;
        e->count[exponent]++;
    }
    for (int k = 0; k < 2; k++) {
        all->all += halves[k].all;
        all->subnormal += halves[k].subnormal;
        for (int i = 0; i < range; i++)
            all->count[i] += halves[k].count[i];
    }
}

/* The largest part of the exponents that lies within `width` of them; *first: where. */
static double together(const struct exponents *e, int width, int *first)
{
    unsigned inside = 0, most = 0;

    *first = 0;
    for (int i = 0; i < e->range; i++) {
        inside += e->count[i];
        if (i >= width)
            inside -= e->count[i - width];
        if (inside > most) {
            most = inside;
            *first = i - width + 1;
        }
    }
    return e->all ? (double)most / e->all : 0;
}

static bool spread(const struct exponents *e)
{
    int first;

    return e->all >= ENOUGH && together(e, e->range / 8, &first) < SPREAD_MOST;
}

/* Whether the numbers are counts: integers, many of them, and of a range that they fill. */
static bool counting(const struct view *v)
{
    double seen[64], most = 0;
    size_t different = 0;

    for (size_t i = 0; i < v->count; i++) {
        double x = element_value(v->type, load_bits(v, i));
        size_t k = 0;

        if (!(fabs(x) < 1 << 20) || x != (double)(int32_t)x)
            return false;
        most = fabs(x) > most ? fabs(x) : most;
        while (k < different && seen[k] != x)
            k++;
        if (k == different && different < sizeof seen / sizeof *seen)
            seen[different++] = x;
    }
    /* Not all of them are kept; then they are at least as many as half of those there are. */
    return different >= 16 &&
           most <= 16.0 * (double)(different < sizeof seen / sizeof *seen ? different : v->count);
}

/* Whether the elements make sense. Those that were hardly random before, since they were subnormal
   or zeros, have to be counts. */
static bool makes_sense(const struct view *v, bool round)
{
    int powers = v->type == ELEMENT_F16 ? TOGETHER_POWERS_F16 : TOGETHER_POWERS, first;
    struct exponents e, halves[2];

    if (round)
        return counting(v);
    count_exponents(v, &e, halves);
    if (e.all < ENOUGH || e.subnormal > e.all / 10 || together(&e, powers, &first) < TOGETHER_LEAST)
        return false;
    return v->type == ELEMENT_F16 ||
           (first + powers >= e.bias - PLAUSIBLE_POWER && first <= e.bias + PLAUSIBLE_POWER);
}

/* Sets *better. A byte order that stays as it is, is left unsaid. */
static bool advise(struct advice *better, bool typed, enum element_type type,
                   enum element_order order)
{
    *better =
        (struct advice){.kind = ADVICE_BETTER_TYPE, .typed = typed, .type = type, .order = order};
    return true;
}

static bool better_float(const void *bytes, size_t size, enum element_type type, bool big_endian,
                         struct advice *better)
{
    const enum element_order swapped = big_endian ? ELEMENT_ORDER_LITTLE : ELEMENT_ORDER_BIG;
    struct view now = {bytes, size / element_formats[type].size, type, big_endian};
    struct view other = now, f64 = {bytes, size / sizeof(double), ELEMENT_F64, big_endian},
                other64 = f64;
    struct exponents all, halves[2];
    bool doubtful, round;

    count_exponents(&now, &all, halves);
    other.big_endian = other64.big_endian = !big_endian;
    doubtful = spread(&all) || spread(&halves[0]) || spread(&halves[1]);
    round = all.all >= ENOUGH &&
            (all.subnormal >= all.all / 10 * 9 || halves[0].all == 0 || halves[1].all == 0);
    if (!doubtful && !round)
        return false;
    if (makes_sense(&other, !doubtful))
        return advise(better, false, type, swapped);
    if (type == ELEMENT_F32 && makes_sense(&f64, !doubtful))
        return advise(better, true, ELEMENT_F64, ELEMENT_ORDER_UNSAID);
    if (type == ELEMENT_F32 && makes_sense(&other64, !doubtful))
        return advise(better, true, ELEMENT_F64, swapped);
    return false;
}

/* To NumPy, i8 and u8 have 8 bytes. Such integers are mostly below 2^32: their upper bytes are all
   alike, and the lowest differ. */
static bool better_integer(const unsigned char *bytes, size_t size, enum element_type type,
                           struct advice *better)
{
    enum { WIDE = 8, UPPER = 4 };
    const bool is_signed = type == ELEMENT_I8;
    size_t groups = size / WIDE, small[2] = {0}, different[2] = {0};
    bool seen[2][256] = {{false}};

    if (type != ELEMENT_I8 && type != ELEMENT_U8)
        return false;
    for (size_t i = 0; i < groups; i++) {
        const unsigned char *p = bytes + i * WIDE;

        for (size_t big = 0; big < 2; big++) {
            const unsigned char *upper = p + (big ? 0 : WIDE - UPPER);
            unsigned char low = p[big ? WIDE - 1 : 0];

            small[big] += (upper[0] == 0 || (is_signed && upper[0] == UINT8_MAX)) &&
                          memcmp(upper, upper + 1, UPPER - 1) == 0;
            different[big] += !seen[big][low];
            seen[big][low] = true;
        }
    }
    if (groups < ENOUGH)
        return false;
    for (size_t big = 0; big < 2; big++)
        if ((double)small[big] >= TOGETHER_LEAST * (double)groups && different[big] >= 16 &&
            different[1 - big] < different[big] / 2)
            return advise(better, true, is_signed ? ELEMENT_I64 : ELEMENT_U64,
                          big ? ELEMENT_ORDER_BIG : ELEMENT_ORDER_UNSAID);
    return false;
}

bool plausibility_better(const void *bytes, size_t size, enum element_type type, bool big_endian,
                         struct advice *better)
{
    if (!element_is_float(type))
        return better_integer(bytes, size, type, better);
    return better_float(bytes, size, type, big_endian, better);
}

/* Among random bits, one f32 in 256 is a NaN, 4 of the elements looked at. */
#define NANS_LEAST 3
#define NANS_KEPT 64

bool plausibility_nans(const void *bytes, size_t size, enum element_type type, bool big_endian)
{
    const struct element_format *format = &element_formats[type];
    struct view v = {bytes, size / format->size, type, big_endian};
    uint64_t all = (UINT64_C(1) << (8 * format->size - 1)) - 1; /* but the sign */
    uint64_t infinity = all >> (format->significant_bits - 1) << (format->significant_bits - 1);
    uint64_t kept[NANS_KEPT];
    size_t nans = 0, different = 0;

    if (!element_is_float(type))
        return false;
    for (size_t i = 0; i < v.count && different < NANS_KEPT; i++) {
        uint64_t bits = load_bits(&v, i) & all;
        size_t k = 0;

        if (bits <= infinity)
            continue;
        nans++;
        /* The NaNs that calculations and people write: the quiet one, the first and the last. */
        if (bits == infinity + 1 || bits == infinity + (all - infinity + 1) / 2 || bits == all)
            continue;
        while (k < different && kept[k] != bits)
            k++;
        if (k == different)
            kept[different++] = bits;
    }
    return different >= NANS_LEAST && different >= nans - nans / 4;
}
