#!/bin/sh
# PyTorch: files by torch.save, and others whose pickles are made by hand.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

if find_python 'torch, numpy'; then
    torch=yes
elif command -v python3 >/dev/null; then
    python=python3 torch=
    skip 'files made by torch' 'torch is missing'
else
    skip 'PyTorch' 'there is no python3'
    finish
fi
mkdir made
PYTHONWARNINGS=ignore "$python" "$sources/tests/lib/make_pytorch.py" made 2>made.err || { fail 'make_pytorch.py' && show made.err; }
ordered=
for expected in made/*.tsv; do
    name=${expected##*/}
    name=${name%.tsv}
    for options in '' '-j 3 --chunk-size 16'; do
        # shellcheck disable=SC2086 # none, or several words
        rows_as "$expected" "$name${options:+, $options}" \
            run --tsv -o sum,min,max,argmin,argmax,nan,count $options "made/$name.pt"
    done
done
while IFS='|' read -r name message; do
    run "made/$name.pt"
    fails_like "$name is refused" "made/$name.pt: a PyTorch file: byte [0-9]*: $message"
done <made/wrong.list
ok 'nothing was executed' test ! -e made/executed
while IFS='|' read -r name array type why; do
    run --list --array="$array" "made/$name.pt"
    ok "$name: $array is listed" grep -q "^made/$name.pt$tab$array$tab$type$tab" out
    run -q -o sum --array="$array" "made/$name.pt"
    ok "$name: $array is an error" test "$status:$(grep -c "array $array: \(type $type is not supported: \)\?$why$" err)" = 1:1
done <made/other.list
# Tensors whose elements have another order: each allocation fails once. Sanitizers have some of their own.
number=1
while [ -e "$SHIM" ] && [ -z "$sanitizer" ] && [ "$number" -lt 300 ]; do
    rm -f mark
    shell "env $preload FAULT_ALLOCATION=$number FAULT_MARK=mark '$program' -q -j 1 -o sum made/strided.pt"
    [ -e mark ] || break
    ok "allocation $number fails" test "$status" -le 1 -a "$status:$(grep -c 'out of memory' err)" != 1:0
    number=$((number + 1))
done
run -q -o sum made/hand2little.pt
copy out wanted
shell 'cat made/hand2little.pt | gpureduce -q -o sum'
ok 'in a pipe' cmp wanted out
run -q -o sum,count --total made/hand2little.pt --array='[wd]*'
is 'a total counts shared elements twice' 0 '276
24
4
1
280
25'
if [ "$torch" ]; then
    run --list made/names.pt
    ok 'names' test "$(cut -f 2 out | sed 1d | LC_ALL=C sort | paste -s -d ' ' -)" = '#7 5 None True a.b a.b#2 meta s x x.more.inner'
    ok 'nothing else is said' test ! -s err
    run -q --list --array=sparse --array=rows --array=array --array=meta made/unsupported.pt made/names.pt
    is 'shapes of tensors that cannot be read' 0 "made/unsupported.pt${tab}sparse${tab}sparse_coo${tab}[3,4]${tab}12${tab}NA${tab}NA
made/unsupported.pt${tab}rows${tab}sparse_csr${tab}[5,3]${tab}15${tab}NA${tab}NA
made/unsupported.pt${tab}array${tab}numpy${tab}NA${tab}NA${tab}NA${tab}NA
made/names.pt${tab}meta${tab}meta${tab}[3,7]${tab}21${tab}NA${tab}NA"
    run --tsv -q -o sum --array=rows --array=array made/unsupported.pt
    ok 'and in results' test "$status:$(cut -f 2-5 out | tr '\t\n' ': ')" = '1:rows:sparse_csr:[5,3]:NA array:numpy:NA:NA '
    run -q -o sum --array=x.more.inner made/names.pt
    ok 'attributes' test "$status:$(tail -n 1 out)" = 0:8
    run -q -o sum --axis=1 made/turned.pt --array=columns
    "$python" -c 'import torch; print(*[repr(v) for v in torch.load("made/turned.pt")["columns"].double().sum(1).tolist()], sep="\n")' >wanted
    ok 'along an axis' cmp wanted out
    for options in -j1 '-j 3 --chunk-size 64'; do
        # shellcheck disable=SC2086 # several words
        run -q --diff $options made/strides.pt made/contiguous.pt
        ok "strides are compared with rows, $options" test "$status" = 0
    done
    run -q -o sum,argmax --axis=1 made/strides.pt --array=channels
    cp out wanted
    run -q -o sum,argmax --axis=1 made/contiguous.pt --array=channels
    ok 'along an axis of strides' cmp wanted out
fi
finish
