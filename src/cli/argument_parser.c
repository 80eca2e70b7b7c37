#include "config.h"

#include "cli/argument_parser.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/completion.h"
#include "cli/version.h"
#include "core/number.h"
#include "sys/message.h"

/*
 * Arguments of options.
 */

bool arguments_unknown_word(const struct arguments *a, const struct argument *x, const char *text)
{
    char format[512];
    size_t used = (size_t)snprintf(format, sizeof format, "unknown %s %%s: must be", x->what);

    for (size_t i = 0; x->word(i) && used < sizeof format; i++)
        used += (size_t)snprintf(format + used, sizeof format - used, "%s %s",
                                 i == 0                       ? ""
                                 : x->other || x->word(i + 1) ? ","
                                                              : " or",
                                 x->word(i));
    if (x->other && used < sizeof format)
        snprintf(format + used, sizeof format - used, " or %s", x->other);
    return arguments_wrong(a, format, text);
}

bool arguments_find_word(const struct arguments *a, const struct argument *x, const char *text,
                         size_t *place)
{
    for (*place = 0; x->word(*place); ++*place)
        if (strcmp(text, x->word(*place)) == 0)
            return true;
    return arguments_unknown_word(a, x, text);
}

/* Reads a size or a count, and holds it to its bounds. */
static bool take_number(const struct arguments *a, const struct argument *x, const char *text,
                        uint64_t *number)
{
    bool size = x->kind == ARGUMENT_SIZE;
    char format[160];

    if (!(size ? number_parse_size(text, number) : number_parse_count(text, number)))
        snprintf(format, sizeof format, "bad %s %%s for --%s",
                 x->what ? x->what
                 : size  ? "size"
                         : "number",
                 x->name);
    else if (x->most && (*number < x->least || *number > x->most))
        snprintf(format, sizeof format, "--%s %%s must be from %" PRIu64 " to %" PRIu64, x->name,
                 x->least, x->most);
    else if (*number < x->least)
        snprintf(format, sizeof format, "--%s %%s must be at least %" PRIu64, x->name, x->least);
    else
        return true;
    return arguments_wrong(a, format, text);
}

/* Takes an option with its argument, which is NULL where there is none. */
static enum arguments_action take(const struct arguments *a, const struct argument *x,
                                  const char *text, void *base)
{
    void *target = (char *)base + x->target;
    /* Only `parse` knows what it means that an argument is left out. */
    const char *given = text ? text : "";
    uint64_t number;
    size_t place;
    unsigned value; /* as GCC and Clang hold an enum without negative values */
    bool good = true;

    switch (x->kind) {
    case ARGUMENT_SET:
    case ARGUMENT_CLEAR:
        *(bool *)target = x->kind == ARGUMENT_SET;
        break;
    case ARGUMENT_SIZE:
    case ARGUMENT_COUNT:
        good = take_number(a, x, given, &number);
        if (good)
            *(uint64_t *)target = number;
        break;
    case ARGUMENT_WORD:
        good = arguments_find_word(a, x, given, &place);
        if (good) {
            value = (unsigned)place;
            memcpy(target, &value, sizeof value);
        }
        break;
    case ARGUMENT_TEXT:
        *(const char **)target = given;
        break;
    case ARGUMENT_PARSED:
        good = x->parse(a, x, text, target);
        break;
    case ARGUMENT_HELP:
        arguments_print_help(a);
        return ARGUMENTS_DONE;
    case ARGUMENT_VERSION:
        version_print(a->program);
        return ARGUMENTS_DONE;
    case ARGUMENT_COMPLETION:
        if (!arguments_find_word(a, x, given, &place))
            return ARGUMENTS_WRONG;
        completion_print(a, (enum completion_shell)place);
        return ARGUMENTS_DONE;
    }
    return good ? ARGUMENTS_RUN : ARGUMENTS_WRONG;
}

/*
 * Parsing.
 */

/* A command line that is being read. */
struct reading {
    const struct arguments *arguments;
    void *target;
    int argc;
    char **argv;
    int next; /* the word to read next */
};

static enum arguments_action refuse(const struct reading *r, const char *format, const char *word)
{
    arguments_wrong(r->arguments, format, word);
    return ARGUMENTS_WRONG;
}

/* Refuses an option that there is none of; one that is written like a file that there is may be
   meant for that. */
static enum arguments_action refuse_unknown(const struct reading *r, const char *word,
                                            const char *option)
{
    return refuse(r,
                  access(word, F_OK) == 0
                      ? "unknown option %s; a file of that name needs ./ in front, or -- before it"
                      : "unknown option %s",
                  option);
}

/* The option of which the first `length` characters of `name` are the name, or the beginning of no
   other's; NULL where there is none. *count: how many of them begin like that. */
static const struct argument *find_name(const struct arguments *a, const char *name, size_t length,
                                        unsigned *count)
{
    const struct argument *x, *found = NULL;

    *count = 0;
    for (size_t i = 0; (x = arguments_option(a, i)); i++) {
        if (strncmp(x->name, name, length) != 0)
            continue;
        if (!x->name[length])
            return x;
        if (x->hidden)
            continue;
        found = x;
        ++*count;
    }
    return *count == 1 ? found : NULL;
}

/* Refuses a name that `count` options begin with, and says which they are. */
static enum arguments_action refuse_ambiguous(const struct reading *r, const char *word,
                                              size_t length, unsigned count)
{
    char format[512];
    size_t used = (size_t)snprintf(format, sizeof format, "option %%s is ambiguous: it could be");
    const struct argument *x;
    unsigned said = 0;

    for (size_t i = 0; (x = arguments_option(r->arguments, i)) && used < sizeof format; i++) {
        if (x->hidden || strncmp(x->name, word + 2, length) != 0)
            continue;
        used += (size_t)snprintf(format + used, sizeof format - used, "%s --%s",
                                 said == 0           ? ""
                                 : said + 1 == count ? " or"
                                                     : ",",
                                 x->name);
        said++;
    }
    return refuse(r, format, word);
}

static const struct argument *find_letter(const struct arguments *a, char letter)
{
    const struct argument *x;

    for (size_t i = 0; (x = arguments_option(a, i)); i++)
        if (x->letter == letter)
            return x;
    return NULL;
}

/* Takes --name, --name=VALUE, or --name and the next word. */
static enum arguments_action take_name(struct reading *r, const char *word)
{
    const char *name = word + 2, *text = strchr(name, '=');
    const size_t length = text ? (size_t)(text - name) : strlen(name);
    unsigned count;
    const struct argument *x = find_name(r->arguments, name, length, &count);

    if (!x && count > 1 && length > 0)
        return refuse_ambiguous(r, word, length, count);
    if (!x)
        return refuse_unknown(r, word, word);
    if (text && !x->value)
        return refuse(r, "option %s takes no argument", word);
    if (text)
        return take(r->arguments, x, text + 1, r->target);
    if (x->value && !x->optional) {
        if (r->next >= r->argc)
            return refuse(r, "option %s needs an argument", word);
        text = r->argv[r->next++];
    }
    return take(r->arguments, x, text, r->target);
}

/* Takes -x, or several as in -xy, the last of which may have an argument: the rest of the word, or
   the next one. */
static enum arguments_action take_letters(struct reading *r, const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const struct argument *x = find_letter(r->arguments, *letter);
        enum arguments_action action;

        if (!x)
            return refuse_unknown(r, word, (char[]){'-', *letter, '\0'});
        if (x->kind == ARGUMENT_HELP) {
            arguments_print_brief(r->arguments);
            return ARGUMENTS_DONE;
        }
        if (x->value && !x->optional) {
            if (letter[1])
                return take(r->arguments, x, letter + 1, r->target);
            if (r->next >= r->argc)
                return refuse(r, "option %s needs an argument", word);
            return take(r->arguments, x, r->argv[r->next++], r->target);
        }
        action = take(r->arguments, x, NULL, r->target);
        if (action != ARGUMENTS_RUN)
            return action;
    }
    return ARGUMENTS_RUN;
}

enum arguments_action arguments_parse(const struct arguments *a, int argc, char **argv,
                                      void *target, struct operands *operands)
{
    struct reading r = {a, target, argc, argv, 1};
    const bool in_order = a->commands || getenv("POSIXLY_CORRECT");
    int count = 0;

    /* An operand moves to where an option was read, or stays where it is. */
    while (r.next < argc) {
        char *word = argv[r.next++];
        enum arguments_action action;

        if (word[0] != '-' || !word[1]) {
            argv[1 + count++] = word;
            if (in_order)
                break;
            continue;
        }
        if (strcmp(word, "--") == 0)
            break;
        action = word[1] == '-' ? take_name(&r, word) : take_letters(&r, word);
        if (action != ARGUMENTS_RUN)
            return action;
    }
    while (r.next < argc)
        argv[1 + count++] = argv[r.next++];
    operands->words = argc > 0 ? argv + 1 : argv;
    operands->words[count] = NULL;
    operands->count = count;
    if (!a->commands && a->operands >= 0 && count > a->operands)
        return refuse(&r, "unexpected operand %s", operands->words[a->operands]);
    return ARGUMENTS_RUN;
}
