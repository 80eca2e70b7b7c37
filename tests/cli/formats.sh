#!/bin/sh
# The same bits in every way to read and to divide the work: threads, sizes of chunks, formats,
# frames, files and pipes, mapped or not. Expected values are those of data/expected.tsv.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=12

# value FILE OPERATION [OPTIONS]
value() {
    grep "^$1${tab}${3:-none}${tab}$2${tab}" data/expected.tsv | cut -f 4
}

all=sum,min,max,mean,count,argmin,argmax,nan,inf

threads_everywhere='1 2 3 4 5' chunks_everywhere='1 16 1000 4096 1MiB'
if [ -n "$sanitizer" ]; then
    threads_everywhere='1 4' chunks_everywhere='16 1000'
fi

# everywhere FILE OPTIONS: a share of all threads and chunks, from the file and in some cases from a pipe.
everywhere() {
    grep "^$1${tab}${2:-none}${tab}" data/expected.tsv | cut -f 4 >expected
    tried=
    for threads in $threads_everywhere; do
        for chunk in $chunks_everywhere; do
            share_takes_next || continue
            tried=yes
            # shellcheck disable=SC2086 # the options are words
            run -q -o $all $2 -j "$threads" --chunk-size "$chunk" "data/$1"
            if [ "$status" -ne 0 ] || ! cmp -s out expected; then
                fail "$1 $2"
                explain
                return
            fi
            case $threads in
            1 | 4)
                # shellcheck disable=SC2002,SC2086 # a pipe is the point, and options are words
                cat "data/$1" | "$GPUREDUCE" -q -o $all $2 -j "$threads" --chunk-size "$chunk" \
                    >out 2>err
                status=$?
                if [ "$status" -ne 0 ] || ! cmp -s out expected; then
                    command="cat data/$1 | gpureduce $2 -j $threads --chunk-size $chunk"
                    fail "$1 $2, in a pipe"
                    explain
                    return
                fi
                ;;
            esac
        done
    done
    [ -z "$tried" ] || pass "$1 $2"
}
everywhere raw/mixed-le.f32
everywhere raw/mixed-le.f32 '--skip 3 --length=10'
everywhere raw/mixed-be.f64 '-t f64 --endian big'
everywhere raw/mixed-be.bf16 '-t bf16 --endian big'
everywhere raw/cancel.f64 '-t f64'
everywhere raw/nan.f16 '-t f16 --nan=skip'
everywhere raw/both-inf.f32
everywhere raw/one.f32
everywhere raw/empty.f32
everywhere npy/v1-f4.npy
everywhere npy/unpadded.npy
everywhere npy/f8-big-endian.npy
everywhere zstd/one-unsized.f32.zst
everywhere zstd/frames.f32.zst
everywhere zstd/frames-unsized.f32.zst
everywhere zstd/frames-torn.f32.zst
everywhere zstd/frames-torn-unsized.f32.zst
everywhere zstd/frames-torn-mixed.f32.zst
everywhere zstd/frames-torn.f32.zst '--skip=2002 --length 100'
everywhere zstd/frames-unsized.f32.zst '--skip=2002 --length 100'
everywhere zstd/nan-frames-unsized.f32.zst
everywhere zstd/empty-frames.f32.zst
everywhere zstd/skippable.f32.zst
everywhere zstd/mixed-be.f64.zst '-t >f8'
everywhere zstd/array-torn.npy.zst
everywhere zstd/array-torn-unsized.npy.zst
everywhere zstd/array-trailing.npy.zst

# The content decides, and never the name.
mkdir names
for file in raw/mixed-le.f32 npy/v1-f4.npy zstd/frames.f32.zst zstd/array.npy.zst; do
    for name in x x.f32 x.f64 x.npy x.zst x.npy.zst x.gz; do
        copy "data/$file" "names/$name"
        run -q -o sum "names/$name"
        is "$file named $name" 0 "$(value $file sum)"
        rm "names/$name"
    done
done
for file in zstd/one.f32.zst zstd/frames-torn-unsized.f32.zst; do
    run -q -o sum --format=zstd "data/$file"
    is "--format=zstd $file" 0 "$(value $file sum)"
done
run -q -o sum --format=zstd data/zstd/array.npy.zst
is '--format=zstd of .npy' 0 "$(value zstd/array.npy.zst sum)"
run -q -o sum --format=npy data/npy/v1-f4.npy
is '--format=npy' 0 "$(value npy/v1-f4.npy sum)"
run -q -o sum --format=raw data/raw/mixed-le.f32
is '--format=raw' 0 "$(value raw/mixed-le.f32 sum)"
run -q -o sum --format=raw --skip $(($(size data/npy/v1-f4.npy) - 420)) data/npy/v1-f4.npy
is '--format=raw --skip of a header' 0 "$(value npy/v1-f4.npy sum)"
# Elements that look like the magic numbers of formats.
{ printf '\050\265\057\375' && three; } >magic
run -q -o count --format=raw magic
is '--format=raw of data that look like zstd' 0 4
shell 'cat magic | gpureduce -q -o count --format=raw'
is '--format=raw of data that look like zstd, in a pipe' 0 4
{ printf '\120\052\115\030\004\0\0\0' && three; } >magic
run -q -o count --format=raw magic
is '--format=raw of data that look like a skippable frame' 0 5
# Less than a magic number.
printf '\050\265\057' >magic
run magic
fails 'three bytes of a magic number' \
    'magic: byte 0: the last f32 element is cut off after 3 of 4 bytes'
run -q -o count -t f16 --length 1 magic
is 'are an f16 and more' 0 1
printf '\223NUM' >magic.npy
run magic.npy
fails 'four bytes of that of .npy' \
    'magic.npy: a .npy file that is cut off at byte 4 (--format=raw reads it as raw numbers)'
run -q -o count --format=raw magic.npy
is 'are an f32 with --format=raw' 0 1
if has_zlib; then
    gzip -c magic.npy >magic.npy.gz
    run magic.npy.gz
    fails 'so, compressed' \
        'magic.npy.gz: a .npy file that is cut off at byte 4 (--format=raw+gzip reads it as raw numbers)'
fi
printf '\223NUMPY' >magic
run magic
fails 'six are a .npy' 'magic: the .npy header is cut off at byte 6'

#
# What is large enough to be mapped, and to have many chunks. 2^13 times the same elements: the
# mean, the extremes and where they are stay the same, and the sum is 2^13 times the sum to the last
# bit, for doubling rounds nothing.
#
# enlarge FILE: makes ./large of it.
enlarge() {
    copy "$1" large
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13; do
        cat large large >larger && mv larger large
    done
}
# enlarged NAME FILE OPTIONS: whether the last run, -o mean,min,max,argmin,argmax,count,sum, gave what
# follows from the file that was enlarged.
enlarged() {
    {
        for op in mean min max argmin argmax; do
            value "$2" $op "${3-}"
        done
        echo $(($(value "$2" count "${3-}") * 8192))
    } >expected
    head -n 6 out >six
    if [ "$status" -eq 0 ] && cmp -s six expected && [ "$(wc -l <out)" -eq 7 ] &&
        awk "BEGIN { exit !($(sed -n 7p out) == $(value "$2" sum "${3-}") * 8192) }"; then
        pass "$1"
    else
        fail "$1"
        explain
        echo "# expected, and $(value "$2" sum "${3-}") * 8192:"
        show expected
    fi
}
operations=mean,min,max,argmin,argmax,count,sum
enlarge data/raw/mixed-le.f32
for options in -j1 '-j 2' '-j 5' '-j 3 --chunk-size 1000' '-j 2 --chunk-size 100000' \
    '-j 1 --chunk-size 1GiB'; do
    # shellcheck disable=SC2086 # the options are words
    run -q -o $operations $options large
    enlarged "a large file $options" raw/mixed-le.f32
    shell "cat large | gpureduce -q -o $operations $options"
    enlarged "a large pipe $options" raw/mixed-le.f32
done
# Elements that lie across the boundaries of words, lines and pages.
for before in 1 2 3 4095 4097; do
    { dd if=/dev/zero bs=$before count=1 2>/dev/null && cat large; } >behind
    run -q -o $operations --skip $before -j 3 behind
    enlarged "a large file --skip $before" raw/mixed-le.f32
    shell "{ dd bs=$before count=1 of=/dev/null 2>/dev/null; gpureduce -q -o $operations; } <behind"
    enlarged "a large file as standard input behind $before bytes" raw/mixed-le.f32
done
{ npy 1 "$(npy_header '<f4' '(257, 8192)')" && cat large; } >large.npy
run -q -o $operations -j 2 large.npy
enlarged 'a large .npy' raw/mixed-le.f32
printf 1234567 >>large.npy
run -q -o $operations -j 2 large.npy
enlarged 'a large .npy with bytes behind' raw/mixed-le.f32
run -q -o count --length 2000000 large
is 'a part of a large file' 0 2000000
rm behind large.npy
if [ -n "$ZSTD" ]; then
    for options in -1 --fast=3 '-1 --no-check' '-1 -T2 -B1048576' '-5 --long=20'; do
        # shellcheck disable=SC2086 # the options are words
        "$ZSTD" -q -f $options large -o large.zst
        run -q -o $operations -j 3 large.zst
        enlarged "zstd $options" raw/mixed-le.f32
        # shellcheck disable=SC2086
        "$ZSTD" -q $options <large >large.zst
        run -q -o $operations -j 3 large.zst
        enlarged "zstd $options from a pipe" raw/mixed-le.f32
    done
    # Frames of a size that is not a multiple of an element's.
    : >large.zst
    : >unsized.zst
    i=0
    while [ "$i" -lt 8421376 ]; do
        dd if=large of=part bs=1234567 skip=$((i / 1234567)) count=1 2>/dev/null
        "$ZSTD" -q -1 -c part >>large.zst
        "$ZSTD" -q -1 -c <part >>unsized.zst
        i=$((i + 1234567))
    done
    for name in large unsized; do
        for threads in 1 2 4; do
            run -q -o $operations -j $threads $name.zst
            enlarged "frames that tear elements, $name, $threads threads" raw/mixed-le.f32
        done
    done
else
    skip 'zstd' 'no zstd'
fi
if [ -n "$PZSTD" ]; then
    for options in '-1 -p 1' '-1 -p 2'; do
        # shellcheck disable=SC2086 # the options are words
        "$PZSTD" -q -f $options large -o large.zst
        for threads in 1 2 4; do
            run -q -o $operations -j $threads large.zst
            enlarged "pzstd $options, $threads threads" raw/mixed-le.f32
            run -q -o count,sum -j $threads --skip 4 --length 2105343 large.zst
            copy out expected
            run -q -o count,sum -j $threads --skip 4 large
            is "pzstd $options, $threads threads, --skip --length" 0 "$(cat expected)"
        done
    done
else
    skip 'pzstd' 'no pzstd'
fi
rm -f large.zst unsized.zst part

for kind in f64 bf16; do
    enlarge data/raw/mixed-be.$kind
    for options in -j1 '-j 3'; do
        # shellcheck disable=SC2086 # the options are words
        run -q -o $operations $options -t $kind --endian big large
        enlarged "a large file of big-endian $kind $options" raw/mixed-be.$kind "-t $kind --endian big"
    done
done
rm large

#
# Far into a file: beyond what fits into 32 bits, and where a new piece of it is mapped. The files
# have holes and take no room.
#
# far NAME OFFSET: three elements at an offset, looked at with 16 MiB around them.
far() {
    rm -f holes
    if ! dd if=three.f32 of=holes bs=1 seek="$2" 2>/dev/null ||
        ! dd if=/dev/zero of=holes bs=1 count=1 seek=$(($2 + 8388611)) conv=notrunc 2>/dev/null; then
        skip "$1" 'the file system does not take such a file'
        return
    fi
    for options in -j1 '-j 3' '-j 3 --chunk-size 4096'; do
        # shellcheck disable=SC2086 # the options are words
        run -q -o sum,argmax,count --skip $(($2 - 8388608)) $options holes
        is "$1 $options" 0 "6
2097154
4194305"
    done
    run -q -o sum,argmin,argmax --skip "$2" --length 3 holes
    is "$1, nothing else" 0 "6
0
2"
}
three >three.f32
far 'at 1 GiB' 1073741820
far 'at 2 GiB' 2147483644
far 'at 4 GiB' 4294967292
far 'at 9 GiB and 3 bytes' 9663676419

finish
