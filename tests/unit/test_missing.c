/*
 * Missing values: which elements a text or a range stands for, by numbers that are decoded here; and
 * the kernels of every instruction set that leave them out, and the engine and rows along an axis that
 * do, with and without a threshold at which they split sums.
 */
/* Tags: smoke ports */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/missing.h"
#include "core/scale.h"
#include "cpu/missing.h"
#include "cpu/slices.h"
#include "engine/engine.h"
#include "lib/data_gen.h"
#include "lib/engine_workers.h"
#include "lib/reference.h"
#include "lib/reference_element.h"
#include "lib/sanitized.h"
#include "lib/tap.h"

/* The bits of element i. */
static uint64_t bits_at(enum element_type type, const unsigned char *data, size_t i)
{
    const size_t size = element_size(type);
    uint32_t four;
    uint16_t two;
    uint64_t bits = data[i * size];

    if (size == 8)
        memcpy(&bits, data + i * size, size);
    if (size == 4) {
        memcpy(&four, data + i * size, size);
        bits = four;
    }
    if (size == 2) {
        memcpy(&two, data + i * size, size);
        bits = two;
    }
    return bits;
}

static void put_bits(enum element_type type, unsigned char *data, size_t i, uint64_t bits)
{
    const size_t size = element_size(type);
    const uint32_t four = (uint32_t)bits;
    const uint16_t two = (uint16_t)bits;
    const uint8_t one = (uint8_t)bits;

    memcpy(data + i * size,
           size == 8   ? (const void *)&bits
           : size == 4 ? (const void *)&four
           : size == 2 ? (const void *)&two
                       : (const void *)&one,
           size);
}

/* The number that an element stands for. */
static struct reference_value number(enum element_type type, const void *data, size_t i)
{
    if (element_is_integer(type) || element_size(type) == 1)
        return reference_value(type, data, i);
    return (struct reference_value){.is_float = true, .x = data_value(type, data, i)};
}

static bool is_nan(const struct reference_value *a)
{
    return a->is_float && isnan(a->x);
}

/* Whether a == b, by C's ==. */
static bool equal(const struct reference_value *a, const struct reference_value *b)
{
    if (a->is_float)
        return a->x == b->x;
    return a->magnitude == b->magnitude && (a->negative == b->negative || a->magnitude == 0);
}

/* The element with these bits, alone. */
static struct reference_value number_of(enum element_type type, uint64_t bits)
{
    unsigned char bytes[8];

    put_bits(type, bytes, 0, bits);
    return number(type, bytes, 0);
}

/* Texts, and the numbers of a type that they stand for. */
struct text {
    enum element_type type;
    const char *text;
    bool lacks; /* the type has no such number */
    struct reference_value value;
};

#define HAS(type, text, number)             \
    {                                       \
        type, text, false,                  \
        {                                   \
            .is_float = true, .x = (number) \
        }                                   \
    }
#define HAS_INTEGER(type, text, negative, magnitude) \
    {                                                \
        type, text, false,                           \
        {                                            \
            false, negative, magnitude, 0            \
        }                                            \
    }
#define LACKS(type, text) \
    {                     \
        type, text, true, \
        {                 \
            0             \
        }                 \
    }

static const struct text texts[] = {
    HAS_INTEGER(ELEMENT_U8, "0", false, 0),
    HAS_INTEGER(ELEMENT_U8, "-0", false, 0),
    HAS_INTEGER(ELEMENT_U8, "255", false, 255),
    HAS_INTEGER(ELEMENT_U8, "2.55e2", false, 255),
    LACKS(ELEMENT_U8, "-1"),
    LACKS(ELEMENT_U8, "256"),
    LACKS(ELEMENT_U8, "nan"),
    LACKS(ELEMENT_U8, "inf"),
    HAS_INTEGER(ELEMENT_I8, "-128", true, 128),
    HAS_INTEGER(ELEMENT_I8, "127", false, 127),
    LACKS(ELEMENT_I8, "128"),
    LACKS(ELEMENT_I8, "-129"),
    HAS_INTEGER(ELEMENT_BOOL, "0", false, 0),
    HAS_INTEGER(ELEMENT_BOOL, "1", false, 1),
    LACKS(ELEMENT_BOOL, "2"),
    LACKS(ELEMENT_BOOL, "-1"),
    HAS_INTEGER(ELEMENT_I16, "-9999", true, 9999),
    HAS_INTEGER(ELEMENT_I16, "-32768", true, 32768),
    HAS_INTEGER(ELEMENT_I16, "-32768.0", true, 32768),
    LACKS(ELEMENT_I16, "1.5"),
    LACKS(ELEMENT_I16, "32768"),
    HAS_INTEGER(ELEMENT_U16, "65535", false, 65535),
    LACKS(ELEMENT_U16, "65536"),
    HAS_INTEGER(ELEMENT_I32, "-2147483648", true, UINT64_C(1) << 31),
    LACKS(ELEMENT_I32, "2147483648"),
    HAS_INTEGER(ELEMENT_U32, "4294967295", false, UINT32_MAX),
    LACKS(ELEMENT_U32, "4294967296"),
    HAS_INTEGER(ELEMENT_I64, "9223372036854775807", false, INT64_MAX),
    HAS_INTEGER(ELEMENT_I64, "9223372036854775806", false, INT64_MAX - 1),
    HAS_INTEGER(ELEMENT_I64, "-9223372036854775808", true, UINT64_C(1) << 63),
    HAS_INTEGER(ELEMENT_I64, "-9223372036854775807", true, INT64_MAX),
    HAS_INTEGER(ELEMENT_I64, "-1e18", true, UINT64_C(1000000000000000000)),
    LACKS(ELEMENT_I64, "9223372036854775808"),
    LACKS(ELEMENT_I64, "-9223372036854775809"),
    LACKS(ELEMENT_I64, "1e19"),
    HAS_INTEGER(ELEMENT_U64, "18446744073709551615", false, UINT64_MAX),
    HAS_INTEGER(ELEMENT_U64, "18446744073709551614", false, UINT64_MAX - 1),
    HAS_INTEGER(ELEMENT_U64, "1e19", false, UINT64_C(10000000000000000000)),
    HAS_INTEGER(ELEMENT_U64, "0x20000000000001", false, (UINT64_C(1) << 53) + 1),
    HAS_INTEGER(ELEMENT_U64, "0xffffffffffffffff", false, UINT64_MAX),
    HAS_INTEGER(ELEMENT_I64, "-0x7fffffffffffffff", true, INT64_MAX),
    HAS_INTEGER(ELEMENT_U64, "0x1p3", false, 8),
    HAS_INTEGER(ELEMENT_U64, "0xfffffffffffffffdp+0", false, UINT64_MAX - 2),
    HAS_INTEGER(ELEMENT_I64, "-0x2cf8758d8dfb809dp+1", true, UINT64_C(0x59f0eb1b1bf7013a)),
    HAS_INTEGER(ELEMENT_U64, "0x4000000000000004p-2", false, (UINT64_C(1) << 60) + 1),
    HAS_INTEGER(ELEMENT_U8, "0X1f", false, 31),
    HAS_INTEGER(ELEMENT_I64, "-0x1p+63", true, UINT64_C(1) << 63),
    HAS_INTEGER(ELEMENT_U64, "0xf.0000000000001p+56", false, UINT64_C(0xf00000000000010)),
    HAS_INTEGER(ELEMENT_I64, "0x1.00000000000008p53", false, (UINT64_C(1) << 53) + 1),
    HAS_INTEGER(ELEMENT_U64, "0x0.FFFFFFFFFFFFFFFFp64", false, UINT64_MAX),
    HAS_INTEGER(ELEMENT_U64, "0x0000000000000000000000001.00", false, 1),
    HAS_INTEGER(ELEMENT_U64, "0x1.0000000000001p+63", false, (UINT64_C(1) << 63) + 2048),
    HAS_INTEGER(ELEMENT_I64, "9007199254740993.0", false, (UINT64_C(1) << 53) + 1),
    HAS_INTEGER(ELEMENT_I64, "-9223372036854775807.000", true, INT64_MAX),
    HAS_INTEGER(ELEMENT_I64, "9223372036854775806e0", false, INT64_MAX - 1),
    HAS_INTEGER(ELEMENT_U64, "1844674407370955161.5e1", false, UINT64_MAX),
    HAS_INTEGER(ELEMENT_U64, "120030.00e2", false, 12003000),
    HAS_INTEGER(ELEMENT_U64, "5000e-3", false, 5),
    HAS_INTEGER(ELEMENT_U64, "0.0e-9", false, 0),
    LACKS(ELEMENT_I64, "5.00000000000000000001"),
    LACKS(ELEMENT_I64, "1e-400"),
    LACKS(ELEMENT_U64, "1844674407370955161.6e1"),
    LACKS(ELEMENT_U64, "5001e-3"),
    LACKS(ELEMENT_I64, "nan"),
    LACKS(ELEMENT_I64, "inf"),
    LACKS(ELEMENT_U64, "0x10000000000000000"),
    LACKS(ELEMENT_U64, "0xfffffffffffffffdp+1"),
    LACKS(ELEMENT_U64, "0xfffffffffffffffdp-1"),
    LACKS(ELEMENT_U64, "0xf.0000000000001p+48"),
    LACKS(ELEMENT_U64, "0x1.8"),
    LACKS(ELEMENT_U64, "18446744073709551616"),
    LACKS(ELEMENT_U64, "1e20"),
    LACKS(ELEMENT_U64, "-1"),
    HAS(ELEMENT_F32, "0", 0.0),
    HAS(ELEMENT_F32, "-0", 0.0),
    HAS(ELEMENT_F32, "-9999", -9999.0),
    HAS(ELEMENT_F32, "1e20", 0x1.5af1d8p66),
    HAS(ELEMENT_F32, "0.1", 0x1.99999ap-4),
    HAS(ELEMENT_F32, "1.00000005960464477540", 0x1.000002p0), /* just above the middle */
    HAS(ELEMENT_F32, "16777217", 0x1p24),
    HAS(ELEMENT_F32, "9.96921e36", 0x1.ep122),
    HAS(ELEMENT_F32, "1e-45", 0x1p-149),
    HAS(ELEMENT_F32, "inf", INFINITY),
    HAS(ELEMENT_F32, "-inf", -INFINITY),
    HAS(ELEMENT_F32, "nan", NAN),
    LACKS(ELEMENT_F32, "1e39"),
    LACKS(ELEMENT_F32, "-3.5e38"),
    HAS(ELEMENT_F64, "1e39", 1e39),
    HAS(ELEMENT_F64, "0.1", 0.1),
    HAS(ELEMENT_F64, "-0", 0.0),
    HAS(ELEMENT_F64, "nan", NAN),
    HAS(ELEMENT_F64, "-inf", -INFINITY),
    HAS(ELEMENT_F64, "0x1p-1074", 0x1p-1074),
    HAS(ELEMENT_F64, "9007199254740993", 0x1p53),
    HAS(ELEMENT_F16, "65504", 65504.0),
    HAS(ELEMENT_F16, "65519", 65504.0),
    LACKS(ELEMENT_F16, "65520"),
    HAS(ELEMENT_F16, "inf", INFINITY),
    HAS(ELEMENT_F16, "0.1", 0x1.998p-4),
    HAS(ELEMENT_F16, "-0", 0.0),
    HAS(ELEMENT_F16, "nan", NAN),
    HAS(ELEMENT_BF16, "-9999", -9984.0),
    HAS(ELEMENT_BF16, "3.39e38", 0x1.fep127),
    LACKS(ELEMENT_BF16, "3.4e38"),
    LACKS(ELEMENT_BF16, "1e39"),
    HAS(ELEMENT_BF16, "nan", NAN),
    HAS(ELEMENT_F8E4M3, "448", 448.0),
    HAS(ELEMENT_F8E4M3, "-0", 0.0),
    HAS(ELEMENT_F8E4M3, "0.3", 0.3125),
    LACKS(ELEMENT_F8E4M3, "inf"),
    LACKS(ELEMENT_F8E4M3, "-inf"),
    LACKS(ELEMENT_F8E4M3, "1000"),
    HAS(ELEMENT_F8E4M3, "nan", NAN),
    HAS(ELEMENT_F8E5M2, "57344", 57344.0),
    HAS(ELEMENT_F8E5M2, "inf", INFINITY),
    LACKS(ELEMENT_F8E5M2, "1e6"),
    HAS(ELEMENT_F8E5M2, "nan", NAN),
};

/* Whether the set has the number, and no other, among all elements of up to 16 bits; of others
   among those around the number, its negative and zero, and random ones. */
static bool holds_of_all(const struct missing *m, const struct text *t)
{
    const unsigned bits = 8 * (unsigned)element_size(t->type);
    const uint64_t last = UINT64_MAX >> (64 - bits);
    struct rng rng;

    rng_seed(&rng, 7);
    for (uint64_t i = 0; i <= (bits <= 16 ? last : 20000); i++) {
        const uint64_t near = order_bits(t->type, m->ranges[0].first) + rng_below(&rng, 9) - 4;
        const uint64_t pattern = bits <= 16   ? i
                                 : i % 4 == 0 ? near & last
                                 : i % 4 == 1 ? near ^ (last / 2 + 1)
                                 : i % 4 == 2 ? (rng_below(&rng, 9) - 4) & last
                                              : rng_next(&rng) & last;
        const struct reference_value x = number_of(t->type, pattern & last);
        const bool missing = is_nan(&t->value) ? is_nan(&x) : equal(&x, &t->value);

        if (missing_has(m, order_key(t->type, pattern & last)) != missing)
            return false;
    }
    return true;
}

static void test_texts(void)
{
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct text *t = &texts[i];
        const struct missing_values values = {1, {t->text}};
        struct missing m = {0};

        tap_case(&family, missing_text_is_valid(t->text), "%s is a number", t->text);
        tap_case(&family, missing_add_values(&m, t->type, &values) == (t->lacks ? t->text : NULL),
                 "%s of %s", t->text, element_name(t->type));
        tap_case(&family, (m.count == 0) == t->lacks, "%s of %s: ranges", t->text,
                 element_name(t->type));
        if (t->lacks)
            continue;
        tap_case(&family, holds_of_all(&m, t), "%s of %s: elements", t->text,
                 element_name(t->type));

        const struct reference_value value = number_of(t->type, m.value);

        tap_case(&family, is_nan(&t->value) ? is_nan(&value) : equal(&value, &t->value),
                 "%s of %s: the value to write", t->text, element_name(t->type));
    }
    tap_case(&family,
             !missing_text_is_valid("none") && !missing_text_is_valid("") &&
                 !missing_text_is_valid("1,2"),
             "texts that are no numbers");
    tap_family_end(&family, "texts");
}

/* Random ranges of keys of one byte, beside a table of all keys. */
static void test_ranges(void)
{
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 11);
    for (int round = 0; round < 2000; round++) {
        struct missing m = {0};
        bool has[256] = {false};
        const uint64_t widest = 1 + rng_below(&rng, round % 3 == 0 ? 60 : 4);

        for (int add = 0; add < 60; add++) {
            const uint64_t first = rng_below(&rng, 256);
            const uint64_t last =
                first + rng_below(&rng, widest) < 255 ? first + rng_below(&rng, widest) : 255;
            bool after[256];
            unsigned runs = 0, agree = 0;

            memcpy(after, has, sizeof has);
            for (uint64_t k = first; k <= last && k < 256; k++)
                after[k] = true;
            for (unsigned k = 0; k < 256; k++)
                runs += after[k] && (k == 0 || !after[k - 1]);
            if (last < first)
                continue;
            if (runs > MISSING_RANGES_MAX) {
                tap_case(&family, !missing_add_range(&m, first, last), "round %d: full", round);
            } else {
                tap_case(&family, missing_add_range(&m, first, last), "round %d: room", round);
                memcpy(has, after, sizeof has);
                tap_case(&family, m.count == runs, "round %d: %u ranges, not %u", round, m.count,
                         runs);
            }
            for (unsigned k = 0; k < 256; k++)
                agree += missing_has(&m, k) == has[k];
            tap_case(&family, agree == 256, "round %d, add %d: keys", round, add);
        }
    }
    tap_family_end(&family, "ranges");

    struct missing all = {0};

    tap_ok(missing_add_range(&all, 0, UINT64_MAX) && missing_add_range(&all, 5, UINT64_MAX) &&
               missing_add_range(&all, 0, 0) && all.count == 1 && missing_has(&all, 0) &&
               missing_has(&all, UINT64_MAX),
           "all keys of 64 bits");
}

#define N_MAX 3000

/* Sets as they are met: up to four values, NaNs, and what lies beyond a valid range, which is given
   as elements of the data, whose numbers are compared here. */
struct drawn {
    unsigned values;
    struct reference_value value[4];
    bool ranged;
    struct reference_value low, high; /* numbers beyond these are missing; NaNs are not */
};

static bool is_missing(const struct drawn *d, const struct reference_value *x)
{
    for (unsigned i = 0; i < d->values; i++)
        if (is_nan(&d->value[i]) ? is_nan(x) : equal(&d->value[i], x))
            return true;
    return d->ranged && !is_nan(x) &&
           ((!equal(x, &d->low) && reference_compare(x, &d->low) < 0) ||
            (!equal(x, &d->high) && reference_compare(x, &d->high) > 0));
}

/* Draws a set out of the data. False where it is empty. */
static bool draw(struct rng *rng, enum element_type type, const unsigned char *data, size_t n,
                 struct drawn *d, struct missing *m)
{
    const bool integer = element_is_integer(type);
    const uint64_t zero = order_sign(type);
    const bool nans = rng_below(rng, 4) == 0;

    /* Kernels have a way of their own for one value. */
    *d = (struct drawn){.values = rng_below(rng, 2) ? 1 : (unsigned)rng_below(rng, 5),
                        .ranged = !nans && rng_below(rng, 3) == 0};
    *m = (struct missing){0};
    for (unsigned i = 0; i < d->values; i++) {
        size_t at = (size_t)rng_below(rng, n);

        /* NaNs alone are a case of their own. */
        for (size_t k = 0; nans && k < n; k++) {
            const struct reference_value x = number(type, data, k);

            at = is_nan(&x) ? k : at;
        }
        d->value[i] = number(type, data, at);
        if (!missing_add_bits(m, type, bits_at(type, data, at)))
            return false;
    }
    if (d->ranged) {
        const size_t a = (size_t)rng_below(rng, n), b = (size_t)rng_below(rng, n);
        uint64_t low = order_key(type, bits_at(type, data, a));
        uint64_t high = order_key(type, bits_at(type, data, b));

        d->low = number(type, data, a);
        d->high = number(type, data, b);
        if (is_nan(&d->low) || is_nan(&d->high))
            return false;
        low -= !integer && low == zero; /* both zeros are valid */
        high += !integer && high + 1 == zero;
        if (low > order_least(type) && !missing_add_range(m, order_least(type), low - 1))
            return false;
        if (high < order_greatest(type) && !missing_add_range(m, high + 1, order_greatest(type)))
            return false;
    }
    return m->count > 0;
}

/* Fills data with numbers of which many are equal: with any bits, zeros of both signs and NaNs among
   them, or of much the same magnitude. */
static void fill(struct rng *rng, enum element_type type, unsigned char *data, size_t n)
{
    uint64_t few[8], base = 0, varied = UINT64_MAX;
    uint64_t rare = 1 + rng_below(rng, 60);

    if (rng_below(rng, 2)) {
        base = rng_next(rng);
        varied = order_sign(type) | ((UINT64_C(1) << 4 * element_size(type)) - 1);
        rare = 1 + rng_below(rng, 3);
    }
    for (size_t k = 0; k < 8; k++)
        few[k] = rng_next(rng);
    few[0] = 0;
    few[1] = order_sign(type); /* -0, or the least integer */
    few[2] = few[1] - 1;       /* a NaN, or the greatest one */
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = rng_below(rng, rare) == 0 ? few[rng_below(rng, 8)] : rng_next(rng);

        put_bits(type, data, i, base ^ (bits & varied));
    }
}

/* The kernels beside a loop over numbers. */
static void test_leaving_out(const struct cpu_kernels *kernels, enum element_type type)
{
    static unsigned char data[8 * N_MAX + 8], expected[8 * N_MAX], found[8 * N_MAX];
    static size_t place[N_MAX];
    struct tap_family family = {0};
    const size_t size = element_size(type);
    struct rng rng;

    rng_seed(&rng, 3);
    for (int round = 0; round < (SANITIZED ? 75 : 300); round++) {
        const size_t n = 1 + (size_t)rng_below(&rng, round % 2 ? N_MAX : 100);
        unsigned char *x = data + rng_below(&rng, 2) * size;
        struct cpu_missing quick;
        struct missing set;
        struct drawn d;
        size_t present = 0, kept;
        bool good = true;

        fill(&rng, type, x, n);
        if (!draw(&rng, type, x, n, &d, &set))
            continue;
        for (size_t i = 0; i < n; i++) {
            const struct reference_value v = number(type, x, i);

            if (!is_missing(&d, &v)) {
                memcpy(expected + present * size, x + i * size, size);
                place[present++] = i;
            }
        }
        cpu_missing_set(&quick, kernels, type, &set);
        memset(found, 0x5a, sizeof found);
        kept = quick.leave_out(&quick, found, x, n);
        tap_case(&family,
                 kept == present && (kept == n || memcmp(found, expected, present * size) == 0),
                 "round %d: %zu of %zu elements, not %zu", round, kept, n, present);
        for (size_t i = n * size; i < sizeof found; i++)
            good = good && found[i] == 0x5a;
        tap_case(&family, good, "round %d: nothing is written beyond %zu elements", round, n);
        for (size_t k = 0; k < present; k += 1 + present / 7)
            tap_case(&family, cpu_missing_find(&quick, found, x, n, k) == place[k],
                     "round %d: element %zu of those present", round, k);
    }
    tap_family_end(&family, "leaving out, %s, %s", kernels->name, element_name(type));
}

#define ENGINE_N_MAX 40000
#define WORKERS 3

/* The first field in which two partial results differ; NULL if they are equal. */
static const char *differs(const struct partial *a, const struct partial *b)
{
    uint32_t x[EXACT_DIGITS], y[EXACT_DIGITS];

    if (exact_magnitude(&a->sum, x) != exact_magnitude(&b->sum, y) || memcmp(x, y, sizeof x) != 0)
        return "sum";
    if (a->count != b->count || a->missing != b->missing || a->nan != b->nan)
        return "counts";
    if (a->positive_infinity != b->positive_infinity ||
        a->negative_infinity != b->negative_infinity)
        return "infinities";
    if (a->min_key != b->min_key || a->max_key != b->max_key)
        return "extremes";
    if (a->min_index != b->min_index || a->max_index != b->max_index ||
        a->first_nan != b->first_nan)
        return "indices";
    if (a->below_key != b->below_key)
        return "greatest below the threshold";
    return reference_moments_differs(a, b, PARTIAL_ALL);
}

/* Reduces elements one by one, as an engine is to. */
static void reduce(struct partial *p, enum element_type type, const unsigned char *x, size_t n,
                   unsigned wants, const struct drawn *d, const struct partial_split *split)
{
    struct partial sides;

    partial_clear(p);
    partial_clear(&sides);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *at = x + i * element_size(type);
        const struct reference_value v = number(type, x, i);

        if (d && is_missing(d, &v)) {
            p->count++;
            p->missing++;
            continue;
        }
        partial_take_element(p, type, at, i);
        if (wants & MOMENTS_WANTS)
            moments_take_element(p, type, at);
        if (split)
            partial_split_take(&sides, split, type, at);
    }
    if (split)
        partial_split_put(p, &sides);
}

/* A threshold among the elements, or beside them all. */
static struct partial_split draw_split(struct rng *rng, enum element_type type,
                                       const unsigned char *x, size_t n)
{
    const size_t at = (size_t)rng_below(rng, n);
    const struct reference_value v = number(type, x, at);
    const uint64_t zero = order_sign(type);
    struct partial_split split = {.all_below = rng_below(rng, 8) == 0};
    uint64_t key = order_key(type, bits_at(type, x, at));

    if (is_nan(&v))
        key = order_least(type);
    split.first = split.last_equal = key;
    if (!element_is_integer(type) && (key == zero || key + 1 == zero)) {
        split.first = zero - 1;
        split.last_equal = zero;
    } else if (rng_below(rng, 3) == 0) {
        split.last_equal = key - 1;
    }
    return split;
}

/* Chunks of any size, some of which have one element many times, in any order, by several
   workers. */
static void test_engine(const char *kernels, enum element_type type)
{
    static unsigned char x[8 * ENGINE_N_MAX], swapped[8 * ENGINE_N_MAX];
    const struct engine_needs needs = {.kernels = kernels, .workers = WORKERS};
    struct tap_family family = {0};
    const size_t size = element_size(type);
    char reason[ENGINE_REASON_MAX];
    struct engine_state *state = engine_cpu.open(&needs, reason);
    struct rng rng;

    rng_seed(&rng, 5);
    for (int round = 0; state && round < (SANITIZED ? 24 : 72); round++) {
        const size_t n = 1 + (size_t)rng_below(&rng, round % 3 ? ENGINE_N_MAX : 200);
        const bool swap = rng_below(&rng, 4) == 0;
        struct engine_worker *workers[WORKERS];
        struct engine_setup setup = {.type = type, .swap = swap, .wants = PARTIAL_ALL};
        struct partial expected, found;
        struct partial_split split;
        struct missing set;
        struct drawn d;
        bool any, good = true;
        size_t cut;

        fill(&rng, type, x, n);
        for (size_t i = n / 3; round % 4 == 0 && i < n / 2; i++)
            memcpy(x + i * size, x + n / 3 * size, size);
        if (rng_below(&rng, 2))
            setup.wants = PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE;
        any = rng_below(&rng, 4) > 0 && draw(&rng, type, x, n, &d, &set);
        if (any) {
            setup.wants |= PARTIAL_MISSING;
            setup.missing = &set;
        }
        if (setup.wants & PARTIAL_ABSOLUTE && rng_below(&rng, 2)) {
            split = draw_split(&rng, type, x, n);
            setup.split = &split;
            setup.wants = scale_wants(&(struct scale){true, 2, 0}, setup.wants);
        }
        reduce(&expected, type, x, n, setup.wants, any ? &d : NULL, setup.split);
        if (swap && size > 1)
            element_swap(swapped, x, n, size);
        else
            memcpy(swapped, x, n * size);
        for (size_t i = 0; i < WORKERS; i++) {
            workers[i] = engine_cpu.worker_open(state, &setup, (unsigned)i, reason);
            good = good && workers[i];
        }
        for (size_t i = 0; i < n && good; i += cut) {
            const size_t left = n - i, most = rng_below(&rng, 3) ? 3000 : ENGINE_N_MAX;
            struct chunk chunk = {.index = i, .data = swapped + i * size};

            cut = 1 + (size_t)rng_below(&rng, left < most ? left : most);
            if (round % 4 == 0 && i >= n / 3 && i < n / 2) {
                cut = n / 2 - i;
                chunk.same = true;
            } else if (round % 4 == 0 && i < n / 3 && i + cut > n / 3) {
                cut = n / 3 - i;
            }
            chunk.count = cut;
            good = engine_cpu.reduce(workers[rng_below(&rng, WORKERS)], &chunk) == ENGINE_TAKEN;
        }
        partial_clear(&found);
        good = engine_workers_end(&engine_cpu, workers, WORKERS, &found) && good;
        tap_case(&family, good && !differs(&found, &expected),
                 "round %d, %zu elements, swap %d, missing %d, split %d: %s", round, n, swap, any,
                 setup.split != NULL, differs(&found, &expected));
    }
    if (state)
        engine_cpu.close(state);
    tap_family_end(&family, "engine, %s, %s", kernels, element_name(type));
}

/* Rows along an axis, short ones and such as are longer than a piece, with a threshold. */
static void test_rows(const struct cpu_kernels *kernels, enum element_type type)
{
    static unsigned char x[8 * ENGINE_N_MAX];
    const unsigned wants = scale_wants(&(struct scale){true, 2, 0}, PARTIAL_ALL);
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 6);
    for (int round = 0; round < 12; round++) {
        const size_t n = 1 + (size_t)rng_below(&rng, round % 3 ? ENGINE_N_MAX / 3 : ENGINE_N_MAX);
        const size_t rows = round % 3 ? 3 : 1, length = round % 3 == 1 ? n % 300 + 1 : n;
        struct partial expected, found;
        struct partial_split split;
        struct cpu_slicer slicer;
        struct cpu_slices slices;
        struct missing set;
        struct drawn d;
        bool any, good;

        fill(&rng, type, x, rows * length);
        any = rng_below(&rng, 2) && draw(&rng, type, x, rows * length, &d, &set);
        split = draw_split(&rng, type, x, rows * length);
        good =
            cpu_slicer_open(&slicer, kernels, type, wants, false, false, any ? &set : NULL, &split);
        good = cpu_slices_open(&slices, CPU_SLICES_ROWS, type, wants, false, rows) && good;
        if (good) {
            cpu_slices_clear(&slices, rows);
            cpu_slicer_rows(&slicer, &slices, 0, x, rows, length, 0);
        }
        for (size_t row = 0; row < rows && good; row++) {
            reduce(&expected, type, x + row * length * element_size(type), length, wants,
                   any ? &d : NULL, &split);
            cpu_slices_partial(&slices, row, length, &found);
            tap_case(&family, !slicer.failed && !differs(&found, &expected),
                     "round %d, row %zu of %zu elements, missing %d: %s", round, row, length, any,
                     differs(&found, &expected));
        }
        tap_case(&family, good, "round %d: no memory", round);
        cpu_slices_close(&slices);
        cpu_slicer_close(&slicer);
    }
    tap_family_end(&family, "rows, %s, %s", kernels->name, element_name(type));
}

int main(void)
{
    test_texts();
    test_ranges();
    for (size_t k = 0; k < cpu_kernels_count; k++)
        for (int type = 0; cpu_kernels_all[k]->usable() && type < ELEMENT_TYPES; type++)
            test_leaving_out(cpu_kernels_all[k], (enum element_type)type);
    for (size_t k = 0; k < cpu_kernels_count; k++)
        for (int type = 0; cpu_kernels_all[k]->usable() && type < ELEMENT_TYPES; type++)
            test_engine(cpu_kernels_all[k]->name, (enum element_type)type);
    for (size_t k = 0; k < cpu_kernels_count; k++)
        for (int type = 0; cpu_kernels_all[k]->usable() && type < ELEMENT_TYPES; type++)
            test_rows(cpu_kernels_all[k], (enum element_type)type);
    return tap_done();
}
