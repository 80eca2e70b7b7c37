#!/bin/sh
# Reductions along an axis: --axis, --shape and --output; what is printed and written, what is refused.
# Arrays of all types and shapes come last, compared with exact fractions.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# npy FILE DESCR SHAPE FORTRAN < ELEMENTS
npy() {
    npy_header="{'descr': '$2', 'fortran_order': $4, 'shape': ($3), }"
    {
        printf '\223NUMPY\001\000\166\000%-117s\n' "$npy_header"
        cat
    } >"$1"
}

# 0 to 11, as little-endian i32.
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
    # shellcheck disable=SC2059
    printf "\\$(printf %03o $i)\\000\\000\\000"
done >twelve.i32
npy c.npy '<i4' '3, 4' False <twelve.i32
npy f.npy '<i4' '3, 4' True <twelve.i32
npy cube.npy '<i4' '2, 3, 2' False <twelve.i32
npy cube-f.npy '<i4' '2, 3, 2' True <twelve.i32

run --axis=1 c.npy
is 'rows' 0 "index${tab}sum${tab}min${tab}max${tab}mean
0${tab}6${tab}0${tab}3${tab}1.5
1${tab}22${tab}4${tab}7${tab}5.5
2${tab}38${tab}8${tab}11${tab}9.5" '*'
ok 'statistics' grep -q '^3 slices of 4 elements, 48 bytes, [0-9.]* s, [0-9.]* GB/s$' err
run -q --axis=0 -o sum,argmax c.npy
is 'columns' 0 "12${tab}2
15${tab}2
18${tab}2
21${tab}2"
quantiles="4${tab}7.2${tab}12
5${tab}8.2${tab}15
6${tab}9.2${tab}18
7${tab}10.2${tab}21"
run -q --axis=0 -o median,q0.9,sum c.npy
is 'quantiles of columns, with sums' 0 "$quantiles"
shell 'cat c.npy | gpureduce -q --axis=0 -o median,q0.9,sum'
is 'quantiles of columns, of a pipe' 0 "$quantiles"
run -q --axis=0 -o median,q0.9,sum f.npy
is 'quantiles of columns in Fortran order' 0 "1${tab}1.8${tab}3
4${tab}4.8${tab}12
7${tab}7.8${tab}21
10${tab}10.8${tab}30"
run -q --axis=1 --tsv -o p100,q0 cube.npy
is 'quantiles of the middle axis' 0 "cube.npy${tab}${tab}0,0${tab}4${tab}0
cube.npy${tab}${tab}0,1${tab}5${tab}1
cube.npy${tab}${tab}1,0${tab}10${tab}6
cube.npy${tab}${tab}1,1${tab}11${tab}7"
shell "gpureduce -q --axis=1 -j 3 -o median --output=medians.npy c.npy && tail -c 24 medians.npy | od -An -v -tf8 -w8 | tr -d ' '"
is 'quantiles in a .npy' 0 '1.5
5.5
9.5'
shell 'head -c 152 c.npy | gpureduce -q --axis=0 -o median'
fails 'quantiles of a pipe that ends' 'standard input: ends at byte 152, but its header promises 12 elements, up to byte 176'
run -q --axis -1 -o sum c.npy
is 'the last axis' 0 '6
22
38'
run -q --axis=-2 -o sum c.npy
is 'the last but one' 0 '12
15
18
21'
run -q --axis=0 -o sum f.npy
is 'Fortran order, rows' 0 '3
12
21
30'
run -q --axis=1 -o sum f.npy
is 'Fortran order, columns' 0 '18
22
26'
run --axis=1 --tsv -o sum cube.npy
is 'the middle axis, TSV' 0 "file${tab}array${tab}index${tab}sum
cube.npy${tab}${tab}0,0${tab}6
cube.npy${tab}${tab}0,1${tab}9
cube.npy${tab}${tab}1,0${tab}24
cube.npy${tab}${tab}1,1${tab}27"
run -q --axis=0,1 -o sum,max cube.npy cube-f.npy
is 'two axes, of both orders' 0 '30	10
36	11
15	5
51	11'
run --axis=-2,-1 --tsv -q -o sum,median cube.npy
is 'the last two' 0 "cube.npy${tab}${tab}0${tab}15${tab}2.5
cube.npy${tab}${tab}1${tab}51${tab}8.5"
run --axis=0,1,2 --json -o sum cube.npy
is 'all of them' 0 '{"file": "cube.npy", "index": [], "sum": 66}'
run -q --axis=1,2,3 -o sum cube.npy
is 'too many' 1 '' 'gpureduce: cube.npy: has 3 dimensions, but no axis 3'
run --axis=1 --tsv -q -o sum cube-f.npy
is 'the middle axis in Fortran order' 0 "cube-f.npy${tab}${tab}0,0${tab}6
cube-f.npy${tab}${tab}1,0${tab}9
cube-f.npy${tab}${tab}0,1${tab}24
cube-f.npy${tab}${tab}1,1${tab}27"
run --axis=2 --json -o sum,argmin,mean cube.npy
is 'JSON' 0 '{"file": "cube.npy", "index": [0,0], "sum": 1, "argmin": 0, "mean": 0.5}
{"file": "cube.npy", "index": [0,1], "sum": 5, "argmin": 0, "mean": 2.5}
{"file": "cube.npy", "index": [0,2], "sum": 9, "argmin": 0, "mean": 4.5}
{"file": "cube.npy", "index": [1,0], "sum": 13, "argmin": 0, "mean": 6.5}
{"file": "cube.npy", "index": [1,1], "sum": 17, "argmin": 0, "mean": 8.5}
{"file": "cube.npy", "index": [1,2], "sum": 21, "argmin": 0, "mean": 10.5}'
run -q --axis=0 --shape=12 -t i32 -o sum,count twelve.i32
is 'raw, one dimension' 0 "66${tab}12"
run -q --axis=1 --shape=-1,6 -t i32 -o sum twelve.i32
is 'raw, what is left' 0 '15
51'
shell 'gpureduce -q --axis=1 --shape=2,6 -t i32 -o sum <twelve.i32'
is 'standard input' 0 '15
51'
shell 'cat c.npy | gpureduce -q --axis=0 -o sum'
is 'a pipe' 0 '12
15
18
21'
run -q --axis=1 -o sum c.npy cube.npy
is 'several files, with nothing but values' 0 '6
22
38
6
9
24
27'
run --axis=0 -o sum c.npy f.npy
is 'several files' 0 "c.npy:
index${tab}sum
0${tab}12
1${tab}15
2${tab}18
3${tab}21
f.npy:
index${tab}sum
0${tab}3
1${tab}12
2${tab}21
3${tab}30" '*'

# 1, NaN; -inf, 2.
printf '\000\000\200\077\000\000\300\177\000\000\200\377\000\000\000\100' >odd.f32
run --axis=1 --shape=2,2 --json -o sum,min,argmin,nan odd.f32
is 'no numbers' 0 '{"file": "odd.f32", "index": [0], "sum": null, "min": null, "argmin": 1, "nan": 1, "nonfinite": {"sum": "nan", "min": "nan"}}
{"file": "odd.f32", "index": [1], "sum": null, "min": null, "argmin": 0, "nan": 0, "nonfinite": {"sum": "-inf", "min": "-inf"}}'
printf '\315\314\314\075' >tenth.f32
run --axis=0 --shape=1 --json -o max,range,mean tenth.f32
is 'JSON has the digits of binary64' 0 '{"file": "tenth.f32", "index": [], "max": 0.10000000149011612, "range": 0, "mean": 0.10000000149011612}'
run --axis=0 --shape=1 -q -o max tenth.f32
is 'and text those of the type' 0 0.1
# 1, 9, 3; 9, 9, 9; -1, 5, 9, where 9 is missing.
printf '\001\011\003\011\011\011\377\005\011' >nines.i8
nines='--missing=9 --shape=3,3 -t i8'
# shellcheck disable=SC2086 # several words, here and below
run --axis=1 $nines -o sum,min,mean,argmax,count,missing,std nines.i8
is 'missing elements' 0 "index${tab}sum${tab}min${tab}mean${tab}argmax${tab}count${tab}missing${tab}std
0${tab}4${tab}1${tab}2${tab}2${tab}2${tab}1${tab}1
1${tab}nan${tab}nan${tab}nan${tab}nan${tab}0${tab}3${tab}nan
2${tab}4${tab}-1${tab}2${tab}1${tab}2${tab}1${tab}3" '*'
# shellcheck disable=SC2086
run -q --axis=1 $nines -o median,count nines.i8
is 'quantiles of what is not missing' 0 "2${tab}2
nan${tab}0
2${tab}2"
# shellcheck disable=SC2086
run --axis=0 --tsv -q $nines -o sum,max,missing nines.i8
is 'missing elements of columns' 0 "nines.i8${tab}${tab}0${tab}0${tab}1${tab}1
nines.i8${tab}${tab}1${tab}5${tab}5${tab}2
nines.i8${tab}${tab}2${tab}3${tab}3${tab}2"
# shellcheck disable=SC2086
run --axis=1 --json $nines -o sum,argmin,missing nines.i8
is 'missing elements in JSON' 0 '{"file": "nines.i8", "index": [0], "sum": 4, "argmin": 0, "missing": 1}
{"file": "nines.i8", "index": [1], "sum": null, "argmin": null, "missing": 3, "nonfinite": {"sum": "nan"}}
{"file": "nines.i8", "index": [2], "sum": 4, "argmin": 0, "missing": 1}'
# shellcheck disable=SC2086
shell "gpureduce -q --axis=1 $nines -o sum --output=nines.npy nines.i8 && tail -c 24 nines.npy | od -An -v -td8 -w8 | tr -d ' '"
is 'in a .npy integers that are missing are the missing value' 0 '4
9
4'
printf '\377\002\377\003' >ones.i8
run -q --axis=0 --shape=2,2 -t i8 --missing=-1 -o absmax --output=ones.npy ones.i8
is 'unsigned ones cannot be a negative one' 1 '' 'gpureduce: ones.i8: the absmax of slice [0] is missing, and -1 is no unsigned integer; leave out --output'
run -q --axis=0 --shape=2,2 -t u8 --missing=-1 -o sum ones.i8
is 'a type without the missing value' 1 '' 'gpureduce: ones.i8: the missing value -1 is not a value of type u8'
run --axis=0 --shape=2,2 -q --nan=error --missing=nan -o sum odd.f32
is 'NaNs that are missing are no error' 0 '-inf
2'
run -q --axis=0 --shape=2,2 --nan=error --missing=1 -o sum odd.f32
is 'others are' 1 -inf 'gpureduce: odd.f32: element 0,1 is a NaN'
{
    printf '\000\000\200\077'
    head -c 1192 /dev/zero
    printf '\000\000\300\177'
} >row.f32
run -q --axis=1 --shape=1,300 --nan=error --missing=1 -o sum row.f32
is 'and have their place in the whole slice' 1 '' 'gpureduce: row.f32: element 0,299 is a NaN'
run -q --axis=1,2 --shape=2,3,50 --nan=error -o sum row.f32
is 'along two axes, too' 1 1 'gpureduce: row.f32: element 1,2,49 is a NaN'
run -q --axis=0 --shape=2,2 -o median odd.f32
is 'a NaN has no place' 0 '-inf
nan'
run -q --axis=0 --shape=2,2 --nan=skip -o median odd.f32
is 'or is left out' 0 '-inf
2'
run -q --axis=0 --shape=2,2 --nan=error -o median odd.f32
is 'or is an error' 1 -inf 'gpureduce: odd.f32: element 0,1 is a NaN'
run -q --axis=0 --shape=2,2 --nan=skip -o sum,max,count odd.f32
is '--nan=skip' 0 "-inf${tab}1${tab}2
2${tab}2${tab}1"
run -q --axis=1 --shape=2,2 --nan=error -o sum odd.f32
is '--nan=error, a row' 1 '' "gpureduce: odd.f32: element 0,1 is a NaN"
run -q --axis=0 --shape=2,2 --nan=error -o sum odd.f32
is '--nan=error, a column' 1 '-inf' "gpureduce: odd.f32: element 0,1 is a NaN"
run -q --axis=1 --shape=2,2 --nan=error -o sum --output=refused.npy odd.f32
is '--nan=error, a row that is the first of an --output' 1 '' "gpureduce: odd.f32: element 0,1 is a NaN"
safetensors odd.safetensors a:F32:2,2:odd.f32 b:F32:4:odd.f32
run --axis=0 --nan=error -o sum odd.safetensors
is '--nan=error, arrays: a heading for each' 1 "odd.safetensors: array a:
index${tab}sum
0${tab}-inf
${tab}NA
odd.safetensors: array b:
index${tab}sum
${tab}NA" 'gpureduce: odd.safetensors: array a: element 0,1 is a NaN
gpureduce: odd.safetensors: array b: element 1 is a NaN'
run -q --axis=0 --shape=2,2 --number=hex --json -o sum,max,argmin odd.f32
is '--number=hex --json' 0 '{"file": "odd.f32", "index": [0], "sum": null, "max": "0x1p+0", "argmin": 1, "nonfinite": {"sum": "-inf"}}
{"file": "odd.f32", "index": [1], "sum": null, "max": null, "argmin": 0, "nonfinite": {"sum": "nan", "max": "nan"}}'
run -q --axis=0 --shape=2,2 --number=hex -o sum,max odd.f32
is '--number=hex' 0 "-inf${tab}0x1p+0
nan${tab}nan"

# Axes and arrays without elements.
run -q --axis=1 -o sum,count,argmax --shape=2,0 -t i32 /dev/null
is 'an axis of no elements' 0 "0${tab}0${tab}nan
0${tab}0${tab}nan"
run -q --axis=0 --shape=2,2 --json -o sum absent.f32 tenth.f32
is 'files that fail, as objects' 1 '{"file": "absent.f32", "error": "No such file or directory"}
{"file": "tenth.f32", "error": "holds 1 element, but the shape has another number (--shape)"}' \
    'gpureduce: absent.f32: No such file or directory
gpureduce: tenth.f32: holds 1 element, but the shape has another number (--shape)'
run --axis=1 -o argmin,min --json --shape=1,0 -t i32 /dev/null
is 'which is no number that JSON lacks' 0 '{"file": "/dev/null", "index": [0], "argmin": null, "min": null, "nonfinite": {"min": "nan"}}'
run -q --axis=0 --shape=2,0 /dev/null
is 'no slices' 0 ''
run -q --axis=1 -o min,mean --shape=1,0 /dev/null
is 'of no elements' 0 "nan${tab}nan"

# .npy. What od prints is what NumPy's own writer makes of the same array.
header() {
    head -c 128 "$1" | tail -c +11 | sed 's/ *$//'
}
run --axis=0 -o sum --output=sum.npy c.npy
is 'sums into a .npy' 0 '' '*'
ok 'its header' test "$(header sum.npy)" = "{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }"
ok 'its numbers' test "$(tail -c 32 sum.npy | od -An -td8 | tr -s ' \n' ' ')" = ' 12 15 18 21 '
run -q --axis=0 -o sum,sum --output=twice.npy c.npy
ok 'one operation, twice' cmp twice.npy sum.npy
run -q --axis=1 -o min,mean,argmax --output=three.npy cube-f.npy
is 'several operations' 0 ''
ok 'their header' test "$(header three.npy)" = \
    "{'descr': [('min', '<i4'), ('mean', '<f8'), ('argmax', '<i8'), ], 'fortran_order': True, 'shape': (2, 2,), }"
ok 'their size' test "$(wc -c <three.npy)" = $((128 + 4 * 20))
for field in min mean argmax; do
    gpureduce -q --axis=1 -o $field --output=field.npy cube-f.npy
    gpureduce -q --axis=0 -o sum field.npy
done >fields
run -q --axis=0 -o sum three.npy
ok 'records are reduced by their fields' cmp fields out
run -q --axis=0 -o max,nan --output=both.npy --shape=4 odd.f32
ok 'of one slice' test "$(header both.npy)" = \
    "{'descr': [('max', '<f4'), ('nan', '<i8'), ], 'fortran_order': False, 'shape': (), }"
run -q --axis=1 -o argmin --shape=1,0 --output=none.npy /dev/null
ok 'an index that there is none of' test "$(tail -c 8 none.npy | od -An -td8 | tr -d ' ')" = -1
npy zeros.npy '<f4' '0, 281474976710656' False </dev/null
npy ten.npy '<f4' '10, 0, 2' False </dev/null
run --axis=0 -o sum zeros.npy
is 'no elements, and results without end' 1 '' 'gpureduce: zeros.npy: holds no elements, and its shape asks for 281474976710656 results; at most 16777216 are printed of such an array'
run -q --axis=1 -o sum zeros.npy
is 'nor elements along the axis' 0 ''
run -q --axis=1 --tsv -o sum,max ten.npy
ok 'no elements, and some results' test "$status:$(wc -l <out | tr -d ' '):$(cut -f 4,5 out | sort -u)" = "0:20:0${tab}nan"
cp sum.npy kept.npy
ln -s sum.npy link.npy
run -q --axis=0 -o sum --output=sum.npy sum.npy
is 'the input' 1 '' 'gpureduce: sum.npy: is the input, which --output would overwrite'
shell 'gpureduce -q --axis=0 -o sum --output=link.npy <sum.npy'
is 'also by another name' 1 '' 'gpureduce: link.npy: is the input, which --output would overwrite'
ln sum.npy hard.npy
run -q --axis=0 -o sum --output=hard.npy sum.npy
is 'also by a hard link' 1 '' 'gpureduce: hard.npy: is the input, which --output would overwrite'
ok 'which is left as it was' cmp sum.npy kept.npy
rm hard.npy
cp data/containers/small.safetensors pair.hdr && cp pair.hdr pair.img
run -q --axis=0 -o sum --output=pair.img pair.hdr
is 'the other one of a pair of files' 1 '' 'gpureduce: pair.img: is the input, which --output would overwrite'
cp -R data/containers/small2.zarr store && ln -s store/mixed.f32 inside
run -q --axis=0 -o sum --array=scalar --output=inside/.zarray store
is 'a file of a store' 1 '' 'gpureduce: inside/.zarray: is in the input, which --output would overwrite'
for turn in first second; do
    run -q --axis=0 -o sum --array=mixed.f32 --output=store/sum.npy store
    is "a result in a store, the $turn time" 0 ''
done
ok 'which is left as it was, too' cmp store/mixed.f32/.zarray data/containers/small2.zarr/mixed.f32/.zarray

# A file is replaced when the new one is complete; what a link leads to, and not the link.
mkdir far
ln -s ../far/new.npy far/link.npy
run -q --axis=0 -o sum --output=far/link.npy c.npy
ok 'a link to no file yet' test "$status:$(readlink far/link.npy):$(cmp - sum.npy <far/new.npy)" = 0:../far/new.npy:
printf old >far/new.npy
chmod 640 far/new.npy
ln far/new.npy far/other.npy
run -q --axis=0 -o sum --output=far/link.npy c.npy
ok 'a link to a file' test "$status:$(readlink far/link.npy):$(cmp far/new.npy sum.npy)" = 0:../far/new.npy:
ok 'which keeps its permissions' test "$(stat -c %a far/new.npy)" = 640
ok 'and was not written into' test "$(cat far/other.npy)" = old
printf old >far/new.npy
run -q --axis=1 --nan=error --shape=2,2 -o sum --output=far/new.npy odd.f32
# shellcheck disable=SC2012 # the names are plain
ok 'a failure leaves the old file, and no other' test "$status:$(cat far/new.npy):$(ls -A far | tr '\n' ' ')" = \
    '1:old:link.npy new.npy other.npy '
mkfifo far/pipe
cat far/pipe >far/piped &
run -q --axis=0 -o sum --output=far/pipe c.npy
wait $!
ok 'a named pipe is written in place' cmp far/piped sum.npy
shell 'gpureduce -q --axis=0 -o sum --output=/dev/stdout c.npy >far/new.npy'
ok 'so is standard output' test "$status:$(cmp far/new.npy sum.npy)" = 0:
mkfifo far/input
"$GPUREDUCE" -q --axis=1 --shape=100,1 -o sum --output=far/new.npy - <far/input &
running=$!
exec 9>far/input
printf '\0\0\0\0\0\0\0\0' >&9
sleep 0.3
kill "$running"
wait "$running"
status=$?
exec 9>&-
# shellcheck disable=SC2012 # the names are plain
ok 'a signal leaves the old file, and no other' test "$status:$(cmp far/new.npy sum.npy)$(ls -A far | tr '\n' ' ')" = \
    '143:input link.npy new.npy other.npy pipe piped '
# Two at a time: the result of one, and not some of each.
yes 1234567 | head -c 700000 >two.i8
asked='-q --shape=700,1000 --format=raw -t i8 -o sum,min -j 2'
for axis in 0 1; do
    # shellcheck disable=SC2086 # several words
    "$GPUREDUCE" $asked --axis=$axis --output=far/of-$axis.npy two.i8
done
for round in 1 2 3 4 5; do
    # shellcheck disable=SC2086
    "$GPUREDUCE" $asked --axis=0 --output=far/both.npy two.i8 &
    # shellcheck disable=SC2086
    "$GPUREDUCE" $asked --axis=1 --output=far/both.npy two.i8
    wait $!
    cmp -s far/both.npy far/of-0.npy || cmp far/both.npy far/of-1.npy
    ok "two writers of one file, $round" test $? = 0
done
run -q --axis=0 -o sum --output=/dev/null /dev/null --shape=0
is 'a device may be both' 0 ''
printf '\377\377\377\377\377\377\377\177\001\000\000\000\000\000\000\000' >big.i64
run -q --axis=0 --shape=2 -t i64 -o sum big.i64
is 'a sum of 65 bits' 0 9223372036854775808
run -q --axis=0 --shape=2 -t i64 -o sum --output=big.npy big.i64
is 'which no int64 is' 1 '' "gpureduce: big.i64: the sum of slice [] is 9223372036854775808, which does not fit a 64-bit integer; leave out --output"
for i in 1 2 3 4 5 6 7 8 9 10; do
    cat big.i64 big.i64 big.i64 big.i64
done >many.i64
run -q --axis=1 --shape=40,2 -t i64 -o sum --output=big.npy -j 4 --chunk-size=16 many.i64
ok 'nor one of many, which is said once' test "$status:$(grep -c 'is 9223372036854775808, which does not fit a 64-bit integer' err):$(wc -l <err | tr -d ' ')" = 1:1:1
run -q --axis=1 --shape=1,0 -t i64 -o min --output=big.npy /dev/null
is 'no integer stands for nothing' 1 '' "gpureduce: /dev/null: the min of an empty slice is undefined, and integers have no NaN; leave out --output"
run -q --axis=0 -o sum --output=/dev/full c.npy
is 'a device that is full' 1 '' 'gpureduce: /dev/full: No space left on device'
head -c 800000 /dev/zero >zeros.f32
run -q --axis=1 --shape=200000,1 -o sum --output=/dev/full zeros.f32
is 'which is noticed early' 1 '' 'gpureduce: /dev/full: No space left on device'
shell 'gpureduce -q --axis=1 --shape=200000,1 -o sum zeros.f32 >/dev/full'
is 'and as standard output' 1 '' 'gpureduce: standard output: No space left on device'
run -q --axis=0 -o sum --output=none/x.npy c.npy
is 'no such directory' 1 '' 'gpureduce: none/x.npy: No such file or directory'

# What does not fit.
run -q --axis=2 c.npy
is 'no such axis' 1 '' 'gpureduce: c.npy: has 2 dimensions, but no axis 2'
run -q --axis=-3 c.npy
is 'nor backwards' 1 '' 'gpureduce: c.npy: has 2 dimensions, but no axis -3'
run -q --axis=0 twelve.i32
is 'no shape' 1 '' 'gpureduce: twelve.i32: has no header with a shape; give --shape'
run -q --axis=0 --shape=3,5 -t i32 twelve.i32
is 'another shape' 1 '' 'gpureduce: twelve.i32: holds 12 elements, but the shape has another number (--shape)'
run -q --axis=0 --shape=-1,5 -t i32 twelve.i32
is 'nothing is left' 1 '' 'gpureduce: twelve.i32: 12 elements cannot be divided by the other sizes of the shape (--shape)'
shell 'cat twelve.i32 | gpureduce -q --axis=0 --shape=2,7 -t i32 -o sum'
is 'a pipe that ends' 1 '' 'gpureduce: standard input: ends after 12 elements, but its shape has 14 (--shape)'
shell 'cat twelve.i32 | gpureduce -q --axis=0 --shape=2,5 -t i32 -o sum'
ok 'a pipe that does not' grep -q '^gpureduce: standard input: holds more elements than its shape has$' err
shell 'cat tenth.f32 | gpureduce -q --axis=0 -o sum --shape=0,2'
fails '... of no elements' 'standard input: holds more elements than its shape has'
npy empty.npy '<f4' '0, 2' False </dev/null
{ zstd_frame 128 128 <empty.npy && printf garbage; } >empty.npy.zst
run -q --axis=0 -o sum empty.npy.zst
fails 'no elements, and damage after them' 'empty.npy.zst: byte 143: no zstd frame begins here'
shell 'cat twelve.i32 | gpureduce -q --axis=0 --shape=-1,5 -t i32 -o sum'
is 'a pipe has no open size' 1 '' 'gpureduce: standard input: its number of elements is unknown; give all sizes in --shape'
run -q --axis=2 --shape=4294967296,4294967296,0 /dev/null
is 'too many slices' 1 '' 'gpureduce: /dev/null: has a shape that is too large'
npy scalar.npy '<i4' '' False <twelve.i32
run -q --axis=0 scalar.npy
ok 'a single number' grep -q '^gpureduce: scalar.npy: is a single number, which has no axis$' err

# wrong NAME MESSAGE OPTION...: wrong usage.
wrong() {
    wrong_name=$1 wrong_message=$2
    shift 2
    run "$@"
    is "$wrong_name" 2 '' "gpureduce: $wrong_message (try 'gpureduce --help')"
}
wrong 'no axis' "bad axis 'x': must be an integer, or several" --axis=x c.npy
wrong 'one of several' "bad axis '0,': must be an integer, or several" --axis=0, c.npy
for axes in 0,2 1,0 -1,0 1,1; do
    wrong "axes $axes" "the axes '$axes' are not neighbours in ascending order" --axis=$axes cube.npy
done
wrong 'an index along several' "'argmin' is computed along one axis" --axis=0,1 -o sum,argmin cube.npy
wrong 'no shape of sizes' "bad shape '2,x': must be sizes separated by commas, of which one may be -1" --axis=0 --shape=2,x c.npy
wrong 'two open sizes' "bad shape '-1,-1': must be sizes separated by commas, of which one may be -1" --axis=0 --shape=-1,-1 c.npy
wrong '--shape alone' "option '--shape' needs --axis" --shape=3,4 c.npy
wrong '--output alone' "option '--output' needs --axis" --output=x.npy c.npy
wrong '--output of several files' "option '--output' is for one file" --axis=0 --output=x.npy c.npy f.npy
wrong '--output on standard output' "'--output=-' names no file; use --output=/dev/stdout" --axis=0 --output=- c.npy
wrong '--output and --json' "option '--json' does not go with --output" --axis=0 --output=x.npy --json c.npy
wrong '--output and --number=hex' "option '--number=hex' does not go with --output" --axis=0 --output=x.npy --number=hex c.npy
for option in --histogram=3 --total --fail-on=nan --length=3 --list; do
    wrong "$option" "option '${option%%=*}' does not go with --axis" --axis=0 "$option" c.npy
done
run -q --axis=0 --device=auto -o summary c.npy
ok 'a summary leaves its quantiles out' test "$status:$(head -n 1 out | tr '\t' ' ')" = '0:3 0 0 1 0 8 4 3.265986323710904'

# Containers: each array, and one.
array() { # NAME BEGIN END
    printf '"%s":{"dtype":"I32","shape":[3,4],"data_offsets":[%d,%d]}' "$1" "$2" "$3"
}
container="{$(array x 0 48),$(array y 48 96)}"
{
    # shellcheck disable=SC2059
    printf "\\$(printf %03o ${#container})\\000\\000\\000\\000\\000\\000\\000%s" "$container"
    cat twelve.i32 twelve.i32
} >two.safetensors
run --axis=1 --tsv -o sum two.safetensors
is 'arrays of a container' 0 "file${tab}array${tab}index${tab}sum
two.safetensors${tab}x${tab}0${tab}6
two.safetensors${tab}x${tab}1${tab}22
two.safetensors${tab}x${tab}2${tab}38
two.safetensors${tab}y${tab}0${tab}6
two.safetensors${tab}y${tab}1${tab}22
two.safetensors${tab}y${tab}2${tab}38"
run --axis=1 --json -o sum --array=y two.safetensors
is 'one of them' 0 '{"file": "two.safetensors", "array": "y", "index": [0], "sum": 6}
{"file": "two.safetensors", "array": "y", "index": [1], "sum": 22}
{"file": "two.safetensors", "array": "y", "index": [2], "sum": 38}'
run --axis=1 --output=x.npy -o sum two.safetensors
is 'which --output needs' 1 '' 'gpureduce: two.safetensors: --output takes one array; choose it with --array'
mkdir model
safetensors model/1.safetensors a:I32:12:twelve.i32
safetensors model/2.safetensors b:I32:3,4:twelve.i32
for name in a b; do
    run -q --axis=0 --output=of-$name.npy -o sum --array=$name model
    is "array $name of a directory" 0 ''
done
ok 'each is the one that was asked for' test "$(header of-a.npy):$(header of-b.npy)" = \
    "{'descr': '<i8', 'fortran_order': False, 'shape': (), }:{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }"
cp of-a.npy kept.npy
run -q --axis=0 --output=of-a.npy -o sum --array='?' model
is 'a directory has two arrays' 1 '' 'gpureduce: model/2.safetensors: --output takes one array; choose it with --array'
ok 'of which neither is written' cmp of-a.npy kept.npy
run -q --axis=0 --output=of-a.npy -o sum --array=c model
is 'nor that it has not' 1 '' 'gpureduce: --array=c matches no array; there are a and b'
mkdir broken
head -c 20 model/1.safetensors >broken/1.safetensors
cp model/2.safetensors broken
run -q --axis=0 --output=found.npy -o sum --array=b broken
fails_like 'a container that cannot be read' 'broken/1.safetensors: .*'
ok 'does not hide one behind it' cmp found.npy of-b.npy
run -q --axis=0 --output=broken/2.safetensors -o sum --array=b broken
is 'an array of what would be overwritten' 1 '' \
    'gpureduce: broken/2.safetensors: is the input, which --output would overwrite'
ok 'which is left as well' cmp broken/2.safetensors model/2.safetensors
cp -R model indexed
echo '{"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}' >indexed/m.safetensors.index.json
cp indexed/m.safetensors.index.json kept.json
run -q --axis=0 --output=indexed/m.safetensors.index.json -o sum --array=b indexed
is 'the index of a directory' 1 '' \
    'gpureduce: indexed/m.safetensors.index.json: is in the input, which --output would overwrite'
ok 'which is left, too' cmp indexed/m.safetensors.index.json kept.json

# Many results, which are the elements: written in any order, in order, and as lines. A run that
# fails leaves those before the first that is missing.
for _ in 1 2 3 4 5 6 7 8; do
    head -c 262144 "$program"
done >many.i32
asked='-q --axis=1 --shape=-1,1 -t i32 --format=raw -o min'
# is_after_header FILE OTHER: the results in a .npy are all that OTHER holds.
# shellcheck disable=SC2317 # `ok` calls it
is_after_header() {
    tail -c +129 "$1" | cmp - "$2"
}
# shellcheck disable=SC2317
not_there() {
    ! ls -d "$1" .gpureduce-* 2>/dev/null
}
for way in '-j 1' '-j 3' '-j 3 --chunk-size=4096' '-j 16 --chunk-size=50000'; do
    # shellcheck disable=SC2086 # several words, here and below
    run $asked $way --output=many.npy many.i32
    ok "many results, $way" is_after_header many.npy many.i32
    # shellcheck disable=SC2086
    shell "gpureduce $asked $way --output=/dev/stdout many.i32 | tail -c +129 | cmp - many.i32"
    is "into a pipe, $way" 0 ''
    # shellcheck disable=SC2086
    shell "gpureduce $asked $way many.i32 >lines; od -An -v -w4 -td4 many.i32 | tr -d ' ' | cmp - lines"
    is "as lines, $way" 0 ''
done
{
    head -c 600004 /dev/zero
    printf '\000\000\300\177'
    head -c 300000 /dev/zero
} >late.f32
for way in '-j 1' '-j 3' '-j 3 --chunk-size=4096'; do
    # shellcheck disable=SC2086
    run -q --axis=1 --shape=-1,1 --nan=error -o min $way --output=late.npy late.f32
    is "a late NaN, $way" 1 '' 'gpureduce: late.f32: element 150001,0 is a NaN'
    ok 'leaves no file' not_there late.npy
done
(
    ulimit -f 1000
    # shellcheck disable=SC2086
    exec "$GPUREDUCE" $asked -j 3 --chunk-size=4096 --output=limited.npy many.i32
) >out 2>err
status=$?
command='ulimit -f 1000; gpureduce --output=limited.npy'
is 'a limit of the size' 1 '' 'gpureduce: limited.npy: File too large'
ok 'leaves no file, either' not_there limited.npy

# More threads than the C library keeps the stacks of: each is waited for once.
head -c 65536 /dev/zero >zeros
run -q --axis=0 --shape=128,128 -o sum -j 16 --chunk-size=4096 zeros
ok 'many threads' test "$status:$(sort -u out)" = 0:0

# A file that is mapped, in each of the ways to share it out; the same by one thread and several, from
# a pipe, and through zstd.
bench=${program%/*}/gpureduce-bench
if [ -x "$bench" ] && "$bench" generate -q -b 6M -d wide >large.f32; then
    [ -z "$ZSTD" ] || "$ZSTD" -q -1 large.f32 -o large.zst
    for shape in 3,524288 524288,3 96,16384 12,1024,128; do
        for axis in 0 -1; do
            asked="-q --axis=$axis --shape=$shape -o sum,min,max --output"
            # shellcheck disable=SC2086 # several words, here and below
            run $asked=expected.npy -j 1 large.f32
            for way in '-j 3 large.f32' '-j 2 --chunk-size=100000 large.f32' '-j 3 <large.pipe' '-j 2 large.zst'; do
                # shellcheck disable=SC2086
                case $way in
                *pipe) shell "cat large.f32 | gpureduce $asked=out.npy -j 3" ;;
                *zst) [ -z "$ZSTD" ] || run $asked=out.npy -j 2 large.zst ;;
                *) run $asked=out.npy $way ;;
                esac
                ok "$shape, axis $axis, $way" cmp out.npy expected.npy
            done
        done
    done
else
    skip 'a mapped file' 'there is no gpureduce-bench'
fi

python=$(command -v python3)
if [ -n "$python" ]; then
    ok 'arrays of all types and shapes' "$python" "$sources/tests/lib/axis_check.py" "$GPUREDUCE" "${CHECK_SEED:-1}" "${AXIS_ARRAYS:-$(shared 160)}"
else
    skip 'arrays of all types and shapes' 'there is no python3'
fi

# NumPy reads what is written, and says the same of integers.
: "${ARRAYS_PYTHON:=${UNSUPPORTED_PYTHON:-python3}}"
if command -v "$ARRAYS_PYTHON" >/dev/null && "$ARRAYS_PYTHON" -c 'import numpy' 2>/dev/null; then
    cat >read.py <<'END'
import subprocess
import sys

import numpy

rng = numpy.random.default_rng(1)
for order in 'CF':
    for kind in ('<i2', '>u4', '<f4'):
        a = numpy.asarray(rng.integers(0, 1000, (5, 6, 7)), kind, order)
        numpy.save('a.npy', a)
        for axis in range(-3, 3):
            def reduce(operations):
                subprocess.run([sys.argv[1], '-q', '--axis=%d' % axis, '-o', operations,
                                '--output=r.npy', 'a.npy'], check=True)
                return numpy.load('r.npy')
            assert (reduce('sum') == numpy.sum(a, axis)).all()
            assert reduce('sum').dtype == (numpy.sum(a, axis).dtype if kind != '<f4' else 'f8')
            r = reduce('min,argmax,mean')
            assert r.shape == numpy.min(a, axis).shape
            assert (r['min'] == numpy.min(a, axis)).all()
            assert (r['argmax'] == numpy.argmax(a, axis)).all()
END
    ok 'numpy reads it' "$ARRAYS_PYTHON" read.py "$GPUREDUCE"
else
    skip 'numpy reads it' 'numpy is missing'
fi

finish
