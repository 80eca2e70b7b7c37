#include "config.h"

#include "core/partial_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/element_round.h"
#include "core/moments.h"
#include "core/number.h"
#include "core/order.h"
#include "core/term.h"
#include "sys/escape.h"
#include "sys/json.h"

/* The beginning of every line, and of that of a bag, which versions from 2 on have. */
#define PARTIAL_TEXT_MAGIC "{\"gpureduce\":\"partial\",\"version\":"
#define PARTIAL_TEXT_BAG "{\"gpureduce\":\"bag\",\"version\":"

/* Sums of up to 2^64 elements are so many bits longer than these. */
#define COUNT_BITS 64

uint32_t partial_text_checksum(const char *bytes, size_t size)
{
    /* For each value of 4 bits: x^32 mod the polynomial, bits reflected. */
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < size; i++) {
        crc ^= (unsigned char)bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

/*
 * Names.
 */

static bool set_name(char *to, size_t most, const char *name)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const unsigned char *p = (const unsigned char *)name;
    size_t used = 0, written = 0;
    char escaped[ESCAPE_MAX];

    while (*p) {
        const size_t length = escape_utf8_length(p);
        const char *from = length ? (const char *)p : replacement, *end = from;
        const size_t size = length ? length : strlen(replacement);

        written += escape_next(escaped, &end, ESCAPE_JSON);
        if (written > most)
            return false;
        memcpy(to + used, from, size);
        used += size;
        p += length ? length : 1;
    }
    to[used] = '\0';
    return true;
}

bool partial_text_set_input(struct partial_text *t, const char *name)
{
    return set_name(t->input, PARTIAL_TEXT_INPUT_MAX, name);
}

bool partial_text_set_array(struct partial_text *t, const char *name)
{
    t->has_array = true;
    return set_name(t->array, PARTIAL_TEXT_ARRAY_MAX, name);
}

/*
 * The members of a line that follow its ranges, in their order.
 */

enum member_kind {
    MEMBER_MISSING, /* a set of missing values */
    MEMBER_SCALE,   /* a number of a scale; null where there is none */
    MEMBER_DIGEST,  /* a digest; null where it is not held */

    /* in the partial result */
    MEMBER_COUNT,
    MEMBER_INDEX,   /* null for none */
    MEMBER_EXACT,   /* of an accumulator */
    MEMBER_SQUARES, /* of a wide one */

    /* there, too; null where there are no numbers */
    MEMBER_PLACE,     /* the index of one */
    MEMBER_KEY,       /* the value that a key stands for */
    MEMBER_MAGNITUDE, /* of a magnitude's key */

    /* null where there are none of these numbers */
    MEMBER_UPPER, /* a key of those that are not below the threshold of a scale */
    MEMBER_LOWER  /* of those that are */
};

static const struct member {
    const char *key;
    unsigned since; /* the first version that has it */
    unsigned holds; /* the partial_want bit that it is for; 0: always there */
    enum member_kind kind;
    size_t offset; /* in struct partial_text */
} members[] = {
#define MEMBER(since, name, holds, kind, member)                                             \
    {                                                                                        \
        ",\"" name "\":", since, holds, MEMBER_##kind, offsetof(struct partial_text, member) \
    }
    MEMBER(2, "missing_values", 0, MISSING, missing),
    MEMBER(2, "scale_factor", 0, SCALE, scale.factor),
    MEMBER(2, "add_offset", 0, SCALE, scale.offset),
    MEMBER(1, "count", 0, COUNT, partial.count),
    MEMBER(2, "missing", 0, COUNT, partial.missing),
    MEMBER(1, "nan", 0, COUNT, partial.nan),
    MEMBER(1, "first_nan", 0, INDEX, partial.first_nan),
    MEMBER(1, "posinf", 0, COUNT, partial.positive_infinity),
    MEMBER(1, "neginf", 0, COUNT, partial.negative_infinity),
    MEMBER(1, "sum", PARTIAL_SUM, EXACT, partial.sum),
    MEMBER(1, "min", PARTIAL_EXTREMES, KEY, partial.min_key),
    MEMBER(1, "max", PARTIAL_EXTREMES, KEY, partial.max_key),
    MEMBER(1, "argmin", PARTIAL_WHERE, PLACE, partial.min_index),
    MEMBER(1, "argmax", PARTIAL_WHERE, PLACE, partial.max_index),
    MEMBER(1, "sumsq", PARTIAL_SQUARES, SQUARES, partial.squares),
    MEMBER(1, "l1", PARTIAL_ABSOLUTE, EXACT, partial.absolute),
    MEMBER(1, "absmin", PARTIAL_SMALL, MAGNITUDE, partial.least_magnitude),
    MEMBER(1, "zeros", PARTIAL_SMALL, COUNT, partial.zeros),
    MEMBER(1, "subnormals", PARTIAL_SMALL, COUNT, partial.subnormal),
    MEMBER(1, "negatives", PARTIAL_NEGATIVE, COUNT, partial.negative),
    MEMBER(2, "lower", PARTIAL_SPLIT, COUNT, partial.negative),
    MEMBER(2, "zeros", PARTIAL_SPLIT, COUNT, partial.zeros),
    MEMBER(2, "lower_max", PARTIAL_SPLIT, LOWER, partial.below_key),
    MEMBER(2, "upper_min", PARTIAL_SPLIT, UPPER, partial.least_magnitude),
    MEMBER(2, "upper_sum", PARTIAL_SPLIT, EXACT, partial.absolute),
    MEMBER(2, "digest", 0, DIGEST, partial.digest),
#undef MEMBER
};

#define MEMBERS (sizeof members / sizeof *members)

void partial_text_forget(struct partial *p, unsigned holds)
{
    const struct partial all = *p;

    partial_clear(p);
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct member *m = &members[i];
        const size_t at = m->offset - offsetof(struct partial_text, partial);

        if (m->kind >= MEMBER_COUNT && !(m->holds & ~holds))
            memcpy((char *)p + at, (const char *)&all + at,
                   m->kind == MEMBER_EXACT     ? sizeof all.sum
                   : m->kind == MEMBER_SQUARES ? sizeof all.squares
                                               : sizeof all.count);
    }
    if (holds & PARTIAL_DIGEST)
        p->digest = all.digest;
}

/* Whether a member is null, since there are no numbers of its kind. */
static bool is_null(const struct partial_text *t, const struct member *m)
{
    const uint64_t numbers = partial_numbers(&t->partial), lower = t->partial.negative;

    if (m->kind == MEMBER_UPPER)
        return numbers == lower;
    if (m->kind == MEMBER_LOWER)
        return lower == 0;
    return m->kind >= MEMBER_PLACE && numbers == 0;
}

/*
 * Writing. There is room for the longest line there can be: test_partial_text has it. Names and
 * missing values share a room of their own, and are looked at before.
 */

/* Room for the names and the missing values of which there is too much. */
#define TEXTS_ROOM 4096
_Static_assert(PARTIAL_TEXT_INPUT_MAX + PARTIAL_TEXT_ARRAY_MAX + 60 * (MISSING_RANGES_MAX + 1) <=
                   TEXTS_ROOM,
               "a range is two numbers of up to 25 bytes, two brackets and two commas");

static char *put(char *at, const char *text)
{
    const size_t length = strlen(text);

    memcpy(at, text, length);
    return at + length;
}

/* An index, or null. */
static char *put_index(char *at, uint64_t index)
{
    return index == PARTIAL_NO_INDEX ? put(at, "null") : number_write(at, index);
}

static char *put_name(char *at, const char *name)
{
    char escaped[ESCAPE_MAX];

    *at++ = '"';
    while (*name) {
        const size_t length = escape_next(escaped, &name, ESCAPE_JSON);

        memcpy(at, escaped, length);
        at += length;
    }
    *at++ = '"';
    return at;
}

/* 32 bits from `bit` on, of n digits. */
static uint32_t word_at(const uint32_t *digit, int n, int bit)
{
    const int place = bit / 32, shift = bit % 32;
    uint64_t pair = digit[place];

    if (place + 1 < n)
        pair |= (uint64_t)digit[place + 1] << 32;
    return (uint32_t)(pair >> shift);
}

/* A number of n digits, times 2^lsb_exponent. */
static char *put_digits(char *at, const uint32_t *digit, int n, int lsb_exponent, bool negative)
{
    static const char hex[] = "0123456789abcdef";
    int low = 0, high = n - 1, exponent;

    *at++ = '"';
    if (negative)
        *at++ = '-';
    at = put(at, "0x");
    while (low < n && digit[low] == 0)
        low++;
    if (low == n)
        return put(at, "0p+0\"");
    while (digit[high] == 0)
        high--;
    low = 32 * low + __builtin_ctz(digit[low]);
    high = 32 * high + 31 - __builtin_clz(digit[high]);
    for (int left = (high - low) / 4 + 1; left > 0; left = (left - 1) / 8 * 8) {
        const uint32_t word = word_at(digit, n, low + (left - 1) / 8 * 32);

        for (int i = (left - 1) % 8; i >= 0; i--)
            *at++ = hex[word >> 4 * i & 15];
    }
    exponent = low + lsb_exponent;
    *at++ = 'p';
    *at++ = exponent < 0 ? '-' : '+';
    at = number_write(at, (uint64_t)(exponent < 0 ? -exponent : exponent));
    *at++ = '"';
    return at;
}

static char *put_exact(char *at, const struct exact *e)
{
    uint32_t digit[EXACT_DIGITS];
    const bool negative = exact_magnitude(e, digit);

    return put_digits(at, digit, EXACT_DIGITS, EXACT_LSB_EXPONENT, negative);
}

static char *put_wide(char *at, const struct exact_wide *e)
{
    uint32_t digit[EXACT_WIDE_DIGITS];

    (void)exact_wide_magnitude(e, digit);
    return put_digits(at, digit, EXACT_WIDE_DIGITS, EXACT_WIDE_LSB_EXPONENT, false);
}

/* The number that a key of the type stands for. */
static char *put_key(char *at, enum element_type type, int64_t key)
{
    const double x = exact_key_value(key);
    uint32_t digit[2];
    struct term t;

    if (!element_is_integer(type) && isinf(x))
        return put(at, x < 0 ? "\"-inf\"" : "\"inf\"");
    t = term_of_key(type, key);
    digit[0] = (uint32_t)t.magnitude;
    digit[1] = (uint32_t)(t.magnitude >> 32);
    return put_digits(at, digit, 2, t.exponent, t.negative);
}

/* Numbers, and ranges of them as pairs, in their order, and then "nan". */
static char *put_missing(char *at, enum element_type type, const struct missing *m)
{
    const char *separator = "";

    if (m->differ)
        return put(at, "null");
    *at++ = '[';
    for (unsigned i = 0; i < m->count; i++) {
        const struct missing_range r = missing_numbers(&m->ranges[i], type);

        if (r.first > r.last)
            continue;
        at = put(put(at, separator), r.first < r.last ? "[" : "");
        at = put_key(at, type, order_to_element_key(type, r.first));
        if (r.first < r.last)
            at = put(put_key(put(at, ","), type, order_to_element_key(type, r.last)), "]");
        separator = ",";
    }
    if (missing_has_nans(m, type))
        at = put(put(at, separator), "\"nan\"");
    return put(at, "]");
}

/* A finite number of binary64, of which zero has no sign. */
static char *put_number(char *at, double x)
{
    return put_key(at, ELEMENT_F64, exact_key(x == 0 ? 0 : x));
}

static char *put_digest(char *at, const struct digest *d)
{
    *at++ = '"';
    digest_write(at, d);
    return put(at + DIGEST_DIGITS, "\"");
}

static char *put_member(char *at, const struct partial_text *t, const struct member *m)
{
    const void *x = (const char *)t + m->offset;

    at = put(at, m->key);
    if (is_null(t, m))
        return put(at, "null");
    switch (m->kind) {
    case MEMBER_DIGEST:
        return t->holds & PARTIAL_DIGEST ? put_digest(at, x) : put(at, "null");
    case MEMBER_MISSING:
        return put_missing(at, t->type, x);
    case MEMBER_SCALE:
        return t->scale.given ? put_number(at, *(const double *)x) : put(at, "null");
    case MEMBER_COUNT:
        return number_write(at, *(const uint64_t *)x);
    case MEMBER_INDEX:
    case MEMBER_PLACE:
        return put_index(at, *(const uint64_t *)x);
    case MEMBER_EXACT:
        return put_exact(at, x);
    case MEMBER_SQUARES:
        return put_wide(at, x);
    case MEMBER_KEY:
    case MEMBER_UPPER:
    case MEMBER_LOWER:
        return put_key(at, t->type, *(const int64_t *)x);
    case MEMBER_MAGNITUDE:
        return put_key(at, partial_least_type(t->type), *(const int64_t *)x);
    }
    return at; /* not reached */
}

/* Whether there is room for names and missing values. */
static bool texts_fit(const struct partial_text *t)
{
    char texts[TEXTS_ROOM];
    const char *end = put_missing(put_name(put_name(texts, t->input), t->has_array ? t->array : ""),
                                  t->type, &t->missing);

    return end - texts <= PARTIAL_TEXT_TEXTS_MAX;
}

static char *put_ranges(char *at, const struct partial_text *t)
{
    at = put(number_write(put(at, ",\"of\":"), t->of), ",\"ranges\":[");
    for (unsigned i = 0; i < t->range_count; i++) {
        at = number_write(put(at, i > 0 ? ",[" : "["), t->ranges[i].begin);
        at = put(number_write(put(at, ","), t->ranges[i].end), "]");
    }
    return put(at, "]");
}

/* Writes the line of a version up to its checksum. Returns its length. */
static size_t write_body(char *line, const struct partial_text *t, unsigned version)
{
    char *at = number_write(put(line, t->bag ? PARTIAL_TEXT_BAG : PARTIAL_TEXT_MAGIC), version);

    if (!t->bag)
        at = put_name(put(at, ",\"input\":"), t->input);
    if (t->has_array)
        at = put_name(put(at, ",\"array\":"), t->array);
    at = put(put(put(at, ",\"dtype\":\""), element_name(t->type)), "\"");
    if (!t->bag)
        at = put_ranges(at, t);
    for (size_t i = 0; i < MEMBERS; i++)
        if (members[i].since <= version && !(members[i].holds & ~t->holds))
            at = put_member(at, t, &members[i]);
    return (size_t)(at - line);
}

size_t partial_text_write(char line[PARTIAL_TEXT_MAX], const struct partial_text *t)
{
    size_t length;

    if (!texts_fit(t))
        return 0;
    length = write_body(line, t, PARTIAL_TEXT_VERSION);
    return length + (size_t)sprintf(line + length, PARTIAL_TEXT_CHECKSUM "%08" PRIx32 "\"}",
                                    partial_text_checksum(line, length));
}

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

/* A name, for which there are `size` bytes. */
static void get_name(struct reader *r, char *name, size_t size)
{
    struct json_reader json;

    if (r->failed)
        return;
    json_read(&json, r->at); /* the line ends with a quote, so that it ends in the line */
    if (!json_read_string(&json, name, size))
        fail(r);
    r->at = json.at;
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

/* A number of missing ones, as its order key. */
static uint64_t get_missing_key(struct reader *r, enum element_type type)
{
    const int64_t key = get_key(r, type);

    return r->failed ? 0 : order_from_element_key(type, key);
}

static void get_missing(struct reader *r, enum element_type type, struct missing *m)
{
    bool any = false, added = true;

    m->differ = next_is(r, "null");
    if (m->differ)
        return;
    for (expect(r, "["); !r->failed && !next_is(r, "]"); any = true) {
        uint64_t first, last;

        if (any)
            expect(r, ",");
        if (!element_is_integer(type) && next_is(r, "\"nan\"")) {
            added = missing_add_bits(m, type, order_bits(type, order_greatest(type) + 1));
        } else if (next_is(r, "[")) {
            first = get_missing_key(r, type);
            expect(r, ",");
            last = get_missing_key(r, type);
            expect(r, "]");
            added = first < last && missing_add_range(m, first, last);
        } else {
            first = get_missing_key(r, type);
            added = missing_add_range(m, first, first);
        }
        if (!added)
            fail(r);
    }
}

/* A number of a scale: there are both or none. */
static void get_scale(struct reader *r, struct scale *scale, double *x)
{
    const bool none = next_is(r, "null");

    if (x == &scale->factor)
        scale->given = !none;
    if (scale->given == none)
        fail(r);
    if (r->failed || none)
        return;
    *x = exact_key_value(get_key(r, ELEMENT_F64));
    if (isinf(*x) || scale->factor == 0)
        fail(r);
}

static void get_digest(struct reader *r, struct partial_text *t)
{
    expect(r, "\"");
    if (r->failed || r->end - r->at < DIGEST_DIGITS || !digest_read(&t->partial.digest, r->at)) {
        fail(r);
        return;
    }
    r->at += DIGEST_DIGITS;
    expect(r, "\"");
    t->holds |= PARTIAL_DIGEST;
}

static void get_member(struct reader *r, struct partial_text *t, const struct member *m)
{
    void *x = (char *)t + m->offset;

    if (is_null(t, m)) {
        expect(r, "null");
        return;
    }
    if ((m->kind == MEMBER_EXACT || m->kind == MEMBER_SQUARES) &&
        partial_numbers(&t->partial) == partial_infinities(&t->partial)) {
        expect(r, "\"0x0p+0\""); /* a sum of no finite elements */
        return;
    }
    switch (m->kind) {
    case MEMBER_DIGEST:
        if (!next_is(r, "null"))
            get_digest(r, t);
        break;
    case MEMBER_MISSING:
        get_missing(r, t->type, x);
        break;
    case MEMBER_SCALE:
        get_scale(r, &t->scale, x);
        break;
    case MEMBER_COUNT:
        *(uint64_t *)x = get_count(r);
        break;
    case MEMBER_INDEX:
    case MEMBER_PLACE:
        *(uint64_t *)x = get_index(r);
        break;
    case MEMBER_EXACT:
        get_exact(r, t->type, x);
        break;
    case MEMBER_SQUARES:
        get_wide(r, t->type, x);
        break;
    case MEMBER_KEY:
    case MEMBER_UPPER:
    case MEMBER_LOWER:
        *(int64_t *)x = get_key(r, t->type);
        break;
    case MEMBER_MAGNITUDE:
        *(int64_t *)x = get_key(r, partial_least_type(t->type));
        break;
    }
}

/* Reads all members of a version: those whose first one is there are. */
static void get_members(struct reader *r, struct partial_text *t, unsigned version)
{
    for (size_t i = 0; i < MEMBERS && !r->failed; i++) {
        const struct member *m = &members[i];

        if (m->since > version)
            continue;
        if (m->holds == 0 || (t->holds & m->holds))
            expect(r, m->key);
        else if (!next_is(r, m->key))
            continue;
        t->holds |= m->holds;
        get_member(r, t, m);
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
    expect(r, ",\"of\":");
    t->of = get_count(r);
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
    return any && !t->bag ? has_index(t, index) : index == PARTIAL_NO_INDEX;
}

static bool ranges_fit(const struct partial_text *t)
{
    uint64_t count = 0;

    if (t->bag)
        return !(t->holds & (PARTIAL_WHERE | PARTIAL_DIGEST));
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
    const uint64_t both = partial_infinities(p); /* below 2^64 */

    if (element_formats[t->type].kind != ELEMENT_IEEE && both > 0)
        return false;
    if (both > partial_numbers(p))
        return false;
    if (!(t->holds & PARTIAL_EXTREMES) || element_is_integer(t->type) || partial_numbers(p) == 0)
        return true;
    return (p->min_key == exact_key(-INFINITY)) == (p->negative_infinity > 0) &&
           (p->max_key == exact_key(INFINITY)) == (p->positive_infinity > 0);
}

/* Whether as many elements may be missing, which a mask may say of any, and as many of the others
   NaNs. */
static bool missing_fits(const struct partial_text *t)
{
    const struct partial *p = &t->partial;

    return p->missing <= p->count && (p->nan == 0 || !missing_has_nans(&t->missing, t->type));
}

/* Whether what lies on both sides of a threshold is there for a scale alone, and does. */
static bool split_fits(const struct partial_text *t)
{
    const unsigned unscaled = PARTIAL_ABSOLUTE | PARTIAL_SMALL | PARTIAL_NEGATIVE;
    const struct partial *p = &t->partial;
    const bool lower = p->negative > 0, upper = p->negative != partial_numbers(p);
    const uint64_t below = order_from_element_key(t->type, p->below_key);
    const uint64_t least = order_from_element_key(t->type, p->least_magnitude);
    struct partial_split split;

    if (t->holds & (t->scale.given ? unscaled : (unsigned)PARTIAL_SPLIT))
        return false;
    if (!(t->holds & PARTIAL_SPLIT))
        return true;
    split = scale_split(&t->scale, t->type);
    if ((lower && !partial_split_is_below(&split, below)) ||
        (upper && partial_split_is_below(&split, least)))
        return false;
    return (p->zeros > 0) == (upper && partial_split_is_equal(&split, least));
}

/* Whether sums of squares and of magnitudes, and the least magnitude, may be those of any elements. */
static bool moments_fit(const struct partial_text *t)
{
    const unsigned variance = PARTIAL_SUM | PARTIAL_SQUARES;
    const struct partial *p = &t->partial;

    if ((t->holds & PARTIAL_ABSOLUTE) && exact_round(&p->absolute) < 0)
        return false;
    if ((t->holds & PARTIAL_SMALL) && partial_numbers(p) > 0 &&
        signbit(element_key_value(partial_least_type(t->type), p->least_magnitude)))
        return false;
    return (t->holds & variance) != variance || moments_agree(p);
}

static bool holds_together(const struct partial_text *t)
{
    const struct partial *p = &t->partial;
    uint64_t numbers;

    if (!ranges_fit(t) || !missing_fits(t) || !split_fits(t) || p->nan > p->count - p->missing ||
        (element_is_integer(t->type) && p->nan > 0) || !index_fits(t, p->nan > 0, p->first_nan) ||
        !infinities_fit(t) || !moments_fit(t))
        return false;
    numbers = partial_numbers(p);
    if ((t->holds & PARTIAL_EXTREMES) && numbers > 0 && p->min_key > p->max_key)
        return false;
    if ((t->holds & PARTIAL_WHERE) &&
        !((t->holds & PARTIAL_EXTREMES) && index_fits(t, numbers > 0, p->min_index) &&
          index_fits(t, numbers > 0, p->max_index)))
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

/* Whether it begins as a line of a version that is read, and ends with its checksum. */
static bool is_whole(struct reader *r, const char *line, size_t length, bool bag, uint64_t *version,
                     char error[PARTIAL_TEXT_ERROR_MAX])
{
    const char *tail = line + length - PARTIAL_TEXT_TAIL;
    char checksum[PARTIAL_TEXT_CHECKSUM_DIGITS + 1];

    if (!bag && !next_is(r, PARTIAL_TEXT_MAGIC))
        return refuse(error, "is not a partial result");
    *version = get_count(r);
    if (r->failed)
        return refuse(error, "is not a partial result");
    if (*version < (bag ? 2 : 1) || *version > PARTIAL_TEXT_VERSION) {
        snprintf(error, PARTIAL_TEXT_ERROR_MAX,
                 "is a partial result of version %" PRIu64
                 ", and this program reads versions 1 to %d",
                 *version, PARTIAL_TEXT_VERSION);
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
    const bool bag = next_is(&r, PARTIAL_TEXT_BAG);
    char again[PARTIAL_TEXT_MAX];
    uint64_t version;

    if (!is_whole(&r, line, length, bag, &version, error))
        return false;
    t->bag = bag;
    t->has_array = false;
    t->input[0] = t->array[0] = '\0';
    t->of = 0;
    t->missing = (struct missing){.count = 0};
    t->scale = (struct scale){.given = false};
    t->holds = t->range_count = 0;
    partial_clear(&t->partial);
    if (!bag) {
        expect(&r, ",\"input\":");
        get_name(&r, t->input, sizeof t->input);
        t->has_array = next_is(&r, ",\"array\":");
    }
    if (t->has_array)
        get_name(&r, t->array, sizeof t->array);
    expect(&r, ",\"dtype\":\"");
    get_type(&r, &t->type);
    if (!bag)
        get_ranges(&r, t);
    get_members(&r, t, (unsigned)version);
    if (r.failed || (size_t)(r.end - r.at) != PARTIAL_TEXT_TAIL || !holds_together(t)) {
        snprintf(error, PARTIAL_TEXT_ERROR_MAX,
                 "is not a partial result as this program writes them: see byte %td",
                 r.at - line + 1);
        return false;
    }
    if ((version > 1 && !texts_fit(t)) ||
        write_body(again, t, (unsigned)version) != length - PARTIAL_TEXT_TAIL ||
        memcmp(again, line, length - PARTIAL_TEXT_TAIL) != 0)
        return refuse(error, "is not a partial result as this program writes them");
    return true;
}
