#!/bin/sh
# Moments, norms and counts: their names, --op=summary, --ddof, and what is printed of them.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

all=sumsq,var,std,rms,l1,l2,absmax,absmin,range,zeros,negatives,subnormals

# 1, 2, 3 and 4: 30 is the sum of the squares, 5/4 the variance, 5/3 with a degree of freedom less.
printf '\000\000\200\077\000\000\000\100\000\000\100\100\000\000\200\100' >four.f32
run -q -o sumsq,var,rms,l1,absmax,absmin,range,zeros,negatives,subnormals four.f32
is 'four elements' 0 "30
1.25
2.7386127875258306
10
4
1
3
0
0
0"
run -q -o var,std --ddof=1 four.f32
is '--ddof=1' 0 "1.6666666666666667
1.2909944487358056"
# Ranges are numbers of the type, halfway cases the even one: 240 + 224 lies between 448 and 480, which
# f8e4m3 does not have; 57344 + 4096 between 57344 and 65536, which f8e5m2 does not have.
printf '\167\366' >half.f8e4m3
printf '\173\354' >half.f8e5m2
run -q -t f8e4m3 -o max,min,range half.f8e4m3
is 'a range halfway behind the greatest number, which is even' 0 "240
-224
448"
run -q -t f8e5m2 -o max,min,range half.f8e5m2
is 'a range halfway behind the greatest number, which is odd' 0 "57344
-4096
inf"
for n in 4 5 9223372036854775807; do
    run -q -o var,std,rms --ddof=$n four.f32
    is "--ddof=$n" 0 "nan
nan
2.7386127875258306"
done
run --ddof=-1 four.f32
is '--ddof=-1' 2 '' "gpureduce: bad degrees of freedom '-1' for --ddof (try 'gpureduce --help')"

# -1, -0, 0, the least positive number of binary32, NaN and -inf.
printf '\000\000\200\277\000\000\000\200\000\000\000\000\001\000\000\000\000\000\300\177\000\000\200\377' >odd.f32
run -q -o zeros,negatives,subnormals,absmin,absmax odd.f32
is 'counts leave NaNs out; numbers are NaN' 0 "2
2
1
nan
nan"
run -q --nan=skip -o zeros,negatives,subnormals,absmin,absmax,range,sumsq,l1,l2,rms,var,std odd.f32
is 'with --nan=skip' 0 "2
2
1
0
inf
inf
inf
inf
inf
inf
nan
nan"

run -q -o $all /dev/null
is 'of no elements' 0 "0
nan
nan
nan
0
0
nan
nan
nan
0
0
0"

run --op=summary four.f32
is '--op=summary' 0 "count	4
nan	0
inf	0
zeros	0
min	1
max	4
mean	2.5
std	1.118033988749895
q0.25	1.75
median	2.5
q0.75	3.25" '*'
# Quantiles that a pipe cannot have are left out, but not their places, nor what was named.
shell 'cat four.f32 | gpureduce --op=summary 2>/dev/null'
ok '--op=summary of a pipe' test "$status:$(cut -f 1 out | tr '\n' ' ')" = \
    '0:count nan inf zeros min max mean std '
shell 'cat four.f32 | gpureduce -q --op=summary,q1'
is '--op=summary of a pipe, quietly' 0 "4
0
0
0
1
4
2.5
1.118033988749895
NA
NA
NA
4"
shell 'cat four.f32 | gpureduce --tsv --op=summary - four.f32'
is '--op=summary of a pipe, as TSV' 0 "file	count	nan	inf	zeros	min	max	mean	std	q0.25	median	q0.75
-	4	0	0	0	1	4	2.5	1.118033988749895	NA	NA	NA
four.f32	4	0	0	0	1	4	2.5	1.118033988749895	1.75	2.5	3.25"
copy out record.tsv
shell 'cat four.f32 | gpureduce --check record.tsv'
is '--check of quantiles that were left out' 0 "-: OK
four.f32: OK"
sed 's/NA	NA	NA/1.75	2.5	3.25/' record.tsv >other.tsv
shell 'cat four.f32 | gpureduce --check other.tsv'
is '--check of quantiles that cannot be had' 1 \
    "-: FAILED (median: recorded 2.5, found NA; q0.25: recorded 1.75, found NA; q0.75: recorded 3.25, found NA)
four.f32: OK" 'gpureduce: 1 of 2 results differ from those in other.tsv'
shell 'cat four.f32 | gpureduce --json --op=summary'
ok '--op=summary of a pipe, as JSON' test "$status:$(grep -c 'q0.25\|median' out)" = 0:0
shell 'cat four.f32 | gpureduce -q --op=summary,median'
ok 'a median that was asked for' test "$status" = 1
run --op=summary,l1,var --json --ddof=1 four.f32 data/raw/nan.f32
golden 'as JSON' 0 json-summary
copy out record.json
run --check record.json
is '--check takes --ddof from the record' 0 "four.f32: OK
data/raw/nan.f32: OK"
sed 's/"ddof": 1/"ddof": 0/' record.json >other.json
run --check other.json
ok 'another --ddof is another result' test "$status" -eq 1 -a "$(grep -c 'FAILED (.*var: recorded' out)" -eq 1
run --op=$all --tsv --ddof=1 four.f32
copy out record.tsv
is 'as TSV' 0 "file	sumsq	var	std	rms	l1	l2	absmax	absmin	range	zeros	negatives	subnormals
four.f32	30	1.6666666666666667	1.2909944487358056	2.7386127875258306	10	5.477225575051661	4	1	3	0	0	0"
run --check record.tsv --ddof=1
is '--check of TSV, with --ddof' 0 'four.f32: OK'
run --check record.tsv
ok 'and without' test "$status" -eq 1

# A total is that of all elements as one; of several types the range is that of f64.
run -q -o std,range,zeros --total four.f32 four.f32
is 'a total' 0 "1.118033988749895
3
0
1.118033988749895
3
0
1.118033988749895
3
0" '*'

# Several threads, chunks and instruction sets say the same of data that are awkward for each.
for file in data/raw/*.f32 data/raw/*.f64 data/raw/*.f16 data/raw/*.bf16; do
    type=${file##*.} same=true
    run -q --nan=skip -t "$type" -o $all -D cpu "$file"
    copy out expected
    for set in vector16 sse4 avx2 avx512; do
        for options in -j1 '-j3 --chunk-size=64' '-j2 --chunk-size=1000'; do
            environment=GPUREDUCE_CPU=$set
            # shellcheck disable=SC2086 # words
            run -q --nan=skip -t "$type" -o $all -D cpu $options "$file"
            cmp -s out expected || same=false
        done
    done
    environment=
    ok "$file: always the same" "$same"
done

finish
