#!/bin/sh
# Input made to do harm: sizes that lie, headers and contents of gigabytes in a few bytes, offsets
# at the end of what 64 bits count, names that would write to the terminal. Each is done with soon,
# in little memory, and refused with one line where it is refused.
# Tags: threads

find_leaks=yes
# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=12
most_threads=4 # they take from the memory that is allowed

three >three.f32
three | zstd_frame 12 12 >frame

# limited KIBIBYTES SCRIPT: as shell does, with so much address space at most, and a minute. Threads
# reserve some of it, 8 MiB of stack each and up to 128 MiB for malloc, so there are few of them.
few=
[ -n "$CHECK_SEED" ] || few="gpureduce() { command gpureduce -j $most_threads \"\$@\"; }; "
limited() {
    shell "ulimit -v $1; timeout 60 sh -c '$few$2'"
}
# Sanitizers reserve more than there is.
gibibyte=1048576
limited $gibibyte 'gpureduce --version'
if [ "$status" -eq 0 ]; then
    limits=true
else
    limits=false
fi

# bounded NAME STATUS OUT ERR SCRIPT: a script within a gibibyte; skipped where that cannot be.
bounded() {
    if $limits; then
        limited $gibibyte "$5"
        is "$1" "$2" "$3" "$4"
    else
        skip "$1" 'address space cannot be limited here'
    fi
}

# double FILE TIMES: the file, that often behind itself.
double() {
    doubled=0
    while [ "$doubled" -lt "$2" ]; do
        cat "$1" "$1" >doubled && mv doubled "$1"
        doubled=$((doubled + 1))
    done
}

#
# Very many frames without content, and with hardly any.
#
# empty NAME COUNT: the file ./x of frames, which holds so many f32.
empty() {
    bounded "$1" 0 "$2" '' 'gpureduce -q -o count x'
    bounded "$1, in a pipe" 0 "$2" '' 'cat x | gpureduce -q -o count'
}
printf '\050\265\057\375\040\000\001\000\000' >x # one segment of 0 bytes; an empty block
double x 18
empty '2^18 empty frames' 0
cat frame >>x
empty '2^18 empty frames and another' 3
printf '\050\265\057\375\000\000\001\000\000' >x
double x 18
empty '2^18 empty frames that do not say so' 0
printf '\120\052\115\030\000\000\000\000' >x
double x 20
empty '2^20 skippable frames' 0
cat frame >>x
empty '2^20 skippable frames and another' 3
printf '\050\265\057\375\040\004\041\000\000abcd' >x
double x 16
empty '2^16 frames of an element' 65536
# A single frame of blocks without content.
printf '\000\000\000' >blocks
double blocks 20
{ printf '\050\265\057\375\000\000' && cat blocks && printf '\001\000\000'; } >x
empty 'a frame of 2^20 empty blocks' 0

#
# Contents of gigabytes: a block of one byte repeated takes four bytes for 128 KiB.
#
printf '\002\000\020\000' >blocks
double blocks 14
{ printf '\050\265\057\375\000\070' && cat blocks && printf '\001\000\000'; } >x
empty '2 GiB out of 64 KiB' 536870912
{ printf '\050\265\057\375\000\070' && printf '\141\000\000\223NUMPY\002\000\377\377\377\377' &&
    cat blocks && printf '\001\000\000'; } >x
header='byte 8: a .npy header of 4294967307 bytes is more than the 1048576 allowed'
bounded 'a compressed .npy header of 4 GiB' 1 '' "gpureduce: x: $header" 'gpureduce x'
bounded 'a compressed .npy header of 4 GiB, in a pipe' 1 '' "gpureduce: standard input: $header" \
    'cat x | gpureduce'

#
# Lengths and windows that lie. A window of 128 MiB is taken, of which a frame uses what it needs.
#
# frame_saying WINDOW BYTES: a frame with 8 bytes for the length of its content, which is three.
frame_saying() {
    printf '\050\265\057\375\300'
    byte "$1"
    # shellcheck disable=SC2059 # the bytes are a format
    printf "$2"
    printf '\141\000\000'
    three
}
frame_saying 136 '\014\000\000\000\000\000\000\000' >x
double x 6
for threads in 1 4; do
    bounded "64 frames that ask for 128 MiB each, $threads threads" 0 192 '' \
        "gpureduce -q -o count -j $threads x"
done
bounded '64 frames that ask for 128 MiB each, in a pipe' 0 192 '' 'cat x | gpureduce -q -o count'
for says in '\376\377\377\377\377\377\377\377' '\377\377\377\377\377\377\377\177' \
    '\000\000\000\000\000\000\000\200' '\000\000\000\000\001\000\000\000'; do
    frame_saying 64 "$says" >x
    run x
    fails_like "a frame of 12 bytes that says $says" 'x: byte 0: zstd frame .*'
    if $limits; then
        limited $gibibyte 'cat x | gpureduce'
    else
        shell 'cat x | gpureduce'
    fi
    fails_like "a frame of 12 bytes that says $says, in a pipe" 'standard input: byte 0: zstd frame .*'
done

# To libzstd 2^64 - 1 is a length that is not known.
frame_saying 64 '\377\377\377\377\377\377\377\377' >x
bounded 'a frame that says 2^64 - 1' 0 6 '' 'gpureduce -q -o sum x'
bounded 'a frame that says 2^64 - 1, in a pipe' 0 6 '' 'cat x | gpureduce -q -o sum'

#
# Headers of .npy.
#
# A header may have a mebibyte, and not a byte more.
header=$(npy_header '<f4' '(3,)')
for more in 0 1; do
    length=$((1048576 - 12 + more))
    {
        printf '\223NUMPY\002\000' && word "$length" && printf '%s' "$header" &&
            head -c $((length - ${#header})) /dev/zero | tr '\0' ' ' && three
    } >"x$more"
done
run -q -o sum x0
is 'a .npy header of 1 MiB' 0 6
run x1
fails 'a .npy header of 1 MiB and a byte' \
    'x1: byte 8: a .npy header of 1048577 bytes is more than the 1048576 allowed'
printf '\223NUMPY\003\000\377\377\377\177{' >x
if truncate -s 3G x 2>/dev/null; then
    header='byte 8: a .npy header of 2147483659 bytes is more than the 1048576 allowed'
    bounded 'a .npy header of 2 GiB' 1 '' "gpureduce: x: $header" 'gpureduce x'
    bounded 'a .npy header of 2 GiB, in a pipe' 1 '' "gpureduce: standard input: $header" \
        'head -c 3000000000 x 2>/dev/null | gpureduce'
else
    skip 'a .npy header of 2 GiB' 'no sparse files here'
fi
rm -f x

#
# Very many arrays without elements, each of which has a median.
#
if [ -n "$(command -v python3)" ]; then
    python3 - <<'END'
import json, struct
header = json.dumps({"a%d" % i: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(200000)}).encode()
open("x", "wb").write(struct.pack("<Q", len(header)) + header)
END
    shell 'timeout 60 gpureduce -q -o median x | sort | uniq -c'
    is '200000 empty arrays' 0 ' 200000 nan'
    rm -f x
else
    skip '200000 empty arrays' 'there is no python3'
fi

#
# The end of the range of offsets: a file of 2^63 - 1 bytes, all but the last of which are a hole.
# Few file systems have such files; tmpfs does.
#
largest=9223372036854775807
hole=$(mktemp -p /dev/shm 2>/dev/null) && trap 'rm -f "$hole"; leave' EXIT
if [ -n "$hole" ] && truncate -s "$largest" "$hole" 2>/dev/null; then
    for threads in 1 4; do
        run -q -o count,sum -j "$threads" --skip $((largest - 12)) "$hole"
        is "the last 12 bytes of a file of 2^63 - 1, $threads threads" 0 "3
0"
        run -q -o count -j "$threads" --skip $((largest - 16)) -t f64 --length 1 "$hole"
        is "an element near the end, $threads threads" 0 1
    done
    run --skip $((largest - 11)) "$hole"
    fails 'the last 11 bytes' \
        "$hole: byte $((largest - 3)): the last f32 element is cut off after 3 of 4 bytes"
    run -q -o count --skip "$largest" "$hole"
    is 'all of it skipped' 0 0
    run -q -o sum,count --length 1000 "$hole"
    is 'its first elements' 0 "0
1000"
    run "$hole"
    fails 'all of it' \
        "$hole: byte $((largest - 3)): the last f32 element is cut off after 3 of 4 bytes"
    shell "{ tail -c 8 >copy && gpureduce -q -o count; } <$hole"
    is 'standard input at its end' 0 0
else
    skip 'a file of 2^63 - 1 bytes' 'no file system here has one'
fi
[ -z "$hole" ] || rm -f "$hole"

# Counts as large.
for length in "$largest" 4611686018427387904 2305843009213693952; do
    while read -r type count; do
        shell "head -c 24 /dev/zero | gpureduce -q -o count -t $type --length $length"
        is "--length $length of $type in a pipe" 0 "$count"
    done <<'TYPES'
f64 3
f32 6
f16 12
TYPES
done
# More bytes than 64 bits count, which is no number to show progress against.
shell '{ head -c 4096 /dev/zero && sleep 2; } | gpureduce --progress --length 4611686018427387904'
ok 'progress towards a length beyond all' grep -q '4\.1[0-9] kB  [0-9.]* kB/s' err
ok 'its end is not shown' test "$(grep -c ' of ' err)" -eq 0

#
# Names that would do something to a terminal, or forge a line.
#
# named NAME SHOWN: a missing file of that name; and one that holds three numbers, and a line of JSON
# that ends where it should.
named() {
    run "$1"
    is "a missing file $2" 1 '' "gpureduce: $2: No such file or directory"
    three >"$1"
    run -q -o count --skip 13 "$1"
    fails "a file $2" "$2: is only 12 bytes long, but 13 are to be skipped (--skip)"
    run --json "$1"
    ok "$2 in JSON" test "$status:$(wc -l <out | tr -d ' '):$(tr -d '\012\040-\176\200-\377' <out | wc -c | tr -d ' ')" = 0:1:0
    run -o count "$1" "$1"
    is "$2 in text" 0 "$2:
count${tab}3
$2:
count${tab}3" '*'
}
named "$(printf 'a\nb')" "'a\\nb'"
named "$(printf 'a\033[31mb')" "'a\\033[31mb'"
named "$(printf 'a\rgpureduce: b')" "'a\\rgpureduce: b'"
named "$(printf 'a\302\233b')" "'a\\302\\233b'"
named "$(printf 'a\377b')" "'a\\377b'"
named "$(printf 'a\177b')" "'a\\177b'"
named "$(printf 'a%%n%%s b')" 'a%n%s b'

if [ -n "$(command -v python3)" ]; then
    mkdir names
    cd names || fatal 'cannot work in a directory'
    ok 'names of arrays and files, and what Unicode says of them' python3 "$sources/tests/lib/names_oracle.py" "$GPUREDUCE"
    cd ..
else
    skip 'names of arrays and files, and what Unicode says of them' 'there is no python3'
fi

finish
