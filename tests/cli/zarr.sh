#!/bin/sh
# Zarr stores in directories: by zarr, against what it reads; and by hand.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

operations=sum,min,max,argmin,argmax,nan,count
if has_zlib && find_python 'sys, zarr.codecs, numcodecs, numpy; zarr.__version__ >= "3" or sys.exit(1)'; then
    mkdir made
    PYTHONWARNINGS=ignore "$python" "$sources/tests/lib/make_zarr.py" made 2>made.err || { fail 'make_zarr.py' && show made.err; }
    for store in made/*-*.zarr; do
        name=${store%.zarr}
        for options in '' '-j 1' '-j 3 --chunk-size 16'; do
            share_takes_next || continue
            # shellcheck disable=SC2086 # none, or several words
            run --tsv --stored -o $operations $options "$store"
            { head -n 1 out && sed 1d out | LC_ALL=C sort -t "$tab" -k 2; } | cut -f 2- >found
            run --tsv -o $operations "$name.npz"
            { head -n 1 out && sed 1d out | LC_ALL=C sort -t "$tab" -k 2; } | cut -f 2- >wanted
            ok "${name#*/}, ${options:-by default}" cmp wanted found
        done
        run --tsv --stored -o sum "$store"
        cut -f 2,5 out >found
        ok "${name#*/}, sums of integers" test "$(grep -cxF -f "$name.sums" found)" = "$(grep -c . "$name.sums")"
        run --diff --stored "$store" "$name.npz"
        ok "${name#*/}, no differences" test "$status:$(grep -c . out)" = 0:0
        run -q --stored --total -o sum,count "$store"
        tail -n 2 out >total
        run -q --total -o sum,count "$name.npz"
        tail -n 2 out >found
        ok "${name#*/}, a total" cmp total found
        run --tsv --stored -o sum,count "$store"
        cut -f 1-3,5- out | LC_ALL=C sort >wanted
        for i in 1 2 3; do
            run --partial --stored --shard=$i/3 -o sum,count "$store"
            cat out
        done >parts
        run --merge --tsv -o sum,count parts
        cut -f 1-3,5- out | LC_ALL=C sort >found
        ok "${name#*/}, shards" cmp wanted found
        [ -f "$store/.zmetadata" ] || continue
        run --tsv --stored -o $operations "$store"
        cut -f 2- out >wanted
        find "$store" \( -name .zarray -o -name .zgroup -o -name .zattrs \) -exec rm {} +
        run --tsv --stored -o $operations "$store"
        cut -f 2- out >found
        ok "${name#*/}, consolidated metadata alone" cmp wanted found
    done
    for options in '-o sum,max --axis=0' '-o sum,max --axis=1' '-o q0.25,median' '-o sum,argmax --length=7001' '-o digest'; do
        # shellcheck disable=SC2086 # several words
        run -q $options made/alone.npy
        cp out wanted
        # shellcheck disable=SC2086 # several words
        run -q $options made/alone.zarr
        ok "an array alone, $options" cmp wanted out
    done
else
    skip 'stores by zarr' 'zarr or zlib is missing'
fi

# make STORE FIELDS: five bytes in chunks of two, without the last.
make() {
    mkdir -p "$1"
    printf '{"zarr_format":2,"shape":[5],"chunks":[2],"dtype":"|u1","order":"C","filters":null,"fill_value":7%s}' "$2" >"$1/.zarray"
    printf '\001\002' >"$1/0"
    printf '\003\004' >"$1/1"
}
make plain ',"compressor":null'
run -q -o sum,count plain
is 'a chunk that is missing' 0 '17
5'
run --list --json plain
ok 'chunks are counted' grep -q '"chunks": 3, "missing_chunks": 1, ' out
run --list -v --tsv plain
ok 'and those that are missing' test "$(cut -f 10 out | tr '\n' :)" = missing_chunks:1:
run --list --tsv plain
ok 'an array that is the whole store' test "$(sed 1d out | cut -f 2-3)" = "array${tab}u8"
printf '\003' >plain/1
run -q -o sum plain
fails_like 'a short chunk' 'plain: array array: chunk 1: 1 bytes, for a chunk of 2'
printf '\003\004\005' >plain/1
run -q -o sum plain
fails_like 'a long chunk' 'plain: array array: chunk 1: 3 bytes, for a chunk of 2'
: >plain/1
run -q -o sum plain
fails_like 'an empty chunk' 'plain: array array: chunk 1: 0 bytes, for a chunk of 2'
mkdir pairs
printf '{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":"<c8","order":"C","filters":null,"compressor":null,"fill_value":3}' >pairs/.zarray
printf '{"_ARRAY_DIMENSIONS":["x"]}' >pairs/.zattrs
run -q -o sum pairs
is 'a fill value of complex numbers that xarray calls missing' 1 'NA
NA' 'gpureduce: pairs: array re and 1 more: its attribute _FillValue is not supported for records and complex numbers; --stored ignores attributes'
run -q -o sum --stored pairs
is 'complex numbers as stored' 0 '3
0'
has_zlib && zlib=yes || zlib=
for id in zstd ${zlib:+gzip zlib} blosc; do
    make "$id" ",\"compressor\":{\"id\":\"$id\"}"
    run -q -o sum "$id"
    fails_like "chunks that are not $id" "$id: array array: chunk [01]: .*"
done
make scaled ',"compressor":null'
printf '{"scale_factor":0.5,"add_offset":1,"missing_value":3,"x":NaN}' >scaled/.zattrs
run -q -o sum,count,missing scaled
is 'scale and missing values' 0 '11
4
1'
run -q -o sum,count --stored scaled
is 'as stored' 0 '17
5'
printf '{"scale_factor":2,"note":"a\\u0000b"}' >scaled/.zattrs
run -q -o sum scaled
is 'a text with a NUL among attributes' 0 34
printf '{"scale_factor":2,"a":%s%s}' "$(printf '%063d' 0 | tr 0 '[')" "$(printf '%063d' 0 | tr 0 ']')" >scaled/.zattrs
run -q -o sum scaled
is 'lists in each other among attributes' 0 34
# With an offset beyond 2^64 the numbers of integers are binary64.
while read -r offset sum least; do
    printf '{"add_offset":%s}' "$offset" >scaled/.zattrs
    run -q -o sum,min scaled
    is "offset $offset" 0 "$sum
$least"
    run -q --axis=0 -o sum,min scaled
    is "offset $offset, along an axis" 0 "$sum$tab$least"
done <<'END'
18446744073709551616 92233720368547758097 18446744073709551617
36893488147419103232 1.844674407370955e+20 3.6893488147419103e+19
1e300 5e+300 1e+300
-1e300 -5e+300 -1e+300
END
make xarray ',"compressor":null'
printf '{"_ARRAY_DIMENSIONS":["x"]}' >xarray/.zattrs
run -q -o sum,count,missing xarray
is 'a fill value that xarray calls missing' 0 '10
4
1'
mkdir decimal
printf '{"zarr_format":2,"shape":[4],"chunks":[4],"dtype":"<f4","order":"C","filters":null,"compressor":null,"fill_value":0.1}' >decimal/.zarray
printf '{"_ARRAY_DIMENSIONS":["x"],"missing_value":[0.2,3]}' >decimal/.zattrs
printf '\315\314\314\075\000\000\200\077\315\314\114\076\000\000\200\077' >decimal/0 # 0.1, 1, 0.2, 1
run -q -o sum,count,missing decimal
is 'decimals that stand for the nearest binary32' 0 '2
2
2'
# refused NAME FIELDS WHY
refused() {
    make "$1" "$2"
    run -q -o sum "$1"
    ok "$1 is refused" test "$status:$(grep -c "array: Zarr's $3" err):$(cat out)" = 1:1:NA
}
refused bz2 ',"compressor":{"id":"bz2","level":1}' 'compressor bz2 is not supported'
refused filter ',"compressor":null,"filters":[{"id":"fixedscaleoffset"}]' 'filter fixedscaleoffset is not supported'
refused delta ',"compressor":null,"filters":[{"id":"delta","dtype":"<i4","astype":"<i2"}]' 'filter delta of <i2 is not supported'
refused floats ',"compressor":null,"filters":[{"id":"delta","dtype":"<f4","astype":"<f4"}]' 'filter delta of <f4 is not supported'
refused order ',"compressor":null,"order":"A"' 'order of elements A is not supported'
refused dot ',"compressor":null,"dimension_separator":"-"' 'separator - is not supported'
refused number ',"compressor":null,"dimension_separator":0' "separator '' is not supported"
refused part ',"compressor":null,"filters":[{"id":"shuffle","elementsize":5}]' "filter shuffle of parts of elements is not supported"
refused member ',"compressor":null,"filters":[{"id":"shuffle","ellementsize":1}]' 'filter shuffle with ellementsize is not supported'
for text in '' '{' '{"zarr_format":2}' '[]' '{"zarr_format":3,"shape":[5],"chunks":[2],"dtype":"|u1","compressor":null}' \
    '{"zarr_format":2,"shape":[-5]}'; do
    rm -rf bad && mkdir -p bad/a bad/b && printf '{"zarr_format":2}' >bad/.zgroup && cp plain/.zarray plain/0 bad/a
    printf '%s' "$text" >bad/b/.zarray
    run -q -o sum bad
    ok "metadata '$text'" test "$status:$(tr '\n' : <out)$(grep -c '^gpureduce: bad: array b: b/.zarray: .*not .*' err)" = 1:24:NA:1
    run --list --tsv bad
    ok "metadata '$text', a list" test "$status:$(cut -f 2 out | tr '\n' :)" = 1:array:a:b:
done
for name in a ../plain a/../../plain; do
    rm -rf alone && mkdir -p alone/a && cp plain/0 alone/a
    printf '{"metadata":{"%s/.zarray":%s}}' "$name" "$(cat plain/.zarray)" >alone/.zmetadata
    run -q -o sum,count alone
    if [ $name = a ]; then
        is 'consolidated metadata alone' 0 "24
5"
    else
        fails "consolidated metadata of $name" 'alone: a Zarr store: .zmetadata: a name that leads out of the store'
    fi
done
echo '{"x":NaN,"metadata":{"a/.zarray":' >alone/.zmetadata
run -q -o sum alone
fails 'consolidated metadata that are cut off' 'alone: a Zarr store: .zmetadata: byte 34: not JSON'
mkdir dots
printf '{"zarr_format":2}' >dots/.zgroup
mkdir dots/.a dots/..b
cp plain/.zarray plain/0 dots/.a
cp plain/.zarray plain/0 dots/..b
run -q --tsv -o sum dots
is 'names that begin with dots' 0 "dots${tab}..b${tab}u8${tab}[5]${tab}24
dots${tab}.a${tab}u8${tab}[5]${tab}24"
mkdir none
run --format=zarr none
fails 'a directory that is no store' 'none: a Zarr store: no zarr.json, .zarray, .zgroup or .zmetadata in the directory'
make link ',"compressor":null'
ln -s nowhere link/2
run -q -o sum link
fails 'a chunk that is a link to nothing' 'link: array array: chunk 2: a symbolic link to a file that is missing'

# Records of five bytes, the last of which is in a chunk that is missing.
records() {
    mkdir -p "$1"
    printf '{"zarr_format":2,"shape":[3],"chunks":[2],"dtype":%s,"order":"C","filters":null,"compressor":null,"fill_value":%s}' "$2" "$3" >"$1/.zarray"
    printf '\001\000\002\000\003\004\000\005\377\372' >"$1/0"
}
fields='[["a", "|u1"], ["b", ">i2", [2]]]'
records fields "$fields" '"CQEAAQA="'
run --tsv -o sum,count fields
is 'fields of records' 0 "file${tab}array${tab}dtype${tab}shape${tab}sum${tab}count
fields${tab}a${tab}u8${tab}[3]${tab}14${tab}3
fields${tab}b${tab}i16${tab}[3,2]${tab}516${tab}6"
run -q -o sum --axis=0 --array=b fields
is 'fields of records along an axis' 0 '263
253'
records zeros '[["t", [["n", "|u1"]]], ["b", ">i2", [2]]]' 0
run -q -o sum zeros
is 'a field in a field' 0 '5
4'
for bad in '"CQEAAgA="' '"CQEA"' '"CQEAAQ=="' 1; do
    records unfilled "$fields" "$bad"
    run -q -o sum --array=b unfilled
    fails "the fill value $bad of a field" "unfilled: array b: Zarr's fill_value of this array is not supported"
done
while IFS=\; read -r type why; do
    records wrong "$type" null
    run -q -o sum wrong
    fails "the type $type" "wrong: array array: .zarray: byte 50: $why"
done <<'END'
[];it has no fields
[["a", "|O"]];a field holds Python objects, which are pickled and not read
[["a"]];the type of a field is missing
[["a", "<f4", [2]], 1];a field is not a tuple
END
printf '\001' >fields/0
run -q -o sum --array=a fields
fails 'a short chunk of records' 'fields: array a: chunk 0: 1 bytes, for a chunk of 10'

# nest NAME DEPTH: records in each other, so many, the innermost of one byte.
nest() {
    type='"uint8"'
    for _ in $(seq "$2"); do
        type="{\"name\":\"struct\",\"configuration\":{\"fields\":[[\"a\",$type]]}}"
    done
    mkdir -p "$1/x/c"
    printf '{"zarr_format":3,"node_type":"group"}' >"$1/zarr.json"
    printf '{"data_type":%s,"zarr_format":3,"node_type":"array","shape":[1],"fill_value":null,"codecs":["bytes"],
        "chunk_key_encoding":{"name":"default"},"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}}}' "$type" >"$1/x/zarr.json"
    printf '\007' >"$1/x/c/0"
}
nest nested 3
run -q -o sum nested
is 'records in each other' 0 7
nest deep 16
run -q -o sum deep
fails 'too many records in each other' \
    "deep: array x: x/zarr.json: byte $(grep -bo '[[{]' deep/x/zarr.json | sed -n '65s/:.*//p'): more than 64 lists and objects in each other"

# A type of TensorStore's own.
make brain ',"compressor":null' && sed -i 's/"|u1"/"bfloat16"/' brain/.zarray
rm brain/[0-9]* && printf '\300\077\000\100' >brain/0
run -q -o sum brain
is 'bfloat16 without a byte order' 0 24.5

# make3 STORE TYPE FILL FIELDS: five elements in chunks of two, the first of which is there.
make3() {
    mkdir -p "$1/c"
    printf '{"zarr_format":3,"node_type":"array","shape":[5],"data_type":"%s","fill_value":%s,"attributes":{},
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}}%s}' "$2" "$3" "$4" >"$1/zarr.json"
}
keys=',"chunk_key_encoding":{"name":"default"}' bytes=',"codecs":[{"name":"bytes","configuration":{"endian":"big"}}]'
i=0
while read -r type fill sum; do
    i=$((i + 1))
    make3 fill$i "$type" "$fill" "$keys$bytes"
    run -q -o sum fill$i
    is "the fill value $fill of $type" 0 "$sum"
done <<'END'
float32 "0x3fc00000" 7.5
float64 "0xbff8000000000000" -7.5
float64 "-Infinity" -inf
float32 "NaN" nan
float32 NaN nan
float16 0.1 0.4998779296875
bool true 5
int64 -9223372036854775808 -46116860184273879040
uint64 18446744073709551615 92233720368547758075
float32 16777217 83886080
bfloat16 1.5 7.5
float8_e4m3fn 1.5 7.5
float8_e5m2 "0x42" 15
END
make3 text null_terminated_bytes '""' "$keys$bytes"
run --list --tsv text
ok 'the name of a type is whole' grep -q "^text${tab}array${tab}null_terminated_bytes${tab}" out
make3 complex complex64 '[1.5,"-Infinity"]' "$keys$bytes"
run --tsv -o sum complex
is 'the parts of complex numbers' 0 "file${tab}array${tab}dtype${tab}shape${tab}sum
complex${tab}re${tab}f32${tab}[5]${tab}7.5
complex${tab}im${tab}f32${tab}[5]${tab}-inf"
for bad in '"x"' '[1]' '[1,2,3]' '[1,"x"]' '["x",1]' '[[1,2],3]' '[]'; do
    make3 unfilled complex64 "$bad" "$keys$bytes"
    records unfilled2 '"<c8"' "$bad"
    for store in unfilled unfilled2; do
        for part in re im; do
            run -q -o sum --array=$part $store
            fails "the fill value $bad, $part of $store" "$store: array $part: Zarr's fill_value of this array is not supported"
        done
    done
done
make3 one complex64 1.5 "$keys$bytes"
run -q -o sum one
is 'a fill value without an imaginary part' 0 '7.5
0'
# record3 NAME FIELDS FILL CONFIGURATION: five records in chunks of two, the first of which is there.
record3() {
    make3 "$1" x "$3" "$keys,\"codecs\":[{\"name\":\"bytes\"$4}]"
    sed -i "s/\"x\"/{\"name\":\"struct\",\"configuration\":{\"fields\":$2}}/" "$1/zarr.json"
    printf '\001\000\002\003\000\004' >"$1/c/0"
}
big=',"configuration":{"endian":"big"}'
fields='[{"data_type":"uint8","name":"a"},{"name":"b","data_type":"int16"}]'
for fill in '{"b":-2,"a":7}' '"B/7/"'; do
    record3 struct "$fields" "$fill" "$big"
    run --tsv -o sum struct
    is "records of version 3, big-endian, the fill value $fill" 0 "file${tab}array${tab}dtype${tab}shape${tab}sum
struct${tab}a${tab}u8${tab}[5]${tab}25
struct${tab}b${tab}i16${tab}[5]${tab}0"
done
record3 little "$fields" '"B/7/"' ''
run -q -o sum little
is 'records without a byte order' 0 '25
1530'
record3 texts '[["s",{"name":"null_terminated_bytes","configuration":{"length_bytes":1}}],["b","int16"]]' null "$big"
run -q -o sum --array=b texts
is 'a text beside a number' 0 6
run --list --tsv texts
ok 'the text is listed' grep -q "^texts${tab}s${tab}|S1${tab}" out
record3 raw '[["r","r8"],["t",{"name":"raw_bytes","configuration":{"length_bytes":1}}],["b","uint8"]]' null "$big"
run -q -o sum --array=b raw
is 'bytes beside a number' 0 6
for bad in '{"a":7}' '{"a":7,"b":70000}' '{"a":7,"b":1,"b":1}' '{"a":7,"b":[1,2]}' '{"a":7,"b":{"c":1}}' '"B/7"' 1; do
    record3 unfilled "$fields" "$bad" "$big"
    run -q -o sum --array=b unfilled
    fails "the fill value $bad of a record" "unfilled: array b: Zarr's fill_value of this array is not supported"
done
while IFS=\; read -r type why; do
    record3 wrong "$type" null "$big"
    run -q -o sum wrong
    fails "the fields $type" "wrong: array array: zarr.json: byte 61: $why"
done <<'END'
[];it has no fields
{};it has no fields
[{"name":"a"}];a field is malformed, or its name is
[["a","int8",[2]]];a field is malformed, or its name is
[["","int8"]];a field is malformed, or its name is
[["a","string"]];a field has the type string, which is not supported
[["a","complex32"]];a field has the type complex32, which is not supported
[["a",">i2"]];a field has the type >i2, which is not supported
[["a","r9"]];a field has the type r9, which is not supported
[["a",{"name":"struct"}]];it has no fields
[["u",{"name":"fixed_length_utf32","configuration":{"length_bytes":3}}]];a field has the type fixed_length_utf32, which is not supported
END
for bits in float8_e4m3fn:0x7f float8_e5m2:0x7e float16:0x7e00 bfloat16:0x7fc0 float32:0x7fc00000 float64:0x7ff8000000000000; do
    make3 bits "${bits%:*}" "\"${bits#*:}\"" "$keys$bytes"
    make3 quiet "${bits%:*}" '"NaN"' "$keys$bytes"
    run -q -o digest bits
    text=$(cat out)
    run -q -o digest quiet
    is "NaN is $bits" 0 "$text"
done
for tiny in 1e-46:0.0 -1e-46:-0.0; do
    make3 tiny float32 "${tiny%:*}" "$keys$bytes"
    make3 zero float32 "${tiny#*:}" "$keys$bytes"
    run -q -o digest tiny
    text=$(cat out)
    run -q -o digest zero
    is "a fill value that rounds to a zero, $tiny" 0 "$text"
done
for bad in 'float32 "0x3fc0"' 'float32 "1.5"' 'uint8 256' 'int8 -129' 'uint8 1.5' 'uint8 "NaN"' 'bool 2' 'float32 [1,2]'; do
    make3 unfilled "${bad% *}" "${bad#* }" "$keys$bytes"
    run -q -o sum unfilled
    fails "the fill value $bad" "unfilled: array array: Zarr's fill_value of this array is not supported"
done
make3 extended uint8 1 "$keys$bytes,\"note\":{\"must_understand\":false}"
run -q -o sum extended
is 'an extension that need not be understood' 0 5
make3 extended uint8 1 "$keys$bytes,\"note\":{\"must_understand\":true}"
run -q -o sum extended
fails 'an extension that must be' "extended: array array: Zarr's extension note is not supported"
for order in '[0,0]' '[0,2]' '[0]' '[0,1,2]' '[]'; do
    mkdir -p ordered
    printf '{"zarr_format":3,"node_type":"array","shape":[2,2],"data_type":"uint8","fill_value":1%s,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2]}},
        "codecs":[{"name":"transpose","configuration":{"order":%s}},"bytes"]}' "$keys" "$order" >ordered/zarr.json
    run -q -o sum ordered
    fails "an order of dimensions $order" "ordered: array array: Zarr's order of dimensions of this array is not supported"
done
make3 checked uint8 1 "$keys,\"codecs\":[\"bytes\",\"crc32c\"]"
printf '\001\002\007\054\062\177' >checked/c/0
run -q -o sum checked
fails 'a wrong checksum' 'checked: array array: chunk c/0: the checksum of a chunk is wrong'
printf '\001\002' >checked/c/0
run -q -o sum checked
fails 'a chunk without its checksum' 'checked: array array: chunk c/0: a chunk is shorter than it should be'
# Archives, of five bytes in chunks of two, the last of which is missing.
if find_python zipfile; then
    cat >archive.py <<'END'
import sys, zipfile
method = zipfile.ZIP_DEFLATED if 'deflated' in sys.argv[1] else zipfile.ZIP_STORED
with zipfile.ZipFile(sys.argv[1], 'w', method) as file:
    for name in sys.argv[2:]:
        file.write('plain/' + name.replace('\\', '/').split('/')[-1], name)
END
    printf '\003\004' >plain/1
    "$python" archive.py plain.zip x/.zarray x/0 x/1
    run -q -o sum,count plain.zip
    is 'an archive' 0 '17
5'
    run --list --json plain.zip
    ok 'an archive, a list' grep -q '"array": "x", "format": "zarr", .*"chunks": 3, "missing_chunks": 1, ' out
    run -q -o sum plain.zip
    copy out wanted
    shell 'cat plain.zip | gpureduce -q -o sum'
    ok 'an archive in a pipe' cmp wanted out
    "$python" archive.py deflated.zip .zarray 0 1
    run -q -o sum deflated.zip
    fails 'a deflated archive' 'deflated.zip: array array: .zarray: compressed by the archive; archive files as they are (zip -0)'
    "$python" archive.py folders.zip x/ x/y/ x/.zarray x/0 x/1
    run -q -o sum folders.zip
    is 'an archive that begins with folders' 0 17
    "$python" archive.py none.zip 0 1
    run none.zip
    fails 'an archive that is not recognised' "none.zip: a zip archive; try: unzip -p none.zip 0 | gpureduce (--format=raw reads it as raw numbers, --format=npz the NumPy arrays in it, --format=zarr the Zarr store)"
    run --format=zarr none.zip
    fails 'an archive without metadata' 'none.zip: a Zarr store: no zarr.json, .zarray or .zgroup in the archive'
    "$python" archive.py back.zip .zarray 'y\0'
    run back.zip
    fails_like 'a name with a backslash' 'back.zip: a Zarr store: byte [0-9]*: a backslash in the name of a member'
    printf '\003' >plain/1
    "$python" archive.py short.zip .zarray 0 1
    run -q -o sum short.zip
    fails 'a short chunk in an archive' 'short.zip: array array: chunk 1: 1 bytes, for a chunk of 2'
else
    skip archives 'python3 is missing'
fi

# A shard: four elements in two chunks of two, of which the second is missing; the index has no checksum.
shard() {
    mkdir -p "$1/c"
    printf '{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8","fill_value":7%s,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},"codecs":[{"name":"sharding_indexed",
        "configuration":{"chunk_shape":%s,"codecs":%s,"index_codecs":%s}}]}' "$keys" "$2" "$3" "$4" >"$1/zarr.json"
}
little='[{"name":"bytes","configuration":{"endian":"little"}}]' gone='\377\377\377\377\377\377\377\377'
# shards NAME INDEX WHY: 1, 2 and an index.
shards() {
    shard shards '[2]' '["bytes"]' "$little"
    # shellcheck disable=SC2059 # it is a format
    printf "\001\002$2" >shards/c/0
    run -q -o sum,count shards
    if [ -z "$3" ]; then
        is "a shard, $1" 0 '17
4'
    else
        ok "a shard, $1" test "$status:$(cat err)" = "1:gpureduce: shards: array array: chunk c/0: $3"
    fi
}
shards good '\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0'$gone$gone ''
shards 'a chunk beyond it' '\041\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0'$gone$gone 'its index has 2 bytes at 33, and it has 34'
shards 'a chunk far beyond it' '\377\377\377\377\377\377\377\377\2\0\0\0\0\0\0\0'$gone$gone 'its index has 2 bytes at 18446744073709551615, and it has 34'
shards 'a chunk of no bytes' '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'$gone$gone '0 bytes, for a chunk of 2'
shards 'a long chunk' '\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0'$gone$gone '3 bytes, for a chunk of 2'
shards 'a short index' '\0\0\0\0\0\0\0\0\2\0\0\0\0\0'$gone '24 bytes, for an index of 32'
while read -r shape codecs index what; do
    shard unsharded "$shape" "$codecs" "$index"
    run -q -o sum unsharded
    ok "shards that are refused: $what" test "$status:$(cat err)" = "1:gpureduce: unsharded: array array: Zarr's $what is not supported"
done <<END
[3] ["bytes"] $little shape of shards of this array
[0] ["bytes"] $little shape of shards of this array
[2,1] ["bytes"] $little shape of shards of this array
[2] [] $little array without the codec bytes
[2] ["bytes"] ["bytes"] index without a byte order
[2] ["bytes"] ["gzip"] codec of an index gzip
[2] [{"name":"sharding_indexed"}] $little codec sharding_indexed
END
make3 unkeyed uint8 1 "$bytes"
run -q -o sum unkeyed
fails 'no names of chunks' 'unkeyed: array array: zarr.json: not the metadata of an array'
make nofill2 ',"compressor":null' && sed -i 's/fill_value/fill_valuf/' nofill2/.zarray
make unordered ',"compressor":null' && sed -i 's/"order"/"osder"/' unordered/.zarray
make3 nofill3 uint8 1 "$keys$bytes" && sed -i 's/"fill_value":1,//' nofill3/zarr.json
for store in nofill2 unordered nofill3; do
    run -q -o sum $store
    fails_like "metadata that lack a member, $store" "$store: array array: .*: not the metadata of an array"
done
while read -r member key; do
    make3 "mistyped" uint8 1 ",\"chunk_key_encoding\":{$member}$bytes"
    run -q -o sum mistyped
    fails "names of chunks with $key" "mistyped: array array: Zarr's chunk key encoding with $key is not supported"
done <<'END'
"name":"default","configuration":{"seperator":"."} seperator
"name":"default","configuratiom":{"separator":"."} configuratiom
END
shard shards '[2],"index_locatiom":"start"' '["bytes"]' "$little"
run -q -o sum shards
fails 'a member of sharding_indexed' "shards: array array: Zarr's sharding_indexed with index_locatiom is not supported"
for kind in ',"node_type":"arrax"' ''; do
    rm -rf kinds && mkdir kinds && printf '{"zarr_format":3,"node_type":"group"}' >kinds/zarr.json
    make3 kinds/a uint8 1 "$keys$bytes"
    make3 kinds/b uint8 1 "$keys$bytes"
    sed -i "s/,\"node_type\":\"array\"/$kind/" kinds/b/zarr.json
    run -q -o sum kinds
    is "neither an array nor a group: '$kind'" 1 "5
NA" 'gpureduce: kinds: array b: b/zarr.json: not the metadata of an array'
done

# Chunks that are damaged: one at its end, and two after it at their beginning. The others are not there.
if [ -n "$zlib" ]; then
    mkdir -p torn/c/3 torn/c/7 torn/c/20
    printf '{"zarr_format":3,"node_type":"array","shape":[40,262144],"data_type":"float32","fill_value":0,"attributes":{},
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1,262144]}},"chunk_key_encoding":{"name":"default"},
    "codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"gzip"}]}' >torn/zarr.json
    seq 200000 | head -c 1048576 | gzip -nc | tee torn/c/3/0 torn/c/7/0 >torn/c/20/0
    flip torn/c/3/0 $(($(size torn/c/3/0) - 6))
    flip torn/c/7/0 0
    flip torn/c/20/0 0
    names_first torn 'torn: array array: chunk c/3/0: the gzip data are damaged'
fi

# The directory itself has few bytes: those of its arrays tell how many threads are worth it.
mkdir -p wide/c
printf '{"zarr_format":3,"node_type":"array","shape":[8388608],"data_type":"uint8","fill_value":0,"attributes":{},
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1048576]}}%s%s}' "$keys" "$bytes" >wide/zarr.json
for chunk in 0 1 2 3 4 5 6 7; do head -c 1048576 /dev/zero >wide/c/$chunk; done
run -v -j 2 -o sum wide
ok 'all threads read a store' grep -q ', 2 threads$' err
finish
