#!/bin/sh
# Checkpoints of torch.distributed.checkpoint, which are directories.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

if find_python 'torch, numpy'; then
    :
elif command -v python3 >/dev/null; then
    python=python3
    skip 'checkpoints made by torch' 'torch is missing'
else
    skip 'checkpoints' 'there is no python3'
    finish
fi
mkdir made
"$python" "$sources/tests/lib/make_dcp.py" made 2>made.err || { fail 'make_dcp.py' && show made.err; }
ordered=
for expected in made/*.tsv; do
    name=${expected##*/}
    name=${name%.tsv}
    for options in '' '-j 3 --chunk-size 16'; do
        [ "$name$options" != "large-j 3 --chunk-size 16" ] || options='-j 3'
        # shellcheck disable=SC2086 # none, or several words
        rows_as "$expected" "$name${options:+, $options}" \
            run --tsv -o sum,min,max,argmin,argmax,nan,count --skip-unsupported $options "made/$name"
    done
done
while IFS='|' read -r name message; do
    run "made/$name"
    fails_like "$name is refused" "made/$name: a PyTorch file: $message"
done <made/wrong.list
ok 'nothing was executed' test ! -e made/executed
while IFS='|' read -r name array why; do
    run --tsv -o sum "made/$name"
    ok "$name: $array is an error" test "$status:$(grep -c "array $array: $why$" err)" = 1:1
    ok "$name: the other array is reduced" grep -q "${tab}good${tab}i16${tab}\[3\]${tab}84$" out
done <made/other.list
run --list made/hand4
ok 'a list' grep -q "^made/hand4${tab}model.w${tab}f32${tab}\[10,7\]${tab}70${tab}280${tab}" out
run --list --json made/big
ok 'a list knows no byte order, which the shards state' \
    test "$(grep -c '"readable": true, "endian": null' out):$(grep -c '"endian": "' out)" = 24:1
run -q -o sum --axis=0 --array=model.grid made/hand4
ok 'along an axis' test "$status:$(wc -l <out)" = 0:11
run -q --diff made/hand2 made/big
ok 'two checkpoints are equal' test "$status" = 0
mkdir empty
run --format=pytorch empty
fails 'a directory without metadata' 'empty: a PyTorch file: .metadata: No such file or directory'
finish
