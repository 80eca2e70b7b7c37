#!/usr/bin/env python3
"""Small files of every element type, and the partial results that gpureduce has to print of them.

    make_partial.py DIRECTORY

writes there, for each type, TYPE.bin and TYPE.json: the line of `gpureduce -t TYPE --partial
--label=TYPE` with all operations, worked out here with fractions from the bits of the elements.
TYPE.missing has options that make some of these missing, and TYPE.missing.json is the line with
them. TYPE.scaled.json is the line with these and a scale of its own, and TYPE.parts.json has three
lines that come to it, in another order. Where h5py is there, TYPE.h5 has the elements as an array
`x` of that scale, and large.h5 has one of many; else it needs nothing but Python. It shares nothing
with the program.
"""

import random
import sys
import zlib
from fractions import Fraction
from pathlib import Path

try:
    import h5py
    import numpy
except ImportError:
    h5py = None

# Name: bits, of which exponent bits (0 for integers), bias, whether there are infinities.
FLOATS = {
    "f32": (32, 8, 127, True),
    "f64": (64, 11, 1023, True),
    "f16": (16, 5, 15, True),
    "bf16": (16, 8, 127, True),
    "f8e4m3": (8, 4, 7, False),
    "f8e5m2": (8, 5, 15, True),
}
INTEGERS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64, "bool": 8}


def number(x, negative_zero=False):
    """A fraction whose denominator is a power of two."""
    if x == 0:
        return '"-0x0p+0"' if negative_zero else '"0x0p+0"'
    exponent = -(x.denominator.bit_length() - 1)
    integer = abs(x.numerator)
    while integer % 2 == 0:
        integer //= 2
        exponent += 1
    return f'"{"-" if x < 0 else ""}0x{integer:x}p{exponent:+d}"'


def decode(name, bits):
    """nan, or a sign and a magnitude; that is None for an infinity. And whether it is subnormal."""
    width, exponent_bits, bias, infinities = FLOATS[name]
    fraction_bits = width - 1 - exponent_bits
    sign = bits >> (width - 1)
    exponent = bits >> fraction_bits & (1 << exponent_bits) - 1
    fraction = bits & (1 << fraction_bits) - 1
    greatest = (1 << exponent_bits) - 1
    if exponent == greatest and (infinities or fraction == (1 << fraction_bits) - 1):
        return (sign, None, False) if infinities and fraction == 0 else "nan"
    if exponent == 0:
        return sign, Fraction(fraction) * Fraction(2) ** (1 - bias - fraction_bits), fraction != 0
    return (
        sign,
        Fraction(fraction + (1 << fraction_bits)) * Fraction(2) ** (exponent - bias - fraction_bits),
        False,
    )


def elements(name, data, size):
    for i in range(0, len(data), size):
        bits = int.from_bytes(data[i : i + size], "little")
        if name in FLOATS:
            yield decode(name, bits)
            continue
        if name == "bool":
            bits = int(bits != 0)
        elif name[0] == "i" and bits >> (8 * size - 1):
            bits -= 1 << 8 * size
        yield int(bits < 0), Fraction(abs(bits)), False


def value(x):
    """What orders elements: -0 stands before +0."""
    sign, magnitude, _ = x
    if magnitude is None:
        return (-1 if sign else 1, 0, 0)
    return (0, -magnitude if sign else magnitude, 0 if sign else 1)


def extreme(x):
    sign, magnitude, _ = x
    if magnitude is None:
        return '"-inf"' if sign else '"inf"'
    return number(-magnitude if sign else magnitude, sign and magnitude == 0)


def choose_missing(everything):
    """The least and a middle number, between which there are others, and NaN."""
    numbers = sorted({value(x): x for x in everything if x != "nan"}.items())
    missing = [numbers[0][1]] + ([numbers[len(numbers) // 2][1]] if len(numbers) > 4 else [])
    return missing + ["nan"] * ("nan" in everything)


def missing_option(name, x):
    if x == "nan":
        return " --missing=nan"
    return f" --missing={-x[1] if x[0] else x[1]}" if name in INTEGERS else f" --missing={extreme(x)[1:-1]}"


def missing_values(name, missing):
    items = []
    for x in missing:
        if x == "nan":
            items.append('"nan"')
        elif x[1] == 0 and name in FLOATS:
            items.append('["-0x0p+0","0x0p+0"]')
        else:
            items.append(extreme(x))
    return "[" + ",".join(items) + "]"


def equal(x, y):
    if "nan" in (x, y):
        return x == y
    return x[1] == y[1] and (x[0] == y[0] or x[1] == 0)


def choose_scale(everything):
    """A scale for which a number of these stands for zero, or nearly, and half of the others for less."""
    numbers = sorted({value(x): x for x in everything if x != "nan" and x[1] is not None}.items())
    sign, magnitude, _ = numbers[len(numbers) // 3][1]
    factor = random.Random(len(numbers)).choice([0.1, -0.5])
    return factor, float(-Fraction(factor) * (-magnitude if sign else magnitude))


def sides(numbers, scale):
    """The members about the numbers on both sides of the one that stands for zero."""
    threshold = -Fraction(scale[1]) / Fraction(scale[0])
    lower, upper = [], []
    for _, x in numbers:
        if x[1] is None:
            (lower if x[0] else upper).append(x)
        else:
            (lower if (-x[1] if x[0] else x[1]) < threshold else upper).append(x)
    finite = [-x[1] if x[0] else x[1] for x in upper if x[1] is not None]
    return [
        ("lower", len(lower)),
        ("zeros", finite.count(threshold)),
        ("lower_max", extreme(max(lower, key=value)) if lower else "null"),
        ("upper_min", extreme(min(upper, key=value)) if upper else "null"),
        ("upper_sum", number(sum(finite, Fraction(0)))),
    ]


def line(name, data, size, missing, scale=None, part=slice(None)):
    everything = list(enumerate(elements(name, data, size)))
    of = len(everything)
    everything = everything[part]
    others = [(i, x) for i, x in everything if not any(equal(x, m) for m in missing)]
    numbers = [(i, x) for i, x in others if x != "nan"]
    count = len(everything)
    nans = [i for i, x in others if x == "nan"]
    finite = [-x[1] if x[0] else x[1] for _, x in numbers if x[1] is not None]
    infinite = [x[0] for _, x in numbers if x[1] is None]
    least = min(numbers, key=lambda n: (value(n[1]), n[0]), default=None)
    most = min(numbers, key=lambda n: (tuple(-v for v in value(n[1])), n[0]), default=None)
    small = min((value((0, x[1], False)), (0, x[1], False)) for _, x in numbers) if numbers else None
    keys = [
        ("gpureduce", '"partial"'),
        ("version", 2),
        ("input", f'"{name}"'),
        *([("array", '"x"')] if scale else []),
        ("dtype", f'"{name}"'),
        ("of", of),
        ("ranges", f"[[{everything[0][0]},{everything[-1][0] + 1}]]" if count else "[]"),
        ("missing_values", missing_values(name, missing)),
        ("scale_factor", number(Fraction(scale[0])) if scale else "null"),
        ("add_offset", number(Fraction(scale[1])) if scale else "null"),
        ("count", count),
        ("missing", count - len(others)),
        ("nan", len(nans)),
        ("first_nan", nans[0] if nans else "null"),
        ("posinf", infinite.count(0)),
        ("neginf", infinite.count(1)),
        ("sum", number(sum(finite, Fraction(0)))),
        ("min", extreme(least[1]) if least else "null"),
        ("max", extreme(most[1]) if most else "null"),
        ("argmin", least[0] if least else "null"),
        ("argmax", most[0] if most else "null"),
        ("sumsq", number(sum((x * x for x in finite), Fraction(0)))),
    ]
    keys += sides(numbers, scale) if scale else [
        ("l1", number(sum((abs(x) for x in finite), Fraction(0)))),
        ("absmin", extreme(small[1]) if small else "null"),
        ("zeros", sum(x == 0 for x in finite)),
        ("subnormals", sum(x[2] for _, x in numbers)),
        ("negatives", sum(x < 0 for x in finite) + infinite.count(1)),
    ]
    keys += [("digest", "null")]
    text = "{" + ",".join(f'"{key}":{what}' for key, what in keys)
    return f'{text},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


def write_hdf5(path, name, data, scale):
    """Types that HDF5 has none of are left out."""
    if not h5py or name == "bool" or name in FLOATS and name not in ("f16", "f32", "f64"):
        return
    with h5py.File(path, "w") as file:
        x = file.create_dataset("x", data=numpy.frombuffer(data, f"<{name[0]}{int(name[1:]) // 8}"))
        x.attrs["scale_factor"], x.attrs["add_offset"] = scale


def main():
    directory = Path(sys.argv[1])
    rng = random.Random(16)
    for name in list(FLOATS) + list(INTEGERS):
        size = (FLOATS[name][0] if name in FLOATS else INTEGERS[name]) // 8
        data = rng.randbytes(size * 97)
        (directory / f"{name}.bin").write_bytes(data)
        missing = choose_missing(list(elements(name, data, size)))
        (directory / f"{name}.json").write_text(line(name, data, size, []))
        (directory / f"{name}.missing").write_text("".join(missing_option(name, x) for x in missing))
        (directory / f"{name}.missing.json").write_text(line(name, data, size, missing))
        scale = choose_scale(list(elements(name, data, size)))
        parts = [slice(60, 97), slice(0, 1), slice(1, 60)]
        (directory / f"{name}.scaled.json").write_text(line(name, data, size, missing, scale))
        (directory / f"{name}.parts.json").write_text("".join(line(name, data, size, missing, scale, p) for p in parts))
        write_hdf5(directory / f"{name}.h5", name, data, scale)
    write_hdf5(directory / "large.h5", "i16", rng.randbytes(7000002), (0.01, 273.15))


main()
