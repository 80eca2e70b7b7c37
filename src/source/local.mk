# src/source: where the elements come from.
library_sources += \
	src/source/common.c \
	src/source/file.c \
	src/source/npy.c src/source/npy.h \
	src/source/serial.c \
	src/source/source.h \
	src/source/zstd/frames.c src/source/zstd/frames.h \
	src/source/zstd/source_zstd.c
