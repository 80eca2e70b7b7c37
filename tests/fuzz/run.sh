#!/bin/sh
# run.sh SECONDS PROGRAM...: runs fuzz targets, one after the other, each for so long. Begins with
# what tests/fuzz/corpus holds, samples out of data/, and what earlier runs came upon, which is kept
# in ./fuzz-corpus. Ends with how many inputs each target ran; an input that fails lies in
# ./fuzz-failures then, and `PROGRAM FILE` runs it again.
#
# From the environment: srcdir is the top of the sources (.); FUZZ_SEED, where it is set, is a number
# that the inputs are drawn from; FUZZ_RUNS, where it is set, is how many inputs each target runs at
# most. With both, targets of one thread see the same inputs again, however fast the machine is.
set -u
: "${srcdir:=.}"
seconds=$1
shift

# The longest input: for fuzz_reduce so long that files are mapped.
max_length=8192

# seed TARGET NAME CHOICES: standard input with a target's choices behind it, the last byte of which
# it reads first.
seed() {
    # shellcheck disable=SC2059 # the choices are a format
    { cat && printf "$3"; } >"fuzz-corpus/$1/seed-$2"
}

# words WORD...: a command line, as fuzz_options takes it.
words() {
    printf '%s\0' "$@"
}

plain='\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
# The magic numbers, so that the recognisers behind them are reached.
seeds_unsupported() {
    i=0
    for magic in '\037\213\010\0\0\0\0\0\0\377' '\3757zXZ\0' 'BZh91AY&SY' '\004\042\115\030\144\100' \
        '\037\235\220' 'PK\003\004\024\0' '\200\002}q\0' '\200\004\225' '\100\0\0\0\0\0\0\0{\042w' 'GGUF\003\0\0\0' \
        '\010\010\022\007pytorch\072\100\012\010\012\001x\022\001y' '\211HDF\015\012\032\012' 'CDF\001' 'SIMPLE  =' \
        '\034\002\0\0n+2\0' 'PAR1\025' 'ARROW1\0\0' 'RIFF\0\0\0\0WAVE' 'II*\0\010\0\0\0' 'MM\0*\0\0\0\010' \
        '\377\330\377\340\0\020JFIF' '{\042a\042: [1.5, 2.5' '1.5\0122.5\0123.5\012' 'x,y\0121,2\012' \
        'cnumpy.core\012_reconstruct\012p0\012' ']q\0(G' '\135\0\0\200\0\377\377\377\377\377\377\377\377' \
        'ORC\012\007\022\005\010' 'Obj\001\004\026avro' '\0\0\0\0\002\0\0\0\002\0\0\0\0\0\0\0\002\0\0\0x\0' \
        '\0\0\0\001\0\0\0\001\0\0\0\001\0\0\0\001\0\0\0\001\0\0\0\003' '\0\0\010\001\0\0\022\300' 'P5 4 4 255\012' 'BM\0\001\0\0\0\0\0\0\066\0\0\0\050\0\0\0' \
        'ID3\004\0\0\0\0\001\001' 'fLaC\0\0\0\042' '\0\0\0\040ftypisom' '\377\376x\0,\0y\0' '\357\273\277a,b\0121,2\012' \
        '1,5;2,5\0153,5;4,5\012' 'Gr\366\337e in Metern' '\324\022\0\0'; do
        i=$((i + 1))
        # shellcheck disable=SC2059 # it is a format
        { printf "$magic" && head -c 600 "$srcdir/data/raw/mixed-le.f64"; } |
            seed fuzz_unsupported "magic-$i" '\0\0\0\0'
        # shellcheck disable=SC2059 # as above
        printf "$magic" | seed fuzz_unsupported "short-$i" '\0\1\0\0'
    done
    head -c 2000 "$srcdir/data/README.md" | seed fuzz_unsupported text '\0\0\0\0'
    # A .npy whose elements begin a tar archive.
    { head -c 257 "$srcdir/data/npy/v1-f4.npy" && printf 'ustar\00000' && head -c 500 /dev/zero; } |
        seed fuzz_unsupported npy-tar '\0\0\0\0'
}
seeds_container() {
    printf '%s' '{"__metadata__": {"format": "pt"}, "a.b": {"dtype": "F32", "shape": [2, 3],' \
        ' "data_offsets": [0, 24]}, "\u00e9": {"dtype": "C64", "shape": [0], "data_offsets": [24, 24]}}' |
        seed fuzz_container safetensors '\0\1'
    printf '\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20' | seed fuzz_container parts '\7\3\0'
}
seeds_npy() {
    for file in "$srcdir"/data/npy/*.npy; do
        seed fuzz_npy "${file##*/}" "$plain" <"$file"
    done
    seed fuzz_npy parts '\3\1\4\1\5\11\2\6\5\3\5\10\11\7\11\3\2\3\10\4\6\0\0\0\0\0\0\0\0\0\0\0\0\1' </dev/null
}
seeds_zstd() {
    for file in "$srcdir"/data/zstd/*.zst; do
        [ "$(wc -c <"$file")" -gt "$max_length" ] ||
            seed fuzz_zstd "${file##*/}" '\1\0\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' <"$file"
    done
    for i in 1 2 3 4 5 6 7 8; do
        # A frame of parts takes some twenty choices.
        head -c $((i * 100)) "$srcdir/data/raw/mixed-le.f64" | seed fuzz_zstd "parts-$i" '\1'
    done
    # Frames of many blocks, in the order of the choices: whether they state their content, no damage,
    # the level, the window, a checksum, and not cut off.
    for i in 000 030 071 101 130 171; do
        sized=${i%%??} window=${i#?} checksum=${i##??} && window=${window%%?}
        head -c 2000 "$srcdir/data/raw/mixed-le.f64" | seed fuzz_zstd "blocks-$i" \
            "\\1\\$checksum\\$window\\3\\1\\$sized\\5\\0\\360\\7\\0\\0\\0\\0\\0\\350\\3\\26\\0\\1\\0\\1\\1\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\3\\0\\0\\0\\7\\1"
    done
}
seeds_zstd_block() {
    for file in "$srcdir"/data/zstd/*.zst; do
        [ "$(wc -c <"$file")" -gt "$max_length" ] ||
            seed fuzz_zstd_block "${file##*/}" '\0\0\0\0' <"$file"
    done
    for file in "$srcdir"/data/raw/*; do
        head -c 4000 "$file" | seed fuzz_zstd_block "${file##*/}" '\1\3\40\0\0\100\0\1\0\20\1\0\0\1'
    done
}
seeds_reduce() {
    for file in "$srcdir"/data/raw/*; do
        seed fuzz_reduce "${file##*/}" "$plain" <"$file"
        seed fuzz_reduce "${file##*/}-npy" "$plain"'\1\0' <"$file"
        seed fuzz_reduce "${file##*/}-zstd" "$plain"'\1\0\2' <"$file"
    done
}
seeds_options() {
    words --op=sum,min,max,mean,count,argmin,argmax,nan,inf -q file |
        seed fuzz_options ops '\0'
    words -t '>f8' --endian little -D gpu:0,2,1023 -j 4096 --chunk-size 1GiB -- - --json |
        seed fuzz_options engine '\0'
    words --skip=9223372036854775807 --length 9223372036854775807 --format npy --nan=error \
        -v --progress --no-progress --long=31 --long --help | seed fuzz_options input '\0'
    printf 9223372036854775807 | seed fuzz_options number '\1'
    printf 8388607TiB | seed fuzz_options size '\1'
    printf '\1\0\0\0\0\0\360\77' | seed fuzz_options format '\1\2'
    printf '%s' '{"table": "limits", "cpu": "c \u00e9\n", "gpu": "g", "a": [true, false, null, {}],' \
        '"rows": [{"limit": "a", "threads": 4, "gigabytes_per_second": 1.5e1},' \
        '{"limit": "a", "threads": null, "gigabytes_per_second": null}]}' |
        seed fuzz_options record '\3'
    printf 'a"\\\n\303\251\360\237\230\200' | seed fuzz_options string '\4'
}
# Records lie in tests/fuzz/corpus. These are the names and numbers of some to be printed.
seeds_record() {
    for form in 0 1; do
        {
            printf 'a\tb\\c\nd\0total\0\303\251\377"\0'
            head -c 600 "$srcdir/data/raw/mixed-le.f64"
        } | seed fuzz_record "printed-$form" "\\$form\\1"
    done
}

# The checksum is made right by the target.
seeds_partial() {
    head='{"gpureduce":"partial","version":1,"input":"a\"\u000a","dtype":'
    tail=',"crc32":"00000000"}'
    printf '%s' "$head"'"f32","of":9,"ranges":[[0,4],[6,8]],"count":6,"nan":1,"first_nan":2,"posinf":1,"neginf":0' \
        ',"sum":"0x11p-2","min":"-0x1p-2","max":"inf","argmin":1,"argmax":3,"sumsq":"0x91p-4","l1":"0x13p-2"' \
        ',"absmin":"0x0p+0","zeros":1,"subnormals":0,"negatives":1' "$tail" | seed fuzz_partial float '\0\1\1'
    printf '%s' "$head"'"i64","of":4,"ranges":[[0,4]],"count":4,"nan":0,"first_nan":null,"posinf":0,"neginf":0' \
        ',"sum":"-0x7ffffffffffffffdp+1","min":"-0x1p+63","max":"0x3p+1","absmin":"0x0p+0","zeros":1' \
        ',"subnormals":0' "$tail" | seed fuzz_partial integer '\0\1\1'
    printf '%s' "$head"'"bf16","of":0,"ranges":[],"count":0,"nan":0,"first_nan":null,"posinf":0,"neginf":0' \
        ',"sum":"0x0p+0","min":null,"max":null,"argmin":null,"argmax":null' "$tail" |
        seed fuzz_partial empty '\0\1\1'
    head='{"gpureduce":"partial","version":2,"input":"a","array":"b","dtype":'
    tail=',"digest":null,"crc32":"00000000"}'
    printf '%s' "$head"'"f32","of":9,"ranges":[[0,4],[6,8]],"missing_values":["-0x1p-2",["-0x0p+0","0x0p+0"]' \
        ',["0x1p+1","inf"],"nan"],"scale_factor":null,"add_offset":null,"count":6,"missing":4,"nan":0' \
        ',"first_nan":null,"posinf":0,"neginf":0,"sum":"0x11p-2","min":"-0x1p-3","max":"0x3p-1"' "$tail" |
        seed fuzz_partial missing '\0\1\1'
    printf '%s' "$head"'"i16","of":4,"ranges":[[0,4]],"missing_values":["-0x270fp+0"],"scale_factor":"-0x1p-1"' \
        ',"add_offset":"0x19p+2","count":4,"missing":1,"nan":0,"first_nan":null,"posinf":0,"neginf":0' \
        ',"sum":"0x189p+0","min":"-0x7p+0","max":"0x4bp+2","lower":2,"zeros":0,"lower_max":"0x19p+2"' \
        ',"upper_min":"0x4bp+2","upper_sum":"0x4bp+2"' "$tail" | seed fuzz_partial scaled '\0\1\1'
}

# What libFuzzer counted, out of its log.
executions() {
    sed -n 's/^stat::number_of_executed_units: *//p' "$1"
}

status=0
for program; do
    target=${program##*/}
    log=fuzz-corpus/$target.log
    mkdir -p "fuzz-corpus/$target" fuzz-failures || exit 1
    case $target in
    fuzz_container) seeds_container ;;
    fuzz_unsupported) seeds_unsupported ;;
    fuzz_npy) seeds_npy ;;
    fuzz_options) seeds_options ;;
    fuzz_partial) seeds_partial ;;
    fuzz_record) seeds_record ;;
    fuzz_reduce) seeds_reduce ;;
    fuzz_zstd) seeds_zstd ;;
    fuzz_zstd_block) seeds_zstd_block ;;
    esac
    corpus=$srcdir/tests/fuzz/corpus/$target
    [ -d "$corpus" ] || corpus=
    # A window of 128 MiB, once for each thread and way, is more than the 2 GiB it would allow.
    if "$program" -max_total_time="$seconds" -max_len="$max_length" -rss_limit_mb=4096 -timeout=60 \
        ${FUZZ_SEED:+"-seed=$FUZZ_SEED"} ${FUZZ_RUNS:+"-runs=$FUZZ_RUNS"} -print_final_stats=1 -artifact_prefix="fuzz-failures/$target-" \
        "fuzz-corpus/$target" ${corpus:+"$corpus"} >"$log" 2>&1; then
        echo "$target: $(executions "$log") executions, no failure"
    else
        status=1
        echo "$target: FAILED after $(executions "$log") executions"
        tail -n 60 "$log"
    fi
done
exit "$status"
