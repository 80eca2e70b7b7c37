#!/bin/sh
# --diff of arrays of two types: all pairs of types, against fractions. STRESS_SEED draws other numbers.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

seed=${STRESS_SEED:-1}
make_files diff_types.py 'arrays of two types' "$seed $DIFF_TYPES"
mv made/* .

ok 'there are some' test "$(wc -l <types.tsv)" -gt 600
for how in '' '-j 1' '-j 3 --chunk-size=1000'; do
    # shellcheck disable=SC2086 # none, or several words
    differs_as types.tsv "seed $seed, ${how:-by default}" $how a.safetensors b.safetensors
done
differs_as skip.tsv 'without NaNs' --nan=skip a.safetensors b.safetensors
differs_as ignored.tsv 'values alone' --ignore-dtype a.safetensors b.safetensors
environment=GPUREDUCE_CPU=vector16
differs_as types.tsv 'by other kernels' a.safetensors b.safetensors
environment=
run --diff -q --array='f32 bf16 equal' a.safetensors b.safetensors
is 'types differ' 1 ''
run --diff -q --ignore-dtype --array='f32 bf16 equal' a.safetensors b.safetensors
is 'and values do not' 0 ''
run --diff -q --ignore-dtype --array='f32 bf16 all' a.safetensors b.safetensors
is 'or do' 1 ''
run --diff --tolerance=ulp:1 --array='i64 f32 equal' a.safetensors b.safetensors
ok 'there are no ulps' test "$status:$(cat err)" = \
    '2:gpureduce: a.safetensors and b.safetensors: array i64 f32 equal: a tolerance in ulps needs a type that has all numbers of i64 and f32'
run --ignore-dtype a.safetensors
is '--ignore-dtype alone' 2 '' "gpureduce: option '--ignore-dtype' needs --diff (try 'gpureduce --help')"

# A pipe, which is read in order, with a file whose elements have another size.
npy 1 "$(npy_header '<f8' '(3,)')" >long.npy && printf '\0\0\0\0\0\0\360\77\0\0\0\0\0\0\0\100\0\0\0\0\0\0\10\100' >>long.npy
{ npy 1 "$(npy_header '<f4' '(3,)')" && three; } >short.npy
for order in 'long.npy short.npy' 'short.npy long.npy'; do
    shell "cat ${order% *} | gpureduce --diff --ignore-dtype -q - ${order#* }"
    is "a pipe: $order" 0 ''
    has_zlib || continue
    shell "gzip -c ${order#* } >z.gz && cat ${order% *} | gpureduce --diff --tsv --chunk-size=16 - z.gz"
    ok "two in order: $order" test "$status:$(sed -n 2p out | cut -f 2,6,7)" = "1:dtype${tab}0${tab}NA"
done

finish
