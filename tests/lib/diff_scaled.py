#!/usr/bin/env python3
"""diff_scaled.py DIRECTORY SEED: writes a.nc and b.nc, netCDF-4 files whose arrays have scales, offsets and missing
values of their own, and what `gpureduce --diff --tsv --number=hex` must print of them, by fractions: in scaled.tsv, and
in TOLERANCE.tsv for each line of scaled.tolerances. In c.nc and d.nc the second are casts of the first by one rounding or
another, of which cast.tsv has some columns."""

import math
import os
import random
import sys
from fractions import Fraction

import netCDF4
import numpy

import diff_cast
from diff_oracle import NAN, TYPES, count_pairs, rounded, show
from diff_types import Side, nearest, number, write_expected

TOLERANCES = ["abs:0.5", "rel:0.125", "abs:1e-3,rel:1e-12"]
NAMES = [name for name, t in TYPES.items() if t.numpy and name not in ("bool", "f16")]


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
        for name, side in sides.items():
            dtype = numpy.dtype(side.t.numpy)
            as_type = lambda bits: numpy.array([bits], dtype=f"u{dtype.itemsize}").view(dtype)[0]
            out.createDimension("d" + name, len(side.bits))
            v = out.createVariable(name, dtype, ("d" + name,), fill_value=as_type(side.missing[0]))
            v.missing_value = as_type(side.missing[1])
            factor, offset = side.scale or (None, None)
            if factor is not None:
                v.scale_factor = numpy.float64(factor)
            if offset is not None:
                v.add_offset = numpy.float64(offset)
            v.set_auto_maskandscale(False)
            v[:] = numpy.array(side.bits, dtype=f"u{dtype.itemsize}").view(dtype)


CAST_COLUMNS = "array different first max_abs max_ulp nan missing nearest other_rounding".split()


def stored(a, b, bits):
    """The number that an element of one side is cast to, before that is rounded; None where it is missing."""
    x = a.value(bits)
    if x is None or x == NAN:
        return x
    return x * (1 if b.factor > 0 else -1) if abs(x) == math.inf else (x - b.offset) / b.factor


def draw_cast(rnd):
    names = [name for name in NAMES if name not in ("i64", "u64")]
    t, u = TYPES[rnd.choice(NAMES)], TYPES[rnd.choice(names)]
    a = Side(t, elements(rnd, t, rnd.choice((1, 7, 60)), rnd.randrange(4)), rnd.choice((None, draw_scale(rnd, t))))
    b = Side(u, [], draw_scale(rnd, u))
    for i in range(len(a.bits)):  # close to the middle between two elements
        if rnd.random() < 0.3:
            middle = rnd.randrange(100) + Fraction(1, 2) if not u.is_float else Fraction(2 * rnd.getrandbits(u.fraction + 1) + 1)
            x = (middle * b.factor + b.offset - a.offset) / a.factor
            if abs(x) < 1 << 62:
                a.bits[i] = nearest(t, x)
    a = Side(t, a.bits, a.scale, [rnd.choice(a.bits) for _ in range(2)])
    for bits in a.bits:
        x = stored(a, b, bits)
        cast, others = (None, ()) if x is None else diff_cast.roundings(u, x)
        choices = [rnd.getrandbits(u.bits)] + 4 * list(others) + 8 * [cast] * (cast is not None)
        b.bits.append(rnd.choice(choices))
    return a, Side(u, b.bits, b.scale, [rnd.choice(b.bits), rnd.getrandbits(u.bits)])


def cast_difference(a, b):
    places, missing = [], []
    for i, (p, q) in enumerate(zip(a.bits, b.bits)):
        of_a, of_b = a.value(p) is None, b.value(q) is None
        if of_a != of_b:
            missing.append(i)
        elif not of_a:
            places.append(i)
    found = diff_cast.difference(a.t, [a.bits[i] for i in places], b.t, [b.bits[i] for i in places],
                                 lambda t, bits: stored(a, b, bits))
    if not places:
        found["max_ulp"] = found["max_gap"] = NAN
    if found["first"] is not None:
        missing.append(places[found["first"]])
        found["different"] -= 1
    found["different"] += len(missing)
    found["missing"] = len(missing) - (found["first"] is not None)
    found["first"] = min(missing, default=None)
    gap = found["max_gap"]
    if gap != NAN and gap != math.inf:
        gap *= abs(b.factor)
        gap = int(gap) if b.is_integer else rounded(gap)
    found["max_abs"] = gap
    return found


if __name__ == "__main__":
    path = lambda name: os.path.join(sys.argv[1], name)
    rnd = random.Random(int(sys.argv[2]))
    pairs = {f"v{i:03}": draw_pair(rnd, i) for i in range(250)}
    counted = {name: count_pairs(a.bits, b.bits) for name, (a, b) in pairs.items()}
    for side in (0, 1):
        write(path("ab"[side] + ".nc"), {name: pair[side] for name, pair in pairs.items()})
    write_expected(path("scaled.tsv"), pairs, counted, columns=["missing"])
    with open(path("scaled.tolerances"), "w") as out:
        for tolerances in TOLERANCES:
            print(tolerances, file=out)
            write_expected(path(tolerances + ".tsv"), pairs, counted, tolerances=tolerances, columns=["missing"])
    pairs = {f"v{i:03}": draw_cast(rnd) for i in range(int(sys.argv[3]) if sys.argv[3:] else 120)}
    for side in (0, 1):
        write(path("cd"[side] + ".nc"), {name: pair[side] for name, pair in pairs.items()})
    with open(path("cast.tsv"), "w") as out:
        print(*CAST_COLUMNS, sep="\t", file=out)
        for name, pair in pairs.items():
            found = cast_difference(*pair)
            found["array"] = name
            if found["different"]:
                print(*(found[key] if isinstance(found[key], str) else show(found[key]) for key in CAST_COLUMNS), sep="\t", file=out)
