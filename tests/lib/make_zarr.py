#!/usr/bin/env python3
"""Writes Zarr stores of random arrays by zarr, with what zarr reads of them as .npz, and the sums of integers."""

import random
import sys

import numcodecs
import numpy as np
import zarr

BLOSC = ('lz4', 'lz4hc', 'blosclz', 'zlib', 'zstd')
TYPES = ('i1', 'u1', '<i2', '>i2', '<u2', '<i4', '>i4', '<u4', '<i8', '>i8', '<u8', '<f2', '<f4', '>f4', '<f8', '>f8')


RECORD = [('a', '<f4'), ('b\u4e2d\U0001d400', '>i2'), ('z', '<c8')]


def make_values(shape, kind):
    if kind.names:
        values = np.zeros(shape, kind)
        for name in kind.names:
            values[name] = make_values(shape, kind[name])
        return values
    if kind.kind == 'c':
        return (np.random.standard_normal(shape) + 1j * np.random.standard_normal(shape)).astype(kind)
    if kind.kind == 'f':
        return np.random.standard_normal(shape).astype(kind)
    return np.random.randint(-100 if kind.kind == 'i' else 0, 100, size=shape).astype(kind)


def storage(version, kind, dimensions):
    """Arguments that say how chunks are stored."""
    separator = random.choice('./')
    if version == 2:
        compressors = (None, numcodecs.Zstd(3), numcodecs.GZip(5), numcodecs.Zlib(5), numcodecs.Blosc(random.choice(BLOSC), 5, random.randint(0, 2)))
        filters = [[], [numcodecs.Shuffle(kind.itemsize)]]
        if kind.kind in 'iu':
            filters += [[numcodecs.Delta(kind)], [numcodecs.Delta(kind), numcodecs.Shuffle(kind.itemsize)]]
        return {'compressors': random.choice(compressors), 'filters': random.choice(filters), 'order': random.choice('CF'),
                'chunk_key_encoding': {'name': 'v2', 'separator': separator}}
    compressors = (None, [zarr.codecs.ZstdCodec(checksum=True)], [zarr.codecs.ZstdCodec()],
                   [zarr.codecs.GzipCodec()], [zarr.codecs.Crc32cCodec()],
                   [zarr.codecs.BloscCodec(cname=random.choice(BLOSC), shuffle=random.choice(('noshuffle', 'shuffle', 'bitshuffle')))],
                   [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()], [zarr.codecs.Crc32cCodec(), zarr.codecs.GzipCodec()])
    found = {'compressors': random.choice(compressors),
             'chunk_key_encoding': {'name': random.choice(('v2', 'default')), 'separator': separator}}
    if dimensions > 0 and random.random() < 0.6:
        found['filters'] = [zarr.codecs.TransposeCodec(order=random.sample(range(dimensions), dimensions))]
    if kind.itemsize > 1:
        found['serializer'] = zarr.codecs.BytesCodec(endian='big' if kind.byteorder == '>' else 'little')
    return found


def note_values(values, name, array):
    """Notes the arrays of numbers that an array is."""
    if array.dtype.names:
        for field in array.dtype.names:
            note_values(values, f'{name}.{field}', array[field])
    elif array.dtype.kind == 'c':
        values[name + '.re'], values[name + '.im'] = np.array(array.real, order='C'), np.array(array.imag, order='C')
    else:
        values[name] = np.array(array, order='C')


def make_store(path, version, archived):
    store = zarr.storage.ZipStore(path + '.zarr', mode='w') if archived else path + '.zarr'
    group = zarr.open_group(store, mode='w', zarr_format=version)
    values = {}
    for i in range(44):
        kind = np.dtype(TYPES[i % len(TYPES)] if i < 40 else RECORD if i % 2 and version == 2 else '<c8' if i % 2 else '>c16')
        shape = tuple(random.randint(1, 13) for _ in range(random.randint(0, 4)))
        if i == 7:
            shape = (3, 0)
        chunks = tuple(random.randint(1, n + 2) for n in shape)
        options = storage(version, kind, len(shape))
        if version == 3 and shape and i % 3 == 0:
            options['shards'] = {'shape': tuple(n * random.randint(1, 3) for n in chunks),
                                 'index_location': random.choice(('start', 'end'))}
        fills = (0, 1, 100) if kind.kind != 'f' else (0, 1.5, -0.1, float('nan'), float('inf'), float('-inf'))
        if kind.kind == 'c':
            fills = (0, 1.5 - 2j, complex('nan'), complex('infj'))
        elif kind.names:
            fills = (np.array((1.5, -3, 2 - 1j), kind)[()],)
        name = random.choice(('', 'g/', 'g/h/')) + f'a{i}'
        array = group.create_array(name, shape=shape, chunks=chunks, dtype=kind, fill_value=random.choice(fills), **options)
        if i % 5 > 0:
            part = tuple(slice(random.randint(0, n) if i % 2 else 0, None) for n in shape)
            array[part or ...] = make_values(shape, kind)[part or ...]
        note_values(values, name, array[...])
    np.savez(path + '.npz', **values)
    with open(path + '.sums', 'w') as out:
        for name in sorted(values):
            if values[name].dtype.kind != 'f':
                print(name, sum(int(x) for x in values[name].ravel()), sep='\t', file=out)
    if archived:
        store.close()
    elif version == 2:
        zarr.consolidate_metadata(path + '.zarr')


def main():
    for seed in range(6):
        random.seed(seed)
        np.random.seed(seed)
        make_store(f'{sys.argv[1]}/v{2 + seed % 2}-{seed}', 2 + seed % 2, seed % 6 > 3)
    array = zarr.create_array(sys.argv[1] + '/alone.zarr', shape=(1000, 70), chunks=(64, 32), dtype='<f4')
    array[:900] = make_values((900, 70), np.dtype('<f4'))
    np.save(sys.argv[1] + '/alone.npy', array[...])


main()
