#!/bin/sh
# --axis on a GPU: the same bytes as the CPU's, whatever the shape and the elements are. By a GPU,
# where there is one, and by the program with an emulated GPU, whose kernels run on the host.
#
# The emulated GPU has every combination. The real one has one in eight, as there are
# more of them than any other script has; the unit test test_slice_cuda has its kernels.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

: "${GPU_SHARE:=8}"
bench=${program%gpureduce}gpureduce-bench
python=$(command -v python3)
gpu_programs 'slices on a GPU' data/raw/mixed-le.f32 "$bench"

# 480000 bytes each: 120000 elements of f32, 60000 of f64, 240000 of f16.
# make NAME DISTRIBUTION
make() {
    "$bench" generate -q -d "$2" -t f32 -b 480000 >"$1"
}
make normal normal
head -c 4000 normal >small
head -c 80000 normal >few_normal
make wide wide
make full full
head -c 80000 full >few_full
make sparse sparse
make cancel cancel
head -c 480000 /dev/zero >zeros
{
    printf abc
    cat normal
} >skewed
# With NaNs of both signs and infinities, in a few slices.
{
    head -c 40000 normal
    printf '\0\0\300\177\0\0\200\177\0\0\200\377\0\0\300\377\0\0\0\200\0\0\0\0\1\0\0\200\1\0\0\0'
    tail -c +40033 normal
} >odd

# 20 rows of 70001 columns of f32; and 2 of 75000, which chunks hold few rows of.
"$bench" generate -q -d normal -t f32 -b 5600080 >wide_normal
"$bench" generate -q -d full -t f32 -b 5600080 >wide_full
head -c 600000 wide_normal >wide_small
{
    head -c 2600000 wide_normal
    tail -c +40001 odd | head -c 32
    tail -c +2600033 wide_normal
} >wide_odd
{
    printf abc
    tail -c 4000 wide_full
    cat wide_normal
} >wide_skewed

# Operations that take more than sums and extremes, and the types that they are asked for.
more=argmin,argmax,absmin,zeros,negatives,subnormals,l1,sumsq,var,std,rms,l2
types='f32 f64 f16 bf16 >f4 >f8 >f2 f8e4m3 f8e5m2 i8 u8 bool i16 u16 i32 u32 i64 u64 >i2 >u4 >i8 >u8'
others='f8e4m3 f8e5m2 i8 u8 bool i16 u16 i32 u32 i64 u64 >i2 >u4 >i8'

for GPUREDUCE in $programs; do
    label=$(gpu_label)
    kinds='normal wide full sparse cancel zeros odd'

    # Each shape and each type, of each kind of data.
    shapes='-1,1 -1,3 -1,40 -1,1000 3,-1 4,-1,2,5 -1,2 -1,16 2,-1 30,-1,20'
    for axis in 0 1; do
        for shape in $shapes; do
            # shellcheck disable=SC2086 # several names
            gpu_as_cpu -q "--shape=$shape, axis $axis" -o sum,mean,min,max --shape="$shape" --axis=$axis $kinds
        done
        for type in f64 f16 bf16 '>f4' '>f8' '>f2'; do
            # shellcheck disable=SC2086 # as above
            gpu_as_cpu -q "$type, axis $axis" -t "$type" -o sum,min,max --shape=-1,100 --axis=$axis $kinds
        done
    done
    for axis in 0 1 2; do
        for chunks in 256:4 5000:1 70000:4 256:1 5000:4 70000:1; do
            size=${chunks%:*} threads=${chunks#*:}
            gpu_as_cpu -q "chunks of $size, $threads threads, axis $axis" -j "$threads" \
                --chunk-size="$size" -o sum,max --shape=20,-1,60 --axis=$axis normal
            gpu_as_cpu -q "chunks of $size, $threads threads, axis $axis, odd" -j "$threads" \
                --chunk-size="$size" -o sum,min,count,nan --shape=3,-1,8 --axis=$axis odd
        done
    done
    for nan in propagate skip error; do
        gpu_as_cpu -q "--nan=$nan" --nan=$nan -o sum,min,nan,inf --shape=-1,50 --axis=0 odd
        gpu_as_cpu -q "--nan=$nan, rows" --nan=$nan -o sum,min,nan,inf --shape=-1,50 --axis=1 odd
    done
    gpu_as_cpu -q 'elements at odd places' -o sum --skip=3 --shape=-1,100 --axis=1 skewed
    gpu_as_cpu -q 'columns at odd places' -o sum,max --skip=3 --shape=-1,100 --axis=0 skewed
    gpu_as_cpu -q 'a small file' -o sum --chunk-size=128 --shape=-1,10 --axis=1 small
    gpu_as_cpu -q 'a small file, columns' -o sum --chunk-size=128 --shape=-1,10 --axis=0 small
    gpu_as_cpu -q 'sums alone' -o sum --shape=-1,100 --axis=0 normal
    gpu_as_cpu -q 'extremes alone' -o min,max --shape=-1,100 --axis=1 normal
    cp normal piped
    gpu_as_cpu -q 'a pipe' -o sum --shape=1200,100 --axis=0 -
    if [ -n "$ZSTD" ]; then
        "$ZSTD" -q -f normal -o normal.zst
        gpu_as_cpu -q 'compressed' -o sum --shape=-1,100 --axis=1 normal.zst
    fi
    gpu_as_cpu -q '.npy, and several files' -o sum --axis=0 data/npy/v1-f4.npy data/npy/f8-big-endian.npy
    gpu_as_cpu -q 'no elements' -o sum --shape=0,5 --axis=0 /dev/null
    gpu_as_cpu -q 'more than its shape has' -o sum --shape=100,100 --axis=0 normal
    gpu_as_cpu -q 'fewer than its shape has' -o sum --shape=100000,100 --axis=0 normal

    # What is more than sums and extremes: records.
    for type in $types; do
        for axis in 0 1; do
            gpu_as_cpu -q "records, $type, axis $axis" -t "$type" -o "$more" --shape=-1,100 --axis=$axis few_*
        done
    done
    # Sums and extremes of integers, and of floats of one byte.
    for type in $others; do
        for axis in 0 1 2; do
            gpu_as_cpu -q "$type, axis $axis" -t "$type" -o sum,mean,min,max,range --shape=-1,20,50 --axis=$axis \
                few_*
        done
        gpu_as_cpu -q "$type, chunks" -j 3 --chunk-size=30000 -t "$type" -o sum,min --shape=-1,100 --axis=0 normal
    done
    for length in 1 3 15 16 17 255 256 257 1023 1024 1025; do
        for kind in normal odd; do
            head -c $((100000 - 100000 % (4 * length))) $kind >piece
            for axis in 0 1; do
                gpu_as_cpu -q "records, $length a row, $kind, axis $axis" -o "$more" --shape=-1,"$length" \
                    --axis=$axis piece
            done
        done
        for options in '-j 4 --chunk-size=5000' '-j 1 --chunk-size=70000'; do
            # shellcheck disable=SC2086 # several options
            gpu_as_cpu -q "records, $length in several chunks, $options" $options -o argmin,absmin,l1,sum,zeros \
                --shape="$length,-1" --axis=0 piece
        done
    done
    for operation in $(echo "$more" | tr , ' '); do
        gpu_as_cpu -q "$operation alone" -o "$operation" --shape=-1,100 --axis=0 odd
        gpu_as_cpu -q "$operation alone, rows" --nan=skip -o "$operation" --shape=-1,100 --axis=1 odd
    done
    gpu_as_cpu -q 'records, --nan=error' --nan=error -o l1 --shape=-1,50 --axis=1 odd
    gpu_as_cpu -q 'records, elements at odd places' -o argmax --skip=3 --shape=-1,100 --axis=1 skewed
    cp normal piped
    gpu_as_cpu -q 'records, a pipe' -j 3 -o l1,argmax --shape=1200,100 --axis=0 -
    # Missing elements, some slices' all, in chunks and in strips.
    for type in f32 '>f8' f8e5m2 i16 bool; do
        for axis in 0 1; do
            gpu_as_cpu -q "missing elements, $type, axis $axis" -t "$type" -o sum,min,max,count,missing --missing=0 \
                --missing=1 --shape=-1,100 --axis=$axis few_* zeros
            gpu_as_cpu -q "missing elements, records, $type, axis $axis" -t "$type" -o "$more,missing" --missing=0 \
                --missing=1 --shape=-1,100 --axis=$axis few_* zeros
        done
    done
    for missing in nan inf 0; do
        for axis in 0 1; do
            gpu_as_cpu -q "missing $missing, axis $axis" --nan=skip -o "$more,missing,min,nan" --missing=$missing \
                --shape=-1,50 --axis=$axis odd zeros
            gpu_as_cpu -q "missing $missing, chunks, axis $axis" -j 3 --chunk-size=30000 -o min,argmax,missing,nan \
                --missing=$missing --shape=4,-1,5 --axis=$axis odd
        done
        gpu_as_cpu -q "missing $missing, many columns" -j 3 -o sum,min,missing --missing=$missing --shape=20,-1 --axis=0 \
            wide_odd
    done
    gpu_as_cpu -q 'missing nan, an error' --nan=error -o sum,missing --missing=inf --shape=-1,50 --axis=1 odd
    gpu_as_cpu -q 'var and std of samples' --ddof=1 -o var,std --shape=-1,100 --axis=0 normal odd
    # Squares beyond what a binary64 holds, and below it.
    gpu_as_cpu -q 'squares of every size' -t f64 -o sumsq,std --shape=-1,40 --axis=1 full
    gpu_as_cpu -q 'squares of every size, columns' -j 2 -t f64 -o sumsq,std --shape=-1,40 --axis=0 full
    if gpu_has_turn; then
        run -q -D gpu -o median --shape=-1,100 --axis=0 normal
        fails "$(gpu_label), quantiles" 'normal: the GPU finds no quantiles along an axis; use --device=cpu'
    fi

    # More columns than workers have accumulators for: in strips, of a file; and in order.
    for kind in wide_normal wide_odd wide_full; do
        for options in '-j 1' '-j 4 --chunk-size=400000' '-t f64' '-t >f2 -j 3'; do
            # shellcheck disable=SC2086 # several options
            gpu_as_cpu -q "many columns, $kind, $options" $options -o sum,mean,min,max --shape=20,-1 --axis=0 \
                $kind
        done
    done
    gpu_as_cpu -q 'many columns, few rows' -j 2 -o sum,max --shape=3,-1 --axis=0 wide_odd
    gpu_as_cpu -q 'many columns, one row' -j 2 -o sum,min --shape=1,-1 --axis=0 wide_normal
    gpu_as_cpu -q 'many columns, blocks of them' -j 3 -o sum,min,nan --shape=2,10,-1 --axis=1 wide_odd
    gpu_as_cpu -q 'many columns of chunks that hold few elements' -j 2 --chunk-size=4096 -o sum --shape=2,-1 \
        --axis=0 normal wide_small
    for kind in wide_normal wide_odd; do
        gpu_as_cpu -q "many columns, $kind, records" -j 3 -o sum,argmax,l1,zeros --shape=20,-1 --axis=0 $kind
    done
    for type in u8 f8e4m3 '>i4'; do
        gpu_as_cpu -q "many columns, $type" -j 3 -t "$type" -o sum,max,argmin --shape=20,-1 --axis=0 wide_normal
    done
    gpu_as_cpu -q 'many columns, --nan=error' --nan=error -o sum --shape=20,-1 --axis=0 wide_odd
    gpu_as_cpu -q 'many columns at odd places' -o sum --skip=4003 --shape=20,-1 --axis=0 wide_skewed
    cp wide_odd piped
    gpu_as_cpu -q 'many columns, a pipe' -j 3 -o sum,min --shape=20,70001 --axis=0 -
    gpu_as_cpu -q 'many columns, a pipe, records' -j 3 -o argmin,l1 --shape=20,70001 --axis=0 -
    if [ -n "$ZSTD" ]; then
        "$ZSTD" -q -f wide_odd -o wide.zst
        gpu_as_cpu -q 'many columns, compressed' -j 3 -o sum,max --shape=20,-1 --axis=0 wide.zst
    fi

    emulated || continue
    # Several GPUs.
    for axis in 0 1; do
        expected=$("$GPUREDUCE" -q -D cpu -o std,argmin,sum --shape=-1,100 --axis=$axis odd)
        run -q -D gpu:0,1,3 -j 4 --chunk-size=20000 -o std,argmin,sum --shape=-1,100 --axis=$axis odd
        is "$label, several GPUs, axis $axis" 0 "$expected"
    done
    # By exact arithmetic, which is not the program's.
    if [ -n "$python" ]; then
        # The program that reads HDF5 is looked for beside it.
        mkdir -p beside
        cp "$GPUREDUCE_EMULATED" "${program%gpureduce}gpureduce-hdf5" beside 2>/dev/null
        ok "$label, arrays of all types and shapes" "$python" "$sources/tests/lib/axis_check.py" \
            "beside/${GPUREDUCE_EMULATED##*/}" "${CHECK_SEED:-1}" "${AXIS_ARRAYS:-150}" -D gpu
    else
        skip "$label, arrays of all types and shapes" 'there is no python3'
    fi
    # Every call of CUDA fails once, alone and with all that follow it.
    expected=$("$GPUREDUCE" -q -D cpu -o sum,max --shape=-1,40 --axis=0 full)
    failed=0
    call=1
    while [ $call -le 60 ]; do
        for fault in $call $call+; do
            environment="GPUREDUCE_CUDA_FAULT=$fault"
            run -q -D gpu -j 2 --chunk-size=100000 -o sum,max --shape=-1,40 --axis=0 full
            if [ "$status" -eq 3 ]; then
                ok "$label, call $fault: one line, and no result" test ! -s out -a "$(wc -l <err)" -eq 1
            elif [ "$status" -eq 1 ]; then
                ok "$label, call $fault: the GPU has failed" grep -q '^gpureduce: full: GPU: ' err
                failed=$((failed + 1))
            else
                is "$label, call $fault" 0 "$expected"
            fi
        done
        call=$((call + 1))
    done
    # The same with strips of columns.
    expected=$("$GPUREDUCE" -q -D cpu -o sum --shape=20,-1 --axis=0 wide_odd | cksum)
    call=1
    while [ $call -le 45 ]; do
        for fault in $call $call+; do
            environment="GPUREDUCE_CUDA_FAULT=$fault"
            run -q -D gpu -j 2 -o sum --shape=20,-1 --axis=0 wide_odd
            case $status in
            0) ok "$label, strips, call $fault" test "$(cksum <out)" = "$expected" ;;
            3) ok "$label, strips, call $fault: no result" test ! -s out -a "$(wc -l <err)" -eq 1 ;;
            *) ok "$label, strips, call $fault: the GPU has failed" grep -q '^gpureduce: wide_odd: GPU: ' err ;;
            esac
        done
        call=$((call + 3))
    done
    environment=
    ok "$label, a GPU failed in the middle of the work $failed times" test "$failed" -gt 10
done
finish
