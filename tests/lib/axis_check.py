#!/usr/bin/env python3
"""Reductions along an axis, compared with exact arithmetic in fractions.

usage: axis_check.py PROGRAM SEED COUNT [OPTION...]

Makes COUNT arrays of all types, in either byte order and either order of elements, with any shape,
and has PROGRAM reduce each along an axis: from a file, a pipe, or raw numbers, and into lines or a
.npy, which is read here. Half of them have missing values, and, where there is h5py, some are in HDF5
files, with scales. Options go to PROGRAM. Nothing else but Python itself is needed.
Prints what differs; the exit status is 1 then.
"""

import math
import os
import random
import struct
import subprocess
import sys
from fractions import Fraction

try:
    import h5py
except ImportError:
    h5py = None

NAN = float('nan')

# name: NumPy's letter and size, struct's letter.
TYPES = {
    'f2': 'e', 'f4': 'f', 'f8': 'd', 'i1': 'b', 'i2': 'h', 'i4': 'i', 'i8': 'q',
    'u1': 'B', 'u2': 'H', 'u4': 'I', 'u8': 'Q', 'b1': '?',
}
RAW = {'f2': 'f16', 'f4': 'f32', 'f8': 'f64', 'b1': 'bool'}
OPERATIONS = ('sum', 'mean', 'min', 'max', 'argmin', 'argmax', 'count', 'nan', 'inf', 'missing', 'zeros',
              'negatives', 'absmin', 'absmax', 'sumsq', 'l1', 'l2', 'rms', 'var', 'std')

# Of integers, these are integers.
INTEGERS = ('sum', 'min', 'max', 'absmin', 'absmax')


def to_float(fraction):
    try:
        return float(fraction)
    except OverflowError:
        return math.inf if fraction > 0 else -math.inf


def root(fraction):
    """The square root, rounded once: more of its bits are worked out than matter, and whether any are left."""
    if fraction == 0:
        return 0.0
    shift = max(0, 140 - fraction.numerator.bit_length() + fraction.denominator.bit_length()) // 2
    whole, rest = divmod(fraction.numerator << 2 * shift, fraction.denominator)
    digits = math.isqrt(whole)
    return to_float(Fraction(2 * digits + (rest > 0 or digits * digits < whole), 2 << shift))


def is_infinite(v):
    return isinstance(v, float) and math.isinf(v)


def special(values, kind):
    """What sums come to where not all values are finite; None if they are."""
    if any(v != v for v in values):
        return NAN
    signs = {v > 0 for v in values if is_infinite(v)}
    if not signs:
        return None
    if kind == 'var' or (kind == 'sum' and len(signs) == 2):
        return NAN
    return math.inf if kind != 'sum' or True in signs else -math.inf


def key(v):
    return (v, math.copysign(1, v) if v == 0 and isinstance(v, float) else 0)


def is_missing(v, missing):
    return any(v == m or (v != v and m != m) for m in missing)


def expected(operation, whole, skip, missing, scale):
    """The value of an operation on a list of numbers; None for an index that there is none of, and 'none' for
    a result that no number is left for."""
    row = [v for v in whole if not is_missing(v, missing)]
    if operation == 'missing':
        return len(whole) - len(row)
    if operation in ('argmin', 'argmax'):  # which go by what is stored
        reverse = scale and scale[0] < 0
        at = expected_left({'argmin': 'argmax', 'argmax': 'argmin'}[operation] if reverse else operation, row, skip)
        return None if at is None else [i for i, v in enumerate(whole) if not is_missing(v, missing)][at]
    if whole and not row and operation not in ('count', 'nan', 'inf', 'zeros', 'negatives'):
        return 'none'
    if scale:
        row = [scaled(v, *scale) for v in row]
    value = expected_left(operation, row, skip)
    return to_float(value) if isinstance(value, Fraction) else value


def scaled(v, factor, offset):
    if v != v or is_infinite(v):
        return v * factor
    if isinstance(v, int) and keeps_integers(factor, offset):
        return v + int(offset)
    return Fraction(factor) * Fraction(v) + Fraction(offset)


def keeps_integers(factor, offset):
    return factor == 1 and offset == math.floor(offset) and abs(offset) <= 2**64


def expected_left(operation, row, skip):
    """The value of an operation on the numbers that are not missing."""
    numbers = [v for v in row if v == v]
    nans = len(row) - len(numbers)
    taken = numbers if skip else row
    integers = all(isinstance(v, int) for v in row)
    if operation == 'count':
        return len(taken)
    if operation == 'nan':
        return nans
    if operation == 'inf':
        return sum(is_infinite(v) for v in numbers)
    if operation == 'zeros':
        return sum(v == 0 for v in numbers)
    if operation == 'negatives':
        return sum(v < 0 for v in numbers)
    if operation in ('argmin', 'argmax'):
        if nans and not skip:
            return next(i for i, v in enumerate(row) if v != v)
        if not numbers:
            return None
        best = (min if operation == 'argmin' else max)(key(v) for v in numbers)
        return next(i for i, v in enumerate(row) if v == v and key(v) == best)
    if operation in ('min', 'max'):
        if not taken or (nans and not skip):
            return NAN
        return (min if operation == 'min' else max)(taken, key=key)
    if operation in ('absmin', 'absmax'):
        if not taken or (nans and not skip):
            return NAN
        return (min if operation == 'absmin' else max)(abs(v) for v in taken)
    kind = 'var' if operation in ('var', 'std') else 'sum' if operation in ('sum', 'mean') else 'size'
    other = special(taken, kind)
    if other is not None:
        return other
    exact = [Fraction(v) for v in taken]
    if operation == 'sum':
        return sum(taken) if integers else to_float(sum(exact))
    if operation == 'sumsq':
        return to_float(sum(x * x for x in exact))
    if operation == 'l2':
        return root(sum((x * x for x in exact), Fraction(0)))
    if operation == 'l1':
        return to_float(sum(abs(x) for x in exact))
    if not exact:
        return NAN
    if operation == 'mean':
        return to_float(sum(exact) / len(exact))
    squares = sum(x * x for x in exact) / len(exact)
    if operation == 'rms':
        return root(squares)
    variance = squares - (sum(exact) / len(exact)) ** 2
    return root(variance) if operation == 'std' else to_float(variance)


def same(got, wanted):
    if isinstance(wanted, int) and not isinstance(got, float):
        return got == wanted
    if math.isnan(wanted) or math.isnan(got):
        return math.isnan(wanted) and math.isnan(got)
    return got == wanted and math.copysign(1, got) == math.copysign(1, wanted)


def draw_values(rng, name, n):
    if name[0] != 'f':
        bits = 1 if name == 'b1' else 8 * int(name[1])
        low, high = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if name[0] == 'i' else (0, 2 ** bits - 1)
        narrow = rng.random() < .5
        return [bool(rng.getrandbits(1)) if name == 'b1' else
                rng.randint(max(low, -9), min(high, 9)) if narrow else rng.randint(low, high)
                for _ in range(n)]
    letter = TYPES[name]
    spread = rng.choice((0, 4, {'f2': 12, 'f4': 120, 'f8': 900}[name]))
    values = [rng.gauss(0, 1) * 2.0 ** rng.randint(-spread, spread) for _ in range(n)]
    if name == 'f2':
        values = [max(-65504, min(65504, v)) for v in values]
    values = list(struct.unpack('<%d%s' % (n, letter), struct.pack('<%d%s' % (n, letter), *values)))
    odd = rng.choice(((), (0.0, -0.0), (NAN,), (NAN, math.inf, -math.inf, -0.0)))
    for _ in range(rng.randint(0, 5) if odd and n else 0):
        values[rng.randrange(n)] = rng.choice(odd)
    return values


def draw_missing(rng, name, values):
    """Some missing values, which some of the values become."""
    missing = rng.choices(values, k=rng.randint(1, 3)) + draw_values(rng, name, 1)
    if rng.random() < .2 and name != 'b1':
        missing.append(NAN if name[0] == 'f' else 2 ** (8 * int(name[1]) - (name[0] == 'i')) - 1)
    rng.shuffle(missing)
    missing = missing[:4]
    chance = rng.choice((0, .01, .5, .5, 1))
    for i in range(len(values)):
        if rng.random() < chance:
            values[i] = rng.choice(missing)
    return missing


def write_hdf5(path, rng, values, name, order, sizes, missing, scale):
    with h5py.File(path, 'w') as f:
        dataset = f.create_dataset('a', sizes, order.replace('|', '<') + name)
        flat = bytearray(struct.pack('%s%d%s' % (order.replace('|', '<'), len(values), TYPES[name]), *values))
        h5 = __import__('numpy').frombuffer(flat, dataset.dtype).reshape(sizes)
        dataset[...] = h5
        if missing and rng.random() < .5:
            dataset.attrs.create('_FillValue', missing[0], dtype=name)
        if missing:
            dataset.attrs.create('missing_value', missing, dtype=name)
        for attribute, number, none in (('scale_factor', scale[0], 1), ('add_offset', scale[1], 0)) if scale else ():
            if number != none:
                dataset.attrs.create(attribute, number, dtype='f8')


def draw_scale(rng):
    factor = rng.choice((1, 1, -1, 2, .01, -.1, 1 / 3, 2.0 ** 70, -2.0 ** -90 / 3, rng.gauss(0, 1)))
    offset = rng.choice((0, 0, 5, -100, 273.15, .5, rng.gauss(0, 1e4), 1e-30, -1e25, 1e300))
    return (float(factor), float(offset)) if factor != 1 or offset != 0 else None


def draw_shape(rng):
    if rng.random() < .05:  # more than are taken at a time
        return rng.choice(([3, 9000], [9000, 3], [20, 1500], [1500, 20], [70000], [1, 70000], [5, 20, 300]))
    if rng.random() < .1:
        sizes = [rng.randint(0, 3) for _ in range(rng.randint(1, 4))]
    elif rng.random() < .5:
        sizes = [rng.choice((1, 2, 3, 5, 8, 16, 17, 40)) for _ in range(rng.randint(1, 4))]
    else:
        sizes = rng.choice(([rng.randint(1, 6), rng.randint(200, 600)],
                            [rng.randint(200, 600), rng.randint(1, 6)],
                            [rng.randint(1, 2), rng.choice((15, 31, 255, 256, 257, 1023, 1024, 1025))],
                            [rng.choice((255, 256, 257, 1023, 1024, 1025)), rng.randint(1, 2)]))
    while math.prod(sizes) > 2500:
        sizes.pop()
    return sizes


def npy(values, letter, dtype, sizes, fortran):
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (
        dtype, fortran, ''.join('%d,' % s for s in sizes))
    header = header.encode() + b' ' * (63 - (len(header) + 10) % 64) + b'\n'
    data = struct.pack(('>' if dtype[0] == '>' else '<') + '%d%s' % (len(values), letter), *values)
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header + data, data


def read_npy(path):
    """The records of a .npy: a dictionary of lists by name, or by None of one operation; its shape."""
    with open(path, 'rb') as f:
        data = f.read()
    length, = struct.unpack_from('<H', data, 8)
    header = eval(data[10:10 + length])  # pylint: disable=eval-used
    assert data[:8] == b'\x93NUMPY\x01\x00' and (10 + length) % 64 == 0 and data[9 + length] == 10
    fields = header['descr']
    if isinstance(fields, str):
        fields = [(None, fields)]
    record = ''.join('<' if i == 0 else '' for i in range(1))
    record += ''.join(TYPES[t[1:]] for _, t in fields)
    values = list(struct.iter_unpack(record, data[10 + length:]))
    return {name: [v[i] for v in values] for i, (name, _) in enumerate(fields)}, header


def number(text):
    if text in ('nan', 'inf', '-inf'):
        return float(text)
    return float.fromhex(text) if 'x' in text else int(text)


class Failure(Exception):
    pass


def check(program, options, rng, where):
    name = rng.choice(sorted(TYPES) + ['f4', 'f8', 'f2'])
    sizes, fortran = draw_shape(rng), rng.random() < .3
    axis = rng.randrange(len(sizes))
    values = draw_values(rng, name, math.prod(sizes))
    order = rng.choice('<>') if name[1] != '1' else '|'
    path, out = os.path.join(where, 'a.npy'), os.path.join(where, 'o.npy')
    operations = rng.choice((('sum',), ('sum', 'min', 'max', 'mean'), ('argmin', 'argmax', 'count'),
                             ('min', 'max'), tuple(rng.sample(OPERATIONS, 4))))
    policy = rng.choices(('propagate', 'skip', 'error'), (6, 3, 1))[0]
    missing = draw_missing(rng, name, values) if values and rng.random() < .5 else []
    hdf5 = h5py and values and not fortran and name != 'b1' and rng.random() < .3
    scale = draw_scale(rng) if hdf5 else None
    whole, data = npy(values, TYPES[name], order + name, sizes, fortran)
    command = [program, *options, '-q', '-o', ','.join(operations), '-j%d' % rng.randint(1, 3),
               '--axis=%d' % (axis - rng.choice((0, len(sizes)))),
               '--chunk-size=%d' % rng.choice((1, 100, 1000, 10000))]
    command += ['--nan=' + policy]
    if not hdf5:
        command += ['--missing=' + repr(v + 0 if name == 'b1' else v) for v in missing]
    way = rng.choice(('file', 'pipe', 'raw'))
    if hdf5:
        way = 'hdf5'
    if way == 'raw' and not fortran:
        command += ['-t', RAW.get(name, name[0] + str(8 * int(name[1]))), '--format=raw',
                    '--shape=' + ','.join(str(s) for s in sizes)]
        command += ['--endian=big'] if order == '>' else []
        whole = data
    # An integer type has no word for nothing, and no room for more.
    binary = rng.random() < .5 and sizes[axis] > 0 and name not in ('i8', 'u8')
    binary = binary and (name[0] != 'i' or not missing or missing[0] >= 0 or
                         not {'absmin', 'absmax'} & set(operations))
    binary = binary and (not scale or abs(scale[1]) < 1e9 or not keeps_integers(*scale))
    command += ['--output=' + out] if binary else ['--number=hex']
    if hdf5:
        path = os.path.join(where, 'a.h5')
        write_hdf5(path, rng, values, name, order, sizes, missing, scale)
    else:
        with open(path, 'wb') as f:
            f.write(whole)
    command += [] if way == 'pipe' else [path]
    run = subprocess.run(command, input=whole if way == 'pipe' else None, capture_output=True,
                         check=False)
    rest = sizes[:axis] + sizes[axis + 1:]
    strides = [1] * len(sizes)
    for i in range(1, len(sizes)):
        if fortran:
            strides[i] = strides[i - 1] * sizes[i - 1]
        else:
            strides[-1 - i] = strides[-i] * sizes[-i]
    others = [s for i, s in enumerate(strides) if i != axis]
    rows, first_nan = [], None
    for k in range(math.prod(rest)):
        left, begin, place = k, 0, [0] * len(rest)
        for i in range(len(rest)) if fortran else reversed(range(len(rest))):
            place[i] = left % rest[i]
            begin += place[i] * others[i]
            left //= rest[i]
        rows.append([values[begin + j * strides[axis]] for j in range(sizes[axis])])
        nans = [j for j, v in enumerate(rows[-1]) if v != v and not is_missing(v, missing)]
        if nans and first_nan is None:
            first_nan = place[:axis] + [nans[0]] + place[axis:]
    if policy == 'error' and first_nan is not None:
        if 'element %s is a NaN' % ','.join(map(str, first_nan)) not in run.stderr.decode():
            raise Failure('%s\n%s, not of %s' % (' '.join(command), run.stderr.decode(), first_nan))
        return
    if run.returncode:
        raise Failure('%s\n%s' % (' '.join(command), run.stderr.decode()))
    if binary:
        found, header = read_npy(out)
        if header['shape'] != tuple(rest) or header['fortran_order'] != fortran:
            raise Failure('%s: shape %s' % (' '.join(command), header))
        found = [found.get(o, found.get(None)) for o in operations]
    else:
        lines = [[number(w) for w in line.split('\t')] for line in run.stdout.decode().splitlines()]
        found = [[line[i] for line in lines] for i in range(len(operations))]
    if any(len(f) != math.prod(rest) for f in found):
        raise Failure('%s: %d results' % (' '.join(command), len(found[0])))
    for k, row in enumerate(rows):
        for i, operation in enumerate(operations):
            wanted = expected(operation, row, policy == 'skip', missing, scale)
            if wanted is None:
                wanted = -1 if binary else NAN
            elif wanted == 'none':
                integer = name[0] != 'f' and operation in INTEGERS and (not scale or keeps_integers(*scale))
                wanted = missing[0] if binary and integer else NAN
            if not same(found[i][k], wanted):
                raise Failure('%s %s %s, slice %d: %s is %r, not %r' % (
                    ' '.join(command), order + name, sizes, k, operation, found[i][k], wanted))


def main():
    global h5py
    program, seed, count, options = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    failures = 0
    if b'HDF5: none' in subprocess.run([program, '--version'], capture_output=True, check=True).stdout:
        h5py = None
    for i in range(count):
        try:
            check(program, options, random.Random(seed * 1000003 + i), '.')
        except Failure as failure:
            failures += 1
            print('seed %d, array %d: %s' % (seed, i, failure))
    sys.exit(failures > 0)


if __name__ == '__main__':
    main()
