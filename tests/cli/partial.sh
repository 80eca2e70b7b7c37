#!/bin/sh
# Partial results: --partial, --shard and --merge. Shards come to the same bytes as the whole, and
# merged to the same results, in every form of output; what does not go together is refused. The
# format is compared with what tests/lib/make_partial.py works out.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMI_RANK PMI_SIZE SLURM_PROCID SLURM_NTASKS \
    SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT SLURM_ARRAY_TASK_MIN SLURM_ARRAY_TASK_MAX
least_chunk=10
all=sum,min,max,mean,count,argmin,argmax,nan,inf,var,std,sumsq,rms,l1,l2
all=$all,absmax,absmin,range,zeros,negatives,subnormals

# checksum: the lines of standard input with the right CRC-32, by python3.
checksum() {
    python3 -c 'import sys, zlib
for line in sys.stdin.buffer:
    text = line[:line.rindex(b",\"crc32\"")]
    print("%s,\"crc32\":\"%08x\"}" % (text.decode(), zlib.crc32(text)))'
}

#
# The format, of every type.
#
mkdir types
if command -v python3 >/dev/null && python3 "$sources/tests/lib/make_partial.py" types; then
    for file in types/*.bin; do
        name=${file#types/}
        name=${name%.bin}
        run --partial --label="$name" -t "$name" -o $all "$file"
        ok "$name is as another program has it" cmp out "types/$name.json"
        # shellcheck disable=SC2046 # several options
        run --partial --label="$name" -t "$name" -o $all $(cat "types/$name.missing") "$file"
        ok "... and with missing values" cmp out "types/$name.missing.json"
    done
    for lines in types/*.parts.json; do
        run --merge --partial "$lines"
        name=${lines%.parts.json}
        ok "parts of scaled $name come to the whole" cmp out "$name.scaled.json"
    done
    if [ -e types/large.h5 ] && ! gpureduce --version | grep -qx 'HDF5: none'; then
        for file in types/*[0-9].h5; do
            name=${file#types/}
            name=${name%.h5}
            # shellcheck disable=SC2046 # several options
            run --partial --label="$name" -o $all $(cat "types/$name.missing") "$file"
            ok "and so are elements of a scaled array of $name" cmp out "types/$name.scaled.json"
        done
        run --missing=7 --tsv -o $all,missing types/large.h5
        sed 's/\[[0-9,]*\]/NA/' out >direct
        run --missing=7 -o $all --partial types/large.h5
        cp out whole
        for i in 2 4 1 3; do
            run --missing=7 -o $all --partial --shard=$i/4 types/large.h5
            cat out
        done >parts
        run --merge --partial parts
        ok 'shards of a scaled array come to the same bytes' cmp out whole
        run --merge --tsv -o $all,missing parts
        ok '... and the same results' cmp out direct
        run --partial -o $all types/u8.h5
        cat out whole >lines
        run --merge --total --tsv -o $all lines
        cp out merged
        run --missing=7 --total --tsv -o $all types/large.h5 types/u8.h5
        sed 's/\[[0-9,]*\]/NA/' out >direct
        ok 'arrays of different scales have a total' cmp merged direct
        run --merge --total --partial lines
        fails '... which is no partial result' 'no total: the partial results are of several types'
    else
        skip 'scaled arrays of files' 'there is no h5py, or no HDF5'
    fi
    cat types/*[0-9l].json >lines
    run --merge -q -o $all lines
    ok 'merged, all types have all their results' test "$status:$(wc -l <out)" = "0:$((15 * 21))"
else
    skip 'the format, of every type' 'there is no python3'
fi

#
# Shards: of a file of three units and a bit, of a .npy, and of small files.
#
"$program-bench" generate -q -d normal -b 6500004 >large
{ npy 1 "$(npy_header '<f4' '(1625001,)')" && cat large; } >large.npy
run -q -o $all large
cp out results
for file in large large.npy; do
    run --partial -o $all $file
    cp out whole
    ok "a partial result of $file is one line, and silent" test \
        "$status:$(wc -l <whole):$(wc -c <err)" = 0:1:0
    for n in 3 5; do
        : >parts
        for i in $(seq $n -1 1); do
            run --partial -o $all --shard="$i/$n" $file
            cat out >>parts
        done
        run --merge --partial parts
        ok "$n shards of $file come to the same bytes" cmp out whole
        run --merge -q -o $all parts
        ok '... and the same results' cmp out results
    done
    # Behind a header, they are those whose first bytes lie there.
    first=$(((2097152 - $(wc -c <$file) + $(wc -c <large) + 3) / 4))
    ok 'shards begin at whole units' grep -q "\"ranges\":\[\[$first,$((first + 524288))\]\]" parts
done
ok 'of more shards than units, some have nothing' test "$(wc -l <parts)" -eq 4

for i in 1 2 3 4 5 6 7 8 9; do printf '%04d' "$i" >small$i; done
: >small0
run --partial small? --shard=2/3
ok 'small files are shared out whole' test "$(grep -o 'small.' out | tr '\n' ' ')" = \
    'small3 small4 small5 '
run --partial small0
cp out empty
run --partial small0 --shard=1/2
cp out first
run --partial small0 --shard=2/2
ok 'an empty file is that of one shard' test "$(cat out first)" = "$(cat empty)"
cat empty empty >twice
run --merge -q -o sum,count twice
is 'no elements can be merged twice' 0 "0
0"

# Missing values go through all of them.
missing='--missing=0 --missing=-128 --missing=7'
# shellcheck disable=SC2086 # several options
run -t i8 $missing -q -o $all,missing large
cp out direct
# shellcheck disable=SC2086
run --partial -t i8 $missing -o $all large
cp out whole
ok 'a partial result says which values are missing, and of how many elements' \
    grep -q '"missing_values":\["-0x1p+7","0x0p+0","0x7p+0"\],.*,"missing":[1-9][0-9]*,' whole
for n in 1 4 7; do
    : >parts
    for i in $(seq 2 2 "$n") $(seq 1 2 "$n"); do
        # shellcheck disable=SC2086
        run --partial -t i8 $missing -o $all --shard="$i/$n" large
        cat out >>parts
    done
    run --merge --partial parts
    ok "$n shards with missing values come to the same bytes" cmp out whole
    run --merge -q -o $all,missing parts
    ok '... and the same results' cmp out direct
done
run --merge --json -o sum whole
ok 'JSON names the missing values' grep -q '"missing_values": \[-128, 0, 7\], .*, "missing": [1-9]' out
run --merge -q -o sum --fail-on=missing whole
ok '--fail-on=missing is for merging, too' grep -q '^gpureduce: large: missing: [0-9]* of 6500004 elements$' err

# Who does not see a file cuts the others at other places than those who do: it is told each of them.
for i in 1 2 3; do
    run --partial --shard="$i/3" absent small1 small2
    ok "an absent file is an error of shard $i" test "$status:$(grep -c '^gpureduce: absent: ' err)" = 1:1
    ok "which says why, $i" grep -qx 'gpureduce: absent: No such file or directory' err
    cat out >>seen
done
# A file that has failed is not missing from a total unnoticed, even if nobody sees the exit status.
run --merge --total seen
fails 'and one of merging' 'absent: none of its elements is in a partial result (--allow-gaps leaves it out)'
run --merge --total -q -o count --allow-gaps seen
ok 'a total of the others is possible' test "$status:$(tail -n 1 out)" = \
    "1:$((($(size small1) + $(size small2)) / 4))"
printf '\1\2\3' >absent
run --partial --total --label=all absent small1
cp out total
run --merge --partial total
fails 'a total without a file that has failed' 'all: none of its elements is in a partial result (--allow-gaps leaves it out)'
for order in 'seen again' 'again seen'; do
    run --partial -t u8 absent
    cp out again
    # shellcheck disable=SC2086 # two words
    run --merge -q -o sum $order
    ok "a second try counts: $order" test "$status:$(head -n 1 out)" = 0:6
done
rm absent

run --partial data/waves.f32.zst --shard=2/2
cp out second
run --partial data/waves.f32.zst --shard=1/2
cat second >>out
cp out parts
run --partial data/waves.f32.zst
ok 'a compressed file of one frame is that of one shard' cmp out parts

# in_parts NAME MANY FILE N...: N shards of the compressed file come to the same bytes as the whole,
# and are many, or one. $in_options: other options.
in_options=
# shellcheck disable=SC2086 # several options
in_parts() {
    in_name=$1
    in_many=$2
    in_file=$3
    shift 3
    run --partial -o $all $in_options "$in_file"
    cp out whole
    for n in "$@"; do
        : >parts
        for i in $(seq "$n" -1 1); do
            run --partial -o $all $in_options --shard="$i/$n" "$in_file"
            cat out err >>parts
        done
        in_lines=$(wc -l <parts)
        if [ "$n" -eq 1 ] || [ "$in_many" = one ]; then
            ok "$in_name: $n shards, of which one has it" test "$in_lines" -eq 1
        else
            ok "$in_name: of $n shards many have a part" test "$in_lines" -ge $((n < 9 ? n : 9))
        fi
        run --merge --partial parts
        ok '... which come to the same bytes' cmp out whole
    done
}

if [ -n "$ZSTD" ]; then
    # Frames of a megabyte and of three bytes more, by which elements are torn.
    "$program-bench" generate -q -d normal -b 20000004 >big
    split -b 1000000 big even.
    split -b 1000003 big odd.
    "$ZSTD" -q -c even.* >even.zst
    "$ZSTD" -q -c odd.* >odd.zst
    in_parts 'frames that state what they hold' many even.zst 1 2 3 7 16 64
    in_parts 'torn elements' many odd.zst 2 7
    in_options='-t i16 --missing=0 --missing=-5 --missing=16256'
    in_parts 'torn elements, some missing' many odd.zst 7
    ok '... which are counted' grep -q '"missing":[1-9][0-9]*' whole
    in_options=
    { npy 1 "$(npy_header '<f4' '(5000001,)')" && cat big; } >big.npy
    split -b 700001 big.npy npy.
    "$ZSTD" -q -c npy.* >big.npy.zst
    in_parts 'a .npy' many big.npy.zst 3
    {
        header='{"w":{"dtype":"F32","shape":[5000001],"data_offsets":[0,20000004]}}     '
        byte ${#header} && printf '\0\0\0\0\0\0\0%s' "$header" && cat big
    } >big.safetensors
    split -b 700001 big.safetensors tensors.
    "$ZSTD" -q -c tensors.* >big.safetensors.zst
    in_parts 'a .safetensors, which is read in order' one big.safetensors.zst 3
    for piece in even.*[a-z]; do
        [ "$piece" = even.zst ] || "$ZSTD" -q -c <"$piece" >"unstated.$piece"
    done
    cat unstated.* >unstated
    in_parts 'frames that do not state it' one unstated 3
    set -- unstated.*
    entries=$#
    for piece in unstated.*; do
        shift
        set -- "$@" "$(size "$piece")" "$(size "${piece#unstated.}")"
    done
    { cat unstated && table 0 "$entries" "$@"; } >seekable
    in_parts 'a seek table does' many seekable 2 7
    size1=$1 content1=$2
    shift 2
    { cat unstated && table 0 "$entries" "$size1" $((content1 - 4)) "$@"; } >lie
    run --partial --shard=1/3 lie
    ok 'a seek table that lies is found out' test "$status:$(grep -c '^gpureduce: lie: byte [0-9]*: ' err)" = 1:1
    "$ZSTD" -q -T0 -c big >one.zst
    in_parts 'a large frame' one one.zst 3
    copy even.zst damaged.zst
    flip damaged.zst 9000000
    for i in 1 2 3; do
        run --partial --shard=$i/3 damaged.zst
        [ "$status" -eq 0 ] || echo "$i" >>failed
    done
    ok 'damage is an error of the shard that has it' test "$(cat failed)" = 2
    cp err expected
    run --partial damaged.zst
    ok '... as of the whole' grep -q ': zstd frame is damaged: ' err
    { cat even.zst && echo; } >behind.zst
    run --partial --shard=1/2 behind.zst
    ok 'what follows the last frame is an error of one' \
        test "$status:$(grep -c '^gpureduce: behind.zst: byte [0-9]*: no zstd frame begins here$' err)" = 1:1
    run --partial --shard=2/2 behind.zst
    ok '... alone' test "$status:$(cat out err)" = 0:
    if [ -n "$PZSTD" ]; then
        "$PZSTD" -q -p 4 -c big >pzstd.zst
        in_parts "the frames of pzstd(1), which do not state it" one pzstd.zst 3
    else
        skip 'the frames of pzstd(1)' 'it is not there'
    fi
    rm -f even.* odd.* npy.* tensors.* unstated* big.npy big.safetensors
else
    skip 'compressed files' 'there is no zstd(1)'
fi
run --partial --length=1000 large --shard=1/2
cp out parts
run --partial --length=1000 large --shard=2/2
cat out >>parts
run --partial --length=1000 large
ok '--length goes with shards' cmp out parts

run --partial --shard=1/2 - <large
cp out parts
run --partial --shard=2/2 - <large
cat out >>parts
run --merge -q -o sum parts
ok 'standard input has shards where it is a file' test "$(cat out)" = "$(head -n 1 results)"
shell 'cat large | gpureduce --partial --shard=1/2'
fails 'a pipe has none' 'standard input: not a regular file: its size is unknown, so it cannot be divided into shards'
shell 'cat large | gpureduce --partial --label=large | gpureduce --merge -q -o sum'
is 'but a partial result' 0 "$(head -n 1 results)"

# The arrays of a container.
python=${ARRAYS_PYTHON:-python3}
if command -v "$python" >/dev/null && "$python" -c '
import json, math, struct
header, at = {}, 0
for name, dtype, size, shape in (("b", "F64", 8, [300, 1000]), ("a", "I32", 4, [3]), ("none", "F32", 4, [0, 3]),
                                 ("one", "F32", 4, []), ("c", "F32", 4, [700001])):
    end = at + size * math.prod(shape)
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
    at = end
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open("m.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(range(256)) * (at // 256) + bytes(at % 256))'; then
    run --partial m.safetensors
    sort out >whole
    : >parts
    for i in 1 2 3 4; do
        run --partial m.safetensors --shard=$i/4
        cat out >>parts
    done
    run --merge --partial parts
    sort out >merged
    ok 'the arrays of a container are cut, too' cmp merged whole
    run --partial --missing=nan --missing=33554432 m.safetensors
    sort out >whole
    for i in 4 2 1 3; do
        run --partial --missing=nan --missing=33554432 m.safetensors --shard=$i/4
        cat out
    done >missing
    run --merge --partial missing
    sort out >merged
    ok '... each with the missing values that its type has' cmp merged whole
    ok '... in their text' test "$(grep -c '"missing_values":\["0x1p+25","nan"\]' whole):$(grep -c '"missing_values":\["0x1p+25"\]' whole)" = 4:1
    run m.safetensors --tsv
    sed 's/\[[0-9,]*\]/NA/' out | sort >direct
    run --merge --tsv parts
    sort out >merged
    ok 'with the same table, but for the shapes, which partial results do not tell' cmp merged direct
    run --partial data/npy/v1-f4.npy large
    cat parts >>out
    cp out both
    run --merge --tsv -o count both
    ok 'nor those of files that are one array' \
        test "$(grep -v '^m\.' out | cut -f 2-4 | tr '\t\n' ' ,')" = 'array dtype shape, f32 NA, f32 NA,'
    run --merge --json parts
    ok 'JSON has no key for them' test "$(grep -c . out):$(grep -c shape out)" = 5:0
    run --merge --json --array=a parts
    is '--array is for elements' 2 '' "gpureduce: option '--array' does not go with --merge (try 'gpureduce --help')"
    run --merge -o sum parts
    ok 'as text, each has its name' grep -q '^m.safetensors: array none:$' out
else
    skip 'the arrays of a container' 'there is no python3'
fi

#
# --shard=auto.
#
run --partial large --shard=2/3
cp out expected
for variables in 'OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3' 'PMI_RANK=1 PMI_SIZE=3' \
    'SLURM_PROCID=1 SLURM_NTASKS=3' \
    'SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=9' \
    'SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=3 SLURM_PROCID=0 SLURM_NTASKS=1'; do
    environment=$variables
    run --partial large --shard=auto
    ok "auto takes $variables" cmp out expected
done
environment='SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=10'
run --partial large --shard=auto
is 'a Slurm array of uneven steps is refused' 2 '' "gpureduce: --shard='auto': the task numbers of the Slurm array are not evenly spaced (try 'gpureduce --help')"
environment='PMI_RANK=3 PMI_SIZE=3'
run --partial large --shard=auto
is 'so is a rank that is none' 2 '' "gpureduce: --shard=auto: 'PMI_RANK' is not below the number of processes (try 'gpureduce --help')"
while IFS='|' read -r environment message; do
    run --partial large --shard=auto
    is "$environment" 2 '' "gpureduce: --shard=auto: $message (try 'gpureduce --help')"
done <<'END'
PMI_RANK=0|'PMI_SIZE' is not set
PMI_RANK=0 PMI_SIZE=|'PMI_SIZE' is not a number from 0 on
PMI_RANK=-1 PMI_SIZE=3|'PMI_RANK' is not a number from 0 on
PMI_RANK=0 PMI_SIZE=0|'PMI_RANK' is not below the number of processes
PMI_RANK=0 PMI_SIZE=2000000|'PMI_SIZE' makes more than 1048576 shards
SLURM_ARRAY_TASK_ID=0|'SLURM_ARRAY_TASK_COUNT' is not set
END
environment=
run --partial large --shard=auto
is 'without any variable, auto is refused' 2 '' "gpureduce: --shard='auto': none of the variables of Open MPI, PMI and Slurm is set (try 'gpureduce --help')"
for shard in 0/3 4/3 1 1/0 /2 1/ -1/2 1/1048577 1/2/3 ''; do
    run --partial large --shard="$shard"
    is "--shard=$shard is refused" 2 '' "gpureduce: bad shard '$shard': must be I/N, where I is from 1 to N and N at most 1048576, or auto (try 'gpureduce --help')"
done

#
# Forms of output.
#
cp data/raw/nan.f32 a.f32
cp data/npy/v3-f8.npy b.npy
run --partial -o $all b.npy a.f32
cp out lines
run --merge -o sum,max,argmax,std --ddof=1 lines
golden 'text' 0 merge
run --tsv --total -o $all --nan=skip a.f32 b.npy
cp out expected
run --merge --tsv --total -o $all --nan=skip lines
ok 'types that differ have a total' cmp out expected
run --merge --partial --total lines
is '... which is no partial result' 1 '' 'gpureduce: no total: the partial results are of several types'
run --merge --json --number=hex -o mean,std --ddof=1 lines
golden 'JSON' 0 merge-json
run --merge -q -o sum --nan=error lines
is '--nan=error is for merging, too' 1 "NA
84.60000000000001" 'gpureduce: a.f32: element 137 is a NaN'
run --merge -q -o sum --fail-on=nan lines
ok '--fail-on as well' grep -q '^gpureduce: a.f32: NaNs: [0-9]* of ' err
run --merge --partial --fail-on=nan lines
ok '--fail-on with --partial' grep -q '^gpureduce: a.f32: NaNs: [0-9]* of ' err
ok '... prints all lines' test "$status:$(grep -c '' out)" = 1:2
three >numbers
word $((0x7fc00000)) >nan
safetensors some.safetensors a:F32:3:numbers b:F32:1:nan
run --partial --nan=error some.safetensors
mv out expected
run --partial some.safetensors
mv out arrays
run --merge --partial --nan=error arrays
ok '--nan=error with --partial keeps a line for the array, without elements' cmp out expected

run --partial --total data/npy/v1-f4.npy data/npy/v2-f4.npy a.f32
cp out total
run --merge -q --nan=skip total
cp out merged
run --nan=skip --total -q data/npy/v1-f4.npy data/npy/v2-f4.npy a.f32
tail -n 4 out >direct
ok 'a total is a partial result, too' cmp merged direct
run --partial a.f32 data/npy/v2-f4.npy data/npy/v1-f4.npy -o argmax,argmin
cp out lines
run --merge --partial --total lines
cp out merged
run --partial --total -o argmax,argmin a.f32 data/npy/v1-f4.npy data/npy/v2-f4.npy
ok 'merged totals have the inputs in the order of their names' cmp out merged
run --partial --total a.f32 b.npy
is 'of several types there is none' 1 '' 'gpureduce: no total: a partial result needs files of one type and scale'
# Inputs with different missing values have a total, too: of 1 2 (3) 100 and (2) 3 4 5.
printf '\1\2\3\144' >p.i8
printf '\2\3\4\5' >q.i8
run --partial --missing=3 -t i8 -o $all p.i8
cp out lines
run --partial --missing=2 -t i8 -o $all q.i8
cat out >>lines
run --merge --total -q -o sum,count,missing,max,argmax,argmin,var lines
ok 'inputs with different missing values have a total' test "$(tail -n 7 out | tr '\n' ' ')" = \
    '115 6 2 100 3 0 1308.4722222222222 '
run --merge --partial --total lines
ok '... which names none' grep -q '"missing_values":null,.*,"count":8,"missing":2,' out
cp out different
cat different >twice
run --merge -q -o sum,missing,var different
is '... and can be merged' 0 '115
2
1308.4722222222222'
run --merge --json -o sum different
ok 'JSON has no key for them' grep -q '"dtype": "i8", "nan_policy"' out
cat total total >twice
run --merge twice
fails 'totals have to be told apart' 'twice:2: element 0 of total is also counted at twice:1 (--label tells them apart)'
run --partial --total --label=today data/npy/v1-f4.npy data/npy/v2-f4.npy
ok 'a total may be labelled' grep -q '"input":"today"' out

# What is held.
run --partial -o min large
cp out minimum
run --merge minimum
fails 'an operation that is not held is refused' 'minimum:1: lacks the data for sum; give --partial the same --op'
cp large large.2
cp large large.3
run --partial -o min large large.2
cp out minima
run --merge minima
fails 'once, with a count of others' 'minima:1: lacks the data for sum; give --partial the same --op
gpureduce: 1 other partial result lacks data, too'
run --partial -o min large large.2 large.3
cp out minima
run --merge minima
ok 'which may be several' grep -qx 'gpureduce: 2 other partial results lack data, too' err
run --merge -q -o max,range minimum
ok 'one that is, is not' test "$status:$(wc -l <out)" = 0:2
run --partial -o $all large
cp out lines
run --merge --partial -o min lines
ok '--op chooses what a merged partial result holds' cmp out minimum
run --partial -o count,nan large
ok 'a count takes next to nothing' test "$(wc -c <out)" -lt 300
run --partial -o summary large
cp out lines
run --merge -q -o summary lines
ok 'a summary goes without quantiles' test "$(grep -c '^NA$' out)" -eq 3

#
# What is refused.
#
run --partial large
cp out whole
run --partial large --shard=1/2
cp out one
run --merge one
fails 'a gap' 'large: elements 1048576 to 1625000 of 1625001 are in no partial result (--allow-gaps accepts that)'
run --merge -q -o count --allow-gaps one
is 'a gap that is allowed' 0 1048576
run --partial -o argmax --label=a large --shard=1/2
cp out gap
run --partial -o argmax --label=b -t i8 p.i8
cat out >>gap
run --merge -q -o count,argmax,max --total --allow-gaps gap
ok 'a total counts the elements of a gap in places alone' test "$(tail -n 3 out | tr '\n' ' ')" = '1048580 1625004 100 '
run --partial large --shard=2/4
cp out two
run --merge one two
fails 'an overlap' 'two:1: element 524288 of large is also counted at one:1'
cat one one >twice
run --merge twice
fails 'a task that has run twice' 'twice:2: element 0 of large is also counted at twice:1'
shell 'printf 12345678 | gpureduce --partial >pipes && printf 12345678 | gpureduce --partial >>pipes'
run --merge pipes
fails 'two pipes of one name' 'pipes:2: element 0 of standard input is also counted at pipes:1 (--label tells them apart)'
run --partial -t i32 large --shard=2/2
cp out two
run --merge one two
fails 'two types' 'two:1: has type i32, but the same input at one:1 has type f32'
run --partial --missing=1 large --shard=2/2
cp out two
run --merge one two
fails 'other missing values' 'two:1: has other missing values than the same input at one:1'
run --partial --length=1625000 large --shard=2/2
cp out two
run --merge one two
fails 'two lengths' 'two:1: its input has 1625000 elements, but that of the same name at one:1 has 1625001'
sed 's/"count":1/"count":2/' one >damaged
run --merge damaged
fails 'a damaged line' 'damaged:1: is damaged: its checksum is wrong'
head -c 100 one >damaged
cat two damaged >several
run --merge several
fails 'a line that is cut off' 'several:2: is damaged: it does not end as a partial result'
run --merge large
fails_like 'numbers' 'large:1: is .*'
printf '%s\n' '{"gpureduce":"bag","version":2,"dtype":"f64","missing_values":[],"scale_factor":null,"add_offset":null,"count":7,"missing":2,"nan":1,"first_nan":null,"posinf":1,"neginf":0,"sum":"0x3p+0","min":"-0x1p+1","max":"inf","sumsq":"0x15p+0","l1":"0x7p+0","absmin":"0x1p+0","zeros":0,"subnormals":0,"negatives":1,"digest":null,"crc32":"69af2ba9"}' >bag
run --merge bag
fails 'a bag' 'bag:1: is of a bag, which does not say what elements of an array it has'
run --merge results
fails 'results' 'results:1: is not a partial result'
: >nothing
run --merge nothing
fails 'nothing' 'there are no partial results to merge'
run --merge absent
ok 'a file that is not there' test "$status:$(head -n 1 err)" = '1:gpureduce: absent: No such file or directory'
sed 's/"version":2/"version":3/' one >version
run --merge version
fails 'a later version' 'version:1: is a partial result of version 3, and this program reads versions 1 to 2'
if command -v python3 >/dev/null; then
    # An older version wrote no more than this of the first half.
    sed 's/"version":2/"version":1/; s/"missing_values":.*"add_offset":null,//; s/"missing":0,//; s/"digest":null,//' one |
        checksum >older
    run --partial large --shard=2/2
    cp out two
    run --merge --partial two older
    ok 'version 1 goes with version 2' cmp out whole
    run --partial large --shard=2/2 --missing=0
    cp out two
    run --merge older two
    fails '... where nothing is missing' 'two:1: has other missing values than the same input at older:1'
    printf '{"gpureduce":"partial","version":1,"input":"%0400d","array":"%0200d","dtype":"f32","of":0,"ranges":[],"count":0,"nan":0,"first_nan":null,"posinf":0,"neginf":0,"crc32":"0"}\n' 0 0 |
        checksum >long
    run --merge -q -o count long
    is '... with longer names' 0 0
    run --merge --partial long
    fails_like '... which it alone has' '0*: its names and missing values are too long together for a partial result; a shorter name by --label may do'
    sed 's/"of":1/"of": 1/' one | checksum >other
    run --merge other
    fails_like 'a space' 'other:1: is not a partial result as this program writes them: see byte [0-9]*'
else
    skip 'a space' 'there is no python3'
fi
printf '%s\n' '{"gpureduce":"partial","version":1,"input":"x","dtype":"f32","of":3,"ranges":[[0,3]],"count":3,"nan":0,"first_nan":null,"posinf":0,"neginf":0,"sum":"0x11p-2","min":"-0x1p-2","max":"0x3p+0","crc32":"e7594a7a"}' >older
run --merge -q -o sum,min,max,missing older
is 'a line of version 1' 0 '4.25
-0.25
3
0'
long=$(printf '%0401d' 0)
run --partial --label="$long" large
ok 'a name that is too long' test "$status:$(cat err)" = "1:gpureduce: $long: the name is too long for a partial result: give another by --label"

# wrong OPTION...: options that do not go together.
wrong() {
    run "$@"
    ok "$* is refused" test "$status:$(wc -l <err):$(wc -c <out)" = 2:1:0
}
wrong --shard=1/2 large
wrong --label=x large
wrong --allow-gaps large
wrong --partial --total --shard=1/2 large
wrong --partial --list m.safetensors
wrong --partial --label=x large one
wrong --partial -o median large
wrong --partial --histogram=4 large
wrong --partial --json large
wrong --tsv --partial large
wrong --merge --partial --tsv one
wrong --merge --histogram=4 one
wrong --merge -o p50 one
wrong --merge -t f64 one
wrong --merge --endian=big one
wrong --merge --format=raw one
wrong --merge --skip=1 one
wrong --merge --length=1 one
wrong --merge --list one
wrong --merge --check=one
wrong --merge --partial --shard=1/2 one
wrong --merge --partial --label=x one

#
# As the manual has it.
#
head -n 1 results >sum
shell 'seq 8 | xargs -I{} -P8 gpureduce --partial --shard={}/8 large | gpureduce --merge -q -o sum'
is 'by xargs' 0 "$(cat sum)"
# shellcheck disable=SC2016 # for the inner shell
shell 'for i in 3 1 2; do gpureduce --partial --shard=$i/3 large & done | cat >all.json; gpureduce --merge -q -o sum <all.json'
is 'into a pipe' 0 "$(cat sum)"
if parallel --version 2>/dev/null | grep -q '^GNU parallel'; then
    shell 'parallel --will-cite gpureduce --partial --shard={}/4 large ::: 1 2 3 4 | gpureduce --merge -q -o sum'
    is 'by GNU parallel' 0 "$(cat sum)"
else
    skip 'by GNU parallel' 'it is not there'
fi
# shellcheck disable=SC2016 # as above
shell 'for day in 01 02; do gpureduce --partial --label=2026-11-$day -o min,max,std large >>days.json; done
grep "\"input\":\"2026-11" days.json | gpureduce --merge --total -q -o count'
is 'a line a day' 0 "$(printf '1625001\n1625001\n3250002')"

finish
