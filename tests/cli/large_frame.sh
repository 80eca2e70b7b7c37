#!/bin/sh
# A large zstd frame, which all threads decode together: what comes out does not depend on their
# number. Of each kind of block there is one: raw, repeated bytes, literals, and matches near and far.
# Tags: threads ports

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=12

if [ -z "$ZSTD" ]; then
    skip 'large frames' 'no zstd'
    finish
fi
types='f64 bf16' files='x unsized' hows='-j2;-j3 --chunk-size=4KiB;-j16 --chunk-size=1MiB;-j5 --no-check'
places='20 1000 300000 half -20 -2' teams='2 4'
set -- --fast=5 -1 -3 '-9 -B0' -17 '-19 --long' '-3 --no-compress-literals' '-3 --rsyncable -T2' '--no-check -4'
if [ -n "$sanitizer" ]; then
    types='' files=x hows='-j3 --chunk-size=4KiB;-j5 --no-check' places='1000 half -2' teams=4
    set -- -1 '-9 -B0' '-3 --no-compress-literals'
fi

{
    head -c 3000000 /dev/zero
    awk 'BEGIN { srand(7); for (i = 0; i < 400000; i++) printf "%08d", rand() * 90000000 }'
    awk 'BEGIN { for (i = 0; i < 500000; i++) printf "%07d\n", i * i % 99991 }'
    awk 'BEGIN { srand(3); for (i = 0; i < 600000; i++) printf "%c%c%c@", 33 + rand() * 90, 33 + rand() * 90, 50 + rand() * 4 }'
    awk 'BEGIN { for (i = 0; i < 500000; i++) printf "%07d\n", i * i % 99991 }'
    printf 'abc'
} >large
truncate -s 14400001 large
words=$IFS
ops='-o sum,min,max,argmin,argmax,count,nan,inf'
bytes=14400000
head -c $bytes large >even
# For the highest levels, which zstd takes a second a megabyte for, a part of each kind, and more
# zeros: still what is called large, of which there is one file each. Sanitizers, which follow each
# byte, have nothing else.
{
    head -c 6000000 /dev/zero
    for at in 3000001 6200001 10200001 12600001; do
        tail -c +$at even | head -c 750000
    done
} >sparse
if [ -n "$sanitizer" ]; then
    bytes=9000000
    cp sparse even
    { cat even && printf a; } >large
fi
for type in f32 $types; do
    for of in even sparse; do
        # shellcheck disable=SC2086 # several words
        run -q $ops -t $type $of
        cp out "expected-$of-$type"
    done
done
for level; do
    files_now=$files of=even
    case $level in
    -17) files_now=unsized of=sparse ;;
    -19*) files_now=x of=sparse ;;
    esac
    good=true
    for file in $files_now; do
        # shellcheck disable=SC2086 # several words
        case $file in
        x) "$ZSTD" -q -f $level $of -o x ;;
        unsized) "$ZSTD" -q -f $level <$of >unsized ;;
        esac
        IFS=';'
        for how in $hows; do
            IFS=$words
            # Those of sanitizers are few.
            [ -n "$sanitizer" ] || share_takes_next || continue
            # shellcheck disable=SC2086 # as above
            run -q $ops -t f32 $how $file
            cmp -s out "expected-$of-f32" || good="$file $how"
        done
        IFS=$words
    done
    ok "a large frame of zstd $level" [ "$good" = true ]
    # Other types differ in where elements are torn.
    for type in $types; do
        # shellcheck disable=SC2086 # as above
        run -q $ops -t $type -j 3 $file
        ok "a large frame of zstd $level, $type" cmp out "expected-$of-$type"
    done
done
head -c $((bytes - 1)) large >odd
"$ZSTD" -q -f odd -o x
run -q -o sum -j 4 x
fails 'a large frame that ends within an element' \
    "x: byte $((bytes - 4)) of the decompressed data: the last f32 element is cut off after 3 of 4 bytes"
run -q -o count -j 4 --length 1000000 x
is 'a part of a large frame' 0 1000000
head -c 4000000 even >part
run -q -o sum,count part
cp out expected
run -q -o sum,count -j 4 --length 1000000 x
ok 'the sum of a part of a large frame' cmp out expected
cat x >twice
"$ZSTD" -q -f even -o y
cat y y y >thrice
run -q -o count -j 4 thrice
is 'three large frames' 0 $((bytes * 3 / 4))

# Damage: the message is that of reading in order, whatever is damaged.
length=$(size y)
for place in $places; do
    case $place in
    half) at=$((length / 2)) ;;
    -*) at=$((length + place)) ;;
    *) at=$place ;;
    esac
    cp y x
    byte=$(od -An -tu1 -j "$at" -N 1 y | tr -d ' ')
    # shellcheck disable=SC2059 # it is a format
    printf "\\$(printf %o $(((byte + 1) % 256)))" | dd of=x bs=1 seek="$at" conv=notrunc 2>/dev/null
    shell 'cat x | gpureduce -q -o sum'
    sed 's/standard input/x/' err >expected
    for threads in $teams; do
        run -q -o sum -j "$threads" x
        ok "a large frame, damaged at byte $at, $threads threads" cmp err expected
    done
done
run -q -o count -j 4 x
fails 'a large frame with a wrong checksum' \
    "x: byte 0: zstd frame is damaged: Restored data doesn't match checksum"
for threads in 1 2 4; do
    run -q -o count -j "$threads" --no-check x
    is "a wrong checksum with --no-check, $threads threads" 0 $((bytes / 4))
done
shell 'cat x | gpureduce -q -o count --no-check'
is 'a wrong checksum with --no-check, in a pipe' 0 $((bytes / 4))
head -c $((length - 1000)) y >x
run -q -o count -j 4 x
fails 'a large frame that is cut off' \
    "x: ends at byte $((length - 1000)), inside the zstd frame that begins at byte 0"

# It states less than it holds, and less than its window: a ring for that much has no room.
for stated in '\100\102\017\000' '\003\000\040\000'; do
    cp y x
    # shellcheck disable=SC2059 # it is a format
    printf "$stated" | dd of=x bs=1 seek=6 conv=notrunc 2>/dev/null
    for threads in 2 4; do
        run -q -o count -j "$threads" x
        fails "a large frame that holds more than it states, $threads threads" \
            'x: byte 0: zstd frame is damaged: Destination buffer is too small'
    done
done

# A block that is stored as it is, with what stands in front of the first element, and behind it one
# that takes long to decode: meanwhile nobody is handed what is no element. It takes two threads that
# come at the same time, which two of a hundred runs had.
bench=${program%/*}/gpureduce-bench
runs=100
[ -z "$sanitizer" ] || runs=5
if [ -x "$bench" ]; then
    "$bench" generate -q -t u64 -d full -b 128KiB >torn
    "$bench" generate -q -t f64 -d steps -b 8MiB >>torn
    "$ZSTD" -q -3 torn
    wrong=0 left=$runs
    while [ "$left" -gt 0 ]; do
        left=$((left - 1))
        run -q -D cpu -t f64 -j 3 --skip=128 -o count torn.zst
        [ "$(cat out)" = 1064944 ] || wrong=$((wrong + 1))
    done
    ok "what stands in front of the first element, $runs runs, $wrong wrong" test "$wrong" -eq 0
else
    skip 'what stands in front of the first element' 'there is no gpureduce-bench'
fi

finish
