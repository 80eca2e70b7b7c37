#!/bin/sh
# Unformatted files of Fortran: records with their lengths around them.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# Two records of bytes, and an empty one between them.
printf '\3\0\0\0\1\2\3\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\7\1\0\0\0' >x.unf
fortran='-q -o sum,count --format=fortran'
has_zlib && zlib=yes || zlib=
for how in "gpureduce $fortran -t u8 x.unf" "cat x.unf | gpureduce $fortran -t u8" ${zlib:+"gzip -c x.unf | gpureduce $fortran -t u8"} \
    "printf '\0\0\0\3\1\2\3\0\0\0\3\0\0\0\1\7\0\0\0\1' | gpureduce $fortran -t u8 --endian=big" \
    "{ printf abcde && cat x.unf; } | gpureduce $fortran -t u8 --skip=5"; do
    shell "$how"
    is "$how" 0 '13
4'
done
# Records of no bytes before the first that has some, and numbers like a length.
for zeros in '' '\0\0\0\0'; do
    for order in little big; do
        empty="\\0\\0\\0\\0$zeros" four="\\4\\0\\0\\0$zeros"
        [ $order = little ] || four="$zeros\\0\\0\\0\\4"
        for first in '' "$empty$empty" "$empty$empty$empty$empty"; do
            shell "printf '$first$four\\0\\0\\0\\4$four$empty$empty' | gpureduce $fortran -t u8"
            is "an empty record first, and a number like a length: $first$four" 0 '4
4'
        done
    done
done
run -q -o sum --format=fortran -t u8 --length=3 x.unf
is 'the first elements' 0 6
{ printf '\0\60\0\0\0\0\0\0' && dd if=/dev/zero bs=12288 count=1 2>/dev/null && printf '\0\60\0\0\0\0\0\0'; } >far.unf
shell 'cat far.unf | gpureduce -q -o sum --format=fortran -t u8 --length=3'
fails 'the first elements, with lengths that the beginning does not show' \
    'standard input: byte 12292: the record that begins at byte 0 has markers that differ; try --endian=big'
{ printf '\0\60\0\0' && head -c 12296 far.unf | tail -c +9 && printf '\0\60\0\0\1'; } >long.unf
shell 'cat long.unf | gpureduce -q -o count --format=fortran -t u8 --length=3'
is 'the first elements of a long record' 0 3
run -q -o sum --format=fortran --record=u1,i2:1 x.unf
fails 'records of records' 'x.unf: byte 19: a record of 1 byte does not hold whole records of 3 bytes'
run -q -o sum --format=fortran --record=u1,i2:1 --length=1 x.unf
is 'a field of a record in a record' 0 770
run --format=fortran -t i16 x.unf
fails 'a record of half an element' 'x.unf: byte 0: a record of 3 bytes does not hold whole elements of 2 bytes'
run --json --format=fortran -t u8 x.unf
copy out record
run --check=record
is 'checked' 0 'x.unf: OK'
for part in 1 2 3; do
    run --partial --shard="$part/3" --format=fortran -t u8 x.unf
    cat out
done >partial
run -q --merge -o sum,count partial
is 'a file goes whole to one shard' 0 '13
4'
# wrong NAME BYTES MESSAGE: a file of these bytes, and one in a pipe.
wrong() {
    # shellcheck disable=SC2059 # octal escapes
    printf "$2" >wrong.unf
    run -q --format=fortran -t u8 --endian=little wrong.unf
    fails "$1" "wrong.unf: byte $3"
    shell 'cat wrong.unf | gpureduce -q --format=fortran -t u8 --endian=little'
    fails "$1, in a pipe" "standard input: byte $3"
}
wrong 'a marker that is cut off' '\1\0\0\0\1\1\0\0\0\1\0' '9: the marker of a record is cut off'
wrong 'a second marker that is cut off' '\1\0\0\0\1\1\0' '5: the marker of a record is cut off'
wrong 'a second marker that is missing' '\1\0\0\0\1' '0: the last record is cut off'
wrong 'a record that is cut off' '\1\0\0\0\1\1\0\0\0\3\0\0\0\1' '9: the last record is cut off after 1 of 3 bytes'
wrong 'another length' '\1\0\0\0\1\2\0\0\0' '5: the record that begins at byte 0 has markers that differ'
wrong 'another part that is missing' '\377\377\377\377\1\1\0\0\0' '9: the last record is cut off'
wrong 'a part without one before it' '\1\0\0\0\1\377\377\377\377' '5: the record that begins at byte 0 has markers that differ'
wrong 'a part that is not said to be one' '\377\377\377\377\1\1\0\0\0\1\0\0\0\2\1\0\0\0' '14: the record that begins at byte 9 has markers that differ'
printf '\0\0\0\0\0\0\0\0\0\0\40\0' >big.unf
head -c 8196 /dev/zero >>big.unf
shell 'cat big.unf | gpureduce -q --format=fortran -t u8'
fails 'perhaps it is big-endian, after an empty record' \
    'standard input: byte 8: the last record is cut off after 8196 of 2097152 bytes; try --endian=big'
printf '\0\0\0\1' >big.unf
run -q --format=fortran -t u8 big.unf
fails 'perhaps it is big-endian' 'big.unf: byte 0: the last record is cut off after 0 of 16777216 bytes; try --endian=big'
: >empty.unf
run -q -o count --format=fortran empty.unf
is 'no records' 0 0

make_files make_fortran.py 'files by SciPy'
for expected in made/*.one; do
    name=${expected%.one}
    read -r options <"$name.options"
    options="--tsv -o sum,min,max,argmin,argmax,nan,count --format=fortran $options"
    one_as "$expected" "gpureduce $options $name.unf" "cat $name.unf | gpureduce -j 3 --chunk-size 16 $options"
done
finish
