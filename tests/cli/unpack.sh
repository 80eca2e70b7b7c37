#!/bin/sh
# zstd that a GPU decodes and reduces: the same bits, words and exit statuses as the CPU's, whatever
# the input is. By a GPU, where there is one, and by the program with an emulated GPU, whose batches
# are so small that these files have many.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

ops=--op=sum,min,max,argmin,argmax,count,nan,inf
programs=
run -q -D gpu -o count data/waves.f32.zst
[ "$status" -ne 0 ] || programs=$program
[ -z "${GPUREDUCE_EMULATED-}" ] || [ ! -x "$GPUREDUCE_EMULATED" ] ||
    programs="$programs $GPUREDUCE_EMULATED"
if [ -z "$programs" ] || [ -z "$ZSTD" ]; then
    skip 'zstd on a GPU' 'no GPU, nor an emulated one, or no zstd'
    finish
fi

# both NAME [OPTION...] FILE: whether GPU and CPU print the same, and end with the same status. With
# a file of -, what is in ./piped comes by a pipe. What the GPU printed is left in ./out and ./err.
both() {
    name=$1
    shift
    for how in cpu gpu; do
        # shellcheck disable=SC2002 # a pipe is wanted
        case $* in
        *' -') cat piped | "$GPUREDUCE" -q -D $how "$ops" "$@" >$how.out 2>$how.err ;;
        *) "$GPUREDUCE" -q -D $how "$ops" "$@" >$how.out 2>$how.err ;;
        esac
        echo $? >>$how.out
    done
    cp gpu.out out
    cp gpu.err err
    command="gpureduce -D gpu $ops $*"
    status=$(tail -n 1 out)
    if cmp -s cpu.out gpu.out && cmp -s cpu.err gpu.err; then
        pass "$label, $name"
    else
        fail "$label, $name"
        explain
        echo "# by the CPU:"
        show cpu.out
        show cpu.err
    fi
}

# unpacked NAME BYTES FILE: whether so many bytes were decoded on the GPU, and none by the CPU.
unpacked() {
    run -v -D gpu -o count "$3"
    if [ "$status" -eq 0 ] && ! grep -q '^  decode' err && [ "$2" = "$(sed -n 's/^  unpack *[^ ]* *\([0-9]*\) .*/\1/p' err)" ]; then
        pass "$label, $1"
    else
        fail "$label, $1"
        explain
    fi
}

{
    head -c 5000 /dev/zero
    awk 'BEGIN { srand(7); for (i = 0; i < 30000; i++) printf "%08d", rand() * 90000000 }'
    head -c 200000 /dev/zero
    awk 'BEGIN { for (i = 0; i < 40000; i++) printf "%07d\n", i * i % 99991 }'
    awk 'BEGIN { srand(3); for (i = 0; i < 50000; i++) printf "%c%c%c@", 33 + rand() * 90, 33 + rand() * 90, 50 + rand() * 4 }'
} >plain
size=$(wc -c <plain)

# part FROM SIZE: these bytes of ./plain.
part() {
    tail -c +$(($1 + 1)) plain | head -c "$2"
}

for GPUREDUCE in $programs; do
    case $GPUREDUCE in
    *emulated) label='emulated GPU' ;;
    *) label=GPU ;;
    esac

    # One frame.
    for level in -1 '-3 --no-check' '--fast=5' '-19' '-9 --long=18' '-3 --no-compress-literals'; do
        # shellcheck disable=SC2086 # several words
        "$ZSTD" -q -f $level plain -o x
        # shellcheck disable=SC2086 # as above
        "$ZSTD" -q -f $level <plain >unsized
        cp unsized piped
        both "zstd $level" x
        both "zstd $level, without a size" -j 1 unsized
        both "zstd $level, by a pipe" -
        unpacked "zstd $level is decoded there" "$size" x
    done
    for type in f64 f16 bf16; do
        both "$type" -t $type x
    done
    both 'big-endian data' --endian big x
    both 'bytes left out' --skip 7 --length 100000 x
    both 'bytes left out, elements at odd places' --skip 4 x
    both 'an element that is cut off' --skip 3 x
    both 'a few elements' --length 5 x
    both 'a part by a pipe' --length 150000 --skip 20000 -
    both 'a NaN that ends it all' -t f16 --nan error x
    both 'more is left out than there is' --skip 100000000 x

    # Several frames: with sizes and without, with elements torn across them, empty, and with others
    # between them.
    : >many
    : >unstated
    at=0
    for length in 1 2 3 70001 131072 0 5 40000 131073 3 200000; do
        part $at $length >piece
        "$ZSTD" -q -f piece -o piece.zst
        cat piece.zst >>many
        "$ZSTD" -q -c <piece >>unstated
        printf '\120\052\115\030\003\000\000\000abc' >>unstated
        at=$((at + length))
    done
    # An element that is cut off would be an error of both.
    part $at $(((4 - at % 4) % 4)) | "$ZSTD" -q -c >piece.zst
    cat piece.zst >>many
    cat piece.zst >>unstated
    both 'many frames' many
    both 'many frames that do not state their sizes' unstated
    cp unstated piped
    both 'many frames by a pipe' -
    unpacked 'many frames are decoded there' $((at + (4 - at % 4) % 4)) many
    if [ -n "$PZSTD" ]; then
        "$PZSTD" -q -f -p 3 plain -o pz
        both 'frames of pzstd' pz
    fi
    : >tiny
    for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
        part $((i * 40)) 40 | "$ZSTD" -q -c >>tiny
    done
    both 'tiny frames' tiny

    # .npy inside.
    for npy in v1-f4.npy f8-big-endian.npy; do
        "$ZSTD" -q -f "data/npy/$npy" -o array.npy.zst
        both "zstd of $npy" array.npy.zst
        cp array.npy.zst piped
        both "zstd of $npy by a pipe" -
    done
    header="{'descr': '>f4', 'fortran_order': False, 'shape': (90000,), }"
    {
        printf '\223NUMPY\001\000\166\000%-117s\n' "$header"
        part 0 360000
    } >array.npy
    "$ZSTD" -q -f array.npy -o array.npy.zst
    both 'a large array' array.npy.zst
    unpacked 'a large array is decoded there' 360128 array.npy.zst
    both 'a part of it' --length 12345 array.npy.zst
    printf 'behind' >>array.npy
    "$ZSTD" -q -f array.npy -o array.npy.zst
    both 'a large array, and more behind it' array.npy.zst
    head -c 300000 array.npy | "$ZSTD" -q -c >array.npy.zst
    both 'an array that is cut off' array.npy.zst

    # What is wrong. From a pipe, too: the frame is still in memory then.
    "$ZSTD" -q -f plain -o x
    total=$(wc -c <x)
    for place in 4 5 9 700 20000 60000 $((total / 2)) $((total - 3000)) $((total - 3)); do
        cp x damaged
        printf '\245\132\245' | dd of=damaged bs=1 seek=$place conv=notrunc 2>/dev/null
        both "damage at byte $place" damaged
        both "damage at byte $place, checksums left out" --no-check damaged
        cp damaged piped
        both "damage at byte $place, by a pipe" -
        head -c $place x >short
        both "cut off at byte $place" short
        cp short piped
        both "cut off at byte $place, by a pipe" -
    done
    {
        cat x
        printf 'garbage'
    } >behind
    both 'garbage behind a frame' behind
    cp behind piped
    both 'garbage behind a frame, by a pipe' -
    {
        cat many
        cat damaged
        cat many
    } >among
    both 'a damaged frame among others' among
    # Its checksum is wrong, and nothing else.
    {
        head -c $((total - 4)) x
        printf 'abcd'
    } >wrong
    cat many wrong many >among
    both 'a wrong checksum among others' among
    both 'a wrong checksum among others, left out' --no-check among
    cp among piped
    both 'a wrong checksum among others, by a pipe' -

    # Frames so small that the device verifies them itself, but for those that a batch cuts.
    raw=--format=raw+zstd # they look like text
    : >before
    : >after
    for at in $(seq 0 7001 693099); do
        half=before
        [ "$at" -lt 200000 ] || half=after
        part "$at" 7001 | "$ZSTD" -q -c >>$half
    done
    cat before after >small
    content=700100
    both 'small frames' $raw small
    run -v -D gpu -o count $raw small
    verified=$(sed -n 's/^  verify *[^ ]* *\([0-9]*\) .*/\1/p' err)
    checked=$(sed -n 's/^  check *[^ ]* *\([0-9]*\) .*/\1/p' err)
    ok "$label, small frames are verified there" test "$((verified + ${checked:-0}))" -eq "$content" \
        -a "$verified" -gt $((content / 2))
    run -v -D gpu -o count --no-check $raw small
    ok "$label, or not at all" eval "! grep -q -E '^  (verify|check)' err"
    part 0 8000 | "$ZSTD" -q -c | head -c -4 >wrong_small
    printf 'abcd' >>wrong_small
    for place in first middle last; do
        case $place in
        first) cat wrong_small small ;;
        middle) cat before wrong_small after ;;
        last) cat small wrong_small ;;
        esac >among
        both "small frames, the $place one with a wrong checksum" $raw among
        both "the same, left out" --no-check $raw among
        cp among piped
        both "the same, by a pipe" $raw -
    done

    cp wrong piped
    both 'a wrong checksum behind a part, by a pipe' --length 100 -
    {
        printf x | "$ZSTD" -q -c
        printf '\120\052\115\030\005\000\000\000ab'
    } >piped
    both 'cut off in a skippable frame, and in an element' -

    # What a GPU does not decode, libzstd does: as often as not nobody need know.
    "$ZSTD" -q -f --long=27 <plain >wide
    both 'a window that may be too large' wide
    cat many wide many >among
    both 'a window that may be too large, among others' among
    cp among piped
    both 'a window that may be too large, by a pipe' -
    both 'a window that is not allowed' --long=18 among
    printf 'a dictionary of no use at all, but a dictionary' >dictionary
    "$ZSTD" -q -f -D dictionary plain -o dictated
    both 'a frame with a dictionary' dictated

    # auto, where the program can be told to use the GPU whatever the work is; and every call of CUDA
    # fails once, alone and with all that follow it. The CPU then does the work, but for -D gpu.
    if [ "$label" != GPU ]; then
        expected=$("$GPUREDUCE" -q -D cpu "$ops" x)
        environment=GPUREDUCE_CALL_GPU=1
        run -v "$ops" x
        ok "$label, auto has it" grep -q "^  unpack .* $size " err
        run -v "$ops" among
        ok "$label, auto leaves to the CPU what the GPU does not decode" \
            grep -q '^  gpu       not used: it does not decode all of the input' err
        cpu_many=$("$GPUREDUCE" -q -D cpu "$ops" x many wrong x 2>/dev/null)
        run -q "$ops" x many wrong x
        is "$label, auto, several files" 1 "$cpu_many" '*'
        failed=0
        cat x small >mixed
        expected=$("$GPUREDUCE" -q -D cpu "$ops" mixed)
        for call in 1 3 10 30 60 90 110 130 140 150 160 170 200 250 300 350 400 500 600 800 1000; do
            for fault in $call $call+; do
                environment="GPUREDUCE_CUDA_FAULT=$fault"
                run -q -D gpu "$ops" mixed
                if [ "$status" -eq 1 ]; then
                    fails_like "$label, call $fault" 'mixed: GPU: .*'
                elif [ "$status" -eq 3 ]; then
                    ok "$label, call $fault: one line, and no result" test ! -s out -a "$(wc -l <err)" -eq 1
                else
                    is "$label, call $fault" 0 "$expected"
                fi
                environment="GPUREDUCE_CALL_GPU=1 GPUREDUCE_CUDA_FAULT=$fault"
                run -q "$ops" mixed
                is "$label, auto, call $fault" 0 "$expected" '*'
                grep -q 'mixed: GPU failed: .*; continuing on the CPU' err && failed=$((failed + 1))
            done
        done
        environment=
        ok "$label, auto: it failed in the middle of the work $failed times" test "$failed" -gt 5
    fi

    # One after the other.
    "$GPUREDUCE" -q -D cpu "$ops" x many array.npy.zst x unstated >cpu.out
    "$GPUREDUCE" -q -D gpu "$ops" x many array.npy.zst x unstated >gpu.out
    ok "$label, several files" cmp cpu.out gpu.out
done
finish
