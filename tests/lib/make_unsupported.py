#!/usr/bin/env python3
"""make_unsupported.py DIRECTORY: writes files of formats that gpureduce does not read, each by the
format's own package, into DIRECTORY, and a line for each to standard output: the file, what
gpureduce calls it, the sum that its advice leads to, or - where it is no command, and what names in that
command stand for, as a sed script; with tabs between them. A line that begins with # names a package
that is missing. bfloat16 arrays, and .npy files of types that are read in parts, go into
DIRECTORY too, as "bf16" or "npy", a tab, the file, a tab and the exact sum."""

import sys

try:
    import bz2
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


def made(name, what, total="-", names=""):
    if os.path.exists(path(name)):
        print(f"{name}\t{what}\t{total}\t{names}")


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
total = 6213750
floats = struct.pack("<5000f", *values)
with open(path("x.f32"), "wb") as f:
    f.write(floats)
for name, opener, what in (
    ("x.xz", lzma.open, "an xz file"),
    ("x.bz2", bz2.open, "a bzip2 file"),
):
    with opener(path(name), "wb") as f:
        f.write(floats)
    made(name, what, total)
with bz2.open(path("empty.bz2"), "wb") as f:
    pass
made("empty.bz2", "a bzip2 file", 0)
with zipfile.ZipFile(path("x.zip"), "w") as z:
    z.writestr("folder/", "")
    z.writestr("folder/it's [1].f32", floats)
made("x.zip", "a zip archive", total)
for format, name in ((tarfile.USTAR_FORMAT, "u.tar"), (tarfile.GNU_FORMAT, "g.tar"),
                     (tarfile.PAX_FORMAT, "p.tar")):
    with tarfile.open(path(name), "w", format=format) as t:
        member = tarfile.TarInfo("x.f32")
        member.size = len(floats)
        t.addfile(member, io.BytesIO(floats))
    made(name, "a tar archive", total)
for protocol in range(6):
    for kind, value in (("list", values), ("dict", {"w": values})):
        with open(path(f"{kind}{protocol}.pickle"), "wb") as f:
            pickle.dump(value, f, protocol=protocol)
        made(f"{kind}{protocol}.pickle", "a Python pickle", total, "s/NAME/w/")
with wave.open(path("x.wav"), "wb") as w:
    w.setparams((1, 2, 44100, 0, "NONE", ""))
    w.writeframes(struct.pack("<5000h", *range(5000)))
made("x.wav", "a WAV file", 12497500)
with sqlite3.connect(path("x.sqlite")) as database:
    database.execute("create table names (id text, name varchar(20))")
    database.execute("create table [order] (id varchar(20) primary key, x real, y real)")
    database.executemany("insert into [order] values (?, ?, 0)", [(str(x), x) for x in values])
database.close()
made("x.sqlite", "an SQLite database", total)
with open(path("x.json"), "w") as f:
    json.dump({"values": values}, f)
made("x.json", "a JSON file", total, "s/NAME/values/")
for name, separator in (("x.csv", ","), ("x.tsv", "\t"), ("x.txt", " "), ("x.ssv", ";")):
    rows = ["{0}{1}{2}\n".format(x, separator, 2 * x) for x in values[:500]]
    comma = [row.replace(".", ",") for row in rows]
    for heading in ([], ["time{}value\n".format(separator), "\n"]):
        for lines in [rows] + [comma] * (separator in "\t;"):
            kind = "h" * bool(heading) + "c" * (lines is comma)
            with open(path(kind + name), "w") as f:
                f.writelines(heading + lines)
            made(kind + name, "a text file" + " of numbers" * (not heading), 3 * sum(values[:500]))
with open(path("mixed.csv"), "w") as f:
    f.write("name,value\n" + "".join(f"row {i},{x}\n" for i, x in enumerate(values)))
made("mixed.csv", "a text file", total, "s/NAME/value/")

# Fortran's records, of every form that compilers write.
for order in "<>":
    for letter, code in (("i", "f"), ("q", "f"), ("i", "d"), ("q", "d")):
        for kind, lengths in (("one", [5000]), ("equal", [1000] * 5), ("rows", [8] * 625),
                              ("large", [2500, 2500]), ("mixed", [4, 8, 2488, 100, 2400])):
            name = "_".join((kind, "le" if order == "<" else "be", letter, code)) + ".unf"
            with open(path(name), "wb") as f:
                at = 0
                for length in lengths:
                    data = struct.pack(f"{order}{length}{code}", *values[at:at + length])
                    marker = struct.pack(order + letter, len(data))
                    f.write(marker + data + marker)
                    at += length
            # Without -t the numbers are f32.
            made(name, "a Fortran file of records", total,
                 "s/-t f32/-t f64/; s/-t '>f4'/-t '>f8'/; s/=10000 /=5000 /" * (code == "d"))

# GGML, from whose successors nothing is left but their headers; lzop and zstd of the past.
for name, head in (("ggml", b"lmgg" + struct.pack("<7i", 32000, 4096, 256, 32, 32, 128, 2)),
                   ("ggmf", b"fmgg" + struct.pack("<8i", 1, 32000, 4096, 256, 32, 32, 128, 2)),
                   ("ggjt", b"tjgg" + struct.pack("<8i", 3, 32000, 4096, 256, 32, 32, 128, 2))):
    with open(path(name + ".bin"), "wb") as f:
        f.write(head + floats)
    made(name + ".bin", "a GGML file")


def old_zstd(head):
    """Raw blocks of at most 128 KiB behind a frame's header, and the end."""
    return head + struct.pack(">I", 0x400000 | len(floats))[1:] + floats + b"\xc0\0\0"


for version, head in (("1", b"\xfd\x2f\xb5\x1e"), ("2", b"\x22\xb5\x2f\xfd"), ("3", b"\x23\xb5\x2f\xfd"),
                      ("4", b"\x24\xb5\x2f\xfd\x09"), ("5", b"\x25\xb5\x2f\xfd\x09"),
                      ("6", b"\x26\xb5\x2f\xfd\x09"), ("7", b"\x27\xb5\x2f\xfd\0\x48")):
    with open(path(f"v{version}.zst"), "wb") as f:
        f.write(old_zstd(head))
    made(f"v{version}.zst", "a file of zstd 0.1 to 0.4" if version < "5" else "a file of zstd 0.5 to 0.7",
         total if version >= "5" else "-")
with open(path("x.lzma"), "wb") as f:
    f.write(lzma.compress(floats, format=lzma.FORMAT_ALONE))
made("x.lzma", "an lzma file", total)
text = "time,value\n" + "".join(f"{i},{x}\n" for i, x in enumerate(values))
for encoding in ("utf-16", "utf-32"):
    with open(path(f"{encoding}.csv"), "w", encoding=encoding) as f:
        f.write(text)
    made(f"{encoding}.csv", "a text file in UTF-16 or UTF-32", total, "s/NAME/value/")
with open(path("mark.csv"), "w", encoding="utf-8-sig") as f:
    f.write(text)
made("mark.csv", "a text file", total + 12497500)
with open(path("head.csv"), "w") as f:
    f.write("time,value\n" + "".join(f"{i},{x}\n" for i, x in enumerate(values)))
made("head.csv", "a text file", total + 12497500)


#
# Other packages.
#
def numpy_files():
    import numpy as np

    x = np.arange(5000, dtype=np.float32)
    np.savetxt(path("np.txt"), x)
    made("np.txt", "a text file of numbers", 12497500)
    for protocol in range(6):
        with open(path(f"np{protocol}.pickle"), "wb") as f:
            pickle.dump(x, f, protocol=protocol)
        made(f"np{protocol}.pickle", "a Python pickle", 12497500)


    for name, y, sum in (("M8[s]", np.arange(5000), 12497500),
                         ("m8[ns]", np.arange(5000), 12497500)):
        np.save(path(name.strip(">") + str(name[0] == ">")), y.astype(name))
        print(f"npy\t{name.strip('>')}{name[0] == '>'}.npy\t{sum}")


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
    made("x.mat", "a MATLAB file", 12497500, "s/NAME/x/g")
    sparse = scipy.sparse.random(20, 20, 0.1).tocsc()
    sparse.data = np.arange(sparse.nnz) + 0.5
    for name, value, sum in (("v4.mat", x, 12497500), ("v4i.mat", np.arange(100, dtype=np.int32), 4950),
                             ("v4s.mat", 1.5, 1.5), ("v4t.mat", "hello", "-"), ("v4c.mat", x * 1j, "-"),
                             ("v4z.mat", sparse, "-")):
        scipy.io.savemat(path(name), {"name": value}, format="4")
        made(name, "a MATLAB 4 file", sum, "s/NAME/name/")
    scipy.io.mmwrite(path("x.mtx"), sparse)
    made("x.mtx", "a Matrix Market file", sparse.data.sum())
    scipy.io.mmwrite(path("dense.mtx"), x.reshape(50, 100))
    made("dense.mtx", "a Matrix Market file", 12497500)
    for kind, lengths in (("one", [5000]), ("ten", [500] * 10), ("more", [100, 900, 4000])):
        for header, type in (("u4", "<f4"), (">u4", ">f4"), ("u8", "<f4")):
            name = f"{kind}_{header.strip('>')}{type[0] == '>'}.unf"
            record = scipy.io.FortranFile(path(name), "w", header_dtype=np.dtype(header))
            for begin, end in zip(np.cumsum([0] + lengths), np.cumsum(lengths)):
                record.write_record(x[begin:end].astype(type))
            record.close()
            made(name, "a Fortran file of records", 12497500)
    scipy.io.wavfile.write(path("f.wav"), 44100, x / 4096)
    made("f.wav", "a WAV file", 12497500 / 4096)


def nibabel_files():
    import nibabel
    import numpy as np

    x = np.arange(8000, dtype=np.float32).reshape(20, 20, 20)
    for type in ("f4", "i4", "i2", "u1"):
        nibabel.save(nibabel.MGHImage((x % 200).astype(type), np.eye(4)), path(type + ".mgh"))
        made(type + ".mgh", "an MGH file", 796000)
    nibabel.save(nibabel.AnalyzeImage(x, np.eye(4)), path("analyze.hdr"))
    made("analyze.hdr", "an Analyze header", 31996000)
    made("analyze.img", "an Analyze image", 31996000)


def pyarrow_files():
    import pyarrow
    import pyarrow.feather
    import pyarrow.orc
    import pyarrow.parquet

    t = pyarrow.table({"x": values})
    pyarrow.parquet.write_table(t, path("x.parquet"))
    made("x.parquet", "a Parquet file", total, "s/NAME/x/g")
    pyarrow.parquet.write_table(t.slice(0, 0), path("empty.parquet"))
    made("empty.parquet", "a Parquet file", 0, "s/NAME/x/g")
    pyarrow.feather.write_feather(t, path("x.feather"))
    made("x.feather", "an Arrow file (or Feather)", total, "s/NAME/x/g")
    with pyarrow.ipc.new_stream(path("x.arrows"), t.schema) as w:
        w.write_table(t)
    made("x.arrows", "an Arrow stream", total, "s/NAME/x/g")
    pyarrow.orc.write_table(t, path("x.orc"))
    made("x.orc", "an ORC file", total, "s/NAME/x/g")
    pyarrow.feather.write_feather(t, path("x1.feather"), version=1)
    made("x1.feather", "a Feather file", total, "s/NAME/x/g")


def pandas_files():
    import pandas

    frame = pandas.DataFrame({"x": values, "y": values})
    for version in (114, 118):
        frame.to_stata(path(f"x{version}.dta"), version=version)
        made(f"x{version}.dta", "a Stata file", total, "s/NAME/x/g")
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
    for producer in ("pytorch", "tf2onnx", "skl2onnx"):
        onnx.save(helper.make_model(graph, producer_name=producer, producer_version="2.1.0"),
                  path(producer + ".onnx"))
        made(producer + ".onnx", "an ONNX model", 12497500)


def tifffile_files():
    import numpy as np
    import tifffile

    x = np.arange(4096, dtype=np.float32).reshape(64, 64)
    for name, what, arguments in (("x", "a TIFF image", {}), ("mm", "a TIFF image", {"byteorder": ">"}),
                                  ("big", "a BigTIFF image", {"bigtiff": True}),
                                  ("bigmm", "a BigTIFF image", {"bigtiff": True, "byteorder": ">"})):
        tifffile.imwrite(path(name + ".tif"), x, **arguments)
        made(name + ".tif", what, 8386560)


def lz4_files():
    import lz4.frame

    with lz4.frame.open(path("x.lz4"), "wb") as f:
        f.write(floats)
    made("x.lz4", "an lz4 file", total)


def torch_files():
    import torch

    torch.save({"w": torch.arange(5000.0)}, path("old.pt"), _use_new_zipfile_serialization=False)
    made("old.pt", "a PyTorch file of before version 1.6", 12497500, "s/NAME/w/")
    layer = torch.nn.Linear(5000, 1)
    layer.weight.data = torch.arange(5000.0).reshape(1, 5000)
    torch.jit.trace(layer, torch.ones(5000)).save(path("script.pt"))
    made("script.pt", "a TorchScript program", 12497500, "s/NAME/weight/")


def rasterio_files():
    import numpy as np
    import rasterio

    x = np.arange(4096, dtype=np.float32).reshape(64, 64)
    for driver, what in (("NITF", "a NITF image"), ("HFA", "an ERDAS image"), ("PCIDSK", "a PCIDSK image"),
                         ("ISIS3", "an ISIS cube"), ("PCRaster", "a PCRaster map"), ("GS7BG", "a Surfer grid")):
        with rasterio.open(path(driver + ".img"), "w", driver=driver, width=64, height=64, count=1,
                           dtype="float64" if driver == "GS7BG" else "float32") as f:
            f.write(x, 1)
        made(driver + ".img", what, "-" if driver == "PCRaster" else 8386560)


def soundfile_files():
    import numpy as np
    import soundfile

    x = (np.arange(5000) - 100).astype(np.int16)
    for format, what in (("W64", "a Wave64 file"), ("CAF", "a CAF file"), ("VOC", "a VOC file"), ("SVX", "an SVX file"),
                         ("NIST", "a SPHERE file"), ("PVF", "a PVF file"), ("PAF", "a PAF file"), ("IRCAM", "an IRCAM file")):
        soundfile.write(path(format + ".sound"), x, 44100, format=format, subtype="PCM_16")
        made(format + ".sound", what, (12497500 - 500000) / 32768)
    soundfile.write(path("mp3.sound"), x, 44100, format="MP3")
    made("mp3.sound", "an MP3 file")


def obspy_files():
    import numpy as np
    import obspy

    x = np.arange(5000, dtype=np.float32)
    trace = obspy.Trace(x, {"network": "XX", "station": "A", "sampling_rate": 200})
    for format, order in (("SAC", 0), ("SAC", 1), ("MSEED", "<"), ("MSEED", ">")):
        name = f"{format}{order in (1, '>')}.seismic"
        trace.write(path(name), format=format, byteorder=order)
        made(name, "a SAC file" if format == "SAC" else "a miniSEED file", 12497500)
    for encoding in ("EBCDIC", "ASCII"):
        for order in "<>":
            name = f"{encoding}{order == '>'}.segy"
            trace.write(path(name), format="SEGY", data_encoding=5, byteorder=order, textual_header_encoding=encoding)
            made(name, "a SEG-Y file")


def small_packages():
    """Formats of a package and a call each."""
    import numpy as np

    x = np.arange(5000, dtype=np.float32)

    def nrrd_file():
        import nrrd
        nrrd.write(path("x.nrrd"), x)
        made("x.nrrd", "an NRRD file", 12497500)

    def itk_file():
        import SimpleITK
        SimpleITK.WriteImage(SimpleITK.GetImageFromArray(x.reshape(50, 100)), path("x.mha"))
        made("x.mha", "a MetaImage file", 12497500)

    def avro_file():
        import fastavro
        schema = {"type": "record", "name": "r", "fields": [{"name": "x", "type": "float"}]}
        with open(path("x.avro"), "wb") as f:
            fastavro.writer(f, schema, [{"x": float(i)} for i in range(5000)])
        made("x.avro", "an Avro file", 12497500, "s/NAME/x/g")

    def r_files():
        import pandas
        import pyreadr
        frame = pandas.DataFrame({"x": values})
        pyreadr.write_rdata(path("x.rdata"), frame, df_name="d")
        made("x.rdata", "an R data file", total, "s/NAME/d/")
        pyreadr.write_rds(path("x.rds"), frame)
        made("x.rds", "an R data file", total)

    def cdf_file():
        import cdflib.cdfwrite
        with cdflib.cdfwrite.CDF(path("x.cdf"), delete=True) as f:
            f.write_var({"Variable": "x", "Data_Type": 44, "Num_Elements": 1, "Rec_Vary": True,
                         "Dim_Sizes": []}, var_data=x)
        made("x.cdf", "a CDF file", 12497500, "s/NAME/x/g")

    def hdf4_file():
        from pyhdf.SD import SD, SDC
        f = SD(path("x.hdf"), SDC.WRITE | SDC.CREATE)
        data = f.create("x", SDC.FLOAT32, (5000,))
        data[:] = x
        data.endaccess()
        f.end()
        made("x.hdf", "an HDF4 file", 12497500, "s/NAME/x/g")

    def ply_file():
        from plyfile import PlyData, PlyElement
        vertices = np.array([(i, 2 * i, 0) for i in range(100)],
                            dtype=[("x", "f4"), ("y", "f4"), ("z", "f4")])
        PlyData([PlyElement.describe(vertices, "vertex")]).write(path("x.ply"))
        made("x.ply", "a PLY file", 9900, "s/NAME/y/")

    def stl_file():
        import trimesh
        trimesh.creation.box().export(path("x.stl"))
        made("x.stl", "an STL file", 0)

    def vtk_file():
        import meshio
        points = np.zeros((4, 3))
        meshio.write(path("x.vtk"), meshio.Mesh(points, [("vertex", np.arange(4).reshape(4, 1))],
                                                point_data={"x": np.array([1.0, 2, 3, 4])}))
        made("x.vtk", "a VTK file", 10, "s/NAME/x/g")

    def image_files():
        import imageio.v3
        imageio.v3.imwrite(path("x.pgm"), (np.arange(4096) % 256).astype("u1").reshape(64, 64))
        made("x.pgm", "a PNM or PFM image", 522240)

    def sound_files():
        import soundfile
        sound = (np.arange(5000) / 8192).astype("f4")
        soundfile.write(path("x.flac"), sound, 44100)
        made("x.flac", "a FLAC file", 12497500 / 8192)
        soundfile.write(path("rf64.wav"), sound, 44100, format="RF64", subtype="FLOAT")
        made("rf64.wav", "a WAV file", 12497500 / 8192)

    def root_file():
        import uproot
        with uproot.recreate(path("x.root")) as f:
            f["t"] = {"x": x}
        made("x.root", "a ROOT file", 12497500, "s/NAME/x/; s/TREE/t/")

    def grib_file():
        import eccodes
        handle = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
        size = eccodes.codes_get_size(handle, "values")
        eccodes.codes_set_values(handle, np.arange(size, dtype=float))
        with open(path("x.grib"), "wb") as f:
            eccodes.codes_write(handle, f)
        made("x.grib", "a GRIB file", size * (size - 1) // 2)

    def idl_and_idx_files():
        for code, type in ((8, "u1"), (9, "i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")):
            with open(path(type.strip(">") + ".idx"), "wb") as f:
                f.write(struct.pack(">HBBII", 0, code, 2, 50, 100))
                f.write((np.arange(5000) % 100).astype(type).tobytes())
            made(type.strip(">") + ".idx", "an IDX file (as of MNIST)", 247500)

    def duckdb_file():
        import duckdb
        with duckdb.connect(path("x.duckdb")) as database:
            database.execute("create table t as select 1.5 as x")
        made("x.duckdb", "a DuckDB database")

    def blosc2_file():
        import blosc2
        blosc2.asarray(x, urlpath=path("x.b2nd"), mode="w")
        made("x.b2nd", "a Blosc2 file")

    def zfp_file():
        import zfpy
        with open(path("x.zfp"), "wb") as f:
            f.write(zfpy.compress_numpy(x))
        made("x.zfp", "a zfp file")

    def gsd_file():
        import gsd.hoomd
        frame = gsd.hoomd.Frame()
        frame.particles.N = 10
        with gsd.hoomd.open(path("x.gsd"), "w") as f:
            f.append(frame)
        made("x.gsd", "a GSD file")

    def trajectory_files():
        import MDAnalysis
        atoms = MDAnalysis.Universe.empty(100, trajectory=True).atoms
        for name, what in (("xtc", "a TRR or XTC file"), ("trr", "a TRR or XTC file"), ("dcd", "a DCD file")):
            with MDAnalysis.Writer(path("x." + name), 100) as w:
                w.write(atoms)
            made("x." + name, what)

    def mdf_file():
        import asammdf
        for version in ("3.30", "4.10"):
            f = asammdf.MDF(version=version)
            f.append(asammdf.Signal(samples=x, timestamps=np.arange(5000.0), name="x"))
            made(os.path.basename(f.save(path(f"v{version[0]}.mdf"))), "an MDF file")

    def fabio_files():
        import fabio
        for name, what, type in (("edf", "an EDF image", fabio.edfimage.EdfImage),
                                 ("cbf", "a CBF image", fabio.cbfimage.CbfImage)):
            type(data=np.arange(5000, dtype=np.int32).reshape(50, 100)).write(path("fabio." + name))
            made("fabio." + name, what)

    def bam_files():
        import pysam
        for mode, name, what in (("wb", "x.bam", "a BAM or CRAM file"), ("wbu", "u.bam", "a BAM or CRAM file")):
            pysam.AlignmentFile(path(name), mode, header={"SQ": [{"LN": 1000, "SN": "x"}]}).close()
            made(name, what)

    for function in (duckdb_file, blosc2_file, zfp_file, gsd_file, trajectory_files, mdf_file, fabio_files,
                     bam_files, nrrd_file, itk_file, avro_file, r_files, cdf_file, hdf4_file, ply_file, stl_file,
                     vtk_file, image_files, sound_files, root_file, grib_file, idl_and_idx_files):
        attempt(function)


for names, function in (
    (("numpy",), numpy_files),
    (("numpy", "ml_dtypes"), ml_dtypes_files),
    (("numpy", "scipy"), scipy_files),
    (("numpy", "nibabel"), nibabel_files),
    (("pyarrow",), pyarrow_files),
    (("pandas",), pandas_files),
    (("numpy", "onnx"), onnx_files),
    (("numpy", "tifffile"), tifffile_files),
    (("lz4",), lz4_files),
    (("torch",), torch_files),
    (("numpy", "rasterio"), rasterio_files),
    (("numpy", "soundfile"), soundfile_files),
    (("numpy", "obspy"), obspy_files),
    (("numpy",), small_packages),
):
    if package(*names):
        attempt(function)
