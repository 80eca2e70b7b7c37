#!/bin/sh
# Every CUDA call fails once, alone and with all that follow it. The CPU then finishes the work with the
# right bits where the device is auto, and says so once; with --device=gpu there is one error and no
# result. By the program with an emulated GPU, and by one for a GPU. A real GPU has every other call,
# alone and with all that follow in turns: each run takes it up to a second.

[ ! -x "${GPUREDUCE_FAULTS-}" ] || GPUREDUCE=$GPUREDUCE_FAULTS
# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

if [ "$GPUREDUCE" != "${GPUREDUCE_FAULTS-}" ]; then
    skip 'CUDA calls that fail' 'no program whose calls do'
    finish
fi

head -c 600000 /dev/urandom >bits
gpu_programs 'CUDA calls that fail' bits
ops=sum,mean,min,max,argmin,argmax,count,nan,inf

# sweep DEVICE MOST: runs on gpu or auto with failures up to this call, until the last that matters is
# behind. So it is when three failures in a row that last have changed nothing: all calls from
# there on have failed, and nothing was lost. One that does not last proves nothing: there are calls
# in the middle that a run can do without, such as those of a second feeder. Three, because the turns
# of threads decide how many calls a run makes.
sweep() {
    call=1 step=1 behind=0
    emulated || step=2
    while [ $call -le "$2" ] && [ $behind -lt 3 ]; do
        faults="$call $call+"
        emulated || faults=$call$([ $((call / 2 % 2)) -eq 0 ] || echo +)
        for fault in $faults; do
            if [ "$1" = gpu ]; then
                by_gpu
            else
                by_auto
            fi
            case $changed,$fault in
            yes,*+) behind=0 ;;
            no,*+) behind=$((behind + 1)) ;;
            esac
        done
        call=$((call + step))
    done
}

# by_gpu: a run with -D gpu in which $fault happens.
by_gpu() {
    environment="GPUREDUCE_CUDA_FAULT=$fault"
    run -q -D gpu -j 2 -t f16 --nan skip -o "$ops" bits
    changed=yes
    if [ "$status" -eq 0 ]; then # a failure that does not matter: fewer feeders, say
        is "$label, call $fault" 0 "$expected"
        changed=no
    elif [ "$status" -eq 3 ]; then
        ok "$label, call $fault: one line, and no result" test ! -s out -a "$(wc -l <err)" -eq 1
    else
        fails_like "$label, call $fault" 'bits: GPU: .*'
    fi
}

# by_auto: the same with auto, over many files, so that the GPU is ready while there is work left. A
# GPU that cannot be opened changes nothing that shows, so this has no end of its own.
by_auto() {
    environment="GPUREDUCE_CALL_GPU=1 GPUREDUCE_CUDA_FAULT=$fault"
    # shellcheck disable=SC2086 # several words
    run -q -j 1 $chunks -t f16 --nan skip -o "$ops" $many
    changed=yes
    is "$label, auto, call $fault" 0 "$all" '*'
    grep -q 'GPU failed: .*; continuing on the CPU' err && fed=$((fed + 1))
    ok "$label, auto, call $fault: one warning at most" test "$(wc -l <err)" -le 1
}

for GPUREDUCE in $programs; do
    label=$(gpu_label)
    environment=
    run -q -D cpu -t f16 --nan skip -o "$ops" bits
    expected=$(cat out)
    run -q -D gpu -j 2 -t f16 --nan skip -o "$ops" bits
    is "$label, none fails" 0 "$expected"
    sweep gpu 300
    ok "$label, $((call - 1)) calls are more than a run makes" test $behind -eq 3 -a $call -gt 30

    # The emulated GPU is ready at once, and small chunks leave it time.
    chunks='--chunk-size 4096' file=bits
    if ! emulated; then
        chunks='' file=lot
        head -c 200000000 /dev/urandom >lot
        run -q -D cpu -t f16 --nan skip -o "$ops" lot
        expected=$(cat out)
    fi
    many=$file
    while [ "${#many}" -lt 200 ]; do
        many="$many $file"
    done
    all=$(for _ in $many; do printf '%s\n' "$expected"; done)
    fed=0
    if emulated && [ -e "$SHIM" ]; then
        # The GPU is opened beside the others, who may ask for variables of the environment.
        environment="$preload FAULT_SETENV=1 GPUREDUCE_CALL_GPU=1"
        # shellcheck disable=SC2086 # several words
        run -q -j 1 $chunks -t f16 --nan skip -o "$ops" $many
        is "$label, auto: the environment stays as it is while there are threads" 0 "$all"
    fi
    sweep auto 45
    ok "$label, auto: a GPU failed in the middle of the work $fed times" test "$fed" -gt 5
done
environment=
finish
