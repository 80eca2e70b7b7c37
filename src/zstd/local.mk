# src/zstd: zstd decoded by all cores.
library_sources += \
	src/zstd/block.c src/zstd/block.h \
	src/zstd/context.c src/zstd/context.h \
	src/zstd/cut.c src/zstd/cut.h \
	src/zstd/decoder.c src/zstd/decoder.h \
	src/zstd/entropy.h \
	src/zstd/file.c src/zstd/file.h \
	src/zstd/execute.c src/zstd/execute.h \
	src/zstd/finder.c src/zstd/finder.h \
	src/zstd/frames.c src/zstd/frames.h \
	src/zstd/index.c src/zstd/index.h \
	src/zstd/input.c src/zstd/input.h \
	src/zstd/literals.c src/zstd/literals.h \
	src/zstd/reader.c src/zstd/reader.h \
	src/zstd/ring.c src/zstd/ring.h \
	src/zstd/schedule.c src/zstd/schedule.h \
	src/zstd/sequences.c src/zstd/sequences.h \
	src/zstd/sequences_loop.h \
	src/zstd/small.c src/zstd/small.h \
	src/zstd/stream.c src/zstd/stream.h \
	src/zstd/team.c src/zstd/team.h \
	src/zstd/xxh64.c src/zstd/xxh64.h src/zstd/xxh64_arithmetic.h
