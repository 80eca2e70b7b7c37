#!/usr/bin/env python3
"""make_layouts.py DIRECTORY SEED: writes, for each N, arrays in C order N.a.npy and N.b.npy, and in Fortran order N.af.npy
and N.bf.npy. They have 4-byte floats that count up from 0, but for some elements of b; layouts.tsv has N, how many
these are, and the place of the first in C order and in Fortran order."""

import itertools
import os
import random
import struct
import sys


def write(path, shape, fortran, elements):
    head = f"{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}".encode()
    head += b" " * (63 - (len(head) + 10) % 64) + b"\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(elements)}f", *elements))


def turned(shape, elements):
    """Elements in C order, in Fortran order."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * shape[i]
    return [elements[sum(i * s for i, s in zip(reversed(place), strides))]
            for place in itertools.product(*map(range, reversed(shape)))]


if __name__ == "__main__":
    rnd = random.Random(int(sys.argv[2]))
    shapes = [(2, 3), (1, 5, 1, 4), (3, 1), (700, 30), (3, 5000), (0, 4)]
    shapes += [[rnd.randrange(1, 9) for _ in range(rnd.randrange(2, 6))] for _ in range(6)]
    with open(os.path.join(sys.argv[1], "layouts.tsv"), "w") as out:
        for number, shape in enumerate(shapes):
            path = lambda name: os.path.join(sys.argv[1], f"{number}.{name}.npy")
            count = 1
            for size in shape:
                count *= size
            a = [float(i) for i in range(count)]
            b = list(a)
            places = rnd.sample(range(count), min(count, rnd.randrange(1, 4)))
            for i in places:
                b[i] += 0.5
            af, bf = turned(shape, a), turned(shape, b)
            for name, elements in ("a", a), ("b", b):
                write(path(name), shape, False, elements)
            for name, elements in ("af", af), ("bf", bf):
                write(path(name), shape, True, elements)
            if places:
                print(number, len(places), min(places), next(i for i, x in enumerate(af) if x != bf[i]), file=out)
