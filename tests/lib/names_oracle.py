"""Names of arrays and files that do something to a terminal: names_oracle.py GPUREDUCE.

Whatever is printed of them, nothing that Unicode calls a control or a format character is in it; and the
names can be read back: JSON by json, TSV by the escapes that the manual describes. Works in the current
directory.
"""
import json
import os
import re
import struct
import subprocess
import sys
import unicodedata

program = sys.argv[1]
unseen = [c for c in map(chr, range(1, 0x110000)) if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")
          # Arabic and other signs that enclose numbers are seen; so are the signs of hieroglyphs.
          and not re.match("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f]", c)]
names = ["plain", "quote'\"", "back\\slash\\n", "\\033", "\u00e4\u20ac\U0001f600", "total", "a" + "".join(unseen[:31]) + "b"]
names += ["<%s>" % c for c in unseen]

# Names of files have no slash; some of these are no UTF-8.
files = [b"\x1b[31mred", b"a\nb\tc", b"\xff\xfe\x9b", "\u202egnp".encode(), b"back\\slash", b"quote'", b"total"]


def write(path, names, value):
    header = {name: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i, name in enumerate(names)}
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + b"".join(struct.pack("<f", value + i) for i in range(len(names))))


def run(*arguments, status=0):
    done = subprocess.run([program, "-D", "cpu", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == status, (arguments, done)
    for text in done.stdout, done.stderr:
        found = [c for c in text.decode() if c in unseen_set and c not in "\t\n"]
        assert not found, (arguments, found[:9])
    return done.stdout.decode()


unseen_set = set(unseen)
letters = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


def field(text):
    """What stands for a field of TSV."""
    raw = re.sub(rb"\\([tnr\\]|[0-7]{3})",
                 lambda m: letters[m[1].decode()].encode() if len(m[1]) == 1 else bytes([int(m[1], 8)]), text.encode())
    return raw


write("names.safetensors", names, 1)
write("other.safetensors", names, 2)
for arguments in ["--list", "names.safetensors"], ["-o", "sum", "names.safetensors"], ["--tsv", "-o", "sum", "names.safetensors"], \
        ["--diff", "names.safetensors", "other.safetensors"], ["-o", "sum", "--sort=-sum", "names.safetensors"]:
    diff = "--diff" in arguments
    rows = [line.split("\t") for line in run(*arguments, status=int(diff)).splitlines()]
    shown = [field(row[0 if diff else 1]).decode() for row in rows[1:]]
    assert sorted(shown) == sorted(names), arguments
for arguments in ["--list", "--json", "names.safetensors"], ["--json", "-o", "sum", "names.safetensors"], \
        ["--diff", "--json", "names.safetensors", "other.safetensors"], ["--axis=0", "--json", "names.safetensors"], \
        ["--partial", "names.safetensors"]:
    lines = run(*arguments, status=int("--diff" in arguments)).splitlines()
    assert [json.loads(line)["array"] for line in lines] == names, arguments
with open("partials", "w") as out:
    out.write(run("--partial", "names.safetensors"))
rows = [line.split("\t") for line in run("--merge", "--tsv", "-o", "sum", "partials").splitlines()]
assert [field(row[1]).decode() for row in rows[1:]] == sorted(names, key=str.encode), "merged"
rows = [line.split("\t") for line in run("--axis=0", "--tsv", "-o", "sum", "names.safetensors").splitlines()]
assert [field(row[1]).decode() for row in rows[1:]] == names, "axis"
run("--nan=error", "--array=<*", "-v", "names.safetensors")

for name in files:
    with open(name, "wb") as out:
        out.write(struct.pack("<f", 1))
    path = b"./" + name if name == b"total" else name
    rows = run("--tsv", "-o", "sum", os.fsdecode(name)).splitlines()
    assert field(rows[1].split("\t")[0]) == path, name
    if name.isascii() or b"\xff" not in name:
        assert json.loads(run("--json", os.fsdecode(name)))["file"] == name.decode(), name
    with open("record", "w") as out:
        out.write("\n".join(rows) + "\n")
    run("--check=record")
    run("-o", "sum", "--total", os.fsdecode(name), os.fsdecode(name))
    run("--skip=99", os.fsdecode(name), status=1)
    os.remove(name)
    run("--tsv", os.fsdecode(name), status=1)

# Other words of files.
header = b"{'descr': '<\x1b[31mf4\xc2\x9b', 'fortran_order': False, 'shape': (), }"
with open("x.npy", "wb") as out:
    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
run("x.npy", status=1)
text = json.dumps({"a": {"dtype": "F\x1b[31m\u202e", "shape": [1], "data_offsets": [0, 4]}}).encode()
with open("x.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text + bytes(4))
run("x.safetensors", status=1)
run("--list", "x.safetensors", status=1)
