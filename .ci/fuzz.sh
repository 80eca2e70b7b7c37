#!/bin/bash
# Fuzz targets: the same numbers of inputs for a commit; in the long tier five minutes each.
# shellcheck source=.ci/lib.sh
. "$(dirname "$0")/lib.sh"

need clang
seconds=60
runs=(zstd=8000 reduce=200 npy=12500 zstd_block=6000 record=15000 container=45000 hdf5=75000 unsupported=50000
    readers=50000 options=90000 partial=125000 codecs=100000)
if [ "$tier" = long ]; then
    seconds=300
    runs=("${runs[@]%=*}" dcp pickle zarr)
fi
configured fuzz && make -j"$jobs" fuzz || exit
# shellcheck disable=SC2016 # for the inner shell
printf '%s\n' "${runs[@]}" | xargs -P "$jobs" -I{} sh -c 'name=${1%=*} && runs=${1#"$name"} &&
    make fuzz-run FUZZ_SECONDS="$2" FUZZ_SEED="$3" FUZZ_RUNS="${runs#=}" fuzz_programs="tests/fuzz/fuzz_$name"' \
    sh {} "$seconds" "${STRESS_SEED:-1}"
