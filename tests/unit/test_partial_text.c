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

/* The partial result of some elements of an array. */
static void reduce(struct partial_text *t, enum element_type type, const void *elements,
                   struct partial_range range, uint64_t of)
{
    const unsigned char *bytes = elements;

    memset(t, 0, sizeof *t);
    (void)partial_text_set_input(t, "x");
    t->type = type;
    t->holds = PARTIAL_ALL;
    t->of = of;
    t->ranges[0] = range;
    t->range_count = range.end > range.begin;
    partial_clear(&t->partial);
    for (uint64_t i = range.begin; i < range.end; i++) {
        partial_take_element(&t->partial, type, bytes + i * element_size(type), i);
        moments_take_element(&t->partial, type, bytes + i * element_size(type));
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
    const struct partial_types types = partial_types_of(t->type);
    struct result r;

    memset(&r, 0, sizeof r);
    partial_finish_types(&t->partial, &types, skip_nan, &r);
    moments_finish(
        &t->partial,
        &(struct moments_terms){.skip_nan = skip_nan, .ddof = 1, .type = t->type, .types = types},
        &r);
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
static size_t split(struct rng *rng, enum element_type type, const void *elements, size_t n,
                    struct partial_text *parts)
{
    size_t count = 0;
    uint64_t begin = 0;

    while (begin < n) {
        const uint64_t most = count == PARTS_MAX - 1 ? n - begin : 1 + rng_below(rng, n);
        const uint64_t end = begin + most < n ? begin + most : n;

        reduce(&parts[count++], type, elements, (struct partial_range){begin, end}, n);
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
        size_t count, first;
        const char *what = NULL;

        reduce(&whole, type, elements, (struct partial_range){0, n}, n);
        (void)partial_text_write(expected, &whole);
        count = split(&rng, type, elements, n, parts);
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

/* The longest line there can be. */
static void check_longest(void)
{
    const uint64_t most = INT64_MAX;
    char line[PARTIAL_TEXT_MAX], error[PARTIAL_TEXT_ERROR_MAX] = "",
                                 name[PARTIAL_TEXT_INPUT_MAX + 2];
    const double long_one = -0x1.fffffffffffffp-1022, tiny = 0x1.fffffffffffffp-1000;
    struct partial_text t;
    size_t length;

    memset(&t, 0, sizeof t);
    memset(name, 'n', sizeof name);
    name[PARTIAL_TEXT_INPUT_MAX + 1] = '\0';
    tap_ok(!partial_text_set_input(&t, name), "a name that is too long is refused");
    name[PARTIAL_TEXT_INPUT_MAX] = '\0';
    tap_ok(partial_text_set_input(&t, name), "one that is just not, is taken");
    memset(name, '\n', PARTIAL_TEXT_ARRAY_MAX / 6);
    name[PARTIAL_TEXT_ARRAY_MAX / 6] = '\0';
    tap_ok(partial_text_set_array(&t, name), "it counts as it is written");
    name[PARTIAL_TEXT_ARRAY_MAX / 6] = '\n';
    name[PARTIAL_TEXT_ARRAY_MAX / 6 + 1] = '\0';
    tap_ok(!partial_text_set_array(&t, name), "and may so be too long");
    name[PARTIAL_TEXT_ARRAY_MAX / 6] = '\0';
    (void)partial_text_set_array(&t, name);
    t.type = ELEMENT_F64;
    t.holds = PARTIAL_ALL;
    t.of = most;
    partial_clear(&t.partial);
    for (uint64_t i = 0; i < PARTIAL_TEXT_RANGES_MAX; i++)
        t.ranges[t.range_count++] =
            (struct partial_range){most - 1000 + 10 * i, most - 1000 + 10 * i + 9};
    t.ranges[0].begin = 1000000000000000000;
    t.partial.count =
        t.ranges[0].end - t.ranges[0].begin + UINT64_C(9) * (PARTIAL_TEXT_RANGES_MAX - 1);
    t.partial.nan = 1000000000000000000;
    t.partial.positive_infinity = t.partial.negative_infinity = 1000000000000000000;
    t.partial.first_nan = t.partial.min_index = t.partial.max_index = most - 997;
    t.partial.min_key = exact_key(-INFINITY);
    t.partial.max_key = exact_key(INFINITY);
    t.partial.least_magnitude = exact_key(tiny);
    t.partial.zeros = t.partial.subnormal = t.partial.negative = 1000000000000000000;
    exact_add_integer(&t.partial.sum, 1, 0, 1);
    exact_add_integer(&t.partial.sum, 1, 1074 + 1087, 1);
    exact_add_integer(&t.partial.absolute, 1, 0, 0);
    exact_add_integer(&t.partial.absolute, 1, 1074 + 1087, 0);
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

/* Texts by hand. */
static void check_golden(void)
{
    static const float some[] = {1.5F, -0.25F, NAN, 3, -0.0F, 0x1p-149F};
    static const int64_t integers[] = {INT64_MIN, 6, 0, INT64_MIN};
    struct partial_text t;
    char line[PARTIAL_TEXT_MAX];

    reduce(&t, ELEMENT_F32, some, (struct partial_range){0, 6}, 8);
    (void)partial_text_set_input(&t, "a \"b\"\\\n\xff\xc3\xa4");
    partial_text_write(line, &t);
    tap_ok(
        strcmp(
            line,
            "{\"gpureduce\":\"partial\",\"version\":1,"
            "\"input\":\"a \\\"b\\\"\\\\\\u000a\xef\xbf\xbd\xc3\xa4\",\"dtype\":\"f32\",\"of\":8,"
            "\"ranges\":[[0,6]],\"count\":6,\"nan\":1,\"first_nan\":2,\"posinf\":0,\"neginf\":0,"
            "\"sum\":\"0x88000000000000000000000000000000000001p-149\",\"min\":\"-0x1p-2\","
            "\"max\":\"0x3p+0\",\"argmin\":1,\"argmax\":3,"
            "\"sumsq\":\"0x2d400000000000000000000000000000000000"
            "00000000000000000000000000000000000001p-298\",\"l1\":"
            "\"0x98000000000000000000000000000000000001p-149\","
            "\"absmin\":\"0x0p+0\",\"zeros\":1,\"subnormals\":1,\"negatives\":1,"
            "\"crc32\":\"a3c92927\"}") == 0,
        "floats: %s", line);
    reduce(&t, ELEMENT_I64, integers, (struct partial_range){0, 4}, 4);
    t.holds = PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_SMALL;
    (void)partial_text_set_array(&t, "w");
    partial_text_write(line, &t);
    tap_ok(strcmp(line,
                  "{\"gpureduce\":\"partial\",\"version\":1,\"input\":\"x\",\"array\":\"w\","
                  "\"dtype\":\"i64\",\"of\":4,\"ranges\":[[0,4]],\"count\":4,\"nan\":0,"
                  "\"first_nan\":null,\"posinf\":0,\"neginf\":0,"
                  "\"sum\":\"-0x7ffffffffffffffdp+1\",\"min\":\"-0x1p+63\",\"max\":\"0x3p+1\","
                  "\"absmin\":\"0x0p+0\",\"zeros\":1,\"subnormals\":0,\"crc32\":\"0033fd60\"}") ==
               0,
           "integers: %s", line);
    reduce(&t, ELEMENT_F64, integers, (struct partial_range){0, 0}, 0);
    t.holds = PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE;
    partial_text_write(line, &t);
    tap_ok(
        strcmp(
            line,
            "{\"gpureduce\":\"partial\",\"version\":1,\"input\":\"x\",\"dtype\":\"f64\",\"of\":0,"
            "\"ranges\":[],\"count\":0,\"nan\":0,\"first_nan\":null,\"posinf\":0,\"neginf\":0,"
            "\"sum\":\"0x0p+0\",\"min\":null,\"max\":null,\"argmin\":null,\"argmax\":null,"
            "\"crc32\":\"6c641069\"}") == 0,
        "no elements: %s", line);
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
    check_refused(line, "\"version\":1", "\"version\":2", "of version 2");
    check_refused(line, "\"version\":1", "\"version\":x", "is not a partial result");
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
    check_refused(line, "\"zeros\":0", "\"zeros\":5", "as this program");
    check_refused(line, "\"negatives\":1", "\"negatives\":-1", "as this program");
    check_refused(line, ",\"zeros\":0", "", "as this program");
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
               all.range_count == 2 && all.ranges[1].begin == 6 && all.ranges[1].end == 8 &&
               all.partial.max_index == 7 && all.partial.min_index == 0,
           "a total counts elements that are missing, too");
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
    check_longest();
    check_merger();
    check_splits();
    measure(DATA_NORMAL, ELEMENT_F32, PARTIAL_SUM | PARTIAL_EXTREMES);
    measure(DATA_NORMAL, ELEMENT_F32, PARTIAL_ALL);
    measure(DATA_FULL_RANGE, ELEMENT_F64, PARTIAL_ALL);
    return tap_done();
}
