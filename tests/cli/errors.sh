#!/bin/sh
# Inputs that cannot be reduced, or not without a warning: every message, and that no result stands
# beside it. Damaged zstd data have a script of their own.
# Tags: threads ports

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=12

three >three.f32
mkdir directory

#
# What cannot be opened or read.
#
run missing
fails 'a missing file' 'missing: No such file or directory'
run three.f32/file
fails 'a file for a directory' 'three.f32/file: Not a directory'
run directory
fails 'a directory' 'directory: is a directory'
shell 'gpureduce <directory'
fails 'a directory as standard input' 'standard input: is a directory'
ln -s loop loop
run loop
fails_like 'a loop of links' 'loop: .*symbolic links'
copy three.f32 denied
chmod 0 denied
if cat denied >/dev/null 2>&1; then
    skip 'a file without permission' 'this user may read everything'
else
    run denied
    fails 'a file without permission' 'denied: Permission denied'
fi
shell 'gpureduce <&-'
fails 'a closed standard input' 'standard input: cannot be read: it is closed, or open for writing only'
shell 'gpureduce /dev/stdin <&-'
fails 'a closed standard input, by its name' '/dev/stdin: is a directory'
shell 'gpureduce - 0>written'
fails 'a standard input open for writing' 'standard input: cannot be read: it is closed, or open for writing only'
if [ -r /proc/self/mem ]; then
    run /proc/self/mem
    fails_like 'an error of reading names the byte' '/proc/self/mem: read error at byte 0: .*error'
else
    skip 'an error of reading names the byte' 'there is no /proc/self/mem'
fi

#
# Raw data that end within an element.
#
# tail_test TYPE BYTES TAIL WORD: BYTES bytes end TAIL bytes into an element of WORD.
tail_test() {
    type=$1 bytes=$2 tail=$3 word=$4
    dd if=/dev/zero of=torn bs=1 count="$bytes" 2>/dev/null
    text="byte $((bytes - tail)): the last $type element is cut off after $tail of $word bytes"
    run -t "$type" torn
    fails "$bytes bytes of $type" "torn: $text"
    shell "cat torn | gpureduce -q -t $type"
    fails "$bytes bytes of $type from a pipe" "standard input: $text"
    run -t "$type" --skip "$tail" -o count -q torn
    is "$bytes bytes of $type, skipping $tail" 0 $((bytes / word))
}
tail_test f32 3 3 4
tail_test f32 6 2 4
tail_test f32 1001 1 4
tail_test f64 12 4 8
tail_test f64 7 7 8
tail_test f16 5 1 2
tail_test bf16 1 1 2
dd if=/dev/zero of=torn bs=1 count=14 2>/dev/null
run torn three.f32 -q -o sum
is 'others are reduced all the same' 1 "$(printf 'NA\n6')" \
    'gpureduce: torn: byte 12: the last f32 element is cut off after 2 of 4 bytes'
run --skip 3 torn
fails 'the offset is that in the file' \
    'torn: byte 11: the last f32 element is cut off after 3 of 4 bytes'
run -q -o count --length 3 torn
is '--length leaves a torn end alone' 0 3
run --length 4 torn
fails 'unless it asks for it' 'torn: byte 12: the last f32 element is cut off after 2 of 4 bytes'
shell 'cat torn | gpureduce -q -o count --length 3'
is '--length leaves a torn end alone, in a pipe' 0 3
shell 'cat torn | gpureduce -q -o count --length 4'
fails 'unless it asks for it, in a pipe' \
    'standard input: byte 12: the last f32 element is cut off after 2 of 4 bytes'
# Offsets count from where reading began.
shell '{ dd bs=5 count=1 of=/dev/null 2>/dev/null; gpureduce; } <torn'
fails 'a torn end behind an offset' \
    'standard input: byte 8: the last f32 element is cut off after 1 of 4 bytes'

# More than one chunk, by several threads, mapped or not.
dd if=/dev/zero of=large bs=1 count=1 seek=9000000 2>/dev/null
for threads in 1 4; do
    run -j "$threads" large
    fails "a large file with $threads threads" \
        'large: byte 9000000: the last f32 element is cut off after 1 of 4 bytes'
    shell "cat large | gpureduce -j $threads"
    fails "a large pipe with $threads threads" \
        'standard input: byte 9000000: the last f32 element is cut off after 1 of 4 bytes'
done
rm -f large

#
# --skip beyond the end.
#
for skip in 13 1KiB 1TiB 9223372036854775807; do
    case $skip in
    1KiB) bytes=1024 ;;
    1TiB) bytes=1099511627776 ;;
    *) bytes=$skip ;;
    esac
    text="is only 12 bytes long, but $bytes are to be skipped (--skip)"
    for length in '' '--length 0'; do
        # shellcheck disable=SC2086 # two words, or none
        run --skip $skip $length three.f32
        fails "--skip $skip $length" "three.f32: $text"
        shell "cat three.f32 | gpureduce --skip $skip $length"
        fails "--skip $skip $length in a pipe" "standard input: $text"
    done
done
run --skip 1 /dev/null
fails '--skip 1 of nothing' '/dev/null: is only 0 bytes long, but 1 is to be skipped (--skip)'

#
# --format that does not agree with the content.
#
run --format npy three.f32
fails '--format=npy of raw data' \
    'three.f32: not a .npy file: byte 0 does not begin its magic string'
shell 'cat three.f32 | gpureduce --format npy'
fails '--format=npy of raw data from a pipe' \
    'standard input: not a .npy file: byte 0 does not begin its magic string'
run --format npy data/zstd/array.npy.zst
fails '--format=npy of zstd data' \
    'data/zstd/array.npy.zst: not a .npy file: byte 0 does not begin its magic string'
run --format npy /dev/null
fails '--format=npy of nothing' '/dev/null: not a .npy file: byte 0 does not begin its magic string'
run --format zstd three.f32
fails '--format=zstd of raw data' 'three.f32: not zstd data: no frame begins at byte 0'
run --format zstd data/npy/v1-f4.npy
fails '--format=zstd of .npy' 'data/npy/v1-f4.npy: not zstd data: no frame begins at byte 0'
shell ': | gpureduce --format=zstd'
fails '--format=zstd of nothing' 'standard input: not zstd data: no frame begins at byte 0'
run --format raw -q -o count -t bf16 data/npy/v1-f4.npy
is '--format=raw of .npy takes the header, too' 0 274

#
# Headers of .npy.
#
# bad NAME VERSION HEADER TEXT: the file, the pipe and the compressed file all fail like this.
bad() {
    { npy "$2" "$3" && three; } >bad.npy
    run bad.npy
    fails "$1" "bad.npy: $4"
    shell 'cat bad.npy | gpureduce'
    fails "$1, in a pipe" "standard input: $4"
}
good=$(npy_header '<f4' '(3,)')
for descr in '<i3' '|i4' '<u16' '|b2' '' '<f4 ' 'f32'; do
    bad "dtype '$descr'" 1 "$(npy_header "$descr" '(3,)')" \
        "byte 20: dtype '$descr' is not supported (floats and integers are)"
done
while IFS=' ' read -r descr what; do
    bad "dtype '$descr'" 1 "$(npy_header "$descr" '(3,)')" \
        "byte 20: dtype '$descr' is not supported: it is $what"
done <<'END'
<f16 a float of 16 bytes to NumPy, which is not supported; binary16 is f16, <f2 or >f2
<U3 text; convert it first, with numpy's x.astype('f8')
|V4 bytes of unknown meaning; numpy's x.view('u1'), or of another type, makes numbers
|O Python's objects; convert them first, with numpy's x.astype('f8')
END
for descr in '<V2' '|V2'; do
    bad "dtype '$descr'" 1 "$(npy_header "$descr" '(3,)')" \
        "the .npy header says only that elements have 2 bytes (V2): if they are bfloat16, type -t bf16"
done
bad 'a tuple as dtype' 1 "{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (3,), }" \
    'byte 20: a quoted string is expected'
for version in 0 4 255; do
    { printf '\223NUMPY' && byte "$version" && byte 0 && printf '\020\0\0\0{}              ' &&
        three; } >bad.npy
    run bad.npy
    fails "version $version.0" "bad.npy: byte 6: .npy version $version.0 is not supported"
done
bad 'no dictionary' 1 '[1, 2]' 'byte 10: the header is not a dictionary'
bad 'an empty dictionary' 1 '{}' 'byte 13: descr, fortran_order or shape is missing'
bad 'an empty dictionary, version 2' 2 '{}' 'byte 15: descr, fortran_order or shape is missing'
bad 'an empty header' 1 '' 'byte 11: the header is not a dictionary'
bad 'no shape' 1 "{'descr': '<f4', 'fortran_order': False}" \
    'byte 51: descr, fortran_order or shape is missing'
bad 'a key twice' 1 "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}" \
    "byte 27: key 'descr' is repeated"
bad 'an unknown key' 1 "{'descr': '<f4', 'order': 'C'}" "byte 27: key 'order' is unknown"
bad 'a key without quotes' 1 "{descr: '<f4'}" 'byte 11: a quoted string is expected'
bad 'no colon' 1 "{'descr' '<f4'}" "byte 19: ':' is expected"
bad 'no comma' 1 "{'descr': '<f4' 'fortran_order': False}" 'byte 26: the header does not end'
bad 'no end of a string' 1 "{'descr': '<f4" 'byte 24: a string is too long or contains unsupported characters'
bad 'an order that is neither' 1 "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}" \
    'byte 44: True or False is expected'
bad 'words behind the dictionary' 1 "$good x" \
    "byte $((10 + ${#good} + 1)): unexpected text after the header's dictionary"
bad 'an open dictionary' 1 "${good%?}" "byte $((10 + ${#good})): a quoted string is expected"
while IFS=: read -r shape column text; do
    bad "shape $shape" 1 "$(npy_header '<f4' "$shape")" "byte $((61 + column)): $text"
done <<'END'
3:-1:the shape is not a tuple
(3):2:the shape is not a tuple
[3]:-1:the shape is not a tuple
(-3,):0:a dimension is expected
(3,,):2:a dimension is expected
(,):0:a dimension is expected
(3.0,):1:the shape does not end
(3 3):2:the shape does not end
('3',):0:a dimension is expected
(9223372036854775808,):18:a dimension is out of range
END

# Sizes that no file has, beside those that only look like it.
bad 'a product beyond 2^63' 1 "$(npy_header '<f4' '(4294967296, 4294967296)')" \
    'byte 84: the shape has more than 2^63 elements'
bad 'more bytes than 2^63' 1 "$(npy_header '<f8' '(4611686018427387904,)')" \
    'byte 12: the shape has more elements than any file holds'
{ npy 1 "$(npy_header '<f4' '(4294967296, 0, 4294967296)')"; } >none.npy
run -q -o count none.npy
is 'a dimension of 0 makes any others small' 0 0
{ npy 1 "$(npy_header '<f4' '(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3)')" &&
    three; } >deep.npy
run -q -o sum deep.npy
is 'many dimensions' 0 6
{ npy 1 "$(npy_header '<f4' '(0003,)')" && three; } >zeros.npy
run -q -o sum zeros.npy
is 'zeros before a dimension' 0 6

# The end of the file at every byte of the header.
{ npy 1 "$good" && three; } >good.npy
run -q -o sum good.npy
is 'a good file' 0 6
length=$(($(size good.npy) - 12))
cut=6
while [ "$cut" -lt "$length" ]; do
    dd if=good.npy of=cut.npy bs="$cut" count=1 2>/dev/null
    text="the .npy header is cut off at byte $cut"
    [ "$cut" -lt 12 ] || text="$text of $length"
    run cut.npy
    [ "$status:$(cat out err)" = "1:gpureduce: cut.npy: $text" ] || break
    shell 'cat cut.npy | gpureduce'
    [ "$status:$(cat out err)" = "1:gpureduce: standard input: $text" ] || break
    cut=$((cut + 1))
done
if [ "$cut" -eq "$length" ]; then
    pass 'the header may end nowhere too early'
else
    fail "the header may end nowhere too early: $cut bytes"
    explain
fi
printf '\223NUMPY\002\0\377\377\377\177' >huge.npy
run huge.npy
fails 'a header of 2 GiB' \
    'huge.npy: byte 8: a .npy header of 2147483659 bytes is more than the 1048576 allowed'
{ printf '\223NUMPY\001\0\001\0{' && three; } >short.npy
run short.npy
fails 'a header of one byte' 'short.npy: byte 11: a quoted string is expected'

# Promises. Of a file the size tells at once; of a pipe the end does.
{ npy 1 "$(npy_header '<f4' '(4, 5)')" && three; } >promise.npy
length=$(($(size promise.npy) - 12))
text="ends at byte $((length + 12)), but its header promises 20 elements, up to byte $((length + 80))"
run promise.npy
fails 'fewer elements than promised' "promise.npy: $text"
shell 'cat promise.npy | gpureduce'
fails 'fewer elements than promised, in a pipe' "standard input: $text"
run -q -o sum --length 3 promise.npy
is '--length takes what is there' 0 6
shell 'cat promise.npy | gpureduce -q -o sum --length 3'
is '--length takes what is there, in a pipe' 0 6
run --length 4 promise.npy
fails '--length that asks for more' "promise.npy: $text"
{ npy 1 "$good" && printf 12345; } >promise.npy
length=$(($(size promise.npy) - 5))
text="ends at byte $((length + 5)), but its header promises 3 elements, up to byte $((length + 12))"
run promise.npy
fails 'an element that ends too early' "promise.npy: $text"
shell 'cat promise.npy | gpureduce'
fails 'an element that ends too early, in a pipe' "standard input: $text"
npy 1 "$good" >promise.npy
run promise.npy
fails 'a header and nothing else' \
    "promise.npy: ends at byte $length, but its header promises 3 elements, up to byte $((length + 12))"

# More than was promised is worth a warning.
run -q -o sum,count data/npy/trailing.npy
is 'bytes after the array' 0 "$(grep "^npy/trailing.npy${tab}none${tab}sum${tab}" data/expected.tsv |
    cut -f 4)
100" 'gpureduce: warning: data/npy/trailing.npy: ignoring 9 bytes after the array'
for more in '1 byte' '3 bytes'; do
    head -c "${more%% *}" /dev/zero | cat data/npy/v1-f4.npy - >few.npy
    run -q -o count few.npy
    is "$more after the array" 0 105 "gpureduce: warning: few.npy: ignoring $more after the array"
done
shell 'cat data/npy/trailing.npy | gpureduce -q -o count'
is 'bytes after the array, in a pipe' 0 100 \
    'gpureduce: warning: standard input: ignoring the bytes after the array'
run -q -o count data/zstd/array-trailing.npy.zst
is 'bytes after the array, compressed' 0 600 \
    'gpureduce: warning: data/zstd/array-trailing.npy.zst: ignoring the bytes after the array'

# Options that a header states otherwise.
overridden() { # NAME OPTIONS WHAT
    # shellcheck disable=SC2086 # the options are words
    run -q -o sum $2 good.npy
    is "$1" 0 6 "${3:+gpureduce: warning: good.npy: the .npy header overrides what was asked for: $3}"
    # shellcheck disable=SC2086 # as above
    shell "cat good.npy | gpureduce -q -o sum $2"
    is "$1, in a pipe" 0 6 "${3:+gpureduce: warning: standard input: the .npy header overrides what was asked for: $3}"
}
{ npy 1 "$good" && three; } >good.npy
begin=$(($(size good.npy) - 12))
overridden 'no option' '' ''
overridden 'options that agree' "-t f32 --endian little --skip $begin" ''
overridden 'another --dtype' '-t f64' '--dtype (it says f32)'
overridden 'another --endian' '--endian big' '--endian (it says little)'
overridden 'another --skip' '--skip 1' "--skip (it says $begin)"
overridden 'all of them' '--skip 1 --endian big -t f16' \
    "--dtype (it says f32), --endian (it says little), --skip (it says $begin)"
run -q -o sum -t '>f4' good.npy
is 'another byte order in --dtype' 0 6 \
    'gpureduce: warning: good.npy: the .npy header overrides what was asked for: --endian (it says little)'
run -q -o sum -t f64 good.npy good.npy
is 'a warning for each file' 0 "6
6" 'gpureduce: warning: good.npy: the .npy header overrides what was asked for: --dtype (it says f32)
gpureduce: warning: good.npy: the .npy header overrides what was asked for: --dtype (it says f32)'
run -q --total -o sum,median -t f64 good.npy good.npy
is 'quantiles of a total: a warning for each file' 0 '6
2
6
2
12
2' 'gpureduce: warning: good.npy: the .npy header overrides what was asked for: --dtype (it says f32)
gpureduce: warning: good.npy: the .npy header overrides what was asked for: --dtype (it says f32)'
run -q --diff -t f64 good.npy good.npy
ok 'a comparison: a warning for each side' test "$(grep -c 'good.npy: the .npy header overrides' err)" -eq 2
# One that is read again: it goes on behind the array, in frames that do not state their lengths.
if [ -n "$ZSTD" ]; then
    { npy 1 "$(npy_header '<f4' '(600000,)')" && head -c 2400000 /dev/zero && three; } >again.npy
    zstd_pieces again.npy 800000 >again.npy.zst
    run -q -o count -t f64 again.npy.zst
    is 'one warning for a file that is read again' 0 600000 \
        "gpureduce: warning: again.npy.zst: the .npy header overrides what was asked for: --dtype (it says f32)
gpureduce: warning: again.npy.zst: ignoring the bytes after the array"
else
    skip 'one warning for a file that is read again' 'no zstd'
fi

#
# Files that hold less than their size says.
#
shorter=
for file in /sys/kernel/mm/transparent_hugepage/hpage_pmd_size /sys/kernel/mm/transparent_hugepage/* \
    /sys/devices/system/cpu/*; do
    if [ -f "$file" ] && cat "$file" >content 2>/dev/null &&
        [ "$(stat -c %s "$file")" -gt "$(size content)" ] && [ $(($(size content) % 2)) -eq 0 ]; then
        shorter=$file
        break
    fi
done
if [ -n "$shorter" ]; then
    run -q -t f16 -o sum,count content
    expected=$(cat out)
    run -q -t f16 -o sum,count "$shorter"
    is 'a file in /sys' 0 "$expected"
    shell "gpureduce -q -t f16 -o sum,count <$shorter"
    is 'a file in /sys as standard input' 0 "$expected"
else
    skip 'a file in /sys' 'none holds less than its size says'
fi

#
# NaNs as errors. The index is that of the first one, whatever comes first.
#
for threads in 1 2 5; do
    for chunk in 1 64 1000 1MiB; do
        options="--nan=error -j $threads --chunk-size $chunk"
        right=true
        while read -r index file; do
            for how in file pipe; do
                if [ "$how" = file ]; then
                    # shellcheck disable=SC2086 # the options are words
                    run $options -t "${file##*.}" "data/$file"
                    name=data/$file
                else
                    shell "cat data/$file | gpureduce $options -t ${file##*.}"
                    name='standard input'
                fi
                [ "$status:$(cat out err)" = "1:gpureduce: $name: element $index is a NaN" ] ||
                    { right=false && break 2; }
            done
        done <<'END'
137 raw/nan.f32
137 raw/nan.f64
137 raw/nan.f16
137 raw/nan.bf16
0 raw/all-nan.f32
41 raw/nan-inf.f32
END
        for name in nan-frames nan-frames-unsized; do
            $right || break
            # shellcheck disable=SC2086 # the options are words
            run $options data/zstd/$name.f32.zst
            [ "$status:$(cat out err)" = \
                "1:gpureduce: data/zstd/$name.f32.zst: element 1111 is a NaN" ] || right=false
        done
        if $right; then
            pass "$options"
        else
            fail "$options"
            explain
        fi
    done
done
run -q --nan error -o nan --length 137 data/raw/nan.f32
is '--nan=error looks no further than --length' 0 0
run --nan error --length 138 data/raw/nan.f32
fails '--nan=error looks as far as --length' 'data/raw/nan.f32: element 137 is a NaN'
run --nan error --skip 16 data/raw/nan.f32
fails 'the index counts from what is skipped' 'data/raw/nan.f32: element 133 is a NaN'
run -q -o sum --nan error data/raw/inf.f32
is 'infinities are no NaNs' 0 inf
# A NaN that is no element.
{ npy 1 "$good" && three && printf '\0\0\300\177'; } >behind.npy
run -q -o sum --nan error behind.npy
is 'a NaN after the array' 0 6 'gpureduce: warning: behind.npy: ignoring 4 bytes after the array'
if [ -n "$ZSTD" ]; then
    for how in '' '--no-content-size'; do
        if [ -n "$how" ]; then
            "$ZSTD" -q -c <behind.npy >behind.npy.zst
        else
            "$ZSTD" -q -c behind.npy >behind.npy.zst
        fi
        run -q -o sum --nan error behind.npy.zst
        is "a NaN after the array, compressed $how" 0 6 \
            'gpureduce: warning: behind.npy.zst: ignoring the bytes after the array'
    done
else
    skip 'a NaN after the array, compressed' 'no zstd'
fi

#
# A line on standard error is one write, so that nothing of another process comes between. A socket
# that keeps writes apart shows it.
#
cat >writes.py <<'END'
import socket, subprocess, sys
read, write = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
child = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=write)
write.close()
writes = list(iter(lambda: read.recv(100000), b""))
child.wait()
bad = [text for text in writes if text.find(b"\n") != len(text) - 1]
fewest, _, most = sys.argv[1].partition("-")
if not int(fewest) <= len(writes) <= int(most or fewest) or bad:
    sys.exit("%d writes; no lines: %r" % (len(writes), bad))
END
python=$(command -v python3)
if [ -n "$python" ] && "$python" -c 'import socket; socket.SOCK_SEQPACKET' 2>/dev/null; then
    # writes NAME LINES|FEWEST-MOST COMMAND...
    writes() {
        writes_name=$1
        shift
        ok "$writes_name, line by line" "$python" writes.py "$@"
    }
    writes 'errors and a warning' 3 "$GPUREDUCE" -q -o sum missing behind.npy directory
    writes 'a command line that is wrong' 1 "$GPUREDUCE" --no-such-option
    # shellcheck disable=SC2016 # for the shell that runs it
    writes 'a long message' 1 sh -c 'exec "$0" "--$(printf %09000d 0)"' "$GPUREDUCE"
    # What was waited for has a line where it took any time.
    writes '-v' 20-40 "$GPUREDUCE" -D cpu -v three.f32 behind.npy
    writes 'an error of gpureduce-bench' 1 "$program-bench" generate --no-such-option
else
    skip 'line by line' 'no python3 that has sockets'
fi

finish
