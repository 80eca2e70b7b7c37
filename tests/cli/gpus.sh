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

finish
