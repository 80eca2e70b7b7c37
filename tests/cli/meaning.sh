#!/bin/sh
# The meaning of numbers by attributes: a thousand random variables of netCDF and HDF5 files, with missing values,
# valid ranges, _Unsigned and scales, against netCDF4's masks and values of fractions. STRESS_SEED draws other ones.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

if gpureduce --version | grep -qx 'HDF5: none'; then
    skip 'attributes' 'built without libhdf5'
    finish
fi
seed=${STRESS_SEED:-1}
make_files make_meaning.py 'files made by netCDF4' "$seed"
operations=missing,sum,min,max,argmin,argmax,nan,count,mean,var,median,zeros,negatives,l1,sumsq,absmin,absmax,range
total=missing,count,nan,sum,min,max,argmin,argmax,mean,var,zeros,negatives,l1,sumsq,absmin,absmax,range

# as_made NAME FILE EXPECTED OPTIONS...: prints of made/FILE what stands in made/EXPECTED.
as_made() {
    as_name=$1 as_file=$2 as_expected=made/$3
    shift 3
    rows_as "$as_expected" "$as_name" run -o $operations "$@" "made/$as_file"
}

for file in plain-1.nc plain-2.nc scaled-1.nc plain-3.h5 scaled-2.h5 plain-4.nc scaled-3.nc; do
    for options in '' '-j 1' '-j 3 --chunk-size 16'; do
        [ -z "$options" ] || share_takes_next || continue
        # shellcheck disable=SC2086 # none, or several words
        as_made "$file, seed $seed, ${options:-by default}" $file "${file%.*}.tsv" $options
    done
    # shellcheck disable=SC2046 # many options
    run -q --total --nan=skip -o $total $(cat "made/${file%.*}.small") "made/$file"
    tail -n 17 out >found
    ok "$file, seed $seed, total" cmp "made/${file%.*}.total" found
    cmp -s "made/${file%.*}.total" found || diff "made/${file%.*}.total" found | sed 's/^/# /'
    while IFS="$tab" read -r name counts quantile; do
        run -q --json --histogram=7 -o q0.3 --array="$name" "made/$file"
        if ! grep -F "\"counts\": $counts, \"below\": 0, \"above\": 0, " out | grep -qF "\"q0.3\": $quantile, "; then
            echo "$name $counts $quantile" && cat out
        fi
    done <"made/${file%.*}.bins" >found
    ok "$file, seed $seed, bins and a quantile" test ! -s found
    head -n 2 found | sed 's/^/# /'
    as_made "$file, seed $seed, as stored" $file "${file%.*}.stored.tsv" --stored
    ok 'without a word' test "$(grep -c warning err)" -eq 0
done
finish
