#include "config.h"

#include "cli/completion.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Room for a program's name. */
#define NAME_MAX_BYTES 64

/* Prints what an option does: the beginning of its help, up to the first : or ; or the end of the
   line. A backslash goes before each of `special`, and `quote` stands for a single quote. */
static void print_brief(const char *help, const char *special, const char *quote)
{
    size_t length = strcspn(help, ":;\n");

    for (size_t i = 0; i < length; i++) {
        if (help[i] == '\'') {
            fputs(quote, stdout);
            continue;
        }
        if (strchr(special, help[i]))
            putchar('\\');
        putchar(help[i]);
    }
}

static void print_words(const struct argument *x)
{
    for (size_t i = 0; arguments_word(x, i); i++)
        printf("%s%s", i > 0 ? " " : "", arguments_word(x, i));
}

/*
 * bash.
 */

/* Completes the current word, without what stands in $prefix. Each is printed behind the name of
   the program's own function. */
static const char *const bash_helpers[] = {
    "_words()\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W \"$1\" -- \"$current\")\n"
    "}\n",
    "_list()\n"
    "{\n"
    "    local last=${current##*,}\n"
    "    prefix+=${current%\"$last\"}\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -W \"$1\" -- \"$last\")\n"
    "    compopt -o nospace 2>/dev/null\n"
    "}\n",
    "_options()\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\")\n"
    "    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then\n"
    "        compopt -o nospace 2>/dev/null\n"
    "    fi\n"
    "}\n",
    "_files()\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$prefix\" -f -- \"$current\")\n"
    "    compopt -o filenames 2>/dev/null\n"
    "}\n",
    "_nothing()\n"
    "{\n"
    "    compopt +o bashdefault +o default 2>/dev/null\n"
    "}\n",
};

/* How the program's own function begins: the current word, and the option whose argument it is or
   would be, with a = at the end where it stands behind one. COMP_WORDBREAKS says whether words of
   the line are split at =. */
static const char bash_prologue[] =
    "()\n"
    "{\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local prefix='' i\n"
    "\n"
    "    COMPREPLY=()\n"
    "    if [[ $current == = ]]; then\n"
    "        option+='='\n"
    "        current=''\n"
    "    elif [[ $option == = && $COMP_CWORD -gt 2 ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD - 2]}=\n"
    "    elif [[ $current == --*=* ]]; then\n"
    "        option=${current%%=*}=\n"
    "        prefix=$option\n"
    "        current=${current#*=}\n"
    "    fi\n";

static void bash_argument(const char *id, const char *indent, const struct argument *x)
{
    printf("%s", indent);
    if (x->letter && !x->optional)
        printf("-%c | ", x->letter);
    if (!x->optional)
        printf("--%s | ", x->name);
    printf("--%s=)\n%s    %s", x->name, indent, id);
    switch (x->completion) {
    case COMPLETE_NOTHING:
        printf("_nothing");
        break;
    case COMPLETE_FILE:
        printf("_files");
        break;
    case COMPLETE_WORD:
    case COMPLETE_LIST:
        printf("_%s '", x->completion == COMPLETE_WORD ? "words" : "list");
        print_words(x);
        putchar('\'');
        break;
    }
    printf("\n%s    return\n%s    ;;\n", indent, indent);
}

/* Completes the command line of a table. */
static void bash_table(const char *id, const char *indent, const struct arguments *a)
{
    const struct argument *x;
    const char *separator = "";

    if (a->count > 0) {
        printf("%scase $option in\n", indent);
        for (size_t i = 0; i < a->count; i++)
            if (a->table[i].value && !a->table[i].hidden)
                bash_argument(id, indent, &a->table[i]);
        printf("%sesac\n", indent);
    }
    printf("%sif [[ $current == -* ]]; then\n%s    %s_options '", indent, indent, id);
    for (size_t i = 0; (x = arguments_option(a, i)); i++) {
        if (x->hidden)
            continue;
        if (x->letter)
            printf("%s-%c", separator, x->letter);
        printf("%s--%s%s", x->letter ? " " : separator, x->name,
               x->value && !x->optional ? "=" : "");
        separator = " ";
    }
    printf("'\n%selse\n%s    %s_", indent, indent, id);
    if (a->commands) {
        printf("words '");
        for (size_t i = 0; i < a->command_count; i++)
            printf("%s%s", i > 0 ? " " : "", a->commands[i].name);
        printf("'\n");
    } else {
        printf("%s\n", a->operands != 0 ? "files" : "nothing");
    }
    printf("%sfi\n", indent);
}

static void print_bash(const struct arguments *a)
{
    char id[NAME_MAX_BYTES];

    snprintf(id, sizeof id, "_%s", a->program);
    for (char *p = id; *p; p++)
        *p = isalnum((unsigned char)*p) ? *p : '_';

    for (size_t i = 0; i < sizeof bash_helpers / sizeof *bash_helpers; i++)
        printf("\n%s%s", id, bash_helpers[i]);
    printf("\n%s%s", id, bash_prologue);
    printf("    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
           "            %s_files\n"
           "            return\n"
           "        fi\n"
           "    done\n",
           id);
    if (a->commands) {
        puts("    for ((i = 1; i < COMP_CWORD; i++)); do\n"
             "        [[ ${COMP_WORDS[i]} == -* ]] || break\n"
             "    done\n"
             "    case $((i < COMP_CWORD)):${COMP_WORDS[i]} in\n"
             "    0:*)");
        bash_table(id, "        ", a);
        puts("        ;;");
        for (size_t i = 0; i < a->command_count; i++) {
            printf("    1:%s)\n", a->commands[i].name);
            bash_table(id, "        ", a->commands[i].arguments);
            puts("        ;;");
        }
        puts("    esac");
    } else {
        bash_table(id, "    ", a);
    }
    printf("}\n\ncomplete -o bashdefault -o default -F %s %s\n", id, a->program);
}

/*
 * fish.
 */

/* The line of an option; `command` is that after which it is one, or NULL. */
static void fish_option(const char *program, const char *command, const struct argument *x)
{
    printf("complete -c %s", program);
    if (command)
        printf(" -n '__fish_seen_subcommand_from %s'", command);
    if (x->letter)
        printf(" -s %c", x->letter);
    printf(" -l %s", x->name);
    if (x->value && !x->optional)
        printf(x->completion == COMPLETE_FILE ? " -r -F" : " -x");
    if (x->completion == COMPLETE_WORD || x->completion == COMPLETE_LIST) {
        printf(x->completion == COMPLETE_LIST ? " -a '(__fish_append , " : " -a '");
        print_words(x);
        printf(x->completion == COMPLETE_LIST ? ")'" : "'");
    }
    printf(" -d '");
    print_brief(x->help, "\\", "\\'");
    puts("'");
}

static void print_fish(const struct arguments *a)
{
    const struct argument *x;

    putchar('\n');
    if (a->commands)
        printf("complete -c %s -f\n", a->program);
    for (size_t i = 0; (x = arguments_option(a, i)); i++)
        if (!x->hidden)
            fish_option(a->program, NULL, x);
    for (size_t i = 0; i < a->command_count; i++) {
        const struct argument_command *c = &a->commands[i];

        printf("\ncomplete -c %s -n __fish_use_subcommand -a %s -d '", a->program, c->name);
        print_brief(c->summary, "\\", "\\'");
        puts("'");
        for (size_t j = 0; j < c->arguments->count; j++)
            if (!c->arguments->table[j].hidden)
                fish_option(a->program, c->name, &c->arguments->table[j]);
        if (c->arguments->operands != 0)
            printf("complete -c %s -n '__fish_seen_subcommand_from %s' -F\n", a->program, c->name);
    }
}

/*
 * zsh.
 */

#define ZSH_SPECIAL "\\[]:"
#define ZSH_QUOTE "'\\''"

/* The argument of _arguments for an option, after another one's. */
static void zsh_option(const char *indent, const struct argument *x)
{
    const char *letter = x->value && !x->optional ? "+" : "";
    const char *name = !x->value ? "" : x->optional ? "=-" : "=";

    printf(" \\\n%s", indent);
    if (x->letter)
        printf("'(-%c --%s)'{-%c%s,--%s%s}'", x->letter, x->name, x->letter, letter, x->name, name);
    else
        printf("'--%s%s", x->name, name);
    putchar('[');
    print_brief(x->help, ZSH_SPECIAL, ZSH_QUOTE);
    putchar(']');
    if (x->value)
        printf("%s%s:", x->optional ? "::" : ":", x->value);
    switch (x->completion) {
    case COMPLETE_NOTHING:
        break;
    case COMPLETE_FILE:
        printf("_files");
        break;
    case COMPLETE_WORD:
        putchar('(');
        print_words(x);
        putchar(')');
        break;
    case COMPLETE_LIST:
        printf("_sequence compadd - ");
        print_words(x);
        break;
    }
    putchar('\'');
}

/* A call of _arguments for the command line of a table. */
static void zsh_table(const char *indent, const struct arguments *a)
{
    const struct argument *x;
    char deeper[16];

    snprintf(deeper, sizeof deeper, "%s  ", indent);
    printf("%s_arguments -s -S%s :", indent, a->commands ? " -A '-*' -C" : "");
    for (size_t i = 0; (x = arguments_option(a, i)); i++)
        if (!x->hidden)
            zsh_option(deeper, x);
    if (a->commands) {
        printf(" \\\n%s'1:command:((", deeper);
        for (size_t i = 0; i < a->command_count; i++) {
            printf("%s%s\\:\"", i > 0 ? " " : "", a->commands[i].name);
            print_brief(a->commands[i].summary, ZSH_SPECIAL "\"", ZSH_QUOTE);
            putchar('"');
        }
        printf("))' \\\n%s'*::argument:->command'", deeper);
    } else if (a->operands != 0) {
        printf(" \\\n%s'%s:FILE:_files'", deeper, a->operands == 1 ? "1" : "*");
    }
    putchar('\n');
}

static void print_zsh(const struct arguments *a)
{
    putchar('\n');
    if (a->commands)
        puts("local context state state_descr line\ntypeset -A opt_args\n");
    zsh_table("", a);
    if (!a->commands)
        return;
    puts("\n[[ $state == command ]] || return\ncase $words[1] in");
    for (size_t i = 0; i < a->command_count; i++) {
        printf("%s)\n", a->commands[i].name);
        zsh_table("  ", a->commands[i].arguments);
        puts("  ;;");
    }
    puts("esac");
}

void completion_print(const struct arguments *a, enum completion_shell shell)
{
    const char *name = completion_shell_names[shell];

    if (shell == COMPLETION_ZSH)
        printf("#compdef %s\n", a->program);
    printf("# Completion of %s in %s, made by: %s --completion=%s\n", a->program, name, a->program,
           name);
    switch (shell) {
    case COMPLETION_BASH:
        print_bash(a);
        break;
    case COMPLETION_FISH:
        print_fish(a);
        break;
    case COMPLETION_ZSH:
        print_zsh(a);
        break;
    }
}
