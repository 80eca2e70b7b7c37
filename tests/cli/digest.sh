#!/bin/sh
# --op=digest: one array has one digest in every form, which is that of its definition in doc/numerics.md;
# shards and ranks merge to it. It is refused where it cannot be.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=4
if ! find_python struct; then
    skip 'digests' 'there is no python3'
    finish
fi

awk '/^## Digests/ { found = 1 } found && /^```$/ { exit } copy; found && /^```python$/ { copy = 1 }' \
    "$sources/doc/numerics.md" >definition
ok 'the definition in doc/numerics.md is the one that is tested' cmp definition "$sources/tests/lib/digest.py"
# shellcheck disable=SC2154
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$sources/tests/lib "$python" "$sources/tests/lib/make_digest.py" . ||
    fatal 'cannot make files'
expected=$(cat expected)

#
# Types and instruction sets.
#
sets=
for set in avx512 avx2 sse4 vector16; do
    environment="GPUREDUCE_CPU=$set"
    run -q -v --length=1 -D cpu raw.f32
    ! grep -q "cpu  *$set," err || sets="$sets $set"
done
environment=
ok 'an instruction set was tried' test -n "$sets"
for set in $sets; do
    environment="GPUREDUCE_CPU=$set"
    while read -r file type order value; do
        run -q -t "$type" --endian="$order" -o digest "$file"
        [ "$status:$(cat out err)" = "0:$value" ] || echo "$file: $value, and not $(cat out err)"
    done <types >differ
    ok "elements of all types have their digests, with $set" same differ ''
done
environment=

#
# Forms.
#
forms='raw.f32 c.npy f.npy cb.npy fb.npy stored.npz x.safetensors'
! has_zlib || forms="$forms deflated.npz"
! [ -e x.h5 ] || gpureduce --version | grep -qx 'HDF5: none' || forms="$forms x.h5"
if [ -n "$ZSTD" ]; then
    split -b 3001 f.npy piece.
    for piece in piece.*; do
        "$ZSTD" -q -c "$piece" >>sized.npy.zst
        "$ZSTD" -q -c <"$piece" >>unsized.npy.zst
    done
    "$ZSTD" -q raw.f32 -o raw.f32.zst
    forms="$forms sized.npy.zst unsized.npy.zst raw.f32.zst"
fi
# digests FILE: what is in ./out is the digest, once for each array of the file.
# shellcheck disable=SC2317 # ok calls it
digests() {
    case $1 in
    *.npz | *.h5) arrays=4 ;;
    *) arrays=1 ;;
    esac
    [ "$status" -eq 0 ] && [ "$(grep -c "$expected" out)" -eq "$arrays" ] && [ "$(grep -c 'f32:' out)" -eq "$arrays" ]
}
for form in $forms; do
    run -o digest "$form"
    ok "$form" digests "$form"
    run --tsv -j 3 --chunk-size 3000 -o sum,digest,argmin --missing=0 --nan=skip "$form"
    ok "... beside others, with missing values" digests "$form"
    run --json -o digest,median "$form"
    ok "... as JSON, with two passes" digests "$form"
    shell "cat $form | gpureduce -o digest -"
    case $form in
    *.npz | *.h5) ;;
    *) ok "... through a pipe" digests "$form" ;;
    esac
done
run -q --endian=big -o digest big.raw
is 'big.raw' 0 "$expected"
if [ -e filled ]; then
    case $forms in
    *x.h5*)
        run -q -o digest filled.h5
        is 'chunks that were never written' 0 "$(cat filled)"
        ;;
    esac
fi

# Rows of chunks that were never written are short runs. One chunk is one run.
for chunk in 1000,1000 100000,10000; do
    mkdir unwritten.$chunk
    printf '{"zarr_format": 2, "shape": [100000, 10000], "chunks": [%s], "dtype": "|i1", "compressor": null, "filters": null,
"order": "C", "fill_value": 3}' $chunk >unwritten.$chunk/.zarray
    # shellcheck disable=SC2016 # for the other shell
    shell "[ '$sanitizer$CHECK_UNDER' ] || ulimit -t 3; "'exec "$GPUREDUCE" -q -o digest unwritten.'$chunk
    is "10^9 elements in chunks of $chunk" 0 i8:1000000000:af96a2fbac857fa04df9fcce72eb51cb
done

#
# Parts.
#
large=$(cat large)
forms='large-c.npy large-f.npy large.npz'
if [ -n "$ZSTD" ]; then
    split -b 700001 large-f.npy piece.
    "$ZSTD" -q -c piece.* >large.npy.zst
    forms="$forms large.npy.zst"
fi
for form in $forms; do
    for i in 3 1 2; do
        run --partial --shard=$i/3 -o digest,max "$form"
        cat out
    done >parts
    run --merge --tsv -o digest parts
    ok "shards of $form" test "$(grep -c "$large" out):$(grep -c f32: out):$(grep -c digest parts)" = \
        "$(case $form in *z) echo 2:2:4 ;; *) echo 1:1:3 ;; esac)"
    run --merge --partial parts
    cp out merged
    run --partial -o digest,max "$form"
    sort out >whole
    ok '... whose partial results come to that of all' cmp whole merged
done
run --partial -o digest,sum --length=100 raw.f32
cp out whole
run -q -t f32 -o digest --length=100 raw.f32
text=$(cat out)
head -c 400 raw.f32 >first
run -q -o digest first
is 'the first elements of a file' 0 "$text"
run -q --merge -o digest whole
is '... as a partial result' 0 "$text"

#
# --check.
#
for form in --tsv --json; do
    run $form -o digest,sum raw.f32 c.npy f.npy
    cp out record
    run --check=record
    is "$form is checked" 0 "$(printf 'raw.f32: OK\nc.npy: OK\nf.npy: OK')"
    sed "s/$expected/f32:6601:00000000000000000000000000000000/" record >other
    run -q --check=other
    is '... and differs' 1 "$(for file in raw.f32 c.npy f.npy; do
        echo "$file: FAILED (digest: recorded f32:6601:00000000000000000000000000000000, found $expected)"
    done)" 'gpureduce: 3 of 3 results differ from those in other'
    sed "s/$expected/f32:6601:0/" record >other
    run --check=other
    fails_like '... and is read' "other: line [12]: bad value of digest: f32:6601:0"
done

#
# Manifests: arrays wherever they are now.
#
# checked ARGUMENT...: runs with D in place of the digests that are printed.
checked() {
    run "$@"
    cp out all
    sed 's/u8:[0-9]*:[0-9a-f]\{32\}/D/g' all >out
}
run --tsv -t u8 -o digest old/set.npz single.npy raw.u8
cp out manifest
run --check=manifest
is 'a manifest is checked' 0 'old/set.npz: a: OK
old/set.npz: b: OK
old/set.npz: c: OK
old/set.npz: d: OK
old/set.npz: e: OK
old/set.npz: f: OK
old/set.npz: g: OK
old/set.npz: h: OK
old/set.npz: i: OK
single.npy: OK
raw.u8: OK'
run -q --check=manifest
is '... quietly' 0 ''
# Recorded a second time, of which one array had another digest.
{ cat manifest && sed -e 1d -e '/single/s/[0-7]$/8/' -e t -e '/single/s/.$/0/' manifest; } >twice
run --check=twice
ok '... with two lines of each array' test "$status:$(grep -c ': OK$' out):$(grep -v ': OK$' out | cut -c 1-28)" = \
    '1:21:single.npy: FAILED (changed:'
run -t u8 --check=twice old/set.npz single.npy raw.u8 old/set.npz
ok '... and some of them found twice' test "$status:$(grep -c ': OK$' out):$(grep -vc ': OK$' out)" = 1:21:1
checked --check=manifest new/x.npz new/y.npz single.npy
is 'arrays in other files' 1 'old/set.npz: a: moved to new/x.npz
old/set.npz: b: moved to new/x.npz
old/set.npz: c: moved to new/y.npz
old/set.npz: d: renamed to d d in new/y.npz
old/set.npz: e: FAILED (changed in new/x.npz: recorded D, found D)
old/set.npz: f: renamed to other in new/x.npz
old/set.npz: g: FAILED (missing)
old/set.npz: h: FAILED (changed in new/y.npz: recorded D, found D)
old/set.npz: i: FAILED (changed in new/y.npz: recorded D, found D)
single.npy: OK
raw.u8: FAILED (missing)
new/x.npz: more: new' 'gpureduce: 5 of 11 arrays of manifest have changed or are missing'
run -q --check=manifest new/x.npz new/y.npz single.npy
grep FAILED all >failed
ok '... of which failures alone are printed' cmp out failed
shell 'cat manifest | gpureduce --check=- new/x.npz new/y.npz single.npy'
ok '... by a manifest in a pipe' cmp out all
cp new/x.npz old/set.npz
rm raw.u8
checked --check=manifest
is 'arrays in the same file' 1 'old/set.npz: a: OK
old/set.npz: b: OK
old/set.npz: c: FAILED (missing)
old/set.npz: d: FAILED (missing)
old/set.npz: e: FAILED (changed: recorded D, found D)
old/set.npz: f: renamed to other
old/set.npz: g: FAILED (missing)
old/set.npz: h: FAILED (missing)
old/set.npz: i: FAILED (missing)
single.npy: OK
raw.u8: FAILED (No such file or directory)
old/set.npz: more: new' 'gpureduce: raw.u8: No such file or directory
gpureduce: 7 of 11 arrays of manifest have changed or are missing'
# A damaged array, and one that was: of deflated members, a byte each.
if has_zlib; then
    run --tsv -o digest deflated.npz
    cp out manifest
    "$python" -c 'data = bytearray(open("deflated.npz", "rb").read())
data[2000] ^= 1
open("deflated.npz", "wb").write(data)'
    run --check=manifest
    ok 'a damaged array' test "$status:$(grep -c OK out):$(grep -c 'deflated.npz: c: FAILED (.*)' out)" = 1:3:1
    run --tsv -o digest deflated.npz
    cp out manifest
    run --check=manifest
    ok '... which was when it was recorded' test "$status:$(grep -c OK out)" = 1:3
fi
# An array that cannot be read.
header='{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"y":{"dtype":"F4","shape":[2],"data_offsets":[1,2]}}'
{ word ${#header} && word 0 && printf '%s12' "$header"; } >f4.safetensors
run --tsv -o digest --skip-unsupported f4.safetensors
cp out manifest
for args in '' f4.safetensors; do
    # shellcheck disable=SC2086 # one word or none
    run --check=manifest --skip-unsupported $args
    is "skipped: $args" 0 'f4.safetensors: x: OK' 'gpureduce: warning: f4.safetensors: skipped array y: type F4 is not supported: a float of 4 bits'
done
run --tsv -o sum stored.npz
cp out manifest
run --check=manifest
fails 'results of arrays other than digests' \
    'manifest: line 1: results of the arrays of a file cannot be checked, except for digests in TSV'
run --tsv -o sum raw.f32
cp out manifest
run --check=manifest c.npy
fails 'files, and no digests' 'manifest: has no digests (--op=digest), by which --check finds arrays in files'
run --check=- - <record
fails 'two of standard input' 'standard input is both the record and a file in it; give the record as a file'

#
# What is refused.
#
refused() { # NAME TEXT ARGUMENT...
    refused_name=$1
    refused_text=$2
    shift 2
    run "$@"
    is "$refused_name" 2 '' "gpureduce: $refused_text (try 'gpureduce --help')"
}
refused 'of several files together' "option '--total' does not go with --op=digest" --total -o digest raw.f32 c.npy
refused 'of partial results together' "option '--total' does not go with --op=digest" --merge --total -o digest parts
refused 'along an axis' "'digest' cannot be computed along an axis" --axis=0 -o digest c.npy
run --sort=digest c.npy
ok 'sorted by it' test "$status:$(grep -c "unknown result 'digest'" err)" = 2:1
run --where 'digest>1' c.npy
ok 'chosen by it' test "$status:$(grep -c "unknown result 'digest'" err)" = 2:1
run -o digest --length=100 f.npy
fails 'the first elements in Fortran order' 'f.npy: the first elements of an array in Fortran order have no digest'
run --partial --shard=1/3 -o digest,max large-c.npy
cp out some
run --merge --allow-gaps -o digest some
fails 'of a part' 'large-c.npy: has no digest, since elements are missing'
run --merge --allow-gaps -o max some
ok '... which has other results' test "$status" -eq 0
run --partial -o max c.npy
cp out without
run --merge -o digest without
fails 'of a partial result without it' 'without:1: lacks the data for digest; give --partial the same --op'
run --merge --total --partial parts
ok 'a total has none' grep -q '"digest":null' out

finish
