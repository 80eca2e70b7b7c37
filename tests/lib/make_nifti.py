#!/usr/bin/env python3
"""make_nifti.py DIRECTORY: writes NIfTI files by nibabel into DIRECTORY, and what gpureduce prints of each NAME.nii, and of
the pair NAME.hdr and NAME.img, behind the name of the file:
  NAME.stored.tsv  `--stored -o sum,min,max,argmin,argmax,nan,count`
  NAME.scaled.tsv  `-o missing,count,sum,mean,min,max,argmin,argmax`, of those with a scale
The numbers are those that nibabel reads; those of a scale are computed of them as fractions."""

import os
import sys
from fractions import Fraction

import nibabel
import numpy as np

sys.dont_write_bytecode = True  # the sources may be read-only
from expected import SCALED, expect, scaled_row  # noqa: E402

directory = sys.argv[1]
rng = np.random.default_rng(7)
KINDS = {1: nibabel.Nifti1Image, 2: nibabel.Nifti2Image}
PAIRS = {1: nibabel.Nifti1Pair, 2: nibabel.Nifti2Pair}


def draw(shape, dtype):
    data = rng.integers(0, 120, shape)
    if dtype[0] in "fc":
        data = data + rng.standard_normal(shape)
        data[rng.random(shape) < 0.05] = np.nan
    return (data * (1 - 2j) if dtype[0] == "c" else data).astype(dtype)


def write(name, kind, order, data, offset=0, slope=np.nan, inter=np.nan):
    image = KINDS[kind](data, np.eye(4), header=KINDS[kind].header_class(endianness=order), dtype=data.dtype)
    path = os.path.join(directory, name)
    if offset:
        image.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"x" * 100))
    nibabel.save(image, path + ".nii")
    nibabel.save(PAIRS[kind](data, np.eye(4), header=PAIRS[kind].header_class(endianness=order), dtype=data.dtype), path + ".hdr")
    for end, classes in (".hdr", PAIRS), (".nii", KINDS):
        with open(path + end, "r+b") as file:  # as a header is that nibabel would compute with
            header = classes[kind].header_class.from_fileobj(file)
            header["scl_slope"], header["scl_inter"] = slope, inter
            file.seek(0)
            file.write(header.binaryblock)
    loaded = nibabel.load(path + ".nii")
    stored = loaded.dataobj.get_unscaled()
    stored = stored.astype(stored.dtype.newbyteorder("=")).transpose()
    parts = {"image.re": stored.real, "image.im": stored.imag} if np.iscomplexobj(stored) else {"image": stored}
    expect(path + ".stored.tsv", parts)
    if np.isnan(slope):
        return
    slope, inter = (Fraction(header[key].item()) for key in ("scl_slope", "scl_inter"))
    if slope == 0:
        slope, inter = Fraction(1), Fraction(0)
    near = np.asarray(loaded.dataobj).transpose()
    assert np.allclose(near, stored.astype(near.dtype) * float(slope) + float(inter), rtol=1e-5)
    with open(path + ".scaled.tsv", "w", encoding="utf-8") as out:
        out.write(SCALED)
        out.writelines(scaled_row(key, parts[key], slope, inter) for key in sorted(parts))


for i, dtype in enumerate(["u1", "i2", "i4", "f4", "f8", "i1", "u2", "u4", "i8", "u8", "c8", "c16"]):
    for kind in KINDS:
        shape = [(5,), (4, 5), (3, 4, 5), (2, 3, 1, 5), (1, 2, 1, 2, 3, 1, 2)][(i + kind) % 5]
        write(f"{dtype}-{kind}", kind, "<>"[(i + kind) % 2], draw(shape, dtype), offset=i % 3 == 0)
write("large", 1, "<", draw((60, 70, 20), "f4"))
write("pairs", 2, ">", draw((90, 70), "c8"))
write("none", 1, "<", draw((3, 0, 2), "i2"))
write("one", 2, ">", draw((1,), "c16"))
for i, (slope, inter) in enumerate([(0.1, -3), (2, 0), (1, 7), (1, 0.5), (-0.5, 1e10), (0, 5), (1, 0), (1e-30, 0), (3, 1e30)]):
    for kind in KINDS:
        write(f"scaled{i}-{kind}", kind, "<>"[i % 2], rng.integers(0, 100, (3, 4)).astype(["i2", "u1", "f4", "i8"][i % 4]),
              slope=slope, inter=inter)
write("scaled-pairs", 1, "<", (rng.integers(0, 100, (3, 4)) * (1 + 3j)).astype("c8"), slope=0.3, inter=0)
