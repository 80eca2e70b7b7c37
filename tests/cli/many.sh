#!/bin/sh
# Thousands of small inputs in one command: every one has its own result, no thread is started for
# each, and no GPU is called for crumbs.
# Tags: threads

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# Files of one to three elements, in turn, each the number 1; and what they come to.
count=2000
i=0
while [ $i -lt $count ]; do
    case $((i % 3)) in
    0) printf '\000\000\200\077' >"$i.f32" ;;
    1) printf '\000\000\200\077\000\000\200\077' >"$i.f32" ;;
    2) printf '\000\000\200\077\000\000\200\077\000\000\200\077' >"$i.f32" ;;
    esac
    echo $((i % 3 + 1)) >>expected
    i=$((i + 1))
done
set --
i=0
while [ $i -lt $count ]; do
    set -- "$@" "$i.f32"
    i=$((i + 1))
done

run -q -o sum "$@"
is "$count small files" 0 "$(cat expected)"
run -q -j 3 --chunk-size=4 -o sum "$@"
is "$count small files, each by several threads" 0 "$(cat expected)"

# A file that fails leaves the others as they are.
run -q -o sum 0.f32 missing.f32 1.f32 2.f32
if [ "$status" -eq 1 ] && [ "$(cat out)" = "$(printf '1\nNA\n2\n3')" ]; then
    pass 'one of several is missing'
else
    fail 'one of several is missing'
fi

# Types, byte orders and formats that change from one input to the next.
run -q -o sum 0.f32 data/npy/f2.npy 2.f32 data/npy/f8-big-endian.npy 1.f32
"$GPUREDUCE" -q -o sum data/npy/f2.npy >f2
"$GPUREDUCE" -q -o sum data/npy/f8-big-endian.npy >f8
is 'types in turn' 0 "$(printf '1\n%s\n3\n%s\n2' "$(cat f2)" "$(cat f8)")"

if command -v strace >/dev/null && strace -o trace -f true 2>/dev/null; then
    # The trace of the last is searched for GPUs below.
    for options in '--axis=0 --shape=-1 -o sum' '-o sum'; do
        # shellcheck disable=SC2086
        strace -f -e trace=clone,clone3,openat -o trace "$program" -q $options "$@" >/dev/null
        threads=$(grep -c 'clone' trace)
        # A sanitizer may start one to look for leaks.
        if [ "$threads" -lt 4 ]; then
            pass "$count small files start no threads with $options"
        else
            fail "$count small files start $threads threads with $options"
        fi
    done
    if grep -q '/dev/nvidia' trace; then
        fail "$count small files ask for a GPU"
    else
        pass "$count small files ask for no GPU"
    fi
else
    skip "$count small files start no threads" 'no strace'
    skip "$count small files start no threads along an axis" 'no strace'
    skip "$count small files ask for no GPU" 'no strace'
fi

finish
