#!/bin/sh
# zstd files of many frames: hints of where they are, true ones and lies; tiny frames by the
# thousand, and frames larger than any buffer. Whatever the threads and chunks, a file gives what it
# gives when it is read in order, through a pipe.
# Tags: threads

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=12

operations=sum,count,min,max,argmin,argmax

# through_pipe: leaves what ./x gives in order in ./expected, ./expected.err and $expected.
through_pipe() {
    # shellcheck disable=SC2002 # a pipe is what is meant
    cat x | "$GPUREDUCE" -q -o $operations - >expected 2>err
    expected=$?
    sed 's/: standard input:/: x:/' err >expected.err
}

# alike NAME [THREADS [CHUNK-SIZES]]: ./x gives that with these threads and sizes of chunks, or a share of
# their pairs.
alike() {
    tried=
    for threads in ${2:-1 2 16}; do
        for chunk in ${3:-1 100 1MiB}; do
            share_takes_next || continue
            tried=yes
            run -q -o $operations -j "$threads" --chunk-size "$chunk" x
            if [ "$status" -ne "$expected" ] || ! cmp -s out expected ||
                ! cmp -s err expected.err; then
                fail "$1, $threads threads, chunks of $chunk"
                explain
                echo '# expected:'
                show expected
                show expected.err
                return
            fi
        done
    done
    [ -z "$tried" ] || pass "$1"
}

# Three frames of different content and length.
three >one.f32
printf '\0\0\200\100\0\0\240\100\0\0\300\100\0\0\340\100' >two.f32 # 4 5 6 7
printf '\0\0\0\301\0\0\040\102' >three.f32                         # -8 40
zstd_frame 12 12 <one.f32 >one   # 27 bytes
zstd_frame 16 16 <two.f32 >two   # 31
zstd_frame 8 8 <three.f32 >three # 23
cat one two three >frames
cat frames >x
through_pipe
copy expected true
ok 'three frames in order' same expected '60
9
-8
40
7
8'
alike 'three frames'

#
# Seek tables.
#
# with_table NAME FLAGS COUNT WORD...: it stands behind the three frames, and changes nothing.
with_table() {
    with_name=$1
    shift
    { cat frames && table "$@"; } >x
    through_pipe
    if [ "$expected" -ne 0 ] || ! cmp -s expected true; then
        fail "$with_name, through a pipe"
    fi
    alike "$with_name"
}

with_table 'a seek table' 0 3 27 12 31 16 23 8
with_table 'a seek table with checksums' 128 3 27 12 0 31 16 0 23 8 0
with_table 'a seek table that says one frame is shorter' 0 3 26 12 31 16 23 8
with_table 'a seek table that says one frame is longer' 0 3 28 12 31 16 23 8
with_table 'a seek table that takes two frames for one' 0 2 58 28 23 8
with_table 'a seek table that takes two frames for one, and forgets one' 0 1 58 12
with_table 'a seek table that swaps sizes' 0 3 31 16 27 12 23 8
with_table 'a seek table that swaps contents' 0 3 27 16 31 12 23 8
with_table 'a seek table that says less content' 0 3 27 8 31 16 23 8
with_table 'a seek table that says more content' 0 3 27 16 31 16 23 8
with_table 'a seek table that says no content' 0 3 27 0 31 0 23 0
with_table 'a seek table of contents of 4 GiB' 0 3 27 4294967292 31 4294967292 23 4294967292
with_table 'a seek table of frames of 4 GiB' 0 3 4294967295 12 4294967295 16 4294967295 8
with_table 'a seek table of frames of nothing' 0 3 0 0 0 0 0 0
with_table 'a seek table of too few entries' 0 2 27 12 31 16
with_table 'a seek table of too many entries' 0 4 27 12 31 16 23 8 23 8
with_table 'a seek table of no entries' 0 0
with_table 'a seek table that says it has 2^31 entries' 0 2147483648 27 12 31 16 23 8
with_table 'a seek table that says it has fewer entries' 0 2 27 12 31 16 23 8
with_table 'a seek table whose flags are unknown' 4 3 27 12 31 16 23 8
with_table 'a seek table that should have checksums' 128 3 27 12 31 16 23 8
# The frames themselves say how long they are. Where they do not, all there is is the table.
unsized_frame() { # SIZE, of standard input
    printf '\050\265\057\375\000\130'
    byte $(($1 << 3 & 255))
    byte $(($1 >> 5 & 255))
    byte $(($1 >> 13 & 255))
    cat
    printf '\001\000\000'
}
unsized_frame 12 <one.f32 >one   # 24 bytes
unsized_frame 16 <two.f32 >two   # 28
unsized_frame 8 <three.f32 >three # 20
cat one two three >frames
with_table 'unsized frames, and a seek table' 0 3 24 12 28 16 20 8
with_table 'unsized frames, and a seek table that swaps contents' 0 3 24 16 28 12 20 8
with_table 'unsized frames, and a seek table that says less content' 0 3 24 8 28 16 20 8
with_table 'unsized frames, and a seek table that says more content' 0 3 24 16 28 16 20 8
with_table 'unsized frames, and a seek table that tears an element' 0 3 24 10 28 18 20 8
with_table 'unsized frames, and a seek table of contents of 1 GiB' 0 3 24 1073741824 28 16 20 8
with_table 'unsized frames, and a seek table of no content' 0 3 24 0 28 0 20 0
with_table 'unsized frames, and a seek table that takes two for one' 0 2 52 28 20 8
{ cat frames && table 0 3 24 12 28 16 20 8; } >x
for options in '--skip 4' '--skip 12' '--length 5' '--skip 16 --length 4' '--nan=error'; do
    # shellcheck disable=SC2086 # several words
    "$GPUREDUCE" -q -o $operations $options - <frames >expected
    # shellcheck disable=SC2086
    run -q -o $operations $options x
    is "unsized frames, and a seek table, $options" 0 "$(cat expected)"
done
{ cat frames && table 0 3 24 16 28 12 20 8; } >x
for options in '--skip 16' '--length 4' '--skip 8 --length 3'; do
    # shellcheck disable=SC2086
    "$GPUREDUCE" -q -o $operations $options - <frames >expected
    # shellcheck disable=SC2086
    run -q -o $operations $options x
    is "unsized frames, and a seek table that lies, $options" 0 "$(cat expected)"
done
# So large that each is decoded by itself: the second one begins later than the table says.
head -c 100000 /dev/zero | unsized_frame 100000 >one
head -c 80000 /dev/zero | tr '\0' '\100' | unsized_frame 80000 >two
cat one two >frames
{ cat frames && table 0 2 100012 80000 80012 100000; } >x
for options in '--length 22500' '--length 24000' '--skip 4 --length 22500'; do
    # shellcheck disable=SC2086
    "$GPUREDUCE" -q -o $operations $options - <frames >expected
    # shellcheck disable=SC2086
    run -q -o $operations $options x
    is "larger unsized frames, and a seek table that lies, $options" 0 "$(cat expected)"
done
if [ -n "$ZSTD" ]; then
    head -c 10000000 /dev/zero | "$ZSTD" -q -c >one
    head -c 9000000 /dev/zero | tr '\0' '\100' | "$ZSTD" -q -c >two
    cat one two >frames
    { cat frames && table 0 2 "$(size one)" 9000000 "$(size two)" 10000000; } >x
    for options in '-o argmax,count' '-o digest' '-o sum,count --length 2400000'; do
        # shellcheck disable=SC2086
        "$GPUREDUCE" -q $options - <frames >expected
        # shellcheck disable=SC2086
        run -q -j 4 $options x
        is "large unsized frames, and a seek table that lies, $options" 0 "$(cat expected)"
    done
else
    skip 'large unsized frames, and a seek table that lies' 'no zstd'
fi
unsized_frame 12 <one.f32 >one
unsized_frame 16 <two.f32 >two
cat one two three >frames
# Joined files: the table is that of the last.
{ cat frames && table 0 3 24 12 28 16 20 8 && cat frames && table 0 3 24 12 28 16 20 8; } >x
through_pipe
alike 'two files with seek tables'
{ cat frames && table 0 3 24 12 28 16 20 8; } >x
dd if=x bs=$(($(size x) - 1)) count=1 of=y 2>/dev/null
mv y x
through_pipe
alike 'a seek table that is cut off'
{ cat one two && table 0 3 24 12 28 16 20 8; } >x
through_pipe
alike 'a seek table for a frame that is missing'
{ cat one && printf garbage && cat three && table 0 3 24 12 7 16 20 8; } >x
through_pipe
alike 'a seek table that knows of garbage'

#
# pzstd's hints, before frames that do not state their length, and others that do.
#
hint() {
    word 407710288 # 0x184d2a50
    word 4
    word "$1"
}
for what in unsized sized; do
    if [ $what = sized ]; then
        zstd_frame 12 12 <one.f32 >one
        zstd_frame 16 16 <two.f32 >two
        zstd_frame 8 8 <three.f32 >three
    fi
    first=$(size one) second=$(size two) third=$(size three)
    { hint "$first" && cat one && hint "$second" && cat two && hint "$third" && cat three; } >x
    through_pipe
    ok "$what frames with hints, in order" cmp expected true
    alike "$what frames with hints"
    for wrong in 0 1 9 $((first - 1)) $((first + 1)) $((first + 12)) \
        $((first + 12 + second)) $((first + 24 + second)) $((first + 24 + second + third)) \
        2147483648 4294967295; do
        { hint "$wrong" && cat one && hint "$second" && cat two && hint "$third" &&
            cat three; } >x
        through_pipe
        ok "$what frames, a hint of $wrong, in order" cmp expected true
        alike "$what frames, a hint of $wrong"
    done
    # What follows a hint is true may still be damaged; that it is found out later does not matter.
    { hint "$first" && cat one && hint "$second" && cat two && printf garbage; } >x
    through_pipe
    alike "$what frames with hints, and garbage"
    { hint "$first" && cat one && hint "$second" && cat two && hint "$third" &&
        dd if=three bs=$((third - 1)) count=1 2>/dev/null; } >x
    through_pipe
    alike "$what frames with hints, the last of which is cut off"
done
# Not an unlikely thing to find: a frame within a frame.
zstd_frame 27 27 <one >inner # 42 bytes, of which 12 stand before the other frame
{ hint 12 && cat inner && printf '\0' | zstd_frame 1 1 && cat three; } >x
through_pipe
alike 'a hint that points at the content of a frame'

#
# Tiny frames, each a copy of a few. Sums tell whether each was taken once; argmax, where.
#
# copies POWER FILE: 2^POWER copies of FILE.
copies() {
    cat "$2" >copies.a
    for _ in $(seq "$1"); do
        cat copies.a copies.a >copies.b
        mv copies.b copies.a
    done
    cat copies.a
}
zstd_frame 12 12 <one.f32 >one
unsized_frame 16 <two.f32 >two
printf '\377\377\177\177' | zstd_frame 4 4 >last # the largest of all
printf '\0\0\200\077' | unsized_frame 4 >unsized-last
printf 123 | zstd_frame 3 3 >odd
printf 4 | zstd_frame 1 1 >rest
{ printf '\120\052\115\030\005\0\0\0' && printf 12345; } >skippable
{ copies 13 one && cat last; } >x
through_pipe
alike 'thousands of frames' '1 2 3 16'
{ copies 12 two && cat last; } >x
through_pipe
alike 'thousands of unsized frames' '1 2 3 16'
cat one two >both
{ copies 10 both && cat last; } >x
through_pipe
alike 'sized and unsized ones by turns'
cat skippable one skippable two skippable >both
{ copies 9 both && cat last skippable; } >x
through_pipe
alike 'with skippable frames among them'
cat one odd rest >both
{ copies 9 both && cat last; } >x
through_pipe
alike 'with elements in two frames'
cat one odd one rest two >both
{ copies 9 both && cat last; } >x
through_pipe
alike 'with elements in two frames that are apart'
zstd_frame 0 0 </dev/null >none
cat none one none two none >both
{ copies 9 both && cat none last none; } >x
through_pipe
alike 'with empty ones among them'
{ copies 11 one && dd if=one bs=20 count=1 2>/dev/null; } >x
through_pipe
alike 'the last of which is cut off'
{ copies 11 one && printf '\050\265\057\375\240' && word 12 && printf '\007\0\0'; } >x
run -q -o sum x
fails_like 'the last of which is damaged' 'x: byte 55296: .*'
printf '\0\0\300\177' | zstd_frame 4 4 >nan
{ copies 11 one && cat nan && copies 11 one; } >x
for threads in 1 2 16; do
    run -q -j $threads --nan=error x
    fails "--nan=error, $threads threads" 'x: element 6144 is a NaN'
done
printf '\0\0\300\177' | unsized_frame 4 >nan
{ copies 11 two && cat unsized-last nan && copies 11 two; } >x
for threads in 1 2 16; do
    run -q -j $threads --nan=error x
    fails "--nan=error, unsized frames, $threads threads" 'x: element 8193 is a NaN'
done
for length in 0 1 3 4 6143 6144 6145; do
    { copies 11 one && printf garbage; } >x
    run -q -o count --length $length x
    if [ $length -le 6144 ]; then
        is "--length $length: what lies behind is not looked at" 0 $length
    else
        fails "--length $length" 'x: byte 55296: no zstd frame begins here'
    fi
done

#
# Frames of many blocks, and frames larger than any buffer.
#
if [ -z "$ZSTD" ]; then
    skip 'large frames' 'no zstd'
    finish
fi
"$ZSTD" -q -dc data/waves.f32.zst >waves
copies 5 waves >many
dd if=many of=large bs=1048576 count=12 2>/dev/null # more than a worker's memory for small frames
{ cat large && printf '\377\377\177\177'; } >larger
rm many
"$ZSTD" -q -c large >sized-large
"$ZSTD" -q -c <large >unsized-large
"$ZSTD" -q -c larger >last-large
"$ZSTD" -q --long=27 -c larger >long-large
"$ZSTD" -q -c waves >waves.zst
"$ZSTD" -q -c <waves >unsized-waves.zst
sizes='1000 256KiB 1MiB 16MiB'
threads='1 2 5 16'
cat last-large >x
through_pipe
alike 'one large frame' "$threads" "$sizes"
cat sized-large unsized-large last-large >x
through_pipe
alike 'large frames' "$threads" "$sizes"
cat unsized-large unsized-waves.zst waves.zst sized-large unsized-waves.zst last-large >x
through_pipe
alike 'large frames and small ones' "$threads" "$sizes"
cat waves.zst long-large long-large waves.zst >x
through_pipe
alike 'large windows' "$threads" "$sizes"
cat waves.zst odd sized-large rest waves.zst >x
through_pipe
alike 'a large frame with an element in two frames' "$threads" "$sizes"
cat sized-large odd >x
through_pipe
alike 'a large frame and a part of an element' "$threads" "$sizes"
dd if=last-large bs=$(($(size last-large) - 5)) count=1 of=x 2>/dev/null
through_pipe
alike 'a large frame that is cut off' "$threads" "$sizes"
{ cat waves.zst unsized-large nan unsized-large; } >x
for n in $threads; do
    run -q -j "$n" --nan=error x
    fails "--nan=error and large frames, $n threads" \
        "x: element $((($(size waves) + $(size large)) / 4)) is a NaN"
done
for name in sized-large unsized-large; do
    cat $name waves.zst >x
    flip x $(($(size $name) / 2))
    for n in $threads; do
        run -q -j "$n" x
        fails_like "a damaged $name, $n threads" 'x: byte 0: zstd frame is damaged: .*'
    done
done
# Of several faults the first in the input is told, though it is found long after others: a checksum
# at the end of a frame that takes its time, in front of a block that is refused at once, or an end.
head -c 8000000 larger | "$ZSTD" -q -c >late
flip late $(($(size late) - 1))
copy waves.zst refused
flip refused 20
behind=
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
    behind="$behind waves.zst"
done
fewer='1 2 3 8 2 3 8 2 3 8'
# shellcheck disable=SC2086 # these are several
cat waves.zst late refused $behind >x
through_pipe
alike 'two damaged frames' "$fewer" 1MiB
# shellcheck disable=SC2086
cat waves.zst late sized-large refused $behind unsized-large late >x
through_pipe
alike 'damaged frames among large ones' "$fewer" 1MiB
cat sized-large unsized-large refused late >x
flip x $(($(size sized-large) - 1))
through_pipe
alike 'damaged large frames' "$fewer" 1MiB
{
    cat waves.zst late waves.zst
    echo 'no frame'
} >x
through_pipe
alike 'a damaged frame, and no frame behind it' "$fewer" 1MiB
cat waves.zst late waves.zst waves.zst >x
dd if=x bs=$(($(size x) - 5)) count=1 of=y 2>/dev/null
mv y x
through_pipe
alike 'a damaged frame in a file that is cut off' "$fewer" 1MiB
cat waves.zst unsized-large unsized-waves.zst >x
flip x $(($(size waves.zst) + $(size unsized-large) - 1))
dd if=x bs=$(($(size x) - 5)) count=1 of=y 2>/dev/null
mv y x
through_pipe
alike 'a damaged large frame in a file that is cut off' "$fewer" 1MiB

if [ -n "$PZSTD" ]; then
    "$PZSTD" -q -p 4 -1 -c larger >x 2>/dev/null
    through_pipe
    alike 'pzstd' "$threads" "$sizes"
    copy x y
    cat y y >x
    through_pipe
    alike 'pzstd, twice' "$threads" "$sizes"
    flip x $(($(size y) + 14))
    run -q x
    fails_like 'pzstd, damaged' "x: byte $(($(size y) + 12)): .*"
else
    skip 'pzstd' 'there is none'
fi

finish
