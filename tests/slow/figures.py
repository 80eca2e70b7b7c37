#!/usr/bin/env python3
"""figures.py [OPTION]... [SECTION]...: how fast the program is on this machine, by what it is asked for.

Each section makes its data, runs its commands in turns, and prints a table: what ran, the median of
its rate in GB/s (10^9 bytes of elements a second) with the lowest and the highest, and what part that is of the row
it is compared with. Rates are those that the program prints (from the first read to the result), or
for whole processes, whose rows say so, from start to end.

Sections: cores, quantiles, axis, arrays, diff, zstd, gpus, share, ladder. Without any: all that this machine can run.
It needs Python 3.8; NumPy for the rows that name it, libzstd for zstd.

    --program=PATH   gpureduce (src/gpureduce); gpureduce-bench is looked for beside it
    --old=PATH       another gpureduce, measured in turns with it, row by row
    --bytes=SIZE     of the largest file; MiB (1024); data take up to three times as much
    --rounds=N       how often each command runs (5)
    --threads=N      at most (all)
    --dir=DIRECTORY  for data, best on a file system in memory (/dev/shm)
    --devices=LIST   engines, as --device takes them, separated by blanks: "cpu gpu gpu:0,1" (cpu, and
                     gpu where there is one)
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import ctypes.util
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib

MIB = 1 << 20
options = None
work = None


def rate(command, size, whole=False, **environment):
    """Runs a command; its rate in GB/s, or the text of what went wrong."""
    began = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environment})
    took = time.perf_counter() - began
    if done.returncode not in (0, 1) or (done.returncode and done.stderr):
        return (done.stderr.decode(errors="replace").strip().split("\n") or ["failed"])[-1][:90]
    if not whole:
        try:
            took = json.loads(done.stdout.decode().split("\n")[0])["seconds"]
        except (ValueError, KeyError, TypeError):
            pass
    return size / took / 1e9


class Table:
    """Rows are measured in turns when it is printed."""

    def __init__(self, title):
        self.title = title
        self.rows = []

    def add(self, name, size, command, beside=None, whole=False):
        """A command of the program, or a function that returns a rate. beside: the name of the row
        that it is compared with."""
        if callable(command):
            self.rows.append((name, command, beside))
            return
        for which, program in (("", options.program), (" (old)", options.old)):
            if program:
                full = [program, *command]
                self.rows.append(
                    (name + which, lambda full=full: rate(full, size, whole), beside and beside + which)
                )

    def print(self):
        """Returns the medians, by the names of the rows; of rows that failed there are none."""
        found = {}
        for turn in range(options.rounds + 1):
            for name, run, _ in self.rows:
                value = run() if not isinstance(found.get(name), str) else found[name]
                if isinstance(value, str):
                    found[name] = value
                elif turn > 0:  # the first is for the caches
                    found.setdefault(name, []).append(value)
        print(f"\n## {self.title}\n\n| what | GB/s | from | to | of |  |\n|---|---|---|---|---|---|")
        for name, _, beside in self.rows:
            if isinstance(found[name], str):
                print(f"| {name} | {found[name]} | | | | |")
                continue
            median = statistics.median(found[name])
            part = found.get(beside) if beside else None
            part = f"{median / statistics.median(part):.2f}" if isinstance(part, list) else ""
            print(
                f"| {name} | {median:#.3g} | {min(found[name]):#.3g} | {max(found[name]):#.3g} |"
                f" {part} | {beside if part else ''} |"
            )
        sys.stdout.flush()
        return {name: statistics.median(values) for name, values in found.items() if isinstance(values, list)}


def generate(name, kind, dtype, size):
    path = os.path.join(work, name)
    if not os.path.exists(path):
        with open(path, "wb") as out:
            subprocess.run(
                [options.bench, "generate", "-q", f"-d{kind}", f"-t{dtype}", f"-b{size // MIB}MiB"],
                stdout=out,
                check=True,
            )
    return path


def mapped_limit(path):
    """What reading the mapped file comes to, as gpureduce-bench measures it."""
    done = subprocess.run(
        [options.bench, "limits", "--json", "-r3", f"-j{options.threads}", "--no-progress", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    rows = json.loads(done.stdout)["rows"] if done.stdout else []
    found = [r["gigabytes_per_second"] for r in rows if r["limit"] == "cached-mapped" and r["gigabytes_per_second"]]
    return max(found) if found else None


def default(*more):
    return ["--json", f"-j{options.threads}", *more]


def cores():
    size = options.bytes
    path = generate("normal.f32", "normal", "f32", size)
    limit = mapped_limit(path)
    table = Table(f"Cores: {size >> 20} MiB that are cached; the mapped file can be read at {limit:.1f} GB/s" if limit else "Cores")
    if limit:
        table.add("the mapped read limit", size, lambda: limit)
    threads = sorted({1, 2, *(options.threads * k // 4 for k in (1, 2, 3, 4))} - {0})
    for j in threads:
        table.add(f"sum, -j{j}", size, ["-Dcpu", "-tf32", f"-j{j}", "--json", path], "the mapped read limit")
    table.add("default number of threads", size, ["-Dcpu", "-tf32", "--json", path], "the mapped read limit")
    summary = "count,nan,inf,zeros,min,max,mean,std"
    for j in (1, options.threads):
        table.add(f"sum alone, -j{j}", size, ["-Dcpu", "-tf32", f"-j{j}", "-osum", "--json", path])
        table.add(
            f"summary without quantiles, -j{j}", size, ["-Dcpu", "-tf32", f"-j{j}", f"-o{summary}", "--json", path],
            f"sum alone, -j{j}",
        )
    for dtype in ("i32", "u8"):
        table.add(f"{dtype}: sum", size, default("-Dcpu", f"-t{dtype}", path), "the mapped read limit")
    table.print()
    size //= 2
    for dtype in ("f8e4m3", "f8e5m2"):
        # The bytes of other data have NaNs and infinities among them.
        numbers = generate(f"normal.{dtype}", "normal", dtype, size)
        table = Table(f"Cores: {size >> 20} MiB of {dtype}")
        if limit:
            table.add("the mapped read limit", size, lambda: limit)
        for j in (1, options.threads):
            table.add(f"u8: sum, -j{j}", size, ["-Dcpu", "-tu8", f"-j{j}", "--json", numbers], "the mapped read limit")
            for what, file in (("sum", numbers), ("sum of any bytes", path)):
                table.add(
                    f"{what}, -j{j}", size, ["-Dcpu", f"-t{dtype}", f"-j{j}", "--length", str(size), "--json", file],
                    "the mapped read limit",
                )
        table.print()
        os.unlink(numbers)
    for dtype in ("f64", "bf16", "f16"):
        path = generate(f"normal.{dtype}", "normal", dtype, size)
        table = Table(f"Cores: {size >> 20} MiB of {dtype}")
        for j in (1, options.threads):
            table.add(f"sum alone, -j{j}", size, ["-Dcpu", f"-t{dtype}", f"-j{j}", "-osum", "--json", path])
            table.add(
                f"summary without quantiles, -j{j}", size,
                ["-Dcpu", f"-t{dtype}", f"-j{j}", f"-o{summary}", "--json", path], f"sum alone, -j{j}",
            )
        table.print()
        os.unlink(path)


def quantiles():
    size = options.bytes
    path = generate("normal.f32", "normal", "f32", size)
    for device in options.devices:
        table = Table(f"Order statistics and histograms, -D {device}, {size >> 20} MiB of f32")
        run = ["-D" + device, "-tf32"]
        table.add("sum", size, default(*run, "-osum", path))
        table.add("median", size, default(*run, "-omedian", path), "sum")
        table.add("three quartiles", size, default(*run, "-oq0.25,median,q0.75", path), "median")
        table.add("histogram of 1000 bins", size, default(*run, "--histogram=1000", path), "sum")
        table.add("histogram of 1000 bins, -6 to 6", size, default(*run, "--histogram=1000,-6,6", path), "sum")
        table.add("histogram of exponents", size, default(*run, "--histogram=exponent", path), "sum")
        table.add("bf16: median", size, default("-D" + device, "-tbf16", "-omedian", path), "sum")
        table.print()


def axis():
    size = min(options.bytes, 4 << 30)
    path = generate("axis.f32", "normal", "f32", size)
    count = size // 4
    out = os.path.join(work, "axis.npy")
    shapes = [(count // 1024, 1024), (count // 16, 16), (16, count // 16)]
    for device in options.devices:
        table = Table(f"Sums along an axis, -D {device}, {size >> 20} MiB of f32, whole processes")
        table.add("sum of all", size, ["-D" + device, "-tf32", f"-j{options.threads}", "-osum", path], whole=True)
        for rows, columns in shapes:
            for n in (0, 1):
                table.add(
                    f"{rows} x {columns}, axis {n}", size,
                    ["-D" + device, "-tf32", f"-j{options.threads}", f"--shape={rows},{columns}", f"--axis={n}",
                     "-osum", "--output=/dev/null", path],
                    "sum of all", whole=True,
                )
        # A file in memory gets its pages one by one: that is a row of its own.
        for rows, columns in shapes[1:]:
            n = int(rows > columns)
            table.add(
                f"{rows} x {columns}, axis {n}, into a file", size,
                ["-D" + device, "-tf32", f"-j{options.threads}", f"--shape={rows},{columns}", f"--axis={n}",
                 "-osum", f"--output={out}", path],
                f"{rows} x {columns}, axis {n}", whole=True,
            )
        rows, columns = shapes[0]
        for operation, dtype, wider in (("std", "f32", 1), ("argmax", "f32", 1), ("sum", "i32", 1), ("sum", "u8", 4)):
            for n in (0, 1):
                table.add(
                    f"{operation} of {dtype}, {rows} x {columns * wider}, axis {n}", size,
                    ["-D" + device, "-t" + dtype, f"-j{options.threads}", f"--shape={rows},{columns * wider}",
                     f"--axis={n}", "-o" + operation, "--output=/dev/null", path],
                    f"{rows} x {columns}, axis {n}", whole=True,
                )
        if device == "cpu":
            try:
                import numpy
            except ImportError:
                numpy = None
            for rows, columns in shapes if numpy else []:
                for n in (0, 1):
                    def run(rows=rows, columns=columns, n=n):
                        began = time.perf_counter()
                        numpy.memmap(path, "f4", "r", shape=(rows, columns)).sum(axis=n)
                        return size / (time.perf_counter() - began) / 1e9
                    table.add(f"NumPy, {rows} x {columns}, axis {n}", size, run, f"{rows} x {columns}, axis {n}")
        table.print()


def write_safetensors(path, sources, tensors):
    """tensors: (name, type, bytes) whose data are taken from the file sources[type], round and round."""
    header, at = {}, 0
    for name, dtype, size in tensors:
        header[name] = {"dtype": dtype, "shape": [size // (2 if dtype == "BF16" else 4)], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out, contextlib.ExitStack() as stack:
        files = {dtype: stack.enter_context(open(source, "rb")) for dtype, source in sources.items()}
        out.write(struct.pack("<Q", len(text)) + text)
        for _, dtype, left in tensors:
            while left > 0:
                piece = files[dtype].read(min(left, 64 * MIB))
                if not piece:
                    files[dtype].seek(0)
                out.write(piece)
                left -= len(piece)


def arrays():
    size = options.bytes // 2
    raw = generate("weights.f32", "weights", "f32", size)
    narrow = generate("normal.bf16", "normal", "bf16", size // 2)
    large, small, npz, shards = (os.path.join(work, n) for n in ("large.safetensors", "small.safetensors", "deflated.npz", "shards"))
    each = size // 300 & ~15
    write_safetensors(large, {"F32": raw, "BF16": narrow}, [(f"layer.{i}.weight", "BF16" if i % 2 else "F32", each) for i in range(300)])
    count = min(20000, size // (64 << 10))
    write_safetensors(small, {"F32": raw}, [(f"block.{i}.bias", "F32", 64 << 10) for i in range(count)])
    os.makedirs(shards, exist_ok=True)
    for i in range(50):
        write_safetensors(os.path.join(shards, f"model-{i:05}.safetensors"), {"F32": raw}, [(f"{i}.{k}", "F32", 4096) for k in range(200)])

    table = Table(f"Containers, {options.threads} threads, whole processes")
    table.add("one raw file", size, ["-Dcpu", "-tf32", f"-j{options.threads}", raw], whole=True)
    table.add("one of bf16", size // 2, ["-Dcpu", "-tbf16", f"-j{options.threads}", narrow], "one raw file", whole=True)
    table.add("safetensors, 300 tensors", each * 300, ["-Dcpu", f"-j{options.threads}", large], "one raw file", whole=True)
    table.add(f"{count} tensors of 64 KiB", count << 16, ["-Dcpu", f"-j{options.threads}", small], "safetensors, 300 tensors", whole=True)

    members = []
    part = min(size // 16, 64 * MIB)
    with open(raw, "rb") as data:
        def member(i):
            bytes_ = os.pread(data.fileno(), part, i * part)
            head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % (part // 4)
            head += b" " * (-(len(head) + 11) % 64) + b"\n"
            content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes_
            packer = zlib.compressobj(1, zlib.DEFLATED, -15)
            return packer.compress(content) + packer.flush(), zlib.crc32(content), len(content)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            members = list(pool.map(member, range(16)))
    with open(npz, "wb") as out:
        directory = b""
        for i, (packed, crc, length) in enumerate(members):
            name = b"m%d.npy" % i
            fields = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0x21, crc, len(packed), length, len(name), 0)
            directory += b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, out.tell()) + name
            out.write(b"PK\3\4" + fields + name + packed)
        at = out.tell()
        out.write(directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 16, 16, len(directory), at, 0))

    def inflate():
        began = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
            list(pool.map(lambda m: len(zlib.decompress(m[0], -15, m[2])), members))
        return 16 * part / (time.perf_counter() - began) / 1e9

    table.add("zlib alone, from Python", 16 * part, inflate)
    table.add(".npz, 16 deflated members", 16 * part, ["-Dcpu", f"-j{options.threads}", npz], "zlib alone, from Python", whole=True)
    table.print()
    times = []
    for _ in range(2 * options.rounds + 1):
        began = time.perf_counter()
        subprocess.run([options.program, "--list", shards], stdout=subprocess.DEVNULL, check=True)
        times.append((time.perf_counter() - began) * 1e3)
    print(f"\n--list of 50 shards of 200 tensors: {statistics.median(times):.1f} ms ({min(times):.1f} to {max(times):.1f})")


def diff():
    size = options.bytes // 2
    a = generate("weights.f32", "weights", "f32", size)
    b = os.path.join(work, "other.f32")
    shutil.copyfile(a, b)
    limit = mapped_limit(a)
    table = Table(f"--diff of two files of {size >> 20} MiB that are the same; a mapped file can be read at {limit} GB/s")
    if limit:
        table.add("the mapped read limit", 2 * size, lambda: limit)
    table.add("--diff", 2 * size, ["-tf32", f"-j{options.threads}", "--diff", a, b], "the mapped read limit", whole=True)
    table.add("count of both", 2 * size, ["-Dcpu", "-tf32", f"-j{options.threads}", "-ocount", a, b], "the mapped read limit", whole=True)
    if shutil.which("cmp"):
        def cmp():
            began = time.perf_counter()
            subprocess.run(["cmp", a, b], check=True)
            return 2 * size / (time.perf_counter() - began) / 1e9
        table.add("cmp(1)", 2 * size, cmp)
    table.print()


class Zstd:
    """What this needs of libzstd."""

    def __init__(self):
        name = ctypes.util.find_library("zstd") or "libzstd.so.1"
        self.lib = ctypes.CDLL(name)
        for f in ("ZSTD_compressBound", "ZSTD_compress2", "ZSTD_CCtx_setParameter", "ZSTD_decompress"):
            getattr(self.lib, f).restype = ctypes.c_size_t
        self.lib.ZSTD_createCCtx.restype = ctypes.c_void_p

    def compress(self, data, level=3, checksum=True, workers=0, stated=True):
        context = ctypes.c_void_p(self.lib.ZSTD_createCCtx())
        for parameter, value in ((100, level), (200, int(stated)), (201, int(checksum)), (400, workers)):
            self.lib.ZSTD_CCtx_setParameter(context, parameter, value)
        room = self.lib.ZSTD_compressBound(ctypes.c_size_t(len(data)))
        out = ctypes.create_string_buffer(room)
        size = self.lib.ZSTD_compress2(context, out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)))
        self.lib.ZSTD_freeCCtx(context)
        if size > room:
            raise RuntimeError("libzstd cannot compress")
        return out.raw[:size]

    def decompress(self, data, size):
        out = ctypes.create_string_buffer(size)
        return self.lib.ZSTD_decompress(out, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))


def zstd():
    lib = Zstd()
    size = min(options.bytes // 4, 2 << 30)
    for kind, dtype in (("normal", "f32"), ("field", "f32"), ("normal", "bf16"), ("weights", "f32"), ("steps", "f32"), ("image", "f32"), ("series", "f32")):
        path = generate(f"{kind}.{dtype}.zstd-content", kind, dtype, size)
        with open(path, "rb") as f:
            data = f.read()
        pieces = {}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for name, piece in (("8 MiB", 8 * MIB), ("128 KiB", 128 << 10)):
                pieces[name] = list(pool.map(lambda i, piece=piece: lib.compress(data[i : i + piece]), range(0, size, piece)))
        files = {
            "one frame": [lib.compress(data, workers=options.threads)],
            "frames of 8 MiB": pieces["8 MiB"],
            "frames of 128 KiB": pieces["128 KiB"],
        }
        table = Table(f"zstd: {kind} {dtype}, {size >> 20} MiB, ratio {size / len(files['one frame'][0]):.2f}")
        one = files["frames of 8 MiB"][0]

        def alone(one=one):
            began = time.perf_counter()
            for _ in range(10):
                lib.decompress(one, 8 * MIB)
            return 80 * MIB / (time.perf_counter() - began) / 1e9
        table.add("libzstd, one core", size, alone)
        for name, frames in files.items():
            file = os.path.join(work, f"{kind}-{dtype}-{name.replace(' ', '-')}.zst")
            with open(file, "wb") as out:
                out.writelines(frames)
            for device in options.devices:
                for check in (["--no-check"], []) if name == "one frame" else ([],):
                    row = f"-D {device} {' '.join(check)} {name}".replace("  ", " ")
                    table.add(row, size, default("-D" + device, "-t" + dtype, *check, file), "libzstd, one core")
                if name == "one frame":
                    def pipe(file=file, device=device, dtype=dtype):
                        return rate(["sh", "-c", f"cat {file} | {options.program} --json -D{device} -t{dtype} -"], size)
                    table.add(f"cat | -D {device}", size, pipe, f"-D {device} {name}")
        table.print()
        for file in os.listdir(work):
            if file.endswith((".zst", ".zstd-content")):
                os.unlink(os.path.join(work, file))


def gpus():
    several = [d for d in options.devices if d != "cpu"]
    most = max([1, *(d.count(",") + 1 for d in several)])
    # Of several GPUs, files of less than 8 GiB for each leave some out.
    size = options.bytes if options.given else max(options.bytes, most * (8 << 30) if most > 1 else 0)
    path = generate("normal.f32", "normal", "f32", size)
    table = Table("1 MiB of it, whole processes: how long each takes to begin and to end")
    for device in ["cpu", *several, "auto"]:
        table.add(f"-D {device}", MIB, ["-D" + device, "-tf32", f"--length={MIB // 4}", path], whole=True)
    table.print()
    table = Table(f"GPUs: {size >> 20} MiB of f32 that are cached")
    for device in ["cpu", *several, "auto"]:
        table.add(f"-D {device}", size, ["-D" + device, "-tf32", "--json", path])
        table.add(f"-D {device}, whole process", size, ["-D" + device, "-tf32", path], whole=True)
    for ops in ("sum,var,zeros", "sum,var,l1,absmin,argmin"):
        for device in several[:1]:
            table.add(f"-D {device} -o {ops}", size, ["-D" + device, "-tf32", "-o" + ops, "--json", path], f"-D {device}")
    table.print()

    # Frames that state what they hold; those of pzstd, which do not, behind its hints; and those of
    # streams, without hints.
    lib = Zstd()
    packed = {name: os.path.join(work, f"frames-{name}.zst") for name in ("stated", "pzstd", "streams")}
    with open(path, "rb") as data, concurrent.futures.ThreadPoolExecutor() as pool:
        for at in range(0, size, 1 << 30):
            piece = data.read(1 << 30)
            for name, file in packed.items():
                if name != "streams":
                    def compress(i, piece=piece, stated=name == "stated"):
                        return lib.compress(piece[i : i + 8 * MIB], 1, stated=stated)
                    frames = list(pool.map(compress, range(0, len(piece), 8 * MIB)))
                with open(file, "ab") as out:
                    for frame in frames:
                        if name == "pzstd":
                            out.write(struct.pack("<III", 0x184D2A50, 4, len(frame)))
                        out.write(frame)
    for name, file in packed.items():
        table = Table(f"GPUs: frames of 8 MiB, {name}, {size >> 20} MiB when decompressed")
        for device in several:
            for check in ([], ["--no-check"]):
                row = ["-D" + device, "-tf32", *check, "--json", file]
                beside = " ".join(["-D", several[0], *check])
                table.add(" ".join(["-D", device, *check]), size, row, beside)
        # Cores alone, and with a GPU where auto makes one ready: whole processes, for its end counts.
        for device in ("cpu", "auto"):
            table.add(f"-D {device}, whole process", size, ["-D" + device, "-tf32", file], "-D cpu, whole process", whole=True)
        table.print()


def who_decoded(command):
    """What --json says of who had how much, in a few words."""
    done = subprocess.run([*command, "-v", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        found = json.loads(done.stdout.decode().split("\n")[0])
        had = [f"{e['engine']} {e['percent']:.0f} %, from {e['joined_seconds']:.2f} s on" for e in found["engines"]]
        no_gpu = found.get("gpu_not_used", found.get("gpu_absence"))  # the latter in 0.1.0
        return "; ".join(had) + (f"; no GPU: {no_gpu}" if no_gpu else "")
    except (ValueError, KeyError, TypeError):
        return "it failed"


def share():
    """Files of many frames, as pzstd makes them, by cores, by a GPU, and as auto shares them. Whole
    processes, for the beginning and the end of a GPU count."""
    lib = Zstd()
    gib = 1 << 30
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    most = options.bytes if options.given else min(32 * gib, available // 2, shutil.disk_usage(work).free // 5 * 4)
    sizes = [size for size in (4 * gib, 8 * gib, 16 * gib, 32 * gib) if size <= most] or [most]
    slower = []
    for kind in ("normal", "field"):
        path = generate(f"share-{kind}.f32", kind, "f32", sizes[0])
        base, file = os.path.join(work, f"base-{kind}.zst"), os.path.join(work, f"share-{kind}.zst")
        with open(path, "rb") as data, open(base, "wb") as out, concurrent.futures.ThreadPoolExecutor() as pool:
            while piece := data.read(gib):
                def compress(at, piece=piece):
                    return lib.compress(piece[at : at + 8 * MIB], 1, stated=False)
                for frame in pool.map(compress, range(0, len(piece), 8 * MIB)):
                    out.write(struct.pack("<III", 0x184D2A50, 4, len(frame)))
                    out.write(frame)
        os.unlink(path)
        done = 0
        for size in sizes:
            with open(file, "ab") as out:  # larger ones hold the same frames several times
                while done < size:
                    with open(base, "rb") as again:
                        shutil.copyfileobj(again, out, 16 * MIB)
                    done += sizes[0]
            ratio = size / os.path.getsize(file)
            table = Table(f"Cores and a GPU: {kind} f32 in pzstd's frames of 8 MiB, {size >> 20} MiB, ratio {ratio:.2f}, whole processes")
            engines = [f"-D {device}" for device in options.devices if device in ("cpu", "gpu")]
            command = {name: ["-D" + name.split()[1], "-tf32", file] for name in (*engines, "-D auto")}
            for name in command:
                table.add(name, size, command[name], "-D cpu", whole=True)
            medians = table.print()
            single = [medians[name] for name in engines if name in medians]
            if "-D auto" in medians and single:
                part = medians["-D auto"] / max(single)
                print(f"\nauto comes to {part:.2f} of the better engine. It had: {who_decoded([options.program, *command['-D auto']])}")
                if part < 0.97:
                    slower.append(f"{kind}, {size >> 20} MiB: {part:.2f}")
        os.unlink(base)
        os.unlink(file)
    print("\nWhere auto is slower than the better engine alone, by more than 3 %:", "; ".join(slower) or "nowhere")


def ladder():
    """The kernels, as parts of CUB's sum in the same run; with --old, both programs' in turns."""
    programs = {"": options.bench}
    if options.old:
        programs["old"] = os.path.join(os.path.dirname(options.old), "gpureduce-bench")
    rates = {}
    for _ in range(options.rounds):
        for which, bench in programs.items():
            done = subprocess.run(
                [bench, "ladder", "--suite", "-n", "2^28", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            if done.returncode:
                print(f"ladder: {bench}: {done.stderr.decode(errors='replace').strip()[-200:]}")
                return
            for row in json.loads(done.stdout)["rows"]:
                key = row["dtype"], row["dist"], row["elements"]
                found = rates.setdefault(key, {}).setdefault(which, [])
                found.append((row["gigabytes_per_second"], row["ratio_to_cub"]))
    print("\n## Kernels on data of the device: sum and extremes\n")
    print("| what | GB/s | from | to | of CUB | old GB/s | of old |\n|---|---|---|---|---|---|---|")
    for (dtype, dist, elements), found in rates.items():
        now, of_cub = zip(*found[""]) if "" in found else ((), ())
        before = [rate for rate, _ in found.get("old", [])]
        if not now or None in now or None in before:
            continue
        median = statistics.median(now)
        old = f"{statistics.median(before):.0f} | {median / statistics.median(before):.3f}" if before else " | "
        print(
            f"| {dtype}, {dist}, {elements} | {median:.0f} | {min(now):.0f} | {max(now):.0f} |"
            f" {statistics.median(of_cub):.3f} | {old} |"
        )
    sys.stdout.flush()


def main():
    global options, work
    sections = {f.__name__: f for f in (cores, quantiles, axis, arrays, diff, zstd, gpus, share, ladder)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--program", default="src/gpureduce")
    parser.add_argument("--old")
    parser.add_argument("--bytes", type=int, help="MiB")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--dir", default="/dev/shm")
    parser.add_argument("--devices")
    parser.add_argument("section", nargs="*", choices=[[], *sections])
    options = parser.parse_args()
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    options.given = bool(options.bytes)
    options.bytes = options.bytes * MIB if options.bytes else max(256 * MIB, min(16 << 30, available // 8 >> 28 << 28))
    options.program = os.path.abspath(options.program)
    options.bench = os.path.join(os.path.dirname(options.program), "gpureduce-bench")
    probe = subprocess.run([options.program, "-Dgpu", "-q", "-tu8", "-ocount", options.program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    options.devices = options.devices.split() if options.devices else ["cpu"] + ["gpu"] * (probe.returncode == 0)
    with tempfile.TemporaryDirectory(dir=options.dir) as work:
        for name in options.section or [n for n in sections if n not in ("gpus", "share", "ladder") or len(options.devices) > 1]:
            sections[name]()


main()
