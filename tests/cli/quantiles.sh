#!/bin/sh
# Quantiles and histograms: what they print, in every form, and what they refuse.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

try="(try 'gpureduce --help')"
python=$(command -v python3)
# 1, 2, 3 and 10
printf '\0\0\200\77\0\0\0\100\0\0\100\100\0\0\40\101' >four.f32
# -inf, -3.5, -1.5, -0, +0, a subnormal, 0.5, 1, 1.5, inf, NaN
printf '\0\0\200\377\0\0\140\300\0\0\300\277\0\0\0\200\0\0\0\0\1\0\0\0\0\0\0\77\0\0\200\77\0\0\300\77\0\0\200\177\0\0\300\177' >odd.f32
# 1, 2, 3
printf '\0\074\0\100\0\102' >three.f16
: >empty
printf '\0\0\200\77\0\0\200\77\0\0\200\77' >ones.f32

#
# Quantiles.
#
run -o median,q0.25,p75,q0,q1,p99.9 four.f32
golden 'quantiles' 0 quantiles
run --json -o sum,median,p99.9 four.f32
golden 'as JSON' 0 quantiles-json
run --tsv -o median,count,median,q.5 four.f32 empty
golden 'as TSV' 0 quantiles-tsv
run -q -o median,max --number=hex four.f32
is 'in hexadecimal' 0 "0x1.4p+1
0x1.4p+3"
# What lies between is exact and rounded once: 1/3 of the way from 1 to 2 is not that of a binary 1/3.
run -q -o q0.111111111111111111 four.f32
is 'the decimal as it is written' 0 1.3333333333333333
run -q -o median,q0.3,count odd.f32
is 'a NaN propagates' 0 "nan
nan
11"
run -q -o median,q0.3,q0.35,q0,q1,q0.05,count --nan=skip odd.f32
is 'a NaN is skipped' 0 "7.006492321624085e-46
-0.45
0
-inf
inf
-inf
10"
run -o median,q0.5 --nan=error odd.f32
is 'a NaN is an error' 1 '' 'gpureduce: odd.f32: element 10 is a NaN'
run -q -o median,q0,p100 empty
is 'no elements' 0 "nan
nan
nan"

#
# Kinds of input.
#
run -q -t f16 -o median,sum three.f16
is 'f16' 0 "2
6"
# So many of a value that counters of 16 bits come to zero again: 300000 of 0, 200001 of 1.05859375.
{
    head -c 600000 /dev/zero
    head -c 400002 /dev/zero | tr '\0' '<'
} >many.f16
run -q -j 1 -t f16 -o q0.6,q0.59999,median --histogram=2,0,2 --json many.f16
ok 'f16, many of a value' grep -qF '"q0.6": 1.05859375, "q0.59999": 0, "median": 0' out
ok 'f16, a histogram of them' grep -qF '"counts": [300000, 200001]' out
{
    head -c 4000000 /dev/zero
    head -c 2000000 /dev/zero | tr '\0' '<'
} >many
# The bytes are 0.0115 as f32, 1.53e-18 as f64.
for bins in f32,1000000,500000,0.02 f64,500000,250000,2e-18; do
    type=${bins%%,*} counts=${bins#*,}
    run -q -j 1 -t "$type" --histogram="2,0,${counts##*,}" --json many
    ok "$type, bins of many" grep -qF "\"counts\": [$(echo "${counts%,*}" | sed 's/,/, /')]" out
    run -q -j 1 -t "$type" --histogram="6000,0,${counts##*,}" --json many
    ok "$type, more bins of many" grep -q "\"counts\": \[${counts%%,*}, 0, .* 0, $(echo "${counts%,*}" | sed 's/.*,//'), 0" out
done
# Bounds that are subnormal are looked up for each element.
run -q -j 1 -t f64 --histogram=2,-1e-320,1e-320 --json many
ok 'f64, subnormal bins of many' grep -qF '"counts": [0, 500000]' out
shell 'gpureduce -q -t f16 -o median <three.f16'
is 'f16 from a file as standard input' 0 2
# The header counts as read, the sample does not.
{ npy 1 "$(npy_header '<f4' '(500000,)')" && head -c 2000000 many; } >many.npy
for option in '-o sum' '-o median'; do
    shell "gpureduce --json $option many.npy | grep -o '\"input_bytes\": [0-9]*'"
    is "bytes of input, $option" 0 "\"input_bytes\": $(size many.npy)"
done
shell 'cat three.f16 | gpureduce -q -t f16 -o median'
is 'f16 from a pipe' 0 2
shell 'cat four.f32 | gpureduce -q -o median,sum'
is 'f32 from a pipe' 1 "NA
NA" 'gpureduce: standard input: quantiles of f32 need several passes, but this input can be read only once; save it as a file first'
{ npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }" && cat four.f32; } >four.npy
shell 'cat four.npy | gpureduce -q -o median,q.25'
is 'few elements from a pipe, whose header says how many' 0 "2.5
1.75"
shell 'cat four.f32 | gpureduce -q -o q0,q1'
is 'extremes from a pipe' 0 "1
10"
shell 'gpureduce -q -o median -t f32 - <four.f32'
is 'f32 from a file as standard input' 0 2.5
if [ -n "$ZSTD" ]; then
    "$ZSTD" -q four.f32 -o four.zst
    run -q -o median,p75 four.zst
    is 'compressed' 0 "2.5
4.75"
else
    skip 'compressed' 'no zstd'
fi

# Elements of several passes: a shuffled sequence, whose quantiles are known.
if [ -n "$python" ]; then
    "$python" - <<'END'
import array
n = 1000003
a = array.array("f", [(i * 7654321) % n for i in range(n)])
a.tofile(open("sequence.f32", "wb"))
a = array.array("d", [(i * 7654321) % n for i in range(n)])
a.byteswap()
a.tofile(open("sequence.f64", "wb"))
# Ties: half are zeros, and their neighbours occur often; p25 and p75 lie at the ends of the zeros.
import random
random.seed(1)
n = 1000001
a = array.array("f", [-(2 + i % 5 * 1e-7) for i in range(249999)] + [-1.401298464324817e-45] + [0] * 500000 +
                [1.401298464324817e-45] * 1000 + [0.5 + i % 7 / 128 for i in range(n - 751000)])
random.shuffle(a)
a.tofile(open("ties.f32", "wb"))
a = [sorted(a)[1000 * k] for k in (250, 750, 500, 249, 751, 990, 1)]
print(*[x if x % 1 else int(x) for x in a], sep="\n", file=open("ties", "w"))
END
    for how in -j1 '-j16 --chunk-size=10000'; do
        # shellcheck disable=SC2086 # words
        run -q -o q0.25,q0.75,median,q0.249,q0.751,q0.99,q0.001 $how ties.f32
        is "ties: $how" 0 "$(cat ties)"
    done
    for how in '-j1 sequence.f32' '-j7 --chunk-size=10000 sequence.f32' '-t >f8 -j3 sequence.f64'; do
        # shellcheck disable=SC2086 # words
        run -q -o median,q0.25,q0.123,p99.9 $how
        is "a large file: $how" 0 "500001
250000.5
123000.246
999001.998"
    done
else
    for how in 1 2 3 4 5; do
        skip "a large file, $how" 'no python3'
    done
fi

#
# Histograms.
#
run --histogram=4 four.f32
golden 'histogram' 0 histogram
run --histogram=3,-1,2 odd.f32
golden 'histogram of a range' 0 histogram-range
run --histogram=exponent odd.f32
golden 'histogram of exponents' 0 histogram-exponent
run --histogram=exponent -t f16 three.f16
golden 'histogram of exponents of f16' 0 histogram-f16
run --json --histogram=2,-0,1 four.f32
ok 'an edge of -0 as JSON' grep -qF '"edges": [-0.0, 0.5, 1]' out
run --json --histogram=4 -o mean,median four.f32
golden 'histogram as JSON' 0 histogram-json
run --json --histogram=exponent odd.f32
golden 'histogram of exponents as JSON' 0 histogram-exponent-json
run --tsv --histogram=2,0,4 four.f32 missing empty
golden 'histograms as TSV' 1 histogram-tsv
run --tsv --histogram=exponent four.f32 missing
golden 'histograms of exponents as TSV' 1 histogram-exponent-tsv
run -o sum --histogram=2 four.f32 missing empty
golden 'histograms behind other results' 1 histogram-several
run -q --histogram=2,0,4 -o count four.f32 missing
is 'only the values' 1 "4
0
1
2
1
0
NA
NA
NA
NA
NA
NA" 'gpureduce: missing: No such file or directory'
run --histogram=2 --number=hex four.f32
ok 'edges in hexadecimal' grep -qx "0x1p+0${tab}0x1.6p+2${tab}3" out
# An element on an edge is in the bin that begins there; the last bin is closed.
run -q --histogram=3,1,10 four.f32
is 'elements on edges' 0 "0
3
0
1
0
0"
run -q --histogram=2,1,3 four.f32
is 'elements on the last edge' 0 "0
1
2
1
0"
run -q --histogram=5 ones.f32
ok 'one value: the last bin' test "$(sed -n 6p out)" -gt 0 -a "$(sed -n '1,5p' out | sort -u)" = 0
shell 'cat four.f32 | gpureduce -q --histogram=1,0,5'
is 'from a pipe' 0 "0
3
1
0"
shell 'cat four.f32 | gpureduce -q --histogram=exponent'
is 'exponents from a pipe' 0 "1
2
1"
shell 'cat four.f32 | gpureduce --histogram=1'
is 'without a range from a pipe' 1 '' 'gpureduce: standard input: the range of the histogram needs a pass of its own, but this input can be read only once; give the range of the histogram, as in --histogram=100,-1,1'
run --histogram=1 odd.f32
is 'infinities have no range' 1 '' 'gpureduce: odd.f32: the minimum or the maximum is infinite; give the range of the histogram, as in --histogram=100,-1,1'
if [ -n "$python" ] && "$python" "$sources/tests/lib/terminal.py" 80 true >/dev/null 2>&1; then
    "$python" "$sources/tests/lib/terminal.py" 60 "$program --no-progress --histogram=3,1,10 four.f32 2>/dev/null" |
        tr -d '\r' >out
    status=0
    : >err
    golden 'bars on a terminal' 0 histogram-bars
else
    skip 'bars on a terminal' 'no terminal'
fi

# As many as there may be, and one more.
many=$(for i in 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40; do printf 'q0.%d,' $i; done)
run -q -o "${many}median" four.f32
ok '31 quantiles' test "$status:$(wc -l <out | tr -d ' ')" = 0:32
for more in q0.5 q0.5,sum; do
    run -q -o "$many$more" four.f32
    is "32 quantiles, $more" 2 '' "gpureduce: too many quantiles at '$more': at most 31 besides the median (try 'gpureduce --help')"
done
run -q -o "${many}summary" four.f32
is '31 and a summary' 2 '' "gpureduce: too many quantiles at 'q0.75': at most 31 besides the median (try 'gpureduce --help')"
run -q -o "${many%,}" --sort=q0.5 four.f32
is '31 and --sort' 2 '' "gpureduce: too many quantiles at 'q0.5': at most 31 besides the median (try 'gpureduce --help')"
run -q -o "${many%,}" --where='p50>1' four.f32
is '31 and --where' 2 '' "gpureduce: too many quantiles at 'p50': at most 31 besides the median (try 'gpureduce --help')"
{
    run --json -o "${many%,}" four.f32
    cat out
    run --json -o q0.9 four.f32
    sed 's/"q0.9": [0-9.]*/"q0.9": 0/' out
} >record
run --check=record
fails 'as many in a record' 'record: line 2: q0.9: there are more than 31 quantiles'
{ printf 'file\t%s\tq0.9\nfour.f32' "$(echo "${many%,}" | tr , '\t')" && printf '\t%.0s0' $(seq 32) && echo; } >record
run --check=record
fails 'also as TSV' 'record: line 1: q0.9: there are more than 31 quantiles'

#
# Plots. This gnuplot keeps the script that it should run.
#
mkdir plotting
cat >plotting/gnuplot <<'END'
#!/bin/sh
[ "$1" = --version ] || cat >"$PLOT_SCRIPT"
END
chmod +x plotting/gnuplot
for kind in 4 exponent; do
    environment="PATH=$work/plotting:$PATH PLOT_SCRIPT=$work/plot.$kind"
    run -q --histogram=$kind --plot=plot.svg four.f32
    ok "--plot: the script of $kind" test "$status:$(cat err):$(grep -c '^plot ' plot.$kind)" = 0::1
done
cat >plotting/gnuplot <<'END'
#!/bin/sh
[ "$1" = --version ] || { printf '\nthe first line\nanother\n' >&2; exit "$PLOT_STATUS"; }
END
environment="PATH=$work/plotting:$PATH PLOT_STATUS=0"
run -q -o sum --histogram=4 --plot=plot.svg four.f32
ok '--plot: warnings of gnuplot are not shown' test "$status:$(cat err)" = 0:
if env --ignore-signal=CHLD true 2>/dev/null; then # trap '' CHLD does nothing in some shells
    shell "PATH='$work/plotting:$PATH' PLOT_STATUS=0 exec env --ignore-signal=CHLD '$program' -q -o sum --histogram=4 --plot=plot.svg four.f32"
    ok '--plot: SIGCHLD is ignored' test "$status:$(cat err)" = 0:
else
    skip '--plot: SIGCHLD is ignored' 'env cannot ignore a signal'
fi
cat >plotting/gnuplot <<'END'
#!/bin/sh
[ "$1" = --version ] || head -c 100000 /dev/zero 2>/dev/null
exit 0
END
environment=PATH=$work/plotting:$PATH
if [ -w /dev/full ]; then
    ln -s /dev/full full.svg
    run -q -o sum --histogram=4 --plot=full.svg four.f32
    ok '--plot: gnuplot does not notice that the disk is full' test "$status:$(cat err)" = \
        '1:gpureduce: full.svg: No space left on device'
else
    skip '--plot: gnuplot does not notice that the disk is full' 'no /dev/full'
fi
echo old >plot.svg
# Too few bytes, whether the unit is 512 or 1024.
shell "ulimit -f 4; PATH='$work/plotting:$PATH' '$program' -q -o sum --histogram=4 --plot=plot.svg four.f32"
ok '--plot: a failure leaves the old file' test "$status:$(cat err plot.svg)" = \
    "1:gpureduce: plot.svg: File too large
old"
cat >plotting/gnuplot <<'END'
#!/bin/sh
[ "$1" = --version ] || { printf '\nthe first line\nanother\n' >&2; exit "$PLOT_STATUS"; }
END
environment="PATH=$work/plotting:$PATH PLOT_STATUS=3"
run -q -o sum --histogram=4 --plot=plot.svg four.f32
ok '--plot: what gnuplot says if it fails' test "$status:$(cat err)" = \
    "1:gpureduce: plot.svg: gnuplot failed with status 3: the first line"
ok '--plot: the bins' grep -qx '1 3.25 3' plot.4
ok '--plot: the exponents' grep -qx '1 2 0' plot.exponent
cp four.f32 four.svg
ln -s four.svg link.svg
ln four.svg hard.svg
for name in four link hard; do
    run -q --histogram=4 --plot=$name.svg four.svg
    is "--plot: not over the input, $name" 1 '' "gpureduce: $name.svg: is the input, which --plot would overwrite"
done
ok '--plot: which is left as it was' cmp four.svg four.f32
run -q --histogram=exponent --plot=plot.svg empty
environment=
is '--plot: nothing to draw' 1 '' 'gpureduce: plot.svg: there is nothing to plot'
printf '\0\0\300\177' >nan.f32
safetensors nan.safetensors x:F32:1:nan.f32
environment=PATH=$work/plotting:$PATH
run --histogram=1 --nan=error nan.safetensors
cp err histogram.err
run --json --histogram=1 --plot=plot.svg --nan=error nan.safetensors
ok 'no statistics of an array that fails' cmp histogram.err err
environment=
ok '--plot: an array that cannot be reduced' test "$status:$(cat out err)" = '1:{"file": "nan.safetensors", "array": "x", "error": "element 0 is a NaN"}
gpureduce: nan.safetensors: array x: element 0 is a NaN'
if command -v gnuplot >/dev/null && gnuplot --version >/dev/null 2>&1; then
    run -q --histogram=4 --plot=plot.svg four.f32
    ok '--plot: SVG' test "$status:$(grep -c '<svg' plot.svg)" = 0:1
    run -q --histogram=4 --plot=plot.svg ones.f32
    ok '--plot: one value' test "$status:$(grep -c 'empty x range' err)" = 0:0
    run -q --histogram=exponent --plot plot.png four.f32
    ok '--plot: PNG' test "$status:$(head -c 4 plot.png | tail -c 3)" = 0:PNG
else
    skip '--plot: SVG' 'no gnuplot'
    skip '--plot: PNG' 'no gnuplot'
fi

#
# What does not go together, and what is wrong.
#
run --plot=x.svg four.f32
is '--plot without a histogram' 2 '' "gpureduce: option '--plot' needs --histogram $try"
run --histogram=3 --plot=x.svg four.f32 empty
is '--plot of several files' 2 '' "gpureduce: option '--plot' is for one file $try"
run --histogram=3 --tsv -o sum four.f32
is '--tsv with other results' 2 '' "gpureduce: --histogram with --tsv prints no other results; leave out '--op', or use --json $try"
run --histogram=3 --plot=x.pdf four.f32
is '--plot: another format' 2 '' 'gpureduce: x.pdf: a plot'"'"'s name ends in .svg or .png'
for bad in '' x 1x ,1,2 exponents; do
    run "--histogram=$bad" four.f32
    is "--histogram='$bad'" 2 '' "gpureduce: bad histogram '$bad': must be BINS, BINS,LO,HI or exponent $try"
done
for bad in 0 65537 0,1,2; do
    run "--histogram=$bad" four.f32
    is "--histogram='$bad'" 2 '' "gpureduce: --histogram '$bad': the number of bins must be from 1 to 65536 $try"
done
for bad in '3,' 3,1 '3,1,' 3,1,1 3,2,1 3,nan,1 3,0,inf 3,-inf,0 '3,1,2,' 3,1,2,3 '3,1, 2' '3,0x,1' 3,0,.5 3,0,+1; do
    run "--histogram=$bad" four.f32
    is "--histogram='$bad'" 2 '' "gpureduce: --histogram '$bad': the range must be LO,HI, two finite numbers such as -1,0.5, with LO less than HI $try"
done
list=q0.01
for i in 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31; do
    list=$list,q0.$i
done
run -q -o "$list" four.f32
ok '31 quantiles' test "$status:$(grep -c . out)" = 0:31
run -q -o "$list,q0.32" four.f32
ok '32 quantiles' test "$status" = 2

#
# Totals: quantiles and histograms of all elements of all files.
#
printf '\0\0\240\100' >five.f32 # 5
run -o median,sum --histogram=3 --total four.f32 five.f32 empty ones.f32
golden 'quantiles and a histogram of a total' 0 quantiles-total
run --json -q -o q0.75,max --histogram=exponent --total four.f32 five.f32
golden 'of a total, as JSON' 0 quantiles-total-json
copy out record.total
run --check=record.total
is '--check of a total' 0 "four.f32: OK
five.f32: OK
total: OK"
sed '$s/"q0.75": 5/"q0.75": 6/' record.total >other.total
run --check=other.total
is '--check of a total that differs' 1 "four.f32: OK
five.f32: OK
total: FAILED (q0.75: recorded 6, found 5)" 'gpureduce: 1 of 3 results differ from those in other.total'
# Each total of a record has its own files read again.
{ gpureduce --json --total -o median four.f32 five.f32 && gpureduce --json --total -o median five.f32 four.f32; } >two.totals
run -q --check=two.totals
is '--check of two totals' 0 ''
run --tsv --histogram=1,0,5 --total four.f32 five.f32
ok 'a histogram of a total, as TSV' test "$status:$(grep -c '^total' out):$(sed -n 's/^total	0	5	//p' out)" = 0:4:4
run -q -o median,q1 --total empty empty
is 'a total of no elements' 0 "nan
nan
nan
nan
nan
nan"
run -q -o median --total odd.f32 ones.f32
is 'a NaN in one of them' 0 "nan
1
nan"
run -q -o median --nan=skip --total odd.f32 ones.f32
is 'skipped' 0 "7.006492321624085e-46
1
0.5"
run -q -o median --total -t f16 three.f16
is 'a total of one file' 0 "2
2"
shell 'gpureduce -q -t f16 -o median --total three.f16 <three.f16 -'
is 'a total with a file as standard input' 0 "2
2
2"
shell 'cat three.f16 | gpureduce -q -t f16 -o median --total three.f16 -'
is 'a total with a pipe' 1 "2
2
NA" 'gpureduce: no total: its quantiles and histogram need another pass, but not all files can be read again'
shell 'cat three.f16 | gpureduce -q -t f16 -o summary --total three.f16 -'
ok 'the summary of a total with a pipe' test "$status:$(sed -n 31,33p out | tr '\n' ' ')" = '0:NA NA NA '
if [ -n "$python" ]; then
    "$python" - <<'END'
import array
n = 1000003
a = array.array("f", [(i * 7654321) % n for i in range(n)])
a[:300].tofile(open("part1.f32", "wb"))
a[300:700000].tofile(open("part2.f32", "wb"))
a[700000:].tofile(open("part3.f32", "wb"))
b = array.array("f", a[:300])
header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (300,), }"
header += b" " * (118 - len(header) - 1) + b"\n"
open("part1.npy", "wb").write(b"\x93NUMPY\1\0" + bytes([len(header), 0]) + header + b.tobytes())
a = array.array("d", a[:10])
a.tofile(open("part.f64", "wb"))
END
    run -q -o median,q0.25,q0.123,p99.9 -j3 --total part1.npy part2.f32 part3.f32
    ok 'a total of large files' test "$status:$(tail -n 4 out | tr '\n' ' ')" = \
        '0:500001 250000.5 123000.246 999001.998 '
    run -q -o median --histogram=1 --total part1.npy part2.f32 part3.f32
    ok 'and a histogram' test "$status:$(tail -n 4 out | tr '\n' ' ')" = '0:0 1000003 0 0 '
    if [ -n "$ZSTD" ]; then
        "$ZSTD" -q part2.f32 -o part2.zst
        run -q -o median --total part1.npy part2.zst part3.f32
        ok 'compressed files among them' test "$status:$(tail -n 1 out)" = 0:500001
    else
        skip 'compressed files among them' 'no zstd'
    fi
else
    skip 'a total of large files' 'no python3'
    skip 'and a histogram' 'no python3'
    skip 'compressed files among them' 'no python3'
fi
run -q -o median --total data/npy/i8.npy four.f32
ok 'a total of several types' test "$status:$(tail -n 1 out):$(cat err)" = \
    '1:NA:gpureduce: no total: quantiles and histograms need files of one type and scale'
run -q -o summary --total data/npy/i8.npy four.f32
ok 'the summary of a total of several types' test "$status:$(tail -n 3 out | tr '\n' ' ')" = '0:NA NA NA '

#
# Records.
#
run --json -o median,p99.9,sum four.f32 odd.f32
copy out record.json
run --check=record.json
is '--check of JSON' 0 "four.f32: OK
odd.f32: OK"
run --tsv -o q0.25,sum four.f32
sed 's/1.75/1.76/' out >record.tsv
run --check=record.tsv
is '--check of TSV' 1 'four.f32: FAILED (q0.25: recorded 1.76, found 1.75)' \
    'gpureduce: 1 of 1 results differ from those in record.tsv'

# Integers of up to 16 bits and floats of one byte; worked out by Python's fractions.
while read -r type median low high file; do
    run -q -o median,q0.001,p99 -t "$type" "data/raw/$file"
    is "quantiles of $file" 0 "$median
$low
$high"
    shell "cat data/raw/$file | gpureduce -q -o median,q0.001,p99 -t '$type'"
    is "quantiles of $file, in a pipe" 0 "$median
$low
$high"
done <<'END'
i8 0 -126.464 116.88 mixed.i8
u8 6 0 220.92 mixed.u8
i16 0 -32049.664 28264.6 mixed-le.i16
>i2 0 -32049.664 28264.6 mixed-be.i16
u16 104 0 36447.68 mixed-le.u16
>u2 104 0 36447.68 mixed-be.u16
f8e4m3 0 -448 384 mixed.f8e4m3
f8e5m2 0 -57344 40960 mixed.f8e5m2
END
# Wider integers are read more than once; likewise, and so are the counts of four bins.
while read -r type median low high counts file; do
    run -q -o median,q0.001,p99 -t "$type" "data/raw/$file"
    is "quantiles of $file" 0 "$median
$low
$high"
    run -q --histogram=4 -t "$type" "data/raw/$file"
    is "a histogram of $file" 0 "0
$(echo "$counts" | tr , '\n')
0
0"
done <<'END'
i32 0 -1950227063.808 1051931878 4,249,255,5 mixed-le.i32
>i4 0 -1950227063.808 1051931878 4,249,255,5 mixed-be.i32
u32 30462 0 1851419972.24 499,11,2,1 mixed-le.u32
>u4 30462 0 1851419972.24 499,11,2,1 mixed-be.u32
i64 -3 -6.713712238098347e+18 2.3430146881939845e+18 1,263,246,3 mixed-le.i64
>i8 -3 -6.713712238098347e+18 2.3430146881939845e+18 1,263,246,3 mixed-be.i64
u64 649234574 0 8.741779185738266e+18 506,2,2,3 mixed-le.u64
>u8 649234574 0 8.741779185738266e+18 506,2,2,3 mixed-be.u64
END
shell 'cat data/raw/mixed-le.i64 | gpureduce -q -o median -t i64'
is 'i64 from a pipe' 1 NA 'gpureduce: standard input: quantiles of i64 need several passes, but this input can be read only once; save it as a file first'
# Neighbours, between which a binary64 has no room: 2^63 - 2 and 2^63 - 1, and 1 and 2.
printf '\376\377\377\377\377\377\377\177\377\377\377\377\377\377\377\177' >two.i64
run -q -o median,q0 -t i64 two.i64
is 'between integers of 64 bits' 0 "9.223372036854776e+18
9.223372036854776e+18"
shell 'gpureduce --histogram=2 -t i64 two.i64 2>/dev/null'
is 'bins between them' 0 "from	to	count
-inf	9.223372036854776e+18	0
9.223372036854776e+18	9.223372036854776e+18	1
9.223372036854776e+18	9.223372036854776e+18	1
9.223372036854776e+18	inf	0
nan	nan	0"
# Bytes: false, and three that are true.
printf '\0\1\2\377' >truths
run -q -o median,q0.1,mean --histogram=2 -t bool truths
is 'truth values' 0 "1
0.3
0.75
0
1
3
0
0"
run -q --histogram=3,-1,2 -t bool truths
is 'truth values in a range' 0 "0
0
1
3
0
0"
for type in i8 u16; do
    run -q --histogram=2,0,10 -t $type truths
    ok "bins of $type" test "$status:$(tr '\n' ' ' <out)" = "0:$(
        [ $type = i8 ] && echo '1 3 0 0 0 ' || echo '0 0 0 2 0 ')"
done
# All bytes three times: of each sign a zero, 7 subnormals, 8 numbers of each exponent, 7 of the
# last, and a NaN.
run --histogram=exponent -t f8e4m3 data/raw/every.f8e4m3
golden 'exponents of f8e4m3' 0 histogram-f8e4m3
run -q --histogram=4 -t f8e4m3 data/raw/every.f8e4m3
is 'bins of f8e4m3' 0 "0
24
354
357
27
0
6"
run --histogram=exponent -t i16 truths
fails 'exponents of i16' \
    'truths: i16 has no exponents; give the number of bins, as in --histogram=100'

#
# Arrays of more elements than one worker takes alone, but for several workers that have one each; and a
# small one.
#
bench=${program%/*}/gpureduce-bench
if [ -x "$bench" ]; then
    set --
    for dist in normal wide weights field sparse; do
        "$bench" generate -q -d $dist -b 1200004 >"one.$dist"
        set -- "$@" "$dist:F32:300001:one.$dist"
    done
    safetensors several.safetensors "$@" few:F32:4:four.f32
    for threads in 1 4 7; do
        run --tsv -j$threads -o median,q0.1,p99.9,min,sum several.safetensors
        copy out "several.$threads"
    done
    run --tsv -o median,q0.1,p99.9,min,sum one.normal one.wide one.weights one.field one.sparse
    cut -f 2- out >alone
    sed '$d' several.1 | cut -f 5- >each
    ok 'large arrays as alone' cmp alone each
    ok 'by as many workers' cmp several.1 several.4
    ok 'by more workers' cmp several.1 several.7
fi

finish
