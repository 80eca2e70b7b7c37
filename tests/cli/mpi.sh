#!/bin/sh
# gpureduce-mpi prints what gpureduce prints, whatever the number of ranks; a rank that fails ends
# the job. Skipped without MPI.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

absent() {
    echo "1..0 # SKIP $*"
    exit 0
}

[ -x "$program-mpi" ] || absent 'configure found no MPI'
[ -z "$sanitizer$CHECK_UNDER" ] || absent 'MPI libraries are not for sanitizers and valgrind'
for mpirun in 'mpirun --oversubscribe --allow-run-as-root' 'mpirun'; do
    $mpirun -n 2 true >/dev/null 2>&1 && break
    mpirun=
done
[ -n "$mpirun" ] || absent 'there is no mpirun that works'
all=sum,min,max,mean,count,argmin,argmax,nan,inf,var,std,sumsq,rms,l1,l2
all=$all,absmax,absmin,range,zeros,negatives,subnormals

# ranks N ARGUMENT...: a run of N ranks. What mpirun itself says of a job that fails is left out.
ranks() {
    vary
    ranks_n=$1
    shift
    command="mpirun -n $ranks_n gpureduce-mpi $*"
    # shellcheck disable=SC2086 # several words
    $mpirun -n "$ranks_n" "$program-mpi" $CHECK_OPTIONS "$@" >out 2>all_err </dev/null
    status=$?
    grep '^gpureduce' all_err >err
}

"$program-bench" generate -q -d normal -b 9000000 >large
{ npy 1 "$(npy_header '<f4' '(2250000,)')" && cat large; } >large.npy
cp data/raw/nan.f32 nan
: >empty
files='large large.npy nan empty data/waves.f32.zst data/npy/v3-f8.npy'
if [ -n "$ZSTD" ]; then # a file that is cut between frames, which tear elements
    split -b 700001 large.npy piece.
    "$ZSTD" -q -c piece.* >large.npy.zst
    files="$files large.npy.zst"
fi
# shellcheck disable=SC2086 # several words
run --tsv --total -o $all $files
cp out expected
for n in 1 2 3 16; do
    # shellcheck disable=SC2086 # as above
    ranks $n --tsv --total -o $all $files
    ok "$n ranks print the same" test "$status:$(cmp out expected 2>&1)" = 0:
done
# shellcheck disable=SC2086 # several files
run --tsv -o digest,sum $files
cp out expected
# shellcheck disable=SC2086 # as above
ranks 3 --tsv -o digest,sum $files
ok 'and the same digests' test "$status:$(cmp out expected 2>&1)" = 0:
run --partial -o $all large.npy
cp out expected
ranks 3 --partial -o $all large.npy
ok 'and the same partial result' test "$status:$(cmp out expected 2>&1)" = 0:
run --partial -t i8 --missing=0 --missing=7 -o $all large
cp out expected
ranks 3 --partial -t i8 --missing=0 --missing=7 -o $all large
ok 'with missing values, too' test "$status:$(cmp out expected 2>&1)" = 0:
if [ -e "$SHIM" ]; then
    printf '\1\0\0\0\0\0\0\0' >least
    command="mpirun -n 2 env $preload FAULT_FLUSH=1 gpureduce-mpi"
    # shellcheck disable=SC2086 # several words
    $mpirun -n 2 env $preload FAULT_FLUSH=1 "$program-mpi" -q -t f64 -o sum least >out 2>all_err
    ok 'and where a library has subnormal numbers be zero' test "$(cat out)" = 5e-324
fi
run -v --json -o sum,std,argmax --nan=skip nan
sed 's/, "phases".*/}/; s/"seconds": .*//' out >expected
ranks 2 -v --json -o sum,std,argmax --nan=skip nan
sed 's/"seconds": .*//' out >shown
ok 'JSON says how the input was read' cmp shown expected
ok '... and -v how many ranks did' grep -q '^  ranks     2$' all_err
ranks 2 -q -o sum --nan=error large nan
is 'the first NaN is an error when all is known' 1 "$("$GPUREDUCE" -q -o sum large)
NA" 'gpureduce-mpi: nan: element 137 is a NaN'

python=${ARRAYS_PYTHON:-python3}
if command -v "$python" >/dev/null && "$python" -c '
import json, struct
header, at = {}, 0
for name, dtype, size, count in (("b", "F64", 8, 600000), ("a", "I32", 4, 3), ("n", "F32", 4, 0), ("c", "BF16", 2, 700001)):
    header[name] = {"dtype": dtype, "shape": [count, 1], "data_offsets": [at, at + size * count]}
    at += size * count
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open("m.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(range(240)) * (at // 240) + bytes(at % 240))'; then
    run --total --nan=skip -o $all m.safetensors large
    cp out expected
    ranks 4 --total --nan=skip -o $all m.safetensors large
    ok 'arrays of a container are the same' test "$status:$(cmp out expected 2>&1)" = 0:
    run -q --array='[ac]' --array=x --nan=error -o sum m.safetensors
    cp out expected
    sed 's/^gpureduce/&-mpi/' err >expected_err
    ranks 3 -q --array='[ac]' --array=x --nan=error -o sum m.safetensors
    ok 'and so are those that are named, and errors' \
        test "$status:$(cmp out expected 2>&1)$(cmp err expected_err 2>&1)" = 1:
    mkdir other
    sed 's/"b"/"z"/' m.safetensors >other/m.safetensors
    vary
    command='mpirun -n 1 gpureduce-mpi : -n 1 -wdir other gpureduce-mpi'
    # shellcheck disable=SC2086 # several words
    $mpirun -n 1 "$program-mpi" -o sum m.safetensors : -n 1 -wdir other "$program-mpi" -o sum m.safetensors >out 2>all_err
    status=$?
    ok 'and arrays of other names are not merged' \
        test "$status:$(grep -c 'm.safetensors: array [bz]: its name differs between ranks' all_err)" = 1:1
else
    skip 'arrays of a container' 'there is no python3'
fi

ranks 3 large absent
is 'a file that is not there ends the job' 1 '' 'gpureduce-mpi: absent: No such file or directory'
cp large torn
printf x >>torn
ranks 3 torn
ok 'so does one that is damaged' \
    test "$status:$(wc -c <out):$(grep -c 'torn: byte 9000000: ' err)" = 1:0:1
ranks 3 --no-such-option
is 'a wrong option is told once' 2 '' "gpureduce-mpi: unknown option '--no-such-option' (try 'gpureduce-mpi --help')"
ranks 2 --help
ok 'and help is given once' test "$(grep -c '^Usage: gpureduce-mpi ' out)" -eq 1
ranks 2 -o median large
is 'quantiles are refused' 2 '' "gpureduce-mpi: ranks cannot merge quantiles and histograms; use 'gpureduce' for them (try 'gpureduce-mpi --help')"
ranks 2 --check=large
is '--check is refused' 2 '' "gpureduce-mpi: option '--check' is for gpureduce (try 'gpureduce-mpi --help')"
mkfifo fifo
ranks 2 fifo
fails_mpi=$(cat err)
ok 'a pipe is refused' test "$status:${fails_mpi%%,*}" = "1:gpureduce-mpi: fifo: not a regular file: its size is unknown"

# Ranks that see other files than each other.
mkdir rank0 rank1
for rank in 0 1; do
    cp large rank$rank/one
    cp nan rank$rank/two
done
# shellcheck disable=SC2016 # for the shell that runs it
apart='cd "rank${OMPI_COMM_WORLD_RANK-$PMI_RANK}" && exec "$0-mpi" -q -o count one two'
# apart NAME WANTED: what ranks print in these directories.
apart() {
    command="$apart"
    # shellcheck disable=SC2086 # several words
    $mpirun -n 2 sh -c "$apart" "$program" >out 2>all_err </dev/null
    status=$?
    grep '^gpureduce' all_err >err
    is "$1" "$3" "$2" "$4"
}
apart 'ranks in directories of their own' "$(printf '2250000\n400')" 0 ''
cp large.npy rank0/one
{ npy 1 "$(npy_header '<i4' '(2250000,)')" && cat large; } >rank1/one
apart 'a file of another type for one' "$(printf 'NA\n400')" 1 'gpureduce-mpi: one: its type, missing values or scale differ between ranks'
cp large rank0/one
head -c 6000000 large >rank1/one
apart 'a file that is shorter for one' '' 1 'gpureduce-mpi: one: its length differs between ranks, or it is missing'
rm rank1/one
apart 'a file that is not there for one' '' 1 'gpureduce-mpi: one: its length differs between ranks, or it is missing'

finish
