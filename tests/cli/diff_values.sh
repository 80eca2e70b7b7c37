#!/bin/sh
# --diff: what differs, of all types, at random and on purpose, against tests/lib/diff_oracle.py, by
# several threads and in small pieces, out of files, pipes and what is compressed.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=8

python=$(command -v python3)
if [ -z "$python" ] || ! "$python" -c 'import zlib' 2>/dev/null; then
    skip 'what two arrays differ in' 'there is no python3 with zlib'
    finish
fi
"$python" "$sources/tests/lib/diff_oracle.py" . || fatal 'the oracle fails'

ok 'there are some' test "$(wc -l <propagate.tsv)" -gt 150
differs_as propagate.tsv 'what differs' a.safetensors b.safetensors
differs_as skip.tsv 'without NaNs' --nan=skip a.safetensors b.safetensors
while read -r asked; do
    differs_as "$asked.tsv" "with $asked" --nan=skip --tolerance="$asked" a.safetensors b.safetensors
done <asked.tolerances
for how in '-j 1' '-j 3 --chunk-size=1000' '-j 2 --chunk-size=70000'; do
    # shellcheck disable=SC2086 # several words
    differs_as propagate.tsv "$how" $how a.safetensors b.safetensors
done
missing='--missing=0 --missing=1 --missing=nan --missing=-inf'
# shellcheck disable=SC2086 # several words
for how in '-j 1' '-j 3 --chunk-size=1000' '-j 2 --nan=error'; do
    differs_as missing.tsv "with missing values, $how" $how $missing a.safetensors b.safetensors
done
environment=GPUREDUCE_CPU=vector16
differs_as propagate.tsv 'by other kernels' a.safetensors b.safetensors
environment=
differs_as numpy.tsv 'one side big-endian' a.safetensors big-b.npz
differs_as numpy.tsv 'the other side' big-a.npz b.safetensors
differs_as numpy.tsv 'both' big-a.npz big-b.npz
if gpureduce -q -o count deflated-b.npz >/dev/null 2>&1; then
    differs_as numpy.tsv 'deflated' big-a.npz deflated-b.npz
    differs_as numpy.tsv 'deflated, in small pieces' -j 3 --chunk-size=999 a.safetensors deflated-b.npz
fi

# Of one array, as raw files, pipes and zstd.
sed -n -e 1p -e "s/^f64.long$tab/$tab/p" propagate.tsv >one.tsv
differs_as one.tsv 'raw' -t f64 long-a long-b
shell 'cat long-b | gpureduce --diff --tsv --number=hex -t f64 long-a -'
ok 'a pipe' cmp one.tsv out
shell 'cat long-a | gpureduce --diff --tsv --number=hex -j 1 --chunk-size=333 -t f64 - long-b'
ok 'a pipe on the other side, in small pieces' cmp one.tsv out
if [ -n "$ZSTD" ]; then
    "$ZSTD" -q long-a && { head -c 40003 long-b | "$ZSTD" -q && tail -c +40004 long-b | "$ZSTD" -q; } >long-b.zst
    differs_as one.tsv 'zstd' -t f64 long-a.zst long-b
    differs_as one.tsv 'zstd, frames that elements lie across' -t f64 long-a.zst long-b.zst
    shell 'cat long-b.zst | gpureduce --diff --tsv --number=hex -j 3 --chunk-size=5000 -t f64 long-a.zst -'
    ok 'zstd and a pipe of it' cmp one.tsv out
    head -c 3000 long-a.zst >cut.zst
    run --diff -t f64 cut.zst long-b
    ok 'zstd that is cut off' test "$status:$(wc -l <err)" = 2:1
fi

# Larger than the 8 MiB that a worker takes at a time, and mapped.
least_chunk=12
size=24
[ -z "$sanitizer" ] || size=16
if "$program-bench" generate -q -d normal -b ${size}MiB >large 2>/dev/null; then
    cp large large2
    run --diff -q large large2
    is 'large, the same' 0 ''
    flip large2 ${size}000003
    run --diff --tsv --number=hex -j 1 large large2
    copy out expected
    ok 'large, one byte' test "$status:$(sed -n 2p out | cut -f 6,7)" = "1:1${tab}$((size * 250000))"
    for how in '-j 4' '-j 3 --chunk-size=100001' '--format=raw -j 2'; do
        # shellcheck disable=SC2086 # several words
        run --diff --tsv --number=hex $how large large2
        ok "large, $how" cmp expected out
    done
    shell 'cat large2 | gpureduce --diff --tsv --number=hex large -'
    ok 'large, a pipe' cmp expected out
    if [ -n "$ZSTD" ]; then
        "$ZSTD" -q -1 large && "$ZSTD" -q -1 large2
        {
            head -c 9000001 large2 | "$ZSTD" -q -1 && "$ZSTD" -q -1 </dev/null
            tail -c +9000002 large2 | head -c 100000 | "$ZSTD" -q -1
            tail -c +9100002 large2 | "$ZSTD" -q -1
        } >frames.zst
        cut -f "$columns" expected >large.tsv
        differs_as large.tsv 'large, a frame on each side' -j 4 large.zst large2.zst
        differs_as large.tsv 'large, a frame and a plain file' -j 3 --chunk-size=100001 large large2.zst
        differs_as large.tsv 'large, frames of all sizes' -j 3 large.zst frames.zst
        head -c 12000000 large2.zst >cut.zst
        run --diff large.zst cut.zst
        ok 'large, cut off' test "$status:$(cut -d : -f 2- err)" = \
            '2: cut.zst: ends at byte 12000000, inside the zstd frame that begins at byte 0'
        flip large2.zst 12345678
        run --diff large.zst large2.zst
        ok 'large, damaged' test "$status:$(grep -c 'byte 0: zstd frame is damaged: ' err)" = 2:1
    fi
    flip large2 3
    mkfifo fifo other hold
    # Opening hold waits. timeout passes on what kills it, and so leaves no cat behind.
    timeout 60 cat large2 hold 1<>fifo &
    writer=$!
    # shellcheck disable=SC2016 # the inner shell's
    shell 'timeout 50 gpureduce --diff -q -j 3 large fifo'
    is 'large, a pipe whose rest nobody waits for' 1 ''
    kill "$writer"
    timeout 60 cat large2 hold 1<>fifo &
    writers=$!
    timeout 60 cat large hold 1<>other &
    writers="$writers $!"
    shell 'timeout 50 gpureduce --diff -q -j 3 fifo other'
    is 'two pipes whose rest nobody waits for' 1 ''
    # shellcheck disable=SC2086 # several numbers
    kill $writers
fi

finish
