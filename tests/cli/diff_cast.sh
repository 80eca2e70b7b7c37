#!/bin/sh
# --diff --cast: casts of all types to all types, by one rounding and another, against fractions, and ml_dtypes where
# that is. STRESS_SEED draws other numbers.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

seed=${STRESS_SEED:-1}
make_files diff_cast.py 'casts' "$seed"
mv made/* .

columns=1,6,7,12,16-
for how in '-j 1' '-j 3 --chunk-size=1000'; do
    # shellcheck disable=SC2086 # several words
    differs_as cast.tsv "seed $seed, $how" $how --cast a.safetensors b.safetensors
done
environment=GPUREDUCE_CPU=vector16
differs_as cast.tsv 'by other kernels' --cast a.safetensors b.safetensors
environment=
run --diff -q --cast --array='f64 bf16 nearest' a.safetensors b.safetensors
is 'all are casts' 0 ''
run --diff -q --cast --array='f64 bf16 other' a.safetensors b.safetensors
is 'or not' 1 ''

# 1.5, missing, 2.5 and 3e9, which is beyond the range, as i16.
{ npy 1 "$(npy_header '<f4' '(4,)')" && printf '\0\0\300\77\0\74\34\306\0\0\040\100\136\320\062\117'; } >a.npy
{ npy 1 "$(npy_header '<i2' '(4,)')" && printf '\2\0\361\330\3\0\377\177'; } >b.npy
run --diff --cast --json --missing=-9999 a.npy b.npy
ok 'missing values are not cast' grep -q \
    '"different": 2, "first": 2, .*"max_ulp": 1, "max_ulp_at": 2, .*"missing": 0, "missing_both": 1, "nearest": 1, "other_rounding": 2' out
run --diff --cast --tolerance=ulp:1 --tsv --missing=-9999 a.npy b.npy
ok 'beyond the range nothing is tolerated' test "$(sed -n 2p out | cut -f 6,7)" = "1${tab}3"
# 32766 in place of 32767, the end of the range.
{ npy 1 "$(npy_header '<i2' '(4,)')" && printf '\2\0\361\330\3\0\376\177'; } >near.npy
for limit in ulp:1 abs:1 rel:0.5; do
    run --diff --cast --tolerance=$limit --tsv --missing=-9999 a.npy near.npy
    ok "nor what is near the end of the range ($limit)" test "$(sed -n 2p out | cut -f 6,7)" = "1${tab}3"
    run --diff --cast -q --tolerance=$limit --missing=-9999 a.npy near.npy
    is "and the status says so ($limit)" 1 ''
done

# 448, 1e30 and 1, none of which is a NaN, as f8e4m3; a NaN, 0 and 1 as truth values.
{ npy 1 "$(npy_header '<f4' '(3,)')" && printf '\0\0\340\103\312\362\111\161\0\0\200\77'; } >large.npy
{ npy 1 "$(npy_header '|V1' '(3,)')" && printf '\176\176\070'; } >f8.npy
run --diff -q --cast --nan=error -t f8e4m3 large.npy f8.npy
is 'a number that is cast to a NaN' 2 '' \
    'gpureduce: warning: large.npy: the .npy header overrides what was asked for: --dtype (it says f32)
gpureduce: large.npy and f8.npy: element 1 is a NaN in at least one of them, or is cast to one'
{ npy 1 "$(npy_header '<f4' '(3,)')" && printf '\0\0\300\177\0\0\0\0\0\0\200\77'; } >nan.npy
{ npy 1 "$(npy_header '|b1' '(3,)')" && printf '\1\0\1'; } >truth.npy
run --diff -q --cast --nan=error nan.npy truth.npy
is 'a NaN that is cast to a truth value' 0 ''

finish
