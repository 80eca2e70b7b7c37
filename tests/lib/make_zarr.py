#!/usr/bin/env python3
"""Writes Zarr stores of random arrays by zarr, with what zarr reads of them as .npz, and the sums of integers."""

import base64
import json
import os
import random
import sys

import numcodecs
import numpy as np
import zarr

BLOSC = ('lz4', 'lz4hc', 'blosclz', 'zlib', 'zstd')
TYPES = ('i1', 'u1', '<i2', '>i2', '<u2', '<i4', '>i4', '<u4', '<i8', '>i8', '<u8', '<f2', '<f4', '>f4', '<f8', '>f8')


# Version 3 has no byte order of a field.
RECORDS = {2: [('a', '<f4'), ('b\u4e2d\U0001d400', '>i2'), ('z', '<c8')],
           3: [('a', '<f4'), ('b\u4e2d\U0001d400', '<i2'), ('z', '<c8'), ('n "', [('t', '?'), ('h', '<f2'), ('m', [('z', '<c16'), ('u', 'u1')])]), ('d', '<f8')]}
FILLS = {2: (1.5, -3, 2 - 1j), 3: (1.5, -3, 2 - 1j, (True, 0.5, (3 - 4j, 7)), -0.1)}


def make_values(shape, kind):
    if kind.names:
        values = np.zeros(shape, kind)
        for name in kind.names:
            values[name] = make_values(shape, kind[name])
        return values
    if kind.kind == 'c':
        return (np.random.standard_normal(shape) + 1j * np.random.standard_normal(shape)).astype(kind)
    if kind.kind == 'b':
        return np.random.randint(0, 2, size=shape).astype(kind)
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
    for i in range(40 + 4 * version):
        kind = np.dtype(TYPES[i % len(TYPES)] if i < 40 else RECORDS[version] if i % 2 else random.choice(('<c8', '>c16')))
        shape = tuple(random.randint(1, 13) for _ in range(random.randint(0, 4)))
        if i == 7:
            shape = (3, 0)
        chunks = tuple(random.randint(1, n + 2) for n in shape)
        options = storage(version, kind, len(shape))
        if version == 3 and shape and i % 3 == 0 and not kind.names: # zarr 3.1 fails at shards of records
            options['shards'] = {'shape': tuple(n * random.randint(1, 3) for n in chunks),
                                 'index_location': random.choice(('start', 'end'))}
        fills = (0, 1, 100) if kind.kind != 'f' else (0, 1.5, -0.1, float('nan'), float('inf'), float('-inf'))
        if kind.kind == 'c':
            fills = (0, 1.5 - 2j, complex('nan'), complex('infj'))
        elif kind.names:
            fills = (np.array(FILLS[version], kind)[()],)
        name = random.choice(('', 'g/', 'g/h/')) + f'a{i}'
        array = group.create_array(name, shape=shape, chunks=chunks, dtype=kind, fill_value=random.choice(fills), **options)
        if i % 5 > 0:
            part = tuple(slice(random.randint(0, n) if i % 2 else 0, None) for n in shape)
            array[part or ...] = make_values(shape, kind)[part or ...]
        note_values(values, name, array[...])
    write_values(path, values)
    if archived:
        store.close()
    elif version == 2:
        zarr.consolidate_metadata(path + '.zarr')


def type_of(kind, name):
    """The type of a record in the metadata of version 3: as zarr has it since 3.2 if that is struct."""
    if not kind.names:
        return kind.name
    fields = [(field, type_of(kind[field], name)) for field in kind.names]
    return {'name': name, 'configuration': {'fields': [dict(zip(('name', 'data_type'), f)) for f in fields] if name == 'struct' else fields}}


def fill_of(fill):
    """The fill value of a record in the metadata of version 3."""
    if fill.dtype.names:
        return {field: fill_of(fill[field]) for field in fill.dtype.names}
    return [fill.real.item(), fill.imag.item()] if fill.dtype.kind == 'c' else fill.item()


def make_shards(path):
    """Shards of records, which zarr 3.1 cannot write: it writes their bytes, and the metadata are changed."""
    group = zarr.open_group(path + '.zarr', mode='w', zarr_format=3)
    values = {}
    codecs = (None, zarr.codecs.ZstdCodec(), zarr.codecs.GzipCodec(), zarr.codecs.BloscCodec(cname='lz4', typesize=3), zarr.codecs.Crc32cCodec())
    for i in range(20):
        name, order, sharded = ('struct', 'structured')[i % 2], '<>'[i // 2 % 2], i % 4 != 3
        kind = np.dtype(RECORDS[3]).newbyteorder(order)
        fill = np.array(FILLS[3], kind)[()]
        records = np.full(50, fill, kind)
        options = {'shards': {'shape': (21, kind.itemsize), 'index_location': random.choice(('start', 'end'))}} if sharded else {}
        array = group.create_array(f's{i}', shape=(50, kind.itemsize), chunks=(7, kind.itemsize), dtype='u1', fill_value=0, compressors=codecs[i % 5],
                                   chunk_key_encoding={'name': 'v2', 'separator': '.'}, **options)
        for begin in random.sample(range(0, 50, 7), 4):
            part = records[begin:begin + 7]
            part[...] = make_values(part.shape, kind)
            array[begin:begin + 7] = part.view('u1').reshape(len(part), -1)
        folder = f'{path}.zarr/s{i}/'
        for chunk in os.listdir(folder):
            os.rename(folder + chunk, folder + chunk.removesuffix('.0'))
        with open(folder + 'zarr.json') as file:
            metadata = json.load(file)
        metadata.update(shape=[50], data_type=type_of(kind, name), fill_value=fill_of(fill) if name == 'struct' else base64.b64encode(
            fill.astype(kind.newbyteorder('<')).tobytes()).decode())
        del metadata['chunk_grid']['configuration']['chunk_shape'][1]
        inner = metadata['codecs']
        if sharded:
            del inner[0]['configuration']['chunk_shape'][1]
            inner = inner[0]['configuration']['codecs']
        if order == '>' or i % 3 > 0:
            inner[0]['configuration'] = {'endian': 'big' if order == '>' else 'little'}
        with open(folder + 'zarr.json', 'w') as out:
            json.dump(metadata, out)
        note_values(values, f's{i}', records)
    write_values(path, values)


def write_values(path, values):
    np.savez(path + '.npz', **values)
    with open(path + '.sums', 'w') as out:
        for name in sorted(values):
            if values[name].dtype.kind != 'f':
                print(name, sum(int(x) for x in values[name].ravel()), sep='\t', file=out)


def main():
    for seed in range(6):
        random.seed(seed)
        np.random.seed(seed)
        make_store(f'{sys.argv[1]}/v{2 + seed % 2}-{seed}', 2 + seed % 2, seed % 6 > 3)
    make_shards(f'{sys.argv[1]}/v3-shards')
    array = zarr.create_array(sys.argv[1] + '/alone.zarr', shape=(1000, 70), chunks=(64, 32), dtype='<f4')
    array[:900] = make_values((900, 70), np.dtype('<f4'))
    np.save(sys.argv[1] + '/alone.npy', array[...])


main()
