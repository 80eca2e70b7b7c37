#include "config.h"

#include "lib/data_gen.h"

#include <math.h>
#include <string.h>

static const struct {
    unsigned bits, exponent_bits, fraction_bits;
} formats[] = {
    [ELEMENT_F32] = {32, 8, 23},
    [ELEMENT_F64] = {64, 11, 52},
    [ELEMENT_F16] = {16, 5, 10},
    [ELEMENT_BF16] = {16, 8, 7},
};
_Static_assert(sizeof formats / sizeof *formats == ELEMENT_FLOATS, "a row for each type");

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

void rng_seed(struct rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        r->s[i] = z ^ z >> 31;
    }
}

uint64_t rng_next(struct rng *r)
{
    uint64_t result = rotate(r->s[1] * 5, 7) * 9;
    uint64_t shifted = r->s[1] << 17;

    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= shifted;
    r->s[3] = rotate(r->s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
    return rng_next(r) % bound;
}

double rng_unit(struct rng *r)
{
    return ldexp((double)(rng_next(r) >> 11), -53);
}

void rng_shuffle(struct rng *r, void *data, size_t n, size_t size)
{
    unsigned char *bytes = data, hand[64];

    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)rng_below(r, i);

        memcpy(hand, bytes + (i - 1) * size, size);
        memmove(bytes + (i - 1) * size, bytes + j * size, size);
        memcpy(bytes + j * size, hand, size);
    }
}

unsigned data_fraction_bits(enum element_type type)
{
    return formats[type].fraction_bits;
}

unsigned data_exponent_bits(enum element_type type)
{
    return formats[type].exponent_bits;
}

unsigned data_bits(enum element_type type)
{
    return formats[type].bits;
}

uint64_t data_pattern(enum element_type type, const void *data, size_t i)
{
    const unsigned char *bytes = data;
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (formats[type].bits) {
    case 16:
        memcpy(&two, bytes + 2 * i, 2);
        return two;
    case 32:
        memcpy(&four, bytes + 4 * i, 4);
        return four;
    default:
        memcpy(&eight, bytes + 8 * i, 8);
        return eight;
    }
}

void data_put_pattern(enum element_type type, void *data, size_t i, uint64_t pattern)
{
    unsigned char *bytes = data;
    uint16_t two = (uint16_t)pattern;
    uint32_t four = (uint32_t)pattern;

    switch (formats[type].bits) {
    case 16:
        memcpy(bytes + 2 * i, &two, 2);
        break;
    case 32:
        memcpy(bytes + 4 * i, &four, 4);
        break;
    default:
        memcpy(bytes + 8 * i, &pattern, 8);
    }
}

void data_put_fields(enum element_type type, void *data, size_t i, unsigned sign, unsigned exponent,
                     uint64_t fraction)
{
    data_put_pattern(type, data, i,
                     (uint64_t)sign << (formats[type].bits - 1) |
                         (uint64_t)exponent << formats[type].fraction_bits | fraction);
}

/* The exponent field that stands for 2^0. */
static int bias(enum element_type type)
{
    return (1 << (formats[type].exponent_bits - 1)) - 1;
}

/* The exponent field of infinities and NaNs. */
static unsigned field_special(enum element_type type)
{
    return (1u << formats[type].exponent_bits) - 1;
}

static uint64_t fraction_ones(enum element_type type)
{
    return ((uint64_t)1 << formats[type].fraction_bits) - 1;
}

double data_value(enum element_type type, const void *data, size_t i)
{
    uint64_t pattern = data_pattern(type, data, i);
    uint64_t fraction = pattern & fraction_ones(type);
    unsigned field = (unsigned)(pattern >> formats[type].fraction_bits) & field_special(type);
    int fraction_bits = (int)formats[type].fraction_bits;
    double x;

    if (field == field_special(type))
        x = fraction ? (double)NAN : (double)INFINITY;
    else if (field == 0)
        x = ldexp((double)fraction, 1 - bias(type) - fraction_bits);
    else
        x = ldexp((double)(fraction + fraction_ones(type) + 1),
                  (int)field - bias(type) - fraction_bits);
    return pattern >> (formats[type].bits - 1) ? -x : x;
}

void data_put(enum element_type type, void *data, size_t i, double x)
{
    int fraction_bits = (int)formats[type].fraction_bits;
    int exponent; /* |x| in [2^(exponent - 1), 2^exponent) */
    int lowest = 1 - bias(type);
    uint64_t mantissa;

    frexp(x, &exponent);
    if (x == 0 || exponent - 1 < lowest)
        exponent = lowest + 1;
    if (exponent - 1 > bias(type)) {
        data_put_fields(type, data, i, signbit(x) != 0, field_special(type) - 1,
                        fraction_ones(type));
        return;
    }
    mantissa = (uint64_t)ldexp(fabs(x), fraction_bits - (exponent - 1));
    /* The hidden bit counts as one of the exponent field; a subnormal has none. */
    data_put_pattern(type, data, i,
                     (uint64_t)(signbit(x) != 0) << (formats[type].bits - 1) |
                         (((uint64_t)(exponent - 1 - lowest) << fraction_bits) + mantissa));
}

void data_put_special(enum element_type type, void *data, size_t i, enum data_special special)
{
    uint64_t quiet = (uint64_t)1 << (formats[type].fraction_bits - 1);
    unsigned field = field_special(type);

    switch (special) {
    case DATA_QUIET_NAN:
        data_put_fields(type, data, i, 0, field, quiet);
        break;
    case DATA_NEGATIVE_NAN:
        data_put_fields(type, data, i, 1, field, quiet | 5);
        break;
    case DATA_SIGNALING_NAN:
        data_put_fields(type, data, i, 0, field, 1);
        break;
    case DATA_POSITIVE_INFINITY:
        data_put_fields(type, data, i, 0, field, 0);
        break;
    case DATA_NEGATIVE_INFINITY:
        data_put_fields(type, data, i, 1, field, 0);
        break;
    case DATA_MINUS_ZERO:
    case DATA_SPECIALS:
        data_put_fields(type, data, i, 1, 0, 0);
        break;
    }
}

const char *data_special_name(enum data_special special)
{
    static const char *const names[DATA_SPECIALS] = {
        [DATA_QUIET_NAN] = "quiet NaN",         [DATA_NEGATIVE_NAN] = "negative NaN",
        [DATA_SIGNALING_NAN] = "signaling NaN", [DATA_POSITIVE_INFINITY] = "+inf",
        [DATA_NEGATIVE_INFINITY] = "-inf",      [DATA_MINUS_ZERO] = "-0",
    };
    return names[special];
}

const char *data_kind_name(enum data_kind kind)
{
    static const char *const names[DATA_KINDS] = {
        [DATA_UNIFORM] = "uniform",
        [DATA_NORMAL] = "normal",
        [DATA_RANGE20] = "range 2^20",
        [DATA_RANGE60] = "range 2^60",
        [DATA_RANGE250] = "range 2^250",
        [DATA_FULL_RANGE] = "full range",
        [DATA_SUBNORMAL] = "subnormals",
        [DATA_SPARSE] = "sparse",
        [DATA_ZEROS] = "zeros",
        [DATA_NEGATIVE_ZERO] = "negative zeros",
        [DATA_INTEGERS] = "integers",
        [DATA_NEGATIVE] = "negative",
        [DATA_CONSTANT] = "constant",
        [DATA_CANCEL] = "cancellation",
        [DATA_HALFWAY] = "halfway",
        [DATA_OVER_AND_BACK] = "over and back",
        [DATA_NEAR_MAX] = "near the maximum",
        [DATA_ALL_ONES] = "all ones",
        [DATA_DRIFT] = "drift",
    };
    return names[kind];
}

/* Random sign and fraction; the exponent within a range of `width` around 2^0. */
static void put_range(enum element_type type, void *out, size_t i, struct rng *r, unsigned width)
{
    unsigned fields = field_special(type);
    unsigned lowest;

    if (width > fields)
        width = fields;
    lowest = (unsigned)bias(type) > width / 2 ? (unsigned)bias(type) - width / 2 : 0;
    if (lowest + width > fields)
        lowest = fields - width;
    data_put_fields(type, out, i, rng_next(r) & 1, lowest + (unsigned)rng_below(r, width),
                    rng_next(r) & fraction_ones(type));
}

/* Element i as minus element j. */
static void put_minus(enum element_type type, void *out, size_t i, size_t j)
{
    data_put_pattern(type, out, i,
                     data_pattern(type, out, j) ^ (uint64_t)1 << (formats[type].bits - 1));
}

/* Pairs that cancel from element `begin` on; an odd one out becomes the smallest subnormal. */
static void fill_cancelling(enum element_type type, void *out, size_t begin, size_t n,
                            struct rng *r, unsigned width)
{
    size_t i = begin;

    for (; i + 2 <= n; i += 2) {
        put_range(type, out, i, r, width);
        put_minus(type, out, i + 1, i);
    }
    if (i < n)
        data_put_fields(type, out, i, rng_next(r) & 1, 0, 1);
}

/* A number of at most 53 bits and half of its last place, give or take something tiny or nothing:
   to the nearest means up, down or to even. */
static void fill_halfway(enum element_type type, void *out, size_t n, struct rng *r)
{
    int top = type == ELEMENT_F16 ? 15 : (int)rng_below(r, 60);
    double parts[6];
    size_t count = 0;
    double sign = rng_next(r) & 1 ? -1 : 1;

    parts[count++] = sign * ldexp(1 + (double)rng_below(r, 128) / 128, top);
    parts[count++] = sign * ldexp(1, top - 53);
    if (rng_next(r) & 1)
        parts[count++] = sign * ldexp(1, top - 52);
    switch (rng_below(r, 3)) {
    case 0:
        parts[count++] = ldexp(1, top - 54 - (int)rng_below(r, 70));
        break;
    case 1:
        parts[count++] = -ldexp(1, top - 54 - (int)rng_below(r, 70));
        break;
    }
    if (count > n)
        count = n;
    for (size_t i = 0; i < count; i++)
        data_put(type, out, i, parts[i]);
    for (size_t i = count; i < n; i += 2) {
        put_range(type, out, i, r, 40);
        if (i + 1 < n)
            put_minus(type, out, i + 1, i);
        else
            data_put_fields(type, out, i, 0, 0, 0);
    }
    rng_shuffle(r, out, n, formats[type].bits / 8);
}

void data_fill(enum data_kind kind, enum element_type type, void *out, size_t n, uint64_t seed)
{
    struct rng rng, *r = &rng;
    const unsigned fields = field_special(type);
    const uint64_t ones = fraction_ones(type);
    unsigned sign, exponent;

    rng_seed(r, seed * DATA_KINDS + (uint64_t)kind);
    sign = rng_next(r) & 1;
    exponent = 1 + (unsigned)rng_below(r, fields - 1);

    if (kind == DATA_CANCEL) {
        fill_cancelling(type, out, 0, n, r, 250);
        if (n > 2 && n % 2 == 0) {
            /* A pair makes room for a rest, too small to show beside anything else. */
            data_put_fields(type, out, 0, sign, 0, 3);
            data_put_fields(type, out, 1, 0, 0, 0);
        }
        rng_shuffle(r, out, n, formats[type].bits / 8);
        return;
    }
    if (kind == DATA_HALFWAY) {
        fill_halfway(type, out, n, r);
        return;
    }

    for (size_t i = 0; i < n; i++) {
        double x = 0;

        switch (kind) {
        case DATA_UNIFORM:
            data_put(type, out, i, rng_unit(r));
            break;
        case DATA_NORMAL:
            for (int j = 0; j < 12; j++)
                x += rng_unit(r);
            data_put(type, out, i, x - 6);
            break;
        case DATA_RANGE20:
            put_range(type, out, i, r, 20);
            break;
        case DATA_RANGE60:
            put_range(type, out, i, r, 60);
            break;
        case DATA_RANGE250:
            put_range(type, out, i, r, 250);
            break;
        case DATA_FULL_RANGE:
            put_range(type, out, i, r, fields);
            break;
        case DATA_SUBNORMAL:
            data_put_fields(type, out, i, rng_next(r) & 1, 0, rng_next(r) & ones);
            break;
        case DATA_SPARSE:
            if (rng_below(r, 50) == 0)
                put_range(type, out, i, r, 30);
            else
                data_put_fields(type, out, i, rng_next(r) & 1, 0, 0);
            break;
        case DATA_ZEROS:
            data_put_fields(type, out, i, rng_next(r) & 1, 0, 0);
            break;
        case DATA_NEGATIVE_ZERO:
            data_put_fields(type, out, i, 1, 0, 0);
            break;
        case DATA_INTEGERS:
            data_put(type, out, i, (double)rng_below(r, 2001) - 1000);
            break;
        case DATA_NEGATIVE:
            data_put(type, out, i, -1 - 3 * rng_unit(r));
            break;
        case DATA_CONSTANT:
            if (i == 0)
                put_range(type, out, i, r, 200);
            else
                data_put_pattern(type, out, i, data_pattern(type, out, 0));
            break;
        case DATA_OVER_AND_BACK:
            /* The first half one way, the second half back by not quite as much. */
            if (i < n / 2)
                data_put_fields(type, out, i, sign, fields - 1, ones - rng_below(r, 8));
            else if (i < n / 2 * 2)
                data_put_fields(type, out, i, !sign, fields - 1, ones - rng_below(r, 8));
            else
                put_range(type, out, i, r, 20);
            break;
        case DATA_NEAR_MAX:
            data_put_fields(type, out, i, sign, fields - 1 - (unsigned)rng_below(r, 3),
                            rng_next(r) & ones);
            break;
        case DATA_ALL_ONES:
            data_put_fields(type, out, i, sign, exponent, ones);
            break;
        case DATA_DRIFT: {
            unsigned step = (unsigned)(i / 389 + seed) * (fields / 5 + 3);
            unsigned field = (step + (unsigned)rng_below(r, 12)) % fields;
            data_put_fields(type, out, i, rng_next(r) & 1, field, rng_next(r) & ones);
            break;
        }
        case DATA_CANCEL: /* above */
        case DATA_HALFWAY:
        case DATA_KINDS:
            break;
        }
    }
}

/* The bits of any of n elements. */
static uint64_t any_of(struct rng *rng, enum element_type type, const unsigned char *data, size_t n)
{
    return order_load(type, data + rng_below(rng, n) * element_size(type));
}

void data_choose_missing(struct rng *rng, enum element_type type, void *data, size_t n,
                         struct missing *missing)
{
    static const unsigned values[] = {1, 2, 4, 30};
    static const unsigned percent[] = {0, 1, 30, 99};
    const size_t size = element_size(type);
    const uint64_t kind = rng_below(rng, 8), often = percent[rng_below(rng, 4)];
    unsigned char element[8] = {0};
    struct missing_range range;
    uint64_t a, b;

    *missing = (struct missing){.count = 0};
    if (kind < 4) {
        for (unsigned i = 0; i < values[kind]; i++)
            (void)missing_add_bits(missing, type, any_of(rng, type, data, n));
    } else if (kind == 4 && missing_add(missing, type, "nan")) {
        memset(element, 0xff, sizeof element);
    } else if (kind == 5) {
        a = order_key(type, any_of(rng, type, data, n));
        b = order_key(type, any_of(rng, type, data, n));
        range.first = missing_equal(type, a < b ? a : b).first;
        range.last = missing_equal(type, a < b ? b : a).last;
        range = missing_numbers(&range, type);
        if (range.first <= range.last)
            (void)missing_add_range(missing, range.first, range.last);
    } else if (kind == 6) {
        (void)missing_add(missing, type, "nan");
        (void)missing_add_range(missing, order_least(type), order_greatest(type));
    } else {
        (void)missing_add(missing, type, "0");
    }
    if (kind < 4 && missing->count > 0)
        element_store(size, element, missing->value);
    for (size_t i = 0; i < n && often > 0; i++)
        if (rng_below(rng, 100) < often)
            memcpy((unsigned char *)data + i * size, element, size);
}
