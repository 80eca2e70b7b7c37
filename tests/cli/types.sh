#!/bin/sh
# Integers, truth values and floats of one byte, as the command line has them: names, .npy headers,
# results in full, JSON, records, totals of several types, and what types are refused. The samples
# are tested by data.sh, the arithmetic by test_integers.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

try="(try 'gpureduce --help')"

# Eight bytes, 1 to 8, and as many of which the last has the highest bit set.
printf '\001\002\003\004\005\006\007\010' >count.bin
printf '\001\002\003\004\005\006\007\200' >high.bin

# Every spelling of a type gives the same sum; the numbers are those of Python's int.from_bytes.
while read -r sum types; do
    for type in $types; do
        run -q -o sum -t "$type" high.bin
        is "-t $type" 0 "$sum"
    done
done <<'END'
-100 i8 i1 int8 |i1 I8
156 u8 u1 uint8 |u1 U8
-29680 i16 i2 <i2 int16 <int16 I16 <i16
35856 u16 u2 <u2 uint16 <uint16 U16 <u16
-2079717370 i32 i4 <i4 int32 I32 <i32
2215249926 u32 u4 <u4 uint32 U32 <u32
-9221395093405892095 i64 <i8 int64 I64 <i64
9225348980303659521 u64 <u8 uint64 U64 <u64
4236 >i2 >u2 >int16
101190276 >i4
101190276 >u4 >uint32
72623859790382976 >i8 >i64 >uint64 >u8
8 bool ? b1 |b1 |? bool_ BOOL
END

# Results in full.
run -q -o sum,min,max,mean -t i64 data/raw/least.i64
is 'a sum of more than 64 bits' 0 "-922337203685477580800
-9223372036854775808
-9223372036854775808
-9.223372036854776e+18"
run -q --number=hex -o sum,min,max,mean,count -t u64 data/raw/greatest.u64
is 'integers are exact in decimal, and stay so' 0 "1844674407370955161500
18446744073709551615
18446744073709551615
0x1p+64
100"
run --json -o sum,min,max,mean,argmin,argmax -t u64 data/raw/greatest.u64
ok '--json has integers in full' grep -q '"dtype": "u64", .*"sum": 1844674407370955161500, "min": 18446744073709551615, "max": 18446744073709551615, "mean": 1.8446744073709552e+19, "argmin": 0, "argmax": 0, "nonfinite": {}' out
run --json --number=hex -o sum,mean -t u64 data/raw/greatest.u64
ok '--json --number=hex leaves integers numbers' grep -q '"sum": 1844674407370955161500, "mean": "0x1p+64"' out
run --tsv -o sum,min,mean -t i64 data/raw/least.i64
is '--tsv' 0 "file${tab}sum${tab}min${tab}mean
data/raw/least.i64${tab}-922337203685477580800${tab}-9223372036854775808${tab}-9.223372036854776e+18"
run -q -t u8 -o sum,min,max,mean,count,argmin data/raw/empty.u8
is 'no elements' 0 "0
nan
nan
nan
0
nan"
run --json -t u8 -o sum,min data/raw/empty.u8
ok 'no elements: JSON' grep -q '"sum": 0, "min": null, "nonfinite": {"min": "nan"}' out
run -q -t f8e4m3 -o max,min --nan=skip data/raw/every.f8e4m3
is 'floats of one byte are printed as f32' 0 "448
-448"

# Totals of several types are exact.
printf '\001\000\000\000\000\000\040\000' >above.i64    # 2^53 + 1
printf '\000\000\000\000\000\000\100\103' >power.f64    # 2^53
run -q --total -o max,argmax,min,argmin,sum --format=raw -t i64 above.i64
is 'a total of one file' 0 "9007199254740993
0
9007199254740993
0
9007199254740993
9007199254740993
0
9007199254740993
0
9007199254740993"
header() { # DESCR COUNT
    text="{'descr': '$1', 'fortran_order': False, 'shape': ($2,), }"
    printf "\223NUMPY\001\000\\$(printf '%03o' ${#text})\\000%s" "$text"
}
{ header '<i8' 1; cat above.i64; } >above.npy
{ header '<f8' 1; cat power.f64; } >power.npy
{ header '|u1' 8; cat high.bin; } >bytes.npy
{ header '|i1' 8; cat high.bin; } >signed.npy
run --json --total -o sum,min,max,argmin,argmax power.npy above.npy
ok 'a total of floats and integers compares them as numbers' grep -q '"total": true, "dtype": null, .*"sum": 1.8014398509481984e+16, "min": 9007199254740992, "max": 9007199254740993, "argmin": 0, "argmax": 1,' out
run --json --total -o sum,min,max,argmin,argmax above.npy power.npy
ok 'in the other order, too' grep -q '"total": true, .*"min": 9007199254740992, "max": 9007199254740993, "argmin": 1, "argmax": 0,' out
run --json --total -o sum,min,max,argmin,argmax bytes.npy signed.npy above.npy
ok 'a total of several types of integers is one' grep -q '"total": true, "dtype": null, .*"sum": 9007199254741049, "min": -128, "max": 9007199254740993, "argmin": 15, "argmax": 16,' out

# Records.
run --json --total -o sum,min,max,mean bytes.npy above.npy power.npy
cp out record
run --check=record
is 'a record of integers and floats' 0 'bytes.npy: OK
above.npy: OK
power.npy: OK
total: OK'
sed 's/"sum": 9007199254740993/"sum": 9007199254740992/' record >wrong
run --check=wrong
ok 'a digit that binary64 has not is compared' grep -qx 'above.npy: FAILED (sum: recorded 9007199254740992, found 9007199254740993)' out
run --tsv -o sum,min,max -t u64 data/raw/greatest.u64
cp out record
run -t u64 --check=record
is 'a record as TSV' 0 'data/raw/greatest.u64: OK'

# .npy.
run -q -t f8e5m2 -o max --nan=skip data/npy/void1.npy
is 'voids of one byte are what --dtype says' 0 896
run data/npy/void1.npy
fails 'voids of one byte without a type' 'data/npy/void1.npy: the .npy header says only that elements have 1 byte (V1): if they are float8_e4m3fn, type -t f8e4m3'
{ header '<f1' 100 && tail -c 100 data/npy/void1.npy; } >named1.npy
run -q -o max --nan=skip named1.npy
is 'ml_dtypes names float8_e5m2' 0 896
run -t i16 data/npy/void1.npy
fails 'voids of one byte are none of two' 'data/npy/void1.npy: the .npy header says only that elements have 1 byte (V1): if they are float8_e4m3fn, type -t f8e4m3'
run -q -o sum -t i8 above.npy
is 'the header says otherwise' 0 9007199254740993 'gpureduce: warning: above.npy: the .npy header overrides what was asked for: --dtype (it says i64)'
{ header '<c8' 1; cat high.bin; } >complex.npy
shell 'cat complex.npy | gpureduce -q -o max'
size=$(($(wc -c <complex.npy) - 8))
is 'complex numbers in a pipe' 0 '1.5399896e-36
-6.45008e-40'
{ header '>M8[ns]' 1; cat high.bin; } >time.npy
run time.npy
fails 'dates' "time.npy: byte 20: dtype '>M8[ns]' is not supported: it is time, counted in integers; those of NaT are the least there are; --format=raw --dtype=i64 --endian=big --skip=$((size + 4)) reads these"
printf "\223NUMPY\001\000\112\000{'descr': [('x', '<f4'), ('y', '<i4')], 'fortran_order': False, 'shape': ()}" >fields.npy
run fields.npy
fails 'structured types that are cut off' "fields.npy: a .npy file: byte 20: the type, or what follows it in the header, is malformed"

# On the command line.
while IFS='|' read -r type message; do
    run -t "$type" count.bin
    is "-t '$type'" 2 '' "gpureduce: dtype '$type' is $message $try"
done <<'END'
complex64|pairs of f32, a real and an imaginary part: give -t f32
<c16|pairs of f64, a real and an imaginary part: give -t f64
>c16|pairs of f64, a real and an imaginary part: give -t f64 --endian=big
datetime64[ms]|time, counted in integers; those of NaT are the least there are: give -t i64
>m8|time, counted in integers; those of NaT are the least there are: give -t i64 --endian=big
float8_e4m3fnuz|a float of one byte that is not read; f8e4m3 (e4m3fn) and f8e5m2 are
F8_E8M0|a float of one byte that is not read; f8e4m3 (e4m3fn) and f8e5m2 are
longdouble|a float of 10 bytes or more; convert it first, with numpy's x.astype('f8')
O|Python's objects; convert them first, with numpy's x.astype('f8')
END
# Sizes.
run -t i32 high.bin count.bin
ok 'whole elements' test "$status" = 0
head -c 7 high.bin >torn.bin
run --format=raw -t i32 torn.bin
ok 'a torn element' test "$status" = 1
run --format=raw -q -o count -t i8 torn.bin
is 'a byte is never torn' 0 7

# The GPU says the same; an emulated one, where there is none.
everything=sum,min,max,mean,argmin,argmax,count,nan,inf,sumsq,var,std,rms,l1,l2,absmax,absmin,range,zeros,negatives,subnormals
program=$GPUREDUCE gpu_program=$GPUREDUCE
run -q -o sum -D gpu -t i32 high.bin
if [ "$status" = 3 ]; then
    skip 'all types on the GPU' 'no GPU'
    gpu_program=${GPUREDUCE_EMULATED-}
fi
if [ -x "$gpu_program" ]; then
    for type in i8 i16 i32 i64 u8 u16 u32 u64 bool f8e4m3 f8e5m2; do
        for endian in little big; do
            run -q --nan=skip -o $everything -D cpu -t $type --endian=$endian high.bin
            copy out expected
            GPUREDUCE=$gpu_program
            run -q --nan=skip -o $everything -D gpu -t $type --endian=$endian high.bin
            GPUREDUCE=$program
            is "$type, $endian-endian, on the GPU" 0 "$(cat expected)"
        done
    done
fi
run -q -o sum -D auto -t i32 high.bin
is 'auto' 0 -2079717370

# The mean of equal numbers is between their minimum and maximum, as text and in full.
printf '\146\056\146\056' >tenth.f16
run -q -t f16 -o min,mean,max tenth.f16
is 'a tenth of f16' 0 '0.0999755859375
0.0999755859375
0.0999755859375'
printf '\315\075\315\075' >tenth.bf16
run -q -t bf16 -o min,mean,max tenth.bf16
is 'a tenth of bf16' 0 '0.10009765625
0.10009765625
0.10009765625'
printf '\001' >least.f8
run -q -t f8e5m2 -o min,mean,max least.f8
is 'the least f8e5m2' 0 '0.0000152587890625
0.0000152587890625
0.0000152587890625'
printf 'file\tmin\nhalf.f16\t0.1\n' >old-record
cp tenth.f16 half.f16
run -t f16 --check=old-record
is 'a record of version 0.1.0' 0 'half.f16: OK'

finish
