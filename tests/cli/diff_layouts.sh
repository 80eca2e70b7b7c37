#!/bin/sh
# --diff of one array in several layouts: C and Fortran order, and files that other packages wrote of it. STRESS_SEED
# draws other shapes.
# Tags: threads

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

seed=${STRESS_SEED:-1}
make_files make_layouts.py 'layouts' "$seed"
mv made/* .

# found A B: how many elements differ, and the first.
found() {
    run --diff --tsv --nan=error "$how" "$1" "$2"
    sed -n 2p out | cut -f 6,7 | sed 's/ .*//'
}
# all_same PREFIX PAIR...: the two files of each pair hold the same; PREFIX and pair are the name of the case.
all_same() {
    prefix=$1
    shift
    for pair; do
        run --diff -q "${pair% *}" "${pair#* }"
        is "$prefix$pair" 0 ''
    done
}
for how in -j2 --chunk-size=100; do
    while read -r n count first first_fortran; do
        share_takes_next || continue
        ok "$n, C and Fortran order, $how" test "$(found "$n.a.npy" "$n.bf.npy")" = "$count$tab$first"
        ok "$n, Fortran and C order, $how" test "$(found "$n.af.npy" "$n.b.npy")" = "$count$tab$first_fortran"
        run --diff -q "$how" "$n.a.npy" "$n.af.npy"
        is "$n, the same, $how" 0 ''
        run --diff -q "$how" "$n.a.npy" "$n.bf.npy"
        is "$n, a verdict, $how" 1 ''
    done <layouts.tsv
done
run --diff -q 5.a.npy 5.bf.npy
is 'nothing' 0 ''
# A side that is compressed, or comes from a pipe, or both.
has_zlib && zlib=yes || zlib=
for n in 1 3 5; do
    for name in a bf af; do
        gzip -nc "$n.$name.npy" >"$n.$name.npy.gz"
        [ -z "$ZSTD" ] || "$ZSTD" -qf "$n.$name.npy"
    done
    for how in -j1 --chunk-size=100; do
        for end in ${zlib:+.gz} ${ZSTD:+.zst}; do
            for pair in "$n.a.npy$end $n.bf.npy" "$n.a.npy $n.bf.npy$end" "$n.a.npy$end $n.bf.npy$end"; do
                share_takes_next || continue
                expected=$(sed -n "s/^$n \([0-9]*\) \([0-9]*\) .*/\1$tab\2/p" layouts.tsv)
                ok "$pair, $how" test "$(found "${pair% *}" "${pair#* }")" = "$expected"
            done
            run --diff -q "$how" "$n.af.npy$end" "$n.a.npy"
            is "$n.af.npy$end, the same, $how" 0 ''
        done
    done
done
shell 'cat 3.bf.npy | gpureduce --diff -q - 3.b.npy && cat 3.b.npy | gpureduce --diff -q 3.bf.npy -'
is 'a pipe' 0 ''
# The first elements are others in another order.
why='one is in Fortran order, the other in C order; these cannot be compared if both are pipes, if their type is not read, if only the first elements are asked for, or if the one that is compressed or in chunks needs too much memory'
[ -z "$zlib" ] || gzip -nc 3.bf.npy >turned.npy.gz
for other in 3.bf.npy ${zlib:+turned.npy.gz}; do
    run --diff -q --length=1 3.b.npy "$other"
    is "the first elements, $other" 2 '' "gpureduce: 3.b.npy and $other: $why"
    run --diff -q --length=1000000 3.b.npy "$other"
    is "a length beyond the end, $other" 0 ''
done
if [ -n "$zlib" ]; then
    head -c 20000 3.af.npy | gzip -nc >cut.npy.gz
    run --diff -q 3.a.npy cut.npy.gz
    ok 'cut off' test "$status:$(grep -c '^gpureduce: cut.npy.gz: ends at byte 20000 ' err)" = 2:1
    for order in True False; do
        npy 1 "{'descr': '<f4', 'fortran_order': $order, 'shape': (1048576, 1048576), }" | gzip -nc >"$order.npy.gz"
    done
    run --diff -q True.npy.gz False.npy.gz
    ok 'too large for memory' test "$status:$(grep -c 'needs too much memory$' err)" = 2:1
fi
if command -v mkfifo >/dev/null; then
    mkfifo one.pipe other.pipe
    cat 3.a.npy >one.pipe &
    cat 3.af.npy >other.pipe &
    run --diff -q one.pipe other.pipe
    is 'two pipes' 2 '' "gpureduce: one.pipe and other.pipe: $why"
    wait
fi
for shape in '(5, 5, 0)' '(3, 0, 5)' '(0, 3, 4)'; do
    for order in True False; do
        npy 1 "{'descr': '<f4', 'fortran_order': $order, 'shape': $shape, }" >"$order.npy"
    done
    run --diff True.npy False.npy
    is "no elements, $shape" 0 '' '*'
    run --diff False.npy True.npy
    is "no elements in C and Fortran order, $shape" 0 '' '*'
done
# All results are those of arrays in one order.
for n in 3 4; do
    run --diff --json "$n.a.npy" "$n.b.npy"
    sed 's/"other": [^,]*//' out >expected
    run --diff --json "$n.a.npy" "$n.bf.npy"
    sed 's/"other": [^,]*//' out >turned
    ok "$n, all results" cmp expected turned
done

# Packages that write one array in their own ways.
if find_python 'numpy, safetensors, torch' 2>/dev/null && "$python" - <<'END'; then
import numpy, torch, safetensors.numpy, safetensors.torch, os
rng = numpy.random.default_rng(1)
t = {f"layers.{i}.{n}": rng.standard_normal((33, 7 + i)).astype("f4") for i in range(6) for n in ("weight", "bias")}
os.makedirs("one"); os.makedirs("sharded")
safetensors.numpy.save_file(t, "one/model.safetensors")
names = sorted(t, reverse=True)
for i in range(3):
    safetensors.numpy.save_file({n: t[n] for n in names[i::3]}, f"sharded/model-{i + 1:05}-of-00003.safetensors")
torch.save({n: torch.from_numpy(x) for n, x in t.items()}, "model.pt")
t["layers.3.bias"][32, 9] += 1
torch.save({n: torch.from_numpy(x) for n, x in t.items()}, "other.pt")
END
    run --diff -q one sharded
    is 'safetensors, resharded' 0 ''
    run --diff -q model.pt sharded
    is 'PyTorch and safetensors' 0 ''
    run --diff --tsv other.pt one
    ok 'and another element' test "$(sed -n '2,$p' out | cut -f 1,2,6,7)" = "layers.3.bias${tab}values${tab}1${tab}329 [32, 9]"
else
    skip 'safetensors and PyTorch' 'numpy, safetensors or torch is missing'
fi
if ! gpureduce --version | grep -qx 'HDF5: none' && find_python 'numpy, netCDF4, h5py' 2>/dev/null && "$python" - <<'END'; then
import h5py, netCDF4, numpy
x = numpy.random.default_rng(2).standard_normal((40, 50, 6)).astype("f4")
for path, form, extra in (("3.nc", "NETCDF3_CLASSIC", {}), ("4.nc", "NETCDF4", {"zlib": True, "chunksizes": (7, 50, 3)})):
    with netCDF4.Dataset(path, "w", format=form) as out:
        for i, size in enumerate(x.shape):
            out.createDimension(f"d{i}", size)
        out.createVariable("x", "f4", ("d0", "d1", "d2"), **extra)[:] = x
with h5py.File("chunked.h5", "w") as out:
    out.create_dataset("x", data=x, chunks=(16, 16, 2), compression="gzip", shuffle=True)
numpy.save("fortran.npy", numpy.asfortranarray(x))
numpy.savez_compressed("fortran.npz", x=numpy.asfortranarray(x))
for path, name in (("contiguous.h5", "x"), ("renamed.h5", "y")):
    with h5py.File(path, "w") as out:
        out.create_dataset(name, data=x)
numpy.save("x.npy", x)
END
    all_same '' '3.nc 4.nc' '4.nc chunked.h5' 'chunked.h5 contiguous.h5' 'x.npy 4.nc' '3.nc contiguous.h5' \
        'fortran.npy chunked.h5' '4.nc fortran.npy' 'fortran.npz chunked.h5' 'fortran.npz 3.nc' 'x.npy fortran.npz'
    for file in chunked.h5 4.nc fortran.npz; do
        run --diff --tsv "$file" renamed.h5
        ok "$file, with another name" test "$(cut -f 1,2 out | tail -n +2)" = "x|y${tab}renamed"
    done
else
    skip 'netCDF and HDF5' 'built without libhdf5, or netCDF4 or h5py is missing'
fi
if ! gpureduce --version | grep -qx 'HDF5: none' && find_python 'netCDF4, xarray, zarr' 2>/dev/null && "$python" -W ignore - <<'END'; then
import numpy, xarray
rng = numpy.random.default_rng(4)
x = xarray.Dataset({"t": (("z", "y"), rng.standard_normal((30, 40)).astype("f4")), "n": ("y", numpy.arange(40, dtype="i4"))})
x.to_netcdf("x3.nc", format="NETCDF3_64BIT", engine="netcdf4")
x.to_netcdf("x4.nc", format="NETCDF4", engine="netcdf4", encoding={"t": {"zlib": True, "chunksizes": (7, 40)}})
x.to_zarr("x.zarr", encoding={"t": {"chunks": (11, 40)}})
x["t"][29, 39] += 1
x.to_zarr("y.zarr", encoding={"t": {"chunks": (30, 9)}})
END
    all_same 'xarray: ' 'x3.nc x4.nc' 'x4.nc x.zarr' 'x.zarr x3.nc'
    run --diff --tsv y.zarr x4.nc
    ok 'xarray: another element' test "$(sed -n '2,$p' out | cut -f 1,2,6,7)" = "t${tab}values${tab}1${tab}1199 [29, 39]"
else
    skip 'xarray' 'built without libhdf5, or xarray, zarr or netCDF4 is missing'
fi
if find_python 'numpy, zarr' 2>/dev/null && "$python" - <<'END'; then
import numpy, zarr
x = numpy.random.default_rng(3).standard_normal((9, 11, 4)).astype("f4")
numpy.save("z.npy", x)
numpy.save("zf.npy", numpy.asfortranarray(x))
zarr.create_array(store="f.zarr", shape=x.shape, chunks=(4, 5, 4), dtype="f4", order="F", zarr_format=2)[:] = x
x[3, 4, 2] += 1
zarr.create_array(store="other.zarr", shape=x.shape, chunks=x.shape, dtype="f4", order="F", zarr_format=2)[:] = x
sparse = zarr.open_group("sparse.zarr", mode="w", zarr_format=2)
s = sparse.create_array("s", shape=(19, 11), chunks=(4, 5), dtype=">f4", fill_value=2.5)
s[3, 4] = 1
numpy.savez("sparse.npz", other=s[:])
END
    all_same '' 'f.zarr zf.npy' 'zf.npy f.zarr' 'z.npy f.zarr'
    run --diff --tsv zf.npy other.zarr
    ok 'Fortran order and Zarr' test "$(sed -n 2p out | cut -f 6,7)" = "1${tab}237 [3, 4, 2]"
    run --diff --tsv sparse.zarr sparse.npz
    ok 'chunks that are not stored' test "$(cut -f 1,2 out | tail -n +2)" = "s|other${tab}renamed"
else
    skip 'Zarr' 'zarr is missing'
fi

finish
