#include "config.h"

#include "sys/escape.h"

#include <string.h>

size_t escape_utf8_length(const unsigned char *p)
{
    size_t length = *p < 0x80   ? 1
                    : *p < 0xc2 ? 0
                    : *p < 0xe0 ? 2
                    : *p < 0xf0 ? 3
                    : *p < 0xf5 ? 4
                                : 0;

    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
    if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
        (*p == 0xf4 && p[1] > 0x8f))
        return 0;
    return length;
}

/* The character whose valid UTF-8 sequence of `length` bytes is at p. */
static uint32_t code_point(const unsigned char *p, size_t length)
{
    uint32_t c = length == 1 ? *p : *p & (0xffu >> (length + 1));

    for (size_t i = 1; i < length; i++)
        c = c << 6 | (p[i] & 0x3f);
    return c;
}

static const struct {
    uint32_t first, last;
} unseen[] = {
    {0x0000, 0x001f},   /* controls */
    {0x007f, 0x009f},   /* controls */
    {0x00ad, 0x00ad},   /* soft hyphen */
    {0x061c, 0x061c},   /* Arabic letter mark */
    {0x180e, 0x180e},   /* Mongolian vowel separator */
    {0x200b, 0x200f},   /* without width; joiners; marks of direction */
    {0x2028, 0x202e},   /* separators of lines; embeddings and overrides of direction */
    {0x2060, 0x206f},   /* invisible operators; isolates of direction */
    {0xfeff, 0xfeff},   /* byte order mark */
    {0xfff9, 0xfffb},   /* interlinear annotation */
    {0x1bca0, 0x1bca3}, /* shorthand */
    {0x1d173, 0x1d17a}, /* musical notation */
    {0xe0000, 0xe0fff}, /* tags */
};

size_t escape_utf8(char to[4], uint32_t character)
{
    const size_t length = character < 0x80      ? 1
                          : character < 0x800   ? 2
                          : character < 0x10000 ? 3
                                                : 4;

    for (size_t i = length; i-- > 1; character >>= 6)
        to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)(length == 1 ? character : (0xf00 >> length & 0xff) | character);
    return length;
}

/* Whether a character is not seen, or changes what is seen around it. */
static bool is_unseen(uint32_t c)
{
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
        if (c >= unseen[i].first && c <= unseen[i].last)
            return true;
    return false;
}

size_t escape_plain_length(const char *text)
{
    static const bool plain[256] = {
        [' '] = true, ['!'] = true, ['#' ... '['] = true, [']' ... '~'] = true};
    size_t length = 0;

    while (plain[(unsigned char)text[length]])
        length++;
    return length;
}

size_t escape_seen_length(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    const size_t length = escape_utf8_length(p);

    return length > 0 && !is_unseen(code_point(p, length)) ? length : 0;
}

/* Letters that follow the backslash of an escape, and the characters that they mean. */
static const char letters[] = "tnr\\", meanings[] = "\t\n\r\\";

static size_t put_field(char to[ESCAPE_MAX], const unsigned char *p, size_t length)
{
    const char *letter = strchr(meanings, *p);
    size_t used = 0;

    if (letter)
        return (size_t)sprintf(to, "\\%c", letters[letter - meanings]);
    for (size_t i = 0; i < length; i++)
        used += (size_t)snprintf(to + used, 5, "\\%03o", p[i]);
    return used;
}

static size_t put_code(char to[ESCAPE_MAX], uint32_t c)
{
    if (c < 0x10000)
        return (size_t)sprintf(to, "\\u%04x", c);
    c -= 0x10000; /* a pair of UTF-16's surrogates */
    return (size_t)sprintf(to, "\\u%04x\\u%04x", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
}

size_t escape_next(char to[ESCAPE_MAX], const char **text, enum escape_form form)
{
    const unsigned char *p = (const unsigned char *)*text;
    const size_t length = escape_utf8_length(p), size = length ? length : 1;
    const uint32_t c = length ? code_point(p, length) : 0xfffd;

    *text += size;
    switch (form) {
    case ESCAPE_FIELD:
        if (length == 0 || c == '\\' || is_unseen(c)) {
            char room[ESCAPE_MAX + 1]; /* with a NUL */
            const size_t used = put_field(room, p, size);

            memcpy(to, room, used);
            return used;
        }
        break;
    case ESCAPE_JSON:
        if (length == 0 || is_unseen(c))
            return put_code(to, c);
        if (c == '"' || c == '\\')
            return (size_t)sprintf(to, "\\%c", (char)c);
        break;
    }
    memcpy(to, p, length);
    return length;
}

/* The byte of three octal digits; negative where there are none. */
static int octal(const char *digits)
{
    int byte = 0;

    for (int i = 0; i < 3; i++) {
        if (digits[i] < '0' || digits[i] > '7')
            return -1;
        byte = 8 * byte + digits[i] - '0';
    }
    return byte < 256 ? byte : -1;
}

void escape_undo(char *text)
{
    const char *from = text;

    while (*from) {
        const char *letter = *from == '\\' && from[1] ? strchr(letters, from[1]) : NULL;
        const int byte = *from == '\\' ? octal(from + 1) : -1;

        if (letter) {
            *text++ = meanings[letter - letters];
            from += 2;
        } else if (byte > 0) {
            *text++ = (char)byte;
            from += 4;
        } else {
            *text++ = *from++;
        }
    }
    *text = '\0';
}

bool escape_is_seen(const char *text)
{
    size_t length;

    while (*text && (length = escape_seen_length(text)) > 0)
        text += length;
    return !*text;
}

const char *escape_quote(char out[ESCAPE_QUOTE_MAX], const char *name)
{
    const char *p = name;
    size_t length = 0;

    if (*name && escape_is_seen(name)) {
        length = strnlen(name, ESCAPE_QUOTE_MAX - 1);
        while (((unsigned char)name[length] & 0xc0) == 0x80) /* within a character */
            length--;
        memcpy(out, name, length);
        out[length] = '\0';
        return out;
    }
    out[length++] = '\'';
    while (*p && length < ESCAPE_QUOTE_MAX - ESCAPE_MAX - 2) {
        if (*p == '\'') { /* it would end the quotes */
            length += (size_t)sprintf(out + length, "\\%03o", *p++);
            continue;
        }
        length += escape_next(out + length, &p, ESCAPE_FIELD);
    }
    out[length++] = '\'';
    out[length] = '\0';
    return out;
}
