#!/bin/sh
# The completions of shells: they are what the tables of options give, every shell can read them, and
# they offer what fits.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

scripts=$sources/completions

#
# make update-completions writes them anew.
#
python=$(command -v python3)
for name in gpureduce gpureduce-bench; do
    for file in "bash/$name" "fish/$name.fish" "zsh/_$name"; do
        if [ -z "$python" ]; then
            skip "completions/$file" 'there is no python3'
            continue
        fi
        "$python" "$scripts/make.py" "${file%%/*}" "$(dirname "$program")/$name" >made 2>err
        ok "completions/$file is up to date" test "$?:$(cat err)" = 0:
        ok "completions/$file is what the options are" diff "$scripts/$file" made
    done
done
run --completio
is 'the option is not to be shortened' 2 '' "gpureduce: unknown option '--completio' (try 'gpureduce --help')"
run --help
ok 'nor in the help' test "$(grep -c completion out)" = 0
run --completion
ok 'no description is cut within parentheses' test "$(cut -f 7 out | grep -c '([^)]*$')" = 0

: >file.f32
: >'file with spaces'
mkdir folder

# offers SHELL NAME WORDS EXPECTED: what the shell offers for a line that ends in WORDS, in order, is
# this, a word a line; both are sorted.
offers() {
    printf '%b\n' "$4" | sed '/^$/d' | sort >expected
    "complete_in_$1" "$3" 2>err | sed '/^$/d' | sort >offered
    ok "$1: $2" diff expected offered
    [ ! -s err ] || show err
}

#
# bash. Words of a line are split as COMP_WORDBREAKS has it: those of WORDS by spaces.
#
complete_in_bash() {
    # shellcheck disable=SC2016,SC2317 # it is bash's; and called by name
    bash --norc --noprofile -c '
        . "$1/bash/gpureduce" && . "$1/bash/gpureduce-bench" || exit
        if [[ $2 == *" " ]]; then last=1; else last=0; fi
        set -f; COMP_WORDS=($2); set +f
        [[ $last == 0 ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        complete -p "${COMP_WORDS[0]}" >/dev/null || exit
        "_${COMP_WORDS[0]//-/_}"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$scripts" "$1"
}
if command -v bash >/dev/null && bash -c '((BASH_VERSINFO[0] >= 4))'; then
    offers bash 'a name' 'gpureduce --dt' '--dtype='
    offers bash 'names alike' 'gpureduce --pr' '--progress'
    offers bash 'names of one beginning' 'gpureduce --l' '--label=\n--length=\n--list\n--long'
    offers bash 'letters' 'gpureduce -q -' "$(bash -c 'echo {-o,--op=,--ddof=,--histogram=,--plot=,-t,--dtype=,--endian=,--record=} \
        {--format=,--array=,--exclude=,--skip-unsupported,--list,--stored,--missing=,--where=,--sort=,--skip=,--length=,--long,--no-check,--nan=,-D,--device=,-j,--threads=,--chunk-size=} \
        {--json,--tsv,--number=,--total,--check=,--diff,--tolerance=,--map=,--cast,--ignore-dtype,--fail-on=,--axis=,--shape=,--output=} \
        {-q,--quiet,-v,--verbose,--progress,--no-progress,--partial,--merge,--allow-gaps,--label=,--shard=,-h,--help,-V,--version}' |
        sed 's/ /\\n/g')"
    offers bash 'words, behind =' 'gpureduce --nan = s' skip
    offers bash 'words, where = does not split' 'gpureduce --nan=s' --nan=skip
    offers bash 'all words, behind =' 'gpureduce --nan =' 'propagate\nskip\nerror'
    offers bash 'words, as the next word' 'gpureduce --nan ' 'propagate\nskip\nerror'
    offers bash 'words, behind a letter' 'gpureduce -D g' gpu
    offers bash 'the last of a list' 'gpureduce -o sum,m' 'sum,min\nsum,max\nsum,mean\nsum,missing\nsum,median'
    offers bash 'the last of a list, where = does not split' 'gpureduce --op=sum,min,argma' \
        --op=sum,min,argmax
    offers bash 'a number' 'gpureduce -j ' ''
    offers bash 'a number that may be left out' 'gpureduce --long = ' ''
    offers bash 'and is' 'gpureduce --long fi' 'file.f32\nfile with spaces'
    offers bash 'files' 'gpureduce -q fi' 'file.f32\nfile with spaces'
    offers bash 'files, a folder among them' 'gpureduce -q f' 'file.f32\nfile with spaces\nfolder'
    offers bash 'behind --, files' 'gpureduce -- -' ''
    : >-file
    offers bash 'behind --, files of all names' 'gpureduce -- -' -file
    rm ./-file
    offers bash 'commands' 'gpureduce-bench ' 'ladder\nlimits\ngenerate'
    offers bash 'a command' 'gpureduce-bench la' ladder
    offers bash 'options without a command' 'gpureduce-bench --' '--help\n--version'
    offers bash 'options of a command' 'gpureduce-bench generate --d' '--dist=\n--dtype='
    offers bash 'words of a command' 'gpureduce-bench generate --dist = no' normal
    offers bash 'files of a command' 'gpureduce-bench limits fo' folder
    offers bash 'files of an option' 'gpureduce-bench limits --plot fo' folder
    offers bash 'files of an option, behind =' 'gpureduce-bench limits --json = fo' folder
    offers bash 'files of an option, where = does not split' 'gpureduce-bench limits --json=fo' \
        --json=folder
    offers bash 'no files where there is none' 'gpureduce-bench generate fi' ''
else
    skip bash 'there is none, or an old one'
fi
if command -v shellcheck >/dev/null; then
    ok 'bash: shellcheck' shellcheck -s bash "$scripts/bash/gpureduce" "$scripts/bash/gpureduce-bench"
else
    skip 'bash: shellcheck' 'there is none'
fi

#
# fish.
#
complete_in_fish() {
    # shellcheck disable=SC2016,SC2317
    HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work fish --no-config -c '
        source $argv[1]/fish/gpureduce.fish; and source $argv[1]/fish/gpureduce-bench.fish
        complete -C $argv[2]' "$scripts" "$1" | sed 's/\t.*//'
}
if command -v fish >/dev/null && fish --no-config -c 'exit 0' 2>/dev/null; then
    for name in gpureduce gpureduce-bench; do
        ok "fish: $name.fish" fish --no-config -n "$scripts/fish/$name.fish"
    done
    offers fish 'a name' 'gpureduce --dt' --dtype
    offers fish 'words' 'gpureduce --nan=s' --nan=skip
    offers fish 'words, as the next word' 'gpureduce --nan ' 'propagate\nskip\nerror'
    offers fish 'the last of a list' 'gpureduce -o sum,min,argma' 'sum,min,argmax'
    offers fish 'a number' 'gpureduce -j ' ''
    offers fish 'files' 'gpureduce file.' file.f32
    offers fish 'a command' 'gpureduce-bench la' ladder
    offers fish 'options of a command' 'gpureduce-bench generate --d' '--dist\n--dtype'
    offers fish 'words of a command' 'gpureduce-bench generate --dist no' normal
    offers fish 'files of a command' 'gpureduce-bench limits file.' file.f32
    offers fish 'no files where there is none' 'gpureduce-bench generate file.' ''
else
    skip fish 'there is none'
fi

#
# zsh. It completes on a terminal alone: it has one, and a key that tells what has become of the line.
#
cat >complete.zsh <<'END'
zmodload zsh/zpty && zpty shell 'TERM=dumb zsh -f -i' || exit
zpty -w shell "PS1=; fpath=(${(q)1}/zsh \$fpath); autoload -U compinit; compinit -D -u"
zpty -w shell 'tell() { print -r -- "$BUFFER" >told.part; mv told.part told; BUFFER= }'
zpty -w shell 'zle -N tell; bindkey "^X" tell; bindkey "^I" complete-word; print >ready'
for ((i = 0; i < 400; i++)); do [[ -e ready ]] && break; sleep 0.05; done
zpty -w -n shell "$2"$'\t\x18'
for ((i = 0; i < 400; i++)); do [[ -e told ]] && break; sleep 0.05; done
cat told
zpty -d shell
END
complete_in_zsh() {
    # shellcheck disable=SC2317
    rm -f ready told && zsh -f complete.zsh "$scripts" "$1"
}
if command -v zsh >/dev/null && zsh -f -c 'zmodload zsh/zpty' 2>/dev/null; then
    for name in gpureduce gpureduce-bench; do
        ok "zsh: _$name" zsh -n "$scripts/zsh/_$name"
    done
    offers zsh 'a name' 'gpureduce --dt' 'gpureduce --dtype='
    offers zsh 'words' 'gpureduce --nan=s' 'gpureduce --nan=skip '
    offers zsh 'words, as the next word' 'gpureduce -t bf' 'gpureduce -t bf16 '
    offers zsh 'the last of a list' 'gpureduce -o sum,argma' 'gpureduce -o sum,argmax,'
    offers zsh 'an option once more' 'gpureduce --array=a --arr' 'gpureduce --array=a --array='
    offers zsh 'one with a letter' 'gpureduce -o sum --op=argmi' 'gpureduce -o sum --op=argmin,'
    offers zsh 'files' 'gpureduce -q fo' 'gpureduce -q folder/'
    offers zsh 'a command' 'gpureduce-bench la' 'gpureduce-bench ladder '
    offers zsh 'options of a command' 'gpureduce-bench generate --qu' 'gpureduce-bench generate --quiet '
    offers zsh 'words of a command' 'gpureduce-bench generate --dist=no' 'gpureduce-bench generate --dist=normal '
    offers zsh 'files of a command' 'gpureduce-bench limits fo' 'gpureduce-bench limits folder/'
    offers zsh 'no files where there is none' 'gpureduce-bench generate fo' 'gpureduce-bench generate fo'
else
    skip zsh 'there is none'
fi

finish
