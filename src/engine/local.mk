# src/engine: what reduces chunks, on the CPU and on GPUs.
library_sources += \
	src/engine/engine.h \
	src/engine/gpu_tuning.c src/engine/gpu_tuning.h \
	src/engine/registry.c \
	src/engine/cpu/compare.c src/engine/cpu/compare.h \
	src/engine/cpu/dispatch.c \
	src/engine/cpu/engine.c \
	src/engine/cpu/kernel.h \
	src/engine/cpu/kernel_block32.h \
	src/engine/cpu/kernel_block64.h \
	src/engine/cpu/kernel_columns.h \
	src/engine/cpu/kernel_common.h \
	src/engine/cpu/kernel_float8.h \
	src/engine/cpu/kernel_integer.h \
	src/engine/cpu/kernel_integer_slices.h \
	src/engine/cpu/kernel_products8.h \
	src/engine/cpu/kernel_rows.h \
	src/engine/cpu/kernel_slices.h \
	src/engine/cpu/kernel_moments.h \
	src/engine/cpu/kernel_moments32.h \
	src/engine/cpu/kernel_moments64.h \
	src/engine/cpu/kernel_tally.h \
	src/engine/cpu/kernel_template.h \
	src/engine/cpu/kernels_avx2.c \
	src/engine/cpu/kernels_avx512.c \
	src/engine/cpu/kernels_sse4.c \
	src/engine/cpu/kernels_vector16.c \
	src/engine/cpu/reducer.c \
	src/engine/cpu/reducer_moments.c \
	src/engine/cpu/simd.h src/engine/cpu/simd_avx512.h src/engine/cpu/simd_neon.h \
	src/engine/cpu/simd_plain.h src/engine/cpu/simd_vector.h src/engine/cpu/simd_x86.h \
	src/engine/cpu/slices.c src/engine/cpu/slices.h \
	src/engine/cpu/tally.c src/engine/cpu/tally.h

EXTRA_DIST += src/engine/cuda/configure.m4
cuda_sources = \
	src/engine/cuda/bins.cuh \
	src/engine/cuda/check.c \
	src/engine/cuda/check.h \
	src/engine/cuda/engine.c \
	src/engine/cuda/feeder.c \
	src/engine/cuda/feeder.h \
	src/engine/cuda/instances.h \
	src/engine/cuda/integer_kernel.cuh \
	src/engine/cuda/integer_reducer.cuh \
	src/engine/cuda/job.h \
	src/engine/cuda/kernels.h \
	src/engine/cuda/merge.cuh \
	src/engine/cuda/pinned.c \
	src/engine/cuda/pinned.h \
	src/engine/cuda/reduce.cu \
	src/engine/cuda/reduce.cuh \
	src/engine/cuda/reduce_bf16.cu \
	src/engine/cuda/reduce_f16.cu \
	src/engine/cuda/reduce_f32.cu \
	src/engine/cuda/reduce_f64.cu \
	src/engine/cuda/reduce_integers.cu \
	src/engine/cuda/reduce_left.cuh \
	src/engine/cuda/reducer32.cuh \
	src/engine/cuda/reducer64.cuh \
	src/engine/cuda/reducer8.cuh \
	src/engine/cuda/slice_choice.cuh \
	src/engine/cuda/slice_kernels.cu \
	src/engine/cuda/slice_kernels.cuh \
	src/engine/cuda/slice_launch.h \
	src/engine/cuda/slice_record.cuh \
	src/engine/cuda/slice_record_floats.cu \
	src/engine/cuda/slice_record_integers.cu \
	src/engine/cuda/slice_sum.cuh \
	src/engine/cuda/slice_types.cuh \
	src/engine/cuda/slices.c src/engine/cuda/slices.h \
	src/engine/cuda/moments.cuh \
	src/engine/cuda/moments_bins.cuh \
	src/engine/cuda/moments_counter.cuh \
	src/engine/cuda/moments_f32.cu \
	src/engine/cuda/moments_f64.cu \
	src/engine/cuda/moments_kernel.cuh \
	src/engine/cuda/moments_left.cuh \
	src/engine/cuda/moments_look.cuh \
	src/engine/cuda/moments_narrow.cu \
	src/engine/cuda/moments_reducer32.cuh \
	src/engine/cuda/moments_reducer64.cuh \
	src/engine/cuda/moments_reducer_left.cuh \
	src/engine/cuda/moments_skim.cuh \
	src/engine/cuda/moments_state.cuh \
	src/engine/cuda/square_accumulator.cuh \
	src/engine/cuda/square_bins.cuh \
	src/engine/cuda/sums.c src/engine/cuda/sums.h \
	src/engine/cuda/superaccumulator.cuh \
	src/engine/cuda/tallies.c src/engine/cuda/tallies.h \
	src/engine/cuda/tally_job.cuh \
	src/engine/cuda/tally_kernels.cu \
	src/engine/cuda/tally_kernels.cuh \
	src/engine/cuda/tally_launch.h \
	src/engine/cuda/thread_state.cuh \
	src/engine/cuda/tuning.h \
	src/engine/cuda/types.cuh \
	src/engine/cuda/warp.cuh \
	src/engine/cuda/worker.c src/engine/cuda/worker.h
cuda_absent = src/engine/cuda/absent.c
cuda_depfiles += \
	src/engine/cuda/$(DEPDIR)/reduce.Po \
	src/engine/cuda/$(DEPDIR)/reduce_bf16.Po \
	src/engine/cuda/$(DEPDIR)/reduce_f16.Po \
	src/engine/cuda/$(DEPDIR)/reduce_f32.Po \
	src/engine/cuda/$(DEPDIR)/reduce_f64.Po \
	src/engine/cuda/$(DEPDIR)/reduce_integers.Po \
	src/engine/cuda/$(DEPDIR)/slice_kernels.Po \
	src/engine/cuda/$(DEPDIR)/slice_record_floats.Po \
	src/engine/cuda/$(DEPDIR)/slice_record_integers.Po \
	src/engine/cuda/$(DEPDIR)/moments_f32.Po \
	src/engine/cuda/$(DEPDIR)/moments_f64.Po \
	src/engine/cuda/$(DEPDIR)/moments_narrow.Po \
	src/engine/cuda/$(DEPDIR)/tally_kernels.Po
