#!/usr/bin/env python3
"""make_gguf.py DIRECTORY: writes GGUF files of random blocks of each quantised type by the gguf package into DIRECTORY, and
what gpureduce prints of each NAME.gguf, behind the name of the file, into NAME.tsv
(`-o sum,min,max,argmin,argmax,nan,count`). The values are those of the package's own formulas, in binary64 in place of
binary32, which is exact; sums are rounded once."""

import math
import os
import sys

sys.dont_write_bytecode = True  # the sources may be read-only

import gguf
import gguf.quants as quants
import numpy as np
from expected import expect
from shortest import shortest

directory = sys.argv[1]
random = np.random.default_rng(1)

# Where the scales of binary16 are in a block.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
          "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [], "NVFP4": [],
          "Q8_K": []}


class Binary64:
    """NumPy, whose float32 is float64."""
    float32 = np.float64

    def __getattr__(self, name):
        return getattr(np, name)


def decode(name, blocks):
    if name == "Q8_K":  # which the package does not decode
        return blocks[:, :4].copy().view("<f4").astype(float) * blocks[:, 4:260].view("i1")
    if name == "MXFP4":
        values = np.array(quants.MXFP4.kvalues)
        scales = quants.MXFP4.e8m0_to_fp32_half(blocks[:, :1]).astype(float)
        return scales * np.hstack([values[blocks[:, 1:] & 15], values[blocks[:, 1:] >> 4]])
    quants.np = np if name == "NVFP4" else Binary64()
    found = getattr(quants, name).dequantize_blocks(blocks).astype(float)
    quants.np = np
    return found


def make(file, kinds, rows):
    writer = gguf.GGUFWriter(os.path.join(directory, file + ".gguf"), "none")
    values = {}
    for name in kinds:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        for number, (shape, columns) in enumerate(rows):
            blocks = random.integers(0, 256, (int(np.prod(shape)) * columns, size), np.uint8)
            for at in SCALES[name]:  # no infinity and no NaN
                blocks[:, at + 1] &= np.where(blocks[:, at + 1] & 0x7C == 0x7C, 0xBF, 0xFF).astype(np.uint8)
            if name == "Q8_K":
                blocks[:, :4] = random.standard_normal((len(blocks), 1)).astype("<f4").view(np.uint8)
            writer.add_tensor(f"{name}.{number}", blocks.reshape(*shape, columns * size), raw_dtype=kind)
            values[f"{name}.{number}"] = decode(name, blocks).reshape(*shape, columns * elements)
    writer.add_tensor("plain", np.arange(5.0))
    values["plain"] = np.arange(5.0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    expect(os.path.join(directory, file + ".tsv"), values)
    return values


os.makedirs(directory, exist_ok=True)
make("small", SCALES, [((), 1), ((7,), 3), ((3, 5), 2), ((1, 1, 4), 1)])
tiles = make("tiles", ["Q4_K", "Q8_0"], [((), 2100), ((3,), 700), ((700,), 1), ((2, 3, 70), 1)])
for name in ("Q4_K", "Q8_0"):  # sums of rows
    with open(os.path.join(directory, name + ".axis"), "w", encoding="utf-8") as out:
        out.writelines(shortest(math.fsum(row), "float64") + "\n" for row in tiles[f"{name}.1"])
