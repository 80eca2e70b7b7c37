#!/usr/bin/env python3
"""What gpureduce-bench generate must write, from its definition, in plain Python.

Prints the table of checksums that tests/bench.sh compares the program's output with:
distribution, type, bytes, and what cksum(1) says of them, all of seed 7. Python's numbers are
binary64, its operations round as IEEE 754 has it, and nothing is taken from a library. The tests
do not need this program.
"""

import struct

M64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
BLOCK = 4096
LANES = 8
DISTRIBUTIONS = ['uniform', 'normal', 'wide', 'full', 'integers', 'sparse', 'cancel',
                 'weights', 'field', 'steps', 'series', 'image']
SMOOTH = DISTRIBUTIONS[8:]
# Name: number in the key, bytes, bits of the fraction, bias of the exponent.
TYPES = {'f32': (0, 4, 23, 127), 'f64': (1, 8, 52, 1023), 'f16': (2, 2, 10, 15),
         'bf16': (3, 2, 7, 127)}
# Types whose elements are made one by one. Name: number in the key, bytes, and, of floats, bits of
# the fraction and bias of the exponent.
FLOATS8 = {'f8e4m3': (4, 1, 3, 7), 'f8e5m2': (5, 1, 2, 15)}
INTEGERS = {'i8': (6, 1), 'i16': (7, 2), 'i32': (8, 4), 'i64': (9, 8), 'u8': (10, 1), 'u16': (11, 2),
            'u32': (12, 4), 'u64': (13, 8), 'bool': (14, 1)}
SINGLE = {**FLOATS8, **INTEGERS}
ALL = {**TYPES, **SINGLE}


def mix(x):
    """The finalizer of splitmix64."""
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & M64
    return x ^ x >> 31


def rotate(x, bits):
    return (x << bits | x >> (64 - bits)) & M64


class Lane:
    """A generator xoshiro256++."""

    def __init__(self, state):
        self.s = state

    def next(self):
        s = self.s
        result = (rotate((s[0] + s[3]) & M64, 23) + s[0]) & M64
        shifted = s[1] << 17 & M64
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotate(s[3], 45)
        return result


class Generator:
    """The lanes of a block, whose words alternate."""

    def __init__(self, distribution, kind, seed, block):
        key = mix((seed + GOLDEN) & M64)
        key = mix((key + (DISTRIBUTIONS.index(distribution) << 8 | ALL[kind][0]) + 1) & M64)
        key = mix((key + block * GOLDEN) & M64)
        states = [[0] * 4 for _ in range(LANES)]
        for i in range(4):
            for lane in range(LANES):
                key = (key + GOLDEN) & M64
                states[lane][i] = mix(key)
        self.lanes = [Lane(state) for state in states]

    def words(self, count):
        return [self.lanes[i % LANES].next() for i in range(count)]

    def parts(self, bits):
        """A block's worth of numbers of so many bits: all lowest parts of words come first."""
        split = 64 // bits
        words = self.words(BLOCK // split)
        return [w >> (i * bits) & ((1 << bits) - 1) for i in range(split) for w in words]


def exp_of_minus(y):
    ln2, upper, lower = (float.fromhex(h) for h in
                         ('0x1.62e42fefa39efp-1', '0x1.62e42feep-1', '0x1.a39ef35793c76p-33'))
    n = int(y / ln2 + 0.5)
    r = n * upper - y + n * lower
    total = 1.0
    for k in range(16, 0, -1):
        total = 1 + total * r / k
    return total * float.fromhex('0x1p%d' % -n)


def density(x):
    return float.fromhex('0x1.9884533d43651p-2') * exp_of_minus(x * x / 2)


def tail(x):
    total = 0.0
    if x < 2:
        for k in range(60, 0, -1):
            total = (total + 1) * x * x / (2 * k + 1)
        return 0.5 - density(x) * x * (1 + total)
    for k in range(150, 0, -1):
        total = k / (x + total)
    return density(x) / (x + total)


def bits_of(x):
    return struct.unpack('<Q', struct.pack('<d', x))[0]


def from_bits(bits):
    return struct.unpack('<d', struct.pack('<Q', bits))[0]


def middle(bits):
    return from_bits(bits >> 48 << 48 | 1 << 47)


FIRST_ROW = (1023 - 64) << 4
LAST_ROW = (1023 - 1) << 4


def make_rows():
    rows = {LAST_ROW: [0.0] * 6}
    x = 0.0
    for i in range(LAST_ROW - 1, FIRST_ROW - 1, -1):
        p = middle(i << 48)
        for _ in range(5):
            x += (tail(x) - p) / density(x)
        g = -1 / density(x)
        xx = x * x
        rows[i] = [x, g, g * g * x / 2, g * g * g * (1 + 2 * xx) / 6,
                   g * g * g * g * x * (7 + 6 * xx) / 24,
                   g * g * g * g * g * (7 + xx * (46 + 24 * xx)) / 120]
    return rows


ROWS = make_rows()


def normal(word):
    p = float(word >> 1 | 1) * 2.0 ** -64
    bits = bits_of(p)
    row = ROWS[bits >> 48]
    t = p - middle(bits)
    tt = t * t
    x = (row[0] + row[1] * t) + ((row[2] + row[3] * t) + (row[4] + row[5] * t) * tt) * tt
    return -x if word & 1 else x


def encode(kind, x):
    """The bits of a number, rounded to nearest; to 16 bits by way of binary32."""
    if kind == 'f64':
        return bits_of(x)
    single = struct.unpack('<I', struct.pack('<f', x))[0]
    if kind == 'f32':
        return single
    if kind == 'f16':
        return struct.unpack('<H', struct.pack('<e', struct.unpack('<f', struct.pack('<f', x))[0])
                             )[0]
    return (single + 0x7FFF + (single >> 16 & 1)) >> 16


def exponents(kind, g, first, count):
    _, size, shift, _ = TYPES[kind]
    others = ~(((1 << (size * 8 - 1 - shift)) - 1) << shift) & ((1 << size * 8) - 1)
    if size == 8:
        words = g.words(BLOCK)
        random = g.parts(32)
        return [w & others | first + (r * count >> 32) << shift for w, r in zip(words, random)]
    if size == 4:
        return [w >> 32 & others | first + ((w & 0xFFFFFFFF) * count >> 32) << shift
                for w in g.words(BLOCK)]
    return [r >> 16 & others | first + ((r & 0xFFFF) * count >> 16) << shift for r in g.parts(32)]


def wide(kind, g):
    bias = TYPES[kind][3]
    return exponents(kind, g, 1, 30) if kind == 'f16' else exponents(kind, g, bias - 30, 60)


def nearest8(kind, x):
    """The bits of a float of one byte: of those there are, the nearest to x, or the even one."""
    _, _, shift, bias = FLOATS8[kind]
    fractions = 1 << shift

    def value(bits):
        field, fraction = divmod(bits, fractions)
        return (fraction * 2.0 ** (1 - bias - shift) if field == 0
                else (fractions + fraction) * 2.0 ** (field - bias - shift))
    single = struct.unpack('<f', struct.pack('<f', x))[0]
    sign = 0x80 if struct.pack('<f', x)[3] & 0x80 else 0
    return sign | min(range(0x7C), key=lambda b: (abs(value(b) - abs(single)), b & 1))


def float8(distribution, kind, word, choice, x):
    _, _, shift, _ = FLOATS8[kind]
    most = 2 << shift
    finite = 0x7F if kind == 'f8e4m3' else 0x7C
    sign = (word >> 63) << 7
    if distribution == 'uniform':
        return nearest8(kind, (word >> (63 - shift)) / most)
    if distribution == 'normal':
        return nearest8(kind, x)
    if distribution in ('wide', 'cancel'):
        fields = (finite >> shift) - 1
        return sign | 1 + (choice * fields >> 32) << shift | word & (1 << shift) - 1
    if distribution == 'full':
        return sign | choice * finite >> 32
    if distribution == 'integers':
        return nearest8(kind, float((choice * (2 * most + 1) >> 32) - most))
    return nearest8(kind, x) if choice < 0xFFFFFFFF // 20 else (word & 1) << 7


def integer(distribution, kind, word, choice, x):
    """Of truth values and integers, which are masked by the caller."""
    bits = 8 * INTEGERS[kind][1]
    signed = kind[0] == 'i'
    most = 100 if bits == 8 else 1000
    chosen = choice < 0xFFFFFFFF // 20
    if kind == 'bool':
        return 0 if distribution == 'sparse' and not chosen else word >> 63
    if distribution in ('uniform', 'full'):
        return word >> (64 - bits)
    if distribution in ('wide', 'cancel'):
        n = 1 << (choice * (bits - signed) >> 32)
        n |= word & n - 1
        return -n if signed and word >> 63 else n
    if distribution == 'integers':
        return (choice * (2 * most + 1) >> 32) - (most if signed else 0)
    if distribution == 'sparse' and not chosen:
        return 0
    x *= 2.0 ** (bits - 5)
    return int(x - 0.5 if x < 0 else x + 0.5) + (0 if signed else 1 << (bits - 1))


def single_elements(distribution, kind, g):
    words = g.words(BLOCK)
    make = float8 if kind in FLOATS8 else integer
    mask = (1 << 8 * SINGLE[kind][1]) - 1
    return [make(distribution, kind, w, c >> 32, normal(w)) & mask
            for w, c in zip(words, g.words(BLOCK))]


def block(distribution, kind, g):
    """The bits of a block's elements."""
    if kind in SINGLE:
        return single_elements(distribution, kind, g)
    bias = TYPES[kind][3]
    if distribution == 'uniform':
        bits, kept = {'f64': (64, 53), 'f32': (32, 24), 'f16': (16, 11), 'bf16': (16, 8)}[kind]
        return [encode(kind, (r >> (bits - kept)) / 2 ** kept) for r in g.parts(bits)]
    if distribution == 'normal':
        return [encode(kind, normal(w)) for w in g.words(BLOCK)]
    if distribution == 'wide':
        return wide(kind, g)
    if distribution == 'full':
        return exponents(kind, g, 0, 2 * bias + 1)
    if distribution == 'integers':
        return [encode(kind, float((r * 2001 >> 32) - 1000)) for r in g.parts(32)]
    if distribution == 'weights':
        return [encode(kind, struct.unpack('<f', struct.pack('<I', encode('bf16', normal(w) * 0.02)
                                                             << 16))[0])
                for w in g.words(BLOCK)]
    random = g.parts(32)
    return [encode(kind, normal(w) if r < 0xFFFFFFFF // 20 else (-0.0 if w & 1 else 0.0))
            for r, w in zip(random, g.words(BLOCK))]


def cancel(kind, seed, length):
    size = ALL[kind][1]
    mask = (1 << 8 * size) - 1
    pairs = (length - 1) // (2 * BLOCK)
    blocks = [block('wide', kind, Generator('cancel', kind, seed, i)) for i in range(pairs + 1)]
    whole = [x for b in blocks[:pairs] for x in b]
    left = length - 2 * len(whole)
    half = (left - 1) // 2
    last = blocks[pairs]
    if kind in INTEGERS:
        rest = 1
    else:
        _, _, shift, bias = ALL[kind]
        fraction = last[half] & (1 << shift) - 1
        narrow = kind == 'f16' or kind in FLOATS8
        rest = fraction | 1 if narrow else fraction | bias - 45 << shift

    def negative(x):
        return -x & mask if kind in INTEGERS else x ^ 1 << size * 8 - 1
    return (whole + [negative(x) for x in whole] + last[:half] +
            [negative(x) for x in last[:half]] + [rest] * (left - 2 * half))


def lattice(key, x, y):
    word = mix((key + x * GOLDEN + mix((y + GOLDEN) & M64)) & M64)
    return (word >> 11) * 2.0 ** -52 - 1


def between(a, b, t):
    return a + (b - a) * (t * t * (3 - 2 * t))


def noise(key, log2, x, y):
    width = 1 << log2
    cell, row = x >> log2, y >> log2
    ty = float(y % width) / width
    left = between(lattice(key, cell, row), lattice(key, cell, row + 1), ty)
    right = between(lattice(key, cell + 1, row), lattice(key, cell + 1, row + 1), ty)
    return between(left, right, float(x % width) / width)


def octaves(value, key, size, log2, least, x, y):
    for octave in range(log2, least - 1, -1):
        value += size * noise(mix((key + octave) & M64), octave, x, y)
        size *= 0.7071
    return value


def nearest(x):
    return x + 1.5 * 2.0 ** 52 - 1.5 * 2.0 ** 52


def smooth(distribution, key, i):
    """Element i of a distribution whose neighbours are alike."""
    if distribution == 'series':
        x = 20 + 8 * noise(mix(key), 14, i, 0)
        return nearest(octaves(x, key, 0.8, 12, 0, i, 0) * 10) / 10
    if distribution == 'image':
        pixel, colour = divmod(i, 3)
        y, x = divmod(pixel, 1024)
        value = octaves(120.0, key, 60.0, 9, 3, x, y)
        value = octaves(value, mix((key + colour + 1) & M64), 12.0, 8, 3, x, y)
        value += 4 * noise(mix(key ^ colour + 1), 0, x, y)
        return min(max(nearest(value), 0), 255) / 255
    y, x = divmod(i, 2048)
    value = octaves(280.0, key, 26.0, 9, 1, x, y)
    return nearest(value * 100) / 100 if distribution == 'steps' else value


def stream(distribution, kind, seed, length):
    if distribution == 'cancel':
        elements = cancel(kind, seed, length)
    elif distribution in SMOOTH:
        key = mix((seed + GOLDEN) & M64)
        elements = [encode(kind, smooth(distribution, key, i)) for i in range(length)]
    else:
        elements = []
        for i in range((length + BLOCK - 1) // BLOCK):
            elements += block(distribution, kind, Generator(distribution, kind, seed, i))
    size = ALL[kind][1]
    return b''.join(x.to_bytes(size, 'little') for x in elements[:length])


def cksum(data):
    """The checksum of POSIX: a CRC of the bytes and then of their number."""
    crc = 0
    length = len(data)
    tail_bytes = b''
    while length:
        tail_bytes += bytes([length & 255])
        length >>= 8
    for byte in data + tail_bytes:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
    return crc ^ 0xFFFFFFFF


def main():
    for distribution in DISTRIBUTIONS:
        for kind in ALL:
            if distribution == 'cancel' and (kind[0] == 'u' or kind == 'bool'):
                continue
            if DISTRIBUTIONS.index(distribution) > 6 and kind not in TYPES:
                continue
            for length in [1, 5000, 20000] if distribution == 'cancel' else [5000]:
                data = stream(distribution, kind, 7, length)
                print(distribution, kind, len(data), cksum(data))


main()
