#!/bin/sh
# Files of several arrays: a result for each, the same as that of the array alone; --array, --list and
# --total; what is refused, left out and named. Files made by the format's own package come last, and
# what that refuses.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

: >none
three >three.f32
printf '\0\0\300\177\0\0\200\77' >nan.f32
printf '\1\2\3' >bytes
safetensors small.safetensors w.weight:F32:3:three.f32 w.bias:F32:1,2:nan.f32 'a b/c:U8:3,1:bytes' \
    empty:F64:0,7:none

#
# A type is not taken for that of the array before it, be that one that cannot be read or one whose
# name begins alike.
#
safetensors types.safetensors a:F4:6:bytes b:F4:6:bytes c:F8_E4M3:3:bytes d:F8_E5M2:3:bytes e:F8_E4M3:3:bytes
run --list --json types.safetensors
ok 'types that are like that before' test "$(grep -o '"dtype": "[^"]*"' out | tr -d '\n')" = \
    '"dtype": "F4""dtype": "F4""dtype": "f8e4m3""dtype": "f8e5m2""dtype": "f8e4m3"'

#
# Lines that take more memory than is reserved for them, and one that is longer than a block of it.
#
long=$(printf '%0900d' 0)
# shellcheck disable=SC2046 # words
safetensors long.safetensors $(i=100 && while [ $i -lt 400 ]; do
    echo "$long$i:U8:3:bytes" && i=$((i + 1))
    [ $i -ne 250 ] || echo "$(printf '%070000d' 0):U8:3:bytes"
done)
for j in 1 3; do
    run -q --json -j $j -o sum long.safetensors
    grep -o '"array": "[0-9]*"' out | grep -o '[0-9]*' >found
    { i=100 && while [ $i -lt 400 ]; do
        echo "$long$i" && i=$((i + 1))
        [ $i -ne 250 ] || printf '%070000d\n' 0
    done; } >expected
    ok "long lines, -j $j" test "$status:$(grep -c '"sum": 6,' out):$(cmp found expected)" = 0:301:
done

#
# What is printed.
#
run small.safetensors
golden 'lines' 0 arrays
run -q small.safetensors
golden 'values alone' 0 arrays-quiet
run --json -o sum,argmax small.safetensors
golden 'objects' 0 arrays-json
run --tsv --total small.safetensors three.f32 missing
golden 'files of both kinds in one table' 1 arrays-tsv
run --total -o sum,count --nan=skip small.safetensors
golden 'a total' 0 arrays-total
run -v small.safetensors
golden 'what a run did' 0 arrays-verbose
run --list small.safetensors data/npy/v1-f4.npy
golden 'a list' 0 arrays-list
run --list --json small.safetensors three.f32
golden 'a list of objects' 0 arrays-list-json
run --list --json data/containers/quantised.gguf
ok 'chunks that headers do not count' test "$(grep -c '"elements": 320' out):$(grep -c chunks out)" = 2:0
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    for what in small.safetensors '--list small.safetensors' '-o sum,min small.safetensors small.safetensors'; do
        script -qec "gpureduce --no-progress $what 2>/dev/null" /dev/null </dev/null | tr -d '\r'
    done >out
    : >err
    golden 'tables on a terminal' 0 arrays-terminal
else
    skip 'tables on a terminal' 'there is no script(1)'
fi
head -c 20 small.safetensors >cut.safetensors
run --list --json --where='bytes>99' nowhere small.safetensors cut.safetensors
ok 'a list of files that cannot be read' test "$status:$(cut -c 1-64 out)" = '1:{"file": "nowhere", "error": "No such file or directory"}
{"file": "cut.safetensors", "error": "a safetensors file: byte 2'

#
# What is read. To find the arrays, other bytes are: these do not count, and arrays without elements are
# not read at all.
#
for file in data/containers/deflated.npz data/containers/small.h5; do
    run --json -o count $file
    if [ "$status" -ne 0 ] || grep -q 'lacks zlib' err; then
        skip "compressed bytes of $file" 'built without zlib or libhdf5'
        continue
    fi
    packed=$(sed -n 's/.*"elements": [1-9].*"input_bytes": \([0-9]*\).*/\1/p' out | awk '{ sum += $1 } END { print sum }')
    run $file
    ok "compressed bytes of $file" grep -q "($packed compressed, " err
    run --array=mixed.f32 --json -o count $file
    packed=$(sed -n 's/.*"input_bytes": \([0-9]*\).*/\1/p' out)
    run --array=mixed.f32 $file
    ok 'and of one of its arrays' grep -q "($packed compressed, " err
done
file=data/containers/stored.npz
run -v $file
read=$(awk '$1 == "read" { print $3 }' err)
ok 'of what is not compressed, no more than the file is read' test "$read" -ge 4813 -a "$read" -le "$(size $file)"

#
# Which arrays.
#
run -q -o sum --array 'w.*' small.safetensors
is 'those of a pattern' 0 '6
nan' '*'
run -q -o sum --array='*/?' --array=w.weight small.safetensors
is 'those of several, and * stands for slashes' 0 '6
6' '*'
run -q -o sum --array 'x*' small.safetensors
is 'those of none' 1 '' 'gpureduce: --array=x* matches no array; there are w.weight, w.bias, a b/c and empty'
run -q -o sum --array 'x*' --array 'w*' small.safetensors
is 'a pattern that matches none beside one' 1 '6
nan' 'gpureduce: --array=x* matches no array; there are w.weight, w.bias, a b/c and empty'
run -q -o sum --array 'w*' small.safetensors three.f32
is 'beside a file that is one array' 1 '6
nan
NA' 'gpureduce: three.f32: is one array without a name, which --array does not apply to'
run --list -q --array 'e*' small.safetensors
ok 'a list of those of a pattern' test "$(wc -l <out):$(cut -f 2 out)" = 1:empty
run -q -o sum --length=2 small.safetensors
is 'the first elements of each' 0 '3
nan
3
0' '*'
run --list --length=2 small.safetensors data/npy/v1-f4.npy
ok 'a list of these' test "$(tail -n +2 out | cut -f 5,6 | tr '\t\n' ' ,')" = '2 8,2 8,2 2,0 0,2 8,'
shell 'printf 12345678 | gpureduce --list -q --length=5'
is 'a pipe may have fewer' 0 "-${tab}${tab}f32${tab}NA${tab}NA${tab}NA${tab}0"
run -q -o median,count --array '*w*' --nan=skip small.safetensors
is 'quantiles' 0 '2
3
1
1' '*'

#
# What is named.
#
run -q -o sum --nan=error small.safetensors
is 'a NaN' 1 '6
NA
6
0' 'gpureduce: small.safetensors: array w.bias: element 0 [0, 0] is a NaN'
run -q -o sum --fail-on=nan,empty small.safetensors
is '--fail-on' 1 '6
nan
6
0' 'gpureduce: small.safetensors: array w.bias: NaNs: 1 of 2 elements
gpureduce: small.safetensors: array empty: empty: no elements'
safetensors both.safetensors a:I32:3:three.f32 b:F32:3:three.f32
run -q -o median both.safetensors
is 'quantiles of several types' 0 '1073741824
2'
run --json -o median --array=a both.safetensors
ok 'passes for them' grep -q '"passes": 1}$' out
shell 'gpureduce --json --op=summary --array=a <both.safetensors; cat both.safetensors | gpureduce --json --op=summary --array=a'
ok 'also in a pipe' test "$(grep -c '"passes": 1}$' out)" = 2
shell 'cat both.safetensors | gpureduce -q --op=summary --array=b'
is 'a summary leaves quantiles of a pipe out' 0 "3
0
0
0
1
3
2
0.816496580927726
NA
NA
NA"
run -q --histogram=exponent small.safetensors
fails 'a histogram of several' 'small.safetensors: a histogram needs one array; choose one with --array'
run -q --histogram=2 --array w.weight small.safetensors
ok 'a histogram of one' test "$status" -eq 0
run --histogram=2 -o count --array w.weight small.safetensors
ok 'and what else was asked for' test "$status:$(head -n 1 out)" = "0:count${tab}$(gpureduce -q -o count --array w.weight small.safetensors)"
mkdir histogram
safetensors histogram/1.safetensors a:F32:3:three.f32 b:F32:3:three.f32
safetensors histogram/2.safetensors c:F32:3:three.f32
run -q --histogram=1,0,4 --array=c histogram
is 'a histogram of one of a directory' 0 '0
3
0
0'
run -q -o sum -t f64 small.safetensors
is 'a type beside the header' 0 '6
nan
6
0' 'gpureduce: warning: small.safetensors: the safetensors header overrides what was asked for: --dtype'
run -q -o count -t '<f4' --array w.weight small.safetensors
is 'the type that the header says' 0 3

safetensors other.safetensors a:F32:3:three.f32 z:C64:1:nan.f32 y:F4:6:bytes x:C64:1:nan.f32
run -q -o sum other.safetensors
is 'types that are not supported' 1 '6
NA
NA
NA' \
    'gpureduce: other.safetensors: array z and 1 more: type C64 is not supported: a complex number
gpureduce: other.safetensors: array y: type F4 is not supported: a float of 4 bits'
run --tsv -o sum other.safetensors
is 'a row each, in TSV' 1 "$(printf 'file\tarray\tdtype\tshape\tsum\nother.safetensors\ta\tf32\t[3]\t6\n%s\n%s\n%s' \
    "other.safetensors${tab}z${tab}C64${tab}[1]${tab}NA" "other.safetensors${tab}y${tab}F4${tab}[6]${tab}NA" \
    "other.safetensors${tab}x${tab}C64${tab}[1]${tab}NA")" '*'
run -o sum other.safetensors
is 'and as text' 1 "$(run --tsv -o sum other.safetensors && cat out)" '*'
run --json -o sum other.safetensors
ok 'and in JSON' grep -qx \
    '{"file": "other.safetensors", "array": "y", "error": "type F4 is not supported: a float of 4 bits"}' out
run --json --total -o sum other.safetensors
ok 'there is no total' test "$status" -eq 1 -a "$(grep -c '"total": true.*"sum"' out)" -eq 0
run -q -o sum --total other.safetensors
is 'and that is said' 1 '6
NA
NA
NA
NA' '*'
ok 'with what to do about it' grep -qx 'gpureduce: no total: 3 of 4 files and arrays failed; --skip-unsupported leaves out arrays that cannot be read' err
run -q -o sum --total --skip-unsupported other.safetensors
is 'they are skipped' 0 '6
6' 'gpureduce: warning: other.safetensors: skipped array z and 1 more: type C64 is not supported: a complex number
gpureduce: warning: other.safetensors: skipped array y: type F4 is not supported: a float of 4 bits'
run -q -o sum --total --exclude='[xz]' --exclude=y other.safetensors
is 'or excluded' 0 '6
6'
run -q -o sum --total --array='[ay]' --exclude=y other.safetensors
is 'of those that are wanted' 0 '6
6'
for options in -osum --list --axis=0; do
    run -q "$options" --exclude='*' other.safetensors
    is "$options of none" 1 '' 'gpureduce: --exclude leaves out all arrays'
    run -q "$options" --array=a --exclude='?' other.safetensors
    is "$options of none that are chosen" 1 '' 'gpureduce: --exclude leaves out all arrays that --array chooses'
done
run -q -o sum --exclude='*' other.safetensors three.f32
is 'a file that is one array is not left out' 0 6
run -q -o sum --exclude=nosuch --array=a other.safetensors
is 'a pattern that excludes nothing' 1 6 'gpureduce: --exclude=nosuch matches no array'
run -q -o sum,std --array '[x-z]' other.safetensors
is 'nothing but those' 1 'NA
NA
NA
NA
NA
NA' '*'
run --op=summary --tsv --array=y other.safetensors
ok 'a summary of one' test "$status:$(sed 1d out | cut -f 5- | tr -d '\t\n' | sed 's/NA//g')" = 1:
shell 'cat other.safetensors | gpureduce -q -o sum'
is 'in a pipe' 1 '6
NA
NA
NA' 'gpureduce: standard input: array z and 1 more: type C64 is not supported: a complex number
gpureduce: standard input: array y: type F4 is not supported: a float of 4 bits'
run -q --axis=0 --tsv -o sum other.safetensors
is 'along an axis' 1 "$(printf 'other.safetensors\t%s\t\t%s\n' a 6 z NA y NA x NA)" '*'
run -q --axis=0 --json -o sum --array=y other.safetensors
is 'along an axis, in JSON' 1 \
    '{"file": "other.safetensors", "array": "y", "error": "type F4 is not supported: a float of 4 bits"}' '*'
for shard in 1 2 3; do
    run --shard=$shard/3 --partial -o sum other.safetensors
    cat out
done >shards
run --merge -q -o sum shards
is 'partial results tell --merge that they are missing' 1 '' \
    'gpureduce: other.safetensors: array x: none of its elements is in a partial result (--allow-gaps leaves it out)
gpureduce: other.safetensors: array y: none of its elements is in a partial result (--allow-gaps leaves it out)
gpureduce: other.safetensors: array z: none of its elements is in a partial result (--allow-gaps leaves it out)'
run --merge -q -o sum --allow-gaps --total shards
is 'with --allow-gaps they have no result, and the total is of the others' 1 '6
NA
NA
NA
6' 'gpureduce: other.safetensors: array x: none of its elements is in a partial result
gpureduce: other.safetensors: array y: none of its elements is in a partial result
gpureduce: other.safetensors: array z: none of its elements is in a partial result'
run --list -q other.safetensors
ok 'they are listed' test "$(cut -f 3 out | tr '\n' ' ')" = 'f32 C64 F4 C64 '

#
# Several files as one model.
#
mkdir model other
safetensors model/part-2.safetensors z:F32:3:three.f32
cp small.safetensors model/part-1.safetensors
cp three.f32 model/other.f32
run --total -o sum,count --nan=skip model
golden 'a directory' 0 arrays-directory
run --total -o sum,count --nan=skip model/
golden 'the same with a slash' 0 arrays-directory
cp model/*.safetensors other
: >model/part-0.safetensors
run -q -o sum --array=z --total model
is 'an empty file of a directory' 1 'NA
6
NA' 'gpureduce: model/part-0.safetensors: is empty, and not a safetensors file
gpureduce: no total: 1 of 2 files and arrays failed'
cp three.f32 model/part-0.safetensors
run -q -o sum --array=z model
ok 'one that is no safetensors file' grep -q '^gpureduce: model/part-0.safetensors: a safetensors file: byte 0: ' err
safetensors other/whole.safetensors a:F32:3:three.f32
index=other/model.safetensors.index.json
printf '%s' '{"metadata": {"total_size": 35}, "weight_map": {"z": "part-2.safetensors", "w.weight": "part-1.safetensors",' \
    ' "w.bias": "part-1.safetensors"}}' >$index
run -q --list other
ok 'a file beside an index' grep -qx \
    'gpureduce: warning: other: skipped 1 file that model.safetensors.index.json does not name: whole.safetensors' err
cp small.safetensors other/also.safetensors
run -q --list other
ok 'and files' grep -qx \
    'gpureduce: warning: other: skipped 2 files that model.safetensors.index.json does not name: also.safetensors and others' err
mv other/part-1.safetensors part-1
run -q --list other
ok 'or a file is missing' grep -q '^gpureduce: warning: other: skipped 2 files ' err
mv part-1 other/part-1.safetensors
rm other/also.safetensors
run -q --list other
ok 'a directory with an index' test "$(cut -f 1,2 out | tr '\t\n' ': ')" = \
    'other/part-1.safetensors:w.weight other/part-1.safetensors:w.bias other/part-1.safetensors:a b/c other/part-1.safetensors:empty other/part-2.safetensors:z '
run -q --list other/model.safetensors.index.json
ok 'an index' test "$(cut -f 1 out | uniq | tr '\n' ' ')" = 'other/part-1.safetensors other/part-2.safetensors '
cd other && run --list -q model.safetensors.index.json && cp out err .. && cd .. || exit 99
ok 'one that lies here' test "$(cut -f 1 out | uniq | tr '\n' ' ')" = 'part-1.safetensors part-2.safetensors '
rm other/part-2.safetensors
mv other/whole.safetensors .
run -q -o sum --array z other
is 'a part that is missing' 1 'NA' \
    'gpureduce: warning: other/part-1.safetensors: array a b/c: other/model.safetensors.index.json does not place it in this file, nor others
gpureduce: other/part-2.safetensors: No such file or directory'
: >other/part-2.safetensors
run -q -o sum --array z $index
is 'or empty' 1 'NA' \
    'gpureduce: warning: other/part-1.safetensors: array a b/c: other/model.safetensors.index.json does not place it in this file, nor others
gpureduce: other/part-2.safetensors: is empty, and not a safetensors file'
mv whole.safetensors other
# index_fails NAME TEXT: ./other and its index are refused so.
index_fails() {
    run -q -o sum other
    is "$1" 1 '' "gpureduce: $index: $2"
    run -q -o sum $index
    is "$1, by its name" 1 '' "gpureduce: $index: $2"
}
printf '{"weight_map": {"z": "part-2.safetensors"' >$index
index_fails 'an index that is cut off' 'byte 41: the index is malformed'
printf '{"weight_map": {"z": "../model/part-2.safetensors"}}' >$index
index_fails 'an index that names a file elsewhere' 'byte 50: it names a file that is not a *.safetensors in its directory'
printf '{"weight_map": {"z": "/dev/zero"}}' >$index
index_fails 'or something else' 'byte 32: it names a file that is not a *.safetensors in its directory'
printf '{"weight_map": [1]}' >$index
index_fails 'a map that is none' 'byte 15: the index is malformed'
printf '{"weights": {}}' >$index
index_fails 'no map' 'the index has no weight_map'
printf '{"weight_map": {}}' >$index
index_fails 'an empty map' 'the weight_map of the index names no arrays'
printf '{"weight_map": {}}\0' >$index
index_fails 'a zero byte' 'byte 0: the index is malformed'
run -q -o sum --total other three.f32
is 'no total without them' 1 '6
NA' "gpureduce: $index: byte 0: the index is malformed
gpureduce: no total: 1 of 2 files failed"
cp $index other/second.safetensors.index.json
run -q -o sum other
is 'several indices' 1 '' 'gpureduce: other: holds 2 indices of safetensors; name one of them'
mkdir bare
run -q -o sum bare
fails 'a directory without such files' 'bare: is a directory'
run -q --total -o median,count three.f32 small.safetensors
is 'no quantiles of a total of arrays' 1 '2
3
2
3
nan
2
2
3
nan
0
NA
NA' 'gpureduce: no total: quantiles and histograms cannot be computed over arrays of a container'


#
# Where it can be read.
#
run -q -o sum - <small.safetensors
ok 'standard input, if it is a file' test "$status:$(head -n 1 out)" = 0:6
{ printf xxxx && cat small.safetensors; } >behind
shell 'exec <behind; dd bs=4 count=1 2>/dev/null >dropped; gpureduce -q -o sum,median --array w.weight'
is 'a file that begins elsewhere' 0 '6
2' '*'

# From front to back. in_order NAME COMMAND FILE OPTION...: COMMAND, which writes FILE, piped into
# the program, prints what FILE does, but for its name.
in_order() {
    order_name=$1 order_command=$2 order_file=$3
    shift 3
    run "$@" "$order_file"
    sed -e "s|$order_file|-|" out >expected
    shell "$order_command | gpureduce $*"
    ok "$order_name: $*" sh -c "test $status = 0 && cmp expected out"
}
three >with.f32
safetensors odd.safetensors first:U8:3:bytes w:F32:3:with.f32 empty:F64:0,7:none z:F32:2:nan.f32
for how in '' '-j 1' '-j 5 --chunk-size=1' '-j 2 --chunk-size=8'; do
    for file in small.safetensors odd.safetensors data/containers/small.safetensors data/containers/small.gguf; do
        # shellcheck disable=SC2086 # several words
        ! share_takes_next || in_order "$file in a pipe" "cat $file" $file --tsv -o sum,min,argmax,nan,count $how
    done
done
file=data/containers/small.safetensors
for options in "--array='*.f*'" '--length=7' '--total' '-q' '--list --json' '--sort=-max' '--nan=skip --tsv --total' \
    '--format=safetensors' '--list --format=safetensors'; do
    for writer in "cat $file" "cat $file | dd bs=7"; do
        share_takes_next || continue
        shell "gpureduce -o sum,max $options $file"
        sed -e "s|$file|-|" out >expected
        shell "$writer 2>/dev/null | gpureduce -o sum,max $options"
        ok "in a pipe, $options" sh -c "test $status = 0 && cmp expected out"
        [ "$status" = 0 ] || explain
    done
done
shell "cat $file | gpureduce -q -o sum --nan=error --array='*nan'"
is 'the first NaN in a pipe' 1 NA 'gpureduce: standard input: array layer/0/nan: element 7 [1, 2] is a NaN'
shell "cat $file | gpureduce --tsv -o sum three.f32 -"
late='gpureduce: standard input: holds arrays, for which the lines before have no columns: name it first'
is 'too late for a heading' 1 "file${tab}sum
three.f32${tab}6
-${tab}NA" "$late"
shell "cat $file | gpureduce --tsv --total -q -o sum three.f32 -"
is 'and then there is no total' 1 "three.f32${tab}6
-${tab}NA
total${tab}NA" "$late
gpureduce: no total: 1 of 2 files failed"
shell 'cat data/containers/stored.npz | gpureduce -q -o sum --format=npz'
copy out found
run -q -o sum data/containers/stored.npz
ok 'an .npz in a pipe' cmp out found
# Every end of it but the right one.
for file in small.safetensors data/containers/small.gguf; do
    end=$(size $file) bad='' tried=0
    for n in $(seq 17 41 $((end - 33))) $((end - 33)); do # there is padding
        share_takes_next || continue
        tried=$((tried + 1))
        head -c "$n" "$file" >some
        shell 'cat some | gpureduce -q -o sum'
        { [ "$status" = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'standard input: .*byte' err; } || bad="$bad $n"
    done
    [ $tried = 0 ] || ok "$file, cut off at $tried places" test "$bad" = ''
done
shell '{ cat small.safetensors && printf xyz; } | gpureduce -q -o sum'
fails 'bytes behind it, in a pipe' "standard input: a safetensors file: byte $(size small.safetensors): the arrays end here, 3 bytes before the file does"
if [ -n "$ZSTD" ]; then
    for file in odd.safetensors data/containers/small.safetensors data/containers/small.gguf; do
        "$ZSTD" -q -c $file >one.zst
        "$ZSTD" -q -c <$file >unsized.zst
        { head -c 1001 $file | "$ZSTD" -q && tail -c +1002 $file | "$ZSTD" -q; } >torn.zst
        head -c 5 $file | "$ZSTD" -q >early.zst && tail -c +6 $file | "$ZSTD" -q >>early.zst
        for packed in one unsized torn early; do
            for how in '' '-j 3 --chunk-size=1'; do
                share_takes_next || continue
                # shellcheck disable=SC2086 # several words
                run --tsv -o sum,min,argmax,nan $how $file
                sed -e "s|$file|$packed.zst|" out >expected
                # shellcheck disable=SC2086 # as above
                run --tsv -o sum,min,argmax,nan $how $packed.zst
                ok "$file, $packed $how" cmp expected out
                shell "cat $packed.zst | gpureduce --tsv -o sum,min,argmax,nan $how"
                sed -e "s|$packed.zst|-|" expected >piped
                ok "$file, $packed, in a pipe $how" cmp piped out
            done
        done
        run -q --list --json $file
        sed -e "s|$file|one.zst|" -e 's/"format": "\([a-z]*\)"/"format": "\1+zstd"/' out >expected
        run -q --list --json one.zst
        ok "$file, a list" cmp expected out
        run --json --total -o count one.zst $file
        bytes=$(sed -n '$s/.*"bytes": \([0-9]*\), .*/\1/p' out)
        ok "$file, bytes of the total" grep -q "\"input_bytes\": $(($(size one.zst) + bytes / 2))," out
    done
    for file in data/containers/stored.npz data/containers/small.pt; do
        run --tsv -o sum,min,argmax,nan $file
        sed -e "s|$file|torn.zst|" out >expected
        { zstd_pieces $file 14 && tail -c +57 $file | "$ZSTD" -q -c; } >torn.zst
        run --tsv -o sum,min,argmax,nan torn.zst
        ok "$file, whose first frames have less than the header of a member" cmp expected out
    done
    flip one.zst $(($(size one.zst) - 2))
    run -q -o sum one.zst
    fails_like 'a wrong checksum' 'one.zst: .*checksum.*'
    head -c 400000 /dev/zero >zeros
    safetensors zeros.safetensors w:F32:3:with.f32 zeros:F32:100000:zeros
    "$ZSTD" -q zeros.safetensors -o zeros.zst
    flip zeros.zst $(($(size zeros.zst) - 2))
    run -q -o sum --array=w zeros.zst
    fails_like 'even if the first array suffices' 'zeros.zst: .*checksum.*'
    head -c 1000 early.zst >cut.zst
    run -q -o sum cut.zst
    ok 'cut off' test "$status:$(wc -l <err)" = 1:1
    "$ZSTD" -q small.safetensors -o small.safetensors.zst
    run -q -o sum --format=safetensors small.safetensors.zst
    is 'compressed, and said to be one' 0 '6
nan
6
0'
    run -q -o count --format=raw+zstd -t u8 small.safetensors.zst
    is 'compressed, and said to be none' 0 "$(wc -c <small.safetensors)" '*'
    run -q -o median small.safetensors
    copy out wanted
    run -q -o median small.safetensors.zst
    ok 'compressed, and read twice' cmp out wanted
else
    skip 'compressed' 'there is no zstd(1)'
fi
run -q -o count -t u8 --format=raw small.safetensors
is 'as raw numbers' 0 "$(wc -c <small.safetensors)" '*'

#
# Files that are none.
#
# hostile NAME ERROR: ./hostile is refused so, whether it is recognised or said to be one.
hostile() {
    run -q -o sum --format=safetensors hostile
    fails "$1" "hostile: a safetensors file: $2"
}
: >hostile
run -q -o sum --format=safetensors hostile
fails 'an empty file' 'hostile: is empty, and not a safetensors file'
printf '\2' >hostile
hostile 'a length that is cut off' 'byte 1: the file ends within the length of the header'
printf '\2\0\0\0\0\0\0\0{' >hostile
hostile 'a header that is cut off' 'byte 9: the file ends within the header of 2 bytes'
printf '\377\377\377\377\377\377\377\377{}' >hostile
hostile 'a header of 2^64 - 1 bytes' 'byte 0: a header of 18446744073709551615 bytes is more than the 100000000 allowed'
printf '\2\0\0\0\0\0\0\0{}x' >hostile
hostile 'bytes behind the arrays' 'byte 10: the arrays end here, 1 byte before the file does'
head -c 270 small.safetensors >hostile
run -q -o sum hostile
fails_like 'arrays that are cut off' 'hostile: a safetensors file: byte 270: the file ends here, [0-9]* bytes before the arrays do'
sed 's/\[3\]/[4]/' small.safetensors >hostile
run -q -o sum hostile
fails 'a shape that does not fit' \
    'hostile: a safetensors file: byte 20: array w.weight: 4 elements of F32: 16 bytes, but the offsets are 0 and 12'
{ cat small.safetensors && printf x; } >hostile
run --list -q hostile
ok '--list refuses the same' test "$status:$(wc -c <out):$(wc -l <err)" = 1:0:1

#
# The results are those of the arrays alone, whatever the threads and chunks: large arrays and small
# ones of many types, in turns.
#
set --
names='f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64'
for type in $names; do
    cp "data/raw/mixed-le.$type" "$type" 2>/dev/null || cp "data/raw/mixed.$type" "$type"
done
for i in $(seq 1500); do cat f32 f32 f32; done >large
cat large large f64 f64 f64 f64 f64 >larger
large_f32=$(($(wc -c <large) / 4)) larger_f64=$(($(wc -c <larger) / 8))
set -- "large:F32:$large_f32:large"
for i in 1 2 3 4; do
    for type in $names; do
        size=${type#?}
        [ "$type" != bf16 ] || size=16
        set -- "$@" "$type-$i:$(echo "$type" | tr '[:lower:]' '[:upper:]'):$(($(wc -c <"$type") * 8 / size)):$type"
    done
done
[ $((larger_f64 * 8)) -eq "$(wc -c <larger)" ] || fatal 'the elements are torn'
safetensors all.safetensors "$@" "larger:F64:$larger_f64:larger"
operations=sum,min,max,mean,count,argmin,argmax,nan,inf,var,sumsq,l1,absmax,absmin,zeros,negatives,subnormals
{
    run -q -o $operations large && cat out
    for i in 1 2 3 4; do
        for type in $names; do
            run -q -o $operations -t "$type" "$type" && cat out
        done
    done
    run -q -o $operations -t f64 larger && cat out
} >expected
for options in '' '-j 1' '-j 2' '-j 3' '-j 7' '-j 16 --chunk-size 1000' '-j 5 --chunk-size 64KiB' '-j 64'; do
    # shellcheck disable=SC2086 # none, or several words
    run -q -o $operations $options all.safetensors
    ok "all arrays as they are alone, ${options:-by default}" cmp expected out
done
environment=GPUREDUCE_DIRECT=0
run -q -o $operations all.safetensors
ok 'and through the page cache' cmp expected out
environment=
run -q -o $operations --total all.safetensors
tail -n 17 out >found
ok 'the total counts all elements' test "$(sed -n 5p found)" -eq \
    "$(awk 'NR % 17 == 5 { sum += $1 } END { print sum }' expected)"

#
# An index that does not fit its files.
#
mkdir fits lacks swapped
for d in fits lacks swapped; do
    cp three.f32 $d/
    (cd $d && safetensors m-1.safetensors a:F32:3:three.f32 && safetensors m-2.safetensors b:F32:3:three.f32 && rm three.f32)
done
echo '{"weight_map": {"b": "m-2.safetensors", "a": "m-1.safetensors"}}' >fits/m.safetensors.index.json
echo '{"weight_map": {"b": "m-2.safetensors", "x\u0079": "m-2.safetensors", "a": "m-1.safetensors", "z": "m-2.safetensors"}}' \
    >lacks/m.safetensors.index.json
echo '{"weight_map": {"a": "m-2.safetensors", "b": "m-1.safetensors"}}' >swapped/m.safetensors.index.json
run -q -o sum --total fits
is 'an index that fits' 0 '6
6
12'
why='missing, though lacks/m.safetensors.index.json places it in this file'
run --tsv -o sum lacks
is 'arrays that are missing' 1 "$(printf 'file\tarray\tdtype\tshape\tsum\n%s\n%s\n%s\n%s' "lacks/m-1.safetensors${tab}a${tab}f32${tab}[3]${tab}6" \
    "lacks/m-2.safetensors${tab}b${tab}f32${tab}[3]${tab}6" "lacks/m-2.safetensors${tab}xy${tab}NA${tab}NA${tab}NA" \
    "lacks/m-2.safetensors${tab}z${tab}NA${tab}NA${tab}NA")" "gpureduce: lacks/m-2.safetensors: array xy and 1 more: $why"
run -q -o sum --array=z --json lacks
is 'asked for by name' 1 "{\"file\": \"lacks/m-2.safetensors\", \"array\": \"z\", \"error\": \"$why\"}" '*'
run -q -o sum --total lacks
ok 'no total' test "$status:$(tail -n 1 out)" = 1:NA
run --list --json lacks
ok 'they are listed' test "$status:$(grep -c "\"elements\": null.*\"error\": \"$why\"}" out):$(wc -l <err)" = 1:2:2
run --diff fits lacks
ok '--diff tells' test "$status:$(grep -c "array xy: $why" err):$(grep -c "array z: $why" err)" = 2:1:1
run --axis=0 --tsv -q -o sum lacks/m.safetensors.index.json
ok '--axis, too' test "$status:$(grep -c NA out)" = 1:2
for shard in 1 2 3; do
    run --shard=$shard/3 --partial -o sum lacks
    cat out
done >shards
run --merge -q -o sum shards
ok 'and --merge' test "$status:$(grep -c ": none of its elements is in a partial result" err)" = 1:2
run -q -o sum swapped
ok 'in another file' test "$status:$(sort out | uniq -c | tr -d ' \n'):$(grep -c 'array [ab]: missing, though swapped/m' err)" = 1:262NA:2
ok 'which has arrays beside' test "$(grep -c 'warning: .* does not place it in this file' err)" = 2
run --diff fits swapped
ok 'compared all the same' test "$status:$(grep -c '0 of 2 arrays different' err)" = 2:1

#
# Names that there are not.
#
run --array=u nosuch.safetensors
is 'a file that is not there' 1 '' 'gpureduce: nosuch.safetensors: No such file or directory'
run '--array=*' three.f32
is 'a file that is one array' 1 '' 'gpureduce: three.f32: is one array without a name, which --array does not apply to'
if [ -n "$ZSTD" ]; then
    "$ZSTD" -q -c three.f32 >three.f32.zst
    run '--array=*' three.f32.zst
    is 'and compressed' 1 '' 'gpureduce: three.f32.zst: is one array without a name, which --array does not apply to'
fi
run --array=u --array=a --total -o sum fits
ok 'one name of two' test "$status" -eq 1
ok 'says which there are' grep -qx 'gpureduce: --array=u matches no array; there are a and b' err
run --array=u --total -o sum fits
is 'nothing of nothing' 1 '' 'gpureduce: --array=u matches no array; there are a and b'
run --array=u --json --total -o sum fits
is 'nor in JSON' 1 '' 'gpureduce: --array=u matches no array; there are a and b'

#
# Versions of GGUF that are not read.
#
for version in 1 4 200; do
    # shellcheck disable=SC2059 # the format is octal
    printf "GGUF\\$(printf %o $version)\\0\\0\\0" >version.gguf
    head -c 100 /dev/zero >>version.gguf
    run version.gguf
    fails_like "version $version of GGUF" "version.gguf: a GGUF file: byte 4: version $version is not supported.*"
done

#
# .npz by hand: members that are no arrays, and damage.
#
{ npy 1 "$(npy_header '<f4' '(3,)')" && three; } >three.npy
printf 'hello world, no npy' >hello
head -c 40 three.npy >cut.npy
npz misnamed.npz three.npy:three.npy bad.npy:hello notes.txt:hello
run -q -o sum misnamed.npz
is 'members that are no .npy' 0 6 \
    'gpureduce: warning: misnamed.npz: skipped array bad: no .npy file, though its name ends in .npy
gpureduce: warning: misnamed.npz: skipped array notes.txt: no .npy file'
run -q -o sum --array=three misnamed.npz
is 'which nobody has asked for' 0 6
run -q -o sum --array=bad misnamed.npz
is 'and which alone were asked for' 1 '' \
    'gpureduce: warning: misnamed.npz: skipped array bad: no .npy file, though its name ends in .npy
gpureduce: --array=bad matches no array that holds numbers'
npz short.npz three.npy:three.npy a/b.npy:cut.npy
run -q -o sum short.npz
is 'a member whose header is cut off' 1 '6
NA' "gpureduce: short.npz: array a/b: byte $(($(size three.npy) + 39 + 37)): the .npy header is cut off"
run --diff short.npz short.npz
ok 'compared with itself, it has no number of elements' grep -q '^0 of 2 arrays different: 3 elements, ' err

cat three.f32 three.f32 >six.f32
{ npy 1 "$(npy_header '<c32' '(3,)')" && cat six.f32; } >long.npy
{ npy 2 "   $(npy_header '<c32' '(3,)')" && cat six.f32; } >long-2.npy
npz long.npz r.npy:three.npy c.npy:long.npy
npz long-2.npz r.npy:three.npy c.npy:long-2.npy
offset=$(($(size three.npy) + $(size long.npy) + 2 * 35 - 24))
run --list -q long.npz
ok 'where an array lies that cannot be reduced' test "$(tail -n 1 out)" = "long.npz${tab}c${tab}<c32${tab}[3]${tab}3${tab}24${tab}$offset"
run --list --json --array=c long.npz
ok 'and so in JSON' grep -q "\"skip\": $offset, \"elements\": 3, \"bytes\": 24, \"error\": \"type <c32 is not supported: " out
run -q -o sum --format=raw --skip="$offset" --length=6 long.npz
is 'it lies there' 0 12
run --diff -q long.npz long-2.npz
is 'its header is not compared' 0 ''
run --diff long.npz long-2.npz
ok 'but its bytes are, and that is said' test "$status:$(grep -c '^gpureduce: warning: long.npz and long-2.npz: array c: both hold the same bytes, but they cannot be read: type <c32 is not supported: pairs of such floats' err)" = 0:1
{ npy 1 "$(npy_header '<U1' '(3,)')" && three; } >text.npy
npz text.npz r.npy:three.npy s.npy:text.npy
run -q -o sum text.npz
is 'what to do about a type stands behind what it is' 0 6 \
    "gpureduce: warning: text.npz: skipped array s: type <U1 is not supported: text; convert it first, with numpy's x.astype('f8')"

#
# .npz, packed by Python's own library. Its members are the samples, whose results are known.
#
python=$(command -v python3)
if [ -n "$python" ] && "$python" -c 'import zipfile, zlib' 2>/dev/null; then
    "$python" - <<'END'
import glob, os, zipfile

names = sorted(glob.glob("data/npy/*.npy"), key=lambda name: ("v1-f4" not in name, name))
def pack(path, method, names, **more):
    with zipfile.ZipFile(path, "w", method, **more) as archive:
        for name in names:
            archive.write(name, os.path.basename(name))
for name in list(names):
    pack("one.npz", zipfile.ZIP_STORED, [name])
    if os.system("gpureduce -q one.npz >one.out 2>one.err") or os.path.getsize("one.err"):
        names.remove(name)
open("names", "w").write("".join(f"{n}\n" for n in names))
pack("stored.npz", zipfile.ZIP_STORED, names)
pack("deflated.npz", zipfile.ZIP_DEFLATED, names)
pack("bzip2.npz", zipfile.ZIP_BZIP2, names[:1])
with zipfile.ZipFile("mixed.npz", "w") as archive:
    archive.write(names[0], "a/b.npy")
    archive.writestr("notes.txt", "notes")
    archive.write(names[1], "c.npy", zipfile.ZIP_DEFLATED)
# One large array, compressed well and badly.
elements = open("large", "rb").read() * 8
# An array whose header leaves the type open, alone and beside one of another type.
header = "{'descr': '<V2', 'fortran_order': False, 'shape': (2,)}"
void = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + b"\x80\x3f\0\x40"
with zipfile.ZipFile("void.npz", "w") as archive:
    archive.writestr("void.npy", void)
with zipfile.ZipFile("voids.npz", "w") as archive:
    archive.writestr("void.npy", void)
    archive.write(names[0], "typed.npy")
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,)}" % (len(elements) // 4)
open("big.npy", "wb").write(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + elements)
pack("big.npz", zipfile.ZIP_DEFLATED, names + ["big.npy"])
# Damage.
good = open("deflated.npz", "rb").read()
with zipfile.ZipFile("deflated.npz") as archive:
    first = archive.infolist()[0]
at = first.header_offset + 30 + len(first.filename) + first.compress_size // 2
open("damaged.npz", "wb").write(good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1:])
directory = good.rindex(b"PK\1\2", 0, good.index(b"PK\1\2") + 4)
open("sum.npz", "wb").write(good[:directory + 16] + bytes([good[directory + 16] ^ 1]) + good[directory + 17:])
size = first.compress_size - 9
open("short.npz", "wb").write(good[:directory + 20] + size.to_bytes(4, "little") + good[directory + 24:])
with zipfile.ZipFile("begin.npz", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("begin.npy", b"\x92" + open(names[0], "rb").read()[1:]) # 1 bit is wrong
    archive.infolist()[0].CRC ^= 1
END
    : >expected
    while read -r name; do
        run -q -o $operations "$name" && cat out
    done <names >expected
    ok 'there are members' test "$(wc -l <names)" -gt 10
    for options in '' '-j 1' '-j 3' '-j 16 --chunk-size 100'; do
        # shellcheck disable=SC2086 # none, or several words
        run -q -o $operations $options stored.npz
        ok "stored members as they are alone, ${options:-by default}" cmp expected out
    done
    run --list -q -o sum mixed.npz
    ok 'names are without .npy, and other members are listed' test \
        "$(cut -f 2 out | tr '\n' ' ')" = 'a/b notes.txt c '
    ok 'a member that is no array has no type' test "$(cut -f 3-5 out | sed -n 2p)" = "NA${tab}NA${tab}NA"
    run --list --json mixed.npz
    ok 'nor in JSON' grep -q '"array": "notes.txt", .*"dtype": null, ' out
    run -q -o sum -t bf16 void.npz
    is 'a type that the header leaves open' 0 3
    run -q -o count -t bf16 voids.npz
    ok 'and one beside it: no warning' test "$status" -eq 0 -a ! -s err
    run -q -o count -t bf16 --endian=big --skip=9 void.npz
    is 'what it does not leave open' 0 2 \
        'gpureduce: warning: void.npz: the npz header overrides what was asked for: --endian, --skip'
    run -q -o count bzip2.npz
    is 'another compression' 1 '' '*'
    ok 'and that is said' grep -q 'array .*: compressed by another method than deflate$' err
    run -q -o count mixed.npz
    if grep -q 'lacks zlib' err; then
        skip 'deflated members' 'built without zlib'
    else
        run --list --json --array='[ac]*' mixed.npz
        grep -o '"skip": [^,]*' out >expected.skip
        run --json -o count --array='[ac]*' mixed.npz
        grep -o '"skip": [^,]*' out >found
        ok 'a list says of skip what results do' cmp expected.skip found
        for options in '' '-j 1' '-j 3' '-j 16 --chunk-size 100'; do
            # shellcheck disable=SC2086 # none, or several words
            run -q -o $operations $options deflated.npz
            ok "deflated members as they are alone, ${options:-by default}" cmp expected out
        done
        run -q -o $operations big.npy && cat out >>expected
        run -q -o $operations big.npz
        ok 'and a large one' cmp expected out
        run -q -o median,count --array big big.npz
        cp out found
        run -q -o median,count big.npy
        ok 'quantiles of it' cmp out found
        run -q -o count --length=5 --array big big.npz
        is 'the first elements of it' 0 5 '*'
        first=$(head -n 1 names)
        first=${first##*/} first=${first%.npy}
        run -q -o sum --array "$first" sum.npz
        is 'a wrong checksum' 1 NA '*'
        ok 'which is said' grep -qx "gpureduce: sum.npz: array $first: byte [0-9]*: the checksum of this member is wrong" err
        run -q -o sum begin.npz
        fails_like 'a member whose damage leaves no .npy' 'begin.npz: array begin: byte [0-9]*: the checksum of this member is wrong'
        run -q -o median --array "$first" sum.npz
        is 'for quantiles, too' 1 NA "gpureduce: sum.npz: array $first: $(sed 's/.*: \(byte [0-9]*: the .*\)/\1/' err)"
        run -q -o sum,std deflated.npz
        { printf 'NA\nNA\n' && sed 1,2d out; } >expected
        for file in sum.npz short.npz damaged.npz; do
            for options in '' '-j 1' '-j 3 --chunk-size=64'; do
                # shellcheck disable=SC2086 # none, or several words
                run -q -o sum,std $options $file
                ok "$file: one error, and all other results${options:+, $options}" test \
                    "$status:$(grep -c "^gpureduce: $file: array $first: byte [0-9]*: " err):$(cmp expected out)" = 1:1:
            done
            run -q -o median,sum --total $file
            ok "$file: one by one, and no total" test "$status:$(grep -c NA out):$(grep -c "$first: byte" err)" = 1:4:1
            run --diff -q --skip-unsupported deflated.npz $file
            is "$file: compared" 2 '' '*'
            run --diff deflated.npz $file
            ok "$file: one row of an error" test "$status:$(grep -c . out):$(grep -c "^$first${tab}error" out)" = 2:2:1
            run -q --axis=0 -o sum --json --array="$first" $file
            ok "$file: along an axis" test "$status:$(grep -c '"error": "byte ' out)" = 1:1
        done
    fi
else
    skip '.npz' 'there is no python3 with zlib'
fi

#
# Files made by the format's package, and headers that this refuses or takes.
#
: "${ARRAYS_PYTHON:=${UNSUPPORTED_PYTHON:-python3}}"
if command -v "$ARRAYS_PYTHON" >/dev/null && "$ARRAYS_PYTHON" -c 'import numpy, safetensors' 2>/dev/null; then
    mkdir made
    "$ARRAYS_PYTHON" "$sources/tests/lib/make_arrays.py" made 2>made.err ||
        { fail 'make_arrays.py' && show made.err; }
    run -o sum,min,max,nan made/all.safetensors
    cut -f 2- out >found
    ok 'what the package writes' cmp made/all.tsv found
    [ "$failures" -eq 0 ] || diff made/all.tsv found | head -n 5 | sed 's/^/# /'
    if [ -f made/gguf.tsv ]; then
        run -o sum,min,max,nan made/all.gguf
        cut -f 2- out | grep -Ev "${tab}(IQ|Q8_1)" >found
        ok 'what gguf writes' cmp made/gguf.tsv found
        ok 'some quantised tensors are errors' test "$status:$(grep -c 'type IQ[12]_S is not supported: quantised by codebooks, which llama' err)" = 1:2
        ok 'intermediate results are errors' grep -q 'type Q8_1 is not supported: of intermediate results, whose blocks' err
    else
        skip 'what gguf writes' 'gguf is missing'
    fi
    for file in stored.npz deflated.npz; do
        run -o sum,min,max,nan --skip-unsupported made/$file
        if grep -q 'lacks zlib' err; then
            skip "what NumPy writes, $file" 'built without zlib'
            continue
        fi
        cut -f 2- out >found
        ok "what NumPy writes, $file" cmp made/npz.tsv found
        ok 'and what is left out of it' test "$(grep -c 'skipped array' err)" -eq 3
    done
    (cd made && exec gpureduce --tsv -o sum,count odd/*.npz odd/*.npy 2>err) | sed 1d | cut -f 1,2,5,6 | sort >found
    if grep -q 'lacks zlib' made/err; then
        skip 'what NumPy reads of other programs' 'built without zlib'
    else
        sort made/odd.tsv >expected
        ok 'what NumPy reads of other programs' cmp expected found
        [ "$failures" -eq 0 ] || diff expected found | head -n 5 | sed 's/^/# /'
    fi
    # shellcheck disable=SC2046 # the names are words
    run --list --json --format=safetensors $(sed 's|^\([^ ]*\) .*|made/\1|' made/headers)
    sed -n 's|^gpureduce: made/\([^:]*\): .*|\1|p' err | sort >refused
    sed -n 's/^\([^ ]*\) refused$/\1/p' made/headers | sort >expected
    ok "$(wc -l <expected) of $(wc -l <made/headers) headers are refused by both, and the rest by neither" \
        cmp expected refused
    [ "$failures" -eq 0 ] || diff expected refused | head -n 5 | sed 's/^/# /'
else
    skip 'files made by the package' 'safetensors or numpy is missing'
fi

finish
