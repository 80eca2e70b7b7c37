#!/bin/sh
# Records: .npy files of structured and complex types.

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
shell 'cat x.npy | gpureduce -q -o sum'
fails_like 'in a pipe' 'standard input: byte 20: a structured dtype is read from a file that is not compressed, .*'
run -q -o sum --axis=0 --array=a x.npy
is 'along an axis' 0 50529027
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

if ! find_python numpy; then
    skip 'files by NumPy' 'numpy is missing'
    finish
fi
"$python" "$sources/tests/lib/make_records.py" made 2>made.err || { fail 'make_records.py' && show made.err; }
for expected in made/*.tsv; do
    name=${expected##*/}
    name=${name%.tsv}
    for options in '' '-j 3 --chunk-size 16'; do
        # shellcheck disable=SC2086 # none, or several words
        run --tsv -o sum,min,max,argmin,argmax,nan,count $options "made/$name.npy"
        { head -n 1 out && sed 1d out | LC_ALL=C sort -t "$tab" -k 2; } | cut -f 2- >found
        ok "$name${options:+, $options}" cmp "$expected" found
        cmp -s "$expected" found || { diff "$expected" found | head -n 5 | sed 's/^/# /' && show err; }
    done
done
finish
