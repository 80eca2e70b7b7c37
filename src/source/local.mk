# src/source: where the elements come from.
library_sources += \
	src/source/common.c src/source/source.h src/source/source_impl.h \
	src/source/file.c src/source/file.h \
	src/source/formats.c src/source/formats.h \
	src/source/npy.c src/source/npy.h \
	src/source/open.c \
	src/source/reader.c src/source/reader.h \
	src/source/serial.c src/source/serial.h \
	src/source/waiters.c src/source/waiters.h \
	src/source/whole.c src/source/whole.h \
	src/source/zstd/frames.c src/source/zstd/frames.h \
	src/source/zstd/source_zstd.c src/source/zstd/zstd.h
