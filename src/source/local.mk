# src/source: where the elements come from.
library_sources += \
	src/source/access.c src/source/access.h \
	src/source/arrays.c src/source/arrays.h \
	src/source/bands.c \
	src/source/common.c \
	src/source/compressed.c src/source/compressed.h \
	src/source/facts.c src/source/facts.h \
	src/source/file.c \
	src/source/formats.c src/source/formats.h \
	src/source/fortran.c \
	src/source/gzip.c \
	src/source/inputs.c src/source/inputs.h \
	src/source/kinds.h \
	src/source/memory.c \
	src/source/open.c \
	src/source/reader.c src/source/reader.h \
	src/source/record.c \
	src/source/serial.c src/source/serial.h \
	src/source/sets.c src/source/sets.h \
	src/source/source.h \
	src/source/source_impl.h \
	src/source/tiles.c src/source/tiles.h \
	src/source/zstd.c src/source/zstd.h \
	src/source/format/attributes.c src/source/format/attributes.h \
	src/source/format/codec.c src/source/format/codec.h \
	src/source/format/container.c src/source/format/container.h \
	src/source/format/containers.c src/source/format/containers.h \
	src/source/format/dcp.c \
	src/source/format/filters.c src/source/format/filters.h \
	src/source/format/fits.c \
	src/source/format/ggml.c src/source/format/ggml.h \
	src/source/format/gguf.c \
	src/source/format/hdf5.c \
	src/source/format/hdf5_records.c src/source/format/hdf5_records.h \
	src/source/format/inflate.c src/source/format/inflate.h \
	src/source/format/lz.c src/source/format/lz.h \
	src/source/format/netcdf.c \
	src/source/format/nifti.c \
	src/source/format/npy.c src/source/format/npy.h \
	src/source/format/npy_records.c \
	src/source/format/npz.c \
	src/source/format/pickle.c src/source/format/pickle.h \
	src/source/format/plausibility.c src/source/format/plausibility.h \
	src/source/format/pytorch.c src/source/format/pytorch.h \
	src/source/format/safetensors.c \
	src/source/format/shuffle.c src/source/format/shuffle.h \
	src/source/format/unsupported.c src/source/format/unsupported.h \
	src/source/format/unsupported_input.h \
	src/source/format/unsupported_text.c \
	src/source/format/zarr.c \
	src/source/format/zip.c src/source/format/zip.h
