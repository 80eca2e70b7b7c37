#!/bin/sh
# netCDF-4: files made by netCDF4, against what it returns: unlimited dimensions, attributes that change what numbers
# mean, dimensions that are no variables.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

if gpureduce --version | grep -qx 'HDF5: none'; then
    skip 'netCDF-4' 'built without libhdf5'
    finish
fi
make_files make_netcdf.py 'files made by netCDF4'

# as_netcdf NAME FILE EXPECTED OPTIONS...: prints of made/FILE what stands in made/EXPECTED.
as_netcdf() {
    as_name=$1 as_file=$2 as_expected=made/$3
    shift 3
    rows_as "$as_expected" "$as_name" run -o sum,min,max,argmin,argmax,nan,count "$@" "made/$as_file"
}

for options in '' '-j 1' '-j 3 --chunk-size 16'; do
    # shellcheck disable=SC2086 # none, or several words
    as_netcdf "unlimited dimensions, ${options:-by default}" unlimited.nc unlimited.tsv --stored $options
    # shellcheck disable=SC2086 # as above
    as_netcdf "elements that were never written are missing, ${options:-by default}" unlimited.nc filled.tsv $options
done
as_netcdf 'records along an unlimited dimension' pairs.nc pairs.tsv --stored
run -q --diff --stored made/unlimited.nc made/whole.h5
is 'in order, too' 0 ''
as_netcdf 'scales that are not netCDF'"'"'s' scales.h5 scales.tsv

as_netcdf 'numbers as stored' attributes.nc attributes.tsv --stored
cat made/errors made/scaled | cut -f 1 | sed 's/^/--exclude=/' >excluded
as_excluding() {
    while read -r option; do
        set -- "$@" "$option"
    done <excluded
    as_netcdf "$@"
}
as_excluding 'missing values, and attributes without effect' attributes.nc meaning.tsv
while IFS="$tab" read -r name why; do
    ok "a warning of $name" grep -q "warning: made/attributes.nc: ignored attributes of array .*: $why$" err
done <made/ignored
ok 'no other warnings' test "$(grep -c warning err)" -eq "$(cut -f 2 made/ignored | sort -u | wc -l)"
while IFS="$tab" read -r name why; do
    run -q -o sum --array="$name" made/attributes.nc
    ok "attributes of $name" grep -q "array $name: $why; --stored ignores attributes" err
    run -q -o sum --axis=0 --stored --array="$name" made/attributes.nc
    cp out found
    run -q -o sum --stored --array="$name" made/attributes.nc
    ok "as stored, along an axis, $name" cmp out found
done <made/errors
ok 'there are some' test -s made/errors
run -q --histogram=exponent --array=packed made/attributes.nc
ok 'exponents of scaled numbers' grep -q 'array packed: it has a scale or an offset, and exponents are those of stored' err
run -q -o min,max made/tiny.h5
is 'numbers below 0 that are rounded to it' 0 "$(printf '%s\n' -0 -0)"
run -q -o min,max --axis=1 made/tiny.h5
is 'along an axis, too' 0 "$(printf -- '-0\t-0\n-0\t-0\n-0\t-0\n-0\t-0')"
as_netcdf 'default fill values of an old file' old.nc old.tsv
run --list -v made/attributes.nc
ok 'listed with missing values' test "$(grep "${tab}range$tab" out | cut -f 8)" = '-32768 to -1, 10 to 32767'
ok 'and with scales' test "$(grep "${tab}packed$tab" out | cut -f 9)" = '0.01 x + 273.15'
run --json -o count --array=packed made/attributes.nc
ok 'which are in JSON' grep -q ', "scale_factor": 0.01, "add_offset": 273.15, ' out
run -v -o count --array=packed made/attributes.nc
ok 'and told by -v' grep -qx '  scale     0.01 x + 273.15' err
run --list -q --stored --array=packed made/attributes.nc
ok 'listed as stored' grep -q "${tab}packed${tab}i16${tab}\[12\]${tab}" out
run -q --total -o count --stored made/attributes.nc
ok 'a total' test "$(tail -n 1 out)" = $((12 * ($(wc -l <made/attributes.tsv) - 1)))

run -q -o count --stored --fail-on=empty made/unlimited.nc made/dimensions.nc
ok 'dimensions are no arrays' test "$status:$(wc -l <out):$(wc -c <err)" = "0:$(($(wc -l <made/unlimited.tsv) - 1)):0"
run -q --list made/dimensions.nc
is 'and are not listed' 0 ''
run -q --list made/names4.nc
ok 'variables that have names of dimensions' test "$(cut -f 2 out | xargs)" = 'lat low/lat low/x x'
run -q -o sum --array=lat made/names4.nc
is 'by such a name' 0 15
run --diff -q --exclude='low/*' made/names3.nc made/names4.nc
is 'and compared with those of netCDF-3' 0 ''
cp made/names4.nc unsaid.nc
"$python" -c 'import h5py; del h5py.File("unsaid.nc", "r+").attrs["_NCProperties"]'
run -q --list unsaid.nc
ok 'in a file that does not say that it is netCDF' test "$(cut -f 2 out | xargs)" = 'lat low/lat low/x x'
finish
