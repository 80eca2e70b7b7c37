#!/bin/sh
# Many files in one command: failed ones among them, totals, TSV, exact bits, --check and --fail-on.
# Tags: threads

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

three >three.f32
: >empty
# The f32 nearest to 0.1, whose value is 0x1.99999ap-4 = 0.100000001490116119384765625.
printf '\315\314\314\075' >tenth.f32
copy three.f32 "odd$tab\\name"
copy three.f32 total
all=sum,min,max,mean,count,argmin,argmax,nan,inf
python=$(command -v python3)

#
# Files that fail.
#
run -q -o sum,count three.f32 missing tenth.f32
is '-q has a line for each result of each file' 1 "$(printf '6\n3\nNA\nNA\n0.10000000149011612\n1')" \
    'gpureduce: missing: No such file or directory'
run -q -o nan --nan=error data/raw/nan.f32 three.f32
is '-q: a NaN that is an error' 1 "$(printf 'NA\n0')" 'gpureduce: data/raw/nan.f32: element 137 is a NaN'
run -q -o sum missing
is '-q: a single file' 1 NA 'gpureduce: missing: No such file or directory'
run -o sum missing three.f32
is 'text has nothing of them' 1 "three.f32:
sum${tab}6" '*'
run --json -q -o sum missing . three.f32
ok '--json has their errors' test "$status:$(head -n 2 out)" = '1:{"file": "missing", "error": "No such file or directory"}
{"file": ".", "error": "is a directory"}'
shell 'printf abcde | gpureduce --json -t f64'
is '--json: standard input' 1 \
    '{"file": "-", "error": "byte 0: the last f64 element is cut off after 5 of 8 bytes"}' '*'
name=$(printf 'no\nfile')
run --json "$name"
is '--json: a name that is quoted in messages' 1 \
    '{"file": "no\u000afile", "error": "No such file or directory"}' '*'

#
# TSV.
#
run --tsv -o sum,min,sum,argmax,nan three.f32 missing tenth.f32 "odd$tab\\name" total empty
is '--tsv' 1 "file${tab}sum${tab}min${tab}argmax${tab}nan
three.f32${tab}6${tab}1${tab}2${tab}0
missing${tab}NA${tab}NA${tab}NA${tab}NA
tenth.f32${tab}0.10000000149011612${tab}0.1${tab}0${tab}0
odd\\t\\\\name${tab}6${tab}1${tab}2${tab}0
./total${tab}6${tab}1${tab}2${tab}0
empty${tab}0${tab}nan${tab}nan${tab}0" 'gpureduce: missing: No such file or directory'
name=$(printf 'a\nb\rc')
copy three.f32 "$name"
run -q --tsv -o sum "$name"
is '--tsv -q has no heading' 0 "a\\nb\\rc${tab}6"
run --json --tsv -o count three.f32
is 'of --json and --tsv the last one counts' 0 "file${tab}count
three.f32${tab}3"
run --tsv -v -o count three.f32
ok '--tsv -v has statistics' test "$status:$(grep -c '^3 elements, 12 bytes' err)" = 0:1

#
# Exact bits.
#
run --number=hex -o sum,min,mean,count tenth.f32
is '--number=hex' 0 "sum${tab}0x1.99999ap-4
min${tab}0x1.99999ap-4
mean${tab}0x1.99999ap-4
count${tab}1" '*'
run --number=hex -q -o min,max,sum,argmin data/raw/zeros.f32 empty
is '--number=hex: zeros, and no number' 0 "$(printf '%s\n' -0x0p+0 0x0p+0 0x0p+0 2 nan nan 0x0p+0 nan)" '*'
run --number=hex --json -o min,count empty tenth.f32
ok '--number=hex: strings of JSON' test "$status:$(grep -o '"min": [^,]*, "nonfinite": {[^}]*}' out)" = \
    '0:"min": null, "nonfinite": {"min": "nan"}
"min": "0x1.99999ap-4", "nonfinite": {}'
run --number=decimal -q -o min tenth.f32
is '--number=decimal' 0 0.1
run --json -o min,max tenth.f32
ok 'numbers of JSON are exact as binary64' grep -q '"min": 0.10000000149011612, "max": 0.10000000149011612,' out
run --number=octal three.f32
ok 'another form' test "$status:$(cat err)" = "2:gpureduce: unknown form of numbers 'octal': must be decimal or hex (try 'gpureduce --help')"
if [ -n "$python" ]; then
    run --number=hex -q -o sum,mean,min data/npy/v1-f4.npy
    cp out hex
    run -q -o sum,mean,min data/npy/v1-f4.npy
    ok 'both forms are one number' "$python" -c '
import struct
exact = [float.fromhex(x) for x in open("hex")]
short = [float(x) for x in open("out")]
assert exact[:2] == short[:2], (exact, short)
assert exact[2] == struct.unpack("f", struct.pack("f", short[2]))[0], (exact, short)'
else
    skip 'both forms are one number' 'no python3'
fi

#
# How the input was read, in JSON.
#
describes() { # NAME KEYS ARGUMENT...
    describes_name=$1 keys=$2
    shift 2
    run --json -o sum "$@"
    ok "$describes_name" grep -qF "$keys" out
}
describes 'a shape' '"endian": "little", "shape": [3, 5, 7], "fortran_order": false, "skip": 128, "length": null, "nan_policy": "propagate"' \
    data/npy/v1-f4.npy
{ npy 1 "{'descr': '>f4', 'fortran_order': True, 'shape': (3, 0, 5)}"; } >fortran.npy
describes 'a shape in Fortran order' '"endian": "big", "shape": [3, 0, 5], "fortran_order": true,' fortran.npy
{ npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': ()}" && head -c 4 three.f32; } >scalar.npy
describes 'a single number' '"shape": [], "fortran_order": false' scalar.npy
describes 'raw data' '"endian": "big", "shape": null, "fortran_order": null, "skip": 4, "length": 1, "nan_policy": "skip"' \
    --endian=big --skip=4 --length=1 --nan=skip three.f32
run --json empty
ok 'an empty file is a line of a few hundred bytes' test "$(wc -c <out)" -lt 450
ok 'without -v there is no profile' test "$(grep -c 'stages\|phases\|engines\|bottleneck' out)" -eq 0
run --json -v empty
ok 'with -v there is' grep -q '"phases": {.*"stages": {.*"engines": \[.*"bottleneck": ' out

#
# Totals: what the files come to as one.
#
cat three.f32 tenth.f32 data/raw/nan.f32 three.f32 >one
for policy in propagate skip; do
    run -q -o "$all" --nan=$policy one
    cp out expected
    run -q -o "$all" --nan=$policy --total three.f32 tenth.f32 empty data/raw/nan.f32 three.f32
    tail -n 9 out >last
    ok "--total is that of one file, NaNs: $policy" cmp expected last
done
# Sums that would be lost in any order of binary64: 2^100 + 1 - 2^100.
printf '\0\0\200\161' >large.f32
printf '\0\0\200\361' >minus.f32
run -q -o sum,count --total large.f32 three.f32 minus.f32
is '--total is exact' 0 "$(printf '%s\n' 1.2676506002282294e+30 1 6 3 -1.2676506002282294e+30 1 6 5)"
run -o min,argmin --total tenth.f32 data/npy/v3-f8.npy
is '--total of several types' 0 "tenth.f32:
min${tab}0.1
argmin${tab}0
data/npy/v3-f8.npy:
min${tab}-7.142857142857143
argmin${tab}0
total:
min${tab}-7.142857142857143
argmin${tab}1" '*'
ok '--total has statistics' grep -q '^total: 106 elements, 844 bytes, ' err
run -q -o min --total tenth.f32 tenth.f32
is '--total of one type is of that type' 0 "$(printf '0.1\n0.1\n0.1')"
run -q --tsv -o min --total data/npy/f2.npy tenth.f32 --length=0
is '--total of nothing' 0 "data/npy/f2.npy${tab}nan
tenth.f32${tab}nan
total${tab}nan"
run --json -o sum,argmax --total three.f32 three.f32
normalise out | tail -n 1 >last
ok '--total in JSON' same last '{"file": null, "total": true, "dtype": "f32", "nan_policy": "propagate", "sum": 12, "argmax": 2, "nonfinite": {}, "count": 6, "nan": 0, "inf": 0, "missing": 0, "elements": 6, "bytes": 24, "input_bytes": 24, "seconds": T, "gigabytes_per_second": R}'
run --json -o count --total tenth.f32 data/npy/v3-f8.npy
ok '--total of several types in JSON' grep -q '"total": true, "dtype": null' out
run --json -o count --total three.f32 missing
ok '--total of a file that fails, in JSON' test "$status:$(tail -n 1 out)" = \
    '1:{"file": null, "total": true, "error": "1 of 2 files failed"}'
run --tsv -o sum --total three.f32 missing
is '--total of a file that fails' 1 "file${tab}sum
three.f32${tab}6
missing${tab}NA
total${tab}NA" 'gpureduce: missing: No such file or directory
gpureduce: no total: 1 of 2 files failed'
run -q -o sum --total three.f32 missing
is '--total -q of a file that fails' 1 "$(printf '6\nNA\nNA')" '*'

#
# --fail-on.
#
run -q -o count --fail-on=nan,inf,empty three.f32
is '--fail-on what is not there' 0 3
run -q -o count --fail-on=nan three.f32 data/raw/nan.f32 empty data/raw/inf.f32
ok '--fail-on=nan' test "$status:$(wc -l <out):$(cat err)" = \
    "1:4:gpureduce: data/raw/nan.f32: NaNs: 3 of $(sed -n 2p out) elements"
run -q -o count --nan=skip --fail-on=inf,nan data/raw/nan-inf.f32 data/raw/both-inf.f32
ok '--fail-on=inf,nan' test "$status:$(cat err)" = '1:gpureduce: data/raw/nan-inf.f32: NaNs: 1 of 84 elements
gpureduce: data/raw/nan-inf.f32: infinities: 1 of 84 elements
gpureduce: data/raw/both-inf.f32: infinities: 2 of 84 elements'
run -q -o count --nan=skip --fail-on=empty empty data/raw/all-nan.f32 three.f32
ok '--fail-on=empty' test "$status:$(cat err)" = '1:gpureduce: empty: empty: no elements
gpureduce: data/raw/all-nan.f32: empty: no elements but NaNs'
run --fail-on=nan,zero three.f32
is '--fail-on something else' 2 '' "gpureduce: unknown condition 'zero': must be nan, inf, empty or missing (try 'gpureduce --help')"

#
# --check.
#
set -- three.f32 tenth.f32 "odd$tab\\name" total empty data/npy/v3-f8.npy data/raw/nan.f32 \
    data/raw/inf.f32 data/raw/both-inf.f32 data/npy/f2.npy data/zstd/array-torn.npy.zst data/raw/zeros.f32
for form in --tsv --json '--tsv --number=hex' '--json --number=hex' '--json -v'; do
    # shellcheck disable=SC2086 # several words
    run $form -o "$all" "$@" --total
    cp out record
    run --check=record
    ok "--check of $form: all is well" test "$status:$(grep -c ': OK$' out):$(grep -vc ': OK$' out):$(cat err)" = 0:13:0:
    run --check=record -q
    is "--check of $form: quietly" 0 ''
    printf '\0\0\200\077\0\0\0\100\0\0\100\300' >three.f32
    case $form in
    *hex) recorded='sum: recorded 0x1.8p+2, found 0x0p+0; min: recorded 0x1p+0, found -0x1.8p+1; max: recorded 0x1.8p+1, found 0x1p+1; mean: recorded 0x1p+1, found 0x0p+0' ;;
    *) recorded='sum: recorded 6, found 0; min: recorded 1, found -3; max: recorded 3, found 2; mean: recorded 2, found 0' ;;
    esac
    run --check=record -q
    # The total has a NaN: what differs there is nothing.
    is "--check of $form: a file that has changed" 1 \
        "three.f32: FAILED ($recorded; argmin: recorded 0, found 2; argmax: recorded 2, found 1)" \
        'gpureduce: 1 of 13 results differ from those in record'
    three >three.f32
done
run --tsv -o sum three.f32 tenth.f32 three.f32 --total
cp out record
rm tenth.f32
shell 'gpureduce --check=- <record'
is '--check: a file that is missing' 1 'three.f32: OK
tenth.f32: FAILED (No such file or directory)
three.f32: OK
total: FAILED (1 of 3 files failed)' 'gpureduce: tenth.f32: No such file or directory
gpureduce: 2 of 4 results differ from those in standard input'
shell 'gpureduce --json -o sum - <three.f32 >record'
shell 'gpureduce --check=- <record'
is '--check=-: a record of standard input' 1 '' 'gpureduce: standard input is both the record and a file in it; give the record as a file'
run --json -o sum three.f32 tenth.f32
cp out record
printf '\315\314\314\075' >tenth.f32
run --check=record
is '--check: a file that failed before' 1 'three.f32: OK
tenth.f32: FAILED (it has no result in the record)' 'gpureduce: 1 of 2 results differ from those in record'
# A single bit, in a shortest decimal and in a zero's sign.
printf '\316\314\314\075' >next.f32
run --tsv -o max tenth.f32
sed 's/tenth/next/' out >record
run --check=record
is '--check: the next number' 1 'next.f32: FAILED (max: recorded 0.1, found 0.10000001)' '*'
for max in 0.1 0.10000000149011612 0x1.99999ap-4; do
    printf 'file\tmax\ntenth.f32\t%s\n' $max >record
    run --check=record
    is "--check: $max of binary32" 0 'tenth.f32: OK'
done
# Numbers of f64, before the file was written anew in f32.
for max in 0.10000000149 0.1000000000000001 0x1.999999999999ap-4; do
    printf 'file\tmax\ntenth.f32\t%s\n' $max >record
    run --check=record
    ok "--check: $max, rounded to binary32" test "$status:$(grep -c FAILED out)" = 1:1
done
# Integers, before the file was written anew in floats; and floats as jq 1.6 and printf(3) write them.
printf '\0\0\0\0\0\0\100\103' >whole.f64 # 2^53
for sum in 9007199254740992 9.007199254740992e15; do
    printf 'file\tsum\nwhole.f64\t%s\n' $sum >record
    run --check=record -t f64
    is "--check: $sum" 0 'whole.f64: OK'
done
printf 'file\tmax\nwhole.f64\t9007199254740993\n' >record
run --check=record -t f64
is '--check: an integer, rounded to binary64' 1 \
    'whole.f64: FAILED (max: recorded 9007199254740993, found 9007199254740992)' '*'
printf '\0\0\0\0\0\0\100\304' >whole.f64 # -2^69
for sum in -590295810358705700000 -590295810358705651712; do
    printf '{"file": "whole.f64", "dtype": "f64", "sum": %s}\n' $sum >record
    run --check=record
    is "--check: $sum" 0 'whole.f64: OK'
done
printf '{"file": "whole.f64", "dtype": "f64", "sum": -590295810358705651713}\n' >record
run --check=record
ok '--check: a sum of integers, rounded' test "$status:$(grep -c FAILED out)" = 1:1
printf 'file\tmin\ndata/raw/zeros.f32\t0\n' >record
run --check=record
is '--check: the sign of a zero' 1 'data/raw/zeros.f32: FAILED (min: recorded 0, found -0)' '*'
# Records joined: totals are of the files since the one before.
run --tsv -o sum --total three.f32 three.f32
cp out record
run --tsv -o sum --total tenth.f32
cat out >>record
run --check=record
is '--check: records joined, each with its total' 0 'three.f32: OK
three.f32: OK
total: OK
tenth.f32: OK
total: OK'
# JSON says how a file was read; with TSV the command has to.
printf '\077\200\0\0\300\0\0\0\177\300\0\0\100\0\0\0' >big.f32
set -- -t '>f4' --skip=4 --length=2 --nan=skip big.f32
run --json -o sum,count "$@"
cp out record
run --check=record
is '--check: JSON knows how a file was read' 0 'big.f32: OK'
run --tsv -o sum,count "$@"
cp out record
run --check=record -t '>f4' --skip=4 --length=2 --nan=skip
is '--check: for TSV the options say how' 0 'big.f32: OK'
run --check=record
ok '--check: TSV does not know' test "$status:$(grep -c FAILED out)" = 1:1
run --format=raw --json -t bf16 data/npy/v1-f4.npy
cp out record
run --check=record
is '--check: --format=raw is remembered' 0 'data/npy/v1-f4.npy: OK'
# From a spreadsheet: ends of lines as in DOS, another column, another order.
printf 'file\tcount\tremark\tsum\r\nthree.f32\t3\tgood\t6\r\n\r\n' >record
run --check=record
is '--check: from a spreadsheet' 0 'three.f32: OK'
long=$(printf '%0100d' 7)
printf '{"sum":6.0,"error":null,"%s":[{}],"count":3,"file":"three.f32"}\n' "$long" >record
run --check=record
is '--check: from another writer of JSON' 0 'three.f32: OK'
printf 'file\tsum\tremark\nthree.f32\t6\tNA\n' >record
run --check=record
is '--check: a column that is no operation may have NA' 0 'three.f32: OK'
# Keys in the order of the alphabet, as by 'jq -S'.
run --json -o sum,min data/raw/both-inf.f32 data/raw/inf.f32 empty
sed 's/^{\(.*\)\("nonfinite": {[^}]*}\), \(.*\)}$/{\2, \1\3}/' out >record
ok 'a record in another order' grep -q '^{"nonfinite": {"sum": "[-inaf]*".*"file"' record
run --check=record
is '--check: "nonfinite" before what it is about' 0 'data/raw/both-inf.f32: OK
data/raw/inf.f32: OK
empty: OK'
printf '{"file": "\\ud83d\\ude00", "sum": 6}\n' >record
name=$(printf '\360\237\230\200')
copy three.f32 "$name"
run --check=record
is '--check: a name that is escaped as for UTF-16' 0 "$name: OK"
run --check=record --fail-on=nan -v
ok '--check -v has statistics' test "$status:$(grep -c '3 elements' err)" = 0:1
# What is no record.
wrong() { # NAME FORMAT MESSAGE
    # shellcheck disable=SC2059 # it is one
    printf "$2" >record
    run --check=record
    fails "$1" "record: $3"
}
wrong 'an empty record' '' 'holds no results'
wrong 'a record of a heading' 'file\tsum\n' 'holds no results'
wrong 'another file' 'three.f32: OK\n' 'line 1: neither an object of --json nor the heading of --tsv'
wrong 'bytes' 'a\0b' 'line 1: byte 1 is a NUL'
wrong 'too many fields' 'file\tsum\nthree.f32\t6\t7\n' 'line 2: more fields than the heading has'
wrong 'too few fields' 'file\tsum\tmin\nthree.f32\t6\n' 'line 2: fewer fields than the heading has'
wrong 'no operations' 'file\tmtime\nthree.f32\t6\n' 'line 2: there are no results'
wrong 'a value that is none' 'file\tsum\nthree.f32\tsix\n' 'line 2: bad value of sum: six'
wrong 'a value that would colour' 'file\tsum\nthree.f32\t\033[31m\n' "line 2: bad value of sum: '\\033[31m'"
wrong 'a count that is none' 'file\tcount\nthree.f32\t1.5\n' 'line 2: bad value of count: 1.5'
wrong 'a long value' "file\\tsum\\nthree.f32\\t$(printf %080d 0)\\n" "line 2: bad value of sum: $(printf %060d 0)"
wrong 'a value of no characters' 'file\tsum\tmin\nthree.f32\t\t1\n' "line 2: bad value of sum: ''"
wrong 'a value cut within a character' "file\\tsum\\nthree.f32\\t$(printf %059d 0)\\303\\251\\n" \
    "line 2: bad value of sum: $(printf %059d 0)"
wrong 'a column that stands twice' 'file\tsum\tmin\tsum\nthree.f32\t6\t1\t7\n' 'line 1: "sum" is given twice'
wrong 'a total of nothing' 'file\tsum\ntotal\t6\n' 'line 2: a total of no files'
wrong 'JSON without a file' '{"sum": 6}\n' 'line 1: it has no "file"'
for options in --json --tsv; do
    run $options --histogram=2 three.f32
    cp out record
    run --check=record
    fails "a histogram, $options" 'record: line 1: a histogram cannot be checked'
done
run --json --histogram=exponent -o sum three.f32
cp out record
run --check=record
is 'what is beside a histogram can' 0 'three.f32: OK'
run --tsv --histogram=exponent three.f32
cp out record
run --check=record
fails 'exponents, TSV' 'record: line 1: a histogram cannot be checked'
run --json --axis=0 --shape=3 three.f32
cp out record
run --check=record
fails 'slices' 'record: line 1: results along an axis cannot be checked'
run --json --diff three.f32 data/raw/zeros.f32
cp out record
run --check=record
fails 'differences' 'record: line 1: output of --diff cannot be checked'
wrong 'JSON with two' '{"file": "a", "file": "b"}\n' 'line 1: "file" is given twice'
wrong 'JSON with two values' '{"file": "a", "sum": 6, "sum": 7}\n' 'line 1: "sum" is given twice'
wrong 'JSON with a value of no characters' '{"file": "a", "sum": "", "min": 1}\n' "line 1: bad value of sum: ''"
wrong 'JSON with two infinities' '{"file": "a", "sum": null, "nonfinite": {"sum": "inf", "sum": "nan"}}\n' \
    'line 1: "sum" is given twice'
wrong 'JSON with an infinity that is finite' '{"file": "a", "sum": null, "nonfinite": {"sum": "1"}}\n' \
    'line 1: bad value of sum: 1'
wrong 'JSON with an infinity and a number' '{"file": "a", "nonfinite": {"sum": "inf"}, "sum": 6}\n' \
    'line 1: "nonfinite" has a value for a key that is not null'
wrong 'JSON without results' '{"file": "three.f32"}\n' 'line 1: there are no results'
wrong 'JSON cut off' '{"file": "three.f32", "sum": 6' 'line 1: byte 30: not an object as --json prints it'
wrong 'JSON of another dtype' '{"file": "three.f32", "dtype": "c8", "sum": 6}' 'line 1: unknown dtype'
wrong 'JSON of a dtype with a byte order' '{"file": "three.f32", "dtype": ">f4", "sum": 6}' 'line 1: unknown dtype'
wrong 'JSON of another policy' '{"file": "a", "nan_policy": "no", "sum": 6}' 'line 1: unknown NaN policy'
wrong 'JSON of another format' '{"file": "a", "format": "no", "sum": 6}' 'line 1: unknown format'
wrong 'JSON of another byte order' '{"file": "a", "endian": "no", "sum": 6}' 'line 1: unknown byte order'
wrong 'JSON that skips a half' '{"file": "a", "skip": 0.5, "sum": 6}' 'line 1: "skip" is not a count: 0.5'
run --check=nowhere
fails 'a record that is missing' 'nowhere: No such file or directory'
run --check=.
fails 'a record that is a directory' '.: Is a directory'
for words in --op=sum --json --tsv --total --shard=1/2 --label=x --allow-gaps --shape=3 --output=x; do
    # shellcheck disable=SC2086 # several words
    run --check=record $words
    is "--check with $words" 2 '' \
        "gpureduce: option '${words%=*}' does not go with --check (try 'gpureduce --help')"
done
printf 'file\tsum\nthree.f32\t6\n' >record
run --check=record three.f32
fails '--check with a file' 'record: has no digests (--op=digest), by which --check finds arrays in files'

finish
