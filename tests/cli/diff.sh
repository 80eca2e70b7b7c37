#!/bin/sh
# --diff: what is matched with what, what is printed of it, and exit statuses. tests/cli/diff_values.sh
# asks what differs.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

try="(try 'gpureduce --help')"

# set_of FILE HEADER DATA...: a safetensors file of this header.
set_of() {
    made=$1 header=$2
    shift 2
    { word ${#header} && word 0 && printf '%s' "$header" && cat "$@"; } >"$made"
}

# entry NAME TYPE SHAPE BEGIN END: an entry of its header.
entry() {
    printf '"%s":{"dtype":"%s","shape":[%s],"data_offsets":[%d,%d]}' "$@"
}

# trouble NAME TEXT: the last run ended with status 2, printed nothing, and one line on standard error.
trouble() {
    is "$1" 2 '' "gpureduce: $2"
}

: >none
three >three.f32
printf '\0\0\200\077\0\0\040\100\0\0\100\300' >other.f32 # 1, 2.5, -3
printf '\1\2\3' >bytes
printf '\1\2\4' >bytes2
{ npy 1 "$(npy_header '<f4' '(1, 3)')" && cat three.f32; } >three.npy
{ npy 1 "$(npy_header '<f4' '(1, 3)')" && cat other.f32; } >other.npy
set_of a.safetensors "{$(entry w.weight F32 3 0 12),$(entry w.bias F32 1,3 12 24),$(entry 'a b/c' U8 3,1 24 27),$(entry gone F64 0,7 27 27),$(entry q F4 6 27 30),$(entry t U8 3 30 33)}" \
    three.f32 three.f32 bytes bytes bytes
set_of b.safetensors "{$(entry new BOOL 3 0 3),$(entry w.bias F32 1,3 3 15),$(entry 'a b/c' U8 1,3 15 18),$(entry w.weight F32 3 18 30),$(entry q F4 6 30 33),$(entry t I8 3 33 36)}" \
    bytes other.f32 bytes three.f32 bytes2 bytes

#
# What is printed.
#
run --diff three.npy other.npy
golden 'two arrays' 1 diff
run --diff three.f32 three.npy
golden 'two that are the same' 0 diff-same
run --diff --json three.npy other.npy
golden 'an object' 1 diff-json
run --diff a.safetensors b.safetensors
golden 'two sets' 1 diff-sets
run --diff --json --tolerance=ulp:4,abs:1e-6 --tolerance=rel:0.125 --nan=skip a.safetensors b.safetensors
golden 'objects of sets' 1 diff-sets-json
run --diff a.safetensors a.safetensors
golden 'two sets that are the same' 0 diff-sets-same
run --diff --tsv --number=hex three.f32 other.f32
golden 'a table of one' 1 diff-hex
run --diff --tsv -v a.safetensors a.safetensors
golden 'a table of nothing' 0 diff-nothing
run --diff -q a.safetensors b.safetensors
is '-q says nothing' 1 ''
run --diff -q --json three.f32 other.f32
is '-q, nor in JSON' 1 ''
run --diff -q a.safetensors a.safetensors
is '-q, the same' 0 ''
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    script -qec 'gpureduce --no-progress --diff a.safetensors b.safetensors 2>/dev/null' /dev/null </dev/null |
        tr -d '\r' >out
    : >err
    status=0
    golden 'a table on a terminal' 0 diff-terminal
else
    skip 'a table on a terminal' 'there is no script(1)'
fi
if [ -w /dev/full ]; then
    shell 'gpureduce --diff three.f32 other.f32 >/dev/full'
    is 'standard output is full' 2 '' '*'
fi

# row NAME EXPECTED ARGUMENT...: what --tsv prints of the last array, but for its name, from `differs` to
# `first`.
row() {
    row_name=$1 row_expected=$2
    shift 2
    run --diff --tsv "$@"
    row_found=$(sed -n '2,$p' out | cut -f 2-7 | tr '\t' ' ' | tail -n 1)
    ok "$row_name" test "$status:$row_found" = "1:$row_expected"
    [ "$status:$row_found" = "1:$row_expected" ] || explain
}

#
# What is matched with what.
#
row 'an array of a set with a file' 'values f32 [3] 3 2 1' --array=w.weight other.f32 a.safetensors
row 'one with another shape' 'shape f32 [1,3]|[3] 3 2 1' --array=w.weight other.npy a.safetensors
run --diff --json three.f32 other.f32
ok 'raw numbers have one dimension in JSON, too' grep -q '"shape": \[3\], .*"other_shape": \[3\]' out
run --diff --json three.f32 other.npy
ok 'or the shape of the other side' grep -q '"shape": \[1, 3\], .*"other_shape": \[1, 3\]' out
run --diff -q --array=w.weight three.f32 a.safetensors
is 'the same' 0 ''
run --diff three.f32 a.safetensors
trouble 'several with a file' \
    'a.safetensors: it holds 6 arrays, but the other file is one; choose one with --array'
run --diff --array=none three.f32 a.safetensors
is 'none with a file' 2 '' \
    'gpureduce: a.safetensors: it holds no array, but the other file is one
gpureduce: --array=none matches no array; there are w.weight, w.bias, a b/c, gone, q and t'
run --diff -q --array='*[bw]*' --array='*c' a.safetensors b.safetensors
is 'those of a pattern' 1 ''
run --diff -q --array=w.weight a.safetensors b.safetensors
is 'those of another' 0 ''
mkdir one two
set_of one/x.safetensors "{$(entry a F32 3 0 12),$(entry b F32 3 12 24)}" three.f32 other.f32
set_of two/y-2.safetensors "{$(entry a F32 3 0 12)}" three.f32
set_of two/y-1.safetensors "{$(entry b F32 3 0 12)}" other.f32
run --diff one two
is 'a model in other parts' 0 '' '*'
ok 'and that is said' grep -q '^0 of 2 arrays different: 6 elements, 48 bytes of both' err
printf '{"weight_map":{"a":"y-2.safetensors"}}' >two/y.safetensors.index.json
row 'an index leaves some out' 'only-a f32 [3] 3 NA NA' one/x.safetensors two
cp two/y-2.safetensors two/y-3.safetensors
rm two/*.json
run --diff one two
trouble 'a name twice' 'two/y-3.safetensors: array a is in another file, too: two/y-2.safetensors'
printf '' >two/y-3.safetensors
run --diff one two
trouble 'a part that is none' 'two/y-3.safetensors: is empty, and not a safetensors file'

# Names that are changed before they are matched.
set_of mapped-a.safetensors "{$(entry model.layers.0.w F32 3 0 12),$(entry model.b F32 3 12 24),$(entry x F32 3 24 36)}" \
    three.f32 three.f32 three.f32
set_of mapped-b.safetensors "{$(entry layers.0.w F32 3 0 12),$(entry b F32 3 12 24),$(entry x F32 3 24 36)}" \
    three.f32 other.f32 three.f32
run --diff -q mapped-a.safetensors mapped-b.safetensors
is 'other names' 1 ''
run --diff -q --map='s/^model\.//' --exclude=b --exclude=model.b mapped-a.safetensors mapped-b.safetensors
is 'changed by --map' 0 ''
row 'one with two names' 'values f32 [3] 3 2 1' --map='s/^model\.//' mapped-b.safetensors mapped-a.safetensors
ok 'both are shown' test "$(sed -n 2p out | cut -f 1)" = 'b|model.b'
run --diff --json --map='s,^model[.],,' mapped-a.safetensors mapped-b.safetensors
ok 'also in JSON' grep -q '"array": "model.b", "other_array": "b", "differs": "values"' out
# Arrays by their elements, where names are other ones: x and y of the first are p and r of the second.
printf '\1\2\3' >u8
printf '\0\0\300\177\0\0\200\77\0\0\0\0' >of-z   # NaN, 1, 0
printf '\1\0\300\377\0\0\200\77\0\0\0\200' >of-q # another, 1, -0
set_of was.safetensors "{$(entry x F32 3 0 12),$(entry y F32 3,1 12 24),$(entry z F32 3 24 36),$(entry k U8 3 36 39),$(entry same F32 3 39 51)}" \
    other.f32 three.f32 of-z u8 three.f32
set_of is.safetensors "{$(entry q F32 3 0 12),$(entry r F32 3 12 24),$(entry p F32 3 24 36),$(entry l I8 3 36 39),$(entry same F32 3 39 51)}" \
    of-q three.f32 other.f32 u8 three.f32
run --diff --tsv was.safetensors is.safetensors
ok 'renamed arrays' test "$status:$(cut -f 1-5 out | tr '\t\n' ' ;')" = \
    '1:array differs dtype shape elements;x|p renamed f32 [3] 3;y|r renamed f32 [3,1]|[3] 3;z only-a f32 [3] 3;k only-a u8 [3] 3;q only-b f32 [3] 3;l only-b i8 [3] 3;'
run --diff -q was.safetensors is.safetensors
is 'they differ' 1 ''
if has_zlib && command -v python3 >/dev/null; then
    { npy 1 "$(npy_header '>f4' '(3,)')" && printf '\77\200\0\0\100\0\0\0\100\100\0\0'; } >w.npy
    python3 -c 'import zipfile; zipfile.ZipFile("named.npz", "w").write("w.npy")'
    run --diff --tsv --array=w --array=y named.npz was.safetensors
    ok 'in another byte order' test "$(sed -n 2p out | cut -f 1,2)" = "w|y${tab}renamed"
    printf abcdef >six
    { npy 1 "{'descr': '|u1', 'fortran_order': True, 'shape': (3, 2), }" && printf acebdf; } >f.npy
    python3 -c 'import zipfile; zipfile.ZipFile("deflated.npz", "w", zipfile.ZIP_DEFLATED).write("f.npy")'
    set_of six.safetensors "{$(entry c U8 3,2 0 6)}" six
    for pair in 'deflated.npz six.safetensors f|c' 'six.safetensors deflated.npz c|f'; do
        # shellcheck disable=SC2086 # two files
        run --diff --tsv ${pair% *}
        ok "compressed, in Fortran order, $pair" test "$(sed -n 2p out | cut -f 1,2)" = "${pair##* }${tab}renamed"
    done
    { npy 1 "{'descr': '|u1', 'fortran_order': False, 'shape': (6,), } and more" && printf abcdef; } >f.npy
    python3 -c 'import zipfile; zipfile.ZipFile("bad.npz", "w").write("f.npy")'
    for pair in 'deflated.npz bad.npz' 'bad.npz deflated.npz'; do
        # shellcheck disable=SC2086 # two files
        run --diff --tsv $pair
        ok "one cannot be read, $pair" test "$status:$(sed -n 2p out | cut -f 1,2):$(grep -c '^gpureduce: bad.npz: array f: byte ' err)" = \
            "2:f${tab}error:1"
    done
fi

# What sed makes of a name, as the name of the other side, which the command does not change.
while read -r from command; do
    to=$(printf '%s\n' "$from" | sed -E "$command")
    set_of from.safetensors "{$(entry "$from" F32 3 0 12)}" three.f32
    set_of to.safetensors "{$(entry "$to" F32 3 0 12)}" three.f32
    run --diff -q --map="$command" from.safetensors to.safetensors
    is "$from $command" 0 ''
done <<'END'
model.layers.0.w s/^model\.//
model.layers.12.w s/layers\.([0-9]+)\./blk.\1_/
a.b.c s/\./\//g
a.b.c s|[.]|/|g
ab s/^(a)(b)$/\2&\1&/
abcabc s/(x*)c/\1d/g
ab/c s/b\/c/e\/f/
a+b s/a\+b/a\&b/
END
for bad in s s/a y/a/b/ s/a/b s/a/b/x 's/(/b/' 's/a/\1/' 's/a/b\/'; do
    run --diff --map="$bad" mapped-a.safetensors mapped-b.safetensors
    ok "--map=$bad" test "$status:$(grep -c '^gpureduce: bad --map ' err)" = 2:1
done
run --diff --map='s/model.*/x/' mapped-a.safetensors mapped-b.safetensors
ok 'two of one name' test "$status:$(grep -c ': arrays model.* and model.* would both be matched as x$' err)" = 2:1

#
# Types, shapes and lengths.
#
{ npy 1 "$(npy_header '<f2' '(6,)')" && cat three.f32; } >half.npy
row 'another type' 'dtype f32|f16 [1,3]|[6] 3|6 NA NA' three.npy half.npy
head -c 8 three.f32 >two.f32
row 'fewer' 'shape f32 [3]|[2] 3|2 NA NA' three.f32 two.f32
for pair in 'three.f32 two.f32 [3]|[2] 3|2' 'two.f32 three.f32 [2]|[3] 2|3'; do
    # shellcheck disable=SC2086 # four words
    set -- $pair
    shell "cat $2 | gpureduce --diff --tsv $1 -"
    row_found=$(sed -n '2,$p' out | cut -f 2-7 | tr '\t' ' ')
    ok "fewer from a pipe: $1 $2" test "$status:$row_found" = "1:shape f32 $3 $4 NA NA"
    shell "cat $1 | gpureduce --diff --tsv - $2"
    row_found=$(sed -n '2,$p' out | cut -f 2-7 | tr '\t' ' ')
    ok "and on the other side: $1 $2" test "$status:$row_found" = "1:shape f32 $3 $4 NA NA"
done
run --diff -q --length=2 three.f32 two.f32
is 'as many by --length' 0 ''
shell 'gpureduce --diff -q none none && cat none | gpureduce --diff -q - none'
is 'nothing' 0 ''
row 'nothing, and something' 'shape f32 [0]|[3] 0|3 NA NA' none three.f32
{ npy 1 "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }" && cat three.f32 three.f32; } >fortran.npy
{ npy 1 "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }" && cat three.f32 other.f32; } >fortran2.npy
{ npy 1 "$(npy_header '<f4' '(3, 2)')" && cat three.f32 three.f32; } >c.npy
row 'Fortran order' 'values f32 [3,2] 6 2 4 [1, 1]' fortran.npy fortran2.npy
shell 'cat fortran.npy | gpureduce --diff --tsv - c.npy'
ok 'Fortran order from a pipe, beside C order' test "$status:$(sed -n 2p out | cut -f 6,7)" = "1:4${tab}1 [1, 0]"
{ npy 1 "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3), }" && cat three.f32; } >line.npy
run --diff -q three.npy line.npy
is 'of one dimension' 0 ''
printf '\077\200\0\0\100\0\0\0\100\100\0\0' >three.big
{ npy 1 "$(npy_header '>f4' '(1, 3)')" && cat three.big; } >big.npy
run --diff -q three.f32 big.npy
is 'another byte order' 0 ''
run --diff -q --skip=4 three.f32 three.f32
is '--skip' 0 ''

#
# NaNs, zeros, tolerances.
#
printf '\0\0\300\177\0\0\200\77\0\0\0\0' >nan.f32   # NaN, 1, 0
printf '\1\0\300\377\0\0\200\77\0\0\0\200' >nan2.f32 # another, 1, -0
printf '\0\0\200\77\0\0\300\177\0\0\0\0' >nan3.f32  # 1, NaN, 0
run --diff nan.f32 nan2.f32
is 'NaNs are the same, and zeros' 0 '' '*'
row 'NaN and a number' 'values f32 [3] 3 2 0' nan.f32 nan3.f32
ok 'all are NaN' test "$(sed -n 2p out | cut -f 8-)" = "nan${tab}0${tab}nan${tab}0${tab}nan${tab}0${tab}nan${tab}nan${tab}2"
run --diff --nan=skip nan.f32 nan3.f32
is 'NaNs are skipped' 0 '' '*'
run --diff --nan=error nan.f32 nan.f32
trouble 'NaNs are errors' 'nan.f32 and nan.f32: element 0 is a NaN in at least one of them'
run --diff -q --nan=error three.f32 nan3.f32
is 'on one side' 2 '' 'gpureduce: three.f32 and nan3.f32: element 1 is a NaN in at least one of them'
{ cat three.f32 nan.f32; } >six.f32
set_of nan.safetensors "{$(entry x F32 2,3 0 24),$(entry y F32 3 24 36)}" six.f32 three.f32
set_of nan2.safetensors "{$(entry x F32 2,3 0 24),$(entry y F32 3 24 36)}" six.f32 other.f32
run --diff --tsv --nan=error nan.safetensors nan2.safetensors
ok 'which array, and which element' grep -q \
    '^gpureduce: nan.safetensors and nan2.safetensors: array x: element 3 \[1, 0\] is a NaN' err
ok 'the others are compared' test "$status:$(sed -n '2,$p' out | cut -f 1)" = "2:x
y"
run --diff --json --nan=error nan.safetensors nan2.safetensors
ok 'and the object of the array has the error' grep -q \
    '"array": "x", "differs": "error", "error": "nan.safetensors and nan2.safetensors: array x: element 3 \[1, 0\] is a NaN' out
if ! gpureduce --version | grep -qx 'deflate: none'; then
    { head -c 200 data/containers/deflated.npz && printf '\1\2' && tail -c +203 data/containers/deflated.npz; } >torn.npz
    run --diff --json data/containers/deflated.npz torn.npz
    ok 'so has that of one that is decoded in order' grep -q '"differs": "error", "error": "torn.npz: array mixed.f32: byte ' out
fi

#
# Missing values.
#
run --diff --missing=nan nan.f32 nan2.f32
is 'missing on both sides' 0 '' '*'
run --diff --nan=error --missing=nan nan.f32 nan.f32
is 'and no NaN' 0 '' '*'
row 'missing on one side' 'values f32 [3] 3 2 0' --missing=nan nan.f32 nan3.f32
ok 'and how many' test "$(sed -n '1s/.*\t//p;2s/.*\t//p' out | tr '\n' ' ')" = 'missing 2 '
run --diff --tolerance=rel:2 --nan=skip --missing=0x1p0 --missing=3 three.f32 other.f32
ok 'whatever is tolerated' test "$status:$(grep -E '^(different|missing|max_abs)' out | tr '\t\n' ': ')" = \
    '1:different:1 max_abs:0.5 max_abs_at:1 missing:1 '
run --diff --json --missing=2.5 --missing=3 three.f32 other.f32
ok 'in JSON' grep -q '"missing_values": \[2.5, 3\], "other_dtype".*"other_missing_values": \[2.5, 3\].*"nan": 0, "missing": 2, "missing_both": 0, "nan_both": 0' out
run --diff -q --missing=nan nan.f32 nan3.f32
is 'a verdict' 1 ''
run --diff --missing=-1 -t u8 three.f32 other.f32
trouble 'a value that the type lacks' \
    'three.f32 and other.f32: the missing value -1 is not a value of type u8'
run --diff -q --array='*[bw]*' --missing=-1 --missing=-3 --array='*c' a.safetensors b.safetensors
is 'a type of a set may lack it' 1 ''

# 2 and 2.5, 3 and -3.
for tolerance in ulp:2155872256 abs:6 rel:2 ulp:2097152,abs:6 abs:0.5,rel:2 \
    ulp:2155872256,ulp:1 abs:6,abs:0.5 rel:2,rel:0 ulp:18446744073709551615; do
    run --diff -q --tolerance="$tolerance" three.f32 other.f32
    is "all within $tolerance" 0 ''
done
for tolerance in ulp:2155872255 abs:5.999999999999999 rel:1.9999999999999998 ulp:2097152,abs:0.5,rel:0.2; do
    run --diff -q --tolerance="$tolerance" three.f32 other.f32
    is "not within $tolerance" 1 ''
done
printf '\377\377\377\377\377\377\377\377\1\1\1\1\1\1\1\1' >greatest
head -c 8 /dev/zero >least && printf '\2\1\1\1\1\1\1\1' >>least
run --diff --json -t u64 --tolerance=ulp:18446744073709551614 greatest least
ok 'a difference beyond 2^63 ulps' grep -q '"ulp": 18446744073709551614.*"max_ulp": 18446744073709551615' out
run --diff --json -t u64 --tolerance=ulp:18446744073709551615 greatest least
is 'is tolerated' 0 '' '*'
run --diff --json --tolerance=ulp:18446744073709551615 nan.f32 nan3.f32
ok 'the greatest tolerance is shown' grep -q '"tolerance": {"ulp": 18446744073709551615}' out
# Of some arrays: bias has 2 and 2.5, 3 and -3, and x is the same.
set_of some-a.safetensors "{$(entry w.bias F32 3 0 12),$(entry v.bias F32 3 12 24),$(entry a=b F32 3 24 36)}" three.f32 three.f32 three.f32
set_of some-b.safetensors "{$(entry w.bias F32 3 0 12),$(entry v.bias F32 3 12 24),$(entry a=b F32 3 24 36)}" other.f32 other.f32 other.f32
# tolerated NAMES OPTION...: the arrays that differ.
tolerated() {
    tolerated_names=$1
    shift
    run --diff --tsv "$@" some-a.safetensors some-b.safetensors
    ok "with $*" test "$(sed 1d out | cut -f 1 | tr '\n' ' ')" = "$tolerated_names"
}
tolerated 'w.bias v.bias a=b ' --tolerance='w.bias=abs:1'
tolerated 'a=b ' --tolerance='*.bias=abs:6'
tolerated 'w.bias v.bias ' --tolerance='a=b=abs:6'
tolerated 'v.bias a=b ' --tolerance='*.bias=abs:6' --tolerance='v*=abs:1'
tolerated 'v.bias ' --tolerance=abs:6 --tolerance='v*=abs:1,rel:0.5'
tolerated '' --tolerance='v*=ulp:1,rel:2' --tolerance=abs:1,abs:6
run --diff -q --tolerance='*=abs:6' three.f32 other.f32
is 'a file that is one array has an empty name' 0
run --diff -q --tolerance='?*=abs:6' three.f32 other.f32
is 'which has no letter, and an error says so' 2 '' "gpureduce: --tolerance: ?* matches no array"
run --diff -q --tolerance='*.wieght=abs:1' --tolerance='v*=abs:6' --tolerance='[ab]=rel:1' some-a.safetensors some-a.safetensors
is 'two patterns that match no array' 2 '' "gpureduce: --tolerance: *.wieght matches no array
gpureduce: --tolerance: [ab] matches no array"
run --diff --json --tolerance='v*=abs:1' some-a.safetensors some-b.safetensors
ok 'each has its own in JSON' test "$(sed 's/.*"tolerance": \({[^}]*}\).*/\1/' out | tr '\n' ' ')" = '{} {"abs": 1} {} '
run --diff -q --tolerance=ulp:1000 a.safetensors b.safetensors
is 'a tolerance is for values alone' 1 ''

#
# Wrong usage, and what is wrong with files.
#
run --diff three.f32
is 'one file' 2 '' "gpureduce: option '--diff' needs two files $try"
run --diff three.f32 other.f32 none
is 'three files' 2 '' "gpureduce: --diff compares two files; remove 'none' $try"
run --diff - - </dev/null
is 'standard input twice' 2 '' "gpureduce: '-', standard input, can be only one of the two files $try"
run --tolerance=ulp:1 three.f32
is '--tolerance alone' 2 '' "gpureduce: option '--tolerance' needs --diff $try"
for bad in 1 ulp ulp: ulp:-1 ulp:18446744073709551616 ulp:1.5 abs:-1 abs:nan rel:inf rel: 'abs:1,' ulp:1,x:2 '*=1' '*=' =abs:x \
    "abs:0.$(printf '%0100d' 1)"; do
    run --diff --tolerance="$bad" three.f32 three.f32
    ok "--tolerance=$bad" test "$status:$(grep -c '^gpureduce: bad tolerance .*: must be ulp:N' err)" = 2:1
done
for other in --op=sum --ddof=1 --histogram=3 --plot=x.svg --check=x --total --list --fail-on=nan \
    --device=gpu; do
    run --diff "$other" three.f32 other.f32
    is "$other" 2 '' "gpureduce: option '${other%=[!g]*}' does not go with --diff $try"
done
run --diff missing three.f32
trouble 'a file that is missing' 'missing: No such file or directory'
run --diff three.f32 missing
trouble 'the other one' 'missing: No such file or directory'
head -c 11 three.f32 >cut.f32
run --diff three.f32 cut.f32
trouble 'a file that is cut off' 'cut.f32: byte 8: the last f32 element is cut off after 3 of 4 bytes'
shell 'cat cut.f32 | gpureduce --diff three.f32 -'
trouble 'a pipe' 'standard input: byte 8: the last f32 element is cut off after 3 of 4 bytes'
mkdir empty
run --diff empty three.f32
trouble 'a directory' 'empty: is a directory'

# Pipes: both sides are opened before any is read, and read in step, as one writer may feed both.
mkfifo fifo other hold
head -c 3000000 /dev/zero >zeros
shell 'timeout 50 tee fifo <zeros | timeout 20 gpureduce --diff - fifo'
is 'one writer of a pipe and a FIFO' 0 '' '*'
{ cat zeros && three; } >longer
shell 'timeout 50 tee fifo <longer >other & timeout 20 gpureduce --diff other fifo'
is 'one writer of two FIFOs' 0 '' '*'
timeout 60 cat three.f32 hold 1<>fifo & # opening hold waits, and so the FIFO does not end
writer=$!
shell 'timeout 10 gpureduce --diff fifo missing'
trouble 'a file that is missing, told before the pipe ends' 'missing: No such file or directory'
shell 'timeout 10 gpureduce --diff fifo cut.f32'
trouble 'a file that is cut off, likewise' \
    'cut.f32: byte 8: the last f32 element is cut off after 3 of 4 bytes'
kill "$writer"

# -q ends at the first difference, whatever else is to come.
stalls() {
    timeout 60 cat "$1" hold 1<>fifo &
    writer=$!
    shift
    shell "timeout 10 gpureduce --diff -q $*"
    is "-q $*, with a pipe that stalls" 1 ''
    kill "$writer"
}
head -c 100000 zeros >a
{ head -c 90000 zeros && head -c 10000 longer && echo different; } >b
copy a c
flip c 50001
stalls a -t u8 -j 1 fifo c
stalls a -t u8 -j 4 c fifo
stalls b -t u8 -j 3 fifo a
stalls b -t u8 a fifo
timeout 60 cat c hold 1<>other &
other=$!
stalls a -t u8 fifo other
kill "$other"
for args in '/dev/zero a' 'a /dev/zero' '- /dev/zero' '/dev/zero -'; do
    shell "timeout 10 gpureduce --diff -q -t u8 $args <a"
    is "-q $args, which does not end" 1 ''
done
shell 'cat cut.f32 | gpureduce --diff -q three.f32 -'
trouble '-q, of a pipe that is cut off' \
    'standard input: byte 8: the last f32 element is cut off after 3 of 4 bytes'

if [ -n "$ZSTD" ]; then
    "$ZSTD" -q zeros && head -c 60 zeros.zst >cut.zst
    run --diff cut.zst cut.zst
    ok 'an error of one file on both sides is told once' test "$status:$(wc -l <err)" = 2:1
fi

# An advice names the file.
printf '\375\067zXZ\0\0\4\346\326\264F' >a.xz
run --diff a.xz a.xz
is 'advice that names the file' 2 '' \
    'gpureduce: a.xz: an xz file; try: xz -dc a.xz | gpureduce (--format=raw reads it as raw numbers)'

finish
