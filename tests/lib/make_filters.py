#!/usr/bin/env python3
"""make_filters.py FILE SZIP: writes datasets of eight f32 (1, 2, 3, ...) with filters of other makers by h5py, whose chunks
are put together here, or damaged. Prints a line for each, with tabs between them: its name, the sum, or NA, and what is
wrong, a regular expression. SZIP is "none" for a program without that filter."""

import struct
import sys
from fractions import Fraction

import h5py
import numpy as np

x = np.arange(1, 9, dtype="<f4")
plain = x.tobytes()  # 32 bytes
SZIP, SCALE, LZF, BLOSC, LZ4, BITSHUFFLE, ZSTD = 4, 6, 32000, 32001, 32004, 32008, 32015


def lz4_block(literals):
    """LZ4: literals alone, of which there are 15 to 269."""
    return bytes([0xF0, len(literals) - 15]) + literals


def lzf(literals):
    return bytes([len(literals) - 1]) + literals


def lz4(block, content=32, size=None):
    return struct.pack(">QI", content, 32) + struct.pack(">I", len(block) if size is None else size) + block


def zstd(content):
    """A frame of one segment with a stored block."""
    return b"\x28\xb5\x2f\xfd\x20" + bytes([len(content)]) + (len(content) << 3 | 1).to_bytes(3, "little") + content


def bits(data, element):
    """Gathers bits of elements by their places."""
    b = np.unpackbits(np.frombuffer(data, "u1").reshape(-1, element), axis=1, bitorder="little")
    return np.packbits(b.T.ravel(), bitorder="little").tobytes()


def scale(bits, numbers=range(0, 800, 100), least=1.0):
    """Packed numbers, by which elements are more than the least, in hundredths."""
    text = "".join(f"{n:0{bits}b}" for n in numbers)
    text += "0" * (-len(text) % 8)
    return struct.pack("<IBf12x", bits, 8, least) + int(text, 2).to_bytes(len(text) // 8, "big")


def blosc(stream, flags=1 << 5, content=32, block=32, element=4, version=2, start=20, size=None, codec=1):
    total = 24 + len(stream) if size is None else size
    return (struct.pack("<BBBBIII", version, codec, flags, element, content, block, total) + struct.pack("<I", start)
            + struct.pack("<I", len(stream)) + stream)


def szip(block, content=32):
    """Blocks of bytes that are stored, of lines of eight: the first bytes of all elements, then the second ones."""
    padded = np.pad(np.frombuffer(plain, "u1").reshape(8, 4).T, ((0, 0), (0, -8 % block))).reshape(-1, block)
    bits = np.hstack([np.ones((len(padded), 3), "u1"), np.unpackbits(padded, axis=1)])
    return struct.pack("<I", content) + np.packbits(bits.ravel()).tobytes()


shuffled = np.frombuffer(plain, "u1").reshape(8, 4).T.tobytes()
scaled = scale(10)
SHORT = r"the compressed data are cut off"
cut = r"the Blosc data are cut off"
header = "the Blosc header is damaged"
other = "a chunk has another size than it should"
cases = {  # the filters and their parameters, the chunk, the mask of filters it lacks, and what is wrong
    "lzf": ([(LZF, ())], lzf(plain), 0, None),
    "lzf.match": ([(LZF, ())], b"\x00\x00" + bytes([0xE0, 22, 0]), 0, 0),
    "lzf.short": ([(LZF, ())], lzf(plain)[:-1], 0, "the LZF data are damaged"),
    "lzf.long": ([(LZF, ())], lzf(plain) + b"\0", 0, "the LZF data are damaged"),
    "lzf.more": ([(LZF, ())], lzf(plain) + b"\0\0", 0, "the LZF data are damaged"),
    "lzf.before": ([(LZF, ())], b"\x00\x00" + bytes([0xE0, 22, 1]), 0, "the LZF data are damaged"),
    "masked": ([(LZF, ())], plain, 1, None),
    "masked.short": ([(LZF, ())], plain[:-1], 1, "a chunk is shorter than it should be"),
    "masked.long": ([(LZF, ())], plain + b"\0", 1, "a chunk is longer than it should be"),
    "lz4": ([(LZ4, ())], lz4(lz4_block(plain)), 0, None),
    "lz4.stored": ([(LZ4, ())], lz4(plain), 0, None),
    "lz4.short": ([(LZ4, ())], lz4(lz4_block(plain))[:-1], 0, SHORT),
    "lz4.header": ([(LZ4, ())], lz4(b"")[:11], 0, SHORT),
    "lz4.content": ([(LZ4, ())], lz4(lz4_block(plain), 36), 0, other),
    "lz4.huge": ([(LZ4, ())], lz4(lz4_block(plain), 1 << 63), 0, other),
    "lz4.size": ([(LZ4, ())], lz4(lz4_block(plain), size=2**32 - 1), 0, SHORT),
    "lz4.less": ([(LZ4, ())], lz4(lz4_block(plain), size=20), 0, "the LZ4 data are damaged"),
    "lz4.block": ([(LZ4, ())], struct.pack(">QI", 32, 0) + bytes(40), 0, "blocks of no bytes"),
    "lz4.behind": ([(LZ4, ())], lz4(plain) + b"\0", 0, "bytes follow after the compressed data"),
    "zstd": ([(ZSTD, (3,))], zstd(plain), 0, None),
    "zstd.short": ([(ZSTD, (3,))], zstd(plain)[:-1], 0, ".*"),
    "zstd.less": ([(ZSTD, (3,))], zstd(plain[:-1]), 0, "the compressed data are too short"),
    "zstd.more": ([(ZSTD, (3,))], zstd(plain + b"\0"), 0, ".*"),
    "shuffle.lzf": ([(2, (4,)), (LZF, ())], lzf(shuffled), 0, None),
    "shuffle.mask": ([(2, (4,)), (LZF, ())], lzf(plain), 1, None),
    "lzf.shuffle": ([(LZF, ()), (2, (4,))], np.frombuffer(lzf(plain) + b"\0\0\0", "u1").reshape(9, 4).T.tobytes(), 0,
                    "the LZF data are damaged"),
    "lzf.shuffled": ([(LZF, ()), (2, (4,))], np.frombuffer(lzf(plain)[:32], "u1").reshape(8, 4).T.tobytes() + plain[-1:], 0,
                     None),
    "bits": ([(BITSHUFFLE, (0, 3, 4, 8, 0))], bits(plain, 4), 0, None),
    "bits.short": ([(BITSHUFFLE, (0, 3, 4, 8, 0))], bits(plain, 4)[:-4], 0, "a chunk is shorter than it should be"),
    "bits.size": ([(BITSHUFFLE, (0, 3, 3, 8, 0))], bits(plain, 4), 0, "its blocks or its content are not of whole .*"),
    "bits.missing": ([(BITSHUFFLE, (0, 3))], bits(plain, 4), 0, "is not supported: the size of an element is missing"),
    "bits.none": ([(BITSHUFFLE, ())], bits(plain, 4), 0, "is not supported: the size of an element is missing"),
    "bits.block": ([(BITSHUFFLE, (0, 3, 4, 9, 0))], bits(plain, 4), 0, "is not supported: its blocks are not of eight .*"),
    "bits.codec": ([(BITSHUFFLE, (0, 3, 4, 8, 1))], bits(plain, 4), 0, "is not supported: its compression is unknown"),
    "bits.lz4": ([(BITSHUFFLE, (0, 3, 4, 0, 2))], lz4(lz4_block(bits(plain, 4))), 0, None),
    "bits.lz4.size": ([(BITSHUFFLE, (0, 3, 4, 0, 2))], lz4(lz4_block(bits(plain, 4)), 33), 0, other),
    "bits.lz4.short": ([(BITSHUFFLE, (0, 3, 4, 0, 2))], lz4(lz4_block(bits(plain, 4)))[:-1], 0, SHORT),
    "bits.lz4.behind": ([(BITSHUFFLE, (0, 3, 4, 0, 2))], lz4(lz4_block(bits(plain, 4))) + b"\0", 0, "bytes follow .*"),
    "bits.zstd": ([(BITSHUFFLE, (0, 3, 4, 0, 3))], lz4(zstd(bits(plain, 4))), 0, None),
    "bits.twice": ([(BITSHUFFLE, (0, 3, 4, 8, 2)), (LZF, ())], plain, 0, "is not supported: it follows another compression"),
    "blosc": ([(BLOSC, ())], blosc(lz4_block(plain)), 0, None),
    "blosc.shuffle": ([(BLOSC, ())], blosc(lz4_block(shuffled), 1 | 1 << 5), 0, None),
    "blosc.bits": ([(BLOSC, ())], blosc(lz4_block(bits(plain, 4)), 4 | 1 << 5), 0, None),
    "blosc.stored": ([(BLOSC, ())], struct.pack("<BBBBIII", 2, 1, 2, 4, 32, 32, 48) + plain, 0, None),
    "blosc.snappy": ([(BLOSC, ())], blosc(b"\x20\x7c" + plain, 2 << 5), 0, None),
    "blosc.other": ([(BLOSC, ())], blosc(b"\x1f" + plain), 0, "the LZ4 data are damaged"),
    "blosc.blosclz": ([(BLOSC, ())], blosc(b"\x3f" + plain, 0), 0, None),
    "blosc.version": ([(BLOSC, ())], blosc(lz4_block(plain), version=3), 0, "chunks of Blosc of another version .*"),
    "blosc.codec": ([(BLOSC, ())], blosc(lz4_block(plain), 7 << 5), 0, "compressed by a codec that Blosc does not have"),
    "blosc.codec.version": ([(BLOSC, ())], blosc(lz4_block(plain), codec=2), 0, "compressed by a codec that Blosc does not have"),
    "blosc.reserved": ([(BLOSC, ())], blosc(lz4_block(plain), 8 | 1 << 5), 0, header),
    "blosc.content": ([(BLOSC, ())], blosc(lz4_block(plain), content=36), 0, other),
    "blosc.block": ([(BLOSC, ())], blosc(lz4_block(plain), block=0), 0, header),
    "blosc.block.large": ([(BLOSC, ())], blosc(lz4_block(plain), block=33), 0, header),
    "blosc.blocks": ([(BLOSC, ())], blosc(lz4_block(plain), block=1), 0, cut),
    "blosc.element": ([(BLOSC, ())], blosc(lz4_block(plain), element=0), 0, header),
    "blosc.start": ([(BLOSC, ())], blosc(lz4_block(plain), start=2**32 - 2), 0, cut),
    "blosc.end": ([(BLOSC, ())], blosc(lz4_block(plain), start=57), 0, cut),
    "blosc.size": ([(BLOSC, ())], blosc(lz4_block(plain), size=2**32 - 1), 0, cut),
    "blosc.small": ([(BLOSC, ())], blosc(lz4_block(plain), size=15), 0, cut),
    "blosc.short": ([(BLOSC, ())], blosc(lz4_block(plain))[:-1], 0, cut),
    "blosc.header": ([(BLOSC, ())], blosc(lz4_block(plain))[:15], 0, cut),
    "blosc.stored.block": ([(BLOSC, ())], struct.pack("<BBBBIII", 2, 1, 2, 4, 32, 33, 48) + plain, 0, header),
    "blosc.stored.size": ([(BLOSC, ())], struct.pack("<BBBBIII", 2, 1, 2, 4, 32, 32, 47) + plain, 0, cut),
    "twice": ([(LZF, ()), (ZSTD, (3,))], plain, 0, "is not supported: it follows another compression"),
    "scale": ([(SCALE, (0, 2))], scaled, 0, None),
    "scale.short": ([(SCALE, (0, 2))], scaled[:30], 0, SHORT),
    "scale.header": ([(SCALE, (0, 2))], scaled[:20], 0, SHORT),
    "scale.bits": ([(SCALE, (0, 2))], struct.pack("<I", 33) + scaled[4:], 0, other),
    "scale.many": ([(SCALE, (0, 2))], struct.pack("<I", 31) + scaled[4:], 0, SHORT),
    "scale.decimals": ([(SCALE, (0, 11))], scaled, 0, "is not supported: its parameters are missing, .*"),
    "szip": ([(SZIP, (12, 8, 32, 8))], szip(8), 0, None),
    "szip.padded": ([(SZIP, (12, 6, 32, 8))], szip(6), 0, None),
    "szip.short": ([(SZIP, (12, 8, 32, 8))], szip(8)[:-1], 0, SHORT),
    "szip.padded.short": ([(SZIP, (12, 6, 32, 8))], szip(6)[:-9], 0, SHORT),
    "szip.header": ([(SZIP, (12, 8, 32, 8))], szip(8)[:3], 0, SHORT),
    "szip.content": ([(SZIP, (12, 8, 32, 8))], szip(8, 36), 0, other),
    "szip.huge": ([(SZIP, (12, 8, 32, 8))], szip(8, 2**32 - 1), 0, other),
    "szip.zeros": ([(SZIP, (12, 8, 32, 8))], struct.pack("<I", 32) + b"\0\0\1\0", 0, "the szip data are damaged"),
    "szip.block": ([(SZIP, (12, 3, 32, 8))], szip(8), 0, "is not supported: its parameters are missing, .*"),
    "szip.none": ([(SZIP, ())], szip(8), 0, "is not supported: its parameters are missing, .*"),
    "szip.twice": ([(SZIP, (12, 8, 32, 8)), (LZF, ())], szip(8), 0, "is not supported: it follows another compression"),
    "unknown": ([(32099, ())], plain, 0, "HDF5 filter (32099) is not supported"),
}
if sys.argv[2] == "none":
    cases.update((name, (*case[:3], "is not supported: it needs libaec, .*"))
                 for name, case in cases.items() if name.startswith("szip"))
with h5py.File(sys.argv[1], "w") as file:
    for name, (filters, chunk, mask, wrong) in cases.items():
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((8,))
        for number, values in filters:
            properties.set_filter(number, h5py.h5z.FLAG_OPTIONAL, values)
        space = h5py.h5s.create_simple((8,))
        made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F32LE, space, properties)
        made.write_direct_chunk((0,), chunk, mask)


def nbit(file, name, kind, bits, offset, order, change=None):
    """Integers of few bits at an offset in their bytes, of which some chunks have the fill value. change: "short" and
    "mask" make a chunk another one, "szip" takes szip in place of n-bit."""
    of = kind.copy()
    of.set_order(order)
    of.set_precision(bits)
    of.set_offset(offset)
    signed = of.get_sign() == h5py.h5t.SGN_2
    least = -(1 << bits - 1) if signed else 0
    native = np.dtype(f"{'iu'[not signed]}{of.get_size()}")
    values = np.array([least + n * n % (1 << bits) for n in (0, 1, 2, 7, 90, 5)] + [least + (1 << bits) - 1, least], native)
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((3,))
    properties.set_fill_value(np.array(least + 2, native))
    if change == "szip":
        properties.set_szip(32, 2)
    else:
        properties.set_filter(5, h5py.h5z.FLAG_OPTIONAL)
    made = h5py.h5d.create(file.id, name.encode(), of, h5py.h5s.create_simple((16,)), properties)
    place = h5py.h5s.create_simple((16,))
    place.select_hyperslab((0,), (8,))
    made.write(h5py.h5s.create_simple((8,)), place, values)
    if change == "short":
        made.write_direct_chunk((3,), b"x", 0)
    elif change == "mask":
        values[3:6] = -5, 6, 7
        made.write_direct_chunk((3,), (values[3:6] << offset).tobytes(), 1)
        del made
        made = h5py.h5d.open(file.id, name.encode())  # libhdf5 would keep the mask that the chunk had
    found = np.empty(16, native)
    if change != "short":
        made.read(h5py.h5s.ALL, h5py.h5s.ALL, found)
        assert (found[:8] == values).all() and (found[8:] == least + 2).all()
    cases[name] = (None, None, None, SHORT if change == "short" else sum(map(int, values)) + 8 * (least + 2))


def floats(file, name, size, order, precision, offset, fields, bias, filters, wrong=None, last=None):
    """Floats whose sign, exponent and fraction are these bits, of which some chunks have the fill value 1.5."""
    sign, exponent_at, exponent_bits, fraction_at, fraction_bits = fields
    of = h5py.h5t.IEEE_F64LE.copy()
    of.set_fields(*fields)
    of.set_offset(offset)
    of.set_precision(precision)
    of.set_size(size)
    of.set_ebias(bias)
    of.set_order(order)
    most = (1 << exponent_bits) - 1
    parts = [(n % 2, e, n * n * 7919 % (1 << fraction_bits)) for n in range(20)
             for e in (0, 1, most - 1, min(bias + n, most - 1)) if last is not None or exponent_bits < 7 or e > 1]
    parts = [p for p in parts if p[1] < bias + 30]
    parts[-1] = (0, most, last) if last is not None else parts[-1]
    raw = b"".join((s << sign | e << exponent_at | f << fraction_at).to_bytes(size, "big" if order else "little")
                   for s, e, f in parts)
    exact = [(-1) ** s * Fraction((e > 0) << fraction_bits | f) * Fraction(2) ** (max(e, 1) - bias - fraction_bits)
             for s, e, f in parts]
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if filters is not None:
        properties.set_chunk((7,))
    properties.set_fill_value(np.array(1.5))
    for number in filters or ():
        properties.set_filter(number, h5py.h5z.FLAG_OPTIONAL, (1,) if number == 1 else ())
    n = len(parts)
    made = h5py.h5d.create(file.id, name.encode(), of, h5py.h5s.create_simple((n + 16,)), properties)
    place = h5py.h5s.create_simple((n + 16,))
    place.select_hyperslab((0,), (n,))
    made.write(h5py.h5s.create_simple((n,)), place, np.frombuffer(raw, "u1"), of)
    if not wrong and last is None:
        found = np.empty(n + 16)
        made.read(h5py.h5s.ALL, h5py.h5s.ALL, found)
        assert [Fraction(x) for x in found] == exact + [Fraction(3, 2)] * 16
    total = float(sum(exact) + 24) if last is None else "nan" if last else "inf"
    cases[name] = (None, None, None, wrong, total)


with h5py.File(sys.argv[1], "a") as file:
    LE, BE = h5py.h5t.ORDER_LE, h5py.h5t.ORDER_BE
    for sign in "IU":
        for size in (8, 16, 32, 64):
            for bits, offset, order in ((size - 1, 1, LE), (size // 2 + 1, 0, BE), (size, 0, LE), (size // 2 + 3, 0, LE)):
                kind = getattr(h5py.h5t, f"STD_{sign}{size}LE")
                nbit(file, f"nbit.{sign}{size}.{bits}.{offset}.{order}", kind, bits, offset, order)
    if (sys.argv[2] != "none" and h5py.h5z.filter_avail(SZIP)
            and h5py.h5z.get_filter_info(SZIP) & h5py.h5z.FILTER_CONFIG_ENCODE_ENABLED):
        for bits in (5, 12, 20):
            size = 8 << bits // 8
            nbit(file, f"szip.I{bits}", getattr(h5py.h5t, f"STD_I{size}LE"), bits, 0, LE, "szip")
            nbit(file, f"szip.U{bits}", getattr(h5py.h5t, f"STD_U{size}BE"), bits, 0, BE, "szip")
    nbit(file, "nbit.short", h5py.h5t.STD_I16LE, 12, 0, LE, "short")
    nbit(file, "nbit.mask", h5py.h5t.STD_I16LE, 12, 4, LE, "mask")
    layouts = {  # bytes, order, bits, the first of these, fields, bias
        "manual": (4, LE, 20, 7, (26, 20, 6, 7, 13), 31),
        "three": (3, BE, 24, 0, (23, 16, 7, 0, 16), 63),
        "five": (5, LE, 40, 0, (39, 28, 11, 0, 28), 1023),
        "range": (4, LE, 32, 0, (31, 21, 10, 0, 21), 511),
        "half": (4, BE, 16, 16, (31, 26, 5, 16, 10), 15),
        "twelve": (2, LE, 12, 4, (15, 11, 4, 4, 7), 7),
        "byte": (1, LE, 8, 0, (7, 3, 4, 0, 3), 8),
        "single": (8, LE, 32, 16, (47, 39, 8, 16, 23), 127),
        "double": (8, BE, 44, 20, (63, 52, 11, 20, 32), 1023),
        "mixed": (2, BE, 16, 0, (0, 1, 5, 6, 10), 15),
    }
    for name, layout in layouts.items():
        for filters in ((5,), (), (2, 1)):
            floats(file, f"float.{name}.{'.'.join(map(str, filters))}", *layout, filters)
    floats(file, "float.inf", *layouts["manual"], (5,), last=0)
    floats(file, "float.nan", *layouts["single"], (5,), last=1)
    floats(file, "float.contiguous", *layouts["twelve"], None, "its layout is read in chunked datasets .*")
    floats(file, "float.wide", 8, LE, 64, 0, (63, 51, 12, 0, 51), 2047, (5,), "its numbers may not fit f64 .*")
for name in sorted(cases):
    wrong = cases[name][3]
    number = cases[name][4] if len(cases[name]) > 4 else 36 if wrong is None else wrong
    print(name, "NA" if isinstance(wrong, str) else number, wrong if isinstance(wrong, str) else "", sep="\t")
