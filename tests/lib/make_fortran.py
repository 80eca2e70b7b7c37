#!/usr/bin/env python3
"""make_fortran.py DIRECTORY: writes files of Fortran's records by SciPy into DIRECTORY, in NAME.options how gpureduce reads each
NAME.unf, and in NAME.one what it prints of it, behind the name of the file (`-o sum,min,max,argmin,argmax,nan,count`).
SciPy divides no records; those in parts are put together here, as gfortran's manual describes them."""

import os
import struct
import sys

import numpy as np
import scipy.io

sys.dont_write_bytecode = True  # the sources may be read-only
from expected import NAMES, expect  # noqa: E402

directory = sys.argv[1]
rng = np.random.default_rng(3)
TYPES = ["<f4", ">f8", "<i2", ">i8", "u1", "<f8"]
LENGTHS = {"one": [5000], "rows": [7] * 900, "mixed": [3, 0, 40000, 1, 2500], "large": [100000, 100001]}


def describe(name, dtype, records):
    with open(os.path.join(directory, name + ".options"), "w", encoding="ascii") as out:
        out.write(f"-t {NAMES[dtype.newbyteorder('=').name]} --endian={'big' if dtype.str[0] == '>' else 'little'}\n")
    expect(os.path.join(directory, name + ".one"), {"": np.concatenate(records).astype(dtype.newbyteorder("="))})


for i, (kind, lengths) in enumerate(LENGTHS.items()):
    for k in range(3):
        dtype = np.dtype(TYPES[(i + 2 * k) % len(TYPES)])
        order = "<" if dtype.str[0] == "|" else dtype.str[0]
        records = [(rng.standard_normal(n) * 50).astype(dtype) if dtype.kind == "f" else rng.integers(0, 100, n).astype(dtype)
                   for n in lengths]
        name = f"{kind}-{k}"
        with scipy.io.FortranFile(os.path.join(directory, name + ".unf"), "w", np.dtype(order + "u4")) as file:
            for record in records:
                file.write_record(record)
        describe(name, dtype, records)
        with open(os.path.join(directory, f"parts-{name}.unf"), "wb") as out:
            for record in records:
                data = record.tobytes()
                size = max(len(data) // 3 - 1, 5)
                parts = [data[at:at + size] for at in range(0, len(data), size)] or [b""]
                for number, part in enumerate(parts):
                    before, after = (len(part) * sign for sign in (1 - 2 * (number + 1 < len(parts)), 1 - 2 * (number > 0)))
                    out.write(struct.pack(order + "i", before) + part + struct.pack(order + "i", after))
        describe(f"parts-{name}", dtype, records)
