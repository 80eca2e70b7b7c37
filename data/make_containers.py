#!/usr/bin/env python3
"""Makes the files in containers/, each by its format's own package, and containers.tsv beside them.

    python3 data/make_containers.py

Needs Python 3.9 and the packages numpy, safetensors, gguf, h5py, hdf5plugin, netCDF4, astropy, nibabel, torch and zarr; those in the repository were
made with numpy 2.4.6, safetensors 0.8.0, gguf 0.19.0, h5py 3.16.0, hdf5plugin 7.1.0, netCDF4 1.7.5.1,
astropy 8.0.2, nibabel 5.4.2, torch 2.15.0 and zarr 3.1.6. What the arrays must reduce to is computed by
make.py, from the elements: see there.
"""
import gzip
import os
import sys

sys.dont_write_bytecode = True
import make  # noqa: E402

import astropy.io.fits as fits  # noqa: E402
import gguf  # noqa: E402
import hdf5plugin  # noqa: E402
import h5py  # noqa: E402
import netCDF4  # noqa: E402
import nibabel  # noqa: E402
import numcodecs  # noqa: E402
import numpy as np  # noqa: E402
import safetensors  # noqa: E402
import torch  # noqa: E402
import zarr  # noqa: E402

SHAPE = (3, 5, 7)
COUNT = 3 * 5 * 7
NUMPY = {'f16': '<f2', 'f32': '<f4', 'f64': '<f8', 'i8': 'i1', 'i16': '<i2', 'i32': '<i4', 'i64': '<i8', 'u8': 'u1',
         'u16': '<u2', 'u32': '<u4', 'u64': '<u8', 'bool': '?'}
SAFETENSORS = {'f16': 'float16', 'bf16': 'bfloat16', 'f32': 'float32', 'f64': 'float64', 'f8e4m3': 'float8_e4m3fn',
               'f8e5m2': 'float8_e5m2', 'i8': 'int8', 'i64': 'int64', 'u8': 'uint8', 'u16': 'uint16', 'bool': 'bool'}
rows = []


def make_elements():
    """By their names, the type, the bytes and what they must reduce to."""
    elements = {}
    for kind in make.TYPES:
        patterns = make.mixed(kind)[:COUNT]
        values = [make.to_value(kind, x) for x in patterns]
        elements['mixed.' + kind] = (kind, SHAPE, make.pack(kind, patterns), make.reduce(kind, values))
    for kind, (size, signed) in make.INTEGERS.items():
        values = make.spread_integers(kind, 205)[100:]
        data = b''.join(x.to_bytes(size, 'little', signed=signed) for x in values)
        elements['spread.' + kind] = (kind, SHAPE, data, make.reduce_integers(values))
    for kind in make.FLOATS8:
        values = [make.float8(kind, x) for x in range(COUNT)]
        elements['first.' + kind] = (kind, SHAPE, bytes(range(COUNT)), make.reduce(kind, values))
    truths = bytes(i % 3 % 2 for i in range(COUNT))
    elements['thirds.bool'] = ('bool', SHAPE, truths, make.reduce_integers(list(truths)))
    nans = [0.25 * i for i in range(20)]
    nans[7] = nans[11] = make.NAN
    data = make.pack('f32', [make.to_bits('f32', x) for x in nans])
    elements['layer/0/nan'] = ('f32', (4, 5), data, make.reduce('f32', nans))
    elements['scalar'] = ('f64', (), make.pack('f64', [make.to_bits('f64', 0.1)]), make.reduce('f64', [0.1]))
    elements['none'] = ('f32', (0, 7), b'', make.reduce('f32', []))
    return elements


ELEMENTS = make_elements()


def array(name):
    kind, shape, data, _ = ELEMENTS[name]
    return np.frombuffer(data, NUMPY[kind]).reshape(shape)


def expect(file, names):
    for name in names:
        for op in make.OPS:
            rows.append((f'containers/{file}', f'--array={name}', op, ELEMENTS[name][3][op]))


def path(file):
    return os.path.join(make.HERE, 'containers', file)


def make_safetensors():
    kept, tensors = [], {}  # the package takes addresses
    for name, (kind, shape, data, _) in ELEMENTS.items():
        if kind not in SAFETENSORS:
            continue
        kept.append(np.frombuffer(data, 'u1'))
        tensors[name] = safetensors.TensorSpec(dtype=SAFETENSORS[kind], shape=shape, data_len=len(data),
                                               data_ptr=kept[-1].ctypes.data)
    with open(path('small.safetensors'), 'wb') as file:
        file.write(safetensors.serialize(tensors, {'made by': 'data/make_containers.py'}))
    expect('small.safetensors', tensors)


def make_npz():
    names = [name for name in ELEMENTS if ELEMENTS[name][0] in NUMPY]
    np.savez(path('stored.npz'), **{name: array(name) for name in names})
    expect('stored.npz', names)
    names = ['mixed.f32', 'mixed.f64', 'spread.i16', 'layer/0/nan', 'none', 'scalar']
    np.savez_compressed(path('deflated.npz'), **{name: array(name) for name in names})
    expect('deflated.npz', names)


def make_npy():
    names = {'mixed.f32': 'mixed.f32', 'n.spread': 'spread.i16', 'z.re': 'mixed.f64', 'z.im': 'mixed.f64'}
    x = np.zeros(SHAPE, [('mixed.f32', '<f4'), ('n', [('spread', '>i2')]), ('z', '<c16')])
    x['mixed.f32'], x['n']['spread'] = array('mixed.f32'), array('spread.i16')
    x['z'].real = x['z'].imag = array('mixed.f64')
    np.save(path('records.npy'), x)
    for name, element in names.items():
        for op in make.OPS:
            rows.append(('containers/records.npy', f'--array={name}', op, ELEMENTS[element][3][op]))


def make_gguf():
    kinds = ('f32', 'f16', 'bf16', 'f64', 'i8', 'i16', 'i32', 'i64')
    names = [name for name in ELEMENTS if ELEMENTS[name][0] in kinds and name not in ('none', 'scalar')]
    writer = gguf.GGUFWriter(path('small.gguf'), 'none')
    for name in names:
        kind, shape, data, _ = ELEMENTS[name]
        if kind == 'bf16':
            last = 2 * shape[-1]
            writer.add_tensor(name, np.frombuffer(data, 'u1').reshape(shape[:-1] + (last,)),
                              raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(name, array(name))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    expect('small.gguf', names)


def make_quantised():
    # The package quantises; the values are those of the formulas d * q and d * q + m, which binary32 and
    # binary64 hold.
    x = (np.arange(5 * 64) % 47 - 19.3).astype('f4').reshape(5, 64)
    writer = gguf.GGUFWriter(path('quantised.gguf'), 'none')
    for name in ('Q8_0', 'Q4_1'):
        kind = gguf.GGMLQuantizationType[name]
        blocks = gguf.quants.quantize(x, kind)
        writer.add_tensor(name, blocks, raw_dtype=kind)
        values = []
        for block in blocks.reshape(-1, gguf.GGML_QUANT_SIZES[kind][1]):
            scales = [float(s) for s in block[:4].copy().view('<f2')]
            if name == 'Q8_0':
                values += [scales[0] * int(q) for q in block[2:].view('i1')]
            else:
                nibbles = [int(q) & 15 for q in block[4:]] + [int(q) >> 4 for q in block[4:]]
                values += [scales[0] * q + scales[1] for q in nibbles]
        found = make.reduce('f32' if name == 'Q8_0' else 'f64', values)
        for op in make.OPS:
            rows.append(('containers/quantised.gguf', f'--array={name}', op, found[op]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make_hdf5():
    plain = ['spread.i8', 'spread.u64', 'none', 'scalar']
    chunked = {'mixed.f16': {}, 'mixed.f32': {'compression': 'gzip'}, 'spread.i32': {'fletcher32': True},
               'mixed.f64': {'compression': 'gzip', 'shuffle': True, 'fletcher32': True},
               'layer/0/nan': {'compression': 'gzip', 'shuffle': True}}
    with h5py.File(path('small.h5'), 'w', libver=('v110', 'v110')) as file:
        for name in plain:
            file[name] = array(name)
        for name, how in chunked.items():
            x = array(name)
            if name in ('mixed.f32', 'spread.i32'):
                x = x.astype(x.dtype.newbyteorder('>'))
            file.create_dataset(name, data=x, chunks=tuple((n + 1) // 2 for n in x.shape), **how)
    expect('small.h5', plain + list(chunked))


def make_filters():
    # Elements come twice, which suffices for Blosc to split a block.
    how = {'lzf': ('mixed.f64', {'compression': 'lzf', 'shuffle': True}), 'lz4': ('spread.i16', hdf5plugin.LZ4(1000)),
           'zstd': ('mixed.f32', hdf5plugin.Zstd(22)),
           'bitshuffle': ('spread.u32', hdf5plugin.Bitshuffle(200, 'none')),
           'bitshuffle.lz4': ('spread.i64', hdf5plugin.Bitshuffle()),
           'bitshuffle.zstd': ('mixed.f16', hdf5plugin.Bitshuffle(cname='zstd')),
           'blosc.blosclz': ('mixed.f64', hdf5plugin.Blosc('blosclz', 9)),
           'blosc.lz4': ('spread.u16', hdf5plugin.Blosc('lz4hc', 9, 2)),
           'blosc.snappy': ('spread.u8', hdf5plugin.Blosc('snappy', 9, 0)), 'blosc.zstd': ('spread.i32', hdf5plugin.Blosc('zstd', 9))}
    with h5py.File(path('filters.h5'), 'w', libver=('v110', 'v110')) as file:
        for name, (element, options) in how.items():
            kind, x = ELEMENTS[element][0], np.tile(array(element).ravel(), 2)
            file.create_dataset(name, data=x, chunks=x.shape, fletcher32=name in ('lzf', 'blosc.zstd'), **options)
            reduced = make.reduce_integers(x.tolist()) if kind in make.INTEGERS else make.reduce(kind, x.tolist())
            for op in make.OPS:
                rows.append(('containers/filters.h5', f'--array={name}', op, reduced[op]))


def make_netcdf():
    # Names of netCDF have no slash. Records come after all else; CDF-1 has fewer types.
    records = ['mixed.f64', 'spread.i8', 'spread.u16', 'spread.i64']
    for file, kind, types in (('small.cdf1.nc', 'NETCDF3_CLASSIC', ('i8', 'i16', 'i32', 'f32', 'f64')),
                              ('small.cdf5.nc', 'NETCDF3_64BIT_DATA', NUMPY)):
        names = [name for name in ELEMENTS if ELEMENTS[name][0] in types and ELEMENTS[name][0] not in ('f16', 'bool')
                 and name not in ('none', 'layer/0/nan')]
        names.sort(key=lambda name: name in records)
        with netCDF4.Dataset(path(file), 'w', format=kind) as dataset:
            for dimension, length in (('record', None), ('z', 3), ('y', 5), ('x', 7)):
                dataset.createDimension(dimension, length)
            for name in names:
                along = ('record' if name in records else 'z', 'y', 'x') if ELEMENTS[name][1] else ()
                variable = dataset.createVariable(name, NUMPY[ELEMENTS[name][0]].strip('<'), along, fill_value=False)
                variable.set_auto_mask(False)
                variable[...] = array(name)
        for name in names:
            for op in make.OPS:
                rows.append((f'containers/{file}', f'--stored --array={name}', op, ELEMENTS[name][3][op]))


def make_fits():
    # An HDU has at least 5760 bytes. astropy stores unsigned integers as signed ones with BZERO.
    names = ['mixed.f64', 'spread.i16', 'spread.u32']
    hdus = [fits.PrimaryHDU()] + [fits.ImageHDU(array(name), name=name) for name in names]
    fits.HDUList(hdus).writeto(path('small.fits'), overwrite=True)
    for name in names:
        for op in make.OPS:
            rows.append(('containers/small.fits', f'--array={name.upper()}', op, ELEMENTS[name][3][op]))


def make_nifti():
    # A header's first dimension changes fastest, and nibabel takes arrays in that order.
    for file, kind, name, order, inter in (('small.nii', nibabel.Nifti1Image, 'mixed.f32', '>', 0),
                                           ('small2.nii.gz', nibabel.Nifti2Image, 'spread.u16', '<', 1)):
        x = array(name).transpose()
        image = kind(x, None, header=kind.header_class(endianness=order), dtype=x.dtype)
        image.header.set_slope_inter(1, inter)
        image.header.set_data_offset(image.header.single_vox_offset)
        data = image.header.binaryblock + bytes(4) + x.astype(x.dtype.newbyteorder(order)).tobytes('F')
        with open(path(file), 'wb') as out:
            out.write(data if inter == 0 else gzip.compress(data, mtime=0))
        for op in make.OPS:
            rows.append((f'containers/{file}', '--stored', op, ELEMENTS[name][3][op]))


def make_pytorch():
    def tensor(name):
        kind, shape, data, _ = ELEMENTS[name]
        t = torch.frombuffer(bytearray(data), dtype=getattr(torch, SAFETENSORS.get(kind) or kind.replace('u', 'uint')))
        return t.reshape(shape)

    names = {'first.f8e4m3': 'model.first.f8e4m3', 'mixed.bf16': 'model.mixed.bf16', 'spread.u16': 'model.spread.u16',
             'mixed.f16': 'state.0.mixed', 'mixed.f64': 'state.1.mixed', 'thirds.bool': 'list.0', 'spread.i64': 'list.1.0'}
    wide = torch.zeros(3, 5, 9, dtype=torch.float64)
    wide[:, :, 1:8] = tensor('mixed.f64')
    tree = {'model': torch.nn.Module().state_dict(), 'state': {0: {'mixed': tensor('mixed.f16')}, 1: {'mixed': wide[:, :, 1:8]}},
            'list': [tensor('thirds.bool'), (tensor('spread.i64'), 'text')], 'epoch': 3}
    for name in ('first.f8e4m3', 'mixed.bf16', 'spread.u16'):
        tree['model'][name] = tensor(name)
    torch.save(tree, path('small.pt'))
    for element, name in names.items():
        for op in make.OPS:
            rows.append(('containers/small.pt', f'--array={name}', op, ELEMENTS[element][3][op]))


def make_zarr():
    codecs = {'mixed.f32': {'compressors': zarr.codecs.ZstdCodec()}, 'mixed.f64': {'compressors': zarr.codecs.GzipCodec()},
              'spread.u16': {'compressors': None, 'serializer': zarr.codecs.BytesCodec(endian='big')},
              'scalar': {'compressors': None}, 'layer/0/nan': {'compressors': None, 'fill_value': float('nan')}}
    for version in 2, 3:
        file = f'small{version}.zarr'
        group = zarr.open_group(path(file), mode='w', zarr_format=version)
        for name, options in codecs.items():
            kind, shape, _, _ = ELEMENTS[name]
            options = options if version == 3 else {key: x for key, x in options.items() if key == 'fill_value'}
            if version == 2:
                options['compressors'] = numcodecs.Zlib() if name == 'mixed.f64' else None
            group.create_array(name, shape=shape, chunks=(2, 5, 4)[:len(shape)], dtype=NUMPY[kind], **options)[...] = array(name)
        expect(file, codecs)


def main():
    os.makedirs(path(''), exist_ok=True)
    make_safetensors()
    make_npz()
    make_npy()
    make_gguf()
    make_quantised()
    make_hdf5()
    make_filters()
    make_netcdf()
    make_fits()
    make_nifti()
    make_pytorch()
    make_zarr()
    with open(os.path.join(make.HERE, 'containers.tsv'), 'w', encoding='utf-8') as out:
        out.write('# file\toptions\top\tvalue\n')
        out.writelines('\t'.join(row) + '\n' for row in rows)


if __name__ == '__main__':
    main()
