/*
 * Renaming: substitutions as those of sed(1), s/REGEX/REPLACEMENT/, with POSIX extended regular
 * expressions. The first match is replaced, with g at the end all. In the replacement & is what
 * matched, and \1 to \9 are its groups; a backslash takes the meaning of a character away. Any
 * character may stand in place of the slash.
 *
 * A set belongs to one thread at a time.
 */
#ifndef GPUREDUCE_RENAME_H
#define GPUREDUCE_RENAME_H

#include <regex.h>
#include <stdbool.h>

/* The most substitutions of a set. */
#define RENAME_MAX 16

/* Substitutions that are made one after the other. All zeros: none. */
struct rename {
    unsigned count;
    struct {
        regex_t regex;
        char *replacement; /* of malloc, as it was written */
        bool all;
    } list[RENAME_MAX];
};

/* Room for why a text is no substitution. */
#define RENAME_WHY_MAX 160

/* Adds a substitution. False if the text is none, or without memory; `why` says so then. */
bool rename_add(struct rename *r, const char *text, char why[RENAME_WHY_MAX]);

/* A name after all substitutions, of malloc; NULL without memory. */
char *rename_apply(const struct rename *r, const char *name);

void rename_free(struct rename *r);

#endif
