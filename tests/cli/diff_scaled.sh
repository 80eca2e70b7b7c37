#!/bin/sh
# --diff of numbers that have scales, offsets and missing values: random variables of two netCDF-4 files, against
# fractions. STRESS_SEED draws other ones.

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

if gpureduce --version | grep -qx 'HDF5: none'; then
    skip 'attributes' 'built without libhdf5'
    finish
fi
seed=${STRESS_SEED:-1}
make_files diff_scaled.py 'files made by netCDF4' "$seed"
mv made/* .

ok 'there are some' test "$(wc -l <scaled.tsv)" -gt 100
for how in '' '-j 1' '-j 3 --chunk-size=1000' '-j 2 --chunk-size=70000'; do
    # shellcheck disable=SC2086 # none, or several words
    differs_as scaled.tsv "seed $seed, ${how:-by default}" $how a.nc b.nc
done
while read -r asked; do
    differs_as "$asked.tsv" "with $asked" --tolerance="$asked" a.nc b.nc
done <scaled.tolerances
for how in '-j 1' '-j 3 --chunk-size=1000'; do
    # shellcheck disable=SC2086 # several words
    run --diff --cast --tsv --number=hex $how c.nc d.nc
    cut -f 1,6-8,12,16- out >rows
    ok "casts, $how" cmp cast.tsv rows
    cmp -s cast.tsv rows || diff cast.tsv rows | head -n 10 | sed 's/^/#   /'
done
"$python" - <<'END'
import netCDF4
import numpy

def write(path, dtype, values, scale=None):
    with netCDF4.Dataset(path, "w") as out:
        out.createDimension("n", 4)
        x = out.createVariable("x", dtype, ("n",))
        x.set_auto_maskandscale(False)
        if scale:
            x.scale_factor, x.add_offset = scale
        x[:] = values

write("made-of.nc", "f4", [3, 3.25, 4.5, -1])
write("packed.nc", "i2", [0, 0, 3, -8], (0.5, 3.0))
write("other.nc", "i2", [0, 1, 3, -8], (0.5, 3.0))
write("long.nc", "i8", [0, 0, 3, -8], (0.5, 3.0))
write("unpacked.nc", "f4", [3, 3, 4.5, -1])
write("huge.nc", "f8", 4 * [1.75 * 2.0**1023])
greatest, infinity = 0x7fefffffffffffff, 0x7ff0000000000000
write("half.nc", "f8", numpy.array([infinity + 1, infinity, 0, greatest], "u8").view("f8"), (0.5, 3.0))
END
run --diff -q --cast made-of.nc packed.nc
is 'packed, to nearest' 0 ''
run --diff -q --cast packed.nc unpacked.nc
is 'unpacked' 0 ''
run --diff -q --cast made-of.nc other.nc
is 'packed otherwise' 1 ''
run --diff --tsv --cast made-of.nc other.nc
ok 'how' test "$(sed -n 2p out | cut -f 6-8,12,17-)" = "1${tab}1${tab}0.5${tab}1${tab}0${tab}3${tab}1"
run --diff --tsv --cast huge.nc half.nc
ok 'a NaN rounds no number beyond the greatest' test "$(sed -n 2p out | cut -f 6,7,16-)" = "3${tab}0${tab}1${tab}0${tab}1${tab}1"
run --diff -q --cast --tolerance=ulp:1 made-of.nc other.nc
is 'within a unit of what is stored' 0 ''
run --diff -q --cast made-of.nc long.nc
is 'packed into i64' 2 '' 'gpureduce: made-of.nc and long.nc: array x: casts to i64 of numbers with another scale or offset are not supported; --stored ignores attributes'
run --diff -q --cast --stored made-of.nc long.nc
is 'as they are stored' 1 ''
run --diff -q a.nc b.nc
is 'a verdict' 1 ''
run --diff -q a.nc a.nc
is 'the same' 0 ''
run --diff --json --array="$(sed -n '2s/\t.*//p' scaled.tsv)" a.nc b.nc
ok 'missing values in JSON' grep -q '"missing_values": \[.*"other_missing_values": \[.*"missing": [0-9]*, "missing_both": [0-9]*' out
run --diff --tolerance=ulp:1 a.nc a.nc
is 'a tolerance in ulps, of one scale' 0 '' '*'
run --diff --tolerance=ulp:1 --array="$(cut -f 1,12 scaled.tsv | sed -n "s/${tab}NA\$//p" | sed 1q)" a.nc b.nc
ok 'and of two' grep -q '^gpureduce: a.nc and b.nc: array v[0-9]*: a tolerance in ulps needs \(two arrays of one scale and offset; --stored ignores attributes\|a type that has all numbers of [a-z0-9]* and [a-z0-9]*\)$' err

finish
