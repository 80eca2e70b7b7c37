#!/bin/sh
# Files that the page cache does not hold, or holds in part. What they give is what a pipe gives of the
# same data, to the bit; and the page cache is left as it was where they are read past it, and has
# them where they are read through it.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# By smaller ones not everything is read past the page cache.
least_chunk=16

ops=sum,mean,min,max,argmin,argmax,count,nan,inf

# pages FILE: how many of its pages are in the page cache.
pages() {
    fincore -nbr -o PAGES "$1" | tr -d ' '
}

# evict FILE: as GNU dd asks the kernel to.
evict() {
    sync "$1" && dd if="$1" iflag=nocache count=0 2>/dev/null
}

size=9000003
head -c "$size" /dev/urandom >raw
evict raw
if ! cached=$(pages raw 2>/dev/null) || [ -z "$cached" ]; then
    skip 'files that are not cached' 'no fincore(1)'
    finish
fi
if [ "$cached" -ne 0 ]; then
    skip 'files that are not cached' 'this file system keeps them in memory'
    finish
fi

# direct TEXT NAME FILE: the run before gave this, and read past the page cache. The pages of the
# header and of the beginning, by which formats are told, may be cached.
direct() {
    is "$2" 0 "$1"
    left=$(pages "$3")
    ok "$2: the page cache is left alone ($left pages)" [ "$left" -le 64 ]
}

# cached TEXT NAME FILE: the run before gave this, and has left the file in the page cache, of which
# the kernel may take some back at any time.
cached() {
    is "$2" 0 "$1"
    left=$(pages "$3")
    ok "$2: the page cache has it ($left pages)" [ "$left" -gt $((size / 4096 / 2)) ]
}

# Offsets, lengths and types: a range begins anywhere in a page, and ends there.
for how in '-t f16 --skip 1' '-t f32 --skip 3 --length 2000000' '-t f64 --skip 4099' \
    '-t bf16 --skip 1 --length 4' '-t f16 --skip 8999999' '-t >f4 --skip 3'; do
    # shellcheck disable=SC2086 # several words
    shell "cat raw | gpureduce -q '${how%% *}' $(printf '%s' "${how#* }" | sed 's/>f4/">f4"/') -o $ops"
    expected=$(cat out)
    for threads in 1 3 9; do
        evict raw
        # shellcheck disable=SC2086
        run -q $how -j "$threads" -o "$ops" raw
        direct "$expected" "$how, $threads threads" raw
    done
done
shell "cat raw | gpureduce -q -t f16 --skip 1 -o $ops"
expected=$(cat out)
evict raw
run -q -t f16 --skip 1 -o "$ops" raw
direct "$expected" 'as many threads as it sees fit' raw
# By small ones some is found in the cache after all: the kernel reads ahead.
evict raw
run -q -t f16 --skip 1 -j 2 --chunk-size 1000 -o "$ops" raw
is 'chunks of 1000' 0 "$expected"
for chunk in 65536 1MiB 3MB 16MiB; do
    evict raw
    run -q -t f16 --skip 1 -j 2 --chunk-size "$chunk" -o "$ops" raw
    direct "$expected" "chunks of $chunk" raw
done
evict raw
shell "gpureduce -q -t f16 --skip 1 -o $ops <raw"
direct "$expected" 'standard input' raw

# All bytes are accounted for, and none twice.
evict raw
shell 'gpureduce --json -t f16 --skip 1 -j 3 raw | sed "s/.*\"input_bytes\": \([0-9]*\).*/\1/"'
is 'what was read' 0 "$((size - 1))" '*'

# A .npy file.
{ npy 1 "$(npy_header '<f2' '(4500001,)')" && tail -c +2 raw; } >array.npy
evict array.npy
run -q -o "$ops" array.npy
direct "$expected" 'a .npy file' array.npy

# Through the page cache.
environment=GPUREDUCE_DIRECT=0
for threads in 1 3 9; do
    evict raw
    run -q -t f16 --skip 1 -j "$threads" -o "$ops" raw
    cached "$expected" "through the page cache, $threads threads" raw
done
for chunk in 1000 65536 3MB 16MiB; do
    evict raw
    run -q -t f16 --skip 1 -j 2 --chunk-size "$chunk" -o "$ops" raw
    cached "$expected" "through the page cache, chunks of $chunk" raw
done
environment=

# Cached in part: ranges of both kinds.
for threads in 1 2 5; do
    evict raw
    dd if=raw of=/dev/null bs=1M skip=3 count=2 2>/dev/null
    run -q -t f16 --skip 1 -j "$threads" --chunk-size 1MiB -o "$ops" raw
    is "cached in part, $threads threads" 0 "$expected"
done

finish
