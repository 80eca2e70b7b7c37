#include "config.h"

#include "core/partial_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/partial_text_impl.h"
#include "sys/message.h"

uint32_t partial_text_checksum(const char *bytes, size_t size)
{
    /* Of the values of four bits: x^32 mod the polynomial, bits reflected. */
    static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
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

/* The bytes of a character of a name as it stands in the line: *p is its first. */
static size_t written_length(const unsigned char *p)
{
    if (*p < 0x20 || *p == 0x7f)
        return strlen("\\u0000");
    return *p == '"' || *p == '\\' ? 2 : message_utf8_length(p);
}

static bool set_name(char *to, size_t most, const char *name)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const unsigned char *p = (const unsigned char *)name;
    size_t used = 0, written = 0;

    while (*p) {
        const size_t length = message_utf8_length(p);
        const char *from = length ? (const char *)p : replacement;
        const size_t size = length ? length : strlen(replacement);

        written += written_length((const unsigned char *)from);
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
 * Writing. There is room for the longest line there can be: test_partial_text has it.
 */

static char *put(char *at, const char *text)
{
    const size_t length = strlen(text);

    memcpy(at, text, length);
    return at + length;
}

static char *put_count(char *at, uint64_t count)
{
    char digits[20];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + count % 10);
    while (count /= 10);
    while (n > 0)
        *at++ = digits[--n];
    return at;
}

/* An index, or null. */
static char *put_index(char *at, uint64_t index)
{
    return index == PARTIAL_NO_INDEX ? put(at, "null") : put_count(at, index);
}

static char *put_name(char *at, const char *name)
{
    static const char hex[] = "0123456789abcdef";

    *at++ = '"';
    for (; *name; name++) {
        const unsigned char c = (unsigned char)*name;

        if (c < 0x20 || c == 0x7f) {
            at = put(at, "\\u00");
            *at++ = hex[c >> 4];
            *at++ = hex[c & 15];
            continue;
        }
        if (c == '"' || c == '\\')
            *at++ = '\\';
        *at++ = *name;
    }
    *at++ = '"';
    return at;
}

/* Four bits from `bit` on, of n digits. */
static unsigned nibble(const uint32_t *digit, int n, int bit)
{
    const int place = bit / 32, shift = bit % 32;
    uint64_t pair = digit[place];

    if (place + 1 < n)
        pair |= (uint64_t)digit[place + 1] << 32;
    return (unsigned)(pair >> shift) & 15;
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
    for (int bit = low + (high - low) / 4 * 4; bit >= low; bit -= 4)
        *at++ = hex[nibble(digit, n, bit)];
    exponent = low + lsb_exponent;
    *at++ = 'p';
    *at++ = exponent < 0 ? '-' : '+';
    at = put_count(at, (uint64_t)(exponent < 0 ? -exponent : exponent));
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

    exact_wide_digits(e, digit);
    return put_digits(at, digit, EXACT_WIDE_DIGITS, EXACT_WIDE_LSB_EXPONENT, false);
}

/* The number that a key of the type stands for. */
static char *put_key(char *at, enum element_type type, int64_t key)
{
    uint64_t magnitude;
    uint32_t digit[2];
    int exponent = 0;
    bool negative;

    if (element_is_integer(type)) {
        const struct integer x = element_key_integer(type, key);

        magnitude = x.low;
        negative = x.negative;
    } else {
        const double x = exact_key_value(key);
        const uint64_t bits = exact_bits(x);

        if (isinf(x))
            return put(at, x < 0 ? "\"-inf\"" : "\"inf\"");
        negative = bits >> 63;
        exponent = (int)(bits >> 52 & 0x7ff);
        magnitude = (bits & 0xfffffffffffffu) | (uint64_t)(exponent != 0) << 52;
        exponent += EXACT_LSB_EXPONENT - (exponent != 0);
    }
    digit[0] = (uint32_t)magnitude;
    digit[1] = (uint32_t)(magnitude >> 32);
    return put_digits(at, digit, 2, exponent, negative);
}

/* The same, or null where there are no numbers. */
static char *put_extreme(char *at, bool any, enum element_type type, int64_t key)
{
    return any ? put_key(at, type, key) : put(at, "null");
}

/* What of the partial result is known. */
static char *put_held(char *at, const struct partial_text *t)
{
    const struct partial *p = &t->partial;
    const struct partial_types types = partial_types_of(t->type);
    const bool any = p->count > p->nan;

    if (t->holds & PARTIAL_SUM)
        at = put_exact(put(at, ",\"sum\":"), &p->sum);
    if (t->holds & PARTIAL_EXTREMES) {
        at = put_extreme(put(at, ",\"min\":"), any, types.min, p->min_key);
        at = put_extreme(put(at, ",\"max\":"), any, types.max, p->max_key);
    }
    if (t->holds & PARTIAL_WHERE) {
        at = put_index(put(at, ",\"argmin\":"), any ? p->min_index : PARTIAL_NO_INDEX);
        at = put_index(put(at, ",\"argmax\":"), any ? p->max_index : PARTIAL_NO_INDEX);
    }
    if (t->holds & PARTIAL_SQUARES)
        at = put_wide(put(at, ",\"sumsq\":"), &p->squares);
    if (t->holds & PARTIAL_ABSOLUTE)
        at = put_exact(put(at, ",\"l1\":"), &p->absolute);
    if (t->holds & PARTIAL_SMALL) {
        at = put_extreme(put(at, ",\"absmin\":"), any, types.least, p->least_magnitude);
        at = put_count(put(at, ",\"zeros\":"), p->zeros);
        at = put_count(put(at, ",\"subnormals\":"), p->subnormal);
    }
    if (t->holds & PARTIAL_NEGATIVE)
        at = put_count(put(at, ",\"negatives\":"), p->negative);
    return at;
}

size_t partial_text_write(char line[PARTIAL_TEXT_MAX], const struct partial_text *t)
{
    const struct partial *p = &t->partial;
    char *at = put_count(put(line, PARTIAL_TEXT_MAGIC), PARTIAL_TEXT_VERSION);

    at = put_name(put(at, ",\"input\":"), t->input);
    if (t->has_array)
        at = put_name(put(at, ",\"array\":"), t->array);
    at = put(put(put(at, ",\"dtype\":\""), element_name(t->type)), "\"");
    at = put(put_count(put(at, ",\"of\":"), t->of), ",\"ranges\":[");
    for (unsigned i = 0; i < t->range_count; i++) {
        at = put_count(put(at, i > 0 ? ",[" : "["), t->ranges[i].begin);
        at = put(put_count(put(at, ","), t->ranges[i].end), "]");
    }
    at = put_count(put(at, "],\"count\":"), p->count);
    at = put_count(put(at, ",\"nan\":"), p->nan);
    at = put_index(put(at, ",\"first_nan\":"), p->first_nan);
    at = put_count(put(at, ",\"posinf\":"), p->positive_infinity);
    at = put_count(put(at, ",\"neginf\":"), p->negative_infinity);
    at = put_held(at, t);
    at += sprintf(at, PARTIAL_TEXT_CHECKSUM "%08" PRIx32 "\"}",
                  partial_text_checksum(line, (size_t)(at - line)));
    return (size_t)(at - line);
}
