/*
 * Reading partial results as text.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/partial_text.h"
#include "core/partial_text_impl.h"
#include "sys/escape.h"

/* Sums of up to 2^64 elements are so many bits longer than these. */
#define COUNT_BITS 64

/*
 * Reading. A line that was read is written once more, and both must be equal, so only values that
 * cannot be written are refused here.
 */

struct reader {
    const char *at, *end;
    bool failed;
};

static bool fail(struct reader *r)
{
    r->failed = true;
    return false;
}

/* Whether the text comes next; then it is taken. */
static bool next_is(struct reader *r, const char *text)
{
    const size_t length = strlen(text);

    if (r->failed || (size_t)(r->end - r->at) < length || memcmp(r->at, text, length) != 0)
        return false;
    r->at += length;
    return true;
}

static void expect(struct reader *r, const char *text)
{
    if (!next_is(r, text))
        fail(r);
}

/* At most INT64_MAX. */
static uint64_t get_count(struct reader *r)
{
    uint64_t count = 0;

    if (r->failed || r->at == r->end || *r->at < '0' || *r->at > '9')
        fail(r);
    for (; !r->failed && r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        const unsigned digit = (unsigned)(*r->at - '0');

        if (count > ((uint64_t)INT64_MAX - digit) / 10)
            fail(r);
        else
            count = 10 * count + digit;
    }
    return count;
}

static uint64_t get_index(struct reader *r)
{
    return next_is(r, "null") ? PARTIAL_NO_INDEX : get_count(r);
}

/* The value of a digit of hexadecimal in small letters; -1 for any other character. */
static int hex_value(char c)
{
    static const signed char values[256] = {
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    };

    return values[(unsigned char)c] - 1;
}

/* The number of \uXXXX, whose backslash has been read; 0 where it is wrong. */
static uint32_t get_unit(struct reader *r)
{
    uint32_t unit = 0;

    expect(r, "u");
    for (int i = 0; i < 4 && !r->failed; i++) {
        const int value = r->at < r->end ? hex_value(*r->at++) : -1;

        if (value < 0)
            fail(r);
        else
            unit = unit << 4 | (uint32_t)value;
    }
    return r->failed ? 0 : unit;
}

/* A character behind a backslash, as UTF-8. Returns its bytes. */
static size_t get_escaped(struct reader *r, char utf8[4])
{
    uint32_t c;

    utf8[0] = '\0';
    if (next_is(r, "\"") || next_is(r, "\\")) {
        utf8[0] = r->at[-1];
        return 1;
    }
    c = get_unit(r);
    if (c >= 0xd800 && c < 0xdc00) { /* the first of a pair */
        expect(r, "\\");
        c = 0x10000 + ((c - 0xd800) << 10) + (get_unit(r) - 0xdc00);
    }
    if (c == 0 || c > 0x10ffff)
        fail(r);
    return r->failed ? 1 : escape_utf8(utf8, c);
}

/* A name of up to `most` bytes. */
static void get_name(struct reader *r, char *name, size_t most)
{
    size_t used = 0;

    expect(r, "\"");
    while (!r->failed && r->at < r->end && *r->at != '"') {
        char utf8[4] = {*r->at++};
        const size_t length = utf8[0] == '\\' ? get_escaped(r, utf8) : 1;

        if (most - used < length || utf8[0] == '\0') {
            fail(r);
        } else {
            memcpy(name + used, utf8, length);
            used += length;
        }
    }
    expect(r, "\"");
    name[used] = '\0';
    for (const unsigned char *p = (const unsigned char *)name; *p && !r->failed;) {
        const size_t length = escape_utf8_length(p);

        p += length;
        if (length == 0)
            fail(r);
    }
}

/* Sets digits of hexadecimal, the last of which weighs 2^bit. There is room for them. */
static void take_digits(uint32_t *digit, const char *first, const char *last, int bit)
{
    int shift = bit % 32;
    uint64_t bits = 0;

    digit += bit / 32;
    while (last > first) {
        bits |= (uint64_t)hex_value(*--last) << shift;
        shift += 4;
        if (shift >= 32) {
            *digit++ = (uint32_t)bits;
            bits >>= 32;
            shift -= 32;
        }
    }
    if (bits > 0)
        *digit = (uint32_t)bits;
}

/* A finite number, without its quotes: its magnitude, as n digits times 2^lsb_exponent. Returns
   whether it is negative. It is a multiple of 2^least, and below 2^bound. */
static bool get_digits(struct reader *r, uint32_t *digit, int n, int lsb_exponent, int least,
                       int bound)
{
    const bool negative = next_is(r, "-");
    const char *first, *last;
    uint64_t size;
    int exponent, bits;
    bool below;

    memset(digit, 0, (size_t)n * sizeof *digit);
    expect(r, "0x");
    first = r->at;
    while (!r->failed && r->at < r->end && hex_value(*r->at) >= 0)
        r->at++;
    last = r->at;
    expect(r, "p");
    below = next_is(r, "-");
    if (!below)
        expect(r, "+");
    size = get_count(r);
    if (r->failed || size > 10000)
        return fail(r);
    exponent = below ? -(int)size : (int)size;
    if (last == first + 1 && *first == '0')
        return negative;
    if (last == first || *first == '0' || exponent < least || exponent < lsb_exponent)
        return fail(r);
    bits = 4 * (int)(last - first) - (__builtin_clz((unsigned)hex_value(*first)) - 28);
    if (exponent + bits > bound)
        return fail(r);
    take_digits(digit, first, last, exponent - lsb_exponent);
    return negative;
}

/* The exponent of the least bit of values of a type, and that of the first which they do not
   reach. */
static int least_bit(enum element_type type)
{
    return element_formats[type].exponent_min - element_formats[type].significant_bits + 1;
}

static int bound_bit(enum element_type type)
{
    return element_formats[type].exponent_max + 1;
}

_Static_assert(1024 + COUNT_BITS <= 32 * (EXACT_DIGITS - 1) + EXACT_LSB_EXPONENT,
               "sums fit their digits");
_Static_assert(2 * 1024 + COUNT_BITS <= 32 * (EXACT_WIDE_DIGITS - 1) + EXACT_WIDE_LSB_EXPONENT,
               "and so do those of squares");

static void get_exact(struct reader *r, enum element_type type, struct exact *e)
{
    uint32_t digit[EXACT_DIGITS];
    bool negative;

    expect(r, "\"");
    negative = get_digits(r, digit, EXACT_DIGITS, EXACT_LSB_EXPONENT, least_bit(type),
                          bound_bit(type) + COUNT_BITS);
    expect(r, "\"");
    exact_set(e, digit, negative);
}

static void get_wide(struct reader *r, enum element_type type, struct exact_wide *e)
{
    uint32_t digit[EXACT_WIDE_DIGITS];

    expect(r, "\"");
    if (get_digits(r, digit, EXACT_WIDE_DIGITS, EXACT_WIDE_LSB_EXPONENT, 2 * least_bit(type),
                   2 * bound_bit(type) + COUNT_BITS))
        fail(r);
    expect(r, "\"");
    exact_wide_set(e, digit);
}

/* The key of an integer. */
static int64_t integer_key(struct reader *r, enum element_type type, uint64_t magnitude,
                           bool negative)
{
    const bool is_signed = element_formats[type].kind == ELEMENT_SIGNED;
    const int bits = element_formats[type].significant_bits - is_signed;
    const uint64_t most = UINT64_MAX >> (64 - bits);

    if (magnitude > most + (is_signed && negative) || (negative && !is_signed)) {
        fail(r);
        return 0;
    }
    if (type == ELEMENT_U64)
        return (int64_t)(magnitude ^ UINT64_C(1) << 63);
    return negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
}

/* A number of a type, as its key. */
static int64_t get_key(struct reader *r, enum element_type type)
{
    const bool integer = element_is_integer(type);
    const int lsb = integer ? 0 : EXACT_LSB_EXPONENT, least = integer ? 0 : least_bit(type);
    uint32_t digit[EXACT_DIGITS];
    struct exact e;
    bool negative;
    double x;

    expect(r, "\"");
    if (!integer && (next_is(r, "inf\"") || next_is(r, "-inf\""))) {
        if (element_formats[type].kind == ELEMENT_FINITE)
            fail(r);
        return exact_key(r->at[-5] == '-' ? -INFINITY : INFINITY);
    }
    negative = get_digits(r, digit, EXACT_DIGITS, lsb, least, integer ? 64 : bound_bit(type));
    expect(r, "\"");
    if (r->failed)
        return 0;
    if (integer)
        return integer_key(r, type, (uint64_t)digit[1] << 32 | digit[0], negative);
    exact_set(&e, digit, negative);
    x = exact_round(&e);
    if (element_round(type, x) != x || isinf(x))
        fail(r);
    /* Too many digits for binary64 have become another number, which is written otherwise. */
    return exact_key(negative && x == 0 ? -0.0 : x);
}

/* Reads an extreme, or null if there are no numbers. */
static void get_extreme(struct reader *r, bool any, enum element_type type, int64_t *key)
{
    if (any)
        *key = get_key(r, type);
    else
        expect(r, "null");
}

static void get_held(struct reader *r, struct partial_text *t)
{
    struct partial *p = &t->partial;
    const struct partial_types types = partial_types_of(t->type);
    const bool any = p->count > p->nan;

    if (next_is(r, ",\"sum\":")) {
        t->holds |= PARTIAL_SUM;
        get_exact(r, t->type, &p->sum);
    }
    if (next_is(r, ",\"min\":")) {
        t->holds |= PARTIAL_EXTREMES;
        get_extreme(r, any, types.min, &p->min_key);
        expect(r, ",\"max\":");
        get_extreme(r, any, types.max, &p->max_key);
        if (next_is(r, ",\"argmin\":")) {
            t->holds |= PARTIAL_WHERE;
            p->min_index = get_index(r);
            expect(r, ",\"argmax\":");
            p->max_index = get_index(r);
        }
    }
    if (next_is(r, ",\"sumsq\":")) {
        t->holds |= PARTIAL_SQUARES;
        get_wide(r, t->type, &p->squares);
    }
    if (next_is(r, ",\"l1\":")) {
        t->holds |= PARTIAL_ABSOLUTE;
        get_exact(r, t->type, &p->absolute);
    }
    if (next_is(r, ",\"absmin\":")) {
        t->holds |= PARTIAL_SMALL;
        get_extreme(r, any, types.least, &p->least_magnitude);
        expect(r, ",\"zeros\":");
        p->zeros = get_count(r);
        expect(r, ",\"subnormals\":");
        p->subnormal = get_count(r);
    }
    if (next_is(r, ",\"negatives\":")) {
        t->holds |= PARTIAL_NEGATIVE;
        p->negative = get_count(r);
    }
}

static void get_type(struct reader *r, enum element_type *type)
{
    enum element_type i = 0;

    while (i < ELEMENT_TYPES) {
        const char *at = r->at;

        if (next_is(r, element_name(i)) && next_is(r, "\"")) {
            *type = i;
            return;
        }
        r->at = at;
        i++;
    }
    fail(r);
}

static void get_ranges(struct reader *r, struct partial_text *t)
{
    expect(r, ",\"ranges\":[");
    while (next_is(r, t->range_count > 0 ? ",[" : "[") && !r->failed) {
        struct partial_range *range = &t->ranges[t->range_count];

        if (t->range_count == PARTIAL_TEXT_RANGES_MAX) {
            fail(r);
            return;
        }
        range->begin = get_count(r);
        expect(r, ",");
        range->end = get_count(r);
        expect(r, "]");
        t->range_count++;
    }
    expect(r, "]");
}

/*
 * Whether what was read holds together.
 */

/* Whether an element of the ranges has this index. */
static bool has_index(const struct partial_text *t, uint64_t index)
{
    for (unsigned i = 0; i < t->range_count; i++)
        if (index >= t->ranges[i].begin && index < t->ranges[i].end)
            return true;
    return false;
}

/* Whether an index is there exactly where it should be. */
static bool index_fits(const struct partial_text *t, bool any, uint64_t index)
{
    return any ? has_index(t, index) : index == PARTIAL_NO_INDEX;
}

static bool ranges_fit(const struct partial_text *t)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < t->range_count; i++) {
        if (t->ranges[i].end <= t->ranges[i].begin || t->ranges[i].end > t->of ||
            (i > 0 && t->ranges[i].begin <= t->ranges[i - 1].end))
            return false;
        count += t->ranges[i].end - t->ranges[i].begin;
    }
    return count == t->partial.count;
}

/* Whether there are as many infinities as the type and the extremes allow. */
static bool infinities_fit(const struct partial_text *t)
{
    const struct partial *p = &t->partial;
    const uint64_t both = p->positive_infinity + p->negative_infinity; /* below 2^64 */

    if (element_formats[t->type].kind != ELEMENT_IEEE && both > 0)
        return false;
    if (both > p->count - p->nan)
        return false;
    if (!(t->holds & PARTIAL_EXTREMES) || element_is_integer(t->type) || p->count == p->nan)
        return true;
    return (p->min_key == exact_key(-INFINITY)) == (p->negative_infinity > 0) &&
           (p->max_key == exact_key(INFINITY)) == (p->positive_infinity > 0);
}

static bool holds_together(const struct partial_text *t)
{
    const struct partial *p = &t->partial;
    uint64_t numbers;

    if (!ranges_fit(t) || p->nan > p->count || (element_is_integer(t->type) && p->nan > 0) ||
        !index_fits(t, p->nan > 0, p->first_nan) || !infinities_fit(t))
        return false;
    numbers = p->count - p->nan;
    if ((t->holds & PARTIAL_EXTREMES) && numbers > 0 && p->min_key > p->max_key)
        return false;
    if ((t->holds & PARTIAL_WHERE) &&
        !(index_fits(t, numbers > 0, p->min_index) && index_fits(t, numbers > 0, p->max_index)))
        return false;
    return p->zeros <= numbers && p->subnormal <= numbers - p->zeros &&
           p->negative <= numbers - p->zeros;
}

/*
 * A line.
 */

/* Says what is wrong with a line that is none. Returns false. */
static bool refuse(char error[PARTIAL_TEXT_ERROR_MAX], const char *text)
{
    snprintf(error, PARTIAL_TEXT_ERROR_MAX, "%s", text);
    return false;
}

/* Whether it begins as a line of this version, and ends with its checksum. */
static bool is_whole(struct reader *r, const char *line, size_t length,
                     char error[PARTIAL_TEXT_ERROR_MAX])
{
    const char *tail = line + length - PARTIAL_TEXT_TAIL;
    char checksum[PARTIAL_TEXT_CHECKSUM_DIGITS + 1];
    uint64_t version;

    if (!next_is(r, PARTIAL_TEXT_MAGIC))
        return refuse(error, "is not a partial result");
    version = get_count(r);
    if (r->failed)
        return refuse(error, "is not a partial result");
    if (version != PARTIAL_TEXT_VERSION) {
        snprintf(error, PARTIAL_TEXT_ERROR_MAX,
                 "is a partial result of version %" PRIu64 ", and this program reads version %d",
                 version, PARTIAL_TEXT_VERSION);
        return false;
    }
    if (length >= PARTIAL_TEXT_MAX)
        return refuse(error, "is damaged: it is longer than a partial result can be");
    if (length < sizeof PARTIAL_TEXT_MAGIC + PARTIAL_TEXT_TAIL ||
        memcmp(tail, PARTIAL_TEXT_CHECKSUM, sizeof PARTIAL_TEXT_CHECKSUM - 1) != 0 ||
        memcmp(line + length - 2, "\"}", 2) != 0)
        return refuse(error, "is damaged: it does not end as a partial result");
    snprintf(checksum, sizeof checksum, "%08" PRIx32,
             partial_text_checksum(line, length - PARTIAL_TEXT_TAIL));
    if (memcmp(tail + sizeof PARTIAL_TEXT_CHECKSUM - 1, checksum, PARTIAL_TEXT_CHECKSUM_DIGITS) !=
        0)
        return refuse(error, "is damaged: its checksum is wrong");
    return true;
}

bool partial_text_read(struct partial_text *t, const char *line, size_t length,
                       char error[PARTIAL_TEXT_ERROR_MAX])
{
    struct reader r = {.at = line, .end = line + length};
    struct partial *p = &t->partial;
    char again[PARTIAL_TEXT_MAX];

    if (!is_whole(&r, line, length, error))
        return false;
    t->has_array = false;
    t->array[0] = '\0';
    t->holds = t->range_count = 0;
    partial_clear(p);
    expect(&r, ",\"input\":");
    get_name(&r, t->input, PARTIAL_TEXT_INPUT_MAX);
    t->has_array = next_is(&r, ",\"array\":");
    if (t->has_array)
        get_name(&r, t->array, PARTIAL_TEXT_ARRAY_MAX);
    expect(&r, ",\"dtype\":\"");
    get_type(&r, &t->type);
    expect(&r, ",\"of\":");
    t->of = get_count(&r);
    get_ranges(&r, t);
    expect(&r, ",\"count\":");
    p->count = get_count(&r);
    expect(&r, ",\"nan\":");
    p->nan = get_count(&r);
    expect(&r, ",\"first_nan\":");
    p->first_nan = get_index(&r);
    expect(&r, ",\"posinf\":");
    p->positive_infinity = get_count(&r);
    expect(&r, ",\"neginf\":");
    p->negative_infinity = get_count(&r);
    if (!r.failed)
        get_held(&r, t);
    if (r.failed || (size_t)(r.end - r.at) != PARTIAL_TEXT_TAIL || !holds_together(t)) {
        snprintf(error, PARTIAL_TEXT_ERROR_MAX,
                 "is not a partial result as this program writes them: see byte %td",
                 r.at - line + 1);
        return false;
    }
    if (partial_text_write_body(again, t) != length - PARTIAL_TEXT_TAIL ||
        memcmp(again, line, length - PARTIAL_TEXT_TAIL) != 0)
        return refuse(error, "is not a partial result as this program writes them");
    return true;
}
