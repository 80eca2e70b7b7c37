#!/bin/sh
# --missing: elements that stand for no data, in each kind of input, and where they are shown. What is
# expected was worked out by hand, from the few numbers that these files hold.
#
# Tags: ports emulator

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# 1, 2, -9999 and 4; 3, 5, -9999, 10 and -9999; both zeros, NaNs of both signs, -inf, and 0.1.
printf '\0\0\200\77\0\0\0\100\0\74\34\306\0\0\200\100' >rain.f32
printf '\3\0\5\0\361\330\12\0\361\330' >rain.i16
printf '\0\0\0\0\0\0\0\200\0\0\300\177\0\0\300\377\0\0\200\377\315\314\314\75' >odd.f32
printf '\0\1\377\377\5' >bytes

#
# What is left out.
#
run -t i16 -o summary,argmin,argmax,var,l1,negatives,missing --ddof=1 --missing=-9999 rain.i16
is 'all results' 0 "count${tab}3
nan${tab}0
inf${tab}0
zeros${tab}0
min${tab}3
max${tab}10
mean${tab}6
std${tab}3.605551275463989
q0.25${tab}4
median${tab}5
q0.75${tab}7.5
argmin${tab}0
argmax${tab}3
var${tab}13
l1${tab}18
negatives${tab}0
missing${tab}2" '*'
run -q -o argmin,min,argmax,max -t i16 --missing=3 --missing=-9999 --missing=1e1 rain.i16
is 'three values: indices in the whole array' 0 '1
5
1
5'
run -q -o count,sum,mean,min,argmin,median,missing -t i16 --missing=-9999 --missing=3 --missing=5 --missing=10 rain.i16
is 'nothing is left' 0 '0
0
nan
nan
nan
nan
5'
run -q -o missing,zeros,nan --missing=0 odd.f32
is 'zeros of both signs' 0 '2
0
2'
run -q -o missing,zeros --missing=-0 odd.f32
is 'they are those of -0, too' 0 '2
0'
run -q -o missing,count,nan,min,zeros --nan=error --missing=nan odd.f32
is 'NaNs that are missing are none' 0 '2
4
0
-inf
2'
run -q -o missing,min,max --missing=-inf --missing=nan odd.f32
is 'infinities' 0 '3
-0
0.1'
for value in 0.1 0x1.99999ap-4 1e-1; do
    run -q -o missing --missing=$value odd.f32
    is "rounded to the type: $value" 0 1
done
run -q -o missing,sum -t u8 --missing=255 bytes
is 'u8' 0 '2
6'
run -q -o missing,sum -t i8 --missing=-1 bytes
is 'i8' 0 '2
6'
run -q -o missing -t f8e4m3 --missing=450 bytes
is 'no element is the nearest number' 0 0
run --histogram=2,0,10 -t i16 --missing=-9999 rain.i16
is 'a histogram' 0 "missing${tab}2
from${tab}to${tab}count
-inf${tab}0${tab}0
0${tab}5${tab}1
5${tab}10${tab}2
10${tab}inf${tab}0
nan${tab}nan${tab}0" '*'

#
# Each kind of input.
#
{
    npy 1 "$(npy_header '<f4' '(2, 2)')"
    cat rain.f32
} >rain.npy
{
    npy 1 "$(npy_header '|u1' '(5,)')"
    cat bytes
} >bytes.npy
npz rain.npz rain.npy:rain.npy bytes.npy:bytes.npy
safetensors rain.safetensors rain:F32:4:rain.f32 bytes:U8:5:bytes
expected='7
1
4
2.3333333333333335
1'
set -- rain.f32 rain.npy --array=rain\ rain.npz --array=rain\ rain.safetensors
if [ -n "$ZSTD" ]; then
    "$ZSTD" -q rain.f32 rain.npy rain.safetensors
    set -- "$@" rain.f32.zst rain.npy.zst --array=rain\ rain.safetensors.zst
else
    skip 'compressed' 'there is no zstd'
fi
for input; do
    # shellcheck disable=SC2086 # several words
    run -q -o sum,min,max,mean,missing --missing=-9999 $input
    is "$input" 0 "$expected"
done
shell 'gpureduce -q -o sum,min,max,mean,missing --missing=-9999 <rain.f32'
is 'standard input' 0 "$expected"
shell 'cat rain.npy | gpureduce -q -o sum,min,max,mean,missing --missing=-9999'
is 'a pipe' 0 "$expected"
for file in data/containers/small.gguf data/containers/small.safetensors; do
    run -q -o zeros $file
    zeros=$(cat out)
    run -q -o missing --missing=0 $file
    is "zeros of $file" 0 "$zeros"
done

#
# Where they are shown.
#
run --missing=-9999 rain.f32 rain.npz --total
golden 'text' 0 missing
run --missing=-9999 --missing=255 --tsv rain.f32 rain.npz -o missing,sum
is 'TSV, where it is asked for' 0 "file${tab}array${tab}dtype${tab}shape${tab}missing${tab}sum
rain.f32${tab}${tab}f32${tab}[4]${tab}1${tab}7
rain.npz${tab}rain${tab}f32${tab}[2,2]${tab}1${tab}7
rain.npz${tab}bytes${tab}u8${tab}[5]${tab}2${tab}6"
run --missing=-9999 --tsv rain.f32 -o sum
is 'and only there' 0 "file${tab}sum
rain.f32${tab}7"
run --missing=-9999 --missing=0.1 --missing=-inf --missing=nan --json odd.f32 rain.npz --total
golden 'objects' 0 missing-json
run --missing=2 --missing=0 --missing=1 --missing=-1.5 --list --json rain.npz
golden 'a list' 0 missing-list
run -v --missing=2 --missing=0 --missing=nan --missing=-1.5 --list rain.npz
is '--list -v' 0 "file${tab}array${tab}dtype${tab}shape${tab}elements${tab}bytes${tab}offset${tab}missing${tab}scale${tab}missing_chunks
rain.npz${tab}rain${tab}f32${tab}[2,2]${tab}4${tab}16${tab}108${tab}-1.5, 0, 2, nan${tab}NA${tab}NA
rain.npz${tab}bytes${tab}u8${tab}[5]${tab}5${tab}5${tab}231${tab}0, 2${tab}NA${tab}NA"
run -q --missing=7 --where='missing=1' --sort=-missing -o missing --missing=5 rain.npz rain.safetensors
is '--where' 0 '1
1'
run --missing=-9999 -v --missing=1 --missing=nan rain.f32
ok '-v' grep -qx '  missing   -9999, 1, nan' err
run --missing=-9999 -v --array=rain rain.npz
ok '-v, of the one array that is reduced' grep -qx '  missing   -9999' err

#
# Records.
#
for number in decimal hex; do
    run --json --number=$number --missing=-9999 --missing=0.1 --missing=-inf --missing=nan -o sum,min,argmin,count odd.f32 rain.f32 --total
    cp out record
    run --check=record
    is "--check, $number" 0 'odd.f32: OK
rain.f32: OK
total: OK'
done
run --json --missing=-9999 -o sum rain.f32
sed 's/"missing_values": \[-9999\], //' out >record
run --check=record --missing=-9999
is '--check: the record has the last word' 1 'rain.f32: FAILED (sum: recorded 7, found -9992; count: recorded 3, found 4; missing: recorded 1, found 0)' '*'
sed 's/"nan_policy"/"missing_values": [1,2,3,4,5], &/' record >five
run --check=five
fails '--check: too many' 'five: line 1: there are more than 4 missing values'
run --tsv --missing=-9999 -o sum rain.f32
cp out record
run --check=record --missing=-9999
is '--check of TSV' 0 'rain.f32: OK'

#
# Conditions and errors.
#
run -q -o count --missing=-9999 --fail-on=missing rain.f32
is '--fail-on=missing' 1 3 'gpureduce: rain.f32: missing: 1 of 4 elements'
run -q -o count --missing=7 --fail-on=missing rain.f32
is '--fail-on=missing of none' 0 4
run -q -o count --missing=1 --missing=2 --missing=4 --missing=-9999 --fail-on=empty rain.f32
is '--fail-on=empty' 1 0 'gpureduce: rain.f32: empty: all elements are missing'
for case in u8:-1 u8:1.5 u8:256 u8:nan f32:1e39 i64:1e19 bool:2; do
    run -q -t "${case%:*}" --missing="${case#*:}" rain.f32
    fails "not a value of ${case%:*}: ${case#*:}" "rain.f32: the missing value ${case#*:} is not a value of type ${case%:*}"
done
run -q -o missing --missing=-1 rain.npz
is 'arrays of several types' 0 '0
0'
for value in x "" 1,2 NaN; do
    run --missing="$value" rain.f32
    is "--missing='$value'" 2 '' "gpureduce: --missing takes a number or nan, not '$value' (try 'gpureduce --help')"
done
run --missing=1 --missing=2 --missing=3 --missing=4 --missing=5 rain.f32
is 'five values' 2 '' "gpureduce: --missing may be given 4 times; remove '5' (try 'gpureduce --help')"
run --merge --missing=1 rain.npy
is '--merge' 2 '' "gpureduce: option '--missing' does not go with --merge (try 'gpureduce --help')"
finish
