#!/bin/sh
# zstd that a GPU decodes and reduces: the same bits, words and exit statuses as the CPU's, whatever
# the input is. By a GPU, where there is one, and by the program with an emulated GPU, whose batches
# are so small that these files have many.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

ops=--op=sum,min,max,argmin,argmax,count,nan,inf
gpu_programs 'zstd on a GPU' data/waves.f32.zst "${ZSTD:-zstd}"

# both NAME [OPTION...] FILE...
both() {
    gpu_as_cpu "-q $ops" "$@"
}

# piped NAME OPTIONS FILE...: the same, each file by a pipe.
piped() {
    piped_name=$1 piped_options=$2
    shift 2
    for piped_file; do
        cp "$piped_file" piped
        # shellcheck disable=SC2086 # several words, or none
        both "$piped_name: $piped_file by a pipe" $piped_options -
    done
}

# unpacked NAME BYTES FILE...: whether so many bytes of each file, several words, were decoded on the
# GPU, and none by the CPU.
unpacked() {
    unpacked_name=$1 unpacked_bytes=$2
    shift 2
    run -v -D gpu -o count "$@"
    # shellcheck disable=SC2086 # several words
    if [ "$status" -eq 0 ] && ! grep -q '^  decode' err && printf '%s\n' $unpacked_bytes >expected &&
        sed -n 's/^  gpu_decode *[^ ]* *\([0-9]*\) .*/\1/p' err | cmp -s expected -; then
        pass "$label, $unpacked_name"
    else
        fail "$label, $unpacked_name"
        explain
    fi
}

{
    head -c 5000 /dev/zero
    awk 'BEGIN { srand(7); for (i = 0; i < 30000; i++) printf "%08d", rand() * 90000000 }'
    head -c 200000 /dev/zero
    awk 'BEGIN { for (i = 0; i < 40000; i++) printf "%07d\n", i * i % 99991 }'
    awk 'BEGIN { srand(3); for (i = 0; i < 50000; i++) printf "%c%c%c@", 33 + rand() * 90, 33 + rand() * 90, 50 + rand() * 4 }'
} >plain
size=$(wc -c <plain)

# part FROM SIZE: these bytes of ./plain.
part() {
    tail -c +$(($1 + 1)) plain | head -c "$2"
}

#
# Files of one frame.
#
levels='' unsized='' sizes=''
for level in -1 '-3 --no-check' --fast=5 -19 '-9 --long=18' '-3 --no-compress-literals'; do
    name=$(printf '%s' "$level" | tr -d ' ')
    # shellcheck disable=SC2086 # several words
    "$ZSTD" -q -f $level plain -o "sized$name"
    # shellcheck disable=SC2086 # as above
    "$ZSTD" -q -f $level <plain >"unsized$name"
    levels="$levels sized$name" unsized="$unsized unsized$name" sizes="$sizes $size"
done
"$ZSTD" -q -f plain -o x
total=$(wc -c <x)

# Of one that decodes to many times as many bytes a GPU has larger batches.
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
    part 0 77776
done >series
series_size=$(wc -c <series)
"$ZSTD" -q -f series -o dense

#
# Several frames: with sizes and without, with elements torn across them, empty, and with others
# between them.
#
: >many
: >unstated
at=0
for length in 1 2 3 70001 131072 0 5 40000 131073 3 200000; do
    part $at $length >piece
    "$ZSTD" -q -f piece -o piece.zst
    cat piece.zst >>many
    "$ZSTD" -q -c <piece >>unstated
    printf '\120\052\115\030\003\000\000\000abc' >>unstated
    at=$((at + length))
done
# An element that is cut off would be an error of both.
part $at $(((4 - at % 4) % 4)) | "$ZSTD" -q -c >piece.zst
cat piece.zst >>many
cat piece.zst >>unstated
many_size=$((at + (4 - at % 4) % 4))
: >tiny
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
    part $((i * 40)) 40 | "$ZSTD" -q -c >>tiny
done
frames='many unstated tiny'
if [ -n "$PZSTD" ]; then
    "$PZSTD" -q -f -p 3 plain -o pz
    frames="$frames pz"
fi

#
# .npy inside.
#
arrays=
for npy in v1-f4.npy f8-big-endian.npy; do
    "$ZSTD" -q -f "data/npy/$npy" -o "$npy.zst"
    arrays="$arrays $npy.zst"
done
header="{'descr': '>f4', 'fortran_order': False, 'shape': (90000,), }"
{
    printf '\223NUMPY\001\000\166\000%-117s\n' "$header"
    part 0 360000
} >array.npy
"$ZSTD" -q -f array.npy -o array.npy.zst
{
    head -c -4 array.npy.zst
    printf 'abcd'
} >wrong.npy.zst
{
    cat array.npy
    printf 'behind'
} | "$ZSTD" -q -c >more.npy.zst
head -c 300000 array.npy | "$ZSTD" -q -c >less.npy.zst

#
# What is wrong.
#
damaged='' short=''
for place in $((total / 2)) 4 5 9 700 20000 60000 $((total - 3000)) $((total - 3)); do
    cp x "damaged$place"
    printf '\245\132\245' | dd of="damaged$place" bs=1 seek=$place conv=notrunc 2>/dev/null
    head -c $place x >"short$place"
    damaged="$damaged damaged$place" short="$short short$place"
done
{
    cat x
    printf 'garbage'
} >behind
cat many "damaged$((total - 3))" many >damaged_among
# Its checksum is wrong, and nothing else.
{
    head -c $((total - 4)) x
    printf 'abcd'
} >wrong
cat many wrong many >wrong_among

# Frames so small that the device verifies them itself, but for those that a batch cuts.
raw=--format=raw+zstd # they look like text
: >before
: >after
for at in $(seq 0 7001 693099); do
    half=before
    [ "$at" -lt 200000 ] || half=after
    part "$at" 7001 | "$ZSTD" -q -c >>$half
done
cat before after >small
content=700100
cat damaged700 small small >early
{
    "$ZSTD" -q -c array.npy
    head -c 20000 /dev/zero | "$ZSTD" -q -c
    printf 'garbage'
} >far.npy.zst
part 0 8000 | "$ZSTD" -q -c | head -c -4 >wrong_small
printf 'abcd' >>wrong_small
cat wrong_small small >first_wrong
cat before wrong_small after >middle_wrong
cat small wrong_small >last_wrong
{
    printf x | "$ZSTD" -q -c
    printf '\120\052\115\030\005\000\000\000ab'
} >skippable

# What a GPU does not decode, libzstd does: as often as not nobody need know.
"$ZSTD" -q -f --long=27 <plain >wide
cat many wide many >wide_among
printf 'a dictionary of no use at all, but a dictionary' >dictionary
"$ZSTD" -q -f -D dictionary plain -o dictated

#
# Zarr stores, whose chunks are frames.
#

# store DIRECTORY SHAPE CHUNKS [FIELDS]: an array of f32, without a chunk yet.
store() {
    mkdir -p "$1/c"
    printf '{"zarr_format":3,"node_type":"array","data_type":"float32","fill_value":1.5,"shape":%s,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":%s}},
        "chunk_key_encoding":{"name":"default"},
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd"}]%s}\n' \
        "$2" "$3" "${4-}" >"$1/zarr.json"
}

# chunk FILE FROM SIZE [OPTION...]: these bytes of ./plain, compressed.
chunk() {
    chunk_file=$1
    part "$2" "$3" >piece
    shift 3
    "$ZSTD" -q -f "$@" piece -o "$chunk_file"
}

store full '[240000]' '[10000]'
for i in $(seq 0 23); do
    chunk "full/c/$i" $((i * 40000)) 40000
done
cp -r full unchecked
for i in $(seq 0 23); do
    part $((i * 40000)) 40000 | "$ZSTD" -q -c --no-check >"unchecked/c/$i" # nor a size
done
# The last chunk sticks out, and some are missing.
cp -r full line
store line '[240100]' '[10000]'
chunk line/c/24 500 40000
rm line/c/7 line/c/12 line/c/13
cp -r line nans
for i in 3 15 18; do
    {
        part $((i * 40000)) $((40000 - 8 * i))
        printf '\377\377\377\177\000\000\300\377'
        part 0 $((8 * i - 8))
    } | "$ZSTD" -q -c >nans/c/$i
done
cp -r nans z_after_nan
printf '\245\132\245' | dd of=z_after_nan/c/20 bs=1 seek=900 conv=notrunc 2>/dev/null
store scaled '[240100]' '[10000]' ',"attributes":{"_FillValue":0,"scale_factor":0.5,"add_offset":3}'
cp line/c/* scaled/c
store plane '[500,470]' '[100,100]'
for i in 0 1 2 3 4; do
    mkdir "plane/c/$i"
    for k in 0 1 2 3 4; do
        chunk "plane/c/$i/$k" $(((5 * i + k) * 36000)) 40000
    done
done
rm plane/c/2/1
store slab '[3,70,50]' '[1,20,50]'
for i in 0 1 2; do
    mkdir -p "slab/c/$i"
    for k in 0 1 2 3; do
        mkdir "slab/c/$i/$k"
        chunk "slab/c/$i/$k/0" $(((4 * i + k) * 4000)) 4000
    done
done
mkdir second
printf '{"zarr_format":2,"shape":[30000],"chunks":[5000],"dtype":">f4","order":"C","filters":null,
    "compressor":{"id":"zstd","level":3},"fill_value":-2}' >second/.zarray
for i in 0 1 2 4; do
    chunk second/$i $((i * 20000 + 5000)) 20000
done
mkdir group
printf '{"zarr_format":3,"node_type":"group"}' >group/zarr.json
cp -r full line plane group
mkdir -p none/c
store none '[30000]' '[10000]'
store few '[300]' '[10000]'
chunk few/c/0 0 40000
store lone '[240000]' '[240000]'
chunk lone/c/0 0 960000
lone_size=$(($(wc -c <lone/c/0) - 1))
# Chunks that are no frames of the right size, or that a GPU does not decode.
for store in swapped short long halves bytes skipped dictionary wrong cut; do
    cp -r full "z_$store"
done
chunk z_swapped/c/3 120000 39996
chunk z_swapped/c/4 159996 40004
chunk z_short/c/3 120000 36000
chunk z_long/c/23 880000 40004
{
    part 120000 100 | "$ZSTD" -q -c
    part 120100 39900 | "$ZSTD" -q -c
} >z_halves/c/3
printf '\245\132\245' | dd of=z_bytes/c/3 bs=1 seek=900 conv=notrunc 2>/dev/null
{
    printf '\120\052\115\030\003\000\000\000abc'
    cat full/c/5
} >z_skipped/c/5
chunk z_dictionary/c/9 0 40000 -D dictionary
{
    head -c -4 full/c/11
    printf abcd
} >z_wrong/c/11
head -c -300 full/c/20 >z_cut/c/20
stores='z_short z_long z_halves z_bytes z_skipped z_dictionary z_wrong z_cut'

# decode_all: everything, by $GPUREDUCE. Lists of files are several words.
# shellcheck disable=SC2086
decode_all() {
    label=$(gpu_label)

    # One frame.
    both 'one frame' $levels
    both 'one frame without a size' -j 1 $unsized
    piped 'one frame without a size' '' $unsized
    both 'a frame that decodes to many times as many bytes' dense
    unpacked 'all is decoded there' "$sizes $many_size 360128" $levels many array.npy.zst
    unpacked 'dense files among others' "$series_size $size $series_size $many_size" dense sized-1 dense many
    for type in f64 f16 bf16; do
        both "$type" -t $type x
    done
    both 'big-endian data' --endian big x
    both 'bytes left out' --skip 7 --length 100000 x
    both 'bytes left out, elements at odd places' --skip 4 x
    both 'an element that is cut off' --skip 3 x
    both 'a few elements' --length 5 x
    piped 'a part' '--length 150000 --skip 20000' x
    both 'a NaN that ends it all' -t f16 --nan error x
    both 'more is left out than there is' --skip 100000000 x

    # Several frames, arrays; one after the other.
    both 'several frames' $frames
    piped 'several frames' '' unstated
    both 'arrays' $arrays array.npy.zst
    both 'an array, and more behind it' more.npy.zst
    both 'an array that is cut off' less.npy.zst
    piped 'an array' '' $arrays far.npy.zst
    both 'a part of an array' --length 12345 array.npy.zst
    both 'one warning of a damaged array' -t f64 wrong.npy.zst
    both 'several files' x many less.npy.zst x unstated

    # What is wrong. From a pipe, too: the frame is still in memory then.
    both 'damage' $damaged $short behind damaged_among wrong_among
    both 'damage, checksums left out' --no-check $damaged wrong_among
    piped 'damage' '' $damaged
    piped 'what is cut off' '' $short
    piped 'among others' '' wrong_among behind
    piped 'a wrong checksum behind a part' '--length 100' wrong
    piped 'cut off in a skippable frame, and in an element' '' skippable

    # Small frames.
    both 'small frames, with a wrong checksum too' $raw small first_wrong middle_wrong last_wrong
    both 'small frames, checksums left out' $raw --no-check first_wrong middle_wrong last_wrong
    piped 'small frames' $raw first_wrong middle_wrong last_wrong
    run -v -D gpu -o count $raw small
    verified=$(sed -n 's/^  verify *[^ ]* *\([0-9]*\) .*/\1/p' err)
    checked=$(sed -n 's/^  check *[^ ]* *\([0-9]*\) .*/\1/p' err)
    ok "$label, small frames are verified there" test "$((verified + ${checked:-0}))" -eq "$content" \
        -a "$verified" -gt $((content / 2))
    run -v -D gpu -o count --no-check $raw small
    ok "$label, or not at all" eval "! grep -q -E '^  (verify|check)' err"

    # Zarr stores.
    both 'Zarr' full unchecked line nans slab second group few none
    both 'Zarr, values that are missing, a scale' scaled
    both 'Zarr, the first elements' --length 123456 line plane
    both 'Zarr, a NaN that ends it all' --nan error line nans plane second
    both 'Zarr, a NaN before a chunk that is wrong' --nan error z_after_nan
    both 'Zarr, partial results' --partial nans plane
    gpu_as_cpu '-q --op=sum,min,max,mean,std,count,nan' 'Zarr, chunks side by side' plane scaled line
    both 'Zarr, chunks that are wrong' $stores
    both 'Zarr, two chunks that are wrong, and right together' -j 1 z_swapped # the first is named
    gpu_as_cpu '-q -o median --histogram=10' 'Zarr, tallied by the CPU' full plane
    both 'Zarr, checksums left out' --no-check z_wrong full
    unpacked 'chunks of Zarr are decoded there' '960000 960000' full unchecked

    # What a GPU does not decode.
    both 'windows that may be too large, a dictionary' wide wide_among dictated
    piped 'a window that may be too large' '' wide_among
    both 'a window that is not allowed' --long=18 wide_among
}

for GPUREDUCE in $programs; do
    decode_all
    emulated || continue

    # Once more by a GPU that is done with everything whenever it is asked.
    export GPUREDUCE_EMULATED_FAST=1
    decode_all
    unset GPUREDUCE_EMULATED_FAST
    label=$(gpu_label)

    # Reads that return less than they are asked for, and a file that becomes shorter meanwhile.
    expected=$("$GPUREDUCE" -q -D cpu "$ops" many)
    for seed in 1 2 3; do
        [ -e "$SHIM" ] || continue
        environment="$preload FAULT_SHORT=$seed"
        run -q -D gpu "$ops" many
        is "$label, short reads, $seed" 0 "$expected"
    done
    environment=
    for moment in 2 3; do
        [ -e "$SHIM" ] || continue
        "$ZSTD" -q -c x >victim # whose blocks are not compressed: few reads tell the format
        shell "env $preload FAULT_CALL=$moment FAULT_DO='truncate -s 3000 victim' \
            '$GPUREDUCE' -q -D gpu $raw -o sum victim"
        fails_like "$label, a file that becomes shorter at call $moment" \
            'victim: ends at byte 3000: it became shorter while it was read'
    done
    # A chunk of which the pieces that are read are still there.
    for moment in 5 6; do
        [ -e "$SHIM" ] || continue
        cp -r lone victims
        shell "env $preload FAULT_CALL=$moment FAULT_DO='truncate -s -1 victims/c/0' \
            '$GPUREDUCE' -q -D gpu -o sum victims"
        fails_like "$label, a chunk that becomes shorter at call $moment" \
            "victims: array array: chunk c/0: ends at byte $lone_size: it became shorter while it was read"
        rm -r victims
    done

    # What copying takes is not what it waits for: a batch that is not full has been copied meanwhile.
    shell "{ i=0; while [ \$i -lt 30 ]; do dd bs=16384 count=1 2>/dev/null; sleep 0.01; i=\$((i + 1)); done
        cat; } <x | '$GPUREDUCE' -v -D gpu $raw -o sum -"
    # shellcheck disable=SC2016 # for awk
    ok "$label, a slow writer does not keep the link busy" \
        awk '$1 == "copy" && $2 >= 0 { busy = $5 } END { exit !(busy != "" && busy < 10) }' err

    # auto, where the program can be told to use the GPU whatever the work is; and every call of CUDA
    # fails once, alone and with all that follow it. The CPU then does the work, but for -D gpu.
    expected=$("$GPUREDUCE" -q -D cpu "$ops" x)
    environment=GPUREDUCE_CALL_GPU=1
    run -v "$ops" x
    ok "$label, auto has it" grep -q "^  gpu_decode .* $size " err
    run -v -j 1 "$ops" wide_among
    ok "$label, auto leaves to the CPU what the GPU does not decode" \
        grep -q '^  gpu       not used: it does not decode all of the input' err
    run -v -o sum full
    ok "$label, auto has a Zarr store" grep -q '^  gpu_decode .* 960000 ' err
    run -v "$ops" plane
    ok "$label, auto leaves it to the CPU" grep -q '^  gpu       not used: it does not decode the input' err
    cpu_many=$("$GPUREDUCE" -q -D cpu "$ops" x many wrong x 2>/dev/null)
    run -q "$ops" x many wrong x
    is "$label, auto, several files" 1 "$cpu_many" '*'
    failed=0
    cat x small >mixed
    expected=$("$GPUREDUCE" -q -D cpu "$ops" mixed)
    for call in 1 3 10 30 60 90 110 130 140 150 160 170 200 250 300 350 400 500 600 800 1000; do
        gpu_has_turn || continue
        for fault in $call $call+; do
            environment="GPUREDUCE_CUDA_FAULT=$fault"
            run -q -D gpu "$ops" mixed
            if [ "$status" -eq 1 ]; then
                fails_like "$label, call $fault" 'mixed: GPU: .*'
            elif [ "$status" -eq 3 ]; then
                ok "$label, call $fault: one line, and no result" test ! -s out -a "$(wc -l <err)" -eq 1
            else
                is "$label, call $fault" 0 "$expected"
            fi
            environment="GPUREDUCE_CALL_GPU=1 GPUREDUCE_CUDA_FAULT=$fault"
            run -q "$ops" mixed
            is "$label, auto, call $fault" 0 "$expected" '*'
            grep -q 'mixed: GPU failed: .*; continuing on the CPU' err && failed=$((failed + 1))
        done
    done
    # The same behind what a GPU refuses, and behind the last element that is wanted: nobody waits for
    # what does not come.
    for arguments in early '--length 2000 small'; do
        # shellcheck disable=SC2086 # several words
        expected=$("$GPUREDUCE" -q -D cpu "$ops" $raw $arguments 2>/dev/null)
        for call in $(seq 500 9 950); do
            gpu_has_turn || continue
            environment="GPUREDUCE_CUDA_FAULT=$call timeout 60"
            # shellcheck disable=SC2086 # several words
            run -q -D gpu -j 1 "$ops" $raw $arguments
            if [ "$status" -gt 1 ]; then
                ok "$label, $arguments, call $call: one line, and no result" \
                    test "$status" -eq 3 -a ! -s out -a "$(wc -l <err)" -eq 1
            else
                ok "$label, $arguments, call $call" eval \
                    "grep -q '^gpureduce: [a-z]*: GPU: ' err || [ \"\$(cat out)\" = '$expected' ]"
            fi
        done
    done
    environment=
    ok "$label, auto: it failed in the middle of the work $failed times" \
        test "$failed" -gt $((5 / ${EMULATED_SHARE:-1}))
done
finish
