/*
 * arguments.h: a table of its own, and command lines that it reads, or refuses.
 */
#include "config.h"

#include "cli/arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "lib/tap.h"

#define WORDS_MAX 16

enum colour { RED, GREEN, BLUE };

struct options {
    bool flag, other;
    uint64_t size, count, bounded;
    enum colour colour;
    const char *text;
    char parsed[32];
};

static const char *colour_word(size_t i)
{
    static const char *const words[] = {[RED] = "red", [GREEN] = "green", [BLUE] = "blue"};

    return i < 3 ? words[i] : NULL;
}

/* Keeps what it is given, and "nothing" for no argument. */
static bool parse(const struct argument *x, const char *text, void *target)
{
    (void)x;
    if (text && strcmp(text, "bad") == 0)
        return arguments_wrong("%s is bad", text);
    snprintf(target, 32, "%s", text ? text : "nothing");
    return true;
}

#define MEMBER(name) offsetof(struct options, name)

static const struct argument table[] = {
    {.name = "flag", .letter = 'f', .kind = ARGUMENT_SET, .target = MEMBER(flag), .help = "a flag"},
    {.name = "no-flag", .kind = ARGUMENT_CLEAR, .target = MEMBER(flag), .help = "none"},
    {.name = "other",
     .letter = 'o',
     .kind = ARGUMENT_SET,
     .target = MEMBER(other),
     .help = "another"},
    {.name = "size",
     .letter = 's',
     .value = "SIZE",
     .kind = ARGUMENT_SIZE,
     .target = MEMBER(size),
     .help = "a size"},
    {.name = "count",
     .value = "N",
     .kind = ARGUMENT_COUNT,
     .target = MEMBER(count),
     .least = 2,
     .what = "number of things",
     .help = "a count"},
    {.name = "bounded",
     .value = "N",
     .kind = ARGUMENT_COUNT,
     .target = MEMBER(bounded),
     .least = 3,
     .most = 5,
     .help = "a count with bounds"},
    {.name = "colour",
     .letter = 'c',
     .value = "NAME",
     .kind = ARGUMENT_WORD,
     .target = MEMBER(colour),
     .what = "colour",
     .word = colour_word,
     .help = "a word"},
    {.name = "text",
     .letter = 't',
     .value = "TEXT",
     .kind = ARGUMENT_TEXT,
     .target = MEMBER(text),
     .help = "a text"},
    {.name = "parsed",
     .letter = 'p',
     .value = "X",
     .optional = true,
     .parse = parse,
     .target = MEMBER(parsed),
     .help = "an argument that may be left out"},
    {.name = "hidden",
     .hidden = true,
     .kind = ARGUMENT_SET,
     .target = MEMBER(other),
     .help = "not to be shortened"},
};

static const struct arguments arguments = {
    .program = "test",
    .table = table,
    .count = sizeof table / sizeof *table,
    .operands = 3,
};

static const struct arguments with_commands = {
    .program = "test",
    .commands = (const struct argument_command[]){{"go", "goes", &arguments, NULL}},
    .command_count = 1,
};

/* A command line, its words separated by spaces, and what must come of it. */
struct line {
    const char *words;
    struct options expected;
    const char *operands; /* joined by spaces */
};

static const struct line lines[] = {
    {"", {0}, ""},
    {"a b c", {0}, "a b c"},
    {"-f", {.flag = true}, ""},
    {"--flag --no-flag", {0}, ""},
    {"--no-flag -f", {.flag = true}, ""},
    {"--fl", {.flag = true}, ""},
    {"-fo a", {.flag = true, .other = true}, "a"},
    {"a -f b -o c", {.flag = true, .other = true}, "a b c"},
    {"a b -s 2KiB c", {.size = 2048}, "a b c"},
    {"-s2kB", {.size = 2000}, ""},
    {"-fos 7", {.flag = true, .other = true, .size = 7}, ""},
    {"-fos7", {.flag = true, .other = true, .size = 7}, ""},
    {"--size=1 --size 3", {.size = 3}, ""},
    {"--si=4 a", {.size = 4}, "a"},
    {"-s 1 -- -f --size", {.size = 1}, "-f --size"},
    {"a -- b -f", {0}, "a b -f"},
    {"-- --", {0}, "--"},
    {"- -f -", {.flag = true}, "- -"},
    {"--text --flag", {.text = "--flag"}, ""},
    {"-t -- a", {.text = "--"}, "a"},
    {"--text= a", {.text = ""}, "a"},
    {"-t=a", {.text = "=a"}, ""},
    {"--text=a=b", {.text = "a=b"}, ""},
    {"--count 2 --bounded 5", {.count = 2, .bounded = 5}, ""},
    {"-c blue --colour=green", {.colour = GREEN}, ""},
    {"--parsed a", {.parsed = "nothing"}, "a"},
    {"--parsed=a b", {.parsed = "a"}, "b"},
    {"--parsed=", {.parsed = ""}, ""},
    {"-pf a", {.parsed = "nothing", .flag = true}, "a"},
    {"--hidden", {.other = true}, ""},
};

static const char *const refused[] = {
    "-x",         "-fx",         "--x",           "--flagg",          "--flag=1",   "--no-flag=",
    "-s",         "-fs",         "--size",        "a --size",         "--size=x",   "--size 1x",
    "--count=1",  "--count=2kB", "--bounded 2",   "--bounded=6",      "-c yellow",  "--colour=",
    "-cred -cre", "--co",        "--parsed=bad",  "a b c d",          "a -- b c d", "--hid",
    "--=1",       "--help=1",    "--completion=", "--completion=ksh",
};

/* Cuts a command line into words, behind the name of the program. Returns how many there are. */
static int cut(char *text, char *argv[WORDS_MAX])
{
    static char program[] = "test";
    int argc = 0;

    argv[argc++] = program;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    return argc;
}

static bool same_text(const char *x, const char *y)
{
    return x == y || (x && y && strcmp(x, y) == 0);
}

static bool same(const struct options *x, const struct options *y)
{
    return x->flag == y->flag && x->other == y->other && x->size == y->size &&
           x->count == y->count && x->bounded == y->bounded && x->colour == y->colour &&
           same_text(x->text, y->text) && strcmp(x->parsed, y->parsed) == 0;
}

/* Parses a line and writes the operands, joined. */
static enum arguments_action read_line(const struct arguments *a, const char *words,
                                       struct options *options, char operands[128])
{
    char text[128], *argv[WORDS_MAX];
    struct operands found = {0};
    enum arguments_action action;
    int argc;

    snprintf(text, sizeof text, "%s", words);
    argc = cut(text, argv);
    *options = (struct options){0};
    action = arguments_parse(a, argc, argv, options, &found);
    operands[0] = '\0';
    for (int i = 0; i < found.count; i++)
        snprintf(operands + strlen(operands), 128 - strlen(operands), "%s%s", i > 0 ? " " : "",
                 found.words[i]);
    if (action == ARGUMENTS_RUN && found.words[found.count])
        snprintf(operands, 128, "no NULL behind them");
    return action;
}

static void test_lines(void)
{
    struct options options;
    char operands[128];

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        enum arguments_action action = read_line(&arguments, lines[i].words, &options, operands);

        if (!tap_ok(action == ARGUMENTS_RUN && same(&options, &lines[i].expected) &&
                        strcmp(operands, lines[i].operands) == 0,
                    "'%s'", lines[i].words))
            tap_note("action %d, operands '%s'", action, operands);
    }
}

static void test_refused(void)
{
    struct options options;
    char operands[128];

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        enum arguments_action action = read_line(&arguments, refused[i], &options, operands);

        tap_ok(action == ARGUMENTS_WRONG, "refused: '%s'", refused[i]);
    }
    tap_ok(message_status() == EXIT_USAGE, "the exit status says so");
}

static void test_order(void)
{
    struct options options;
    char operands[128];

    tap_ok(read_line(&with_commands, "go -f --size", &options, operands) == ARGUMENTS_RUN &&
               strcmp(operands, "go -f --size") == 0,
           "what follows a command is left alone");
    setenv("POSIXLY_CORRECT", "1", 1);
    tap_ok(read_line(&arguments, "-f a -o", &options, operands) == ARGUMENTS_RUN && options.flag &&
               !options.other && strcmp(operands, "a -o") == 0,
           "POSIXLY_CORRECT: options come first");
    unsetenv("POSIXLY_CORRECT");
}

/* argv may be empty, and then has no place for a word. */
static void test_empty(void)
{
    char *argv[] = {NULL};
    struct options options = {0};
    struct operands operands;

    tap_ok(arguments_parse(&arguments, 0, argv, &options, &operands) == ARGUMENTS_RUN &&
               operands.count == 0 && !operands.words[0],
           "not even the name of the program");
}

int main(void)
{
    message_program("test");
    test_lines();
    test_refused();
    test_order();
    test_empty();
    return tap_done();
}
