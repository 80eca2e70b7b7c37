/*
 * The command lines of both programs. A program, or a command of one, describes its options in a
 * constant table; from that it is parsed, --help is printed and the completions of shells are made
 * (completions/make.py).
 *
 * The conventions are GNU's: options and operands in any order, unless POSIXLY_CORRECT is set;
 * --name=VALUE or --name VALUE, where --name may be shortened as long as it stays unambiguous;
 * -xVALUE or -x VALUE, and letters without arguments joined as in -xy; -- ends the options. An
 * argument that may be left out follows = only.
 *
 * Values of options are written into a struct of the caller's, for each option at its `target`;
 * others keep their values. Nothing here opens a file or starts a thread. A function that returns
 * false or ARGUMENTS_WRONG has printed one message, which raised the exit status to EXIT_USAGE.
 */
#ifndef GPUREDUCE_ARGUMENTS_H
#define GPUREDUCE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of options, with their targets. */
enum argument_kind {
    ARGUMENT_PARSED,    /* decided by `parse`, of which no kind need be named */
    ARGUMENT_SET,       /* no argument: bool, becomes true */
    ARGUMENT_CLEAR,     /* no argument: bool, becomes false */
    ARGUMENT_SIZE,      /* bytes, with suffixes: uint64_t */
    ARGUMENT_COUNT,     /* a plain number: uint64_t */
    ARGUMENT_WORD,      /* one of the words: an enum, which becomes `least` and the word's place */
    ARGUMENT_CHOICE,    /* no argument: an enum, becomes `least` */
    ARGUMENT_MODE,      /* no argument, nor a target: it asks for its mode */
    ARGUMENT_TEXT,      /* any string: const char *, into argv */
    ARGUMENT_HELP,      /* no target; these three print something and end the command line */
    ARGUMENT_VERSION,   /* no target; prints the version */
    ARGUMENT_COMPLETION /* no target; prints the tables, for completions/make.py */
};

/* The words that a shell offers for an argument. */
enum argument_completion {
    COMPLETE_WORD, /* one of the words, if there are any */
    COMPLETE_LIST, /* several of them, separated by commas */
    COMPLETE_FILE,
    COMPLETE_NOTHING
};

struct arguments;
struct argument;

/* Takes the argument of an option, NULL where it is left out, into its target. False when it is
   wrong, after arguments_wrong. */
typedef bool argument_parser(const struct argument *x, const char *text, void *target);

struct argument {
    const char *name;  /* the long option, without dashes */
    char letter;       /* the short one, or 0 */
    const char *value; /* the argument's name in --help, such as FILE; NULL: takes none */
    bool optional;     /* the argument may be left out */
    bool hidden;       /* not in --help, nor completed, nor to be shortened */
    bool common;       /* printed by -h as well as by --help */
    const char
        *group; /* the heading that --help prints before it; NULL: that of the option before */
    enum argument_kind kind;
    size_t target; /* where in the caller's struct it goes, in bytes */

    /* The effect in a few words, which completions show up to the first : or ;. Lines are broken
       where they are too long, and at every newline. */
    const char *help;

    /* The text that --help prints of this option and the next one, which then stand on one line.
       NULL: they do not. Only where options have groups. */
    const char *joined;

    uint64_t least, most;     /* of sizes and counts; most 0 for no bound. Others use
                             `least` as they like */
    const char *what;         /* the name of the argument in messages; NULL: that of the option,
                                  or, of sizes and counts, of the kind */
    argument_parser *parse;   /* of ARGUMENT_PARSED */
    const char *const *words; /* the words it may be, up to a NULL; or */
    const char *(*word)(size_t i); /* these, from 0; NULL beyond the last */
    const char *other;             /* further possible values, for messages; NULL for none */
    const char *(*near)(size_t i); /* the words that a mistyped one may mean; NULL: `word` */
    const char *const *aliases;    /* pairs of a word of others and ours, for messages, then NULL */
    enum argument_completion completion;
    unsigned modes; /* bits of the modes of the program in which it may be given; 0: in all */
    unsigned mode;  /* the bit of the mode that it asks for; 0: none */
};

/* A command of a program that has several. */
struct argument_command {
    const char *name;
    const char *summary; /* in a line */
    const struct arguments *arguments;
    void (*run)(int argc, char **argv); /* argv[0] is the name */
};

struct arguments {
    const char *program; /* as in usage and messages: "gpureduce-bench limits" */
    const char *usage;   /* the text after the program's name: "[OPTION]... [FILE]" */
    const char *summary; /* a line or several, without the last newline */
    const struct argument *table;
    size_t count;
    const char *const *aliases; /* pairs of an option of others and ours, for messages, then NULL */
    int operands;               /* at most; -1 for any number. They are names of files. */
    const struct argument_command *commands; /* the first operand is the name of one, and what
                                                follows it is left alone; NULL for none */
    size_t command_count;
    const char *details;         /* text that --help prints after the options, or NULL */
    void (*print_details)(void); /* prints more to standard output, before `details`; or NULL */
};

enum arguments_action {
    ARGUMENTS_RUN,  /* the program is to do its work */
    ARGUMENTS_DONE, /* --help or the like was printed */
    ARGUMENTS_WRONG /* the command line is wrong; a message says how */
};

/* The words that are no options: they are moved to the front of argv, after argv[0], and end in
   NULL. */
struct operands {
    char **words;
    int count;
    uint64_t given; /* the options of the table, of at most 64, that were given, as bits */
};

/* Prints that the command line that was read last is wrong. The format quotes `value`, made fit to print, by one %s.
   Returns false. */
bool arguments_wrong(const char *format, const char *value);

/* Prints an entry of --help: what it is about on the left, what is said of it beside that, in lines
   broken as `help` of an option is. */
void arguments_print_entry(const char *left, const char *help);

/* Parses argv into *target, which is something even where no option has a target. */
enum arguments_action arguments_parse(const struct arguments *a, int argc, char **argv,
                                      void *target, struct operands *operands);

/* Prints that `text` is none of the option's words, and what they are. Returns false. */
bool arguments_unknown_word(const struct argument *x, const char *text);

/* Prints that `text`, which messages call `what`, is no number, and which may be meant. Returns
   false. */
bool arguments_bad_number(const struct argument *x, const char *what, const char *text);

/* Finds which of the option's words `text` is. */
bool arguments_find_word(const struct argument *x, const char *text, size_t *place);

#endif
