#!/bin/sh
# Missing values on a GPU: the same words and exit statuses as the CPU's. By a GPU, where there is one,
# and by the program with an emulated GPU. Its sums go through the elements one by one; its tallies
# are the kernels' own. test_reduce_kernels and test_tally_kernels have the kernels of both.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

bench=${program%gpureduce}gpureduce-bench
gpu_programs 'missing values on a GPU' data/raw/mixed-le.f32 "$bench"

# spoil PERCENT ELEMENT FILE...: puts the bytes of an element of four bytes, as printf has them, into
# the place of so many of them.
spoil() {
    spoil_percent=$1 spoil_element=$2
    shift 2
    # shellcheck disable=SC2059 # it is one
    cat "$@" | "$python" -c '
import random, sys
data, element, percent = bytearray(sys.stdin.buffer.read()), bytes.fromhex(sys.argv[1]), int(sys.argv[2])
rng = random.Random(38)
for i in range(0, len(data) - len(data) % 4, 4):
    if rng.randrange(100) < percent:
        data[i : i + 4] = element
sys.stdout.buffer.write(data)' "$spoil_element" "$spoil_percent"
}

find_python random || { skip 'missing values on a GPU' 'there is no Python' && finish; }
"$bench" generate -q -d normal -t f32 -b 400000 >whole
"$bench" generate -q -d full -t f32 -b 200000 >wide
# -9999, a NaN, and a zero, in any type of up to four bytes some number.
spoil 1 003c1cc6 whole >one
spoil 30 003c1cc6 whole >third
spoil 30 0000c07f whole >nans
spoil 30 00000000 wide >zeros
spoil 100 003c1cc6 whole >none
{
    cat wide
    printf '\0\0\300\177\0\0\200\177\0\0\200\377\0\0\300\377\0\0\0\200\0\0\0\0\1\0\0\200\1\0\0\0'
    cat one
} >odd
[ -z "$ZSTD" ] || "$ZSTD" -q --no-check -f one third odd
sums=sum,mean,min,max,argmin,argmax,count,nan,inf,missing
moments=$sums,std,l1,l2,sumsq,absmax,absmin,zeros,negatives,subnormals
for GPUREDUCE in $programs; do
    for type in f32 f64 f16 bf16 f8e4m3 f8e5m2 '>f4' '>f8' '>f2' i8 i16 i32 i64 u8 u16 u32 u64 bool '>i2' '>u4' '>i8'; do
        case $type in
        i* | '>i'*) values='0 -1 -9999 -970179584' ;;
        u* | '>u'*) values='0 1 15360 3324787712' ;;
        bool) values='1' ;;
        *) values='-9999 0 nan 0x1p-3' ;;
        esac
        all=
        for value in $values; do
            "$GPUREDUCE" -q -D cpu -o missing -t "$type" --missing="$value" one >/dev/null 2>&1 || continue
            all="$all --missing=$value"
            gpu_as_cpu -q "$value of $type" -o $sums --nan skip -t "$type" --missing="$value" one third nans zeros none odd
        done
        for nan in propagate error; do
            # shellcheck disable=SC2086 # several words
            gpu_as_cpu -q "values of $type, NaNs $nan" -o $moments --nan $nan -t "$type" $all one third nans zeros none odd
        done
        # shellcheck disable=SC2086 # as above
        gpu_as_cpu -q "quantiles of $type" -o median,q0.01,q0.99,missing --nan skip -t "$type" $all one third nans zeros none odd
        # shellcheck disable=SC2086 # as above
        gpu_as_cpu -q "a histogram of $type" --histogram=20,-3,7 -t "$type" $all one nans zeros none
    done
    for missing in -9999 nan 0; do
        gpu_as_cpu -q "$missing, all results" -o $moments --nan=skip --missing=$missing one third nans zeros none odd
        gpu_as_cpu -q "$missing, chunks" -j 3 --chunk-size=1000 -o $moments --nan=skip --missing=$missing third odd
        gpu_as_cpu -q "$missing, bins of exponents" --histogram=exponent --missing=$missing third odd
        gpu_as_cpu -q "$missing, bins" --histogram=1000 --missing=$missing third zeros
        gpu_as_cpu -q "$missing, a total" --total -o $moments,median --nan=skip --missing=$missing one third nans
        gpu_as_cpu -q "$missing, a part" --skip=400 --length=7777 -o $moments,median --missing=$missing third
        gpu_as_cpu -q "$missing, an error" --fail-on=missing --missing=$missing whole third
        [ -z "$ZSTD" ] || gpu_as_cpu -q "$missing, compressed" -o $moments --nan=skip --missing=$missing one.zst third.zst odd.zst
        cp third piped
        gpu_as_cpu -q "$missing, a pipe" -o $moments --missing=$missing -
    done
done

# Attributes of netCDF-4 and HDF5 files say what is missing, and give scales. An array has the CPU's
# results or none: the GPU reads no chunks.
hdf5=${program%gpureduce}gpureduce-hdf5
if [ ! -x "$hdf5" ]; then
    skip 'attributes on a GPU' 'gpureduce-hdf5 is missing'
    finish
fi
make_files make_meaning.py 'attributes on a GPU' "${STRESS_SEED:-1}"
mkdir beside

# equal_or_none NAME LEAST OPERATIONS FILE: at least LEAST arrays have results.
equal_or_none() {
    "$GPUREDUCE" -q -D cpu --tsv -o "$3" "made/$4" >cpu.tsv 2>err
    "$GPUREDUCE" -q -D gpu --tsv -o "$3" "made/$4" >gpu.tsv 2>err
    status=$? command="gpureduce -D gpu -o $3 $4"
    grep -v "${tab}NA" gpu.tsv >found
    grep -vxFf cpu.tsv found >differ
    ok "$(gpu_label), $1, $4, $3" test "$status" -eq 1 -a ! -s differ -a "$(wc -l <found)" -ge "$2"
}

for GPUREDUCE in $programs; do
    if emulated; then
        cp "$GPUREDUCE_EMULATED" "$hdf5" beside
        GPUREDUCE_EMULATED=beside/${GPUREDUCE_EMULATED##*/}
        GPUREDUCE=$GPUREDUCE_EMULATED
    fi
    for file in plain-1.nc scaled-1.nc plain-3.h5 scaled-2.h5; do
        equal_or_none 'attributes' 60 sum,mean,min,max,argmin,argmax,nan,count,missing $file
        equal_or_none 'attributes' 60 std,sumsq,range,q0.3 $file
        equal_or_none 'attributes' 60 l1,absmin,zeros,negatives,absmax $file
    done
done
finish
