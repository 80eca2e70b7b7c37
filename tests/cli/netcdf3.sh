#!/bin/sh
# netCDF's formats of before HDF5: files made by netCDF4 and scipy, against what was written and netCDF4's masks.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

if ! find_python 'netCDF4'; then
    skip 'files made by netCDF4' 'netCDF4 is missing'
    finish
fi
mkdir made
"$python" "$sources/tests/lib/make_netcdf3.py" made 2>made.err || { fail 'make_netcdf3.py' && show made.err; }

# as_made NAME EXPECTED COMMAND...: prints what stands in made/EXPECTED, but for the file's name and the order.
as_made() {
    as_name=$1 as_expected=made/$2
    shift 2
    "$@"
    { head -n 1 out && sed 1d out | LC_ALL=C sort -t "$tab" -k 2; } | cut -f 2- >found
    ok "$as_name" cmp "$as_expected" found
    cmp -s "$as_expected" found || { diff "$as_expected" found | head -n 5 | sed 's/^/# /' && show err; }
}

operations=sum,min,max,argmin,argmax,nan,count
for file in made/*.nc; do
    name=${file##*/}
    name=${name%.nc}
    for options in '' '-j 1' '-j 3 --chunk-size 16'; do
        # shellcheck disable=SC2086 # none, or several words
        as_made "$name, as stored, ${options:-by default}" "$name.stored.tsv" run --tsv --skip-unsupported --stored -o $operations $options "$file"
    done
    as_made "$name, in a pipe" "$name.stored.tsv" shell "cat $file | gpureduce --tsv --stored -o $operations"
    [ ! -f "made/$name.tsv" ] || as_made "$name" "$name.tsv" run --tsv -o $operations "$file"
done
finish
