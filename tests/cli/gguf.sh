#!/bin/sh
# GGUF: quantised tensors of files that the gguf package has written.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

make_files make_gguf.py 'quantised tensors'
ordered=
for name in small tiles nan; do
    # The last without AVX-512, and without AVX2, where glibc can hide them from the program.
    for options in '' '-j 3 --chunk-size 16' -j1 -j2; do
        case $options in
        -j1) environment=GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F ;;
        -j2) environment=GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX2 ;;
        *) environment= ;;
        esac
        # shellcheck disable=SC2086 # none, or several words
        rows_as "made/$name.tsv" "$name${options:+, $options}" \
            run --tsv -o sum,min,max,argmin,argmax,nan,count $options "made/$name.gguf"
        # Sums alone come from blocks, not from elements.
        cut -f 1-4,9,10 "made/$name.tsv" >sums.tsv
        # shellcheck disable=SC2086
        rows_as sums.tsv "sums of $name${options:+, $options}" \
            run --tsv -o sum,nan,count $options "made/$name.gguf"
    done
done
environment=
cut -f 1-4,9,10 made/missing.tsv >sums.tsv
rows_as sums.tsv 'sums without missing elements' run --tsv -o sum,nan,count --missing=0 made/small.gguf
shell 'cat made/tiles.gguf | gpureduce -q -o sum --array=plain'
is 'others, in a pipe' 0 10
run -q -o sum --array=Q8_0.2 made/tiles.gguf
copy out wanted
shell 'cat made/tiles.gguf | gpureduce -q -o sum --array=Q8_0.2'
ok 'in a pipe' cmp wanted out
run --diff made/small.gguf made/small.gguf
ok 'compared' test "$status" = 0
run --diff --tsv --number=hex --ignore-dtype --map='s/^model\.layers/blk/' made/source.safetensors made/source.gguf
sed 1d out | cut -f 1,6,8,9,14 >found
ok 'with what they were quantised from' cmp made/source.tsv found
for name in Q4_K Q8_0; do
    run -q -o sum --axis=1 --array=$name.1 made/tiles.gguf
    ok "along an axis, $name" cmp made/$name.axis out
done

# A directory of the parts of a model.
mkdir model
for part in 1 2 3; do
    cp made/small.gguf model/m-0000$part-of-00003.gguf
done
cp made/small.gguf model/other.gguf
run -q -o sum --array=plain --total model
is 'a model in several files' 0 '10
10
10
10
40'
: >model/empty.gguf
run -q -o sum --array=plain model
ok 'a part that is empty' grep -qx 'gpureduce: model/empty.gguf: is empty, and not a GGUF file' err
rm model/empty.gguf
warning='only part of a model:'
run -q -o count --array=plain model/m-00002-of-00003.gguf
is 'a part alone' 0 5 "gpureduce: warning: model/m-00002-of-00003.gguf: $warning model/m-00003-of-00003.gguf is not named; name the directory model"
shell 'cd model && gpureduce -q -o count --array=plain m-00001-of-00003.gguf other.gguf m-00003-of-00003.gguf'
is 'two of three' 0 '5
5
5' "gpureduce: warning: m-00001-of-00003.gguf: $warning m-00002-of-00003.gguf is not named; name the directory ."
run -q -o count --array=plain model/m-*.gguf
is 'all parts' 0 '5
5
5' ''
cp model/m-00001-of-00003.gguf model/n-00001-of-00001.gguf
run -q -o count --array=plain model/n-00001-of-00001.gguf
is 'the only part' 0 5 ''
rm model/n-*
run --diff -q model/m-00001-of-00003.gguf model/other.gguf
ok 'compared, too' test "$status:$(grep -c "$warning" err)" = 0:1
rm model/m-00002-of-00003.gguf
run -q -o sum model
fails 'a part is missing' 'model: part m-00002-of-00003.gguf of a model is missing'
rm model/m-*
mv model/other.gguf model/m-00003-of-00003.gguf
run -q -o sum model
fails 'the first part is missing' 'model: part m-00001-of-00003.gguf of a model is missing'

size=$(wc -c <made/tiles.gguf)
head -c $((size - 100)) made/tiles.gguf >cut.gguf
run cut.gguf
fails_like 'cut off' 'cut.gguf: a GGUF file: byte [0-9]*: truncated inside array .*'
finish
