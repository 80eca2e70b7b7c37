# src/core: types, exact arithmetic and operations: no I/O, no threads.
library_sources += \
	src/core/chunk.h src/core/stream.h \
	src/core/array_shape.c src/core/array_shape.h \
	src/core/bits.h \
	src/core/compression.h \
	src/core/axis_layout.c src/core/axis_layout.h \
	src/core/difference.c src/core/difference.h \
	src/core/digest.c src/core/digest.h src/core/digest_arithmetic.h \
	src/core/digits.c src/core/digits.h \
	src/core/element.c src/core/element.h src/core/element_round.h \
	src/core/error.c src/core/error.h \
	src/core/exact.c src/core/exact.h \
	src/core/histogram.c src/core/histogram.h \
	src/core/meaning.c src/core/meaning.h \
	src/core/merger.c src/core/merger.h \
	src/core/missing.c src/core/missing.h \
	src/core/name.c src/core/name.h \
	src/core/nearest.c src/core/nearest.h \
	src/core/number.c src/core/number.h \
	src/core/operation.c src/core/operation.h \
	src/core/order.c src/core/order.h \
	src/core/partial.c src/core/partial.h \
	src/core/partial_text.c src/core/partial_text.h \
	src/core/progress.h \
	src/core/quantile.c src/core/quantile.h src/core/quantile_place.h \
	src/core/ranges.c src/core/ranges.h \
	src/core/scale.c src/core/scale.h \
	src/core/scaled.c src/core/scaled.h \
	src/core/cast.c src/core/cast.h \
	src/core/rename.c src/core/rename.h \
	src/core/shell.c src/core/shell.h \
	src/core/slice_sums.h \
	src/core/moments.c src/core/moments.h \
	src/core/pass_plan.c src/core/pass_plan.h \
	src/core/tally.c src/core/tally.h \
	src/core/term.h \
	src/core/view.c src/core/view.h \
	src/core/writer.c src/core/writer.h
