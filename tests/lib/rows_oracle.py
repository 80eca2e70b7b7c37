"""rows_oracle.py PROGRAM RUNS: makes two files of many small arrays, and has PROGRAM print all results of
them, as TSV. Then which rows --where leaves, and the order in which --sort puts them, are worked out from
that by fractions, for RUNS random choices, and compared with what the program prints. Rows of --diff are
checked in this way, too; people get these with the worst first."""

import json
import random
import struct
import subprocess
import sys
from fractions import Fraction

program, runs = sys.argv[1:]
rnd = random.Random(11)
OPERATIONS = ("sum min max mean count argmin argmax nan inf var std sumsq rms l1 l2 absmax absmin range zeros "
              "negatives subnormals median q0.25").split()
ELEMENT = {"min", "max", "absmax", "absmin", "range"}
COUNTS = {"count", "argmin", "argmax", "nan", "inf", "zeros", "negatives", "subnormals"}
LETTERS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "U64": "Q", "I32": "i", "U8": "B"}
SIZES = {"f64": 8, "f32": 4, "f16": 2, "i64": 8, "u64": 8, "i32": 4, "u8": 1}


def some_values(kind, count):
    if kind[0] == "F":
        pool = (0.0, -0.0, 0.1, 0.25, -1.5, 1 / 3, 3.0, 1e-7, 60000.0, 2.0**53 if kind != "F16" else 2.0,
                2.0**53 + 2 if kind == "F64" else 1.0, 2.0**-24, float("inf"), float("-inf"), float("nan"))
    elif kind == "U8":
        pool = (0, 1, 2, 255)
    else:
        top = {"I64": 2**63 - 1, "U64": 2**64 - 1, "I32": 2**31 - 1}[kind]
        pool = (0, 1, 3, top, top - 1, top // 2)
        if kind == "I64":
            pool += (2**53, 2**53 + 1, 2**53 - 1)
        if kind[0] == "I":
            pool += (-1, -top - 1, -3)
    return [rnd.choice(pool) for _ in range(count)]


def write(path, arrays):
    """Writes arrays, each a name, a type and values."""
    header, data = {}, b""
    for name, kind, values in arrays:
        packed = struct.pack(f"<{len(values)}{LETTERS[kind]}", *values)
        header[name] = {"dtype": kind, "shape": [len(values)], "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)


def some_arrays(prefix, count):
    for i in range(count):
        kind = rnd.choice(list(LETTERS))
        values = some_values(kind, rnd.choice((0, 1, 1, 2, 3, 8)))
        yield f"{prefix}{rnd.randrange(1000)}.{i}", kind, values


def rounded(number, dtype):
    """The value of a type that is nearest to a double: numbers here are far from halves of its steps."""
    letter = {"f32": "f"}.get(dtype)  # those of f16 are shown in full
    if letter is None or abs(number) == float("inf"):
        return number
    try:
        return struct.unpack(letter, struct.pack(letter, number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


INFINITE = Fraction(10) ** 400


def exact(text, name, dtype):
    """What a number stands for beside a result of this name; None for NaN."""
    integer = name in COUNTS or name in ("elements", "bytes")
    if dtype[0] in "iu" and (name == "sum" or name in ELEMENT):
        integer = True
    if integer and text.lstrip("-").isdigit():
        return Fraction(int(text))
    if text == "nan":
        return None
    number = rounded(float(text), dtype) if name in ELEMENT and dtype[0] == "f" else float(text)
    if abs(number) == float("inf"):
        return INFINITE if number > 0 else -INFINITE
    return Fraction(number)


def run(*arguments, status=0):
    done = subprocess.run([program, "--no-progress", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != status or (done.stderr and status == 0):
        sys.exit(f"{arguments}: {done.returncode} {done.stderr}")
    return done.stdout.split("\n")[:-1]


FILES = ["a.safetensors", "b.safetensors"]
write(FILES[0], some_arrays("w", 40))
write(FILES[1], some_arrays("v/", 25))
heading, *lines = run("--tsv", "-o", ",".join(OPERATIONS), *FILES)
assert heading.split("\t") == ["file", "array", "dtype", "shape"] + OPERATIONS
table = []
for line in lines:
    fields = line.split("\t")
    row = dict(zip(heading.split("\t"), fields))
    row["elements"] = row["shape"][1:-1]
    row["bytes"] = str(int(row["elements"]) * SIZES[row["dtype"]])
    table.append(row)
assert len(table) == 65


def value(row, name):
    return exact(row[name], name, row["dtype"])


def compare(x, sign, y):
    if x is None:
        return sign == "!="
    return {"<": x < y, "<=": x <= y, "=": x == y, "==": x == y, "!=": x != y, ">=": x >= y, ">": x > y}[sign]


def holds(row, name, sign, number):
    return compare(value(row, name), sign, exact(number, name, row["dtype"]))


def order(rows, name, descending, value=value):
    if name in ("name", "dtype"):
        key = "array" if name == "name" else "dtype"
        return sorted(rows, key=lambda row: row[key].split("|")[0].encode(), reverse=descending)
    known = [row for row in rows if value(row, name) is not None]
    return (sorted(known, key=lambda row: value(row, name), reverse=descending) +
            [row for row in rows if value(row, name) is None])


kept = left = 0
for i in range(int(runs)):
    conditions, sort, options = [], None, []
    rows = table
    for _ in range(rnd.choice((0, 1, 1, 1, 2, 3))):
        name = rnd.choice(OPERATIONS + ["elements", "bytes"])
        sign = rnd.choice(("<", "<=", "=", "==", "!=", ">=", ">"))
        number = rnd.choice([row[name] for row in table] + ["0", "0.5", "-1e30", "1", "9007199254740993", "9007199300000000", "inf"] * 5)
        if number == "nan":
            continue
        space = rnd.choice(("", " "))
        conditions.append((name, sign, number))
        options.append(f"--where={name}{space}{sign}{space}{number}")
    for condition in conditions:
        rows = [row for row in rows if holds(row, *condition)]
    if rnd.random() < 0.7:
        sort = rnd.choice(OPERATIONS + ["elements", "bytes", "name", "dtype"])
        # sorted() keeps the order of equal rows, also in reverse
        descending = rnd.random() < 0.5
        rows = order(rows, sort, descending)
        options.append(f"--sort={'-' if descending else ''}{sort}")
    operations = rnd.choice((["sum", "argmax"], ["count"], ["max", "std", "sum"]))
    names = [(row["file"], row["array"]) for row in rows]
    form = rnd.choice(("--tsv", "--json", "-q", "--total", "--list"))
    if form == "--list":
        options = [x for x in options if any(f"={y}" in x or f"=-{y}" in x for y in ("name", "dtype", "elements", "bytes"))]
        rows = table
        for condition in conditions:
            if condition[0] in ("elements", "bytes"):
                rows = [row for row in rows if holds(row, *condition)]
        if sort in ("elements", "bytes", "name", "dtype"):
            rows = order(rows, sort, descending)
        names = [(row["file"], row["array"]) for row in rows]
        got = [tuple(line.split("\t")[:2]) for line in run("--list", *options, *FILES)[1:]]
    elif form == "--json":
        printed = [json.loads(line) for line in run("--json", "-o", ",".join(operations), *options, *FILES)]
        got = [(x["file"], x["array"]) for x in printed]
    elif form == "-q":
        names = [row[name] for row in rows for name in operations]
        got = run("-q", "-o", ",".join(operations), *options, *FILES)
    else:
        total = ["--total"] if form == "--total" else []
        got = run("--tsv", *total, "-o", ",".join(operations), *options, *FILES)
        if total:
            want = run("--tsv", *total, "-o", ",".join(operations), *FILES)[-1]
            if got.pop() != want:
                sys.exit(f"{options}: the total is another one")
        fields = [line.split("\t") for line in got[1:]]
        if [x[4:] for x in fields] != [[row[name] for name in operations] for row in rows]:
            sys.exit(f"{form} {options}: other values\n{got}")
        got = [(x[0], x[1]) for x in fields]
    if got != names:
        sys.exit(f"{form} {options}:\n{got}\nexpected:\n{names}")
    kept += len(names)
    left += len(table) * (len(operations) if form == "-q" else 1) - len(names)
if int(runs) > 50 and (kept < 1000 or left < 1000):
    sys.exit("rows are hardly left out, or hardly left")

#
# Differences.
#
RESULTS = "different max_abs max_rel max_ulp rmsd cosine nan".split()
PAIR = ["c.safetensors", "d.safetensors"]
for path in PAIR:
    arrays = [(path[0], "F32", [1, 2]), (path[0] * 2, "U64", [3])]  # which are renamed
    for i in range(40):
        kind = list(LETTERS)[i % 7] if rnd.random() < 0.8 else rnd.choice(list(LETTERS))
        values = some_values(kind, i % 5 if rnd.random() < 0.9 else 8)
        arrays.append((f"x{i}" if rnd.random() < 0.95 else f"{path}.{i}", kind, values))
    write(path, arrays)


def number_of(row, name, text):
    """What a number stands for beside a result of a row: an integer in full, or a binary64 number. None for NaN
    and for no value."""
    integer = name in ("different", "max_ulp", "nan") or \
        (name == "max_abs" and all(dtype[0] in "iu" for dtype in row["dtype"].split("|")))
    return None if text == "NA" else exact(text, "count" if integer else "mean", "f64")


def badness(row):
    """A key by which the worst row is the first."""
    if row["max_rel"] == "NA":
        return (3 if row["differs"] == "renamed" else 0,)
    relative = number_of(row, "max_rel", row["max_rel"])
    return 1 if row["different"] != "0" else 2, relative is not None, -(relative or 0)


for i in range(max(int(runs) // 4, 1)):
    options = rnd.choice(([], ["--tolerance=rel:0.5"], ["--ignore-dtype"], ["--nan=skip"]))
    heading, *lines = run("--diff", "--tsv", *options, *PAIR, status=1)
    table = [dict(zip(heading.split("\t"), line.split("\t")), line=line) for line in lines]
    people = run("--diff", *options, *PAIR, status=1)[1:]
    rows = sorted(table, key=badness)
    if people != [row["line"] for row in rows]:
        sys.exit(f"{options}: the worst first:\n{people}")
    rows = table
    for _ in range(rnd.choice((0, 1, 1, 2))):
        name = rnd.choice(RESULTS)
        sign = rnd.choice(("<", "<=", "=", "==", "!=", ">=", ">"))
        number = rnd.choice([row[name] for row in table] + ["0", "0.5", "inf"])
        if number in ("nan", "NA"):
            continue
        rows = [row for row in rows if compare(number_of(row, name, row[name]), sign, number_of(row, name, number))]
        options = [*options, f"--where={name}{sign}{number}"]
    name, descending = rnd.choice(RESULTS + ["name", "dtype"]), rnd.random() < 0.5
    rows = order(rows, name, descending, lambda row, key: number_of(row, key, row[key]))
    options = [*options, f"--sort={'-' if descending else ''}{name}"]
    if run("--diff", *rnd.choice(([], ["--tsv"])), *options, *PAIR, status=1)[1:] != [row["line"] for row in rows]:
        sys.exit(f"--diff {options}: expected:\n" + "\n".join(row["line"] for row in rows))
    if [json.loads(line)["array"] for line in run("--diff", "--json", *options, *PAIR, status=1)] != \
            [row["array"].split("|")[0] for row in rows]:
        sys.exit(f"--diff --json {options}: other rows")
