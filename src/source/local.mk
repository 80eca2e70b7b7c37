# src/source: where the elements come from.
library_sources += \
	src/source/array_order.c src/source/array_order.h \
	src/source/bands.c src/source/bands.h \
	src/source/arrays.c src/source/arrays.h \
	src/source/common.c src/source/source.h src/source/source_impl.h \
	src/source/container/container.c src/source/container/container.h \
	src/source/container/formats.c src/source/container/formats.h \
	src/source/container/gguf.c src/source/container/npz.c \
	src/source/container/hdf5.c src/source/container/hdf5_records.h \
	src/source/container/pattern.c src/source/container/pattern.h \
	src/source/container/safetensors.c \
	src/source/plausibility.c src/source/plausibility.h \
	src/source/file.c src/source/file.h src/source/file_state.h src/source/file_claim.c \
	src/source/file_inflate.c \
	src/source/unsupported.c src/source/unsupported.h src/source/unsupported_input.h \
	src/source/unsupported_text.c \
	src/source/formats.c src/source/formats.h \
	src/source/inflate.c src/source/inflate.h \
	src/source/inputs.c src/source/inputs.h \
	src/source/npy.c src/source/npy.h \
	src/source/open.c \
	src/source/compressed.c src/source/compressed.h \
	src/source/reader.c src/source/reader.h \
	src/source/serial.c src/source/serial.h \
	src/source/tiles.c src/source/tiles.h \
	src/source/access.c src/source/access.h \
	src/source/whole.c src/source/whole.h \
	src/source/zstd.c src/source/zstd.h
