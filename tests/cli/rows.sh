#!/bin/sh
# --where and --sort: which rows are printed, and in which order, whatever the form of the output. What
# they are is worked out by fractions from all results, unsorted (tests/lib/rows_oracle.py).

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

three >three.f32
printf '\1\3' >one
printf '\0\0\300\177' >nan
: >none
printf '\1\2\3' >two
printf '\315\314\314\75' >tenth
safetensors a.safetensors one:U8:2:one nan:F32:1:nan none:F32:0:none two:U8:3:two tenth:F32:1:tenth
printf '\4' >four
printf '\3\2\1' >two
printf '\1\0\0\0\0\0\40\0' >high
printf '\0\0\0\0\0\0\100\103' >low
safetensors b.safetensors four:U8:1:four two:U8:3:two high:I64:1:high low:F64:1:low
cp three.f32 other.f32

#
# What is printed.
#
run --where='nan>0' --where='elements=1' -o count a.safetensors
golden 'one row' 0 rows-where
run --sort=-sum --total -o sum,min a.safetensors b.safetensors three.f32
golden 'a table of files of both kinds' 0 rows-table
run --sort=max --json -o sum a.safetensors b.safetensors
golden 'objects' 0 rows-json
run --sort=-name --list a.safetensors b.safetensors three.f32
golden 'a list' 0 rows-list
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    for what in '--where="sum>3" --sort=sum a.safetensors' '--sort=-count b.safetensors three.f32' \
        '--where=count=1 --total a.safetensors three.f32 b.safetensors' '--where="nan>7" a.safetensors b.safetensors' \
        '--list --where="bytes>3" --sort=dtype b.safetensors three.f32'; do
        script -qec "gpureduce --no-progress -o sum,count $what 2>/dev/null" /dev/null </dev/null | tr -d '\r'
    done >out
    : >err
    status=0
    golden 'tables on a terminal' 0 rows-terminal
else
    skip 'tables on a terminal' 'there is no script(1)'
fi
run -q -o sum --sort=-sum three.f32 a.safetensors other.f32
is 'values alone, those that are none last' 0 '6
6
6
4
0.10000000149011612
0
nan' ''
run -o sum --where='sum=6' three.f32 data/npy/v1-f4.npy
ok 'files that are one array' test "$(cat out)" = "three.f32:
sum${tab}6"
run -q -o sum --where='count!=3' three.f32
is 'none of them' 0 '' ''
run --tsv -o sum --where='count!=3' three.f32
is 'then TSV has a heading' 0 "file${tab}sum" ''

#
# How numbers are compared.
#
run -q -o count --where='max=0.1' a.safetensors
is 'a number is one of the type of the result' 0 1 ''
run -q -o max --where='max==9007199254740993' b.safetensors
is 'as which it is rounded' 0 '9007199254740993
9007199254740992' ''
run -q -o max --where='max==9007199254740992' --array=high b.safetensors
is 'but not for an integer' 0 '' ''
run -q -o max --where='max>=9007199254740992' --sort=max b.safetensors
is 'so they are sorted' 0 '9007199254740992
9007199254740993' ''
run -q -o count --where='min!=5' a.safetensors
is 'a NaN is unequal' 0 '2
1
0
3
1' ''
for sign in '<' '<=' = == '>=' '>'; do
    run -q -o count --where="min$sign 0" --array=none --array=nan a.safetensors
    is "but not $sign" 0 '' ''
done
run -q -o argmax --where='argmin!=0' --array=none --array=one a.safetensors
is 'an index that is none is a NaN' 0 nan ''
run -q -o sum --where='max>-inf' --where='max<inf' --array='[not]*' a.safetensors
is 'infinities' 0 '4
6
0.10000000149011612' ''
run -q -o count --where='range>1' --where='q0.5>=2' --array='t*' a.safetensors
is 'results that are not printed' 0 3 ''
run -q --total -o sum --where='median=2' a.safetensors b.safetensors
is 'a total is of all arrays, and needs no quantiles' 0 '4
6
6
nan' ''
run -q -o sum --sort=sum --nan=error a.safetensors missing three.f32
is 'what failed is printed, in the end' 1 '0
0.10000000149011612
4
6
6
NA
NA' '*'
run -q -o sum --where='count>2' --nan=error a.safetensors missing
is 'whatever the condition' 1 'NA
6
NA' '*'
run -q -o sum --where='nan=0' --fail-on=nan a.safetensors
is 'the exit status is that of all arrays' 1 '4
0
6
0.10000000149011612' 'gpureduce: a.safetensors: array nan: NaNs: 1 of 1 element'
if [ -n "$ZSTD" ]; then
    "$ZSTD" -q <three.f32 >three.zst
    run -q --list --where='bytes!=12' --sort=bytes a.safetensors three.zst
    ok 'what is not known is a NaN' test "$(cut -f 1,2 out | tr '\t\n' ': ')" = \
        'a.safetensors:none a.safetensors:one a.safetensors:two a.safetensors:nan a.safetensors:tenth three.zst: '
fi
run --partial -o sum,max a.safetensors three.f32
mv out parts
run --merge -q -o sum --where='max>2' --sort=-sum parts
is 'of partial results' 0 '6
6
4' '*'
run --merge -q -o sum --where='std>2' parts
ok 'which have to hold it' grep -q 'lacks the data for std' err

#
# What is refused.
#
refused() { # TEXT OPTION...
    refusal=$1
    shift
    run "$@" a.safetensors
    is "refused: $*" 2 '' "gpureduce: $refusal (try 'gpureduce --help')"
}
for option in --where='sum>1' --sort=sum; do
    name=${option%%=*}
    refused "option '$name' does not go with --axis" "$option" --axis=0
    refused "--diff has no results such as 'sum'; use name, dtype, elements, different, max_abs, max_rel, max_ulp, rmsd, cosine, nan or missing" \
        "$option" --diff b.safetensors
    refused "option '$name' does not go with --partial" "$option" --partial
    refused "option '$name' does not go with --check" "$option" --check=x
    refused "option '$name' does not go with --histogram" "$option" --histogram=3
    refused "--list has no results such as 'sum'; use name, dtype, elements or bytes" "$option" --list
done
refused "'max_rel' needs --diff" --sort=max_rel
refused "'nearest' needs --cast" --where='nearest>0' --diff b.safetensors
refused "option '--fail-on' does not go with --list" --list --fail-on=nan
refused "partial results cannot hold quantiles; leave them out of '--where'" --merge --where='median>1'
refused "partial results cannot hold quantiles; leave them out of '--sort and --where'" --merge --sort=median
syntax='must be a name, one of < <= = == != > >=, and a number'
for condition in '' sum 'sum>' 'sum>x' 'sum>+1' 'sum~1' '=1' 'sum><1' 'sum>1 '; do
    run --where="$condition" a.safetensors
    case $condition in
    =1) ok 'no name' grep -q "^gpureduce: unknown result '': must be elements, bytes," err ;;
    *) is "a condition $condition" 2 '' "gpureduce: bad condition '$condition': $syntax (try 'gpureduce --help')" ;;
    esac
done
refused "unknown result 'x': must be elements, bytes, sum, min, max, mean, count, argmin, argmax, nan, inf, var, std, sumsq, rms, l1, l2, absmax, absmin, range, zeros, negatives, subnormals, missing, median, different, max_abs, max_rel, max_ulp, rmsd, cosine, nearest, other_rounding or a quantile such as q0.25 or p99.9" --where='x=1'
refused "bad condition 'sum=nan': nan is equal to no number; nan>0 finds NaNs" --where='sum=nan'
refused "bad condition 'name=1': names are not compared with numbers; --array chooses by name" --where='name=1'
run --sort=nothing a.safetensors
ok 'a name that is none' grep -q "^gpureduce: unknown result 'nothing': must be name, dtype, elements, bytes, sum, " err

#
# All of it, against an oracle.
#
# Memory of rows that are held back. Sanitizers take more.
# shellcheck disable=SC2317 # `ok` calls it
takes_little() {
    "$python" - "$program" "$@" <<'END'
import json, os, resource, struct, subprocess, sys

def kibibytes(count):
    arrays = {"layer.%06d.weight" % i: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]}
              for i in range(count)}
    header = json.dumps(arrays).encode()
    with open("many.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header + bytes(4 * count))
    child = subprocess.Popen(sys.argv[1:] + ["many.safetensors"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0
    return usage.ru_maxrss

each = (kibibytes(8000) - kibibytes(1000)) * 1024 / 7000
assert each < 3000, "%d bytes an array" % each
END
}
for form in --tsv --json -q; do
    if [ -n "$(command -v python3)" ] && [ -z "$sanitizer" ]; then
        python=$(command -v python3)
        ok "less than 3 KB an array, $form" takes_little -D cpu $form -o sum,median --sort=-median
    else
        skip "less than 3 KB an array, $form" 'there is no python3, or a sanitizer'
    fi
done

python=$(command -v python3)
if [ -n "$python" ]; then
    : "${ROWS_RUNS=}"
    ok 'what fractions say' "$python" "$sources/tests/lib/rows_oracle.py" "$GPUREDUCE" \
        "${ROWS_RUNS:-$(shared 400)}"
else
    skip 'what fractions say' 'there is no python3'
fi
finish
