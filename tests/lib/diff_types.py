#!/usr/bin/env python3
"""diff_types.py DIRECTORY SEED [all]: writes a.safetensors and b.safetensors, whose arrays of one name have any two types, and
what `gpureduce --diff --tsv --number=hex` must print of them, by fractions: in types.tsv; with --nan=skip in skip.tsv;
and with --ignore-dtype in ignored.tsv. With `all` more numbers, which takes a minute."""

import functools
import math
import os
import random
import sys
from fractions import Fraction

from diff_oracle import HEADING, NAN, TYPES, count_pairs, root, rounded, show, special, write_safetensors


@functools.lru_cache(None)
def number(t, bits):
    """NAN, an infinity as a float, or a fraction."""
    x = t.value(bits)
    if x == NAN:
        return x
    return x[0] * math.inf if isinstance(x, tuple) else x * Fraction(2) ** t.unit


@functools.lru_cache(None)
def nearest(t, x):
    """The bits of an element that is next to a fraction, or an equal one."""
    if t.kind == "truth":
        return int(x != 0)
    low, high = (0, t.greatest) if t.is_float else (0, t.sign - 1 if t.kind == "signed" else 2 * t.sign - 1)
    negative = x < 0 and t.kind != "unsigned"
    while low < high:  # the greatest that is not more
        middle = (low + high + 1) // 2
        low, high = (middle, high) if number(t, middle) <= abs(x) else (low, middle - 1)
    return low if not negative else low | t.sign if t.is_float else -low % (2 * t.sign)


def has_all(wide, narrow):
    """Whether a type has all numbers of another."""
    if wide.is_float and not narrow.is_float:
        return narrow.bits - (narrow.kind == "signed") <= wide.fraction + 1
    if not wide.is_float:
        return not narrow.is_float and (narrow.kind == "truth" or narrow.bits < wide.bits or wide.kind == narrow.kind) \
            and (wide.kind == "signed" or narrow.kind != "signed")
    return narrow.fraction <= wide.fraction and narrow.exponents <= wide.exponents


@functools.lru_cache(None)
def common(t, u):
    """The type in which numbers of both are compared; None for none."""
    if t is u:
        return t
    return next((w for w in map(TYPES.get, ("i32", "i64", "u64", "f32", "f64")) if has_all(w, t) and has_all(w, u)), None)


def steps(w, x, y):
    """How many numbers of a type it is from one of its numbers to another."""
    def ordinal(z):
        if abs(z) == math.inf:
            bits = w.infinity
        else:
            bits = nearest(w, abs(z))
        return bits if z > 0 else -bits
    return int(abs(x - y)) if not w.is_float else abs(ordinal(x) - ordinal(y))


class Side:
    """The elements of an array, as bits, and what they mean: their type, their factor and offset, each perhaps None, or
    None for neither, and missing values, as bits."""

    def __init__(self, t, bits, scale=None, missing=()):
        self.t, self.bits, self.scale, self.missing = t, bits, scale, missing
        self.absent = {number(t, m) for m in missing}
        self.factor, self.offset = (Fraction(standard if x is None else x) for x, standard in zip(scale or (1, 0), (1, 0)))
        self.is_integer = not t.is_float and self.factor == 1 and self.offset.denominator == 1

    def value(self, bits):
        """NAN, an infinity as a float, or a fraction; None where it is missing."""
        x = number(self.t, bits)
        if x in self.absent:
            return None
        if not self.scale or x == NAN:
            return x
        return x * (1 if self.factor > 0 else -1) if abs(x) == math.inf else self.factor * x + self.offset


def difference(a, b, pairs, policy, tolerances):
    """What two sides differ in, of which count_pairs has told the bits."""
    w = common(a.t, b.t) if (a.scale is None, a.factor, a.offset) == (b.scale is None, b.factor, b.offset) else None
    found = {"different": 0, "first": None, "nan": 0, "missing": 0}
    peaks = {"max_abs": (0, None), "max_rel": (0, None), "max_ulp": (0, None)}
    first_nan, infinite, xx, yy, xy, squares, count = None, False, 0, 0, 0, 0, 0

    def note(i, n):
        found["different"] += n
        found["first"] = i if found["first"] is None else found["first"]

    for (p, q), i, n in pairs:
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
                if policy == "propagate":
                    note(i, n)
            continue
        count += n
        if math.inf in (abs(x), abs(y)):
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
        if gap == math.inf or not any(gap <= limit * (largest if kind == "rel" else 1) for kind, limit in tolerances):
            note(i, n)
        for name, amount in ("max_abs", gap), ("max_rel", rel), ("max_ulp", w and steps(w, number(a.t, p), number(b.t, q))):
            if amount and amount > peaks[name][0]:
                peaks[name] = (amount, i)
    no_number = found["nan"] > 0 and policy == "propagate" or count == 0
    for name, (amount, index) in peaks.items():
        if name == "max_ulp" and not w:
            amount = index = None
        elif no_number:
            amount, index = math.nan, first_nan if policy == "propagate" else None
        elif name == "max_abs" and a.is_integer and b.is_integer and amount < 2**128:
            amount = int(amount)
        elif name != "max_ulp":
            amount = rounded(amount) if amount != math.inf else amount
        found[name], found[name + "_at"] = amount, index
    if no_number:
        found["rmsd"] = found["cosine"] = math.nan
        return found
    found["rmsd"] = math.inf if peaks["max_rel"][0] == math.inf else root(Fraction(squares) / count)
    found["cosine"] = math.nan if infinite or xx == 0 or yy == 0 else root(xy * xy / (xx * yy)) * (-1 if xy < 0 else 1)
    return found


def extremes(t):
    """Elements of all kinds: also subnormal numbers, those beyond 2^24 and 2^53, and NaNs."""
    if t.kind == "truth":
        return [0, 1, 2, 255]
    some = special(t)
    if t.is_float:
        nan = 2 * t.sign - 1
        return some + [nan, nan ^ t.sign] + ([t.infinity, t.infinity | t.sign] if t.infinity else [])
    for power in 7, 8, 15, 16, 23, 24, 25, 31, 32, 52, 53, 54, 62, 63:
        some += [x % (2 * t.sign) for k in (-1, 0, 1) for x in ((1 << power) + k, -(1 << power) + k)
                 if -t.sign <= x < 2 * t.sign]
    return some


def draw_pairs(rnd, few):
    pairs = {}
    for t in TYPES.values():
        for u in TYPES.values():
            ours, theirs = extremes(t), extremes(u)
            if few:
                ours, theirs = (rnd.sample(some, min(5, len(some))) for some in (ours, theirs))
            short = [rnd.getrandbits(t.bits) for _ in range(3 if few else 20)] + ours
            some = [x for x in short if number(t, x) not in (NAN, math.inf, -math.inf)]
            both = [bits for bits in (nearest(u, number(t, x)) for x in some)]
            equal = [(x, y) for x, y in zip(some, both) if number(t, x) == number(u, y)]
            a, b = [x for x, _ in equal], [y for _, y in equal]
            name = f"{t.name} {u.name} "
            pairs[name + "equal"] = (Side(t, a), Side(u, b))
            pairs[name + "near"] = (Side(t, some), Side(u, both))
            pairs[name + "all"] = (Side(t, [x for x in ours for _ in theirs]), Side(u, theirs * len(ours)))
            if few and rnd.random() < 0.8 or not equal:
                continue
            # Longer than what is converted at a time.
            a = rnd.choices(a, k=rnd.randrange(3000, 6000))
            of = dict(equal)
            b = [of[x] for x in a]
            if rnd.random() < 0.5:
                b[rnd.randrange(len(b))] = rnd.choice(theirs)
            pairs[name + "long"] = (Side(t, a), Side(u, b))
    return pairs


def write_expected(path, pairs, counted, policy="propagate", ignored=False, tolerances="", columns=()):
    tolerances = [(kind, Fraction(float(x))) for kind, x in (one.split(":") for one in tolerances.split(",") if one)]
    with open(path, "w") as out:
        print(*HEADING, *columns, sep="\t", file=out)
        for name, (a, b) in pairs.items():
            found, is_same = difference(a, b, counted[name], policy, tolerances), a.t is b.t
            if found["different"] == 0 and (ignored or is_same):
                continue
            found.update(array=name, differs="values" if is_same or ignored else "dtype", shape=f"[{len(a.bits)}]",
                         dtype=a.t.name if is_same else f"{a.t.name}|{b.t.name}", elements=len(a.bits))
            print(*(found[key] if isinstance(found[key], str) else show(found[key]) for key in (*HEADING, *columns)),
                  sep="\t", file=out)


if __name__ == "__main__":
    path = lambda name: os.path.join(sys.argv[1], name)
    pairs = draw_pairs(random.Random(int(sys.argv[2])), sys.argv[3:] != ["all"])
    counted = {name: count_pairs(a.bits, b.bits) for name, (a, b) in pairs.items()}
    for side in (0, 1):
        write_safetensors(path("ab"[side] + ".safetensors"),
                          {name: (pair[side].t,) + 2 * (pair[side].bits,) for name, pair in pairs.items()}, side)
    write_expected(path("types.tsv"), pairs, counted)
    write_expected(path("skip.tsv"), pairs, counted, "skip")
    write_expected(path("ignored.tsv"), pairs, counted, ignored=True)
