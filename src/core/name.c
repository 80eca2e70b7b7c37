#include "config.h"

#include "core/name.h"

#include <stdio.h>
#include <string.h>

const char *name_input(char name[NAME_INPUT_MAX], const char *path)
{
    if (strcmp(path, "-") != 0)
        return escape_quote(name, path);
    snprintf(name, NAME_INPUT_MAX, "standard input");
    return name;
}

const char *name_array(char shown[NAME_ARRAY_MAX], const char *array)
{
    char quoted[ESCAPE_QUOTE_MAX];
    const char *text = escape_quote(quoted, array);
    size_t length = strlen(text), most = NAME_ARRAY_MAX - 4;

    if (length < NAME_ARRAY_MAX) {
        memcpy(shown, text, length + 1);
        return shown;
    }
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80) /* within a character */
        most--;
    memcpy(shown, text, most);
    memcpy(shown + most, "...", 4);
    return shown;
}

const char *name_both(char name[NAME_BOTH_MAX], const char *path, const char *array)
{
    char shown[NAME_ARRAY_MAX];

    (void)name_input(name, path);
    if (array)
        sprintf(name + strlen(name), ": array %s", name_array(shown, array));
    return name;
}

bool name_ends(const char *name, size_t length, const char *end)
{
    const size_t size = strlen(end);

    return length > size && memcmp(name + length - size, end, size) == 0;
}

int name_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* 2^64 by the golden ratio. */
#define ODD UINT64_C(0x9e3779b97f4a7c15)

/* A number for a text, which is read by words of eight bytes: containers have millions of names. */
static uint64_t hash(const char *text)
{
    const size_t length = strlen(text);
    uint64_t h = length, word = 0;

    for (size_t at = 0; at + sizeof word < length; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        h = (h ^ word) * ODD;
        h ^= h >> 32;
    }
    if (length >= sizeof word) /* the last word may begin within the one before */
        memcpy(&word, text + length - sizeof word, sizeof word);
    else
        for (size_t at = 0; at < length; at++)
            word = word << 8 | (unsigned char)text[at];
    h = (h ^ word) * ODD;
    return h ^ h >> 32;
}

uint64_t name_hash(const char *one, const char *other)
{
    return other && *other ? hash(one) * ODD ^ hash(other) : hash(one);
}
