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
	src/source/zstd.c src/source/zstd.h \
	src/source/zstd/block.c src/source/zstd/block.h \
	src/source/zstd/budget.c src/source/zstd/budget.h \
	src/source/zstd/context.c src/source/zstd/context.h \
	src/source/zstd/cut.c src/source/zstd/cut.h \
	src/source/zstd/cutter.c src/source/zstd/cutter.h \
	src/source/zstd/decoder.c src/source/zstd/decoder.h \
	src/source/zstd/entropy.h \
	src/source/zstd/file.c src/source/zstd/file.h \
	src/source/zstd/execute.c src/source/zstd/execute.h \
	src/source/zstd/finder.c src/source/zstd/finder.h \
	src/source/zstd/flight.c src/source/zstd/flight.h \
	src/source/zstd/frames.c src/source/zstd/frames.h \
	src/source/zstd/index.c src/source/zstd/index.h \
	src/source/zstd/input.c src/source/zstd/input.h \
	src/source/zstd/large.c src/source/zstd/large.h \
	src/source/zstd/literals.c src/source/zstd/literals.h \
	src/source/zstd/reader.c src/source/zstd/reader.h \
	src/source/zstd/ring.c src/source/zstd/ring.h \
	src/source/zstd/schedule.c src/source/zstd/schedule.h \
	src/source/zstd/schedule_find.c src/source/zstd/schedule_state.h \
	src/source/zstd/schedule_queue.c src/source/zstd/schedule_slots.c \
	src/source/zstd/seek_table.c src/source/zstd/seek_table.h \
	src/source/zstd/sequences.c src/source/zstd/sequences.h \
	src/source/zstd/sequences_loop.h \
	src/source/zstd/small.c src/source/zstd/small.h \
	src/source/zstd/target.h \
	src/source/zstd/team.c src/source/zstd/team.h \
	src/source/zstd/team_content.c src/source/zstd/team_decode.c \
	src/source/zstd/team_state.h src/source/zstd/team_state.c \
	src/source/zstd/xxh64.c src/source/zstd/xxh64.h src/source/zstd/xxh64_arithmetic.h
