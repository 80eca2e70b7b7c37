#!/bin/sh
# Thousands of small arrays in one container, with large ones, empty ones and gaps among them: every
# one has its own result and its own line, whichever worker had it, and however its bytes came. Python's
# integers say what the results are. ARRAYS_THREADS has other numbers of threads.
# Tags: threads

# shellcheck source=tests/lib/lib.sh
. "${srcdir:-.}/tests/lib/lib.sh"

least_chunk=8

python=$(command -v python3)
if [ -z "$python" ] || ! "$python" -c 'import array, zipfile, zlib' 2>/dev/null; then
    skip 'thousands of arrays' 'there is no python3 with zlib'
    finish
fi

has_zlib && method=ZIP_DEFLATED || method=ZIP_STORED
"$python" - "$method" <<'END' || fatal 'the files could not be made'
import array, io, json, random, struct, sys, zipfile, zlib

draw = random.Random(7)
types = {"I32": ("i", "i32", 4), "I16": ("h", "i16", 2), "U8": ("B", "u8", 1), "I64": ("q", "i64", 8)}

def elements(kind, count):
    code, _, size = types[kind]
    low, high = (0, 255) if kind == "U8" else (-(1 << 8 * min(size, 4) - 1), (1 << 8 * min(size, 4) - 1) - 1)
    if count < 1 << 16:
        return array.array(code, (draw.randint(low, high) for _ in range(count)))
    period = [draw.randint(low, high) for _ in range(9973)]
    return array.array(code, (period * (count // 9973 + 1))[:count])

def little(values):
    values = array.array(values.typecode, values)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()

arrays = []
for i in range(3000):
    kind = draw.choice(list(types))
    # A large one, none at all, some pages, or some elements; and a name that TSV and JSON escape.
    count = 700000 if i in (0, 1400, 2999) else draw.choice([0, 1, 2, 3, 17, 1000, 5000] + 9 * [draw.randint(1, 400)])
    name = "line\n%d" % i if i % 500 == 3 else 'quote"%d' % i if i % 500 == 4 else "block.%d.bias" % i
    arrays.append((name, kind, elements(kind, count)))

def lines(path, file, arrays, type_of):
    total = count = 0
    with open(path + ".tsv", "w", newline="") as tsv, open(path + ".json", "w") as objects, \
            open(path + ".sums", "w") as sums:
        print("file\tarray\tdtype\tshape\tsum\tmin\targmin\tcount", file=tsv)
        for name, kind, values in arrays:
            least = min(values) if values else None
            row = [sum(values)] + ([least, values.index(least)] if values else ["nan", "nan"]) + [len(values)]
            shown = name.replace("\\", "\\\\").replace("\n", "\\n")
            print(file, shown, types[kind][1], "[%d]" % len(values), *row, sep="\t", file=tsv)
            print(json.dumps([file, name, types[kind][1], [len(values)], row[0], least]), file=objects)
            print(row[0], file=sums)
            total += row[0]
            count += len(values)
    with open(path + ".total", "w") as out:
        print("sum\t%d" % total, "count\t%d" % count, sep="\n", file=out)

header, at = {}, 0
for name, kind, values in arrays:
    size = len(values) * types[kind][2]
    header[name] = {"dtype": kind, "shape": [len(values)], "data_offsets": [at, at + size]}
    at += size
# As the format's own library writes it, up to the first name with an escape.
text = json.dumps(header, separators=(",", ":")).encode()
with open("many.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text)  # at any offset, whatever the type
    for _, _, values in arrays:
        out.write(little(values))
lines("many", "many.safetensors", arrays, types)

# Stored members, with headers between them, and some deflated ones, with zlib.
packed = [(name, kind, values) for name, kind, values in arrays[:1500] if "\n" not in name and '"' not in name]
with zipfile.ZipFile("many.npz", "w") as out:
    for i, (name, kind, values) in enumerate(packed):
        head = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (
            {"I32": "<i4", "I16": "<i2", "U8": "|u1", "I64": "<i8"}[kind], len(values))
        head += " " * (-(len(head) + 11) % 64) + "\n"
        member = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + little(values)
        out.writestr(name + ".npy", member, getattr(zipfile, sys.argv[1]) if i % 7 == 2 else zipfile.ZIP_STORED)
lines("packed", "many.npz", packed, types)
END

operations=sum,min,argmin,count
for way in mapped populated copied; do
    environment=GPUREDUCE_CACHED=$way
    for threads in ${ARRAYS_THREADS-1 2 7}; do
        run -D cpu -j "$threads" -o $operations many.safetensors
        ok "safetensors, $way, -j$threads" test "$status" -eq 0
        ok "its lines" cmp -s many.tsv out
        run -D cpu -j "$threads" -o $operations many.npz
        ok ".npz, $way, -j$threads" cmp -s packed.tsv out
    done
    run -D cpu -j 3 --chunk-size=4K --tsv -o $operations many.safetensors
    ok "small chunks, $way" cmp -s many.tsv out
    run -D cpu -j 3 -q -o sum many.safetensors
    ok "values alone, $way" cmp -s many.sums out
done
environment=
run -D cpu -j 7 --json -o sum,min many.safetensors
"$python" - <<'END'
import json

with open("out") as lines, open("objects", "w") as objects:
    for line in lines:
        o = json.loads(line)
        print(json.dumps([o[key] for key in ("file", "array", "dtype", "shape", "sum", "min")]), file=objects)
END
ok 'objects' cmp -s many.json objects
run -D cpu -j 7 --total -q -o sum,count many.safetensors
ok 'a total' test "$(tail -n 2 out)" = "$(cut -f 2 many.total)"
shell "cat many.safetensors | gpureduce -D cpu -j 2 -o $operations - | sed 's/^-/many.safetensors/'"
ok 'from a pipe' cmp -s many.tsv out

# Errors of --diff, of which there is one an array: 14 s if each were looked for among all before.
"$python" - <<'END'
import json, struct

text = json.dumps({"%d" % i: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i in range(100000)})
with open("nan.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text.encode() + struct.pack("<f", float("nan")) * 100000)
END
[ -n "$sanitizer$CHECK_UNDER" ] || environment='timeout 7'
run --diff --nan=error nan.safetensors nan.safetensors
ok 'an error for each array, in time' test "$status:$(tail -n +2 out | wc -l):$(sort -u err | wc -l)" = 2:100000:100000
environment=

# What is told apart by rows.
run -D cpu -j 7 -o $operations --where='sum>1000000' many.safetensors
awk -F '\t' 'NR == 1 || $5 > 1000000' many.tsv >some
ok '--where' cmp -s some out
run -D cpu -j 7 -o $operations --where='count>100000000' many.safetensors
is '--where holds for none' 0 '' '*'
run -D cpu -j 7 -o $operations --sort=-count many.safetensors
{ head -n 1 many.tsv && tail -n +2 many.tsv | sort -s -t "$tab" -k 8,8nr; } >sorted
ok '--sort' cmp -s sorted out
printf '\1\0\0\0\2\0\0\0\3\0\0\0' >one.i32
run -D cpu -j 7 -t i32 --endian=little -o $operations --where='count>2' --sort=count many.safetensors one.i32 missing
{ tail -n +2 many.tsv && printf 'one.i32\t\ti32\t[3]\t6\t1\t0\t3\n'; } |
    awk -F '\t' '$8 > 2' | sort -s -t "$tab" -k 8,8n >sorted
ok 'with a file that is one array, and one that is not there' test "$status:$(tail -n +2 out | cksum)" = "1:$(cksum <sorted)"
run -D cpu -j 7 --tsv -o $operations --sort=name many.safetensors
{ head -n 1 many.tsv && tail -n +2 many.tsv | sort -t "$tab" -k 2,2; } >sorted
ok 'by name' cmp -s sorted out
run -D cpu -j 7 -q -o sum --sort=-sum many.safetensors
sort -s -rn many.sums >sorted
ok 'values alone' cmp -s sorted out
run -D cpu -j 7 -o $operations --array='*9*' many.safetensors
awk -F '\t' 'NR == 1 || $2 ~ /9/' many.tsv >some
ok '--array' cmp -s some out
run -D cpu -j 7 -o $operations many.safetensors many.npz
{ cat many.tsv && tail -n +2 packed.tsv; } >both
ok 'two files' cmp -s both out
run -D cpu -j 7 -o $operations --fail-on=empty many.safetensors
ok '--fail-on' test "$status:$(grep -c ": empty: no elements$" err)" = "1:$(awk -F '\t' '$8 == 0' many.tsv | wc -l)"
ok 'and its lines' cmp -s many.tsv out
if [ -c /dev/full ]; then
    for threads in 1 7; do
        shell "gpureduce -D cpu -j $threads -o $operations many.safetensors 2>&1 >/dev/full | grep -v ' GB/s'"
        is "no space for them, -j$threads" 0 'gpureduce: standard output: No space left on device'
    done
else
    skip 'no space for them' 'there is no /dev/full'
fi

finish
