#include "config.h"

#include "cli/arguments.h"

#include <ctype.h>
#include <gpureduce.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/message.h"
#include "core/nearest.h"
#include "core/number.h"
#include "sys/escape.h"

/* Options of every command line. */
static const struct argument common[] = {
    {.name = "help",
     .letter = 'h',
     .common = true,
     .group = "Other",
     .kind = ARGUMENT_HELP,
     .help = "print this help and exit",
     .joined = "this help (-h: less); version and features"},
    {.name = "version",
     .letter = 'V',
     .kind = ARGUMENT_VERSION,
     .help = "print the version and the built-in features, and exit"},
    {.name = "completion", .hidden = true, .kind = ARGUMENT_COMPLETION},
};

#define COMMON (sizeof common / sizeof *common)

/* The words that an option may be, from 0; NULL beyond the last. */
static const char *arguments_word(const struct argument *x, size_t i)
{
    return x->words ? x->words[i] : x->word(i);
}

/* The options of a table one after the other, and those that every command line has; NULL beyond
   the last. */
static const struct argument *arguments_option(const struct arguments *a, size_t i)
{
    if (i < a->count)
        return &a->table[i];
    return i - a->count < COMMON ? &common[i - a->count] : NULL;
}

/* The program whose command line was read last. */
static const char *program;

bool arguments_wrong(const char *format, const char *value)
{
    char text[2 * ESCAPE_QUOTE_MAX], quoted[ESCAPE_QUOTE_MAX], word[ESCAPE_QUOTE_MAX + 2];

    escape_quote(quoted, value);
    /* One that had to be quoted already is. */
    snprintf(word, sizeof word, strcmp(quoted, value) == 0 ? "'%s'" : "%s", quoted);
    snprintf(text, sizeof text, format, word);
    return message_error(EXIT_USAGE, "%s (try '%s --help')", text, program);
}

/*
 * --help.
 */

/* The column at which what an option does begins, and the most columns of a line. */
#define HELP_COLUMN 26
#define HELP_WIDTH 79

/* The columns of headings, where options have groups. */
#define HEADING_COLUMNS 9

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

#define SYNTAX_MAX 40

/* Writes an option and its argument; `letters` stands for the letter of one that has none. */
static void show_syntax(char text[SYNTAX_MAX], const struct argument *x, const char *letters)
{
    const char letter[] = {'-', x->letter, ',', ' ', '\0'};

    snprintf(text, SYNTAX_MAX, "%s--%s%s%s%s", x->letter ? letter : letters, x->name,
             !x->value     ? ""
             : x->optional ? "[="
                           : "=",
             x->value ? x->value : "", x->optional ? "]" : "");
}

static void print_option(const struct argument *x)
{
    char left[SYNTAX_MAX + 2] = "  ";

    show_syntax(left + 2, x, "    ");
    arguments_print_entry(left, x->help);
}

/* Prints options beside the headings of their groups, some two on a line. */
static void print_groups(const struct arguments *a)
{
    const struct argument *x;
    char left[SYNTAX_MAX], second[SYNTAX_MAX], both[2 * SYNTAX_MAX + 4];

    for (size_t i = 0; (x = arguments_option(a, i)); i++) {
        if (x->hidden)
            continue;
        printf("%-*s", HEADING_COLUMNS, x->group ? x->group : "");
        show_syntax(left, x, "    ");
        if (x->joined) {
            show_syntax(second, arguments_option(a, ++i), "");
            snprintf(both, sizeof both, "%s, %s  ", left, second);
            printf("%-*s%s\n", HELP_COLUMN - 2, both, x->joined);
        } else {
            printf("%-*s%s\n", HELP_COLUMN - 2, left, x->help);
        }
    }
}

static bool has_groups(const struct arguments *a)
{
    return a->count > 0 && a->table[0].group;
}

/* Prints --help: all options that are not hidden, and the details. */
static void arguments_print_help(const struct arguments *a)
{
    const struct argument *x;

    printf("Usage: %s %s\n%s\n\n", a->program, a->usage, a->summary);
    if (has_groups(a))
        print_groups(a);
    for (size_t i = 0; !has_groups(a) && (x = arguments_option(a, i)); i++)
        if (!x->hidden)
            print_option(x);
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

/* Prints -h: common options alone. A program whose table has none prints --help. */
static void arguments_print_brief(const struct arguments *a)
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

/* Prints the options of a command line, with tabs between fields. The help of an option is cut at the
   first : or ;. */
static void print_table(const struct arguments *a)
{
    static const char *const completions[] = {[COMPLETE_WORD] = "word",
                                              [COMPLETE_LIST] = "list",
                                              [COMPLETE_FILE] = "file",
                                              [COMPLETE_NOTHING] = "nothing"};
    const struct argument *x;

    printf("table\t%s\t%d\n", a->program, a->operands);
    for (size_t i = 0; (x = arguments_option(a, i)); i++) {
        const bool words = (x->words || x->word) && x->completion <= COMPLETE_LIST;

        if (x->hidden)
            continue;
        printf(
            "option\t%.1s\t%s\t%s\t%d\t%s\t%.*s\t", &x->letter, x->name, x->value ? x->value : "",
            x->optional,
            completions[words || x->completion == COMPLETE_FILE ? x->completion : COMPLETE_NOTHING],
            (int)strcspn(x->help, ":;\n"), x->help);
        for (size_t k = 0; words && arguments_word(x, k); k++)
            printf("%s%s", k > 0 ? " " : "", arguments_word(x, k));
        putchar('\n');
    }
}

/* Prints the tables of a program, from which completions/make.py makes scripts that complete command
   lines. */
static void print_tables(const struct arguments *a)
{
    print_table(a);
    for (size_t i = 0; i < a->command_count; i++) {
        printf("command\t%s\t%s\n", a->commands[i].name, a->commands[i].summary);
        print_table(a->commands[i].arguments);
    }
}

/*
 * Arguments of options.
 */

/* The word of an option that is nearest to what was typed; NULL where none is near. */
static const char *nearest_word(const char *typed, const struct argument *x)
{
    const char *const *aliases = x->aliases;
    struct nearest near = {.word = NULL};
    const char *word;

    for (size_t i = 0; aliases && aliases[i]; i += 2)
        if (strcasecmp(typed, aliases[i]) == 0)
            return aliases[i + 1];
    for (size_t i = 0; (word = x->near ? x->near(i) : arguments_word(x, i)); i++)
        nearest_take(&near, typed, word);
    return near.word;
}

bool arguments_unknown_word(const struct argument *x, const char *text)
{
    const char *near = nearest_word(text, x), *what = x->what ? x->what : x->name;
    char format[512];
    size_t used;

    if (near) {
        snprintf(format, sizeof format, "unknown %s %%s; did you mean '%s'?", what, near);
        return arguments_wrong(format, text);
    }
    used = (size_t)snprintf(format, sizeof format, "unknown %s %%s: must be", what);
    for (size_t i = 0; arguments_word(x, i) && used < sizeof format; i++)
        used += (size_t)snprintf(format + used, sizeof format - used, "%s %s",
                                 i == 0                                 ? ""
                                 : x->other || arguments_word(x, i + 1) ? ","
                                                                        : " or",
                                 arguments_word(x, i));
    if (x->other && used < sizeof format)
        snprintf(format + used, sizeof format - used, " or %s", x->other);
    return arguments_wrong(format, text);
}

bool arguments_find_word(const struct argument *x, const char *text, size_t *place)
{
    for (*place = 0; arguments_word(x, *place); ++*place)
        if (strcmp(text, arguments_word(x, *place)) == 0)
            return true;
    return arguments_unknown_word(x, text);
}

bool arguments_bad_number(const struct argument *x, const char *what, const char *text)
{
    char format[160 + NEAREST_MAX], near[NEAREST_MAX];

    if (nearest_number(text, near))
        snprintf(format, sizeof format, "bad %s %%s for --%s; did you mean '%s'?", what, x->name,
                 near);
    else
        snprintf(format, sizeof format, "bad %s %%s for --%s", what, x->name);
    return arguments_wrong(format, text);
}

/* Reads a size or a count, and holds it to its bounds. */
static bool take_number(const struct argument *x, const char *text, uint64_t *number)
{
    bool size = x->kind == ARGUMENT_SIZE;
    char format[160];

    if (!(size ? number_parse_size(text, number) : number_parse_count(text, number)))
        return arguments_bad_number(x, x->what ? x->what : size ? "size" : "number", text);
    if (x->most && (*number < x->least || *number > x->most))
        snprintf(format, sizeof format, "--%s %%s must be from %" PRIu64 " to %" PRIu64, x->name,
                 x->least, x->most);
    else if (*number < x->least)
        snprintf(format, sizeof format, "--%s %%s must be at least %" PRIu64, x->name, x->least);
    else
        return true;
    return arguments_wrong(format, text);
}

/*
 * Parsing.
 */

/* A command line that is being read. */
struct parse {
    const struct arguments *arguments;
    void *target;
    int argc;
    char **argv;
    int next;       /* the word to read next */
    uint64_t given; /* the options of the table that were read */
};

/* Takes an option with its argument, which is NULL where there is none. */
static enum arguments_action take(struct parse *r, const struct argument *x, const char *text)
{
    const struct arguments *a = r->arguments;
    void *target = (char *)r->target + x->target;
    /* Only `parse` knows what it means that an argument is left out. */
    const char *given = text ? text : "";
    char build[1024];
    uint64_t number;
    size_t place;
    unsigned value; /* as GCC and Clang hold an enum without negative values */
    bool good = true;

    for (size_t i = 0; i < a->count; i++)
        r->given |= x == &a->table[i] ? UINT64_C(1) << i : 0;
    switch (x->kind) {
    case ARGUMENT_SET:
    case ARGUMENT_CLEAR:
        *(bool *)target = x->kind == ARGUMENT_SET;
        break;
    case ARGUMENT_SIZE:
    case ARGUMENT_COUNT:
        good = take_number(x, given, &number);
        if (good)
            *(uint64_t *)target = number;
        break;
    case ARGUMENT_WORD:
        good = arguments_find_word(x, given, &place);
        if (good) {
            value = (unsigned)(place + x->least);
            memcpy(target, &value, sizeof value);
        }
        break;
    case ARGUMENT_CHOICE:
        value = (unsigned)x->least;
        memcpy(target, &value, sizeof value);
        break;
    case ARGUMENT_MODE:
        break;
    case ARGUMENT_TEXT:
        *(const char **)target = given;
        break;
    case ARGUMENT_PARSED:
        good = x->parse(x, text, target);
        break;
    case ARGUMENT_HELP:
        arguments_print_help(a);
        return ARGUMENTS_DONE;
    case ARGUMENT_VERSION:
        (void)gpr_build(build, sizeof build);
        printf("%.*s %s\n%s", (int)strcspn(a->program, " "), a->program, gpr_version(), build);
        return ARGUMENTS_DONE;
    case ARGUMENT_COMPLETION:
        print_tables(a);
        return ARGUMENTS_DONE;
    }
    return good ? ARGUMENTS_RUN : ARGUMENTS_WRONG;
}

static enum arguments_action refuse(const char *format, const char *word)
{
    arguments_wrong(format, word);
    return ARGUMENTS_WRONG;
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

/* Appends the `count` options to a message that begin with these characters. */
static void add_options(const struct arguments *a, const char *name, size_t length, unsigned count,
                        char *format, size_t size)
{
    size_t used = strlen(format);
    const struct argument *x;
    unsigned said = 0;

    for (size_t i = 0; (x = arguments_option(a, i)) && used < size; i++) {
        if (x->hidden || strncmp(x->name, name, length) != 0)
            continue;
        used += (size_t)snprintf(format + used, size - used, "%s --%s",
                                 said == 0           ? ""
                                 : said + 1 == count ? " or"
                                                     : ",",
                                 x->name);
        said++;
    }
}

#define NAMED_LIKE_A_FILE \
    "unknown option %s; a file of that name needs ./ in front, or -- before it"

/* Refuses a word whose name, of `length` characters behind the dashes, is that of no option. */
static enum arguments_action refuse_name(const struct parse *r, const char *word, size_t length)
{
    const struct arguments *a = r->arguments;
    struct nearest near = {.word = NULL};
    const struct argument *x;
    char name[64], format[160] = "unknown option %s";

    if (access(word, F_OK) == 0)
        return refuse(NAMED_LIKE_A_FILE, word);
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : 0, word + 2);
    for (size_t i = 0; (x = arguments_option(a, i)); i++)
        if (!x->hidden)
            nearest_take(&near, name, x->name);
    for (size_t i = 0; a->aliases && a->aliases[i]; i += 2)
        if (strcmp(a->aliases[i], name) == 0)
            near.word = a->aliases[i + 1];
    if (near.word)
        snprintf(format, sizeof format, "unknown option %%s; did you mean --%s?", near.word);
    return refuse(format, word);
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
static enum arguments_action take_name(struct parse *r, const char *word)
{
    const char *name = word + 2, *text = strchr(name, '=');
    const size_t length = text ? (size_t)(text - name) : strlen(name);
    unsigned count;
    const struct argument *x = find_name(r->arguments, name, length, &count);

    if (!x && count > 1 && length > 0) {
        char format[512] = "option %s is ambiguous: it could be";

        add_options(r->arguments, name, length, count, format, sizeof format);
        return refuse(format, word);
    }
    if (!x)
        return refuse_name(r, word, length);
    if (text && !x->value)
        return refuse("option %s takes no argument", word);
    if (text)
        return take(r, x, text + 1);
    if (x->value && !x->optional) {
        if (r->next >= r->argc)
            return refuse("option %s needs an argument", word);
        text = r->argv[r->next++];
    }
    return take(r, x, text);
}

/* Refuses a letter that is no option's; that of the other case may be meant, or a name. */
static enum arguments_action refuse_letter(const struct parse *r, const char *word, char letter)
{
    const unsigned char other =
        (unsigned char)(islower((unsigned char)letter) ? toupper((unsigned char)letter)
                                                       : tolower((unsigned char)letter));
    const struct argument *x = find_letter(r->arguments, (char)other);
    char format[512] = "unknown option %s";
    unsigned count;

    if (access(word, F_OK) == 0)
        return refuse(NAMED_LIKE_A_FILE, (char[]){'-', letter, '\0'});
    if (letter == '-')
        return refuse("option %s has a dash among its letters", word);
    (void)find_name(r->arguments, &letter, 1, &count);
    if (x || count > 0)
        strcat(format, "; did you mean");
    if (x)
        snprintf(format + strlen(format), 32, " -%c (--%s)%s", (char)other, x->name,
                 count > 1   ? ","
                 : count > 0 ? " or"
                             : "");
    add_options(r->arguments, &letter, 1, count, format, sizeof format - 1);
    if (x || count > 0)
        strcat(format, "?");
    return refuse(format, (char[]){'-', letter, '\0'});
}

/* Takes -x, or several as in -xy, the last of which may have an argument: the rest of the word, or
   the next one. */
static enum arguments_action take_letters(struct parse *r, const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const struct argument *x = find_letter(r->arguments, *letter);
        enum arguments_action action;

        if (!x)
            return refuse_letter(r, word, *letter);
        if (x->kind == ARGUMENT_HELP) {
            arguments_print_brief(r->arguments);
            return ARGUMENTS_DONE;
        }
        if (x->value && !x->optional) {
            if (letter[1])
                return take(r, x, letter + 1);
            if (r->next >= r->argc)
                return refuse("option %s needs an argument", word);
            return take(r, x, r->argv[r->next++]);
        }
        action = take(r, x, NULL);
        if (action != ARGUMENTS_RUN)
            return action;
    }
    return ARGUMENTS_RUN;
}

enum arguments_action arguments_parse(const struct arguments *a, int argc, char **argv,
                                      void *target, struct operands *operands)
{
    struct parse r = {.arguments = a, .target = target, .argc = argc, .argv = argv, .next = 1};
    const bool in_order = a->commands || getenv("POSIXLY_CORRECT");
    int count = 0;

    program = a->program;
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
    operands->given = r.given;
    if (!a->commands && a->operands >= 0 && count > a->operands)
        return refuse("unexpected operand %s", operands->words[a->operands]);
    return ARGUMENTS_RUN;
}
