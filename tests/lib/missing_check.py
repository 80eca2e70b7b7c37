#!/usr/bin/env python3
"""missing_check.py PROGRAM RUNS: has PROGRAM reduce random files in which some values are missing, by any number of
threads, in chunks of any size, by any kernels, and compares the results with those of the others, by fractions.
Prints what differs; the exit status is 1 then."""

import json
import math
import os
import random
import struct
import subprocess
import sys
from collections import Counter
from fractions import Fraction

program, runs = sys.argv[1], int(sys.argv[2])
rnd = random.Random(38)
OPERATIONS = "count missing nan inf sum mean min max argmin argmax zeros negatives l1 sumsq median q0.1".split()
LETTERS = {"f32": "f", "f64": "d", "f16": "e", "bf16": "f", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B",
           "u16": "H", "u32": "I", "u64": "Q", "bool": "B"}
KERNELS = ("vector16", "sse4", "avx2", "avx512")


def some_value(kind):
    """An element's bytes, little-endian, and its value."""
    letter = LETTERS[kind]
    if kind == "bool":
        data = bytes([rnd.choice((0, 0, 1, 7))])
        return data, int(data != b"\0")
    if letter in "fde":
        x = rnd.choice((0.0, -0.0, 1.0, -9999.0, math.nan, math.inf, rnd.gauss(0, 1), rnd.gauss(0, 100),
                        rnd.gauss(0, 1), rnd.gauss(3, 1), 0.1, -1e-5))
        data = struct.pack("<" + letter, x)
        if kind == "bf16":
            data = data[2:]
            return data, struct.unpack("<f", b"\0\0" + data)[0]
    else:
        bits = 8 * struct.calcsize("<" + letter)
        low = -1 << (bits - 1) if letter.islower() else 0
        x = rnd.choice((0, 1, low, low + (1 << bits) - 1, rnd.randrange(100), low + rnd.randrange(1 << bits)))
        data = struct.pack("<" + letter, x)
    return data, struct.unpack("<" + letter, data)[0]


def equal(a, b):
    return a == b or (a != a and b != b)


def rounded(x):
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def quantile(ordered, q):
    """By linear interpolation. None where infinities take part."""
    if not ordered:
        return math.nan
    place = q * (len(ordered) - 1)
    low, high = ordered[int(place)], ordered[math.ceil(place)]
    if math.inf in (abs(low), abs(high)):
        return low if low == high else None
    return rounded(Fraction(low) + (place - int(place)) * (Fraction(high) - Fraction(low)))


def expect(values, missing):
    present = [x for x in values if not any(equal(x, m) for m in missing)]
    numbers = [x for x in present if x == x]
    finite = Counter(x for x in numbers if abs(x) != math.inf)
    infinite = {x for x in numbers if abs(x) == math.inf}
    total = sum(Fraction(x) * n for x, n in finite.items())
    absolute = sum(abs(Fraction(x)) * n for x, n in finite.items())
    squares = sum(Fraction(x) ** 2 * n for x, n in finite.items())
    integers = not values or isinstance(values[0], int)
    exact = int if integers else rounded
    limit = next(iter(infinite)) if len(infinite) == 1 else math.nan
    ordered = sorted(numbers)
    none = not numbers
    low, high = (ordered[0], ordered[-1]) if numbers else (math.nan, math.nan)
    first = {x: values.index(x) for x in {low, high} if x == x}
    return {
        "count": len(numbers), "missing": len(values) - len(present), "nan": len(present) - len(numbers),
        "inf": len(numbers) - sum(finite.values()), "sum": limit if infinite else exact(total),
        "mean": math.nan if none else limit if infinite else rounded(Fraction(total, len(numbers))),
        "min": low, "max": high, "zeros": sum(x == 0 for x in numbers), "negatives": sum(x < 0 for x in numbers),
        # Which of two zeros is the less does not matter here.
        "argmin": None if none or (low == 0 and not integers) else first[low],
        "argmax": None if none or (high == 0 and not integers) else first[high],
        "l1": math.inf if infinite else rounded(absolute), "sumsq": math.inf if infinite else rounded(squares),
        "median": quantile(ordered, Fraction(1, 2)), "q0.1": quantile(ordered, Fraction(1, 10)),
    }


def agrees(text, expected):
    if isinstance(expected, int) and text.lstrip("-").isdigit():
        return int(text) == expected
    return equal(float.fromhex(text), rounded(expected))


def some_file(kind):
    pool = [some_value(kind) for _ in range(rnd.choice((2, 5, 300)))]
    count = rnd.choice((1, 7, 100, 5000, 40000, 40000, 300000))
    if rnd.random() < 0.3:  # long runs of equal elements
        chosen = [x for x in rnd.choices(pool, k=1 + count // 500) for _ in range(500)]
    else:
        chosen = rnd.choices(pool, k=count)
    return pool, [x for x, _ in chosen], [x for _, x in chosen]


def bins(values, missing):
    """The elements in 16 bins from -8 to 8, and below, above, and NaN."""
    present = [x for x in values if not any(equal(x, m) for m in missing)]
    inside = Counter(min(int(Fraction(x) + 8), 15) for x in present if -8 <= x <= 8)
    return [inside[i] for i in range(16)] + [sum(x < -8 for x in present), sum(x > 8 for x in present),
                                             sum(x != x for x in present), len(values) - len(present)]


wrong = 0
for number in range(runs):
    kind = rnd.choice(list(LETTERS))
    pool, elements, values = some_file(kind)
    missing = [rnd.choice(pool)[1] for _ in range(rnd.choice((0, 1, 1, 2, 4)))]
    big = rnd.random() < 0.2 and kind in ("f32", "f64", "i16", "i32", "u64")
    with open("random.bin", "wb") as file:
        file.write(b"".join(x[::-1] if big else x for x in elements))
    endian = ["--endian=big"] if big else []
    arguments = ["-q", "--number=hex", "--nan=skip", "-t", kind, "-j", str(rnd.choice((1, 2, 5))), *endian,
                 *[f"--missing={x!r}" for x in missing], "--chunk-size=" + str(rnd.choice((64, 1000, 40000, 1 << 20))),
                 "-o", ",".join(OPERATIONS), "random.bin"]
    kernels = rnd.choice(KERNELS)
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, "GPUREDUCE_CPU": kernels})
    expected = expect(values, missing)
    found = done.stdout.split()
    if done.returncode != 0 or len(found) != len(OPERATIONS):
        wrong += 1
        print(number, kernels, arguments, done.returncode, done.stderr)
        continue
    for name, text in zip(OPERATIONS, found):
        if expected[name] is not None and not agrees(text, expected[name]):
            wrong += 1
            print(number, kernels, arguments, name, text, "expected", expected[name])
    if number % 2:
        arguments[arguments.index("-o") + 1] = rnd.choice(("count", "sum", "std"))
        done = subprocess.run([program, *arguments, "--json", "--histogram=16,-8,8"], capture_output=True, text=True,
                              check=False, env={**os.environ, "GPUREDUCE_CPU": kernels})
        found = json.loads(done.stdout)
        counts = found["histogram"]
        if [*counts["counts"], counts["below"], counts["above"], counts["nan"], found["missing"]] != bins(values, missing):
            wrong += 1
            print(number, kernels, arguments, counts, "expected", bins(values, missing))
sys.exit(wrong > 0)
