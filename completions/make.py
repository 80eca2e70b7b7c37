#!/usr/bin/env python3
"""Writes the script that completes command lines of a program in a shell: make.py SHELL PROGRAM.

The program prints its tables of options by --completion: of each command line a line "table", and one
for each option and command. Fields stand between tabs, words between spaces.
"""

import re
import subprocess
import sys

BASH_HELPERS = r"""
NAME_words()
{
    mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$1" -- "$current")
}

NAME_list()
{
    local last=${current##*,}
    prefix+=${current%"$last"}
    mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$1" -- "$last")
    compopt -o nospace 2>/dev/null
}

NAME_options()
{
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

NAME_files()
{
    mapfile -t COMPREPLY < <(compgen -P "$prefix" -f -- "$current")
    compopt -o filenames 2>/dev/null
}

NAME_nothing()
{
    compopt +o bashdefault +o default 2>/dev/null
}

NAME()
{
    local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
    local prefix='' i

    COMPREPLY=()
    if [[ $current == = ]]; then
        option+='='
        current=''
    elif [[ $option == = && $COMP_CWORD -gt 2 ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}=
    elif [[ $current == --*=* ]]; then
        option=${current%%=*}=
        prefix=$option
        current=${current#*=}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            NAME_files
            return
        fi
    done
"""

BASH_COMMANDS = r"""    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* ]] || break
    done
    case $((i < COMP_CWORD)):${COMP_WORDS[i]} in
    0:*)
"""


class Option:
    """An option; `takes` is its argument: none, needed or optional."""

    def __init__(self, letter, name, value, optional, completion, brief, words):
        self.letter, self.name, self.value, self.completion = letter, name, value, completion
        self.takes = "none" if not value else "optional" if optional == "1" else "needed"
        self.brief, self.words = brief, words


class Table:
    """The options of a command line, the commands, by name, and how many operands it takes."""

    def __init__(self, program, operands):
        self.program, self.operands = program, int(operands)
        self.options, self.commands = [], {}


def read_tables(text):
    table = command = None
    for line in text.splitlines():
        kind, *fields = line.split("\t")
        if kind == "option":
            (command or table).options.append(Option(*fields))
        elif kind == "command":
            name, summary = fields
        elif table:
            command = Table(*fields)
            table.commands[name] = (summary, command)
        else:
            table = Table(*fields)
    return table


def bash_table(name, indent, table):
    out = ""
    own = [x for x in table.options if x.value]
    for x in own:
        patterns = ["--%s=" % x.name]
        if x.takes == "needed":
            patterns = (["-" + x.letter] if x.letter else []) + ["--" + x.name] + patterns
        what = {"word": "words", "list": "list", "file": "files", "nothing": "nothing"}[x.completion]
        words = " '%s'" % x.words if x.completion in ("word", "list") else ""
        out += "%s)\n    %s_%s%s\n    return\n    ;;\n" % (" | ".join(patterns), name, what, words)
    if own:
        out = "case $option in\n%sesac\n" % out
    names = [
        ("-%s " % x.letter if x.letter else "") + "--" + x.name + "=" * (x.takes == "needed")
        for x in table.options
    ]
    if table.commands:
        operands = "words '%s'" % " ".join(table.commands)
    else:
        operands = "files" if table.operands else "nothing"
    out += "if [[ $current == -* ]]; then\n    %s_options '%s'\nelse\n    %s_%s\nfi\n" % (
        name, " ".join(names), name, operands)
    return re.sub("^", indent, out, flags=re.M)[: -len(indent)]


def bash(table):
    name = "_" + re.sub(r"\W", "_", table.program)
    out = BASH_HELPERS.replace("NAME", name)
    if table.commands:
        end = "        ;;\n"
        out += BASH_COMMANDS + bash_table(name, "        ", table) + end
        for command, (_, options) in table.commands.items():
            out += "    1:%s)\n%s%s" % (command, bash_table(name, "        ", options), end)
        out += "    esac\n"
    else:
        out += bash_table(name, "    ", table)
    return out + "}\n\ncomplete -o bashdefault -o default -F %s %s\n" % (name, table.program)


def fish_quote(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


def fish_option(program, command, x):
    out = "complete -c " + program
    if command:
        out += " -n '__fish_seen_subcommand_from %s'" % command
    if x.letter:
        out += " -s " + x.letter
    out += " -l " + x.name
    if x.takes == "needed":
        out += " -r -F" if x.completion == "file" else " -x"
    if x.completion == "list":
        out += " -a '(__fish_append , %s)'" % x.words
    elif x.completion == "word":
        out += " -a '%s'" % x.words
    return "%s -d '%s'\n" % (out, fish_quote(x.brief))


def fish(table):
    program = table.program
    out = "\n" + ("complete -c %s -f\n" % program if table.commands else "")
    out += "".join(fish_option(program, None, x) for x in table.options)
    general = [x.name for x in table.options]
    for command, (summary, options) in table.commands.items():
        out += "\ncomplete -c %s -n __fish_use_subcommand -a %s -d '%s'\n" % (
            program, command, fish_quote(summary))
        for x in options.options:
            out += fish_option(program, command, x) if x.name not in general else ""
        if options.operands:
            out += "complete -c %s -n '__fish_seen_subcommand_from %s' -F\n" % (program, command)
    return out


def zsh_quote(text, special="\\[]:"):
    return "".join("'\\''" if c == "'" else "\\" * (c in special) + c for c in text)


def zsh_option(x):
    letter = {"none": "", "optional": "", "needed": "+"}[x.takes]
    equals = {"none": "", "optional": "=-", "needed": "="}[x.takes]
    # An option with an argument may be given several times.
    if x.letter:
        again = "*" if x.value else "(-%s --%s)" % (x.letter, x.name)
        out = "'{4}'{{-{0}{2},--{1}{3}}}'".format(x.letter, x.name, letter, equals, again)
    else:
        out = "'%s--%s%s" % ("*" if x.value else "", x.name, equals)
    out += "[%s]" % zsh_quote(x.brief)
    if x.value:
        out += "%s%s:" % ("::" if x.takes == "optional" else ":", x.value)
    words = {"nothing": "", "file": "_files", "word": "(%s)", "list": "_sequence compadd - %s"}
    return out + words[x.completion].replace("%s", x.words) + "'"


def zsh_table(indent, table):
    lines = [zsh_option(x) for x in table.options]
    if table.commands:
        lines.append("'1:command:((%s))'" % " ".join(
            '%s\\:"%s"' % (name, zsh_quote(summary, '\\[]:"'))
            for name, (summary, _) in table.commands.items()))
        lines.append("'*::argument:->command'")
    elif table.operands:
        lines.append("'%s:FILE:_files'" % ("1" if table.operands == 1 else "*"))
    begin = "_arguments -s -S%s :" % (" -A '-*' -C" if table.commands else "")
    return indent + (" \\\n%s  " % indent).join([begin] + lines) + "\n"


def zsh(table):
    out = "\n"
    if table.commands:
        out += "local context state state_descr line\ntypeset -A opt_args\n\n"
    out += zsh_table("", table)
    if table.commands:
        out += "\n[[ $state == command ]] || return\ncase $words[1] in\n"
        for command, (_, options) in table.commands.items():
            out += "%s)\n%s  ;;\n" % (command, zsh_table("  ", options))
        out += "esac\n"
    return out


def main():
    shell, program = sys.argv[1:]
    table = read_tables(subprocess.check_output([program, "--completion"], text=True))
    if shell == "zsh":
        print("#compdef " + table.program)
    print("# Completion of %s in %s, made by: make update-completions" % (table.program, shell))
    sys.stdout.write({"bash": bash, "fish": fish, "zsh": zsh}[shell](table))


if __name__ == "__main__":
    main()
