#!/bin/sh
# Quantiles and histograms on a GPU: the same words and exit statuses as the CPU's, whatever the input
# is. By a GPU, where there is one, and by the program with an emulated GPU, whose kernels run on the
# host.
#
# The emulated GPU has every combination, the real one some; the unit test test_tally_cuda has its
# kernels.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

bench=${program%gpureduce}gpureduce-bench
gpu_programs 'tallies on a GPU' data/raw/mixed-le.f32 "$bench"

# make NAME DISTRIBUTION TYPE SIZE
make() {
    "$bench" generate -q -d "$2" -t "$3" -b "$4" >"$1"
}

make normal normal f32 600000
make full full f32 400000
make sparse sparse f32 500000
make halves normal f16 300000
head -c 400000 /dev/zero >zeros
# A ramp: each chunk lies in few cells, or in one.
awk 'BEGIN { for (i = 0; i < 65536; i++) printf "%c%c%c%c", i % 256, int(i / 256), 128, 63 }' >ramp
# With NaNs of both signs and infinities.
{
    head -c 40000 normal
    printf '\0\0\300\177\0\0\200\177\0\0\200\377\0\0\300\377\0\0\0\200\0\0\0\0\1\0\0\200\1\0\0\0'
    tail -c 60000 normal
} >odd
: >empty
if [ -n "$ZSTD" ]; then
    "$ZSTD" -q -f normal -o normal.zst
    # Elements are torn across its frames.
    : >frames.zst
    for at in 0 100001 200002; do
        tail -c +$((at + 1)) normal | head -c 100001 | "$ZSTD" -q -c >>frames.zst
    done
fi
quantiles=median,q0.25,q0.001,p99.9,q0,q1
# Many quantiles: many cells.
many=$(awk 'BEGIN { for (i = 1; i < 30; i++) printf "q%.3f,", i / 30.1 }')
many=${many%,}

for GPUREDUCE in $programs; do
    label=$(gpu_label)
    kinds='normal full sparse zeros ramp odd'

    # Each type, of each kind of data.
    for type in f32 f64 f16 bf16 f8e4m3 f8e5m2 '>f4' '>f8' '>f2'; do
        # shellcheck disable=SC2086 # several names
        gpu_as_cpu -q "quantiles of $type" -o $quantiles,sum --nan skip -t "$type" $kinds
        # shellcheck disable=SC2086 # as above
        gpu_as_cpu -q "bins of $type" --histogram=50,-3,7 -t "$type" $kinds
        # shellcheck disable=SC2086 # as above
        gpu_as_cpu -q "exponents of $type" --histogram=exponent -t "$type" $kinds
    done
    for type in i8 u16 i32 '>u4' i64 u64 bool; do
        # shellcheck disable=SC2086 # as above
        gpu_as_cpu -q "quantiles of $type" -o median,p99 -t "$type" $kinds
        # shellcheck disable=SC2086 # as above
        gpu_as_cpu -q "bins of $type" --histogram=20 -t "$type" $kinds
    done
    for bins in 1 1000 1000,-1,1 9000 30000 65536,-0.01,3 3,-1e-300,1e300 7,1e-40,3e-39; do
        gpu_as_cpu -q "--histogram=$bins" --histogram=$bins normal full sparse zeros
        gpu_as_cpu -q "--histogram=$bins of f64" -t f64 --histogram=$bins normal
    done
    for chunks in 256:3 4096:1 70000:3 256:1 4096:3 70000:1; do
        size=${chunks%:*} threads=${chunks#*:}
        gpu_as_cpu -q "chunks of $size, $threads threads" -j "$threads" --chunk-size="$size" \
            -o $quantiles --histogram=100 normal
        gpu_as_cpu -q "chunks of $size, $threads threads, f16" -j "$threads" --chunk-size="$size" \
            -t f16 -o $quantiles --histogram=exponent halves
    done
    for nan in propagate skip error; do
        gpu_as_cpu -q "--nan=$nan" --nan=$nan -o $quantiles --histogram=10,-1,1 odd
    done
    gpu_as_cpu -q 'infinities have no range' --histogram=10 odd
    gpu_as_cpu -q 'everything of summary' -o summary normal
    gpu_as_cpu -q 'a part' --skip=400 --length=77777 -o $quantiles --histogram=100 normal
    gpu_as_cpu -q 'one element' --length=1 -o median --histogram=3 normal
    gpu_as_cpu -q 'no element' -o median --histogram=3 empty
    gpu_as_cpu -q 'many quantiles' -o "$many" normal
    gpu_as_cpu -q 'many quantiles of f64' -t f64 -o "$many" normal
    # Several files, and all of them as one.
    gpu_as_cpu -q 'several files' -o $quantiles --histogram=9,-2,2 normal odd full
    gpu_as_cpu -q 'a total' --total -o $quantiles --histogram=9,-2,2 normal sparse full
    gpu_as_cpu -q 'a total of f16' --total -t f16 -o $quantiles halves zeros halves
    # Pipes.
    cp normal piped
    gpu_as_cpu -q 'f32 by a pipe' -o median -
    gpu_as_cpu -q 'a histogram by a pipe' --histogram=100,-3,3 -
    gpu_as_cpu -q 'f16 by a pipe' -t f16 -o $quantiles --histogram=5 -
    # What zstd has compressed, the CPU decodes: in parallel, or from front to back.
    # shellcheck disable=SC2086 # a name, or none
    gpu_as_cpu -q 'an array in a container, and what is compressed' -o $quantiles --histogram=100 \
        data/npy/v1-f4.npy ${ZSTD:+normal.zst}
    [ -z "$ZSTD" ] ||
        gpu_as_cpu -q 'elements torn across frames' --length=75000 -o $quantiles --histogram=100 frames.zst

    emulated || continue

    # auto: where a GPU is called whatever the work is, it takes a part.
    files='normal full sparse normal ramp zeros normal'
    # shellcheck disable=SC2086 # several names
    expected=$("$GPUREDUCE" -q -D cpu -o $quantiles --histogram=100,-3,3 $files)
    environment=GPUREDUCE_CALL_GPU=1
    # shellcheck disable=SC2086 # several names
    run -q -j 1 -o $quantiles --histogram=100,-3,3 $files
    is "$label, auto" 0 "$expected"
    # Whether there is a chunk left for it depends on how the threads run.
    try=0
    : >err
    while [ $try -lt 20 ] && ! grep -q '^  kernel ' err; do
        # shellcheck disable=SC2086 # several names
        run -v -j 1 --chunk-size=1000 -o $quantiles --histogram=100,-3,3 $files
        try=$((try + 1))
    done
    ok "$label, auto has it" grep -q '^  kernel ' err

    # Every call of CUDA fails once, alone and with all that follow it. The CPU then does the work,
    # but for -D gpu. The chunks are of f32, with elements that are kept, and of f16.
    failed=0
    refused=0
    # shellcheck disable=SC2086 # several names
    sum=$("$GPUREDUCE" -q -D cpu -t f16 -o $quantiles halves)
    call=1
    while [ $call -le 120 ]; do
        for fault in $call $call+; do
            environment="GPUREDUCE_CUDA_FAULT=$fault"
            run -q -D gpu -j 2 --chunk-size=100000 -t f16 -o $quantiles halves
            if [ "$status" -eq 1 ]; then
                fails_like "$label, call $fault" 'halves: GPU: .*'
                refused=$((refused + 1))
            elif [ "$status" -eq 3 ]; then
                ok "$label, call $fault: one line, and no result" test ! -s out -a "$(wc -l <err)" -eq 1
            else
                is "$label, call $fault" 0 "$sum"
            fi
            environment="GPUREDUCE_CALL_GPU=1 GPUREDUCE_CUDA_FAULT=$fault"
            # shellcheck disable=SC2086 # several names
            run -q -j 1 --chunk-size=50000 -o $quantiles --histogram=100,-3,3 $files
            is "$label, auto, call $fault" 0 "$expected" '*'
            grep -q 'GPU failed: .*; continuing on the CPU' err && failed=$((failed + 1))
        done
        call=$((call + (call < 60 ? 1 : 7)))
    done
    environment=
    ok "$label, a GPU failed in the middle of the work $refused times" test "$refused" -gt 10
    ok "$label, auto: it failed in the middle of the work $failed times" test "$failed" -gt 10
done
finish
