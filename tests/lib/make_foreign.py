#!/usr/bin/env python3
"""make_foreign.py DIRECTORY: writes files of formats that gpureduce does not read, each by the
format's own package, into DIRECTORY, and a line for each to standard output: the file, a tab, and
what gpureduce calls it. A line that begins with # names a package that is missing. bfloat16 arrays
go into DIRECTORY too, as "bf16", a tab, the file, a tab and the exact sum."""

import sys

try:
    import bz2
    import gzip
    import importlib
    import io
    import json
    import lzma
    import os
    import pickle
    import sqlite3
    import struct
    import tarfile
    import wave
    import zipfile
except ImportError as error:  # a Python without all of its own library
    print(f"# python3: {error}")
    sys.exit(0)

directory = sys.argv[1]


def path(name):
    return os.path.join(directory, name)


def made(name, what):
    if os.path.exists(path(name)):
        print(f"{name}\t{what}")


def package(*names):
    """The modules, or None where one is missing."""
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError as error:
        print(f"# {names[-1]}: {error}")
        return None


def attempt(function):
    """Runs a function; what a package cannot do in this version is said, not fatal."""
    try:
        function()
    except Exception as error:  # whatever a package raises
        print(f"# {function.__name__}: {type(error).__name__}: {error}")


#
# Python's own.
#
values = [0.5 * i - 7 for i in range(5000)]
floats = struct.pack("<5000f", *values)
for name, opener, what in (
    ("x.gz", gzip.open, "a gzip file"),
    ("x.xz", lzma.open, "an xz file"),
    ("x.bz2", bz2.open, "a bzip2 file"),
):
    with opener(path(name), "wb") as f:
        f.write(floats)
    made(name, what)
with bz2.open(path("empty.bz2"), "wb") as f:
    pass
made("empty.bz2", "a bzip2 file")
with zipfile.ZipFile(path("x.zip"), "w") as z:
    z.writestr("x.f32", floats)
made("x.zip", "a zip archive")
for format, name in ((tarfile.USTAR_FORMAT, "u.tar"), (tarfile.GNU_FORMAT, "g.tar"),
                     (tarfile.PAX_FORMAT, "p.tar")):
    with tarfile.open(path(name), "w", format=format) as t:
        member = tarfile.TarInfo("x.f32")
        member.size = len(floats)
        t.addfile(member, io.BytesIO(floats))
    made(name, "a tar archive")
for protocol in range(6):
    for kind, value in (("list", values), ("dict", {"w": values})):
        with open(path(f"{kind}{protocol}.pickle"), "wb") as f:
            pickle.dump(value, f, protocol=protocol)
        made(f"{kind}{protocol}.pickle", "a Python pickle")
with wave.open(path("x.wav"), "wb") as w:
    w.setparams((1, 2, 44100, 0, "NONE", ""))
    w.writeframes(floats)
made("x.wav", "a WAV file")
with sqlite3.connect(path("x.sqlite")) as database:
    database.execute("create table t (x real)")
database.close()
made("x.sqlite", "an SQLite database")
with open(path("x.json"), "w") as f:
    json.dump({"values": values}, f)
made("x.json", "a JSON file")
for name, separator in (("x.csv", ","), ("x.tsv", "\t"), ("x.txt", "\n")):
    with open(path(name), "w") as f:
        f.write(separator.join(str(x) for x in values[:500]) + "\n" + "1.5" + separator + "2\n")
    made(name, "a text file of numbers")
with open(path("x.lzma"), "wb") as f:
    f.write(lzma.compress(floats, format=lzma.FORMAT_ALONE))
made("x.lzma", "an lzma file")
text = "time,value\n" + "".join(f"{i},{x}\n" for i, x in enumerate(values))
for encoding in ("utf-16", "utf-32"):
    with open(path(f"{encoding}.csv"), "w", encoding=encoding) as f:
        f.write(text)
    made(f"{encoding}.csv", "a text file in UTF-16 or UTF-32")
with open(path("mark.csv"), "w", encoding="utf-8-sig") as f:
    f.write(text)
made("mark.csv", "a text file")
with open(path("head.csv"), "w") as f:
    f.write("time,value\n" + "".join(f"{i},{x}\n" for i, x in enumerate(values)))
made("head.csv", "a text file")


#
# Other packages.
#
def numpy_files():
    import numpy as np

    x = np.arange(5000, dtype=np.float32)
    np.savetxt(path("np.txt"), x)
    made("np.txt", "a text file of numbers")
    for protocol in range(6):
        with open(path(f"np{protocol}.pickle"), "wb") as f:
            pickle.dump(x, f, protocol=protocol)
        made(f"np{protocol}.pickle", "a Python pickle")


def ml_dtypes_files():
    import ml_dtypes
    import numpy as np

    x = np.arange(-100, 157).astype(ml_dtypes.bfloat16)
    np.save(path("bf16.npy"), x)
    print(f"bf16\tbf16.npy\t{float(x.astype(np.float64).sum())}")


def scipy_files():
    import numpy as np
    import scipy.io
    import scipy.sparse

    x = np.arange(5000, dtype=np.float32)
    scipy.io.savemat(path("x.mat"), {"x": x})
    made("x.mat", "a MATLAB file")
    for name, value in (("v4.mat", x), ("v4s.mat", 1.5), ("v4t.mat", "hello"),
                        ("v4c.mat", x * 1j), ("v4z.mat", scipy.sparse.random(20, 20, 0.1).tocsc())):
        scipy.io.savemat(path(name), {"name": value}, format="4")
        made(name, "a MATLAB 4 file")
    scipy.io.mmwrite(path("x.mtx"), scipy.sparse.random(20, 20, 0.2))
    made("x.mtx", "a Matrix Market file")
    record = scipy.io.FortranFile(path("x.unf"), "w")
    record.write_record(x)
    record.close()
    made("x.unf", "a Fortran file of one record")
    scipy.io.wavfile.write(path("f.wav"), 44100, x / 5000)
    made("f.wav", "a WAV file")
    for version in (1, 2):
        with scipy.io.netcdf_file(path(f"x{version}.nc"), "w", version=version) as f:
            f.createDimension("t", 5000)
            f.createVariable("x", "f4", ("t",))[:] = x
        made(f"x{version}.nc", "a netCDF file")


def netcdf4_files():
    import netCDF4
    import numpy as np

    for kind, what in (("NETCDF3_CLASSIC", "a netCDF file"),
                       ("NETCDF3_64BIT_OFFSET", "a netCDF file"),
                       ("NETCDF3_64BIT_DATA", "a netCDF file")):
        with netCDF4.Dataset(path(kind + ".nc"), "w", format=kind) as f:
            f.createDimension("t", None)
            f.createVariable("x", "f4", ("t",))[:] = np.arange(5000, dtype=np.float32)
        made(kind + ".nc", what)


def nibabel_files():
    import nibabel
    import numpy as np

    x = np.arange(8000, dtype=np.float32).reshape(20, 20, 20)
    nibabel.save(nibabel.Nifti1Image(x, np.eye(4)), path("x.nii"))
    made("x.nii", "a NIfTI file")
    nibabel.save(nibabel.Nifti2Image(x, np.eye(4)), path("x2.nii"))
    made("x2.nii", "a NIfTI-2 file")
    nibabel.save(nibabel.Nifti1Image(x, np.eye(4)), path("x.nii.gz"))
    made("x.nii.gz", "a gzip file")
    nibabel.save(nibabel.Nifti1Pair(x, np.eye(4)), path("pair.hdr"))
    made("pair.hdr", "a NIfTI file")
    nibabel.save(nibabel.MGHImage(x, np.eye(4)), path("x.mgh"))
    made("x.mgh", "an MGH file")
    nibabel.save(nibabel.AnalyzeImage(x, np.eye(4)), path("analyze.hdr"))
    made("analyze.hdr", "an Analyze header")


def astropy_files():
    import numpy as np
    from astropy.io import fits

    fits.PrimaryHDU(np.arange(5000, dtype=np.float32)).writeto(path("x.fits"))
    made("x.fits", "a FITS file")


def pyarrow_files():
    import pyarrow
    import pyarrow.feather
    import pyarrow.orc
    import pyarrow.parquet

    t = pyarrow.table({"x": values})
    pyarrow.parquet.write_table(t, path("x.parquet"))
    made("x.parquet", "a Parquet file")
    pyarrow.parquet.write_table(t.slice(0, 0), path("empty.parquet"))
    made("empty.parquet", "a Parquet file")
    pyarrow.feather.write_feather(t, path("x.feather"))
    made("x.feather", "an Arrow file (or Feather)")
    with pyarrow.ipc.new_stream(path("x.arrows"), t.schema) as w:
        w.write_table(t)
    made("x.arrows", "an Arrow stream")
    pyarrow.orc.write_table(t, path("x.orc"))
    made("x.orc", "an ORC file")
    pyarrow.feather.write_feather(t, path("x1.feather"), version=1)
    made("x1.feather", "a Feather file")


def pandas_files():
    import pandas

    frame = pandas.DataFrame({"x": values, "y": values})
    for version in (114, 118):
        frame.to_stata(path(f"x{version}.dta"), version=version)
        made(f"x{version}.dta", "a Stata file")
    frame.to_csv(path("pd.csv"))
    made("pd.csv", "a text file")
    frame.to_xml(path("x.xml"), parser="etree")
    made("x.xml", "an XML file")


def onnx_files():
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper

    w = numpy_helper.from_array(np.arange(5000, dtype=np.float32), "w")
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [5000])
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [5000])
    node = helper.make_node("Add", ["x", "w"], ["y"], name="add")
    graph = helper.make_graph([node], "graph", [x], [y], [w])
    for name, arguments in (("x.onnx", {}), ("named.onnx", {"producer_name": "pytorch",
                                                            "producer_version": "2.1.0"})):
        onnx.save(helper.make_model(graph, **arguments), path(name))
        made(name, "an ONNX model")


def tifffile_files():
    import numpy as np
    import tifffile

    x = np.arange(4096, dtype=np.float32).reshape(64, 64)
    tifffile.imwrite(path("x.tif"), x)
    made("x.tif", "a TIFF image")
    tifffile.imwrite(path("mm.tif"), x, byteorder=">")
    made("mm.tif", "a TIFF image")
    tifffile.imwrite(path("big.tif"), x, bigtiff=True)
    made("big.tif", "a BigTIFF image")
    tifffile.imwrite(path("bigmm.tif"), x, bigtiff=True, byteorder=">")
    made("bigmm.tif", "a BigTIFF image")


def lz4_files():
    import lz4.frame

    with lz4.frame.open(path("x.lz4"), "wb") as f:
        f.write(floats)
    made("x.lz4", "an lz4 file")


def torch_files():
    import torch

    torch.save({"w": torch.arange(5000.0)}, path("x.pt"))
    made("x.pt", "a PyTorch file")
    torch.save({"w": torch.arange(5000.0)}, path("old.pt"), _use_new_zipfile_serialization=False)
    made("old.pt", "a PyTorch file of before version 1.6")


for names, function in (
    (("numpy",), numpy_files),
    (("numpy", "ml_dtypes"), ml_dtypes_files),
    (("numpy", "scipy"), scipy_files),
    (("numpy", "netCDF4"), netcdf4_files),
    (("numpy", "nibabel"), nibabel_files),
    (("numpy", "astropy"), astropy_files),
    (("pyarrow",), pyarrow_files),
    (("pandas",), pandas_files),
    (("numpy", "onnx"), onnx_files),
    (("numpy", "tifffile"), tifffile_files),
    (("lz4",), lz4_files),
    (("torch",), torch_files),
):
    if package(*names):
        attempt(function)
