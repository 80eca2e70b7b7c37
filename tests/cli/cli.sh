#!/bin/sh
# The command line: every option, the order of words, several files, and where outputs go.
# Tags: ports

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

try="(try 'gpureduce --help')"
three >three.f32
printf '\0\0\200\100' >four.f32
# 1.5, NaN, -2, 1.5, inf
printf '\0\0\300\077\0\0\300\177\0\0\0\300\0\0\300\077\0\0\200\177' >odd.f32
printf '\077\200\0\0\100\0\0\0\100\100\0\0' >big.f32
printf '\0\0\0\0\0\0\360\077\0\0\0\0\0\0\0\100' >two.f64
printf '\077\360\0\0\0\0\0\0\100\0\0\0\0\0\0\0' >big.f64
printf '\0\074\0\100' >two.f16
printf '\200\077\0\100' >two.bf16
: >empty

#
# Help and version.
#
run --help
golden '--help' 0 help
run --nan=skip three.f32 --help --bogus
golden '--help ends the command line' 0 help
for word in -h -qh; do
    run "$word"
    golden "$word" 0 help_brief
    ok "$word: on one screen" test "$(grep -c '' out)" -le 24
done
run --help
ok '--help: on two screens of 80 columns' awk 'length > 80 || NR > 48 { exit 1 }' out
run --version
ok '--version: status' test "$status:$(cat err)" = 0:
ok '--version: its first line' sh -c \
    'head -n 1 out | grep -q "^gpureduce [0-9][0-9.]*[0-9a-z.-]*\$"'
ok '--version: what was built in' test "$(sed -e 1d -e 's/: .*//' out | tr '\n' ,)" = \
    'CUDA,CPU instruction sets,libzstd,deflate,szip,HDF5,hardening,'
ok '--version: CUDA and its architectures' grep -Eqx \
    'CUDA: (none|[0-9]+\.[0-9]+, for .*(sm|compute)_[0-9]+.*)' out
ok '--version: instruction sets' grep -Eqx 'CPU instruction sets:( [a-z0-9]+)* vector16' out
ok '--version: libzstd' grep -Eqx 'libzstd: ([0-9]+\.){2}[0-9]+, built with ([0-9]+\.){2}[0-9]+' out
if [ -n "${HARDENING+set}" ]; then
    ok '--version: hardening' grep -qx "hardening: ${HARDENING:-none}" out
else
    skip '--version: hardening' 'HARDENING is not set'
fi
copy out version
run -V
ok '-V' cmp out version
run --hel
golden 'a long option may be shortened' 0 help

# Every option of the help is one, and the other way round.
run --help
tr -s ' ,=[' '\n' <out | grep '^--' | sort -u >named
cat >options <<'END'
--allow-gaps
--array
--axis
--cast
--check
--chunk-size
--ddof
--device
--diff
--dtype
--endian
--exclude
--fail-on
--format
--help
--histogram
--ignore-dtype
--json
--label
--length
--list
--long
--map
--merge
--missing
--nan
--no-check
--no-progress
--number
--op
--output
--partial
--plot
--progress
--quiet
--record
--shape
--shard
--skip
--skip-unsupported
--sort
--stored
--threads
--tolerance
--total
--tsv
--verbose
--version
--where
END
ok 'the help names every option' cmp named options
ok 'the help fits into 80 columns' test "$(awk '{ if (length > n) n = length } END { print n }' out)" -le 80

#
# Operations.
#
run three.f32
golden 'without options: sum, min, max, mean' 0 plain
run -q three.f32
is '-q' 0 "6
1
3
2"
for word in -osum '-o sum' --op=sum '--op sum'; do
    # shellcheck disable=SC2086 # two words, some of them
    run -q $word three.f32
    is "$word" 0 6
done
run -q --op mean,sum,sum three.f32
is 'operations are printed in the order asked for, and as often' 0 "2
6
6"
run -q --op max -o min,count three.f32
is '--op adds to the list' 0 "3
1
3"
for pair in sum:6 min:1 max:3 mean:2 count:3 argmin:0 argmax:2 nan:0 inf:0; do
    run -q -o "${pair%%:*}" three.f32
    is "-o ${pair%%:*}" 0 "${pair#*:}"
done
run -o sum,min,max,mean,count,argmin,argmax,nan,inf odd.f32
golden 'every operation, of data with a NaN' 0 operations
choices='must be sum, min, max, mean, count, argmin, argmax, nan, inf, var, std, sumsq, rms, l1, l2, absmax, absmin, range, zeros, negatives, subnormals, missing, digest, median, summary or a quantile such as q0.25 or p99.9'
for bad in '' ',' 'sum,' ,sum sum,,min q p q. q-0.5 q1e-3 q0.5x percentile \
    q0.1234567890123456789 p0.12345678901234567 q1.00000000000000000000; do
    name=$bad
    case $bad in
    '' | *,*) name= ;;
    esac
    run --op "$bad" three.f32
    is "--op '$bad'" 2 '' "gpureduce: unknown operation '$name': $choices $try"
done
# neither CASE ERROR CHOICES: after the error, the choices there are, or the nearest of them.
neither() {
    case "$status:$(cat out):$(cat err)" in
    "2::gpureduce: $2: $3 $try" | "2::gpureduce: $2; did you mean '"*"'? $try") pass "$1" ;;
    *) fail "$1" && explain ;;
    esac
}
# meant WHAT MEANT OPTION VALUE: the error names what is right.
meant() {
    run "$3" "$4" three.f32
    is "$3 '$4'" 2 '' "gpureduce: unknown $1 '$4'; did you mean '$2'? $try"
}
while read -r bad right; do
    meant operation "$right" -o "$bad"
done <<'END'
stddev std
stdev std
Sum sum
su sum
summ sum
Median median
medain median
maximum max
variance var
avg mean
average mean
count_nan count
p101 p100
q50 p50
q1.1 p1.1
99% p99
90th p90
0.5 q0.5
END
meant operation sum -o 'sum '
run -o p99,9 three.f32
is 'a comma in a quantile' 2 '' "gpureduce: unknown operation '9'; did you mean 'p99.9'? $try"
run -o sum,q0,25 three.f32
is 'a comma in a quantile, behind others' 2 '' \
    "gpureduce: unknown operation '25'; did you mean 'q0.25'? $try"
while read -r what right option bad; do
    meant "$(echo "$what" | tr _ ' ')" "$right" "$option" "$bad"
done <<'END'
dtype f32 -t f23
dtype f32 -t F_32
dtype float32 -t flaot32
dtype int32 -t int32_t
dtype f16 -t fp16
format safetensors --format safetensor
format hdf5 --format h5
format zstd --format zst
byte_order big --endian BE
byte_order little --endian litle
device gpu -D cuda
device gpu -D gpus
NaN_policy skip --nan ignore
NaN_policy propagate --nan propogate
condition nan --fail-on nans
result mean --sort avg
result dtype --sort dytpe
END
run --where='avg>0' three.f32
is "--where 'avg>0'" 2 '' "gpureduce: unknown result 'avg'; did you mean 'mean'? $try"
run --diff --tolerance=1e-6 three.f32 three.f32
ok 'a tolerance of no kind' test "$status:$(cat err)" = \
    "2:gpureduce: bad tolerance '1e-6': must be ulp:N, abs:X or rel:X; did you mean 'abs:1e-6' or 'rel:1e-6'? $try"
list=sum,sum,sum,sum,sum,sum,sum,sum
list=$list,$list,$list,$list,$list,$list,$list,$list
run -q -o "$list" three.f32
ok '64 operations' test "$(grep -c '^6$' out)" -eq 64
run -q -o "$list" -o sum three.f32
is '65 operations' 2 '' "gpureduce: too many operations at 'sum' $try"

#
# Types and byte orders.
#
while read -r file types; do
    for type in $types; do
        run -q -o sum -t "$type" "$file"
        is "-t $type" 0 3
        run -q -o sum "--dtype=$type" "$file"
        is "--dtype=$type" 0 3
    done
done <<'END'
two.f64 f64 f8 <f8 float64 double <double
big.f64 >f8 >float64 >double
two.f16 f16 f2 <f2 float16 half <half
two.bf16 bf16 bfloat16 <bfloat16
END
for type in f32 f4 '<f4' float32 single '<single'; do
    run -q -o sum -t "$type" three.f32
    is "-t $type" 0 6
done
run -q -o sum -t f32 --endian big big.f32
is '--endian big' 0 6
run -q -o sum --endian=big big.f32
is '--endian=big' 0 6
run -q -o sum --endian=little three.f32
is '--endian=little' 0 6
run -q -o sum -t '>f4' big.f32
is "-t '>f4'" 0 6
run -q -o sum -t '>f32' big.f32
is "-t '>f32'" 0 6
run -q -o sum -t '<f32' --endian little three.f32
is "-t '<f32'" 0 6
run -q -o sum -t '>f64' big.f64
is "-t '>f64'" 0 3
run -q -o sum -t '<f64' two.f64
is "-t '<f64'" 0 3
run -q -o sum -t '<bf16' two.bf16
is "-t '<bf16'" 0 3
run -q -o sum -t '>f4' --endian little three.f32
is '--endian after --dtype counts' 0 6
run -q -o sum --endian little -t '>f4' big.f32
is '--dtype after --endian counts' 0 6
run -q -o sum --endian big -t f4 big.f32
is 'a type without byte order leaves --endian alone' 0 6
# NumPy's f16 has 16 bytes: what looks like NumPy must not be taken for one of ours.
types="must be f32, f64, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, u8, u16, u32, u64, bool or a name of NumPy's or safetensors', such as float32, >i4 or BF16"
for bad in '' f31 f_32 int33 i3 '<i5' '>' '<' '|f4' '<<f4' '<>f32' 'f32,' ' f32' '<BF16' f4x '|f32' '<f32 ' '|i16' \
    float F8 e4m3; do
    run -t "$bad" three.f32
    neither "-t '$bad'" "unknown dtype '$bad'" "$types"
done
for bad in '<f16' '>f16' '=f16'; do
    run -t "$bad" two.f16
    is "-t '$bad'" 2 '' "gpureduce: dtype '$bad' is a float of 16 bytes to NumPy, which is not supported; binary16 is f16, <f2 or >f2 $try"
done
for bad in '' Big middle l; do
    run --endian "$bad" three.f32
    neither "--endian '$bad'" "unknown byte order '$bad'" "must be little or big"
done

#
# Formats and NaN policies; what they do is tested elsewhere.
#
for good in auto raw; do
    run -q -o sum "--format=$good" three.f32
    is "--format=$good" 0 6
    run -q -o sum --format "$good" three.f32
    is "--format $good" 0 6
done
for bad in '' RAW .npy bz2 rawx; do
    run --format "$bad" three.f32
    neither "--format '$bad'" "unknown format '$bad'" "must be auto, raw, npy, zstd, raw+zstd, gzip, raw+gzip, zlib, raw+zlib, fortran, safetensors, npz, gguf, hdf5, netcdf, fits, nifti, pytorch or zarr"
done
run -q -o sum,count,nan --nan=propagate odd.f32
is '--nan=propagate' 0 "nan
5
1"
run -q -o sum,count,nan --nan skip odd.f32
is '--nan skip' 0 "inf
4
1"
run -q --nan error odd.f32
fails '--nan error' 'odd.f32: element 1 is a NaN'
for bad in '' none Skip; do
    run --nan "$bad" three.f32
    neither "--nan '$bad'" "unknown NaN policy '$bad'" "must be propagate, skip or error"
done

#
# Sizes and counts.
#
run -q -o sum --skip=4 three.f32
is '--skip=4' 0 5
run -q -o sum --skip 8B three.f32
is '--skip 8B' 0 3
run -q -o sum --skip 12 three.f32
is '--skip to the end' 0 0
# The message tells what a suffix is taken for.
while read -r size bytes; do
    run --skip "$size" three.f32
    fails "--skip $size" "three.f32: is only 12 bytes long, but $bytes are to be skipped (--skip)"
done <<'END'
13 13
2kB 2000
2KB 2000
2MB 2000000
2GB 2000000000
2TB 2000000000000
2K 2048
2M 2097152
2G 2147483648
2T 2199023255552
2KiB 2048
2MiB 2097152
2GiB 2147483648
2TiB 2199023255552
9223372036854775807 9223372036854775807
007KiB 7168
END
for bad in '' -1 1.5 kB 1kBx 1.0001K inf 9223372036854775808 \
    99999999999999999999 9223372036854775807K 9007199254740992KiB; do
    run --skip "$bad" three.f32
    is "--skip '$bad'" 2 '' "gpureduce: bad size '$bad' for --skip $try"
    run --chunk-size "$bad" three.f32
    is "--chunk-size '$bad'" 2 '' "gpureduce: bad size '$bad' for --chunk-size $try"
done
while IFS=: read -r bad right; do
    for option in skip chunk-size; do
        run "--$option=$bad" three.f32
        is "--$option='$bad'" 2 '' "gpureduce: bad size '$bad' for --$option; did you mean '$right'? $try"
    done
done <<'END'
+1:1
0x10:16
0x40:64
1k:1000' or '1024
1 kB:1000
 1:1
1kb:1000
1Kib:1024
1.5m:1500000' or '1572864
1e6:1000000
1_000:1000
END
for good in 1 3 1KiB 1GiB 1073741824; do
    run -q -o sum --chunk-size="$good" three.f32
    is "--chunk-size=$good" 0 6
done
for bad in 0 1073741825 2GiB 1TB; do
    run --chunk-size "$bad" three.f32
    is "--chunk-size $bad" 2 '' "gpureduce: --chunk-size '$bad' must be from 1 to 1GiB $try"
done
run -q -o sum --length=2 three.f32
is '--length=2' 0 3
run -q -o sum --length 9223372036854775807 three.f32
is '--length with the largest number there is' 0 6
run -q --length 0 three.f32
is '--length 0' 0 "0
nan
nan
nan"
for bad in '' -1 1.5 9223372036854775808 x; do
    run --length "$bad" three.f32
    is "--length '$bad'" 2 '' "gpureduce: bad number of elements '$bad' for --length $try"
done
while IFS=: read -r bad right; do
    run --length "$bad" three.f32
    is "--length '$bad'" 2 '' \
        "gpureduce: bad number of elements '$bad' for --length; did you mean '$right'? $try"
done <<'END'
1k:1000' or '1024
1K:1000' or '1024
1.0:1
1,000:1000
10MB:10000000
1GiB:1073741824
END
for word in --long --long=10 --long=27 --long=31 '--long=31 --long'; do
    # shellcheck disable=SC2086 # two words, one of them
    run -q -o sum $word three.f32
    is "$word" 0 6
done
for bad in '' 9 32 -1 27x 4294967323 99999999999999999999; do
    run --long="$bad" three.f32
    is "--long='$bad'" 2 '' "gpureduce: --long '$bad' must be from 10 to 31 $try"
done
for word in -j1 '-j 2' --threads=3 '--threads 4096'; do
    # shellcheck disable=SC2086 # two words, some of them
    run -q -o sum $word three.f32
    is "$word" 0 6
done
for bad in '' 0 -1 4097 1.5 two 18446744073709551617; do
    run -j "$bad" three.f32
    is "-j '$bad'" 2 '' "gpureduce: --threads '$bad' must be from 1 to 4096 $try"
done

#
# Devices.
#
for good in '-D cpu' -Dcpu --device=cpu '--device auto' '-D auto'; do
    # shellcheck disable=SC2086 # two words, some of them
    run -q -o sum $good three.f32
    is "$good" 0 6
done
for bad in '' CPU cuda gpux 'gpu,' auto,cpu; do
    run -D "$bad" three.f32
    neither "-D '$bad'" "unknown device '$bad'" "must be auto, cpu, gpu or gpu:LIST"
done
for bad in gpu: gpu:x 'gpu:0,' gpu:,0 gpu:-1 gpu:+1 'gpu: 1' gpu:0x1 gpu:1024 gpu:0-1 \
    gpu:99999999999999999999; do
    run -D "$bad" three.f32
    is "-D '$bad'" 2 '' "gpureduce: bad list of GPUs '$bad' $try"
done
run -D gpu:0,1,0 three.f32
is '-D gpu:0,1,0' 2 '' "gpureduce: a GPU is named twice in 'gpu:0,1,0' $try"
many=0
for i in 1 2 3 4 5 6 7; do
    for j in 0 1 2 3 4 5 6 7 8 9; do
        many=$many,$i$j
    done
done
run -D "gpu:$many" three.f32
is 'more GPUs than may be named' 2 '' "gpureduce: too many GPUs in 'gpu:$many' $try"
run -q -o sum -D gpu three.f32
if [ "$status" -eq 0 ]; then
    is '-D gpu' 0 6
    skip '-D gpu without a GPU' 'there is one'
    skip '-D gpu without a GPU, several files' 'there is one'
else
    skip '-D gpu' 'there is no usable GPU'
    ok '-D gpu without a GPU gives a reason' \
        test "$status:$(cat out):$(grep -c '^gpureduce: no usable GPU: .*[a-z]' err):$(wc -l <err | tr -d ' ')" = 3::1:1
    run -D gpu three.f32 missing three.f32
    ok 'it is said once, before any file is looked at' \
        test "$status:$(cat out):$(wc -l <err | tr -d ' ')" = 3::1
fi
run -q -o sum -D gpu:1023 three.f32
ok 'a GPU that is not there' test "$status:$(cat out):$(wc -l <err | tr -d ' ')" = 3::1
# A context of CUDA costs more than any small file is worth: nothing of it may be touched.
if command -v strace >/dev/null && strace -f -o trace true 2>/dev/null; then
    strace -f -e trace=open,openat -o trace "$program" -q -o sum three.f32 >out 2>err
    ok 'a small file is no reason to look for a GPU' \
        test "$(grep -c three.f32 trace):$(grep -c 'libcuda\.\|libnvidia\|/dev/nvidia' trace)" = 1:0
else
    skip 'a small file is no reason to look for a GPU' 'strace does not work here'
fi

#
# The order of words, and words that are wrong.
#
run three.f32 -o sum -q
is 'options after files' 0 6
run three.f32 -q four.f32 -o sum
is 'options between files' 0 "6
4"
copy three.f32 ./--op
run -q -o sum -- --op
is 'what follows -- is a file' 0 6
run -q -o sum ./--op
is 'a path that hides dashes' 0 6
run -q -o sum -- three.f32 -q
is 'a missing file whose name looks like an option' 1 "$(printf '6\nNA')" \
    'gpureduce: -q: No such file or directory'
environment=POSIXLY_CORRECT=1
run -q three.f32 -o
ok 'POSIXLY_CORRECT: options before files' test "$status:$(cat err)" = \
    '1:gpureduce: -o: No such file or directory'
environment=
run -qo sum three.f32
is 'short options together' 0 6
run -qosum three.f32
is 'short options and an argument together' 0 6
for bad in -x -xq -qx -qxo; do
    run "$bad" three.f32
    is "$bad" 2 '' "gpureduce: unknown option '-x' $try"
done
for bad in -q- -q-o; do
    run "$bad" three.f32
    is "$bad" 2 '' "gpureduce: option '$bad' has a dash among its letters $try"
done
while read -r bad right; do
    run "$bad" three.f32
    is "$bad" 2 '' "gpureduce: unknown option '$bad'; did you mean $right? $try"
    run three.f32 "$bad"
    is "$bad after a file" 2 '' "gpureduce: unknown option '$bad'; did you mean $right? $try"
done <<'END'
--sum --op=sum
--help-me --help
--dytpe=f32 --dtype
--Length=3 --length
--ops=sum --op
--type=f32 --dtype
--offset=4 --skip
-d -D (--device), --ddof, --dtype, --diff or --device
-Q -q (--quiet)
-T -t (--dtype)
-J -j (--threads)
-s --skip, --skip-unsupported, --stored, --shape, --sort or --shard
END
for bad in --bogus --bogus=1 --=1; do
    run "$bad" three.f32
    is "$bad" 2 '' "gpureduce: unknown option '$bad' $try"
    run three.f32 "$bad"
    is "$bad after a file" 2 '' "gpureduce: unknown option '$bad' $try"
done
while read -r bad candidates; do
    run "$bad" three.f32
    is "$bad" 2 '' "gpureduce: option '$bad' is ambiguous: it could be $candidates $try"
    run three.f32 "$bad"
    is "$bad after a file" 2 '' \
        "gpureduce: option '$bad' is ambiguous: it could be $candidates $try"
done <<'END'
--v --verbose or --version
--ver --verbose or --version
--n --nan, --no-check, --number or --no-progress
--n=skip --nan, --no-check, --number or --no-progress
--d --ddof, --dtype, --diff or --device
--l=1 --length, --long, --list or --label
END
for bad in --op --dtype --endian --format --skip --length --nan --device --threads --chunk-size \
    -o -t -D -j; do
    run three.f32 "$bad"
    is "$bad without its argument" 2 '' "gpureduce: option '$bad' needs an argument $try"
done
# Options that do not go together. Of several commands, one is named.
while IFS='|' read -r words message; do
    # shellcheck disable=SC2086 # several words
    run $words three.f32 three.f32
    is "$words" 2 '' "gpureduce: option $message $try"
done <<'END'
--diff --axis=0|'--axis' does not go with --diff
--check=x --diff|'--check' does not go with --diff
--merge --list|'--list' does not go with --merge
--list --partial|'--partial' does not go with --list
--axis=0 --partial|'--partial' does not go with --axis
--diff --partial|'--partial' does not go with --diff
--merge --partial --sort=name|'--sort' does not go with --partial
--merge --histogram=3|'--histogram' does not go with --merge
--partial --histogram=3|'--histogram' does not go with --partial
--merge --dtype=f32|'--dtype' does not go with --merge
--merge --partial --skip=4|'--skip' does not go with --merge
--merge --shard=1/2|'--shard' does not go with --merge
--merge --label=x|'--label' needs --partial
--label=x|'--label' needs --partial
--shard=1/2|'--shard' needs --partial
--allow-gaps|'--allow-gaps' needs --merge
--partial --allow-gaps|'--allow-gaps' does not go with --partial
--tolerance=ulp:1|'--tolerance' needs --diff
--list --tolerance=ulp:1|'--tolerance' does not go with --list
--shape=3|'--shape' needs --axis
--axis=0 --list --output=x.npy|'--list' does not go with --axis
--list --fail-on=nan|'--fail-on' does not go with --list
END
for bad in --json=1 --quiet=yes --verbose= --progress=0 --no-progress=1 --help=op --version=2; do
    run "$bad" three.f32
    is "$bad" 2 '' "gpureduce: option '$bad' takes no argument $try"
done
run -o sum --op=nope missing
is 'a wrong command line reduces nothing' 2 '' "gpureduce: unknown operation 'nope': $choices $try"
run -t "$(printf 'a\033[1mb')" three.f32
is 'control characters do not reach the terminal' 2 '' "gpureduce: unknown dtype 'a\\033[1mb': $types $try"
cp three.f32 ./-leading.f32
run -leading.f32
is 'an operand that looks like options' 2 '' "gpureduce: unknown option '-l'; a file of that name needs ./ in front, or -- before it $try"
run -q -o sum -- -leading.f32
is 'behind --, it is a file' 0 6
cp three.f32 ./--leading.f32
run --leading.f32
is 'one that looks like a long option' 2 '' "gpureduce: unknown option '--leading.f32'; a file of that name needs ./ in front, or -- before it $try"
run -"$(printf '\033')" three.f32
is 'nor do they as an option' 2 '' "gpureduce: unknown option '-\\033' $try"
long=$(printf '%2000s' '' | tr ' ' x)
run -t "$long" three.f32
ok 'a long word is cut' test "$status:$(wc -l <err | tr -d ' ')" = 2:1
run --op "$long" three.f32
ok 'a long operation is cut' test "$status:$(wc -l <err | tr -d ' ')" = 2:1

#
# Several files.
#
run three.f32 four.f32 empty
golden 'several files have headings' 0 several
run -q -o sum,count three.f32 four.f32 empty
is '-q has none' 0 "6
3
4
1
0
0"
run -o sum three.f32 missing four.f32 . three.f32
golden 'a file that fails does not stop the others' 1 some-fail
ok 'a file named twice is reduced twice' test "$(grep -c "^sum${tab}6\$" out)" -eq 2
run missing1 missing2
is 'no file is good' 1 '' 'gpureduce: missing1: No such file or directory
gpureduce: missing2: No such file or directory'
run ''
fails 'an empty name' "'': No such file or directory"

# Names in headings and messages.
while read -r escaped shown; do
    # The point keeps a newline at the end.
    name=$(printf '%b.' "$escaped") name=${name%.}
    copy three.f32 "./$name"
    run -o sum four.f32 "./$name"
    same_heading=$(sed -n 3p out)
    ok "heading of $shown" test "$same_heading" = "$shown:"
    rm -f "./$name"
    run "./$name"
    fails "message about $shown" "$shown: No such file or directory"
done <<'END'
a\0040b ./a b
new\0012line './new\nline'
tab\0011 './tab\t'
it's ./it's
it's\0007 './it\047s\007'
back\\slash ./back\slash
back\\slash\0177 './back\\slash\177'
caf\0303\0251 ./café
c1\0302\0205 './c1\302\205'
bidi\0342\0200\0256x './bidi\342\200\256x'
bidi\0342\0200\0252x './bidi\342\200\252x'
isolate\0342\0201\0246x './isolate\342\201\246x'
isolate\0342\0201\0251x './isolate\342\201\251x'
mark\0342\0200\0216x './mark\342\200\216x'
mark\0342\0200\0217x './mark\342\200\217x'
alm\0330\0234x './alm\330\234x'
nothing\0342\0200\0213x './nothing\342\200\213x'
bom\0357\0273\0277x './bom\357\273\277x'
shy\0302\0255x './shy\302\255x'
line\0342\0200\0250x './line\342\200\250x'
tag\0363\0240\0201\0201x './tag\363\240\201\201x'
dash\0342\0200\0224x ./dash—x
END

#
# Outputs.
#
run -v three.f32
golden '-v' 0 verbose
run --verbose -q three.f32
golden '-v -q: statistics all the same' 0 verbose-quiet
run -v data/zstd/frames.f32.zst three.f32
golden '-v of several files, one compressed' 0 verbose-several
run --progress three.f32
golden '--progress: not for what is quick' 0 plain
run --no-progress three.f32
golden '--no-progress' 0 plain
environment=LC_ALL=de_DE.UTF-8
run -q -o mean data/raw/mixed-le.f32
environment=
copy out german
run -q -o mean data/raw/mixed-le.f32
ok 'the locale changes no number' cmp out german

# Progress appears after a second, is erased, and goes to standard error alone. The pipe of the first
# of these is held open until it does appear, the others for longer than it would need.
(
    head -c 4096 /dev/zero
    three
    sleep 1.6
    three
) | "$GPUREDUCE" -q -o sum --progress >slow.quiet 2>slow.quiet.err &
quiet=$!
(
    three
    sleep 1.6
    three
) | "$GPUREDUCE" -o sum --no-progress >slow.none 2>slow.none.err &
none=$!
# What tells the format is read first.
# shellcheck disable=SC2094 # reading what the other end writes is the point
(
    head -c 4096 /dev/zero
    three
    i=0
    while [ ! -s slow.shown.err ] && [ "$i" -lt 200 ]; do
        sleep 0.1
        i=$((i + 1))
    done
    three
) | "$GPUREDUCE" -o sum --progress >slow.shown 2>slow.shown.err
ok '--progress: the result' test "$(cat slow.shown)" = "sum${tab}12"
ok '--progress shows bytes, rate and time' \
    grep -q '4\.11 kB  [0-9.]* kB/s  [0-9]* s' slow.shown.err
ok '--progress erases its line' \
    sh -c 'tail -n 1 slow.shown.err | tr "\r\033" "RE" | grep "RE\[K1030 elements, 4120 bytes, "'
wait "$quiet" "$none"
ok '-q --progress shows it' test "$(cat slow.quiet):$(grep -c 'kB/s' slow.quiet.err)" = 12:1
ok '--no-progress shows nothing' \
    test "$(wc -l <slow.none.err | tr -d ' '):$(grep -c '\[K' slow.none.err)" = 1:0

# An output that cannot be written is no success.
if [ -w /dev/full ]; then
    for words in three.f32 '-q three.f32' '--json three.f32' --help --version 'three.f32 four.f32'; do
        shell "gpureduce $words >/dev/full"
        ok "$words >/dev/full" test "$status:$(grep -c 'gpureduce: standard output: No space left on device' err)" = 1:1
    done
    shell 'gpureduce missing >/dev/full'
    fails 'nothing to write: /dev/full does not matter' 'missing: No such file or directory'
    shell 'gpureduce -q -o sum three.f32 2>/dev/full'
    is 'standard error may be full' 0 6
    shell 'gpureduce -o sum three.f32 2>/dev/full'
    is 'standard error may be full: statistics' 0 "sum${tab}6"
else
    skip '/dev/full' 'there is none'
fi
# Of the program itself: valgrind would open something in its place.
for words in three.f32 '-q three.f32' '--json three.f32' --help --version; do
    shell "'$program' $words >&-"
    ok "$words >&-" test "$status:$(grep -c 'gpureduce: standard output: ' err)" = 1:1
done
shell "'$program' --axis=0 --shape=3 --output=/dev/stdout three.f32 >&-"
ok '--output=/dev/stdout >&-' test "$status:$(cat err)" = '1:gpureduce: /dev/stdout: Is a directory'
shell 'gpureduce missing >&-'
fails 'nothing to write: a closed standard output does not matter' 'missing: No such file or directory'
shell 'gpureduce -o sum three.f32 2>&-'
is 'a closed standard error does not matter' 0 "sum${tab}6"
shell 'gpureduce -o sum three.f32 <&- >out.closed 2>&- && cat out.closed'
is 'nothing is open but the output' 0 "sum${tab}6"
shell 'gpureduce -o sum missing three.f32 2>&-'
is 'an error that cannot be said still counts' 1 "three.f32:
sum${tab}6"
shell 'gpureduce -q -o sum three.f32 <&-'
is 'a closed standard input does not matter' 0 6

finish
