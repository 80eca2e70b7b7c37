#!/usr/bin/env python3
"""diff_oracle.py DIRECTORY: writes pairs of arrays of every type, and what they differ in, by integers and
fractions.

The arrays are a.safetensors and b.safetensors, and, of the types that NumPy has, big-endian big-a.npz and
big-b.npz, and deflated deflated-b.npz. What `gpureduce --diff --tsv --number=hex` must print is in
propagate.tsv, skip.tsv, for these policies, and TOLERANCES.tsv, for each line of asked.tolerances; in missing.tsv,
where MISSING are missing values; and in numpy.tsv of those types alone. long-a and long-b are the elements of f64.long."""

import json
import math
import os
import random
import struct
import sys
import zipfile
from collections import Counter
from fractions import Fraction

# name, safetensors' name, bytes, kind, bits of the fraction, NumPy's name
TYPES = [
    ("f32", "F32", 4, "float", 23, "f4"), ("f64", "F64", 8, "float", 52, "f8"), ("f16", "F16", 2, "float", 10, "f2"),
    ("bf16", "BF16", 2, "float", 7, None), ("f8e4m3", "F8_E4M3", 1, "finite", 3, None),
    ("f8e5m2", "F8_E5M2", 1, "float", 2, None), ("i8", "I8", 1, "signed", 0, "i1"), ("i16", "I16", 2, "signed", 0, "i2"),
    ("i32", "I32", 4, "signed", 0, "i4"), ("i64", "I64", 8, "signed", 0, "i8"), ("u8", "U8", 1, "unsigned", 0, "u1"),
    ("u16", "U16", 2, "unsigned", 0, "u2"), ("u32", "U32", 4, "unsigned", 0, "u4"), ("u64", "U64", 8, "unsigned", 0, "u8"),
    ("bool", "BOOL", 1, "truth", 0, "b1"),
]
NAN, INF = "nan", "inf"


class Type:
    def __init__(self, name, safetensors, size, kind, fraction, numpy):
        self.name, self.safetensors, self.size, self.kind, self.numpy = name, safetensors, size, kind, numpy
        self.bits = 8 * size
        self.sign = 1 << (self.bits - 1)
        self.fraction = fraction
        self.is_float = kind in ("float", "finite")
        if self.is_float:
            self.exponents = self.bits - 1 - fraction
            self.bias = (1 << (self.exponents - 1)) - 1
            top = ((1 << self.exponents) - 1) << fraction
            self.infinity = top if kind == "float" else None
            self.greatest = top - 1 if kind == "float" else self.sign - 2
            # Elements are integers, times this power of two.
            self.unit = 1 - self.bias - fraction
        else:
            self.unit = 0
        self.known = {}

    def value(self, bits):
        """NAN, (sign, INF), or an integer, in units of 2^unit."""
        v = self.known.get(bits)
        if v is None:
            v = self.known[bits] = self.work_out(bits)
        return v

    def work_out(self, bits):
        if self.kind == "unsigned":
            return bits
        if self.kind == "signed":
            return bits - 2 * (bits & self.sign)
        if self.kind == "truth":
            return int(bits != 0)
        sign = -1 if bits & self.sign else 1
        magnitude = bits & (self.sign - 1)
        if magnitude > self.greatest:
            return (sign, INF) if magnitude == self.infinity else NAN
        exponent, f = magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1)
        return sign * (f if exponent == 0 else (f | 1 << self.fraction) << (exponent - 1))

    def steps(self, a, b):
        if not self.is_float:
            return abs(self.value(a) - self.value(b))
        ordinal = [(-1 if x & self.sign else 1) * (x & (self.sign - 1)) for x in (a, b)]
        return abs(ordinal[0] - ordinal[1])


TYPES = {row[0]: Type(*row) for row in TYPES}


def root(x):
    """The square root of a fraction, rounded once."""
    if x == 0:
        return 0.0
    shift = 2 * max(0, 130 + (x.denominator.bit_length() - x.numerator.bit_length()) // 2)
    n = (x.numerator << shift) // x.denominator
    r = math.isqrt(n)
    exact = r * r == n and (x.numerator << shift) % x.denominator == 0
    return rounded(Fraction(2 * r + (not exact), 2 << (shift // 2)))


def rounded(x):
    try:
        return float(x)
    except OverflowError:
        return math.inf


def count_pairs(a, b):
    """The pairs of two lists, where each is first, and how often it is there; in the order of that."""
    both = list(zip(a, b))
    firsts = dict(zip(reversed(both), range(len(both) - 1, -1, -1)))
    times = Counter(both)
    return sorted(((pair, i, times[pair]) for pair, i in firsts.items()), key=lambda row: row[1])


def is_missing(t, x):
    if isinstance(x, tuple):
        return x[0] * math.inf in MISSING
    return x in MISSING if x == NAN else x * Fraction(2) ** t.unit in MISSING


def difference(t, pairs, policy, tolerances, missing):
    """What two lists differ in, of which count_pairs has told the bits."""
    scale = Fraction(2) ** t.unit
    found = {"different": 0, "first": None, "nan": 0, "missing": 0}
    # Numbers over others; these are elements' own units.
    peaks = {"max_abs": (0, 1, None), "max_rel": (0, 1, None), "max_ulp": (0, 1, None)}
    first_nan = first_infinite = None
    infinite, xx, yy, xy, squares, count = False, 0, 0, 0, 0, 0

    def raise_peak(name, x, over, index):
        if x * peaks[name][1] > peaks[name][0] * over:
            peaks[name] = (x, over, index)

    def is_within(kind, most, gap, largest, steps):
        """Whether a difference is at most a fraction."""
        if kind == "ulp":
            return steps <= most
        if kind == "rel":
            return gap * most.denominator <= most.numerator * largest
        return gap * most.denominator <= most.numerator << -t.unit

    def first_of(old, index):
        return index if old is None else old

    for (p, q), i, n in pairs:
        x, y = t.value(p), t.value(q)
        if missing and (is_missing(t, x) or is_missing(t, y)):
            if is_missing(t, x) != is_missing(t, y):
                found["missing"] += n
                found["different"] += n
                found["first"] = first_of(found["first"], i)
            continue
        if x == NAN or y == NAN:
            if x != y:
                found["nan"] += n
                first_nan = first_of(first_nan, i)
                if policy == "propagate":
                    found["different"] += n
                    found["first"] = first_of(found["first"], i)
            continue
        count += n
        if isinstance(x, tuple) or isinstance(y, tuple):
            infinite = True
            if x == y:
                continue
            gap, largest = math.inf, 1
        else:
            xx, yy, xy = xx + n * x * x, yy + n * y * y, xy + n * x * y
            if x == y:
                continue
            gap = abs(x - y)
            squares += n * gap * gap
            largest = max(abs(x), abs(y))
        steps = t.steps(p, q)
        if gap == math.inf or not any(is_within(*one, gap, largest, steps) for one in tolerances):
            found["different"] += n
            found["first"] = first_of(found["first"], i)
        if gap != math.inf:
            raise_peak("max_abs", gap, 1, i)
            raise_peak("max_rel", gap, largest, i)
        elif first_infinite is None:
            first_infinite = i
        raise_peak("max_ulp", steps, 1, i)
    if found["nan"] > 0 and policy == "propagate" or count == 0:
        for name in peaks:
            found[name], found[name + "_at"] = math.nan, first_nan if policy == "propagate" else None
        found["rmsd"] = found["cosine"] = math.nan
        return found
    for name, (x, over, index) in peaks.items():
        if name != "max_ulp" and first_infinite is not None:
            found[name], index = math.inf, first_infinite
        elif name == "max_ulp" or not t.is_float and name == "max_abs":
            found[name] = x
        else:
            found[name] = rounded(Fraction(x, over) * (scale if name == "max_abs" else 1))
        found[name + "_at"] = index
    found["rmsd"] = math.inf if first_infinite is not None else root(Fraction(squares, count) * scale * scale)
    if infinite or xx == 0 or yy == 0:
        found["cosine"] = math.nan
    else:
        found["cosine"] = root(Fraction(xy * xy, xx * yy)) * (-1 if xy < 0 else 1)
    return found


# ------------------------------------------------------------------------------------------------
# Pairs of arrays.
# ------------------------------------------------------------------------------------------------
def patterns(t, rnd, count):
    return [rnd.getrandbits(t.bits) for _ in range(count)]


def numbers(t, rnd, count):
    """Without NaNs and infinities, and of moderate exponents."""
    if not t.is_float:
        return [rnd.getrandbits(t.bits) for _ in range(count)]
    middle = t.bias << t.fraction
    spread = min(middle, 20 << t.fraction)
    return [(rnd.getrandbits(1) and t.sign) | rnd.randrange(middle - spread, min(middle + spread, t.greatest))
            for _ in range(count)]


def step(t, bits, steps):
    """An element some steps away, as far as the type goes."""
    if t.kind == "truth":
        return bits
    magnitude = t.sign - 1 if t.is_float else 2 * t.sign - 1
    top = t.greatest if t.is_float else magnitude
    return bits & ~magnitude | max(0, min(top, (bits & magnitude) + steps))


def special(t):
    if t.kind == "truth":
        return [0, 1, 2, 255]
    if not t.is_float:
        return [0, 1, t.sign - 1, t.sign, t.sign + 1, 2 * t.sign - 1]
    some = [0, 1, 2, (1 << t.fraction) - 1, 1 << t.fraction, t.bias << t.fraction, t.greatest, t.greatest - 1]
    return some + [x | t.sign for x in some]


def make_pairs():
    rnd = random.Random(7)
    pairs = {}
    for t in TYPES.values():
        def put(name, a, b):
            pairs[f"{t.name}.{name}"] = (t, a, b)
        a = patterns(t, rnd, 300)
        put("patterns", a, patterns(t, rnd, 300))
        put("some patterns", a, [x if rnd.random() < 0.9 else rnd.getrandbits(t.bits) for x in a])
        a = numbers(t, rnd, 400)
        put("numbers", a, numbers(t, rnd, 400))
        put("near", a, [step(t, x, rnd.choice((0, 0, 0, 1, -1, 2, -3))) for x in a])
        put("all one off", a, [step(t, x, 1) for x in a])
        put("same", a, list(a))
        some = special(t)
        put("special", [x for x in some for _ in some], [y for _ in some for y in some])
        for i in (0, 3, 5):
            put(f"special {i}", [some[i % len(some)]] * 3, some[:3])
        if t.infinity_pair():
            put("infinities", [t.infinity, t.infinity | t.sign, t.infinity, 5], [t.infinity, t.infinity, 3, 5])
            put("same infinities", [t.infinity, 1, 7], [t.infinity, 2, 7])
        if t.is_float:
            nan = 2 * t.sign - 1
            put("nans", [nan, 1, nan, 3, nan ^ t.sign], [nan, nan, 2, 4, nan])
            put("nan alone", [nan, 9], [nan ^ t.sign, 9])
        # Equal pieces in front of differences, and behind them, and NaNs in both.
        long = 100000 // t.size
        few = numbers(t, rnd, 50) + ([2 * t.sign - 1] if t.is_float else [])
        a = rnd.choices(few, k=long)
        b = list(a)
        for i in (long * 4 // 5, long - 3):
            b[i] = few[3] if b[i] != few[3] else few[4]
        put("long", a, b)
        b = list(a)
        b[5] = few[6] if b[5] != few[6] else few[7]
        put("long, early", a, b)
        # Missing values, also in pieces that are equal.
        few.extend(2 * [bits for bits in special(t) if is_missing(t, t.value(bits))])
        a = rnd.choices(few, k=long)
        b = list(a)
        for i in range(long // 3, long // 2, 777 // t.size):
            b[i] = rnd.choice(few)
        put("long, with missing values", a, b)
    # Powers of two apart, so that cosines are close to 1, or tiny.
    t = TYPES["f64"]
    exponents = lambda *list_: [(e + 1023) << 52 for e in list_]
    pairs["f64.tiny cosine"] = (t, exponents(900, -900), exponents(-950, 900))
    pairs["f64.no cosine"] = (t, exponents(1000, -1000), [0, 1])
    pairs["f64.least cosine"] = (t, exponents(0) + [0], [1] + exponents(0))
    pairs["f64.orthogonal"] = (t, exponents(5, 3), [exponents(3)[0], exponents(5)[0] | t.sign])
    pairs["f64.huge"] = (t, [t.greatest, 0], [t.greatest | t.sign, 1])
    pairs["f64.huge, twice"] = (t, [t.greatest - 1, t.greatest], [t.greatest | t.sign] * 2)
    pairs["f64.huge, by the other"] = (t, [t.greatest] * 2, [(t.greatest - 1) | t.sign, t.greatest | t.sign])
    # Pairs of one ratio, or of two whose difference is an ulp, also where a - b is beyond the greatest.
    for name, exponents in (("huge", (1000, 1024)), ("tiny", (-1000, -820)), ("subnormal", (-1073, -1010))):
        a = [math.ldexp(1 + rnd.getrandbits(26) / 2**26, rnd.randint(*exponents) - 1) for _ in range(300)]
        for times in (1 - 2**-10, 0.5, -1, -0.5):
            bits = [struct.unpack("300Q", struct.pack("300d", *side)) for side in (a, [x * times for x in a])]
            pairs[f"f64.{name}, {times} times"] = (t, *bits)
            pairs[f"f64.{name}, about {times} times"] = (t, bits[0], [step(t, x, rnd.choice((0, 0, 1))) for x in bits[1]])
    # The last pair has the greatest relative difference, and no other. Multiplied by 2^-64 its ratio would be rounded up,
    # above that of the pair before it.
    sides = ((2.0**1020, 2.0**985, 1.5 * 2.0**1010),
             (2.0**1019, (1 + 2.0**-21) * 2.0**-1015, (1.5 + 0.6 * 2.0**-20) * 2.0**-990))
    pairs["f64.huge, by tiny"] = (t, *(struct.unpack("3Q", struct.pack("3d", *side)) for side in sides))
    # Cosines that lie in the middle between two binary64: one element beside others whose squares add
    # up so that the length is a power of two.
    t = TYPES["i64"]
    for odd in ((1 << 53) + 1, (1 << 53) + 3, (1 << 54) - 1, (1 << 54) - 3):
        rest, others = (1 << 108) - odd * odd, []
        while rest:
            others.append(math.isqrt(rest))
            rest -= others[-1] ** 2
        for times in (1, 3, 12345678901, (1 << 62) - 57):
            pairs[f"i64.middle {odd} {times}"] = (t, [odd] + others, [times] + [0] * len(others))
    return pairs


Type.infinity_pair = lambda self: self.is_float and self.infinity is not None


def pack(t, bits, order="<"):
    return struct.pack(f"{order}{len(bits)}{ {1: 'B', 2: 'H', 4: 'I', 8: 'Q'}[t.size] }", *bits)


def write_safetensors(path, pairs, side):
    header, data = {}, []
    at = 0
    for name, pair in pairs.items():
        piece = pack(pair[0], pair[1 + side])
        header[name] = {"dtype": pair[0].safetensors, "shape": [len(pair[1])], "data_offsets": [at, at + len(piece)]}
        at += len(piece)
        data.append(piece)
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def write_npz(path, pairs, side, order, method):
    with zipfile.ZipFile(path, "w", method, compresslevel=1) as out:
        for name, (t, *bits) in pairs.items():
            if t.numpy:
                head = str({"descr": (order if t.size > 1 else "|") + t.numpy, "fortran_order": False,
                            "shape": (len(bits[0]),)}).encode()
                head += b" " * (63 - (len(head) + 10) % 64) + b"\n"
                out.writestr(name + ".npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head +
                             pack(t, bits[side], order))


# ------------------------------------------------------------------------------------------------
# What must be printed.
# ------------------------------------------------------------------------------------------------
HEADING = ("array differs dtype shape elements different first max_abs max_abs_at max_rel max_rel_at max_ulp max_ulp_at "
           "rmsd cosine nan").split()


def show(x):
    """As --number=hex has it."""
    if x is None:
        return "NA"
    if isinstance(x, int):
        return str(x)
    if not math.isfinite(x):
        return str(x)
    if x == 0:
        return "0x0p+0"
    mantissa, exponent = math.frexp(abs(x))
    digits = f"{int(mantissa * 2**53) - 2**52:013x}".rstrip("0")
    return f"{'-' if x < 0 else ''}0x1{'.' if digits else ''}{digits}p{exponent - 1:+d}"


def write_expected(path, pairs, counted, policy, tolerances, missing=False):
    heading = HEADING + missing * ["missing"]
    tolerances = [(kind, int(x) if kind == "ulp" else Fraction(float(x)))
                  for kind, x in (one.split(":") for one in tolerances.split(",") if one)]
    with open(path, "w") as out:
        print(*heading, sep="\t", file=out)
        for name, (t, a, _) in pairs.items():
            found = difference(t, counted[name], policy, tolerances, missing)
            if found["different"] > 0:
                found.update(array=name, differs="values", dtype=t.name, shape=f"[{len(a)}]", elements=len(a))
                print(*(found[key] if isinstance(found[key], str) else show(found[key]) for key in heading), sep="\t",
                      file=out)


TOLERANCES = ["abs:1e-6", "rel:1e-3", "rel:0.5,ulp:1,abs:3"]
MISSING = [0, 1, NAN, -math.inf]

if __name__ == "__main__":
    path = lambda name: os.path.join(sys.argv[1], name)
    pairs = make_pairs()
    counted = {name: count_pairs(a, b) for name, (_, a, b) in pairs.items()}
    numpy = {name: pair for name, pair in pairs.items() if pair[0].numpy}
    for side in (0, 1):
        write_safetensors(path("ab"[side] + ".safetensors"), pairs, side)
        write_npz(path(f"big-{'ab'[side]}.npz"), numpy, side, ">", zipfile.ZIP_STORED)
    write_npz(path("deflated-b.npz"), numpy, 1, "<", zipfile.ZIP_DEFLATED)
    write_expected(path("propagate.tsv"), pairs, counted, "propagate", "")
    write_expected(path("skip.tsv"), pairs, counted, "skip", "")
    write_expected(path("missing.tsv"), pairs, counted, "propagate", "", missing=True)
    write_expected(path("numpy.tsv"), numpy, counted, "propagate", "")
    for side in (0, 1):
        with open(path("long-" + "ab"[side]), "wb") as out:
            out.write(pack(pairs["f64.long"][0], pairs["f64.long"][1 + side]))
    with open(path("asked.tolerances"), "w") as out:
        for tolerances in TOLERANCES:
            print(tolerances, file=out)
            write_expected(path(tolerances + ".tsv"), pairs, counted, "skip", tolerances)
