#!/bin/sh
# Large counts: more than 2^32 elements, of one value and of all, in holes of files, in zstd frames
# of one value, and through pipes; sums that leave the range of binary64 on the way; extremes and
# NaNs beyond index 2^32. Minutes, and no more than some megabytes on disk: not part of make check
# (make check-long). LONG_DEVICE has something else than the CPU do the work: gpu, or gpu:0,1.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=20
: "${LONG_DEVICE:=cpu}"
ops=sum,mean,min,max,argmin,argmax,count,nan,inf
two32=4294967296

three >three.f32
run -q -D "$LONG_DEVICE" -o sum three.f32
if [ "$status" -eq 3 ]; then
    skip "large counts by $LONG_DEVICE" "$(cat err)"
    finish
fi

# reduce NAME EXPECTED OPTION...: the values of all operations, with a space between.
reduce() {
    name=$1 expected=$2
    shift 2
    began=$(date +%s)
    run -q -D "$LONG_DEVICE" -o "$ops" "$@"
    is "$name ($(($(date +%s) - began)) s)" 0 "$(printf '%s' "$expected" | tr ' ' '\n')"
}

# reduce_pipe NAME EXPECTED COMMAND OPTION...: the same for what a command writes into a pipe.
reduce_pipe() {
    name=$1 expected=$2 writer=$3
    shift 3
    began=$(date +%s)
    shell "$writer | gpureduce -q -D $LONG_DEVICE -o $ops $*"
    is "$name ($(($(date +%s) - began)) s)" 0 "$(printf '%s' "$expected" | tr ' ' '\n')"
}

# put FILE OFFSET BYTES
put() {
    # shellcheck disable=SC2059 # the bytes are a format
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# The element beyond 2^32 at which something stands.
place=$((two32 + 12345))
count=$((two32 + 99999))

#
# Files that are a hole but for some elements: 8 GiB of f16.
#
if truncate -s $((2 * count)) hole 2>/dev/null; then
    reduce 'zeros' "0 0 0 0 0 0 $count 0 0" -t f16 hole
    put hole $((2 * place)) '\000\074'
    put hole $((2 * place + 2)) '\000\274'
    put hole $((2 * place + 4)) '\000\074'
    mean=2.328252228234296e-10 # 1 / count
    reduce 'extremes beyond 2^32' "1 $mean -1 1 $((place + 1)) $place $count 0 0" -t f16 hole
    reduce 'the same, found by one thread' "1 $mean -1 1 $((place + 1)) $place $count 0 0" -t f16 \
        -j 1 hole
    reduce 'counted from beyond 2^32' "1 0.0000100664384940608 -1 1 12346 12345 99340 0 0" -t f16 \
        --skip $((2 * two32)) --length 99340 hole
    put hole $((2 * place + 8)) '\001\176'
    reduce 'a NaN beyond 2^32' "nan nan nan nan $((place + 4)) $((place + 4)) $count 1 0" -t f16 hole
    reduce 'a NaN beyond 2^32, skipped' \
        "1 2.328252228776372e-10 -1 1 $((place + 1)) $place $((count - 1)) 1 0" \
        -t f16 --nan=skip hole
    run -D "$LONG_DEVICE" --nan=error -t f16 hole
    fails '--nan=error beyond 2^32' "hole: element $((place + 4)) is a NaN"
    rm -f hole
else
    skip 'a hole of 8 GiB' 'no sparse files here'
fi

#
# Elements of one value in a pipe: every byte of each is 60, which makes 271/256 in f16. 2^32 + 2^8
# of them.
#
count=$((two32 + 256)) sum=$((271 * (16777216 + 1)))
reduce_pipe 'a pipe of one value' "$sum 1.05859375 1.059 1.059 0 0 $count 0 0" \
    "head -c $((2 * count)) /dev/zero | tr '\\0' '<'" -t f16

#
# zstd frames of blocks of one byte repeated: 128 KiB out of four bytes.
#
# blocks FILE VALUE LOG: 2^LOG blocks of 128 KiB of the byte, none of them the last.
blocks() {
    { printf '\002\000\020' && byte "$2"; } >"$1"
    blocks_doubled=0
    while [ "$blocks_doubled" -lt "$3" ]; do
        cat "$1" "$1" >"$1.double" && mv "$1.double" "$1"
        blocks_doubled=$((blocks_doubled + 1))
    done
}
# A frame of unknown length with the blocks of standard input.
unsized_frame() {
    printf '\050\265\057\375\000\070'
    cat
    printf '\001\000\000'
}
# repeat N FILE: the file, so often.
repeat() {
    times_left=$1
    while [ "$times_left" -gt 0 ]; do
        cat "$2"
        times_left=$((times_left - 1))
    done
}
blocks part 60 10
unsized_frame <part >frame # 128 MiB, 2^26 f16
repeat 65 frame >x
count=$((65 << 26)) sum=$((271 * (65 << 18)))
reduce 'frames of one value' "$sum 1.05859375 1.059 1.059 0 0 $count 0 0" -t f16 x
repeat 65 part | unsized_frame >x
reduce 'a single frame of one value' "$sum 1.05859375 1.059 1.059 0 0 $count 0 0" -t f16 x
blocks part 255 10
unsized_frame <part >frame
repeat 65 frame >x
reduce 'NaNs alone' "nan nan nan nan 0 0 $count $count 0" -t f16 x
reduce 'NaNs alone, skipped' "0 nan nan nan nan nan 0 $count 0" -t f16 --nan=skip x

#
# Sums that exceed 2^1024 on the way: 2^32 times the largest number, as often its negative, and a
# 1. The extremes begin at 0, at 2^32, and the last element is 2^33.
#
if [ -n "$ZSTD" ]; then
    printf '\377\377\377\377\377\377\357\177' >positive
    printf '\377\377\377\377\377\377\357\377' >negative
    for sign in positive negative; do
        doubled=3
        while [ "$doubled" -lt 27 ]; do
            cat "$sign" "$sign" >double && mv double "$sign"
            doubled=$((doubled + 1))
        done
        "$ZSTD" -qc "$sign" >"$sign.zst" || fatal 'zstd fails' # 128 MiB, 2^24 f64
    done
    rm -f positive negative
    printf '\000\000\000\000\000\000\360\077' | "$ZSTD" -qc >one.zst
    max=1.7976931348623157e+308
    over="1 1.1641532181338229e-10 -$max $max $two32 0 $((2 * two32 + 1)) 0 0"
    { repeat 256 positive.zst && repeat 256 negative.zst && cat one.zst; } >x
    reduce 'a sum that exceeds 2^1024 and returns' "$over" -t f64 x
    reduce 'a sum that stays out' "inf $max $max $max 0 0 $two32 0 0" -t f64 --length $two32 x
    { repeat 256 negative.zst && repeat 256 positive.zst && cat one.zst; } >x
    over="1 1.1641532181338229e-10 -$max $max 0 $two32 $((2 * two32 + 1)) 0 0"
    reduce 'a sum that exceeds -2^1024 and returns' "$over" -t f64 x
else
    skip 'sums that exceed 2^1024' 'no zstd'
fi

finish
