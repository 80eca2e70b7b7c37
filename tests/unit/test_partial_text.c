/*
 * core/partial_text.h and core/merger.h: the text of partial results, what is refused as one, and
 * that arrays which are split at random, and merged in any order and over any number of stages,
 * come to the same bytes and the same bits as at once. tests/cli/partial.sh has the format from
 * another program.
 */
/* Tags: ports */
#include "config.h"

#include "core/merger.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/difference.h"
#include "core/moments.h"
#include "lib/data_gen.h"
#include "lib/reference.h"
#include "lib/sanitized.h"
#include "lib/tap.h"
#include "sys/clock.h"

/* Splits that are tried. */
#if SANITIZED
#    define SPLITS 500
#else
#    define SPLITS 10000
#endif

#define ELEMENTS_MAX 80
#define PARTS_MAX 64

/* The partial result of some elements of an array, of which some may be missing. */
static void reduce_others(struct partial_text *t, enum element_type type, const void *elements,
                          const struct missing *missing, struct partial_range range, uint64_t of)
{
    const size_t size = element_size(type);

    memset(t, 0, sizeof *t);
    (void)partial_text_set_input(t, "x");
    t->type = type;
    t->missing = *missing;
    t->holds = PARTIAL_ALL;
    t->of = of;
    t->ranges[0] = range;
    t->range_count = range.end > range.begin;
    partial_clear(&t->partial);
    for (uint64_t i = range.begin; i < range.end; i++) {
        const unsigned char *x = (const unsigned char *)elements + i * size;

        if (missing_has(missing, order_key(type, order_load(type, x)))) {
            t->partial.count++;
            t->partial.missing++;
            continue;
        }
        partial_take_element(&t->partial, type, x, i);
        moments_take_element(&t->partial, type, x);
    }
}

static void reduce(struct partial_text *t, enum element_type type, const void *elements,
                   struct partial_range range, uint64_t of)
{
    reduce_others(t, type, elements, &(struct missing){.count = 0}, range, of);
}

/* Makes some values missing: some of the elements, their neighbours, and ranges; as many as a line
   has room for. */
static void make_missing(struct rng *rng, enum element_type type, const void *elements, size_t n,
                         struct missing *m)
{
    const uint64_t least = order_least(type), greatest = order_greatest(type);

    *m = (struct missing){.count = 0};
    for (uint64_t left = rng_below(rng, 4) * rng_below(rng, 3); left > 0; left--) {
        const unsigned char *x = elements;
        const uint64_t bits = order_load(type, x + rng_below(rng, n) * element_size(type));
        const uint64_t key = order_key(type, bits);

        if (key < least || key > greatest || rng_below(rng, 2) > 0)
            (void)missing_add_bits(m, type, bits);
        else if (rng_below(rng, 2) > 0)
            (void)missing_add_range(m, key, key + (key < greatest));
        else if (key > least && rng_below(rng, 2) > 0)
            (void)missing_add_range(m, least, key - 1);
        else if (key < greatest)
            (void)missing_add_range(m, key + 1, greatest);
    }
}

/* Writes and reads it. Whether that leaves it as it is. */
static bool send(struct partial_text *t, struct tap_family *family)
{
    char line[PARTIAL_TEXT_MAX], again[PARTIAL_TEXT_MAX], error[PARTIAL_TEXT_ERROR_MAX] = "";
    const size_t length = partial_text_write(line, t);

    return tap_case(family,
                    partial_text_read(t, line, length, error) &&
                        partial_text_write(again, t) == length && strcmp(line, again) == 0,
                    "%s: %s", error, line);
}

/* Merges parts in the order in which they stand, and sets *t to what they come to. */
static bool merge(const struct partial_text *parts, size_t count, struct partial_text *t)
{
    const struct merger_piece *one, *other;
    const struct merged *merged;
    struct merger m;
    bool good = true;

    merger_open(&m);
    for (size_t i = 0; i < count && good; i++)
        good = merger_take(&m, &parts[i], (struct merger_origin){0, i}, &merged) == MERGER_TAKEN;
    merger_finish(&m);
    good = good && m.count == 1 && !merged_overlap(&m.merged[0], &one, &other);
    memset(t, 0, sizeof *t);
    good = good && merged_text(&m.merged[0], t) && partial_text_set_input(t, m.merged[0].input);
    merger_close(&m);
    return good;
}

static struct result finish(const struct partial_text *t, bool skip_nan)
{
    struct result r;

    memset(&r, 0, sizeof r);
    partial_finish_type(&t->partial, t->type, skip_nan, &r);
    moments_finish(&t->partial,
                   &(struct moments_terms){.skip_nan = skip_nan, .ddof = 1, .type = t->type}, &r);
    return r;
}

/* The first difference in any result; NULL if there is none. */
static const char *differs(const struct partial_text *a, const struct partial_text *b)
{
    const char *what = NULL;

    for (int skip = 0; skip < 2 && !what; skip++) {
        const struct result x = finish(a, skip), y = finish(b, skip);

        what = result_difference(&x, &y, PARTIAL_ALL);
        if (!what)
            what = moments_difference(&x, &y, PARTIAL_ALL);
    }
    return what;
}

/* Elements of a type, some of them special. */
static size_t make_elements(struct rng *rng, enum element_type type, void *elements)
{
    const size_t n = 1 + (size_t)rng_below(rng, ELEMENTS_MAX);
    unsigned char *bytes = elements;

    if (!element_is_float(type)) {
        for (size_t i = 0; i < n * element_size(type); i++)
            bytes[i] = (unsigned char)rng_next(rng);
        return n;
    }
    data_fill((enum data_kind)rng_below(rng, DATA_KINDS), type, elements, n, rng_next(rng));
    for (uint64_t left = rng_below(rng, 4); left > 0; left--)
        data_put_special(type, elements, (size_t)rng_below(rng, n),
                         (enum data_special)rng_below(rng, DATA_SPECIALS));
    return n;
}

/* Cuts an array into parts. Returns how many. */
static size_t split(struct rng *rng, enum element_type type, const void *elements,
                    const struct missing *missing, size_t n, struct partial_text *parts)
{
    size_t count = 0;
    uint64_t begin = 0;

    while (begin < n) {
        const uint64_t most = count == PARTS_MAX - 1 ? n - begin : 1 + rng_below(rng, n);
        const uint64_t end = begin + most < n ? begin + most : n;

        reduce_others(&parts[count++], type, elements, missing, (struct partial_range){begin, end},
                      n);
        begin = end;
    }
    return count;
}

static void check_splits(void)
{
    static struct partial_text parts[PARTS_MAX];
    struct tap_family splits = {0}, lines = {0}, stages = {0};
    unsigned char elements[8 * ELEMENTS_MAX];
    struct rng rng;

    rng_seed(&rng, 16);
    for (int i = 0; i < SPLITS; i++) {
        const enum element_type type = (enum element_type)(i % ELEMENT_TYPES);
        const size_t n = make_elements(&rng, type, elements);
        char expected[PARTIAL_TEXT_MAX], line[PARTIAL_TEXT_MAX] = "";
        struct partial_text whole, merged, two[2];
        struct missing missing;
        size_t count, first;
        const char *what = NULL;

        make_missing(&rng, type, elements, n, &missing);
        reduce_others(&whole, type, elements, &missing, (struct partial_range){0, n}, n);
        tap_case(&splits, partial_text_write(expected, &whole) > 0, "it is too long");
        count = split(&rng, type, elements, &missing, n, parts);
        for (size_t k = count; k > 1; k--) { /* in random order */
            const size_t other = (size_t)rng_below(&rng, k);
            const struct partial_text kept = parts[k - 1];

            parts[k - 1] = parts[other];
            parts[other] = kept;
        }
        for (size_t k = 0; k < count; k++)
            send(&parts[k], &lines);
        if (merge(parts, count, &merged)) {
            (void)partial_text_write(line, &merged);
            what = differs(&whole, &merged);
        }
        tap_case(&splits, strcmp(line, expected) == 0 && !what, "%s: %s\n%s\n%s",
                 element_name(type), what ? what : "bytes", line, expected);
        /* In two stages, where what the first leaves has few enough ranges. */
        first = 1 + (size_t)rng_below(&rng, count);
        if (first == count || !merge(parts, first, &two[0]) ||
            !merge(parts + first, count - first, &two[1]))
            continue;
        send(&two[0], &lines);
        send(&two[1], &lines);
        line[0] = '\0';
        if (merge(two, 2, &merged))
            (void)partial_text_write(line, &merged);
        tap_case(&stages, strcmp(line, expected) == 0, "%s\n%s", line, expected);
    }
    tap_family_end(&splits, "random splits, merged in random order, come to the same");
    tap_family_end(&stages, "and so they do in two stages");
    tap_family_end(&lines, "lines are read as they were written");
}

/* Sets names of so many bytes. Whether they are short enough. */
static bool set_names(struct partial_text *t, int input, int array)
{
    char name[PARTIAL_TEXT_INPUT_MAX + 2];

    snprintf(name, sizeof name, "%0*d", input, 0);
    if (!partial_text_set_input(t, name))
        return false;
    snprintf(name, sizeof name, "%0*d", array, 0);
    return partial_text_set_array(t, name);
}

static void check_names(void)
{
    struct partial_text t;
    char line[PARTIAL_TEXT_MAX], name[PARTIAL_TEXT_ARRAY_MAX] = "";

    reduce(&t, ELEMENT_I8, "", (struct partial_range){0, 1}, 1);
    tap_ok(!set_names(&t, PARTIAL_TEXT_INPUT_MAX + 1, 1), "a name that is too long is refused");
    tap_ok(!set_names(&t, 1, PARTIAL_TEXT_ARRAY_MAX + 1), "and so is that of an array");
    memset(name, '\n', PARTIAL_TEXT_ARRAY_MAX / 6);
    tap_ok(partial_text_set_array(&t, name), "it counts as it is written");
    name[PARTIAL_TEXT_ARRAY_MAX / 6] = '\n';
    tap_ok(!partial_text_set_array(&t, name), "and may so be too long");
    /* 4 quotes and 2 brackets. */
    tap_ok(set_names(&t, PARTIAL_TEXT_INPUT_MAX, 512 - 6 - PARTIAL_TEXT_INPUT_MAX) &&
               partial_text_write(line, &t) > 0,
           "both together are just short enough");
    t.missing = (struct missing){.count = 1, .ranges = {{128, 129}}};
    tap_ok(partial_text_write(line, &t) == 0, "but not with a missing value");
    tap_ok(set_names(&t, PARTIAL_TEXT_INPUT_MAX, 512 - 6 - 19 - PARTIAL_TEXT_INPUT_MAX) &&
               partial_text_write(line, &t) > 0 && strstr(line, ":[[\"0x0p+0\",\"0x1p+0\"]],"),
           "which takes 19 bytes");
    tap_ok(set_names(&t, PARTIAL_TEXT_INPUT_MAX, 512 - 6 - 18 - PARTIAL_TEXT_INPUT_MAX) &&
               partial_text_write(line, &t) == 0,
           "and not 18");
    t.missing = (struct missing){.count = 0};
    for (uint64_t i = 0; i < MISSING_RANGES_MAX; i++)
        (void)missing_add_range(&t.missing, 8 * i, 8 * i + 3);
    tap_ok(set_names(&t, 1, 1) && partial_text_write(line, &t) == 0, "nor do the most of them fit");
}

/* The longest line there can be, of data with a scale or without. */
static void check_longest(bool scaled)
{
    const uint64_t most = INT64_MAX, many = 1000000000000000000;
    char line[PARTIAL_TEXT_MAX], error[PARTIAL_TEXT_ERROR_MAX] = "";
    const double long_one = -0x1.fffffffffffffp-1022, tiny = 0x1.fffffffffffffp-1000;
    struct partial_text t;
    size_t length;

    memset(&t, 0, sizeof t);
    t.type = ELEMENT_F64;
    tap_ok(missing_add(&t.missing, t.type, "1") &&
               set_names(&t, PARTIAL_TEXT_INPUT_MAX,
                         PARTIAL_TEXT_TEXTS_MAX - 4 - 10 - PARTIAL_TEXT_INPUT_MAX),
           "names and missing values of the most bytes");
    t.holds = PARTIAL_ALL;
    if (scaled) {
        t.scale = (struct scale){true, -0x1p+300, -0x1.fffffffffffffp-300};
        t.holds = scale_wants(&t.scale, t.holds);
    }
    t.holds |= PARTIAL_DIGEST;
    t.of = most;
    partial_clear(&t.partial);
    for (uint64_t i = 0; i < PARTIAL_TEXT_RANGES_MAX; i++)
        t.ranges[t.range_count++] =
            (struct partial_range){most - 1000 + 10 * i, most - 1000 + 10 * i + 9};
    t.ranges[0].begin = many;
    t.partial.count =
        t.ranges[0].end - t.ranges[0].begin + UINT64_C(9) * (PARTIAL_TEXT_RANGES_MAX - 1);
    t.partial.missing = t.partial.nan = many;
    t.partial.positive_infinity = t.partial.negative_infinity = many;
    t.partial.first_nan = t.partial.min_index = t.partial.max_index = most - 997;
    t.partial.min_key = exact_key(-INFINITY);
    t.partial.max_key = exact_key(INFINITY);
    t.partial.least_magnitude = exact_key(tiny);
    t.partial.zeros = t.partial.negative = many;
    t.partial.subnormal = scaled ? 0 : many;
    if (scaled) { /* the threshold is there, with so many zeros */
        t.partial.least_magnitude = exact_key(-0x1.fffffffffffffp-600);
        t.partial.below_key = exact_key(-0x1.fffffffffffffp-599);
    }
    exact_add_integer(&t.partial.sum, 1, 0, 1);
    exact_add_integer(&t.partial.sum, 1, 1074 + 1086, 1);
    exact_add_integer(&t.partial.absolute, 1, 0, scaled);
    exact_add_integer(&t.partial.absolute, 1, 1074 + 1087, scaled);
    exact_wide_add_integer(&t.partial.squares, 1, 0, 0);
    exact_wide_add_integer(&t.partial.squares, 1, 2148 + 2111, 0);
    length = partial_text_write(line, &t);
    tap_ok(partial_text_read(&t, line, length, error), "a line of %zu bytes is read: %s", length,
           error);
    t.partial.positive_infinity = t.partial.negative_infinity = 0;
    t.partial.min_key = exact_key(long_one);
    t.partial.max_key = exact_key(-long_one);
    length = partial_text_write(line, &t);
    tap_ok(partial_text_read(&t, line, length, error) && length < PARTIAL_TEXT_MAX &&
               length > PARTIAL_TEXT_MAX - 200,
           "so is the longest, %zu bytes: %s", length, error);
}

/* A text by hand, and that of version 1, if there was one: what is read of it is no other. */
static void check_text(const struct partial_text *t, const char *expected, const char *older,
                       const char *what)
{
    char line[PARTIAL_TEXT_MAX] = "", error[PARTIAL_TEXT_ERROR_MAX] = "";
    struct partial_text read;
    struct tap_family family = {0};

    partial_text_write(line, t);
    tap_case(&family, strcmp(line, expected) == 0, "%s", line);
    read = *t;
    send(&read, &family);
    if (older) {
        tap_case(&family, partial_text_read(&read, older, strlen(older), error), "%s", error);
        line[0] = '\0';
        partial_text_write(line, &read);
        tap_case(&family, strcmp(line, expected) == 0, "%s of version 1: %s", older, line);
    }
    tap_family_end(&family, "%s", what);
}

static void check_golden(void)
{
    static const float some[] = {1.5F, -0.25F, NAN, 3, -0.0F, 0x1p-149F};
    static const int64_t integers[] = {INT64_MIN, 6, 0, INT64_MIN};
    static const int16_t shorts[] = {-9999, 100, 300, -7};
    struct missing missing = {.count = 0};
    struct partial_text t;

    reduce(&t, ELEMENT_F32, some, (struct partial_range){0, 6}, 8);
    (void)partial_text_set_input(&t, "a \"b\"\\\n\xff\xc3\xa4");
    check_text(
        &t,
        "{\"gpureduce\":\"partial\",\"version\":2,"
        "\"input\":\"a \\\"b\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa4\",\"dtype\":\"f32\",\"of\":8,"
        "\"ranges\":[[0,6]],\"missing_values\":[],\"scale_factor\":null,\"add_offset\":null,"
        "\"count\":6,\"missing\":0,\"nan\":1,\"first_nan\":2,\"posinf\":0,\"neginf\":0,"
        "\"sum\":\"0x88000000000000000000000000000000000001p-149\",\"min\":\"-0x1p-2\","
        "\"max\":\"0x3p+0\",\"argmin\":1,\"argmax\":3,"
        "\"sumsq\":\"0x2d400000000000000000000000000000000000"
        "00000000000000000000000000000000000001p-298\",\"l1\":"
        "\"0x98000000000000000000000000000000000001p-149\","
        "\"absmin\":\"0x0p+0\",\"zeros\":1,\"subnormals\":1,\"negatives\":1,\"digest\":null,"
        "\"crc32\":\"92110587\"}",
        "{\"gpureduce\":\"partial\",\"version\":1,"
        "\"input\":\"a \\\"b\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa4\",\"dtype\":\"f32\",\"of\":8,"
        "\"ranges\":[[0,6]],\"count\":6,\"nan\":1,\"first_nan\":2,\"posinf\":0,\"neginf\":0,"
        "\"sum\":\"0x88000000000000000000000000000000000001p-149\",\"min\":\"-0x1p-2\","
        "\"max\":\"0x3p+0\",\"argmin\":1,\"argmax\":3,"
        "\"sumsq\":\"0x2d400000000000000000000000000000000000"
        "00000000000000000000000000000000000001p-298\",\"l1\":"
        "\"0x98000000000000000000000000000000000001p-149\","
        "\"absmin\":\"0x0p+0\",\"zeros\":1,\"subnormals\":1,\"negatives\":1,"
        "\"crc32\":\"a3c92927\"}",
        "floats");
    reduce(&t, ELEMENT_I64, integers, (struct partial_range){0, 4}, 4);
    t.holds = PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_SMALL;
    partial_text_forget(&t.partial, t.holds);
    (void)partial_text_set_array(&t, "w");
    check_text(&t,
               "{\"gpureduce\":\"partial\",\"version\":2,\"input\":\"x\",\"array\":\"w\","
               "\"dtype\":\"i64\",\"of\":4,\"ranges\":[[0,4]],\"missing_values\":[],"
               "\"scale_factor\":null,\"add_offset\":null,\"count\":4,\"missing\":0,\"nan\":0,"
               "\"first_nan\":null,\"posinf\":0,\"neginf\":0,"
               "\"sum\":\"-0x7ffffffffffffffdp+1\",\"min\":\"-0x1p+63\",\"max\":\"0x3p+1\","
               "\"absmin\":\"0x0p+0\",\"zeros\":1,\"subnormals\":0,\"digest\":null,"
               "\"crc32\":\"1c2b23c1\"}",
               "{\"gpureduce\":\"partial\",\"version\":1,\"input\":\"x\",\"array\":\"w\","
               "\"dtype\":\"i64\",\"of\":4,\"ranges\":[[0,4]],\"count\":4,\"nan\":0,"
               "\"first_nan\":null,\"posinf\":0,\"neginf\":0,"
               "\"sum\":\"-0x7ffffffffffffffdp+1\",\"min\":\"-0x1p+63\",\"max\":\"0x3p+1\","
               "\"absmin\":\"0x0p+0\",\"zeros\":1,\"subnormals\":0,\"crc32\":\"0033fd60\"}",
               "integers");
    reduce(&t, ELEMENT_U8, some, (struct partial_range){0, 3}, 3);
    t.holds = PARTIAL_DIGEST;
    partial_text_forget(&t.partial, t.holds);
    t.partial.digest = (struct digest){0xfedcba9876543210, 0x0123456789abcdef};
    check_text(&t,
               "{\"gpureduce\":\"partial\",\"version\":2,\"input\":\"x\",\"dtype\":\"u8\","
               "\"of\":3,\"ranges\":[[0,3]],\"missing_values\":[],\"scale_factor\":null,"
               "\"add_offset\":null,\"count\":3,\"missing\":0,\"nan\":0,\"first_nan\":null,"
               "\"posinf\":0,\"neginf\":0,\"digest\":\"0123456789abcdeffedcba9876543210\","
               "\"crc32\":\"0d3726e3\"}",
               NULL, "a digest");
    reduce(&t, ELEMENT_F64, integers, (struct partial_range){0, 0}, 0);
    t.holds = PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE;
    check_text(
        &t,
        "{\"gpureduce\":\"partial\",\"version\":2,\"input\":\"x\",\"dtype\":\"f64\",\"of\":0,"
        "\"ranges\":[],\"missing_values\":[],\"scale_factor\":null,\"add_offset\":null,"
        "\"count\":0,\"missing\":0,\"nan\":0,\"first_nan\":null,\"posinf\":0,\"neginf\":0,"
        "\"sum\":\"0x0p+0\",\"min\":null,\"max\":null,\"argmin\":null,\"argmax\":null,"
        "\"digest\":null,\"crc32\":\"e614d637\"}",
        "{\"gpureduce\":\"partial\",\"version\":1,\"input\":\"x\",\"dtype\":\"f64\",\"of\":0,"
        "\"ranges\":[],\"count\":0,\"nan\":0,\"first_nan\":null,\"posinf\":0,\"neginf\":0,"
        "\"sum\":\"0x0p+0\",\"min\":null,\"max\":null,\"argmin\":null,\"argmax\":null,"
        "\"crc32\":\"6c641069\"}",
        "no elements");

    /* -0.25 and NaNs are missing, and all from 2 on; so are both zeros. */
    (void)missing_add(&missing, ELEMENT_F32, "-0.25");
    (void)missing_add(&missing, ELEMENT_F32, "nan");
    (void)missing_add(&missing, ELEMENT_F32, "0");
    (void)missing_add_range(&missing, order_first(ELEMENT_F32, 2, false),
                            order_greatest(ELEMENT_F32));
    reduce_others(&t, ELEMENT_F32, some, &missing, (struct partial_range){0, 6}, 6);
    t.holds = PARTIAL_SUM | PARTIAL_EXTREMES;
    partial_text_forget(&t.partial, t.holds);
    check_text(
        &t,
        "{\"gpureduce\":\"partial\",\"version\":2,\"input\":\"x\",\"dtype\":\"f32\",\"of\":6,"
        "\"ranges\":[[0,6]],\"missing_values\":[\"-0x1p-2\",[\"-0x0p+0\",\"0x0p+0\"],"
        "[\"0x1p+1\",\"inf\"],\"nan\"],\"scale_factor\":null,\"add_offset\":null,"
        "\"count\":6,\"missing\":4,\"nan\":0,\"first_nan\":null,\"posinf\":0,\"neginf\":0,"
        "\"sum\":\"0x30000000000000000000000000000000000001p-149\",\"min\":\"0x1p-149\","
        "\"max\":\"0x3p-1\",\"digest\":null,\"crc32\":\"e59d9e3c\"}",
        NULL, "missing values");
    t.missing = (struct missing){.differ = true};
    check_text(
        &t,
        "{\"gpureduce\":\"partial\",\"version\":2,\"input\":\"x\",\"dtype\":\"f32\",\"of\":6,"
        "\"ranges\":[[0,6]],\"missing_values\":null,\"scale_factor\":null,\"add_offset\":null,"
        "\"count\":6,\"missing\":4,\"nan\":0,\"first_nan\":null,\"posinf\":0,\"neginf\":0,"
        "\"sum\":\"0x30000000000000000000000000000000000001p-149\",\"min\":\"0x1p-149\","
        "\"max\":\"0x3p-1\",\"digest\":null,\"crc32\":\"8b800963\"}",
        NULL, "missing values of several arrays");

    /* 0.5 x - 100: 100 and -7 are below the threshold of 200. */
    missing = (struct missing){.count = 0};
    (void)missing_add(&missing, ELEMENT_I16, "-9999");
    reduce_others(&t, ELEMENT_I16, shorts, &missing, (struct partial_range){0, 4}, 4);
    t.scale = (struct scale){true, 0.5, -100};
    t.holds = scale_wants(&t.scale, PARTIAL_NEGATIVE | PARTIAL_EXTREMES | PARTIAL_ABSOLUTE);
    partial_text_forget(&t.partial, t.holds);
    t.partial.negative = 2;
    t.partial.zeros = 0;
    t.partial.below_key = 100;
    t.partial.least_magnitude = 300;
    memset(&t.partial.absolute, 0, sizeof t.partial.absolute);
    exact_add_integer(&t.partial.absolute, 300, EXACT_ONE_BIT, 0);
    check_text(
        &t,
        "{\"gpureduce\":\"partial\",\"version\":2,\"input\":\"x\",\"dtype\":\"i16\",\"of\":4,"
        "\"ranges\":[[0,4]],\"missing_values\":[\"-0x270fp+0\"],\"scale_factor\":\"0x1p-1\","
        "\"add_offset\":\"-0x19p+2\",\"count\":4,\"missing\":1,\"nan\":0,\"first_nan\":null,"
        "\"posinf\":0,\"neginf\":0,\"sum\":\"0x189p+0\",\"min\":\"-0x7p+0\",\"max\":\"0x4bp+2\","
        "\"lower\":2,\"zeros\":0,\"lower_max\":\"0x19p+2\",\"upper_min\":\"0x4bp+2\","
        "\"upper_sum\":\"0x4bp+2\",\"digest\":null,\"crc32\":\"befa9928\"}",
        NULL, "a scale, and what lies on both sides of its threshold");
}

/* A CRC-32, bit by bit. */
static uint32_t crc32(const char *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < 8 * size; i++) {
        const uint32_t bit = (crc ^ ((unsigned char)bytes[i / 8] >> i % 8)) & 1;

        crc = crc >> 1 ^ (bit ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

/* A line that is wrong, with a checksum that is right: `from` in it is replaced by `to`. */
static void check_refused(const char *good, const char *from, const char *to, const char *says)
{
    char line[2 * PARTIAL_TEXT_MAX], error[PARTIAL_TEXT_ERROR_MAX] = "";
    const char *at = strstr(good, from);
    struct partial_text t;
    char *tail;

    if (!tap_ok(at, "there is %s", from))
        return;
    snprintf(line, sizeof line, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    tail = strstr(line, ",\"crc32\":\"");
    if (tail)
        sprintf(tail + strlen(",\"crc32\":\""), "%08" PRIx32 "\"}",
                crc32(line, (size_t)(tail - line)));
    tap_ok(!partial_text_read(&t, line, strlen(line), error) && strstr(error, says),
           "%s in place of %s: %s", to, from, error);
}

static void check_refusals(void)
{
    static const double some[] = {1, -2, NAN, 4, INFINITY};
    static const uint8_t bytes[] = {1, 2};
    struct partial_text t;
    char line[PARTIAL_TEXT_MAX], shorter[PARTIAL_TEXT_MAX], error[PARTIAL_TEXT_ERROR_MAX] = "";
    struct tap_family family = {0};
    size_t length;

    reduce(&t, ELEMENT_F64, some, (struct partial_range){0, 5}, 9);
    length = partial_text_write(line, &t);
    tap_ok(partial_text_read(&t, line, length, error), "it is right: %s", line);
    check_refused(line, "partial", "portion", "is not a partial result");
    check_refused(line, "\"version\":2", "\"version\":3", "of version 3");
    check_refused(line, "\"version\":2", "\"version\":0", "of version 0");
    check_refused(line, "\"version\":2", "\"version\":1", "as this program");
    check_refused(line, "\"version\":2", "\"version\":x", "is not a partial result");
    check_refused(line, "\"input\":\"x\"", "\"input\":\"\\u0041\"", "as this program");
    check_refused(line, "\"input\":\"x\"", "\"input\":\"\\u0000\"", "as this program");
    check_refused(line, "\"input\":\"x\"", "\"input\":\"\xff\"", "as this program");
    check_refused(line, "\"f64\"", "\"f63\"", "as this program");
    check_refused(line, "\"of\":9", "\"of\": 9", "as this program");
    check_refused(line, "\"of\":9", "\"of\":09", "as this program");
    check_refused(line, "\"of\":9", "\"of\":4", "as this program");
    check_refused(line, "\"of\":9", "\"of\":9223372036854775808", "as this program");
    check_refused(line, "[[0,5]]", "[[0,4]]", "as this program");
    check_refused(line, "[[0,5]]", "[[0,3],[3,5]]", "as this program");
    check_refused(line, "[[0,5]]", "[[0,3],[2,4]]", "as this program");
    check_refused(line, "[[0,5]]", "[[0,5],[6,6]]", "as this program");
    check_refused(line, "[[0,5]]", "[[5,0]]", "as this program");
    check_refused(line, "\"nan\":1", "\"nan\":6", "as this program");
    check_refused(line, "\"nan\":1", "\"nan\":0", "as this program");
    check_refused(line, "\"first_nan\":2", "\"first_nan\":5", "as this program");
    check_refused(line, "\"posinf\":1", "\"posinf\":0", "as this program");
    check_refused(line, "\"posinf\":1", "\"posinf\":5", "as this program");
    check_refused(line, "\"neginf\":0", "\"neginf\":1", "as this program");
    check_refused(line, "\"sum\":\"0x3p", "\"sum\":\"0x6p", "as this program");
    check_refused(line, "\"sum\":\"0x3p+0", "\"sum\":\"0x03p+0", "as this program");
    check_refused(line, "\"sum\":\"0x3p+0", "\"sum\":\"0x3p+1087", "as this program");
    check_refused(line, "\"sum\":\"0x3p+0", "\"sum\":\"0x3p-1075", "as this program");
    check_refused(line, "\"sum\":\"0x3p+0", "\"sum\":\"0x3p+99999999999", "as this program");
    check_refused(line, "\"sum\":\"0x3p+0", "\"sum\":\"0xp+0", "as this program");
    check_refused(line, "\"min\":\"-0x1p+1\"", "\"min\":null", "as this program");
    check_refused(line, "\"min\":\"-0x1p+1\"", "\"min\":\"-0x20000000000001p+1\"",
                  "as this program");
    check_refused(line, "\"max\":\"inf\"", "\"max\":\"-0x3p+1\"", "as this program");
    check_refused(line, "\"argmin\":1", "\"argmin\":null", "as this program");
    check_refused(line, "\"argmax\":4", "\"argmax\":5", "as this program");
    check_refused(line, "\"sumsq\":\"0x", "\"sumsq\":\"-0x", "as this program");
    /* Three finite elements of the sum 3 have squares of 3 and more. */
    check_refused(line, "\"sumsq\":\"0x15p+0", "\"sumsq\":\"0x5p-1", "as this program");
    check_refused(line, "\"sumsq\":\"0x15p+0", "\"sumsq\":\"0x0p+0", "as this program");
    check_refused(line, "\"l1\":\"0x7p+0", "\"l1\":\"-0x7p+0", "as this program");
    check_refused(line, "\"absmin\":\"0x1p+0", "\"absmin\":\"-0x1p+0", "as this program");
    check_refused(line, "\"zeros\":0", "\"zeros\":5", "as this program");
    check_refused(line, "\"negatives\":1", "\"negatives\":-1", "as this program");
    check_refused(line, ",\"zeros\":0", "", "as this program");
    check_refused(line, ",\"missing\":0", "", "as this program");
    check_refused(line, "s\":[]", "s\":[\"nan\"]", "as this program");
    check_refused(line, "s\":[]", "s\":[\"nan\",\"0x1p+0\"]", "as this program");
    check_refused(line, "s\":[]", "s\":[\"0x1p+0\",\"0x1p+0\"]", "as this program");
    check_refused(line, "s\":[]", "s\":[\"0x1p+1\",\"0x1p+0\"]", "as this program");
    check_refused(line, "s\":[]", "s\":[[\"0x1p+1\",\"0x1p+0\"]]", "as this program");
    check_refused(line, "s\":[]", "s\":[[\"0x1p+0\",\"0x1p+0\"]]", "as this program");
    check_refused(line, "s\":[]", "s\":[[\"0x1p+0\"]]", "as this program");
    check_refused(line, "s\":[]", "s\":[\"-0x0p+0\",\"0x0p+0\"]", "as this program");
    check_refused(line, "s\":[]", "s\":[\"0x1p+0\",]", "as this program");
    check_refused(line, "s\":[]", "s\":[1]", "as this program");
    check_refused(line, "factor\":null", "factor\":\"0x1p+0\"", "as this program");
    check_refused(line, "offset\":null", "offset\":\"0x1p+0\"", "as this program");
    check_refused(line, "factor\":null,\"add_offset\":null",
                  "factor\":\"0x1p+0\",\"add_offset\":\"0x1p+0\"", "as this program");
    check_refused(line, "\"digest\":null", "\"digest\":0", "as this program");
    check_refused(line, "\"digest\":null", "\"digest\":\"7fffffffffffffffffffffffffffffff\"",
                  "as this program");
    check_refused(line, "\"digest\":null", "\"digest\":\"0123456789ABCDEF0123456789abcdef\"",
                  "as this program");
    check_refused(line, "\"digest\":null", "\"digest\":\"0\"", "as this program");
    snprintf(shorter, sizeof shorter, "%.*s\"", (int)length - 2, line);
    tap_ok(!partial_text_read(&t, shorter, length - 1, error) && strstr(error, "does not end"),
           "cut off: %s", error);
    reduce(&t, ELEMENT_U8, bytes, (struct partial_range){0, 2}, 2);
    (void)partial_text_write(line, &t);
    check_refused(line, "\"max\":\"0x1p+1\"", "\"max\":\"0x1p+8\"", "as this program");
    check_refused(line, "\"min\":\"0x1p+0\"", "\"min\":\"-0x1p+0\"", "as this program");
    check_refused(line, "\"min\":\"0x1p+0\"", "\"min\":\"0x1p-1\"", "as this program");
    check_refused(line, "\"min\":\"0x1p+0\"", "\"min\":\"-inf\"", "as this program");
    check_refused(line, "\"sum\":\"0x3p+0\"", "\"sum\":\"0x3p-1\"", "as this program");
    check_refused(line, "s\":[]", "s\":[\"nan\"]", "as this program");
    check_refused(line, "s\":[]", "s\":[\"0x1p+8\"]", "as this program");
    check_refused(line, "s\":[],", "s\":[\"0x1p+0\",\"0x1p+1\"],", "as this program");
    reduce(&t, ELEMENT_F64, some + 4, (struct partial_range){0, 1}, 1);
    length = partial_text_write(line, &t);
    tap_ok(partial_text_read(&t, line, length, error), "it is right: %s", line);
    check_refused(line, "\"sum\":\"0x0p+0", "\"sum\":\"0x1p+0", "as this program");
    check_refused(line, "\"sumsq\":\"0x0p+0", "\"sumsq\":\"0x1p+0", "as this program");
    check_refused(line, "\"l1\":\"0x0p+0", "\"l1\":\"0x1p+0", "as this program");
    reduce(&t, ELEMENT_U8, bytes, (struct partial_range){0, 2}, 2);

    t.missing = (struct missing){.count = 1, .ranges = {{7, 7}}};
    t.partial.count = t.ranges[0].end = t.of = 5;
    t.partial.missing = 3;
    t.scale = (struct scale){true, -3, 6};
    t.holds = PARTIAL_SPLIT;
    partial_text_forget(&t.partial, PARTIAL_SPLIT);
    t.partial.negative = t.partial.zeros = 1;
    t.partial.below_key = 1;
    t.partial.least_magnitude = 2;
    length = partial_text_write(line, &t);
    tap_ok(partial_text_read(&t, line, length, error), "it is right: %s", line);
    check_refused(line, "\"missing\":3", "\"missing\":6", "as this program");
    check_refused(line, "\"missing\":3", "\"missing\":5", "as this program");
    check_refused(line, "\"-0x3p+0\"", "\"0x0p+0\"", "as this program");
    check_refused(line, "\"-0x3p+0\"", "\"inf\"", "as this program");
    check_refused(line, "\"-0x3p+0\"", "null", "as this program");
    check_refused(line, "\"0x3p+1\"", "null", "as this program");
    check_refused(line, "\"0x3p+1\"", "\"0x3p+0\"", "as this program");
    check_refused(line, "\"0x3p+1\"", "\"0x9p+0\"", "as this program");
    check_refused(line, "\"0x3p+1\"", "\"0x5p+0\"", "as this program");
    check_refused(line, "\"lower\":1", "\"lower\":0", "as this program");
    check_refused(line, "\"lower\":1", "\"lower\":2", "as this program");
    check_refused(line, "\"lower\":1", "\"lower\":3", "as this program");
    check_refused(line, "\"zeros\":1", "\"zeros\":2", "as this program");
    check_refused(line, "\"zeros\":1", "\"zeros\":0", "as this program");
    check_refused(line, "\"lower_max\":\"0x1p+0\"", "\"lower_max\":\"0x1p+1\"", "as this program");
    check_refused(line, "\"upper_min\":\"0x1p+1\"", "\"upper_min\":null", "as this program");
    t.scale.offset = 0;
    t.holds = 0;
    (void)partial_text_write(line, &t);
    check_refused(line, "\"0x0p+0\"", "\"-0x0p+0\"", "as this program");
    reduce(&t, ELEMENT_U8, bytes, (struct partial_range){0, 2}, 2);

    /* Whatever bit is turned, and wherever it is cut off. */
    length = partial_text_write(line, &t);
    for (size_t i = 0; i < 8 * length; i++) {
        line[i / 8] = (char)(line[i / 8] ^ 1 << i % 8);
        tap_case(&family, !partial_text_read(&t, line, length, error), "bit %zu", i);
        line[i / 8] = (char)(line[i / 8] ^ 1 << i % 8);
    }
    for (size_t i = 0; i < length; i++)
        tap_case(&family, !partial_text_read(&t, line, i, error), "%zu bytes", i);
    tap_family_end(&family, "damaged lines are refused");
}

/* Bags: no names, ranges and indices, and no version 1. */
static void check_bags(void)
{
    static const double some[] = {1, -2, NAN, 4, INFINITY};
    char line[PARTIAL_TEXT_MAX], again[PARTIAL_TEXT_MAX], error[PARTIAL_TEXT_ERROR_MAX] = "";
    struct tap_family family = {0};
    struct partial_text t;
    size_t length;

    reduce(&t, ELEMENT_F64, some, (struct partial_range){0, 5}, 5);
    t.bag = true;
    t.holds = PARTIAL_ALL & ~(unsigned)PARTIAL_WHERE;
    t.partial.first_nan = PARTIAL_NO_INDEX;
    t.partial.missing = 2; /* by a mask */
    t.partial.count += 2;
    length = partial_text_write(line, &t);
    tap_ok(strstr(line,
                  "{\"gpureduce\":\"bag\",\"version\":2,\"dtype\":\"f64\",\"missing_values\":[]") ==
                   line &&
               !strstr(line, "argmin") && strstr(line, "\"nan\":1,\"first_nan\":null"),
           "the line of a bag: %s", line);
    memset(&t, 0xff, sizeof t);
    tap_ok(partial_text_read(&t, line, length, error) && t.bag && !t.has_array &&
               t.holds == (PARTIAL_ALL & ~(unsigned)PARTIAL_WHERE) && t.range_count == 0 &&
               t.partial.count == 7 && t.partial.missing == 2 && t.partial.nan == 1 &&
               exact_round(&t.partial.sum) == 3,
           "it is read: %s", error);
    tap_ok(partial_text_write(again, &t) == length && strcmp(line, again) == 0, "and written");
    for (size_t i = 0; i < 8 * length; i++) {
        line[i / 8] = (char)(line[i / 8] ^ 1 << i % 8);
        tap_case(&family, !partial_text_read(&t, line, length, error), "bit %zu", i);
        line[i / 8] = (char)(line[i / 8] ^ 1 << i % 8);
    }
    tap_family_end(&family, "damaged bags are refused");
    check_refused(line, "\"version\":2", "\"version\":1", "of version 1");
    check_refused(line, "\"version\":2", "\"version\":3", "of version 3");
    check_refused(line, "\"nan\":1,\"first_nan\":null", "\"nan\":1,\"first_nan\":2",
                  "as this program");
    check_refused(line, "\"version\":2", "\"version\":2,\"input\":\"x\"", "as this program");
    check_refused(line, "\"missing\":2", "\"missing\":8", "as this program");
    check_refused(line, ",\"sumsq\"", ",\"argmin\":0,\"argmax\":0,\"sumsq\"", "as this program");
}

/* Parts that do not fit together, and members that are left out. */
static void check_merger(void)
{
    static const float some[] = {1, 2, 3, 4};
    const struct merger_piece *one, *other;
    const struct merged *merged;
    struct partial_range gap;
    struct partial_text a, b, all;
    struct merger m;

    merger_open(&m);
    reduce(&a, ELEMENT_F32, some, (struct partial_range){1, 3}, 4);
    tap_ok(merger_take(&m, &a, (struct merger_origin){0, 1}, &merged) == MERGER_TAKEN, "a part");
    reduce(&b, ELEMENT_I32, some, (struct partial_range){0, 1}, 4);
    tap_ok(merger_take(&m, &b, (struct merger_origin){0, 2}, &merged) == MERGER_TYPE &&
               merged->first.line == 1,
           "another type is refused");
    reduce(&b, ELEMENT_F32, some, (struct partial_range){0, 1}, 3);
    tap_ok(merger_take(&m, &b, (struct merger_origin){0, 3}, &merged) == MERGER_LENGTH,
           "another length is refused");
    reduce(&b, ELEMENT_F32, some, (struct partial_range){0, 1}, 3);
    (void)missing_add(&b.missing, ELEMENT_F32, "5");
    tap_ok(merger_take(&m, &b, (struct merger_origin){0, 3}, &merged) == MERGER_MISSING,
           "other missing values are refused");
    reduce(&b, ELEMENT_F32, some, (struct partial_range){0, 1}, 3);
    b.scale = (struct scale){true, 1, 0};
    tap_ok(merger_take(&m, &b, (struct merger_origin){0, 3}, &merged) == MERGER_SCALE,
           "a scale is refused where there was none");
    b.scale = (struct scale){.given = false};
    (void)partial_text_set_array(&b, "w");
    tap_ok(merger_take(&m, &b, (struct merger_origin){0, 4}, &merged) == MERGER_TAKEN &&
               m.count == 2,
           "an array of that name is something else");
    (void)partial_text_set_input(&b, "w");
    b.has_array = false;
    tap_ok(merger_take(&m, &b, (struct merger_origin){0, 5}, &merged) == MERGER_TAKEN &&
               m.count == 3,
           "and so is an input of another");
    merger_finish(&m);
    tap_ok(strcmp(m.merged[0].input, "w") == 0 && !m.merged[1].array && m.merged[2].array,
           "they are in the order of names");
    tap_ok(merged_gap(&m.merged[1], &gap) && gap.begin == 0 && gap.end == 1, "a gap at the front");
    tap_ok(merged_gap(&m.merged[0], &gap) && gap.begin == 1 && gap.end == 3, "a gap at the end");
    merger_close(&m);

    merger_open(&m);
    reduce(&b, ELEMENT_I32, some, (struct partial_range){0, 0}, 9);
    for (uint64_t k = 0; k < 3; k++)
        tap_ok(merger_take(&m, k == 1 ? &a : &b, (struct merger_origin){0, k}, &merged) ==
                       MERGER_TAKEN &&
                   merged->type == (k == 0 ? ELEMENT_I32 : ELEMENT_F32) &&
                   merged->of == (k == 0 ? 9 : 4) && merged->piece_count == (k > 0),
               "a part of no elements gives way to others");
    merger_close(&m);

    merger_open(&m);
    reduce(&b, ELEMENT_F32, some, (struct partial_range){2, 4}, 4);
    b.holds = PARTIAL_SUM | PARTIAL_WHERE | PARTIAL_EXTREMES;
    (void)merger_take(&m, &a, (struct merger_origin){0, 1}, &merged);
    (void)merger_take(&m, &b, (struct merger_origin){3, 7}, &merged);
    merger_finish(&m);
    tap_ok(merged_overlap(&m.merged[0], &one, &other) && one->origin.line == 1 &&
               other->origin.file == 3 && other->range.begin == 2,
           "an overlap");
    tap_ok(m.merged[0].holds == b.holds && m.merged[0].lacks.line == 7 &&
               m.merged[0].partial.zeros == 0 && m.merged[0].partial.squares.pending == 0,
           "what one does not hold, all do not");
    merger_close(&m);

    merger_open(&m);
    reduce(&a, ELEMENT_F32, some, (struct partial_range){0, 1}, 4);
    reduce(&b, ELEMENT_F32, some, (struct partial_range){2, 4}, 4);
    (void)partial_text_set_input(&b, "y");
    (void)merger_take(&m, &b, (struct merger_origin){0, 1}, &merged);
    (void)merger_take(&m, &a, (struct merger_origin){0, 2}, &merged);
    merger_finish(&m);
    memset(&all, 0, sizeof all);
    partial_clear(&all.partial);
    tap_ok(merged_append(&all, &m.merged[0]) && merged_append(&all, &m.merged[1]) && all.of == 8 &&
               !all.missing.differ && all.range_count == 2 && all.ranges[1].begin == 6 &&
               all.ranges[1].end == 8 && all.partial.max_index == 7 && all.partial.min_index == 0,
           "a total counts elements that are in no part, too");
    (void)missing_add(&m.merged[1].missing, ELEMENT_F32, "5");
    tap_ok(merged_append(&all, &m.merged[1]) && all.missing.differ, "a total has no missing values "
                                                                    "if they differ");
    merger_close(&m);
}

/* How long it takes, of data of one kind: for doc/scaling.md. The least of several times. */
static void measure(enum data_kind kind, enum element_type type, unsigned holds)
{
    enum { TURNS = 20, TIMES = 200 };
    struct partial_text a, b;
    char line[PARTIAL_TEXT_MAX], error[PARTIAL_TEXT_ERROR_MAX];
    unsigned char elements[8 * ELEMENTS_MAX];
    uint64_t best[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};

    data_fill(kind, type, elements, ELEMENTS_MAX, 1);
    reduce(&a, type, elements, (struct partial_range){0, ELEMENTS_MAX}, ELEMENTS_MAX);
    a.holds = holds;
    b = a;
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t at[4];

        at[0] = clock_now();
        for (int i = 0; i < TIMES; i++)
            partial_merge(&b.partial, &a.partial);
        at[1] = clock_now();
        for (int i = 0; i < TIMES; i++)
            (void)partial_text_write(line, &a);
        at[2] = clock_now();
        for (int i = 0; i < TIMES; i++)
            (void)partial_text_read(&a, line, strlen(line), error);
        at[3] = clock_now();
        for (int i = 0; i < 3; i++) {
            const uint64_t each = (at[i + 1] - at[i]) / TIMES;

            best[i] = each < best[i] ? each : best[i];
        }
    }
    tap_note("%s of %s, %zu bytes: merged in %" PRIu64 " ns, written in %" PRIu64
             " ns, read in %" PRIu64 " ns",
             data_kind_name(kind), element_name(type), strlen(line), best[0], best[1], best[2]);
}

int main(void)
{
    check_golden();
    check_refusals();
    check_bags();
    check_names();
    check_longest(false);
    check_longest(true);
    check_merger();
    check_splits();
    measure(DATA_NORMAL, ELEMENT_F32, PARTIAL_SUM | PARTIAL_EXTREMES);
    measure(DATA_NORMAL, ELEMENT_F32, PARTIAL_ALL);
    measure(DATA_FULL_RANGE, ELEMENT_F64, PARTIAL_ALL);
    return tap_done();
}
