#include "config.h"

#ifdef HAVE_CONFIG_H
#    include <config.h>
#endif

#include "bench/common/arguments.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/common/distribution.h"
#include "core/element.h"
#include "core/number.h"
#include "sys/message.h"

#ifndef PACKAGE_VERSION
#    define PACKAGE_VERSION "unknown"
#endif

/* What getopt_long returns: a place in the table plus this, so that no letter is hit. */
enum { OPTION_FIRST = 256, OPTION_HELP = OPTION_FIRST + ARGUMENTS_MAX, OPTION_VERSION };

bool arguments_wrong(const struct arguments *a, const char *format, const char *value)
{
    char text[2 * MESSAGE_QUOTE_MAX], quoted[MESSAGE_QUOTE_MAX], word[MESSAGE_QUOTE_MAX + 2];

    message_quote(quoted, value);
    /* One that had to be quoted already is. */
    snprintf(word, sizeof word, strcmp(quoted, value) == 0 ? "'%s'" : "%s", quoted);
    snprintf(text, sizeof text, format, word);
    message_error(EXIT_USAGE, "%s (try '%s --help')", text, a->program);
    return false;
}

/* As getopt_long calls it: whether an option has an argument. */
static int takes_value(const struct argument *x)
{
    switch (x->kind) {
    case ARGUMENT_SET:
    case ARGUMENT_CLEAR:
        return no_argument;
    case ARGUMENT_JSON:
        return optional_argument;
    case ARGUMENT_SIZE:
    case ARGUMENT_COUNT:
    case ARGUMENT_DTYPE:
    case ARGUMENT_DISTRIBUTION:
    case ARGUMENT_TEXT:
        break;
    }
    return required_argument;
}

/*
 * --help.
 */

/* The column at which what an option does begins. */
#define HELP_COLUMN 24

static void print_option(char letter, const char *name, int takes, const char *value,
                         const char *help)
{
    char left[80], letters[8] = "    ";

    if (letter)
        snprintf(letters, sizeof letters, "-%c, ", letter);
    snprintf(left, sizeof left,
             takes == no_argument         ? "  %s--%s"
             : takes == optional_argument ? "  %s--%s[=%s]"
                                          : "  %s--%s=%s",
             letters, name, value);
    /* What is too long has a line of its own. */
    if (strlen(left) < HELP_COLUMN)
        printf("%-*s", HELP_COLUMN, left);
    else
        printf("%s\n%*s", left, HELP_COLUMN, "");
    for (;;) {
        size_t length = strcspn(help, "\n");

        printf("%.*s\n", (int)length, help);
        if (!help[length])
            break;
        help += length + 1;
        printf("%*s", HELP_COLUMN, "");
    }
}

static void print_help(const struct arguments *a)
{
    printf("Usage: %s %s\n%s\n\n", a->program, a->usage, a->summary);
    for (size_t i = 0; i < a->count; i++)
        print_option(a->table[i].letter, a->table[i].name, takes_value(&a->table[i]),
                     a->table[i].value, a->table[i].help);
    print_option(0, "help", no_argument, NULL, "print this help and exit");
    print_option(0, "version", no_argument, NULL, "print the version and exit");
    if (a->print_details)
        a->print_details();
    if (a->details)
        printf("\n%s\n", a->details);
}

/*
 * Parsing.
 */

static const char *dtype_name(int i)
{
    return element_name((enum element_type)i);
}

static const char *dist_name(int i)
{
    return distribution_name((enum distribution)i);
}

/* Says that `text` is none of the `count` names of this kind of thing, and what they are. */
static bool unknown_name(const struct arguments *a, const char *kind, const char *text,
                         const char *(*name)(int), int count)
{
    char format[160];
    size_t used = (size_t)snprintf(format, sizeof format, "unknown %s %%s: there are", kind);

    for (int i = 0; i < count && used < sizeof format; i++)
        used += (size_t)snprintf(format + used, sizeof format - used, "%s %s",
                                 i == 0           ? ""
                                 : i == count - 1 ? " and"
                                                  : ",",
                                 name(i));
    return arguments_wrong(a, format, text);
}

/* Takes the argument of an option, which may be NULL where it need not have one. */
static bool take(const struct arguments *a, const struct argument *x, const char *text)
{
    char format[160];
    uint64_t number;
    enum element_type type;
    enum element_order order;
    bool size = x->kind == ARGUMENT_SIZE;

    switch (x->kind) {
    case ARGUMENT_SET:
    case ARGUMENT_CLEAR:
        *(bool *)x->target = x->kind == ARGUMENT_SET;
        return true;
    case ARGUMENT_SIZE:
    case ARGUMENT_COUNT:
        if (!(size ? number_parse_size(text, &number) : number_parse_count(text, &number))) {
            snprintf(format, sizeof format, "bad %s %%s for --%s", size ? "size" : "number",
                     x->name);
            return arguments_wrong(a, format, text);
        }
        if (number < x->least || (x->most && number > x->most)) {
            if (x->most)
                snprintf(format, sizeof format, "--%s %%s is not from %" PRIu64 " to %" PRIu64,
                         x->name, x->least, x->most);
            else
                snprintf(format, sizeof format, "--%s %%s is less than %" PRIu64, x->name,
                         x->least);
            return arguments_wrong(a, format, text);
        }
        *(uint64_t *)x->target = number;
        return true;
    case ARGUMENT_DTYPE:
        if (!element_parse(text, &type, &order))
            return unknown_name(a, "dtype", text, dtype_name, ELEMENT_TYPES);
        if (order == ELEMENT_ORDER_BIG)
            return arguments_wrong(a, "dtype %s is big-endian; data here are little-endian", text);
        *(enum element_type *)x->target = type;
        return true;
    case ARGUMENT_DISTRIBUTION:
        return distribution_parse(text, x->target) ||
               unknown_name(a, "distribution", text, dist_name, DISTRIBUTIONS);
    case ARGUMENT_TEXT:
        *(const char **)x->target = text;
        return true;
    case ARGUMENT_JSON:
        *(struct argument_json *)x->target = (struct argument_json){text == NULL, text};
        return true;
    }
    return false;
}

/* Why getopt_long refused the word it just looked at. */
static bool refuse(const struct arguments *a, const char *word)
{
    if (optopt == 0)
        return arguments_wrong(a, "unknown or ambiguous option %s", word);
    if (optopt >= OPTION_FIRST || strncmp(word, "--", 2) == 0)
        return arguments_wrong(a, "option %s takes no argument", word);
    return arguments_wrong(a, "unknown option %s", (char[]){'-', (char)optopt, '\0'});
}

/* What getopt_long needs to know of the table. */
struct getopt_tables {
    struct option options[ARGUMENTS_MAX + 3];
    char letters[2 + 2 * ARGUMENTS_MAX + 1];
};

static void make_tables(const struct arguments *a, struct getopt_tables *t)
{
    char *letter = t->letters;
    size_t i;

    if (a->operands < 0)
        *letter++ = '+';
    *letter++ = ':';
    for (i = 0; i < a->count; i++) {
        const struct argument *x = &a->table[i];

        t->options[i] = (struct option){x->name, takes_value(x), NULL, OPTION_FIRST + (int)i};
        if (x->letter) {
            *letter++ = x->letter;
            if (takes_value(x) == required_argument)
                *letter++ = ':';
        }
    }
    t->options[i++] = (struct option){"help", no_argument, NULL, OPTION_HELP};
    t->options[i++] = (struct option){"version", no_argument, NULL, OPTION_VERSION};
    t->options[i] = (struct option){NULL, 0, NULL, 0};
    *letter = '\0';
}

static const struct argument *find(const struct arguments *a, int option)
{
    for (size_t i = 0; i < a->count; i++)
        if (option == OPTION_FIRST + (int)i || (option == a->table[i].letter && option != 0))
            return &a->table[i];
    return NULL;
}

enum arguments_action arguments_parse(const struct arguments *a, int argc, char **argv,
                                      int *operand)
{
    struct getopt_tables tables = {.letters = ""};

    make_tables(a, &tables);
    opterr = 0;
    optind = 0; /* begin anew: main has used getopt_long before */
    for (;;) {
        int before = optind ? optind : 1;
        const char *word = argv[before < argc ? before : argc - 1];
        const struct argument *found;
        int option = getopt_long(argc, argv, tables.letters, tables.options, NULL);

        if (option == -1)
            break;
        if (option == OPTION_HELP) {
            print_help(a);
            return ARGUMENTS_DONE;
        }
        if (option == OPTION_VERSION) {
            puts("gpureduce-bench " PACKAGE_VERSION);
            return ARGUMENTS_DONE;
        }
        /* getopt_long moves operands out of the way first: the word it took stands before optind.
         */
        if (option == '?' || option == ':') {
            const char *taken = argv[optind - 1];
            if (taken[0] == '-' && taken[1] != '\0')
                word = taken;
        }
        if (option == '?') {
            refuse(a, word);
            return ARGUMENTS_WRONG;
        }
        if (option == ':') {
            arguments_wrong(a, "option %s needs an argument", word);
            return ARGUMENTS_WRONG;
        }
        found = find(a, option);
        if (!found || !take(a, found, optarg))
            return ARGUMENTS_WRONG;
    }
    *operand = optind;
    if (a->operands >= 0 && argc - optind > a->operands) {
        arguments_wrong(a, "unexpected operand %s", argv[optind + a->operands]);
        return ARGUMENTS_WRONG;
    }
    return ARGUMENTS_RUN;
}
