#include "config.h"

#include "sys/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sys/escape.h"
#include "sys/point.h"

const char *json_decimal(const char *decimal)
{
    return strcmp(decimal, "-0") == 0 ? "-0.0" : decimal;
}

/*
 * Reading.
 */

static bool fail(struct json_reader *r)
{
    r->failed = true;
    return false;
}

static inline void pass_space(struct json_reader *r)
{
    if ((unsigned char)*r->at > ' ')
        return;
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')
        r->at++;
}

void json_read_space(struct json_reader *r)
{
    pass_space(r);
}

/* Takes a word of the grammar, behind space, if it comes next. The caller looks at what follows. */
static bool take_word(struct json_reader *r, const char *word, size_t length)
{
    if (r->failed)
        return false;
    pass_space(r);
    if (strncmp(r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

static inline bool take(struct json_reader *r, char c)
{
    if (r->failed)
        return false;
    pass_space(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

void json_read(struct json_reader *r, const char *text)
{
    *r = (struct json_reader){.at = text};
}

void json_read_python(struct json_reader *r, const char *text)
{
    *r = (struct json_reader){.at = text, .python = true};
}

bool json_read_begin(struct json_reader *r, char bracket)
{
    if (!take(r, bracket) || r->depth == JSON_DEPTH_MAX)
        return fail(r);
    r->depth++;
    r->first = true;
    return true;
}

bool json_read_more(struct json_reader *r, char bracket)
{
    bool first = r->first;

    r->first = false;
    if (take(r, bracket)) {
        r->depth--;
        return false;
    }
    return !r->failed && (first || take(r, ',') || fail(r));
}

/* Reads \u and the four hexadecimal digits behind it. */
static bool read_code(struct json_reader *r, unsigned *code)
{
    if (r->at[0] != '\\' || r->at[1] != 'u')
        return false;
    r->at += 2;
    *code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = *r->at ? strchr(digits, *r->at) : NULL;

        if (!digit)
            return false;
        *code = *code * 16 + (unsigned)(digit - digits) - (digit - digits > 15 ? 6 : 0);
    }
    return true;
}

/* A character written as \u, or as two of them, a pair of UTF-16's surrogates (RFC 8259, section
   7), as UTF-8. Returns its bytes, 0 where that is refused. */
static size_t read_unicode(struct json_reader *r, char utf8[4])
{
    unsigned code, low;

    if (!read_code(r, &code))
        return 0;
    if (code >= 0xd800 && code < 0xe000) {
        if (code >= 0xdc00 || !read_code(r, &low) || low < 0xdc00 || low >= 0xe000)
            return 0;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return escape_utf8(utf8, code);
}

/* Reads one character of a string, escaped or not, as UTF-8. Returns its number of bytes, or 0. */
static size_t read_character(struct json_reader *r, char utf8[4])
{
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *escape;
    size_t length;

    if (*r->at != '\\') {
        length = escape_utf8_length((const unsigned char *)r->at);
        if ((unsigned char)*r->at < 0x20)
            return 0;
        memcpy(utf8, r->at, length);
        r->at += length;
        return length;
    }
    if (r->at[1] == 'u')
        return read_unicode(r, utf8);
    r->at++;
    escape = *r->at ? strchr(escapes, *r->at) : NULL;
    if (!escape)
        return 0;
    utf8[0] = meanings[escape - escapes];
    r->at++;
    return 1;
}

/* Reads what follows the quote that begins a string; text is NULL for one to be skipped. A string
   without room is cut off, or an error. */
static bool read_rest(struct json_reader *r, char *text, size_t size, bool cut)
{
    size_t used = 0;
    bool full = !text;

    while (*r->at != '"') {
        char utf8[4];
        size_t length = escape_plain_length(r->at);

        /* Most strings are nothing else. One may be read to where it stands. */
        if (length > 0 && (full || length < size - used)) {
            if (!full && text + used != r->at)
                memmove(text + used, r->at, length);
            used += full ? 0 : length;
            r->at += length;
            continue;
        }
        length = read_character(r, utf8);
        if (length == 0 || (text && !*utf8)) /* a text that is kept ends at a NUL */
            return fail(r);
        if (!full && length >= size - used) {
            if (!cut)
                return fail(r);
            full = true;
        }
        if (!full) {
            memcpy(text + used, utf8, length);
            used += length;
        }
    }
    r->at++;
    if (text)
        text[used] = '\0';
    return true;
}

static bool read_string(struct json_reader *r, char *text, size_t size, bool cut)
{
    return take(r, '"') ? read_rest(r, text, size, cut) : fail(r);
}

bool json_read_string(struct json_reader *r, char *text, size_t size)
{
    bool good = read_string(r, text, size, false);

    if (!good)
        text[0] = '\0';
    return good;
}

bool json_read_key(struct json_reader *r, char *text, size_t size)
{
    bool good = read_string(r, text, size, true) && (take(r, ':') || fail(r));

    if (!good)
        text[0] = '\0';
    return good;
}

char *json_read_string_here(struct json_reader *r)
{
    char *text = NULL;

    if (take(r, '"'))
        text = (char *)(uintptr_t)r->at; /* see json.h */
    else
        (void)fail(r);
    return text && read_rest(r, text, SIZE_MAX, false) ? text : NULL;
}

char *json_read_key_here(struct json_reader *r)
{
    char *text = json_read_string_here(r);

    if (text && !take(r, ':')) {
        (void)fail(r);
        return NULL;
    }
    return text;
}

bool json_read_integer(struct json_reader *r, uint64_t *x)
{
    enum { SAFE = 19 }; /* so many digits are always below 2^64 */
    const char *p;
    uint64_t some = 0;

    if (r->failed)
        return false;
    pass_space(r);
    for (p = r->at; *p >= '0' && *p <= '9' && p - r->at < SAFE; p++)
        some = 10 * some + (uint64_t)(*p - '0');
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(some, UINT64_C(10), &some) ||
            __builtin_add_overflow(some, (uint64_t)(*p - '0'), &some))
            return fail(r);
    *x = some;
    if (p == r->at || (*r->at == '0' && p - r->at > 1) || *p == '.' || *p == 'e' || *p == 'E')
        return fail(r);
    r->at = p;
    return true;
}

/* How many digits there are at p. */
static size_t digits(const char *p)
{
    size_t count = 0;

    while (p[count] >= '0' && p[count] <= '9')
        count++;
    return count;
}

/* The end of the number that comes next, after space; NULL when there is none. The grammar is narrower
   than strtod's, which would take "0x1p3", ".5" and "inf". */
static const char *number_end(struct json_reader *r)
{
    const char *p;
    size_t count;

    if (r->failed)
        return NULL;
    pass_space(r);
    p = r->at + (*r->at == '-');
    count = digits(p);
    if (count == 0 || (count > 1 && *p == '0'))
        return NULL;
    p += count;
    if (*p == '.') {
        count = digits(p + 1);
        if (count == 0)
            return NULL;
        p += 1 + count;
    }
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '+' || p[1] == '-');
        count = digits(p);
        if (count == 0)
            return NULL;
        p += count;
    }
    return p;
}

bool json_read_number(struct json_reader *r, double *x)
{
    POINT_DEFAULT;
    const char *const end = number_end(r);

    if (!end)
        return fail(r);
    *x = strtod(r->at, NULL);
    if (!isfinite(*x))
        return fail(r);
    r->at = end;
    return true;
}

bool json_read_number_text(struct json_reader *r, char *text, size_t size)
{
    const char *const end = number_end(r);

    text[0] = '\0';
    if (!end || (size_t)(end - r->at) >= size)
        return fail(r);
    memcpy(text, r->at, (size_t)(end - r->at));
    text[end - r->at] = '\0';
    r->at = end;
    return true;
}

const char *json_read_word(struct json_reader *r)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};

    for (int i = 0; r->python && i < 3; i++)
        if (take_word(r, words[i], strlen(words[i])))
            return words[i];
    return NULL;
}

bool json_read_null(struct json_reader *r)
{
    return take_word(r, "null", 4);
}

/* NOLINTNEXTLINE(misc-no-recursion): not deeper than JSON_DEPTH_MAX */
bool json_read_skip(struct json_reader *r)
{
    double number;

    if (r->failed)
        return false;
    pass_space(r);
    switch (*r->at) {
    case '{':
        json_read_begin(r, '{');
        while (json_read_more(r, '}')) {
            if (read_string(r, NULL, 0, true) && (take(r, ':') || fail(r)))
                json_read_skip(r);
        }
        return !r->failed;
    case '[':
        json_read_begin(r, '[');
        while (json_read_more(r, ']'))
            json_read_skip(r);
        return !r->failed;
    case '"':
        return read_string(r, NULL, 0, true);
    case 't':
        return take_word(r, "true", 4) || fail(r);
    case 'f':
        return take_word(r, "false", 5) || fail(r);
    case 'n':
        return take_word(r, "null", 4) || fail(r);
    default:
        return json_read_word(r) || json_read_number(r, &number);
    }
}

bool json_read_end(struct json_reader *r)
{
    pass_space(r);
    return !r->failed && r->depth == 0 && *r->at == '\0';
}
