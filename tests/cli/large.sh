#!/bin/sh
# Files of several MiB: those that are mapped, and frames that are larger than what is read at a
# time. What raw data give is what every other way to the same data must give, to the bit; what raw
# data must give is tested elsewhere.
# Tags: ports

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=12

ops=sum,mean,min,max,argmin,argmax,count,nan,inf

# Random bits, as f16 with its NaNs and infinities: every run other data.
size=9000002
head -c "$size" /dev/urandom >raw
expect() { # ARGUMENT...: what the data give, by one thread that reads small pieces from a pipe
    shell "cat raw | gpureduce -q -t f16 -j 1 --chunk-size 4096 -o $ops $*"
    expected=$(cat out)
}

for policy in propagate skip; do
    expect --nan "$policy"
    for threads in 1 2 5; do
        for chunk in 1000 65536 3MB; do
            run -q -t f16 -j "$threads" --chunk-size "$chunk" --nan "$policy" -o "$ops" raw
            is "raw, $policy, $threads threads, chunks of $chunk" 0 "$expected"
        done
        run -q -t f16 -j "$threads" --nan "$policy" -o "$ops" raw
        is "raw, $policy, $threads threads" 0 "$expected"
        shell "gpureduce -q -t f16 -j $threads --nan $policy -o $ops <raw"
        is "standard input, $policy, $threads threads" 0 "$expected"
    done
done
expect --skip 1 --length 3000001
for threads in 1 3; do
    run -q -t f16 -j "$threads" --skip 1 --length 3000001 -o "$ops" raw
    is "raw, an odd offset, $threads threads" 0 "$expected"
done
shell '{ dd bs=4097 count=1 of=head 2>/dev/null && gpureduce -q -t f16 -o sum,count --length 4000001; } <raw'
offset=$(cat out)
shell 'gpureduce -q -t f16 -o sum,count --skip 4097 --length 4000001 raw'
is 'standard input that was read from before' 0 "$offset"

# What is cached may be mapped, populated or copied; where there is enough, a worker tries all.
expect --skip 1 --length 3000001
for way in mapped populated copied; do
    environment=GPUREDUCE_CACHED=$way
    for threads in 1 3; do
        run -q -t f16 -j "$threads" --skip 1 --length 3000001 -o "$ops" raw
        is "$way, an odd offset, $threads threads" 0 "$expected"
    done
done
environment=
{ cat raw raw raw raw && cat raw raw raw raw; } >raw8
shell "cat raw8 | gpureduce -q -t f16 -j 1 --chunk-size 4096 -o $ops"
expected=$(cat out)
for way in mapped populated copied tried; do
    environment=GPUREDUCE_CACHED=$way
    for threads in 1 2; do
        run -q -t f16 -j "$threads" -o "$ops" raw8
        is "72 MB, $way, $threads threads" 0 "$expected"
    done
    run -q --diff -t f16 raw8 raw8
    is "72 MB, $way, --diff" 0
done
environment=
rm raw8

if [ -z "$ZSTD" ]; then
    skip 'large frames' 'no zstd'
    finish
fi

# frames NAME SIZE OPTION...: the data in frames of SIZE bytes.
frames() {
    name=$1 bytes=$2
    shift 2
    rm -f part.* && split -b "$bytes" raw part.
    for part in part.*; do
        "$ZSTD" -qc "$@" "$part" || fatal 'zstd fails'
    done >"$name"
}
expect --nan skip
frames even.zst 1500000
frames torn.zst 1500001
frames unsized.zst 1500000 --no-content-size --no-check
frames torn-unsized.zst 1500001 --no-content-size
frames one.zst "$size"
for file in even torn unsized torn-unsized one; do
    for threads in 1 2 5; do
        run -q -t f16 -j "$threads" --nan skip -o "$ops" "$file.zst"
        is "$file frames, $threads threads" 0 "$expected"
    done
    shell "cat $file.zst | gpureduce -q -t f16 --nan skip -o $ops"
    is "$file frames, a pipe" 0 "$expected"
done

# Damage in the middle of a frame that is mapped, and a frame that is cut off there.
"$ZSTD" -qc --check raw >good.zst
length=$(wc -c <good.zst)
{ head -c $((length / 2)) good.zst && printf '\125\252\125\252' && tail -c +$((length / 2 + 5)) good.zst; } >bad.zst
run -q -t f16 bad.zst
fails_like 'a damaged frame' 'bad.zst: byte 0: zstd frame is damaged: .*'
head -c $((length - 5)) good.zst >cut.zst
run -q -t f16 cut.zst
fails 'a frame that is cut off' "cut.zst: ends at byte $((length - 5)), inside the zstd frame that begins at byte 0"

finish
