#include "config.h"

#include "core/rename.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/buffer.h"

/* Groups, and the match as a whole. */
#define GROUPS 10

/* Copies up to the delimiter, which a backslash takes the meaning away from. Returns what follows it;
   NULL where it is missing. */
static const char *copy_part(char *to, const char *from, char delimiter)
{
    for (; *from && *from != delimiter; from++) {
        if (*from == '\\' && from[1] == delimiter)
            from++;
        else if (*from == '\\' && from[1])
            *to++ = *from++;
        *to++ = *from;
    }
    *to = '\0';
    return *from ? from + 1 : NULL;
}

/* Whether a replacement refers to no more groups than there are. */
static bool groups_exist(const char *replacement, size_t groups)
{
    for (const char *p = replacement; *p; p++) {
        if (*p != '\\')
            continue;
        p++;
        if (*p >= '0' && *p <= '9' && (size_t)(*p - '0') > groups)
            return false;
        if (!*p)
            return false;
    }
    return true;
}

bool rename_add(struct rename *r, const char *text, char why[RENAME_WHY_MAX])
{
    char *pattern = malloc(strlen(text) + 1), *replacement = malloc(strlen(text) + 1);
    const char *rest = text[0] == 's' && text[1] && text[1] != '\\' ? text + 2 : NULL;
    const char delimiter = text[rest ? 1 : strlen(text)];
    int error = 1;

    strcpy(why, "out of memory");
    if (pattern && replacement) {
        rest = rest ? copy_part(pattern, rest, delimiter) : NULL;
        rest = rest ? copy_part(replacement, rest, delimiter) : NULL;
        if (!rest || (strcmp(rest, "") != 0 && strcmp(rest, "g") != 0)) {
            strcpy(why, "must be s/REGEX/REPLACEMENT/ or s/REGEX/REPLACEMENT/g");
        } else if (r->count == RENAME_MAX) {
            snprintf(why, RENAME_WHY_MAX, "at most %d substitutions", RENAME_MAX);
        } else {
            regex_t *const regex = &r->list[r->count].regex;

            error = regcomp(regex, pattern, REG_EXTENDED);
            if (error) {
                regerror(error, regex, why, RENAME_WHY_MAX);
            } else if (!groups_exist(replacement, regex->re_nsub)) {
                strcpy(why, "the replacement has a group that the expression lacks");
                regfree(regex);
                error = 1;
            }
        }
    }
    free(pattern);
    if (error) {
        free(replacement);
        return false;
    }
    r->list[r->count].replacement = replacement;
    r->list[r->count].all = *rest == 'g';
    r->count++;
    return true;
}

/* Adds the replacement of a match in `text`. */
static void add_replacement(struct buffer *to, const char *replacement, const char *text,
                            const regmatch_t match[GROUPS])
{
    for (const char *p = replacement; *p; p++) {
        int group = -1;

        if (*p == '&')
            group = 0;
        else if (*p == '\\' && *++p >= '0' && *p <= '9')
            group = *p - '0';
        if (group < 0)
            buffer_bytes(to, p, 1);
        else if (match[group].rm_so >= 0)
            buffer_bytes(to, text + match[group].rm_so,
                         (size_t)(match[group].rm_eo - match[group].rm_so));
    }
}

/* A name after one substitution. NULL without memory. */
static char *substitute(const struct rename *r, unsigned number, const char *name)
{
    const char *replacement = r->list[number].replacement;
    struct buffer out = {0};
    regmatch_t match[GROUPS];
    size_t at = 0;
    bool after = false; /* after a match that was not empty, an empty one does not count */

    while (regexec(&r->list[number].regex, name + at, GROUPS, match, at > 0 ? REG_NOTBOL : 0) ==
           0) {
        const size_t begin = (size_t)match[0].rm_so, end = (size_t)match[0].rm_eo;

        buffer_bytes(&out, name + at, begin);
        if (!after || begin > 0 || begin < end)
            add_replacement(&out, replacement, name + at, match);
        after = begin < end;
        if (begin == end && name[at + end]) /* of nothing: goes on after the next character */
            buffer_bytes(&out, name + at + end, 1);
        at += end + (begin == end);
        if (!r->list[number].all || at > strlen(name) || (at == strlen(name) && begin < end))
            break;
    }
    if (at < strlen(name))
        buffer_bytes(&out, name + at, strlen(name) - at);
    buffer_bytes(&out, "", 1);
    if (out.failed) {
        buffer_free(&out);
        return NULL;
    }
    return out.data;
}

char *rename_apply(const struct rename *r, const char *name)
{
    char *renamed = strdup(name);

    for (unsigned i = 0; renamed && i < r->count; i++) {
        char *next = substitute(r, i, renamed);

        free(renamed);
        renamed = next;
    }
    return renamed;
}

void rename_free(struct rename *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        regfree(&r->list[i].regex);
        free(r->list[i].replacement);
    }
    r->count = 0;
}
