#!/usr/bin/env python3
"""Accumulators and reductions along an axis by the shared library, compared with exact fractions and with
the lines of the program; comparisons of arrays and shards of files with those of the program; and facts about
files that are made here.

usage: library_check.py PROGRAM LIBRARY SEED COUNT

Makes COUNT arrays of all types with missing values, masks, scales, strides and either byte order.
Each is cut into pieces that accumulators take in any order and merge over some stages; and it is reduced
along an axis. Nothing but Python itself is needed. Prints what differs; the exit status is 1 then.
"""

import ctypes
import gzip
import io
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p

import axis_check
from axis_check import TYPES, same

NAN = float('nan')
MASKED = 'masked'
POLICIES = ('propagate', 'skip', 'error')
ERROR_ARGUMENT, ERROR_DATA, ERROR_UNSUPPORTED, ERROR_NAN = 2, 4, 6, 7
OURS = {'f2': 'f16', 'f4': 'f32', 'f8': 'f64', 'b1': 'bool'}


def name_of(name):
    return OURS.get(name, name[0] + str(8 * int(name[1])))


class Failure(Exception):
    pass


class Library:
    """The functions of the library that tests call; those that return a status raise Failure."""

    def __init__(self, path):
        self.dll = ctypes.CDLL(path)
        for function in ('gpr_error_array', 'gpr_error_text', 'gpr_axis_dtype'):
            getattr(self.dll, function).restype = c_char_p
        for function in ('gpr_accumulator_write', 'gpr_result_text', 'gpr_result_integer'):
            getattr(self.dll, function).restype = c_size_t
        self.context = c_void_p()
        self('gpr_context_new', byref(self.context))

    def status(self, function, *arguments):
        return getattr(self.dll, function)(*arguments)

    def __call__(self, function, *arguments):
        status = self.status(function, *arguments)
        if status != 0:
            text = self.text() if function != 'gpr_context_new' else ''
            raise Failure('%s: status %d, %s' % (function, status, text))

    def make(self, function, *arguments):
        made = c_void_p()
        self(function, *arguments, byref(made))
        return made

    def text(self):
        return self.dll.gpr_error_text(self.context).decode()

    def request(self, operations, policy='propagate', missing=(), ddof=0):
        request = self.make('gpr_request_new', self.context)
        for operation in operations:
            self('gpr_request_op', request, operation.encode())
        for value in missing:
            self('gpr_request_missing', request, repr(value + 0).encode())
        self('gpr_request_set', request, 1, c_uint64(POLICIES.index(policy)))
        self('gpr_request_set', request, 2, c_uint64(ddof))
        return request

    def value(self, result, operation):
        """A value of a result, an integer where it is one."""
        buffer = ctypes.create_string_buffer(200)
        number = c_double()
        if self.dll.gpr_result_integer(result, operation.encode(), buffer, c_size_t(200)) > 0:
            return int(buffer.value)
        self('gpr_result_double', result, operation.encode(), byref(number))
        return None if operation[:3] == 'arg' and number.value == -1 else number.value

    def write(self, accumulator):
        buffer = ctypes.create_string_buffer(4096)
        length = self.dll.gpr_accumulator_write(accumulator, buffer, c_size_t(4096))
        if length != len(buffer.value) or length == 0:
            raise Failure('a line of %d bytes: %s' % (length, self.text()))
        return buffer.value

    def read(self, line, request):
        return self.make('gpr_accumulator_read', self.context, line, c_size_t(len(line)), request)


class View:
    """Elements in memory that the caller lays out at random, and the view of them."""

    def __init__(self, library, rng, name, values, sizes, scale, may_mask=True):
        size, n = int(name[1]), len(values)
        masked = any(v is MASKED for v in values)
        filler = next((v for v in values if v is not MASKED), 0)
        order = rng.choice('<>')
        packed = struct.pack('%s%d%s' % (order, n, TYPES[name]), *(filler if v is MASKED else v for v in values))
        # Dimensions lie in memory in any order, with gaps, and some backwards.
        places = list(range(len(sizes)))
        if rng.random() < .5:
            rng.shuffle(places)
        step, strides, least = size * rng.choice((1, 1, 2)), [0] * len(sizes), 0
        for i in reversed(places):
            strides[i] = step if rng.random() < .8 else -step
            least += min(0, strides[i] * (sizes[i] - 1)) if n else 0
            step *= sizes[i] + rng.choice((0, 0, 1))
        self.memory = ctypes.create_string_buffer(step + 64)
        offset = rng.randrange(8) - least
        for i in range(n):
            at, rest = offset, i
            for stride, extent in zip(reversed(strides), reversed(sizes)):
                at += rest % extent * stride
                rest //= extent
            self.memory[at:at + size] = packed[i * size:(i + 1) * size]
        self.library = library
        self.view = library.make('gpr_view_new', library.context)
        library('gpr_view_set_data', self.view, c_void_p(ctypes.addressof(self.memory) + offset),
                name_of(name).encode(), 1 if order == '<' else 2, c_uint(len(sizes)),
                (c_uint64 * len(sizes))(*sizes), (c_int64 * len(sizes))(*strides))
        if masked or (may_mask and rng.random() < .1):
            self.set_mask(rng, values)
        if scale:
            library('gpr_view_set_scale', self.view, c_double(scale[0]), c_double(scale[1]))

    def set_mask(self, rng, values):
        form, offset = rng.randint(1, 3), rng.choice((0, 0, 1, 3, 17))
        entries = bytearray(rng.randrange(256) for _ in range(offset + len(values)))
        for i, v in enumerate(values, offset):
            valid = v is not MASKED
            if form == 3:
                entries[i // 8] = entries[i // 8] & ~(1 << i % 8) | valid << i % 8
            else:
                entries[i] = rng.randint(1, 255) if valid == (form == 2) else 0
        self.mask = ctypes.create_string_buffer(bytes(entries), len(entries))
        self.library('gpr_view_set_mask', self.view, form, self.mask, c_uint64(offset))

    def free(self):
        self.library.status('gpr_view_free', self.view)


def draw(rng, n_most=2500):
    """A type, values of it, some of which are masked, missing values and a scale."""
    name = rng.choice(sorted(TYPES) + ['f4', 'f8'])
    sizes = axis_check.draw_shape(rng)
    n = math.prod(sizes)
    while n > n_most:
        sizes = axis_check.draw_shape(rng)
        n = math.prod(sizes)
    if rng.random() < .01:  # several tiles of columns and rows
        sizes = rng.choice(([700, 260], [140000, 1], [2, 70000], [3, 40000]))
        n = math.prod(sizes)
    values = axis_check.draw_values(rng, name, n)
    missing = axis_check.draw_missing(rng, name, values) if values and rng.random() < .4 else []
    scale = axis_check.draw_scale(rng) if rng.random() < .3 else None
    return name, sizes, values, missing, scale


def mask(rng, values):
    chance = rng.choice((.01, .3, .3, 1)) if rng.random() < .5 else 0
    return [MASKED if rng.random() < chance else v for v in values]


def wanted_value(operation, values, skip, missing, scale):
    """The value of an operation on all elements of a slice; a NaN where no element is left."""
    wanted = axis_check.expected(operation, values, skip, missing + [MASKED], scale)
    return NAN if wanted == 'none' else wanted


def compare(library, result, operations, values, policy, missing, scale):
    for operation in operations:
        wanted = axis_check.expected(operation, values, policy == 'skip', missing + [MASKED], scale)
        if wanted == 'none':  # as of an array of no elements
            wanted = axis_check.expected(operation, [], policy == 'skip', [], scale)
        got = library.value(result, operation)
        if (got is None) != (wanted is None) or (got is not None and not same(got, wanted)):
            raise Failure('%s is %r, not %r' % (operation, got, wanted))


def cut(rng, n, most):
    cuts = sorted(rng.randint(0, n) for _ in range(rng.randint(0, most - 1)))
    return list(zip([0] + cuts, cuts + [n]))


def accumulate(library, rng, name, pieces, values, request, placed, scale):
    """Has accumulators take pieces in any order, merges them in any order, and returns the last."""
    made = [library.make('gpr_accumulator_new', library.context, name_of(name).encode(), request)
            for _ in range(rng.randint(1, 4))]
    rng.shuffle(pieces)
    for begin, end in pieces:
        view = View(library, rng, name, values[begin:end], [end - begin], scale)
        if placed:
            library('gpr_accumulator_add_at', rng.choice(made), view.view, c_uint64(begin))
        else:
            library('gpr_accumulator_add', rng.choice(made), view.view)
        view.free()
    while len(made) > 1:
        rng.shuffle(made)
        other = made.pop()
        library('gpr_accumulator_merge', made[0], other)
        library.status('gpr_accumulator_free', other)
        if rng.random() < .5:
            line = library.write(made[0])
            sent = library.read(line, request)
            if library.write(sent) != line:
                raise Failure('a line that was read is written otherwise: %s' % line.decode())
            library.status('gpr_accumulator_free', made[0])
            made[0] = sent
    return made[0]


def program_line(program, where, name, values, operations, missing):
    """The line of the program for an array."""
    path = os.path.join(where, 'x.raw')
    with open(path, 'wb') as f:
        f.write(struct.pack('<%d%s' % (len(values), TYPES[name]), *values))
    command = [program, '--partial', '--label=an array', '--format=raw', '-t', name_of(name), '-o',
               ','.join(operations), *('--missing=%r' % (v + 0) for v in missing), path]
    return subprocess.run(command, capture_output=True, check=True).stdout.rstrip(b'\n')


def check_accumulator(library, program, rng, where):
    name, _, values, missing, scale = draw(rng)
    placed = rng.random() < .5
    operations = [o for o in rng.sample(axis_check.OPERATIONS, rng.choice((1, 4, 20)))
                  if placed or o not in ('argmin', 'argmax')] or ['sum']
    policy = rng.choice(('propagate', 'propagate', 'skip'))
    request = library.request(operations, policy, missing)
    whole = mask(rng, values)
    made = accumulate(library, rng, name, cut(rng, len(values), 16), whole, request, placed, scale)
    result = library.make('gpr_accumulator_snapshot', made)
    try:
        compare(library, result, operations, whole, policy, missing, scale)
        if placed and not scale and whole == values and values:
            library('gpr_accumulator_set_array', made, b'an array', None, c_uint64(0))
            line, wanted = library.write(made), program_line(program, where, name, values, operations, missing)
            if line != wanted:
                raise Failure('the line is %s, but the program prints %s' % (line.decode(), wanted.decode()))
    except Failure as failure:
        raise Failure('an accumulator of %d %s, %s: %s' % (
            len(values), name, 'placed' if placed else 'a bag', failure)) from None
    library.status('gpr_result_free', result)
    library.status('gpr_accumulator_free', made)
    library.status('gpr_request_free', request)


def fortran_order(values, sizes):
    """Values in C order, in Fortran order."""
    strides = [math.prod(sizes[i + 1:]) for i in range(len(sizes))]
    places = [0]
    for extent, stride in zip(sizes, strides):
        places = [at + i * stride for i in range(extent) for at in places]
    return [values[at] for at in places]


def open_file(library, rng, where, name, values, sizes):
    """Opens a .npy, of either order of bytes and of elements."""
    path = os.path.join(where, 'x.npy')
    fortran, order = rng.random() < .5, '|' if name[1] == '1' else rng.choice('<>')
    whole, _ = axis_check.npy(fortran_order(values, sizes) if fortran else values, TYPES[name], order + name,
                              sizes, fortran)
    with open(path, 'wb') as f:
        f.write(whole)
    return library.make('gpr_open_path', library.context, path.encode(), None)


def check_axis(library, rng, where):
    name, sizes, values, missing, scale = draw(rng)
    whole = mask(rng, values)
    axis = rng.randrange(len(sizes))
    operations = rng.choice((['sum'], ['sum', 'min', 'max', 'mean'], ['argmin', 'argmax', 'count'],
                             rng.sample(axis_check.OPERATIONS, 4)))
    policy = rng.choices(POLICIES, (6, 3, 1))[0]
    request = library.request(operations, policy, missing)
    if whole == values and not scale and rng.random() < .5:
        view = None
        source = open_file(library, rng, where, name, values, sizes)
    else:
        view = View(library, rng, name, whole, sizes, scale)
        source = library.make('gpr_open_view', library.context, view.view)
    count = math.prod(sizes[:axis] + sizes[axis + 1:])
    types = [library.dll.gpr_axis_dtype(source, c_size_t(0), request, o.encode()) for o in operations]
    if None in types:
        raise Failure('gpr_axis_dtype: ' + library.text())
    arrays = [({b'f64': c_double, b'i64': c_int64, b'u64': c_uint64}[t] * max(count, 1))() for t in types]
    inner = math.prod(sizes[axis + 1:])
    slices = [[whole[(k // inner * sizes[axis] + i) * inner + k % inner] for i in range(sizes[axis])]
              for k in range(count)]
    status = library.status('gpr_reduce_axis', source, c_size_t(0), request, c_uint(axis),
                            (c_void_p * len(arrays))(*(ctypes.cast(a, c_void_p) for a in arrays)), c_uint64(count))
    text = library.text()
    for handle, function in ((source, 'gpr_close'), (request, 'gpr_request_free')):
        library.status(function, handle)
    if view:
        view.free()
    where = '%s of %s%s along %d of %s, %s, missing %s, scale %s' % (
        operations, name, ' of a file' if not view else ' with a mask' if whole != values else '', axis, sizes, policy, missing, scale)
    left = [[v for v in s if v is not MASKED and not axis_check.is_missing(v, missing)] for s in slices]
    if policy == 'error' and any(v != v for s in left for v in s):
        if status != ERROR_NAN:
            raise Failure('%s: a NaN is no error: %d %s' % (where, status, text))
        return
    beyond = False
    for operation, kind, array in zip(operations, types, arrays):
        for k in range(count):
            wanted = wanted_value(operation, slices[k], policy == 'skip', missing, scale)
            if kind != b'f64':
                least, most = (-2 ** 63, 2 ** 63 - 1) if kind == b'i64' else (0, 2 ** 64 - 1)
                if wanted is None:
                    wanted = -1
                elif wanted != wanted:  # an integer stands for it, if there is a missing value
                    beyond = beyond or not missing or not least <= missing[0] <= most
                    wanted = missing[0] if missing else 0
                beyond = beyond or not least <= wanted <= most
            if status == 0 and not beyond and not same(array[k], wanted):
                raise Failure('%s: %s of slice %d is %r, not %r' % (where, operation, k, array[k], wanted))
    if (status != 0) != beyond:
        raise Failure('%s: status %d, %s, but %s' % (where, status, text, 'it is beyond' if beyond else 'it fits'))


ROW = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p)


def check_same(rows, values, missing):
    """Takes the row of arrays that do not differ away, once it has the results of elements beside themselves."""
    if rows[0]['differs'] != 'same':
        return
    row = rows.pop()
    left = [v for v in values if v not in missing and not (v != v and any(m != m for m in missing))]
    numbers = [v for v in left if v == v]
    wanted = {'different': 0, 'nan': 0, 'nan_both': len(left) - len(numbers)}
    found = {key: row[key] for key in wanted}
    if not row['tolerance']:
        wanted['cosine'] = 1 if any(numbers) and not any(math.isinf(v) for v in numbers) else None
        found['cosine'] = row['cosine']
    if found != wanted:
        raise Failure('missing %s: arrays that are the same have %s, not %s' % (missing, found, wanted))


def check_diff(library, program, rng, where):
    """Compares two arrays, each a file or a view, and two containers, as the program does."""
    name, sizes, values, _, _ = draw(rng)
    others = list(values)
    for _ in range(rng.choice((0, 1, 5)) if values else 0):
        others[rng.randrange(len(values))] = rng.choice(values)
    paths = [os.path.join(where, side) for side in 'ab']
    for path, elements in zip(paths, (values, others)):
        with open(path, 'wb') as f:
            f.write(axis_check.npy(elements, TYPES[name], (rng.choice('<>') if name[1] != '1' else '|') + name,
                                   sizes, False)[0])
    policy = rng.choice(POLICIES)
    missing = rng.choices(values, k=1) if values and rng.random() < .3 else []
    tolerance = rng.choice((None, None, 'ulp:4', 'abs:0.5', 'rel:1e-3,abs:2'))
    command = [program, '--diff', '--json', '--nan=' + policy, *('--missing=%r' % (v + 0) for v in missing)]
    command += ['--tolerance=' + tolerance] if tolerance else []
    run = subprocess.run(command + paths, capture_output=True, check=False)
    wanted = [json.loads(line) for line in run.stdout.splitlines()]
    views = []
    inputs = []
    for path, elements in zip(paths, (values, others)):
        if rng.random() < .5 and MASKED not in elements:
            views.append(View(library, rng, name, elements, sizes, None, False))
            inputs.append(library.make('gpr_open_view', library.context, views[-1].view))
        else:
            inputs.append(library.make('gpr_open_path', library.context, path.encode(), None))
    request = library.request([], policy, missing)
    rows, different = [], c_uint64(77)
    show_all = rng.randrange(2)
    status = library.status('gpr_diff_inputs', *inputs, request, tolerance and tolerance.encode(),
                            ROW(lambda user, line: rows.append(json.loads(line)) or 0), None,
                            show_all, byref(different))
    text = library.text()
    if show_all and status == 0:
        check_same(rows, values, missing)
    for handle in inputs:
        library.status('gpr_close', handle)
    for view in views:
        view.free()
    library.status('gpr_request_free', request)
    for row in rows + wanted:
        row['file'] = row['other'] = None
    if run.returncode == 2:
        if status == 0 or (policy == 'error') != (status == ERROR_NAN):
            raise Failure('%s %s: status %d, %s, but the program: %s' % (name, sizes, status, text, run.stderr))
    elif status != 0 or rows != wanted or different.value != len(wanted):
        raise Failure('%s %s, %s: %d different, status %d, %s %s, but the program: %s' % (
            name, sizes, tolerance, different.value, status, text, rows, wanted))


def check_shards(library, program, where):
    """Reduces files as shards into accumulators, whose lines the program merges to its own of the whole files."""
    rng = random.Random(5)
    numbers = [float(rng.randint(-1000, 1000)) for _ in range(1700000)]
    data = struct.pack('<%df' % len(numbers), *numbers)
    header = json.dumps({name: {'dtype': 'F32', 'shape': [(end - begin) // 4], 'data_offsets': [begin, end]}
                         for name, begin, end in (('a', 0, 700000), ('b', 700000, len(data)))}).encode()
    files = {'x.raw': data, 'x.safetensors': struct.pack('<Q', len(header)) + header + data}
    try:  # frames of their own, which can be cut, and one that cannot
        frames = [subprocess.run(['zstd', '-qc1'], input=part, capture_output=True, check=True).stdout
                  for part in (data[:400000], data[400000:4000000], data[4000000:], data)]
        files.update({'x.zst': b''.join(frames[:3]) * 3, 'y.zst': frames[3]})
    except (OSError, subprocess.CalledProcessError):
        pass
    paths = [os.path.join(where, name).encode() for name in files]
    for path, content in zip(paths, files.values()):
        with open(path, 'wb') as f:
            f.write(content)
    for shards in (1, 3, 16):
        lines = []
        for number in range(1, shards + 1):
            begins, ends = ((c_uint64 * len(paths))() for _ in range(2))
            library('gpr_plan_shards', library.context, (c_char_p * len(paths))(*paths), c_size_t(len(paths)),
                    c_uint64(number), c_uint64(shards), begins, ends)
            for path, begin, end in zip(paths, begins, ends):
                if end > 0:
                    lines += shard_lines(library, path, begin, end)
        merged = subprocess.run([program, '--merge', '--partial', '-'], input=b''.join(lines), capture_output=True,
                                check=False)
        wanted = subprocess.run([program, '--partial', '-o', 'sum,argmax', *paths], capture_output=True, check=True)
        if sorted(merged.stdout.splitlines()) != sorted(wanted.stdout.splitlines()):
            raise Failure('%d shards: %s %s\nin place of %s' % (shards, merged.stdout, merged.stderr, wanted.stdout))


def shard_lines(library, path, begin, end):
    """The lines of the arrays of a part of a file."""
    part, request = library.request([]), library.request(['sum', 'argmax'])
    library('gpr_request_set', part, 6, c_uint64(begin))
    library('gpr_request_set', part, 7, c_uint64(end))
    source = library.make('gpr_open_path', library.context, path, part)
    lines = []
    for number in range(library.dll.gpr_input_arrays(source)):
        made = library.make('gpr_accumulator_new', library.context, b'f32', request)
        library('gpr_accumulator_add_input', made, source, c_size_t(number))
        lines.append(library.write(made) + b'\n')
        library.status('gpr_accumulator_free', made)
    library.status('gpr_close', source)
    library.status('gpr_request_free', part)
    library.status('gpr_request_free', request)
    return lines


UNKNOWN = 2**64 - 1


def facts_of(library, path, number):
    """Bytes, offset, and whether compressed, big-endian and in Fortran order; chunks, and missing ones."""
    fact = library.dll.gpr_array_fact
    fact.restype = c_uint64
    source = library.make('gpr_open_path', library.context, path.encode(), None)
    facts = [fact(source, c_size_t(number), c_int(key)) for key in range(1, 8)]
    library.status('gpr_close', source)
    return facts


def check_facts(library, where):
    header = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }".ljust(117) + '\n'
    npy = b'\x93NUMPY\1\0' + struct.pack('<H', 118) + header.encode() + struct.pack('>6f', *range(6))
    made = io.BytesIO()
    with zipfile.ZipFile(made, 'w') as archive:
        archive.writestr('plain.npy', npy, zipfile.ZIP_STORED)
        archive.writestr('small.npy', npy, zipfile.ZIP_DEFLATED)
        begins = [i.header_offset + 30 + len(i.filename) for i in archive.infolist()]
    wanted = {'a.npy': [[24, 128, 0, 1, 1, UNKNOWN, UNKNOWN]],
              'a.npy.gz': [[24, 128, 1, 1, 1, UNKNOWN, UNKNOWN]],
              'a.npz': [[24, begins[0] + 128, 0, 1, 1, UNKNOWN, UNKNOWN],
                        [24, begins[1], 1, 1, 1, UNKNOWN, UNKNOWN]]}
    for name, data in (('a.npy', npy), ('a.npy.gz', gzip.compress(npy)), ('a.npz', made.getvalue())):
        with open(os.path.join(where, name), 'wb') as f:
            f.write(data)
    for name, compressor in ('plain.zarr', None), ('small.zarr', {'id': 'zlib', 'level': 1}):
        os.mkdir(os.path.join(where, name))
        with open(os.path.join(where, name, '.zarray'), 'w') as f:
            json.dump({'zarr_format': 2, 'shape': [6], 'chunks': [2], 'dtype': '<f4', 'fill_value': 0,
                       'compressor': compressor, 'filters': None, 'order': 'C'}, f)
        chunk = struct.pack('<2f', 1, 2)
        with open(os.path.join(where, name, '1'), 'wb') as f:
            f.write(zlib.compress(chunk) if compressor else chunk)
        wanted[name] = [[24, UNKNOWN, int(compressor is not None), 0, 0, 3, 2]]
    for name in wanted:
        for number, facts in enumerate(wanted[name]):
            found = facts_of(library, os.path.join(where, name), number)
            if found != facts:
                raise Failure('facts of %s, array %d: %s, not %s' % (name, number, found, facts))


def check_text(library, where):
    """Arrays of text in chunks, which are not compared, have no row that says they are the same."""
    paths = [os.path.join(where, side + '.text').encode() for side in 'ab']
    rows, different = [], c_uint64(77)
    for path, content in zip(paths, (b'abcd', b'abce')):
        os.mkdir(path)
        with open(os.path.join(path, b'.zarray'), 'w') as f:
            json.dump({'zarr_format': 2, 'shape': [4], 'chunks': [2], 'dtype': '|S1', 'fill_value': '',
                       'compressor': None, 'filters': None, 'order': 'C'}, f)
        for chunk in range(2):
            with open(os.path.join(path, b'%d' % chunk), 'wb') as f:
                f.write(content[2 * chunk:2 * chunk + 2])
    library('gpr_diff', library.context, *paths, None, ROW(lambda user, line: rows.append(line) or 0), None, 1,
            byref(different))
    if rows or different.value != 0:
        raise Failure('arrays of text: %d differ, rows %s' % (different.value, rows))


TOLD = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p)


def check_damage(library, where):
    """The offset of a damaged member is known to all functions that reduce it, and comparisons name it, as they
    do an array with a NaN."""
    numbers = struct.pack('<500I', *(k * k * 7919 % 65521 for k in range(500)))
    header = "{'descr': '<u4', 'fortran_order': False, 'shape': (500,), }".ljust(117) + '\n'
    path = os.path.join(where, 'damaged.npz')
    with zipfile.ZipFile(path, 'w') as archive:
        for name in 'ab':
            archive.writestr(name + '.npy', b'\x93NUMPY\1\0' + struct.pack('<H', 118) + header.encode() + numbers,
                             zipfile.ZIP_DEFLATED)
        begin, end = archive.infolist()[1].header_offset + 35, archive.start_dir
    with open(path, 'r+b') as f:
        f.seek(begin + 200)
        f.write(bytes(end - begin - 200))
    offset = library.dll.gpr_error_offset
    offset.restype = c_uint64
    source = library.make('gpr_open_path', library.context, path.encode(), None)
    request = library.request(['sum'])
    made, found = c_void_p(), []

    def told(user, array, result):
        if result is None:
            found.append(offset(library.context))
        library.status('gpr_result_free', c_void_p(result))
        return 0

    for function, which in (('gpr_reduce', (source, c_size_t(1))), ('gpr_total', (byref(source), c_size_t(1)))):
        status = library.status(function, *which, request, byref(made))
        if status != ERROR_DATA:
            raise Failure('a damaged member: status %d, %s' % (status, library.text()))
        found.append(offset(library.context))
    library('gpr_reduce_each', source, request, TOLD(told), None)
    if len(found) != 3 or found[0] not in range(begin, end + 1) or found[1] != found[0] or found[2] != found[0]:
        raise Failure('a damaged member from %d to %d: errors at %s' % (begin, end, found))
    statuses = [library.status('gpr_diff_inputs', source, source, request, None, None, None, 0, None)]
    names = [library.dll.gpr_error_array(library.context)]
    header = header.replace('u4', 'f4')
    with zipfile.ZipFile(path, 'w') as archive:
        archive.writestr('n.npy', b'\x93NUMPY\1\0' + struct.pack('<H', 118) + header.encode() + b'\xff' * 2000)
    library.status('gpr_close', source)
    source = library.make('gpr_open_path', library.context, path.encode(), None)
    library('gpr_request_set', request, 1, c_uint64(2))
    statuses.append(library.status('gpr_diff_inputs', source, source, request, None, None, None, 0, None))
    names.append(library.dll.gpr_error_array(library.context))
    if statuses != [ERROR_DATA, ERROR_NAN] or names != [b'b', b'n']:
        raise Failure('errors of comparisons: %s, of the arrays %s' % (statuses, names))
    library.status('gpr_close', source)
    library.status('gpr_request_free', request)


def check_parts(library, where):
    """The first elements of an array in Fortran order have no digest, and those of others have theirs."""
    path = os.path.join(where, 'parts.npz')
    with zipfile.ZipFile(path, 'w') as archive:
        for name in ('False', 'True'):
            header = "{'descr': '<u4', 'fortran_order': %s, 'shape': (2, 2), }" % name
            archive.writestr(name + '.npy', b'\x93NUMPY\1\0' + struct.pack('<H', 118) + header.ljust(117).encode() + b'\n' +
                             bytes(16))
    request, found = library.request(['digest']), []

    def told(user, array, result):
        found.append(result is not None)
        library.status('gpr_result_free', c_void_p(result))
        return 0

    for at_open in (False, True):
        options = library.request([])
        library('gpr_request_set', options if at_open else request, 5, c_uint64(3))
        source = library.make('gpr_open_path', library.context, path.encode(), options)
        library('gpr_reduce_each', source, request, TOLD(told), None)
        library('gpr_request_set', request, 5, c_uint64(2**64 - 1))
        library.status('gpr_close', source)
        library.status('gpr_request_free', options)
    library.status('gpr_request_free', request)
    if found != 2 * [True, False]:
        raise Failure('digests of parts of arrays: %s' % found)


def main():
    program, path, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    library = Library(path)
    failed = 0
    with tempfile.TemporaryDirectory() as where:
        try:
            check_shards(library, program, where)
            check_facts(library, where)
            check_text(library, where)
            check_damage(library, where)
            check_parts(library, where)
        except Failure as failure:
            print(failure)
            failed += 1
        for number in range(count):
            rng = random.Random('%d %d' % (seed, number))
            library('gpr_context_set', library.context, 1, c_uint64(rng.randint(0, 3)))
            try:
                kind = rng.random()
                if kind < .45:
                    check_accumulator(library, program, rng, where)
                elif kind < .9:
                    check_axis(library, rng, where)
                else:
                    check_diff(library, program, rng, where)
            except Failure as failure:
                print('seed %d, number %d: %s' % (seed, number, failure))
                failed += 1
    library.status('gpr_context_free', library.context)
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
