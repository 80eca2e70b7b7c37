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

/* FNV-1a, of the texts with the NUL between them. */
uint64_t name_hash(const char *one, const char *other)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (; *one; one++)
        h = (h ^ (unsigned char)*one) * prime;
    for (h *= prime; other && *other; other++)
        h = (h ^ (unsigned char)*other) * prime;
    return h ^ h >> 32;
}
