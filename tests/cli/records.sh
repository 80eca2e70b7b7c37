#!/bin/sh
# Records: raw files, and .npy files of structured and complex types.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

# fields DESCR SHAPE COUNT: a file of this type, and so many bytes of numbers.
fields() {
    npy 1 "{'descr': $1, 'fortran_order': False, 'shape': $2, }" && head -c "$3" /dev/zero | tr '\0' '\1'
}
fields "[('a', '<i4'), ('n', [('x', '|u1'), ('', '|V3'), ('y', '<i2')], (2,)), ('b', '|i1')]" '(3,)' 51 >x.npy
run -q -o sum,count --array=a --array=b x.npy
is 'fields' 0 '50529027
3
3
3'
run --list x.npy
ok 'fields of fields that are arrays are listed' grep -q "^x.npy${tab}n.y${tab}i16${tab}\[3\]" out
run -q -o sum --array=n.x x.npy
fails_like 'they are unreadable' "x.npy: array n.x: its elements are neither side by side nor equally far apart; .*"
run -q -o sum --total --array=a --format=npy x.npy
is 'by the name of the format' 0 '50529027
50529027'
fields "[('a', '<i4'), ('', '<i2')]" '(3,)' 18 >unnamed.npy
run -q -o sum unnamed.npy
is 'a field without a name' 0 '50529027
771'
shell 'cat x.npy | gpureduce -q -o sum --array=a'
is 'in a pipe' 0 50529027
# Two triangles, by the options that gpureduce(1) gives: normals of 2, vertices of 1.
{
    head -c 80 /dev/zero && printf '\2\0\0\0'
    for _ in 1 2; do
        printf '\0\0\0\100\0\0\0\100\0\0\0\100'
        for _ in 1 2 3 4 5 6 7 8 9; do printf '\0\0\200\77'; done
        printf '\0\0'
    done
} >x.stl
# shellcheck disable=SC2046 # several options
run -q -o sum,count $(sed -n '/^Binary STL,/ { s/.* in \\fB//; s/\\fP\.$//; s/\\//g; p; }' "$sources/man/gpureduce.1") x.stl
is 'the vertices of binary STL' 0 '18
18'
run -q -o sum --axis=0 --array=a x.npy
is 'along an axis' 0 50529027
fields "[('a', '<f4'), ('b', '<i2')]" '(0, 2)' 0 >none.npy
run -q -o count,median --array=b none.npy
is 'no records' 0 '0
nan'
while IFS=';' read -r descr shape bytes message; do
    fields "$descr" "$shape" "$bytes" >wrong.npy
    run -q wrong.npy
    fails_like "$descr $shape" "wrong.npy: a .npy file: byte [0-9]*: $message"
done <<'END'
[('a', '<f4'), ('b', '<f8')];(3,);35;truncated: 35 bytes after the header, which promises 3 records of 12 bytes
[('a', '<f4'), ('b', '<f8')];(9223372036854775807,);35;truncated: .*
'<c8';(3,);23;truncated: .*
[('a', '<f4', (2147483647, 3))];(1,);9;a record has more than 2^31 bytes
[('a', '<f4', (2147483647, 2147483647))];(1,);9;a record has more than 2^31 bytes
[('a', '|V0')];(1,);9;the type of a field has no size
[('a', '<f4'), ('b', '|O')];(1,);9;a field holds Python objects, which are pickled and not read
[('a', '<f4'), 'b'];(1,);9;a field is not a tuple
[('a', '<f4') ('b', '<f4')];(1,);9;a list of fields does not end
[('a', '<f4', 3 4)];(1,);9;a field does not end
[('a',)];(1,);9;a quoted string is expected
[('a')];(1,);9;the type of a field is missing
[(('a', '<f4')];(1,);9;.*
[[[[[[[[[[[[[[[[[[[[[[;(1,);9;.*
END
# Names in brackets 20 deep, and of 300 letters.
deep=$(awk 'BEGIN { for (i = 0; i < 20; i++) printf "[(\047a\047, "; printf "\047<f4\047"; for (i = 0; i < 20; i++) printf ")]" }')
fields "$deep" '(1,)' 4 >wrong.npy
run -q wrong.npy
fails_like 'fields in fields' 'wrong.npy: a .npy file: byte [0-9]*: fields are nested too deep'
fields "[('$(printf %300s '' | tr ' ' a)', '<f4')]" '(1,)' 4 >wrong.npy
run -q wrong.npy
fails_like 'a long name' 'wrong.npy: .* the type, or what follows it in the header, is malformed'
fields "[('a', '<f4'), ('a', '<f4')]" '(1,)' 8 >twice.npy
run -q -o count --array='a*' twice.npy
is 'two fields of one name' 0 '1
1'

# Raw files: 1.5, 7, 2; -2, 8, 3; and a part of a third record.
printf '\0\0\300\77\7\2\0\0\0\300\10\3\0\0' >r.bin
raw='--record=f4,u1,u1'
run -q "$raw:0" r.bin
fails 'a record is cut off' 'r.bin: byte 12: the last record is cut off after 2 of 6 bytes'
shell "cat r.bin | gpureduce -q $raw:1"
fails 'in a pipe' 'standard input: byte 12: the last record is cut off after 2 of 6 bytes'
run -q -o sum "$raw:1" --length=2 r.bin
is 'unless enough of it is read' 0 15
head -c 11 r.bin >short.bin
run -q -o sum "$raw:1" --length=2 short.bin
is 'and the end of a record is not needed' 0 15
shell "cat short.bin | gpureduce -q -o sum $raw:1 --length=2"
is 'in a pipe, either' 0 15
run -q -o sum "$raw:2" --length=2 short.bin
fails 'if it is not the field' 'short.bin: byte 6: the last record is cut off after 5 of 6 bytes'
head -c 12 r.bin >r12.bin
run -q --axis=1 --shape=2,1 -o sum "$raw:2" r12.bin
is 'along an axis' 0 '2
3'
run --diff "$raw:1" r12.bin r12.bin
ok 'compared' grep -q '^the same: 2 elements' err
run --list "$raw:1" r12.bin
ok 'listed' grep -q "^r12.bin$tab${tab}u8$tab.2.${tab}2${tab}2${tab}0\$" out
run -q -o sum "$raw:1" --missing=300 r12.bin
fails 'a missing value' 'r12.bin: the missing value 300 is not a value of type u8'
run -q "$raw:0" x.npy
fails 'a .npy file' 'x.npy: a .npy file says what its elements are: only raw files are read as records'
shell "cat data/containers/small.gguf | gpureduce -q $raw:0"
fails_like 'a container in a pipe' 'standard input: a GGUF file says .*'
for bad in f4 f4: :0 f4:1 f4:-1 f4:0x f32:0 ,f4:0 f4,:0 0f4:0 V3:0 f4,V0:0 f4,S:0 2147483648u1:0 \
    99999999999999999999f4:0 2000000000u1,2000000000u1:1 f4:0:1; do
    run "--record=$bad" r.bin
    ok "--record=$bad" grep -q "^gpureduce: bad record '$bad': must be TYPE,TYPE,...:FIELD, " err
    ok "--record=$bad: status" test "$status" = 2
done
for options in "-t f4 $raw:0" "$raw:0 -t f4"; do
    # shellcheck disable=SC2086 # two words
    run $options r.bin
    is "$options" 2 '' "gpureduce: option '--dtype' does not go with --record (try 'gpureduce --help')"
done

make_files make_records.py 'files by NumPy'
ordered=
for expected in made/*.tsv; do
    name=${expected##*/}
    name=${name%.tsv}
    for options in '' '-j 3 --chunk-size 16'; do
        # shellcheck disable=SC2086 # none, or several words
        rows_as "$expected" "$name${options:+, $options}" \
            run --tsv -o sum,min,max,argmin,argmax,nan,count $options "made/$name.npy"
    done
done
for options in '' '-j 1' '-j 3 --chunk-size 16'; do
    # shellcheck disable=SC2086 # none, or several words
    rows_as made/npz.rows "stored.npz${options:+, $options}" \
        run --tsv -o sum,min,max,argmin,argmax,nan,count $options made/stored.npz
done
if has_zlib; then
    for options in '' '-j 1' '-j 3 --chunk-size 16'; do
        # shellcheck disable=SC2086 # none, or several words
        rows_as made/npz.rows "deflated.npz${options:+, $options}" \
            run --tsv -o sum,min,max,argmin,argmax,nan,count $options made/deflated.npz
    done
    run -q --diff made/stored.npz made/deflated.npz
    is 'compared' 0 '' '*'
    for options in '-o sum --axis=0 --exclude=scalar.* --exclude=none.*' '-o median,sum' '-o sum,max --length=1000' '-o digest'; do
        for file in stored deflated; do
            # shellcheck disable=SC2086 # several words
            run -q --tsv $options made/$file.npz
            sed "s/$file//" out >$file
        done
        ok "as stored ones, $options" test "$status:$(cmp stored deflated)" = 0:
    done
fi
for expected in made/*.one; do
    name=${expected##*/}
    name=${name%.one}
    read -r options <"made/$name.options"
    options="--tsv -o sum,min,max,argmin,argmax,nan,count $options"
    one_as "$expected" "gpureduce $options made/$name.bin" "gpureduce $options -j 3 --chunk-size 16 made/$name.bin" \
        "cat made/$name.bin | gpureduce $options" ${ZSTD:+"$ZSTD -qc made/$name.bin | gpureduce -j 2 $options"}
done
finish
