#!/bin/sh
# Every sample gives what data/expected.tsv and data/spread.tsv say, which were worked out without
# gpureduce: from a file and through a pipe, with every instruction set there is, and on the GPU; on
# an emulated one, where there is none.

find_leaks=yes
# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# What each instruction set calls itself; one that the machine lacks is not put to the test.
sets=
three >three.f32
for name in portable avx2 avx512; do
    environment=GPUREDUCE_CPU=$name
    run --json -v -D cpu three.f32
    if grep -q "\"device\": \"$name\"" out; then
        sets="$sets $name"
    else
        skip "samples with $name" "this processor or build has no $name"
    fi
done
ok 'there is a portable version' test -n "$sets"
environment=
program=$GPUREDUCE gpu_program=$GPUREDUCE
run -q -o sum -D gpu three.f32
if [ "$status" = 3 ]; then
    skip 'samples on a GPU' 'no GPU'
    gpu_program=${GPUREDUCE_EMULATED-}
fi
gpu=
[ ! -x "$gpu_program" ] || gpu=gpu

# check FILE OPTIONS OPERATIONS: the values stand in ./values.
check() {
    file=$1 options=$2 operations=$3
    good=true
    for way in default $sets $gpu pipe; do
        environment=
        # shellcheck disable=SC2086 # the options are words
        case $way in
        default) run -q -o "$operations" $options "data/$file" ;;
        gpu)
            GPUREDUCE=$gpu_program
            run -q -D gpu -o "$operations" $options "data/$file"
            GPUREDUCE=$program
            ;;
        pipe)
            command="cat data/$file | gpureduce -q -D cpu -o $operations $options"
            # shellcheck disable=SC2002 # a pipe is the point
            cat "data/$file" | "$GPUREDUCE" -q -D cpu -o "$operations" $options >out 2>err
            status=$?
            ;;
        *)
            environment=GPUREDUCE_CPU=$way
            run -q -D cpu -o "$operations" $options "data/$file"
            ;;
        esac
        if [ "$status" -ne 0 ] || ! cmp -s values out; then
            good=false
            break
        fi
    done
    if $good; then
        pass "$file $options"
    else
        fail "$file $options"
        explain
        echo "# expected:"
        show values
    fi
}

set -f
group='' file='' options='' operations=''
# The mark at the end closes the last group.
{
    grep -v '^#' "$sources/data/expected.tsv"
    grep -v '^#' "$sources/data/spread.tsv"
    printf 'end\tend\tend\tend\n'
} >table
ok 'the tables of results have rows' test "$(wc -l <table)" -gt 3000
while IFS=$tab read -r next_file next_options operation value; do
    if [ "$next_file $next_options" != "$group" ]; then
        [ -z "$group" ] || check "$file" "$options" "$operations"
        group="$next_file $next_options"
        file=$next_file options=$next_options operations=
        [ "$options" != none ] || options=
        : >values
    fi
    operations=$operations${operations:+,}$operation
    printf '%s\n' "$value" >>values
done <table

finish
