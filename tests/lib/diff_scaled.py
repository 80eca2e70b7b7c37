#!/usr/bin/env python3
"""diff_scaled.py DIRECTORY SEED: writes a.nc and b.nc, netCDF-4 files whose arrays have scales, offsets and missing
values of their own, and what `gpureduce --diff --tsv --number=hex` must print of them, by fractions: in scaled.tsv, and
in TOLERANCE.tsv for each line of scaled.tolerances."""

import math
import os
import random
import sys
from fractions import Fraction

import netCDF4
import numpy

from diff_oracle import HEADING, INF, NAN, TYPES, count_pairs, root, rounded, show
from diff_types import common, nearest, number, steps

TOLERANCES = ["abs:0.5", "rel:0.125", "abs:1e-3,rel:1e-12"]
NAMES = [name for name, t in TYPES.items() if t.numpy and name not in ("bool", "f16")]


class Side:
    """The elements of an array, as bits, and what they mean."""

    def __init__(self, t, bits, scale, missing):
        self.t, self.bits, self.scale, self.missing = t, bits, scale, missing
        self.factor = Fraction(1 if scale is None or scale[0] is None else scale[0])
        self.offset = Fraction(0 if scale is None or scale[1] is None else scale[1])
        self.keeps_integers = self.factor == 1 and self.offset.denominator == 1

    def value(self, bits):
        """NAN, an infinity as a float, or a fraction; None where it is missing."""
        t, x = self.t, self.t.value(bits)
        if any(x == t.value(m) for m in self.missing):
            return None
        if x == NAN:
            return x
        if isinstance(x, tuple):
            return x[0] * math.inf if self.factor > 0 else -x[0] * math.inf
        return self.factor * x * Fraction(2) ** t.unit + self.offset


def difference(a, b, tolerances):
    found = {"different": 0, "first": None, "nan": 0, "missing": 0}
    wide = common(a.t, b.t)
    has_ulps = wide is not None and ((a.scale is None, a.factor, a.offset) == (b.scale is None, b.factor, b.offset))
    peaks = {"max_abs": (0, None), "max_rel": (0, None), "max_ulp": (0, None)}
    first_nan, infinite, xx, yy, xy, squares, count = None, False, 0, 0, 0, 0, 0

    def note(i, n):
        found["different"] += n
        found["first"] = i if found["first"] is None else found["first"]

    def within(kind, limit, gap, largest):
        return gap <= (limit if kind == "abs" else limit * largest)

    for (p, q), i, n in count_pairs(a.bits, b.bits):
        x, y = a.value(p), b.value(q)
        if x is None or y is None:
            if x is not y:
                found["missing"] += n
                note(i, n)
            continue
        if x == NAN or y == NAN:
            if x != y:
                found["nan"] += n
                first_nan = i if first_nan is None else first_nan
                note(i, n)
            continue
        count += n
        if math.inf in (x, y) or -math.inf in (x, y):
            infinite = True
            if x == y:
                continue
            gap = rel = math.inf
        else:
            xx, yy, xy, squares = xx + n * x * x, yy + n * y * y, xy + n * x * y, squares + n * (x - y) ** 2
            if x == y:
                continue
            gap, largest = abs(x - y), max(abs(x), abs(y))
            rel = gap / largest
        if gap == math.inf or not any(within(*one, gap, largest) for one in tolerances):
            note(i, n)
        for name, amount in ("max_abs", gap), ("max_rel", rel), (
                "max_ulp", has_ulps and steps(wide, number(a.t, p), number(b.t, q))):
            if amount > peaks[name][0]:
                peaks[name] = (amount, i)
    no_number = found["nan"] > 0 or count == 0
    for name, (amount, index) in peaks.items():
        if name == "max_ulp" and not has_ulps:
            amount = index = None
        elif no_number:
            amount, index = math.nan, first_nan
        elif name == "max_abs" and not a.t.is_float and not b.t.is_float and a.keeps_integers and b.keeps_integers and amount < 2**128:
            amount = int(amount)
        elif name != "max_ulp":
            amount = rounded(amount) if amount != math.inf else amount
        found[name], found[name + "_at"] = amount, index
    if no_number:
        found["rmsd"] = found["cosine"] = math.nan
        return found
    found["rmsd"] = math.inf if peaks["max_rel"][0] == math.inf else root(Fraction(squares) / count)
    if infinite or xx == 0 or yy == 0:
        found["cosine"] = math.nan
    else:
        found["cosine"] = root(xy * xy / (xx * yy)) * (-1 if xy < 0 else 1)
    return found


def draw_scale(rnd, t):
    """A factor and an offset, of which one may be absent; None for neither."""
    kind = rnd.randrange(6)
    factor = rnd.choice((0.01, -0.01, 0.5, 2.0, -3.0, 1e-3, 1 / 3, 1.0))
    offset = rnd.choice((0.1, -273.15, 3.0, 1e6, -0.5, 1e-9))
    if kind == 0:
        return None
    if kind == 1:
        return tuple(rnd.choice((-1, 1)) * rnd.uniform(1, 2) * 2.0 ** rnd.randrange(-1070, 1020) for _ in range(2))
    return (factor, None) if kind == 2 and factor != 1 else (None, offset) if kind == 3 else (factor, offset)


def elements(rnd, t, count, kind):
    if kind == 0:
        return [rnd.getrandbits(t.bits) for _ in range(count)]
    if t.is_float:
        few = [numpy.dtype(t.numpy).type(x).tobytes() for x in
               [rnd.choice((rnd.randrange(-50, 50), rnd.gauss(0, 9), 0.0, -0.0)) for _ in range(40)]]
        few = [int.from_bytes(x, "little") for x in few]
        if kind == 2:
            few += [t.infinity, t.infinity | t.sign]
        if kind == 3:
            few += [2 * t.sign - 1]
    else:
        few = [rnd.randrange(-60, 60) % (2 * t.sign) for _ in range(40)]
    return rnd.choices(few, k=count)


def draw_pair(rnd, index):
    t = TYPES[rnd.choice(NAMES)]
    count = 40000 if index % 25 == 0 else rnd.choice((1, 2, 7, 300))
    kind = 1 if index % 25 == 0 else rnd.randrange(4)
    a = elements(rnd, t, count, kind)
    u = TYPES[rnd.choice(NAMES)] if rnd.random() < 0.3 else t
    if u is not t:
        b = elements(rnd, u, count, kind)
        for i in rnd.choices(range(count), k=count // 2):
            if number(t, a[i]) != NAN and abs(number(t, a[i])) < 1 << 63:
                b[i] = nearest(u, number(t, a[i]))
    else:
        b = elements(rnd, t, count, kind) if rnd.random() < 0.4 else list(a)
    for _ in range(rnd.randrange(4)):
        b[rnd.randrange(count)] = rnd.choice(a if u is t else b)
    scale = draw_scale(rnd, t)
    other = scale if rnd.random() < 0.5 else draw_scale(rnd, t)
    missing = [rnd.choice(a) for _ in range(2)]
    others = missing if u is t and rnd.random() < 0.5 else [rnd.choice(b) for _ in range(2)]
    return Side(t, a, scale, missing), Side(u, b, other, others)


def write(path, sides):
    with netCDF4.Dataset(path, "w") as out:
        for i, side in enumerate(sides):
            dtype = numpy.dtype(side.t.numpy)
            as_type = lambda bits: numpy.array([bits], dtype=f"u{dtype.itemsize}").view(dtype)[0]
            out.createDimension(f"d{i}", len(side.bits))
            v = out.createVariable(f"v{i:03}", dtype, (f"d{i}",), fill_value=as_type(side.missing[0]))
            v.missing_value = as_type(side.missing[1])
            factor, offset = side.scale or (None, None)
            if factor is not None:
                v.scale_factor = numpy.float64(factor)
            if offset is not None:
                v.add_offset = numpy.float64(offset)
            v.set_auto_maskandscale(False)
            v[:] = numpy.array(side.bits, dtype=f"u{dtype.itemsize}").view(dtype)


def write_expected(path, pairs, tolerances):
    tolerances = [(kind, Fraction(float(x))) for kind, x in (one.split(":") for one in tolerances.split(",") if one)]
    with open(path, "w") as out:
        print(*HEADING, "missing", sep="\t", file=out)
        for i, (a, b) in enumerate(pairs):
            found = difference(a, b, tolerances)
            if found["different"] > 0 or a.t is not b.t:
                types = f"{a.t.name}|{b.t.name}" if a.t is not b.t else a.t.name
                found.update(array=f"v{i:03}", differs="dtype" if a.t is not b.t else "values", dtype=types, shape=f"[{len(a.bits)}]", elements=len(a.bits))
                print(*(found[key] if isinstance(found[key], str) else show(found[key]) for key in HEADING + ["missing"]),
                      sep="\t", file=out)


if __name__ == "__main__":
    path = lambda name: os.path.join(sys.argv[1], name)
    rnd = random.Random(int(sys.argv[2]))
    pairs = [draw_pair(rnd, i) for i in range(250)]
    for side in (0, 1):
        write(path("ab"[side] + ".nc"), [pair[side] for pair in pairs])
    write_expected(path("scaled.tsv"), pairs, "")
    with open(path("scaled.tolerances"), "w") as out:
        for tolerances in TOLERANCES:
            print(tolerances, file=out)
            write_expected(path(tolerances + ".tsv"), pairs, tolerances)
