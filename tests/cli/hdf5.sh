#!/bin/sh
# HDF5: files made by h5py, whatever their datasets are stored as, against NumPy; what is left out; files
# that are damaged.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

printf '\211HDF\r\n\032\n' >small.h5
if gpureduce --version | grep -qx 'HDF5: none'; then
    run -q -o sum --format=hdf5 small.h5
    fails 'a program without libhdf5' \
        'small.h5: an HDF5 file: needs libhdf5, without which this program was built'
    run -q -o sum small.h5
    fails_like 'which says so' 'small.h5: an HDF5 file (or netCDF-4); a gpureduce that is built with libhdf5 reads it .*'
    skip 'HDF5' 'built without libhdf5'
    finish
fi
run -q -o sum small.h5
fails_like 'a file that is cut off' 'small.h5: an HDF5 file: libhdf5: .*'
run -q -o sum --format=hdf5 data/raw/mixed-le.f32
fails 'a file that is none' 'data/raw/mixed-le.f32: an HDF5 file: libhdf5: file signature not found'

# The program that calls libhdf5: where it is missing, or fails.
mkdir alone
cp "$program" alone/gpureduce
printf '\211HDF\r\n\032\nand more' >small.h5
shell 'alone/gpureduce -q -o sum small.h5'
fails_like 'without gpureduce-hdf5' 'small.h5: an HDF5 file: needs libhdf5: gpureduce-hdf5 is neither beside this program nor in .*'
# helper NAME LINE TEXT: with a program in its place that has this line, the error has this text.
helper() {
    printf '#!/bin/sh\n%s\n' "$2" >alone/gpureduce-hdf5
    chmod +x alone/gpureduce-hdf5
    shell 'alone/gpureduce -q -o sum small.h5'
    fails_like "$1" "small.h5: an HDF5 file: $3"
}
helper 'one that fails' 'exit 3' 'needs libhdf5: .*alone/gpureduce-hdf5 failed with status 3'
helper 'one whose library is missing' 'exit 127' 'needs libhdf5: .*alone/gpureduce-hdf5 failed with status 127, which loaders use for a library that is missing'
# shellcheck disable=SC2016 # for the inner shell, here and below
helper 'one that crashes' 'kill -SEGV $$' 'damaged: libhdf5 crashed (.*)'
# shellcheck disable=SC3045 # where it is undefined, the test is skipped
if (ulimit -v 4000000 && alone/gpureduce --version) >/dev/null 2>&1; then
    shell 'ulimit -v 4000000; alone/gpureduce -q -o sum small.h5'
    fails_like 'one that crashes, with little memory' 'small.h5: an HDF5 file: damaged, or needs more memory than the limit (ulimit -v): libhdf5 crashed (.*)'
else
    skip 'one that crashes, with little memory' 'this build needs more memory'
fi
# shellcheck disable=SC2016
helper 'one that goes in circles' 'kill -XCPU $$' 'damaged, or very large: libhdf5 did not finish within 600 seconds'
helper 'one that says nothing' 'exit 0' 'libhdf5 returned inconsistent data'
# shellcheck disable=SC2016
helper 'one that says anything' 'cat "$0"' 'libhdf5 returned inconsistent data'
run -q -o sum small.h5
fails_like 'the one that there is' 'small.h5: an HDF5 file: libhdf5: .*'

make_files make_hdf5.py 'files made by h5py'

# as_numpy NAME FILE OPTIONS...: prints of made/FILE.h5 what NumPy has put into FILE.KIND.tsv.
as_numpy() {
    as_name=$1 as_file=$2 as_expected=made/$3.tsv
    shift 3
    rows_as "$as_expected" "$as_name" run "$@" "made/$as_file.h5"
}
operations=sum,min,max,argmin,argmax,nan,count
for file in old new; do
    for options in '' '-j 1' '-j 7 --chunk-size 100'; do
        # shellcheck disable=SC2086 # none, or several words
        as_numpy "$file, ${options:-by default}" $file $file -o $operations $options
        # shellcheck disable=SC2086 # as above
        as_numpy "the first of each, $file, ${options:-by default}" $file $file.length -o $operations --length=100 $options
        [ -z "$sanitizer" ] || break
    done
    as_numpy "quantiles, $file" $file $file.quantiles -o q0.25,median --nan=skip
done
# A file that is large enough is mapped, and its chunks are decoded from there.
for file in old new broken; do
    { cat made/$file.h5 && head -c 4194304 /dev/zero; } >made/mapped-$file.h5
done
for file in old new; do
    for options in '-j 1' '-j 3'; do
        # shellcheck disable=SC2086 # two words
        as_numpy "mapped, $file, $options" mapped-$file $file -o $operations $options
    done
done
as_numpy 'behind a block of the user'"'"'s' block block -o $operations
as_numpy 'and quantiles' block block.quantiles -o q0.25,median --nan=skip
as_numpy 'behind a large one' far far -o $operations --format=hdf5
run -q -o sum <made/old.h5
cp out found
run -q -o sum made/old.h5
ok 'standard input, if it is a file' cmp out found
{ printf 1234 && cat made/old.h5; } >behind
shell 'exec <behind; dd bs=4 count=1 2>/dev/null >dropped; gpureduce -q -o sum'
ok 'a file that begins elsewhere' cmp out found
run -q -o sum,count --array=header --total made/old.h5 made/new.h5
ok 'a total' test "$(sed -n '2p;4p;6p' out | tr '\n' ' ')" = '20 20 40 '

# The first NaN, in C order.
sed 1d made/old.tsv | awk -F '\t' '$9 > 0 { print $1, $7 }' >nans
ok 'there are NaNs' test -s nans
while read -r name index; do
    run -q -o sum --nan=error --array="$name" made/old.h5
    ok "the first NaN of $name" grep -q "array $name: element ${index}[ i]" err
    run -q -o median --nan=error --array="$name" made/old.h5
    ok "and by itself, of $name" grep -q "array $name: element ${index}[ i]" err
done <nans

run --tsv -o sum,count made/enums.h5
is 'enumerations' 0 "file${tab}array${tab}dtype${tab}shape${tab}sum${tab}count
made/enums.h5${tab}big${tab}u64${tab}[2]${tab}7${tab}2
made/enums.h5${tab}chunks${tab}i16${tab}[1000]${tab}500${tab}1000
made/enums.h5${tab}colours${tab}i16${tab}[4]${tab}-42${tab}2
made/enums.h5${tab}records.colour${tab}i16${tab}[2]${tab}1${tab}2
made/enums.h5${tab}records.value${tab}f32${tab}[2]${tab}3.5${tab}2"

# What is left out, and what is listed.
run -q -o sum made/others.h5
ok 'what cannot be read' test "$status:$(sort out | uniq -c | tr -d ' \n')" = 1:1366NA
cp err found
cat >expected <<END
gpureduce: warning: made/others.h5: skipped array astray and 1 more: a link to nothing in this file
gpureduce: warning: made/others.h5: skipped array elsewhere: a link to another file, which is not followed
gpureduce: warning: made/others.h5: skipped array empty: a null dataspace, which has no elements
gpureduce: warning: made/others.h5: skipped array text: type string is not supported: text
gpureduce: made/others.h5: array colours and 1 more: type enum is not supported: its layout is unknown
gpureduce: made/others.h5: array filtered: HDF5 filter (32099) is not supported; h5repack -f NONE removes filters
gpureduce: made/others.h5: array long: type float is not supported: its numbers may not fit f64 (python3 -c 'import h5py; h5py.File("NEW", "w")["NAME"] = h5py.File("OLD")["NAME"].astype("f8")[...]' rounds them)
gpureduce: made/others.h5: array scaled: HDF5 filter (32098) is not supported; h5repack -f NONE removes filters
gpureduce: made/others.h5: array virtual: a virtual dataset: its elements are in other datasets
END
ok 'and why' cmp expected found
sed -n "s/.*array long.*python3 -c '\(.*\)'.*/\1/p" found | sed 's,NEW,rounded.h5,; s,OLD,made/others.h5,; s,NAME,long,g' >command.py
"$python" command.py
run -q -o sum rounded.h5
is 'rounded by the command of the error' 0 3
run -q -o sum --skip-unsupported made/others.h5
is 'what is skipped' 0 36 '*'
run -q -o sum made/kinds.h5
ok 'only numbers that cannot be read are errors' test \
    "$status:$(sed -n 's/^gpureduce: made[^:]*: array \([a-z]*\):.*/\1/p' err | xargs)" = '1:array numbers'
run -q -o sum --exclude=array --exclude='mixed*' --exclude=numbers made/kinds.h5
ok 'others are not' test "$status:$(cat out)" = 0:10
run -q --diff --exclude=array --exclude='mixed*' --exclude=numbers made/kinds.h5 made/kinds.h5
ok 'nor do they spoil a comparison' test "$status:$(wc -c <out)" = 0:0
run --list -q made/others.h5
ok 'it is listed' test "$(cut -f 2,3,4 out | tr '\t\n' ': ')" = \
    'astray:NA:NA colours:enum:[3] elsewhere:NA:NA empty:f32:[0] enum:enum:[1] filtered:f64:[9] gone:NA:NA long:float:[3] same:i16:[9] scaled:i64:[9] text:string:[] virtual:i16:[9] '
ok 'and where it is, if it lies in one piece' test "$(awk -F '\t' '$2 != "same" { print $2, $6, $7 != "NA" }' out | tr '\n' ,)" = \
    'astray NA 0,colours NA 0,elsewhere NA 0,empty NA 0,enum 2 1,filtered NA 0,gone NA 0,long 48 1,scaled NA 0,text NA 0,virtual NA 0,'
run --diff --exclude=filtered --exclude=scaled --exclude=virtual made/others.h5 made/others.h5
ok 'compared byte by byte' test "$status:$(grep -c 'array colours and 2 more: both hold the same bytes, but they cannot be read: type enum' err)" = 0:1
run --diff --array=filtered made/others.h5 made/others.h5
ok 'chunks, too' test "$status:$(grep -c 'array filtered: both hold the same bytes, but they cannot be read: HDF5 filter (32099) is not supported' err)" = 0:1
ok 'whose bytes are not counted' grep -q ': 9 elements, 0 bytes of both, ' err
"$python" - <<'END'
import h5py, numpy as np
for name, last in (("filtered-a", 1), ("filtered-b", 1), ("filtered-c", 2), ("filtered-d", 1)):
    with h5py.File("made/%s.h5" % name, "w") as h:
        if name == "filtered-b":
            h["a"] = np.arange(100)  # so that chunks are elsewhere
        x = np.zeros((40, 30), "f8")
        x[39, 29] = last
        d = h.create_dataset("x", x.shape, "f8", chunks=(8, 30), compression=32099,
                             allow_unknown_filter=True, fletcher32=name == "filtered-d")
        for i in range(0, 40, 8):
            d.id.write_direct_chunk((i, 0), x[i : i + 8].tobytes())
        h.create_dataset("c", data=np.array([1, last], "f16"), chunks=(1,))
END
run --diff --array=x --array=c made/filtered-a.h5 made/filtered-b.h5
ok 'wherever they are' test "$status:$(grep -c 'array c and 1 more: both hold the same bytes, but they cannot be read: ' err)" = 0:1
run --diff -q --array=x --array=c made/filtered-a.h5 made/filtered-c.h5
ok 'and others' test "$status:$(grep -c 'array [xc]: .*' err)" = 2:2
run --diff -q --array=x made/filtered-d.h5 made/filtered-a.h5
ok 'and those of fewer filters' test "$status:$(grep -c 'array x: .*' err)" = 2:1
run --list -q --where='bytes!=18' --where='bytes!=0' --array=text --array=same made/others.h5
ok 'which --where knows' test "$(cut -f 2 out)" = text
run --list -q --json --array=text made/others.h5
ok 'nor has JSON' grep -q '"skip": null, "elements": [0-9]*, "bytes": null[,}]' out
run --list -q --json --array=wide --array=scalar made/old.h5
ok 'chunks have no offset' grep -q '"array": "wide", .*"skip": null, "elements": 280000, "bytes": 1120000}' out
run --json -o count --array=wide made/old.h5
ok 'nor do their results' grep -q '"skip": null,' out
run --list -q --json --array=wide --array=scalar made/old.h5
ok 'others do' grep -q '"array": "scalar", .*"skip": [1-9][0-9]*, "elements": 1, "bytes": 8}' out
offset=$(sed -n 's/.*"array": "scalar".*"skip": \([0-9]*\),.*/\1/p' out)
run -q -o sum --array=scalar made/old.h5
cp out found
run -q -o sum -t f64 --format=raw --skip="$offset" --length=1 made/old.h5
ok 'and are where that says' cmp out found
run -q -o sum made/old.h5
copy out wanted
shell 'cat made/old.h5 | gpureduce -q -o sum'
ok 'a pipe' cmp wanted out

# What needs the elements in order, or in any other.
run -q -o sum --axis=0 --array=plain made/pair.h5
is 'along an axis' 0 "$(printf '36\n40\n44\n48\n52\n56')"
run -q -o sum --axis=0 --array=chunked made/pair.h5
is 'along an axis of chunks' 0 "$(printf '36\n40\n44\n48\n52\n56')"
run -q --diff --array=plain made/pair.h5 made/pair.h5
is 'compared' 0 ''
run -q --diff made/pair.h5 made/pair.h5
is 'chunks, too' 0 ''
"$python" "$sources/tests/lib/chunks_check.py" "$GPUREDUCE" 5 "$(shared 60)" >found 2>&1
ok 'whatever the shapes, chunks and filters' test "$?:$(wc -c <found)" = 0:0
show found

# What cannot be had in order; and chunks that are damaged.
run -q -o sum --axis=0 --array=tall made/tall.h5
fails_like 'chunks that are all needed at a time' "made/tall.h5: array tall: reading its chunks in order needs 219[0-9]* bytes of memory; [0-9]* are allowed"
run -q -o max --axis=1 --array=fill made/tall.h5
ok 'chunks that are not there take no memory' test "$status:$(uniq out)" = 0:0.5
run -q --diff made/tall.h5 made/tall.h5
is 'others are compared all the same' 2 '' 'gpureduce: made/tall.h5 and made/tall.h5: array tall: reading its chunks in order needs too much memory'
{ read -r deflated && read -r summed && read -r torn; } <made/places
names_first made/torn.h5 "made/torn.h5: array x: byte $torn: .*"
for how in '-j 1' '-j 3' '-j 2 --chunk-size=1'; do
    # shellcheck disable=SC2086 # several words
    run -q -o sum --axis=0 $how --array=summed made/broken.h5
    fails "a wrong checksum, $how" "made/broken.h5: array summed: byte $summed: the checksum of a chunk is wrong"
    # shellcheck disable=SC2086 # as above
    run -q -o sum --axis=0 $how --array=deflated made/broken.h5
    fails_like "damaged data, $how" "made/broken.h5: array deflated: byte $deflated: .*"
    # shellcheck disable=SC2086 # as above
    run -q --diff $how --array=summed --array=chunked made/broken.h5 made/broken.h5
    is "compared, $how" 2 '' "gpureduce: made/broken.h5: array summed: byte $summed: the checksum of a chunk is wrong
gpureduce: --array=chunked matches no array; there are deflated, plain, summed and whole"
    # shellcheck disable=SC2086 # as above
    run -q -o sum,median $how --total made/broken.h5
    is "two damaged of four, $how" 1 "$(printf '%s\n' NA NA 276 11.5 NA NA 276 11.5 NA NA)" '*'
    ok "whose errors are told, $how" test "$(grep -c '^gpureduce: made/broken.h5: array \(deflated\|summed\): byte ' err)" -eq 2
    # shellcheck disable=SC2086 # as above
    run -q -o sum $how made/broken.h5
    is "in one pass, $how" 1 "$(printf '%s\n' NA 276 NA 276)" '*'
    sed 's,made/,made/mapped-,' err >found
    # shellcheck disable=SC2086 # as above
    run -q -o sum $how made/mapped-broken.h5
    is "mapped, $how" 1 "$(printf '%s\n' NA 276 NA 276)" "$(cat found)"
done
: >parts
for i in 1 2 3; do
    run --partial --shard=$i/3 made/pair.h5
    cat out >>parts
done
run --partial made/pair.h5
ok 'shards have chunked datasets as a whole' sh -c 'sort parts >sorted && sort out | cmp - sorted'

if [ -n "$ZSTD" ]; then
    "$ZSTD" -q made/block.h5 -o block.h5.zst && "$ZSTD" -q made/old.h5 -o old.h5.zst
    for options in '' '--format=hdf5'; do
        for file in old block; do
            # shellcheck disable=SC2086 # one word, or none
            run -q -o sum $options made/$file.h5
            copy out wanted
            # shellcheck disable=SC2086 # one word, or none
            run -q -o sum $options $file.h5.zst
            ok "$file.h5 compressed by zstd $options" cmp wanted out
        done
    done
fi

# Fields of records.
ordered=
for options in '' '-j 3 --chunk-size 16'; do
    # shellcheck disable=SC2086 # none, or several words
    rows_as made/records.tsv "records, ${options:-by default}" run -o $operations $options \
        made/records.h5 --exclude='*.text' --exclude='arrays*'
done
ordered=yes
run -q -o sum made/records.h5 --array=arrays.z
fails_like 'records in an array' "made/records.h5: array arrays.z: type compound is not supported: records in an array, or in many others"
scaled='its attribute scale_factor is not supported for records and complex numbers; --stored ignores attributes'
run -q -o sum made/marked.h5 --array=filled.x
is 'a field that has several fill values' 1 NA \
    'gpureduce: made/marked.h5: array filled.x: elements were never written, and have no fill value or several'
run -q -o sum made/marked.h5 --array='z.*'
is 'a scale of complex numbers' 1 'NA
NA' "gpureduce: made/marked.h5: array z.re and 1 more: $scaled"
run -q -o sum --stored made/marked.h5 --array='z.*'
is 'complex numbers as stored' 0 '4
2'
# shellcheck disable=SC3045 # as above
if (ulimit -v 2000000 && gpureduce --version) >/dev/null 2>&1; then
    shell 'ulimit -v 2000000; gpureduce -q -o max,count made/vast.h5'
    is 'a record larger than memory that was never written' 0 '0
2
0
1073741824'
else
    skip 'a record larger than memory' 'this build needs more memory'
fi
run -q -o sum made/marked.h5 --array=many
is 'many missing values' 1 NA \
    'gpureduce: made/marked.h5: array many: its attribute _FillValue names too many values; --stored ignores attributes'
run -q -o sum made/marked.h5 --array='?o?e'
is 'an empty array of MATLAB' 0 3 \
    'gpureduce: warning: made/marked.h5: skipped array none: an array of MATLAB, which has no elements'

# Elements that were never written, and arrays that cannot be opened: the others have results.
run -o $operations made/unwritten.h5
cut -f 2- out | grep -v "$tab\(NA\|error\)\$" >found
ok 'never written' cmp made/unwritten.tsv found
for name in contiguous_undefined chunked_undefined contiguous_never chunked_never part_undefined part_never; do
    run -q -o sum --array=$name made/unwritten.h5
    ok "nor has it values, $name" grep -q "array $name.*elements were never written, and have no fill value" err
done
run -o $operations made/unreadable.h5
cut -f 2- out | grep -v "$tab\(NA\|error\)\$" >found
ok 'arrays that can be read beside those that cannot' cmp made/unreadable.tsv found
ok 'an unknown datatype' grep -q 'array g/b: libhdf5: bad version number for datatype message; the file may need a newer libhdf5 than [1-9][0-9.]*$' err
ok 'an index of chunks that is damaged' grep -q 'array h.*libhdf5: ' err
run -q -o sum --array=a --array=z made/unreadable.h5
is 'those that can, by name' 0 '6
6'
run -q --list made/unreadable.h5
ok 'a list of all' test "$status:$(cut -f 2,3 out | tr '\t\n' ': ')" = '0:a:i32 g/b:unknown g/c:i32 h:f64 z:i32 '

# What was never written is not read.
for options in '' '-j 1' '-j 7 --chunk-size 100'; do
    # shellcheck disable=SC2086 # none, or several words
    as_numpy "2^40 elements, ${options:-by default}" huge huge --nan=skip $options \
        -o sum,min,max,argmin,argmax,nan,count,zeros,negatives,sumsq,var,l1,q0.25,median,p99
    [ -z "$sanitizer" ] || break
done
run -q -o sum,median,count,nan made/nans.h5
is '2^40 NaNs' 0 'nan
nan
1099511627776
1099511627776'
run -q -o sum --nan=error made/nans.h5
fails '2^40 NaNs that are errors' 'made/nans.h5: array nans: element 0 is a NaN'
run -q -o count --histogram=2,0,1 --array=sparse made/huge.h5
is 'a histogram of 2^40 elements' 0 '1099511627776
1
0
1099511627774
1
0'
run -q -o sum,argmax --length=1073741832 --array=sparse made/huge.h5
is 'the first of 2^40 elements' 0 '536870912.5
0'
for options in --axis=0 '--axis=-1'; do
    for array in contiguous sparse; do
        # shellcheck disable=SC2086 # several words
        run -q -o sum $options --array=$array made/huge.h5
        ok "refused, $options of $array" test "$status:$(wc -l <err)" = 1:1
    done
done
run -q --diff --array=long made/huge.h5 made/huge.h5
is 'nor are they compared' 2 '' 'gpureduce: made/huge.h5: array long: it has 1099511627776 elements, most of which were never written: these are not read one by one'

# Groups within each other.
run -q -o sum made/deep.h5
is 'a dataset in 4000 groups' 0 4000
run -q -o sum --total made/chain.h5
ok '2000 groups with a dataset each' test "$status:$(wc -l <out):$(tail -n 1 out)" = 0:2001:1999000

# A shape of too many elements is an error of its array, not of the file.
"$python" - <<'END'
import h5py, struct
with h5py.File("vast.h5", "w") as h:
    h["a"] = [1, 2]
    h.create_dataset("b", (1234567, 6), "f4", chunks=(100, 6), maxshape=(None, 6))
with open("vast.h5", "rb") as h:
    data = h.read()
with open("vast.h5", "wb") as h:
    h.write(data.replace(struct.pack("<q", 1234567), struct.pack("<q", 1 << 62)))
END
run -q -o sum vast.h5
ok 'a vast shape beside others' test "$status:$(tr '\n' : <out):$(cat err)" = \
    '1:3:NA::gpureduce: vast.h5: array b: more elements than any file has'

# Datasets that are damaged beside one that is not: a shape that no longer is one, and one beyond its maximum.
"$python" - <<'END'
import h5py, struct
with h5py.File("shapes.h5", "w") as h:
    h["a"] = [1, 2]
    h.create_dataset("b", (3, 15), "i2")
with open("shapes.h5", "rb") as h:
    data = h.read()
with open("untold.h5", "wb") as h:
    h.write(data.replace(bytes((1, 0, 40, 0)), bytes((3, 0, 40, 0))))
with open("beyond.h5", "wb") as h:
    h.write(data.replace(struct.pack("<4q", 3, 15, 3, 15), struct.pack("<4q", 7, 15, 3, 15)))
END
run -q -o sum untold.h5
ok 'a dataset that looks like a datatype' test "$status:$(tr '\n' : <out)$(grep -c '^gpureduce: untold.h5: array b: libhdf5: ' err)" = 1:3:NA:1
run -q -o sum beyond.h5
is 'a shape beyond its maximum' 1 '3
NA' 'gpureduce: beyond.h5: array b: its axis 0 has 7 elements, of at most 3'

# Damage: an error that says so, or a result; never a crash, and no word of the library's own. Each
# file is reduced by one process, which goes on with the next.
run -q -o sum made/damage/*
ok 'damaged files' test "$status" -eq 1
ok 'each with a line' test "$(grep -vc '^gpureduce: \(warning: \)\{0,1\}made/damage/[a-z0-9]*: ' err)" -eq 0
ok 'of which the library refuses some' test "$(grep -c ': an HDF5 file: ' err)" -ge 10

# Dimensions that cannot be read: they say whether numbers that netCDF fills a variable with are missing.
"$python" - <<'END'
import h5py, numpy
with h5py.File("variable.h5", "w") as h:
    h["x"] = [1, 2]
    h["x"].make_scale("x")
    h["x"].attrs["_Netcdf4Dimid"] = numpy.int32(0)
    h["v"] = numpy.array([1, 9.969209968386869e36], "f4")
    h["v"].dims[0].attach_scale(h["x"])
END
run -q -o sum,missing --array=v variable.h5
is 'a variable of netCDF by its dimensions' 0 '1
1'
LC_ALL=C sed 's/GCOL/GCOM/' variable.h5 >damaged.h5
run -q -o sum --array=v damaged.h5
fails_like 'a variable whose dimensions cannot be read' 'damaged.h5: array v: libhdf5: .*'

# A file that sends libhdf5 in circles: with the program ends the one that calls it. Both hold the FIFO open.
mkfifo held
"$python" - <<'END'
import h5py
with h5py.File("circles.h5", "w") as h:
    h["a"] = [1, 2]
    h["a"].attrs["_Unsigned"] = "true"
with open("circles.h5", "r+b") as h:
    h.seek(h.read().index(b"GCOL") + 40)
    h.write(bytes(24))
END
for signal in KILL TERM; do
    timeout --foreground -s $signal 1 "$program" -q -o sum circles.h5 9>held &
    ok "a program that is gone leaves none behind, $signal" timeout 30 cat held
    wait $!
    [ $? -ge 124 ] || skip 'which was busy' 'this libhdf5 ends'
done

# Filters of other makers: chunks that are put together by hand, and such that are damaged.
"$python" "$sources/tests/lib/make_filters.py" filters.h5 \
    "$(gpureduce --version | sed -n 's/^szip: //p')" >cases
ok 'there are cases of filters' test "$(grep -c "${tab}36$tab" cases)" -ge 15
run -q -o sum filters.h5
ok 'filters: all at once' test "$status:$(cat out)" = "1:$(cut -f 2 cases)"
while IFS=$tab read -r name sum wrong; do
    share_takes_next || continue
    run -q -o sum --array="$name" filters.h5
    if [ -n "$wrong" ]; then
        ok "filters: $name" grep -q -x "gpureduce: filters.h5: array $name: .*$wrong\(; h5repack .*\)\{0,1\}" err
    else
        is "filters: $name" 0 "$sum"
    fi
done <cases

# Elements that are said to be larger than chunks, which libhdf5 then leaves as they are: nobody
# counts to that size.
"$python" - >sum <<'END'
import h5py
with h5py.File("shuffled.h5", "w") as f:
    f.create_dataset("a", data=[i % 7 for i in range(400)], dtype="u1", chunks=(4,), shuffle=True)
with open("shuffled.h5", "r+b") as h:
    h.seek(h.read().index(b"shuffle\0\1\0\0\0") + 8)
    h.write(b"\xff" * 4)
with h5py.File("shuffled.h5") as f:
    print(f["a"][...].sum())
END
shell 'timeout 60 gpureduce -q -o sum shuffled.h5'
is 'shuffled elements that are larger than chunks' 0 "$(cat sum)"

# A filter with a long name, which has an address in it.
if "$python" - 2>/dev/null <<'END'
import h5py, hdf5plugin, numpy
with h5py.File("zfp.h5", "w") as f:
    f.create_dataset("a", data=numpy.arange(100, dtype="f4"), chunks=(10,), **hdf5plugin.Zfp(rate=8))
END
then
    run -q -o sum zfp.h5
    fails_like 'the whole name of a filter' \
        'zfp.h5: array a: HDF5 filter H5Z-ZFP-.* (32013) is not supported; h5repack -f NONE removes filters'
else
    skip 'the whole name of a filter' 'there is no hdf5plugin'
fi

finish
