#!/bin/sh
# Every CUDA call fails once, alone and with all that follow it. The CPU then finishes the work with the
# right bits where the device is auto, and says so once; with --device=gpu there is one error and no
# result. Needs a GPU, and a build that was configured with --enable-faults.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

head -c 200000000 /dev/urandom >bits
ops=sum,mean,min,max,argmin,argmax,count,nan,inf

environment=GPUREDUCE_CUDA_FAULT=1
run -q -D gpu -t f16 --length 1000 bits
if [ "$status" -eq 0 ]; then
    skip 'CUDA calls that fail' 'this build has no failures on purpose'
    finish
fi
environment=
run -q -D gpu -t f16 --length 1000 bits
if [ "$status" -ne 0 ]; then
    skip 'CUDA calls that fail' "$(cat err)"
    finish
fi

run -q -D cpu -t f16 --nan skip -o "$ops" bits
expected=$(cat out)
run -q -D gpu -t f16 --nan skip -o "$ops" bits
is 'none fails' 0 "$expected"

# How many calls there are before the first chunk and in a few of them is not told; more than enough.
calls=1
while [ "$calls" -le 50 ]; do
    for fault in "$calls" "$calls+"; do
        environment="GPUREDUCE_CUDA_FAULT=$fault"
        run -q -D gpu -j 2 -t f16 --nan skip -o "$ops" bits
        if [ "$status" -eq 0 ]; then # a failure that does not matter: fewer feeders, say
            is "gpu, call $fault" 0 "$expected"
        elif [ "$status" -eq 3 ]; then
            ok "gpu, call $fault: one line, and no result" \
                test ! -s out -a "$(wc -l <err)" -eq 1
        else
            fails_like "gpu, call $fault" 'bits: GPU: .*'
        fi
    done
    calls=$((calls + 1))
done

# auto, over several files, so that the GPU is ready while there is work left.
many=bits
while [ "${#many}" -lt 200 ]; do
    many="$many bits"
done
all=$(for _ in $many; do printf '%s\n' "$expected"; done)
fed=0
calls=1
while [ "$calls" -le 45 ]; do
    for fault in "$calls" "$calls+"; do
        environment="GPUREDUCE_CALL_GPU=1 GPUREDUCE_CUDA_FAULT=$fault"
        # shellcheck disable=SC2086 # several names
        run -q -j 1 -t f16 --nan skip -o "$ops" $many
        is "auto, call $fault" 0 "$all" '*'
        grep -q 'GPU failed: .*; continuing on the CPU' err && fed=$((fed + 1))
        ok "auto, call $fault: one warning at most" test "$(wc -l <err)" -le 1
    done
    calls=$((calls + 1))
done
ok "a GPU failed in the middle of the work $fed times" test "$fed" -gt 10

finish
