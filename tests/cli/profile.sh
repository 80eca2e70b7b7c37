#!/bin/sh
# The account of a run: phases and stages that add up, what held it back, and the limits recorded for
# the machine.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=12

three >three.f32
head -c 40000002 /dev/urandom >raw
bench=$program-bench
jq=$(command -v jq)

# holds NAME FILTER: whether the filter says true of each object in ./out.
holds() {
    if [ -z "$jq" ]; then
        skip "$1" 'no jq'
    elif [ "$status" -eq 0 ] && [ -s out ] && "$jq" -e "$2" out >jq.out 2>jq.err &&
        ! grep -qv true jq.out; then
        pass "$1"
    else
        fail "$1"
        explain
        show jq.err
    fi
}

# What must be true of every account. Times and rates are printed to a microsecond and a MB/s. Where
# there was nothing to reduce no engine is named; the thread that found out has taken some time.
# shellcheck disable=SC2016 # variables of jq
sums='def near($a; $b): ($a - $b | fabs) < 0.00001 * (1 + ($b | fabs));
def parts: .phases.ramp_up, .phases.steady, .phases.finish;
near([parts.seconds] | add; .seconds) and
([parts.bytes] | add) == .bytes and
([.engines[].bytes] | add // 0) == .bytes and
(.bytes == 0 or ([.engines[].percent] | add | . - 100 | fabs < 0.02)) and
([.engines[].threads] | add // 1) as $threads |
(.stages.read.busy_seconds + .stages.decode.busy_seconds + .stages.reduce.busy_seconds
    <= $threads * .seconds * 1.02 + 0.0001) and
([.stages[].busy_percent] | max <= 100) and
(.stages.copy.bytes + .stages.reduce.bytes == .bytes) and
(.stages.copy.bytes == .stages.kernel.bytes)'

for words in three.f32 '-t f16 raw' '-t f16 -j 1 raw' '-t f16 -j 5 --chunk-size=100000 raw' \
    '-t f16 -D cpu raw' '-t f16 --length=7 raw' data/zstd/frames.f32.zst \
    data/zstd/array-torn.npy.zst data/npy/v1-f4.npy '-D cpu three.f32 -t f16 raw three.f32'; do
    # shellcheck disable=SC2086 # several words
    run --json -v -o count $words
    holds "it adds up: $words" "$sums"
done
: >empty
run --json -v -j 1 empty
holds 'it adds up: nothing' "$sums"
shell 'cat raw | gpureduce -t f16 --json -v -o count'
holds 'it adds up: a pipe' "$sums"
if [ -n "$ZSTD" ]; then
    "$ZSTD" -q raw -o one.zst
    export ZSTD
    # shellcheck disable=SC2016 # for the shell that runs it
    shell 'cat raw raw | split -b 5M --filter="$ZSTD -qc" - >many.zst'
    for file in one many; do
        run -t f16 --json -v -o count "$file.zst"
        holds "it adds up: $file.zst" "$sums"
        holds "$file.zst is decoded" '.stages.decode.bytes == .bytes and .stages.decode.busy_seconds > 0'
    done
else
    skip 'zstd' 'no zstd'
fi
run -t f16 --json -v -D gpu raw
if [ "$status" -eq 0 ]; then
    holds 'it adds up: -D gpu' "$sums"
    holds 'what a GPU did' '.stages.copy.bytes == .bytes and .stages.reduce.bytes == 0 and
        .stages.copy.busy_seconds > 0 and .stages.copy.busy_seconds <= .seconds and
        .stages.kernel.busy_seconds > 0 and .stages.kernel.busy_seconds <= .seconds and
        .phases.start_up.gpu_seconds > 0 and
        .phases.start_up.gpu_seconds <= .phases.start_up.seconds and .gpu_not_used == null'
else
    skip 'it adds up: -D gpu' 'there is no usable GPU'
fi

# When the GPU is not used.
absent() { # NAME TEXT
    ok "$1" grep -q "^  gpu       not used: $2\$" err
}
run -v three.f32
absent 'a small file' 'too little work'
run -v data/zstd/frames.f32.zst
absent 'a small compressed file' 'too little work'
shell 'cat three.f32 | gpureduce -v'
absent 'a pipe' 'the input comes in order'
# Twice, that the rate be known when the second one is begun.
head -c 16777216 /dev/zero >zeros
if truncate -s 1T ./- 2>/dev/null; then
    shell 'gpureduce -v zeros zeros - <three.f32'
    rm ./-
    ok 'standard input is not the size of a file named -' test "$status:$(grep -c \
        '^  gpu       not used: \(too little work\|the cores take .*\|storage is .*\)$' err)" = 0:3
else
    skip 'standard input is not the size of a file named -' 'no sparse files'
fi
run -v -D cpu three.f32
ok '-D cpu needs no reason' test "$status:$(grep -c 'not used' err)" = 0:0
run --json -v -D cpu three.f32
holds '-D cpu needs none in JSON' '.gpu_not_used == null'

# What held it back. Opening the FIFO waits for the program, however long that takes to start; should
# it never do so, opening it once more lets the writer go. What tells the format is read before.
mkfifo fifo
# shellcheck disable=SC2016 # for that shell
shell '{ head -c 4096 /dev/zero; cat three.f32; sleep 0.5; cat three.f32; } >fifo &
    gpureduce -v --json -o sum fifo; ended=$?; : <>fifo; exit $ended'
holds 'a slow writer' '.sum == 12 and .bottleneck.stage == "read" and
    .bottleneck.text == "waiting for the pipe'"'"'s writer" and
    .bottleneck.percent_of_limit == null and .stages.read.busy_seconds > 0.2'
ok 'a slow writer, in words' grep -q "^  bottleneck: waiting for the pipe's writer\$" err

# With limits that are recorded. All are the same, so that it does not matter which stage it is; but
# reducing what was copied has none.
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
cpu=${cpu:-unknown}
mkdir -p cache/gpureduce
environment="XDG_CACHE_HOME=$work/cache GPUREDUCE_CACHED=mapped"
record() { # CPU RATE
    rows=
    for name in cached-mapped cached-pread zstd-decode cold-direct; do
        rows="$rows{\"limit\": \"$name\", \"threads\": 2, \"gigabytes_per_second\": $2},"
    done
    printf '{"table": "limits", "cpu": "%s", "rows": [%s]}\n' "$1" "${rows%,}" \
        >cache/gpureduce/limits.json
}
record "$cpu" 40
run -v -D cpu -j 2 -t f16 --json -o min raw
holds 'the rate beside a recorded limit' '.bottleneck | .limit_gigabytes_per_second == 40 and
    (.percent_of_limit - 100 * .gigabytes_per_second / 40 | fabs < 0.1)'
ok 'the same in words' grep -q \
    '^  bottleneck: .*, [0-9]* % of \(the measured 40\.0 GB/s of 2 threads\|the storage.s measured 40\.0 GB/s\)$' err
cp err with
ok 'nothing is said of a record that is good' test "$(grep -c ignored with)" -eq 0

# ignored NAME REASON: the record does no harm, and is ignored.
ignored() {
    run -v -D cpu -j 2 -t f16 --json -o min raw
    holds "$1" '.bottleneck.limit_gigabytes_per_second == null and
        .bottleneck.percent_of_limit == null'
    ok "$1: -v says so" test "$status:$(grep -c "^  recorded limits ignored: $2\$" err)" = 0:1
    run -D cpu -q -t f16 -o count raw
    is "$1: otherwise nothing is said" 0 20000001
}
record "$cpu x" 40
ignored 'the limits of another machine' 'of a machine with another CPU'
record "$cpu" -40
ignored 'a limit below nothing' 'damaged at byte [0-9]*'
record "$cpu" 1e99
ignored 'a limit beyond reason' 'damaged at byte [0-9]*'
record "$cpu" nan
ignored 'a limit that is no number' 'damaged at byte [0-9]*'
head -c 10000 /dev/urandom >cache/gpureduce/limits.json
ignored 'noise' 'damaged at byte [0-9]*'
: >cache/gpureduce/limits.json
ignored 'an empty record' 'damaged at byte 0'
head -c 2000000 /dev/zero | tr '\0' '[' >cache/gpureduce/limits.json
ignored 'an endless record' 'too large'
rm cache/gpureduce/limits.json && mkdir cache/gpureduce/limits.json
ignored 'a directory' 'not a regular file'
rmdir cache/gpureduce/limits.json && mkfifo cache/gpureduce/limits.json
ignored 'a FIFO' 'not a regular file'
rm cache/gpureduce/limits.json
run -v -D cpu -t f16 -o min raw
ok 'no record' test "$status:$(grep -c '% of the measured\|ignored' err)" = 0:0

# What gpureduce-bench writes is what gpureduce reads.
if env XDG_CACHE_HOME="$work/cache" GPUREDUCE_CACHE_BYTES=262144 "$bench" limits -b 1MiB -r 1 --save >bench.out 2>bench.err; then
    run -v -D cpu -t f16 -o min raw
    ok 'a real record is not ignored' test "$status:$(grep -c ignored err)" = 0:0
    ok 'a real record is used' grep -q '^  bottleneck: .*, [0-9]* % of ' err
else
    fail 'gpureduce-bench limits --save'
    show bench.err
fi
environment=

# The layout.
for words in '-t f16 raw' three.f32 data/zstd/frames.f32.zst; do
    # shellcheck disable=SC2086 # several words
    run -v $words
    # shellcheck disable=SC2016 # a field of awk
    ok "no line is long: $words" awk 'length($0) > 100 { exit 1 }' err
done

finish
