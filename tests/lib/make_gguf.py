#!/usr/bin/env python3
"""make_gguf.py DIRECTORY: writes GGUF files of random blocks of each quantised type by the gguf package into DIRECTORY, and
what gpureduce prints of each NAME.gguf, behind the name of the file, into NAME.tsv
(`-o sum,min,max,argmin,argmax,nan,count`); of small.gguf with --missing=0 into missing.tsv. The values are those of the
package's own formulas, in binary64 in place of binary32, which is exact. They are put into binary32 where that holds all
values of a type; sums are rounded once.
Besides, source.safetensors of f32, source.gguf that the package has quantised it to, and source.tsv: name, elements that
differ, the greatest difference, where, and the root mean square, by fractions (`--number=hex`)."""

import math
import os
import sys
from fractions import Fraction

sys.dont_write_bytecode = True  # the sources may be read-only

import gguf
import gguf.quants as quants
import numpy as np
from diff_oracle import TYPES, root, rounded, show, write_safetensors
from expected import expect
from shortest import shortest

directory = sys.argv[1]
random = np.random.default_rng(1)

# Where the scales of binary16 are in a block.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2],
          "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52], "TQ2_0": [64], "MXFP4": [], "NVFP4": [],
          "Q8_K": []}

# Types with values that binary32 does not hold.
WIDE = {"Q4_1", "Q5_1", "Q2_K", "Q4_K", "Q5_K", "Q8_K", "MXFP4"}


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


def make(file, kinds, rows, nan=False):
    writer = gguf.GGUFWriter(os.path.join(directory, file + ".gguf"), "none")
    values = {}
    for name in kinds:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        for number, (shape, columns) in enumerate(rows):
            blocks = random.integers(0, 256, (int(np.prod(shape)) * columns, size), np.uint8)
            for at in SCALES[name]:  # no infinity and no NaN
                blocks[:, at + 1] &= np.where(blocks[:, at + 1] & 0x7C == 0x7C, 0xBF, 0xFF).astype(np.uint8)
                if nan:
                    blocks[-1, at:at + 2] = 0, 0x7E
            if name == "Q8_K":
                blocks[:, :4] = random.standard_normal((len(blocks), 1)).astype("<f4").view(np.uint8)
            writer.add_tensor(f"{name}.{number}", blocks.reshape(*shape, columns * size), raw_dtype=kind)
            decoded = decode(name, blocks).reshape(*shape, columns * elements)
            values[f"{name}.{number}"] = decoded if name in WIDE else decoded.astype("f4")
            assert np.array_equal(values[f"{name}.{number}"], decoded, equal_nan=True)
    writer.add_tensor("plain", np.arange(5.0))
    values["plain"] = np.arange(5.0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    expect(os.path.join(directory, file + ".tsv"), values)
    return values


small = make("small", SCALES, [((), 1), ((7,), 3), ((3, 5), 2), ((1, 1, 4), 1)])
expect(os.path.join(directory, "missing.tsv"), {name: np.ma.masked_equal(x, 0) for name, x in small.items()})
tiles = make("tiles", ["Q4_K", "Q8_0"], [((), 2100), ((3,), 700), ((700,), 1), ((2, 3, 70), 1)])
make("nan", [name for name in SCALES if SCALES[name]], [((70,), 1)], nan=True)
for name in ("Q4_K", "Q8_0"):  # sums of rows
    with open(os.path.join(directory, name + ".axis"), "w", encoding="utf-8") as out:
        out.writelines(shortest(math.fsum(row), "float64") + "\n" for row in tiles[f"{name}.1"])

writer = gguf.GGUFWriter(os.path.join(directory, "source.gguf"), "none")
sources, lines = {}, []
for number, name in enumerate(("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "TQ1_0", "TQ2_0")):
    source = random.standard_normal(512 * (number + 1)).astype(np.float32)
    blocks = quants.quantize(source, gguf.GGMLQuantizationType[name])
    writer.add_tensor(f"blk.{number}.weight", blocks, raw_dtype=gguf.GGMLQuantizationType[name])
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1]
    decoded = decode(name, blocks.reshape(-1, size)).ravel()
    gaps = [abs(Fraction(x) - Fraction(y)) for x, y in zip(source.tolist(), decoded.tolist())]
    sources[f"model.layers.{number}.weight"] = (TYPES["f32"], source.view("<u4").tolist())
    lines.append("\t".join((f"model.layers.{number}.weight|blk.{number}.weight", str(sum(gap > 0 for gap in gaps)),
                            show(rounded(max(gaps))), str(gaps.index(max(gaps))),
                            show(root(sum(gap * gap for gap in gaps) / len(gaps))))) + "\n")
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
write_safetensors(os.path.join(directory, "source.safetensors"), sources, 0)
with open(os.path.join(directory, "source.tsv"), "w", encoding="utf-8") as out:
    out.writelines(lines)
