#include "config.h"

#include "core/partial_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "core/partial_text_impl.h"
#include "sys/escape.h"

uint32_t partial_text_checksum(const char *bytes, size_t size)
{
    /* For each value of a byte: x^32 mod the polynomial, bits reflected. */
    static const uint32_t table[256] = {
        0x00000000, 0x77073096, 0xee0e612c, 0x990951ba, 0x076dc419, 0x706af48f, 0xe963a535,
        0x9e6495a3, 0x0edb8832, 0x79dcb8a4, 0xe0d5e91e, 0x97d2d988, 0x09b64c2b, 0x7eb17cbd,
        0xe7b82d07, 0x90bf1d91, 0x1db71064, 0x6ab020f2, 0xf3b97148, 0x84be41de, 0x1adad47d,
        0x6ddde4eb, 0xf4d4b551, 0x83d385c7, 0x136c9856, 0x646ba8c0, 0xfd62f97a, 0x8a65c9ec,
        0x14015c4f, 0x63066cd9, 0xfa0f3d63, 0x8d080df5, 0x3b6e20c8, 0x4c69105e, 0xd56041e4,
        0xa2677172, 0x3c03e4d1, 0x4b04d447, 0xd20d85fd, 0xa50ab56b, 0x35b5a8fa, 0x42b2986c,
        0xdbbbc9d6, 0xacbcf940, 0x32d86ce3, 0x45df5c75, 0xdcd60dcf, 0xabd13d59, 0x26d930ac,
        0x51de003a, 0xc8d75180, 0xbfd06116, 0x21b4f4b5, 0x56b3c423, 0xcfba9599, 0xb8bda50f,
        0x2802b89e, 0x5f058808, 0xc60cd9b2, 0xb10be924, 0x2f6f7c87, 0x58684c11, 0xc1611dab,
        0xb6662d3d, 0x76dc4190, 0x01db7106, 0x98d220bc, 0xefd5102a, 0x71b18589, 0x06b6b51f,
        0x9fbfe4a5, 0xe8b8d433, 0x7807c9a2, 0x0f00f934, 0x9609a88e, 0xe10e9818, 0x7f6a0dbb,
        0x086d3d2d, 0x91646c97, 0xe6635c01, 0x6b6b51f4, 0x1c6c6162, 0x856530d8, 0xf262004e,
        0x6c0695ed, 0x1b01a57b, 0x8208f4c1, 0xf50fc457, 0x65b0d9c6, 0x12b7e950, 0x8bbeb8ea,
        0xfcb9887c, 0x62dd1ddf, 0x15da2d49, 0x8cd37cf3, 0xfbd44c65, 0x4db26158, 0x3ab551ce,
        0xa3bc0074, 0xd4bb30e2, 0x4adfa541, 0x3dd895d7, 0xa4d1c46d, 0xd3d6f4fb, 0x4369e96a,
        0x346ed9fc, 0xad678846, 0xda60b8d0, 0x44042d73, 0x33031de5, 0xaa0a4c5f, 0xdd0d7cc9,
        0x5005713c, 0x270241aa, 0xbe0b1010, 0xc90c2086, 0x5768b525, 0x206f85b3, 0xb966d409,
        0xce61e49f, 0x5edef90e, 0x29d9c998, 0xb0d09822, 0xc7d7a8b4, 0x59b33d17, 0x2eb40d81,
        0xb7bd5c3b, 0xc0ba6cad, 0xedb88320, 0x9abfb3b6, 0x03b6e20c, 0x74b1d29a, 0xead54739,
        0x9dd277af, 0x04db2615, 0x73dc1683, 0xe3630b12, 0x94643b84, 0x0d6d6a3e, 0x7a6a5aa8,
        0xe40ecf0b, 0x9309ff9d, 0x0a00ae27, 0x7d079eb1, 0xf00f9344, 0x8708a3d2, 0x1e01f268,
        0x6906c2fe, 0xf762575d, 0x806567cb, 0x196c3671, 0x6e6b06e7, 0xfed41b76, 0x89d32be0,
        0x10da7a5a, 0x67dd4acc, 0xf9b9df6f, 0x8ebeeff9, 0x17b7be43, 0x60b08ed5, 0xd6d6a3e8,
        0xa1d1937e, 0x38d8c2c4, 0x4fdff252, 0xd1bb67f1, 0xa6bc5767, 0x3fb506dd, 0x48b2364b,
        0xd80d2bda, 0xaf0a1b4c, 0x36034af6, 0x41047a60, 0xdf60efc3, 0xa867df55, 0x316e8eef,
        0x4669be79, 0xcb61b38c, 0xbc66831a, 0x256fd2a0, 0x5268e236, 0xcc0c7795, 0xbb0b4703,
        0x220216b9, 0x5505262f, 0xc5ba3bbe, 0xb2bd0b28, 0x2bb45a92, 0x5cb36a04, 0xc2d7ffa7,
        0xb5d0cf31, 0x2cd99e8b, 0x5bdeae1d, 0x9b64c2b0, 0xec63f226, 0x756aa39c, 0x026d930a,
        0x9c0906a9, 0xeb0e363f, 0x72076785, 0x05005713, 0x95bf4a82, 0xe2b87a14, 0x7bb12bae,
        0x0cb61b38, 0x92d28e9b, 0xe5d5be0d, 0x7cdcefb7, 0x0bdbdf21, 0x86d3d2d4, 0xf1d4e242,
        0x68ddb3f8, 0x1fda836e, 0x81be16cd, 0xf6b9265b, 0x6fb077e1, 0x18b74777, 0x88085ae6,
        0xff0f6a70, 0x66063bca, 0x11010b5c, 0x8f659eff, 0xf862ae69, 0x616bffd3, 0x166ccf45,
        0xa00ae278, 0xd70dd2ee, 0x4e048354, 0x3903b3c2, 0xa7672661, 0xd06016f7, 0x4969474d,
        0x3e6e77db, 0xaed16a4a, 0xd9d65adc, 0x40df0b66, 0x37d83bf0, 0xa9bcae53, 0xdebb9ec5,
        0x47b2cf7f, 0x30b5ffe9, 0xbdbdf21c, 0xcabac28a, 0x53b39330, 0x24b4a3a6, 0xbad03605,
        0xcdd70693, 0x54de5729, 0x23d967bf, 0xb3667a2e, 0xc4614ab8, 0x5d681b02, 0x2a6f2b94,
        0xb40bbe37, 0xc30c8ea1, 0x5a05df1b, 0x2d02ef8d,
    };
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ (unsigned char)bytes[i]) & 255];
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

/* Writes an extreme, or null if there are no numbers. */
static char *put_extreme(char *at, bool any, enum element_type type, int64_t key)
{
    return any ? put_key(at, type, key) : put(at, "null");
}

/* Writes the members of the partial result that were asked for. */
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

size_t partial_text_write_body(char *line, const struct partial_text *t)
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
    return (size_t)(at - line);
}

size_t partial_text_write(char line[PARTIAL_TEXT_MAX], const struct partial_text *t)
{
    const size_t length = partial_text_write_body(line, t);

    return length + (size_t)sprintf(line + length, PARTIAL_TEXT_CHECKSUM "%08" PRIx32 "\"}",
                                    partial_text_checksum(line, length));
}
