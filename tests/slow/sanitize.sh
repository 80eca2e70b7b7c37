#!/bin/sh
# The GPU's kernels under compute-sanitizer: by each tool, every type and every family of kernels, a
# few dozen commands, which must print what the CPU does and be clean. Minutes, and a GPU: not part of
# make check (make check-sanitize).
#
# From the environment: SANITIZE_TOOLS, those to use (memcheck racecheck initcheck synccheck);
# SANITIZE_JOBS, how many commands run at a time (2: the driver lets programs begin one after the
# other); SANITIZER, the program (compute-sanitizer), or nothing for the same commands without it;
# CHECK_SHARE=1/3, every third command.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

: "${SANITIZE_TOOLS=memcheck racecheck initcheck synccheck}" "${SANITIZE_JOBS:=2}"
: "${SANITIZER=compute-sanitizer}" "${CHECK_SHARE:=1/1}"
bench=${program%gpureduce*}gpureduce-bench

run -q -D gpu -o count data/raw/mixed-le.f32
if [ "$status" -ne 0 ] || { [ "$SANITIZER" ] && ! command -v "$SANITIZER" >/dev/null; } ||
    [ ! -x "$bench" ]; then
    skip 'compute-sanitizer' "no GPU, no ${SANITIZER:-GPU} or no gpureduce-bench"
    finish
fi

#
# The commands, a line each of the file cases, and what they read: in the directory much, and about an
# eighth of that in little. racecheck has those: it takes far longer than the others.
#
most="--op=sum,mean,min,max,argmin,argmax,count,nan,inf"
parts="--op=l1,l2,std,absmin,absmax,range,zeros,negatives,subnormals"

# A GPU takes a second to begin with, so a command has many files. Those of types that .npy has are
# arrays of so many rows of 1560 bytes.
# generate TYPE NAME DISTRIBUTION: makes a file of some tiles and a part of one, whose name goes behind
# $files; where NAME, of .npy, is none, it has no header. Not every type has every distribution.
generate() {
    if [ "$3" = bits ]; then
        head -c $((rows * 1560)) /dev/urandom
    else
        "$bench" generate -q -t "$1" -d "$3" -b $((rows * 1560)) 2>/dev/null
    fi >elements || return 0
    if [ "$2" = none ]; then
        cp elements "$3.$1"
    else
        header="{'descr': '$2', 'fortran_order': False, 'shape': ($rows, $((1560 / ${2#??}))), }"
        {
            printf '\223NUMPY\001\000\166\000%-117s\n' "$header"
            cat elements
        } >"$3.$1"
    fi
    files="$files $3.$1"
}

# commands OPTION... FILE...: those for elements of any type.
commands() {
    for ops in --op=sum "$most" "$parts" --op=summary; do
        echo "$ops $*" >>cases
    done
}

# prepare ROWS: all of it, in this directory.
prepare() {
    rows=$1
    files=
    for type in f32:'<f4' f64:'<f8' f16:'<f2'; do
        for distribution in normal wide full sparse uniform; do
            generate "${type%:*}" "${type#*:}" $distribution
        done
    done
    floats=$files
    files=
    for type in i8:'|i1' u8:'|u1' i16:'<i2' u16:'<u2' i32:'<i4' u32:'<u4' i64:'<i8' u64:'<u8'; do
        for distribution in normal full uniform bits; do
            generate "${type%:*}" "${type#*:}" $distribution
        done
    done
    integers=$files
    generate bool '|b1' uniform
    # shellcheck disable=SC2086 # several names, here and below
    {
        commands $floats
        commands $files
        {
            echo "--histogram=100 $floats $integers"
            echo "--histogram=exponent $floats"
            # Slices: sums and extremes, and records.
            for axis in 0 1; do
                for slices in "$floats" "$files"; do
                    echo "--axis=$axis --op=sum,mean,min,max,count,nan,inf $slices"
                    echo "--axis=$axis $parts,argmin,argmax $slices"
                done
            done
        } >>cases
    }
    for type in bf16 f8e4m3 f8e5m2; do
        files=
        for distribution in normal wide full sparse uniform; do
            generate $type none $distribution
        done
        # shellcheck disable=SC2086 # several names
        commands -t $type $files
        echo "-t $type --histogram=100 $files" >>cases
        echo "-t $type --histogram=exponent $files" >>cases
    done
    for axis in 0 1; do
        for type in bf16:780 f8e4m3:1560; do
            slices="-t ${type%:*} --axis=$axis --shape=$rows,${type#*:}"
            echo "$slices --op=sum,mean,min,max,count,nan,inf normal.${type%:*} full.${type%:*}" >>cases
            echo "$slices $parts,argmin,argmax normal.${type%:*} full.${type%:*}" >>cases
        done
    done

    # Elements of any bits: NaNs, infinities, subnormals.
    head -c $((rows * 1560)) /dev/urandom >bits
    for type in f32 f64 f16 bf16 f8e4m3 f8e5m2; do
        echo "-t $type --nan=skip $most,$parts bits" | sed 's/,--op=/,/' >>cases
    done

    # zstd: each kind of block, frames of all sorts, and what is damaged.
    if [ "$ZSTD" ]; then
        {
            "$bench" generate -q -d field -b $((rows * 2340))
            head -c $((rows * 1092)) /dev/zero
            head -c $((rows * 468)) /dev/urandom
            "$bench" generate -q -d image -b $((rows * 2340))
        } >plain
        files=
        for level in -1 -3 '-3 --no-check' --fast=9 -19 '-12 --long=20' '-3 --no-compress-literals'; do
            # shellcheck disable=SC2086 # several words
            "$ZSTD" -q -c $level plain >"zstd$(printf %s "$level" | tr -d ' ').zst"
            files="$files zstd$(printf %s "$level" | tr -d ' ').zst"
        done
        split -b $((rows * 156 + 4)) plain frame.
        cat frame.* | cmp -s - plain || fatal 'split(1) lost something'
        for frame in frame.*; do
            "$ZSTD" -q -c <"$frame" >>frames.zst
        done
        files="$files frames.zst"
        [ -z "$PZSTD" ] || { "$PZSTD" -q -p 3 -c plain >pzstd.zst && files="$files pzstd.zst"; }
        head -c $((rows * 468)) zstd-3.zst >cut.zst
        {
            head -c $((rows * 312)) zstd-3.zst
            printf 'gpureduce'
            tail -c +$((rows * 312 + 10)) zstd-3.zst
        } >damaged.zst
        {
            echo "-t f32 $most $files"
            echo "-t f32 --no-check --op=summary $files"
            echo "-t f64 --op=std $files"
            echo "-t f32 $most cut.zst"
            echo "-t f32 $most damaged.zst"
        } >>cases
    fi
    awk -v one="${CHECK_SHARE%/*}" -v of="${CHECK_SHARE#*/}" 'NR % of == one % of' cases >chosen
}

for directory in much:641 little:81; do
    mkdir "${directory%:*}"
    (cd "${directory%:*}" && prepare "${directory#*:}") || fatal 'no files'
done
[ "$ZSTD" ] || skip 'zstd' 'no zstd program'

#
# Each by the CPU; then under each tool, so many at a time. What has run is said at once.
#

# by OUT ERR STATUS COMMAND...: the command's output, messages and exit status.
by() {
    by_out=$1 by_err=$2 by_status=$3
    shift 3
    "$@" >"$by_out" 2>"$by_err"
    echo $? >"$by_status"
}

for directory in much little; do
    cd $directory || fatal "no $directory"
    number=0
    while read -r line; do
        number=$((number + 1))
        # shellcheck disable=SC2086 # several words
        by cpu.$number cpu.err.$number cpu.status.$number gpureduce -q -D cpu $line
    done <chosen
    [ "$(cat cpu.err.* | wc -l)" -le 10 ] || fatal "not what was meant: $(sort cpu.err.* | uniq -c)"
    cd ..
done

# under TOOL LOG: the sanitizer with its options, or nothing.
under() {
    [ -z "$SANITIZER" ] ||
        echo "$SANITIZER --tool $1 --error-exitcode 99 --print-limit 5 --log-file $2"
}

# look TOOL NUMBER|PROGRAM: has the tool look at a command, or at a unit test of kernels with a few of
# its runs: that has what files so small do not lead to, as the two kernels for much f32.
look() {
    # shellcheck disable=SC2046 # several words
    case $2 in
    test_*) set -- "$2" env KERNELS_RUNS=3 $(under "$1" "log.$2") "$units/$2" ;;
    *) set -- "$2" $(under "$1" "log.$2") "$GPUREDUCE" -q -D gpu $(sed -n "$2p" chosen) ;;
    esac
    look_at=$1
    shift
    by "out.$look_at" "err.$look_at" "status.$look_at" "$@"
}

# tell TOOL NUMBER|PROGRAM: what became of it.
tell() {
    case $2,$(cat "status.$2") in
    test_*,0) pass "$1: $2" && return ;;
    test_*,77) skip "$1: $2" 'no GPU' && return ;;
    test_*,127) skip "$1: $2" 'it was not built' && return ;;
    test_*)
        fail "$1: $2"
        grep '^not ok' "out.$2" | sed 's/^/# /'
        ;;
    *)
        line=$(sed -n "$2p" chosen)
        if cmp -s "cpu.$2" "out.$2" && cmp -s "cpu.err.$2" "err.$2" &&
            cmp -s "cpu.status.$2" "status.$2"; then
            pass "$1: $line"
            return
        fi
        fail "$1: $line"
        echo "# exit status $(cat "status.$2"), by the CPU $(cat "cpu.status.$2")"
        diff "cpu.$2" "out.$2" >compare.diff
        diff "cpu.err.$2" "err.$2" >>compare.diff
        show compare.diff 10
        ;;
    esac
    [ ! -e "log.$2" ] || show "log.$2"
}

units=${program%src/*}tests/unit
for tool in $SANITIZE_TOOLS; do
    data=much
    [ "$tool" != racecheck ] || data=little
    cd "$work/$data" || fatal "no $data"
    # shellcheck disable=SC2046 # several words
    set -- test_reduce_cuda test_slice_cuda test_tally_cuda test_digest_cuda $(seq "$(wc -l <chosen)")
    while [ $# -gt 0 ]; do
        begun=
        while [ $# -gt 0 ] && [ "$(echo "$begun" | wc -w)" -lt "$SANITIZE_JOBS" ]; do
            look "$tool" "$1" &
            begun="$begun $1"
            shift
        done
        wait
        for one in $begun; do
            tell "$tool" "$one"
        done
    done
done
finish
