#!/usr/bin/env python3
"""diff_cast.py DIRECTORY SEED [all]: writes a.safetensors and b.safetensors, where arrays of b are casts of those of a by
one rounding or another, and what `gpureduce --diff --cast --tsv` must print of them in some columns, by fractions: in
cast.tsv. Where ml_dtypes is there, its casts are those of the oracle."""

import math
import os
import random
import sys
from fractions import Fraction

from diff_oracle import NAN, TYPES, write_safetensors
from diff_types import extremes, nearest, number, steps

COLUMNS = "array different first max_ulp nan nearest other_rounding".split()


def bounds(t):
    return (-t.sign, t.sign - 1) if t.kind == "signed" else (0, 2 * t.sign - 1)


def roundings(t, x):
    """What x is cast to, as bits, None where the type has nothing for it; and what x is rounded down or up to."""
    nan = t.sign - 1
    if t.kind == "truth":
        return int(x != 0), set()
    if x == NAN:
        return (nan if t.is_float else None), set()
    if not t.is_float:
        low, high = bounds(t)
        if abs(x) == math.inf:
            return None, set()
        down, up = math.floor(x), math.ceil(x)
        cast = down if x - down < up - x or (x - down == up - x and down % 2 == 0) else up
        if not low <= cast <= high:
            return None, {(low if x < low else high) % (2 * t.sign)}
        return cast % (2 * t.sign), {z % (2 * t.sign) for z in (down, up) if z != cast and low <= z <= high}
    sign = t.sign if x < 0 or x == 0 and str(x) == "-0.0" else 0
    beyond = t.infinity if t.infinity else nan
    if abs(x) == math.inf:
        return sign | beyond, set()
    x = abs(x)
    down = nearest(t, x)
    up = down if number(t, down) == x else down + 1
    # A number beyond the greatest, where exponents go on.
    after = number(t, up) if up <= t.greatest else 2 * number(t, t.greatest) - number(t, t.greatest - 1)
    cast = down if x - number(t, down) < after - x or (x - number(t, down) == after - x and down % 2 == 0) else up
    return sign | (cast if cast <= t.greatest else beyond), {sign | z for z in (down, up) if z != cast} - {sign | nan}


def value(t, bits):
    x = number(t, bits)
    return -0.0 if t.is_float and bits == t.sign else x


def draw_pairs(rnd, few):
    pairs = {}
    for t in TYPES.values():
        for u in TYPES.values():
            a = [rnd.getrandbits(t.bits) for _ in range(10 if few else 100)]
            a += rnd.sample(extremes(t), min(15, len(extremes(t)))) if few else extremes(t)
            # In the middle between two elements of the other type, and close to there.
            for _ in range(10 if few else 100):
                bits = rnd.getrandbits(u.bits) if u.kind != "truth" else 0
                x, y = number(u, bits), number(u, min(bits + 1, 2 * u.sign - 1))
                if NAN not in (x, y) and abs(x) != math.inf and abs(y) != math.inf:
                    bits = nearest(t, (Fraction(x) + Fraction(y)) / 2)
                    a += [bits, bits ^ 1]
            for name in "nearest", "other", "any":
                b = []
                for bits in a:
                    cast, others = roundings(u, value(t, bits))
                    if name == "any" and rnd.random() < 0.3:
                        b.append(rnd.choice(extremes(u)))
                    elif name != "nearest" and others and rnd.random() < 0.5:
                        b.append(rnd.choice(sorted(others)))
                    else:
                        b.append(cast if cast is not None else rnd.choice(sorted(others) or extremes(u)))
                pairs[f"{t.name} {u.name} {name}"] = (t, a, u, b)
    return pairs


def difference(t, a, u, b, value=value):
    found = {"different": 0, "first": None, "max_ulp": 0, "max_gap": 0, "nan": 0, "nearest": 0, "other_rounding": 0}
    for i, (p, q) in enumerate(zip(a, b)):
        x, y = value(t, p), number(u, q)
        cast, others = roundings(u, x)
        rounded = None if cast is None else number(u, cast)
        found["other_rounding"] += y != rounded and y in {number(u, z) for z in others}
        if y == rounded:
            found["nearest"] += 1
            continue
        found["different"] += 1
        found["first"] = i if found["first"] is None else found["first"]
        if NAN in (rounded, y) or x == NAN and u.kind != "truth":
            found["nan"] += 1
        else:
            if rounded is None:
                rounded = bounds(u)[x > 0]
            found["max_ulp"] = max(found["max_ulp"], steps(u, rounded, y))
            found["max_gap"] = max(found["max_gap"], abs(rounded - y))
    if found["nan"] or found["nearest"] + found["different"] == found["nan"]:
        found["max_ulp"] = found["max_gap"] = "nan"
    return found


def check_oracle(pairs):
    """Compares the casts of floats with those of ml_dtypes."""
    import ml_dtypes
    import numpy
    names = {"bf16": ml_dtypes.bfloat16, "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
             "f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}
    numpy.seterr(all="ignore")
    for t, a, u, _ in pairs.values():
        # From f64 ml_dtypes rounds twice, by way of f32.
        if t.name in names and u.name in names and t is not u and (t.name != "f64" or u.name == "f32"):
            view = numpy.array(a, dtype=f"u{t.size}").view(names[t.name]).astype(names[u.name]).view(f"u{u.size}")
            for bits, cast in zip(a, view.tolist()):
                ours = roundings(u, value(t, bits))[0]
                if ours != cast and number(u, ours) != NAN or (number(u, ours) == NAN) != (number(u, cast) == NAN):
                    sys.exit(f"{t.name} {bits:#x}: {u.name} {ours:#x}, by ml_dtypes {cast:#x}")


if __name__ == "__main__":
    path = lambda name: os.path.join(sys.argv[1], name)
    pairs = draw_pairs(random.Random(int(sys.argv[2])), sys.argv[3:] != ["all"])
    for side in (0, 1):
        write_safetensors(path("ab"[side] + ".safetensors"),
                          {name: (pair[2 * side],) + 2 * (pair[2 * side + 1],) for name, pair in pairs.items()}, side)
    with open(path("cast.tsv"), "w") as out:
        print(*COLUMNS, sep="\t", file=out)
        for name, pair in pairs.items():
            found = difference(*pair)
            if found["different"]:
                found["array"] = name
                print(*("NA" if found[key] is None else found[key] for key in COLUMNS), sep="\t", file=out)
    try:
        check_oracle(pairs)
    except ImportError:
        pass
