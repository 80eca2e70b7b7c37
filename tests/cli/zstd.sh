#!/bin/sh
# Damaged, truncated and lying zstd data, from files and from pipes. Most are made here, of blocks
# that are not compressed, so that it is known where everything stands.
# Tags: threads ports

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

three >three.f32
three | zstd_frame 12 12 >frame # 27 bytes: 9 of header, 3 + 12 of a block, 3 of an empty one
{ printf '\120\052\115\030\005\0\0\0' && printf 12345; } >skippable
run -q -o sum frame
is 'a frame made by hand' 0 6
copy skippable alone
run -q -o count alone
is 'a skippable frame made by hand' 0 0

chunks='1 1MiB'
[ "$sanitizer" != __tsan_init ] || chunks=1
# both NAME STATUS OUT ERROR: the file ./x, and the same through a pipe. ERROR is what follows the
# name of the file. A share has chunks of one byte, too; TSan has none but a share of these.
both() {
    for chunk in $chunks; do
        [ "$chunk" = 1MiB ] || share_takes_next || continue
        run -q -o sum,count,argmax --chunk-size "$chunk" x
        is "$1, chunks of $chunk" "$2" "$3" "${4:+gpureduce: x: $4}"
        shell "cat x | gpureduce -q -o sum,count,argmax --chunk-size $chunk"
        is "$1, in a pipe, chunks of $chunk" "$2" "$3" "${4:+gpureduce: standard input: $4}"
    done
}

# both_like NAME EXPRESSION: both fail, with what a basic regular expression matches.
both_like() {
    for chunk in $chunks; do
        [ "$chunk" = 1MiB ] || share_takes_next || continue
        run -q -o sum,count,argmax --chunk-size "$chunk" x
        fails_like "$1, chunks of $chunk" "x: $2"
        shell "cat x | gpureduce -q -o sum,count,argmax --chunk-size $chunk"
        fails_like "$1, in a pipe, chunks of $chunk" "standard input: $2"
    done
}

#
# The end, everywhere. Two frames, a skippable one, and a third: 27, 54, 67 and 94 bytes. Where a
# frame has just ended there is nothing wrong.
#
cat frame frame skippable frame >whole
cut=0 wrong=''
while [ "$cut" -le 94 ] && [ -z "$wrong" ]; do
    cut=$((cut + 1))
    [ -z "$sanitizer" ] || [ $((cut % 4)) -eq 3 ] || continue
    dd if=whole of=x bs="$cut" count=1 2>/dev/null
    begin=0
    for next in 27 54 67; do
        [ "$cut" -le "$next" ] || begin=$next
    done
    for how in file pipe; do
        if [ "$how" = file ]; then
            run -q -o sum x
            name=x
        else
            shell 'cat x | gpureduce -q -o sum'
            name='standard input'
        fi
        case $cut in
        1 | 2 | 3) expected=" 1 gpureduce: $name: byte 0: the last f32 element is cut off after $cut of 4 bytes" ;;
        27) expected='6 0 ' ;;
        54 | 67) expected='12 0 ' ;;
        94 | 95) expected='18 0 ' ;;
        *) expected=" 1 gpureduce: $name: ends at byte $cut, inside the zstd frame that begins at byte $begin" ;;
        esac
        no_result || :
        got="$(cat out) $status $(cat err)"
        # With less than a magic number left, something else may follow just as well.
        if [ "$got" != "$expected" ] && { [ $((cut - begin)) -gt 3 ] ||
            [ "$got" != " 1 gpureduce: $name: byte $begin: no zstd frame begins here" ]; }; then
            wrong=$cut
        fi
    done
done
if [ -z "$wrong" ]; then
    pass 'a file may end nowhere within a frame'
else
    fail "a file may end nowhere within a frame: $wrong bytes"
    explain
    echo "# expected: $expected"
fi

# The same where data are compressed, with a checksum at the end, and with an unknown length.
cuts='4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 40 150'
[ -z "$sanitizer" ] || cuts='5 9 12 18'
for name in one.f32 one-unsized.f32 tenths.f32 array.npy pzstd.f32; do
    file=data/zstd/$name.zst
    length=$(size "$file")
    right=true
    for cut in $cuts $((length / 2)) $((length - 9)) \
        $((length - 5)) $((length - 4)) $((length - 3)) $((length - 2)) $((length - 1)); do
        dd if="$file" of=x bs="$cut" count=1 2>/dev/null
        expression="ends at byte $cut, inside the zstd frame that begins at byte [0-9]*"
        for how in file pipe; do
            if [ "$how" = file ]; then
                run x
            else
                shell 'cat x | gpureduce'
            fi
            # pzstd begins with a skippable frame of 12 bytes: none is cut there.
            if [ "$cut" -eq 12 ] && [ "$name" = pzstd.f32 ]; then
                [ "$status" -eq 0 ] || right=false
            elif [ "$status" -ne 1 ] || [ -s out ] || {
                ! grep -q "^gpureduce: [a-z ]*: $expression\$" err &&
                    ! grep -q ': no zstd frame begins here$' err
            }; then
                right=false
            fi
            $right || break 2
        done
    done
    if $right; then
        pass "$name.zst may end nowhere"
    else
        fail "$name.zst may end nowhere: $cut bytes"
        explain
    fi
done

#
# Damage. What holds a checksum notices every changed byte of its content.
#
for name in one.f32 one-unsized.f32 frames.f32 frames-torn-unsized.f32 array.npy; do
    file=data/zstd/$name.zst
    length=$(size "$file")
    for offset in 20 100 $((length / 3)) $((length / 2)) $((length - 20)) $((length - 1)); do
        copy "$file" x
        flip x "$offset"
        run x
        fails_like "$name.zst, byte $offset is wrong" 'x: .*byte [0-9]*.*'
        shell 'cat x | gpureduce'
        fails_like "$name.zst, byte $offset is wrong, in a pipe" 'standard input: .*byte [0-9]*.*'
    done
done
copy data/zstd/one.f32.zst x
flip x $(($(size x) - 2))
both_like 'a wrong checksum' 'byte 0: zstd frame is damaged: .*checksum'
cat data/zstd/one.f32.zst x >y
begin=$(($(size x)))
mv y x
both_like 'a wrong checksum of the second frame' "byte $begin: zstd frame is damaged: .*checksum"
run -q -o count --length 2000 x
is '--length: what lies behind is not looked at' 0 2000
# The end of the data, behind the array, is looked at.
copy data/zstd/array.npy.zst x
flip x $(($(size x) - 2))
both_like 'a wrong checksum behind the array' 'byte 0: zstd frame is damaged: .*checksum'
{ cat data/zstd/array.npy.zst frame && printf garbage; } >x
both_like 'garbage behind bytes that are left out' 'byte [0-9]*: .*'
copy data/zstd/array.npy.zst x
cat data/zstd/one.f32.zst >>x
flip x $(($(size x) - 2))
both_like 'a wrong checksum behind bytes that are left out' \
    'byte [0-9]*: zstd frame is damaged: .*checksum'
run -q -o digest x
fails_like '... with a digest' 'x: byte [0-9]*: zstd frame is damaged: .*checksum'
{ cat data/zstd/array.npy.zst && printf garbage; } >x
run -q -o digest x
fails 'garbage behind an array with a digest' \
    "x: byte $(size data/zstd/array.npy.zst): no zstd frame begins here"

#
# What follows the last frame.
#
for garbage in 'gzip' '    ' '0123456789'; do
    { cat frame && printf '%s' "$garbage"; } >x
    run x
    fails "'$garbage' behind a frame" 'x: byte 27: no zstd frame begins here'
    shell 'cat x | gpureduce'
    fails_like "'$garbage' behind a frame, in a pipe" 'standard input: byte 27: .*'
done
dd if=/dev/zero bs=1 count=4096 2>/dev/null | cat frame - >x
both_like 'a frame padded with zeros' 'byte 27: .*'
cat frame skippable three.f32 >x
both_like 'raw data behind a skippable frame' 'byte 40: .*'

#
# Frames that lie. Nothing of what they hold may be taken for good: not even what is there, for the
# indices behind it are wrong. Whether libzstd notices depends on the room for its output.
#
cat three.f32 three.f32 three.f32 three.f32 >twelve.f32
for says in 0 4 8 11 13 16 47 49 52 96 1000 100000; do
    { zstd_frame "$says" 48 <twelve.f32 && cat frame; } >x
    both_like "a frame of 48 bytes that says $says" 'byte 0: .*'
    { cat frame && zstd_frame "$says" 48 <twelve.f32; } >x
    both_like "a second frame of 48 bytes that says $says" 'byte 27: .*'
done
for says in 262145 1000000 100000000; do
    { zstd_frame "$says" 48 <twelve.f32 && cat frame; } >x
    run x
    fails "a frame of 48 bytes that says $says" \
        "x: byte 0: zstd frame is damaged: its header states $says bytes, more than its 2 blocks can hold"
    shell 'cat x | gpureduce'
    fails_like "a frame of 48 bytes that says $says, in a pipe" 'standard input: byte 0: .*'
done
{ cat frame && printf '\050\265\057\375\240' && word 12 && printf '\007\0\0'; } >x
run x
fails 'a block of a reserved type' \
    'x: byte 27: zstd frame is damaged: a block of a reserved type at byte 36'
shell 'cat x | gpureduce'
fails_like 'a block of a reserved type, in a pipe' \
    'standard input: byte 27: zstd frame is damaged: .*'
{ printf '\050\265\057\375\250' && word 12 && printf '\141\0\0' && three; } >x
both_like 'a reserved bit of the header' 'byte 0: .*'
# The number of the dictionary takes one, two or four bytes, the lowest first; 0 says that there is none.
for number in '\241\001' '\241\377' '\242\0\001' '\242\001\0' '\243\0\0\001\0' '\243\0\0\0\001'; do
    # shellcheck disable=SC2059 # it is a format
    { printf "\\050\\265\\057\\375$number" && word 12 && printf '\141\0\0' && three; } >x
    both "a frame that needs a dictionary, $number" 1 '' \
        "byte 0: zstd frame needs a dictionary; 'zstd -dc -D DICTIONARY' decompresses it"
done
for number in '\241\0' '\242\0\0' '\243\0\0\0\0'; do
    # shellcheck disable=SC2059 # as above
    { printf "\\050\\265\\057\\375$number" && word 12 && printf '\141\0\0' && three; } >x
    both "a frame that names no dictionary, $number" 0 '6
3
2'
done
{ printf '\050\265\057\375\000\377' && printf '\141\0\0' && three; } >x
window='byte 0: zstd frame needs a window larger than 128 MiB; use --long=N for windows of up to 2^N bytes (N up to 31)'
both 'a frame that needs a window of terabytes' 1 '' "$window"
run --long=31 x
fails 'more than --long can allow' 'x: byte 0: zstd frame needs a window larger than 2 GiB'

# What counts is the window in the header, not how much of it the content needs, nor whether a buffer
# has room for it.
#
# windowed WINDOW: a frame of 25 bytes that says that it holds three, and has this byte for a window.
windowed() {
    printf '\050\265\057\375\200'
    byte "$1"
    word 12
    printf '\141\0\0'
    three
}
windowed 136 >x
both 'a window of 128 MiB for 12 bytes' 0 '6
3
2'
windowed 137 >x
both 'a window of 144 MiB for 12 bytes' 1 '' "$window"
run -q -o sum --long=28 x
is 'a window of 144 MiB for 12 bytes, --long=28' 0 6
windowed 255 >x
both 'a window of 3.75 TiB for 12 bytes' 1 '' "$window"
{ windowed 136 && windowed 144; } >x
both 'a second frame with a window of 256 MiB' 1 '' "$(echo "$window" | sed 's/byte 0/byte 25/')"
run -q -o count --length 3 x
is '--length: the window behind does not matter' 0 3
for long in 10 16 20; do
    for code in $((long - 10 << 3)) $(((long - 10 << 3) + 1)); do
        windowed "$code" >x
        { run -q -o sum --long=$long x && cat out err; } >file
        shell "cat x | gpureduce -q -o sum --long=$long"
        sed 's/: standard input:/: x:/' err >>out
        if [ "$code" -eq $((long - 10 << 3)) ]; then
            ok "a window of 2^$long with --long=$long" same file 6
        else
            ok "a larger one than 2^$long with --long=$long" \
                grep -q "^gpureduce: x: byte 0: zstd frame needs a window larger than .*iB; use --long=N" file
        fi
        ok 'in a pipe as in a file' cmp out file
    done
done
# Of a single segment the window is the content. A block of one byte repeated has 128 KiB.
printf '\002\000\020\000' >blocks
for _ in 1 2 3 4 5 6 7 8 9 10; do
    cat blocks blocks >double && mv double blocks
done
{ printf '\050\265\057\375\240' && word 134217728 && cat blocks && printf '\1\0\0'; } >x
least_chunk=12
run -q -o count x
is 'a segment of 128 MiB' 0 33554432
shell 'cat x | gpureduce -q -o count'
is 'a segment of 128 MiB, in a pipe' 0 33554432
for option in --long=26 --long; do
    [ $option = --long=26 ] ||
        { printf '\050\265\057\375\240' && word 134217732 && cat blocks &&
            printf '\043\0\0\0'; } >x
    run -q -o count $option x
    fails_like "a segment that is larger than $option" 'x: byte 0: zstd frame needs a window .*'
    shell "cat x | gpureduce -q -o count $option"
    fails_like "a segment that is larger than $option, in a pipe" \
        'standard input: byte 0: zstd frame needs a window .*'
done
run -q -o count --long=28 x
is 'a segment of 128 MiB and an element' 0 33554433
least_chunk=0

#
# A block may hold and take as much as the window, and 128 KiB at most.
#
# framed SAYS: a frame with a window of 1 KiB that says that it holds so much; its blocks are
# standard input.
framed() {
    printf '\050\265\057\375\200\0'
    word "$1"
    cat
}
# damaged NAME: the frame ./x is, and also behind another.
damaged() {
    both_like "$1" 'byte 0: zstd frame is damaged: .*'
    cat frame x >y && mv y x
    both_like "$1, second frame" 'byte 27: zstd frame is damaged: .*'
}
printf '\003\040\000\000' | framed 1024 >x # one byte repeated
run -q -o count x
is 'a block as large as the window' 0 256
printf '\043\040\000\000' | framed 1028 >x
damaged 'a block of one byte repeated that is larger than the window'
run x
fails 'a file says which block' \
    'x: byte 27: zstd frame is damaged: a block at byte 37 that is larger than the frame allows'
{ printf '\041\040\000' && head -c 1028 /dev/zero; } | framed 1028 >x
damaged 'a raw block that is larger than the window'
# Literals alone: 4092 times the same byte.
printf '\045\0\0\305\377\0\0' >last
printf '\044\0\0\305\377\0\0' >literals
{ printf '\050\265\057\375\200\020' && word 4092 && cat last; } >x
run -q -o count x
is 'a compressed block that holds less than the window' 0 1023
framed 4092 <last >x
damaged 'a compressed block that holds more than the window'
{ printf '\050\265\057\375\0\0' && cat last; } >x
damaged 'a compressed block that holds more than the window, of unknown length'
cat literals last | framed 8184 >x
damaged 'two compressed blocks that hold more than the window'
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
    cat literals literals >double && mv double literals
done
{ cat frame && cat literals last | framed $((4097 * 4092)); } >x
for chunk in 1MiB 32MiB; do
    run -q -o sum --chunk-size $chunk x
    fails_like "a large frame of them, chunks of $chunk" 'x: byte 27: zstd frame is damaged: .*'
    shell "cat x | gpureduce -q -o sum --chunk-size $chunk"
    fails_like "a large frame of them, in a pipe, chunks of $chunk" \
        'standard input: byte 27: zstd frame is damaged: .*'
done
# A block of five bytes that holds four, or five.
printf '\050\265\057\375\040\004\055\0\0\115\0\0\0\0' >x
damaged 'a block that takes more than the window'
# Of one byte that it repeats so often: never.
printf '\050\265\057\375\040\000\003\0\0\0' >x
damaged 'a block of a byte in a frame of none'
{ printf '\050\265\057\375\040\005\055\0\0\135\0\0\0\0' && printf 123 | zstd_frame 3 3; } >x
run -q -o count x
is 'a block that takes as much as the window' 0 2
{ printf '\050\265\057\375\200\130' && word 131076 && printf '\043\000\020\000'; } >x
damaged 'a block of 128 KiB and four bytes'

# Skippable frames.
{ cat frame && printf '\120\052\115\030\006\0\0\0' && printf 12345; } >x
both 'a skippable frame that goes beyond the end' 1 '' \
    'ends at byte 40, inside the zstd frame that begins at byte 27'
{ printf '\137\052\115\030\377\377\377\377' && printf 12345; } >x
if [ "$bits" -eq 32 ]; then
    # In a pipe libzstd decodes it: what it wants next, in 32 bits, looks like an error of its own.
    for chunk in 1 1MiB; do
        run -q -o sum,count,argmax --chunk-size "$chunk" x
        fails "a skippable frame of 4 GiB, chunks of $chunk" \
            'x: ends at byte 13, inside the zstd frame that begins at byte 0'
        shell "cat x | gpureduce -q -o sum,count,argmax --chunk-size $chunk"
        fails_like "a skippable frame of 4 GiB, in a pipe, chunks of $chunk" \
            'standard input: byte 0: zstd frame is damaged: .*'
    done
else
    both 'a skippable frame of 4 GiB' 1 '' \
        'ends at byte 13, inside the zstd frame that begins at byte 0'
fi

#
# Well-formed frames of odd content.
#
printf '1234567\001901' | zstd_frame 11 11 >x
both 'content that ends within an element' 1 '' \
    'byte 8 of the decompressed data: the last f32 element is cut off after 3 of 4 bytes'
{ printf 123 | zstd_frame 3 3 && printf '\177' | zstd_frame 1 1 && cat frame; } >x
run -q -o count x
is 'an element in two frames' 0 4
run --skip 17 x
fails '--skip beyond the end of the content' \
    'x: the decompressed data are only 16 bytes long, but 17 are to be skipped (--skip)'
{ npy 1 "$(npy_header '<f4' '(4,)')" && three; } >short.npy
length=$(size short.npy)
zstd_frame "$length" "$length" <short.npy >x
both 'a compressed .npy of fewer elements than promised' 1 '' \
    "ends at byte $length of the decompressed data, but its header promises 4 elements, up to byte $((length + 4))"
dd if=short.npy bs=30 count=1 2>/dev/null | zstd_frame 30 30 >x
both 'a compressed .npy that ends in its header' 1 '' \
    "the .npy header is cut off at byte 30 of $((length - 12))"
{ npy 1 "$(npy_header '<i3' '(3,)')" && three; } >int.npy
length=$(size int.npy)
zstd_frame "$length" "$length" <int.npy >x
both 'a compressed .npy of a type that there is not' 1 '' \
    "byte 20: dtype '<i3' is not supported (floats and integers are)"

if [ -n "$ZSTD" ]; then
    # From a pipe, zstd keeps the large window although the content is small.
    "$ZSTD" -q --long=28 <three.f32 >x
    both 'a window of 256 MiB' 1 '' "$window"
    shell "'$ZSTD' -q -dc --long=28 x | gpureduce -q -o sum"
    is 'a window of 256 MiB, by way of zstd' 0 6
    for option in --long=28 --long=31; do
        run -q -o sum $option x
        is "a window of 256 MiB with $option" 0 6
        shell "cat x | gpureduce -q -o sum $option"
        is "a window of 256 MiB with $option, in a pipe" 0 6
    done
    for option in --long --long=27; do
        run -q -o sum $option x
        fails "a window of 256 MiB with $option" "x: $window"
    done
    "$ZSTD" -q --long=27 <three.f32 >x
    both 'a window of 128 MiB' 0 '6
3
2'
    run --long=26 x
    fails 'a window of 128 MiB with --long=26' \
        'x: byte 0: zstd frame needs a window larger than 64 MiB; use --long=N for windows of up to 2^N bytes (N up to 31)'
    shell 'cat x | gpureduce --long=15'
    fails 'a window of 128 MiB with --long=15, in a pipe' \
        'standard input: byte 0: zstd frame needs a window larger than 32 KiB; use --long=N for windows of up to 2^N bytes (N up to 31)'
else
    skip 'a window of 256 MiB' 'no zstd'
fi

#
# Compressed twice: as numbers it would mean nothing.
#
zstd_frame 27 27 <frame >twice.zst
run twice.zst
fails 'data that are compressed twice' "twice.zst: byte 0: the decompressed data are zstd-compressed again; decompress once with 'zstd -dc' first"
shell 'cat twice.zst | gpureduce'
fails 'data that are compressed twice, in a pipe' "standard input: byte 0: the decompressed data are zstd-compressed again; decompress once with 'zstd -dc' first"

finish
