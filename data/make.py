#!/usr/bin/env python3
"""Makes the samples beside it, expected.tsv and the table of results in README.md.

    python3 data/make.py

Needs Python 3.8 and the programs zstd and pzstd, nothing else. What the samples must reduce to is
computed here with integers of any length, from the elements and not from gpureduce, whose tests
compare with it. Values come from seeded generators: another run makes the same elements, but
another version of zstd may pack them into other bytes. The files in the repository are from
zstd 1.5.4.
"""
import math
import os
import random
import struct
import subprocess
from collections import Counter
from fractions import Fraction

HERE = os.path.dirname(os.path.abspath(__file__))
NAN, INF = math.nan, math.inf

# ----------------------------------------------------------------------------------------------
# Element types: bytes per element, bits of the significand with the hidden one, normal exponents.
# ----------------------------------------------------------------------------------------------
TYPES = {
    'f16': (2, 11, -14, 15),
    'bf16': (2, 8, -126, 127),
    'f32': (4, 24, -126, 127),
    'f64': (8, 53, -1022, 1023),
}


def to_value(kind, bits):
    """The number that a bit pattern stands for."""
    if kind == 'f64':
        return struct.unpack('<d', struct.pack('<Q', bits))[0]
    if kind == 'f16':
        return struct.unpack('<e', struct.pack('<H', bits))[0]
    if kind == 'bf16':
        bits <<= 16
    return struct.unpack('<f', struct.pack('<I', bits))[0]


def to_bits(kind, x):
    """The bit pattern of the nearest element to x."""
    if kind == 'f64':
        return struct.unpack('<Q', struct.pack('<d', x))[0]
    if kind == 'f16':
        return struct.unpack('<H', struct.pack('<e', x))[0]
    word = struct.unpack('<I', struct.pack('<f', x))[0]
    if kind == 'f32':
        return word
    if math.isnan(x) or math.isinf(x):
        return word >> 16
    return (word + 0x7fff + (word >> 16 & 1)) >> 16


def pack(kind, patterns, order='little'):
    size = TYPES[kind][0]
    return b''.join(bits.to_bytes(size, order) for bits in patterns)


def unpack(kind, data, order='little'):
    size = TYPES[kind][0]
    return [to_value(kind, int.from_bytes(data[i:i + size], order))
            for i in range(0, len(data) - size + 1, size)]


# ----------------------------------------------------------------------------------------------
# What a reduction must give. UNIT is the smallest positive binary64: every element is a whole
# number of it, so that sums are sums of integers.
# ----------------------------------------------------------------------------------------------
UNIT = 1074


def exact_sum(numbers):
    """The sum of finite numbers, as a Fraction."""
    total = 0
    for x, times in Counter(numbers).items():
        n, d = x.as_integer_ratio()
        total += times * (n << UNIT) // d
    return Fraction(total, 1 << UNIT)


def to_f64(x):
    """A Fraction rounded to binary64; Python's division of integers rounds once, ties to even."""
    try:
        return x.numerator / x.denominator
    except OverflowError:
        return INF if x > 0 else -INF


def round_to_kind(kind, x):
    """A positive Fraction rounded to the element type, as a Fraction; None beyond its range."""
    _, bits, emin, emax = TYPES[kind]
    e = emin
    while Fraction(2) ** (e + 1) <= x:
        e += 1
    ulp = Fraction(2) ** (e - bits + 1)
    rounded = round(x / ulp) * ulp  # Python rounds ties to even
    return rounded if rounded < Fraction(2) ** (emax + 1) else None


def digits_of(kind, x):
    """The shortest decimal of x > 0 that reads back, nearest to x: digits and exponent."""
    if kind == 'f64':
        mantissa, _, exponent = ('%r' % x).partition('e')
        whole, _, part = mantissa.partition('.')
        digits, point = whole + part, len(whole) + int(exponent or 0)
        stripped = digits.lstrip('0')
        point -= len(digits) - len(stripped)
        return stripped.rstrip('0') or '0', point - 1
    f = Fraction(x)
    e = math.floor(math.log10(x))
    while Fraction(10) ** (e + 1) <= f:
        e += 1
    while Fraction(10) ** e > f:
        e -= 1
    for length in range(1, 18):
        unit = Fraction(10) ** (e - length + 1)
        below = f // unit
        good = [n for n in (below, below + 1) if n and round_to_kind(kind, n * unit) == f]
        if good:
            n = min(good, key=lambda n: abs(n * unit - f))
            text = str(n)
            return text.rstrip('0'), e - length + len(text)
    raise AssertionError(x)


def show(kind, x):
    """A number as gpureduce prints it."""
    if math.isnan(x):
        return 'nan'
    sign = '-' if math.copysign(1, x) < 0 else ''
    if math.isinf(x):
        return sign + 'inf'
    if x == 0:
        return sign + '0'
    digits, e = digits_of(kind, abs(x))
    if e < -5 or e > 15:
        return '%s%s%s%se%+03d' % (sign, digits[0], '.' if digits[1:] else '', digits[1:], e)
    if e < 0:
        return sign + '0.' + '0' * (-e - 1) + digits
    if len(digits) <= e + 1:
        return sign + digits + '0' * (e + 1 - len(digits))
    return sign + digits[:e + 1] + '.' + digits[e + 1:]


OPS = ('sum', 'min', 'max', 'mean', 'count', 'argmin', 'argmax', 'nan', 'inf')


def reduce(kind, values, skip_nan=False):
    """Every operation's value, as text."""
    nans = [i for i, x in enumerate(values) if math.isnan(x)]
    numbers = [x for x in values if not math.isnan(x)]
    plus, minus = numbers.count(INF), numbers.count(-INF)
    r = {'nan': str(len(nans)), 'inf': str(plus + minus)}
    r['count'] = str(len(numbers) if skip_nan else len(values))
    if kind in FLOATS8:
        r.update(spread(kind, numbers, bool(nans and not skip_nan)))
    kind = SHOWN.get(kind, kind)
    if nans and not skip_nan:
        r.update(dict.fromkeys(('sum', 'mean', 'min', 'max'), 'nan'))
        r['argmin'] = r['argmax'] = str(nans[0])
        return r

    # minimum and maximum tell -0 from +0; the first that attains them is the one named
    def rank(x):
        return (x, math.copysign(1, x))
    if numbers:
        low, high = min(numbers, key=rank), max(numbers, key=rank)
        r['min'], r['max'] = show(kind, low), show(kind, high)
        ranks = [None if math.isnan(x) else rank(x) for x in values]
        r['argmin'], r['argmax'] = str(ranks.index(rank(low))), str(ranks.index(rank(high)))
    else:
        r.update(dict.fromkeys(('min', 'max', 'argmin', 'argmax'), 'nan'))
    if plus or minus:
        r['sum'] = r['mean'] = 'nan' if plus and minus else 'inf' if plus else '-inf'
        return r
    total = exact_sum(numbers)
    r['sum'] = show('f64', to_f64(total))
    r['mean'] = show('f64', to_f64(total / len(numbers))) if numbers else 'nan'
    # a second opinion, from code that has nothing in common with the above
    try:
        assert math.fsum(numbers) == to_f64(total)
    except OverflowError:
        pass
    return r


SPREAD_OPS = ('sumsq', 'var', 'std', 'rms', 'l1', 'l2', 'absmax', 'absmin', 'range', 'zeros',
              'negatives', 'subnormals')


def root_f64(x):
    """The square root of a Fraction, rounded to binary64: cut off far below the least subnormal, and
    a half more where that has left something."""
    places = 1200
    square = (x.numerator << 2 * places) // x.denominator
    root = math.isqrt(square)
    inexact = root * root != square or square * x.denominator != x.numerator << 2 * places
    return to_f64(Fraction(2 * root + inexact, 2 << places))


def reduce_spread(kind, values, skip_nan=False, ddof=0):
    """Every operation of SPREAD_OPS, as text."""
    numbers = [x for x in values if not math.isnan(x)]
    least_normal = math.ldexp(1, TYPES[kind][2])
    r = {'zeros': sum(x == 0 for x in numbers), 'negatives': sum(x < 0 for x in numbers),
         'subnormals': sum(0 < abs(x) < least_normal for x in numbers)}
    r = {op: str(count) for op, count in r.items()}
    r.update((op, 'nan') for op in SPREAD_OPS if op not in r)
    if len(numbers) < len(values) and not skip_nan:
        return r
    shown = SHOWN.get(kind, kind)
    if numbers:
        r['absmax'] = show(shown, max(map(abs, numbers)))
        r['absmin'] = show(shown, min(map(abs, numbers)))
        low, high = min(numbers), max(numbers)
        if math.isinf(low) or math.isinf(high):
            r['range'] = show(shown, high - low)
        else:
            exact = Fraction(high) - Fraction(low)
            rounded = round_to_kind(kind, exact) if exact else exact
            r['range'] = 'inf' if rounded is None else show(shown, float(rounded))
    if any(map(math.isinf, numbers)):
        r.update(dict.fromkeys(('sumsq', 'rms', 'l1', 'l2'), 'inf'))
        return r
    total, n = exact_sum(numbers), len(numbers)
    squares = sum((Fraction(x) ** 2 * times for x, times in Counter(numbers).items()), Fraction(0))
    r['sumsq'], r['l2'] = show('f64', to_f64(squares)), show('f64', root_f64(squares))
    r['l1'] = show('f64', to_f64(exact_sum(map(abs, numbers))))
    if n > 0:
        r['rms'] = show('f64', root_f64(squares / n))
    if n > ddof:
        # the definition: what the elements differ from their mean, squared
        mean = total / n
        if n < 1000:
            variance = sum((Fraction(x) - mean) ** 2 for x in numbers) / (n - ddof)
            assert variance == (squares - total * mean) / (n - ddof)
        variance = (squares - total * mean) / (n - ddof)
        r['var'], r['std'] = show('f64', to_f64(variance)), show('f64', root_f64(variance))
    return r


# ----------------------------------------------------------------------------------------------
# Integers, truth values and floats of one byte.
# ----------------------------------------------------------------------------------------------
INTEGERS = {'i8': (1, True), 'i16': (2, True), 'i32': (4, True), 'i64': (8, True),
            'u8': (1, False), 'u16': (2, False), 'u32': (4, False), 'u64': (8, False)}

# Bits of the exponent and of the fraction, and whether the greatest exponent is one of numbers.
FLOATS8 = {'f8e4m3': (4, 3, True), 'f8e5m2': (5, 2, False)}
FLOATS8_EXPONENT_MIN = {'f8e4m3': -6, 'f8e5m2': -14}
# The extremes of narrow types are printed in full.
SHOWN = dict.fromkeys(('f8e4m3', 'f8e5m2', 'f16', 'bf16'), 'f64')


def spread(kind, numbers, hidden=False):
    """Those of SPREAD_OPS, of integers or of floats of one byte, as text. `hidden`: there is a NaN,
    which propagates."""
    integers = kind not in FLOATS8
    r = {'zeros': str(numbers.count(0)), 'negatives': str(sum(x < 0 for x in numbers))}
    least = 0 if integers else Fraction(2) ** (FLOATS8_EXPONENT_MIN[kind])
    r['subnormals'] = str(sum(0 < abs(x) < least for x in numbers))
    r.update(dict.fromkeys(SPREAD_OPS[:9], 'nan'))
    if hidden:
        return r
    magnitudes = Counter(abs(x) for x in numbers)
    if INF in magnitudes:
        r.update(dict.fromkeys(('sumsq', 'rms', 'l1', 'l2'), 'inf'))
        r['absmax'] = r['range'] = 'inf'
        r['absmin'] = show('f32', min(magnitudes))
        if min(numbers) == max(numbers):
            r['range'] = 'nan'
        return r
    count = len(numbers)
    exact = {x: Fraction(x) for x in set(numbers) | set(magnitudes)}
    total = sum(times * exact[x] for x, times in Counter(numbers).items())
    l1 = sum(times * exact[x] for x, times in magnitudes.items())
    squares = sum(times * exact[x] ** 2 for x, times in magnitudes.items())
    r['l1'], r['sumsq'] = show('f64', to_f64(Fraction(l1))), show('f64', to_f64(Fraction(squares)))
    r['l2'] = show('f64', root_f64(Fraction(squares)))
    if not count:
        return r
    r['rms'] = show('f64', root_f64(Fraction(squares) / count))
    var = Fraction(squares) / count - (Fraction(total) / count) ** 2
    r['var'], r['std'] = show('f64', to_f64(var)), show('f64', root_f64(var))
    width = exact[max(numbers)] - exact[min(numbers)]
    if integers:
        r.update(absmax=str(max(magnitudes)), absmin=str(min(magnitudes)), range=str(width))
        return r
    r['absmax'], r['absmin'] = show('f32', max(magnitudes)), show('f32', min(magnitudes))
    numbers = [x for x in (float8(kind, byte) for byte in range(128)) if x < INF]
    distances = [(abs(Fraction(x) - width), byte % 2, x) for byte, x in enumerate(numbers)]
    beyond = width >= numbers[-1] + (numbers[-1] - numbers[-2]) / 2
    r['range'] = show('f32', INF if beyond else min(distances)[2])
    return r


def reduce_integers(values):
    """Every operation's value, as text: no sum, and nothing of the type, is rounded."""
    r = {'sum': str(sum(values)), 'count': str(len(values)), 'nan': '0', 'inf': '0'}
    r.update(spread('i64', values))
    if not values:
        r.update(dict.fromkeys(('min', 'max', 'mean', 'argmin', 'argmax'), 'nan'))
        return r
    low, high = min(values), max(values)
    r.update(min=str(low), max=str(high), argmin=str(values.index(low)),
             argmax=str(values.index(high)),
             mean=show('f64', to_f64(Fraction(sum(values), len(values)))))
    return r


def float8(kind, byte):
    """The number that a byte stands for, from the definition of its type."""
    exponent_bits, fraction_bits, finite = FLOATS8[kind]
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = byte >> fraction_bits & 2 ** exponent_bits - 1
    fraction = byte & 2 ** fraction_bits - 1
    sign = -1.0 if byte & 0x80 else 1.0
    if finite and byte & 0x7f == 0x7f:
        return NAN
    if not finite and exponent == 2 ** exponent_bits - 1:
        return NAN if fraction else sign * INF
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias - fraction_bits)
    return sign * (2 ** fraction_bits + fraction) * 2.0 ** (exponent - bias - fraction_bits)


# ----------------------------------------------------------------------------------------------
# Files.
# ----------------------------------------------------------------------------------------------
made = []      # names, in order
expected = []  # file, options, results
spreads = []   # likewise, of SPREAD_OPS


def write(name, data):
    path = os.path.join(HERE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data)
    made.append(name)


def keep(name):
    """A sample that is not made here: the README says by what."""
    if not os.path.exists(os.path.join(HERE, name)):
        sys.exit('%s is missing: it cannot be made again here' % name)
    made.append(name)


def expect(name, options, kind, values, skip_nan=False):
    expected.append((name, options or 'none', reduce(kind, values, skip_nan)))
    spreads.append((name, options or 'none', reduce_spread(kind, values, skip_nan)))
    if name.startswith('raw/'):
        spreads.append((name, ('%s --ddof=1' % options).strip(),
                        reduce_spread(kind, values, skip_nan, 1)))


def raw(name, kind, patterns, order='little'):
    """A raw file of bit patterns, and what it must give."""
    write(name, pack(kind, patterns, order))
    options = ([] if kind == 'f32' else ['-t ' + kind]) + \
        (['--endian big'] if order == 'big' else [])
    values = [to_value(kind, bits) for bits in patterns]
    expect(name, ' '.join(options), kind, values)
    return ' '.join(options), values


def zstd(data, *options):
    """One frame that says how long its content is: `zstd -19 OPTIONS FILE`."""
    temporary = os.path.join(HERE, '.make.tmp')
    with open(temporary, 'wb') as f:
        f.write(data)
    try:
        return subprocess.run(['zstd', '-q', '-19', '-c', *options, temporary],
                              check=True, stdout=subprocess.PIPE).stdout
    finally:
        os.remove(temporary)


def zstd_unsized(data, *options):
    """One frame that does not: `zstd -19 OPTIONS < FILE`."""
    return subprocess.run(['zstd', '-q', '-19', '-c', *options], input=data, check=True,
                          stdout=subprocess.PIPE).stdout


def pzstd(data, *options):
    temporary = os.path.join(HERE, '.make.tmp')
    with open(temporary, 'wb') as f:
        f.write(data)
    try:
        return subprocess.run(['pzstd', '-q', '-c', *options, temporary], check=True,
                              stdout=subprocess.PIPE).stdout
    finally:
        os.remove(temporary)


def skippable(data, nibble=0):
    return struct.pack('<II', 0x184D2A50 + nibble, len(data)) + data


def pieces(data, size):
    return [data[i:i + size] for i in range(0, len(data), size)]


def seekable(parts, checksums):
    """zstd's seekable format (contrib/seekable_format in its source): ordinary frames, then a
    skippable one with the seek table: a row for every frame, and a footer."""
    frames = [zstd(part, '--check') for part in parts]
    table = b''
    for part, frame in zip(parts, frames):
        table += struct.pack('<II', len(frame), len(part))
        if checksums:
            # The low 32 bits of the content's XXH64: with --check they end the frame as well.
            table += frame[-4:]
    table += struct.pack('<IBI', len(parts), 0x80 if checksums else 0, 0x8F92EAB1)
    return b''.join(frames) + skippable(table, 0xE)


def npy(header, data, version=1, align=64):
    """A .npy file; numpy pads headers with blanks to a multiple of 64 bytes."""
    prefix = 10 if version == 1 else 12
    text = header.encode('utf-8' if version == 3 else 'latin-1')
    if align:
        text += b' ' * (-(prefix + len(text) + 1) % align)
    text += b'\n'
    return b'\x93NUMPY' + bytes((version, 0)) + \
        struct.pack('<H' if version == 1 else '<I', len(text)) + text + data


def npy_header(descr, shape, fortran=False):
    return "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)


# ----------------------------------------------------------------------------------------------
# Elements.
# ----------------------------------------------------------------------------------------------
def mixed(kind, count=257):
    """Elements of all magnitudes and both signs, with the type's edges among them. An odd count
    leaves a remainder for every kind of vector."""
    size, bits, emin, emax = TYPES[kind]
    generator = random.Random(1)
    patterns = []
    for i in range(count):
        if i % 2:
            patterns.append(to_bits(kind, generator.uniform(-100, 100)))
            continue
        while True:
            pattern = generator.getrandbits(8 * size)
            if math.isfinite(to_value(kind, pattern)):
                patterns.append(pattern)
                break
    sign = 1 << 8 * size - 1
    largest = to_bits(kind, INF) - 1
    smallest_normal = 1 << bits - 1
    for i, pattern in enumerate((0, sign, 1, sign | 1, smallest_normal, smallest_normal - 1)):
        patterns[20 * i + 7] = pattern
    # Both ends of the range cancel, so that the sum is not theirs alone.
    for i in range(0, count, 2):
        if abs(to_value(kind, patterns[i])) > 1e3:
            patterns[i + 1 if i + 1 < count else 1] = patterns[i] ^ sign
    patterns[101], patterns[201] = largest, largest | sign
    return patterns


def cancelling(kind, pairs, residue, seed=2):
    """Large numbers and their negatives in random order, among which a few small ones are all that
    is left: whatever adds in the order of the file loses them."""
    generator = random.Random(seed)
    _, bits, _, emax = TYPES[kind]
    patterns = [to_bits(kind, x) for x in residue]
    sign = 1 << 8 * TYPES[kind][0] - 1
    for _ in range(pairs):
        x = to_bits(kind, generator.uniform(1, 2) * 2.0 ** generator.randrange(emax - 1))
        patterns += [x, x ^ sign]
    generator.shuffle(patterns)
    return patterns


def levels(count, seed=3):
    """Sixteenths from -8 to 8: f32 elements that zstd can make small."""
    generator = random.Random(seed)
    return [to_bits('f32', generator.randrange(-128, 129) / 16) for _ in range(count)]


def naive(kind, values):
    """Additions in the order of the file, rounded to the type each time."""
    total = 0.0
    for x in values:
        total = total + x if kind == 'f64' else to_value(kind, to_bits(kind, total + x))
    return total


# ----------------------------------------------------------------------------------------------
# The samples.
# ----------------------------------------------------------------------------------------------
def make_waves():
    """A second of an A major chord, 440, 550 and 660 Hz, at 48 kHz. The three repeat together
    every 4800 samples, in which each runs whole periods: were it not for rounding, the sum would be
    zero."""
    period = [0.5 * math.sin(2 * math.pi * (44 * i % 4800) / 4800) +
              0.3 * math.sin(2 * math.pi * (55 * i % 4800) / 4800 + 1) +
              0.2 * math.sin(2 * math.pi * (66 * i % 4800) / 4800 + 2) for i in range(4800)]
    patterns = [to_bits('f32', x) for x in period] * 10
    data = pack('f32', patterns)
    write('waves.f32.zst', zstd(data))
    expect('waves.f32.zst', '', 'f32', unpack('f32', data))
    expect('waves.f32.zst', '--length 4800', 'f32', unpack('f32', data)[:4800])


def make_raw():
    for kind in TYPES:
        for order in ('little', 'big'):
            raw('raw/mixed-%s.%s' % (order[0] + 'e', kind), kind, mixed(kind), order)
    raw('raw/empty.f32', 'f32', [])
    raw('raw/one.f32', 'f32', [to_bits('f32', 0.1)])
    raw('raw/zeros.f32', 'f32', [0, 0, 1 << 31, 0, 1 << 31, 0])
    raw('raw/negative-zeros.f64', 'f64', [1 << 63] * 3)

    # NaNs of all sorts: quiet and signalling, of either sign, with payloads.
    nans = {'f16': (0x7e00, 0xfc01, 0x7fff), 'bf16': (0x7fc0, 0xff81, 0x7fff),
            'f32': (0x7fc00000, 0xff800001, 0x7fffffff),
            'f64': (0x7ff8 << 48, 0xfff0 << 48 | 1, (1 << 63) - 1)}
    for kind, some in nans.items():
        patterns = [to_bits(kind, (i * 37 % 101 - 50) / 4) for i in range(400)]
        for i, pattern in zip((137, 250, 399), some):
            patterns[i] = pattern
        options, values = raw('raw/nan.' + kind, kind, patterns)
        expect('raw/nan.' + kind, (options + ' --nan=skip').strip(), kind, values, True)
    _, values = raw('raw/all-nan.f32', 'f32', [0x7fc00000] * 5)
    expect('raw/all-nan.f32', '--nan skip', 'f32', values, True)

    some = [to_bits('f32', x / 8) for x in range(-20, 21)]
    plus, minus = to_bits('f32', INF), to_bits('f32', -INF)
    raw('raw/inf.f32', 'f32', some + [plus] + some)
    raw('raw/minus-inf.f32', 'f32', some + [minus, minus] + some)
    raw('raw/both-inf.f32', 'f32', some + [minus] + some + [plus])
    _, values = raw('raw/nan-inf.f32', 'f32', some + [0x7fc00000, plus] + some)
    expect('raw/nan-inf.f32', '--nan=skip', 'f32', values, True)

    residue = [1.5, -0.25, 3.0, 0.0625, 1e-30]
    _, values32 = raw('raw/cancel.f32', 'f32', cancelling('f32', 300, residue))
    _, values64 = raw('raw/cancel.f64', 'f64', cancelling('f64', 300, residue + [5e-324]))
    raw('raw/cancel.f16', 'f16', cancelling('f16', 200, [0.5, 2.0 ** -24]))
    raw('raw/cancel.bf16', 'bf16', cancelling('bf16', 200, [1.5, -3.0, 2.0 ** -100]))
    # Partial sums leave the range of binary64, the sum does not.
    big = 1.7e308
    # What a variance goes wrong of: a large mean, one element, squares beyond the range or below it
    rng = random.Random(14)
    raw('raw/pressure.f32', 'f32', [to_bits('f32', 101325 + 3 * rng.uniform(-1, 1))
                                    for _ in range(500)])
    raw('raw/constant.f64', 'f64', [to_bits('f64', 0.1)] * 333)
    raw('raw/one-huge.f32', 'f32', [to_bits('f32', rng.gauss(0, 1e-20)) for _ in range(400)] +
        [to_bits('f32', 1e30)])
    raw('raw/squares-overflow.f64', 'f64',
        [to_bits('f64', rng.gauss(0, 1e300)) for _ in range(150)])
    raw('raw/squares-underflow.f64', 'f64',
        [to_bits('f64', rng.gauss(0, 1e-310)) for _ in range(150)])
    raw('raw/halves.f16', 'f16', [to_bits('f16', 1000 * rng.gauss(0, 1)) for _ in range(400)])
    raw('raw/excursion.f64', 'f64', [to_bits('f64', x) for x in
                                     (big, big, big, 2.5, -big, -big, -big, 5e-324)])
    raw('raw/overflow.f64', 'f64', [to_bits('f64', x) for x in (big, big, big, -big / 2)])
    raw('raw/underflow.f64', 'f64', [1, 1, 1, 1 << 63 | 5])
    # Halfway between two binary64: to the even one, unless the smallest of all breaks the tie.
    raw('raw/tie.f64', 'f64', [to_bits('f64', x) for x in (2.0 ** 53, 1.0)])
    raw('raw/tie-broken.f64', 'f64', [to_bits('f64', x) for x in (2.0 ** 53, 1.0, 5e-324)])
    raw('raw/tie-odd.f64', 'f64', [to_bits('f64', x) for x in (2.0 ** 53, 2.0, 1.0)])
    # Parts of a file.
    values = [to_value('f32', x) for x in mixed('f32')]
    data = pack('f32', mixed('f32'))
    for skip, length in ((4, None), (1028, None), (1024, None), (3, 10), (None, 0), (None, 100),
                         (None, 257), (None, 1000000), (512, 64)):
        options = ([] if skip is None else ['--skip %d' % skip]) + \
            ([] if length is None else ['--length=%d' % length])
        part = unpack('f32', data[skip or 0:])[:length]
        expect('raw/mixed-le.f32', ' '.join(options), 'f32', part)
    assert values == unpack('f32', data)
    return {'raw/cancel.f32': (naive('f32', values32), naive('f64', values32)),
            'raw/cancel.f64': (None, naive('f64', values64))}


def write_integers(name, kind, values, order='little', options=None):
    size, signed = INTEGERS[kind]
    write(name, b''.join(x.to_bytes(size, order, signed=signed) for x in values))
    if options is None:
        options = '-t ' + kind + (' --endian big' if order == 'big' else '')
    expected.append((name, options, reduce_integers(values)))


def spread_integers(kind, count=513):
    """Integers of all lengths, and the type's edges. An odd count leaves a remainder for every kind
    of vector."""
    size, signed = INTEGERS[kind]
    bits = 8 * size - signed
    generator = random.Random(5)
    values = [generator.getrandbits(generator.randrange(bits + 1)) for _ in range(count)]
    if signed:
        values = [-x if generator.random() < 0.5 else x for x in values]
    values[101], values[201] = 2 ** bits - 1, -2 ** bits if signed else 0
    return values


def make_integers():
    for kind, (size, _) in INTEGERS.items():
        for order in ('little', 'big') if size > 1 else ('little',):
            name = 'raw/mixed%s.%s' % ('' if size == 1 else '-' + order[0] + 'e', kind)
            write_integers(name, kind, spread_integers(kind), order)
    # Sums of more than 64 bits.
    write_integers('raw/least.i64', 'i64', [-2 ** 63] * 100)
    write_integers('raw/greatest.u64', 'u64', [2 ** 64 - 1] * 100)
    # A mean that is a tie of two binary64 numbers, and one that is not by 1.
    write_integers('raw/tie.i64', 'i64', [2 ** 53 + 1, 2 ** 53 + 1])
    write_integers('raw/tie-broken.i64', 'i64', [2 ** 53 + 1, 2 ** 53 + 2])
    write_integers('raw/empty.u8', 'u8', [])

    generator = random.Random(6)
    truths = bytes(generator.choice((0, 0, 1, 1, 2, 128, 255)) for _ in range(300))
    write('raw/truth.bool', truths)
    expected.append(('raw/truth.bool', '-t bool', reduce_integers([int(x != 0) for x in truths])))

    for kind in FLOATS8:
        every = bytes(range(256)) * 3
        numbers = bytes(x for x in every if math.isfinite(float8(kind, x)))
        for name, data in (('every', every), ('mixed', numbers[:-1])):
            values = [float8(kind, x) for x in data]
            write('raw/%s.%s' % (name, kind), data)
            expected.append(('raw/%s.%s' % (name, kind), '-t ' + kind, reduce(kind, values)))
            if name == 'every':
                expected.append(('raw/every.' + kind, '-t %s --nan=skip' % kind,
                                 reduce(kind, values, True)))

    # Names that NumPy and safetensors have for them.
    for options, name, kind in (('-t <i8', 'raw/mixed-le.i64', 'i64'),
                                ('-t >u8', 'raw/mixed-be.u64', 'u64'),
                                ('-t int16', 'raw/mixed-le.i16', 'i16'),
                                ('-t U32', 'raw/mixed-le.u32', 'u32'),
                                ('-t |i1', 'raw/mixed.i8', 'i8')):
        expected.append((name, options, reduce_integers(spread_integers(kind))))

    for descr, kind in (('|i1', 'i8'), ('<i2', 'i16'), ('>i4', 'i32'), ('<i8', 'i64'),
                        ('|u1', 'u8'), ('>u2', 'u16'), ('<u4', 'u32'), ('>u8', 'u64')):
        size, signed = INTEGERS[kind]
        order = 'big' if descr[0] == '>' else 'little'
        values = spread_integers(kind, 105 + 100)
        name = 'npy/%s%s.npy' % (descr[1:], '-big-endian' if order == 'big' else '')
        write(name, npy(npy_header(descr, '(41, 5)'),
                        b''.join(x.to_bytes(size, order, signed=signed) for x in values)))
        expected.append((name, 'none', reduce_integers(values)))
    write('npy/b1.npy', npy(npy_header('|b1', '(300,)'), bytes(int(x != 0) for x in truths)))
    expected.append(('npy/b1.npy', 'none', reduce_integers([int(x != 0) for x in truths])))
    data = bytes(range(100))
    write('npy/void1.npy', npy(npy_header('|V1', '(100,)'), data))
    expected.append(('npy/void1.npy', '-t f8e4m3',
                     reduce('f8e4m3', [float8('f8e4m3', x) for x in data])))

    values = spread_integers('i32', 2000)
    data = b''.join(x.to_bytes(4, 'little', signed=True) for x in values)
    write('zstd/frames-torn.i32.zst', b''.join(map(zstd, pieces(data, 1003))))
    expected.append(('zstd/frames-torn.i32.zst', '-t i32', reduce_integers(values)))


def make_npy():
    floats = [(i * 29 % 105 - 50) / 7 + i / 100 for i in range(105)]

    def one(name, descr, shape, count, fortran=False, version=1, align=64, extra=b''):
        kind = {'2': 'f16', '4': 'f32', '8': 'f64'}[descr[-1]]
        patterns = [to_bits(kind, x) for x in floats[:count]]
        data = pack(kind, patterns, 'big' if descr[0] == '>' else 'little')
        write(name, npy(npy_header(descr, shape, fortran), data + extra, version, align))
        expect(name, '', kind, [to_value(kind, bits) for bits in patterns])

    one('npy/v1-f4.npy', '<f4', '(3, 5, 7)', 105)
    one('npy/v2-f4.npy', '<f4', '(105,)', 105, version=2)
    one('npy/v3-f8.npy', '<f8', '(105,)', 105, version=3)
    one('npy/f8-big-endian.npy', '>f8', '(15, 7)', 105)
    one('npy/f4-big-endian.npy', '>f4', '(105,)', 105)
    one('npy/f2.npy', '<f2', '(105,)', 105)
    one('npy/f2-big-endian.npy', '>f2', '(105,)', 105)
    one('npy/f8-fortran.npy', '<f8', '(7, 15)', 105, fortran=True)
    one('npy/scalar.npy', '<f4', '()', 1)
    one('npy/empty.npy', '<f8', '(0,)', 0)
    one('npy/empty-3d.npy', '<f4', '(3, 0, 2)', 0)
    # Python 2 marked long integers, and numpy before 1.14 padded to 16.
    one('npy/python2.npy', '<f4', '(100L,)', 100, align=16)
    one('npy/unpadded.npy', '<f4', '(100,)', 100, align=0)
    one('npy/trailing.npy', '<f4', '(100,)', 100, extra=b'left over')

    # The keys in another order, other quotes and spaces: still a Python literal.
    data = pack('f32', [to_bits('f32', x) for x in floats])
    write('npy/odd-header.npy',
          npy('{ "shape" :(105 , ) ,"fortran_order":  False,\n"descr":"<f4"}', data))
    expect('npy/odd-header.npy', '', 'f32', unpack('f32', data))
    for options, part in (('--length 7', floats[:7]), ('--length 0', []), ('--length 106', floats)):
        expect('npy/v1-f4.npy', options, 'f32', [to_value('f32', to_bits('f32', x)) for x in part])


def make_zstd():
    patterns = levels(2000)
    data = pack('f32', patterns)
    values = unpack('f32', data)

    def same(name, compressed, options=''):
        write('zstd/' + name, compressed)
        expect('zstd/' + name, options, 'f32', values)

    same('one.f32.zst', zstd(data))
    same('one-no-check.f32.zst', zstd(data, '--no-check'))
    same('one-unsized.f32.zst', zstd_unsized(data))
    parts = pieces(data, 1000)
    same('frames.f32.zst', b''.join(map(zstd, parts)))
    same('frames-no-check.f32.zst', b''.join(zstd(p, '--no-check') for p in parts))
    same('frames-unsized.f32.zst', b''.join(map(zstd_unsized, parts)))
    # Frames that end in the middle of elements.
    parts = pieces(data, 1003)
    same('frames-torn.f32.zst', b''.join(map(zstd, parts)))
    same('frames-torn-unsized.f32.zst', b''.join(map(zstd_unsized, parts)))
    same('frames-torn-mixed.f32.zst',
         b''.join((zstd_unsized if i % 3 == 1 else zstd)(p) for i, p in enumerate(parts)))
    # A frame need not hold anything, and may be one to step over.
    parts = pieces(data, 3000)
    same('empty-frames.f32.zst', zstd(b'') + zstd(parts[0]) + zstd_unsized(b'') + zstd(b'') +
         zstd(parts[1]) + zstd(parts[2]) + zstd(b'', '--no-check'))
    same('skippable.f32.zst', skippable(b'before', 3) + skippable(b'') + zstd(parts[0]) +
         skippable(bytes(range(200)), 15) + zstd(parts[1]) + skippable(b'') + zstd(parts[2]) +
         skippable(b'behind'))
    same('seekable.f32.zst', seekable(pieces(data, 3000), False))
    same('seekable-checksums.f32.zst', seekable(pieces(data, 3000), True))
    name = 'zstd/frames-torn.f32.zst'
    for options, part in (('--skip 4 --length 5', data[4:24]), ('--skip 8000', b''),
                          ('--skip=2002 --length 100', data[2002:2402]),
                          ('--length 1999', data[:7996]), ('--length 0', b''),
                          ('--length 2001', data)):
        expect(name, options, 'f32', unpack('f32', part))
        expect('zstd/one-unsized.f32.zst', options, 'f32', unpack('f32', part))
        expect('zstd/frames-unsized.f32.zst', options, 'f32', unpack('f32', part))

    # No content at all.
    for name, content in (('empty', zstd(b'')), ('only-skippable', skippable(b'nothing'))):
        write('zstd/%s.zst' % name, content)
        expect('zstd/%s.zst' % name, '', 'f32', [])

    # Other elements.
    big = mixed('f64')
    write('zstd/mixed-be.f64.zst', zstd(pack('f64', big, 'big')))
    expect('zstd/mixed-be.f64.zst', '-t >f8', 'f64', [to_value('f64', x) for x in big])
    nans = list(patterns)
    for i in (1222, 1111, 1990):
        nans[i] = 0x7fc00000
    nan_parts = pieces(pack('f32', nans), 1000)
    for name, compress in (('nan-frames', zstd), ('nan-frames-unsized', zstd_unsized)):
        write('zstd/%s.f32.zst' % name, b''.join(map(compress, nan_parts)))
        nan_values = [to_value('f32', x) for x in nans]
        expect('zstd/%s.f32.zst' % name, '', 'f32', nan_values)
        expect('zstd/%s.f32.zst' % name, '--nan=skip', 'f32', nan_values, True)

    # .npy inside; frames of 50 bytes tear the header.
    array = npy(npy_header('<f4', '(30, 20)'), data[:2400])
    for name, compressed in (('array', zstd(array)), ('array-unsized', zstd_unsized(array)),
                             ('array-frames', b''.join(map(zstd, pieces(array, 500)))),
                             ('array-torn', b''.join(map(zstd, pieces(array, 50)))),
                             ('array-torn-unsized',
                              b''.join(map(zstd_unsized, pieces(array, 331))))):
        write('zstd/%s.npy.zst' % name, compressed)
        expect('zstd/%s.npy.zst' % name, '', 'f32', values[:600])
    write('zstd/array-trailing.npy.zst',
          b''.join(map(zstd_unsized, pieces(array + b'left over', 800))))
    expect('zstd/array-trailing.npy.zst', '', 'f32', values[:600])

    # Megabytes in a few hundred bytes: more than one chunk, many blocks. Adding 0.1 a million times
    # in f32 goes wrong in the second digit.
    tenths = [to_bits('f32', 0.1)] * (1 << 20)
    tenth_data = pack('f32', tenths)
    tenth_values = [to_value('f32', tenths[0])] * len(tenths)
    for name, compressed in (
            ('tenths', zstd(tenth_data)), ('tenths-unsized', zstd_unsized(tenth_data)),
            ('tenths-frames', b''.join(map(zstd, pieces(tenth_data, 300000))))):
        write('zstd/%s.f32.zst' % name, compressed)
        expect('zstd/%s.f32.zst' % name, '', 'f32', tenth_values)
    stairs = b''.join(pack('f32', [to_bits('f32', 1.1 * k)]) * 150000 for k in range(-4, 6))
    write('zstd/pzstd.f32.zst', pzstd(stairs, '-1', '-p', '2'))
    expect('zstd/pzstd.f32.zst', '', 'f32', unpack('f32', stairs))
    expect('zstd/pzstd.f32.zst', '--skip 2999999 --length 700000', 'f32',
           unpack('f32', stairs[2999999:])[:700000])

    # Other encoders.
    for name in ('klauspost-fastest', 'klauspost-best', 'klauspost-flushed', 'zstd-1.3.4', 'zstd-1.5.7'):
        keep('zstd/%s.f32.zst' % name)
        expect('zstd/%s.f32.zst' % name, '', 'f32', values)
    keep('zstd/klauspost-stairs.f32.zst')
    expect('zstd/klauspost-stairs.f32.zst', '', 'f32', unpack('f32', stairs))
    return {'zstd/tenths.f32.zst': (naive('f32', tenth_values), naive('f64', tenth_values))}


def write_expected():
    with open(os.path.join(HERE, 'expected.tsv'), 'w') as f:
        f.write('# file\toptions\top\tvalue\n')
        for name, options, results in expected:
            for op in OPS:
                f.write('%s\t%s\t%s\t%s\n' % (name, options, op, results[op]))
    with open(os.path.join(HERE, 'spread.tsv'), 'w') as f:
        f.write('# file\toptions\top\tvalue\n')
        for name, options, results in spreads + [e for e in expected if 'sumsq' in e[2]]:
            for op in SPREAD_OPS:
                f.write('%s\t%s\t%s\t%s\n' % (name, options, op, results[op]))


def update_readme(wrong):
    """Rewrites what stands between the marks."""
    path = os.path.join(HERE, 'README.md')
    with open(path) as f:
        before, _, rest = f.read().partition('<!-- results -->\n')
    _, _, after = rest.partition('<!-- end of results -->\n')
    lines = ['| file | options | sum | min | max | mean | count |', '|---|---|---|---|---|---|---|']
    for name, options, r in expected:
        lines.append('| %s | %s | %s |' % (
            name, '' if options == 'none' else '`%s`' % options,
            ' | '.join(r[op] for op in ('sum', 'min', 'max', 'mean', 'count'))))
    lines += ['', '| file | sum | added in f32, in order | added in f64, in order |',
              '|---|---|---|---|']
    for name, (in_f32, in_f64) in wrong.items():
        exact = next(r['sum'] for n, o, r in expected if n == name and o in ('none', '-t f64'))
        lines.append('| %s | %s | %s | %s |' % (
            name, exact, '' if in_f32 is None else show('f32', in_f32), show('f64', in_f64)))
    with open(path, 'w') as f:
        f.write(before + '<!-- results -->\n' + '\n'.join(lines) + '\n<!-- end of results -->\n' +
                after)


def main():
    make_waves()
    wrong = make_raw()
    make_npy()
    wrong.update(make_zstd())
    make_integers()
    write_expected()
    update_readme(wrong)


if __name__ == '__main__':
    main()
