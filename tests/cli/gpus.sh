#!/bin/sh
# Several GPUs: emulated ones, of which there are four.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

if [ -z "${GPUREDUCE_EMULATED-}" ] || [ ! -x "$GPUREDUCE_EMULATED" ]; then
    skip 'several GPUs' 'no program with emulated GPUs'
    finish
fi
GPUREDUCE=$GPUREDUCE_EMULATED
ops=--op=sum,min,max,argmin,argmax,count,nan,inf

# Contexts are made side by side: none is ready before all are being made.
head -c 300000 /dev/urandom >bits
expected=$("$GPUREDUCE" -q -D cpu -t u16 "$ops" bits)
environment=GPUREDUCE_EMULATED_TOGETHER=1
for devices in gpu gpu:0 gpu:0,1 gpu:3,1 gpu:0,1,2,3; do
    run -q -D $devices -t u16 "$ops" bits
    is "contexts made side by side, $devices" 0 "$expected"
done

# A GPU that is not there, or of which one call fails: the reason is the one it would give alone.
environment=
run -q -D gpu:1,4,0 -t u16 "$ops" bits
is 'a GPU that is not there' 3 '' 'gpureduce: no usable GPU: GPU 4 does not exist'
for i in 1 2 3; do
    environment="GPUREDUCE_CUDA_FAULT=1+@$i"
    run -q -D gpu:0,1,2,3 -t u16 "$ops" bits
    is "GPU $i fails" 3 '' 'gpureduce: no usable GPU: choosing the GPU: an error'
    environment="GPUREDUCE_CUDA_FAULT=2@$i"
    run -q -D gpu:0,1,2,3 -t u16 "$ops" bits
    is "one call of GPU $i fails" 3 '' 'gpureduce: no usable GPU: creating a context: an error'
done
environment=GPUREDUCE_CUDA_FAULT=3@0 # behind the call that counts GPUs
run -q -D gpu:0,1,2,3 -t u16 "$ops" bits
is 'one call of GPU 0 fails' 3 '' 'gpureduce: no usable GPU: creating a context: an error'
environment=GPUREDUCE_CUDA_FAULT=2+
run -q -D gpu:0,1,2,3 -t u16 "$ops" bits
is 'all of them fail' 3 '' 'gpureduce: no usable GPU: choosing the GPU: an error'
environment=

# Small files leave GPUs out, for 4 KiB each here: these are not opened, and may fail unseen; but one
# that is not there is told.
head -c 9000 bits >short
head -c 3000 bits >shorter
environment='CUDA_VISIBLE_DEVICES=0,1,2,3 GPUREDUCE_CUDA_FAULT=1+@1'
run -q -D gpu:2,0,1 -t u16 "$ops" shorter
is 'a small file, and GPUs that it does not need' 0 "$("$GPUREDUCE" -q -D cpu -t u16 "$ops" shorter)"
run -q -D gpu:2,0,1 -t u16 "$ops" short
is 'a larger file, which needs the second' 3 '' 'gpureduce: no usable GPU: choosing the GPU: an error'
run -q -D gpu:2,0,1 -t u16 "$ops" shorter shorter
is 'two files, which need it' 3 '' 'gpureduce: no usable GPU: choosing the GPU: an error'
"$GPUREDUCE" --json -D cpu -t u16 "$ops" short >record
run -D gpu:2,0,1 --check=record
is 'a record of a file that needs it' 3 '' 'gpureduce: no usable GPU: choosing the GPU: an error'
run -q -D gpu:2,0,1 -t u16 --axis=0 --shape=-1,30 -o sum shorter
is 'along an axis, and GPUs that it does not need' 0 \
    "$("$GPUREDUCE" -q -D cpu -t u16 --axis=0 --shape=-1,30 -o sum shorter)"
run -q -D gpu:2,0,1 -t u16 "$ops" - <shorter
is 'a small file as standard input' 0 "$("$GPUREDUCE" -q -D cpu -t u16 "$ops" shorter)"
environment=CUDA_VISIBLE_DEVICES=0,1
run -q -D gpu:0,3 -t u16 "$ops" shorter
is 'a small file, and a GPU that is not there' 3 '' \
    'gpureduce: no usable GPU: GPU 3 is not among those that CUDA_VISIBLE_DEVICES names'
environment=
run -q -D gpu:0,7 -t u16 "$ops" shorter
is 'a small file, and a GPU that there is not' 3 '' 'gpureduce: no usable GPU: GPU 7 does not exist'

# zstd files of many frames, which several GPUs share. Emulated ones take parts of 4 KiB and more.
if [ -z "$ZSTD" ]; then
    skip 'zstd on several GPUs' 'no zstd'
    finish
fi

# both NAME [OPTION...] FILE: whether two and four GPUs print what the CPU does, and end with the
# same status. Those alone whose turn it is (lib.sh); so below.
both() {
    gpu_has_turn || return 0
    name=$1
    shift
    for how in cpu gpu:0,1 gpu:3,1,0,2; do
        "$GPUREDUCE" -q -D $how --format=raw+zstd "$ops" "$@" >$how.out 2>$how.err
        echo $? >>$how.out
        [ "$how" != cpu ] || continue
        if cmp -s cpu.out $how.out && cmp -s cpu.err $how.err; then
            pass "$name, $how"
        else
            fail "$name, $how"
            command="gpureduce -D $how $ops $*"
            for file in cpu.out cpu.err $how.out $how.err; do
                echo "# $file:"
                show "$file"
            done
        fi
    done
}

# unpacked FILE: whether GPUs decode all of it, and nothing is decoded again.
unpacked() {
    run -v -D gpu:0,1,2,3 -o count --format=raw+zstd "$1"
    ok "$1 is decoded by GPUs" test "$status" -eq 0 -a \
        "$(sed -n 's/^  gpu_decode *[^ ]* *\([0-9]*\) .*/\1/p' err)" = "$size" -a "$(grep -c '^  decode' err)" -eq 0
}

# part FROM SIZE: these bytes of ./plain.
part() {
    tail -c +$(($1 + 1)) plain | head -c "$2"
}

{
    head -c 5000 /dev/zero
    awk 'BEGIN { srand(7); for (i = 0; i < 30000; i++) printf "%08d", rand() * 90000000 }'
    awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%07d\n", i * i % 99991 }'
    awk 'BEGIN { srand(3); for (i = 0; i < 30000; i++) printf "%c%c%c@", 33 + rand() * 90, 33 + rand() * 90, 50 + rand() * 4 }'
} >plain
size=$(wc -c <plain)

# Frames that end with elements, and frames that do not, with others between them.
: >even
: >torn
: >hinted
: >lying
at=0
frame=0
while [ $at -lt "$size" ]; do
    part $at 6400 >piece
    "$ZSTD" -q -f piece -o piece.zst
    cp piece.zst "frame$frame"
    cat piece.zst >>even
    # As pzstd does: a skippable frame that says how long the next one is.
    length=$(wc -c <piece.zst)
    for file in hinted lying; do
        # One lies: its frame is as long as this one and the next, which has no hint.
        bytes=$length
        if [ $file = lying ] && [ $frame -eq 50 ]; then
            part $((at + 6400)) 6400 >next
            bytes=$((length + $("$ZSTD" -q -c next | wc -c)))
        fi
        if [ $file = hinted ] || [ $frame -ne 51 ]; then
            printf '\120\052\115\030\004\000\000\000' >>$file
            # shellcheck disable=SC2059 # the format is made
            printf "\\$(printf %03o $((bytes % 256)))\\$(printf %03o $((bytes / 256)))\\000\\000" >>$file
        fi
        cat piece.zst >>$file
    done
    at=$((at + 6400))
    frame=$((frame + 1))
done
frames=$frame
at=0
set -- 70001 1 2 3 8192 0 5 4096 131073 3 7001 16384
while [ $at -lt "$size" ]; do
    length=$1
    shift
    set -- "$@" "$length"
    part $at "$length" >piece
    "$ZSTD" -q -c <piece >unstated
    "$ZSTD" -q -f piece -o piece.zst
    cat piece.zst >>torn
    printf '\120\052\115\030\003\000\000\000abc' >>torn
    at=$((at + length))
done
for type in f32 f64 u16 i8 bf16; do
    both "whole elements, $type" -t $type even
    both "torn elements, $type" -t $type torn
done
unpacked even
unpacked torn
unpacked hinted
both 'hints' hinted
both 'a hint that lies' lying
for length in 40000 79000 82000 85000 100000; do
    both "a hint that lies, $length elements" --length $length lying
done
{
    cat lying
    printf '\0\0\300\177' | "$ZSTD" -q -c
} >nan
both 'a NaN behind a hint that lies' --nan=error nan
both 'big-endian data' --endian big even
both 'without checks' --no-check even
for skip in 4 6400 6404 100000 100004 10000000; do
    both "$skip bytes left out" --skip $skip even
    both "$skip bytes left out, torn elements" --skip $skip torn
    both "$skip bytes left out, and some behind" --skip $skip --length 50000 even
done
for length in 0 1 1599 1600 1601 40000 80000; do
    both "$length elements" --length $length even
done
both 'an element that is cut off' --skip 3 even
cat even unstated even >among
both 'a frame that does not state its size, among others' among
if [ -n "$PZSTD" ]; then
    "$PZSTD" -q -f -p 3 plain -o pz
    both 'frames of pzstd' pz
fi
"$ZSTD" -q -f plain -o one
both 'one frame' one
cat one even >among
both 'one large frame, and small ones' among
printf "\223NUMPY\001\000\166\000%-117s\n" \
    "{'descr': '<f4', 'fortran_order': False, 'shape': ($((size / 4)),), }" >header
for behind in '' behind; do
    {
        "$ZSTD" -q -c header
        cat even
        printf %s "$behind" | "$ZSTD" -q -c
    } >array.npy.zst
    both "an array${behind:+, and more behind it}" --format=zstd array.npy.zst
done

# Chunks of a Zarr store, some of which are missing, and one of which is of the wrong size.
mkdir -p chunks/c
printf '{"zarr_format":3,"node_type":"array","data_type":"float32","fill_value":9,"shape":[%s],
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1600]}},
    "chunk_key_encoding":{"name":"default"},
    "codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd"}]}\n' \
    $((size / 4)) >chunks/zarr.json
for i in $(seq 0 $((frames - 2))); do # the last one is too short
    cp "frame$i" "chunks/c/$i"
done
cp -r chunks missing
rm missing/c/20 missing/c/30 missing/c/31
cp -r missing wrong
cp "frame$((frames - 1))" wrong/c/60
both 'a Zarr store' --format=zarr chunks
both 'a Zarr store without some chunks' --format=zarr missing
both 'a Zarr store with a wrong chunk' --format=zarr wrong
run -v -D gpu:0,1,2,3 -o sum,argmax missing
ok 'its chunks are decoded by GPUs' \
    grep -q "^  gpu_decode .* $(((frames - 4) * 6400)) " err

# fails_amid LABEL FILE CALL...: whether each of the GPUs fails at some of these calls, in the middle of
# its work: then there is one error, and otherwise the CPU's results.
fails_amid() {
    amid=$1 amid_file=$2
    shift 2
    expected=$("$GPUREDUCE" -q -D cpu --format=raw+zstd "$ops" "$amid_file")
    for i in 0 1 2 3; do
        gpu_has_turn || continue
        failed=0
        for call; do
            environment="GPUREDUCE_CUDA_FAULT=$call+@$i"
            run -q -D gpu:0,1,2,3 --format=raw+zstd "$ops" "$amid_file"
            if [ "$status" -eq 1 ]; then
                fails_like "GPU $i, $amid, call $call" "$amid_file: GPU: .*"
                failed=$((failed + 1))
            else
                is "GPU $i, $amid, call $call" 0 "$expected"
            fi
        done
        ok "GPU $i failed $failed times in the middle of $amid" test "$failed" -gt 0
    done
    environment=
}

# The files are shared indeed: each of the GPUs does what can fail.
fails_amid 'the work' even 170 200 230 260 300 350
expected=$("$GPUREDUCE" -q -D cpu --format=raw+zstd "$ops" even)
for call in 1 5 10 15 20 30 40 60 80 100 130 160 200 250 300; do
    gpu_has_turn || continue
    environment="GPUREDUCE_CUDA_FAULT=$call@1"
    run -q -D gpu:0,1 --format=raw+zstd "$ops" even
    if [ "$status" -eq 0 ]; then # it can do without, or another GPU can
        is "one call of GPU 1 fails, $call" 0 "$expected"
    elif [ "$status" -eq 3 ]; then
        ok "one call of GPU 1 fails, $call: one line, and no result" test ! -s out -a "$(wc -l <err)" -eq 1
    else
        fails_like "one call of GPU 1 fails, $call" 'even: GPU: .*'
    fi
done
environment=

# Damage, in any of the frames: what is said of it is libzstd's.
number=0
while [ $number -lt $frames ]; do
    before=0
    i=0
    while [ $i -lt $number ]; do
        before=$((before + $(wc -c <"frame$i")))
        i=$((i + 1))
    done
    length=$(wc -c <"frame$number")
    cp even damaged
    printf '\245\132' | dd of=damaged bs=1 seek=$((before + length / 2)) conv=notrunc 2>/dev/null
    both "damage in frame $number" damaged
    [ $((number % 8)) -ne 0 ] || both "damage in frame $number, without checks" --no-check damaged
    cp even damaged
    printf 'abcd' | dd of=damaged bs=1 seek=$((before + length - 4)) conv=notrunc 2>/dev/null
    both "a wrong checksum of frame $number" damaged
    [ $((number % 8)) -ne 0 ] || both "a wrong checksum of frame $number, left out" --no-check damaged
    head -c $((before + length / 2)) even >damaged
    [ $((number % 8)) -ne 0 ] || both "cut off in frame $number" damaged
    number=$((number + 5))
done
{
    cat even
    printf 'garbage'
} >damaged
both 'garbage behind the frames' damaged

# NaNs: the first one counts, whoever has found one first.
for places in 100 200000 '200000 300004' '8 440000'; do
    cp plain nans
    for place in $places; do
        printf '\377\377\377\377' | dd of=nans bs=1 seek="$place" conv=notrunc 2>/dev/null
    done
    : >nans.zst
    at=0
    while [ $at -lt "$size" ]; do
        tail -c +$((at + 1)) nans | head -c 32000 >piece
        "$ZSTD" -q -f piece -o piece.zst
        cat piece.zst >>nans.zst
        at=$((at + 32000))
    done
    both "NaNs at $places" nans.zst
    both "NaNs at $places that end it all" --nan=error nans.zst
done

# Frames that do not state what they hold: GPUs take them as they are found, and where they stand is
# known at the end.

# unstated FILE FIRST LENGTH... : writes ./FILE: frames of ./plain of so many bytes, in turns, none
# of which states them; the first of FIRST bytes.
unstated() {
    file=$1
    at=0
    length=$2
    shift 2
    : >"$file"
    while [ $at -lt "$size" ]; do
        part $at "$length" | "$ZSTD" -q -c >>"$file"
        at=$((at + length))
        length=$1
        shift
        set -- "$@" "$length"
    done
}
unstated silent 6400 6400
unstated silent_words 6404 6404 6400 4 12
unstated silent_torn 6401 6401
unstated silent_late 6400 6400 6400 6400 6400 6400 6400 6400 6400 6400 6400 6400 6400 6400 6400 6400 6400 6401
unstated silent_small 100 40000
for type in f32 f64 u16 i8 f16; do
    for file in silent silent_words silent_torn silent_late silent_small; do
        both "frames that do not state what they hold, $file, $type" -t $type $file
    done
done
for file in silent silent_words silent_torn silent_late silent_small; do
    unpacked $file
done
for skip in 4 3 100 6400 6404 100000 10000000; do
    both "$skip bytes left out of frames that do not state what they hold" --skip $skip silent
done
for length in 0 1600 1601 80000; do
    both "$length elements of frames that do not state what they hold" --length $length silent
done
both 'threads, frames that do not state what they hold' -j 1 silent
both 'more threads, frames that do not state what they hold' -j 7 silent_words

# With others between them, and frames that do state it.
at=0
frame=0
: >mingled
: >mingled_hints
: >mingled_lies
while [ $at -lt "$size" ]; do
    part $at 8000 >piece
    if [ $((frame % 3)) -eq 0 ]; then
        "$ZSTD" -q -f piece -o piece.zst
    else
        "$ZSTD" -q -c <piece >piece.zst
    fi
    cat piece.zst >>mingled
    length=$(wc -c <piece.zst)
    for file in mingled_hints mingled_lies; do
        bytes=$length
        [ $file = mingled_hints ] || [ $((frame % 11)) -ne 7 ] || bytes=$((length + 9))
        {
            printf '\120\052\115\030\004\000\000\000'
            # shellcheck disable=SC2059 # the format is made
            printf "\\$(printf %03o $((bytes % 256)))\\$(printf %03o $((bytes / 256)))\\000\\000"
            cat piece.zst
        } >>$file
    done
    at=$((at + 8000))
    frame=$((frame + 1))
done
both 'frames some of which state what they hold' mingled
both 'frames some of which state what they hold, f64' -t f64 mingled
both 'hints before frames' mingled_hints
both 'hints that lie before frames' mingled_lies
unpacked mingled
unpacked mingled_hints

# A frame of 300 blocks: to walk through it is not worth it where it takes much of the input.
long=$(awk 'BEGIN { for (i = 0; i < 300; i++) printf "%sabcd%04dijklmnop", i < 299 ? "\\200\\000\\000" : "\\201\\000\\000", i }')
{
    printf '\050\265\057\375\000\060'
    # shellcheck disable=SC2059 # the format is made
    printf "$long"
} >blocks
for count in 1 3 12; do
    : >long
    i=0
    while [ $i -lt $count ]; do
        cat blocks >>long
        i=$((i + 1))
    done
    both "$count frames of many blocks" long
done
cat silent long silent >among
both 'frames of many blocks, among others' among
if [ -n "$PZSTD" ]; then
    for workers in 1 2 8; do
        "$PZSTD" -q -f -p $workers plain -o pz
        for type in f32 f64 u8; do
            both "frames of pzstd -p $workers, $type" -t $type pz
        done
    done
    unpacked pz
fi

# Arrays inside: their end is where the header says.
for behind in '' behind; do
    {
        "$ZSTD" -q -c <header
        cat silent
        printf %s "$behind" | "$ZSTD" -q -c
    } >array.npy.zst
    both "an array in such frames${behind:+, and more behind it}" --format=zstd array.npy.zst
    { cat header && part 0 6272; } >piece
    {
        "$ZSTD" -q -c <piece
        part 6272 "$size" >piece
        split -b 6400 piece rest.
        for piece in rest.*; do
            "$ZSTD" -q -c <"$piece"
        done
        printf %s "$behind" | "$ZSTD" -q -c
    } >array.npy.zst
    both "an array behind the header's frame${behind:+, and more behind it}" --format=zstd array.npy.zst
done

# The first extremes, and the first NaN, whoever comes upon one first.
for places in 100 200000 '200000 300004' '8 440000' '440000 440008' '6396 6400'; do
    cp plain nans
    for place in $places; do
        printf '\377\377\377\377' | dd of=nans bs=1 seek="$place" conv=notrunc 2>/dev/null
        printf '\377\377\177\177' | dd of=nans bs=1 seek=$((place + 8)) conv=notrunc 2>/dev/null
    done
    rm -f rest.*
    split -b 6400 nans rest.
    for piece in rest.*; do
        "$ZSTD" -q -c <"$piece"
    done >nans.zst
    both "NaNs in such frames at $places" nans.zst
    both "NaNs in such frames at $places, left out" --nan=skip nans.zst
    both "NaNs in such frames at $places that end it all" --nan=error nans.zst
done

# Damage, in the first, the last, and frames between: what is said of it is libzstd's.
length=$(wc -c <silent)
for tenth in 0 1 3 5 7 9 10; do
    place=$((4 + (length - 20) * tenth / 10))
    cp silent damaged
    printf '\245\132\245' | dd of=damaged bs=1 seek=$place conv=notrunc 2>/dev/null
    both "damage at byte $place of such frames" damaged
    both "damage at byte $place of such frames, without checks" --no-check damaged
    head -c $place silent >damaged
    both "such frames, cut off at byte $place" damaged
done
{
    head -c $((length - 4)) silent
    printf 'abcd'
} >damaged
both 'a wrong checksum of the last of such frames' damaged
cat damaged silent >amid
both 'a wrong checksum among such frames' amid
cat damaged silent damaged silent >amid
both 'two wrong checksums among such frames' amid

# A GPU that fails in the middle of it.
fails_amid 'such frames' silent 170 200 250

# One after the other.
"$GPUREDUCE" -q -D cpu --format=auto "$ops" -t u16 bits even one torn bits hinted >cpu.out
"$GPUREDUCE" -q -D gpu:0,1,2,3 --format=auto "$ops" -t u16 bits even one torn bits hinted >gpu.out
ok 'several files' cmp cpu.out gpu.out

finish
