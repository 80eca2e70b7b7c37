#include "config.h"

#include "cli/arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/message.h"

const char *const completion_shell_names[] = {
    [COMPLETION_BASH] = "bash", [COMPLETION_FISH] = "fish", [COMPLETION_ZSH] = "zsh", NULL};

/* Options of every command line. */
static const struct argument common[] = {
    {.name = "help",
     .letter = 'h',
     .common = true,
     .group = "Other",
     .kind = ARGUMENT_HELP,
     .help = "print this help and exit"},
    {.name = "version",
     .letter = 'V',
     .kind = ARGUMENT_VERSION,
     .help = "print the version and the built-in features, and exit"},
    {.name = "completion",
     .value = "SHELL",
     .hidden = true,
     .kind = ARGUMENT_COMPLETION,
     .what = "shell",
     .words = completion_shell_names},
};

#define COMMON (sizeof common / sizeof *common)

const struct argument *arguments_option(const struct arguments *a, size_t i)
{
    if (i < a->count)
        return &a->table[i];
    return i - a->count < COMMON ? &common[i - a->count] : NULL;
}

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

/*
 * --help.
 */

/* The column at which what an option does begins, and the most columns of a line. */
#define HELP_COLUMN 26
#define HELP_WIDTH 79

/* Prints text from HELP_COLUMN on, where the line is now, in lines broken at spaces. */
static void print_wrapped(const char *text)
{
    for (;;) {
        size_t length = strcspn(text, "\n");

        if (length > HELP_WIDTH - HELP_COLUMN) {
            length = HELP_WIDTH - HELP_COLUMN;
            while (length > 1 && text[length] != ' ')
                length--;
        }
        printf("%.*s\n", (int)length, text);
        if (!text[length])
            break;
        text += length + 1;
        printf("%*s", HELP_COLUMN, "");
    }
}

void arguments_print_entry(const char *left, const char *help)
{
    /* A text that is too long has a line of its own. */
    if (strlen(left) < HELP_COLUMN)
        printf("%-*s", HELP_COLUMN, left);
    else
        printf("%s\n%*s", left, HELP_COLUMN, "");
    print_wrapped(help);
}

static void print_option(const struct argument *x)
{
    char left[80], letters[8] = "    ";

    if (x->letter)
        snprintf(letters, sizeof letters, "-%c, ", x->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s%s", letters, x->name,
             !x->value     ? ""
             : x->optional ? "[="
                           : "=",
             x->value ? x->value : "", x->optional ? "]" : "");
    arguments_print_entry(left, x->help);
}

/* Whether the program's own options have groups. */
static bool has_groups(const struct arguments *a)
{
    return a->count > 0 && a->table[0].group;
}

void arguments_print_help(const struct arguments *a)
{
    const struct argument *x;

    printf("Usage: %s %s\n%s\n\n", a->program, a->usage, a->summary);
    for (size_t i = 0; (x = arguments_option(a, i)); i++) {
        if (x->hidden)
            continue;
        if (x->group && has_groups(a))
            printf("%s:\n", x->group);
        print_option(x);
    }
    if (a->commands) {
        puts("\nCommands:");
        for (size_t i = 0; i < a->command_count; i++)
            printf("  %-10s%s\n", a->commands[i].name, a->commands[i].summary);
    }
    if (a->print_details)
        a->print_details();
    if (a->details)
        printf("\n%s\n", a->details);
}

void arguments_print_brief(const struct arguments *a)
{
    const struct argument *x;

    if (!has_groups(a)) {
        arguments_print_help(a);
        return;
    }
    printf("Usage: %s %s\n%s\n\n", a->program, a->usage, a->summary);
    for (size_t i = 0; (x = arguments_option(a, i)); i++)
        if (x->common)
            print_option(x);
    printf("\n'%s --help' lists all options; 'man gpureduce' explains them.\n", a->program);
}
