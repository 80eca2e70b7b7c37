# src/cpu: what reduces chunks on the CPU.
library_sources += \
	src/cpu/compare.c src/cpu/compare.h \
	src/cpu/convert.c src/cpu/convert.h \
	src/cpu/digest.c src/cpu/digest.h \
	src/cpu/dispatch.c \
	src/cpu/engine.c \
	src/cpu/kernel.h \
	src/cpu/kernel_block32.h \
	src/cpu/kernel_block64.h \
	src/cpu/kernel_columns.h \
	src/cpu/kernel_common.h \
	src/cpu/kernel_digest.h \
	src/cpu/kernel_float8.h \
	src/cpu/kernel_integer.h \
	src/cpu/kernel_integer_slices.h \
	src/cpu/kernel_missing.h \
	src/cpu/kernel_products8.h \
	src/cpu/kernel_rows.h \
	src/cpu/kernel_search.h \
	src/cpu/kernel_slices.h \
	src/cpu/kernel_finish.h src/cpu/kernel_sort.h \
	src/cpu/kernel_squares.h \
	src/cpu/kernel_moments.h \
	src/cpu/kernel_moments32.h \
	src/cpu/kernel_moments64.h \
	src/cpu/kernel_tally.h \
	src/cpu/kernel_template.h \
	src/cpu/kernel_wide_slices.h \
	src/cpu/kernels_avx2.c \
	src/cpu/kernels_avx512.c \
	src/cpu/kernels_sse4.c \
	src/cpu/kernels_vector16.c \
	src/cpu/missing.c src/cpu/missing.h \
	src/cpu/quantiles.c src/cpu/quantiles.h \
	src/cpu/reducer.c \
	src/cpu/reducer_moments.c \
	src/cpu/simd.h src/cpu/simd_avx512.h src/cpu/simd_neon.h \
	src/cpu/simd_plain.h src/cpu/simd_vector.h src/cpu/simd_x86.h \
	src/cpu/slices.c src/cpu/slices.h \
	src/cpu/split.c src/cpu/split.h \
	src/cpu/tally.c src/cpu/tally.h
