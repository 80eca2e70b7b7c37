#!/bin/sh
# netCDF's formats of before HDF5: files made by netCDF4 and scipy, against what was written and netCDF4's masks.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

make_files make_netcdf3.py 'files made by netCDF4'

ordered=
operations=sum,min,max,argmin,argmax,nan,count
for file in made/*.nc; do
    name=${file##*/}
    name=${name%.nc}
    for options in '' '-j 1' '-j 3 --chunk-size 16'; do
        share_takes_next || continue
        # shellcheck disable=SC2086 # none, or several words
        rows_as "made/$name.stored.tsv" "$name, as stored, ${options:-by default}" run --tsv --skip-unsupported --stored -o $operations $options "$file"
    done
    rows_as "made/$name.stored.tsv" "$name, in a pipe" shell "cat $file | gpureduce --tsv --stored -o $operations"
    [ ! -f "made/$name.tsv" ] || rows_as "made/$name.tsv" "$name" run --tsv -o $operations "$file"
done

for kind in cdf1 cdf2 cdf5; do
    file=made/axes-$kind.nc
    for array in i2x i2y f4x f4y f8x f8y; do
        for axis in 0 1; do
            share_takes_next || continue
            run -q --stored -o sum,max --axis=$axis --array=$array "$file"
            ok "$kind, $array along axis $axis" cmp "made/axes-$kind.$array.axis$axis" out
        done
    done
    rows_as "made/axes-$kind.quantiles.tsv" "$kind, quantiles" run --tsv --stored -o q0.25,median "$file"
    run --diff --stored "$file" "made/axes-$kind.npz"
    ok "$kind, no differences" test "$status:$(grep -c . out)" = 0:0
    run -q --stored --total -o sum,count,argmax "$file"
    cp out total
    run -q --total -o sum,count,argmax "made/axes-$kind.npz"
    ok "$kind, a total" cmp out total
    run -q --stored --array=f4x --length=7001 -o sum,argmax "$file"
    cp out length
    run -q --array=f4x --length=7001 -o sum,argmax "made/axes-$kind.npz"
    ok "$kind, a part" cmp out length
done
for i in 1 2 3 4; do
    run --partial --stored --shard=$i/4 -o $operations made/long-cdf5.nc
    cat out
    grep -o '"array":"[^"]*"' out | sort -u >>shared
done >shards
ok 'shards share records' test "$(sort shared | uniq -c | grep -c ' 4 ')" = 4
run --merge --tsv -o $operations shards
cut -f 2,3,5- out >found # without the shape, which partial results do not have
cut -f 1,2,4- made/long-cdf5.stored.tsv >expected
ok 'and together have all of them' cmp expected found

# Truncated: within the records, and within the header.
size=$(wc -c <made/axes-cdf5.nc)
head -c $((size - 1000)) made/axes-cdf5.nc >cut.nc
run -q cut.nc
fails_like 'truncated in a record' 'cut.nc: a netCDF file: byte [0-9]*: variable [a-z0-9]*: truncated inside record 39 of 40, each of 42700 bytes'
head -c 100 made/axes-cdf5.nc >cut.nc
run -q cut.nc
fails 'truncated in the header' 'cut.nc: a netCDF file: byte 100: the file ends within its header'

# A pipe whose header does not say how many records follow.
{ head -c 4 made/records6-cdf1.nc && printf '\377\377\377\377' && tail -c +9 made/records6-cdf1.nc; } >streaming.nc
rows_as made/records6-cdf1.stored.tsv 'records that are counted by the size of the file' run --tsv --stored -o $operations streaming.nc
rows_as made/records6-cdf1.stored.tsv 'and in a pipe' shell "cat streaming.nc | gpureduce --tsv --stored -o $operations"
finish
