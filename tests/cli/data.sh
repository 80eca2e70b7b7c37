#!/bin/sh
# Every sample gives what data/expected.tsv and data/spread.tsv say, which were worked out without
# gpureduce: from a file and through a pipe, with every instruction set there is, and on the GPU;
# on an emulated one, where there is none. And files of several arrays what data/containers.tsv says.
# Tags: smoke ports emulator

find_leaks=yes
# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# What each instruction set calls itself; one that the machine lacks is not put to the test.
sets=
three >three.f32
for name in vector16 sse4 avx2 avx512; do
    environment=GPUREDUCE_CPU=$name
    run --json -v -D cpu three.f32
    if grep -q "\"device\": \"$name\"" out; then
        sets="$sets $name"
    else
        skip "samples with $name" "this processor or build has no $name"
    fi
done
ok 'there is a version that runs everywhere' test -n "$sets"
# The best one has all samples once more below.
[ -z "$sanitizer" ] || sets=vector16
environment=
program=$GPUREDUCE gpu_program=${GPUREDUCE_EMULATED-} devices=auto
run -q -o sum -D gpu three.f32
if [ "$status" = 3 ]; then
    skip 'samples on a GPU' 'no GPU'
    [ ! -x "$gpu_program" ] || sets="$sets gpu"
else
    devices='auto gpu'
fi

# The runs: rows of number, options, operations and files; the values that a run prints, those of all
# its files, stand in values/NUMBER. Files with the same options and operations go into one run: it
# is the start of a process that takes time. ./alone has a row for each file and options, with the
# operations of both tables.
mkdir values
cat "$sources/data/expected.tsv" "$sources/data/spread.tsv" | grep -v '^#' >table
ok 'the tables of results have rows' test "$(wc -l <table)" -gt 3000
awk -F '\t' -v OFS='\t' '
    function add(key, file, values) { # what a run is to print
        if (!(key in number)) {
            number[key] = ++runs
            keys[runs] = key
        }
        files[key] = files[key] (files[key] == "" ? "" : " ") file
        printf "%s", values >("values/" number[key])
    }
    function group_ends() {
        if (group != "") {
            add(options OFS operations, file, values)
            groups++
        }
        operations = values = ""
    }
    {
        name = $1 OFS $2
        if (name != group)
            group_ends()
        group = name
        file = "data/" $1
        options = $2
        operations = operations (operations == "" ? "" : ",") $3
        values = values $4 "\n"
        if (!(name in all)) {
            names[++count] = name
            file_of[name] = file
            options_of[name] = options
        }
        all[name] = all[name] (all[name] == "" ? "" : ",") $3
        all_values[name] = all_values[name] $4 "\n"
    }
    END {
        group_ends()
        together = runs
        for (i = 1; i <= count; i++) {
            name = names[i]
            add("all" OFS options_of[name] OFS all[name], file_of[name], all_values[name])
            add(name, file_of[name], all_values[name])
            print number[name], options_of[name], all[name], file_of[name] >"alone"
        }
        print groups, count >"counts"
        for (i = 1; i <= runs; i++)
            if (i <= together)
                print i, keys[i], files[keys[i]] >"by-set"
            else if (sub(/^all\t/, "", keys[i]))
                print i, keys[i], files["all" OFS keys[i]] >"default"
    }' table

# check FILES OPTIONS OPERATIONS NUMBER HOW: whether the last run printed the values of the number.
checked=0 passed_over=0
check() {
    good=false
    [ "$status" -ne 0 ] || ! cmp -s "values/$4" out || good=true
    for file in $1; do
        checked=$((checked + 1))
        if $good; then
            pass "${file#data/} $2 (${3%%,*} and others), $5"
        else
            fail "$1 $2, $5"
            explain
            echo "# < expected, > printed:"
            diff "values/$4" out >diff.out
            show diff.out
            break
        fi
    done
}

# has_share FILES: whether the next run of these files is in the share. Runs by default all are.
has_share() {
    share_takes_next && return
    # shellcheck disable=SC2086 # words
    passed_over=$((passed_over + $(printf '%s\n' $1 | wc -l)))
    return 1
}

set -f
while IFS=$tab read -r number options operations files; do
    [ "$options" != none ] || options=
    for name in $sets; do
        has_share "$files" || continue
        environment=GPUREDUCE_CPU=$name
        device=cpu
        if [ "$name" = gpu ]; then
            environment=
            device=gpu
            GPUREDUCE=$gpu_program
        fi
        # shellcheck disable=SC2086 # words
        run -q -D $device -o "$operations" $options $files
        GPUREDUCE=$program
        check "$files" "$options" "$operations" "$number" "$name"
    done
done <by-set
environment=
while IFS=$tab read -r number options operations files; do
    [ "$options" != none ] || options=
    for device in $devices; do
        if [ "$device" = gpu ] && ! gpu_has_turn; then
            # shellcheck disable=SC2086 # words
            passed_over=$((passed_over + $(printf '%s\n' $files | wc -l)))
            continue
        fi
        # shellcheck disable=SC2086 # words
        run -q -D $device -o "$operations" $options $files
        check "$files" "$options" "$operations" "$number" "-D $device"
    done
done <default
while IFS=$tab read -r number options operations file; do
    [ "$options" != none ] || options=
    has_share "$file" || continue
    command="cat $file | gpureduce -q -D cpu -o $operations $options"
    # shellcheck disable=SC2002,SC2086 # a pipe is the point; words
    cat "$file" | "$GPUREDUCE" -q -D cpu -o "$operations" $options >out 2>err
    status=$?
    check "$file" "$options" "$operations" "$number" 'through a pipe'
done <alone

# Containers: each result by itself, and all of a file together. A build may lack what some need.
grep -v '^#' "$sources/data/containers.tsv" >containers
ok 'the table of containers has rows' test "$(wc -l <containers)" -gt 400
ok 'all of these files are in it' test "$(cut -f 1 containers | sort -u)" = \
    "$(find "$sources/data/containers" -mindepth 1 -maxdepth 1 | sed 's|.*/data/||' | sort)"
cut -f 1,2 containers | uniq >arrays
while IFS=$tab read -r file option; do
    case $file in
    *.h5) needs=$(gpureduce --version | sed -n 's/^HDF5: none$/libhdf5/p') ;;
    *deflated* | *.zarr | *.gz) needs=$(gpureduce -q -o count "data/$file" >/dev/null 2>&1 || echo zlib) ;;
    *) needs= ;;
    esac
    if [ -n "$needs" ]; then
        skip "$file $option" "built without $needs"
        continue
    fi
    awk -F "$tab" -v file="$file" -v option="$option" '$1 == file && $2 == option' containers >rows
    # shellcheck disable=SC2086 # several words
    run -q -D cpu -o "$(cut -f 3 rows | paste -s -d , -)" $option "data/$file"
    cut -f 4 rows >values/array
    ok "$file $option" cmp values/array out
done <arrays

read -r groups all <counts
ways=$(($(echo "$devices" | wc -w) + 1))
# shellcheck disable=SC2086 # words
set -- $sets
ok 'all samples were put to the test, in all ways' \
    test $((checked + passed_over)) -eq $((groups * $# + all * ways))
finish
